//! Writes that wait: for space on a disk, for a busy database, for a server elsewhere that is away.

use std::time::Duration;

use tokio::time::Instant;

use super::chain;
use crate::store::StoreError;

/// How long a write is tried again while the disk is full or the database busy.
const STORAGE_PATIENCE: Duration = Duration::from_secs(30);
/// The same while a server is away, the database's or that of an agent: whose job it was is known when it is back.
const SERVER_PATIENCE: Duration = Duration::from_secs(600);

/// Repeats a write while the disk is full or the database busy, in the hope of space and of an end.
pub async fn patiently<T, F>(mut write: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let deadline = Instant::now() + STORAGE_PATIENCE;
    let without_server = Instant::now() + SERVER_PATIENCE;
    loop {
        match write().await {
            Err(error @ (StoreError::Full(_) | StoreError::Overloaded)) if Instant::now() < deadline => {
                tracing::warn!(error = chain(&error), "a write has to wait");
            }
            Err(
                error @ (StoreError::Unreachable(_)
                | StoreError::Storage { .. }
                | StoreError::ServerAway(_)
                | StoreError::Distrusted(_)),
            ) if Instant::now() < without_server => {
                tracing::warn!(error = chain(&error), "a write waits for what is away");
            }
            result => return result,
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
