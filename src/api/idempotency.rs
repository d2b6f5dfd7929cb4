//! Requests that can be repeated without making a thing twice.
//!
//! A request that makes a job is known again by its key, which is written in the same transaction as the job
//! ([`key`]). Any other keyed POST is answered from what the first one was answered ([`replay`]). Its key, too, is written
//! with what it makes: if the server dies before the answer is there, that is shown as it is by then.
//!
//! A key is good for whoever used it first: another API key of the project that sends the same is refused. What is kept of
//! an answer is bounded and has no secrets, and answers to mere questions are not kept.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures_util::FutureExt;
use serde::Serialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::App;
use super::access::Caller;
use super::error::Problem;
use super::extract::MAX_JSON_BYTES;
use super::route::Kind;
use crate::clock;
use crate::job::{
    ApiKeyId, DatasetId, DatasetVersionId, ExportId, FileId, ModelId, SuiteId, SuiteRunId, SweepId, VerifierId,
    WebhookEndpointId, digest,
};
use crate::store::{IdempotencyKey, Recorded, StoreError};

/// By what the request that makes a job is known again: by its `Idempotency-Key`, or for ten minutes by its body where
/// the client counts its retries, as OpenAI's clients do.
pub fn key(app: &App, headers: &HeaderMap, body: &Value) -> Result<Option<IdempotencyKey>, Problem> {
    let digest = digest_of(app.caller, body);
    if let Some(name) = name(headers)? {
        return Ok(Some(IdempotencyKey { name: Some(name), digest, repeats: false }));
    }
    let Some(count) = headers.get("x-stainless-retry-count") else { return Ok(None) };
    let repeats = count.to_str().ok().and_then(|count| count.parse::<u32>().ok()).is_some_and(|count| count > 0);
    Ok(Some(IdempotencyKey { name: None, digest, repeats }))
}

/// Of what a request asks for, and who asks.
fn digest_of(caller: Option<ApiKeyId>, asked: &Value) -> String {
    match caller {
        Some(caller) => digest::of_json(&json!([caller, asked])),
        None => digest::of_json(asked),
    }
}

fn name(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let name = value.to_str().ok().filter(|key| (1..=255).contains(&key.len())).ok_or_else(|| {
        Problem::bad_request("invalid_idempotency_key", "an Idempotency-Key has 1 to 255 printable ASCII characters")
    })?;
    Ok(Some(name.to_owned()))
}

/// The answer with what was made, now or by an earlier request with the same key.
pub fn created(body: impl Serialize, replayed: bool) -> Response {
    let mut response = (StatusCode::CREATED, Json(body)).into_response();
    if replayed {
        mark(&mut response);
    }
    response
}

fn mark(response: &mut Response) {
    response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
}

