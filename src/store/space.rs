//! The disk's free space, and what becomes possible on a full disk: to free some of it.
//!
//! A file is kept that holds nothing but space. A write that frees space, or that ends something, and finds the disk
//! full, gives a portion of the file up and is tried once more: somebody else may take what is free, and then there are
//! the other portions. The server makes the file whole again when much more than that is free.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;
use tokio::time::sleep;

use super::events::append;
use super::files::publish;
use super::jobs::stored_spec;
use super::transitions::{Transition, move_job};
use super::{Files, Result, Store, StoreError, read, read_json, write_json};
use crate::job::event::LogDetail;
use crate::job::{EventLevel, Failure, JobId, JobStatus, NewEvent, Timestamp};

/// Bytes that are kept: many times what a deletion writes.
pub const RESERVE: u64 = 16 << 20;
/// How often a write is tried again, and what it waits for another process that is giving up a portion.
const TRIES: u32 = 16;
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes that are given up at once.
const PORTION: u64 = RESERVE / 4;
/// The reserve is made again when so many times as much is free.
const AMPLE: u64 = 4;
/// A disk with fewer free bytes is full: nothing that is worth a file fits on it.
const NOTHING: u64 = 1 << 20;
/// For how long a machine on whose disk a job found too little room takes no others, if nothing changes.
const SHORTAGE_TIME: Duration = Duration::from_secs(600);
/// No earlier than so many milliseconds after a job found the disk full it is tried again.
const PAUSE_MILLISECONDS: i64 = 5000;

/// A job that waits for space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceWait {
    pub job: JobId,
    /// Bytes that have to be free before it is tried again.
    pub needs: u64,
    /// How long it may wait.
    pub limit_seconds: u64,
    /// When it found the disk full.
    since: Timestamp,
}

impl SpaceWait {
    /// Whether it is to be tried again when so many bytes are free.
    pub fn is_over(&self, free: u64, now: Timestamp) -> bool {
        // A clock may have been set back.
        free >= self.needs && !(0..PAUSE_MILLISECONDS).contains(&(now.0 - self.since.0))
    }
}

impl Store {
    /// Bytes that are free for this program on the disk of the data directory.
    pub fn free_bytes(&self) -> Result<u64> {
        self.files().free_bytes()
    }

    /// Whether next to nothing is free.
    pub fn is_full(&self) -> bool {
        self.free_bytes().is_ok_and(|free| free < NOTHING)
    }

    /// Whether nothing is free but what the reserve gave back.
    pub(super) fn lives_on_reserve(&self) -> bool {
        let free = self.free_bytes().unwrap_or(u64::MAX);
        free < NOTHING || (free < RESERVE + NOTHING && !self.has_reserve())
    }

    /// Whether all of the reserve is there.
    pub fn has_reserve(&self) -> bool {
        reserved(self.files()) >= RESERVE
    }

    /// Keeps the reserve, or makes it again once there is space in plenty. For the one server of a data directory.
    pub fn keep_reserve(&self) -> Result<()> {
        if self.has_reserve() || self.free_bytes()? < AMPLE * RESERVE {
            return Ok(());
        }
        let path = self.files().reserve();
        allocate(&path).map_err(|error| StoreError::io("writing", &path, error))
    }

    /// Does a write that frees space, or ends something, on a full disk as well.
    pub(super) async fn despite_full<T, F>(&self, write: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        use_reserve(self.files(), write).await
    }

    /// The jobs that found the disk full and wait.
    pub async fn space_waits(&self) -> Result<Vec<SpaceWait>> {
        let rows = sqlx::query(
            "select *, (select coalesce(max(bytes), 0) from artifact where job_id = job.id) as largest from job
             where storage_full_at is not null and status = 'queued'",
        )
        .fetch_all(&self.readers)
        .await?;
        let wait = |row: &AnyRow| {
            let (_, resolved, _) = stored_spec(row)?;
            let largest = row.try_get::<i64, _>("largest")?.unsigned_abs();
            Ok(SpaceWait {
                job: read("job id", row.try_get("id")?)?,
                needs: RESERVE + largest + largest / 4,
                limit_seconds: resolved.common.resources.storage_wait_seconds,
                since: Timestamp(row.try_get("storage_full_at")?),
            })
        };
        rows.iter().map(wait).collect()
    }

    /// A job that found the disk full is tried again.
    pub async fn end_space_wait(&self, job: JobId, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        let waited = sqlx::query(
            "update job set storage_full_at = null where id = $1 and storage_full_at is not null and status = 'queued'",
        );
        if waited.bind(job.to_string()).execute(tx.connection()).await?.rows_affected() == 1 {
            let event = NewEvent::coded("there is space on the disk again", "storage_freed", LogDetail::None {});
            append(tx.connection(), job, &event, now).await?;
        }
        tx.commit().await
    }

