//! Services that verifiers ask: addresses that the operator has named, with their secrets, and public ones that a
//! configuration names itself; and the client of both.
//!
//! A configuration is stored and shown, so that no secret may stand in it. Secrets lie in files that the settings name,
//! and go to the address that stands beside them in the settings and to no other.
//!
//! A request is made again, with the same `webhook-id`, when nothing came back, or what says that it may go well later.
//! Everything has a bound: what is sent and read, how often, how long, and how long between two tries.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use ureq::http::{Response, header};
use ureq::{Agent, Body};

use super::Deadline;
use super::permits::Permits;
use crate::clock;
use crate::job::webhook::Secret;
use crate::outbound::{Guard, Refusal, Target, agent, refusal, sign};

/// Of a body that is sent.
pub const MOST_REQUEST_BYTES: usize = 8 << 20;
/// Of an answer.
const MOST_ANSWER_BYTES: u64 = 4 << 20;
/// Of a file with a secret.
const MOST_SECRET_BYTES: u64 = 4096;
/// How much of what a service says about an error is told on.
const TOLD_CHARACTERS: usize = 200;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The longest that a service may ask to be left alone.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const SETTING: &str = "allow_private of a service or endpoint in [verifiers]";

/// A scoring service that the operator has named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Where cases are posted to.
    pub url: String,
    /// The file with the secret that signs, `whsec_...`; two of them, one a line, while one replaces the other.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The file with a token for `authorization: Bearer ...`.
    #[serde(default)]
    pub bearer_file: Option<PathBuf>,
    /// Networks and hosts that the address may stand for besides public ones.
    #[serde(default)]
    pub allow_private: Vec<String>,
    /// Most requests at a time of one job.
    #[serde(default = "default_concurrency")]
    pub concurrency: usize,
}

/// A server with the routes of OpenAI's chat completions that the operator has named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// What comes before `/chat/completions`, such as `https://api.example.org/v1`.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The file with the key for `authorization: Bearer ...`.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Networks and hosts that the address may stand for besides public ones.
    #[serde(default)]
    pub allow_private: Vec<String>,
    /// Most requests at a time of one job.
    #[serde(default = "default_concurrency")]
    pub concurrency: usize,
    /// Members of every request besides those that the verifier writes, which they replace.
    #[serde(default)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

fn default_concurrency() -> usize {
    8
}

/// How often and how long something is tried.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// Tries after the first.
    pub retries: u32,
    /// The longest that one lasts.
    pub each: Duration,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The deadline came first.
    Late(String),
    Failed(String),
}

/// Posts JSON to one address.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    url: String,
    secrets: Vec<Secret>,
    bearer: Option<String>,
    permits: Arc<Permits>,
}

/// What came of one try.
struct Trouble {
    detail: String,
    /// How long to wait at least before the next, where that may go well.
    passes: Option<Duration>,
}

impl Trouble {
    fn lasting(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), passes: None }
    }

    fn passing(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), passes: Some(Duration::ZERO) }
    }
}

impl Client {
    /// The client of a service; an error says what is wrong with its settings.
    pub fn of_service(service: &Service) -> Result<Self, String> {
        let secrets = service.secret_file.as_deref().map(secrets).transpose()?.unwrap_or_default();
        let bearer = service.bearer_file.as_deref().map(token).transpose()?;
        let guard = guard(&service.allow_private)?;
        Ok(Self { secrets, bearer, ..Self::at(service.url.clone(), guard, service.concurrency)? })
    }

    /// The client of a chat endpoint; an error says what is wrong with its settings.
    pub fn of_endpoint(endpoint: &Endpoint) -> Result<Self, String> {
        let bearer = endpoint.key_file.as_deref().map(token).transpose()?;
        let url = format!("{}/chat/completions", endpoint.url.trim_end_matches('/'));
        Ok(Self { bearer, ..Self::at(url, guard(&endpoint.allow_private)?, endpoint.concurrency)? })
    }

    /// The client of an address that a configuration names: only public ones, without a secret.
    pub fn of_public(url: &str) -> Result<Self, Refusal> {
        check_public(url)?;
        Ok(Self {
            agent: agent(public_only(), default_concurrency()),
            url: url.to_owned(),
            secrets: Vec::new(),
            bearer: None,
            permits: Arc::new(Permits::new(default_concurrency())),
        })
    }

