//! Experiments: a project, and each of its sweeps.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{ALL_JOBS, MlflowExperiment, sweep_of};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Params, read};
use crate::job::SweepId;
use crate::store::Page;

/// Experiments of an answer.
const MOST: u32 = 1000;

/// What MLflow's clients ask for; filters and orders are taken and not used.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct SearchMlflowExperiments {
    #[schema(minimum = 1, maximum = 1000)]
    max_results: Option<u32>,
    page_token: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowExperiments {
    experiments: Vec<MlflowExperiment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowExperimentFound {
    experiment: MlflowExperiment,
}

/// Search experiments, as MLflow does
#[utoipa::path(
    post,
    path = "/api/2.0/mlflow/experiments/search",
    tag = "mlflow",
    request_body = SearchMlflowExperiments,
    responses(
        (status = 200, body = MlflowExperiments),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn search_mlflow_experiments(
    Access(app): Access,
    JsonBody(body): JsonBody,
) -> Result<Json<MlflowExperiments>, Problem> {
    let SearchMlflowExperiments { max_results, page_token } = read(&body)?;
    let limit = max_results.unwrap_or(MOST).clamp(1, MOST);
    let page = Page { limit, after: page_token.filter(|token| !token.is_empty()), newest_first: true };
    let sweeps = app.store.sweeps(&page).await?;
    let next_page_token =
        sweeps.last().filter(|_| sweeps.len() == limit as usize).map(|sweep| sweep.state.id.to_string());
    let first = page.after.is_none().then(|| MlflowExperiment::of_project(app.store.own_project()));
    let experiments = first.into_iter().chain(sweeps.iter().map(MlflowExperiment::of_sweep)).collect();
    Ok(Json(MlflowExperiments { experiments, next_page_token }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MlflowExperimentParams {
    /// `0` for all jobs of the project, or a sweep's.
    #[param(example = "0")]
    experiment_id: String,
}

/// Get an experiment, as MLflow does
#[utoipa::path(
    get,
    path = "/api/2.0/mlflow/experiments/get",
    tag = "mlflow",
    params(MlflowExperimentParams),
    responses(
        (status = 200, body = MlflowExperimentFound),
        (status = 400, description = "A parameter is missing", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such experiment", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_mlflow_experiment(
    Access(app): Access,
    Params(params): Params<MlflowExperimentParams>,
) -> Result<Json<MlflowExperimentFound>, Problem> {
    found(&app, &params.experiment_id).await
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MlflowExperimentNameParams {
    #[param(example = "default")]
    experiment_name: String,
}

/// Get an experiment by its name, as MLflow does
#[utoipa::path(
    get,
    path = "/api/2.0/mlflow/experiments/get-by-name",
    tag = "mlflow",
    params(MlflowExperimentNameParams),
    responses(
        (status = 200, body = MlflowExperimentFound),
        (status = 400, description = "A parameter is missing", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such experiment", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_mlflow_experiment_by_name(
    Access(app): Access,
    Params(params): Params<MlflowExperimentNameParams>,
) -> Result<Json<MlflowExperimentFound>, Problem> {
    let name = &params.experiment_name;
    if name == app.store.own_project() {
        return found(&app, ALL_JOBS).await;
    }
    // The name of a sweep ends with its id.
    let id = name.trim_end_matches(')').rsplit('(').next().unwrap_or_default();
    let missing = || Problem::not_found(String::from("no experiment has this name"));
    let id: SweepId = id.parse().map_err(|_| missing())?;
    let answer = found(&app, &id.to_string()).await?;
    if answer.experiment.name == *name { Ok(answer) } else { Err(missing()) }
}

async fn found(app: &App, id: &str) -> Result<Json<MlflowExperimentFound>, Problem> {
    let experiment = match sweep_of(id)? {
        None => MlflowExperiment::of_project(app.store.own_project()),
        Some(sweep) => MlflowExperiment::of_sweep(&app.store.sweep(sweep).await?),
    };
    Ok(Json(MlflowExperimentFound { experiment }))
}
