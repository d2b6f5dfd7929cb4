//! Keeps one worker process per device alive, so that a device fault or an out-of-memory kill takes a worker and
//! never the API. A worker's standard input is a pipe that the supervisor holds: when the supervisor dies, however
//! suddenly, the pipe closes and the worker saves its job and leaves.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::Instant;

use super::chain;
use crate::clock;
use crate::job::WorkerId;
use crate::store::Store;

/// Time for a worker to save its job when the server ends.
const DRAIN: Duration = Duration::from_secs(9);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How worker processes are started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    /// Arguments before `--device` and `--id`.
    pub arguments: Vec<String>,
}

/// Runs a worker for `device` again and again until `shutdown` becomes true.
pub async fn supervise(store: Store, launch: Launch, device: String, mut shutdown: watch::Receiver<bool>) {
    let mut pause = FIRST_PAUSE;
    while !*shutdown.borrow() {
        let id = WorkerId::generate();
        let began = Instant::now();
        match start(&launch, &device, id) {
            Err(error) => tracing::error!(%error, device, "a worker could not be started"),
            Ok(child) => {
                let how = tend(child, &mut shutdown).await;
                release(&store, id, &how).await;
            }
        }
        if *shutdown.borrow() {
            break;
        }
        pause = if began.elapsed() > LONGEST_PAUSE { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = shutdown.changed() => {}
        }
    }
}

fn start(launch: &Launch, device: &str, id: WorkerId) -> std::io::Result<Child> {
    Command::new(&launch.program)
        .args(&launch.arguments)
        .args(["--device", device, "--id", &id.to_string(), "--supervised"])
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Waits for a worker to end, and on shutdown asks it to. Says how it ended.
async fn tend(mut child: Child, shutdown: &mut watch::Receiver<bool>) -> String {
    // Waiting for a child closes its standard input, which would tell the worker to leave.
    let pipe = child.stdin.take();
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        _ = shutdown.wait_for(|down| *down) => None,
    };
    let status = match ended {
        Some(status) => status,
        None => {
            drop(pipe);
            match tokio::time::timeout(DRAIN, child.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    tracing::warn!("a worker did not end in time and is killed");
                    if let Err(error) = child.kill().await {
                        tracing::error!(%error, "a worker could not be killed");
                    }
                    return String::from("the worker did not end in time");
                }
            }
        }
    };
    match status {
        Ok(status) if status.success() => String::from("the worker ended"),
        Ok(status) => {
            tracing::error!(%status, "a worker ended unexpectedly");
            format!("the worker ended unexpectedly ({status})")
        }
        Err(error) => format!("the worker was lost ({error})"),
    }
}

/// Gives a dead worker's job back to the queue, at once instead of when its lease runs out.
async fn release(store: &Store, id: WorkerId, reason: &str) {
    match store.release_worker(id, reason, clock::now()).await {
        Ok(0) => {}
        Ok(count) => tracing::warn!(%id, count, "jobs of a dead worker went back to the queue"),
        Err(error) => tracing::warn!(error = chain(&error), "leases of a dead worker run out by themselves"),
    }
}
