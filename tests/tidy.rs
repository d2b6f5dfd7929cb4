//! The architecture, checked by reading `src/**`: who may import whom, in which order the parts of a large module stand,
//! that no files import one another in a circle, which crates may be named where, what is banned, and how long
//! functions and files may grow. ARCHITECTURE.md gives the reasons.
//!
//! The rules read text and not syntax trees: comments and literals are blanked, then names are searched. That is
//! enough to catch what is done by accident, and an accident is all that a rule like this is against. Every rule is
//! a function over (path, text), and a test below shows it a planted violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use regex::Regex;

/// Every top-level module and the ones it may import besides itself; `*` stands for all.
const IMPORTS: &[(&str, &[&str])] = &[
    ("job", &[]),
    ("clock", &["job"]),
    ("hub", &["job"]),
    ("config", &["job", "hub", "verifier"]),
    ("telemetry", &["job"]),
    ("program", &["config"]),
    ("modelfile", &["job"]),
    ("objective", &["job"]),
    ("outbound", &["job"]),
    ("verifier", &["job", "clock", "outbound"]),
    ("environment", &["job", "verifier"]),
    ("dataset", &["job"]),
    ("device", &["job"]),
    ("text", &["job", "dataset", "modelfile"]),
    ("spec", &["job", "objective", "verifier", "dataset", "modelfile"]),
    ("store", &["job", "spec"]),
    ("engine", &["job", "device", "objective", "verifier", "environment", "dataset", "modelfile", "spec", "text"]),
    (
        "worker",
        &[
            "job",
            "verifier",
            "device",
            "store",
            "engine",
            "dataset",
            "modelfile",
            "spec",
            "clock",
            "config",
            "program",
            "telemetry",
        ],
    ),
    ("import", &["job", "hub", "modelfile", "spec", "store", "clock"]),
    ("launcher", &["job", "store", "clock", "config"]),
    ("push", &["job", "hub", "store", "clock"]),
    ("webhook", &["job", "store", "clock", "outbound"]),
    (
        "api",
        &[
            "job",
            "objective",
            "verifier",
            "environment",
            "dataset",
            "modelfile",
            "spec",
            "text",
            "store",
            "hub",
            "import",
            "outbound",
            "webhook",
            "clock",
            "config",
            "program",
            "telemetry",
        ],
    ),
    ("cli", &["*"]),
    ("lib", &["*"]),
    ("main", &["*"]),
];

/// The parts (files and folders) of the large modules, lowest first: each may import those before it, and the module's
/// own `mod.rs`, which may import all. No files of these modules import one another in a circle.
#[rustfmt::skip]
const ORDERS: &[(&str, &[&str])] = &[
    ("engine", &[
        // What everything stands on.
        "driver", "random", "error", "threads", "digested", "kernels", "ops",
        // What is computed, and where.
        "rows", "projection", "choice", "gradients", "moments", "link", "collective", "shares", "limits", "backend", "cpu", "cuda", "device",
        // The model, sampling and learning.
        "model", "optimizer", "memory", "batch", "sampler", "rollout", "measure", "learn", "schedule", "visits", "curriculum",
        // What goes in and out.
        "verify", "verification", "artifact", "report", "sample_log",
        // Jobs.
        "loading", "conversation", "actor", "export", "responder", "rollout_set", "regrade", "sample", "control", "training_job", "fresh", "beside", "trainer", "evaluate", "evaluation", "step", "variance", "round",
        "state", "train",
    ]),
    ("store", &[
        // Rows that stand by themselves.
        "error", "files", "key_file", "vault", "checksums", "backend", "depot", "bucket", "statement", "statuses", "memo", "migrations", "attempts", "audit", "keys", "sessions", "names", "projects", "quota", "requests", "life", "hosts",
        // A job's log, its status, and the right to run it.
        "events", "devices", "transitions", "lease", "rendezvous", "workers", "metric_blocks", "reports", "metrics", "inputs", "provenance",
        // What jobs use and what they make.
        "artifacts", "datasets", "models", "imports", "verifiers", "verifier_audits", "uploaded_files", "uploads",
        // Jobs.
        "jobs", "progress", "rollout_sets", "evaluations", "derived", "suites_wanted", "submissions", "sweeps", "suites", "fine_tuning", "space", "pushes", "exports", "materials", "deletion", "queue",
        "lifecycle", "turns", "launches", "agents", "placement", "line",
        // The whole.
        "upkeep", "copy",
        // What others are told.
        "webhook_endpoints", "webhook_deliveries", "webhook_fan_out",
    ]),
    ("api", &[
        // Requests and answers.
        "error", "places", "blocking", "scan", "sandbox", "caller", "credential", "extract", "route", "host", "strangers", "connections", "unread", "etag", "labels", "deleted", "lines", "feed", "tail",
        "download", "archive", "verifiable", "table", "imports", "templates", "resolve", "teacher", "row_source", "resources",
        // Around every handler.
        "access", "limits", "idempotency", "audit", "browser", "compress", "trace",
        // Handlers.
        "audit_log", "signing_keys", "checkpoints", "exports", "datasets", "devices", "hosts", "launches", "agents", "health", "inference", "keys", "sessions", "metrics_catalog",
        "models", "objectives", "projects", "queue", "events", "verifiers", "webhook_deliveries", "webhook_endpoints",
        "rollout_sets", "evaluations", "suites", "jobs", "sweeps", "mlflow", "metrics", "openai",
        "openapi", "docs", "page",
    ]),
];

