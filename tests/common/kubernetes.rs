//! What of Kubernetes a launcher and a machine of its see: an API server that keeps Jobs, Pods and Secrets and makes a Pod of a
//! Job, and a node that runs the program of Pods as processes. Its answers are those of a real API server of 1.20, beside which
//! the same tests run (`scripts/kubernetes.sh`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Objects by the kinds' names in paths, and by their own.
#[derive(Default)]
struct Objects(BTreeMap<(String, String), Value>);

/// An API server, and how it is reached.
pub struct Kubernetes {
    /// Where everything may be done, without a key.
    pub url: String,
    /// The file that tells a launcher how to reach it.
    pub kubeconfig: PathBuf,
    _folder: Option<TempDir>,
}

impl Kubernetes {
    /// The one beside the tests, or else one of our own.
    pub fn start() -> Self {
        if let Ok(url) = std::env::var("ANNEAL_TEST_KUBERNETES") {
            let kubeconfig = std::env::var("ANNEAL_TEST_KUBECONFIG").unwrap().into();
            return Self { url, kubeconfig, _folder: None };
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let app = Router::new().fallback(answer).with_state(Arc::<Mutex<Objects>>::default());
                axum::serve(listener, app).await.unwrap();
            });
        });
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("config");
        let access = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": url}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": "anneal"}}],
        });
        std::fs::write(&kubeconfig, access.to_string()).unwrap();
        Self { url, kubeconfig, _folder: Some(folder) }
    }

    /// Asks as somebody who may do everything. `what` is as `jobs`, `pods/NAME` or `pods/NAME/status`.
    pub fn ask(&self, method: &str, what: &str, body: Option<&Value>) -> Value {
        let group = if what.starts_with("jobs") { "apis/batch/v1" } else { "api/v1" };
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/{group}/namespaces/anneal/{what}", self.url))
            .header(
                "content-type",
                if method == "PATCH" { "application/merge-patch+json" } else { "application/json" },
            );
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut answer = agent.run(request.body(body.map(Value::to_string).unwrap_or_default()).unwrap()).unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    }

    pub fn list(&self, kind: &str) -> Vec<Value> {
        let list = self.ask("GET", kind, None);
        list["items"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
    }
}

async fn answer(
    State(objects): State<Arc<Mutex<Objects>>>,
    method: Method,
    uri: Uri,
    Query(query): Query<BTreeMap<String, String>>,
    body: Bytes,
) -> Response {
    let path = uri.path().trim_start_matches("/apis/batch/v1/").trim_start_matches("/api/v1/");
    let parts: Vec<&str> = path.split('/').collect();
    let ["namespaces", namespace, kind, rest @ ..] = parts.as_slice() else {
        return status(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource");
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut objects = objects.lock().unwrap();
    let name = rest.first().copied().or(body["metadata"]["name"].as_str()).unwrap_or_default().to_owned();
    let key = ((*kind).to_owned(), name.clone());
    let group = if *kind == "jobs" { "jobs.batch" } else { kind };
    let missing = || status(StatusCode::NOT_FOUND, "NotFound", &format!("{group} \"{name}\" not found"));
    match (method.as_str(), rest.first()) {
        ("GET", None) => {
            let fits = |object: &&Value| {
                query.get("labelSelector").is_none_or(|selector| {
                    selector.split(',').all(|term| {
                        let (label, value) = term.split_once('=').unwrap();
                        object["metadata"]["labels"][label] == value
                    })
                })
            };
            let own = objects.0.iter().filter(|((other, _), _)| other == kind).map(|(_, object)| object);
            let items: Vec<&Value> = own.filter(fits).collect();
            answered(StatusCode::OK, &json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}))
        }
        ("GET", Some(_)) => objects.0.get(&key).map_or_else(missing, |object| answered(StatusCode::OK, object)),
        ("POST", None) if objects.0.contains_key(&key) => {
            status(StatusCode::CONFLICT, "AlreadyExists", &format!("{group} \"{name}\" already exists"))
        }
        ("POST", None) => answered(StatusCode::CREATED, &objects.create(kind, namespace, body)),
        ("PATCH", Some(_)) if !objects.0.contains_key(&key) && *kind != "secrets" => missing(),
        ("PATCH", Some(_)) if !objects.0.contains_key(&key) => {
            answered(StatusCode::CREATED, &objects.create(kind, namespace, body))
        }
        ("PATCH", Some(_)) => {
            merge(objects.0.get_mut(&key).unwrap(), &body);
            objects.control();
            answered(StatusCode::OK, &objects.0[&key])
        }
        ("DELETE", Some(_)) => match objects.0.remove(&key) {
            None => missing(),
            Some(gone) => {
                let owner = &gone["metadata"]["uid"];
                objects.0.retain(|_, object| object["metadata"]["ownerReferences"][0]["uid"] != *owner);
                answered(StatusCode::OK, &gone)
            }
        },
        _ => status(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "the method is not allowed"),
    }
}

fn answered(code: StatusCode, body: &Value) -> Response {
    (code, [("content-type", "application/json")], body.to_string()).into_response()
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                      "reason": reason, "code": code.as_u16()});
    answered(code, &body)
}

fn merge(target: &mut Value, patch: &Value) {
    match patch {
        Value::Object(members) if target.is_object() => {
            members.iter().for_each(|(name, value)| merge(&mut target[name], value));
        }
        value => *target = value.clone(),
    }
}

