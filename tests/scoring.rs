//! Rewards from services, programs and judges beyond the server, with a real server and real jobs.

mod common;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/scripted.rs"]
mod scripted;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

use common::{Server, data_dir, small_spec};
use scripted::scripted;
use serde_json::{Value, json};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scoring").join(name)
}

/// Where Python is, as a program that starts nothing else.
fn python() -> String {
    let told = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(told.stdout).unwrap().trim().to_owned()
}

/// The example service; killed when dropped.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(secret: &Path) -> Self {
        let mut child = Command::new(python())
            .arg(example("service.py"))
            .arg("0")
            .arg(secret)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn start(data: &Path, verifiers: &Value) -> Server {
    Server::start_with(data, &["--devices", "cpu", "--verifiers", &verifiers.to_string()])
}

/// The verdicts on some completions of `2+2=`.
fn verdicts(server: &Server, config: &Value, completions: &[&str]) -> Vec<Value> {
    let row = json!({"prompt": "2+2=", "answer": "4"});
    let completions: Vec<Value> = completions.iter().map(|text| json!({"completion": text, "row": row})).collect();
    let answer = server.post("/v1/verifiers/test", &json!({"config": config, "completions": completions}));
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()["data"].as_array().unwrap().clone()
}

fn spec(verifier: &Value) -> Value {
    let mut spec = small_spec();
    spec["verifier"] = verifier.clone();
    spec["objective"] = json!({"type": "grpo", "group_size": 4});
    spec["train"] = json!({"steps": 2, "prompts_per_step": 8, "micro_batch_tokens": 256});
    spec["eval"] = json!({"prompts": 4, "samples": 1, "pass_at": [1]});
    spec
}

/// The code and the first pointer of a refusal.
fn refused(server: &Server, verifier: &Value) -> (String, String) {
    let answer = server.post("/v1/jobs", &spec(verifier));
    assert_eq!(answer.status, 422, "{}", answer.json());
    let error = &answer.json()["errors"][0];
    (error["pointer"].as_str().unwrap().to_owned(), error["code"].as_str().unwrap().to_owned())
}

#[test]
fn the_example_service_and_the_example_program_judge_alike_and_train_the_same_weights() {
    let data = data_dir();
    let secret = data.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let service = Service::start(&secret);
    let here = json!({"url": service.url, "allow_private": ["127.0.0.1/32"]});
    let mut signed = here.clone();
    signed["secret_file"] = json!(secret);
    let verifiers = json!({
        "services": {"signed": signed, "unsigned": here},
        "commands": {"sums": {"argv": [python(), example("program.py")]}},
    });
    let server = start(data.path(), &verifiers);
    let unsigned = verdicts(&server, &json!({"type": "http", "service": "unsigned"}), &["4"]);
    assert_eq!(unsigned[0]["status"], "error");
    assert!(unsigned[0]["detail"].as_str().unwrap().contains("401"), "{}", unsigned[0]);
    // The same seed samples the same completions, so that the same verdicts end in the same weights.
    let mut weights = Vec::new();
    for verifier in
        [json!({"type": "http", "service": "signed", "batch_size": 8}), json!({"type": "command", "command": "sums"})]
    {
        let verdicts = verdicts(&server, &verifier, &["It is 4", "5", "four"]);
        let told: Vec<(&Value, &Value)> = verdicts.iter().map(|one| (&one["status"], &one["reward"])).collect();
        let (ok, unparsable) = (json!("ok"), json!("unparsable"));
        assert_eq!(told, [(&ok, &json!(1.0)), (&ok, &json!(0.0)), (&unparsable, &json!(0.0))]);
        let job = server.wait(&server.submit(&spec(&verifier)));
        assert_eq!(job["status"], "succeeded", "{job}");
        weights.push(job["result"]["weights_sha256"].as_str().unwrap().to_owned());
    }
    assert_eq!(weights[0], weights[1]);
}

