//! What an agent, a machine without the database, and its server say to each other: the messages of `/v1/agent`. The server
//! has the jobs, the agent the devices; docs/agents.md tells in which order they speak.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::inference::{Order, Reply};
use super::{DeviceReading, DeviceStatus, EventBody, EventKind, EventLevel, Failure, JobId, NewEvent, WorkerId};

/// The number of this protocol. A server speaks with agents of its own number and of the one before.
pub const PROTOCOL: u32 = 1;

/// Bytes of a file that an agent sends with one request, at most.
pub const MAX_PIECE_BYTES: u64 = 32 << 20;

/// Events that an agent reports at once, at most.
pub const MAX_EVENTS: usize = 256;

/// Seconds for which a server lets an agent wait for news, at most.
pub const MAX_WAIT_SECONDS: u64 = 30;

/// A machine that begins, or begins again, to work for a server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRegistration {
    /// The number of the protocol that the agent speaks: 1.
    pub protocol: u32,
    /// The machine's name, with which the names of its devices begin: small letters, digits, `-`, `.` and `_`.
    #[schema(example = "gpu-1", max_length = 63)]
    pub name: String,
    /// What tells this agent from others of the same name, for as long as it keeps its folder; at least 16 characters.
    #[schema(example = "0f1e2d3c4b5a69788796a5b4c3d2e1f0", min_length = 16, max_length = 128)]
    pub identity: String,
    /// Of the agent's program.
    #[schema(example = "0.1.0", max_length = 128)]
    pub version: String,
    /// What its operator calls machines like it.
    #[serde(default)]
    #[schema(example = "gpu", max_length = 63)]
    pub pool: Option<String>,
    /// All devices that take jobs.
    #[schema(max_items = 256)]
    pub devices: Vec<DeviceReading>,
}

/// What an agent must know of its server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegisteredHost {
    pub name: String,
    /// The number of the protocol that the server speaks.
    pub protocol: u32,
    /// Of the server's program.
    pub version: String,
    /// A worker that was not heard of for so long loses its jobs.
    pub lease_seconds: u64,
    /// Unix milliseconds, by the server's clock.
    pub now: i64,
}

/// What an agent tells of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceWord {
    /// How it is now, as `reading` has it.
    Observed,
    /// It takes no jobs until it was checked; `reason` says why.
    Faulted,
    /// It is being checked.
    CheckBegan,
    /// It was found well, or not, as `reason` says.
    CheckEnded,
    /// Nothing new; how does the server see it?
    Asked,
}

/// What an agent has seen of a device.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceReport {
    pub r#type: DeviceWord,
    #[serde(default)]
    pub reading: Option<DeviceReading>,
    #[serde(default)]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
}

impl DeviceReport {
    pub fn new(word: DeviceWord) -> Self {
        Self { r#type: word, reading: None, reason: None }
    }
}

/// A device as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceState {
    pub name: String,
    /// The N of `cuda:N`.
    pub number: u32,
    pub description: String,
    /// What the driver knows a GPU by.
    pub uuid: Option<String>,
    #[schema(value_type = String, example = "idle")]
    pub status: DeviceStatus,
    /// Why it takes no jobs.
    pub fault: Option<String>,
    /// Whether a job could start on it now.
    pub wanted: bool,
}

/// A process that tends a device.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerRegistration {
    /// `wrk_` and 32 hexadecimal digits, made up by the agent.
    #[schema(value_type = String, example = "wrk_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: WorkerId,
    /// The device's name, which begins with that of its machine.
    #[schema(example = "gpu-1/cuda:0")]
    pub device: String,
    /// Its number on its machine.
    pub pid: u32,
}

/// A worker's right to run a job, and for how long it has done so.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldLease {
    #[schema(value_type = String)]
    pub job: JobId,
    pub attempt: u32,
    /// For how long the worker has had the job's devices.
    #[serde(default)]
    pub held_milliseconds: u64,
}

/// A sign of life of a worker.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerBeat {
    /// The jobs that it runs.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub held: Vec<HeldLease>,
}

/// A worker that can take a job.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// The jobs that it has, or has taken part in lately.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub held: Vec<HeldLease>,
    /// Whether it also takes part in jobs whose first device is on another machine.
    #[serde(default)]
    pub takes_part: bool,
}

/// Where the first worker of a job waits for those of other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rendezvous {
    /// An IP address and a port, to which TCP connections are made.
    #[schema(example = "192.0.2.7:41000", max_length = 64)]
    pub address: String,
    /// What both sides prove to each other that they know: 64 hexadecimal digits, made up for this attempt.
    #[schema(
        min_length = 64,
        max_length = 64,
        example = "5f0c2a9e4b7d1860f3a5c8e2d4b6097185f0c2a9e4b7d1860f3a5c8e2d4b6097"
    )]
    pub secret: String,
}

/// What a worker is in a job whose first device is on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Part {
    /// The number of its device among those of the job; 0 is the first.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
    pub rendezvous: Rendezvous,
}

/// What time it is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct ServerTime {
    /// Unix milliseconds, by the server's clock.
    pub now: i64,
}

/// A worker that has something to do no more.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerEnd {
    /// Why, for people.
    #[schema(max_length = 2000)]
    pub reason: String,
    /// Whether its end says nothing of its jobs; otherwise it counts as a crash of each.
    #[serde(default)]
    pub blameless: bool,
}

/// How many jobs went back to the queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct Requeued {
    pub requeued: usize,
}

