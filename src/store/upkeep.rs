//! Looking after a data directory: whether its database is whole and its files are there, and copies of it.
//!
//! A copy is made beside a running server. First comes a snapshot of the database, then the files that the snapshot's
//! rows name; a file that was deleted in between makes a new snapshot necessary. Files never change under their names,
//! so that a copy that has begun is gone on with.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sqlx::{AnyConnection, Connection, Row};

use super::backend::Backend;
use super::bucket::{Bucket, BucketAddress};
use super::files::sync;
use super::{
    Files, Location, NamedFile, Result, Store, StoreError, StoredFile, artifacts, checksums, database, migrations,
    read, read_json,
};
use crate::job::digest::hex;
use crate::job::{JobId, ManifestFile, ModelId};

/// Faults of the database that are told at most.
const FAULTS: i64 = 100;
/// Snapshots that a copy takes at most: each one after the first is needed because something was deleted meanwhile.
const SNAPSHOTS: u32 = 10;

/// How far a copy has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub files: u64,
    pub bytes: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Store {
    /// Opens a data directory in order to look at it: nothing is made or changed, and it must be of this version.
    pub async fn open_to_read(directory: &Path, address: Option<&str>, bucket: Option<&BucketAddress>) -> Result<Self> {
        let backend = match address {
            Some(address) => Backend::postgres(address).await?,
            None => {
                let missing = |error| StoreError::io("opening", &database(directory), error);
                fs::metadata(database(directory)).map_err(missing)?;
                Backend::to_read(&database(directory))?
            }
        };
        let store = Self::of(Files::at(directory)?, backend, None, bucket.map(Bucket::open).transpose()?);
        migrations::check(&mut *store.readers.acquire().await?).await?;
        Ok(store)
    }

    /// Makes the checksums of the database's pages anew, so that what another program has written to it is believed. No
    /// server may run, and the database must be whole otherwise.
    pub async fn reseal(directory: &Path) -> Result<()> {
        let files = Files::at(directory)?;
        if files.has_server() {
            return Err(StoreError::Conflict("a server runs on this directory; stop it first".to_owned()));
        }
        // Without the layer that compares checksums.
        let mut plain = Backend::unchecked(&database(directory))?.connect().await?;
        // What is in the log moves into the file, and nobody else has the database open.
        sqlx::query("pragma journal_mode = delete").execute(&mut plain).await?;
        let faults = faults(&mut plain, true).await?;
        plain.close().await?;
        match faults.first() {
            Some(fault) => Err(StoreError::DatabaseDamaged(fault.clone())),
            None => checksums::seal(&database(directory)),
        }
    }

    /// What is wrong with the database's pages; `deep` also compares indexes with tables, and references with rows.
    pub async fn database_faults(&self, deep: bool) -> Result<Vec<String>> {
        if self.address().is_some() {
            // PostgreSQL looks after its own pages (`initdb --data-checksums`, pg_amcheck).
            sqlx::query("select count(*) from job").execute(&self.readers).await?;
            return Ok(Vec::new());
        }
        let mut faults = faults(&mut *self.readers.acquire().await?, deep).await?;
        if let Some(page) = checksums::damaged_page(&database(self.files().root())) {
            faults.insert(0, format!("page {page} is not what was written"));
        }
        Ok(faults)
    }

    /// Whether what the disk changes in a page is noticed when it is read; not so in a database of an older version that
    /// no server has had for itself yet.
    pub async fn has_checksums(&self) -> Result<bool> {
        self.backend.has_checksums().await
    }

    /// Looks through the database once, beside all else; [`ping`](Self::ping) tells what was wrong.
    pub async fn look_through(&self) -> Result<()> {
        let faults = self.database_faults(false).await?;
        if let Some(fault) = faults.first() {
            tracing::error!(faults = faults.len(), fault, "the database is damaged; restore a backup (anneal restore)");
            self.fault.get_or_init(|| fault.clone());
        }
        Ok(())
    }

    /// Every file that a row names, and what jobs that are not over have kept.
    pub async fn named_files(&self) -> Result<Vec<NamedFile>> {
        let mut named = Vec::new();
        let mut add = |location: Location, sha256: &str, size: i64| {
            named.push(NamedFile { file: location.holding(sha256), size: Some(size.unsigned_abs()) });
        };
        let rows: Vec<(String, String, i64)> =
            sqlx::query_as("select id, sha256, bytes from dataset_version").fetch_all(&self.readers).await?;
        for (id, sha256, bytes) in rows {
            add(Location::dataset(read("data set version id", &id)?), &sha256, bytes);
        }
        let rows: Vec<(String, String, i64)> =
            sqlx::query_as("select id, sha256, bytes from file").fetch_all(&self.readers).await?;
        for (id, sha256, bytes) in rows {
            add(Location::file(read("file id", &id)?), &sha256, bytes);
        }
        let rows = sqlx::query("select directory, manifest from artifact").fetch_all(&self.readers).await?;
        for row in &rows {
            let location = Location::artifact(row.try_get("directory")?);
            named.extend(artifacts::manifest_files(&location, row.try_get("manifest")?)?);
        }
        let rows: Vec<(String, String)> = sqlx::query_as("select id, manifest from export where manifest is not null")
            .fetch_all(&self.readers)
            .await?;
        for (id, manifest) in rows {
            named.extend(artifacts::manifest_files(&Location::export(read("export id", &id)?), &manifest)?);
        }
        named.extend(self.part_files().await?);
        named.extend(self.model_files().await?);
        named.extend(self.kept_files().await?);
        Ok(named)
    }

    /// The parts of uploads. Into a bucket clients may send them by themselves, and then nothing says which have arrived.
    async fn part_files(&self) -> Result<Vec<NamedFile>> {
        if self.place().is_remote() {
            return Ok(Vec::new());
        }
        let parts: Vec<(String, i64)> =
            sqlx::query_as("select id, bytes from upload_part").fetch_all(&self.readers).await?;
        let named = parts.iter().map(|(id, bytes)| {
            let location = Location::part(read("part id", id)?);
            Ok(NamedFile { file: location.into(), size: Some(bytes.unsigned_abs()) })
        });
        named.collect()
    }

    /// The files of imported models. What the folder of a model holds was not always written down; one that is not there has a
    /// file that is not there.
    async fn model_files(&self) -> Result<Vec<NamedFile>> {
        let rows = sqlx::query("select id, files from model where status = 'ready'").fetch_all(&self.readers).await?;
        let mut named = Vec::new();
        for row in rows {
            let folder = Location::model(read::<ModelId>("model id", row.try_get("id")?)?);
            if let Some(files) = row.try_get::<Option<String>, _>("files")? {
                let files: Vec<ManifestFile> = read_json("files of a model", &files)?;
                named.extend(files.iter().map(|file| NamedFile {
                    file: folder.within(&file.path).holding(&file.sha256),
                    size: Some(file.size),
                }));
                continue;
            }
            let mut files: Vec<Location> =
                self.place().list(&folder).await?.into_iter().map(|entry| entry.location).collect();
            if files.is_empty() {
                files.push(folder.within("config.json"));
            }
            named.extend(files.into_iter().map(|file| NamedFile { file: file.into(), size: None }));
        }
        Ok(named)
    }

    /// What jobs that can go on have kept of their completions, and the samples of all jobs.
    async fn kept_files(&self) -> Result<Vec<NamedFile>> {
        let jobs: Vec<String> =
            sqlx::query_scalar("select id from job where status <> 'succeeded'").fetch_all(&self.readers).await?;
        let mut named = Vec::new();
        for job in jobs {
            for part in self.place().kept_part_files(read::<JobId>("job id", &job)?).await? {
                named.push(NamedFile { file: part.into(), size: None });
            }
        }
        let jobs: Vec<String> =
            sqlx::query_scalar("select id from job where kind = 'train'").fetch_all(&self.readers).await?;
        for job in jobs {
            for (_, file) in self.place().sampled_rounds(read("job id", &job)?).await? {
                named.push(NamedFile { file, size: None });
            }
        }
        Ok(named)
    }

    /// Copies everything into `directory`, which is complete when its database is there. `told` learns how far it is.
    pub async fn copy_to(&self, directory: &Path, told: impl Fn(Copied)) -> Result<Copied> {
        if self.address().is_some() {
            let detail = "the database is one of PostgreSQL: copy it with pg_dump, and then the data directory without \
                          `workers`, `inference` and `uploads` (docs/cluster.md)";
            return Err(StoreError::Conflict(detail.to_owned()));
        }
        if self.place().is_remote() {
            let detail = "the files are in a bucket: copy it with a program of its own (docs/cluster.md)";
            return Err(StoreError::Conflict(detail.to_owned()));
        }
        let made = |folder: &Path| fs::create_dir_all(folder).map_err(|e| StoreError::io("creating", folder, e));
        made(directory)?;
        let target = database(directory);
        remove(&target)?;
        for _ in 0..SNAPSHOTS {
            let snapshot = target.with_extension("db.tmp");
            remove(&snapshot)?;
            let to = snapshot.display().to_string();
            sqlx::query("vacuum into $1").bind(to).execute(&mut *self.readers.acquire().await?).await?;
            // Its first page, which says that there are checksums, was not written first.
            checksums::seal(&snapshot)?;
            let files = Files::at(self.files().root())?;
            let named = Self::of(files, Backend::of_snapshot(&snapshot)?, None, None).named_files().await?;
            let Some(copied) = self.copy_files(&named, directory, &told)? else { continue };
            remove_others(&named, directory)?;
            for key in [self.vault.path(), self.signer.file().path()] {
                self.copy_key(key, directory)?;
            }
            File::open(&snapshot)
                .and_then(|file| file.sync_all())
                .map_err(|e| StoreError::io("syncing", &snapshot, e))?;
            super::files::publish(&snapshot, &target)?;
            return Ok(copied);
        }
        let detail = "things are deleted faster than they can be copied; try again when less is going on";
        Err(StoreError::Conflict(detail.to_owned()))
    }

    /// Keys go with what they are for, unless the operator keeps them elsewhere.
    fn copy_key(&self, from: &Path, directory: &Path) -> Result<()> {
        let (true, Some(name)) = (from.exists() && from.parent() == Some(self.files().root()), from.file_name()) else {
            return Ok(());
        };
        let to = directory.join(name);
        remove(&to)?;
        fs::copy(from, &to).map_err(|e| StoreError::io("copying", from, e))?;
        File::open(&to).and_then(|file| file.sync_all()).map_err(|e| StoreError::io("syncing", &to, e))
    }

    /// None when a file is not there any more. Blocks; nothing else is done meanwhile.
    fn copy_files(&self, named: &[NamedFile], directory: &Path, told: &impl Fn(Copied)) -> Result<Option<Copied>> {
        let size = |named: &NamedFile| fs::metadata(self.place().path_of(&named.file)).map_or(0, |file| file.len());
        let mut copied = Copied { total: named.iter().map(size).sum(), ..Copied::default() };
        let mut folders = BTreeSet::new();
        for named in named {
            let (from, to) = (self.place().path_of(&named.file), directory.join(named.file.name()));
            let folder = to.parent().unwrap_or(directory).to_owned();
            fs::create_dir_all(&folder).map_err(|e| StoreError::io("creating", &folder, e))?;
            let length = match copy_file(&from, &to, &named.file) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
                length => length?,
            };
            folders.insert(folder);
            copied = Copied { files: copied.files + 1, bytes: copied.bytes + length, ..copied };
            told(copied);
        }
        folders.iter().try_for_each(|folder| sync(folder))?;
        Ok(Some(copied))
    }
}

