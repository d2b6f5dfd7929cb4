//! Copies of a bucket's files on this machine's disk. When they take too much, those go that nobody has asked for for
//! longest; whoever asks for one again has it brought.

use std::collections::{BTreeSet, BinaryHeap};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, statvfs, utimensat};

use super::place::{Place, files_below};
use crate::job::JobId;
use crate::store::depot::Depot;
use crate::store::statuses::held;
use crate::store::{Result, Store, StoreError, read};

/// Folders of the place.
const FOLDERS: [&str; 6] = ["datasets", "exports", "files", "jobs", "models", "parts"];
/// Who has asked for a file opens it within this time.
const ASKED_FOR: Duration = Duration::from_secs(3600);
/// A job that has written or read nothing for so long runs nowhere.
const AT_REST: Duration = Duration::from_secs(24 * 3600);
/// Copies that are looked at when some must go: the oldest ones.
const LOOKED_AT: usize = 10_000;

/// What of the copies had to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Bytes of all copies there were.
    pub copies: u64,
    /// Bytes of those that were removed.
    pub removed: u64,
    pub files: u64,
}

/// A copy, by the time when it was asked for last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    asked_for: SystemTime,
    name: String,
    bytes: u64,
}

impl Store {
    /// Removes copies of what is in the bucket until all together take at most `limit` bytes, or, without one, half of the
    /// disk. What was asked for within the hour stays, and so does what jobs have that run.
    pub async fn trim_copies(&self, limit: Option<u64>) -> Result<Trimmed> {
        if !self.place().is_remote() {
            return Ok(Trimmed::default());
        }
        let running: Vec<String> = sqlx::query_scalar(concat!("select id from job where status in ", held!()))
            .fetch_all(&self.readers)
            .await?;
        let running: BTreeSet<JobId> = running.iter().map(|id| read("job id", id)).collect::<Result<_>>()?;
        self.place().trim(limit, &running, true).await
    }
}

impl Place {
    /// The same of an agent, whose server has all that is complete. What a job has stays that wrote or read something within
    /// a day.
    pub async fn trim_as_agent(&self, limit: Option<u64>) -> Result<Trimmed> {
        let folder = self.files.root().join("jobs");
        let entries = fs::read_dir(&folder).map_err(|e| StoreError::io("listing", &folder, e))?;
        let mut running = BTreeSet::new();
        for entry in entries {
            let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
            let files = files_below(&path).unwrap_or_default();
            let newest = files.iter().filter_map(|(_, path)| asked_for(path)).max();
            let is_running = newest.is_none_or(|time| time.elapsed().map_or(true, |age| age < AT_REST));
            let name = path.file_name().and_then(|name| name.to_str());
            running.extend(name.and_then(|name| name.parse::<JobId>().ok()).filter(|_| is_running));
        }
        self.trim(limit, &running, false).await
    }

    /// `surely`: nothing of which the depot has not been asked whether it has it.
    async fn trim(&self, limit: Option<u64>, running: &BTreeSet<JobId>, surely: bool) -> Result<Trimmed> {
        let Some(bucket) = &self.bucket else { return Ok(Trimmed::default()) };
        let root = self.files.root().to_owned();
        let limit = limit.map_or_else(|| half_of_disk(&root), Ok)?;
        let folders = running.iter().map(|job| format!("jobs/{job}/")).collect::<Vec<_>>();
        let look = move || look(&root, &folders);
        let (copies, oldest) = tokio::task::spawn_blocking(look)
            .await
            .map_err(|e| StoreError::io("looking through", self.files.root(), std::io::Error::other(e)))??;
        let mut trimmed = Trimmed { copies, ..Trimmed::default() };
        for copy in oldest {
            if copies - trimmed.removed <= limit {
                break;
            }
            if self.remove_copy(surely.then_some(&**bucket), &copy).await? {
                trimmed.removed += copy.bytes;
                trimmed.files += 1;
            }
        }
        Ok(trimmed)
    }

