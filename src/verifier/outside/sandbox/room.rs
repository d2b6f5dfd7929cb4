//! A room: what bubblewrap makes for programs that nobody trusts, and the keeper in it, which runs them.
//!
//! A room has namespaces of its own for users, processes, the network, mounts, names and messages, a root that cannot be
//! written and holds an interpreter and nothing else, and no `/proc`. Its first process is the keeper, so that all others
//! end with it, and the keeper ends when this end of its socket is closed, however this process ends.

use std::fs::File;
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
    recv, sendmsg, shutdown, socketpair,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter;
use super::interpreter::{Interpreter, stranger};

/// The keeper and what its forks run, as one text.
const KEEPER: &str = concat!(
    include_str!("keeper.py"),
    "\n",
    include_str!("bridge.py"),
    "\n",
    include_str!("judge.py"),
    "\n",
    include_str!("trial.py"),
    "\nkeep(json.loads(sys.argv[1]))\n"
);
/// Where Debian's package installs it.
const BUBBLEWRAP: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];
/// How long a room may take to be ready: it starts an interpreter.
const START: Duration = Duration::from_secs(20);
/// How long it may take to end by itself.
const END: Duration = Duration::from_secs(2);
/// Descriptors that go with a request.
const MOST_FDS: usize = 4;
const MOST_ANSWER: usize = 4096;
/// Bytes of complaints that are shown.
const SHOWN: usize = 400;

/// What a room is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    pub interpreter: Interpreter,
    /// Files and folders that a language needs besides, read-only.
    pub paths: Vec<PathBuf>,
    /// A group of control groups, version 2, in which each room gets one of its own.
    pub cgroup: Option<super::cgroup::Limits>,
}

/// How a run ended.
#[derive(Clone, Debug, Deserialize)]
pub struct Ending {
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    /// Its time was up.
    pub late: bool,
    /// Why it did not even begin, which is no fault of the program.
    failure: Option<String>,
}

pub struct Room {
    control: OwnedFd,
    process: Child,
    group: Option<super::cgroup::Group>,
}

impl Room {
    /// Makes one and waits until it is ready. An error is a sentence that says what to do.
    pub fn open(plan: &Plan) -> Result<Self, String> {
        let bubblewrap = BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists());
        let bubblewrap = bubblewrap.ok_or("bubblewrap is not installed; install Debian's package bubblewrap")?;
        let failed = |error: &dyn std::fmt::Display| format!("a room could not be started: {error}; {ADVICE}");
        let (control, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|e| failed(&e))?;
        let mut complaints = memory().map_err(|e| failed(&e))?;
        let process = stranger(&bubblewrap)
            .args(arguments(plan))
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::from(complaints.try_clone().map_err(|e| failed(&e))?))
            .spawn()
            .map_err(|e| failed(&e))?;
        let mut room = Self { control, process, group: None };
        room.group = plan.cgroup.as_ref().map(|limits| limits.enclose(room.process.id())).transpose()?;
        match room.receive(START) {
            Ok(_) => Ok(room),
            Err(_) => Err(format!("bubblewrap could not make a room: {}; {ADVICE}", told(&mut complaints))),
        }
    }

    /// Has the keeper do something with descriptors that it hands on, and waits for the end of it. After an error the room
    /// is of no use any more.
    pub fn ask(&mut self, request: &Value, fds: &[BorrowedFd<'_>], patience: Duration) -> Result<Ending, String> {
        self.send(request, fds)?;
        let answer = self.receive(patience)?;
        let ending: Ending =
            serde_json::from_slice(&answer).map_err(|error| format!("the room's answer is none: {error}"))?;
        match ending.failure {
            Some(why) => Err(format!("the room could not start a program: {why}")),
            None => Ok(ending),
        }
    }

    /// The first of these files that no program in the room can run.
    pub fn absent(&mut self, paths: &[&str]) -> Result<Option<String>, String> {
        #[derive(Deserialize)]
        struct Seen {
            absent: Option<String>,
        }
        self.send(&json!({"kind": "look", "paths": paths}), &[])?;
        let answer = self.receive(START)?;
        let seen: Seen =
            serde_json::from_slice(&answer).map_err(|error| format!("the room's answer is none: {error}"))?;
        Ok(seen.absent)
    }

    fn send(&mut self, request: &Value, fds: &[BorrowedFd<'_>]) -> Result<(), String> {
        let text = request.to_string();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
        let mut handed = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            handed.push(SendAncillaryMessage::ScmRights(fds));
        }
        sendmsg(&self.control, &[IoSlice::new(text.as_bytes())], &mut handed, SendFlags::NOSIGNAL)
            .map_err(|error| format!("the room has ended: {error}"))?;
        Ok(())
    }

    fn ends_within(&self, time: Duration) -> bool {
        let handle = pidfd_open(Pid::from_child(&self.process), PidfdFlags::empty());
        let (Ok(handle), Ok(limit)) = (handle, Timespec::try_from(time)) else { return false };
        matches!(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)), Ok(1))
    }

    fn receive(&mut self, patience: Duration) -> Result<Vec<u8>, String> {
        let mut waiting = [PollFd::new(&self.control, PollFlags::IN)];
        let limit = Timespec::try_from(patience).map_err(|error| error.to_string())?;
        loop {
            match poll(&mut waiting, Some(&limit)) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.to_string()),
                Ok(0) => return Err(String::from("the room does not answer")),
                Ok(_) => break,
            }
        }
        let mut answer = vec![0; MOST_ANSWER];
        let (count, _) =
            recv(&self.control, answer.as_mut_slice(), RecvFlags::empty()).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err(String::from("the room has ended"));
        }
        answer.truncate(count);
        Ok(answer)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Process 1 of the room ends with its socket, and bubblewrap, which waits for it, ends after it. Were bubblewrap
        // ended first, nobody would ask after that process where this program is process 1 itself.
        let asked = shutdown(&self.control, Shutdown::Both);
        if asked.is_err() || !self.ends_within(END) {
            drop(self.process.kill());
        }
        drop(self.process.wait());
        drop(self.group.take());
    }
}

