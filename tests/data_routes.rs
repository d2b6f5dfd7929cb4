//! Data as clients browse, download and change it: data sets, archives, completions and metrics of jobs.

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use anneal::job::digest::sha256_hex;
use common::{Answer, Server, data_dir, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One server for the tests of this file.
struct Shared {
    server: Server,
    /// A finished job that kept what it sampled.
    job: Value,
    _folder: TempDir,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let folder = data_dir();
    let server = Server::start_with(&folder.path().join("data"), &["--max-upload-bytes", "100000"]);
    let mut spec = small_spec();
    spec["rollouts"] = json!({"keep": true});
    let job = server.submit(&spec);
    let job = server.wait(&job);
    assert_eq!(job["status"], "succeeded", "{job}");
    Shared { server, job, _folder: folder }
});

fn server() -> &'static Server {
    &SHARED.server
}

fn job() -> &'static str {
    SHARED.job["id"].as_str().unwrap()
}

const JSONL: [(&str, &str); 1] = [("content-type", "application/jsonl")];

fn upload(rows: &str) -> Value {
    let answer = server().post_bytes("/v1/datasets?name=rows", rows.as_bytes(), &JSONL);
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()
}

fn append(id: &Value, rows: &[u8]) -> Answer {
    server().post_bytes(&format!("/v1/datasets/{}/append", id.as_str().unwrap()), rows, &JSONL)
}

fn content(version: &Value) -> Answer {
    server().get(&format!("/v1/dataset-versions/{}/content", version.as_str().unwrap()))
}

fn row(prompt: &str, answer: u32) -> String {
    json!({"prompt": prompt, "answer": answer}).to_string()
}

// Data sets.

#[test]
fn an_append_makes_a_version_of_the_old_rows_and_the_new_ones() {
    // A last line without its end and a byte order mark in the middle must not break a row.
    let dataset = upload(&format!("{}\n{}", row("a", 1), row("b", 2)));
    let appended = append(&dataset["id"], format!("\u{feff}{}\n", row("a", 3)).as_bytes());
    assert_eq!(appended.status, 201, "{}", appended.json());
    let version = appended.json();
    assert_eq!((&version["number"], &version["rows"], &version["duplicates"]), (&json!(2), &json!(3), &json!(1)));
    assert_eq!(version["columns"], dataset["latest"]["columns"]);
    let answer = content(&version["id"]);
    let expected = format!("{}\n{}\n{}\n", row("a", 1), row("b", 2), row("a", 3));
    assert_eq!(String::from_utf8(answer.bytes.clone()).unwrap(), expected);
    assert_eq!(version["sha256"], sha256_hex(&answer.bytes));
    assert_eq!(answer.header("content-type"), "application/jsonl");
    let first = content(&dataset["latest"]["id"]);
    assert_eq!(dataset["latest"]["sha256"], sha256_hex(&first.bytes), "the version before stays as it was");

    let id = dataset["id"].as_str().unwrap();
    let versions = server().get(&format!("/v1/datasets/{id}/versions?order=asc")).json();
    let numbers: Vec<u64> =
        versions["data"].as_array().unwrap().iter().map(|version| version["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2]);
    let one = server().get(&format!("/v1/dataset-versions/{}", version["id"].as_str().unwrap())).json();
    assert_eq!(one, version);
    assert_eq!(server().get(&format!("/v1/datasets/{id}")).json()["latest"], version);
}

#[test]
fn a_broken_append_names_the_row_of_the_body_and_changes_nothing() {
    let dataset = upload(&format!("{}\n{}\n", row("a", 1), row("b", 2)));
    let refused = append(&dataset["id"], format!("{}\n{{\"prompt\": 1}}\n", row("c", 3)).as_bytes());
    assert_eq!((refused.status, refused.problem().as_str()), (422, "row_wrong_type"));
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("row 2:"), "{}", refused.json());
    assert_eq!((append(&dataset["id"], b"\n").status, append(&dataset["id"], b"").status), (422, 422));
    let long = row(&"x".repeat(60_000), 1);
    assert_eq!(append(&dataset["id"], long.as_bytes()).status, 201);
    let too_large = append(&dataset["id"], long.as_bytes());
    assert_eq!((too_large.status, too_large.problem().as_str()), (413, "upload_too_large"));
    let latest = &server().get(&format!("/v1/datasets/{}", dataset["id"].as_str().unwrap())).json()["latest"];
    assert_eq!((&latest["number"], &latest["rows"]), (&json!(2), &json!(3)));
    let missing = json!("ds_00000000000000000000000000000000");
    assert_eq!(append(&missing, row("a", 1).as_bytes()).status, 404);
}

#[test]
fn an_append_whose_client_leaves_is_made_once_however_often_it_is_repeated() {
    let dataset = upload(&row("a", 0));
    let id = dataset["id"].as_str().unwrap();
    let address = server().base.strip_prefix("http://").unwrap();
    for number in 1..=20 {
        let (body, key) = (row("b", number), format!("left-{number}"));
        let mut connection = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /v1/datasets/{id}/append HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/jsonl\r\n\
             idempotency-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_micros(u64::from(number) * 300));
        drop(connection);
        let headers = [JSONL[0], ("idempotency-key", key.as_str())];
        let answer = (0..500).find_map(|_| {
            let answer = server().post_bytes(&format!("/v1/datasets/{id}/append"), body.as_bytes(), &headers);
            if answer.status == 409 {
                assert_eq!(answer.problem(), "request_in_progress");
                std::thread::sleep(Duration::from_millis(20));
                return None;
            }
            Some(answer)
        });
        let answer = answer.expect("the request that was left comes to an end");
        assert_eq!((answer.status, answer.json()["number"].as_u64()), (201, Some(u64::from(number) + 1)));
    }
}

