//! What verifiers may use beyond the completion that they judge: what the operator has enabled in `[verifiers]`.
//!
//! The files of this folder are the only ones of all verifiers that may use the clock, files, processes and the network.
//! The server reads the settings and hands them, as JSON, to the workers and to the processes that try verifiers.

mod deadline;
mod permits;
mod program;
pub mod sandbox;
#[cfg(test)]
pub mod scripted;
mod service;
mod tied;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::job::field::FieldError;
use crate::outbound::Target;

pub use deadline::{Deadline, Effort};
pub use program::{Kept, Program, Stopped};
pub use service::{Client, Endpoint, Failure, MOST_REQUEST_BYTES, Service, Tries, check_public};

/// What the operator lets verifiers use; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outside {
    /// Whether `code` verifiers may run programs.
    pub code: bool,
    /// Languages that they may run besides `python`, and which interpreter of Python it is.
    pub languages: BTreeMap<String, sandbox::Language>,
    /// A control group below which rooms of programs get one each.
    pub cgroup: Option<PathBuf>,
    /// Scoring services by the names that configurations give.
    pub services: BTreeMap<String, Service>,
    /// Whether configurations may name services by their names only, and no public addresses.
    pub named_services_only: bool,
    /// Programs by the names that configurations give.
    pub commands: BTreeMap<String, Program>,
    /// Endpoints of judges by the names that configurations give.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// This server itself, which it says when it starts; what the settings say of it is not used.
    pub this_server: Option<ThisServer>,
}

impl Outside {
    /// What is wrong with the settings: the one that it is, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        sandbox::check(&self.languages).map_err(|detail| ("verifiers.languages", detail))
    }

    /// The same, at a server that answers at `address` and has so many devices.
    pub fn of_server(self, address: SocketAddr, devices: usize) -> Self {
        Self { this_server: Some(ThisServer { address, devices }), ..self }
    }

    /// The client of a service of the operator's, or of a public address; an error of the field that names it, below the object
    /// that has both.
    pub fn client(&self, service: Option<&str>, url: Option<&str>) -> Result<Client, FieldError> {
        let error = |field: &str, code, detail: String| Err(FieldError::new(field, code, detail));
        match (service, url) {
            (Some(name), None) => {
                let Some(service) = self.services.get(name) else {
                    let known: Vec<&str> = self.services.keys().map(String::as_str).collect();
                    return error("/service", "not_enabled", unnamed("service", "services", name, &known));
                };
                let client = Client::of_service(service);
                client.or_else(|detail| error("/service", "not_usable", format!("the service {name}: {detail}")))
            }
            (None, Some(_)) if self.named_services_only => {
                let detail = "this server asks only services that its operator has named; name one with `service`";
                error("/url", "not_enabled", detail.to_owned())
            }
            (None, Some(url)) => {
                Client::of_public(url).or_else(|refusal| error("/url", refusal.code(), refusal.to_string()))
            }
            (None, None) | (Some(_), Some(_)) => {
                error("/service", "missing_field", String::from("name a `service` or a `url`, and not both"))
            }
        }
    }

    /// How many requests at a time a service gets of the `wanted`.
    pub fn concurrency(&self, service: Option<&str>, wanted: usize) -> usize {
        let service = service.and_then(|name| self.services.get(name));
        service.map_or(wanted, |service| service.concurrency.min(wanted)).max(1)
    }

    /// What of it cannot be used on this machine, in a sentence each.
    pub fn faults(&self) -> Vec<String> {
        let services =
            self.services.iter().map(|(name, service)| ("services", name, Client::of_service(service).err()));
        let commands = self.commands.iter().map(|(name, program)| ("commands", name, program.check().err()));
        let endpoints = self.endpoints.iter().map(|(name, one)| ("endpoints", name, Client::of_endpoint(one).err()));
        let all = services.chain(commands).chain(endpoints);
        all.filter_map(|(table, name, fault)| Some(format!("[verifiers.{table}.{name}]: {}", fault?))).collect()
    }
}

/// What a judge has to know of the server that runs its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThisServer {
    /// Where it answers.
    pub address: SocketAddr,
    /// How many devices it has. One that trains answers no requests.
    pub devices: usize,
}

impl ThisServer {
    /// Whether a URL is one of this server, as far as that can be told from its text.
    pub fn is_at(&self, url: &str) -> bool {
        let Ok(target) = Target::of(url) else { return false };
        let host = target.host.trim_start_matches('[').trim_end_matches(']');
        let own = self.address.ip();
        let is_here = |address: IpAddr| {
            let address = address.to_canonical();
            address == own || address.is_loopback() && (own.is_loopback() || own.is_unspecified())
        };
        target.port == self.address.port()
            && (host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_here))
    }
}

/// What is said of a name that stands in no table of the operator's.
pub fn unnamed(what: &str, table: &str, name: &str, known: &[&str]) -> String {
    let known =
        if known.is_empty() { String::from("there are none") } else { format!("there are: {}", known.join(", ")) };
    let name: String = name.chars().take(80).collect();
    format!("the operator has named no {what} `{name}` in [verifiers.{table}] of the settings; {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_server_is_known_by_its_address_and_port() {
        let local = ThisServer { address: ([127, 0, 0, 1], 8080).into(), devices: 1 };
        let open = ThisServer { address: ([0, 0, 0, 0], 8080).into(), devices: 1 };
        for url in ["http://127.0.0.1:8080/v1", "http://localhost:8080/v1", "http://[::ffff:127.0.0.1]:8080/v1"] {
            assert!(local.is_at(url) && open.is_at(url), "{url}");
        }
        for url in ["http://127.0.0.1:8081/v1", "http://10.0.0.1:8080/v1", "http://example.org:8080/v1", "nothing"] {
            assert!(!local.is_at(url) && !open.is_at(url), "{url}");
        }
    }

    #[test]
    fn nothing_is_enabled_by_default_and_settings_read_back_the_same() {
        assert_eq!(serde_json::from_str::<Outside>("{}").unwrap(), Outside::default());
        let text = r#"{"services": {"a": {"url": "https://a.example/score", "secret_file": "/s"}},
                       "commands": {"b": {"argv": ["/bin/b"]}},
                       "endpoints": {"c": {"url": "https://c.example/v1", "model": "m", "parameters": {"seed": 1}}}}"#;
        let outside: Outside = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_str::<Outside>(&serde_json::to_string(&outside).unwrap()).unwrap(), outside);
        assert!(serde_json::from_str::<Outside>(r#"{"services": {"a": {"url": "x", "secret": "y"}}}"#).is_err());
        let faults = outside.faults();
        assert!(faults.len() == 2 && faults[0].contains("[verifiers.services.a]: /s"), "{faults:?}");
        assert!(faults[1].contains("/bin/b"), "{faults:?}");
    }
}
