//! `GET /v1/api-keys`

use axum::Json;

use super::ApiKey;
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List API keys
///
/// Keys of your project, or of all for the operator, without their secrets.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    tag = "api-keys",
    params(PageParams),
    responses(
        (status = 200, body = List<ApiKey>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_api_keys(
    Administered(app): Administered,
    Params(page): Params<PageParams>,
) -> Result<Json<List<ApiKey>>, Problem> {
    let rows = app.store.api_keys(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(ApiKey::from), page.limit, |key| key.id.clone())))
}
