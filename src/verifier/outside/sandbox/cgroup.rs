//! A control group for each room, where the operator has delegated one (cgroups(7), version 2): then all that a room has of
//! memory counts together, that of its files and of the kernel too, and so do its processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where rooms get groups, and what each may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// A folder below which this process may make groups, and whose groups have the controllers `memory` and `pids`.
    pub folder: PathBuf,
    pub memory_bytes: u64,
    pub processes: u64,
}

/// A group that is removed when it is dropped.
pub struct Group(PathBuf);

impl Limits {
    /// A group of its own for the process with this number, and for all that it starts.
    pub fn enclose(&self, process: u32) -> Result<Group, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("room-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let group = Group(self.folder.join(name));
        let settings = [
            ("memory.max", self.memory_bytes.to_string()),
            ("memory.oom.group", String::from("0")),
            ("pids.max", self.processes.to_string()),
            ("cgroup.procs", process.to_string()),
        ];
        fs::create_dir(&group.0).map_err(|error| refused(&self.folder, &error))?;
        for (name, value) in settings {
            fs::write(group.0.join(name), value).map_err(|error| refused(&self.folder, &error))?;
        }
        Ok(group)
    }
}

fn refused(folder: &Path, error: &std::io::Error) -> String {
    let folder = folder.display();
    format!(
        "no group can be made in {folder}: {error}; delegate it to the server's user with the controllers memory and pids, or remove verifiers.cgroup"
    )
}

impl Drop for Group {
    fn drop(&mut self) {
        // What is left of the room ends with it, and a group that is not empty yet is one that the next boot removes.
        drop(fs::write(self.0.join("cgroup.kill"), "1").and_then(|()| fs::remove_dir(&self.0)));
    }
}
