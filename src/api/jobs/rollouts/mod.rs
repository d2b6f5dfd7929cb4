//! `GET /v1/jobs/{id}/rollouts`

mod cursor;
mod groups;
pub mod judge;
mod order;
mod source;
#[cfg(test)]
mod tests;

use std::io;

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::cursor::Cursor;
use self::groups::Shown;
use self::order::{Order, Part};
use self::source::{Source, Wanted};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params, word};
use crate::api::rollout_sets::filter::RolloutFilter;
use crate::api::rollout_sets::rollouts::{RolloutAnswer, RolloutPart};
use crate::api::scan::scan;
use crate::job::rollout_set::ROLLOUTS_FILE;
use crate::job::{JobId, JobKind};
use crate::spec::Work;
use crate::store::JobRow;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct JobRolloutParams {
    /// Only completions behind this one: the `last_id` of the page before.
    after: Option<String>,
    /// Completions to return, 1 to 1000.
    #[param(minimum = 1, maximum = 1000)]
    #[serde(default = "default_limit")]
    limit: u32,
    /// `newest` (the default), `highest_reward`, `lowest_reward`, `longest`, `shortest` or `widest_spread`: first the
    /// completions of prompts whose rewards differ most. All but the first order the newest 100,000 that fit.
    sort: Option<String>,
    /// Only completions sampled after this many optimizer steps.
    step: Option<u64>,
    /// Only completions sampled after at most this many optimizer steps: what step 40 may have trained on is `39`.
    max_step: Option<u64>,
    /// Only completions for this row of the data set, counted from 0.
    prompt: Option<u64>,
    /// Only completions with at least this reward.
    min_reward: Option<f64>,
    /// Only completions with at most this reward.
    max_reward: Option<f64>,
    /// Only completions that have this text in them or in their prompts.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only completions of which this was said: `ok` or `unparsable`.
    status: Option<String>,
    /// Only completions that ended in this way: `stop` or `length`.
    finish: Option<String>,
    /// Only completions of this group, as `group` of a completion names it.
    group: Option<String>,
    /// Only completions of prompts whose completions got different rewards.
    #[serde(default)]
    mixed_groups: bool,
    /// Leaves out what is told token by token.
    #[serde(default)]
    light: bool,
}

fn default_limit() -> u32 {
    20
}

/// One sampled and scored completion of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobRollout {
    /// Always `job.rollout`.
    object: &'static str,
    /// Its place in the listing.
    id: String,
    /// The same for all completions that were sampled together for a prompt.
    group: String,
    /// Optimizer steps that the sampling policy had taken.
    step: u64,
    /// Number of the row in its data set, counted from 0.
    row: usize,
    /// Number of the completion among those for its prompt.
    sample: u32,
    prompt: String,
    completion: String,
    /// What the verifier compared; null where it took nothing out of the completion.
    answer: Option<String>,
    /// The highest reward of the completions for its prompt less the lowest.
    spread: f64,
    /// Number of tokens, those of an environment among them.
    length: usize,
    /// Empty with `light`, as `logprobs` is.
    tokens: Vec<u32>,
    /// Log-probability of each token under the distribution it was drawn from.
    logprobs: Vec<f32>,
    /// Entropy of the model's distribution at temperature 1, in nats, summed over the tokens.
    entropy_sum: f64,
    /// `stop` or `length`.
    finish: String,
    /// `ok` or `unparsable`; null without a verifier.
    status: Option<String>,
    /// Null without a verifier.
    reward: Option<f64>,
    /// The reason of the verdict in a sentence, where the verifier gave one.
    detail: Option<String>,
    /// The verdicts that it is made of, such as those of the members of a `multi` verifier.
    parts: Vec<RolloutPart>,
    /// What an environment answered between its turns; empty without `sampling.environment`.
    answers: Vec<RolloutAnswer>,
    /// How long the verdict took; null without a verifier, and in a finished rollout set, whose `verify_seconds.json` has it.
    verify_seconds: Option<f64>,
    /// The text of each token; null where all completions are kept, which the model's tokenizer tells of.
    pieces: Option<Vec<String>>,
    /// Entropy at each token, in nats; null where all completions are kept.
    entropies: Option<Vec<f32>>,
    /// Log-probability of each token under the model that the job started from; null where it was not computed.
    reference_logprobs: Option<Vec<f32>>,
    /// The last step, counted from 1, that trained on it; null before there was one, or where all completions are kept.
    trained_step: Option<u64>,
    /// What that step credited each token with.
    credit: Option<Vec<f32>>,
    /// Log-probability of each token under the policy before that step.
    policy_logprobs: Option<Vec<f32>>,
}

