//! What projects may use, and what they use.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;
use tokio::sync::MutexGuard;

use super::{Page, Result, Store, StoreError, WriteTransaction, number, write_json};
use crate::job::waiting::{WaitCode, Waiting};
use crate::job::{JobId, Timestamp};

/// What a project may use; where it has no limit the server's default holds, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectLimits {
    /// How often its jobs come where those of other projects wait as well; none is 1.
    pub share: Option<u32>,
    /// Of each key.
    pub requests_per_minute: Option<u64>,
    /// Jobs that are not final.
    pub max_unfinished_jobs: Option<u64>,
    /// Devices that its jobs hold at the same time.
    pub max_devices: Option<u64>,
    /// Data sets, checkpoints and rollout sets.
    pub max_storage_bytes: Option<u64>,
}

impl ProjectLimits {
    /// These limits, and `defaults` where there is none.
    fn or(self, defaults: Self) -> Self {
        Self {
            share: self.share.or(defaults.share),
            requests_per_minute: self.requests_per_minute.or(defaults.requests_per_minute),
            max_unfinished_jobs: self.max_unfinished_jobs.or(defaults.max_unfinished_jobs),
            max_devices: self.max_devices.or(defaults.max_devices),
            max_storage_bytes: self.max_storage_bytes.or(defaults.max_storage_bytes),
        }
    }
}

/// A project; it exists once it has a key, a job or limits.
#[derive(Clone, Debug)]
pub struct ProjectRow {
    pub name: String,
    pub limits: ProjectLimits,
    pub unfinished_jobs: u64,
    pub devices: u64,
    pub storage_bytes: u64,
}

macro_rules! names {
    ($rest:literal) => {
        concat!(
            "select name from (select name from project union select project from api_key
                               union select project from job union select project from dataset
                               union select 'default' as name) as known
             where name > $1 and name < $2 ",
            $rest
        )
    };
}

impl Store {
    /// Projects by name.
    pub async fn projects(&self, page: &Page) -> Result<Vec<ProjectRow>> {
        if let Some(own) = self.project() {
            let own = if page.after.is_none() { Some(self.project_with_usage(own).await?) } else { None };
            return Ok(own.into_iter().collect());
        }
        let (low, high) = page.bounds();
        let statement =
            if page.newest_first { names!("order by name desc limit $3") } else { names!("order by name limit $3") };
        let names: Vec<String> = sqlx::query_scalar(statement)
            .bind(low)
            .bind(high)
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        let mut projects = Vec::with_capacity(names.len());
        for name in names {
            projects.push(self.project_with_usage(&name).await?);
        }
        Ok(projects)
    }

    /// A project with what it uses. One of which nothing is known uses nothing.
    pub async fn project_with_usage(&self, name: &str) -> Result<ProjectRow> {
        if self.project().is_some_and(|own| own != name) {
            return Err(StoreError::NotFound { what: "project", id: name.to_owned() });
        }
        let mut reader = self.readers.acquire().await?;
        let limits = limits(&mut reader, name).await?;
        let row = sqlx::query(
            "select (select count(*) from job where project = $1 and finished_at is null) as unfinished,
                    (select count(*) from holding cross join job where job.id = job_id and project = $1) as devices,
                    cast((select coalesce(sum(bytes), 0) from dataset_version join dataset on dataset.id = dataset_id
                      where project = $1)
                  + (select coalesce(sum(bytes), 0) from artifact join job on job.id = job_id where project = $1)
                  + (select coalesce(sum(bytes), 0) from rollout_sample join job on job.id = job_id where project = $1)
                  + (select coalesce(sum(bytes), 0) from export join job on job.id = job_id where project = $1)
                  + (select coalesce(sum(bytes), 0) from file where project = $1)
                  + (select coalesce(sum(bytes), 0) from model where project = $1 and status <> 'failed')
                  + (select coalesce(sum(p.bytes), 0) from upload_part p join upload u on u.id = upload_id
                      where project = $1) as bigint)
                    as storage",
        )
        .bind(name)
        .fetch_one(&mut *reader)
        .await?;
        let count = |column| -> Result<u64> { Ok(row.try_get::<i64, _>(column)?.unsigned_abs()) };
        Ok(ProjectRow {
            name: name.to_owned(),
            limits,
            unfinished_jobs: count("unfinished")?,
            devices: count("devices")?,
            storage_bytes: count("storage")?,
        })
    }

    /// Sets what projects may use that have no limits of their own; once, when the server starts. Devices are not among
    /// it: projects take turns at them.
    pub fn set_default_limits(&self, defaults: ProjectLimits) {
        debug_assert!(defaults.max_devices.is_none() && defaults.share.is_none());
        if self.default_limits.set(defaults).is_err() {
            tracing::warn!("default limits were set twice");
        }
    }

    fn default_limits(&self) -> ProjectLimits {
        self.default_limits.get().cloned().unwrap_or_default()
    }

