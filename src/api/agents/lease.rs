//! `GET /v1/agent/leases/{job}/{attempt}`

use axum::Json;

use super::shared_lease;
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Segments;
use crate::job::JobId;
use crate::job::agent::Assignment;

/// Get a claimed job
///
/// As it was given to its worker, for other processes that take part in it, on any machine whose devices it has.
#[utoipa::path(
    get,
    path = "/v1/agent/leases/{job}/{attempt}",
    tag = "agents",
    params(
        ("job" = String, Path, description = "The job"),
        ("attempt" = u32, Path, description = "The attempt"),
    ),
    responses(
        (status = 200, body = Assignment),
        (status = 409, description = "The job is somebody else's (`lease_lost`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_lease(
    Agent(app): Agent,
    Segments(job, attempt): Segments<JobId, u32>,
) -> Result<Json<Assignment>, Problem> {
    let claim = app.store.claimed(shared_lease(&app, job, attempt).await?).await?;
    Ok(Json(app.assignment(claim).await?))
}
