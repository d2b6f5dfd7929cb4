//! `anneal verifiers ...`: lists, stores and tries them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Subcommand;
use serde_json::{Value, json};

use super::assignment::json_argument;
use super::client::{Client, escape};
use super::exit;
use super::output::{Output, Table, age, member};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use super::spec_file::read_text;
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal verifiers create '{\"type\": \"numeric\", \"tolerance\": 0.01}' --name close
  anneal verifiers test VERIFIER --completion 'so it is 42' --row '{\"prompt\": \"6*7=\", \"answer\": 42}'
  anneal verifiers audit VERIFIER --dataset DATASET
  anneal verifiers test VERIFIER --file samples.jsonl     lines of {\"completion\": \"...\", \"row\": {...}}")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List stored verifiers, the newest first
    List(ListArgs),
    /// Store a verifier
    Create(CreateArgs),
    /// Let a verifier judge completions
    Test(TestArgs),
    /// See whether a verifier can be trusted on the rows of a data set; ends with 10 where it is suspicious
    Audit(AuditArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// The configuration as JSON, as it would stand in a job spec
    #[arg(value_name = "CONFIG", value_parser = json_argument)]
    configuration: Value,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
}

#[derive(Debug, clap::Args)]
struct TestArgs {
    /// The verifier, vf_...
    verifier: String,
    /// What a model said; can be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    completion: Vec<String>,
    /// The row it was said to, as JSON; one for all completions, or one for each
    #[arg(long, value_name = "JSON", value_parser = json_argument)]
    row: Vec<Value>,
    /// JSON Lines with `completion` and `row`, or - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct AuditArgs {
    /// The verifier, vf_...
    verifier: String,
    /// The data set (ds_... or its name), a version (dsv_...) or a built-in
    #[arg(long)]
    dataset: String,
    /// Rows to look at, from the first on, at most 1000
    #[arg(long, default_value_t = 1000)]
    rows: u32,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::List(args) => list(client, output, args),
        Command::Create(args) => create(client, output, args),
        Command::Test(args) => test(client, output, args),
        Command::Audit(args) => audit(client, output, args),
    })
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/verifiers", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", "TYPE", "CREATED", "NAME"]);
        for verifier in items(&list) {
            let created = age(verifier["created_at"].as_i64());
            table.row([member(verifier, "/id"), member(verifier, "/config/type"), created, member(verifier, "/name")]);
        }
        table.text("there are no stored verifiers")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn create(client: &Client, output: Output, args: &CreateArgs) -> anyhow::Result<ExitCode> {
    let verifier = client.post("/v1/verifiers", &json!({"name": args.name, "config": args.configuration}))?;
    output.answer(&verifier, || format!("{}\n", member(&verifier, "/id")));
    Ok(ExitCode::SUCCESS)
}

fn test(client: &Client, output: Output, args: &TestArgs) -> anyhow::Result<ExitCode> {
    let completions = completions(args)?;
    let path = format!("/v1/verifiers/{}/test", escape(&args.verifier));
    let answer = client.post(&path, &json!({"completions": completions}))?;
    output.answer(&answer, || {
        let mut table = Table::new(&[">#", ">REWARD", "STATUS", "ANSWER", "COMPLETION"]);
        let results = answer["data"].as_array().into_iter().flatten();
        for (i, (result, sent)) in results.zip(&completions).enumerate() {
            let said = member(sent, "/completion").chars().take(60).collect();
            let answer = member(result, "/answer");
            table.row([(i + 1).to_string(), member(result, "/reward"), member(result, "/status"), answer, said]);
        }
        table.text("there is no result")
    });
    Ok(ExitCode::SUCCESS)
}

fn audit(client: &Client, output: Output, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let path = format!("/v1/verifiers/{}/audit", escape(&args.verifier));
    let audit = client.post(&path, &json!({"dataset": args.dataset, "rows": args.rows}))?;
    output.answer(&audit, || {
        let mut table = Table::new(&["TEXT", ">PASSED", ">FAILED", ">UNPARSABLE", ">ERRORS"]);
        let mut row = |name: String, counts: &Value| {
            let count = |key: &str| member(counts, key);
            table.row([name, count("/passed"), count("/failed"), count("/unparsable"), count("/errors")]);
        };
        row(String::from("own answers"), &audit);
        audit["probes"].as_array().into_iter().flatten().for_each(|probe| row(member(probe, "/name"), probe));
        let mut text = table.text("there is no result");
        text.push_str(&format!("\n{}\n", member(&audit, "/verdict")));
        for reason in audit["reasons"].as_array().into_iter().flatten() {
            text.push_str(&format!("  {}: {}\n", member(reason, "/code"), member(reason, "/message")));
        }
        text
    });
    Ok(if audit["verdict"] == "trusted" { ExitCode::SUCCESS } else { ExitCode::from(exit::GATE_FAILED) })
}

fn completions(args: &TestArgs) -> anyhow::Result<Vec<Value>> {
    let mut completions = Vec::new();
    if let Some(file) = &args.file {
        let text = read_text(file)?;
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line = serde_json::from_str(line).with_context(|| format!("line {} is not JSON", i + 1))?;
            completions.push(line);
        }
    }
    let fits = args.row.len() <= 1 || args.row.len() == args.completion.len();
    ensure!(
        fits,
        "there are {} completions and {} rows; give one row, or one each",
        args.completion.len(),
        args.row.len()
    );
    for (i, completion) in args.completion.iter().enumerate() {
        let row = args.row.get(i).or(args.row.first()).cloned().unwrap_or_else(|| json!({}));
        completions.push(json!({"completion": completion, "row": row}));
    }
    if completions.is_empty() {
        bail!("there is nothing to judge; give --completion or --file");
    }
    Ok(completions)
}
