//! Tells waiting requests that a job has new events. Workers are other processes and write to the database, so one
//! task looks for new events there and wakes whoever follows the job; nobody else polls.

use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::job::JobId;
use crate::store::{Store, StoreError};

const POLL: Duration = Duration::from_millis(50);
/// Wake-ups that a slow follower may have outstanding; one that falls behind looks for itself.
const BACKLOG: usize = 1024;

/// A source of wake-ups.
#[derive(Clone, Debug)]
pub struct Feed {
    wakeups: broadcast::Sender<JobId>,
}

impl Feed {
    /// Starts looking for events until `shutdown` becomes true.
    pub fn start(store: Store, mut shutdown: watch::Receiver<bool>) -> Self {
        let (wakeups, _) = broadcast::channel(BACKLOG);
        let feed = Self { wakeups: wakeups.clone() };
        tokio::spawn(async move {
            let mut ticks = interval(POLL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut position = None;
            while !*shutdown.borrow() {
                tokio::select! {
                    _ = ticks.tick() => {}
                    _ = shutdown.changed() => continue,
                }
                match look(&store, position, &wakeups).await {
                    Ok(newest) => position = Some(newest),
                    Err(error) => tracing::warn!(%error, "events cannot be followed"),
                }
            }
        });
        feed
    }

    /// News of one job, or of all when there is none.
    pub fn follow(&self, job: Option<JobId>) -> Follower {
        Follower { job, wakeups: self.wakeups.subscribe() }
    }
}

async fn look(store: &Store, position: Option<i64>, wakeups: &broadcast::Sender<JobId>) -> Result<i64, StoreError> {
    let newest = store.newest_event().await?;
    if let Some(position) = position.filter(|position| *position < newest) {
        for job in store.jobs_with_events_after(position).await? {
            // An error only says that nobody follows anything.
            drop(wakeups.send(job));
        }
    }
    Ok(newest)
}

/// Waits for news of one job or of all. Begin to follow before looking, or news in between is missed.
#[derive(Debug)]
pub struct Follower {
    job: Option<JobId>,
    wakeups: broadcast::Receiver<JobId>,
}

impl Follower {
    /// Returns when there may be new events, or at `deadline`.
    pub async fn wait_until(&mut self, deadline: Instant) {
        loop {
            match timeout_at(deadline, self.wakeups.recv()).await {
                Ok(Ok(job)) if self.job.is_some_and(|followed| followed != job) => {}
                Ok(Ok(_) | Err(_)) | Err(_) => return,
            }
        }
    }
}
