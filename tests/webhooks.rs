//! Webhooks against a real receiver, and the events of all jobs.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{PATIENCE, Server, data_dir, small_spec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A message as it arrived.
#[derive(Clone, Debug)]
struct Message {
    headers: BTreeMap<String, String>,
    body: String,
}

impl Message {
    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Which of the signatures are right under `secret`, computed without the server's code.
    fn signed_by(&self, secret: &str) -> Vec<bool> {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(key.len(), 32);
        let content = format!("{}.{}.{}", self.id(), self.headers["webhook-timestamp"], self.body);
        let pad = |byte: u8| -> Vec<u8> { (0..64).map(|i| key.get(i).copied().unwrap_or(0) ^ byte).collect() };
        let inner = Sha256::digest([pad(0x36).as_slice(), content.as_bytes()].concat());
        let outer = Sha256::digest([pad(0x5c).as_slice(), inner.as_slice()].concat());
        let expected = format!("v1,{}", STANDARD.encode(outer));
        self.headers["webhook-signature"].split(' ').map(|signature| signature == expected).collect()
    }
}

/// What a receiver answers to its n-th message; nothing at all when there is none.
type Script = fn(usize) -> Option<(u16, String)>;

/// A server that keeps what is posted to it.
struct Receiver {
    url: String,
    messages: Arc<(Mutex<Vec<Message>>, Condvar)>,
}

impl Receiver {
    fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let messages: Arc<(Mutex<Vec<Message>>, Condvar)> = Arc::default();
        let kept = Arc::clone(&messages);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || receive(connection.unwrap(), &kept, script));
            }
        });
        Self { url, messages }
    }

    fn all(&self) -> Vec<Message> {
        self.messages.0.lock().unwrap().clone()
    }

    /// Waits until what has arrived satisfies `condition`.
    fn wait(&self, condition: impl Fn(&[Message]) -> bool) -> Vec<Message> {
        let (messages, arrived) = &*self.messages;
        let guard = messages.lock().unwrap();
        let (guard, timeout) = arrived.wait_timeout_while(guard, PATIENCE, |list| !condition(list)).unwrap();
        assert!(!timeout.timed_out(), "{:#?}", *guard);
        guard.clone()
    }
}

fn receive(mut connection: TcpStream, kept: &(Mutex<Vec<Message>>, Condvar), script: Script) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    assert!(line.starts_with("POST "), "{line}");
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    let number = {
        let mut messages = kept.0.lock().unwrap();
        messages.push(Message { headers, body: String::from_utf8(body).unwrap() });
        messages.len() - 1
    };
    kept.1.notify_all();
    match script(number) {
        Some((status, more)) => {
            let answer = format!("HTTP/1.1 {status} X\r\n{more}content-length: 5\r\nconnection: close\r\n\r\nthere");
            connection.write_all(answer.as_bytes()).ok()
        }
        // Holds the connection until the sender goes away.
        None => connection.read(&mut [0]).ok().map(|_| ()),
    }
}

fn fine(_: usize) -> Option<(u16, String)> {
    Some((200, String::new()))
}

/// A server that may send to this machine and does not wait before it tries again.
fn start(data: &Path) -> Server {
    Server::start_with(data, &["--webhook-allow-private", "127.0.0.1/32", "--webhook-retry-seconds", "0,0,0"])
}

fn create(server: &Server, url: &str, events: &[&str]) -> Value {
    let answer = server.post("/v1/webhook_endpoints", &json!({"url": url, "events": events}));
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()
}

fn path(endpoint: &Value, rest: &str) -> String {
    format!("/v1/webhook_endpoints/{}{rest}", endpoint["id"].as_str().unwrap())
}

/// Sends a request with another method than GET and POST.
fn request(server: &Server, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", server.base));
    let body = body.map(Value::to_string).unwrap_or_default();
    let config = ureq::Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
    let mut response = ureq::Agent::from(config.build()).run(request.body(body).unwrap()).unwrap();
    (response.status().as_u16(), response.body_mut().read_json().unwrap())
}

