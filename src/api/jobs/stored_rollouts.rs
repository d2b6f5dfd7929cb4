//! Whether a job may learn from a stored rollout set, keep what it samples, or neither.

use crate::api::error::Problem;
use crate::api::resolve::{Model, found};
use crate::api::rollout_sets::not_ready;
use crate::job::{FieldError, RolloutSetId, RolloutSummary};
use crate::objective::{self, StoredRollouts};
use crate::spec::JobSpec;
use crate::store::Store;

/// Checks `rollouts` of a spec against its objective and against the model that the job starts from; the answer is the
/// set that it names.
pub async fn check(
    store: &Store,
    spec: &JobSpec,
    objective: &objective::Config,
    model: &Model,
) -> Result<Result<Option<RolloutSetId>, Vec<FieldError>>, Problem> {
    let mut errors = Vec::new();
    let needs = objective.build(&spec.train).needs();
    if spec.rollouts.keep && needs.completions {
        let detail = format!("`{}` samples nothing that could be kept; leave `keep` out", objective.name());
        errors.push(FieldError::new("/rollouts/keep", "rollouts_refused", detail));
    }
    let (pointer, name) = match (&spec.rollouts.from, &spec.rollouts.mix) {
        (Some(name), _) => ("/rollouts/from", name),
        (None, Some(mix)) => ("/rollouts/mix/rollout_set", &mix.rollout_set),
        (None, None) => return Ok(if errors.is_empty() { Ok(None) } else { Err(errors) }),
    };
    let admitted = objective.stored_rollouts();
    if let Some(detail) = refusal(admitted, objective.name(), spec.rollouts.mix.is_some()) {
        let pointer = pointer.trim_end_matches("/rollout_set");
        errors.push(FieldError::new(pointer, "rollouts_refused", detail));
    }
    let mut refuse = |code, detail| errors.push(FieldError::new(pointer, code, detail));
    let Ok(id) = name.parse::<RolloutSetId>() else {
        refuse("not_found", format!("`{name}` is no rollout set (rs_...); GET /v1/rollout-sets lists them"));
        return Ok(Err(errors));
    };
    let set = match found(store.rollout_set(id).await, pointer)? {
        Ok(set) => set,
        Err(error) => {
            refuse(error.code, error.detail);
            return Ok(Err(errors));
        }
    };
    if model.digest.as_ref() != Some(&set.model_digest)
        && let Some(way_out) = way_out(admitted, spec.rollouts.from_another_model)
    {
        let detail = format!(
            "the rollout set was sampled from `{}`, whose weights are not those of `{}`; start from that model, or make \
             a set from this one{way_out}",
            set.model, spec.model
        );
        refuse("rollouts_from_another_model", detail);
    }
    let Some(content) = &set.content else {
        refuse("rollout_set_not_ready", not_ready(&set));
        return Ok(Err(errors));
    };
    if needs.verifier && content.summary.reward_mean.is_none() {
        let detail = "the rollout set has no rewards, which the objective learns from; make one with a `verifier`";
        refuse("no_rewards", detail.to_owned());
    }
    if needs.groups && content.summary.rollouts <= content.summary.groups {
        let detail = "the set has one completion per prompt, and the objective compares those of a prompt with each \
                      other; make one with a larger `group_size`";
        refuse("group_too_small", detail.to_owned());
    }
    if admitted == StoredRollouts::Any && needs.groups && content.summary.zero_spread == Some(1.0) {
        let detail = "in every group of the set all rewards are equal, from which nothing can be learnt; use easier or \
                      harder prompts";
        refuse("no_learning_signal", detail.to_owned());
    }
    if admitted == StoredRollouts::OfTheStart
        && let Some(detail) = departure(&content.summary)
    {
        refuse("rollouts_not_from_the_reference", detail);
    }
    Ok(if errors.is_empty() { Ok(Some(id)) } else { Err(errors) })
}

/// What else can be done about a set of another model; none where it can be learnt from.
fn way_out(admitted: StoredRollouts, allowed: bool) -> Option<&'static str> {
    match admitted {
        StoredRollouts::Any if allowed => None,
        StoredRollouts::Any => Some("; or say `rollouts.from_another_model`, if both have one tokenizer"),
        StoredRollouts::OfTheStart | StoredRollouts::Refused => Some(""),
    }
}

/// Why an objective cannot use stored completions in the wanted way.
fn refusal(admitted: StoredRollouts, name: &str, mix: bool) -> Option<String> {
    match admitted {
        StoredRollouts::Refused => Some(format!(
            "`{name}` cannot learn from stored completions; leave this out, or choose another objective or \
                 correction"
        )),
        StoredRollouts::OfTheStart if mix => Some(format!(
            "`{name}` learns from the completions of one policy, so that stored and fresh ones do not mix; use \
             `rollouts.from`, or leave this out"
        )),
        StoredRollouts::OfTheStart | StoredRollouts::Any => None,
    }
}

/// In what way a set's completions do not come from the distribution of the model itself.
fn departure(summary: &RolloutSummary) -> Option<String> {
    let fix = "the objective needs completions of the model that the job starts from, sampled at temperature 1 with \
               top_p 1, top_k 0 and no weights or cache of fewer bits; make such a set with POST /v1/rollout-sets";
    if summary.max_step > 0 {
        return Some(format!("some of its completions were sampled after {} training steps; {fix}", summary.max_step));
    }
    (!summary.whole_distribution)
        .then(|| format!("it was sampled with another temperature, top_p, top_k, weights or cache, or from rounded weights or a model with an adapter; {fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_samples_of_the_start_come_from_the_reference() {
        let plain = RolloutSummary { whole_distribution: true, ..RolloutSummary::default() };
        assert_eq!(departure(&plain), None);
        assert!(departure(&RolloutSummary { max_step: 3, ..plain.clone() }).is_some());
        assert!(departure(&RolloutSummary { whole_distribution: false, ..plain }).is_some());
    }

    #[test]
    fn objectives_say_which_stored_completions_they_admit() {
        assert!(refusal(StoredRollouts::Refused, "sft", false).is_some());
        assert!(refusal(StoredRollouts::OfTheStart, "bolt", true).is_some());
        assert!(refusal(StoredRollouts::OfTheStart, "bolt", false).is_none());
        assert!(refusal(StoredRollouts::Any, "other", true).is_none());
    }
}
