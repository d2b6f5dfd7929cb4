//! `GET /v1/rollout-sets/{id}` and `GET /v1/rollout-sets/{id}/manifest`

use axum::Json;
use serde_json::Value;

use super::{RolloutSet, content};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::RolloutSetId;

/// Get a rollout set
#[utoipa::path(
    get,
    path = "/v1/rollout-sets/{id}",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set")),
    responses(
        (status = 200, body = RolloutSet),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_rollout_set(Access(app): Access, Id(id): Id<RolloutSetId>) -> Result<Json<RolloutSet>, Problem> {
    Ok(Json(app.store.rollout_set(id).await?.into()))
}

/// Get a rollout set's manifest
///
/// The content of `manifest.json` as it lies in the set: format, job, and every file with size and sha256.
#[utoipa::path(
    get,
    path = "/v1/rollout-sets/{id}/manifest",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set")),
    responses(
        (status = 200, body = Object),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The set is not ready", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_rollout_set_manifest(Access(app): Access, Id(id): Id<RolloutSetId>) -> Result<Json<Value>, Problem> {
    let content = content(app.store.rollout_set(id).await?)?;
    Ok(Json(serde_json::json!(content.artifact.manifest)))
}
