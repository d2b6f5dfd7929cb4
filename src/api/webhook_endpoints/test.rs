//! `POST /v1/webhook_endpoints/{id}/test`

use axum::Json;
use axum::http::StatusCode;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::api::webhook_deliveries::WebhookDelivery;
use crate::clock;
use crate::job::WebhookEndpointId;

/// Send a test message
///
/// Of type `webhook.test`, whatever types the endpoint has asked for. The answer is the delivery; ask for it again to see
/// what the receiver said.
#[utoipa::path(
    post,
    path = "/v1/webhook_endpoints/{id}/test",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint")),
    responses(
        (status = 201, body = WebhookDelivery),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The endpoint is disabled", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn test_webhook_endpoint(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
) -> Result<(StatusCode, Json<WebhookDelivery>), Problem> {
    let row = app.store.test_webhook_endpoint(id, clock::now()).await?;
    Ok((StatusCode::CREATED, Json(row.into())))
}
