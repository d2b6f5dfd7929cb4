//! Jobs that evaluate a model: they sample and score the first rows of a data set, keep what became of each prompt, and
//! end with pass@k. Every completion is a function of seed, row and sample number, so that two models meet the same
//! random numbers and can be compared prompt by prompt.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use rayon::prelude::*;

use super::actor::{Actor, ActorSpec, RolloutRequest};
use super::artifact::{self, Saved};
use super::backend::Backend;
use super::device::on_device;
use super::error::EngineError;
use super::evaluate::{sentence, votes};
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::{self, RolloutGroup, read_lines};
use super::rollout_set::{has_part, keep_part, kept_part};
use super::sampler::FinishReason;
use crate::dataset::Dataset;
use crate::job::digest::sha256_hex;
use crate::job::evaluation::{
    COMPLETION_CHARACTERS, COMPLETIONS_BYTES, COMPLETIONS_FILE, COMPLETIONS_KEPT, EVALUATION_FILE, EvaluatedCompletion,
    PROMPT_CHARACTERS, RESULTS_FILE,
};
use crate::job::event::{EvaluationComplete, EvaluationFound};
use crate::job::{ArtifactKind, ArtifactSummary, EvaluationSummary, EventBody, NewEvent, PassAtK, Phase, PromptResult};
use crate::objective::math::{RateInterval, pass_at, rate_interval};
use crate::spec::Evaluating;
use crate::verifier::ScoreStatus;

/// Completions sampled at a time; a lost worker costs no more.
const PART: u64 = 4096;

/// A job that evaluates.
pub struct EvaluationJob {
    pub actor: ActorSpec,
    pub spec: Evaluating,
    pub rows: Dataset,
}

/// Samples, scores and publishes what was found; only the first of several ranks has something to show. Parts that an
/// earlier attempt has finished are not sampled again.
pub fn evaluate(job: &EvaluationJob, reporter: &mut dyn Reporter) -> Result<Option<Saved>, EngineError> {
    on_device!(&job.actor.device, job.actor.precision, |backend| evaluate_on(&backend, job, reporter))
}

fn evaluate_on<B: Backend>(
    backend: &Arc<B>,
    job: &EvaluationJob,
    reporter: &mut dyn Reporter,
) -> Result<Option<Saved>, EngineError> {
    reporter.phase(Phase::Loading, 0)?;
    let mut actor = Actor::load(&job.actor, backend)?;
    let prompts = job.spec.prompts.min(job.rows.len() as u64);
    // A prompt that does not fit is found before anything is spent on the others.
    for row in (0..prompts as usize).map(|place| job.rows.number(place)) {
        reporter.check()?;
        actor.prompt(row, &job.rows.row(row)?)?;
    }
    let per_part = (PART / u64::from(job.spec.samples)).max(1);
    let parts = prompts.div_ceil(per_part);
    reporter.phase(Phase::Evaluating, 0)?;
    for part in 0..parts {
        // Others may be on machines that have no parts.
        if job.actor.collective.first_says(has_part(&job.actor.directory, part))? {
            continue;
        }
        let range = part * per_part..prompts.min((part + 1) * per_part);
        let rows: Vec<(u64, usize)> = range.map(|visit| (visit, job.rows.number(visit as usize))).collect();
        let request = RolloutRequest {
            dataset: &job.rows,
            rows: &rows,
            samples: job.spec.samples,
            sampling: &job.actor.sampling,
            stream: Stream::new(job.actor.seed, Purpose::Evaluation, 0),
            step: 0,
            phase: Phase::Evaluating,
        };
        let (groups, _) = actor.roll_out(&request, reporter)?;
        if job.actor.collective.is_first() {
            reporter.check()?;
            let results: Vec<PromptResult> = groups
                .par_iter()
                .map(|group| result(&job.rows, &job.spec.pass_at, job.actor.seed, group))
                .collect::<Result<_, _>>()?;
            keep_part(&job.actor.directory, part, &results)?;
        }
    }
    if !job.actor.collective.is_first() {
        return Ok(None);
    }
    reporter.phase(Phase::Exporting, 0)?;
    let (saved, summary) = publish(job, parts)?;
    let message = sentence(&summary.pass_at);
    // The number of steps that the policy has taken, here as in training.
    let found = EvaluationFound::Job(EvaluationComplete { summary, step: 0 });
    reporter.event(NewEvent::info(message, EventBody::Evaluation(found)))?;
    reporter.artifact(&saved)?;
    Ok(Some(saved))
}

