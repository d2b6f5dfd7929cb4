//! The store: the only module that talks to the database, and the one that knows where files lie.
//!
//! SQLite in WAL mode with `synchronous=FULL`: an acknowledged write survives a power cut. There is one writer
//! connection, which a transaction holds. What is not committed is rolled back; a connection whose commit or rollback
//! failed (a full disk) is closed, because its state cannot be trusted. Reads go through a pool.
//!
//! SQL is lower case, portable, and static but for the number of rows and conditions; what differs for another database
//! stays in `backend` and in `migrations/`.

mod agents;
mod artifacts;
mod attempts;
mod audit;
mod backend;
mod bucket;
mod checksums;
mod copy;
mod datasets;
mod deletion;
mod depot;
mod derived;
mod devices;
mod error;
mod evaluations;
mod events;
mod exports;
pub mod files;
mod fine_tuning;
mod hosts;
mod imports;
mod inputs;
mod jobs;
mod key_file;
mod keys;
mod launches;
mod lease;
mod life;
mod lifecycle;
pub mod line;
mod materials;
mod memo;
mod metric_blocks;
mod metrics;
mod migrations;
mod models;
mod names;
mod placement;
mod progress;
mod projects;
mod provenance;
mod pushes;
mod queue;
mod quota;
mod rendezvous;
mod reports;
mod requests;
mod rollout_sets;
mod sessions;
mod space;
mod statement;
mod statuses;
mod submissions;
mod suites;
mod suites_wanted;
mod sweeps;
mod transitions;
mod turns;
mod upkeep;
mod uploaded_files;
mod uploads;
mod vault;
mod verifier_audits;
mod verifiers;
mod webhook_deliveries;
mod webhook_endpoints;
mod webhook_fan_out;
mod workers;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AnyPool, Connection, Row};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

pub use agents::{AgentWorker, NewAgent};
pub use artifacts::{
    AdapterOf, Added, Artifact, CheckpointRow, Content, Damaged, Keep, Kept, Location, NamedFile, NewArtifact, Place,
    Staged, StoredFile, Trimmed,
};
pub use attempts::{AttemptRow, QueueWaits};
pub use audit::{AuditChain, AuditEntry};
pub use bucket::BucketAddress;
pub use copy::CopiedTable;
pub use datasets::{DatasetRow, DatasetVersionRow};
pub use depot::{Depot, Object, Permit, Piece, Reader, blocking, write_in_pieces};
pub use derived::{Origin, Verification};
pub use devices::DeviceRow;
pub use error::{Result, StoreError};
pub use evaluations::EvaluationRow;
pub use events::EventFilter;
pub use exports::ExportRow;
pub use files::Files;
pub use hosts::{Availability, HostRow};
pub use jobs::{JobFilter, JobRow, MetadataFilter};
pub use keys::{ApiKeyRow, NewApiKey};
pub use launches::{LaunchRow, Offered};
pub use lease::Lease;
pub use life::LifeLock;
pub use lifecycle::JobChange;
pub use materials::{Materials, StoredFolder, StoredModel, StoredRows, Weights};
pub use memo::Memo;
pub use metrics::{Buckets, MetricQuery, MetricSeries};
pub use models::ModelRow;
pub use names::Identified;
pub use placement::{QueueEntry, Reserved};
pub use projects::{ProjectLimits, ProjectRow};
pub use pushes::PushRow;
pub use queue::{Claim, Ended, Heartbeat, Loss, MAX_CRASHES};
pub use quota::StorageRoom;
pub use rendezvous::OpenPart;
pub use requests::Recorded;
pub use rollout_sets::{NewRolloutSet, RolloutSetRow};
pub use sessions::{NewSession, SessionRow};
pub use space::{RESERVE, SpaceWait};
pub use submissions::{IdempotencyKey, NewJob, Submitted};
pub use suites::{NewSuiteRun, SuiteRow, SuiteRunRow, SuiteRunSet};
pub use suites_wanted::SuiteDue;
pub use sweeps::{NewSweep, NewTrial, SweepChange, SweepRow, SweepState, TrialCounts, TrialRow, Work};
pub use upkeep::Copied;
pub use uploaded_files::UploadedFileRow;
pub use uploads::{PartRow, UploadRow};
pub use verifier_audits::VerifierAuditRow;
pub use verifiers::VerifierRow;
pub use webhook_deliveries::{DueDelivery, WebhookAttempt, WebhookDeliveryRow, WebhookOutcome};
pub use webhook_endpoints::{WebhookEndpointChange, WebhookEndpointRow};
pub use workers::{SignOfLife, WorkerRow};