    /// What a project may use, by its own limits and by the server's defaults.
    pub async fn project_limits(&self, name: &str) -> Result<ProjectLimits> {
        let known = self.limits.get(
            self,
            name.to_owned(),
            |_| true,
            async || {
                let mut reader = self.readers.acquire().await?;
                Ok(limits(&mut reader, name).await?.or(self.default_limits()))
            },
        );
        known.await
    }

    pub async fn set_project_limits(&self, name: &str, new: &ProjectLimits, now: Timestamp) -> Result<()> {
        let stored = |value: Option<u64>| value.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into project (name, requests_per_minute, max_unfinished_jobs, max_devices, max_storage_bytes,
                                  created_at, updated_at, share)
             values ($1, $2, $3, $4, $5, $6, $6, $7)
             on conflict (name) do update
                set share = excluded.share, requests_per_minute = excluded.requests_per_minute,
                    max_unfinished_jobs = excluded.max_unfinished_jobs, max_devices = excluded.max_devices,
                    max_storage_bytes = excluded.max_storage_bytes, updated_at = excluded.updated_at",
        )
        .bind(name)
        .bind(stored(new.requests_per_minute))
        .bind(stored(new.max_unfinished_jobs))
        .bind(stored(new.max_devices))
        .bind(stored(new.max_storage_bytes))
        .bind(now.0)
        .bind(i64::from(new.share.unwrap_or(1)))
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }
}

impl Store {
    /// Those of some jobs that this store sees.
    pub async fn own_jobs(&self, jobs: Vec<String>) -> Result<HashSet<String>> {
        if self.project().is_none() || jobs.is_empty() {
            return Ok(jobs.into_iter().collect());
        }
        let mut reader = self.readers.acquire().await?;
        own_jobs(&mut reader, self.own_project(), &jobs).await
    }

    /// Adds to the reasons why jobs wait what their projects have to do with it, and leaves out the jobs of others.
    pub(super) async fn narrow(&self, connection: &mut AnyConnection, waiting: &mut [Waiting]) -> Result<()> {
        let held_back: Vec<(String, Option<i64>, Option<String>)> = sqlx::query_as(
            "select job.id, max_devices, null from job join project on project.name = job.project
             where job.id in (select value from json_each($1)) and max_devices < coalesce(job.least_devices, job.devices)
                   + (select count(*) from holding cross join job as other
                       where other.id = holding.job_id and other.project = job.project)
             union all
             select id, null, null from job where storage_full_at is not null and id in (select value from json_each($1))
             union all
             select job_id, null, model.id || ' (' || source || ') is under way: ' || (bytes_done / 1000000) || ' of '
                    || (bytes / 1000000) || ' MB are here'
             from job_input join model on model.id = job_input.id
             where model.status <> 'ready' and job_id in (select value from json_each($1))",
        )
        .bind(write_json(&waiting.iter().map(|waiting| waiting.request.job).collect::<Vec<_>>())?)
        .fetch_all(&mut *connection)
        .await?;
        let held_back: HashMap<String, (Option<i64>, Option<String>)> =
            held_back.into_iter().map(|(job, limit, model)| (job, (limit, model))).collect();
        for waiting in waiting.iter_mut() {
            let Some(reason) = held_back.get(&waiting.request.job.to_string()) else { continue };
            (waiting.code, waiting.message) = match reason {
                (_, Some(model)) => (WaitCode::ModelImporting, model.clone()),
                (Some(limit), None) => (
                    WaitCode::ProjectLimit,
                    format!("its project may hold {limit} devices at a time, and would hold more with it"),
                ),
                (None, None) => (
                    WaitCode::StorageFull,
                    String::from("it found the disk full; delete something, and it goes on from its last checkpoint"),
                ),
            };
            (waiting.behind, waiting.expected_start) = (None, None);
        }
        let Some(project) = self.project() else { return Ok(()) };
        let slots = waiting.iter().flat_map(|waiting| &waiting.candidates);
        let holders = slots.flat_map(|slot| slot.holders.iter().map(|holder| holder.job));
        let named: BTreeSet<JobId> = holders.chain(waiting.iter().filter_map(|waiting| waiting.behind)).collect();
        let named: Vec<String> = named.iter().map(JobId::to_string).collect();
        let own = own_jobs(connection, project, &named).await?;
        for waiting in waiting {
            for foreign in named.iter().filter(|job| !own.contains(*job)) {
                waiting.message = waiting.message.replace(foreign, "a job of another project");
            }
            waiting.behind.take_if(|job| !own.contains(&job.to_string()));
            for slot in &mut waiting.candidates {
                slot.holders.retain(|holder| own.contains(&holder.job.to_string()));
            }
        }
        Ok(())
    }
}

