//! Programs that nobody trusts, run in rooms: what the operator lists of languages, what of this machine is missing, and a
//! pool of rooms that are ready.
//!
//! A Python program runs in a room that is warm: its keeper forks, and the fork runs the program. A program of another
//! language gets a room of its own, where the operator's commands compile and run it. Every run has an empty work
//! directory, and all of its processes are gone before the next one begins.

mod cgroup;
mod filter;
mod interpreter;
mod room;
mod run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Outside;
use interpreter::Interpreter;
use room::{Plan, Room};
pub use run::{Budget, Run, TestResult, Tests, Verdict};

pub const PYTHON: &str = "python";
/// Room for a thread with the largest stack that programs usually ask for, 512 MiB.
const DEFAULT_MEMORY_MIB: u64 = 1024;
const MIB: u64 = 1 << 20;
/// Below this an interpreter does not run, and above it one process takes a machine.
const MEMORY_MIB: std::ops::RangeInclusive<u64> = 64..=65_536;
const MOST_PROCESSES: u64 = 256;
const MOST_LANES: usize = 8;
/// How long a failed trial of this machine counts.
const TRIED: Duration = Duration::from_secs(10);
/// Bytes of files that a process writes which makes rooms; what cannot write so much cannot hand programs on.
pub const FILE_BYTES: u64 = 16 << 20;

/// How programs of a language are run, as the operator lists it in `[verifiers.languages.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Language {
    /// The command that runs a program, in the work directory; for `python` the interpreter alone. Whole paths.
    pub argv: Vec<String>,
    /// The command that compiles it first; none for what is interpreted.
    pub compile: Vec<String>,
    /// The name under which the program is saved.
    pub file: String,
    /// Address space of each of its processes, in MiB.
    pub memory_mib: u64,
    /// Processes and threads that it may have; 1 is one process, with threads.
    pub processes: u64,
    /// Files and folders that its room shows, read-only, besides a Python interpreter.
    pub paths: Vec<PathBuf>,
}

impl Default for Language {
    fn default() -> Self {
        Self {
            argv: Vec::new(),
            compile: Vec::new(),
            file: String::from("program"),
            memory_mib: DEFAULT_MEMORY_MIB,
            processes: 1,
            paths: Vec::new(),
        }
    }
}

/// Why programs cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Missing {
    #[error("this server runs no programs: its operator has to set `code = true` in [verifiers] of anneal.toml")]
    Disabled,
    #[error("this server does not run `{0}`; it runs {1}; its operator can list languages in [verifiers.languages]")]
    Language(String, String),
    #[error("{0}")]
    Unavailable(String),
}

impl Missing {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Disabled => "not_enabled",
            Self::Language(..) => "unknown_value",
            Self::Unavailable(_) => "sandbox_unavailable",
        }
    }
}

/// What is missing to run programs of a language here. It makes a room and runs a program in it, once in the life of a
/// process if that goes well.
pub fn missing(outside: &Outside, language: &str) -> Option<Missing> {
    // Names that clients make up are not kept.
    if !languages(outside).contains(&language) {
        return Sandbox::new(outside, language).err();
    }
    // Of the settings only those of programs count; others, such as this server's own address, differ from caller to caller.
    type Asked = (bool, BTreeMap<String, Language>, Option<PathBuf>, String);
    type Tried = (Asked, Instant, Option<Missing>);
    static KNOWN: LazyLock<Mutex<Vec<Tried>>> = LazyLock::new(Mutex::default);
    let asked = (outside.code, outside.languages.clone(), outside.cgroup.clone(), language.to_owned());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|(_, at, missing)| missing.is_none() || at.elapsed() < TRIED);
    if let Some((.., missing)) = known.iter().find(|(of, ..)| *of == asked) {
        return missing.clone();
    }
    let missing = Sandbox::new(outside, language).and_then(|sandbox| sandbox.try_out()).err();
    known.push((asked, Instant::now(), missing.clone()));
    missing
}

/// The languages that the operator lets run, `python` first.
pub fn languages(outside: &Outside) -> Vec<&str> {
    let others = outside.languages.keys().map(String::as_str).filter(|name| *name != PYTHON);
    if outside.code { [PYTHON].into_iter().chain(others).collect() } else { Vec::new() }
}

/// How many programs run at the same time: half of the cores, at least two, and at most as many as memory is for.
pub fn lanes() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| (cores.get() / 2).clamp(2, MOST_LANES))
}

