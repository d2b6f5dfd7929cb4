//! `DELETE /v1/verifiers/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::VerifierId;

/// Delete a verifier
///
/// Finished jobs keep the configuration that they ran with.
#[utoipa::path(
    delete,
    path = "/v1/verifiers/{id}",
    tag = "verifiers",
    params(("id" = String, Path, description = "The verifier")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such verifier", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "A job that is not finished uses it", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_verifier(Access(app): Access, Id(id): Id<VerifierId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_verifier(id).await?;
    Ok(Json(Deleted::new(id, "verifier.deleted")))
}
