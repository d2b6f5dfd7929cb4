//! Settings: from flags, then the environment (`ANNEAL_*`), then `anneal.toml`, then defaults. This is the only
//! reader of the environment (through clap) and of the file.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::Deserialize;

use crate::hub::{Hub, PushTargets, Token};
use crate::job::device::{LOCAL_HOST, is_host_name};
use crate::job::launch::Launcher;
use crate::verifier::Outside;

/// What is wrong with the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("reading {path} failed")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a valid settings file: {detail}")]
    Invalid { path: PathBuf, detail: String },
    #[error("{setting}: {detail}")]
    Setting { setting: &'static str, detail: String },
}

/// About 31 hours in all, so that a receiver that is down over night loses nothing.
const WEBHOOK_RETRY_SECONDS: [u64; 7] = [5, 30, 120, 600, 3600, 21_600, 86_400];

/// Where models named `hf:owner/name` are.
const HUB: &str = "https://huggingface.co";

/// The variable that has what verifiers may use; how a server tells its workers.
pub const VERIFIERS: &str = "ANNEAL_VERIFIERS";

/// The variable that has the database's address, which may hold a password.
/// Where traces are sent, as programs usually are told.
const TRACES: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const DATABASE: &str = "ANNEAL_DATABASE";
/// The variable that has the bucket, and how the names of those begin that let into it.
const ARTIFACTS: &str = "ANNEAL_ARTIFACTS";
const STORAGE_PREFIX: &str = "AWS_";

/// Below this a worker does not start.
const LEAST_WORKER_MEMORY: u64 = 256 << 20;

/// Settings shared by the commands that work on a data directory. Every one can stand in `anneal.toml` under the same
/// name with underscores.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Settings")]
#[serde(deny_unknown_fields, default)]
pub struct SettingArgs {
    /// Settings file to read instead of ./anneal.toml (which may be absent)
    #[arg(long, env = "ANNEAL_CONFIG", value_name = "FILE", global = true)]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Folder for the database, data sets, models and checkpoints [default: anneal-data]
    #[arg(long, env = "ANNEAL_DATA_DIR", value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,

    /// Address of a PostgreSQL database, `postgres://user:password@host/name`, in the place of the one in the data
    /// directory [default: SQLite in the data directory]
    #[arg(long, env = DATABASE, value_name = "URL", hide_env_values = true, global = true)]
    pub database: Option<DatabaseUrl>,

    /// Where files are stored: `s3://bucket/prefix`, in an object storage whose keys and address are in the variables
    /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL; the data directory then keeps copies
    /// [default: in the data directory]
    #[arg(long, env = ARTIFACTS, value_name = "URL", global = true)]
    pub artifacts: Option<String>,

    /// Most bytes of copies that the data directory keeps of what is in the object storage; those go first that nobody has
    /// asked for for longest [default: half of its disk]
    #[arg(long, env = "ANNEAL_MAX_COPIED_BYTES", value_name = "BYTES", global = true)]
    pub max_copied_bytes: Option<u64>,

