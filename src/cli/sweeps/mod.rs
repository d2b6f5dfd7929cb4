//! `anneal sweeps ...`: one spec in several configurations and with several seeds.

mod plot;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::client::{Client, escape, with_query};
use super::exit;
use super::interrupt::on_interrupt;
use super::jobs::wait::deadline;
use super::output::{Fields, Output, Table, age, member, write_plot};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use super::spec_file;
use crate::config::Config;

/// How often a sweep is looked at while it runs.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal sweeps create sweep.json --wait
  anneal sweeps report swp_... --metric pass@1 --baseline 0 --svg report.svg
  anneal sweeps update swp_... --at-once 4
  anneal sweeps update swp_... --add-seed 4 --add-seed 5
  anneal sweeps cancel swp_...

A sweep is a spec with what varies, as JSON or YAML; docs/EXPERIMENTS.md explains it:
  {\"spec\": {...}, \"grid\": {\"/optimizer/learning_rate\": [0.0001, 0.0003]}, \"seeds\": [1, 2, 3], \"at_once\": 2}")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a job for every configuration and seed
    Create(CreateArgs),
    /// List sweeps, the newest first
    List(ListArgs),
    /// Show a sweep and its trials
    Get(SweepArgs),
    /// Compare its configurations over the seeds
    Report(ReportArgs),
    /// Have no more trials begin, have them begin again, run more of them at once, or add seeds
    Update(UpdateArgs),
    /// End it with all its jobs
    Cancel(SweepArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes with --wait: 0 all trials succeeded, 20 some did not, 30 cancelled, 40 paused, 50 --timeout passed,\n130 interrupted."
)]
struct CreateArgs {
    /// The sweep, as JSON or YAML; - for standard input
    file: PathBuf,
    /// Requests with the same key make one sweep [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until it is over
    #[arg(long)]
    wait: bool,
    /// Wait at most this long (implies --wait)
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
struct SweepArgs {
    /// The sweep, swp_...
    sweep: String,
}

#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// The sweep, swp_...
    sweep: String,
    /// pass@K of the last evaluation, or the last value of a metric
    #[arg(long, default_value = "pass@1")]
    metric: String,
    /// The configuration that the others are compared with, counted from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    baseline: u32,
    /// Also plot it into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct UpdateArgs {
    /// The sweep, swp_...
    sweep: String,
    /// Have no more trials begin (true), or have them begin again (false)
    #[arg(long, value_name = "BOOL")]
    paused: Option<bool>,
    /// How many jobs run at once
    #[arg(long, value_name = "N")]
    at_once: Option<u32>,
    /// What all its jobs together may use of the devices
    #[arg(long, value_name = "SECONDS")]
    device_seconds: Option<u64>,
    /// Try each configuration that was not given up with this seed too; may be repeated
    #[arg(long = "add-seed", value_name = "SEED")]
    add_seeds: Vec<u64>,
}

impl UpdateArgs {
    fn change(&self) -> anyhow::Result<Value> {
        let mut change = Map::new();
        change.extend(self.paused.map(|paused| (String::from("paused"), json!(paused))));
        change.extend(self.at_once.map(|at_once| (String::from("at_once"), json!(at_once))));
        let budget = self.device_seconds.map(|seconds| json!({"device_seconds": seconds}));
        change.extend(budget.map(|budget| (String::from("budget"), budget)));
        if !self.add_seeds.is_empty() {
            change.insert(String::from("add_seeds"), json!(self.add_seeds));
        }
        anyhow::ensure!(!change.is_empty(), "name what to change: --paused, --at-once, --device-seconds or --add-seed");
        Ok(Value::Object(change))
    }
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::Create(args) => create(client, output, args),
        Command::List(args) => list(client, output, args),
        Command::Get(args) => {
            let sweep = client.get(&path(&args.sweep, ""))?;
            output.answer(&sweep, || describe(&sweep));
            Ok(ExitCode::SUCCESS)
        }
        Command::Report(args) => {
            let query = [("metric", Some(args.metric.clone())), ("baseline", Some(args.baseline.to_string()))];
            let report = client.get(&with_query(&path(&args.sweep, "/report"), &query))?;
            output.answer(&report, || told(&report));
            if let Some(path) = &args.svg {
                write_plot(path, &plot::svg(&report)?)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Update(args) => {
            let sweep = client.patch(&path(&args.sweep, ""), &args.change()?)?;
            output.answer(&sweep, || describe(&sweep));
            Ok(ExitCode::SUCCESS)
        }
        Command::Cancel(args) => {
            let sweep = client.post_empty(&path(&args.sweep, "/cancel"), None)?;
            output.answer(&sweep, || describe(&sweep));
            Ok(ExitCode::SUCCESS)
        }
    })
}

