//! `anneal doctor`: looks at everything that can be wrong with a data directory and this machine, and says what to do.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use serde_json::json;

use super::output::Output;
use crate::config::Config;
use crate::device::Machine;
use crate::outbound::{Guard, check_url};
use crate::store::{NamedFile, RESERVE, Store};
use crate::verifier::sandbox;
use crate::webhook;
use crate::worker::chain;

/// What is told of many faults of one kind.
const TOLD: usize = 20;
/// Files that a server with many streams keeps open.
const FILES: u64 = 16_384;
const LIMIT: Duration = Duration::from_secs(2);
/// Endpoints of webhooks whose hosts are looked up.
const WEBHOOKS: u32 = 100;
/// How long that may take.
const LOOK_UPS: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing is wrong (there may be warnings), 1 something is.

Nothing is changed but by --reseal, and a server may run meanwhile. --deep reads every file and every page.

Every page of the database has a checksum. Another program (sqlite3, a script) does not keep them when it writes to the
database, and what it wrote is then taken for damage. Stop the server and run --reseal to have it believed.")]
pub struct Args {
    /// Also compare every file with its digest, and indexes and references with rows
    #[arg(long)]
    deep: bool,
    /// First make the checksums of the database's pages anew, when another program has written to it
    #[arg(long)]
    reseal: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Warning,
    Error,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    verdict: Verdict,
    /// What was found and, unless it is well, what to do.
    detail: String,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, check: &'static str, verdict: Verdict, detail: impl Into<String>) {
        self.0.push(Finding { check, verdict, detail: detail.into() });
    }

    fn ok(&mut self, check: &'static str, detail: impl Into<String>) {
        self.add(check, Verdict::Ok, detail);
    }

    fn worst(&self) -> Verdict {
        let any = |verdict| self.0.iter().any(|finding| finding.verdict == verdict);
        match (any(Verdict::Error), any(Verdict::Warning)) {
            (true, _) => Verdict::Error,
            (false, true) => Verdict::Warning,
            (false, false) => Verdict::Ok,
        }
    }
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut findings = Findings::default();
    findings.ok("version", concat!("this is anneal ", env!("ANNEAL_BUILD")));
    if args.reseal {
        runtime.block_on(Store::reseal(&config.data_dir))?;
    }
    runtime.block_on(look(config, args.deep, &mut findings));
    let worst = findings.worst();
    let answer = json!({"object": "diagnosis", "verdict": worst, "findings": findings.0});
    Output { json: args.json }.answer(&answer, || people(&findings));
    Ok(if worst == Verdict::Error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn people(findings: &Findings) -> String {
    let line = |finding: &Finding| {
        let sign = match finding.verdict {
            Verdict::Ok => "ok     ",
            Verdict::Warning => "warning",
            Verdict::Error => "ERROR  ",
        };
        format!("{sign}  {:<11}  {}\n", finding.check, finding.detail)
    };
    findings.0.iter().map(line).collect()
}

async fn look(config: &Config, deep: bool, findings: &mut Findings) {
    look_at_machine(config, findings);
    look_at_programs(config, findings);
    look_at_verifiers(config, findings);
    let directory = &config.data_dir;
    match directory.metadata() {
        Err(error) => {
            let detail = format!("{}: {error}; a server that is started makes it", directory.display());
            return findings.add("directory", Verdict::Warning, detail);
        }
        Ok(metadata) if metadata.mode() & 0o002 != 0 => {
            let detail = format!("everybody may write to {0}; chmod o-w {0}", directory.display());
            findings.add("directory", Verdict::Error, detail);
        }
        Ok(metadata) if metadata.mode() & 0o004 != 0 => {
            let detail = format!(
                "everybody on this machine may read {0}, with data and secrets; chmod o-rx {0}",
                directory.display()
            );
            findings.add("directory", Verdict::Warning, detail);
        }
        Ok(_) => findings.ok("directory", format!("{}", directory.display())),
    }
    let store = match super::open_to_read(config).await {
        Ok(store) => store,
        Err(error) => return findings.add("database", Verdict::Error, chain(&error)),
    };
    look_at_disk(&store, findings);
    look_at_port(config, store.files().has_server(), findings);
    match store.database_faults(deep).await {
        Ok(faults) if faults.is_empty() => match store.has_checksums().await {
            Ok(true) => findings.ok("database", if deep { "whole" } else { "its pages are whole" }),
            Ok(false) => {
                let detail = "whole, but its pages have no checksums yet, which a server that starts gives them";
                findings.add("database", Verdict::Warning, detail);
            }
            Err(error) => findings.add("database", Verdict::Error, chain(&error)),
        },
        Ok(faults) => {
            let detail = format!(
                "{}; restore a backup (anneal restore), or run `anneal doctor --reseal` if another program has written to it",
                some(&faults)
            );
            findings.add("database", Verdict::Error, detail);
        }
        Err(error) => findings.add("database", Verdict::Error, chain(&error)),
    }
    match store.webhook_urls(WEBHOOKS + 1).await {
        Ok(urls) => look_at_webhooks(config, urls, findings),
        Err(error) => findings.add("webhooks", Verdict::Error, chain(&error)),
    }
    match store.named_files().await {
        Ok(named) => look_at_files(&store, &named, deep, findings).await,
        Err(error) => findings.add("files", Verdict::Error, chain(&error)),
    }
}

fn look_at_machine(config: &Config, findings: &mut Findings) {
    match Machine::open(&config.devices, &config.data_dir).and_then(|machine| machine.read_all()) {
        Ok(devices) => {
            let names: Vec<String> =
                devices.iter().map(|device| format!("{} ({})", device.name, device.description)).collect();
            findings.ok("devices", names.join(", "));
        }
        Err(error) => findings.add("devices", Verdict::Error, error.to_string()),
    }
    match getrlimit(Resource::Nofile).maximum {
        Some(limit) if limit < FILES => {
            let detail =
                format!("a process may open {limit} files; every stream is one: raise the hard limit (ulimit -Hn)");
            findings.add("open files", Verdict::Warning, detail);
        }
        limit => findings.ok("open files", limit.map_or(String::from("no limit"), |limit| format!("at most {limit}"))),
    }
}

/// Whether programs of `code` verifiers run here, each language by itself.
fn look_at_programs(config: &Config, findings: &mut Findings) {
    let languages = sandbox::languages(&config.verifiers);
    if languages.is_empty() {
        return findings.ok("programs", "are not run: [verifiers] has no `code = true`");
    }
    for language in languages {
        match sandbox::missing(&config.verifiers, language) {
            None => findings.ok("programs", format!("`{language}` runs in a sandbox")),
            Some(missing) => findings.add("programs", Verdict::Error, format!("`{language}`: {missing}")),
        }
    }
    if config.verifiers.cgroup.is_none() {
        findings.ok("programs", "each process has its limits; verifiers.cgroup would give rooms limits as a whole");
    }
}

fn look_at_disk(store: &Store, findings: &mut Findings) {
    let reserve = store.has_reserve();
    match store.free_bytes() {
        Ok(_) if store.is_full() => {
            findings.add("disk", Verdict::Error, "the disk is full; delete jobs, checkpoints or data sets");
        }
        Ok(free) if !reserve || free < 4 * RESERVE => {
            let detail = format!("{free} bytes are free: that is little; delete jobs, checkpoints or data sets");
            let missing = !reserve && free >= 4 * RESERVE;
            let detail =
                if missing { format!("{free} bytes are free; a running server keeps a reserve") } else { detail };
            findings.add("disk", if missing { Verdict::Ok } else { Verdict::Warning }, detail);
        }
        Ok(free) => findings.ok("disk", format!("{free} bytes are free")),
        Err(error) => findings.add("disk", Verdict::Error, chain(&error)),
    }
}

/// Endpoints to which nothing is sent, as those that were made before a setting or a rule was another one.
fn look_at_webhooks(config: &Config, mut urls: Vec<(String, String)>, findings: &mut Findings) {
    let guard = match Guard::new(&config.webhook_allow_private, webhook::SETTING) {
        Ok(guard) => guard,
        Err(error) => return findings.add("webhooks", Verdict::Error, format!("webhook_allow_private: {error}")),
    };
    let first = if urls.len() > WEBHOOKS as usize { "the first " } else { "" };
    urls.truncate(WEBHOOKS as usize);
    let number = urls.len();
    let (tell, told) = mpsc::channel();
    // A resolver may be silent for longer than anybody waits.
    std::thread::spawn(move || {
        urls.into_iter().try_for_each(|(id, url)| tell.send(check_url(&guard, &url).map_err(|refusal| (id, refusal))))
    });
    let deadline = Instant::now() + LOOK_UPS;
    let next = || told.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    let looked_up: Vec<_> = std::iter::from_fn(next).take(number).collect();
    let missing = number - looked_up.len();
    let refused: Vec<String> =
        looked_up.into_iter().filter_map(Result::err).map(|(id, refusal)| format!("{id}: {refusal}")).collect();
    if missing > 0 {
        let detail = format!("the hosts of {missing} endpoints were not found in time; is the resolver well?");
        findings.add("webhooks", Verdict::Warning, detail);
    }
    if !refused.is_empty() {
        findings.add("webhooks", Verdict::Warning, format!("nothing is sent to {}", some(&refused)));
    } else if missing == 0 {
        findings.ok("webhooks", format!("{first}{number} endpoints may be sent to"));
    }
}

/// What the settings let verifiers use and this machine does not have.
fn look_at_verifiers(config: &Config, findings: &mut Findings) {
    let faults = config.verifiers.faults();
    match faults.is_empty() {
        true => findings.ok("verifiers", "what the settings let verifiers use is there"),
        false => findings.add("verifiers", Verdict::Warning, faults.join("; ")),
    }
}

fn look_at_port(config: &Config, has_server: bool, findings: &mut Findings) {
    let listen = config.listen;
    if has_server {
        let answers = TcpStream::connect_timeout(&listen, LIMIT).is_ok();
        let detail = if answers {
            format!("a server runs and {listen} answers")
        } else {
            format!("a server runs on this directory, though not on {listen}")
        };
        return findings.ok("server", detail);
    }
    match TcpListener::bind(listen) {
        Ok(_) => findings.ok("server", format!("none runs on this directory; {listen} is free")),
        Err(error) => {
            let detail =
                format!("none runs on this directory, and {listen} cannot be had: {error}; choose another --listen");
            findings.add("server", Verdict::Warning, detail);
        }
    }
}

/// Rows against files and, if `deep`, files against digests.
async fn look_at_files(store: &Store, named: &[NamedFile], deep: bool, findings: &mut Findings) {
    let (mut missing, mut damaged, mut bytes) = (Vec::new(), Vec::new(), 0);
    let bar = ProgressBar::new(named.iter().filter_map(|named| named.size).sum());
    if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} [{bar:24}] {bytes}/{total_bytes} {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    for NamedFile { file, size } in named {
        let path = store.files().root().join(file.name());
        // Of a bucket this machine has copies of some.
        if store.place().is_remote() && !path.exists() {
            match store.place().size(file).await {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing.push(file.name().to_owned()),
                Err(error) => damaged.push(format!("{}: {error}", file.name())),
                Ok(found) if size.is_some_and(|size| size != found) => {
                    damaged.push(format!("{} has {found} bytes and had {}", file.name(), size.unwrap_or(0)));
                }
                Ok(found) => bytes += found,
            }
            continue;
        }
        match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing.push(file.name().to_owned()),
            Err(error) => damaged.push(format!("{}: {error}", file.name())),
            Ok(metadata) => {
                bytes += metadata.len();
                if size.is_some_and(|size| size != metadata.len()) {
                    damaged.push(format!("{} has {} bytes and had {}", file.name(), metadata.len(), size.unwrap_or(0)));
                } else if let Some(Err(error)) = deep.then(|| file.check(&path)) {
                    damaged.push(error.to_string());
                }
                bar.inc(metadata.len());
            }
        }
    }
    bar.finish_and_clear();
    if !missing.is_empty() {
        let detail = format!(
            "not there, though rows name them: {}; delete what they belong to, or restore a backup",
            some(&missing)
        );
        findings.add("files", Verdict::Error, detail);
    }
    if !damaged.is_empty() {
        findings.add("files", Verdict::Error, some(&damaged));
    }
    if missing.is_empty() && damaged.is_empty() {
        let compared = if deep { "as they were stored" } else { "there (--deep compares their digests)" };
        findings.ok("files", format!("{} files of {bytes} bytes are {compared}", named.len()));
    }
}

/// The first of many.
fn some(faults: &[String]) -> String {
    let told = faults.iter().take(TOLD).cloned().collect::<Vec<_>>().join("; ");
    if faults.len() > TOLD { format!("{told}; and {} more", faults.len() - TOLD) } else { told }
}
