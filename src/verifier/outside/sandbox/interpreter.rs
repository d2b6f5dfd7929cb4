//! What of this machine a room shows: an interpreter with its modules and libraries, or what the operator lists of a
//! language, and nothing else.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;

const PROBE: &str = include_str!("probe.py");
/// How long an interpreter may take to say what it needs.
const PATIENCE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(2);
/// Bytes of its answer.
const MOST_ANSWER: u64 = 1 << 20;
/// The keeper asks for what is there since this version.
const LEAST_VERSION: (u32, u32) = (3, 10);
/// Where Python is looked for if the operator does not say.
const USUAL: [&str; 2] = ["/usr/bin/python3", "/usr/local/bin/python3"];
/// Where dynamic loaders lie, which programs name by their whole path.
const LOADERS: [&str; 5] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
    "/etc/ld.so.cache",
];

/// A user that owns nothing: rooms are made by it where the server runs as root.
const NOBODY: u32 = 65_530;

/// A Python interpreter.
#[derive(Clone, Debug, Deserialize)]
pub struct Interpreter {
    pub executable: PathBuf,
    version: (u32, u32),
    /// Folders of modules, in the order in which they are searched.
    pub folders: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    pub numpy: bool,
}

impl Interpreter {
    /// Asks the interpreter at `path`, or the machine's own, what it needs; asked once in the life of a process. An error
    /// says what to do.
    pub fn find(path: Option<&Path>) -> Result<Self, String> {
        static KNOWN: LazyLock<Mutex<Vec<(PathBuf, Interpreter)>>> = LazyLock::new(Mutex::default);
        let path = match path {
            Some(path) => path.to_owned(),
            None => USUAL.iter().map(PathBuf::from).find(|path| path.exists()).ok_or_else(|| {
                format!("there is no {}; install Debian's package python3, or name an interpreter in verifiers.languages.python", USUAL[0])
            })?,
        };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, interpreter)) = known.iter().find(|(at, _)| *at == path) {
            return Ok(interpreter.clone());
        }
        let interpreter = ask(&path)?;
        known.push((path, interpreter.clone()));
        Ok(interpreter)
    }

    /// All that it needs of the machine's files.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let loaders = LOADERS.iter().filter_map(|loader| placed(Path::new(loader)));
        let own = [self.executable.clone()].into_iter().chain(self.folders.iter().cloned());
        own.chain(self.libraries.iter().cloned()).chain(loaders)
    }
}

/// A file whose folder is named without links, where it is there.
fn placed(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?.canonicalize().ok()?;
    Some(folder.join(path.file_name()?)).filter(|path| path.exists())
}

/// A command that has nothing of this process, and not its rights either where these are root's.
pub fn stranger(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/");
    if rustix::process::geteuid().is_root() && knows(NOBODY) {
        command.gid(NOBODY).uid(NOBODY);
    }
    command
}

/// Whether there is such a user. Where root is the only one, it is the root of a user namespace, which has no rights of its
/// own on the machine.
fn knows(user: u32) -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().unwrap_or(0));
        let (first, _, count) = (numbers.next().unwrap_or(0), numbers.next(), numbers.next().unwrap_or(0));
        (first..first.saturating_add(count)).contains(&u64::from(user))
    })
}

fn ask(path: &Path) -> Result<Interpreter, String> {
    let shown = path.display();
    let cannot = |why: String| format!("the interpreter {shown} cannot be used: {why}");
    let mut command = stranger(path);
    command.args(["-s", "-B", "-c", PROBE]).env("OPENBLAS_NUM_THREADS", "1");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(|error| {
            cannot(format!("{error}; every user must be able to run it, with the folders above it"))
        })?;
    let output = child.stdout.take();
    // It writes once, at its end, and may write more than a pipe holds.
    let reader = std::thread::spawn(move || {
        let mut answer = String::new();
        output.map_or(Ok(0), |output| output.take(MOST_ANSWER).read_to_string(&mut answer)).map(|_| answer)
    });
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().map_err(|error| cannot(error.to_string()))? {
            Some(status) => break status,
            None if Instant::now() < end => sleep(STEP),
            None => {
                drop(child.kill().and_then(|()| child.wait()));
                return Err(cannot(format!("it did not answer within {} s", PATIENCE.as_secs())));
            }
        }
    };
    let answer = reader.join().map_err(|_| cannot(String::from("its answer was lost")))?;
    if !status.success() {
        return Err(cannot(format!("it ended with {status} when it was asked for its modules")));
    }
    let answer = answer.map_err(|error| cannot(error.to_string()))?;
    let interpreter: Interpreter =
        serde_json::from_str(&answer).map_err(|error| cannot(format!("its answer is no answer of Python: {error}")))?;
    if interpreter.version < LEAST_VERSION {
        let (major, minor) = interpreter.version;
        return Err(cannot(format!(
            "it is Python {major}.{minor}; name one of at least {}.{}",
            LEAST_VERSION.0, LEAST_VERSION.1
        )));
    }
    Ok(interpreter)
}
