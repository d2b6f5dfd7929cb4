//! `POST /v1/agent/workers/{id}/claim`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::counts::Counted;
use super::{LOOK, WaitParams, worker};
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, Params, read};
use crate::clock;
use crate::job::WorkerId;
use crate::job::agent::{Assignment, ClaimRequest};
use crate::store::Lease;

/// Take a job
///
/// The job that is to start on the worker's device, as soon as there is one. `held` names those that the worker has: one
/// that it was given before, and never heard of, is given again. A worker that `takes_part` is also given, with `part`, jobs
/// of several machines that another worker leads and that have its device.
#[utoipa::path(
    post,
    path = "/v1/agent/workers/{id}/claim",
    tag = "agents",
    params(("id" = String, Path, description = "The worker"), WaitParams),
    request_body = ClaimRequest,
    responses(
        (status = 200, body = Assignment),
        (status = 204, description = "There is none yet; ask again"),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "There is no such worker, or it was taken for dead", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn claim_job(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    Params(params): Params<WaitParams>,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let (ClaimRequest { held, takes_part }, deadline) = (read(&body)?, params.deadline()?);
    let is_known = |lease: &Lease| held.iter().any(|held| (held.job, held.attempt) == (lease.job, lease.attempt));
    let device = worker(&app, id).await?.device;
    let mut shutdown = app.shutdown.clone();
    let mut follower = app.feed.follow(None);
    if let Some(lease) = app.store.held_by(id).await?.into_iter().find(|lease| !is_known(lease)) {
        let claim = app.store.claimed(lease).await?;
        return Ok(Json::<Assignment>(app.assignment(claim).await?).into_response());
    }
    loop {
        let open = app.openings.look(&app.store, app.feed.count()).await?;
        let mut parts = open.parts.iter().filter(|part| takes_part && part.device == device);
        if let Some(open) = parts.find(|part| !is_known(&part.lease)) {
            let assignment = app.assignment(app.store.claimed(open.lease).await?).await?;
            return Ok(Json(Assignment { part: Some(open.part.clone()), ..assignment }).into_response());
        }
        if open.devices.contains(&device)
            && let Some(claim) = app.store.claim(id, &device, clock::now()).await?
        {
            app.agent_counts.add(Counted::Claim);
            return Ok(Json(app.assignment(claim).await?).into_response());
        }
        if Instant::now() >= deadline || *shutdown.borrow() {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        tokio::select! {
            () = follower.wait_until(deadline.min(Instant::now() + LOOK)) => {}
            _ = shutdown.changed() => {}
        }
    }
}
