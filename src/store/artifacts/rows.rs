//! The rows of artifacts: one table, one way in.

use serde::de::DeserializeOwned;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{Artifact, CheckpointRow, Content, Location};
use crate::job::artifact::VERSION_MARK;
use crate::job::event::{CheckpointAdded, RolloutSetAdded};
use crate::job::{
    ArtifactId, ArtifactKind, ArtifactSummary, CheckpointId, EvaluationId, EventBody, JobId, Manifest, NewEvent,
    RolloutSetId, Timestamp,
};
use crate::store::events::append;
use crate::store::lease::fence;
use crate::store::statement::Statement;
use crate::store::{Lease, Page, Result, Store, StoreError, read, read_json, write_json};

/// An artifact about to become visible.
#[derive(Clone, Copy, Debug)]
pub struct NewArtifact<'a> {
    pub location: &'a Location,
    pub manifest: &'a Manifest,
    pub summary: &'a ArtifactSummary,
    /// What an evaluation at a checkpoint's step found.
    pub score: Option<f64>,
    pub keep: Keep,
}

/// How many training checkpoints a job keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The newest ones.
    pub last: u32,
    /// The ones with the best scores besides.
    pub best: u32,
}

/// What came of a new artifact.
#[derive(Clone, Debug)]
pub struct Added {
    pub id: ArtifactId,
    /// What no row names any more and may be removed.
    pub dropped: Vec<Location>,
}

impl Store {
    /// Makes an artifact visible under the fence. What the job has once, its finished model, a rollout set or an evaluation,
    /// replaces what an earlier attempt made, and the same again changes nothing; a checkpoint takes the place of training
    /// checkpoints that need not be kept.
    pub async fn add_artifact(&self, lease: Lease, new: NewArtifact<'_>, now: Timestamp) -> Result<Added> {
        let mut tx = self.begin().await?;
        fence(tx.connection(), lease, now).await?;
        let finished = finished_model(tx.connection(), &new).await?;
        if let Some((id, location, weights)) = &finished
            && weights.as_deref() == new.manifest.weights_sha256()
        {
            tx.commit().await?;
            let dropped = if location == new.location { Vec::new() } else { vec![new.location.clone()] };
            return Ok(Added { id: *id, dropped });
        }
        let id = match finished {
            Some((id, ..)) => id,
            None => id_of(tx.connection(), lease.job, new.summary).await?,
        };
        let manifest = write_json(new.manifest)?;
        let known = sqlx::query("select 1 from artifact where id = $1 and directory = $2 and manifest = $3")
            .bind(id.to_string())
            .bind(new.location.directory())
            .bind(&manifest)
            .fetch_optional(tx.connection())
            .await?;
        if known.is_some() {
            tx.commit().await?;
            return Ok(Added { id, dropped: Vec::new() });
        }
        let mut dropped = replace(tx.connection(), lease.job, id, &new, manifest, now).await?;
        let provenance = self.signed(tx.connection(), new.manifest, now).await?;
        sqlx::query("update artifact set provenance = $2 where id = $1")
            .bind(id.to_string())
            .bind(provenance)
            .execute(tx.connection())
            .await?;
        if let ArtifactSummary::Checkpoint = new.summary {
            dropped.extend(prune(tx.connection(), lease.job, new.keep).await?);
        }
        if let Some(event) = told(id, new.manifest, new.summary) {
            append(tx.connection(), lease.job, &event, now).await?;
        }
        tx.commit().await?;
        Ok(Added { id, dropped: dropped.iter().map(|directory| Location::artifact(directory)).collect() })
    }

    pub async fn checkpoint(&self, id: CheckpointId) -> Result<CheckpointRow> {
        sqlx::query(
            "select artifact.* from artifact join job on job.id = job_id
             where artifact.id = $1 and project = coalesce($2, project)",
        )
        .bind(id.to_string())
        .bind(self.project())
        .fetch_optional(&self.readers)
        .await?
        .map_or_else(|| Err(StoreError::NotFound { what: "checkpoint", id: id.to_string() }), |row| checkpoint(&row))
    }

