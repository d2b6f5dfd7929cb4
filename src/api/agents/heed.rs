//! `POST /v1/agent/leases/{job}/{attempt}/heed`

use std::time::Duration;

use axum::Json;
use tokio::time::Instant;

use super::{LOOK, WaitParams, own_lease};
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Params, Segments, read};
use crate::clock;
use crate::job::JobId;
use crate::job::agent::{Answer, Question, Word};
use crate::store::Heartbeat;

/// Ask what is wanted of a job's worker
///
/// Answers as soon as it is something else than to go on, or when the time is up. It is no sign of life.
#[utoipa::path(
    post,
    path = "/v1/agent/leases/{job}/{attempt}/heed",
    tag = "agents",
    params(
        ("job" = String, Path, description = "The job"),
        ("attempt" = u32, Path, description = "The attempt"),
        WaitParams,
    ),
    request_body = Question,
    responses(
        (status = 200, body = Answer),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job is somebody else's (`lease_lost`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn heed_lease(
    Agent(app): Agent,
    Segments(job, attempt): Segments<JobId, u32>,
    Params(params): Params<WaitParams>,
    JsonBody(body): JsonBody,
) -> Result<Json<Answer>, Problem> {
    let (Question { held_milliseconds }, deadline) = (read(&body)?, params.deadline()?);
    let lease = own_lease(&app, job, attempt).await?;
    let (began, mut shutdown, mut follower) = (Instant::now(), app.shutdown.clone(), app.feed.follow(Some(job)));
    loop {
        let held = Duration::from_millis(held_milliseconds) + began.elapsed();
        let word = match app.store.check_lease(lease, held, clock::now()).await? {
            Heartbeat::GoOn => Word::GoOn,
            Heartbeat::Pause => Word::Pause,
            Heartbeat::Cancel => Word::Cancel,
            Heartbeat::Lost => Word::Lost,
        };
        if word != Word::GoOn || Instant::now() >= deadline || *shutdown.borrow() {
            return Ok(Json(Answer { word }));
        }
        tokio::select! {
            () = follower.wait_until(deadline.min(Instant::now() + LOOK)) => {}
            _ = shutdown.changed() => {}
        }
    }
}
