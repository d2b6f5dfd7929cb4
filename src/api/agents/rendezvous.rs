//! `POST /v1/agent/leases/{job}/{attempt}/rendezvous`

use axum::Json;

use super::{own_lease, wrong};
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Segments, read};
use crate::clock;
use crate::job::JobId;
use crate::job::agent::{Rendezvous, ServerTime};

/// Wait for the other machines of a job
///
/// The first worker of a job on several machines tells where it waits for the others, which learn of it when they ask for a job.
#[utoipa::path(
    post,
    path = "/v1/agent/leases/{job}/{attempt}/rendezvous",
    tag = "agents",
    params(
        ("job" = String, Path, description = "The job"),
        ("attempt" = u32, Path, description = "The attempt"),
    ),
    request_body(content = Rendezvous, examples(("of a machine" = (value = json!({
        "address": "192.0.2.7:41000",
        "secret": "5f0c2a9e4b7d1860f3a5c8e2d4b6097185f0c2a9e4b7d1860f3a5c8e2d4b6097",
    }))))),
    responses(
        (status = 200, body = ServerTime),
        (status = 409, description = "The job is somebody else's (`lease_lost`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn open_rendezvous(
    Agent(app): Agent,
    Segments(job, attempt): Segments<JobId, u32>,
    JsonBody(body): JsonBody,
) -> Result<Json<ServerTime>, Problem> {
    let at: Rendezvous = read(&body)?;
    if at.secret.len() != 64 || !at.secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong("/secret", "must be 64 hexadecimal digits"));
    }
    let now = clock::now();
    app.store.open_rendezvous(own_lease(&app, job, attempt).await?, &at, now).await?;
    Ok(Json(ServerTime { now: now.0 }))
}
