//! On which devices a job could start now, and which are to take part in one, looked up once for all agents that wait.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::clock;
use crate::store::{OpenPart, Store, StoreError};

/// For how long an answer is good without any news: devices that were found well are none.
const FRESH: Duration = Duration::from_millis(900);

/// What was found last.
#[derive(Default)]
pub struct Openings(Mutex<Option<Found>>);

struct Found {
    began: Instant,
    /// How often there had been news then.
    news: u64,
    open: Arc<Open>,
}

/// What there is to do.
#[derive(Debug)]
pub struct Open {
    /// With which as its first a job could start.
    pub devices: HashSet<String>,
    pub parts: Vec<OpenPart>,
}

impl Openings {
    /// What there is to do, as new as the last of so much `news`.
    pub async fn look(&self, store: &Store, news: u64) -> Result<Arc<Open>, StoreError> {
        let mut last = self.0.lock().await;
        // Those who came while somebody looked have their answer.
        if let Some(found) = &*last
            && found.news >= news
            && found.began.elapsed() < FRESH
        {
            return Ok(Arc::clone(&found.open));
        }
        let began = Instant::now();
        let devices = store.starting_devices(clock::now()).await?;
        let open = Arc::new(Open { devices, parts: store.open_parts().await? });
        *last = Some(Found { began, news, open: Arc::clone(&open) });
        Ok(open)
    }
}
