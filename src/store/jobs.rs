//! Job rows: looked up, listed and cancelled. How they come to be is in `submissions`, what else becomes of them in
//! `lifecycle`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::devices::shared_base;
use super::statement::Statement;
use super::transitions::{Transition, move_job};
use super::{Page, Result, Store, StoreError, number, read, read_json, write_json};
use crate::job::placement::{Base, Request};
use crate::job::{BudgetSpec, Failure, FieldError, JobId, JobKind, JobStatus, Phase, RolloutSetId, Timestamp};
use crate::spec::{Attributes, Resolved, Work};

/// The reason of a job that was cancelled without another one.
pub(super) const CANCELLED_BY_CLIENT: &str = "cancelled by a client";

/// How long a worker is taken to go on with a job when nothing was heard of it.
const UNSEEN: Duration = Duration::from_secs(5);

/// Milliseconds of devices that attempts of the `job` row at hand have used; one under way as far as its worker has told,
/// or as `$held` says.
macro_rules! spent {
    () => {
        spent!("held_milliseconds")
    };
    ($held:literal) => {
        concat!(
            "(select cast(coalesce(sum(",
            $held,
            " * case devices when '[]' then 1 else json_array_length(devices) end), 0) as bigint)
              from attempt where job_id = job.id)"
        )
    };
}
pub(super) use spent;

/// Jobs with what other tables say about them.
macro_rules! job_rows {
    () => {
        concat!(
            "select job.*, (select id from rollout_set where job_id = job.id) as rollout_set,
                    (select devices from attempt where job_id = job.id and number = job.attempt) as held,
                    (select seen_at from worker where id = job.worker) as worker_seen_at,
                    (select source_job from verification where job_id = job.id) as verifies, ",
            spent!(),
            " as spent from job"
        )
    };
}
pub(super) use job_rows;

/// A job.
#[derive(Clone, Debug)]
pub struct JobRow {
    pub id: JobId,
    pub status: JobStatus,
    pub phase: Option<Phase>,
    /// As the client sent it.
    pub spec: Value,
    pub attributes: Attributes,
    pub resolved: Arc<Resolved>,
    /// The resolved spec's JSON without `attributes`.
    pub essence: Value,
    pub spec_digest: String,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub attempt: u32,
    pub worker: Option<String>,
    pub step: u64,
    pub last_seq: i64,
    pub result: Option<Value>,
    pub failure: Option<Failure>,
    /// Bytes that it needs on each of its devices, by an estimate.
    pub memory_bytes: u64,
    /// What of it others have in common with it.
    pub base: Option<Base>,
    /// The devices of the newest attempt, the leading one first.
    pub devices: Vec<String>,
    /// The set that the job fills or has filled.
    pub rollout_set: Option<RolloutSetId>,
    /// Milliseconds of devices that its attempts have used, as far as their workers have told.
    pub spent_milliseconds: i64,
    /// When the worker that holds it was seen last.
    pub worker_seen_at: Option<Timestamp>,
    /// The job whose spec it was made from.
    pub forked_from: Option<JobId>,
    /// The job that it repeats to prove that it resumes bit for bit.
    pub verifies: Option<JobId>,
}

impl JobRow {
    /// What the job does.
    pub fn work(&self) -> &Work {
        &self.resolved.work
    }

    /// What it asks of devices.
    pub fn request(&self) -> Request {
        let resources = &self.resolved.common.resources;
        let (shape, elastic) = (resources.shape(), resources.elastic);
        let pool = resources.pool.as_deref().map(Arc::from);
        let Self { id: job, memory_bytes: memory, base, .. } = *self;
        Request { job, priority: self.attributes.priority, shape, elastic, pool, memory, base }
    }

    /// Seconds of attempts times the devices that they held. What an attempt under way has used since its worker was
    /// seen is taken from the clock, in whole seconds, and never more than five.
    pub fn device_seconds(&self, now: Timestamp) -> f64 {
        let unseen = self.worker_seen_at.map_or(0, |seen| (now.0 - seen.0).clamp(0, UNSEEN.as_millis() as i64) / 1000);
        self.spent_milliseconds as f64 / 1000.0 + (unseen * self.devices.len().max(1) as i64) as f64
    }
}