    /// Checkpoints of one job, or of all, by id.
    pub async fn checkpoints(&self, job: Option<JobId>, page: &Page) -> Result<Vec<CheckpointRow>> {
        let (low, high) = checkpoint_bounds(page);
        let mut select = Statement::new("select artifact.* from artifact join job on job.id = job_id where project = ");
        select.bind(self.own_project());
        if let Some(job) = job {
            select.push(" and job_id = ").bind(job.to_string());
        }
        select.push(" and artifact.id > ").bind(low).push(" and artifact.id < ").bind(high);
        select.push(if page.newest_first {
            " order by artifact.id desc limit "
        } else {
            " order by artifact.id limit "
        });
        select.bind(i64::from(page.limit));
        let rows = select.finish()?.fetch_all(&self.readers).await?;
        rows.iter().map(checkpoint).collect()
    }

    /// Whether a row names a directory; used to sweep what crashed attempts left behind.
    pub async fn is_artifact(&self, location: &Location) -> Result<bool> {
        let found = sqlx::query("select 1 from artifact where directory = $1").bind(location.directory());
        Ok(found.fetch_optional(&self.readers).await?.is_some())
    }
}

/// As [`Page::bounds`], with nothing between them but checkpoints, whose ids begin like no others.
pub(in crate::store) fn checkpoint_bounds(page: &Page) -> (&str, &str) {
    let (low, high) = page.bounds();
    (low.max("ckpt_"), high.min("ckpt_~"))
}

/// The finished model that an earlier attempt has made, which was lost before it could say so: its id, where it lies, and
/// the digest of its weights. None where `new` is no finished model.
async fn finished_model(
    connection: &mut AnyConnection,
    new: &NewArtifact<'_>,
) -> Result<Option<(ArtifactId, Location, Option<String>)>> {
    if new.manifest.kind != ArtifactKind::Inference {
        return Ok(None);
    }
    let row = sqlx::query("select * from artifact where job_id = $1 and kind = $2")
        .bind(new.manifest.job.to_string())
        .bind(ArtifactKind::Inference.as_str())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let CheckpointRow { id, artifact, .. } = checkpoint(&row)?;
    let weights = artifact.manifest.weights_sha256().map(str::to_owned);
    Ok(Some((ArtifactId::Checkpoint(id), artifact.location, weights)))
}

/// A rollout set has had its id since its job was submitted, and an evaluation has the digits of its job.
async fn id_of(connection: &mut AnyConnection, job: JobId, summary: &ArtifactSummary) -> Result<ArtifactId> {
    match summary {
        ArtifactSummary::Checkpoint => Ok(ArtifactId::Checkpoint(CheckpointId::generate())),
        ArtifactSummary::Evaluation(_) => Ok(ArtifactId::Evaluation(EvaluationId::of_job(job))),
        ArtifactSummary::Rollouts(_) => {
            let id: Option<String> = sqlx::query_scalar("select id from rollout_set where job_id = $1")
                .bind(job.to_string())
                .fetch_optional(connection)
                .await?;
            let id = id.ok_or_else(|| StoreError::NotFound { what: "rollout set of job", id: job.to_string() })?;
            Ok(ArtifactId::RolloutSet(read::<RolloutSetId>("rollout set id", &id)?))
        }
    }
}

/// Writes the row in the place of one with the same id or, but for the version, the same directory; returns the
/// directories that are left.
async fn replace(
    connection: &mut AnyConnection,
    job: JobId,
    id: ArtifactId,
    new: &NewArtifact<'_>,
    manifest: String,
    now: Timestamp,
) -> Result<Vec<String>> {
    let unversioned = new.location.unversioned();
    let old: Vec<(String, Option<f64>)> = sqlx::query_as(
        "delete from artifact where id = $1 or directory = $2 or substr(directory, 1, length($3)) = $3 returning directory, score",
    )
    .bind(id.to_string())
    .bind(unversioned.directory())
    .bind(format!("{}{VERSION_MARK}", unversioned.directory()))
    .fetch_all(&mut *connection)
    .await?;
    let summary = match new.summary {
        ArtifactSummary::Checkpoint => None,
        ArtifactSummary::Rollouts(summary) => Some(write_json(summary)?),
        ArtifactSummary::Evaluation(summary) => Some(write_json(summary)?),
    };
    let score = new.score.or_else(|| old.iter().find_map(|(_, score)| *score));
    // sqlx tells PostgreSQL of another type where there is no number, and a statement's types stay what they were first.
    sqlx::query(
        "insert into artifact (id, job_id, kind, step, directory, bytes, manifest, score, summary, completed_at)
         values ($1, $2, $3, $4, $5, $6, $7, case when $11 = 1 then $8 end, $9, $10)",
    )
    .bind(id.to_string())
    .bind(job.to_string())
    .bind(new.manifest.kind.as_str())
    .bind(new.manifest.step as i64)
    .bind(new.location.directory())
    .bind(new.manifest.bytes() as i64)
    .bind(manifest)
    .bind(score.unwrap_or(0.0))
    .bind(summary)
    .bind(now.0)
    .bind(i64::from(score.is_some()))
    .execute(connection)
    .await?;
    Ok(old.into_iter().map(|(directory, _)| directory).filter(|name| name != new.location.directory()).collect())
}

