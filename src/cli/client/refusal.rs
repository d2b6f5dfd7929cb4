//! What goes wrong between a client and a server, as people read it.

use std::fmt;

use serde_json::{Value, json};

/// The server said no.
#[derive(Debug)]
pub struct Refused {
    pub status: u16,
    /// The problem document.
    body: Value,
    /// The request carried a key.
    had_key: bool,
}

/// The server said nothing.
#[derive(Debug, thiserror::Error)]
#[error("no answer from {base}: {cause}{advice}")]
pub struct Unreachable {
    base: String,
    cause: String,
    advice: &'static str,
}

/// How much of an answer is shown that is not a problem document.
const SHOWN: usize = 200;

impl Refused {
    pub fn new(status: u16, bytes: &[u8], had_key: bool) -> Self {
        let body = serde_json::from_slice(bytes).ok().filter(|body: &Value| body["code"].is_string());
        // A proxy in between answers in its own way.
        let body = body.unwrap_or_else(|| {
            let text: String = String::from_utf8_lossy(bytes).chars().take(SHOWN).collect();
            let text = super::super::output::printable(text.trim());
            json!({"status": status, "code": format!("http_{status}"), "detail": format!("HTTP {status} {text}").trim()})
        });
        Self { status, body, had_key }
    }

    /// Whether the request itself is at fault, and not who sent it or when.
    pub fn blames_request(&self) -> bool {
        matches!(self.status, 400 | 409 | 413 | 422)
    }

    /// Whether the server takes parts of uploads only by itself: there is no bucket that clients reach, or it is older than
    /// such addresses.
    pub fn knows_no_direct_uploads(&self) -> bool {
        self.body["code"] == "no_direct_uploads" || self.body["code"] == "no_such_route"
    }

    /// The problem document.
    pub fn document(&self) -> &Value {
        &self.body
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Value| super::super::output::printable(value.as_str().unwrap_or_default());
        write!(f, "{} ({})", text(&self.body["detail"]), text(&self.body["code"]))?;
        let fields = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        // What is wrong with a single field is the detail already.
        for error in fields.iter().filter(|_| fields.len() > 1) {
            write!(f, "\n  {}: {} ({})", text(&error["pointer"]), text(&error["detail"]), text(&error["code"]))?;
        }
        match (self.status, self.had_key) {
            (401, false) => write!(f, "\n  this server asks for a key: `anneal login URL`, or ANNEAL_API_KEY")?,
            (401, true) => {
                write!(f, "\n  the server does not accept the key of --api-key, `anneal login` or ANNEAL_API_KEY")?
            }
            _ => {}
        }
        if let Some(request) = self.body["request_id"].as_str() {
            write!(f, "\n  request {request}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

impl Unreachable {
    /// `met` tells that the server has answered before.
    pub fn new(base: &str, met: bool, cause: &ureq::Error) -> Self {
        let advice = match cause {
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => "\n  name a server as http://host:port",
            _ if met => "\n  it has answered before; look at its log, and repeat the command when it is back",
            _ => "\n  start a server with `anneal serve`, or name a running one with --server URL or ANNEAL_SERVER",
        };
        Self { base: base.to_owned(), cause: cause.to_string(), advice }
    }

    /// In the members of a problem document.
    pub fn document(&self) -> Value {
        json!({"code": "no_answer", "detail": format!("no answer from {}: {}", self.base, self.cause)})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_fields_codes_and_the_request() {
        let error = |pointer: &str| json!({"pointer": pointer, "code": "invalid_value", "detail": "must be positive"});
        let refused = |detail: &str, errors: &[Value]| {
            let body = json!({"code": "invalid_spec", "detail": detail, "request_id": "r1", "errors": errors});
            Refused::new(422, body.to_string().as_bytes(), false)
        };
        let refused = [
            refused("/a: must be positive", &[error("/a")]),
            refused("2 fields are invalid", &[error("/a"), error("/b")]),
        ];
        let expected = "2 fields are invalid (invalid_spec)\n  /a: must be positive (invalid_value)\n  /b: must be \
                        positive (invalid_value)\n  request r1";
        assert_eq!(refused[0].to_string(), "/a: must be positive (invalid_spec)\n  request r1");
        assert_eq!(refused[1].to_string(), expected);
        let refused = &refused[0];
        assert!(refused.blames_request());
    }

    #[test]
    fn a_refused_key_is_told_from_a_missing_one() {
        let text = |had_key| Refused::new(401, br#"{"code": "unauthorized", "detail": "no"}"#, had_key).to_string();
        assert!(text(true).contains("does not accept") && text(false).contains("asks for a key"));
    }

    #[test]
    fn what_a_proxy_says_cannot_move_the_cursor() {
        let refused = Refused::new(502, b"<html>\x1b[2Jbad gateway", false);
        assert_eq!(refused.document()["code"], "http_502");
        assert!(!refused.to_string().contains('\u{1b}'), "{refused}");
    }
}
