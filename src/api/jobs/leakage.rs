//! How many of the held-out prompts are also trained on.

use std::time::Instant;

use serde::Serialize;
use utoipa::ToSchema;

use crate::dataset::{Dataset, DatasetError, leakage};

/// Rows of the training data that are looked at.
const MOST_ROWS: usize = 1_000_000;

/// How many of the held-out prompts are also trained on. Prompts are compared by a 64-bit hash of their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Leakage {
    /// Held-out rows that were looked for: those that the job evaluates on.
    eval_rows: usize,
    /// Of these, rows whose prompt also stands in the training data.
    eval_rows_in_train: usize,
    /// Rows of the training data that were looked at, from the first on.
    train_rows: usize,
    /// Whether these were all.
    complete: bool,
    #[serde(skip)]
    #[schema(ignore)]
    found: leakage::Leakage,
}

/// Looks for the first `most_eval` held-out prompts in the training data until `deadline`. Blocks.
pub fn leakage(train: &Dataset, eval: &Dataset, most_eval: usize, deadline: Instant) -> Result<Leakage, DatasetError> {
    let found = leakage::leakage(train, eval, (MOST_ROWS, most_eval), || Instant::now() < deadline)?;
    let leakage::Leakage { eval_rows, eval_rows_in_train, train_rows, complete } = found;
    Ok(Leakage { eval_rows, eval_rows_in_train, train_rows, complete, found })
}

impl Leakage {
    /// A sentence for whoever is about to measure what was learnt by heart.
    pub fn warning(&self) -> Option<String> {
        self.found.warning()
    }
}
