//! Models as people bring them: from the hub, from a folder, from another machine; while their weights are under way, and
//! with all that goes wrong on the way.

mod common;
#[path = "common/gguf.rs"]
mod gguf;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, signal, small_spec};
use hub::{Hub, Trouble, WEIGHTS, assets, files_of, large_model};
use program::{Breaking, Program};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// A server that asks a hub of its own.
struct Setting {
    folder: TempDir,
    hub: Hub,
    server: Server,
}

impl Setting {
    /// With the built-in model as `tiny/arith`.
    fn start() -> Self {
        let hub = Hub::start();
        hub.put("tiny/arith", &assets());
        Self::with(hub, &[])
    }

    fn with(hub: Hub, arguments: &[&str]) -> Self {
        let folder = data_dir();
        let server = start(&folder, &hub, arguments);
        Self { folder, hub, server }
    }

    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    /// What is neither a model that has a row nor a built-in one.
    fn leftovers(&self) -> Vec<String> {
        let rows = self.models();
        let is_known = |name: &str| name.starts_with("builtin-") || rows.iter().any(|model| model["id"] == name);
        let names = |folder: &str| {
            let entries = std::fs::read_dir(self.data().join(folder)).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<String>>()
        };
        let mut left = names("uploads");
        left.extend(names("models").into_iter().filter(|name| !is_known(name)));
        left
    }

    /// The imported models.
    fn models(&self) -> Vec<Value> {
        let list = self.server.get("/v1/models?limit=100").json();
        list["data"].as_array().unwrap().iter().filter(|model| model["owned_by"] == "import").cloned().collect()
    }

    fn pull(&self, source: &str) -> common::Answer {
        self.server.post("/v1/models", &json!({"source": source}))
    }
}

fn start(folder: &TempDir, hub: &Hub, arguments: &[&str]) -> Server {
    let roots = folder.path().join("roots");
    std::fs::create_dir_all(&roots).unwrap();
    let all = [&["--hub-endpoint", &hub.base, "--import-roots", roots.to_str().unwrap()], arguments].concat();
    Server::start_with(&folder.path().join("data"), &all)
}

/// A job of a few steps on a model.
fn spec(model: &str) -> Value {
    let mut spec = small_spec();
    spec["model"] = json!(model);
    spec["train"]["steps"] = json!(2);
    spec["objective"]["rounds"] = json!(1);
    spec
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_spec_names_a_model_of_the_hub_and_jobs_share_it() {
    let setting = Setting::start();
    let job = setting.server.wait(&setting.server.submit(&spec("hf:tiny/arith")));
    assert_eq!(job["status"], "succeeded", "{job}");
    let models = setting.models();
    let commit = setting.hub.put("tiny/arith", &assets());
    assert_eq!(models.len(), 1);
    let model = &models[0];
    assert_eq!(model["source"], format!("hf:tiny/arith@{commit}"));
    assert_eq!((&model["status"], &model["bytes_done"]), (&json!("ready"), &model["bytes"]));
    assert_eq!(model["weights_sha256"], sha256(&std::fs::read(assets().join(WEIGHTS)).unwrap()));
    assert_eq!(job["spec_resolved"]["model"], model["id"], "what a branch stood for is pinned");
    assert!(model["last_used_at"].as_i64() >= model["created_at"].as_i64());
    let sent = setting.hub.sent(WEIGHTS);
    // The same by its branch, its commit, and as the teacher of another.
    let pinned = format!("hf:tiny/arith@{commit}");
    let mut distilled = spec(&pinned);
    distilled["objective"] = json!({"type": "vopd", "teacher": "hf:tiny/arith@main", "group_size": 2});
    let listed = setting.hub.listed();
    for spec in [spec("hf:tiny/arith@main"), spec(&pinned), distilled] {
        let job = setting.server.wait(&setting.server.submit(&spec));
        assert_eq!(job["status"], "succeeded", "{job}");
    }
    assert_eq!(setting.hub.listed(), listed + 2, "a commit is not asked for");
    // Evaluations and rollout sets name models in the same way.
    let bodies = [
        ("/v1/evaluations", json!({"dataset": "builtin:arithmetic", "samples": 1})),
        ("/v1/rollout-sets", json!({"dataset": {"train": "builtin:arithmetic"}, "group_size": 2})),
    ];
    for (path, mut body) in bodies {
        for (name, value) in
            [("model", json!("hf:tiny/arith")), ("verifier", json!({"type": "numeric"})), ("prompts", json!(2))]
        {
            body[name] = value;
        }
        let made = setting.server.post(path, &body).json();
        let job = setting.server.wait(made["job"].as_str().unwrap_or_else(|| panic!("{path}: {made}")));
        assert_eq!(job["status"], "succeeded", "{path}: {job}");
    }
    assert_eq!((setting.hub.sent(WEIGHTS), setting.models().len()), (sent, 1));
    assert_eq!(setting.leftovers(), [""; 0]);
}

#[test]
fn a_job_waits_for_its_model_and_says_so() {
    let hub = Hub::start();
    hub.put_files("large/model", large_model());
    hub.pace(Duration::from_millis(60));
    let setting = Setting::with(hub, &[]);
    let before = Instant::now();
    let job = setting.server.submit(&spec("hf:large/model"));
    assert!(before.elapsed() < Duration::from_secs(60), "the answer does not wait for the weights");
    let waiting = setting.server.wait_until(&job, |job| job["waiting"]["code"] == "model_importing");
    assert!(waiting["waiting"]["message"].as_str().unwrap().contains("hf:large/model@"), "{waiting}");
    let model = setting.models().remove(0);
    assert_eq!((&model["status"], &model["weights_sha256"]), (&json!("importing"), &Value::Null));
    let chat = json!({"model": model["id"], "messages": [{"role": "user", "content": "1+1="}]});
    let refused = setting.server.post("/v1/chat/completions", &chat);
    assert_eq!((refused.status, refused.problem().as_str()), (409, "model_not_ready"));
    setting.server.wait_until(&job, |_| {
        let events = setting.server.get(&format!("/v1/jobs/{job}/events?limit=100")).json();
        let told = |event: &Value| event["type"] == "progress" && event["data"]["phase"] == "fetching";
        events["data"].as_array().unwrap().iter().any(told)
    });
    setting.hub.pace(Duration::ZERO);
    let model = setting.server.imported(&model);
    assert_eq!(model["status"], "ready", "{model}");
    setting.server.wait_until(&job, |job| job["status"] != "queued");
    setting.server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    // Several connections at once, each for a piece of its own.
    let ranges: Vec<_> = setting.hub.asked().into_iter().filter_map(|asked| asked.range).collect();
    assert!(ranges.iter().filter(|range| range.start > 0).count() >= 2, "{ranges:?}");
}

#[test]
fn what_the_hub_refuses_has_a_code_of_its_own_and_leaves_nothing() {
    let setting = Setting::start();
    let refused = |status: u16, headers: &'static str| {
        setting.hub.trouble_with_listing(std::iter::repeat_n(Trouble::Refuse(status, headers), 4));
        let answer = setting.pull("hf:tiny/arith");
        let by_job = setting.server.post("/v1/jobs", &spec("hf:tiny/arith"));
        setting.hub.trouble_with_listing([]);
        let code = by_job.json()["errors"][0]["code"].as_str().map_or_else(|| by_job.problem(), str::to_owned);
        assert_eq!(answer.problem(), code);
        if status == 429 {
            assert_eq!(answer.header("retry-after"), "120", "as the hub says");
        }
        (answer.status, code)
    };
    let found = [
        refused(401, ""),
        refused(403, "x-error-code: GatedRepo\r\n"),
        refused(403, ""),
        refused(404, "x-error-code: RevisionNotFound\r\n"),
        refused(429, "retry-after: 120\r\n"),
        refused(503, ""),
        refused(418, ""),
    ];
    let expected = [
        (422, "hub_unauthorized"),
        (422, "hub_gated"),
        (422, "hub_gated"),
        (422, "hub_not_found"),
        (503, "hub_rate_limited"),
        (503, "hub_unreachable"),
        (422, "hub_unexpected"),
    ];
    assert_eq!(
        found.map(|(status, code)| format!("{status} {code}")),
        expected.map(|(status, code)| format!("{status} {code}"))
    );
    assert_eq!(setting.pull("hf:nobody/nothing").problem(), "hub_not_found");
    for text in ["hf:", "hf:a/../b", "hf:a/b@../c", "tiny/arith"] {
        let answer = setting.pull(text);
        assert_eq!((answer.status, answer.json()["errors"][0]["pointer"].as_str()), (422, Some("/source")), "{text}");
    }
    let answer = setting.server.post("/v1/models", &json!({"source": "hf:tiny/arith", "path": "/x"}));
    assert_eq!(answer.problem(), "invalid_spec");
    assert_eq!((setting.models().len(), setting.leftovers()), (0, Vec::new()));
    assert_eq!(setting.server.post("/v1/jobs", &spec("hf:nobody/nothing")).json()["errors"][0]["pointer"], "/model");
}

