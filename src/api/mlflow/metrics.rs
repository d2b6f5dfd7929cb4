//! The history of a metric.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{MlflowMetric, run_id};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Params;
use crate::store::MetricQuery;

/// Points of a history; of longer ones each stands for several values.
const MOST_POINTS: u64 = 10_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MlflowHistoryParams {
    /// The job.
    #[param(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    run_id: String,
    /// The metric's name.
    #[param(example = "reward/mean")]
    metric_key: String,
    /// The job, as older clients call it; not used.
    #[expect(dead_code, reason = "clients send it beside `run_id`")]
    run_uuid: Option<String>,
    /// Not used: the whole history comes at once.
    #[expect(dead_code, reason = "clients send it")]
    max_results: Option<u32>,
    /// Not used.
    #[expect(dead_code, reason = "clients send it")]
    page_token: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowHistory {
    metrics: Vec<MlflowMetric>,
}

/// Get the history of a metric, as MLflow does
///
/// At most 10,000 points; of a longer history each is the mean of as many values.
#[utoipa::path(
    get,
    path = "/api/2.0/mlflow/metrics/get-history",
    tag = "mlflow",
    params(MlflowHistoryParams),
    responses(
        (status = 200, body = MlflowHistory),
        (status = 400, description = "A parameter is missing", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_mlflow_history(
    Access(app): Access,
    Params(params): Params<MlflowHistoryParams>,
) -> Result<Json<MlflowHistory>, Problem> {
    let job = app.store.job(run_id(&params.run_id)?).await?;
    let timestamp = job.started_at.unwrap_or(job.created_at).0;
    let names = [params.metric_key];
    let query = MetricQuery { names: &names, steps: 0..=u64::MAX, points: MOST_POINTS };
    let series = app.store.metrics(job.id, &query).await?;
    let points = series.into_iter().flat_map(|series| {
        let key = series.name;
        let each = series.steps.into_iter().zip(series.values);
        each.map(move |(step, value)| MlflowMetric { key: key.clone(), value, timestamp, step }).collect::<Vec<_>>()
    });
    Ok(Json(MlflowHistory { metrics: points.collect() }))
}
