//! The hub: what `hf:owner/name` and `hf:datasets/owner/name` stand for, and the client of the routes by which Hugging Face's hub and its mirrors
//! serve it and take what is pushed. It knows neither models nor the store, nor how files lie on the disk.
//!
//! A branch moves, a commit does not: whoever begins with a branch goes on with the commit that it stood for.

mod client;
pub mod dataset;
mod digest;
mod lfs;
mod push;
mod retry;

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

pub use client::{Hub, escape};
pub use digest::{Digester, Mismatch};
pub use push::{File, Progress, PushError, PushTargets, Pushed};
pub use retry::{Failures, pause};

/// What a text begins with that names a model of the hub.
pub const PREFIX: &str = "hf:";
/// The branch that is meant where no revision is named.
pub const MAIN: &str = "main";
/// Hexadecimal digits of a commit.
const COMMIT_DIGITS: usize = 40;
/// Longest owner, name, revision or path.
const MOST_BYTES: usize = 200;

/// A model of the hub as a spec or a command names it: `hf:owner/name`, with `/file.gguf` where a repository has several
/// such files, and with `@revision` where it is not the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRef {
    /// `owner/name`, or for a few old ones `name`; of a data set, behind `datasets/`.
    pub repository: String,
    /// A path within the repository.
    pub file: Option<String>,
    /// A branch, a tag or a commit.
    pub revision: Option<String>,
}

/// A text that begins as a model of the hub and is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no model of the hub; write hf:owner/name, hf:owner/name@revision or hf:owner/name/file.gguf")]
pub struct InvalidHubRef(String);

impl HubRef {
    /// The same at a commit, or at a branch.
    pub fn at(&self, revision: &str) -> Self {
        Self { revision: Some(revision.to_owned()), ..self.clone() }
    }

    /// The commit that it names, if it names one and not a branch.
    pub fn commit(&self) -> Option<&str> {
        let is_commit = |text: &&str| text.len() == COMMIT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.revision.as_deref().filter(is_commit)
    }
}

impl FromStr for HubRef {
    type Err = InvalidHubRef;

    fn from_str(text: &str) -> Result<Self, InvalidHubRef> {
        let invalid = || InvalidHubRef(text.chars().take(120).collect());
        let rest = text.strip_prefix(PREFIX).ok_or_else(invalid)?;
        let (path, revision) = rest.split_once('@').map_or((rest, None), |(path, revision)| (path, Some(revision)));
        let mut parts = path.splitn(3, '/');
        let (owner, name, file) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let is_name = |part: &str| is_plain(part) && part.len() <= MOST_BYTES;
        let is_path = |path: &str| path.len() <= MOST_BYTES && path.split('/').all(is_plain);
        if !is_name(owner) || !name.is_none_or(is_name) || !revision.is_none_or(is_path) {
            return Err(invalid());
        }
        if !file.is_none_or(|file| is_path(file) && file.to_ascii_lowercase().ends_with(".gguf")) {
            return Err(invalid());
        }
        let repository = name.map_or_else(|| owner.to_owned(), |name| format!("{owner}/{name}"));
        Ok(Self { repository, file: file.map(str::to_owned), revision: revision.map(str::to_owned) })
    }
}

impl fmt::Display for HubRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.repository)?;
        self.file.as_ref().map_or(Ok(()), |file| write!(f, "/{file}"))?;
        self.revision.as_ref().map_or(Ok(()), |revision| write!(f, "@{revision}"))
    }
}

/// A part of a path that stays where it is put.
fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('.')
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

/// What lets the operator in. Never shown.
#[derive(Clone)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// The files of a repository at one commit.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub repository: String,
    pub commit: String,
    /// None where the hub does not say.
    pub private: Option<bool>,
    pub files: Vec<RemoteFile>,
}

impl Snapshot {
    pub fn file(&self, path: &str) -> Option<&RemoteFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Within the repository.
    pub path: String,
    pub bytes: u64,
    /// None where the hub does not say.
    pub digest: Option<FileDigest>,
}

