//! What a submission would do, without doing it: `POST /v1/jobs?dry_run=...`.

use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::leakage::{Leakage, leakage};
use super::resolve::Resolution;
use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::api::resolve::ModelFiles;
use crate::api::row_source::RowSource;
use crate::api::sandbox::{self, End, Task};
use crate::dataset::Split;
use crate::job::FieldError;
use crate::job::memory::MemoryNeed;
use crate::job::spec::PromptSpec;
use crate::objective;
use crate::spec::{RowsRef, Training};
use crate::store::Store;
use crate::text::prompt::Prompter;
use crate::text::{self, ModelText, TextError};

/// Rows of each data set whose prompts are made.
const MOST_ROWS: usize = 1000;
/// Rows of each data set that an answer names.
const MOST_BAD_ROWS: usize = 10;
/// No further row is begun after this long.
const MOST_TIME: Duration = Duration::from_secs(10);
/// How much a dry run checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DryRun {
    /// The spec and everything that it refers to, as a submission does.
    Validate,
    /// Also make prompts of the first rows, and say what the job will need.
    Preflight,
}

/// What a submission would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct Preflight {
    /// Always `preflight`.
    object: &'static str,
    dry_run: DryRun,
    /// The spec with every default filled in and every reference resolved.
    #[schema(value_type = Object)]
    spec_resolved: Value,
    /// `sha256:` and the digest of the resolved spec without name, priority, metadata and budget, with those of the
    /// built-ins that it names.
    spec_digest: String,
    /// What is possible but probably not meant.
    warnings: Vec<Warning>,
    /// What the job will do and need; only with `preflight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Plan>,
}

/// What is possible but probably not meant.
#[derive(Debug, Serialize, ToSchema)]
struct Warning {
    /// JSON pointer (RFC 6901) into the spec.
    pointer: String,
    code: String,
    detail: String,
}

/// What a job will do and need.
#[derive(Debug, Serialize, ToSchema)]
struct Plan {
    /// Sampling phases.
    rounds: u64,
    /// Completions per prompt.
    group_size: u32,
    /// Completions to sample for training in all; 0 when it learns from stored ones.
    completions: u64,
    /// Of the model.
    parameters: u64,
    /// What each of the job's devices must have: of `memory`, program, model, copies and loading, and the larger one
    /// of training and sampling.
    memory_bytes: u64,
    memory: Memory,
    /// Rows whose prompts were made and found to fit.
    rows_checked: RowsChecked,
    /// Tokens of the longest of these prompts.
    longest_prompt_tokens: u64,
    /// Held-out prompts that are also trained on; null when nothing is evaluated.
    leakage: Option<Leakage>,
}

/// The parts of a job's memory, in bytes.
#[derive(Debug, Serialize, ToSchema)]
struct Memory {
    /// The program itself with the tables of the tokenizer, on a GPU the driver's context; and what allocators keep, a
    /// part of the rest, which is larger where completions are sampled.
    program: u64,
    /// 12 for each parameter of the model: the weight, and two moments of AdamW, which take less with `optimizer.state`; 8
    /// for those that `muon` takes; 2 less with `optimizer.masters` in bf16.
    /// With an adapter that for its parameters, and 4 for each of the frozen model, 2 in bf16, 9/8 with
    /// `adapter.quantize`, or on the CPU what codes of a GGUF file take.
    model: u64,
    /// Of these, weights that never change, which jobs with `resources.share_base` have in common.
    base: u64,
    /// 4 for each parameter of a model kept beside it, the reference or a teacher, 2 in bf16, or what codes take. With an
    /// adapter the reference takes none.
    copies: u64,
    /// 4 for the gradient of each trained parameter, and a pass with `train.micro_batch_tokens`, for `auto` with the
    /// fewest that it takes, or with the longest sequence.
    training: u64,
    /// On the CPU 4 for each trained parameter, as products read it; keys and values of `sampling.batch_size` completions
    /// of full length, with `sampling.cache` half of that, on the CPU at most 2 GiB; and the pass that continues them. Not
    /// there at the same time as `training`.
    sampling: u64,
    /// What reading the model takes beyond all that, where it is more.
    loading: u64,
}

/// How many rows of each data set were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RowsChecked {
    train: usize,
    /// Null when nothing is evaluated.
    eval: Option<usize>,
}

