//! `GET /v1/evaluations/{id}/results.parquet`

use axum::response::Response;

use super::content;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::api::table::{self, Cell, Columns, Kind};
use crate::job::evaluation::RESULTS_FILE;
use crate::job::{EvaluationId, PromptResult};

const COLUMNS: Columns = &[
    ("row", Kind::Integer),
    ("row_sha256", Kind::Text),
    ("prompt", Kind::Text),
    ("samples", Kind::Integer),
    ("passed", Kind::Integer),
    ("unparsable", Kind::Integer),
    ("reward_mean", Kind::Number),
    ("majority", Kind::Number),
    ("distinct_answers", Kind::Integer),
    ("tokens", Kind::Integer),
    ("truncated", Kind::Integer),
];

/// Download an evaluation's results as a table
///
/// In Parquet, one prompt a row, for pandas, Polars or DuckDB. `majority` is the chance that the answer which most completions
/// give passes.
#[utoipa::path(
    get,
    path = "/v1/evaluations/{id}/results.parquet",
    tag = "evaluations",
    params(("id" = String, Path, description = "The evaluation")),
    responses(
        (status = 200, description = "The table", content_type = "application/vnd.apache.parquet", body = Vec<u8>),
        (status = 404, description = "No such evaluation", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The evaluation is not complete", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_evaluation_table(Access(app): Access, Id(id): Id<EvaluationId>) -> Result<Response, Problem> {
    let file = content(&app.store.evaluation(id).await?)?.artifact.file(RESULTS_FILE)?;
    let stored = (app.store.place().clone(), file);
    Ok(table::answer_lines(&format!("{id}.parquet"), COLUMNS, stored, row))
}

/// The cells of a prompt.
fn row(result: PromptResult) -> Vec<Cell> {
    let count = |number: u32| Cell::Integer(number.into());
    vec![
        Cell::Integer((result.row as u64).cast_signed()),
        Cell::Text(result.row_sha256),
        Cell::Text(result.prompt),
        count(result.samples),
        count(result.passed),
        count(result.unparsable),
        if result.samples > 0 { Cell::Number(result.reward_sum / f64::from(result.samples)) } else { Cell::Null },
        Cell::of(result.majority, Cell::Number),
        Cell::of(result.distinct_answers, count),
        Cell::Integer(result.tokens.cast_signed()),
        count(result.truncated),
    ]
}
