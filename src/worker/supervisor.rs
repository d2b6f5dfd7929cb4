//! Keeps one worker process per device alive, so that a device fault or an out-of-memory kill takes a worker and
//! never the API. A worker's standard input is a pipe that the supervisor holds: when the supervisor dies, however
//! suddenly, the pipe closes and the worker saves its job and leaves.
//!
//! Once a second the supervisor looks at its device. Whoever finds that it has failed (the supervisor, by what the
//! device reports; the worker, by an error or the watchdog) marks it so in the store, which takes the job from it. The
//! supervisor then ends the worker, and lets a process of its own check the device, again and again with growing
//! pauses, until it is well.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::chain;
use super::ledger::SharedLedger;
use crate::device::{self, DeviceError, DeviceReading, Machine};
use crate::job::device::split_name;
use crate::job::{DeviceStatus, WorkerId};
use crate::program;
use crate::store::StoreError;

/// Time for a worker to save its job when the server ends, and the longest for one that is writing it all the while.
const DRAIN: Duration = Duration::from_secs(9);
const LONGEST_DRAIN: Duration = Duration::from_secs(120);
/// Who writes as many bytes in a second is saving its job.
const SAVING: u64 = 1 << 20;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A driver that does not answer for so long has lost its device.
const LOOK_TIME: Duration = Duration::from_secs(10);

/// How often a device is looked at, and how a failed one is checked.
#[derive(Clone, Copy, Debug)]
struct Pace {
    look: Duration,
    /// Longest time for a check.
    check: Duration,
    /// Pauses between checks, the first and the longest; each is twice the one before.
    first_pause: Duration,
    longest_pause: Duration,
}

impl Pace {
    /// Simulated devices fail and recover at the pace of tests.
    fn of(device: &str) -> Self {
        let millis = Duration::from_millis;
        if split_name(device).1.starts_with("simulated:") {
            Self { look: millis(100), check: millis(3000), first_pause: millis(250), longest_pause: millis(1000) }
        } else {
            Self {
                look: millis(1000),
                check: millis(60_000),
                first_pause: millis(5000),
                longest_pause: millis(300_000),
            }
        }
    }
}

