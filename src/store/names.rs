//! What clients write in the place of an id: a name, the newest of a name (`nightly@latest`), the newest of all (`@latest`),
//! or the first digits of an id. A checkpoint is called after its job: `ft:nightly` is the job's model, or as long as there
//! is none its newest checkpoint, and `ft:nightly:step-60` the one of a step. What stands before the job is not looked at,
//! so that the model it began with can be told (`ft:arith-tiny:nightly:step-60`).
//!
//! Names need not be unique. One that several things have is refused and not guessed.

use std::str::FromStr;

use super::{Result, Store, StoreError};
use crate::job::id::InvalidId;
use crate::job::{
    ApiKeyId, CheckpointId, DatasetId, DatasetVersionId, EvaluationId, ExportId, FileId, JobId, LaunchId, ModelId,
    RolloutSetId, SuiteId, SuiteRunId, SweepId, UploadId, VerifierId, WebhookDeliveryId, WebhookEndpointId, WorkerId,
};

/// What follows a name to mean the newest that has it.
const LATEST: &str = "@latest";
/// Digits of an id that stand for it, if no other begins with them.
const LEAST_DIGITS: usize = 8;

/// Something that has an id.
pub trait Identified: FromStr<Err = InvalidId> + Send + Sync {
    /// How it is found by something else than its whole id, if it is.
    const CALLED: Option<Called> = None;
}

/// How something is found by what it is called.
#[derive(Clone, Copy, Debug)]
pub enum Called {
    ByName(Named),
    AfterItsJob,
}

/// What has a name. The statements take a text and a project.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    what: &'static str,
    prefix: &'static str,
    by_name: &'static str,
    by_digits: &'static str,
    newest: &'static str,
}

macro_rules! called {
    ($($id:ident = $what:literal in $table:literal of $whose:literal),+ $(,)?) => {$(
        impl Identified for $id {
            const CALLED: Option<Called> = Some(Called::ByName(Named {
                what: $what,
                prefix: $id::PREFIX,
                by_name: concat!("select id from ", $table, " where name = $1 and ", $whose, " order by id desc limit 2"),
                by_digits: concat!(
                    "select id from ", $table, " where id >= $1 and id < $1 || '~' and ", $whose, " order by id limit 2"
                ),
                newest: concat!("select id from ", $table, " where $1 = '' and ", $whose, " order by id desc limit 1"),
            }));
        }
    )+};
}

called! {
    JobId = "job" in "job" of "project = $2",
    DatasetId = "data set" in "dataset" of "project = $2",
    // What the operator imports is there for every project.
    ModelId = "model" in "model" of "(project is null or project = $2)",
    VerifierId = "verifier" in "verifier" of "project = $2",
    SuiteId = "suite" in "suite" of "project = $2",
}

impl Identified for CheckpointId {
    const CALLED: Option<Called> = Some(Called::AfterItsJob);
}

impl Identified for ApiKeyId {}
impl Identified for DatasetVersionId {}
impl Identified for EvaluationId {}
impl Identified for ExportId {}
impl Identified for FileId {}
impl Identified for LaunchId {}
impl Identified for SuiteRunId {}
impl Identified for SweepId {}
impl Identified for RolloutSetId {}
impl Identified for UploadId {}
impl Identified for WebhookDeliveryId {}
impl Identified for WebhookEndpointId {}
impl Identified for WorkerId {}

impl Store {
    /// The id that `text` stands for in the caller's project.
    pub async fn called<T: Identified>(&self, text: &str) -> Result<T> {
        let malformed = match text.parse() {
            Ok(id) => return Ok(id),
            Err(malformed) => malformed,
        };
        let called = match T::CALLED {
            Some(Called::ByName(called)) => called,
            Some(Called::AfterItsJob) => return super::read("id", &Box::pin(self.after_its_job(text)).await?),
            None => return Err(StoreError::NotFound { what: "id", id: malformed.text }),
        };
        let newest_of = text.strip_suffix(LATEST);
        let (statement, wanted) = match newest_of {
            Some("") => (called.newest, ""),
            Some(name) => (called.by_name, name),
            None if called.begins_an_id(text) => (called.by_digits, text),
            None => (called.by_name, text),
        };
        let ids: Vec<String> =
            sqlx::query_scalar(statement).bind(wanted).bind(self.own_project()).fetch_all(&self.readers).await?;
        match &ids[..] {
            [] => Err(StoreError::NotFound { what: called.what, id: malformed.text }),
            [_, _, ..] if newest_of.is_none() => Err(StoreError::Refused {
                code: "name_ambiguous",
                detail: format!(
                    "`{0}` stands for several; give an id, such as {1}, or `{0}{LATEST}` for the newest of a name",
                    malformed.text, ids[0]
                ),
            }),
            [id, ..] => super::read("id", id),
        }
    }

