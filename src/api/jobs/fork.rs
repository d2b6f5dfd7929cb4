//! `POST /v1/jobs/{id}/fork`

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Job;
use super::control::{self, Control};
use super::resolve::resolve;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, MAX_JSON_BYTES, read};
use crate::api::idempotency;
use crate::api::imports::Pull;
use crate::clock;
use crate::job::sweep::expansion::MOST_OPERATIONS;
use crate::job::{CheckpointId, FieldError, JobId, JobKind};
use crate::store::{JobRow, Origin};

/// How deep a patched spec may be nested; what is read from a request is not deeper either.
const MAX_DEPTH: usize = 128;

/// How the fork differs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkJob {
    /// A JSON Patch (RFC 6902) on the spec as it was submitted, or for a `control` run as the job resolved it; at most 100
    /// operations.
    #[serde(default)]
    #[schema(value_type = Vec<Object>, example = json!([{"op": "replace", "path": "/seed", "value": 8}]))]
    patch: Vec<Value>,
    /// Another name.
    #[serde(default)]
    name: Option<String>,
    /// `start` (the default): from the model that the job started from. `checkpoint`: from the model that the job made,
    /// or from that of any inference checkpoint `ckpt_...`.
    #[serde(default)]
    #[schema(example = "checkpoint")]
    from: Option<String>,
    /// Make it a control run of this job, with which the job's report compares it.
    #[serde(default)]
    control: Option<Control>,
}

