//! The states of a job, what it is doing within `running`, and why it failed.

use serde::{Deserialize, Serialize};

/// Text that names no member of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a known name")]
pub struct UnknownName(pub String);

/// A closed set of names that is written the same way in the database, in JSON and in logs.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::job::status::UnknownName;

            fn from_str(text: &str) -> Result<Self, $crate::job::status::UnknownName> {
                Self::ALL.iter().copied().find(|name| name.as_str() == text).ok_or_else(|| $crate::job::status::UnknownName(text.to_owned()))
            }
        }
    };
}
pub(crate) use names;

names!(
    /// Where a job stands. `succeeded`, `failed` and `cancelled` are final: nothing more happens unless a client resumes
    /// a job that failed or was cancelled.
    JobStatus {
        /// Waiting for a device.
        Queued = "queued",
        /// Claimed by a worker that has not begun to load yet.
        Starting = "starting",
        /// A worker holds the lease and reports progress; `phase` says what it does.
        Running = "running",
        /// A client asked for a rest, or the budget is spent; the worker saves the job and lets go of it.
        Pausing = "pausing",
        /// Holds no device, and goes on from its last checkpoint when a client resumes it.
        Paused = "paused",
        /// A client asked for an end, or the budget is spent; the worker has not let go yet.
        Cancelling = "cancelling",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
);

impl JobStatus {
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Starting | Self::Running | Self::Pausing | Self::Paused | Self::Cancelling => false,
        }
    }

    /// Whether a worker holds the job: it has a lease and devices.
    pub fn is_held(self) -> bool {
        match self {
            Self::Starting | Self::Running | Self::Pausing | Self::Cancelling => true,
            Self::Queued | Self::Paused | Self::Succeeded | Self::Failed | Self::Cancelled => false,
        }
    }

    /// The statuses from which a job may come into this one. A new job is `queued` without having been anything.
    pub fn predecessors(self) -> &'static [Self] {
        match self {
            // Whatever has ended without success may be taken up again.
            Self::Queued => &[Self::Starting, Self::Running, Self::Paused, Self::Failed, Self::Cancelled],
            Self::Starting => &[Self::Queued],
            Self::Running => &[Self::Starting],
            Self::Pausing => &[Self::Starting, Self::Running],
            Self::Paused => &[Self::Queued, Self::Pausing],
            Self::Cancelling => &[Self::Starting, Self::Running, Self::Pausing],
            // Also one that was asked to stop: it was done, or had failed, before its worker learned of that.
            Self::Succeeded => &[Self::Starting, Self::Running, Self::Pausing, Self::Cancelling],
            // A queued one has waited for space for too long.
            Self::Failed => &[Self::Queued, Self::Starting, Self::Running, Self::Pausing, Self::Cancelling],
            Self::Cancelled => &[Self::Queued, Self::Starting, Self::Running, Self::Paused, Self::Cancelling],
        }
    }

    /// Whether nothing more happens to the job unless a client asks for it.
    pub fn is_at_rest(self) -> bool {
        self == Self::Paused || self.is_final()
    }
}

names!(
    /// What a job makes.
    JobKind {
        /// A model: samples and trains.
        Train = "train",
        /// A rollout set: samples and scores, and trains nothing.
        Rollouts = "rollouts",
        /// Pass rates of a model: samples and scores, and trains nothing.
        Evaluation = "evaluation",
    }
);

names!(
    /// Whether a rollout set can be read; follows from the set itself and from the status of its job.
    RolloutSetStatus {
        /// Its job is not finished.
        Pending = "pending",
        /// Complete; it never changes again.
        Ready = "ready",
        /// Its job ended without it.
        Failed = "failed",
        Cancelled = "cancelled",
    }
);

names!(
    /// Where an upload in parts stands; all but the first are final.
    UploadStatus {
        Pending = "pending",
        Completed = "completed",
        Cancelled = "cancelled",
        Expired = "expired",
    }
);

names!(
    /// Whether a model can be used.
    ModelStatus {
        /// Its headers are here; the weights come when a job needs it.
        Pending = "pending",
        /// Its weights are under way; jobs that name it wait for them.
        Importing = "importing",
        Ready = "ready",
        /// Its weights could not be had; `failure` says why.
        Failed = "failed",
    }
);

names!(
    /// What a running job does at the moment.
    Phase {
        /// The model that it begins with is brought; the job waits in the queue.
        Fetching = "fetching",
        Loading = "loading",
        Sampling = "sampling",
        Verifying = "verifying",
        Training = "training",
        Evaluating = "evaluating",
        Checkpointing = "checkpointing",
        Exporting = "exporting",
    }
);

names!(
    /// Why a job failed; decides whether another attempt makes sense.
    FailureKind {
        InvalidData = "invalid_data",
        OutOfMemory = "out_of_memory",
        Diverged = "diverged",
        VerifierErrorRate = "verifier_error_rate",
        StorageFull = "storage_full",
        /// The device failed or hung, again and again.
        DeviceLost = "device_lost",
        /// The job ended its worker process again and again.
        Poison = "poison",
        /// It used up its device seconds and was to fail then.
        BudgetExhausted = "budget_exhausted",
        Internal = "internal",
    }
);

/// What a client reads about a failed job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// Stable, machine-readable reason.
    pub code: String,
    /// What happened and what to do about it.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_reads_back_from_its_name() {
        for status in JobStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
        }
        assert!("done".parse::<JobStatus>().is_err());
    }

    #[test]
    fn of_what_is_over_only_what_has_not_succeeded_can_go_on_and_everything_else_can_be_left() {
        for from in JobStatus::ALL {
            let next: Vec<_> = JobStatus::ALL.iter().filter(|to| to.predecessors().contains(from)).collect();
            match from {
                JobStatus::Succeeded => assert!(next.is_empty(), "{next:?}"),
                JobStatus::Failed | JobStatus::Cancelled => assert_eq!(next, [&JobStatus::Queued]),
                _ => assert!(!next.is_empty(), "{from}"),
            }
        }
    }

    #[test]
    fn the_table_of_states_is_that_of_the_documentation() {
        let names = |statuses: &[JobStatus]| {
            let names: Vec<String> = statuses.iter().map(|status| format!("`{status}`")).collect();
            names.join(", ")
        };
        let rows = JobStatus::ALL.iter().map(|status| {
            let held = if status.is_held() { "yes" } else { "no" };
            format!("| `{status}` | {} | {held} |\n", names(status.predecessors()))
        });
        let table = format!("| status | comes from | held by a worker |\n|---|---|---|\n{}", rows.collect::<String>());
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&table), "ARCHITECTURE.md must show this table:\n{table}");
    }
}
