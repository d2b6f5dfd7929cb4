//! The server's imports: models that have begun are brought to their end, also those that a server before it began.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::run::run;
use crate::clock;
use crate::hub::Hub;
use crate::job::ModelId;
use crate::store::{Store, StoreError};

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
    let (mut running, mut imports) = (HashSet::new(), JoinSet::new());
    let stop = Arc::new(AtomicBool::new(false));
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Some(ended) = imports.join_next(), if !imports.is_empty() => {
                if let Ok(model) = ended {
                    running.remove(&model);
                }
                continue;
            }
            _ = shutdown.wait_for(|down| *down) => break,
        }
        if let Err(error) = look(&store, &hub, &stop, &mut running, &mut imports).await {
            tracing::warn!(%error, "models that are imported could not be looked after");
        }
    }
    // What they have is kept; the next server goes on.
    stop.store(true, Ordering::Relaxed);
    while imports.join_next().await.is_some() {}
}

async fn look(
    store: &Store,
    hub: &Hub,
    stop: &Arc<AtomicBool>,
    running: &mut HashSet<ModelId>,
    imports: &mut JoinSet<ModelId>,
) -> Result<(), StoreError> {
    store.fail_jobs_without_model(clock::now()).await?;
    store.drop_unwanted_models(LOOKED_AT, clock::now()).await?;
    for model in store.importing_models().await? {
        if running.len() >= AT_ONCE {
            break;
        }
        if !running.insert(model.id) {
            continue;
        }
        let (store, hub) = (store.clone(), hub.clone());
        // One whose model is deleted stops alone.
        let (own, all) = (Arc::new(AtomicBool::new(false)), Arc::clone(stop));
        imports.spawn(async move {
            let watched = Arc::clone(&own);
            let ended = run(&store, &hub, &model, own, |_| {
                if all.load(Ordering::Relaxed) {
                    watched.store(true, Ordering::Relaxed);
                }
            });
            if let Err(error) = ended.await {
                tracing::warn!(model = %model.id, %error, "an import is tried again");
            }
            model.id
        });
    }
    Ok(())
}
