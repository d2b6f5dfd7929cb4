//! Projects: what they may use, and what they use.

pub mod get;
pub mod list;
pub mod set;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::store::{ProjectLimits, ProjectRow};

/// What a project may use; where a field is null or absent, what the server's settings say, and else no limit.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// How often its jobs start where those of other projects wait as well: twice as often with twice the share; null: 1.
    #[schema(minimum = 1, maximum = 1000)]
    share: Option<u32>,
    /// Requests a minute of each of its keys.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    requests_per_minute: Option<u64>,
    /// Jobs that are not final.
    #[schema(maximum = 1_000_000_000)]
    max_unfinished_jobs: Option<u64>,
    /// Devices that its jobs hold at the same time.
    #[schema(maximum = 1_000_000_000)]
    max_devices: Option<u64>,
    /// Bytes of its data sets, checkpoints and rollout sets.
    #[schema(maximum = 1_000_000_000_000_000_i64)]
    max_storage_bytes: Option<u64>,
}

impl From<ProjectLimits> for Limits {
    fn from(limits: ProjectLimits) -> Self {
        let ProjectLimits { share, requests_per_minute, max_unfinished_jobs, max_devices, max_storage_bytes } = limits;
        Self { share, requests_per_minute, max_unfinished_jobs, max_devices, max_storage_bytes }
    }
}

impl From<Limits> for ProjectLimits {
    fn from(limits: Limits) -> Self {
        let Limits { share, requests_per_minute, max_unfinished_jobs, max_devices, max_storage_bytes } = limits;
        Self { share, requests_per_minute, max_unfinished_jobs, max_devices, max_storage_bytes }
    }
}

/// A project. It need not be made: it is there once a key or a job names it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Project {
    /// The name.
    #[schema(example = "default")]
    pub id: String,
    /// Always `project`.
    object: &'static str,
    limits: Limits,
    usage: ProjectUsage,
}

/// What a project uses at the moment.
#[derive(Debug, Serialize, ToSchema)]
struct ProjectUsage {
    unfinished_jobs: u64,
    devices: u64,
    storage_bytes: u64,
}

impl From<ProjectRow> for Project {
    fn from(row: ProjectRow) -> Self {
        let usage = ProjectUsage {
            unfinished_jobs: row.unfinished_jobs,
            devices: row.devices,
            storage_bytes: row.storage_bytes,
        };
        Self { id: row.name, object: "project", limits: row.limits.into(), usage }
    }
}