#[test]
fn bad_services_give_errors_that_say_what_to_do_and_no_zeros() {
    let (url, _) = scripted(|path, body| {
        let count = body["cases"].as_array().unwrap().len();
        let all = |text: &str| format!("{{\"scores\": [{}]}}", vec![text; count].join(","));
        match path {
            "/500" => Some((500, String::new(), String::from("out of luck"))),
            "/slow" => None,
            "/count" => Some((200, String::new(), String::from("{\"scores\": [1, 1, 1]}"))),
            "/nan" => Some((200, String::new(), all("NaN"))),
            "/away" => Some((302, String::from("location: http://169.254.169.254/\r\n"), String::new())),
            _ => Some((200, String::new(), all("1"))),
        }
    });
    let services: Value = ["500", "slow", "count", "nan", "away", "fine"]
        .iter()
        .map(|name| ((*name).to_owned(), json!({"url": format!("{url}/{name}"), "allow_private": ["127.0.0.1"]})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut services = services;
    services["inside"] = json!({"url": format!("{url}/fine")});
    let data = data_dir();
    let server = start(data.path(), &json!({"services": services}));
    for (name, status, expected) in [
        ("500", "error", "answers 500: out of luck (tries: 2)"),
        ("slow", "timeout", "no answer within"),
        ("count", "error", "3 scores for 1 cases"),
        ("nan", "error", "a finite number, and not \"\\\"NaN"),
        ("away", "error", "redirects to http://169.254.169.254/, which is not followed"),
        ("inside", "error", "no public address"),
    ] {
        let config = json!({"type": "http", "service": name, "retries": 1, "time_limit_seconds": 3});
        let verdict = verdicts(&server, &config, &["4"]).remove(0);
        let detail = verdict["detail"].as_str().unwrap_or_default();
        assert!(verdict["status"] == status && detail.contains(expected), "{name}: {verdict}");
        assert_eq!(verdict["reward"], Value::Null);
    }
    assert_eq!(verdicts(&server, &json!({"type": "http", "service": "fine"}), &["4"])[0]["reward"], 1.0);
    // A job does not learn from it that its completions were wrong: it ends, and says why.
    let job = server.wait(&server.submit(&spec(&json!({"type": "http", "service": "500", "retries": 0}))));
    let failure = &job["failure"];
    assert_eq!((&job["status"], &failure["code"]), (&json!("failed"), &json!("verifier_error_rate")), "{job}");
    assert!(failure["message"].as_str().unwrap().contains("out of luck"), "{failure}");
}

#[test]
fn a_program_that_dies_in_the_middle_costs_its_cases_and_a_job_goes_on() {
    // Dies at every thirtieth case: less than one in twenty is lost.
    let script = r#"n=0; while read -r line; do n=$((n+1)); id=${line#*\"id\":}; id=${id%%,*};
        [ $n -eq 30 ] && { echo "no memory left" >&2; exit 9; }; echo "{\"id\": $id, \"reward\": 0.$((id % 10))}"; done"#;
    let command = |script: &str| json!({"argv": ["/bin/sh", "-c", script]});
    let data = data_dir();
    let verifiers = json!({"commands": {"frail": command(script), "dead": command("exit 4")}});
    let server = start(data.path(), &verifiers);
    let dead = verdicts(&server, &json!({"type": "command", "command": "dead"}), &["4"]).remove(0);
    let detail = dead["detail"].as_str().unwrap();
    assert!(dead["status"] == "error" && detail.contains("ended in the middle (exit status: 4)"), "{dead}");
    let completions: Vec<&str> = vec!["4"; 40];
    let frail = verdicts(&server, &json!({"type": "command", "command": "frail"}), &completions);
    let lost: Vec<&Value> = frail.iter().filter(|one| one["status"] != "ok").collect();
    assert!(lost.len() == 1 && lost[0]["detail"].as_str().unwrap().contains("no memory left"), "{lost:?}");
    let spec = spec(&json!({"type": "command", "command": "frail", "batch_size": 1}));
    let job = server.wait(&server.submit(&spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(refused(&server, &json!({"type": "command", "command": "sh"})).1, "not_enabled");
}

/// Whether there is a process of that number that has not ended.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn a_program_that_hangs_is_not_trusted_and_ends_with_a_server_that_is_killed() {
    let data = data_dir();
    let told = data.path().join("pid");
    // Right on twelve cases; then nothing comes any more.
    let hangs = r#"n=0; while read -r line; do n=$((n+1)); id=${line#*\"id\":}; [ $n -gt 12 ] && exec sleep 600
        echo "{\"id\": ${id%%,*}, \"reward\": 1}"; done"#;
    let waits = format!("echo $$ > {}; exec sleep 600", told.display());
    let command = |script: &str| json!({"argv": ["/bin/sh", "-c", script]});
    let server = start(data.path(), &json!({"commands": {"hangs": command(hangs), "waits": command(&waits)}}));
    let config = json!({"type": "command", "command": "hangs", "time_limit_seconds": 0.5});
    let verifier = server.post("/v1/verifiers", &json!({"config": config})).json();
    let path = format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap());
    let audit = server.post(&path, &json!({"dataset": "builtin:arithmetic", "rows": 20})).json();
    let reasons: Vec<&Value> = audit["reasons"].as_array().unwrap().iter().map(|reason| &reason["code"]).collect();
    assert!(audit["verdict"] == "suspicious" && reasons.contains(&&json!("errors")), "{audit}");

    let config = json!({"type": "command", "command": "waits"});
    let (url, body) =
        (format!("{}/v1/verifiers/test", server.base), json!({"config": config, "completions": [{"completion": "4"}]}));
    std::thread::spawn(move || ureq::post(&url).send_json(body).is_ok());
    let written = |_: &usize| std::fs::read_to_string(&told).ok().filter(|pid| pid.ends_with('\n'));
    let pause = |_: &usize| std::thread::sleep(std::time::Duration::from_millis(20));
    let pid = (0..1500).inspect(pause).find_map(|n| written(&n)).expect("the program is started");
    assert!(runs(pid.trim()));
    server.kill();
    assert!((0..500).inspect(pause).any(|_| !runs(pid.trim())), "the program outlived the server");
}

#[test]
fn a_judge_that_answers_prose_gives_no_reward_and_a_judge_that_could_never_answer_is_refused() {
    let (url, count) = scripted(|path, body| {
        let says = |text: &str, more: Value| {
            let choice = json!({"message": {"role": "assistant", "content": text}, "logprobs": more});
            Some((200, String::new(), json!({"choices": [choice]}).to_string()))
        };
        assert!(path.ends_with("/chat/completions"), "{path}");
        let asked = body["messages"][0]["content"].as_str().unwrap();
        match (path.starts_with("/prose"), body["logprobs"] == true) {
            (true, _) => says("What a lovely answer.", Value::Null),
            (false, false) => says(if asked.contains("said 4") { "Yes.\nScore: 10" } else { "Score: 0" }, Value::Null),
            (false, true) => {
                let top = [json!({"token": "yes", "logprob": -0.1}), json!({"token": "no", "logprob": -3.0})];
                says("yes", json!({"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": top}]}))
            }
        }
    });
    let data = data_dir();
    let endpoint = |path: &str| json!({"url": format!("{url}{path}"), "model": "m", "allow_private": ["127.0.0.1"]});
    // The address of the server itself has to be known before it is started.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let own =
        json!({"url": format!("http://{free}/v1"), "model": "builtin:arith-tiny", "allow_private": ["127.0.0.1"]});
    let verifiers = json!({"endpoints": {"good": endpoint("/v1"), "prose": endpoint("/prose"), "own": own}});
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    command.args(["serve", "--supervised", "--log", "warn", "--devices", "cpu", "--listen", &free.to_string()]);
    command.arg("--data-dir").arg(data.path()).args(["--verifiers", &verifiers.to_string()]);
    let server = Server::spawn(command);
    let judge = |name: &str| json!({"type": "model", "endpoint": name, "rubric": "He said {{ sample.output_text }}", "retries": 1});
    let told = verdicts(&server, &judge("good"), &["4", "5"]);
    assert_eq!((&told[0]["reward"], &told[1]["reward"]), (&json!(1.0), &json!(0.0)), "{told:?}");
    let mut yes = judge("good");
    yes["mode"] = json!("yes_logprob");
    let told = verdicts(&server, &yes, &["4"]).remove(0);
    let reward = told["reward"].as_f64().unwrap_or_else(|| panic!("{told}"));
    assert!((reward - 1.0 / (1.0 + (-2.9_f64).exp())).abs() < 1e-9, "{told}");
    let before = count.load(Ordering::Relaxed);
    let prose = verdicts(&server, &judge("prose"), &["4"]).remove(0);
    assert_eq!((&prose["status"], &prose["reward"]), (&json!("error"), &Value::Null), "{prose}");
    assert!(prose["detail"].as_str().unwrap().contains("What a lovely answer."), "{prose}");
    assert_eq!(count.load(Ordering::Relaxed) - before, 2, "it was asked again");
    let at = (String::from("/verifier/endpoint"), String::from("judge_without_device"));
    assert_eq!(refused(&server, &judge("own")), at);
    let job = server.wait(&server.submit(&spec(&judge("good"))));
    assert_eq!(job["status"], "succeeded", "{job}");
}

