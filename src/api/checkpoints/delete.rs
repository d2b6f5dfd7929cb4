//! `DELETE /v1/checkpoints/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::CheckpointId;

/// Delete a checkpoint
///
/// Removes a checkpoint of a finished job with its files.
#[utoipa::path(
    delete,
    path = "/v1/checkpoints/{id}",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such checkpoint", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Its job is not finished (`job_not_finished`), or another one needs it (`in_use`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_checkpoint(Access(app): Access, Id(id): Id<CheckpointId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_checkpoint(id).await?;
    Ok(Json(Deleted::new(id, "checkpoint.deleted")))
}
