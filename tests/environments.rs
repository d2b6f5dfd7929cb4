//! Completions of several turns, through the whole program: what an environment says is read and not learnt, what is
//! measured of it is exact, and a job that was interrupted goes on to the same bits.

mod common;
#[path = "common/scripted.rs"]
mod scripted;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

use common::{Server, data_dir, small_spec};
use scripted::{Reply, scripted};
use serde_json::{Value, json};

/// Rows of a game: the model is to write a digit, and is told whether it is greater or less.
fn rows() -> String {
    (0..40)
        .map(|n| format!("{}\n", json!({"prompt": "2+3=", "answer": (n % 10).to_string(), "secret": n % 10})))
        .collect()
}

/// Plays the game; what it answers follows from what it is told.
fn play(_: &str, body: &Value) -> Reply {
    let answer = |asked: &Value| {
        let turns = asked["turns"].as_array().unwrap();
        let digits: String =
            turns.last().unwrap()["content"].as_str().unwrap().chars().filter(char::is_ascii_digit).collect();
        let (guess, secret) = (digits.parse::<i64>().unwrap_or(-1), asked["row"]["secret"].as_i64().unwrap());
        let near = 1.0 - (guess.clamp(0, 20) - secret).abs() as f64 / 20.0;
        if guess == secret || asked["last"] == true {
            json!({"done": true, "reward": near})
        } else {
            json!({"content": if guess < secret { "+2+3=" } else { "-2+3=" }, "reward": near / 8.0})
        }
    };
    let answers: Vec<Value> = body["conversations"].as_array().unwrap().iter().map(answer).collect();
    Some((200, String::new(), json!({"answers": answers}).to_string()))
}

fn start(data: &Path, url: &str) -> Server {
    let verifiers = json!({"services": {"game": {"url": url, "allow_private": ["127.0.0.1/32"]}}});
    Server::start_with(data, &["--devices", "cpu", "--verifiers", &verifiers.to_string()])
}

fn spec(server: &Server, objective: Value) -> Value {
    let answer = server.post_bytes("/v1/datasets", rows().as_bytes(), &[("content-type", "application/x-ndjson")]);
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": answer.json()["id"]});
    spec["verifier"] = json!({"type": "environment"});
    spec["objective"] = objective;
    spec["sampling"] = json!({"max_new_tokens": 24, "environment": {"type": "http", "service": "game", "turns": 3}});
    spec["train"] = json!({"steps": 4, "prompts_per_step": 8, "micro_batch_tokens": 256});
    spec["checkpoints"] = json!({"every_steps": 1});
    spec.as_object_mut().unwrap().remove("eval");
    spec
}

fn grpo() -> Value {
    json!({"type": "grpo", "group_size": 4})
}

