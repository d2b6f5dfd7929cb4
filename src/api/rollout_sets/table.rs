//! `GET /v1/rollout-sets/{id}/rollouts.parquet`

use axum::response::Response;
use serde_json::json;

use super::content;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::api::table::{self, Cell, Columns, Kind};
use crate::job::rollout_set::ROLLOUTS_FILE;
use crate::job::{RolloutLine, RolloutSetId};

const COLUMNS: Columns = &[
    ("group", Kind::Integer),
    ("sample", Kind::Integer),
    ("row", Kind::Integer),
    ("step", Kind::Integer),
    ("prompt", Kind::Text),
    ("completion", Kind::Text),
    ("answer", Kind::Text),
    ("reward", Kind::Number),
    ("status", Kind::Text),
    ("detail", Kind::Text),
    ("finish", Kind::Text),
    ("entropy_sum", Kind::Number),
    ("prompt_tokens", Kind::Integers),
    ("tokens", Kind::Integers),
    ("logprobs", Kind::Numbers),
    ("parts", Kind::Text),
    ("answers", Kind::Text),
];

/// Download a rollout set's completions as a table
///
/// In Parquet, one completion a row, with the members of `rollouts.jsonl` as columns, for pandas, Polars or DuckDB. `parts` and
/// `answers` are JSON; null where there are none. Unlike the files of a set it is made while it is sent, and a download
/// that breaks off begins anew.
#[utoipa::path(
    get,
    path = "/v1/rollout-sets/{id}/rollouts.parquet",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set")),
    responses(
        (status = 200, description = "The table", content_type = "application/vnd.apache.parquet", body = Vec<u8>),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The set is not ready", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_rollout_set_table(Access(app): Access, Id(id): Id<RolloutSetId>) -> Result<Response, Problem> {
    let file = content(app.store.rollout_set(id).await?)?.artifact.file(ROLLOUTS_FILE)?;
    let stored = (app.store.place().clone(), file);
    Ok(table::answer_lines(&format!("{id}.parquet"), COLUMNS, stored, row))
}

/// The cells of a completion.
fn row(line: RolloutLine) -> Vec<Cell> {
    let integer = |number: u64| Cell::Integer(number.cast_signed());
    let integers = |all: Vec<u32>| Cell::Integers(all.into_iter().map(i64::from).collect());
    let list = |value: serde_json::Value| match value.as_array().is_some_and(Vec::is_empty) {
        true => Cell::Null,
        false => Cell::Text(value.to_string()),
    };
    vec![
        integer(line.group),
        integer(line.sample.into()),
        integer(line.row as u64),
        integer(line.step),
        Cell::Text(line.prompt),
        Cell::Text(line.completion),
        Cell::of(line.answer, Cell::Text),
        Cell::of(line.reward, Cell::Number),
        Cell::of(line.status, |status| Cell::Text(status.to_string())),
        Cell::of(line.detail, Cell::Text),
        Cell::Text(line.finish.to_string()),
        Cell::Number(line.entropy_sum),
        integers(line.prompt_tokens),
        integers(line.tokens),
        Cell::Numbers(line.logprobs.into_iter().map(f64::from).collect()),
        list(json!(line.parts)),
        list(json!(line.answers)),
    ]
}