#[test]
fn a_token_is_shown_to_the_hub_and_to_nobody_else() {
    let hub = Hub::start();
    hub.put("private/arith", &assets());
    hub.require("hf_secret");
    let folder = data_dir();
    let file = folder.path().join("token");
    std::fs::write(&file, "hf_secret\n").unwrap();
    let without = Setting::with(hub.clone(), &[]);
    assert_eq!(without.pull("hf:private/arith").problem(), "hub_not_found");
    let with = Setting::with(hub, &["--hub-token-file", file.to_str().unwrap()]);
    let model = with.server.import(&json!({"source": "hf:private/arith", "name": "own"}));
    assert_eq!((&model["status"], &model["name"]), (&json!("ready"), &json!("own")));
    assert!(!with.hub.has_leaked_its_token());
}

#[test]
fn a_branch_that_moves_leaves_a_job_with_the_commit_that_it_named() {
    let hub = Hub::start();
    let (files, mut others) = (large_model(), large_model());
    let commit = hub.put_files("large/model", files.clone());
    hub.pace(Duration::from_millis(20));
    let setting = Setting::with(hub, &[]);
    let spec = spec("hf:large/model@main");
    let job = setting.server.submit(&spec);
    *others.get_mut(WEIGHTS).unwrap().last_mut().unwrap() ^= 1;
    let moved = setting.hub.put_files("large/model", others.clone());
    setting.hub.pace(Duration::ZERO);
    let model = setting.server.imported(&setting.models()[0]);
    assert_eq!(model["source"], format!("hf:large/model@{commit}"));
    assert_eq!(model["weights_sha256"], sha256(&files[WEIGHTS]));
    let next = setting.server.import(&json!({"source": "hf:large/model@main"}));
    assert_eq!(
        (&next["source"], &next["weights_sha256"]),
        (&json!(format!("hf:large/model@{moved}")), &json!(sha256(&others[WEIGHTS])))
    );
    assert_eq!(setting.server.job(&job)["spec_resolved"]["model"], model["id"]);
    setting.server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    // A hub that is not there is no fault of the spec.
    let folder = data_dir();
    let lonely = Server::start_with(folder.path(), &["--hub-endpoint", "http://127.0.0.1:1"]);
    let refused = lonely.post("/v1/jobs", &spec);
    assert_eq!((refused.status, refused.problem().as_str()), (503, "hub_unreachable"));
}

#[test]
fn connections_that_break_are_taken_up_where_they_broke() {
    let hub = Hub::start();
    let files = large_model();
    let weights = files[WEIGHTS].clone();
    hub.put_files("large/model", files);
    let setting = Setting::with(hub, &[]);
    let model = setting.pull("hf:large/model").json();
    let cuts = [
        Trouble::Cut(3_000_000),
        Trouble::Cut(100),
        Trouble::Refuse(500, ""),
        Trouble::Refuse(429, "retry-after: 1\r\n"),
    ];
    setting.hub.trouble(WEIGHTS, cuts.into_iter().chain([Trouble::Cut(0), Trouble::Cut(1_000_000)]));
    let model = setting.server.imported(&model);
    assert_eq!((&model["status"], &model["weights_sha256"]), (&json!("ready"), &json!(sha256(&weights))), "{model}");
    let stored = setting.data().join("models").join(model["id"].as_str().unwrap());
    assert!(std::fs::read(stored.join(WEIGHTS)).unwrap() == weights);
    let names: Vec<String> = files_of(&stored).into_keys().collect();
    assert_eq!(names, ["config.json", WEIGHTS, "tokenizer.json"], "nothing is left of the way");
    // Not much more than all of it came.
    assert!(setting.hub.sent(WEIGHTS) < weights.len() * 5 / 4, "{} of {}", setting.hub.sent(WEIGHTS), weights.len());
}

