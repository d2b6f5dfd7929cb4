//! A job's events, from the first to the last, whatever happens to the connection.

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;
use ureq::http::header;

use super::{Client, escape, is_passing, pause};
use crate::job::EventBody;

/// A server that keeps silent for longer is gone: it sends a comment every 15 s.
const SILENCE: Duration = Duration::from_secs(45);
/// How long a server may be away before the client gives up.
const LONGEST_ABSENCE: Duration = Duration::from_secs(600);

/// Why following ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The job is over.
    Over,
    /// The observer has seen enough.
    Stopped,
    /// The deadline has passed.
    TimedOut,
}

/// What an event tells; nothing of one that only a newer server knows.
pub fn body(event: &Value) -> Option<EventBody> {
    EventBody::read(event["type"].as_str()?.parse().ok()?, &event["data"]).ok()
}

/// A client's place in the log.
struct Place<F> {
    last: i64,
    observe: F,
}

impl Client {
    /// Gives every event of a job behind number `after` to `observe`, until the job is over, `observe` breaks or the
    /// deadline passes. A lost connection is taken up again behind the last event.
    pub fn follow(
        &self,
        job: &str,
        after: i64,
        deadline: Option<Instant>,
        observe: impl FnMut(&Value) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<End> {
        let mut place = Place { last: after, observe };
        let (mut heard, mut failures) = (Instant::now(), 0);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(End::TimedOut);
            }
            let path = format!("/v1/jobs/{}/events?after={}", escape(job), place.last);
            let request = self.request("GET", &path).header(header::ACCEPT, "text/event-stream").body(())?;
            match self.open(request, SILENCE, left) {
                Ok(response) if response.status() == 204 => return Ok(End::Over),
                Ok(response) if response.status() == 200 => {
                    failures = 0;
                    let end = place.read(BufReader::new(response.into_body().into_reader()))?;
                    heard = Instant::now();
                    if let Some(end) = end {
                        return Ok(end);
                    }
                }
                Ok(response) if is_passing(response.status().as_u16()) => {}
                Ok(response) => return Err(self.refusal(response)),
                Err(ureq::Error::BadUri(uri)) => bail!("{uri} is not the URL of a server"),
                Err(_) => {}
            }
            if heard.elapsed() > LONGEST_ABSENCE {
                bail!("{} has been away for {} s; the job goes on without us", self.base, LONGEST_ABSENCE.as_secs());
            }
            let wait = pause(failures);
            failures += 1;
            std::thread::sleep(left.map_or(wait, |left| wait.min(left)));
        }
    }
}

impl<F: FnMut(&Value) -> anyhow::Result<ControlFlow<()>>> Place<F> {
    /// Reads a stream until it ends; `None` when it broke off.
    fn read(&mut self, stream: impl BufRead) -> anyhow::Result<Option<End>> {
        for line in stream.lines() {
            let Ok(line) = line else { break };
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let event: Value = serde_json::from_str(data).context("an event is not JSON")?;
            self.last = event["seq"].as_i64().unwrap_or(self.last);
            let flow = (self.observe)(&event)?;
            if body(&event).is_some_and(|body| body.is_last()) {
                return Ok(Some(End::Over));
            }
            if flow.is_break() {
                return Ok(Some(End::Stopped));
            }
        }
        Ok(None)
    }
}