    /// Removes a copy, unless it is the only one there is, or somebody has asked for it meanwhile.
    async fn remove_copy(&self, depot: Option<&dyn Depot>, copy: &Copy) -> Result<bool> {
        if let Some(depot) = depot {
            let stored = match depot.size(&copy.name).await {
                Err(StoreError::Io { .. }) => return Ok(false),
                size => size?,
            };
            if stored != copy.bytes {
                return Ok(false);
            }
        }
        let path = self.files.root().join(&copy.name);
        if asked_for(&path).is_none_or(|time| time != copy.asked_for) {
            return Ok(false);
        }
        fs::remove_file(&path).map_err(|e| StoreError::io("removing", &path, e))?;
        Ok(true)
    }

    /// Notes that somebody asks for what lies here, where it may be removed otherwise.
    pub(super) fn ask_for(&self, path: &Path) {
        let at = |nanoseconds| Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let now = Timestamps { last_access: at(UTIME_NOW), last_modification: at(UTIME_OMIT) };
        if self.bucket.is_some()
            && let Err(error) = utimensat(CWD, path, &now, AtFlags::empty())
        {
            tracing::debug!(%error, path = %path.display(), "it cannot be noted that it was asked for");
        }
    }
}

/// The bytes of all copies, and the oldest of those that may go.
fn look(root: &Path, running: &[String]) -> Result<(u64, Vec<Copy>)> {
    let (mut bytes, mut oldest) = (0, BinaryHeap::new());
    for folder in FOLDERS.map(|name| (name, root.join(name))).iter().filter(|(_, path)| path.is_dir()) {
        for (name, path) in files_below(&folder.1)? {
            // One that is gone meanwhile takes nothing.
            let Ok(metadata) = path.metadata() else { continue };
            bytes += metadata.len();
            let name = format!("{}/{name}", folder.0);
            let Some(asked_for) = asked_for(&path) else { continue };
            let is_in_use = asked_for.elapsed().map_or(true, |age| age < ASKED_FOR);
            if !is_in_use && !running.iter().any(|folder| name.starts_with(folder)) {
                oldest.push(Copy { asked_for, name, bytes: metadata.len() });
            }
            if oldest.len() > LOOKED_AT {
                oldest.pop();
            }
        }
    }
    Ok((bytes, oldest.into_sorted_vec()))
}

/// When a file was written, or asked for last.
fn asked_for(path: &Path) -> Option<SystemTime> {
    let metadata = path.metadata().ok()?;
    Some(metadata.modified().ok()?.max(metadata.accessed().ok()?))
}

