//! Object storage, as Amazon's S3 has it, where files are when several machines share them. An object is whole or not
//! there; what is written under a name stays as it is until it is removed. Very large files are several objects (`rest.rs`).

mod rest;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::signer::Signer;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload,
    RetryConfig, WriteMultipart,
};
use reqwest::Method;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::io::StreamReader;

use super::depot::{Depot, Object, Permit, Piece, Reader, write_in_pieces};
use super::{Result, StoreError};
use crate::job::Timestamp;

/// Larger files go up in parts of this size, a few at a time.
const PART_BYTES: usize = 16 << 20;
const PARTS_AT_ONCE: usize = 4;
/// The most files that are removed, brought or asked for at a time.
const FILES_AT_ONCE: usize = 8;
/// For how long one request is tried again by itself.
const RETRY: Duration = Duration::from_secs(20);
/// Longest time without a byte of an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// Where files are, and what lets in.
#[derive(Clone)]
pub struct BucketAddress {
    /// `s3://bucket/prefix`.
    pub url: String,
    /// Variables as Amazon's programs know them: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, ...
    pub environment: Vec<(String, String)>,
    /// Whether clients are sent there for what they download, and may send what they upload.
    pub redirects: bool,
}

impl std::fmt::Debug for BucketAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BucketAddress").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A part of a bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    store: Arc<AmazonS3>,
    prefix: String,
    /// Whether clients are sent here for what they download, and may send what they upload.
    redirects: bool,
    /// The most bytes of an object.
    largest: u64,
}

impl Bucket {
    pub fn open(address: &BucketAddress) -> Result<Self> {
        Self::patient(address, RETRY)
    }

    /// One that tries a request again by itself for so long.
    fn patient(address: &BucketAddress, retry_timeout: Duration) -> Result<Self> {
        let wrong = |detail: String| StoreError::Conflict(format!("artifacts: {detail}"));
        let rest = address.url.strip_prefix("s3://").ok_or_else(|| wrong("must begin with s3://".to_owned()))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        // Of several programs that choose a library for TLS the first wins, and all take the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
        for (name, value) in &address.environment {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(3),
                base: 2.0,
            },
            max_retries: 10,
            retry_timeout,
        };
        let options = ClientOptions::new()
            .with_allow_http(
                address.environment.iter().any(|(name, value)| name == "AWS_ALLOW_HTTP" && value == "true"),
            )
            .with_connect_timeout(Duration::from_secs(5))
            .with_timeout_disabled()
            .with_read_timeout(SILENCE);
        let store = builder.with_retry(retry).with_client_options(options).build();
        let store = Arc::new(store.map_err(|error| wrong(error.to_string()))?);
        let prefix = prefix.trim_matches('/').to_owned();
        Ok(Self { store, prefix, redirects: address.redirects, largest: rest::LARGEST })
    }

    fn key(&self, name: &str) -> Key {
        if self.prefix.is_empty() { Key::from(name) } else { Key::from(format!("{}/{name}", self.prefix)) }
    }

    /// Stores the next `length` bytes of a file as an object.
    async fn put_object(
        &self,
        name: &str,
        file: &Path,
        bytes: &mut (impl AsyncRead + Unpin),
        length: u64,
    ) -> Result<()> {
        let read = |e| StoreError::io("reading", file, e);
        let failed = |error| refused("storing", name, error);
        let mut bytes = bytes.take(length);
        if length <= PART_BYTES as u64 {
            let mut whole = Vec::with_capacity(length as usize);
            bytes.read_to_end(&mut whole).await.map_err(read)?;
            self.store.put(&self.key(name), PutPayload::from(whole)).await.map_err(failed)?;
            return Ok(());
        }
        let upload = self.store.put_multipart(&self.key(name)).await.map_err(failed)?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut chunk = vec![0; 1 << 20];
        loop {
            let count = match bytes.read(&mut chunk).await {
                Ok(count) => count,
                Err(error) => {
                    abort(writer, name).await;
                    return Err(read(error));
                }
            };
            if count == 0 {
                break;
            }
            if let Err(error) = writer.wait_for_capacity(PARTS_AT_ONCE).await {
                abort(writer, name).await;
                return Err(failed(error));
            }
            writer.write(&chunk[..count]);
        }
        // It is taken back when this fails.
        writer.finish().await.map(drop).map_err(failed)
    }

    async fn object_size(&self, name: &str) -> Result<u64> {
        let found = self.store.head(&self.key(name)).await;
        Ok(found.map_err(|error| refused("looking for", name, error))?.size)
    }

    /// All objects below a folder, the rests of files too.
    async fn objects_below(&self, folder: &str) -> Result<Vec<Object>> {
        let key = self.key(folder);
        let begin = format!("{key}/");
        let all: Vec<ObjectMeta> =
            self.store.list(Some(&key)).try_collect().await.map_err(|error| refused("listing", folder, error))?;
        let within = |meta: &ObjectMeta| {
            let name = meta.location.as_ref().strip_prefix(&begin)?.to_owned();
            Some(object(name, meta))
        };
        Ok(all.iter().filter_map(within).collect())
    }

    /// The bytes of a file whose first object is as large as one may be.
    async fn size_with_rest(&self, name: &str) -> Result<u64> {
        let rest = self.objects_below(&rest::folder_of(name)).await?;
        let others: Vec<(u64, u64)> =
            rest.iter().filter_map(|object| Some((object.name.parse().ok()?, object.bytes))).collect();
        rest::size(&others, self.largest).ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::NotFound, "only a part of it is in the bucket");
            StoreError::io("looking for", Path::new(name), error)
        })
    }

    /// The objects in which a range of a file is, and which bytes of them. `size` is that of its first object.
    fn cut(&self, name: &str, range: Range<u64>, size: u64) -> Vec<(Key, Range<u64>)> {
        if size != self.largest {
            return vec![(self.key(name), range)];
        }
        rest::cut(range, size).map(|(number, range)| (self.key(&rest::object_name(name, number)), range)).collect()
    }
}