/// A device and what is needed to tend it.
struct DeviceSupervisor {
    ledger: SharedLedger,
    /// What a worker is told before `--device` and `--id`.
    orders: Orders,
    machine: Arc<Machine>,
    device: String,
    /// The device's name in the worker.
    seen_as: String,
    /// What the worker's environment must say.
    variable: Option<(&'static str, String)>,
    pace: Pace,
}

/// What every worker is told.
#[derive(Clone, Debug)]
pub struct Orders {
    /// What stands before `--device` and `--id`.
    pub arguments: Vec<String>,
    /// Variables, for what may hold secrets.
    pub environment: Vec<(String, String)>,
    /// Whether a worker that ends well has done what it was to do.
    pub ends: bool,
}

/// Runs a worker for a device again and again until `shutdown` becomes true.
pub async fn supervise(
    ledger: SharedLedger,
    orders: Orders,
    machine: Arc<Machine>,
    reading: &DeviceReading,
    mut shutdown: watch::Receiver<bool>,
) {
    let (seen_as, variable) = device::seen_by_its_process(&reading.name, reading.number, reading.uuid.as_deref());
    let (device, pace) = (reading.name.clone(), Pace::of(&reading.name));
    let supervisor = DeviceSupervisor { ledger, orders, machine, device, seen_as, variable, pace };
    let mut pause = FIRST_PAUSE;
    while !*shutdown.borrow() {
        if supervisor.has_failed().await {
            // Who is there for one job leaves the place to a machine that is well.
            if supervisor.orders.ends {
                return;
            }
            supervisor.heal(&mut shutdown).await;
            continue;
        }
        let id = WorkerId::generate();
        let began = Instant::now();
        match supervisor.start(id) {
            Err(error) => tracing::error!(%error, device = supervisor.device, "a worker could not be started"),
            Ok(child) => {
                let (how, well) = supervisor.tend(child, &mut shutdown).await;
                // What the end of the server cuts off is no fault of the job's.
                let ended_by_us = *shutdown.borrow();
                release(&supervisor.ledger, id, &how, ended_by_us).await;
                if well && supervisor.orders.ends {
                    return;
                }
            }
        }
        if *shutdown.borrow() {
            break;
        }
        pause = if began.elapsed() > LONGEST_PAUSE { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        rest(pause, &mut shutdown).await;
    }
}

/// What a supervisor has to turn to.
enum Turn {
    Ended(std::io::Result<ExitStatus>),
    Down,
    Look,
}

impl DeviceSupervisor {
    /// A process of this program that sees the device as its only one.
    fn command(&self) -> std::io::Result<Command> {
        let mut command = Command::from(program::command()?);
        command.args(&self.orders.arguments).args(["--device", &self.seen_as, "--name", &self.device]);
        command.envs(self.orders.environment.iter().map(|(name, value)| (name, value)));
        if let Some((variable, visible)) = &self.variable {
            command.env(variable, visible);
        }
        command.stdin(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    fn start(&self, id: WorkerId) -> std::io::Result<Child> {
        self.command()?.args(["--id", &id.to_string(), "--supervised"]).spawn()
    }

    /// Waits for a worker to end, asks it to on shutdown, and ends it when its device fails. Says how it ended, and whether
    /// it did so by itself and well.
    async fn tend(&self, mut child: Child, shutdown: &mut watch::Receiver<bool>) -> (String, bool) {
        // Waiting for a child closes its standard input, which would tell the worker to leave.
        let pipe = child.stdin.take();
        let mut looks = interval(self.pace.look);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            let turn = tokio::select! {
                status = child.wait() => Turn::Ended(status),
                _ = shutdown.wait_for(|down| *down) => Turn::Down,
                _ = looks.tick() => Turn::Look,
            };
            match turn {
                Turn::Ended(status) => break Some(status),
                Turn::Down => break None,
                Turn::Look => {}
            }
            if let Some(reason) = self.look(child.id()).await {
                kill(&mut child).await;
                return (reason, false);
            }
        };
        let status = match ended {
            Some(status) => status,
            None => {
                drop(pipe);
                match drained(&mut child, DRAIN, LONGEST_DRAIN).await {
                    Some(status) => status,
                    None => {
                        tracing::warn!("a worker did not end in time and is killed");
                        kill(&mut child).await;
                        return (String::from("the worker did not end in time"), false);
                    }
                }
            }
        };
        match status {
            Ok(status) if status.success() => (String::from("the worker ended"), true),
            Ok(status) => {
                tracing::error!(%status, "a worker ended unexpectedly");
                (format!("the worker ended unexpectedly ({status})"), false)
            }
            Err(error) => (format!("the worker was lost ({error})"), false),
        }
    }

    /// Looks at the device, on which the process `worker` computes, and writes down what is found. Says why it can no longer be used,
    /// if that is so.
    async fn look(&self, worker: Option<u32>) -> Option<String> {
        let (machine, device) = (Arc::clone(&self.machine), self.device.clone());
        let reading = tokio::task::spawn_blocking(move || machine.read(&device, worker));
        let reading = match tokio::time::timeout(LOOK_TIME, reading).await {
            Ok(Ok(reading)) => reading,
            Ok(Err(error)) => {
                Err(DeviceError::Unreadable { name: self.device.clone(), detail: format!("the look failed: {error}") })
            }
            Err(_) => {
                let detail = format!("the driver did not answer within {} s", LOOK_TIME.as_secs());
                Err(DeviceError::Unreadable { name: self.device.clone(), detail })
            }
        };
        let fault = match &reading {
            Ok(reading) => reading.fault.clone(),
            Err(error) => Some(error.to_string()),
        };
        let written = self.write_down(reading.ok(), fault).await;
        written.unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), device = self.device, "what was seen of a device is not stored");
            None
        })
    }

    async fn write_down(
        &self,
        reading: Option<DeviceReading>,
        fault: Option<String>,
    ) -> Result<Option<String>, StoreError> {
        if let Some(fault) = fault {
            tracing::error!(device = self.device, fault, "a device failed");
            self.ledger.fault_device(&self.device, &fault).await?;
            return Ok(Some(fault));
        }
        let Some(reading) = reading else { return Ok(None) };
        let row = self.ledger.observe_device(&reading).await?;
        Ok(is_out(row.status).then(|| row.fault.unwrap_or_default()))
    }

    /// Whether the device is out, or its machine takes no jobs.
    async fn has_failed(&self) -> bool {
        let looked_up = async {
            if let Some(shortage) = self.ledger.shortage() {
                self.ledger.fault_device(&self.device, &shortage).await?;
            }
            self.ledger.device(&self.device).await
        };
        match looked_up.await {
            Ok(row) => is_out(row.status),
            Err(error) => {
                tracing::warn!(error = chain(&error), device = self.device, "a device cannot be looked up");
                false
            }
        }
    }

    /// Checks a failed device until it is well.
    async fn heal(&self, shutdown: &mut watch::Receiver<bool>) {
        let mut pause = self.pace.first_pause;
        while !*shutdown.borrow() {
            rest(pause, shutdown).await;
            if *shutdown.borrow() {
                return;
            }
            match self.check_once().await {
                Ok(None) => {
                    tracing::info!(device = self.device, "the device is well again");
                    return;
                }
                Ok(Some(fault)) => tracing::warn!(device = self.device, fault, "the device is still not well"),
                Err(error) => tracing::warn!(error = chain(&error), "the check of a device is not stored"),
            }
            pause = (pause * 2).min(self.pace.longest_pause);
        }
    }

    /// One check; says what is wrong.
    async fn check_once(&self) -> Result<Option<String>, StoreError> {
        self.ledger.begin_check(&self.device).await?;
        let fault = self.check().await.err();
        if fault.is_none() {
            self.machine.forget_fault(&self.device);
        }
        self.ledger.end_check(&self.device, fault.as_deref()).await?;
        Ok(fault)
    }

    async fn check(&self) -> Result<(), String> {
        if let Some(shortage) = self.ledger.shortage() {
            return Err(shortage);
        }
        let checking =
            async { self.command()?.arg("--check-device").stderr(Stdio::piped()).stdout(Stdio::null()).output().await };
        match tokio::time::timeout(self.pace.check, checking).await {
            Err(_) => Err(format!("a check did not end within {} s", self.pace.check.as_secs())),
            Ok(Err(error)) => Err(format!("a check could not be started: {error}")),
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("a check failed");
                Err(last.trim_start_matches("error: ").to_owned())
            }
        }
    }
}