#[test]
fn what_the_operator_has_not_named_is_refused_at_the_submission() {
    let data = data_dir();
    let server = start(data.path(), &json!({"named_services_only": true}));
    let at = |field: &str, code: &str| (format!("/verifier/{field}"), code.to_owned());
    let url = json!({"type": "http", "url": "https://scores.example/v1"});
    assert_eq!(refused(&server, &json!({"type": "http", "service": "a"})), at("service", "not_enabled"));
    assert_eq!(refused(&server, &url), at("url", "not_enabled"));
    assert_eq!(
        refused(&server, &json!({"type": "http", "url": "https://169.254.169.254/"})),
        at("url", "no_public_address")
    );
    assert_eq!(refused(&server, &json!({"type": "command", "command": "a"})), at("command", "not_enabled"));
    assert_eq!(
        refused(&server, &json!({"type": "model", "endpoint": "a", "rubric": "b"})),
        at("endpoint", "not_enabled")
    );
}

#[test]
fn the_commands_and_settings_of_the_page_work() {
    let data = data_dir();
    let secret = data.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let service = Service::start(&secret);
    let page = pages::section("docs/VERIFIERS.md", "## Services, programs and judges");
    let settings = pages::blocks_of(&page, "toml").remove(0);
    let mut settings = format!("data_dir = \"{}\"\n{settings}", data.path().join("data").display());
    let (python, program) = (python(), example("program.py"));
    for (there, here) in [
        ("http://127.0.0.1:9000/", service.url.as_str()),
        ("/etc/anneal/scoring.secret", secret.to_str().unwrap()),
        ("/usr/bin/python3", &python),
        ("/srv/scoring/program.py", program.to_str().unwrap()),
    ] {
        assert!(settings.contains(there), "{there} is not in\n{settings}");
        settings = settings.replace(there, here);
    }
    let file = data.path().join("anneal.toml");
    std::fs::write(&file, settings).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    command.args(["serve", "--supervised", "--log", "warn", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    let server = Server::spawn(command);
    pages::all_work(&pages::blocks_of(&page, "sh"), &server.base, data.path());
}