use crate::job::{Event, JobId, Timestamp};
use backend::{Alone, Backend};
use bucket::Bucket;
use memo::Versions;
use submissions::Submissions;

/// Rows that one statement inserts at most: a statement for each is slower, and values are limited.
const ROWS: usize = 128;

/// How long a write waits for those before it, in this process and in others.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long nothing could be written when the server says that it is not ready.
const UNWRITABLE: Duration = Duration::from_secs(2);

/// How long what requests are judged by is remembered, even if nothing is written.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The project of whoever has no key, and of what was there before there were projects.
pub const DEFAULT_PROJECT: &str = "default";

/// A handle to the database and the data directory; clones share them.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
    vault: Arc<vault::Vault>,
    signer: Arc<provenance::Signer>,
    /// What this handle sees; everything when there is none.
    project: Option<Arc<str>>,
    /// The name of this machine.
    host: Arc<str>,
}

/// What all handles have in common. Each request makes some, so that a handle has to be light.
#[derive(Debug)]
pub struct Shared {
    backend: Backend,
    readers: AnyPool,
    writer: Arc<Mutex<Option<AnyConnection>>>,
    files: Files,
    place: Place,
    submissions: Submissions,
    arriving: quota::Arriving,
    /// When the first [`probe`](Self::probe) began that has not gone well since.
    unwritable: std::sync::Mutex<Option<Instant>>,
    /// What was found to be wrong with the database when it was looked through.
    fault: OnceLock<String>,
    versions: Versions,
    /// Keys by their digests, and the limits of projects by name: each request asks for them.
    keys: Memo<String, Option<ApiKeyRow>>,
    limits: Memo<String, ProjectLimits>,
    default_limits: OnceLock<ProjectLimits>,
    offered: OnceLock<Vec<Offered>>,
    /// Servers that share the database, when that was looked up last.
    servers: AtomicU32,
    /// Told when this process has changed what waits for devices.
    written: Notify,
    /// Events behind a place in a job's log, for all who follow it.
    news: Memo<(JobId, i64, u32), Arc<[Event]>>,
}

impl Deref for Store {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Store {
    /// Opens the data directory, creating it and bringing the database up to date where needed.
    pub async fn open(directory: &Path) -> Result<Self> {
        Self::open_at(directory, None, None).await
    }

    /// The same, where the database is one of PostgreSQL at `address` (`postgres://user@host/name`) if there is one, and
    /// the files are in a bucket if there is one.
    pub async fn open_at(directory: &Path, address: Option<&str>, bucket: Option<&BucketAddress>) -> Result<Self> {
        let files = Files::open(directory)?;
        #[cfg(test)]
        let of_tests = backend::address_of_tests(directory).await?;
        #[cfg(test)]
        let address = address.or(of_tests.as_deref());
        if let Some(address) = address {
            return Self::open_over(files, Backend::postgres(address).await?, bucket).await;
        }
        let prepare =
            async || Self::open_over(files.clone(), Backend::prepare(&database(directory)).await?, bucket).await;
        space::use_reserve(&files, prepare).await
    }

    async fn open_over(files: Files, backend: Backend, bucket: Option<&BucketAddress>) -> Result<Self> {
        let bucket = bucket.map(Bucket::open).transpose()?;
        let mut writer = backend.connect().await?;
        migrations::update(&mut writer, &files).await?;
        backend.lift_positions(&mut writer).await?;
        let unpacked = metric_blocks::unpacked(&mut writer).await?;
        let store = Self::of(files, backend, Some(writer), bucket);
        for job in unpacked {
            store.pack_metrics(read("job id", &job)?).await?;
        }
        Ok(store)
    }

