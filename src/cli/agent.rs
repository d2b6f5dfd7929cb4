//! `anneal worker --server URL`: an agent, which runs the jobs of a server on this machine's devices. It needs nothing of the
//! server's but its address and a key: rows, models and checkpoints come and go over HTTP.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::serve::{lock, worker_arguments};
use super::worker::wait_for_end;
use crate::config::{Config, VERIFIERS, machine_name};
use crate::device::Machine;
use crate::job::WorkerId;
use crate::job::agent::{HostRegistration, PROTOCOL, RegisteredHost};
use crate::job::device::LOCAL_HOST;
use crate::job::device::is_host_name;
use crate::store::{Files, StoreError};
use crate::worker::copies::{self, Copies};
use crate::worker::ledger::Ledger;
use crate::worker::remote::{Remote, Way};
use crate::worker::supervisor::{Orders, supervise};

/// Where an agent keeps copies unless it is told.
const FOLDER: &str = "anneal-agent";
/// A pause before the server is asked again that could not be reached.
const PAUSE: Duration = Duration::from_secs(2);
/// How often it is looked whether the server still lets this agent in.
const LOOK: Duration = Duration::from_secs(5);

/// What makes a worker one of another machine's server.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "On a machine without the database")]
pub struct AgentArgs {
    /// Address of the server to work for, on all devices of this machine (see --devices); copies of what jobs need are kept
    /// in --data-dir [default there: anneal-agent]
    #[arg(long, value_name = "URL")]
    server: Option<reqwest::Url>,
    /// File with an API key that has the scope `agent` (anneal keys create NAME --scopes agent)
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,
    /// File with the only certificates, in PEM, that may have signed that of the server [default: those of the system]
    #[arg(long, value_name = "FILE", requires = "server")]
    ca_file: Option<PathBuf>,
    /// What you call machines like this one; jobs ask for them with `resources.pool`
    #[arg(long, value_name = "NAME", requires = "server", value_parser = pool_name)]
    pool: Option<String>,
    /// Run one job on each device, and end
    #[arg(long)]
    pub once: bool,
    /// End when there was no job for so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub idle_exit: Option<u64>,
}

fn pool_name(text: &str) -> Result<String, String> {
    let wrong = "is 1 to 63 lower-case letters, digits, `-`, `.` and `_`";
    if is_host_name(text) { Ok(text.to_owned()) } else { Err(String::from(wrong)) }
}

impl AgentArgs {
    /// The way to the server, if there is one.
    pub fn way(&self) -> Option<Way> {
        let (token_file, ca_file) = (self.token_file.clone(), self.ca_file.clone());
        self.server.clone().map(|server| Way { server, token_file, ca_file })
    }
}

/// The folder of an agent.
pub fn folder(config: &Config) -> PathBuf {
    if config.names_data_dir { config.data_dir.clone() } else { PathBuf::from(FOLDER) }
}

pub fn run(config: Config, args: &AgentArgs, way: Way) -> anyhow::Result<ExitCode> {
    let host_name = Some(config.host_name.clone()).filter(|name| name != LOCAL_HOST).unwrap_or_else(machine_name);
    let mut config = Config { data_dir: folder(&config), host_name, ..config };
    let runtime = tokio::runtime::Runtime::new()?;
    let result = runtime.block_on(async {
        let files = Files::open(&config.data_dir)?;
        let _lock = lock(&files)?;
        files.sweep_uploads()?;
        // Whoever starts it again has made room, or wants it to try.
        files.forget_shortage();
        let machine = Arc::new(Machine::open(&config.devices, files.root())?.called(&config.host_name));
        let readings = machine.read_all()?;
        let Some(first) = readings.first().map(|reading| reading.name.clone()) else {
            bail!("an agent needs devices; name some with --devices");
        };
        let (stop, mut shutdown) = watch::channel(false);
        let end = stop.clone();
        tokio::spawn(async move {
            wait_for_end(false).await;
            stop.send_replace(true);
        });
        let registration = HostRegistration {
            protocol: PROTOCOL,
            name: config.host_name.clone(),
            identity: files.host_identity()?,
            version: env!("ANNEAL_BUILD").to_owned(),
            pool: args.pool.clone(),
            devices: readings.clone(),
        };
        let remote = Arc::new(Remote::new(way.clone(), WorkerId::generate(), files)?);
        let Some(server) = register(&remote, &registration, &mut shutdown).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        println!("anneal works for {} as `{}` ({} devices)", way.server, server.name, readings.len());
        config.lease_seconds = server.lease_seconds;
        let threads = (config.threads / readings.len().max(1)).max(1);
        let mut arguments = worker_arguments(&config, threads);
        arguments.extend(way.arguments());
        arguments.extend(args.once.then(|| String::from("--once")));
        arguments.extend(args.idle_exit.iter().flat_map(|idle| [String::from("--idle-exit"), idle.to_string()]));
        let verifiers = (VERIFIERS.to_owned(), serde_json::to_string(&config.verifiers)?);
        let environment = std::iter::once(verifiers).chain(config.traces()).collect();
        let ends = args.once || args.idle_exit.is_some();
        let orders = Orders { arguments, environment, ends };
        let mut workers = JoinSet::new();
        for reading in readings {
            let (remote, orders, machine) = (Arc::clone(&remote), orders.clone(), Arc::clone(&machine));
            let shutdown = shutdown.clone();
            workers.spawn(async move { supervise(remote, orders, machine, &reading, shutdown).await });
        }
        tokio::spawn(copies::watch(Copies::OfAgent(remote.place().clone()), config.max_copied_bytes, shutdown.clone()));
        let ended = tokio::select! {
            refusal = refusal(&remote, &first) => Err(refusal),
            () = async { while workers.join_next().await.is_some() {} } => Ok(ExitCode::SUCCESS),
        };
        end.send_replace(true);
        workers.join_all().await;
        ended
    });
    runtime.shutdown_background();
    result
}

/// Begins to work for the server, as soon as it can be reached; none where this process is to end before.
async fn register(
    remote: &Remote,
    registration: &HostRegistration,
    shutdown: &mut watch::Receiver<bool>,
) -> anyhow::Result<Option<RegisteredHost>> {
    let mut told = false;
    while !*shutdown.borrow() {
        let answer = tokio::select! {
            answer = remote.register(registration) => answer,
            _ = shutdown.wait_for(|down| *down) => break,
        };
        match answer {
            Ok(server) => return Ok(Some(server)),
            Err(StoreError::ServerAway(detail)) => {
                if !told {
                    tracing::warn!(detail, "the server cannot be reached; trying again");
                }
                told = true;
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    _ = shutdown.wait_for(|down| *down) => {}
                }
            }
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(None)
}

/// Waits until the server lets this agent in no more, as when its key was revoked.
async fn refusal(remote: &Remote, device: &str) -> anyhow::Error {
    loop {
        tokio::time::sleep(LOOK).await;
        let asked = remote.device(device).await;
        if let Err(error @ StoreError::Server { status: 401 | 403 | 404 | 409, .. }) = asked {
            return refused(error);
        }
    }
}

fn refused(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Server { status: 401 | 403, detail, .. } => anyhow!(
            "the server does not let this agent in: {detail}\n  make a key with `anneal keys create NAME --scopes agent` and \
             give the file it is in with --token-file"
        ),
        StoreError::Distrusted(_) => anyhow::Error::from(error).context(
            "this is not the server, or its certificate is signed by somebody whom this system does not know: name the file \
             with that one's certificate with --ca-file",
        ),
        error => anyhow::Error::from(error).context("the server takes no agent from here"),
    }
}
