//! Completions of several turns: the model writes, an environment answers, and so on until one of them ends it.
//!
//! A turn is sampled as the rest of a completion that has begun, with draws and limits counted from its beginning, so that a
//! completion does not depend on where it was cut into turns. What the environment wrote stands among its tokens, which the
//! model reads and nothing is learnt of. Keys and values of earlier turns stay where they are, as far as there is room.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::backend::Backend;
use super::error::EngineError;
use super::report::{Progress, Reporter};
use super::sampler::{Completion, FinishReason, Request, Sampler};
use super::verify::{Judging, OwnedCase, Verdict, VerifyPool};
use crate::dataset::Row;
use crate::environment::{Answer, Asked, Environment, Failure};
use crate::job::environment::EnvironmentSpec;
use crate::job::{Phase, TurnAnswer};
use crate::objective::math::PASS_MARK;
use crate::text::prompt::{Prompter, RenderedPrompt};
use crate::verifier::{Score, ScoreStatus};

/// How often it is asked whether to stop while an environment answers.
const POLL: Duration = Duration::from_millis(20);

/// What conversations are held with.
pub(super) struct Table<'a, B: Backend> {
    /// Ends turns at the environment's stop text, too.
    pub sampler: &'a Sampler<'a, B>,
    pub prompter: Prompter<'a>,
    pub spec: &'a EnvironmentSpec,
    /// None where the verifier answers.
    pub environment: Option<&'a Arc<dyn Environment>>,
    pub verify: Option<&'a mut VerifyPool>,
    pub judging: Judging<'a>,
    /// Each with as many requests as there are samples.
    pub prompts: &'a [(Row, RenderedPrompt)],
    pub samples: usize,
    pub phase: Phase,
    pub step: u64,
    /// Whether the phase that was said last is that of the verifier.
    pub verifying: bool,
}

/// A completion of one or more turns.
pub(super) struct Held {
    pub completion: Completion,
    pub answers: Vec<TurnAnswer>,
    /// None without a verifier.
    pub verdict: Option<Verdict>,
}

/// Answers with the places of their conversations.
type Answered = Vec<(usize, Result<Answer, Failure>)>;

/// What comes behind an answer.
enum Next {
    Turn,
    Nothing,
    /// No token would be left for the turn that it asks for.
    NoRoom,
}

/// A conversation under way.
struct Conversation {
    held: Held,
    /// What was said by turns, the model first.
    said: Vec<String>,
    /// Where the text of the last turn begins.
    begin: usize,
    /// The token that ended it as it ends a message.
    ended: Option<u32>,
    turns_left: u32,
}