    /// Where the database is, if it does not lie in the data directory.
    pub fn address(&self) -> Option<&str> {
        self.backend.address()
    }

    /// What time it is for the database, by whose clock the processes of several machines agree; none where that is this
    /// machine's.
    pub async fn time(&self) -> Result<Option<Timestamp>> {
        if self.address().is_none() {
            return Ok(None);
        }
        Ok(self.backend.time(&mut *self.readers.acquire().await?).await?.map(Timestamp))
    }

    fn of(files: Files, backend: Backend, writer: Option<AnyConnection>, bucket: Option<Bucket>) -> Self {
        let readers = backend.readers();
        let vault = Arc::new(vault::Vault::at(files.secrets_key()));
        let signer = Arc::new(provenance::Signer::at(key_file::KeyFile::at(files.signing_key())));
        let shared = Shared {
            readers,
            writer: Arc::new(Mutex::new(writer)),
            backend,
            place: Place::new(files.clone(), bucket.map(|bucket| Arc::new(bucket) as Arc<dyn Depot>)),
            files,
            submissions: Submissions::new(),
            arriving: quota::Arriving::default(),
            unwritable: std::sync::Mutex::default(),
            fault: OnceLock::new(),
            versions: Versions::default(),
            keys: Memo::new(REMEMBERED),
            limits: Memo::new(REMEMBERED),
            default_limits: OnceLock::new(),
            offered: OnceLock::new(),
            servers: AtomicU32::new(1),
            written: Notify::new(),
            news: Memo::new(REMEMBERED),
        };
        Self { shared: Arc::new(shared), vault, signer, project: None, host: hosts::unnamed() }
    }

    /// The same store, whose secrets are encrypted with the key in this file, instead of the one in the data directory.
    pub fn with_secrets_key(self, path: PathBuf) -> Self {
        Self { vault: Arc::new(vault::Vault::at(path)), ..self }
    }

    /// The same store, with nothing in it but what belongs to `project`: rows of others are not found, and new rows are
    /// the project's. Without it, as workers use it, a store sees all projects.
    pub fn within(&self, project: &str) -> Self {
        Self { project: Some(project.into()), ..self.clone() }
    }

    /// The project to compare with; `project = coalesce($n, project)` holds for all rows when there is none.
    fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// The project of new rows.
    pub fn own_project(&self) -> &str {
        self.project().unwrap_or(DEFAULT_PROJECT)
    }

    /// The folders of this machine's disk.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Where stored files lie.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A cheap question to the database, for readiness: whether it can be read, nothing was found to be wrong with it,
    /// there is space on the disk, and no [`probe`](Self::probe) has been in vain for long.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("select 1").execute(&self.readers).await?;
        if let Some(detail) = self.fault.get() {
            return Err(StoreError::DatabaseDamaged(detail.clone()));
        }
        if let Some(page) = checksums::damaged_page(&database(self.files.root())) {
            return Err(StoreError::DatabaseDamaged(format!("page {page} is not what was written")));
        }
        if self.lives_on_reserve() {
            return Err(StoreError::Full("next to nothing is free".into()));
        }
        let since = *self.unwritable.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_some_and(|since| since.elapsed() > UNWRITABLE) { Err(StoreError::Overloaded) } else { Ok(()) }
    }

