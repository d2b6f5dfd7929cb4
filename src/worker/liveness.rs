//! The server's watch over the workers. Once a second it looks who has given a sign of life, takes back the jobs of those
//! who have not for too long, and ends their processes; it also ends a worker that was stopped in the midst of a write,
//! which keeps everyone else from writing.
//!
//! Nothing here compares a clock with another: silence is counted in the watch's own looks, each of which counts for no
//! more than two seconds, so that a machine that slept, or a server that was stopped, blames nobody.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{chain, time};
use crate::clock;
use crate::job::{DeviceReading, WorkerId};
use crate::store::{SignOfLife, Store, StoreError};

const LOOK: Duration = Duration::from_secs(1);
/// What a look counts for at most.
const LONGEST_LOOK: Duration = Duration::from_secs(2);
/// A clock that moves by more than this against the one that nobody sets was set.
const JUMP_MILLISECONDS: i64 = 5000;

/// Takes back what workers held that ended together with the server before. Nobody's job is to blame for that.
async fn release_the_dead(store: &Store) -> Result<(), StoreError> {
    for sign in store.signs_of_life().await? {
        if sign.own && store.is_gone(sign.worker) {
            release(store, sign.worker).await?;
        }
    }
    Ok(())
}

async fn release(store: &Store, worker: WorkerId) -> Result<(), StoreError> {
    store.release_worker(worker, "the server and its worker ended", true, clock::now()).await?;
    Ok(())
}

