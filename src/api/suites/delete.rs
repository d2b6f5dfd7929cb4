//! `DELETE /v1/suites/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::SuiteId;

/// Delete a suite
///
/// Its runs go with it; their evaluations stay. A suite on which the model of an unfinished job is to be evaluated stays.
#[utoipa::path(
    delete,
    path = "/v1/suites/{id}",
    tag = "evaluations",
    params(("id" = String, Path, description = "The suite")),
    responses(
        (status = 200, body = Deleted),
        (status = 409, description = "A job waits for it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such suite", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_suite(Access(app): Access, Id(id): Id<SuiteId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_suite(id).await?;
    Ok(Json(Deleted::new(id, "suite.deleted")))
}
