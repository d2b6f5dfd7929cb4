//! Where a worker reads what it is to do and writes what became of it: the store, or, on a machine without the database, a
//! server's API (`remote`). Both keep the same promises; what time it is they know themselves.

use std::fmt::Debug;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::rendezvous::{self, ELSEWHERE};
use super::{POLL, time};
use crate::clock;
use crate::config::elsewhere;
use crate::job::agent::{DeviceState, Part, Rendezvous};
use crate::job::{DeviceReading, DeviceStatus, NewEvent, WorkerId};
use crate::spec::ModelRef;
use crate::store::{
    Added, Claim, Ended, Files, Heartbeat, Lease, Materials, NewArtifact, Place, Result, Store, StoredModel, WorkerRow,
};

/// What a worker is to do next.
#[derive(Debug)]
pub enum Next {
    /// To run a job.
    Run(Box<Claim>),
    /// To take part in a job that the worker of another machine runs.
    TakePart(Lease, Part),
}

/// A worker's view of the service. Errors are those of the store whoever answers.
#[async_trait]
pub trait Ledger: Debug + Send + Sync {
    /// The folders of this machine's disk.
    fn files(&self) -> &Files;

    /// Where stored files lie.
    fn place(&self) -> &Place;

    /// Tells a process of this program that is about to start where to find the same.
    fn lead(&self, command: &mut Command);

    /// What this machine's disk lacks to take jobs, for one that nobody else looks after.
    fn shortage(&self) -> Option<String> {
        None
    }

    /// A job found too little room on this machine's disk, which nobody else looks after.
    fn note_shortage(&self) {}

    /// Sets this process's clock by the service's.
    async fn follow_time(&self) -> Result<()>;

    async fn device(&self, name: &str) -> Result<DeviceState>;

    /// Makes a device known, if it is not yet.
    async fn add_device(&self, reading: &DeviceReading) -> Result<()>;

    /// Writes down a look at a device.
    async fn observe_device(&self, reading: &DeviceReading) -> Result<DeviceState>;

    /// A device has failed: it takes no jobs, and those that it ran are lost.
    async fn fault_device(&self, name: &str, reason: &str) -> Result<()>;

    async fn begin_check(&self, name: &str) -> Result<()>;

    /// A check has ended: the device is well, or `fault` says why not.
    async fn end_check(&self, name: &str, fault: Option<&str>) -> Result<()>;

    async fn add_worker(&self, worker: WorkerId, device: &DeviceState) -> Result<()>;

    /// Requeues the jobs of a worker that ends or has ended; returns how many.
    async fn release_worker(&self, worker: WorkerId, reason: &str, blameless: bool) -> Result<usize>;

    /// A sign of life, with how long the worker has had the devices of each of its jobs.
    async fn beat(&self, worker: WorkerId, held: &[(Lease, Duration)]) -> Result<()>;

    /// What the worker of a device is to do next. Waits a while for something; may be dropped meanwhile. `held` are the jobs
    /// that it has, or has taken part in lately: of others it was never told.
    async fn next(&self, worker: WorkerId, device: &str, held: &[Lease]) -> Result<Option<Next>>;

    /// Where workers of other machines probably reach this one.
    fn own_address(&self) -> IpAddr;

    /// The worker of a job waits for those of other machines.
    async fn open_rendezvous(&self, lease: Lease, at: &Rendezvous) -> Result<()>;

    /// A job as it was claimed, for another process that takes part in it.
    async fn claimed(&self, lease: Lease) -> Result<Claim>;

    /// Where lies what a claimed job reads.
    async fn materials(&self, claim: &Claim) -> Result<Materials>;

    /// Where a model lies that a request for completions names. `seed` is what a built-in without weights draws them from.
    async fn stored_model(&self, model: &ModelRef, seed: u64) -> Result<StoredModel>;

    /// What is asked of the worker of a job, which has `held` its devices for so long. Waits a while for something else than
    /// to go on.
    async fn heed(&self, lease: Lease, held: Duration) -> Result<Heartbeat>;

    /// Adds events of a running attempt, before which it reported `first` others. Those that are there already are not
    /// added again.
    async fn record(&self, lease: Lease, first: u64, events: &[NewEvent]) -> Result<()>;

