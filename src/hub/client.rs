//! Requests to the hub: what a repository holds at a revision, and ranges of its files.

use std::io::{self, Read};
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use ureq::http::{Method, Request, Response, header};
use ureq::{Agent, Body, SendBody};

use super::{FileDigest, HubError, HubRef, MAIN, RemoteFile, Snapshot, Token};

const CONNECT: Duration = Duration::from_secs(10);
/// Longest silence within an answer.
const SILENCE: Duration = Duration::from_secs(60);
/// How much longer that is where the hub has something to do first, such as putting the parts of a file together.
const WORK: u32 = 5;
/// Of a repository's files; the largest name some ten thousand.
const LISTING_LIMIT_BYTES: u64 = 32 << 20;
/// Of an answer to something that was sent; one that names ten thousand addresses for parts has some ten MB.
const ANSWER_LIMIT_BYTES: u64 = 32 << 20;
/// Of what an error says.
const REFUSAL_LIMIT_BYTES: u64 = 16 << 10;
const CHUNK_BYTES: usize = 256 << 10;
/// Addresses that one request is led through.
const MOST_REDIRECTS: usize = 5;
/// What is waited for when the hub asks for fewer requests and does not say until when.
const USUAL_WAIT: Duration = Duration::from_secs(5);

/// A hub, as the operator has set it.
#[derive(Clone, Debug)]
pub struct Hub {
    agent: Agent,
    endpoint: String,
    token: Option<Token>,
    offline: bool,
    silence: Duration,
}

/// Something to send.
pub(super) struct Outgoing<'a> {
    pub method: Method,
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    /// Whether the hub is shown the token, if it is the hub.
    pub with_token: bool,
    pub body: SendBody<'a>,
    /// What it is, for errors.
    pub what: &'a str,
}

/// What was answered to something that was sent.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: u16,
    pub etag: Option<String>,
    pub body: Vec<u8>,
}

impl Hub {
    /// The hub at `endpoint`; `offline` never asks it.
    pub fn new(endpoint: &str, token: Option<Token>, offline: bool) -> Self {
        Self::with_silence(endpoint, token, offline, SILENCE)
    }

