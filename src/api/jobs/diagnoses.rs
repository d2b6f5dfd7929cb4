//! `GET /v1/jobs/{id}/diagnoses`

use axum::Json;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List};
use crate::job::JobId;
use crate::job::diagnosis::{self, Curve, Evidence, Observed};
use crate::spec::Work;
use crate::store::{JobRow, MetricQuery, MetricSeries};

/// Points of a series that rules look at.
const POINTS: u64 = 512;

/// Something that is wrong with a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Diagnosis {
    /// The code, of which a job has one at most.
    #[schema(example = "truncated")]
    id: String,
    /// Always `job.diagnosis`.
    object: &'static str,
    /// `learning_rate_too_high`, `kl_spike`, `gradient_spike`, `low_ess`, `no_spread`, `truncated`, `entropy_collapse` or
    /// `length_without_reward`.
    #[schema(example = "truncated")]
    code: &'static str,
    /// What was seen and what it means.
    message: String,
    /// The numbers that it rests on.
    evidence: Vec<DiagnosisEvidence>,
    suggestion: DiagnosisSuggestion,
}

/// A number that a diagnosis rests on.
#[derive(Debug, Serialize, ToSchema)]
struct DiagnosisEvidence {
    #[schema(example = "completion/truncated")]
    metric: &'static str,
    /// The step at which it was seen: the last one of a stretch.
    step: u64,
    value: f64,
    /// What the value was held against.
    limit: f64,
}

/// What would help.
#[derive(Debug, Serialize, ToSchema)]
struct DiagnosisSuggestion {
    message: String,
    /// A JSON Patch (RFC 6902), as `POST /v1/jobs/{id}/fork` takes it; empty where no setting alone would help.
    #[schema(value_type = Vec<Object>)]
    patch: Vec<Value>,
}

impl From<diagnosis::Diagnosis> for Diagnosis {
    fn from(found: diagnosis::Diagnosis) -> Self {
        let evidence = found.evidence.into_iter().map(|Evidence { metric, step, value, limit }| DiagnosisEvidence {
            metric,
            step,
            value,
            limit,
        });
        let diagnosis::Suggestion { message, patch } = found.suggestion;
        Self {
            id: found.code.to_string(),
            object: "job.diagnosis",
            code: found.code.as_str(),
            message: found.message,
            evidence: evidence.collect(),
            suggestion: DiagnosisSuggestion { message, patch },
        }
    }
}

/// Diagnose a job
///
/// What the metrics of a training job show to be wrong with it, each with its evidence and with what would help. A job
/// that trains nothing has no diagnoses.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/diagnoses",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = List<Diagnosis>),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn diagnose_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<List<Diagnosis>>, Problem> {
    let row = app.store.job(id).await?;
    let names = diagnosis::METRICS.map(String::from);
    let query = MetricQuery { names: &names, steps: 0..=u64::MAX, points: POINTS };
    let found = match observed(&row, app.store.metrics(id, &query).await?) {
        Some(observed) => diagnosis::diagnose(&observed),
        None => Vec::new(),
    };
    Ok(Json(List::with_more(found.into_iter().map(Diagnosis::from).collect(), false, |found| found.id.clone())))
}

fn observed(row: &JobRow, all: Vec<MetricSeries>) -> Option<Observed<'_>> {
    let Work::Train(training) = row.work() else { return None };
    let curve = |MetricSeries { name, steps, values, buckets }: MetricSeries| {
        let max = buckets.map_or_else(|| values.clone(), |buckets| buckets.max);
        (name, Curve { steps, values, max })
    };
    Some(Observed {
        curves: all.into_iter().map(curve).collect(),
        learning_rate: training.optimizer.learning_rate,
        max_new_tokens: row.resolved.common.sampling.max_new_tokens,
        group_size: training.objective.build(&training.train).plan().group_size,
        updates_per_rollout: training.train.updates_per_rollout,
        submitted: &row.spec,
    })
}
