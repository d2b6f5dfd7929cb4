//! What a worker does between jobs: it answers requests for completions, one at a time.
//!
//! Jobs come first. The socket is there only while the worker is idle; a model that was used lately stays loaded, and
//! is dropped before a job starts. When a job could start on the device, the request under way has [`GRACE`] to end and
//! is cut off then; when another worker's job already holds the device, it is cut off at once. A model that is being
//! loaded is loaded to the end. A client that leaves, or takes longer than [`LONGEST`], ends its request as well.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, timeout};

use super::ledger::SharedLedger;
use super::pulse::Pulse;
use super::{Options, POLL, WorkerError, assignment, chain, panic_text, stillness};
use crate::engine::device::Device;
use crate::engine::loading::ModelSource;
use crate::engine::responder::{RespondError, Responder};
use crate::engine::{EngineError, Stop};
use crate::job::inference::{Fault, FaultCode, Order, Reply, SCRATCH_SEED};
use crate::job::spec::PromptSpec;
use crate::job::{DeviceStatus, Failure, FailureKind, Phase};
use crate::spec::ModelRef;
use crate::store::line::{Line, Listener, Sending};

/// How long a request may go on when a job could start.
const GRACE: Duration = Duration::from_secs(2);
/// How long a request may take.
const LONGEST: Duration = Duration::from_secs(600);
/// How long a model stays loaded that nobody asks.
const KEEP: Duration = Duration::from_secs(300);
/// How long an order may take to arrive, and a last word to leave.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// How often a worker that answers says that it lives, to the client and to the store.
const ALIVE: Duration = Duration::from_secs(5);
/// Replies that may wait to be sent before the engine has to wait.
const REPLY_QUEUE: usize = 64;

/// Where an idle worker takes requests.
pub struct InferenceServer<'a> {
    ledger: &'a SharedLedger,
    options: &'a Options,
    device: &'a Device,
    /// Not there when the socket could not be opened.
    listener: Option<Listener>,
    loaded: Option<Loaded>,
}

struct Loaded {
    model: String,
    responder: Arc<Responder>,
    used: Instant,
}

/// Where an order's model is.
enum Source {
    Loaded(Arc<Responder>),
    /// With what is loaded, whose weights may be the same.
    Files {
        model: ModelSource,
        prompt: Box<PromptSpec>,
        loaded: Option<Arc<Responder>>,
    },
}

/// One order for the engine's thread.
struct Task {
    order: Order,
    source: Source,
    device: Device,
    stop: Arc<AtomicBool>,
    pulse: Arc<Pulse>,
    replies: mpsc::Sender<Reply>,
}

/// How an order ended, with the model when it is still good.
type Answered = (Option<Arc<Responder>>, Result<(), RespondError>);

/// Why a request is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Gone,
    Job,
    Late,
    Shutdown,
    /// The engine shows no sign of life.
    Still,
}

/// How much jobs need the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    None,
    /// A job could start on it.
    Soon,
    /// A job holds it, or it is being checked.
    Now,
}

impl<'a> InferenceServer<'a> {
    pub fn open(ledger: &'a SharedLedger, options: &'a Options, device: &'a Device) -> Self {
        let mut server = Self { ledger, options, device, listener: None, loaded: None };
        server.reopen();
        server
    }

    /// Takes requests again.
    pub fn reopen(&mut self) {
        match Listener::open(self.ledger.files(), &self.options.name) {
            Ok(listener) => self.listener = Some(listener),
            Err(error) => tracing::warn!(error = chain(&error), "this worker answers no requests for completions"),
        }
    }

    /// Takes no requests and lets go of the model: a job is to have the device. Whoever waits is told by the closed
    /// connection.
    pub fn close(&mut self) {
        self.listener = None;
        self.loaded = None;
    }