#[test]
fn of_appends_at_the_same_time_none_loses_its_rows() {
    let dataset = upload(&row("start", 0));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let id = &dataset["id"];
            scope.spawn(move || {
                for turn in 0..2 {
                    let answer = append(id, row(&format!("{writer}-{turn}"), 1).as_bytes());
                    assert_eq!(answer.status, 201, "{}", answer.json());
                }
            });
        }
    });
    let latest = server().get(&format!("/v1/datasets/{}", dataset["id"].as_str().unwrap())).json()["latest"].clone();
    assert_eq!((&latest["rows"], &latest["number"], &latest["duplicates"]), (&json!(9), &json!(9), &json!(0)));
}

#[test]
fn rows_are_browsed_by_their_number() {
    let text: String = (0..30).map(|i| row(&format!("p{i}"), i) + "\n\n").collect();
    let version = upload(&text)["latest"]["id"].as_str().unwrap().to_owned();
    let page = |query: &str| server().get(&format!("/v1/dataset-versions/{version}/rows{query}"));
    let first = page("").json();
    assert_eq!((first["data"].as_array().unwrap().len(), &first["has_more"]), (20, &json!(true)));
    let next = page("?offset=20&limit=100").json();
    assert_eq!((next["data"].as_array().unwrap().len(), &next["has_more"]), (10, &json!(false)));
    let expected = json!({"object": "dataset.row", "row": 29, "columns": {"prompt": "p29", "answer": 29}});
    assert_eq!(next["data"][9], expected);
    assert_eq!(page("?offset=99999999999").json()["data"], json!([]));
    for query in ["?limit=0", "?limit=101", "?offset=-1", "?page=2"] {
        let refused = page(query);
        assert_eq!((refused.status, refused.problem().as_str()), (400, "invalid_parameter"), "{query}");
    }
}

