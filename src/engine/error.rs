//! Everything that can end a job's run, and what kind of failure a client reads for it.

use std::io::ErrorKind;

use rustix::io::Errno;

use super::driver::DeviceError;
use crate::dataset::DatasetError;
use crate::job::{Failure, FailureKind};
use crate::modelfile::ModelFileError;
use crate::modelfile::adapter::TargetError;
use crate::text::TextError;
use crate::text::chat::ChatError;
use crate::text::tokenizer::TokenizerError;

/// Why the worker asked the engine to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client cancelled the job.
    Cancel,
    /// The process is about to end; the training state is saved and the job goes back to the queue.
    Drain,
    /// Another worker may own the job; nothing more may be written.
    LeaseLost,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the run was stopped ({0:?})")]
    Stopped(Stop),
    #[error("tensor operation failed")]
    Tensor(#[from] candle_core::Error),
    #[error("the model could not be loaded: {0}")]
    Model(#[from] ModelFileError),
    #[error("the data set could not be read: {0}")]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("{detail}")]
    InvalidData { code: &'static str, detail: String },
    #[error("training diverged at step {step}: {what} is not finite; lower `optimizer.learning_rate`")]
    Diverged { step: u64, what: &'static str },
    #[error(
        "{failed} of {total} verifications failed (last: {last}); check the verifier, the environment if there is one, and the answer column"
    )]
    VerifierErrors { failed: usize, total: usize, last: String },
    #[error("{action} {path} failed: {source}")]
    Io { action: &'static str, path: String, source: std::io::Error },
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Another process of a job on several devices ended.
    #[error("rank {rank} of the job: {}", failure.message)]
    Rank { rank: usize, failure: Failure },
    #[error("{0}")]
    Internal(String),
}

/// What an error says that found no room in the store, wherever that is.
const DATABASE: &str = "the database";

impl EngineError {
    pub fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }

    /// The disk is full for whatever was to be done.
    pub fn full(action: &'static str) -> Self {
        Self::Io { action, path: String::from(DATABASE), source: std::io::ErrorKind::StorageFull.into() }
    }

    /// This machine's disk is full.
    pub fn full_disk(action: &'static str) -> Self {
        Self::Io { action, path: String::from("the data directory"), source: ErrorKind::StorageFull.into() }
    }

    /// Whether there was no room for a file of this machine; what the store lacks is another's.
    pub fn found_disk_full(failure: &Failure) -> bool {
        failure.kind == FailureKind::StorageFull && !failure.message.contains(DATABASE)
    }

    /// What the client of the failed job reads.
    pub fn failure(&self) -> Failure {
        if let Self::Rank { failure, .. } = self {
            return Failure { message: self.to_string(), ..failure.clone() };
        }
        let (kind, code) = match self {
            Self::Model(error) => (FailureKind::InvalidData, error.code()),
            Self::Dataset(error) => (FailureKind::InvalidData, error.code()),
            Self::Text(error) => (FailureKind::InvalidData, error.code()),
            Self::InvalidData { code, .. } => (FailureKind::InvalidData, *code),
            Self::Diverged { .. } => (FailureKind::Diverged, "diverged"),
            Self::VerifierErrors { .. } => (FailureKind::VerifierErrorRate, "verifier_error_rate"),
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                (FailureKind::StorageFull, "storage_full")
            }
            Self::Io { source, .. } if remedy(source).is_some() => (FailureKind::DeviceLost, "io_error"),
            Self::Device(DeviceError::OutOfMemory { .. }) => (FailureKind::OutOfMemory, "out_of_memory"),
            Self::Device(DeviceError::Unusable(_)) => (FailureKind::InvalidData, "device_unusable"),
            Self::Device(DeviceError::Failed { .. }) => (FailureKind::DeviceLost, "device_lost"),
            Self::Rank { failure, .. } => (failure.kind, "rank"),
            Self::Io { .. } | Self::Tensor(_) | Self::Internal(_) | Self::Stopped(_) => {
                (FailureKind::Internal, "internal")
            }
        };
        let message = match (kind, self) {
            (FailureKind::StorageFull, _) => format!("{self}; free some space and resume the job"),
            (FailureKind::OutOfMemory, _) => {
                format!("{self}; lower `train.micro_batch_tokens` or `sampling.batch_size`, or set `train.recompute`")
            }
            (_, Self::Tensor(error)) => format!("{self}: {error}"),
            (_, Self::Io { source, .. }) => match remedy(source) {
                Some(remedy) => format!("{self}; {remedy}"),
                None => self.to_string(),
            },
            _ => self.to_string(),
        };
        Failure { kind, code: code.to_owned(), message }
    }
}

/// What to do about an error of the machine that may have passed when the job is tried again.
fn remedy(error: &std::io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => {
            Some("too many files are open; raise the limit of open files (LimitNOFILE, ulimit -n)")
        }
        Errno::IO => Some("the disk could not do it; look at the log of the kernel, and check the disk"),
        _ => None,
    }
}

impl From<TokenizerError> for EngineError {
    fn from(error: TokenizerError) -> Self {
        Self::Text(error.into())
    }
}

impl From<TargetError> for EngineError {
    fn from(error: TargetError) -> Self {
        Self::InvalidData { code: "adapter_mismatch", detail: error.to_string() }
    }
}

impl From<ChatError> for EngineError {
    fn from(error: ChatError) -> Self {
        Self::Text(error.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::*;

    /// Errors of the machine are the device's, so that the job is tried again; a missing file is not.
    #[test]
    fn errors_that_may_pass_are_retried_and_say_what_to_do() {
        let failure =
            |code: i32| EngineError::io("opening", Path::new("jobs/a"), io::Error::from_raw_os_error(code)).failure();
        for (code, word) in [(24, "ulimit"), (23, "ulimit"), (5, "kernel")] {
            let failure = failure(code);
            assert_eq!((failure.kind, failure.code.as_str()), (FailureKind::DeviceLost, "io_error"));
            assert!(failure.message.starts_with("opening jobs/a failed: ") && failure.message.contains(word));
        }
        assert_eq!(failure(28).kind, FailureKind::StorageFull);
        assert_eq!(failure(2).kind, FailureKind::Internal);
    }
}
