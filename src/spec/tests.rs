//! What specs refuse, what they refer to, and that each that is accepted comes back equal from its text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::job::{CheckpointId, DatasetVersionId, ModelId, RolloutSetId};

fn training() -> Value {
    json!({
        "model": "builtin:arith-tiny",
        "dataset": {"train": "builtin:arithmetic"},
        "objective": {"type": "bolt"},
    })
}

fn evaluation() -> Value {
    json!({"model": "builtin:arith-tiny", "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"}})
}

fn sampling() -> Value {
    json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}})
}

#[test]
fn defaults_are_filled_in_and_survive_a_round_trip() {
    let spec = JobSpec::parse(&training()).unwrap();
    assert_eq!(spec.sampling.temperature, 1.0);
    let resolved = serde_json::to_value(&spec).unwrap();
    assert_eq!(JobSpec::parse(&resolved).unwrap(), spec);

    let spec = EvaluationSpec::parse(&evaluation()).unwrap();
    assert_eq!((spec.samples, spec.prompts, spec.pass_at.as_deref()), (8, 200, Some(&[1, 8][..])));
    assert_eq!(EvaluationSpec::parse(&serde_json::to_value(&spec).unwrap()).unwrap(), spec);
    assert_eq!(RolloutSetSpec::parse(&sampling()).unwrap().group_size, 8);
}

#[test]
fn every_range_error_is_reported_at_its_pointer() {
    let mut value = training();
    value["sampling"] = json!({"temperature": -1.0});
    value["train"] = json!({"steps": 0});
    value["eval"] = json!({"samples": 4, "pass_at": [8]});
    let pointers: Vec<String> = JobSpec::parse(&value).unwrap_err().into_iter().map(|e| e.pointer).collect();
    assert_eq!(pointers, ["/sampling/temperature", "/train/steps", "/eval/pass_at"]);
}

#[test]
fn an_unknown_field_is_named() {
    let mut value = training();
    value["train"] = json!({"step": 5});
    let errors = JobSpec::parse(&value).unwrap_err();
    assert_eq!((errors[0].pointer.as_str(), errors[0].code), ("/train/step", "unknown_field"));
}

#[test]
fn bad_fields_of_a_rollout_set_are_named() {
    for (name, value) in [("group_size", json!(0)), ("prompts", json!(1_000_000)), ("seed", json!(1_u64 << 60))] {
        let mut spec = sampling();
        spec[name] = value;
        assert_eq!(RolloutSetSpec::parse(&spec).unwrap_err()[0].pointer, format!("/{name}"));
    }
}

#[test]
fn bad_fields_of_an_evaluation_are_named() {
    let table = [
        ("samples", json!(0)),
        ("samples", json!(1025)),
        ("pass_at", json!([])),
        ("pass_at", json!([9])),
        ("pass_at", json!([1, 1])),
        ("prompts", json!(0)),
        ("prompts", json!(100_001)),
        ("template", json!("no place")),
        ("seed", json!(1_u64 << 60)),
        ("dataset", json!({"train": "x"})),
        ("split", json!("test")),
        ("verifiers", json!({})),
    ];
    for (name, value) in table {
        let mut spec = evaluation();
        spec[name] = value.clone();
        let errors = EvaluationSpec::parse(&spec).unwrap_err();
        assert!(errors.iter().any(|error| error.pointer == format!("/{name}")), "{name} {value}: {errors:?}");
    }
    for missing in ["model", "dataset", "verifier"] {
        let mut spec = evaluation();
        spec.as_object_mut().unwrap().shift_remove(missing);
        assert_eq!(EvaluationSpec::parse(&spec).unwrap_err()[0].pointer, format!("/{missing}"));
    }
}

