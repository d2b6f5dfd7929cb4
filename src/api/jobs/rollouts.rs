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
use crate::api::extract::{Id, List, Params, word};
use crate::api::lines::LinesFromEnd;
use crate::api::rollout_sets::filter::{RolloutFilter, RolloutHead};
use crate::api::scan::scan;
use crate::job::inference::FinishReason;
use crate::job::rollout_set::ROLLOUTS_FILE;
use crate::job::{JobId, JobKind, RolloutLine, SampledGroup, ScoreStatus};
use crate::spec::Work;
use crate::store::{JobRow, Place, StoredFile};

/// A page ends with the completion with which it passes this many stored bytes, however many were asked for.
const PAGE_BYTES: usize = 16 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
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
    /// Only completions that have this text in them or in their prompts.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only completions of which this was said: `ok` or `unparsable`.
    status: Option<String>,
    /// Only completions that ended in this way: `stop` or `length`.
    finish: Option<String>,
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
    /// The text of each token; null where all completions are kept, which the model's tokenizer tells of.
    pieces: Option<Vec<String>>,
    /// Log-probability of each token under the model that the job started from; null where it was not computed.
    reference_logprobs: Option<Vec<f32>>,
    /// Its place in the listing.
    #[serde(skip)]
    cursor: String,
}

impl JobRollout {
    fn new(Shown { line, pieces, reference_logprobs }: Shown, cursor: String) -> Self {
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
            pieces,
            reference_logprobs,
            cursor,
        }
    }
}

