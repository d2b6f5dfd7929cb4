//! An agent's files: what lies at its server is read and written piece by piece, by the rights of the worker's jobs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Url;
use tokio::sync::Mutex;

use super::client::{Client, away};
use crate::job::WorkerId;
use crate::job::agent::{FileList, ReceivedFile};
use crate::job::digest::sha256_of;
use crate::store::{Depot, Object, Permit, Piece, Reader, Result, StoreError, blocking, write_in_pieces};

/// Larger files go in pieces of this size.
const PIECE_BYTES: u64 = 16 << 20;
/// How often a file is sent anew of which something else arrived.
const MOST_TRIES: usize = 3;

/// The files of a server as one of its workers may see them.
#[derive(Debug)]
pub struct ServerDepot {
    client: Arc<Client>,
    worker: WorkerId,
    /// One file goes up at a time: pieces of two with one name would meet.
    sending: Mutex<()>,
}

impl ServerDepot {
    pub fn new(client: Arc<Client>, worker: WorkerId) -> Self {
        Self { client, worker, sending: Mutex::default() }
    }

    fn path(&self, what: &str, parameters: &[(&str, &str)]) -> String {
        let route = format!("/workers/{}/{what}", self.worker);
        // Only for its rules of writing parameters.
        let Ok(mut url) = Url::parse("http://localhost/") else { return route };
        url.query_pairs_mut().extend_pairs(parameters);
        format!("{route}?{}", url.query().unwrap_or_default())
    }

    /// A file that the server does not have, as whoever reads files knows it.
    fn missing(&self, name: &str, error: StoreError) -> StoreError {
        match error {
            StoreError::Server { status: 404, detail, .. } => {
                StoreError::io("reading", Path::new(name), io::Error::new(io::ErrorKind::NotFound, detail))
            }
            error => error,
        }
    }
}

#[async_trait]
impl Depot for ServerDepot {
    async fn put(&self, name: &str, file: &Path) -> Result<()> {
        let _turn = self.sending.lock().await;
        let read = |e| StoreError::io("reading", file, e);
        let source = Arc::new(File::open(file).map_err(read)?);
        let size = source.metadata().map_err(read)?.len();
        let whole = file.to_owned();
        let sha256 = blocking(move || sha256_of(File::open(whole)?)).await.map_err(read)?;
        let (mut offset, mut tries, length) = (0, 0, size.to_string());
        loop {
            let begin: u64 = offset;
            let count = PIECE_BYTES.min(size.saturating_sub(begin));
            let source = Arc::clone(&source);
            let piece = blocking(move || {
                let mut bytes = vec![0; count as usize];
                source.read_exact_at(&mut bytes, begin).map(|()| bytes)
            });
            let parameters = [("path", name), ("offset", &begin.to_string()), ("size", &length), ("sha256", &sha256)];
            let sent = self.client.put(&self.path("file", &parameters), piece.await.map_err(read)?).await;
            let ReceivedFile { received, complete } = match sent {
                Err(StoreError::Server { code, .. }) if code == "digest_mismatch" && tries < MOST_TRIES => {
                    (offset, tries) = (0, tries + 1);
                    continue;
                }
                sent => sent?,
            };
            if complete {
                return Ok(());
            }
            if received <= begin && begin > 0 {
                // What was there is gone, as with a server that has begun anew.
                tries += 1;
                if tries > MOST_TRIES {
                    return Err(StoreError::ServerAway(format!("`{name}` does not arrive")));
                }
            }
            offset = received;
        }
    }

    async fn get(&self, name: &str, file: &Path) -> Result<()> {
        let path = self.path("file", &[("path", name)]);
        let bring = |mut piece: Piece| {
            let (client, path) = (Arc::clone(&self.client), path.clone());
            async move {
                let Range { start, end } = piece.range();
                let mut answer = client.range(&path, start, end - start).await?;
                while let Some(bytes) = answer.chunk().await.map_err(away)? {
                    piece.write(bytes).await.map_err(|e| StoreError::io("writing", file, e))?;
                }
                if piece.range().is_empty() { Ok(piece) } else { Err(Client::strange(&path)) }
            }
        };
        write_in_pieces(file, self.size(name).await?, bring).await
    }

    async fn range(&self, name: &str, first: u64, length: u64) -> Result<Reader> {
        let path = self.path("file", &[("path", name)]);
        let answer = self.client.range(&path, first, length).await.map_err(|error| self.missing(name, error))?;
        let bytes = answer.bytes().await.map_err(away)?;
        Ok(Box::pin(io::Cursor::new(bytes)))
    }

    async fn size(&self, name: &str) -> Result<u64> {
        let length = self.client.length(&self.path("file", &[("path", name)])).await;
        length.map_err(|error| self.missing(name, error))
    }

    async fn list(&self, folder: &str) -> Result<Vec<Object>> {
        let mut found = BTreeMap::new();
        for object in self.list_all(folder).await? {
            match object.name.split_once('/') {
                None => found.insert(object.name, object.bytes),
                Some((folder, _)) => found.insert(folder.to_owned(), 0),
            };
        }
        Ok(found.into_iter().map(|(name, bytes)| Object { name, bytes, written: None }).collect())
    }

    async fn list_all(&self, folder: &str) -> Result<Vec<Object>> {
        let list = self.client.get::<FileList>(&self.path("files", &[("folder", folder)])).await?;
        Ok(list.files.into_iter().map(|file| Object { name: file.name, bytes: file.size, written: None }).collect())
    }

    /// The server itself removes what no job keeps.
    async fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    async fn copy(&self, from: &str, _to: &str) -> Result<()> {
        let detail = format!("an agent gives `{from}` no second name");
        Err(StoreError::Refused { code: "not_on_agents", detail })
    }

    async fn signed(&self, _permit: Permit, _name: &str, _lasts: Duration) -> Result<Option<String>> {
        Ok(None)
    }
}
