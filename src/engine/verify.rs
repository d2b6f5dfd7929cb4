//! Scoring many completions at once, each within a wall-clock limit.
//!
//! A thread cannot be stopped from outside. A verification that overruns its limit is given up together with its
//! thread, which is replaced; because a thread that hangs keeps its core and its memory, a pool gives up only a few
//! and then refuses to go on. Verifiers are pure, so neither a panic nor an abandoned thread leaves anything behind
//! that a later verification could see.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::EngineError;
use crate::verifier::{self, Case, Outside, Score, Verifier};

/// Verifications after which an error rate says something.
const SAMPLE: usize = 200;
/// Share of failed verifications that stops a job.
const MOST_FAILED: f64 = 0.05;
/// The most threads a pool gives up in its life.
const MAX_ABANDONED: usize = 8;
/// How long [`VerifyPool::score`] waits before it looks at the limits again.
const POLL: Duration = Duration::from_millis(10);

/// A [`Case`] that can move to another thread; rows are shared between the completions of a prompt.
#[derive(Clone, Debug)]
pub struct OwnedCase {
    pub prompt: String,
    pub completion: String,
    pub answer: Option<String>,
    pub row: Arc<Map<String, Value>>,
}

/// A fixed number of threads that score cases.
pub struct VerifyPool {
    verifier: Arc<dyn Verifier>,
    limit: Duration,
    /// How many threads there are to be; they start with the first cases.
    threads: usize,
    lanes: Vec<Lane>,
    next_lane: u64,
    abandoned: usize,
    finished_sender: Sender<Finished>,
    finished: Receiver<Finished>,
}

/// The pool's end of one thread. Dropping it ends the thread after the case that it is at.
struct Lane {
    id: u64,
    cases: Sender<OwnedCase>,
    busy: Option<Busy>,
}

/// What a thread is at.
#[derive(Clone, Copy)]
struct Busy {
    since: Instant,
    /// The place of the case among the cases; None when nobody waits for its score any more.
    place: Option<usize>,
}

struct Finished {
    lane: u64,
    score: Score,
}

/// The state of one call of [`VerifyPool::score`].
struct Batch {
    /// Cases that have come, with their places.
    waiting: VecDeque<(usize, OwnedCase)>,
    scores: Vec<Option<Score>>,
    missing: usize,
}

impl Batch {
    fn put(&mut self, place: usize, score: Score) {
        if self.scores[place].replace(score).is_none() {
            self.missing -= 1;
        }
    }
}

impl VerifyPool {
    /// A pool of `threads` threads (at least one) in which a verification may take `limit`.
    pub fn new(verifier: Arc<dyn Verifier>, limit: Duration, threads: usize) -> Self {
        let (finished_sender, finished) = mpsc::channel();
        let threads = threads.max(1);
        Self { verifier, limit, threads, lanes: Vec::new(), next_lane: 0, abandoned: 0, finished_sender, finished }
    }

    /// The pool of a job.
    pub fn of(config: &verifier::Config, outside: &Outside) -> Self {
        let verifier = config.build(outside);
        let threads = verifier.concurrency();
        Self::new(verifier, config.time_limit(), threads)
    }

    /// The scores of `cases` in their order, or None as soon as `stop` holds, which is asked all the while.
    pub fn score_all(&mut self, cases: Vec<OwnedCase>, stop: impl FnMut() -> bool) -> Option<Vec<Score>> {
        let (sender, receiver) = mpsc::channel();
        let count = cases.len();
        cases.into_iter().enumerate().for_each(|case| drop(sender.send(case)));
        self.score(count, &receiver, stop)
    }

