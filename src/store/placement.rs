//! Placement on the stored queue: which job a worker gets, and why the others wait. The rules are in
//! [`crate::job::placement`]; here devices and jobs are read, and what was decided is written down.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::artifacts::training_locations;
use super::derived::verification;
use super::devices::{hold, slots};
use super::jobs::stored_spec;
use super::transitions::{Transition, move_job};
use super::{Claim, Lease, Result, Store, StoreError, read, write_json};
use crate::job::placement::{Claimant, Placement, Request, Slot, Waiting, explain};
use crate::job::{JobId, JobStatus, Timestamp, WorkerId};

/// Jobs that are read at a time: few at first, for often the first of them take all devices.
const PAGES: std::ops::RangeInclusive<u32> = 8..=256;

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

/// What can start now: a job and its devices.
struct Start {
    job: JobId,
    devices: Vec<String>,
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
        let Some(start) = next_on(tx.connection(), device, now).await? else { return Ok(None) };
        let claim = begin_attempt(tx.connection(), worker, &start, now).await?;
        tx.commit().await?;
        Ok(Some(claim))
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

    /// The first jobs that wait, in the order of the queue, each with the reason why.
    pub async fn queue(&self, limit: u32, now: Timestamp) -> Result<Vec<QueueEntry>> {
        let rows = sqlx::query(
            "select id, name, created_at, project, priority, devices, memory_bytes from job where status = 'queued'
             order by priority desc, id limit $1",
        )
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            if self.project().is_none_or(|own| row.try_get::<&str, _>("project").is_ok_and(|other| own == other)) {
                entries.push((request(row)?, row.try_get("name")?, Timestamp(row.try_get("created_at")?)));
            }
        }
        let mut waiting = self.waiting(entries.iter().map(|(request, ..)| *request).collect(), now).await?;
        let entry = |(request, name, created_at): (Request, _, _)| {
            waiting.remove(&request.job).map(|waiting| QueueEntry { name, created_at, waiting })
        };
        Ok(entries.into_iter().filter_map(entry).collect())
    }

    /// Why queued jobs wait. The queue is gone through once, however many are asked for.
    pub async fn waiting(&self, mut requests: Vec<Request>, now: Timestamp) -> Result<BTreeMap<JobId, Waiting>> {
        if requests.is_empty() {
            return Ok(BTreeMap::new());
        }
        requests.sort_by_key(Request::rank);
        let mut reader = self.readers.acquire().await?;
        let mut placement = Placement::new(slots(&mut reader, None, now).await?);
        let places = places(&mut reader, &placement, requests).await?;
        let told = |placement: &Placement, place: &Place| {
            let mut placement = placement.clone();
            placement.offer(&place.request);
            explain(&placement, &place.request, place.ahead, place.position, now)
        };
        let mut waiting = Vec::with_capacity(places.len());
        let mut rest = places.iter().peekable();
        offer_each(&mut reader, &mut placement, |placement, request| {
            while let Some(place) = rest.next_if(|place| place.request.rank() <= request.rank()) {
                waiting.push(told(placement, place));
            }
            placement.offer(request);
            rest.peek().is_none()
        })
        .await?;
        waiting.extend(rest.map(|place| told(&placement, place)));
        self.narrow(&mut reader, &mut waiting).await?;
        Ok(waiting.into_iter().map(|waiting| (waiting.request.job, waiting)).collect())
    }

    /// The free devices that are kept for waiting jobs.
    pub async fn reserved(&self, now: Timestamp) -> Result<Vec<Reserved>> {
        let mut reader = self.readers.acquire().await?;
        let mut placement = Placement::new(slots(&mut reader, None, now).await?);
        offer_each(&mut reader, &mut placement, |placement, request| {
            placement.offer(request);
            false
        })
        .await?;
        let kept = placement.slots().iter().zip(placement.claimants());
        Ok(kept
            .filter_map(|(slot, claimant)| match claimant {
                Some(Claimant::Waits(job)) => Some(Reserved { device: slot.name.clone(), job: *job }),
                Some(Claimant::Starts(_)) | None => None,
            })
            .collect())
    }
}

/// The job that is to start with `device` as its first, if there is one.
async fn next_on(connection: &mut SqliteConnection, device: &str, now: Timestamp) -> Result<Option<Start>> {
    let mut placement = Placement::new(slots(connection, Some(device), now).await?);
    let Some(own) = placement.slots().iter().position(|slot| slot.name == device) else { return Ok(None) };
    offer_until_taken(connection, &mut placement, own).await
}

async fn offer_until_taken(
    connection: &mut SqliteConnection,
    placement: &mut Placement,
    own: usize,
) -> Result<Option<Start>> {
    let mut start = None;
    offer_each(connection, placement, |placement, request| {
        let placed = placement.offer(request);
        if let Some(placed) = placed.filter(|placed| placed.first() == Some(&own)) {
            let devices = placed.iter().map(|slot| placement.slots()[*slot].name.clone()).collect();
            start = Some(Start { job: request.job, devices });
        }
        placement.claimants()[own].is_some()
    })
    .await?;
    Ok(start)
}

