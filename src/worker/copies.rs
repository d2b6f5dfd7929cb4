//! The watch over the copies that a data directory keeps of what lies elsewhere: in object storage, or, of an agent, at its
//! server.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::chain;
use crate::store::{Place, Result, Store, Trimmed};

const LOOK: Duration = Duration::from_secs(300);

/// Whose copies they are.
pub enum Copies {
    OfServer(Store),
    OfAgent(Place),
}

impl Copies {
    async fn trim(&self, limit: Option<u64>) -> Result<Trimmed> {
        match self {
            Self::OfServer(store) => store.trim_copies(limit).await,
            Self::OfAgent(place) => place.trim_as_agent(limit).await,
        }
    }
}

/// Watches until `shutdown` becomes true; `limit` is as in [`Store::trim_copies`].
pub async fn watch(copies: Copies, limit: Option<u64>, mut shutdown: watch::Receiver<bool>) {
    if matches!(&copies, Copies::OfServer(store) if !store.place().is_remote()) {
        return;
    }
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = shutdown.wait_for(|down| *down) => return,
        }
        match copies.trim(limit).await {
            Ok(Trimmed { copies, removed, files }) if files > 0 => {
                tracing::info!(files, removed, copies, "copies were removed, for there were too many");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(error = chain(&error), "copies could not be looked through"),
        }
    }
}
