//! The ledger of a machine without the database: a server's API (`/v1/agent`, docs/agents.md). Whatever goes wrong on the way
//! is either passing, and tried again by whoever writes, or the server's word, which holds.

mod calls;
mod client;
mod depot;

use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use calls::CalledModels;
pub use client::{Client, Way};
use depot::ServerDepot;

use super::ledger::{Ledger, Next};
use super::rendezvous;
use crate::clock;
use crate::job::agent::{
    Answer, ArtifactReport, Assignment, AttemptEnd, AttemptOutcome, ClaimRequest, DeviceReport, DeviceState,
    DeviceWord, EventBatch, HeldLease, HostRegistration, NewArtifactReport, Question, RegisteredHost, Rendezvous,
    ReportedEvent, Requeued, ServerTime, Word, WorkerBeat, WorkerEnd, WorkerRegistration,
};
use crate::job::artifact::ArtifactSummary;
use crate::job::device::split_name;
use crate::job::{
    ArtifactId, ArtifactKind, DeviceReading, Failure, FailureKind, JobKind, NewEvent, Timestamp, WorkerId,
};
use crate::spec::{ModelRef, Resolved};
use crate::store::{
    Added, Claim, Ended, Files, Heartbeat, Lease, Location, Loss, Materials, NewArtifact, Place, Result, StoreError,
    StoredModel,
};

/// How long the server lets wait for news.
const WAIT: Duration = Duration::from_secs(20);
/// A pause before a question is asked again that had no answer.
const PAUSE: Duration = Duration::from_secs(1);
/// Bytes of events that are reported at once, about.
const BATCH_BYTES: usize = 256 << 10;

/// A server as one of its workers knows it.
#[derive(Debug)]
pub struct Remote {
    client: Arc<Client>,
    files: Files,
    place: Place,
    /// Those of requests for completions.
    models: CalledModels,
}

impl Remote {
    /// The server at the end of `way`, for a worker, by whose rights files are copied into `files`.
    pub fn new(way: Way, worker: WorkerId, files: Files) -> Result<Self> {
        let client = Arc::new(Client::new(way)?);
        let depot = Arc::new(ServerDepot::new(Arc::clone(&client), worker));
        let place = Place::of_copies(files.clone(), depot);
        Ok(Self { client, files, place, models: CalledModels::default() })
    }

    /// Begins to work for the server.
    pub async fn register(&self, host: &HostRegistration) -> Result<RegisteredHost> {
        self.post("/hosts", host).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.client.post(path, body).await?.ok_or_else(|| Client::strange(path))
    }

    async fn tell(&self, device: &str, report: DeviceReport) -> Result<DeviceState> {
        let (host, name) = split_name(device);
        self.post(&format!("/hosts/{host}/devices/{name}"), &report).await
    }

    fn worker_path(&self, worker: WorkerId, what: &str) -> String {
        format!("/workers/{worker}/{what}")
    }
}

fn lease_path(Lease { job, attempt }: Lease, what: &str) -> String {
    format!("/leases/{job}/{attempt}{what}")
}

