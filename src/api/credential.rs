//! What a request shows to be let in: an API key in its `Authorization` header, or else a browser's session in a cookie.
//! A browser sends its cookie with whatever makes it ask, so that one counts only where a page of this server asks, or
//! the person at the browser.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::error::Problem;
use crate::job::Timestamp;
use crate::job::digest::sha256_hex;
use crate::store::{ApiKeyRow, NewSession, Store};

const COOKIE: &str = "anneal_session";
/// Behind TLS: a name that browsers let only this host set (RFC 6265bis, section 4.1.3).
const COOKIE_OF_HOST: &str = "__Host-anneal_session";

/// What a request shows.
#[derive(Clone, Debug)]
pub enum Credential {
    Nothing,
    Key(HeaderValue),
    Session(String),
}

impl Credential {
    /// An error if it is a session and somebody else's page may have made the request.
    pub fn of(request: &Request) -> Result<Self, Problem> {
        let headers = request.headers();
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            return Ok(Self::Key(value.clone()));
        }
        let Some(session) = session(headers) else { return Ok(Self::Nothing) };
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        let ours = match site {
            Some("same-origin") => true,
            Some("none") => reads,
            Some(_) => false,
            // That an `Origin` is ours was looked at before (`host`); browsers of today send one of the two.
            None => reads || headers.contains_key(header::ORIGIN),
        };
        if !ours {
            let detail = "a session is good for pages of this server; send a key with requests of your own";
            return Err(Problem::new(StatusCode::FORBIDDEN, "origin_not_allowed", detail));
        }
        Ok(Self::Session(session))
    }

    /// The key that it stands for, whether or not that is still good.
    pub async fn key(&self, store: &Store, now: Timestamp) -> Result<ApiKeyRow, Problem> {
        let refuse = |code, detail: &str| Problem::new(StatusCode::UNAUTHORIZED, code, detail);
        match self {
            Self::Nothing => {
                let detail = "this server needs a key: send the header `Authorization: Bearer ak_...`";
                Err(refuse("missing_api_key", detail))
            }
            Self::Key(value) => {
                let secret = value.to_str().ok().and_then(bearer).ok_or_else(|| {
                    refuse("invalid_api_key", "the Authorization header must be `Bearer` and a key `ak_...`")
                })?;
                let key = store.api_key_with_digest(&sha256_hex(secret.as_bytes())).await?;
                let detail = "this key is not known here; ask who runs the server";
                key.ok_or_else(|| refuse("invalid_api_key", detail))
            }
            Self::Session(secret) => {
                let session = store.session(secret, now).await?;
                let detail = "the session has ended; sign in again";
                session.map(|session| session.key).ok_or_else(|| refuse("session_ended", detail))
            }
        }
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim()).filter(|secret| !secret.is_empty())
}

/// The session in the cookies of a request.
pub fn session(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let own = if is_behind_tls(headers) { COOKIE_OF_HOST } else { COOKIE };
    pairs.find(|(name, value)| *name == own && !value.is_empty()).map(|(_, value)| value.to_owned())
}

/// The header that gives a browser its session; `headers` are those of its request. Without a session the browser is to
/// forget the one that it has.
pub fn cookie(session: Option<(&NewSession, Timestamp)>, headers: &HeaderMap) -> Option<HeaderValue> {
    let (secret, seconds) = match session {
        Some((session, now)) => (session.secret.as_str(), (session.expires_at.0 - now.0) / 1000),
        None => ("", 0),
    };
    let (name, secure) = if is_behind_tls(headers) { (COOKIE_OF_HOST, "; Secure") } else { (COOKIE, "") };
    let cookie = format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&cookie).ok()
}

/// Whether a proxy in front says that the browser speaks TLS.
fn is_behind_tls(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|protocol| protocol == "https")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_bearer_is_read_as_rfc_6750_writes_it() {
        assert_eq!(bearer("Bearer ak_1"), Some("ak_1"));
        assert_eq!(bearer("bearer  ak_1 "), Some("ak_1"));
        for wrong in ["ak_1", "Basic ak_1", "Bearer", "Bearer "] {
            assert_eq!(bearer(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cookie_counts_where_a_page_of_ours_asks() {
        let shown = |method: &str, headers: &[(&str, &str)]| {
            let mut request = Request::builder().method(method).header("cookie", "a=b; anneal_session=as_1");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            Credential::of(&request.body(Body::empty()).unwrap())
        };
        let good: [(&str, &[(&str, &str)]); 5] = [
            ("GET", &[]),
            ("GET", &[("sec-fetch-site", "none")]),
            ("GET", &[("sec-fetch-site", "same-origin")]),
            ("POST", &[("sec-fetch-site", "same-origin")]),
            ("DELETE", &[("origin", "http://localhost:8080")]),
        ];
        for (method, headers) in good {
            assert!(
                matches!(shown(method, headers), Ok(Credential::Session(s)) if s == "as_1"),
                "{method} {headers:?}"
            );
        }
        let bad: [(&str, &[(&str, &str)]); 5] = [
            ("GET", &[("sec-fetch-site", "same-site")]),
            ("GET", &[("sec-fetch-site", "cross-site")]),
            ("POST", &[]),
            ("POST", &[("sec-fetch-site", "none")]),
            ("POST", &[("sec-fetch-site", "cross-site"), ("origin", "http://localhost:8080")]),
        ];
        for (method, headers) in bad {
            assert!(shown(method, headers).is_err(), "{method} {headers:?}");
        }
        let behind_tls = shown("GET", &[("x-forwarded-proto", "https")]);
        assert!(matches!(behind_tls, Ok(Credential::Nothing)), "another host could have set that one");
        let key = shown("POST", &[("authorization", "Bearer ak_1")]);
        assert!(matches!(key, Ok(Credential::Key(_))), "a key wins, and needs no page");
    }
    #[test]
    fn what_a_browser_is_given_it_shows_again_and_a_proxy_with_tls_makes_it_the_hosts_own() {
        let ends = Timestamp(12 * 3_600_000);
        let session = NewSession { secret: String::from("as_2"), expires_at: ends };
        for (protocol, begin, secure) in [("http", "anneal_session=", false), ("https", "__Host-anneal_session=", true)]
        {
            let mut headers = HeaderMap::from_iter([("x-forwarded-proto".parse().unwrap(), protocol.parse().unwrap())]);
            let given = cookie(Some((&session, Timestamp(0))), &headers).unwrap().to_str().unwrap().to_owned();
            assert!(given.starts_with(begin) && given.contains("; Secure") == secure, "{given}");
            headers.insert(header::COOKIE, given.split(';').next().unwrap().parse().unwrap());
            assert_eq!(super::session(&headers).as_deref(), Some("as_2"));
        }
    }
}
