//! Tells waiting requests that a job has new events. Workers are other processes and write to the database, so one
//! task looks for new events there and wakes whoever follows the job; nobody else polls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::job::JobId;
use crate::store::{Store, StoreError};

const POLL: Duration = Duration::from_millis(50);
const TOGETHER: Duration = Duration::from_millis(5);

/// A source of wake-ups.
#[derive(Clone, Debug)]
pub struct Feed {
    /// Woken by events of any job, with how often there was news of some.
    all: Arc<watch::Sender<u64>>,
    /// Jobs that somebody follows.
    jobs: Arc<Mutex<HashMap<JobId, watch::Sender<u64>>>>,
}

impl Feed {
    /// Starts looking for events until `shutdown` becomes true.
    pub fn start(store: Store, mut shutdown: watch::Receiver<bool>) -> Self {
        let feed = Self { all: Arc::new(watch::Sender::new(0)), jobs: Arc::default() };
        let own = feed.clone();
        tokio::spawn(async move {
            let mut ticks = interval(POLL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut position = None;
            while !*shutdown.borrow() {
                tokio::select! {
                    _ = ticks.tick() => {}
                    // What this server has written itself need not wait for the next tick; some of it is told together.
                    () = store.written() => tokio::time::sleep(TOGETHER).await,
                    _ = shutdown.changed() => continue,
                }
                match own.look(&store, position).await {
                    Ok(newest) => position = Some(newest),
                    Err(error) => tracing::warn!(%error, "events cannot be followed"),
                }
            }
        });
        feed
    }

    /// News of one job, or of all when there is none.
    pub fn follow(&self, job: Option<JobId>) -> Follower {
        let news = match job {
            None => self.all.subscribe(),
            Some(job) => {
                let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
                jobs.entry(job).or_insert_with(|| watch::Sender::new(0)).subscribe()
            }
        };
        Follower { news }
    }

    /// How often there was news of any job. What is looked up afterwards is as new as the last of it.
    pub fn count(&self) -> u64 {
        *self.all.borrow()
    }

    /// Wakes the followers of jobs with events behind `position`; returns the position of the newest event.
    async fn look(&self, store: &Store, position: Option<i64>) -> Result<i64, StoreError> {
        // Before the jobs: what is written in between is behind it and is told again.
        let newest = store.newest_event().await?;
        let news = match position {
            Some(position) => store.jobs_with_events_after(position).await?,
            None => Vec::new(),
        };
        if !news.is_empty() {
            self.all.send_modify(|count| *count += 1);
        }
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|_, followers| followers.receiver_count() > 0);
        for followers in news.iter().filter_map(|job| jobs.get(job)) {
            followers.send_modify(|count| *count += 1);
        }
        Ok(newest)
    }
}

/// Waits for news of one job or of all. Begin to follow before looking, or news in between is missed.
#[derive(Debug)]
pub struct Follower {
    news: watch::Receiver<u64>,
}

impl Follower {
    /// Returns when there may be new events, or at `deadline`.
    pub async fn wait_until(&mut self, deadline: Instant) {
        // An error would mean that the sender is gone, and it stays as long as it has a receiver.
        drop(timeout_at(deadline, self.news.changed()).await);
    }
}
