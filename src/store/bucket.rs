//! Object storage, as Amazon's S3 has it, where files are when several machines share them. An object is whole or not
//! there; what is written under a name stays as it is until it is removed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::signer::Signer;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload,
    RetryConfig, WriteMultipart,
};
use reqwest::Method;
use tokio::io::AsyncReadExt;
use tokio_util::io::StreamReader;

use super::depot::{Depot, Object, Permit, Reader, write_in_pieces};
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
        Ok(Self { store, prefix: prefix.trim_matches('/').to_owned(), redirects: address.redirects })
    }

    fn key(&self, name: &str) -> Key {
        if self.prefix.is_empty() { Key::from(name) } else { Key::from(format!("{}/{name}", self.prefix)) }
    }
}

#[async_trait]
impl Depot for Bucket {
    async fn put(&self, name: &str, file: &Path) -> Result<()> {
        let read = |e| StoreError::io("reading", file, e);
        let mut reader = tokio::fs::File::open(file).await.map_err(read)?;
        let length = reader.metadata().await.map_err(read)?.len();
        let failed = |error| refused("storing", name, error);
        if length <= PART_BYTES as u64 {
            let mut bytes = Vec::with_capacity(length as usize);
            reader.read_to_end(&mut bytes).await.map_err(read)?;
            self.store.put(&self.key(name), PutPayload::from(bytes)).await.map_err(failed)?;
            return Ok(());
        }
        let upload = self.store.put_multipart(&self.key(name)).await.map_err(failed)?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut chunk = vec![0; 1 << 20];
        loop {
            let count = match reader.read(&mut chunk).await {
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

    async fn get(&self, name: &str, file: &Path) -> Result<()> {
        let key = self.key(name);
        let piece = |range| {
            let (store, key) = (Arc::clone(&self.store), key.clone());
            async move { store.get_range(&key, range).await.map_err(|error| refused("reading", key.as_ref(), error)) }
        };
        write_in_pieces(file, self.size(name).await?, piece).await
    }

    async fn range(&self, name: &str, first: u64, length: u64) -> Result<Reader> {
        let range = (length > 0).then_some(GetRange::Bounded(first..first + length));
        let options = GetOptions { range, ..GetOptions::default() };
        let got =
            self.store.get_opts(&self.key(name), options).await.map_err(|error| refused("reading", name, error))?;
        let bytes = got.into_stream().map_err(std::io::Error::other);
        Ok(Box::pin(StreamReader::new(bytes.boxed()).take(length)))
    }

    async fn size(&self, name: &str) -> Result<u64> {
        let found = self.store.head(&self.key(name)).await;
        Ok(found.map_err(|error| refused("looking for", name, error))?.size)
    }

    async fn list(&self, folder: &str) -> Result<Vec<Object>> {
        let key = self.key(folder);
        let listed = self.store.list_with_delimiter(Some(&key)).await;
        let listed = listed.map_err(|error| refused("listing", folder, error))?;
        let name = |key: &Key| key.filename().unwrap_or_default().to_owned();
        let folders = listed.common_prefixes.iter().map(|key| Object { name: name(key), bytes: 0, written: None });
        Ok(folders.chain(listed.objects.iter().map(|meta| object(name(&meta.location), meta))).collect())
    }

    async fn list_all(&self, folder: &str) -> Result<Vec<Object>> {
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

    async fn remove(&self, name: &str) -> Result<()> {
        let all = self.list_all(name).await?;
        let names = all.iter().map(|object| format!("{name}/{}", object.name)).chain([name.to_owned()]);
        let mut removals: Vec<_> =
            names.map(|name| removed(Arc::clone(&self.store), self.key(&name)).boxed()).collect();
        while !removals.is_empty() {
            let some = removals.split_off(removals.len().saturating_sub(FILES_AT_ONCE));
            futures_util::future::try_join_all(some).await?;
        }
        Ok(())
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        let copied = self.store.copy(&self.key(from), &self.key(to)).await;
        copied.map_err(|error| refused("copying", from, error))
    }

    async fn signed(&self, permit: Permit, name: &str, lasts: Duration) -> Result<Option<String>> {
        if !self.redirects {
            return Ok(None);
        }
        let method = match permit {
            Permit::Read => Method::GET,
            Permit::Write => Method::PUT,
        };
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
        let missing = std::io::Error::new(std::io::ErrorKind::NotFound, error);
        return StoreError::io(action, Path::new(name), missing);
    }
    // The status is nowhere but in the text, behind these words.
    if error.to_string().contains("status code: 507") {
        return StoreError::Full(Box::new(error));
    }
    StoreError::Storage { action, name: name.to_owned(), source: error }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, Write};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::AsyncReadExt;

    use super::*;

    /// The bucket beside which the tests run (`scripts/seaweedfs.sh`).
    fn bucket(prefix: &str) -> Option<Bucket> {
        let url = format!("{}/{prefix}", std::env::var("ANNEAL_TEST_S3").ok()?);
        let environment = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
        Some(Bucket::open(&BucketAddress { url, environment, redirects: true }).unwrap())
    }

    #[tokio::test]
    async fn what_is_stored_comes_back_whole_and_in_parts_and_is_gone_when_it_is_removed() {
        let Some(bucket) = bucket("round") else { return };
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for length in [0_usize, 1, 1000, PART_BYTES, PART_BYTES * 5 + 17] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
            std::fs::write(&from, &bytes).unwrap();
            bucket.put("jobs/a/model", &from).await.unwrap();
            assert_eq!(bucket.size("jobs/a/model").await.unwrap(), length as u64);
            bucket.get("jobs/a/model", &to).await.unwrap();
            assert!(std::fs::read(&to).unwrap() == bytes, "{length} bytes");
            if length > 10 {
                let mut part = Vec::new();
                bucket.range("jobs/a/model", 5, length as u64 - 7).await.unwrap().read_to_end(&mut part).await.unwrap();
                assert!(part == bytes[5..length - 2]);
            }
        }
        bucket.copy("jobs/a/model", "jobs/a/below/second").await.unwrap();
        bucket.copy("jobs/a/model", "jobs/ab").await.unwrap();
        let mut names: Vec<String> =
            bucket.list_all("jobs/a").await.unwrap().into_iter().map(|found| found.name).collect();
        names.sort();
        assert_eq!(names, ["below/second", "model"]);
        let mut names: Vec<String> = bucket.list("jobs").await.unwrap().into_iter().map(|found| found.name).collect();
        names.sort();
        assert_eq!(names, ["a", "ab"]);
        bucket.remove("jobs/a").await.unwrap();
        bucket.remove("jobs/a").await.unwrap();
        let gone = bucket.size("jobs/a/model").await.unwrap_err();
        assert!(
            matches!(&gone, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
            "{gone:?}"
        );
        assert!(bucket.size("jobs/ab").await.is_ok(), "a name that begins alike is another");
    }

    #[tokio::test]
    async fn a_signed_address_lets_in_without_a_key_and_only_to_one_object() {
        let Some(bucket) = bucket("signed") else { return };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"weights").unwrap();
        bucket.put("one", &file).await.unwrap();
        bucket.put("two", &file).await.unwrap();
        let address = bucket.signed(Permit::Read, "one", Duration::from_secs(60)).await.unwrap().unwrap();
        let place = bucket.signed(Permit::Write, "three", Duration::from_secs(60)).await.unwrap().unwrap();
        let got = tokio::task::spawn_blocking(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            let one = agent.get(&address).call().unwrap().into_body().read_to_string().unwrap();
            let other = agent.get(address.replace("/one?", "/two?")).call().unwrap().status().as_u16();
            let put = |address: &str| agent.put(address).send("sent").unwrap().status().as_u16();
            (one, [other, put(&address), put(&place.replace("/three?", "/two?")), put(&place)])
        });
        assert_eq!(got.await.unwrap(), (String::from("weights"), [403, 403, 403, 200]));
        assert_eq!(bucket.size("three").await.unwrap(), 4);
        assert_eq!(bucket.size("two").await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_wrong_key_is_an_error_that_says_so() {
        let Some(_) = bucket("wrong") else { return };
        let url = format!("{}/wrong", std::env::var("ANNEAL_TEST_S3").unwrap());
        let mut environment: Vec<(String, String)> =
            std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
        environment.iter_mut().filter(|(name, _)| name == "AWS_SECRET_ACCESS_KEY").for_each(|(_, key)| key.push('x'));
        let wrong = Bucket::open(&BucketAddress { url, environment, redirects: false }).unwrap();
        let refused = wrong.size("one").await.unwrap_err();
        assert!(matches!(refused, StoreError::Storage { .. }), "{refused:?}");
    }

    /// An object storage that answers each request with the next of these statuses, and with the last one for ever; and how
    /// many it was asked.
    fn answering(statuses: &'static [u16]) -> (Bucket, Arc<AtomicUsize>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(std::result::Result::ok) {
                let mut reader = std::io::BufReader::new(client.try_clone().unwrap());
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    reader.read_line(&mut line).unwrap();
                }
                let status = statuses[count.fetch_add(1, Ordering::SeqCst).min(statuses.len() - 1)];
                let head = "etag: \"1\"\r\nconnection: close\r\ncontent-length: 0";
                write!(client, "HTTP/1.1 {status} Status\r\n{head}\r\n\r\n").unwrap();
            }
        });
        let environment = [
            ("AWS_ENDPOINT_URL", url.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "nowhere"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "key"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let address = BucketAddress { url: String::from("s3://tests"), environment, redirects: false };
        (Bucket::patient(&address, Duration::from_secs(1)).unwrap(), asked)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_that_has_too_much_to_do_is_asked_again_and_one_that_is_full_or_does_not_let_in_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let (busy, asked) = answering(&[503, 429, 500, 200]);
        busy.put("jobs/job_1/model", &file).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 4);
        // The id of a job may hold any digits.
        let (closed, asked) = answering(&[403]);
        let refused = closed.put("jobs/job_507/model", &file).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Storage { .. }), "{refused:?}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "asking again is in vain");
        let (full, _) = answering(&[507]);
        let refused = full.put("jobs/job_1/model", &file).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Full(_)), "{refused:?}");
        let (away, _) = answering(&[503]);
        let refused = away.put("jobs/job_1/model", &file).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Storage { .. }), "{refused:?}");
    }
}