    /// The checkpoint that is called after its job.
    async fn after_its_job(&self, text: &str) -> Result<String> {
        let unknown = || StoreError::NotFound { what: "checkpoint", id: text.to_owned() };
        let rest = text.strip_prefix("ft:").ok_or_else(unknown)?;
        let (before, last) = rest.rsplit_once(':').unwrap_or(("", rest));
        if last.parse::<CheckpointId>().is_ok() {
            return Ok(last.to_owned());
        }
        let step = last.strip_prefix("step-").and_then(|step| step.parse::<i64>().ok()).filter(|_| !before.is_empty());
        let named = if step.is_some() { before } else { rest };
        // A job's own name may have colons.
        let job: JobId = match self.called(named).await {
            Err(StoreError::NotFound { .. }) => self.called(named.rsplit(':').next().unwrap_or_default()).await?,
            found => found?,
        };
        let found = sqlx::query_scalar(
            "select artifact.id from artifact join job on job.id = job_id
             where job_id = $1 and project = $2 and artifact.kind in ('inference', 'training')
                 and ($3 is null or artifact.step = $3)
             order by artifact.kind, artifact.step desc, artifact.id desc limit 1",
        )
        .bind(job.to_string())
        .bind(self.own_project())
        .bind(step);
        found.fetch_optional(&self.readers).await?.ok_or_else(unknown)
    }
}

impl Named {
    fn begins_an_id(&self, text: &str) -> bool {
        text.strip_prefix(self.prefix).is_some_and(|digits| {
            (LEAST_DIGITS..32).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::{JobKind, Timestamp};
    use crate::store::NewJob;

    #[tokio::test]
    async fn a_name_stands_for_what_is_called_so_and_for_nothing_of_another_project() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let submit = async |name: &str| {
            let dataset = json!({"train": "builtin:arithmetic"});
            let spec = json!({
                "name": name, "model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}
            });
            store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, Timestamp(0)).await.unwrap().job.id
        };
        let (first, second, other) = (submit("nightly").await, submit("nightly").await, submit("once").await);
        let called = async |text: &str| store.called::<JobId>(text).await;
        assert_eq!(called(&first.to_string()).await.unwrap(), first);
        assert_eq!(called("once").await.unwrap(), other);
        assert_eq!(called("nightly@latest").await.unwrap(), second);
        assert_eq!(called("@latest").await.unwrap(), other);
        assert!(matches!(called("nightly").await, Err(StoreError::Refused { code: "name_ambiguous", .. })));
        let colons = submit("exp:1").await;
        let unknown = async |text: &str| match store.called::<CheckpointId>(text).await {
            Err(StoreError::NotFound { what, .. }) => what,
            found => panic!("{found:?}"),
        };
        assert_eq!(called("exp:1").await.unwrap(), colons);
        assert_eq!(unknown("ft:exp:1").await, "checkpoint", "the job is found, and has none yet");
        assert_eq!(unknown("ft:arith-tiny:once:step-3").await, "checkpoint");
        assert_eq!(unknown("ft:exp:2").await, "job");
        for none in ["Once", "twice", "twice@latest", "", "job_", "job_1", "job_00000000", "once' or 1=1 --", "%"] {
            assert!(matches!(called(none).await, Err(StoreError::NotFound { what: "job", .. })), "{none}");
        }
        // The last digits of such an id are random, so that all but a few of them tell it from the others.
        let text = second.to_string();
        assert_eq!(called(&text[..text.len() - 2]).await.unwrap(), second);
        assert!(matches!(called(&text[..12]).await, Err(StoreError::Refused { code: "name_ambiguous", .. })));
        let elsewhere = store.within("another");
        for text in ["once", "@latest", &text[..text.len() - 2]] {
            assert!(elsewhere.called::<JobId>(text).await.is_err(), "{text}");
        }
        assert!(store.called::<FileId>("once").await.is_err());
    }
}
