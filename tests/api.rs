//! The API as a client sees it: one server, real jobs, and every kind of bad input that is named in the documents.

mod common;

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One server for the tests of this file; models may be imported from `import` in its folder.
struct Shared {
    server: Server,
    folder: TempDir,
    /// A finished job.
    job: Value,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let folder = data_dir();
    let import = folder.path().join("import");
    std::fs::create_dir(&import).unwrap();
    let arguments = ["--import-roots", import.to_str().unwrap(), "--max-upload-bytes", "10000000"];
    let server = Server::start_with(&folder.path().join("data"), &arguments);
    let job = server.submit(&small_spec());
    let job = server.wait(&job);
    assert_eq!(job["status"], "succeeded", "{job}");
    Shared { server, folder, job }
});

fn server() -> &'static Server {
    &SHARED.server
}

fn finished_job() -> &'static str {
    SHARED.job["id"].as_str().unwrap()
}

fn upload(rows: &str, query: &str) -> common::Answer {
    server().post_bytes(&format!("/v1/datasets{query}"), rows.as_bytes(), &[("content-type", "application/jsonl")])
}

#[test]
fn a_job_runs_and_its_result_is_complete() {
    let job = &SHARED.job;
    assert_eq!((job["object"].as_str(), job["step"].as_u64()), (Some("job"), Some(12)));
    for when in ["before", "after"] {
        let evaluation = &job["result"][when];
        assert_eq!(evaluation["prompts"], 16, "{when}");
        let pass = evaluation["pass_at"].as_array().unwrap();
        assert!(pass[0]["mean"].as_f64() <= pass[1]["mean"].as_f64());
    }
    assert_eq!(job["spec"], small_spec());
    assert_eq!(job["spec_resolved"]["dataset"]["eval"], "builtin:arithmetic");
    assert!(job["spec_digest"].as_str().unwrap().starts_with("sha256:"));
    let listed = server().get("/v1/jobs?status=succeeded&limit=100").json();
    assert!(listed["data"].as_array().unwrap().iter().any(|j| j["id"] == job["id"]));
}

#[test]
fn a_stream_replays_the_log_without_gap_and_resumes_behind_any_event() {
    let poll = server().get(&format!("/v1/jobs/{}/events?limit=200", finished_job())).json();
    assert_eq!(poll["has_more"], false);
    let expected = poll["data"].as_array().unwrap();
    let read = |after: i64, most: usize| -> Vec<Value> {
        let lines = server().stream(finished_job(), after).into_iter().flat_map(BufRead::lines);
        lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("data: ").map(|data| serde_json::from_str(data).unwrap()))
            .take(most)
            .collect()
    };
    assert_eq!(&read(0, usize::MAX), expected);
    // Torn connections: read seven events, come back with the last one's number.
    let mut events: Vec<Value> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event["seq"].as_i64().unwrap());
        let part = read(after, 7);
        if part.is_empty() {
            break;
        }
        events.extend(part);
    }
    assert_eq!(&events, expected);
    assert_eq!(events.last().unwrap()["data"]["status"], "succeeded");
    let kinds: std::collections::HashSet<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    for kind in ["status", "phase", "metrics", "evaluation", "checkpoint", "log"] {
        assert!(kinds.contains(kind), "{kind}");
    }
}

/// A connection that breaks anywhere, even within an event: what was received whole counts, the rest is asked for again.
#[test]
fn a_live_stream_that_is_cut_a_hundred_times_has_no_gap_and_no_repeat() {
    let job = server().submit(&small_spec());
    let mut events: Vec<Value> = Vec::new();
    let (mut cuts, mut most) = (0, 0);
    loop {
        let after = events.last().map_or(0, |event| event["seq"].as_i64().unwrap());
        let received = head_of_stream(&job, after, 300 + most);
        let Some((headers, body)) = received.split_once("\r\n\r\n") else {
            most += 279;
            continue;
        };
        if headers.starts_with("HTTP/1.0 204") {
            break;
        }
        cuts += 1;
        let before = events.len();
        // An event is whole when the empty line behind it has come.
        for event in body.split_inclusive("\n\n").filter(|event| event.ends_with("\n\n")) {
            // A heartbeat has no data.
            let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) else { continue };
            let data: Value = serde_json::from_str(data).unwrap();
            assert!(event.contains(&format!("id: {}\n", data["seq"])), "{event}");
            events.push(data);
        }
        // Further on when nothing was whole, and not at the same place each time.
        most = if events.len() > before { cuts % 50 } else { most + 279 };
    }
    assert!(cuts >= 100, "{cuts} cuts in {} events", events.len());
    let all = server().get(&format!("/v1/jobs/{job}/events?limit=200")).json();
    assert_eq!(all["has_more"], false);
    assert_eq!(&events, all["data"].as_array().unwrap());
}

