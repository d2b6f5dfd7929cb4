//! Every objective through the whole program: what it reports, when it pays for extra passes, and what it says when
//! there is nothing to learn.

mod common;

use anneal::job::JobKind;
use anneal::job::metric::metric;
use anneal::spec::{Resolved, Work};
use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};

/// A job of a few steps.
fn spec(objective: Value) -> Value {
    let mut spec = small_spec();
    spec["objective"] = objective;
    spec["train"]["steps"] = json!(4);
    spec["train"]["prompts_per_step"] = json!(8);
    spec["eval"]["every_steps"] = json!(0);
    spec["eval"]["before"] = json!(false);
    spec
}

fn run(server: &Server, spec: &Value) -> Value {
    let id = server.submit(spec);
    let job = server.wait(&id);
    assert_eq!(job["status"], "succeeded", "{job}");
    reports_what_its_spec_lets_expect(server, &job);
    job
}

/// No metric is there of which a sweep would be told that nothing reports it.
fn reports_what_its_spec_lets_expect(server: &Server, job: &Value) {
    let (_, resolved) = Resolved::parse(JobKind::Train, &job["spec_resolved"]).unwrap();
    let Work::Train(training) = &resolved.work else { panic!("{job}") };
    let all = server.get(&format!("/v1/jobs/{}/metrics", job["id"].as_str().unwrap())).json();
    for name in all["series"].as_array().unwrap().iter().map(|series| series["name"].as_str().unwrap()) {
        assert!(training.may_report(&resolved.common, metric(name).unwrap(), name), "{name}: {}", job["spec_resolved"]);
    }
}

