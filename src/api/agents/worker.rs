//! `POST /v1/agent/workers`

use axum::Json;

use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::agent::{DeviceState, WorkerRegistration};
use crate::job::device::split_name;
use crate::store::WorkerRow;

/// Begin to tend a device
///
/// A worker is a process that runs the jobs of one device. From now on it must give signs of life.
#[utoipa::path(
    post,
    path = "/v1/agent/workers",
    tag = "agents",
    request_body = WorkerRegistration,
    responses(
        (status = 200, description = "The device as the server sees it", body = DeviceState),
        (status = 404, description = "No such machine or device", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn start_worker(Agent(app): Agent, JsonBody(body): JsonBody) -> Result<Json<DeviceState>, Problem> {
    let WorkerRegistration { id, device, pid } = read(&body)?;
    app.store.check_agent(split_name(&device).0, app.caller).await?;
    let (row, now) = (app.store.device(&device).await?, clock::now());
    // Whoever heard no answer says it again.
    if app.store.agent_worker(id, app.caller).await.is_err() {
        let description = row.description.clone();
        app.store.add_worker(&WorkerRow { id, device, description, pid, started_at: now, seen_at: now }).await?;
    }
    Ok(Json(row.into()))
}