#[test]
fn wrong_bytes_are_fetched_once_more_and_then_refused_with_the_jobs_that_wait() {
    let setting = Setting::start();
    // The first request for weights is that for their header.
    setting.hub.trouble(WEIGHTS, [Trouble::Wait(Duration::ZERO), Trouble::Change]);
    let model = setting.server.import(&json!({"source": "hf:tiny/arith"}));
    assert_eq!(model["status"], "ready", "{model}");

    let mut files = files_of(&assets());
    files.insert(String::from("README.md"), b"another".to_vec());
    setting.hub.put_files("tiny/other", files);
    // The wrong bytes come when the job is there; before that, what is wrong would be said of its spec.
    setting.hub.trouble(WEIGHTS, [Trouble::Wait(Duration::ZERO), Trouble::Refuse(503, "retry-after: 5\r\n")]);
    setting.hub.always(WEIGHTS, Trouble::Change);
    // One that names it twice holds up nobody.
    let mut distilled = spec("hf:tiny/other");
    distilled["objective"] = json!({"type": "vopd", "teacher": "hf:tiny/other", "group_size": 2});
    let job = setting.server.wait(&setting.server.submit(&distilled));
    assert_eq!((&job["status"], &job["failure"]["code"]), (&json!("failed"), &json!("model_import_failed")), "{job}");
    let failed = setting.models().into_iter().find(|model| model["status"] == "failed").unwrap();
    assert_eq!(failed["failure"]["code"], "wrong_bytes", "{failed}");
    assert!(!setting.data().join("models").join(failed["id"].as_str().unwrap()).exists());
    // Small files are checked before there is a row.
    setting.hub.always(WEIGHTS, Trouble::Wait(Duration::ZERO));
    setting.hub.always("tokenizer.json", Trouble::Change);
    let refused = setting.server.post("/v1/jobs", &spec("hf:tiny/other"));
    assert_eq!(refused.json()["errors"][0]["code"], "wrong_bytes", "{}", refused.json());
    // When the hub is well again, so is the model.
    setting.hub.always("tokenizer.json", Trouble::Wait(Duration::ZERO));
    let job = setting.server.wait(&setting.server.submit(&spec("hf:tiny/other")));
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(setting.leftovers(), [""; 0]);
}

#[test]
fn an_import_goes_on_where_it_was_when_its_server_ends() {
    let hub = Hub::start();
    let files = large_model();
    let weights = files[WEIGHTS].clone();
    hub.put_files("large/model", files);
    let setting = Setting::with(hub, &[]);
    setting.hub.pace(Duration::from_millis(12));
    let model = setting.pull("hf:large/model").json();
    // Until a piece is known to be on the disk.
    let marks = setting.data().join("models").join(model["id"].as_str().unwrap()).join(".pieces");
    let end = Instant::now() + PATIENCE;
    while std::fs::read(&marks).unwrap_or_default().iter().filter(|mark| **mark == 1).count() < 2 {
        assert!(Instant::now() < end, "no piece came");
        std::thread::sleep(Duration::from_millis(20));
    }
    let Setting { folder, hub, server } = setting;
    server.kill();
    hub.pace(Duration::ZERO);
    let before = hub.sent(WEIGHTS);
    let setting = Setting { server: start(&folder, &hub, &[]), folder, hub };
    let model = setting.server.imported(&model);
    assert_eq!((&model["status"], &model["weights_sha256"]), (&json!("ready"), &json!(sha256(&weights))), "{model}");
    let after = setting.hub.sent(WEIGHTS) - before;
    assert!(after <= weights.len() - (32 << 20), "{after} of {} came again", weights.len());
}

#[test]
fn what_came_before_the_hub_turned_away_is_kept_for_the_next_try() {
    let hub = Hub::start();
    let files = large_model();
    let weights = files[WEIGHTS].clone();
    hub.put_files("large/model", files);
    let setting = Setting::with(hub, &[]);
    setting.hub.pace(Duration::from_millis(10));
    // The header comes, and the last piece, which is a small one; the others break off and ask again.
    let cuts = [(8 << 20, 4), (64 << 10, 200)].map(|(bytes, count)| std::iter::repeat_n(Trouble::Cut(bytes), count));
    setting.hub.trouble(WEIGHTS, [Trouble::Wait(Duration::ZERO)].into_iter().chain(cuts.into_iter().flatten()));
    let job = setting.server.submit(&spec("hf:large/model"));
    let asked = || setting.hub.asked().iter().filter(|asked| asked.path == WEIGHTS).count();
    setting.server.wait_until(&job, |_| asked() >= 5);
    setting.hub.close(Some((403, "x-error-code: GatedRepo\r\n")));
    let job = setting.server.wait(&job);
    assert_eq!((&job["status"], &job["failure"]["code"]), (&json!("failed"), &json!("model_import_failed")), "{job}");
    let failed = setting.models().remove(0);
    assert_eq!(failed["failure"]["code"], "hub_gated", "{failed}");
    setting.hub.close(None);
    setting.hub.pace(Duration::ZERO);
    // Where the files are, nobody knows who may have them: an address has grown old.
    setting.hub.trouble(WEIGHTS, [Trouble::Refuse(403, ""), Trouble::Refuse(408, "")]);
    let sent = setting.hub.sent(WEIGHTS);
    let again = setting.server.import(&json!({"source": "hf:large/model"}));
    assert_eq!((&again["id"], &again["status"]), (&failed["id"], &json!("ready")), "{again}");
    assert_eq!(again["weights_sha256"], sha256(&weights));
    let again = setting.hub.sent(WEIGHTS) - sent;
    assert!(again <= weights.len() - 1_000_000, "{again} of {}", weights.len());
}