/// The values of a metric by step; none where it was not reported.
fn series(server: &Server, job: &Value, name: &str) -> Vec<f64> {
    let id = job["id"].as_str().unwrap();
    let all = server.get(&format!("/v1/jobs/{id}/metrics?keys={name}")).json();
    let values = all["series"].as_array().unwrap().iter().find(|s| s["name"] == name);
    values.map_or_else(Vec::new, |s| s["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect())
}

fn events(server: &Server, job: &Value) -> Vec<Value> {
    let id = job["id"].as_str().unwrap();
    server.get(&format!("/v1/jobs/{id}/events?limit=200")).json()["data"].as_array().unwrap().clone()
}

fn codes(server: &Server, job: &Value) -> Vec<String> {
    let of = |event: Value| event["data"]["code"].as_str().map(str::to_owned);
    events(server, job).into_iter().filter_map(of).collect()
}

#[test]
fn every_objective_reports_what_the_catalogue_promises() {
    let data = data_dir();
    let server = Server::start(data.path());
    let teacher = "builtin:arith-tiny";
    let everywhere = ["loss", "grad/norm", "mass/success", "mass/failure_80_100", "learning_rate"];
    let sampled = ["ess/ratio", "kl/behavior", "kl/reference", "entropy/mean", "reward/zero_spread", "pass/at_group"];
    let jobs = [
        (json!({"type": "sft"}), vec![]),
        (json!({"type": "sft", "source": "successes", "group_size": 4}), vec![]),
        (
            json!({"type": "bolt", "group_size": 4}),
            vec!["target/ess_share", "coverage/distinct_answers", "geometry/head_first_share"],
        ),
        (json!({"type": "grpo", "group_size": 4, "kl_coef": 0.1}), vec!["clip/fraction"]),
        (json!({"type": "p3o", "group_size": 4}), vec!["p3o/ess"]),
        (json!({"type": "fade", "group_size": 4}), vec!["fade/alpha", "fade/delta", "fade/entropy_target"]),
        (json!({"type": "policy_gradient", "group_size": 4, "advantage": "maxrl", "entropy_coef": 0.01}), vec![]),
        (json!({"type": "vopd", "teacher": teacher}), vec!["kl/teacher", "vopd/log_ratio", "vopd/advantage_std"]),
    ];
    for (objective, own) in jobs {
        let job = run(&server, &spec(objective.clone()));
        let samples = objective != json!({"type": "sft"});
        for name in everywhere.iter().chain(sampled.iter().filter(|_| samples)).chain(&own) {
            assert!(metric(name).is_some(), "{name}");
            assert!(!series(&server, &job, name).is_empty(), "{objective} lacks {name}");
        }
        if samples {
            // Fresh completions: the sampler's log-probabilities are the trainer's, bit for bit.
            let first = series(&server, &job, "logprob/max_abs_diff")[0];
            assert_eq!(first, 0.0, "{objective}");
        }
    }
}

/// What objectives can be set to beyond their defaults learns something, in a job like any other.
#[test]
fn every_setting_of_an_objective_trains() {
    let data = data_dir();
    let server = Server::start(data.path());
    let gradient = |advantage: Value| json!({"type": "policy_gradient", "group_size": 4, "advantage": advantage});
    let objectives = [
        json!({"type": "bolt", "group_size": 4, "rounds": 2, "final_beta": 0.05}),
        json!({"type": "bolt", "group_size": 4, "weights": {"threshold": 0.5}}),
        json!({"type": "fade", "group_size": 4, "alpha_follows": "entropy"}),
        json!({"type": "fade", "group_size": 4, "alpha_follows": "log_steps"}),
        json!({"type": "grpo", "group_size": 4, "scale": "sample_std"}),
        json!({"type": "p3o", "group_size": 4, "ess_scope": "micro_batch", "entropy_coef": 0.01}),
        json!({"type": "p3o", "group_size": 4, "kl_estimator": "importance", "kl_coef": 0.1}),
        gradient(json!("group_std_sample")),
        gradient(json!({"log_mean_exp": {"tau": 2}})),
        gradient(json!({"power": {"alpha": 2}})),
        gradient(json!({"asym": {"delta": 0.5}})),
        gradient(json!({"focal": {"alpha": 2, "delta": 0.5}})),
        gradient(json!({"pass_at_k": {"k": 2}})),
    ];
    let jobs: Vec<(String, String)> = objectives
        .iter()
        .map(|objective| {
            let mut spec = spec(objective.clone());
            spec["train"]["updates_per_rollout"] = json!(2);
            (objective.to_string(), server.submit(&spec))
        })
        .collect();
    let mut weights = std::collections::BTreeSet::new();
    for (objective, id) in jobs {
        let job = server.wait(&id);
        assert_eq!(job["status"], "succeeded", "{objective}: {job}");
        assert!(series(&server, &job, "grad/norm").iter().all(|norm| *norm > 0.0), "{objective}");
        assert!(weights.insert(job["result"]["weights_sha256"].to_string()), "{objective} is another's");
    }
}

#[test]
fn p3o_pays_for_its_extra_pass_only_when_completions_are_not_its_own_any_more() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut reused = spec(json!({"type": "p3o", "group_size": 4}));
    reused["train"]["updates_per_rollout"] = json!(2);
    reused["optimizer"] = json!({"learning_rate": 0.003, "warmup": 0.0});
    let job = run(&server, &reused);
    let ess = series(&server, &job, "p3o/ess");
    // Updates 1 and 3 are the first ones after sampling.
    assert_eq!((ess[0], ess[2]), (1.0, 1.0), "{ess:?}");
    assert!(ess[1] < 1.0 && ess[3] < 1.0, "{ess:?}");
    assert_eq!(series(&server, &job, "rollout/staleness"), [0.0, 1.0, 0.0, 1.0]);

    let mut hot = spec(json!({"type": "p3o", "group_size": 4}));
    hot["sampling"]["temperature"] = json!(1.3);
    let job = run(&server, &hot);
    assert!(series(&server, &job, "p3o/ess").iter().all(|ess| *ess < 1.0));
}

#[test]
fn stale_sampling_phases_serve_as_many_steps_as_they_may() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut stale = spec(json!({"type": "grpo", "group_size": 4}));
    stale["train"]["max_staleness"] = json!(3);
    let job = run(&server, &stale);
    assert_eq!(series(&server, &job, "rollout/staleness"), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn phases_are_sampled_as_far_ahead_as_is_asked() {
    let data = data_dir();
    let server = Server::start(data.path());
    let ahead = |objective: Value, train: Value| {
        let mut spec = spec(objective);
        train.as_object().unwrap().iter().for_each(|(key, value)| spec["train"][key] = value.clone());
        run(&server, &spec)
    };
    let p3o = || json!({"type": "p3o", "group_size": 4});
    let one = ahead(p3o(), json!({"max_lag": 1, "steps": 5}));
    assert_eq!(series(&server, &one, "rollout/staleness"), [0.0, 1.0, 1.0, 1.0, 1.0]);
    let ess = series(&server, &one, "p3o/ess");
    assert!(ess[0] == 1.0 && ess[1..].iter().all(|ess| *ess < 1.0), "{ess:?}");
    // The first phases are sampled by the model itself; a phase of two steps is used until it is five old.
    let two = ahead(p3o(), json!({"max_lag": 2, "updates_per_rollout": 2, "steps": 8}));
    assert_eq!(series(&server, &two, "rollout/staleness"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 4.0, 5.0]);
    // As old as they may be, with fewer steps a phase.
    let bounded = ahead(p3o(), json!({"max_lag": 1, "max_staleness": 3, "steps": 6}));
    assert_eq!(series(&server, &bounded, "rollout/staleness"), [0.0, 1.0, 2.0, 3.0, 2.0, 3.0]);
    // Ratios are those to the policy that a phase's steps begin with: none is clipped in the first step of a phase, however old.
    let decoupled = |correction: &str| {
        let objective = json!({"type": "policy_gradient", "group_size": 4, "advantage": "group_std", "correction": correction,
                               "clip_low": 0.001, "clip_high": 0.001, "cap": 5.0});
        let job = ahead(objective, json!({"max_lag": 1, "updates_per_rollout": 2, "steps": 6}));
        series(&server, &job, "clip/fraction")
    };
    let (near, far) = (decoupled("decoupled"), decoupled("clip"));
    assert_eq!((near[2], near[4]), (0.0, 0.0), "{near:?}");
    assert!(near[3] > 0.0 && near[5] > 0.0 && far[2] > 0.0 && far[4] > 0.0, "{near:?} and {far:?}");
    let late = ahead(json!({"type": "vopd", "teacher": "builtin:arith-tiny"}), json!({"max_lag": 1}));
    assert_eq!(series(&server, &late, "clip/fraction").len(), 4, "ratios are corrected");
}

#[test]
fn what_is_sampled_beside_training_has_its_bits_whatever_threads_there_are() {
    let of = |threads: &str, adapter: &Value, learning_rate: f64| {
        let data = data_dir();
        let server = Server::start_with(data.path(), &["--threads", threads]);
        let mut spec = spec(json!({"type": "p3o", "group_size": 4}));
        spec["train"]["max_lag"] = json!(2);
        spec["train"]["updates_per_rollout"] = json!(2);
        spec["train"]["steps"] = json!(8);
        spec["checkpoints"] = json!({"every_steps": 3});
        spec["optimizer"]["learning_rate"] = json!(learning_rate);
        spec["adapter"] = adapter.clone();
        let job = run(&server, &spec);
        let differences = series(&server, &job, "logprob/max_abs_diff");
        (differences, job["result"]["weights_sha256"].clone())
    };
    for adapter in
        [Value::Null, json!({"type": "lora", "rank": 4, "dora": true}), json!({"type": "lora", "init": "pissa"})]
    {
        let (alone, several) = (of("1", &adapter, 1e-3), of("3", &adapter, 1e-3));
        assert_eq!(alone, several, "{adapter}");
        assert!(alone.1.is_string() && alone.0[4..].iter().all(|difference| *difference > 0.0), "{alone:?}");
        // Where steps change nothing, a copy of the policy is the policy.
        let (differences, _) = of("2", &adapter, 1e-30);
        assert_eq!(differences, [0.0; 8], "{adapter}");
    }
}

#[test]
fn prompts_that_teach_nothing_are_replaced() {
    let data = data_dir();
    let server = Server::start(data.path());
    let with = |attempts: u32| {
        let mut spec = spec(json!({"type": "grpo", "group_size": 4}));
        spec["rollouts"] = json!({"dynamic_sampling": attempts});
        run(&server, &spec)
    };
    let zero_spread = |job: &Value| series(&server, job, "reward/zero_spread").iter().sum::<f64>();
    let (plain, dynamic) = (with(0), with(8));
    assert!(series(&server, &plain, "rollout/replaced").is_empty());
    let replaced = series(&server, &dynamic, "rollout/replaced");
    assert!(replaced.len() == 4 && replaced.iter().all(|share| (0.0..1.0).contains(share)), "{replaced:?}");
    assert!(zero_spread(&plain) > 0.0 && zero_spread(&dynamic) < zero_spread(&plain), "{plain}");
    assert_eq!(series(&server, &dynamic, "step/sequences"), [32.0; 4], "a step has as many as without");
}

#[test]
fn completions_of_another_model_are_learnt_from_where_that_is_asked_for() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut better = spec(json!({"type": "sft"}));
    better["optimizer"]["learning_rate"] = json!(0.001);
    let other = run(&server, &better)["result"]["checkpoint"].clone();
    let mut set = json!({"model": other, "dataset": {"train": "builtin:arithmetic"}, "verifier": {"type": "numeric"}});
    set["prompts"] = json!(32);
    set["group_size"] = json!(4);
    set["sampling"] = json!({"max_new_tokens": 8});
    let made = server.post("/v1/rollout-sets", &set).json();
    let set = made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    server.wait(made["job"].as_str().unwrap());
    let mixed = |objective: Value, allowed: bool| {
        let mut spec = spec(objective);
        spec["rollouts"] = json!({"mix": {"rollout_set": set, "share": 0.5}});
        if allowed {
            spec["rollouts"]["from_another_model"] = json!(true);
        }
        spec
    };
    let p3o = || json!({"type": "p3o", "group_size": 4, "kl_coef": 0.01});
    let refused = server.post("/v1/jobs", &mixed(p3o(), false));
    let said = refused.json().to_string();
    assert!(
        refused.status == 422 && said.contains("rollouts_from_another_model") && said.contains("from_another_model`")
    );
    let bolt = server.post("/v1/jobs", &mixed(json!({"type": "bolt"}), true));
    assert_eq!(bolt.status, 422, "what needs samples of the start does not take others");
    let job = run(&server, &mixed(p3o(), true));
    assert_eq!(series(&server, &job, "rollout/stored_share"), [0.5; 4]);
    let (ess, reference) = (series(&server, &job, "p3o/ess"), series(&server, &job, "kl/reference"));
    assert!(ess.iter().all(|ess| *ess < 1.0), "{ess:?}");
    assert_eq!(reference[0], 0.0, "the reference is the model that the job starts from");
}

#[test]
fn stored_completions_are_mixed_in_and_learnt_from() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut keeping = spec(json!({"type": "p3o", "group_size": 4}));
    keeping["rollouts"] = json!({"keep": true});
    let kept = run(&server, &keeping)["rollout_set"].as_str().unwrap().to_owned();
    let set = server.get(&format!("/v1/rollout-sets/{kept}")).json();
    assert_eq!((&set["status"], &set["summary"]["rollouts"]), (&json!("ready"), &json!(128)), "{set}");
    assert_eq!(set["summary"]["max_step"], 3);

    let mut mixing = spec(json!({"type": "p3o", "group_size": 4}));
    mixing["rollouts"] = json!({"mix": {"rollout_set": kept, "share": 0.25}});
    let job = run(&server, &mixing);
    assert_eq!(series(&server, &job, "rollout/stored_share"), [0.25; 4]);
    assert!(series(&server, &job, "p3o/ess").iter().skip(1).all(|ess| *ess < 1.0));

    for objective in [json!({"type": "grpo", "group_size": 4}), json!({"type": "p3o", "group_size": 4})] {
        let mut learning = spec(objective);
        learning["rollouts"] = json!({"from": kept});
        let job = run(&server, &learning);
        assert_eq!(series(&server, &job, "rollout/stored_share"), [1.0; 4]);
        assert!(series(&server, &job, "time/rollout_seconds").is_empty(), "nothing is sampled");
        assert!(job["result"]["report"]["frontier"]["rows"].is_array());
    }
    // Completions of later policies are not samples of the reference that BOLT tilts.
    let mut bolt = spec(json!({"type": "bolt"}));
    bolt["rollouts"] = json!({"from": kept});
    let refused = server.post("/v1/jobs", &bolt);
    assert_eq!(refused.status, 422);
    assert!(refused.json().to_string().contains("rollouts_not_from_the_reference"));
}

