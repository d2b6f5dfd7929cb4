//! `DELETE /v1/webhook_endpoints/{id}`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::WebhookEndpointId;

/// An endpoint that is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedWebhookEndpoint {
    id: String,
    /// Always `webhook_endpoint`.
    object: &'static str,
    /// Always true.
    deleted: bool,
}

/// Delete a webhook endpoint
///
/// With all its deliveries; what was waiting is not sent any more.
#[utoipa::path(
    delete,
    path = "/v1/webhook_endpoints/{id}",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint")),
    responses(
        (status = 200, body = DeletedWebhookEndpoint),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_webhook_endpoint(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
) -> Result<Json<DeletedWebhookEndpoint>, Problem> {
    app.store.delete_webhook_endpoint(id).await?;
    Ok(Json(DeletedWebhookEndpoint { id: id.to_string(), object: "webhook_endpoint", deleted: true }))
}
