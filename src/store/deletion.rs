//! What clients delete: jobs with all that belongs to them, single checkpoints and rollout sets.
//!
//! Rows go first and files after the commit, so that nobody sees half of a thing. What a crash leaves between the two
//! is removed by [`Store::sweep_jobs`] when a server starts.

use std::time::Duration;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::artifacts::{Entry, training_locations};
use super::inputs::{has_adapters, in_use};
use super::{Location, Result, Store, StoreError, exports, read};
use crate::job::rollout_set::{PARTS_FOLDER, SAMPLE_FOLDER};
use crate::job::{CheckpointId, JobId, JobStatus, RolloutSetId};

/// What a job owns besides its row, in an order that references allow.
const OWNED: [&str; 15] = [
    "insert into deleted_event (id, position, project)
     select event.id, position, project from event join job on job.id = job_id where job_id = $1",
    "delete from event where job_id = $1",
    "delete from metric_block where job_id = $1",
    "delete from metric_point where job_id = $1",
    "delete from attempt where job_id = $1",
    "delete from artifact where job_id = $1",
    "delete from export where job_id = $1",
    "delete from rollout_set where job_id = $1",
    "delete from rollout_sample where job_id = $1",
    "delete from verification where job_id = $1",
    "delete from fine_tuning where job_id = $1",
    "delete from job_input where job_id = $1",
    "delete from job_metadata where job_id = $1",
    "delete from suite_wanted where job_id = $1",
    // A request that made it makes another one from now on.
    "delete from idempotency where resource = $1",
];

/// Folders with one file or folder for each row of a table.
const UNNAMED: [(&str, &str); 4] = [
    ("datasets", "select 1 from dataset_version where id = $1"),
    ("exports", "select 1 from export where id = $1"),
    ("files", "select 1 from file where id = $1"),
    ("models", "select 1 from model where id = $1"),
];
/// How far back in the log of all jobs it is known where events of deleted jobs stood.
const REMEMBERED_EVENTS: i64 = 1_000_000;

/// No upload and no import takes longer.
const ON_THE_WAY: Duration = Duration::from_secs(24 * 3600);