#[async_trait]
impl Depot for Bucket {
    async fn put(&self, name: &str, file: &Path) -> Result<()> {
        let read = |e| StoreError::io("reading", file, e);
        let mut reader = tokio::fs::File::open(file).await.map_err(read)?;
        let length = reader.metadata().await.map_err(read)?.len();
        if length >= self.largest {
            // Of a file that was here before.
            self.remove(&rest::folder_of(name)).await?;
        }
        for number in 0..=length / self.largest {
            let bytes = (length - number * self.largest).min(self.largest);
            self.put_object(&rest::object_name(name, number), file, &mut reader, bytes).await?;
        }
        Ok(())
    }

    async fn get(&self, name: &str, file: &Path) -> Result<()> {
        let first = self.object_size(name).await?;
        let size = if first == self.largest { self.size_with_rest(name).await? } else { first };
        let bring = |mut piece: Piece| {
            let store = Arc::clone(&self.store);
            let objects = self.cut(name, piece.range(), first);
            async move {
                for (key, range) in objects {
                    let bytes = store.get_range(&key, range).await;
                    let bytes = bytes.map_err(|error| refused("reading", key.as_ref(), error))?;
                    piece.write(bytes).await.map_err(|e| StoreError::io("writing", file, e))?;
                }
                Ok(piece)
            }
        };
        write_in_pieces(file, size, bring).await
    }

    async fn range(&self, name: &str, first: u64, length: u64) -> Result<Reader> {
        // A file's first object is asked for its size only where another may be needed.
        let is_within = first + length <= self.largest;
        let size = if is_within && length > 0 { 0 } else { self.object_size(name).await? };
        let objects = if length > 0 { self.cut(name, first..first + length, size) } else { Vec::new() };
        let store = Arc::clone(&self.store);
        let open = move |(key, range): (Key, Range<u64>)| {
            let store = Arc::clone(&store);
            async move {
                let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
                store.get_opts(&key, options).await
            }
        };
        let mut objects = objects.into_iter();
        let Some(begin) = objects.next() else { return Ok(Box::pin(tokio::io::empty())) };
        let begin = open(begin).await.map_err(|error| refused("reading", name, error))?;
        let more = futures_util::stream::iter(objects).then(open).map_ok(GetResult::into_stream).try_flatten();
        let bytes = begin.into_stream().chain(more).map_err(io::Error::other);
        Ok(Box::pin(StreamReader::new(bytes.boxed()).take(length)))
    }

    async fn size(&self, name: &str) -> Result<u64> {
        let first = self.object_size(name).await?;
        if first == self.largest { self.size_with_rest(name).await } else { Ok(first) }
    }

