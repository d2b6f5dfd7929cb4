//! Writes the audit log: every request that wants to change something, that computes or downloads, and every one that is
//! refused for its key.
//! Entries are collected for a moment and written together, beside the requests; a server that dies loses the last
//! fraction of a second of them, one that ends loses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
use crate::job::{ApiKeyId, AuditEntryId};
use crate::store::{AuditEntry, Store};

/// Entries that may wait to be written; requests wait beyond.
const WAITING: usize = 4096;
const BATCH: usize = 512;
/// Of what a client sent; of a path four times as much.
const MOST_CHARACTERS: usize = 128;
/// How long entries are collected.
const COLLECT: Duration = Duration::from_millis(100);

/// Entries of strangers, or of a key that changes nothing, that are written at once, and how long it takes until one more
/// may be.
const AT_ONCE: u32 = 100;
const PACE: Duration = Duration::from_secs(2);
/// Keys whose pace is remembered; those that may write as many as at the beginning are forgotten then.
const REMEMBERED: usize = 10_000;

/// Where entries go; clones are the same.
#[derive(Clone, Debug)]
pub struct Log {
    sender: mpsc::Sender<AuditEntry>,
    paces: Arc<Mutex<HashMap<Source, Pace>>>,
}

/// Who makes requests that are not noted one by one, and whether they are downloads, which nothing else is to hide.
/// Strangers have no caller, and a server without keys has callers without one.
type Source = (Option<Option<ApiKeyId>>, bool);

/// What is noted of those who can make requests without end that change nothing: they must not fill the disk.
#[derive(Debug)]
struct Pace {
    /// When as many may be noted as at the beginning.
    full_at: Instant,
    /// Requests that no entry stands for yet.
    unnoted: u64,
}

impl Pace {
    /// Counts a request. The number that an entry stands for, if there is to be one.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.unnoted += 1;
        let full_at = self.full_at.max(now) + PACE;
        if full_at - now > PACE * AT_ONCE {
            return None;
        }
        self.full_at = full_at;
        Some(std::mem::take(&mut self.unnoted))
    }
}

impl Log {
    fn count(&self, source: Source, now: Instant) -> Option<u64> {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        if paces.len() >= REMEMBERED {
            paces.retain(|_, pace| pace.full_at > now);
        }
        paces.entry(source).or_insert(Pace { full_at: now, unnoted: 0 }).count(now)
    }
}

/// Starts writing; the task ends when all senders are gone.
pub fn start(store: Store) -> (Log, JoinHandle<()>) {
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
    (Log { sender, paces: Arc::default() }, writer)
}

/// Lets a request through and notes what came of it. What wants to change something goes on when its client has left:
/// a change is made whole and noted, or not made.
pub async fn record(State(log): State<Log>, request: Request, next: Next) -> Response {
    if !Kind::of(&request).changes(request.method()) {
        return noted(log, request, next).await;
    }
    tokio::spawn(noted(log, request, next).in_current_span()).await.unwrap_or_else(|_| {
        // Panics are caught further in: the server is ending.
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the server is about to end").into_response()
    })
}

async fn noted(log: Log, request: Request, next: Next) -> Response {
    let (kind, method) = (Kind::of(&request), request.method().clone());
    let path = request.uri().path().to_owned();
    let id = request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let response = next.run(request).await;
    let refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if !refused && !kind.is_noted(&method) {
        return response;
    }
    let caller = response.extensions().get::<Caller>();
    let requests = match caller {
        Some(_) if kind.changes(&method) && !refused && response.status() != StatusCode::TOO_MANY_REQUESTS => Some(1),
        caller => log.count((caller.map(|caller| caller.key), kind == Kind::Downloads), Instant::now()),
    };
    let Some(requests) = requests else { return response };
    let entry = AuditEntry {
        id: AuditEntryId::generate(),
        project: caller.map(|caller| caller.project.clone()).unwrap_or_default(),
        key: caller.and_then(|caller| caller.key).map(|key| key.to_string()),
        method: method.as_str().chars().take(MOST_CHARACTERS).collect(),
        path: path.chars().take(4 * MOST_CHARACTERS).collect(),
        status: response.status().as_u16(),
        code: response.extensions().get::<Problem>().map(|problem| problem.code.to_owned()),
        request_id: id.chars().take(MOST_CHARACTERS).collect(),
        requests,
        created_at: clock::now(),
    };
    // Who is refused must not make others wait: of what they try, only so much is noted as is written in time.
    let sent = match caller {
        Some(_) if !refused => log.sender.send(entry).await.is_ok(),
        Some(_) | None => log.sender.try_send(entry).is_ok(),
    };
    if !sent {
        tracing::warn!(%method, path, "an entry of the audit log is lost");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_of_requests_few_are_noted_and_all_are_counted() {
        let began = Instant::now();
        let mut pace = Pace { full_at: began, unnoted: 0 };
        let flood: Vec<u64> = (0..10_000).filter_map(|_| pace.count(began)).collect();
        assert_eq!(flood, [1; AT_ONCE as usize]);
        assert_eq!(pace.count(began + PACE), Some(10_000 - u64::from(AT_ONCE) + 1));
        assert_eq!(pace.count(began + PACE), None);
        assert_eq!(pace.count(began + 2 * PACE), Some(2));
    }
}
