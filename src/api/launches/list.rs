//! `GET /v1/launches`

use axum::Json;

use super::{Launch, seen};
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List launches
///
/// Machines that were asked of clusters in the last 30 days.
#[utoipa::path(
    get,
    path = "/v1/launches",
    tag = "devices",
    params(PageParams),
    responses(
        (status = 200, body = List<Launch>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_launches(
    Administered(app): Administered,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Launch>>, Problem> {
    let launches = seen(&app, app.store.launches(&page.page()).await?).await?;
    Ok(Json(List::new(launches, page.limit, |launch| launch.id.clone())))
}
