//! This program, to be started again for a worker or a sandbox. Whoever installs another version replaces the file while
//! the server runs; its workers must still be of the server's own version, for they share its database and its protocol.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::config::worker_environment;

/// The kernel's name for the program that the calling process runs, also when its file has gone.
const RUNNING: &str = "/proc/self/exe";

/// A command that starts the program that this process runs, whatever lies at its path by now, with as much of the
/// environment as workers need.
pub fn command() -> io::Result<Command> {
    let path = std::env::current_exe()?;
    let mut command = if is_running(&path)? {
        Command::new(path)
    } else {
        tracing::warn!(path = %path.display(), "the program was replaced; until the server is started again, its workers \
                       are of the version that it is of itself");
        let mut command = Command::new(RUNNING);
        command.arg0("anneal");
        command
    };
    // What is no longer in use goes back to the system at once: estimates of memory count on it.
    command.env_clear().envs(worker_environment()).env("MIMALLOC_PURGE_DELAY", "0");
    Ok(command)
}

/// Whether the file at a path is the program that this process runs.
fn is_running(path: &Path) -> io::Result<bool> {
    let running = fs::metadata(RUNNING)?;
    Ok(fs::metadata(path).is_ok_and(|file| (file.dev(), file.ino()) == (running.dev(), running.ino())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_from_a_copy_of_it() {
        let own = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("anneal");
        fs::copy(&own, &copy).unwrap();
        assert!(is_running(&own).unwrap());
        assert!(!is_running(&copy).unwrap());
        assert!(!is_running(&folder.path().join("nothing")).unwrap());
    }
}
