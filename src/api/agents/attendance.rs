//! Signs of life of agents' workers, gathered and written once a second: a thousand agents are then no more to the database
//! than one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::counts::Counted;
use super::{locked, worker};
use crate::api::App;
use crate::api::error::Problem;
use crate::clock;
use crate::job::{ApiKeyId, WorkerId};
use crate::store::{Lease, Store, StoreError};

/// How often what was gathered is written.
const WRITE: Duration = Duration::from_secs(1);
/// How long it is believed that a worker is one of the caller's.
const BELIEVED: Duration = Duration::from_secs(5);
/// Workers that are remembered at most.
const MOST: usize = 1 << 16;

/// The jobs of a worker, and for how long it has had the devices of each.
type Held = Vec<(Lease, Duration)>;

/// What was heard and is not written yet; clones share it.
#[derive(Clone, Default)]
pub struct Attendance(Arc<Inner>);

#[derive(Default)]
struct Inner {
    heard: Mutex<BTreeMap<WorkerId, Held>>,
    /// When it was looked up that a worker is the caller's.
    known: Mutex<HashMap<(WorkerId, Option<ApiKeyId>), Instant>>,
}

impl Attendance {
    /// Starts writing down what is heard until `shutdown` becomes true.
    pub fn start(store: Store, mut shutdown: watch::Receiver<bool>) -> Self {
        let attendance = Self::default();
        let own = attendance.clone();
        tokio::spawn(async move {
            let mut ticks = interval(WRITE);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !*shutdown.borrow() {
                tokio::select! {
                    _ = ticks.tick() => {}
                    _ = shutdown.changed() => {}
                }
                if let Err(error) = own.write(&store).await {
                    tracing::warn!(%error, "signs of life of agents are written later");
                }
            }
        });
        attendance
    }

    /// A worker of the caller's lives.
    pub async fn hear(&self, app: &App, id: WorkerId, held: Held) -> Result<(), Problem> {
        let key = (id, app.caller);
        let believed = locked(&self.0.known).get(&key).is_some_and(|since| since.elapsed() < BELIEVED);
        if !believed {
            worker(app, id).await?;
            let mut known = locked(&self.0.known);
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, Instant::now());
        }
        locked(&self.0.heard).insert(id, held);
        app.agent_counts.add(Counted::Renewal);
        Ok(())
    }

    /// A worker has ended.
    pub fn forget(&self, id: WorkerId) {
        locked(&self.0.known).retain(|(known, _), _| *known != id);
    }

    /// Writes down what was heard.
    pub async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let heard = std::mem::take(&mut *locked(&self.0.heard));
        if heard.is_empty() {
            return Ok(());
        }
        let written = store.beat_all(&heard, clock::now()).await;
        if written.is_err() {
            let mut later = locked(&self.0.heard);
            for (worker, held) in heard {
                later.entry(worker).or_insert(held);
            }
        }
        written
    }
}
