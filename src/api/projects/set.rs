//! `PUT /v1/projects/{id}`

use axum::Json;

use super::get::named;
use super::{Limits, Project};
use crate::api::access::Everything;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, PathText};
use crate::clock;
use crate::job::{Fields, field};
use crate::store::ProjectLimits;

/// Set a project's limits
///
/// Replaces all of them. What the project has already stays: a job that runs is not stopped, and nothing is deleted.
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
    Everything(app): Everything,
    PathText(name): PathText<String>,
    JsonBody(body): JsonBody,
) -> Result<Json<Project>, Problem> {
    named(&name)?;
    let limits: Limits = field::parse(&body, "").map_err(|error| Problem::invalid(vec![error]))?;
    let limits = ProjectLimits::from(limits);
    let mut fields = Fields::below("");
    let requests = limits.requests_per_minute.unwrap_or(1);
    fields.require((1..=1_000_000_000).contains(&requests), "requests_per_minute", "must lie between 1 and 1e9");
    for (field, value, most) in [
        ("max_unfinished_jobs", limits.max_unfinished_jobs, 1_000_000_000),
        ("max_devices", limits.max_devices, 1_000_000_000),
        ("max_storage_bytes", limits.max_storage_bytes, 1_000_000_000_000_000),
    ] {
        fields.require(value.is_none_or(|value| value <= most), field, format!("must be at most {most}"));
    }
    fields.finish().map_err(Problem::invalid)?;
    app.store.set_project_limits(&name, &limits, clock::now()).await?;
    Ok(Json(app.store.project_with_usage(&name).await?.into()))
}
