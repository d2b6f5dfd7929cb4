//! `anneal objectives`: what can be optimised, and with which settings.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::Value;

use super::output::{Fields, Table, member};
use super::remote::{RemoteArgs, items};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal objectives             what there is, and the published methods that are settings of it
  anneal objectives bolt        its formula, its source and its settings with their defaults
  anneal objectives gspo        the part of a spec that makes a published method")]
pub struct Args {
    /// The one to describe, or a published method
    objective: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let list = client.get("/v1/objectives")?;
        let Some(name) = &args.objective else {
            output.answer(&list, || {
                let mut table = Table::new(&["OBJECTIVE", "WHAT IT DOES"]);
                for objective in items(&list) {
                    table.row([member(objective, "/id"), member(objective, "/summary")]);
                }
                let mut methods = Table::new(&["PUBLISHED METHOD", "OBJECTIVE", "SOURCE", "WHAT IT DOES"]);
                for (objective, preset) in presets(&list) {
                    let of = |name: &str| member(preset, &format!("/{name}"));
                    methods.row([of("name"), member(objective, "/id"), of("source"), of("summary")]);
                }
                format!("{}\n{}", table.text("there are no objectives"), methods.text("there are no published methods"))
            });
            return Ok(ExitCode::SUCCESS);
        };
        if let Some((_, preset)) = presets(&list).find(|(_, preset)| preset["name"] == name.as_str()) {
            output.answer(preset, || format!("{}\n\n{:#}\n", member(preset, "/summary"), preset["spec"]));
            return Ok(ExitCode::SUCCESS);
        }
        let Some(objective) = items(&list).find(|objective| objective["id"] == name.as_str()) else {
            let known: Vec<String> = items(&list).map(|objective| member(objective, "/id")).collect();
            bail!("there is no objective `{name}`; there are {}", known.join(", "));
        };
        output.answer(objective, || described(objective));
        Ok(ExitCode::SUCCESS)
    })
}

/// The published methods, each with its objective.
fn presets(list: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    items(list).flat_map(|objective| {
        objective["presets"].as_array().into_iter().flatten().map(move |preset| (objective, preset))
    })
}

fn described(objective: &Value) -> String {
    let mut fields = Fields::default();
    for name in ["id", "summary", "formula", "source"] {
        fields.add(name, member(objective, &format!("/{name}")));
    }
    let mut table = Table::new(&["SETTING", "DEFAULT", "MEANING"]);
    for (name, property) in objective["schema"]["properties"].as_object().into_iter().flatten() {
        if name != "type" {
            table.row([name.clone(), member(property, "/default"), member(property, "/description")]);
        }
    }
    format!("{}\n{}", fields.text(), table.text("it has no settings"))
}
