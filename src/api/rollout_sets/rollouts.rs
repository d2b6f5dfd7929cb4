//! `GET /v1/rollout-sets/{id}/rollouts`

use std::io::{self, BufRead, BufReader, Read};

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::content;
use super::filter::RolloutFilter;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::scan::scan;
use crate::job::rollout_set::ROLLOUTS_FILE;
use crate::job::{RewardPart, RolloutLine, RolloutSetId, TurnAnswer};

/// A page ends behind the line with which it passes this many bytes, however many lines were asked for: completions
/// may be long.
const PAGE_BYTES: usize = 16 << 20;
const BUFFER_BYTES: usize = 1 << 18;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RolloutParams {
    /// Only lines behind this one; the first line is 1. `last_id` of a page is where the next one goes on.
    #[serde(default)]
    after: u64,
    /// Rollouts to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
    /// Only the completions of this group.
    group: Option<u64>,
    /// Only completions sampled after this many optimizer steps.
    step: Option<u64>,
    /// Only completions for this row of the data set, counted from 0.
    prompt: Option<u64>,
    /// Only completions with at least this reward.
    min_reward: Option<f64>,
    /// Only completions with at most this reward.
    max_reward: Option<f64>,
}

impl RolloutParams {
    fn filter(&self) -> RolloutFilter {
        let Self { step, prompt, min_reward, max_reward, .. } = *self;
        RolloutFilter { step, row: prompt, min_reward, max_reward }
    }
}

fn default_limit() -> u32 {
    20
}

/// One sampled and scored completion.
#[derive(Debug, Serialize, ToSchema)]
pub struct Rollout {
    /// Always `rollout`.
    object: &'static str,
    /// Its line in `rollouts.jsonl`, counted from 1.
    line: u64,
    /// Number of the completion's group, which has one prompt, within the set.
    group: u64,
    /// Number of the completion within its group.
    sample: u32,
    /// Number of the row in its data set.
    row: usize,
    /// Optimizer steps that the sampling policy had taken.
    step: u64,
    prompt: String,
    prompt_tokens: Vec<u32>,
    completion: String,
    /// What the verifier compared; null where it took nothing out of the completion.
    answer: Option<String>,
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
}

/// What an environment answered when a turn of a completion had ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct RolloutAnswer {
    /// The places of its tokens among those of the completion, from the first to behind the last; none where it said nothing.
    /// Their log-probabilities and entropies are 0, for they were not drawn, and nothing is learnt of them.
    #[schema(min_items = 2, max_items = 2)]
    tokens: [usize; 2],
    /// What it said, as the model reads it.
    text: String,
    /// What the turn earned; null where the environment gave no reward.
    reward: Option<f64>,
}

impl RolloutAnswer {
    /// The answers in a completion.
    pub fn of(completion: &str, answers: Vec<TurnAnswer>) -> Vec<Self> {
        let one = |TurnAnswer { tokens, text: [begin, end], reward }| {
            let text = completion.get(begin..end).unwrap_or_default().to_owned();
            Self { tokens, text, reward }
        };
        answers.into_iter().map(one).collect()
    }
}

/// One of the verdicts that the verdict on a completion is made of.
#[derive(Debug, Serialize, ToSchema)]
pub struct RolloutPart {
    name: String,
    /// As that of the whole, or `error` or `timeout`.
    status: String,
    /// Null where it could not be judged.
    reward: Option<f64>,
    detail: Option<String>,
}

impl From<RewardPart> for RolloutPart {
    fn from(RewardPart { name, status, reward, detail }: RewardPart) -> Self {
        Self { name, status: status.to_string(), reward, detail }
    }
}

impl Rollout {
    fn new(line: u64, rollout: RolloutLine) -> Self {
        Self {
            object: "rollout",
            line,
            group: rollout.group,
            sample: rollout.sample,
            row: rollout.row,
            step: rollout.step,
            prompt: rollout.prompt,
            prompt_tokens: rollout.prompt_tokens,
            answers: RolloutAnswer::of(&rollout.completion, rollout.answers),
            completion: rollout.completion,
            answer: rollout.answer,
            tokens: rollout.tokens,
            logprobs: rollout.logprobs,
            entropy_sum: rollout.entropy_sum,
            finish: rollout.finish.to_string(),
            status: rollout.status.map(|status| status.to_string()),
            reward: rollout.reward,
            detail: rollout.detail,
            parts: rollout.parts.into_iter().map(RolloutPart::from).collect(),
        }
    }
}

