//! Programs that try to get out of the sandbox, to outlive it, or to pass without being right: none does, and each does
//! where there is no sandbox.
//!
//! The programs are in `tests/data/attacks`. One that succeeds writes `ESCAPED`, and those of `verdicts.txt` pass tests that
//! they should not. The control runs each as the interpreter's own process in a folder of its own, with what careless
//! harnesses have: an open descriptor, a secret in the environment, the tests beside the program. Attacks are bounded, so
//! that they do no harm where they succeed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anneal::verifier::{self, Case, Outside, Score, Verifier};
use serde_json::{Value, json};

const PYTHON: &str = "/usr/bin/python3";
const LANES: usize = 2;
const ADDITIONS: &str = "assert add(1, 2) == 3\nassert add(5, 7) == 12\n";
/// As a careless harness has it: everything in one process, which passes by its exit code or by what it prints.
const HARNESS: &str = "names = {'__name__': '__main__'}
names['text'] = open('tests.txt').read()
exec(compile(open('program.txt').read(), 'program.txt', 'exec'), names)
exec(compile(open('tests.txt').read(), 'tests.txt', 'exec'), names)
print('PASS')
";
/// A careless warm interpreter: one program after another.
const WARM: &str = "import builtins, os
folder = os.getcwd()
for name in ('program.txt', 'second.txt'):
    builtins.exec(open(os.path.join(folder, name)).read(), {'__name__': '__main__'})
";

/// An attack: what it is called, its program, and what comes after it.
struct Attack {
    name: String,
    program: String,
    rest: String,
}

fn attacks(file: &str, separator: &str) -> Vec<Attack> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/attacks").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let marker = format!("--- {separator}\n");
    let attack = |part: &str| {
        let (name, body) = part.split_once('\n').unwrap();
        let (program, rest) = body.split_once(&marker).unwrap_or((body, ""));
        Attack { name: format!("{file}: {name}"), program: program.to_owned(), rest: rest.to_owned() }
    };
    text.split("=== ").skip(1).map(attack).collect()
}

/// What programs are told: a file that everybody on this machine may read, and the machine's name.
struct Machine {
    folder: tempfile::TempDir,
    input: String,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "ESCAPED").unwrap();
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        Self { input: format!("{} {}", secret.display(), name.trim()), folder }
    }

    /// Runs an attack without a sandbox; whether it succeeds.
    fn control(&self, attack: &Attack, script: Option<&str>) -> bool {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        let at = |name: &str| -> PathBuf { folder.path().join(name) };
        let tests = if attack.rest.is_empty() { ADDITIONS } else { &attack.rest };
        for (name, text) in
            [("program.txt", attack.program.as_str()), ("second.txt", &attack.rest), ("tests.txt", tests)]
        {
            fs::write(at(name), text).unwrap();
        }
        fs::write(at("input"), &self.input).unwrap();
        fs::write(at("script.py"), script.unwrap_or(&attack.program)).unwrap();
        let status = Command::new("sh")
            .args(["-c", "exec 7>left; exec \"$@\"", "sh", PYTHON, "script.py"])
            .current_dir(folder.path())
            .env("ANNEAL_SECRET", "x")
            .stdin(File::open(at("input")).unwrap())
            .stdout(File::create(at("output")).unwrap())
            .stderr(Stdio::from(File::create(at("errors")).unwrap()))
            .status()
            .unwrap();
        let output = String::from_utf8_lossy(&fs::read(at("output")).unwrap()).trim().to_owned();
        match script {
            Some(HARNESS) => status.success() || output.contains("PASS"),
            _ => output == "ESCAPED",
        }
    }
}

fn verifier(config: Value, outside: Value) -> std::sync::Arc<dyn Verifier> {
    let outside: Outside = serde_json::from_value(outside).unwrap();
    let config = verifier::Config::parse(&config, "/verifier").unwrap();
    config
        .refused(&outside, "/verifier")
        .expect("the sandbox is there: install bubblewrap, and permit user namespaces");
    config.build(&outside)
}

fn judged(verifier: &dyn Verifier, program: &str, row: Value) -> Score {
    let score = verifier.verify(&Case { prompt: "", completion: program, answer: None, row: row.as_object().unwrap() });
    assert!(score.is_scored(), "an attack is no error of the sandbox: {score:?}");
    score
}

/// Every attack fails in the sandbox and succeeds outside, and there are at least so many.
fn try_all(attacks: &[Attack], least: usize, script: Option<&str>, attempt: impl Fn(&Attack) -> Score + Sync) {
    assert!(attacks.len() >= least, "{} attacks", attacks.len());
    let machine = Machine::new();
    let (next, wrong) = (Mutex::new(attacks.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(attack) = next.lock().unwrap().next() else { break };
            let score = attempt(attack);
            if score.reward != 0.0 {
                wrong.lock().unwrap().push(format!("{} ESCAPED: {score:?}", attack.name));
            }
            if !machine.control(attack, script) {
                wrong.lock().unwrap().push(format!("{} does not work without a sandbox either", attack.name));
            }
        }
    };
    std::thread::scope(|scope| (0..LANES).for_each(|_| drop(scope.spawn(work))));
    assert!(wrong.lock().unwrap().is_empty(), "{:#?}", wrong.lock().unwrap());
}