impl Objects {
    fn create(&mut self, kind: &str, namespace: &str, mut object: Value) -> Value {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["uid"] = json!(format!("uid-of-{kind}-{name}"));
        if kind == "secrets" {
            let texts = object.as_object_mut().unwrap().remove("stringData").unwrap_or_default();
            for (key, text) in texts.as_object().into_iter().flatten() {
                object["data"][key] = json!(BASE64_STANDARD.encode(text.as_str().unwrap()));
            }
        } else {
            object["status"] = if kind == "pods" { json!({"phase": "Pending"}) } else { json!({}) };
        }
        self.0.insert((kind.to_owned(), name), object.clone());
        self.control();
        object
    }

    /// What the controller of Jobs does: a Pod for each, and the Job is what its Pod is.
    fn control(&mut self) {
        let jobs: Vec<Value> =
            self.0.iter().filter(|((kind, _), _)| kind == "jobs").map(|(_, job)| job.clone()).collect();
        for job in jobs {
            let name = job["metadata"]["name"].as_str().unwrap().to_owned();
            let pod = ("pods".to_owned(), format!("{name}-x7k2p"));
            if job["spec"]["suspend"] == true {
                continue;
            }
            let Some(known) = self.0.get(&pod) else {
                let template = &job["spec"]["template"];
                let mut metadata = template["metadata"].clone();
                metadata["name"] = json!(pod.1);
                metadata["ownerReferences"] = json!([{"kind": "Job", "name": name, "uid": job["metadata"]["uid"]}]);
                self.create("pods", "anneal", json!({"metadata": metadata, "spec": template["spec"]}));
                continue;
            };
            let ended = match known["status"]["phase"].as_str() {
                Some("Succeeded") => json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}),
                Some("Failed") => json!({"failed": 1, "conditions": [{
                    "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
                    "message": "Job has reached the specified backoff limit"}]}),
                _ => json!({"active": 1}),
            };
            self.0.get_mut(&("jobs".to_owned(), name)).unwrap()["status"] = ended;
        }
    }
}

/// A node: runs what Pods are to run, as processes of this machine.
pub struct Node {
    stop: Arc<AtomicBool>,
    running: Arc<Mutex<BTreeMap<String, Child>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Node {
    pub fn start(cluster: &Arc<Kubernetes>) -> Self {
        let (stop, running) = (Arc::<AtomicBool>::default(), Arc::<Mutex<BTreeMap<String, Child>>>::default());
        let (cluster, is_over, own) = (Arc::clone(cluster), Arc::clone(&stop), Arc::clone(&running));
        let thread = std::thread::spawn(move || {
            let folder = tempfile::tempdir().unwrap();
            let mut seen = BTreeSet::new();
            while !is_over.load(Ordering::Relaxed) {
                let pods = cluster.list("pods");
                for pod in pods.iter().filter(|pod| pod["status"]["phase"] == "Pending") {
                    let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
                    if seen.insert(name.clone()) {
                        let child = run(&cluster, pod, &folder.path().join(&name));
                        set(&cluster, &name, &json!({"phase": "Running"}));
                        own.lock().unwrap().insert(name, child);
                    }
                }
                own.lock().unwrap().retain(|name, child| {
                    if !pods.iter().any(|pod| pod["metadata"]["name"] == name.as_str()) && seen.contains(name) {
                        drop(child.kill());
                    }
                    let Some(ended) = child.try_wait().unwrap() else { return true };
                    let code = ended.code().unwrap_or(137);
                    let (phase, reason) = if code == 0 { ("Succeeded", "Completed") } else { ("Failed", "Error") };
                    let state = json!({"terminated": {"exitCode": code, "reason": reason}});
                    let container = json!({"name": "agent", "state": state, "ready": false, "restartCount": 0,
                                           "image": "", "imageID": ""});
                    set(&cluster, name, &json!({"phase": phase, "containerStatuses": [container]}));
                    false
                });
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Self { stop, running, thread: Some(thread) }
    }

    /// As a node that loses its power: all that it runs, and what that has started.
    pub fn lose_power(&self) {
        for child in self.running.lock().unwrap().values_mut() {
            drop(Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status());
            drop(child.kill());
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.lose_power();
    }
}

/// Says how a Pod is.
fn set(cluster: &Kubernetes, pod: &str, status: &Value) {
    cluster.ask("PATCH", &format!("pods/{pod}/status"), Some(&json!({"status": status})));
}

/// Starts the program of a Pod, with its key at a place of this machine.
fn run(cluster: &Kubernetes, pod: &Value, folder: &std::path::Path) -> Child {
    std::fs::create_dir_all(folder).unwrap();
    let container = &pod["spec"]["containers"][0];
    let secret =
        pod["spec"]["volumes"].as_array().unwrap().iter().find_map(|volume| volume["secret"]["secretName"].as_str());
    if let Some(name) = secret {
        let secret = cluster.ask("GET", &format!("secrets/{name}"), None);
        let key = BASE64_STANDARD.decode(secret["data"]["key"].as_str().unwrap_or_else(|| panic!("{secret}"))).unwrap();
        std::fs::write(folder.join("key"), key).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    for argument in container["args"].as_array().unwrap() {
        match argument.as_str().unwrap() {
            "/data" => command.arg(folder.join("data")),
            "/run/anneal/key" => command.arg(folder.join("key")),
            argument => command.arg(argument),
        };
    }
    command.args(["--log", "warn"]).spawn().unwrap()
}
