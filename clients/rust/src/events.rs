//! A job's events, from the first to the last, whatever happens to the connection.

use std::collections::VecDeque;
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream;
use progenitor_client::encode_path;
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use crate::error::{ClientError, Failure, Interruption, Patience, failure, within};
use crate::types::{EventLevel, JobEvent, JobStatus};
use crate::{Client, ClientInfo};

/// The server sends a comment every 15 seconds; after this long without a byte the connection is dead.
const SILENCE: Duration = Duration::from_secs(45);
/// Attempts in a row without a new event.
const RETRIES: u32 = 10;

/// The status that a job has ended with, if this is its last event.
pub fn final_status(event: &JobEvent) -> Option<JobStatus> {
    let JobEvent::StatusEvent(event) = event else { return None };
    let status = event.data.status;
    matches!(status, JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled).then_some(status)
}

macro_rules! of_each_type {
    ($self:ident, $event:ident => $value:expr) => {
        match $self {
            JobEvent::StatusEvent($event) => $value,
            JobEvent::PhaseEvent($event) => $value,
            JobEvent::ProgressEvent($event) => $value,
            JobEvent::MetricsEvent($event) => $value,
            JobEvent::EvaluationEvent($event) => $value,
            JobEvent::CheckpointEvent($event) => $value,
            JobEvent::RolloutSetEvent($event) => $value,
            JobEvent::LogEvent($event) => $value,
        }
    };
}

/// What events of all types have.
impl JobEvent {
    /// 1, 2, 3, ... within the job, without gaps.
    pub fn seq(&self) -> i64 {
        of_each_type!(self, event => event.seq)
    }

    pub fn level(&self) -> EventLevel {
        of_each_type!(self, event => event.level)
    }

    /// A sentence for people.
    pub fn message(&self) -> &str {
        of_each_type!(self, event => &event.message)
    }
}

/// Every event behind `after` once and in order; the stream ends with the job. A broken connection is taken up again
/// behind the last event. Events of types that only a newer server knows are passed over.
pub fn follow<'a>(
    client: &'a Client,
    job: &'a str,
    after: i64,
) -> impl Stream<Item = Result<JobEvent, ClientError>> + 'a {
    let state = Follower {
        client,
        job,
        after,
        patience: Patience::new(RETRIES),
        connection: None,
        received: Vec::new(),
        ready: VecDeque::new(),
        ended: false,
    };
    stream::try_unfold(state, |mut state| async move {
        let event = state.next().await?;
        Ok(event.map(|event| (event, state)))
    })
}

struct Follower<'a> {
    client: &'a Client,
    job: &'a str,
    after: i64,
    patience: Patience,
    connection: Option<Response>,
    /// Bytes of an event that is not complete yet.
    received: Vec<u8>,
    ready: VecDeque<Received>,
    ended: bool,
}

/// An event as it came.
struct Received {
    seq: i64,
    /// None of a type that is not known here.
    event: Option<JobEvent>,
}

/// The part of an event that all types have.
#[derive(Deserialize)]
struct Place {
    seq: i64,
}

impl Follower<'_> {
    async fn next(&mut self) -> Result<Option<JobEvent>, ClientError> {
        loop {
            if let Some(Received { seq, event }) = self.ready.pop_front() {
                if seq <= self.after {
                    continue;
                }
                if seq == self.after + 1 {
                    self.after = seq;
                    self.patience.progress();
                    let Some(event) = event else { continue };
                    self.ended = final_status(&event).is_some();
                    return Ok(Some(event));
                }
                self.interrupted(Interruption::new(format!("event {seq} came after event {}", self.after))).await?;
            }
            if self.ended {
                return Ok(None);
            }
            match self.receive().await {
                Ok(()) => {}
                Err(Failure::Interrupted(interruption)) => self.interrupted(interruption).await?,
                Err(Failure::Final(error)) => return Err(error),
            }
        }
    }

    async fn interrupted(&mut self, interruption: Interruption) -> Result<(), ClientError> {
        self.connection = None;
        self.received.clear();
        self.ready.clear();
        self.patience.wait(interruption).await
    }

    /// Connects if need be, and takes in what comes next.
    async fn receive(&mut self) -> Result<(), Failure> {
        let Some(connection) = &mut self.connection else {
            let url = format!("{}/v1/jobs/{}/events", self.client.baseurl(), encode_path(self.job));
            let request = self.client.client().get(url).header("accept", "text/event-stream");
            let request = request.header("last-event-id", self.after);
            let response = within(SILENCE, request.send()).await?.map_err(Interruption::new)?;
            match response.status() {
                StatusCode::OK => self.connection = Some(response),
                StatusCode::NO_CONTENT => self.ended = true,
                _ => return Err(within(SILENCE, failure(response)).await?),
            }
            return Ok(());
        };
        let chunk = within(SILENCE, connection.chunk()).await?.map_err(Interruption::new)?;
        let bytes = chunk.ok_or_else(|| Interruption::new("the stream ended before the job"))?;
        self.received.extend_from_slice(&bytes);
        Ok(self.parse()?)
    }

    /// Takes every complete event out of what was received.
    fn parse(&mut self) -> Result<(), ClientError> {
        while let Some(end) = self.received.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.received.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&block);
            let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let data: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
            if !data.is_empty() {
                let data = data.join("\n");
                let Place { seq } = serde_json::from_str(&data)?;
                self.ready.push_back(Received { seq, event: serde_json::from_str(&data).ok() });
            }
        }
        Ok(())
    }
}
