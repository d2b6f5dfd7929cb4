//! Ranks that are processes of one machine or of several, which speak through rank 0.

use std::fmt::{self, Debug};
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Collective, Result};
use crate::engine::driver::{DeviceError, Driver};
use crate::engine::error::{EngineError, Stop};
use crate::engine::link::{Kind, Link, Message, receive, send};
use crate::job::{Failure, FailureKind};

/// How often a rank that computes says so.
const SIGNS: Duration = Duration::from_secs(1);
/// How often rank 0 looks around while it waits.
const LOOK: Duration = Duration::from_millis(100);

/// What rank 0 does while it waits for the others.
#[derive(Clone)]
pub struct Watch {
    /// A rank that gives no sign of life for so long is given up.
    pub patience: Duration,
    /// Looks whether to stop; it is also rank 0's own sign of life.
    pub look: Arc<dyn Fn() -> Option<Stop> + Send + Sync>,
    /// Learns that the machine of a rank is to be free; called by another thread.
    pub leave: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({:?})", self.patience)
    }
}

/// What rank 0 hears of another rank. A thread reads it, whatever rank 0 does meanwhile: a connection whose other end does not
/// read for long is taken for dead by the system.
#[derive(Debug)]
struct Ear {
    messages: Receiver<std::io::Result<Message>>,
    /// When the rank was heard last.
    heard: Arc<Mutex<Instant>>,
}

