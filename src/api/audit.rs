//! Writes the audit log: every request that wants to change something, that computes or downloads, and every one that is
//! refused for its key.
//! Entries are collected for a moment and written together, beside the requests; a server that dies loses the last
//! fraction of a second of them, and of those that are counted a few seconds; one that ends loses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinHandle;
use tokio::time::timeout;
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
    paces: Paces,
}

/// Who makes requests that are not noted one by one, and whether they are downloads, which nothing else is to hide.
/// Strangers have no caller, and a server without keys has callers without one.
type Source = (Option<Option<ApiKeyId>>, bool);

/// What is noted of those who can make requests without end that change nothing: they must not fill the disk.
#[derive(Debug)]
struct Pace {
    /// When as many may be noted as at the beginning.
    full_at: Instant,
    /// The newest request of those that are not noted yet, for which it stands.
    unnoted: Option<AuditEntry>,
}

impl Pace {
    /// Counts a request. The entry for all that are not noted yet, if there may be one.
    fn count(&mut self, entry: AuditEntry, now: Instant) -> Option<AuditEntry> {
        self.add(entry);
        self.note(now)
    }

    /// What is to be noted by now.
    fn note(&mut self, now: Instant) -> Option<AuditEntry> {
        let full_at = self.full_at.max(now) + PACE;
        if self.unnoted.is_none() || full_at - now > PACE * AT_ONCE {
            return None;
        }
        self.full_at = full_at;
        // Whoever reads the log by its ids has read on meanwhile.
        self.unnoted.take().map(|entry| AuditEntry { id: AuditEntryId::generate(), ..entry })
    }

    /// Adds what else an entry is to stand for.
    fn add(&mut self, mut entry: AuditEntry) {
        entry.requests += self.unnoted.take().map_or(0, |before| before.requests);
        self.unnoted = Some(entry);
    }
}

/// The paces of all who were heard of lately; clones are the same.
#[derive(Clone, Debug, Default)]
struct Paces(Arc<Mutex<HashMap<Source, Pace>>>);

impl Paces {
    fn lock(&self) -> MutexGuard<'_, HashMap<Source, Pace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, source: Source, entry: AuditEntry, now: Instant) -> Option<AuditEntry> {
        let mut paces = self.lock();
        if paces.len() >= REMEMBERED {
            paces.retain(|_, pace| pace.full_at > now || pace.unnoted.is_some());
        }
        paces.entry(source).or_insert(Pace { full_at: now, unnoted: None }).count(entry, now)
    }

    /// Takes back what could not be noted now.
    fn put_back(&self, source: Source, entry: AuditEntry) {
        if let Some(pace) = self.lock().get_mut(&source) {
            pace.add(entry);
        }
    }

    /// What is to be noted by now of those who have fallen silent.
    fn due(&self, now: Instant) -> Vec<AuditEntry> {
        self.lock().values_mut().filter_map(|pace| pace.note(now)).collect()
    }

    /// Everything that is not noted yet, when no more comes.
    fn rest(&self) -> Vec<AuditEntry> {
        self.lock().values_mut().filter_map(|pace| pace.unnoted.take()).collect()
    }
}

impl Log {
    /// Counts a request of those that must not make others wait: what cannot be written at once is written later. Returns
    /// false when nothing is written any more.
    fn count(&self, source: Source, entry: AuditEntry) -> bool {
        let Some(entry) = self.paces.count(source, entry, Instant::now()) else { return true };
        match self.sender.try_send(entry) {
            Err(TrySendError::Full(entry)) => {
                self.paces.put_back(source, entry);
                true
            }
            sent => sent.is_ok(),
        }
    }
}

/// Starts writing; the task ends when all senders are gone.
pub fn start(store: Store) -> (Log, JoinHandle<()>) {
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let log = Log { sender, paces: Paces::default() };
    let paces = log.paces.clone();
    let writer = tokio::spawn(async move {
        let (mut batch, mut has_ended) = (Vec::new(), false);
        while !has_ended {
            // Nothing within the time is nothing to write, unless somebody has fallen silent.
            has_ended = matches!(timeout(PACE, receiver.recv_many(&mut batch, BATCH)).await, Ok(0));
            let more = batch.len() == BATCH;
            batch.extend(if has_ended { paces.rest() } else { paces.due(Instant::now()) });
            if batch.is_empty() {
                continue;
            }
            if let Err(error) = store.add_audit_entries(&batch, clock::now()).await {
                tracing::error!(%error, entries = batch.len(), "entries of the audit log are lost");
            }
            batch.clear();
            if !more && !receiver.is_closed() {
                tokio::time::sleep(COLLECT).await;
            }
        }
    });
    (log, writer)
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
    let entry = AuditEntry {
        id: AuditEntryId::generate(),
        project: caller.map(|caller| caller.project.clone()).unwrap_or_default(),
        key: caller.and_then(|caller| caller.key).map(|key| key.to_string()),
        method: method.as_str().chars().take(MOST_CHARACTERS).collect(),
        path: path.chars().take(4 * MOST_CHARACTERS).collect(),
        status: response.status().as_u16(),
        code: response.extensions().get::<Problem>().map(|problem| problem.code.to_owned()),
        request_id: id.chars().take(MOST_CHARACTERS).collect(),
        requests: 1,
        created_at: clock::now(),
    };
    let is_limited = refused || response.status() == StatusCode::TOO_MANY_REQUESTS;
    let sent = if caller.is_some() && kind.changes(&method) && !is_limited {
        log.sender.send(entry).await.is_ok()
    } else {
        log.count((caller.map(|caller| caller.key), kind == Kind::Downloads), entry)
    };
    if !sent {
        tracing::warn!(%method, path, "an entry of the audit log is lost");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> AuditEntry {
        AuditEntry {
            id: AuditEntryId::generate(),
            project: String::new(),
            key: None,
            method: String::from("GET"),
            path: String::from("/v1/jobs"),
            status: 401,
            code: None,
            request_id: String::new(),
            requests: 1,
            created_at: clock::now(),
        }
    }

    #[test]
    fn of_a_flood_of_requests_few_are_noted_and_all_are_counted() {
        let began = Instant::now();
        let (paces, source) = (Paces::default(), (None, false));
        let count = |now| paces.count(source, entry(), now).map(|entry| entry.requests);
        let flood: Vec<u64> = (0..10_000).filter_map(|_| count(began)).collect();
        assert_eq!(flood, [1; AT_ONCE as usize]);
        assert_eq!(count(began + PACE), Some(10_000 - u64::from(AT_ONCE) + 1));
        assert_eq!(count(began + PACE), None);
        assert_eq!(count(began + 2 * PACE), Some(2));

        // Of one who falls silent the last are noted as well, and of a server that ends.
        let due = |now| paces.due(now).iter().map(|entry| entry.requests).collect::<Vec<_>>();
        assert_eq!(count(began + 2 * PACE), None);
        assert_eq!((due(began + 2 * PACE), due(began + 3 * PACE), due(began + 4 * PACE)), (vec![], vec![1], vec![]));
        assert_eq!(count(began + 4 * PACE), Some(1));
        assert_eq!((count(began + 4 * PACE), paces.rest().len(), paces.rest().len()), (None, 1, 0));
    }
}
