//! A finished model in a form that other programs read. Tensors are read, changed and written one by one, so that one of
//! them is what it takes of memory; the same model is always the same bytes.

mod card;
mod gguf;
mod hugging_face;

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::artifact::{self, write_file};
use super::error::EngineError;
use super::loading::{ModelSource, Opened};
use crate::job::spec::PromptSpec;
use crate::job::{Export, ExportFormat, Manifest};
use crate::modelfile::{COMPANIONS, adapter};

pub use card::{Base as CardBase, Card, Evaluated};
pub(super) use hugging_face::{write_companions, write_texts};

/// What is to be made, and of what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportTask {
    pub export: Export,
    pub model: ModelSource,
    /// How the job that made it had its prompts: with a chat template of its own, for example.
    pub prompt: PromptSpec,
    /// The directory of the checkpoint.
    pub checkpoint: PathBuf,
    /// What is told of the model.
    pub card: Card,
    /// The export's manifest, without its files.
    pub manifest: Manifest,
    /// An empty folder for the files.
    pub folder: PathBuf,
    /// Bytes that may be written.
    pub room: u64,
}

/// How far an export is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Bytes of weights.
    pub done: u64,
    pub total: u64,
}

/// Makes an export, with its manifest, and tells `tell` how far it is.
pub fn export(task: &ExportTask, tell: &dyn Fn(Written)) -> Result<Manifest, EngineError> {
    match task.export.format {
        ExportFormat::Adapter => copy(task, &[adapter::CONFIG, adapter::WEIGHTS])?,
        ExportFormat::Merged => {
            let opened = Opened::new(&task.model, &task.prompt)?;
            hugging_face::write(task, &opened, tell)?;
        }
        ExportFormat::Gguf => {
            let opened = Opened::new(&task.model, &task.prompt)?;
            gguf::write(task, &opened, tell)?;
        }
    }
    card::copy_licenses(task)?;
    write_file(&task.folder.join("README.md"), card::text(task).as_bytes())?;
    artifact::complete(&task.folder, task.manifest.clone())
}

/// Copies files of the checkpoint, and what stands beside weights.
fn copy(task: &ExportTask, names: &[&str]) -> Result<(), EngineError> {
    let beside = COMPANIONS.iter().filter(|name| task.checkpoint.join(name).is_file());
    for name in names.iter().chain(beside) {
        let (from, to) = (task.checkpoint.join(name), task.folder.join(name));
        fs::copy(&from, &to).map_err(|error| EngineError::io("copying", &from, error))?;
    }
    Ok(())
}

impl ExportTask {
    /// An error unless there is room for so many bytes: a job that runs beside an export needs the disk more.
    fn require(&self, bytes: u64) -> Result<(), EngineError> {
        if bytes <= self.room {
            return Ok(());
        }
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Err(EngineError::io("making room for the files in", &self.folder, full))
    }
}
