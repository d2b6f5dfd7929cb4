//! Placement on the stored queue: which job a worker gets, and why the others wait. The rules are in
//! [`crate::job::placement`]; here devices and jobs are read, and what was decided is written down.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use sqlx::AnyConnection;
use sqlx::Row;

use super::artifacts::training_locations;
use super::derived::verification;
use super::devices::{hold, slots};
use super::jobs::stored_spec;
use super::launches::claim_launches;
use super::transitions::{Transition, move_job};
use super::turns::{Fits, Place, Walk, charge, places, request};
use super::{Claim, Lease, Result, Store, StoreError, number, write_json};
use crate::job::placement::{Claimant, Placement, Request};
use crate::job::turn::Line;
use crate::job::waiting::{Waiting, explain};
use crate::job::{JobId, JobStatus, Timestamp, WorkerId};

/// A job that waits for devices.
#[derive(Clone, Debug)]
pub struct QueueEntry {
    pub name: Option<String>,
    pub created_at: Timestamp,
    pub waiting: Waiting,
}

/// A free device and the waiting job that it is kept for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    pub device: String,
    pub job: JobId,
}

/// What can start now: a job, its devices and its project.
struct Start {
    job: JobId,
    devices: Vec<String>,
    project: String,
}

impl Store {
    /// Takes the job that is to start on `device`, if there is one, with all devices that it needs. The worker of the
    /// first of these leads and gets the job; to the others' workers there is nothing to do.
    pub async fn claim(&self, worker: WorkerId, device: &str, now: Timestamp) -> Result<Option<Claim>> {
        // Idle workers ask often; they must not take the write lock for nothing.
        if !self.starts_on(device, now).await? {
            return Ok(None);
        }
        let mut tx = self.begin().await?;
        // One that was given up while its question was under way would hold a job that nobody takes back.
        let has_ended =
            sqlx::query("select 1 from worker where id = $1 and ended_at is not null").bind(worker.to_string());
        if has_ended.fetch_optional(tx.connection()).await?.is_some() {
            return Err(StoreError::NotFound { what: "worker", id: worker.to_string() });
        }
        let Some(start) = next_on(tx.connection(), device, now).await? else { return Ok(None) };
        let claim = begin_attempt(tx.connection(), worker, &start, now).await?;
        tx.commit().await?;
        Ok(Some(claim))
    }

    /// The devices with which as their first a job could start now.
    pub async fn starting_devices(&self, now: Timestamp) -> Result<HashSet<String>> {
        let waiting = sqlx::query("select 1 from job where status = 'queued' limit 1");
        if waiting.fetch_optional(&self.readers).await?.is_none() {
            return Ok(HashSet::new());
        }
        let mut reader = self.readers.acquire().await?;
        let mut placement = Placement::new(slots(&mut reader, None, now).await?);
        let mut devices = HashSet::new();
        offer_each(&mut reader, &mut placement, |placement, _, request| {
            let first = placement.offer(request).and_then(|placed| placed.first().copied());
            devices.extend(first.map(|slot| placement.slots()[slot].name.clone()));
            false
        })
        .await?;
        Ok(devices)
    }

    /// Whether a job is to start with `device` as its first.
    pub async fn starts_on(&self, device: &str, now: Timestamp) -> Result<bool> {
        let waiting = sqlx::query("select 1 from job where status = 'queued' limit 1");
        if waiting.fetch_optional(&self.readers).await?.is_none() {
            return Ok(false);
        }
        let mut reader = self.readers.acquire().await?;
        Ok(next_on(&mut reader, device, now).await?.is_some())
    }

    /// The first jobs of this store's project that wait, in the order of the queue, each with the reason why.
    pub async fn queue(&self, limit: u32, now: Timestamp) -> Result<Vec<QueueEntry>> {
        let rows = sqlx::query(
            "select id, name, created_at, priority, devices, hosts, least_devices, pool, memory_bytes, base,
                    base_bytes, crashes from job
             where status = 'queued' and project = $1 order by priority desc, id limit $2",
        )
        .bind(self.own_project())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        let requests = rows.iter().map(request).collect::<Result<Vec<Request>>>()?;
        let mut waiting = self.waiting(requests.clone(), now).await?;
        let mut entries = Vec::with_capacity(rows.len());
        for (row, request) in rows.iter().zip(requests) {
            let Some(waiting) = waiting.remove(&request.job) else { continue };
            let created_at = Timestamp(row.try_get("created_at")?);
            entries.push(QueueEntry { name: row.try_get("name")?, created_at, waiting });
        }
        Ok(entries)
    }

    /// Why queued jobs wait. The queue is gone through once, however many are asked for.
    pub async fn waiting(&self, requests: Vec<Request>, now: Timestamp) -> Result<BTreeMap<JobId, Waiting>> {
        if requests.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut reader = self.readers.acquire().await?;
        let mut placement = Placement::new(slots(&mut reader, None, now).await?);
        let mut waiting = Vec::with_capacity(requests.len());
        let mut untold: HashMap<String, VecDeque<Place>> = HashMap::new();
        for place in places(&mut reader, &placement, self.project(), requests).await? {
            untold.entry(place.project.clone()).or_default().push_back(place);
        }
        let told = |placement: &Placement, place: &Place| {
            let mut placement = placement.clone();
            placement.offer(&place.request);
            explain(&placement, &place.request, place.ahead, place.position, now)
        };
        offer_each(&mut reader, &mut placement, |placement, line, request| {
            if let Some(places) = untold.get_mut(&line.project) {
                while let Some(place) = places.pop_front_if(|place| place.request.rank() <= request.rank()) {
                    waiting.push(told(placement, &place));
                }
                if places.is_empty() {
                    untold.remove(&line.project);
                }
            }
            placement.offer(request);
            untold.is_empty()
        })
        .await?;
        waiting.extend(untold.values().flatten().map(|place| told(&placement, place)));
        self.tell_launches(&mut reader, &mut waiting).await?;
        self.narrow(&mut reader, &mut waiting).await?;
        Ok(waiting.into_iter().map(|waiting| (waiting.request.job, waiting)).collect())
    }

