//! `POST /v1/uploads/{id}/complete`

use std::io::{self, Write};

use axum::Json;
use md5::Md5;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;
use utoipa::ToSchema;

use super::{Upload, text};
use crate::api::access::Access;
use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::digest::hex;
use crate::job::{FieldError, FileId, PartId, UploadId, UploadStatus};
use crate::store::{Location, PartRow, Place, Staged, UploadRow, UploadedFileRow};

/// The parts in their order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteUpload {
    part_ids: Vec<String>,
    /// The MD5 of the whole file in hexadecimal; if given, another one refuses the file.
    md5: Option<String>,
}

/// Complete an upload
///
/// Puts the parts together and checks their size against the announced one, and the MD5 if it is given. What was
/// refused can be tried again, with the missing part sent in between.
#[utoipa::path(
    post,
    path = "/v1/uploads/{id}/complete",
    tag = "files",
    params(("id" = String, Path, description = "The upload")),
    request_body = CompleteUpload,
    responses(
        (status = 200, body = Upload),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such upload", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The upload has ended already", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A part is unknown, or the parts are not the announced file", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn complete_upload(
    Access(app): Access,
    Id(id): Id<UploadId>,
    JsonBody(body): JsonBody,
) -> Result<Json<Upload>, Problem> {
    let request: CompleteUpload = read(&body)?;
    let upload = app.store.upload(id).await?;
    upload.require_pending(clock::now())?;
    let chosen = choose(&upload, &request.part_ids, &app.store.parts(id).await?)?;
    let place = app.store.place();
    for (at, part) in chosen.iter().enumerate() {
        check_arrived(place, at, part).await?;
    }
    let joined = join(place, &chosen).await?;
    if request.md5.is_some_and(|md5| !md5.eq_ignore_ascii_case(&joined.md5)) {
        let detail = format!("the parts together have the MD5 {}; send the broken part again", joined.md5);
        return Err(Problem::invalid(vec![FieldError::new("/md5", "digest_mismatch", detail)]));
    }
    let now = clock::now();
    let file = UploadedFileRow {
        id: FileId::generate(),
        filename: upload.filename.clone(),
        purpose: upload.purpose.clone(),
        bytes: upload.bytes,
        sha256: joined.sha256,
        created_at: now,
        expires_at: upload.file_seconds.map(|seconds| now.plus_seconds(seconds)),
        dataset_version: None,
    };
    let location = Location::file(file.id);
    joined.file.publish(&location).await?;
    let completed = UploadRow { status: UploadStatus::Completed, file: Some(file.id), ..upload };
    let answer = Upload::new(completed, Some(file.clone()), now);
    if let Err(error) = app.store.complete_upload(id, &file, &text(&answer)?, now).await {
        app.store.place().remove(&location).await;
        return Err(error.into());
    }
    Ok(Json(answer))
}

/// The parts that are asked for, when they are the upload's and have its size.
fn choose(upload: &UploadRow, ids: &[String], parts: &[PartRow]) -> Result<Vec<PartRow>, Problem> {
    let mut chosen: Vec<PartRow> = Vec::new();
    let mut bytes = 0;
    for (at, id) in ids.iter().enumerate() {
        let known = id.parse::<PartId>().ok().and_then(|id| parts.iter().find(|part| part.id == id));
        match known {
            None => return Err(refused(at, "not_found", "is no part of this upload")),
            Some(part) if chosen.iter().any(|other| other.id == part.id) => {
                return Err(refused(at, "duplicate", "is in the list already"));
            }
            Some(part) => {
                bytes += part.bytes;
                chosen.push(part.clone());
            }
        }
    }
    if bytes != upload.bytes {
        let detail = format!("the parts have {bytes} bytes together, and {} were announced", upload.bytes);
        return Err(Problem::invalid(vec![FieldError::new("/part_ids", "size_mismatch", detail)]));
    }
    Ok(chosen)
}

fn refused(at: usize, code: &'static str, detail: &str) -> Problem {
    Problem::invalid(vec![FieldError::new(format!("/part_ids/{at}"), code, detail.to_owned())])
}

/// Refuses a part that a client was to send to the bucket and has not, or not as it was announced.
async fn check_arrived(place: &Place, at: usize, part: &PartRow) -> Result<(), Problem> {
    match place.size(&Location::part(part.id).into()).await {
        Ok(bytes) if bytes == part.bytes => Ok(()),
        Ok(bytes) => {
            let detail = format!("has {bytes} bytes, and {} were announced; send it again", part.bytes);
            Err(refused(at, "size_mismatch", &detail))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(refused(at, "not_sent", "has not arrived; send it to its address"))
        }
        Err(error) => Err(error.into()),
    }
}

struct Joined {
    file: Staged,
    sha256: String,
    md5: String,
}

/// Writes the parts one behind the other.
async fn join(place: &Place, parts: &[PartRow]) -> Result<Joined, Problem> {
    let (place, parts, runtime) = (place.clone(), parts.to_vec(), Handle::current());
    let joined = blocking(move || {
        let file = place.stage();
        let mut writer = file.create()?;
        let (mut sha256, mut md5) = (Sha256::new(), Md5::new());
        let mut chunk = vec![0; 1 << 18];
        for (at, part) in parts.iter().enumerate() {
            let mut arrived = 0;
            let mut reader = runtime.block_on(place.open(&Location::part(part.id).into(), 0, part.bytes))?;
            loop {
                let read = runtime.block_on(reader.read(&mut chunk))?;
                if read == 0 {
                    break;
                }
                arrived += read as u64;
                sha256.update(&chunk[..read]);
                md5.update(&chunk[..read]);
                writer.write_all(&chunk[..read])?;
            }
            // Whoever has its address may have sent another one meanwhile.
            if arrived != part.bytes {
                return Ok(Err(refused(at, "size_mismatch", "was sent again meanwhile, and has other bytes now")));
            }
        }
        writer.sync_all()?;
        io::Result::Ok(Ok(Joined { file, sha256: hex(&sha256.finalize()), md5: hex(&md5.finalize()) }))
    });
    joined.await??
}