    /// Send clients to the object storage for what they download, with addresses that let in for 15 minutes, and let them send
    /// parts of uploads there; they must be able to reach it [default: false]
    #[arg(long, env = "ANNEAL_REDIRECT_DOWNLOADS", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true",
          value_parser = clap::builder::BoolishValueParser::new(), global = true)]
    pub redirect_downloads: Option<bool>,

    /// Seconds for which a server that is to end still serves while it says that it is not ready, so that a proxy sends
    /// nothing more [default: 0]
    #[arg(long, env = "ANNEAL_DRAIN_SECONDS", value_name = "SECONDS", global = true)]
    pub drain_seconds: Option<u64>,

    /// Name of this machine among those that share a database, with which the names of its devices begin [default: the
    /// machine's own; none with SQLite]
    #[arg(long, env = "ANNEAL_HOST_NAME", value_name = "NAME", global = true)]
    pub host_name: Option<String>,

    /// IP address of this machine for the other machines of a job on several [default: the one from which it talks to the server
    /// or, of a server, to the world]
    #[arg(long, env = "ANNEAL_RANK_ADDRESS", value_name = "ADDR", global = true)]
    pub rank_address: Option<IpAddr>,

    /// Address of an OpenTelemetry collector that traces are sent to over HTTP (OTLP) [default: none; nothing is traced]
    #[arg(long, env = TRACES, value_name = "URL", global = true)]
    pub otlp_endpoint: Option<String>,

    /// Address and port of the API; one that is not a loopback address needs an API key first, see `anneal keys`
    /// [default: 127.0.0.1:8080]
    #[arg(long, env = "ANNEAL_LISTEN", value_name = "ADDR:PORT", global = true)]
    pub listen: Option<SocketAddr>,

    /// Devices to run jobs on: `all` (the GPUs, or the CPU where there are none), `cpu`, or GPUs such as `0,2` or
    /// `cuda:0,cuda:1`; `none` where agents run all jobs; for tests simulated ones, `simulated:4` or
    /// `simulated:24GiB,80GiB` [default: all]
    #[arg(long, env = "ANNEAL_DEVICES", value_name = "LIST", global = true)]
    pub devices: Option<String>,

    /// Cores that computing may use, divided among the workers of this machine [default: all]
    #[arg(long, env = "ANNEAL_THREADS", value_name = "N", global = true)]
    pub threads: Option<usize>,

    /// Folders below which the API may import models; separate several by `:` [default: none]
    #[arg(long, env = "ANNEAL_IMPORT_ROOTS", value_name = "DIRS", value_delimiter = ':', global = true)]
    pub import_roots: Option<Vec<PathBuf>>,

    /// Address of the hub that serves models named `hf:owner/name`, or of a mirror of it [default: Hugging Face's]
    #[arg(long, env = "HF_ENDPOINT", value_name = "URL", global = true)]
    pub hub_endpoint: Option<String>,

    /// File with the hub's token, for models that are private or gated [default: the variable HF_TOKEN]
    #[arg(long, env = "HF_TOKEN_PATH", value_name = "FILE", global = true)]
    pub hub_token_file: Option<PathBuf>,

    /// Never ask the hub: only models that are here already can be named
    #[arg(long, env = "HF_HUB_OFFLINE", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true",
          value_parser = clap::builder::BoolishValueParser::new(), global = true)]
    pub hub_offline: Option<bool>,

    /// Repositories of the hub that exports may be pushed to with the server's token: owners, `owner/name`, and
    /// `owner/begin*`; separated by commas [default: none]
    #[arg(long, env = "ANNEAL_HUB_PUSH_TO", value_name = "LIST", value_delimiter = ',', global = true)]
    pub hub_push_to: Option<Vec<String>>,

    /// The hub's token itself, which belongs into no command line
    #[arg(long, env = "HF_TOKEN", hide = true, hide_env_values = true, global = true)]
    #[serde(skip)]
    pub hub_token: Option<String>,

    /// Host names besides localhost under which the server is reached, as through a proxy; separated by commas
    #[arg(long, env = "ANNEAL_ALLOWED_HOSTS", value_name = "NAMES", value_delimiter = ',', global = true)]
    pub allowed_hosts: Option<Vec<String>>,

    /// Largest data set upload in bytes [default: 2147483648]
    #[arg(long, env = "ANNEAL_MAX_UPLOAD_BYTES", value_name = "BYTES", global = true)]
    pub max_upload_bytes: Option<u64>,

    /// Requests a minute of each API key, unless its project has a limit of its own; 0 for no limit [default: 6000]
    #[arg(long, env = "ANNEAL_REQUESTS_PER_MINUTE", value_name = "N", global = true)]
    pub requests_per_minute: Option<u64>,

    /// Jobs that are not final of each project, unless it has a limit of its own; 0 for no limit [default: 100000]
    #[arg(long, env = "ANNEAL_MAX_UNFINISHED_JOBS", value_name = "N", global = true)]
    pub max_unfinished_jobs: Option<u64>,

    /// Bytes that each project may store, unless it has a limit of its own; 0 for no limit [default: 0]
    #[arg(long, env = "ANNEAL_MAX_STORAGE_BYTES", value_name = "BYTES", global = true)]
    pub max_storage_bytes: Option<u64>,

    /// Seconds after which a silent worker's job goes back to the queue [default: 15]
    #[arg(long, env = "ANNEAL_LEASE_SECONDS", value_name = "SECONDS", global = true)]
    pub lease_seconds: Option<u64>,

    /// Seconds after which a running job whose computing shows no sign of life is taken from its device, which is then
    /// checked [default: 300]
    #[arg(long, env = "ANNEAL_WATCHDOG_SECONDS", value_name = "SECONDS", global = true)]
    pub watchdog_seconds: Option<u64>,

    /// Most memory that a worker process may allocate beyond what it starts with, in bytes; a job that needs more ends
    /// its worker [default: the machine's memory; no limit for workers of GPUs]
    #[arg(long, env = "ANNEAL_WORKER_MEMORY_BYTES", value_name = "BYTES", global = true)]
    pub worker_memory_bytes: Option<u64>,

    /// Where webhooks may be sent besides public addresses by https at the ports 443 and 8443: networks such as
    /// `10.0.0.0/8` and host names, separated by commas [default: none]
    #[arg(long, env = "ANNEAL_WEBHOOK_ALLOW_PRIVATE", value_name = "LIST", value_delimiter = ',', global = true)]
    pub webhook_allow_private: Option<Vec<String>>,

    /// Seconds from each failed try of a webhook to the next one; after the last try it has failed for good
    /// [default: 5,30,120,600,3600,21600,86400]
    #[arg(
        long,
        env = "ANNEAL_WEBHOOK_RETRY_SECONDS",
        value_name = "LIST",
        value_delimiter = ',',
        hide = true,
        global = true
    )]
    pub webhook_retry_seconds: Option<Vec<u64>>,

    /// File with the key that secrets in the database are encrypted with: 32 bytes in base64, made if it is not there
    /// [default: secrets.key in the data directory]
    #[arg(long, env = "ANNEAL_SECRETS_KEY_FILE", value_name = "FILE", global = true)]
    pub secrets_key_file: Option<PathBuf>,

    /// What verifiers may use beyond the program, as JSON of the table `[verifiers]` of the settings file [default: nothing]
    #[arg(long, env = VERIFIERS, value_name = "JSON", hide_env_values = true, value_parser = read_outside, global = true)]
    pub verifiers: Option<Outside>,

    /// What starts machines for jobs that no device fits: tables `[[launchers]]` of the settings file.
    #[arg(skip)]
    pub launchers: Vec<Launcher>,

    /// Which log lines to write, for example `info` or `anneal=debug` [default: info]
    #[arg(long, env = "ANNEAL_LOG", value_name = "FILTER", global = true)]
    pub log: Option<String>,
}

