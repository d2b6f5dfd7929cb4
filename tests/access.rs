//! Keys: who gets in, and who sees what. The matrix is made from the document's own list of routes, so that a new route
//! is in it from its first day.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use anneal::job::{ApiKeyId, Scope, Timestamp};
use anneal::store::{ApiKeyRow, NewApiKey, Store};
use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// Routes that anyone may ask.
const PUBLIC: [&str; 3] = ["/healthz", "/readyz", "/.well-known/jwks.json"];
/// Routes of operators, who see all projects.
const ADMIN: [&str; 6] = ["/v1/api-keys", "/v1/projects", "/v1/audit-log", "/v1/agent/", "/v1/hosts", "/v1/launches"];

/// A key made beside the server, as `anneal keys` does; `expires_at` in milliseconds.
fn key(data: &Path, project: &str, scopes: &[Scope], expires_at: Option<i64>) -> (ApiKeyId, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let new = NewApiKey {
            project: project.to_owned(),
            name: String::from("test"),
            scopes: scopes.to_vec(),
            metadata: BTreeMap::new(),
            expires_at: expires_at.map(Timestamp),
        };
        let (row, secret) = ApiKeyRow::generate(new, Timestamp(1)).unwrap();
        let store = Store::open_at(data, common::database_url(data).as_deref(), None).await.unwrap();
        store.add_api_key(row.clone(), true).await.unwrap();
        (row.id, secret)
    })
}

/// Method, path with ids filled in, and whether it had any, for every route of the document.
fn routes(document: &Value, fill: &dyn Fn(&str) -> String) -> Vec<(String, String, bool)> {
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS.iter().filter(|method| !item[**method].is_null()) {
            routes.push((method.to_uppercase(), fill(path), path.contains('{')));
        }
    }
    routes
}

fn with(server: &Server, key: Option<&str>, method: &str, path: &str) -> common::Answer {
    let value = key.map(|key| format!("Bearer {key}"));
    let headers: Vec<(&str, &str)> = value.iter().map(|value| ("authorization", value.as_str())).collect();
    server.request(method, path, &headers, (method != "GET").then_some(&json!({})))
}

#[test]
fn every_route_refuses_every_key_that_does_not_fit() {
    let data = data_dir();
    let all = [Scope::Read, Scope::Write, Scope::Admin];
    let (_, good) = key(data.path(), "default", &all, None);
    let (revoked_id, revoked) = key(data.path(), "default", &all, None);
    let (_, expired) = key(data.path(), "default", &all, Some(2));
    let (_, reader) = key(data.path(), "default", &[Scope::Read], None);
    let (_, writer) = key(data.path(), "default", &[Scope::Write], None);
    let (_, both) = key(data.path(), "default", &[Scope::Read, Scope::Write], None);
    let (_, agent) = key(data.path(), "default", &[Scope::Agent], None);
    let server = Server::start(data.path());
    assert_eq!(with(&server, Some(&good), "POST", &format!("/v1/api-keys/{revoked_id}/revoke")).status, 200);
    let document = server.get("/openapi.json").json();
    let id = format!("job_{}", "0".repeat(32));
    let mut seen = 0;
    for (method, path, _) in routes(&document, &|path| fill_all(path, &id)) {
        let code = |key: Option<&str>| {
            let answer = with(&server, key, &method, &path);
            (answer.status, if answer.status >= 400 { answer.problem() } else { String::new() })
        };
        if PUBLIC.contains(&path.as_str()) {
            assert_eq!(code(None).0, 200, "{path}");
            continue;
        }
        // It reads the key from the body (tests/page.rs).
        if path == "/v1/sessions" {
            continue;
        }
        seen += 1;
        let refusals = [
            (None, 401, "missing_api_key"),
            (Some("ak_wrong"), 401, "invalid_api_key"),
            (Some(revoked.as_str()), 401, "api_key_revoked"),
            (Some(expired.as_str()), 401, "api_key_expired"),
        ];
        for (key, status, expected) in refusals {
            assert_eq!(code(key), (status, expected.to_owned()), "{method} {path}");
        }
        let insufficient = (403, String::from("insufficient_scope"));
        let admin = ADMIN.iter().any(|prefix| path.starts_with(prefix));
        let reads = code(Some(&reader)) != insufficient;
        let writes = code(Some(&writer)) != insufficient;
        assert!(!writes || (!reads && method != "GET"), "{method} {path}");
        assert_eq!(code(Some(&both)) == insufficient, admin, "{method} {path}");
        assert_eq!(reads || writes, !admin, "{method} {path}");
        assert_eq!(code(Some(&agent)) != insufficient, path.starts_with("/v1/agent/"), "{method} {path}");
    }
    assert!(seen > 40, "{seen}");
    let log = with(&server, Some(&good), "GET", &format!("/v1/audit-log?key={revoked_id}&limit=100")).json();
    assert!(log["data"].as_array().unwrap().iter().all(|entry| entry["code"] == "api_key_revoked"), "{log}");
}

