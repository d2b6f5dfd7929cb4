//! Exports: finished checkpoints in forms that other programs read, made beside jobs, killed, deleted and refused.

mod common;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/small_disk.rs"]
mod small_disk;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anneal::engine::model::weights::Weights;
use anneal::job::digest::sha256_hex;
use anneal::modelfile::{Inspection, inspect};
use common::{Server, data_dir, signal};
use hub::{Hub, large_model};
use serde_json::{Value, json};
use small_disk::SmallDisk;

/// A job that ends quickly.
fn spec(adapter: Value) -> Value {
    json!({
        "name": "tiny", "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
        "objective": {"type": "sft"}, "adapter": adapter, "train": {"steps": 3, "prompts_per_step": 4},
        "optimizer": {"learning_rate": 1e-2}, "checkpoints": {"dtype": "f32"}, "seed": 7,
    })
}

/// The finished checkpoint of a job with that spec.
fn checkpoint(server: &Server, spec: &Value) -> String {
    let job = server.wait(&server.submit(spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    job["result"]["checkpoint"].as_str().unwrap().to_owned()
}

fn ask(server: &Server, checkpoint: &str, body: &Value) -> Value {
    server.post(&format!("/v1/checkpoints/{checkpoint}/exports"), body).json()
}

/// An export when it is over.
fn over(server: &Server, export: &Value) -> Value {
    let id = export["id"].as_str().unwrap_or_else(|| panic!("{export}"));
    server.get(&format!("/v1/exports/{id}?wait=60")).json()
}

fn ready(server: &Server, checkpoint: &str, body: &Value) -> Value {
    let export = over(server, &ask(server, checkpoint, body));
    assert_eq!((&export["status"], &export["failure"]), (&json!("ready"), &Value::Null), "{export}");
    assert_eq!(export["bytes"], export["bytes_done"]);
    export
}

/// Downloads an export's files into a folder.
fn download(server: &Server, export: &Value, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for file in export["files"].as_array().unwrap() {
        let name = file["path"].as_str().unwrap();
        let bytes = server.get(&format!("/v1/exports/{}/files/{name}", export["id"].as_str().unwrap())).bytes;
        assert_eq!(sha256_hex(&bytes), file["sha256"].as_str().unwrap(), "{name}");
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

fn digests(export: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    export["files"].as_array().unwrap().iter().map(|file| (text(&file["path"]), text(&file["sha256"]))).collect()
}

fn weights(inspection: &Inspection) -> Vec<Vec<f32>> {
    let weights = Weights::load(inspection).unwrap();
    (0..weights.count()).map(|index| weights.values(index).to_vec()).collect()
}

#[test]
fn every_format_of_a_model_and_of_an_adapter_is_downloaded_and_read_again() {
    let data = data_dir();
    let server = Server::start(data.path());
    for adapter in [Value::Null, json!({"type": "lora", "rank": 4})] {
        let checkpoint = checkpoint(&server, &spec(adapter.clone()));
        let folder = tempfile::tempdir().unwrap();
        let mut read = Vec::new();
        for (name, body) in [
            ("merged", json!({"format": "merged", "dtype": "f32"})),
            ("gguf", json!({"format": "gguf", "dtype": "f32"})),
            ("half", json!({"format": "gguf", "dtype": "f16"})),
            ("bits", json!({"format": "gguf"})),
            ("short", json!({"format": "merged"})),
        ] {
            let export = ready(&server, &checkpoint, &body);
            download(&server, &export, &folder.path().join(name));
            read.push(weights(&inspect(&folder.path().join(name)).unwrap()));
            let again = ask(&server, &checkpoint, &body);
            assert_eq!(again["id"], export["id"], "what is there is not made again");
        }
        // The same numbers in both, and in fewer bits near them.
        assert!(read[0] == read[1]);
        for (other, tolerance) in [(2, 1e-3), (3, 1e-2), (4, 8e-3)] {
            let pairs = read[0].iter().flatten().zip(read[other].iter().flatten());
            let worst = pairs.map(|(a, b)| (a - b).abs() / a.abs().max(0.5)).fold(0.0_f32, f32::max);
            assert!(worst > 0.0 && worst < tolerance, "{other}: {worst}");
        }
        let manifest = server.get(&format!("/v1/checkpoints/{checkpoint}/manifest")).json();
        let files: Vec<&str> =
            manifest["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
        if adapter.is_null() {
            assert!(files.contains(&"model.safetensors"));
            let own = server.get(&format!("/v1/checkpoints/{checkpoint}/files/model.safetensors")).bytes;
            assert!(own == std::fs::read(folder.path().join("merged/model.safetensors")).unwrap());
        } else {
            let export = ready(&server, &checkpoint, &json!({"format": "adapter"}));
            let own = digests(&json!({"files": manifest["files"]}));
            for name in ["adapter_model.safetensors", "adapter_config.json", "tokenizer.json"] {
                assert_eq!(digests(&export)[name], own[name], "{name}");
            }
            // It is another model than the one that it was trained beside.
            let base = weights(&inspect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny")).unwrap());
            assert!(read[0] != base);
        }
        let card = std::fs::read_to_string(folder.path().join("gguf/README.md")).unwrap();
        // No hub has the base, so that nothing in front names it.
        assert!(card.starts_with("---\nlibrary_name: gguf\npipeline_tag: text-generation\n"), "{card}");
        let trained = if adapter.is_null() { "A model trained from" } else { "An adapter trained beside" };
        assert!(card.contains(&format!("{trained} `builtin:arith-tiny` with the objective `sft`")), "{card}");
        let listed = server.get(&format!("/v1/exports?checkpoint={checkpoint}")).json();
        let expected = if adapter.is_null() { 5 } else { 6 };
        assert_eq!(listed["data"].as_array().unwrap().len(), expected);
        let archive = server.get(&format!("/v1/exports/{}/archive", listed["data"][0]["id"].as_str().unwrap()));
        assert_eq!(archive.status, 200);
    }
}

#[test]
fn what_cannot_be_exported_is_refused_with_its_reason() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut spec = spec(Value::Null);
    spec["checkpoints"]["every_steps"] = json!(1);
    let finished = checkpoint(&server, &spec);
    let all = server.get("/v1/checkpoints?order=asc").json();
    let training = all["data"].as_array().unwrap().iter().find(|row| row["kind"] == "training").unwrap();
    let training = training["id"].as_str().unwrap();
    for (checkpoint, body, pointer, code) in [
        (training, json!({"format": "merged"}), "/format", "not_finished"),
        (&*finished, json!({"format": "adapter"}), "/format", "no_adapter"),
        (&*finished, json!({"format": "merged", "dtype": "q8_0"}), "/dtype", "unknown_dtype"),
        (&*finished, json!({"format": "gguf", "dtype": "q4_k_m"}), "/dtype", "not_in_gguf"),
    ] {
        let answer = server.post(&format!("/v1/checkpoints/{checkpoint}/exports"), &body);
        let problem = answer.json();
        assert_eq!(answer.status, 422, "{problem}");
        let error = &problem["errors"][0];
        assert_eq!((&error["pointer"], &error["code"]), (&json!(pointer), &json!(code)), "{problem}");
    }
    let answer = server.post(&format!("/v1/checkpoints/{finished}/exports"), &json!({"format": "zip"}));
    assert_eq!(answer.status, 422, "{}", answer.json());
    assert_eq!(server.get("/v1/exports").json()["data"], json!([]));
}

/// A model goes out in codes of four bits and comes back as the frozen weights of adapters, on a device that has no room to
/// train all of it.
#[test]
fn a_model_in_codes_comes_back_and_trains_where_all_weights_do_not_fit() {
    let data = data_dir();
    let roots = tempfile::tempdir().unwrap();
    std::fs::create_dir(roots.path().join("plain")).unwrap();
    for (name, bytes) in large_model() {
        std::fs::write(roots.path().join("plain").join(name), bytes).unwrap();
    }
    let place = roots.path().to_str().unwrap();
    let server = Server::start_with(data.path(), &["--devices", "simulated:224MiB", "--import-roots", place]);
    let import = |path: &Path| server.import(&json!({"path": path.to_str().unwrap()}))["id"].clone();
    let with_adapter = |model: &Value| {
        let mut spec = spec(json!({"type": "lora", "rank": 2}));
        spec["model"] = model.clone();
        spec["sampling"] = json!({"batch_size": 8});
        spec
    };
    let trained = checkpoint(&server, &with_adapter(&import(&roots.path().join("plain"))));

    let mut read = Vec::new();
    for dtype in ["f32", "q8_0", "q4_k_m"] {
        let export = ready(&server, &trained, &json!({"format": "gguf", "dtype": dtype}));
        let folder = roots.path().join(dtype);
        download(&server, &export, &folder);
        read.push(weights(&inspect(&folder).unwrap()).concat());
    }
    // Beside their own size, as a norm: 8 bits are off by less than a hundredth, 4 to 6 bits by less than a tenth.
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let size = norm(&mut read[0].iter().copied());
    let off = |other: &[f32]| norm(&mut read[0].iter().zip(other).map(|(a, b)| a - b)) / size;
    let (eight, four) = (off(&read[1]), off(&read[2]));
    assert!(eight > 0.0 && eight < 0.01 && four > 2.0 * eight && four < 0.1, "{eight} {four}");

    let quantised = import(&roots.path().join("q4_k_m"));
    let mut whole = with_adapter(&quantised);
    whole["adapter"] = Value::Null;
    let refused = server.post("/v1/jobs", &whole);
    let error = refused.json()["errors"][0].clone();
    assert_eq!((refused.status, error["code"].as_str()), (422, Some("too_little_memory")), "{error}");
    assert!(error["detail"].as_str().unwrap().contains("an `adapter` in the place of all weights (saves "), "{error}");
    checkpoint(&server, &with_adapter(&quantised));
}

/// The process that makes an export of the server, stopped before it has made any.
fn stopped_exporter(server: &Server) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(Instant::now() < deadline, "no process makes exports");
        for child in children(server.pid()) {
            let command = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if command.split(|byte| *byte == 0).any(|word| word == b"exporter") {
                signal(child, "STOP");
                return child;
            }
        }
    }
}

fn children(of: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()).collect()
}

/// Files below a folder of the data directory.
fn left(data: &Path, folder: &str) -> usize {
    std::fs::read_dir(data.join(folder)).map_or(0, Iterator::count)
}

#[test]
fn a_killed_export_ends_with_the_same_bytes() {
    let data = data_dir();
    let server = Server::start(data.path());
    let checkpoint = checkpoint(&server, &spec(json!({"type": "lora", "rank": 4})));
    let body = json!({"format": "gguf"});
    let wanted = ready(&server, &checkpoint, &body);
    let deleted = server.delete(&format!("/v1/exports/{}", wanted["id"].as_str().unwrap()));
    assert_eq!((deleted.status, left(data.path(), "exports")), (200, 0));

    // The process alone: nobody says why, and the export is asked for again.
    let export = ask(&server, &checkpoint, &body);
    signal(stopped_exporter(&server), "KILL");
    let failed = over(&server, &export);
    assert_eq!(
        (&failed["status"], &failed["failure"]["code"]),
        (&json!("failed"), &json!("out_of_memory")),
        "{failed}"
    );

    // The server with it: the next one makes it anew.
    let export = ask(&server, &checkpoint, &body);
    let exporter = stopped_exporter(&server);
    server.kill();
    signal(exporter, "KILL");
    let server = Server::start(data.path());
    let made = over(&server, &export);
    assert_eq!((&made["status"], digests(&made)), (&json!("ready"), digests(&wanted)), "{made}");
    drop(server);
    let server = Server::start(data.path());
    assert_eq!((left(data.path(), "exports"), left(data.path(), "uploads")), (1, 0));
    drop(server);
}

#[test]
fn an_export_that_finds_the_disk_full_fails_and_leaves_nothing_behind() {
    let (hub, disk) = (Hub::start(), SmallDisk::new());
    hub.put_files("large/model", large_model());
    let server = disk.start(&["--hub-endpoint", &hub.base]);
    let spec = json!({
        "model": server.import(&json!({"source": "hf:large/model"}))["id"], "dataset": {"train": "builtin:arithmetic"},
        "objective": {"type": "sft"}, "adapter": {"type": "lora", "rank": 2},
        "train": {"steps": 1, "prompts_per_step": 2},
    });
    let job = server.wait(&server.submit(&spec));
    let checkpoint = job["result"]["checkpoint"].as_str().unwrap_or_else(|| panic!("{job}"));
    let export = || {
        let made = server.post(&format!("/v1/checkpoints/{checkpoint}/exports"), &json!({"format": "gguf"}));
        assert!(made.status < 300, "{}", made.json());
        server.get(&format!("/v1/exports/{}?wait=60", made.json()["id"].as_str().unwrap())).json()
    };
    // Room for rows, but not for 25 MB, with what is kept in reserve.
    disk.fill();
    let filler = std::fs::OpenOptions::new().write(true).open(disk.path("filler")).unwrap();
    filler.set_len(filler.metadata().unwrap().len() - (2 << 20)).unwrap();
    drop(filler);
    let failed = export();
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("storage_full")), "{failed}");
    assert!(failed["failure"]["message"].as_str().unwrap().contains("free some space"), "{failed}");
    assert_eq!(std::fs::read_dir(disk.path("exports")).map_or(0, Iterator::count), 0);
    disk.free();
    let made = export();
    assert_eq!(made["status"], "ready", "{made}");
}

