//! How many of the held-out prompts are also trained on.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use serde::Serialize;
use utoipa::ToSchema;

use crate::dataset::{Dataset, DatasetError, Prompt};

/// Rows of the training data that are looked at.
const MOST_ROWS: usize = 1_000_000;

/// How many of the held-out prompts are also trained on. Prompts are compared by a 64-bit hash of their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Leakage {
    /// Held-out rows that were looked for: those that the job evaluates on.
    pub eval_rows: usize,
    /// Of these, rows whose prompt also stands in the training data.
    pub eval_rows_in_train: usize,
    /// Rows of the training data that were looked at, from the first on.
    pub train_rows: usize,
    /// Whether these were all.
    pub complete: bool,
}

/// Looks for the first `most_eval` held-out prompts in the training data until `deadline`. Blocks.
pub fn leakage(train: &Dataset, eval: &Dataset, most_eval: usize, deadline: Instant) -> Result<Leakage, DatasetError> {
    // How many held-out rows have that prompt.
    let mut wanted: HashMap<u64, usize> = HashMap::new();
    let mut leakage = Leakage { eval_rows: 0, eval_rows_in_train: 0, train_rows: 0, complete: false };
    while leakage.eval_rows < eval.len().min(most_eval) && Instant::now() < deadline {
        *wanted.entry(hash(&eval.row(leakage.eval_rows)?.prompt)).or_default() += 1;
        leakage.eval_rows += 1;
    }
    while leakage.train_rows < train.len().min(MOST_ROWS) && Instant::now() < deadline {
        let prompt = hash(&train.row(leakage.train_rows)?.prompt);
        leakage.eval_rows_in_train += wanted.remove(&prompt).unwrap_or_default();
        leakage.train_rows += 1;
    }
    leakage.complete = leakage.train_rows == train.len() && leakage.eval_rows == eval.len().min(most_eval);
    Ok(leakage)
}

fn hash(prompt: &Prompt) -> u64 {
    let mut hasher = DefaultHasher::new();
    prompt.hash(&mut hasher);
    hasher.finish()
}

impl Leakage {
    /// A sentence for whoever is about to measure what was learnt by heart.
    pub fn warning(&self) -> Option<String> {
        let Self { eval_rows, eval_rows_in_train, .. } = *self;
        (eval_rows_in_train > 0).then(|| {
            format!(
                "{eval_rows_in_train} of {eval_rows} held-out prompts also stand in the training data, so that the \
                 evaluation measures what was learnt by heart; take them out of one of the two"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::dataset::Split;
    use crate::dataset::builtin::BuiltinSet;

    #[test]
    fn a_split_leaks_nothing_and_the_same_rows_leak_all() {
        let deadline = Instant::now() + Duration::from_secs(600);
        let rows = |split| BuiltinSet::Arithmetic.open(split);
        let apart = leakage(&rows(Split::Train), &rows(Split::Eval), 200, deadline).unwrap();
        assert_eq!((apart.eval_rows, apart.eval_rows_in_train, apart.complete), (200, 0, true));
        assert_eq!(apart.warning(), None);
        let same = leakage(&rows(Split::Eval), &rows(Split::Eval), 200, deadline).unwrap();
        assert_eq!((same.eval_rows, same.eval_rows_in_train), (200, 200));
        assert!(same.warning().unwrap().starts_with("200 of 200"));
        let late = leakage(&rows(Split::Train), &rows(Split::Eval), 200, Instant::now()).unwrap();
        assert_eq!((late.train_rows, late.complete), (0, false));
    }
}
