//! `POST /v1/agent/workers/{id}/beat`

use std::time::Duration;

use axum::Json;

use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::WorkerId;
use crate::job::agent::{HeldLease, ServerTime, WorkerBeat};
use crate::store::Lease;

/// Give a sign of life
///
/// A worker that gives none for `lease_seconds` loses its jobs. A third of that is a good time between two.
#[utoipa::path(
    post,
    path = "/v1/agent/workers/{id}/beat",
    tag = "agents",
    params(("id" = String, Path, description = "The worker")),
    request_body = WorkerBeat,
    responses(
        (status = 200, body = ServerTime),
        (status = 404, description = "There is no such worker, or it was taken for dead", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn worker_beat(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    JsonBody(body): JsonBody,
) -> Result<Json<ServerTime>, Problem> {
    let WorkerBeat { held } = read(&body)?;
    let lasts = |held: &HeldLease| {
        (Lease { job: held.job, attempt: held.attempt }, Duration::from_millis(held.held_milliseconds))
    };
    app.attendance.hear(&app, id, held.iter().map(lasts).collect()).await?;
    Ok(Json(ServerTime { now: clock::now().0 }))
}
