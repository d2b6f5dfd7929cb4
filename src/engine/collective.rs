//! Several processes that work on one job, each with a device of its own: its ranks. All of them hold the same state and
//! take the same decisions; what is dear is divided among them and put together again, so that every rank knows
//! everything: completions are gathered, gradients are summed. Rank 0 alone writes and reports.
//!
//! Sums have the ranks' order, so that all ranks end with the same bits, and a run with the same number of ranks repeats.

use std::fmt::Debug;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cuda::Flat;
use super::cuda::driver::{DeviceError, Driver};
use super::error::EngineError;

/// What one rank sends at a time, at most: the completions of a large round.
const MOST_BYTES: u64 = 16 << 30;
/// A rank that is silent for so long is given up; sampling phases are that long at most.
const PATIENCE: Duration = Duration::from_secs(3600);

type Result<T> = std::result::Result<T, EngineError>;

/// The ranks of one job.
pub trait Collective: Send + Sync + Debug {
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// The bytes of every rank, in the order of the ranks.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Replaces numbers by their sums over all ranks.
    fn sum(&self, numbers: &mut [f32]) -> Result<()>;

    /// The same for numbers on a device.
    fn sum_on_device(&self, numbers: &Flat) -> Result<()>;

    /// Lets devices talk to each other, where they can.
    fn join(&self, driver: &Arc<dyn Driver>) -> Result<()>;
}

impl dyn Collective + '_ {
    /// Whether this rank writes and reports.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Every rank's value, in the order of the ranks.
    pub fn gather_values<T: Serialize + DeserializeOwned>(&self, own: T) -> Result<Vec<T>> {
        if self.size() == 1 {
            return Ok(vec![own]);
        }
        // Unlike JSON this keeps what is not finite.
        let bytes = rmp_serde::to_vec(&own).map_err(|error| lost(error.to_string()))?;
        let read = |bytes: &Vec<u8>| rmp_serde::from_slice(bytes).map_err(|error| lost(error.to_string()));
        self.gather(&bytes)?.iter().map(read).collect()
    }

    /// This rank's share of `items`, which follows on that of the rank before.
    pub fn share<'a, T>(&self, items: &'a [T]) -> &'a [T] {
        let bound = |rank: usize| items.len() * rank / self.size();
        &items[bound(self.rank())..bound(self.rank() + 1)]
    }

    /// Whether the n-th of many pieces of work is this rank's.
    pub fn owns(&self, index: usize) -> bool {
        index % self.size() == self.rank()
    }

    /// The results of pieces of work of which every rank did its own, in the order of the pieces.
    pub fn collect<T: Serialize + DeserializeOwned>(&self, own: Vec<T>) -> Result<Vec<T>> {
        let mut all: Vec<_> = self.gather_values(own)?.into_iter().map(Vec::into_iter).collect();
        let count: usize = all.iter().map(ExactSizeIterator::len).sum();
        Ok((0..count).filter_map(|index| all[index % self.size()].next()).collect())
    }
}

fn lost(detail: impl Into<String>) -> EngineError {
    EngineError::Device(DeviceError::Failed { what: "another device of the job was lost", detail: detail.into() })
}

/// A job with one rank.
#[derive(Debug)]
pub struct Alone;

impl Collective for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![own.to_vec()])
    }

    fn sum(&self, _numbers: &mut [f32]) -> Result<()> {
        Ok(())
    }

    fn sum_on_device(&self, _numbers: &Flat) -> Result<()> {
        Ok(())
    }

    fn join(&self, _driver: &Arc<dyn Driver>) -> Result<()> {
        Ok(())
    }
}

/// Ranks that are processes of one machine, connected through rank 0.
#[derive(Debug)]
pub struct Sockets {
    rank: usize,
    size: usize,
    /// Rank 0 has one to each other rank, the others one to rank 0.
    links: Mutex<Vec<UnixStream>>,
    /// The device that sums among devices by itself.
    device: OnceLock<Arc<dyn Driver>>,
}

impl Sockets {
    /// Rank 0, with its connections to ranks 1, 2, ...
    pub fn hub(links: Vec<UnixStream>) -> Result<Self> {
        let size = links.len() + 1;
        Self::new(0, size, links)
    }

    /// Another rank, with its connection to rank 0.
    pub fn spoke(rank: usize, size: usize, link: UnixStream) -> Result<Self> {
        Self::new(rank, size, vec![link])
    }

    fn new(rank: usize, size: usize, links: Vec<UnixStream>) -> Result<Self> {
        for link in &links {
            link.set_read_timeout(Some(PATIENCE)).map_err(|error| lost(error.to_string()))?;
        }
        Ok(Self { rank, size, links: Mutex::new(links), device: OnceLock::new() })
    }

