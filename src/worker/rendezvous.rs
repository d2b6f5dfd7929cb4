//! Where the processes of a job on several machines meet: rank 0 listens at a port of its machine, the ledger tells the
//! workers of the others, and both sides of each connection prove that they know the attempt's secret (HMAC-SHA256, RFC
//! 2104, of what both have made up). What follows is not encrypted, as what GPUs send each other is not.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream as Stream, ToSocketAddrs, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use rustix::net::sockopt;
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::ranks::Rank;
use crate::job::agent::Rendezvous;
use crate::job::digest::hex;

/// An address behind the default route, if there is one (RFC 5737); nothing is sent there.
pub const ELSEWHERE: (&str, u16) = ("192.0.2.1", 9);
/// How long a connection may take to prove who it is.
const PROOF: Duration = Duration::from_secs(5);
/// A pause before somebody else is let in.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that may be about to prove who they are.
const MOST_STRANGERS: usize = 64;
/// What each side makes up.
type Nonce = [u8; 32];
/// What an HMAC has.
const PROOF_BYTES: usize = 32;

/// The address of this machine from which it would talk to another one; without a way there its own.
pub fn own_address(other: impl ToSocketAddrs) -> IpAddr {
    let found = || -> io::Result<IpAddr> {
        let other = other.to_socket_addrs()?.next().ok_or(ErrorKind::NotFound)?;
        let any: IpAddr = if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        // Only chooses the way.
        socket.connect(other)?;
        Ok(socket.local_addr()?.ip())
    };
    found().unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// Rank 0, which waits for others.
pub struct Meeting {
    listener: TcpListener,
    at: Rendezvous,
    size: usize,
    /// Ranks that are waited for.
    missing: Mutex<Vec<usize>>,
}

impl Meeting {
    /// At a port of `address`, for a job of `size` ranks.
    pub async fn open(address: IpAddr, size: usize) -> io::Result<Self> {
        let listener = match TcpListener::bind((address, 0)).await {
            // The address is not this machine's own, but leads to it.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                let any: IpAddr =
                    if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
                TcpListener::bind((any, 0)).await?
            }
            bound => bound?,
        };
        let mut secret = Nonce::default();
        getrandom::fill(&mut secret)?;
        let address = SocketAddr::new(address, listener.local_addr()?.port());
        let at = Rendezvous { address: address.to_string(), secret: hex(&secret) };
        Ok(Self { listener, at, size, missing: Mutex::default() })
    }

    /// What the others must know.
    pub fn at(&self) -> &Rendezvous {
        &self.at
    }

    /// The connections of `others`, as soon as all are there. Whoever cannot prove to be one of them is sent away.
    /// `patience` is how long one that is there may be unreachable.
    pub async fn wait(&self, others: Vec<usize>, patience: Duration) -> io::Result<Vec<(usize, Stream)>> {
        *self.lock() = others;
        let (mut proving, mut there) = (JoinSet::new(), Vec::new());
        while !self.lock().is_empty() {
            tokio::select! {
                accepted = self.listener.accept(), if proving.len() < MOST_STRANGERS => {
                    let Ok((stream, from)) = accepted else {
                        // One that has gone again, or there are too many files.
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    };
                    let (at, size) = (self.at.clone(), self.size);
                    proving.spawn(async move { (admit(stream, &at, size).await, from) });
                }
                Some(proved) = proving.join_next() => match proved {
                    Ok((Ok((rank, stream)), _)) if self.missing().contains(&rank) => {
                        self.lock().retain(|other| *other != rank);
                        there.push((rank, settled(stream, patience)?));
                    }
                    Ok((Ok((rank, _)), from)) => tracing::warn!(%from, rank, "no such rank is waited for"),
                    Ok((Err(error), from)) => tracing::warn!(%from, %error, "a connection proved nothing"),
                    Err(error) => tracing::warn!(%error, "a connection could not be looked at"),
                },
            }
        }
        Ok(there)
    }

    /// The ranks that have not come.
    pub fn missing(&self) -> Vec<usize> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes to where rank 0 waits.
pub async fn join(at: &Rendezvous, rank: Rank, patience: Duration) -> io::Result<Stream> {
    let proved = timeout(PROOF, async {
        let mut stream = TcpStream::connect(&at.address).await?;
        let mut theirs = Nonce::default();
        stream.read_exact(&mut theirs).await?;
        let mut own = Nonce::default();
        getrandom::fill(&mut own)?;
        let said = Said { rank, first: theirs, other: own };
        stream.write_all(&said.opening(at)).await?;
        let mut proof = [0; PROOF_BYTES];
        stream.read_exact(&mut proof).await?;
        said.check(at, Side::First, &proof)?;
        io::Result::Ok(stream)
    });
    settled(proved.await.map_err(|_| ErrorKind::TimedOut)??, patience)
}

async fn admit(mut stream: TcpStream, at: &Rendezvous, size: usize) -> io::Result<(usize, TcpStream)> {
    let proved = timeout(PROOF, async {
        let mut own = Nonce::default();
        getrandom::fill(&mut own)?;
        stream.write_all(&own).await?;
        let (rank, of) = (stream.read_u32_le().await? as usize, stream.read_u32_le().await? as usize);
        let (mut theirs, mut proof) = (Nonce::default(), [0; PROOF_BYTES]);
        stream.read_exact(&mut theirs).await?;
        stream.read_exact(&mut proof).await?;
        let said = Said { rank: Rank { rank, size: of }, first: own, other: theirs };
        said.check(at, Side::Other, &proof)?;
        if of != size {
            return Err(io::Error::other(format!("it takes part in a job of {of} ranks, and this one has {size}")));
        }
        stream.write_all(&said.proof(at, Side::First).finalize().into_bytes()).await?;
        Ok((rank, stream))
    });
    proved.await.map_err(|_| ErrorKind::TimedOut)?
}

/// Whose proof it is: that of one side is none of the other's.
#[derive(Clone, Copy)]
enum Side {
    First,
    Other,
}

/// What both sides have said.
struct Said {
    rank: Rank,
    /// What rank 0 has made up, and the other one.
    first: Nonce,
    other: Nonce,
}

impl Said {
    fn proof(&self, at: &Rendezvous, side: Side) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(at.secret.as_bytes()).expect("HMAC takes keys of any length");
        mac.update(match side {
            Side::First => b"anneal: rank 0 of a job\0",
            Side::Other => b"anneal: a rank of a job\0",
        });
        // Ranks of other versions would speak another language.
        mac.update(env!("ANNEAL_BUILD").as_bytes());
        mac.update(&self.numbers());
        mac.update(&self.first);
        mac.update(&self.other);
        mac
    }

    fn numbers(&self) -> [u8; 8] {
        let [rank, size] = [self.rank.rank, self.rank.size].map(|number| (number as u32).to_le_bytes());
        let mut numbers = [0; 8];
        numbers[..4].copy_from_slice(&rank);
        numbers[4..].copy_from_slice(&size);
        numbers
    }

    /// What the other rank says of itself.
    fn opening(&self, at: &Rendezvous) -> Vec<u8> {
        let proof = self.proof(at, Side::Other).finalize().into_bytes();
        [&self.numbers()[..], &self.other, &proof].concat()
    }

    fn check(&self, at: &Rendezvous, side: Side, proof: &[u8]) -> io::Result<()> {
        let refused = |_| {
            io::Error::new(
                ErrorKind::PermissionDenied,
                "it does not know the secret of the attempt, or its program is another version",
            )
        };
        self.proof(at, side).verify_slice(proof).map_err(refused)
    }
}

