//! `GET /v1/jobs/{id}/report`: all that is worth keeping of a job in one document, for people, for CI and for programs.

mod forks;
mod junit;
mod markdown;

use std::collections::BTreeMap;

use axum::Json;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use self::forks::ReportedFork;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::clock;
use crate::job::metric::METRICS;
use crate::job::{Event, JobId, Timestamp};
use crate::spec::{Resolved, Work};
use crate::store::{CheckpointRow, JobRow, Page, Store};

/// Warnings that a report lists.
const MOST_WARNINGS: u32 = 100;
/// Checkpoints that a report lists, the newest ones.
const MOST_CHECKPOINTS: u32 = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportParams {
    /// `json`, `markdown` or `junit`; without it as `Accept` says.
    format: Option<ReportFormat>,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportFormat {
    Json,
    Markdown,
    Junit,
}

impl ReportFormat {
    /// The first form that the client names; JSON for all that name none.
    fn accepted(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kinds = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
        let named = kinds.map(|kind| match kind {
            "application/json" => Some(Self::Json),
            "text/markdown" | "text/plain" => Some(Self::Markdown),
            "application/xml" | "text/xml" | "application/junit+xml" => Some(Self::Junit),
            _ => None,
        });
        named.flatten().next().unwrap_or(Self::Json)
    }
}

/// What is worth keeping of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Report {
    /// Always `job.report`.
    object: &'static str,
    job: String,
    name: Option<String>,
    kind: &'static str,
    status: &'static str,
    /// The spec's model, as it was resolved.
    model: Option<String>,
    /// The data set that was trained on, or sampled for.
    train: Option<String>,
    /// The data set that was evaluated on.
    eval: Option<String>,
    objective: Option<String>,
    /// `sha256:` and the digest of the resolved spec without name, priority, metadata and budget, with those of the
    /// built-ins that it names.
    spec_digest: String,
    seed: Option<u64>,
    forked_from: Option<String>,
    /// The newest 20 forks of the job, its control runs among them, each beside it.
    forks: Vec<ReportedFork>,
    verifies: Option<String>,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    started_at: Option<i64>,
    /// Unix seconds.
    finished_at: Option<i64>,
    /// From the begin of the first attempt to the end, or to this moment.
    seconds: Option<f64>,
    device_seconds: f64,
    attempts: u32,
    step: u64,
    steps: u64,
    /// The evaluation before the first step: `pass_at` with means and half widths of 95 % intervals.
    #[schema(value_type = Option<Object>)]
    before: Option<Value>,
    /// The evaluation after the last step.
    #[schema(value_type = Option<Object>)]
    after: Option<Value>,
    /// `passed` and the single `checks`, where the spec has a gate and the job has succeeded.
    #[schema(value_type = Option<Object>)]
    gate: Option<Value>,
    /// The gate of the spec.
    #[schema(value_type = Option<Object>)]
    required: Option<Value>,
    /// Whether the job ended with the weights of the one that it verifies.
    #[schema(value_type = Option<Object>)]
    verify_resume: Option<Value>,
    weights_sha256: Option<String>,
    /// The newest value of every metric.
    metrics: Vec<LastMetric>,
    /// Warnings and errors of the log, the first 100.
    warnings: Vec<ReportedWarning>,
    /// The newest 100.
    checkpoints: Vec<ReportedCheckpoint>,
    rollout_set: Option<String>,
    #[schema(value_type = Option<Object>)]
    failure: Option<Value>,
    metadata: BTreeMap<String, String>,
}

/// The newest value of a metric.
#[derive(Debug, Serialize, ToSchema)]
struct LastMetric {
    #[schema(example = "reward/mean")]
    name: String,
    step: u64,
    value: f64,
}

/// A warning or an error of the log.
#[derive(Debug, Serialize, ToSchema)]
struct ReportedWarning {
    /// The event's number.
    seq: i64,
    /// `warning` or `error`.
    level: &'static str,
    /// RFC 3339.
    created_at: String,
    message: String,
}

/// A checkpoint with the digests of its files.
#[derive(Debug, Serialize, ToSchema)]
struct ReportedCheckpoint {
    id: String,
    kind: &'static str,
    step: u64,
    bytes: u64,
    /// Hexadecimal sha256 by name of file.
    sha256: BTreeMap<String, String>,
}