/// Goes through the waiting jobs until `visit` returns true or no free device is left. Jobs are passed over that need
/// more devices than there are or more memory than any that is left has: they could neither take nor keep one.
async fn offer_each(
    connection: &mut SqliteConnection,
    placement: &mut Placement,
    mut visit: impl FnMut(&mut Placement, &Request) -> bool,
) -> Result<()> {
    let mut behind: (i32, String) = (i32::MAX, String::new());
    let mut page = *PAGES.start();
    while !placement.is_exhausted() {
        let rows = sqlx::query(
            "select id, priority, devices, memory_bytes from job
             where status = 'queued' and (priority < $1 or (priority = $1 and id > $2)) and storage_full_at is null
               and devices <= $3 and memory_bytes <= $4
               and not exists (select 1 from project where name = job.project and max_devices < job.devices
                               + (select count(*) from device join job as other on other.id = device.job_id
                                   where other.project = job.project))
             order by priority desc, id limit $5",
        )
        .bind(behind.0)
        .bind(&behind.1)
        .bind(count(placement.slots()))
        .bind(i64::try_from(placement.largest_left()).unwrap_or(i64::MAX))
        .bind(page)
        .fetch_all(&mut *connection)
        .await?;
        page = (page * 4).min(*PAGES.end());
        let Some(last) = rows.last() else { return Ok(()) };
        behind = (last.try_get("priority")?, last.try_get("id")?);
        for row in &rows {
            if visit(placement, &request(row)?) || placement.is_exhausted() {
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn begin_attempt(
    connection: &mut SqliteConnection,
    worker: WorkerId,
    start: &Start,
    now: Timestamp,
) -> Result<Claim> {
    let row = sqlx::query(
        "update job set attempt = attempt + 1, worker = $1, started_at = coalesce(started_at, $2)
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
    let lease = Lease { job: start.job, attempt: row.try_get("attempt")? };
    let (attributes, spec, _) = stored_spec(&row)?;
    hold(connection, lease.job, &start.devices, now).await?;
    let lead = start.devices.first().ok_or(StoreError::Corrupt { what: "placement", detail: String::from("empty") })?;
    sqlx::query(
        "insert into attempt (job_id, number, worker, device, devices, started_at, first_step)
         values ($1, $2, $3, $4, $5, $6,
                 coalesce((select max(step) from artifact where job_id = $1 and kind = 'training'),
                          (select from_step from verification where job_id = $1), 0))",
    )
    .bind(lease.job.to_string())
    .bind(lease.attempt)
    .bind(worker.to_string())
    .bind(lead)
    .bind(write_json(&start.devices)?)
    .bind(now.0)
    .execute(&mut *connection)
    .await?;
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
    })
}

fn request(row: &SqliteRow) -> Result<Request> {
    Ok(Request {
        job: read("job id", row.try_get("id")?)?,
        priority: row.try_get("priority")?,
        devices: row.try_get("devices")?,
        memory: row.try_get::<i64, _>("memory_bytes")?.unsigned_abs(),
    })
}

/// A waiting job's place in the queue.
struct Place {
    request: Request,
    /// 1 is next.
    position: u64,
    /// The job before it that could run here.
    ahead: Option<JobId>,
}

/// The places of jobs that are in the order of the queue. Between two of them only what lies between is counted.
async fn places(
    connection: &mut SqliteConnection,
    placement: &Placement,
    requests: Vec<Request>,
) -> Result<Vec<Place>> {
    let (devices, memory) = (count(placement.slots()), largest(placement));
    let fits = |request: &Request| {
        i64::from(request.devices) <= devices && i64::try_from(request.memory).is_ok_and(|needed| needed <= memory)
    };
    let distances = distances(connection, &requests).await?;
    let mut places: Vec<Place> = Vec::with_capacity(requests.len());
    for (request, distance) in requests.into_iter().zip(distances) {
        let before = places.last();
        let level = before.filter(|before| before.request.priority == request.priority);
        let position = level.map_or(1, |before| before.position) + distance;
        let ahead = match before {
            Some(before) if before.position + 1 == position && fits(&before.request) => Some(before.request.job),
            Some(_) | None => job_ahead(connection, &request, devices, memory).await?,
        };
        places.push(Place { request, position, ahead });
    }
    Ok(places)
}

/// How many places each job is behind the one before it, or behind the head of the queue where that one has another
/// priority.
async fn distances(connection: &mut SqliteConnection, requests: &[Request]) -> Result<Vec<u64>> {
    let before = std::iter::once(None).chain(requests.iter().map(Some));
    let gaps = requests.iter().zip(before).map(|(request, before)| {
        let level = before.filter(|before| before.priority == request.priority);
        (request.priority, level.map(|before| before.job.to_string()), request.job)
    });
    let counted: Vec<i64> = sqlx::query_scalar(
        "select (select count(*) from job where status = 'queued' and priority = gap.value ->> 0
                 and id >= coalesce(gap.value ->> 1, '') and id < gap.value ->> 2)
                + iif(gap.value ->> 1 is null,
                      (select count(*) from job where status = 'queued' and priority > gap.value ->> 0), 0)
         from json_each($1) as gap order by gap.key",
    )
    .bind(write_json(&gaps.collect::<Vec<_>>())?)
    .fetch_all(connection)
    .await?;
    Ok(counted.into_iter().map(i64::unsigned_abs).collect())
}

/// The last job before `request` that needs at most so many devices and so much memory.
async fn job_ahead(
    connection: &mut SqliteConnection,
    request: &Request,
    devices: i64,
    memory: i64,
) -> Result<Option<JobId>> {
    let ahead: Option<String> = sqlx::query_scalar(
        "select id from job where status = 'queued' and (priority > $1 or (priority = $1 and id < $2))
           and devices <= $3 and memory_bytes <= $4 order by priority, id desc limit 1",
    )
    .bind(request.priority)
    .bind(request.job.to_string())
    .bind(devices)
    .bind(memory)
    .fetch_optional(connection)
    .await?;
    ahead.map(|id| read("job id", &id)).transpose()
}

fn count(slots: &[Slot]) -> i64 {
    i64::try_from(slots.len()).unwrap_or(i64::MAX)
}

fn largest(placement: &Placement) -> i64 {
    i64::try_from(placement.largest()).unwrap_or(i64::MAX)
}
