//! The server's imports: models that have begun are brought to their end, also those that a server before it began.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::run::{Ended, run};
use crate::clock;
use crate::hub::Hub;
use crate::job::ModelId;
use crate::store::{ModelRow, Store, StoreError};

/// How often it is looked for models that have begun.
const LOOK: Duration = Duration::from_millis(500);
/// Models that are imported at once: each has connections of its own.
const AT_ONCE: usize = 2;
/// How long a model is kept that was only looked at.
const LOOKED_AT: Duration = Duration::from_secs(3600);

/// Imports until `shutdown` becomes true.
pub async fn watch(store: Store, hub: Hub, mut shutdown: watch::Receiver<bool>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (running, elsewhere, tasks) = (HashSet::new(), HashSet::new(), JoinSet::new());
    let mut imports = Imports { store, hub, running, elsewhere, tasks, stop: Arc::default() };
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Some(ended) = imports.tasks.join_next(), if !imports.tasks.is_empty() => {
                if let Ok((model, is_elsewhere)) = ended {
                    imports.running.remove(&model);
                    imports.elsewhere.extend(is_elsewhere.then_some(model));
                }
                continue;
            }
            _ = shutdown.wait_for(|down| *down) => break,
        }
        if let Err(error) = imports.look().await {
            tracing::warn!(%error, "models that are imported could not be looked after");
        }
    }
    // What they have is kept; the next server goes on.
    imports.stop.store(true, Ordering::Relaxed);
    while imports.tasks.join_next().await.is_some() {}
}

/// What is under way.
struct Imports {
    store: Store,
    hub: Hub,
    running: HashSet<ModelId>,
    /// Those that other processes were seen at, which wait for their turn behind the others.
    elsewhere: HashSet<ModelId>,
    /// Each with its model, and whether another process is at it.
    tasks: JoinSet<(ModelId, bool)>,
    stop: Arc<AtomicBool>,
}

impl Imports {
    async fn look(&mut self) -> Result<(), StoreError> {
        // What cannot be tidied up holds up nobody's model.
        for tidied in [
            self.store.fail_jobs_without_model(clock::now()).await,
            self.store.drop_unwanted_models(LOOKED_AT, clock::now()).await,
        ] {
            tidied.unwrap_or_else(|error| tracing::warn!(%error, "what imports left could not be tidied up"));
        }
        let (later, first): (Vec<ModelRow>, Vec<ModelRow>) =
            self.store.importing_models().await?.into_iter().partition(|model| self.elsewhere.contains(&model.id));
        self.elsewhere.retain(|model| later.iter().any(|row| row.id == *model));
        for model in first.into_iter().chain(later) {
            if self.running.len() >= AT_ONCE {
                break;
            }
            if self.running.insert(model.id) {
                self.begin(model);
            }
        }
        Ok(())
    }

    fn begin(&mut self, model: ModelRow) {
        let (store, hub, all) = (self.store.clone(), self.hub.clone(), Arc::clone(&self.stop));
        self.tasks.spawn(async move {
            // One whose model is deleted stops alone.
            let own = Arc::new(AtomicBool::new(false));
            let watched = Arc::clone(&own);
            let ended = run(&store, &hub, &model, own, |_| {
                if all.load(Ordering::Relaxed) {
                    watched.store(true, Ordering::Relaxed);
                }
            });
            let ended = ended.await;
            if let Err(error) = &ended {
                tracing::warn!(model = %model.id, %error, "an import is tried again");
            }
            (model.id, ended.is_ok_and(|ended| ended == Ended::Elsewhere))
        });
    }
}
