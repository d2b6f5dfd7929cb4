//! Webhook deliveries: each message to each endpoint, with every try to bring it there.

pub mod get;
pub mod redeliver;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::store::{WebhookAttempt, WebhookDeliveryRow};

/// A message to one endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookDelivery {
    /// The receiver sees it as `webhook-id`.
    #[schema(example = "wd_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `webhook_delivery`.
    pub object: &'static str,
    pub webhook_endpoint: String,
    /// The type of the message.
    #[schema(example = "job.succeeded")]
    pub r#type: String,
    /// The event that it tells; null for a test.
    pub event: Option<String>,
    /// `pending` until the receiver answers with 2xx (`succeeded`) or all tries were in vain (`failed`).
    #[schema(example = "succeeded")]
    pub status: &'static str,
    /// How many tries there were.
    pub attempt_count: u32,
    /// The newest tries, at most 20, oldest first.
    pub attempts: Vec<DeliveryAttempt>,
    /// When it is tried next; null unless it is pending. Unix seconds.
    pub next_attempt_at: Option<i64>,
    /// What is sent.
    #[schema(value_type = Object)]
    pub payload: Value,
    /// Unix seconds.
    pub created_at: i64,
}

/// One try of a delivery.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryAttempt {
    /// RFC 3339.
    started_at: String,
    duration_ms: i64,
    /// Null when there was no answer.
    response_status: Option<u16>,
    /// The first KiB of the answer.
    response_body: Option<String>,
    /// What kept the message from arriving or the answer from being read.
    error: Option<String>,
}

impl From<WebhookAttempt> for DeliveryAttempt {
    fn from(attempt: WebhookAttempt) -> Self {
        Self {
            started_at: attempt.started_at.rfc3339(),
            duration_ms: attempt.milliseconds,
            response_status: attempt.http_status,
            response_body: attempt.answer,
            error: attempt.error,
        }
    }
}

impl From<WebhookDeliveryRow> for WebhookDelivery {
    fn from(row: WebhookDeliveryRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "webhook_delivery",
            webhook_endpoint: row.endpoint.to_string(),
            r#type: row.kind,
            event: row.event,
            status: row.status.as_str(),
            attempt_count: row.attempts,
            attempts: row.log.into_iter().map(DeliveryAttempt::from).collect(),
            next_attempt_at: row.next_attempt_at.map(|at| at.unix_seconds()),
            payload: serde_json::from_str(&row.body).unwrap_or_default(),
            created_at: row.created_at.unix_seconds(),
        }
    }
}
