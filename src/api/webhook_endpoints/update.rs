//! `PATCH /v1/webhook_endpoints/{id}`

use std::collections::BTreeMap;

use axum::Json;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::{WebhookEndpoint, check};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::job::WebhookEndpointId;
use crate::job::webhook::WebhookFormat;
use crate::store::WebhookEndpointChange;

/// What is to be different; what is absent stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhookEndpoint {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String)]
    url: Option<String>,
    /// Replaces the whole list.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Vec<String>)]
    events: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String)]
    format: Option<WebhookFormat>,
    /// Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 512)]
    description: Option<Option<String>>,
    /// An endpoint that is enabled again is told what happens from then on, and gets what was waiting for it before.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    enabled: Option<bool>,
    /// Replaces all pairs.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = BTreeMap<String, String>)]
    metadata: Option<BTreeMap<String, String>>,
}

/// Reads a field that is there, so that null is a value of its type or an error, and not an absent field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Change a webhook endpoint
#[utoipa::path(
    patch,
    path = "/v1/webhook_endpoints/{id}",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint")),
    request_body = UpdateWebhookEndpoint,
    responses(
        (status = 200, body = WebhookEndpoint),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the URL is not at a public address", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn update_webhook_endpoint(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
    JsonBody(body): JsonBody,
) -> Result<Json<WebhookEndpoint>, Problem> {
    let update: UpdateWebhookEndpoint = read(&body)?;
    app.store.webhook_endpoint(id).await?;
    check(&app, update.url.as_deref(), update.events.as_deref(), update.metadata.as_ref()).await?;
    let UpdateWebhookEndpoint { url, events, format, description, enabled, metadata } = update;
    let change = WebhookEndpointChange { url, description, events, format, enabled, metadata };
    Ok(Json(app.store.update_webhook_endpoint(id, change).await?.into()))
}
