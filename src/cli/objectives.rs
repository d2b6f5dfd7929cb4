//! `anneal objectives`: what can be optimised, and with which settings.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::Value;

use super::output::{Fields, Table, member};
use super::remote::{RemoteArgs, items};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal objectives             what there is
  anneal objectives bolt        its formula, its source and its settings with their defaults")]
pub struct Args {
    /// The one to describe
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
                table.text("there are no objectives")
            });
            return Ok(ExitCode::SUCCESS);
        };
        let Some(objective) = items(&list).find(|objective| objective["id"] == name.as_str()) else {
            let known: Vec<String> = items(&list).map(|objective| member(objective, "/id")).collect();
            bail!("there is no objective `{name}`; there are {}", known.join(", "));
        };
        output.answer(objective, || described(objective));
        Ok(ExitCode::SUCCESS)
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
