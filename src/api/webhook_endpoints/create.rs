//! `POST /v1/webhook_endpoints`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{WebhookEndpoint, check, new_secret};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::webhook::WebhookFormat;
use crate::job::{WebhookEndpointId, webhook};
use crate::store::WebhookEndpointRow;

/// An endpoint to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhookEndpoint {
    /// An http or https URL at a public address, of at most 2048 bytes. Messages are posted to it.
    #[schema(example = "https://ci.example.org/hooks/anneal")]
    url: String,
    /// Types of events to be told, or `["*"]` for all: `job.queued`, `job.starting`, `job.running`, `job.pausing`,
    /// `job.paused`, `job.cancelling`, `job.succeeded`, `job.failed`, `job.cancelled`, `checkpoint.created`,
    /// `evaluation.completed`, `rollout_set.created`.
    #[serde(default = "all_events")]
    #[schema(example = json!(["job.succeeded", "job.failed"]))]
    events: Vec<String>,
    /// `standard`, or a sentence as a channel of `slack` or `discord` takes it at its address for incoming webhooks.
    #[serde(default)]
    #[schema(value_type = String, example = "standard")]
    format: WebhookFormat,
    /// Words for people.
    #[schema(max_length = 512)]
    description: Option<String>,
    #[serde(default = "yes")]
    enabled: bool,
    /// At most 16 pairs, keys of at most 64 and values of at most 512 bytes.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

fn all_events() -> Vec<String> {
    vec![webhook::ALL.to_owned()]
}

fn yes() -> bool {
    true
}

/// Create a webhook endpoint
///
/// Messages follow Standard Webhooks: `webhook-id` names the message and is the same in every try,
/// `webhook-signature` holds `v1,` and the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` by the
/// secret's bytes. The body is `{"type", "timestamp", "data": {"event", "job"}}`. Any answer but 2xx within 15 seconds is
/// a failure, and the message is sent again after 5 s, 30 s, 2 min, 10 min, 1 h, 6 h and 24 h; 410 disables the
/// endpoint. Redirects are not followed. The answer to this request is the only place where the secret stands.
#[utoipa::path(
    post,
    path = "/v1/webhook_endpoints",
    tag = "webhooks",
    request_body = CreateWebhookEndpoint,
    responses(
        (status = 201, body = WebhookEndpoint),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "There are too many endpoints", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the URL is not at a public address", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_webhook_endpoint(
    Access(app): Access,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<WebhookEndpoint>), Problem> {
    let new: CreateWebhookEndpoint = read(&body)?;
    check(&app, Some(&new.url), Some(&new.events), Some(&new.metadata)).await?;
    let row = WebhookEndpointRow {
        id: WebhookEndpointId::generate(),
        url: new.url,
        description: new.description,
        events: new.events,
        format: new.format,
        enabled: new.enabled,
        disabled_reason: None,
        old_secret_until: None,
        metadata: new.metadata,
        created_at: clock::now(),
    };
    let secret = new_secret()?;
    app.store.add_webhook_endpoint(&row, &secret).await?;
    Ok((StatusCode::CREATED, Json(WebhookEndpoint::with_secret(row, &secret))))
}
