//! The script part of `examples/ci` against a real server: what it publishes, what it keeps, and how it fails.

mod common;
#[path = "common/program.rs"]
mod program;

use std::process::Command;
use std::sync::LazyLock;

use common::{Server, data_dir, small_spec};
use program::{Program, Said, bytes};
use serde_json::{Value, json};
use tempfile::TempDir;

static SHARED: LazyLock<(Server, TempDir)> = LazyLock::new(|| {
    let folder = data_dir();
    (Server::start(folder.path()), folder)
});

/// What makes the job learn enough to be told from the model that it begins with.
const LEARNING: [&str; 8] = [
    "--set",
    "/train={\"steps\": 40, \"prompts_per_step\": 32}",
    "--set",
    "/objective/rounds=2",
    "--set",
    "/optimizer/learning_rate=0.0003",
    "--set",
    "/dataset/eval=builtin:arithmetic",
];
/// What makes it learn nothing.
const STILL: [&str; 4] = ["--set", "/optimizer/learning_rate=1e-12", "--set", "/train/steps=1"];

/// A folder with a spec, new rows, and a data set on the server.
struct Pipeline {
    program: Program,
    dataset: String,
}

impl Pipeline {
    fn new() -> Self {
        let program = Program::of(&SHARED.0.base);
        let row = |i: usize| {
            let (a, b) = (i * 37 % 100, (i * 53 + 11) % 100);
            json!({"prompt": format!("{a}+{b}="), "answer": a + b}).to_string() + "\n"
        };
        let rows = program.file("first.jsonl", &(0..590).map(row).collect::<String>());
        program.file("rows.jsonl", &(590..600).map(row).collect::<String>());
        let mut spec = small_spec();
        spec["dataset"]["eval"] = json!("builtin:arithmetic");
        spec["train"]["steps"] = json!(4);
        spec["objective"]["rounds"] = json!(1);
        spec["eval"]["every_steps"] = json!(0);
        program.file("job.json", &spec.to_string());
        let dataset = program.json(&["datasets", "upload", &rows])["id"].as_str().unwrap().to_owned();
        Self { program, dataset }
    }

    fn retrain(&self, run: &str, more: &[&str]) -> Said {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/ci/retrain.py");
        let mut command = Command::new("python3");
        command.args([script, "--spec", "job.json", "--dataset", &self.dataset, "--rows", "rows.jsonl", "--run", run]);
        // What the rows teach shows on them without doubt, however it generalises.
        command.args(["--eval-dataset", &self.dataset]);
        command.args(["--prompts", "100", "--samples", "8", "--anneal", env!("CARGO_BIN_EXE_anneal")]);
        command.args(["--summary", "summary.md", "--junit", "junit.xml", "--decision", "decision.json"]);
        command.args(more).current_dir(self.program.folder.path()).env("ANNEAL_SERVER", &SHARED.0.base);
        command.output().unwrap().into()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(bytes(self.program.path(name))).unwrap()
    }

    fn decision(&self) -> Value {
        serde_json::from_str(&self.text("decision.json")).unwrap()
    }

    fn champion(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.program.path("champion.json")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

#[test]
fn a_refused_spec_is_a_failed_step_in_every_report() {
    let pipeline = Pipeline::new();
    // Without new rows the newest version is trained on.
    pipeline.program.file("rows.jsonl", "");
    let said = pipeline.retrain("refused", &["--set", "/train/stepz=1"]);
    assert_eq!(said.code, Some(21), "{}{}", said.out, said.err);
    assert!(said.out.contains("## Failed") && said.out.contains("/train/stepz"), "{}", said.out);
    assert_eq!(pipeline.text("summary.md"), said.out);
    let junit = pipeline.text("junit.xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\"") && junit.contains("/train/stepz"), "{junit}");
    let decision = pipeline.decision();
    assert_eq!((decision["decision"].as_str(), decision["step"].as_str()), (Some("failed"), Some("train")));
    assert!(pipeline.champion().is_none());
}

#[test]
fn a_server_that_is_not_there_is_a_failed_step() {
    let pipeline = Pipeline::new();
    let mut command = Command::new("python3");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/ci/retrain.py");
    command.args([script, "--spec", "job.json", "--dataset", "ds_1", "--run", "r", "--junit", "junit.xml"]);
    command.args(["--anneal", env!("CARGO_BIN_EXE_anneal")]).env("ANNEAL_SERVER", "127.0.0.1:1");
    let said: Said = command.current_dir(pipeline.program.folder.path()).output().unwrap().into();
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.out.contains("no answer from"), "{}", said.out);
}

