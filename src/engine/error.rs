//! Everything that can end a job's run, and what kind of failure a client reads for it.

use super::driver::DeviceError;
use crate::dataset::DatasetError;
use crate::job::{Failure, FailureKind};
use crate::modelfile::ModelFileError;
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
    #[error("{failed} of {total} verifications failed (last: {last}); check the verifier and the answer column")]
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

impl EngineError {
    pub fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
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
            Self::Device(DeviceError::OutOfMemory { .. }) => (FailureKind::OutOfMemory, "out_of_memory"),
            Self::Device(DeviceError::Unusable(_)) => (FailureKind::InvalidData, "device_unusable"),
            Self::Device(DeviceError::Failed { .. }) => (FailureKind::DeviceLost, "device_lost"),
            Self::Rank { failure, .. } => (failure.kind, "rank"),
            Self::Io { .. } | Self::Tensor(_) | Self::Internal(_) | Self::Stopped(_) => {
                (FailureKind::Internal, "internal")
            }
        };
        let message = match (kind, self) {
            (FailureKind::StorageFull, _) => format!("{self}; free some space and submit the job again"),
            (FailureKind::OutOfMemory, _) => {
                format!("{self}; lower `train.micro_batch_tokens` or `sampling.batch_size`, or set `train.recompute`")
            }
            (_, Self::Tensor(error)) => format!("{self}: {error}"),
            _ => self.to_string(),
        };
        Failure { kind, code: code.to_owned(), message }
    }
}

impl From<TokenizerError> for EngineError {
    fn from(error: TokenizerError) -> Self {
        Self::Text(error.into())
    }
}

impl From<ChatError> for EngineError {
    fn from(error: ChatError) -> Self {
        Self::Text(error.into())
    }
}
