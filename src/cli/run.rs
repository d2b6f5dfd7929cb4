//! `anneal run`: submits a spec, follows the job, downloads its model.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::assignment::Assignment;
use super::checkpoints::bar_of_bytes;
use super::client::{Client, Refused, escape};
use super::exit;
use super::interrupt::on_interrupt;
use super::jobs::follow::{Outcome, conclude, detach_on_interrupt, follow_visibly};
use super::jobs::wait::deadline;
use super::output::{Fields, Output, member, printable, size};
use super::remote::RemoteArgs;
use super::spec_file::{parse, read_text, settle_paths, upload_data};
use super::suites;
use crate::config::Config;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal run job.json --wait
  anneal run job.json --set /train/steps=50 --set /name=short --wait --timeout 3600
  anneal run job.json --download model        wait, then fetch the finished model and check it
  anneal run job.json --suite finals          wait, then evaluate the finished model on a suite
  anneal run job.json --dry-run               what it would do and need; makes nothing
  anneal run job.json --idempotency-key \"$CI_PIPELINE_ID\" --wait --json
                                              one job however often the step is repeated

Exit codes: 0 succeeded (or submitted, without --wait), 10 the job's gate failed, 20 failed,
21 the spec was refused, 30 cancelled, 40 paused, 50 --timeout passed, 130 interrupted (the job
goes on), 1 anything else. With --suite those of `anneal suites run --wait` follow on success.")]
pub struct Args {
    /// The job spec, a JSON, YAML or TOML file, or - for JSON on standard input; data sets in it may be files of this
    /// machine (`./rows.jsonl`), which are uploaded once
    spec: PathBuf,
    /// Follow the job to its end
    #[arg(long)]
    wait: bool,
    /// Wait at most this long; the job goes on (implies --wait)
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Submissions with the same key and spec make one job [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Where the same job has succeeded before, by the same version of the program, take that one and make none
    #[arg(long)]
    reuse: bool,
    /// Change a member of the spec, by JSON pointer; a value that is not JSON is a text
    #[arg(long, value_name = "POINTER=VALUE")]
    set: Vec<Assignment>,
    /// Download the finished model into this folder (implies --wait)
    #[arg(long, value_name = "DIR")]
    download: Option<PathBuf>,
    /// Have the finished model evaluated on this suite, by name or id (`eval.suite`), and wait for that too (implies --wait)
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// Make nothing, and say what would be made: `validate` checks the spec, `preflight` also tries the first rows and
    /// estimates what the job needs. Data of this machine is uploaded all the same
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, default_missing_value = "preflight",
          require_equals = true, conflicts_with_all = ["wait", "timeout", "download", "suite"])]
    dry_run: Option<DryRun>,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DryRun {
    Validate,
    Preflight,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let text = read_text(&args.spec)?;
        let mut spec = match parse(&args.spec, &text) {
            Ok(spec) => spec,
            Err(refused) => return Ok(refuse(output, &refused)),
        };
        settle_paths(&args.spec, &mut spec)?;
        args.set.iter().try_for_each(|assignment| assignment.apply(&mut spec))?;
        if let Some(suite) = &args.suite {
            Assignment::new("/eval/suite", json!(suite)).apply(&mut spec)?;
        }
        upload_data(client, &mut spec)?;
        if let Some(how) = args.dry_run {
            return dry_run(client, output, how, &spec);
        }
        let path = if args.reuse { "/v1/jobs?reuse=true" } else { "/v1/jobs" };
        let job = match client.post_once(path, &spec, args.idempotency_key.as_deref()) {
            Ok(job) => job,
            Err(error) => return refused(output, error),
        };
        submitted(client, output, args, &job)
    })
}

