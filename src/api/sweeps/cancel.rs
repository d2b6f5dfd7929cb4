//! `POST /v1/sweeps/{id}/cancel`

use axum::Json;

use super::Sweep;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::SweepId;

/// Cancel a sweep
///
/// Cancels all its jobs that are not over, but for those that it reused.
#[utoipa::path(
    post,
    path = "/v1/sweeps/{id}/cancel",
    tag = "sweeps",
    params(("id" = String, Path, description = "The sweep")),
    responses(
        (status = 200, body = Sweep),
        (status = 404, description = "No such sweep", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The sweep is over (`sweep_over`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn cancel_sweep(Access(app): Access, Id(id): Id<SweepId>) -> Result<Json<Sweep>, Problem> {
    let row = app.store.cancel_sweep(id, clock::now()).await?;
    Ok(Json(Sweep::of(row, Some(app.store.trials(id).await?))))
}