/// Drops the rows of training checkpoints that need not be kept; returns their directories.
async fn prune(connection: &mut AnyConnection, job: JobId, keep: Keep) -> Result<Vec<String>> {
    let dropped = sqlx::query_scalar(
        "delete from artifact where job_id = $1 and kind = 'training' and id not in
           (select id from artifact where job_id = $1 and kind = 'training'
            order by step desc, id desc limit $2)
           and id not in
           (select id from artifact where job_id = $1 and kind = 'training' and score is not null
            order by score desc, step desc, id desc limit $3)
         returning directory",
    );
    Ok(dropped
        .bind(job.to_string())
        .bind(i64::from(keep.last))
        .bind(i64::from(keep.best))
        .fetch_all(connection)
        .await?)
}

/// What the job's log says of a new artifact. What an evaluation found is an event of its own already.
fn told(id: ArtifactId, manifest: &Manifest, summary: &ArtifactSummary) -> Option<NewEvent> {
    let (kind, step, bytes) = (manifest.kind, manifest.step, manifest.bytes());
    match id {
        ArtifactId::Checkpoint(checkpoint) => {
            let body = EventBody::Checkpoint(CheckpointAdded { checkpoint, kind, step, bytes });
            Some(NewEvent::info(format!("{kind} checkpoint of step {step}"), body))
        }
        ArtifactId::RolloutSet(rollout_set) => {
            let ArtifactSummary::Rollouts(summary) = summary else { return None };
            let (rollouts, groups) = (summary.rollouts, summary.groups);
            let message = format!("rollout set of {rollouts} completions for {groups} prompts");
            let body = EventBody::RolloutSet(RolloutSetAdded { rollout_set, rollouts, groups, bytes });
            Some(NewEvent::info(message, body))
        }
        ArtifactId::Evaluation(_) => None,
    }
}

/// Training checkpoints that a job can go on from, best first: its own, newest first, and then the one of another job
/// that it begins from to verify it.
pub(in crate::store) async fn training_locations(connection: &mut AnyConnection, job: JobId) -> Result<Vec<Location>> {
    let directories: Vec<String> = sqlx::query_scalar(
        "select directory from
            (select directory, step, id from artifact where job_id = $1 and kind = 'training'
             union all select directory, -1, '' from verification where job_id = $1) as found
         order by step desc, id desc",
    )
    .bind(job.to_string())
    .fetch_all(connection)
    .await?;
    Ok(directories.iter().map(|directory| Location::artifact(directory)).collect())
}

pub(in crate::store) fn checkpoint(row: &AnyRow) -> Result<CheckpointRow> {
    Ok(CheckpointRow {
        id: read("checkpoint id", row.try_get("id")?)?,
        artifact: artifact(row)?,
        score: row.try_get("score")?,
    })
}

/// What a row holds that has the columns of an artifact, if it has one.
pub(in crate::store) fn content<S: DeserializeOwned>(row: &AnyRow) -> Result<Option<Content<S>>> {
    let Some(summary) = row.try_get::<Option<String>, _>("summary")? else { return Ok(None) };
    Ok(Some(Content { artifact: artifact(row)?, summary: read_json("summary", &summary)? }))
}

fn artifact(row: &AnyRow) -> Result<Artifact> {
    Ok(Artifact {
        manifest: read_json("manifest", row.try_get("manifest")?)?,
        completed_at: Timestamp(row.try_get("completed_at")?),
        location: Location::artifact(row.try_get("directory")?),
    })
}
