//! The server's watch over the copies that the data directory keeps of what is in object storage.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::chain;
use crate::store::Store;

const LOOK: Duration = Duration::from_secs(300);

/// Watches until `shutdown` becomes true; `limit` is as in [`Store::trim_copies`].
pub async fn watch(store: Store, limit: Option<u64>, mut shutdown: watch::Receiver<bool>) {
    if !store.place().is_remote() {
        return;
    }
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = shutdown.wait_for(|down| *down) => return,
        }
        match store.trim_copies(limit).await {
            Ok(trimmed) if trimmed.files > 0 => {
                tracing::info!(
                    trimmed.files,
                    trimmed.removed,
                    trimmed.copies,
                    "copies were removed, for there were too many"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(error = chain(&error), "copies could not be looked through"),
        }
    }
}
