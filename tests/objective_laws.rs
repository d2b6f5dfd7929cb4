//! Laws that every objective obeys: padding, micro-batches and the order of sequences change nothing; equal rewards
//! give constant credit; and the special cases in which objectives coincide.

#[path = "common/padded.rs"]
mod padded;

use anneal::objective::{Config, Objective};
use candle_core::DType;
use padded::{Padded, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One configuration of every objective and of each of its branches.
fn configurations() -> Vec<Value> {
    let mut all = vec![
        json!({"type": "sft"}),
        json!({"type": "sft", "source": "successes"}),
        json!({"type": "bolt"}),
        json!({"type": "bolt", "normalization": "token"}),
        json!({"type": "bolt", "zero_spread": "skip", "beta": 0.05}),
        json!({"type": "bolt", "reference": "initial", "rounds": 2}),
        json!({"type": "grpo"}),
        json!({"type": "grpo", "scale": "none", "clip_high": 0.4, "kl_coef": 0.3}),
        json!({"type": "p3o"}),
        json!({"type": "p3o", "advantage": {"fade": {}}}),
        json!({"type": "p3o", "kl_estimator": "importance"}),
        json!({"type": "p3o", "kl_coef": 0.1}),
        json!({"type": "bolt", "weights": "step"}),
        json!({"type": "bolt", "weights": "raw"}),
        json!({"type": "bolt", "weights": "advantage"}),
        json!({"type": "bolt", "weights": {"threshold": 0.5}}),
        json!({"type": "grpo", "scale": "sample_std"}),
        json!({"type": "fade"}),
        json!({"type": "fade", "entropy_target": 3.0, "ema": 0.5}),
        json!({"type": "fade", "alpha_follows": "entropy"}),
        json!({"type": "fade", "alpha_follows": "log_steps", "ema": 0.5}),
        json!({"type": "bolt", "rounds": 2, "beta": 0.5, "final_beta": 0.1}),
        json!({"type": "policy_gradient", "correction": "importance"}),
        json!({"type": "policy_gradient", "correction": "clip"}),
        json!({"type": "policy_gradient", "correction": "decoupled", "cap": 1.1}),
        json!({"type": "policy_gradient", "correction": "truncated", "cap": 1.1}),
        json!({"type": "policy_gradient", "correction": "masked", "cap": 1.1}),
        json!({"type": "policy_gradient", "correction": "clipped_weights", "ratio": "sequence"}),
        json!({"type": "policy_gradient", "correction": "clip", "ratio": "sequence_mean", "aggregation": "sequence_mean"}),
        json!({"type": "policy_gradient", "kl_coef": 0.2, "entropy_coef": 0.1, "aggregation": {"constant": 9}}),
        json!({"type": "grpo", "entropy_coef": 0.1, "kl_coef": 0.3, "aggregation": "sequence_mean"}),
        json!({"type": "p3o", "entropy_coef": 0.1}),
    ];
    let advantages = [
        "\"reinforce\"",
        "\"nsr\"",
        "\"mean\"",
        "\"rloo\"",
        "\"group_std\"",
        "\"group_std_sample\"",
        "\"batch_std\"",
        "\"mean_batch_std\"",
        "\"maxrl\"",
    ]
    .into_iter()
    .chain([
        r#"{"weighted":{"lambda":2}}"#,
        r#"{"pass_at_k":{"k":3}}"#,
        r#"{"log_mean_exp":{"tau":2}}"#,
        r#"{"power":{"alpha":2}}"#,
        r#"{"asym":{"delta":0.5}}"#,
        r#"{"focal":{"alpha":2,"delta":0.5}}"#,
    ]);
    all.extend(
        advantages
            .map(|text| json!({"type": "policy_gradient", "advantage": serde_json::from_str::<Value>(text).unwrap()})),
    );
    let vopd = [
        json!({}),
        json!({"baseline": {"top_k": 3}, "kd_temperature": 2.0}),
        json!({"baseline": "none", "reward_weight": 0.5}),
        json!({"reward_floor": -0.5}),
        json!({"estimator": "full_kl"}),
        json!({"estimator": "top_k_kl", "baseline": {"top_k": 3}}),
    ];
    all.extend(vopd.into_iter().map(|mut spec| {
        spec["type"] = json!("vopd");
        spec["teacher"] = json!("t");
        spec
    }));
    all
}

fn build(spec: &Value, updates_per_rollout: u32) -> Box<dyn Objective> {
    let train = padded::train_spec(updates_per_rollout);
    Config::parse(spec, "/objective").unwrap().build(&train)
}

/// A step of two groups of three completions over six tokens, from a few numbers.
fn step_of(numbers: &[f64], rewards: &[f64], lengths: &[usize]) -> Padded {
    let (b, t, v) = (6, 4, 6);
    let wave = |salt: f64, count: usize, scale: f64| -> Vec<f64> {
        (0..count)
            .map(|i| {
                let number = numbers[i % numbers.len()];
                f64::from((((i as f64 + salt) * 1.37 + number).sin() * scale) as f32)
            })
            .collect()
    };
    let mask = (0..b * t).map(|i| f64::from(u8::from(i % t < lengths[i / t]))).collect();
    let mut step = Padded {
        shape: [b, t, v],
        policy_logits: wave(0.0, b * t * v, 1.5),
        teacher_logits: wave(40.5, b * t * v, 1.5),
        tokens: (0..b * t).map(|i| (i * 7 + lengths[i / t]) % v).collect(),
        mask,
        rewards: rewards.to_vec(),
        groups: vec![0, 0, 0, 1, 1, 1],
        behavior: Vec::new(),
        reference: Vec::new(),
        proximal: None,
        dtype: DType::F32,
    };
    let policy = step.policy_logprobs();
    step.behavior = policy.iter().zip(wave(11.0, b * t, 0.4)).map(|(l, d)| (l + d).min(-1e-3)).collect();
    step.reference = policy.iter().zip(wave(5.0, b * t, 0.3)).map(|(l, d)| (l + d).min(-1e-3)).collect();
    step.proximal = Some(policy.iter().zip(wave(23.0, b * t, 0.2)).map(|(l, d)| (l + d).min(-1e-3)).collect());
    step
}

/// Asserts equality up to rounding; terms of order one may cancel.
fn near(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(0.05_f64, |m, v| m.max(v.abs()));
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= 1e-4 * scale, "{what}[{i}]: {g} against {w}");
    }
}