    fn with_silence(endpoint: &str, token: Option<Token>, offline: bool, silence: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence))
            .max_redirects(0)
            // Of what was packed on the way no range is one of the file.
            .accept_encoding("identity")
            .user_agent(concat!("anneal/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), endpoint: endpoint.trim_end_matches('/').to_owned(), token, offline, silence }
    }

    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// What a repository holds at the revision of `reference`, which is pinned to its commit. Blocks.
    pub fn snapshot(&self, reference: &HubRef) -> Result<Snapshot, HubError> {
        #[derive(Deserialize)]
        struct Repository {
            sha: String,
            #[serde(default)]
            private: Option<bool>,
            siblings: Vec<Sibling>,
        }
        #[derive(Deserialize)]
        struct Sibling {
            rfilename: String,
            #[serde(default)]
            size: Option<u64>,
            #[serde(default, rename = "blobId")]
            blob_id: Option<String>,
            #[serde(default)]
            lfs: Option<Lfs>,
        }
        #[derive(Deserialize)]
        struct Lfs {
            #[serde(default, alias = "oid")]
            sha256: Option<String>,
            #[serde(default)]
            size: Option<u64>,
        }
        let revision = reference.revision.as_deref().unwrap_or(MAIN);
        // A revision is one part of this address.
        let kind = if reference.repository.starts_with("datasets/") { "" } else { "models/" };
        let revision = revision.replace('/', "%2F");
        let path = format!("/api/{kind}{}/revision/{revision}?blobs=true", reference.repository);
        let mut response = self.get(&path, None, &reference.to_string())?;
        let read = response.body_mut().with_config().limit(LISTING_LIMIT_BYTES).read_to_vec();
        let bytes = read.map_err(|error| unreachable(&error))?;
        let unexpected = |detail: String| HubError::Unexpected { endpoint: self.endpoint.clone(), detail };
        let found: Repository = serde_json::from_slice(&bytes).map_err(|error| unexpected(error.to_string()))?;
        if reference.at(&found.sha).commit().is_none() {
            return Err(unexpected(String::from("it names no commit")));
        }
        let file = |sibling: Sibling| {
            let sha256 = sibling.lfs.as_ref().and_then(|lfs| lfs.sha256.clone()).map(FileDigest::Sha256);
            let bytes = sibling.size.or(sibling.lfs.and_then(|lfs| lfs.size));
            let path = sibling.rfilename;
            let bytes = bytes.ok_or_else(|| unexpected(format!("it does not say how long {path} is")))?;
            Ok(RemoteFile { path, bytes, digest: sha256.or(sibling.blob_id.map(FileDigest::Git)) })
        };
        let files = found.siblings.into_iter().map(file).collect::<Result<Vec<RemoteFile>, HubError>>()?;
        Ok(Snapshot { repository: reference.repository.clone(), commit: found.sha, private: found.private, files })
    }

    /// Reads a range of a file at a commit; `sink` takes the bytes in their order and what it returns ends the reading.
    /// After an error, what came before it has been given to `sink`. Blocks.
    pub fn read(
        &self,
        (repository, commit): (&str, &str),
        path: &str,
        range: Range<u64>,
        mut sink: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), HubError> {
        if range.is_empty() {
            return Ok(());
        }
        let name = format!("hf:{repository}@{commit}: {path}");
        let path: Vec<String> = path.split('/').map(escape).collect();
        let url = format!("/{repository}/resolve/{commit}/{}", path.join("/"));
        let response = self.get(&url, Some(&range), &name)?;
        // Who does not know ranges sends the whole file.
        let mut before = if response.status().as_u16() == 206 { 0 } else { range.start };
        let mut left = range.end - range.start;
        let mut reader = response.into_body().into_reader();
        let mut chunk = vec![0; CHUNK_BYTES];
        while left > 0 {
            let most = chunk.len().min(usize::try_from(before + left).unwrap_or(usize::MAX));
            let count = match reader.read(&mut chunk[..most]) {
                Ok(0) => return Err(HubError::Unreachable(format!("{name} ended {left} bytes early"))),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(HubError::Unreachable(error.to_string())),
            };
            let skipped = before.min(count as u64);
            before -= skipped;
            let news = &chunk[skipped as usize..count];
            sink(news)?;
            left -= news.len() as u64;
        }
        Ok(())
    }

    fn get(&self, path: &str, range: Option<&Range<u64>>, what: &str) -> Result<Response<Body>, HubError> {
        if self.offline {
            return Err(HubError::Offline(what.to_owned()));
        }
        let mut url = format!("{}{path}", self.endpoint);
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.agent.get(&url);
            // Files lie elsewhere, under addresses that are signed; nobody there is shown the token.
            if let Some(Token(token)) = self.token.as_ref().filter(|_| self.is_own(&url)) {
                request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            }
            if let Some(range) = range {
                request = request.header(header::RANGE, format!("bytes={}-{}", range.start, range.end - 1));
            }
            let response = request.call().map_err(|error| unreachable(&error))?;
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            match (response.status().as_u16(), location) {
                (200 | 206, _) => return Ok(response),
                (301 | 302 | 303 | 307 | 308, Some(location)) if location.starts_with('/') => {
                    url = format!("{}{location}", origin(&url));
                }
                (301 | 302 | 303 | 307 | 308, Some(location)) => url = location.to_owned(),
                // Where it leads to, the hub's word is not meant: an address may have grown old, a proxy may be in the way.
                (status @ (400..=428 | 430..=499), _) if !self.is_own(&url) => {
                    return Err(HubError::Unreachable(format!("{} answers {status} for {what}", origin(&url))));
                }
                _ => return Err(self.refusal(response, what)),
            }
        }
        let detail = format!("{what} leads from one address to the next without end");
        Err(HubError::Unexpected { endpoint: self.endpoint.clone(), detail })
    }

    /// Sends a body and reads the answer, if its status is a success or one that is `expected`. No redirect is followed: what
    /// is sent goes to whom it is meant for, or nowhere. Blocks.
    pub(super) fn send(&self, outgoing: Outgoing<'_>, expected: fn(u16) -> bool) -> Result<Answer, HubError> {
        let Outgoing { method, url, headers, with_token, body, what } = outgoing;
        if self.offline {
            return Err(HubError::Offline(what.to_owned()));
        }
        let unexpected = |detail: String| HubError::Unexpected { endpoint: self.endpoint.clone(), detail };
        // Who meant to encrypt what goes to the hub means all of it.
        if self.endpoint.starts_with("https://") && !url.starts_with("https://") {
            return Err(unexpected(format!("{what} would be sent to {} without encryption", origin(url))));
        }
        let mut request = Request::builder().method(method).uri(url);
        let lets_in = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(Token(token)) = self.token.as_ref().filter(|_| with_token && !lets_in && self.is_own(url)) {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(name.as_str(), value.as_str());
        }
        let request = request.body(body).map_err(|error| unexpected(format!("{what}: {error}")))?;
        let request = self.agent.configure_request(request).timeout_per_read(Some(self.silence * WORK)).build();
        let mut response = self.agent.run(request).map_err(|error| unreachable(&error))?;
        let status = response.status().as_u16();
        if !(200..300).contains(&status) && !expected(status) {
            return Err(match status {
                400..=428 | 430..=499 if !self.is_own(url) => {
                    HubError::Unreachable(format!("{} answers {status} for {what}", origin(url)))
                }
                _ => self.refusal(response, what),
            });
        }
        let etag = response.headers().get(header::ETAG).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let read = response.body_mut().with_config().limit(ANSWER_LIMIT_BYTES).read_to_vec();
        Ok(Answer { status, etag, body: read.map_err(|error| unreachable(&error))? })
    }

    /// Where the hub is, without a slash at the end.
    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether an address is one of the hub itself.
    fn is_own(&self, url: &str) -> bool {
        origin(url) == origin(&self.endpoint)
    }

    /// What an answer means that is not the file. The hub says so in a header, mirrors only by the status.
    fn refusal(&self, mut response: Response<Body>, what: &str) -> HubError {
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, code) = (response.status().as_u16(), header("x-error-code").unwrap_or_default());
        let wait = header("retry-after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        let what = what.to_owned();
        match (status, code.as_str()) {
            (_, "GatedRepo") => HubError::Gated(what),
            // A repository that is not there is told from a private one to nobody.
            (_, "RepoNotFound") if self.token.is_none() => HubError::NotFound(what),
            (404, _) | (_, "RepoNotFound" | "RevisionNotFound" | "EntryNotFound") => HubError::NotFound(what),
            (401, _) => HubError::Unauthorized(what),
            (403, _) => HubError::Gated(what),
            (429, _) => HubError::RateLimited(wait.unwrap_or(USUAL_WAIT)),
            (503, _) if wait.is_some() => HubError::RateLimited(wait.unwrap_or(USUAL_WAIT)),
            (500.., _) => HubError::Unreachable(format!("it answers {status} for {what}")),
            _ => {
                let said = response.body_mut().with_config().limit(REFUSAL_LIMIT_BYTES).read_to_string();
                let said: String = said.unwrap_or_default().chars().take(200).collect();
                let detail = format!("it answers {status} for {what}: {said}");
                HubError::Unexpected { endpoint: self.endpoint.clone(), detail }
            }
        }
    }
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |end| end + 3);
    url[host..].find(['/', '?', '#']).map_or(url, |end| &url[..host + end])
}