/// Fork a job
///
/// Submits a new job with the spec of this one, changed: `name`, `from` and `control` are put in first, then the operations
/// of `patch` are applied in their order. A `control` run is called after what it is, and has it in its metadata. Pointers of errors about the resulting spec are pointers into that spec. With an
/// `Idempotency-Key` header the same request can be repeated for 24 hours without making a second job.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/fork",
    tag = "jobs",
    params(
        ("id" = String, Path, description = "The job"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat"),
    ),
    request_body(content = ForkJob, content_type = "application/json"),
    responses(
        (status = 201, description = "Queued", body = Job),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job trains nothing (`not_a_training_job`), has made no model yet (`no_checkpoint`), or trains on rows that nothing was filtered out of (`not_filtered`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "An operation cannot be applied (`patch_failed`; `errors` names it), the resulting spec is invalid, or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn fork_job(
    Access(app): Access,
    Id(id): Id<JobId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &json!({"fork": id, "body": body}))?;
    if let Some(job) = app.store.submitted_before(key.as_ref(), clock::now()).await? {
        return Ok(idempotency::created(Job::from(job), true));
    }
    let (fork, source) = (ForkJob::parse(&body)?, app.store.job(id).await?);
    let controlled = match fork.control {
        Some(control) => control::controlled(&app.store, control, &source).await?,
        None => source.spec.clone(),
    };
    let spec = fork.spec(&source, controlled)?;
    let resolved = resolve(&app, Pull::Begin, spec).await?;
    let submitted = app.store.submit_derived(resolved.into_job(), Origin::Fork(id), key, clock::now()).await?;
    Ok(idempotency::created(Job::from(submitted.job), submitted.replayed))
}

impl ForkJob {
    fn parse(body: &Value) -> Result<Self, Problem> {
        // A list would be read as the fields in their order.
        if body.is_array() {
            let error = FieldError::new("", "wrong_type", "must be an object, not a list");
            return Err(Problem::invalid(vec![error]));
        }
        read(body)
    }

    /// The spec to submit, of a job and its spec as far as it is changed already.
    fn spec(self, row: &JobRow, mut spec: Value) -> Result<Value, Problem> {
        if row.work().kind() != JobKind::Train {
            let detail = "the job trains nothing; only training jobs can be forked";
            return Err(Problem::new(StatusCode::CONFLICT, "not_a_training_job", detail));
        }
        if let Some(model) = start(self.from.as_deref(), row)? {
            spec["model"] = model;
        }
        if let Some(name) = self.name {
            spec["name"] = Value::from(name);
        }
        apply(&mut spec, self.patch, |index| format!("/patch/{index}"))
            .map_err(|error| Problem::invalid(vec![error]).with_code("patch_failed"))?;
        Ok(spec)
    }
}

/// The model to start from, where it is not that of the spec.
fn start(from: Option<&str>, row: &JobRow) -> Result<Option<Value>, Problem> {
    match from {
        None | Some("start") => Ok(None),
        Some("checkpoint") => {
            let made = row.result.as_ref().and_then(|result| result.get("checkpoint")).filter(|id| id.is_string());
            let detail = format!("the job is {} and has made no model; fork it from `start`", row.status);
            made.cloned().map(Some).ok_or_else(|| Problem::new(StatusCode::CONFLICT, "no_checkpoint", detail))
        }
        Some(name) if name.parse::<CheckpointId>().is_ok() => Ok(Some(Value::from(name))),
        Some(_) => {
            let detail = "is `start`, `checkpoint` or an inference checkpoint `ckpt_...`";
            Err(Problem::invalid(vec![FieldError::new("/from", "unknown_value", detail)]))
        }
    }
}

/// Applies a JSON Patch; an error points `at` the operation. Operations go one by one, because copies of copies could
/// otherwise grow a document beyond all bounds before anyone looks.
pub fn apply(spec: &mut Value, patch: Vec<Value>, at: impl Fn(usize) -> String) -> Result<(), FieldError> {
    let failed = |index: usize, detail: String| FieldError::new(at(index), "patch_failed", detail);
    if patch.len() > MOST_OPERATIONS {
        let detail = format!("there are {} operations, and at most {MOST_OPERATIONS} are taken", patch.len());
        return Err(FieldError::new(at(MOST_OPERATIONS), "out_of_range", detail));
    }
    for (index, operation) in patch.into_iter().enumerate() {
        let operation: json_patch::PatchOperation =
            serde_json::from_value(operation).map_err(|error| failed(index, format!("is no operation: {error}")))?;
        json_patch::patch(spec, std::slice::from_ref(&operation)).map_err(|error| {
            failed(index, format!("the operation cannot be applied at `{}`: {}", error.path, error.kind))
        })?;
        if is_deeper(spec, MAX_DEPTH) || spec.to_string().len() > MAX_JSON_BYTES {
            let detail = format!("the spec becomes larger than {MAX_JSON_BYTES} bytes or nested too deeply");
            return Err(failed(index, detail));
        }
    }
    Ok(())
}

/// Whether a value is nested more than `limit` levels deep.
fn is_deeper(value: &Value, limit: usize) -> bool {
    let deeper = |part: &Value| limit == 0 || is_deeper(part, limit - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(fields) => fields.values().any(deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(patch: Value) -> Result<Value, FieldError> {
        let mut spec = json!({"seed": 7, "train": {"steps": 10}, "metadata": {"a": "b"}});
        apply(&mut spec, patch.as_array().unwrap().clone(), |index| format!("/patch/{index}")).map(|()| spec)
    }

    #[test]
    fn operations_apply_in_their_order() {
        let spec = patched(json!([
            {"op": "test", "path": "/seed", "value": 7},
            {"op": "replace", "path": "/seed", "value": 8},
            {"op": "copy", "from": "/seed", "path": "/train/steps"},
            {"op": "remove", "path": "/metadata/a"},
        ]));
        assert_eq!(spec.unwrap(), json!({"seed": 8, "train": {"steps": 8}, "metadata": {}}));
    }

    #[test]
    fn an_error_names_its_operation() {
        let ok = json!({"op": "replace", "path": "/seed", "value": 8});
        for bad in [
            json!({"op": "remove", "path": "/train/stops"}),
            json!({"op": "test", "path": "/seed", "value": 7}),
            json!({"op": "conquer", "path": "/seed"}),
            json!({"op": "add", "path": "seed", "value": 1}),
            json!({"op": "move", "from": "/train", "path": "/train/steps/x"}),
            json!(3),
        ] {
            let error = patched(json!([ok, bad])).unwrap_err();
            assert_eq!((error.pointer.as_str(), error.code), ("/patch/1", "patch_failed"), "{bad}");
        }
    }

    #[test]
    fn copies_of_copies_stay_bounded() {
        let double = json!({"op": "copy", "from": "", "path": "/metadata/a"});
        let error = patched(json!(vec![double; 100])).unwrap_err();
        assert!(error.detail.contains("larger"), "{error}");
        let wide = json!({"op": "copy", "from": "/metadata", "path": "/train/a"});
        assert!(patched(json!(vec![wide; 101])).is_err());
    }
}
