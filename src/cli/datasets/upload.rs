//! `anneal datasets upload`, `append` and `pull`

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::assignment::source;
use super::super::checkpoints::bar_of_bytes;
use super::super::client::{Client, Source, escape, with_query};
use super::super::output::{Fields, Output, member};
use super::get::describe_version;
use crate::dataset::forms::Form;
use crate::dataset::layout::Layout;
use crate::hub::dataset::DatasetRef;

/// What is sent of a file for a preview; Parquet has its directory at the end and is sent whole.
const PREVIEW_BYTES: u64 = 16 << 20;
/// Characters of a row that a preview shows.
const SHOWN: usize = 300;
/// How often a server is asked how far it is.
const LOOK: Duration = Duration::from_millis(500);

/// How a file becomes rows.
#[derive(Debug, clap::Args)]
pub struct IntakeArgs {
    /// How the rows are written: jsonl, json, csv, tsv or parquet [default: by the name, or the first bytes]
    #[arg(long)]
    form: Option<Form>,
    /// How the columns make rows: rows, chat, sharegpt, alpaca or gsm8k [default: by the first row]
    #[arg(long)]
    layout: Option<Layout>,
    /// What a column is made of, as COLUMN=NAME or COLUMN=TEMPLATE; or a whole map in JSON
    #[arg(long, value_name = "COLUMN=TEMPLATE")]
    map: Vec<String>,
    /// Show how the first rows would be read, and store nothing
    #[arg(long)]
    preview: bool,
}

/// Which columns play which part.
#[derive(Debug, clap::Args)]
pub struct ColumnArgs {
    /// The column with the prompt [default: prompt, or messages]
    #[arg(long, value_name = "COLUMN")]
    prompt_column: Option<String>,
    /// The column with the expected answer [default: answer]
    #[arg(long, value_name = "COLUMN")]
    answer_column: Option<String>,
    /// The column with a completion to learn from [default: completion]
    #[arg(long, value_name = "COLUMN")]
    completion_column: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON Lines, a JSON array, CSV, TSV or Parquet, also with gzip or zstd, or - for standard input
    #[arg(value_parser = source)]
    file: Source,
    #[command(flatten)]
    made: MadeArgs,
    #[command(flatten)]
    intake: IntakeArgs,
    #[command(flatten)]
    columns: ColumnArgs,
}

#[derive(Debug, clap::Args)]
pub struct PullArgs {
    /// hf:datasets/owner/name, with @revision and :config/split or :split behind it
    reference: DatasetRef,
    #[command(flatten)]
    made: MadeArgs,
    #[command(flatten)]
    intake: IntakeArgs,
    #[command(flatten)]
    columns: ColumnArgs,
}

