//! The processes of a job that holds several devices: the worker of the first device is rank 0 and starts one process
//! for each of the others, which sees that device only. They talk through the standard input of those processes, a
//! socket, so that they end when rank 0 does.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::str::FromStr;
use std::sync::Arc;

use super::assignment::{self, Work};
use super::ledger::SharedLedger;
use super::{WorkerError, chain, internal};
use crate::device;
use crate::engine::artifact::Saved;
use crate::engine::collective::{Collective, Sockets, Watch};
use crate::engine::loading::Bases;
use crate::engine::{self, Reporter, Stop};
use crate::job::{Failure, NewEvent, WorkerId};
use crate::program;
use crate::store::{Claim, Lease};
use crate::verifier::Outside;

/// The other processes of a job; they are ended before it gives its devices back.
#[derive(Debug, Default)]
pub struct Peers(Vec<Child>);

impl Drop for Peers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended by itself cannot be killed, and is waited for all the same.
            drop(child.kill());
            if let Err(error) = child.wait() {
                tracing::warn!(%error, "a process of the job could not be waited for");
            }
        }
    }
}

/// Starts the processes of a job's other devices, if it has several, and makes the job theirs as well.
pub async fn gather(
    ledger: &SharedLedger,
    worker: WorkerId,
    claim: &Claim,
    work: &mut Work,
    watch: Watch,
) -> Result<Peers, WorkerError> {
    let size = claim.devices.len();
    if size < 2 {
        return Ok(Peers::default());
    }
    let (mut peers, mut links) = (Peers::default(), Vec::new());
    for (rank, name) in claim.devices.iter().enumerate().skip(1) {
        let row = ledger.device(name).await?;
        let (seen_as, variable) = device::seen_by_its_process(&row.name, row.number, row.uuid.as_deref());
        let (own, other) = UnixStream::pair().map_err(WorkerError::Peer)?;
        let mut command = program::command().map_err(WorkerError::Peer)?;
        command.arg("worker");
        ledger.lead(&mut command);
        command.args(["--id", &worker.to_string()]);
        command.args(["--threads", &rayon::current_num_threads().to_string(), "--device", &seen_as, "--name", name]);
        let Lease { job, attempt } = claim.lease;
        command.args(["--rank", &Rank { rank, size }.to_string(), "--lease", &format!("{job}/{attempt}")]);
        command.envs(variable);
        let child = command.stdin(Stdio::from(OwnedFd::from(other))).spawn().map_err(WorkerError::Peer)?;
        peers.0.push(child);
        links.push(own);
    }
    work.spread(Arc::new(Sockets::hub(links, watch)));
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
pub async fn take_part(
    ledger: &SharedLedger,
    (device, outside): (&str, &Outside),
    rank: Rank,
    lease: Lease,
) -> Result<(), WorkerError> {
    let link = std::io::stdin().as_fd().try_clone_to_owned().map_err(WorkerError::Peer)?;
    let ranks = Arc::new(Sockets::spoke(rank.rank, rank.size, UnixStream::from(link)));
    let failure = match compute(ledger, (device, outside), lease, Arc::clone(&ranks)).await {
        Ok(()) => return Ok(()),
        Err(failure) => failure,
    };
    // Most often rank 0 has stopped, which is its right; otherwise it wants to know.
    ranks.fail(&failure);
    tracing::warn!(job = %lease.job, rank = rank.rank, failure.message, "the rank ends before its job");
    Ok(())
}

async fn compute(
    ledger: &SharedLedger,
    (device, outside): (&str, &Outside),
    lease: Lease,
    ranks: Arc<Sockets>,
) -> Result<(), Failure> {
    let device = engine::device::open(device).map_err(|error| error.failure())?;
    let claim = ledger.claimed(lease).await.map_err(|error| internal(chain(&error)))?;
    let mut work = assignment::prepare(&**ledger, &claim, (&device, &Bases::default()), outside).await?;
    work.spread(Arc::clone(&ranks) as Arc<dyn Collective>);
    let run = move || rayon::scope(|_| work.run(&mut Quiet(ranks)));
    let done =
        tokio::task::spawn_blocking(run).await.map_err(|error| internal(format!("the rank panicked: {error}")))?;
    done.map(|_| ()).map_err(|error| error.failure())
}

/// Ranks other than the first report nothing but that they live, and write nothing; they end when rank 0 does.
struct Quiet(Arc<Sockets>);

impl Reporter for Quiet {
    fn event(&mut self, _event: NewEvent) -> Result<(), Stop> {
        Ok(())
    }

    fn artifact(&mut self, _saved: &Saved) -> Result<(), Stop> {
        Ok(())
    }

    fn should_stop(&self) -> Option<Stop> {
        self.0.sign();
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