/// What became of a prompt.
fn result(rows: &Dataset, ks: &[u32], seed: u64, group: &RolloutGroup) -> Result<PromptResult, EngineError> {
    let fields = rows.row(group.row)?.fields;
    let columns = serde_json::to_vec(fields.as_ref()).map_err(|error| EngineError::Internal(error.to_string()))?;
    let count = |holds: &dyn Fn(&rollout::Rollout) -> bool| group.rollouts.iter().filter(|r| holds(r)).count() as u32;
    let (votes_of, stream) = (group.votes(), Stream::new(seed, Purpose::Votes, 0));
    Ok(PromptResult {
        row: group.row,
        row_sha256: sha256_hex(&columns),
        prompt: group.text.chars().take(PROMPT_CHARACTERS).collect(),
        samples: group.rollouts.len() as u32,
        passed: group.passed(),
        unparsable: count(&|rollout| rollout.status == Some(ScoreStatus::Unparsable)),
        majority: votes_of.map(|(majority, _)| majority),
        majority_at: group.majorities(ks, &stream),
        distinct_answers: votes_of.map(|(_, distinct)| distinct),
        reward_sum: group.rewards().iter().sum(),
        tokens: group.rollouts.iter().map(|rollout| rollout.drawn() as u64).sum(),
        truncated: count(&|rollout| rollout.finish == FinishReason::Length),
        completions: group.rollouts.iter().take(COMPLETIONS_KEPT).map(kept).collect(),
    })
}

/// What is kept of a completion.
fn kept(rollout: &rollout::Rollout) -> EvaluatedCompletion {
    EvaluatedCompletion {
        sample: rollout.sample,
        completion: rollout.text.chars().take(COMPLETION_CHARACTERS).collect(),
        answer: rollout.answer.clone(),
        tokens: rollout.drawn() as u64,
        finish: rollout.finish,
        status: rollout.status,
        reward: rollout.reward,
        detail: rollout.detail.clone(),
    }
}

/// Makes the files of the parts; doing so again gives the same.
fn publish(job: &EvaluationJob, parts: u64) -> Result<(Saved, EvaluationSummary), EngineError> {
    let actor = &job.actor;
    let directory = actor.directory.join(format!("evaluation-{}", actor.attempt));
    let mut found = EvaluationSummary::default();
    let saved = artifact::save(&directory, actor.manifest(ArtifactKind::Evaluation, 0), |folder| {
        let dir = folder.path();
        let path = dir.join(COMPLETIONS_FILE);
        let io = |error| EngineError::io("writing", &path, error);
        let mut completions = BufWriter::new(File::create(&path).map_err(io)?);
        let (mut results, mut bytes): (Vec<PromptResult>, usize) = (Vec::new(), 0);
        for part in 0..parts {
            for line in read_lines::<PromptResult>(&kept_part(&actor.directory, part)?, "evaluation_corrupt")? {
                let mut result = line?;
                // They may be many and long, and nothing that is counted is in them.
                let texts = std::mem::take(&mut result.completions);
                let text = serde_json::to_vec(&texts).map_err(std::io::Error::from).map_err(io)?;
                bytes += text.len();
                completions.write_all(if bytes > COMPLETIONS_BYTES { b"[]" } else { &text }).map_err(io)?;
                completions.write_all(b"\n").map_err(io)?;
                results.push(result);
            }
        }
        completions.flush().map_err(io)?;
        found = summary(&job.spec, &results);
        rollout::write(&dir.join(RESULTS_FILE), &results)?;
        artifact::write_json(&dir.join(EVALUATION_FILE), &found)?;
        Ok(ArtifactSummary::Evaluation(found.clone()))
    })?;
    Ok((saved, found))
}