/// Where a database is, which may hold a password and is therefore not shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DatabaseUrl(..)")
    }
}

impl FromStr for DatabaseUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_postgres = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        let wrong = "must begin with postgres://; without it SQLite is used, in the data directory";
        is_postgres.then(|| Self(text.to_owned())).ok_or(wrong)
    }
}

impl TryFrom<String> for DatabaseUrl {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Settings with every default filled in.
#[derive(Clone, Debug)]
pub struct Config {
    pub data_dir: PathBuf,
    /// Whether somebody chose it.
    pub names_data_dir: bool,
    /// None: SQLite, in the data directory.
    pub database: Option<DatabaseUrl>,
    /// None: in the data directory.
    pub artifacts: Option<String>,
    pub max_copied_bytes: Option<u64>,
    pub redirect_downloads: bool,
    pub drain_seconds: u64,
    pub host_name: String,
    pub rank_address: Option<IpAddr>,
    /// None: nothing is traced.
    pub otlp_endpoint: Option<String>,
    pub listen: SocketAddr,
    pub devices: String,
    pub threads: usize,
    pub import_roots: Vec<PathBuf>,
    pub hub_endpoint: String,
    pub hub_token: Option<Token>,
    pub hub_offline: bool,
    pub hub_push_to: PushTargets,
    pub allowed_hosts: Vec<String>,
    pub max_upload_bytes: u64,
    pub requests_per_minute: u64,
    pub max_unfinished_jobs: u64,
    pub max_storage_bytes: u64,
    pub lease_seconds: u64,
    pub watchdog_seconds: u64,
    /// None: as the device says.
    pub worker_memory_bytes: Option<u64>,
    pub webhook_allow_private: Vec<String>,
    pub webhook_retry_seconds: Vec<u64>,
    /// None: a file of the data directory.
    pub secrets_key_file: Option<PathBuf>,
    pub verifiers: Outside,
    pub launchers: Vec<Launcher>,
    pub log: String,
}

impl Config {
    /// Fills the gaps of `args` from the settings file and the defaults.
    pub fn load(args: SettingArgs) -> Result<Self, ConfigError> {
        let file = match &args.config {
            Some(path) => read(path)?,
            None if Path::new("anneal.toml").exists() => read(Path::new("anneal.toml"))?,
            None => SettingArgs::default(),
        };
        let data_dir = args.data_dir.or(file.data_dir);
        let database = args.database.or(file.database);
        let config = Self {
            names_data_dir: data_dir.is_some(),
            data_dir: data_dir.unwrap_or_else(|| PathBuf::from("anneal-data")),
            rank_address: args.rank_address.or(file.rank_address),
            otlp_endpoint: args.otlp_endpoint.or(file.otlp_endpoint).filter(|url| !url.is_empty()),
            host_name: args.host_name.or(file.host_name).unwrap_or_else(|| host_name(database.as_ref())),
            database,
            artifacts: args.artifacts.or(file.artifacts),
            max_copied_bytes: args.max_copied_bytes.or(file.max_copied_bytes),
            redirect_downloads: args.redirect_downloads.or(file.redirect_downloads).unwrap_or(false),
            drain_seconds: args.drain_seconds.or(file.drain_seconds).unwrap_or(0),
            listen: args.listen.or(file.listen).unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))),
            devices: args.devices.or(file.devices).unwrap_or_else(|| String::from("all")),
            threads: args.threads.or(file.threads).unwrap_or_else(cores),
            import_roots: args.import_roots.or(file.import_roots).unwrap_or_default(),
            hub_endpoint: args.hub_endpoint.or(file.hub_endpoint).unwrap_or_else(|| String::from(HUB)),
            hub_token: hub_token(args.hub_token, args.hub_token_file.or(file.hub_token_file))?,
            hub_offline: args.hub_offline.or(file.hub_offline).unwrap_or(false),
            hub_push_to: PushTargets::new(&args.hub_push_to.or(file.hub_push_to).unwrap_or_default())
                .map_err(|detail| ConfigError::Setting { setting: "hub_push_to", detail })?,
            allowed_hosts: allowed_hosts(args.allowed_hosts.or(file.allowed_hosts), &file.launchers),
            max_upload_bytes: args.max_upload_bytes.or(file.max_upload_bytes).unwrap_or(2 << 30),
            requests_per_minute: args.requests_per_minute.or(file.requests_per_minute).unwrap_or(6000),
            max_unfinished_jobs: args.max_unfinished_jobs.or(file.max_unfinished_jobs).unwrap_or(100_000),
            max_storage_bytes: args.max_storage_bytes.or(file.max_storage_bytes).unwrap_or(0),
            lease_seconds: args.lease_seconds.or(file.lease_seconds).unwrap_or(15),
            watchdog_seconds: args.watchdog_seconds.or(file.watchdog_seconds).unwrap_or(300),
            worker_memory_bytes: args.worker_memory_bytes.or(file.worker_memory_bytes),
            webhook_allow_private: args.webhook_allow_private.or(file.webhook_allow_private).unwrap_or_default(),
            webhook_retry_seconds: args
                .webhook_retry_seconds
                .or(file.webhook_retry_seconds)
                .unwrap_or_else(|| WEBHOOK_RETRY_SECONDS.to_vec()),
            secrets_key_file: args.secrets_key_file.or(file.secrets_key_file),
            verifiers: args.verifiers.or(file.verifiers).unwrap_or_default(),
            launchers: file.launchers,
            log: args.log.or(file.log).unwrap_or_else(|| String::from("info")),
        };
        config.check()?;
        Ok(config)
    }

    /// The address of the database, if it is not in the data directory.
    pub fn database_url(&self) -> Option<&str> {
        self.database.as_ref().map(DatabaseUrl::as_str)
    }

    /// What a worker must know to send traces where this process does: with the keys that a collector may want, so that it is
    /// no argument, which all users of a machine can read.
    pub fn traces(&self) -> impl Iterator<Item = (String, String)> {
        const PREFIX: &str = "OTEL_EXPORTER_OTLP_";
        let endpoint = self.otlp_endpoint.iter().map(|url| (TRACES.to_owned(), url.clone()));
        let more = std::env::vars().filter(|(name, _)| name.starts_with(PREFIX) && name != TRACES);
        endpoint.chain(more.filter(|_| self.otlp_endpoint.is_some()))
    }

    /// What workers have to know of a database and files that are not in the data directory, as variables.
    pub fn elsewhere(&self) -> Vec<(String, String)> {
        let told = [(DATABASE, self.database_url()), (ARTIFACTS, self.artifacts.as_deref())];
        let told = told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        told.chain(self.storage_environment()).collect()
    }

    /// What lets into the object storage, and where it is.
    pub fn storage_environment(&self) -> Vec<(String, String)> {
        if self.artifacts.is_none() {
            return Vec::new();
        }
        std::env::vars().filter(|(name, _)| name.starts_with(STORAGE_PREFIX)).collect()
    }

    /// Whether only this machine can reach the API.
    pub fn is_local(&self) -> bool {
        self.listen.ip().to_canonical().is_loopback()
    }

    /// The hub that serves models named `hf:owner/name`.
    pub fn hub(&self) -> Hub {
        Hub::new(&self.hub_endpoint, self.hub_token.clone(), self.hub_offline)
    }

    /// Where a client on this machine finds the API.
    pub fn own_url(&self) -> String {
        let mut address = self.listen;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        }
        format!("http://{address}")
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |setting, detail: &str| Err(ConfigError::Setting { setting, detail: detail.to_owned() });
        if !["http://", "https://"].iter().any(|scheme| self.hub_endpoint.starts_with(scheme)) {
            return wrong("hub_endpoint", "must begin with https:// or http://");
        }
        if self.artifacts.as_ref().is_some_and(|url| !url.starts_with("s3://") || url.len() < 6) {
            return wrong("artifacts", "must be s3://bucket or s3://bucket/prefix");
        }
        if self.drain_seconds > 3600 {
            return wrong("drain_seconds", "must be at most 3600");
        }
        if self.otlp_endpoint.as_ref().is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            return wrong("otlp_endpoint", "must be a URL of http or https, such as http://127.0.0.1:4318");
        }
        if self.rank_address.is_some_and(|address| address.is_unspecified()) {
            return wrong("rank_address", "must be an address at which other machines reach this one");
        }
        if !is_host_name(&self.host_name) {
            return wrong("host_name", "must be 1 to 63 lower-case letters, digits, `-`, `.` and `_`");
        }
        if !(1..=1024).contains(&self.threads) {
            return wrong("threads", "must lie between 1 and 1024");
        }
        if !(2..=3600).contains(&self.lease_seconds) {
            return wrong("lease_seconds", "must lie between 2 and 3600");
        }
        if !(2..=86_400).contains(&self.watchdog_seconds) {
            return wrong("watchdog_seconds", "must lie between 2 and 86400");
        }
        if self.worker_memory_bytes.is_some_and(|bytes| bytes < LEAST_WORKER_MEMORY) {
            return wrong("worker_memory_bytes", "must be at least 268435456 (256 MiB)");
        }
        let retries = &self.webhook_retry_seconds;
        if retries.len() > 20 || retries.iter().any(|seconds| *seconds > 7 * 86_400) {
            return wrong("webhook_retry_seconds", "at most 20 numbers, none above 604800");
        }
        for (i, launcher) in self.launchers.iter().enumerate() {
            launcher.check().or_else(|detail| wrong("launchers", &detail))?;
            if self.launchers[..i].iter().any(|other| other.name == launcher.name) {
                return wrong("launchers", &format!("two have the name `{}`", launcher.name));
            }
        }
        self.verifiers.check().map_err(|(setting, detail)| ConfigError::Setting { setting, detail })
    }
}