impl<B: Backend> Table<'_, B> {
    /// Holds all conversations to their ends, and judges them; with the seconds from the last turn to the last verdict.
    pub fn hold(mut self, requests: &[Request], reporter: &mut dyn Reporter) -> Result<(Vec<Held>, f64), EngineError> {
        let row = |place: usize| &self.prompts[place / self.samples].0;
        let mut all: Vec<Conversation> =
            (0..requests.len()).map(|place| Conversation::new(self.spec.turns_of(&row(place).fields))).collect();
        let mut open: Vec<usize> = (0..all.len()).collect();
        let mut order = open.clone();
        let mut progress = Progress::new(self.phase, "completions", requests.len());
        let mut session = self.sampler.session();
        // Each round takes a turn of each.
        while !open.is_empty() {
            if std::mem::take(&mut self.verifying) {
                reporter.phase(Phase::Sampling, self.step)?;
            }
            // Back and forth, since what was read last is there the longest.
            order.retain(|place| open.binary_search(place).is_ok());
            let turns: Vec<Request> = order.iter().map(|place| all[*place].request(&requests[*place])).collect();
            let done = requests.len() - open.len();
            let completions = session.run(&turns, |_| progress.update(reporter, done))?;
            for (place, completion) in order.iter().zip(completions) {
                all[*place].take(completion, self.sampler)?;
            }
            order.reverse();
            let (mut going_on, mut full) = (Vec::with_capacity(open.len()), Vec::new());
            for (place, answer) in self.answers(&mut all, &open, reporter)? {
                match self.heed(&mut all[place], &requests[place], answer) {
                    Next::Turn => going_on.push(place),
                    Next::NoRoom => full.push(place),
                    Next::Nothing => {}
                }
            }
            // Their last turns are the last after all, and may be rewarded as that.
            if let Some(environment) = self.environment {
                for (place, answer) in self.ask(environment, &all, &full, reporter)? {
                    self.heed(&mut all[place], &requests[place], answer);
                }
            }
            open = going_on;
        }
        progress.update(reporter, requests.len())?;
        let wait_seconds = self.judge(&mut all, reporter)?;
        Ok((all.into_iter().map(|conversation| conversation.held).collect(), wait_seconds))
    }

    /// What is answered to those of `open` that are asked about, in order.
    fn answers(
        &mut self,
        all: &mut [Conversation],
        open: &[usize],
        reporter: &mut dyn Reporter,
    ) -> Result<Answered, EngineError> {
        let Some(environment) = self.environment else { return self.retries(all, open, reporter) };
        self.ask(environment, all, open, reporter)
    }

    /// What an environment answers to conversations; those whose turn is the last are left out where it does not heed them.
    fn ask(
        &self,
        environment: &Arc<dyn Environment>,
        all: &[Conversation],
        places: &[usize],
        reporter: &dyn Reporter,
    ) -> Result<Answered, EngineError> {
        let heeds_last = environment.heeds_last();
        let places: Vec<usize> = places.iter().copied().filter(|place| heeds_last || !all[*place].is_last()).collect();
        let asked = places.iter().map(|place| {
            let (row, prompt) = &self.prompts[place / self.samples];
            let conversation = &all[*place];
            Asked {
                prompt: prompt.text.clone(),
                row: Arc::clone(&row.fields),
                said: conversation.said.clone(),
                is_last: conversation.is_last(),
            }
        });
        let answers = ask(environment, asked.collect(), reporter)?;
        Ok(places.into_iter().zip(answers).collect())
    }

    /// Has the verifier judge the turns of `open`; those that do not pass are to be tried again.
    fn retries(
        &mut self,
        all: &mut [Conversation],
        open: &[usize],
        reporter: &mut dyn Reporter,
    ) -> Result<Answered, EngineError> {
        self.verdicts(all, open, reporter)?;
        let answer = |place: &usize| {
            let score = &all[*place].held.verdict.as_ref()?.score;
            let passes = !score.is_scored() || score.reward >= PASS_MARK;
            let again = || Answer::says(self.spec.retry(score.detail.as_deref().unwrap_or_default()));
            Some((*place, Ok(if passes { Answer::OVER } else { again() })))
        };
        Ok(open.iter().filter_map(answer).collect())
    }

    /// Takes an answer in; says what comes next.
    fn heed(&self, conversation: &mut Conversation, request: &Request, answer: Result<Answer, Failure>) -> Next {
        let Answer { text, reward } = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                conversation.held.verdict = Some(self.lost(failure));
                return Next::Nothing;
            }
        };
        let told = text.filter(|_| !conversation.is_last());
        let done = &conversation.held.completion.tokens;
        let (most, context) =
            (self.sampler.spec.max_new_tokens as usize, self.sampler.decoder.config().max_position_embeddings);
        let before = [&*request.tokens, done].concat();
        let role = self.spec.role.as_str();
        let Some(text) = told else {
            conversation.earn(reward);
            return Next::Nothing;
        };
        let (read, tokens) = match self.prompter.turn_answer(&before, conversation.ended, (role, &text)) {
            Ok(read) => read,
            Err(error) => {
                conversation.held.verdict = Some(self.lost(Failure::Failed(error.to_string())));
                return Next::Nothing;
            }
        };
        if tokens.is_empty() || done.len() + tokens.len() >= most || before.len() + tokens.len() >= context {
            conversation.held.completion.finish = FinishReason::Length;
            return Next::NoRoom;
        }
        conversation.hear(text, &read, &tokens, reward);
        Next::Turn
    }

    /// The verdict on a conversation whose environment did not answer.
    fn lost(&self, failure: Failure) -> Verdict {
        let limit = self.environment.map(|environment| environment.time_limit()).unwrap_or_default();
        let score = match failure {
            Failure::Failed(detail) => Score::error(detail),
            Failure::Late(detail) => Score::timeout(limit).because(detail),
        };
        debug_assert!(matches!(score.status, ScoreStatus::Error | ScoreStatus::Timeout));
        Verdict { score, seconds: 0.0 }
    }

    /// Judges all conversations that have no verdict; the seconds that this took.
    fn judge(&mut self, all: &mut [Conversation], reporter: &mut dyn Reporter) -> Result<f64, EngineError> {
        let began = Instant::now();
        let open: Vec<usize> = (0..all.len()).filter(|place| all[*place].held.verdict.is_none()).collect();
        self.verdicts(all, &open, reporter)?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Gives conversations their verdicts, where there is a verifier.
    fn verdicts(
        &mut self,
        all: &mut [Conversation],
        places: &[usize],
        reporter: &mut dyn Reporter,
    ) -> Result<(), EngineError> {
        let Some(pool) = self.verify.as_deref_mut().filter(|_| !places.is_empty()) else { return Ok(()) };
        if self.phase == Phase::Sampling {
            reporter.phase(Phase::Verifying, self.step)?;
            self.verifying = true;
        }
        let case = |place: &usize| {
            let (row, prompt) = &self.prompts[place / self.samples];
            let Held { completion, answers, .. } = &all[*place].held;
            OwnedCase::of(self.judging, row, &prompt.text, (&completion.text, answers))
        };
        let verdicts = pool.score_all(places.iter().map(case).collect(), || reporter.check().is_err());
        reporter.check()?;
        let lost = || EngineError::Internal(String::from("verification stopped without a reason"));
        for (place, verdict) in places.iter().zip(verdicts.ok_or_else(lost)?) {
            all[*place].held.verdict = Some(verdict);
        }
        Ok(())
    }
}

