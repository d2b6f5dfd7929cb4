//! `anneal datasets check`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::super::client::{Client, escape};
use super::super::exit;
use super::super::output::{Fields, Output, member};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ends with 10 when held-out prompts are also trained on, to the letter or by their words, and when it took too \
                  long to look at all rows."
)]
pub struct Args {
    /// The data set, ds_..., of which the newest version is checked, or a version, dsv_...
    dataset: String,
    /// Held-out rows to look for: a data set, a version or a built-in [default: the held-out part, if there is one]
    #[arg(long, value_name = "DATASET")]
    against: Option<String>,
    /// Words in a row that two prompts must share
    #[arg(long, default_value_t = 13, value_parser = clap::value_parser!(u64).range(5..=64))]
    ngram: u64,
    /// Rows that each list names
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1000))]
    listed: u64,
    /// Count tokens by the tokenizer of this model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let version = version_of(client, &args.dataset)?;
    let mut body = json!({"ngram": args.ngram, "listed": args.listed});
    for (name, value) in [("against", &args.against), ("model", &args.model)] {
        if let Some(value) = value {
            body[name] = json!(value);
        }
    }
    let found = client.post(&format!("/v1/dataset-versions/{}/check", escape(&version)), &body)?;
    output.answer(&found, || text(&found));
    Ok(if is_clean(&found) { ExitCode::SUCCESS } else { ExitCode::from(exit::GATE_FAILED) })
}

/// Whether all rows were looked at, and no held-out prompt is trained on as a whole.
fn is_clean(found: &Value) -> bool {
    let leaks = |how: &str| found.pointer(&format!("/leakage/{how}/rows")).and_then(Value::as_u64).unwrap_or(0);
    found["complete"] == json!(true) && leaks("exact") == 0 && leaks("normalised") == 0
}

/// The version that is meant: the newest of a data set.
pub fn version_of(client: &Client, name: &str) -> anyhow::Result<String> {
    if name.starts_with("dsv_") {
        return Ok(name.to_owned());
    }
    let dataset = client.get(&format!("/v1/datasets/{}", escape(name)))?;
    Ok(member(&dataset, "/latest/id"))
}

fn text(found: &Value) -> String {
    let mut fields = Fields::default();
    fields.add("version", member(found, "/version"));
    let all = if found["complete"] == json!(true) { "" } else { " (not all: it took too long)" };
    fields.add("rows", format!("{}{all}", member(found, "/rows")));
    for (name, pointer) in [("duplicates", "exact"), ("same words", "normalised")] {
        let of = &found["duplicates"][pointer];
        let [rows, prompts, conflicts] = ["rows", "prompts", "conflicts"].map(|name| member(of, &format!("/{name}")));
        let groups = listed(&of["groups"], |group| member(group, ""));
        fields.add(name, format!("{rows} rows repeat {prompts} prompts, {conflicts} with other answers{groups}"));
    }
    let leakage = &found["leakage"];
    if leakage.is_object() {
        fields.add("held out", member(leakage, "/rows"));
        for (name, pointer) in [("leaked", "exact"), ("leaked words", "normalised"), ("leaked runs", "ngrams")] {
            let rows = listed(&leakage[pointer]["listed"], |leak| {
                format!("{} in {}", member(leak, "/row"), member(leak, "/train_row"))
            });
            fields.add(name, format!("{} rows{rows}", member(leakage, &format!("/{pointer}/rows"))));
        }
    }
    for part in ["prompts", "completions"] {
        let of = &found["tokens"][part];
        if of.is_object() {
            let [median, p99, max] = ["median", "p99", "max"].map(|name| member(of, &format!("/{name}")));
            fields.add(format!("tokens of {part}"), format!("median {median}, 99 % up to {p99}, longest {max}"));
            for bucket in of["buckets"].as_array().into_iter().flatten() {
                let [from, to, rows] = ["from", "to", "rows"].map(|name| member(bucket, &format!("/{name}")));
                fields.add(format!("  {from} to {to}"), rows);
            }
        }
    }
    fields.text()
}

/// What a list names, behind a count.
fn listed(list: &Value, name: impl Fn(&Value) -> String) -> String {
    let names: Vec<String> = list.as_array().into_iter().flatten().map(name).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_looked_through_and_leaks_nothing_is_clean() {
        let found = |complete: bool, exact: u64, normalised: u64| {
            let leakage = json!({"exact": {"rows": exact}, "normalised": {"rows": normalised}});
            is_clean(&json!({"complete": complete, "leakage": leakage}))
        };
        assert!(found(true, 0, 0) && is_clean(&json!({"complete": true, "leakage": null})));
        assert!(!found(false, 0, 0) && !found(true, 1, 1) && !found(true, 0, 1));
    }
}