/// Which jobs a listing shows: those that meet all of it.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    pub status: Option<JobStatus>,
    pub kind: Option<JobKind>,
    /// The type of what is optimised.
    pub objective: Option<String>,
    /// The model or checkpoint that it starts from or measures.
    pub model: Option<String>,
    /// The job whose spec was changed to its own.
    pub forked_from: Option<String>,
    /// Somewhere in the name, in upper or lower case, or at the begin of the id.
    pub text: Option<String>,
    /// Not earlier.
    pub created_after: Option<Timestamp>,
    /// Earlier.
    pub created_before: Option<Timestamp>,
    pub metadata: MetadataFilter,
}

/// What a listing asks of metadata.
#[derive(Clone, Debug, Default)]
pub enum MetadataFilter {
    #[default]
    Any,
    /// All of these pairs.
    Pairs(BTreeMap<String, String>),
    /// Not any pair.
    None,
}

/// A page of a project's jobs by id. Which rows they are is found first, so that what belongs to a row is read for those
/// that are shown only. Every condition stands there only when it is asked for: one that may hold for all would keep
/// SQLite from the index of a status or a kind.
fn listing(project: &str, filter: &JobFilter, page: &Page) -> Statement {
    let (low, high) = page.bounds();
    let mut query = Statement::new(concat!(job_rows!(), " where id in ("));
    let id = begin(&mut query, project, filter);
    let (bound, order) = if page.newest_first { (" < ", " desc") } else { (" > ", "") };
    query.push(" and ").push(id).push(bound).bind(if page.newest_first { high } else { low });
    if let Some(status) = filter.status {
        query.push(" and job.status = ").bind(status.as_str());
    }
    if let Some(kind) = filter.kind {
        query.push(" and job.kind = ").bind(kind.as_str());
    }
    if let Some(objective) = &filter.objective {
        query.push(" and job.objective = ").bind(objective);
    }
    if let Some(model) = &filter.model {
        query.push(" and exists (select 1 from job_input where job_id = job.id and role = 'model' and id = ");
        query.bind(model).push(")");
    }
    if let Some(source) = &filter.forked_from {
        query.push(" and job.forked_from = ").bind(source);
    }
    if let Some(text) = &filter.text {
        query.push(" and (instr(lower(job.name), lower(").bind(text).push(")) > 0 or instr(job.id, ");
        query.bind(text).push(") = 1)");
    }
    if let Some(after) = filter.created_after {
        query.push(" and job.created_at >= ").bind(after.0);
    }
    if let Some(before) = filter.created_before {
        query.push(" and job.created_at < ").bind(before.0);
    }
    match &filter.metadata {
        MetadataFilter::Any => {}
        MetadataFilter::None => {
            query.push(" and job.metadata = '{}'");
        }
        MetadataFilter::Pairs(pairs) => {
            for (key, value) in pairs {
                query.push(" and exists (select 1 from job_metadata as own where own.job_id = job.id and own.key = ");
                query.bind(key).push(" and own.value = ").bind(value).push(")");
            }
        }
    }
    query.push(" order by ").push(id).push(order).push(" limit ").bind(i64::from(page.limit));
    query.push(") order by id").push(order);
    query
}

/// Begins to look for jobs where fewest lie: among those with a pair of metadata, or with a model, or all of the project. Says
/// which column of these is a job's id. A cross join keeps SQLite to this order.
fn begin(query: &mut Statement, project: &str, filter: &JobFilter) -> &'static str {
    if let MetadataFilter::Pairs(pairs) = &filter.metadata
        && let Some((key, value)) = pairs.first_key_value()
    {
        query.push("select job.id from job_metadata as pair cross join job where job.id = pair.job_id and pair.key = ");
        query.bind(key).push(" and pair.value = ").bind(value).push(" and pair.project = ").bind(project);
        return "pair.job_id";
    }
    if let Some(model) = &filter.model {
        query.push("select job.id from job_input as given cross join job where job.id = given.job_id and given.id = ");
        query.bind(model).push(" and given.role = 'model' and job.project = ").bind(project);
        return "given.job_id";
    }
    query.push("select id from job where project = ").bind(project);
    "id"
}

