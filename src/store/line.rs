//! The socket on which an idle worker answers: where it lies, and how messages go over it.
//!
//! The API and the workers of a data directory meet here for what would be too slow through the database. A socket is
//! named after its device and is there while the device's worker is idle; its folder is the owner's alone.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use super::{Files, Result, StoreError};
use crate::job::device::split_name;
use crate::job::inference::{FrameError, Frames, frame};

/// Bytes that are read at a time.
const CHUNK: usize = 16 << 10;

/// The name of a device's socket, by way of its open folder: the path of a socket has 107 bytes at most, and that of a
/// data directory may be longer.
struct Address {
    folder: File,
    file: String,
}

impl Address {
    fn of(files: &Files, device: &str) -> io::Result<Self> {
        Ok(Self {
            folder: File::open(files.inference())?,
            file: format!("{}.sock", split_name(device).1.replace(':', "-")),
        })
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{}", self.folder.as_raw_fd(), self.file))
    }
}

/// A worker's end, which takes connections.
pub struct Listener {
    listener: UnixListener,
    file: PathBuf,
}

impl Listener {
    /// Takes connections for a device. What a worker left behind that was killed is replaced.
    pub fn open(files: &Files, device: &str) -> Result<Self> {
        let folder = files.inference();
        let address = Address::of(files, device).map_err(|e| StoreError::io("opening", &folder, e))?;
        let file = folder.join(&address.file);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("removing", &file, error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(address.path()).map_err(|e| StoreError::io("listening on", &file, e))?;
        fs::set_permissions(&file, Permissions::from_mode(0o600)).map_err(|e| StoreError::io("closing", &file, e))?;
        Ok(Self { listener, file })
    }

    pub async fn accept(&self) -> io::Result<Line> {
        Ok(self.listener.accept().await?.0.into())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.file) {
            tracing::debug!(%error, "a socket could not be removed");
        }
    }
}

/// A connection: what is sent and what is received.
pub struct Line {
    pub sending: Sending,
    pub receiving: Receiving,
}

impl Line {
    /// Whether the worker of a device takes connections, as far as is seen from outside.
    pub fn is_open(files: &Files, device: &str) -> bool {
        Address::of(files, device).is_ok_and(|address| address.path().exists())
    }

    /// Asks the worker of a device; an error when it takes no connections.
    pub async fn connect(files: &Files, device: &str) -> io::Result<Self> {
        let address = Address::of(files, device)?;
        Ok(UnixStream::connect(address.path()).await?.into())
    }
}

impl From<UnixStream> for Line {
    fn from(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self {
            sending: Sending { writer, waiting: Vec::new() },
            receiving: Receiving { reader, frames: Frames::default(), chunk: vec![0; CHUNK] },
        }
    }
}

/// Messages on their way out.
pub struct Sending {
    writer: OwnedWriteHalf,
    waiting: Vec<u8>,
}

impl Sending {
    /// Puts a message behind those that wait.
    pub fn put(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.waiting.append(&mut frame(message).map_err(no_message)?);
        Ok(())
    }

    /// Whether everything is sent.
    pub fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends some of what waits. Nothing is lost when this is dropped before it is ready.
    pub async fn advance(&mut self) -> io::Result<()> {
        let sent = self.writer.write(&self.waiting).await?;
        self.waiting.drain(..sent);
        Ok(())
    }

    /// Sends all that waits.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.is_clear() {
            self.advance().await?;
        }
        Ok(())
    }
}

/// Messages on their way in.
pub struct Receiving {
    reader: OwnedReadHalf,
    frames: Frames,
    chunk: Vec<u8>,
}

impl Receiving {
    /// The next message; none when the other side has closed. Nothing is lost when this is dropped before it is ready.
    pub async fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.frames.take().map_err(no_message)? {
                return Ok(Some(message));
            }
            match self.reader.read(&mut self.chunk).await? {
                0 => return Ok(None),
                count => self.frames.push(&self.chunk[..count]),
            }
        }
    }
}

fn no_message(error: FrameError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::job::inference::Reply;

    #[tokio::test]
    async fn a_device_is_reached_below_a_folder_of_any_length_and_only_while_it_listens() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(&folder.path().join("a-long-name-".repeat(15))).unwrap();
        assert!(Line::connect(&files, "cuda:1").await.is_err());
        let listener = Listener::open(&files, "cuda:1").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.inference()), mode(&listener.file)), (0o700, 0o600));

        let (asked, answered) = tokio::join!(Line::connect(&files, "cuda:1"), listener.accept());
        let (mut asked, mut answered) = (asked.unwrap(), answered.unwrap());
        answered.sending.put(&Reply::Accepted).unwrap();
        answered.sending.put(&Reply::Done).unwrap();
        answered.sending.flush().await.unwrap();
        drop(answered);
        let mut next = async || asked.receiving.receive::<Reply>().await.unwrap();
        assert_eq!((next().await, next().await, next().await), (Some(Reply::Accepted), Some(Reply::Done), None));

        // A worker that was killed leaves its socket behind, which the next one replaces.
        let stale = Listener::open(&files, "cuda:1").unwrap();
        drop(listener);
        std::mem::forget(stale);
        let listener = Listener::open(&files, "cuda:1").unwrap();
        assert!(Line::connect(&files, "cuda:1").await.is_ok());
        drop(listener);
        assert!(Line::connect(&files, "cuda:1").await.is_err());
    }
}
