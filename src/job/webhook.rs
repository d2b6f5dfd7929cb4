//! Webhooks without any I/O: which events are told, what a message looks like, and the secret that signs it.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::status::names;
use super::{Event, EventBody, EventKind, FieldError, JobStatus, Timestamp};

/// The type of what a client sends itself to see whether its receiver works.
pub const TEST: &str = "webhook.test";
/// Subscribes to everything.
pub const ALL: &str = "*";
/// How long the secret before the last rotation signs beside the one after it.
pub const ROTATION_SECONDS: u64 = 24 * 3600;

const SECRET_PREFIX: &str = "whsec_";

names!(
    /// What webhooks tell.
    WebhookEvent {
        /// A job entered the queue, or went back to it.
        JobQueued = "job.queued",
        JobStarting = "job.starting",
        JobRunning = "job.running",
        JobPausing = "job.pausing",
        JobPaused = "job.paused",
        JobCancelling = "job.cancelling",
        JobSucceeded = "job.succeeded",
        JobFailed = "job.failed",
        JobCancelled = "job.cancelled",
        /// A checkpoint became complete and visible.
        CheckpointCreated = "checkpoint.created",
        /// Held-out accuracy was measured.
        EvaluationCompleted = "evaluation.completed",
        /// A rollout set became complete and visible.
        RolloutSetCreated = "rollout_set.created",
    }
);

names!(
    /// How a message is written.
    WebhookFormat {
        /// All that is known, as JSON, signed.
        Standard = "standard",
        /// A sentence, for a Slack channel.
        Slack = "slack",
        /// A sentence, for a Discord channel.
        Discord = "discord",
    }
);

names!(
    /// What became of a message to one endpoint.
    DeliveryStatus {
        /// It is sent, or sent again, when its time comes.
        Pending = "pending",
        /// The receiver answered with 2xx.
        Succeeded = "succeeded",
        /// All tries were in vain.
        Failed = "failed",
    }
);

/// What an endpoint gets that says nothing.
impl Default for WebhookFormat {
    fn default() -> Self {
        Self::Standard
    }
}

impl WebhookEvent {
    /// The kinds of events of which something is told.
    pub const KINDS: &'static [EventKind] =
        &[EventKind::Status, EventKind::Checkpoint, EventKind::Evaluation, EventKind::RolloutSet];

    /// What is told of an event in a job's log; nothing of most.
    pub fn of(event: &EventBody) -> Option<Self> {
        match event {
            EventBody::Status(change) => Some(Self::of_status(change.status)),
            EventBody::Checkpoint(_) => Some(Self::CheckpointCreated),
            EventBody::Evaluation(_) => Some(Self::EvaluationCompleted),
            EventBody::RolloutSet(_) => Some(Self::RolloutSetCreated),
            EventBody::Phase(_) | EventBody::Progress(_) | EventBody::Metrics(_) | EventBody::Log(_) => None,
        }
    }

    fn of_status(status: JobStatus) -> Self {
        match status {
            JobStatus::Queued => Self::JobQueued,
            JobStatus::Starting => Self::JobStarting,
            JobStatus::Running => Self::JobRunning,
            JobStatus::Pausing => Self::JobPausing,
            JobStatus::Paused => Self::JobPaused,
            JobStatus::Cancelling => Self::JobCancelling,
            JobStatus::Succeeded => Self::JobSucceeded,
            JobStatus::Failed => Self::JobFailed,
            JobStatus::Cancelled => Self::JobCancelled,
        }
    }

    /// Whether an endpoint with this list of types is told.
    pub fn is_in(self, subscribed: &[String]) -> bool {
        subscribed.iter().any(|name| name == ALL || name == self.as_str())
    }
}

/// Checks the list of types of an endpoint.
pub fn check_subscriptions(subscribed: &[String], pointer: &str) -> Vec<FieldError> {
    if subscribed.is_empty() || subscribed.len() > WebhookEvent::ALL.len() {
        let detail = format!("name 1 to {} types, or [\"{ALL}\"] for all of them", WebhookEvent::ALL.len());
        return vec![FieldError::new(pointer, "out_of_range", detail)];
    }
    let known: Vec<&str> = WebhookEvent::ALL.iter().map(|event| event.as_str()).collect();
    let unknown = subscribed.iter().enumerate().filter(|(_, name)| *name != ALL && !known.contains(&name.as_str()));
    unknown
        .map(|(i, name)| {
            let name: String = name.chars().take(80).collect();
            let detail = format!("`{name}` is no type of event; there are: {ALL}, {}", known.join(", "));
            FieldError::new(format!("{pointer}/{i}"), "unknown_value", detail)
        })
        .collect()
}

