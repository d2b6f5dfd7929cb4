//! An agent, for tests of machines without a server.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::common::{children, data_dir, signal};

/// An agent with one device, in a data directory of its own.
pub struct Agent {
    pub child: Child,
    data: PathBuf,
    /// It goes with the agent.
    owned: Option<TempDir>,
    /// What it was started with.
    line: Vec<OsString>,
    name: String,
}

impl Agent {
    pub fn start(server: &str, name: &str) -> Self {
        Self::start_in(data_dir(), server, name, &[])
    }

    pub fn start_in(folder: TempDir, server: &str, name: &str, arguments: &[&str]) -> Self {
        let data = folder.path().to_owned();
        let mut agent = Self::run(Command::new(env!("CARGO_BIN_EXE_anneal")), &data, server, name, arguments);
        agent.owned = Some(folder);
        agent
    }

    /// One in the network of a node of the cluster that tests start.
    pub fn start_on(node: &str, server: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/anneal-{node}")).arg(env!("CARGO_BIN_EXE_anneal"));
        let folder = data_dir();
        let data = folder.path().to_owned();
        let mut agent = Self::run(command, &data, server, node, arguments);
        agent.owned = Some(folder);
        agent
    }

    /// One that `command` starts, with its data directory there.
    pub fn run(mut command: Command, data: &Path, server: &str, name: &str, arguments: &[&str]) -> Self {
        command.args(["worker", "--server", server, "--host-name", name, "--log", "warn", "--threads", "1"]);
        command.args(["--devices", "simulated:4GiB", "--data-dir"]).arg(data).args(arguments);
        let line = std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_owned);
        let (line, name): (Vec<OsString>, _) = (line.collect(), name.to_owned());
        Self { child: Self::spawn(&line, &name), data: data.to_owned(), owned: None, line, name }
    }

    fn spawn(line: &[OsString], name: &str) -> Child {
        let mut command = Command::new(&line[0]);
        let mut child = command.args(&line[1..]).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains(&format!("as `{name}`")), "the agent said: {line}");
        child
    }

    /// Starts it once more, as it was, after it was killed.
    pub fn begin_again(&mut self) {
        self.child = Self::spawn(&self.line, &self.name);
    }

    /// Where it keeps copies.
    pub fn folder(&self) -> &Path {
        &self.data
    }

    /// Its workers' processes.
    pub fn workers(&self) -> Vec<u32> {
        children(self.child.id())
    }

    /// Ends it and its workers at once, as a machine that loses its power.
    pub fn kill(&mut self) {
        let workers = self.workers();
        signal(self.child.id(), "KILL");
        workers.into_iter().for_each(|pid| signal(pid, "KILL"));
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.kill();
        }
    }
}
