//! How often a request to the hub is made again, and when.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::HubError;

/// Failures in a row, without a byte between them, after which a request is given up: about two minutes in all.
const MOST_FAILURES: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Longest that a hub may ask to be left alone.
const LONGEST_WAIT: Duration = Duration::from_secs(900);
/// How often it is looked whether to wait any longer.
const LOOK: Duration = Duration::from_millis(200);

/// Failures of a request in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failures(u32);

impl Failures {
    /// How long to wait after an error before the request is made again, if that may go well. One that brought something
    /// (`progressed`) is the first of a new row.
    pub fn wait(&mut self, error: &HubError, progressed: bool) -> Option<Duration> {
        self.0 = if progressed { 1 } else { self.0 + 1 };
        let wait = error.passes().filter(|wait| self.0 <= MOST_FAILURES && *wait <= LONGEST_WAIT)?;
        Some(wait.max(FIRST_PAUSE.saturating_mul(1 << (self.0 - 1)).min(LONGEST_PAUSE)))
    }
}

/// Waits, unless `stop` becomes true. Blocks.
pub fn pause(wait: Duration, stop: &AtomicBool) {
    let end = Instant::now() + wait;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_end() {
        let gone = HubError::Unreachable(String::from("gone"));
        let mut failures = Failures::default();
        let waits: Vec<Duration> = std::iter::from_fn(|| failures.wait(&gone, false)).collect();
        assert_eq!(waits.len(), MOST_FAILURES as usize);
        assert_eq!((waits[0], waits[1]), (FIRST_PAUSE, 2 * FIRST_PAUSE));
        assert!(waits.is_sorted() && waits.last() == Some(&LONGEST_PAUSE));
        assert_eq!(failures.wait(&gone, true), Some(FIRST_PAUSE), "what brings something is not given up");
    }

    #[test]
    fn a_hub_is_left_alone_as_long_as_it_asks_for_within_reason_and_what_never_passes_is_not_tried_again() {
        let asks = |seconds| Failures::default().wait(&HubError::RateLimited(Duration::from_secs(seconds)), false);
        assert_eq!(asks(7), Some(Duration::from_secs(7)));
        assert_eq!(asks(0), Some(FIRST_PAUSE));
        assert_eq!(asks(901), None);
        assert_eq!(Failures::default().wait(&HubError::Unauthorized(String::from("x")), false), None);
    }
}