/// Writes down what devices there are, and takes back what nobody runs any more. Returns false on a disk that is too full
/// for it: what is stored can be read all the same.
pub async fn settle(store: &Store, devices: &[DeviceReading]) -> Result<bool, StoreError> {
    let settled = async {
        store.set_devices(devices, clock::now()).await?;
        release_the_dead(store).await
    };
    match settled.await {
        Ok(()) => Ok(true),
        Err(error @ StoreError::Full(_)) => {
            tracing::error!(error = chain(&error), "the disk is full: nothing can be stored until something is freed");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Watches until `shutdown` becomes true: this machine's workers, and those of all others while this server `leads`. A
/// worker may be silent for `patience`. `unsettled` devices are still to be written down.
pub async fn watch(
    store: Store,
    mut unsettled: Option<Vec<DeviceReading>>,
    patience: Duration,
    leads: watch::Receiver<bool>,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut vigil = Vigil::new(store, patience, leads);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = shutdown.wait_for(|down| *down) => return,
        }
        if let Some(devices) = unsettled.take() {
            let settled = settle(&vigil.store, &devices).await;
            unsettled = Some(devices).filter(|_| !matches!(settled, Ok(true)));
        }
        if let Err(error) = vigil.look().await {
            tracing::warn!(error = chain(&error), "the workers could not be looked at");
            vigil.forgive();
        }
    }
}

/// What is known of the workers from the looks so far.
struct Vigil {
    store: Store,
    patience: Duration,
    looked: Instant,
    /// What the wall clock would show if nobody had set it since the first look.
    expected: i64,
    silences: BTreeMap<WorkerId, Silence>,
    /// For how long a process has kept the database locked.
    locked: Option<(u32, Duration)>,
    leads: watch::Receiver<bool>,
}

/// How long a worker's count has stood still, and whether its process had ended at the last look.
#[derive(Clone, Copy, Debug)]
struct Silence {
    beats: i64,
    lasts: Duration,
    gone: bool,
}

impl Vigil {
    fn new(store: Store, patience: Duration, leads: watch::Receiver<bool>) -> Self {
        let (looked, expected) = (Instant::now(), clock::now().0);
        Self { store, patience, looked, expected, silences: BTreeMap::new(), locked: None, leads }
    }

    /// While a database on another machine is away nobody can give a sign of life, and this server cannot tell since when:
    /// everybody's silence begins anew.
    fn forgive(&mut self) {
        if self.store.is_shared() {
            self.silences.clear();
        }
    }

    async fn look(&mut self) -> Result<(), StoreError> {
        let passed = self.looked.elapsed();
        self.looked = Instant::now();
        self.expected += passed.as_millis() as i64;
        // On a full disk nobody can give a sign of life.
        let counted = if self.store.is_full() { Duration::ZERO } else { passed.min(LONGEST_LOOK) };
        time::follow(&self.store).await?;
        self.store.see_host(clock::now()).await?;
        let leads = *self.leads.borrow();
        let mut workers = self.store.signs_of_life().await?;
        // Whoever comes to lead hears of the others for the first time, so that none is judged before its time is over.
        workers.retain(|sign| sign.own || leads);
        match self.store.probe().await {
            Ok(()) => self.locked = None,
            // Nobody can give a sign of life now, and whoever keeps them from it may be one of them.
            Err(error) => {
                self.free_writer(&workers, passed);
                return Err(error);
            }
        }
        self.notice_jump().await?;
        self.silences.retain(|worker, _| workers.iter().any(|sign| sign.worker == *worker));
        for sign in workers {
            let first = Silence { beats: -1, lasts: Duration::ZERO, gone: false };
            let silence = self.silences.entry(sign.worker).or_insert(first);
            let lasts = if silence.beats == sign.beats { silence.lasts + counted } else { Duration::ZERO };
            let (was_gone, gone) = (silence.gone, self.store.is_gone(sign.worker));
            *silence = Silence { beats: sign.beats, lasts, gone };
            // A worker of this server is taken note of by its supervisor as soon as it ends; one that nobody has taken
            // note of since the last look was still ending when this server started.
            if was_gone && gone {
                release(&self.store, sign.worker).await?;
            } else if lasts >= self.patience {
                self.end(sign).await?;
            }
        }
        Ok(())
    }

    /// Takes a silent worker's job from it, and ends its process if it is still there.
    async fn end(&self, sign: SignOfLife) -> Result<(), StoreError> {
        let (id, seconds) = (sign.worker, self.patience.as_secs());
        let gone = self.store.is_gone(id);
        tracing::error!(%id, pid = sign.pid, gone, "a worker showed no sign of life for {seconds} s");
        let reason = "the worker stopped reporting";
        self.store.release_worker(id, reason, false, clock::now()).await?;
        if sign.own && !gone {
            kill(sign);
        }
        Ok(())
    }

    /// Ends a worker that keeps the database locked: at once when it was stopped and cannot go on, and otherwise when it
    /// has done so for as long as a worker may be silent, unless it waits for the disk.
    fn free_writer(&mut self, workers: &[SignOfLife], passed: Duration) {
        if self.store.is_shared() {
            // PostgreSQL ends the transaction of who is silent.
            return;
        }
        let Some(pid) = self.store.writing_process() else {
            // Whoever it is, the kernel does not tell, as in a unit that sees little of /proc. A stopped worker is one
            // that might be it.
            let stopped = workers.iter().filter(|sign| matches!(state(sign.pid), Some('T' | 't')));
            stopped.for_each(|sign| kill(*sign));
            return;
        };
        let before = self.locked.filter(|(other, _)| *other == pid).map_or(Duration::ZERO, |(_, lasts)| lasts);
        let lasts = before + passed;
        self.locked = Some((pid, lasts));
        let Some(sign) = workers.iter().find(|sign| sign.pid == pid) else {
            tracing::error!(pid, "a process that is no worker of this server keeps the database locked");
            return;
        };
        let end = match state(pid) {
            Some('T' | 't') => true,
            Some('D') => false,
            Some(_) | None => lasts >= self.patience,
        };
        if end {
            tracing::error!(id = %sign.worker, pid, "a worker keeps the database locked and is ended");
            kill(*sign);
        }
    }

    /// Says in the logs of the jobs under way that somebody has set the clock.
    async fn notice_jump(&mut self) -> Result<(), StoreError> {
        let now = clock::now();
        let jump = now.0 - self.expected;
        if jump.abs() < JUMP_MILLISECONDS {
            // Small corrections may add up.
            self.expected = now.0;
            return Ok(());
        }
        self.expected = now.0;
        tracing::warn!(seconds = jump / 1000, "the clock of this machine was set");
        self.store.note_clock(jump, now).await
    }
}

/// Ends the process of a worker, if it is one: its number may be another's by now.
fn kill(sign: SignOfLife) {
    let id = sign.worker.to_string();
    let command = fs::read(format!("/proc/{}/cmdline", sign.pid)).unwrap_or_default();
    let pid = i32::try_from(sign.pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|_| command.split(|byte| *byte == 0).any(|word| word == id.as_bytes())) else {
        tracing::error!(%id, pid = sign.pid, "the process of a worker was not started by a server; it must be ended by hand");
        return;
    };
    if let Err(error) = kill_process(pid, Signal::KILL) {
        tracing::error!(%error, %id, "a worker could not be killed");
    }
}

/// How a process is, by the letter of proc_pid_stat(5).
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, parentheses too.
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{DeviceReading, JobId, JobKind, JobStatus, Timestamp};
    use crate::store::{Lease, LifeLock, NewJob, WorkerRow};

    const DEVICE: &str = "simulated:0";
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Of the only server there is.
    fn alone() -> watch::Receiver<bool> {
        watch::channel(true).1
    }

    struct Machine {
        store: Store,
        worker: WorkerId,
        _folder: tempfile::TempDir,
    }

    impl Machine {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).await.unwrap();
            let reading = DeviceReading::of_test(DEVICE, 0, 1 << 30);
            store.set_devices(&[reading], clock::now()).await.unwrap();
            let machine = Self { store, worker: WorkerId::generate(), _folder: folder };
            machine.attend(machine.worker).await;
            machine
        }

        async fn attend(&self, id: WorkerId) {
            let now = clock::now();
            let (device, description) = (DEVICE.to_owned(), String::new());
            let row = WorkerRow { id, device, description, pid: 1, started_at: now, seen_at: now };
            self.store.add_worker(&row).await.unwrap();
        }

        async fn submit(&self, now: Timestamp) {
            let spec = serde_json::json!({
                "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "sft"},
            });
            self.store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, now).await.unwrap();
        }

        async fn claim(&self, worker: WorkerId, now: Timestamp) -> Lease {
            self.store.claim(worker, DEVICE, now).await.unwrap().unwrap().lease
        }

        async fn run_job(&self, now: Timestamp) -> Lease {
            self.submit(now).await;
            self.claim(self.worker, now).await
        }

        async fn status(&self, job: JobId) -> JobStatus {
            self.store.job(job).await.unwrap().status
        }
    }

    /// As many looks as there are seconds in `time`, of a server whose own clock does not stand still between them.
    async fn look_for(vigil: &mut Vigil, time: Duration) {
        for _ in 0..time.as_secs() {
            vigil.looked -= LOOK;
            vigil.expected -= LOOK.as_millis() as i64;
            vigil.look().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_silent_worker_loses_its_job_whatever_the_clocks_say() {
        let machine = Machine::new().await;
        // As after a restart with a clock that is far behind: what is in the database lies in the future.
        let lease = machine.run_job(clock::now().plus_seconds(7200)).await;
        let mut vigil = Vigil::new(machine.store.clone(), PATIENCE, alone());
        look_for(&mut vigil, PATIENCE).await;
        assert_eq!(machine.status(lease.job).await, JobStatus::Starting, "the first look only learns the count");
        machine.store.beat(machine.worker, &[], clock::now()).await.unwrap();
        look_for(&mut vigil, PATIENCE).await;
        assert_eq!(machine.status(lease.job).await, JobStatus::Starting, "it gave a sign of life");
        look_for(&mut vigil, Duration::from_secs(2)).await;
        assert_eq!(machine.status(lease.job).await, JobStatus::Queued);
        assert!(machine.store.signs_of_life().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_server_that_was_stopped_itself_blames_nobody() {
        let machine = Machine::new().await;
        let lease = machine.run_job(clock::now()).await;
        let mut vigil = Vigil::new(machine.store.clone(), PATIENCE, alone());
        vigil.look().await.unwrap();
        vigil.looked -= Duration::from_secs(3600);
        vigil.expected -= 3_600_000;
        vigil.look().await.unwrap();
        assert_eq!(machine.status(lease.job).await, JobStatus::Starting);
    }

    #[tokio::test]
    async fn a_clock_that_was_set_is_told_to_the_jobs_under_way_once() {
        let machine = Machine::new().await;
        let lease = machine.run_job(clock::now()).await;
        let mut vigil = Vigil::new(machine.store.clone(), PATIENCE, alone());
        vigil.look().await.unwrap();
        vigil.expected -= 7_200_000;
        vigil.look().await.unwrap();
        vigil.look().await.unwrap();
        let told = machine.store.notable_events(lease.job, 10).await.unwrap();
        assert_eq!(told.len(), 1);
        assert_eq!(
            told[0].message,
            "the clock went forward by 7200 s: it was set, or the machine slept; nothing is counted for it"
        );
    }

    #[tokio::test]
    async fn what_ended_with_its_server_is_given_back_at_once_and_counts_against_nobody() {
        let machine = Machine::new().await;
        machine.submit(clock::now()).await;
        for _ in 0..5 {
            let worker = WorkerId::generate();
            let lock = LifeLock::hold(machine.store.files(), worker).unwrap();
            machine.attend(worker).await;
            let lease = machine.claim(worker, clock::now()).await;
            release_the_dead(&machine.store).await.unwrap();
            assert_eq!(machine.status(lease.job).await, JobStatus::Starting, "its process lives");
            drop(lock);
            release_the_dead(&machine.store).await.unwrap();
            assert_eq!(machine.status(lease.job).await, JobStatus::Queued);
        }
    }

    /// A process with much memory takes its time to end, after the server that was killed with it has a successor.
    #[tokio::test]
    async fn what_was_still_ending_when_the_server_started_is_given_back_too() {
        let machine = Machine::new().await;
        machine.submit(clock::now()).await;
        let worker = WorkerId::generate();
        let lock = LifeLock::hold(machine.store.files(), worker).unwrap();
        machine.attend(worker).await;
        let lease = machine.claim(worker, clock::now()).await;
        release_the_dead(&machine.store).await.unwrap();
        let mut vigil = Vigil::new(machine.store.clone(), Duration::from_secs(3600), alone());
        vigil.look().await.unwrap();
        drop(lock);
        vigil.look().await.unwrap();
        assert_eq!(machine.status(lease.job).await, JobStatus::Starting, "its supervisor might not know yet");
        vigil.look().await.unwrap();
        assert_eq!(machine.status(lease.job).await, JobStatus::Queued);
    }

    #[test]
    fn a_process_says_how_it_is() {
        assert!(matches!(state(std::process::id()), Some('R' | 'S')));
        assert_eq!(state(u32::MAX), None);
    }
}