    /// Whether something can be written now. Waits as a write does, and writes nothing.
    pub async fn probe(&self) -> Result<()> {
        self.unwritable.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        drop(self.begin().await?);
        *self.unwritable.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Returns when this process has changed what waits for devices, or which are free.
    pub async fn written(&self) {
        self.written.notified().await;
    }

    /// Closes the database, whereby SQLite moves what lies in its log into the one file, unless others have it open.
    pub async fn close(self) -> Result<()> {
        self.readers.close().await;
        if let Some(connection) = self.versions.take_connection().await {
            connection.close().await?;
        }
        match Arc::clone(&self.writer).lock_owned().await.take() {
            Some(writer) => Ok(writer.close().await?),
            None => Ok(()),
        }
    }

    /// Begins a write transaction, waiting for the one under way, though not for ever: a process that was stopped in the
    /// midst of one keeps the database locked.
    async fn begin(&self) -> Result<WriteTransaction> {
        self.begin_alone(Alone::Everywhere).await
    }

    /// The same for what depends on one row, which its first statement writes to, and on what hangs on that row.
    async fn begin_on_row(&self) -> Result<WriteTransaction> {
        self.begin_alone(Alone::OnRow).await
    }

    async fn begin_alone(&self, alone: Alone) -> Result<WriteTransaction> {
        // What is dropped here closes its connection when SQLite lets go of it.
        tokio::time::timeout(PATIENCE, self.begin_patiently(alone)).await.unwrap_or(Err(StoreError::Overloaded))
    }

    async fn begin_patiently(&self, alone: Alone) -> Result<WriteTransaction> {
        let mut slot = Arc::clone(&self.writer).lock_owned().await;
        if let Some(mut connection) = slot.take() {
            match self.backend.begin(&mut connection, alone).await {
                Ok(()) => return Ok(WriteTransaction { writer: Some(Writer { connection, slot }) }),
                // The server at its other end was started anew.
                Err(StoreError::Unreachable(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let mut connection = self.backend.connect().await?;
        self.backend.begin(&mut connection, alone).await?;
        Ok(WriteTransaction { writer: Some(Writer { connection, slot }) })
    }
}

/// The writer's connection, and where it waits for its next transaction. Dropped, it is closed.
struct Writer {
    connection: AnyConnection,
    slot: OwnedMutexGuard<Option<AnyConnection>>,
}

impl Writer {
    /// Ends the transaction and gives the connection back, unless this fails.
    async fn end(mut self, statement: &'static str) -> Result<()> {
        sqlx::query(statement).execute(&mut self.connection).await?;
        *self.slot = Some(self.connection);
        Ok(())
    }
}

/// A write transaction. Unless it is committed, it is rolled back; the next one waits until it is.
struct WriteTransaction {
    writer: Option<Writer>,
}

impl WriteTransaction {
    fn connection(&mut self) -> &mut AnyConnection {
        &mut self
            .writer
            .as_mut()
            .expect("the writer is only taken by commit, which consumes the transaction")
            .connection
    }

    /// Commits what makes a resource: the key of the request that is being served stands for it from now on.
    async fn commit_made(mut self, resource: impl std::fmt::Display) -> Result<()> {
        requests::stand_for(self.connection(), &resource.to_string()).await?;
        self.commit().await
    }

    /// Commits what a request is answered with: its key has that answer from now on.
    async fn commit_answered(mut self, vault: &vault::Vault, status: u16, answer: &str) -> Result<()> {
        requests::answered(self.connection(), vault, status, answer).await?;
        self.commit().await
    }

    async fn commit(mut self) -> Result<()> {
        let writer = self.writer.take().expect("a transaction is committed once");
        writer.end("commit").await
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        // Without a runtime the program is about to end, and the connection closes.
        if let (Some(writer), Ok(runtime)) = (self.writer.take(), Handle::try_current()) {
            runtime.spawn(async move {
                if let Err(error) = writer.end("rollback").await {
                    tracing::debug!(error = %error, "a transaction that had ended by itself; its connection is closed");
                }
            });
        }
    }
}

fn database(directory: &Path) -> PathBuf {
    directory.join("anneal.db")
}

/// Reads a column that holds a number of a kind that databases do not have.
fn number<T: TryFrom<i64, Error: std::fmt::Display>>(row: &AnyRow, column: &'static str) -> Result<T> {
    let missing = || StoreError::Corrupt { what: column, detail: "it is null".to_owned() };
    optional(row, column)?.ok_or_else(missing)
}

/// As [`number`], where there may be none.
fn optional<T: TryFrom<i64, Error: std::fmt::Display>>(row: &AnyRow, column: &'static str) -> Result<Option<T>> {
    let number: Option<i64> = row.try_get(column)?;
    let odd = |error: T::Error| StoreError::Corrupt { what: column, detail: error.to_string() };
    number.map(|number| number.try_into().map_err(odd)).transpose()
}

/// Reads a column that is 0 or 1, or a condition.
fn flag(row: &AnyRow, column: &str) -> Result<bool> {
    match row.try_get::<bool, _>(column) {
        Err(sqlx::Error::ColumnDecode { .. }) => Ok(row.try_get::<i64, _>(column)? != 0),
        flag => Ok(flag?),
    }
}

/// Reads a stored text as a domain type.
fn read<T: FromStr>(what: &'static str, text: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| StoreError::Corrupt { what, detail: error.to_string() })
}

/// Reads stored JSON.
fn read_json<T: serde::de::DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt { what, detail: error.to_string() })
}

/// Writes JSON for storage.
fn write_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| StoreError::Corrupt { what: "value", detail: error.to_string() })
}

/// What a client changes of what a resource carries for people; nothing given stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The name, or none to take it away.
    pub name: Option<Option<String>>,
    /// In the place of all pairs that there are.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Order and extent of a listing.
#[derive(Clone, Debug)]
pub struct Page {
    /// Start behind this id.
    pub after: Option<String>,
    pub limit: u32,
    pub newest_first: bool,
}

impl Page {
    /// The bounds that a listing by id compares with: `low < id < high`.
    fn bounds(&self) -> (&str, &str) {
        match (&self.after, self.newest_first) {
            (Some(after), true) => ("", after),
            (Some(after), false) => (after, "~"),
            (None, _) => ("", "~"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::ModelId;

    /// Marks the writer's connection; the mark is gone when the connection is.
    async fn mark(store: &Store) {
        let mut tx = store.begin().await.unwrap();
        sqlx::query("create temp table mark (id integer)").execute(tx.connection()).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn marked(store: &Store) -> bool {
        let mut tx = store.begin().await.unwrap();
        sqlx::query("select * from mark").execute(tx.connection()).await.is_ok()
    }

    async fn workers(store: &Store) -> i64 {
        sqlx::query_scalar("select count(*) from worker").fetch_one(&store.readers).await.unwrap()
    }

    const WORKER: &str = "insert into worker (id, device, description, pid, started_at, seen_at)
                          values ('wrk_1', 'cpu', '', 1, 1, 1)";

    #[tokio::test]
    async fn a_refused_write_leaves_nothing_and_keeps_its_connection() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        mark(&store).await;
        let refused = store.delete_model(ModelId::generate()).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
        let mut tx = store.begin().await.unwrap();
        sqlx::query(WORKER).execute(tx.connection()).await.unwrap();
        drop(tx);
        assert!(marked(&store).await, "the connection was closed");
        assert_eq!(workers(&store).await, 0);
    }

    #[tokio::test]
    async fn a_database_that_another_process_keeps_locked_is_busy_and_not_broken() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let other = Store::open(folder.path()).await.unwrap();
        let tx = other.begin().await.unwrap();
        let (first, second) = tokio::join!(store.probe(), store.delete_model(ModelId::generate()));
        assert!(matches!(first, Err(StoreError::Overloaded)), "{first:?}");
        assert!(matches!(second, Err(StoreError::Overloaded)), "{second:?}");
        assert!(store.ping().await.is_err(), "it is not ready");
        tx.commit().await.unwrap();
        store.probe().await.unwrap();
        store.ping().await.unwrap();
    }

    #[tokio::test]
    async fn a_commit_that_fails_closes_its_connection_and_writing_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        if crate::store::backend::on_postgres() {
            return;
        }
        mark(&store).await;
        let mut tx = store.begin().await.unwrap();
        sqlx::query("pragma defer_foreign_keys = on").execute(tx.connection()).await.unwrap();
        let of_no_job =
            "insert into attempt (job_id, number, worker, device, started_at) values ('job_1', 1, '', '', 1)";
        sqlx::query(of_no_job).execute(tx.connection()).await.unwrap();
        assert!(matches!(tx.commit().await, Err(StoreError::Database(_))));
        assert!(!marked(&store).await, "the connection was kept");
        let mut tx = store.begin().await.unwrap();
        sqlx::query(WORKER).execute(tx.connection()).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(workers(&store).await, 1);
    }
}
