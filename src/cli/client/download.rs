//! Downloads of checkpoints. What has arrived lies in `<name>.part` and is used by the next attempt, also by another
//! process; a file gets its name only when its digest is that of the manifest.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use ureq::http::{Response, header};

use super::{Client, Refused, archive, escape, is_passing, pause};
use crate::job::digest::hex;
use crate::job::provenance;

/// Attempts in a row that bring nothing before a download is given up.
const MOST_FAILURES: u32 = 8;
/// Longest silence within a download.
const SILENCE: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 1 << 18;

/// A file that lies on disk, checked.
#[derive(Clone, Debug, Serialize)]
pub struct Downloaded {
    pub path: PathBuf,
    pub size: u64,
    pub sha256: String,
    /// Bytes that an earlier attempt had already brought.
    pub resumed_from: u64,
}

/// A file on the server.
struct Remote {
    url_path: String,
    /// Unknown when the server does not say; the file is then whole when the answer ends.
    size: Option<u64>,
    etag: Option<String>,
    sha256: Option<String>,
}

/// What has arrived of a file, and its digest.
struct Part {
    path: PathBuf,
    file: File,
    have: u64,
    hasher: Sha256,
}

/// How one request of a download ended.
enum Ended {
    /// The answer was read to its end.
    Whole,
    /// The connection broke, or the server is busy.
    Broken(String),
}

impl Client {
    /// Downloads the files of what has the path `of`, a checkpoint or an export, into `target` and checks each against the
    /// manifest. Files that are there already and are right are not fetched again.
    pub fn download(&self, of: &str, target: &Path, bar: &ProgressBar) -> anyhow::Result<Vec<Downloaded>> {
        let files = self.manifest(of)?;
        bar.set_length(files.iter().map(|(_, size, _)| size).sum());
        let mut downloaded = Vec::new();
        for (name, size, sha256) in files {
            let path = target.join(safe(&name)?);
            fs::create_dir_all(path.parent().unwrap_or(target))
                .with_context(|| format!("cannot make a folder for {}", path.display()))?;
            bar.set_message(name.clone());
            let parts: Vec<String> = name.split('/').map(escape).collect();
            let remote = Remote {
                url_path: format!("{of}/files/{}", parts.join("/")),
                size: Some(size),
                etag: Some(format!("\"{sha256}\"")),
                sha256: Some(sha256),
            };
            downloaded.push(self.fetch(&remote, &path, bar, |_| Ok(()))?);
        }
        self.fetch_provenance(of, target)?;
        bar.finish_and_clear();
        Ok(downloaded)
    }

    /// Downloads one file with a known digest.
    pub fn download_one(
        &self,
        url_path: &str,
        sha256: &str,
        target: &Path,
        bar: &ProgressBar,
    ) -> anyhow::Result<Downloaded> {
        let (etag, sha256) = (Some(format!("\"{sha256}\"")), Some(sha256.to_owned()));
        let remote = Remote { url_path: url_path.to_owned(), size: None, etag, sha256 };
        let downloaded = self.fetch(&remote, target, bar, |_| Ok(()))?;
        bar.finish_and_clear();
        Ok(downloaded)
    }