fn path(sweep: &str, part: &str) -> String {
    format!("/v1/sweeps/{}{part}", escape(sweep))
}

fn create(client: &Client, output: Output, args: &CreateArgs) -> anyhow::Result<ExitCode> {
    let mut body = spec_file::parse(&args.file, &spec_file::read_text(&args.file)?)?;
    if let Some(spec) = body.get_mut("spec").filter(|spec| spec.is_object()) {
        spec_file::settle_paths(&args.file, spec)?;
        spec_file::upload_data(client, spec)?;
    }
    let mut sweep = client.post_once("/v1/sweeps", &body, args.idempotency_key.as_deref())?;
    let id = member(&sweep, "/id");
    let mut code = 0;
    if args.wait || args.timeout.is_some() {
        on_interrupt(format!("the sweep goes on; look at it with `anneal sweeps get {id}`"));
        (sweep, code) = wait(client, output, sweep, deadline(args.timeout))?;
    }
    output.answer(&sweep, || describe(&sweep));
    if code == exit::TIMED_OUT && !output.json {
        eprintln!("the time is up and the sweep goes on; look at it with `anneal sweeps get {id}`");
    }
    Ok(ExitCode::from(code))
}

/// Looks at a sweep until it is over, and says how it ended by an exit code.
fn wait(client: &Client, output: Output, mut sweep: Value, deadline: Option<Instant>) -> anyhow::Result<(Value, u8)> {
    let path = path(&member(&sweep, "/id"), "");
    let mut done = None;
    loop {
        let count = |name: &str| sweep["counts"][name].as_u64().unwrap_or_default();
        match sweep["status"].as_str() {
            Some("finished") => {
                let code = if count("lost") == 0 { 0 } else { exit::FAILED };
                return Ok((sweep, code));
            }
            Some("cancelled") => return Ok((sweep, exit::CANCELLED)),
            Some("paused") if count("active") == 0 => return Ok((sweep, exit::PAUSED)),
            // What waits at a step waits for those that rest, too.
            Some(_) if rests(&sweep) => return Ok((sweep, exit::PAUSED)),
            _ => {}
        }
        let now = count("succeeded") + count("dropped") + count("lost");
        if done.replace(now) != Some(now) && !output.json {
            eprintln!("{now} of {} trials are over", count("trials"));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok((sweep, exit::TIMED_OUT));
        }
        std::thread::sleep(LOOK);
        sweep = client.get(&path)?;
    }
}

