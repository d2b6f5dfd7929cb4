//! `anneal evaluations ...`: makes, shows and compares them.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::client::{Client, escape, with_query};
use super::exit;
use super::interrupt::on_interrupt;
use super::jobs::describe::{failure, interval};
use super::jobs::wait::deadline;
use super::output::{Fields, Output, Table, age, member};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;

/// How often an evaluation is looked at while it runs.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal evaluations create --model CHECKPOINT --dataset DATASET --verifier VERIFIER --wait
  anneal evaluations create --model builtin:arith-tiny --dataset builtin:arithmetic \\
    --verifier '{\"type\": \"numeric\"}' --samples 8 --pass-at 1,8 --seed 7 --wait
  anneal evaluations breakdown EVALUATION --by difficulty
  anneal evaluations compare --baseline EVALUATION --candidate EVALUATION --min-improvement 0.01

Two evaluations can be compared when they have the same rows and the same verifier.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Evaluate a model or a checkpoint on a data set
    Create(CreateArgs),
    /// List evaluations, the newest first
    List(ListArgs),
    /// Show one evaluation
    Get(GetArgs),
    /// Show pass rates for each value of a column of the rows
    Breakdown(BreakdownArgs),
    /// Compare two evaluations row by row: better, worse or inconclusive
    Compare(CompareArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes with --wait: 0 succeeded, 20 failed, 30 cancelled, 40 paused, 50 --timeout passed,\n130 interrupted."
)]
struct CreateArgs {
    /// What to evaluate: mdl_..., ckpt_..., builtin:...
    #[arg(long)]
    model: String,
    /// The rows: ds_..., dsv_..., builtin:...
    #[arg(long)]
    dataset: String,
    /// The verifier: vf_..., or a configuration as JSON
    #[arg(long)]
    verifier: String,
    /// Completions per prompt [default: the server's]
    #[arg(long, value_name = "N")]
    samples: Option<u64>,
    /// The k of pass@k, separated by commas
    #[arg(long, value_name = "K,...", value_delimiter = ',')]
    pass_at: Vec<u64>,
    /// How many rows to take [default: the server's]
    #[arg(long, value_name = "N")]
    prompts: Option<u64>,
    /// What all random choices follow from
    #[arg(long)]
    seed: Option<u64>,
    /// Requests with the same key make one evaluation [default: a new key]
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
struct GetArgs {
    /// The evaluation, ev_...
    evaluation: String,
}

#[derive(Debug, clap::Args)]
struct BreakdownArgs {
    /// The evaluation, ev_...
    evaluation: String,
    /// The column, such as difficulty; without it all rows are one group
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// The k of pass@k, separated by commas [default: the evaluation's]
    #[arg(long, value_name = "K,...")]
    k: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 compared, 10 compared and the gate of --min-improvement failed, 1 anything else."
)]
struct CompareArgs {
    /// The evaluation to be better than
    #[arg(long, value_name = "EVALUATION")]
    baseline: String,
    /// The evaluation that may be better
    #[arg(long, value_name = "EVALUATION")]
    candidate: String,
    /// How sure the interval is to hold the true difference, such as 0.95
    #[arg(long, value_name = "SHARE")]
    confidence: Option<f64>,
    /// The gate: by how much the candidate must be better, 0 to 1
    #[arg(long, value_name = "DIFFERENCE")]
    min_improvement: Option<f64>,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::Create(args) => create(client, output, args),
        Command::List(args) => list(client, output, args),
        Command::Get(args) => {
            let evaluation = client.get(&format!("/v1/evaluations/{}", escape(&args.evaluation)))?;
            output.answer(&evaluation, || describe(&evaluation));
            Ok(ExitCode::SUCCESS)
        }
        Command::Breakdown(args) => {
            let path = format!("/v1/evaluations/{}/breakdown", escape(&args.evaluation));
            let found = client.get(&with_query(&path, &[("by", args.by.clone()), ("k", args.k.clone())]))?;
            output.answer(&found, || broken_down(&found));
            Ok(ExitCode::SUCCESS)
        }
        Command::Compare(args) => compare(client, output, args),
    })
}

