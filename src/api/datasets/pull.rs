//! Data sets of the hub: the files of a split, brought one after the other and checked against what the hub says of them.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;

use super::pulls::Pulling;
use super::upload::{Origin, PREVIEW_ROWS, ReceivedRows, publish, store_rows};
use crate::api::App;
use crate::api::blocking::apart;
use crate::api::error::Problem;
use crate::dataset::DatasetError;
use crate::dataset::forms::Form;
use crate::dataset::intake::{Incoming, Intake, Preview, Source};
use crate::hub::dataset::{Chosen, DatasetRef, README, choose};
use crate::hub::{Digester, Failures, Hub, HubError, RemoteFile, Snapshot};
use crate::import::ImportError;
use crate::job::DatasetId;
use crate::job::digest::hex;
use crate::store::{DatasetVersionRow, Place, StorageRoom};

/// Longest that all files of a split take to come; a client waits for it.
const MOST_TIME: Duration = Duration::from_secs(280);
/// Of a README, in whose front the files are described.
const MOST_README_BYTES: u64 = 1 << 20;

/// Makes a version of a split's rows, for a data set that is the caller's business.
pub async fn pull(
    app: &App,
    dataset: DatasetId,
    intake: Intake,
    reference: &DatasetRef,
) -> Result<(DatasetVersionRow, StorageRoom), Problem> {
    let (hub, asked) = (app.settings.sources.hub.clone(), reference.clone());
    let (place, handle, store) = (app.store.place().clone(), Handle::current(), app.store.clone());
    let (limit, pulls) = (app.settings.max_upload_bytes, app.pulls.clone());
    let (received, origin) = apart(move || -> Result<_, Problem> {
        let split = Split::find(&hub, &asked, limit)?;
        let room = handle.block_on(store.storage_room(split.bytes()))?;
        let pulling = pulls.begin(store.own_project(), asked.to_string(), split.bytes());
        let bringing = Bringing::of(&hub, &place, &split, &pulling);
        let received = store_rows(&place, &intake, bringing.files(), room, &handle);
        // What went wrong with the hub is what the rows ended for.
        let brought = bringing.end()?;
        let received = received?;
        let mut origin = Origin::of(&intake).always(&received.taken);
        origin["source"] = json!(asked.at(&split.snapshot.commit, &split.chosen).to_string());
        origin["revision"] = json!(asked.revision);
        origin["files"] = Value::Array(brought);
        Ok((received, origin))
    })
    .await??;
    let ReceivedRows { rows, taken, room } = received;
    Ok((publish(rows, dataset, taken.summary, Some(origin)).await?, room))
}

/// How the first rows of a split would be read. Its first file is brought for it.
pub async fn preview_pull(app: &App, intake: Intake, reference: &DatasetRef) -> Result<Preview, Problem> {
    let (hub, asked) = (app.settings.sources.hub.clone(), reference.clone());
    let (place, limit) = (app.store.place().clone(), app.settings.max_upload_bytes);
    let (pulls, project) = (app.pulls.clone(), app.store.own_project().to_owned());
    let shown = apart(move || -> Result<_, Problem> {
        let split = Split::find(&hub, &asked, limit)?;
        let first = split.chosen.files.first().map_or(0, |file| file.bytes);
        let pulling = pulls.begin(&project, asked.to_string(), first);
        let bringing = Bringing::of(&hub, &place, &split, &pulling);
        let preview = intake.preview(bringing.files().take(1), &|| place.scratch(), PREVIEW_ROWS);
        bringing.end()?;
        Ok(preview)
    });
    shown.await?
}

/// A split that was found.
struct Split {
    snapshot: Snapshot,
    chosen: Chosen,
}

