//! `GET /v1/evaluations/{id}/results`

use std::io::{self, BufRead, BufReader};

use axum::Json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::content;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::scan::scan;
use crate::job::evaluation::{COMPLETIONS_FILE, EvaluatedCompletion, RESULTS_FILE};
use crate::job::{EvaluationId, PromptResult};
use crate::store::{EvaluationRow, StoredFile};

/// A page ends with the prompt with which it passes this many stored bytes, however many were asked for.
const PAGE_BYTES: usize = 8 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ResultParams {
    /// Only prompts behind this one; the first is 1. `last_id` of a page is where the next one goes on.
    #[serde(default)]
    after: u64,
    /// Prompts to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
    /// Only prompts that this evaluation of the same rows solves and that one does not, or the other way round: a prompt is
    /// solved when at least half of its completions pass.
    #[param(example = "ev_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    differs_from: Option<String>,
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
    /// The first 16 completions with a verdict; null behind the first 256 MiB of an evaluation, and of evaluations that were
    /// made before completions were kept.
    completions: Option<Vec<EvaluationCompletion>>,
}

/// A completion of an evaluation.
#[derive(Debug, Serialize, ToSchema)]
struct EvaluationCompletion {
    /// Its number among those of its prompt.
    sample: u32,
    /// The first 8000 characters.
    completion: String,
    /// What the verifier compared; null where it took nothing out of the completion.
    answer: Option<String>,
    tokens: u64,
    /// `stop` or `length`.
    finish: String,
    /// `ok` or `unparsable`; null without a verifier.
    status: Option<String>,
    reward: f64,
    /// The reason of the verdict in a sentence, where the verifier gave one.
    detail: Option<String>,
}

impl From<EvaluatedCompletion> for EvaluationCompletion {
    fn from(kept: EvaluatedCompletion) -> Self {
        Self {
            sample: kept.sample,
            completion: kept.completion,
            answer: kept.answer,
            tokens: kept.tokens,
            finish: kept.finish.to_string(),
            status: kept.status.map(|status| status.to_string()),
            reward: kept.reward,
            detail: kept.detail,
        }
    }
}

impl EvaluationPrompt {
    fn new(number: u64, result: PromptResult, completions: Option<Vec<EvaluatedCompletion>>) -> Self {
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
            completions: completions
                .filter(|kept| result.samples == 0 || !kept.is_empty())
                .map(|kept| kept.into_iter().map(EvaluationCompletion::from).collect()),
        }
    }
}

/// Browse an evaluation's prompts
///
/// What became of each prompt's completions, in the order of the rows. A page may be shorter than asked for when
/// completions are long.
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
    let results = content(&row)?.artifact.file(RESULTS_FILE)?;
    let completions = content(&row)?.artifact.file(COMPLETIONS_FILE).ok();
    let other = match &params.differs_from {
        Some(other) => Some(results_of(&app, &row, other).await?),
        None => None,
    };
    let place = app.store.place().clone();
    let read = scan(&app, move || {
        let open = |file: &StoredFile| place.read(file).map(BufReader::new);
        let files = Files {
            results: open(&results)?,
            completions: completions.as_ref().map(open).transpose()?,
            other: other.as_ref().map(open).transpose()?,
        };
        files.read_page(params.after, params.limit as usize)
    });
    let (page, has_more) = read.await?;
    Ok(Json(List::with_more(page, has_more, |prompt| prompt.number.to_string())))
}

/// The results of another evaluation, which must be of the same rows.
async fn results_of(app: &App, row: &EvaluationRow, other: &str) -> Result<StoredFile, Problem> {
    let refused = |detail: String| Problem::bad_request("invalid_parameter", format!("`differs_from`: {detail}"));
    let id: EvaluationId = other.parse().map_err(|error| refused(format!("{error}")))?;
    let other = app.store.evaluation(id).await?;
    if content(&other)?.summary.rows_digest != content(row)?.summary.rows_digest {
        return Err(refused(String::from("the two have different rows")));
    }
    if other.job.resolved.common.verifier != row.job.resolved.common.verifier {
        return Err(refused(String::from("the two were scored by different verifiers")));
    }
    Ok(content(&other)?.artifact.file(RESULTS_FILE)?)
}

/// The files that a page is read from, line by line together.
struct Files<R> {
    results: R,
    completions: Option<R>,
    /// The results of the evaluation to differ from.
    other: Option<R>,
}

impl<R: BufRead> Files<R> {
    /// A page behind prompt number `after`, and whether there is more.
    fn read_page(mut self, after: u64, limit: usize) -> io::Result<(Vec<EvaluationPrompt>, bool)> {
        let (mut page, mut bytes) = (Vec::new(), 0);
        let mut number = 0;
        let mut line = Vec::new();
        loop {
            number += 1;
            if number <= after {
                if self.results.skip_until(b'\n')? == 0 {
                    return Ok((page, false));
                }
                for reader in [self.completions.as_mut(), self.other.as_mut()].into_iter().flatten() {
                    reader.skip_until(b'\n')?;
                }
                continue;
            }
            let Some(result) = next::<PromptResult, _>(&mut self.results, &mut line)? else { return Ok((page, false)) };
            let other = match &mut self.other {
                Some(other) => next::<PromptResult, _>(other, &mut line)?,
                None => None,
            };
            let differs = |other: PromptResult| match (other.is_solved(), result.is_solved()) {
                (Some(there), Some(here)) => there != here,
                (None, _) | (_, None) => false,
            };
            if other.is_some_and(|other| !differs(other)) {
                if let Some(completions) = &mut self.completions {
                    completions.skip_until(b'\n')?;
                }
                continue;
            }
            if page.len() == limit || bytes > PAGE_BYTES {
                return Ok((page, true));
            }
            let completions = match &mut self.completions {
                Some(completions) => next(completions, &mut line)?,
                None => None,
            };
            bytes += line.len();
            page.push(EvaluationPrompt::new(number, result, completions));
        }
    }
}

/// The next line of a file.
fn next<T: DeserializeOwned, R: BufRead>(reader: &mut R, line: &mut Vec<u8>) -> io::Result<Option<T>> {
    line.clear();
    reader.read_until(b'\n', line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(line)?)) }
}
