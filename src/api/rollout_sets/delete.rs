//! `DELETE /v1/rollout-sets/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::RolloutSetId;

/// Delete a rollout set
///
/// Removes the rollout set of a finished job with its files; the job stays.
#[utoipa::path(
    delete,
    path = "/v1/rollout-sets/{id}",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Its job is not finished (`job_not_finished`), or another one needs it (`in_use`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_rollout_set(Access(app): Access, Id(id): Id<RolloutSetId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_rollout_set(id).await?;
    Ok(Json(Deleted::new(id, "rollout_set.deleted")))
}