/// Report a job
///
/// One document with what the job is, what it took, what it reached, what went wrong, and the digests of what it made:
/// as JSON, as Markdown for people, or as JUnit XML for CI, with one test case for the success of the job and one for
/// each demand of its gate.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/report",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), ReportParams),
    responses(
        (status = 200, description = "The report", content(
            (Report = "application/json"),
            (String = "text/markdown"),
            (String = "application/xml"),
        )),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_report(
    Access(app): Access,
    Id(id): Id<JobId>,
    headers: HeaderMap,
    Params(params): Params<ReportParams>,
) -> Result<Response, Problem> {
    let report = Report::gather(&app.store, id, clock::now()).await?;
    let text = |kind: &'static str, text: String| {
        ([(header::CONTENT_TYPE, kind), (header::VARY, "accept")], text).into_response()
    };
    Ok(match params.format.unwrap_or_else(|| ReportFormat::accepted(&headers)) {
        ReportFormat::Json => ([(header::VARY, "accept")], Json(report)).into_response(),
        ReportFormat::Markdown => text("text/markdown; charset=utf-8", markdown::write(&report)),
        ReportFormat::Junit => text("application/xml; charset=utf-8", junit::write(&report)),
    })
}

impl Report {
    async fn gather(store: &Store, id: JobId, now: Timestamp) -> Result<Self, Problem> {
        let row = store.job(id).await?;
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let metrics = store.last_metrics(id, &names).await?;
        let warnings = store.notable_events(id, MOST_WARNINGS).await?;
        let page = Page { after: None, limit: MOST_CHECKPOINTS, newest_first: true };
        let checkpoints = store.checkpoints(Some(id), &page).await?;
        let forks = forks::gather(store, &row).await?;
        let mut report = Self::of(row, now);
        report.forks = forks;
        report.metrics = metrics.into_iter().map(|(name, step, value)| LastMetric { name, step, value }).collect();
        report.warnings = warnings.into_iter().map(ReportedWarning::from).collect();
        report.checkpoints = checkpoints.into_iter().map(ReportedCheckpoint::from).collect();
        Ok(report)
    }

    /// What a job's row tells.
    fn of(row: JobRow, now: Timestamp) -> Self {
        let Resolved { common, work } = &*row.resolved;
        let (train, eval, required) = match work {
            Work::Train(training) => (Some(training.rows), training.held_out, training.gate),
            Work::Sample(_) | Work::Regrade(_) => (Some(work.rows()), None, None),
            Work::Evaluate(_) => (None, None, None),
        };
        let result = |key: &str| row.result.as_ref().and_then(|r| r.get(key)).filter(|value| !value.is_null()).cloned();
        let end = row.finished_at.unwrap_or(now);
        Self {
            object: "job.report",
            job: row.id.to_string(),
            kind: row.work().kind().as_str(),
            status: row.status.as_str(),
            model: Some(common.model.to_string()),
            train: train.map(|rows| rows.to_string()),
            eval: eval.map(|rows| rows.to_string()),
            objective: row.work().objective().map(str::to_owned),
            seed: Some(common.seed),
            forked_from: row.forked_from.map(|id| id.to_string()),
            forks: Vec::new(),
            verifies: row.verifies.map(|id| id.to_string()),
            created_at: row.created_at.unix_seconds(),
            started_at: row.started_at.map(Timestamp::unix_seconds),
            finished_at: row.finished_at.map(Timestamp::unix_seconds),
            seconds: row.started_at.map(|began| (end.0 - began.0).max(0) as f64 / 1000.0),
            device_seconds: row.device_seconds(now),
            attempts: row.attempt,
            step: row.step,
            steps: row.work().steps(),
            before: result("before"),
            after: result("after"),
            gate: result("gate"),
            required: required.map(|gate| json!(gate)),
            verify_resume: result("verify_resume"),
            weights_sha256: result("weights_sha256").and_then(|value| value.as_str().map(str::to_owned)),
            metrics: Vec::new(),
            warnings: Vec::new(),
            checkpoints: Vec::new(),
            rollout_set: row.rollout_set.map(|id| id.to_string()),
            failure: row.failure.as_ref().and_then(|failure| serde_json::to_value(failure).ok()),
            metadata: row.attributes.metadata,
            name: row.attributes.name,
            spec_digest: row.spec_digest,
        }
    }

