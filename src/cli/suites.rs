//! `anneal suites ...`: sets that models are evaluated on together.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::client::{Client, escape};
use super::exit;
use super::interrupt::on_interrupt;
use super::jobs::describe::interval;
use super::jobs::wait::deadline;
use super::output::{Fields, Output, Table, age, member, print};
use super::remote::{PageArgs, RemoteArgs, items, items_of, tell_more};
use super::spec_file;
use crate::config::Config;

/// How often a run is looked at.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal suites create suite.json
  anneal suites run nightly --model ft:my-job --wait
  anneal suites results nightly
  anneal suites compare --baseline srun_... --candidate srun_... --min-improvement 0.01

A suite is a list of named sets, as JSON or YAML; each is an evaluation without its model:
  {\"name\": \"nightly\", \"sets\": [{\"name\": \"sums\", \"dataset\": \"builtin:arithmetic\",
    \"verifier\": {\"type\": \"numeric\"}, \"samples\": 16, \"pass_at\": [1, 16]}]}")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Keep sets under a name
    Create(CreateArgs),
    /// List suites, the newest first
    List(ListArgs),
    /// Show a suite and its sets
    Get(SuiteArgs),
    /// Evaluate a model on all sets
    Run(RunArgs),
    /// Show what models have reached on each set, the newest run first
    Results(ResultsArgs),
    /// Compare two runs set by set
    Compare(CompareArgs),
    /// Delete a suite with its runs; their evaluations stay
    Delete(SuiteArgs),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// The suite, as JSON or YAML; - for standard input
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
struct SuiteArgs {
    /// The suite, by name or id
    suite: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes with --wait: 0 all sets succeeded, 20 one failed, 30 cancelled, 40 what is left is paused,\n50 --timeout passed, 130 interrupted."
)]
struct RunArgs {
    /// The suite, by name or id
    suite: String,
    /// What to evaluate: mdl_..., ckpt_..., ft:JOB, builtin:...
    #[arg(long)]
    model: String,
    /// Those with a higher priority are claimed first
    #[arg(long)]
    priority: Option<i32>,
    /// Requests with the same key make one run [default: a new key]
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
struct ResultsArgs {
    /// The suite, by name or id
    suite: String,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 compared, 10 compared and the gate of --min-improvement failed on a set, 1 anything else."
)]
struct CompareArgs {
    /// The run to be better than
    #[arg(long, value_name = "RUN")]
    baseline: String,
    /// The run that may be better
    #[arg(long, value_name = "RUN")]
    candidate: String,
    /// The gate: by how much the candidate must be better on each set, 0 to 1
    #[arg(long, value_name = "DIFFERENCE")]
    min_improvement: Option<f64>,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::Create(args) => {
            let body = spec_file::parse(&args.file, &spec_file::read_text(&args.file)?)?;
            let suite = client.post_once("/v1/suites", &body, None)?;
            output.answer(&suite, || describe(&suite));
            Ok(ExitCode::SUCCESS)
        }
        Command::List(args) => list(client, output, args),
        Command::Get(args) => {
            let suite = client.get(&path(&args.suite, ""))?;
            output.answer(&suite, || describe(&suite));
            Ok(ExitCode::SUCCESS)
        }
        Command::Run(args) => run_suite(client, output, args),
        Command::Results(args) => results(client, output, args),
        Command::Compare(args) => compare(client, output, args),
        Command::Delete(args) => {
            let deleted = client.delete(&path(&id_of(client, &args.suite)?, ""))?;
            output.answer(&deleted, || format!("{} is deleted\n", member(&deleted, "/id")));
            Ok(ExitCode::SUCCESS)
        }
    })
}

fn path(suite: &str, part: &str) -> String {
    format!("/v1/suites/{}{part}", escape(suite))
}

