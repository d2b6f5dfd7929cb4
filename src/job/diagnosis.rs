//! What the metrics of a training job say is wrong with it, and which change of its spec would help.
//!
//! Each rule is a function of a few series; `docs/diagnoses.md` says the same in words. Series come in points of equally
//! many steps, so that a long job costs no more than a short one, and "late" and "early" are the last and the first
//! quarter of the points. A rule that compares needs eight points, because of a few anything can be said.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::status::names;

/// Points that a comparison needs.
const ENOUGH: usize = 8;
/// A peak is a spike when it is so many times the median.
const SPIKE: f64 = 10.0;
/// A divergence below this moves nothing, in nats per token.
const LEAST_KL: f64 = 0.5;
/// Of the tokens of a step, as an effective sample size.
const LEAST_ESS: f64 = 0.3;
/// Most groups whose rewards are all equal, as a share.
const MOST_WITHOUT_SPREAD: f64 = 0.5;
/// Most completions that end at the length limit, as a share.
const MOST_TRUNCATED: f64 = 0.2;
/// Most completions with a special token before their end, as a share.
const MOST_SPECIAL: f64 = 0.01;
/// Most completions that a verifier cannot judge, as a share.
const MOST_UNJUDGED: f64 = 0.02;
/// A correlation of reward and length beyond it, of either sign, is strong.
const STRONG_CORRELATION: f64 = 0.7;
/// Most of all reward that goes to one answer beyond that of the rows that expect it, as a share of the rest.
const MOST_OF_ONE_ANSWER: f64 = 0.5;
/// What is left of the early entropy when it has collapsed.
const COLLAPSED: f64 = 0.2;
/// A policy that solves as much has earned its low entropy, as a share.
const SOLVED: f64 = 0.9;
/// How much longer completions are when their length has grown.
const LONGER: f64 = 1.5;
/// Rewards that differ by less are the same.
const SAME_REWARD: f64 = 0.01;
/// What of the best reward is left when it has fallen.
const FALLEN: f64 = 0.8;
/// What a learning rate that is too high is divided by.
const GENTLER: f64 = 3.0;

names!(
    /// What is wrong.
    DiagnosisCode {
        LearningRateTooHigh = "learning_rate_too_high",
        KlSpike = "kl_spike",
        GradientSpike = "gradient_spike",
        LowEss = "low_ess",
        NoSpread = "no_spread",
        Truncated = "truncated",
        EntropyCollapse = "entropy_collapse",
        LengthWithoutReward = "length_without_reward",
        SpecialTokens = "special_tokens",
        VerifierErrors = "verifier_errors",
        RewardFollowsLength = "reward_follows_length",
        OneAnswer = "one_answer",
        PassedWithoutAnswer = "passed_without_answer",
    }
);

/// The points of a series.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Of several steps in one point the last one.
    pub steps: Vec<u64>,
    /// Of several values in one point their mean.
    pub values: Vec<f64>,
    /// Of several values in one point the greatest.
    pub max: Vec<f64>,
}

/// What is known of a job.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// By the names of the catalogue of metrics.
    pub curves: BTreeMap<String, Curve>,
    pub learning_rate: f64,
    pub max_new_tokens: u32,
    pub group_size: u32,
    pub updates_per_rollout: u32,
    /// The spec as it was submitted, which a patch changes.
    pub submitted: &'a Value,
}

/// Something that is wrong with a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    pub code: DiagnosisCode,
    /// What was seen and what it means, for people.
    pub message: String,
    pub evidence: Vec<Evidence>,
    pub suggestion: Suggestion,
}

/// A number that a diagnosis rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    pub metric: &'static str,
    /// The step at which it was seen: the last one of a stretch.
    pub step: u64,
    pub value: f64,
    /// What the value was held against.
    pub limit: f64,
}

/// What would help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    pub message: String,
    /// A JSON Patch (RFC 6902) on the submitted spec, as a fork takes it; empty where no setting alone would help.
    pub patch: Vec<Value>,
}

