//! Scoring many completions at once, each within a wall-clock limit.
//!
//! A verifier that takes several cases at a time is given those that wait when one of its threads is free.
//!
//! A thread cannot be stopped from outside. A verification that overruns its limit is given up together with its
//! thread, which is replaced; because a thread that hangs keeps its core and its memory, a pool refuses to go on while
//! several of them have not ended. Verifiers are pure, so neither a panic nor an abandoned thread leaves anything behind
//! that a later verification could see.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::dataset::Row;
use crate::job::environment::{EnvironmentSpec, Judged};
use crate::job::spec::PromptSpec;
use crate::job::{RewardPart, Rollout, TurnAnswer};
use crate::verifier::{self, Case, ENVIRONMENT, Outside, Part, Score, Verifier};

/// The most threads that were given up and go on.
const MAX_ABANDONED: usize = 8;
/// The most parts of a verdict that are kept, and characters of its texts.
const MOST_PARTS: usize = 64;
const MOST_CHARACTERS: usize = 500;
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

/// What decides which part of a completion is judged.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    pub prompt: &'a PromptSpec,
    pub environment: Option<&'a EnvironmentSpec>,
}

impl OwnedCase {
    /// The case that a completion to a row's prompt is. Where an environment answers, the row has a column [`ENVIRONMENT`] with
    /// what was said and earned.
    pub fn of(judging: Judging<'_>, row: &Row, prompt: &str, (text, answers): (&str, &[TurnAnswer])) -> Self {
        let heard = answers.iter().rfind(|answer| answer.text[0] < answer.text[1]);
        let (before, last) = heard.and_then(|answer| text.split_at_checked(answer.text[1])).unwrap_or(("", text));
        let (mut completion, mut fields) = (judging.prompt.answer(last).to_owned(), Arc::clone(&row.fields));
        if let Some(environment) = judging.environment {
            if environment.judge == Judged::Conversation {
                completion.insert_str(0, before);
            }
            let rewards: Vec<f64> = answers.iter().filter_map(|answer| answer.reward).collect();
            let told = json!({"conversation": text, "answers": answers.len(), "rewards": rewards});
            Arc::make_mut(&mut fields).insert(ENVIRONMENT.to_owned(), told);
        }
        Self { prompt: prompt.to_owned(), completion, answer: row.answer.clone(), row: fields }
    }

    fn borrow(&self) -> Case<'_> {
        let Self { prompt, completion, answer, row } = self;
        Case { prompt, completion, answer: answer.as_deref(), row }
    }
}

/// The verdict on a case, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub score: Score,
    /// Of the call that judged it, perhaps with others.
    pub seconds: f64,
}

impl Verdict {
    /// Writes the verdict to a completion that has one.
    pub fn judge(&self, rollout: &mut Rollout) {
        let score = &self.score;
        (rollout.status, rollout.reward, rollout.answer) = (Some(score.status), score.reward, score.answer.clone());
        (rollout.detail, rollout.parts) = (score.detail.as_deref().map(beginning), self.parts());
        rollout.verify_seconds = Some((self.seconds * 1e6).round() / 1e6);
    }

    fn parts(&self) -> Vec<RewardPart> {
        let part = |Part { name, score }: &Part| RewardPart {
            name: name.clone(),
            status: score.status,
            reward: score.is_scored().then_some(score.reward),
            detail: score.detail.as_deref().map(beginning),
        };
        self.score.parts.iter().take(MOST_PARTS).map(part).collect()
    }
}