/// The id of a suite, which changes take alone.
fn id_of(client: &Client, suite: &str) -> anyhow::Result<String> {
    Ok(member(&client.get(&path(suite, ""))?, "/id"))
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/suites", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", ">SETS", "CREATED", "NAME"]);
        for suite in items(&list) {
            let sets = suite["sets"].as_array().map_or(0, Vec::len).to_string();
            table.row([member(suite, "/id"), sets, age(suite["created_at"].as_i64()), member(suite, "/name")]);
        }
        table.text("there are no suites")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn describe(suite: &Value) -> String {
    let mut fields = Fields::default();
    fields.add("suite", member(suite, "/id"));
    fields.add_some("name", &member(suite, "/name"));
    let mut table = Table::new(&["SET", "DATASET", "VERIFIER", ">PROMPTS", ">SAMPLES", ">TOKENS"]);
    for set in items_of(suite, "sets") {
        let text = |pointer| member(set, pointer);
        table.row([
            text("/name"),
            text("/dataset"),
            text("/verifier/type"),
            text("/prompts"),
            text("/samples"),
            text("/sampling/max_new_tokens"),
        ]);
    }
    format!("{}\n{}", fields.text(), table.text("it has no sets"))
}

fn run_suite(client: &Client, output: Output, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let mut body = Map::from_iter([(String::from("model"), json!(args.model))]);
    body.extend(args.priority.map(|priority| (String::from("priority"), json!(priority))));
    let key = args.idempotency_key.as_deref();
    let mut run = client.post_once(&path(&id_of(client, &args.suite)?, "/runs"), &Value::Object(body), key)?;
    let mut code = 0;
    if args.wait || args.timeout.is_some() {
        (run, code) = wait(client, output, run, &args.suite, deadline(args.timeout))?;
    }
    output.answer(&run, || reached(&run));
    Ok(ExitCode::from(code))
}

/// Waits for the run of a suite that a job has asked for, and how it ended, which is said by an exit code.
pub fn after(
    client: &Client,
    output: Output,
    suite: &str,
    job: &str,
    deadline: Option<Instant>,
) -> anyhow::Result<(Value, u8)> {
    let runs = format!("{}?job={}", path(suite, "/runs"), escape(job));
    // The server begins it within a second or two, unless the project has as many jobs as it may.
    let run = loop {
        if let Some(run) = items(&client.get(&runs)?).next() {
            break run.clone();
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            eprintln!("the time is up and the suite is not begun; look at it with `anneal suites results {suite}`");
            return Ok((Value::Null, exit::TIMED_OUT));
        }
        std::thread::sleep(LOOK);
    };
    let (run, code) = wait(client, output, run, suite, deadline)?;
    if !output.json {
        print(&reached(&run));
    }
    Ok((run, code))
}

/// Looks at a run of a suite until it is over, and says how it ended by an exit code.
fn wait(
    client: &Client,
    output: Output,
    run: Value,
    suite: &str,
    deadline: Option<Instant>,
) -> anyhow::Result<(Value, u8)> {
    on_interrupt(format!("the evaluations go on; look at them with `anneal suites results {suite}`"));
    let (run, code) = look(client, output, run, deadline)?;
    if code == exit::TIMED_OUT && !output.json {
        let id = member(&run, "/id");
        eprintln!("the time is up and {id} goes on; look at it with `anneal suites results {suite}`");
    }
    Ok((run, code))
}

/// Looks until it is over, or the time is up.
fn look(client: &Client, output: Output, mut run: Value, deadline: Option<Instant>) -> anyhow::Result<(Value, u8)> {
    let path = format!("/v1/suite-runs/{}", escape(&member(&run, "/id")));
    let mut told = None;
    loop {
        match run["status"].as_str() {
            Some("succeeded") => return Ok((run, 0)),
            Some("failed") => return Ok((run, exit::FAILED)),
            Some("cancelled" | "deleted") => return Ok((run, exit::CANCELLED)),
            _ => {}
        }
        let of = |wanted: &[&str]| {
            let statuses = items_of(&run, "sets").filter_map(|set| set["status"].as_str());
            statuses.filter(|status| wanted.contains(status)).count()
        };
        let over = of(&["succeeded", "failed", "cancelled", "deleted"]);
        if over < items_of(&run, "sets").count() && over + of(&["paused"]) == items_of(&run, "sets").count() {
            return Ok((run, exit::PAUSED));
        }
        if told.replace(over) != Some(over) && !output.json {
            eprintln!("{over} of {} sets are over", items_of(&run, "sets").count());
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok((run, exit::TIMED_OUT));
        }
        std::thread::sleep(LOOK);
        run = client.get(&path)?;
    }
}