    /// The next request.
    pub async fn caller(&self) -> Line {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        loop {
            match listener.accept().await {
                Ok(line) => return line,
                Err(error) => {
                    tracing::warn!(%error, "a request for completions could not be taken");
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }

    /// Lets go of a model that nobody asks, or whose device a job on several devices has.
    pub async fn tidy(&mut self) {
        let Some(loaded) = &self.loaded else { return };
        if loaded.used.elapsed() >= KEEP || self.demand().await == Demand::Now {
            self.loaded = None;
        }
    }

    /// Answers one request. An error means that the device is lost.
    pub async fn serve(&mut self, mut line: Line, shutdown: &mut watch::Receiver<bool>) -> Result<(), WorkerError> {
        let order = match timeout(HANDSHAKE, line.receiving.receive::<Order>()).await {
            Ok(Ok(Some(order))) => order,
            Ok(Ok(None)) | Err(_) => return Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "an order for completions cannot be read");
                return Ok(());
            }
        };
        // A client may have left while it waited for its turn.
        if timeout(Duration::ZERO, line.receiving.receive::<Order>()).await.is_ok() {
            return Ok(());
        }
        if self.demand().await != Demand::None {
            say(&mut line.sending, &Reply::Busy).await;
            return Ok(());
        }
        say(&mut line.sending, &Reply::Accepted).await;
        let model = order.model.clone();
        let source = match self.source(&model).await {
            Ok(source) => source,
            Err(fault) => {
                say(&mut line.sending, &Reply::Failed(fault)).await;
                return Ok(());
            }
        };
        let pulse = Arc::new(Pulse::new(self.options.hang.clone()));
        let stop = Arc::new(AtomicBool::new(false));
        let (replies, inbox) = mpsc::channel(REPLY_QUEUE);
        let (pulse_of_task, stop_of_task) = (Arc::clone(&pulse), Arc::clone(&stop));
        let device = self.device.clone();
        let finished = start(Task { order, source, device, stop: stop_of_task, pulse: pulse_of_task, replies })?;
        let cut = self.tend(&mut line, inbox, &pulse, shutdown).await;
        stop.store(true, Ordering::Release);
        // The device is free only when the engine has let go of it.
        let answered = tokio::select! {
            answered = finished => answered.ok(),
            () = stillness(&pulse, self.options.watchdog) => None,
        };
        let Some((responder, result)) = answered else {
            let seconds = self.options.watchdog.as_secs();
            let reason = format!("it hangs: completions showed no sign of life for {seconds} s");
            return Err(self.lose(&mut line.sending, reason).await);
        };
        self.loaded = responder.map(|responder| Loaded { model, responder, used: Instant::now() });
        let word = match cut {
            Some(cut) => cut.fault().map(Reply::Failed),
            None => Some(self.conclude(&mut line.sending, result).await?),
        };
        if let Some(word) = word {
            say(&mut line.sending, &word).await;
        }
        Ok(())
    }

    /// Passes replies on until there are no more, or something ends the request.
    async fn tend(
        &self,
        line: &mut Line,
        mut inbox: mpsc::Receiver<Reply>,
        pulse: &Pulse,
        shutdown: &mut watch::Receiver<bool>,
    ) -> Option<Cut> {
        let (mut polls, mut alive) = (interval(POLL), interval_at(Instant::now() + ALIVE, ALIVE));
        for ticks in [&mut polls, &mut alive] {
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        let mut deadline = Instant::now() + LONGEST;
        let mut late = Cut::Late;
        loop {
            let Line { sending, receiving } = &mut *line;
            let moved = tokio::select! {
                reply = inbox.recv(), if sending.is_clear() => match reply {
                    Some(reply) => sending.put(&reply),
                    None => return None,
                },
                moved = sending.advance(), if !sending.is_clear() => moved,
                // An order is all that a client says; the next is that it leaves.
                _ = receiving.receive::<Order>() => return Some(Cut::Gone),
                _ = shutdown.wait_for(|down| *down) => return Some(Cut::Shutdown),
                _ = polls.tick() => {
                    match self.demand().await {
                        Demand::None => {}
                        Demand::Soon if late == Cut::Job => {}
                        Demand::Soon => (deadline, late) = (deadline.min(Instant::now() + GRACE), Cut::Job),
                        Demand::Now => return Some(Cut::Job),
                    }
                    if pulse.is_still(self.options.watchdog) {
                        return Some(Cut::Still);
                    }
                    if Instant::now() >= deadline {
                        return Some(late);
                    }
                    Ok(())
                }
                _ = alive.tick() => {
                    if sending.is_clear() { sending.put(&Reply::Alive) } else { Ok(()) }
                }
            };
            if let Err(error) = moved {
                tracing::debug!(%error, "a client left before its answer was complete");
                return Some(Cut::Gone);
            }
        }
    }

    /// The model of an order: the one that is loaded, or the files of another, which takes its place.
    async fn source(&mut self, model: &str) -> Result<Source, Fault> {
        let loaded = match self.loaded.take() {
            Some(loaded) if loaded.model == model => return Ok(Source::Loaded(loaded.responder)),
            other => other.map(|loaded| loaded.responder),
        };
        let reference = match model.parse::<ModelRef>() {
            Ok(reference) => reference,
            Err(error) => return Err(Fault::new(FaultCode::ModelUnusable, error.to_string())),
        };
        let found = async {
            let stored = self.ledger.stored_model(&reference, SCRATCH_SEED).await.map_err(assignment::failed)?;
            Ok::<_, Failure>((assignment::source(&**self.ledger, &stored).await?, stored.chat_template))
        };
        match found.await {
            Ok((model, chat_template)) => {
                let prompt = Box::new(PromptSpec { chat_template, ..PromptSpec::default() });
                // Two models are never loaded at once.
                let loaded = loaded.filter(|loaded| loaded.shares_weights(&model));
                Ok(Source::Files { model, prompt, loaded })
            }
            Err(failure) if failure.kind == FailureKind::InvalidData => {
                Err(Fault::new(FaultCode::ModelUnusable, failure.message))
            }
            Err(failure) => {
                tracing::error!(failure.message, "a model for completions cannot be found");
                Err(internal())
            }
        }
    }

    async fn demand(&self) -> Demand {
        let state = self.ledger.device(&self.options.name).await.map(|state| match state.status {
            DeviceStatus::Idle | DeviceStatus::Reserved if state.wanted => Demand::Soon,
            DeviceStatus::Idle | DeviceStatus::Reserved => Demand::None,
            DeviceStatus::Busy | DeviceStatus::Foreign | DeviceStatus::Faulted | DeviceStatus::Checking => Demand::Now,
        });
        state.unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), "whether a job waits cannot be looked up");
            Demand::None
        })
    }

    /// The last word on an order that the engine has ended.
    async fn conclude(&self, line: &mut Sending, result: Result<(), RespondError>) -> Result<Reply, WorkerError> {
        let error = match result {
            Ok(()) => return Ok(Reply::Done),
            Err(RespondError::Refused(fault)) => return Ok(Reply::Failed(fault)),
            Err(RespondError::Engine(error)) => error,
        };
        tracing::error!(error = chain(&error), "a request for completions failed");
        let failure = error.failure();
        Ok(Reply::Failed(match failure.kind {
            FailureKind::DeviceLost => return Err(self.lose(line, failure.message).await),
            FailureKind::OutOfMemory => Fault::new(
                FaultCode::OutOfMemory,
                "the device has too little free memory for the model and its cache; ask for fewer or shorter \
                 completions, or for a smaller model",
            ),
            FailureKind::InvalidData => Fault::new(FaultCode::ModelUnusable, failure.message),
            FailureKind::Diverged
            | FailureKind::VerifierErrorRate
            | FailureKind::StorageFull
            | FailureKind::Poison
            | FailureKind::BudgetExhausted
            | FailureKind::Internal => internal(),
        }))
    }

    /// Marks the device as failed, so that it is checked, and tells the client.
    async fn lose(&self, line: &mut Sending, reason: String) -> WorkerError {
        let message = "the device failed while it answered; try again";
        say(line, &Reply::Failed(Fault::new(FaultCode::WorkerLost, message))).await;
        match self.ledger.fault_device(&self.options.name, &reason).await {
            Ok(()) => WorkerError::DeviceLost(reason),
            Err(error) => error.into(),
        }
    }
}

