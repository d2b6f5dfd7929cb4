//! Exports on their way to a hub: what arrives is what was made, with a card that says what the model is; also when the hub
//! refuses, breaks off and is slow, and when the server ends on the way.

mod common;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anneal::job::digest::sha256_hex;
use common::{Answer, PATIENCE, Server, data_dir};
use hub::push::Lost;
use hub::{Hub, Trouble, WEIGHTS, assets, files_of};
use program::Program;
use serde_json::{Value, json};
use tempfile::TempDir;

const TOKEN: &str = "hf_secret";
/// What the base's own card says.
const CARD: &str = "---\nlanguage: en\nlicense: apache-2.0\n---\n# Arithmetic\n";

/// A server that may push to a hub of its own.
struct Setting {
    folder: TempDir,
    hub: Hub,
    server: Server,
}

impl Setting {
    fn start() -> Self {
        let hub = Hub::start();
        let mut files = files_of(&assets());
        files.insert(String::from("README.md"), CARD.into());
        files.insert(String::from("LICENSE"), b"Apache License\n".to_vec());
        hub.put_files("tiny/arith", files);
        hub.require(TOKEN);
        let folder = data_dir();
        std::fs::write(folder.path().join("token"), TOKEN).unwrap();
        let server = start(&folder, &hub, TOKENS, TO);
        Self { folder, hub, server }
    }

    /// The same with another server on the data of the first.
    fn again(self, tokens: &[&str], to: &[&str]) -> Self {
        let Self { folder, hub, server } = self;
        drop(server);
        let server = start(&folder, &hub, tokens, to);
        Self { folder, hub, server }
    }

    /// The finished checkpoint of a job on the hub's model.
    fn checkpoint(&self, adapter: &Value) -> String {
        let spec = json!({
            "name": "add [it](up) <b>", "model": "hf:tiny/arith", "dataset": {"train": "builtin:arithmetic"},
            "objective": {"type": "sft"}, "adapter": adapter, "train": {"steps": 2, "prompts_per_step": 4},
            "verifier": {"type": "numeric"}, "sampling": {"max_new_tokens": 5},
            "eval": {"prompts": 16, "samples": 2, "pass_at": [1]}, "optimizer": {"learning_rate": 1e-3}, "seed": 7,
        });
        let job = self.server.wait(&self.server.submit(&spec));
        assert_eq!(job["status"], "succeeded", "{job}");
        job["result"]["checkpoint"].as_str().unwrap().to_owned()
    }

    /// A ready export.
    fn export(&self, checkpoint: &str, body: &Value) -> String {
        let export = self.server.post(&format!("/v1/checkpoints/{checkpoint}/exports"), body).json();
        let id = export["id"].as_str().unwrap_or_else(|| panic!("{export}")).to_owned();
        let export = self.server.get(&format!("/v1/exports/{id}?wait=60")).json();
        assert_eq!((&export["status"], &export["push"]), (&json!("ready"), &Value::Null), "{export}");
        id
    }

    fn ask(&self, export: &str, body: &Value) -> Answer {
        self.server.post(&format!("/v1/exports/{export}/push"), body)
    }

