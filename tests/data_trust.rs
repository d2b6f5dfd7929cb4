//! Data that people can trust: what is held out stays held out, what leaks is found, what is filtered says where it comes
//! from, and the order of rows is the one that was asked for, also when the worker is killed.

mod common;
#[path = "common/pages.rs"]
mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{Answer, Server, data_dir, signal, small_spec};
use serde_json::{Value, json};

/// Sums with a level that is smallest for the last row.
fn sums(count: u64) -> Vec<String> {
    let row = |i: u64| {
        let (a, b) = (10 + i / 9, 1 + i % 9);
        json!({"prompt": format!("{a}+{b}="), "answer": a + b, "level": (count - i) / 4}).to_string()
    };
    (0..count).map(row).collect()
}

fn post(server: &Server, path: &str, rows: &[String]) -> Answer {
    server.post_bytes(path, (rows.join("\n") + "\n").as_bytes(), &[("content-type", "application/jsonl")])
}

/// Uploads rows and says what the version is.
fn upload(server: &Server, query: &str, rows: &[String]) -> Value {
    let made = post(server, &format!("/v1/datasets{query}"), rows);
    assert_eq!(made.status, 201, "{}", made.json());
    made.json()["latest"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// A job that samples its rows, 8 prompts a step, and keeps what it samples.
fn job_on(dataset: Value) -> Value {
    let mut spec = small_spec();
    spec["dataset"] = dataset;
    spec["objective"] = json!({"type": "grpo", "group_size": 4});
    spec["train"] = json!({"steps": 9, "prompts_per_step": 8, "micro_batch_tokens": 256});
    spec["rollouts"] = json!({"keep": true});
    spec
}

fn finish(server: &Server, spec: &Value) -> Value {
    let job = server.wait(&server.submit(spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

/// The rows that a job sampled for, one for each prompt.
fn rows_of(server: &Server, job: &Value) -> Vec<u64> {
    let file = format!("/v1/rollout-sets/{}/files/rollouts.jsonl", text(&job["rollout_set"]));
    let bytes = server.get(&file).bytes;
    let lines = String::from_utf8(bytes).unwrap();
    let mut groups: BTreeMap<u64, u64> = BTreeMap::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        groups.insert(line["group"].as_u64().unwrap(), line["row"].as_u64().unwrap());
    }
    groups.into_values().collect()
}

/// The numbers of the rows that a version holds out, as evaluations use them.
fn held_out(server: &Server, version: &Value) -> BTreeSet<u64> {
    let spec = json!({"model": "builtin:arith-tiny", "dataset": version["id"], "samples": 1, "pass_at": [1],
                      "verifier": {"type": "numeric"}, "sampling": {"max_new_tokens": 5}, "prompts": 1000});
    let evaluation = server.post("/v1/evaluations", &spec);
    assert_eq!(evaluation.status, 201, "{}", evaluation.json());
    let evaluation = evaluation.json();
    server.wait(text(&evaluation["job"]));
    let results = server.get(&format!("/v1/evaluations/{}/results?limit=100", text(&evaluation["id"]))).json();
    results["data"].as_array().unwrap().iter().map(|result| result["row"].as_u64().unwrap()).collect()
}

#[test]
fn the_commands_of_the_page_work() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DATASETS.md")).unwrap();
    let begin = page.find("## Data to trust").unwrap();
    let section = &page[begin..];
    let end = section[3..].find("\n## ").map_or(section.len(), |end| end + 3);
    let blocks: Vec<String> =
        pages::blocks("docs/DATASETS.md").into_iter().filter(|block| section[..end].contains(block.as_str())).collect();
    assert_eq!(blocks.len(), 4);
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    pages::all_work(&blocks, &server.base, folder.path());
}

#[test]
fn rows_that_are_held_out_stay_held_out() {
    let data = data_dir();
    let server = Server::start(data.path());
    let rows = sums(90);
    let version = upload(&server, "?split=eval:0.2", &rows);
    let split = &version["split"];
    let (train, eval) = (split["train_rows"].as_u64().unwrap(), split["eval_rows"].as_u64().unwrap());
    assert_eq!((&split["eval"], train + eval), (&json!(0.2), 90));
    assert!((8..=30).contains(&eval), "{version}");
    let before = held_out(&server, &version);
    assert_eq!(before.len() as u64, eval);

    // Rows that come later, among them one that only looks otherwise, change no side.
    let like = json!({"prompt": " 10 + 1 = ", "answer": 11}).to_string();
    let more = [vec![like], sums(150)[90..].to_vec()].concat();
    let appended = post(&server, &format!("/v1/datasets/{}/append", text(&version["dataset"])), &more).json();
    assert_eq!(
        (&appended["rows"], &appended["split"]["eval"], &appended["parent"]),
        (&json!(151), &json!(0.2), &version["id"])
    );
    assert_eq!(appended["made"], json!({"append": {"rows": 61}}));
    let after = held_out(&server, &appended);
    assert!(after.iter().filter(|row| **row < 90).eq(before.iter()), "{before:?} {after:?}");
    assert_eq!(after.contains(&90), before.contains(&0));

    // A job trains on the one side and evaluates on the other, by their numbers in the file.
    let job = finish(&server, &job_on(json!({"train": version["id"]})));
    let trained: BTreeSet<u64> = rows_of(&server, &job).into_iter().collect();
    assert!(trained.is_disjoint(&before) && trained.iter().all(|row| *row < 90), "{trained:?}");
    assert_eq!(job["spec_resolved"]["dataset"]["eval"], version["id"]);

    let check = |version: &Value, body: Value| {
        server.post(&format!("/v1/dataset-versions/{}/check", text(&version["id"])), &body).json()
    };
    let found = check(&appended, json!({}));
    assert_eq!((&found["leakage"]["exact"]["rows"], &found["leakage"]["normalised"]["rows"]), (&json!(0), &json!(0)));
    assert_eq!(found["duplicates"]["normalised"]["groups"], json!([[0, 90]]));
    let none = post(&server, "/v1/datasets?split=eval:0", &rows).json();
    assert_eq!(none["latest"]["split"], Value::Null);
    let refused = post(&server, "/v1/datasets?split=test:0.1", &rows);
    assert_eq!((refused.status, refused.problem().as_str()), (400, "invalid_parameter"));
}

#[test]
fn a_check_names_what_comes_again_and_what_leaks() {
    let data = data_dir();
    let server = Server::start(data.path());
    let row = |prompt: &str, answer: u64| json!({"prompt": prompt, "answer": answer, "completion": "7"}).to_string();
    let long = "if a train leaves the station at noon and runs for three hours how far does it get";
    let train =
        [row("1+1=", 2), row("What is 1+1?", 2), row("what is 1 + 1", 3), row(&format!("Well, {long}, at 50?"), 1)];
    let (train, eval) =
        (upload(&server, "", &train), upload(&server, "", &[row("1+1=", 2), row("WHAT is 1+1", 2), row(long, 1)]));
    let path = format!("/v1/dataset-versions/{}/check", text(&train["id"]));
    let found = server.post(&path, &json!({"against": eval["id"], "model": "builtin:arith-tiny"})).json();
    assert_eq!((&found["rows"], &found["complete"]), (&json!(4), &json!(true)), "{found}");
    assert_eq!(found["duplicates"]["exact"]["rows"], 0);
    let again = json!({"rows": 1, "prompts": 1, "conflicts": 1, "groups": [[1, 2]]});
    assert_eq!(found["duplicates"]["normalised"], again);
    let leak = |row: u64, train_row: u64| json!({"row": row, "train_row": train_row, "overlap": 1.0});
    let leakage = &found["leakage"];
    assert_eq!((&leakage["rows"], &leakage["against"]), (&json!(3), &eval["id"]));
    assert_eq!(leakage["exact"], json!({"rows": 1, "listed": [leak(0, 0)]}));
    assert_eq!(leakage["normalised"], json!({"rows": 2, "listed": [leak(0, 0), leak(1, 1)]}));
    assert_eq!(
        (&leakage["ngrams"]["rows"], &leakage["ngrams"]["listed"]),
        (&json!(2), &json!([leak(1, 1), leak(2, 3)]))
    );
    let tokens = &found["tokens"];
    let counted: u64 =
        tokens["prompts"]["buckets"].as_array().unwrap().iter().map(|bucket| bucket["rows"].as_u64().unwrap()).sum();
    assert_eq!(counted + tokens["failed"].as_u64().unwrap(), 4, "{tokens}");
    assert!(tokens["completions"]["max"].as_u64().unwrap() > 0 || counted == 0);

    let refused = |body: Value| {
        let answer = server.post(&path, &body);
        (answer.status, answer.json()["errors"][0]["pointer"].clone())
    };
    assert_eq!(refused(json!({"ngram": 4})), (422, json!("/ngram")));
    assert_eq!(refused(json!({"against": "ds_nothing"})), (422, json!("/against")));
    assert_eq!(refused(json!({"model": "nothing"})), (422, json!("/model")));
    // A job says so when it begins.
    let mut spec = job_on(json!({"train": train["id"], "eval": eval["id"]}));
    spec["sampling"] = json!({"max_new_tokens": 5});
    spec["train"] = json!({"steps": 1, "prompts_per_step": 2, "micro_batch_tokens": 256});
    spec["dataset"]["train"] = upload(&server, "", &[row("1+1=", 2), row("1+2=", 3)])["id"].clone();
    spec["dataset"]["eval"] = upload(&server, "", &[row("1+1=", 2)])["id"].clone();
    let job = finish(&server, &spec);
    let events = server.get(&format!("/v1/jobs/{}/events?limit=100", text(&job["id"]))).json().to_string();
    assert!(events.contains("eval_prompts_in_train"), "{events}");
}

#[test]
fn a_filter_makes_a_version_that_says_where_it_comes_from() {
    let data = data_dir();
    let server = Server::start(data.path());
    let version = upload(&server, "?split=eval:0.1", &sums(60));
    let path = format!("/v1/dataset-versions/{}/filter", text(&version["id"]));
    let filter = json!({"where": [{"column": "level", "at_least": 3, "at_most": 10}]});
    let made = server.post(&path, &filter);
    assert_eq!(made.status, 201, "{}", made.json());
    let made = made.json();
    assert_eq!((&made["number"], &made["dataset"], &made["parent"]), (&json!(2), &version["dataset"], &version["id"]));
    assert_eq!(made["made"]["filter"], filter);
    assert_eq!((&made["made"]["rows"], &made["made"]["kept"]), (&json!(60), &made["rows"]));
    assert_eq!(made["split"]["eval"], 0.1);
    let content = server.get(&format!("/v1/dataset-versions/{}/content", text(&made["id"]))).bytes;
    let kept: Vec<String> = String::from_utf8(content).unwrap().lines().map(str::to_owned).collect();
    let expected: Vec<String> = sums(60)
        .into_iter()
        .zip(0..60_u64)
        .filter(|(_, i)| (3..=10).contains(&((60 - i) / 4)))
        .map(|(row, _)| row)
        .collect();
    assert_eq!(kept, expected);

    // By how often a model solves the rows.
    let set = json!({"model": "builtin:arith-tiny", "dataset": {"train": version["id"]}, "verifier": {"type": "numeric"},
                     "sampling": {"max_new_tokens": 5}, "prompts": 60, "group_size": 8});
    let set = server.post("/v1/rollout-sets", &set).json();
    server.wait(text(&set["job"]));
    let file = server.get(&format!("/v1/rollout-sets/{}/files/rollouts.jsonl", text(&set["id"]))).bytes;
    let mut rates: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for line in String::from_utf8(file).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        rates.entry(line["row"].as_u64().unwrap()).or_default().push(line["reward"].as_f64().unwrap());
    }
    let rate =
        |rewards: &Vec<f64>| rewards.iter().filter(|reward| **reward >= 0.5).count() as f64 / rewards.len() as f64;
    let between = rates.values().filter(|rewards| (0.1..=0.9).contains(&rate(rewards))).count();
    let range = |extra: Value| {
        let mut range = json!({"rollout_set": set["id"], "min": 0.1, "max": 0.9});
        range.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        server.post(&path, &json!({"pass_rate": range}))
    };
    let answer = range(json!({"difficulty_column": "difficulty"}));
    if between == 0 {
        assert_eq!((answer.status, &answer.json()["errors"][0]["code"]), (422, &json!("dataset_empty")));
    } else {
        assert_eq!((answer.status, &answer.json()["rows"]), (201, &json!(between)), "{}", answer.json());
    }
    let unsampled = range(json!({"max": 1.0, "min": 0.0, "keep_unsampled": true}));
    assert_eq!((unsampled.status, &unsampled.json()["rows"]), (201, &json!(60)));

    let refused = |path: &str, body: &Value| {
        let answer = server.post(path, body).json();
        let error = &answer["errors"][0];
        (text(&error["pointer"]).to_owned(), text(&error["code"]).to_owned())
    };
    let of = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    let by_set = json!({"pass_rate": {"rollout_set": set["id"]}});
    let other = format!("/v1/dataset-versions/{}/filter", text(&made["id"]));
    assert_eq!(refused(&other, &by_set), of("/pass_rate/rollout_set", "rollouts_of_other_rows"));
    assert_eq!(refused(&path, &json!({})), of("/where", "missing_field"));
    assert_eq!(refused(&path, &json!({"where": [{"column": "level", "is": 99}]})), of("/where", "dataset_empty"));
    assert_eq!(
        refused(&path, &json!({"pass_rate": {"rollout_set": "rs_none"}})),
        of("/pass_rate/rollout_set", "not_found")
    );
}

/// All values of CSV are texts.
#[test]
fn numbers_of_csv_filter_order_and_split_rows() {
    let data = data_dir();
    let server = Server::start(data.path());
    let table: String = (0..48).map(|i| format!("{}+1=,{},{}\n", 10 + i, 11 + i, (48 - i) / 4)).collect();
    let table = format!("prompt,answer,level\n{table}");
    let post = |query: &str| server.post_bytes(&format!("/v1/datasets?form=csv{query}"), table.as_bytes(), &[]);
    let version = post("").json()["latest"].clone();
    let path = format!("/v1/dataset-versions/{}/filter", text(&version["id"]));
    for (condition, kept) in [(json!({"at_least": 10}), 9), (json!({"is": 2}), 4), (json!({"none_of": [2]}), 44)] {
        let mut condition = condition;
        condition["column"] = json!("level");
        let made = server.post(&path, &json!({"where": [condition]}));
        assert_eq!((made.status, &made.json()["rows"]), (201, &json!(kept)), "{condition}: {}", made.json());
    }
    let spec = job_on(json!({"train": version["id"], "order": "easy_first", "difficulty_column": "level"}));
    let easy = rows_of(&server, &finish(&server, &spec));
    let level = |row: u64| (48 - row) / 4;
    assert!(easy[..48].windows(2).all(|two| (level(two[0]), two[0]) < (level(two[1]), two[1])), "{easy:?}");

    // Rows that a map has left nothing to belong together by.
    assert_eq!(post("&split=eval:0.2,by:level").json()["latest"]["split"]["by"], "level");
    let map = "%7B%22prompt%22%3A%22prompt%22%7D";
    for query in ["&split=eval:0.2,by:none".to_owned(), format!("&split=eval:0.2,by:level&map={map}")] {
        let refused = post(&query);
        assert_eq!((refused.status, refused.problem().as_str()), (422, "split_column_missing"), "{query}");
    }
}

#[test]
fn rows_come_in_the_order_that_was_asked_for() {
    let data = data_dir();
    let server = Server::start(data.path());
    let version = upload(&server, "", &sums(48));
    let ordered = |order: Value| {
        let mut dataset = json!({"train": version["id"]});
        dataset.as_object_mut().unwrap().extend(order.as_object().unwrap().clone());
        job_on(dataset)
    };
    let all: Vec<u64> = (0..48).collect();
    let rows = rows_of(&server, &finish(&server, &ordered(json!({"order": "file"}))));
    assert_eq!((&rows[..48], &rows[48..]), (all.as_slice(), &all[..24]));
    // The last rows have the smallest level, and four rows have the same.
    let spec = ordered(json!({"order": "easy_first", "difficulty_column": "level"}));
    let easy = rows_of(&server, &finish(&server, &spec));
    let level = |row: u64| (48 - row) / 4;
    assert!(easy[..48].windows(2).all(|two| (level(two[0]), two[0]) < (level(two[1]), two[1])), "{easy:?}");
    let shuffled = rows_of(&server, &finish(&server, &ordered(json!({}))));
    assert_eq!(easy[48..], shuffled[48..], "later passes are shuffled");
    assert_ne!(easy[..48], shuffled[..48]);

    for (change, pointer, code) in [
        (json!({"order": "easy_first"}), "/dataset/difficulty_column", "out_of_range"),
        (json!({"difficulty_column": "level"}), "/dataset/difficulty_column", "out_of_range"),
        (
            json!({"order": "easy_first", "difficulty_column": "none"}),
            "/dataset/difficulty_column",
            "row_missing_column",
        ),
        (json!({"order": "easy_first", "difficulty_column": "prompt"}), "/dataset/difficulty_column", "row_wrong_type"),
        (json!({"order": "file", "sampling": "adaptive"}), "/dataset/sampling", "out_of_range"),
    ] {
        let refused = server.post("/v1/jobs", &ordered(change.clone())).json();
        let error = &refused["errors"][0];
        assert_eq!((text(&error["pointer"]), text(&error["code"])), (pointer, code), "{change}");
    }
    let mut sft = ordered(json!({"sampling": "adaptive"}));
    sft["dataset"]["train"] = json!("builtin:arithmetic-slips");
    (sft["objective"], sft["rollouts"]) = (json!({"type": "sft"}), json!({}));
    let refused = server.post("/v1/jobs", &sft).json();
    assert_eq!(refused["errors"][0]["pointer"], "/dataset/sampling", "{refused}");
}

#[test]
fn rows_are_drawn_by_their_solve_rates_and_a_killed_job_draws_the_same() {
    let data = data_dir();
    let server = Server::start(data.path());
    let version = upload(&server, "?split=eval:0.2", &sums(60));
    let mut spec = job_on(json!({"train": version["id"], "sampling": "adaptive"}));
    spec["train"]["steps"] = json!(24);
    let digests = |job: &Value| -> BTreeMap<String, String> {
        let all = server.get(&format!("/v1/jobs/{}/checkpoints?limit=100", text(&job["id"]))).json();
        let last = all["data"].as_array().unwrap().iter().filter(|checkpoint| checkpoint["step"] == 24);
        let files = last.flat_map(|checkpoint| checkpoint["files"].as_array().unwrap());
        let named = files.map(|file| (text(&file["path"]).to_owned(), text(&file["sha256"]).to_owned()));
        named.filter(|(path, _)| path.ends_with(".safetensors")).collect()
    };
    let left_alone = finish(&server, &spec);
    let wanted = digests(&left_alone);
    assert!(wanted.contains_key("rows.safetensors") && wanted.contains_key("model.safetensors"), "{wanted:?}");
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64().unwrap_or(0) >= 11);
    signal(server.worker_pid(), "KILL");
    let job = server.wait(&job);
    assert_eq!((&job["status"], job["attempt"].as_u64() > Some(1)), (&json!("succeeded"), true), "{job}");
    assert_eq!(digests(&job), wanted);
    assert_eq!(rows_of(&server, &job), rows_of(&server, &left_alone));

    let series = |key: &str| -> Vec<f64> {
        let path = format!("/v1/jobs/{}/metrics?keys={key}", text(&left_alone["id"]));
        let all = server.get(&path).json();
        all["series"][0]["values"].as_array().unwrap().iter().filter_map(Value::as_f64).collect()
    };
    let (seen, oldest) = (series("data/rows_seen"), series("data/oldest_passes"));
    assert!(seen.windows(2).all(|two| two[0] <= two[1]) && seen.last() > Some(&0.9), "{seen:?}");
    assert!(oldest.iter().all(|passes| *passes < 8.0), "{oldest:?}");
    assert!(series("data/solve_rate").iter().all(|rate| (0.0..=1.0).contains(rate)));
}

/// The control of a filter is as many rows at random of what was filtered, measured on the same held-out ones.
#[test]
fn a_job_on_filtered_rows_has_a_control_on_as_many_of_all() {
    let data = data_dir();
    let server = Server::start(data.path());
    let version = upload(&server, "?split=eval:0.2", &sums(60));
    let filter = json!({"where": [{"column": "level", "at_least": 3, "at_most": 10}]});
    let filtered = server.post(&format!("/v1/dataset-versions/{}/filter", text(&version["id"])), &filter).json();
    let job = finish(&server, &job_on(json!({"train": filtered["id"]})));
    let fork = format!("/v1/jobs/{}/fork", text(&job["id"]));
    let control = server.post(&fork, &json!({"control": "unfiltered_prompts", "name": "all kinds"}));
    assert_eq!(control.status, 201, "{}", control.json());
    let control = server.wait(text(&control.json()["id"]));
    assert_eq!((&control["status"], &control["name"]), (&json!("succeeded"), &json!("all kinds")), "{control}");
    let (own, other) = (&job["spec_resolved"]["dataset"], &control["spec_resolved"]["dataset"]);
    let count = filtered["split"]["train_rows"].as_u64().unwrap();
    assert_eq!((&other["train"], &other["rows"], &other["eval"]), (&version["id"], &json!(count), &own["eval"]));
    // 72 prompts are several passes over so many rows of the whole, each of them once before any comes again.
    let rows = rows_of(&server, &control);
    assert_eq!(rows.len(), 72);
    let distinct: BTreeSet<u64> = rows.iter().copied().collect();
    assert_eq!(distinct.len() as u64, count, "{rows:?}");
    let kept = |row: &u64| (3..=10).contains(&((60 - row) / 4));
    assert!(distinct.iter().any(|row| !kept(row)) && distinct.iter().any(kept), "{distinct:?}");
    let mut other = job_on(json!({"train": version["id"], "rows": count}));
    other["seed"] = json!(4);
    let others: BTreeSet<u64> = rows_of(&server, &finish(&server, &other)).into_iter().collect();
    assert!(others.len() == distinct.len() && others != distinct, "the seed chooses: {others:?}");
    let refused = server.post("/v1/jobs", &job_on(json!({"train": version["id"], "rows": 61}))).json();
    assert_eq!(refused["errors"][0]["pointer"], "/dataset/rows", "{refused}");
}
