//! The commands of the program: one file a command, one folder a group that has several. Most are clients of the public
//! API; what those share lies in `client`, `remote` and `output`.

mod advise;
mod agent;
mod assignment;
mod audit;
mod backup;
mod bench;
mod chat;
mod checkpoints;
mod client;
mod completions;
mod datasets;
mod db;
mod devices;
mod doctor;
mod evaluations;
mod exit;
mod export;
mod exporter;
mod files;
mod frontier;
mod health;
mod hosts;
mod init;
mod interrupt;
mod jobs;
mod keys;
mod launches;
mod limits;
mod models;
mod objectives;
mod openapi;
mod output;
mod profiles;
mod progress;
mod projects;
mod queue;
mod quickstart;
mod remote;
mod replay;
mod rollouts;
mod run;
mod sandbox;
pub mod serve;
mod spec_file;
mod suites;
mod sweeps;
mod top;
mod ui;
mod verifiers;
mod verify;
mod webhooks;
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use rustix::fs::Mode;

use crate::config::{Config, SettingArgs};
use crate::store::{BucketAddress, Store, StoreError};
use crate::telemetry;
use crate::worker::time as worker_time;

/// Opens what the settings name: the data directory, and the database in it or elsewhere.
async fn open_store(config: &Config) -> Result<Store, StoreError> {
    let store = Store::open_at(&config.data_dir, config.database_url(), bucket(config).as_ref())
        .await?
        .on_host(&config.host_name);
    worker_time::follow(&store).await?;
    Ok(match &config.secrets_key_file {
        Some(path) => store.with_secrets_key(path.clone()),
        None => store,
    })
}

/// The object storage that the settings name.
fn bucket(config: &Config) -> Option<BucketAddress> {
    let url = config.artifacts.clone()?;
    let environment = config.storage_environment();
    Some(BucketAddress { url, environment, redirects: config.redirect_downloads })
}

/// Opens what there is without making or changing anything.
async fn open_to_read(config: &Config) -> Result<Store, StoreError> {
    Store::open_to_read(&config.data_dir, config.database_url(), bucket(config).as_ref()).await
}

/// Self-hosted training service for verifiable-reward post-training of language models.
///
/// `anneal serve` starts the REST API with one worker per device; jobs are submitted to it with curl, with
/// `anneal run`, or from any HTTP client. `anneal quickstart` shows all of it in about two minutes.
#[derive(Debug, Parser)]
#[command(name = "anneal", version = env!("ANNEAL_BUILD"), propagate_version = true)]
#[command(after_help = "First steps:
  anneal quickstart                       see a job improve a model, end to end
  anneal serve                            start the service on http://127.0.0.1:8080
  anneal ui                               open its web page, where all of this can be done as well
  anneal run examples/quickstart.json --wait
                                          submit a job to it and follow it
  anneal jobs list                        what became of the jobs