/// What a spec refers to is listed, each thing once and in its role, and nothing that only looks like a reference.
#[test]
fn inputs_are_what_a_spec_refers_to() {
    let (model, rows, set) = (ModelId::generate(), DatasetVersionId::generate(), RolloutSetId::generate());
    let spec = json!({
        "name": model, "metadata": {"note": set, "path": "/models/other"},
        "model": model, "dataset": {"train": rows, "eval": "builtin:arithmetic"}, "verifier": {"type": "numeric"},
        "objective": {"type": "vopd", "teacher": "/models/teacher"},
        "rollouts": {"mix": {"rollout_set": set, "share": 0.5}},
    });
    let (_, resolved) = Resolved::parse(JobKind::Train, &spec).unwrap();
    let inputs: Vec<(Role, InputKind, String)> =
        resolved.inputs().into_iter().map(|input| (input.role, input.kind, input.id)).collect();
    assert_eq!(
        inputs,
        [
            (Role::Model, InputKind::Model, model.to_string()),
            (Role::Rows, InputKind::DatasetVersion, rows.to_string()),
            (Role::HeldOut, InputKind::Builtin, String::from("builtin:arithmetic")),
            (Role::Teacher, InputKind::Path, String::from("/models/teacher")),
            (Role::Rollouts, InputKind::RolloutSet, set.to_string()),
        ]
    );
}

#[test]
fn a_digest_is_of_what_decides_the_result_and_of_built_ins_as_they_are() {
    let digest = |spec: &Value| Resolved::parse(JobKind::Train, spec).unwrap().1.digest();
    let first = digest(&training());
    let mut other = training();
    other["name"] = json!("nightly");
    other["metadata"] = json!({"a": "b"});
    other["priority"] = json!(3);
    other["budget"] = json!({"device_seconds": 5});
    assert_eq!(digest(&other), first);
    other["seed"] = json!(1);
    assert_ne!(digest(&other), first);
    let (_, resolved) = Resolved::parse(JobKind::Train, &training()).unwrap();
    assert_ne!(crate::job::digest::of_json(&resolved.essence()), first, "built-ins are named by more than their name");
}

fn number(range: std::ops::Range<f64>) -> impl Strategy<Value = Value> {
    range.prop_map(|number| json!(number))
}

fn model() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::from("builtin:arith-tiny")),
        Just(String::from("builtin:arith-scratch")),
        any::<bool>().prop_map(|_| ModelId::generate().to_string()),
        any::<bool>().prop_map(|_| CheckpointId::generate().to_string()),
    ]
}

fn rows() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::from("builtin:arithmetic")),
        any::<bool>().prop_map(|_| DatasetVersionId::generate().to_string()),
    ]
}

/// The sections that all kinds of specs have.
fn shared() -> impl Strategy<Value = Value> {
    let labels = (proptest::option::of("[a-z \"\\\\é]{0,20}"), any::<i32>(), 0..1_u64 << 53);
    let metadata = proptest::collection::btree_map("[a-z_]{1,8}", ".{0,12}", 0..3);
    let sampling = (number(0.0..10.0), number(1e-9..1.0), 0..100_u32, 1..131_072_u32, 1..1024_u32);
    (labels, metadata, sampling, 1..64_u32, model()).prop_map(|(labels, metadata, sampling, devices, model)| {
        let (name, priority, seed) = labels;
        let (temperature, top_p, top_k, max_new_tokens, batch_size) = sampling;
        let mut spec = json!({
            "model": model, "priority": priority, "seed": seed, "metadata": metadata,
            "resources": {"devices": devices},
            "sampling": {
                "temperature": temperature, "top_p": top_p, "top_k": top_k, "max_new_tokens": max_new_tokens,
                "batch_size": batch_size, "stop": ["\n"],
            },
        });
        if let Some(name) = name {
            spec["name"] = json!(name);
        }
        spec
    })
}

fn verifier() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "numeric"})),
        number(0.01..600.0).prop_map(|limit| json!({"type": "exact", "time_limit_seconds": limit})),
    ]
}

