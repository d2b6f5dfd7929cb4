//! `GET /v1/jobs/{id}/rollouts`

use std::io;
use std::str::FromStr;

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::lines::LinesFromEnd;
use crate::api::rollout_sets::filter::{RolloutFilter, RolloutHead};
use crate::api::scan::scan;
use crate::job::rollout_set::ROLLOUTS_FILE;
use crate::job::{JobId, JobKind, RolloutGroup, RolloutLine};
use crate::store::{JobRow, Place, StoredFile};

/// A page ends with the completion with which it passes this many stored bytes, however many were asked for.
const PAGE_BYTES: usize = 16 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct JobRolloutParams {
    /// Only completions behind this one: the `last_id` of the page before.
    after: Option<String>,
    /// Completions to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
    /// Only completions sampled after this many optimizer steps.
    step: Option<u64>,
    /// Only completions for this row of the data set, counted from 0.
    prompt: Option<u64>,
    /// Only completions with at least this reward.
    min_reward: Option<f64>,
    /// Only completions with at most this reward.
    max_reward: Option<f64>,
}

fn default_limit() -> u32 {
    20
}

/// One sampled and scored completion of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobRollout {
    /// Always `job.rollout`.
    object: &'static str,
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
    /// Its place in the listing.
    #[serde(skip)]
    cursor: String,
}

impl JobRollout {
    fn new(line: RolloutLine, cursor: String) -> Self {
        Self {
            object: "job.rollout",
            step: line.step,
            row: line.row,
            sample: line.sample,
            prompt: line.prompt,
            completion: line.completion,
            answer: line.answer,
            tokens: line.tokens,
            logprobs: line.logprobs,
            entropy_sum: line.entropy_sum,
            finish: line.finish.to_string(),
            status: line.status.map(|status| status.to_string()),
            reward: line.reward,
            cursor,
        }
    }
}

/// Browse the completions that a job samples
///
/// The newest step first, also while the job runs. Completions are there for jobs that keep them, which training jobs
/// do with `"rollouts": {"keep": true}`, and rollout sets always. `last_id` is the `after` of the next page; a page may
/// be shorter than asked for when completions are long.
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
    let unknown = || Problem::bad_request("invalid_parameter", "`after` is no `last_id` of a page");
    let after = params.after.as_deref().map(Cursor::from_str).transpose().map_err(|_| unknown())?;
    let job = app.store.job(id).await?;
    let source = source(&app, &job).await?;
    if after.is_some_and(|after| after.complete != source.complete) {
        return Err(moved());
    }
    let filter = RolloutFilter {
        step: params.step,
        row: params.prompt,
        min_reward: params.min_reward,
        max_reward: params.max_reward,
    };
    let limit = params.limit as usize;
    let read = move || {
        source.read_page(after, limit, &filter).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => unknown(),
            io::ErrorKind::NotFound => moved(),
            _ => error.into(),
        })
    };
    let page = scan(&app, read).await?;
    Ok(Json(List::with_more(page.rollouts, page.has_more, |rollout| rollout.cursor.clone())))
}

/// A job that succeeds makes one file of its parts.
fn moved() -> Problem {
    let detail = "the job has just completed its rollout set; begin again without `after`";
    Problem::new(StatusCode::CONFLICT, "rollouts_moved", detail)
}

/// Where a job's completions are.
async fn source(app: &App, job: &JobRow) -> Result<Source, Problem> {
    let Some(set) = job.rollout_set else {
        let detail = match job.work().kind() {
            JobKind::Evaluation => format!(
                "an evaluation keeps counts and no completions; GET /v1/evaluations/{}/results has those",
                crate::job::EvaluationId::of_job(job.id)
            ),
            JobKind::Train | JobKind::Rollouts => String::from(
                "the job does not keep what it samples; submit it with `\"rollouts\": {\"keep\": true}` to browse it",
            ),
        };
        return Err(Problem::new(StatusCode::CONFLICT, "rollouts_not_kept", detail));
    };
    let place = app.store.place().clone();
    Ok(match app.store.rollout_set(set).await?.content {
        Some(content) => Source { complete: true, files: vec![content.artifact.file(ROLLOUTS_FILE)?], place },
        None => Source { complete: false, files: place.kept_parts(job.id).await?, place },
    })
}

/// The files with a job's completions, the oldest first.
#[derive(Debug)]
struct Source {
    /// One file with a completion a line; otherwise parts with a prompt's completions a line.
    complete: bool,
    files: Vec<StoredFile>,
    place: Place,
}

/// A completion's place, behind which a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    complete: bool,
    file: usize,
    /// Where the completion's line ends.
    end: u64,
    /// Number of the completion within the line.
    item: usize,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.complete { "s" } else { "p" };
        write!(f, "{kind}{}-{}-{}", self.file, self.end, self.item)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let complete = text.starts_with('s');
        let mut numbers = text.strip_prefix(['s', 'p']).ok_or(())?.split('-').map(|part| part.parse::<u64>().ok());
        let mut next = || numbers.next().flatten().ok_or(());
        let cursor = Self { complete, file: next()? as usize, end: next()?, item: next()? as usize };
        if numbers.next().is_none() { Ok(cursor) } else { Err(()) }
    }
}

#[derive(Debug, Default)]
struct Page {
    rollouts: Vec<JobRollout>,
    has_more: bool,
}

