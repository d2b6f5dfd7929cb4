//! The processes of a job that holds several devices: the worker of the first device is rank 0 and starts one process
//! for each of the others of its machine, which sees that device only. They talk through the standard input of those
//! processes, a socket, so that they end when rank 0 does. On other machines the workers of the devices start such processes,
//! which come to where rank 0 waits for them (`rendezvous`), and end as soon as it lets go of them.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::watch;
use tokio::time::{Instant, interval, timeout};

use super::assignment::{self, Work};
use super::beats::Held;
use super::ledger::SharedLedger;
use super::patience::patiently;
use super::rendezvous::{self, Meeting};
use super::{Options, WorkerError, chain, internal};
use crate::device;
use crate::engine::artifact::Saved;
use crate::engine::collective::{Collective, Sockets, Watch};
use crate::engine::link::Link;
use crate::engine::loading::Bases;
use crate::engine::{self, Reporter, Stop};
use crate::job::agent::{Part, Rendezvous};
use crate::job::device::split_name;
use crate::job::{Failure, FailureKind, NewEvent};
use crate::program;
use crate::store::{Claim, Ended, Heartbeat, Lease, Loss};
use crate::verifier::Outside;

/// How long rank 0 waits for those of other machines.
const MEETING: Duration = Duration::from_secs(60);
/// How long rank 0 waits until those of other machines have let go of their devices.
const PARTING: Duration = Duration::from_secs(5);
/// How often a rank that prepares says that it is there.
const SIGNS: Duration = Duration::from_secs(1);
/// Bytes of what a worker tells the process that takes part for it.
const MOST_TOLD: u64 = 4096;
/// What it tells when its machine is to be free.
const LEAVE: &[u8] = b"leave\n";

/// The other processes of a job; they are ended before it gives its devices back.
#[derive(Debug, Default)]
pub struct Peers {
    near: Vec<Child>,
    far: Vec<TcpStream>,
}

impl Drop for Peers {
    fn drop(&mut self) {
        // They see this at once, whatever they do.
        self.far.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Write)));
        for child in &mut self.near {
            // One that has ended by itself cannot be killed, and is waited for all the same.
            drop(child.kill());
            if let Err(error) = child.wait() {
                tracing::warn!(%error, "a process of the job could not be waited for");
            }
        }
        let deadline = Instant::now() + PARTING;
        for stream in &mut self.far {
            let left = || deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
            while let Some(left) = left() {
                drop(stream.set_read_timeout(Some(left)));
                if !stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                    break;
                }
            }
        }
    }
}

/// Starts the processes of a job's other devices, if it has several, waits for those of other machines, and makes the job
/// theirs as well. What the attempt ends with is an error where they do not come, or where it is called off before.
pub async fn gather(
    ledger: &SharedLedger,
    options: &Options,
    claim: &Claim,
    work: &mut Work,
    (watch, held, shutdown): (Watch, Held, &mut watch::Receiver<bool>),
) -> Result<Peers, Ended> {
    let size = claim.devices.len();
    if size < 2 {
        return Ok(Peers::default());
    }
    let host = split_name(&options.name).0;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (rank, name) in claim.devices.iter().enumerate().skip(1) {
        if split_name(name).0 == host { near.push((rank, name)) } else { far.push(rank) }
    }
    let (mut peers, mut links) = (Peers::default(), Vec::new());
    for (rank, name) in near {
        let started = start(ledger, options, (Rank { rank, size }, name), claim.lease).await;
        let (child, link) = started.map_err(|reason| lost(name, format!("its process cannot be started: {reason}")))?;
        peers.near.push(child);
        links.push((rank, Link::Near(link)));
    }
    if !far.is_empty() {
        let meeting = meet(ledger, options, (claim, far.clone()));
        let met = tokio::select! {
            met = meeting => met?,
            ended = called_off(ledger, claim.lease, held, shutdown) => return Err(ended),
        };
        for (rank, stream) in met {
            let other = stream.try_clone().map_err(|error| lost(&claim.devices[rank], error.to_string()))?;
            peers.far.push(other);
            links.push((rank, Link::Far(stream)));
        }
    }
    links.sort_unstable_by_key(|(rank, _)| *rank);
    let hub = Sockets::hub(links.into_iter().map(|(_, link)| link).collect(), watch);
    let hub = hub.map_err(|error| lost(&options.name, format!("others cannot be listened to: {error}")))?;
    work.spread(Arc::new(hub));
    Ok(peers)
}

/// What an attempt ends with when one of its ranks cannot begin.
fn lost(device: &str, reason: String) -> Ended {
    let reason = format!("{device}: {reason}");
    Ended::Lost(Loss { kind: FailureKind::DeviceLost, reason, device: Some(device.to_owned()), blameless: false })
}