    /// The scores of `count` cases, which come with their places while others are scored; None as soon as `stop` holds,
    /// which is asked all the while, or when some never come.
    pub fn score(
        &mut self,
        count: usize,
        cases: &Receiver<(usize, OwnedCase)>,
        mut stop: impl FnMut() -> bool,
    ) -> Option<Vec<Score>> {
        let mut batch = Batch { scores: vec![None; count], missing: count, waiting: VecDeque::new() };
        let mut asked: Option<Instant> = None;
        while batch.missing > 0 {
            let gone = loop {
                match cases.try_recv() {
                    Ok(case) => batch.waiting.push_back(case),
                    Err(TryRecvError::Empty) => break false,
                    Err(TryRecvError::Disconnected) => break true,
                }
            };
            if gone && batch.waiting.is_empty() && self.busy_lanes() == 0 {
                return None;
            }
            if asked.is_none_or(|asked| asked.elapsed() >= POLL) {
                asked = Some(Instant::now());
                if stop() {
                    self.forget_places();
                    return None;
                }
            }
            if let Err(reason) = self.hand_out(&mut batch) {
                self.forget_places();
                return Some(with_rest(batch, &Score::error(reason)));
            }
            self.collect(&mut batch);
            self.abandon_overdue(&mut batch);
        }
        Some(with_rest(batch, &Score::error("the verification was lost")))
    }

    /// Gives every idle thread a case, after replacing the threads that are gone.
    fn hand_out(&mut self, batch: &mut Batch) -> Result<(), String> {
        if self.abandoned >= MAX_ABANDONED {
            return Err(format!("too many verifications hang: {MAX_ABANDONED} did not end in time, no more are begun"));
        }
        while self.lanes.len() < self.threads.min(self.busy_lanes() + batch.waiting.len()) {
            if let Err(source) = self.start_lane() {
                if self.lanes.is_empty() {
                    return Err(format!("cannot start a thread for verifications: {source}"));
                }
                break;
            }
        }
        for lane in self.lanes.iter_mut().filter(|lane| lane.busy.is_none()) {
            let Some((place, case)) = batch.waiting.pop_front() else { break };
            lane.busy = Some(Busy { since: Instant::now(), place: Some(place) });
            if lane.cases.send(case).is_err() {
                lane.busy = None;
                batch.put(place, Score::error("the verification thread ended unexpectedly"));
            }
        }
        Ok(())
    }

    fn busy_lanes(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.busy.is_some()).count()
    }

    fn start_lane(&mut self) -> std::io::Result<()> {
        let id = self.next_lane;
        let (cases, inbox) = mpsc::channel::<OwnedCase>();
        let (verifier, outbox) = (Arc::clone(&self.verifier), self.finished_sender.clone());
        thread::Builder::new().name(format!("verify-{id}")).spawn(move || {
            for case in inbox {
                let score = verify(verifier.as_ref(), &case);
                if outbox.send(Finished { lane: id, score }).is_err() {
                    // The pool is gone, and with it everyone who waits for scores.
                    return;
                }
            }
        })?;
        self.next_lane += 1;
        self.lanes.push(Lane { id, cases, busy: None });
        Ok(())
    }

    /// Waits for a score, not beyond [`POLL`], and takes in all that have come.
    fn collect(&mut self, batch: &mut Batch) {
        if batch.missing == 0 {
            return;
        }
        // The pool holds a sender itself, so that the channel never closes: an error is the end of the wait.
        let mut received = self.finished.recv_timeout(POLL).ok();
        while let Some(Finished { lane: id, score }) = received {
            // A thread that was given up may still send its score; its lane is gone.
            if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.id == id)
                && let Some(Busy { place: Some(place), .. }) = lane.busy.take()
            {
                batch.put(place, score);
            }
            received = self.finished.try_recv().ok();
        }
    }

    /// Gives up the threads whose case overran the limit.
    fn abandon_overdue(&mut self, batch: &mut Batch) {
        let limit = self.limit;
        let mut at = 0;
        while at < self.lanes.len() && self.abandoned < MAX_ABANDONED {
            match self.lanes[at].busy {
                Some(busy) if busy.since.elapsed() > limit => {
                    if let Some(place) = busy.place {
                        batch.put(place, Score::timeout(limit));
                    }
                    self.lanes.swap_remove(at);
                    self.abandoned += 1;
                }
                Some(_) | None => at += 1,
            }
        }
    }

    /// Lets running verifications end unobserved; their threads are free again afterwards.
    fn forget_places(&mut self) {
        for busy in self.lanes.iter_mut().filter_map(|lane| lane.busy.as_mut()) {
            busy.place = None;
        }
    }
}

