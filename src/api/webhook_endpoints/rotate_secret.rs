//! `POST /v1/webhook_endpoints/{id}/rotate-secret`

use axum::Json;

use super::{WebhookEndpoint, new_secret};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::WebhookEndpointId;

/// Give a webhook endpoint another secret
///
/// For 24 hours messages are signed with both secrets, so that a receiver can change over in its own time. This answer
/// is the only place where the secret stands. The secret before the last one stops signing at once.
#[utoipa::path(
    post,
    path = "/v1/webhook_endpoints/{id}/rotate-secret",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint")),
    responses(
        (status = 200, body = WebhookEndpoint),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn rotate_webhook_secret(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
) -> Result<Json<WebhookEndpoint>, Problem> {
    let secret = new_secret()?;
    let row = app.store.rotate_webhook_secret(id, &secret, clock::now()).await?;
    Ok(Json(WebhookEndpoint::with_secret(row, &secret)))
}