fn unreachable(error: &ureq::Error) -> HubError {
    HubError::Unreachable(error.to_string())
}

/// A part of a URL's path or query, with everything escaped that is not plainly a character of a name.
pub fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b':');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_that_says_nothing_is_not_waited_for_without_end() {
        // Connections are taken by the system, and nobody reads them.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", silent.local_addr().unwrap());
        let hub = Hub::with_silence(&endpoint, None, false, Duration::from_millis(50));
        let error = hub.snapshot(&"hf:a/b".parse().unwrap()).unwrap_err();
        assert_eq!((error.code(), error.passes()), ("hub_unreachable", Some(Duration::ZERO)));
        let read = hub.read(("a/b", "0123"), "x", 0..1, |_| Ok(()));
        assert_eq!(read.unwrap_err().code(), "hub_unreachable");
    }

    #[test]
    fn an_origin_is_all_that_a_token_is_shown_to() {
        let origins =
            ["https://hub.example/a/b?c", "https://hub.example", "https://hub.example?x=/y", "https://hub.example#z"];
        for url in origins {
            assert_eq!(origin(url), "https://hub.example", "{url}");
        }
        for other in
            ["http://hub.example/", "https://hub.example:8443/", "https://hub.example.evil/", "https://x@hub.example/"]
        {
            assert_ne!(origin(other), "https://hub.example", "{other}");
        }
    }

    #[test]
    fn names_cannot_leave_their_place_in_a_url() {
        assert_eq!(escape("../a b/\u{fc}?x=1&y"), "..%2Fa%20b%2F%C3%BC%3Fx%3D1%26y");
        assert_eq!(escape("builtin:arith-tiny"), "builtin:arith-tiny");
    }
}
