//! `GET /v1/metrics`

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::metrics::SeriesParams;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Params;
use crate::job::{JobId, JobStatus};
use crate::store::MetricSeries;

/// Most jobs in one request.
const MOST_JOBS: usize = 8;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TableParams {
    /// Ids of jobs separated by commas, at most 8.
    #[param(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    jobs: String,
    /// Significant decimal digits of the values, 3 to 17; all when absent. A plot needs no more than 5.
    #[param(minimum = 3, maximum = 17)]
    digits: Option<usize>,
}

/// Metrics of several jobs.
#[derive(Debug, Serialize, ToSchema)]
pub struct MetricTables {
    /// Always `metric_tables`.
    object: &'static str,
    /// In the order in which they were asked for.
    jobs: Vec<JobTables>,
}

/// Metrics of one job.
#[derive(Debug, Serialize, ToSchema)]
struct JobTables {
    job: String,
    name: Option<String>,
    #[schema(value_type = String)]
    status: JobStatus,
    /// All events up to this number are in the tables. A stream of events behind it tells the rest without a gap; what it
    /// repeats of a running job are steps that stand here already.
    last_seq: i64,
    /// Metrics with the same steps stand in one table.
    tables: Vec<Table>,
}

/// Metrics with the same steps.
#[derive(Debug, Serialize, ToSchema)]
struct Table {
    /// Of several steps in one point the last one.
    steps: Vec<u64>,
    columns: Vec<Column>,
}

/// A metric.
#[derive(Debug, Serialize, ToSchema)]
struct Column {
    #[schema(example = "reward/mean")]
    name: String,
    /// Means, where points stand for several values.
    values: Vec<f64>,
    /// The least values, where points stand for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Vec<f64>>,
    /// The greatest values, where points stand for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Vec<f64>>,
}

/// Get the metrics of several jobs
///
/// What a page draws: the series of up to eight jobs, with steps that they share said once.
#[utoipa::path(
    get,
    path = "/v1/metrics",
    tag = "jobs",
    params(TableParams, SeriesParams),
    responses(
        (status = 200, body = MetricTables),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_metrics(
    Access(app): Access,
    Params(asked): Params<TableParams>,
    Params(series): Params<SeriesParams>,
) -> Result<Json<MetricTables>, Problem> {
    let ids = ids(&asked.jobs)?;
    let names = series.names()?;
    series.check_points(ids.len())?;
    let query = series.query(&names);
    let mut jobs = Vec::with_capacity(ids.len());
    for id in ids {
        // The job first: what it adds meanwhile is told twice rather than never.
        let job = app.store.job(id).await?;
        let tables = tables(app.store.metrics(id, &query).await?, asked.digits);
        let (name, status, last_seq) = (job.attributes.name, job.status, job.last_seq);
        jobs.push(JobTables { job: id.to_string(), name, status, last_seq, tables });
    }
    Ok(Json(MetricTables { object: "metric_tables", jobs }))
}

fn ids(text: &str) -> Result<Vec<JobId>, Problem> {
    let refused = |detail: String| Problem::bad_request("invalid_parameter", format!("`jobs`: {detail}"));
    let ids = text.split(',').map(|id| id.trim().parse().map_err(|error| refused(format!("{error}"))));
    let ids: Vec<JobId> = ids.collect::<Result<_, _>>()?;
    if ids.len() > MOST_JOBS {
        return Err(refused(format!("at most {MOST_JOBS} jobs are shown at once")));
    }
    Ok(ids)
}

fn tables(all: Vec<MetricSeries>, digits: Option<usize>) -> Vec<Table> {
    let rounded = |values: Vec<f64>| match digits {
        Some(digits) => values.into_iter().map(|value| round(value, digits)).collect(),
        None => values,
    };
    let mut tables: Vec<Table> = Vec::new();
    for MetricSeries { name, steps, values, buckets } in all {
        let (min, max) = buckets.map(|buckets| (rounded(buckets.min), rounded(buckets.max))).unzip();
        let column = Column { name, values: rounded(values), min, max };
        match tables.iter_mut().find(|table| table.steps == steps) {
            Some(table) => table.columns.push(column),
            None => tables.push(Table { steps, columns: vec![column] }),
        }
    }
    tables
}

/// A number with so many significant decimal digits.
fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_first_digits() {
        assert_eq!([round(0.123456, 3), round(-123456.0, 3), round(0.0, 3)], [0.123, -123000.0, 0.0]);
        assert_eq!(round(1.0 / 3.0, 17), 1.0 / 3.0);
    }

    #[test]
    fn steps_that_metrics_share_stand_once() {
        let series = |name: &str, steps: &[u64]| MetricSeries {
            name: name.to_owned(),
            steps: steps.to_vec(),
            values: vec![0.5; steps.len()],
            buckets: None,
        };
        let tables = tables(vec![series("a", &[1, 2]), series("b", &[2]), series("c", &[1, 2])], None);
        let names = |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        assert_eq!(tables.iter().map(names).collect::<Vec<_>>(), [vec!["a", "c"], vec!["b"]]);
        assert!(tables.iter().all(|table| table.columns.iter().all(|c| c.values.len() == table.steps.len())));
    }
}