/// What the hub says of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileDigest {
    /// Of a large file, which is kept beside git.
    Sha256(String),
    /// Of a small one: SHA-1 over `blob`, its length and its bytes, as git computes it.
    Git(String),
}

/// Why the hub did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(
        "{0} is not here yet, and the server does not ask the hub (hub_offline); bring it with `anneal models pull` where \
         there is a network"
    )]
    Offline(String),
    #[error("the hub does not let this server in: {0}; the operator sets HF_TOKEN to a token that may read the model")]
    Unauthorized(String),
    #[error(
        "{0} is gated: accept its terms on its page with the account of the server's token (HF_TOKEN), then try again"
    )]
    Gated(String),
    #[error("the hub has no {0}; check the spelling, or, if it is private, the server's token (HF_TOKEN)")]
    NotFound(String),
    #[error("the hub asks for fewer requests; try again in {} s", .0.as_secs())]
    RateLimited(Duration),
    #[error("the hub cannot be reached: {0}; try again, or name a commit that is here already (anneal models cache)")]
    Unreachable(String),
    #[error("what answers at {endpoint} is not a hub of models: {detail}")]
    Unexpected { endpoint: String, detail: String },
    /// What is to be done with the bytes failed.
    #[error("what the hub sends cannot be written")]
    Io(#[from] io::Error),
}

impl HubError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Offline(_) => "hub_offline",
            Self::Unauthorized(_) => "hub_unauthorized",
            Self::Gated(_) => "hub_gated",
            Self::NotFound(_) => "hub_not_found",
            Self::RateLimited(_) => "hub_rate_limited",
            Self::Unreachable(_) => "hub_unreachable",
            Self::Unexpected { .. } => "hub_unexpected",
            Self::Io(_) => "model_unreadable",
        }
    }

    /// How long to wait before the same may go well, if it may.
    pub fn passes(&self) -> Option<Duration> {
        match self {
            Self::RateLimited(wait) => Some(*wait),
            Self::Unreachable(_) => Some(Duration::ZERO),
            Self::Offline(_)
            | Self::Unauthorized(_)
            | Self::Gated(_)
            | Self::NotFound(_)
            | Self::Unexpected { .. }
            | Self::Io(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_read_back_from_their_texts() {
        for text in ["hf:gpt2", "hf:Qwen/Qwen3-0.6B", "hf:a/b@refs/pr/1", "hf:a/b/c/d-Q4_K_M.gguf@main"] {
            assert_eq!(text.parse::<HubRef>().unwrap().to_string(), text);
        }
        let reference: HubRef = "hf:a/b/c/d.gguf@v1".parse().unwrap();
        let (file, revision) = (Some(String::from("c/d.gguf")), Some(String::from("v1")));
        assert_eq!(reference, HubRef { repository: String::from("a/b"), file, revision });
        assert_eq!(reference.commit(), None);
        let commit = "0123456789abcdef0123456789ABCDEF01234567";
        assert_eq!(reference.at(commit).commit(), Some(commit));
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_reference() {
        let long = format!("hf:a/{}", "b".repeat(201));
        for text in [
            "Qwen/Qwen3",
            "hf:",
            "hf:a/",
            "hf:/b",
            "hf:../b",
            "hf:a/..",
            "hf:a/b@",
            "hf:a/b@../c",
            "hf:a/b@c/../d",
            "hf:a/b?c",
            "hf:a/b#c",
            "hf:a b/c",
            "hf:a/b/c.bin",
            "hf:a/b/../c.gguf",
            "hf:a/b//c.gguf",
            "hf:a/b%2f",
            "hf:a\\b",
            &long,
        ] {
            assert!(text.parse::<HubRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_is_not_shown() {
        assert!(!format!("{:?}", Token(String::from("hf_secret"))).contains("secret"));
    }
}
