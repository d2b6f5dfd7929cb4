//! Webhooks: messages about jobs to servers that clients name. One task of `anneal serve` turns the event log into
//! deliveries and sends those that are due.
//!
//! What is to be sent stands in the database before it is sent and until it has arrived, so that an end of the process
//! at any moment loses nothing; a try whose outcome was not written down is made again. A receiver may therefore see a
//! message twice, with the same `webhook-id`, and messages may overtake each other.

mod format;
mod send;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::clock;
use crate::job::{Timestamp, WebhookDeliveryId, WebhookEndpointId};
use crate::outbound::Guard;
use crate::store::{DueDelivery, Store, StoreError, WebhookAttempt, WebhookOutcome};
use send::Sender;

/// The setting with what webhooks may reach besides public addresses.
pub const SETTING: &str = "webhook_allow_private";

/// How often the log is looked at.
const POLL: Duration = Duration::from_millis(100);
/// Tries under way, in all, of one project and to one endpoint: slow receivers must not hold up those of others.
const MOST_AT_ONCE: usize = 32;
const MOST_PER_PROJECT: usize = 12;
const MOST_PER_ENDPOINT: u32 = 4;
/// How long a try whose outcome could not be written down waits before it is made again.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Tries under way get this long when the server ends.
const GRACE: Duration = Duration::from_secs(1);
/// Old deliveries are removed this often, and when they are this old.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
const KEPT_SECONDS: i64 = 30 * 24 * 3600;

/// A new secret.
pub fn new_secret() -> Result<crate::job::webhook::Secret, getrandom::Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(crate::job::webhook::Secret::from_key(&key))
}

/// Sends what is to be sent until `shutdown` becomes true. A failed try is repeated after the seconds in
/// `retry_seconds`, one after the other.
pub async fn run(store: Store, guard: Guard, retry_seconds: Vec<u64>, mut shutdown: watch::Receiver<bool>) {
    let mut dispatcher = Dispatcher {
        store,
        sender: Sender::new(guard),
        retry_seconds: retry_seconds.into(),
        under_way: HashMap::new(),
        tries: JoinSet::new(),
        told: 0,
        prune_at: Instant::now(),
    };
    let mut ticks = interval(POLL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    while !*shutdown.borrow() {
        tokio::select! {
            _ = ticks.tick() => {}
            // There is room for the next one.
            Some(ended) = dispatcher.tries.join_next() => dispatcher.release(ended),
            _ = shutdown.changed() => continue,
        }
        let turn = dispatcher.turn().await;
        // Said once, and not ten times a second while the disk is full.
        if let (Err(error), false) = (&turn, failing) {
            tracing::warn!(%error, "webhooks are not sent");
        }
        failing = turn.is_err();
    }
    let Dispatcher { mut tries, .. } = dispatcher;
    drop(timeout(GRACE, async { while tries.join_next().await.is_some() {} }).await);
}

struct Dispatcher {
    store: Store,
    sender: Sender,
    retry_seconds: Arc<[u64]>,
    /// With the endpoints and their projects.
    under_way: HashMap<WebhookDeliveryId, (WebhookEndpointId, String)>,
    tries: JoinSet<WebhookDeliveryId>,
    /// The log has been turned into deliveries up to this position.
    told: i64,
    prune_at: Instant,
}

impl Dispatcher {
    async fn turn(&mut self) -> Result<(), StoreError> {
        self.told = self.store.make_webhook_deliveries(self.told, clock::now()).await?;
        for delivery in self.store.due_webhook_deliveries(MOST_PER_ENDPOINT, clock::now()).await? {
            if self.under_way.len() >= MOST_AT_ONCE {
                break;
            }
            let to_endpoint = self.under_way.values().filter(|(endpoint, _)| *endpoint == delivery.endpoint).count();
            let of_project = self.under_way.values().filter(|(_, project)| *project == delivery.project).count();
            let may = to_endpoint < MOST_PER_ENDPOINT as usize && of_project < MOST_PER_PROJECT;
            if may && !self.under_way.contains_key(&delivery.id) {
                self.begin(delivery);
            }
        }
        if Instant::now() >= self.prune_at {
            let old = Timestamp(clock::now().0 - KEPT_SECONDS * 1000);
            // A full batch says that there is more.
            let full = self.store.prune_webhook_deliveries(old).await?;
            self.prune_at = Instant::now() + if full { Duration::ZERO } else { PRUNE_EVERY };
        }
        Ok(())
    }

    fn begin(&mut self, delivery: DueDelivery) {
        self.under_way.insert(delivery.id, (delivery.endpoint, delivery.project.clone()));
        let (store, sender, retries) = (self.store.clone(), self.sender.clone(), Arc::clone(&self.retry_seconds));
        self.tries.spawn(async move {
            let id = delivery.id;
            if let Err(error) = try_once(&store, sender, &retries, delivery).await {
                tracing::warn!(%error, delivery = %id, "the outcome of a webhook is not written down");
                sleep(AFTER_ERROR).await;
            }
            id
        });
    }

    fn release(&mut self, ended: Result<WebhookDeliveryId, tokio::task::JoinError>) {
        match ended {
            Ok(id) => drop(self.under_way.remove(&id)),
            // Which one it was is unknown; forgetting all of them costs a repetition at most.
            Err(error) => {
                tracing::error!(%error, "a try of a webhook broke off");
                self.under_way.clear();
            }
        }
    }
}

async fn try_once(store: &Store, sender: Sender, retries: &[u64], delivery: DueDelivery) -> Result<(), StoreError> {
    let (id, tries) = (delivery.id, delivery.tries);
    let attempt = tokio::task::spawn_blocking(move || sender.send(&delivery, clock::now())).await;
    let attempt = attempt.map_err(|error| StoreError::Conflict(error.to_string()))?;
    let now = clock::now();
    store.record_webhook_attempt(id, &attempt, outcome(&attempt, tries, retries, now), now).await
}

/// What follows from a try, made after `tries` others.
fn outcome(attempt: &WebhookAttempt, tries: u32, retries: &[u64], now: Timestamp) -> WebhookOutcome {
    match attempt.http_status {
        Some(200..=299) => WebhookOutcome::Succeeded,
        Some(410) => WebhookOutcome::Gone,
        _ => match retries.get(tries as usize) {
            Some(seconds) => WebhookOutcome::Again(now.plus_seconds(*seconds)),
            None => WebhookOutcome::Failed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_2xx_is_a_success_and_the_schedule_ends() {
        let now = Timestamp(1000);
        let after = |http_status, tries| {
            let attempt = WebhookAttempt { started_at: now, milliseconds: 1, http_status, answer: None, error: None };
            outcome(&attempt, tries, &[5, 30], now)
        };
        assert_eq!([200, 204, 299].map(|s| after(Some(s), 0)), [WebhookOutcome::Succeeded; 3]);
        assert_eq!(after(Some(410), 0), WebhookOutcome::Gone);
        for status in [None, Some(199), Some(302), Some(404), Some(500)] {
            assert_eq!(after(status, 0), WebhookOutcome::Again(Timestamp(6000)), "{status:?}");
            assert_eq!(after(status, 1), WebhookOutcome::Again(Timestamp(31_000)));
            assert_eq!(after(status, 2), WebhookOutcome::Failed);
        }
    }
}
