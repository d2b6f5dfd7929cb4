//! `POST /v1/evaluations/compare`

use std::io::{self, BufRead, BufReader, Read};

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::resolve::found;
use crate::api::scan::scan;
use crate::job::evaluation::RESULTS_FILE;
use crate::job::{EvaluationId, FieldError, PromptResult};
use crate::objective::math::{mean, pass_at_k};
use crate::objective::paired::Comparison;
use crate::spec::{Resolved, Work};
use crate::store::{EvaluationRow, StoredFile};

/// Prompts that a comparison names.
const MOST_FLIPS: usize = 100;

/// Which evaluations to compare.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareEvaluations {
    /// The evaluation to compare with, for example that of the model in use.
    #[schema(example = "ev_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    baseline: String,
    /// The evaluation of the model that might take its place.
    #[schema(example = "ev_0198f6c2a7d47e0c8f6f0d9f0e6b5a32")]
    candidate: String,
    /// Compares pass@k; no more than the samples of either evaluation.
    #[serde(default = "default_k")]
    #[schema(default = 1, minimum = 1)]
    k: u32,
    /// Of the interval; at least 0.5 and at most 0.999.
    #[serde(default = "default_confidence")]
    #[schema(default = 0.95, minimum = 0.5, maximum = 0.999)]
    confidence: f64,
    /// The gate: by how much the candidate must be better with that confidence, between 0 and 1.
    #[serde(default)]
    #[schema(minimum = 0.0, maximum = 1.0)]
    min_improvement: Option<f64>,
}

fn default_k() -> u32 {
    1
}

fn default_confidence() -> f64 {
    0.95
}

/// How a candidate does against a baseline.
#[derive(Debug, Serialize, ToSchema)]
pub struct EvaluationComparison {
    /// Always `evaluation.comparison`.
    object: &'static str,
    baseline: String,
    candidate: String,
    k: u32,
    confidence: f64,
    /// `better` or `worse` when the whole interval lies on that side of zero and enough prompts differ, otherwise
    /// `inconclusive`: evaluate more prompts.
    verdict: Verdict,
    /// Mean of candidate - baseline over the prompts.
    difference: f64,
    /// Of the difference.
    standard_error: f64,
    /// The interval of the difference.
    low: f64,
    high: f64,
    /// pass@k of each over the compared prompts.
    baseline_mean: f64,
    candidate_mean: f64,
    /// Prompts that were compared.
    prompts: usize,
    /// Prompts whose pass@k is not the same.
    differing: usize,
    /// Prompts for which either has fewer than k completions with a verdict.
    left_out: usize,
    /// Prompts that one of them solves and the other does not.
    flips: Flips,
    /// What else is not the same in the two evaluations, as JSON pointers into their specs.
    differences: Vec<String>,
    /// The answer to `min_improvement`; null without one.
    gate: Option<Gate>,
}

/// Prompts that one of two evaluations solves, with at least half of the completions, and the other does not. Their
/// completions are those of `GET /v1/evaluations/{id}/results?differs_from=...` of either.
#[derive(Debug, Default, Serialize, ToSchema)]
struct Flips {
    /// How many the candidate solves and the baseline does not.
    gained: u64,
    /// How many the baseline solves and the candidate does not.
    lost: u64,
    /// The first 100 of both kinds.
    prompts: Vec<Flip>,
}

/// A prompt that one of two evaluations solves and the other does not.
#[derive(Debug, Serialize, ToSchema)]
struct Flip {
    /// 1, 2, 3, ... within the evaluations.
    number: u64,
    /// Number of the row in its data set, counted from 0.
    row: usize,
    /// The first 1000 characters of the prompt as the verifier saw it.
    prompt: String,
    /// Whether it is the candidate that solves it.
    gained: bool,
    /// Completions that pass, and those with a verdict.
    baseline_passed: u32,
    baseline_samples: u32,
    candidate_passed: u32,
    candidate_samples: u32,
}