/// The scores of a batch with `rest` wherever none was reached.
fn with_rest(batch: Batch, rest: &Score) -> Vec<Score> {
    batch.scores.into_iter().map(|score| score.unwrap_or_else(|| rest.clone())).collect()
}

/// How many verifications there were, how many of them failed, and why the last one did.
#[derive(Default, Serialize, Deserialize)]
pub struct Failures {
    verifications: usize,
    failed: usize,
    last: String,
}

impl Failures {
    pub fn of<'a>(scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut all = Self::default();
        for score in scores {
            all.verifications += 1;
            if !score.is_scored() {
                all.failed += 1;
                all.last = score.detail.clone().unwrap_or_default();
            }
        }
        all
    }

    pub fn add(&mut self, other: Self) {
        self.verifications += other.verifications;
        self.failed += other.failed;
        if other.failed > 0 {
            self.last = other.last;
        }
    }

    /// Adds those of some more verifications; an error when too many fail.
    pub fn count(&mut self, new: Self) -> Result<(), EngineError> {
        let none_scored = new.verifications > 0 && new.failed == new.verifications;
        self.add(new);
        let Self { verifications, failed, ref last } = *self;
        let share = failed as f64 / verifications.max(1) as f64;
        if none_scored || (verifications >= SAMPLE && share > MOST_FAILED) {
            return Err(EngineError::VerifierErrors { failed, total: verifications, last: last.clone() });
        }
        Ok(())
    }
}

