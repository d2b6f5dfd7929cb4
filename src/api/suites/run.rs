//! `POST /v1/suites/{id}/runs` and `GET /v1/suite-runs/{id}`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::SuiteRun;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::evaluations::resolve::resolve;
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::metadata::check_metadata;
use crate::job::{FieldError, SuiteId, SuiteRunId};
use crate::store::{NewJob, NewSuiteRun, SuiteRow};

/// What is to be evaluated.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSuiteRun {
    /// The model, as in an evaluation.
    #[schema(example = "ft:nightly")]
    model: String,
    /// In the place of that of each set.
    priority: Option<i32>,
    /// Up to 16 pairs of your own, which each evaluation gets.
    metadata: Option<BTreeMap<String, String>>,
}

/// Evaluate a model on a suite
///
/// Makes an evaluation for each set, all or none. Two runs of a suite have drawn with the same seeds and can be compared set by
/// set. With an `Idempotency-Key` header the same request can be repeated for 24 hours without making a second run.
#[utoipa::path(
    post,
    path = "/v1/suites/{id}/runs",
    tag = "evaluations",
    params(
        ("id" = String, Path, description = "The suite"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat"),
    ),
    request_body = CreateSuiteRun,
    responses(
        (status = 201, body = SuiteRun),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such suite", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The model is unknown or does not fit a set; `errors` names the set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "The project may not have so many jobs", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn run_suite(
    Access(app): Access,
    Id(id): Id<SuiteId>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<SuiteRun>), Problem> {
    let asked: CreateSuiteRun = read(&body)?;
    check_metadata(asked.metadata.as_ref().unwrap_or(&BTreeMap::new())).map_err(Problem::invalid)?;
    let suite = app.store.suite(id).await?;
    // A model that is brought for them is not what the request's key stands for.
    let asked = Asked { model: asked.model, priority: asked.priority, metadata: asked.metadata };
    let (model, evaluations) = app.store.on_the_way(evaluations(&app, &suite, asked)).await?;
    let run =
        NewSuiteRun { id: SuiteRunId::generate(), suite: id, model, after_job: None, evaluations: Ok(evaluations) };
    let row = app.store.add_suite_run(run, clock::now()).await?;
    Ok((StatusCode::CREATED, Json(row.into())))
}

/// What is evaluated, with what takes the place of what the sets say.
pub struct Asked {
    pub model: String,
    pub priority: Option<i32>,
    pub metadata: Option<BTreeMap<String, String>>,
}

/// An evaluation for each set, and what all of them measure: what the model's name stands for when the first is made.
pub async fn evaluations(
    app: &App,
    suite: &SuiteRow,
    mut asked: Asked,
) -> Result<(String, Vec<(String, NewJob)>), Problem> {
    let (mut evaluations, mut errors) = (Vec::with_capacity(suite.sets.len()), Vec::new());
    for (number, set) in suite.sets.iter().enumerate() {
        match resolve(app, spec(suite, set, &asked)).await {
            Ok(job) => {
                asked.model = job.resolved.common.model.to_string();
                evaluations.push((set["name"].as_str().unwrap_or_default().to_owned(), job));
            }
            Err(problem) => errors.extend(of_set(number, problem)?),
        }
        // What is wrong with the model is wrong for each set.
        if errors.iter().any(|error| error.pointer == "/model") {
            break;
        }
    }
    if errors.is_empty() { Ok((asked.model, evaluations)) } else { Err(Problem::invalid(errors)) }
}

/// The evaluation of a set.
fn spec(suite: &SuiteRow, set: &Value, asked: &Asked) -> Value {
    let mut spec = set.clone();
    let called = |set: &str| suite.name.as_ref().map_or_else(|| set.to_owned(), |suite| format!("{suite}/{set}"));
    spec["name"] = json!(called(set["name"].as_str().unwrap_or_default()).chars().take(200).collect::<String>());
    spec["model"] = json!(asked.model);
    if let Some(priority) = asked.priority {
        spec["priority"] = json!(priority);
    }
    if let Some(metadata) = &asked.metadata {
        spec["metadata"] = json!(metadata);
    }
    spec
}

/// What is wrong with a set, or with the model; a problem of another kind is that of the request.
fn of_set(number: usize, problem: Problem) -> Result<Vec<FieldError>, Problem> {
    if problem.errors.is_empty() {
        return Err(problem);
    }
    let place = |error: FieldError| match error.pointer.as_str() {
        "/model" => error,
        _ => error.below(&format!("/sets/{number}")),
    };
    Ok(problem.errors.into_iter().map(place).collect())
}

/// Get a run of a suite
#[utoipa::path(
    get,
    path = "/v1/suite-runs/{id}",
    tag = "evaluations",
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, body = SuiteRun),
        (status = 404, description = "No such run", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_suite_run(Access(app): Access, Id(id): Id<SuiteRunId>) -> Result<Json<SuiteRun>, Problem> {
    Ok(Json(app.store.suite_run(id).await?.into()))
}
