//! `POST /v1/agent/workers/{id}/calls` and `POST /v1/agent/workers/{id}/calls/{call}`: requests for completions on their way to
//! idle workers of agents. The dispatcher of requests has a line to such a worker as to one of this machine; its far end is
//! here, and what goes over it travels in the answers and bodies of the worker's requests.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::{sleep_until, timeout};

use super::{WaitParams, locked, worker, wrong};
use crate::api::App;
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, Params, Segments, read};
use crate::job::WorkerId;
use crate::job::agent::{Answer, Call, CallReplies, MAX_EVENTS, Word};
use crate::job::inference::{Order, Reply, SCRATCH_SEED};
use crate::spec::ModelRef;
use crate::store::line::Line;
use crate::store::{Location, StoredModel};

/// How long whoever asked may take to read replies.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who waits for requests here, and which are being answered.
#[derive(Default)]
pub struct Calls {
    /// By devices.
    waiting: Mutex<HashMap<String, (u64, oneshot::Sender<Asked>)>>,
    /// By workers, each of which answers one at a time.
    open: Mutex<HashMap<WorkerId, Open>>,
    last: AtomicU64,
}

/// A request, and the far end of the line to whoever asked.
struct Asked {
    order: Order,
    line: Line,
}

#[derive(Clone)]
struct Open {
    id: u64,
    /// Where its model lies.
    locations: Arc<[Location]>,
    far: Arc<tokio::sync::Mutex<Far>>,
}

/// The far end of a line, and how many replies went over it.
struct Far {
    line: Line,
    heard: u64,
}

/// A worker that waits until this is dropped.
struct Waits<'a> {
    calls: &'a Calls,
    device: String,
    number: u64,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut waiting = locked(&self.calls.waiting);
        if waiting.get(&self.device).is_some_and(|(number, _)| *number == self.number) {
            waiting.remove(&self.device);
        }
    }
}

impl Calls {
    /// Whether the worker of a device waits for requests here.
    pub fn waits(&self, device: &str) -> bool {
        locked(&self.waiting).contains_key(device)
    }

    /// A line to the worker of a device, which is given the order; none when it does not wait here.
    pub fn call(&self, device: &str, order: &Order) -> io::Result<Option<Line>> {
        let Some((_, tell)) = locked(&self.waiting).remove(device) else { return Ok(None) };
        let (near, far) = UnixStream::pair()?;
        let told = tell.send(Asked { order: order.clone(), line: far.into() });
        Ok(told.is_ok().then(|| near.into()))
    }

    /// Whether a worker answers a request whose model lies there.
    pub fn lets_read(&self, worker: WorkerId, what: &Location) -> bool {
        locked(&self.open).get(&worker).is_some_and(|open| open.locations.iter().any(|model| model.holds(what)))
    }

    fn wait(&self, device: String) -> (Waits<'_>, oneshot::Receiver<Asked>) {
        let (tell, told) = oneshot::channel();
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        locked(&self.waiting).insert(device.clone(), (number, tell));
        (Waits { calls: self, device, number }, told)
    }

    fn begin(&self, worker: WorkerId, line: Line, model: &StoredModel) -> u64 {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let locations = model.folders().map(|folder| folder.location.clone()).collect();
        let far = Arc::new(tokio::sync::Mutex::new(Far { line, heard: 0 }));
        locked(&self.open).insert(worker, Open { id, locations, far });
        id
    }

    /// Passes replies on; says whether more are wanted.
    async fn pass(&self, worker: WorkerId, id: u64, replies: CallReplies) -> Word {
        let open = locked(&self.open).get(&worker).filter(|open| open.id == id).cloned();
        let Some(open) = open else { return Word::Cancel };
        let passed = async {
            let mut far = open.far.lock().await;
            for (number, reply) in (replies.first..).zip(&replies.replies) {
                // Whoever heard no answer says it again.
                if number == far.heard {
                    far.line.sending.put(reply)?;
                    far.heard += 1;
                }
            }
            far.line.sending.flush().await?;
            // Whoever asked says nothing more but that it leaves.
            Ok::<_, io::Error>(timeout(Duration::ZERO, far.line.receiving.receive::<Order>()).await.is_err())
        };
        let listens = matches!(timeout(PATIENCE, passed).await, Ok(Ok(true)));
        if listens && !replies.replies.iter().any(Reply::is_last) {
            return Word::GoOn;
        }
        let mut all = locked(&self.open);
        if all.get(&worker).is_some_and(|open| open.id == id) {
            all.remove(&worker);
        }
        if listens { Word::GoOn } else { Word::Cancel }
    }
}

/// Wait for a request for completions
///
/// An idle worker waits here for requests of clients, beside its waiting for jobs. What is asked comes with where its model
/// lies, which the worker may read until it has answered.
#[utoipa::path(
    post,
    path = "/v1/agent/workers/{id}/calls",
    tag = "agents",
    params(("id" = String, Path, description = "The worker"), WaitParams),
    responses(
        (status = 200, body = Call),
        (status = 204, description = "There is none yet; ask again"),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "There is no such worker, or it was taken for dead", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn wait_for_call(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    Params(params): Params<WaitParams>,
) -> Result<Response, Problem> {
    let deadline = params.deadline()?;
    let device = worker(&app, id).await?.device;
    let mut shutdown = app.shutdown.clone();
    let (_waits, told) = app.calls.wait(device);
    let asked = tokio::select! {
        asked = told => asked.ok(),
        () = sleep_until(deadline) => None,
        _ = shutdown.wait_for(|down| *down) => None,
    };
    let Some(Asked { order, line }) = asked else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let model = stored_model(&app, &order).await?;
    let call = app.calls.begin(id, line, &model);
    Ok(Json(Call { call, order, model: json!(model) }).into_response())
}

/// Where the model of an order lies, which the API has found before.
async fn stored_model(app: &App, order: &Order) -> Result<StoredModel, Problem> {
    let gone = |error: &dyn std::fmt::Display| Problem::new(StatusCode::NOT_FOUND, "not_found", error.to_string());
    let reference: ModelRef = order.model.parse().map_err(|error| gone(&error))?;
    Ok(app.store.stored_model(&reference, SCRATCH_SEED).await?)
}

/// Answer a request for completions
///
/// Replies in their order, a few at a time, with the number of those before: what is told again is taken once. A worker that
/// answers says something at least every five seconds, and stops when the answer is `cancel`: nobody listens any more.
#[utoipa::path(
    post,
    path = "/v1/agent/workers/{id}/calls/{call}",
    tag = "agents",
    params(
        ("id" = String, Path, description = "The worker"),
        ("call" = u64, Path, description = "The request"),
    ),
    request_body = CallReplies,
    responses(
        (status = 200, body = Answer),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "There is no such worker, or it was taken for dead", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn answer_call(
    Agent(app): Agent,
    Segments(id, call): Segments<WorkerId, u64>,
    JsonBody(body): JsonBody,
) -> Result<Json<Answer>, Problem> {
    // Their number before their words.
    if body["replies"].as_array().is_some_and(|replies| replies.len() > MAX_EVENTS) {
        return Err(wrong("/replies", format!("has at most {MAX_EVENTS} replies")));
    }
    let replies: CallReplies = read(&body)?;
    worker(&app, id).await?;
    Ok(Json(Answer { word: app.calls.pass(id, call, replies).await }))
}
