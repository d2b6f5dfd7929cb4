//! `GET /v1/jobs/{id}/metrics`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::job::JobId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct MetricParams {
    /// Metric names separated by commas; all when absent.
    keys: Option<String>,
    /// First optimizer step.
    #[serde(default)]
    from_step: u64,
    /// Last optimizer step.
    to_step: Option<u64>,
    /// Most points per metric, 2 to 10000; longer series are averaged over equal ranges of steps.
    #[serde(default = "default_points")]
    #[param(minimum = 2, maximum = 10000)]
    points: usize,
    /// `json` or `csv`.
    #[serde(default)]
    format: Format,
}

fn default_points() -> usize {
    1000
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Json,
    Csv,
}

/// Metric series of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Metrics {
    /// Always `metrics`.
    object: &'static str,
    job: String,
    series: Vec<Series>,
}

/// One metric over the steps.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
struct Series {
    #[schema(example = "reward/mean")]
    name: String,
    steps: Vec<u64>,
    values: Vec<f64>,
}

/// Get a job's metrics
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/metrics",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), MetricParams),
    responses(
        (status = 200, description = "Series by name", content((Metrics = "application/json"), (String = "text/csv"))),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_metrics(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(params): Params<MetricParams>,
) -> Result<Response, Problem> {
    if !(2..=10_000).contains(&params.points) {
        return Err(Problem::bad_request("invalid_parameter", "`points` must lie between 2 and 10000"));
    }
    app.store.job(id).await?;
    let names: Vec<String> =
        params.keys.iter().flat_map(|keys| keys.split(',')).map(|key| key.trim().to_owned()).collect();
    let rows = app.store.metrics(id, &names, params.from_step, params.to_step.unwrap_or(u64::MAX)).await?;
    let series: Vec<Series> = group(rows).into_iter().map(|series| down_sample(series, params.points)).collect();
    Ok(match params.format {
        Format::Json => Json(Metrics { object: "metrics", job: id.to_string(), series }).into_response(),
        Format::Csv => ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], csv(&series)).into_response(),
    })
}

fn group(rows: Vec<(String, u64, f64)>) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (name, step, value) in rows {
        match series.last_mut().filter(|s| s.name == name) {
            Some(last) => {
                last.steps.push(step);
                last.values.push(value);
            }
            None => series.push(Series { name, steps: vec![step], values: vec![value] }),
        }
    }
    series
}

/// At most `points` points: each is the mean of a range of consecutive points, at the range's last step.
fn down_sample(series: Series, points: usize) -> Series {
    let count = series.values.len();
    if count <= points {
        return series;
    }
    let ranges = (0..points).map(|i| i * count / points..(i + 1) * count / points);
    let (steps, values) = ranges
        .map(|range| {
            let mean = series.values[range.clone()].iter().sum::<f64>() / range.len() as f64;
            (series.steps[range.end - 1], mean)
        })
        .unzip();
    Series { name: series.name, steps, values }
}

/// One row per step, one column per metric; a metric that a step lacks is empty.
fn csv(series: &[Series]) -> String {
    let mut rows: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
    for (column, series_of_column) in series.iter().enumerate() {
        for (step, value) in series_of_column.steps.iter().zip(&series_of_column.values) {
            rows.entry(*step).or_insert_with(|| vec![None; series.len()])[column] = Some(*value);
        }
    }
    let mut text = String::from("step");
    for series in series {
        text.push_str(&format!(",{}", series.name));
    }
    text.push('\n');
    for (step, values) in rows {
        text.push_str(&step.to_string());
        for value in values {
            text.push(',');
            text.push_str(&value.map(|v| v.to_string()).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn down_sampling_keeps_the_last_step_and_the_mean() {
        let series = Series {
            name: String::from("loss"),
            steps: (1..=100).collect(),
            values: (1..=100).map(f64::from).collect(),
        };
        let short = down_sample(series, 7);
        assert_eq!((short.steps.len(), short.steps.last()), (7, Some(&100)));
        assert!(short.values.is_sorted());
    }

    #[test]
    fn csv_leaves_gaps_empty() {
        let rows = vec![(String::from("a"), 1, 0.5), (String::from("a"), 2, 1.5), (String::from("b"), 2, 7.0)];
        assert_eq!(csv(&group(rows)), "step,a,b\n1,0.5,\n2,1.5,7\n");
    }
}