/// The first bytes of a stream, at most so many, and then the connection is gone.
fn head_of_stream(job: &str, after: i64, most: usize) -> String {
    let mut connection = TcpStream::connect(server().base.strip_prefix("http://").unwrap()).unwrap();
    // HTTP/1.0 has no chunks between which lines would have to be put together.
    let request = format!("GET /v1/jobs/{job}/events?stream=true&after={after} HTTP/1.0\r\nhost: localhost\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    connection.take(most as u64).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn an_open_connection_takes_little_memory() {
    let data = data_dir();
    let server = Server::start(data.path());
    let address = server.base.strip_prefix("http://").unwrap();
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        resident.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let open = || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
        connection
    };
    drop([open(), open()]);
    let before = memory();
    let connections: Vec<TcpStream> = (0..200).map(|_| open()).collect();
    let each = memory().saturating_sub(before) / connections.len();
    assert!(each < 128, "{each} KiB for each connection");
}

#[test]
fn a_long_poll_waits_for_news_of_a_running_job() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(2000);
    let job = server().submit(&spec);
    let mut after = 0;
    for _ in 0..5 {
        let page = server().get(&format!("/v1/jobs/{job}/events?after={after}&wait=60&limit=3")).json();
        let events = page["data"].as_array().unwrap();
        assert!(!events.is_empty());
        assert_eq!(events[0]["seq"], after + 1);
        after = events.last().unwrap()["seq"].as_i64().unwrap();
    }
    let cancelled = server().post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(cancelled.status, 200);
    assert_eq!(server().wait(&job)["status"], "cancelled");
}