    /// A job that found the disk full has waited for as long as it may.
    pub async fn fail_space_wait(&self, job: JobId, now: Timestamp) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let row = sqlx::query("select status, storage_failure from job where id = $1 and storage_full_at > 0")
                .bind(job.to_string())
                .fetch_optional(tx.connection())
                .await?;
            let Some(row) = row else { return Ok(()) };
            if read::<JobStatus>("job status", row.try_get("status")?)? != JobStatus::Queued {
                return Ok(());
            }
            let failure: Failure = read_json("failure", row.try_get("storage_failure")?)?;
            move_job(tx.connection(), job, &Transition::failed(failure), now).await?;
            tx.commit().await
        })
        .await
    }
}

/// Of a machine that works for a server elsewhere, which cannot look after its disk.
impl Files {
    /// What the disk lacks to take jobs.
    pub fn shortage(&self) -> Option<String> {
        let free = self.free_bytes().ok()?;
        let needed = RESERVE.max(self.known_shortage().unwrap_or(0));
        if free >= needed {
            self.forget_shortage();
            return None;
        }
        let (root, missing) = (self.root().display(), needed - free);
        Some(format!(
            "the disk of the data directory {root} is full, {free} bytes are free; make room there, for {missing} more"
        ))
    }

    /// Bytes that must be free, as was noted not long ago.
    fn known_shortage(&self) -> Option<u64> {
        let path = self.needed_space();
        let age = fs::metadata(&path).and_then(|file| file.modified()).ok()?.elapsed().ok()?;
        fs::read_to_string(&path).ok().filter(|_| age < SHORTAGE_TIME)?.trim().parse().ok()
    }

    /// A job found too little room: it takes clearly more before the next one is taken, or a while, for others may need less. How
    /// much more nobody knows, so that several tries may be needed, each with a quarter more.
    pub fn note_shortage(&self) {
        let written = self.free_bytes().and_then(|free| {
            let (path, temporary) = (self.needed_space(), self.needed_space().with_extension("new"));
            let needed = free + (free / 4).max(RESERVE);
            fs::write(&temporary, needed.to_string()).map_err(|error| StoreError::io("writing", &temporary, error))?;
            publish(&temporary, &path)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "how much room is needed could not be written down");
        }
    }

    /// Jobs are taken again as long as there is any room.
    pub fn forget_shortage(&self) {
        if let Err(error) = fs::remove_file(self.needed_space())
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "how much room was needed could not be forgotten");
        }
    }
}

/// Where a job goes whose attempt found the disk full: it waits for space, unless it is not to.
pub(super) async fn wait_for_space(
    connection: &mut AnyConnection,
    job: JobId,
    failure: Failure,
    now: Timestamp,
) -> Result<()> {
    let row = sqlx::query("select * from job where id = $1").bind(job.to_string()).fetch_one(&mut *connection).await?;
    let (_, resolved, _) = stored_spec(&row)?;
    if resolved.common.resources.storage_wait_seconds == 0 {
        return move_job(connection, job, &Transition::failed(failure), now).await;
    }
    let reason = "the disk is full; the job goes on from its last checkpoint when there is space";
    let transition = Transition { level: EventLevel::Warning, ..Transition::to(JobStatus::Queued, reason) };
    move_job(connection, job, &transition, now).await?;
    sqlx::query("update job set storage_full_at = $2, storage_failure = $3 where id = $1")
        .bind(job.to_string())
        .bind(now.0)
        .bind(write_json(&failure)?)
        .execute(connection)
        .await?;
    Ok(())
}

/// A file of that length whose space is taken.
fn allocate(path: &Path) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    if fallocate(&file, FallocateFlags::empty(), 0, RESERVE).is_err() {
        // Not every file system can.
        let block = vec![0; 1 << 20];
        for _ in 0..RESERVE >> 20 {
            file.write_all(&block)?;
        }
    }
    file.sync_all()
}

/// Does a write, and whenever the disk is full gives up a portion of the reserve for it, as long as there is one.
pub(super) async fn use_reserve<T, F>(files: &Files, write: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    for _ in 0..TRIES {
        let left = reserved(files);
        match write().await {
            Err(StoreError::Full(_)) if give_up(files, left) => sleep(PAUSE).await,
            result => return result,
        }
    }
    write().await
}

/// Bytes of the reserve that are left.
fn reserved(files: &Files) -> u64 {
    fs::metadata(files.reserve()).map_or(0, |reserve| reserve.len())
}

/// Gives a portion of the reserve up, of which `left` bytes were left before a write failed, unless another process has
/// done so meanwhile. Whether it is worth trying again.
fn give_up(files: &Files, left: u64) -> bool {
    let shortened = || -> std::io::Result<()> {
        let reserve = OpenOptions::new().write(true).open(files.reserve())?;
        // Another process may be at it, or have been.
        if reserve.try_lock().is_err() || reserve.metadata()?.len() < left {
            return Ok(());
        }
        reserve.set_len(left.saturating_sub(PORTION))?;
        tracing::warn!(left, "the disk is full; of the reserve a portion was given up so that something can be freed");
        // What is cut off is free once this is on the disk.
        reserve.sync_all()
    };
    left > 0 && shortened().is_ok()
}