impl Conversation {
    fn new(turns: u32) -> Self {
        let held = Held { completion: Completion::begun(), answers: Vec::new(), verdict: None };
        Self { held, said: Vec::new(), begin: 0, ended: None, turns_left: turns }
    }

    /// What its next turn is sampled from.
    fn request(&self, first: &Request) -> Request {
        let done = &self.held.completion.tokens;
        Request { tokens: [&*first.tokens, done].concat().into(), begun: done.len(), ..*first }
    }

    /// Takes a turn in.
    fn take<B: Backend>(&mut self, turn: Completion, sampler: &Sampler<'_, B>) -> Result<(), EngineError> {
        let ends = &sampler.decoder.config().eos_token_ids;
        self.ended = turn.tokens.last().copied().filter(|token| ends.contains(token));
        let is_cut = turn.finish == FinishReason::Stop && self.ended.is_none();
        // The model goes on behind the text that stopped it.
        self.said.push(if is_cut { sampler.tokenizer.decode(&turn.tokens, true)? } else { turn.text.clone() });
        self.turns_left = self.turns_left.saturating_sub(1);
        let done = &mut self.held.completion;
        self.begin = done.text.len();
        done.text.push_str(&turn.text);
        done.tokens.extend(turn.tokens);
        done.behavior_logprobs.extend(turn.behavior_logprobs);
        done.entropies.extend(turn.entropies);
        done.entropy_sum += turn.entropy_sum;
        done.finish = turn.finish;
        Ok(())
    }

    /// Whether the model says nothing more, whatever is answered.
    fn is_last(&self) -> bool {
        self.turns_left == 0 || self.held.completion.finish == FinishReason::Length
    }

    /// Takes in what is answered: `told`, which the model reads as `text` and `tokens`.
    fn hear(&mut self, told: String, text: &str, tokens: &[u32], reward: Option<f64>) {
        let done = &mut self.held.completion;
        done.text.truncate(self.begin);
        done.text.push_str(self.said.last().map_or("", String::as_str));
        let (first, begin) = (done.tokens.len(), done.text.len());
        done.text.push_str(text);
        done.tokens.extend(tokens);
        done.behavior_logprobs.resize(done.tokens.len(), 0.0);
        done.entropies.resize(done.tokens.len(), 0.0);
        let (tokens, text) = ([first, done.tokens.len()], [begin, done.text.len()]);
        self.held.answers.push(TurnAnswer { tokens, text, reward });
        self.said.push(told);
        // It was the verdict on a turn that is not the last.
        self.held.verdict = None;
    }

    /// Notes what the last turn earned.
    fn earn(&mut self, reward: Option<f64>) {
        let done = &self.held.completion;
        let (tokens, text) = ([done.tokens.len(); 2], [done.text.len(); 2]);
        self.held.answers.extend(reward.map(|reward| TurnAnswer { tokens, text, reward: Some(reward) }));
    }
}

/// Asks an environment about conversations, several at a time; one whose thread ends has no answer. When the job is to stop,
/// answers under way are not waited for; their time is limited.
fn ask(
    environment: &Arc<dyn Environment>,
    asked: Vec<Asked>,
    reporter: &dyn Reporter,
) -> Result<Vec<Result<Answer, Failure>>, EngineError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let lost = || Err(Failure::Failed(String::from("the environment ended without an answer")));
    let mut answers: Vec<Result<Answer, Failure>> = asked.iter().map(|_| lost()).collect();
    let size = environment.batch().max(1);
    let batches: Vec<(usize, Vec<Asked>)> =
        asked.chunks(size).enumerate().map(|(number, batch)| (number * size, batch.to_vec())).collect();
    let threads = environment.concurrency().clamp(1, batches.len().max(1));
    let (sender, receiver) = mpsc::channel();
    let batches = Arc::new(Mutex::new(batches.into_iter()));
    for _ in 0..threads {
        let (environment, batches, sender) = (Arc::clone(environment), Arc::clone(&batches), sender.clone());
        let next = move || batches.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = move || {
            while let Some((first, batch)) = next() {
                let answered = catch_unwind(AssertUnwindSafe(|| environment.answer(&batch))).unwrap_or_default();
                if sender.send((first, answered)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name(String::from("environment")).spawn(work);
        started.map_err(|error| EngineError::Internal(format!("cannot start a thread for an environment: {error}")))?;
    }
    drop(sender);
    loop {
        match receiver.recv_timeout(POLL) {
            Ok((first, answered)) => answers[first..].iter_mut().zip(answered).for_each(|(place, one)| *place = one),
            Err(RecvTimeoutError::Timeout) => reporter.check()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(answers),
        }
    }
}