/// A line for each group, with a column for each k.
fn broken_down(found: &Value) -> String {
    let groups = found["groups"].as_array().map_or(&[][..], Vec::as_slice);
    let rates = |group: &Value| group["pass_at"].as_array().cloned().unwrap_or_default();
    let ks = groups.first().map(|group| rates(group).iter().map(|rate| member(rate, "/k")).collect::<Vec<_>>());
    let mut head = vec![found["by"].as_str().unwrap_or("ROWS").to_uppercase(), String::from(">PROMPTS")];
    head.extend(ks.unwrap_or_default().into_iter().map(|k| format!(">PASS@{k}")));
    head.extend([String::from(">TOKENS"), String::from(">TRUNCATED")]);
    let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    let number = |value: &Value| value.as_f64().map_or_else(|| String::from("-"), |x| format!("{x:.3}"));
    for group in groups {
        let name = group["value"].as_str().unwrap_or(if found["by"].is_null() { "all" } else { "(none)" });
        let mut cells = vec![name.to_owned(), member(group, "/prompts")];
        cells.extend(rates(group).iter().map(interval));
        cells.extend([number(&group["tokens_mean"]), number(&group["truncated"])]);
        table.row(cells);
    }
    table.text("it has no rows")
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/evaluations", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", "STATUS", "PASS@1", ">PROMPTS", "MODEL", "CREATED", "NAME"]);
        for evaluation in items(&list) {
            let text = |pointer| member(evaluation, pointer);
            let rate = match &evaluation["result"]["pass_at"][0] {
                Value::Null => String::from("-"),
                rate => interval(rate),
            };
            let created = age(evaluation["created_at"].as_i64());
            table.row([
                text("/id"),
                text("/status"),
                rate,
                text("/result/prompts"),
                text("/model"),
                created,
                text("/name"),
            ]);
        }
        table.text("there are no evaluations")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn create(client: &Client, output: Output, args: &CreateArgs) -> anyhow::Result<ExitCode> {
    // An id is no JSON, and a configuration always is.
    let verifier = serde_json::from_str(&args.verifier).unwrap_or_else(|_| Value::from(args.verifier.as_str()));
    let body = given([
        ("model", json!(args.model)),
        ("dataset", json!(args.dataset)),
        ("verifier", verifier),
        ("samples", json!(args.samples)),
        ("pass_at", if args.pass_at.is_empty() { Value::Null } else { json!(args.pass_at) }),
        ("prompts", json!(args.prompts)),
        ("seed", json!(args.seed)),
    ]);
    let mut evaluation = client.post_once("/v1/evaluations", &body, args.idempotency_key.as_deref())?;
    let id = member(&evaluation, "/id");
    let mut code = 0;
    if args.wait || args.timeout.is_some() {
        on_interrupt(format!("the evaluation goes on; look at it with `anneal evaluations get {id}`"));
        (evaluation, code) = wait(client, evaluation, deadline(args.timeout))?;
    }
    output.answer(&evaluation, || describe(&evaluation));
    if code == exit::TIMED_OUT && !output.json {
        eprintln!("the time is up and the evaluation goes on; look at it with `anneal evaluations get {id}`");
    }
    Ok(ExitCode::from(code))
}

/// Looks at an evaluation until it is over, and says how it ended by an exit code.
fn wait(client: &Client, mut evaluation: Value, deadline: Option<Instant>) -> anyhow::Result<(Value, u8)> {
    let path = format!("/v1/evaluations/{}", escape(&member(&evaluation, "/id")));
    loop {
        match evaluation["status"].as_str() {
            Some("succeeded") => return Ok((evaluation, 0)),
            Some("paused") => return Ok((evaluation, exit::PAUSED)),
            Some("failed") => return Ok((evaluation, exit::FAILED)),
            Some("cancelled") => return Ok((evaluation, exit::CANCELLED)),
            _ => {}
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok((evaluation, exit::TIMED_OUT));
        }
        std::thread::sleep(LOOK);
        evaluation = client.get(&path)?;
    }
}

fn compare(client: &Client, output: Output, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let body = given([
        ("baseline", json!(args.baseline)),
        ("candidate", json!(args.candidate)),
        ("confidence", json!(args.confidence)),
        ("min_improvement", json!(args.min_improvement)),
    ]);
    let comparison = client.post("/v1/evaluations/compare", &body)?;
    output.answer(&comparison, || {
        let number = |name: &str| comparison[name].as_f64();
        let mut fields = Fields::default();
        fields.add("verdict", member(&comparison, "/verdict"));
        if let (Some(mean), Some(low), Some(high)) = (number("difference"), number("low"), number("high")) {
            fields.add("difference", format!("{mean:+.4}, between {low:+.4} and {high:+.4}"));
        }
        let (gained, lost) = (member(&comparison, "/flips/gained"), member(&comparison, "/flips/lost"));
        fields.add("flips", format!("{gained} prompts solved that were not, {lost} not solved that were"));
        if let Some(passed) = comparison["gate"]["passed"].as_bool() {
            let least = member(&comparison, "/gate/min_improvement");
            fields.add("gate", format!("{}: better by {least}", if passed { "passed" } else { "failed" }));
        }
        fields.text()
    });
    let missed = comparison["gate"]["passed"] == false;
    Ok(ExitCode::from(if missed { exit::GATE_FAILED } else { 0 }))
}

/// The members that have a value.
fn given<const N: usize>(members: [(&str, Value); N]) -> Value {
    let given = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn describe(evaluation: &Value) -> String {
    let mut fields = Fields::of(evaluation);
    let result = if evaluation["result"].is_object() { &evaluation["result"] } else { evaluation };
    for row in result["pass_at"].as_array().into_iter().flatten().filter(|row| row.is_object()) {
        fields.add(format!("pass@{}", row["k"]), interval(row));
    }
    fields.add_some("failure", &failure(evaluation).unwrap_or_else(|| String::from("-")));
    fields.text()
}