impl Cut {
    /// What the client is told, if it is there.
    fn fault(self) -> Option<Fault> {
        let (code, message) = match self {
            Self::Gone => return None,
            Self::Job => (
                FaultCode::Preempted,
                String::from(
                    "a job needs the device and comes first; try again, when another device is idle or the job has ended",
                ),
            ),
            Self::Late => (
                FaultCode::Timeout,
                format!("the answer took longer than {} s; ask for fewer or shorter completions", LONGEST.as_secs()),
            ),
            Self::Shutdown => (FaultCode::ShuttingDown, String::from("the server is about to end; try again later")),
            Self::Still => (FaultCode::WorkerLost, String::from("the device stopped answering; try again")),
        };
        Some(Fault::new(code, message))
    }
}

fn internal() -> Fault {
    Fault::new(FaultCode::Internal, "something went wrong on the server; its log has the details")
}

/// Sends a message behind what waits, to whoever still listens.
async fn say(line: &mut Sending, reply: &Reply) {
    let said = async {
        line.put(reply)?;
        line.flush().await
    };
    match timeout(HANDSHAKE, said).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client left before the last word"),
        Err(_) => tracing::debug!("a client does not listen to the last word"),
    }
}

/// Runs the engine on a thread of its own.
fn start(task: Task) -> Result<oneshot::Receiver<Answered>, WorkerError> {
    let (done, finished) = oneshot::channel();
    let thread = std::thread::Builder::new().name(String::from("engine")).spawn(move || {
        let run = AssertUnwindSafe(|| rayon::scope(|_| task.run()));
        let answered = catch_unwind(run).unwrap_or_else(|panic| {
            let error = EngineError::Internal(panic_text(panic.as_ref()));
            (None, Err(error.into()))
        });
        // What the task sends through must close before its result is there.
        drop(task);
        // The receiver is gone only when this process is about to end.
        drop(done.send(answered));
    });
    thread.map(|_running| finished).map_err(WorkerError::Thread)
}

