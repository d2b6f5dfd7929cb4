//! Servers that are remembered with the keys that let in, so that commands need neither: `anneal login`, `logout` and
//! `profiles`. The file is its owner's alone.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write, stdin};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{ApiKey, Client};
use super::output::{Output, Table};
use super::remote::{RemoteArgs, base};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal login https://anneal.example.com             asks for the key, and uses this server from now on
  anneal login gpu-box:8080 --as lab < key.txt
  anneal jobs list --profile lab                      another server than the present one")]
pub struct LoginArgs {
    /// The server
    url: String,
    /// What to call it [default: the server's host]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub struct LogoutArgs {
    /// The server, as `anneal profiles` calls it [default: the present one]
    name: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Use this one from now on
    #[arg(value_name = "NAME")]
    present: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// The servers that are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiles {
    /// The one that is used where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<String>,
    #[serde(default)]
    profile: BTreeMap<String, Profile>,
}

/// A server and what lets in there.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<String>,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profile").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Profile {
    pub fn key(&self) -> Option<ApiKey> {
        self.api_key.clone().map(ApiKey)
    }
}

impl Profiles {
    /// Those of a file; none where there is no file.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        match fs::read_to_string(file) {
            Ok(text) => toml::from_str(&text).with_context(|| format!("{} is broken", file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    /// The one that is named, or else the present one, if there is one.
    pub fn find(&self, name: Option<&str>) -> anyhow::Result<Option<&Profile>> {
        let Some(wanted) = name.or(self.present.as_deref()) else { return Ok(None) };
        match self.profile.get(wanted) {
            Some(profile) => Ok(Some(profile)),
            None if self.profile.is_empty() => bail!("there is no profile `{wanted}`; `anneal login URL` makes one"),
            None => {
                let known: Vec<&str> = self.profile.keys().map(String::as_str).collect();
                bail!("there is no profile `{wanted}`; there are: {}", known.join(", "))
            }
        }
    }

    fn write(&self, file: &Path) -> anyhow::Result<()> {
        let folder = file.parent().context("the file of profiles has no folder")?;
        let temporary = file.with_extension("tmp");
        let run = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            fs::remove_file(&temporary).ok();
            let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            new.write_all(toml::to_string(self).map_err(std::io::Error::other)?.as_bytes())?;
            new.sync_all()?;
            fs::rename(&temporary, file)
        };
        run().with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Where profiles are kept unless `ANNEAL_PROFILES` says otherwise.
pub fn default_file() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(".config/anneal/profiles.toml"))
}

pub fn login(args: &LoginArgs) -> anyhow::Result<ExitCode> {
    let output = Output { json: args.remote.json };
    let run = || {
        let file = args.remote.profiles_file()?;
        let mut profiles = Profiles::read(&file)?;
        let server = base(&args.url);
        let name = args.name.clone().unwrap_or_else(|| address(&server).to_owned());
        if let Some(other) = profiles.profile.get(&name).filter(|known| known.server != server) {
            bail!("profile `{name}` is {}; call this server otherwise with --as NAME", other.server);
        }
        let key = match args.remote.key() {
            Some(key) => Some(key),
            None => ask_for_key()?,
        };
        if key.is_some() && !goes_unseen(&server) {
            eprintln!("warning: a key goes to {server} in clear text, which others on the way can read; use https://");
        }
        let me = Client::with_key(&server, key.clone()).get("/v1/sessions/current")?;
        profiles.profile.insert(name.clone(), Profile { server: server.clone(), api_key: key.map(|key| key.0) });
        profiles.present = Some(name.clone());
        profiles.write(&file)?;
        output.answer(&json!({"profile": name, "server": server, "session": me}), || {
            format!("signed in at {server}, which commands use from now on (profile {name})\n")
        });
        Ok(ExitCode::SUCCESS)
    };
    run().or_else(|error| output.failure(error))
}

/// A server's name and port.
fn address(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, address)| address)
}

/// Whether nobody else reads what is sent: over TLS, or within this machine.
fn goes_unseen(server: &str) -> bool {
    let address = address(server);
    let of_this_machine = |host: &str| address == host || address.starts_with(&format!("{host}:"));
    server.starts_with("https://") || ["localhost", "127.0.0.1", "[::1]"].into_iter().any(of_this_machine)
}

