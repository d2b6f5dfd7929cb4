//! The processes of a job that holds several devices: the worker of the first device is rank 0 and starts one process
//! for each of the others, which sees that device only. They talk through the standard input of those processes, a
//! socket, so that they end when rank 0 does.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;

use super::assignment::{self, Work};
use super::{WorkerError, chain};
use crate::device;
use crate::engine::checkpoint::Saved;
use crate::engine::collective::{Collective, Sockets};
use crate::engine::{self, EngineError, Reporter, Stop};
use crate::job::NewEvent;
use crate::store::{Claim, Lease, Store};

/// The other processes of a job; they are ended with it.
#[derive(Debug, Default)]
pub struct Peers(Vec<Child>);

impl Drop for Peers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            if let Err(error) = child.kill().and_then(|()| child.wait()) {
                tracing::warn!(%error, "a process of the job could not be ended");
            }
        }
    }
}

/// Starts the processes of a job's other devices and makes the job theirs as well.
pub async fn gather(store: &Store, claim: &Claim, work: &mut Work) -> Result<Peers, WorkerError> {
    let size = claim.devices.len();
    let (mut peers, mut links) = (Peers::default(), Vec::new());
    for (rank, name) in claim.devices.iter().enumerate().skip(1) {
        let row = store.device(name).await?;
        let (seen_as, variable) = device::seen_by_its_process(&row.name, row.number, row.uuid.as_deref());
        let (own, other) = UnixStream::pair().map_err(WorkerError::Peer)?;
        let mut command = Command::new(std::env::current_exe().map_err(WorkerError::Peer)?);
        command.args(["worker", "--data-dir"]).arg(store.files().root());
        command.args(["--threads", &rayon::current_num_threads().to_string(), "--device", &seen_as, "--name", name]);
        let Lease { job, attempt } = claim.lease;
        command.args(["--rank", &Rank { rank, size }.to_string(), "--lease", &format!("{job}/{attempt}")]);
        if let Some((variable, visible)) = variable {
            command.env(variable, visible);
        }
        let child = command.stdin(Stdio::from(OwnedFd::from(other))).spawn().map_err(WorkerError::Peer)?;
        peers.0.push(child);
        links.push(own);
    }
    work.spread(Arc::new(Sockets::hub(links).map_err(WorkerError::Engine)?));
    Ok(peers)
}

/// Which process of a job this is, as `rank/size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    pub rank: usize,
    pub size: usize,
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.rank, self.size)
    }
}

impl FromStr for Rank {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(rank, size)| Some((rank.parse().ok()?, size.parse().ok()?)));
        match parsed {
            Some((rank, size)) if 0 < rank && rank < size => Ok(Self { rank, size }),
            _ => Err(String::from("must be rank/size, such as 1/2")),
        }
    }
}

/// Reads a lease as [`gather`] writes it.
pub fn parse_lease(text: &str) -> Result<Lease, String> {
    let parsed = text.split_once('/').and_then(|(job, attempt)| Some((job.parse().ok()?, attempt.parse().ok()?)));
    parsed.map(|(job, attempt)| Lease { job, attempt }).ok_or_else(|| String::from("must be job/attempt"))
}

/// Takes part in a job as another rank than the first, and ends with it.
pub async fn take_part(store: &Store, device: &str, rank: Rank, lease: Lease) -> Result<(), WorkerError> {
    let link = std::io::stdin().as_fd().try_clone_to_owned().map_err(WorkerError::Peer)?;
    let ranks = Sockets::spoke(rank.rank, rank.size, UnixStream::from(link)).map_err(WorkerError::Engine)?;
    let device = engine::device::open(device).map_err(WorkerError::Engine)?;
    let claim = store.claimed(lease).await?;
    let mut work = match assignment::prepare(store, &claim, &device).await {
        Ok(work) => work,
        Err(failure) => return Err(WorkerError::Engine(EngineError::Internal(failure.message))),
    };
    work.spread(Arc::new(ranks) as Arc<dyn Collective>);
    let run = move || rayon::scope(|_| work.run(&mut Quiet));
    let done = tokio::task::spawn_blocking(run).await.map_err(|error| {
        let detail = format!("rank {} panicked: {error}", rank.rank);
        WorkerError::Engine(EngineError::Internal(detail))
    })?;
    if let Err(error) = done {
        // Most often rank 0 has stopped, which is its right.
        tracing::warn!(job = %lease.job, rank = rank.rank, error = chain(&error), "the rank ends before its job");
    }
    Ok(())
}

/// Ranks other than the first have nothing to say and write nothing; they end when rank 0 does.
struct Quiet;

impl Reporter for Quiet {
    fn event(&mut self, _event: NewEvent) -> Result<(), Stop> {
        Ok(())
    }

    fn checkpoint(&mut self, _saved: &Saved) -> Result<(), Stop> {
        Ok(())
    }

    fn should_stop(&self) -> Option<Stop> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_leases_read_back_as_they_are_written() {
        let rank = Rank { rank: 1, size: 4 };
        assert_eq!(rank.to_string().parse(), Ok(rank));
        for wrong in ["", "1", "0/2", "2/2", "a/2", "1/x"] {
            assert!(wrong.parse::<Rank>().is_err(), "{wrong}");
        }
        let job = crate::job::JobId::generate();
        assert_eq!(parse_lease(&format!("{job}/3")), Ok(Lease { job, attempt: 3 }));
        assert!(parse_lease("job/3").is_err() && parse_lease("").is_err());
    }
}