    async fn list(&self, folder: &str) -> Result<Vec<Object>> {
        let key = self.key(folder);
        let listed = self.store.list_with_delimiter(Some(&key)).await;
        let listed = listed.map_err(|error| refused("listing", folder, error))?;
        let name = |key: &Key| key.filename().unwrap_or_default().to_owned();
        let mut found: Vec<Object> = listed.objects.iter().map(|meta| object(name(&meta.location), meta)).collect();
        for object in found.iter_mut().filter(|object| object.bytes == self.largest) {
            // What is there in part is listed, for somebody must remove it.
            let size = self.size_with_rest(&format!("{folder}/{}", object.name)).await;
            object.bytes = size.unwrap_or(object.bytes);
        }
        let files: BTreeSet<String> = found.iter().map(|object| object.name.clone()).collect();
        let folders = listed.common_prefixes.iter().map(name);
        let folders = folders.filter(|name| rest::file_of(name).is_none_or(|file| !files.contains(file)));
        found.extend(folders.map(|name| Object { name, bytes: 0, written: None }));
        Ok(found)
    }

    async fn list_all(&self, folder: &str) -> Result<Vec<Object>> {
        let mut found: BTreeMap<String, Object> = BTreeMap::new();
        let mut rests = Vec::new();
        for object in self.objects_below(folder).await? {
            match object.name.rsplit_once('/').and_then(|(folder, _)| rest::file_of(folder)) {
                Some(file) => rests.push((file.to_owned(), object)),
                None => drop(found.insert(object.name.clone(), object)),
            }
        }
        for (file, rest) in rests {
            match found.get_mut(&file) {
                // What is left of a larger file that was here before is no part of this one.
                Some(object) if object.bytes >= self.largest => object.bytes += rest.bytes,
                Some(_) => {}
                None => drop(found.insert(rest.name.clone(), rest)),
            }
        }
        Ok(found.into_values().collect())
    }

    async fn remove(&self, name: &str) -> Result<()> {
        // What is behind a file's first object goes before that, which says that it is there.
        for folder in [rest::folder_of(name), name.to_owned()] {
            let all = self.objects_below(&folder).await?;
            let names = all.iter().map(|object| format!("{folder}/{}", object.name)).chain([folder.clone()]);
            let mut removals: Vec<_> =
                names.map(|name| removed(Arc::clone(&self.store), self.key(&name)).boxed()).collect();
            while !removals.is_empty() {
                let some = removals.split_off(removals.len().saturating_sub(FILES_AT_ONCE));
                futures_util::future::try_join_all(some).await?;
            }
        }
        Ok(())
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        let first = self.object_size(from).await?;
        let last = if first == self.largest { self.size_with_rest(from).await? / first } else { 0 };
        for number in 0..=last {
            let [from, to] = [from, to].map(|name| rest::object_name(name, number));
            let copied = self.store.copy(&self.key(&from), &self.key(&to)).await;
            copied.map_err(|error| refused("copying", &from, error))?;
        }
        Ok(())
    }

    async fn signed(&self, permit: Permit, name: &str, lasts: Duration) -> Result<Option<String>> {
        let method = match permit {
            // An address stands for one object.
            Permit::Read { bytes } if bytes >= self.largest => return Ok(None),
            Permit::Read { .. } => Method::GET,
            Permit::Write => Method::PUT,
        };
        if !self.redirects {
            return Ok(None);
        }
        let signed = self.store.signed_url(method, &self.key(name), lasts).await;
        Ok(Some(signed.map_err(|error| refused("signing an address of", name, error))?.to_string()))
    }
}

async fn removed(store: Arc<AmazonS3>, key: Key) -> Result<()> {
    match store.delete(&key).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(refused("removing", key.as_ref(), error)),
    }
}

fn object(name: String, meta: &ObjectMeta) -> Object {
    Object { name, bytes: meta.size, written: Some(Timestamp(meta.last_modified.timestamp_millis())) }
}

/// Parts of what will not be completed are removed.
async fn abort(writer: WriteMultipart, name: &str) {
    if let Err(error) = writer.abort().await {
        tracing::warn!(%error, name, "parts of an upload are left in the bucket");
    }
}

/// What the store says of an error of object storage.
fn refused(action: &'static str, name: &str, error: object_store::Error) -> StoreError {
    if let object_store::Error::NotFound { .. } = error {
        let missing = io::Error::new(io::ErrorKind::NotFound, error);
        return StoreError::io(action, Path::new(name), missing);
    }
    // The status is nowhere but in the text, behind these words.
    if error.to_string().contains("status code: 507") {
        return StoreError::Full(Box::new(error));
    }
    StoreError::Storage { action, name: name.to_owned(), source: error }
}
