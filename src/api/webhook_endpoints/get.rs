//! `GET /v1/webhook_endpoints/{id}`

use axum::Json;

use super::WebhookEndpoint;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::WebhookEndpointId;

/// Get a webhook endpoint
#[utoipa::path(
    get,
    path = "/v1/webhook_endpoints/{id}",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint")),
    responses(
        (status = 200, body = WebhookEndpoint),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_webhook_endpoint(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
) -> Result<Json<WebhookEndpoint>, Problem> {
    Ok(Json(app.store.webhook_endpoint(id).await?.into()))
}