#[test]
fn a_data_set_that_a_waiting_job_uses_is_not_deleted_and_a_finished_job_keeps_its_record() {
    let dataset = upload(&format!("{}\n{}\n", row("1+1=", 2), row("2+2=", 4)));
    let (id, version) = (dataset["id"].as_str().unwrap(), dataset["latest"]["id"].as_str().unwrap());
    let path = format!("/v1/datasets/{id}");
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": id});
    (spec["train"]["steps"], spec["train"]["prompts_per_step"]) = (json!(100_000), json!(2));
    let job = server().submit(&spec);
    let refused = server().delete(&path);
    assert_eq!((refused.status, refused.problem().as_str()), (409, "conflict"));
    assert!(refused.json()["detail"].as_str().unwrap().contains(&job), "{}", refused.json());
    server().post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    server().wait(&job);
    let deleted = server().delete(&path);
    assert_eq!(
        (deleted.status, deleted.json()),
        (200, json!({"id": id, "object": "dataset.deleted", "deleted": true}))
    );
    assert_eq!(server().job(&job)["spec_resolved"]["dataset"]["train"], version);
    let gone = [path.clone(), format!("{path}/versions"), format!("/v1/dataset-versions/{version}")];
    for path in gone.iter().chain(&[format!("/v1/dataset-versions/{version}/content")]) {
        assert_eq!(server().get(path).status, 404, "{path}");
    }
    assert_eq!((server().delete(&path).status, server().patch(&path, &json!({}), &[]).status), (404, 404));
}

#[test]
fn names_and_metadata_can_be_changed_and_nothing_else() {
    let dataset = upload(&row("a", 1));
    let verifier = json!({"name": "n", "config": {"type": "numeric"}, "metadata": {"team": "a"}});
    let verifier = server().post("/v1/verifiers", &verifier).json();
    assert_eq!(verifier["metadata"], json!({"team": "a"}));
    let dataset = format!("/v1/datasets/{}", dataset["id"].as_str().unwrap());
    let verifier = format!("/v1/verifiers/{}", verifier["id"].as_str().unwrap());
    for path in [&dataset, &verifier] {
        let changed = server().patch(path, &json!({"name": "other", "metadata": {"k": "v"}}), &[]).json();
        assert_eq!((&changed["name"], &changed["metadata"]), (&json!("other"), &json!({"k": "v"})));
        assert_eq!(server().get(path).json(), changed);
        assert_eq!(server().patch(path, &json!({}), &[]).json(), changed, "what is left out stays");
        assert_eq!(server().patch(path, &json!({"name": null}), &[]).json()["name"], Value::Null);
        let refused = server().patch(path, &json!({"config": {}}), &[]);
        assert_eq!((refused.status, refused.json()["errors"][0]["pointer"].as_str()), (422, Some("/config")));
        assert_eq!(server().patch(path, &json!({"name": "x".repeat(201)}), &[]).status, 422);
    }
    assert_eq!(server().delete(&verifier).json()["deleted"], true);
    assert_eq!((server().get(&verifier).status, server().delete(&verifier).status), (404, 404));
}

#[test]
fn a_preflight_counts_the_held_out_prompts_that_are_also_trained_on() {
    let rows = |range: std::ops::Range<u32>| range.map(|i| row(&format!("{i}+1="), i + 1) + "\n").collect::<String>();
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": upload(&rows(0..40))["id"], "eval": upload(&rows(36..48))["id"]});
    let preflight = |spec: &Value| server().post("/v1/jobs?dry_run=preflight", spec).json();
    let found = preflight(&spec);
    let expected = json!({"eval_rows": 12, "eval_rows_in_train": 4, "train_rows": 40, "complete": true});
    assert_eq!(found["plan"]["leakage"], expected, "{found}");
    let warned = |found: &Value| {
        let warnings = found["warnings"].as_array().unwrap().clone();
        warnings.iter().any(|w| w["code"] == "eval_prompts_in_train" && w["pointer"] == "/dataset/eval")
    };
    assert!(warned(&found), "{found}");
    let found = preflight(&small_spec());
    assert_eq!(found["plan"]["leakage"]["eval_rows_in_train"], 0);
    assert!(!warned(&found));
}

// Archives and downloads.

fn checkpoint() -> &'static str {
    SHARED.job["result"]["checkpoint"].as_str().unwrap()
}

