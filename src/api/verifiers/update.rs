//! `PATCH /v1/verifiers/{id}`

use axum::Json;

use super::Verifier;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody};
use crate::api::labels::{self, UpdateLabels};
use crate::job::VerifierId;

/// Change a verifier's name or metadata
#[utoipa::path(
    patch,
    path = "/v1/verifiers/{id}",
    tag = "verifiers",
    params(("id" = String, Path, description = "The verifier")),
    request_body = UpdateLabels,
    responses(
        (status = 200, body = Verifier),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such verifier", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn update_verifier(
    Access(app): Access,
    Id(id): Id<VerifierId>,
    JsonBody(body): JsonBody,
) -> Result<Json<Verifier>, Problem> {
    let labels = labels::parse(&body)?;
    Ok(Json(app.store.label_verifier(id, &labels).await?.into()))
}
