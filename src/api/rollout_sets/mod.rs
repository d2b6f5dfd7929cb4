//! Rollout sets: stored completions with their scores and log-probabilities, to browse, to analyse, to download and to
//! learn from.

pub mod advice;
pub mod archive;
pub mod create;
pub mod delete;
pub mod file;
pub mod filter;
pub mod frontier;
pub mod get;
pub mod list;
pub mod regrade;
mod resolve;
pub mod rollouts;
pub mod table;

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::checkpoints::CheckpointFile;
use crate::api::error::Problem;
use crate::job::{RolloutSetStatus, RolloutSummary};
use crate::store::{Content, RolloutSetRow};

/// A rollout set.
#[derive(Debug, Serialize, ToSchema)]
pub struct RolloutSet {
    #[schema(example = "rs_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `rollout_set`.
    pub object: &'static str,
    pub name: Option<String>,
    /// `pending` until its job has filled it, then `ready`; `failed` or `cancelled` when the job ended without it.
    #[schema(example = "ready")]
    pub status: &'static str,
    /// The job that fills it.
    pub job: String,
    /// The model that samples.
    pub model: String,
    /// `sha256:` and the digest of the model's weights; jobs that start from equal weights can learn from the set.
    pub model_digest: String,
    /// `sha256:` and the digest of the model's `tokenizer.json`.
    pub tokenizer_digest: String,
    /// What the set holds; null until it is ready.
    pub summary: Option<Summary>,
    /// Of all files together; null until the set is ready.
    pub bytes: Option<u64>,
    /// Empty until the set is ready. Download them from `/v1/rollout-sets/{id}/files/{path}`.
    pub files: Vec<CheckpointFile>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub completed_at: Option<i64>,
    /// The spec with every default filled in and every reference resolved; null when a training job keeps what it
    /// samples, whose spec is that of the job.
    #[schema(value_type = Option<Object>)]
    pub spec: Option<Value>,
    pub metadata: BTreeMap<String, String>,
}

/// What a rollout set holds, in numbers.
#[derive(Debug, Serialize, ToSchema)]
pub struct Summary {
    /// Prompts.
    pub groups: u64,
    pub rollouts: u64,
    /// Completion tokens.
    pub tokens: u64,
    /// Mean reward; null without a verifier.
    pub reward_mean: Option<f64>,
    /// Share of groups whose rewards are all equal; null without a verifier.
    pub zero_spread: Option<f64>,
    /// Whether every token was drawn from the model's own distribution: temperature 1, no `top_p` or `top_k`, neither
    /// weights nor cache in fewer bits, and no adapter to start from.
    pub whole_distribution: bool,
    /// Most optimizer steps that a sampling policy had taken: 0 when all completions come from what the job started from.
    pub max_step: u64,
    /// Entropy of the model at a token, in nats, on average; null for sets that were made before it was kept.
    pub entropy: Option<f64>,
    /// Completions that ended at `max_new_tokens` or the end of the context, as a share; null for the same sets.
    pub cut_off: Option<f64>,
}

impl From<RolloutSummary> for Summary {
    fn from(summary: RolloutSummary) -> Self {
        let (entropy, cut_off) = (summary.entropy(), summary.cut_off());
        let RolloutSummary { groups, rollouts, tokens, reward_mean, zero_spread, whole_distribution, max_step, .. } =
            summary;
        Self { groups, rollouts, tokens, reward_mean, zero_spread, whole_distribution, max_step, entropy, cut_off }
    }
}

impl From<RolloutSetRow> for RolloutSet {
    fn from(row: RolloutSetRow) -> Self {
        let content = row.content.as_ref();
        let artifact = content.map(|content| &content.artifact);
        let files = artifact.map(|artifact| artifact.manifest.files.as_slice()).unwrap_or_default();
        Self {
            id: row.id.to_string(),
            object: "rollout_set",
            status: row.status().as_str(),
            job: row.job.to_string(),
            summary: content.map(|content| content.summary.clone().into()),
            bytes: artifact.map(|artifact| artifact.manifest.bytes()),
            files: files.iter().map(CheckpointFile::from).collect(),
            completed_at: artifact.map(|artifact| artifact.completed_at.unix_seconds()),
            name: row.name,
            model: row.model,
            model_digest: row.model_digest,
            tokenizer_digest: row.tokenizer_digest,
            created_at: row.created_at.unix_seconds(),
            spec: row.spec,
            metadata: row.metadata,
        }
    }
}

/// What a ready set holds; for any other the conflict that says why there is nothing to read.
fn content(row: RolloutSetRow) -> Result<Content<RolloutSummary>, Problem> {
    let detail = not_ready(&row);
    row.content.ok_or_else(|| Problem::new(StatusCode::CONFLICT, "rollout_set_not_ready", detail))
}

/// Why a set that is not ready cannot be used, and what to do.
pub fn not_ready(row: &RolloutSetRow) -> String {
    let (id, job) = (row.id, row.job);
    match row.status() {
        RolloutSetStatus::Ready => format!("the rollout set {id} is ready"),
        RolloutSetStatus::Pending => {
            format!("the rollout set {id} is not complete yet; wait for its job {job}, which is {}", row.job_status)
        }
        RolloutSetStatus::Failed => {
            format!("the rollout set {id} never became complete; its job {job} says why, make another set")
        }
        RolloutSetStatus::Cancelled => {
            format!("the rollout set {id} never became complete, because its job {job} was cancelled; make another set")
        }
    }
}