/// Waits until a delivery is in a state.
fn delivery_in(server: &Server, id: &str, status: &str) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let delivery = server.get(&format!("/v1/webhook_deliveries/{id}")).json();
        if delivery["status"] == status {
            return delivery;
        }
        assert!(Instant::now() < deadline, "{delivery}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_job_is_told_signed_from_its_submission_to_its_end() {
    let data = data_dir();
    let server = start(data.path());
    let receiver = Receiver::start(fine);
    let endpoint = create(&server, &receiver.url, &["*"]);
    assert!(server.get(&path(&endpoint, "")).json().get("secret").is_none());
    let mut spec = small_spec();
    spec["metadata"] = json!({"commit": "abc"});
    let job = server.submit(&spec);
    assert_eq!(server.wait(&job)["status"], "succeeded");
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json();
    let told: Vec<&Value> = events["data"].as_array().unwrap().iter().collect();
    let told: BTreeSet<&str> = told
        .iter()
        .filter(|e| ["status", "checkpoint", "evaluation", "rollout_set"].contains(&e["type"].as_str().unwrap()))
        .map(|e| e["id"].as_str().unwrap())
        .collect();
    let messages = receiver.wait(|messages| messages.len() >= told.len());
    assert_eq!(messages.len(), told.len());
    let mut kinds = BTreeSet::new();
    for message in &messages {
        assert_eq!(message.signed_by(endpoint["secret"].as_str().unwrap()), [true]);
        assert_eq!(message.headers["content-type"], "application/json");
        let body = message.json();
        assert!(told.contains(body["data"]["event"]["id"].as_str().unwrap()), "{body}");
        assert_eq!(body["data"]["job"]["metadata"]["commit"], "abc");
        kinds.insert(body["type"].as_str().unwrap().to_owned());
    }
    for kind in ["job.queued", "job.running", "job.succeeded", "checkpoint.created", "evaluation.completed"] {
        assert!(kinds.contains(kind), "{kind} in {kinds:?}");
    }
    let end = messages.iter().map(Message::json).find(|body| body["type"] == "job.succeeded").unwrap();
    assert_eq!((&end["data"]["job"]["status"], &end["data"]["job"]["id"]), (&json!("succeeded"), &json!(job)));
    assert!(end["data"]["job"]["result"].is_object() && end["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn channels_of_chats_get_a_sentence() {
    let data = data_dir();
    let server = start(data.path());
    let receiver = Receiver::start(fine);
    for format in ["slack", "discord"] {
        let asked = json!({"url": receiver.url, "events": ["job.succeeded"], "format": format});
        let made = server.post("/v1/webhook_endpoints", &asked);
        assert_eq!((made.status, &made.json()["format"]), (201, &json!(format)));
    }
    let asked = json!({"url": receiver.url, "events": ["job.succeeded"], "format": "carrier pigeon"});
    assert_eq!(server.post("/v1/webhook_endpoints", &asked).json()["errors"][0]["pointer"], "/format");
    let job = server.submit(&small_spec());
    server.wait(&job);
    let bodies: Vec<Value> =
        receiver.wait(|messages| messages.len() >= 2).iter().map(|message| message.json()).collect();
    let by = |field: &str| bodies.iter().find_map(|body| body[field].as_str()).unwrap_or_else(|| panic!("{bodies:?}"));
    assert!(by("text").contains(&format!("{job}) has succeeded")) || by("text").starts_with(&job), "{bodies:?}");
    assert_eq!(by("text"), by("content"));
}

#[test]
fn a_message_is_repeated_under_the_same_id_until_it_arrives() {
    let data = data_dir();
    let server = start(data.path());
    let receiver = Receiver::start(|n| Some((if n < 2 { 500 } else { 204 }, String::new())));
    let endpoint = create(&server, &receiver.url, &["job.failed"]);
    let delivery = server.post(&path(&endpoint, "/test"), &json!({}));
    assert_eq!(delivery.status, 201, "{}", delivery.json());
    let id = delivery.json()["id"].as_str().unwrap().to_owned();
    let done = delivery_in(&server, &id, "succeeded");
    let statuses: Vec<u64> =
        done["attempts"].as_array().unwrap().iter().map(|a| a["response_status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [500, 500, 204]);
    assert_eq!(done["attempts"][0]["response_body"], "there");
    assert_eq!((&done["next_attempt_at"], &done["attempt_count"]), (&Value::Null, &json!(3)));
    let again = server.post(&format!("/v1/webhook_deliveries/{id}/redeliver"), &json!({}));
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("pending")));
    let messages = receiver.wait(|messages| messages.len() == 4);
    for message in &messages {
        assert_eq!((message.id(), &message.body), (id.as_str(), &messages[0].body));
        assert_eq!(message.signed_by(endpoint["secret"].as_str().unwrap()), [true]);
    }
    let list = server.get(&path(&endpoint, "/deliveries?status=failed")).json();
    assert_eq!(list["data"], json!([]));
    delivery_in(&server, &id, "succeeded");
    assert_eq!(server.get(&path(&endpoint, "/deliveries?status=succeeded")).json()["data"][0]["id"], json!(id));
}

#[test]
fn a_killed_server_loses_no_message() {
    let data = data_dir();
    let mut server = start(data.path());
    // The first message is held when the server dies; nobody knows whether it was understood.
    let receiver = Receiver::start(|n| if n == 0 { None } else { fine(n) });
    create(&server, &receiver.url, &["job.queued", "job.cancelled"]);
    server.submit(&small_spec());
    let held = receiver.wait(|messages| !messages.is_empty())[0].clone();
    for _ in 0..8 {
        let job = server.submit(&small_spec());
        assert_eq!(server.post(&format!("/v1/jobs/{job}/cancel"), &json!({})).status, 200);
        server.kill();
        server = start(data.path());
    }
    let last = server.submit(&small_spec());
    let written = |server: &Server| -> BTreeSet<String> {
        let events = server.get("/v1/events?type=status&limit=200").json();
        assert_eq!(events["has_more"], false);
        let events = events["data"].as_array().unwrap().clone();
        let told = events.iter().filter(|e| ["queued", "cancelled"].contains(&e["data"]["status"].as_str().unwrap()));
        told.map(|e| e["id"].as_str().unwrap().to_owned()).collect()
    };
    let expected = written(&server);
    let event = |message: &Message| message.json()["data"]["event"]["id"].as_str().unwrap().to_owned();
    let messages = receiver.wait(|messages| {
        let arrived: BTreeSet<String> = messages.iter().skip(1).map(event).collect();
        arrived.is_superset(&expected)
    });
    // What is told twice is told under one id.
    let ids: BTreeSet<(String, String)> = messages.iter().map(|m| (event(m), m.id().to_owned())).collect();
    let events: BTreeSet<String> = messages.iter().map(event).collect();
    assert_eq!(ids.len(), events.len());
    assert!(messages.iter().skip(1).any(|message| message.id() == held.id()));
    assert!(events.is_subset(&written(&server)));
    assert!(messages.iter().any(|m| m.json()["data"]["job"]["id"] == json!(last)));
}

#[test]
fn while_a_secret_is_rotated_both_sign() {
    let data = data_dir();
    let server = start(data.path());
    let receiver = Receiver::start(fine);
    let endpoint = create(&server, &receiver.url, &["*"]);
    let rotated = server.post(&path(&endpoint, "/rotate-secret"), &json!({})).json();
    let (old, new) = (endpoint["secret"].as_str().unwrap(), rotated["secret"].as_str().unwrap());
    assert_ne!(old, new);
    assert!(rotated["previous_secret_expires_at"].as_i64().unwrap() > rotated["created_at"].as_i64().unwrap() + 80_000);
    server.post(&path(&endpoint, "/test"), &json!({}));
    let message = receiver.wait(|messages| messages.len() == 1).remove(0);
    assert_eq!((message.signed_by(new), message.signed_by(old)), (vec![true, false], vec![false, true]));
}

#[test]
fn a_lost_key_silences_only_the_endpoints_whose_secrets_it_kept() {
    let data = data_dir();
    let (before, after) = (Receiver::start(fine), Receiver::start(fine));
    let server = start(data.path());
    let lost = create(&server, &before.url, &["job.succeeded"]);
    let rotated = create(&server, &before.url, &["job.succeeded"]);
    server.terminate();
    std::fs::write(data.path().join("secrets.key"), STANDARD.encode([7; 32])).unwrap();

    let server = start(data.path());
    let secret = create(&server, &after.url, &["job.succeeded"])["secret"].as_str().unwrap().to_owned();
    let listed = server.get("/v1/webhook_endpoints").json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3, "{listed}");
    assert_eq!(server.get(&path(&lost, "")).status, 200);
    let anew = server.post(&path(&rotated, "/rotate-secret"), &json!({})).json();
    server.wait(&server.submit(&small_spec()));
    assert!(after.wait(|messages| !messages.is_empty())[0].signed_by(&secret)[0]);
    // Of the two from before only the one with a new secret is sent to.
    let told = before.wait(|messages| !messages.is_empty());
    assert_eq!(told[0].signed_by(anew["secret"].as_str().unwrap()), [true]);
    assert_eq!(request(&server, "DELETE", &path(&lost, ""), None).0, 200);
    assert_eq!(before.all().len(), 1);
}

#[test]
fn private_addresses_are_refused_when_named_and_when_sent_to() {
    let data = data_dir();
    let server = start(data.path());
    let receiver = Receiver::start(fine);
    let endpoint = create(&server, &receiver.url, &["*"]);
    assert!(server.terminate() < PATIENCE);

    let server = Server::start_with(data.path(), &["--webhook-retry-seconds", "0"]);
    for url in [
        "http://127.0.0.1:1/",
        "https://localhost/",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "http://0/",
        "https://nowhere.invalid/",
    ] {
        let refused = server.post("/v1/webhook_endpoints", &json!({"url": url}));
        assert_eq!((refused.status, refused.problem().as_str()), (422, "invalid_spec"), "{url}");
        let error = &refused.json()["errors"][0];
        assert_eq!((&error["pointer"], &error["code"]), (&json!("/url"), &json!("no_public_address")), "{url}");
    }
    let (status, refused) = request(&server, "PATCH", &path(&endpoint, ""), Some(&json!({"url": "ftp://example.org"})));
    assert_eq!((status, &refused["errors"][0]["code"]), (422, &json!("invalid_url")));

    let delivery = server.post(&path(&endpoint, "/test"), &json!({})).json();
    let failed = delivery_in(&server, delivery["id"].as_str().unwrap(), "failed");
    assert_eq!(failed["attempts"].as_array().unwrap().len(), 2);
    assert!(failed["attempts"][0]["error"].as_str().unwrap().contains("public address"), "{failed}");
    assert!(receiver.all().is_empty());
}

/// Where the receiver below points to.
static ELSEWHERE: std::sync::OnceLock<String> = std::sync::OnceLock::new();

#[test]
fn a_redirect_is_not_followed() {
    let data = data_dir();
    let server = start(data.path());
    let elsewhere = Receiver::start(fine);
    ELSEWHERE.set(elsewhere.url.clone()).unwrap();
    let receiver = Receiver::start(|_| Some((307, format!("location: {}\r\n", ELSEWHERE.get().unwrap()))));
    let endpoint = create(&server, &receiver.url, &["*"]);
    let delivery = server.post(&path(&endpoint, "/test"), &json!({})).json();
    let failed = delivery_in(&server, delivery["id"].as_str().unwrap(), "failed");
    let attempts = failed["attempts"].as_array().unwrap();
    assert!(attempts.len() == 4 && attempts.iter().all(|a| a["response_status"] == 307), "{failed}");
    assert!(elsewhere.all().is_empty());
}

#[test]
fn a_receiver_that_is_gone_is_not_asked_again() {
    let data = data_dir();
    let server = start(data.path());
    let receiver = Receiver::start(|_| Some((410, String::new())));
    let endpoint = create(&server, &receiver.url, &["*"]);
    let delivery = server.post(&path(&endpoint, "/test"), &json!({})).json();
    delivery_in(&server, delivery["id"].as_str().unwrap(), "failed");
    let disabled = server.get(&path(&endpoint, "")).json();
    assert_eq!(disabled["enabled"], false);
    assert!(disabled["disabled_reason"].as_str().unwrap().contains("410"));
    for to in
        [path(&endpoint, "/test"), format!("/v1/webhook_deliveries/{}/redeliver", delivery["id"].as_str().unwrap())]
    {
        let refused = server.post(&to, &json!({}));
        assert_eq!((refused.status, refused.problem().as_str()), (409, "conflict"));
    }
    assert_eq!(receiver.all().len(), 1);
}

#[test]
fn endpoints_are_listed_changed_and_deleted() {
    let data = data_dir();
    let server = start(data.path());
    let ids: Vec<Value> =
        (0..3).map(|_| create(&server, "http://127.0.0.1:9/", &["job.failed"])["id"].clone()).collect();
    let first = server.get("/v1/webhook_endpoints?limit=2&order=asc").json();
    assert_eq!((&first["data"][1]["id"], &first["has_more"]), (&ids[1], &json!(true)));
    let rest = server.get(&format!("/v1/webhook_endpoints?order=asc&after={}", ids[1].as_str().unwrap())).json();
    assert_eq!((&rest["data"][0]["id"], &rest["has_more"]), (&ids[2], &json!(false)));
    assert!(first["data"][0].get("secret").is_none());

    let one = json!({"id": ids[0]});
    let change = json!({"description": "words", "events": ["*"], "enabled": false, "metadata": {"team": "a"}});
    let (status, changed) = request(&server, "PATCH", &path(&one, ""), Some(&change));
    assert_eq!((status, &changed["description"], &changed["enabled"]), (200, &json!("words"), &json!(false)));
    let (_, changed) = request(&server, "PATCH", &path(&one, ""), Some(&json!({"description": null})));
    assert_eq!((&changed["description"], &changed["metadata"]), (&Value::Null, &json!({"team": "a"})));
    for (body, pointer, code) in [
        (json!({"events": ["job.exploded"]}), "/events/0", "unknown_value"),
        (json!({"events": []}), "/events", "out_of_range"),
        (json!({"urls": "x"}), "/urls", "unknown_field"),
        (json!({"url": null}), "/url", "wrong_type"),
        (json!({"metadata": {"k".repeat(65): ""}}), "/metadata", "out_of_range"),
    ] {
        let (status, refused) = request(&server, "PATCH", &path(&one, ""), Some(&body));
        let error = &refused["errors"][0];
        assert_eq!((status, &error["pointer"], &error["code"]), (422, &json!(pointer), &json!(code)), "{refused}");
    }
    let (status, deleted) = request(&server, "DELETE", &path(&one, ""), None);
    assert_eq!((status, &deleted["deleted"]), (200, &json!(true)));
    for (method, rest) in
        [("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/test"), ("POST", "/rotate-secret")]
    {
        let (status, missing) = request(&server, method, &path(&one, rest), None);
        assert_eq!((status, &missing["code"]), (404, &json!("not_found")), "{method} {rest}");
    }
}

/// Reads at most `most` events of the stream of all jobs behind an event, and none behind the end of a job: the stream
/// itself has no end.
fn stream(server: &Server, after: Option<&str>, most: usize) -> Vec<(String, Value)> {
    let mut request = ureq::get(format!("{}/v1/events", server.base)).header("accept", "text/event-stream");
    if let Some(after) = after {
        request = request.header("last-event-id", after);
    }
    let response = request.call().unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events: Vec<(String, Value)> = Vec::new();
    let mut id = String::new();
    for line in BufReader::new(response.into_body().into_reader()).lines().map_while(Result::ok) {
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((id.clone(), serde_json::from_str(data).unwrap()));
        }
        if events.len() == most || events.last().is_some_and(|(_, event)| event["data"]["status"] == "succeeded") {
            break;
        }
    }
    events
}

