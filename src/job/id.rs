//! Identifiers: a typed prefix and a UUID version 7, so that they sort by creation and never mix.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Text that is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form {prefix}<32 hexadecimal digits>")]
pub struct InvalidId {
    pub text: String,
    pub prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// A new identifier, later than every one made before on this machine.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0.simple())
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.strip_prefix($prefix)
                    .filter(|hex| hex.len() == 32)
                    .and_then(|hex| Uuid::try_parse(hex).ok())
                    .map(Self)
                    .ok_or_else(|| InvalidId { text: text.chars().take(80).collect(), prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A job.
    JobId, "job_");
id!(
    /// A model: weights, configuration and tokenizer in one directory.
    ModelId, "mdl_");
id!(
    /// A data set, a line of immutable versions.
    DatasetId, "ds_");
id!(
    /// One immutable version of a data set.
    DatasetVersionId, "dsv_");
id!(
    /// A stored verifier configuration.
    VerifierId, "vf_");
id!(
    /// A training or inference checkpoint.
    CheckpointId, "ckpt_");
id!(
    /// A rollout set: stored completions with their scores and log-probabilities.
    RolloutSetId, "rs_");
id!(
    /// An evaluation: a job of that kind, whose id has the same digits.
    EvaluationId, "ev_");
id!(
    /// An export: a finished checkpoint in a form that other programs read.
    ExportId, "exp_");
id!(
    /// A file as OpenAI clients upload it.
    FileId, "file-");
id!(
    /// An upload of a file in parts.
    UploadId, "upload_");
id!(
    /// One part of an upload.
    PartId, "part_");
id!(
    /// One event of a job's log.
    EventId, "evt_");
id!(
    /// An API key; the key itself is a secret of its own.
    ApiKeyId, "key_");
id!(
    /// An entry of the audit log.
    AuditEntryId, "aud_");
id!(
    /// One run of a worker process.
    WorkerId, "wrk_");
id!(
    /// A sweep: jobs that differ in some fields and in their seeds.
    SweepId, "swp_");
id!(
    /// A suite: sets that models are evaluated on.
    SuiteId, "suite_");
id!(
    /// One model on a suite.
    SuiteRunId, "srun_");
id!(
    /// A launch: a machine that a cluster's scheduler starts.
    LaunchId, "lau_");
id!(
    /// Where webhooks are sent to.
    WebhookEndpointId, "we_");
id!(
    /// One webhook on its way to one endpoint.
    WebhookDeliveryId, "wd_");

impl EvaluationId {
    /// The evaluation that a job of that kind makes.
    pub fn of_job(job: JobId) -> Self {
        Self(job.0)
    }

    /// The job that makes it.
    pub fn job(self) -> JobId {
        JobId(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_round_trips_and_refuses_other_prefixes() {
        let id = JobId::generate();
        assert_eq!(id.to_string().parse::<JobId>(), Ok(id));
        assert!(id.to_string().parse::<ModelId>().is_err());
        assert!("job_../../etc/passwd".parse::<JobId>().is_err());
    }

    #[test]
    fn an_evaluation_and_its_job_name_each_other() {
        let job = JobId::generate();
        let id = EvaluationId::of_job(job);
        assert_eq!(id.to_string().parse::<EvaluationId>().unwrap().job(), job);
    }

    #[test]
    fn ids_sort_by_creation() {
        let ids: Vec<String> = (0..100).map(|_| JobId::generate().to_string()).collect();
        assert!(ids.is_sorted());
    }
}