/// `path` with every parameter replaced.
fn fill_all(path: &str, id: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { id } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Things of one project: the beginning of a path and the id that belongs behind it.
fn things(server: &Server) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = b"{\"prompt\": \"1+1=\", \"answer\": 2}\n";
    let dataset = server.post_bytes("/v1/datasets", rows, &[("content-type", "application/jsonl")]).json();
    let verifier = server.post("/v1/verifiers", &json!({"config": {"type": "numeric"}})).json();
    let mut spec = small_spec();
    spec["rollouts"] = json!({"keep": true});
    let job = server.submit(&spec);
    let finished = server.wait(&job);
    assert_eq!(finished["status"], "succeeded", "{finished}");
    let form = "--b\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nfine-tune\r\n--b\r\n\
                content-disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{\"prompt\": \"1+1=\"}\r\n--b--\r\n";
    let file = server.post_bytes("/v1/files", form.as_bytes(), &[("content-type", "multipart/form-data; boundary=b")]);
    let upload = json!({"filename": "a.jsonl", "purpose": "fine-tune", "bytes": 9, "mime_type": "text/jsonl"});
    let endpoint = json!({"url": "http://127.0.0.1:9/", "events": ["*"]});
    let endpoint = server.post("/v1/webhook_endpoints", &endpoint).json();
    let delivery = server.post(&format!("/v1/webhook_endpoints/{}/test", text(&endpoint["id"])), &json!({})).json();
    let evaluation = json!({"model": "builtin:arith-tiny", "dataset": "builtin:arithmetic", "prompts": 4, "samples": 1,
                            "pass_at": [1], "verifier": {"type": "numeric"}});
    let suite = json!({"sets": [{"name": "sums", "dataset": "builtin:arithmetic", "prompts": 4, "samples": 1,
                                 "verifier": {"type": "numeric"}}]});
    let suite = text(&server.post("/v1/suites", &suite).json()["id"]);
    let run = server.post(&format!("/v1/suites/{suite}/runs"), &json!({"model": "builtin:arith-tiny"})).json();
    let sweep = json!({"spec": spec, "seeds": [spec["seed"]], "reuse": true});
    let checkpoint = text(&finished["result"]["checkpoint"]);
    let export = server.post(&format!("/v1/checkpoints/{checkpoint}/exports"), &json!({"format": "merged"})).json();
    let export = text(&export["id"]);
    assert_eq!(server.get(&format!("/v1/exports/{export}?wait=60")).json()["status"], "ready");
    vec![
        ("/v1/jobs/", job.clone()),
        ("/api/2.0/mlflow-artifacts/artifacts/", job.clone()),
        ("/v1/fine_tuning/jobs/", job),
        ("/v1/models/", text(&finished["result"]["checkpoint"])),
        ("/v1/dataset-versions/", text(&dataset["latest"]["id"])),
        ("/v1/evaluations/", text(&server.post("/v1/evaluations", &evaluation).json()["id"])),
        ("/v1/suites/", suite),
        ("/v1/suite-runs/", text(&run["id"])),
        ("/v1/sweeps/", text(&server.post("/v1/sweeps", &sweep).json()["id"])),
        ("/v1/files/", text(&file.json()["id"])),
        ("/v1/uploads/", text(&server.post("/v1/uploads", &upload).json()["id"])),
        ("/v1/webhook_endpoints/", text(&endpoint["id"])),
        ("/v1/webhook_deliveries/", text(&delivery["id"])),
        ("/v1/datasets/", text(&dataset["id"])),
        ("/v1/verifiers/", text(&verifier["id"])),
        ("/v1/exports/", export),
        ("/v1/checkpoints/", checkpoint),
        ("/v1/rollout-sets/", text(&finished["rollout_set"])),
    ]
}

