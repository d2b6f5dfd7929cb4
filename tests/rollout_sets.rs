//! Rollout sets as a client sees them, and the jobs that learn from them. The sets that are read here were written into
//! the data directory through the store, as a worker does, before the server started.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use anneal::device::Machine;
use anneal::job::digest::sha256_hex;
use anneal::job::inference::FinishReason;
use anneal::job::rollout_set::{GROUPS_FILE, ROLLOUTS_FILE, SUMMARY_FILE};
use anneal::job::{
    ArtifactKind, ArtifactSummary, JobId, JobKind, Manifest, ManifestFile, RolloutLine, RolloutSetId, RolloutSummary,
    ScoreStatus, Timestamp, WorkerId,
};
use anneal::modelfile::builtin::Builtin;
use anneal::objective::frontier::{ScoredCompletion, ScoredGroup};
use anneal::spec::Resolved;
use anneal::store::{Ended, Keep, NewArtifact, NewJob, NewRolloutSet, Store};
use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp(1_750_000_000_000);
const GROUPS: u64 = 10;
const GROUP_SIZE: u32 = 4;
const MODEL: &str = "builtin:arith-tiny";

/// One server for the tests of this file, on a data directory with sets of every kind.
struct Shared {
    server: Server,
    /// From the built-in model, scored, at temperature 1.
    ready: String,
    /// Without rewards.
    unscored: String,
    /// At temperature 1.5.
    warm: String,
    /// After three training steps.
    late: String,
    /// From another model.
    foreign: String,
    failed: String,
    cancelled: String,
    _folder: TempDir,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let folder = data_dir();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let data = folder.path().join("data");
    let sets = runtime.block_on(async {
        let store = Store::open_at(&data, common::database_url(&data).as_deref(), None).await.unwrap();
        store.set_devices(&Machine::open("cpu", &data).unwrap().read_all().unwrap(), NOW).await.unwrap();
        let plain = |_: &mut Fixture| {};
        let mut sets = Vec::new();
        sets.push(write_set(&store, plain).await);
        sets.push(write_set(&store, |set| set.rewards = false).await);
        sets.push(write_set(&store, |set| set.spec["sampling"]["temperature"] = json!(1.5)).await);
        sets.push(write_set(&store, |set| set.max_step = 3).await);
        sets.push(write_set(&store, |set| set.model_digest = String::from("sha256:00")).await);
        let (failed, job) = submit_set(&store, &Fixture::default()).await;
        let claim = store.claim(WorkerId::generate(), "cpu", NOW).await.unwrap().unwrap();
        assert_eq!(claim.lease.job, job);
        store.end_attempt(claim.lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
        let (cancelled, job) = submit_set(&store, &Fixture::default()).await;
        store.cancel_job(job, NOW).await.unwrap();
        sets.extend([failed, cancelled]);
        sets
    });
    let server = Server::start(&data);
    let [ready, unscored, warm, late, foreign, failed, cancelled] =
        sets.iter().map(ToString::to_string).collect::<Vec<_>>().try_into().unwrap();
    Shared { server, ready, unscored, warm, late, foreign, failed, cancelled, _folder: folder }
});

fn server() -> &'static Server {
    &SHARED.server
}

/// What a set of the fixture is like.
struct Fixture {
    spec: Value,
    model_digest: String,
    rewards: bool,
    max_step: u64,
}

impl Default for Fixture {
    fn default() -> Self {
        let (attributes, resolved) = Resolved::parse(JobKind::Rollouts, &set_spec()).unwrap();
        let model_digest = format!("sha256:{}", Builtin::find(MODEL).unwrap().weights_sha256(0));
        Self { spec: resolved.to_value(&attributes), model_digest, rewards: true, max_step: 0 }
    }
}

async fn submit_set(store: &Store, set: &Fixture) -> (RolloutSetId, JobId) {
    let id = RolloutSetId::generate();
    let (attributes, resolved) = Resolved::parse(JobKind::Rollouts, &set.spec).unwrap();
    let new = NewJob {
        rollout_set: Some(NewRolloutSet {
            id,
            name: None,
            model: MODEL.to_owned(),
            model_digest: set.model_digest.clone(),
            tokenizer_digest: String::from("sha256:00"),
            spec: Some(set.spec.clone()),
            metadata: BTreeMap::new(),
        }),
        ..NewJob::of(set.spec.clone(), attributes, resolved, 0)
    };
    let job = new.id;
    store.submit_job(new, None, NOW).await.unwrap();
    (id, job)
}