const ADVICE: &str = "rooms need user namespaces: set user.max_user_namespaces above 0, and \
    kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0 where there is such a setting; in \
    a container allow them (docs/operation.md)";

fn arguments(plan: &Plan) -> Vec<String> {
    let settings = json!({
        "path": plan.interpreter.folders,
        "preload": if plan.interpreter.numpy { vec!["numpy"] } else { Vec::new() },
        "filters": {
            "python": STANDARD.encode(filter::python()),
            "single": STANDARD.encode(filter::command(false)),
            "many": STANDARD.encode(filter::command(true)),
        },
    });
    let mut arguments: Vec<String> = "--unshare-all --unshare-user --as-pid-1 --new-session --uid 1000 --gid 1000 --cap-drop ALL \
        --cap-add CAP_SYS_ADMIN --clearenv --setenv PYTHONHASHSEED 0 --setenv OPENBLAS_NUM_THREADS 1 --setenv LANG C.UTF-8 \
        --hostname room --dir /work --dev-bind /dev/null /dev/null --symlink /work/.stdin /dev/stdin"
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64"] {
        if let Ok(target) = std::fs::read_link(name) {
            arguments.extend([String::from("--symlink"), target.display().to_string(), name.to_owned()]);
        }
    }
    for path in plan.interpreter.files().chain(plan.paths.iter().cloned()) {
        let path = path.display().to_string();
        arguments.extend([String::from("--ro-bind"), path.clone(), path]);
    }
    let rest = [
        "--remount-ro",
        "/",
        "--chdir",
        "/",
        &plan.interpreter.executable.display().to_string(),
        "-s",
        "-S",
        "-B",
        "-c",
    ];
    arguments.extend(rest.map(str::to_owned));
    arguments.extend([KEEPER.to_owned(), settings.to_string()]);
    arguments
}

/// A file that is in memory alone and has no name.
pub fn memory() -> std::io::Result<File> {
    Ok(memfd_create("anneal", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

/// Such a file that can only be read.
pub fn sealed(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = memory()?;
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    fcntl_add_seals(file.as_fd(), SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

/// The last of what was complained about, on one line.
pub fn told(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let begin = SeekFrom::Start(length.saturating_sub(SHOWN as u64));
    let read = file.seek(begin).and_then(|_| file.take(SHOWN as u64).read_to_end(&mut bytes));
    if read.is_err() || bytes.is_empty() {
        return String::from("it said nothing");
    }
    String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}