    fn links(&self) -> MutexGuard<'_, Vec<UnixStream>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rank 0 reads a message of every other rank, makes one of them all, and sends it to them; returns it.
    fn exchange(&self, own: &[u8], combine: impl FnOnce(Vec<Vec<u8>>) -> Vec<u8>) -> Result<Vec<u8>> {
        let mut links = self.links();
        let name = |place: usize| if self.rank == 0 { place + 1 } else { 0 };
        let failed = |place: usize| {
            move |error: std::io::Error| match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                    lost(format!("the process of rank {} has ended; its log says why", name(place)))
                }
                _ => lost(format!("rank {}: {error}", name(place))),
            }
        };
        if self.rank > 0 {
            send(&mut links[0], own).map_err(failed(0))?;
            return receive(&mut links[0]).map_err(failed(0));
        }
        let mut all = vec![own.to_vec()];
        for (place, link) in links.iter_mut().enumerate() {
            all.push(receive(link).map_err(failed(place))?);
        }
        let combined = combine(all);
        for (place, link) in links.iter_mut().enumerate() {
            send(link, &combined).map_err(failed(place))?;
        }
        Ok(combined)
    }
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
        let joined = self.exchange(own, |all| {
            all.iter()
                .flat_map(|bytes| (bytes.len() as u64).to_le_bytes().into_iter().chain(bytes.iter().copied()))
                .collect()
        })?;
        let (mut rest, mut all) = (&joined[..], Vec::with_capacity(self.size));
        while let Some((length, behind)) = rest.split_first_chunk::<8>() {
            let bytes = behind.get(..u64::from_le_bytes(*length) as usize);
            let bytes = bytes.ok_or_else(|| lost("a message is cut short"))?;
            all.push(bytes.to_vec());
            rest = &behind[bytes.len()..];
        }
        Ok(all)
    }

    fn sum(&self, numbers: &mut [f32]) -> Result<()> {
        let sums = self.exchange(bytemuck::cast_slice(numbers), |all| {
            let mut parts = all.into_iter();
            let mut sums = parts.next().unwrap_or_default();
            for part in parts {
                for (sum, number) in sums.chunks_exact_mut(4).zip(part.chunks_exact(4)) {
                    let [a, b] = [&*sum, number].map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                    sum.copy_from_slice(&(a + b).to_le_bytes());
                }
            }
            sums
        })?;
        if sums.len() != size_of_val(numbers) {
            return Err(lost("the ranks do not add up the same weights"));
        }
        bytemuck::cast_slice_mut(numbers).copy_from_slice(&sums);
        Ok(())
    }

    fn sum_on_device(&self, numbers: &Flat) -> Result<()> {
        if self.device.get().is_some() {
            return Ok(numbers.sum_over_ranks()?);
        }
        let mut values = numbers.read()?;
        self.sum(&mut values)?;
        Ok(numbers.write_all(&values)?)
    }

    fn join(&self, driver: &Arc<dyn Driver>) -> Result<()> {
        let mut exchange = |own: Vec<u8>| {
            let all = self.gather(&own).map_err(|error| match error {
                EngineError::Device(error) => error,
                other => DeviceError::Failed { what: "joining the devices of the job", detail: other.to_string() },
            })?;
            Ok(all.into_iter().next().unwrap_or_default())
        };
        if driver.join(self.rank, self.size, &mut exchange)? {
            self.device.get_or_init(|| Arc::clone(driver));
        }
        Ok(())
    }
}

fn send(link: &mut UnixStream, bytes: &[u8]) -> std::io::Result<()> {
    link.write_all(&(bytes.len() as u64).to_le_bytes())?;
    link.write_all(bytes)
}

fn receive(link: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 8];
    link.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(std::io::Error::other(format!("a message of {length} bytes is too long")));
    }
    let mut bytes = vec![0; length as usize];
    link.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `work` on so many ranks, as threads.
    fn ranks<T: Send>(size: usize, work: impl Fn(&dyn Collective) -> T + Sync) -> Vec<T> {
        let (hub, spokes): (Vec<_>, Vec<_>) = (1..size).map(|_| UnixStream::pair().unwrap()).unzip();
        let mut all = vec![Sockets::hub(hub).unwrap()];
        all.extend((1..).zip(spokes).map(|(rank, link)| Sockets::spoke(rank, size, link).unwrap()));
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
                let own: Vec<usize> = (0..7).filter(|index| collective.owns(*index)).collect();
                let names = collective.gather_values(format!("rank {rank}")).unwrap();
                (numbers, collective.collect(own).unwrap(), names, collective.gather(&[]).unwrap().len())
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
        let shares = ranks(3, |collective| collective.share(&items).to_vec());
        assert_eq!(shares.concat(), items);
        assert!(shares.iter().all(|share| (3..=4).contains(&share.len())));
    }

    #[test]
    fn a_rank_that_goes_away_is_an_error_for_the_others() {
        let results = ranks(3, |collective| {
            if collective.rank() == 1 {
                return None;
            }
            Some(collective.gather(b"here").map(|_| ()).map_err(|error| error.failure().code))
        });
        assert_eq!(results, [Some(Err(String::from("device_lost"))), None, Some(Err(String::from("device_lost")))]);
    }
}