/// A key from the terminal, where it is not shown, or from a pipe; none where nothing is given.
fn ask_for_key() -> anyhow::Result<Option<ApiKey>> {
    let text = if stdin().is_terminal() {
        rpassword::prompt_password("API key (nothing, if the server asks for none): ")?
    } else {
        let mut line = String::new();
        stdin().read_line(&mut line)?;
        line
    };
    Ok(ApiKey::given(&text))
}

pub fn logout(args: &LogoutArgs) -> anyhow::Result<ExitCode> {
    let output = Output { json: args.remote.json };
    let run = || {
        let file = args.remote.profiles_file()?;
        let mut profiles = Profiles::read(&file)?;
        let named = args.name.as_deref().or(args.remote.profile_name());
        let Some(name) = named.map(str::to_owned).or_else(|| profiles.present.clone()) else {
            bail!("no server is remembered");
        };
        profiles.find(Some(&name))?;
        profiles.profile.remove(&name);
        profiles.present = profiles.present.filter(|present| *present != name);
        profiles.write(&file)?;
        output.answer(&json!({"profile": name}), || {
            format!("{name} and its key are forgotten; the key itself goes on: `anneal keys revoke` ends it\n")
        });
        Ok(ExitCode::SUCCESS)
    };
    run().or_else(|error| output.failure(error))
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let output = Output { json: args.remote.json };
    let run = || {
        let file = args.remote.profiles_file()?;
        let mut profiles = Profiles::read(&file)?;
        if let Some(name) = &args.present {
            profiles.find(Some(name))?;
            profiles.present = Some(name.clone());
            profiles.write(&file)?;
        }
        let listed = |(name, profile): (&String, &Profile)| {
            json!({"name": name, "server": profile.server, "has_key": profile.api_key.is_some(),
                   "present": profiles.present.as_ref() == Some(name)})
        };
        let all: Vec<Value> = profiles.profile.iter().map(listed).collect();
        output.answer(&json!({"object": "list", "data": all}), || {
            let mut table = Table::new(&["", "NAME", "SERVER", "KEY"]);
            for one in &all {
                let mark = |holds: bool, mark: &str| if holds { mark.to_owned() } else { String::new() };
                table.row([
                    mark(one["present"] == true, "*"),
                    super::output::member(one, "/name"),
                    super::output::member(one, "/server"),
                    mark(one["has_key"] == true, "yes"),
                ]);
            }
            table.text("no server is remembered; `anneal login URL` does")
        });
        Ok(ExitCode::SUCCESS)
    };
    run().or_else(|error| output.failure(error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn profiles_read_back_are_their_owners_alone_and_one_of_them_is_present() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/profiles.toml");
        let mut profiles = Profiles::read(&file).unwrap();
        assert_eq!(profiles.find(None).unwrap(), None);
        let lab = Profile { server: String::from("http://lab:8080"), api_key: Some(String::from("anneal_sk_x")) };
        profiles.profile.insert(String::from("lab"), lab.clone());
        profiles.present = Some(String::from("lab"));
        profiles.write(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let read = Profiles::read(&file).unwrap();
        assert_eq!(read, profiles);
        assert_eq!(read.find(None).unwrap(), Some(&lab));
        assert!(read.find(Some("home")).unwrap_err().to_string().contains("there are: lab"));
        assert!(!format!("{read:?}").contains("anneal_sk_x"), "keys are never shown");
        assert!(Profiles::default().find(Some("home")).unwrap_err().to_string().contains("anneal login"));
        fs::write(&file, "profile = 3").unwrap();
        assert!(Profiles::read(&file).is_err());
    }
    #[test]
    fn servers_are_called_by_name_and_port_and_keys_in_clear_text_are_told_of() {
        let table = [
            ("https://anneal.example.com/x", "anneal.example.com", true),
            ("http://gpu-box:8080", "gpu-box:8080", false),
            ("http://localhost:8080", "localhost:8080", true),
            ("http://localhost.example.com", "localhost.example.com", false),
            ("http://user@[::1]:8080/", "[::1]:8080", true),
        ];
        for (server, name, unseen) in table {
            assert_eq!((address(server), goes_unseen(server)), (name, unseen), "{server}");
        }
    }
}