/// Whether nothing goes on before somebody resumes what rests.
fn rests(sweep: &Value) -> bool {
    let count = |name: &str| sweep["counts"][name].as_u64().unwrap_or_default();
    let waits_for_it = count("waiting") == 0 || !sweep["halving"].is_null();
    count("active") == 0 && count("paused") > 0 && waits_for_it
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/sweeps", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", "STATUS", ">TRIALS", ">SUCCEEDED", ">LOST", "CREATED", "NAME"]);
        for sweep in items(&list) {
            let text = |pointer| member(sweep, pointer);
            table.row([
                text("/id"),
                text("/status"),
                text("/counts/trials"),
                text("/counts/succeeded"),
                text("/counts/lost"),
                age(sweep["created_at"].as_i64()),
                text("/name"),
            ]);
        }
        table.text("there are no sweeps")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn describe(sweep: &Value) -> String {
    let mut fields = Fields::default();
    let text = |pointer| member(sweep, pointer);
    fields.add("sweep", text("/id"));
    fields.add_some("name", &text("/name"));
    fields.add("status", text("/status"));
    let count = |name: &str| member(sweep, &format!("/counts/{name}"));
    fields.add(
        "trials",
        format!(
            "{}: {} succeeded, {} given up, {} lost, {} paused, {} under way (at most {} at once), {} to come",
            count("trials"),
            count("succeeded"),
            count("dropped"),
            count("lost"),
            count("paused"),
            count("active"),
            text("/at_once"),
            count("waiting")
        ),
    );
    let used = sweep["device_seconds"].as_f64().unwrap_or_default();
    let most = sweep["budget"]["device_seconds"].as_u64().map_or_else(String::new, |most| format!(" of {most}"));
    fields.add("device seconds", format!("{used:.1}{most}"));
    let mut table = Table::new(&[">#", "JOB", "STATUS", ">STEP", ">SEED", "CONFIGURATION"]);
    for trial in sweep["trials"].as_array().into_iter().flatten() {
        let text = |pointer| member(trial, pointer);
        let place = trial["configuration"].as_u64().unwrap_or_default();
        let label = member(sweep, &format!("/configurations/{place}/name"));
        let status = match (trial["reused"] == true, trial["dropped"] == true) {
            (true, _) => format!("{} (reused)", text("/status")),
            (_, true) => format!("{} (given up)", text("/status")),
            _ => text("/status"),
        };
        table.row([text("/number"), text("/job"), status, text("/step"), text("/seed"), label]);
    }
    format!("{}\n{}", fields.text(), table.text("it has no trials"))
}

/// A report as a table of configurations and one of comparisons.
fn told(report: &Value) -> String {
    let number = |value: &Value| value.as_f64().map_or_else(|| String::from("-"), |x| format!("{x:.4}"));
    let signed = |value: &Value| value.as_f64().map_or_else(|| String::from("-"), |x| format!("{x:+.4}"));
    let label = |place: &Value| {
        let place = place.as_u64().unwrap_or_default();
        member(report, &format!("/configurations/{place}/name"))
    };
    let mut summaries = Table::new(&[">#", ">MEAN", ">+-", ">SEEDS", "CONFIGURATION"]);
    for (place, one) in report["configurations"].as_array().into_iter().flatten().enumerate() {
        let (mean, half) = (number(&one["mean"]), number(&one["half_width"]));
        let given_up =
            one["dropped_at"].as_u64().map_or_else(String::new, |step| format!(" (given up at step {step})"));
        let name = format!("{}{given_up}", member(one, "/name"));
        summaries.row([place.to_string(), mean, half, member(one, "/seeds"), name]);
    }
    let mut comparisons =
        Table::new(&[">#", ">DIFFERENCE", ">+-", ">DETECTABLE", ">PAIRS", "VERDICT", "CONFIGURATION"]);
    for one in report["comparisons"].as_array().into_iter().flatten() {
        comparisons.row([
            member(one, "/configuration"),
            signed(&one["difference"]),
            number(&one["half_width"]),
            number(&one["detectable"]),
            member(one, "/pairs"),
            member(one, "/verdict"),
            label(&one["configuration"]),
        ]);
    }
    let missing = report["missing"].as_array().map_or(0, Vec::len);
    let missing =
        if missing > 0 { format!("\n{missing} trials have no value yet, or never will") } else { String::new() };
    format!(
        "{}, over seeds\n\n{}\nagainst `{}`, intervals that hold together\n\n{}{missing}",
        member(report, "/metric"),
        summaries.text("there are no configurations"),
        label(&report["baseline"]),
        comparisons.text("there is nothing to compare yet")
    )
}
