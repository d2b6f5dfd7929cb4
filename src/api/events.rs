//! `GET /v1/events`

use std::fmt::Display;
use std::str::FromStr;

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::App;
use super::access::Access;
use super::error::{Problem, ProblemBody};
use super::etag::Tagged;
use super::extract::{List, Params};
use super::tail::{self, JobEvent, Log, Tail, View};
use super::{devices, queue};
use crate::job::{EventId, EventKind, JobId};
use crate::store::{EventFilter, Store};

/// The place behind everything that there is.
const LATEST: &str = "latest";

/// Most jobs that are named in one request.
const MOST_JOBS: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AllEventParams {
    /// Only events behind this one, by its id; `latest` leaves out all that there are. Without it the log is read from
    /// its begin.
    after: Option<String>,
    /// Only events of this type, such as `status`, or of several: `status,metrics`.
    #[param(example = "status,metrics")]
    r#type: Option<String>,
    /// Only events of this job, or of several, at most 50, by their ids with commas between.
    #[param(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    job: Option<String>,
    /// Seconds to wait for the first event when there is none yet, 0 to 60 (long poll).
    #[serde(default)]
    #[param(minimum = 0, maximum = 60)]
    wait: u64,
    /// Events to return at most, 1 to 200 (long poll).
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 200)]
    limit: u32,
    /// In a stream, tell of these as well: `devices`, `queue` or `devices,queue`. They come as events of these types
    /// without an id, whose data is what `GET /v1/devices` and `GET /v1/queue` answer, at the begin and when it has changed.
    #[param(example = "devices,queue")]
    views: Option<String>,
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
    let kinds: Vec<EventKind> = listed("type", params.r#type.as_deref())?;
    let jobs: Vec<JobId> = listed("job", params.job.as_deref())?;
    if jobs.len() > MOST_JOBS {
        return Err(Problem::bad_request("invalid_parameter", format!("`job` takes at most {MOST_JOBS} ids")));
    }
    let follower = app.feed.follow(if let [job] = jobs[..] { Some(job) } else { None });
    for job in &jobs {
        app.store.job(*job).await?;
    }
    let after = place(&app.store, &headers, params.after.as_deref()).await?;
    let views = views(params.views.as_deref())?;
    let tail = Tail::new(app, Log::All(EventFilter { kinds, jobs }), after, follower).with_views(views);
    if params.stream || tail::accepts_stream(&headers) {
        return tail.stream();
    }
    Ok(Json(tail.poll(params.wait, params.limit).await?).into_response())
}

/// What has no log and can be told of.
const VIEWS: [View; 2] = [
    View { name: "devices", read: |app| Box::pin(async move { shared(&app, "devices", devices::list(&app)).await }) },
    View { name: "queue", read: |app| Box::pin(async move { shared(&app, "queue", queue::queue(&app)).await }) },
];

fn views(names: Option<&str>) -> Result<Vec<View>, Problem> {
    let names: Vec<String> = listed("views", names)?;
    let view = |name: &String| {
        let found = VIEWS.into_iter().find(|view| view.name == name);
        found.ok_or_else(|| Problem::bad_request("invalid_parameter", format!("`views`: `{name}` is not known")))
    };
    names.iter().map(view).collect()
}

/// Read once for all of a project's streams that look at it.
async fn shared<T: Serialize>(
    app: &App,
    name: &str,
    read: impl Future<Output = Result<T, Problem>>,
) -> Result<Tagged, Problem> {
    app.answers.get(&app.store, format!("/v1/events?views={name}"), async || Tagged::new(&read.await?)).await
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

/// What a parameter lists with commas between.
fn listed<T: FromStr<Err: Display>>(parameter: &str, text: Option<&str>) -> Result<Vec<T>, Problem> {
    let parts = text.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| parse(parameter, part)).collect()
}

fn parse<T: FromStr<Err: Display>>(parameter: &str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error| Problem::bad_request("invalid_parameter", format!("`{parameter}`: {error}")))
}
