//! Tests of advice.

use super::*;
use crate::job::field;
use crate::job::spec::SamplingSpec;
use crate::objective::frontier::{ScoredCompletion, default_betas, frontier};
use crate::objective::preflight::{self, Sections};

const FRESH: Recorded = Recorded {
    tokens: 10.0,
    cut_off: Some(0.0),
    entropy: Some(0.8),
    max_step: 0,
    whole_distribution: true,
    seconds_per_completion: Some(0.5),
    train_tokens_per_second: Some(640.0),
};

/// Groups of eight, of which each of the given numbers has so many that pass.
fn groups(passing: &[usize]) -> Vec<ScoredGroup> {
    let completion = |passes| {
        move |index: u32| ScoredCompletion {
            sequence: index,
            answer: u32::from(index as usize >= passes),
            reward: f64::from(u8::from((index as usize) < passes)),
            behavior_logprob: -3.0,
            tokens: 5,
        }
    };
    passing.iter().map(|passes| ScoredGroup { completions: (0..8).map(completion(*passes)).collect() }).collect()
}

fn of(passing: &[usize], recorded: Recorded, teacher: Option<&str>) -> Advice {
    let groups = groups(passing);
    advise(&groups, &frontier(&groups, &default_betas(), None), recorded, "rs_1", teacher)
}

fn names(advice: &Advice) -> Vec<&'static str> {
    advice.suggestions.iter().map(|suggestion| suggestion.name).collect()
}

fn score(advice: &Advice, name: &str) -> i32 {
    advice.suggestions.iter().find(|suggestion| suggestion.name == name).unwrap().score
}

/// A case a line: how many of eight pass in each group, what else is known, and what comes first.
#[test]
fn what_fits_the_numbers_comes_first() {
    let stale = Recorded { max_step: 16, ..FRESH };
    let settled = Recorded { entropy: Some(0.01), ..FRESH };
    let cases: [(&[usize], Recorded, Option<&str>, &str); 6] = [
        // Half passes, and the set can be learnt from as it is.
        (&[4, 3, 5, 4], FRESH, None, "bolt"),
        // Old completions.
        (&[4, 3, 5, 4], stale, None, "p3o"),
        // Most of the prompts say nothing: a step of others.
        (&[0, 8, 0, 8, 8, 0, 4, 3], FRESH, None, "dapo"),
        // Nothing is ever right: nothing to compare.
        (&[0, 0, 0, 0, 0, 1], FRESH, None, "sft"),
        (&[0, 0, 0, 0, 0, 1], FRESH, Some("mdl_1"), "vopd"),
        (&[4, 3, 5, 4], settled, None, "bolt"),
    ];
    for (passing, recorded, teacher, first) in cases {
        let advice = of(passing, recorded, teacher);
        assert_eq!(names(&advice)[0], first, "{passing:?}: {:#?}", advice.suggestions);
        assert!(advice.suggestions.is_sorted_by_key(|one| (one.is_ruled_out(), std::cmp::Reverse(one.score))));
    }
    let (wavering, settled) = (of(&[4, 3, 5, 4], FRESH, None), of(&[4, 3, 5, 4], settled, None));
    assert!(score(&wavering, "fade") > score(&settled, "fade"));
}

#[test]
fn scores_are_the_sums_of_the_weights_and_specs_are_ones_that_run() {
    let alone = [ScoredGroup { completions: groups(&[1])[0].completions[..1].to_vec() }];
    let advice = advise(&alone, &frontier(&alone, &default_betas(), None), FRESH, "rs_1", None);
    assert!(advice.suggestions.iter().all(|suggestion| suggestion.spec["rollouts"]["from"].is_null()));
    assert!(advice.unknown.iter().any(|unknown| unknown.contains("sample several")), "{:?}", advice.unknown);
    for passing in [&[4, 3, 5, 4][..], &[0, 8, 0, 8, 4], &[0, 0, 0, 0, 0, 1], &[8, 8, 8], &[0]] {
        for recorded in [FRESH, Recorded { max_step: 3, whole_distribution: false, entropy: None, ..FRESH }] {
            for suggestion in of(passing, recorded, Some("mdl_1")).suggestions {
                let Suggestion { name, score, reasons, spec, .. } = suggestion;
                assert_eq!(score, reasons.iter().map(|reason| reason.weight).sum::<i32>());
                assert!(reasons.iter().all(|reason| (-3..=3).contains(&reason.weight)), "{name}: {reasons:?}");
                let config = Config::parse(&spec["objective"], "/objective").unwrap();
                let rollouts: RolloutSpec<String> = match &spec["rollouts"] {
                    Value::Null => RolloutSpec::default(),
                    rollouts => field::parse(rollouts, "/rollouts").unwrap(),
                };
                let (train, sampling) = (TrainSpec::default(), SamplingSpec::default());
                let sections = Sections { train: &train, sampling: &sampling, rollouts: &rollouts };
                preflight::check(&config, &sections).unwrap();
            }
        }
    }
}

#[test]
fn sampling_is_counted_by_the_plan_and_by_what_is_replaced() {
    let advice = of(&[0, 8, 4, 4], FRESH, None);
    let per_step = |name: &str| {
        let suggestion = advice.suggestions.iter().find(|suggestion| suggestion.name == name).unwrap();
        (suggestion.completions_per_step, suggestion.sampling_seconds_per_step)
    };
    assert_eq!(per_step("bolt"), (0.0, Some(0.0)));
    assert_eq!(per_step("grpo"), (128.0, Some(64.0)));
    // Half of the prompts have no spread: 1 + 1/2 + 1/4 + 1/8 + 1/16.
    assert_eq!(per_step("dapo"), (248.0, Some(124.0)));
    assert_eq!(per_step("sft").0, 0.0);
    let training = |name: &str| {
        advice.suggestions.iter().find(|suggestion| suggestion.name == name).unwrap().training_seconds_per_step
    };
    // 16 prompts of 8 completions of 10 tokens.
    assert_eq!((training("grpo"), training("sft")), (Some(2.0), None));
    let untrained = of(&[4], Recorded { train_tokens_per_second: None, ..FRESH }, None);
    assert!(untrained.suggestions.iter().all(|suggestion| suggestion.training_seconds_per_step.is_none()));
    assert!(untrained.unknown.iter().any(|unknown| unknown.contains("how long a step trains")));
    let unmeasured = of(&[4], Recorded { seconds_per_completion: None, ..FRESH }, None);
    assert_eq!(unmeasured.suggestions[1].sampling_seconds_per_step, None);
    assert!(unmeasured.unknown.iter().any(|unknown| unknown.contains("how long sampling takes")));
}

#[test]
fn settings_follow_from_what_goes_wrong() {
    let pointers = |passing: &[usize], recorded| -> Vec<&str> {
        of(passing, recorded, None).settings.iter().map(|setting| setting.pointer).collect()
    };
    assert_eq!(pointers(&[4; 40], FRESH), [""; 0]);
    assert_eq!(pointers(&[4; 40], Recorded { cut_off: Some(0.3), ..FRESH }), ["/sampling/max_new_tokens"]);
    assert_eq!(pointers(&[0; 40], FRESH), ["/objective/group_size"]);
    assert_eq!(pointers(&[8; 4], FRESH), ["/dataset/train", "/prompts"]);
}
