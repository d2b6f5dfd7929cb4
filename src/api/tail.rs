//! Following a log of events: that of one job, or that of all jobs. A page that is waited for and a stream both read
//! from the database behind a place in the log, so that whoever comes back misses nothing and sees nothing twice.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::App;
use super::error::Problem;
use super::etag::Tagged;
use super::extract::List;
use super::feed::Follower;
use crate::job::{Event, EventBody, JobId};
use crate::store::{EventFilter, Store, StoreError};

/// Comments that keep a quiet stream open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events of a page at most.
pub const BATCH: u32 = 200;
/// Events that a stream reads at a time; so many may wait for a slow client. For one that takes them quickly it reads ahead,
/// twice as many each time.
const STREAM_BATCH: u32 = 16;
const MOST_AHEAD: u32 = 128;
/// How soon a client that is quick has taken what was read.
const QUICK: Duration = Duration::from_millis(20);
/// A follower looks for itself this often, should a wake-up get lost.
const LOOK: Duration = Duration::from_secs(30);
/// How often a stream looks whether what has no log has changed.
const VIEW_LOOK: Duration = Duration::from_secs(1);
/// Streams that may be open at once; each takes about 40 KB of memory, and what it has read ahead while it catches up.
pub const MOST_STREAMS: usize = 8192;

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
    data: EventBody,
}

impl From<Event> for JobEvent {
    fn from(event: Event) -> Self {
        Self {
            id: event.id.to_string(),
            object: "event",
            job: event.job.to_string(),
            seq: event.seq,
            r#type: event.body.kind().as_str(),
            created_at: event.created_at.rfc3339(),
            level: event.level.as_str(),
            message: event.message,
            data: event.body,
        }
    }
}

/// Which log is followed.
#[derive(Clone, Debug)]
pub enum Log {
    /// A place is the `seq` of an event, and the log ends with the job.
    Job(JobId),
    /// A place is a position, and the log has no end.
    All(EventFilter),
}

impl Log {
    /// At most `limit` events behind `after` with their places, and the place up to which there are no others.
    async fn read(&self, store: &Store, after: i64, limit: u32) -> Result<(Vec<(i64, Event)>, i64), StoreError> {
        let (events, newest): (Vec<_>, _) = match self {
            Self::Job(job) => {
                let events = store.news(*job, after, limit).await?;
                (events.iter().map(|event| (event.seq, event.clone())).collect(), after)
            }
            Self::All(filter) => {
                let newest = store.newest_event().await?;
                (store.all_events(after, newest, filter, limit).await?, newest)
            }
        };
        let last = events.last().map_or(after, |(place, _)| *place);
        let reached = if events.len() < limit as usize { last.max(newest) } else { last };
        Ok((events, reached))
    }

    /// The id under which a client comes back behind an event.
    fn name(&self, place: i64, event: &Event) -> String {
        match self {
            Self::Job(_) => place.to_string(),
            Self::All(_) => event.id.to_string(),
        }
    }

    /// Whether nothing may follow behind an event.
    fn ends_with(&self, event: &Event) -> bool {
        match self {
            Self::Job(_) => event.body.is_last(),
            Self::All(_) => false,
        }
    }

    /// Whether nothing can follow behind `after`.
    async fn is_over(&self, store: &Store, after: i64) -> bool {
        match self {
            Self::Job(job) => match store.job(*job).await {
                Ok(job) => job.status.is_final() && job.last_seq <= after,
                // Deleted while it was followed.
                Err(StoreError::NotFound { .. }) => true,
                Err(_) => false,
            },
            Self::All(_) => false,
        }
    }
}

/// Whether the client asks for server-sent events by its `Accept`.
pub fn accepts_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

/// A place in a log, and what is known to lie behind it.
pub struct Tail {
    app: App,
    log: Log,
    after: i64,
    follower: Follower,
    shutdown: watch::Receiver<bool>,
    ready: VecDeque<(i64, Event)>,
    /// How many were asked for last, and when they were there.
    batch: u32,
    read_at: Instant,
    /// Nothing lay behind what is ready when it was read.
    caught_up: bool,
    ended: bool,
    /// What else a stream tells of, with the tag of what it told last.
    views: Vec<(View, Option<HeaderValue>)>,
    look_at: Instant,
}

/// Something that has a state and no log: a stream tells it at its begin, and again when it has changed.
#[derive(Clone, Copy)]
pub struct View {
    /// The type of the event.
    pub name: &'static str,
    pub read: fn(App) -> BoxFuture<'static, Result<Tagged, Problem>>,
}

