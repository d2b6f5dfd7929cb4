//! Programs of the operator's that are kept alive and spoken to in lines: started when they are first needed, started
//! again, within bounds, when they end, and ended with whoever keeps them.
//!
//! A program gets an environment of its own, in which nothing of the server's stands, a process group, through which all
//! that it starts ends with it, a limit on its address space, and, where the server runs as root, the user that the
//! operator names. It does not outlive the process that keeps it, even if that is killed ([`tied`]). What it writes to standard error is kept for the reason when it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group, prlimit, waitid,
};
use serde::{Deserialize, Serialize};

use super::permits::Permits;
use super::{Deadline, tied};

/// Of a line that a program writes.
const MOST_LINE_BYTES: usize = 1 << 20;
/// How much of what it last wrote to standard error is kept.
const KEPT_ERROR_BYTES: usize = 2048;
const TOLD_CHARACTERS: usize = 300;
const CHUNK_BYTES: usize = 64 << 10;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a program may go on after the end of its input, when it is not needed any more.
const GRACE: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(10);
/// How long the status of a program is waited for that has closed its output.
const LAST_WORDS: Duration = Duration::from_millis(200);
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program that the operator has named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program, by its absolute path, and its arguments.
    pub argv: Vec<String>,
    /// The folder that it runs in.
    #[serde(default = "default_folder")]
    pub cwd: PathBuf,
    /// Variables besides `PATH` and `LANG`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The user that it runs as where the server is root: a name of /etc/passwd or a number.
    #[serde(default)]
    pub user: Option<String>,
    /// The most address space of each process in bytes; 0 for no limit.
    #[serde(default = "default_memory_bytes")]
    pub memory_bytes: u64,
    /// How many of it run at a time for one job.
    #[serde(default = "default_processes")]
    pub processes: usize,
    /// How often it is started again for one job.
    #[serde(default = "default_restarts")]
    pub restarts: u32,
}

fn default_folder() -> PathBuf {
    PathBuf::from("/")
}

fn default_memory_bytes() -> u64 {
    4 << 30
}

fn default_processes() -> usize {
    1
}

fn default_restarts() -> u32 {
    20
}

impl Program {
    /// What is wrong with its settings, or with this machine for it.
    pub fn check(&self) -> Result<(), String> {
        let Some(program) = self.argv.first() else { return Err(String::from("its argv is empty")) };
        if !program.starts_with('/') {
            return Err(format!("its argv begins with `{program}`, which is no absolute path"));
        }
        if !fs::metadata(program).is_ok_and(|found| found.is_file()) {
            return Err(format!("there is no file {program}"));
        }
        if !self.cwd.is_dir() {
            return Err(format!("there is no folder {}", self.cwd.display()));
        }
        if !(1..=16).contains(&self.processes) {
            return Err(String::from("its processes must lie between 1 and 16"));
        }
        self.identity().map(|_| ())
    }

    /// The user and group to run as, where one is named.
    fn identity(&self) -> Result<Option<(u32, u32)>, String> {
        let Some(user) = &self.user else { return Ok(None) };
        if !rustix::process::geteuid().is_root() {
            let detail = format!("its user is {user}, and only a server that runs as root can run programs as others");
            return Err(detail);
        }
        let passwd = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        let known = passwd.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let (name, uid, gid) = (*fields.first()?, *fields.get(2)?, *fields.get(3)?);
            (name == user || uid == user).then(|| Some((uid.parse().ok()?, gid.parse().ok()?)))?
        });
        known.map(Some).ok_or_else(|| format!("its user {user} does not stand in /etc/passwd"))
    }

    fn start(&self) -> Result<Running, String> {
        let program = self.argv.first().ok_or("its argv is empty")?;
        let mut command = Command::new(program);
        command
            .args(&self.argv[1..])
            .env_clear()
            .envs([("PATH", PATH), ("LANG", "C.UTF-8")])
            .envs(&self.environment)
            .current_dir(&self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some((uid, gid)) = self.identity()? {
            // Groups of root's are given up with the user.
            command.uid(uid).gid(gid);
        }
        let failed = |error: io::Error| format!("{program} cannot be started: {error}");
        let mut child = tied::spawn(command).map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(format!("{program} has no pipes"));
        };
        let mut running = Running {
            child,
            input: Some(input),
            output,
            errors: Some(errors),
            partial: Vec::new(),
            said: Vec::new(),
            is_good: true,
        };
        running.prepare(self.memory_bytes).map_err(failed)?;
        Ok(running)
    }
}

/// Why a conversation with a program ended before it was over.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// The deadline came first.
    Late,
    /// The program ended, wrote what it may not, or could not be started.
    Failed(String),
}