fn submitted(client: &Client, output: Output, args: &Args, job: &Value) -> anyhow::Result<ExitCode> {
    let id = job["id"].as_str().context("the server's answer has no job id")?;
    let wait = args.wait || args.timeout.is_some() || args.download.is_some() || args.suite.is_some();
    if !wait {
        output.answer(job, || format!("{id}\n"));
        if !output.json {
            eprintln!("follow it with: anneal jobs watch {id}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if output.json {
        eprintln!("{id}");
    } else {
        super::output::print(&format!("{id}\n"));
    }
    detach_on_interrupt(job);
    let deadline = deadline(args.timeout);
    let (mut job, outcome) = follow_visibly(client, job, deadline)?;
    if let (Some(target), Outcome::Over, Some(checkpoint)) =
        (&args.download, outcome, job["result"]["checkpoint"].as_str())
    {
        on_interrupt(format!(
            "what has arrived is kept; go on with `anneal checkpoints download {checkpoint} --output {}`",
            target.display()
        ));
        let files = client.download(&format!("/v1/checkpoints/{}", escape(checkpoint)), target, &bar_of_bytes())?;
        let bytes = files.iter().map(|file| file.size).sum();
        eprintln!("{} downloaded to {} and checked", size(Some(bytes)), target.display());
        job["download"] = json!({"directory": target, "bytes": bytes, "files": files});
    }
    let code = conclude(&job, outcome, output);
    let succeeded = matches!(outcome, Outcome::Over) && job["status"] == "succeeded";
    let suite = job["spec_resolved"]["eval"]["suite"].as_str().map(str::to_owned);
    let ran = suite.as_ref().filter(|_| succeeded).map(|suite| suites::after(client, output, suite, id, deadline));
    if let Some(Ok((run, _))) = &ran {
        job["suite_run"] = run.clone();
    }
    if output.json {
        output.answer(&job, String::new);
    }
    match (suite, ran) {
        // What a job did not reach counts before what its model reaches elsewhere.
        (_, Some(Ok((_, of_suite)))) if code == ExitCode::SUCCESS => Ok(ExitCode::from(of_suite)),
        (_, Some(Err(error))) if code == ExitCode::SUCCESS => Err(error),
        (_, Some(Err(error))) => {
            eprintln!("error: the suite: {error:#}");
            Ok(code)
        }
        (Some(suite), None) => {
            eprintln!("the server runs the suite when the job has succeeded; see `anneal suites results {suite}`");
            Ok(code)
        }
        _ => Ok(code),
    }
}

fn dry_run(client: &Client, output: Output, how: DryRun, spec: &Value) -> anyhow::Result<ExitCode> {
    let how = match how {
        DryRun::Validate => "validate",
        DryRun::Preflight => "preflight",
    };
    match client.post(&format!("/v1/jobs?dry_run={how}"), spec) {
        Ok(preflight) => {
            output.answer(&preflight, || plan(&preflight));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => refused(output, error),
    }
}

/// What a dry run found, for people.
fn plan(preflight: &Value) -> String {
    let mut text = String::from("the spec is valid; nothing was made\n");
    for warning in preflight["warnings"].as_array().into_iter().flatten() {
        let part = |name: &str| printable(warning[name].as_str().unwrap_or_default());
        text.push_str(&format!("warning: {}: {} ({})\n", part("pointer"), part("detail"), part("code")));
    }
    let plan = &preflight["plan"];
    let mut fields = Fields::default();
    for name in ["rounds", "group_size", "completions", "parameters"] {
        fields.add_some(&name.replace('_', " "), &member(plan, &format!("/{name}")));
    }
    fields.add_some("memory", &size(plan["memory_bytes"].as_u64()));
    text + &fields.text()
}

/// The exit code for a spec that is at fault; any other error goes on.
fn refused(output: Output, error: anyhow::Error) -> anyhow::Result<ExitCode> {
    match error.downcast_ref::<Refused>().filter(|refused| refused.blames_request()) {
        Some(answer) => Ok(refuse(output, answer)),
        None => Err(error),
    }
}

fn refuse(output: Output, refused: &Refused) -> ExitCode {
    output.refusal(refused);
    ExitCode::from(exit::REFUSED)
}
