//! `POST /v1/webhook_deliveries/{id}/redeliver`

use axum::Json;

use super::WebhookDelivery;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::WebhookDeliveryId;

/// Send a message again
///
/// At once, with the same `webhook-id` and body, whatever became of it before; if that fails, it is retried as at first.
#[utoipa::path(
    post,
    path = "/v1/webhook_deliveries/{id}/redeliver",
    tag = "webhooks",
    params(("id" = String, Path, description = "The delivery")),
    responses(
        (status = 200, body = WebhookDelivery),
        (status = 404, description = "No such delivery", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The endpoint is disabled", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn redeliver_webhook(
    Access(app): Access,
    Id(id): Id<WebhookDeliveryId>,
) -> Result<Json<WebhookDelivery>, Problem> {
    Ok(Json(app.store.redeliver_webhook(id, clock::now()).await?.into()))
}
