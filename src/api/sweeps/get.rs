//! `GET /v1/sweeps/{id}`

use axum::Json;

use super::Sweep;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::SweepId;

/// Get a sweep
#[utoipa::path(
    get,
    path = "/v1/sweeps/{id}",
    tag = "sweeps",
    params(("id" = String, Path, description = "The sweep")),
    responses(
        (status = 200, body = Sweep),
        (status = 404, description = "No such sweep", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_sweep(Access(app): Access, Id(id): Id<SweepId>) -> Result<Json<Sweep>, Problem> {
    let row = app.store.sweep(id).await?;
    Ok(Json(Sweep::of(row, Some(app.store.trials(id).await?))))
}
