//! `GET /v1/projects`

use axum::Json;

use super::Project;
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List projects
///
/// All for operators; others see their own.
#[utoipa::path(
    get,
    path = "/v1/projects",
    tag = "api-keys",
    params(PageParams),
    responses(
        (status = 200, body = List<Project>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_projects(
    Administered(app): Administered,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Project>>, Problem> {
    let rows = app.store.projects(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Project::from), page.limit, |project| project.id.clone())))
}
