//! `POST /v1/jobs/{id}/rollouts/judge`

use std::io;
use std::ops::ControlFlow;

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::source::{Source, Wanted};
use super::{Cursor, Shown, source};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::resolve;
use crate::api::row_source::RowSource;
use crate::api::scan::scan;
use crate::api::verifiers::judge::{Asked, Sample, judge};
use crate::api::verifiers::test::TestVerdict;
use crate::dataset::Split;
use crate::job::spec::PromptSpec;
use crate::job::{FieldError, JobId};

/// Completions of one prompt that are judged at a time, and their bytes.
const MOST_JUDGED: usize = 1024;
const MOST_BYTES: usize = 16 << 20;

/// Which completions to judge, and with what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeRollouts {
    /// The `group` of completions in `GET /v1/jobs/{id}/rollouts`.
    #[schema(max_length = 80)]
    group: String,
    /// A verifier or the id of one, as in a job.
    #[schema(value_type = Object, example = json!({"type": "numeric", "tolerance": 0.5}))]
    verifier: Value,
}

/// What another verifier says of the completions of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub struct RolloutJudgement {
    /// Always `job.rollouts.judgement`.
    object: &'static str,
    /// How many rewards are not those that the job has given.
    changed: usize,
    data: Vec<JudgedRollout>,
}

#[derive(Debug, Serialize, ToSchema)]
struct JudgedRollout {
    /// The completion, as `GET /v1/jobs/{id}/rollouts` names it.
    id: String,
    /// What the job gave; null without a verifier.
    reward_before: Option<f64>,
    verdict: TestVerdict,
}

/// Judge kept completions with another verifier
///
/// To see what a changed verifier would have said of what a job sampled for one prompt, with the row of the data set that
/// the job read. Nothing is kept: `POST /v1/rollout-sets/{id}/regrade` makes a new set, and a fork of the job trains with
/// the other verifier.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/rollouts/judge",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    request_body = JudgeRollouts,
    responses(
        (status = 200, body = RolloutJudgement),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job does not keep its completions, or has just put them elsewhere", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn judge_rollouts(
    Access(app): Access,
    Id(id): Id<JobId>,
    JsonBody(body): JsonBody,
) -> Result<Json<RolloutJudgement>, Problem> {
    let request: JudgeRollouts = read(&body)?;
    let job = app.store.job(id).await?;
    let unknown =
        || Problem::invalid(vec![FieldError::new("/group", "not_found", "is no group of this job's completions")]);
    let group: Cursor = request.group.parse().map_err(|()| unknown())?;
    let scoring = resolve::verifier(&app, Some(&request.verifier), true).await?.map_err(Problem::invalid)?;
    let missing = || Problem::invalid(vec![FieldError::new("/verifier", "missing_field", "names no verifier")]);
    let config = scoring.config.ok_or_else(missing)?;
    let rows = RowSource::whole(&app.store, job.work().rows(), Split::Train).await?;
    let (source, prompt) = (source(&app, &job).await?, job.resolved.common.prompt.clone());
    if group.complete != source.complete {
        return Err(super::moved(&source));
    }
    let read = scan(&app, move || {
        sample(&source, group, (&rows, &prompt)).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => unknown(),
            io::ErrorKind::FileTooLarge => {
                let detail = format!("has more than {MOST_JUDGED} completions or {} MiB of them", MOST_BYTES >> 20);
                Problem::invalid(vec![FieldError::new("/group", "too_large", detail)])
            }
            _ => error.into(),
        })
    });
    let Some((places, sample)) = read.await? else { return Err(unknown()) };
    let judged = judge(&app, &config, vec![sample]).await?;
    let data = places.into_iter().zip(judged).map(|(Judgeable { at, reward }, judged)| JudgedRollout {
        id: at.to_string(),
        reward_before: reward,
        verdict: TestVerdict::from(judged),
    });
    let data: Vec<JudgedRollout> = data.collect();
    let changed = data.iter().filter(|one| one.reward_before != one.verdict.reward).count();
    Ok(Json(RolloutJudgement { object: "job.rollouts.judgement", changed, data }))
}

/// A completion that is to be judged again.
struct Judgeable {
    at: Cursor,
    reward: Option<f64>,
}

/// The completions of a group with what a verifier reads of them; none where there is no such group.
fn sample(
    source: &Source,
    group: Cursor,
    (rows, spec): (&RowSource, &PromptSpec),
) -> io::Result<Option<(Vec<Judgeable>, Sample)>> {
    let wanted = Wanted { group: Some(group), ..Wanted::default() };
    let (mut places, mut completions, mut bytes, mut asked) = (Vec::new(), Vec::new(), 0, None);
    source.walk(None, &wanted, |at, Shown { line, .. }| {
        bytes += line.completion.len();
        places.push(Judgeable { at, reward: line.reward });
        completions.push(spec.answer(&line.completion).to_owned());
        asked = Some((line.row, line.prompt));
        if bytes > MOST_BYTES || places.len() > MOST_JUDGED {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if bytes > MOST_BYTES || places.len() > MOST_JUDGED {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let Some((row, prompt)) = asked else { return Ok(None) };
    let row = rows.open()?.row(row).map_err(io::Error::other)?;
    let asked = Asked { prompt, answer: row.answer, row: Map::clone(&row.fields) };
    Ok(Some((places, Sample { asked, completions })))
}