    /// Puts what the server has signed beside the files, where it has.
    fn fetch_provenance(&self, of: &str, target: &Path) -> anyhow::Result<()> {
        let envelope = match self.get(&format!("{of}/provenance")) {
            Ok(envelope) => envelope,
            Err(error) if error.downcast_ref::<Refused>().is_some_and(|refused| refused.status == 404) => return Ok(()),
            Err(error) => return Err(error),
        };
        let path = target.join(provenance::FILE);
        let temporary = part_of(&path);
        fs::write(&temporary, envelope.to_string())
            .and_then(|()| fs::rename(&temporary, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Downloads the same as one tar file and checks every file in it against the manifest.
    pub fn download_archive(&self, of: &str, target: &Path, bar: &ProgressBar) -> anyhow::Result<Downloaded> {
        let files = self.manifest(of)?;
        let url_path = format!("{of}/archive");
        let head = self.open(self.request("HEAD", &url_path).body(())?, SILENCE, None)?;
        if head.status() != 200 {
            // An answer to HEAD has no body that would say why.
            let response = self.open(self.request("GET", &url_path).body(())?, SILENCE, None)?;
            if response.status() != 200 {
                return Err(self.refusal(response));
            }
        }
        let text = |name| head.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let size = text(header::CONTENT_LENGTH).and_then(|size| size.parse().ok()).filter(|size| *size > 0);
        let sha256 = text(header::HeaderName::from_static("repr-digest")).and_then(|digest| sha256_of(&digest));
        let remote = Remote { url_path, size, etag: text(header::ETAG), sha256 };
        bar.set_length(size.unwrap_or_default());
        let downloaded = self.fetch(&remote, target, bar, |path| archive::check(path, &files))?;
        bar.finish_and_clear();
        Ok(downloaded)
    }

    /// Name, size and sha256 of every file.
    fn manifest(&self, of: &str) -> anyhow::Result<Vec<(String, u64, String)>> {
        let manifest = self.get(&format!("{of}/manifest"))?;
        let files = manifest["files"].as_array().context("the manifest lists no files")?;
        let read = |file: &Value| {
            let (name, size, sha256) = (file["path"].as_str()?, file["size"].as_u64()?, file["sha256"].as_str()?);
            Some((name.to_owned(), size, sha256.to_owned()))
        };
        files.iter().map(|file| read(file).context("the manifest is incomplete")).collect()
    }

    /// Brings one file to `target`. A file that turns out wrong is fetched once more from its beginning, because what
    /// lay there from an earlier attempt may have been of another file.
    fn fetch(
        &self,
        remote: &Remote,
        target: &Path,
        bar: &ProgressBar,
        check: impl Fn(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Downloaded> {
        let before = bar.position();
        if let (Some(size), Some(sha256), true) = (remote.size, &remote.sha256, target.is_file()) {
            let there = fs::metadata(target)?.len() == size && Part::open(target)?.digest() == *sha256;
            if there && check(target).is_ok() {
                bar.set_position(before + size);
                return Ok(Downloaded { path: target.to_owned(), size, sha256: sha256.clone(), resumed_from: size });
            }
        }
        let mut part = Part::open(&part_of(target))?;
        if remote.size.is_none_or(|size| part.have > size) || remote.etag.is_none() {
            part.restart()?;
        }
        let mut resumed_from = part.have;
        loop {
            self.complete(remote, &mut part, bar, before)?;
            let digest = part.digest();
            let wrong = match &remote.sha256 {
                Some(expected) if digest != *expected => Err(anyhow!("its sha256 is {digest}, not {expected}")),
                _ => check(&part.path),
            };
            match wrong {
                Ok(()) => {
                    let size = part.have;
                    part.publish(target)?;
                    return Ok(Downloaded { path: target.to_owned(), size, sha256: digest, resumed_from });
                }
                Err(_) if resumed_from > 0 => {
                    resumed_from = 0;
                    part.restart()?;
                }
                Err(error) => {
                    fs::remove_file(&part.path)?;
                    return Err(error.context(format!("{} arrived damaged and was removed", target.display())));
                }
            }
        }
    }

    /// Asks for what is missing until nothing is.
    fn complete(&self, remote: &Remote, part: &mut Part, bar: &ProgressBar, before: u64) -> anyhow::Result<()> {
        let mut failures = 0;
        while remote.size != Some(part.have) {
            let have = part.have;
            bar.set_position(before + have);
            let reason = match self.go_on(remote, part, bar)? {
                Ended::Whole if remote.size.is_none_or(|size| size == part.have) => return Ok(()),
                Ended::Whole => String::from("the answer ended early"),
                Ended::Broken(reason) => reason,
            };
            if remote.size.is_none_or(|size| part.have > size) {
                part.restart()?;
            }
            failures = if part.have > have { 0 } else { failures + 1 };
            if failures > MOST_FAILURES {
                bail!(
                    "the download broke off {failures} times in a row: {reason}\n  what has arrived is kept in {}; the \
                     same command goes on from there",
                    part.path.display()
                );
            }
            std::thread::sleep(pause(failures));
        }
        Ok(())
    }

    /// One request for what is behind the part.
    fn go_on(&self, remote: &Remote, part: &mut Part, bar: &ProgressBar) -> anyhow::Result<Ended> {
        let mut request = self.request("GET", &remote.url_path);
        if let (Some(etag), true) = (&remote.etag, part.have > 0) {
            request = request.header(header::RANGE, format!("bytes={}-", part.have)).header(header::IF_RANGE, etag);
        }
        let mut response = match self.open(request.body(())?, SILENCE, None) {
            Ok(response) => response,
            Err(error) => return Ok(Ended::Broken(error.to_string())),
        };
        match response.status().as_u16() {
            206 if starts_at(&response) == Some(part.have) => {}
            // The server has another file than the one that the part is of, or does not serve ranges.
            200 => part.restart()?,
            206 | 416 => {
                part.restart()?;
                return Ok(Ended::Broken(String::from("the server does not have the range that is missing")));
            }
            status if is_passing(status) => return Ok(Ended::Broken(format!("HTTP {status}"))),
            _ => return Err(self.refusal(response)),
        }
        let mut reader = response.body_mut().as_reader();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Ended::Whole),
                Ok(count) => {
                    part.append(&buffer[..count])?;
                    bar.inc(count as u64);
                }
                Err(error) => return Ok(Ended::Broken(error.to_string())),
            }
        }
    }
}

impl Part {
    /// Opens what there is, which may be nothing.
    fn open(path: &Path) -> anyhow::Result<Self> {
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = open.with_context(|| format!("cannot write {}", path.display()))?;
        let mut hasher = Sha256::new();
        let have = io::copy(&mut file, &mut HashWriter(&mut hasher))?;
        Ok(Self { path: path.to_owned(), file, have, hasher })
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.have = 0;
        self.hasher = Sha256::new();
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.hasher.update(bytes);
        self.have += bytes.len() as u64;
        Ok(())
    }

    fn digest(&self) -> String {
        hex(&self.hasher.clone().finalize())
    }

    /// Gives the complete file its name.
    fn publish(self, target: &Path) -> anyhow::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target).with_context(|| format!("cannot name {}", target.display()))?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
        Ok(())
    }
}

