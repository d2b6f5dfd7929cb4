//! Graders as OpenAI clients send them, read as the verifiers that they are here.

use serde_json::{Map, Value};

use crate::job::FieldError;
use crate::verifier;

/// OpenAI's graders that are not run: they need another model, or run code.
const REFUSED: [&str; 4] = ["python", "score_model", "label_model", "endpoint"];

/// The configuration of a verifier from a grader, or from a verifier of our own in the place of one. Errors point below
/// `pointer`; a grader that is not run is refused by name.
pub fn read(grader: &Value, pointer: &str) -> Result<verifier::Config, Vec<FieldError>> {
    let mut value = grader.clone();
    if let Some(fields) = value.as_object_mut() {
        refuse(fields, pointer)?;
        one_member(fields);
        for (name, member) in fields.get("graders").and_then(Value::as_object).into_iter().flatten() {
            if let Some(member) = member.as_object() {
                refuse(member, &format!("{pointer}/graders/{name}"))?;
            }
        }
    }
    verifier::Config::parse_named(&value, pointer)
}

fn refuse(fields: &Map<String, Value>, pointer: &str) -> Result<(), Vec<FieldError>> {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    if REFUSED.contains(&kind) {
        let runs = verifier::KNOWN.join(", ");
        let detail = format!("graders of type `{kind}` are not run here; there are: {runs}");
        return Err(vec![FieldError::new(format!("{pointer}/type"), "unsupported_grader", detail)]);
    }
    Ok(())
}

/// The published type of `graders` is a single grader; it stands for a map with that one under its name.
fn one_member(fields: &mut Map<String, Value>) {
    let Some(graders) = fields.get_mut("graders") else { return };
    if graders.get("type").is_some_and(Value::is_string) {
        let name = graders.get("name").and_then(Value::as_str).unwrap_or("grader").to_owned();
        *graders = Value::Object(Map::from_iter([(name, graders.take())]));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_run_is_refused_by_name_with_what_is() {
        for kind in REFUSED {
            let alone = json!({"type": kind, "name": "n"});
            let inside = json!({"type": "multi", "name": "m", "graders": {"a": alone}, "calculate_output": "a"});
            for (grader, pointer) in [(alone, "/grader/type"), (inside, "/grader/graders/a/type")] {
                let error = &read(&grader, "/grader").unwrap_err()[0];
                assert_eq!((error.pointer.as_str(), error.code), (pointer, "unsupported_grader"));
                assert!(error.detail.contains(kind) && error.detail.contains("string_check"), "{error}");
            }
        }
    }

    #[test]
    fn a_single_member_stands_for_a_map_and_our_verifiers_may_have_names() {
        let member = json!({"type": "numeric", "name": "right"});
        assert!(read(&member, "").is_ok());
        let multi = json!({"type": "multi", "name": "m", "graders": member, "calculate_output": "2 * right"});
        assert!(read(&multi, "").is_ok());
    }
}
