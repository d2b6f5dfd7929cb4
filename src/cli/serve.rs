//! `anneal serve`: the API, webhooks and a supervisor for each device; one server per data directory.

use std::fs::{File, TryLockError};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::api::imports::Sources;
use crate::api::{self, ApiSettings};
use crate::clock;
use crate::config::Config;
use crate::config::VERIFIERS;
use crate::device::Machine;
use crate::import;
use crate::launcher;
use crate::outbound::Guard;
use crate::push;
use crate::store::{Files, Offered, ProjectLimits, Store, StoreError};
use crate::verifier::{Outside, sandbox};
use crate::webhook;
use crate::worker::copies::Copies;
use crate::worker::supervisor::Orders;
use crate::worker::supervisor::supervise;
use crate::worker::{copies, exports, leadership, liveness, space, sweeps};

/// Requests under way get this long when the server ends.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// End when standard input closes, for a program that starts a server and must not leave it behind
    #[arg(long)]
    supervised: bool,
}

/// A running server.
pub struct Server {
    pub address: SocketAddr,
    stop: watch::Sender<bool>,
    /// Says that the server is not ready any more, and for how long it serves then.
    leave: watch::Sender<bool>,
    drain: Duration,
    http: JoinHandle<()>,
    /// What tends the devices, and what sends webhooks.
    workers: JoinSet<()>,
    /// There is no API key.
    keyless: bool,
    store: Store,
    /// Held while the server runs: one server per data directory.
    _lock: File,
}

pub fn run(config: Config, args: &Args) -> anyhow::Result<ExitCode> {
    allow_many_files();
    let runtime = tokio::runtime::Runtime::new()?;
    let result = runtime.block_on(async {
        let server = Server::start(&config).await?;
        println!("anneal serves http://{0} (web page: anneal ui; docs: http://{0}/docs/)", server.address);
        if server.keyless {
            eprintln!(
                "there are no API keys: everyone on this machine can use it (anneal keys create --local closes it)"
            );
        }
        super::worker::wait_for_end(args.supervised).await;
        tracing::info!("saving running jobs and ending");
        server.stop().await;
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_background();
    result
}

impl Server {
    /// Opens the data directory, starts the API and one worker per device.
    pub async fn start(config: &Config) -> anyhow::Result<Self> {
        let webhook_guard = Guard::new(&config.webhook_allow_private, webhook::SETTING).context(webhook::SETTING)?;
        let what = if config.database.is_some() { "the database" } else { "the data directory" };
        let store = super::open_store(config).await.with_context(|| format!("{what} cannot be opened"))?;
        let lock = lock(store.files())?;
        store.files().sweep_uploads()?;
        if let Err(error) = store.seal_webhook_secrets().await {
            tracing::error!(%error, "secrets of webhooks cannot be encrypted");
        }
        let keyless = !store.has_api_keys().await?;
        if !config.is_local() && !store.has_usable_api_key(clock::now()).await? {
            bail!(
                "{} can be reached from other machines and there is no usable API key; make one first:\n  anneal keys \
                 create admin --scopes read,write,admin --local --data-dir {}",
                config.listen,
                config.data_dir.display()
            );
        }
        let machine = Arc::new(Machine::open(&config.devices, store.files().root())?.called(store.host()));
        let readings = machine.read_all()?;
        store.keep_reserve().or_else(|error| if let StoreError::Full(_) = error { Ok(()) } else { Err(error) })?;
        store.join(env!("ANNEAL_BUILD"), clock::now()).await?;
        let settled = liveness::settle(&store, &readings).await?;
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}; choose another address with --listen", config.listen))?;
        let address = listener.local_addr()?;
        let (stop, shutdown) = watch::channel(false);
        sweep(store.clone());
        look_through(store.clone());

        store.set_default_limits(default_limits(config));
        store.set_offered(config.launchers.iter().map(Offered::from).collect());
        let verifiers = config.verifiers.clone().of_server(address, readings.len());
        let (leave, leaving) = watch::channel(false);
        let settings = settings(config, webhook_guard.clone(), verifiers.clone(), leaving);
        let service = api::service(store.clone(), settings, shutdown.clone());
        let mut http_shutdown = shutdown.clone();
        let http = tokio::spawn(api::serve(listener, service, async move {
            // An error means that the sender is gone, which is an end as well.
            drop(http_shutdown.wait_for(|down| *down).await);
        }));

        let threads = (config.threads / readings.len().max(1)).max(1);
        let environment = [(VERIFIERS.to_owned(), serde_json::to_string(&verifiers)?)].into_iter();
        let environment = environment.chain(config.elsewhere()).chain(config.traces()).collect();
        let orders = Orders { arguments: worker_arguments(config, threads), environment, ends: false };
        let mut workers = JoinSet::new();
        let leads = leadership::strive(store.clone(), shutdown.clone());
        let patience = Duration::from_secs(config.lease_seconds);
        let unsettled = (!settled).then(|| readings.clone());
        workers.spawn(liveness::watch(store.clone(), unsettled, patience, leads.clone(), shutdown.clone()));
        workers.spawn(space::watch(store.clone(), shutdown.clone()));
        workers.spawn(copies::watch(Copies::OfServer(store.clone()), config.max_copied_bytes, shutdown.clone()));
        // A model is brought by the machine on which it was laid out.
        workers.spawn(import::watch(store.clone(), config.hub(), shutdown.clone()));
        try_programs(config);
        let (own, settings) = (store.clone(), config.clone());
        let once = move |stop: &watch::Receiver<bool>| done_once(&settings, &own, &webhook_guard, stop);
        workers.spawn(leadership::while_leading(leads, shutdown.clone(), once));
        for reading in readings {
            let (store, orders, machine) = (store.clone(), orders.clone(), Arc::clone(&machine));
            let shutdown = shutdown.clone();
            workers.spawn(async move { supervise(Arc::new(store), orders, machine, &reading, shutdown).await });
        }
        let drain = Duration::from_secs(config.drain_seconds);
        Ok(Self { address, stop, leave, drain, http, workers, keyless, store, _lock: lock })
    }

    /// Ends everything: running jobs are saved and go back to the queue.
    pub async fn stop(self) {
        self.leave.send_replace(true);
        tokio::time::sleep(self.drain).await;
        self.stop.send_replace(true);
        self.workers.join_all().await;
        match tokio::time::timeout(GRACE, self.http).await {
            Ok(Err(error)) => tracing::error!(%error, "the API ended with an error"),
            Ok(Ok(())) => {}
            Err(_) => tracing::info!("requests that did not end in time are cut off"),
        }
        match tokio::time::timeout(GRACE, self.store.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the database was not closed well, which the next start mends"),
            Err(_) => tracing::info!("the database is still in use; the next start tidies it up"),
        }
    }
}

fn settings(config: &Config, webhook_guard: Guard, verifiers: Outside, leaving: watch::Receiver<bool>) -> ApiSettings {
    ApiSettings {
        sources: Sources { roots: config.import_roots.clone(), hub: config.hub() },
        max_upload_bytes: config.max_upload_bytes,
        lease: Duration::from_secs(config.lease_seconds),
        allowed_hosts: config.allowed_hosts.clone(),
        open_without_keys: config.is_local(),
        webhook_guard,
        push_to: config.hub_push_to.clone(),
        verifiers,
        leaving,
    }
}

/// Starts what goes on beside requests and jobs and is done by one server for all: webhooks, exports, pushes,
/// launches, and forgetting machines.
fn done_once(config: &Config, store: &Store, webhook_guard: &Guard, stop: &watch::Receiver<bool>) -> JoinSet<()> {
    let (hub, mut tasks) = (config.hub(), JoinSet::new());
    let retries = config.webhook_retry_seconds.clone();
    tasks.spawn(webhook::run(store.clone(), webhook_guard.clone(), retries, stop.clone()));
    tasks.spawn(push::watch(store.clone(), hub, config.hub_push_to.clone(), stop.clone()));
    tasks.spawn(exports::watch(store.clone(), stop.clone()));
    tasks.spawn(sweeps::watch(store.clone(), stop.clone()));
    let lease = Duration::from_secs(config.lease_seconds);
    tasks.spawn(launcher::watch(store.clone(), config.launchers.clone(), lease, stop.clone()));
    let own = store.clone();
    tasks.spawn(async move {
        if let Err(error) = own.forget_hosts(clock::now()).await {
            tracing::warn!(%error, "machines that are gone could not be forgotten");
        }
    });
    tasks
}

/// Trying whether this machine can run programs takes part of a second, which no submission has to wait for then.
fn try_programs(config: &Config) {
    let outside = config.verifiers.clone();
    std::thread::spawn(move || {
        for language in sandbox::languages(&outside) {
            if let Some(missing) = sandbox::missing(&outside, language) {
                tracing::warn!(language, %missing, "programs cannot be run");
            }
        }
    });
}

/// Every stream of a client is an open file, and the usual limit of 1024 is for programs that cannot count further.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "the number of open files stays limited");
    }
}