/// Feeds a digest.
pub struct HashWriter<'a>(pub &'a mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn part_of(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    target.with_file_name(name)
}

/// A name of the manifest as a path that stays below the target, whatever the server says.
fn safe(name: &str) -> anyhow::Result<&Path> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_))) && path.components().count() > 0;
    ensure!(
        plain && !name.contains('\0'),
        "the manifest names `{}`, which is no file of a checkpoint",
        name.escape_debug()
    );
    Ok(path)
}

/// The first byte of a partial answer.
fn starts_at(response: &Response<ureq::Body>) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}

/// The digest of a `Repr-Digest` header in hexadecimal.
fn sha256_of(header: &str) -> Option<String> {
    let encoded = header.split(',').find_map(|part| part.trim().strip_prefix("sha-256=:"))?.strip_suffix(':')?;
    BASE64_STANDARD.decode(encoded).ok().map(|bytes| hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_cannot_place_files_elsewhere() {
        for name in ["model.safetensors", "tokenizer/vocab.json"] {
            assert_eq!(safe(name).unwrap(), Path::new(name));
        }
        for name in ["", "/etc/passwd", "../model", "a/../../b", "a\0b"] {
            assert!(safe(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_digest_is_read_from_its_header() {
        assert_eq!(sha256_of("sha-512=:AA==:, sha-256=:AQI=:").as_deref(), Some("0102"));
        assert_eq!(sha256_of("sha-256=AQI="), None);
    }
}
