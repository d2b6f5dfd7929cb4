//! What agents have had of this server since it began, for `GET /metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct Counts {
    renewals: AtomicU64,
    claims: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
}

/// Something that is counted.
#[derive(Clone, Copy, Debug)]
pub enum Counted {
    /// Signs of life of workers.
    Renewal,
    /// A job that a worker was given.
    Claim,
    /// Bytes of files for agents.
    Sent(u64),
    /// Bytes of files from agents.
    Received(u64),
}

impl Counts {
    pub fn add(&self, what: Counted) {
        let (count, more) = match what {
            Counted::Renewal => (&self.renewals, 1),
            Counted::Claim => (&self.claims, 1),
            Counted::Sent(bytes) => (&self.bytes_sent, bytes),
            Counted::Received(bytes) => (&self.bytes_received, bytes),
        };
        count.fetch_add(more, Ordering::Relaxed);
    }

    /// Names, what they count, and how much that is.
    pub fn all(&self) -> [(&'static str, &'static str, u64); 4] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("anneal_agent_renewals_total", "Signs of life of agents' workers.", of(&self.renewals)),
            ("anneal_agent_claims_total", "Jobs that workers of agents were given.", of(&self.claims)),
            ("anneal_agent_sent_bytes_total", "Bytes of files that went to agents.", of(&self.bytes_sent)),
            ("anneal_agent_received_bytes_total", "Bytes of files that came from agents.", of(&self.bytes_received)),
        ]
    }
}