/// Modules that compute from their arguments alone, and the part of them that may do more.
const PURE: &[&str] = &["src/objective", "src/verifier"];
const OUTSIDE: &str = "src/verifier/outside";

/// The files that may ask whether CUDA was built in: one computes with it, one looks at its devices.
const CUDA: &[&str] = &["src/engine/cuda/mod", "src/engine/cuda/hardware", "src/engine/device", "src/device/nvml"];

/// What may be named, outside tests, in some modules only or nowhere: rule, pattern, those modules, and why.
const NAMES: &[(&str, &str, &[&str], &str)] = &[
    ("crates", r"\bsqlx\b", &["src/store"], "only the store talks to the database"),
    ("crates", r"\b(axum|utoipa_axum|tower_http)\b", &["src/api"], "only the API speaks HTTP"),
    (
        "crates",
        r"\butoipa\b",
        &["src/api", "src/job/agent", "src/job/device"],
        "only the API describes what it says, and what it says to agents",
    ),
    (
        "crates",
        r"\bcandle_(core|nn)\b",
        &["src/engine", "src/objective"],
        "only the engine and objectives know tensors",
    ),
    (
        "crates",
        r"\bunsafe\b",
        &[
            "src/engine/kernels",
            "src/engine/cuda/hardware",
            "src/engine/cuda/nccl",
            "src/engine/cuda/emulated",
            "src/store/checksums",
            "src/verifier/sql/database",
            "src/verifier/sql/nowhere",
            "src/verifier/outside/tied",
        ],
        "raw memory, instructions, drivers, SQLite's own interface and forks stay where they are",
    ),
    (
        "world",
        r"\benv\s*::\s*vars?(_os)?\b",
        // The second for tests alone; the third for what keeps tests, too, from instructions.
        &["src/config", "src/store/backend", "src/engine/kernels/mod"],
        "only the configuration reads the environment",
    ),
    ("world", r"\bSystemTime\s*::\s*now\b", &["src/clock"], "only src/clock.rs reads the clock; time is an argument"),
    (
        "world",
        r"\b(std|tokio)\s*::\s*fs\b",
        &[
            "src/cli",
            "src/config",
            "src/dataset",
            "src/device",
            "src/engine",
            "src/import",
            "src/launcher/slurm",
            "src/modelfile",
            "src/program",
            "src/store",
            "src/text",
            "src/verifier/outside",
            "src/worker",
        ],
        "stored files are read and written through the store's place",
    ),
    ("bans", r"\b(todo|unimplemented)!", &[], "unfinished code is not merged"),
    ("bans", r"\bdbg!", &[], "use `tracing`"),
    ("bans", r"\.\s*unwrap\s*\(\s*\)", &[], "use `?`, or `expect` with the invariant that holds"),
    ("bans", r"\bprintln!", &["src/cli"], "only commands write to standard output"),
];

/// Functions of candle without a backward pass: the loss still falls, but a part of the model gets no gradient.
const CUTS_BY_PATH: &[&str] = &["rms_norm", "layer_norm", "rope", "rope_i", "rope_thd", "sdpa", "RmsNorm", "LayerNorm"];
const CUTS_BY_NAME: &str = r"\b(softmax_last_dim|slice_set|flash_attn\w*)\b";
/// (path, name) of such functions where no gradient is wanted.
const ALLOWED_CUTS: &[(&str, &str)] = &[];

const MOST_FUNCTION_LINES: usize = 70;
const MOST_FILE_LINES: usize = 600;
/// (path, function, lines): longer than allowed; a number here may only fall.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];
/// (path, lines): longer than allowed; a number here may only fall.
const LONG_FILES: &[(&str, usize)] = &[];

#[test]
fn the_sources_keep_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    read_sources(root, "src", &mut files);
    assert!(!files.is_empty(), "no sources under {}", root.display());
    let test_files: Vec<String> = files.iter().flat_map(|(path, text)| test_modules_of(path, text)).collect();

    let mut violations = Vec::new();
    for (path, text) in &files {
        violations.extend(ignored_tests(path, text));
        violations.extend(function_lengths(path, text, LONG_FUNCTIONS));
        violations.extend(file_length(path, text, LONG_FILES));
        if test_files.iter().any(|module| inside(path, module)) {
            continue;
        }
        for rule in [imports, names, cuda, purity] {
            violations.extend(rule(path, text));
        }
        violations.extend(gradient_cuts(path, text, ALLOWED_CUTS));
    }
    let production: Vec<_> =
        files.iter().filter(|(path, _)| !test_files.iter().any(|module| inside(path, module))).collect();
    let uses = Uses::of(&production);
    violations.extend(order(&uses, ORDERS));
    violations.extend(circles(&uses, ORDERS));
    let known: BTreeSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let listed = LONG_FUNCTIONS.iter().map(|entry| entry.0).chain(LONG_FILES.iter().map(|entry| entry.0));
    let stale: Vec<&str> =
        listed.chain(ALLOWED_CUTS.iter().map(|entry| entry.0)).filter(|path| !known.contains(path)).collect();
    assert!(stale.is_empty(), "tests/tidy.rs makes exceptions for files that are gone: {stale:?}");
    let report: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert!(report.is_empty(), "{} violations of the architecture:\n{}", report.len(), report.join("\n"));
}