fn agree(what: &str, a: &Step, b: &Step) {
    near(&format!("{what}: loss"), &[a.loss], &[b.loss]);
    near(&format!("{what}: gradient"), &a.gradient, &b.gradient);
}

/// The step with its sequences in another order; results are put back.
fn permuted(step: &Padded, order: &[usize]) -> Padded {
    let [_, t, v] = step.shape;
    let pick = |values: &[f64], width: usize| {
        order.iter().flat_map(|s| values[s * width..(s + 1) * width].to_vec()).collect::<Vec<_>>()
    };
    Padded {
        shape: step.shape,
        policy_logits: pick(&step.policy_logits, t * v),
        teacher_logits: pick(&step.teacher_logits, t * v),
        tokens: order.iter().flat_map(|s| step.tokens[s * t..(s + 1) * t].to_vec()).collect(),
        mask: pick(&step.mask, t),
        rewards: order.iter().map(|s| step.rewards[*s]).collect(),
        groups: order.iter().map(|s| step.groups[*s]).collect(),
        behavior: pick(&step.behavior, t),
        reference: pick(&step.reference, t),
        proximal: step.proximal.as_ref().map(|proximal| pick(proximal, t)),
        dtype: step.dtype,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn padding_micro_batches_and_order_change_nothing(
        numbers in prop::collection::vec(-3.0..3.0_f64, 17),
        rewards in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 0.3]), 6),
        lengths in prop::collection::vec(1..=4_usize, 6),
    ) {
        let step = step_of(&numbers, &rewards, &lengths);
        for spec in configurations() {
            let mut objective = build(&spec, 2);
            let whole = step.step(objective.as_mut());
            prop_assert!(whole.loss.is_finite());

            let parts = [vec![0], vec![1, 2, 3], vec![4, 5]];
            agree(&format!("{spec} in micro-batches"), &step.step_in(objective.as_ref(), &parts), &whole);

            // What stands under the mask, however large, is not read.
            let mut garbage = step.clone();
            for (i, m) in step.mask.iter().enumerate() {
                if *m == 0.0 {
                    garbage.behavior[i] = -300.0;
                    garbage.reference[i] = -300.0;
                    garbage.policy_logits[i * 6] = 30.0;
                    garbage.teacher_logits[i * 6 + 1] = 30.0;
                }
            }
            let mut again = build(&spec, 2);
            agree(&format!("{spec} with other padding"), &garbage.step(again.as_mut()), &whole);

            let order = [4, 2, 0, 5, 1, 3];
            let mut again = build(&spec, 2);
            let moved = permuted(&step, &order).step(again.as_mut());
            let mut back = [0; 6];
            order.iter().enumerate().for_each(|(new, old)| back[*old] = new);
            let gradient: Vec<f64> = back.iter().flat_map(|s| moved.gradient[s * 24..(s + 1) * 24].to_vec()).collect();
            near(&format!("{spec} in another order"), &gradient, &whole.gradient);
        }
    }

    #[test]
    fn equal_rewards_give_constant_credit(
        numbers in prop::collection::vec(-3.0..3.0_f64, 17),
        reward in prop::sample::select(vec![0.0, 1.0, 0.3]),
    ) {
        let step = step_of(&numbers, &[reward; 6], &[4; 6]);
        for spec in configurations() {
            // With an initial reference the density ratio tells completions apart.
            if spec["reference"] == "initial" {
                continue;
            }
            let mut objective = build(&spec, 1);
            step.begin(objective.as_mut());
            for (_, credits) in step.credits(objective.as_ref()) {
                prop_assert!(credits.iter().all(|c| *c == credits[0]), "{spec}: {credits:?}");
                let zero = ["grpo", "p3o", "fade"].iter().any(|name| spec["type"] == *name);
                prop_assert!(!zero || credits[0] == Some(0.0), "{spec}: {credits:?}");
            }
        }
    }

    #[test]
    fn on_its_own_completions_p3o_is_reinforce_with_the_same_advantage(
        numbers in prop::collection::vec(-3.0..3.0_f64, 17),
        rewards in prop::collection::vec(0.0..1.0_f64, 6),
    ) {
        let mut step = step_of(&numbers, &rewards, &[4, 2, 3, 4, 1, 4]);
        step.behavior = step.policy_logprobs();
        let p3o = step.step(build(&json!({"type": "p3o", "advantage": "rloo"}), 1).as_mut());
        let reinforce = step.step(build(&json!({"type": "policy_gradient", "advantage": "rloo"}), 1).as_mut());
        agree("p3o against reinforce", &p3o, &reinforce);
        // The PPO surrogate has the same gradient there, although another value.
        let ppo = step.step(build(&json!({"type": "grpo", "scale": "none"}), 1).as_mut());
        let mean = step.step(build(&json!({"type": "policy_gradient", "advantage": "mean"}), 1).as_mut());
        near("grpo against the mean advantage", &ppo.gradient, &mean.gradient);
    }

    /// Where the policy in the middle is the one that sampled, nothing is left to weigh; where it is the policy itself, nothing
    /// is left to clip.
    #[test]
    fn decoupled_is_clipped_at_one_end_and_truncated_at_the_other(
        numbers in prop::collection::vec(-3.0..3.0_f64, 17),
        rewards in prop::collection::vec(0.0..1.0_f64, 6),
    ) {
        let mut step = step_of(&numbers, &rewards, &[4, 2, 3, 4, 1, 4]);
        let of = |step: &Padded, correction: &str| {
            let spec = json!({"type": "policy_gradient", "correction": correction, "cap": 1.2, "clip_low": 0.1, "clip_high": 0.1});
            step.step(build(&spec, 1).as_mut())
        };
        step.proximal = Some(step.behavior.clone());
        agree("against clip", &of(&step, "decoupled"), &of(&step, "clip"));
        step.proximal = None;
        agree("untold, against clip", &of(&step, "decoupled"), &of(&step, "clip"));
        step.proximal = Some(step.policy_logprobs());
        near("against truncated", &of(&step, "decoupled").gradient, &of(&step, "truncated").gradient);
    }

    #[test]
    fn fade_with_neutral_dials_is_grpo_without_std(
        numbers in prop::collection::vec(-3.0..3.0_f64, 17),
        rewards in prop::collection::vec(0.0..1.0_f64, 6),
    ) {
        let step = step_of(&numbers, &rewards, &[4, 2, 3, 4, 1, 4]);
        let fade = step.step(build(&json!({"type": "fade", "alpha_max": 1.0, "delta_min": 1.0}), 1).as_mut());
        let grpo = step.step(build(&json!({"type": "grpo", "scale": "none"}), 1).as_mut());
        agree("fade(1, 1) against grpo", &fade, &grpo);
    }
}

