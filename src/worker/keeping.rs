//! What a job keeps of its completions while it runs, on its way to where all machines find it. Where files stay in the data
//! directory there is nothing to do.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::chain;
use super::patience::patiently;
use crate::job::JobId;
use crate::store::{Kept, Place, StoreError};

/// How long others may wait for what was sampled.
const OFTEN: Duration = Duration::from_secs(2);

/// What of a job's completions was stored already; clones share it.
#[derive(Clone)]
pub struct Keeping {
    job: JobId,
    stored: Arc<Kept>,
    looked: Instant,
}

impl Keeping {
    pub fn new(job: JobId) -> Self {
        Self { job, stored: Arc::default(), looked: Instant::now() }
    }

    /// Stores what is new if that is long ago. What cannot be stored now is stored later.
    pub async fn now_and_then(&mut self, place: &Place) {
        if self.looked.elapsed() < OFTEN {
            return;
        }
        if let Err(error) = place.keep(self.job, &self.stored).await {
            tracing::warn!(job = %self.job, error = chain(&error), "what the job keeps is stored later");
        }
        self.looked = Instant::now();
    }

    /// Stores what is new.
    pub async fn all(&self, place: &Place) -> Result<(), StoreError> {
        patiently(|| place.keep(self.job, &self.stored)).await
    }
}