fn half_of_disk(root: &Path) -> Result<u64> {
    let disk = statvfs(root).map_err(|e| StoreError::io("looking at the disk of", root, e.into()))?;
    Ok(disk.f_blocks.saturating_mul(disk.f_frsize) / 2)
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::io::Write;

    use super::*;
    use std::sync::Arc;

    use crate::store::bucket::{Bucket, BucketAddress};
    use crate::store::{Files, Location, Permit};

    #[derive(Debug)]
    struct Nowhere;

    #[async_trait::async_trait]
    impl Depot for Nowhere {
        async fn put(&self, _: &str, _: &Path) -> Result<()> {
            unreachable!()
        }
        async fn get(&self, _: &str, _: &Path) -> Result<()> {
            unreachable!()
        }
        async fn range(&self, _: &str, _: u64, _: u64) -> Result<crate::store::Reader> {
            unreachable!()
        }
        async fn size(&self, _: &str) -> Result<u64> {
            unreachable!("the server of an agent is not asked for what none of its jobs refers to")
        }
        async fn list(&self, _: &str) -> Result<Vec<crate::store::Object>> {
            unreachable!()
        }
        async fn list_all(&self, _: &str) -> Result<Vec<crate::store::Object>> {
            unreachable!()
        }
        async fn remove(&self, _: &str) -> Result<()> {
            unreachable!()
        }
        async fn copy(&self, _: &str, _: &str) -> Result<()> {
            unreachable!()
        }
        async fn signed(&self, _: Permit, _: &str, _: Duration) -> Result<Option<String>> {
            unreachable!()
        }
    }

    #[tokio::test]
    async fn an_agent_removes_what_no_job_has_touched_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::of_copies(Files::open(folder.path()).unwrap(), Arc::new(Nowhere));
        let (old, new) = (JobId::generate(), JobId::generate());
        let write = |path: String, hours: u64| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [7; 1000]).unwrap();
            let time = path.metadata().unwrap().modified().unwrap() - Duration::from_secs(hours * 3600);
            let times = FileTimes::new().set_modified(time).set_accessed(time);
            File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
            path
        };
        let gone =
            [write(format!("jobs/{old}/training-1-2/state.json"), 30), write("models/mdl_1/config.json".into(), 2)];
        let stay = [
            write(format!("jobs/{new}/training-1-2/state.json"), 30),
            write(format!("jobs/{new}/sample/1.jsonl"), 1),
            write("models/mdl_2/config.json".into(), 0),
        ];
        assert_eq!(place.trim_as_agent(Some(1 << 20)).await.unwrap().files, 0);
        assert_eq!(place.trim_as_agent(Some(0)).await.unwrap(), Trimmed { copies: 5000, removed: 2000, files: 2 });
        assert!(gone.iter().all(|path| !path.exists()) && stay.iter().all(|path| path.exists()));
    }

    #[tokio::test]
    async fn of_too_many_copies_those_go_that_nobody_asked_for_and_come_again() {
        let Ok(url) = std::env::var("ANNEAL_TEST_S3") else { return };
        let folder = tempfile::tempdir().unwrap();
        let environment = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
        let address = BucketAddress { url: format!("{url}/copies"), environment, redirects: false };
        let files = Files::open(folder.path()).unwrap();
        let place = Place::new(files, Some(Arc::new(Bucket::open(&address).unwrap())));
        let (old, new) = (JobId::generate(), JobId::generate());
        let location = |job, name: &str| Location::job(job).within(name);
        for (job, name) in [(old, "a"), (old, "b"), (old, "only here"), (new, "c")] {
            fs::create_dir_all(folder.path().join(format!("jobs/{job}"))).unwrap();
            let staged = place.stage();
            staged.create().unwrap().write_all(&[7; 1000]).unwrap();
            staged.publish(&location(job, name)).await.unwrap();
        }
        let path = |job, name| folder.path().join("jobs").join(format!("{job}")).join(name);
        fs::write(path(old, "only here"), [7; 1001]).unwrap();
        let age = |job, name, hours: u64| {
            let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(hours * 3600));
            let time = time.set_accessed(SystemTime::UNIX_EPOCH + Duration::from_secs(hours * 3600));
            File::options().write(true).open(path(job, name)).unwrap().set_times(time).unwrap();
        };
        for (job, name, hours) in [(old, "a", 3), (old, "b", 2), (old, "only here", 1), (new, "c", 0)] {
            age(job, name, hours);
        }
        let running = BTreeSet::from([new]);
        assert_eq!(
            place.trim(Some(4001), &running, true).await.unwrap(),
            Trimmed { copies: 4001, removed: 0, files: 0 }
        );
        let trimmed = place.trim(Some(3500), &running, true).await.unwrap();
        assert_eq!(trimmed, Trimmed { copies: 4001, removed: 1000, files: 1 }, "no more than has to go");
        assert!(!path(old, "b").exists() && path(old, "only here").exists() && path(new, "c").exists());
        place.ask_for(&path(old, "a"));
        assert_eq!(place.trim(Some(0), &running, true).await.unwrap().files, 0, "somebody has just asked for it");
        age(old, "a", 3);
        assert_eq!(place.trim(Some(0), &BTreeSet::new(), true).await.unwrap().files, 2);
        assert!(path(old, "only here").exists(), "there is no other one");
        assert_eq!(fs::read(place.fetch(&location(old, "b")).await.unwrap()).unwrap(), [7; 1000]);
    }
}