/// Collects the Rust files under `folder`, with paths relative to `root` and slashes between the parts.
fn read_sources(root: &Path, folder: &str, files: &mut Vec<(String, String)>) {
    let mut names: Vec<String> = fs::read_dir(root.join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    for name in names {
        let path = format!("{folder}/{name}");
        if root.join(&path).is_dir() {
            read_sources(root, &path, files);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(root.join(&path)).unwrap();
            files.push((path, text));
        }
    }
}

/// A place that breaks a rule.
#[derive(Debug)]
struct Violation {
    path: String,
    line: usize,
    rule: &'static str,
    detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.detail)
    }
}

fn violation(path: &str, line: usize, rule: &'static str, detail: impl Into<String>) -> Violation {
    Violation { path: path.to_owned(), line, rule, detail: detail.into() }
}

// Rules.

fn imports(path: &str, text: &str) -> Vec<Violation> {
    let module = module_of(path);
    let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == module) else {
        return vec![violation(path, 1, "imports", format!("module `{module}` is not in IMPORTS of tests/tidy.rs"))];
    };
    if allowed.contains(&"*") {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (line, names) in paths(&production(text)) {
        let Some(target) = from_crate_root(path, &names) else { continue };
        let is_module = IMPORTS.iter().any(|(name, _)| *name == target);
        if is_module && target != module && !allowed.contains(&target) {
            let may =
                if allowed.is_empty() { "no other module".to_owned() } else { format!("only {}", allowed.join(", ")) };
            let detail = format!("`{module}` may import {may}, not `{target}`");
            violations.push(violation(path, line, "imports", detail));
        }
    }
    violations
}

fn cuda(path: &str, text: &str) -> Vec<Violation> {
    if inside_any(path, CUDA) {
        return Vec::new();
    }
    // The feature's name is a literal, so that literals are kept here.
    let code = without_tests(&mask(text, Literals::Kept));
    lines_with(&code, r#"\bfeature\s*=\s*"cuda""#)
        .map(|line| {
            violation(
                path,
                line,
                "cuda",
                "the feature may be asked for only where devices are opened, src/engine/device.rs and src/engine/cuda, and in src/device/nvml.rs",
            )
        })
        .collect()
}

fn purity(path: &str, text: &str) -> Vec<Violation> {
    if !inside_any(path, PURE) || inside(path, OUTSIDE) {
        return Vec::new();
    }
    let impure = |names: &[String]| match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["std", "net" | "fs", ..] | ["crate", "clock" | "outbound", ..] => true,
        ["std", "time", name, ..] => name != "Duration",
        ["std", "time"] => true,
        _ => false,
    };
    paths(&production(text))
        .into_iter()
        .filter(|(_, names)| impure(names))
        .map(|(line, names)| {
            violation(path, line, "purity", format!("no clock, files or network here, but `{}`", names.join("::")))
        })
        .collect()
}

fn names(path: &str, text: &str) -> Vec<Violation> {
    let code = production(text);
    let mut violations = Vec::new();
    for (rule, searched, _, why) in NAMES.iter().filter(|(_, _, homes, _)| !inside_any(path, homes)) {
        for line in lines_with(&code, searched) {
            let found = code.lines().nth(line - 1).unwrap_or_default().trim();
            violations.push(violation(path, line, rule, format!("{why}: `{found}`")));
        }
    }
    violations
}

/// Unlike the other bans this one is about tests: a test that nobody runs guards nothing.
fn ignored_tests(path: &str, text: &str) -> Vec<Violation> {
    lines_with(&mask(text, Literals::Blanked), r"#\s*\[\s*ignore\b")
        .map(|line| violation(path, line, "bans", "no test is ignored; delete it or make it run"))
        .collect()
}

fn gradient_cuts(path: &str, text: &str, allowed: &[(&str, &str)]) -> Vec<Violation> {
    if !inside_any(path, &["src/engine", "src/objective"]) {
        return Vec::new();
    }
    let code = production(text);
    let paths = paths(&code);
    let ours = own_names(&code, &paths);
    let mut found: Vec<(usize, String)> = Vec::new();
    for (line, names) in paths.iter().filter(|(_, names)| !ours.contains(&names[0])) {
        found
            .extend(names[1..].iter().filter(|name| CUTS_BY_PATH.contains(&name.as_str())).map(|n| (*line, n.clone())));
    }
    let by_name = pattern(CUTS_BY_NAME);
    found.extend(by_name.find_iter(&code).map(|hit| (line_of(&code, hit.start()), hit.as_str().to_owned())));
    found
        .into_iter()
        .filter(|(_, name)| !allowed.contains(&(path, name.as_str())))
        .map(|(line, name)| violation(path, line, "gradients", format!("candle's `{name}` has no backward pass")))
        .collect()
}

