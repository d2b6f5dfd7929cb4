//! `POST /v1/fine_tuning/jobs`

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::dataset::{Rows, rows};
use super::hyperparameters::ChosenHyperparameters;
use super::method::Method;
use super::{FineTuningJob, view};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::idempotency;
use crate::api::imports::Pull;
use crate::api::jobs::resolve::{Resolution, resolve};
use crate::clock;
use crate::dataset::Split;
use crate::job::FieldError;

/// A fine-tuning job to submit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFineTuningJob {
    /// A model of `GET /v1/models`.
    #[schema(example = "builtin:arith-tiny")]
    model: String,
    /// A file with purpose `fine-tune`; also a data set (`ds_...`, `dsv_...`) or a built-in one.
    training_file: String,
    /// Held-out rows, which are evaluated where the method has a grader.
    validation_file: Option<String>,
    /// The job's name.
    #[schema(max_length = 200)]
    suffix: Option<String>,
    seed: Option<u64>,
    metadata: Option<BTreeMap<String, String>>,
    /// `{"type": "supervised" | "reinforcement" | "bolt" | "p3o" | "vopd" | "fade" | "grpo" | "policy_gradient",
    /// "<type>": {...}}`; without it the job is supervised. What stands below one of our objectives are its fields,
    /// `grader` or `verifier`, `hyperparameters`, and sections of a job spec such as `sampling` and `train`.
    #[schema(value_type = Option<Object>)]
    method: Option<Value>,
    /// `n_epochs`, `batch_size` and `learning_rate_multiplier` of a supervised job without `method`.
    #[schema(value_type = Option<Object>)]
    hyperparameters: Option<Value>,
    /// None is supported.
    #[schema(value_type = Option<Vec<Object>>)]
    integrations: Option<Vec<Value>>,
}

/// Submit a fine-tuning job
///
/// The same as `POST /v1/jobs` with a spec made of the request: the job is visible there with the same id. Rows of
/// the form `{"messages": [..., {"role": "assistant", ...}]}` are learnt from; a file is checked when the first job uses
/// it.
#[utoipa::path(
    post,
    path = "/v1/fine_tuning/jobs",
    tag = "fine-tuning",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat")),
    request_body = CreateFineTuningJob,
    responses(
        (status = 201, description = "Queued", body = FineTuningJob),
        (status = 400, description = "Not JSON, or the key is malformed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The request or a row of a file is invalid, something in it is not supported, or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_fine_tuning_job(
    Access(app): Access,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &body)?;
    if let Some(job) = app.store.submitted_before(key.as_ref(), clock::now()).await? {
        return Ok(idempotency::created(view(&app, job).await?, true));
    }
    let request: CreateFineTuningJob = read(&body)?;
    let method = Method::read(request.method.as_ref(), request.hyperparameters.as_ref()).map_err(Problem::invalid)?;
    let resolved = resolved(&app, &request, &method).await?;
    let description = describe(&request, &method, &resolved);
    let (job, now) = (resolved.into_job(), clock::now());
    let id = job.id;
    app.store.describe_fine_tuning(id, &description, now).await?;
    let submitted = app.store.submit_job(job, key, now).await;
    if !submitted.as_ref().is_ok_and(|submitted| submitted.job.id == id) {
        app.store.forget_fine_tuning(id).await?;
    }
    let submitted = submitted?;
    Ok(idempotency::created(view(&app, submitted.job).await?, submitted.replayed))
}

/// The request as a job that can run.
async fn resolved(app: &App, request: &CreateFineTuningJob, method: &Method) -> Result<Resolution, Problem> {
    if request.integrations.as_ref().is_some_and(|integrations| !integrations.is_empty()) {
        let name = request.integrations.iter().flatten().filter_map(|i| i["type"].as_str()).next().unwrap_or("this");
        let detail = format!("integrations such as `{name}` are not supported; follow the job's events instead");
        return Err(Problem::invalid(vec![FieldError::new("/integrations", "unsupported_field", detail)]));
    }
    let mut errors = Vec::new();
    let mut find = async |reference: &str, split, pointer| {
        let found = rows(app, reference, split, pointer).await?;
        Ok::<Option<Rows>, Problem>(found.map_err(|error| errors.push(error)).ok())
    };
    let training = find(&request.training_file, Split::Train, "/training_file").await?;
    let validation = match &request.validation_file {
        Some(name) => find(name, Split::Eval, "/validation_file").await?,
        None => None,
    };
    let Some(training) = training.filter(|_| errors.is_empty()) else { return Err(Problem::invalid(errors)) };
    let mut spec = Map::from_iter([
        (String::from("model"), json!(request.model)),
        (String::from("dataset"), json!({"train": training.name})),
        (String::from("seed"), json!(request.seed.unwrap_or_default())),
        (String::from("metadata"), json!(request.metadata.clone().unwrap_or_default())),
    ]);
    if let Some(validation) = validation {
        spec["dataset"]["eval"] = json!(validation.name);
    }
    if let Some(suffix) = &request.suffix {
        spec.insert(String::from("name"), json!(suffix));
    }
    method.apply(&mut spec, training.count).map_err(Problem::invalid)?;
    let resolving = resolve(app, Pull::Begin, Value::Object(spec)).await;
    resolving.map_err(|problem| {
        let moved =
            problem.errors.into_iter().map(|error| FieldError { pointer: method.pointer(&error.pointer), ..error });
        let errors: Vec<FieldError> = moved.collect();
        if errors.is_empty() { Problem { errors, ..problem } } else { Problem::invalid(errors) }
    })
}

/// What clients will read of the request, with the numbers that were chosen for `auto`.
fn describe(request: &CreateFineTuningJob, method: &Method, resolution: &Resolution) -> Value {
    let epochs = method.epochs().map_or_else(|| json!("auto"), |epochs| json!(epochs));
    let mut described = request.method.clone().unwrap_or_else(|| json!({"type": method.name}));
    let chosen = json!(ChosenHyperparameters::of(&resolution.training, epochs.clone()));
    // Absent or null until here where everything was left to us.
    let settings = &mut described[method.name];
    if settings.is_null() {
        *settings = json!({});
    }
    let mut all = settings["hyperparameters"].as_object().cloned().unwrap_or_default();
    all.extend(chosen.as_object().cloned().unwrap_or_default());
    settings["hyperparameters"] = Value::Object(all);
    json!({
        "training_file": request.training_file,
        "validation_file": request.validation_file,
        "suffix": request.suffix,
        "n_epochs": epochs,
        "method": described,
    })
}