fn summary(spec: &Evaluating, results: &[PromptResult]) -> EvaluationSummary {
    let sum = |of: &dyn Fn(&PromptResult) -> u64| results.iter().map(of).sum::<u64>();
    let completions = sum(&|result| u64::from(result.samples));
    let share = |part: f64| part / completions.max(1) as f64;
    let counts: Vec<(u32, u32)> = results.iter().map(|result| (result.samples, result.passed)).collect();
    let rows: Vec<&str> = results.iter().map(|result| result.row_sha256.as_str()).collect();
    let votes_of = results.iter().map(|result| (result.majority.zip(result.distinct_answers), result.samples));
    let (majority, distinct_answers) = votes(spec.samples, &votes_of.collect::<Vec<_>>());
    // A prompt without answers has no majority that passes; one with fewer completions, or of a version before, does not count.
    let majority_at = |k: u32| {
        let known = results.iter().filter(|result| result.samples >= k);
        let rate = |result: &PromptResult| match result.majority {
            None => Some(0.0),
            Some(_) => result.majority_at.get(&k).copied(),
        };
        let RateInterval { mean, low, high } = rate_interval(&known.filter_map(rate).collect::<Vec<_>>());
        PassAtK::new(k, mean, low, high)
    };
    let has_answers = majority.is_some();
    EvaluationSummary {
        prompts: results.len() as u64,
        samples: spec.samples,
        completions,
        unscored: results.len() as u64 * u64::from(spec.samples) - completions,
        passed: sum(&|result| u64::from(result.passed)),
        unparsable: sum(&|result| u64::from(result.unparsable)),
        pass_at: pass_at(&spec.pass_at, &counts),
        majority,
        majority_at: spec.pass_at.iter().filter(|_| has_answers).map(|k| majority_at(*k)).collect(),
        distinct_answers,
        reward_mean: share(results.iter().map(|result| result.reward_sum).sum()),
        tokens_mean: share(sum(&|result| result.tokens) as f64),
        truncated: share(sum(&|result| u64::from(result.truncated)) as f64),
        rows_digest: format!("sha256:{}", sha256_hex(rows.join("\n").as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Split;
    use crate::dataset::builtin::BuiltinSet;
    use crate::engine::rollout::tests::group;
    use crate::job::spec::Precision;
    use crate::spec::{EvaluationSplit, RowsRef};

    #[test]
    fn what_is_kept_of_each_prompt_adds_up_to_the_summary() {
        let spec = Evaluating {
            rows: RowsRef::Builtin(BuiltinSet::Arithmetic),
            split: Some(EvaluationSplit::Eval),
            samples: 4,
            pass_at: vec![1, 4],
            prompts: 2,
            precision: Precision::F32,
        };
        let rows = BuiltinSet::Arithmetic.open(Split::Eval);
        let groups = [group(&[1.0, 0.0, 0.0, 0.0]), RolloutGroup { row: 1, ..group(&[0.5, 1.0, 0.0]) }];
        let results: Vec<PromptResult> = groups.iter().map(|group| result(&rows, &[1, 4], 3, group).unwrap()).collect();
        assert_eq!((results[1].samples, results[1].passed, results[1].reward_sum), (3, 2, 1.5));
        assert_ne!(results[0].row_sha256, results[1].row_sha256);
        let kept: Vec<f64> = results[1].completions.iter().map(|completion| completion.reward).collect();
        assert_eq!(kept, [0.5, 1.0, 0.0]);
        let found = summary(&spec, &results);
        assert_eq!((found.prompts, found.completions, found.unscored, found.passed), (2, 7, 1, 3));
        assert!((found.pass_at[0].mean - (0.25 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
        assert_eq!(found.pass_at[1].mean, 1.0, "only the first prompt has four completions");
        assert!((found.reward_mean - 2.5 / 7.0).abs() < 1e-12);
    }
}