Commands that talk to a server take --server URL (ANNEAL_SERVER), --api-key KEY (ANNEAL_API_KEY) and --json; their
--help has examples. Settings come from flags, then ANNEAL_* variables, then ./anneal.toml.")]
pub struct Cli {
    #[command(flatten)]
    settings: SettingArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the API and a worker for every device
    Serve(serve::Args),
    /// Run jobs on one device (started by `serve`)
    Worker(worker::Args),
    /// Do one task of a server that is not done in the server itself (started by `serve`)
    #[command(hide = true)]
    Sandbox(sandbox::Args),
    /// Make one export (started by `serve`)
    #[command(hide = true)]
    Exporter,
    /// Start a server, improve the built-in model with BOLT, download and check the result
    Quickstart(quickstart::Args),
    /// Open the web page in a browser, signed in
    Ui(ui::Args),
    /// Remember a server and the key that lets in, so that commands need neither
    Login(profiles::LoginArgs),
    /// Forget a server and its key
    Logout(profiles::LogoutArgs),
    /// Show the servers that are remembered, and say which one to use
    Profiles(profiles::Args),
    /// Write a spec to begin with, with a comment at each setting
    Init(init::Args),
    /// Submit a job to a server, and with --wait follow it to its end
    Run(run::Args),
    /// List, watch, control and compare jobs
    Jobs(jobs::Args),
    /// Show jobs, queue and devices as they change
    Top(top::Args),
    /// Read what a job has sampled
    Rollouts(rollouts::Args),
    /// Talk to a model, or to several side by side
    Chat(chat::Args),
    /// Upload and extend data sets
    Datasets(datasets::Args),
    /// List checkpoints and download them
    Checkpoints(checkpoints::Args),
    /// Make a finished checkpoint into a form that other programs read, and download it
    Export(export::Args),
    /// Check a downloaded folder against what the server has signed
    Verify(verify::Args),
    /// Put a finished job, its data and the digests of its weights into a folder
    Bundle(replay::BundleArgs),
    /// Run a bundled job again, and compare its weights
    Replay(replay::ReplayArgs),
    /// Store verifiers and try them
    Verifiers(verifiers::Args),
    /// List and import models
    Models(models::Args),
    /// Evaluate models and compare them
    Evaluations(evaluations::Args),
    /// Evaluate models on several sets together
    Suites(suites::Args),
    /// Run one spec in several configurations and with several seeds
    Sweeps(sweeps::Args),
    /// Show what a rollout set can teach at each temperature, as a table and a plot
    Frontier(frontier::Args),
    /// Rank the objectives by what a rollout set says for and against each
    Advise(advise::Args),
    /// List the machines that run jobs, and how they are
    Hosts(hosts::Args),
    /// Give a machine no new jobs; those that it runs go on
    Cordon(hosts::ChangeArgs),
    /// Give a machine jobs again
    Uncordon(hosts::ChangeArgs),
    /// Empty a machine: its jobs are saved and go on elsewhere
    Drain(hosts::DrainArgs),
    /// List machines that were asked of a cluster's scheduler
    Launches(launches::Args),
    /// Show the server's devices
    Devices(devices::Args),
    /// Show what waits, and why
    Queue(queue::Args),
    /// Describe what can be optimised
    Objectives(objectives::Args),
    /// List files as OpenAI's clients upload them
    Files(files::Args),
    /// List webhook endpoints and what was sent to them
    Webhooks(webhooks::Args),
    /// List projects with what they use
    Projects(projects::Args),
    /// Make, list and revoke API keys
    Keys(keys::Args),
    /// Measure the engine on this machine: matrix products, sampling, training
    Bench(bench::Args),
    /// Ask a running server whether it lives, for health checks
    Health(health::Args),
    /// Check a data directory, its database and its files, and this machine
    Doctor(doctor::Args),
    /// Copy everything a server stores, while it runs
    Backup(backup::BackupArgs),
    /// Make a data directory from a backup
    Restore(backup::RestoreArgs),
    /// Look through the audit log of a data directory
    Audit(audit::Args),
    /// Look at the database, bring it up to date, move to PostgreSQL
    Db(db::Args),
    /// Print the OpenAPI document
    Openapi,
    /// Print a script that completes this program's commands in a shell
    Completions(completions::Args),
}

/// Commands that are clients of the API, and nothing else.
const CLIENTS: [&str; 32] = [
    "ui",
    "login",
    "logout",
    "profiles",
    "run",
    "jobs",
    "top",
    "rollouts",
    "chat",
    "datasets",
    "checkpoints",
    "export",
    "bundle",
    "replay",
    "verify",
    "verifiers",
    "evaluations",
    "suites",
    "sweeps",
    "frontier",
    "advise",
    "devices",
    "hosts",
    "cordon",
    "uncordon",
    "drain",
    "launches",
    "queue",
    "objectives",
    "files",
    "webhooks",
    "projects",
];

/// The commands of the program. The settings of a server count for clients as well, but their help leaves them out.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let settings: Vec<clap::Arg> = command.get_arguments().map(|setting| setting.clone().hide(true)).collect();
    CLIENTS.iter().fold(command, |command, name| command.mut_subcommand(name, |client| client.args(&settings)))
}