/// Browse a rollout set
///
/// The completions in the order of the file, group after group. To read all of them, download `rollouts.jsonl`. A page
/// may be shorter than asked for when completions are long.
#[utoipa::path(
    get,
    path = "/v1/rollout-sets/{id}/rollouts",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set"), RolloutParams),
    responses(
        (status = 200, body = List<Rollout>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The set is not ready", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_rollouts(
    Access(app): Access,
    Id(id): Id<RolloutSetId>,
    Params(params): Params<RolloutParams>,
) -> Result<Json<List<Rollout>>, Problem> {
    let content = content(app.store.rollout_set(id).await?)?;
    let (place, file) = (app.store.place().clone(), content.artifact.file(ROLLOUTS_FILE)?);
    let read = scan(&app, move || read_page(place.read(&file)?, &params));
    let page = read.await?;
    Ok(Json(List::with_more(page.rollouts, page.has_more, |rollout| rollout.line.to_string())))
}

#[derive(Debug)]
struct Page {
    rollouts: Vec<Rollout>,
    has_more: bool,
}

/// Reads a page with one buffer and one line in memory besides the page. Lines before it are skipped without being
/// looked at.
fn read_page(file: impl Read, params: &RolloutParams) -> io::Result<Page> {
    /// What is read of a line to know whether it is wanted.
    #[derive(Deserialize)]
    struct Head {
        group: u64,
    }
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut page = Page { rollouts: Vec::new(), has_more: false };
    let mut number = 0;
    while number < params.after {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(page);
        }
        number += 1;
    }
    let (mut bytes, mut line, filter) = (0, Vec::new(), params.filter());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(page);
        }
        number += 1;
        if let Some(wanted) = params.group {
            let group = serde_json::from_slice::<Head>(&line)?.group;
            if group < wanted {
                continue;
            }
            if group > wanted {
                // Groups follow each other in the order of their numbers.
                return Ok(page);
            }
        }
        if !filter.wants(&line)? {
            continue;
        }
        if page.rollouts.len() == params.limit as usize || bytes > PAGE_BYTES {
            page.has_more = true;
            return Ok(page);
        }
        bytes += line.len();
        page.rollouts.push(Rollout::new(number, serde_json::from_slice(&line)?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::ScoreStatus;
    use crate::job::inference::FinishReason;

    fn line(group: u64, sample: u32) -> RolloutLine {
        RolloutLine {
            group,
            sample,
            row: 7,
            step: 0,
            prompt: String::from("1+1="),
            prompt_tokens: vec![1, 2],
            completion: String::from("2"),
            answer: None,
            tokens: vec![3],
            logprobs: vec![-0.1],
            entropy_sum: 0.5,
            finish: FinishReason::Stop,
            status: Some(ScoreStatus::Ok),
            reward: Some(1.0),
            detail: None,
            parts: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn page(file: &str, after: u64, limit: u32, group: Option<u64>) -> (Vec<u64>, bool) {
        let all = RolloutParams { after, limit, group, step: None, prompt: None, min_reward: None, max_reward: None };
        let page = read_page(file.as_bytes(), &all).unwrap();
        (page.rollouts.iter().map(|rollout| rollout.line).collect(), page.has_more)
    }

    #[test]
    fn pages_follow_each_other_without_gap_and_end_with_the_file() {
        let lines = (0..3).flat_map(|group| (0..2).map(move |sample| line(group, sample)));
        let file: String = lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect();
        assert_eq!(page(&file, 0, 4, None), (vec![1, 2, 3, 4], true));
        assert_eq!(page(&file, 4, 4, None), (vec![5, 6], false));
        assert_eq!(page(&file, 4, 2, None), (vec![5, 6], false));
        assert_eq!(page(&file, 6, 2, None), (vec![], false));
        assert_eq!(page(&file, u64::MAX, 2, None), (vec![], false));
        assert_eq!(page(&file, 0, 9, Some(1)), (vec![3, 4], false));
        assert_eq!(page(&file, 0, 1, Some(1)), (vec![3], true));
        assert_eq!(page(&file, 3, 1, Some(1)), (vec![4], false));
        assert_eq!(page(&file, 0, 9, Some(3)), (vec![], false));
    }
}
