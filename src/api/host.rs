//! Refuses requests that a web page of somebody else's could have made the user's browser send: those for a host name
//! that is not ours (DNS rebinding), and those whose `Origin` is not the host they are for (cross-site requests).

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::Problem;

/// Lets a request through when its host is a loopback name or one of `allowed`.
pub async fn check(State(allowed): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    match refusal(&request, &allowed) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn refusal(request: &Request, allowed: &[String]) -> Option<Problem> {
    let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    if request.headers().get_all(header::HOST).iter().nth(1).is_some() {
        return Some(Problem::new(StatusCode::FORBIDDEN, "host_not_allowed", "the request names more than one host"));
    }
    let host = text(header::HOST).or_else(|| request.uri().authority().map(|a| a.as_str())).unwrap_or_default();
    if !is_ours(host, allowed) {
        let detail = format!("`{host}` is not a name of this server; the operator adds names with --allowed-hosts");
        return Some(Problem::new(StatusCode::FORBIDDEN, "host_not_allowed", detail));
    }
    let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    let foreign = origin.is_some_and(|origin| origin != host);
    foreign.then(|| {
        Problem::new(StatusCode::FORBIDDEN, "origin_not_allowed", "the request comes from a page of another site")
    })
}

fn is_ours(host: &str, allowed: &[String]) -> bool {
    // `name`, `name:port`, `[v6]` or `[v6]:port`, and nothing before, between or behind (RFC 9110, 7.2).
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let port = authority.port_u16().map_or(0, |_| 1 + authority.port().map_or(0, |port| port.as_str().len()));
    if authority.host().len() + port != host.len() {
        return false;
    }
    let name = authority.host();
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let loopback = name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    loopback || name.eq_ignore_ascii_case("localhost") || allowed.iter().any(|a| a.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_and_allowed_ones_are_ours() {
        let allowed = [String::from("anneal.example")];
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:80", "[::1]", "Anneal.Example:443"] {
            assert!(is_ours(host, &allowed), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1:80",
            "[2001:db8::1]",
            "127.0.0.1.evil",
            "me@localhost",
            "localhost:",
            "localhost:80:80",
            "localhost:x",
            "localhost:99999",
            "[::1]evil",
            "localhost/x",
        ] {
            assert!(!is_ours(host, &allowed), "{host}");
        }
    }
}
