//! `/v1/hosts`: the machines that run jobs, and which of them are to be left alone.

pub mod change;
pub mod list;

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::error::Problem;
use crate::clock;
use crate::job::device::split_name;
use crate::job::{JobId, Timestamp};
use crate::store::{DeviceRow, HostRow};

/// A machine that was not seen for so long is gone.
const GONE_MILLISECONDS: i64 = 30_000;

/// A machine that runs jobs: one with a server, or an agent's.
#[derive(Debug, Serialize, ToSchema)]
pub struct Host {
    /// Its name, with which the names of its devices begin; `local` has none before them.
    #[schema(example = "gpu-1")]
    id: String,
    /// Always `host`.
    object: &'static str,
    /// `server`, or `agent`.
    kind: &'static str,
    /// `ready`; `cordoned`, and takes no new jobs; `draining`, and lets go of those that it has; `drained`; `gone`, and was not
    /// seen for 30 seconds.
    #[schema(example = "ready")]
    status: &'static str,
    /// What its operator calls machines like it.
    pool: Option<String>,
    /// Of its program.
    version: String,
    /// Its devices.
    devices: Vec<String>,
    /// The jobs that it runs, of those that the caller sees.
    jobs: Vec<String>,
    /// Unix seconds since when it takes no new jobs.
    cordoned_at: Option<i64>,
    /// Unix seconds at which its server or agent began.
    started_at: i64,
    /// Unix seconds at which it was seen last.
    seen_at: i64,
}

impl Host {
    pub const STATUSES: [&str; 5] = ["ready", "cordoned", "draining", "drained", "gone"];

    pub fn status(&self) -> &'static str {
        self.status
    }

    fn of(row: HostRow, devices: &[DeviceRow], own: &str) -> Self {
        let devices = || devices.iter().filter(|device| split_name(&device.name).0 == row.name);
        let jobs: BTreeSet<String> = devices().flat_map(|device| &device.jobs).map(JobId::to_string).collect();
        let jobs: Vec<String> = jobs.into_iter().collect();
        let now = clock::now();
        let seen_at = if row.name == own { now } else { row.seen_at };
        let status = if now.0 - seen_at.0 >= GONE_MILLISECONDS {
            "gone"
        } else {
            match (row.cordoned_at, row.drained_at, jobs.is_empty()) {
                (_, Some(_), false) => "draining",
                (_, Some(_), true) => "drained",
                (Some(_), None, _) => "cordoned",
                (None, None, _) => "ready",
            }
        };
        Self {
            object: "host",
            kind: if row.is_agent { "agent" } else { "server" },
            status,
            devices: devices().map(|device| device.name.clone()).collect(),
            jobs,
            pool: row.pool,
            version: row.version,
            cordoned_at: row.cordoned_at.map(Timestamp::unix_seconds),
            started_at: row.started_at.unix_seconds(),
            seen_at: seen_at.unix_seconds(),
            id: row.name,
        }
    }
}

/// All machines, each with those of its jobs that the caller sees.
pub async fn hosts(app: &App) -> Result<Vec<Host>, Problem> {
    let (rows, devices) = (app.store.hosts().await?, app.store.devices(clock::now()).await?);
    let mut hosts: Vec<Host> = rows.into_iter().map(|row| Host::of(row, &devices, app.store.host())).collect();
    let own = app.store.own_jobs(hosts.iter().flat_map(|host| &host.jobs).cloned().collect()).await?;
    hosts.iter_mut().for_each(|host| host.jobs.retain(|job| own.contains(job)));
    Ok(hosts)
}
