//! `anneal datasets builtins`

use std::process::ExitCode;

use serde_json::Value;

use super::super::client::{Client, escape};
use super::super::output::{Fields, Output, Table, member};
use super::super::remote::items;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The one to show, such as 'builtin:countdown?difficulty=3&seed=7'
    name: Option<String>,
}

pub fn builtins(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        let list = client.get("/v1/datasets/builtins")?;
        output.answer(&list, || {
            let mut table = Table::new(&["NAME", "VERIFIER", "WHAT IS ASKED"]);
            for set in items(&list) {
                table.row([member(set, "/id"), member(set, "/verifier/type"), member(set, "/summary")]);
            }
            table.text("there are no built-in data sets")
        });
        return Ok(ExitCode::SUCCESS);
    };
    let list = client.get(&format!("/v1/datasets/builtins?name={}", escape(name)))?;
    let set = items(&list).next().unwrap_or(&Value::Null);
    output.answer(set, || described(set));
    Ok(ExitCode::SUCCESS)
}

fn described(set: &Value) -> String {
    let mut fields = Fields::default();
    for name in ["id", "summary"] {
        fields.add(name, member(set, &format!("/{name}")));
    }
    fields.add_some("difficulty", &member(set, "/difficulty"));
    fields.add("verifier", set["verifier"].to_string());
    for (name, pointer) in [("train rows", "/train_rows"), ("eval rows", "/eval_rows"), ("digest", "/digest")] {
        fields.add(name, member(set, pointer));
    }
    for example in set["examples"].as_array().into_iter().flatten() {
        fields.add(format!("{} row", member(example, "/split")), example["row"].to_string());
    }
    fields.text()
}