/// The same id with other digits: of nothing.
fn of_nothing(id: &str) -> String {
    let (prefix, digits) = id.split_at(id.len() - 32);
    format!("{prefix}{}", digits.chars().map(|c| if c == '0' { '1' } else { '0' }).collect::<String>())
}

#[test]
fn what_belongs_to_another_project_is_as_if_it_were_not_there() {
    let data = data_dir();
    let (_, mine) = key(data.path(), "default", &[Scope::Read, Scope::Write], None);
    let (_, other) = key(data.path(), "elsewhere", &[Scope::Read, Scope::Write], None);
    let mut server = Server::start_with(data.path(), &["--webhook-allow-private", "127.0.0.1/32"]);
    server.use_key(&mine);
    let things = things(&server);
    let document = server.get("/openapi.json").json();
    let place = |path: &str, of: &dyn Fn(&str) -> String| -> Option<String> {
        let (prefix, id) = things.iter().find(|(prefix, _)| path.starts_with(prefix))?;
        let rest = path[prefix.len()..].split_once('/').map_or(String::new(), |(_, rest)| format!("/{rest}"));
        let file = if path.starts_with("/v1/rollout-sets") { "summary.json" } else { "config.json" };
        Some(format!("{prefix}{}{}", of(id), rest.replace("{path}", file)))
    };
    let mut uncovered = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.contains('{')) {
        if ADMIN.iter().any(|prefix| path.starts_with(prefix)) {
            continue;
        }
        let (Some(real), Some(nothing)) = (place(path, &|id| id.to_owned()), place(path, &of_nothing)) else {
            uncovered.push(path.clone());
            continue;
        };
        for method in METHODS.iter().filter(|method| !item[**method].is_null()).map(|method| method.to_uppercase()) {
            let foreign = with(&server, Some(&other), &method, &real);
            let missing = with(&server, Some(&other), &method, &nothing);
            assert_eq!((foreign.status, foreign.problem()), (missing.status, missing.problem()), "{method} {real}");
            if method == "GET" {
                assert_eq!(missing.status, 404, "{nothing}");
                assert_ne!(with(&server, Some(&mine), "GET", &real).status, 404, "{real}");
            }
        }
    }
    assert_eq!(uncovered, [""; 0], "add a thing for these routes to `things`");
    for path in document["paths"].as_object().unwrap().keys().filter(|path| !path.contains('{')) {
        let answer = with(&server, Some(&other), "GET", path);
        let text = String::from_utf8_lossy(&answer.bytes).into_owned();
        for (_, id) in &things {
            assert!(!text.contains(id.as_str()), "{path} shows {id}");
        }
    }
}

