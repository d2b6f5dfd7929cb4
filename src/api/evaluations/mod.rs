//! Evaluations: pass rates of a model on held-out rows, prompt by prompt, and how two of them compare.

pub mod breakdown;
pub mod compare;
pub mod create;
pub mod get;
pub mod list;
pub mod resolve;
pub mod results;
pub mod table;

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::error::Problem;
use crate::job::{EvaluationSummary, JobStatus, PassAtK, Timestamp};
use crate::spec::with_attributes;
use crate::store::{Content, EvaluationRow};

/// An evaluation.
#[derive(Debug, Serialize, ToSchema)]
pub struct Evaluation {
    #[schema(example = "ev_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `evaluation`.
    pub object: &'static str,
    pub name: Option<String>,
    /// That of its job; `succeeded` when `result` is there.
    #[schema(example = "succeeded")]
    pub status: &'static str,
    /// The job that makes it: follow, cancel and prioritise it there.
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub job: String,
    /// The model that is measured.
    pub model: Option<String>,
    /// The version of the rows, or a built-in.
    pub dataset: Option<String>,
    /// What was found; null until the evaluation is complete.
    pub result: Option<EvaluationResult>,
    /// Why the job failed.
    #[schema(value_type = Option<Object>)]
    pub failure: Option<Value>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub finished_at: Option<i64>,
    /// The spec with every default filled in and every reference resolved.
    #[schema(value_type = Object)]
    pub spec: Value,
    pub metadata: BTreeMap<String, String>,
}

/// What an evaluation found, in numbers.
#[derive(Debug, Serialize, ToSchema)]
pub struct EvaluationResult {
    pub prompts: u64,
    /// Completions per prompt.
    pub samples: u32,
    /// Completions with a verdict.
    pub completions: u64,
    /// Completions that the verifier could not judge; they are in no other number.
    pub unscored: u64,
    /// Completions that pass: with a reward of at least 0.5.
    pub passed: u64,
    /// Completions that held nothing to judge; their reward counts.
    pub unparsable: u64,
    pub pass_at: Vec<PassRate>,
    /// maj@k for k = `samples`: the share of prompts whose most frequent answer passes, a tie being decided by lot. Null where
    /// completions have no answers, and in evaluations that are older than it.
    pub majority: Option<PassRate>,
    /// maj@k for each k of `pass_at`: of each prompt the mean over 1000 draws of k of its completions. Empty where `majority` is
    /// null.
    pub majority_at: Vec<PassRate>,
    /// Distinct answers as a share of the completions.
    pub distinct_answers: Option<f64>,
    /// Mean reward of all completions.
    pub reward_mean: f64,
    /// Mean completion length in tokens.
    pub tokens_mean: f64,
    /// Share of completions cut at the length limit.
    pub truncated: f64,
    /// `sha256:` and the digest of the rows: evaluations with equal ones can be compared.
    pub rows_digest: String,
}

/// The probability that at least one of k completions passes, estimated without bias (Chen et al., arXiv 2107.03374,
/// eq. 1) for each prompt and averaged over prompts.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct PassRate {
    pub k: u32,
    pub mean: f64,
    /// The 95 % interval over prompts: Wilson's score interval, for as many yes-or-no prompts as the estimates are
    /// worth. Null in evaluations that are older than these fields.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// From `mean` to the bound that is further away, so that `mean` ± `half_width` holds the interval.
    pub half_width: f64,
}

impl From<PassAtK> for PassRate {
    fn from(PassAtK { k, mean, low, high, half_width }: PassAtK) -> Self {
        Self { k, mean, low, high, half_width }
    }
}

impl From<EvaluationSummary> for EvaluationResult {
    fn from(summary: EvaluationSummary) -> Self {
        Self {
            prompts: summary.prompts,
            samples: summary.samples,
            completions: summary.completions,
            unscored: summary.unscored,
            passed: summary.passed,
            unparsable: summary.unparsable,
            pass_at: summary.pass_at.into_iter().map(PassRate::from).collect(),
            majority: summary.majority.map(PassRate::from),
            majority_at: summary.majority_at.into_iter().map(PassRate::from).collect(),
            distinct_answers: summary.distinct_answers,
            reward_mean: summary.reward_mean,
            tokens_mean: summary.tokens_mean,
            truncated: summary.truncated,
            rows_digest: summary.rows_digest,
        }
    }
}

impl From<EvaluationRow> for Evaluation {
    fn from(row: EvaluationRow) -> Self {
        let EvaluationRow { id, job, content } = row;
        Self {
            id: id.to_string(),
            object: "evaluation",
            status: job.status.as_str(),
            job: job.id.to_string(),
            model: Some(job.resolved.common.model.to_string()),
            dataset: Some(job.resolved.work.rows().to_string()),
            result: content.filter(|_| job.status == JobStatus::Succeeded).map(|content| content.summary.into()),
            failure: job.failure.as_ref().and_then(|failure| serde_json::to_value(failure).ok()),
            created_at: job.created_at.unix_seconds(),
            finished_at: job.finished_at.map(Timestamp::unix_seconds),
            spec: with_attributes(job.essence, &job.attributes),
            metadata: job.attributes.metadata,
            name: job.attributes.name,
        }
    }
}

/// What a complete evaluation found; for any other the conflict that says why there is nothing to read.
fn content(row: &EvaluationRow) -> Result<&Content<EvaluationSummary>, Problem> {
    let status = row.job.status;
    row.content.as_ref().filter(|_| status == JobStatus::Succeeded).ok_or_else(|| {
        let (id, job) = (row.id, row.job.id);
        let detail = if status.is_final() {
            format!("the evaluation {id} found nothing, its job {job} is {status}; make another evaluation")
        } else {
            format!("the evaluation {id} is not complete yet; wait for its job {job}, which is {status}")
        };
        Problem::new(StatusCode::CONFLICT, "evaluation_not_ready", detail)
    })
}
