//! What agents ask: machines without the database that run jobs (docs/agents.md). An agent's key opens nothing else, and one
//! agent does not speak for another.

pub mod artifact;
pub mod attendance;
pub mod beat;
pub mod calls;
pub mod claim;
pub mod counts;
pub mod device;
pub mod end;
pub mod events;
pub mod files;
pub mod heed;
pub mod host;
pub mod lease;
pub mod openings;
pub mod rendezvous;
pub mod upload;
pub mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use utoipa::IntoParams;

use super::App;
use super::error::Problem;
use crate::job::agent::{Assignment, MAX_WAIT_SECONDS};
use crate::job::device::split_name;
use crate::job::{FieldError, JobId, WorkerId};
use crate::store::{AgentWorker, Claim, Lease, Location, StoreError};

/// What is remembered of leases at most.
const MOST_LEASES: usize = 4096;
/// How often it is looked again while nobody has told of any news.
const LOOK: Duration = Duration::from_secs(1);

/// For how long an agent wants to wait for an answer.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WaitParams {
    /// Seconds to wait for news at most, 0 to 30.
    #[serde(default)]
    #[param(minimum = 0, maximum = 30)]
    wait: u64,
}

impl WaitParams {
    fn deadline(&self) -> Result<Instant, Problem> {
        if self.wait > MAX_WAIT_SECONDS {
            let detail = format!("`wait` is at most {MAX_WAIT_SECONDS}");
            return Err(Problem::bad_request("invalid_parameter", detail));
        }
        Ok(Instant::now() + Duration::from_secs(self.wait))
    }
}

/// Where lies what the jobs of agents read, by their leases.
#[derive(Default)]
pub struct Readable(Mutex<HashMap<Lease, Arc<[Location]>>>);

/// What is behind a lock is whole between any two statements.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The worker `id`, if it is one of the caller's.
async fn worker(app: &App, id: WorkerId) -> Result<AgentWorker, Problem> {
    Ok(app.store.agent_worker(id, app.caller).await?)
}

/// The lease of a path, if a worker of the caller's has it or had it.
async fn own_lease(app: &App, job: JobId, attempt: u32) -> Result<Lease, Problem> {
    let lease = Lease { job, attempt };
    let holder = app.store.worker_of(lease).await?;
    match app.store.agent_worker(holder, app.caller).await {
        Ok(_) => Ok(lease),
        // It has ended, and what it held with it.
        Err(StoreError::NotFound { .. }) => Err(StoreError::LeaseLost.into()),
        Err(error) => Err(error.into()),
    }
}

/// The lease of a path, if a device of the caller's is among those of the attempt.
async fn shared_lease(app: &App, job: JobId, attempt: u32) -> Result<Lease, Problem> {
    let lease = Lease { job, attempt };
    let mut refused = StoreError::LeaseLost;
    for device in app.store.devices_of(lease).await? {
        match app.store.check_agent(split_name(&device).0, app.caller).await {
            Ok(()) => return Ok(lease),
            Err(error) => refused = error,
        }
    }
    Err(refused.into())
}

impl App {
    /// Whether a worker may read what lies there: what the jobs on its device refer to and what they have made, and the model
    /// of a request that it answers.
    async fn may_read(&self, worker: &AgentWorker, what: &Location) -> Result<bool, Problem> {
        if self.calls.lets_read(worker.id, what) {
            return Ok(true);
        }
        for lease in self.store.jobs_on(&worker.device).await? {
            if Location::job(lease.job).holds(what) {
                return Ok(true);
            }
            let known = locked(&self.readable.0).get(&lease).cloned();
            let locations = match known {
                Some(locations) => locations,
                None => {
                    let claim = self.store.claimed(lease).await?;
                    let materials = self.store.materials(lease.job, &claim.spec).await?;
                    let locations: Arc<[Location]> = materials.locations().chain(&claim.resume).cloned().collect();
                    let mut leases = locked(&self.readable.0);
                    if leases.len() >= MOST_LEASES {
                        leases.clear();
                    }
                    leases.insert(lease, Arc::clone(&locations));
                    locations
                }
            };
            if locations.iter().any(|location| location.holds(what)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A claim as it is told.
    async fn assignment(&self, claim: Claim) -> Result<Assignment, Problem> {
        let Claim { lease, attributes, spec, spec_digest, resume, verification, trace, .. } = claim;
        let materials = self.store.materials(lease.job, &spec).await?;
        Ok(Assignment {
            job: lease.job,
            attempt: lease.attempt,
            kind: spec.work.kind().as_str().to_owned(),
            spec: spec.to_value(&attributes),
            spec_digest,
            devices: self.store.devices_of(lease).await?,
            resume: resume.iter().map(|location| location.name().to_owned()).collect(),
            verification: verification.map(|verification| json!(verification)),
            materials: json!(materials),
            part: None,
            trace,
        })
    }
}

/// A body with a member that is not as it must be.
fn wrong(pointer: &str, error: impl std::fmt::Display) -> Problem {
    Problem::invalid(vec![FieldError::new(pointer, "invalid_value", error.to_string())])
}

/// A location within the place, as an agent names it.
fn location(path: &str) -> Result<Location, Problem> {
    Location::try_from(path.to_owned()).map_err(|detail| Problem::bad_request("invalid_parameter", detail))
}

/// What is not there for a worker.
fn not_for(worker: WorkerId, what: &Location) -> Problem {
    let detail = format!("no job that {worker} holds refers to `{}`", what.name());
    Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
}
