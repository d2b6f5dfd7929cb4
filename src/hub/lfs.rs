//! Large files on their way to the hub: Git LFS's batch API (git-lfs, docs/api/batch.md) with the transfer `basic`, one PUT of
//! the whole file, and the hub's own `multipart`, a PUT for each part to an address of its own and a last request that puts
//! them together.
//!
//! The addresses are signed and grow old: when one is refused, others are asked for. What the hub has already it does not
//! want again.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use ureq::SendBody;
use ureq::http::Method;

use super::HubError;
use super::client::Outgoing;
use super::push::{File, Progress, Push, PushError};
use super::retry::{Failures, pause};

const MEDIA_TYPE: &str = "application/vnd.git-lfs+json";
/// Parts of one file that are sent at once.
const CONNECTIONS: usize = 4;
/// How often new addresses are asked for, for one file.
const MOST_ADDRESSES: u32 = 4;
/// Parts of a file; S3 has no more.
const MOST_PARTS: u64 = 10_000;
/// Headers of an action that is not made of parts.
const MOST_HEADERS: usize = 32;
/// What an action may not say, for the connection says it.
const OWN_HEADERS: [&str; 6] = ["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"];

/// What the hub wants done for a file; nothing if it has the file.
#[derive(Debug, Deserialize)]
struct Actions {
    upload: Action,
    verify: Option<Action>,
}

#[derive(Debug, Deserialize)]
struct Action {
    href: String,
    #[serde(default)]
    header: Map<String, Value>,
}

/// Where the bytes of a file go.
enum Upload {
    Whole { url: String, headers: Vec<(String, String)> },
    Parts { bytes: u64, urls: Vec<String> },
}

/// Why a file has not arrived.
enum Broken {
    /// Another address may do.
    Refused(HubError),
    Final(PushError),
}

impl From<PushError> for Broken {
    fn from(error: PushError) -> Self {
        Self::Final(error)
    }
}