/// A program with the processes of it that wait for something to do.
#[derive(Debug)]
pub struct Kept {
    program: Program,
    permits: Permits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Running>,
    starts: u32,
    /// Of processes that ended, since one was last good to the end of a conversation.
    failures: u32,
}

impl Kept {
    pub fn new(program: Program) -> Self {
        Self { permits: Permits::new(program.processes), program, state: Mutex::default() }
    }

    /// How many of it run at a time.
    pub fn processes(&self) -> usize {
        self.program.processes
    }

    /// Sends `input` to a process of the program and gives each line that it writes to `take`, until that says that it has
    /// all or what is wrong. A process that does not come to that end is ended itself. Blocks, until the deadline at most.
    pub fn talk(
        &self,
        input: &[u8],
        until: Deadline,
        take: impl FnMut(&str) -> Result<bool, String>,
    ) -> Result<(), Stopped> {
        // Also processes that end count until they have ended.
        let _permit = self.permits.take(until).ok_or(Stopped::Late)?;
        let mut running = self.process(until)?;
        match running.talk(input, until, take) {
            Ok(()) => {
                let mut state = self.lock();
                state.failures = 0;
                state.idle.push(running);
                Ok(())
            }
            Err(stopped) => {
                self.lock().failures += 1;
                Err(match stopped {
                    Stopped::Late => Stopped::Late,
                    Stopped::Failed(detail) => Stopped::Failed(running.last_words(&detail)),
                })
            }
        }
    }

    /// A process that waits, or a new one.
    fn process(&self, until: Deadline) -> Result<Running, Stopped> {
        let pause = {
            let mut state = self.lock();
            // One that has ended since costs no case.
            while let Some(running) = state.idle.pop() {
                if !running.ends_within(Duration::ZERO) {
                    return Ok(running);
                }
            }
            let most = self.program.restarts.saturating_add(u32::try_from(self.processes()).unwrap_or(u32::MAX));
            if state.starts >= most {
                let detail = format!("the program was started {most} times and is not started again; see why it ends");
                return Err(Stopped::Failed(detail));
            }
            state.starts += 1;
            match state.failures {
                0 => Duration::ZERO,
                failures => FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST_PAUSE),
            }
        };
        if !until.pause(pause) {
            return Err(Stopped::Late);
        }
        self.program.start().map_err(|detail| {
            self.lock().failures += 1;
            Stopped::Failed(detail)
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is in it is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One process of a program.
#[derive(Debug)]
struct Running {
    child: Child,
    /// None when it is to end.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// None when it was closed.
    errors: Option<ChildStderr>,
    /// A line whose end has not come yet.
    partial: Vec<u8>,
    /// What it last wrote to standard error.
    said: Vec<u8>,
    /// Whether it has done all that it was asked for.
    is_good: bool,
}

/// Which pipes have something to do.
struct Ready {
    input: bool,
    output: bool,
    errors: bool,
}

impl Running {
    fn prepare(&mut self, memory_bytes: u64) -> io::Result<()> {
        if memory_bytes > 0 {
            // A process that tries verifiers for the API has limits of its own, which its programs inherit.
            let limit = Some(getrlimit(Resource::As).maximum.map_or(memory_bytes, |most| most.min(memory_bytes)));
            prlimit(Some(Pid::from_child(&self.child)), Resource::As, Rlimit { current: limit, maximum: limit })?;
        }
        let set = |pipe: &dyn AsFd| -> io::Result<()> {
            let flags = fcntl_getfl(pipe.as_fd())?;
            Ok(fcntl_setfl(pipe.as_fd(), flags | OFlags::NONBLOCK)?)
        };
        self.input.iter().try_for_each(|pipe| set(pipe))?;
        self.errors.iter().try_for_each(|pipe| set(pipe))?;
        set(&self.output)
    }

    fn talk(
        &mut self,
        input: &[u8],
        until: Deadline,
        mut take: impl FnMut(&str) -> Result<bool, String>,
    ) -> Result<(), Stopped> {
        self.is_good = false;
        let mut unsent = input;
        loop {
            let left = until.left().ok_or(Stopped::Late)?;
            let ready = self.wait(!unsent.is_empty(), left).map_err(|error| Stopped::Failed(error.to_string()))?;
            if ready.errors {
                self.listen();
            }
            if ready.output && self.read_lines(&mut take)? {
                self.is_good = true;
                return Ok(());
            }
            if ready.input {
                unsent = self.send(unsent).map_err(|error| Stopped::Failed(error.to_string()))?;
            }
        }
    }

    /// Waits until a pipe has something to do, `limit` at most.
    fn wait(&self, sends: bool, limit: Duration) -> io::Result<Ready> {
        let mut pipes = vec![PollFd::new(&self.output, PollFlags::IN)];
        let errors = self.errors.as_ref().map(|pipe| pipes.push(PollFd::new(pipe, PollFlags::IN))).is_some();
        let sends = sends && self.input.as_ref().map(|pipe| pipes.push(PollFd::new(pipe, PollFlags::OUT))).is_some();
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        match poll(&mut pipes, Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = pipes.iter().map(|pipe| !pipe.revents().is_empty());
        let mut next = || ready.next().unwrap_or(false);
        Ok(Ready { output: next(), errors: errors && next(), input: sends && next() })
    }

    /// Takes what there is of lines; whether `take` has all.
    fn read_lines(&mut self, take: &mut impl FnMut(&str) -> Result<bool, String>) -> Result<bool, Stopped> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let count = match self.output.read(&mut chunk) {
            Ok(0) => return Err(Stopped::Failed(String::from("it ended in the middle"))),
            Ok(count) => count,
            Err(error) if is_for_later(&error) => return Ok(false),
            Err(error) => return Err(Stopped::Failed(error.to_string())),
        };
        self.partial.extend_from_slice(&chunk[..count]);
        let mut has_all = false;
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if !line.trim().is_empty() {
                has_all = take(line.trim()).map_err(Stopped::Failed)?;
            }
        }
        if self.partial.len() > MOST_LINE_BYTES {
            return Err(Stopped::Failed(format!("it wrote a line of more than {MOST_LINE_BYTES} bytes")));
        }
        Ok(has_all)
    }

    /// Sends what there is room for; the rest.
    fn send<'i>(&mut self, unsent: &'i [u8]) -> io::Result<&'i [u8]> {
        let Some(input) = &mut self.input else { return Ok(&[]) };
        match input.write(unsent) {
            Ok(sent) => Ok(&unsent[sent..]),
            Err(error) if is_for_later(&error) => Ok(unsent),
            // It reads no more. Its output says what has become of it.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(&[]),
            Err(error) => Err(error),
        }
    }

