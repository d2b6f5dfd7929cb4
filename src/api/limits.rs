//! How often a key may ask: a bucket of requests for each key that fills evenly. What is left stands in the headers of
//! every answer, under the names that OpenAI's clients read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::App;
use super::access::Caller;
use super::error::Problem;
use super::route::Kind;
use crate::job::ApiKeyId;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit-requests");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining-requests");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset-requests");
/// Keys that are remembered; full buckets are forgotten first.
const REMEMBERED: usize = 10_000;

/// The buckets of all keys.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    buckets: Arc<Mutex<HashMap<ApiKeyId, Bucket>>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// What a bucket says to one request.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Admission {
    admitted: bool,
    remaining: u64,
    /// Until the bucket is full, or until the next request is admitted.
    wait: Duration,
}

impl Bucket {
    /// Takes one request out of a bucket that holds `per_minute` when it is full.
    fn take(&mut self, per_minute: u64, now: Instant) -> Admission {
        let (capacity, rate) = (per_minute as f64, per_minute as f64 / 60.0);
        self.tokens = (self.tokens + now.duration_since(self.at).as_secs_f64() * rate).min(capacity);
        self.at = now;
        let admitted = self.tokens >= 1.0;
        if admitted {
            self.tokens -= 1.0;
        }
        let missing = if admitted { capacity - self.tokens } else { 1.0 - self.tokens };
        Admission { admitted, remaining: self.tokens as u64, wait: Duration::from_secs_f64(missing / rate) }
    }
}

impl Limits {
    fn take(&self, key: ApiKeyId, per_minute: u64, now: Instant) -> Admission {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, bucket| now.duration_since(bucket.at) < Duration::from_secs(60));
        }
        buckets.entry(key).or_insert(Bucket { tokens: per_minute as f64, at: now }).take(per_minute, now)
    }
}

/// What each of several servers admits. Each counts for itself: through all of them a key gets at most twice its limit, and
/// through one of up to four, as from a proxy that keeps a client with a server, at least half of it.
fn share(per_minute: u64, servers: u32) -> u64 {
    if servers <= 2 { per_minute } else { (per_minute * 2).div_ceil(u64::from(servers)) }
}

/// Refuses requests of a key that asks too often.
pub async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    // Agents ask as often as there is work.
    let caller = request.extensions().get::<Caller>().filter(|_| Kind::of(&request) != Kind::Serves).cloned();
    let Some((key, project)) = caller.and_then(|caller| Some((caller.key?, caller.project))) else {
        return next.run(request).await;
    };
    let per_minute = match app.store.project_limits(&project).await {
        Ok(limits) => limits.requests_per_minute,
        Err(error) => return Problem::from(error).into_response(),
    };
    let Some(per_minute) = per_minute else { return next.run(request).await };
    let admission = app.limits.take(key, share(per_minute, app.store.servers()), Instant::now());
    let mut response = if admission.admitted {
        next.run(request).await
    } else {
        let detail = format!("the key {key} may make {per_minute} requests a minute; wait as `Retry-After` says");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(LIMIT, HeaderValue::from(per_minute));
    headers.insert(REMAINING, HeaderValue::from(admission.remaining));
    if let Ok(reset) = HeaderValue::from_str(&format!("{:.3}s", admission.wait.as_secs_f64())) {
        headers.insert(RESET, reset);
    }
    if !admission.admitted {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(admission.wait.as_secs_f64().ceil() as u64));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_servers_admit_no_more_than_twice_the_limit() {
        for servers in 1..=64 {
            let all = share(6000, servers) * u64::from(servers);
            assert!((6000..=12_000 + u64::from(servers)).contains(&all), "{servers} servers admit {all}");
        }
        assert!(share(6000, 4) >= 3000);
    }

    #[test]
    fn a_bucket_admits_its_fill_and_then_one_at_a_time() {
        let begin = Instant::now();
        let mut bucket = Bucket { tokens: 60.0, at: begin };
        for left in (0..60).rev() {
            let admission = bucket.take(60, begin);
            assert!(admission.admitted && admission.remaining == left, "{admission:?}");
        }
        let refused = bucket.take(60, begin);
        assert_eq!((refused.admitted, refused.wait), (false, Duration::from_secs(1)));
        let later = begin + Duration::from_secs(1);
        assert!(bucket.take(60, later).admitted);
        assert!(!bucket.take(60, later).admitted);
        let much_later = later + Duration::from_secs(3600);
        assert_eq!(bucket.take(60, much_later).remaining, 59, "a bucket holds no more than a minute's requests");
    }
}