impl Store {
    /// Deletes a finished or paused job with its log, metrics, attempts, checkpoints, their exports and its rollout set.
    pub async fn delete_job(&self, id: JobId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            self.deletable_job(tx.connection(), id).await?;
            let exports = exports::of_job(tx.connection(), id).await?;
            for statement in OWNED {
                sqlx::query(statement).bind(id.to_string()).execute(tx.connection()).await?;
            }
            sqlx::query("delete from job where id = $1").bind(id.to_string()).execute(tx.connection()).await?;
            sqlx::query(
                "delete from deleted_event where position <=
                             (select position from deleted_event order by position desc limit 1 offset $1)",
            )
            .bind(REMEMBERED_EVENTS)
            .execute(tx.connection())
            .await?;
            tx.commit().await?;
            for location in exports.iter().chain([&Location::job(id)]) {
                self.place().remove(location).await;
            }
            Ok(())
        })
        .await
    }

    /// Deletes a checkpoint of a finished job.
    pub async fn delete_checkpoint(&self, id: CheckpointId) -> Result<()> {
        let find = "select job.status from artifact join job on job.id = job_id
                    where artifact.id = $1 and project = coalesce($2, project)";
        self.delete_part(find, ("checkpoint", id.to_string())).await
    }

    /// Deletes a rollout set of a finished job; the job stays.
    pub async fn delete_rollout_set(&self, id: RolloutSetId) -> Result<()> {
        let find = "select job.status from rollout_set join job on job.id = job_id
                    where rollout_set.id = $1 and project = coalesce($2, project)";
        self.delete_part(find, ("rollout set", id.to_string())).await
    }

    /// Removes what lies in the folder of jobs and belongs to nothing: folders of jobs that are gone, and in those of
    /// finished jobs what they need no more. Only the one server of a data directory may call it. Returns how many.
    pub async fn sweep_jobs(&self) -> Result<usize> {
        let mut swept = 0;
        // Folders are listed before rows are read: a job's row is older than its folder.
        for folder in self.place().list(&Location::folder("jobs")).await? {
            let Ok(id) = folder.name.parse::<JobId>() else { continue };
            let status: Option<String> = sqlx::query_scalar("select status from job where id = $1")
                .bind(id.to_string())
                .fetch_optional(&self.readers)
                .await?;
            match status.map(|status| read::<JobStatus>("job status", &status)).transpose()? {
                None => {
                    self.place().remove(&folder.location).await;
                    swept += 1;
                }
                Some(status) if status.is_final() => {
                    swept += self.sweep_unneeded(id, status == JobStatus::Succeeded, true).await?;
                }
                Some(_) => {}
            }
        }
        Ok(swept)
    }

    /// Removes from the folder of a job that has ended, or is about to, all that no row names, but for what a job that can
    /// be resumed goes on with, and the sample of its completions, whose bytes count as stored from now on. Returns how
    /// many.
    pub async fn sweep_job(&self, id: JobId, succeeded: bool) -> Result<usize> {
        self.sweep_unneeded(id, succeeded, false).await
    }

    /// As [`sweep_job`](Self::sweep_job); `careful` where another server may just be storing what no row names yet.
    async fn sweep_unneeded(&self, id: JobId, succeeded: bool, careful: bool) -> Result<usize> {
        let goes_on = !succeeded && !training_locations(&mut *self.readers.acquire().await?, id).await?.is_empty();
        let mut swept = 0;
        self.count_sample(id).await?;
        for part in self.place().list(&Location::job(id)).await? {
            let needed = part.name == SAMPLE_FOLDER || (goes_on && part.name == PARTS_FOLDER);
            let is_young = careful && self.is_on_the_way(&part).await?;
            if !needed && !is_young && !self.is_artifact(&part.location).await? {
                self.place().remove(&part.location).await;
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// Whether something may still get its row, in a bucket that other servers write to.
    async fn is_on_the_way(&self, entry: &Entry) -> Result<bool> {
        Ok(self.place().stored_age(&entry.location).await?.is_some_and(|age| age <= ON_THE_WAY))
    }

    /// Writes down what the sample of a job's completions takes.
    async fn count_sample(&self, id: JobId) -> Result<()> {
        let sample = self.place().list(&Location::job(id).within(SAMPLE_FOLDER)).await?;
        let bytes: u64 = sample.iter().map(|entry| entry.bytes).sum();
        let known: Option<i64> = sqlx::query_scalar("select bytes from rollout_sample where job_id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if known.unwrap_or_default() == bytes {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into rollout_sample (job_id, bytes) select id, $2 from job where id = $1
             on conflict (job_id) do update set bytes = excluded.bytes",
        )
        .bind(id.to_string())
        .bind(bytes)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// Removes files of data sets, models and clients that no row names: their server died between the two, or the disk
    /// was full. Younger ones than a day may be on their way. Only the one server of a data directory may call it.
    /// Returns how many.
    pub async fn sweep_unnamed(&self) -> Result<usize> {
        let mut swept = 0;
        for (folder, find) in UNNAMED {
            for entry in self.place().list(&Location::folder(folder)).await? {
                let name = entry.name.split_once('.').map_or(entry.name.as_str(), |(stem, _)| stem);
                // Unpacked built-in models have no rows.
                let age = self.place().age(&entry).await?;
                if age.is_none_or(|age| age <= ON_THE_WAY) || name.starts_with("builtin-") {
                    continue;
                }
                if sqlx::query(find).bind(name).fetch_optional(&self.readers).await?.is_none() {
                    self.place().remove(&entry.location).await;
                    swept += 1;
                }
            }
        }
        Ok(swept)
    }

    /// Whether a job may be deleted; an error says why not.
    async fn deletable_job(&self, connection: &mut AnyConnection, id: JobId) -> Result<()> {
        let row = sqlx::query("select status from job where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&mut *connection)
            .await?
            .ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?;
        let status = status_of(&row)?;
        if !status.is_final() && status != JobStatus::Paused {
            let detail = format!("the job is {status}; cancel it and wait for its end before deleting it");
            return Err(StoreError::Refused { code: "job_not_finished", detail });
        }
        let parts: Vec<String> = sqlx::query_scalar(
            "select id from artifact where job_id = $1 union all select id from rollout_set where job_id = $1",
        )
        .bind(id.to_string())
        .fetch_all(&mut *connection)
        .await?;
        unneeded(connection, &parts, Some(id)).await
    }

    async fn delete_part(&self, find: &'static str, (what, id): (&'static str, String)) -> Result<()> {
        self.despite_full(|| self.delete_part_once(find, what, &id)).await
    }

    async fn delete_part_once(&self, find: &'static str, what: &'static str, id: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let row = sqlx::query(find).bind(id).bind(self.project()).fetch_optional(tx.connection()).await?;
        deletable_part(tx.connection(), row, what, id).await?;
        exports::unexported(tx.connection(), id).await?;
        let directory: Option<String> = sqlx::query_scalar("delete from artifact where id = $1 returning directory")
            .bind(id)
            .fetch_optional(tx.connection())
            .await?;
        // A request that made a set makes another one from now on; one that made a job which kept the set did more.
        sqlx::query(
            "delete from idempotency where resource =
                (select job.id from rollout_set join job on job.id = job_id
                 where rollout_set.id = $1 and job.kind = 'rollouts')",
        )
        .bind(id)
        .execute(tx.connection())
        .await?;
        sqlx::query("delete from rollout_set where id = $1").bind(id).execute(tx.connection()).await?;
        tx.commit().await?;
        if let Some(directory) = directory {
            self.place().remove(&Location::artifact(&directory)).await;
        }
        Ok(())
    }
}

/// Whether a checkpoint or a rollout set may be deleted; an error says why not.
async fn deletable_part(
    connection: &mut AnyConnection,
    row: Option<AnyRow>,
    what: &'static str,
    id: &str,
) -> Result<()> {
    let row = row.ok_or_else(|| StoreError::NotFound { what, id: id.to_owned() })?;
    let status = status_of(&row)?;
    if !status.is_final() {
        let detail = format!("the job of the {what} is {status} and may need it; wait for its end, or cancel it");
        return Err(StoreError::Refused { code: "job_not_finished", detail });
    }
    unneeded(connection, &[id.to_owned()], None).await
}

fn status_of(row: &AnyRow) -> Result<JobStatus> {
    read("job status", row.try_get("status")?)
}

/// Refuses when a job that is not finished needs one of these checkpoints and rollout sets.
async fn unneeded(connection: &mut AnyConnection, parts: &[String], owner: Option<JobId>) -> Result<()> {
    if let Some(user) = in_use(connection, parts, owner).await? {
        let detail = format!("the job {user} is not finished and needs it; wait for its end, or cancel it");
        return Err(StoreError::Refused { code: "in_use", detail });
    }
    for part in parts {
        if has_adapters(connection, part).await? {
            let detail = format!("adapters that were trained beside {part} need it; delete their checkpoints first");
            return Err(StoreError::Refused { code: "in_use", detail });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[tokio::test]
    async fn old_files_without_a_row_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let write = |path: PathBuf, old: bool| {
            let file = std::fs::File::create(&path).unwrap();
            if old {
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }
            path
        };
        let (young, old) = (false, true);
        let at = |folder: &str, name: &str| store.files().root().join(folder).join(name);
        let stays = [write(at("files", "file-1"), young), write(at("models", "builtin-a-1"), old)];
        let goes = [write(at("datasets", "dsv_1.jsonl"), old), write(at("files", "file-2"), old)];
        assert_eq!(store.sweep_unnamed().await.unwrap(), goes.len());
        assert!(stays.iter().all(|path| path.exists()) && !goes.iter().any(|path| path.exists()));
    }

    #[tokio::test]
    async fn the_sample_of_a_jobs_completions_counts_as_stored_and_goes_with_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let spec = serde_json::json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                                      "objective": {"type": "sft"}});
        let new = crate::store::NewJob::of_kind(crate::job::JobKind::Train, spec);
        let job = store.submit_job(new, None, crate::job::Timestamp(1)).await.unwrap().job.id;
        let sample = store.files().job(job).join(SAMPLE_FOLDER);
        std::fs::create_dir_all(&sample).unwrap();
        let stored = async || store.project_with_usage("default").await.unwrap().storage_bytes;
        for (round, total) in [(0, 100), (1, 200)] {
            std::fs::write(sample.join(format!("{round:09}.jsonl")), [b'x'; 100]).unwrap();
            store.sweep_job(job, true).await.unwrap();
            assert_eq!(stored().await, total);
        }
        assert_eq!(store.named_files().await.unwrap().len(), 2, "a backup has them");
        store.cancel_job(job, crate::job::Timestamp(2)).await.unwrap();
        store.delete_job(job).await.unwrap();
        assert_eq!((stored().await, sample.exists()), (0, false));
    }

    #[tokio::test]
    async fn a_job_that_has_ended_keeps_what_it_can_go_on_with_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let spec = serde_json::json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                                      "objective": {"type": "sft"}});
        let new = crate::store::NewJob::of_kind(crate::job::JobKind::Train, spec);
        let job = store.submit_job(new, None, crate::job::Timestamp(1)).await.unwrap().job.id;
        let swept = async |succeeded| {
            for name in ["parts", "training-1-5", "training-1-9.tmp"] {
                std::fs::create_dir_all(store.files().job(job).join(name)).unwrap();
            }
            store.sweep_job(job, succeeded).await.unwrap();
            let left = store.place().list(&Location::job(job)).await.unwrap();
            left.into_iter().map(|entry| entry.name).collect::<std::collections::BTreeSet<_>>()
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(swept(false).await, names(&[]), "without a checkpoint it would begin anew");
        let mut tx = store.begin().await.unwrap();
        sqlx::query(
            "insert into artifact (id, job_id, kind, step, directory, bytes, manifest, completed_at)
             values ('ckpt_1', $1, 'training', 5, $1 || '/training-1-5', 1, '{}', 1)",
        )
        .bind(job.to_string())
        .execute(tx.connection())
        .await
        .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(swept(false).await, names(&["parts", "training-1-5"]));
        assert_eq!(swept(true).await, names(&["training-1-5"]));
    }

    #[tokio::test]
    async fn whatever_belongs_to_a_job_is_deleted_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        if crate::store::backend::on_postgres() {
            return;
        }
        let tables: Vec<String> = sqlx::query_scalar(
            "select m.name from sqlite_master m, pragma_foreign_key_list(m.name) f
             where m.type = 'table' and f.\"table\" = 'job'",
        )
        .fetch_all(&store.readers)
        .await
        .unwrap();
        assert!(tables.iter().any(|table| table == "artifact"), "{tables:?}");
        // A job that is over holds no device.
        for table in tables.iter().filter(|table| *table != "holding") {
            let deleted = OWNED.iter().any(|statement| statement.starts_with(&format!("delete from {table} ")));
            assert!(deleted, "{table} refers to jobs");
        }
    }
}
