//! Receives a form with a file in it: the file is streamed to disk with its digest computed on the way, and nothing
//! remains of one that is cut off, refused or abandoned.

use std::time::Duration;

use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::StatusCode;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::api::error::Problem;
use crate::api::extract::content_length;
use crate::job::FieldError;
use crate::job::digest::hex;
use crate::store::{Staged, StorageRoom, Store};

const MAX_FIELDS: usize = 16;
const MAX_TEXT_BYTES: usize = 4096;
/// About the most bytes that a form has besides its file.
const MOST_BESIDE_FILE: u64 = (MAX_FIELDS * 2 * MAX_TEXT_BYTES) as u64;
/// How long a refused form is still read: many clients look for an answer only after they have sent all.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A `multipart/form-data` body of any size; whoever reads it bounds it.
pub struct Form {
    fields: Multipart,
    length: u64,
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Problem> {
        DefaultBodyLimit::disable().apply(&mut request);
        let length = content_length(request.headers());
        let fields = Multipart::from_request(request, state).await;
        fields
            .map(|fields| Self { fields, length })
            .map_err(|error| Problem::bad_request("invalid_form", error.body_text()))
    }
}

/// What a form held.
#[derive(Debug)]
pub struct Received {
    pub file: Staged,
    /// Its place in what the project may store.
    _room: StorageRoom,
    pub filename: String,
    pub bytes: u64,
    pub sha256: String,
    /// The other fields.
    pub texts: Vec<(String, String)>,
}

impl Received {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

/// What a form is to hold.
#[derive(Debug)]
pub struct ExpectedForm<'a> {
    /// The field of the file.
    pub file: &'a str,
    /// The other fields.
    pub texts: &'a [&'a str],
    /// The most bytes of the file.
    pub limit: u64,
}

/// Reads a form, with its file to a staged one.
pub async fn receive(form: Form, store: &Store, expected: &ExpectedForm<'_>) -> Result<Received, Problem> {
    let Form { mut fields, length } = form;
    let announced = length.saturating_sub(MOST_BESIDE_FILE);
    let room = if announced > expected.limit {
        Err(too_large(expected.limit))
    } else {
        store.storage_room(announced).await.map_err(Problem::from)
    };
    let result = match room {
        Ok(room) => read(&mut fields, (store.place().stage(), room), expected).await,
        Err(problem) => Err(problem),
    };
    if result.is_err() {
        let rest = async { while let Ok(Some(_)) = fields.next_field().await {} };
        // Whoever is slower than this has to live with a broken connection.
        drop(tokio::time::timeout(DRAIN_TIME, rest).await);
    }
    result
}

async fn read(
    form: &mut Multipart,
    staged: (Staged, StorageRoom),
    expected: &ExpectedForm<'_>,
) -> Result<Received, Problem> {
    let (mut staged, mut received, mut texts) = (Some(staged), None, Vec::new());
    for _ in 0..MAX_FIELDS {
        let Some(field) = form.next_field().await.map_err(cut_off)? else {
            let received: Option<Received> = received;
            let received =
                received.ok_or_else(|| refused(expected.file, "missing_field", "add a form field with the file"))?;
            return Ok(Received { texts, ..received });
        };
        let name = field.name().unwrap_or_default().to_owned();
        if name == expected.file
            && let Some(staged) = staged.take()
        {
            received = Some(read_file(field, staged, expected).await?);
        } else if expected.texts.contains(&name.as_str()) {
            texts.push((name.clone(), read_text(field, &name).await?));
        } else {
            let name: String = name.chars().take(80).collect();
            let detail =
                format!("is not expected here; the fields are {}, {}", expected.file, expected.texts.join(", "));
            return Err(refused(&name, "unknown_field", detail.trim_end_matches(", ")));
        }
    }
    Err(Problem::bad_request("invalid_form", format!("the form has more than {MAX_FIELDS} fields")))
}

async fn read_file(
    mut field: Field<'_>,
    (file, mut room): (Staged, StorageRoom),
    expected: &ExpectedForm<'_>,
) -> Result<Received, Problem> {
    let filename = super::clean_name(field.file_name().unwrap_or_default());
    let mut writer = file.writer().await?;
    let (mut bytes, mut digest) = (0_u64, Sha256::new());
    while let Some(chunk) = field.chunk().await.map_err(cut_off)? {
        bytes += chunk.len() as u64;
        if bytes > expected.limit {
            return Err(too_large(expected.limit));
        }
        room.take(chunk.len() as u64).await?;
        digest.update(&chunk);
        writer.write_all(&chunk).await?;
    }
    if bytes == 0 {
        return Err(refused(expected.file, "out_of_range", "is empty"));
    }
    writer.flush().await?;
    writer.sync_all().await?;
    Ok(Received { file, _room: room, filename, bytes, sha256: hex(&digest.finalize()), texts: Vec::new() })
}

fn too_large(limit: u64) -> Problem {
    let detail = format!("the file is larger than {limit} bytes, the most that is taken at once");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "upload_too_large", detail)
}

async fn read_text(mut field: Field<'_>, name: &str) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(cut_off)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_TEXT_BYTES {
            return Err(refused(name, "out_of_range", &format!("has more than {MAX_TEXT_BYTES} bytes")));
        }
    }
    String::from_utf8(bytes).map_err(|_| refused(name, "invalid_value", "is not UTF-8"))
}

fn cut_off(error: MultipartError) -> Problem {
    let detail = format!("the form is broken or was cut off: {}; send it again", error.body_text());
    Problem::bad_request("upload_incomplete", detail)
}

fn refused(field: &str, code: &'static str, detail: &str) -> Problem {
    Problem::invalid(vec![FieldError::new(format!("/{field}"), code, detail)])
}
