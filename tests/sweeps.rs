//! Sweeps from outside: their trials in turn, what they say together, and that nothing of them is lost.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, small_spec};
use serde_json::{Value, json};

/// A job of a moment.
fn quick_spec() -> Value {
    let mut spec = small_spec();
    spec["objective"] = json!({"type": "grpo", "group_size": 2});
    spec["train"] = json!({"steps": 2, "prompts_per_step": 2, "micro_batch_tokens": 256});
    spec["eval"] = json!({"prompts": 4, "samples": 2, "pass_at": [1, 2], "before": false});
    spec
}

fn sweep_of(spec: Value) -> Value {
    json!({
        "name": "rates",
        "spec": spec,
        "grid": {"/optimizer/learning_rate": [0.0001, 0.001]},
        "seeds": [1, 2, 3],
        "at_once": 2,
    })
}

fn create(server: &Server, body: &Value) -> Value {
    let answer = server.post("/v1/sweeps", body);
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()
}

fn get(server: &Server, sweep: &Value) -> Value {
    server.get(&format!("/v1/sweeps/{}", sweep["id"].as_str().unwrap())).json()
}

/// Looks at a sweep until `is_so`; whenever it is looked, no more trials are under way than may be.
fn until(server: &Server, sweep: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let sweep = get(server, sweep);
        assert!(sweep["counts"]["active"].as_u64() <= sweep["at_once"].as_u64(), "{sweep}");
        if is_so(&sweep) {
            return sweep;
        }
        assert!(Instant::now() < deadline, "{sweep}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn report(server: &Server, sweep: &Value, query: &str) -> Value {
    server.get(&format!("/v1/sweeps/{}/report{query}", sweep["id"].as_str().unwrap())).json()
}

fn refusal(server: &Server, body: &Value) -> (u16, String, String) {
    let answer = server.post("/v1/sweeps", body);
    let problem = answer.json();
    let pointer = problem["errors"][0]["pointer"].as_str().unwrap_or_default().to_owned();
    (answer.status, problem["code"].as_str().unwrap().to_owned(), pointer)
}

#[test]
fn trials_take_their_turns_and_are_compared_seed_by_seed() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let made = create(&server, &sweep_of(quick_spec()));
    assert_eq!((&made["object"], &made["counts"]["trials"]), (&json!("sweep"), &json!(6)));
    assert_eq!(made["configurations"][1]["name"], "learning_rate 0.001");
    let seeds: Vec<u64> = made["trials"].as_array().unwrap().iter().map(|t| t["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 1, 2, 2, 3, 3], "those that can be compared stand together");
    let job = server.job(made["trials"][5]["job"].as_str().unwrap());
    assert_eq!((&job["status"], &job["name"]), (&json!("paused"), &json!("rates: learning_rate 0.001, seed 3")));
    assert_eq!((&job["spec"]["seed"], &job["spec"]["optimizer"]["learning_rate"]), (&json!(3), &json!(0.001)));

    let done = until(&server, &made, |sweep| sweep["status"] == "finished");
    assert_eq!((&done["counts"]["succeeded"], &done["counts"]["lost"]), (&json!(6), &json!(0)));
    assert!(done["finished_at"].is_number());
    let started = |trial: usize| server.job(done["trials"][trial]["job"].as_str().unwrap())["started_at"].clone();
    assert!((1..6).all(|trial| started(trial - 1).as_i64() <= started(trial).as_i64()), "in their order");

    let found = report(&server, &made, "");
    assert_eq!((&found["metric"], &found["missing"]), (&json!("pass@1"), &json!([])));
    // The values are those that the jobs tell, and their means.
    let of_job = |trial: &Value| {
        let job = server.job(trial["job"].as_str().unwrap());
        job["result"]["after"]["pass_at"][0]["mean"].as_f64().unwrap()
    };
    for (place, summary) in found["configurations"].as_array().unwrap().iter().enumerate() {
        let own = done["trials"].as_array().unwrap().iter().filter(|trial| trial["configuration"] == place);
        let values: Vec<f64> = own.map(of_job).collect();
        assert!((summary["mean"].as_f64().unwrap() - values.iter().sum::<f64>() / 3.0).abs() < 1e-12);
        assert_eq!(summary["values"]["2"].as_f64(), Some(values[1]));
    }
    let comparison = &found["comparisons"][0];
    assert_eq!((&comparison["configuration"], &comparison["pairs"]), (&json!(1), &json!(3)));
    let means =
        ["1", "0"].map(|place| found.pointer(&format!("/configurations/{place}/mean")).unwrap().as_f64().unwrap());
    assert!((comparison["difference"].as_f64().unwrap() - (means[0] - means[1])).abs() < 1e-12);
    let losses = report(&server, &made, "?metric=loss&baseline=1");
    assert_eq!(losses["comparisons"][0]["configuration"], 0);
    assert_eq!(report(&server, &made, "?metric=luck")["code"], "unknown_metric");
    assert_eq!(report(&server, &made, "?metric=fade/alpha")["code"], "not_reported");
    assert_eq!(report(&server, &made, "?baseline=2")["errors"][0]["pointer"], "/baseline");

    // The same once more is answered by what there is; a sweep that is over is over.
    let again = create(
        &server,
        &json!({"spec": quick_spec(), "grid": {"/optimizer/learning_rate": [0.0001]}, "seeds": [1, 4], "reuse": true}),
    );
    assert_eq!((&again["trials"][0]["reused"], &again["trials"][1]["reused"]), (&json!(true), &json!(false)));
    assert_eq!(again["trials"][0]["job"], done["trials"][0]["job"]);
    until(&server, &again, |sweep| sweep["status"] == "finished");
    let over = server.post(&format!("/v1/sweeps/{}/cancel", again["id"].as_str().unwrap()), &json!({}));
    assert_eq!((over.status, over.problem().as_str()), (409, "sweep_over"));
    let listed: Vec<Value> = server.get("/v1/sweeps").json()["data"].as_array().unwrap().clone();
    assert_eq!((listed.len(), &listed[0]["id"], &listed[0]["trials"]), (2, &again["id"], &Value::Null));
}

#[test]
fn a_sweep_rests_goes_on_and_ends_when_it_is_told_to() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let mut endless = quick_spec();
    endless["train"]["steps"] = json!(100_000);
    let made = create(&server, &sweep_of(endless));
    assert_eq!(made["counts"]["active"], 2);
    let path = format!("/v1/sweeps/{}", made["id"].as_str().unwrap());
    let paused = server.patch(&path, &json!({"paused": true, "at_once": 3}), &[]).json();
    assert_eq!((&paused["status"], &paused["counts"]["active"]), (&json!("paused"), &json!(2)));
    // A trial that a client has begin, and rest, is the client's from then on.
    let own = made["trials"][5]["job"].as_str().unwrap();
    server.resume(own);
    server.post(&format!("/v1/jobs/{own}/pause"), &json!({}));
    let rests = |sweep: &Value| sweep["counts"]["paused"] == 1 && sweep["counts"]["waiting"] == 3;
    until(&server, &made, rests);
    // One that ends makes room, which nobody takes.
    let first = made["trials"][0]["job"].as_str().unwrap();
    server.post(&format!("/v1/jobs/{first}/cancel"), &json!({}));
    until(&server, &made, |sweep| sweep["counts"]["lost"] == 1);
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(get(&server, &made)["counts"]["waiting"], 3);
    let resumed = server.patch(&path, &json!({"paused": false}), &[]).json();
    assert_eq!((&resumed["status"], &resumed["counts"]["active"]), (&json!("running"), &json!(3)));
    assert_eq!(server.patch(&path, &json!({"at_once": 0}), &[]).status, 422);
    let cancelled = server.post(&format!("{path}/cancel"), &json!({})).json();
    assert_eq!(cancelled["status"], "cancelled");
    until(&server, &made, |sweep| sweep["counts"]["lost"] == 6);
    assert_eq!(server.patch(&path, &json!({"paused": false}), &[]).problem(), "sweep_over");
}

/// Four configurations of eight steps with two seeds, of which halves are given up after two steps and after four.
fn halved() -> Value {
    let mut spec = quick_spec();
    spec["train"]["steps"] = json!(8);
    spec["eval"]["every_steps"] = json!(2);
    json!({
        "spec": spec,
        "grid": {"/optimizer/learning_rate": [0.00001, 0.0001, 0.001, 0.01]},
        "seeds": [1, 2],
        "at_once": 3,
        "halving": {"steps": [2, 4]},
    })
}

/// pass@1 of a job after a step.
fn pass_at(server: &Server, job: &str, step: u64) -> f64 {
    let events =
        server.get(&format!("/v1/events?job={job}&type=evaluation")).json()["data"].as_array().unwrap().clone();
    let is_of = |event: &&Value| event["type"] == "evaluation" && event["data"]["step"] == step;
    let found = events.iter().rfind(is_of).unwrap_or_else(|| panic!("{job} has no evaluation at {step}"));
    found["data"]["pass_at"][0]["mean"].as_f64().unwrap()
}

#[test]
fn the_worse_half_is_given_up_at_each_step_by_what_was_measured_there() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let made = create(&server, &halved());
    assert_eq!(made["halving"], json!({"metric": "pass@1", "steps": [2, 4], "factor": 2, "goal": "maximize"}));
    let done = until(&server, &made, |sweep| sweep["status"] == "finished");
    let trials = done["trials"].as_array().unwrap();
    let of = |configuration: u64| trials.iter().filter(move |trial| trial["configuration"] == configuration);
    // Who goes on, by the evaluations that the jobs tell.
    let better = |standing: &[u64], step: u64, count: usize| -> Vec<u64> {
        let mean = |place: &u64| {
            of(*place).map(|trial| pass_at(&server, trial["job"].as_str().unwrap(), step)).sum::<f64>() / 2.0
        };
        let mut ranked: Vec<(u64, f64)> = standing.iter().map(|place| (*place, mean(place))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(count);
        let mut places: Vec<u64> = ranked.into_iter().map(|(place, _)| place).collect();
        places.sort_unstable();
        places
    };
    let two = better(&[0, 1, 2, 3], 2, 2);
    let one = better(&two, 4, 1);
    for trial in trials {
        let place = trial["configuration"].as_u64().unwrap();
        let reached = if two.contains(&place) { 4 } else { 2 };
        assert_eq!(trial["rung_step"], reached, "{trial}");
        let value = pass_at(&server, trial["job"].as_str().unwrap(), reached);
        assert!((trial["rung_value"].as_f64().unwrap() - value).abs() < 1e-12);
        assert_eq!(trial["dropped"], !one.contains(&place), "{one:?}: {trial}");
        // A short job may have come to its end before it was seen.
        let status = trial["status"].as_str().unwrap();
        assert!(status == "succeeded" || (trial["dropped"] == true && status == "cancelled"), "{trial}");
    }
    assert_eq!(done["counts"]["lost"], 0);
    let counted = done["counts"]["dropped"].as_u64().unwrap() + done["counts"]["succeeded"].as_u64().unwrap();
    assert_eq!(counted, 8);

    // What was given up gets no more seeds; the winner is measured again with new ones.
    let path = format!("/v1/sweeps/{}", made["id"].as_str().unwrap());
    assert_eq!(server.patch(&path, &json!({"add_seeds": [3, 2]}), &[]).json()["errors"][0]["pointer"], "/add_seeds/1");
    let more = server.patch(&path, &json!({"add_seeds": [3, 4]}), &[]).json();
    assert_eq!((&more["status"], &more["counts"]["trials"]), (&json!("running"), &json!(10)), "{more}");
    let done = until(&server, &made, |sweep| sweep["status"] == "finished");
    for trial in &done["trials"].as_array().unwrap()[8..] {
        assert_eq!((&trial["configuration"], &trial["status"]), (&json!(one[0]), &json!("succeeded")), "{trial}");
    }
    let found = report(&server, &made, "");
    for (place, summary) in found["configurations"].as_array().unwrap().iter().enumerate() {
        let is_left = one.contains(&(place as u64));
        assert!(!is_left || (summary["seeds"] == 4 && summary["dropped_at"].is_null()), "{summary}");
        // Whether or not one of them had come to its end before it was seen.
        assert!(is_left || (summary["seeds"] == 0 && summary["dropped_at"].is_number()), "{summary}");
    }
    let cancelled = server.post(&format!("{path}/cancel"), &json!({}));
    assert_eq!(cancelled.problem(), "sweep_over");
}

#[test]
fn long_trials_wait_for_one_another_and_the_given_up_ones_stop() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let mut body = halved();
    body["spec"]["train"]["steps"] = json!(100_000);
    body["spec"]["eval"]["every_steps"] = json!(2);
    body["halving"] = json!({"metric": "loss", "goal": "minimize", "steps": [4], "factor": 4});
    body["seeds"] = json!([1]);
    body["at_once"] = json!(1);
    let made = create(&server, &body);
    // One after another comes to the step and waits there, until all were.
    let decided = until(&server, &made, |sweep| sweep["counts"]["dropped"] == 3);
    let left: Vec<&Value> =
        decided["trials"].as_array().unwrap().iter().filter(|trial| trial["dropped"] == false).collect();
    assert_eq!(left.len(), 1);
    let values = |trial: &Value| trial["rung_value"].as_f64().unwrap();
    let all = decided["trials"].as_array().unwrap();
    assert!(all.iter().all(|trial| values(left[0]) <= values(trial)), "{all:?}");
    let goes_on = left[0]["job"].as_str().unwrap();
    let before = server.job(goes_on)["step"].as_u64();
    until(&server, &made, |_| server.job(goes_on)["step"].as_u64() > before);
    server.post(&format!("/v1/sweeps/{}/cancel", made["id"].as_str().unwrap()), &json!({}));
    let over = until(&server, &made, |sweep| sweep["counts"]["lost"] == 1);
    assert_eq!((&over["status"], &over["counts"]["dropped"]), (&json!("cancelled"), &json!(3)));
}