async fn own_jobs(connection: &mut AnyConnection, project: &str, jobs: &[String]) -> Result<HashSet<String>> {
    let own = sqlx::query_scalar("select id from job where project = $1 and id in (select value from json_each($2))");
    Ok(own.bind(project).bind(write_json(&jobs)?).fetch_all(connection).await?.into_iter().collect())
}

/// How many unfinished jobs a project has and may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    unfinished: u64,
    limit: Option<u64>,
    counted: Instant,
}

/// What was left to projects, while nobody else makes jobs.
pub(super) type Rooms<'a> = MutexGuard<'a, HashMap<String, Room>>;

/// How long a count is good for, with what is added to it, as long as it leaves room: many jobs take long to count.
const COUNT_LASTS: Duration = Duration::from_secs(1);

impl Room {
    /// Whether it was counted, and not long ago.
    pub(super) fn is_fresh(&self) -> bool {
        self.limit.is_some() && self.counted.elapsed() < COUNT_LASTS
    }

    /// What is left of one, under the limit of now, if there is enough for `wanted` without counting.
    fn left(self, limit: u64, wanted: u64) -> Option<Self> {
        let is_enough = self.is_fresh() && self.unfinished.saturating_add(wanted) <= limit;
        is_enough.then_some(Self { limit: Some(limit), ..self })
    }

    /// Takes the place of one job, within the transaction that adds it.
    pub(super) fn take(&mut self, project: &str) -> Result<()> {
        let Some(limit) = self.limit else { return Ok(()) };
        let unfinished = self.unfinished;
        if unfinished < limit {
            self.unfinished += 1;
            return Ok(());
        }
        Err(StoreError::QuotaExceeded(format!(
            "the project `{project}` has {unfinished} unfinished jobs and may have {limit}; wait for one to end or cancel \
             one"
        )))
    }
}

impl Store {
    /// A transaction that makes so many jobs of a project that has room for them, and what is to be held until it is over.
    pub(super) async fn begin_jobs(&self, project: &str, jobs: usize) -> Result<(Rooms<'_>, WriteTransaction)> {
        drop(self.storage_room(0).await?);
        let mut rooms = self.submissions.rooms.lock().await;
        let mut tx = self.begin().await?;
        self.take_room(tx.connection(), &mut rooms, project, jobs).await?;
        Ok((rooms, tx))
    }

    /// How many unfinished jobs the project may have; none where there is no limit.
    pub async fn most_unfinished_jobs(&self) -> Result<Option<u64>> {
        let own = limits(&mut *self.readers.acquire().await?, self.own_project()).await?;
        Ok(own.or(self.default_limits()).max_unfinished_jobs)
    }

    /// Counts jobs that are about to be made as some of the project's, if it may have so many. What is known of its room counts
    /// without these, and is forgotten.
    pub(super) async fn take_room(
        &self,
        connection: &mut AnyConnection,
        rooms: &mut Rooms<'_>,
        project: &str,
        jobs: usize,
    ) -> Result<()> {
        let mut room = self.room(connection, project, None, jobs.max(1)).await?;
        for _ in 0..jobs {
            room.take(project)?;
        }
        rooms.remove(project);
        Ok(())
    }

    /// The room that a project has within a transaction, counted or, where that is enough for `wanted` jobs, by what is
    /// `known` of it.
    pub(super) async fn room(
        &self,
        connection: &mut AnyConnection,
        project: &str,
        known: Option<Room>,
        wanted: usize,
    ) -> Result<Room> {
        let counted = Instant::now();
        let own = limits(&mut *connection, project).await?;
        let Some(limit) = own.or(self.default_limits()).max_unfinished_jobs else {
            return Ok(Room { unfinished: 0, limit: None, counted });
        };
        if let Some(left) = known.and_then(|known| known.left(limit, wanted as u64)) {
            return Ok(left);
        }
        let unfinished: i64 = sqlx::query_scalar("select count(*) from job where project = $1 and finished_at is null")
            .bind(project)
            .fetch_one(connection)
            .await?;
        Ok(Room { unfinished: unfinished.unsigned_abs(), limit: Some(limit), counted })
    }
}

async fn limits(connection: &mut AnyConnection, name: &str) -> Result<ProjectLimits> {
    let row = sqlx::query("select * from project where name = $1").bind(name).fetch_optional(connection).await?;
    row.as_ref().map_or_else(|| Ok(ProjectLimits::default()), read_limits)
}

fn read_limits(row: &AnyRow) -> Result<ProjectLimits> {
    let limit = |column| -> Result<Option<u64>> { Ok(row.try_get::<Option<i64>, _>(column)?.map(i64::unsigned_abs)) };
    Ok(ProjectLimits {
        share: Some(number(row, "share")?),
        requests_per_minute: limit("requests_per_minute")?,
        max_unfinished_jobs: limit("max_unfinished_jobs")?,
        max_devices: limit("max_devices")?,
        max_storage_bytes: limit("max_storage_bytes")?,
    })
}
