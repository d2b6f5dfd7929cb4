//! Sampling beside training, on threads with an actor of their own: while a round is trained on, those that the policy of its
//! beginning samples come into being.
//!
//! Which policy samples what is the schedule's, and a completion does not depend on what runs beside it, so that there are the
//! same ones, to the bit, as where sampling and training take turns. What is under way has no place in a checkpoint: it is
//! waited for before one is written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, Scope};
use std::time::Duration;

use super::actor::Actor;
use super::artifact::Saved;
use super::backend::{Backend, Tensors};
use super::error::{EngineError, Stop};
use super::fresh::{Fresh, Sampled};
use super::model::weights::Weights;
use super::report::{Later, Reporter};
use super::threads;
use super::verify::panic_message;
use crate::job::{NewEvent, Phase};

/// How often it is asked whether to stop while sampling is waited for.
const POLL: Duration = Duration::from_millis(20);

type Result<T> = std::result::Result<T, EngineError>;

/// What samples, as training sees it. It ends when this is dropped.
pub(super) struct Beside<'a, B: Backend> {
    /// What it samples with.
    weights: Arc<Weights<B>>,
    rounds: Sender<Vec<Fresh<'a>>>,
    sampled: Receiver<Result<Vec<Sampled>>>,
    is_at_work: bool,
    signs: Arc<Signs>,
}

/// What both sides tell each other meanwhile.
#[derive(Default)]
struct Signs {
    stop: AtomicBool,
    /// How often it was asked whether to stop.
    asked: AtomicU64,
}

impl<'a, B: Backend> Beside<'a, B> {
    pub fn start<'scope>(scope: &'scope Scope<'scope, '_>, mut actor: Actor<'a, B>) -> Result<Self>
    where
        'a: 'scope,
    {
        let (rounds, asked) = mpsc::channel::<Vec<Fresh<'a>>>();
        let (answer, sampled) = mpsc::channel();
        let (weights, signs) = (Arc::clone(&actor.weights), Arc::new(Signs::default()));
        let (pool, mut reporter) = (threads::beside()?, Unheard(Arc::clone(&signs)));
        let work = move || {
            for rounds in asked {
                let sampled = AssertUnwindSafe(|| pool.install(|| sample(&mut actor, &rounds, &mut reporter)));
                let sampled = catch_unwind(sampled)
                    .unwrap_or_else(|panic| Err(EngineError::Internal(panic_message(panic.as_ref()).to_owned())));
                drop(rounds);
                if answer.send(sampled).is_err() {
                    break;
                }
            }
        };
        let started = Builder::new().name(String::from("sampling")).spawn_scoped(scope, work);
        started.map_err(|error| EngineError::Internal(format!("cannot start a thread that samples: {error}")))?;
        Ok(Self { weights, rounds, sampled, is_at_work: false, signs })
    }

    pub fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    /// Has rounds sampled by a policy as it is now.
    pub fn begin(&mut self, rounds: Vec<Fresh<'a>>, policy: &Weights<B>) -> Result<()> {
        let backend = self.weights.backend();
        for index in 0..policy.count() {
            policy.parameters().read(index, |values| backend.write(self.weights.parameters(), index, values))?;
        }
        self.rounds.send(rounds).map_err(|_| ended())?;
        self.is_at_work = true;
        Ok(())
    }

    /// What was begun last, when it is there; nothing where that was asked before. `step` is what a client reads meanwhile.
    pub fn end(&mut self, step: u64, reporter: &mut dyn Reporter) -> Result<Vec<Sampled>> {
        // A job that is to rest has to have it: the policy that samples it will be gone.
        let mut reporter = Later(reporter);
        let (mut seen, mut is_told) = (0, false);
        while self.is_at_work {
            match self.sampled.recv_timeout(POLL) {
                Ok(sampled) => {
                    self.is_at_work = false;
                    return sampled;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
            // It is a sign of life, and one of sampling, that one asks whether to stop.
            let asked = self.signs.asked.load(Ordering::Relaxed);
            if std::mem::replace(&mut seen, asked) != asked {
                reporter.check()?;
            }
            if !std::mem::replace(&mut is_told, true) {
                reporter.phase(Phase::Sampling, step)?;
            }
        }
        Ok(Vec::new())
    }
}

impl<B: Backend> Drop for Beside<'_, B> {
    fn drop(&mut self) {
        self.signs.stop.store(true, Ordering::Relaxed);
    }
}

fn ended() -> EngineError {
    EngineError::Internal(String::from("the thread that samples beside training has ended"))
}

fn sample<B: Backend>(actor: &mut Actor<'_, B>, rounds: &[Fresh<'_>], reporter: &mut Unheard) -> Result<Vec<Sampled>> {
    actor.decoder.measure()?;
    rounds.iter().map(|round| round.sample(actor, reporter)).collect()
}

/// The log is training's.
struct Unheard(Arc<Signs>);

impl Reporter for Unheard {
    fn event(&mut self, _event: NewEvent) -> std::result::Result<(), Stop> {
        Ok(())
    }

    fn artifact(&mut self, _saved: &Saved) -> std::result::Result<(), Stop> {
        Ok(())
    }

    fn should_stop(&self) -> Option<Stop> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        self.0.stop.load(Ordering::Relaxed).then_some(Stop::LeaseLost)
    }
}
