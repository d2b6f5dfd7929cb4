//! One try of one delivery.

use std::io::Read;
use std::time::{Duration, Instant};

use ureq::Agent;

use super::format::rendered;
use crate::job::Timestamp;
use crate::outbound::{Guard, agent, refusal, sign};
use crate::store::{DueDelivery, WebhookAttempt};

/// From the look-up of the host to the last byte of the answer that is read.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer is kept.
const ANSWER_BYTES: u64 = 1024;

/// Sends messages to public addresses only.
#[derive(Clone, Debug)]
pub struct Sender {
    agent: Agent,
}

impl Sender {
    pub fn new(guard: Guard) -> Self {
        // What a connection was kept open for may not be allowed any more.
        Self { agent: agent(guard, 0) }
    }

    /// Makes one try. Blocks for up to 15 seconds.
    pub fn send(&self, delivery: &DueDelivery, now: Timestamp) -> WebhookAttempt {
        let began = Instant::now();
        let (id, seconds) = (delivery.id.to_string(), now.unix_seconds());
        let body = rendered(delivery.format, &delivery.body);
        let result = self
            .agent
            .post(&delivery.url)
            .config()
            .timeout_global(Some(TIMEOUT))
            .build()
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", sign(&delivery.secrets, &id, seconds, &body))
            .send(&*body);
        let (http_status, answer, error) = match result {
            Ok(response) => {
                let status = response.status().as_u16();
                let mut bytes = Vec::new();
                // The status counts, whether its text arrives or not.
                let read = response.into_body().into_reader().take(ANSWER_BYTES).read_to_end(&mut bytes);
                (Some(status), Some(text(&bytes)), read.err().map(|error| error.to_string()))
            }
            Err(error) => (None, None, Some(reason(&error))),
        };
        let milliseconds = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        WebhookAttempt { started_at: now, milliseconds, http_status, answer, error }
    }
}

/// What a person can read of an answer.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

fn reason(error: &ureq::Error) -> String {
    match (refusal(error), error) {
        (Some(refusal), _) => refusal.to_string(),
        (None, ureq::Error::Timeout(_)) => format!("no answer within {} seconds", TIMEOUT.as_secs()),
        (None, other) => other.to_string(),
    }
}