/// What is wrong with the operator's settings.
pub fn check(languages: &BTreeMap<String, Language>) -> Result<(), String> {
    for (name, language) in languages {
        let wrong = |what: &str| Err(format!("{name}: {what}"));
        let commands = [&language.argv, &language.compile];
        if commands.iter().any(|argv| argv.first().is_some_and(|program| !program.starts_with('/'))) {
            return wrong("argv and compile begin with the whole path of a program");
        }
        if name == PYTHON && (language.argv.len() > 1 || !language.compile.is_empty()) {
            return wrong("argv is the path of an interpreter alone, and nothing is compiled");
        }
        if name != PYTHON && language.argv.is_empty() {
            return wrong("argv is missing: the command that runs a program");
        }
        if language.file.is_empty() || language.file.starts_with('.') || language.file.contains('/') {
            return wrong("file is the name of a file, such as main.c");
        }
        if !MEMORY_MIB.contains(&language.memory_mib) {
            return wrong(&format!("memory_mib lies between {} and {}", MEMORY_MIB.start(), MEMORY_MIB.end()));
        }
        if !(1..=MOST_PROCESSES).contains(&language.processes) {
            return wrong(&format!("processes lies between 1 and {MOST_PROCESSES}"));
        }
        if language.paths.iter().any(|path| !path.is_absolute()) {
            return wrong("paths are whole paths");
        }
    }
    Ok(())
}

/// Runs programs of one language. Rooms are made when they are needed, one for each run that goes on at the same time.
pub struct Sandbox {
    name: String,
    language: Language,
    plan: Plan,
    idle: Mutex<Vec<Room>>,
}

impl Sandbox {
    /// Looks for what the language needs; nothing is started yet.
    pub fn new(outside: &Outside, name: &str) -> Result<Self, Missing> {
        if !outside.code {
            return Err(Missing::Disabled);
        }
        let language = match outside.languages.get(name) {
            Some(language) => language.clone(),
            None if name == PYTHON => Language { file: String::from("main.py"), ..Language::default() },
            None => return Err(Missing::Language(name.to_owned(), languages(outside).join(", "))),
        };
        let python = outside.languages.get(PYTHON).and_then(|python| python.argv.first());
        let interpreter = Interpreter::find(python.map(Path::new)).map_err(Missing::Unavailable)?;
        let lacking = language.paths.iter().chain([&interpreter.executable]).find(|path| !path.exists());
        if let Some(path) = lacking {
            let detail = format!(
                "`{name}` needs {}, which is not there: install it, or correct [verifiers.languages]",
                path.display()
            );
            return Err(Missing::Unavailable(detail));
        }
        let cgroup = outside.cgroup.as_ref().map(|folder| cgroup::Limits {
            folder: folder.clone(),
            memory_bytes: 2 * language.memory_mib * MIB,
            processes: 2 * language.processes + run::THREADS,
        });
        let plan = Plan { interpreter, paths: language.paths.clone(), cgroup };
        Ok(Self { name: name.to_owned(), language, plan, idle: Mutex::default() })
    }

    /// Whether its programs share rooms that are warm.
    fn is_python(&self) -> bool {
        self.name == PYTHON
    }

    fn room(&self) -> Result<Room, String> {
        let warm = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        warm.map_or_else(|| Room::open(&self.plan), Ok)
    }

    /// Keeps a room whose last run ended well. It is then as it was when it was made.
    fn give_back(&self, room: Room) {
        if self.is_python() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(room);
        }
    }

    /// The programs of this machine that its commands run; what they compile is not there yet.
    fn commands(&self) -> Vec<&str> {
        let commands = [self.language.argv.first(), self.language.compile.first()];
        commands.into_iter().flatten().map(String::as_str).filter(|path| !path.starts_with(run::WORK)).collect()
    }

    fn try_out(&self) -> Result<(), Missing> {
        let mut room = self.room().map_err(Missing::Unavailable)?;
        if self.is_python() {
            let ran = self.greets(&mut room).map_err(Missing::Unavailable)?;
            if !ran {
                let detail =
                    "a room was made, but Python does not run in it: is seccomp there (CONFIG_SECCOMP_FILTER)?";
                return Err(Missing::Unavailable(String::from(detail)));
            }
        } else if let Some(path) = room.absent(&self.commands()).map_err(Missing::Unavailable)? {
            let name = &self.name;
            let detail = format!(
                "`{name}` runs {path}, which is not there, cannot be run, or is not shown in its rooms: correct argv, compile or \
                 paths of [verifiers.languages.{name}]"
            );
            return Err(Missing::Unavailable(detail));
        }
        self.give_back(room);
        Ok(())
    }
}