    /// The job's name, or else its id.
    fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.job)
    }

    /// The single checks of a gate: name, what was required, what was measured and whether it passed.
    fn checks(&self) -> impl Iterator<Item = (&str, f64, Option<f64>, bool)> {
        let checks = self.gate.as_ref().and_then(|gate| gate["checks"].as_array());
        checks.into_iter().flatten().map(|check| {
            let name = check["name"].as_str().unwrap_or_default();
            let required = check["required"].as_f64().unwrap_or_default();
            (name, required, check["measured"].as_f64(), check["passed"] == true)
        })
    }

    fn failure_text(&self) -> Option<(&str, &str)> {
        let failure = self.failure.as_ref()?;
        Some((failure["code"].as_str().unwrap_or_default(), failure["message"].as_str().unwrap_or_default()))
    }
}

impl From<Event> for ReportedWarning {
    fn from(event: Event) -> Self {
        Self {
            seq: event.seq,
            level: event.level.as_str(),
            created_at: event.created_at.rfc3339(),
            message: event.message,
        }
    }
}

impl From<CheckpointRow> for ReportedCheckpoint {
    fn from(row: CheckpointRow) -> Self {
        let manifest = row.artifact.manifest;
        let (kind, step, bytes) = (manifest.kind.as_str(), manifest.step, manifest.bytes());
        let sha256 = manifest.files.into_iter().map(|file| (file.path, file.sha256)).collect();
        Self { id: row.id.to_string(), kind, step, bytes, sha256 }
    }
}

/// A report to try the forms with.
#[cfg(test)]
fn example() -> Report {
    use serde_json::json;

    Report {
        object: "job.report",
        job: String::from("job_1"),
        name: Some(String::from("a <b> & \"c\" | d\u{1}")),
        kind: "train",
        status: "succeeded",
        model: Some(String::from("builtin:arith-tiny")),
        train: Some(String::from("builtin:arithmetic")),
        eval: None,
        objective: Some(String::from("bolt")),
        spec_digest: String::from("sha256:00"),
        seed: Some(7),
        forked_from: None,
        forks: vec![forks::example()],
        verifies: None,
        created_at: 1_750_000_000,
        started_at: Some(1_750_000_001),
        finished_at: Some(1_750_000_011),
        seconds: Some(10.0),
        device_seconds: 20.0,
        attempts: 1,
        step: 12,
        steps: 12,
        before: Some(json!({"step": 0, "pass_at": [{"k": 1, "mean": 0.25, "half_width": 0.1}]})),
        after: Some(json!({"step": 12, "pass_at": [{"k": 1, "mean": 0.5, "half_width": 0.125}]})),
        gate: Some(json!({"passed": false, "checks": [
            {"name": "pass_at_1", "required": 0.4, "measured": 0.5, "passed": true},
            {"name": "improvement", "required": 0.5, "measured": 0.25, "passed": false},
        ]})),
        required: Some(json!({"pass_at_1": 0.4, "improvement": 0.5})),
        verify_resume: None,
        weights_sha256: Some(String::from("ff")),
        metrics: vec![LastMetric { name: String::from("loss"), step: 12, value: 0.5 }],
        warnings: Vec::new(),
        checkpoints: vec![ReportedCheckpoint {
            id: String::from("ckpt_1"),
            kind: "inference",
            step: 12,
            bytes: 1000,
            sha256: BTreeMap::from([(String::from("model.safetensors"), String::from("ff"))]),
        }],
        rollout_set: None,
        failure: None,
        metadata: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_first_form_that_is_accepted_is_taken() {
        let accepted = |text: &'static str| {
            ReportFormat::accepted(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(text))]))
        };
        assert_eq!(accepted("*/*"), ReportFormat::Json);
        assert_eq!(accepted("text/html, text/markdown;q=0.9"), ReportFormat::Markdown);
        assert_eq!(accepted("application/xml, application/json"), ReportFormat::Junit);
    }
}