impl Ear {
    /// Listens at a connection until it ends. That the rank is to leave is told at once.
    fn listen(mut link: Link, leave: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (sender, messages) = channel();
        let heard = Arc::new(Mutex::new(Instant::now()));
        let last = Arc::clone(&heard);
        let listen = move || {
            loop {
                let message = receive(&mut link);
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                match message {
                    Ok((Kind::Sign, ..)) => {}
                    Ok((Kind::Leave, ..)) => leave(),
                    // A rank has one message of another kind on its way at most.
                    message => {
                        let is_over = message.is_err();
                        if sender.send(message).is_err() || is_over {
                            return;
                        }
                    }
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name(String::from("rank")).spawn(listen) {
            tracing::error!(%error, "a rank cannot be listened to");
        }
        Self { messages, heard }
    }

    /// Waits for the rank's part of an exchange, as long as it gives signs of life and rank 0 is not to stop.
    fn wait(&self, rank: usize, number: u64, watch: &Watch) -> Result<Vec<u8>> {
        // Of one that was to leave it is no loss.
        let ended = |error: &std::io::Error| (watch.look)().map_or_else(|| lost(rank, error), EngineError::Stopped);
        let silent = || self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        loop {
            match self.messages.recv_timeout(LOOK) {
                Ok(Ok((Kind::Failure, _, bytes))) => {
                    let unread = |error: serde_json::Error| lost(rank, &error.into());
                    let failure = serde_json::from_slice(&bytes).map_err(unread)?;
                    return Err(EngineError::Rank { rank, failure });
                }
                Ok(Ok((_, other, bytes))) => return if other == number { Ok(bytes) } else { Err(diverged(rank)) },
                Ok(Err(error)) => return Err(ended(&error)),
                Err(RecvTimeoutError::Disconnected) => return Err(ended(&ErrorKind::UnexpectedEof.into())),
                Err(RecvTimeoutError::Timeout) if silent() > watch.patience => {
                    return Err(gone(rank, format!("no sign of life for {} s", watch.patience.as_secs())));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(stop) = (watch.look)() {
                return Err(EngineError::Stopped(stop));
            }
        }
    }
}

/// Ranks that are processes of one machine or of several, connected through rank 0.
#[derive(Debug)]
pub struct Sockets {
    rank: usize,
    size: usize,
    /// Rank 0 has one to each other rank, the others one to rank 0.
    links: Mutex<Vec<Link>>,
    /// Rank 0's, with what it hears of each other rank.
    watch: Option<(Watch, Mutex<Vec<Ear>>)>,
    /// Exchanges so far; the ranks must be at the same one.
    exchanges: AtomicU64,
    /// When the last sign was given.
    signed: Mutex<Instant>,
    /// Whether the devices sum among themselves.
    joined: AtomicBool,
    /// Whether this rank's machine is to be free, and whether rank 0 was told.
    leaves: AtomicBool,
    told: AtomicBool,
}

impl Sockets {
    /// Rank 0, with its connections to ranks 1, 2, ...
    pub fn hub(links: Vec<Link>, watch: Watch) -> std::io::Result<Self> {
        let ears = links.iter().map(|link| Ok(Ear::listen(link.try_clone()?, Arc::clone(&watch.leave))));
        let ears = ears.collect::<std::io::Result<_>>()?;
        Ok(Self::new(0, links.len() + 1, links, Some((watch, Mutex::new(ears)))))
    }

    /// Another rank, with its connection to rank 0.
    pub fn spoke(rank: usize, size: usize, link: Link) -> Self {
        Self::new(rank, size, vec![link], None)
    }

    fn new(rank: usize, size: usize, links: Vec<Link>, watch: Option<(Watch, Mutex<Vec<Ear>>)>) -> Self {
        Self {
            rank,
            size,
            links: Mutex::new(links),
            watch,
            exchanges: AtomicU64::new(0),
            signed: Mutex::new(Instant::now()),
            joined: AtomicBool::new(false),
            leaves: AtomicBool::new(false),
            told: AtomicBool::new(false),
        }
    }

    fn links(&self) -> MutexGuard<'_, Vec<Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells rank 0 now and then that this one computes. That rank 0 is gone shows at the next exchange.
    pub fn sign(&self) {
        let mut signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = signed.elapsed() >= SIGNS || (self.leaves() && !self.told.load(Ordering::Relaxed));
        if self.rank > 0 && is_due {
            *signed = Instant::now();
            let mut links = self.links();
            self.tell_that_it_leaves(&mut links[0]);
            drop(send(&mut links[0], Kind::Sign, 0, &[]));
        }
    }

    /// Has rank 0 told that this one's machine is to be free: at once, or when it says something next.
    pub fn leave(&self) {
        self.leaves.store(true, Ordering::Relaxed);
        if let Ok(mut links) = self.links.try_lock() {
            self.tell_that_it_leaves(&mut links[0]);
        }
    }

    fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    fn tell_that_it_leaves(&self, link: &mut Link) {
        if self.leaves() && !self.told.swap(true, Ordering::Relaxed) {
            drop(send(link, Kind::Leave, 0, &[]));
        }
    }

    /// Tells rank 0 why this one ends, unless it ends because it leaves. Without rank 0 there is nobody to tell.
    pub fn fail(&self, failure: &Failure) {
        if let Ok(text) = serde_json::to_vec(failure)
            && !self.leaves()
        {
            drop(send(&mut self.links()[0], Kind::Failure, 0, &text));
        }
    }

    /// Rank 0 reads a message of every other rank, makes one of them all, and sends it to them, or to each the bytes of its
    /// part; returns what this rank gets.
    fn exchange(
        &self,
        own: &[u8],
        parts: Option<&[Range<usize>]>,
        combine: impl FnOnce(Vec<Vec<u8>>) -> Result<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed);
        let mut links = self.links();
        let Some((watch, ears)) = &self.watch else {
            self.tell_that_it_leaves(&mut links[0]);
            send(&mut links[0], Kind::Data, number, own).map_err(|error| lost(0, &error))?;
            let (_, other, bytes) = receive(&mut links[0]).map_err(|error| lost(0, &error))?;
            return if other == number { Ok(bytes) } else { Err(diverged(0)) };
        };
        let mut all = vec![own.to_vec()];
        for (ear, rank) in ears.lock().unwrap_or_else(PoisonError::into_inner).iter().zip(1..) {
            all.push(ear.wait(rank, number, watch)?);
        }
        let mut combined = combine(all)?;
        for (link, rank) in links.iter_mut().zip(1..) {
            let part = parts.map_or(&combined[..], |parts| &combined[parts[rank].clone()]);
            send(link, Kind::Data, number, part).map_err(|error| lost(rank, &error))?;
        }
        if let Some(parts) = parts {
            combined.truncate(parts[0].end);
            combined.drain(..parts[0].start);
        }
        Ok(combined)
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // The other side ends as well, which is heard; whoever gives devices back waits for that.
        self.links().iter().for_each(Link::end);
    }
}

/// The sums of the ranks' numbers, in the order of the ranks.
fn add_up(all: Vec<Vec<u8>>) -> Result<Vec<u8>> {
    let mut parts = all.into_iter();
    let mut sums = parts.next().unwrap_or_default();
    for (part, rank) in parts.zip(1..) {
        if part.len() != sums.len() {
            return Err(diverged(rank));
        }
        for (sum, number) in sums.chunks_exact_mut(4).zip(part.chunks_exact(4)) {
            let [a, b] = [&*sum, number].map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            sum.copy_from_slice(&(a + b).to_le_bytes());
        }
    }
    Ok(sums)
}

fn take_over(numbers: &mut [f32], bytes: &[u8]) -> Result<()> {
    if bytes.len() != size_of_val(numbers) {
        return Err(diverged(0));
    }
    bytemuck::cast_slice_mut(numbers).copy_from_slice(bytes);
    Ok(())
}

/// A rank whose process or device is gone.
fn gone(rank: usize, message: String) -> EngineError {
    let failure = Failure { kind: FailureKind::DeviceLost, code: String::from("device_lost"), message };
    EngineError::Rank { rank, failure }
}

fn lost(rank: usize, error: &std::io::Error) -> EngineError {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            gone(rank, String::from("its process has ended; its log says why"))
        }
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            gone(rank, String::from("its machine cannot be reached"))
        }
        _ => gone(rank, format!("its process cannot be talked to: {error}")),
    }
}

/// Ranks that are not at the same place of the same job.
fn diverged(rank: usize) -> EngineError {
    EngineError::Internal(format!("ranks 0 and {rank} are not at the same place"))
}

impl Collective for Sockets {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        // Each message behind its length.
        let joined = self.exchange(own, None, |all| {
            let mut joined = Vec::with_capacity(all.iter().map(|bytes| bytes.len() + 8).sum());
            for bytes in all {
                joined.extend((bytes.len() as u64).to_le_bytes());
                joined.extend(bytes);
            }
            Ok(joined)
        })?;
        let (mut rest, mut all) = (&joined[..], Vec::with_capacity(self.size));
        while let Some((length, behind)) = rest.split_first_chunk::<8>() {
            let bytes = behind.get(..u64::from_le_bytes(*length) as usize).ok_or_else(|| diverged(0))?;
            all.push(bytes.to_vec());
            rest = &behind[bytes.len()..];
        }
        if all.len() == self.size { Ok(all) } else { Err(diverged(0)) }
    }

