//! The server's watch over the disk: it keeps a reserve for what frees space, and looks when the jobs that found the disk
//! full can go on.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::chain;
use crate::clock;
use crate::job::JobId;
use crate::store::{Store, StoreError};

const LOOK: Duration = Duration::from_secs(1);

/// Watches until `shutdown` becomes true.
pub async fn watch(store: Store, mut shutdown: watch::Receiver<bool>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waiting = BTreeMap::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = shutdown.wait_for(|down| *down) => return,
        }
        if let Err(error) = look(&store, &mut waiting).await {
            tracing::warn!(error = chain(&error), "the disk could not be looked after");
        }
    }
}

/// `waiting` says since when jobs wait, by a clock that nobody sets.
async fn look(store: &Store, waiting: &mut BTreeMap<JobId, Instant>) -> Result<(), StoreError> {
    let waits = store.space_waits().await?;
    waiting.retain(|job, _| waits.iter().any(|wait| wait.job == *job));
    let mut free = store.free_bytes()?;
    for wait in waits {
        let waited = waiting.entry(wait.job).or_insert_with(Instant::now).elapsed();
        let now = clock::now();
        if wait.is_over(free, now) {
            // What it needs is not there for the next one as well.
            free = free.saturating_sub(wait.needs);
            store.end_space_wait(wait.job, now).await?;
        } else if waited.as_secs() >= wait.limit_seconds {
            store.fail_space_wait(wait.job, now).await?;
        }
    }
    store.keep_reserve()
}
