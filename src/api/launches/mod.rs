//! `/v1/launches`: machines that a cluster's scheduler starts for jobs that no device fits.

pub mod get;
pub mod list;

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::Problem;
use crate::job::Timestamp;
use crate::store::LaunchRow;

/// A machine that was asked of a cluster's scheduler.
#[derive(Debug, Serialize, ToSchema)]
pub struct Launch {
    /// Also the name of its machine.
    #[schema(example = "lau_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `launch`.
    object: &'static str,
    /// Which of the server's launchers.
    #[schema(example = "cluster")]
    launcher: String,
    /// The job that it is for; the machine runs whatever is next in the queue and fits.
    job: Option<String>,
    /// Devices that its machine is to have.
    devices: u32,
    /// Bytes that each of them is said to have.
    memory: u64,
    /// `requested`, and the cluster is about to be asked; `waiting` in the cluster's queue; `running`, its machine works for
    /// this server; `ended`; `failed`, the cluster refused it or its machine never came to work.
    #[schema(example = "waiting")]
    status: &'static str,
    /// What the cluster calls it.
    #[schema(example = "4711")]
    reference: Option<String>,
    /// The cluster's machine that it has.
    #[schema(example = "node-17")]
    node: Option<String>,
    /// What the cluster says of it, or why it is over.
    message: Option<String>,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds at which the cluster had it.
    submitted_at: Option<i64>,
    /// Unix seconds at which its machine began to work for this server.
    began_at: Option<i64>,
    /// Unix seconds at which a job began on it.
    claimed_at: Option<i64>,
    /// Unix seconds.
    ended_at: Option<i64>,
}

impl From<LaunchRow> for Launch {
    fn from(row: LaunchRow) -> Self {
        let seconds = |time: Option<Timestamp>| time.map(Timestamp::unix_seconds);
        Self {
            id: row.id.to_string(),
            object: "launch",
            launcher: row.launcher,
            job: Some(row.job.to_string()),
            devices: row.devices,
            memory: row.memory,
            status: row.status.as_str(),
            reference: row.reference,
            node: row.node,
            message: row.message,
            created_at: row.created_at.unix_seconds(),
            submitted_at: seconds(row.submitted_at),
            began_at: seconds(row.began_at),
            claimed_at: seconds(row.claimed_at),
            ended_at: seconds(row.ended_at),
        }
    }
}

/// Launches as the caller sees them: without the jobs of others.
async fn seen(app: &App, rows: Vec<LaunchRow>) -> Result<Vec<Launch>, Problem> {
    let own = app.store.own_jobs(rows.iter().map(|row| row.job.to_string()).collect()).await?;
    let mut launches: Vec<Launch> = rows.into_iter().map(Launch::from).collect();
    launches.iter_mut().for_each(|launch| drop(launch.job.take_if(|job| !own.contains(job))));
    Ok(launches)
}
