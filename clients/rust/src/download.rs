//! A checkpoint's files, whole and right, whatever happens to the connection.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use progenitor_client::encode_path;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_RANGE, IF_RANGE, RANGE};
use sha2::{Digest, Sha256};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::error::{ClientError, Failure, Interruption, Patience, failure, within};
use crate::types::{CheckpointFile, Manifest};
use crate::{Client, ClientInfo};

/// Attempts in a row without a new byte.
const RETRIES: u32 = 10;
/// After this long without a byte the connection is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// Downloads all files of a checkpoint into the folder `target` and checks each against the manifest.
///
/// A file appears under its name only when it is complete and its sha256 is right. What an interrupted download left
/// behind, in this process or an earlier one, is continued.
pub async fn download_checkpoint(
    client: &Client,
    checkpoint: &str,
    target: &Path,
) -> Result<Vec<PathBuf>, ClientError> {
    fs::create_dir_all(target).await?;
    let mut paths = Vec::new();
    for file in &manifest(client, checkpoint).await?.files {
        paths.push(fetch(client, checkpoint, file, target).await?);
    }
    Ok(paths)
}

async fn manifest(client: &Client, checkpoint: &str) -> Result<Manifest, ClientError> {
    let mut patience = Patience::new(RETRIES);
    loop {
        match within(SILENCE, client.get_checkpoint_manifest().id(checkpoint).send()).await {
            Ok(answer) => return Ok(answer?.into_inner()),
            Err(interruption) => patience.wait(interruption).await?,
        }
    }
}

async fn fetch(
    client: &Client,
    checkpoint: &str,
    file: &CheckpointFile,
    folder: &Path,
) -> Result<PathBuf, ClientError> {
    let mismatch = |detail| ClientError::DigestMismatch { path: file.path.clone(), detail };
    if matches!(file.path.as_str(), "" | "." | "..") || file.path.contains(['/', '\\']) {
        return Err(mismatch("is no plain name"));
    }
    let last = folder.join(&file.path);
    if fs::try_exists(&last).await? && sha256(&last).await? == file.sha256 {
        return Ok(last);
    }
    // The digest in the name keeps parts of different files of the same name apart.
    let short: String = file.sha256.chars().take(16).collect();
    let part = folder.join(format!(".{}.{short}.part", file.path));
    let mut out = OpenOptions::new().append(true).create(true).open(&part).await?;
    let mut patience = Patience::new(RETRIES);
    let mut size = out.metadata().await?.len();
    while size < file.size {
        let before = size;
        match receive(client, checkpoint, file, &mut out, &mut size).await {
            Ok(()) => {}
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Interrupted(interruption)) => {
                if size > before {
                    patience.progress();
                }
                patience.wait(interruption).await?;
            }
        }
    }
    out.sync_all().await?;
    let detail = if size > file.size {
        "is longer than the manifest says"
    } else if sha256(&part).await? != file.sha256 {
        "has not the sha256 that the manifest lists"
    } else {
        fs::rename(&part, &last).await?;
        return Ok(last);
    };
    fs::remove_file(&part).await?;
    Err(mismatch(detail))
}

/// Appends what is missing, until the end, more than there should be, or an interruption; `size` is what the file has.
async fn receive(
    client: &Client,
    checkpoint: &str,
    file: &CheckpointFile,
    out: &mut File,
    size: &mut u64,
) -> Result<(), Failure> {
    let (id, path) = (encode_path(checkpoint), encode_path(&file.path));
    let url = format!("{}/v1/checkpoints/{id}/files/{path}", client.baseurl());
    let mut request = client.client().get(url).header("accept-encoding", "identity");
    if *size > 0 {
        request = request.header(RANGE, format!("bytes={size}-")).header(IF_RANGE, format!("\"{}\"", file.sha256));
    }
    let mut response = within(SILENCE, request.send()).await?.map_err(Interruption::new)?;
    match response.status() {
        StatusCode::OK if *size > 0 => {
            out.set_len(0).await?;
            *size = 0;
        }
        StatusCode::OK => {}
        StatusCode::PARTIAL_CONTENT => {
            let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
            if !range.is_some_and(|range| range.starts_with(&format!("bytes {size}-"))) {
                return Err(Interruption::new("the server sent another range than asked for").into());
            }
        }
        _ => return Err(within(SILENCE, failure(response)).await?),
    }
    while *size <= file.size {
        let Some(chunk) = within(SILENCE, response.chunk()).await?.map_err(Interruption::new)? else { break };
        out.write_all(&chunk).await?;
        out.flush().await?;
        *size += chunk.len() as u64;
    }
    // A proxy may end what it got of a cut answer as if it were whole.
    if *size < file.size { Err(Interruption::new("the answer ended before the file").into()) } else { Ok(()) }
}

async fn sha256(path: &Path) -> Result<String, ClientError> {
    let mut file = File::open(path).await?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let count = file.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        write!(text, "{byte:02x}").expect("a text takes any text");
    }
    Ok(text)
}