fn succeed(server: &Server, spec: &Value) -> Value {
    let job = server.wait(&server.submit(spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

fn metric(server: &Server, job: &Value, name: &str) -> Vec<f64> {
    let found = server.get(&format!("/v1/jobs/{}/metrics?keys={name}", job["id"].as_str().unwrap())).json();
    found["series"][0]["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn rollouts(server: &Server, job: &Value) -> Vec<Value> {
    let page = server.get(&format!("/v1/jobs/{}/rollouts?limit=100", job["id"].as_str().unwrap())).json();
    page["data"].as_array().unwrap().clone()
}

/// The SHA-256 of the weights that a job has made.
fn weights(server: &Server, job: &Value) -> String {
    let checkpoint = server.get(&format!("/v1/checkpoints/{}", job["result"]["checkpoint"].as_str().unwrap())).json();
    let files = checkpoint["files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == "model.safetensors").unwrap()["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn what_an_environment_says_is_read_and_not_learnt() {
    let (url, asked) = scripted(play);
    let folder = data_dir();
    let server = start(&folder.path().join("data"), &url);
    let mut spec = spec(&server, json!({"type": "p3o", "group_size": 4}));
    spec["rollouts"] = json!({"keep": true});
    let job = succeed(&server, &spec);
    assert!(asked.load(Ordering::Relaxed) >= 4);
    // The trainer reads whole completions at once, and comes to the bits that turn after turn was sampled with.
    assert_eq!(metric(&server, &job, "logprob/max_abs_diff"), [0.0; 4]);
    assert!(metric(&server, &job, "completion/turns_mean").iter().all(|turns| *turns > 1.0 && *turns <= 3.0));
    assert!(metric(&server, &job, "completion/environment_tokens_mean").iter().all(|tokens| *tokens > 0.0));
    let (drawn, learnt) = (metric(&server, &job, "completion/tokens_mean"), metric(&server, &job, "step/tokens"));
    for (drawn, learnt) in drawn.iter().zip(&learnt) {
        assert!((drawn * 32.0 - learnt).abs() < 1e-6, "{drawn} of 32 completions, {learnt} learnt");
    }
    let mut spoken = 0;
    for rollout in rollouts(&server, &job) {
        let (tokens, logprobs) = (rollout["tokens"].as_array().unwrap(), rollout["logprobs"].as_array().unwrap());
        assert_eq!(tokens.len(), logprobs.len());
        let mut rewards = 0.0;
        for answer in rollout["answers"].as_array().unwrap() {
            let [first, end] = [0, 1].map(|at| answer["tokens"][at].as_u64().unwrap() as usize);
            assert!(logprobs[first..end].iter().all(|logprob| logprob.as_f64() == Some(0.0)), "{rollout}");
            let text = answer["text"].as_str().unwrap();
            assert!(["", "+2+3=", "-2+3="].contains(&text) && end - first == text.len(), "{rollout}");
            rewards += answer["reward"].as_f64().unwrap();
            spoken += usize::from(end > first);
        }
        assert!((rollout["reward"].as_f64().unwrap() - rewards).abs() < 1e-9, "{rollout}");
    }
    assert!(spoken > 8, "{spoken}");
}

/// Also where phases are sampled ahead, and while one is.
#[test]
fn a_job_that_is_killed_goes_on_to_the_same_bits() {
    let (url, _) = scripted(play);
    for lag in [0, 1] {
        let folder = data_dir();
        let data = folder.path().join("data");
        let mut server = start(&data, &url);
        let mut spec = spec(&server, grpo());
        spec["train"]["steps"] = json!(30);
        spec["train"]["updates_per_rollout"] = json!(2);
        spec["train"]["max_lag"] = json!(lag);
        let whole = succeed(&server, &spec);
        let id = server.submit(&spec);
        for step in [3, 12] {
            server.wait_until(&id, |job| job["step"].as_u64().unwrap() >= step);
            server.kill();
            server = start(&data, &url);
        }
        let resumed = server.wait(&id);
        assert_eq!(resumed["status"], "succeeded", "{resumed}");
        assert!(resumed["attempt"].as_u64().unwrap() > 2, "it was over before it was killed: {resumed}");
        assert_eq!(weights(&server, &resumed), weights(&server, &whole), "with a lag of {lag}");
    }
}

#[test]
fn a_verifier_that_does_not_pass_a_turn_asks_for_another() {
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    let set = server.post(
        "/v1/rollout-sets",
        &json!({
            "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "verifier": {"type": "numeric"},
            "sampling": {"max_new_tokens": 16, "temperature": 2.0,
                         "environment": {"type": "retry", "turns": 2, "retry": "-?"}},
            "group_size": 4, "prompts": 16,
        }),
    );
    assert_eq!(set.status, 201, "{}", set.json());
    let (set, job) = (set.json(), set.json()["job"].as_str().unwrap().to_owned());
    assert_eq!(server.wait(&job)["status"], "succeeded");
    let page = server.get(&format!("/v1/rollout-sets/{}/rollouts?limit=100", set["id"].as_str().unwrap())).json();
    let (mut again, mut once) = (0, 0);
    for rollout in page["data"].as_array().unwrap() {
        let heard: Vec<&Value> = rollout["answers"].as_array().unwrap().iter().collect();
        match heard[..] {
            [] => {
                assert!(rollout["reward"] == 1.0 || rollout["finish"] == "length", "{rollout}");
                once += 1;
            }
            [answer] => {
                assert_eq!(answer["text"], "-?");
                again += 1;
            }
            _ => panic!("{rollout}"),
        }
    }
    assert!(again > 0 && once > 0, "{again} of several turns, {once} of one");
    // Scoring the set again judges the last turns, as sampling did.
    let length = json!({"verifier": {"type": "length", "rule": "ratio", "unit": "characters", "length": 100}});
    let again = server.post(&format!("/v1/rollout-sets/{}/regrade", set["id"].as_str().unwrap()), &length);
    assert_eq!(again.status, 201, "{}", again.json());
    assert_eq!(server.wait(again.json()["job"].as_str().unwrap())["status"], "succeeded");
    let page =
        server.get(&format!("/v1/rollout-sets/{}/rollouts?limit=100", again.json()["id"].as_str().unwrap())).json();
    for rollout in page["data"].as_array().unwrap().iter().filter(|rollout| rollout["reward"].is_number()) {
        let text = rollout["completion"].as_str().unwrap();
        let heard = rollout["answers"].as_array().unwrap().len();
        let last = if heard == 0 { text } else { text.split_once("-?").unwrap().1 };
        let characters = 100.0 * rollout["reward"].as_f64().unwrap();
        assert!((characters - last.len() as f64).abs() < 1e-6, "{rollout}");
    }
}

/// A model that was taught to write a calculation has it calculated.
#[test]
fn a_calculator_writes_the_value_of_what_the_model_wrote() {
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    let line = |n: u32| {
        format!(
            "{}\n",
            json!({"prompt": format!("{}+{}=", n % 7, n % 5), "completion": format!("({}+{})", n % 7, n % 5), "answer": "1"})
        )
    };
    let lines: String = (0..70).map(line).collect();
    let rows = server.post_bytes("/v1/datasets", lines.as_bytes(), &[("content-type", "application/x-ndjson")]);
    let rows = rows.json()["id"].clone();
    let taught = succeed(
        &server,
        &json!({
            "model": "builtin:arith-tiny", "dataset": {"train": rows}, "objective": {"type": "sft"},
            "optimizer": {"learning_rate": 0.002}, "train": {"steps": 40, "prompts_per_step": 16},
        }),
    );
    let environment = json!({"type": "calculator", "turns": 2, "call": ["(", ")"], "result": ["=", "."]});
    let set = server.post(
        "/v1/rollout-sets",
        &json!({
            "model": taught["result"]["checkpoint"], "dataset": {"train": rows},
            "sampling": {"max_new_tokens": 24, "environment": environment}, "group_size": 2, "prompts": 16,
        }),
    );
    assert_eq!(set.status, 201, "{}", set.json());
    assert_eq!(server.wait(set.json()["job"].as_str().unwrap())["status"], "succeeded");
    let page =
        server.get(&format!("/v1/rollout-sets/{}/rollouts?limit=100", set.json()["id"].as_str().unwrap())).json();
    let mut calculated = 0;
    for rollout in page["data"].as_array().unwrap() {
        let text = rollout["completion"].as_str().unwrap();
        let Some(answer) = rollout["answers"].as_array().unwrap().first() else { continue };
        // Now and then it writes something else between the marks.
        let called = text[1..text.find(')').unwrap()].split_once('+');
        let Some(Ok(a)) = called.map(|(a, _)| a.parse::<u32>()) else { continue };
        let Some(Ok(b)) = called.map(|(_, b)| b.parse::<u32>()) else { continue };
        let sum = a + b;
        assert_eq!(answer["text"], format!("={sum}."), "{text}");
        assert!(text.contains(&format!("({a}+{b})={sum}.")), "{text}");
        calculated += 1;
    }
    assert!(calculated > 16, "{calculated} of 32");
}

#[test]
fn a_tool_server_that_lies_or_hangs_ends_no_completion_with_a_zero() {
    let (url, _) = scripted(|path, body| match path {
        "/hangs" => None,
        _ => {
            let count = body["conversations"].as_array().unwrap().len();
            Some((200, String::new(), json!({"answers": vec![json!({"reward": "much"}); count]}).to_string()))
        }
    });
    let folder = data_dir();
    let here = |path: &str| json!({"url": format!("{url}/{path}"), "allow_private": ["127.0.0.1/32"]});
    let verifiers = json!({"services": {"game": here("lies"), "hangs": here("hangs")}});
    let arguments = ["--devices", "cpu", "--verifiers", &verifiers.to_string()];
    let server = Server::start_with(&folder.path().join("data"), &arguments);
    for (service, said) in [("game", "no number"), ("hangs", "no answer within")] {
        let mut spec = spec(&server, grpo());
        spec["sampling"]["environment"] = json!({"type": "http", "service": service, "time_limit_seconds": 0.5});
        let job = server.wait(&server.submit(&spec));
        assert_eq!(
            (&job["status"], &job["failure"]["code"]),
            (&json!("failed"), &json!("verifier_error_rate")),
            "{job}"
        );
        assert!(job["failure"]["message"].as_str().unwrap().contains(said), "{job}");
    }
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The example of docs/environments.md, with its spec.
#[test]
fn the_example_is_a_tool_server_and_its_game_can_be_played() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/environment");
    let program = folder.join("server.py");
    let mut service = Ended(Command::new("python3").arg(program).arg("0").stdout(Stdio::piped()).spawn().unwrap());
    let mut url = String::new();
    BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let data = data_dir();
    let server = start(&data.path().join("data"), url.trim());
    let lines: String = (0..10).map(|n| format!("{}\n", json!({"prompt": "2+3=", "secret": n}))).collect();
    server.post_bytes("/v1/datasets?name=game", lines.as_bytes(), &[("content-type", "application/x-ndjson")]);
    let mut spec: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("game.json")).unwrap()).unwrap();
    spec["train"]["steps"] = json!(3);
    let job = succeed(&server, &spec);
    assert!(metric(&server, &job, "reward/mean").iter().all(|reward| (0.0..1.0).contains(reward)));
    assert!(metric(&server, &job, "completion/turns_mean").iter().any(|turns| *turns > 1.0));
}

#[test]
fn a_spec_that_cannot_work_is_refused_where_it_says_so() {
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    let refused = |verifier: Value, environment: Value| {
        let mut spec = small_spec();
        spec["verifier"] = verifier;
        spec["sampling"]["environment"] = environment;
        let answer = server.post("/v1/jobs", &spec);
        assert_eq!(answer.status, 422, "{}", answer.json());
        answer.json()["errors"][0]["pointer"].as_str().unwrap().to_owned()
    };
    let numeric = || json!({"type": "numeric"});
    assert_eq!(refused(numeric(), json!({"type": "python"})), "/sampling/environment/type");
    assert_eq!(refused(numeric(), json!({"type": "calculator", "turns": 65})), "/sampling/environment/turns");
    assert_eq!(
        refused(numeric(), json!({"type": "calculator", "url": "https://a.example"})),
        "/sampling/environment/url"
    );
    assert_eq!(refused(numeric(), json!({"type": "http"})), "/sampling/environment/service");
    assert_eq!(refused(numeric(), json!({"type": "http", "service": "game"})), "/sampling/environment/service");
    assert_eq!(refused(numeric(), json!({"type": "http", "url": "https://10.0.0.1/"})), "/sampling/environment/url");
    assert_eq!(refused(numeric(), json!({"type": "http", "url": "http://a.example/"})), "/sampling/environment/url");
    assert_eq!(refused(json!({"type": "environment"}), Value::Null), "/verifier");
}
