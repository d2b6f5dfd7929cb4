//! The end of the time that a verdict may take, as something that requests and processes can be held to.

use std::thread;
use std::time::{Duration, Instant};

/// A moment after which nothing is waited for any more.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// A little before `limit` is over: who waits for a verdict gives up the thread that is late, and this comes before.
    pub fn before(limit: Duration) -> Self {
        const MARGIN: Duration = Duration::from_secs(1);
        Self(Instant::now() + (limit - MARGIN.min(limit / 10)))
    }

    /// What is left; nothing where it has passed.
    pub fn left(self) -> Option<Duration> {
        Some(self.0.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Waits, unless that would last beyond it. Blocks.
    pub fn pause(self, wait: Duration) -> bool {
        let fits = self.left().is_some_and(|left| wait < left);
        if fits {
            thread::sleep(wait);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_comes_before_the_limit_and_a_pause_beyond_it_is_not_begun() {
        let limit = Duration::from_secs(100);
        let left = Deadline::before(limit).left().unwrap();
        assert!(left < limit - Duration::from_millis(900) && left > limit - Duration::from_secs(10), "{left:?}");
        let short = Deadline::before(Duration::from_millis(50));
        assert!(!short.pause(Duration::from_secs(600)));
        assert!(short.pause(Duration::from_millis(1)));
        while short.left().is_some() {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!short.pause(Duration::ZERO));
    }
}
