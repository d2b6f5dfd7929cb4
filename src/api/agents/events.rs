//! `POST /v1/agent/leases/{job}/{attempt}/events`

use axum::Json;

use super::{own_lease, wrong};
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Segments, read};
use crate::clock;
use crate::job::agent::{EventBatch, MAX_EVENTS, ServerTime};
use crate::job::{EventBody, JobId, NewEvent};

/// Report events
///
/// Adds events of a running attempt to the log of its job, all or none. `first` is how many it reported before: those that
/// are there already are not added again, so that whoever heard no answer reports the same once more.
#[utoipa::path(
    post,
    path = "/v1/agent/leases/{job}/{attempt}/events",
    tag = "agents",
    params(
        ("job" = String, Path, description = "The job"),
        ("attempt" = u32, Path, description = "The attempt"),
    ),
    request_body = EventBatch,
    responses(
        (status = 200, body = ServerTime),
        (status = 409, description = "The job is somebody else's (`lease_lost`), or events before these were not reported (`events_missing`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn report_events(
    Agent(app): Agent,
    Segments(job, attempt): Segments<JobId, u32>,
    JsonBody(body): JsonBody,
) -> Result<Json<ServerTime>, Problem> {
    let EventBatch { first, events } = read(&body)?;
    if events.len() > MAX_EVENTS {
        return Err(wrong("/events", format!("has at most {MAX_EVENTS}")));
    }
    let mut new = Vec::with_capacity(events.len());
    for (i, event) in events.into_iter().enumerate() {
        let kind = event.kind;
        let event = NewEvent::try_from(event).map_err(|error| wrong(&format!("/events/{i}/data"), error))?;
        match &event.body {
            EventBody::Status(_) | EventBody::Checkpoint(_) | EventBody::RolloutSet(_) => {
                let detail = format!("the server itself writes events of the type `{kind}`");
                return Err(wrong(&format!("/events/{i}/type"), detail));
            }
            EventBody::Phase(_)
            | EventBody::Progress(_)
            | EventBody::Metrics(_)
            | EventBody::Evaluation(_)
            | EventBody::Log(_) => new.push(event),
        }
    }
    let (lease, now) = (own_lease(&app, job, attempt).await?, clock::now());
    app.store.record_from(lease, first, &new, now).await?;
    Ok(Json(ServerTime { now: now.0 }))
}
