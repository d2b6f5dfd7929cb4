//! What clients bring and this program runs on their behalf, in a process of its own: a verifier with its texts, and a
//! model's tokenizer and chat template. Such a process has limits on memory, stack and time and few of them run at once,
//! so that what it is brought to do, and be it a crash, touches no other request. It ends with the request that asked.
//!
//! A [`Task`] goes in as one JSON document; answers come out as lines, so that those that are there in time are kept.

use std::io::{self, Read, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::error::Problem;
use super::places::Places;
use crate::program;

/// The command that starts such a process.
pub const COMMAND: &str = "sandbox";
/// Bytes of a task, and of all answers.
const MOST_BYTES: u64 = 64 << 20;
/// What starting the process takes at most.
const START: Duration = Duration::from_secs(10);
/// How a process ends that could not do its task for a reason that has nothing to do with what it was brought to do.
pub const FAILED: u8 = 74;
/// The line before all answers: limits are set and the task is read.
const READY: &[u8] = b"ready\n";

/// What such a process does.
pub trait Task: Serialize + DeserializeOwned + Send + 'static {
    /// What it is called on the command line.
    const NAME: &'static str;
    type Answer: Serialize + DeserializeOwned;

    /// Does it, and tells each answer as soon as there is one. It may end the process.
    fn perform(&self, tell: impl FnMut(&Self::Answer) -> io::Result<()>) -> io::Result<()>;
}

/// Reads a task, does it, and writes a line for each answer: what such a process is there for.
pub fn perform<T: Task>(input: impl Read, mut out: impl Write) -> io::Result<()> {
    let task: T = serde_json::from_reader(input.take(MOST_BYTES))?;
    // From here on its time counts.
    out.write_all(READY)?;
    out.flush()?;
    task.perform(|answer| {
        serde_json::to_writer(&mut out, answer)?;
        out.write_all(b"\n")?;
        out.flush()
    })
}

/// How a process ended.
#[derive(Debug)]
pub enum End {
    Done,
    TimedOut,
    /// It was ended by what it was brought to do.
    Died(String),
}

/// Has a task done in a process of its own, for a project, within `limit`.
pub async fn ask<T: Task>(project: &str, task: &T, limit: Duration) -> Result<(Vec<T::Answer>, End), Problem> {
    /// Starting one takes a processor.
    static PLACES: LazyLock<Places> =
        LazyLock::new(|| Places::new(available_parallelism().map_or(2, std::num::NonZero::get).max(2)));
    let _turn = PLACES.turn(project, "have verifiers or models tried").await?;
    let mut child = Command::from(program::command()?)
        .args([COMMAND, T::NAME, "--seconds", &(START + limit).as_secs().saturating_add(1).to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Also when the client goes away, with whom this function ends.
        .kill_on_drop(true)
        .spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("a process has no pipes").into());
    };
    let mut lines = BufReader::new(output.take(MOST_BYTES)).lines();
    let start = async {
        // One that has ended already says why by how it ended.
        if input.write_all(&serde_json::to_vec(task)?).await.is_ok() {
            drop(input);
        }
        lines.next_line().await
    };
    let Ok(ready) = timeout(START, start).await else { return Ok((Vec::new(), End::TimedOut)) };
    if ready?.is_none() {
        return Err(io::Error::other(format!("a sandbox did not start: {}", child.wait().await?)).into());
    }
    let mut answers = Vec::new();
    let work = timeout(limit, async {
        while let Some(line) = lines.next_line().await? {
            // What is behind the most bytes is cut off.
            let Ok(answer) = serde_json::from_str(&line) else { return Ok(None) };
            answers.push(answer);
        }
        child.wait().await.map(Some)
    });
    let end = match work.await.unwrap_or(Ok(None))? {
        None => End::TimedOut,
        Some(status) if status.success() => End::Done,
        Some(status) if status.code() == Some(FAILED.into()) => {
            return Err(io::Error::other("a sandbox could not read what its task names").into());
        }
        Some(status) => End::Died(described(status)),
    };
    Ok((answers, end))
}

fn described(status: ExitStatus) -> String {
    format!("it ended the process that tried it ({status}): it takes more memory, or is nested deeper, than it may")
}
