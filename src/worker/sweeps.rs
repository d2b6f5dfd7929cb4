//! Sweeps go on: when jobs of one end, the next trials take their places in the queue.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::chain;
use crate::clock;
use crate::store::Store;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);

/// Until `shutdown` becomes true.
pub async fn watch(store: Store, mut shutdown: watch::Receiver<bool>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = shutdown.wait_for(|down| *down) => return,
        }
        if let Err(error) = store.advance_sweeps(clock::now()).await {
            tracing::warn!(error = chain(&error), "sweeps could not go on; it is tried again");
        }
    }
}