fn resumed(path: &str, whole: &Answer) {
    let size = whole.bytes.len();
    let etag = whole.header("etag").to_owned();
    let mut bytes = Vec::new();
    // Cut wherever a header, a file or its padding is.
    let mut ends = vec![1, 511, 700, size / 3, size / 2, size - 6, size];
    ends.sort_unstable();
    ends.dedup();
    for end in ends.into_iter().filter(|end| *end <= size) {
        let range = format!("bytes={}-{}", bytes.len(), end - 1);
        let part = server().get_with(path, &[("range", &range), ("if-range", &etag)]);
        assert_eq!((part.status, part.header("etag")), (206, etag.as_str()), "{range}");
        assert_eq!(part.header("content-range"), format!("bytes {}-{}/{size}", bytes.len(), end - 1));
        bytes.extend(part.bytes);
    }
    assert!(bytes == whole.bytes, "the parts of {path} are the whole");
    assert_eq!(server().get_with(path, &[("if-none-match", &etag)]).status, 304);
    assert_eq!(server().get_with(path, &[("range", &format!("bytes={size}-"))]).status, 416);
    let changed = server().get_with(path, &[("range", "bytes=1-2"), ("if-range", "\"other\"")]);
    assert_eq!((changed.status, changed.bytes.len()), (200, size));
}