    /// A push when it is over.
    fn over(&self, export: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let push = self.server.get(&format!("/v1/exports/{export}?wait=60")).json()["push"].clone();
            if ["succeeded", "failed"].contains(&push["status"].as_str().unwrap()) {
                return push;
            }
            assert!(Instant::now() < end, "{push}");
        }
    }

    fn push(&self, export: &str, to: &str) -> Value {
        let begun = self.ask(export, &json!({"to": to}));
        assert_eq!(begun.status, 202, "{}", begun.json());
        let push = self.over(export);
        assert_eq!((&push["status"], &push["failure"]), (&json!("succeeded"), &Value::Null), "{push}");
        assert_eq!(push["bytes_done"], push["bytes"], "{push}");
        push
    }

    /// A push that fails, and why.
    fn failure(&self, export: &str, body: &Value) -> (String, String) {
        let begun = self.ask(export, body);
        assert_eq!(begun.status, 202, "{}", begun.json());
        let push = self.over(export);
        assert_eq!((&push["status"], &push["commit"]), (&json!("failed"), &Value::Null), "{push}");
        let text = |name: &str| push["failure"][name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }

    /// What an export's downloads have.
    fn files(&self, export: &str) -> BTreeMap<String, Vec<u8>> {
        let archive = self.server.get(&format!("/v1/exports/{export}/archive")).bytes;
        let folder = self.folder.path().join("unpacked");
        std::fs::remove_dir_all(&folder).ok();
        tar::Archive::new(&archive[..]).unpack(&folder).unwrap();
        files_of(&folder.join(export))
    }

    /// That a branch has an export's files, besides what it was made with.
    fn arrived(&self, export: &str, repository: &str, branch: &str) {
        let mut there = self.hub.files(repository, branch);
        there.remove(".gitattributes").unwrap();
        let here = self.files(export);
        assert_eq!(there.keys().collect::<Vec<_>>(), here.keys().collect::<Vec<_>>());
        for (name, bytes) in here {
            assert!(there[&name] == bytes, "{name} is another");
        }
    }
}

const TOKENS: &[&str] = &["--hub-token-file", "token"];
const TO: &[&str] = &["--hub-push-to", "acme,lab/model-*"];

fn start(folder: &TempDir, hub: &Hub, tokens: &[&str], to: &[&str]) -> Server {
    let token = folder.path().join("token");
    let tokens: Vec<&str> =
        tokens.iter().map(|word| if *word == "token" { token.to_str().unwrap() } else { word }).collect();
    let all = [&["--hub-endpoint", &hub.base][..], &tokens, to].concat();
    Server::start_with(&folder.path().join("data"), &all)
}

/// A model of some files that a PUT each brings.
fn merged() -> Value {
    json!({"format": "merged", "dtype": "f32"})
}

#[test]
fn an_export_arrives_as_it_is_with_a_card_and_comes_back_as_a_model() {
    let setting = Setting::start();
    let checkpoint = setting.checkpoint(&Value::Null);
    let evaluation = json!({
        "model": checkpoint, "dataset": "builtin:arithmetic", "prompts": 16, "samples": 2, "pass_at": [1, 2],
        "verifier": {"type": "numeric"}, "sampling": {"max_new_tokens": 5},
    });
    let evaluation = setting.server.post("/v1/evaluations", &evaluation).json();
    assert_eq!(setting.server.wait(evaluation["job"].as_str().unwrap())["status"], "succeeded");
    let evaluation = setting.server.get(&format!("/v1/evaluations/{}", evaluation["id"].as_str().unwrap())).json();
    let export = setting.export(&checkpoint, &merged());
    let push = setting.push(&export, "hf:acme/arith");
    assert_eq!((&push["to"], &push["private"]), (&json!("hf:acme/arith@main"), &json!(true)));
    let commit = push["commit"].as_str().unwrap();
    assert_eq!(push["url"], format!("{}/acme/arith/tree/{commit}", setting.hub.base));
    setting.arrived(&export, "acme/arith", "main");
    assert!(setting.hub.received(|received| received.is_private("acme/arith") && received.puts == 1));
    assert!(!setting.hub.has_leaked_its_token());

    let files = setting.hub.files("acme/arith", "main");
    assert_eq!(files["LICENSE"], b"Apache License\n");
    let card = String::from_utf8(files["README.md"].clone()).unwrap();
    card_says(&setting, &card, &checkpoint, &evaluation);

    // What arrived proves where it comes from, and is a model.
    let home = setting.folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    for (name, bytes) in files.iter().filter(|(name, _)| !name.starts_with('.')) {
        std::fs::write(home.join(name), bytes).unwrap();
    }
    let program = Program::of(&setting.server.base);
    assert_eq!(program.json(&["verify", home.to_str().unwrap()])["verified"], true);
    let model = setting.server.import(&json!({"source": "hf:acme/arith"}));
    assert_eq!((&model["status"], &model["weights_sha256"]), (&json!("ready"), &json!(sha256_hex(&files[WEIGHTS]))));

    // Nothing of it is sent again.
    let before = setting.hub.received(|received| (received.bytes, received.commits));
    assert_eq!(setting.push(&export, "hf:acme/arith")["commit"], commit);
    assert_eq!(setting.hub.received(|received| (received.bytes, received.commits)), before);
    // Elsewhere only what is beside git need not be: the hub has that.
    setting.push(&export, "hf:lab/model-1@next/one");
    setting.arrived(&export, "lab/model-1", "next/one");
    assert_eq!(setting.hub.received(|received| received.bytes), before.0);
}

