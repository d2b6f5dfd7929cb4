//! Pushes: files that become a commit of a repository, by the routes of Hugging Face's hub that its own Python client uses
//! (huggingface_hub, `create_commit`).
//!
//! The repository is made if it is not there. What it has already, by its digests, is left out; the hub says which of the
//! rest are large, and these go first, beside git ([`super::lfs`]). Then one commit holds all of it. It names the commit that
//! it follows, so that one whose answer was lost is not made twice: the hub refuses the second, and the files are seen there.

use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::SendBody;
use ureq::http::Method;

use super::client::{Answer, Outgoing};
use super::digest::Digester;
use super::retry::{Failures, pause};
use super::{FileDigest, Hub, HubError, HubRef, MAIN, RemoteFile, Snapshot, escape, is_plain};

/// Files that one question is about.
const AT_ONCE: usize = 256;
/// Bytes of a file from which the hub guesses what it is.
const SAMPLE_BYTES: u64 = 512;
/// Bytes of all files that are part of the commit itself.
const REGULAR_LIMIT_BYTES: u64 = 128 << 20;
const CHUNK_BYTES: usize = 256 << 10;
/// How often a commit is made anew because others were faster.
const MOST_COMMITS: u32 = 4;

/// Where the operator lets pushes go: `owner`, `owner/name` and `owner/begin*`.
#[derive(Clone, Debug, Default)]
pub struct PushTargets(Vec<String>);

impl PushTargets {
    /// An error names the entry that is none.
    pub fn new(entries: &[String]) -> Result<Self, String> {
        let is_target = |entry: &str| match entry.split_once('/') {
            None => is_plain(entry),
            Some((owner, "*")) => is_plain(owner),
            Some((owner, name)) => is_plain(owner) && is_plain(name.strip_suffix('*').unwrap_or(name)),
        };
        match entries.iter().find(|entry| !is_target(entry)) {
            None => Ok(Self(entries.to_vec())),
            Some(wrong) => Err(format!("`{wrong}` is no owner, owner/name or owner/begin*")),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a repository, `owner/name`, is among them.
    pub fn admit(&self, repository: &str) -> bool {
        let Some((owner, name)) = repository.split_once('/') else { return false };
        self.0.iter().any(|entry| match entry.split_once('/') {
            None => entry == owner,
            Some((of, begin)) => {
                of == owner && begin.strip_suffix('*').map_or(begin == name, |begin| name.starts_with(begin))
            }
        })
    }
}

impl fmt::Display for PushTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Opens a file from a byte on.
pub type Opener = Box<dyn Fn(u64) -> io::Result<Box<dyn Read>> + Send + Sync>;

/// A file to push.
pub struct File {
    /// Within the repository.
    pub path: String,
    pub bytes: u64,
    /// Hexadecimal.
    pub sha256: String,
    pub open: Opener,
}

/// What whoever waits for a push shares with it.
#[derive(Debug, Default)]
pub struct Progress {
    /// The push is to end.
    pub stop: AtomicBool,
    /// Bytes of files that are on the hub.
    pub bytes: AtomicU64,
}

/// Where a push ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub commit: String,
    /// The page that shows the files.
    pub url: String,
}

/// Why files are not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("the server does not ask the hub (hub_offline); the operator clears that setting where there is a network")]
    Offline,
    #[error(
        "the hub does not take the server's token for {0}; the operator sets HF_TOKEN, or hub_token_file, to a token that may \
         write there, then push again"
    )]
    Unauthorized(String),
    #[error(
        "the account of the server's token may not write to {0}; give it that right there, or push to another repository"
    )]
    Forbidden(String),
    #[error(
        "the hub has no {0}, or does not show it to the server's token; check the spelling and the token (HF_TOKEN)"
    )]
    NotFound(String),
    #[error("{0} is public, and the push is private; make the repository private there, or push with `private` false")]
    Public(String),
    #[error("others commit to {0} all the while; push again")]
    Moved(String),
    #[error("the hub asks for fewer requests; push again in {} s", .0.as_secs())]
    RateLimited(Duration),
    #[error("the hub cannot be reached: {0}; push again, what has arrived there is not sent twice")]
    Unreachable(String),
    #[error("the hub at {endpoint} does not take the push: {detail}")]
    Unexpected { endpoint: String, detail: String },
    #[error("{path} cannot be read; look at the server's disk, or export again")]
    Read { path: String, source: io::Error },
    /// Somebody wanted it to end.
    #[error("the push was stopped")]
    Stopped,
}