    fn at(url: String, guard: Guard, concurrency: usize) -> Result<Self, String> {
        Target::of(&url).map_err(|refusal| format!("its url: {refusal}"))?;
        if !(1..=64).contains(&concurrency) {
            return Err(String::from("its concurrency must lie between 1 and 64"));
        }
        let permits = Arc::new(Permits::new(concurrency));
        Ok(Self { agent: agent(guard, concurrency), url, secrets: Vec::new(), bearer: None, permits })
    }

    /// Posts a body and gives the text of the answer. Blocks, until the deadline at most.
    pub fn post(&self, body: &str, tries: Tries, until: Deadline) -> Result<String, Failure> {
        if body.len() > MOST_REQUEST_BYTES {
            let detail = format!("a request has {} bytes; at most {MOST_REQUEST_BYTES} are sent", body.len());
            return Err(Failure::Failed(detail));
        }
        let Some(_permit) = self.permits.take(until) else {
            return Err(Failure::Late(String::from(
                "the time was over while as many requests as it takes were under way",
            )));
        };
        let id = format!("msg_{}", uuid::Uuid::new_v4().simple());
        let mut attempt = 0;
        loop {
            let Some(left) = until.left() else {
                return Err(Failure::Late(String::from("the time was over before a request was made")));
            };
            let trouble = match self.try_once(&id, body, left.min(tries.each)) {
                Ok(text) => return Ok(text),
                Err(trouble) => trouble,
            };
            let Some(wait) = trouble.passes else { return Err(Failure::Failed(trouble.detail)) };
            attempt += 1;
            let detail = format!("{} (tries: {attempt})", trouble.detail);
            if until.left().is_none() {
                return Err(Failure::Late(detail));
            }
            if attempt > tries.retries {
                return Err(Failure::Failed(detail));
            }
            if !until.pause(wait.max(pause(&id, attempt))) {
                return Err(Failure::Late(detail));
            }
        }
    }

    fn try_once(&self, id: &str, body: &str, limit: Duration) -> Result<String, Trouble> {
        let mut request = self.agent.post(&self.url).config().timeout_global(Some(limit)).build();
        request = request.header("content-type", "application/json").header("webhook-id", id);
        if !self.secrets.is_empty() {
            let seconds = clock::now().unix_seconds();
            request = request
                .header("webhook-timestamp", seconds.to_string())
                .header("webhook-signature", sign(&self.secrets, id, seconds, body));
        }
        if let Some(token) = &self.bearer {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut response = request.send(body).map_err(|error| trouble(&error, limit))?;
        if !response.status().is_success() {
            return Err(refused(&mut response));
        }
        if let Some(packing) = packing(&response) {
            let detail =
                format!("it answers in the encoding `{packing}`, and was asked for `identity`; let it pack nothing");
            return Err(Trouble::lasting(detail));
        }
        let read = response.body_mut().with_config().limit(MOST_ANSWER_BYTES).read_to_vec();
        let bytes = read.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => {
                Trouble::lasting(format!("it answers more than {MOST_ANSWER_BYTES} bytes; let it answer less"))
            }
            other => trouble(&other, limit),
        })?;
        String::from_utf8(bytes).map_err(|_| Trouble::lasting("it answers something that is no UTF-8 text"))
    }
}

/// Whether a URL that a configuration names may be one, as far as can be said without looking its host up.
pub fn check_public(url: &str) -> Result<(), Refusal> {
    let target = Target::of(url)?;
    let host = target.host.trim_start_matches('[').trim_end_matches(']');
    // A name is judged when it is connected to; till then any public address stands for it.
    let address = host.parse().unwrap_or(std::net::IpAddr::from([1, 1, 1, 1]));
    if host.eq_ignore_ascii_case("localhost") {
        return Err(public_only().not_public(&target));
    }
    public_only().admit(&target, [address])
}

fn public_only() -> Guard {
    guard(&[]).expect("a list without entries has no invalid ones")
}