#[test]
fn a_job_without_anything_to_learn_says_so_and_ends() {
    let data = data_dir();
    let server = Server::start(data.path());
    let rows: String = (0..20).map(|i| format!("{{\"prompt\": \"{i}+1=\", \"answer\": \"99999\"}}\n")).collect();
    let dataset = server.post_bytes("/v1/datasets?name=impossible", rows.as_bytes(), &[]).json();
    let mut hopeless = spec(json!({"type": "grpo", "group_size": 2}));
    hopeless["dataset"] = json!({"train": dataset["id"]});
    let id = server.submit(&hopeless);
    let job = server.wait(&id);
    assert_eq!((job["status"].as_str(), job["failure"]["code"].as_str()), (Some("failed"), Some("no_learning_signal")));
    assert!(job["failure"]["message"].as_str().unwrap().contains("easier prompts"), "{job}");
    assert_eq!(codes(&server, &job).iter().filter(|code| *code == "step_skipped").count(), 3);
    assert_eq!(series(&server, &job, "mass/success"), [0.0; 3]);
}

#[test]
fn a_finished_bolt_job_reports_its_frontier_and_gaps() {
    let data = data_dir();
    let server = Server::start(data.path());
    let job = run(&server, &spec(json!({"type": "bolt", "group_size": 4, "rounds": 2, "zero_spread": "skip"})));
    let report = &job["result"]["report"];
    assert!(report["frontier"]["rows"].as_array().unwrap().len() > 10);
    let gap = |name: &str| report["gaps"][name].as_f64().unwrap();
    assert!(0.0 <= gap("support_price_low") && gap("support_price_low") <= gap("support_price_high"), "{report}");
    assert!(gap("support_price_good_turing") >= 0.0 && gap("support_kl") >= 0.0, "{report}");
    assert!((gap("beta_support_kl") - gap("beta") * gap("support_kl")).abs() < 1e-12, "{report}");
    let told: Vec<Value> =
        events(&server, &job).into_iter().filter(|event| event["data"]["gaps"].is_object()).collect();
    assert_eq!(told.len(), 2);
    for event in &told {
        let bound = |name: &str| format!("{:.3}", event["data"]["gaps"][name].as_f64().unwrap());
        let bounds = format!("between {} and {}", bound("support_price_low"), bound("support_price_high"));
        assert!(event["message"].as_str().unwrap().contains(&bounds), "{event}");
    }
    let error = |end: &str| series(&server, &job, &format!("target/partition_error_{end}"));
    assert_eq!((error("low").len(), error("high").len()), (4, 4));
    assert!(error("low").iter().zip(error("high")).all(|(low, high)| 0.0 <= *low && *low <= high), "{report}");
    assert!(codes(&server, &job).contains(&String::from("departure")), "the departure is said");
}

