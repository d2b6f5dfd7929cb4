//! `GET /v1/webhook_deliveries/{id}`

use axum::Json;

use super::WebhookDelivery;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::WebhookDeliveryId;

/// Get a webhook delivery
#[utoipa::path(
    get,
    path = "/v1/webhook_deliveries/{id}",
    tag = "webhooks",
    params(("id" = String, Path, description = "The delivery")),
    responses(
        (status = 200, body = WebhookDelivery),
        (status = 404, description = "No such delivery", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_webhook_delivery(
    Access(app): Access,
    Id(id): Id<WebhookDeliveryId>,
) -> Result<Json<WebhookDelivery>, Problem> {
    Ok(Json(app.store.webhook_delivery(id).await?.into()))
}
