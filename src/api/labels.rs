//! `PATCH` of what a resource carries for people.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::ToSchema;

use super::error::Problem;
use super::extract::read;
use crate::job::metadata::check_metadata;
use crate::store::Labels;

/// What to change; what is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateLabels {
    /// A name for people; null takes it away.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 200)]
    name: Option<Option<String>>,
    /// Up to 16 pairs of your own, in the place of all that there are.
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
}

/// Tells a null from a field that is not there.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Reads and checks the body of a change.
pub fn parse(body: &Value) -> Result<Labels, Problem> {
    let UpdateLabels { name, metadata } = read(body)?;
    metadata.as_ref().map_or(Ok(()), check_metadata).map_err(Problem::invalid)?;
    Ok(Labels { name, metadata })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_takes_a_name_away_and_nothing_leaves_it() {
        assert_eq!(parse(&json!({})).unwrap().name, None);
        assert_eq!(parse(&json!({"name": null})).unwrap().name, Some(None));
        assert_eq!(parse(&json!({"name": "n"})).unwrap().name, Some(Some(String::from("n"))));
        let pointers = |body| parse(&body).unwrap_err().errors[0].pointer.clone();
        assert_eq!(pointers(json!({"name": 1})), "/name");
        assert_eq!(pointers(json!({"nam": "n"})), "/nam");
        assert_eq!(pointers(json!({"metadata": {"k": "v".repeat(513)}})), "/metadata");
    }
}