#[test]
fn the_stream_of_all_jobs_resumes_without_gap_and_without_repeat() {
    let data = data_dir();
    let server = Server::start(data.path());
    let jobs = [server.submit(&small_spec()), server.submit(&small_spec())];
    let mut events: Vec<(String, Value)> = Vec::new();
    let mut open: BTreeSet<&str> = jobs.iter().map(String::as_str).collect();
    while !open.is_empty() {
        let after = events.last().map(|(id, _)| id.clone());
        events.extend(stream(&server, after.as_deref(), 7));
        for (_, event) in events.iter().rev().take(7).filter(|(_, e)| e["data"]["status"] == "succeeded") {
            open.remove(event["job"].as_str().unwrap());
        }
    }
    let mut pages: Vec<Value> = Vec::new();
    loop {
        let after = pages.last().map_or(String::new(), |event| format!("&after={}", event["id"].as_str().unwrap()));
        let page = server.get(&format!("/v1/events?limit=9{after}")).json();
        pages.extend(page["data"].as_array().unwrap().iter().cloned());
        if page["has_more"] == false {
            break;
        }
    }
    assert!(events.iter().zip(&pages).all(|((id, event), expected)| event == expected && expected["id"] == json!(id)));
    assert!(events.len() <= pages.len());
    for job in &jobs {
        let seqs: Vec<i64> =
            pages.iter().filter(|e| e["job"] == json!(job)).map(|e| e["seq"].as_i64().unwrap()).collect();
        assert!(seqs.iter().copied().eq(1..=seqs.len() as i64), "{seqs:?}");
        let own = server.get(&format!("/v1/events?job={job}&limit=200")).json();
        let from_job = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json();
        assert_eq!(own["data"], from_job["data"]);
    }
    let checkpoints = server.get("/v1/events?type=checkpoint&limit=200").json();
    let expected: Vec<Value> = pages.iter().filter(|e| e["type"] == "checkpoint").cloned().collect();
    assert_eq!(checkpoints["data"], json!(expected));

    let chosen = format!("/v1/events?type=checkpoint,status&job={},{}&limit=200", jobs[0], jobs[1]);
    let of_chosen = |e: &&Value| {
        ["checkpoint", "status"].contains(&e["type"].as_str().unwrap())
            && jobs[..2].iter().any(|j| e["job"] == json!(j))
    };
    let expected: Vec<Value> = pages.iter().filter(of_chosen).cloned().collect();
    assert_eq!(server.get(&chosen).json()["data"], json!(expected));

    assert_eq!(server.get("/v1/events?after=latest").json()["data"], json!([]));
    for (query, status, code) in [
        ("?after=evt_00000000000070008000000000000000", 404, "not_found"),
        ("?after=7", 400, "invalid_parameter"),
        ("?type=rumour", 400, "invalid_parameter"),
        ("?job=job_00000000000070008000000000000000", 404, "not_found"),
        ("?wait=61", 400, "invalid_parameter"),
    ] {
        let refused = server.get(&format!("/v1/events{query}"));
        assert_eq!((refused.status, refused.problem().as_str()), (status, code), "{query}");
    }
}

