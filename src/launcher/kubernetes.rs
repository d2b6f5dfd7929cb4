//! Kubernetes (1.21 and later): a Job and a Secret with the machine's key for each launch, both with its name.

use std::collections::HashMap;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{Order, Seen, State, Trouble};
use crate::job::LaunchId;
use crate::job::launch::{KubernetesOptions, Launcher};

/// What its objects are found by: which launcher made them, and for which launch.
const LAUNCHER: &str = "anneal.launcher";
const LAUNCH: &str = "anneal.launch";
/// The label by which Kueue knows the queue of a Job.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Who writes what is written.
const MANAGER: &str = "anneal";
/// Where the key is in a container.
const KEY_FOLDER: &str = "/run/anneal";
/// Objects that are read at a time.
const PAGE: u32 = 500;
/// How long Kubernetes keeps a Job that is over, for people to look at.
const KEPT_SECONDS: u64 = 86_400;

/// Access to a cluster, as `kubectl` of the server's user has it, or the service account of the pod that the server is in.
pub struct Kubernetes {
    launcher: String,
    options: KubernetesOptions,
    client: OnceCell<Client>,
}

impl Kubernetes {
    pub fn of(launcher: &Launcher) -> Self {
        Self { launcher: launcher.name.clone(), options: launcher.kubernetes.clone(), client: OnceCell::new() }
    }

    async fn client(&self) -> Result<Client, Trouble> {
        // Of several programs that choose a library for TLS the first wins, and all take the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = self.client.get_or_try_init(async || {
            Client::try_default().await.map_err(|error| Trouble::Away(format!("no access to Kubernetes: {error}")))
        });
        Ok(client.await?.clone())
    }

    fn api<T>(&self, client: Client) -> Api<T>
    where
        T: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        match &self.options.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::default_namespaced(client),
        }
    }

    /// One of the same name that is there already is the same launch.
    pub async fn submit(&self, order: &Order<'_>) -> Result<String, Trouble> {
        let client = self.client().await?;
        let name = name(order.launch.id);
        if let Some(token) = &order.token {
            let secret = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "labels": labels(order)},
                "stringData": {"key": token},
            });
            let secrets: Api<Secret> = self.api(client.clone());
            let as_manager = PatchParams::apply(MANAGER).force();
            secrets.patch(&name, &as_manager, &Patch::Apply(&secret)).await.map_err(|error| trouble(&error))?;
        }
        let job: Job = serde_json::from_value(job(order)).map_err(|error| {
            Trouble::Refused(format!("`kubernetes.pod` or `kubernetes.container` make no Job of it: {error}"))
        })?;
        match self.api::<Job>(client).create(&PostParams::default(), &job).await {
            Ok(_) => Ok(name),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(name),
            Err(error) => Err(trouble(&error)),
        }
    }

    pub async fn look(&self, launches: &[LaunchId]) -> Result<HashMap<LaunchId, Seen>, Trouble> {
        let client = self.client().await?;
        let pods: HashMap<LaunchId, Pod> = self.own(self.api(client.clone())).await?;
        let mut jobs: HashMap<LaunchId, Job> = self.own(self.api(client)).await?;
        jobs.retain(|launch, _| launches.contains(launch));
        Ok(jobs.into_iter().map(|(launch, job)| (launch, seen(&job, pods.get(&launch)))).collect())
    }

    /// All objects of a kind that this launcher has made, by their launches.
    async fn own<T>(&self, api: Api<T>) -> Result<HashMap<LaunchId, T>, Trouble>
    where
        T: Clone + std::fmt::Debug + serde::de::DeserializeOwned + kube::Resource,
    {
        let mut own = HashMap::new();
        let mut page = ListParams::default().labels(&format!("{LAUNCHER}={}", self.launcher)).limit(PAGE);
        loop {
            let list = api.list(&page).await.map_err(|error| trouble(&error))?;
            let next = list.metadata.continue_.clone().filter(|next| !next.is_empty());
            for object in list.items {
                if let Some(launch) = object.labels().get(LAUNCH).and_then(|id| id.parse().ok()) {
                    own.insert(launch, object);
                }
            }
            match next {
                None => return Ok(own),
                Some(next) => page = page.continue_token(&next),
            }
        }
    }

    /// Takes a launch back, or removes what it has left: its key, and a Job that is not over.
    pub async fn clear(&self, launch: LaunchId) -> Result<(), Trouble> {
        let (client, name) = (self.client().await?, name(launch));
        let deletion = DeleteParams::background();
        let jobs: Api<Job> = self.api(client.clone());
        let job = jobs.get_opt(&name).await.map_err(|error| trouble(&error))?;
        if job.is_some_and(|job| seen(&job, None).state != State::Over) {
            gone(jobs.delete(&name, &deletion).await)?;
        }
        gone(self.api::<Secret>(client).delete(&name, &deletion).await)
    }
}

/// Whether something is deleted, by this request or before.
fn gone<T>(deleted: Result<T, kube::Error>) -> Result<(), Trouble> {
    match deleted {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(trouble(&error)),
    }
}

fn trouble(error: &kube::Error) -> Trouble {
    match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
            Trouble::Refused(format!("Kubernetes says {} ({})", status.message, status.reason))
        }
        error => Trouble::Away(error.to_string()),
    }
}