/// Makes a complete set, as the worker of its job does.
async fn write_set(store: &Store, change: impl Fn(&mut Fixture)) -> RolloutSetId {
    let mut set = Fixture::default();
    change(&mut set);
    let (id, job) = submit_set(store, &set).await;
    let claim = store.claim(WorkerId::generate(), "cpu", NOW).await.unwrap().unwrap();
    let reward = |sample: u32| set.rewards.then(|| f64::from(sample % 2));
    let lines = (0..GROUPS).flat_map(|group| {
        (0..GROUP_SIZE).map(move |sample| RolloutLine {
            group,
            sample,
            row: group as usize,
            step: 0,
            prompt: String::from("1+1="),
            prompt_tokens: vec![3, 4, 3, 5],
            completion: sample.to_string(),
            answer: None,
            tokens: vec![6, 1],
            logprobs: vec![-0.1, -0.25],
            entropy_sum: 0.5,
            finish: FinishReason::Stop,
            status: reward(sample).map(|_| ScoreStatus::Ok),
            reward: reward(sample),
            detail: None,
            parts: Vec::new(),
            answers: Vec::new(),
        })
    });
    let text: String = lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect();
    let completion = |sample| ScoredCompletion {
        sequence: sample,
        answer: sample,
        reward: reward(sample).unwrap_or_default(),
        behavior_logprob: -0.35,
        tokens: 2,
    };
    let group = |_| ScoredGroup { completions: (0..GROUP_SIZE).map(completion).collect() };
    let groups: Vec<ScoredGroup> = (0..GROUPS).map(group).collect();
    let summary = RolloutSummary {
        groups: GROUPS,
        rollouts: GROUPS * u64::from(GROUP_SIZE),
        tokens: 2 * GROUPS * u64::from(GROUP_SIZE),
        reward_mean: set.rewards.then_some(0.5),
        zero_spread: set.rewards.then_some(0.0),
        whole_distribution: set.spec["sampling"]["temperature"] == 1.0,
        max_step: set.max_step,
        entropy_sum: None,
        cut: None,
    };
    let path = store.files().job(job).join("rollouts");
    std::fs::create_dir_all(&path).unwrap();
    let files = [
        (ROLLOUTS_FILE, text.into_bytes()),
        (GROUPS_FILE, serde_json::to_vec(&groups).unwrap()),
        (SUMMARY_FILE, serde_json::to_vec(&summary).unwrap()),
    ];
    let manifest = Manifest {
        format: 1,
        kind: ArtifactKind::Rollouts,
        job,
        attempt: claim.lease.attempt,
        step: 0,
        spec_digest: claim.spec_digest,
        files: files.iter().map(|(name, bytes)| write(&path, name, bytes)).collect(),
    };
    std::fs::write(path.join("manifest.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
    let location = &store.place().publish(&path, &manifest).await.unwrap();
    let (manifest, summary) = (&manifest, &ArtifactSummary::Rollouts(summary));
    let new = NewArtifact { location, manifest, summary, score: None, keep: Keep { last: 1, best: 0 } };
    store.add_artifact(claim.lease, new, NOW).await.unwrap();
    store.end_attempt(claim.lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
    id
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> ManifestFile {
    std::fs::write(folder.join(name), bytes).unwrap();
    ManifestFile { path: name.to_owned(), size: bytes.len() as u64, sha256: sha256_hex(bytes) }
}

/// A set on the built-ins that takes a second.
fn set_spec() -> Value {
    json!({
        "name": "small set",
        "model": MODEL,
        "dataset": {"train": "builtin:arithmetic"},
        "verifier": {"type": "numeric"},
        "sampling": {"max_new_tokens": 6},
        "prompts": 8,
        "group_size": 4,
        "metadata": {"commit": "abc"},
    })
}

/// Checks that a request is refused with an error at `pointer`.
fn assert_refused(path: &str, body: &Value, pointer: &str, code: &str) {
    let answer = server().post(path, body);
    assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid_spec"), "{pointer} {code}");
    let errors = answer.json()["errors"].clone();
    let found = errors.as_array().unwrap().iter().any(|e| e["pointer"] == pointer && e["code"] == code);
    assert!(found, "{pointer} {code} in {errors}");
}

fn path(set: &str, rest: &str) -> String {
    format!("/v1/rollout-sets/{set}{rest}")
}

#[test]
fn a_submitted_set_is_there_at_once_with_its_job() {
    let body = set_spec().to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", "one-set")];
    let answer = server().post_bytes("/v1/rollout-sets", body.as_bytes(), &headers);
    let set = answer.json();
    assert_eq!((answer.status, set["object"].as_str()), (201, Some("rollout_set")), "{set}");
    assert_eq!((set["status"].as_str(), &set["summary"]), (Some("pending"), &Value::Null));
    assert_eq!((set["name"].as_str(), set["metadata"]["commit"].as_str()), (Some("small set"), Some("abc")));
    assert_eq!(set["spec"]["sampling"]["temperature"], 1.0);
    let digest = format!("sha256:{}", Builtin::find(MODEL).unwrap().weights_sha256(0));
    assert_eq!((set["model"].as_str(), set["model_digest"].as_str()), (Some(MODEL), Some(digest.as_str())));

    let job = server().job(set["job"].as_str().unwrap());
    assert_eq!(
        (job["kind"].as_str(), &job["rollout_set"], &job["objective"]),
        (Some("rollouts"), &set["id"], &Value::Null)
    );
    assert_eq!((&job["steps"], &job["spec_resolved"]), (&json!(0), &set["spec"]));

    let again = server().post_bytes("/v1/rollout-sets", body.as_bytes(), &headers);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
    assert_eq!(again.json()["id"], set["id"]);

    let id = set["id"].as_str().unwrap();
    assert_eq!(server().get(&path(id, "")).json()["id"], id);
    let listed = server().get("/v1/rollout-sets?limit=100").json();
    assert!(listed["data"].as_array().unwrap().iter().any(|s| s["id"] == id), "{listed}");
    let first = server().get("/v1/rollout-sets?limit=1&order=asc").json();
    assert_eq!((&first["data"][0]["id"], &first["has_more"]), (&json!(SHARED.ready), &json!(true)));
    let next = server().get(&format!("/v1/rollout-sets?limit=1&order=asc&after={}", SHARED.ready)).json();
    assert_eq!(next["data"][0]["id"], json!(SHARED.unscored));
    for path in ["rs_00000000000000000000000000000000", "rs_1", "job_00000000000000000000000000000000"] {
        assert_eq!(server().get(&format!("/v1/rollout-sets/{path}")).status, 404);
    }
}

#[test]
fn bad_sets_are_refused_with_the_field_at_fault() {
    let refuse = |change: &dyn Fn(&mut Value), pointer: &str, code: &str| {
        let mut spec = set_spec();
        change(&mut spec);
        assert_refused("/v1/rollout-sets", &spec, pointer, code);
    };
    refuse(&|s| s["dataset"]["eval"] = json!("builtin:arithmetic"), "/dataset/eval", "unknown_field");
    refuse(&|s| s["dataset"]["train"] = json!("builtin:chess"), "/dataset/train", "unknown_dataset");
    refuse(&|s| s["model"] = json!("gpt"), "/model", "unknown_model");
    refuse(&|s| s["verifier"] = json!({"type": "guess"}), "/verifier/type", "unknown_value");
    refuse(&|s| s["group_size"] = json!(0), "/group_size", "out_of_range");
    refuse(&|s| s["objective"] = json!({"type": "bolt"}), "/objective", "unknown_field");
    refuse(&|s| s["sampling"]["temperature"] = json!(-1), "/sampling/temperature", "out_of_range");
}

#[test]
fn nothing_is_read_of_a_set_that_is_not_ready() {
    for (set, status) in [(&SHARED.failed, "failed"), (&SHARED.cancelled, "cancelled")] {
        assert_eq!(server().get(&path(set, "")).json()["status"], status);
        for rest in ["/rollouts", "/manifest", "/files/rollouts.jsonl"] {
            let answer = server().get(&path(set, rest));
            assert_eq!((answer.status, answer.problem().as_str()), (409, "rollout_set_not_ready"), "{rest}");
        }
        let answer = server().post(&path(set, "/frontier"), &json!({}));
        assert_eq!((answer.status, answer.problem().as_str()), (409, "rollout_set_not_ready"));
        assert!(answer.json()["detail"].as_str().unwrap().contains("make another set"));
    }
}

#[test]
fn a_set_is_browsed_by_page_and_by_group() {
    let mut lines = Vec::new();
    let mut after = String::from("0");
    loop {
        let page = server().get(&path(&SHARED.ready, &format!("/rollouts?limit=7&after={after}"))).json();
        lines.extend(page["data"].as_array().unwrap().clone());
        if page["has_more"] == false {
            break;
        }
        after = page["last_id"].as_str().unwrap().to_owned();
    }
    assert_eq!(lines.len() as u64, GROUPS * u64::from(GROUP_SIZE));
    for (index, line) in lines.iter().enumerate() {
        assert_eq!((line["object"].as_str(), line["line"].as_u64()), (Some("rollout"), Some(index as u64 + 1)));
    }
    let logprobs: Vec<f64> = serde_json::from_value(lines[0]["logprobs"].clone()).unwrap();
    assert_eq!(logprobs, [-0.1, -0.25]);
    let group = server().get(&path(&SHARED.ready, "/rollouts?group=3&limit=100")).json();
    let samples: Vec<u64> = group["data"].as_array().unwrap().iter().map(|l| l["sample"].as_u64().unwrap()).collect();
    assert_eq!((samples, &group["data"][0]["group"]), (vec![0, 1, 2, 3], &json!(3)));
    for query in ["limit=0", "limit=101", "after=x", "gruop=1"] {
        let answer = server().get(&path(&SHARED.ready, &format!("/rollouts?{query}")));
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_parameter"), "{query}");
    }
}

#[test]
fn the_files_of_a_set_download_with_their_digests() {
    let set = server().get(&path(&SHARED.ready, "")).json();
    assert_eq!((set["status"].as_str(), set["summary"]["rollouts"].as_u64()), (Some("ready"), Some(40)));
    let manifest = server().get(&path(&SHARED.ready, "/manifest")).json();
    assert_eq!((manifest["kind"].as_str(), &manifest["files"]), (Some("rollouts"), &set["files"]));
    for file in set["files"].as_array().unwrap() {
        let url = path(&SHARED.ready, &format!("/files/{}", file["path"].as_str().unwrap()));
        let whole = server().get(&url);
        assert_eq!((whole.status, sha256_hex(&whole.bytes).as_str()), (200, file["sha256"].as_str().unwrap()));
        assert_eq!(whole.header("etag"), format!("\"{}\"", file["sha256"].as_str().unwrap()));
        assert!(whole.header("repr-digest").starts_with("sha-256=:"));
        let part = server().get_with(&url, &[("range", "bytes=2-5")]);
        assert_eq!((part.status, part.bytes.as_slice()), (206, &whole.bytes[2..6]));
    }
    for file in ["manifest.json", "..%2F..%2F..%2Fanneal.db"] {
        assert_eq!(server().get(&path(&SHARED.ready, &format!("/files/{file}"))).status, 404, "{file}");
    }
}

#[test]
fn the_frontier_shows_what_a_set_can_teach() {
    let url = path(&SHARED.ready, "/frontier");
    let answer = server().post(&url, &json!({}));
    let frontier = answer.json();
    assert_eq!((answer.status, frontier["object"].as_str()), (200, Some("frontier")), "{frontier}");
    assert_eq!((&frontier["rollout_set"], &frontier["completions"]), (&json!(SHARED.ready), &json!(40)));
    assert_eq!(frontier["rows"].as_array().unwrap().len(), 25);
    assert_eq!(frontier["coverage"]["solve_rate"], 0.5);
    let frontier = server().post(&url, &json!({"betas": [10, 0.01], "ess_floor": 3.5})).json();
    let shares: Vec<f64> =
        frontier["rows"].as_array().unwrap().iter().map(|r| r["ess_share"].as_f64().unwrap()).collect();
    // Half of the completions have the reward 1: cold weights rest on them alone.
    assert!((shares[0] - 0.5).abs() < 1e-9 && shares[1] > 0.99, "{shares:?}");
    assert_eq!(
        (&frontier["recommended_beta"], &frontier["recommendation"]["code"]),
        (&json!(10.0), &json!("ess_floor"))
    );
    let row = &frontier["rows"][0];
    let [low, high] = ["support_price_low", "support_price_high"].map(|name| row[name].as_f64().unwrap());
    assert!(0.0 <= low && low <= high, "{row}");

    assert_refused(&url, &json!({"betas": [0.5, 0]}), "/betas/1", "out_of_range");
    assert_refused(&url, &json!({"betas": []}), "/betas", "out_of_range");
    assert_refused(&url, &json!({"ess_floor": 0.5}), "/ess_floor", "out_of_range");
    assert_refused(&url, &json!({"beta": 1}), "/beta", "unknown_field");
    let answer = server().post(&path(&SHARED.unscored, "/frontier"), &json!({}));
    assert_eq!((answer.status, answer.problem().as_str()), (422, "no_rewards"));
}

#[test]
fn advice_ranks_objectives_by_what_a_set_says() {
    let ask = |set: &str, request: Value| {
        let answer = server().post(&path(set, "/advice"), &request);
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()
    };
    let named = |advice: &Value, name: &str| {
        let all = advice["suggestions"].as_array().unwrap();
        all.iter().find(|suggestion| suggestion["name"] == name).unwrap().clone()
    };
    let advice = ask(&SHARED.ready, json!({}));
    assert_eq!((&advice["object"], &advice["rollout_set"]), (&json!("advice"), &json!(SHARED.ready)), "{advice}");
    assert_eq!((&advice["measured"]["solve_rate"], &advice["measured"]["tokens"]), (&json!(0.5), &json!(2.0)));
    assert_eq!(advice["measured"]["entropy"], Value::Null, "a set of before it was kept");
    // No answer was seen twice, so that sampling anew is said to do more than what is stored.
    assert_eq!(advice["suggestions"][0]["name"], "grpo", "{advice}");
    // What is said of an objective is a job that is accepted.
    let bolt = named(&advice, "bolt");
    assert_eq!((&bolt["spec"]["rollouts"]["from"], &bolt["completions_per_step"]), (&json!(SHARED.ready), &json!(0.0)));
    let mut spec = small_spec();
    for (section, value) in bolt["spec"].as_object().unwrap() {
        spec[section] = value.clone();
    }
    let answer = server().post("/v1/jobs?dry_run=preflight", &spec);
    assert_eq!(answer.status, 200, "{}", answer.json());

    // Completions of a later step: what corrects for them is said to learn from them.
    let late = ask(&SHARED.late, json!({}));
    let [of_late, of_fresh] = [&late, &advice].map(|advice| named(advice, "p3o"));
    assert!(of_late["score"].as_i64() > of_fresh["score"].as_i64(), "{late}");
    assert_eq!((&of_late["spec"]["rollouts"]["from"], &late["measured"]["max_step"]), (&json!(SHARED.late), &json!(3)));
    assert_eq!(named(&late, "bolt")["spec"]["rollouts"], Value::Null);

    let answer = server().post(&path(&SHARED.unscored, "/advice"), &json!({}));
    assert_eq!((answer.status, answer.problem().as_str()), (422, "no_rewards"));
    let answer = server().post(&path(&SHARED.failed, "/advice"), &json!({}));
    assert_eq!((answer.status, answer.problem().as_str()), (409, "rollout_set_not_ready"));
    let url = path(&SHARED.ready, "/advice");
    assert_refused(&url, &json!({"teacher": "gpt"}), "/teacher", "unknown_teacher");
    for teacher in ["builtin:arith-scratch", "/etc"] {
        assert_refused(&url, &json!({"teacher": teacher}), "/teacher", "unknown_teacher");
    }
    let taught = named(&ask(&SHARED.ready, json!({"teacher": MODEL})), "vopd");
    assert_eq!((&taught["score"], &taught["spec"]["objective"]["teacher"]), (&json!(2), &json!(MODEL)), "{taught}");
    assert_refused(&url, &json!({"steps": 5}), "/steps", "unknown_field");
}

#[test]
fn a_job_learns_only_from_a_set_that_fits_it() {
    let from = |set: &str| {
        let mut spec = small_spec();
        spec["objective"] = json!({"type": "bolt"});
        spec["rollouts"] = json!({"from": set});
        spec
    };
    let refuse = |set: &str, code: &str| assert_refused("/v1/jobs", &from(set), "/rollouts/from", code);
    refuse(&SHARED.unscored, "no_rewards");
    refuse(&SHARED.warm, "rollouts_not_from_the_reference");
    refuse(&SHARED.late, "rollouts_not_from_the_reference");
    refuse(&SHARED.foreign, "rollouts_from_another_model");
    refuse(&SHARED.cancelled, "rollout_set_not_ready");
    refuse("rs_00000000000000000000000000000000", "not_found");
    refuse("ds_1", "not_found");

    let mut other = from(&SHARED.ready);
    other["model"] = json!("builtin:arith-scratch");
    assert_refused("/v1/jobs", &other, "/rollouts/from", "rollouts_from_another_model");
    let mut sft = from(&SHARED.ready);
    sft["objective"] = json!({"type": "sft"});
    sft["dataset"]["train"] = json!("builtin:arithmetic-slips");
    assert_refused("/v1/jobs", &sft, "/rollouts/from", "rollouts_refused");
    let mut mix = from(&SHARED.ready);
    mix["rollouts"] = json!({"mix": {"rollout_set": SHARED.ready, "share": 0.5}});
    assert_refused("/v1/jobs", &mix, "/rollouts/mix", "rollouts_refused");

    // Stored completions have their rewards already.
    let mut good = from(&SHARED.ready);
    good.as_object_mut().unwrap().remove("verifier");
    let answer = server().post("/v1/jobs?dry_run=preflight", &good);
    assert_eq!((answer.status, &answer.json()["plan"]["completions"]), (200, &json!(0)), "{}", answer.json());

    // A penalty that holds the policy near a hotter one.
    let warnings = |set: &str| {
        let mut p3o = from(set);
        p3o["objective"] = json!({"type": "p3o", "group_size": GROUP_SIZE});
        let answer = server().post("/v1/jobs?dry_run=validate", &p3o).json();
        let warnings = answer["warnings"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&SHARED.warm), ["p3o_pulled_to_sampler"]);
    assert_eq!(warnings(&SHARED.ready), Vec::<String>::new());
}

#[test]
fn a_job_that_keeps_its_rollouts_names_their_set_at_once() {
    let mut spec = small_spec();
    spec["rollouts"] = json!({"keep": true});
    let job = server().post("/v1/jobs", &spec).json();
    assert_eq!(job["kind"], "train", "{job}");
    let set = server().get(&path(job["rollout_set"].as_str().unwrap(), "")).json();
    assert_eq!((&set["job"], &set["spec"], set["name"].as_str()), (&job["id"], &Value::Null, Some("small")));
    // It may be over before.
    server().post(&format!("/v1/jobs/{}/cancel", job["id"].as_str().unwrap()), &json!({}));

    spec["objective"] = json!({"type": "sft"});
    spec["dataset"]["train"] = json!("builtin:arithmetic-slips");
    assert_refused("/v1/jobs", &spec, "/rollouts/keep", "rollouts_refused");
}

#[test]
fn a_dry_run_makes_nothing_and_says_what_a_job_would_do() {
    let mut spec = small_spec();
    spec["name"] = json!("never made");
    let answer = server().post("/v1/jobs?dry_run=validate", &spec);
    let dry = answer.json();
    assert_eq!(
        (answer.status, dry["object"].as_str(), dry["dry_run"].as_str()),
        (200, Some("preflight"), Some("validate"))
    );
    assert_eq!(dry["spec_resolved"]["dataset"]["eval"], "builtin:arithmetic");
    assert!(dry["spec_digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(dry["warnings"].is_array() && dry.get("plan").is_none(), "{dry}");

    let plan = server().post("/v1/jobs?dry_run=preflight", &spec).json()["plan"].clone();
    let parameters = Builtin::find(MODEL).unwrap().inspect().unwrap().parameters;
    assert_eq!((&plan["rounds"], &plan["group_size"]), (&json!(2), &json!(4)), "{plan}");
    // 12 steps with 16 prompts each.
    assert_eq!(plan["completions"], 12 * 16 * 4);
    // The distance from the start is measured, which takes a copy of the weights, and the head's once more.
    let memory = &plan["memory"];
    assert_eq!((&plan["parameters"], &memory["model"]), (&json!(parameters), &json!(12 * parameters)));
    let head = 32 * 128;
    assert_eq!(memory["copies"], json!(4 * (parameters + head)));
    let part = |part: &str| memory[part].as_u64().unwrap();
    let lasting: u64 = ["program", "model", "copies", "loading"].into_iter().map(part).sum();
    assert_eq!(plan["memory_bytes"], lasting + part("training").max(part("sampling")));
    assert_eq!(plan["rows_checked"]["eval"], 16);

    let jobs = server().get("/v1/jobs?limit=100").json();
    assert!(jobs["data"].as_array().unwrap().iter().all(|job| job["name"] != "never made"));
    let unknown = server().post("/v1/jobs?dry_run=maybe", &spec);
    assert_eq!((unknown.status, unknown.problem().as_str()), (400, "invalid_parameter"));
    spec["objective"]["beta"] = json!(0);
    assert_refused("/v1/jobs?dry_run=validate", &spec, "/objective/beta", "out_of_range");
}

#[test]
fn a_preflight_refuses_rows_that_cannot_become_prompts() {
    let long = json!({"prompt": "1+".repeat(200), "answer": 1});
    let chat = json!({"prompt": [{"role": "user", "content": "1+1="}], "answer": 2});
    let rows = format!("{}\n{long}\n{chat}\n", json!({"prompt": "1+1=", "answer": 2}));
    let headers = [("content-type", "application/jsonl")];
    let dataset = server().post_bytes("/v1/datasets", rows.as_bytes(), &headers).json();
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": dataset["id"]});
    assert_eq!(server().post("/v1/jobs?dry_run=validate", &spec).status, 200);
    let answer = server().post("/v1/jobs?dry_run=preflight", &spec);
    let codes: Vec<Value> = answer.json()["errors"].as_array().unwrap().iter().map(|e| e["code"].clone()).collect();
    assert_eq!(codes, ["prompt_too_long", "chat_template_missing"], "{}", answer.json());
    assert_eq!(answer.json()["errors"][0]["pointer"], "/dataset/train");
    spec["dataset"] = json!({"train": "builtin:arithmetic", "eval": dataset["id"]});
    assert_refused("/v1/jobs?dry_run=preflight", &spec, "/dataset/eval", "prompt_too_long");
    spec["dataset"] = json!({"train": "builtin:arithmetic", "format": "chat"});
    assert_refused("/v1/jobs?dry_run=preflight", &spec, "/dataset/format", "chat_template_missing");
}

/// The lines of a set.
fn lines(set: &str) -> Vec<Value> {
    server().get(&path(set, "/rollouts?limit=100")).json()["data"].as_array().unwrap().clone()
}

#[test]
fn a_set_is_scored_again_with_another_verifier() {
    let body = json!({"verifier": {"type": "numeric"}, "name": "again", "metadata": {"a": "b"}});
    let headers = [("content-type", "application/json"), ("idempotency-key", "regrade")];
    let post = |set: &str| {
        let answer = server().post_bytes(&path(set, "/regrade"), body.to_string().as_bytes(), &headers);
        (answer.status, answer.json())
    };
    let (status, new) = post(&SHARED.unscored);
    assert_eq!(status, 201, "{new}");
    assert_eq!((&new["name"], &new["metadata"]["a"]), (&json!("again"), &json!("b")));
    assert_eq!(new["spec"]["regrade_of"], json!(SHARED.unscored));
    assert_eq!(post(&SHARED.unscored).1["id"], new["id"], "the same request makes no second set");
    assert_eq!(post(&SHARED.ready).0, 422, "the key knows the set");

    let job = server().wait(new["job"].as_str().unwrap());
    assert_eq!((job["status"].as_str(), &job["result"]["rollout_set"]), (Some("succeeded"), &new["id"]), "{job}");
    let (old, new) = (lines(&SHARED.unscored), lines(new["id"].as_str().unwrap()));
    assert_eq!((old.len(), new.len()), (GROUPS as usize * GROUP_SIZE as usize, old.len()));
    let rows = "builtin:arithmetic"
        .parse::<anneal::dataset::builtin::BuiltinSet>()
        .unwrap()
        .open(anneal::dataset::Split::Train);
    for (old, new) in old.iter().zip(&new) {
        for kept in ["group", "sample", "row", "prompt", "completion", "tokens", "logprobs", "finish"] {
            assert_eq!(old[kept], new[kept], "{kept}");
        }
        assert_eq!(old["reward"], Value::Null);
        let answer = rows.row(new["row"].as_u64().unwrap() as usize).unwrap().answer.unwrap();
        assert_eq!(new["reward"], json!(f64::from(u8::from(new["completion"] == answer.as_str()))), "{new}");
    }
    let frontier = server().post(&path(job["rollout_set"].as_str().unwrap(), "/frontier"), &json!({}));
    assert_eq!(frontier.status, 200, "{}", frontier.json());

    let refused = |set: &str, body: Value| server().post(&path(set, "/regrade"), &body);
    assert_eq!(refused(&SHARED.failed, body.clone()).problem(), "rollout_set_not_ready");
    for (body, pointer) in [
        (json!({}), "/verifier"),
        (json!({"verifier": "vf_00000000000000000000000000000000"}), "/verifier"),
        (json!({"verifier": {"type": "numeric"}, "metadata": {"x".repeat(100): "y"}}), "/metadata"),
        (json!({"verifier": {"type": "numeric"}, "prompts": 3}), "/prompts"),
    ] {
        let answer = refused(&SHARED.ready, body.clone());
        assert_eq!((answer.status, answer.json()["errors"][0]["pointer"].as_str()), (422, Some(pointer)), "{body}");
    }
    let mut spec = set_spec();
    spec["regrade_of"] = json!(SHARED.ready);
    assert_refused("/v1/rollout-sets", &spec, "/regrade_of", "unknown_field");
}

#[test]
fn what_a_job_kept_is_scored_again_too() {
    let mut spec = small_spec();
    (spec["train"]["steps"], spec["objective"]["rounds"]) = (json!(1), json!(1));
    spec["rollouts"] = json!({"keep": true});
    let job = server().wait(&server().submit(&spec));
    let set = job["rollout_set"].as_str().unwrap();
    let new = server().post(&path(set, "/regrade"), &json!({"verifier": {"type": "numeric"}})).json();
    let regraded = server().wait(new["job"].as_str().unwrap_or_else(|| panic!("{new}")));
    assert_eq!(regraded["status"], "succeeded", "{regraded}");
    assert_eq!(lines(set), lines(new["id"].as_str().unwrap()), "the same verifier comes to the same rewards");
    let flips = &regraded["result"]["flips"];
    assert_eq!(
        (&flips["to_pass"], &flips["to_fail"], &flips["examples"]),
        (&json!(0), &json!(0), &json!([])),
        "{flips}"
    );
    assert_eq!(flips["pass_at_1"]["difference"], json!(0.0), "{flips}");
    let times = server().get(&path(set, "/files/verify_seconds.json")).json();
    let took = |seconds: &Value| seconds.as_f64().is_some_and(|seconds| seconds >= 0.0);
    assert!(
        times.as_array().unwrap().len() == lines(set).len() && times.as_array().unwrap().iter().all(took),
        "{times}"
    );
}

#[test]
fn a_set_is_sampled_analysed_downloaded_and_learnt_from() {
    let set = server().post("/v1/rollout-sets", &set_spec()).json();
    let job = server().wait(set["job"].as_str().unwrap());
    assert_eq!(job["status"], "succeeded", "{job}");
    let set = server().get(&path(set["id"].as_str().unwrap(), "")).json();
    let id = set["id"].as_str().unwrap();
    assert_eq!((set["status"].as_str(), &set["job"]), (Some("ready"), &job["id"]), "{set}");
    let summary = &set["summary"];
    assert_eq!((&summary["groups"], &summary["rollouts"], &summary["max_step"]), (&json!(8), &json!(32), &json!(0)));
    let events = server().get(&format!("/v1/jobs/{}/events", job["id"].as_str().unwrap())).json();
    let told = events["data"].as_array().unwrap().iter().find(|e| e["type"] == "rollout_set").unwrap().clone();
    assert_eq!((&told["data"]["rollout_set"], &told["data"]["rollouts"]), (&json!(id), &json!(32)));

    let page = server().get(&path(id, "/rollouts?limit=100")).json();
    let lines = page["data"].as_array().unwrap();
    assert_eq!((lines.len(), &page["has_more"]), (32, &json!(false)));
    for line in lines {
        let (tokens, logprobs) = (line["tokens"].as_array().unwrap(), line["logprobs"].as_array().unwrap());
        assert!((1..=6).contains(&tokens.len()) && tokens.len() == logprobs.len(), "{line}");
        assert!(logprobs.iter().all(|l| l.as_f64().unwrap() <= 0.0), "{line}");
        assert!(line["reward"].is_number() && !line["prompt"].as_str().unwrap().is_empty(), "{line}");
    }
    let names: Vec<&str> = set["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    for name in [ROLLOUTS_FILE, GROUPS_FILE, SUMMARY_FILE] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for file in set["files"].as_array().unwrap() {
        let bytes = server().get(&path(id, &format!("/files/{}", file["path"].as_str().unwrap()))).bytes;
        assert_eq!(sha256_hex(&bytes), file["sha256"].as_str().unwrap(), "{file}");
    }
    let frontier = server().post(&path(id, "/frontier"), &json!({})).json();
    assert_eq!((&frontier["groups"], &frontier["completions"]), (&json!(8), &json!(32)), "{frontier}");

    let mut spec = small_spec();
    spec["objective"] = json!({"type": "bolt", "group_size": 4});
    spec["train"] = json!({"steps": 2, "prompts_per_step": 4});
    spec["rollouts"] = json!({"from": id});
    let job = server().wait(&server().submit(&spec));
    assert_eq!((job["status"].as_str(), job["step"].as_u64()), (Some("succeeded"), Some(2)), "{job}");
}