    /// The free devices that are kept for waiting jobs.
    pub async fn reserved(&self, now: Timestamp) -> Result<Vec<Reserved>> {
        let mut reader = self.readers.acquire().await?;
        let mut placement = Placement::new(slots(&mut reader, None, now).await?);
        offer_each(&mut reader, &mut placement, |placement, _, request| {
            placement.offer(request);
            false
        })
        .await?;
        let kept = placement.slots().iter().zip(placement.claimants());
        Ok(kept
            .filter_map(|(slot, claimant)| {
                let job = match claimant {
                    Some(Claimant::Waits(job)) => *job,
                    Some(Claimant::Starts(_)) => return None,
                    None => slot.kept_for?.job,
                };
                Some(Reserved { device: slot.name.clone(), job })
            })
            .collect())
    }
}

/// The job that is to start with `device` as its first, if there is one.
async fn next_on(connection: &mut AnyConnection, device: &str, now: Timestamp) -> Result<Option<Start>> {
    let mut placement = Placement::new(slots(connection, Some(device), now).await?);
    let Some(own) = placement.slots().iter().position(|slot| slot.name == device) else { return Ok(None) };
    offer_until_taken(connection, &mut placement, own).await
}

async fn offer_until_taken(
    connection: &mut AnyConnection,
    placement: &mut Placement,
    own: usize,
) -> Result<Option<Start>> {
    let mut start = None;
    offer_each(connection, placement, |placement, line, request| {
        let placed = placement.offer(request);
        if let Some(placed) = placed.filter(|placed| placed.first() == Some(&own)) {
            let devices = placed.iter().map(|slot| placement.slots()[*slot].name.clone()).collect();
            start = Some(Start { job: request.job, devices, project: line.project.clone() });
        }
        placement.claimants()[own].is_some()
    })
    .await?;
    Ok(start)
}

/// Goes through the waiting jobs until `visit` returns true or no free device is left.
async fn offer_each(
    connection: &mut AnyConnection,
    placement: &mut Placement,
    mut visit: impl FnMut(&mut Placement, &Line, &Request) -> bool,
) -> Result<()> {
    if placement.is_exhausted() {
        return Ok(());
    }
    let mut walk = Walk::begin(connection).await?;
    while let Some((line, request)) = walk.next(connection, &Fits::what_is_left(placement)).await? {
        let is_over = visit(placement, line, &request);
        if is_over || placement.is_exhausted() {
            break;
        }
        if placement.is_claimed_by(request.job) {
            walk.pass();
        }
    }
    Ok(())
}

async fn begin_attempt(
    connection: &mut AnyConnection,
    worker: WorkerId,
    start: &Start,
    now: Timestamp,
) -> Result<Claim> {
    let row = sqlx::query(
        "update job set attempt = attempt + 1, worker = $1, reported = 0, started_at = coalesce(started_at, $2)
         where id = $3 returning *",
    )
    .bind(worker.to_string())
    .bind(now.0)
    .bind(start.job.to_string())
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query("update worker set seen_at = $2 where id = $1")
        .bind(worker.to_string())
        .bind(now.0)
        .execute(&mut *connection)
        .await?;
    charge(connection, &start.project, start.devices.len(), now).await?;
    let lease = Lease { job: start.job, attempt: number(&row, "attempt")? };
    let (attributes, spec, _) = stored_spec(&row)?;
    hold(connection, lease.job, &start.devices, now).await?;
    let lead = start.devices.first().ok_or(StoreError::Corrupt { what: "placement", detail: String::from("empty") })?;
    sqlx::query(
        "insert into attempt (job_id, number, worker, device, devices, started_at, first_step, program)
         values ($1, $2, $3, $4, $5, $6,
                 coalesce((select max(step) from artifact where job_id = $1 and kind = 'training'),
                          (select from_step from verification where job_id = $1), 0),
                 (select host.version from device join host on host.name = device.host where device.name = $4))",
    )
    .bind(lease.job.to_string())
    .bind(i64::from(lease.attempt))
    .bind(worker.to_string())
    .bind(lead)
    .bind(write_json(&start.devices)?)
    .bind(now.0)
    .execute(&mut *connection)
    .await?;
    claim_launches(connection, &start.devices, now).await?;
    let resume = training_locations(connection, lease.job).await?;
    let reason = format!("attempt {} on {}", lease.attempt, start.devices.join(", "));
    move_job(connection, lease.job, &Transition::to(JobStatus::Starting, reason), now).await?;
    Ok(Claim {
        lease,
        attributes,
        spec,
        spec_digest: row.try_get("spec_digest")?,
        resume,
        devices: start.devices.clone(),
        verification: verification(connection, start.job).await?,
        trace: row.try_get("trace")?,
    })
}