impl Split {
    /// Asks the hub for it. Blocks.
    fn find(hub: &Hub, asked: &DatasetRef, limit: u64) -> Result<Self, Problem> {
        let snapshot = hub.snapshot(&asked.hub_ref()).map_err(refused)?;
        let readme = snapshot.file(README).filter(|file| file.bytes <= MOST_README_BYTES);
        let readme = readme.map(|file| read(hub, &snapshot, file)).transpose().map_err(refused)?;
        let unchosen = |error: crate::hub::dataset::Unchosen| {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "hub_split_unknown", error.to_string())
        };
        let chosen = choose(&snapshot, readme.as_deref(), asked).map_err(unchosen)?;
        let split = Self { snapshot, chosen };
        if split.bytes() > limit {
            return Err(super::stream::too_large(limit));
        }
        Ok(split)
    }

    fn bytes(&self) -> u64 {
        self.chosen.files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    }
}

fn read(hub: &Hub, snapshot: &Snapshot, file: &RemoteFile) -> Result<String, HubError> {
    let mut text = Vec::new();
    let at = (snapshot.repository.as_str(), snapshot.commit.as_str());
    hub.read(at, &file.path, 0..file.bytes, |chunk| {
        text.extend_from_slice(chunk);
        Ok(())
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn refused(error: HubError) -> Problem {
    Problem::from(ImportError::from(error))
}

/// Files on their way.
struct Bringing<'a> {
    hub: &'a Hub,
    place: &'a Place,
    split: &'a Split,
    pulling: &'a Pulling,
    deadline: Instant,
    state: Mutex<Brought>,
}

#[derive(Default)]
struct Brought {
    /// Path, length and digest of each file that came.
    files: Vec<Value>,
    /// What went wrong, if something did.
    failure: Option<Problem>,
}

impl<'a> Bringing<'a> {
    fn of(hub: &'a Hub, place: &'a Place, split: &'a Split, pulling: &'a Pulling) -> Self {
        Self { hub, place, split, pulling, deadline: Instant::now() + MOST_TIME, state: Mutex::default() }
    }

    /// The files in their order, each brought when it is asked for.
    fn files(&self) -> impl Iterator<Item = Result<Incoming, DatasetError>> + Send {
        self.split.chosen.files.iter().map(|file| {
            let brought = self.bring(file);
            brought.map_err(|problem| {
                self.state.lock().unwrap_or_else(PoisonError::into_inner).failure = Some(problem);
                DatasetError::Empty
            })
        })
    }

    fn bring(&self, file: &RemoteFile) -> Result<Incoming, Problem> {
        let mut target = self.place.scratch()?;
        let mut digester = Digester::new(file.digest.as_ref(), file.bytes);
        let mut sha256 = Sha256::new();
        let (mut have, mut failures) = (0, Failures::default());
        let at = (self.split.snapshot.repository.as_str(), self.split.snapshot.commit.as_str());
        while have < file.bytes {
            let before = have;
            let read = self.hub.read(at, &file.path, have..file.bytes, |chunk| {
                if Instant::now() > self.deadline {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                digester.update(chunk);
                sha256.update(chunk);
                have += chunk.len() as u64;
                self.pulling.add(chunk.len() as u64);
                target.write_all(chunk)
            });
            match read {
                Ok(()) => {}
                Err(HubError::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {
                    let most = MOST_TIME.as_secs();
                    let said = format!("the split takes longer than {most} s; download {} and upload it", file.path);
                    return Err(refused(HubError::Unreachable(said)));
                }
                Err(HubError::Io(error)) => return Err(error.into()),
                Err(error) => {
                    let wait = failures.wait(&error, have > before);
                    let wait = wait.filter(|wait| Instant::now() + *wait < self.deadline);
                    std::thread::sleep(wait.ok_or_else(|| refused(error))?);
                }
            }
        }
        digester.finish().map_err(|mismatch| {
            let detail = format!("{} is not what the hub announced: {mismatch}; pull it again", file.path);
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong_bytes", detail)
        })?;
        target.seek(SeekFrom::Start(0))?;
        let brought = json!({"path": file.path, "bytes": file.bytes, "sha256": hex(&sha256.finalize())});
        self.state.lock().unwrap_or_else(PoisonError::into_inner).files.push(brought);
        let form = Form::of_name(&file.path);
        Ok(Incoming { name: file.path.clone(), form, source: Source::File(target) })
    }

    /// The files that came, or what went wrong.
    fn end(self) -> Result<Vec<Value>, Problem> {
        let Brought { files, failure } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(files), Err)
    }
}
