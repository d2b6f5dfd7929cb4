//! `GET /v1/projects/{id}`

use axum::Json;
use axum::http::StatusCode;

use super::Project;
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::PathText;
use crate::job::access::check_project;

/// Get a project
///
/// One that no key and no job has named uses nothing and has no limits of its own. Operators see all, others their own.
#[utoipa::path(
    get,
    path = "/v1/projects/{id}",
    tag = "api-keys",
    params(("id" = String, Path, description = "The project's name")),
    responses(
        (status = 200, body = Project),
        (status = 404, description = "No name of a project, or another project than yours", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_project(
    Administered(app): Administered,
    PathText(name): PathText<String>,
) -> Result<Json<Project>, Problem> {
    named(&name)?;
    Ok(Json(app.store.project_with_usage(&name).await?.into()))
}

/// Whether a path names a project at all.
pub fn named(name: &str) -> Result<(), Problem> {
    check_project(name, "").map_err(|error| Problem::new(StatusCode::NOT_FOUND, "not_found", error.detail))
}