/// What was found of prompts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Checked {
    rows: RowsChecked,
    /// Tokens of the longest one.
    longest: u64,
}

/// What the stored completions of a job were sampled at.
async fn stored_temperature(store: &Store, training: &Training) -> Result<Option<f64>, Problem> {
    let Some(id) = training.rollouts.stored() else { return Ok(None) };
    let set = store.rollout_set(*id).await?;
    Ok(Some(store.job(set.job).await?.resolved.common.sampling.temperature))
}

/// Answers a dry run of a spec that was found valid.
pub async fn preflight(store: &Store, resolution: Resolution, dry_run: DryRun) -> Result<Preflight, Problem> {
    let (resolved, attributes) = (resolution.resolved(), resolution.attributes.clone());
    let stored = stored_temperature(store, &resolution.training).await?;
    let mut warnings = objective::warnings(&resolution.training.objective, &resolution.sections(), stored);
    let warning = |FieldError { pointer, code, detail }| Warning { pointer, code: code.to_owned(), detail };
    let plan = match dry_run {
        DryRun::Validate => None,
        DryRun::Preflight => {
            let Training { rows, held_out, eval, .. } = &resolution.training;
            let train = Rows::of(store, *rows, Split::Train, MOST_ROWS).await?;
            let eval = match held_out {
                None => None,
                Some(rows) => {
                    let used = (eval.prompts as usize).min(MOST_ROWS);
                    Some(Rows::of(store, *rows, Split::Eval, used).await?)
                }
            };
            let check = PromptCheck {
                model: resolution.model.files.clone(),
                prompt: resolution.common.prompt.clone(),
                train,
                eval,
            };
            let checked = check_prompts(store, &check).await?;
            let planned = blocking(move || {
                let PromptCheck { train, eval, .. } = check;
                leakage_and_plan(&resolution, checked, &train, eval.as_ref())
            });
            let plan = planned.await??;
            let leaked = plan.leakage.as_ref().and_then(Leakage::warning);
            let warning = |detail| FieldError::new("/dataset/eval", "eval_prompts_in_train", detail);
            warnings.extend(leaked.map(warning));
            Some(plan)
        }
    };
    Ok(Preflight {
        object: "preflight",
        dry_run,
        spec_resolved: resolved.to_value(&attributes),
        spec_digest: resolved.digest(),
        warnings: warnings.into_iter().map(warning).collect(),
        plan,
    })
}

/// The first rows of a data set.
#[derive(Debug, Serialize, Deserialize)]
struct Rows {
    source: RowSource,
    pointer: String,
    most: usize,
}

impl Rows {
    async fn of(store: &Store, rows: RowsRef, split: Split, most: usize) -> Result<Self, Problem> {
        let pointer = match split {
            Split::Train => "/dataset/train",
            Split::Eval => "/dataset/eval",
        };
        Ok(Self { source: RowSource::of(store, rows, split).await?, pointer: pointer.to_owned(), most })
    }
}

/// A model, and the rows that are to become prompts for it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PromptCheck {
    model: ModelFiles,
    prompt: PromptSpec,
    train: Rows,
    eval: Option<Rows>,
}

/// What is wrong with a row or with the model, as fields say it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PromptFault {
    pointer: String,
    code: String,
    detail: String,
}

impl PromptFault {
    fn new(pointer: &str, code: &str, detail: impl ToString) -> Self {
        Self { pointer: pointer.to_owned(), code: code.to_owned(), detail: detail.to_string() }
    }
}

impl Task for PromptCheck {
    const NAME: &'static str = "prompts";
    type Answer = Result<Checked, Vec<PromptFault>>;

    fn perform(&self, mut tell: impl FnMut(&Self::Answer) -> io::Result<()>) -> io::Result<()> {
        let fault = |pointer, error: TextError| Err(vec![PromptFault::new(pointer, error.code(), error)]);
        let inspection = self.model.inspect().map_err(io::Error::other)?;
        let texts = match ModelText::of(&inspection, &self.prompt) {
            Ok(texts) => texts,
            Err(error) => return tell(&fault("/model", error)),
        };
        let prompter = match texts.prompter(&self.prompt, inspection.config.max_position_embeddings) {
            Ok(prompter) => prompter,
            Err(error) => return tell(&fault("/dataset/format", error)),
        };
        let mut faults = Vec::new();
        let mut longest = 0;
        let mut check = |rows: &Rows| rows.check(&prompter, &mut faults, &mut longest);
        let rows = RowsChecked { train: check(&self.train)?, eval: self.eval.as_ref().map(check).transpose()? };
        tell(&if faults.is_empty() { Ok(Checked { rows, longest }) } else { Err(faults) })
    }
}