impl Flips {
    fn look(&mut self, number: u64, baseline: &PromptResult, candidate: &PromptResult) {
        let (Some(before), Some(gained)) = (baseline.is_solved(), candidate.is_solved()) else { return };
        if before == gained {
            return;
        }
        *(if gained { &mut self.gained } else { &mut self.lost }) += 1;
        if self.prompts.len() < MOST_FLIPS {
            self.prompts.push(Flip {
                number,
                row: candidate.row,
                prompt: candidate.prompt.clone(),
                gained,
                baseline_passed: baseline.passed,
                baseline_samples: baseline.samples,
                candidate_passed: candidate.passed,
                candidate_samples: candidate.samples,
            });
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Better,
    Worse,
    Inconclusive,
}

/// Whether the candidate is better by as much as was asked for.
#[derive(Debug, Serialize, ToSchema)]
struct Gate {
    min_improvement: f64,
    /// Whether the whole interval lies above `min_improvement` and enough prompts differ.
    passed: bool,
}

/// Compare two evaluations
///
/// Takes the difference of pass@k prompt by prompt, which both evaluations must share: the same rows and the same
/// verifier. `low` to `high` is Student's interval for paired samples, `mean(d) ± t(n - 1) * s(d) / sqrt(n)`. A verdict
/// other than `inconclusive` also needs enough prompts that differ at all (6 at a confidence of 0.95): as many as a sign
/// test needs.
#[utoipa::path(
    post,
    path = "/v1/evaluations/compare",
    tag = "evaluations",
    request_body = CompareEvaluations,
    responses(
        (status = 200, body = EvaluationComparison),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "One of them is not complete", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or the two have different rows or verifiers", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn compare_evaluations(
    Access(app): Access,
    JsonBody(body): JsonBody,
) -> Result<Json<EvaluationComparison>, Problem> {
    let request: CompareEvaluations = read(&body)?;
    let baseline = evaluation(&app, &request.baseline, "/baseline").await?;
    let candidate = evaluation(&app, &request.candidate, "/candidate").await?;
    check_pair(&baseline, &candidate, request.k)?;
    let results = |row| -> Result<StoredFile, Problem> { Ok(content(row)?.artifact.file(RESULTS_FILE)?) };
    let (first, second, k) = (results(&baseline)?, results(&candidate)?, request.k);
    let place = app.store.place().clone();
    let read = scan(&app, move || read_pairs(place.read(&first)?, place.read(&second)?, k));
    let (pairs, flips) = read.await?;
    let left_out = content(&baseline)?.summary.prompts as usize - pairs.len();
    let Some(comparison) = Comparison::of(&pairs, request.confidence) else {
        let detail = format!("{} prompts can be compared, and it takes at least 2; evaluate more prompts", pairs.len());
        return Err(one("/candidate", "too_few_prompts", detail));
    };
    let differences = differences(&baseline.job.resolved, &candidate.job.resolved);
    Ok(Json(EvaluationComparison { left_out, flips, differences, ..answer(&request, &pairs, comparison) }))
}

/// What may differ between two evaluations that are compared, and does.
fn differences(baseline: &Resolved, candidate: &Resolved) -> Vec<String> {
    let samples = |resolved: &Resolved| match &resolved.work {
        Work::Evaluate(evaluating) => Some(evaluating.samples),
        Work::Train(_) | Work::Sample(_) | Work::Regrade(_) => None,
    };
    let (first, second) = (&baseline.common, &candidate.common);
    let fields = [
        ("sampling", first.sampling != second.sampling),
        ("samples", samples(baseline) != samples(candidate)),
        ("seed", first.seed != second.seed),
        ("precision", baseline.work.precision() != candidate.work.precision()),
        ("format", first.prompt.format != second.prompt.format),
        ("system", first.prompt.system != second.prompt.system),
        ("template", first.prompt.template != second.prompt.template),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| format!("/{name}")).collect()
}

fn answer(request: &CompareEvaluations, pairs: &[(f64, f64)], comparison: Comparison) -> EvaluationComparison {
    let (baseline, candidate): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let verdict = match () {
        () if comparison.is_better_by(0.0) => Verdict::Better,
        () if comparison.is_worse() => Verdict::Worse,
        () => Verdict::Inconclusive,
    };
    let gate = |least| Gate { min_improvement: least, passed: comparison.is_better_by(least) };
    EvaluationComparison {
        object: "evaluation.comparison",
        baseline: request.baseline.clone(),
        candidate: request.candidate.clone(),
        k: request.k,
        confidence: request.confidence,
        verdict,
        difference: comparison.difference,
        standard_error: comparison.standard_error,
        low: comparison.low,
        high: comparison.high,
        baseline_mean: mean(&baseline),
        candidate_mean: mean(&candidate),
        prompts: comparison.pairs,
        differing: comparison.differing,
        left_out: 0,
        flips: Flips::default(),
        differences: Vec::new(),
        gate: request.min_improvement.map(gate),
    }
}

fn one(pointer: &str, code: &'static str, detail: String) -> Problem {
    Problem::invalid(vec![FieldError::new(pointer, code, detail)])
}

async fn evaluation(app: &App, name: &str, pointer: &str) -> Result<EvaluationRow, Problem> {
    let Ok(id) = name.parse::<EvaluationId>() else {
        let name: String = name.chars().take(80).collect();
        return Err(one(pointer, "not_found", format!("`{name}` is no evaluation (ev_...); see GET /v1/evaluations")));
    };
    found(app.store.evaluation(id).await, pointer)?.map_err(|error| Problem::invalid(vec![error]))
}

/// Refuses a pair that has not measured the same.
fn check_pair(baseline: &EvaluationRow, candidate: &EvaluationRow, k: u32) -> Result<(), Problem> {
    let (first, second) = (&content(baseline)?.summary, &content(candidate)?.summary);
    let mut errors = Vec::new();
    let mut refuse = |pointer, code, detail: String| errors.push(FieldError::new(pointer, code, detail));
    if first.rows_digest != second.rows_digest {
        let detail = format!(
            "the two have different rows ({} of the baseline, {} of the candidate); evaluate both with the same \
             `dataset`, `split` and `prompts`",
            first.prompts, second.prompts
        );
        refuse("/candidate", "rows_differ", detail);
    }
    if baseline.job.resolved.common.verifier != candidate.job.resolved.common.verifier {
        let detail = String::from("the two were scored by different verifiers; evaluate both with the same `verifier`");
        refuse("/candidate", "verifiers_differ", detail);
    }
    let most = first.samples.min(second.samples);
    if k > most {
        refuse("/k", "out_of_range", format!("the evaluations have {most} samples per prompt; take k up to that"));
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

/// pass@k of the prompts for which both have it, and the prompts that only one of them solves.
fn read_pairs(baseline: impl Read, candidate: impl Read, k: u32) -> io::Result<(Vec<(f64, f64)>, Flips)> {
    let read = |line: io::Result<String>| -> io::Result<PromptResult> { Ok(serde_json::from_str(&line?)?) };
    let rate = |result: &PromptResult| (result.samples >= k).then(|| pass_at_k(result.samples, result.passed, k));
    let (mut pairs, mut flips) = (Vec::new(), Flips::default());
    let lines = BufReader::new(baseline).lines().zip(BufReader::new(candidate).lines());
    for (number, (first, second)) in (1..).zip(lines) {
        let (first, second) = (read(first)?, read(second)?);
        pairs.extend(rate(&first).zip(rate(&second)));
        flips.look(number, &first, &second);
    }
    Ok((pairs, flips))
}