impl Task {
    fn run(&self) -> Answered {
        let responder = match &self.source {
            Source::Loaded(responder) => Arc::clone(responder),
            Source::Files { model, prompt, loaded } => {
                self.pulse.phase(Phase::Loading);
                match Responder::load(model, prompt, &self.device, loaded.as_deref()) {
                    Ok(responder) => Arc::new(responder),
                    Err(error) => return (None, Err(error.into())),
                }
            }
        };
        self.pulse.phase(Phase::Sampling);
        let result = responder.respond(&self.order, |reply| self.tell(reply));
        // After an error of the engine nothing that it holds on the device is trusted.
        let good = match &result {
            Ok(()) | Err(RespondError::Refused(_) | RespondError::Engine(EngineError::Stopped(_))) => true,
            Err(RespondError::Engine(_)) => false,
        };
        (good.then_some(responder), result)
    }

    fn tell(&self, reply: Option<Reply>) -> Result<(), EngineError> {
        self.pulse.beat();
        let stopped = || EngineError::Stopped(Stop::Cancel);
        if self.stop.load(Ordering::Acquire) {
            return Err(stopped());
        }
        match reply {
            None => Ok(()),
            Some(reply) => self.pulse.wait(|| self.replies.blocking_send(reply)).map_err(|_| stopped()),
        }
    }
}