impl Tail {
    /// Follows `log` behind `after`. The follower must be older than whatever was read of the log so far.
    pub fn new(app: App, log: Log, after: i64, follower: Follower) -> Self {
        let shutdown = app.shutdown.clone();
        Self {
            app,
            log,
            after,
            follower,
            shutdown,
            ready: VecDeque::new(),
            batch: STREAM_BATCH / 2,
            read_at: Instant::now(),
            caught_up: false,
            ended: false,
            views: Vec::new(),
            look_at: Instant::now(),
        }
    }

    /// Tells of these as well, where it is a stream.
    pub fn with_views(self, views: Vec<View>) -> Self {
        Self { views: views.into_iter().map(|view| (view, None)).collect(), ..self }
    }

    /// One page, after waiting up to `wait` seconds for its first event.
    pub async fn poll(mut self, wait: u64, limit: u32) -> Result<List<JobEvent>, Problem> {
        let deadline = Instant::now() + Duration::from_secs(wait);
        loop {
            let (events, reached) = self.log.read(&self.app.store, self.after, limit + 1).await?;
            let over = events.is_empty() && self.log.is_over(&self.app.store, self.after).await;
            if over || !events.is_empty() || Instant::now() >= deadline || *self.shutdown.borrow() {
                let events = events.into_iter().map(|(_, event)| JobEvent::from(event));
                return Ok(List::new(events, limit, |event| event.id.clone()));
            }
            self.after = reached;
            self.rest_until(deadline).await;
        }
    }

    /// Everything that follows, as server-sent events.
    pub fn stream(self) -> Result<Response, Problem> {
        let place = self.app.streams.take(self.app.store.own_project()).ok_or_else(|| {
            let detail = format!(
                "{MOST_STREAMS} event streams are open, or half as many of this project; ask with `?wait=60` instead"
            );
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail)
        })?;
        let events = stream::unfold((self, place), async |(mut tail, place)| {
            let event = tail.next().await?;
            Some((event, (tail, place)))
        });
        Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response())
    }

    async fn next(&mut self) -> Option<Result<sse::Event, Infallible>> {
        loop {
            if let Some(changed) = Box::pin(self.changed_view()).await {
                return Some(Ok(changed));
            }
            if let Some((place, event)) = self.ready.pop_front() {
                // A job that has ended may have been resumed since.
                self.ended = self.log.ends_with(&event) && Box::pin(self.log.is_over(&self.app.store, place)).await;
                return Some(Ok(server_sent(self.log.name(place, &event), event)));
            }
            if self.ended || *self.shutdown.borrow() {
                return None;
            }
            if self.caught_up {
                self.caught_up = false;
                let look = Instant::now() + LOOK;
                self.rest_until(if self.views.is_empty() { look } else { self.look_at.min(look) }).await;
            }
            let is_quick = self.read_at.elapsed() < QUICK;
            self.batch = if is_quick { (self.batch * 2).min(MOST_AHEAD) } else { STREAM_BATCH };
            // Boxed, so that a stream that rests takes little memory.
            match Box::pin(self.log.read(&self.app.store, self.after, self.batch)).await {
                Ok((events, reached)) => {
                    (self.after, self.read_at) = (reached, Instant::now());
                    self.caught_up = events.len() < self.batch as usize;
                    // None of the memory of one that was larger.
                    self.ready = events.into();
                    // Someone who resumes behind the last event of a finished job waits for nothing.
                    if self.ready.is_empty() && Box::pin(self.log.is_over(&self.app.store, self.after)).await {
                        return None;
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

    /// The first of the views that is not as it was told, if it is time to look at them.
    async fn changed_view(&mut self) -> Option<sse::Event> {
        if self.views.is_empty() || Instant::now() < self.look_at {
            return None;
        }
        for (view, told) in &mut self.views {
            // One that cannot be read now is looked at again.
            let Ok(now) = (view.read)(self.app.clone()).await else { continue };
            if told.as_ref() != Some(now.tag()) {
                *told = Some(now.tag().clone());
                // Without an id, so that a client comes back behind the last event of the log.
                return Some(sse::Event::default().event(view.name).data(now.text()));
            }
        }
        self.look_at = Instant::now() + VIEW_LOOK;
        None
    }

    /// Until there may be news, or at `deadline`, or when the server ends.
    async fn rest_until(&mut self, deadline: Instant) {
        tokio::select! {
            () = self.follower.wait_until(deadline) => {}
            _ = self.shutdown.changed() => {}
        }
    }
}

fn server_sent(id: String, event: Event) -> sse::Event {
    let kind = event.body.kind();
    let body = serde_json::to_string(&JobEvent::from(event)).unwrap_or_default();
    sse::Event::default().id(id).event(kind.as_str()).data(body)
}
