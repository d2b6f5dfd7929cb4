//! Runs: jobs that train.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::artifacts::Base;
use super::{ALL_JOBS, MlflowRun, run_id, sweep_of};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Params, read};
use crate::job::{FieldError, JobId, JobKind};
use crate::store::{JobFilter, Page};

/// Runs of an answer, each with all its parameters.
const MOST: usize = 200;
/// Experiments of a request.
const MOST_EXPERIMENTS: usize = 100;

/// What MLflow's clients ask for. The newest are first.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SearchMlflowRuns {
    /// `0` for all jobs of the project, or sweeps.
    #[schema(example = json!(["0"]), max_items = 100)]
    experiment_ids: Vec<String>,
    /// None is understood.
    filter: Option<String>,
    #[schema(minimum = 1)]
    max_results: Option<u32>,
    page_token: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowRuns {
    runs: Vec<MlflowRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowRunFound {
    run: MlflowRun,
}

/// Search runs, as MLflow does
///
/// Jobs of the project or of its sweeps, at most 200 at a time.
#[utoipa::path(
    post,
    path = "/api/2.0/mlflow/runs/search",
    tag = "mlflow",
    request_body = SearchMlflowRuns,
    responses(
        (status = 200, body = MlflowRuns),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such experiment", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or there is a filter", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn search_mlflow_runs(
    Access(app): Access,
    Base(base): Base,
    JsonBody(body): JsonBody,
) -> Result<Json<MlflowRuns>, Problem> {
    let SearchMlflowRuns { experiment_ids, filter, max_results, page_token } = read(&body)?;
    if filter.is_some_and(|filter| !filter.trim().is_empty()) {
        let detail = "is not understood; leave it empty, and choose in the client";
        return Err(Problem::invalid(vec![FieldError::new("/filter", "unknown_value", detail)]));
    }
    if experiment_ids.len() > MOST_EXPERIMENTS {
        let detail = format!("has at most {MOST_EXPERIMENTS} experiments");
        return Err(Problem::invalid(vec![FieldError::new("/experiment_ids", "out_of_range", detail)]));
    }
    let limit = max_results.map_or(MOST, |most| (most as usize).clamp(1, MOST));
    let after = page_token.filter(|token| !token.is_empty());
    // Of which experiment a run is: one of all jobs has those of sweeps too.
    let mut wanted: Vec<(JobId, String)> = Vec::new();
    if experiment_ids.iter().any(|id| id == ALL_JOBS) {
        let filter = JobFilter { kind: Some(JobKind::Train), ..JobFilter::default() };
        let page = Page { limit: limit as u32 + 1, after, newest_first: true };
        let jobs = app.store.jobs(&filter, &page).await?;
        wanted.extend(jobs.iter().map(|job| (job.id, ALL_JOBS.to_owned())));
    } else {
        for id in &experiment_ids {
            let Some(sweep) = sweep_of(id)? else { continue };
            app.store.sweep(sweep).await?;
            let trials = app.store.trials(sweep).await?;
            wanted.extend(trials.iter().filter(|trial| trial.status.is_some()).map(|trial| (trial.job, id.clone())));
        }
        wanted.sort_by_key(|(job, _)| std::cmp::Reverse(job.to_string()));
        wanted.dedup_by_key(|(job, _)| *job);
        wanted.retain(|(job, _)| after.as_ref().is_none_or(|after| job.to_string() < *after));
    }
    let next_page_token = (wanted.len() > limit).then(|| wanted[limit - 1].0.to_string());
    wanted.truncate(limit);
    let mut runs = Vec::with_capacity(wanted.len());
    for (job, experiment) in wanted {
        runs.push(MlflowRun::of(&app, app.store.job(job).await?, &experiment, &base).await?);
    }
    Ok(Json(MlflowRuns { runs, next_page_token }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MlflowRunParams {
    /// The job.
    #[param(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    run_id: String,
    /// The same, as older clients call it; not used.
    #[expect(dead_code, reason = "clients send it beside `run_id`")]
    run_uuid: Option<String>,
}

/// Get a run, as MLflow does
#[utoipa::path(
    get,
    path = "/api/2.0/mlflow/runs/get",
    tag = "mlflow",
    params(MlflowRunParams),
    responses(
        (status = 200, body = MlflowRunFound),
        (status = 400, description = "A parameter is missing", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_mlflow_run(
    Access(app): Access,
    Base(base): Base,
    Params(params): Params<MlflowRunParams>,
) -> Result<Json<MlflowRunFound>, Problem> {
    let job = app.store.job(run_id(&params.run_id)?).await?;
    Ok(Json(MlflowRunFound { run: MlflowRun::of(&app, job, ALL_JOBS, &base).await? }))
}