impl PushError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Offline => "hub_offline",
            Self::Unauthorized(_) => "hub_unauthorized",
            Self::Forbidden(_) => "hub_forbidden",
            Self::NotFound(_) => "hub_not_found",
            Self::Public(_) => "hub_public",
            Self::Moved(_) => "hub_moved",
            Self::RateLimited(_) => "hub_rate_limited",
            Self::Unreachable(_) => "hub_unreachable",
            Self::Unexpected { .. } => "hub_unexpected",
            Self::Read { .. } => "export_unreadable",
            Self::Stopped => "push_stopped",
        }
    }
}

impl From<HubError> for PushError {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Offline(_) => Self::Offline,
            HubError::Unauthorized(what) => Self::Unauthorized(what),
            // What must not be read for want of a signature must not be written either.
            HubError::Gated(what) => Self::Forbidden(what),
            HubError::NotFound(what) => Self::NotFound(what),
            HubError::RateLimited(wait) => Self::RateLimited(wait),
            HubError::Unreachable(detail) => Self::Unreachable(detail),
            HubError::Unexpected { endpoint, detail } => Self::Unexpected { endpoint, detail },
            HubError::Io(source) => Self::Read { path: String::from("a file"), source },
        }
    }
}

impl Hub {
    /// Makes files a commit of a repository's branch, which is `main` if `to` names none. Files there that are not among
    /// them stay. Blocks.
    pub fn push(
        &self,
        to: &HubRef,
        private: bool,
        files: &[File],
        summary: &str,
        progress: &Progress,
    ) -> Result<Pushed, PushError> {
        if self.is_offline() {
            return Err(PushError::Offline);
        }
        if !self.has_token() {
            return Err(PushError::Unauthorized(to.to_string()));
        }
        let branch = to.revision.as_deref().unwrap_or(MAIN);
        Push { hub: self, to, branch, private, progress }.run(files, summary)
    }
}

/// A push under way.
pub(super) struct Push<'a> {
    pub hub: &'a Hub,
    pub to: &'a HubRef,
    pub branch: &'a str,
    private: bool,
    pub progress: &'a Progress,
}