/// The names of the server: those that were given, and those by which launched machines find it.
fn allowed_hosts(named: Option<Vec<String>>, launchers: &[Launcher]) -> Vec<String> {
    let authority = |launcher: &Launcher| launcher.server.split('/').nth(2).unwrap_or_default().to_owned();
    let host = |authority: String| {
        let port = authority.rfind(':').filter(|colon| !authority[*colon..].contains(']'));
        authority[..port.unwrap_or(authority.len())].to_owned()
    };
    named.unwrap_or_default().into_iter().chain(launchers.iter().map(authority).map(host)).collect()
}

/// What a worker is given of the server's environment: what programs and drivers look for, and nothing that only the server
/// is to know, such as keys of other services.
pub fn worker_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_for_workers))
}

/// What the commands of a cluster's scheduler are given of it, and with them what they start: who asks, and where their
/// cluster is. What else is set here is for this machine.
pub fn scheduler_environment() -> impl Iterator<Item = (OsString, OsString)> {
    const NAMES: &[&str] = &["HOME", "LANG", "PATH", "SLURM_CONF", "TZ", "USER"];
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| NAMES.contains(&name)))
}

/// What [`Config::elsewhere`] told the process that this is, for those that it starts in its turn.
pub fn elsewhere() -> impl Iterator<Item = (OsString, OsString)> {
    let is_part = |name: &str| [DATABASE, ARTIFACTS].contains(&name) || name.starts_with(STORAGE_PREFIX);
    std::env::vars_os().filter(move |(name, _)| name.to_str().is_some_and(is_part))
}