/// Answers a keyed POST that was answered before in the same way, and remembers the answers of others. `handlers` are
/// asked for what a request has made that was not answered.
pub async fn replay(State((app, handlers)): State<(App, Router)>, request: Request, next: Next) -> Response {
    let kind = Kind::of(&request);
    let handled = kind == Kind::MakesJob || request.method() != Method::POST || !kind.changes(request.method());
    if handled || !request.headers().contains_key("idempotency-key") {
        return next.run(request).await;
    }
    match replayed(app, handlers, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn replayed(app: App, handlers: Router, request: Request, next: Next) -> Result<Response, Problem> {
    let Some(name) = name(request.headers())? else { return Ok(next.run(request).await) };
    let Some(caller) = request.extensions().get::<Caller>().cloned() else { return Ok(next.run(request).await) };
    let store = app.store.within(&caller.project);
    let (request, digest) = fingerprint(request, caller.key).await?;
    let turn = match app.keyed.begin(store.own_project(), &name) {
        Ok(turn) => turn,
        Err(known) => return again(known, &digest),
    };
    match store.recorded(&name, clock::now()).await? {
        Some(Recorded { digest: other, answer: None, resource }) if other == digest => {
            if let Some(path) = resource.as_deref().and_then(shown_at) {
                return Ok(shown(&path, request, handlers).await);
            }
        }
        Some(known) => return again(Some(known), &digest),
        None => {}
    }
    let serve = AssertUnwindSafe(next.run(request)).catch_unwind();
    let Ok(response) = store.serve_keyed(&name, &digest, clock::now(), serve).await else {
        return Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong on the server"));
    };
    let (parts, body) = response.into_parts();
    let json =
        parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !parts.status.is_success() || !json {
        return Ok(Response::from_parts(parts, body));
    }
    let bytes = to_bytes(body, 16 * MAX_JSON_BYTES).await.map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", format!("the answer cannot be kept: {error}"))
    })?;
    let (status, answer) = (parts.status.as_u16(), kept(&bytes));
    if answer.len() > MOST_KEPT {
        // What was made is shown instead.
        return Ok(Response::from_parts(parts, Body::from(bytes)));
    }
    if let Err(error) = store.record_answer(&name, &digest, (status, &answer), clock::now()).await {
        // What was asked for is done; that cannot be taken back.
        tracing::warn!(%error, "an answer is remembered until the server ends only");
        turn.end(Recorded { digest, answer: Some((status, answer)), resource: None });
    }
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

/// Where something that was made can be seen.
fn shown_at(id: &str) -> Option<String> {
    let folders = [
        (ApiKeyId::PREFIX, "api-keys"),
        (DatasetId::PREFIX, "datasets"),
        (DatasetVersionId::PREFIX, "dataset-versions"),
        (ExportId::PREFIX, "exports"),
        (FileId::PREFIX, "files"),
        (ModelId::PREFIX, "models"),
        (SuiteId::PREFIX, "suites"),
        (SuiteRunId::PREFIX, "suite-runs"),
        (SweepId::PREFIX, "sweeps"),
        (VerifierId::PREFIX, "verifiers"),
        (WebhookEndpointId::PREFIX, "webhook_endpoints"),
    ];
    let folder = folders.into_iter().find(|(prefix, _)| id.starts_with(prefix));
    folder.map(|(_, folder)| format!("/v1/{folder}/{id}"))
}

/// Answers a request that made something with what that is now.
async fn shown(path: &str, request: Request, handlers: Router) -> Response {
    let (mut parts, _) = request.into_parts();
    parts.method = Method::GET;
    parts.uri = path.parse().unwrap_or_default();
    let Ok(mut response) = handlers.oneshot(Request::from_parts(parts, Body::empty())).await;
    if response.status().is_success() {
        *response.status_mut() = StatusCode::CREATED;
        mark(&mut response);
    } else if response.status() == StatusCode::NOT_FOUND {
        let detail = "what was made with this Idempotency-Key has been deleted; use a new key to make another";
        return Problem::new(StatusCode::CONFLICT, "conflict", detail).into_response();
    }
    response
}

/// The answer to a request whose key is known: to one under way, of which there is nothing, or to one that was answered.
fn again(known: Option<Recorded>, digest: &str) -> Result<Response, Problem> {
    if known.as_ref().is_some_and(|known| known.digest != digest) {
        return Err(StoreError::KeyReused.into());
    }
    let Some((status, answer)) = known.and_then(|known| known.answer) else {
        let detail = "the request with this Idempotency-Key is still under way; ask again in a moment";
        return Err(Problem::new(StatusCode::CONFLICT, "request_in_progress", detail));
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], answer).into_response();
    mark(&mut response);
    Ok(response)
}

/// Bytes of an answer that are kept.
const MOST_KEPT: usize = 64 << 10;
/// Answers that could not be written down, as when the disk is full, and are remembered all the same.
const MOST_UNWRITTEN: usize = 1024;

/// What is known of requests, by project and key: of those under way nothing.
type Requests = BTreeMap<(String, String), Option<Recorded>>;

