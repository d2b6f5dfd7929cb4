//! The OpenAI-compatible view over HTTP: files, uploads, fine-tuning jobs, graders, models. `tests/openai/script.py`
//! goes through the same with the stock client; here are the edges that a client never meets.

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use common::{Answer, Server, data_dir, small_spec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const BOUNDARY: &str = "a-boundary";

/// One server for the tests of this file that need nothing special; its folder and itself live as long as the process.
fn server() -> &'static Server {
    static SERVER: OnceLock<(TempDir, Server)> = OnceLock::new();
    let (_, server) = SERVER.get_or_init(|| {
        let data = data_dir();
        let server =
            Server::start_with(data.path(), &["--import-roots", concat!(env!("CARGO_MANIFEST_DIR"), "/assets")]);
        (data, server)
    });
    server
}

/// Sends a form; a field with a file name is a file.
fn post_form(server: &Server, path: &str, fields: &[(&str, Option<&str>, &[u8])]) -> Answer {
    let mut body = Vec::new();
    for (name, filename, content) in fields {
        let filename = filename.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        let head = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"{filename}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    post_multipart(server, path, &body)
}

fn post_multipart(server: &Server, path: &str, body: &[u8]) -> Answer {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    server.post_bytes(path, body, &[("content-type", &kind)])
}

/// Clients draw a new boundary for each try.
#[test]
fn a_form_is_known_again_by_its_idempotency_key() {
    let server = server();
    let post = |boundary: &str, content: &str| {
        let part = |name: &str, value: &str| {
            format!("--{boundary}\r\ncontent-disposition: form-data; name={name}\r\n\r\n{value}\r\n")
        };
        let file = part("\"file\"; filename=\"rows.jsonl\"", content);
        let body = format!("{}{file}--{boundary}--\r\n", part("\"purpose\"", "fine-tune"));
        let kind = format!("multipart/form-data; boundary={boundary}");
        let headers = [("content-type", kind.as_str()), ("idempotency-key", "form")];
        server.post_bytes("/v1/files", body.as_bytes(), &headers)
    };
    let (first, again) = (post("one", "{}"), post("two", "{}"));
    assert_eq!((first.status, again.status, again.header("idempotent-replayed")), (201, 201, "true"));
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(post("three", "[]").problem(), "idempotency_key_reused");
}

/// Uploads a file to train on and returns its id.
fn upload(server: &Server, content: &str) -> String {
    let fields = [("file", Some("rows.jsonl"), content.as_bytes()), ("purpose", None, b"fine-tune")];
    let answer = post_form(server, "/v1/files", &fields);
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn supervised(file: &str) -> Value {
    json!({
        "model": "builtin:arith-tiny",
        "training_file": file,
        "hyperparameters": {"n_epochs": 1, "batch_size": 2},
    })
}

fn create(server: &Server, request: &Value) -> Value {
    let answer = server.post("/v1/fine_tuning/jobs", request);
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()
}

/// The pointers and codes of a refused request.
fn refusals(answer: &Answer) -> Vec<(String, String)> {
    assert_eq!(answer.problem(), "invalid_spec", "{}", answer.json());
    let errors = answer.json()["errors"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    errors.iter().map(|error| (text(&error["pointer"]), text(&error["code"]))).collect()
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_file_is_served_whole_and_in_ranges_until_it_is_deleted() {
    let content = b"some bytes";
    let sha256: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    for reversed in [false, true] {
        let mut fields = [("purpose", None, &b"user_data"[..]), ("file", Some("../a b.txt"), &content[..])];
        if reversed {
            fields.reverse();
        }
        let made = post_form(server(), "/v1/files", &fields).json();
        assert_eq!(
            (&made["filename"], &made["bytes"], &made["sha256"]),
            (&json!("a b.txt"), &json!(10), &json!(sha256))
        );
        let path = format!("/v1/files/{}", made["id"].as_str().unwrap());
        assert_eq!(server().get(&path).json(), made);
        let whole = server().get(&format!("{path}/content"));
        assert_eq!((whole.status, whole.bytes.as_slice()), (200, &content[..]));
        assert_eq!(whole.header("content-disposition"), "attachment; filename=\"a b.txt\"");
        let part = server().get_with(&format!("{path}/content"), &[("range", "bytes=5-")]);
        assert_eq!((part.status, part.bytes.as_slice()), (206, &b"bytes"[..]));
        let known = server().get_with(&format!("{path}/content"), &[("if-none-match", whole.header("etag"))]);
        assert_eq!(known.status, 304);
        assert_eq!(server().delete(&path).json()["deleted"], true);
        for gone in [server().get(&path), server().get(&format!("{path}/content")), server().delete(&path)] {
            assert_eq!((gone.status, gone.problem().as_str()), (404, "not_found"));
        }
    }
}

#[test]
fn a_form_that_is_not_as_expected_is_refused_and_leaves_nothing() {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--max-upload-bytes", "1000"]);
    let file = ("file", Some("f"), &b"content"[..]);
    let purpose = ("purpose", None, &b"fine-tune"[..]);
    for (fields, pointer, code) in [
        (vec![file], "/purpose", "missing_field"),
        (vec![purpose], "/file", "missing_field"),
        (vec![file, ("purpose", None, b"fun")], "/purpose", "unknown_value"),
        (vec![file, purpose, ("colour", None, b"red")], "/colour", "unknown_field"),
        (vec![file, purpose, file], "/file", "unknown_field"),
        (vec![purpose, ("file", Some("f"), b"")], "/file", "out_of_range"),
        (vec![file, purpose, ("expires_after[seconds]", None, b"60")], "/expires_after/anchor", "unknown_value"),
    ] {
        let answer = post_form(&server, "/v1/files", &fields);
        assert_eq!(refusals(&answer), [(pointer.to_owned(), code.to_owned())]);
    }
    let large = vec![b'x'; 200_000];
    let answer = post_form(&server, "/v1/files", &[purpose, ("file", Some("f"), &large)]);
    assert_eq!((answer.status, answer.problem().as_str()), (413, "upload_too_large"));
    let open = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nrows");
    let cut = post_multipart(&server, "/v1/files", open.as_bytes());
    assert_eq!((cut.status, cut.problem().as_str()), (400, "upload_incomplete"));
    let json = server.post("/v1/files", &json!({"purpose": "fine-tune"}));
    assert_eq!((json.status, json.problem().as_str()), (400, "invalid_form"));
    assert_eq!(server.get("/v1/files").json()["data"], json!([]));
    for folder in ["uploads", "files"] {
        assert_eq!(entries(&data.path().join(folder)), 0, "{folder}");
    }
    let announced = json!({"filename": "f", "purpose": "fine-tune", "bytes": 1001, "mime_type": "text/plain"});
    assert_eq!(server.post("/v1/uploads", &announced).problem(), "upload_too_large");
}

#[test]
fn parts_survive_a_restart_and_become_one_file_in_the_order_asked_for() {
    let data = data_dir();
    let server = Server::start(data.path());
    let announced = json!({"filename": "f", "purpose": "fine-tune", "bytes": 6, "mime_type": "text/plain"});
    let upload = server.post("/v1/uploads", &announced).json()["id"].as_str().unwrap().to_owned();
    let send = |server: &Server, content: &[u8]| {
        let answer = post_form(server, &format!("/v1/uploads/{upload}/parts"), &[("data", Some("x"), content)]);
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let end = send(&server, b"def");
    server.kill();
    let server = Server::start(data.path());
    let begin = send(&server, b"abc");
    let complete =
        |parts: &[&String]| server.post(&format!("/v1/uploads/{upload}/complete"), &json!({"part_ids": parts}));
    let refused = |pointer: &str, code: &str| [(pointer.to_owned(), code.to_owned())];
    assert_eq!(refusals(&complete(&[&begin])), refused("/part_ids", "size_mismatch"));
    assert_eq!(refusals(&complete(&[&begin, &begin])), refused("/part_ids/1", "duplicate"));
    assert_eq!(refusals(&complete(&[&upload])), refused("/part_ids/0", "not_found"));
    let too_much = post_form(&server, &format!("/v1/uploads/{upload}/parts"), &[("data", Some("x"), b"1234567")]);
    assert_eq!(too_much.problem(), "upload_too_large");
    let done = complete(&[&begin, &end]).json();
    assert_eq!(done["status"], "completed", "{done}");
    let content = server.get(&format!("/v1/files/{}/content", done["file"]["id"].as_str().unwrap()));
    assert_eq!(content.bytes, b"abcdef");
    assert_eq!(entries(&data.path().join("parts")), 0);
    let again = complete(&[&begin, &end]);
    assert_eq!((again.status, again.problem().as_str()), (409, "conflict"));
    assert_eq!(again.header("x-should-retry"), "false");
}

#[test]
fn a_data_set_is_made_of_a_file_that_came_before_and_outlives_it() {
    let data = data_dir();
    let server = Server::start(data.path());
    let rows = "{\"question\": \"1+1=\", \"answer\": 2}\n{\"question\": \"2+2=\", \"answer\": 4}\n";
    let file = upload(&server, rows);
    let refused = server.post_bytes(&format!("/v1/datasets?file={file}"), b"", &[]);
    assert_eq!((refused.status, refused.problem().as_str()), (422, "row_missing_column"), "{}", refused.json());
    let made = server.post_bytes(&format!("/v1/datasets?file={file}&name=sums&prompt_column=question"), b"", &[]);
    assert_eq!(made.status, 201, "{}", made.json());
    let version = made.json()["latest"].clone();
    assert_eq!((&made.json()["name"], &version["rows"]), (&json!("sums"), &json!(2)));
    assert_eq!(server.delete(&format!("/v1/files/{file}")).status, 200);
    let content = server.get(&format!("/v1/dataset-versions/{}/content", version["id"].as_str().unwrap()));
    assert_eq!(content.bytes, rows.as_bytes());
    assert_eq!(server.post_bytes(&format!("/v1/datasets?file={file}"), b"", &[]).status, 404);
    let both = server.post_bytes(&format!("/v1/datasets?file={file}"), b"{\"prompt\": \"1+1=\"}", &[]);
    assert_eq!((both.status, both.problem().as_str()), (400, "invalid_parameter"));
    let wrong = server.post_bytes("/v1/datasets?file=rows.jsonl", b"", &[]);
    assert_eq!((wrong.status, wrong.problem().as_str()), (400, "invalid_parameter"));
}

#[test]
fn a_file_becomes_one_data_set_however_many_jobs_use_it() {
    let data = data_dir();
    let server = Server::start(data.path());
    let chat = upload(
        &server,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"1+1=\"},{\"role\":\"assistant\",\"content\":\"2\"}],\"n\":1}\n",
    );
    let trained_on = |file: &str| {
        let job = create(&server, &supervised(file));
        let spec = server.job(job["id"].as_str().unwrap())["spec_resolved"].clone();
        (job["training_file"].clone(), spec["dataset"]["train"].as_str().unwrap().to_owned())
    };
    let (named, version) = trained_on(&chat);
    assert_eq!(named, json!(chat));
    assert_eq!(trained_on(&chat).1, version);
    let rows = std::fs::read_to_string(data.path().join(format!("datasets/{version}.jsonl"))).unwrap();
    let row: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(row, json!({"prompt": "1+1=", "n": 1, "completion": "2"}));
    // Rows that need no change are not copied, and outlive the file.
    let plain =
        upload(&server, "{\"prompt\":\"1+1=\",\"completion\":\"2\"}\r\n\n{\"prompt\":\"2+2=\",\"completion\":\"4\"}");
    let (_, version) = trained_on(&plain);
    let inode = |path: String| data.path().join(path).metadata().unwrap().ino();
    // Object storage copies by itself, and nothing of it is here.
    let is_here = std::env::var_os("ANNEAL_TEST_S3").is_none();
    assert!(!is_here || inode(format!("datasets/{version}.jsonl")) == inode(format!("files/{plain}")));
    assert_eq!(server.delete(&format!("/v1/files/{plain}")).status, 200);
    assert!(!is_here || data.path().join(format!("datasets/{version}.jsonl")).exists());
    assert_eq!(refusals(&server.post("/v1/fine_tuning/jobs", &supervised(&plain)))[0].0, "/training_file");
}

#[test]
fn what_is_wrong_with_a_request_is_said_where_it_stands() {
    let chat = "{\"messages\":[{\"role\":\"user\",\"content\":\"1+1=\"},{\"role\":\"assistant\",\"content\":\"2\"}]}\n";
    let file = upload(server(), chat);
    let post = |change: Value| {
        let mut request = supervised(&file);
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        if request["method"].is_object() {
            request.as_object_mut().unwrap().remove("hyperparameters");
        }
        server().post("/v1/fine_tuning/jobs", &request)
    };
    let functions = upload(server(), &chat.replace("}]}", "}],\"functions\":[{\"name\":\"f\"}]}"));
    let empty = upload(server(), "\n");
    let no_answer = json!({"type": "reinforcement", "reinforcement": {"grader": {"type": "numeric"}}});
    let rounds = json!({"type": "bolt", "bolt": {"rounds": 9, "grader": {"type": "regex", "pattern": "2"}}});
    let steps = json!({"n_epochs": 10_000, "batch_size": 1, "learning_rate_multiplier": 1_000_000});
    for (change, pointer, code) in [
        (json!({"training_file": functions}), "/training_file", "row_wrong_type"),
        (json!({"training_file": empty}), "/training_file", "dataset_empty"),
        (json!({"validation_file": "file-x"}), "/validation_file", "not_found"),
        (json!({"model": "none"}), "/model", "unknown_model"),
        (json!({"colour": "red"}), "/colour", "unknown_field"),
        (json!({"metadata": {"k": "x".repeat(513)}}), "/metadata", "out_of_range"),
        (json!({"suffix": "x".repeat(300)}), "/suffix", "out_of_range"),
        (json!({"method": no_answer}), "/training_file", "row_missing_column"),
        (json!({"method": rounds}), "/method/bolt/rounds", "out_of_range"),
        (json!({"method": {"type": "bolt"}}), "/method/bolt/grader", "missing_field"),
        (json!({"hyperparameters": steps}), "/hyperparameters/learning_rate_multiplier", "out_of_range"),
        (json!({"integrations": [{"type": "wandb"}]}), "/integrations", "unsupported_field"),
    ] {
        assert_eq!(refusals(&post(change.clone()))[0], (pointer.to_owned(), code.to_owned()), "{change}");
    }
}

#[test]
fn one_key_makes_one_job_and_another_body_is_refused() {
    let file = upload(server(), "{\"prompt\":\"1+1=\",\"completion\":\"2\"}\n");
    let send = |request: &Value| {
        let headers = [("content-type", "application/json"), ("idempotency-key", "one-key")];
        server().post_bytes("/v1/fine_tuning/jobs", request.to_string().as_bytes(), &headers)
    };
    let first = send(&supervised(&file));
    let second = send(&supervised(&file));
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert_eq!((&first.json()["id"], &first.json()["method"]), (&second.json()["id"], &second.json()["method"]));
    let mut other = supervised(&file);
    other["seed"] = json!(1);
    assert_eq!(send(&other).problem(), "idempotency_key_reused");
}

#[test]
fn a_job_submitted_as_a_spec_is_shown_in_the_words_of_openai() {
    let mut spec = small_spec();
    spec["metadata"] = json!({"from": "spec"});
    let id = server().submit(&spec);
    let path = format!("/v1/fine_tuning/jobs/{id}");
    let shown = server().get(&path).json();
    assert_eq!((&shown["training_file"], &shown["suffix"]), (&json!("builtin:arithmetic"), &json!("small")));
    assert_eq!((&shown["method"]["type"], &shown["method"]["bolt"]["group_size"]), (&json!("bolt"), &json!(4)));
    assert_eq!(
        shown["hyperparameters"],
        json!({"n_epochs": "auto", "batch_size": 16, "learning_rate_multiplier": 30.0})
    );
    let listed = server().get("/v1/fine_tuning/jobs?metadata%5Bfrom%5D=spec").json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert_eq!(server().get("/v1/fine_tuning/jobs?metadata%5Bfrom%5D=nowhere").json()["data"], json!([]));
    let finished = server().wait(&id);
    let shown = server().get(&path).json();
    assert_eq!(
        (&shown["status"], &shown["fine_tuned_model"]),
        (&json!("succeeded"), &finished["result"]["checkpoint"])
    );
    assert!(shown["trained_tokens"].as_u64().unwrap() > 0);
    let checkpoints = server().get(&format!("{path}/checkpoints")).json();
    assert_eq!(checkpoints["data"][0]["fine_tuned_model_checkpoint"], shown["fine_tuned_model"]);
    assert_eq!(checkpoints["data"].as_array().unwrap().len(), 1);

    let rollouts = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                          "verifier": {"type": "numeric"}, "prompts": 2, "group_size": 2});
    let made = server().post("/v1/rollout-sets", &rollouts).json();
    let other = made["job"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    for path in ["", "/events", "/checkpoints"] {
        assert_eq!(server().get(&format!("/v1/fine_tuning/jobs/{other}{path}")).problem(), "not_found");
    }
    assert_eq!(server().post(&format!("/v1/fine_tuning/jobs/{other}/cancel"), &json!({})).problem(), "not_found");
}

#[test]
fn a_stored_verifier_is_tried_on_completions() {
    let config = json!({"type": "multi", "calculate_output": "0.5 * same + 0.5 * number", "graders": {
        "same": {"type": "string_check", "input": "{{ sample.output_text }}", "reference": "{{ item.want }}",
                 "operation": "eq"},
        "number": {"type": "numeric"}}});
    let stored = server().post("/v1/verifiers", &json!({"config": config})).json();
    let path = format!("/v1/verifiers/{}/test", stored["id"].as_str().unwrap());
    let row = json!({"want": "4", "answer": 4});
    let completions = json!([
        {"completion": "4", "row": row},
        {"completion": "it is 4", "row": row},
        {"completion": "4", "row": {"want": "4"}},
    ]);
    let verdicts = server().post(&path, &json!({"completions": completions})).json();
    let rewards: Vec<&Value> = verdicts["data"].as_array().unwrap().iter().map(|verdict| &verdict["reward"]).collect();
    assert_eq!(rewards, [&json!(1.0), &json!(0.5), &Value::Null]);
    assert_eq!(verdicts["data"][2]["status"], "error");
    assert_eq!(refusals(&server().post(&path, &json!({"completions": []})))[0].0, "/completions");
    assert_eq!(server().post("/v1/verifiers/vf_x/test", &json!({"completions": completions})).problem(), "not_found");
}

#[test]
fn an_imported_model_can_be_deleted_when_no_job_needs_it() {
    let data = data_dir();
    let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
    let server = Server::start_with(data.path(), &["--import-roots", assets]);
    let imported = server.import(&json!({"path": format!("{assets}/arith-tiny")}));
    let id = imported["id"].as_str().unwrap_or_else(|| panic!("{imported}")).to_owned();
    assert_eq!((&imported["created"], &imported["owned_by"]), (&imported["created_at"], &json!("import")));
    let mut spec = small_spec();
    spec["model"] = json!(id);
    spec["train"]["steps"] = json!(2000);
    let job = server.submit(&spec);
    let path = format!("/v1/models/{id}");
    let refused = server.delete(&path);
    assert_eq!((refused.status, refused.problem().as_str()), (409, "conflict"));
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    server.wait(&job);
    assert_eq!(server.delete(&path).json(), json!({"id": id, "object": "model", "deleted": true}));
    assert_eq!(server.get(&path).status, 404);
    assert_eq!(entries(&data.path().join("models")), 0);
    assert_eq!(server.delete("/v1/models/builtin:arith-tiny").problem(), "conflict");
}

#[test]
fn models_of_all_kinds_are_listed_page_by_page_without_gap_or_repeat() {
    let id = server().submit(&small_spec());
    let finished = server().wait(&id)["result"]["checkpoint"].as_str().unwrap().to_owned();
    for order in ["asc", "desc"] {
        let (mut ids, mut after) = (Vec::new(), String::new());
        loop {
            let page = server().get(&format!("/v1/models?limit=1&order={order}{after}")).json();
            ids.extend(page["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned()));
            if page["has_more"] != json!(true) {
                break;
            }
            after = format!("&after={}", page["last_id"].as_str().unwrap());
        }
        assert!(ids.contains(&finished) && ids.iter().any(|id| id == "builtin:arith-tiny"), "{ids:?}");
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        if order == "desc" {
            sorted.reverse();
        }
        assert_eq!(ids, sorted);
    }
    let model = server().get(&format!("/v1/models/{finished}")).json();
    assert_eq!((&model["owned_by"], &model["object"]), (&json!(id), &json!("model")));
    let checkpoints = server().get(&format!("/v1/jobs/{id}/checkpoints")).json();
    let training = checkpoints["data"].as_array().unwrap().iter().find(|c| c["kind"] == "training").unwrap();
    assert_eq!(server().get(&format!("/v1/models/{}", training["id"].as_str().unwrap())).status, 404);
}
