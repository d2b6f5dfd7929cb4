//! `POST /v1/fine_tuning/alpha/graders/validate`

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::openai::grader;

/// A grader, or a verifier in the place of one.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraderBody {
    #[schema(value_type = Object)]
    grader: Value,
}

/// Validate a grader
#[utoipa::path(
    post,
    path = "/v1/fine_tuning/alpha/graders/validate",
    tag = "fine-tuning",
    request_body = GraderBody,
    responses(
        (status = 200, description = "The grader as it was sent", body = GraderBody),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The grader is invalid or not run here", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn validate_grader(_: Access, JsonBody(body): JsonBody) -> Result<Json<GraderBody>, Problem> {
    let request: GraderBody = read(&body)?;
    grader::read(&request.grader, "/grader").map_err(Problem::invalid)?;
    Ok(Json(request))
}