/// Writes down by what pairs of metadata jobs are found.
pub(super) async fn find_by_metadata(connection: &mut AnyConnection, jobs: &[JobId]) -> Result<()> {
    sqlx::query(
        "insert into job_metadata (job_id, key, project, value)
         select job.id, own.key, job.project, own.value from job, json_each(job.metadata) as own
         where job.id in (select value from json_each($1))",
    )
    .bind(write_json(&jobs)?)
    .execute(connection)
    .await?;
    Ok(())
}

impl Store {
    pub async fn job(&self, id: JobId) -> Result<JobRow> {
        by_id(&mut *self.readers.acquire().await?, id, self.project()).await
    }

    pub async fn jobs(&self, filter: &JobFilter, page: &Page) -> Result<Vec<JobRow>> {
        let rows = listing(self.own_project(), filter, page).finish()?.fetch_all(&self.readers).await?;
        rows.iter().map(job).collect()
    }

    /// Cancels a queued job at once; a running one is told to stop. Cancelling twice is the same as once.
    pub async fn cancel_job(&self, id: JobId, now: Timestamp) -> Result<JobRow> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let row = sqlx::query("select status from job where id = $1 and project = coalesce($2, project)")
                .bind(id.to_string())
                .bind(self.project())
                .fetch_optional(tx.connection())
                .await?
                .ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?;
            let status: JobStatus = read("job status", row.try_get("status")?)?;
            let next = match status {
                JobStatus::Queued | JobStatus::Paused => JobStatus::Cancelled,
                JobStatus::Starting | JobStatus::Running | JobStatus::Pausing => JobStatus::Cancelling,
                JobStatus::Cancelling => return self.job(id).await,
                JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => {
                    return Err(StoreError::Conflict(format!(
                        "the job is over (`{status}`); only a job that is not finished can be cancelled"
                    )));
                }
            };
            move_job(tx.connection(), id, &Transition::to(next, CANCELLED_BY_CLIENT), now).await?;
            tx.commit().await?;
            self.job(id).await
        })
        .await
    }
}

/// A job by its id, as `project` sees it.
pub(super) async fn by_id(connection: &mut AnyConnection, id: JobId, project: Option<&str>) -> Result<JobRow> {
    sqlx::query(concat!(job_rows!(), " where id = $1 and project = coalesce($2, project)"))
        .bind(id.to_string())
        .bind(project)
        .fetch_optional(connection)
        .await?
        .map_or_else(|| Err(StoreError::NotFound { what: "job", id: id.to_string() }), |row| job(&row))
}

/// The resolved spec of a row of `job`, and what may change of it.
pub(super) fn stored_spec(row: &AnyRow) -> Result<(Attributes, Arc<Resolved>, Value)> {
    let corrupt = |error: FieldError| StoreError::Corrupt { what: "spec", detail: error.to_string() };
    let kind: JobKind = read("job kind", row.try_get("kind")?)?;
    let value: Value = read_json("spec", row.try_get("spec_resolved")?)?;
    let (_, resolved) = Resolved::parse(kind, &value).map_err(corrupt)?;
    let attributes = Attributes {
        name: row.try_get("name")?,
        priority: row.try_get("priority")?,
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        budget: stored_budget(row)?,
    };
    Ok((attributes, Arc::new(resolved), value))
}

/// The budget of a row of `job`.
pub(super) fn stored_budget(row: &AnyRow) -> Result<Option<BudgetSpec>> {
    let text: Option<String> = row.try_get("budget")?;
    text.map(|text| read_json("budget", &text)).transpose()
}