/// What becomes of the rows.
#[derive(Debug, clap::Args)]
pub struct MadeArgs {
    /// A name for people
    #[arg(long, conflicts_with = "dataset")]
    name: Option<String>,
    /// Make it the next version of this data set
    #[arg(long, value_name = "DATASET")]
    dataset: Option<String>,
    /// Rows to hold out for evaluation, by their prompts or by a column: eval:0.05, or eval:0.05,by:COLUMN
    #[arg(long, value_name = "SHARE")]
    split: Option<String>,
    /// Requests with the same key make one data set [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct AppendArgs {
    /// The data set, ds_...
    dataset: String,
    /// A file with the columns of the data set, or - for standard input
    #[arg(value_parser = source)]
    file: Source,
    #[command(flatten)]
    intake: IntakeArgs,
    /// Requests with the same key append once [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

type Query = Vec<(&'static str, Option<String>)>;

impl IntakeArgs {
    fn query(&self) -> anyhow::Result<Query> {
        Ok(vec![
            ("form", self.form.map(|form| form.to_string())),
            ("layout", self.layout.map(|layout| layout.to_string())),
            ("map", map(&self.map)?),
            ("dry_run", self.preview.then(|| String::from("preview"))),
        ])
    }
}

impl ColumnArgs {
    fn query(&self) -> Query {
        vec![
            ("prompt_column", self.prompt_column.clone()),
            ("answer_column", self.answer_column.clone()),
            ("completion_column", self.completion_column.clone()),
        ]
    }
}

impl MadeArgs {
    fn query(&self) -> Query {
        vec![("name", self.name.clone()), ("split", self.split.clone())]
    }

    fn path(&self) -> String {
        match &self.dataset {
            Some(dataset) => format!("/v1/datasets/{}/versions", escape(dataset)),
            None => String::from("/v1/datasets"),
        }
    }
}

pub fn upload(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let mut query = [args.intake.query()?, args.columns.query()].concat();
    query.extend(args.made.query());
    let key = args.made.idempotency_key.as_deref();
    send(client, output, &args.made.path(), query, &args.file, &args.intake, key)
}

pub fn append(client: &Client, output: Output, args: &AppendArgs) -> anyhow::Result<ExitCode> {
    let path = format!("/v1/datasets/{}/append", escape(&args.dataset));
    let key = args.idempotency_key.as_deref();
    send(client, output, &path, args.intake.query()?, &args.file, &args.intake, key)
}

pub fn pull(client: &Client, output: Output, args: &PullArgs) -> anyhow::Result<ExitCode> {
    let mut query = [args.intake.query()?, args.columns.query()].concat();
    query.extend(args.made.query());
    query.push(("source", Some(args.reference.to_string())));
    let path = with_query(&args.made.path(), &query);
    let made = std::thread::scope(|scope| {
        let (ends, over) = channel::<()>();
        scope.spawn(move || follow(client, &args.reference, &over));
        let made = client.post_empty(&path, args.made.idempotency_key.as_deref());
        drop(ends);
        made
    });
    tell(output, &made?);
    Ok(ExitCode::SUCCESS)
}

/// Shows how far the server is, until it is `over`.
fn follow(client: &Client, reference: &DatasetRef, over: &Receiver<()>) {
    let (bar, source) = (bar_of_bytes(), reference.to_string());
    bar.set_message(source.clone());
    while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        // That it cannot be seen is said by the request itself.
        let pulls = client.get("/v1/dataset-pulls").unwrap_or_default();
        let pull = pulls["data"].as_array().into_iter().flatten().find(|pull| pull["source"] == source);
        if let Some((bytes, done)) = pull.and_then(|pull| Some((pull["bytes"].as_u64()?, pull["bytes_done"].as_u64()?)))
        {
            bar.set_length(bytes);
            bar.set_position(done);
        }
    }
    bar.finish_and_clear();
}

/// Sends a file, or what a preview needs of it.
fn send(
    client: &Client,
    output: Output,
    path: &str,
    mut query: Query,
    file: &Source,
    intake: &IntakeArgs,
    key: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let name = match file {
        Source::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        Source::Stdin => None,
    };
    let is_parquet = intake.form.or(name.as_deref().and_then(Form::of_name)) == Some(Form::Parquet);
    query.push(("filename", name));
    let path = with_query(path, &query);
    let most = if intake.preview && !is_parquet { PREVIEW_BYTES } else { u64::MAX };
    let made = client.upload_up_to(most, &path, file, key, &bar_of_bytes())?;
    tell(output, &made);
    Ok(ExitCode::SUCCESS)
}

/// The map that options name: one in JSON, or a column each.
fn map(said: &[String]) -> anyhow::Result<Option<String>> {
    match said {
        [] => Ok(None),
        [whole] if whole.trim_start().starts_with('{') => Ok(Some(whole.clone())),
        each => {
            let mut columns = serde_json::Map::new();
            for one in each {
                let (column, template) = one.split_once('=').ok_or_else(|| {
                    anyhow::anyhow!(
                        "`--map {one}` is no COLUMN=TEMPLATE, as in --map 'prompt={{question}}' --map answer=result"
                    )
                })?;
                columns.insert(column.to_owned(), json!(template));
            }
            Ok(Some(Value::Object(columns).to_string()))
        }
    }
}

fn tell(output: Output, made: &Value) {
    let is_preview = made["object"] == "dataset.preview";
    output.answer(made, || if is_preview { preview_text(made) } else { made_text(made) });
}

/// Rows as they came and as they would be stored.
fn preview_text(preview: &Value) -> String {
    let mut text = format!(
        "{}, {}, layout {}; nothing was stored\n",
        member(preview, "/form"),
        member(preview, "/packing"),
        member(preview, "/layout")
    );
    let short = |value: &Value| -> String {
        let text = value.to_string();
        let shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() { format!("{shown}...") } else { shown }
    };
    for row in preview["rows"].as_array().into_iter().flatten() {
        text.push_str(&format!("row {}\n  from {}\n", row["row"], short(&row["source"])));
        if !row["mapped"].is_null() {
            text.push_str(&format!("  to   {}\n", short(&row["mapped"])));
        }
        if row["error"].is_object() {
            text.push_str(&format!("  {} ({})\n", member(row, "/error/detail"), member(row, "/error/code")));
        }
    }
    if preview["error"].is_object() {
        text.push_str(&format!("{} ({})\n", member(preview, "/error/detail"), member(preview, "/error/code")));
    }
    text
}

/// A data set or a version of one, whichever the server made.
pub fn made_text(made: &Value) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_said_column_by_column_or_whole() {
        let said = |texts: &[&str]| map(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap();
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["{\"prompt\": \"q\"}"]).as_deref(), Some("{\"prompt\": \"q\"}"));
        assert_eq!(said(&["prompt={q}=", "answer=a.b"]).as_deref(), Some(r#"{"prompt":"{q}=","answer":"a.b"}"#));
        assert!(map(&[String::from("prompt")]).is_err());
    }
}