#[test]
fn an_administrator_sees_one_project_and_the_operator_all() {
    let data = data_dir();
    // Whoever comes first runs the server.
    let (_, first) = key(data.path(), "default", &[Scope::Admin], None);
    let (_, code) = key(data.path(), "labs", &[Scope::Code], None);
    let (own_id, own) = key(data.path(), "labs", &[Scope::Read, Scope::Admin], None);
    let (foreign, _) = key(data.path(), "default", &[Scope::Read], None);
    let (stronger, _) = key(data.path(), "labs", &[Scope::Read, Scope::Operator], None);
    let mut server = Server::start(data.path());
    server.use_key(&own);
    let seen = |path: &str| -> Vec<(String, String)> {
        let listed = server.get(path).json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        listed["data"].as_array().unwrap().iter().map(|row| (text(&row["id"]), text(&row["project"]))).collect()
    };
    assert_eq!(server.post("/v1/jobs", &small_spec()).problem(), "insufficient_scope");
    assert_eq!(with(&server, Some(&first), "POST", "/v1/jobs").status, 403);
    let keys = seen("/v1/api-keys");
    assert!(keys.len() == 3 && keys.iter().all(|(_, project)| project == "labs"), "{keys:?}");
    // Entries are written a moment later.
    let of = |project: &str| {
        let log = with(&server, Some(&first), "GET", "/v1/audit-log").json();
        log["data"].as_array().unwrap().iter().any(|entry| entry["project"] == project)
    };
    let began = std::time::Instant::now();
    while !of("labs") || !of("default") {
        assert!(began.elapsed() < common::PATIENCE, "refusals are noted");
    }
    let log = seen("/v1/audit-log");
    assert!(!log.is_empty() && log.iter().all(|(_, project)| project == "labs"), "{log:?}");
    assert_eq!(seen("/v1/projects"), [(String::from("labs"), String::new())]);
    assert_eq!(server.get("/v1/projects/labs").status, 200);
    for (method, path, status) in [
        ("GET", String::from("/v1/projects/default"), 404),
        ("PUT", String::from("/v1/projects/labs"), 403),
        ("GET", format!("/v1/api-keys/{foreign}"), 404),
        ("POST", format!("/v1/api-keys/{foreign}/revoke"), 404),
        ("POST", format!("/v1/api-keys/{stronger}/revoke"), 403),
    ] {
        assert_eq!(with(&server, Some(&own), method, &path).status, status, "{method} {path}");
    }
    let make = |body: Value| server.post("/v1/api-keys", &body);
    let made = make(json!({"name": "a"})).json();
    assert_eq!((&made["project"], &made["scopes"]), (&json!("labs"), &json!(["read"])));
    for (body, pointer) in [
        (json!({"name": "a", "scopes": ["read"], "project": "default"}), "/project"),
        (json!({"name": "a", "scopes": ["read", "write"]}), "/scopes/1"),
        (json!({"name": "a", "scopes": ["operator"]}), "/scopes/0"),
    ] {
        let refused = make(body).json();
        assert_eq!(
            (&refused["errors"][0]["pointer"], &refused["errors"][0]["code"]),
            (&json!(pointer), &json!("not_allowed"))
        );
    }

    server.use_key(&first);
    assert_eq!(server.get(&format!("/v1/api-keys/{own_id}")).json()["scopes"], json!(["read", "admin"]));
    let projects: Vec<String> = server.get("/v1/projects?order=asc").json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|project| project["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(projects, ["default", "labs"]);
    let limits = json!({"share": 3, "max_devices": 1});
    let set = server.request("PUT", "/v1/projects/labs", &[], Some(&limits)).json();
    assert_eq!((&set["limits"]["share"], &set["limits"]["max_devices"]), (&json!(3), &json!(1)));
    let refused = server.request("PUT", "/v1/projects/labs", &[], Some(&json!({"share": 0})));
    assert_eq!(refused.status, 422);
    assert_eq!(with(&server, Some(&code), "GET", "/v1/jobs").problem(), "insufficient_scope");
}

#[test]
fn an_open_server_closes_with_its_first_key_and_revoking_it_does_not_open_it() {
    let data = data_dir();
    let server = Server::start(data.path());
    assert_eq!(server.get("/v1/jobs").status, 200);
    // A client that always sends a key gets in as well.
    assert_eq!(with(&server, Some("anything"), "GET", "/v1/jobs").status, 200);
    let body = json!({"name": "first", "scopes": ["read", "admin"], "expires_in_days": 1});
    let made = server.post("/v1/api-keys", &body);
    assert_eq!(made.status, 201, "{}", made.json());
    let made = made.json();
    let secret = made["key"].as_str().unwrap();
    assert!(secret.starts_with(made["prefix"].as_str().unwrap()));
    assert_eq!(server.get("/v1/jobs").problem(), "missing_api_key");
    assert_eq!(server.get("/v1/jobs").header("www-authenticate"), "Bearer");
    let id = made["id"].as_str().unwrap();
    let shown = with(&server, Some(secret), "GET", &format!("/v1/api-keys/{id}")).json();
    assert!(shown["key"].is_null() && shown["last_used_at"].is_i64(), "{shown}");
    let database = std::fs::read(data.path().join("anneal.db"));
    let database = database.unwrap_or_else(|error| if common::on_postgres() { Vec::new() } else { panic!("{error}") });
    assert!(!database.windows(secret.len()).any(|window| window == secret.as_bytes()));
    assert_eq!(with(&server, Some(secret), "POST", &format!("/v1/api-keys/{id}/revoke")).status, 200);
    assert_eq!(with(&server, Some(secret), "GET", "/v1/jobs").problem(), "api_key_revoked");
    assert_eq!(server.get("/v1/jobs").status, 401);
}

#[test]
fn a_server_that_others_can_reach_needs_a_key_before_it_starts() {
    let data = data_dir();
    let serve = || {
        let mut command = common::anneal(data.path());
        command.args(["serve", "--supervised", "--listen", "0.0.0.0:0", "--log", "warn", "--data-dir"]);
        command.arg(data.path());
        command
    };
    let refused = serve().stdin(std::process::Stdio::null()).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("anneal keys create"));
    let mut create = common::anneal(data.path());
    create.args(["keys", "create", "ci", "--json", "--local", "--data-dir"]).arg(data.path());
    let made: Value = serde_json::from_slice(&create.output().unwrap().stdout).unwrap();
    let server = Server::spawn(serve());
    let port = server.base.rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}/v1/jobs");
    let status = |key: &str| {
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let request = ureq::Agent::new_with_config(config).get(&url);
        request.header("authorization", format!("Bearer {key}")).call().unwrap().status().as_u16()
    };
    assert_eq!((status(made["key"].as_str().unwrap()), status("ak_wrong")), (200, 401));
}

