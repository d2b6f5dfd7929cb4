//! `anneal datasets upload` and `append`

use std::process::ExitCode;

use serde_json::Value;

use super::super::assignment::source;
use super::super::checkpoints::bar_of_bytes;
use super::super::client::{Client, Source, escape, with_query};
use super::super::output::{Fields, Output, member};
use super::get::describe_version;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON Lines, or - for standard input
    #[arg(value_parser = source)]
    file: Source,
    /// A name for people
    #[arg(long, conflicts_with = "dataset")]
    name: Option<String>,
    /// Upload it as the next version of this data set
    #[arg(long, value_name = "DATASET")]
    dataset: Option<String>,
    /// The column with the prompt [default: prompt, or messages]
    #[arg(long, value_name = "COLUMN")]
    prompt_column: Option<String>,
    /// The column with the expected answer [default: answer]
    #[arg(long, value_name = "COLUMN")]
    answer_column: Option<String>,
    /// The column with a completion to learn from [default: completion]
    #[arg(long, value_name = "COLUMN")]
    completion_column: Option<String>,
    /// Uploads with the same key make one data set [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct AppendArgs {
    /// The data set, ds_...
    dataset: String,
    /// JSON Lines with the columns of the data set, or - for standard input
    #[arg(value_parser = source)]
    file: Source,
    /// Requests with the same key append once [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub fn upload(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let columns = [
        ("name", args.name.clone()),
        ("prompt_column", args.prompt_column.clone()),
        ("answer_column", args.answer_column.clone()),
        ("completion_column", args.completion_column.clone()),
    ];
    let path = match &args.dataset {
        Some(dataset) => format!("/v1/datasets/{}/versions", escape(dataset)),
        None => String::from("/v1/datasets"),
    };
    let key = args.idempotency_key.as_deref();
    let made = client.upload(&with_query(&path, &columns), &args.file, key, &bar_of_bytes())?;
    output.answer(&made, || made_text(&made));
    Ok(ExitCode::SUCCESS)
}

pub fn append(client: &Client, output: Output, args: &AppendArgs) -> anyhow::Result<ExitCode> {
    let path = format!("/v1/datasets/{}/append", escape(&args.dataset));
    let made = client.upload(&path, &args.file, args.idempotency_key.as_deref(), &bar_of_bytes())?;
    output.answer(&made, || made_text(&made));
    Ok(ExitCode::SUCCESS)
}

/// A data set or a version of one, whichever the server made.
fn made_text(made: &Value) -> String {
    let mut fields = Fields::default();
    let version = if made["latest"].is_object() {
        fields.add("id", member(made, "/id"));
        fields.add_some("name", &member(made, "/name"));
        &made["latest"]
    } else {
        fields.add("dataset", member(made, "/dataset"));
        made
    };
    describe_version(&mut fields, version);
    fields.text()
}