/// That a card has in front what a hub takes, and what the model was made from.
fn card_says(setting: &Setting, card: &str, checkpoint: &str, evaluation: &Value) {
    let front = "---\nbase_model: \"tiny/arith\"\nbase_model_relation: finetune\nlicense: apache-2.0\n\
                 library_name: transformers\npipeline_tag: text-generation\ntags:\n- anneal\n- sft\n---\n";
    assert!(card.starts_with(front), "{card}");
    let manifest = setting.server.get(&format!("/v1/checkpoints/{checkpoint}/manifest")).json();
    let job = setting.server.job(manifest["job"].as_str().unwrap());
    assert_eq!(job["spec_digest"], manifest["spec_digest"]);
    let model = setting.server.get(&format!("/v1/models/{}", job["spec_resolved"]["model"].as_str().unwrap())).json();
    let commit = model["source"].as_str().unwrap().split_once('@').unwrap().1;
    for said in [
        "# add \\[it\\]\\(up\\) \\<b\\>\n",
        &format!("`hf:tiny/arith` at `{commit}`"),
        "with the objective `sft`, 2 optimizer steps",
        &format!("| spec | below | `{}` |", manifest["spec_digest"].as_str().unwrap()),
        &format!("`sha256:{}`", model["weights_sha256"].as_str().unwrap()),
        "| `rows` | `builtin:arithmetic` | `sha256:",
        "\"type\": \"numeric\"",
        "The base is under `apache-2.0`, by its own card.",
        "| in training, after 0 steps | `builtin:arithmetic` | 16 x 2 | pass@1 ",
        "| in training, after 2 steps | `builtin:arithmetic` | 16 x 2 | pass@1 ",
        "anneal verify FOLDER --key jwks.json",
    ] {
        assert!(card.contains(said), "{said} is not in\n{card}");
    }
    let id = evaluation["id"].as_str().unwrap().replace('_', "\\_");
    let rates = evaluation["result"]["pass_at"].as_array().unwrap().iter().map(|rate| {
        let number = |name: &str| rate[name].as_f64().unwrap();
        let (mean, low, high) = (number("mean"), number("low"), number("high"));
        assert!(low <= mean && mean <= high && low < high, "{rate}");
        format!("pass@{} {mean:.3} ({low:.3} to {high:.3})", rate["k"])
    });
    let row = format!("| {id} | `builtin:arithmetic` | 16 x 2 | {} |", rates.collect::<Vec<String>>().join("<br>"));
    assert!(card.contains(&row), "{row} is not in\n{card}");
}