/// A job that learns beats the model that it began with; one that does not learn loses to the first one's result.
#[test]
fn a_better_candidate_is_published_and_a_worse_one_is_not() {
    let pipeline = Pipeline::new();
    let said = pipeline.retrain("first", &LEARNING);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let (decision, champion) = (pipeline.decision(), pipeline.champion().unwrap());
    assert_eq!((decision["decision"].as_str(), decision["first"].as_bool()), (Some("published"), Some(true)));
    assert_eq!((decision["champion"].as_str(), decision["rows"].as_u64()), (Some("builtin:arith-tiny"), Some(600)));
    assert_eq!((&champion["checkpoint"], &champion["previous"]), (&decision["candidate"], &Value::Null));
    let folder = champion["directory"].as_str().unwrap();
    assert!(!bytes(pipeline.program.path(&format!("{folder}/model.safetensors"))).is_empty());
    assert!(pipeline.text("junit.xml").contains("failures=\"0\" skipped=\"0\""));
    assert!(said.out.contains("## Published") && said.out.contains("pass@1"), "{}", said.out);

    // The same run again finds all that it made, also where nothing is left of its folder but the record.
    std::fs::remove_dir_all(pipeline.program.path("models")).unwrap();
    let again = pipeline.retrain("first", &LEARNING);
    assert_eq!(again.code, Some(0), "{}{}", again.out, again.err);
    for member in ["decision", "job", "dataset_version", "champion", "champion_evaluation", "candidate_evaluation"] {
        assert_eq!(pipeline.decision()[member], decision[member], "{member}");
    }
    assert!(!bytes(pipeline.program.path(&format!("{folder}/model.safetensors"))).is_empty());

    let said = pipeline.retrain("second", &STILL);
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    assert_eq!(
        (pipeline.decision()["decision"].as_str(), pipeline.decision()["first"].as_bool()),
        (Some("worse"), Some(false))
    );
    assert_eq!(pipeline.decision()["champion"], champion["checkpoint"]);
    assert_eq!(pipeline.champion().unwrap()["checkpoint"], champion["checkpoint"]);
    assert!(pipeline.text("junit.xml").contains("failures=\"1\""));
    let said = pipeline.retrain("second", &[&STILL[..], &["--fail-on", "nothing"]].concat());
    assert_eq!((said.code, pipeline.decision()["decision"].as_str()), (Some(0), Some("worse")));
}

/// A job that learns nothing makes a candidate that equals its champion.
#[test]
fn an_inconclusive_comparison_is_an_answer_of_its_own() {
    let pipeline = Pipeline::new();
    let said = pipeline.retrain("still", &STILL);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(pipeline.decision()["decision"], "inconclusive");
    assert!(pipeline.champion().is_none());
    assert!(said.out.contains("## Inconclusive"), "{}", said.out);
    assert!(pipeline.text("junit.xml").contains("<skipped"));
    let said = pipeline.retrain("still", &[&STILL[..], &["--fail-on", "inconclusive"]].concat());
    assert_eq!(said.code, Some(11), "{}{}", said.out, said.err);
    // What hardly differs is not worse for want of an improvement.
    let said = pipeline.retrain("still", &[&STILL[..], &["--min-improvement", "0.5"]].concat());
    assert_eq!(pipeline.decision()["decision"], "inconclusive", "{}{}", said.out, said.err);
}
