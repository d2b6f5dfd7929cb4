//! How many calls go at a time to what the operator has named, whoever makes them: a verifier that asks others is asked by as
//! many threads as the busiest of them takes.

use std::sync::{Condvar, Mutex, PoisonError};

use super::Deadline;

/// A number of permits.
#[derive(Debug)]
pub struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Permits {
    pub fn new(most: usize) -> Self {
        Self { free: Mutex::new(most), freed: Condvar::new() }
    }

    /// One of them, which is given back when it is dropped; none where the deadline comes first. Blocks.
    pub fn take(&self, until: Deadline) -> Option<Permit<'_>> {
        // A number is whole whatever its holder has come to.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            let waited = self.freed.wait_timeout(free, until.left()?);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Permit(self))
    }
}

#[derive(Debug)]
pub struct Permit<'p>(&'p Permits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn there_are_no_more_than_so_many_at_a_time_and_who_comes_too_late_gets_none() {
        let permits = Permits::new(2);
        let soon = || Deadline::before(Duration::from_millis(20));
        let held = (permits.take(soon()).unwrap(), permits.take(soon()).unwrap());
        assert!(permits.take(soon()).is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| permits.take(Deadline::before(Duration::from_secs(60))).is_some());
            drop(held);
            assert!(waits.join().unwrap());
        });
        assert_eq!(*permits.free.lock().unwrap(), 2);
    }
}