#[test]
fn parts_that_fail_addresses_that_grew_old_and_answers_that_are_lost_are_made_good() {
    let setting = Setting::start();
    let export = setting.export(&setting.checkpoint(&Value::Null), &json!({"format": "gguf", "dtype": "f32"}));
    let name = "model-f32.gguf";
    setting.hub.received(|received| {
        received.part_bytes = Some(300_000);
        received.trouble =
            [Trouble::Refuse(500, ""), Trouble::Cut(0), Trouble::Refuse(429, "retry-after: 1\r\n")].into();
        received.lost = [Lost::Answer].into();
    });
    let push = setting.push(&export, "hf:acme/gguf");
    setting.arrived(&export, "acme/gguf", "main");
    let size = setting.hub.files("acme/gguf", "main")[name].len();
    let parts = size.div_ceil(300_000);
    assert!(parts > 3, "{size}");
    // Two were read and refused, and came again. One commit made the repository, one filled it.
    assert_eq!(setting.hub.received(|received| (received.puts, received.commits)), (parts + 2, 2));
    let listed = setting.server.get("/v1/exports").json();
    assert_eq!(listed["data"][0]["push"]["commit"], push["commit"]);

    // An address that is refused is not asked again: there is another one for each part.
    let other = setting.export(&setting.checkpoint(&json!({"type": "lora", "rank": 2})), &merged());
    setting.hub.received(|received| {
        received.trouble = [Trouble::Refuse(403, "")].into();
        received.lost = [Lost::Race].into();
    });
    setting.push(&other, "hf:acme/race");
    let mut there = setting.hub.files("acme/race", "main");
    assert_eq!(there.remove("notes.md").unwrap(), b"from elsewhere", "what others have there stays");
    assert!(there[WEIGHTS] == setting.files(&other)[WEIGHTS]);
    // A storage that never takes anything.
    setting.hub.received(|received| received.trouble = (0..100).map(|_| Trouble::Refuse(403, "")).collect());
    let third = setting.export(&setting.checkpoint(&json!({"type": "lora", "rank": 1})), &json!({"format": "adapter"}));
    let (code, message) = setting.failure(&third, &json!({"to": "hf:acme/none"}));
    assert!(code == "hub_unreachable" && message.contains("403"), "{code}: {message}");
    assert_eq!(setting.hub.files("acme/none", "main").len(), 1);
    assert!(!setting.hub.has_leaked_its_token());
}

