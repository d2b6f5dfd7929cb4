//! What the caller of a request may do.
//!
//! Until the first key is made, whoever reaches a server on a loopback address may do everything, in the project
//! `default`. From the first key on, every request needs one; revoking all keys does not open the server again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::App;
pub use super::caller::{Access, Administered, Agent, Caller};
use super::credential::Credential;
use super::error::Problem;
use super::route::Kind;
use super::strangers::Connection;
use crate::clock;
use crate::job::Scope;
use crate::store::Store;

/// How often an open server looks for a first key that was made beside it.
const LOOK: Duration = Duration::from_millis(500);
/// How often the key of a request that lasts is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Bytes that are sent without looking again.
const SHORT: u64 = 1 << 20;

/// Whether requests without a key are admitted.
#[derive(Clone, Debug)]
pub struct AnonymousAccess {
    allowed: Arc<AtomicBool>,
}

impl AnonymousAccess {
    /// Allowed until there is a key, and then never again. Without `may_allow`, as for a server that others can reach, it
    /// is forbidden from the start.
    pub fn start(store: Store, may_allow: bool, mut shutdown: watch::Receiver<bool>) -> Self {
        let allowed = Arc::new(AtomicBool::new(may_allow));
        let anonymous = Self { allowed: Arc::clone(&allowed) };
        if may_allow {
            tokio::spawn(async move {
                while allowed.load(Ordering::Acquire) && !*shutdown.borrow() {
                    match store.has_api_keys().await {
                        Ok(false) => {}
                        Ok(true) => allowed.store(false, Ordering::Release),
                        Err(error) => tracing::warn!(%error, "keys cannot be looked for"),
                    }
                    // An error means that the time is up.
                    drop(tokio::time::timeout(LOOK, shutdown.changed()).await);
                }
            });
        }
        anonymous
    }

    pub fn forbid(&self) {
        self.allowed.store(false, Ordering::Release);
    }

    fn is_allowed(&self) -> bool {
        self.allowed.load(Ordering::Acquire)
    }
}

/// Lets a request through when its caller may make it, and puts the caller beside it. What lasts, such as a stream, a wait,
/// an upload or a download, ends when the caller may no longer do it.
pub async fn check(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let Some(scope) = Kind::of(&request).scope(request.method()) else {
        return next.run(request).await;
    };
    let (shown, admitted) = match Credential::of(&request) {
        Ok(shown) => (shown.clone(), admit(&app, &shown, scope).await),
        Err(problem) => (Credential::Nothing, Err((problem, None))),
    };
    match admitted {
        Ok(caller) => {
            let connection = request.extensions().get::<Arc<Connection>>().cloned();
            connection.iter().for_each(|connection| connection.welcome());
            request.extensions_mut().insert(caller.clone());
            let begun = Instant::now();
            let mut response = if !Kind::of(&request).changes(request.method()) {
                tokio::select! {
                    biased;
                    response = next.run(request) => response,
                    problem = withdrawn(&app, &shown, scope, begun) => problem.into_response(),
                }
            } else if is_short(request.body()) {
                // A change is made whole; what ends is the arrival of what it is to be made of.
                next.run(request).await
            } else {
                let (app, shown) = (app.clone(), shown.clone());
                let end = async move { withdrawn(&app, &shown, scope, begun).await };
                next.run(request.map(|body| until(body, end.boxed()))).await
            };
            response.extensions_mut().insert(caller);
            match connection {
                Some(connection) if !is_short(response.body()) => {
                    let end = async move { drop(withdrawn(&app, &shown, scope, begun).await) };
                    with_connection(response, connection, end)
                }
                _ => response,
            }
        }
        Err((problem, caller)) => {
            let unauthorized = problem.status == StatusCode::UNAUTHORIZED;
            let mut response = problem.into_response();
            if let Some(caller) = caller {
                response.extensions_mut().insert(caller);
            }
            if unauthorized {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

/// A refusal, and whose it is where that is known.
type Refusal = (Problem, Option<Caller>);

/// Ends when whoever was admitted would be no more: the key was revoked, has expired, or is the first one that there is.
/// They were admitted at `begun`.
async fn withdrawn(app: &App, shown: &Credential, scope: Scope, begun: Instant) -> Problem {
    let mut looks = interval_at(begun + LOOK_AGAIN, LOOK_AGAIN);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        match admit(app, shown, scope).await {
            Err((problem, _)) if problem.status.is_client_error() => return problem,
            // A database that does not answer takes nobody's rights.
            Ok(_) | Err(_) => {}
        }
    }
}

/// Whether a body is here, or sent, before anybody looks again.
fn is_short(body: &Body) -> bool {
    body.size_hint().exact().is_some_and(|size| size <= SHORT)
}

/// A body that breaks off when `end` is there.
fn until(body: Body, end: impl Future<Output = Problem> + Send + Unpin + 'static) -> Body {
    let chunks = stream::unfold(Some((body.into_data_stream(), end)), async |state| {
        let (mut chunks, mut end) = state?;
        tokio::select! {
            biased;
            problem = &mut end => Some((Err(axum::Error::new(io::Error::other(problem.code))), None)),
            chunk = chunks.next() => chunk.map(|chunk| (chunk, Some((chunks, end)))),
        }
    });
    // Whoever refuses a body reads on behind its end.
    Body::from_stream(chunks.fuse())
}

/// An answer whose connection is closed when `end` is there, whether or not its client reads.
fn with_connection(
    mut response: Response,
    connection: Arc<Connection>,
    end: impl Future<Output = ()> + Send + 'static,
) -> Response {
    if let (Some(size), false) =
        (response.body().size_hint().exact(), response.headers().contains_key(header::CONTENT_LENGTH))
    {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    }
    let mut watch = JoinSet::new();
    watch.spawn(async move {
        end.await;
        connection.send_away();
    });
    // With the last of the body the watch ends.
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let _while_it_lasts = &watch;
            chunk
        }))
    })
}

async fn admit(app: &App, shown: &Credential, scope: Scope) -> Result<Caller, Refusal> {
    if app.anonymous.is_allowed() {
        return Ok(Caller::anonymous());
    }
    let now = clock::now();
    let key = shown.key(&app.store, now).await.map_err(|problem| (problem, None))?;
    let operates = key.scopes.contains(&Scope::Operator);
    let runs_code = key.scopes.contains(&Scope::Code);
    let caller = Caller { project: key.project.clone(), key: Some(key.id), operates, runs_code };
    if !key.is_usable(now) {
        let (code, what) = match key.revoked_at {
            Some(_) => ("api_key_revoked", "revoked"),
            None => ("api_key_expired", "expired"),
        };
        let detail = format!("the key {} is {what}; make another with `anneal keys create`", key.id);
        return Err((Problem::new(StatusCode::UNAUTHORIZED, code, detail), Some(caller)));
    }
    let may = key.scopes.contains(&scope) || (operates && scope == Scope::Admin);
    if !may {
        let detail = format!("the key {} lacks the scope `{scope}` that this request needs", key.id);
        return Err((Problem::new(StatusCode::FORBIDDEN, "insufficient_scope", detail), Some(caller)));
    }
    if let Err(error) = app.store.touch_api_key(&key, now).await {
        // A full disk must not keep anyone from reading.
        tracing::warn!(%error, "the use of a key could not be noted");
    }
    Ok(caller)
}
