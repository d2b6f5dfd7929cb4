//! One run after another in a room: tests of a program, and a program with several inputs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::room::{self, Ending, Room};
use super::{FILE_BYTES, Language, MIB, Sandbox};

/// Beyond a run's own time: what forking and ending takes on a machine that is busy.
const GRACE: Duration = Duration::from_secs(5);
/// How long a compiler may take.
const COMPILE: Duration = Duration::from_secs(60);
/// Threads of a program that is one process; that of the keeper and of the judge count too.
pub const THREADS: u64 = 64;
/// What a compiler may start at a time, and the memory of each.
const COMPILER_PROCESSES: u64 = 32;
const COMPILER_MEMORY: u64 = 4 << 30;
/// Where the work directory is in a room.
pub const WORK: &str = "/work/";
const OPEN_FILES: u64 = 64;
const WORK_BYTES: u64 = 64 << 20;
const WORK_FILES: u64 = 4096;
const SIGALRM: i32 = 14;
const SIGXCPU: i32 = 24;
const SIGKILL: i32 = 9;
/// Random bytes in a nonce.
const NONCE: usize = 16;

/// What a verdict may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Wall-clock time of one test.
    pub test: Duration,
    /// Wall-clock time of all of them together.
    pub all: Duration,
    /// Whether to end with the first test that fails.
    pub stop: bool,
    /// The most tests that are run.
    pub most: usize,
}

/// Tests of a Python program, which the program never sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Tests {
    /// What comes before the tests and is theirs.
    pub setup: String,
    /// Either one text, which is taken apart, or one text each.
    pub tests: Result<String, Vec<String>>,
    /// What `candidate` stands for: a name of the program, or `Class.method`.
    pub entry_point: Option<String>,
    /// Names that the tests may take from the program whatever they hide; if there are any, no others.
    pub names: Vec<String>,
    /// What the row itself shows to be classes, whose objects have the say over what they equal.
    pub classes: Vec<String>,
    /// What it shows to be functions, in whose place a class has no such say.
    pub functions: Vec<String>,
}

/// What became of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResult {
    pub passed: bool,
    /// Why it did not pass.
    pub why: Option<String>,
}

/// What the tests say of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// How many tests there are, and the results of those that ran.
    Judged { count: usize, results: Vec<TestResult> },
    /// The program does not get as far as the first test.
    Unloadable(String),
    /// The tests cannot run, whatever the program.
    Broken(String),
}

/// What a program did with one input.
#[derive(Clone, Debug)]
pub struct Run {
    pub stdout: Vec<u8>,
    /// Why it did not end as it should; none where it did.
    pub fault: Option<String>,
}

/// A line of the judge's.
#[derive(Debug, Deserialize)]
struct Line {
    nonce: String,
    count: Option<usize>,
    /// Whether there may be more tests than were counted.
    #[serde(default)]
    more: bool,
    load: Option<String>,
    broken: Option<String>,
    passed: Option<bool>,
    why: Option<String>,
}

