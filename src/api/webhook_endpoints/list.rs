//! `GET /v1/webhook_endpoints`

use axum::Json;

use super::WebhookEndpoint;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List webhook endpoints
#[utoipa::path(
    get,
    path = "/v1/webhook_endpoints",
    tag = "webhooks",
    params(PageParams),
    responses(
        (status = 200, body = List<WebhookEndpoint>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_webhook_endpoints(
    Access(app): Access,
    Params(page): Params<PageParams>,
) -> Result<Json<List<WebhookEndpoint>>, Problem> {
    let rows = app.store.webhook_endpoints(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(WebhookEndpoint::from), page.limit, |endpoint| endpoint.id.clone())))
}
