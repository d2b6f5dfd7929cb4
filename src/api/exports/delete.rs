//! `DELETE /v1/exports/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::ExportId;

/// Delete an export
///
/// Removes an export with its files; one that is not made yet is not made.
#[utoipa::path(
    delete,
    path = "/v1/exports/{id}",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The export")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such export", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_export(Access(app): Access, Id(id): Id<ExportId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_export(id).await?;
    Ok(Json(Deleted::new(id, "export.deleted")))
}