#[test]
fn one_stream_tells_of_events_devices_and_the_queue() {
    let data = data_dir();
    let server = Server::start(data.path());
    let path = "/v1/events?stream=true&after=latest&type=status&views=devices,queue";
    let body = ureq::get(format!("{}{path}", server.base)).call().unwrap().into_body().into_reader();
    let mut lines = BufReader::new(body).lines();
    // The type of an event, whether it has an id, and its data.
    let mut next = || -> (String, bool, Value) {
        let (mut kind, mut has_id) = (String::new(), false);
        loop {
            let line = lines.next().unwrap().unwrap();
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut kind),
                Some(("id", _)) => has_id = true,
                Some(("data", data)) => return (kind, has_id, serde_json::from_str(data).unwrap()),
                _ => {}
            }
        }
    };
    let (devices, queue) = (next(), next());
    assert_eq!((devices.0.as_str(), devices.1), ("devices", false));
    assert_eq!(devices.2["data"][0]["id"], "cpu");
    assert_eq!(
        (queue.0.as_str(), queue.1, &queue.2["counts"]),
        ("queue", false, &server.get("/v1/queue").json()["counts"])
    );
    let mut spec = small_spec();
    spec["objective"]["rounds"] = json!(500);
    spec["train"]["steps"] = json!(5000);
    let job = server.submit(&spec);
    let (mut held, mut counted, mut over) = (false, false, false);
    while !over {
        let (kind, has_id, data) = next();
        let seen = held && counted;
        match kind.as_str() {
            "devices" => held |= data["data"][0]["job"] == json!(job),
            "queue" => counted |= data["counts"]["running"] == 1,
            "status" => over = has_id && data["data"]["status"] == "cancelled",
            other => panic!("{other}"),
        }
        if !seen && held && counted {
            server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
        }
    }
    let refused = server.get("/v1/events?views=weather");
    assert_eq!((refused.status, refused.problem().as_str()), (400, "invalid_parameter"));
}

#[test]
fn a_long_poll_over_all_jobs_wakes_up_and_the_end_of_the_server_ends_streams() {
    let data = data_dir();
    let server = Server::start(data.path());
    let job = std::thread::scope(|scope| {
        let polled = scope.spawn(|| server.get("/v1/events?type=status&wait=60").json());
        let job = server.submit(&small_spec());
        assert_eq!(polled.join().unwrap()["data"][0]["job"], json!(job));
        job
    });
    server.wait(&job);
    let request = ureq::get(format!("{}/v1/events?stream=true&type=status", server.base));
    let mut reader = BufReader::new(request.call().unwrap().into_body().into_reader());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with("id: evt_") || line.starts_with("event: status"), "{line}");
    server.terminate();
    reader.read_to_string(&mut line).unwrap();
    assert!(line.contains("succeeded"));
}