fn is_for_workers(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "ANNEAL_INSTRUCTIONS",
        "ANNEAL_LOG",
        "HOME",
        "LANG",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "NO_COLOR",
        "PATH",
        "RUST_BACKTRACE",
        "RUST_LIB_BACKTRACE",
        "TMPDIR",
        "TZ",
        "USER",
        VERIFIERS,
    ];
    const PREFIXES: &[&str] = &["CUBLAS_", "CUDA_", "FAKETIME", "LC_", "MIMALLOC_", "NCCL_", "NVIDIA_"];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// What lets this server into the hub; an empty variable is none.
fn hub_token(token: Option<String>, file: Option<PathBuf>) -> Result<Option<Token>, ConfigError> {
    let token = match (token, file) {
        (Some(token), _) => token,
        // As other programs of the hub have it: a file that is not there is no token.
        (None, Some(path)) if path.exists() => {
            std::fs::read_to_string(&path).map_err(|source| ConfigError::Read { path, source })?
        }
        (None, _) => return Ok(None),
    };
    Ok(Some(token.trim()).filter(|token| !token.is_empty()).map(|token| Token(token.to_owned())))
}

/// The only machine of a database needs no name.
fn host_name(database: Option<&DatabaseUrl>) -> String {
    if database.is_none() {
        return LOCAL_HOST.to_owned();
    }
    machine_name()
}

