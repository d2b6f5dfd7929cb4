//! `GET /v1/jobs/{id}/metrics`

use std::collections::BTreeMap;
use std::io;

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::tensorboard;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::api::table::{self, Cell, Columns, Kind, Table};
use crate::job::JobId;
use crate::store::{MetricQuery, MetricSeries};

/// Most names in one request.
const MOST_KEYS: usize = 200;
/// Most points of a metric, of all jobs together.
const MOST_POINTS: u64 = 10_000;

/// Which part of which series.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SeriesParams {
    /// Metric names separated by commas, at most 200, each exactly as in `GET /v1/metrics-catalog`; all when absent.
    keys: Option<String>,
    /// First optimizer step.
    #[serde(default)]
    from_step: u64,
    /// Last optimizer step.
    to_step: Option<u64>,
    /// Most points per metric, 2 to 10000. In longer series each point stands for equally many values in a row; in a
    /// range of at least 8 steps a point, for equally many steps.
    #[serde(default = "default_points")]
    #[param(minimum = 2, maximum = 10000)]
    points: u64,
}

fn default_points() -> u64 {
    1000
}

impl SeriesParams {
    pub fn names(&self) -> Result<Vec<String>, Problem> {
        let names: Vec<String> =
            self.keys.iter().flat_map(|keys| keys.split(',')).map(|key| key.trim().to_owned()).collect();
        if names.len() > MOST_KEYS {
            return Err(Problem::bad_request("invalid_parameter", format!("`keys` takes at most {MOST_KEYS} names")));
        }
        Ok(names)
    }

    /// Refuses more points than several jobs may have together.
    pub fn check_points(&self, jobs: usize) -> Result<(), Problem> {
        if self.points * jobs as u64 > MOST_POINTS {
            let detail = format!("`points`: {jobs} jobs have at most {} each", MOST_POINTS / jobs as u64);
            return Err(Problem::bad_request("invalid_parameter", detail));
        }
        Ok(())
    }

    pub fn query<'a>(&self, names: &'a [String]) -> MetricQuery<'a> {
        let steps = self.from_step..=self.to_step.unwrap_or(u64::MAX);
        MetricQuery { names, steps, points: self.points }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FormatParams {
    /// `json`, `csv`, `parquet`, or `tensorboard`: the records of a file that TensorBoard reads.
    #[serde(default)]
    format: Format,
    /// With `tensorboard`: whether the record comes first that such a file begins with. Without it the answer can be added to a
    /// file.
    #[serde(default = "yes")]
    head: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Json,
    Csv,
    Parquet,
    Tensorboard,
}

/// Metric series of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Metrics {
    /// Always `metrics`.
    object: &'static str,
    job: String,
    series: Vec<Series>,
}

/// One metric over the steps. Where a point stands for several values, `values` are their means, `steps` their last
/// steps, and `min`, `max`, `last` and `count` are there too.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
struct Series {
    #[schema(example = "reward/mean")]
    name: String,
    steps: Vec<u64>,
    values: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Vec<f64>>,
    /// How many values each point stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<Vec<u64>>,
}

impl From<MetricSeries> for Series {
    fn from(series: MetricSeries) -> Self {
        let MetricSeries { name, steps, values, buckets } = series;
        let mut series = Self { name, steps, values, min: None, max: None, last: None, count: None };
        if let Some(buckets) = buckets {
            series.min = Some(buckets.min);
            series.max = Some(buckets.max);
            series.last = Some(buckets.last);
            series.count = Some(buckets.count);
        }
        series
    }
}

