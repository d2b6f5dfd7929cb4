//! The one place that reads the wall clock. Everything below the edges takes time as an argument.
//!
//! Where processes of several machines share a database, each follows the database's clock instead of its own, so that
//! what one writes down another can compare.

use std::sync::{PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::job::Timestamp;

/// What another clock showed, and when that was.
static FOLLOWED: RwLock<Option<(Instant, Timestamp)>> = RwLock::new(None);

/// From now on the time is what another clock has shown at `at`, and what has passed since.
pub fn follow(at: Instant, time: Timestamp) {
    *FOLLOWED.write().unwrap_or_else(PoisonError::into_inner) = Some((at, time));
}

#[expect(clippy::disallowed_methods, reason = "the clock is read here and nowhere else")]
pub fn now() -> Timestamp {
    if let Some((at, time)) = *FOLLOWED.read().unwrap_or_else(PoisonError::into_inner) {
        return Timestamp(time.0 + at.elapsed().as_millis() as i64);
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