#[async_trait]
impl Ledger for Remote {
    fn files(&self) -> &Files {
        &self.files
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn lead(&self, command: &mut Command) {
        command.arg("--data-dir").arg(self.files.root());
        self.client.way().tell(command);
    }

    fn shortage(&self) -> Option<String> {
        self.files.shortage()
    }

    fn note_shortage(&self) {
        self.files.note_shortage();
    }

    /// With each sign of life comes the server's time.
    async fn follow_time(&self) -> Result<()> {
        Ok(())
    }

    async fn device(&self, name: &str) -> Result<DeviceState> {
        self.tell(name, DeviceReport::new(DeviceWord::Asked)).await
    }

    /// All devices of the machine were made known when it began.
    async fn add_device(&self, _reading: &DeviceReading) -> Result<()> {
        Ok(())
    }

    async fn observe_device(&self, reading: &DeviceReading) -> Result<DeviceState> {
        let report = DeviceReport { reading: Some(reading.clone()), ..DeviceReport::new(DeviceWord::Observed) };
        self.tell(&reading.name, report).await
    }

    async fn fault_device(&self, name: &str, reason: &str) -> Result<()> {
        let report = DeviceReport { reason: Some(reason.to_owned()), ..DeviceReport::new(DeviceWord::Faulted) };
        self.tell(name, report).await.map(drop)
    }

    async fn begin_check(&self, name: &str) -> Result<()> {
        self.tell(name, DeviceReport::new(DeviceWord::CheckBegan)).await.map(drop)
    }

    async fn end_check(&self, name: &str, fault: Option<&str>) -> Result<()> {
        let reason = fault.map(str::to_owned);
        self.tell(name, DeviceReport { reason, ..DeviceReport::new(DeviceWord::CheckEnded) }).await.map(drop)
    }

    async fn add_worker(&self, worker: WorkerId, device: &DeviceState) -> Result<()> {
        let new = WorkerRegistration { id: worker, device: device.name.clone(), pid: std::process::id() };
        self.post::<DeviceState>("/workers", &new).await?;
        let (client, files, models) = (Arc::clone(&self.client), self.files.clone(), self.models.clone());
        tokio::spawn(calls::take(client, files, models, worker, device.name.clone()));
        Ok(())
    }

    async fn release_worker(&self, worker: WorkerId, reason: &str, blameless: bool) -> Result<usize> {
        let end = WorkerEnd { reason: reason.to_owned(), blameless };
        match self.post::<Requeued>(&self.worker_path(worker, "end"), &end).await {
            // It has ended already.
            Err(StoreError::Server { status: 404, .. }) => Ok(0),
            ended => Ok(ended?.requeued),
        }
    }

    async fn beat(&self, worker: WorkerId, held: &[(Lease, Duration)]) -> Result<()> {
        let held = held.iter().map(|(lease, lasts)| wire(*lease, *lasts)).collect();
        let asked = Instant::now();
        let time: ServerTime = self.post(&self.worker_path(worker, "beat"), &WorkerBeat { held }).await?;
        // The answer is of some moment between question and answer.
        clock::follow(asked + asked.elapsed() / 2, Timestamp(time.now));
        Ok(())
    }

    async fn next(&self, worker: WorkerId, _device: &str, held: &[Lease]) -> Result<Option<Next>> {
        let held = held.iter().map(|lease| wire(*lease, Duration::ZERO)).collect();
        let path = self.worker_path(worker, &format!("claim?wait={}", WAIT.as_secs()));
        let asked = ClaimRequest { held, takes_part: true };
        let Some(mut found) = self.client.post::<Assignment>(&path, &asked).await? else { return Ok(None) };
        let lease = Lease { job: found.job, attempt: found.attempt };
        Ok(Some(match found.part.take() {
            Some(part) => Next::TakePart(lease, part),
            None => Next::Run(Box::new(claim(found)?)),
        }))
    }

    fn own_address(&self) -> IpAddr {
        let server = &self.client.way().server;
        let port = server.port_or_known_default().unwrap_or(443);
        // Brackets are of URLs alone.
        let host = server.host_str().unwrap_or_default().trim_matches(['[', ']']);
        rendezvous::own_address((host, port))
    }

    async fn open_rendezvous(&self, lease: Lease, at: &Rendezvous) -> Result<()> {
        self.post::<ServerTime>(&lease_path(lease, "/rendezvous"), at).await.map(drop)
    }

    async fn claimed(&self, lease: Lease) -> Result<Claim> {
        // The devices are the leader's alone.
        Ok(Claim { devices: Vec::new(), ..claim(self.client.get(&lease_path(lease, "")).await?)? })
    }

    async fn materials(&self, claim: &Claim) -> Result<Materials> {
        let assignment: Assignment = self.client.get(&lease_path(claim.lease, "")).await?;
        member("materials", assignment.materials)
    }

    /// The server told it with the request.
    async fn stored_model(&self, model: &ModelRef, _seed: u64) -> Result<StoredModel> {
        let missing = || StoreError::NotFound { what: "model", id: model.to_string() };
        self.models.of(&model.to_string()).ok_or_else(missing)
    }

    async fn heed(&self, lease: Lease, held: Duration) -> Result<Heartbeat> {
        let question = Question { held_milliseconds: milliseconds(held) };
        let path = lease_path(lease, &format!("/heed?wait={}", WAIT.as_secs()));
        match self.post::<Answer>(&path, &question).await {
            Ok(Answer { word }) => Ok(match word {
                Word::GoOn => Heartbeat::GoOn,
                Word::Pause => Heartbeat::Pause,
                Word::Cancel => Heartbeat::Cancel,
                Word::Lost => Heartbeat::Lost,
            }),
            Err(StoreError::LeaseLost) => Ok(Heartbeat::Lost),
            Err(error) => {
                tokio::time::sleep(PAUSE).await;
                Err(error)
            }
        }
    }

    async fn record(&self, lease: Lease, first: u64, events: &[NewEvent]) -> Result<()> {
        let path = lease_path(lease, "/events");
        let (mut first, mut batch, mut bytes) = (first, Vec::new(), 0);
        for (i, event) in events.iter().enumerate() {
            let event = ReportedEvent::from(event);
            bytes += event.message.len() + event.data.to_string().len();
            batch.push(event);
            if bytes >= BATCH_BYTES || i + 1 == events.len() {
                let some = EventBatch { first, events: std::mem::take(&mut batch) };
                self.post::<ServerTime>(&path, &some).await?;
                (first, bytes) = (first + some.events.len() as u64, 0);
            }
        }
        Ok(())
    }

    async fn add_artifact(&self, lease: Lease, new: NewArtifact<'_>) -> Result<Added> {
        let NewArtifact { location, manifest, summary, score, keep } = new;
        let report = NewArtifactReport {
            folder: location.name().rsplit('/').next().unwrap_or_default().to_owned(),
            manifest: json!(manifest),
            summary: match summary {
                ArtifactSummary::Checkpoint => None,
                ArtifactSummary::Rollouts(summary) => Some(json!(summary)),
                ArtifactSummary::Evaluation(summary) => Some(json!(summary)),
            },
            score,
            keep_last: keep.last,
            keep_best: keep.best,
        };
        let path = lease_path(lease, "/artifacts");
        let ArtifactReport { id, dropped } = self.post(&path, &report).await?;
        let unread = |_| Client::strange(&path);
        let id = match manifest.kind {
            ArtifactKind::Rollouts => ArtifactId::RolloutSet(id.parse().map_err(unread)?),
            ArtifactKind::Evaluation => ArtifactId::Evaluation(id.parse().map_err(unread)?),
            ArtifactKind::Training | ArtifactKind::Inference | ArtifactKind::Export => {
                ArtifactId::Checkpoint(id.parse().map_err(unread)?)
            }
        };
        let dropped = dropped.into_iter().map(Location::try_from).collect::<std::result::Result<_, _>>();
        Ok(Added { id, dropped: dropped.map_err(|_| Client::strange(&path))? })
    }

    async fn end_attempt(&self, lease: Lease, ended: &Ended) -> Result<()> {
        let new = AttemptEnd::new;
        let end = match ended.clone() {
            Ended::Succeeded { result } => AttemptEnd { result: Some(result), ..new(AttemptOutcome::Succeeded) },
            Ended::Failed(failure) => AttemptEnd { failure: Some(failure), ..new(AttemptOutcome::Failed) },
            Ended::Cancelled => new(AttemptOutcome::Cancelled),
            Ended::Drained => new(AttemptOutcome::Drained),
            Ended::Lost(Loss { kind, reason, device, blameless }) => {
                let failure = Some(failure(kind, reason));
                AttemptEnd { failure, device, blameless, ..new(AttemptOutcome::Lost) }
            }
        };
        self.post::<ServerTime>(&lease_path(lease, "/end"), &end).await.map(drop)
    }
}

fn failure(kind: FailureKind, message: String) -> Failure {
    Failure { kind, code: kind.as_str().to_owned(), message }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn wire(Lease { job, attempt }: Lease, held: Duration) -> HeldLease {
    HeldLease { job, attempt, held_milliseconds: milliseconds(held) }
}

fn member<T: DeserializeOwned>(what: &'static str, value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| StoreError::Corrupt { what, detail: error.to_string() })
}

/// An assignment as a worker takes it.
fn claim(assignment: Assignment) -> Result<Claim> {
    let corrupt = |detail: String| StoreError::Corrupt { what: "assignment", detail };
    let kind: JobKind = assignment.kind.parse().map_err(|error| corrupt(format!("{error}")))?;
    let (attributes, spec) = Resolved::parse(kind, &assignment.spec).map_err(|error| corrupt(error.to_string()))?;
    let resume = assignment.resume.into_iter().map(Location::try_from).collect::<std::result::Result<_, _>>();
    Ok(Claim {
        lease: Lease { job: assignment.job, attempt: assignment.attempt },
        attributes,
        spec: Arc::new(spec),
        spec_digest: assignment.spec_digest,
        resume: resume.map_err(corrupt)?,
        devices: assignment.devices,
        verification: assignment.verification.map(|value| member("verification", value)).transpose()?,
        trace: assignment.trace,
    })
}
