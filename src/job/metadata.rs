//! The pairs that clients put on their things.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::bounds::Schema;
use super::field::FieldError;

/// Pairs of one thing.
pub const MOST_PAIRS: usize = 16;

/// The schema of the pairs that a client puts on a thing.
pub static METADATA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object",
        "description": "Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.",
        "additionalProperties": {"type": "string", "maxLength": 512},
        "propertyNames": {"maxLength": 64},
        "maxProperties": MOST_PAIRS,
    })
});

/// Checks the pairs that a client puts on a thing.
pub fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Vec<FieldError>> {
    static BOUNDS: LazyLock<Schema> = LazyLock::new(|| Schema::new(&METADATA));
    if metadata.is_empty() || BOUNDS.check(&json!(metadata), "").is_empty() {
        return Ok(());
    }
    let detail = "at most 16 pairs, keys up to 64 and values up to 512 characters";
    Err(vec![FieldError::new("/metadata", "out_of_range", detail)])
}
