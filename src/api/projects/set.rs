//! `PUT /v1/projects/{id}`

use axum::Json;

use super::get::named;
use super::{Limits, Project};
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, PathText, read};
use crate::clock;
use crate::store::ProjectLimits;

/// Set a project's limits
///
/// Replaces all of them, for operators. What the project has already stays: a job that runs is not stopped, and nothing is deleted.
#[utoipa::path(
    put,
    path = "/v1/projects/{id}",
    tag = "api-keys",
    params(("id" = String, Path, description = "The project's name")),
    request_body(content = Limits),
    responses(
        (status = 200, body = Project),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No name of a project", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn set_project(
    Administered(app): Administered,
    PathText(name): PathText<String>,
    JsonBody(body): JsonBody,
) -> Result<Json<Project>, Problem> {
    named(&name)?;
    let limits = ProjectLimits::from(read::<Limits>(&body)?);
    app.store.set_project_limits(&name, &limits, clock::now()).await?;
    Ok(Json(app.store.project_with_usage(&name).await?.into()))
}