impl Command {
    /// Whether it writes to a data directory, which nobody else on the machine is to read.
    fn keeps_data(&self) -> bool {
        matches!(
            self,
            Self::Serve(_) | Self::Worker(_) | Self::Keys(_) | Self::Backup(_) | Self::Restore(_) | Self::Db(_)
        )
    }
}

/// Runs a command.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    // Its limits are its own, and no settings change what it does.
    match &cli.command {
        Command::Sandbox(args) => return sandbox::run(args),
        Command::Exporter => return exporter::run(),
        _ => {}
    }
    let config = Config::load(cli.settings)?;
    if cli.command.keeps_data() {
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    match cli.command {
        Command::Serve(args) => {
            let _telemetry = telemetry::start(&config.log, config.otlp_endpoint.as_deref())?;
            serve::run(config, &args)
        }
        Command::Worker(args) => {
            let _telemetry = telemetry::start(&config.log, config.otlp_endpoint.as_deref())?;
            worker::run(config, args)
        }
        Command::Sandbox(args) => sandbox::run(&args),
        Command::Exporter => exporter::run(),
        Command::Bundle(args) => replay::bundle(&config, &args),
        Command::Replay(args) => replay::replay(&config, &args),
        Command::Verify(args) => verify::run(&config, &args),
        Command::Export(args) => export::run(&config, &args),
        Command::Quickstart(args) => quickstart::run(config, &args),
        Command::Run(args) => run::run(&config, &args),
        Command::Jobs(args) => jobs::run(&config, &args),
        Command::Datasets(args) => datasets::run(&config, &args),
        Command::Checkpoints(args) => checkpoints::run(&config, &args),
        Command::Verifiers(args) => verifiers::run(&config, &args),
        Command::Models(args) => models::run(&config, &args),
        Command::Evaluations(args) => evaluations::run(&config, &args),
        Command::Suites(args) => suites::run(&config, &args),
        Command::Sweeps(args) => sweeps::run(&config, &args),
        Command::Frontier(args) => frontier::run(&config, &args),
        Command::Advise(args) => advise::run(&config, &args),
        Command::Devices(args) => devices::run(&config, &args),
        Command::Hosts(args) => hosts::run(&config, &args),
        Command::Cordon(args) => hosts::cordon(&config, &args),
        Command::Uncordon(args) => hosts::uncordon(&config, &args),
        Command::Drain(args) => hosts::drain(&config, &args),
        Command::Launches(args) => launches::run(&config, &args),
        Command::Queue(args) => queue::run(&config, &args),
        Command::Keys(args) => keys::run(&config, &args),
        Command::Init(args) => init::run(&args),
        Command::Ui(args) => ui::run(&config, &args),
        Command::Login(args) => profiles::login(&args),
        Command::Logout(args) => profiles::logout(&args),
        Command::Profiles(args) => profiles::run(&args),
        Command::Top(args) => top::run(&config, &args),
        Command::Rollouts(args) => rollouts::run(&config, &args),
        Command::Chat(args) => chat::run(&config, &args),
        Command::Objectives(args) => objectives::run(&config, &args),
        Command::Files(args) => files::run(&config, &args),
        Command::Webhooks(args) => webhooks::run(&config, &args),
        Command::Projects(args) => projects::run(&config, &args),
        Command::Bench(args) => bench::run(&config, &args),
        Command::Health(args) => health::run(&config, &args),
        Command::Doctor(args) => doctor::run(&config, &args),
        Command::Backup(args) => backup::back_up(&config, &args),
        Command::Restore(args) => backup::restore(&config, &args),
        Command::Audit(args) => audit::run(&config, &args),
        Command::Db(args) => db::run(&config, &args),
        Command::Openapi => openapi::run(),
        Command::Completions(args) => completions::run(&args),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_command_contradicts_itself() {
        super::command().debug_assert();
    }
}
