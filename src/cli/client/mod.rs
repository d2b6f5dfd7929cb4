//! A client of the public API, as anyone could write it: requests that are repeated where that is safe, event streams
//! that survive a lost connection, and downloads that go on where they stopped and are checked.

mod archive;
mod download;
mod refusal;
mod stream;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use ureq::http::{Request, Response, header};
use ureq::{Agent, AsSendBody, SendBody};

pub use crate::hub::escape;
pub use download::Downloaded;
pub use refusal::{Refused, Unreachable};
pub use stream::{End, body};

/// Failures in a row that are borne of a server that has answered before: about 45 s in all.
const MOST_FAILURES: u32 = 8;
/// Of a server that has never answered: it may just be starting, but is more likely not there.
const MOST_FAILURES_AT_FIRST: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A server that asks for more time than this gets its answer shown instead.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Longest silence within an answer. Waiting requests take 300 s at most.
const SILENCE: Duration = Duration::from_secs(330);
/// Largest answer that is read into memory.
const MOST_ANSWER_BYTES: u64 = 1 << 30;

/// What lets a client in. Never shown.
#[derive(Clone)]
pub struct ApiKey(pub String);

impl ApiKey {
    /// What a flag, a variable or a line says; nothing but blanks is none, which CI systems set for what they lack.
    pub fn given(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

/// A connection to a server.
pub struct Client {
    agent: Agent,
    base: String,
    key: Option<ApiKey>,
    /// Whether requests are repeated at all.
    patient: bool,
    /// The server has answered before.
    met: AtomicBool,
}

/// When a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    /// It changes nothing, or the server knows it again by its idempotency key.
    Always,
    /// Only when it did not reach the server, or the server turned it away.
    Unserved,
    Never,
}

/// Where the body of an upload comes from.
#[derive(Clone, Debug)]
pub enum Source {
    File(PathBuf),
    /// Can be read only once, so that an upload from it is never repeated.
    Stdin,
}

/// An answer that was read to its end.
struct Answer {
    status: u16,
    retry_after: Option<Duration>,
    bytes: Vec<u8>,
}

impl Client {
    pub fn new(base: &str) -> Self {
        Self::with_key(base, None)
    }

    /// A client that shows `key` with every request.
    /// The server's address.
    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn with_key(base: &str, key: Option<ApiKey>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_per_read(Some(SILENCE))
            .user_agent(concat!("anneal/", env!("CARGO_PKG_VERSION")))
            .build();
        Self::from_agent(config.into(), base, key, true)
    }

    /// A client whose requests end within `limit`, are never repeated, and go to the server itself, whatever proxy the
    /// environment names.
    pub fn impatient(base: &str, limit: Duration) -> Self {
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(limit)).proxy(None).build();
        Self::from_agent(config.into(), base, None, false)
    }

    fn from_agent(agent: Agent, base: &str, key: Option<ApiKey>, patient: bool) -> Self {
        Self { agent, base: base.trim_end_matches('/').to_owned(), key, patient, met: AtomicBool::new(false) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.json(&self.ask("GET", path, None, None)?)
    }

    /// The text of an answer that is not JSON.
    pub fn text(&self, path: &str) -> anyhow::Result<String> {
        String::from_utf8(self.bytes(path)?).context("the server's answer is not text")
    }

    /// An answer as it is.
    pub fn bytes(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        let answer = self.ask("GET", path, None, None)?;
        if answer.status >= 400 {
            self.json(&answer)?;
        }
        Ok(answer.bytes)
    }

    /// Posts under an idempotency key of its own, so that a lost answer can be asked for again.
    pub fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.post_once(path, body, None)
    }

    /// Posts under the given idempotency key: however often it is called, even by several programs, the server does
    /// it once.
    pub fn post_once(&self, path: &str, body: &Value, key: Option<&str>) -> anyhow::Result<Value> {
        let key = key.map_or_else(fresh_key, str::to_owned);
        self.json(&self.ask("POST", path, Some(body), Some(&key))?)
    }

    /// The same without a body.
    pub fn post_empty(&self, path: &str, key: Option<&str>) -> anyhow::Result<Value> {
        let key = key.map_or_else(fresh_key, str::to_owned);
        self.json(&self.ask("POST", path, None, Some(&key))?)
    }