impl Push<'_> {
    /// Brings a file to the hub, unless it has it.
    pub(super) fn upload(&self, file: &File) -> Result<(), PushError> {
        let mut left = MOST_ADDRESSES;
        loop {
            let Some(actions) = self.actions(file)? else {
                self.progress.bytes.fetch_add(file.bytes, Ordering::Relaxed);
                return Ok(());
            };
            left -= 1;
            // Of a file that is not complete nothing counts.
            let before = self.progress.bytes.load(Ordering::Relaxed);
            let Err(broken) = self.carry_out(file, &actions) else { return Ok(()) };
            self.progress.bytes.store(before, Ordering::Relaxed);
            match broken {
                Broken::Refused(error) if left == 0 => return Err(error.into()),
                Broken::Refused(error) => {
                    tracing::debug!(file = file.path, %error, "other addresses are asked for");
                }
                Broken::Final(error) => return Err(error),
            }
        }
    }

    fn actions(&self, file: &File) -> Result<Option<Actions>, PushError> {
        #[derive(Deserialize)]
        struct Batch {
            objects: Vec<Object>,
        }
        #[derive(Deserialize)]
        struct Object {
            oid: String,
            actions: Option<Actions>,
            error: Option<Refusal>,
        }
        #[derive(Deserialize)]
        struct Refusal {
            code: i64,
            message: String,
        }
        let body = json!({
            "operation": "upload", "transfers": ["basic", "multipart"], "hash_algo": "sha256",
            "ref": {"name": self.branch}, "objects": [{"oid": file.sha256, "size": file.bytes}],
        });
        let url = format!("{}/{}.git/info/lfs/objects/batch", self.hub.endpoint(), self.to.repository);
        let answer = self.send(&url, &lfs_headers(), body.to_string().as_bytes(), |_| false)?;
        let batch: Batch = self.understood(&answer)?;
        let object = batch.objects.into_iter().find(|object| object.oid.eq_ignore_ascii_case(&file.sha256));
        match object {
            None => Err(self.unexpected(format!("it does not say where {} goes", file.path))),
            Some(Object { error: Some(Refusal { code, message }), .. }) => {
                let message: String = message.chars().take(200).collect();
                Err(self.unexpected(format!("it refuses {} ({code}): {message}", file.path)))
            }
            Some(Object { actions, .. }) => Ok(actions),
        }
    }

    fn carry_out(&self, file: &File, actions: &Actions) -> Result<(), Broken> {
        let Actions { upload, verify } = actions;
        match self.way(file, upload)? {
            Upload::Whole { url, headers } => {
                drop(self.put(file, (&url, &headers), 0..file.bytes, &self.progress.stop)?)
            }
            Upload::Parts { bytes, urls } => {
                let etags = self.put_parts(file, bytes, &urls)?;
                let part = |(at, etag): (usize, &String)| json!({"partNumber": at + 1, "etag": etag});
                let parts: Vec<Value> = etags.iter().enumerate().map(part).collect();
                let body = json!({"oid": file.sha256, "parts": parts}).to_string();
                self.send(&upload.href, &lfs_headers(), body.as_bytes(), |_| false)?;
            }
        }
        if let Some(verify) = verify {
            let headers = [lfs_headers(), self.headers(verify)?].concat();
            let body = json!({"oid": file.sha256, "size": file.bytes}).to_string();
            self.send(&verify.href, &headers, body.as_bytes(), |_| false)?;
        }
        Ok(())
    }

    fn way(&self, file: &File, upload: &Action) -> Result<Upload, PushError> {
        let Some(bytes) = upload.header.get("chunk_size") else {
            return Ok(Upload::Whole { url: upload.href.clone(), headers: self.headers(upload)? });
        };
        let bytes = bytes.as_u64().or_else(|| bytes.as_str()?.parse().ok()).filter(|bytes| *bytes > 0);
        let odd = || self.unexpected(format!("the parts in which it wants {} make no sense", file.path));
        let bytes = bytes.ok_or_else(odd)?;
        let number = |(name, url): (&String, &Value)| Some((name.parse::<u64>().ok()?, url.as_str()?.to_owned()));
        let mut parts: Vec<(u64, String)> = upload.header.iter().filter_map(number).collect();
        parts.sort();
        let count = file.bytes.div_ceil(bytes);
        let is_whole = parts.iter().zip(1..).all(|((number, _), expected)| *number == expected);
        if count > MOST_PARTS || parts.len() as u64 != count || !is_whole {
            return Err(odd());
        }
        Ok(Upload::Parts { bytes, urls: parts.into_iter().map(|(_, url)| url).collect() })
    }

    /// The headers that an action asks for.
    fn headers(&self, action: &Action) -> Result<Vec<(String, String)>, PushError> {
        let said = action.header.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let said: Vec<(String, String)> =
            said.filter(|(name, _)| !OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str())).collect();
        if said.len() > MOST_HEADERS {
            return Err(self.unexpected(format!("it wants {} headers", said.len())));
        }
        Ok(said)
    }

    /// Sends all parts of a file, some at once, and returns their tags.
    fn put_parts(&self, file: &File, bytes: u64, urls: &[String]) -> Result<Vec<String>, Broken> {
        let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..urls.len()).collect());
        let sent: Mutex<Vec<(usize, String)>> = Mutex::default();
        let broken: Mutex<Option<Broken>> = Mutex::new(None);
        let stop = AtomicBool::new(false);
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let range = |part: usize| part as u64 * bytes..file.bytes.min((part as u64 + 1) * bytes);
        std::thread::scope(|scope| {
            for _ in 0..CONNECTIONS.min(urls.len()) {
                scope.spawn(|| {
                    while let Some(part) = next().filter(|_| !stop.load(Ordering::Relaxed)) {
                        let put = self.put(file, (urls[part].as_str(), &[]), range(part), &stop).and_then(|etag| {
                            let missing = || self.unexpected(String::from("a part has no ETag")).into();
                            etag.filter(|etag| !etag.is_empty()).ok_or_else(missing)
                        });
                        match put {
                            Ok(etag) => sent.lock().unwrap_or_else(PoisonError::into_inner).push((part, etag)),
                            Err(error) => {
                                stop.store(true, Ordering::Relaxed);
                                broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        let mut sent = sent.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(broken) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(broken);
        }
        sent.sort();
        Ok(sent.into_iter().map(|(_, etag)| etag).collect())
    }

    /// Sends a range of a file, again and again while that may go well, and returns its tag. `stop` ends it as well.
    fn put(
        &self,
        file: &File,
        (url, headers): (&str, &[(String, String)]),
        range: Range<u64>,
        stop: &AtomicBool,
    ) -> Result<Option<String>, Broken> {
        let bytes = range.end - range.start;
        let mut headers = headers.to_vec();
        headers.push((String::from("content-length"), bytes.to_string()));
        let mut failures = Failures::default();
        loop {
            self.goes_on()?;
            let unreadable = |source| PushError::Read { path: file.path.clone(), source };
            let reader = (file.open)(range.start).map_err(unreadable)?;
            let mut body = Counted { reader, left: bytes, sent: 0, failed: None, stop, progress: self.progress };
            let what = format!("{} of {}", file.path, self.to);
            let outgoing = Outgoing {
                method: Method::PUT,
                url,
                headers: &headers,
                with_token: false,
                body: SendBody::from_reader(&mut body),
                what: &what,
            };
            let answer = self.hub.send(outgoing, |status| (400..500).contains(&status) && status != 429);
            if let Ok(answer) = &answer
                && answer.status < 400
            {
                return Ok(answer.etag.clone());
            }
            self.progress.bytes.fetch_sub(body.sent, Ordering::Relaxed);
            self.goes_on()?;
            if stop.load(Ordering::Relaxed) {
                return Err(PushError::Stopped.into());
            }
            if let Some(source) = body.failed.take() {
                return Err(unreadable(source).into());
            }
            let error = match answer {
                Ok(answer) => {
                    let said: String = String::from_utf8_lossy(&answer.body).chars().take(200).collect();
                    let detail = format!("what stores the files answers {} for {what}: {said}", answer.status);
                    return Err(Broken::Refused(HubError::Unreachable(detail)));
                }
                Err(error) => error,
            };
            let Some(wait) = failures.wait(&error, false) else { return Err(PushError::from(error).into()) };
            tracing::debug!(file = file.path, %error, "a part of a file is sent again");
            pause(wait, stop);
        }
    }
}

fn lfs_headers() -> Vec<(String, String)> {
    ["accept", "content-type"].map(|name| (name.to_owned(), MEDIA_TYPE.to_owned())).to_vec()
}

/// Bytes of a file, counted as they are sent.
struct Counted<'a> {
    reader: Box<dyn Read>,
    left: u64,
    sent: u64,
    /// Why the file could not be read.
    failed: Option<io::Error>,
    stop: &'a AtomicBool,
    progress: &'a Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) || self.progress.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("the push was stopped"));
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0);
        }
        let count = match self.reader.read(&mut buffer[..most]) {
            Ok(0) => {
                self.failed = Some(io::ErrorKind::UnexpectedEof.into());
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                let said = io::Error::new(error.kind(), error.to_string());
                self.failed = Some(error);
                return Err(said);
            }
        };
        self.left -= count as u64;
        self.sent += count as u64;
        self.progress.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