/// Removes what deletions have left behind when the server before ended; nobody sees it, so nobody waits for it.
fn sweep(store: Store) {
    tokio::spawn(async move {
        for swept in [store.sweep_jobs().await, store.sweep_unnamed().await] {
            match swept {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "files that belong to nothing were removed"),
                Err(error) => tracing::warn!(%error, "files that belong to nothing could not be swept"),
            }
        }
    });
}

/// Pages of the database that a disk has changed are noticed before they do harm, and not by chance.
fn look_through(store: Store) {
    tokio::spawn(async move {
        if let Err(error) = store.look_through().await {
            tracing::warn!(%error, "the database could not be looked through");
        }
    });
}

/// Keeps others from using a data directory as their own.
pub(super) fn lock(files: &Files) -> anyhow::Result<File> {
    let path = files.server_lock();
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another server or agent uses {}; stop it or choose another --data-dir", files.root().display())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// What projects may use that have no limits of their own.
fn default_limits(config: &Config) -> ProjectLimits {
    let limit = |setting: u64| (setting > 0).then_some(setting);
    ProjectLimits {
        requests_per_minute: limit(config.requests_per_minute),
        max_unfinished_jobs: limit(config.max_unfinished_jobs),
        max_storage_bytes: limit(config.max_storage_bytes),
        ..ProjectLimits::default()
    }
}

/// What the processes are told that run jobs.
pub(super) fn worker_arguments(config: &Config, threads: usize) -> Vec<String> {
    let mut arguments = vec![
        String::from("worker"),
        String::from("--host-name"),
        config.host_name.clone(),
        String::from("--data-dir"),
        config.data_dir.display().to_string(),
        String::from("--lease-seconds"),
        config.lease_seconds.to_string(),
        String::from("--watchdog-seconds"),
        config.watchdog_seconds.to_string(),
        String::from("--threads"),
        threads.to_string(),
        String::from("--log"),
        config.log.clone(),
    ];
    if let Some(address) = config.rank_address {
        arguments.extend([String::from("--rank-address"), address.to_string()]);
    }
    if let Some(bytes) = config.worker_memory_bytes {
        arguments.extend([String::from("--worker-memory-bytes"), bytes.to_string()]);
    }
    arguments
}
