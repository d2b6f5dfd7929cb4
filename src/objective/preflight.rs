//! What can be refused, or should be said, before a device is used.

use super::advantage::Estimator;
use super::{Circumstances, Config, Warning};
use crate::job::field::FieldError;
use crate::job::spec::{MAX_ROLLOUTS, RolloutSpec, SamplingSpec, TrainSpec};

/// The sections of a spec that an objective has to fit.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a, R> {
    pub train: &'a TrainSpec,
    pub sampling: &'a SamplingSpec,
    pub rollouts: &'a RolloutSpec<R>,
}

/// Refuses plans that cannot be held in memory or make no sense.
pub fn check<R>(config: &Config, spec: &Sections<'_, R>) -> Result<(), Vec<FieldError>> {
    let objective = config.build(spec.train);
    let (plan, needs) = (objective.plan(), objective.needs());
    let mut errors = Vec::new();
    let mut refuse = |pointer: &str, code, detail: String| errors.push(FieldError::new(pointer, code, detail));
    if plan.rounds > plan.steps {
        let detail = format!("{} rounds need at least as many `train.steps`, got {}", plan.rounds, plan.steps);
        refuse("/objective/rounds", "out_of_range", detail);
    }
    let longest = plan.longest_round();
    let train = spec.train;
    let phases = (u64::from(train.max_lag) + 1).min(plan.rounds);
    let prompts = plan.most_prompts(train, spec.rollouts);
    let rollouts = prompts.saturating_mul(u64::from(plan.group_size)).saturating_mul(phases);
    let samples = !needs.completions && spec.rollouts.from.is_none();
    if samples && rollouts > MAX_ROLLOUTS {
        let detail = format!(
            "{rollouts} completions would wait to be trained on, more than {MAX_ROLLOUTS}; use more rounds, or fewer \
             prompts"
        );
        refuse("/train/steps", "out_of_range", detail);
    }
    let oldest = (longest * phases).saturating_sub(1);
    if let Some(staleness) = train.max_staleness.filter(|staleness| samples && oldest > *staleness) {
        let detail = format!(
            "a sampling phase serves {longest} steps, so that completions get {oldest} steps old, more than {staleness}; \
             raise it, lower `updates_per_rollout` or `max_lag`, or use more rounds",
        );
        refuse("/train/max_staleness", "out_of_range", detail);
    }
    if train.max_lag > 0 && !(samples && plan.is_online()) {
        let detail = format!(
            "`{}` does not sample as it trains, so that nothing can be sampled ahead; leave it out, or choose an objective \
             that does",
            config.name()
        );
        refuse("/train/max_lag", "out_of_range", detail);
    }
    if spec.rollouts.dynamic_sampling > 0 && !(samples && needs.verifier && plan.group_size > 1) {
        let detail = "replaces prompts whose completions all earn the same, which takes completions that are sampled and \
                      judged, at least 2 a prompt; leave it out";
        refuse("/rollouts/dynamic_sampling", "out_of_range", String::from(detail));
    }
    if samples && needs.verifier && spec.sampling.temperature == 0.0 {
        let detail = "greedy sampling gives equal completions, from which nothing can be learnt; use 1";
        refuse("/sampling/temperature", "out_of_range", String::from(detail));
    }
    if spec.rollouts.from.is_some() && plan.refreshes() {
        let detail = "a stored rollout set cannot be refreshed; use one round, or sample";
        refuse("/objective/rounds", "out_of_range", String::from(detail));
    }
    let kept = plan.prompts_before(plan.rounds, train, spec.rollouts).saturating_mul(u64::from(plan.group_size));
    if samples && spec.rollouts.keep && kept > MAX_ROLLOUTS {
        let detail = format!("the job would keep {kept} completions, more than {MAX_ROLLOUTS}; take fewer steps");
        refuse("/rollouts/keep", "out_of_range", detail);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Why ratios are not 1 from the start when a part of the vocabulary was left out.
pub(super) const TRUNCATED: Warning = (
    "/sampling",
    "off_policy",
    "with top_p or top_k the recorded log-probabilities are those of the truncated distribution, so that ratios start \
     below 1",
);

/// Whose solve rate and entropy FADE's averages are.
const STALE: Warning = (
    "/objective",
    "off_policy",
    "completions that are stored, used again, sampled ahead, or sampled from another distribution than the policy's have the solve \
     rate and the entropy of what sampled them: FADE's averages follow that, and not the policy that is trained",
);

/// What a client should know of a job that is possible but probably not what they want. `stored_temperature` is what the stored
/// completions that it learns from were sampled at, if it learns from any.
pub fn warnings<R>(config: &Config, spec: &Sections<'_, R>, stored_temperature: Option<f64>) -> Vec<FieldError> {
    let objective = config.build(spec.train);
    let samples = !objective.needs().completions && spec.rollouts.from.is_none();
    let s = spec.sampling;
    let job = Circumstances {
        samples,
        shifted: samples && (s.temperature != 1.0 || s.is_narrowed()),
        truncated: samples && (s.top_p < 1.0 || s.top_k > 0),
        reused: objective.plan().longest_round() > 1 || spec.train.max_lag > 0,
        hotter: (samples && s.temperature > 1.0) || stored_temperature.is_some_and(|degrees| degrees > 1.0),
        from_another_model: spec.rollouts.from_another_model,
    };
    let is_elsewhere = job.reused || !samples || job.shifted || job.truncated || spec.rollouts.mix.is_some();
    let is_scheduled = matches!(objective.estimator(), Some(Estimator::Scheduled(_)));
    let stale = (is_scheduled && is_elsewhere).then_some(STALE);
    let warnings = config.warnings(&job).into_iter().chain(stale);
    warnings.map(|(pointer, code, detail)| FieldError::new(pointer, code, detail)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::job::field;

    fn with<T>(objective: Value, rest: Value, ask: impl Fn(&Config, &Sections<'_, String>) -> T) -> T {
        let (train, sampling, rollouts) = (&rest["train"], &rest["sampling"], &rest["rollouts"]);
        fn read<T: Default + serde::de::DeserializeOwned>(section: &Value) -> T {
            if section.is_null() { T::default() } else { field::parse(section, "").unwrap() }
        }
        let (train, sampling, rollouts) = (read(train), read(sampling), read(rollouts));
        let sections = Sections { train: &train, sampling: &sampling, rollouts: &rollouts };
        ask(&Config::parse(&objective, "/objective").unwrap(), &sections)
    }

    #[test]
    fn nonsense_is_refused_by_field() {
        let pointer = |objective, rest| {
            with(objective, rest, |config, sections| check(config, sections).unwrap_err()[0].pointer.clone())
        };
        assert_eq!(pointer(json!({"type": "bolt", "rounds": 9}), json!({"train": {"steps": 3}})), "/objective/rounds");
        let stale = json!({"train": {"updates_per_rollout": 4, "max_staleness": 1}});
        assert_eq!(pointer(json!({"type": "p3o"}), stale), "/train/max_staleness");
        let stale = json!({"train": {"max_lag": 2, "max_staleness": 1}});
        assert_eq!(pointer(json!({"type": "p3o"}), stale), "/train/max_staleness");
        let ahead = json!({"train": {"max_lag": 1}});
        assert_eq!(pointer(json!({"type": "bolt"}), ahead.clone()), "/train/max_lag");
        assert_eq!(pointer(json!({"type": "sft"}), ahead), "/train/max_lag");
        let replaced = json!({"rollouts": {"dynamic_sampling": 2}});
        assert_eq!(pointer(json!({"type": "sft"}), replaced.clone()), "/rollouts/dynamic_sampling");
        let unjudged = json!({"type": "vopd", "teacher": "builtin:arith-tiny"});
        assert_eq!(pointer(unjudged, replaced), "/rollouts/dynamic_sampling");
        let huge = json!({"train": {"steps": 1_000_000, "prompts_per_step": 64}});
        assert_eq!(pointer(json!({"type": "bolt"}), huge), "/train/steps");
        let greedy = json!({"sampling": {"temperature": 0.0}});
        assert_eq!(pointer(json!({"type": "grpo"}), greedy), "/sampling/temperature");
        let refreshed = json!({"type": "bolt", "rounds": 2});
        assert_eq!(pointer(refreshed, json!({"rollouts": {"from": "rs_0"}})), "/objective/rounds");
    }

    #[test]
    fn departures_are_said() {
        let codes = |objective, rest: Value| {
            let stored = rest["stored_temperature"].as_f64();
            with(objective, rest, |config, sections| {
                warnings(config, sections, stored).into_iter().map(|w| w.code).collect::<Vec<_>>()
            })
        };
        let hot = json!({"sampling": {"temperature": 1.3}});
        assert_eq!(codes(json!({"type": "bolt"}), hot.clone()), ["reference_changed"]);
        assert_eq!(codes(json!({"type": "p3o"}), hot.clone()), ["p3o_pulled_to_sampler"]);
        let others = json!({"rollouts": {"from": "rs_0", "from_another_model": true}});
        assert_eq!(codes(json!({"type": "p3o"}), others.clone()), ["p3o_pulled_to_sampler"]);
        let importance = json!({"type": "p3o", "kl_estimator": "importance"});
        assert_eq!(codes(importance.clone(), hot.clone()), Vec::<&str>::new());
        assert_eq!(codes(importance, others.clone()), ["p3o_pulled_to_sampler"]);
        assert_eq!(codes(json!({"type": "p3o", "behavior_coef": 0.0}), others), Vec::<&str>::new());
        let stored = json!({"rollouts": {"from": "rs_0"}, "stored_temperature": 2.0});
        assert_eq!(codes(json!({"type": "p3o"}), stored), ["p3o_pulled_to_sampler"]);
        let cold = json!({"sampling": {"temperature": 0.6}});
        assert_eq!(codes(json!({"type": "p3o"}), cold), Vec::<&str>::new());
        assert_eq!(codes(json!({"type": "policy_gradient"}), hot), ["off_policy"]);
        let ahead = json!({"train": {"max_lag": 1}});
        assert_eq!(codes(json!({"type": "policy_gradient"}), ahead.clone()), ["off_policy"]);
        // The averages that it follows are of the policy that sampled.
        assert_eq!(codes(json!({"type": "fade"}), json!({})), Vec::<&str>::new());
        for stale in [ahead, json!({"train": {"updates_per_rollout": 2}}), json!({"rollouts": {"from": "rs_0"}})] {
            assert_eq!(codes(json!({"type": "fade"}), stale.clone()), ["off_policy"]);
            let of = |kind: &str| json!({"type": kind, "advantage": {"fade": {}}, "correction": "clip"});
            assert_eq!(codes(of("policy_gradient"), stale), ["off_policy"]);
        }
        let mixed = json!({"rollouts": {"mix": {"rollout_set": "rs_0", "share": 0.5}}});
        for other in [mixed, json!({"sampling": {"weights": "int8"}}), json!({"sampling": {"temperature": 0.6}})] {
            assert_eq!(codes(json!({"type": "fade"}), other.clone()), ["off_policy"]);
            assert_eq!(codes(json!({"type": "p3o", "advantage": {"fade": {}}}), other.clone()), ["off_policy"]);
            assert_eq!(codes(json!({"type": "p3o"}), other), Vec::<&str>::new());
        }
        // What a part of the distribution was sampled from is not the policy's own, whose averages they would have to be.
        let narrow = json!({"sampling": {"top_p": 0.9}});
        let (plain, scheduled) = (json!({"type": "p3o"}), json!({"type": "p3o", "advantage": {"fade": {}}}));
        assert_eq!(codes(scheduled, narrow.clone()).len(), codes(plain, narrow).len() + 1);
        for narrowed in [json!({"weights": "int8"}), json!({"cache": "bf16"})] {
            let quick = || json!({"sampling": narrowed});
            assert_eq!(codes(json!({"type": "bolt"}), quick()), ["reference_changed"]);
            assert_eq!(codes(json!({"type": "policy_gradient"}), quick()), ["off_policy"]);
            assert_eq!(codes(json!({"type": "vopd", "teacher": "builtin:arith-tiny"}), quick()), ["off_policy"]);
            assert_eq!(codes(json!({"type": "p3o"}), quick()), Vec::<&str>::new());
            assert_eq!(codes(json!({"type": "grpo"}), quick()), Vec::<&str>::new());
        }
        assert_eq!(codes(json!({"type": "bolt", "zero_spread": "skip"}), json!({})), ["departure"]);
        let product = json!({"type": "policy_gradient", "correction": "clip", "ratio": "sequence"});
        assert_eq!(codes(product, json!({})), ["departure"]);
    }
}