/// One verdict; a panic becomes an error, and so does a reward that is no number.
fn verify(verifier: &dyn Verifier, case: &OwnedCase) -> Score {
    let borrowed = Case {
        prompt: &case.prompt,
        completion: &case.completion,
        answer: case.answer.as_deref(),
        row: case.row.as_ref(),
    };
    // A verifier has no state of its own that a panic could leave half-changed.
    let score = catch_unwind(AssertUnwindSafe(|| verifier.verify(&borrowed)))
        .unwrap_or_else(|payload| Score::error(format!("the verifier panicked: {}", panic_message(payload.as_ref()))));
    if score.is_scored() && !score.reward.is_finite() {
        return Score::error(format!("the reward {} is not a finite number", score.reward));
    }
    score
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::verifier::ScoreStatus;

    /// Does what the completion says: `hang` never ends, `panic` panics, `nap` takes a moment, a number is the reward.
    struct Scripted;

    impl Verifier for Scripted {
        fn verify(&self, case: &Case<'_>) -> Score {
            match case.completion {
                "hang" => loop {
                    thread::park();
                },
                "panic" => panic!("as {} says", case.prompt),
                "nap" => thread::sleep(Duration::from_millis(60)),
                _ => {}
            }
            Score::ok(case.completion.parse().unwrap_or(0.0))
        }
    }

    const LIMIT: Duration = Duration::from_millis(500);

    fn pool(threads: usize) -> VerifyPool {
        VerifyPool::new(Arc::new(Scripted), LIMIT, threads)
    }

    fn cases<'a>(completions: impl IntoIterator<Item = &'a str>) -> Vec<OwnedCase> {
        let row = Arc::new(Map::new());
        let case = |completion: &str| OwnedCase {
            prompt: String::from("the script"),
            completion: completion.to_owned(),
            answer: None,
            row: Arc::clone(&row),
        };
        completions.into_iter().map(case).collect()
    }

    fn statuses(scores: &[Score]) -> Vec<&'static str> {
        scores.iter().map(|score| score.status.as_str()).collect()
    }

    #[test]
    fn scores_come_in_the_order_of_the_cases() {
        let texts: Vec<String> =
            (0..500).map(|n| if n % 100 == 7 { "nap".to_owned() } else { n.to_string() }).collect();
        let mut pool = pool(4);
        for _ in 0..2 {
            let scores = pool.score_all(cases(texts.iter().map(String::as_str)), || false).unwrap();
            let rewards: Vec<f64> = scores.iter().map(|score| score.reward).collect();
            let expected: Vec<f64> = texts.iter().map(|text| text.parse().unwrap_or(0.0)).collect();
            assert_eq!(rewards, expected);
        }
        assert_eq!(pool.score_all(Vec::new(), || false), Some(Vec::new()));
        assert_eq!(pool.next_lane, 4, "threads are kept from call to call");
    }

    #[test]
    fn a_timeout_is_never_a_zero_reward_and_costs_no_other_case() {
        let mut pool = pool(2);
        let scores = pool.score_all(cases(["1", "hang", "2", "hang", "3", "4"]), || false).unwrap();
        assert_eq!(statuses(&scores), ["ok", "timeout", "ok", "timeout", "ok", "ok"]);
        assert!(!scores[1].is_scored());
        assert_eq!(pool.abandoned, 2);
        let scores = pool.score_all(cases(["5", "6"]), || false).unwrap();
        assert_eq!(scores, [Score::ok(5.0), Score::ok(6.0)]);
    }

    #[test]
    fn a_panic_is_an_error_and_the_pool_goes_on() {
        let mut pool = pool(1);
        let scores = pool.score_all(cases(["1", "panic", "2"]), || false).unwrap();
        assert_eq!(statuses(&scores), ["ok", "error", "ok"]);
        assert!(scores[1].detail.as_ref().unwrap().contains("as the script says"), "{:?}", scores[1].detail);
        assert_eq!(pool.next_lane, 1);
    }

    #[test]
    fn a_pool_gives_up_at_most_eight_threads_in_its_life() {
        let mut pool = VerifyPool::new(Arc::new(Scripted), Duration::from_millis(20), 3);
        let mut completions = vec!["hang"; 20];
        completions.push("1");
        let scores = pool.score_all(cases(completions), || false).unwrap();
        let timeouts = scores.iter().filter(|score| score.status == ScoreStatus::Timeout).count();
        assert_eq!((timeouts, pool.abandoned), (8, 8));
        let rest: Vec<&Score> = scores.iter().filter(|score| score.status != ScoreStatus::Timeout).collect();
        assert!(rest.iter().all(|score| score.status == ScoreStatus::Error));
        assert!(rest.iter().all(|score| score.detail.as_ref().unwrap().contains("too many verifications hang")));
        let scores = pool.score_all(cases(["1"]), || false).unwrap();
        assert_eq!(statuses(&scores), ["error"]);
    }

    #[test]
    fn a_stop_ends_the_wait_long_before_the_limit() {
        let mut pool = VerifyPool::new(Arc::new(Scripted), Duration::from_secs(600), 2);
        let asked = AtomicUsize::new(0);
        let begun = Instant::now();
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 5;
        assert_eq!(pool.score_all(cases(["1", "hang", "2"]), stop), None);
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert_eq!(pool.score_all(cases(["1"]), || true), None);
    }

    #[test]
    fn a_score_that_nobody_waits_for_any_more_reaches_no_later_case() {
        let mut pool = pool(1);
        let mut asked = 0;
        let stop = || {
            asked += 1;
            asked > 1
        };
        assert_eq!(pool.score_all(cases(["nap"]), stop), None);
        let scores = pool.score_all(cases(["1"]), || false).unwrap();
        assert_eq!(scores, [Score::ok(1.0)]);
    }
}
