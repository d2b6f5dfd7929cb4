//! On which devices a job could start now, looked up once for all agents that wait.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::clock;
use crate::store::{Store, StoreError};

/// For how long an answer is good without any news: devices that were found well are none.
const FRESH: Duration = Duration::from_millis(900);

/// What was found last.
#[derive(Default)]
pub struct Openings(Mutex<Option<Found>>);

struct Found {
    began: Instant,
    /// How often there had been news then.
    news: u64,
    devices: Arc<HashSet<String>>,
}

impl Openings {
    /// Whether a job could start with a device as its first, as new as the last of so much `news`.
    pub async fn has(&self, store: &Store, device: &str, news: u64) -> Result<bool, StoreError> {
        let mut last = self.0.lock().await;
        // Those who came while somebody looked have their answer.
        if let Some(found) = &*last
            && found.news >= news
            && found.began.elapsed() < FRESH
        {
            return Ok(found.devices.contains(device));
        }
        let began = Instant::now();
        let devices = Arc::new(store.starting_devices(clock::now()).await?);
        let has = devices.contains(device);
        *last = Some(Found { began, news, devices });
        Ok(has)
    }
}
