//! A small disk, to fill.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::common::{Server, data_dir};

/// A data directory on a small file system of its own, in a name space of its own, so that filling it hurts nobody.
pub struct SmallDisk {
    data: TempDir,
    /// Keeps the name space.
    holder: Child,
}

impl SmallDisk {
    pub fn new() -> Self {
        let data = data_dir();
        let script =
            format!("mount -t tmpfs -o size=128m tmpfs '{}' && echo mounted && exec sleep 3600", data.path().display());
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).stdout(Stdio::piped());
        let mut holder = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "mounted\n");
        Self { data, holder }
    }

    /// The program where the disk is.
    pub fn program(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--user", "--mount", "--preserve-credentials", "--target", &self.holder.id().to_string()]);
        command.arg(env!("CARGO_BIN_EXE_anneal"));
        command
    }

    /// The data directory as the program sees it.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn start(&self, arguments: &[&str]) -> Server {
        let mut command = self.program();
        command.args(["serve", "--supervised", "--listen", "127.0.0.1:0", "--log", "error", "--devices", "cpu"]);
        Server::spawn({
            command.arg("--data-dir").arg(self.data()).args(arguments);
            command
        })
    }

    /// A path on it as it is seen from here.
    pub fn path(&self, name: &str) -> PathBuf {
        let root = format!("/proc/{}/root{}", self.holder.id(), self.data.path().display());
        Path::new(&root).join(name)
    }

    pub fn fill(&self) {
        let fill = format!("cat /dev/zero > '{}' 2>/dev/null", self.path("filler").display());
        let status = Command::new("sh").args(["-c", &fill]).status();
        assert!(!status.unwrap().success(), "the file system does not fill up");
    }

    pub fn free(&self) {
        std::fs::remove_file(self.path("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.holder.kill().ok();
        self.holder.wait().ok();
    }
}
