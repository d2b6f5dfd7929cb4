//! `GET /v1/devices`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::access::Access;
use super::error::Problem;
use super::extract::List;
use crate::clock;
use crate::job::{DeviceProcess, DeviceStatus, JobId, Timestamp};
use crate::store::{DeviceRow, Reserved};

/// A device that this server uses.
#[derive(Debug, Serialize, ToSchema)]
pub struct Device {
    /// `cpu`, `cuda:0`, `simulated:0`, ...
    #[schema(example = "cuda:0")]
    id: String,
    /// Always `device`.
    object: &'static str,
    /// The model.
    description: String,
    index: u32,
    /// What the driver knows a GPU by.
    uuid: Option<String>,
    /// Bytes.
    memory_total: u64,
    /// Bytes that a new job could take, when the device was last looked at.
    memory_free: u64,
    /// Of a GPU.
    #[schema(example = "9.0")]
    compute_capability: Option<String>,
    driver_version: Option<String>,
    /// Programs that compute on it.
    processes: Vec<Process>,
    /// `idle`; `busy` with a job; `reserved` for a waiting job that needs more devices than are free; `faulted`, and
    /// takes no jobs; `checking`, after a fault or before its worker is there; `foreign`, another program computes on
    /// it.
    #[schema(example = "idle")]
    status: &'static str,
    /// The jobs that hold it, but those of other projects; several where they share the weights of their model.
    jobs: Vec<String>,
    /// The first of them, or the job that it is reserved for; null where that is another project's.
    job: Option<String>,
    /// Why it takes no jobs.
    fault: Option<String>,
    /// Unix seconds.
    faulted_at: Option<i64>,
    /// How often it has failed since it was first used here.
    faults: u64,
    /// Unix seconds at which the status last changed.
    changed_at: i64,
    /// Unix seconds at which the device was last looked at.
    seen_at: i64,
    /// The worker process that tends it; null while none does.
    worker: Option<String>,
    pid: Option<u32>,
    /// Unix seconds at which the worker began.
    started_at: Option<i64>,
}

/// A program that computes on a device.
#[derive(Debug, Serialize, ToSchema)]
struct Process {
    pid: u32,
    /// Bytes of the device's memory; null where the driver does not say.
    memory_used: Option<u64>,
    /// Started by this server.
    ours: bool,
}

impl From<DeviceProcess> for Process {
    fn from(process: DeviceProcess) -> Self {
        Self { pid: process.pid, memory_used: process.memory_used, ours: process.ours }
    }
}

impl Device {
    fn of(row: DeviceRow, reserved: &[Reserved]) -> Self {
        let kept = reserved.iter().find(|kept| kept.device == row.name);
        let status = match (row.status, kept, &row.worker) {
            (DeviceStatus::Idle, Some(_), _) => DeviceStatus::Reserved,
            (DeviceStatus::Idle, None, None) => DeviceStatus::Checking,
            (status, _, _) => status,
        };
        Self {
            object: "device",
            index: row.number,
            status: status.as_str(),
            job: kept.map(|kept| kept.job.to_string()),
            jobs: row.jobs.iter().map(JobId::to_string).collect(),
            worker: row.worker.map(|(id, _, _)| id.to_string()),
            pid: row.worker.map(|(_, pid, _)| pid),
            started_at: row.worker.map(|(_, _, started_at)| started_at.unix_seconds()),
            id: row.name,
            description: row.description,
            uuid: row.uuid,
            memory_total: row.memory_total,
            memory_free: row.memory_free,
            compute_capability: row.compute_capability,
            driver_version: row.driver_version,
            processes: row.processes.into_iter().map(Process::from).collect(),
            fault: row.fault,
            faulted_at: row.faulted_at.map(Timestamp::unix_seconds),
            faults: row.faults,
            changed_at: row.changed_at.unix_seconds(),
            seen_at: row.seen_at.unix_seconds(),
        }
    }
}

/// The devices of this server, as a client sees them.
pub async fn devices(app: &App) -> Result<Vec<Device>, Problem> {
    let now = clock::now();
    let (rows, reserved) = (app.store.devices(now).await?, app.store.reserved(now).await?);
    let mut devices: Vec<Device> = rows.into_iter().map(|row| Device::of(row, &reserved)).collect();
    let jobs = devices.iter().flat_map(|device| device.jobs.iter().chain(&device.job)).cloned().collect();
    let own = app.store.own_jobs(jobs).await?;
    for device in &mut devices {
        device.jobs.retain(|job| own.contains(job));
        device.job.take_if(|job| !own.contains(job));
        device.job = device.jobs.first().cloned().or(device.job.take());
    }
    Ok(devices)
}

impl Device {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn status(&self) -> &'static str {
        self.status
    }

    /// Total and free, in bytes.
    pub fn memory(&self) -> (u64, u64) {
        (self.memory_total, self.memory_free)
    }

    pub fn faults(&self) -> u64 {
        self.faults
    }
}

/// List devices
#[utoipa::path(get, path = "/v1/devices", tag = "devices", responses((status = 200, body = List<Device>)))]
pub async fn list_devices(Access(app): Access) -> Result<Json<List<Device>>, Problem> {
    Ok(Json(list(&app).await?))
}

/// The same as it is answered.
pub async fn list(app: &App) -> Result<List<Device>, Problem> {
    Ok(List::new(devices(app).await?, u32::MAX, |device| device.id.clone()))
}