#[test]
fn metrics_come_as_series_and_as_csv() {
    let path = format!("/v1/jobs/{}/metrics", finished_job());
    let series = server().get(&path).json();
    let names: Vec<&str> = series["series"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    for name in [
        "loss",
        "reward/mean",
        "target/ess_share",
        "entropy/mean",
        "grad/norm",
        "learning_rate",
        "logprob/max_abs_diff",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let one = server().get(&format!("{path}?keys=target/ess_share,loss&from_step=2&to_step=11&points=5")).json();
    assert_eq!(one["series"].as_array().unwrap().len(), 2);
    assert_eq!(one["series"][0]["steps"].as_array().unwrap().len(), 5);
    let csv = server().get(&format!("{path}?keys=loss&format=csv"));
    let text = String::from_utf8(csv.bytes).unwrap();
    assert_eq!(text.lines().count(), 13, "{text}");
    assert!(text.starts_with("step,loss\n1,"));
}

#[test]
fn metrics_of_several_jobs_come_in_tables_of_shared_steps() {
    let id = finished_job();
    let answer = server().get(&format!("/v1/metrics?jobs={id},{id}&keys=loss,grad/norm,time/rollout_seconds&digits=3"));
    let (answer, job) = (answer.json(), server().job(id));
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 2);
    let shown = &answer["jobs"][0];
    assert_eq!((&shown["job"], &shown["last_seq"], &shown["status"]), (&job["id"], &job["last_seq"], &job["status"]));
    let tables = shown["tables"].as_array().unwrap();
    let columns = |table: &Value| table["columns"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    let names: Vec<Vec<Value>> = tables.iter().map(columns).collect();
    assert_eq!(json!(names), json!([["grad/norm", "loss"], ["time/rollout_seconds"]]));
    assert_eq!(tables[0]["steps"], json!((1..=12).collect::<Vec<_>>()));
    let one = server().get(&format!("/v1/jobs/{id}/metrics?keys=loss")).json();
    let exact = one["series"][0]["values"][3].as_f64().unwrap();
    let shown = tables[0]["columns"][1]["values"][3].as_f64().unwrap();
    assert!(
        (shown / exact - 1.0).abs() < 0.005 && shown.to_string().len() <= exact.to_string().len(),
        "{shown} {exact}"
    );
    let nine = [id; 9].join(",");
    assert_eq!(server().get(&format!("/v1/metrics?jobs={nine}")).status, 400);
}

#[test]
fn a_job_that_cuts_its_answers_off_is_told_so_with_a_change_that_a_fork_takes() {
    let mut spec = small_spec();
    spec["sampling"]["max_new_tokens"] = json!(1);
    let id = server().submit(&spec);
    server().wait(&id);
    let found = server().get(&format!("/v1/jobs/{id}/diagnoses")).json();
    let of = |code: &str| found["data"].as_array().unwrap().iter().find(|d| d["code"] == code).cloned();
    let truncated = of("truncated").unwrap_or_else(|| panic!("{found}"));
    assert_eq!(truncated["evidence"][0]["metric"], "completion/truncated");
    let fork = server().post(&format!("/v1/jobs/{id}/fork"), &json!({"patch": truncated["suggestion"]["patch"]}));
    assert_eq!(fork.status, 201, "{}", fork.json());
    assert_eq!(fork.json()["spec"]["sampling"]["max_new_tokens"], 2);
    server().post(&format!("/v1/jobs/{}/cancel", fork.json()["id"].as_str().unwrap()), &json!({}));
    let none = server().get(&format!("/v1/jobs/{}/diagnoses", finished_job())).json();
    assert!(none["data"].as_array().unwrap().iter().all(|d| d["code"] != "truncated"), "{none}");
}

#[test]
fn a_running_job_says_how_far_it_is_and_when_it_will_end() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(100_000);
    spec["objective"]["rounds"] = json!(10_000);
    let id = server().submit(&spec);
    let job = server().wait_until(&id, |job| job["status"] == "running" && job["step"].as_u64() >= Some(1));
    let (step, progress) = (job["step"].as_f64().unwrap(), &job["progress"]);
    assert!((progress["fraction"].as_f64().unwrap() - step / 100_000.0).abs() < 1e-12, "{job}");
    assert!(progress["expected_end"]["p50"].as_u64() > job["started_at"].as_u64(), "{job}");
    server().post(&format!("/v1/jobs/{id}/cancel"), &json!({}));
    assert_eq!(server().wait(&id)["progress"], Value::Null);
}

#[test]
fn a_name_stands_where_an_id_stands() {
    let rows: String = (10..40).map(|a| format!("{{\"prompt\": \"{a}+1=\", \"answer\": \"{}\"}}\n", a + 1)).collect();
    let dataset = upload(&rows, "?name=plus-one").json();
    let verifier = json!({"name": "strict", "config": {"type": "numeric", "tolerance": 0}});
    let verifier = server().post("/v1/verifiers", &verifier).json();
    let mut spec = small_spec();
    spec["name"] = json!("called so");
    (spec["dataset"]["train"], spec["verifier"]) = (json!("plus-one"), json!("strict"));
    let id = server().submit(&spec);
    let job = server().job(&id);
    assert_eq!(job["spec_resolved"]["dataset"]["train"], dataset["latest"]["id"], "{job}");
    assert_eq!(job["spec_resolved"]["verifier"]["tolerance"], 0.0);
    for (path, found) in [
        ("/v1/jobs/called%20so", &id),
        ("/v1/jobs/called%20so@latest", &id),
        (&format!("/v1/jobs/{}", &id[..34])[..], &id),
        ("/v1/datasets/plus-one", &dataset["id"].as_str().unwrap().to_owned()),
        ("/v1/verifiers/strict", &verifier["id"].as_str().unwrap().to_owned()),
    ] {
        assert_eq!(server().get(path).json()["id"], json!(found), "{path}");
    }
    assert_eq!(server().get("/v1/jobs/@latest").status, 200);
    let twin = server().submit(&spec);
    let twice = server().get("/v1/jobs/called%20so");
    assert_eq!((twice.status, twice.problem().as_str()), (409, "name_ambiguous"));
    assert_eq!(server().get("/v1/jobs/called%20so@latest").json()["id"], json!(twin));
    upload(&rows, "?name=plus-one");
    let refused = server().post("/v1/jobs", &spec).json();
    assert_eq!(
        (&refused["errors"][0]["pointer"], &refused["errors"][0]["code"]),
        (&json!("/dataset/train"), &json!("name_ambiguous"))
    );
    spec["dataset"]["train"] = json!("nothing");
    spec["model"] = json!("nobody");
    let refused = server().post("/v1/jobs", &spec).json();
    assert_eq!(refused["errors"].as_array().unwrap().len(), 2, "{refused}");
    for id in [id, twin] {
        server().post(&format!("/v1/jobs/{id}/cancel"), &json!({}));
    }
}

#[test]
fn jobs_are_found_by_what_they_are_and_are_called() {
    let mut spec = small_spec();
    spec["name"] = json!("Needle-A");
    spec["metadata"] = json!({"team": "hay", "run": "1"});
    let id = server().submit(&spec);
    server().post(&format!("/v1/jobs/{id}/cancel"), &json!({}));
    let created = server().job(&id)["created_at"].as_i64().unwrap();
    let found = |query: &str| -> Vec<String> {
        let answer = server().get(&format!("/v1/jobs?limit=100&{query}")).json();
        answer["data"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
    };
    let prefix = format!("q={}", &id[..20]);
    for query in
        ["q=needle-a", "q=EEDLE", &prefix, "metadata[team]=hay&metadata[run]=1", "q=needle&objective=bolt&kind=train"]
    {
        assert!(found(query).contains(&id), "{query}");
    }
    let later = format!("created_after={}", created + 1);
    let earlier = format!("created_before={created}");
    for query in
        ["q=needle-b", "q=%25", "metadata[team]=straw", "objective=sft", "kind=evaluation", "model=x", &later, &earlier]
    {
        assert!(!found(query).contains(&id), "{query}");
    }
    assert!(found(&format!("created_after={created}")).contains(&id));
    assert!(found("model=builtin:arith-tiny&metadata[team]=hay").contains(&id));
    assert!(!found("metadata=null").contains(&id) && found("metadata=null").contains(&finished_job().to_owned()));
    let listed = server().get("/v1/jobs?limit=100").json();
    let listed = listed["data"].as_array().unwrap().iter().find(|job| job["id"] == finished_job()).unwrap();
    assert!(listed["result"]["checkpoint"].is_string() && listed["result"].get("report").is_none());
    assert!(server().job(finished_job())["result"]["report"].is_object());
}

/// An answer as it is on the line: the client of the other tests undoes the compression.
fn raw(path: &str, how: &str) -> (String, Vec<u8>) {
    let (wish, address) = (format!("accept-encoding: {how}"), format!("{}{path}", server().base));
    let said = Command::new("curl").args(["-s", "-D", "/dev/stderr", "-H", &wish, &address]).output().unwrap();
    (String::from_utf8(said.stderr).unwrap().to_lowercase(), said.stdout)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn answers_are_compressed_for_whoever_takes_them_and_streams_and_files_are_not() {
    let (_, whole) = raw("/openapi.json", "");
    for (how, is) in [("gzip", "gzip"), ("br", "br"), ("gzip, br", "br"), ("identity;q=0", ""), ("deflate", "")] {
        let (head, body) = raw("/openapi.json", how);
        assert_eq!(header(&head, "content-encoding").unwrap_or_default(), is, "{how}: {head}");
        assert!(head.starts_with("http/1.1 200"), "{how}: {head}");
        let ratio = whole.len() / body.len();
        assert!(if is.is_empty() { ratio == 1 } else { ratio >= 4 }, "{how}: {ratio}");
    }
    let job = format!("/v1/jobs/{}", finished_job());
    let ((plain, _), (small, _)) = (raw(&job, "identity"), raw(&job, "gzip"));
    assert_eq!(header(&small, "content-encoding"), Some("gzip"));
    assert_eq!(header(&small, "etag"), header(&plain, "etag"));
    let checkpoint = SHARED.job["result"]["checkpoint"].as_str().unwrap();
    for path in [
        format!("{job}/events?stream=true"),
        format!("/v1/checkpoints/{checkpoint}/files/config.json"),
        format!("/v1/checkpoints/{checkpoint}/archive"),
        String::from("/healthz"),
    ] {
        let (head, _) = raw(&path, "gzip, br");
        assert!(head.starts_with("http/1.1 200") && header(&head, "content-encoding").is_none(), "{path}: {head}");
    }
}

#[test]
fn a_verifier_is_tried_before_it_is_stored() {
    let row = json!({"answer": "4"});
    let completions = json!([{"completion": "4", "row": row}, {"completion": "so 5", "row": row}]);
    let tried =
        |config: Value| server().post("/v1/verifiers/test", &json!({"config": config, "completions": completions}));
    let answer = tried(json!({"type": "numeric"})).json();
    assert_eq!(answer["verifier"], Value::Null);
    let rewards: Vec<_> = answer["data"].as_array().unwrap().iter().map(|verdict| verdict["reward"].as_f64()).collect();
    assert_eq!(rewards, [Some(1.0), Some(0.0)]);
    let graders = json!({"exact": {"type": "exact"}, "number": {"type": "numeric"}});
    let formula = "0.5 * exact + 0.5 * number";
    let multi = tried(json!({"type": "multi", "graders": graders, "calculate_output": formula}));
    assert_eq!(multi.status, 200, "{}", multi.json());
    assert_eq!(multi.json()["data"][0]["members"].as_array().unwrap().len(), 2);
    let wrong = tried(json!({"type": "numeric", "tolerance": -1}));
    assert_eq!((wrong.status, wrong.json()["errors"][0]["pointer"].clone()), (422, json!("/config/tolerance")));
}

#[test]
fn the_sampler_and_the_trainer_agree_on_log_probabilities() {
    let path = format!("/v1/jobs/{}/metrics?keys=logprob/max_abs_diff", finished_job());
    let series = server().get(&path).json();
    // The first step of a round trains on what the same weights have sampled.
    let first = series["series"][0]["values"][0].as_f64().unwrap();
    assert!(first < 1e-4, "{first}");
}

#[test]
fn a_checkpoint_downloads_whole_and_in_parts_with_its_digest() {
    let id = SHARED.job["result"]["checkpoint"].as_str().unwrap();
    let checkpoint = server().get(&format!("/v1/checkpoints/{id}")).json();
    assert_eq!((checkpoint["kind"].as_str(), checkpoint["step"].as_u64()), (Some("inference"), Some(12)));
    let manifest = server().get(&format!("/v1/checkpoints/{id}/manifest")).json();
    let names: Vec<&str> = manifest["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    for name in ["README.md", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let url = format!("/v1/checkpoints/{id}/files/model.safetensors");
    let whole = server().get(&url);
    let etag = whole.header("etag").to_owned();
    assert_eq!(whole.status, 200);
    assert!(whole.header("repr-digest").starts_with("sha-256=:"));
    assert_eq!(etag, format!("\"{}\"", SHARED.job["result"]["weights_sha256"].as_str().unwrap()));
    assert!(whole.header("content-disposition").contains("model.safetensors"));

    let mut parts = Vec::new();
    while parts.len() < whole.bytes.len() {
        let range = format!("bytes={}-{}", parts.len(), parts.len() + 999_999);
        let part = server().get_with(&url, &[("range", &range), ("if-range", &etag)]);
        assert_eq!(part.status, 206);
        parts.extend(part.bytes);
    }
    assert!(parts == whole.bytes);
    let stale = server().get_with(&url, &[("range", "bytes=0-9"), ("if-range", "\"other\"")]);
    assert_eq!((stale.status, stale.bytes.len()), (200, whole.bytes.len()));
    assert_eq!(server().get_with(&url, &[("if-none-match", &etag)]).status, 304);

    let beyond = server().get_with(&url, &[("range", "bytes=999999999-")]);
    assert_eq!((beyond.status, beyond.problem().as_str()), (416, "range_not_satisfiable"));
    assert_eq!(beyond.header("content-range"), format!("bytes */{}", whole.bytes.len()));
    for path in ["nothing.bin", "..%2F..%2F..%2Fanneal.db", "manifest.json%00"] {
        assert_eq!(server().get(&format!("/v1/checkpoints/{id}/files/{path}")).status, 404, "{path}");
    }
}

#[test]
fn a_finished_model_is_a_model_for_the_next_job() {
    let mut spec = small_spec();
    spec["model"] = SHARED.job["result"]["checkpoint"].clone();
    spec["train"] = json!({"steps": 2, "prompts_per_step": 4});
    let job = server().wait(&server().submit(&spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    // The new job begins where the other one ended.
    assert_eq!(job["result"]["before"]["pass_at"].as_array().unwrap().len(), 2);
}

#[test]
fn bad_specs_are_refused_with_the_field_at_fault() {
    let refuse = |change: &dyn Fn(&mut Value), pointer: &str, code: &str| {
        let mut spec = small_spec();
        change(&mut spec);
        let answer = server().post("/v1/jobs", &spec);
        assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid_spec"), "{pointer}");
        let errors = answer.json()["errors"].clone();
        let found = errors.as_array().unwrap().iter().any(|e| e["pointer"] == pointer && e["code"] == code);
        assert!(found, "{pointer} {code} in {errors}");
    };
    refuse(&|s| s["objective"]["beta"] = json!(0), "/objective/beta", "out_of_range");
    refuse(&|s| s["objective"]["beta"] = json!(-1.5), "/objective/beta", "out_of_range");
    refuse(&|s| s["objective"]["group_size"] = json!(0), "/objective/group_size", "out_of_range");
    refuse(&|s| s["objective"]["beta"] = json!("hot"), "/objective/beta", "wrong_type");
    refuse(&|s| s["objective"]["bet"] = json!(1), "/objective/bet", "unknown_field");
    refuse(&|s| s["objective"]["type"] = json!("ppo"), "/objective/type", "unknown_value");
    refuse(&|s| s["objective"]["rounds"] = json!(13), "/objective/rounds", "out_of_range");
    refuse(&|s| s["train"]["stepz"] = json!(1), "/train/stepz", "unknown_field");
    refuse(&|s| s["train"]["steps"] = json!(-1), "/train/steps", "invalid_value");
    refuse(&|s| s["surprise"] = json!(1), "/surprise", "unknown_field");
    refuse(&|s| s["model"] = json!("gpt-5"), "/model", "unknown_model");
    refuse(&|s| s["model"] = json!("mdl_00000000000000000000000000000000"), "/model", "unknown_model");
    refuse(&|s| s["dataset"]["train"] = json!("nothing"), "/dataset/train", "unknown_dataset");
    refuse(&|s| s["dataset"]["train"] = json!("ds_00000000000000000000000000000000"), "/dataset/train", "not_found");
    refuse(&|s| s["verifier"] = json!(null), "/verifier", "missing_field");
    refuse(&|s| s["verifier"] = json!({"type": "regex"}), "/verifier/pattern", "missing_field");
    refuse(&|s| s["verifier"] = json!({"type": "regex", "pattern": "("}), "/verifier/pattern", "invalid_pattern");
    refuse(&|s| s["eval"]["pass_at"] = json!([9]), "/eval/pass_at", "out_of_range");
    // Several mistakes are reported at once.
    let mut spec = small_spec();
    spec["model"] = json!("x");
    spec["objective"]["beta"] = json!(0);
    assert_eq!(server().post("/v1/jobs", &spec).json()["errors"].as_array().unwrap().len(), 2);
}

#[test]
fn malformed_requests_are_refused_with_a_stable_code() {
    let post = |body: &[u8]| server().post_bytes("/v1/jobs", body, &[("content-type", "application/json")]);
    for body in [&b"{"[..], b"", b"\xff\xfe", b"{\"a\": }"] {
        let answer = post(body);
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_json"));
    }
    assert_eq!(post(b"[]").problem(), "invalid_spec");
    let deep = "[".repeat(60_000);
    assert_eq!(post(deep.as_bytes()).problem(), "invalid_json");
    let large = post(&vec![b' '; 2 << 20]);
    assert_eq!((large.status, large.problem().as_str()), (413, "body_too_large"));

    for (path, status, code) in [
        ("/v1/jobs/job_1", 404, "not_found"),
        ("/v1/jobs/job_00000000000000000000000000000000", 404, "not_found"),
        ("/v1/jobs?limit=0", 400, "invalid_parameter"),
        ("/v1/jobs?limit=x", 400, "invalid_parameter"),
        ("/v1/jobs?status=done", 400, "invalid_parameter"),
        ("/v1/jobs?statuss=running", 400, "invalid_parameter"),
        ("/v1/jobs?objective=telepathy", 400, "invalid_parameter"),
        ("/v1/jobs?kind=wish", 400, "invalid_parameter"),
        ("/v1/devices?status=idle", 400, "invalid_parameter"),
        ("/v1/metrics", 400, "invalid_parameter"),
        ("/v1/metrics?jobs=x", 400, "invalid_parameter"),
        ("/v1/metrics?jobs=job_00000000000000000000000000000000", 404, "not_found"),
        ("/v1/nothing", 404, "no_such_route"),
        ("/v1/models/none", 404, "not_found"),
        ("/v1/models/%ff", 404, "not_found"),
        ("/v1/checkpoints/ckpt_x/files/a", 404, "not_found"),
    ] {
        let answer = server().get(path);
        assert_eq!((answer.status, answer.problem().as_str()), (status, code), "{path}");
    }
    let events = format!("/v1/jobs/{}/events", finished_job());
    assert_eq!(server().get_with(&events, &[("last-event-id", "x")]).problem(), "invalid_last_event_id");
    let wrong_method = server().post("/healthz", &json!({}));
    assert_eq!((wrong_method.status, wrong_method.problem().as_str()), (405, "method_not_allowed"));
}

#[test]
fn requests_from_other_sites_are_refused() {
    let foreign_host = server().get_with("/v1/jobs", &[("host", "evil.example")]);
    assert_eq!((foreign_host.status, foreign_host.problem().as_str()), (403, "host_not_allowed"));
    let spec = small_spec().to_string();
    let foreign_page = server().post_bytes("/v1/jobs", spec.as_bytes(), &[("origin", "https://evil.example")]);
    assert_eq!((foreign_page.status, foreign_page.problem().as_str()), (403, "origin_not_allowed"));
    let own = server().base.clone();
    assert_eq!(server().get_with("/v1/jobs", &[("origin", &own)]).status, 200);
}

#[test]
fn cancelling_a_finished_job_is_a_conflict() {
    let answer = server().post(&format!("/v1/jobs/{}/cancel", finished_job()), &json!({}));
    assert_eq!((answer.status, answer.problem().as_str()), (409, "conflict"));
    assert_eq!(answer.header("x-should-retry"), "false");
    assert_eq!(server().job(finished_job())["status"], "succeeded");
}

#[test]
fn an_idempotency_key_makes_one_job() {
    let mut spec = small_spec();
    spec["priority"] = json!(-5);
    spec["train"]["steps"] = json!(2);
    spec["objective"]["rounds"] = json!(1);
    let post =
        |spec: &Value| server().post_bytes("/v1/jobs", spec.to_string().as_bytes(), &[("idempotency-key", "k1")]);
    let (first, second) = (post(&spec), post(&spec));
    assert_eq!(first.json()["id"], second.json()["id"]);
    assert_eq!((first.header("idempotent-replayed"), second.header("idempotent-replayed")), ("", "true"));
    spec["seed"] = json!(99);
    let other = post(&spec);
    assert_eq!((other.status, other.problem().as_str()), (422, "idempotency_key_reused"));
}

#[test]
fn a_broken_row_is_named_and_nothing_of_the_file_is_kept() {
    let before = server().get("/v1/datasets?limit=100").json()["data"].as_array().unwrap().len();
    let mut rows: Vec<String> =
        (0..5000).map(|i| json!({"prompt": format!("{i}+1="), "answer": i + 1}).to_string()).collect();
    rows[4216] = String::from("{\"prompt\": \"1+1=\", \"answer\": 2");
    let broken = upload(&rows.join("\n"), "?name=broken");
    assert_eq!((broken.status, broken.problem().as_str()), (422, "row_invalid_json"));
    assert!(broken.json()["detail"].as_str().unwrap().contains("4217"), "{}", broken.json());

    let typo = upload("{\"prompt\": \"1\"}\n", "?anser_column=a");
    assert_eq!((typo.status, typo.problem().as_str()), (400, "invalid_parameter"));
    let missing = upload("{\"question\": \"1+1=\", \"answer\": 2}\n", "");
    assert_eq!((missing.status, missing.problem().as_str()), (422, "row_missing_column"));
    let detail = missing.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("row 1") && detail.contains("question") && detail.contains("prompt_column"), "{detail}");
    let empty = upload("\n\n", "");
    assert_eq!((empty.status, empty.problem().as_str()), (422, "dataset_empty"));
    let large = upload(&"{\"prompt\": \"1\"}\n".repeat(1_000_000), "");
    assert_eq!((large.status, large.problem().as_str()), (413, "upload_too_large"));

    let after = server().get("/v1/datasets?limit=100").json()["data"].as_array().unwrap().len();
    assert!(after >= before);
    check_leftovers();
}

/// Waits until no file of an upload is left; other tests upload to the same server meanwhile.
fn check_leftovers() {
    let folder = SHARED.folder.path().join("data/uploads");
    let deadline = Instant::now() + PATIENCE;
    while std::fs::read_dir(&folder).unwrap().count() > 0 {
        assert!(Instant::now() < deadline, "an upload has left something in {}", folder.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_upload_that_is_cut_off_leaves_nothing() {
    let address = server().base.trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = format!("POST /v1/datasets?name=cut HTTP/1.1\r\nhost: {address}\r\ncontent-length: 1000\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"{\"prompt\": \"1+1=\", \"answer\": 2}\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.is_empty() || answer.contains("upload_incomplete"), "{answer}");
    let listed = server().get("/v1/datasets?limit=100").json().to_string();
    assert!(!listed.contains("\"cut\""));
    check_leftovers();
}

#[test]
fn own_data_and_a_stored_verifier_make_a_job() {
    let rows: String = (0..40)
        .map(|i| {
            json!({"q": format!("{i}+{i}="), "a": format!("some words #### {}", 2 * i), "kind": "sum"}).to_string()
                + "\n"
        })
        .collect();
    let answer = upload(&rows, "?name=sums&prompt_column=q&answer_column=a");
    assert_eq!(answer.status, 201, "{}", answer.json());
    let dataset = answer.json();
    assert_eq!((dataset["latest"]["rows"].as_u64(), dataset["latest"]["answers"].as_u64()), (Some(40), Some(40)));
    let verifier = server().post("/v1/verifiers", &json!({"name": "sum", "config": {"type": "numeric"}})).json();
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": dataset["id"], "eval": dataset["latest"]["id"]});
    spec["verifier"] = verifier["id"].clone();
    spec["train"] = json!({"steps": 2, "prompts_per_step": 4});
    spec["objective"]["rounds"] = json!(1);
    let job = server().wait(&server().submit(&spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(job["spec_resolved"]["dataset"]["train"], dataset["latest"]["id"]);
    assert!(job["result"]["after"]["reward_mean"].as_f64().unwrap() > 0.0);

    let more = server().post_bytes(
        &format!("/v1/datasets/{}/versions?prompt_column=q&answer_column=a", dataset["id"].as_str().unwrap()),
        rows.as_bytes(),
        &[],
    );
    assert_eq!((more.status, more.json()["number"].as_u64()), (201, Some(2)));
}

/// Runs a job on one row and returns why it failed.
fn failure_on(row: &Value, change: impl Fn(&mut Value)) -> Value {
    let dataset = upload(&format!("{row}\n"), "").json();
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": dataset["id"]});
    change(&mut spec);
    let job = server().wait(&server().submit(&spec));
    assert_eq!(job["status"], "failed", "{job}");
    job["failure"].clone()
}

#[test]
fn a_prompt_longer_than_the_context_fails_the_job_with_the_row() {
    let failure = failure_on(&json!({"prompt": "1+".repeat(200), "answer": 1}), |_| {});
    assert_eq!((failure["kind"].as_str(), failure["code"].as_str()), (Some("invalid_data"), Some("prompt_too_long")));
    assert!(failure["message"].as_str().unwrap().contains("row 1"), "{failure}");
}

#[test]
fn a_verifier_that_cannot_judge_fails_the_job_and_never_counts_as_wrong() {
    let failure = failure_on(&json!({"prompt": "1+1=", "answer": "two"}), |_| {});
    assert_eq!(failure["code"], "verifier_error_rate", "{failure}");
}

#[test]
fn a_verifier_that_compares_needs_answers() {
    let dataset = upload("{\"prompt\": \"1+1=\"}\n", "").json();
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": dataset["id"]});
    let answer = server().post("/v1/jobs", &spec);
    assert_eq!(answer.json()["errors"][0]["code"], "row_missing_column", "{}", answer.json());
}

#[test]
fn a_column_that_a_verifier_names_is_in_every_row() {
    let rows = "{\"prompt\": \"1+1=\", \"sum\": 2}\n{\"prompt\": \"1+2=\", \"sum\": null}\n";
    let (holes, whole) = (upload(rows, "").json(), upload(&rows.replace("null", "3"), "").json());
    let template = |column: &str| {
        json!({"type": "string_check", "input": "{{ sample.output_text }}", "reference": format!("{{{{ item.{column} }}}}"),
               "operation": "eq"})
    };
    let sum = json!({"type": "numeric", "answer_column": "sum"});
    // Where the error is, and what it says of the rows and of the verifier.
    let refused = |answer: common::Answer, pointer: &str, told: [&str; 3]| {
        let error = &answer.json()["errors"][0];
        assert_eq!((&error["code"], &error["pointer"]), (&json!("row_missing_column"), &json!(pointer)), "{error}");
        let detail = error["detail"].as_str().unwrap();
        assert!(told.iter().all(|part| detail.contains(part)), "{detail}");
    };
    let submit = |dataset: Value, verifier: &Value| {
        let mut spec = small_spec();
        (spec["dataset"], spec["verifier"]) = (dataset, verifier.clone());
        server().post("/v1/jobs?dry_run=validate", &spec)
    };
    let train = json!({"train": holes["id"]});
    refused(submit(train, &sum), "/dataset/train", ["1 of 2 rows", "`sum`, which `answer_column`", "`prompt`, `sum`"]);
    let train = json!({"train": whole["id"]});
    assert_eq!(submit(train.clone(), &sum).status, 200);
    assert_eq!(submit(train.clone(), &template("sum")).status, 200);
    refused(
        submit(train, &template("total")),
        "/dataset/train",
        ["0 of 2 rows", "`total`, which `reference`", "`sum`"],
    );
    let eval = json!({"train": whole["id"], "eval": holes["id"]});
    refused(submit(eval, &sum), "/dataset/eval", ["1 of 2 rows", "`sum`", "`prompt`, `sum`"]);
    let builtin = json!({"train": "builtin:arithmetic"});
    refused(submit(builtin, &sum), "/dataset/train", ["0 of ", "`sum`, which `answer_column`", "`answer`"]);
    let evaluation = json!({"model": "builtin:arith-tiny", "dataset": holes["id"], "verifier": sum});
    refused(server().post("/v1/evaluations", &evaluation), "/dataset", ["1 of 2 rows", "`sum`", "`prompt`, `sum`"]);
}

#[test]
fn sft_needs_completions() {
    let dataset = upload("{\"prompt\": \"1+1=\", \"answer\": 2}\n", "").json();
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": dataset["id"]});
    spec["objective"] = json!({"type": "sft"});
    let answer = server().post("/v1/jobs", &spec);
    assert_eq!(answer.json()["errors"][0]["code"], "row_missing_column", "{}", answer.json());
}

#[test]
fn models_are_imported_only_from_allowed_folders_and_only_when_whole() {
    let import = |path: &Path| server().post("/v1/models", &json!({"path": path, "name": "m"}));
    let root = SHARED.folder.path().join("import");
    let outside = import(Path::new("/etc"));
    assert_eq!((outside.status, outside.problem().as_str()), (403, "path_not_allowed"));
    assert_eq!(import(&root.join("../data")).problem(), "path_not_allowed");

    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/models/tiny-llama");
    let copy = |name: &str| {
        let target = root.join(name);
        std::fs::create_dir(&target).unwrap();
        for file in ["config.json", "model.safetensors"] {
            std::fs::copy(tiny.join(file), target.join(file)).unwrap();
        }
        target
    };
    assert_eq!(import(&copy("no-tokenizer")).problem(), "tokenizer_missing");

    let lying = copy("lying-header");
    let path = lying.join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..8].copy_from_slice(&(1_u64 << 62).to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let code = import(&lying).problem();
    assert!(code.starts_with("weights_"), "{code}");

    let pickle = root.join("pickle");
    std::fs::create_dir(&pickle).unwrap();
    std::fs::write(pickle.join("pytorch_model.bin"), b"x").unwrap();
    assert_eq!(import(&pickle).problem(), "pickle_refused");

    let gguf = root.join("cut.gguf");
    std::fs::write(&gguf, b"GGUF\x03\0\0\0\x10\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0").unwrap();
    assert_eq!(import(&gguf).problem(), "weights_truncated");
    let models = server().get("/v1/models").json();
    let imported = models["data"].as_array().unwrap().iter().find(|model| model["owned_by"] == "import");
    assert_eq!(imported, None, "only the built-ins and what jobs made");
    check_leftovers();
}

#[test]
fn a_downloaded_model_can_be_imported_again() {
    let id = SHARED.job["result"]["checkpoint"].as_str().unwrap();
    let folder = data_dir();
    let manifest = server().get(&format!("/v1/checkpoints/{id}/manifest")).json();
    for file in manifest["files"].as_array().unwrap() {
        let name = file["path"].as_str().unwrap();
        let bytes = server().get(&format!("/v1/checkpoints/{id}/files/{name}")).bytes;
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let data = data_dir();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_anneal"))
        .args(["models", "import", "--name", "again", "--data-dir"])
        .args([data.path(), folder.path()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("mdl_"));
}

#[test]
fn the_small_resources_answer() {
    let objectives = server().get("/v1/objectives").json();
    let bolt = objectives["data"].as_array().unwrap().iter().find(|o| o["id"] == "bolt").unwrap().clone();
    assert_eq!(bolt["schema"]["properties"]["beta"]["default"], 0.25);
    assert_eq!(server().get("/v1/devices").json()["data"][0]["id"], "cpu");
    assert!(server().get("/v1/queue").json()["counts"]["succeeded"].as_u64() > Some(0));
    assert_eq!(server().get("/healthz").json()["status"], "ok");
    assert_eq!(server().get("/readyz").status, 200);
    assert!(server().get("/openapi.json").json()["openapi"].as_str().unwrap().starts_with("3.1"));
}

#[test]
fn jobs_are_claimed_by_priority_and_then_in_order() {
    let mut spec = small_spec();
    spec["train"] = json!({"steps": 400, "prompts_per_step": 16});
    let blocker = server().submit(&spec);
    server().wait_until(&blocker, |job| job["status"] == "running");
    spec["train"] = json!({"steps": 1, "prompts_per_step": 2});
    spec["objective"]["rounds"] = json!(1);
    let jobs: Vec<String> = [0, 5, 0, 9]
        .iter()
        .map(|priority| {
            spec["priority"] = json!(priority);
            server().submit(&spec)
        })
        .collect();
    let queue = server().get("/v1/queue").json();
    let position = |id: &String| queue["waiting"].as_array().unwrap().iter().position(|w| w["job"] == **id).unwrap();
    assert!(position(&jobs[3]) < position(&jobs[1]) && position(&jobs[1]) < position(&jobs[0]));
    assert!(position(&jobs[0]) < position(&jobs[2]));
    server().post(&format!("/v1/jobs/{blocker}/cancel"), &json!({}));
    for job in &jobs {
        assert_eq!(server().wait(job)["status"], "succeeded");
    }
}

#[test]
fn the_committed_openapi_document_is_current() {
    let committed =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/openapi.json")).unwrap();
    let current = serde_json::to_string_pretty(&anneal::api::document()).unwrap() + "\n";
    assert!(committed == current, "openapi/openapi.json is stale; run: cargo run -- openapi > openapi/openapi.json");
}
