//! An artifact as one tar archive: streamed while it is sent, never built. Every byte's place follows
//! from the manifest, so that the length is known beforehand and a download that broke off goes on where it stopped;
//! the same artifact is always the same archive.

use std::{io, iter};

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::io::AsyncRead;
use tokio_util::io::ReaderStream;

use super::download::{CHUNK, Representation};
use super::error::Problem;
use crate::job::artifact::MANIFEST;
use crate::job::digest::sha256_hex;
use crate::job::provenance::FILE;
use crate::job::{Manifest, Timestamp};
use crate::store::{Artifact, Location, Place, Store, StoredFile};

/// Archives are made of blocks of this size and end with two empty ones.
const BLOCK: u64 = 512;

/// Answers with an artifact as a folder named `id` in an archive, in which every file has the time of its completion. Where
/// the artifact is signed, the envelope is beside the manifest.
pub async fn serve(store: &Store, id: &str, artifact: &Artifact, headers: &HeaderMap) -> Result<Response, Problem> {
    let (place, signed) = (store.place(), store.provenance(id).await?);
    let (manifest, created_at) = (&artifact.manifest, artifact.completed_at);
    let beside = signed.iter().map(|envelope| (FILE, Bytes::copy_from_slice(envelope.as_bytes())));
    let pieces = layout(id, artifact.location(), manifest, created_at, beside)?;
    let envelope = signed.as_deref().unwrap_or_default();
    let identity = format!("tar 1\n{id}\n{}\n{}\n{envelope}", created_at.unix_seconds(), serde_json::json!(manifest));
    let what = Representation {
        name: format!("{id}.tar"),
        size: pieces.iter().map(Piece::size).sum(),
        etag: sha256_hex(identity.as_bytes()),
        content_type: "application/x-tar",
        sha256: None,
    };
    Ok(match what.select(headers) {
        Ok(part) => what.answer(part, body(place, pieces, part.first, part.length)),
        Err(answer) => *answer,
    })
}

/// A part of an archive.
#[derive(Debug)]
enum Piece {
    Bytes(Bytes),
    File { file: StoredFile, size: u64 },
}

impl Piece {
    fn size(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { size, .. } => *size,
        }
    }

    /// Reads `length` bytes from `first` on. A file that has not its size in the manifest is an error, which cuts the
    /// download off: what would follow would be in the wrong place.
    async fn open(
        self,
        place: Place,
        first: u64,
        length: u64,
    ) -> io::Result<ReaderStream<Box<dyn AsyncRead + Send + Unpin>>> {
        let reader: Box<dyn AsyncRead + Send + Unpin> = match self {
            Self::Bytes(bytes) => Box::new(io::Cursor::new(bytes.slice(first as usize..(first + length) as usize))),
            Self::File { file, size } => {
                if place.size(&file).await? != size {
                    return Err(io::Error::other(format!("{file:?} has another size than in its manifest")));
                }
                Box::new(place.open(&file, first, length).await?)
            }
        };
        Ok(ReaderStream::with_capacity(reader, CHUNK))
    }
}

/// What the archive consists of: the manifest first, with what is beside it, then its files.
fn layout(
    id: &str,
    folder: &Location,
    manifest: &Manifest,
    created_at: Timestamp,
    beside: impl Iterator<Item = (&'static str, Bytes)>,
) -> io::Result<Vec<Piece>> {
    let text = Bytes::from(serde_json::to_vec_pretty(manifest)?);
    let header = |name: &str, size| header(&format!("{id}/{name}"), size, created_at);
    let mut pieces = Vec::new();
    for (name, bytes) in iter::once((MANIFEST, text)).chain(beside) {
        let size = bytes.len() as u64;
        pieces.extend([header(name, size)?, Piece::Bytes(bytes), padding(size)]);
    }
    for file in &manifest.files {
        pieces.push(header(&file.path, file.size)?);
        pieces.push(Piece::File { file: folder.within(&file.path).holding(&file.sha256), size: file.size });
        pieces.push(padding(file.size));
    }
    pieces.push(zeros(2 * BLOCK));
    Ok(pieces)
}

fn header(path: &str, size: u64, created_at: Timestamp) -> io::Result<Piece> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(created_at.unix_seconds().unsigned_abs());
    header.set_cksum();
    Ok(Piece::Bytes(Bytes::copy_from_slice(header.as_bytes())))
}

