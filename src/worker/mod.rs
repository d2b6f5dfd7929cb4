//! The worker process: claims a job, runs the engine on a thread of its own, gives signs of life and writes down
//! what the engine reports. One worker tends one device, which jobs that share the weights of their model have together.

mod assignment;
mod beats;
mod card;
pub mod copies;
pub mod exports;
mod inference;
mod keeping;
pub mod leadership;
pub mod ledger;
pub mod liveness;
mod patience;
mod pulse;
pub mod ranks;
pub mod remote;
mod rendezvous;
mod result;
pub mod space;
pub mod supervisor;
pub mod sweeps;
mod tending;
pub mod time;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::device::DeviceReading;
use crate::engine::artifact::Saved;
use crate::engine::collective::Watch;
use crate::engine::device::Device;
use crate::engine::loading::Bases;
use crate::engine::{self, EngineError, Outcome, Reporter, Stop};
use crate::job::placement::MOST_TOGETHER;
use crate::job::{DeviceStatus, EventBody, Failure, FailureKind, NewEvent, WorkerId};
use crate::store::{Claim, Ended, Lease, LifeLock, Loss, StoreError};
use crate::verifier::Outside;
use beats::{Beats, Held};
use inference::InferenceServer;
use ledger::{Next, SharedLedger};
use patience::patiently;
use pulse::Pulse;
use tending::Tending;

/// Events that may wait to be written before the engine has to wait.
const EVENT_QUEUE: usize = 256;
/// How often an idle worker looks for work, and a busy one for a cancellation.
const POLL: Duration = Duration::from_millis(100);
/// Jobs that a worker has taken part in and knows of, so that it does not begin again with one that goes on without it.
const KNOWN_PARTS: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("device `{device}` cannot be used")]
    Device { device: String, source: EngineError },
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("the engine thread could not be started")]
    Thread(#[source] std::io::Error),
    #[error("a process for another device of the job could not be started")]
    Peer(#[source] std::io::Error),
    /// Whoever started this process has to end it, for its device cannot be trusted.
    #[error("{0}; the device must be checked before it is used again")]
    DeviceLost(String),
}

/// Who this worker is and how it works.
#[derive(Clone, Debug)]
pub struct Options {
    pub id: WorkerId,
    /// The device's name for this process: `cpu`, `cuda:0` for the only GPU that it sees, or `simulated:N`.
    pub device: String,
    /// The device's name on this machine, under which it is known to the store.
    pub name: String,
    /// The device, for a worker that was not started by a server.
    pub reading: Option<DeviceReading>,
    /// How long the server may hear nothing of it.
    pub lease_seconds: u64,
    /// How long the engine may show no sign of life.
    pub watchdog: Duration,
    /// Where workers of other machines reach this one, if its operator says so.
    pub rank_address: Option<IpAddr>,
    /// What verifiers may use beyond the program.
    pub outside: Outside,
    /// Of a simulated device: the engine stands still while this file is there.
    pub hang: Option<PathBuf>,
    /// Whether one job is enough.
    pub once: bool,
    /// How long the worker waits for a job before it ends.
    pub idle_exit: Option<Duration>,
}

/// What the jobs of a worker run on.
struct Desk {
    ledger: SharedLedger,
    options: Options,
    beats: Beats,
    device: Device,
    bases: Bases,
    /// The jobs of others that this worker took part in last, the newest first.
    parts: Mutex<VecDeque<Lease>>,
}

impl Desk {
    fn parts(&self) -> Vec<Lease> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn remember(&self, lease: Lease) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.truncate(KNOWN_PARTS - 1);
        parts.push_front(lease);
    }
}