/// The name of a launch's objects, for names have no `_`.
fn name(launch: LaunchId) -> String {
    format!("anneal-{launch}").replace('_', "-")
}

fn labels(Order { launcher, launch, .. }: &Order<'_>) -> Value {
    let mut labels = json!({
        "app.kubernetes.io/name": "anneal",
        "app.kubernetes.io/component": "agent",
        LAUNCHER: launcher.name,
        LAUNCH: launch.id.to_string(),
    });
    if let Some(queue) = &launcher.kubernetes.queue {
        labels[QUEUE] = json!(queue);
    }
    labels
}

/// The Job of a launch: one pod, tried once.
fn job(order: &Order<'_>) -> Value {
    let Order { launcher, launch, token, idle_seconds, .. } = order;
    let options = &launcher.kubernetes;
    let name = name(launch.id);
    let id = launch.id.to_string();
    let mut arguments = vec!["worker", "--server", &launcher.server, "--host-name", &id, "--pool", &launcher.name];
    let (idle, key_file) = (idle_seconds.to_string(), format!("{KEY_FOLDER}/key"));
    arguments.extend(["--devices", &launcher.devices, "--data-dir", "/data", "--once", "--idle-exit", &idle]);
    let (mut mounts, mut volumes) =
        (vec![json!({"name": "data", "mountPath": "/data"})], vec![json!({"name": "data", "emptyDir": {}})]);
    if token.is_some() {
        arguments.extend(["--token-file", &key_file]);
        mounts.push(json!({"name": "key", "mountPath": KEY_FOLDER, "readOnly": true}));
        volumes.push(json!({"name": "key", "secret": {"secretName": name, "defaultMode": 0o440}}));
    }
    let mut container = json!({
        "name": "agent",
        "image": options.image,
        "args": arguments,
        "volumeMounts": mounts,
    });
    if !options.device_resource.is_empty() {
        container["resources"] = json!({"limits": {(options.device_resource.as_str()): launch.devices.to_string()}});
    }
    merge(&mut container, &options.container);
    let mut pod = json!({
        "restartPolicy": "Never",
        // At the end of its time it is told so, and has this long to save its jobs.
        "terminationGracePeriodSeconds": launcher.notice_seconds,
        "automountServiceAccountToken": false,
        // The group of the image's user may read the key.
        "securityContext": {"fsGroup": 10_001},
        "volumes": volumes,
    });
    merge(&mut pod, &options.pod);
    pod["containers"] = json!([container]);
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels(order), "annotations": {"anneal.job": launch.job.to_string()}},
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": (launcher.time_limit_minutes * 60).saturating_sub(launcher.notice_seconds),
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            // Kueue starts it when there is room.
            "suspend": options.queue.is_some(),
            "template": {"metadata": {"labels": labels(order)}, "spec": pod},
        },
    })
}

/// Changes `target` as a merge patch says (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else { return };
    for (name, value) in members {
        match value {
            Value::Null => drop(target.as_object_mut().and_then(|target| target.shift_remove(name))),
            Value::Object(_) if target[name].is_object() => merge(&mut target[name], value),
            value => target[name] = value.clone(),
        }
    }
}

/// How a Job stands, and why, as far as its pod tells.
fn seen(job: &Job, pod: Option<&Pod>) -> Seen {
    let status = job.status.as_ref();
    let is_true = |kind: &str| {
        let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")
    };
    let runs = pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref()) == Some("Running");
    let detail = pod.and_then(pod_detail).filter(|_| !runs && is_true("Complete").is_none());
    let (state, word, said) = if is_true("Complete").is_some() {
        (State::Over, "Complete", None)
    } else if let Some(failed) = is_true("Failed") {
        (State::Over, "Failed", failed.reason.clone())
    } else if job.spec.as_ref().is_some_and(|spec| spec.suspend == Some(true)) {
        (State::Waits, "Suspended", Some(String::from("its queue has not admitted it")))
    } else if runs {
        (State::Runs, "Running", None)
    } else {
        (State::Waits, "Pending", None)
    };
    let reasons: Vec<String> = said.into_iter().chain(detail).collect();
    let reason = match reasons.as_slice() {
        [] => format!("Kubernetes says {word}"),
        reasons => format!("Kubernetes says {word} ({})", reasons.join("; ")),
    };
    let node = pod.and_then(|pod| pod.spec.as_ref()?.node_name.clone());
    Seen { reference: job.name_any(), state, reason, node }
}

/// Why a pod does not run, or how it ended.
fn pod_detail(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let state = status.container_statuses.iter().flatten().find_map(|container| container.state.as_ref());
    let told = |reason: &Option<String>, message: &Option<String>| {
        Some([reason.as_deref()?, message.as_deref().unwrap_or_default()].join(" ").trim_end().to_owned())
    };
    if let Some(ended) = state.and_then(|state| state.terminated.as_ref()).filter(|ended| ended.exit_code != 0) {
        return Some(format!("{}, exit code {}", ended.reason.as_deref().unwrap_or("Error"), ended.exit_code));
    }
    if let Some(waits) = state.and_then(|state| state.waiting.as_ref()) {
        return told(&waits.reason, &waits.message);
    }
    let unscheduled = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False");
    unscheduled.and_then(|condition| told(&condition.reason, &condition.message))
}