    /// Makes an artifact visible whose files lie at their place.
    async fn add_artifact(&self, lease: Lease, new: NewArtifact<'_>) -> Result<Added>;

    /// Ends an attempt, and removes what the job needs no more.
    async fn end_attempt(&self, lease: Lease, ended: &Ended) -> Result<()>;
}

/// As the parts of a worker share it.
pub type SharedLedger = Arc<dyn Ledger>;

#[async_trait]
impl Ledger for Store {
    fn files(&self) -> &Files {
        Store::files(self)
    }

    fn place(&self) -> &Place {
        Store::place(self)
    }

    fn lead(&self, command: &mut Command) {
        command.arg("--data-dir").arg(self.files().root()).envs(elsewhere());
    }

    async fn follow_time(&self) -> Result<()> {
        time::follow(self).await
    }

    async fn device(&self, name: &str) -> Result<DeviceState> {
        let row = Store::device(self, name).await?;
        let wanted = row.status == DeviceStatus::Idle && self.starts_on(name, clock::now()).await?;
        Ok(DeviceState { wanted, ..row.into() })
    }

    async fn add_device(&self, reading: &DeviceReading) -> Result<()> {
        Store::add_device(self, reading, clock::now()).await
    }

    async fn observe_device(&self, reading: &DeviceReading) -> Result<DeviceState> {
        Ok(Store::observe_device(self, reading, clock::now()).await?.into())
    }

    async fn fault_device(&self, name: &str, reason: &str) -> Result<()> {
        Store::fault_device(self, name, reason, clock::now()).await
    }

    async fn begin_check(&self, name: &str) -> Result<()> {
        Store::begin_check(self, name, clock::now()).await
    }

    async fn end_check(&self, name: &str, fault: Option<&str>) -> Result<()> {
        Store::end_check(self, name, fault, clock::now()).await
    }

    async fn add_worker(&self, worker: WorkerId, device: &DeviceState) -> Result<()> {
        let now = clock::now();
        let row = WorkerRow {
            id: worker,
            device: device.name.clone(),
            description: device.description.clone(),
            pid: std::process::id(),
            started_at: now,
            seen_at: now,
        };
        Store::add_worker(self, &row).await
    }

    async fn release_worker(&self, worker: WorkerId, reason: &str, blameless: bool) -> Result<usize> {
        Store::release_worker(self, worker, reason, blameless, clock::now()).await
    }

    async fn beat(&self, worker: WorkerId, held: &[(Lease, Duration)]) -> Result<()> {
        Store::beat(self, worker, held, clock::now()).await
    }

    async fn next(&self, worker: WorkerId, device: &str, held: &[Lease]) -> Result<Option<Next>> {
        tokio::time::sleep(POLL).await;
        if let Some(claim) = self.claim(worker, device, clock::now()).await? {
            return Ok(Some(Next::Run(Box::new(claim))));
        }
        let parts = self.open_parts().await?.into_iter();
        let mut own = parts.filter(|open| open.device == device && !held.contains(&open.lease));
        Ok(own.next().map(|open| Next::TakePart(open.lease, open.part)))
    }

    fn own_address(&self) -> IpAddr {
        rendezvous::own_address(ELSEWHERE)
    }

    async fn open_rendezvous(&self, lease: Lease, at: &Rendezvous) -> Result<()> {
        Store::open_rendezvous(self, lease, at, clock::now()).await
    }

    async fn claimed(&self, lease: Lease) -> Result<Claim> {
        Store::claimed(self, lease).await
    }

    async fn materials(&self, claim: &Claim) -> Result<Materials> {
        Store::materials(self, claim.lease.job, &claim.spec).await
    }

    async fn stored_model(&self, model: &ModelRef, seed: u64) -> Result<StoredModel> {
        Store::stored_model(self, model, seed).await
    }

    async fn heed(&self, lease: Lease, held: Duration) -> Result<Heartbeat> {
        tokio::time::sleep(POLL).await;
        self.check_lease(lease, held + POLL, clock::now()).await
    }

    async fn record(&self, lease: Lease, first: u64, events: &[NewEvent]) -> Result<()> {
        self.record_from(lease, first, events, clock::now()).await
    }

    async fn add_artifact(&self, lease: Lease, new: NewArtifact<'_>) -> Result<Added> {
        Store::add_artifact(self, lease, new, clock::now()).await
    }

    async fn end_attempt(&self, lease: Lease, ended: &Ended) -> Result<()> {
        self.conclude(lease, ended, clock::now()).await
    }
}
