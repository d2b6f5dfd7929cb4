//! `PATCH /v1/jobs/{id}`

use std::collections::BTreeMap;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Job, one_as_read};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::bounds;
use crate::job::event::LogDetail;
use crate::job::metadata::check_metadata;
use crate::job::{BudgetSpec, FieldError, JobId, JobKind, JobStatus, NewEvent, field};
use crate::spec::Attributes;
use crate::store::{JobChange, JobRow};

/// What to change; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateJob {
    /// Null removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 200)]
    name: Option<Option<String>>,
    /// Pairs to set; a null removes its key, and null for all of them removes them all.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<BTreeMap<String, Option<String>>>)]
    metadata: Option<Option<BTreeMap<String, Option<String>>>>,
    /// Of a project's jobs those with a higher priority are claimed first. Only while the job is not finished.
    priority: Option<i32>,
    /// As `budget` of the spec; null removes it. Only while the job is not finished.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>, example = json!({"device_seconds": 7200, "on_exhausted": "pause"}))]
    budget: Option<Option<BudgetSpec>>,
}

/// Tells a null from a field that is left out.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Change a job
///
/// Sets name, metadata, priority and budget. With `If-Match` only a job is changed of which all these and the
/// status still are as they were under that `ETag`; how far it has come does not matter.
#[utoipa::path(
    patch,
    path = "/v1/jobs/{id}",
    tag = "jobs",
    params(
        ("id" = String, Path, description = "The job"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that the job must still have"),
    ),
    request_body(content = UpdateJob, content_type = "application/json"),
    responses(
        (status = 200, body = Job, headers(("ETag" = String, description = "Of the changed job"))),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job has succeeded (`job_finished`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 412, description = "The job has changed (`precondition_failed`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn update_job(
    Access(app): Access,
    Id(id): Id<JobId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let update = UpdateJob::parse(&body)?;
    let change = |row: &JobRow| {
        Job::from(row.clone()).tagged()?.check_if_match(&headers)?;
        update.change(row)
    };
    let row = app.store.change_job(id, clock::now(), change).await?;
    Ok(one_as_read(&app.store, row).await?.tagged()?.into_response())
}

impl UpdateJob {
    fn parse(body: &Value) -> Result<Self, Problem> {
        // A list would be read as the fields in their order.
        for (part, pointer) in [(Some(body), ""), (body.get("budget"), "/budget")] {
            if part.is_some_and(Value::is_array) {
                let error = FieldError::new(pointer, "wrong_type", "must be an object, not a list");
                return Err(Problem::invalid(vec![error]));
            }
        }
        let update = read(body)?;
        let outside = body.get("budget").map(|budget| bounds::of::<BudgetSpec>(budget, "/budget")).unwrap_or_default();
        if outside.is_empty() { Ok(update) } else { Err(Problem::invalid(outside)) }
    }

    /// The job with the change, unless it changes nothing.
    fn change(self, row: &JobRow) -> Result<Option<JobChange>, Problem> {
        // One that failed or was cancelled can be resumed, and then has use for them.
        if row.status == JobStatus::Succeeded && (self.priority.is_some() || self.budget.is_some()) {
            let detail = "the job has succeeded; its priority and budget mean nothing any more";
            return Err(Problem::new(StatusCode::CONFLICT, "job_finished", detail));
        }
        let mut changed = row.attributes.clone();
        match self.metadata {
            None => {}
            Some(None) => changed.metadata.clear(),
            Some(Some(pairs)) => {
                for (key, value) in pairs {
                    match value {
                        Some(value) => changed.metadata.insert(key, value),
                        None => changed.metadata.remove(&key),
                    };
                }
            }
        }
        changed.name = self.name.unwrap_or(changed.name);
        changed.priority = self.priority.unwrap_or(changed.priority);
        changed.budget = self.budget.unwrap_or(changed.budget);
        let mut checks = vec![check_metadata(&changed.metadata)];
        if self.budget.flatten().is_some() && row.work().kind() != JobKind::Train {
            let detail = "only jobs that train have a budget";
            checks.push(Err(vec![FieldError::new("/budget", "not_a_training_job", detail)]));
        }
        field::all(checks).map_err(Problem::invalid)?;
        let fields = differences(&row.attributes, &changed);
        if fields.is_empty() {
            return Ok(None);
        }
        let message = format!("changed by a client: {}", fields.join(", "));
        let detail = LogDetail::Changed { fields: fields.into_iter().map(str::to_owned).collect() };
        let event = NewEvent::coded(message, "changed", detail);
        Ok(Some(JobChange { attributes: changed, event: (!row.status.is_final()).then_some(event) }))
    }
}

/// The names of what is not the same.
fn differences(before: &Attributes, after: &Attributes) -> Vec<&'static str> {
    let fields = [
        ("name", before.name != after.name),
        ("metadata", before.metadata != after.metadata),
        ("priority", before.priority != after.priority),
        ("budget", before.budget != after.budget),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