impl JobRollout {
    fn new(Shown { line, length, spread, sampled }: Shown, at: Cursor) -> Self {
        let sampled = sampled.unwrap_or_default();
        let (trained_step, learned) = sampled.learned.map_or((None, None), |all| (Some(all.step), Some(all)));
        let (credit, policy) = learned.map(|all| (all.credit, all.policy_logprobs)).unzip();
        let told = |values: Option<Vec<f32>>| values.filter(|values| !values.is_empty() && values.len() == length);
        Self {
            object: "job.rollout",
            id: at.to_string(),
            group: Cursor { item: 0, ..at }.to_string(),
            step: line.step,
            row: line.row,
            sample: line.sample,
            prompt: line.prompt,
            answers: RolloutAnswer::of(&line.completion, line.answers),
            completion: line.completion,
            answer: line.answer,
            spread,
            length,
            tokens: line.tokens,
            logprobs: line.logprobs,
            entropy_sum: line.entropy_sum,
            finish: line.finish.to_string(),
            status: line.status.map(|status| status.to_string()),
            reward: line.reward,
            detail: line.detail,
            parts: line.parts.into_iter().map(RolloutPart::from).collect(),
            verify_seconds: sampled.verify_seconds,
            pieces: sampled.pieces,
            entropies: told(sampled.entropies),
            reference_logprobs: told(sampled.reference_logprobs),
            trained_step,
            credit: told(credit),
            policy_logprobs: told(policy),
        }
    }
}

/// Browse the completions that a job samples
///
/// The newest step first, also while the job runs. All completions are there for jobs that keep them, which training jobs
/// do with `"rollouts": {"keep": true}`, and rollout sets always. Of other training jobs there is a sample: 64 completions
/// of each step, or `rollouts.sample`, as far as 256 MiB and 1024 rounds go, sparser where it is old. What a step made of
/// its completions shows in it some seconds later. `last_id` is the `after` of the next page; a page may be shorter than
/// asked for when completions are long.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/rollouts",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), JobRolloutParams),
    responses(
        (status = 200, body = List<JobRollout>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job does not keep its completions, or has just put them elsewhere", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_rollouts(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(params): Params<JobRolloutParams>,
) -> Result<Json<List<JobRollout>>, Problem> {
    let unknown = || Problem::bad_request("invalid_parameter", "`after` or `group` names no place of this listing");
    let place = |text: Option<&str>| text.map(str::parse::<Cursor>).transpose().map_err(|()| unknown());
    let (after, group) = (place(params.after.as_deref())?, place(params.group.as_deref())?);
    let job = app.store.job(id).await?;
    let source = source(&app, &job).await?;
    if after.or(group).is_some_and(|at| at.complete != source.complete) {
        return Err(moved(&source));
    }
    let order = word::<Order>("sort", params.sort)?.unwrap_or(Order::Newest);
    let wanted = Wanted {
        head: RolloutFilter {
            step: params.step,
            row: params.prompt,
            min_reward: params.min_reward,
            max_reward: params.max_reward,
        },
        max_step: params.max_step,
        text: params.q,
        status: word("status", params.status)?,
        finish: word("finish", params.finish)?,
        mixed: params.mixed_groups,
        group,
    };
    let read = move || {
        let part = Part { after, limit: params.limit as usize, light: params.light };
        order.page(&source, &part, &wanted).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => unknown(),
            io::ErrorKind::NotFound => moved(&source),
            _ => error.into(),
        })
    };
    let page = scan(&app, read).await?;
    let rollouts = page.found.into_iter().map(|(at, shown)| JobRollout::new(shown, at)).collect();
    Ok(Json(List::with_more(rollouts, page.has_more, |rollout| rollout.id.clone())))
}

/// A job that succeeds makes one file of its parts, and a sample becomes sparser.
fn moved(source: &Source) -> Problem {
    let detail = if source.sample {
        "the completion is not in the sample any more; begin again without `after`"
    } else {
        "the job has just completed its rollout set; begin again without `after`"
    };
    Problem::new(StatusCode::CONFLICT, "rollouts_moved", detail)
}

/// Where a job's completions are.
async fn source(app: &App, job: &JobRow) -> Result<Source, Problem> {
    let place = app.store.place().clone();
    let Some(set) = job.rollout_set else {
        let files = place.sampled_rounds(job.id).await?;
        let samples = matches!(job.work(), Work::Train(training) if training.rollouts.sample > 0);
        if !files.is_empty() || (samples && !job.status.is_final()) {
            return Ok(Source { complete: false, sample: true, files, place });
        }
        let detail = match job.work().kind() {
            JobKind::Evaluation => format!(
                "an evaluation is read prompt by prompt: GET /v1/evaluations/{}/results",
                crate::job::EvaluationId::of_job(job.id)
            ),
            JobKind::Train | JobKind::Rollouts => String::from(
                "the job has sampled nothing, or keeps nothing of it; submit one with `\"rollouts\": {\"keep\": true}`",
            ),
        };
        return Err(Problem::new(StatusCode::CONFLICT, "rollouts_not_kept", detail));
    };
    Ok(match app.store.rollout_set(set).await?.content {
        Some(content) => {
            Source { complete: true, sample: false, files: vec![(0, content.artifact.file(ROLLOUTS_FILE)?)], place }
        }
        None => Source { complete: false, sample: false, files: place.kept_parts(job.id).await?, place },
    })
}
