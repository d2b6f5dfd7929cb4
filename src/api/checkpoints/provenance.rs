//! `GET /v1/checkpoints/{id}/provenance`

use axum::Json;
use axum::http::StatusCode;
use serde_json::Value;

use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::CheckpointId;
use crate::store::StoreError;

/// Get what a checkpoint was made from, signed
///
/// An in-toto statement with the predicate of SLSA provenance v1, in a DSSE envelope that the server has signed: the digests
/// of the files, of the spec, of the model, of the data sets, and the program's version. `anneal verify` checks a downloaded
/// folder against it.
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}/provenance",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint")),
    responses(
        (status = 200, body = Object),
        (status = 404, description = "No such checkpoint, or it was made before the server signed", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_checkpoint_provenance(Access(app): Access, Id(id): Id<CheckpointId>) -> Result<Json<Value>, Problem> {
    let row = app.store.checkpoint(id).await?;
    signed(&app, &row.id.to_string()).await.map(Json)
}

/// The envelope of something that the caller may see.
pub async fn signed(app: &App, id: &str) -> Result<Value, Problem> {
    let Some(envelope) = app.store.provenance(id).await? else {
        let detail = format!("`{id}` was made by a version that did not sign");
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_signed", detail));
    };
    let corrupt = |error: serde_json::Error| StoreError::Corrupt { what: "provenance", detail: error.to_string() };
    Ok(serde_json::from_str(&envelope).map_err(corrupt)?)
}