/// Attacks that write what they are not to be able to.
fn try_writers(file: &str, least: usize) {
    let machine = Machine::new();
    let verifier = verifier(json!({"type": "code", "test_seconds": 1.5}), json!({"code": true}));
    let row = json!({"stdin": machine.input, "stdout": "ESCAPED\n"});
    try_all(&attacks(file, "none"), least, None, |attack| judged(verifier.as_ref(), &attack.program, row.clone()));
}

#[test]
fn no_program_starts_or_reaches_another_process() {
    try_writers("processes.txt", 30);
}

#[test]
fn no_program_gets_more_of_the_system_than_it_may() {
    try_writers("system.txt", 40);
}

#[test]
fn no_program_reads_or_leaves_files_outside_of_its_own_folder() {
    try_writers("files.txt", 35);
}

#[test]
fn no_program_meets_what_another_left() {
    let machine = Machine::new();
    // One lane, so that the second program runs where the first one ran.
    let verifier = Mutex::new(verifier(json!({"type": "code"}), json!({"code": true})));
    let row = json!({"stdin": machine.input, "stdout": "ESCAPED\n"});
    try_all(&attacks("pairs.txt", "second"), 12, Some(WARM), |attack| {
        let verifier = verifier.lock().unwrap();
        judged(verifier.as_ref(), &attack.program, row.clone());
        judged(verifier.as_ref(), &attack.rest, row.clone())
    });
}

#[test]
fn no_program_passes_tests_without_being_right() {
    let all = attacks("verdicts.txt", "tests");
    for reward in ["all", "fraction"] {
        let verifier = verifier(json!({"type": "code", "reward": reward, "test_seconds": 2}), json!({"code": true}));
        let tests = |attack: &Attack| if attack.rest.is_empty() { ADDITIONS.to_owned() } else { attack.rest.clone() };
        let right = judged(verifier.as_ref(), "def add(a, b):\n    return a + b\n", json!({"tests": ADDITIONS}));
        assert_eq!(right.reward, 1.0, "{right:?}");
        let attempt = |attack: &Attack| judged(verifier.as_ref(), &attack.program, json!({"tests": tests(attack)}));
        try_all(&all, 40, Some(HARNESS), attempt);
    }
}

#[test]
fn programs_of_listed_languages_are_kept_in_as_well() {
    let outside = json!({"code": true, "languages": {"sh": {"argv": ["/bin/sh", "main.sh"], "file": "main.sh", "paths": ["/usr"]}}});
    let verifier = verifier(json!({"type": "code", "language": "sh", "test_seconds": 1}), outside);
    let machine = Machine::new();
    let row = json!({"stdin": machine.input, "stdout": "ESCAPED\n"});
    let greeting = judged(verifier.as_ref(), "read a b; echo ESCAPED", row.clone());
    assert_eq!(greeting.reward, 1.0, "a program that may write does: {greeting:?}");
    for attack in [
        "(echo ESCAPED)",
        "/usr/bin/true; echo $(echo ESCAPED)",
        "read a b; exec /usr/bin/cat $a",
        "[ -e /proc/self ] && echo ESCAPED",
        "[ -e /etc/passwd ] && echo ESCAPED",
        "echo a > /usr/escape && echo ESCAPED",
        "echo a > /escape && echo ESCAPED",
        "echo a > ../escape && echo ESCAPED",
        "exec /usr/bin/unshare -r echo ESCAPED",
        "exec /usr/bin/python3 -c 'import socket; socket.socket(); print(\"ESCAPED\")'",
        "exec /usr/bin/python3 -c 'import os; os.fork(); print(\"ESCAPED\")'",
        "exec /usr/bin/python3 -c 'bytearray(1 << 30); print(\"ESCAPED\")'",
        "while :; do :; done; echo ESCAPED",
        "exec /usr/bin/sleep 20",
        "exec /usr/bin/yes",
        "kill -9 1; kill -9 -1; exec /usr/bin/sleep 20; echo ESCAPED",
    ] {
        let score = judged(verifier.as_ref(), attack, row.clone());
        assert_eq!(score.reward, 0.0, "{attack}: {score:?}");
    }
}

#[test]
fn a_room_that_ends_leaves_no_process_behind() {
    const ALONE: &str = "ANNEAL_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        // In a process of its own, which inherits processes that nobody waits for, as process 1 of a container does.
        let name = "a_room_that_ends_leaves_no_process_behind";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name]).env(ALONE, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let shell = json!({"sh": {"argv": ["/bin/sh", "main.sh"], "file": "main.sh", "paths": ["/usr"]}});
    let outside = json!({"code": true, "languages": shell});
    for (config, program) in [
        (json!({"type": "code", "language": "sh"}), "echo 1"),
        (json!({"type": "code", "language": "sh", "test_seconds": 0.2}), "sleep 9; echo 1"),
        (json!({"type": "code"}), "print(1)"),
    ] {
        let verifier = verifier(config, outside.clone());
        judged(verifier.as_ref(), program, json!({"stdin": "", "stdout": "1"}));
    }
    let left = rustix::process::wait(rustix::process::WaitOptions::NOHANG);
    // The room in which Python was tried is kept for the life of the process.
    assert!(!matches!(left, Ok(Some(_))), "{left:?}");
}
