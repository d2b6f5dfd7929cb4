//! `GET /v1/jobs/{id}/events`

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::feed::Follower;
use crate::job::{Event, EventKind, JobId, JobStatus};
use crate::store::{Store, StoreError};

/// Comments that keep a quiet stream open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events read at a time.
const BATCH: u32 = 200;
/// A follower looks for itself this often, should a wake-up get lost.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
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
    BATCH
}

/// One event of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobEvent {
    id: String,
    /// Always `event`.
    object: &'static str,
    job: String,
    /// 1, 2, 3, ... within the job, without gaps.
    seq: i64,
    /// `status`, `phase`, `progress`, `metrics`, `evaluation`, `checkpoint`, `rollout_set` or `log`.
    r#type: &'static str,
    /// RFC 3339.
    created_at: String,
    /// `info`, `warning` or `error`.
    level: &'static str,
    message: String,
    #[schema(value_type = Object)]
    data: Value,
}

impl From<Event> for JobEvent {
    fn from(event: Event) -> Self {
        Self {
            id: event.id.to_string(),
            object: "event",
            job: event.job.to_string(),
            seq: event.seq,
            r#type: event.body.kind.as_str(),
            created_at: event.created_at.rfc3339(),
            level: event.body.level.as_str(),
            message: event.body.message,
            data: event.body.data,
        }
    }
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
    if params.wait > 60 || !(1..=BATCH).contains(&params.limit) {
        let detail = format!("`wait` must lie between 0 and 60, `limit` between 1 and {BATCH}");
        return Err(Problem::bad_request("invalid_parameter", detail));
    }
    let follower = app.feed.follow(Some(id));
    let job = app.store.job(id).await?;
    // A browser's EventSource keeps its URL when it reconnects, so the header must win.
    let after = last_event_id(&headers)?.or(params.after).unwrap_or(0);
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if params.stream || accept.contains("text/event-stream") {
        if job.status.is_final() && job.last_seq <= after {
            // Tells an EventSource not to come back.
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        let tail = Tail {
            store: app.store,
            job: id,
            after,
            follower,
            shutdown: app.shutdown,
            ready: VecDeque::new(),
            ended: false,
        };
        let events = stream::unfold(tail, Tail::next);
        return Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response());
    }
    Ok(Json(poll(&app, id, after, &params, follower).await?).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    match headers.get("last-event-id") {
        None => Ok(None),
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()).map(Some).ok_or_else(|| {
            Problem::bad_request("invalid_last_event_id", "Last-Event-ID is the `seq` of the last event received")
        }),
    }
}

async fn poll(
    app: &App,
    job: JobId,
    after: i64,
    params: &EventParams,
    mut follower: Follower,
) -> Result<List<JobEvent>, Problem> {
    let deadline = Instant::now() + Duration::from_secs(params.wait);
    let mut shutdown = app.shutdown.clone();
    loop {
        let events = app.store.events(job, after, params.limit + 1).await?;
        if !events.is_empty() || Instant::now() >= deadline || *shutdown.borrow() {
            return Ok(List::new(events.into_iter().map(JobEvent::from), params.limit, |event| event.id.clone()));
        }
        tokio::select! {
            () = follower.wait_until(deadline) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// A stream's place in the log.
struct Tail {
    store: Store,
    job: JobId,
    after: i64,
    follower: Follower,
    shutdown: watch::Receiver<bool>,
    ready: VecDeque<Event>,
    ended: bool,
}

impl Tail {
    async fn next(mut self) -> Option<(Result<sse::Event, Infallible>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.after = event.seq;
                self.ended = is_last(&event);
                return Some((Ok(server_sent(event)), self));
            }
            if self.ended || *self.shutdown.borrow() {
                return None;
            }
            match self.store.events(self.job, self.after, BATCH).await {
                Ok(events) if !events.is_empty() => self.ready.extend(events),
                Ok(_) => {
                    // Someone who resumes behind the last event of a finished job waits for nothing.
                    match self.store.job(self.job).await {
                        Ok(job) if job.status.is_final() && job.last_seq <= self.after => return None,
                        // Deleted while it was followed.
                        Err(StoreError::NotFound { .. }) => return None,
                        _ => {}
                    }
                    tokio::select! {
                        () = self.follower.wait_until(Instant::now() + LOOK) => {}
                        _ = self.shutdown.changed() => {}
                    }
                }
                Err(error) => {
                    // The client reconnects with Last-Event-ID and loses nothing.
                    tracing::warn!(%error, "an event stream is cut off");
                    return None;
                }
            }
        }
    }
}

/// Whether an event tells that the job is over.
fn is_last(event: &Event) -> bool {
    event.body.kind == EventKind::Status
        && event.body.data["status"].as_str().and_then(|s| s.parse().ok()).is_some_and(JobStatus::is_final)
}

fn server_sent(event: Event) -> sse::Event {
    let (seq, kind) = (event.seq, event.body.kind);
    let body = serde_json::to_string(&JobEvent::from(event)).unwrap_or_default();
    sse::Event::default().id(seq.to_string()).event(kind.as_str()).data(body)
}
