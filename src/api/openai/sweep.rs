//! Removes what its time is over for: uploads that nobody completed, with their parts, and files with an expiry.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::uploads::MOST_SECONDS;
use crate::clock;
use crate::store::{Store, StoreError};

const EVERY: Duration = Duration::from_secs(60);
/// No upload lives as long as this, so that a part of this age has none.
const OLDEST_PART: Duration = Duration::from_secs(MOST_SECONDS + 3600);

/// Starts sweeping until `shutdown` becomes true.
pub fn start(store: Store, mut shutdown: watch::Receiver<bool>) {
    tokio::spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !*shutdown.borrow() {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = shutdown.changed() => continue,
            }
            if let Err(error) = sweep(&store).await {
                tracing::warn!(%error, "expired uploads cannot be removed");
            }
        }
    });
}

async fn sweep(store: &Store) -> Result<(), StoreError> {
    let now = clock::now();
    store.expire_uploads(now).await?;
    store.expire_files(now).await?;
    store.sweep_parts(OLDEST_PART).await
}