#[test]
fn a_key_that_asks_too_often_is_told_when_to_come_back() {
    let data = data_dir();
    let (_, admin) = key(data.path(), "ops", &[Scope::Admin], None);
    let (_, mine) = key(data.path(), "default", &[Scope::Read, Scope::Write], None);
    let server = Server::start(data.path());
    let value = format!("Bearer {admin}");
    let limits = json!({"requests_per_minute": 3, "max_unfinished_jobs": 0});
    let set = server.request("PUT", "/v1/projects/default", &[("authorization", &value)], Some(&limits));
    assert_eq!((set.status, &set.json()["limits"]["requests_per_minute"]), (200, &json!(3)), "{}", set.json());
    let bearer = format!("Bearer {mine}");
    let submit = server.request("POST", "/v1/jobs", &[("authorization", &bearer)], Some(&small_spec()));
    assert_eq!((submit.status, submit.problem().as_str()), (429, "quota_exceeded"));
    assert_eq!(submit.header("x-should-retry"), "false");
    let mut last = submit;
    for remaining in ["1", "0"] {
        last = with(&server, Some(&mine), "GET", "/v1/jobs");
        assert_eq!((last.status, last.header("x-ratelimit-remaining-requests")), (200, remaining));
    }
    assert_eq!(last.header("x-ratelimit-limit-requests"), "3");
    let refused = with(&server, Some(&mine), "GET", "/v1/jobs");
    assert_eq!((refused.status, refused.problem().as_str()), (429, "rate_limited"));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    // Other keys have buckets of their own.
    assert_eq!(with(&server, Some(&admin), "GET", "/v1/projects").status, 200);
}

