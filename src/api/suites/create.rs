//! `POST /v1/suites`

use std::collections::{BTreeMap, HashSet};

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Suite;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::evaluations::resolve::without_model;
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::metadata::check_metadata;
use crate::job::{FieldError, SuiteId};
use crate::store::SuiteRow;

/// Characters of the name of a set.
const MOST_NAME: usize = 64;

/// A suite to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSuite {
    /// A name for people.
    #[schema(max_length = 200)]
    name: Option<String>,
    /// Each is what `POST /v1/evaluations` takes without `model`, with a `name` of up to 64 characters that no other set has.
    #[schema(value_type = Vec<Object>, min_items = 1, max_items = 32, example = json!([{"name": "sums", "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"}, "samples": 16, "pass_at": [1, 16]}]))]
    sets: Vec<Value>,
    /// Up to 16 pairs of your own.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// Create a suite
///
/// Keeps sets of rows, each with its verifier and its way of sampling, so that models are evaluated on all of them with one
/// request, today and later, in the same way: what a set names is resolved now. A suite does not change.
#[utoipa::path(
    post,
    path = "/v1/suites",
    tag = "evaluations",
    request_body = CreateSuite,
    responses(
        (status = 201, body = Suite),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A set is invalid; `errors` names the set and the field", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_suite(Access(app): Access, JsonBody(body): JsonBody) -> Result<(StatusCode, Json<Suite>), Problem> {
    let asked: CreateSuite = read(&body)?;
    check_metadata(&asked.metadata).map_err(Problem::invalid)?;
    check_names(&asked.sets).map_err(Problem::invalid)?;
    let (mut sets, mut errors) = (Vec::with_capacity(asked.sets.len()), Vec::new());
    for (number, set) in asked.sets.iter().enumerate() {
        match resolved(&app, set).await? {
            Ok(set) => sets.push(set),
            Err(found) => errors.extend(found.into_iter().map(|error| error.below(&format!("/sets/{number}")))),
        }
    }
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let row = SuiteRow {
        id: SuiteId::generate(),
        name: asked.name,
        sets,
        metadata: asked.metadata,
        created_at: clock::now(),
    };
    app.store.add_suite(&row).await?;
    Ok((StatusCode::CREATED, Json(row.into())))
}

/// A set has a name by which its results are found.
fn check_names(sets: &[Value]) -> Result<(), Vec<FieldError>> {
    let mut known = HashSet::new();
    let wrong = |(number, set): (usize, &Value)| {
        let pointer = format!("/sets/{number}/name");
        let Some(name) = set["name"].as_str().filter(|name| (1..=MOST_NAME).contains(&name.chars().count())) else {
            let detail = format!("a set has a name of 1 to {MOST_NAME} characters");
            return Some(FieldError::new(&pointer, "missing_field", detail));
        };
        let detail = "another set has this name; give each one of its own";
        (!known.insert(name.to_owned())).then(|| FieldError::new(&pointer, "invalid_value", detail))
    };
    let errors: Vec<FieldError> = sets.iter().enumerate().filter_map(wrong).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A set with every default filled in and every reference resolved.
async fn resolved(app: &App, set: &Value) -> Result<Result<Value, Vec<FieldError>>, Problem> {
    if set.get("model").is_some() {
        let detail = "a suite has no model; name one when you run it";
        return Ok(Err(vec![FieldError::new("/model", "unknown_field", detail)]));
    }
    let mut set = set.clone();
    if let Some(members) = set.as_object_mut() {
        members.insert(String::from("model"), json!(""));
    }
    without_model(app, &set).await
}
