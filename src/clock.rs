//! The one place that reads the wall clock. Everything below the edges takes time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::job::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the clock is read here and nowhere else")]
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