#[test]
fn by_a_metric_that_no_trial_has_nothing_is_decided_and_nobody_waits_for_the_end() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let mut body = halved();
    body["spec"]["train"]["steps"] = json!(100_000);
    // Reported where eight prompts have different rewards, which is known when they are sampled; these are two.
    body["halving"] = json!({"metric": "reward/length_correlation", "steps": [2]});
    body["seeds"] = json!([1]);
    body["at_once"] = json!(4);
    let made = create(&server, &body);
    // One device has them in turn; each rests when it has come to step 2, until all have.
    let come = |sweep: &Value| sweep["trials"].as_array().unwrap().iter().all(|trial| trial["rung_step"] == 2);
    let decided = until(&server, &made, |sweep| come(sweep) && sweep["counts"]["active"] == 4);
    for trial in decided["trials"].as_array().unwrap() {
        assert_eq!(trial["dropped"], json!(false), "{trial}");
        assert_eq!((&trial["rung_step"], &trial["rung_value"]), (&json!(2), &Value::Null));
    }
    server.post(&format!("/v1/sweeps/{}/cancel", made["id"].as_str().unwrap()), &json!({}));
}

/// A name may stand for other rows by the time that seeds are added, and another phase's metric may be older than the step.
#[test]
fn added_seeds_have_the_data_of_the_others_and_what_few_steps_report_counts_at_later_ones() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let jsonl = [("content-type", "application/jsonl")];
    let rows = |numbers: std::ops::Range<u32>| -> String {
        numbers
            .map(|n| json!({"prompt": format!("{n}+1="), "answer": (n + 1).to_string()}).to_string() + "\n")
            .collect()
    };
    let made = server.post_bytes("/v1/datasets?name=sums", rows(1..5).as_bytes(), &jsonl);
    assert_eq!(made.status, 201, "{}", made.json());
    let data = made.json()["id"].as_str().unwrap().to_owned();
    let mut body = sweep_of(quick_spec());
    body["spec"]["dataset"]["train"] = json!("sums");
    body["spec"]["train"] =
        json!({"steps": 4, "prompts_per_step": 2, "updates_per_rollout": 2, "micro_batch_tokens": 256});
    // Of sampling phases, which are before steps 1 and 3.
    body["halving"] = json!({"metric": "throughput/rollout_tokens_per_second", "steps": [2]});
    body["seeds"] = json!([1]);
    let made = create(&server, &body);
    let done = until(&server, &made, |sweep| sweep["status"] == "finished");
    let trials = done["trials"].as_array().unwrap();
    assert!(trials.iter().all(|trial| trial["rung_value"].is_number()), "{trials:?}");
    assert_eq!(trials.iter().filter(|trial| trial["dropped"] == true).count(), 1, "{done}");
    assert_eq!(server.post_bytes(&format!("/v1/datasets/{data}/append"), rows(5..7).as_bytes(), &jsonl).status, 201);
    let path = format!("/v1/sweeps/{}", made["id"].as_str().unwrap());
    let more = server.patch(&path, &json!({"add_seeds": [2]}), &[]).json();
    let rows = |sweep: &Value, trial: usize| {
        server.job(sweep["trials"][trial]["job"].as_str().unwrap())["spec_resolved"]["dataset"]["train"].clone()
    };
    assert_eq!(rows(&more, 2), rows(&made, 0), "{more}");
    until(&server, &made, |sweep| sweep["status"] == "finished");
}

