//! Judges texts as a job would: as many at a time as the verifier takes, on as many threads as it asks for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::verifier::{Case, Score, Verifier};

/// Threads at most, whatever a verifier asks for.
const MOST_THREADS: usize = 8;
/// Cases of one call at most.
const MOST_CASES: usize = 64;
/// As much as the process gives the thread of a task, for texts that are nested deeply.
const STACK_BYTES: usize = 16 << 20;

/// A verifier with its threads.
pub struct Panel {
    verifier: Arc<dyn Verifier>,
    batch: usize,
    threads: usize,
}

/// A verdict, and how long the call took that gave it, perhaps with others.
pub type Timed = (Score, f64);

impl Panel {
    pub fn of(verifier: Arc<dyn Verifier>) -> Self {
        let (batch, threads) = (verifier.batch().clamp(1, MOST_CASES), verifier.concurrency().clamp(1, MOST_THREADS));
        Self { verifier, batch, threads }
    }

    /// How many cases it judges at the same time.
    pub fn at_once(&self) -> usize {
        self.batch * self.threads
    }

    /// The verdicts on all cases, in their order.
    pub fn judge(&self, cases: &[Case<'_>]) -> Vec<Timed> {
        let calls: Vec<&[Case<'_>]> = cases.chunks(self.batch).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut judged = Vec::new();
            while let (number, Some(call)) = take(&next, &calls) {
                judged.push((number, self.call(call)));
            }
            judged
        };
        let mut judged = thread::scope(|scope| {
            let start = |_| thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).ok();
            // A thread that does not start leaves its work to the others.
            let helpers: Vec<_> = (1..self.threads.min(calls.len())).filter_map(start).collect();
            let mut judged = work();
            for helper in helpers {
                judged.extend(helper.join().expect("a call catches its panics"));
            }
            judged
        });
        judged.sort_by_key(|(number, _)| *number);
        judged.into_iter().flat_map(|(_, scores)| scores).collect()
    }

    fn call(&self, cases: &[Case<'_>]) -> Vec<Timed> {
        let began = Instant::now();
        // A verifier has no state of its own that a panic could leave half-changed.
        let scores = catch_unwind(AssertUnwindSafe(|| self.verifier.verify_many(cases)));
        let seconds = began.elapsed().as_secs_f64();
        match scores {
            Ok(scores) if scores.len() == cases.len() => scores.into_iter().map(|score| (score, seconds)).collect(),
            // Which of them it was shows when each comes alone.
            _ if cases.len() > 1 => cases.iter().flat_map(|case| self.call(std::slice::from_ref(case))).collect(),
            Ok(_) => vec![(Score::error("the verifier gave no verdict on this text"), seconds)],
            Err(_) => vec![(Score::error("the verifier panicked on this text"), seconds)],
        }
    }
}

/// The next call that nobody has taken.
fn take<'c, 't>(next: &AtomicUsize, calls: &[&'c [Case<'t>]]) -> (usize, Option<&'c [Case<'t>]>) {
    let number = next.fetch_add(1, Ordering::Relaxed);
    (number, calls.get(number).copied())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Map;

    use super::*;

    /// Takes three cases at a time, each call a while, and panics on one text.
    struct Slow;

    impl Verifier for Slow {
        fn verify(&self, case: &Case<'_>) -> Score {
            assert!(case.completion != "boom", "on purpose");
            Score::ok(case.completion.len() as f64)
        }

        fn verify_many(&self, cases: &[Case<'_>]) -> Vec<Score> {
            thread::sleep(Duration::from_millis(50));
            cases.iter().map(|case| self.verify(case)).collect()
        }

        fn batch(&self) -> usize {
            3
        }

        fn concurrency(&self) -> usize {
            4
        }
    }

    #[test]
    fn calls_go_on_at_the_same_time_and_verdicts_keep_their_order() {
        let (panel, row) = (Panel::of(Arc::new(Slow)), Map::new());
        let texts: Vec<String> = (0..24).map(|length| "x".repeat(length)).collect();
        let case = |text| Case { prompt: "", completion: text, answer: None, row: &row };
        let cases: Vec<Case<'_>> = texts.iter().map(|text| case(text.as_str())).collect();
        let began = Instant::now();
        let rewards: Vec<f64> = panel.judge(&cases).into_iter().map(|(score, _)| score.reward).collect();
        assert_eq!(rewards, (0..24).map(f64::from).collect::<Vec<_>>());
        // One after the other, 24 cases would take 1.2 s, and eight calls 0.4 s.
        assert!(began.elapsed() < Duration::from_millis(390), "{:?}", began.elapsed());
        let statuses: Vec<bool> =
            panel.judge(&["a", "boom", "b"].map(case)).iter().map(|(score, _)| score.is_scored()).collect();
        assert_eq!(statuses, [true, false, true], "a panic costs its own text alone");
    }
}