    pub fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.json(&self.ask("PATCH", path, Some(body), None)?)
    }

    pub fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.json(&self.ask("DELETE", path, None, None)?)
    }

    /// Posts JSON Lines. `bar` shows how much has been sent.
    pub fn upload(&self, path: &str, source: &Source, key: Option<&str>, bar: &ProgressBar) -> anyhow::Result<Value> {
        self.upload_up_to(u64::MAX, path, source, key, bar)
    }

    /// The same with the first `most` bytes, for those who look at the beginning.
    pub fn upload_up_to(
        &self,
        most: u64,
        path: &str,
        source: &Source,
        key: Option<&str>,
        bar: &ProgressBar,
    ) -> anyhow::Result<Value> {
        let (length, repeat) = match source {
            Source::File(file) => {
                let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
                (Some(opened.metadata()?.len().min(most)), Repeat::Unserved)
            }
            Source::Stdin => (None, Repeat::Never),
        };
        let key = key.map_or_else(fresh_key, str::to_owned);
        let answer = self.persist(repeat, || {
            bar.reset();
            if let Some(length) = length {
                bar.set_length(length);
            }
            let body = match source {
                Source::File(file) => SendBody::from_owned_reader(bar.wrap_read(File::open(file)?.take(most))),
                Source::Stdin => SendBody::from_owned_reader(bar.wrap_read(std::io::stdin().take(most))),
            };
            let mut request = self.request("POST", path).header(header::CONTENT_TYPE, "application/octet-stream");
            request = request.header("idempotency-key", &key);
            if let Some(length) = length {
                request = request.header(header::CONTENT_LENGTH, length);
            }
            Answer::read(self.agent.run(request.body(body)?)?)
        });
        bar.finish_and_clear();
        self.json(&answer?)
    }

    /// Sends a part of an upload, straight to the bucket where the server has one that clients reach; the part.
    pub fn send_part(&self, upload: &str, bytes: &[u8]) -> anyhow::Result<Value> {
        let upload = format!("/v1/uploads/{}", escape(upload));
        match self.post(&format!("{upload}/direct-parts"), &json!({"bytes": bytes.len()})) {
            Ok(part) => match self.put(part["url"].as_str().unwrap_or_default(), bytes) {
                Ok(()) => Ok(part),
                // From here the bucket may be out of reach, or let in nobody who writes.
                Err(error) => {
                    eprintln!("a part goes through the server instead: {error:#}");
                    self.send_form(&format!("{upload}/parts"), "data", bytes)
                }
            },
            Err(error) if error.downcast_ref::<Refused>().is_some_and(Refused::knows_no_direct_uploads) => {
                self.send_form(&format!("{upload}/parts"), "data", bytes)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends bytes to a signed address, which is shown no key.
    fn put(&self, address: &str, bytes: &[u8]) -> anyhow::Result<()> {
        // What is behind the path lets others in.
        let place = address.split('?').next().unwrap_or_default();
        let answer = self.persist(Repeat::Always, || Answer::read(self.agent.run(Request::put(address).body(bytes)?)?));
        let answer = answer.with_context(|| format!("no answer from the object storage at {place}"))?;
        let said = String::from_utf8_lossy(&answer.bytes);
        anyhow::ensure!(answer.status < 300, "the object storage at {place} answers {}: {said}", answer.status);
        Ok(())
    }

    /// Posts a form with one field that is a file, under an idempotency key of its own.
    fn send_form(&self, path: &str, field: &str, bytes: &[u8]) -> anyhow::Result<Value> {
        let key = fresh_key();
        // Nothing that a file holds by chance.
        let boundary = format!("anneal-{key}");
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{field}\"\r\nContent-Type: \
             application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), bytes, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
        let answer = self.persist(Repeat::Always, || {
            let kind = format!("multipart/form-data; boundary={boundary}");
            let request = self.request("POST", path).header(header::CONTENT_TYPE, kind);
            Answer::read(self.agent.run(request.header("idempotency-key", &key).body(&body[..])?)?)
        });
        self.json(&answer?)
    }

    /// A request with what every request carries.
    fn request(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        let request = Request::builder().method(method).uri(self.url(path));
        match &self.key {
            Some(key) => request.header(header::AUTHORIZATION, format!("Bearer {}", key.0)),
            None => request,
        }
    }

    /// Sends a request once and leaves the answer's body to be read; for answers that are too long to be kept. A read
    /// that takes longer than `silence` fails.
    fn open(
        &self,
        request: Request<impl AsSendBody>,
        silence: Duration,
        limit: Option<Duration>,
    ) -> Result<Response<ureq::Body>, ureq::Error> {
        let request = self.agent.configure_request(request);
        let request = request.timeout_per_read(Some(silence)).timeout_global(limit).build();
        let response = self.agent.run(request)?;
        self.met.store(true, Ordering::Relaxed);
        Ok(response)
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> anyhow::Result<Answer> {
        self.persist(Repeat::Always, || {
            let mut request = self.request(method, path);
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
            let response = match body {
                Some(body) => {
                    let request = request.header(header::CONTENT_TYPE, "application/json");
                    self.agent.run(request.body(body.to_string())?)?
                }
                None => self.agent.run(request.body(())?)?,
            };
            Answer::read(response)
        })
    }

    /// Repeats a request until it is answered, as often as is safe and sensible.
    fn persist(
        &self,
        repeat: Repeat,
        mut request: impl FnMut() -> Result<Answer, ureq::Error>,
    ) -> anyhow::Result<Answer> {
        let mut failures = 0;
        loop {
            let result = request();
            if result.is_ok() {
                self.met.store(true, Ordering::Relaxed);
            }
            let met = self.met.load(Ordering::Relaxed);
            let most = if met { MOST_FAILURES } else { MOST_FAILURES_AT_FIRST };
            let more = self.patient && failures < most;
            let wait = match result {
                Ok(answer) if more && repeat != Repeat::Never && is_passing(answer.status) => {
                    match answer.retry_after {
                        Some(wait) if wait > LONGEST_RETRY_AFTER => return Ok(answer),
                        wait => wait.unwrap_or_else(|| pause(failures)),
                    }
                }
                Ok(answer) => return Ok(answer),
                Err(error) if more && repeat.after(&error) => pause(failures),
                Err(error) => return Err(Unreachable::new(&self.base, met, &error).into()),
            };
            failures += 1;
            std::thread::sleep(wait);
        }
    }

    /// The JSON of an answer; an error answer becomes [`Refused`].
    fn json(&self, answer: &Answer) -> anyhow::Result<Value> {
        if answer.status >= 400 {
            return Err(Refused::new(answer.status, &answer.bytes, self.key.is_some()).into());
        }
        if answer.bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.bytes)
            .with_context(|| format!("what answers at {} is not an Anneal server: its answer is not JSON", self.base))
    }

    /// The refusal that a response is.
    fn refusal(&self, response: Response<ureq::Body>) -> anyhow::Error {
        match Answer::read(response) {
            Ok(answer) => Refused::new(answer.status, &answer.bytes, self.key.is_some()).into(),
            Err(error) => Unreachable::new(&self.base, true, &error).into(),
        }
    }
}

impl Answer {
    fn read(mut response: Response<ureq::Body>) -> Result<Self, ureq::Error> {
        let status = response.status().as_u16();
        let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        let bytes = response.body_mut().with_config().limit(MOST_ANSWER_BYTES).read_to_vec()?;
        Ok(Self { status, retry_after, bytes })
    }
}

impl Repeat {
    fn after(self, error: &ureq::Error) -> bool {
        let unsent = match error {
            ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
            ureq::Error::Timeout(phase) => matches!(phase, ureq::Timeout::Connect | ureq::Timeout::Resolve),
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
            _ => false,
        };
        let lost = matches!(error, ureq::Error::Io(_) | ureq::Error::Timeout(_) | ureq::Error::Protocol(_));
        match self {
            Self::Always => unsent || lost,
            Self::Unserved => unsent,
            Self::Never => false,
        }
    }
}

/// Whether an answer says that the same request may do better later. 502 and 504 are what proxies say of a server that
/// restarts.
fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// How long to wait after so many failures: twice as long each time, and not all clients at once.
fn pause(failures: u32) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE);
    let share = u32::from(uuid::Uuid::new_v4().as_bytes()[0]);
    full / 2 + full * share / 512
}