/// With held-out prompts the gaps say what training makes of them, and nothing else changes.
#[test]
fn what_training_makes_of_other_prompts_is_measured_and_changes_no_weight() {
    let data = data_dir();
    let server = Server::start(data.path());
    let plain = spec(json!({"type": "bolt", "group_size": 4, "rounds": 2}));
    let mut asked = plain.clone();
    asked["objective"]["held_out_prompts"] = json!(6);
    let (first, measured) = (run(&server, &plain), run(&server, &asked));
    assert_eq!(first["result"]["weights_sha256"], measured["result"]["weights_sha256"]);
    assert!(first["result"]["report"]["gaps"]["held_out"].is_null());
    let gaps = &measured["result"]["report"]["gaps"];
    let held_out = |name: &str| gaps["held_out"][name].as_f64().unwrap();
    assert_eq!(gaps["held_out"]["groups"], 6);
    assert!((held_out("beta_support_kl") - gaps["beta"].as_f64().unwrap() * held_out("support_kl")).abs() < 1e-12);
    let gain = gaps["support_kl_before"].as_f64().unwrap() - gaps["support_kl"].as_f64().unwrap();
    let others = held_out("support_kl_before") - held_out("support_kl");
    assert!((held_out("generalisation_kl") - (gain - others)).abs() < 1e-12, "{gaps}");
    assert!(held_out("generalisation_kl_error") > 0.0, "{gaps}");
    assert!(held_out("support_kl_before") > 0.0 && held_out("support_kl_before") != held_out("support_kl"), "{gaps}");
    // Completions of a stored set are trained on in one round, and its own policy samples those of the held-out prompts.
    let mut kept = plain.clone();
    kept["rollouts"] = json!({"keep": true});
    kept["objective"]["rounds"] = json!(1);
    let set = run(&server, &kept)["rollout_set"].clone();
    asked["objective"]["rounds"] = json!(1);
    let fresh = run(&server, &asked);
    asked["rollouts"] = json!({"from": set});
    let stored = run(&server, &asked);
    let report = |job: &Value| job["result"]["report"]["gaps"]["held_out"].clone();
    assert_eq!(report(&stored)["support_kl_before"], report(&fresh)["support_kl_before"]);
    let refused = |spec: &Value| server.post("/v1/jobs", spec).json().to_string();
    let mut spec = asked.clone();
    spec["rollouts"] = json!({});
    spec["objective"] = json!({"type": "bolt", "rounds": 2, "reference": "initial", "held_out_prompts": 6});
    assert!(refused(&spec).contains("/objective/held_out_prompts"));
    // Completions of a set have rewards without a verifier, those of other prompts have not; and they are to be of the same model.
    let mut spec = asked.clone();
    spec.as_object_mut().unwrap().remove("verifier");
    assert!(refused(&spec).contains("/objective/held_out_prompts"));
    let mut spec = asked.clone();
    spec["sampling"]["temperature"] = json!(0.5);
    assert!(refused(&spec).contains("/objective/held_out_prompts"));
    let mut spec = asked.clone();
    spec["dataset"]["rows"] = json!(10);
    assert!(refused(&spec).contains("/dataset/rows"));
}

