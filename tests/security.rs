//! What somebody hostile may try, on this machine or with a key: to read what is not theirs, to go on after their key was
//! taken away, to store more than they may. Every law here was broken by an attack once.

mod common;

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Instant;

use common::{Answer, Server, data_dir, small_spec};
use serde_json::{Value, json};

/// A key as `anneal keys create` makes it beside the server: its id and its secret.
fn key(data: &Path, project: &str, scopes: &str) -> (String, String) {
    let made = common::anneal(data)
        .args(["keys", "create", "test", "--scopes", scopes, "--project", project, "--local", "--json", "--data-dir"])
        .arg(data)
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    (made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned())
}

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

fn post(server: &Server, path: &str, key: &str, name: &str, body: &Value) -> Answer {
    let key = bearer(key);
    server.request("POST", path, &[("authorization", &key), ("idempotency-key", name)], Some(body))
}

#[test]
fn what_lasts_ends_when_its_key_is_revoked() {
    let data = data_dir();
    let (admin_id, admin) = key(data.path(), "default", "read,write,admin");
    let (id, secret) = key(data.path(), "default", "read,write");
    let mut server = Server::start(data.path());
    server.use_key(&admin);
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(4000);
    spec["objective"]["rounds"] = json!(1000);
    let job = server.submit(&spec);

    let began = Instant::now();
    let authorization = format!("authorization: {}", bearer(&secret));
    let stream = |arguments: &[&str]| {
        let url = format!("{}{}", server.base, arguments[0]);
        let mut command = Command::new("curl");
        command.args(["-sS", "-N", "-H", &authorization, &url]).args(&arguments[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let events = stream(&[&format!("/v1/jobs/{job}/events"), "-H", "accept: text/event-stream"]);
    let wait = stream(&[&format!("/v1/jobs/{job}/wait?timeout=300")]);
    // An upload that never ends by itself: its body is what is written to curl, which reads without waiting (`.`).
    let upload = stream(&["/v1/datasets?name=slow", "-X", "POST", "-T", ".", "-H", "expect:"]);
    server.wait_until(&job, |job| job["step"].as_u64() > Some(2));
    assert_eq!(server.post(&format!("/v1/api-keys/{id}/revoke"), &json!({})).status, 200);
    for mut child in [events, wait, upload] {
        let _pipe = child.stdin.take();
        let mut told = String::new();
        child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(told.contains("api_key_revoked") || told.contains("event: status"), "{told}");
        child.wait().unwrap();
    }
    assert!(began.elapsed() < common::PATIENCE);
    assert_eq!(server.get(&format!("/v1/jobs/{job}")).status, 200, "{admin_id} is as it was");
    assert_eq!(server.get("/v1/datasets").json()["data"], json!([]), "nothing remains of the upload");
}

#[test]
fn a_client_that_does_not_read_on_loses_its_download_with_its_key() {
    let data = data_dir();
    let (_, admin) = key(data.path(), "default", "read,write,admin");
    let (id, secret) = key(data.path(), "default", "read");
    let mut server = Server::start(data.path());
    server.use_key(&admin);
    let row = format!("{{\"prompt\": \"{}\", \"answer\": \"2\"}}\n", "1+1=".repeat(2000));
    let rows = row.repeat(4000);
    let dataset = server.post_bytes("/v1/datasets?name=large", rows.as_bytes(), &[]).json();
    let mut connection = std::net::TcpStream::connect(server.base.strip_prefix("http://").unwrap()).unwrap();
    connection.set_read_timeout(Some(common::PATIENCE)).unwrap();
    let content = format!("/v1/dataset-versions/{}/content", dataset["latest"]["id"].as_str().unwrap());
    write!(connection, "GET {content} HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\n\r\n", bearer(&secret))
        .unwrap();
    let mut head = [0; 1024];
    connection.read_exact(&mut head).unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    // As the kernel sees the server's side: in state 1, ESTABLISHED, until the server lets go of it.
    let port = |address: std::net::SocketAddr| format!(":{:04X} ", address.port());
    let (here, there) = (port(connection.local_addr().unwrap()), port(connection.peer_addr().unwrap()));
    let row = format!("{there}0100007F{here}01 ");
    let is_open = || std::fs::read_to_string("/proc/net/tcp").unwrap().contains(&row);
    assert!(is_open());
    assert_eq!(server.post(&format!("/v1/api-keys/{id}/revoke"), &json!({})).status, 200);
    let began = Instant::now();
    while is_open() {
        assert!(began.elapsed() < common::PATIENCE, "the connection stays");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let mut rest = Vec::new();
    drop(connection.read_to_end(&mut rest));
    assert!(rest.len() < rows.len(), "{} of {} bytes came", rest.len(), rows.len());
}

#[test]
fn what_is_done_beside_the_server_is_noted_and_floods_of_refusals_are_counted() {
    let data = data_dir();
    let (_, admin) = key(data.path(), "default", "read,admin");
    let server = Server::start(data.path());
    for _ in 0..300 {
        assert_eq!(server.get("/v1/jobs").status, 401);
    }
    let entries = || -> Vec<Value> {
        let key = bearer(&admin);
        let log = server.get_with("/v1/audit-log?limit=100&order=asc", &[("authorization", &key)]).json();
        log["data"].as_array().unwrap().clone()
    };
    until("the log is written", || entries().len() == 100);
    let entries = entries();
    let told = |i: usize| ["method", "path", "request_id"].map(|field| entries[i][field].as_str().unwrap().to_owned());
    assert_eq!(told(0), ["POST", "/v1/api-keys", "local"]);
    assert!(entries[1..].iter().all(|entry| entry["code"] == "missing_api_key"), "{entries:?}");
    let path = format!("/v1/audit-log?limit=100&order=asc&after={}", entries[99]["id"].as_str().unwrap());
    let more = server.get_with(&path, &[("authorization", &bearer(&admin))]).json();
    assert!(more["data"].as_array().unwrap().len() < 100, "all 300 are noted one by one");
}

#[test]
fn a_replay_is_for_the_key_that_made_it_and_has_no_secrets() {
    let data = data_dir();
    let (_, first) = key(data.path(), "default", "read,write");
    let (_, second) = key(data.path(), "default", "read,write");
    let server = Server::start_with(data.path(), &["--webhook-allow-private", "127.0.0.0/8"]);
    let endpoint = json!({"url": "https://127.0.0.1:9/hook", "events": ["*"]});
    let made = post(&server, "/v1/webhook_endpoints", &first, "a", &endpoint);
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    assert_eq!(made.status, 201);
    let again = post(&server, "/v1/webhook_endpoints", &first, "a", &endpoint);
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
    assert_eq!((&again.json()["id"], &again.json()["secret"]), (&made.json()["id"], &Value::Null));
    let other = post(&server, "/v1/webhook_endpoints", &second, "a", &endpoint);
    assert_eq!((other.status, other.problem().as_str()), (422, "idempotency_key_reused"));
    let spec = small_spec();
    assert_eq!(post(&server, "/v1/jobs", &first, "job", &spec).status, 201);
    assert_eq!(post(&server, "/v1/jobs", &second, "job", &spec).status, 422);

    if common::on_postgres() {
        return;
    }
    // On the disk nobody reads it without the file of the key.
    server.terminate();
    let stored = |name: &str| std::fs::read(data.path().join(name)).unwrap_or_default();
    let database = [stored("anneal.db"), stored("anneal.db-wal")].concat();
    let found = |text: &str| database.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(found("127.0.0.1:9/hook") && !found(&secret));
}

#[test]
fn a_question_is_asked_anew_each_time() {
    let data = data_dir();
    let (_, reader) = key(data.path(), "default", "read");
    let (_, writer) = key(data.path(), "default", "read,write");
    let server = Server::start(data.path());
    let verifier = post(&server, "/v1/verifiers", &writer, "v", &json!({"config": {"type": "exact"}})).json();
    let path = format!("/v1/verifiers/{}/test", verifier["id"].as_str().unwrap());
    let question = json!({"completions": [{"completion": "1", "row": {"prompt": "?", "answer": "1"}}]});
    for _ in 0..2 {
        let answer = post(&server, &path, &reader, "q", &question);
        assert_eq!((answer.status, answer.header("idempotent-replayed")), (200, ""), "{}", answer.json());
    }
    let made = format!("/v1/verifiers/{}", verifier["id"].as_str().unwrap());
    let key = bearer(&writer);
    assert_eq!(server.request("DELETE", &made, &[("authorization", &key)], None).status, 200);
    let again = post(&server, "/v1/verifiers", &writer, "v", &json!({"config": {"type": "exact"}}));
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"), "it was answered so before");
}

#[test]
fn uploads_at_once_store_no_more_than_their_project_may() {
    let data = data_dir();
    let (_, admin) = key(data.path(), "default", "read,write,admin");
    let (_, small) = key(data.path(), "small", "read,write");
    let server = Server::start(data.path());
    let limit = json!({"max_storage_bytes": 100_000});
    let key = bearer(&admin);
    assert_eq!(server.request("PUT", "/v1/projects/small", &[("authorization", &key)], Some(&limit)).status, 200);
    let key = bearer(&small);
    let rows = |count: usize| "{\"prompt\": \"1+1=\", \"answer\": \"2\", \"number\": 0}\n".repeat(count);
    let upload = |path: &str, count: usize| server.post_bytes(path, rows(count).as_bytes(), &[("authorization", &key)]);
    let refused = upload("/v1/datasets?name=large", 4000);
    assert_eq!((refused.status, refused.problem().as_str()), (429, "quota_exceeded"));
    let begin = Barrier::new(6);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let uploads: Vec<_> = (0..6)
            .map(|i| {
                let (begin, upload) = (&begin, &upload);
                scope.spawn(move || {
                    begin.wait();
                    upload(&format!("/v1/datasets?name=set-{i}"), 800).status
                })
            })
            .collect();
        uploads.into_iter().map(|upload| upload.join().unwrap()).collect()
    });
    let stored = statuses.iter().filter(|status| **status == 201).count();
    // Each says how long it is, so that no room is lost to those that are refused in the end.
    assert_eq!(stored, 2, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 429].contains(status)), "{statuses:?}");
    let path = "/v1/projects/small";
    let project = server.request("GET", path, &[("authorization", &bearer(&admin))], None).json();
    assert!(project["usage"]["storage_bytes"].as_u64().unwrap() <= 100_000, "{project}");
}