/// Rows are appended while the specs of many trials are checked.
#[test]
fn data_that_grows_while_a_sweep_is_made_is_the_same_in_all_trials() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let jsonl = [("content-type", "application/jsonl")];
    let row = |n: u32| json!({"prompt": format!("{n}+1="), "answer": (n + 1).to_string()}).to_string() + "\n";
    let data = server.post_bytes("/v1/datasets?name=sums", row(1).as_bytes(), &jsonl).json();
    let append = format!("/v1/datasets/{}/append", data["id"].as_str().unwrap());
    let mut body = sweep_of(quick_spec());
    body["spec"]["dataset"]["train"] = json!("sums");
    body["seeds"] = json!((0..200).collect::<Vec<u64>>());
    let made = std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 2..6 {
                std::thread::sleep(Duration::from_millis(30));
                assert_eq!(server.post_bytes(&append, row(n).as_bytes(), &jsonl).status, 201);
            }
        });
        create(&server, &body)
    });
    let some = made["trials"].as_array().unwrap().iter().step_by(19);
    let rows: std::collections::BTreeSet<String> = some
        .map(|trial| server.job(trial["job"].as_str().unwrap())["spec_resolved"]["dataset"]["train"].to_string())
        .collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let path = format!("/v1/sweeps/{}/cancel", made["id"].as_str().unwrap());
    assert_eq!(server.post(&path, &json!({})).status, 200);
}

