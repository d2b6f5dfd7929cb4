//! `anneal init`: writes a spec to begin with, with a comment at each setting.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::Value;

use super::output::print;
use crate::objective::{self, Description};

/// Columns of a comment.
const WIDTH: usize = 100;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal init bolt > job.toml        then edit it
  anneal run job.toml --dry-run      what the server thinks of it
  anneal run job.toml --wait

What is commented out is as the server would have it anyway.")]
pub struct Args {
    /// What to optimise: bolt, p3o, vopd, fade, sft, grpo, policy_gradient
    objective: String,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(found) = objective::catalog().iter().find(|known| known.name == args.objective) else {
        bail!("there is no objective `{}`; there are {}", args.objective, objective::KNOWN.join(", "));
    };
    print(&spec(found));
    Ok(ExitCode::SUCCESS)
}

/// A job spec in TOML that runs as it is, on the built-in model and data.
fn spec(objective: &Description) -> String {
    let from_rows = objective.needs.completions;
    let train = if from_rows { "builtin:arithmetic-slips" } else { "builtin:arithmetic" };
    let mut text = format!(
        "# {}\n# {}\nname = \"{}\"\n\
         # A model of the server (`anneal models list`), a checkpoint of an earlier job, or a built-in one.\n\
         model = \"builtin:arith-tiny\"\nseed = 0\n\n[dataset]\n\
         # Uploaded rows (`anneal datasets upload FILE`) by their id or name, or built-in ones.\n\
         train = \"{train}\"\n# Rows that are not trained on, to measure the model on.\neval = \"builtin:arithmetic\"\n\n\
         [verifier]\n# What a completion is worth: `numeric`, `exact`, `regex`, `json`, ...; docs/data.md.\n\
         type = \"numeric\"\n\n[objective]\ntype = \"{}\"\n",
        objective.summary, objective.source, objective.name, objective.name
    );
    for (name, property) in objective.schema["properties"].as_object().into_iter().flatten() {
        if name == "type" {
            continue;
        }
        comment(&mut text, property["description"].as_str().unwrap_or_default());
        match (name.as_str(), &property["default"]) {
            ("teacher", _) => text.push_str("teacher = \"builtin:arith-tiny\"\n"),
            (_, Value::Null) => writeln!(text, "# {name} =").unwrap_or_default(),
            (_, default) => writeln!(text, "# {name} = {default}").unwrap_or_default(),
        }
    }
    text.push_str(
        "\n[sampling]\n# The longest completion, in tokens; what is cut off holds no answer.\nmax_new_tokens = 6\n\
         # temperature = 1.0\n\n[optimizer]\nlearning_rate = 1e-4\n# schedule = \"cosine\"\n\n[train]\nsteps = 40\n\
         # Prompts of a step, each with a group of completions.\nprompts_per_step = 16\n\n[eval]\n\
         # Measured before, at the end, and every so many steps.\nevery_steps = 20\nsamples = 4\npass_at = [1, 4]\nprompts = 100\n\n\
         [checkpoints]\n# What a job goes on from when it is interrupted.\nevery_steps = 20\n",
    );
    text
}

/// Words as lines behind `#`.
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.len() + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    if line.len() > 1 {
        text.push_str(&line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::JobSpec;

    #[test]
    fn every_objective_has_a_spec_to_begin_with_that_can_be_read() {
        for known in objective::catalog() {
            let text = spec(known);
            let value: Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let read = JobSpec::parse(&value).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
            objective::Config::parse(&read.objective, "/objective")
                .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        }
    }
}
