//! `anneal rollouts`: reads what a job has sampled.

use std::process::ExitCode;

use serde_json::Value;

use super::client::escape;
use super::output::{member, printable};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;

/// A completion with at least this reward has passed.
const PASSES: f64 = 0.5;
/// Just below it: the server's bounds are inclusive.
const FAILS: f64 = PASSES.next_down();

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal rollouts JOB --failed --step 40         what went wrong at a step
  anneal rollouts JOB --search carry --limit 5
  anneal rollouts JOB --mixed --sort widest_spread
  anneal rollouts JOB --all --json | jq -r .completion")]
pub struct Args {
    /// The job, by its id or name
    job: String,
    /// Only completions sampled after this many optimizer steps
    #[arg(long)]
    step: Option<u64>,
    /// Only completions sampled after at most this many optimizer steps: what step 40 may have trained on is 39
    #[arg(long, value_name = "STEP")]
    max_step: Option<u64>,
    /// What comes first: newest, highest_reward, lowest_reward, longest, shortest or widest_spread
    #[arg(long, value_name = "ORDER")]
    sort: Option<String>,
    /// Only completions of this group, as a completion's `group` names it
    #[arg(long)]
    group: Option<String>,
    /// Only completions of prompts whose completions got different rewards
    #[arg(long)]
    mixed: bool,
    /// Only completions for this row of the data set, counted from 0
    #[arg(long)]
    row: Option<u64>,
    /// Only completions that do not pass
    #[arg(long, conflicts_with = "passed")]
    failed: bool,
    /// Only completions that pass: with a reward of at least 0.5
    #[arg(long)]
    passed: bool,
    /// Only completions of which this was said: ok or unparsable
    #[arg(long)]
    status: Option<String>,
    /// Only completions that ended in this way: stop or length
    #[arg(long)]
    finish: Option<String>,
    /// Only completions with this text in them or in their prompts
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let filters = [
            ("step", args.step.map(|step| step.to_string())),
            ("max_step", args.max_step.map(|step| step.to_string())),
            ("sort", args.sort.clone()),
            ("group", args.group.clone()),
            ("mixed_groups", args.mixed.then(|| String::from("true"))),
            ("prompt", args.row.map(|row| row.to_string())),
            ("min_reward", args.passed.then(|| PASSES.to_string())),
            ("max_reward", args.failed.then(|| FAILS.to_string())),
            ("status", args.status.clone()),
            ("finish", args.finish.clone()),
            ("q", args.search.clone()),
        ];
        let list = args.page.list(client, &format!("/v1/jobs/{}/rollouts", escape(&args.job)), &filters)?;
        for rollout in items(&list) {
            output.line(rollout, || described(rollout));
        }
        if !output.json && items(&list).next().is_none() {
            eprintln!("no completion fits");
        }
        tell_more(&list, output);
        Ok(ExitCode::SUCCESS)
    })
}

/// A completion below a line with its verdict.
fn described(rollout: &Value) -> String {
    let verdict = match (rollout["reward"].as_f64(), rollout["status"].as_str()) {
        (None, _) => String::from("not judged"),
        (Some(reward), Some("unparsable")) => format!("reward {reward}, no answer found"),
        (Some(reward), _) => format!("reward {reward}, answer {}", member(rollout, "/answer")),
    };
    let cut = if rollout["finish"] == "length" { ", cut off" } else { "" };
    let text = |name: &str| printable(rollout[name].as_str().unwrap_or_default()).replace('\n', "\n    ");
    format!(
        "step {} row {} sample {}: {verdict}{cut}\n  > {}\n    {}\n",
        member(rollout, "/step"),
        member(rollout, "/row"),
        member(rollout, "/sample"),
        text("prompt"),
        text("completion")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_completion_is_shown_with_its_verdict_and_moves_no_cursor() {
        let rollout = json!({"step": 4, "row": 7, "sample": 1, "prompt": "1+1=", "completion": "\u{1b}[31m3\nno",
            "answer": "3", "reward": 0.0, "status": "ok", "finish": "length"});
        assert_eq!(
            described(&rollout),
            "step 4 row 7 sample 1: reward 0, answer 3, cut off\n  > 1+1=\n    \u{fffd}[31m3\n    no\n"
        );
    }
}