/// Browse the completions that a job samples
///
/// The newest step first, also while the job runs. All completions are there for jobs that keep them, which training jobs
/// do with `"rollouts": {"keep": true}`, and rollout sets always. Of other training jobs there is a sample: 64 completions
/// of each step, or `rollouts.sample`, as far as 256 MiB and 1024 rounds go, sparser where it is old. `last_id` is the
/// `after` of the next page; a page may be shorter than asked for when completions are long.
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
    let filter = Wanted {
        head: RolloutFilter {
            step: params.step,
            row: params.prompt,
            min_reward: params.min_reward,
            max_reward: params.max_reward,
        },
        text: params.q,
        status: word("status", params.status)?,
        finish: word("finish", params.finish)?,
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

/// A completion with what is known beside it.
#[derive(Debug)]
struct Shown {
    line: RolloutLine,
    pieces: Option<Vec<String>>,
    reference_logprobs: Option<Vec<f32>>,
}

/// Which completions are wanted.
#[derive(Debug, Default)]
struct Wanted {
    head: RolloutFilter,
    text: Option<String>,
    status: Option<ScoreStatus>,
    finish: Option<FinishReason>,
}

impl Wanted {
    fn holds(&self, line: &RolloutLine) -> bool {
        let head = RolloutHead { step: line.step, row: line.row as u64, reward: line.reward };
        self.head.holds(&head)
            && self.text.as_ref().is_none_or(|text| line.completion.contains(text) || line.prompt.contains(text))
            && self.status.is_none_or(|status| line.status == Some(status))
            && self.finish.is_none_or(|finish| line.finish == finish)
    }
}

/// The files with a job's completions by their numbers, the oldest first.
#[derive(Debug)]
struct Source {
    /// One file with a completion a line; otherwise parts with a prompt's completions a line.
    complete: bool,
    /// Of a sample, which is not synced and becomes sparser: what is broken or gone is left out.
    sample: bool,
    files: Vec<(usize, StoredFile)>,
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
    fn read_page(&self, after: Option<Cursor>, limit: usize, filter: &Wanted) -> io::Result<Page> {
        let mut page = Page::default();
        let mut bytes = 0;
        if after.is_some_and(|after| self.files.last().is_none_or(|(newest, _)| after.file > *newest)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such file"));
        }
        let files = self.files.iter().filter(|(number, _)| after.is_none_or(|after| *number <= after.file));
        for &(number, ref file) in files.rev() {
            let begin = after.filter(|after| after.file == number);
            let file = match self.place.read(file) {
                Err(error) if self.sample && error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let mut lines = LinesFromEnd::open(file, begin.map(|after| after.end))?;
            // Only the line that the cursor names was shown in part.
            let mut shown = begin.map(|after| after.item);
            while let Some(line) = lines.next()? {
                let before = shown.take().unwrap_or(usize::MAX);
                let (step, items) = match self.selected(&line.text, filter) {
                    Err(error) if self.sample => {
                        tracing::warn!(%error, "a line of a sample is broken");
                        continue;
                    }
                    selected => selected?,
                };
                if filter.head.step.is_some_and(|least| step < least) {
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
                    let RolloutLine { completion, tokens, prompt, .. } = &rollout.line;
                    bytes += completion.len() + 48 * tokens.len() + prompt.len();
                    page.rollouts.push(JobRollout::new(rollout, cursor.to_string()));
                }
            }
        }
        Ok(page)
    }

    /// A line's step and its completions, with none in the place of those that are not wanted.
    fn selected(&self, line: &[u8], filter: &Wanted) -> io::Result<(u64, Vec<Option<Shown>>)> {
        if self.complete {
            let head: RolloutHead = serde_json::from_slice(line)?;
            let whole = |line: RolloutLine| Shown { line, pieces: None, reference_logprobs: None };
            let line = if filter.head.holds(&head) { Some(serde_json::from_slice(line)?) } else { None };
            return Ok((head.step, vec![line.filter(|line| filter.holds(line)).map(whole)]));
        }
        let SampledGroup { group, pieces } = serde_json::from_slice(line)?;
        let mut pieces = pieces.into_iter();
        // The group's number in the set is not known yet, and not shown.
        let shown = group.lines(0).zip(&group.rollouts).map(|(line, rollout)| {
            let (pieces, reference) = (pieces.next(), &rollout.reference_logprobs);
            let reference_logprobs = (!reference.is_empty()).then(|| reference.clone());
            filter.holds(&line).then_some(Shown { line, pieces, reference_logprobs })
        });
        Ok((group.step, shown.collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::job::RolloutGroup;
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
        let files = place.kept_parts(job).await.unwrap();
        let parts = Source { complete: false, sample: false, files, place: place.clone() };
        let files = vec![(0, Location::job(job).within("set").into())];
        [parts, Source { complete: true, sample: false, files, place }]
    }

    /// Step, row and sample.
    type Numbers = (u64, usize, u32);

    fn walk(source: &Source, limit: usize, head: &RolloutFilter) -> Vec<Numbers> {
        let filter = &Wanted { head: head.clone(), ..Wanted::default() };
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

    #[tokio::test]
    async fn a_sample_is_read_as_far_as_it_is_there_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let [mut source, _] = sources(folder.path()).await;
        let all = walk(&source, 2, &RolloutFilter::default());
        let page = source.read_page(None, 2, &Wanted::default()).unwrap();
        let after = page.rollouts.last().unwrap().cursor.parse().ok();
        let paths: Vec<_> = (0..2)
            .map(|step| {
                folder.path().join("jobs").join(source_job(&source)).join(PARTS_FOLDER).join(format!("{step:06}.jsonl"))
            })
            .collect();
        fs::remove_file(&paths[1]).unwrap();
        let text = fs::read_to_string(&paths[0]).unwrap();
        fs::write(&paths[0], &text[..text.len() - 20]).unwrap();
        assert!(source.read_page(after, 100, &Wanted::default()).is_err());
        source.sample = true;
        let rest = source.read_page(after, 100, &Wanted::default()).unwrap().rollouts;
        let rest: Vec<Numbers> = rest.iter().map(|rollout| (rollout.step, rollout.row, rollout.sample)).collect();
        assert_eq!(rest, all[9..], "the last line of the older file is cut off");
    }

    /// The folder of the job whose parts they are.
    fn source_job(source: &Source) -> String {
        let name = source.files[0].1.name().to_string();
        name.split('/').nth(1).unwrap().to_owned()
    }

    #[test]
    fn texts_verdicts_and_ends_are_conditions_too() {
        let line = json!({"group": 0, "sample": 0, "row": 1, "step": 2, "prompt": "3+4=", "prompt_tokens": [1],
                          "completion": "seven", "answer": null, "tokens": [1], "logprobs": [-0.5], "entropy_sum": 0.5,
                          "finish": "stop", "status": "unparsable", "reward": 0.0});
        let line: RolloutLine = serde_json::from_value(line).unwrap();
        let holds = |wanted: Wanted| wanted.holds(&line);
        for text in ["seven", "3+4", ""] {
            assert!(holds(Wanted { text: Some(text.to_owned()), ..Wanted::default() }), "{text}");
        }
        assert!(!holds(Wanted { text: Some(String::from("eight")), ..Wanted::default() }));
        assert!(holds(Wanted { status: Some(ScoreStatus::Unparsable), ..Wanted::default() }));
        assert!(!holds(Wanted { status: Some(ScoreStatus::Ok), ..Wanted::default() }));
        assert!(!holds(Wanted { finish: Some(FinishReason::Length), ..Wanted::default() }));
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
