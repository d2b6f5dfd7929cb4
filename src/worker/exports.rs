//! The server's exports: one after the other, each in a process of its own (`anneal exporter`), which steps back behind
//! requests and jobs. It is given a task as one line of JSON and says in lines how far it is and how it ended. One that was
//! under way when its server ended is made anew by the next: the same checkpoint gives the same bytes.

use std::cell::Cell;
use std::io::{self, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::assignment::{self, failed, unread};
use super::card::card;
use super::{chain, internal};
use crate::clock;
use crate::engine::export::Written;
use crate::engine::{ExportTask, export};
use crate::job::{ArtifactKind, Failure, FailureKind, Manifest};
use crate::program;
use crate::spec::ModelRef;
use crate::store::{ExportRow, Location, RESERVE, Store, StoreError};

/// The command that starts such a process.
pub const COMMAND: &str = "exporter";
/// How often it is looked for exports, and the row is told how far one is.
const LOOK: Duration = Duration::from_millis(250);
/// Bytes of all that a process says.
const MOST_BYTES: u64 = 64 << 20;

/// What such a process says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Written(Written),
    Done(Manifest),
    Failed(Failure),
}

/// Makes exports until `shutdown` becomes true.
pub async fn watch(store: Store, mut shutdown: watch::Receiver<bool>) {
    if let Err(error) = store.sweep_exports().await {
        tracing::warn!(error = chain(&error), "what is left of exports could not be removed");
    }
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = shutdown.wait_for(|down| *down) => return,
        }
        let made = tokio::select! {
            made = look(&store) => made,
            _ = shutdown.wait_for(|down| *down) => return,
        };
        if let Err(error) = made {
            tracing::warn!(error = chain(&error), "an export is tried again");
        }
    }
}

/// Makes the next export, if there is one. Dropped before its end it leaves nothing behind.
async fn look(store: &Store) -> Result<(), StoreError> {
    let Some(row) = store.next_export().await? else { return Ok(()) };
    let location = Location::export(row.id);
    let staged = store.place().stage_beside(&location).await;
    let task = match staged.folder() {
        Ok(folder) => task(store, &row, folder.to_owned()).await,
        Err(error) => Err(unstored(error)),
    };
    let made = match task {
        Ok(task) => made(store, &row, &task).await?,
        Err(failure) => Some(Err(failure)),
    };
    let published = match made {
        // It was deleted.
        None => return Ok(()),
        Some(Err(failure)) => Err(failure),
        Some(Ok(manifest)) => {
            // A server before this one may have come so far.
            store.place().remove(&location).await;
            staged.publish(&location).await.map(|()| manifest).map_err(unstored)
        }
    };
    let finished = match published {
        Ok(manifest) => store.finish_export(row.id, &manifest, clock::now()).await,
        Err(failure) => {
            tracing::warn!(export = %row.id, failure = failure.message, "an export cannot be made");
            store.fail_export(row.id, &failure, clock::now()).await
        }
    };
    match finished {
        Err(StoreError::NotFound { .. }) => {
            store.place().remove(&location).await;
            Ok(())
        }
        finished => finished,
    }
}

/// What an export fails with when its files cannot be written.
fn unstored(error: StoreError) -> Failure {
    let failure = failed(error);
    match failure.kind {
        FailureKind::StorageFull => again(failure, "the disk is full"),
        _ => failure,
    }
}

/// The same with what to do about it.
fn again(failure: Failure, what: &str) -> Failure {
    Failure { message: format!("{what}; free some space and export again"), ..failure }
}

/// What is to be made, from its row.
async fn task(store: &Store, row: &ExportRow, folder: std::path::PathBuf) -> Result<ExportTask, Failure> {
    let checkpoint = store.checkpoint(row.checkpoint).await.map_err(failed)?;
    let job = store.job(row.job).await.map_err(failed)?;
    let common = &job.resolved.common;
    let stored = store.stored_model(&ModelRef::Checkpoint(row.checkpoint), common.seed).await.map_err(failed)?;
    let source = assignment::source(store, &stored).await?;
    let artifact = &checkpoint.artifact;
    Ok(ExportTask {
        export: row.export,
        model: source,
        card: card(store, &job, &checkpoint).await.map_err(failed)?,
        prompt: common.prompt.clone(),
        checkpoint: store.place().fetch_artifact(artifact).await.map_err(unread)?,
        manifest: Manifest { kind: ArtifactKind::Export, files: Vec::new(), ..artifact.manifest.clone() },
        folder,
        room: store.free_bytes().map_err(failed)?.saturating_sub(RESERVE),
    })
}

