//! What MLflow's clients read of jobs (<https://mlflow.org/docs/latest/api_reference/rest-api.html>): a project is an experiment, and so is each of
//! its sweeps; a job that trains is a run. Nothing can be written this way.

pub mod artifacts;
pub mod experiments;
pub mod metrics;
pub mod runs;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::App;
use super::error::Problem;
use crate::job::metric::METRICS;
use crate::job::{JobId, JobStatus, SweepId, Timestamp};
use crate::store::{JobRow, SweepRow};

/// The experiment with all jobs of a project.
const ALL_JOBS: &str = "0";
/// Where clients look for the files of runs.
const ARTIFACTS: &str = "/api/2.0/mlflow-artifacts/artifacts";
/// Characters of a parameter's value, as in MLflow.
const MOST_VALUE: usize = 6000;

/// A project, or one of its sweeps.
#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowExperiment {
    /// `0`, or the sweep's.
    #[schema(example = "0")]
    experiment_id: String,
    name: String,
    artifact_location: String,
    /// Always `active`.
    lifecycle_stage: &'static str,
    /// Unix milliseconds.
    creation_time: Option<i64>,
    /// Unix milliseconds.
    last_update_time: Option<i64>,
}

impl MlflowExperiment {
    fn of_project(project: &str) -> Self {
        Self {
            experiment_id: ALL_JOBS.to_owned(),
            name: project.to_owned(),
            artifact_location: String::new(),
            lifecycle_stage: "active",
            creation_time: None,
            last_update_time: None,
        }
    }

    fn of_sweep(sweep: &SweepRow) -> Self {
        let id = sweep.state.id.to_string();
        // Names are those of one experiment each.
        let name = sweep.name.as_ref().map_or_else(|| id.clone(), |name| format!("{name} ({id})"));
        Self {
            experiment_id: id,
            name,
            creation_time: Some(sweep.created_at.0),
            last_update_time: sweep.finished_at.or(Some(sweep.created_at)).map(|at| at.0),
            ..Self::of_project("")
        }
    }
}

/// A job that trains.
#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowRun {
    info: MlflowRunInfo,
    data: MlflowRunData,
}

#[derive(Debug, Serialize, ToSchema)]
struct MlflowRunInfo {
    /// The job's id.
    run_id: String,
    /// The same.
    run_uuid: String,
    run_name: String,
    experiment_id: String,
    /// `SCHEDULED`, `RUNNING`, `FINISHED`, `FAILED` or `KILLED`.
    status: &'static str,
    /// Unix milliseconds.
    start_time: i64,
    /// Unix milliseconds.
    end_time: Option<i64>,
    artifact_uri: String,
    /// Always `active`.
    lifecycle_stage: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
struct MlflowRunData {
    /// The newest value of each metric.
    metrics: Vec<MlflowMetric>,
    /// The resolved spec, a parameter for each of its values, named by the way to it.
    params: Vec<MlflowPair>,
    /// The job's metadata.
    tags: Vec<MlflowPair>,
}

/// A value of a metric.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct MlflowMetric {
    key: String,
    value: f64,
    /// Unix milliseconds: when the job began, as it is not kept when a step was taken.
    timestamp: i64,
    step: u64,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
struct MlflowPair {
    key: String,
    value: String,
}

impl MlflowRun {
    /// A job as a run of an experiment, as it is seen at the address `base`.
    async fn of(app: &App, job: JobRow, experiment: &str, base: &str) -> Result<Self, Problem> {
        let began = job.started_at.unwrap_or(job.created_at);
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let newest = app.store.last_metrics(job.id, &names).await?;
        let metric = |(key, step, value)| MlflowMetric { key, value, timestamp: began.0, step };
        let mut params = Vec::new();
        flatten("", &job.essence, &mut params);
        let mut tags: Vec<MlflowPair> = job.attributes.metadata.iter().map(|(key, value)| pair(key, value)).collect();
        let id = job.id.to_string();
        let name = job.attributes.name.clone().unwrap_or_else(|| id.clone());
        tags.push(pair("mlflow.runName", &name));
        let info = MlflowRunInfo {
            run_uuid: id.clone(),
            run_name: name,
            experiment_id: experiment.to_owned(),
            status: status(job.status),
            start_time: began.0,
            end_time: job.finished_at.map(|at: Timestamp| at.0),
            artifact_uri: format!("{base}{ARTIFACTS}/{id}"),
            lifecycle_stage: "active",
            run_id: id,
        };
        Ok(Self { info, data: MlflowRunData { metrics: newest.into_iter().map(metric).collect(), params, tags } })
    }
}

fn status(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Queued | JobStatus::Starting | JobStatus::Paused => "SCHEDULED",
        JobStatus::Running | JobStatus::Pausing | JobStatus::Cancelling => "RUNNING",
        JobStatus::Succeeded => "FINISHED",
        JobStatus::Failed => "FAILED",
        JobStatus::Cancelled => "KILLED",
    }
}

fn pair(key: &str, value: &str) -> MlflowPair {
    MlflowPair { key: key.to_owned(), value: value.chars().take(MOST_VALUE).collect() }
}

/// The values of a document, each named by the way to it: `optimizer.learning_rate`.
fn flatten(way: &str, value: &Value, pairs: &mut Vec<MlflowPair>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let way = if way.is_empty() { name.clone() } else { format!("{way}.{name}") };
                flatten(&way, value, pairs);
            }
        }
        Value::Null => {}
        Value::String(text) => pairs.push(pair(way, text)),
        other => pairs.push(pair(way, &other.to_string())),
    }
}

/// The sweep that an experiment's id is of; none of that with all jobs.
fn sweep_of(experiment: &str) -> Result<Option<SweepId>, Problem> {
    if experiment == ALL_JOBS {
        return Ok(None);
    }
    let missing = || Problem::not_found(format!("no experiment `{}`", experiment.chars().take(80).collect::<String>()));
    experiment.parse().map(Some).map_err(|_| missing())
}

/// The job that a run is.
fn run_id(text: &str) -> Result<JobId, Problem> {
    text.parse().map_err(|_| Problem::not_found(format!("no run `{}`", text.chars().take(80).collect::<String>())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_of_a_spec_is_a_parameter() {
        let mut pairs = Vec::new();
        let spec = json!({"model": "a", "train": {"steps": 3, "lag": null}, "eval": {"pass_at": [1, 8]}, "on": true});
        flatten("", &spec, &mut pairs);
        let expected = [("model", "a"), ("train.steps", "3"), ("eval.pass_at", "[1,8]"), ("on", "true")];
        assert_eq!(pairs, expected.map(|(key, value)| pair(key, value)));
        assert_eq!(pair("a", &"é".repeat(9000)).value.chars().count(), MOST_VALUE);
    }

    #[test]
    fn experiments_are_told_apart_by_their_ids() {
        assert!(sweep_of("0").unwrap().is_none());
        assert!(sweep_of("swp_0198f6c2a7d47e0c8f6f0d9f0e6b5a31").unwrap().is_some());
        assert_eq!(sweep_of("7").unwrap_err().status.as_u16(), 404);
    }
}
