//! Which rows come when: how many of its rows a job takes, the order in which it goes through them, and how often each comes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::Fields;

/// The order in which rows are gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// In random order, in another one on each pass.
    #[default]
    Shuffled,
    /// As they stand in the file, on every pass.
    File,
    /// On the first pass by `difficulty_column`, the smallest number first and equal ones as they stand in the file; later
    /// passes are shuffled.
    EasyFirst,
}

/// How often each row comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowSampling {
    /// Each once before any comes again.
    #[default]
    Uniform,
    /// Rows that the policy now solves sometimes come more often than those that it always or never solves, which come
    /// again now and then, for the policy changes.
    Adaptive,
}

/// Which rows come when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curriculum {
    pub order: RowOrder,
    /// The column of numbers that `easy_first` goes by.
    pub difficulty_column: Option<String>,
    pub sampling: RowSampling,
    /// How many of the rows there are are gone through.
    pub rows: Option<u64>,
}

impl Curriculum {
    /// Adds what contradicts itself; `fields` are those of the section that it stands in.
    pub fn check(&self, fields: &mut Fields) {
        let by_column = self.order == RowOrder::EasyFirst;
        fields.require(
            by_column == self.difficulty_column.is_some(),
            "difficulty_column",
            "goes with `order` \"easy_first\", which needs it",
        );
        fields.require(
            self.sampling == RowSampling::Uniform || self.order == RowOrder::Shuffled,
            "sampling",
            "draws rows by their solve rates, so that there is no `order` to keep; leave one of the two out",
        );
    }
}

/// What is usual is left out of resolved specs, whose digests are older than these fields.
pub(super) fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