#[test]
fn a_project_without_limits_of_its_own_has_those_of_the_server() {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--max-unfinished-jobs", "2", "--max-storage-bytes", "2000"]);
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(4000);
    spec["objective"]["rounds"] = json!(1000);
    let submit = || server.post("/v1/jobs", &spec).status;
    let rows = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n".repeat(100);
    let upload = || server.post_bytes("/v1/datasets?name=rows", rows.as_bytes(), &[]);
    assert_eq!([submit(), submit(), submit()], [201, 201, 429]);
    let refused = upload();
    assert_eq!((refused.status, refused.problem().as_str()), (429, "quota_exceeded"));
    let limits = json!({"max_unfinished_jobs": 3, "max_storage_bytes": 5000});
    assert_eq!(server.request("PUT", "/v1/projects/default", &[], Some(&limits)).status, 200);
    assert_eq!([submit(), submit(), u16::from(upload().status == 201)], [201, 429, 1]);
}

#[test]
fn a_repeated_request_makes_nothing_twice() {
    let data = data_dir();
    let server = Server::start(data.path());
    let post = |path: &str, headers: &[(&str, &str)], body: &Value| server.request("POST", path, headers, Some(body));
    let config = json!({"name": "mine", "config": {"type": "numeric"}});
    let first = post("/v1/verifiers", &[("idempotency-key", "a")], &config);
    let again = post("/v1/verifiers", &[("idempotency-key", "a")], &config);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), ("", "true"));
    assert_eq!(first.json(), again.json());
    let other = post("/v1/verifiers", &[("idempotency-key", "a")], &json!({"config": {"type": "exact"}}));
    assert_eq!((other.status, other.problem().as_str()), (422, "idempotency_key_reused"));
    // What was refused can be sent again, corrected.
    assert_eq!(post("/v1/verifiers", &[("idempotency-key", "b")], &json!({})).status, 422);
    assert_eq!(post("/v1/verifiers", &[("idempotency-key", "b")], &config).status, 201);

    // OpenAI's clients count their retries instead: the first is a new job each time, a retry is the one before.
    let job = |count: &str| {
        let answer = post("/v1/jobs", &[("x-stainless-retry-count", count)], &small_spec());
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let (one, repeated, another) = (job("0"), job("1"), job("0"));
    assert_eq!(one, repeated);
    assert_ne!(one, another);
    assert_eq!(job("2"), another);
    // The secret of a key is not kept for a repetition either.
    let body = json!({"name": "x", "scopes": ["admin"]});
    let first = post("/v1/api-keys", &[("idempotency-key", "c")], &body).json();
    let bearer = format!("Bearer {}", first["key"].as_str().unwrap());
    let with_key = |name: &str| post("/v1/api-keys", &[("authorization", &bearer), ("idempotency-key", name)], &body);
    assert_eq!(with_key("c").problem(), "idempotency_key_reused", "it was somebody else's request");
    assert!(with_key("d").json()["key"].is_string());
    let again = with_key("d").json();
    assert!(again["key"].is_null() && again["id"].is_string(), "{again}");
}

#[test]
fn jobs_that_arrive_together_are_all_kept_and_each_key_makes_one() {
    let data = data_dir();
    let server = Server::start(data.path());
    let ids: Vec<String> = std::thread::scope(|scope| {
        let submit = |i: usize| {
            let key = format!("key-{}", i % 40);
            let answer = server.request("POST", "/v1/jobs", &[("idempotency-key", &key)], Some(&small_spec()));
            assert_eq!(answer.status, 201, "{}", answer.json());
            answer.json()["id"].as_str().unwrap().to_owned()
        };
        let threads: Vec<_> = (0..80).map(|i| scope.spawn(move || submit(i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 40);
    let listed = server.get("/v1/jobs?limit=100").json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 40);
    for id in distinct {
        let events = server.get(&format!("/v1/jobs/{id}/events?limit=1")).json();
        assert_eq!((&events["data"][0]["seq"], &events["data"][0]["data"]["status"]), (&json!(1), &json!("queued")));
    }
}
