//! `DELETE /v1/webhook_endpoints/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::WebhookEndpointId;

/// Delete a webhook endpoint
///
/// With all its deliveries; what was waiting is not sent any more.
#[utoipa::path(
    delete,
    path = "/v1/webhook_endpoints/{id}",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_webhook_endpoint(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
) -> Result<Json<Deleted>, Problem> {
    app.store.delete_webhook_endpoint(id).await?;
    Ok(Json(Deleted::new(id, "webhook_endpoint.deleted")))
}
