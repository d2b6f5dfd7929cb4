//! `GET /v1/suites/{id}`

use axum::Json;

use super::Suite;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::SuiteId;

/// Get a suite
#[utoipa::path(
    get,
    path = "/v1/suites/{id}",
    tag = "evaluations",
    params(("id" = String, Path, description = "The suite, by id or name")),
    responses(
        (status = 200, body = Suite),
        (status = 404, description = "No such suite", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_suite(Access(app): Access, Id(id): Id<SuiteId>) -> Result<Json<Suite>, Problem> {
    Ok(Json(app.store.suite(id).await?.into()))
}