/// What this machine calls itself.
pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase()
}

fn read_outside(text: &str) -> Result<Outside, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn read(path: &Path) -> Result<SettingArgs, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|error| ConfigError::Invalid { path: path.to_owned(), detail: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, SettingArgs) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anneal.toml");
        std::fs::write(&path, text).unwrap();
        (folder, SettingArgs { config: Some(path), ..SettingArgs::default() })
    }

    #[test]
    fn machines_that_are_launched_may_name_the_server_as_they_were_told() {
        let launcher = |server: &str| {
            let text = format!("name = 'a'\ntype = 'slurm'\nserver = '{server}'\nmemory = '1GiB'");
            toml::from_str::<Launcher>(&text).unwrap()
        };
        let servers =
            ["https://anneal.example.org", "http://10.0.0.1:8080/", "http://[fd00::1]:8080", "http://[fd00::2]"];
        let names = allowed_hosts(Some(vec![String::from("own")]), &servers.map(launcher));
        assert_eq!(names, ["own", "anneal.example.org", "10.0.0.1", "[fd00::1]", "[fd00::2]"]);
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let (_folder, mut args) = file("data_dir = \"/srv/anneal\"\nlease_seconds = 30\n");
        args.lease_seconds = Some(60);
        let config = Config::load(args).unwrap();
        assert_eq!((config.data_dir.to_str(), config.lease_seconds), (Some("/srv/anneal"), 60));
        assert_eq!(config.listen.port(), 8080);
    }

    #[test]
    fn workers_get_what_drivers_read_and_no_secrets() {
        assert!(["PATH", "CUDA_VISIBLE_DEVICES", "LC_ALL"].into_iter().all(is_for_workers));
        assert!(!["AWS_SECRET_ACCESS_KEY", "ANNEAL_API_KEY", "HF_TOKEN", "PATHS"].into_iter().any(is_for_workers));
    }

    #[test]
    fn unknown_settings_are_refused_and_public_addresses_are_known() {
        assert!(Config::load(file("data_dri = \"x\"").1).unwrap_err().to_string().contains("data_dri"));
        let public = SettingArgs { listen: Some(([0, 0, 0, 0], 80).into()), ..file("").1 };
        let (_folder, empty) = file("");
        let public = SettingArgs { config: empty.config, ..public };
        let public = Config::load(public).unwrap();
        assert!(!public.is_local());
        assert_eq!(public.own_url(), "http://127.0.0.1:80");
    }
}