/// A job and the right to run it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Assignment {
    #[schema(value_type = String)]
    pub job: JobId,
    /// With the job the right to run it, until another attempt begins.
    pub attempt: u32,
    /// `train`, `sample`, `regrade` or `evaluation`.
    pub kind: String,
    /// As `spec_resolved` of a job: every default and every id is in it.
    #[schema(value_type = Object)]
    pub spec: Value,
    /// `sha256:` and the digest of what decides the result.
    pub spec_digest: String,
    /// The devices that the job has; the first is the worker's.
    pub devices: Vec<String>,
    /// The folders of training checkpoints to go on from, the newest first.
    pub resume: Vec<String>,
    /// What the job is to prove, if it is to prove something.
    #[schema(value_type = Option<Object>)]
    pub verification: Option<Value>,
    /// Where lies what the job reads, by the ids under which its spec refers to it.
    #[schema(value_type = Object)]
    pub materials: Value,
    /// Of a worker that takes part in a job of another, to which alone it talks: it claims nothing, and reports nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The `traceparent` (W3C Trace Context) of the request that submitted the job, where requests are traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// What a worker wants to be told of a job that it runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// For how long the worker has had the job's devices.
    pub held_milliseconds: u64,
}

/// What is asked of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    GoOn,
    /// Save the job, and end the attempt as `drained`: a client wants it to rest, or the machine is to be free.
    Pause,
    /// End the attempt as `cancelled`.
    Cancel,
    /// The job is somebody else's; nothing that is reported of it is taken.
    Lost,
}

/// What is asked of the worker of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct Answer {
    pub word: Word,
}

/// A request for completions that an idle worker is to answer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Call {
    /// The number that its replies name.
    pub call: u64,
    /// What is asked: `model`, `input` (`chat` or `texts`), `samples`, `max_tokens`, `temperature`, `top_p`, `stop`, `seed`,
    /// `logprobs` and `top_logprobs`.
    #[schema(value_type = Object)]
    pub order: Order,
    /// Where the model lies, as a model among the `materials` of an assignment.
    #[schema(value_type = Object)]
    pub model: Value,
}

/// What a worker says to a request for completions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallReplies {
    /// How many it has said before.
    pub first: u64,
    /// `"accepted"` or `"busy"`; then `{"began": {"prompt_tokens"}}`, `{"piece": {"choice", "text", "tokens"}}` and `{"ended":
    /// {"choice", "finish", "tokens"}}`, with `"alive"` where nothing is new; at last `"done"` or `{"failed": {"code",
    /// "message"}}`.
    #[schema(value_type = Vec<Value>, max_items = 256)]
    pub replies: Vec<Reply>,
}

/// An event as it is reported.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedEvent {
    /// `phase`, `progress`, `metrics`, `evaluation` or `log`; all else the server writes itself.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "metrics")]
    pub kind: EventKind,
    #[schema(value_type = String, example = "info")]
    pub level: EventLevel,
    /// A sentence for people.
    pub message: String,
    /// As the `data` of an event of this type.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// Events of an attempt, in order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventBatch {
    /// How many events of the attempt were reported before. What was written already is not written again.
    pub first: u64,
    #[schema(max_items = 256)]
    pub events: Vec<ReportedEvent>,
}

/// An artifact whose files have been sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewArtifactReport {
    /// The name of its folder below that of the job.
    #[schema(example = "training-1-40")]
    pub folder: String,
    /// As `manifest.json` in it.
    #[schema(value_type = Object)]
    pub manifest: Value,
    /// Of a rollout set or of an evaluation, in numbers.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub summary: Option<Value>,
    /// What an evaluation at a checkpoint's step found.
    #[serde(default)]
    pub score: Option<f64>,
    /// How many training checkpoints the job keeps: the newest ones, and the best ones besides.
    pub keep_last: u32,
    #[serde(default)]
    pub keep_best: u32,
}

/// An artifact that can be seen now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ArtifactReport {
    pub id: String,
    /// Folders that are gone, because the job keeps no more of its checkpoints.
    pub dropped: Vec<String>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// With `result`.
    Succeeded,
    /// With `failure`.
    Failed,
    /// It was asked to.
    Cancelled,
    /// The worker has to go; the job goes on elsewhere.
    Drained,
    /// The device failed under it, with `failure`.
    Lost,
}

/// How an attempt ended, and what it ended with.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptEnd {
    pub outcome: AttemptOutcome,
    /// As the `result` of a job.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    /// As the `failure` of a job.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub failure: Option<Failure>,
    /// The device to blame for a lost attempt, if that is not the first.
    #[serde(default)]
    pub device: Option<String>,
    /// Whether a lost attempt does not count against the job.
    #[serde(default)]
    pub blameless: bool,
}

impl AttemptEnd {
    pub fn new(outcome: AttemptOutcome) -> Self {
        Self { outcome, result: None, failure: None, device: None, blameless: false }
    }
}

/// Files below a folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FileList {
    pub files: Vec<ListedFile>,
}

/// A file below a folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListedFile {
    /// Its name within the folder.
    pub name: String,
    /// Bytes.
    pub size: u64,
}

/// How much of a file has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceivedFile {
    /// Bytes; the next piece begins here.
    pub received: u64,
    /// Whether all of it is there, and was found to be what was sent.
    pub complete: bool,
}

impl From<&NewEvent> for ReportedEvent {
    fn from(event: &NewEvent) -> Self {
        // Only values that JSON has are in an event.
        let data = serde_json::to_value(&event.body).unwrap_or_default();
        Self { kind: event.body.kind(), level: event.level, message: event.message.clone(), data }
    }
}

impl TryFrom<ReportedEvent> for NewEvent {
    type Error = serde_json::Error;

    fn try_from(event: ReportedEvent) -> Result<Self, serde_json::Error> {
        let body = EventBody::read(event.kind, event.data)?;
        Ok(Self { level: event.level, message: event.message, body })
    }
}
