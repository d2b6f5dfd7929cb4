//! How an agent talks with its server: one connection pool, one key, and what each answer means.

use std::error::Error;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RANGE};
use reqwest::{Certificate, Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::store::{Result, StoreError};

/// Where the routes of agents begin.
const ROOT: &str = "/v1/agent";
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time without a byte of an answer: longer than a server lets wait.
const SILENCE: Duration = Duration::from_secs(40);
/// Bytes of an error that are read.
const MOST_OF_ERROR: usize = 64 << 10;

/// How a server is reached.
#[derive(Clone)]
pub struct Way {
    /// `https://host:port`.
    pub server: Url,
    /// The file with the key.
    pub token_file: Option<PathBuf>,
    /// The only authority whose certificate the server may have, in the place of the system's.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("server", &self.server.as_str()).finish_non_exhaustive()
    }
}

impl Way {
    /// Tells it to a process of this program.
    pub(super) fn tell(&self, command: &mut Command) {
        command.args(self.arguments());
    }

    /// The same as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![String::from("--server"), self.server.to_string()];
        for (name, file) in [("--token-file", &self.token_file), ("--ca-file", &self.ca_file)] {
            arguments.extend(file.iter().flat_map(|file| [name.to_owned(), file.display().to_string()]));
        }
        arguments
    }
}

/// Talks with a server.
pub struct Client {
    http: reqwest::Client,
    way: Way,
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("way", &self.way).finish_non_exhaustive()
    }
}

/// What of an error's body is read.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
}

impl Client {
    pub fn new(way: Way) -> Result<Self> {
        let wrong = |detail: String| StoreError::Conflict(detail);
        let read = |path: &Path| fs::read(path).map_err(|e| StoreError::io("reading", path, e));
        // Of several programs that choose a library for TLS the first wins, and all take the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(reqwest::redirect::Policy::limited(2))
            .user_agent(concat!("anneal-agent/", env!("CARGO_PKG_VERSION")));
        if let Some(file) = &way.ca_file {
            let bundle = Certificate::from_pem_bundle(&read(file)?);
            let bundle = bundle.map_err(|error| wrong(format!("{}: {error}", file.display())))?;
            http = http.tls_certs_only(bundle);
        }
        let authorization = match &way.token_file {
            None => None,
            Some(file) => {
                let token = String::from_utf8_lossy(&read(file)?).trim().to_owned();
                let value = HeaderValue::from_str(&format!("Bearer {token}"));
                let mut value = value.map_err(|_| wrong(format!("{} holds no key", file.display())))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let http = http.build().map_err(|error| wrong(format!("HTTP cannot be spoken: {error}")))?;
        Ok(Self { http, way, authorization })
    }

    pub fn way(&self) -> &Way {
        &self.way
    }

    /// Asks, and reads the answer; none where there is nothing yet.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<Option<T>> {
        let body = serde_json::to_vec(body).map_err(|_| Self::strange(path))?;
        let request = self.request(Method::POST, path)?.header(CONTENT_TYPE, "application/json").body(body);
        let response = self.send(request).await?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        json(path, response).await.map(Some)
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let response = self.send(self.request(Method::GET, path)?).await?;
        json(path, response).await
    }

    /// `length` bytes of what is there from `first` on.
    pub async fn range(&self, path: &str, first: u64, length: u64) -> Result<Response> {
        let mut request = self.request(Method::GET, path)?;
        if length > 0 {
            request = request.header(RANGE, format!("bytes={first}-{}", first + length - 1));
        }
        self.send(request).await
    }

    /// How long it is.
    pub async fn length(&self, path: &str) -> Result<u64> {
        let response = self.send(self.request(Method::HEAD, path)?).await?;
        let length = response.headers().get(reqwest::header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.ok_or_else(|| Self::strange(path))
    }

    pub async fn put<T: DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T> {
        let request = self.request(Method::PUT, path)?.header(CONTENT_TYPE, "application/octet-stream").body(body);
        json(path, self.send(request).await?).await
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder> {
        let url = format!("{}{ROOT}{path}", self.way.server.as_str().trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|_| Self::strange(path))?;
        let request = self.http.request(method, url);
        Ok(match &self.authorization {
            None => request,
            Some(value) => request.header(AUTHORIZATION, value.clone()),
        })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let response = request.send().await.map_err(away)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let mut text = Vec::new();
        let mut response = response;
        while let Some(chunk) = response.chunk().await.map_err(away)? {
            text.extend_from_slice(&chunk);
            if text.len() > MOST_OF_ERROR {
                break;
            }
        }
        let problem: Option<Problem> = serde_json::from_slice(&text).ok();
        let (code, detail) = match problem {
            Some(Problem { code, detail }) => (code, detail),
            None => (String::from("unknown"), format!("it answers {status}, and not as a server of anneal does")),
        };
        Err(refused(status, code, detail))
    }

    /// An answer that no server gives.
    pub fn strange(path: &str) -> StoreError {
        let detail = format!("what answers at {ROOT}{path} is no server of anneal, or one of another version");
        StoreError::Server { status: 200, code: String::from("unknown"), detail }
    }
}

/// What an answer that is an error means for a worker.
fn refused(status: StatusCode, code: String, detail: String) -> StoreError {
    match status {
        StatusCode::CONFLICT if code == "lease_lost" => StoreError::LeaseLost,
        StatusCode::INSUFFICIENT_STORAGE => StoreError::Full(detail.into()),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => StoreError::ServerAway(detail),
        _ if status.is_server_error() => StoreError::ServerAway(detail),
        _ => StoreError::Server { status: status.as_u16(), code, detail },
    }
}

pub(super) fn away(error: reqwest::Error) -> StoreError {
    let error = error.without_url();
    let detail = crate::worker::chain(&error);
    if distrusts(&error) { StoreError::Distrusted(detail) } else { StoreError::ServerAway(detail) }
}

/// Whether a certificate was refused.
fn distrusts(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        // An error of input and output has the one in it by its side, and not as its cause.
        let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = within.map_or_else(|| error.source(), |within| Some(within));
    }
    false
}

async fn json<T: DeserializeOwned>(path: &str, response: Response) -> Result<T> {
    let bytes = response.bytes().await.map_err(away)?;
    serde_json::from_slice(&bytes).map_err(|_| Client::strange(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_is_the_servers_word() {
        let refused = |status: u16, code: &str| {
            super::refused(StatusCode::from_u16(status).unwrap(), code.to_owned(), String::from("why"))
        };
        assert!(matches!(refused(409, "lease_lost"), StoreError::LeaseLost));
        assert!(matches!(refused(409, "not_your_host"), StoreError::Server { status: 409, .. }));
        assert!(matches!(refused(507, "storage_full"), StoreError::Full(_)));
        for status in [408, 429, 500, 502, 503, 504] {
            assert!(matches!(refused(status, "x"), StoreError::ServerAway(_)), "{status}");
        }
        for status in [400, 401, 403, 404, 413, 422] {
            assert!(matches!(refused(status, "x"), StoreError::Server { .. }), "{status}");
        }
    }

    #[test]
    fn a_way_is_told_as_it_was_given_and_shows_no_key() {
        let way = Way {
            server: "https://box.example:8080".parse().unwrap(),
            token_file: Some("/etc/anneal/token".into()),
            ca_file: None,
        };
        assert_eq!(way.arguments(), ["--server", "https://box.example:8080/", "--token-file", "/etc/anneal/token"]);
        assert!(!format!("{way:?}").contains("token"));
    }
}