/// The expected gradient of one position with six tokens, over all tokens the policy might sample.
fn expected_gradient(spec: &Value, policy: &[f64], teacher: &[f64]) -> Vec<f64> {
    let top = policy.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = policy.iter().map(|x| (x - top).exp()).sum();
    let mut expected = vec![0.0; 6];
    for token in 0..6 {
        let mut step = Padded {
            shape: [1, 1, 6],
            policy_logits: policy.to_vec(),
            teacher_logits: teacher.to_vec(),
            tokens: vec![token],
            mask: vec![1.0],
            rewards: vec![0.0],
            groups: vec![0],
            behavior: vec![0.0],
            reference: vec![0.0],
            proximal: None,
            dtype: DType::F32,
        };
        step.behavior = step.policy_logprobs();
        let gradient = step.step(build(spec, 1).as_mut()).gradient;
        let p = (policy[token] - top).exp() / sum;
        expected.iter_mut().zip(gradient).for_each(|(e, g)| *e += p * g);
    }
    expected
}

/// Any baseline leaves the expected gradient as it is, which is that of the divergence itself.
#[test]
fn vopd_is_unbiased_whatever_its_baseline() {
    let policy = [0.3, -1.2, 0.8, 0.0, 1.9, -0.4].map(|x: f64| f64::from(x as f32));
    let teacher = [1.0, 0.2, -0.7, 0.5, 0.1, 0.9].map(|x: f64| f64::from(x as f32));
    let spec = |fields: Value| {
        let mut spec = json!({"type": "vopd", "teacher": "t"});
        fields.as_object().unwrap().iter().for_each(|(k, v)| spec[k] = v.clone());
        spec
    };
    let none = expected_gradient(&spec(json!({"baseline": "none"})), &policy, &teacher);
    assert!(none.iter().any(|g| g.abs() > 1e-2));
    for baseline in [json!("full"), json!({"top_k": 2}), json!({"top_k": 6})] {
        let with = expected_gradient(&spec(json!({"baseline": baseline})), &policy, &teacher);
        near(&format!("baseline {baseline}"), &with, &none);
    }
    let divergence = expected_gradient(&spec(json!({"estimator": "full_kl"})), &policy, &teacher);
    near("the differentiated divergence", &divergence, &none);
    // The truncated divergence is another function.
    let truncated = spec(json!({"estimator": "top_k_kl", "baseline": {"top_k": 2}}));
    let biased = expected_gradient(&truncated, &policy, &teacher);
    assert!(biased.iter().zip(&none).any(|(b, n)| (b - n).abs() > 1e-2));
}