/// Claims and runs jobs until `shutdown` becomes true; running jobs are then saved and put back into the queue.
pub async fn run(
    ledger: SharedLedger,
    options: Options,
    mut shutdown: watch::Receiver<bool>,
) -> Result<(), WorkerError> {
    let _life = LifeLock::hold(ledger.files(), options.id)?;
    let device = attend(&ledger, &options).await?;
    let beats = Beats::start(&ledger, options.id, Duration::from_secs(options.lease_seconds));
    tracing::info!(worker = %options.id, device = options.name, "waiting for jobs");
    let desk = Arc::new(Desk { ledger, options, beats, device, bases: Bases::default(), parts: Mutex::default() });
    let Desk { ledger, options, device, .. } = &*desk;
    let mut inference = InferenceServer::open(ledger, options, device);
    let mut running = JoinSet::new();
    let mut others_may_join = true;
    let mut claiming = next(&desk);
    let mut idle_since = Instant::now();
    while !*shutdown.borrow() || !running.is_empty() {
        let claims = others_may_join && !*shutdown.borrow();
        let patience = options.idle_exit.unwrap_or(Duration::MAX).saturating_sub(idle_since.elapsed());
        let claimed = tokio::select! {
            claimed = &mut claiming, if claims => claimed,
            _ = shutdown.changed(), if !*shutdown.borrow() => continue,
            Some(ended) = running.join_next() => {
                concluded(ended)?;
                if running.is_empty() {
                    // Whoever supervises this says so, and begins again when there is room.
                    if options.once || ledger.shortage().is_some() {
                        break;
                    }
                    idle_since = Instant::now();
                    others_may_join = true;
                    inference.reopen();
                }
                continue;
            }
            line = inference.caller(), if running.is_empty() => {
                inference.serve(line, &mut shutdown).await?;
                idle_since = Instant::now();
                continue;
            }
            () = tokio::time::sleep(patience), if running.is_empty() && options.idle_exit.is_some() => {
                if !is_busy(ledger, &options.name).await {
                    break;
                }
                idle_since = Instant::now();
                continue;
            }
        };
        if running.is_empty() {
            inference.tidy().await;
        }
        match claimed {
            Ok(Some(next)) => {
                inference.close();
                others_may_join = undertake(&desk, next, &mut running, &shutdown);
            }
            Ok(None) => {}
            // As a worker that was taken for dead: another one is to begin.
            Err(error) if running.is_empty() && was_given_up(&error) => return Err(error.into()),
            Err(error) => {
                tracing::warn!(error = chain(&error), "no job could be claimed; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        claiming = next(&desk);
    }
    ledger.release_worker(options.id, "the worker ended", true).await?;
    Ok(())
}

/// What this worker is to do next, if there soon is something.
fn next(desk: &Arc<Desk>) -> Pin<Box<dyn Future<Output = Result<Option<Next>, StoreError>> + Send>> {
    let desk = Arc::clone(desk);
    Box::pin(async move {
        let Desk { ledger, options, beats, .. } = &*desk;
        let held = [beats.held(), desk.parts()].concat();
        ledger.next(options.id, &options.name, &held).await
    })
}

/// Whether an error says that this worker counts no more.
fn was_given_up(error: &StoreError) -> bool {
    matches!(error, StoreError::Server { .. } | StoreError::NotFound { what: "worker", .. })
}

/// Begins with what is to be done; returns whether other jobs may join it.
fn undertake(
    desk: &Arc<Desk>,
    next: Next,
    running: &mut JoinSet<Result<(), WorkerError>>,
    shutdown: &watch::Receiver<bool>,
) -> bool {
    let (desk, shutdown) = (Arc::clone(desk), shutdown.clone());
    match next {
        Next::Run(claim) => {
            let others_may_join = claim.spec.common.resources.share_base;
            let held = desk.beats.take(claim.lease);
            running.spawn(run_claim(desk, *claim, held, shutdown));
            others_may_join
        }
        Next::TakePart(lease, part) => {
            desk.remember(lease);
            running.spawn(async move { ranks::lend(&desk.ledger, &desk.options, (lease, part), shutdown).await });
            false
        }
    }
}

/// Whether a job is on a device, as one that another worker leads.
async fn is_busy(ledger: &SharedLedger, device: &str) -> bool {
    ledger.device(device).await.is_ok_and(|device| device.status == DeviceStatus::Busy)
}

/// What a job's task ended with.
fn concluded(ended: Result<Result<(), WorkerError>, JoinError>) -> Result<(), WorkerError> {
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Opens the device and says that there is a worker for it.
async fn attend(ledger: &SharedLedger, options: &Options) -> Result<Device, WorkerError> {
    if let Some(reading) = &options.reading {
        ledger.add_device(reading).await?;
    }
    let state = ledger.device(&options.name).await?;
    let device = match engine::device::open(&options.device) {
        Ok(device) => device,
        Err(source) => {
            ledger.fault_device(&options.name, &chain(&source)).await?;
            return Err(WorkerError::Device { device: options.name.clone(), source });
        }
    };
    ledger.add_worker(options.id, &state).await?;
    Ok(device)
}

/// What the engine thread sends to the part that writes.
enum Message {
    Event(NewEvent),
    Artifact(Saved, oneshot::Sender<Result<(), Stop>>),
}

/// The engine's side of the channel.
struct LeaseReporter {
    messages: mpsc::Sender<Message>,
    stop: Arc<StopFlag>,
    pulse: Arc<Pulse>,
}

impl Reporter for LeaseReporter {
    fn event(&mut self, event: NewEvent) -> Result<(), Stop> {
        if let EventBody::Phase(change) = &event.body {
            self.pulse.phase(change.phase);
        }
        let send = || self.messages.blocking_send(Message::Event(event)).map_err(|_| Stop::LeaseLost);
        self.pulse.wait(send)
    }

    fn artifact(&mut self, saved: &Saved) -> Result<(), Stop> {
        let (reply, answer) = oneshot::channel();
        self.pulse.wait(|| {
            let message = Message::Artifact(saved.clone(), reply);
            self.messages.blocking_send(message).map_err(|_| Stop::LeaseLost)?;
            answer.blocking_recv().unwrap_or(Err(Stop::LeaseLost))
        })
    }

    fn should_stop(&self) -> Option<Stop> {
        self.pulse.beat();
        self.stop.get()
    }
}

/// A reason to stop that can only become more urgent.
#[derive(Debug, Default)]
struct StopFlag(AtomicU8);

impl StopFlag {
    const ORDER: [Stop; 3] = [Stop::Drain, Stop::Cancel, Stop::LeaseLost];

    fn raise(&self, stop: Stop) {
        let level = Self::ORDER.iter().position(|s| *s == stop).map_or(0, |i| i as u8 + 1);
        self.0.fetch_max(level, Ordering::Release);
    }

    fn get(&self) -> Option<Stop> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            level => Self::ORDER.get(usize::from(level) - 1).copied(),
        }
    }
}

/// Runs one claimed job to whatever end it takes.
async fn run_claim(
    desk: Arc<Desk>,
    claim: Claim,
    held: Held,
    mut shutdown: watch::Receiver<bool>,
) -> Result<(), WorkerError> {
    let Desk { ledger, options, beats, device, bases, .. } = &*desk;
    let lease = claim.lease;
    tracing::info!(job = %lease.job, attempt = lease.attempt, "starting");
    let (messages, inbox) = mpsc::channel(EVENT_QUEUE);
    let stop = Arc::new(StopFlag::default());
    let pulse = Arc::new(Pulse::new(options.hang.clone()));
    let reporter = LeaseReporter { messages, stop: Arc::clone(&stop), pulse: Arc::clone(&pulse) };
    let mut work = match assignment::prepare(&**ledger, &claim, (device, bases), &options.outside).await {
        Ok(work) => work,
        Err(failure) => {
            return end(ledger, beats, lease, refused(ledger, lease, failure, &options.name)).await;
        }
    };
    let watch = watch_over(&pulse, &stop, (options.watchdog, work.is_sharded()));
    let begin = (watch, held, &mut shutdown);
    let peers = match ranks::gather(ledger, options, &claim, &mut work, begin).await {
        Ok(peers) => peers,
        Err(ended) => return end(ledger, beats, lease, ended).await,
    };
    let mut tending = Tending::new(ledger, held, (&claim, &options.name), &work, &stop);
    let beside_others = claim.spec.common.resources.share_base;
    // They take turns on the same cores.
    let patience = options.watchdog * if beside_others { MOST_TOGETHER } else { 1 };
    let (engine, finished) = start_engine(work, reporter, beside_others)?;

    let result = tokio::select! {
        result = tending.tend(inbox, finished, &mut shutdown) => result,
        () = stillness(&pulse, patience) => {
            drop(peers);
            return end(ledger, beats, lease, Ended::Lost(hang(options, patience))).await;
        }
    };
    // The device is free only when the engine has let go of it; without an inbox it does so at its next report.
    tokio::select! {
        joined = tokio::task::spawn_blocking(move || engine.join()) => if joined.is_err() {
            tracing::error!(job = %lease.job, "the engine thread cannot be waited for");
        },
        () = stillness(&pulse, patience) => {
            let reason = String::from("the engine does not let go of it");
            ledger.fault_device(&options.name, &reason).await?;
            return Err(WorkerError::DeviceLost(reason));
        }
    }
    // Their devices are free before the job gives them back.
    drop(peers);
    if let Err(error) = tending.keeping.all(ledger.place()).await {
        tracing::warn!(job = %lease.job, error = chain(&error), "not all that the job keeps is stored");
    }
    tending.end_trace(&result);
    if result.as_ref().is_err_and(|error| EngineError::found_disk_full(&error.failure())) {
        ledger.note_shortage();
    }
    let ended = match result {
        Ok(outcome) => Ended::Succeeded { result: tending.result.result(outcome.as_ref()) },
        Err(error) => match conclude(&error, lease, &claim.devices) {
            Some(ended) => ended,
            None => {
                beats.let_go(lease).await;
                return Ok(());
            }
        },
    };
    end(ledger, beats, lease, ended).await
}

/// How an attempt ends whose job lacks something.
fn refused(ledger: &SharedLedger, lease: Lease, failure: Failure, device: &str) -> Ended {
    tracing::warn!(job = %lease.job, failure.message, "refused");
    // What a job needs is copied to this machine's disk.
    if EngineError::found_disk_full(&failure) {
        ledger.note_shortage();
    }
    loss(&failure, device).map_or(Ended::Failed(failure), Ended::Lost)
}

/// What rank 0 does while it waits for others. Where these have the state only together, the engine asks by itself whether it
/// is to save it, at the end of a step.
fn watch_over(pulse: &Arc<Pulse>, stop: &Arc<StopFlag>, (patience, is_sharded): (Duration, bool)) -> Watch {
    let (pulse, stop, leaving) = (Arc::clone(pulse), Arc::clone(stop), Arc::clone(stop));
    let look = move || {
        pulse.beat();
        stop.get().filter(|stop| *stop != Stop::Drain || !is_sharded)
    };
    Watch { patience, look: Arc::new(look), leave: Arc::new(move || leaving.raise(Stop::Drain)) }
}

/// What becomes of an attempt that the engine ended with an error; nothing when it is somebody else's by now.
fn conclude(error: &EngineError, lease: Lease, devices: &[String]) -> Option<Ended> {
    match error {
        EngineError::Stopped(Stop::LeaseLost) => {
            tracing::warn!(job = %lease.job, "the lease is lost; nothing more is written");
            None
        }
        EngineError::Stopped(Stop::Drain) => Some(Ended::Drained),
        EngineError::Stopped(Stop::Cancel) => Some(Ended::Cancelled),
        error => {
            tracing::error!(job = %lease.job, error = chain(error), "the job failed");
            let failure = error.failure();
            let rank = if let EngineError::Rank { rank, .. } = error { *rank } else { 0 };
            let lost = devices.get(rank).and_then(|device| loss(&failure, device));
            Some(lost.map_or(Ended::Failed(failure), Ended::Lost))
        }
    }
}

/// What a run of the engine ends with; none when nothing was trained.
type Run = Result<Option<Outcome>, EngineError>;

/// Runs the engine on a thread of its own; beside others with threads of its own, so that none of them waits for another's
/// work to end.
fn start_engine(
    work: assignment::Work,
    mut reporter: LeaseReporter,
    beside_others: bool,
) -> Result<(JoinHandle<()>, oneshot::Receiver<Run>), WorkerError> {
    let (done, finished) = oneshot::channel();
    let thread = std::thread::Builder::new().name(String::from("engine")).spawn(move || {
        // The engine is a thread of the pool itself, so that it hands out work without waking anyone to do so.
        let run = std::panic::AssertUnwindSafe(|| {
            if !beside_others {
                return rayon::scope(|_| work.run(&mut reporter));
            }
            engine::threads::beside()?.install(|| work.run(&mut reporter))
        });
        let result = std::panic::catch_unwind(run)
            .unwrap_or_else(|panic| Err(EngineError::Internal(panic_text(panic.as_ref()))));
        // The receiver is gone only when the lease was lost; then nobody wants the result.
        drop(done.send(result));
    });
    Ok((thread.map_err(WorkerError::Thread)?, finished))
}

/// Returns once the engine has shown no sign of life for `limit`.
async fn stillness(pulse: &Pulse, limit: Duration) {
    let mut polls = interval(POLL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !pulse.is_still(limit) {
        polls.tick().await;
    }
}

fn hang(options: &Options, patience: Duration) -> Loss {
    let (name, seconds) = (&options.name, patience.as_secs());
    let reason = format!("{name} hangs: the engine showed no sign of life for {seconds} s");
    Loss { kind: FailureKind::DeviceLost, reason, device: None, blameless: false }
}

/// Whether a failure is the device's, so that another attempt elsewhere or later may go well.
fn loss(failure: &Failure, device: &str) -> Option<Loss> {
    match failure.kind {
        FailureKind::DeviceLost | FailureKind::OutOfMemory => {
            let reason = format!("{device}: {}", failure.message);
            Some(Loss { kind: failure.kind, reason, device: Some(device.to_owned()), blameless: false })
        }
        FailureKind::InvalidData
        | FailureKind::Diverged
        | FailureKind::VerifierErrorRate
        | FailureKind::StorageFull
        | FailureKind::Poison
        | FailureKind::BudgetExhausted
        | FailureKind::Internal => None,
    }
}

/// Writes down how an attempt ended. When its device was lost this worker ends with an error: what its process holds on
/// the device goes with it.
async fn end(ledger: &SharedLedger, beats: &Beats, lease: Lease, mut ended: Ended) -> Result<(), WorkerError> {
    beats.let_go(lease).await;
    match &mut ended {
        Ended::Failed(Failure { message: text, .. }) | Ended::Lost(Loss { reason: text, .. }) => {
            *text = without_root(text, ledger.files().root());
        }
        Ended::Succeeded { .. } | Ended::Cancelled | Ended::Drained => {}
    }
    match patiently(|| ledger.end_attempt(lease, &ended)).await {
        Err(StoreError::LeaseLost) => {
            tracing::warn!(job = %lease.job, "the lease was lost before the end could be written");
        }
        other => other?,
    }
    if let Ended::Lost(Loss { reason, .. }) = ended {
        tracing::error!(job = %lease.job, reason, "the device is lost");
        return Err(WorkerError::DeviceLost(reason));
    }
    Ok(())
}

/// A text for clients: where the data directory lies is nothing to them, and what lies in it is named as it is there.
fn without_root(text: &str, root: &Path) -> String {
    text.replace(&format!("{}/", root.display()), "")
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the engine panicked: {}", text.unwrap_or_default())
}

/// An error with its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// A failure that is nobody's fault but ours.
fn internal(message: impl Into<String>) -> Failure {
    Failure { kind: FailureKind::Internal, code: String::from("internal"), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_reads_what_failed_and_not_where_the_data_directory_lies() {
        let text = "opening /srv/anneal/jobs/job_1/training-1-5/state.json failed: no such file";
        assert_eq!(
            without_root(text, Path::new("/srv/anneal")),
            "opening jobs/job_1/training-1-5/state.json failed: no such file"
        );
    }

    #[test]
    fn a_stop_only_becomes_more_urgent() {
        let flag = StopFlag::default();
        assert_eq!(flag.get(), None);
        flag.raise(Stop::Cancel);
        flag.raise(Stop::Drain);
        assert_eq!(flag.get(), Some(Stop::Cancel));
        flag.raise(Stop::LeaseLost);
        assert_eq!(flag.get(), Some(Stop::LeaseLost));
    }
}
