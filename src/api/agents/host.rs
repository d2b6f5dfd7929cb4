//! `POST /v1/agent/hosts`

use axum::Json;
use axum::http::StatusCode;

use super::wrong;
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::agent::{HostRegistration, PROTOCOL, RegisteredHost};
use crate::job::device::{is_host_name, split_name};
use crate::store::NewAgent;

/// Begin to work for this server
///
/// An agent begins on a machine, or begins again: its devices are these from now on, and what its workers held goes back to
/// the queue. Only the key that is shown here speaks for the machine.
#[utoipa::path(
    post,
    path = "/v1/agent/hosts",
    tag = "agents",
    request_body = HostRegistration,
    responses(
        (status = 200, body = RegisteredHost),
        (status = 409, description = "Another machine has this name, or it can have none like it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the agent speaks another protocol (`protocol_unknown`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn register_host(Agent(app): Agent, JsonBody(body): JsonBody) -> Result<Json<RegisteredHost>, Problem> {
    let new: HostRegistration = read(&body)?;
    if new.protocol != PROTOCOL {
        let detail = format!(
            "the agent speaks protocol {}, and this server {PROTOCOL}; install the version of the server, {}, on the agent's \
             machine",
            new.protocol,
            env!("CARGO_PKG_VERSION"),
        );
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "protocol_unknown", detail));
    }
    if !(16..=128).contains(&new.identity.len()) {
        return Err(wrong("/identity", "has 16 to 128 characters"));
    }
    if new.devices.is_empty() || new.devices.len() > 256 {
        return Err(wrong("/devices", "has 1 to 256 devices"));
    }
    if new.pool.as_deref().is_some_and(|pool| !is_host_name(pool)) {
        return Err(wrong("/pool", "is 1 to 63 lower-case letters, digits, `-`, `.` and `_`"));
    }
    for (i, device) in new.devices.iter().enumerate() {
        if split_name(&device.name).0 != new.name {
            return Err(wrong(&format!("/devices/{i}/name"), format!("begins with `{}/`", new.name)));
        }
    }
    let now = clock::now();
    let agent = NewAgent {
        name: new.name.clone(),
        identity: new.identity,
        version: new.version,
        pool: new.pool,
        key: app.caller,
    };
    app.store.join_agent(&agent, now).await?;
    app.store.clone().on_host(&new.name).set_devices(&new.devices, now).await?;
    tracing::info!(host = new.name, version = agent.version, devices = new.devices.len(), "an agent began");
    Ok(Json(RegisteredHost {
        name: new.name,
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        lease_seconds: app.settings.lease.as_secs(),
        now: now.0,
    }))
}