    fn tell_first(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut told = Vec::new();
        self.exchange(own, None, |all| {
            told = all;
            Ok(Vec::new())
        })?;
        Ok(told)
    }

    fn sum(&self, numbers: &mut [f32]) -> Result<()> {
        let sums = self.exchange(bytemuck::cast_slice(numbers), None, add_up)?;
        take_over(numbers, &sums)
    }

    fn sum_parts(&self, numbers: &mut [f32], parts: &[Range<usize>]) -> Result<()> {
        let are_parts = parts.len() == self.size && parts.iter().all(|part| numbers.get(part.clone()).is_some());
        if !are_parts {
            return Err(diverged(self.rank));
        }
        let bytes: Vec<_> = parts.iter().map(|part| part.start * 4..part.end * 4).collect();
        let sums = self.exchange(bytemuck::cast_slice(numbers), Some(&bytes), add_up)?;
        take_over(&mut numbers[parts[self.rank].clone()], &sums)
    }

    fn has_joined(&self) -> bool {
        self.joined.load(Ordering::Relaxed)
    }

    fn join(&self, driver: Option<&Arc<dyn Driver>>) -> Result<()> {
        let ranks: &dyn Collective = self;
        if ranks.gather_values(driver.is_some())?.iter().any(|other| *other != driver.is_some()) {
            return Err(EngineError::Internal(String::from("a job runs on GPUs or on the CPU, not on both")));
        }
        let Some(driver) = driver else { return Ok(()) };
        let mut exchange = |own: Vec<u8>| {
            let all = self.gather(&own).map_err(|error| match error {
                EngineError::Device(error) => error,
                other => DeviceError::Failed { what: "joining the devices of the job", detail: other.to_string() },
            })?;
            Ok(all.into_iter().next().unwrap_or_default())
        };
        let joined = driver.join(self.rank, self.size, &mut exchange)?;
        // Unless all can, sums go through the sockets.
        if ranks.gather_values(joined)?.iter().all(|joined| *joined) {
            self.joined.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pair() -> (Link, Link) {
        let (one, other) = UnixStream::pair().unwrap();
        (Link::Near(one), Link::Near(other))
    }

    /// Runs `work` on so many ranks, as threads.
    fn ranks<T: Send>(size: usize, work: impl Fn(&Sockets) -> T + Sync) -> Vec<T> {
        let (hub, spokes): (Vec<_>, Vec<_>) = (1..size).map(|_| pair()).unzip();
        let left = Arc::new(AtomicBool::new(false));
        let leaving = Arc::clone(&left);
        let look = move || leaving.load(Ordering::Relaxed).then_some(Stop::Drain);
        let leave = Arc::new(move || left.store(true, Ordering::Relaxed));
        let watch = Watch { patience: Duration::from_secs(30), look: Arc::new(look), leave };
        let mut all = vec![Sockets::hub(hub, watch).unwrap()];
        all.extend((1..).zip(spokes).map(|(rank, link)| Sockets::spoke(rank, size, link)));
        std::thread::scope(|scope| {
            let threads: Vec<_> = all.into_iter().map(|sockets| scope.spawn(|| work(&{ sockets }))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn every_rank_learns_the_same_in_the_order_of_the_ranks() {
        for size in 1..4 {
            let results = ranks(size, |collective| {
                let rank = collective.rank();
                let mut numbers: Vec<f32> = (0..1000).map(|i| (i * (rank + 1)) as f32).collect();
                collective.sum(&mut numbers).unwrap();
                // Of unlike parts each rank learns its own.
                let parts = [0..10, 10..10, 10..1000];
                let mut some: Vec<f32> = (0..1000).map(|i| (i * (rank + 1)) as f32).collect();
                let parts = &parts[3 - size..];
                collective.sum_parts(&mut some, parts).unwrap();
                let is_own = |i: usize| parts[rank].contains(&i) && size > 1;
                assert!((0..1000).all(|i| some[i] == if is_own(i) { numbers[i] } else { (i * (rank + 1)) as f32 }));
                let own: Vec<usize> = (0..7).filter(|index| (collective as &dyn Collective).owns(*index)).collect();
                let names = (collective as &dyn Collective).gather_values(format!("rank {rank}")).unwrap();
                let told = collective.tell_first(&[rank as u8]).unwrap();
                assert_eq!(told, if rank == 0 { (0..size).map(|rank| vec![rank as u8]).collect() } else { Vec::new() });
                (
                    numbers,
                    (collective as &dyn Collective).collect(own).unwrap(),
                    names,
                    collective.gather(&[]).unwrap().len(),
                )
            });
            let factor = (1..=size).sum::<usize>();
            for (numbers, pieces, names, empty) in results {
                assert!(numbers.iter().enumerate().all(|(i, x)| *x == (i * factor) as f32));
                assert_eq!((pieces, empty), ((0..7).collect::<Vec<_>>(), size));
                assert_eq!(names, (0..size).map(|rank| format!("rank {rank}")).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn shares_follow_on_each_other() {
        let items: Vec<usize> = (0..10).collect();
        let shares = ranks(3, |collective| (collective as &dyn Collective).share(&items).to_vec());
        assert_eq!(shares.concat(), items);
        assert!(shares.iter().all(|share| (3..=4).contains(&share.len())));
    }

    /// The rank that rank 0 blames, and why.
    fn blamed(results: &[Option<EngineError>]) -> (usize, String) {
        match &results[0] {
            Some(EngineError::Rank { rank, failure }) => (*rank, failure.code.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rank_0_learns_which_rank_is_gone_and_why() {
        let ended = ranks(3, |sockets| if sockets.rank() == 2 { None } else { sockets.gather(b"here").err() });
        assert_eq!(blamed(&ended), (2, String::from("device_lost")));
        assert!(ended[1].is_some(), "nobody waits for ever");
        let told = ranks(3, |sockets| {
            if sockets.rank() == 1 {
                let code = String::from("row_missing_column");
                sockets.fail(&Failure { kind: FailureKind::InvalidData, code, message: String::from("row 7") });
                return None;
            }
            sockets.gather(b"here").err()
        });
        assert_eq!(blamed(&told), (1, String::from("row_missing_column")));
        assert_eq!(told[0].as_ref().unwrap().failure().kind, FailureKind::InvalidData);
    }

    #[test]
    fn ranks_at_different_places_are_found() {
        let results = ranks(2, |sockets| {
            if sockets.rank() == 1 {
                sockets.exchanges.store(5, Ordering::Relaxed);
            }
            sockets.gather(b"here").is_err()
        });
        assert!(results[0]);
        let results = ranks(2, |sockets| sockets.sum(&mut vec![1.0; 3 + sockets.rank()]).is_err());
        assert_eq!(results, [true, true]);
        let results = ranks(2, |sockets| sockets.sum_parts(&mut [1.0; 3], &[0..2, 2..4]).is_err());
        assert_eq!(results, [true, true], "a part that there is not");
    }

    #[test]
    fn a_rank_that_is_to_leave_has_the_job_saved() {
        let results = ranks(2, |sockets| {
            if sockets.rank() == 1 {
                sockets.leave();
                return None;
            }
            sockets.gather(b"here").err()
        });
        assert!(matches!(results[0], Some(EngineError::Stopped(Stop::Drain))), "{results:?}");
    }

    #[test]
    fn rank_0_stops_while_it_waits_and_a_silent_rank_is_given_up() {
        let wait = |watch: Watch, sign: bool| {
            let (hub, link) = pair();
            let (hub, spoke) = (Sockets::hub(vec![hub], watch).unwrap(), Sockets::spoke(1, 2, link));
            *spoke.signed.lock().unwrap() -= SIGNS;
            if sign {
                spoke.sign();
            }
            hub.gather(b"here").unwrap_err()
        };
        let (look, leave) = (Arc::new(|| Some(Stop::Cancel)), Arc::new(|| ()));
        let stopped = wait(Watch { patience: Duration::from_secs(30), look, leave: leave.clone() }, true);
        assert!(matches!(stopped, EngineError::Stopped(Stop::Cancel)));
        let silent = wait(Watch { patience: Duration::from_millis(150), look: Arc::new(|| None), leave }, false);
        assert!(matches!(silent, EngineError::Rank { rank: 1, .. }), "{silent}");
    }
}
