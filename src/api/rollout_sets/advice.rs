//! `POST /v1/rollout-sets/{id}/advice`

use std::io;
use std::path::Path;

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content;
use super::frontier::{read_groups, scored};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::imports::Pull;
use crate::api::resolve;
use crate::api::scan::scan;
use crate::api::teacher;
use crate::job::rollout_set::GROUPS_FILE;
use crate::job::{FieldError, JobKind, JobStatus, RolloutSetId, RolloutSummary};
use crate::objective::advice::{self, Advice, Recorded};
use crate::objective::frontier;
use crate::spec::Work;
use crate::store::{JobFilter, JobRow, Page, Store};

/// What is known beside the set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdviceRequest {
    /// A model of this server that is good at the task, as in a job's `model`; it must read text in the same tokens as the set's.
    #[serde(default)]
    #[schema(max_length = 400)]
    teacher: Option<String>,
}

/// What a set says for and against each objective.
#[derive(Debug, Serialize, ToSchema)]
pub struct AdviceAnswer {
    /// Always `advice`.
    object: &'static str,
    rollout_set: String,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    advice: Advice,
}

/// Advise on what to train with
///
/// Ranks the objectives by what is measured on the set: whether the completions of a prompt differ in reward, how many prompts
/// never or always succeed, how far on the policy was that sampled, how much the model wavers, and whether there is a teacher. Every reason
/// names its number and its weight; `spec` is what to set in a job, and `unknown` what would matter and is not known. Nothing
/// is sampled or trained. Send `{}` without a teacher.
#[utoipa::path(
    post,
    path = "/v1/rollout-sets/{id}/advice",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set")),
    request_body = AdviceRequest,
    responses(
        (status = 200, body = AdviceAnswer),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The set is not ready", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "There is no such teacher on this server, or it does not fit; or the set has no rewards", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn advice(
    Access(app): Access,
    Id(id): Id<RolloutSetId>,
    JsonBody(body): JsonBody,
) -> Result<Json<AdviceAnswer>, Problem> {
    let AdviceRequest { teacher } = read(&body)?;
    let set = app.store.rollout_set(id).await?;
    let (job, student) = (app.store.job(set.job).await?, set.model.clone());
    let content = scored(content(set)?)?;
    let teacher = match teacher {
        Some(name) => Some(resolved_teacher(&app, &name, &student).await?),
        None => None,
    };
    let pace = training_pace(&app.store, &student).await?;
    let recorded = Recorded { train_tokens_per_second: pace, ..recorded(&content.summary, &job) };
    let (place, file) = (app.store.place().clone(), content.artifact.file(GROUPS_FILE)?);
    let compute = move || {
        let groups = read_groups(place.read(&file)?)?;
        let frontier = frontier::frontier(&groups, &frontier::default_betas(), None);
        io::Result::Ok(advice::advise(&groups, &frontier, recorded, &id.to_string(), teacher.as_deref()))
    };
    let advice = scan(&app, compute).await?;
    Ok(Json(AdviceAnswer { object: "advice", rollout_set: id.to_string(), advice }))
}

/// The teacher `name` by its reference, if a job could learn from it that starts from the model `student`. Nothing is fetched.
async fn resolved_teacher(app: &App, name: &str, student: &str) -> Result<String, Problem> {
    let refused = |error: FieldError| Problem::invalid(vec![FieldError { pointer: String::from("/teacher"), ..error }]);
    if Path::new(name).is_absolute() {
        let detail = "advice takes no paths; import the model, and name it by its id";
        return Err(refused(FieldError::new("/teacher", "unknown_teacher", detail)));
    }
    let finder = app.finder(Pull::Never);
    let student = resolve::model(finder, student, 0, ("/teacher", "unknown_model")).await?.map_err(refused)?;
    let teacher = teacher::check(finder, (name, None), 0, &student).await?.map_err(refused)?;
    Ok(teacher.reference.to_string())
}

/// What the set's summary and its job say. A job that also trains, or scores again, does not tell what sampling takes.
fn recorded(summary: &RolloutSummary, job: &JobRow) -> Recorded {
    let rollouts = summary.rollouts.max(1) as f64;
    let samples = matches!(job.work(), Work::Sample(_)) && job.spent_milliseconds > 0;
    Recorded {
        tokens: summary.tokens as f64 / rollouts,
        cut_off: summary.cut_off(),
        entropy: summary.entropy(),
        max_step: summary.max_step,
        whole_distribution: summary.whole_distribution,
        seconds_per_completion: samples.then(|| job.spent_milliseconds as f64 / 1e3 / rollouts),
        train_tokens_per_second: None,
    }
}

/// Completion tokens a second that the newest job which has trained a model took.
async fn training_pace(store: &Store, model: &str) -> Result<Option<f64>, Problem> {
    const PACE: [&str; 2] = ["step/tokens", "time/step_seconds"];
    let filter = JobFilter {
        kind: Some(JobKind::Train),
        status: Some(JobStatus::Succeeded),
        model: Some(model.to_owned()),
        ..JobFilter::default()
    };
    let newest = store.jobs(&filter, &Page { after: None, limit: 1, newest_first: true }).await?;
    let Some(job) = newest.first() else { return Ok(None) };
    let found = store.last_metrics(job.id, &PACE).await?;
    let value = |wanted: &str| found.iter().find(|(name, ..)| name == wanted).map(|(.., value)| *value);
    let pace = value(PACE[0]).zip(value(PACE[1])).map(|(tokens, seconds)| tokens / seconds);
    Ok(pace.filter(|pace| *pace > 0.0 && pace.is_finite()))
}
