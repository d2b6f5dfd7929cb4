//! Signs of life, for the server to count, whatever else the worker does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::chain;
use super::ledger::SharedLedger;
use crate::job::WorkerId;
use crate::store::Lease;

/// How many signs of life fit into the time for which a worker may be silent.
const BEATS: u32 = 3;

/// Gives signs of life until it is dropped.
pub struct Beats {
    ledger: SharedLedger,
    worker: WorkerId,
    held: Arc<Mutex<Vec<Held>>>,
    task: JoinHandle<()>,
}

/// A job that the worker runs, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    lease: Lease,
    since: Instant,
}

impl Held {
    /// How long the worker has had the job's devices, by a clock that nobody sets.
    pub fn lasts(&self) -> Duration {
        self.since.elapsed()
    }
}

impl Beats {
    /// Begins to give signs of life of a worker that may be silent for `patience`.
    pub fn start(ledger: &SharedLedger, worker: WorkerId, patience: Duration) -> Self {
        let held = Arc::default();
        let mut ticks = interval(patience / BEATS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (own, shared) = (Arc::clone(ledger), Arc::clone(&held));
        let task = tokio::spawn(async move {
            loop {
                ticks.tick().await;
                if let Err(error) = own.follow_time().await {
                    tracing::warn!(error = chain(&error), "the time cannot be compared with the service's");
                }
                beat(&own, worker, &shared).await;
            }
        });
        Self { ledger: Arc::clone(ledger), worker, held, task }
    }

    /// From now on the worker runs a job.
    pub fn take(&self, lease: Lease) -> Held {
        let held = Held { lease, since: Instant::now() };
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        held
    }

    /// The jobs that the worker runs.
    pub fn held(&self) -> Vec<Lease> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|held| held.lease).collect()
    }

    /// The worker is about to end an attempt: how long it had the devices is written down for the last time.
    pub async fn let_go(&self, lease: Lease) {
        beat(&self.ledger, self.worker, &self.held).await;
        self.held.lock().unwrap_or_else(PoisonError::into_inner).retain(|held| held.lease != lease);
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn beat(ledger: &SharedLedger, worker: WorkerId, held: &Mutex<Vec<Held>>) {
    let held = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let held: Vec<(Lease, Duration)> = held.iter().map(|held| (held.lease, held.lasts())).collect();
    if let Err(error) = ledger.beat(worker, &held).await {
        tracing::warn!(error = chain(&error), "the worker could not report that it is alive");
    }
}