#[test]
fn neither_neighbours_nor_workers_learn_what_the_server_knows() {
    let data = data_dir();
    let directory = data.path().join("data");
    let mut command = Command::new("sh");
    // As loose as a shell can be.
    command.args(["-c", "umask 022; exec \"$0\" \"$@\""]).arg(env!("CARGO_BIN_EXE_anneal"));
    command.args(["serve", "--supervised", "--listen", "127.0.0.1:0", "--log", "warn", "--data-dir"]).arg(&directory);
    command.env("AWS_SECRET_ACCESS_KEY", "of-somebody").env("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    let server = Server::spawn(command);
    let environment = std::fs::read(format!("/proc/{}/environ", server.worker_pid())).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains("of-somebody") && environment.contains("PCI_BUS_ID"), "{environment}");

    let job = server.submit(&small_spec());
    assert_eq!(server.wait(&job)["status"], "succeeded");
    let mut pending = vec![directory];
    let mut seen = 0;
    while let Some(path) = pending.pop() {
        let metadata = path.symlink_metadata().unwrap();
        assert_eq!(metadata.mode() & 0o077, 0, "{} is open to others: {:o}", path.display(), metadata.mode());
        seen += 1;
        if metadata.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn what_leaves_the_server_and_what_computes_is_noted_in_a_chain() {
    let data = data_dir();
    let server = Server::start(data.path());
    let row = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n";
    let dataset = server.post_bytes("/v1/datasets?name=small", row.as_bytes(), &[]).json();
    let content = format!("/v1/dataset-versions/{}/content", dataset["latest"]["id"].as_str().unwrap());
    assert_eq!(server.get(&content).status, 200);
    let grader = json!({"grader": {"type": "string_check", "name": "g", "operation": "eq", "input": "a", "reference": "a"},
                        "model_sample": "a"});
    server.post("/v1/fine_tuning/alpha/graders/run", &grader);
    server.post(
        "/v1/chat/completions",
        &json!({"model": "builtin:arith-tiny", "messages": [{"role": "user", "content": "1+1="}]}),
    );
    server.get("/v1/jobs");
    let noted = || {
        let log = server.get("/v1/audit-log").json();
        let path = |entry: &Value| entry["path"].as_str().unwrap().to_owned();
        log["data"].as_array().unwrap().iter().map(path).collect::<Vec<_>>()
    };
    until("all is noted", || noted().len() >= 4);
    let mut paths = noted();
    paths.reverse();
    assert_eq!(paths[..4], ["/v1/datasets", &content, "/v1/fine_tuning/alpha/graders/run", "/v1/chat/completions"]);

    let verify = |known: &[&str]| {
        let mut command = common::anneal(data.path());
        command.args(["audit", "verify", "--json", "--data-dir"]).arg(data.path()).args(known);
        let done = command.output().unwrap();
        (done.status.success(), serde_json::from_slice::<Value>(&done.stdout).unwrap())
    };
    let (whole, told) = verify(&[]);
    assert!(whole && told["entries"].as_u64() >= Some(4), "{told}");
    let newest = told["newest"].as_str().unwrap();
    assert_eq!(verify(&["--known", newest]).1["known"], true);
    assert!(!verify(&["--known", "0000"]).0);
}

#[test]
fn a_body_of_many_values_is_refused_before_it_is_read() {
    let data = data_dir();
    let server = Server::start(data.path());
    let body = format!("[{}[]]", "[],".repeat(300_000));
    let answer = server.post_bytes("/v1/jobs", body.as_bytes(), &[("content-type", "application/json")]);
    assert_eq!((answer.status, answer.problem().as_str()), (413, "body_too_large"));
    // Commas within texts are none.
    let text = format!("{{\"model\": \"{}\"}}", ",".repeat(300_000));
    let answer = server.post_bytes("/v1/jobs", text.as_bytes(), &[("content-type", "application/json")]);
    assert_eq!(answer.status, 422);
}

#[test]
fn connections_that_say_nothing_take_no_place_of_others() {
    let data = data_dir();
    let (_, reader) = key(data.path(), "default", "read");
    let server = Server::start(data.path());
    let address = server.base.trim_start_matches("http://");
    let connect = || std::net::TcpStream::connect(address).unwrap();
    let mut known = connect();
    let request = format!("GET /v1/jobs HTTP/1.1\r\nhost: {address}\r\nauthorization: {}\r\n\r\n", bearer(&reader));
    let mut answer = [0; 15];
    known.write_all(request.as_bytes()).unwrap();
    known.read_exact(&mut answer).unwrap();
    let mut silent: Vec<_> = (0..600).map(|_| connect()).collect();
    // The oldest were let go, which ends their streams; the newest and whoever has shown a key stay.
    assert_eq!(silent[0].read(&mut answer).unwrap(), 0);
    assert_eq!(server.get("/healthz").status, 200);
    let last = silent.last_mut().unwrap();
    for connection in [&mut known, last] {
        connection.write_all(request.as_bytes()).unwrap();
        let mut seen = [0; 4096];
        assert!(connection.read(&mut seen).unwrap() > 0);
    }
    // A head that is too large is not kept.
    let mut large = connect();
    large.write_all(b"GET / HTTP/1.1\r\nx: ").unwrap();
    let filler = [b'x'; 4096];
    while large.write_all(&filler).is_ok() {}
}

/// A model whose template is this one, below a folder from which models may be imported.
fn model_with_template(folder: &Path, name: &str, template: &str) -> String {
    let path = folder.join(name);
    std::fs::create_dir(&path).unwrap();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/arith-tiny")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, path.join(from.file_name().unwrap())).unwrap();
    }
    std::fs::write(path.join("chat_template.jinja"), template).unwrap();
    path.display().to_string()
}

#[test]
fn a_hostile_model_ends_no_more_than_the_process_that_tries_it() {
    let (data, models) = (data_dir(), data_dir());
    let server = Server::start_with(data.path(), &["--import-roots", models.path().to_str().unwrap()]);
    let doubling = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
    // What fits into the process fails as templates do, or does not fail; none ends the server.
    let hostile = [
        ("memory", doubling.to_owned(), true),
        ("width", String::from("{{ '%999999999d'|format(1)|length }}"), false),
        ("depth", format!("{{{{ {}1 }}}}", "-".repeat(60_000)), true),
        ("calls", format!("{{{{ x{} }}}}", "()".repeat(30_000)), false),
    ];
    for (name, template, must_fail) in &hostile {
        let path = model_with_template(models.path(), name, template);
        let answer = server.post("/v1/models", &json!({"path": path}));
        if *must_fail || answer.status != 201 {
            assert_eq!((answer.status, answer.problem().as_str()), (422, "model_text_failed"), "{name}");
        }
    }

    // The same in a spec; and constants, which are computed while a template is read.
    let constants = "{{'a'*99999999}}".repeat(3000);
    for (name, template, must_fail) in hostile.iter().chain([&("constants", constants, true)]) {
        let mut spec = small_spec();
        spec["dataset"]["chat_template"] = json!(template);
        let answer = server.post("/v1/jobs?dry_run=validate", &spec);
        if *must_fail && name != &"memory" {
            assert_eq!(answer.json()["errors"][0]["code"], "chat_template_failed", "{name}: {}", answer.json());
            assert_eq!(answer.json()["errors"][0]["pointer"], "/dataset/chat_template");
        }
    }

    // A tokenizer whose pattern takes more steps than any text has characters.
    let path = model_with_template(models.path(), "pattern", "{{ messages[0].content }}");
    let file = std::path::Path::new(&path).join("tokenizer.json");
    let tokenizer = std::fs::read_to_string(&file).unwrap();
    let exploding = tokenizer.replace(r#""[\\s\\S]""#, r#""(?:a+)+(?=b)|[\\s\\S]""#);
    assert_ne!(tokenizer, exploding);
    std::fs::write(&file, exploding).unwrap();
    let answer = server.post("/v1/models", &json!({"path": path}));
    assert_eq!((answer.status, answer.problem().as_str()), (422, "model_text_failed"), "{}", answer.json());
    assert!(answer.json()["detail"].as_str().unwrap().contains("(?:a+)+(?=b)"), "{}", answer.json());

    // One that waits for its moment.
    let template =
        format!("{{% if messages[0].content == 'now' %}}{doubling}{{% endif %}}{{{{ messages[0].content }}}}");
    let path = model_with_template(models.path(), "later", &template);
    let model = server.post("/v1/models", &json!({"path": path})).json();
    let rows = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n{\"prompt\": \"now\", \"answer\": \"2\"}\n";
    let dataset = server.post_bytes("/v1/datasets?name=later", rows.as_bytes(), &[]).json();
    let mut spec = small_spec();
    spec["model"] = model["id"].clone();
    spec["dataset"]["train"] = dataset["id"].clone();
    let refused = server.post("/v1/jobs?dry_run=preflight", &spec);
    let problem = refused.json();
    assert_eq!(problem["errors"][0]["code"], "model_text_failed", "{problem}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 1 << 20, "the server took {peak}");
}

#[test]
fn a_template_that_waits_for_its_row_takes_no_more_memory_than_its_worker_may() {
    let (data, models) = (data_dir(), data_dir());
    let roots = models.path().to_str().unwrap();
    let memory = (1_u64 << 30).to_string();
    let server = Server::start_with(data.path(), &["--import-roots", roots, "--worker-memory-bytes", &memory]);
    // Two GiB, and then as if nothing had been.
    let greedy = "{% if messages[0].content == 'now' %}{% set ns = namespace(x='ab') %}{% for i in range(30) %}\
                  {% set ns.x = ns.x ~ ns.x %}{% endfor %}{% endif %}{{ messages[0].content }}";
    let path = model_with_template(models.path(), "greedy", greedy);
    let model = server.post("/v1/models", &json!({"path": path})).json();
    let job = |row: &str| {
        let rows =
            format!("{{\"prompt\": \"1+1=\", \"answer\": \"2\"}}\n{{\"prompt\": \"{row}\", \"answer\": \"2\"}}\n");
        let dataset = server.post_bytes("/v1/datasets?name=rows", rows.as_bytes(), &[]).json();
        let mut spec = small_spec();
        spec["model"] = model["id"].clone();
        spec["dataset"]["train"] = dataset["id"].clone();
        server.wait(&server.submit(&spec))
    };
    let ended = job("now");
    assert_eq!((&ended["status"], &ended["failure"]["kind"]), (&json!("failed"), &json!("poison")), "{ended}");
    assert_eq!(job("2+2=")["status"], "succeeded");
}

#[test]
fn judging_ends_with_its_time_and_with_its_client() {
    let data = data_dir();
    let server = Server::start(data.path());
    // Of the kind that no automaton of a bearable size decides.
    let config = json!({"type": "regex", "pattern": "(?:[ab]{1,120}c?){1,40}d", "time_limit_seconds": 0.05});
    let verifier = server.post("/v1/verifiers", &json!({"config": config})).json();
    let path = format!("/v1/verifiers/{}/test", verifier["id"].as_str().unwrap());
    let samples = json!([{"completion": "1"}, {"completion": "ab".repeat(400_000)}, {"completion": "2"}]);
    let told = server.post(&path, &json!({"completions": samples})).json();
    let statuses: Vec<&str> = told["data"].as_array().unwrap().iter().map(|v| v["status"].as_str().unwrap()).collect();
    assert_eq!(statuses[1..], ["timeout", "timeout"], "{statuses:?}");

    let mut config = config.clone();
    config["time_limit_seconds"] = json!(60);
    let verifier = server.post("/v1/verifiers", &json!({"config": config})).json();
    let url = format!("{}/v1/verifiers/{}/test", server.base, verifier["id"].as_str().unwrap());
    let body = data.path().join("body.json");
    std::fs::write(&body, json!({"completions": samples}).to_string()).unwrap();
    let body = format!("@{}", body.display());
    let mut client = Command::new("curl");
    client.args(["-sS", "-o", "/dev/null", "-H", "content-type: application/json", "--data-binary", &body, &url]);
    let mut client = client.spawn().unwrap();
    until("something judges", || sandboxes(server.pid()) > 0);
    client.kill().unwrap();
    client.wait().unwrap();
    until("nothing judges any more", || sandboxes(server.pid()) == 0);
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < common::PATIENCE, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// How many processes of a server do a task.
fn sandboxes(server: u32) -> usize {
    let children = Command::new("pgrep").args(["-P", &server.to_string(), "-f", "sandbox judge"]).output().unwrap();
    String::from_utf8(children.stdout).unwrap().lines().count()
}