impl Sandbox {
    /// Runs tests on a Python program. An error is one of the sandbox, and says nothing of the program.
    pub fn test(&self, program: &str, tests: &Tests, budget: &Budget) -> Result<Verdict, String> {
        let end = Instant::now() + budget.all;
        let mut room = self.room()?;
        let mut judged = Judged::default();
        // Each turn has at least one result more than the one before it.
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let first = judged.results.len();
            let (lines, ending) = Attempt { program, tests, budget, first, left }.run(&mut room, &self.language)?;
            for line in lines {
                if let Some(verdict) = judged.take(line) {
                    return Ok(self.done(room, verdict));
                }
            }
            let why = cut_off(&ending, budget);
            let silent = judged.results.len() == first;
            let early = || String::from("it ended early");
            if judged.count.is_none() || (judged.more && silent) {
                return Ok(self.done(room, Verdict::Unloadable(why.unwrap_or_else(early))));
            }
            // The judge ends early on its own only with a result.
            let why = why.or_else(|| silent.then(early));
            if !judged.is_over(budget)
                && let Some(why) = why
            {
                judged.results.push(TestResult { passed: false, why: Some(why) });
            }
            let late = end <= Instant::now();
            if late && judged.more {
                let why = format!("no time was left of {} s to find all tests", budget.all.as_secs_f64());
                return Ok(self.done(room, Verdict::Unloadable(why)));
            }
            if late || judged.is_over(budget) {
                break;
            }
        }
        let Judged { count, results, .. } = judged;
        // A script that ended in the middle had not shown its tests.
        let count = count.unwrap_or(0).max(results.len());
        Ok(self.done(room, Verdict::Judged { count, results }))
    }

    fn done(&self, room: Room, verdict: Verdict) -> Verdict {
        self.give_back(room);
        verdict
    }

    /// Runs a program with one input after another, until `judge` has enough or the time is up; the number of runs. An
    /// error is one of the sandbox.
    pub fn run(
        &self,
        program: &str,
        inputs: &[impl AsRef<[u8]>],
        budget: &Budget,
        mut judge: impl FnMut(usize, Result<Run, String>) -> bool,
    ) -> Result<(), String> {
        let end = Instant::now() + budget.all;
        let mut room = self.room()?;
        let text = room::sealed(program.as_bytes()).map_err(lost)?;
        let compiled = !self.language.compile.is_empty();
        if compiled {
            let (argv, limits) = (self.language.compile.as_slice(), compiler_limits());
            let time = COMPILE.min(budget.all);
            let compiler = Launch { argv, limits, filter: "many", compiles: true, ..Launch::of(self, time) };
            if let Some(why) = compiler.start(&mut room, &text, b"")?.fault {
                let _enough = judge(0, Err(format!("it does not compile: {why}")));
                return Ok(());
            }
        }
        for (number, input) in inputs.iter().enumerate() {
            let left = end.saturating_duration_since(Instant::now()).min(budget.test);
            if left.is_zero() {
                let _enough = judge(number, Err(String::from("no time was left")));
                break;
            }
            // What was compiled is copied with its text into the work directory, which is new.
            let launch = Launch::of(self, left);
            let launch = if compiled { Launch { save: "", ..launch } } else { launch };
            if judge(number, Ok(launch.start(&mut room, &text, input.as_ref())?)) {
                break;
            }
        }
        self.give_back(room);
        Ok(())
    }
}

impl Sandbox {
    /// Whether Python runs in a room at all.
    pub(super) fn greets(&self, room: &mut Room) -> Result<bool, String> {
        let text = room::sealed(b"print(6 * 7)").map_err(lost)?;
        let run = Launch::of(self, GRACE).start(room, &text, b"")?;
        Ok(run.fault.is_none() && run.stdout == b"42\n")
    }
}

/// What is known of the tests so far.
#[derive(Default)]
struct Judged {
    count: Option<usize>,
    /// Whether there may be more of them: a script of tests shows them all only when it has run.
    more: bool,
    results: Vec<TestResult>,
}

impl Judged {
    /// Takes a line of the judge's; the verdict, where that is one.
    fn take(&mut self, line: Line) -> Option<Verdict> {
        match line {
            Line { broken: Some(why), .. } => return Some(Verdict::Broken(why)),
            Line { load: Some(why), .. } => return Some(Verdict::Unloadable(why)),
            // What was once counted to the end stays.
            Line { count: Some(count), more, .. } if self.count.is_none() || self.more => {
                (self.count, self.more) = (Some(count), more);
            }
            Line { passed: Some(passed), why, .. } => self.results.push(TestResult { passed, why }),
            _ => {}
        }
        None
    }

    /// Whether no further test is to run.
    fn is_over(&self, budget: &Budget) -> bool {
        let failed = self.results.last().is_some_and(|result| !result.passed);
        (!self.more && self.count.is_some_and(|count| self.results.len() >= count)) || (budget.stop && failed)
    }
}

/// One run of tests from some test on.
struct Attempt<'a> {
    program: &'a str,
    tests: &'a Tests,
    budget: &'a Budget,
    first: usize,
    left: Duration,
}

impl Attempt<'_> {
    fn run(&self, room: &mut Room, language: &Language) -> Result<(Vec<Line>, Ending), String> {
        let nonce = nonce()?;
        let asked = json!({
            "nonce": nonce,
            "setup": self.tests.setup,
            "tests": match &self.tests.tests { Ok(text) => json!(text), Err(list) => json!(list) },
            "entry_point": self.tests.entry_point,
            "names": self.tests.names,
            "classes": self.tests.classes,
            "functions": self.tests.functions,
            "first": self.first,
            "stop": self.budget.stop,
            "most": self.budget.most,
            "test_seconds": self.budget.test.as_secs_f64(),
        });
        let text = room::sealed(self.program.as_bytes()).map_err(lost)?;
        let tests = room::sealed(asked.to_string().as_bytes()).map_err(lost)?;
        let (verdict, stderr) = (room::memory().map_err(lost)?, room::memory().map_err(lost)?);
        let request = json!({
            "kind": "tests", "compiles": false, "filter": "python", "seconds": self.left.as_secs_f64(),
            "work": WORK_BYTES, "inodes": WORK_FILES, "limits": limits(language, self.left),
        });
        let fds = [text.as_fd(), tests.as_fd(), verdict.as_fd(), stderr.as_fd()];
        let ending = room.ask(&request, &fds, self.left + GRACE)?;
        let lines = contents(verdict)?;
        // A line that is cut off belongs to a test that did not end.
        let whole = lines.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let lines =
            whole.filter_map(|line| serde_json::from_slice::<Line>(line).ok()).filter(|line| line.nonce == nonce);
        Ok((lines.collect(), ending))
    }
}