/// Whether a device in this state takes no jobs and needs a check.
fn is_out(status: DeviceStatus) -> bool {
    match status {
        DeviceStatus::Faulted | DeviceStatus::Checking => true,
        DeviceStatus::Idle | DeviceStatus::Busy | DeviceStatus::Reserved | DeviceStatus::Foreign => false,
    }
}

async fn rest(pause: Duration, shutdown: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        _ = shutdown.wait_for(|down| *down) => {}
    }
}

/// How a worker ends that was told to; none when it has not by `limit`, or by `longest` if it writes much until then.
async fn drained(child: &mut Child, limit: Duration, longest: Duration) -> Option<io::Result<ExitStatus>> {
    let began = Instant::now();
    let pid = child.id();
    let mut written = pid.and_then(bytes_written);
    loop {
        if let Ok(status) = tokio::time::timeout(Duration::from_secs(1), child.wait()).await {
            return Some(status);
        }
        let now = pid.and_then(bytes_written);
        let saves = now.zip(written).is_some_and(|(now, before)| now.saturating_sub(before) >= SAVING);
        written = now;
        let lasts = began.elapsed();
        if lasts >= longest || (lasts >= limit && !saves) {
            return None;
        }
    }
}

/// Bytes that a process has handed to files so far, where the kernel tells.
fn bytes_written(pid: u32) -> Option<u64> {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    counts.lines().find_map(|line| line.strip_prefix("wchar: "))?.trim().parse().ok()
}

async fn kill(child: &mut Child) {
    if let Err(error) = child.kill().await {
        tracing::error!(%error, "a worker could not be killed");
    }
}

/// Gives a dead worker's job back to the queue, at once instead of when its lease runs out.
async fn release(ledger: &SharedLedger, id: WorkerId, reason: &str, blameless: bool) {
    match ledger.release_worker(id, reason, blameless).await {
        Ok(0) => {}
        Ok(count) => tracing::warn!(%id, count, "jobs of a dead worker went back to the queue"),
        Err(error) => tracing::warn!(error = chain(&error), "leases of a dead worker run out by themselves"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that lasts three seconds and writes much, or nothing.
    fn worker(writes: bool) -> Child {
        let write = if writes { "printf '%01048576d' 0 > /dev/null" } else { "true" };
        let script = format!("for i in 1 2 3 4 5 6 7 8 9 10; do {write}; {write}; {write}; {write}; sleep 0.3; done");
        Command::new("bash").args(["-c", &script]).kill_on_drop(true).spawn().unwrap()
    }

    #[tokio::test]
    async fn a_worker_that_is_saving_its_job_gets_more_time() {
        let (limit, longest) = (Duration::from_millis(1500), Duration::from_secs(60));
        assert!(drained(&mut worker(true), limit, longest).await.unwrap().unwrap().success());
        assert!(drained(&mut worker(false), limit, longest).await.is_none());
        assert!(drained(&mut worker(true), limit, limit).await.is_none());
    }
}