/// The body of a message about an event, with the job as it is when the message is made.
pub fn message(kind: WebhookEvent, event: &Event, job: &Value) -> String {
    let data = json!({
        "event": {
            "id": event.id,
            "object": "event",
            "job": event.job,
            "seq": event.seq,
            "type": event.body.kind(),
            "created_at": event.created_at.rfc3339(),
            "level": event.level,
            "message": event.message,
            "data": event.body,
        },
        "job": job,
    });
    body(kind.as_str(), event.created_at, &data)
}

/// The body of a message that only asks for an answer.
pub fn test_message(endpoint: super::WebhookEndpointId, now: Timestamp) -> String {
    body(TEST, now, &json!({"webhook_endpoint": endpoint}))
}

fn body(kind: &str, at: Timestamp, data: &Value) -> String {
    json!({"type": kind, "timestamp": at.rfc3339(), "data": data}).to_string()
}

/// What a receiver checks signatures with: `whsec_` and the base64 of 32 bytes. Logs never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Text that is no secret of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a secret of the form {SECRET_PREFIX}<base64>")]
pub struct InvalidSecret;

impl Secret {
    pub fn from_key(key: &[u8; 32]) -> Self {
        Self(format!("{SECRET_PREFIX}{}", STANDARD.encode(key)))
    }

    /// The bytes that sign.
    pub fn key(&self) -> Vec<u8> {
        let text = self.0.trim_start_matches(SECRET_PREFIX);
        STANDARD.decode(text).expect("a secret is only made of 32 bytes or of a text that was decoded once")
    }

    /// The text for its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        let encoded = text.strip_prefix(SECRET_PREFIX).ok_or(InvalidSecret)?;
        STANDARD.decode(encoded).map(|_| Self(text.to_owned())).map_err(|_| InvalidSecret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SECRET_PREFIX}...")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_a_job_is_told_under_its_name() {
        for status in JobStatus::ALL {
            assert_eq!(WebhookEvent::of_status(*status).as_str(), format!("job.{status}"));
        }
    }

    #[test]
    fn what_is_told_is_of_the_kinds_that_are_looked_at() {
        let texts = [
            (EventKind::Status, r#"{"status":"queued","reason":"submitted"}"#),
            (EventKind::Phase, r#"{"phase":"loading","step":0}"#),
            (EventKind::Progress, r#"{"phase":"sampling","done":1,"total":2,"unit":"completions"}"#),
            (EventKind::Metrics, r#"{"step":1,"values":{}}"#),
            (
                EventKind::Evaluation,
                r#"{"step":0,"prompts":1,"samples":1,"pass_at":[],"reward_mean":0,"tokens_mean":0,"truncated":0}"#,
            ),
            (
                EventKind::Checkpoint,
                r#"{"checkpoint":"ckpt_0198f6c2a7d47e0c8f6f0d9f0e6b5a31","kind":"training","step":1,"bytes":1}"#,
            ),
            (
                EventKind::RolloutSet,
                r#"{"rollout_set":"rs_0198f6c2a7d47e0c8f6f0d9f0e6b5a31","rollouts":1,"groups":1,"bytes":1}"#,
            ),
            (EventKind::Log, "{}"),
        ];
        assert_eq!(texts.map(|(kind, _)| kind), EventKind::ALL);
        for (kind, text) in texts {
            let body = EventBody::read(kind, &mut serde_json::Deserializer::from_str(text)).unwrap();
            assert_eq!(WebhookEvent::of(&body).is_some(), WebhookEvent::KINDS.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn an_endpoint_is_told_what_it_asked_for() {
        let some = [String::from("job.failed")];
        assert!(WebhookEvent::JobFailed.is_in(&some) && !WebhookEvent::JobSucceeded.is_in(&some));
        assert!(WebhookEvent::JobSucceeded.is_in(&[String::from("*")]));
        assert!(check_subscriptions(&some, "/events").is_empty());
        let wrong = check_subscriptions(&[some[0].clone(), String::from("job.exploded")], "/events");
        assert_eq!((wrong.len(), wrong[0].pointer.as_str()), (1, "/events/1"));
        assert_eq!(check_subscriptions(&[], "/events").len(), 1);
    }

    #[test]
    fn a_secret_reads_back_and_is_not_shown_in_logs() {
        let secret = Secret::from_key(&[7; 32]);
        assert_eq!(secret.key(), [7; 32]);
        assert_eq!(secret.reveal().parse::<Secret>(), Ok(secret.clone()));
        assert!("whsec_?".parse::<Secret>().is_err() && "7".parse::<Secret>().is_err());
        assert_eq!(format!("{secret:?}"), "whsec_...");
    }
}
