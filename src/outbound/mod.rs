//! Requests to addresses that others have named: where they may go, and how their bodies are signed. Webhooks and
//! verifiers use it, and it knows neither.
//!
//! An agent of this module connects only to what its guard admits, and to nothing that it was led to: it follows no
//! redirect and asks no proxy, because either would connect to addresses that nobody has looked at.

pub mod guard;
mod signature;

use std::net::ToSocketAddrs;

use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

pub use guard::{Guard, Refusal, Target};
pub use signature::sign;

/// An agent that talks to what `guard` admits, and keeps `idle_connections` open between requests. Its answers are those
/// of the address itself, also redirects and errors. Each request has to bring its own limit of time.
pub fn agent(guard: Guard, idle_connections: usize) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .max_idle_connections(idle_connections)
        .max_idle_connections_per_host(idle_connections)
        .accept_encoding("identity")
        .user_agent(concat!("anneal/", env!("CARGO_PKG_VERSION")))
        .build();
    let resolver = GuardedResolver { guard, names: DefaultResolver::default() };
    Agent::with_parts(config, DefaultConnector::default(), resolver)
}

/// The refusal of the guard, where an error is one.
pub fn refusal(error: &ureq::Error) -> Option<&Refusal> {
    match error {
        ureq::Error::Other(inner) => inner.downcast_ref(),
        _ => None,
    }
}

/// Looks a URL's host up and says whether requests could be sent there. Blocks for as long as the look-up does.
pub fn check_url(guard: &Guard, url: &str) -> Result<(), Refusal> {
    let target = Target::of(url)?;
    let found = format!("{}:{}", target.host, target.port).to_socket_addrs().map_err(|_| guard.not_public(&target))?;
    guard.admit(&target, found.map(|address| address.ip()))
}

/// What is said of a URL whose host is not found in time.
pub fn not_found(guard: &Guard, url: &str) -> Refusal {
    Target::of(url).map_or_else(|refusal| refusal, |target| guard.not_public(&target))
}

/// Looks names up and hands over only addresses that the guard admits; these are the ones connected to.
#[derive(Debug)]
struct GuardedResolver {
    guard: Guard,
    names: DefaultResolver,
}

impl Resolver for GuardedResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let refused = |refusal: Refusal| ureq::Error::Other(refusal.into());
        let target = Target::of(&uri.to_string()).map_err(refused)?;
        let addresses = match self.names.resolve(uri, config, timeout) {
            Err(ureq::Error::HostNotFound | ureq::Error::Io(_)) => return Err(refused(self.guard.not_public(&target))),
            found => found?,
        };
        self.guard.admit(&target, addresses.iter().map(|address| address.ip())).map_err(refused)?;
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_host_is_judged_by_the_address_it_stands_for() {
        let guard = Guard::new(&[], "a_setting").unwrap();
        for url in ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://127.1:8080/", "http://[::1]/"]
        {
            let refused = check_url(&guard, url).unwrap_err();
            assert!(matches!(refused, Refusal::NotPublic { .. }), "{url}: {refused}");
            assert!(refused.to_string().contains("a_setting"), "{refused}");
        }
        assert_eq!(check_url(&guard, "https://1.1.1.1/"), Ok(()));
    }

    #[test]
    fn an_agent_connects_to_nothing_that_its_guard_does_not_admit() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let error = agent(Guard::new(&[], "a_setting").unwrap(), 1).get(&url).call().unwrap_err();
        assert_eq!(refusal(&error).map(Refusal::code), Some("no_public_address"));
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "nobody has connected");
    }
}