/// Trials that come to the same spec are one job, where the sweep reuses what is done; the sweep counts it as under way once.
#[test]
fn equal_trials_are_done_once() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let body = json!({
        "spec": quick_spec(), "seeds": [1, 2], "at_once": 2, "reuse": true,
        "variants": [
            {"name": "a", "patch": []},
            {"name": "again", "patch": [{"op": "add", "path": "/metadata", "value": {"why": "the same"}}]},
            {"name": "b", "patch": [{"op": "add", "path": "/optimizer/weight_decay", "value": 0.5}]},
        ],
    });
    let made = create(&server, &body);
    let jobs: Vec<&str> = made["trials"].as_array().unwrap().iter().map(|t| t["job"].as_str().unwrap()).collect();
    assert_eq!((jobs[0], jobs[3]), (jobs[1], jobs[4]), "{made}");
    assert_eq!(jobs.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    let sums = |sweep: &Value| {
        let counts = sweep["counts"].as_object().unwrap();
        let parts = counts.iter().filter(|(name, _)| *name != "trials").map(|(_, count)| count.as_u64().unwrap());
        parts.sum::<u64>()
    };
    let done = until(&server, &made, |sweep| {
        assert_eq!(sums(sweep), 6, "{sweep}");
        sweep["status"] == "finished"
    });
    assert_eq!(done["counts"]["succeeded"], 6, "{done}");
    assert_eq!(server.get("/v1/jobs").json()["data"].as_array().unwrap().len(), 4);
    let compared = report(&server, &made, "?baseline=0");
    assert_eq!(compared["comparisons"][0]["difference"], 0.0, "{compared}");
    // A job that was done is taken again where that is asked for, and made anew where it is not.
    let mut spec = quick_spec();
    spec["seed"] = json!(1);
    let asked = |query: &str| server.post(&format!("/v1/jobs{query}"), &spec).json()["id"].clone();
    assert_eq!(asked("?reuse=true"), jobs[0]);
    assert_ne!(asked(""), jobs[0]);
}

