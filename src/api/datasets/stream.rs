//! A body as something that a thread reads, while the chunks arrive here.

use std::io::{self, Read};

use axum::body::BodyDataStream;
use axum::http::StatusCode;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::api::error::Problem;

/// Chunks that wait for the thread.
const QUEUE: usize = 8;

/// What a thread reads; it ends with an error where the body was cut off.
pub struct Stream {
    receive: Receiver<Option<Bytes>>,
    current: Bytes,
    is_over: bool,
}

/// Hands a body's chunks on.
pub struct Feed {
    send: Sender<Option<Bytes>>,
    limit: u64,
}

/// Two ends for a body of at most `limit` bytes.
pub fn feed(limit: u64) -> (Stream, Feed) {
    let (send, receive) = channel(QUEUE);
    (Stream { receive, current: Bytes::new(), is_over: false }, Feed { send, limit })
}

/// What becomes of an upload that is larger than allowed.
pub fn too_large(limit: u64) -> Problem {
    let detail = format!("the upload is larger than {limit} bytes; raise max_upload_bytes or split the file");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "upload_too_large", detail)
}

impl Feed {
    /// Hands all chunks on, or as many as anybody reads.
    pub async fn all(self, chunks: &mut BodyDataStream) -> Result<(), Problem> {
        let mut bytes = 0;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| {
                Problem::bad_request("upload_incomplete", format!("the upload was cut off: {error}; send it again"))
            })?;
            bytes += chunk.len() as u64;
            if bytes > self.limit {
                return Err(too_large(self.limit));
            }
            if self.send.send(Some(chunk)).await.is_err() {
                return Ok(());
            }
        }
        // Whoever reads is told that this is the end, and not that we were.
        let _ = self.send.send(None).await;
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.is_over {
            match self.receive.blocking_recv() {
                Some(Some(chunk)) => self.current = chunk,
                Some(None) => self.is_over = true,
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the body was cut off")),
            }
        }
        let count = into.len().min(self.current.len());
        self.current.copy_to_slice(&mut into[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[tokio::test]
    async fn a_body_is_read_to_its_end_and_no_further_than_its_limit() {
        for (limit, whole) in [(10, true), (5, false)] {
            let (mut stream, feed) = feed(limit);
            let reading = std::thread::spawn(move || {
                let mut text = String::new();
                stream.read_to_string(&mut text).map(|_| text)
            });
            let mut chunks = Body::from("ten bytes!").into_data_stream();
            assert_eq!(feed.all(&mut chunks).await.is_ok(), whole);
            let read = reading.join().unwrap();
            assert_eq!(read.ok().as_deref(), whole.then_some("ten bytes!"));
        }
    }
}