#[test]
fn a_dry_run_brings_no_weights_and_a_model_under_way_can_be_deleted() {
    let hub = Hub::start();
    let files = large_model();
    let size = files[WEIGHTS].len();
    hub.put_files("large/model", files);
    let setting = Setting::with(hub, &[]);
    let dry = setting.server.post("/v1/jobs?dry_run=preflight", &spec("hf:large/model"));
    assert_eq!(dry.status, 200, "{}", dry.json());
    let model = setting.models().remove(0);
    assert_eq!(model["status"], "pending", "{model}");
    assert!(setting.hub.sent(WEIGHTS) <= 2 << 20 && size > 40 << 20);
    setting.hub.pace(Duration::from_millis(40));
    // The resolved spec names it by its id.
    let resolved = dry.json()["spec_resolved"]["model"].as_str().unwrap().to_owned();
    assert_eq!(model["id"], resolved);
    let job = setting.server.submit(&spec(&resolved));
    setting.server.wait_until(&job, |_| setting.models()[0]["bytes_done"].as_u64().unwrap() > 1 << 20);
    let path = format!("/v1/models/{}", model["id"].as_str().unwrap());
    assert_eq!(setting.server.delete(&path).status, 409, "a job waits for it");
    setting.server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(setting.server.delete(&path).status, 200);
    let end = Instant::now() + PATIENCE;
    while !setting.leftovers().is_empty() {
        assert!(Instant::now() < end, "{:?}", setting.leftovers());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn repositories_that_lie_or_hold_something_else_are_refused_by_name() {
    let setting = Setting::start();
    let whole = files_of(&assets());
    let refused = |repository: &str, files: BTreeMap<String, Vec<u8>>| {
        setting.hub.put_files(repository, files);
        let answer = setting.pull(&format!("hf:{repository}"));
        (answer.problem(), answer.json()["detail"].as_str().unwrap().to_owned())
    };
    let without = |name: &str| {
        let mut files = whole.clone();
        files.remove(name);
        files
    };
    let with = |name: &str, bytes: &[u8]| {
        let mut files = without(WEIGHTS);
        files.insert(name.to_owned(), bytes.to_vec());
        files
    };
    let index = |file: &str| json!({"weight_map": {"model.norm.weight": file}}).to_string().into_bytes();
    let mut lying = whole.clone();
    lying.get_mut(WEIGHTS).unwrap()[..8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let cases = [
        ("a/nothing", without(WEIGHTS), "model_not_found", "model.safetensors"),
        ("a/pickle", with("pytorch_model.bin", b"x"), "pickle_refused", "pytorch_model.bin"),
        ("a/tokenizer", without("tokenizer.json"), "tokenizer_missing", "tokenizer.json"),
        ("a/config", without("config.json"), "config_invalid", "config.json"),
        (
            "a/shard",
            with("model.safetensors.index.json", &index("model-00001-of-00002.safetensors")),
            "weights_invalid",
            "model-00001-of-00002.safetensors",
        ),
        (
            "a/parent",
            with("model.safetensors.index.json", &index("../x.safetensors")),
            "weights_invalid",
            "../x.safetensors",
        ),
        (
            "a/absolute",
            with("model.safetensors.index.json", &index("/etc/x.safetensors")),
            "weights_invalid",
            "/etc/x.safetensors",
        ),
        ("a/header", lying, "weights_invalid", "claims"),
        (
            "a/gguf",
            with("x.gguf", b"GGUF\x03\0\0\0\x10\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0"),
            "weights_truncated",
            "x.gguf",
        ),
    ];
    for (repository, files, code, words) in cases {
        let (found, detail) = refused(repository, files);
        assert!(found == code && detail.contains(words), "{repository}: {found} {detail}");
    }
    for (repository, files, code, words) in models_that_do_not_fit(&whole) {
        let (found, detail) = refused(repository, files);
        assert!(found == code, "{repository}: {found} {detail}");
        words.iter().for_each(|word| assert!(detail.contains(word), "{repository}: {detail}"));
    }
    let mut two = without(WEIGHTS);
    two.extend([(String::from("a.gguf"), b"x".to_vec()), (String::from("b.gguf"), b"x".to_vec())]);
    assert_eq!(refused("a/two", two).0, "model_ambiguous");
    assert_eq!(setting.pull("hf:a/two/c.gguf").problem(), "hub_not_found");
    assert_eq!((setting.models().len(), setting.leftovers()), (0, Vec::new()));
}

/// A safetensors file with another header.
fn with_header(file: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(*file.first_chunk::<8>().unwrap()) as usize;
    let (header, data) = file[8..].split_at(length);
    let mut header: Value = serde_json::from_slice(header).unwrap();
    change(&mut header);
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

type Unfit = (&'static str, BTreeMap<String, Vec<u8>>, &'static str, Vec<&'static str>);

/// Models whose files say different things, each with what an error says of it.
fn models_that_do_not_fit(whole: &BTreeMap<String, Vec<u8>>) -> Vec<Unfit> {
    let changed = |name: &str, bytes: Vec<u8>| {
        let mut files = whole.clone();
        files.insert(name.to_owned(), bytes);
        files
    };
    let norm = "model.norm.weight";
    let reshaped = with_header(&whole[WEIGHTS], |header| header[norm]["shape"] = json!([64, 2]));
    let mut extra = with_header(&whole[WEIGHTS], |header| {
        let ends = header.as_object().unwrap().values().filter_map(|tensor| tensor["data_offsets"][1].as_u64());
        let end = ends.max().unwrap();
        header["model.layers.0.self_attn.q_proj.bias"] =
            json!({"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]});
    });
    extra.extend([0; 4]);
    let mut tokenizer: Value = serde_json::from_slice(&whole["tokenizer.json"]).unwrap();
    tokenizer["model"]["vocab"]["one too many"] = json!(32);
    let mut lying = whole.clone();
    let weights = lying.remove(WEIGHTS).unwrap();
    lying.insert(String::from("model-00001-of-00001.safetensors"), weights);
    let map = json!({"weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}});
    lying.insert(String::from("model.safetensors.index.json"), map.to_string().into_bytes());
    vec![
        ("b/shape", changed(WEIGHTS, reshaped), "weights_invalid", vec![norm, "[64, 2]", "[128]"]),
        ("b/extra", changed(WEIGHTS, extra), "weights_invalid", vec!["model.layers.0.self_attn.q_proj.bias"]),
        (
            "b/vocabulary",
            changed("tokenizer.json", tokenizer.to_string().into_bytes()),
            "tokenizer_invalid",
            vec!["token 32", "32 tokens"],
        ),
        ("b/index", lying, "weights_invalid", vec!["model-00001-of-00001.safetensors"]),
    ]
}

/// Matrices of layers as floats of 8 bits with a scale for each block, as vLLM's compressor and DeepSeek write them.
fn in_f8(files: &mut BTreeMap<String, Vec<u8>>) {
    let file = files.remove(WEIGHTS).unwrap();
    let length = u64::from_le_bytes(*file.first_chunk::<8>().unwrap()) as usize;
    let header: serde_json::Map<String, Value> = serde_json::from_slice(&file[8..8 + length]).unwrap();
    let (mut own, mut data) = (serde_json::Map::new(), Vec::new());
    let mut add = |name: String, dtype: &str, shape: &Value, bytes: &[u8]| {
        let start = data.len();
        data.extend(bytes);
        own.insert(name, json!({"dtype": dtype, "shape": shape, "data_offsets": [start, data.len()]}));
    };
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let at = |end: usize| 8 + length + tensor["data_offsets"][end].as_u64().unwrap() as usize;
        let bytes = &file[at(0)..at(1)];
        if !name.ends_with("proj.weight") {
            add(name.clone(), tensor["dtype"].as_str().unwrap(), &tensor["shape"], bytes);
            continue;
        }
        // Only signs and powers of two, from 2^-6 to 2^1, which four bits of exponent have.
        let byte = |value: &[u8]| {
            let value = f32::from_le_bytes(*value.first_chunk::<4>().unwrap());
            let power = value.abs().max(f32::MIN_POSITIVE).log2().round().clamp(-6.0, 1.0) as i32 + 7;
            (power as u8) << 3 | u8::from(value < 0.0) << 7
        };
        let numbers: Vec<u8> = bytes.chunks_exact(4).map(byte).collect();
        add(name.clone(), "F8_E4M3", &tensor["shape"], &numbers);
        let blocks = |size: &Value| size.as_u64().unwrap().div_ceil(128);
        let scales = [blocks(&tensor["shape"][0]), blocks(&tensor["shape"][1])];
        let ones: Vec<u8> = (0..scales[0] * scales[1]).flat_map(|_| 1.0_f32.to_le_bytes()).collect();
        add(format!("{name}_scale_inv"), "F32", &json!(scales), &ones);
    }
    let own = Value::Object(own).to_string();
    files.insert(WEIGHTS.into(), [&(own.len() as u64).to_le_bytes()[..], own.as_bytes(), &data].concat());
    let mut config: Value = serde_json::from_slice(&files["config.json"]).unwrap();
    config["quantization_config"] = json!({
        "quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
    });
    files.insert("config.json".into(), config.to_string().into_bytes());
}

#[test]
fn a_model_in_floats_of_8_bits_is_trained_in_32_and_goes_out_as_what_it_is_then() {
    let hub = Hub::start();
    let mut files = model_of("tiny-qwen3");
    in_f8(&mut files);
    hub.put_files("Qwen/Qwen3-0.6B-FP8", files);
    let setting = Setting::with(hub, &[]);
    let mut spec = spec("hf:Qwen/Qwen3-0.6B-FP8");
    spec["objective"] = json!({"type": "sft"});
    let job = setting.server.wait(&setting.server.submit(&spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    let model = setting.models().remove(0);
    assert_eq!(model["warnings"][0]["code"], "weights_quantized", "{model}");
    let made = job["result"]["checkpoint"].as_str().unwrap();
    let config = setting.server.get(&format!("/v1/checkpoints/{made}/files/config.json")).json();
    assert_eq!((&config["quantization_config"], &config["dtype"]), (&Value::Null, &json!("float32")), "{config}");
}

#[test]
fn a_template_that_loops_or_raises_fails_what_needs_it_and_says_why() {
    let setting = Setting::start();
    let cases = [
        ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "steps"),
        ("{{ raise_exception('only in verse') }}", "only in verse"),
        ("{% for a in range(2000) %}{{ 'x' * 1000 }}{% endfor %}", "longer than"),
    ];
    for (number, (template, words)) in cases.into_iter().enumerate() {
        let mut files = files_of(&assets());
        files.insert("chat_template.jinja".into(), template.as_bytes().to_vec());
        let name = format!("with/template-{number}");
        setting.hub.put_files(&name, files);
        let spec = spec(&format!("hf:{name}"));
        let dry = setting.server.post("/v1/jobs?dry_run=preflight", &spec).json();
        let error = &dry["errors"][0];
        assert!(error["code"] == "chat_template_failed" && error["detail"].as_str().unwrap().contains(words), "{dry}");
        let job = setting.server.wait(&setting.server.submit(&spec));
        assert_eq!(
            (&job["status"], &job["failure"]["code"]),
            (&json!("failed"), &json!("chat_template_failed")),
            "{job}"
        );
        assert!(job["failure"]["message"].as_str().unwrap().contains(words), "{job}");
    }
    assert_eq!(setting.leftovers(), [""; 0]);
}

#[test]
fn rotations_that_depend_on_length_are_chosen_by_what_the_resolved_spec_says() {
    let hub = Hub::start();
    hub.put_files("microsoft/Phi-4-mini-instruct", model_of("tiny-phi3-longrope"));
    let setting = Setting::with(hub, &[]);
    let mut spec = spec("hf:microsoft/Phi-4-mini-instruct");
    let longest = |spec: &Value| {
        let dry = setting.server.post("/v1/jobs?dry_run=validate", spec).json();
        dry["spec_resolved"]["dataset"]["max_prompt_tokens"].clone()
    };
    let config: Value = serde_json::from_slice(&model_of("tiny-phi3-longrope")["config.json"]).unwrap();
    let context = config["max_position_embeddings"].as_u64().unwrap();
    assert_eq!(longest(&spec), json!(context - 1), "what leaves room for a token");
    spec["dataset"]["max_prompt_tokens"] = json!(9);
    assert_eq!(longest(&spec), json!(9));
    spec["model"] = json!("hf:tiny/arith");
    setting.hub.put("tiny/arith", &assets());
    spec["dataset"].as_object_mut().unwrap().remove("max_prompt_tokens");
    assert_eq!(longest(&spec), Value::Null, "where nothing depends on it");
}

#[test]
fn shards_and_a_hub_without_ranges_come_as_well() {
    let hub = Hub::start();
    hub.without_ranges();
    let mut files = files_of(&assets());
    let whole = files.remove(WEIGHTS).unwrap();
    let length = u64::from_le_bytes(*whole.first_chunk::<8>().unwrap()) as usize;
    let (header, data) = whole[8..].split_at(length);
    let mut header: serde_json::Map<String, Value> = serde_json::from_slice(header).unwrap();
    header.remove("__metadata__");
    // Every other tensor into the second file.
    let mut map = serde_json::Map::new();
    for number in 0..2 {
        let name = format!("model-{}-of-00002.safetensors", number + 1);
        let (mut own, mut bytes) = (serde_json::Map::new(), Vec::new());
        for (tensor, described) in header.iter().skip(number).step_by(2) {
            let at = |end: usize| described["data_offsets"][end].as_u64().unwrap() as usize;
            let (mut moved, start) = (described.clone(), bytes.len());
            bytes.extend(&data[at(0)..at(1)]);
            moved["data_offsets"] = json!([start, bytes.len()]);
            own.insert(tensor.clone(), moved);
            map.insert(tensor.clone(), json!(name));
        }
        let own = Value::Object(own).to_string();
        files.insert(name, [&(own.len() as u64).to_le_bytes()[..], own.as_bytes(), &bytes].concat());
    }
    files.insert(String::from("model.safetensors.index.json"), json!({"weight_map": map}).to_string().into_bytes());
    let mut all = Sha256::new();
    for (_, bytes) in files.iter().filter(|(name, _)| name.ends_with(".safetensors")) {
        all.update(bytes);
    }
    hub.put_files("in/shards", files);
    let setting = Setting::with(hub, &[]);
    let model = setting.server.import(&json!({"source": "hf:in/shards"}));
    let expected: String = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((&model["status"], &model["weights_sha256"]), (&json!("ready"), &json!(expected)), "{model}");
}

#[test]
fn a_folder_is_imported_while_nobody_waits_and_a_change_is_noticed() {
    let setting = Setting::start();
    let folder = setting.folder.path().join("roots/large");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in large_model() {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let model = setting.server.import(&json!({"path": folder, "name": "large"}));
    assert_eq!((&model["status"], &model["name"]), (&json!("ready"), &json!("large")), "{model}");
    assert_eq!(model["weights_sha256"], sha256(&std::fs::read(folder.join(WEIGHTS)).unwrap()));
    // What is changed on the way is not taken.
    let changing = setting.server.post("/v1/models", &json!({"path": folder})).json();
    let bytes = std::fs::read(folder.join(WEIGHTS)).unwrap();
    std::fs::write(folder.join(WEIGHTS), &bytes).unwrap();
    let changed = setting.server.imported(&changing);
    assert_eq!(
        (&changed["status"], &changed["failure"]["code"]),
        (&json!("failed"), &json!("model_changed")),
        "{changed}"
    );
    assert!(!setting.data().join("models").join(changed["id"].as_str().unwrap()).exists());
    // Links lead elsewhere below the roots, and not out of them.
    let (linked, outside) = (setting.folder.path().join("roots/linked"), setting.folder.path().join("outside"));
    std::fs::create_dir_all(&linked).unwrap();
    for (name, bytes) in files_of(&assets()) {
        std::fs::write(linked.join(name), bytes).unwrap();
    }
    std::fs::rename(linked.join(WEIGHTS), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, linked.join(WEIGHTS)).unwrap();
    let refused = setting.server.post("/v1/models", &json!({"path": linked}));
    assert_eq!((refused.status, refused.problem().as_str()), (403, "path_not_allowed"));
    assert_eq!(setting.leftovers(), [""; 0]);
    std::fs::rename(&outside, setting.folder.path().join("roots/kept-once")).unwrap();
    std::fs::remove_file(linked.join(WEIGHTS)).unwrap();
    std::os::unix::fs::symlink("../kept-once", linked.join(WEIGHTS)).unwrap();
    assert_eq!(setting.server.import(&json!({"path": linked}))["status"], "ready");
    // Two may have one name, and who means one of them says which.
    setting.server.import(&json!({"path": folder, "name": "large"}));
    let refused = setting.server.post("/v1/jobs", &spec("large"));
    assert_eq!(refused.json()["errors"][0]["code"], "name_ambiguous", "{}", refused.json());
}

#[test]
fn a_push_goes_on_where_it_was() {
    let setting = Setting::start();
    let program = Program::of(&setting.server.base);
    let folder = program.folder.path().join("model");
    std::fs::create_dir_all(&folder).unwrap();
    let files = large_model();
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    // An earlier try also sent a file that has gone since.
    let extra = folder.join("generation_config.json");
    std::fs::write(&extra, "{}").unwrap();
    // The first time it is ended when it knows that a part of the weights has arrived.
    let mut child = program.start(&["models", "push", folder.to_str().unwrap()], std::process::Stdio::null());
    let pushes = program.folder.path().join("pushes");
    let begun = || -> Option<Value> {
        let path = std::fs::read_dir(&pushes).ok()?.find_map(|entry| Some(entry.ok()?.path()))?;
        let sent: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let weights = &sent["files"][WEIGHTS];
        (weights["parts"].as_array()?.len() == 1).then(|| weights.clone())
    };
    let end = Instant::now() + PATIENCE;
    let before = loop {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "the push ended too early");
        match begun() {
            Some(before) => break before,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    signal(child.id(), "KILL");
    child.wait().unwrap();
    std::fs::remove_file(&extra).unwrap();
    let model = program.json(&["models", "push", folder.to_str().unwrap(), "--name", "pushed"]);
    assert_eq!(
        (&model["status"], &model["name"], &model["source"]),
        (&json!("ready"), &json!("pushed"), &json!("upload"))
    );
    assert_eq!(model["weights_sha256"], sha256(&files[WEIGHTS]));
    // It went on with the same upload.
    let cancelled =
        setting.server.post(&format!("/v1/uploads/{}/cancel", before["upload"].as_str().unwrap()), &json!({}));
    assert_eq!(cancelled.status, 409, "{}", cancelled.json());
    assert!(cancelled.json()["detail"].as_str().unwrap().contains("completed"), "{}", cancelled.json());
    assert_eq!(setting.server.get("/v1/files").json()["data"], json!([]), "what was sent is the model's");
    assert_eq!(std::fs::read_dir(program.folder.path().join("pushes")).unwrap().count(), 0);
    // What is no model is refused before anything is sent, and so is a file that belongs to none.
    let refused = program.run(&["models", "push", program.folder.path().to_str().unwrap()]);
    assert!(refused.code != Some(0) && refused.err.contains("model_not_found"), "{}", refused.err);
    let answer = setting.server.post("/v1/models", &json!({"files": {"config.json": "file_0"}}));
    assert_eq!(answer.json()["errors"][0]["pointer"], "/files/config.json");
    let sent = setting.server.post_bytes(
        "/v1/files",
        b"--b\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n--b\r\ncontent-disposition: form-data; \
          name=\"file\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n",
        &[("content-type", "multipart/form-data; boundary=b")],
    );
    let id = sent.json()["id"].clone();
    for name in ["../x.safetensors", "run.py", ".hidden.gguf", "a/b.safetensors"] {
        let answer = setting.server.post("/v1/models", &json!({"files": {name: id}}));
        assert_eq!(answer.problem(), "unknown_file", "{name}");
    }
    assert_eq!(setting.leftovers(), [""; 0]);
}

#[test]
fn the_program_pulls_into_a_data_directory_and_keeps_the_cache_small() {
    let setting = Setting::start();
    let program = Program::of("");
    let data = program.path("data");
    let pull = |more: &[&str]| {
        let arguments = [&["models", "pull", "hf:tiny/arith", "--data-dir", &data, "--json"], more].concat();
        program.command(&arguments).env("HF_ENDPOINT", &setting.hub.base).output().unwrap()
    };
    let pulled = pull(&[]);
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));
    let model: Value = serde_json::from_slice(&pulled.stdout).unwrap();
    assert_eq!(model["status"], "ready", "{model}");
    let again: Value = serde_json::from_slice(&pull(&[]).stdout).unwrap();
    assert_eq!(again["id"], model["id"]);
    // What is here needs no hub.
    let offline: Value = serde_json::from_slice(&pull(&["--hub-offline"]).stdout).unwrap();
    assert_eq!(offline["id"], model["id"]);
    // What a server would not take, a command does not either.
    let hostile = program.folder.path().join("hostile");
    std::fs::create_dir(&hostile).unwrap();
    for (name, bytes) in files_of(&assets()) {
        std::fs::write(hostile.join(name), bytes).unwrap();
    }
    std::fs::write(hostile.join("chat_template.jinja"), format!("{{{{ {}1 }}}}", "-".repeat(60_000))).unwrap();
    let refused = program.run(&["models", "import", hostile.to_str().unwrap(), "--data-dir", &data]);
    assert!(refused.code == Some(1) && refused.err.contains("model_text_failed"), "{:?} {}", refused.code, refused.err);

    // A server without a network has what is here.
    let server = Server::start_with(Path::new(&data), &["--hub-offline", "--hub-endpoint", "http://127.0.0.1:1"]);
    let job = server.wait(&server.submit(&spec("hf:tiny/arith")));
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(server.post("/v1/jobs", &spec("hf:tiny/other")).json()["errors"][0]["code"], "hub_offline");
    let client = Program::of(&server.base);
    assert!(client.text(&["models", "cache"]).contains("hf:tiny/arith@"));
    assert_eq!(client.json(&["models", "cache", "--max-bytes", "1GB"]), json!([]));
    assert!(client.text(&["models", "cache", "--max-bytes", "1MB", "--clean"]).contains("removed"));
    assert!(client.text(&["models", "cache"]).contains("nothing came from the hub"));
}

#[test]
fn every_objective_trains_a_model_of_the_qwen_family() {
    let hub = Hub::start();
    hub.put_files("Qwen/Qwen3-0.6B", model_of("tiny-qwen3"));
    let setting = Setting::with(hub, &[]);
    let kinds = setting.server.get("/v1/objectives").json();
    let kinds: Vec<&str> = kinds["data"].as_array().unwrap().iter().map(|kind| kind["id"].as_str().unwrap()).collect();
    assert!(kinds.len() >= 7, "{kinds:?}");
    for kind in kinds {
        let mut spec = spec("hf:Qwen/Qwen3-0.6B");
        spec["objective"] = json!({"type": kind});
        // Random weights are never right, and yet not all equally wrong.
        let (said, right) = ("{{ sample.output_text }}", "{{ item.answer }}");
        spec["verifier"] =
            json!({"type": "text_similarity", "input": said, "reference": right, "evaluation_metric": "fuzzy_match"});
        match kind {
            "sft" => {}
            "vopd" => spec["objective"]["teacher"] = json!("hf:Qwen/Qwen3-0.6B"),
            _ => spec["objective"]["group_size"] = json!(4),
        }
        let job = setting.server.wait(&setting.server.submit(&spec));
        assert_eq!((&job["status"], &job["step"]), (&json!("succeeded"), &json!(2)), "{kind}: {job}");
        let made = job["result"]["checkpoint"].as_str().unwrap();
        let config = setting.server.get(&format!("/v1/checkpoints/{made}/files/config.json")).json();
        assert_eq!(config["model_type"], "qwen3", "{kind}");
    }
}

#[test]
fn a_pull_by_a_server_through_a_bad_network_shows_its_end() {
    let setting = Setting::start();
    let breaking = Breaking::before(&setting.server.base, 100_000);
    let program = Program::of(&breaking.base);
    let text = program.text(&["models", "pull", "hf:tiny/arith", "--name", "mine"]);
    assert!(text.contains("mdl_") && text.contains("791680 parameters"), "{text}");
    setting.hub.put_files("tiny/gone", BTreeMap::new());
    let refused = program.run(&["models", "pull", "hf:tiny/gone"]);
    assert!(refused.code == Some(1) && refused.err.contains("model_not_found"), "{:?} {}", refused.code, refused.err);
    let refused = program.run(&["models", "pull", "tiny/gone"]);
    assert!(refused.code == Some(2) && refused.err.contains("hf:owner/name"), "{}", refused.err);
}

/// The repositories that docs/MODELS.md names, each with a model of its family that is small enough for a test.
const NAMED: [(&str, &str); 10] = [
    ("HuggingFaceTB/SmolLM2-135M-Instruct", "tiny-llama"),
    ("mistralai/Mistral-7B-Instruct-v0.1", "tiny-mistral"),
    ("Qwen/Qwen2.5-0.5B-Instruct", "tiny-qwen2"),
    ("Qwen/Qwen3-0.6B", "tiny-qwen3"),
    ("Qwen/Qwen3-30B-A3B", "tiny-qwen3-moe"),
    ("HuggingFaceTB/SmolLM3-3B", "tiny-smollm3"),
    ("allenai/OLMo-2-0425-1B-Instruct", "tiny-olmo2"),
    ("google/gemma-3-1b-it", "tiny-gemma3"),
    ("microsoft/Phi-4-mini-instruct", "tiny-phi3"),
    ("ibm-granite/granite-3.3-2b-instruct", "tiny-granite"),
];

/// The files of a model of a family, with the built-in tokenizer.
fn model_of(family: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/models").join(family);
    let mut files = files_of(&folder);
    files.retain(|name, _| ["config.json", "generation_config.json", WEIGHTS].contains(&name.as_str()));
    files.insert(String::from("tokenizer.json"), std::fs::read(assets().join("tokenizer.json")).unwrap());
    files
}

/// A small Llama as GGUF, its matrices in Q8_0, with the tokens of bytes.
fn quantised_model() -> Vec<u8> {
    let mut file = gguf::GgufFile::quantised();
    let (hidden, inner) = (64, 128);
    // What GPT-2 writes for the printable bytes is themselves.
    let mut tokens: Vec<String> = (0x21..0x7f_u8).map(|byte| char::from(byte).to_string()).collect();
    tokens.extend([String::from("\u{120}"), String::from("\u{10a}"), String::from("<eos>")]);
    let end = tokens.len() - 1;
    let members = json!({
        "vocab_size": tokens.len(), "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-6,
        "max_position_embeddings": 256, "rope_theta": 10000.5,
    });
    file.configuration("llama", &members);
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "gpt-2");
    let types: Vec<i32> = (0..tokens.len()).map(|token| if token == end { 3 } else { 1 }).collect();
    file.integers("tokenizer.ggml.token_type", &types);
    file.texts("tokenizer.ggml.merges", &[]);
    file.number("tokenizer.ggml.eos_token_id", &json!(end));
    let mut tensors = vec![("token_embd.weight", vec![tokens.len(), hidden]), ("output_norm.weight", vec![hidden])];
    file.texts("tokenizer.ggml.tokens", &tokens);
    for (name, shape) in [
        ("blk.0.attn_norm.weight", vec![hidden]),
        ("blk.0.attn_q.weight", vec![hidden, hidden]),
        ("blk.0.attn_k.weight", vec![hidden, hidden]),
        ("blk.0.attn_v.weight", vec![hidden, hidden]),
        ("blk.0.attn_output.weight", vec![hidden, hidden]),
        ("blk.0.ffn_norm.weight", vec![hidden]),
        ("blk.0.ffn_gate.weight", vec![inner, hidden]),
        ("blk.0.ffn_up.weight", vec![inner, hidden]),
        ("blk.0.ffn_down.weight", vec![hidden, inner]),
    ] {
        tensors.push((name, shape));
    }
    for (number, (name, shape)) in tensors.into_iter().enumerate() {
        let count: usize = shape.iter().product();
        let value = |at: usize| if shape.len() == 1 { 1.0 } else { ((at * 31 + number) % 17) as f32 / 100.0 - 0.08 };
        let values = (0..count).map(value).collect();
        file.tensors.push((name.to_owned(), shape, values));
    }
    file.bytes()
}

#[test]
fn every_command_of_the_page_about_models_works() {
    let hub = Hub::start();
    for (repository, family) in NAMED {
        hub.put_files(repository, model_of(family));
    }
    let gguf = quantised_model();
    let quantised = [("Qwen3-0.6B-Q8_0.gguf", &gguf), ("Qwen3-0.6B-Q4_K_M.gguf", &gguf)];
    let quantised = quantised.map(|(name, bytes)| (String::from(name), bytes.clone()));
    hub.put_files("Qwen/Qwen3-0.6B-GGUF", quantised.into());
    // What may be written may be read, too.
    hub.require("hf_secret");
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "hf_secret").unwrap();
    let arguments = ["--hub-push-to", "acme", "--hub-token-file", token.path().to_str().unwrap()];
    let setting = Setting::with(hub, &arguments);
    let models = setting.folder.path().join("roots");
    std::fs::create_dir_all(models.join("a-llama")).unwrap();
    for (name, bytes) in model_of("tiny-llama") {
        std::fs::write(models.join("a-llama").join(name), bytes).unwrap();
    }
    std::fs::write(models.join("a-model.gguf"), gguf).unwrap();
    // The page's folder of models is one of those from which the server may import.
    std::fs::create_dir(setting.folder.path().join("work")).unwrap();
    std::os::unix::fs::symlink("../roots", setting.folder.path().join("work/models")).unwrap();
    pages::all_work(&pages::blocks("docs/MODELS.md"), &setting.server.base, setting.folder.path());
    let warned = setting.models().into_iter().find(|model| model["format"] == "gguf").unwrap();
    let warning = &warned["warnings"][0];
    assert_eq!(warning["code"], "weights_quantized", "{warned}");
    assert!(warning["detail"].as_str().unwrap().contains("Q8_0 (100 %)"), "{warning}");
    assert_eq!(setting.leftovers(), [""; 0]);
}
