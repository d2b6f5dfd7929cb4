//! Imports: how a model from a folder, from uploaded files or from the hub becomes one of the data directory.
//!
//! A model is laid out first: everything small is brought, of each file of weights the header, and the rest is a hole. What
//! is laid out is inspected as any model is, so that what is wrong with it is said at once, and so that jobs can name it
//! while its weights are under way. [`run`] then fills the holes, checks all bytes, and makes the model ready.

mod complete;
mod layout;
mod pieces;
mod plan;
mod run;
mod watch;

use std::io;
use std::path::Path;

use crate::hub::{HubError, Mismatch};
use crate::job::{Failure, FailureKind};
use crate::modelfile::ModelFileError;
use crate::store::StoreError;

pub use layout::{Laid, Source, Uploaded, is_below};
pub use run::{begin, is_laid_out, run};
pub use watch::watch;

/// Why a model is not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Model(#[from] ModelFileError),
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("{0} is not below a folder from which models may be imported; the operator sets them with --import-roots")]
    NotAllowed(String),
    #[error(
        "`{0}` is no file of a model; send config.json, tokenizer.json, *.safetensors with their index, or one .gguf file"
    )]
    UnknownFile(String),
    #[error("{file} is not what was announced: {detail}; nothing of the model was kept, import it again")]
    WrongBytes { file: String, detail: String },
    #[error("{0} was changed while it was copied; import the model again")]
    Changed(String),
    #[error(
        "the model needs {needed} more bytes on the server's disk, and {free} are free; make room, then import it again"
    )]
    Full { needed: u64, free: u64 },
    #[error("what had come of the model is not on the server's disk any more; import it again")]
    Lost,
    /// The server ends, or the model was deleted.
    #[error("the import was stopped")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Model(error) => error.code(),
            Self::Hub(error) => error.code(),
            Self::NotAllowed(_) => "path_not_allowed",
            Self::UnknownFile(_) => "unknown_file",
            Self::WrongBytes { .. } => "wrong_bytes",
            Self::Changed(_) => "model_changed",
            Self::Lost => "import_lost",
            Self::Full { .. } | Self::Store(StoreError::Full(_)) => "storage_full",
            Self::Stopped => "import_stopped",
            Self::Store(_) => "internal",
        }
    }

    /// What a client reads of an import that failed.
    fn failure(&self) -> Failure {
        let kind = match self {
            Self::Full { .. } | Self::Store(StoreError::Full(_)) => FailureKind::StorageFull,
            Self::Stopped | Self::Store(_) => FailureKind::Internal,
            Self::Model(_)
            | Self::Hub(_)
            | Self::NotAllowed(_)
            | Self::UnknownFile(_)
            | Self::WrongBytes { .. }
            | Self::Changed(_)
            | Self::Lost => FailureKind::InvalidData,
        };
        Failure { kind, code: self.code().to_owned(), message: self.to_string() }
    }

    /// A file that is another than the one that was announced.
    fn mismatch(file: &str, mismatch: &Mismatch) -> Self {
        Self::WrongBytes { file: file.to_owned(), detail: mismatch.to_string() }
    }

    /// What a file of ours could not be used for.
    fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Store(StoreError::io(action, path, error))
    }
}