/// The keyed requests that are under way, and answers that could not be written down.
#[derive(Clone, Debug, Default)]
pub struct Keyed(Arc<Mutex<Requests>>);

/// A request that is under way until this is dropped.
struct Turn {
    keyed: Keyed,
    id: (String, String),
}

impl Keyed {
    /// Begins a request, unless one with its key is under way or was answered.
    fn begin(&self, project: &str, name: &str) -> Result<Turn, Option<Recorded>> {
        let id = (project.to_owned(), name.to_owned());
        let mut known = self.lock();
        if let Some(known) = known.get(&id) {
            return Err(known.clone());
        }
        known.insert(id.clone(), None);
        Ok(Turn { keyed: self.clone(), id })
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Remembers what the request was answered, which nothing else does.
    fn end(self, recorded: Recorded) {
        let mut known = self.keyed.lock();
        if known.values().flatten().count() < MOST_UNWRITTEN {
            known.insert(self.id.clone(), Some(recorded));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut known = self.keyed.lock();
        if known.get(&self.id).is_some_and(Option::is_none) {
            known.remove(&self.id);
        }
    }
}

/// An answer without what is shown once: the secret of a key, and that of a webhook endpoint.
fn kept(answer: &[u8]) -> String {
    let secret = |value: &Value| match value["object"].as_str() {
        Some("api_key") => Some("key"),
        Some("webhook_endpoint") => Some("secret"),
        _ => None,
    };
    match serde_json::from_slice::<Value>(answer) {
        Ok(mut value) => match secret(&value) {
            Some(secret) => {
                value[secret] = Value::Null;
                value.to_string()
            }
            None => String::from_utf8_lossy(answer).into_owned(),
        },
        Err(_) => String::from_utf8_lossy(answer).into_owned(),
    }
}

/// The request, and a digest of what it asks for. A body that is larger than any JSON body is known by its length, for
/// it is read only once.
async fn fingerprint(request: Request, caller: Option<ApiKeyId>) -> Result<(Request, String), Problem> {
    let (parts, body) = request.into_parts();
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let target = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    // Without a length, and beyond that of any JSON body, it is a file on its way to the disk.
    if text(header::CONTENT_LENGTH).parse::<usize>().map_or(true, |length| length > MAX_JSON_BYTES) {
        let digest = digest_of(caller, &json!([target, text(header::CONTENT_LENGTH)]));
        return Ok((Request::from_parts(parts, body), digest));
    }
    let bytes = to_bytes(body, MAX_JSON_BYTES).await.map_err(|error| {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", format!("the body cannot be read: {error}"))
    })?;
    let mut content = String::from_utf8_lossy(&bytes).into_owned();
    // The same form has another boundary each time.
    if let Some((_, boundary)) = text(header::CONTENT_TYPE).split_once("boundary=") {
        content = content.replace(boundary.trim_matches('"'), "");
    }
    let digest = digest_of(caller, &json!([target, content]));
    Ok((Request::from_parts(parts, Body::from(bytes)), digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_under_way_until_it_ends_however_it_does() {
        let keyed = Keyed::default();
        let turn = keyed.begin("p", "k").unwrap();
        assert!(matches!(keyed.begin("p", "k"), Err(None)));
        drop(keyed.begin("q", "k").unwrap());
        drop(turn);
        let turn = keyed.begin("p", "k").unwrap();
        turn.end(Recorded { digest: "sha256:00".into(), answer: Some((201, "{}".into())), resource: None });
        let Err(known) = keyed.begin("p", "k") else { panic!("the answer is forgotten") };
        assert_eq!(again(known.clone(), "sha256:00").unwrap().status(), StatusCode::CREATED);
        assert!(again(known, "sha256:01").is_err(), "with another body the key is used again");
        assert!(again(None, "sha256:00").is_err());
    }
}