/// Specs of all kinds as they look once they are resolved.
fn accepted() -> impl Strategy<Value = (JobKind, Value)> {
    let objective = prop_oneof![
        Just(json!({"type": "sft"})),
        number(1e-6..100.0).prop_map(|beta| json!({"type": "bolt", "beta": beta, "group_size": 4})),
        Just(json!({"type": "vopd", "teacher": "/models/a"})),
        Just(json!({"type": "p3o"})),
        Just(json!({"type": "grpo"})),
    ];
    let train = (1..1_000_000_u64, proptest::option::of(1..1_048_576_u32), any::<bool>(), number(1e-12..1.0));
    let budget = proptest::option::of(1..1_000_000_000_u64);
    let parts = (shared(), rows(), proptest::option::of(rows()), verifier(), objective, train, budget);
    let training = (parts, 0..3_u8).prop_map(|((mut spec, rows, eval, verifier, objective, train, budget), stored)| {
        let (steps, tokens, bf16, rate) = train;
        spec["dataset"] = json!({"train": rows});
        if let Some(eval) = eval {
            spec["dataset"]["eval"] = json!(eval);
            spec["gate"] = json!({"pass_at_1": 0.5});
        }
        spec["verifier"] = verifier;
        spec["objective"] = objective;
        spec["optimizer"] = json!({"learning_rate": rate});
        spec["train"] = json!({"steps": steps, "precision": if bf16 { "bf16" } else { "f32" }});
        if let Some(tokens) = tokens {
            spec["train"]["micro_batch_tokens"] = json!(tokens);
        }
        if let Some(seconds) = budget {
            spec["budget"] = json!({"device_seconds": seconds});
        }
        let set = RolloutSetId::generate();
        match stored {
            1 => spec["rollouts"] = json!({"from": set}),
            2 => spec["rollouts"] = json!({"mix": {"rollout_set": set, "share": 0.25}, "keep": true}),
            _ => {}
        }
        (JobKind::Train, spec)
    });
    let sampling = (shared(), rows(), proptest::option::of(verifier()), 1..1024_u32, any::<bool>()).prop_map(
        |(mut spec, rows, verifier, group_size, regrades)| {
            spec["dataset"] = json!({"train": rows, "template": "Q: {prompt}"});
            spec["group_size"] = json!(group_size);
            if let Some(verifier) = verifier {
                spec["verifier"] = verifier;
            }
            if regrades {
                spec["regrade_of"] = json!(RolloutSetId::generate());
            }
            (JobKind::Rollouts, spec)
        },
    );
    let evaluation = (shared(), rows(), verifier(), 1..1024_u32).prop_map(|(mut spec, rows, verifier, samples)| {
        spec["dataset"] = json!(rows);
        spec["verifier"] = verifier;
        spec["samples"] = json!(samples);
        spec["pass_at"] = json!([1]);
        spec["prompts"] = json!(7);
        (JobKind::Evaluation, spec)
    });
    prop_oneof![training, sampling, evaluation]
}

proptest! {
    /// A spec that is accepted comes back equal from its text, with the same digest and inputs.
    #[test]
    fn every_accepted_spec_comes_back_equal_from_its_text((kind, submitted) in accepted()) {
        let written = |value: &Value| match kind {
            JobKind::Train => serde_json::to_string(&JobSpec::parse(value).unwrap()),
            JobKind::Rollouts => serde_json::to_string(&RolloutSetSpec::parse(value).unwrap()),
            JobKind::Evaluation => serde_json::to_string(&EvaluationSpec::parse(value).unwrap()),
        };
        written(&submitted).unwrap();
        let (attributes, resolved) = Resolved::parse(kind, &submitted).unwrap();
        let text = resolved.to_value(&attributes).to_string();
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&written(&value).unwrap(), &text, "every field stands where a submitted spec has it");
        let (other, again) = Resolved::parse(kind, &value).unwrap();
        prop_assert_eq!(&other, &attributes);
        prop_assert_eq!(&again, &resolved);
        prop_assert_eq!(again.to_value(&other).to_string(), text);
        prop_assert_eq!(again.digest(), resolved.digest());
        let (none, stored) = Resolved::parse(kind, &resolved.essence()).unwrap();
        prop_assert_eq!(stored, resolved);
        prop_assert_eq!(none, Attributes::default());
    }
}