/// A line for each set of a run.
fn reached(run: &Value) -> String {
    let mut fields = Fields::default();
    fields.add("run", member(run, "/id"));
    fields.add("model", member(run, "/model"));
    fields.add("status", member(run, "/status"));
    fields.add_some("failure", &member(run, "/failure/message"));
    let number = |value: &Value| value.as_f64().map_or_else(|| String::from("-"), |x| format!("{x:.3}"));
    let mut table = Table::new(&["SET", "STATUS", "PASS@K", "MAJ@K", ">TOKENS", ">TRUNCATED", "EVALUATION"]);
    for set in items_of(run, "sets") {
        let result = &set["result"];
        let rates = items_of(result, "pass_at").map(|rate| format!("@{} {}", rate["k"], interval(rate)));
        table.row([
            member(set, "/name"),
            member(set, "/status"),
            rates.collect::<Vec<_>>().join(", "),
            interval(&result["majority"]),
            number(&result["tokens_mean"]),
            number(&result["truncated"]),
            member(set, "/evaluation"),
        ]);
    }
    format!("{}\n{}", fields.text(), table.text("it has no sets"))
}

/// A line for each run, with the first pass rate of each set.
fn results(client: &Client, output: Output, args: &ResultsArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, &path(&args.suite, "/runs"), &[])?;
    output.answer(&list, || {
        // A run that could not begin has no sets.
        let whole = items(&list).find(|run| run["failure"].is_null());
        let sets: Vec<String> =
            whole.into_iter().flat_map(|run| items_of(run, "sets")).map(|set| member(set, "/name")).collect();
        let mut head = vec![String::from("RUN"), String::from("CREATED"), String::from("MODEL")];
        head.extend(sets.iter().map(|set| set.to_uppercase()));
        let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
        for run in items(&list) {
            let mut cells = vec![member(run, "/id"), age(run["created_at"].as_i64()), member(run, "/model")];
            cells.extend(items_of(run, "sets").map(|set| match &set["result"]["pass_at"][0] {
                Value::Null => member(set, "/status"),
                rate => interval(rate),
            }));
            if !run["failure"].is_null() {
                cells.extend(sets.iter().map(|_| member(run, "/status")));
            }
            table.row(cells);
        }
        table.text("it has no runs; make one with `anneal suites run`")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn compare(client: &Client, output: Output, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let run = |id: &str| client.get(&format!("/v1/suite-runs/{}", escape(id)));
    let (baseline, candidate) = (run(&args.baseline)?, run(&args.candidate)?);
    let mut compared = Vec::new();
    for set in items_of(&candidate, "sets") {
        let Some(before) = items_of(&baseline, "sets").find(|before| before["name"] == set["name"]) else { continue };
        let mut body = json!({"baseline": before["evaluation"], "candidate": set["evaluation"]});
        if let Some(least) = args.min_improvement {
            body["min_improvement"] = json!(least);
        }
        let comparison = client.post("/v1/evaluations/compare", &body)?;
        compared.push(json!({"set": set["name"], "comparison": comparison}));
    }
    anyhow::ensure!(!compared.is_empty(), "the runs have no set in common; compare two runs of one suite");
    let missed = compared.iter().any(|one| one["comparison"]["gate"]["passed"] == false);
    output.answer(&json!({"object": "list", "data": compared}), || {
        let mut table = Table::new(&["SET", "VERDICT", ">DIFFERENCE", ">LOW", ">HIGH", "GATE"]);
        for one in &compared {
            let of = &one["comparison"];
            let number = |name: &str| of[name].as_f64().map_or_else(|| String::from("-"), |x| format!("{x:+.4}"));
            let gate = match of["gate"]["passed"].as_bool() {
                Some(true) => "passed",
                Some(false) => "failed",
                None => "-",
            };
            table.row([
                member(one, "/set"),
                member(of, "/verdict"),
                number("difference"),
                number("low"),
                number("high"),
                gate.to_owned(),
            ]);
        }
        table.text("there is nothing to compare")
    });
    Ok(ExitCode::from(if missed { exit::GATE_FAILED } else { 0 }))
}
