//! `GET /v1/metrics-catalog`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::List;
use crate::job::metric::{METRICS, Metric};

/// What a metric is.
#[derive(Debug, Serialize, ToSchema)]
pub struct MetricDescription {
    /// The metric's name.
    #[schema(example = "reward/mean")]
    id: String,
    /// Always `metric`.
    object: &'static str,
    unit: &'static str,
    /// For which jobs and steps it is reported.
    when: &'static str,
    meaning: &'static str,
}

impl From<&Metric> for MetricDescription {
    fn from(metric: &Metric) -> Self {
        Self {
            id: metric.name.to_owned(),
            object: "metric",
            unit: metric.unit,
            when: metric.when.text(),
            meaning: metric.meaning,
        }
    }
}

/// List metrics
///
/// Every metric that a job may report, with its unit and one sentence.
#[utoipa::path(get, path = "/v1/metrics-catalog", tag = "jobs", responses((status = 200, body = List<MetricDescription>)))]
pub async fn list_metrics() -> Json<List<MetricDescription>> {
    Json(List::new(METRICS.iter().map(MetricDescription::from), u32::MAX, |m| m.id.clone()))
}
