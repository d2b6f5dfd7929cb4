//! Connections between the ranks of a job, and the messages on them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

/// What one rank sends at a time, at most: the completions of a large round.
const MOST_BYTES: u64 = 16 << 30;

/// A connection between two ranks.
#[derive(Debug)]
pub enum Link {
    /// Of one machine.
    Near(UnixStream),
    /// Of two, which have proved to each other who they are.
    Far(TcpStream),
}

impl Link {
    pub fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Near(stream) => Self::Near(stream.try_clone()?),
            Self::Far(stream) => Self::Far(stream.try_clone()?),
        })
    }

    /// Sends no more, also by another handle. What the other side still says is heard until it ends, too.
    pub fn end(&self) {
        // It may have ended.
        drop(match self {
            Self::Near(stream) => stream.shutdown(Shutdown::Write),
            Self::Far(stream) => stream.shutdown(Shutdown::Write),
        });
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Near(stream) => stream.read(buffer),
            Self::Far(stream) => stream.read(buffer),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Near(stream) => stream.write(bytes),
            Self::Far(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A part of an exchange.
    Data,
    /// Nothing but that the rank computes.
    Sign,
    /// Why the rank ends.
    Failure,
    /// The rank's machine is to be free: the job is to be saved and to go on elsewhere.
    Leave,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Data, Self::Sign, Self::Failure, Self::Leave];
}

/// A message: what it is, the exchange that it is part of, and what it says.
pub type Message = (Kind, u64, Vec<u8>);

/// Writes a message.
pub fn send(link: &mut Link, kind: Kind, number: u64, bytes: &[u8]) -> std::io::Result<()> {
    let mut head = vec![Kind::ALL.iter().position(|other| *other == kind).unwrap_or(0) as u8];
    head.extend(number.to_le_bytes());
    head.extend((bytes.len() as u64).to_le_bytes());
    link.write_all(&head)?;
    link.write_all(bytes)
}

/// Reads a message.
pub fn receive(link: &mut Link) -> std::io::Result<Message> {
    let (mut kind, mut numbers) = ([0], [[0; 8]; 2]);
    link.read_exact(&mut kind)?;
    let unknown = || std::io::Error::other("a message of no known kind");
    let kind = *Kind::ALL.get(usize::from(kind[0])).ok_or_else(unknown)?;
    for number in &mut numbers {
        link.read_exact(number)?;
    }
    let [number, length] = numbers.map(u64::from_le_bytes);
    if length > MOST_BYTES {
        return Err(std::io::Error::other(format!("a message of {length} bytes is too long")));
    }
    let mut bytes = vec![0; length as usize];
    link.read_exact(&mut bytes)?;
    Ok((kind, number, bytes))
}