    /// Takes what there is of standard error, and keeps the end of it.
    fn listen(&mut self) {
        let Some(errors) = &mut self.errors else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        match errors.read(&mut chunk) {
            Ok(count @ 1..) => {
                self.said.extend_from_slice(&chunk[..count]);
                let old = self.said.len().saturating_sub(KEPT_ERROR_BYTES);
                self.said.drain(..old);
            }
            Err(error) if is_for_later(&error) => {}
            Ok(_) | Err(_) => self.errors = None,
        }
    }

    /// Ends it; the reason with how it ended by itself, if it did, and what it said last.
    fn last_words(mut self, detail: &str) -> String {
        let by_itself = self.ends_within(LAST_WORDS);
        self.listen();
        let said = String::from_utf8_lossy(&self.said);
        let words: Vec<char> = said.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let words: String = words[words.len().saturating_sub(TOLD_CHARACTERS)..].iter().collect();
        let status = self.end().filter(|_| by_itself).map(|status| format!(" ({status})")).unwrap_or_default();
        if words.is_empty() { format!("{detail}{status}") } else { format!("{detail}{status}; it said: {words}") }
    }

    /// Whether it ends by itself. Its number stays its own, so that its group can still be ended.
    fn ends_within(&self, limit: Duration) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let mut looks = limit.as_millis() / LOOK.as_millis();
        loop {
            match waitid(WaitId::Pid(Pid::from_child(&self.child)), options) {
                Ok(None) if looks > 0 => thread::sleep(LOOK),
                ended => return ended.is_ok_and(|status| status.is_some()),
            }
            looks -= 1;
        }
    }

    /// Ends all of its group.
    fn end(&mut self) -> Option<ExitStatus> {
        // There is nothing left to end where this fails.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        self.child.wait().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The end of its input is how a program learns that nothing comes any more.
        drop(self.input.take());
        if self.is_good {
            self.ends_within(GRACE);
        }
        self.end();
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        serde_json::from_value(serde_json::json!({"argv": ["/bin/sh", "-c", script], "restarts": 2})).unwrap()
    }

    /// What the program writes on being sent some lines, one for each.
    fn asked(kept: &Kept, lines: &[&str], limit: Duration) -> Result<Vec<String>, Stopped> {
        let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut answers = Vec::new();
        let take = |line: &str| {
            answers.push(line.to_owned());
            Ok(answers.len() == lines.len())
        };
        kept.talk(input.as_bytes(), Deadline::before(limit), take).map(|()| answers)
    }

    fn failure(stopped: Result<Vec<String>, Stopped>) -> String {
        match stopped {
            Err(Stopped::Failed(detail)) => detail,
            other => panic!("{other:?}"),
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_is_kept_from_call_to_call_and_sees_nothing_of_the_server() {
        let program =
            shell(r#"n=0; while read -r line; do n=$((n+1)); echo "$n $line $PWD $SECRET ${HOME:-none}"; done"#);
        let environment = BTreeMap::from([(String::from("SECRET"), String::from("told"))]);
        let kept = Kept::new(Program { environment, ..program });
        assert_eq!(asked(&kept, &["a", "b"], LONG).unwrap(), ["1 a / told none", "2 b / told none"]);
        assert_eq!(asked(&kept, &["c"], LONG).unwrap(), ["3 c / told none"]);
    }

    #[test]
    fn no_more_of_it_run_at_a_time_than_the_operator_lets_whoever_asks() {
        let folder = tempfile::tempdir().unwrap();
        // Each process counts those that are under way beside it.
        let script = format!(
            "while read -r line; do mkdir {0}/$$; ls {0} | wc -l; sleep 0.1; rmdir {0}/$$; done",
            folder.path().display()
        );
        let kept = Kept::new(Program { processes: 2, ..shell(&script) });
        let counts: Vec<String> = thread::scope(|scope| {
            let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| asked(&kept, &["a"], LONG).unwrap())).collect();
            calls.into_iter().flat_map(|call| call.join().unwrap()).collect()
        });
        assert!(counts.iter().all(|count| ["1", "2"].contains(&count.trim())), "{counts:?}");
        assert!(kept.lock().starts <= 2);
        let held = kept.permits.take(Deadline::before(LONG)).unwrap();
        let other = kept.permits.take(Deadline::before(LONG)).unwrap();
        assert_eq!(asked(&kept, &["a"], Duration::from_millis(50)), Err(Stopped::Late));
        drop((held, other));
    }

    #[test]
    fn more_than_the_pipes_hold_goes_both_ways_at_once() {
        let kept = Kept::new(shell("exec cat"));
        let line = "x".repeat(100_000);
        let lines = vec![line.as_str(); 40];
        assert_eq!(asked(&kept, &lines, LONG).unwrap(), lines);
    }

    #[test]
    fn a_program_that_dies_is_started_again_within_a_bound() {
        let kept = Kept::new(shell(r#"read -r line; echo "ok $line"; read -r line; echo "no $line" >&2; exit 3"#));
        assert_eq!(asked(&kept, &["a"], LONG).unwrap(), ["ok a"]);
        let detail = failure(asked(&kept, &["b"], LONG));
        assert!(detail.contains("ended in the middle (exit status: 3); it said: no b"), "{detail}");
        assert_eq!(asked(&kept, &["c"], LONG).unwrap(), ["ok c"]);
        failure(asked(&kept, &["d"], LONG));
        assert_eq!(asked(&kept, &["e"], LONG).unwrap(), ["ok e"]);
        failure(asked(&kept, &["f"], LONG));
        let detail = failure(asked(&kept, &["g"], LONG));
        assert!(detail.contains("was started 3 times"), "{detail}");
    }

    #[test]
    fn a_program_that_has_ended_by_itself_between_two_calls_costs_none() {
        let kept = Kept::new(shell(r#"read -r line; echo "$line""#));
        for line in ["a", "b", "c"] {
            assert_eq!(asked(&kept, &[line], LONG).unwrap(), [line]);
            thread::sleep(10 * LOOK);
            assert!((0..500).any(|_| kept.lock().idle[0].ends_within(LOOK)));
        }
        assert!(failure(asked(&kept, &["d"], LONG)).contains("was started 3 times"));
    }

    #[test]
    fn a_program_that_is_late_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; read -r line; wait", path.display());
        let kept = Kept::new(shell(&script));
        assert_eq!(asked(&kept, &["a"], Duration::from_secs(3)), Err(Stopped::Late));
        let sleeper = fs::read_to_string(&path).unwrap();
        let gone = || match fs::read_to_string(format!("/proc/{}/stat", sleeper.trim())) {
            Ok(stat) => stat.contains(") Z"),
            Err(_) => true,
        };
        assert!((0..500).any(|_| {
            thread::sleep(LOOK);
            gone()
        }));
    }

    #[test]
    fn endless_lines_and_memory_have_bounds_and_a_program_that_is_not_there_is_named() {
        let detail = failure(asked(&Kept::new(shell("tr '\\0' x < /dev/zero")), &["a"], LONG));
        assert!(detail.contains("a line of more than"), "{detail}");
        let limited = Program { memory_bytes: 64 << 20, ..shell("read -r line; ulimit -v; exec cat") };
        assert_eq!(asked(&Kept::new(limited), &["a"], LONG).unwrap(), ["65536"]);
        let absent = Program { argv: vec![String::from("/no/such")], ..shell("") };
        assert!(absent.check().unwrap_err().contains("/no/such"));
        assert!(failure(asked(&Kept::new(absent), &["a"], LONG)).contains("/no/such"));
        let relative = Program { argv: vec![String::from("sh")], ..shell("") };
        assert!(relative.check().unwrap_err().contains("absolute"));
        assert_eq!(shell("").check(), Ok(()));
    }
}
