//! `GET /v1/jobs/{id}/events`

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::tail::{self, JobEvent, Log, Tail};
use crate::job::JobId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EventParams {
    /// Only events with a greater `seq`.
    #[serde(default)]
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Seconds to wait for the first event when there is none yet, 0 to 60 (long poll).
    #[serde(default)]
    #[param(minimum = 0, maximum = 60)]
    wait: u64,
    /// Events to return at most, 1 to 200 (long poll).
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 200)]
    limit: u32,
    /// Stream as server-sent events; the same as `Accept: text/event-stream`.
    #[serde(default)]
    stream: bool,
}

fn default_limit() -> u32 {
    tail::BATCH
}

/// Follow a job's events
///
/// With `Accept: text/event-stream` (or `?stream=true`) the whole log is streamed as server-sent events, `id` being
/// the event's `seq`; `Last-Event-ID` or `?after=` resumes behind an event, and the stream ends with the job.
/// Otherwise a page of the log is returned, after waiting for it up to `wait` seconds.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/events",
    tag = "jobs",
    params(
        ("id" = String, Path, description = "The job"),
        ("Last-Event-ID" = Option<i64>, Header, description = "Resume behind this event; has precedence over `after`"),
        EventParams,
    ),
    responses(
        (status = 200, description = "Events", content(
            (List<JobEvent> = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 204, description = "A stream would have nothing more to tell: the job is finished"),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_events(
    Access(app): Access,
    Id(id): Id<JobId>,
    headers: HeaderMap,
    Params(params): Params<EventParams>,
) -> Result<Response, Problem> {
    let follower = app.feed.follow(Some(id));
    let job = app.store.job(id).await?;
    // A browser's EventSource keeps its URL when it reconnects, so the header must win.
    let after = last_event_id(&headers)?.or(params.after).unwrap_or(0);
    let tail = Tail::new(app, Log::Job(id), after, follower);
    if params.stream || tail::accepts_stream(&headers) {
        if job.status.is_final() && job.last_seq <= after {
            // Tells an EventSource not to come back.
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        return tail.stream();
    }
    Ok(Json(tail.poll(params.wait, params.limit).await?).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    match headers.get("last-event-id") {
        None => Ok(None),
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()).map(Some).ok_or_else(|| {
            Problem::bad_request("invalid_last_event_id", "Last-Event-ID is the `seq` of the last event received")
        }),
    }
}