/// Get a job's metrics
///
/// As CSV there is one row per step and one column per metric, empty where a step lacks the metric. A metric whose
/// points stand for several values has the columns `NAME` (their mean), `NAME:min`, `NAME:max`, `NAME:last` and
/// `NAME:count`. In Parquet there is a row for each point of each metric: `step`, `name`, `value`, and `min`, `max`, `last` and
/// `count` where it stands for several values. For TensorBoard the means of points are written; the wall-clock time of all is the job's start.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/metrics",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), SeriesParams, FormatParams),
    responses(
        (status = 200, description = "Series by name", content((Metrics = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.parquet"), (Vec<u8> = "application/octet-stream"))),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_metrics(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(params): Params<SeriesParams>,
    Params(FormatParams { format, head }): Params<FormatParams>,
) -> Result<Response, Problem> {
    let names = params.names()?;
    let job = app.store.job(id).await?;
    let series = app.store.metrics(id, &params.query(&names)).await?;
    if format == Format::Tensorboard {
        let began = job.started_at.unwrap_or(job.created_at).unix_seconds();
        // A file that is begun before the job has is the same as one that is begun after it.
        let head = head.then(|| job.created_at.unix_seconds() as f64);
        let name = format!("attachment; filename=\"events.out.tfevents.{began}.anneal.{id}\"");
        let headers =
            [(header::CONTENT_TYPE, "application/octet-stream"), (header::CONTENT_DISPOSITION, name.as_str())];
        return Ok((headers, tensorboard::records(&series, began as f64, head)).into_response());
    }
    let series: Vec<Series> = series.into_iter().map(Series::from).collect();
    if format == Format::Parquet {
        return Ok(table::with_headers(&format!("{id}.parquet"), parquet(&series)?.into()));
    }
    Ok(match format {
        Format::Json => Json(Metrics { object: "metrics", job: id.to_string(), series }).into_response(),
        Format::Csv | Format::Parquet | Format::Tensorboard => {
            ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], csv(&series)).into_response()
        }
    })
}

fn csv(series: &[Series]) -> String {
    let mut columns: Vec<(String, &[u64], Vec<String>)> = Vec::new();
    let texts = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>();
    for series in series {
        let mut add = |suffix: &str, values| columns.push((format!("{}{suffix}", series.name), &series.steps, values));
        add("", texts(&series.values));
        for (suffix, values) in [(":min", &series.min), (":max", &series.max), (":last", &series.last)] {
            if let Some(values) = values {
                add(suffix, texts(values));
            }
        }
        if let Some(counts) = &series.count {
            add(":count", counts.iter().map(u64::to_string).collect());
        }
    }
    let mut rows: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (number, (_, steps, values)) in columns.iter().enumerate() {
        for (step, value) in steps.iter().zip(values) {
            rows.entry(*step).or_insert_with(|| vec![""; columns.len()])[number] = value;
        }
    }
    let names = columns.iter().map(|(name, ..)| name.as_str());
    let mut text = std::iter::once("step").chain(names).collect::<Vec<_>>().join(",");
    text.push('\n');
    for (step, values) in rows {
        text.push_str(&format!("{step},{}\n", values.join(",")));
    }
    text
}

const COLUMNS: Columns = &[
    ("step", Kind::Integer),
    ("name", Kind::Text),
    ("value", Kind::Number),
    ("min", Kind::Number),
    ("max", Kind::Number),
    ("last", Kind::Number),
    ("count", Kind::Integer),
];

fn parquet(series: &[Series]) -> io::Result<Vec<u8>> {
    let mut table = Table::new(COLUMNS, Vec::new())?;
    for series in series {
        let more = |values: &Option<Vec<f64>>, at: usize| {
            Cell::of(values.as_ref().and_then(|values| values.get(at)).copied(), Cell::Number)
        };
        for (at, (step, value)) in series.steps.iter().zip(&series.values).enumerate() {
            let count = series.count.as_ref().and_then(|counts| counts.get(at));
            table.push(vec![
                Cell::Integer(step.cast_signed()),
                Cell::Text(series.name.clone()),
                Cell::Number(*value),
                more(&series.min, at),
                more(&series.max, at),
                more(&series.last, at),
                Cell::of(count, |count| Cell::Integer(count.cast_signed())),
            ])?;
        }
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Buckets;

    fn series(name: &str, steps: &[u64], values: &[f64], buckets: Option<Buckets>) -> Series {
        MetricSeries { name: name.to_owned(), steps: steps.to_vec(), values: values.to_vec(), buckets }.into()
    }

    #[test]
    fn csv_leaves_gaps_empty() {
        let all = [series("a", &[1, 2], &[0.5, 1.5], None), series("b", &[2], &[7.0], None)];
        assert_eq!(csv(&all), "step,a,b\n1,0.5,\n2,1.5,7\n");
        assert_eq!(csv(&[]), "step\n");
    }

    #[test]
    fn a_metric_in_buckets_has_a_column_for_each_of_their_numbers() {
        let buckets = Buckets { min: vec![1.0, 3.0], max: vec![2.0, 5.0], last: vec![2.0, 3.0], count: vec![2, 3] };
        let all = [series("a", &[2, 5], &[1.5, 4.0], Some(buckets)), series("b", &[5], &[7.0], None)];
        let expected = "step,a,a:min,a:max,a:last,a:count,b\n2,1.5,1,2,2,2,\n5,4,3,5,3,3,7\n";
        assert_eq!(csv(&all), expected);
    }
}
