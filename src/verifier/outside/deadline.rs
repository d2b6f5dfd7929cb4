//! The end of the time that a verdict may take, as something that requests, processes and long work can be held to.

use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

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

/// What this thread may still take of a processor's time. Unlike a deadline it does not come nearer while others have the
/// processor, so that what is done by then is nearly the same whenever it is done.
#[derive(Clone, Copy, Debug)]
pub struct Effort(Duration);

impl Effort {
    pub fn of(limit: Duration) -> Self {
        Self(taken() + limit)
    }

    /// Whether it was taken; asked by the thread that it is of.
    pub fn is_over(self) -> bool {
        taken() >= self.0
    }
}

/// The processor's time that this thread has taken.
fn taken() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // It begins with the thread and never goes back.
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
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

    #[test]
    fn an_effort_is_over_after_work_and_not_after_a_wait() {
        let effort = Effort::of(Duration::from_millis(50));
        thread::sleep(Duration::from_millis(100));
        assert!(!effort.is_over());
        while !effort.is_over() {
            std::hint::black_box((0..1000_u64).sum::<u64>());
        }
    }
}
