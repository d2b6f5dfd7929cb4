//! A client of the public API, as anyone could write it: requests, event streams and checked downloads.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::Response;

use crate::job::digest::hex;

/// How often in a row a broken stream is taken up again before the client gives up.
const MAX_RECONNECTS: u32 = 20;

/// A connection to a server.
pub struct Client {
    agent: Agent,
    base: String,
}

/// The server said no.
#[derive(Debug, thiserror::Error)]
#[error("{detail} ({code}){fields}")]
pub struct Refused {
    pub status: u16,
    pub code: String,
    detail: String,
    /// One line per field at fault.
    fields: String,
}

impl Client {
    pub fn new(base: &str) -> Self {
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_connect(Some(Duration::from_secs(10))).build();
        Self { agent: config.into(), base: base.trim_end_matches('/').to_owned() }
    }

    /// A client whose requests end within `limit` and go to the server itself, whatever proxy the environment names.
    pub fn impatient(base: &str, limit: Duration) -> Self {
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(limit)).proxy(None).build();
        Self { agent: config.into(), base: base.trim_end_matches('/').to_owned() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        let response = self.agent.get(self.url(path)).call();
        read(response.with_context(|| format!("no answer from {}", self.base))?)
    }

    pub fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let response = self.agent.post(self.url(path)).send_json(body);
        read(response.with_context(|| format!("no answer from {}; is `anneal serve` running?", self.base))?)
    }

    /// Gives every event of a job to `observe`, from the first to the last. A broken connection is taken up again
    /// behind the last event.
    pub fn follow(&self, job: &str, mut observe: impl FnMut(&Value)) -> anyhow::Result<()> {
        let mut last = 0;
        let mut attempts = 0;
        while attempts < MAX_RECONNECTS {
            if attempts > 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            attempts += 1;
            let request = self
                .agent
                .get(self.url(&format!("/v1/jobs/{job}/events?after={last}")))
                .header("accept", "text/event-stream");
            let Ok(mut response) = request.call() else { continue };
            if response.status() == 204 {
                return Ok(());
            }
            if response.status() != 200 {
                read(response)?;
                bail!("the event stream was refused");
            }
            for line in BufReader::new(response.body_mut().as_reader()).lines() {
                let Ok(line) = line else { break };
                let Some(data) = line.strip_prefix("data: ") else { continue };
                let event: Value = serde_json::from_str(data).context("an event is not JSON")?;
                last = event["seq"].as_i64().unwrap_or(last);
                attempts = 1;
                let over = matches!(
                    (event["type"].as_str(), event["data"]["status"].as_str()),
                    (Some("status"), Some("succeeded" | "failed" | "cancelled"))
                );
                observe(&event);
                if over {
                    return Ok(());
                }
            }
        }
        bail!("the event stream broke off {MAX_RECONNECTS} times; the job goes on without us")
    }

    /// Downloads a checkpoint's files into `target` and checks each against the manifest.
    pub fn download(&self, checkpoint: &str, target: &Path) -> anyhow::Result<u64> {
        let manifest = self.get(&format!("/v1/checkpoints/{checkpoint}/manifest"))?;
        fs::create_dir_all(target)?;
        let mut total = 0;
        for file in manifest["files"].as_array().context("the manifest lists no files")? {
            let (Some(name), Some(expected)) = (file["path"].as_str(), file["sha256"].as_str()) else {
                bail!("the manifest is incomplete");
            };
            let url = self.url(&format!("/v1/checkpoints/{checkpoint}/files/{name}"));
            let mut response = self.agent.get(url).call()?;
            let partial = target.join(format!("{name}.part"));
            let mut out = File::create(&partial)?;
            let mut hasher = Sha256::new();
            let mut reader = response.body_mut().as_reader();
            let mut buffer = vec![0; 1 << 18];
            loop {
                let count = reader.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                out.write_all(&buffer[..count])?;
                hasher.update(&buffer[..count]);
                total += count as u64;
            }
            if hex(&hasher.finalize()) != expected {
                bail!("{name} does not match its digest; download it again");
            }
            out.sync_all()?;
            fs::rename(&partial, target.join(name))?;
        }
        Ok(total)
    }
}

/// The JSON of an answer; an error answer becomes [`Refused`].
fn read(mut response: Response<ureq::Body>) -> anyhow::Result<Value> {
    let status = response.status().as_u16();
    let body: Value = response.body_mut().read_json().context("the server's answer is not JSON")?;
    if status < 400 {
        return Ok(body);
    }
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let fields = body["errors"].as_array().into_iter().flatten().map(|error| {
        let part = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        format!("\n  {}: {}", part("pointer"), part("detail"))
    });
    Err(Refused { status, code: text("code"), detail: text("detail"), fields: fields.collect() }.into())
}