#[test]
fn vopd_learns_from_another_teacher_and_measures_its_variance() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut better = spec(json!({"type": "sft"}));
    better["train"] = json!({"steps": 20, "prompts_per_step": 32});
    better["optimizer"]["learning_rate"] = json!(0.001);
    let teacher = run(&server, &better)["result"]["checkpoint"].clone();
    let job = run(
        &server,
        &spec(json!({"type": "vopd", "teacher": teacher, "reward_floor": -4.0,
        "gradient_variance_repeats": 6, "gradient_variance_every": 2})),
    );
    assert!(series(&server, &job, "kl/teacher").iter().all(|kl| *kl > 0.0));
    let events = events(&server, &job);
    let mut tables: Vec<&Value> =
        events.iter().map(|event| &event["data"]).filter(|data| data["gradient_variance"].is_object()).collect();
    tables.sort_by_key(|table| table["step"].as_u64());
    assert_eq!(tables.iter().map(|table| table["step"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 2]);
    let table = tables[0];
    // A divergence that is differentiated itself credits no token, and no mass is reported of what the loss does not use.
    let truncated = json!({"type": "vopd", "teacher": teacher, "estimator": "top_k_kl", "baseline": {"top_k": 3}});
    let job = run(&server, &spec(truncated));
    for name in ["mass/success", "mass/failure"] {
        assert_eq!(series(&server, &job, name), [0.0; 4], "{name}");
    }
    assert!(series(&server, &job, "kl/teacher").iter().all(|kl| *kl > 0.0));
    let variance = |name: &str| table["gradient_variance"][name]["variance"].as_f64().unwrap();
    assert!(variance("full") > 0.0 && variance("full") < variance("none"), "{table}");
}

