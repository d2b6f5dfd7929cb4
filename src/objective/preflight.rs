//! What can be refused, or should be said, before a device is used.

use super::policy_gradient::{self, Correction};
use super::{Config, Needs, bolt, p3o};
use crate::job::JobSpec;
use crate::job::field::{FieldError, Fields};
use crate::job::spec::MAX_ROLLOUTS;

/// Refuses a group too small to compare completions within.
pub(super) fn check_group(fields: &mut Fields, group_size: u32) {
    fields.require(
        (2..=1024).contains(&group_size),
        "group_size",
        "must lie between 2 and 1024; the completions of a prompt are compared with each other",
    );
}

/// Refuses plans that cannot be held in memory or make no sense.
pub fn check(config: &Config, spec: &JobSpec) -> Result<(), Vec<FieldError>> {
    let objective = config.build(&spec.train);
    let (plan, needs) = (objective.plan(), objective.needs());
    let mut errors = Vec::new();
    let mut refuse = |pointer: &str, code, detail: String| errors.push(FieldError::new(pointer, code, detail));
    if plan.rounds > plan.steps {
        let detail = format!("{} rounds need at least as many `train.steps`, got {}", plan.rounds, plan.steps);
        refuse("/objective/rounds", "out_of_range", detail);
    }
    let longest = plan.longest_round();
    let train = &spec.train;
    // Round 0 is among the longest: the last rounds are the ones that may be shorter or, sharing evenly, longer by one.
    let prompts =
        plan.prompts_of(0, train, &spec.rollouts).max(plan.prompts_of(plan.rounds - 1, train, &spec.rollouts));
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
    if spec.rollouts.from.is_some() && plan.rounds > 1 && matches!(config, Config::Bolt(_) | Config::Sft(_)) {
        let detail = "a stored rollout set cannot be refreshed; use one round, or sample";
        refuse("/objective/rounds", "out_of_range", String::from(detail));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// What a client should know of a job that is possible but probably not what they want.
pub fn warnings(config: &Config, spec: &JobSpec) -> Vec<FieldError> {
    let mut warnings = Vec::new();
    let mut warn = |pointer: &str, code, detail: &str| warnings.push(FieldError::new(pointer, code, detail));
    let needs: Needs = config.build(&spec.train).needs();
    let s = &spec.sampling;
    let (shifted, truncated) = (s.temperature != 1.0, s.top_p < 1.0 || s.top_k > 0);
    let samples = !needs.completions && spec.rollouts.from.is_none();
    match config {
        Config::Bolt(_) if samples && (shifted || truncated) => warn(
            "/sampling",
            "reference_changed",
            "temperature, top_p and top_k change the distribution that is sampled, and with it the reference that the \
             target tilts; use temperature 1, top_p 1 and top_k 0 for the model itself",
        ),
        Config::Bolt(bolt::Config { zero_spread: bolt::ZeroSpread::Skip, .. }) => warn(
            "/objective/zero_spread",
            "departure",
            "leaving out groups with equal rewards departs from the published weights, which imitate them",
        ),
        Config::P3o(p3o::Config { ess_scope: p3o::EssScope::MicroBatch, .. }) => warn(
            "/objective/ess_scope",
            "departure",
            "per micro-batch the effective sample size depends on `train.micro_batch_tokens`",
        ),
        Config::Vopd(_) if truncated => warn(
            "/sampling",
            "off_policy",
            "top_p and top_k keep the student from tokens that the teacher may prefer; the gradient is biased",
        ),
        Config::PolicyGradient(policy_gradient::Config { correction: Correction::None, .. })
            if shifted || truncated || spec.train.updates_per_rollout > 1 =>
        {
            warn(
                "/objective/correction",
                "off_policy",
                "completions come from another distribution than the policy's; with `correction` \"none\" nothing corrects \
             for it",
            )
        }
        Config::Grpo(_) | Config::Fade(_) if truncated => warn(
            "/sampling",
            "off_policy",
            "with top_p or top_k the recorded log-probabilities are those of the truncated distribution, so that ratios \
             start below 1",
        ),
        _ => {}
    }
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(objective: Value, rest: Value) -> (Config, JobSpec) {
        let mut spec = json!({
            "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": objective,
        });
        for (key, value) in rest.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let spec = JobSpec::parse(&spec).unwrap();
        (Config::parse(&spec.objective, "/objective").unwrap(), spec)
    }

    #[test]
    fn nonsense_is_refused_by_field() {
        let pointer = |objective, rest| {
            let (config, spec) = spec(objective, rest);
            check(&config, &spec).unwrap_err()[0].pointer.clone()
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
            let (config, spec) = spec(objective, rest);
            warnings(&config, &spec).into_iter().map(|w| w.code).collect::<Vec<_>>()
        };
        let hot = json!({"sampling": {"temperature": 1.3}});
        assert_eq!(codes(json!({"type": "bolt"}), hot.clone()), ["reference_changed"]);
        assert_eq!(codes(json!({"type": "p3o"}), hot.clone()), Vec::<&str>::new());
        assert_eq!(codes(json!({"type": "policy_gradient"}), hot), ["off_policy"]);
        assert_eq!(codes(json!({"type": "bolt", "zero_spread": "skip"}), json!({})), ["departure"]);
    }
}