fn function_lengths(path: &str, text: &str, allowed: &[(&str, &str, usize)]) -> Vec<Violation> {
    let functions = functions(&mask(text, Literals::Blanked));
    let mut violations = Vec::new();
    for (name, line, length) in &functions {
        let entry = allowed.iter().find(|entry| (entry.0, entry.1) == (path, name.as_str()));
        violations.extend(ratchet(path, *line, &format!("`{name}`"), *length, MOST_FUNCTION_LINES, entry.map(|e| e.2)));
    }
    for entry in allowed.iter().filter(|entry| entry.0 == path && !functions.iter().any(|f| f.0 == entry.1)) {
        violations.push(violation(path, 1, "length", format!("`{}` is gone; strike it from tests/tidy.rs", entry.1)));
    }
    violations
}

fn file_length(path: &str, text: &str, allowed: &[(&str, usize)]) -> Vec<Violation> {
    let entry = allowed.iter().find(|entry| entry.0 == path);
    ratchet(path, 1, "the file", text.lines().count(), MOST_FILE_LINES, entry.map(|entry| entry.1))
        .into_iter()
        .collect()
}

/// A part of an ordered module may import the parts before it.
fn order(uses: &Uses, orders: &[(&str, &[&str])]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (module, parts) in orders {
        let place = |file: &str| {
            let part = file.strip_prefix(module)?.strip_prefix("::")?.split("::").next()?;
            Some((part.to_owned(), parts.iter().position(|listed| *listed == part)))
        };
        for (file, path) in &uses.files {
            let Some((part, own)) = place(file) else { continue };
            let Some(own) = own else {
                let detail = format!("`{part}` is not in ORDERS of tests/tidy.rs");
                violations.push(violation(path, 1, "order", detail));
                continue;
            };
            for (line, target) in uses.of.get(file).into_iter().flatten() {
                if let Some((other, Some(at))) = place(target)
                    && at > own
                {
                    let detail = format!("`{part}` may not import `{other}`, which stands after it in {module}");
                    violations.push(violation(path, *line, "order", detail));
                }
            }
        }
        let exists = |part: &&&str| uses.files.keys().any(|file| place(file).is_some_and(|(other, _)| other == **part));
        for part in parts.iter().filter(|part| !exists(part)) {
            let detail = format!("`{part}` is gone; strike it from ORDERS of tests/tidy.rs");
            violations.push(violation(&format!("src/{}/mod.rs", module.replace("::", "/")), 1, "order", detail));
        }
    }
    violations
}

/// Files of an ordered module that reach themselves through what they import.
fn circles(uses: &Uses, orders: &[(&str, &[&str])]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (module, _) in orders {
        let within = |file: &&str| holds(module, file);
        let targets = |file: &str| {
            let found = uses.of.get(file).into_iter().flatten();
            found.map(|(_, target)| target.as_str()).filter(within).collect::<Vec<_>>()
        };
        let reached: BTreeMap<&str, BTreeSet<&str>> = uses
            .files
            .keys()
            .map(String::as_str)
            .filter(within)
            .map(|file| {
                let (mut seen, mut next) = (BTreeSet::new(), targets(file));
                while let Some(at) = next.pop() {
                    if seen.insert(at) {
                        next.extend(targets(at));
                    }
                }
                (file, seen)
            })
            .collect();
        for (file, seen) in &reached {
            let circle: Vec<&str> = seen.iter().filter(|other| reached[**other].contains(file)).copied().collect();
            // The first of them tells for all.
            if circle.first() == Some(file) {
                let detail = format!("these import one another in a circle: {}", circle.join(", "));
                violations.push(violation(&uses.files[*file], 1, "circles", detail));
            }
        }
    }
    violations
}

/// Holds `lines` to `most`, or to the exception in its place, which must be exact so that it can only fall.
fn ratchet(
    path: &str,
    at: usize,
    what: &str,
    lines: usize,
    most: usize,
    exception: Option<usize>,
) -> Option<Violation> {
    let detail = match exception {
        None if lines > most => format!("{what} has {lines} lines; at most {most}"),
        Some(limit) if lines > limit => format!("{what} grew from {limit} to {lines} lines"),
        Some(_) if lines <= most => format!("{what} is within {most} lines; strike its exception from tests/tidy.rs"),
        Some(limit) if lines < limit => format!("{what} has {lines} lines; lower its exception of {limit}"),
        _ => return None,
    };
    Some(violation(path, at, "length", detail))
}

// Reading Rust.

/// The top-level module a file belongs to.
fn module_of(path: &str) -> &str {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
}