pub(super) fn job(row: &AnyRow) -> Result<JobRow> {
    let time = |column| -> Result<Option<Timestamp>> { Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp)) };
    let json = |column| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let (attributes, resolved, essence) = stored_spec(row)?;
    Ok(JobRow {
        id: read("job id", row.try_get("id")?)?,
        status: read("job status", row.try_get("status")?)?,
        phase: json("phase")?.map(|text| read("phase", &text)).transpose()?,
        spec: read_json("spec", row.try_get("spec")?)?,
        attributes,
        resolved,
        essence,
        spec_digest: row.try_get("spec_digest")?,
        created_at: Timestamp(row.try_get("created_at")?),
        started_at: time("started_at")?,
        finished_at: time("finished_at")?,
        attempt: number(row, "attempt")?,
        worker: row.try_get("worker")?,
        step: row.try_get::<i64, _>("step")?.unsigned_abs(),
        last_seq: row.try_get("last_seq")?,
        result: json("result")?.map(|text| read_json("result", &text)).transpose()?,
        failure: json("failure")?.map(|text| read_json("failure", &text)).transpose()?,
        memory_bytes: row.try_get::<i64, _>("memory_bytes")?.unsigned_abs(),
        base: shared_base(row)?,
        devices: json("held")?.map(|text| read_json("devices", &text)).transpose()?.unwrap_or_default(),
        rollout_set: json("rollout_set")?.map(|text| read("rollout set id", &text)).transpose()?,
        spent_milliseconds: row.try_get("spent")?,
        worker_seen_at: time("worker_seen_at")?,
        forked_from: json("forked_from")?.map(|text| read("job id", &text)).transpose()?,
        verifies: json("verifies")?.map(|text| read("job id", &text)).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::DEFAULT_PROJECT;

    #[tokio::test]
    async fn listings_walk_no_other_jobs_than_those_that_they_show() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        if crate::store::backend::on_postgres() {
            return;
        }
        let newest = Page { after: None, limit: 21, newest_first: true };
        let oldest = Page { newest_first: false, ..newest.clone() };
        let every = JobFilter::default();
        let failed = JobFilter { status: Some(JobStatus::Failed), ..JobFilter::default() };
        let measuring = JobFilter { kind: Some(JobKind::Evaluation), ..JobFilter::default() };
        let of_model = JobFilter { model: Some(String::from("mdl_1")), ..JobFilter::default() };
        let pairs = [("run", "17"), ("team", "a")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let metadata = MetadataFilter::Pairs(pairs.into());
        let with_pairs = JobFilter { metadata, kind: Some(JobKind::Train), ..JobFilter::default() };
        let forks = JobFilter { forked_from: Some(String::from("job_1")), ..JobFilter::default() };
        let named = JobFilter { text: Some(String::from("sums")), ..JobFilter::default() };
        let listings = [
            (&every, &newest, "job USING COVERING INDEX job_project (project=? AND id<?)"),
            (&every, &oldest, "job USING COVERING INDEX job_project (project=? AND id>?)"),
            (&failed, &newest, "job USING COVERING INDEX job_status (project=? AND status=? AND id<?)"),
            (&failed, &oldest, "job USING COVERING INDEX job_status (project=? AND status=? AND id>?)"),
            (&measuring, &newest, "job USING COVERING INDEX job_kind (project=? AND kind=? AND id<?)"),
            (&of_model, &newest, "given USING COVERING INDEX job_input_id (id=? AND job_id<?)"),
            (
                &with_pairs,
                &oldest,
                "pair USING COVERING INDEX job_metadata_pair (project=? AND key=? AND value=? AND job_id>?)",
            ),
            (&forks, &newest, "job USING COVERING INDEX job_fork (project=? AND forked_from=? AND id<?)"),
            (&named, &newest, "job USING COVERING INDEX job_label (project=? AND id<?)"),
        ];
        for (filter, page, index) in listings {
            let statement = listing(DEFAULT_PROJECT, filter, page).into_text();
            let plan = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
            let steps = sqlx::query(plan).fetch_all(&store.readers).await.unwrap();
            let steps: Vec<String> = steps.iter().map(|step| step.get("detail")).collect();
            assert!(steps.contains(&format!("SEARCH {index}")), "{statement}\n{steps:#?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE") || step.starts_with("SCAN")), "{steps:#?}");
        }
    }
}