/// How a program is started, by the keeper itself or as a command.
struct Launch<'a> {
    kind: &'static str,
    argv: &'a [String],
    save: &'a str,
    limits: Value,
    filter: &'static str,
    /// Whether later runs find what it leaves in the work directory.
    compiles: bool,
    time: Duration,
}

impl<'a> Launch<'a> {
    fn of(sandbox: &'a Sandbox, time: Duration) -> Self {
        let language = &sandbox.language;
        let (kind, filter) = match (sandbox.is_python(), language.processes) {
            (true, _) => ("program", "python"),
            (false, 1) => ("command", "single"),
            (false, _) => ("command", "many"),
        };
        let limits = limits(language, time);
        Self { kind, argv: &language.argv, save: &language.file, limits, filter, compiles: false, time }
    }

    fn start(self, room: &mut Room, text: &File, input: &[u8]) -> Result<Run, String> {
        let stdin = room::sealed(input).map_err(lost)?;
        let (stdout, mut stderr) = (room::memory().map_err(lost)?, room::memory().map_err(lost)?);
        let request = json!({
            "kind": self.kind, "compiles": self.compiles, "filter": self.filter, "seconds": self.time.as_secs_f64(),
            "work": WORK_BYTES, "inodes": WORK_FILES, "limits": self.limits, "argv": self.argv,
            "save": self.save,
        });
        let fds = [text.as_fd(), stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let ending = room.ask(&request, &fds, self.time + GRACE)?;
        let stdout = contents(stdout)?;
        let full = stdout.len() as u64 >= FILE_BYTES;
        let fault = match &ending {
            Ending { late: true, .. } => Some(format!("it did not end within {:.3} s", self.time.as_secs_f64())),
            _ if full => Some(format!("it wrote more than {FILE_BYTES} bytes")),
            Ending { exit: Some(0), .. } => None,
            Ending { exit: Some(code), .. } => Some(format!("it ended with code {code}: {}", room::told(&mut stderr))),
            Ending { signal, .. } => Some(signalled(*signal)),
        };
        Ok(Run { stdout, fault })
    }
}

fn limits(language: &Language, time: Duration) -> Value {
    // A second more than the wall clock allows, and one again because whole seconds count.
    json!({
        "memory": language.memory_mib * MIB, "cpu": time.as_secs() + 2, "file": FILE_BYTES, "files": OPEN_FILES,
        "processes": if language.processes == 1 { THREADS } else { language.processes + 1 },
    })
}

fn compiler_limits() -> Value {
    json!({
        "memory": COMPILER_MEMORY, "cpu": COMPILE.as_secs(), "file": WORK_BYTES, "files": 4 * OPEN_FILES,
        "processes": COMPILER_PROCESSES,
    })
}

/// Why a run of tests ended before its last one; none where it did not.
fn cut_off(ending: &Ending, budget: &Budget) -> Option<String> {
    match ending {
        Ending { late: true, .. } => Some(format!("no time was left of {} s", budget.all.as_secs_f64())),
        Ending { exit: Some(0), .. } => None,
        Ending { signal: Some(SIGALRM), .. } => Some(format!("it did not end within {} s", budget.test.as_secs_f64())),
        Ending { signal, .. } => Some(signalled(*signal)),
    }
}

fn signalled(signal: Option<i32>) -> String {
    match signal {
        Some(SIGXCPU) => String::from("it took more processor time than it may"),
        Some(SIGKILL) => String::from("it was ended: it took more memory than there is"),
        Some(signal) => format!("it was ended by signal {signal}"),
        None => String::from("it ended early"),
    }
}

fn contents(mut file: File) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(lost)?;
    file.take(FILE_BYTES).read_to_end(&mut bytes).map_err(lost)?;
    Ok(bytes)
}

fn nonce() -> Result<String, String> {
    let mut bytes = [0; NONCE];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn lost(error: std::io::Error) -> String {
    format!("a program could not be handed on: {error}")
}