fn padding(size: u64) -> Piece {
    zeros(size.next_multiple_of(BLOCK) - size)
}

fn zeros(count: u64) -> Piece {
    static ZEROS: [u8; 2 * BLOCK as usize] = [0; 2 * BLOCK as usize];
    Piece::Bytes(Bytes::from_static(&ZEROS[..count as usize]))
}

/// `length` bytes of the archive from `first` on. Files are opened when it is their turn.
fn body(place: &Place, pieces: Vec<Piece>, first: u64, length: u64) -> Body {
    let end = first + length;
    let mut at = 0;
    let mut parts = Vec::new();
    for piece in pieces {
        let size = piece.size();
        let (from, to) = (first.saturating_sub(at).min(size), end.saturating_sub(at).min(size));
        if from < to {
            parts.push((piece, from, to - from));
        }
        at += size;
    }
    let place = place.clone();
    let open = move |(piece, from, length): (Piece, u64, u64)| piece.open(place.clone(), from, length);
    Body::from_stream(stream::iter(parts).then(open).try_flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{ArtifactKind, JobId, ManifestFile};

    fn bytes(size: u64) -> Vec<u8> {
        (0..size).map(|i| (i % 251) as u8 + 1).collect()
    }

    fn manifest(files: &[(&str, u64)]) -> Manifest {
        let file = |(path, size): &(&str, u64)| ManifestFile {
            path: (*path).to_owned(),
            size: *size,
            sha256: sha256_hex(&bytes(*size)),
        };
        Manifest {
            format: 1,
            kind: ArtifactKind::Inference,
            job: JobId::generate(),
            attempt: 1,
            step: 5,
            spec_digest: String::from("sha256:00"),
            files: files.iter().map(file).collect(),
        }
    }

    /// A store with a folder for files.
    async fn store(folder: &std::path::Path) -> (Store, Location, std::path::PathBuf) {
        let store = Store::open(folder).await.unwrap();
        let job = JobId::generate();
        let path = store.files().job(job);
        std::fs::create_dir_all(&path).unwrap();
        (store, Location::job(job), path)
    }

    #[tokio::test]
    async fn any_range_is_that_part_of_the_whole() {
        let data = tempfile::tempdir().unwrap();
        let (store, folder, path) = store(data.path()).await;
        let files = [("a", 0), ("b", 1), ("c", 512), ("d", 1300)];
        for (name, size) in files {
            std::fs::write(path.join(name), bytes(size)).unwrap();
        }
        let manifest = manifest(&files);
        let pieces = || layout("ckpt_1", &folder, &manifest, Timestamp(1_750_000_000_000), iter::empty()).unwrap();
        let size: u64 = pieces().iter().map(Piece::size).sum();
        let read = |first, length| axum::body::to_bytes(body(store.place(), pieces(), first, length), 1 << 20);
        let whole = read(0, size).await.unwrap();
        assert_eq!((whole.len() as u64, size % BLOCK), (size, 0));
        for first in (0..size).step_by(97) {
            for length in [1, 100, 700, size].map(|length| length.min(size - first)) {
                let part = read(first, length).await.unwrap();
                assert_eq!(part, whole.slice(first as usize..(first + length) as usize), "{first} {length}");
            }
        }
        let mut archive = tar::Archive::new(&whole[..]);
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["ckpt_1/manifest.json", "ckpt_1/a", "ckpt_1/b", "ckpt_1/c", "ckpt_1/d"]);
    }

    #[tokio::test]
    async fn a_file_of_another_size_cuts_the_download_off() {
        let data = tempfile::tempdir().unwrap();
        let (store, folder, path) = store(data.path()).await;
        std::fs::write(path.join("a"), b"12").unwrap();
        let pieces = layout("ckpt_1", &folder, &manifest(&[("a", 3)]), Timestamp(0), iter::empty()).unwrap();
        let size = pieces.iter().map(Piece::size).sum();
        assert!(axum::body::to_bytes(body(store.place(), pieces, 0, size), 1 << 20).await.is_err());
    }
}