fn beginning(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

/// A fixed number of threads that score cases.
pub struct VerifyPool {
    verifier: Arc<dyn Verifier>,
    limit: Duration,
    /// How many threads there are to be; they start with the first cases.
    threads: usize,
    lanes: Vec<Lane>,
    next_lane: u64,
    /// Threads that were given up and have not ended since.
    abandoned: usize,
    finished_sender: Sender<Finished>,
    finished: Receiver<Finished>,
}

/// The pool's end of one thread. Dropping it ends the thread after the cases that it is at.
struct Lane {
    id: u64,
    cases: Sender<Vec<OwnedCase>>,
    busy: Option<Busy>,
}

/// What a thread is at.
struct Busy {
    since: Instant,
    /// The places of its cases among all; None when nobody waits for their scores any more.
    places: Option<Vec<usize>>,
}

struct Finished {
    lane: u64,
    scores: Vec<Score>,
    seconds: f64,
}

/// The state of one call of [`VerifyPool::score`].
struct Batch {
    /// Cases that have come, with their places.
    waiting: VecDeque<(usize, OwnedCase)>,
    verdicts: Vec<Option<Verdict>>,
    missing: usize,
}

impl Batch {
    fn put(&mut self, place: usize, score: Score, seconds: f64) {
        if self.verdicts[place].replace(Verdict { score, seconds }).is_none() {
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

    /// The verdicts on `cases` in their order, or None as soon as `stop` holds, which is asked all the while.
    pub fn score_all(&mut self, cases: Vec<OwnedCase>, stop: impl FnMut() -> bool) -> Option<Vec<Verdict>> {
        let (sender, receiver) = mpsc::channel();
        let count = cases.len();
        cases.into_iter().enumerate().for_each(|case| drop(sender.send(case)));
        self.score(count, &receiver, stop)
    }

    /// The verdicts on `count` cases, which come with their places while others are scored; None as soon as `stop` holds,
    /// which is asked all the while, or when some never come.
    pub fn score(
        &mut self,
        count: usize,
        cases: &Receiver<(usize, OwnedCase)>,
        mut stop: impl FnMut() -> bool,
    ) -> Option<Vec<Verdict>> {
        let mut batch = Batch { verdicts: vec![None; count], missing: count, waiting: VecDeque::new() };
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

    /// Gives every idle thread cases, after replacing the threads that are gone.
    fn hand_out(&mut self, batch: &mut Batch) -> Result<(), String> {
        if self.abandoned >= MAX_ABANDONED {
            // One of them may have ended meanwhile.
            self.collect(batch);
        }
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
            let most = self.verifier.batch().clamp(1, batch.waiting.len().max(1));
            let (places, cases): (Vec<usize>, Vec<OwnedCase>) =
                batch.waiting.drain(..most.min(batch.waiting.len())).unzip();
            if cases.is_empty() {
                break;
            }
            if lane.cases.send(cases).is_err() {
                let lost = Score::error("the verification thread ended unexpectedly");
                places.into_iter().for_each(|place| batch.put(place, lost.clone(), 0.0));
                continue;
            }
            lane.busy = Some(Busy { since: Instant::now(), places: Some(places) });
        }
        Ok(())
    }

    fn busy_lanes(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.busy.is_some()).count()
    }

    fn start_lane(&mut self) -> std::io::Result<()> {
        let id = self.next_lane;
        let (cases, inbox) = mpsc::channel::<Vec<OwnedCase>>();
        let (verifier, outbox) = (Arc::clone(&self.verifier), self.finished_sender.clone());
        thread::Builder::new().name(format!("verify-{id}")).spawn(move || {
            for cases in inbox {
                let began = Instant::now();
                let scores = verify(verifier.as_ref(), &cases);
                let seconds = began.elapsed().as_secs_f64();
                if outbox.send(Finished { lane: id, scores, seconds }).is_err() {
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
        while let Some(Finished { lane: id, scores, seconds }) = received {
            match self.lanes.iter_mut().find(|lane| lane.id == id) {
                Some(lane) => {
                    let places = lane.busy.take().and_then(|busy| busy.places).into_iter().flatten();
                    places.zip(scores).for_each(|(place, score)| batch.put(place, score, seconds));
                }
                // It was given up; nobody sends it more, so that it ends.
                None => self.abandoned -= 1,
            }
            received = self.finished.try_recv().ok();
        }
    }

    /// Gives up the threads whose case overran the limit.
    fn abandon_overdue(&mut self, batch: &mut Batch) {
        let limit = self.limit;
        let mut at = 0;
        while at < self.lanes.len() && self.abandoned < MAX_ABANDONED {
            match &self.lanes[at].busy {
                Some(busy) if busy.since.elapsed() > limit => {
                    for place in busy.places.iter().flatten() {
                        batch.put(*place, Score::timeout(limit), limit.as_secs_f64());
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
            busy.places = None;
        }
    }
}

/// The verdicts of a batch with `rest` wherever none was reached.
fn with_rest(batch: Batch, rest: &Score) -> Vec<Verdict> {
    let rest = Verdict { score: rest.clone(), seconds: 0.0 };
    batch.verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(|| rest.clone())).collect()
}

/// One call of the verifier; a panic becomes an error of all its cases, and so does a reward that is no number.
fn verify(verifier: &dyn Verifier, cases: &[OwnedCase]) -> Vec<Score> {
    let borrowed: Vec<Case<'_>> = cases.iter().map(OwnedCase::borrow).collect();
    // A verifier has no state of its own that a panic could leave half-changed.
    let scores = catch_unwind(AssertUnwindSafe(|| verifier.verify_many(&borrowed))).unwrap_or_else(|payload| {
        let panicked = Score::error(format!("the verifier panicked: {}", panic_message(payload.as_ref())));
        vec![panicked; cases.len()]
    });
    if scores.len() != cases.len() {
        let detail = format!("the verifier gave {} scores for {} completions", scores.len(), cases.len());
        return vec![Score::error(detail); cases.len()];
    }
    scores.into_iter().map(finite).collect()
}

fn finite(score: Score) -> Score {
    if score.is_scored() && !score.reward.is_finite() {
        return Score::error(format!("the reward {} is not a finite number", score.reward));
    }
    score
}

pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::job::ScoreStatus;

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

    fn score_all(pool: &mut VerifyPool, cases: Vec<OwnedCase>) -> Vec<Score> {
        pool.score_all(cases, || false).unwrap().into_iter().map(|verdict| verdict.score).collect()
    }

    fn statuses(scores: &[Score]) -> Vec<&'static str> {
        scores.iter().map(|score| score.status.as_str()).collect()
    }

    #[test]
    fn of_several_turns_the_last_is_judged_unless_a_spec_wants_all() {
        let row = crate::dataset::tests::row(r#"{"prompt": "p", "answer": "4", "environment": "mine"}"#);
        let answer = |text: [usize; 2], reward| TurnAnswer { tokens: [0, text[1] - text[0]], text, reward };
        // `5 no` was said and answered, and `4` is the last turn, which earned something.
        let answers = [answer([1, 4], None), answer([5, 5], Some(0.5))];
        let judged = |environment: Value| {
            let environment = serde_json::from_value(environment).unwrap();
            let judging = Judging { prompt: &PromptSpec::default(), environment: Some(&environment) };
            let case = OwnedCase::of(judging, &row, "p", ("5 no4", &answers));
            (case.completion, case.row[ENVIRONMENT].clone())
        };
        let told = json!({"conversation": "5 no4", "answers": 2, "rewards": [0.5]});
        assert_eq!(judged(json!({"type": "calculator"})), (String::from("4"), told.clone()));
        assert_eq!(judged(json!({"type": "calculator", "judge": "conversation"})), (String::from("5 no4"), told));
        let plain =
            OwnedCase::of(Judging { prompt: &PromptSpec::default(), environment: None }, &row, "p", ("5 no4", &[]));
        assert_eq!((plain.completion.as_str(), &plain.row[ENVIRONMENT]), ("5 no4", &json!("mine")));
    }

    #[test]
    fn scores_come_in_the_order_of_the_cases() {
        let texts: Vec<String> =
            (0..500).map(|n| if n % 100 == 7 { "nap".to_owned() } else { n.to_string() }).collect();
        let mut pool = pool(4);
        for _ in 0..2 {
            let scores = score_all(&mut pool, cases(texts.iter().map(String::as_str)));
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
        let scores = score_all(&mut pool, cases(["1", "hang", "2", "hang", "3", "4"]));
        assert_eq!(statuses(&scores), ["ok", "timeout", "ok", "timeout", "ok", "ok"]);
        assert!(!scores[1].is_scored());
        assert_eq!(pool.abandoned, 2);
        let scores = score_all(&mut pool, cases(["5", "6"]));
        assert_eq!(scores, [Score::ok(5.0), Score::ok(6.0)]);
    }

    #[test]
    fn a_panic_is_an_error_and_the_pool_goes_on() {
        let mut pool = pool(1);
        let scores = score_all(&mut pool, cases(["1", "panic", "2"]));
        assert_eq!(statuses(&scores), ["ok", "error", "ok"]);
        assert!(scores[1].detail.as_ref().unwrap().contains("as the script says"), "{:?}", scores[1].detail);
        assert_eq!(pool.next_lane, 1);
    }

    #[test]
    fn a_pool_goes_on_when_what_took_too_long_has_ended() {
        /// Gives no verdict while the lock is held.
        struct Held(Arc<Mutex<()>>);
        impl Verifier for Held {
            fn verify(&self, _: &Case<'_>) -> Score {
                drop(self.0.lock());
                Score::ok(1.0)
            }
        }
        let lock = Arc::new(Mutex::new(()));
        let mut pool = VerifyPool::new(Arc::new(Held(Arc::clone(&lock))), Duration::from_millis(20), 4);
        let held = lock.lock().unwrap();
        assert_eq!(statuses(&score_all(&mut pool, cases(["a"; MAX_ABANDONED]))), ["timeout"; MAX_ABANDONED]);
        assert_eq!(statuses(&score_all(&mut pool, cases(["b"]))), ["error"]);
        drop(held);
        let goes_on = |_| score_all(&mut pool, cases(["c"]))[0].is_scored();
        assert!((0..1000).any(goes_on), "threads that have ended are still counted");
    }

    #[test]
    fn at_most_eight_threads_that_were_given_up_hang() {
        let mut pool = VerifyPool::new(Arc::new(Scripted), Duration::from_millis(20), 3);
        let mut completions = vec!["hang"; 20];
        completions.push("1");
        let scores = score_all(&mut pool, cases(completions));
        let timeouts = scores.iter().filter(|score| score.status == ScoreStatus::Timeout).count();
        assert_eq!((timeouts, pool.abandoned), (8, 8));
        let rest: Vec<&Score> = scores.iter().filter(|score| score.status != ScoreStatus::Timeout).collect();
        assert!(rest.iter().all(|score| score.status == ScoreStatus::Error));
        assert!(rest.iter().all(|score| score.detail.as_ref().unwrap().contains("too many verifications hang")));
        let scores = score_all(&mut pool, cases(["1"]));
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
        let scores = score_all(&mut pool, cases(["1"]));
        assert_eq!(scores, [Score::ok(1.0)]);
    }

    /// Takes three cases at a time and notes how many it was given.
    struct Batched(Mutex<Vec<usize>>);

    impl Verifier for Batched {
        fn verify(&self, case: &Case<'_>) -> Score {
            Scripted.verify(case)
        }

        fn verify_many(&self, cases: &[Case<'_>]) -> Vec<Score> {
            self.0.lock().unwrap().push(cases.len());
            if cases.iter().any(|case| case.completion == "lose") {
                return Vec::new();
            }
            cases.iter().map(|case| self.verify(case)).collect()
        }

        fn batch(&self) -> usize {
            3
        }
    }

    #[test]
    fn a_verifier_that_takes_several_gets_what_waits_and_answers_for_each() {
        let batched = Arc::new(Batched(Mutex::default()));
        let mut pool = VerifyPool::new(Arc::clone(&batched) as Arc<dyn Verifier>, LIMIT, 1);
        let rewards: Vec<f64> =
            score_all(&mut pool, cases(["1", "2", "3", "4", "5", "6", "7"])).iter().map(|s| s.reward).collect();
        assert_eq!(rewards, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(*batched.0.lock().unwrap(), [3, 3, 1]);
        let lost = score_all(&mut pool, cases(["1", "lose", "3", "4"]));
        assert_eq!(statuses(&lost), ["error", "error", "error", "ok"]);
        assert!(lost[0].detail.as_ref().unwrap().contains("0 scores for 3"), "{:?}", lost[0].detail);
        let hung = score_all(&mut pool, cases(["1", "hang", "3", "4"]));
        assert_eq!(statuses(&hung), ["timeout", "timeout", "timeout", "ok"]);
    }
}