#[test]
fn an_archive_unpacks_to_the_files_of_its_manifest_and_is_always_the_same() {
    let set = SHARED.job["rollout_set"].as_str().unwrap();
    for (kind, id) in [("checkpoints", checkpoint()), ("rollout-sets", set)] {
        let path = format!("/v1/{kind}/{id}/archive");
        let archive = server().get(&path);
        assert_eq!((archive.status, archive.header("content-type")), (200, "application/x-tar"));
        assert_eq!(archive.header("content-length"), archive.bytes.len().to_string());
        assert_eq!(archive.header("content-disposition"), format!("attachment; filename=\"{id}.tar\""));
        assert!(server().get(&path).bytes == archive.bytes);
        resumed(&path, &archive);

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("archive.tar");
        std::fs::write(&file, &archive.bytes).unwrap();
        let status = Command::new("tar").arg("-xf").arg(&file).arg("-C").arg(folder.path()).status().unwrap();
        assert!(status.success());
        let manifest = server().get(&format!("/v1/{kind}/{id}/manifest")).json();
        let unpacked = folder.path().join(id);
        let files = manifest["files"].as_array().unwrap();
        assert!(!files.is_empty());
        for file in files {
            let bytes = std::fs::read(unpacked.join(file["path"].as_str().unwrap())).unwrap();
            assert_eq!(file["sha256"], sha256_hex(&bytes), "{file}");
        }
        let stored: Value = serde_json::from_slice(&std::fs::read(unpacked.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(stored, manifest);
        // Beside the manifest lies what the server has signed.
        assert!(unpacked.join("provenance.json").is_file());
        assert_eq!(std::fs::read_dir(&unpacked).unwrap().count(), files.len() + 2);
    }
    assert_eq!(server().get("/v1/checkpoints/ckpt_00000000000000000000000000000000/archive").status, 404);
}

#[test]
fn every_download_answers_head_with_its_length_and_no_body() {
    let rows: String = (0..50).map(|i| row(&format!("p{i}"), i) + "\n").collect();
    let version = upload(&rows)["latest"]["id"].as_str().unwrap().to_owned();
    let set = SHARED.job["rollout_set"].as_str().unwrap();
    let data = format!("/v1/dataset-versions/{version}/content");
    resumed(&data, &server().get(&data));
    for path in [
        data,
        format!("/v1/checkpoints/{}/archive", checkpoint()),
        format!("/v1/checkpoints/{}/files/model.safetensors", checkpoint()),
        format!("/v1/rollout-sets/{set}/archive"),
        format!("/v1/rollout-sets/{set}/files/rollouts.jsonl"),
    ] {
        let (head, whole) = (server().head(&path), server().get(&path));
        assert_eq!((head.status, head.bytes.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-length"), whole.bytes.len().to_string(), "{path}");
        assert_eq!(head.header("etag"), whole.header("etag"), "{path}");
        assert_eq!(head.header("accept-ranges"), "bytes", "{path}");
    }
}

// Completions and metrics.

fn walk(path: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = server().get(&format!("{path}{after}")).json();
        all.extend(page["data"].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        if page["has_more"] == false {
            return all;
        }
        after = format!("&after={}", page["last_id"].as_str().unwrap());
    }
}

#[test]
fn a_jobs_completions_are_browsed_from_the_newest_step_on() {
    let path = format!("/v1/jobs/{}/rollouts", job());
    let all = walk(&format!("{path}?limit=37"));
    let set = SHARED.job["rollout_set"].as_str().unwrap();
    let summary = server().get(&format!("/v1/rollout-sets/{set}")).json()["summary"].clone();
    assert_eq!(all.len() as u64, summary["rollouts"].as_u64().unwrap());
    let steps: Vec<u64> = all.iter().map(|rollout| rollout["step"].as_u64().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a >= b) && steps.first() > steps.last(), "two rounds, the newest first");

    let newest = steps[0];
    let row = all[0]["row"].as_u64().unwrap();
    let count = |filter: &dyn Fn(&Value) -> bool| all.iter().filter(|rollout| filter(rollout)).count();
    let table: [(String, usize); 4] = [
        (format!("step={newest}"), count(&|r| r["step"] == newest)),
        (format!("prompt={row}"), count(&|r| r["row"] == row)),
        (String::from("min_reward=1"), count(&|r| r["reward"] == 1.0)),
        (format!("max_reward=0.5&step={newest}"), count(&|r| r["reward"] == 0.0 && r["step"] == newest)),
    ];
    for (filter, expected) in table {
        assert!(expected > 0, "{filter}");
        assert_eq!(walk(&format!("{path}?limit=100&{filter}")).len(), expected, "{filter}");
        let of_set = walk(&format!("/v1/rollout-sets/{set}/rollouts?limit=100&{filter}"));
        assert_eq!(of_set.len(), expected, "{filter} of the set");
    }
    for query in ["?limit=0", "?after=5", "?after=s0-3-0", "?after=s7-0-0", "?row=1"] {
        let refused = server().get(&format!("{path}{query}"));
        assert_eq!((refused.status, refused.problem().as_str()), (400, "invalid_parameter"), "{query}");
    }
    let moved = server().get(&format!("{path}?after=p0-0-0"));
    assert_eq!((moved.status, moved.problem().as_str()), (409, "rollouts_moved"));
}

#[test]
fn completions_can_be_browsed_while_the_job_runs_and_those_not_kept_cannot() {
    let mut spec = small_spec();
    spec["objective"]["rounds"] = json!(500);
    spec["train"]["steps"] = json!(5000);
    spec["eval"]["before"] = json!(false);
    spec["rollouts"] = json!({"keep": true});
    let running = server().submit(&spec);
    let path = format!("/v1/jobs/{running}/rollouts");
    server().wait_until(&running, |job| job["step"].as_u64() > Some(0));
    let page = server().get(&format!("{path}?limit=3")).json();
    assert_eq!(page["data"].as_array().unwrap().len(), 3, "{page}");
    let rollout = &page["data"][0];
    assert_eq!((&rollout["object"], rollout["tokens"].as_array().unwrap().is_empty()), (&json!("job.rollout"), false));
    server().post(&format!("/v1/jobs/{running}/cancel"), &json!({}));
    server().wait(&running);
    assert_eq!(server().get(&path).status, 200, "what was sampled before the end stays");

    let mut spec = small_spec();
    spec["rollouts"] = json!({"sample": 0});
    let unkept = server().submit(&spec);
    let refused = server().get(&format!("/v1/jobs/{unkept}/rollouts"));
    assert_eq!((refused.status, refused.problem().as_str()), (409, "rollouts_not_kept"));
    assert!(refused.json()["detail"].as_str().unwrap().contains("\"rollouts\": {\"keep\": true}"));
    server().post(&format!("/v1/jobs/{unkept}/cancel"), &json!({}));
}

#[test]
fn some_completions_of_every_job_can_be_looked_at() {
    let mut spec = small_spec();
    spec["rollouts"] = json!({"sample": 8});
    spec["train"]["track_reference"] = json!(true);
    let id = server().submit(&spec);
    let job = server().wait(&id);
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(job["spec_resolved"]["rollouts"]["sample"], 8);
    let all = walk(&format!("/v1/jobs/{id}/rollouts?limit=7"));
    // Two rounds of six steps, with groups of eight.
    assert_eq!(all.len(), 2 * 6 * 8, "{}", all.len());
    for rollout in &all {
        let length = rollout["tokens"].as_array().unwrap().len();
        assert_eq!(rollout["reference_logprobs"].as_array().unwrap().len(), length);
        let pieces: Vec<&str> = rollout["pieces"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
        assert_eq!(pieces.len(), length);
        assert!(pieces.concat().starts_with(rollout["completion"].as_str().unwrap()), "{rollout}");
        let numbers = |name: &str| -> Vec<f64> {
            let values = rollout[name].as_array().unwrap_or_else(|| panic!("{name} of {rollout}"));
            values.iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let sum: f64 = numbers("entropies").iter().sum();
        assert!((sum - rollout["entropy_sum"].as_f64().unwrap()).abs() < 1e-5, "{rollout}");
        assert_eq!(rollout["length"], length);
        // Each is trained on in one of the three steps of its round; those whose credit is nothing are left out.
        if let Some(step) = rollout["trained_step"].as_u64() {
            let sampled = rollout["step"].as_u64().unwrap();
            assert!(sampled < step && step <= sampled + 6, "{rollout}");
            assert_eq!((numbers("credit").len(), numbers("policy_logprobs").len()), (length, length));
        }
    }
    assert!(all.iter().any(|rollout| rollout["trained_step"].is_u64()));
    let first_step = |rollout: &&Value| rollout["step"] == 0 && rollout["trained_step"] == 1;
    assert!(all.iter().any(|rollout| first_step(&rollout)));
    for rollout in all.iter().filter(first_step) {
        assert_eq!(
            rollout["policy_logprobs"], rollout["logprobs"],
            "the first step begins with the policy that sampled"
        );
    }
    let text = all[0]["completion"].as_str().unwrap().to_owned();
    let path = format!("/v1/jobs/{id}/rollouts?limit=100");
    let count = |holds: &dyn Fn(&Value) -> bool| all.iter().filter(|rollout| holds(rollout)).count();
    for (filter, expected) in [
        (
            format!("q={text}"),
            count(&|r| [&r["completion"], &r["prompt"]].iter().any(|t| t.as_str().unwrap().contains(&text))),
        ),
        (String::from("status=ok&finish=stop"), count(&|r| r["status"] == "ok" && r["finish"] == "stop")),
        (String::from("finish=length"), count(&|r| r["finish"] == "length")),
    ] {
        assert_eq!(walk(&format!("{path}&{filter}")).len(), expected, "{filter}");
    }
    assert_eq!(server().get(&format!("{path}&finish=soon")).status, 400);
    assert_eq!(server().get(&format!("{path}&sort=fastest")).status, 400);

    let rewards = |query: &str| -> Vec<f64> {
        walk(&format!("{path}&{query}")).iter().map(|rollout| rollout["reward"].as_f64().unwrap()).collect()
    };
    let sorted = rewards("sort=lowest_reward&light=true");
    assert!(sorted.len() == all.len() && sorted.is_sorted(), "{sorted:?}");
    let mixed = walk(&format!("{path}&mixed_groups=true&max_step=0"));
    assert_eq!(mixed.len(), count(&|r| r["step"] == 0 && r["spread"].as_f64() > Some(0.0)));

    let group = all[0]["group"].as_str().unwrap();
    let of_group = walk(&format!("{path}&group={group}"));
    assert_eq!(of_group.len(), count(&|rollout| rollout["group"] == group));
    let light = &walk(&format!("{path}&group={group}&light=true"))[0];
    assert_eq!(
        (&light["tokens"], &light["pieces"], &light["length"]),
        (&json!([]), &Value::Null, &of_group[0]["length"])
    );
    let judge = |body: &Value| server().post(&format!("/v1/jobs/{id}/rollouts/judge"), body);
    let same = judge(&json!({"group": group, "verifier": {"type": "numeric"}})).json();
    assert_eq!((&same["changed"], same["data"].as_array().unwrap().len()), (&json!(0), of_group.len()), "{same}");
    let halved = json!({"type": "numeric", "correct_reward": 0.5, "wrong_reward": 0.25});
    let other = judge(&json!({"group": group, "verifier": halved})).json();
    assert_eq!(other["changed"], of_group.len());
    for (verdict, rollout) in other["data"].as_array().unwrap().iter().zip(&of_group) {
        assert_eq!((&verdict["id"], &verdict["reward_before"]), (&rollout["id"], &rollout["reward"]));
        let expected = if rollout["reward"] == 1.0 { 0.5 } else { 0.25 };
        assert_eq!(verdict["verdict"]["reward"], expected, "{verdict}");
    }
    for (wrong, pointer) in [
        (json!({"group": "p9-1-0", "verifier": {"type": "numeric"}}), "/group"),
        (json!({"group": "here", "verifier": {"type": "numeric"}}), "/group"),
        (json!({"group": group, "verifier": {"type": "oracle"}}), "/verifier/type"),
        (json!({"group": group, "verifier": "nobody"}), "/verifier"),
    ] {
        let refused = judge(&wrong);
        assert_eq!((refused.status, &refused.json()["errors"][0]["pointer"]), (422, &json!(pointer)), "{wrong}");
    }
}

#[test]
fn rows_are_shown_as_a_model_reads_them() {
    let rows = [row("1+1=", 2), row("12+30=", 42), row(&"9".repeat(500), 3)].join("\n");
    let version = upload(&rows)["latest"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/dataset-versions/{version}/prompts");
    let all = server().get(&format!("{path}?model=builtin:arith-tiny")).json();
    let pieces = |row: usize| -> String {
        let pieces = all["data"][row]["pieces"].as_array().unwrap();
        pieces.iter().map(|piece| piece.as_str().unwrap()).collect()
    };
    assert_eq!((pieces(0).as_str(), pieces(1).as_str()), ("1+1=", "12+30="));
    assert_eq!(all["data"][1]["text"], "12+30=");
    let long = &all["data"][2];
    assert!(long["text"].is_null() && long["error"].as_str().unwrap().contains("tokens"), "{long}");
    let page = server().get(&format!("{path}?model=builtin:arith-tiny&offset=1&limit=1")).json();
    assert_eq!((&page["data"][0]["row"], &page["has_more"]), (&json!(1), &json!(true)));
    let refused = server().get(&format!("{path}?model=nobody"));
    assert_eq!((refused.status, refused.problem().as_str()), (422, "invalid_spec"), "{}", refused.json());
    assert_eq!(server().get(&path).json()["data"], all["data"], "without a name the built-in model reads them");
}

#[test]
fn metrics_in_fewer_points_keep_extremes_last_values_and_counts() {
    let path = format!("/v1/jobs/{}/metrics", job());
    let whole = server().get(&format!("{path}?keys=loss")).json()["series"][0].clone();
    let values: Vec<f64> = whole["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(values.len(), 12, "{whole}");
    assert_eq!(whole.get("min"), None, "each point is one value");
    let short = server().get(&format!("{path}?keys=loss&points=5")).json()["series"][0].clone();
    let numbers = |key: &str| -> Vec<f64> {
        short[key].as_array().unwrap_or_else(|| panic!("{short}")).iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let mut begin = 0;
    for (bucket, count) in numbers("count").into_iter().enumerate() {
        let range = &values[begin..begin + count as usize];
        begin += range.len();
        assert_eq!(numbers("min")[bucket], range.iter().copied().fold(f64::INFINITY, f64::min));
        assert_eq!(numbers("max")[bucket], range.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        assert_eq!(numbers("last")[bucket], range[range.len() - 1]);
        assert!((numbers("values")[bucket] - range.iter().sum::<f64>() / range.len() as f64).abs() < 1e-9);
        assert_eq!(short["steps"][bucket], whole["steps"][begin - 1]);
    }
    assert_eq!((begin, numbers("count").len()), (12, 5));
    let csv = server().get(&format!("{path}?keys=loss&points=5&format=csv"));
    let text = String::from_utf8(csv.bytes).unwrap();
    assert!(text.starts_with("step,loss,loss:min,loss:max,loss:last,loss:count\n"), "{text}");
    assert_eq!(text.lines().count(), 6);
    // A key is a whole name.
    for (keys, expected) in [("los", 0), ("loss", 1), ("loss,reward/mean", 2), ("LOSS", 0)] {
        let found = server().get(&format!("{path}?keys={keys}")).json();
        assert_eq!(found["series"].as_array().unwrap().len(), expected, "{keys}");
    }
}
