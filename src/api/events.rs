//! `GET /v1/events`

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::access::Access;
use super::error::{Problem, ProblemBody};
use super::extract::{List, Params};
use super::tail::{self, JobEvent, Log, Tail};
use crate::job::{EventId, EventKind, JobId};
use crate::store::{EventFilter, Store};

/// The place behind everything that there is.
const LATEST: &str = "latest";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AllEventParams {
    /// Only events behind this one, by its id; `latest` leaves out all that there are. Without it the log is read from
    /// its begin.
    after: Option<String>,
    /// Only events of this type, such as `status`.
    #[param(value_type = Option<String>)]
    r#type: Option<EventKind>,
    /// Only events of this job.
    job: Option<String>,
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

/// Follow the events of all jobs
///
/// In the order in which they were written, each job's own in the order of their `seq`. With
/// `Accept: text/event-stream` (or `?stream=true`) the log is streamed as server-sent events, `id` being the event's
/// id; `Last-Event-ID` or `?after=` resumes behind an event. Otherwise a page of the log is returned, after waiting for
/// it up to `wait` seconds; `last_id` is the next page's `after`.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "Resume behind this event; has precedence over `after`"),
        AllEventParams,
    ),
    responses(
        (status = 200, description = "Events", content(
            (List<JobEvent> = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such event or job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_events(
    Access(app): Access,
    headers: HeaderMap,
    Params(params): Params<AllEventParams>,
) -> Result<Response, Problem> {
    let job: Option<JobId> = params.job.as_deref().map(|id| parse("job", id)).transpose()?;
    let follower = app.feed.follow(job);
    if let Some(job) = job {
        app.store.job(job).await?;
    }
    let after = place(&app.store, &headers, params.after.as_deref()).await?;
    let tail = Tail::new(app, Log::All(EventFilter { kind: params.r#type, job }), after, follower);
    if params.stream || tail::accepts_stream(&headers) {
        return tail.stream();
    }
    Ok(Json(tail.poll(params.wait, params.limit).await?).into_response())
}

/// The position that a request resumes behind.
async fn place(store: &Store, headers: &HeaderMap, after: Option<&str>) -> Result<i64, Problem> {
    // A browser's EventSource keeps its URL when it reconnects, so the header must win.
    let id: EventId = match headers.get("last-event-id") {
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            Problem::bad_request(
                "invalid_last_event_id",
                "Last-Event-ID is the id (`evt_...`) of the last event received",
            )
        })?,
        None => match after {
            None => return Ok(0),
            Some(LATEST) => return Ok(store.newest_event().await?),
            Some(id) => parse("after", id)?,
        },
    };
    Ok(store.event_position(id).await?)
}

fn parse<T: std::str::FromStr<Err = crate::job::id::InvalidId>>(parameter: &str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error| Problem::bad_request("invalid_parameter", format!("`{parameter}`: {error}")))
}