#[test]
fn the_same_seeds_asked_for_twice_at_once_are_added_once() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let mut body = sweep_of(quick_spec());
    body["seeds"] = json!([1]);
    body["by_seed"] = json!({"/metadata/about": ["one"]});
    let made = create(&server, &body);
    let path = format!("/v1/sweeps/{}", made["id"].as_str().unwrap());
    assert_eq!(server.patch(&path, &json!({"add_seeds": [2]}), &[]).json()["errors"][0]["pointer"], "/by_seed");
    let more = json!({"add_seeds": [2, 3], "by_seed": {"/metadata/about": ["two", "three"]}});
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| server.patch(&path, &more, &[]).status)).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|status| [200, 409, 422].contains(status)), "{answers:?}");
    let grown = get(&server, &made);
    assert_eq!(grown["counts"]["trials"], 6, "{grown}");
    let last = grown["trials"][5]["job"].as_str().unwrap();
    assert_eq!(server.job(last)["metadata"]["about"], "three");
    until(&server, &made, |sweep| sweep["status"] == "finished");
}

#[test]
fn a_budget_for_all_pauses_what_runs_and_more_of_it_has_it_go_on() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let mut body = sweep_of(quick_spec());
    body["spec"]["train"]["steps"] = json!(100_000);
    body["budget"] = json!({"device_seconds": 1});
    let made = create(&server, &body);
    let path = format!("/v1/sweeps/{}", made["id"].as_str().unwrap());
    let stopped = until(&server, &made, |sweep| sweep["status"] == "paused" && sweep["counts"]["active"] == 0);
    assert!(stopped["device_seconds"].as_f64() >= Some(1.0), "{stopped}");
    assert_eq!(stopped["counts"]["waiting"], 6, "those that rest have their turns again: {stopped}");
    assert_eq!(server.patch(&path, &json!({"paused": false}), &[]).problem(), "budget_exhausted");
    let more = json!({"paused": false, "budget": {"device_seconds": 1_000_000}});
    let goes_on = server.patch(&path, &more, &[]).json();
    assert_eq!((&goes_on["status"], &goes_on["counts"]["active"]), (&json!("running"), &json!(2)), "{goes_on}");
    let first = made["trials"][0]["job"].as_str().unwrap();
    let before = server.job(first)["step"].as_u64();
    until(&server, &made, |_| server.job(first)["step"].as_u64() > before);
    // Whoever pauses a sweep does not lift its budget.
    let spent = get(&server, &made)["device_seconds"].as_f64().unwrap() as u64 + 2;
    let last = json!({"paused": true, "budget": {"device_seconds": spent}});
    assert_eq!(server.patch(&path, &last, &[]).json()["status"], "paused");
    until(&server, &made, |sweep| sweep["counts"]["active"] == 0);
    server.post(&format!("{path}/cancel"), &json!({}));
}