fn guard(entries: &[String]) -> Result<Guard, String> {
    Guard::new(entries, SETTING).map_err(|error| format!("its allow_private: {error}"))
}

/// The secrets in a file, one a line.
fn secrets(path: &Path) -> Result<Vec<Secret>, String> {
    let text = text(path)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let read: Result<Vec<Secret>, _> = lines.map(str::parse).collect();
    match read {
        Ok(secrets) if (1..=2).contains(&secrets.len()) => Ok(secrets),
        Ok(_) => Err(format!("{} must hold one secret, or two, one a line", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// The token in a file.
fn token(path: &Path) -> Result<String, String> {
    let text = text(path)?;
    let token = text.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token { Ok(token.to_owned()) } else { Err(format!("{} holds no token on one line", path.display())) }
}

fn text(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    if fs::metadata(path).map_err(failed)?.len() > MOST_SECRET_BYTES {
        return Err(format!("{} is longer than {MOST_SECRET_BYTES} bytes", path.display()));
    }
    fs::read_to_string(path).map_err(failed)
}

/// How long to wait after a number of tries: twice as long each time up to a bound, and of that between half and all. The
/// share follows from the id, so that requests that fail together are not made again together.
fn pause(id: &str, attempt: u32) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST_PAUSE);
    let digest = Sha256::digest(format!("{id}.{attempt}").as_bytes());
    whole.mul_f64(0.5 + f64::from(digest[0]) / 512.0)
}

fn trouble(error: &ureq::Error, limit: Duration) -> Trouble {
    match (refusal(error), error) {
        // A name that is not known is not told from one that may not be asked, and may be known soon.
        (Some(refusal), _) => Trouble::passing(refusal.to_string()),
        (None, ureq::Error::Timeout(_)) => Trouble::passing(format!("no answer within {:.1} s", limit.as_secs_f64())),
        (None, ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::Protocol(_)) => {
            Trouble::passing(format!("the request failed: {error}"))
        }
        (None, other) => Trouble::lasting(format!("the request failed: {other}")),
    }
}

/// What an answer means that is no success.
fn refused(response: &mut Response<Body>) -> Trouble {
    let header = |name: header::HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
    let status = response.status().as_u16();
    if (300..400).contains(&status) {
        let to = shortened(header(header::LOCATION).unwrap_or("nowhere"));
        let detail =
            format!("it answers {status} and redirects to {to}, which is not followed; name the final address");
        return Trouble::lasting(detail);
    }
    let asked = header(header::RETRY_AFTER).and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
    // The status counts, whether its text arrives and can be read or not.
    let said = match packing(response) {
        None => response.body_mut().with_config().limit(MOST_SECRET_BYTES).lossy_utf8(true).read_to_string().ok(),
        Some(_) => None,
    };
    let said = said.map(|text| shortened(text.trim())).unwrap_or_default();
    let detail = if said.is_empty() { format!("it answers {status}") } else { format!("it answers {status}: {said}") };
    match status {
        408 | 425 | 429 | 500.. => Trouble { detail, passes: Some(asked.unwrap_or_default().min(LONGEST_WAIT)) },
        _ => Trouble::lasting(detail),
    }
}

/// What an answer is packed with. The limit on what is read counts packed bytes.
fn packing(response: &Response<Body>) -> Option<String> {
    let named = response.headers().get_all(header::CONTENT_ENCODING).iter();
    let mut named = named.map(|name| shortened(&String::from_utf8_lossy(name.as_bytes())));
    named.find(|name| !name.trim().is_empty() && !name.trim().eq_ignore_ascii_case("identity"))
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(TOLD_CHARACTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(TOLD_CHARACTERS).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::super::scripted::{Reply, Request, Scripted, fine};
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn post(server: &Scripted, retries: u32, each: Duration, limit: Duration) -> Result<String, Failure> {
        let client = Client::of_service(&server.allowed().services["here"]).unwrap();
        client.post("{}", Tries { retries, each }, Deadline::before(limit))
    }

    fn failed(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static, retries: u32) -> (String, usize) {
        let server = Scripted::start(script);
        match post(&server, retries, LONG, LONG) {
            Err(Failure::Failed(detail)) => (detail, server.requests().len()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_with_the_same_id_and_what_lasts_is_not() {
        let server = Scripted::start(|number, _| match number {
            0 => Some((500, String::new(), String::from("a moment"))),
            1 => Some((429, String::from("retry-after: 0\r\n"), String::new())),
            _ => fine("there"),
        });
        assert_eq!(post(&server, 2, LONG, LONG).unwrap(), "there");
        let ids: Vec<String> = server.requests().iter().map(|request| request.headers["webhook-id"].clone()).collect();
        assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let (detail, requests) = failed(|_, _| Some((503, String::new(), String::from("overloaded"))), 1);
        assert!(detail.contains("503: overloaded (tries: 2)"), "{detail}");
        assert_eq!(requests, 2);
        let (detail, requests) = failed(|_, _| Some((422, String::new(), String::from("no such style"))), 5);
        assert!(detail.contains("422: no such style"), "{detail}");
        assert_eq!(requests, 1);
    }

    #[test]
    fn a_redirect_is_not_followed_wherever_it_leads() {
        let target = "location: http://169.254.169.254/latest/meta-data/\r\n";
        let (detail, requests) = failed(move |_, _| Some((302, target.to_owned(), String::new())), 3);
        assert!(detail.contains("redirects to http://169.254.169.254/latest") && requests == 1, "{detail}");
    }

    #[test]
    fn a_service_that_says_nothing_is_waited_for_as_long_as_it_may_take() {
        let server = Scripted::start(|number, _| if number == 0 { None } else { fine("at last") });
        assert_eq!(post(&server, 1, Duration::from_millis(200), LONG).unwrap(), "at last");
        let silent = Scripted::start(|_, _| None);
        let began = std::time::Instant::now();
        let late = post(&silent, 10, LONG, Duration::from_secs(1));
        assert!(matches!(late, Err(Failure::Late(_))), "{late:?}");
        assert!(began.elapsed() < Duration::from_secs(30));
        let asks = Scripted::start(|_, _| Some((429, String::from("retry-after: 60\r\n"), String::new())));
        assert!(matches!(post(&asks, 1, LONG, Duration::from_secs(5)), Err(Failure::Late(_))));
    }

    #[test]
    fn an_answer_has_a_bound() {
        let (detail, _) = failed(|_, _| fine("x".repeat(5 << 20)), 0);
        assert!(detail.contains("more than 4194304 bytes"), "{detail}");
        let server = Scripted::start(|_, _| fine("there"));
        let client = Client::of_service(&server.allowed().services["here"]).unwrap();
        let body = "x".repeat(MOST_REQUEST_BYTES + 1);
        let sent = client.post(&body, Tries { retries: 0, each: LONG }, Deadline::before(LONG));
        assert!(matches!(sent, Err(Failure::Failed(_))), "{sent:?}");
        assert_eq!(server.requests().len(), 0);
    }

    /// Answers one request with zeros that are packed to a thousandth.
    fn bomb(status: &'static str) -> Service {
        const BYTES: usize = 64 << 20;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&vec![b'0'; BYTES]).unwrap();
        let packed = packed.finish().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
            let length = packed.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n");
            // Who refuses the body may be gone before it is sent.
            connection.write_all(&[head.as_bytes(), &packed].concat()).ok();
        });
        serde_json::from_value(serde_json::json!({"url": url, "allow_private": ["127.0.0.1/32"]})).unwrap()
    }

    #[test]
    fn no_more_requests_go_at_a_time_than_the_operator_lets_whoever_asks() {
        let under_way = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&under_way);
        let server = Scripted::start(move |_, _| {
            let beside = counted.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(50));
            counted.fetch_sub(1, Ordering::SeqCst);
            fine(beside)
        });
        let service = Service { concurrency: 1, ..server.allowed().services["here"].clone() };
        let client = Client::of_service(&service).unwrap();
        let ask = |limit| client.post("{}", Tries { retries: 0, each: LONG }, Deadline::before(limit));
        let answers: Vec<String> = thread::scope(|scope| {
            let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| ask(LONG).unwrap())).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        assert_eq!(answers, ["0"; 8]);
        let _held = client.permits.take(Deadline::before(LONG)).unwrap();
        assert!(matches!(ask(Duration::from_millis(50)), Err(Failure::Late(_))));
    }

    #[test]
    fn a_packed_answer_is_not_unpacked() {
        for (status, said) in [("200 X", "encoding `gzip`"), ("400 X", "it answers 400")] {
            let client = Client::of_service(&bomb(status)).unwrap();
            match client.post("{}", Tries { retries: 0, each: LONG }, Deadline::before(LONG)) {
                Err(Failure::Failed(detail)) => assert!(detail.contains(said) && detail.len() < 200, "{detail}"),
                other => panic!("{status}: {:?}", other.map(|text| text.len())),
            }
        }
    }

    #[test]
    fn requests_carry_what_the_operators_files_hold_and_nothing_without_them() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, bearer) = (folder.path().join("secret"), folder.path().join("bearer"));
        fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        fs::write(&bearer, "t0k3n\n").unwrap();
        let server = Scripted::start(|_, _| fine("there"));
        let plain = server.allowed().services["here"].clone();
        let service = Service { secret_file: Some(secret.clone()), bearer_file: Some(bearer.clone()), ..plain.clone() };
        let tries = Tries { retries: 0, each: LONG };
        Client::of_service(&service).unwrap().post("{\"a\": 1}", tries, Deadline::before(LONG)).unwrap();
        Client::of_service(&plain).unwrap().post("{}", tries, Deadline::before(LONG)).unwrap();
        let [signed, unsigned] = server.requests().try_into().unwrap();
        let seconds = signed.headers["webhook-timestamp"].parse().unwrap();
        let secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap()];
        let expected = sign(&secrets, &signed.headers["webhook-id"], seconds, "{\"a\": 1}");
        assert_eq!(signed.headers["webhook-signature"], expected);
        assert_eq!(signed.headers["authorization"], "Bearer t0k3n");
        assert!(!unsigned.headers.contains_key("webhook-signature") && !unsigned.headers.contains_key("authorization"));
        for (path, text) in [(&secret, "no secret"), (&secret, ""), (&bearer, "two words"), (&bearer, "")] {
            let kept = fs::read(path).unwrap();
            fs::write(path, text).unwrap();
            assert!(Client::of_service(&service).unwrap_err().contains(path.to_str().unwrap()));
            fs::write(path, kept).unwrap();
        }
        let absent = Service { secret_file: Some(folder.path().join("absent")), ..plain };
        assert!(Client::of_service(&absent).unwrap_err().contains("absent"));
    }

    #[test]
    fn an_address_that_a_configuration_names_is_public() {
        for url in ["https://169.254.169.254/", "https://[::1]/", "https://localhost/", "https://10.0.0.1/"] {
            assert_eq!(check_public(url).unwrap_err().code(), "no_public_address", "{url}");
        }
        for url in ["http://example.org/", "https://example.org:22/"] {
            assert_eq!(check_public(url).unwrap_err().code(), "insecure_url", "{url}");
        }
        assert_eq!(check_public("ftp://example.org/").unwrap_err().code(), "invalid_url");
        assert_eq!(check_public("https://example.org/score"), Ok(()));
        // What stands behind a name is judged when it is connected to.
        let client = Client::of_public("https://2130706433/").unwrap();
        let refused = client.post("{}", Tries { retries: 0, each: LONG }, Deadline::before(LONG));
        assert!(
            matches!(&refused, Err(Failure::Failed(detail)) if detail.contains("no public address")),
            "{refused:?}"
        );
    }

    #[test]
    fn pauses_grow_to_a_bound_and_differ_between_requests() {
        let pauses: Vec<Duration> = (1..=40).map(|attempt| pause("msg_1", attempt)).collect();
        assert!(pauses[0] >= FIRST_PAUSE / 2 && pauses.iter().all(|pause| *pause <= LONGEST_PAUSE));
        assert!(pauses[39] >= LONGEST_PAUSE / 2);
        assert_eq!(pauses[0], pause("msg_1", 1));
        assert!((0..20).any(|n| pause(&format!("msg_{n}"), 1) != pauses[0]));
    }
}
