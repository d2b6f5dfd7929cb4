//! `GET /v1/devices`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::error::Problem;
use super::extract::List;
use crate::clock;
use crate::job::Timestamp;
use crate::store::WorkerRow;

/// A worker that was not seen for so long does not count.
const SEEN_MILLISECONDS: i64 = 60_000;

/// A device and the worker that tends it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Device {
    /// `cpu`, `cuda:0`, ...
    #[schema(example = "cpu")]
    id: String,
    /// Always `device`.
    object: &'static str,
    description: String,
    /// `idle` or `busy`.
    status: &'static str,
    /// The job it runs.
    job: Option<String>,
    worker: String,
    pid: u32,
    /// Unix seconds.
    started_at: i64,
}

impl From<WorkerRow> for Device {
    fn from(row: WorkerRow) -> Self {
        Self {
            id: row.device,
            object: "device",
            description: row.description,
            status: if row.job.is_some() { "busy" } else { "idle" },
            job: row.job.map(|job| job.to_string()),
            worker: row.id.to_string(),
            pid: row.pid,
            started_at: row.started_at.unix_seconds(),
        }
    }
}

/// List devices
#[utoipa::path(get, path = "/v1/devices", tag = "devices", responses((status = 200, body = List<Device>)))]
pub async fn list_devices(State(app): State<App>) -> Result<Json<List<Device>>, Problem> {
    let since = Timestamp(clock::now().0 - SEEN_MILLISECONDS);
    let rows = app.store.live_workers(since).await?;
    Ok(Json(List::new(rows.into_iter().map(Device::from), u32::MAX, |d| d.id.clone())))
}