#[test]
fn what_is_deleted_under_an_export_leaves_nothing_behind() {
    let data = data_dir();
    let server = Server::start(data.path());
    for what in ["exports", "jobs"] {
        let checkpoint = checkpoint(&server, &spec(Value::Null));
        let export = ask(&server, &checkpoint, &json!({"format": "merged"}));
        let exporter = stopped_exporter(&server);
        let kept = server.delete(&format!("/v1/checkpoints/{checkpoint}"));
        assert_eq!((kept.status, &kept.json()["code"]), (409, &json!("in_use")));
        let unready = server.get(&format!("/v1/exports/{}/manifest", export["id"].as_str().unwrap()));
        assert_eq!((unready.status, &unready.json()["code"]), (409, &json!("export_not_ready")));
        let id = if what == "jobs" { &export["job"] } else { &export["id"] };
        assert_eq!(server.delete(&format!("/v1/{what}/{}", id.as_str().unwrap())).status, 200);
        let deadline = Instant::now() + Duration::from_secs(20);
        while Path::new(&format!("/proc/{exporter}")).exists() || left(data.path(), "exports") > 0 {
            assert!(Instant::now() < deadline, "the export goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
        let gone = server.get(&format!("/v1/exports/{}", export["id"].as_str().unwrap()));
        assert_eq!(gone.status, 404);
    }
}

/// Runs the program as a client of the server.
fn anneal(server: &Server, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_anneal"))
        .args(arguments)
        .env("ANNEAL_SERVER", &server.base)
        .env("ANNEAL_PROFILES", std::env::temp_dir().join("no-profiles.toml"))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_downloaded_folder_is_verified_offline_and_no_changed_byte_passes() {
    let (data, home) = (data_dir(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path());
    let checkpoint = checkpoint(&server, &spec(json!({"type": "lora", "rank": 4})));
    let at = |name: &str| home.path().join(name).display().to_string();
    std::fs::write(at("jwks.json"), server.get("/.well-known/jwks.json").bytes).unwrap();
    let exported = anneal(&server, &["export", &checkpoint, "--format", "merged", "--output", &at("merged")]);
    assert!(exported.0, "{}", exported.1);
    let archive = server.get(&format!("/v1/checkpoints/{checkpoint}/archive")).bytes;
    tar::Archive::new(&archive[..]).unpack(home.path()).unwrap();
    drop(server);

    // Offline from here on, but for the address that nobody answers at.
    let other_data = data_dir();
    let other = Server::start(other_data.path());
    for folder in ["merged", &*checkpoint] {
        let verified = anneal(&other, &["verify", &at(folder), "--key", &at("jwks.json"), "--json"]);
        assert!(verified.0, "{}", verified.1);
        let said: Value = serde_json::from_str(&verified.1).unwrap();
        let built = &said["predicate"]["buildDefinition"];
        assert_eq!(built["externalParameters"]["spec"]["objective"]["type"], "sft", "{said}");
        let all = built["resolvedDependencies"].as_array().unwrap();
        let model = all.iter().find(|of| of["name"] == "model").unwrap_or_else(|| panic!("{said}"));
        assert_eq!(model["uri"], "urn:anneal:builtin:arith-tiny", "{said}");
        assert_eq!(model["digest"]["sha256"].as_str().map(str::len), Some(64), "{said}");
        assert_eq!(said["unsigned"], json!([]));
    }
    let refused = |change: &dyn Fn(), folder: &str, code: &str| {
        change();
        let verified = anneal(&other, &["verify", &at(folder), "--key", &at("jwks.json")]);
        assert!(!verified.0 && verified.1.contains(code), "{code}: {}", verified.1);
    };
    let change = |name: &str, at_byte: usize, to: &dyn Fn(u8) -> u8| {
        let path = home.path().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at_byte] = to(bytes[at_byte]);
        std::fs::write(path, bytes).unwrap();
    };
    let flip = |name: &str, at_byte| change(name, at_byte, &|byte| byte ^ 1);
    // Base64 both before and after.
    let change_letter = |name: &str, at_byte| change(name, at_byte, &|byte| if byte == b'A' { b'B' } else { b'A' });
    refused(&|| flip("merged/model.safetensors", 5000), "merged", "digest_mismatch");
    let place = std::fs::read_to_string(at("merged/provenance.json")).unwrap().find("payload\"").unwrap() + 200;
    refused(&|| change_letter("merged/provenance.json", place), "merged", "signature_invalid");
    refused(&|| change("merged/provenance.json", place, &|_| b'*'), "merged", "provenance_invalid");
    let foreign = anneal(&other, &["verify", &at(&checkpoint)]);
    assert!(!foreign.0 && foreign.1.contains("signature_invalid"), "another server has another key: {}", foreign.1);
    refused(&|| std::fs::remove_file(at(&format!("{checkpoint}/README.md"))).unwrap(), &checkpoint, "README.md");
    drop(other);
    let server = Server::start(data.path());
    assert_eq!(server.get("/.well-known/jwks.json").bytes, std::fs::read(at("jwks.json")).unwrap());
}

#[test]
fn a_bundle_runs_again_on_another_server_and_ends_with_the_same_weights() {
    let (data, home) = (data_dir(), tempfile::tempdir().unwrap());
    let at = |name: &str| home.path().join(name).display().to_string();
    let rows = b"{\"q\": \"1+2=\", \"completion\": \"3\"}\n{\"q\": \"2+2=\", \"completion\": \"4\"}\n";
    let server = Server::start(data.path());
    let upload = "/v1/datasets?prompt_column=q";
    let dataset = server.post_bytes(upload, rows, &[("content-type", "application/jsonl")]).json();
    let mut spec = spec(Value::Null);
    spec["dataset"]["train"] = dataset["id"].clone();
    let job = server.wait(&server.submit(&spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    let bundled = anneal(&server, &["bundle", job["id"].as_str().unwrap(), "--output", &at("bundle")]);
    assert!(bundled.0, "{}", bundled.1);
    drop(server);

    let other_data = data_dir();
    let other = Server::start(other_data.path());
    let replayed = anneal(&other, &["replay", &at("bundle")]);
    assert!(replayed.0 && replayed.1.contains("the same"), "{}", replayed.1);
    let change = |from: &str, to: &str| {
        let text = std::fs::read_to_string(at("bundle/bundle.json")).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(at("bundle/bundle.json"), text.replacen(from, to, 1)).unwrap();
    };
    change("\"seed\": 7", "\"seed\": 8");
    let others = anneal(&other, &["replay", &at("bundle"), "--json"]);
    assert!(!others.0 && others.1.contains("\"same_weights\": false"), "{}", others.1);
    change("\"program\": \"", "\"program\": \"9.");
    let refused = anneal(&other, &["replay", &at("bundle")]);
    assert!(!refused.0 && refused.1.contains("bundle_version"), "{}", refused.1);
}