#[test]
fn a_job_learns_from_the_teacher_that_it_was_submitted_with() {
    let data = data_dir();
    let import = tempfile::tempdir().unwrap();
    let folder = import.path().canonicalize().unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let asset = format!("{}/assets/arith-tiny/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(asset, folder.join(file)).unwrap();
    }
    let server = Server::start_with(data.path(), &["--import-roots", folder.to_str().unwrap()]);
    let distil = spec(json!({"type": "vopd", "teacher": folder}));
    let job = run(&server, &distil);
    let sha256 = job["spec_resolved"]["objective"]["teacher_sha256"].as_str().unwrap();
    assert_eq!(sha256.len(), 64);

    // Other weights while the next job waits for the device.
    let mut endless = small_spec();
    endless["train"]["steps"] = json!(100_000);
    endless["objective"]["rounds"] = json!(10_000);
    let blocker = server.submit(&endless);
    server.wait_until(&blocker, |job| job["status"] == "running");
    let waiting = server.submit(&distil);
    let weights = folder.join("model.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    server.post(&format!("/v1/jobs/{blocker}/cancel"), &json!({}));
    let failed = server.wait(&waiting);
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("teacher_changed")));
    assert!(failed["failure"]["message"].as_str().unwrap().contains(sha256), "{failed}");
    // A job that is submitted now learns from what is there.
    let job = run(&server, &distil);
    assert_ne!(job["spec_resolved"]["objective"]["teacher_sha256"], sha256);
}

