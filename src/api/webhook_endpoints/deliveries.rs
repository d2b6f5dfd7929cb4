//! `GET /v1/webhook_endpoints/{id}/deliveries`

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::api::webhook_deliveries::WebhookDelivery;
use crate::job::WebhookEndpointId;
use crate::job::webhook::DeliveryStatus;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryFilterParams {
    /// Only deliveries that are `pending`, `succeeded` or `failed`.
    #[param(value_type = Option<String>)]
    status: Option<DeliveryStatus>,
}

/// List an endpoint's deliveries
///
/// Deliveries are kept for 30 days.
#[utoipa::path(
    get,
    path = "/v1/webhook_endpoints/{id}/deliveries",
    tag = "webhooks",
    params(("id" = String, Path, description = "The endpoint"), DeliveryFilterParams, PageParams),
    responses(
        (status = 200, body = List<WebhookDelivery>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such endpoint", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_webhook_deliveries(
    Access(app): Access,
    Id(id): Id<WebhookEndpointId>,
    Params(filter): Params<DeliveryFilterParams>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<WebhookDelivery>>, Problem> {
    let rows = app.store.webhook_deliveries(id, filter.status, &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(WebhookDelivery::from), page.limit, |delivery| delivery.id.clone())))
}
