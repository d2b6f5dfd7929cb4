//! What an adapter belongs to: it is a checkpoint without the weights of its model, which the job that made it names.

use super::CheckpointRow;
use crate::job::adapter::{Lora, WEIGHTS};
use crate::spec::{ModelRef, Work};
use crate::store::{Result, Store, StoreError};

/// The model that an adapter was trained beside, and how.
#[derive(Clone, Debug)]
pub struct AdapterOf {
    /// Never an adapter itself.
    pub model: ModelRef,
    /// What a built-in without weights drew them from.
    pub seed: u64,
    pub lora: Lora,
    /// The chat template that its job used in the place of the model's own.
    pub chat_template: Option<String>,
}

impl CheckpointRow {
    /// Whether it holds an adapter and not a whole model.
    pub fn is_adapter(&self) -> bool {
        self.artifact.manifest.file(WEIGHTS).is_some()
    }
}

impl Store {
    /// What a checkpoint is an adapter of, if it is one.
    pub async fn adapter_of(&self, row: &CheckpointRow) -> Result<Option<AdapterOf>> {
        if !row.is_adapter() {
            return Ok(None);
        }
        let job = self.job(row.artifact.manifest.job).await?;
        let common = &job.resolved.common;
        let Work::Train(training) = &job.resolved.work else { return Ok(None) };
        let corrupt = || StoreError::Corrupt { what: "job", detail: format!("{} made an adapter without one", job.id) };
        let lora = training.adapter.clone().ok_or_else(corrupt)?;
        let chat_template = common.prompt.chat_template.clone();
        Ok(Some(AdapterOf { model: common.model, seed: common.seed, lora, chat_template }))
    }
}