/// Whether a file is the module at `module` (`src/store`) or below it.
fn inside(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn inside_any(path: &str, modules: &[&str]) -> bool {
    modules.iter().any(|module| inside(path, module))
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are valid")
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn lines_with(code: &str, searched: &str) -> impl Iterator<Item = usize> {
    pattern(searched).find_iter(code).map(|hit| line_of(code, hit.start())).collect::<Vec<_>>().into_iter()
}

/// The code outside test modules, with comments and literals blanked.
fn production(text: &str) -> String {
    without_tests(&mask(text, Literals::Blanked))
}

/// A `#[cfg(test)]` that is followed by a module, with the module's name and whether its body follows.
fn test_module() -> Regex {
    pattern(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*([;{])")
}

/// Ends the text before the first test module with a body; one in a file of its own is skipped.
fn without_tests(code: &str) -> String {
    let end = test_module()
        .captures_iter(code)
        .find(|test| &test[2] == "{")
        .map_or(code.len(), |test| test.get_match().start());
    code[..end].to_owned()
}

/// The modules, as `src/engine/fixtures`, that a file declares as tests in files of their own.
fn test_modules_of(path: &str, text: &str) -> Vec<String> {
    let folder = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let code = mask(text, Literals::Blanked);
    test_module()
        .captures_iter(&code)
        .filter(|test| &test[2] == ";")
        .map(|test| format!("{folder}/{}", &test[1]))
        .collect()
}

/// Every path of two or more names with the line of its last one; `use a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(code: &str) -> Vec<(usize, Vec<String>)> {
    let start = pattern(r"(?:^|[^\w:])(?:::\s*)?([A-Za-z_]\w*)\s*::");
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(root) = start.captures_at(code, at).and_then(|hit| hit.get(1)) {
        at = read_path(code, root.start(), &mut Vec::new(), &mut found);
    }
    found.retain(|(_, names)| names.len() > 1);
    found
}

/// Reads the path or tree of paths at `at` and returns where it ends.
fn read_path(code: &str, mut at: usize, names: &mut Vec<String>, found: &mut Vec<(usize, Vec<String>)>) -> usize {
    let skip_space = |at: usize| at + code[at..].len() - code[at..].trim_start().len();
    loop {
        at = skip_space(at);
        if code[at..].starts_with('{') {
            at = skip_space(at + 1);
            while !code[at..].starts_with('}') {
                let after = read_path(code, at, &mut names.clone(), found);
                if after == at {
                    return at;
                }
                // Over ` as name` as well.
                at = after + code[after..].find([',', '}']).unwrap_or(code.len() - after);
                at = skip_space(at + usize::from(code[at..].starts_with(',')));
            }
            return at + 1;
        }
        let length = code[at..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len() - at);
        if length > 0 {
            names.push(code[at..at + length].to_owned());
            at += length;
            let next = skip_space(at);
            if code[next..].starts_with("::") {
                at = next + 2;
                continue;
            }
        }
        found.push((line_of(code, at), names.clone()));
        return at;
    }
}

/// The first name of a path below the crate's root, where it is reached by `crate` or by enough `super`.
fn from_crate_root<'a>(path: &str, names: &'a [String]) -> Option<&'a str> {
    let depth = path.trim_end_matches("/mod.rs").matches('/').count();
    let ups = names.iter().take_while(|name| *name == "super").count();
    let target = if names[0] == "crate" {
        names.get(1)
    } else if ups > 0 && ups >= depth {
        names.get(ups)
    } else {
        None
    };
    target.map(String::as_str)
}

/// Which files import which, by the names of their modules (`engine::model::head`). A file may import the modules that
/// it lies in, and these may import it: a folder's `mod.rs` is where its files are put together.
struct Uses {
    /// The paths of the files.
    files: BTreeMap<String, String>,
    /// For each file the others that it names, with the lines.
    of: BTreeMap<String, Vec<(usize, String)>>,
}

impl Uses {
    fn of(sources: &[&(String, String)]) -> Self {
        let files: BTreeMap<String, String> =
            sources.iter().map(|(path, _)| (module_name(path), path.clone())).collect();
        let mut named: BTreeMap<String, Vec<(usize, Vec<String>)>> = BTreeMap::new();
        let mut imported: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
        for (path, text) in sources {
            let (module, code) = (module_name(path), production(text));
            let whole = |names: &[String]| from_root(&module, names, &files);
            for names in imports_of(&code) {
                if let (Some(last), Some(target)) = (names.last(), whole(&names)) {
                    imported.entry(module.clone()).or_default().insert(last.clone(), target);
                }
            }
            let found = paths(&code).into_iter().filter_map(|(line, names)| Some((line, whole(&names)?)));
            named.insert(module.clone(), found.collect());
        }
        let mut uses = Self { files, of: BTreeMap::new() };
        for (module, found) in named {
            let targets = found.into_iter().filter_map(|(line, names)| Some((line, uses.file(&names, &imported, 0)?)));
            let others = targets.filter(|(_, target)| !holds(target, &module) && !holds(&module, target));
            let others = others.collect();
            uses.of.insert(module, others);
        }
        uses
    }

    /// The file in which something is, followed through what other files import and pass on.
    fn file(
        &self,
        names: &[String],
        imported: &BTreeMap<String, BTreeMap<String, Vec<String>>>,
        depth: usize,
    ) -> Option<String> {
        let length = (1..=names.len()).rev().find(|length| self.files.contains_key(&names[..*length].join("::")))?;
        let module = names[..length].join("::");
        let passed_on = names.get(length).and_then(|name| imported.get(&module)?.get(name));
        if let Some(target) = passed_on.filter(|target| depth < 8 && target[..] != names[..=length]) {
            let whole = [&target[..], &names[length + 1..]].concat();
            return self.file(&whole, imported, depth + 1).or(Some(module));
        }
        Some(module)
    }
}

/// The name of a file's module, `engine::model::head`; of the crate's root it is empty.
fn module_name(path: &str) -> String {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
    if inner == "lib" { String::new() } else { inner.replace('/', "::") }
}

/// Whether a module is another or lies in it.
fn holds(outer: &str, inner: &str) -> bool {
    outer.is_empty() || inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
}

/// A path from the crate's root, where it leads to this crate.
fn from_root(module: &str, names: &[String], files: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let own: Vec<String> = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let ups = names.iter().take_while(|name| *name == "super").count();
    match names[0].as_str() {
        "crate" => Some(names[1..].to_vec()),
        "self" => Some([&own[..], &names[1..]].concat()),
        "super" => Some([own.get(..own.len().checked_sub(ups)?)?, &names[ups..]].concat()),
        first => {
            let below = if module.is_empty() { first.to_owned() } else { format!("{module}::{first}") };
            files.contains_key(&below).then(|| [&own[..], names].concat())
        }
    }
}

/// The paths that `use` brings into a file; `use a::{self, b as c}` is `a` and `a::b`.
fn imports_of(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for hit in pattern(r"\buse\s+(?:::\s*)?").find_iter(code) {
        read_path(code, hit.end(), &mut Vec::new(), &mut found);
    }
    let own = |(_, mut names): (usize, Vec<String>)| {
        if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
            names.pop();
        }
        names
    };
    found.into_iter().map(own).filter(|names| !names.is_empty()).collect()
}

