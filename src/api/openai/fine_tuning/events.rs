//! `GET /v1/fine_tuning/jobs/{id}/events`

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::training_job;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::job::{Event, EventBody, EventLevel, JobId};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FineTuningEventParams {
    /// Start behind the event with this id, with older ones.
    after: Option<String>,
    /// Events to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
}

fn default_limit() -> u32 {
    20
}

/// An event of a job as OpenAI clients read it.
#[derive(Debug, Serialize, ToSchema)]
pub struct FineTuningEvent {
    #[schema(example = "evt_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `fine_tuning.job.event`.
    object: &'static str,
    /// Unix seconds.
    created_at: i64,
    /// `info`, `warn` or `error`.
    level: &'static str,
    message: String,
    /// `metrics` for the numbers of a step, otherwise `message`.
    r#type: &'static str,
    /// As in `GET /v1/jobs/{id}/events`; with `metrics` also `train_loss`.
    #[schema(value_type = Object)]
    data: Value,
}

impl From<Event> for FineTuningEvent {
    fn from(event: Event) -> Self {
        let mut data = json!(event.body);
        let kind = match &event.body {
            EventBody::Metrics(step) => {
                data["train_loss"] = json!(step.values.number("loss"));
                "metrics"
            }
            EventBody::Status(_)
            | EventBody::Phase(_)
            | EventBody::Progress(_)
            | EventBody::Evaluation(_)
            | EventBody::Checkpoint(_)
            | EventBody::RolloutSet(_)
            | EventBody::Log(_) => "message",
        };
        Self {
            id: event.id.to_string(),
            object: "fine_tuning.job.event",
            created_at: event.created_at.unix_seconds(),
            level: match event.level {
                EventLevel::Info => "info",
                EventLevel::Warning => "warn",
                EventLevel::Error => "error",
            },
            message: event.message,
            r#type: kind,
            data,
        }
    }
}

/// List a fine-tuning job's events
///
/// Newest first. `GET /v1/jobs/{id}/events` streams the same events as they come.
#[utoipa::path(
    get,
    path = "/v1/fine_tuning/jobs/{id}/events",
    tag = "fine-tuning",
    params(("id" = String, Path, description = "The job"), FineTuningEventParams),
    responses(
        (status = 200, body = List<FineTuningEvent>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job or event, or a job that does not train", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_fine_tuning_events(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(params): Params<FineTuningEventParams>,
) -> Result<Json<List<FineTuningEvent>>, Problem> {
    training_job(&app, id).await?;
    let events = app.store.events_backwards(id, params.after.as_deref(), params.limit + 1).await?;
    Ok(Json(List::new(events.into_iter().map(FineTuningEvent::from), params.limit, |event| event.id.clone())))
}
