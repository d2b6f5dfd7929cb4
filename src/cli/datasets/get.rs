//! `anneal datasets list`, `get` and `versions`

use std::process::ExitCode;

use serde_json::Value;

use super::super::client::{Client, escape};
use super::super::output::{Fields, Output, Table, age, member, size, time};
use super::super::remote::{PageArgs, items, tell_more};

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The data set, ds_...
    dataset: String,
}

#[derive(Debug, clap::Args)]
pub struct VersionArgs {
    /// The data set, ds_...
    dataset: String,
    #[command(flatten)]
    page: PageArgs,
}

pub fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/datasets", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", ">VERSION", ">ROWS", ">SIZE", "CREATED", "NAME"]);
        for dataset in items(&list) {
            table.row([
                member(dataset, "/id"),
                member(dataset, "/latest/number"),
                member(dataset, "/latest/rows"),
                size(dataset["latest"]["bytes"].as_u64()),
                age(dataset["created_at"].as_i64()),
                member(dataset, "/name"),
            ]);
        }
        table.text("there are no data sets; `anneal datasets upload FILE` makes one")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

pub fn get(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let dataset = client.get(&format!("/v1/datasets/{}", escape(&args.dataset)))?;
    output.answer(&dataset, || {
        let mut fields = Fields::default();
        fields.add("id", member(&dataset, "/id"));
        fields.add_some("name", &member(&dataset, "/name"));
        fields.add("created", time(dataset["created_at"].as_i64()));
        describe_version(&mut fields, &dataset["latest"]);
        fields.text()
    });
    Ok(ExitCode::SUCCESS)
}

pub fn versions(client: &Client, output: Output, args: &VersionArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, &format!("/v1/datasets/{}/versions", escape(&args.dataset)), &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", ">VERSION", ">ROWS", ">SIZE", "CREATED", "SHA256"]);
        for version in items(&list) {
            table.row([
                member(version, "/id"),
                member(version, "/number"),
                member(version, "/rows"),
                size(version["bytes"].as_u64()),
                age(version["created_at"].as_i64()),
                member(version, "/sha256"),
            ]);
        }
        table.text("the data set has no versions")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

/// What one version holds.
pub fn describe_version(fields: &mut Fields, version: &Value) {
    fields.add("version", format!("{}  ({})", member(version, "/number"), member(version, "/id")));
    for name in ["rows", "answers", "completions", "duplicates", "sha256"] {
        fields.add_some(name, &member(version, &format!("/{name}")));
    }
    fields.add("size", size(version["bytes"].as_u64()));
    fields.add_some("columns", &member(version, "/columns"));
    for name in ["source", "form", "packing", "layout", "map"] {
        fields.add_some(name, &member(version, &format!("/origin/{name}")));
    }
    if version["split"].is_object() {
        let [share, train, eval] =
            ["eval", "train_rows", "eval_rows"].map(|name| member(&version["split"], &format!("/{name}")));
        fields.add("split", format!("{train} rows to train on, {eval} held out (a share of {share})"));
    }
    fields.add_some("parent", &member(version, "/parent"));
    fields.add_some("made", &member(version, "/made"));
}