#[test]
fn what_cannot_be_is_refused_by_its_field_and_nothing_is_made() {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let million =
        json!({"spec": quick_spec(), "grid": {"/seed": vec![1; 1000], "/priority": vec![0; 1000]}, "seeds": [1]});
    assert_eq!(refusal(&server, &million), (422, "invalid_spec".into(), "".into()));
    let with = |variants: Value| json!({"spec": quick_spec(), "variants": variants, "seeds": [1]});
    let removed = json!([{"name": "a", "patch": []}, {"name": "b", "patch": [{"op": "remove", "path": "/nothing"}]}]);
    assert_eq!(refusal(&server, &with(removed)), (422, "patch_failed".into(), "/variants/1/patch/0".into()));
    let invalid = json!([{"name": "a", "patch": [{"op": "add", "path": "/train/steps", "value": 0}]}]);
    assert_eq!(refusal(&server, &with(invalid)), (422, "invalid_trial".into(), "/variants/0/patch/0".into()));
    let mut unknown = json!({"spec": quick_spec(), "seeds": [1]});
    unknown["spec"]["model"] = json!("mdl_nothing");
    let (status, code, pointer) = refusal(&server, &unknown);
    assert_eq!((status, code.as_str(), pointer.as_str()), (422, "invalid_trial", "/spec/model"));
    let root = json!([{"name": "a", "patch": [{"op": "replace", "path": "", "value": []}]}]);
    assert_eq!(refusal(&server, &with(root)), (422, "patch_failed".into(), "/variants/0/patch/0".into()));
    let wide = json!({"spec": quick_spec(), "grid": {"/metadata/a": vec!["x".repeat(40_000); 400]}, "seeds": [1]});
    assert_eq!(server.post("/v1/sweeps", &wide).status, 413, "more than a request may be");
    let patch = json!([{"op": "add", "path": "/metadata", "value": {"a": "x".repeat(80_000)}}]);
    let mut wide = with(json!([{"name": "a", "patch": patch}]));
    wide["grid"] = json!({"/priority": (0..500).collect::<Vec<u32>>()});
    assert_eq!(server.post("/v1/sweeps", &wide).json()["errors"][0]["code"], "too_large");
    assert_eq!(refusal(&server, &json!({"spec": 3, "seeds": [1]})).2, "/spec");
    let halving = |halving: Value| {
        let body = json!({"spec": quick_spec(), "seeds": [1], "halving": halving});
        server.post("/v1/sweeps", &body).json()["errors"][0].clone()
    };
    let told = |error: Value| [error["pointer"].clone(), error["code"].clone()];
    assert_eq!(told(halving(json!({"steps": [2]}))), ["/halving/steps/0", "not_evaluated"]);
    assert_eq!(told(halving(json!({"steps": [1]}))), ["/halving/steps/0", "not_evaluated"]);
    assert_eq!(told(halving(json!({"steps": [1], "metric": "pass@3"}))), ["/halving/metric", "not_evaluated"]);
    assert_eq!(told(halving(json!({"steps": [1], "metric": "luck"}))), ["/halving/metric", "unknown_metric"]);
    for name in ["kl/teacher", "target/success", "fade/alpha", "part/style", "experts/busiest"] {
        assert_eq!(told(halving(json!({"steps": [1], "metric": name}))), ["/halving/metric", "not_reported"], "{name}");
    }
    assert_eq!(told(halving(json!({"steps": []}))), ["/halving/steps", "out_of_range"]);
    let budget = json!({"spec": quick_spec(), "seeds": [1], "budget": {"device_seconds": 0}});
    assert_eq!(refusal(&server, &budget).2, "/budget/device_seconds");
    assert_eq!(refusal(&server, &json!({"spec": {}, "seeds": [1], "lots": 3})).2, "/lots");
    assert!(server.get("/v1/jobs").json()["data"].as_array().unwrap().is_empty());
    assert!(server.get("/v1/sweeps").json()["data"].as_array().unwrap().is_empty());
    assert_eq!(server.get("/v1/sweeps/swp_nothing").status, 404);
    // A key makes one sweep, also of so many trials that the answer is too long to be kept.
    let mut many = sweep_of(quick_spec());
    many["grid"] = json!({"/priority": (0..400).collect::<Vec<u32>>()});
    many["seeds"] = json!([1]);
    let body = many.to_string();
    let keyed = || {
        let headers = [("content-type", "application/json"), ("idempotency-key", "a")];
        server.post_bytes("/v1/sweeps", body.as_bytes(), &headers).json()["id"].clone()
    };
    assert_eq!(keyed(), keyed());
    assert_eq!(server.get("/v1/sweeps").json()["data"].as_array().unwrap().len(), 1);
}