impl Rows {
    /// Makes prompts of the rows, and says how many; `longest` becomes what the longest one has of tokens, if it is more.
    fn check(&self, prompter: &Prompter<'_>, faults: &mut Vec<PromptFault>, longest: &mut u64) -> io::Result<usize> {
        let deadline = Instant::now() + MOST_TIME;
        let dataset = self.source.open()?;
        let (mut checked, mut bad, most) = (0, 0, dataset.len().min(self.most));
        while checked < most && bad < MOST_BAD_ROWS && Instant::now() < deadline {
            let number = dataset.number(checked);
            let row = dataset.row(number).map_err(io::Error::other)?;
            match prompter.render(number, &row) {
                Ok(prompt) => *longest = (*longest).max(prompt.tokens.len() as u64),
                Err(error) => {
                    faults.push(PromptFault::new(&self.pointer, error.code(), error));
                    bad += 1;
                }
            }
            checked += 1;
        }
        Ok(checked)
    }
}

/// Has prompts made in a process of its own: templates and tokenizers are programs that come with models.
async fn check_prompts(store: &Store, check: &PromptCheck) -> Result<Checked, Problem> {
    let model = check.model.clone();
    let inspected = blocking(move || model.inspect().map(drop)).await?;
    inspected.map_err(|error| one("/model", error.code(), error.to_string()))?;
    // Each data set has its time, and loading takes some.
    let (mut answers, end) = sandbox::ask(store.own_project(), check, 3 * MOST_TIME).await?;
    match (answers.pop(), end) {
        (Some(Ok(checked)), _) => Ok(checked),
        (Some(Err(faults)), _) => Err(Problem::invalid(faults.into_iter().map(field_error).collect())),
        (None, End::Died(how)) => Err(one("/model", "model_text_failed", how)),
        (None, End::Done | End::TimedOut) => {
            Err(one("/model", "model_text_failed", String::from("its tokenizer or chat template takes too long")))
        }
    }
}

fn field_error(PromptFault { pointer, code, detail }: PromptFault) -> FieldError {
    let known = text::CODES.iter().find(|known| **known == code);
    FieldError::new(pointer, known.copied().unwrap_or("model_text_failed"), detail)
}

/// Compares held-out prompts with those that are trained on, and plans. Blocks.
fn leakage_and_plan(
    resolution: &Resolution,
    checked: Checked,
    train: &Rows,
    eval: Option<&Rows>,
) -> Result<Plan, Problem> {
    let deadline = Instant::now() + MOST_TIME;
    let most = resolution.training.eval.prompts as usize;
    let train = train.source.open()?;
    let eval = eval.map(|eval| eval.source.open()).transpose()?;
    let leakage = eval.map(|eval| leakage(&train, &eval, most, deadline)).transpose()?;
    Ok(plan(resolution, checked, leakage))
}

fn one(pointer: &str, code: &'static str, detail: String) -> Problem {
    Problem::invalid(vec![FieldError::new(pointer, code, detail)])
}

fn plan(resolution: &Resolution, checked: Checked, leakage: Option<Leakage>) -> Plan {
    let spec = &resolution.training;
    let objective = spec.objective.build(&spec.train);
    let (plan, needs) = (objective.plan(), objective.needs());
    let samples = !needs.completions && spec.rollouts.from.is_none();
    let fresh = if samples { plan.prompts_before(plan.rounds, &spec.train, &spec.rollouts) } else { 0 };
    let held_out = plan.rounds * u64::from(spec.objective.held_out_prompts());
    let Checked { rows: rows_checked, longest: longest_prompt_tokens } = checked;
    let need = resolution.memory(Some(longest_prompt_tokens));
    let MemoryNeed { program, model, base, copies, training, sampling, loading } = need;
    Plan {
        rounds: if samples { plan.rounds } else { 0 },
        group_size: plan.group_size,
        completions: (fresh + held_out) * u64::from(plan.group_size),
        parameters: resolution.parameters,
        memory_bytes: need.total(),
        memory: Memory { program, model, base, copies, training, sampling, loading },
        rows_checked,
        longest_prompt_tokens,
        leakage,
    }
}