/// Has a process make an export; nothing when its row is gone.
async fn made(
    store: &Store,
    row: &ExportRow,
    task: &ExportTask,
) -> Result<Option<Result<Manifest, Failure>>, StoreError> {
    let began = start(task).await;
    let broken = |error: io::Error| internal(format!("the process that makes exports failed: {error}"));
    let mut child = match began {
        Ok(child) => child,
        Err(error) => return Ok(Some(Err(broken(error)))),
    };
    let Some(output) = child.stdout.take() else {
        return Ok(Some(Err(broken(io::Error::other("it has no standard output")))));
    };
    let mut lines = BufReader::new(output.take(MOST_BYTES)).lines();
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut written, mut noted) = (Written { done: 0, total: row.bytes }, None);
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line,
            _ = ticks.tick() => {
                if noted != Some(written) {
                    noted = Some(written);
                    match store.note_export(row.id, written.done, written.total).await {
                        Err(StoreError::NotFound { .. }) => return Ok(None),
                        Err(error) => tracing::debug!(%error, "how far an export is cannot be written down"),
                        Ok(()) => {}
                    }
                } else if matches!(store.export(row.id).await, Err(StoreError::NotFound { .. })) {
                    return Ok(None);
                }
                continue;
            }
        };
        let said = line.map(|line| line.and_then(|line| serde_json::from_str(&line).ok()));
        return Ok(Some(match said {
            Ok(Some(Said::Written(now))) => {
                written = now;
                continue;
            }
            Ok(Some(Said::Done(manifest))) => Ok(manifest),
            Ok(Some(Said::Failed(failure))) => Err(failure),
            Ok(None) => match child.wait().await {
                Ok(status) => Err(died(status)),
                Err(error) => Err(broken(error)),
            },
            Err(error) => Err(broken(error)),
        }));
    }
}

fn died(status: std::process::ExitStatus) -> Failure {
    Failure {
        kind: FailureKind::OutOfMemory,
        code: String::from("out_of_memory"),
        message: format!(
            "the process that made the export ended ({status}), most likely because the machine's memory ran out; export \
             again when less runs beside it"
        ),
    }
}

async fn start(task: &ExportTask) -> io::Result<Child> {
    let mut child = Command::from(program::command()?)
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = child.stdin.take().ok_or_else(|| io::Error::other("it has no standard input"))?;
    input.write_all(&serde_json::to_vec(task)?).await?;
    Ok(child)
}

/// What such a process does: reads its task, makes the export, and says how far it is and how it ended.
pub fn perform(input: impl io::Read, out: impl Write) -> io::Result<()> {
    let task: ExportTask = serde_json::from_reader(input.take(MOST_BYTES))?;
    let out = std::cell::RefCell::new(out);
    let say = |said: &Said| -> io::Result<()> {
        let mut out = out.borrow_mut();
        serde_json::to_writer(&mut *out, said)?;
        out.write_all(b"\n")?;
        out.flush()
    };
    let said = Cell::new(None::<Instant>);
    let made = export(&task, &|written| {
        // A server that is gone is noticed by the kernel, which ends this process.
        if said.get().is_none_or(|last| last.elapsed() > LOOK / 2) {
            said.set(Some(Instant::now()));
            drop(say(&Said::Written(written)));
        }
    });
    say(&match made {
        Ok(manifest) => Said::Done(manifest),
        Err(error) => {
            let failure = error.failure();
            Said::Failed(match failure.kind {
                FailureKind::StorageFull => again(failure, &error.to_string()),
                _ => failure,
            })
        }
    })
}