/// `ANNEAL_TRIALS` says of how many jobs, 6 where it says nothing.
#[test]
fn a_sweep_that_is_killed_ends_with_the_same_report() {
    let trials: u64 = std::env::var("ANNEAL_TRIALS").map_or(6, |trials| trials.parse().unwrap());
    let mut body = sweep_of(quick_spec());
    body["seeds"] = json!((1..=trials / 2).collect::<Vec<u64>>());
    let [undisturbed, done] = check_killed(&body, (trials / 6).max(4));
    // Of many seeds there is one whose few completions earn nothing, on which a job fails.
    assert_eq!(done["counts"], undisturbed["counts"], "{done}");
    assert!(done["counts"]["succeeded"].as_u64() >= Some(trials - trials / 10), "{done}");
}

/// Which trials of those that are given up came to their ends before they were seen is another one each time.
#[test]
fn a_sweep_that_gives_up_trials_and_is_killed_ends_with_the_same_report() {
    let [_, done] = check_killed(&halved(), 4);
    assert_eq!(done["counts"]["lost"], 0, "{done}");
}

/// Everything is killed again and again; the report is that of a sweep that nobody disturbed. Both sweeps in the end.
fn check_killed(body: &Value, kills: u64) -> [Value; 2] {
    let (undisturbed, expected) = {
        let folder = data_dir();
        let server = Server::start(folder.path());
        let made = create(&server, body);
        let done = until(&server, &made, |sweep| sweep["status"] == "finished");
        (done, report(&server, &made, ""))
    };
    let folder = data_dir();
    let mut server = Server::start(folder.path());
    let made = create(&server, body);
    // A job whose workers are lost three times is given up, so that something is done between kills.
    let mut seen = 0;
    for _ in 0..kills {
        let has_come = |trial: &&Value| trial["status"] == "succeeded" || trial["rung_step"].is_number();
        let come = |sweep: &Value| sweep["trials"].as_array().unwrap().iter().filter(has_come).count() as u64;
        seen = come(&until(&server, &made, |sweep| come(sweep) > seen || sweep["status"] == "finished"));
        let workers = Command::new("pkill").args(["-KILL", "-P", &server.pid().to_string()]).status();
        assert!(workers.is_ok());
        server.kill();
        server = Server::start(folder.path());
    }
    let done = until(&server, &made, |sweep| sweep["status"] == "finished");
    let got = report(&server, &made, "");
    for part in ["configurations", "comparisons", "missing"] {
        assert_eq!(got[part], expected[part]);
    }
    [undisturbed, done]
}
