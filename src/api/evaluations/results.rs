//! `GET /v1/evaluations/{id}/results`

use std::io::{self, BufRead, BufReader, Read};

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::content;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::scan::scan;
use crate::job::evaluation::RESULTS_FILE;
use crate::job::{EvaluationId, PromptResult};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ResultParams {
    /// Only prompts behind this one; the first is 1. `last_id` of a page is where the next one goes on.
    #[serde(default)]
    after: u64,
    /// Prompts to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
}

fn default_limit() -> u32 {
    20
}

/// What became of one prompt's completions. Those that the verifier could not judge are not counted.
#[derive(Debug, Serialize, ToSchema)]
pub struct EvaluationPrompt {
    /// Always `evaluation.prompt`.
    object: &'static str,
    /// 1, 2, 3, ... within the evaluation.
    number: u64,
    /// Number of the row in its data set, counted from 0.
    row: usize,
    /// Of the row's columns, hexadecimal.
    row_sha256: String,
    /// The first 1000 characters of the prompt as the verifier saw it.
    prompt: String,
    /// Completions with a verdict.
    samples: u32,
    /// Completions that pass: with a reward of at least 0.5.
    passed: u32,
    /// Completions that held nothing to judge; their reward counts.
    unparsable: u32,
    /// Null where no completion has a verdict.
    reward_mean: Option<f64>,
    /// Tokens of the completions.
    tokens: u64,
    /// Completions cut at the length limit.
    truncated: u32,
}

impl EvaluationPrompt {
    fn new(number: u64, result: PromptResult) -> Self {
        Self {
            object: "evaluation.prompt",
            number,
            row: result.row,
            row_sha256: result.row_sha256,
            prompt: result.prompt,
            reward_mean: (result.samples > 0).then(|| result.reward_sum / f64::from(result.samples)),
            samples: result.samples,
            passed: result.passed,
            unparsable: result.unparsable,
            tokens: result.tokens,
            truncated: result.truncated,
        }
    }
}

/// Browse an evaluation's prompts
///
/// What became of each prompt's completions, in the order of the rows.
#[utoipa::path(
    get,
    path = "/v1/evaluations/{id}/results",
    tag = "evaluations",
    params(("id" = String, Path, description = "The evaluation"), ResultParams),
    responses(
        (status = 200, body = List<EvaluationPrompt>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such evaluation", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The evaluation is not complete", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_evaluation_results(
    Access(app): Access,
    Id(id): Id<EvaluationId>,
    Params(params): Params<ResultParams>,
) -> Result<Json<List<EvaluationPrompt>>, Problem> {
    let row = app.store.evaluation(id).await?;
    let (place, file) = (app.store.place().clone(), content(&row)?.artifact.file(RESULTS_FILE)?);
    let (after, limit) = (params.after, params.limit);
    let read = scan(&app, move || read_page(place.read(&file)?, after, limit));
    let page = read.await?;
    Ok(Json(List::new(page, limit, |prompt| prompt.number.to_string())))
}

/// A page and one more, if there is more.
fn read_page(file: impl Read, after: u64, limit: u32) -> io::Result<Vec<EvaluationPrompt>> {
    let mut reader = BufReader::new(file);
    let mut number = 0;
    while number < after {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(Vec::new());
        }
        number += 1;
    }
    let mut page = Vec::new();
    for line in reader.lines().take(limit as usize + 1) {
        number += 1;
        page.push(EvaluationPrompt::new(number, serde_json::from_str(&line?)?));
    }
    Ok(page)
}
