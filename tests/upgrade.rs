//! A data directory of an earlier release, left by a server that was killed in the middle of its work, opens and goes
//! on. `tests/data/upgrade/make.py` made it with the program of that release.

mod common;

use std::path::Path;

use common::{Server, data_dir};
use serde_json::{Value, json};

/// Unpacks the data directory of a release; what it is expected to end with.
fn unpack(release: &str, folder: &Path) -> Value {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/upgrade/{release}.tar"));
    tar::Archive::new(std::fs::File::open(archive).unwrap()).unpack(folder).unwrap();
    serde_json::from_slice(&std::fs::read(folder.join("data/expected.json")).unwrap()).unwrap()
}

#[test]
fn a_data_directory_of_the_first_release_opens_and_goes_on_to_the_same_weights() {
    let folder = data_dir();
    let expected = unpack("0.1.0", folder.path());
    let server = Server::start(&folder.path().join("data"));
    let id = |name: &str| expected[name].as_str().unwrap().to_owned();

    // What was finished is there, with what it made.
    for job in expected["finished"].as_array().unwrap() {
        let job = server.job(job.as_str().unwrap());
        assert_eq!(job["status"], "succeeded", "{job}");
        if let Some(set) = job["rollout_set"].as_str() {
            let set = server.get(&format!("/v1/rollout-sets/{set}")).json();
            assert_eq!(set["status"], "ready");
            let file = set["files"][0]["path"].as_str().unwrap();
            let path = format!("/v1/rollout-sets/{}/files/{file}", set["id"].as_str().unwrap());
            assert_eq!(server.get(&path).bytes.len() as u64, set["files"][0]["size"].as_u64().unwrap());
        }
    }
    let evaluations = server.get("/v1/evaluations").json();
    assert_eq!(evaluations["data"][1]["result"]["prompts"], 4, "{evaluations}");

    // What may change of a job is where it was.
    let paused = server.job(&id("paused"));
    assert_eq!((&paused["status"], &paused["name"]), (&json!("paused"), &json!("paused")));
    assert_eq!(paused["spec_resolved"]["budget"]["device_seconds"], 5000);
    let running = server.job(&id("running"));
    assert_eq!((&running["priority"], &running["spec_resolved"]["priority"]), (&json!(3), &json!(3)));
    assert_eq!(running["metadata"]["note"], running["spec_resolved"]["model"]);

    // What jobs refer to is protected.
    let spec = &paused["spec_resolved"];
    let (model, rows) = (spec["model"].as_str().unwrap(), spec["dataset"]["train"].as_str().unwrap());
    let dataset = server.get("/v1/datasets").json()["data"][0].clone();
    assert_eq!(dataset["latest"]["id"], rows);
    let verifier = paused["spec"]["verifier"].as_str().unwrap();
    for path in [
        format!("/v1/models/{model}"),
        format!("/v1/datasets/{}", dataset["id"].as_str().unwrap()),
        format!("/v1/verifiers/{verifier}"),
    ] {
        assert_eq!(server.delete(&path).status, 409, "{path}");
    }

    // All go on, and end as they would have without the interruption and under the release that began them.
    let resumed = server.post(&format!("/v1/jobs/{}/resume", id("paused")), &json!({}));
    assert_eq!(resumed.status, 200);
    for name in ["running", "paused", "queued"] {
        let job = server.wait(&id(name));
        assert_eq!(job["status"], "succeeded", "{job}");
        assert_eq!(job["result"]["weights_sha256"], expected["weights_sha256"][name], "{name}");
    }
    for name in ["rollouts", "evaluation"] {
        assert_eq!(server.wait(&id(name))["status"], "succeeded", "{name}");
    }
    for name in ["running", "paused"] {
        assert!(server.job(&id(name))["attempt"].as_u64().unwrap() > 1, "{name} was not interrupted");
    }
}