/// The metrics that rules look at.
pub const METRICS: [&str; 15] = [
    "grad/norm",
    "kl/behavior",
    "kl/reference",
    "ess/ratio",
    "entropy/mean",
    "reward/mean",
    "reward/solve_rate",
    "reward/zero_spread",
    "completion/tokens_mean",
    "completion/truncated",
    "completion/special_tokens",
    "verifier/errors",
    "reward/length_correlation",
    "reward/top_answer_share",
    "verifier/passed_without_answer",
];

type Rule = fn(&Observed) -> Option<Diagnosis>;

/// In the order in which one would look.
const RULES: [Rule; 13] = [
    learning_rate_too_high,
    kl_spike,
    gradient_spike,
    low_ess,
    no_spread,
    truncated,
    entropy_collapse,
    length_without_reward,
    special_tokens,
    verifier_errors,
    |observed| observed.suspicion(DiagnosisCode::RewardFollowsLength),
    |observed| observed.suspicion(DiagnosisCode::OneAnswer),
    |observed| observed.suspicion(DiagnosisCode::PassedWithoutAnswer),
];

/// All that is wrong as far as the metrics show.
pub fn diagnose(observed: &Observed) -> Vec<Diagnosis> {
    RULES.iter().filter_map(|rule| rule(observed)).collect()
}

