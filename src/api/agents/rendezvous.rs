//! `POST /v1/agent/leases/{job}/{attempt}/rendezvous`

use std::net::SocketAddr;

use axum::Json;

use super::own_lease;
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Segments, read};
use crate::clock;
use crate::job::agent::{Rendezvous, ServerTime};
use crate::job::{FieldError, JobId};

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
    request_body = Rendezvous,
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
    let mut errors = Vec::new();
    if at.address.parse::<SocketAddr>().is_err() {
        errors.push(FieldError::new("/address", "invalid_value", "must be an IP address and a port"));
    }
    if at.secret.len() != 64 || !at.secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        errors.push(FieldError::new("/secret", "invalid_value", "must be 64 hexadecimal digits"));
    }
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let now = clock::now();
    app.store.open_rendezvous(own_lease(&app, job, attempt).await?, &at, now).await?;
    Ok(Json(ServerTime { now: now.0 }))
}
