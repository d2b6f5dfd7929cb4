//! `anneal worker`: a worker process, and the signals that end it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::agent;
use super::limits::{bound_memory, step_back};
use crate::config::Config;
use crate::device::{FAULT_FILE, HANG_FILE, Machine, folder_of, memory_of_machine};
use crate::engine::device;
use crate::engine::kernels::form::Way;
use crate::engine::kernels::{Instructions, trial};
use crate::engine::threads::compute_threads;
use crate::job::WorkerId;
use crate::job::device::{name_on, split_name};
use crate::store::{Files, Lease};
use crate::worker::ledger::SharedLedger;
use crate::worker::ranks::{Rank, parse_lease, take_part};
use crate::worker::remote::Remote;
use crate::worker::{self, Options};

/// How far a worker steps back: requests to the API come before the work of jobs on the same cores, also those that are
/// served by threads which have stepped back themselves (`api::blocking`).
const NICENESS: i32 = 8;
const OUT_OF_MEMORY_SCORE: u16 = 500;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The device to run jobs on: cpu or cuda:N
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The device's name on this machine, where a GPU is the only one that this process sees
    #[arg(long, hide = true)]
    name: Option<String>,
    /// Compute a small thing on the device and end; fails when the device is not well
    #[arg(long)]
    check_device: bool,
    /// The worker's id; made up when absent
    #[arg(long, hide = true)]
    id: Option<WorkerId>,
    /// Take part in a job as rank/size; standard input is the connection to rank 0
    #[arg(long, hide = true, requires = "lease")]
    rank: Option<Rank>,
    /// The job and attempt to take part in
    #[arg(long, hide = true, value_parser = parse_lease)]
    lease: Option<Lease>,
    /// Rank 0 is on another machine; standard input says where
    #[arg(long, hide = true, requires = "rank")]
    far: bool,
    /// End when standard input closes, which tells that the supervisor is gone
    #[arg(long, hide = true)]
    supervised: bool,
    #[command(flatten)]
    agent: agent::AgentArgs,
}

pub fn run(config: Config, args: Args) -> anyhow::Result<ExitCode> {
    if args.check_device {
        return check(&config, &args);
    }
    let way = args.agent.way();
    if let Some(way) = way.clone().filter(|_| !args.supervised && args.rank.is_none()) {
        return agent::run(config, &args.agent, way);
    }
    if args.rank.is_some() {
        // However rank 0 ends, this process must not keep its device.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    // The threads that compute are as the one that starts them.
    if args.supervised || args.rank.is_some() {
        step_back(NICENESS, OUT_OF_MEMORY_SCORE);
    }
    start_pool(config.threads)?;
    // Beside a GPU, whose libraries reserve what they like, nothing is bounded without a setting.
    let machine = || (!args.device.starts_with("cuda")).then(memory_of_machine).filter(|most| *most > 0);
    if let Some(most) = config.worker_memory_bytes.or_else(machine) {
        bound_memory(most)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        let id = args.id.unwrap_or_else(WorkerId::generate);
        let ledger: SharedLedger = match way {
            None => Arc::new(super::open_store(&config).await?),
            Some(way) => Arc::new(Remote::new(way, id, Files::open(&config.data_dir)?)?),
        };
        if let (Some(rank), Some(lease)) = (args.rank, args.lease) {
            take_part(&ledger, (&args.device, &config.verifiers), (rank, args.far), lease).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let (stop, shutdown) = watch::channel(false);
        tokio::spawn(async move {
            wait_for_end(args.supervised).await;
            stop.send_replace(true);
        });
        let name = args.name.unwrap_or_else(|| name_on(&config.host_name, &args.device));
        let simulated = folder_of(ledger.files().root(), &name);
        // What a server has told the store of a device is not looked up again; simulated ones are known to it alone.
        let reading = if args.supervised || simulated.is_some() {
            None
        } else {
            let machine = Machine::open(split_name(&name).1, ledger.files().root())?;
            Some(machine.called(&config.host_name).read(&name, None)?)
        };
        let options = Options {
            id,
            device: args.device,
            name,
            reading,
            lease_seconds: config.lease_seconds,
            watchdog: Duration::from_secs(config.watchdog_seconds),
            rank_address: config.rank_address,
            outside: config.verifiers,
            hang: simulated.map(|folder| folder.join(HANG_FILE)),
            once: args.agent.once,
            idle_exit: args.agent.idle_exit.map(Duration::from_secs),
        };
        worker::run(ledger, options, shutdown).await?;
        Ok(ExitCode::SUCCESS)
    });
    // A read of standard input cannot be interrupted; do not wait for it.
    runtime.shutdown_background();
    result
}

/// Whether the device is well.
fn check(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.name.as_ref().unwrap_or(&args.device);
    if let Some(folder) = folder_of(&config.data_dir, name) {
        let hang = folder.join(HANG_FILE);
        while hang.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Ok(fault) = std::fs::read_to_string(folder.join(FAULT_FILE)) {
            bail!("{}", fault.trim());
        }
    }
    device::check(&device::open(&args.device)?)?;
    Ok(ExitCode::SUCCESS)
}

/// One pool for everything that computes, but for jobs that run beside others. What is quickest here is found out first.
pub fn start_pool(threads: usize) -> anyhow::Result<()> {
    Instructions::allowed().map_err(anyhow::Error::msg)?;
    let [few, many] = trial::choose().map(Way::name);
    tracing::debug!(few, many, "how products of bf16 are computed, for few rows and for many");
    Ok(compute_threads(threads).build_global()?)
}

/// Returns on SIGTERM, on SIGINT, or when the supervisor's pipe closes. SIGHUP, by which a terminal says that it closes and
/// an administrator that settings are to be read again, ends nothing.
pub async fn wait_for_end(supervised: bool) {
    if let Ok(mut hangups) = signal(SignalKind::hangup()) {
        tokio::spawn(async move {
            while hangups.recv().await.is_some() {
                tracing::info!("SIGHUP changes nothing: settings are read when the server starts");
            }
        });
    }
    let pipe = async {
        if supervised {
            let mut sink = [0; 64];
            let mut stdin = tokio::io::stdin();
            while stdin.read(&mut sink).await.is_ok_and(|count| count > 0) {}
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = signalled() => {}
        () = pipe => tracing::info!("the supervisor closed standard input, or is gone"),
    }
}

/// Returns on SIGTERM or SIGINT.
pub async fn signalled() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        // Without handlers the default action of the signals ends the process, which is safe if less tidy.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