impl Source {
    /// Reads a page from the end of the files.
    fn read_page(&self, after: Option<Cursor>, limit: usize, filter: &RolloutFilter) -> io::Result<Page> {
        let mut page = Page::default();
        let mut bytes = 0;
        let newest = after.map_or(self.files.len(), |after| after.file.saturating_add(1));
        if newest > self.files.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such file"));
        }
        for (number, file) in self.files[..newest].iter().enumerate().rev() {
            let begin = after.filter(|after| after.file == number);
            let mut lines = LinesFromEnd::open(self.place.read(file)?, begin.map(|after| after.end))?;
            // Only the line that the cursor names was shown in part.
            let mut shown = begin.map(|after| after.item);
            while let Some(line) = lines.next()? {
                let before = shown.take().unwrap_or(usize::MAX);
                let (step, items) = self.selected(&line.text, filter)?;
                if filter.step.is_some_and(|least| step < least) {
                    // Steps only become fewer from here on.
                    return Ok(page);
                }
                for (item, rollout) in items.into_iter().enumerate().rev().filter(|(item, _)| *item < before) {
                    let Some(rollout) = rollout else { continue };
                    if page.rollouts.len() == limit || bytes > PAGE_BYTES {
                        page.has_more = true;
                        return Ok(page);
                    }
                    let cursor = Cursor { complete: self.complete, file: number, end: line.end, item };
                    bytes += rollout.completion.len() + 16 * rollout.tokens.len() + rollout.prompt.len();
                    page.rollouts.push(JobRollout::new(rollout, cursor.to_string()));
                }
            }
        }
        Ok(page)
    }

    /// A line's step and its completions, with none in the place of those that are not wanted.
    fn selected(&self, line: &[u8], filter: &RolloutFilter) -> io::Result<(u64, Vec<Option<RolloutLine>>)> {
        if self.complete {
            let head: RolloutHead = serde_json::from_slice(line)?;
            let rollout = if filter.holds(&head) { Some(serde_json::from_slice(line)?) } else { None };
            return Ok((head.step, vec![rollout]));
        }
        let group: RolloutGroup = serde_json::from_slice(line)?;
        let keep = |line: RolloutLine| {
            let head = RolloutHead { step: line.step, row: line.row as u64, reward: line.reward };
            Some(line).filter(|_| filter.holds(&head))
        };
        // The group's number in the set is not known yet, and not shown.
        Ok((group.step, group.lines(0).map(keep).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::job::rollout_set::PARTS_FOLDER;
    use crate::store::Location;
    use crate::store::Store;

    /// Two parts of two prompts with three completions each; in the form of parts and in that of a set.
    async fn sources(data: &std::path::Path) -> [Source; 2] {
        let (store, job) = (Store::open(data).await.unwrap(), JobId::generate());
        let folder = store.files().job(job).join(PARTS_FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("000002.tmp"), "not whole").unwrap();
        let mut set = String::new();
        for step in 0..2_u64 {
            let mut part = String::new();
            for row in 0..2_u64 {
                let rollouts: Vec<serde_json::Value> = (0..3)
                    .map(|sample| {
                        json!({"sample": sample, "text": "t", "answer": null, "tokens": [1], "behavior_logprobs": [-0.5],
                               "reference_logprobs": [], "entropy_sum": 0.5, "finish": "stop", "status": "ok",
                               "reward": sample as f64 / 2.0})
                    })
                    .collect();
                let group = json!({"row": row, "step": step, "prompt": [1], "text": "p", "rollouts": rollouts});
                part.push_str(&format!("{group}\n"));
                for line in serde_json::from_value::<RolloutGroup>(group).unwrap().lines(0) {
                    set.push_str(&format!("{}\n", serde_json::to_string(&line).unwrap()));
                }
            }
            fs::write(folder.join(format!("{step:06}.jsonl")), part).unwrap();
        }
        fs::write(store.files().job(job).join("set"), set).unwrap();
        let place = store.place().clone();
        let parts = Source { complete: false, files: place.kept_parts(job).await.unwrap(), place: place.clone() };
        [parts, Source { complete: true, files: vec![Location::job(job).within("set").into()], place }]
    }

    /// Step, row and sample.
    type Numbers = (u64, usize, u32);

    fn walk(source: &Source, limit: usize, filter: &RolloutFilter) -> Vec<Numbers> {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = source.read_page(after, limit, filter).unwrap();
            seen.extend(page.rollouts.iter().map(|rollout| (rollout.step, rollout.row, rollout.sample)));
            assert!(page.rollouts.len() <= limit);
            if !page.has_more {
                return seen;
            }
            after = Some(page.rollouts.last().unwrap().cursor.parse().unwrap());
        }
    }

    #[tokio::test]
    async fn pages_of_any_size_show_everything_once_and_the_newest_step_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut expected: Vec<Numbers> =
            (0..2).flat_map(|step| (0..2).flat_map(move |row| (0..3).map(move |s| (step, row, s)))).collect();
        expected.reverse();
        for source in sources(folder.path()).await {
            for limit in 1..=13 {
                assert_eq!(walk(&source, limit, &RolloutFilter::default()), expected, "{limit}");
                let filter = RolloutFilter { step: Some(1), min_reward: Some(0.5), ..RolloutFilter::default() };
                assert_eq!(walk(&source, limit, &filter), [(1, 1, 2), (1, 1, 1), (1, 0, 2), (1, 0, 1)], "{limit}");
                let filter = RolloutFilter { row: Some(0), max_reward: Some(0.0), ..RolloutFilter::default() };
                assert_eq!(walk(&source, limit, &filter), [(1, 0, 0), (0, 0, 0)], "{limit}");
            }
        }
    }

    #[test]
    fn cursors_read_back_and_nonsense_does_not() {
        let cursor = Cursor { complete: true, file: 0, end: 123, item: 4 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for nonsense in ["", "s", "x0-1-2", "s0-1", "p0-1-2-3", "s0--1-2", "s0-1-99999999999999999999999"] {
            assert_eq!(nonsense.parse::<Cursor>(), Err(()), "{nonsense}");
        }
    }
}
