//! How many of the held-out prompts are also trained on, as far as a short look can tell; [`super::check`] takes longer
//! and sees more.

use std::collections::HashMap;

use super::check::hash;
use super::{Dataset, DatasetError};

/// Rows after which it is asked whether to go on.
const AT_ONCE: usize = 64;

/// What was found. Prompts are compared by a 64-bit hash of their text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Looks for the first `most_eval` held-out prompts in the first `most_train` rows, as long as `go_on` says so. Blocks.
pub fn leakage(
    train: &Dataset,
    eval: &Dataset,
    (most_train, most_eval): (usize, usize),
    mut go_on: impl FnMut() -> bool,
) -> Result<Leakage, DatasetError> {
    // How many held-out rows have that prompt.
    let mut wanted: HashMap<u64, usize> = HashMap::new();
    let mut leakage = Leakage::default();
    let mut may = |row: usize| !row.is_multiple_of(AT_ONCE) || go_on();
    while leakage.eval_rows < eval.len().min(most_eval) && may(leakage.eval_rows) {
        let row = eval.row(eval.number(leakage.eval_rows))?;
        *wanted.entry(hash(&row.prompt)).or_default() += 1;
        leakage.eval_rows += 1;
    }
    while leakage.train_rows < train.len().min(most_train) && may(leakage.train_rows) {
        let prompt = hash(&train.row(train.number(leakage.train_rows))?.prompt);
        leakage.eval_rows_in_train += wanted.remove(&prompt).unwrap_or_default();
        leakage.train_rows += 1;
    }
    leakage.complete = leakage.train_rows == train.len() && leakage.eval_rows == eval.len().min(most_eval);
    Ok(leakage)
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
    use super::super::Split;
    use super::super::builtin::BuiltinSet;
    use super::*;

    #[test]
    fn a_split_leaks_nothing_and_the_same_rows_leak_all() {
        let rows = |split| BuiltinSet::Arithmetic.open(split);
        let most = (1_000_000, 200);
        let apart = leakage(&rows(Split::Train), &rows(Split::Eval), most, || true).unwrap();
        assert_eq!((apart.eval_rows, apart.eval_rows_in_train, apart.complete), (200, 0, true));
        assert_eq!(apart.warning(), None);
        let same = leakage(&rows(Split::Eval), &rows(Split::Eval), most, || true).unwrap();
        assert_eq!((same.eval_rows, same.eval_rows_in_train), (200, 200));
        assert!(same.warning().unwrap().starts_with("200 of 200"));
        let late = leakage(&rows(Split::Train), &rows(Split::Eval), most, || false).unwrap();
        assert_eq!((late.train_rows, late.complete), (0, false));
    }
}
