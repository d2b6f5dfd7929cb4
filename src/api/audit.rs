//! Writes the audit log: every request that wants to change something, and every one that is refused for its key.
//! Entries are collected for a moment and written together, beside the requests; a server that dies loses the last
//! fraction of a second of them, one that ends loses nothing.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::access::Caller;
use super::error::Problem;
use super::route::Kind;
use crate::clock;
use crate::job::AuditEntryId;
use crate::store::{AuditEntry, Store};

/// Entries that may wait to be written; requests wait beyond.
const WAITING: usize = 4096;
const BATCH: usize = 512;
/// Of what a client sent; of a path four times as much.
const MOST_CHARACTERS: usize = 128;
/// How long entries are collected.
const COLLECT: Duration = Duration::from_millis(100);

/// Where entries go.
pub type Sender = mpsc::Sender<AuditEntry>;

/// Starts writing; the task ends when all senders are gone.
pub fn start(store: Store) -> (Sender, JoinHandle<()>) {
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let writer = tokio::spawn(async move {
        let mut batch = Vec::new();
        while receiver.recv_many(&mut batch, BATCH).await > 0 {
            if let Err(error) = store.add_audit_entries(&batch, clock::now()).await {
                tracing::error!(%error, entries = batch.len(), "entries of the audit log are lost");
            }
            let more = batch.len() == BATCH;
            batch.clear();
            if !more && !receiver.is_closed() {
                tokio::time::sleep(COLLECT).await;
            }
        }
    });
    (sender, writer)
}

/// Lets a request through and notes what came of it. What wants to change something goes on when its client has left:
/// a change is made whole and noted, or not made.
pub async fn record(State(sender): State<Sender>, request: Request, next: Next) -> Response {
    if !Kind::of(&request).changes(request.method()) {
        return noted(sender, request, next).await;
    }
    tokio::spawn(noted(sender, request, next).in_current_span()).await.unwrap_or_else(|_| {
        // Panics are caught further in: the server is ending.
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the server is about to end").into_response()
    })
}

async fn noted(sender: Sender, request: Request, next: Next) -> Response {
    let (kind, method) = (Kind::of(&request), request.method().clone());
    let path = request.uri().path().to_owned();
    let id = request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let response = next.run(request).await;
    let refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if !refused && !kind.changes(&method) {
        return response;
    }
    let caller = response.extensions().get::<Caller>();
    let entry = AuditEntry {
        id: AuditEntryId::generate(),
        project: caller.map(|caller| caller.project.clone()).unwrap_or_default(),
        key: caller.and_then(|caller| caller.key).map(|key| key.to_string()),
        method: method.as_str().chars().take(MOST_CHARACTERS).collect(),
        path: path.chars().take(4 * MOST_CHARACTERS).collect(),
        status: response.status().as_u16(),
        code: response.extensions().get::<Problem>().map(|problem| problem.code.to_owned()),
        request_id: id.chars().take(MOST_CHARACTERS).collect(),
        created_at: clock::now(),
    };
    // Strangers must not make others wait: of what they try, only so much is noted as is written in time.
    let sent = match caller {
        Some(_) => sender.send(entry).await.is_ok(),
        None => sender.try_send(entry).is_ok(),
    };
    if !sent {
        tracing::warn!(%method, path, "an entry of the audit log is lost");
    }
    response
}