/// As [`Store::database_faults`], over this connection.
async fn faults(connection: &mut AnyConnection, deep: bool) -> Result<Vec<String>> {
    // SQLite tells 100 faults at most.
    let check = if deep { "pragma integrity_check" } else { "pragma quick_check" };
    let told: std::result::Result<Vec<String>, _> = sqlx::query_scalar(check).fetch_all(&mut *connection).await;
    let mut faults = match told {
        Ok(told) => told.into_iter().filter(|line| line != "ok").collect(),
        // Pages that cannot be read at all.
        Err(error) => vec![StoreError::from(error).to_string()],
    };
    if deep && faults.is_empty() {
        let dangling = sqlx::query("select \"table\" as name, parent from pragma_foreign_key_check limit $1");
        for row in dangling.bind(FAULTS).fetch_all(connection).await? {
            let (table, parent): (String, String) = (row.try_get("name")?, row.try_get("parent")?);
            faults.push(format!("a row of `{table}` refers to a row of `{parent}` that is not there"));
        }
    }
    Ok(faults)
}

/// Copies a file that holds what was stored, unless it was copied before, and returns its length.
fn copy_file(from: &Path, to: &Path, file: &StoredFile) -> Result<u64> {
    let length = fs::metadata(from).map_err(|e| StoreError::io("opening", from, e))?.len();
    if fs::metadata(to).is_ok_and(|there| there.len() == length) && file.check(to).is_ok() {
        return Ok(length);
    }
    let temporary = to.with_extension("tmp");
    let mut reader = File::open(from).map_err(|e| StoreError::io("opening", from, e))?;
    let mut writer = File::create(&temporary).map_err(|e| StoreError::io("creating", &temporary, e))?;
    let (mut chunk, mut digest) = (vec![0; 1 << 20], Sha256::new());
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                digest.update(&chunk[..count]);
                writer.write_all(&chunk[..count]).map_err(|e| StoreError::io("writing", &temporary, e))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StoreError::io("reading", from, error)),
        }
    }
    file.check_digest(hex(&digest.finalize())).map_err(|e| StoreError::io("copying", from, e))?;
    writer.sync_all().map_err(|e| StoreError::io("syncing", &temporary, e))?;
    fs::rename(&temporary, to).map_err(|e| StoreError::io("renaming", &temporary, e))?;
    Ok(length)
}

/// Removes from a copy what belongs to an earlier one.
fn remove_others(named: &[NamedFile], directory: &Path) -> Result<()> {
    let kept: BTreeSet<PathBuf> = named.iter().map(|named| directory.join(named.file.name())).collect();
    for folder in ["datasets", "files", "jobs", "models", "parts"] {
        let mut pending = vec![directory.join(folder)];
        while let Some(folder) = pending.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
                if path.is_dir() {
                    pending.push(path);
                } else if !kept.contains(&path) {
                    remove(&path)?;
                }
            }
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("removing", path, error)),
        _ => Ok(()),
    }
}
