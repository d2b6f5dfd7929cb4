//! `POST /v1/agent/workers/{id}/end` and `POST /v1/agent/leases/{job}/{attempt}/end`

use axum::Json;

use super::{own_lease, worker, wrong};
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, Segments, read};
use crate::clock;
use crate::job::agent::{AttemptEnd, AttemptOutcome, Requeued, ServerTime, WorkerEnd};
use crate::job::{Failure, JobId, WorkerId};
use crate::store::{Ended, Loss};

/// End a worker
///
/// What it held goes back to the queue at once.
#[utoipa::path(
    post,
    path = "/v1/agent/workers/{id}/end",
    tag = "agents",
    params(("id" = String, Path, description = "The worker")),
    request_body = WorkerEnd,
    responses(
        (status = 200, body = Requeued),
        (status = 404, description = "There is no such worker, or it has ended", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn end_worker(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    JsonBody(body): JsonBody,
) -> Result<Json<Requeued>, Problem> {
    let WorkerEnd { reason, blameless } = read(&body)?;
    worker(&app, id).await?;
    app.attendance.forget(id);
    let requeued = app.store.release_worker(id, &reason, blameless, clock::now()).await?;
    Ok(Json(Requeued { requeued }))
}

/// End an attempt
///
/// Tells how it ended. Whoever heard no answer says the same again.
#[utoipa::path(
    post,
    path = "/v1/agent/leases/{job}/{attempt}/end",
    tag = "agents",
    params(
        ("job" = String, Path, description = "The job"),
        ("attempt" = u32, Path, description = "The attempt"),
    ),
    request_body = AttemptEnd,
    responses(
        (status = 200, body = ServerTime),
        (status = 409, description = "The job is somebody else's (`lease_lost`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn end_attempt(
    Agent(app): Agent,
    Segments(job, attempt): Segments<JobId, u32>,
    JsonBody(body): JsonBody,
) -> Result<Json<ServerTime>, Problem> {
    let end: AttemptEnd = read(&body)?;
    let (lease, now) = (own_lease(&app, job, attempt).await?, clock::now());
    if let Some(device) = &end.device
        && !app.store.devices_of(lease).await?.contains(device)
    {
        return Err(wrong("/device", "must be a device that the attempt has"));
    }
    let failure = || end.failure.clone().ok_or_else(|| wrong("/failure", "belongs to such an end"));
    let ended = match end.outcome {
        AttemptOutcome::Succeeded => {
            let result = end.result.ok_or_else(|| wrong("/result", "belongs to such an end"))?;
            Ended::Succeeded { result }
        }
        AttemptOutcome::Failed => Ended::Failed(failure()?),
        AttemptOutcome::Cancelled => Ended::Cancelled,
        AttemptOutcome::Drained => Ended::Drained,
        AttemptOutcome::Lost => {
            let Failure { kind, message: reason, .. } = failure()?;
            Ended::Lost(Loss { kind, reason, device: end.device, blameless: end.blameless })
        }
    };
    // How long it had the devices is written down before it has them no more.
    app.attendance.write(&app.store).await?;
    if !app.store.has_ended(lease).await? {
        app.store.conclude(lease, &ended, now).await?;
    }
    Ok(Json(ServerTime { now: now.0 }))
}