/// A process for another device of this machine, and the connection to it.
async fn start(
    ledger: &SharedLedger,
    options: &Options,
    (rank, device): (Rank, &str),
    lease: Lease,
) -> Result<(Child, UnixStream), String> {
    let mut command = command(ledger, options, (rank, device), lease).await?;
    let (own, other) = UnixStream::pair().map_err(|error| error.to_string())?;
    let child = command.stdin(Stdio::from(OwnedFd::from(other))).spawn();
    Ok((child.map_err(|error| error.to_string())?, own))
}

/// Starts a process that takes part in a job on a device.
async fn command(
    ledger: &SharedLedger,
    options: &Options,
    (rank, device): (Rank, &str),
    Lease { job, attempt }: Lease,
) -> Result<Command, String> {
    let row = patiently(|| ledger.device(device)).await.map_err(|error| chain(&error))?;
    let (seen_as, variable) = device::seen_by_its_process(&row.name, row.number, row.uuid.as_deref());
    let mut command = program::command().map_err(|error| error.to_string())?;
    command.arg("worker");
    ledger.lead(&mut command);
    command.args(["--id", &options.id.to_string()]);
    command.args(["--threads", &rayon::current_num_threads().to_string(), "--device", &seen_as, "--name", device]);
    command.args(["--rank", &rank.to_string(), "--lease", &format!("{job}/{attempt}")]);
    command.envs(variable);
    Ok(command)
}

/// Waits for the ranks of other machines.
async fn meet(
    ledger: &SharedLedger,
    options: &Options,
    (claim, others): (&Claim, Vec<usize>),
) -> Result<Vec<(usize, TcpStream)>, Ended> {
    let own = &claim.devices[0];
    let address = options.rank_address.unwrap_or_else(|| ledger.own_address());
    let meeting = Meeting::open(address, claim.devices.len()).await;
    let meeting = meeting.map_err(|error| lost(own, format!("no port of {address} can be listened at: {error}")))?;
    match patiently(|| ledger.open_rendezvous(claim.lease, meeting.at())).await {
        Ok(()) => {}
        Err(error) => {
            return Err(lost(own, format!("where it waits for the others cannot be told: {}", chain(&error))));
        }
    }
    tracing::info!(job = %claim.lease.job, address = %meeting.at().address, "waiting for {} ranks", others.len());
    let patience = Duration::from_secs(options.lease_seconds);
    match timeout(MEETING, meeting.wait(others, patience)).await {
        Ok(Ok(streams)) => Ok(streams),
        Ok(Err(error)) => Err(lost(own, format!("others cannot be waited for: {error}"))),
        Err(_) => {
            let missing = meeting.missing();
            let first = missing.first().map_or(own, |rank| &claim.devices[*rank]);
            let reason = format!(
                "nobody came from there to {} within {} s; its machine must be able to connect to that address, or to the one \
                 that --rank-address names",
                meeting.at().address,
                MEETING.as_secs()
            );
            Err(lost(first, reason))
        }
    }
}

/// Returns when an attempt is to end that has not begun to work.
async fn called_off(ledger: &SharedLedger, lease: Lease, held: Held, shutdown: &mut watch::Receiver<bool>) -> Ended {
    loop {
        if *shutdown.borrow() {
            return Ended::Drained;
        }
        tokio::select! {
            word = ledger.heed(lease, held.lasts()) => match word {
                Ok(Heartbeat::Pause) => return Ended::Drained,
                // Of what is lost the end is not written.
                Ok(Heartbeat::Cancel | Heartbeat::Lost) => return Ended::Cancelled,
                Ok(Heartbeat::GoOn) | Err(_) => {}
            },
            _ = shutdown.changed() => {}
        }
    }
}

/// What the process that takes part is told, on a line of its standard input.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    at: Rendezvous,
    /// How long rank 0 may be unreachable, in seconds.
    patience: u64,
}