/// What the statistics of one sampling phase show of rewards that are given for something else than they are meant for.
pub fn suspicions(statistics: &[(&'static str, f64)]) -> Vec<(DiagnosisCode, String)> {
    let codes = [
        DiagnosisCode::RewardFollowsLength,
        DiagnosisCode::OneAnswer,
        DiagnosisCode::NoSpread,
        DiagnosisCode::PassedWithoutAnswer,
    ];
    let found = codes.into_iter().filter_map(|code| {
        let (metric, _) = suspicion(code, 0.0)?;
        let value = statistics.iter().find(|(name, _)| *name == metric)?.1;
        let (_, found) = suspicion(code, value)?;
        Some((code, found?))
    });
    found.collect()
}

/// What a suspicion looks at, and what it says of a value that is beyond its limit; none for other diagnoses.
fn suspicion(code: DiagnosisCode, value: f64) -> Option<(&'static str, Option<String>)> {
    let share = 100.0 * value;
    Some(match code {
        DiagnosisCode::RewardFollowsLength => {
            let longer = if value > 0.0 { "longer" } else { "shorter" };
            let message = format!(
                "{longer} completions of the same prompt get more reward, with a correlation of {value:.2}: the policy will \
                 learn to write {longer} ones"
            );
            ("reward/length_correlation", (value.abs() > STRONG_CORRELATION).then_some(message))
        }
        DiagnosisCode::OneAnswer => {
            let message = format!(
                "one answer gets {share:.0} % of the reward that its rows do not account for, whatever was asked"
            );
            ("reward/top_answer_share", (value > MOST_OF_ONE_ANSWER).then_some(message))
        }
        DiagnosisCode::NoSpread => {
            let message = format!("in {share:.0} % of the groups every completion gets the same reward");
            ("reward/zero_spread", (value > MOST_WITHOUT_SPREAD).then_some(message))
        }
        DiagnosisCode::PassedWithoutAnswer => {
            let message = format!(
                "{share:.1} % of the completions pass without an answer that the verifier could take out of them"
            );
            ("verifier/passed_without_answer", (value > 0.0).then_some(message))
        }
        DiagnosisCode::LearningRateTooHigh
        | DiagnosisCode::KlSpike
        | DiagnosisCode::GradientSpike
        | DiagnosisCode::LowEss
        | DiagnosisCode::Truncated
        | DiagnosisCode::EntropyCollapse
        | DiagnosisCode::LengthWithoutReward
        | DiagnosisCode::SpecialTokens
        | DiagnosisCode::VerifierErrors => return None,
    })
}

fn learning_rate_too_high(observed: &Observed) -> Option<Diagnosis> {
    let reward = observed.long("reward/mean")?;
    let (late, best) = (reward.late(), reward.best_quarter());
    let spike = observed.spike("grad/norm", 0.0).or_else(|| observed.kl_peak())?;
    (best > 0.0 && late < FALLEN * best).then(|| Diagnosis {
        code: DiagnosisCode::LearningRateTooHigh,
        message: format!(
            "the reward fell from {best:.3} to {late:.3}, and `{}` reached {:.3} at step {}: updates are too large",
            spike.metric, spike.value, spike.step
        ),
        evidence: vec![reward.evidence("reward/mean", late, FALLEN * best), spike],
        suggestion: observed.gentler(),
    })
}

fn kl_spike(observed: &Observed) -> Option<Diagnosis> {
    let spike = observed.kl_peak()?;
    Some(Diagnosis {
        code: DiagnosisCode::KlSpike,
        message: format!(
            "`{}` reached {:.3} nats per token at step {}, more than {SPIKE} times its median: the policy jumped away",
            spike.metric, spike.value, spike.step
        ),
        evidence: vec![spike],
        suggestion: observed.gentler(),
    })
}

fn gradient_spike(observed: &Observed) -> Option<Diagnosis> {
    let spike = observed.spike("grad/norm", 0.0)?;
    Some(Diagnosis {
        code: DiagnosisCode::GradientSpike,
        message: format!(
            "the gradient's norm reached {:.3} at step {}, more than {SPIKE} times its median",
            spike.value, spike.step
        ),
        evidence: vec![spike],
        suggestion: observed.gentler(),
    })
}

fn low_ess(observed: &Observed) -> Option<Diagnosis> {
    let curve = observed.curve("ess/ratio")?;
    let late = curve.late();
    (late < LEAST_ESS).then(|| Diagnosis {
        code: DiagnosisCode::LowEss,
        message: format!(
            "only {:.0} % of a step's tokens count: the policy has moved far from the one that sampled them",
            100.0 * late
        ),
        evidence: vec![curve.evidence("ess/ratio", late, LEAST_ESS)],
        suggestion: if observed.updates_per_rollout > 1 {
            let updates = observed.updates_per_rollout.div_ceil(2);
            let message = format!("sample anew more often: {updates} updates with each completion");
            observed.suggest(message, "train", "updates_per_rollout", json!(updates))
        } else {
            observed.gentler()
        },
    })
}

fn no_spread(observed: &Observed) -> Option<Diagnosis> {
    let curve = observed.curve("reward/zero_spread")?;
    let late = curve.late();
    if late <= MOST_WITHOUT_SPREAD {
        return None;
    }
    let share = 100.0 * late;
    let solved = observed.curve("reward/solve_rate").map(Curve::late).unwrap_or_default();
    let (message, suggestion) = if solved > 0.5 {
        let message =
            format!("in {share:.0} % of the groups every completion gets the same reward, and most are solved");
        let advice = "there is little left to learn from these rows: take harder ones, or end here";
        (message, Suggestion { message: advice.to_owned(), patch: Vec::new() })
    } else {
        let message = format!("in {share:.0} % of the groups every completion gets the same reward, and most fail");
        let size = observed.group_size.saturating_mul(2).clamp(2, 1024);
        let advice = format!("more completions a prompt ({size}) find a first success more often; or take easier rows");
        (message, observed.suggest(advice, "objective", "group_size", json!(size)))
    };
    let evidence = vec![curve.evidence("reward/zero_spread", late, MOST_WITHOUT_SPREAD)];
    Some(Diagnosis { code: DiagnosisCode::NoSpread, message, evidence, suggestion })
}

fn truncated(observed: &Observed) -> Option<Diagnosis> {
    let curve = observed.curve("completion/truncated")?;
    let late = curve.late();
    let tokens = observed.max_new_tokens.saturating_mul(2).min(131_072);
    (late > MOST_TRUNCATED).then(|| Diagnosis {
        code: DiagnosisCode::Truncated,
        message: format!("{:.0} % of the completions end at the length limit, before their answer", 100.0 * late),
        evidence: vec![curve.evidence("completion/truncated", late, MOST_TRUNCATED)],
        suggestion: observed.suggest(
            format!("let them be longer: {tokens} tokens"),
            "sampling",
            "max_new_tokens",
            json!(tokens),
        ),
    })
}

fn entropy_collapse(observed: &Observed) -> Option<Diagnosis> {
    let curve = observed.long("entropy/mean")?;
    let (early, late) = (curve.early(), curve.late());
    let solved = observed.curve("reward/solve_rate")?.late();
    (late < COLLAPSED * early && solved < SOLVED).then(|| Diagnosis {
        code: DiagnosisCode::EntropyCollapse,
        message: format!(
            "the entropy fell from {early:.3} to {late:.3} nats per token while {:.0} % is solved: the policy has stopped \
             to explore",
            100.0 * solved
        ),
        evidence: vec![curve.evidence("entropy/mean", late, COLLAPSED * early)],
        suggestion: observed.gentler(),
    })
}

fn length_without_reward(observed: &Observed) -> Option<Diagnosis> {
    let (length, reward) = (observed.long("completion/tokens_mean")?, observed.long("reward/mean")?);
    let (before, after) = (length.early(), length.late());
    (after > LONGER * before && reward.late() < reward.early() + SAME_REWARD).then(|| Diagnosis {
        code: DiagnosisCode::LengthWithoutReward,
        message: format!("completions grew from {before:.1} to {after:.1} tokens, and the reward did not"),
        evidence: vec![
            length.evidence("completion/tokens_mean", after, LONGER * before),
            reward.evidence("reward/mean", reward.late(), reward.early() + SAME_REWARD),
        ],
        suggestion: Suggestion {
            message: String::from(
                "look at the completions: a verifier that takes any text for an answer invites more of it",
            ),
            patch: Vec::new(),
        },
    })
}

fn special_tokens(observed: &Observed) -> Option<Diagnosis> {
    let curve = observed.curve("completion/special_tokens")?;
    let late = curve.late();
    (late > MOST_SPECIAL).then(|| Diagnosis {
        code: DiagnosisCode::SpecialTokens,
        message: format!(
            "{:.1} % of the completions hold special tokens, which are no text: the policy has left what it was taught",
            100.0 * late
        ),
        evidence: vec![curve.evidence("completion/special_tokens", late, MOST_SPECIAL)],
        suggestion: observed.gentler(),
    })
}

fn verifier_errors(observed: &Observed) -> Option<Diagnosis> {
    let curve = observed.curve("verifier/errors")?;
    let late = curve.late();
    (late > MOST_UNJUDGED).then(|| Diagnosis {
        code: DiagnosisCode::VerifierErrors,
        message: format!(
            "{:.1} % of the completions have no verdict, because the verifier fails or takes too long; they are left out",
            100.0 * late
        ),
        evidence: vec![curve.evidence("verifier/errors", late, MOST_UNJUDGED)],
        suggestion: Suggestion {
            message: String::from("audit the verifier on the rows of the data set, or give it more time"),
            patch: Vec::new(),
        },
    })
}

impl Observed<'_> {
    fn curve(&self, name: &str) -> Option<&Curve> {
        self.curves.get(name).filter(|curve| !curve.values.is_empty())
    }

    /// A suspicion of the rewards that the late part of its series confirms.
    fn suspicion(&self, code: DiagnosisCode) -> Option<Diagnosis> {
        let (metric, _) = suspicion(code, 0.0)?;
        let curve = self.curve(metric)?;
        let late = curve.late();
        let (_, message) = suspicion(code, late)?;
        let (limit, advice) = match code {
            DiagnosisCode::RewardFollowsLength => (
                STRONG_CORRELATION,
                "look at completions of both ends; if length is not meant to be rewarded, change the verifier, or let \
                 completions be longer where the long ones are cut off",
            ),
            DiagnosisCode::OneAnswer => (MOST_OF_ONE_ANSWER, "audit the verifier, which takes this answer for others"),
            _ => (0.0, "audit the verifier: look at the completions that pass and at the reasons of their verdicts"),
        };
        Some(Diagnosis {
            code,
            message: message?,
            evidence: vec![curve.evidence(metric, late, limit)],
            suggestion: Suggestion { message: advice.to_owned(), patch: Vec::new() },
        })
    }

    /// A series that is long enough to compare its parts.
    fn long(&self, name: &str) -> Option<&Curve> {
        self.curve(name).filter(|curve| curve.values.len() >= ENOUGH)
    }

    /// The greatest value of a series, where it is a spike and at least `least`.
    fn spike(&self, metric: &'static str, least: f64) -> Option<Evidence> {
        let curve = self.long(metric)?;
        let limit = (SPIKE * curve.median()?).max(least);
        let (step, value) = curve.peak();
        (value > limit).then_some(Evidence { metric, step, value, limit })
    }

    fn kl_peak(&self) -> Option<Evidence> {
        self.spike("kl/behavior", LEAST_KL).or_else(|| self.spike("kl/reference", LEAST_KL))
    }

    fn gentler(&self) -> Suggestion {
        // Two digits, so that nobody reads 3.3333333333333335e-5.
        let rate = format!("{:.1e}", self.learning_rate / GENTLER);
        let value = rate.parse::<f64>().map_or(Value::Null, Value::from);
        self.suggest(format!("take smaller steps: a learning rate of {rate}"), "optimizer", "learning_rate", value)
    }

    /// A change of one setting; its section need not stand in the spec.
    fn suggest(&self, message: String, section: &str, field: &str, value: Value) -> Suggestion {
        let (path, value) = match self.submitted.get(section) {
            Some(Value::Object(_)) => (format!("/{section}/{field}"), value),
            Some(_) | None => (format!("/{section}"), json!({field: value})),
        };
        Suggestion { message, patch: vec![json!({"op": "add", "path": path, "value": value})] }
    }
}

impl Curve {
    fn quarter(&self) -> usize {
        self.values.len().div_ceil(4)
    }

    fn early(&self) -> f64 {
        mean(&self.values[..self.quarter()])
    }

    fn late(&self) -> f64 {
        mean(&self.values[self.values.len() - self.quarter()..])
    }

    /// The greatest mean of any stretch as long as a quarter.
    fn best_quarter(&self) -> f64 {
        self.values.windows(self.quarter()).map(mean).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Of what is above 0: a step that takes no update has no gradient.
    fn median(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.values.iter().copied().filter(|value| *value > 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    fn peak(&self) -> (u64, f64) {
        let points = self.steps.iter().copied().zip(self.max.iter().copied());
        points.max_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or_default()
    }

    fn evidence(&self, metric: &'static str, value: f64, limit: f64) -> Evidence {
        Evidence { metric, step: self.steps.last().copied().unwrap_or_default(), value, limit }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> Curve {
        let steps = (1..=values.len() as u64).collect();
        Curve { steps, values: values.to_vec(), max: values.to_vec() }
    }

    /// A metric and its values, a function of the step.
    type Series = (&'static str, fn(usize) -> f64);

    /// The diagnoses for series of sixteen steps.
    fn seen(series: &[Series]) -> Vec<Diagnosis> {
        let spec = json!({"optimizer": {"warmup": 0.1}});
        let points = |f: &fn(usize) -> f64| curve(&(0..16).map(f).collect::<Vec<_>>());
        let observed = Observed {
            curves: series.iter().map(|(name, f)| ((*name).to_owned(), points(f))).collect(),
            learning_rate: 3e-4,
            max_new_tokens: 8,
            group_size: 4,
            updates_per_rollout: 3,
            submitted: &spec,
        };
        diagnose(&observed)
    }

    fn codes(series: &[Series]) -> Vec<&'static str> {
        seen(series).into_iter().map(|diagnosis| diagnosis.code.as_str()).collect()
    }

    #[test]
    fn a_healthy_job_has_no_diagnosis_and_neither_has_one_without_metrics() {
        assert_eq!(codes(&[]), [""; 0]);
        let healthy: [Series; 12] = [
            ("grad/norm", |i| 1.0 + (i % 3) as f64),
            ("kl/behavior", |i| 0.01 * (1 + i % 2) as f64),
            ("kl/reference", |i| 0.1 * i as f64),
            ("ess/ratio", |_| 0.9),
            ("entropy/mean", |i| 1.0 - 0.04 * i as f64),
            ("reward/mean", |i| 0.05 * i as f64),
            ("reward/solve_rate", |i| 0.05 * i as f64),
            ("reward/zero_spread", |_| 0.3),
            ("completion/tokens_mean", |i| 4.0 + i as f64),
            ("completion/truncated", |_| 0.1),
            ("completion/special_tokens", |i| if i == 3 { 0.02 } else { 0.0 }),
            ("verifier/errors", |i| if i == 3 { 0.1 } else { 0.0 }),
        ];
        assert_eq!(codes(&healthy), [""; 0]);
        assert!(healthy.iter().all(|(name, _)| METRICS.contains(name)));
    }

    #[test]
    fn each_rule_finds_what_it_is_for() {
        let spike: fn(usize) -> f64 = |i| if i == 9 { 16.0 } else { 0.5 };
        let cases: [(&[&str], &[Series]); 14] = [
            (&["kl_spike"], &[("kl/behavior", spike)]),
            (&["kl_spike"], &[("kl/reference", |i| if i == 3 { 6.4 } else { 0.02 })]),
            (&[], &[("kl/behavior", |i| if i == 3 { 0.4 } else { 0.001 })]),
            (&["gradient_spike"], &[("grad/norm", spike)]),
            (&[], &[("grad/norm", |i| if i % 3 == 0 { 0.3 } else { 0.0 })]),
            (&[], &[("entropy/mean", |i| 0.5_f64.powi(i as i32))]),
            (
                &["learning_rate_too_high", "gradient_spike"],
                &[("grad/norm", spike), ("reward/mean", |i| if i < 10 { 0.5 } else { 0.1 })],
            ),
            (&["low_ess"], &[("ess/ratio", |i| 1.0 - 0.06 * i as f64)]),
            (&["no_spread"], &[("reward/zero_spread", |_| 0.7), ("reward/solve_rate", |_| 0.1)]),
            (&["truncated"], &[("completion/truncated", |_| 0.25)]),
            (&["entropy_collapse"], &[("entropy/mean", |i| 0.5_f64.powi(i as i32)), ("reward/solve_rate", |_| 0.4)]),
            (&["special_tokens"], &[("completion/special_tokens", |i| 0.002 * i as f64)]),
            (&["verifier_errors"], &[("verifier/errors", |_| 0.05)]),
            (&["length_without_reward"], &[("completion/tokens_mean", |i| 4.0 + i as f64), ("reward/mean", |_| 0.3)]),
        ];
        for (expected, series) in cases {
            assert_eq!(codes(series), expected, "{:?}", series.iter().map(|(name, _)| name).collect::<Vec<_>>());
        }
        assert_eq!(codes(&[("entropy/mean", |i| 0.5_f64.powi(i as i32)), ("reward/solve_rate", |_| 0.95)]), [""; 0]);
    }

    #[test]
    fn evidence_says_where_and_a_suggestion_is_a_patch_of_the_spec_as_it_was_submitted() {
        let found = &seen(&[("grad/norm", |i| if i == 9 { 16.0 } else { 0.5 })])[0];
        assert_eq!(found.evidence, [Evidence { metric: "grad/norm", step: 10, value: 16.0, limit: 5.0 }]);
        let patch = json!([{"op": "add", "path": "/optimizer/learning_rate", "value": 1e-4}]);
        assert_eq!(Value::from(found.suggestion.patch.clone()), patch);
        let found = &seen(&[("completion/truncated", |_| 1.0)])[0];
        let patch = json!([{"op": "add", "path": "/sampling", "value": {"max_new_tokens": 16}}]);
        assert_eq!(Value::from(found.suggestion.patch.clone()), patch);
        let solved = &seen(&[("reward/zero_spread", |_| 0.7), ("reward/solve_rate", |_| 0.9)])[0];
        assert_eq!(solved.suggestion.patch, [Value::Null; 0]);
    }

    #[test]
    fn every_diagnosis_and_metric_is_described() {
        let page = include_str!("../../docs/diagnoses.md");
        for code in DiagnosisCode::ALL {
            assert!(page.contains(&format!("| `{code}` |")), "{code}");
        }
        for name in METRICS {
            assert!(super::super::metric::METRICS.iter().any(|metric| metric.name == name), "{name}");
        }
    }
}
