//! What can be refused, or should be said, before a device is used.

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
    // Round 0 is among the longest: the last rounds are the ones that may be shorter or, sharing evenly, longer by one.
    let prompts = plan.prompts_of(0, train, spec.rollouts).max(plan.prompts_of(plan.rounds - 1, train, spec.rollouts));
    let rollouts = prompts.saturating_mul(u64::from(plan.group_size));
    let samples = !needs.completions && spec.rollouts.from.is_none();
    if samples && rollouts > MAX_ROLLOUTS {
        let detail = format!("a round would sample {rollouts} completions, more than {MAX_ROLLOUTS}; use more rounds");
        refuse("/train/steps", "out_of_range", detail);
    }
    if let Some(staleness) = train.max_staleness.filter(|staleness| samples && longest > staleness + 1) {
        let detail = format!(
            "a sampling phase serves {longest} steps, so that completions get {} steps old, more than {staleness}; raise \
             it, lower `updates_per_rollout`, or use more rounds",
            longest - 1
        );
        refuse("/train/max_staleness", "out_of_range", detail);
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

/// What a client should know of a job that is possible but probably not what they want.
pub fn warnings<R>(config: &Config, spec: &Sections<'_, R>) -> Vec<FieldError> {
    let objective = config.build(spec.train);
    let samples = !objective.needs().completions && spec.rollouts.from.is_none();
    let s = spec.sampling;
    let job = Circumstances {
        samples,
        shifted: samples && (s.temperature != 1.0 || s.is_narrowed()),
        truncated: samples && (s.top_p < 1.0 || s.top_k > 0),
        reused: objective.plan().longest_round() > 1,
    };
    let warnings = config.warnings(&job).into_iter();
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
        let huge = json!({"train": {"steps": 1_000_000, "prompts_per_step": 64}});
        assert_eq!(pointer(json!({"type": "bolt"}), huge), "/train/steps");
        let greedy = json!({"sampling": {"temperature": 0.0}});
        assert_eq!(pointer(json!({"type": "grpo"}), greedy), "/sampling/temperature");
        let refreshed = json!({"type": "bolt", "rounds": 2});
        assert_eq!(pointer(refreshed, json!({"rollouts": {"from": "rs_0"}})), "/objective/rounds");
    }

    #[test]
    fn departures_are_said() {
        let codes = |objective, rest| {
            with(objective, rest, |config, sections| {
                warnings(config, sections).into_iter().map(|w| w.code).collect::<Vec<_>>()
            })
        };
        let hot = json!({"sampling": {"temperature": 1.3}});
        assert_eq!(codes(json!({"type": "bolt"}), hot.clone()), ["reference_changed"]);
        assert_eq!(codes(json!({"type": "p3o"}), hot.clone()), Vec::<&str>::new());
        assert_eq!(codes(json!({"type": "policy_gradient"}), hot), ["off_policy"]);
        for narrowed in [json!({"weights": "int8"}), json!({"cache": "bf16"})] {
            let quick = || json!({"sampling": narrowed});
            assert_eq!(codes(json!({"type": "bolt"}), quick()), ["reference_changed"]);
            assert_eq!(codes(json!({"type": "policy_gradient"}), quick()), ["off_policy"]);
            assert_eq!(codes(json!({"type": "vopd", "teacher": "builtin:arith-tiny"}), quick()), ["off_policy"]);
            assert_eq!(codes(json!({"type": "p3o"}), quick()), Vec::<&str>::new());
            assert_eq!(codes(json!({"type": "grpo"}), quick()), Vec::<&str>::new());
        }
        assert_eq!(codes(json!({"type": "bolt", "zero_spread": "skip"}), json!({})), ["departure"]);
    }
}