/// A connection that waits for what it reads, and that is given up once the other side was unreachable for `patience`.
fn settled(stream: TcpStream, patience: Duration) -> io::Result<Stream> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    let milliseconds = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(&stream, milliseconds)?;
    // Also where nothing is on its way.
    sockopt::set_socket_keepalive(&stream, true)?;
    let pause = (patience / 3).max(Duration::from_secs(1));
    sockopt::set_tcp_keepidle(&stream, pause)?;
    sockopt::set_tcp_keepintvl(&stream, pause)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    async fn meeting() -> Meeting {
        Meeting::open(Ipv4Addr::LOCALHOST.into(), 3).await.unwrap()
    }

    #[tokio::test]
    async fn ranks_meet_whoever_comes_first() {
        let meeting = meeting().await;
        let come = async |rank| join(meeting.at(), Rank { rank, size: 3 }, PATIENCE).await.unwrap();
        let (there, mut two, mut one) = tokio::join!(meeting.wait(vec![1, 2], PATIENCE), come(2), come(1));
        let mut there = there.unwrap();
        there.sort_by_key(|(rank, _)| *rank);
        for ((rank, stream), other) in there.iter_mut().zip([&mut one, &mut two]) {
            stream.write_all(&[*rank as u8]).unwrap();
            let mut heard = [0];
            other.read_exact(&mut heard).unwrap();
            assert_eq!(usize::from(heard[0]), *rank);
        }
    }

    #[tokio::test]
    async fn who_does_not_know_the_secret_is_sent_away_and_finds_out_who_does_not() {
        let meeting = meeting().await;
        let wrong = Rendezvous { secret: hex(&[7; 32]), ..meeting.at().clone() };
        let rank = Rank { rank: 1, size: 3 };
        let come = async {
            // Another secret, another number of ranks, and a rank that is not waited for.
            join(&wrong, rank, PATIENCE).await.unwrap_err();
            join(meeting.at(), Rank { rank: 1, size: 2 }, PATIENCE).await.unwrap_err();
            let mut uncalled = join(meeting.at(), Rank { rank: 2, size: 3 }, PATIENCE).await.unwrap();
            let heard = tokio::task::spawn_blocking(move || uncalled.read(&mut [0]));
            assert_eq!(heard.await.unwrap().unwrap(), 0);
            // One that says what another has said to somebody else.
            let mut listener = TcpStream::connect(&meeting.at().address).await.unwrap();
            let mut nonce = Nonce::default();
            listener.read_exact(&mut nonce).await.unwrap();
            let old = Said { rank, first: [1; 32], other: [2; 32] };
            listener.write_all(&old.opening(meeting.at())).await.unwrap();
            assert!(listener.read_u8().await.is_err());
            join(meeting.at(), rank, PATIENCE).await.unwrap()
        };
        let (there, _stream) = tokio::join!(meeting.wait(vec![1], PATIENCE), come);
        assert_eq!(there.unwrap().len(), 1);

        // A rank 0 that is none.
        let impostor = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let at = Rendezvous { address: impostor.local_addr().unwrap().to_string(), ..meeting.at().clone() };
        let pretend = async {
            let (mut stream, _) = impostor.accept().await.unwrap();
            stream.write_all(&[3; 32]).await.unwrap();
            let mut said = [0; 72];
            stream.read_exact(&mut said).await.unwrap();
            // The best that it can do: to say what it was told.
            stream.write_all(&said[40..]).await.unwrap();
            stream
        };
        let (refused, _stream) = tokio::join!(join(&at, rank, PATIENCE), pretend);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_machine_knows_its_own_address() {
        assert_eq!(own_address(("127.0.0.1", 1)), IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(own_address(("", 1)), IpAddr::from(Ipv4Addr::LOCALHOST), "a name that leads nowhere");
    }
}
