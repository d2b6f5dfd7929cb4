//! The answer to a deletion, in the form that OpenAI clients read.

use serde::Serialize;
use utoipa::ToSchema;

/// What is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Deleted {
    id: String,
    /// What it was, for example `job.deleted`.
    #[schema(example = "job.deleted")]
    object: &'static str,
    /// Always true.
    deleted: bool,
}

impl Deleted {
    /// `object` is the name of the kind with `.deleted`; for what OpenAI clients delete it is theirs.
    pub fn new(id: impl ToString, object: &'static str) -> Self {
        Self { id: id.to_string(), object, deleted: true }
    }
}
