//! Published methods that are settings of an objective: nothing of them is code of its own.

use serde_json::Value;

/// A method by the name that it was published under.
#[derive(Clone, Debug)]
pub struct Preset {
    pub name: &'static str,
    /// One sentence for someone who knows the name.
    pub summary: &'static str,
    pub source: &'static str,
    /// The part of a spec that makes it: `objective`, and what other sections it takes.
    pub spec: Value,
}

/// Name, source, what it does, and the sections of a spec.
type Line = (&'static str, &'static str, &'static str, &'static str);

const LINES: &[Line] = &[
    (
        "grpo_as_published",
        "arXiv 2402.03300",
        "GRPO with each completion's tokens averaged first, and its KL penalty.",
        r#"{"objective": {"type": "grpo", "aggregation": "sequence_mean", "kl_coef": 0.04}}"#,
    ),
    (
        "dapo",
        "arXiv 2503.14476",
        "GRPO with more room upwards, all tokens alike, and prompts without spread replaced; its penalty on overlong \
         completions is the verifier `length` with the rule `soft_overlong`.",
        r#"{"objective": {"type": "grpo", "clip_high": 0.28}, "rollouts": {"dynamic_sampling": 4}}"#,
    ),
    (
        "dr_grpo",
        "arXiv 2503.20783",
        "GRPO without its two divisions: by the group's standard deviation and by the completion's length.",
        r#"{"objective": {"type": "grpo", "scale": "none", "aggregation": {"constant": 1024}}}"#,
    ),
    (
        "rloo",
        "arXiv 2402.14740",
        "REINFORCE with the mean of the other completions as the baseline.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "rloo"}}"#,
    ),
    (
        "reinforce_plus_plus",
        "arXiv 2501.03262",
        "Rewards standardised over the whole step, with PPO's clipped surrogate.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "batch_std", "correction": "clip"}}"#,
    ),
    (
        "reinforce_plus_plus_baseline",
        "arXiv 2501.03262",
        "The same with the prompt's mean taken away first.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "mean_batch_std", "correction": "clip"}}"#,
    ),
    (
        "gspo",
        "arXiv 2507.18071",
        "Ratios of whole completions, by the geometric mean over their tokens, clipped within a narrow range.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "clip",
            "ratio": "sequence_mean", "clip_low": 0.0003, "clip_high": 0.0004, "aggregation": "sequence_mean"}}"#,
    ),
    (
        "cispo",
        "arXiv 2506.13585",
        "Importance weights that are clipped, so that no token loses its gradient.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "clipped_weights",
            "clip_low": 1.0, "clip_high": 0.2}}"#,
    ),
    (
        "decoupled_ppo",
        "arXiv 2110.00641, 2505.24298",
        "PPO's clipped surrogate around the policy that a phase's steps begin with, for phases that are sampled ahead.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "decoupled", "cap": 5.0},
            "train": {"max_lag": 1}}"#,
    ),
    (
        "tis",
        "Ionides 2008",
        "Truncated importance sampling by token, for samplers that round otherwise or lag behind.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "truncated"}}"#,
    ),
    (
        "sequence_tis",
        "Ionides 2008",
        "Truncated importance sampling by completion.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "truncated",
            "ratio": "sequence"}}"#,
    ),
    (
        "mis",
        "IcePop, Ling team, 2025",
        "Masked importance sampling by token: those whose ratio is above the cap do not count (IcePop masks those far below 1, too).",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "masked"}}"#,
    ),
    (
        "sequence_mis",
        "arXiv 2510.26788",
        "Masked importance sampling by completion.",
        r#"{"objective": {"type": "policy_gradient", "advantage": "group_std", "correction": "masked",
            "ratio": "sequence"}}"#,
    ),
    (
        "pass_at_k",
        "arXiv 2505.15201",
        "The unbiased gradient of pass@k by leaving completions out.",
        r#"{"objective": {"type": "policy_gradient", "advantage": {"pass_at_k": {"k": 4}}, "correction": "clip"}}"#,
    ),
];

/// All of them.
pub fn all() -> Vec<Preset> {
    let preset = |(name, source, summary, spec): &Line| Preset {
        name,
        source,
        summary,
        spec: serde_json::from_str(spec).unwrap_or_default(),
    };
    LINES.iter().map(preset).collect()
}

/// Those that are settings of the objective with this name.
pub fn of(objective: &str) -> impl Iterator<Item = Preset> {
    all().into_iter().filter(move |preset| preset.spec["objective"]["type"] == objective)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::field;
    use crate::job::spec::{RolloutSpec, SamplingSpec, TrainSpec};
    use crate::objective::{Config, Sections, catalog, check};

    #[test]
    fn every_preset_is_a_part_of_a_spec_that_runs() {
        let names: Vec<&str> = catalog().iter().map(|objective| objective.name).collect();
        let found: usize = names.iter().map(|name| of(name).count()).sum();
        assert_eq!(found, all().len(), "each has an objective");
        for Preset { name, spec, .. } in all() {
            let config = Config::parse(&spec["objective"], "/objective").unwrap();
            let rollouts: RolloutSpec = match spec.get("rollouts") {
                Some(rollouts) => field::parse(rollouts, "").unwrap(),
                None => RolloutSpec::default(),
            };
            let train = spec.get("train").map_or_else(TrainSpec::default, |train| field::parse(train, "").unwrap());
            let sampling = SamplingSpec::default();
            check(&config, &Sections { train: &train, sampling: &sampling, rollouts: &rollouts })
                .unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            let known = ["objective", "rollouts", "train"];
            assert!(spec.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{name}");
        }
    }
}