/// Control runs in one call: their rewards say nothing, evaluations go on having the verifier's, and the job's report holds all of
/// them against it, prompt by prompt.
#[test]
fn control_runs_are_forks_beside_which_the_report_puts_the_job() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut main = spec(json!({"type": "grpo", "group_size": 8}));
    main["train"] = json!({"steps": 12, "prompts_per_step": 16});
    main["optimizer"]["learning_rate"] = json!(0.001);
    main["eval"]["prompts"] = json!(64);
    main["rollouts"] = json!({"keep": true});
    let job = run(&server, &main);
    let id = job["id"].as_str().unwrap();
    assert_eq!(job["result"]["after"]["passed"].as_array().unwrap().len(), 64);
    let fork = |control: &str| {
        let made = server.post(&format!("/v1/jobs/{id}/fork"), &json!({"control": control}));
        assert_eq!(made.status, 201, "{}", made.json());
        let finished = server.wait(made.json()["id"].as_str().unwrap());
        assert_eq!(finished["status"], "succeeded", "{finished}");
        finished
    };
    let (shuffled, random) = (fork("shuffled_rewards"), fork("random_rewards"));
    assert_eq!(shuffled["name"], "small, shuffled rewards");
    assert_eq!(shuffled["metadata"]["control"], "shuffled_rewards");
    assert_eq!(shuffled["rollout_set"], Value::Null, "rewards that are not the verifier's are not kept");
    // The first completions are the same ones: as many rewards of the same sizes, and others.
    let first = |job: &Value, name: &str| series(&server, job, name)[0];
    for name in ["reward/mean", "reward/zero_spread", "entropy/mean"] {
        assert_eq!(first(&shuffled, name), first(&job, name), "{name}");
    }
    assert_ne!(shuffled["result"]["weights_sha256"], job["result"]["weights_sha256"]);
    assert!((first(&random, "reward/mean") - 0.5).abs() < 0.15);
    assert_ne!(first(&random, "reward/mean"), first(&job, "reward/mean"));
    let report = server.get(&format!("/v1/jobs/{id}/report")).json();
    let forks = report["forks"].as_array().unwrap();
    let controls: Vec<&str> = forks.iter().map(|fork| fork["control"].as_str().unwrap()).collect();
    assert_eq!(controls, ["shuffled_rewards", "random_rewards"]);
    for (fork, job_of_fork) in forks.iter().zip([&shuffled, &random]) {
        let passed = |job: &Value| -> Vec<f64> {
            job["result"]["after"]["passed"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap() / 4.0).collect()
        };
        let differences: Vec<f64> = passed(&job).iter().zip(passed(job_of_fork)).map(|(a, b)| a - b).collect();
        let mean = differences.iter().sum::<f64>() / 64.0;
        let difference = &fork["difference"];
        assert_eq!(difference["prompts"], 64, "{fork}");
        assert!((difference["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{fork}");
        let spread = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 63.0;
        // Student's t of 63 degrees of freedom at 1 - 0.05 / 2 / 2.
        let half_width = 2.296 * (spread / 64.0).sqrt();
        assert!((difference["half_width"].as_f64().unwrap() / half_width - 1.0).abs() < 1e-3, "{fork} {half_width}");
    }
    assert_eq!(server.get(&format!("/v1/jobs?forked_from={id}")).json()["data"].as_array().unwrap().len(), 2);
    let markdown = server.get(&format!("/v1/jobs/{id}/report?format=markdown")).bytes;
    let markdown = String::from_utf8(markdown).unwrap();
    assert!(markdown.contains("| small, random rewards | random rewards | succeeded |"), "{markdown}");
    let refused = server.post(&format!("/v1/jobs/{id}/fork"), &json!({"control": "unfiltered_prompts"}));
    assert_eq!((refused.status, refused.json()["code"].as_str()), (409, Some("not_filtered")));
    let mut sft = spec(json!({"type": "sft"}));
    sft["rollouts"] = json!({"control": "random_rewards"});
    assert!(server.post("/v1/jobs", &sft).json().to_string().contains("/rollouts/control"));
}