impl Push<'_> {
    fn run(&self, files: &[File], summary: &str) -> Result<Pushed, PushError> {
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        for _ in 0..MOST_COMMITS {
            let there = self.repository()?;
            let mut missing = Vec::new();
            for file in files {
                if !self.is_there(there.as_ref(), file)? {
                    missing.push(file);
                }
            }
            let left: u64 = missing.iter().map(|file| file.bytes).sum();
            self.progress.bytes.store(total - left, Ordering::Relaxed);
            if let (Some(there), []) = (&there, missing.as_slice()) {
                return Ok(self.pushed(there.commit.clone()));
            }
            let (large, small) = self.sorted(&missing)?;
            for file in &large {
                self.upload(file)?;
            }
            let parent = there.as_ref().map(|there| there.commit.as_str());
            if let Some(commit) = self.commit(summary, parent, &large, &small)? {
                self.progress.bytes.store(total, Ordering::Relaxed);
                return Ok(self.pushed(commit));
            }
        }
        Err(PushError::Moved(self.to.to_string()))
    }

    fn pushed(&self, commit: String) -> Pushed {
        let url = format!("{}/{}/tree/{commit}", self.hub.endpoint(), self.to.repository);
        Pushed { commit, url }
    }

    /// What the branch holds; none of a repository without commits. It is made if it is not there, as is the repository.
    fn repository(&self) -> Result<Option<Snapshot>, PushError> {
        if let Some(snapshot) = self.known(self.branch)? {
            return Ok(Some(snapshot));
        }
        let is_there = |status| status == 409;
        let repository = &self.to.repository;
        // Who may write to a repository need not be one who may make some.
        if self.branch == MAIN || self.known(MAIN)?.is_none() {
            let (owner, name) = repository.split_once('/').unwrap_or(("", repository));
            let mut body = json!({"type": "model", "name": name, "private": self.private});
            if !owner.is_empty() {
                body["organization"] = json!(owner);
            }
            self.ask("/api/repos/create", &body, is_there)?;
        }
        if self.branch != MAIN {
            let path = format!("/api/models/{repository}/branch/{}", escape(self.branch));
            self.ask(&path, &json!({}), is_there)?;
        }
        self.known(self.branch)
    }

    /// What a branch holds, if it is there.
    fn known(&self, branch: &str) -> Result<Option<Snapshot>, PushError> {
        let snapshot = match self.again(|| self.hub.snapshot(&self.to.at(branch))) {
            Ok(snapshot) => snapshot,
            Err(PushError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.private && snapshot.private == Some(false) {
            return Err(PushError::Public(self.to.repository.clone()));
        }
        Ok(Some(snapshot))
    }

    /// Whether the hub has a file as it is here.
    fn is_there(&self, there: Option<&Snapshot>, file: &File) -> Result<bool, PushError> {
        let found: Option<&RemoteFile> = there.and_then(|there| there.file(&file.path));
        let Some(found) = found.filter(|found| found.bytes == file.bytes) else { return Ok(false) };
        match &found.digest {
            None => Ok(false),
            Some(FileDigest::Sha256(sha256)) => Ok(sha256.eq_ignore_ascii_case(&file.sha256)),
            Some(digest @ FileDigest::Git(_)) => {
                let mut digester = Digester::new(Some(digest), file.bytes);
                self.read(file, file.bytes, |bytes| digester.update(bytes))?;
                Ok(digester.finish().is_ok())
            }
        }
    }

    /// The files that go beside git, and those that go with the commit, as the hub wants it.
    fn sorted<'f>(&self, files: &[&'f File]) -> Result<(Vec<&'f File>, Vec<&'f File>), PushError> {
        #[derive(Deserialize)]
        struct Modes {
            files: Vec<Mode>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Mode {
            path: String,
            upload_mode: String,
        }
        let path = format!("/api/models/{}/preupload/{}", self.to.repository, escape(self.branch));
        let (mut large, mut small) = (Vec::new(), Vec::new());
        for some in files.chunks(AT_ONCE) {
            let mut asked = Vec::new();
            for file in some {
                let mut sample = Vec::new();
                self.read(file, SAMPLE_BYTES.min(file.bytes), |bytes| sample.extend_from_slice(bytes))?;
                let sample = STANDARD.encode(sample);
                asked.push(json!({"path": file.path, "sample": sample, "size": file.bytes, "sha": file.sha256}));
            }
            let modes: Modes = self.understood(&self.ask(&path, &json!({"files": asked}), |_| false)?)?;
            for file in some {
                let mode = modes.files.iter().find(|mode| mode.path == file.path);
                match mode.map(|mode| mode.upload_mode.as_str()) {
                    // Storage beside git takes no file without bytes.
                    Some("lfs") if file.bytes > 0 => large.push(*file),
                    Some("lfs" | "regular") => small.push(*file),
                    _ => return Err(self.unexpected(format!("it does not say how it wants {}", file.path))),
                }
            }
        }
        let bytes: u64 = small.iter().map(|file| file.bytes).sum();
        if bytes > REGULAR_LIMIT_BYTES {
            return Err(self.unexpected(format!("it wants {bytes} bytes in one commit")));
        }
        Ok((large, small))
    }

    /// Makes the commit; none when the branch has moved on from its parent meanwhile.
    fn commit(
        &self,
        summary: &str,
        parent: Option<&str>,
        large: &[&File],
        small: &[&File],
    ) -> Result<Option<String>, PushError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Committed {
            commit_oid: String,
        }
        let mut header = json!({"summary": summary, "description": ""});
        if let Some(parent) = parent {
            header["parentCommit"] = json!(parent);
        }
        let mut body = line("header", &header);
        for file in small {
            let mut bytes = Vec::new();
            self.read(file, file.bytes, |read| bytes.extend_from_slice(read))?;
            let content = STANDARD.encode(bytes);
            body.extend(line("file", &json!({"path": file.path, "content": content, "encoding": "base64"})));
        }
        for file in large {
            let of = json!({"path": file.path, "algo": "sha256", "oid": file.sha256, "size": file.bytes});
            body.extend(line("lfsFile", &of));
        }
        let path = format!("/api/models/{}/commit/{}", self.to.repository, escape(self.branch));
        let url = format!("{}{path}", self.hub.endpoint());
        let headers = [(String::from("content-type"), String::from("application/x-ndjson"))];
        let answer = self.send(&url, &headers, &body, |status| matches!(status, 409 | 412))?;
        if matches!(answer.status, 409 | 412) {
            return Ok(None);
        }
        let commit = self.understood::<Committed>(&answer)?.commit_oid;
        match self.to.at(&commit).commit() {
            Some(_) => Ok(Some(commit)),
            None => Err(self.unexpected(String::from("it names no commit"))),
        }
    }

    /// Asks the hub itself something in JSON.
    fn ask(&self, path: &str, body: &Value, expected: fn(u16) -> bool) -> Result<Answer, PushError> {
        let headers = [(String::from("content-type"), String::from("application/json"))];
        let url = format!("{}{path}", self.hub.endpoint());
        self.send(&url, &headers, body.to_string().as_bytes(), expected)
    }

    /// Posts a body until it is answered.
    pub fn send(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: &[u8],
        expected: fn(u16) -> bool,
    ) -> Result<Answer, PushError> {
        let what = self.to.to_string();
        self.again(|| {
            let mut reader = body;
            let mut headers = headers.to_vec();
            headers.push((String::from("content-length"), body.len().to_string()));
            let body = SendBody::from_reader(&mut reader);
            let outgoing =
                Outgoing { method: Method::POST, url, headers: &headers, with_token: true, body, what: &what };
            self.hub.send(outgoing, expected)
        })
    }

    /// Does something until it goes well, or does not look as if it will.
    pub fn again<T>(&self, mut something: impl FnMut() -> Result<T, HubError>) -> Result<T, PushError> {
        let mut failures = Failures::default();
        loop {
            self.goes_on()?;
            let error = match something() {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let Some(wait) = failures.wait(&error, false) else { return Err(error.into()) };
            tracing::debug!(to = %self.to, %error, "a request to the hub is made again");
            pause(wait, &self.progress.stop);
        }
    }

    /// An error when the push is to end.
    pub fn goes_on(&self) -> Result<(), PushError> {
        if self.progress.stop.load(Ordering::Relaxed) { Err(PushError::Stopped) } else { Ok(()) }
    }

    /// Reads the first bytes of a file.
    fn read(&self, file: &File, bytes: u64, mut sink: impl FnMut(&[u8])) -> Result<(), PushError> {
        let unreadable = |source| PushError::Read { path: file.path.clone(), source };
        let mut reader = (file.open)(0).map_err(unreadable)?;
        let (mut left, mut chunk) = (bytes, vec![0; CHUNK_BYTES.min(usize::try_from(bytes).unwrap_or(CHUNK_BYTES))]);
        while left > 0 {
            self.goes_on()?;
            let count = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            reader.read_exact(&mut chunk[..count]).map_err(unreadable)?;
            sink(&chunk[..count]);
            left -= count as u64;
        }
        Ok(())
    }

    pub fn understood<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, PushError> {
        serde_json::from_slice(&answer.body).map_err(|error| self.unexpected(format!("its answer is odd: {error}")))
    }

    pub fn unexpected(&self, detail: String) -> PushError {
        PushError::Unexpected { endpoint: self.hub.endpoint().to_owned(), detail }
    }
}

/// A line of a commit.
fn line(key: &str, value: &Value) -> Vec<u8> {
    format!("{}\n", json!({"key": key, "value": value})).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_go_to_what_is_named_and_nowhere_else() {
        let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<String>>();
        let targets = PushTargets::new(&list(&["acme", "lab/model", "team/exp-*"])).unwrap();
        for repository in ["acme/x", "acme/y.z", "lab/model", "team/exp-", "team/exp-7"] {
            assert!(targets.admit(repository), "{repository}");
        }
        for repository in ["acme2/x", "acm/x", "acme", "lab/model2", "lab/mode", "lab", "team/ex", "other/exp-7", ""] {
            assert!(!targets.admit(repository), "{repository}");
        }
        assert!(!PushTargets::default().admit("acme/x") && PushTargets::default().is_empty());
        for wrong in ["", "*", "a*", "a/b/c", "a/", "/b", "a/**", "a/*b", "a b", "../a", "hf:a/b", "a/b@c"] {
            assert!(PushTargets::new(&list(&[wrong])).is_err(), "{wrong}");
        }
        assert!(PushTargets::new(&list(&["a/*"])).unwrap().admit("a/anything"));
    }
}