fn fresh_key() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A path with a query of those parameters that have a value.
pub fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| Some(format!("{name}={}", escape(value.as_ref()?))));
    let query = given.collect::<Vec<_>>().join("&");
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit() {
        for failures in 0..40 {
            let full = FIRST_PAUSE.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE);
            let wait = pause(failures);
            assert!(wait >= full / 2 && wait <= full, "{failures}: {wait:?}");
        }
    }

    #[test]
    fn what_may_have_been_served_is_repeated_only_when_that_is_safe() {
        let refused = || ureq::Error::Io(std::io::ErrorKind::ConnectionRefused.into());
        let cut = || ureq::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        let expected = [(Repeat::Always, true, true), (Repeat::Unserved, true, false), (Repeat::Never, false, false)];
        for (repeat, after_refused, after_cut) in expected {
            assert_eq!((repeat.after(&refused()), repeat.after(&cut())), (after_refused, after_cut), "{repeat:?}");
            assert!(!repeat.after(&ureq::Error::BadUri(String::new())));
        }
    }

    #[test]
    fn parameters_without_a_value_are_left_out() {
        let query = with_query("/v1/jobs", &[("status", Some(String::from("a b"))), ("after", None)]);
        assert_eq!(query, "/v1/jobs?status=a%20b");
        assert_eq!(with_query("/v1/jobs", &[("after", None)]), "/v1/jobs");
    }

    #[test]
    fn a_key_is_not_shown() {
        assert!(!format!("{:?}", ApiKey(String::from("secret"))).contains("secret"));
    }
}
