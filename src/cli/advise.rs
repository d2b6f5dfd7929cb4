//! `anneal advise`: what a rollout set says for and against each objective.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::output::{member, printable};
use super::remote::{RemoteArgs, items_of};
use crate::config::Config;
use crate::job::RolloutSetId;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The server ranks by what it measures on the set: whether completions of a prompt differ in
reward, how many prompts never or always succeed, how far on the policy was, how much the model
wavers, and whether there is a teacher. Each reason names its number; its weight counts towards
the score. Nothing is sampled or trained.

Examples:
  anneal advise rs_...
  anneal advise rs_... --teacher mdl_...
  anneal advise rs_... --json | jq '.suggestions[0].spec'")]
pub struct Args {
    /// The rollout set, rs_...
    #[arg(value_name = "ROLLOUT_SET")]
    id: RolloutSetId,
    /// A model with the same tokenizer that is good at the task
    #[arg(long, value_name = "MODEL")]
    teacher: Option<String>,
    /// Show people only so many objectives
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Asks for advice and shows it.
pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let request = args.teacher.as_ref().map_or_else(|| json!({}), |teacher| json!({"teacher": teacher}));
    args.remote.run(config, |client, output| {
        let answer = client.post(&format!("/v1/rollout-sets/{}/advice", args.id), &request)?;
        output.answer(&answer, || text(&answer, args.top.unwrap_or(usize::MAX)));
        Ok(ExitCode::SUCCESS)
    })
}

/// What was measured, the objectives with their reasons, the settings, and what is not known.
fn text(advice: &Value, top: usize) -> String {
    let measured = &advice["measured"];
    let percent = |name: &str| format!("{:.0} %", 100.0 * measured[name].as_f64().unwrap_or_default());
    let mut lines = vec![format!(
        "{} completions of {} prompts: {} pass, {} of the prompts have one that does; {} have completions of equal reward",
        member(advice, "/measured/completions"),
        member(advice, "/measured/groups"),
        percent("solve_rate"),
        percent("pass_at_group"),
        percent("zero_spread"),
    )];
    for suggestion in items_of(advice, "suggestions").take(top) {
        let takes = |name: &str, what: &str| {
            let seconds = suggestion[format!("{name}_seconds_per_step")].as_f64();
            seconds.map(|seconds| format!(", {seconds:.1} s of {what} a step")).unwrap_or_default()
        };
        let seconds = takes("sampling", "sampling") + &takes("training", "training");
        lines.push(format!("\n{:>3}  {}{seconds}", member(suggestion, "/score"), member(suggestion, "/name")));
        for reason in items_of(suggestion, "reasons") {
            let weight = reason["weight"].as_i64().unwrap_or_default();
            lines.push(format!("     {weight:+}  {}", printable(&member(reason, "/message"))));
        }
        lines.push(format!("     {}", printable(&suggestion["spec"].to_string())));
    }
    let mut list = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            lines.push(format!("\n{title}"));
            lines.extend(items.into_iter().map(|item| format!("  {}", printable(&item))));
        }
    };
    let setting = |setting: &Value| format!("{}: {}", member(setting, "/pointer"), member(setting, "/message"));
    list("Settings", items_of(advice, "settings").map(setting).collect());
    list("Not known", items_of(advice, "unknown").filter_map(Value::as_str).map(str::to_owned).collect());
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_stand_below_what_they_are_for() {
        let reasons = json!([{"weight": 2, "message": "they differ"}, {"weight": -1, "message": "few \u{1b}[31m"}]);
        let bolt = json!({"name": "bolt", "score": 1, "reasons": reasons, "spec": {"objective": {"type": "bolt"}},
            "completions_per_step": 0.0, "sampling_seconds_per_step": 0.0, "training_seconds_per_step": 2.0});
        let grpo = json!({"name": "grpo", "score": 0, "reasons": [], "spec": {}, "sampling_seconds_per_step": null});
        let advice = json!({
            "measured": {"completions": 32, "groups": 8, "solve_rate": 0.5, "pass_at_group": 0.875, "zero_spread": 0.25},
            "suggestions": [bolt, grpo],
            "settings": [{"pointer": "/sampling/max_new_tokens", "message": "20 % were cut off"}],
            "unknown": ["the seconds"],
        });
        assert_eq!(
            text(&advice, 1),
            "32 completions of 8 prompts: 50 % pass, 88 % of the prompts have one that does; 25 % have completions of equal \
             reward\n\n  1  bolt, 0.0 s of sampling a step, 2.0 s of training a step\n     +2  they differ\n     -1  few \u{fffd}[31m\n     \
             {\"objective\":{\"type\":\"bolt\"}}\n\nSettings\n  /sampling/max_new_tokens: 20 % were cut off\n\nNot known\n  \
             the seconds\n"
        );
        assert!(text(&advice, 9).contains("\n  0  grpo\n"));
    }
}