#[test]
fn what_a_hub_refuses_has_a_code_and_a_fix_and_is_pushed_once_it_does_not() {
    let setting = Setting::start();
    let checkpoint = setting.checkpoint(&json!({"type": "lora", "rank": 2}));
    let export = setting.export(&checkpoint, &json!({"format": "adapter"}));
    let to = json!({"to": "hf:acme/arith"});
    let refused = |setting: &Setting, body: &Value, code: &str, fix: &str| {
        let (found, message) = setting.failure(&export, body);
        assert!(found == code && message.contains(fix), "{found}: {message}");
        assert!(!message.contains(TOKEN), "{message}");
    };
    setting.hub.received(|received| received.read_only = true);
    refused(&setting, &to, "hub_forbidden", "may not write to hf:acme/arith");
    setting.hub.received(|received| received.read_only = false);
    setting.hub.require("hf_another");
    refused(&setting, &to, "hub_unauthorized", "HF_TOKEN");
    setting.hub.require(TOKEN);
    setting.hub.received(|received| received.repositories.insert(String::from("acme/open"), false));
    setting.hub.put("acme/open", &assets());
    refused(&setting, &json!({"to": "hf:acme/open"}), "hub_public", "`private` false");
    // As it was all the while.
    let setting = setting.again(&[], TO);
    refused(&setting, &to, "hub_unauthorized", "HF_TOKEN");
    let setting = setting.again(&[TOKENS, &["--hub-offline", "true"]].concat(), TO);
    refused(&setting, &to, "hub_offline", "hub_offline");
    let setting = setting.again(TOKENS, TO);
    setting.push(&export, "hf:acme/arith");
    setting.arrived(&export, "acme/arith", "main");
    assert_eq!(setting.ask(&export, &json!({"to": "hf:acme/open", "private": false})).status, 202);
    assert_eq!(setting.over(&export)["status"], "succeeded");
    assert!(setting.hub.files("acme/open", "main").contains_key("config.json"), "what was there stays");
    // A byte of ours that the disk has changed goes nowhere.
    let path = setting.folder.path().join(format!("data/exports/{export}/adapter_model.safetensors"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[200] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    refused(&setting, &json!({"to": "hf:acme/damaged"}), "data_damaged", "adapter_model.safetensors");
}

#[test]
fn what_may_not_be_pushed_is_refused_before_anybody_is_asked() {
    let setting = Setting::start();
    let checkpoint = setting.checkpoint(&json!({"type": "lora", "rank": 2}));
    let export = setting.export(&checkpoint, &json!({"format": "adapter"}));
    for to in ["acme/arith", "hf:arith", "hf:acme/arith/x.gguf", "hf:acme/../x", "hf:acme/a@", ""] {
        let answer = setting.ask(&export, &json!({"to": to}));
        assert_eq!((answer.status, &answer.json()["errors"][0]["pointer"]), (422, &json!("/to")), "{to}");
    }
    for to in ["hf:other/arith", "hf:lab/other", "hf:acme2/arith"] {
        let answer = setting.ask(&export, &json!({"to": to}));
        assert_eq!((answer.status, answer.problem().as_str()), (403, "push_not_allowed"), "{to}");
    }
    let missing = setting.ask("exp_00000000000000000000000000000000", &json!({"to": "hf:acme/arith"}));
    assert_eq!(missing.status, 404);
    assert_eq!(setting.server.get(&format!("/v1/exports/{export}")).json()["push"], Value::Null);
    // One at a time.
    setting.hub.pace(Duration::from_secs(30));
    assert_eq!(setting.ask(&export, &json!({"to": "hf:acme/arith"})).status, 202);
    let again = setting.ask(&export, &json!({"to": "hf:acme/other"}));
    assert_eq!((again.status, again.problem().as_str()), (409, "push_under_way"));
    let setting = setting.again(TOKENS, &[]);
    assert_eq!(setting.over(&export)["failure"]["code"], "push_not_allowed", "what was under way ends, too");
    let answer = setting.ask(&export, &json!({"to": "hf:acme/arith"}));
    assert_eq!((answer.status, answer.problem().as_str()), (403, "push_disabled"));
    assert!(answer.json()["detail"].as_str().unwrap().contains("hub_push_to"));
}

/// Waits until some bytes of a file are on their way.
fn begun(setting: &Setting, export: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let push = setting.server.get(&format!("/v1/exports/{export}")).json()["push"].clone();
        let is_on_the_way = setting.hub.received(|received| received.open > 0);
        if is_on_the_way && push["status"] == "running" {
            return;
        }
        assert!(Instant::now() < end, "{push}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_push_goes_on_when_its_server_was_killed() {
    let setting = Setting::start();
    let export = setting.export(&setting.checkpoint(&Value::Null), &merged());
    setting.hub.received(|received| received.part_bytes = Some(200_000));
    setting.hub.pace(Duration::from_millis(200));
    assert_eq!(setting.ask(&export, &json!({"to": "hf:acme/arith"})).status, 202);
    begun(&setting, &export);
    let Setting { folder, hub, server } = setting;
    server.kill();
    assert_eq!(hub.files("acme/arith", "main").len(), 1, "nothing was complete");
    hub.pace(Duration::ZERO);
    let server = start(&folder, &hub, TOKENS, TO);
    let setting = Setting { folder, hub, server };
    assert_eq!(setting.over(&export)["status"], "succeeded");
    setting.arrived(&export, "acme/arith", "main");
    // One that ends in order, in the middle of a push, does not wait for the hub.
    setting.hub.pace(Duration::from_secs(20));
    let other = setting.export(&setting.checkpoint(&json!({"type": "lora", "rank": 2})), &merged());
    assert_eq!(setting.ask(&other, &json!({"to": "hf:acme/other"})).status, 202);
    begun(&setting, &other);
    let Setting { folder, hub, server } = setting;
    let ended = server.terminate();
    assert!(ended < Duration::from_secs(15), "{ended:?}");
    hub.pace(Duration::ZERO);
    let server = start(&folder, &hub, TOKENS, TO);
    let setting = Setting { folder, hub, server };
    assert_eq!(setting.over(&other)["status"], "succeeded");
    setting.arrived(&other, "acme/other", "main");
}

#[test]
fn an_export_that_is_deleted_under_its_push_is_not_committed() {
    let setting = Setting::start();
    for what in ["exports", "jobs"] {
        let checkpoint = setting.checkpoint(&json!({"type": "lora", "rank": 2}));
        let export = setting.export(&checkpoint, &merged());
        let repository = format!("acme/{what}");
        setting.hub.received(|received| received.part_bytes = Some(200_000));
        setting.hub.pace(Duration::from_millis(200));
        assert_eq!(setting.ask(&export, &json!({"to": format!("hf:{repository}")})).status, 202);
        begun(&setting, &export);
        let job = setting.server.get(&format!("/v1/exports/{export}")).json()["job"].clone();
        let id = if what == "jobs" { job.as_str().unwrap() } else { &export };
        assert_eq!(setting.server.delete(&format!("/v1/{what}/{id}")).status, 200);
        assert_eq!(setting.server.get(&format!("/v1/exports/{export}")).status, 404);
        let end = Instant::now() + PATIENCE;
        while setting.hub.received(|received| received.open) > 0 {
            assert!(Instant::now() < end, "the push goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
        setting.hub.pace(Duration::ZERO);
        // The next push comes after it.
        let other = setting.export(&setting.checkpoint(&json!({"type": "lora", "rank": 1})), &merged());
        setting.push(&other, &format!("hf:{repository}-2"));
        assert_eq!(setting.hub.files(&repository, "main").len(), 1);
        assert!(!Path::new(&setting.folder.path().join("data/exports").join(&export)).exists());
    }
}

#[test]
fn the_program_pushes_and_says_where_it_is_or_why_it_is_not() {
    let setting = Setting::start();
    let checkpoint = setting.checkpoint(&json!({"type": "lora", "rank": 2}));
    let program = Program::of(&setting.server.base);
    let command = ["export", &checkpoint, "--format", "adapter", "--push"];
    let pushed = program.text(&[&command[..], &["hf:acme/lora@v1", "--public"]].concat());
    assert!(pushed.contains("hf:acme/lora@v1") && pushed.contains("/acme/lora/tree/"), "{pushed}");
    assert!(!setting.hub.received(|received| received.is_private("acme/lora")));
    let export = setting.server.get("/v1/exports").json()["data"][0]["id"].as_str().unwrap().to_owned();
    setting.arrived(&export, "acme/lora", "v1");
    assert!(!Path::new(&program.path(&export)).exists(), "nothing was downloaded");
    let answer = program.json(&[&command[..], &["hf:acme/lora@v1", "--public", "--output", "home"]].concat());
    assert!(answer["folder"].is_string() || answer["files"].is_array(), "{answer}");
    assert!(Path::new(&program.path("home/adapter_model.safetensors")).exists());
    let refused = program.run(&[&command[..], &["hf:acme/lora"]].concat());
    assert!(refused.code == Some(1) && refused.err.contains("hub_public"), "{}", refused.err);
    let refused = program.run(&[&command[..], &["hf:other/lora"]].concat());
    assert!(refused.code == Some(1) && refused.err.contains("hub_push_to"), "{}", refused.err);
    // A machine that pulls it has an adapter.
    let model = setting.server.import(&json!({"source": "hf:acme/lora@v1", "base": "hf:tiny/arith"}));
    assert_eq!(model["status"], "ready", "{model}");
}
