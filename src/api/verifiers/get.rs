//! `GET /v1/verifiers/{id}`

use axum::Json;

use super::Verifier;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::VerifierId;

/// Get a stored verifier
#[utoipa::path(
    get,
    path = "/v1/verifiers/{id}",
    tag = "verifiers",
    params(("id" = String, Path, description = "The verifier")),
    responses(
        (status = 200, body = Verifier),
        (status = 404, description = "No such verifier", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_verifier(Access(app): Access, Id(id): Id<VerifierId>) -> Result<Json<Verifier>, Problem> {
    Ok(Json(app.store.verifier(id).await?.into()))
}