/// Names that stand for modules of this crate in a file: what it declares and what it imports from the crate.
fn own_names(code: &str, paths: &[(usize, Vec<String>)]) -> BTreeSet<String> {
    let roots = ["crate", "super", "self", "Self"].map(str::to_owned);
    let declared = pattern(r"\b(?:mod|struct|enum|trait)\s+(\w+)");
    let mut ours: BTreeSet<String> = declared.captures_iter(code).map(|hit| hit[1].to_owned()).collect();
    ours.extend(
        paths.iter().filter(|(_, names)| roots.contains(&names[0])).filter_map(|(_, names)| names.last().cloned()),
    );
    ours.extend(roots);
    ours
}

/// Every function with a body: its name, its line and how many lines it takes from `fn` to its last brace.
fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for head in pattern(r"\bfn\s+(\w+)").captures_iter(code) {
        let begin = head.get_match().start();
        let (mut nesting, mut braces) = (0_usize, 0_usize);
        for (offset, byte) in code.bytes().enumerate().skip(begin) {
            match byte {
                b'(' | b'[' => nesting += 1,
                b')' | b']' => nesting = nesting.saturating_sub(1),
                b';' if nesting == 0 && braces == 0 => break,
                b'{' => braces += 1,
                b'}' if braces == 1 => {
                    let line = line_of(code, begin);
                    found.push((head[1].to_owned(), line, line_of(code, offset) - line + 1));
                    break;
                }
                b'}' => braces = braces.saturating_sub(1),
                _ => {}
            }
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Literals {
    Kept,
    Blanked,
}

/// Blanks comments, and string and character literals unless they are kept; every line stays where it is.
fn mask(text: &str, literals: Literals) -> String {
    let mut masked = text.as_bytes().to_vec();
    let mut at = 0;
    while at < text.len() {
        let (end, blank) = if let Some(length) = comment(&text[at..]) {
            (at + length, true)
        } else if let Some(length) = literal(text, at) {
            (at + length, literals == Literals::Blanked)
        } else {
            (at + text[at..].chars().next().map_or(1, char::len_utf8), false)
        };
        if blank {
            masked[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        at = end;
    }
    String::from_utf8(masked).expect("whole characters are blanked")
}

/// The length of the comment that `text` begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    Some(at)
}

/// The length of the string or character literal that begins at `at`.
fn literal(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let follows_name = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let raw = if follows_name {
        None
    } else {
        rest.strip_prefix("br").or(rest.strip_prefix("cr")).or(rest.strip_prefix('r'))
    };
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&close).map_or(body.len(), |end| end + close.len());
        return Some(rest.len() - body.len() + end);
    }
    if let Some(body) = rest.strip_prefix('"') {
        let mut escaped = false;
        let end = body.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        return Some(end.map_or(rest.len(), |end| end + 2));
    }
    let body = rest.strip_prefix('\'')?;
    if body.starts_with('\\') {
        return body.get(2..)?.find('\'').map(|end| end + 4);
    }
    // Without a closing quote after one character it is a lifetime.
    let first = body.chars().next()?;
    body[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

// Every rule catches what was planted for it.

const TEST_MODULE: &str = "fn f() {}\n#[cfg(test)]\nmod tests {\n    PLANTED\n}\n";

fn hits(found: Vec<Violation>) -> Vec<usize> {
    found.into_iter().map(|violation| violation.line).collect()
}

#[test]
fn a_forbidden_import_is_found() {
    let planted = [
        ("src/api/jobs.rs", "use crate::job;\nuse crate::engine::train;", 2),
        ("src/api/mod.rs", "use crate::{\n    job::{JobId, spec::JobSpec as Spec},\n    worker,\n};", 3),
        ("src/engine/model/llama.rs", "fn f() {\n    super::super::super::store::open();\n}", 2),
        ("src/engine/mod.rs", "use super::store::Store;", 1),
        ("src/store/queue.rs", "pub(crate) use ::std::fs;\nlet t = crate::clock::now();", 2),
        ("src/job/mod.rs", "#[cfg(test)]\nmod fixtures;\nuse crate::objective;", 3),
        ("src/verifier/mod.rs", "let c = '\"'; crate::dataset::f(); let d = '\"';", 1),
        ("src/clock.rs", "use crate::config::Config;", 1),
        ("src/objective/bolt.rs", "macro_rules! m { () => { $crate::engine::f() } }", 1),
        ("src/modelfile/gguf.rs", "let text = r#\"\"quoted\"\"#; let x = crate::store::f();", 1),
        ("src/newcomer.rs", "", 1),
    ];
    for (path, text, line) in planted {
        assert_eq!(hits(imports(path, text)), [line], "{path}: {text}");
        assert!(imports("src/cli/run.rs", text).is_empty(), "{text}");
    }
    let fine = "use crate::{job::JobId, engine::x};\nuse super::store::f;\n// crate::store\nlet s = \"crate::store\";";
    assert_eq!(hits(imports("src/engine/train.rs", fine)), [0; 0]);
    assert_eq!(hits(imports("src/job/mod.rs", &TEST_MODULE.replace("PLANTED", "use crate::store;"))), [0; 0]);
    assert_eq!(test_modules_of("src/job/mod.rs", "#[cfg(test)]\nmod fixtures;"), ["src/job/fixtures"]);
}

/// Sources in a crate of their own.
fn crate_of(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_part_that_imports_a_later_one_is_found() {
    let found = |files: &[(&str, &str)]| {
        let sources = crate_of(files);
        let uses = Uses::of(&sources.iter().collect::<Vec<_>>());
        hits(order(&uses, &[("engine", &["ops", "model", "train"])]))
    };
    let rest = [
        ("src/engine/mod.rs", "mod ops;\nmod model;\nmod train;\npub use train::run;\npub use ops::add;"),
        ("src/engine/ops/mod.rs", "mod gate;\npub fn add() {}"),
        ("src/engine/train.rs", "use super::model::head::Head;\nuse super::ops::add;"),
        ("src/engine/model/mod.rs", "pub mod head;"),
        ("src/engine/model/head.rs", "pub struct Head;"),
    ];
    let with = |path: &str, text: &str| {
        let mut files: Vec<(&str, &str)> = rest.iter().copied().filter(|(other, _)| *other != path).collect();
        files.push((path, text));
        found(&files)
    };
    assert_eq!(found(&rest), [0; 0]);
    for text in [
        "\nuse crate::engine::model::head::Head;",
        "\nuse super::super::train::run;",
        "\nfn f() { crate::engine::run() }",
        "\nuse super::super::{\nmodel::{head::Head as Other}};",
    ] {
        assert!(matches!(with("src/engine/ops/gate.rs", text)[..], [2 | 3]), "{text}");
    }
    for fine in ["use super::add;", "use crate::engine::add;", "use crate::engine::Other;", "// crate::engine::train"] {
        assert_eq!(with("src/engine/ops/gate.rs", fine), [0; 0], "{fine}");
    }
    assert_eq!(with("src/engine/newcomer.rs", ""), [1]);
    assert_eq!(found(&rest[..3]), [1], "a part that is gone is struck from the list");
}

#[test]
fn files_in_a_circle_are_found() {
    let found = |files: &[(&str, &str)]| {
        let sources = crate_of(files);
        let uses = Uses::of(&sources.iter().collect::<Vec<_>>());
        circles(&uses, &[("store", &[])]).into_iter().map(|violation| violation.path).collect::<Vec<_>>()
    };
    let circle = [
        (
            "src/store/mod.rs",
            "mod queue;
mod events;
mod jobs;
pub use events::append;
use jobs::Row;",
        ),
        ("src/store/queue.rs", "use super::append;"),
        (
            "src/store/events.rs",
            "pub fn append() { super::jobs::status() }
use super::Store;",
        ),
        ("src/store/jobs/mod.rs", "mod row;"),
        (
            "src/store/jobs/row.rs",
            "use crate::store::queue::{self as line, fence};
use std::fmt;",
        ),
    ];
    // A folder's own file is where it is put together, so that this is none yet.
    assert_eq!(found(&circle), [""; 0]);
    let through = |text| [circle[0], circle[1], ("src/store/events.rs", text), circle[3], circle[4]];
    for text in ["use super::jobs::row::Row;", "fn f() { crate::store::jobs::row::f() }"] {
        assert_eq!(found(&through(text)), ["src/store/events.rs"], "{text}");
    }
    let in_a_test = TEST_MODULE.replace("PLANTED", "use super::super::jobs::row::Row;");
    assert_eq!(found(&through(&in_a_test)), [""; 0]);
}

#[test]
fn a_name_out_of_place_is_found() {
    let planted = [
        ("src/api/jobs.rs", "sqlx::query(x)", "src/store/jobs.rs"),
        ("src/worker/mod.rs", "use axum::Router;", "src/api/mod.rs"),
        ("src/job/spec.rs", "#[derive(utoipa::ToSchema)]", "src/api/jobs.rs"),
        ("src/cli/serve.rs", "tower_http::trace()", "src/api/mod.rs"),
        ("src/worker/mod.rs", "candle_core::Device", "src/objective/math.rs"),
        ("src/store/mod.rs", "std::env::var_os(name)", "src/config.rs"),
        ("src/store/mod.rs", "let t = SystemTime::now();", "src/clock.rs"),
        ("src/store/mod.rs", "println!(x)", "src/cli/run.rs"),
        ("src/api/mod.rs", "tokio::fs::read(x)", "src/store/mod.rs"),
        ("src/store/mod.rs", "#[cfg(feature = \"cuda\")]", "src/engine/device.rs"),
        ("src/device/mod.rs", "#[cfg(feature = \"cuda\")]", "src/device/nvml.rs"),
        ("src/verifier/exact.rs", "use std::{fmt, fs::File};", "src/verifier/outside/mod.rs"),
        ("src/verifier/exact.rs", "use crate::outbound::sign;", "src/verifier/outside/mod.rs"),
        ("src/objective/mod.rs", "use std::time::{Duration, Instant};", "src/engine/mod.rs"),
        ("src/objective/mod.rs", "std::net::TcpStream::connect()", "src/engine/mod.rs"),
    ];
    let rules = |path: &str, text: &str| hits([names, cuda, purity].iter().flat_map(|rule| rule(path, text)).collect());
    for (path, text, home) in planted {
        assert_eq!((rules(path, text), rules(home, text)), (vec![1], vec![]), "{path}: {text}");
        assert_eq!(rules(path, &TEST_MODULE.replace("PLANTED", text)), [0; 0], "{text}");
    }
    for banned in ["todo!()", "unimplemented!()", "dbg!(x)", "x\n.unwrap()"] {
        assert_eq!(rules("src/cli/run.rs", banned).len(), 1, "{banned}");
    }
    for fine in ["x.unwrap_or(1)", "eprintln!()", "std::time::Duration::ZERO", "env!(\"X\")", "std::env::args()"] {
        assert_eq!(rules("src/objective/mod.rs", fine), [0; 0], "{fine}");
    }
    assert_eq!(hits(ignored_tests("src/job/id.rs", &TEST_MODULE.replace("PLANTED", "#[ignore = \"slow\"]"))), [4]);
}

#[test]
fn a_function_without_backward_pass_is_found() {
    for text in [
        "candle_nn::ops::rms_norm(x)",
        "ops::layer_norm(x)",
        "use candle_nn::{ops::{rms_norm}, Linear};",
        "candle_nn::rotary_emb::rope_thd(q)",
        "use candle_nn::RmsNorm;",
        "softmax_last_dim(x)",
        "cache.slice_set(x)",
        "candle_flash_attn::flash_attn_varlen(q)",
    ] {
        assert!(!gradient_cuts("src/engine/model/layers.rs", text, &[]).is_empty(), "{text}");
        assert!(gradient_cuts("src/store/mod.rs", text, &[]).is_empty(), "{text}");
    }
    for fine in ["use super::ops;\nops::rms_norm(x)", "mod ops;\nops::rope(x)", "crate::engine::ops::rms_norm(x)"] {
        assert!(gradient_cuts("src/engine/train.rs", fine, &[]).is_empty(), "{fine}");
    }
    let allowed = [("src/engine/sampler/cache.rs", "slice_set")];
    assert_eq!(hits(gradient_cuts("src/engine/sampler/cache.rs", "slice_set\nrope::rope()", &allowed)), [2]);
}

#[test]
fn lengths_may_only_fall() {
    let function = |lines: usize| format!("\nfn f(x: [u8; 2]) {{{}}}\nfn g();", "\n// }".repeat(lines - 2) + "\n");
    let measure =
        |lines, allowed: &[(&str, &str, usize)]| hits(function_lengths("src/a.rs", &function(lines), allowed));
    assert_eq!((measure(70, &[]), measure(71, &[])), (vec![], vec![2]));
    let exception = [("src/a.rs", "f", 80)];
    assert_eq!([79, 80, 81, 70].map(|lines| measure(lines, &exception).len()), [1, 0, 1, 1]);
    assert_eq!(measure(9, &[("src/a.rs", "gone", 80)]), [1]);
    let file = |lines: usize, allowed: &[(&str, usize)]| file_length("src/a.rs", &"\n".repeat(lines), allowed).len();
    assert_eq!((file(600, &[]), file(601, &[]), file(650, &[("src/a.rs", 650)])), (0, 1, 0));
}
