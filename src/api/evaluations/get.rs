//! `GET /v1/evaluations/{id}`

use axum::Json;

use super::Evaluation;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::EvaluationId;

/// Get an evaluation
#[utoipa::path(
    get,
    path = "/v1/evaluations/{id}",
    tag = "evaluations",
    params(("id" = String, Path, description = "The evaluation")),
    responses(
        (status = 200, body = Evaluation),
        (status = 404, description = "No such evaluation", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_evaluation(Access(app): Access, Id(id): Id<EvaluationId>) -> Result<Json<Evaluation>, Problem> {
    Ok(Json(app.store.evaluation(id).await?.into()))
}
