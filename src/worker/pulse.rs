//! Whether the engine still moves. It asks to be stopped before every micro-batch and after every sampled token, and
//! reports in between; each of these is a sign of life. While it waits for us to write something down it is not to
//! blame.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::job::Phase;

/// How often a simulated device looks whether it still hangs.
const LOOK: Duration = Duration::from_millis(20);

/// How much longer the engine may be silent while it reads or writes models.
const PATIENCE: u32 = 6;

/// Signs of life of one run of the engine.
#[derive(Debug)]
pub struct Pulse {
    began: Instant,
    /// Milliseconds from `began` to the last sign.
    last: AtomicU64,
    waits: AtomicBool,
    /// Whether files of the model's size are read or written, during which there are few signs.
    slow: AtomicBool,
    /// Of a simulated device: the engine stands still while this file is there.
    hang: Option<PathBuf>,
}

impl Pulse {
    pub fn new(hang: Option<PathBuf>) -> Self {
        Self {
            began: Instant::now(),
            last: AtomicU64::new(0),
            waits: AtomicBool::new(false),
            slow: AtomicBool::new(false),
            hang,
        }
    }

    /// A sign of life.
    pub fn beat(&self) {
        if let Some(file) = &self.hang {
            while file.exists() {
                std::thread::sleep(LOOK);
            }
        }
        self.note();
    }

    fn note(&self) {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Release);
    }

    /// What the engine is at now.
    pub fn phase(&self, phase: Phase) {
        let slow = matches!(phase, Phase::Loading | Phase::Checkpointing | Phase::Exporting);
        self.slow.store(slow, Ordering::Release);
    }

    /// Hands something to the part that writes, however long that takes.
    pub fn wait<T>(&self, hand_over: impl FnOnce() -> T) -> T {
        self.beat();
        self.waits.store(true, Ordering::Release);
        let result = hand_over();
        self.note();
        self.waits.store(false, Ordering::Release);
        // From here on it is to blame.
        self.beat();
        result
    }

    /// Whether there was no sign of life for `limit`, or for several times as long where there are few signs.
    pub fn is_still(&self, limit: Duration) -> bool {
        let limit = if self.slow.load(Ordering::Acquire) { limit * PATIENCE } else { limit };
        let last = Duration::from_millis(self.last.load(Ordering::Acquire));
        !self.waits.load(Ordering::Acquire) && self.began.elapsed().saturating_sub(last) >= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_hangs_behind_a_wait_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hang");
        let pulse = Pulse::new(Some(file.clone()));
        std::thread::scope(|scope| {
            scope.spawn(|| pulse.wait(|| std::fs::write(&file, "").unwrap()));
            while !file.exists() || !pulse.is_still(Duration::from_millis(20)) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::fs::remove_file(&file).unwrap();
        });
    }

    #[test]
    fn silence_counts_and_waiting_for_us_does_not() {
        let pulse = Pulse::new(None);
        assert!(pulse.is_still(Duration::ZERO));
        pulse.beat();
        assert!(!pulse.is_still(Duration::from_secs(3600)));
        let still = pulse.wait(|| pulse.is_still(Duration::ZERO));
        assert!(!still, "the engine waits for us");
        assert!(pulse.is_still(Duration::ZERO));
        let limit = Duration::from_millis(20);
        std::thread::sleep(limit);
        assert!(pulse.is_still(limit));
        pulse.phase(Phase::Checkpointing);
        assert!(!pulse.is_still(Duration::from_secs(600)));
        pulse.phase(Phase::Training);
        assert!(pulse.is_still(limit));
    }
}
