//! Machines that Kubernetes starts for jobs, on an API server and a node of the tests' own, or, by `scripts/kubernetes.sh cargo
//! test --test kubernetes -- --test-threads=1`, on a real API server with its controllers.

mod common;
#[path = "common/kubernetes.rs"]
mod kubernetes;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, anneal, data_dir, small_spec};
use kubernetes::{Kubernetes, Node};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server that runs no jobs itself, and a cluster that it may ask for machines.
struct Site {
    cluster: Arc<Kubernetes>,
    server: Server,
    _data: TempDir,
}

impl Site {
    /// `more` are lines of the settings after the launcher's.
    fn start(more: &str) -> Self {
        let (cluster, data) = (Arc::new(Kubernetes::start()), data_dir());
        for kind in ["jobs", "pods", "secrets"] {
            for object in cluster.list(kind) {
                let name = object["metadata"]["name"].as_str().unwrap();
                cluster.ask("DELETE", &format!("{kind}/{name}"), Some(&json!({"propagationPolicy": "Background"})));
            }
        }
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = format!(
            "[[launchers]]\nname = \"pods\"\ntype = \"kubernetes\"\nserver = \"http://{listen}\"\nmemory = \"4GiB\"\n\
             devices = \"simulated:4GiB\"\nidle_seconds = 5\npoll_seconds = 1\n\
             [launchers.kubernetes]\nimage = \"anneal:test\"\ndevice_resource = \"\"\nnamespace = \"anneal\"\n{more}\n",
        );
        std::fs::write(data.path().join("settings.toml"), settings).unwrap();
        let mut key = anneal(data.path());
        key.args(["keys", "create", "admin", "--scopes", "read,write,admin", "--local", "--data-dir"]).arg(data.path());
        let key = String::from_utf8(key.output().unwrap().stdout).unwrap().trim().to_owned();
        let mut command = anneal(data.path());
        command.args(["serve", "--supervised", "--log", "warn", "--lease-seconds", "3", "--devices", "none"]);
        command.args(["--listen", &listen.to_string(), "--data-dir"]).arg(data.path());
        command.arg("--config").arg(data.path().join("settings.toml")).env("KUBECONFIG", &cluster.kubeconfig);
        let mut server = Server::spawn(command);
        server.use_key(&key);
        Self { cluster, server, _data: data }
    }

    fn launches(&self) -> Vec<Value> {
        self.server.get("/v1/launches?limit=100").json()["data"].as_array().unwrap().clone()
    }