/// Has a process take part in a job that the worker of another machine runs.
pub async fn lend(
    ledger: &SharedLedger,
    options: &Options,
    (lease, part): (Lease, Part),
    mut shutdown: watch::Receiver<bool>,
) -> Result<(), WorkerError> {
    let Part { rank, size, rendezvous: at } = part;
    tracing::info!(job = %lease.job, rank, size, "takes part");
    let mut command = match command(ledger, options, (Rank { rank, size }, &options.name), lease).await {
        Ok(command) => command,
        Err(reason) => {
            // Rank 0 waits for a while, and says who did not come.
            tracing::warn!(job = %lease.job, reason, "no process can take part");
            return Ok(());
        }
    };
    command.arg("--far").stdin(Stdio::piped());
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().map_err(WorkerError::Peer)?;
    let told = serde_json::to_string(&Told { at, patience: options.lease_seconds });
    let mut stdin = child.stdin.take();
    if let (Some(stdin), Ok(told)) = (&mut stdin, told) {
        stdin.write_all(format!("{told}\n").as_bytes()).await.map_err(WorkerError::Peer)?;
    }
    loop {
        tokio::select! {
            ended = child.wait() => {
                tracing::info!(job = %lease.job, rank, status = %ended.map_err(WorkerError::Peer)?, "the part is over");
                return Ok(());
            }
            Ok(()) = shutdown.changed() => if let Some(mut stdin) = stdin.take() {
                // The job is not to begin here again when it has let go.
                if let Err(error) = ledger.release_worker(options.id, "its machine is to be free", true).await {
                    tracing::warn!(error = chain(&error), "the device cannot be given back yet");
                }
                // It may have ended just now.
                drop(stdin.write_all(LEAVE).await);
            },
        }
    }
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

/// Takes part in a job as another rank than the first, and ends with it; `far` from it on another machine.
pub async fn take_part(
    ledger: &SharedLedger,
    (device, outside): (&str, &Outside),
    (rank, far): (Rank, bool),
    lease: Lease,
) -> Result<(), WorkerError> {
    if !far {
        let link = std::io::stdin().as_fd().try_clone_to_owned().map_err(WorkerError::Peer)?;
        let link = Link::Near(UnixStream::from(link));
        compute(ledger, (device, outside), lease, Arc::new(Sockets::spoke(rank.rank, rank.size, link))).await;
        return Ok(());
    }
    let mut told = BufReader::new(tokio::io::stdin());
    let mut line = String::new();
    (&mut told).take(MOST_TOLD).read_line(&mut line).await.map_err(WorkerError::Peer)?;
    let Told { at, patience } = serde_json::from_str(&line).map_err(|error| WorkerError::Peer(error.into()))?;
    let begun = Instant::now();
    let stream = loop {
        match rendezvous::join(&at, rank, Duration::from_secs(patience)).await {
            Ok(stream) => break stream,
            Err(error) if begun.elapsed() > MEETING => return Err(WorkerError::Peer(error)),
            Err(error) => tracing::warn!(job = %lease.job, %error, "rank 0 is not reached yet"),
        }
        tokio::time::sleep(SIGNS).await;
    };
    let other = stream.try_clone().map_err(WorkerError::Peer)?;
    let ranks = Arc::new(Sockets::spoke(rank.rank, rank.size, Link::Far(stream)));
    let leaving = Arc::clone(&ranks);
    tokio::spawn(async move {
        if told.read_line(&mut String::new()).await.is_ok_and(|read| read > 0) {
            leaving.leave();
        }
    });
    tokio::select! {
        () = compute(ledger, (device, outside), lease, ranks) => {}
        // The device is to be free at once, whatever is being computed.
        () = hung_up(other) => tracing::info!(job = %lease.job, rank = rank.rank, "rank 0 lets go"),
    }
    Ok(())
}

/// Returns when the other side of a connection sends no more, or cannot be reached.
async fn hung_up(stream: TcpStream) {
    // The engine reads the same connection, so that it must not become one that does not wait.
    let wait = move || {
        let mut watched = [PollFd::new(&stream, PollFlags::RDHUP)];
        while matches!(poll(&mut watched, None), Err(Errno::INTR)) {}
    };
    if let Err(error) = tokio::task::spawn_blocking(wait).await {
        tracing::warn!(%error, "rank 0 cannot be watched");
        std::future::pending::<()>().await;
    }
}

async fn compute(ledger: &SharedLedger, (device, outside): (&str, &Outside), lease: Lease, ranks: Arc<Sockets>) {
    let own = Arc::clone(&ranks);
    if let Err(failure) = try_compute(ledger, (device, outside), lease, own).await {
        if engine::EngineError::found_disk_full(&failure) {
            ledger.note_shortage();
        }
        // Most often rank 0 has stopped, which is its right; otherwise it wants to know.
        ranks.fail(&failure);
        tracing::warn!(job = %lease.job, rank = ranks.rank(), failure.message, "the rank ends before its job");
    }
}

async fn try_compute(
    ledger: &SharedLedger,
    (device, outside): (&str, &Outside),
    lease: Lease,
    ranks: Arc<Sockets>,
) -> Result<(), Failure> {
    let device = engine::device::open(device).map_err(|error| error.failure())?;
    let claim = patiently(|| ledger.claimed(lease)).await.map_err(|error| internal(chain(&error)))?;
    let bases = Bases::default();
    let mut signs = interval(SIGNS);
    let preparing = assignment::prepare(&**ledger, &claim, (&device, &bases), outside);
    tokio::pin!(preparing);
    let mut work = loop {
        tokio::select! {
            work = &mut preparing => break work?,
            // What a model takes on its way here is no silence.
            _ = signs.tick() => ranks.sign(),
        }
    };
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
