//! One try of one delivery, and the look-up of hosts that both the tries and the API make.

use std::io::Read;
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::guard::{Guard, Refusal, Target};
use super::signature::sign;
use crate::job::Timestamp;
use crate::store::{DueDelivery, WebhookAttempt};

/// From the look-up of the host to the last byte of the answer that is read.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer is kept.
const ANSWER_BYTES: u64 = 1024;

/// Sends messages to public addresses only.
#[derive(Clone, Debug)]
pub struct Sender {
    agent: Agent,
}

impl Sender {
    pub fn new(guard: Guard) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            // Either would connect to addresses that nobody has looked at.
            .max_redirects(0)
            .proxy(None)
            // What a connection was kept open for may not be allowed any more.
            .max_idle_connections(0)
            .accept_encoding("identity")
            .user_agent(concat!("anneal/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver = GuardedResolver { guard, names: DefaultResolver::default() };
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), resolver) }
    }

    /// Makes one try. Blocks for up to 15 seconds.
    pub fn send(&self, delivery: &DueDelivery, now: Timestamp) -> WebhookAttempt {
        let began = Instant::now();
        let (id, seconds) = (delivery.id.to_string(), now.unix_seconds());
        let result = self
            .agent
            .post(&delivery.url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", sign(&delivery.secrets, &id, seconds, &delivery.body))
            .send(&delivery.body);
        let (http_status, answer, error) = match result {
            Ok(response) => {
                let status = response.status().as_u16();
                let mut bytes = Vec::new();
                // The status counts, whether its text arrives or not.
                let read = response.into_body().into_reader().take(ANSWER_BYTES).read_to_end(&mut bytes);
                (Some(status), Some(text(&bytes)), read.err().map(|error| error.to_string()))
            }
            Err(error) => (None, None, Some(reason(error))),
        };
        let milliseconds = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        WebhookAttempt { started_at: now, milliseconds, http_status, answer, error }
    }
}

/// What a person can read of an answer.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

fn reason(error: ureq::Error) -> String {
    match error {
        ureq::Error::Other(inner) if inner.is::<Refusal>() => inner.to_string(),
        ureq::Error::Timeout(_) => format!("no answer within {} seconds", TIMEOUT.as_secs()),
        other => other.to_string(),
    }
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
            Err(ureq::Error::HostNotFound | ureq::Error::Io(_)) => return Err(refused(target.not_public())),
            found => found?,
        };
        self.guard.admit(&target, addresses.iter().map(|address| address.ip())).map_err(refused)?;
        Ok(addresses)
    }
}

/// Looks a URL's host up and says whether messages could be sent there. Blocks for as long as the look-up does.
pub fn check_url(guard: &Guard, url: &str) -> Result<(), Refusal> {
    let target = Target::of(url)?;
    let found = format!("{}:{}", target.host, target.port).to_socket_addrs().map_err(|_| target.not_public())?;
    guard.admit(&target, found.map(|address| address.ip()))
}

/// What is said of a URL whose host is not found in time.
pub fn not_found(url: &str) -> Refusal {
    Target::of(url).map_or_else(|refusal| refusal, |target| target.not_public())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_host_is_judged_by_the_address_it_stands_for() {
        let guard = Guard::new(&[]).unwrap();
        for url in ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://127.1:8080/", "http://[::1]/"]
        {
            let refused = check_url(&guard, url).unwrap_err();
            assert!(matches!(refused, Refusal::NotPublic(_)), "{url}: {refused}");
        }
        assert_eq!(check_url(&guard, "https://1.1.1.1/"), Ok(()));
    }
}