    fn until(&self, what: &str, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let launches = self.launches();
            if condition(&launches) {
                return launches;
            }
            assert!(Instant::now() < deadline, "{what}: {launches:#?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits for the reason why a job waits to be told.
    fn until_told(&self, job: &str, part: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.server.job(job)["waiting"]["message"].as_str().unwrap_or_default().contains(part) {
            assert!(Instant::now() < deadline, "`{part}`: {} {:#?}", self.server.job(job)["waiting"], self.launches());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn weights(&self, job: &str) -> String {
        let ended = self.server.wait(job);
        assert_eq!(ended["status"], "succeeded", "{ended} {:#?}", self.launches());
        ended["result"]["weights_sha256"].as_str().unwrap().to_owned()
    }

    /// Secrets that are ours: a real cluster has some of its own.
    fn secrets(&self) -> Vec<Value> {
        let is_ours = |secret: &Value| secret["metadata"]["labels"]["anneal.launcher"] == "pods";
        self.cluster.list("secrets").into_iter().filter(is_ours).collect()
    }
}

/// What a job on a server's own device ends with.
fn undisturbed(spec: &Value) -> String {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "cpu"]);
    let job = server.submit(spec);
    server.wait(&job)["result"]["weights_sha256"].as_str().unwrap().to_owned()
}

fn all_over(launches: &[Value]) -> bool {
    launches.iter().all(|launch| launch["ended_at"].is_i64())
}

#[test]
fn a_job_that_no_device_fits_gets_a_pod_which_goes_when_it_is_done() {
    let site = Site::start(
        "[launchers.kubernetes.pod]\nnodeSelector = {disk = \"fast\"}\n[launchers.kubernetes.container]\nimagePullPolicy = \"Always\"",
    );
    let node = Node::start(&site.cluster);
    let jobs = [site.server.submit(&small_spec()), site.server.submit(&small_spec())];
    let expected = undisturbed(&small_spec());
    assert!(jobs.iter().all(|job| site.weights(job) == expected));
    let launches = site.until("all are over", all_over);
    assert_eq!(launches.len(), 2, "{launches:#?}");
    for launch in &launches {
        assert_eq!((&launch["status"], &launch["message"]), (&json!("ended"), &json!("Kubernetes says Complete")));
    }
    // The Job stays for people to look at, its key does not.
    let made = site.cluster.list("jobs");
    assert_eq!((made.len(), site.secrets().len()), (2, 0));
    let (spec, labels) = (&made[0]["spec"], &made[0]["metadata"]["labels"]);
    let pod = &spec["template"]["spec"];
    assert_eq!(
        (&spec["backoffLimit"], &pod["restartPolicy"], &labels["anneal.launcher"]),
        (&json!(0), &json!("Never"), &json!("pods"))
    );
    assert_eq!(
        (&pod["nodeSelector"]["disk"], &pod["containers"][0]["imagePullPolicy"]),
        (&json!("fast"), &json!("Always"))
    );
    assert!(!made[0].to_string().contains("ak_"), "no key in the Job: {}", made[0]);
    drop(node);
}

#[test]
fn a_job_whose_node_is_lost_goes_on_in_another_pod_to_the_same_bits() {
    let site = Site::start("");
    let node = Node::start(&site.cluster);
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(40);
    spec["eval"]["every_steps"] = json!(40);
    let job = site.server.submit(&spec);
    site.server.wait_until(&job, |job| job["step"].as_u64().unwrap_or(0) >= 4);
    node.lose_power();
    assert_eq!(site.weights(&job), undisturbed(&spec));
    let launches = site.until("all are over", all_over);
    let messages: Vec<&str> = launches.iter().map(|launch| launch["message"].as_str().unwrap()).collect();
    assert_eq!(messages.len(), 2, "{launches:#?}");
    assert!(messages[1].starts_with("Kubernetes says Failed (BackoffLimitExceeded"), "{messages:?}");
    drop(node);
}

#[test]
fn why_a_machine_does_not_come_is_told_where_the_job_waits_and_it_is_taken_back_when_nobody_waits() {
    // Without a node.
    let site = Site::start("");
    let job = site.server.submit(&small_spec());
    site.until_told(&job, "`pods` is to start a machine for it");
    site.until_told(&job, "Kubernetes says Pending");
    let is_real = std::env::var("ANNEAL_TEST_KUBERNETES").is_ok();
    if !is_real {
        // What the scheduler of a real one says without being asked.
        let pod = site.cluster.list("pods")[0]["metadata"]["name"].as_str().unwrap().to_owned();
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                               "message": "no nodes available to schedule pods"});
        let status = json!({"status": {"conditions": [condition]}});
        site.cluster.ask("PATCH", &format!("pods/{pod}/status"), Some(&status));
    }
    site.until_told(&job, "Unschedulable no nodes available to schedule pods");
    assert_eq!(site.secrets().len(), 1);
    assert_eq!(site.server.post(&format!("/v1/jobs/{job}/cancel"), &json!({})).status, 200);
    let over = site.until("it is taken back", all_over);
    assert_eq!(over[0]["message"], "no job needs it any more");
    assert_eq!((site.cluster.list("jobs").len(), site.secrets().len()), (0, 0));
}

#[test]
fn a_launch_waits_for_its_queue_and_one_that_is_refused_says_why() {
    let site = Site::start("queue = \"research\"");
    let job = site.server.submit(&small_spec());
    let is_real = std::env::var("ANNEAL_TEST_KUBERNETES").is_ok();
    // A real one of 1.20 knows no suspension.
    if !is_real {
        site.until_told(&job, "Suspended (its queue has not admitted it)");
    }
    site.until("it is handed over", |all| all.first().is_some_and(|launch| launch["status"] == "waiting"));
    let made = site.cluster.list("jobs");
    assert_eq!(made[0]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "research");
    // As Kueue does it.
    let name = made[0]["metadata"]["name"].as_str().unwrap();
    site.cluster.ask("PATCH", &format!("jobs/{name}"), Some(&json!({"spec": {"suspend": false}})));
    let node = Node::start(&site.cluster);
    site.weights(&job);
    drop((node, site));

    let wrong = Site::start("[launchers.kubernetes.container]\nimagePullPolicy = 7");
    let job = wrong.server.submit(&small_spec());
    wrong.until_told(&job, "make no Job of it");
    assert_eq!(wrong.launches()[0]["status"], "failed");
    assert_eq!(wrong.server.job(&job)["waiting"]["code"], "no_device");
}
