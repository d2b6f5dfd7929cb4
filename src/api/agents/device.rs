//! `POST /v1/agent/hosts/{host}/devices/{device}`

use axum::Json;

use super::wrong;
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Segments, read};
use crate::clock;
use crate::job::DeviceStatus;
use crate::job::agent::{DeviceReport, DeviceState, DeviceWord};
use crate::job::device::name_on;

/// Tell how a device is
///
/// The answer tells how the server sees it: a `faulted` device takes no jobs until a check finds it well.
#[utoipa::path(
    post,
    path = "/v1/agent/hosts/{host}/devices/{device}",
    tag = "agents",
    params(
        ("host" = String, Path, description = "The machine"),
        ("device" = String, Path, description = "The device's name on it, such as `cuda:0`"),
    ),
    request_body = DeviceReport,
    responses(
        (status = 200, body = DeviceState),
        (status = 404, description = "No such machine or device", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "It is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn tell_device(
    Agent(app): Agent,
    Segments(host, device): Segments<String, String>,
    JsonBody(body): JsonBody,
) -> Result<Json<DeviceState>, Problem> {
    let DeviceReport { r#type: word, reading, reason } = read(&body)?;
    app.store.check_agent(&host, app.caller).await?;
    let (name, store, now) = (name_on(&host, &device), &app.store, clock::now());
    match word {
        DeviceWord::Observed => match reading {
            Some(reading) if reading.name == name => drop(store.observe_device(&reading, now).await?),
            _ => return Err(wrong("/reading/name", format!("must be `{name}`"))),
        },
        DeviceWord::Faulted => {
            store.device(&name).await?;
            store.fault_device(&name, reason.as_deref().unwrap_or("its agent says so"), now).await?;
        }
        DeviceWord::CheckBegan => store.begin_check(&name, now).await?,
        DeviceWord::CheckEnded => store.end_check(&name, reason.as_deref(), now).await?,
        DeviceWord::Asked => {}
    }
    let row = store.device(&name).await?;
    let wanted = word == DeviceWord::Asked && row.status == DeviceStatus::Idle && store.starts_on(&name, now).await?;
    Ok(Json(DeviceState { wanted, ..row.into() }))
}
