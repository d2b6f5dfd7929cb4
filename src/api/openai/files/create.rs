//! `POST /v1/files`

use axum::Json;
use axum::http::StatusCode;
use utoipa::ToSchema;

use super::FileObject;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::openai::receive::{ExpectedForm, Form, Received, receive};
use crate::api::openai::{check_expiry, check_purpose};
use crate::clock;
use crate::job::{FieldError, FileId};
use crate::store::{Location, UploadedFileRow};

/// The form of an upload.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form, which is read as a stream")]
pub struct CreateFile {
    /// The file; its name is kept without folders.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// `fine-tune` for files to train on; also `assistants`, `batch`, `evals`, `user_data`, `vision`.
    purpose: String,
    /// `created_at`, if the file is to be removed by itself.
    #[schema(rename = "expires_after[anchor]")]
    anchor: Option<String>,
    /// When, in seconds, from an hour to 30 days.
    #[schema(rename = "expires_after[seconds]")]
    seconds: Option<u64>,
}

/// Upload a file
///
/// The file is streamed to disk. Its rows are checked when a job uses it.
#[utoipa::path(
    post,
    path = "/v1/files",
    tag = "files",
    request_body(content = CreateFile, content_type = "multipart/form-data"),
    responses(
        (status = 201, body = FileObject),
        (status = 400, description = "Not a form, or cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is missing, unknown or invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_file(Access(app): Access, form: Form) -> Result<(StatusCode, Json<FileObject>), Problem> {
    let texts = ["purpose", "expires_after[anchor]", "expires_after[seconds]"];
    let expected = ExpectedForm { file: "file", texts: &texts, limit: app.settings.max_upload_bytes };
    let received = receive(form, &app.store, &expected).await?;
    let row = describe(&received)?;
    received.file.publish(&Location::file(row.id)).await?;
    app.store.add_file(&row).await?;
    Ok((StatusCode::CREATED, Json(row.into())))
}

fn describe(received: &Received) -> Result<UploadedFileRow, Problem> {
    let wrong = |field: &str, code, detail| Problem::invalid(vec![FieldError::new(field.to_owned(), code, detail)]);
    let purpose =
        received.text("purpose").ok_or_else(|| wrong("/purpose", "missing_field", "say what the file is for"))?;
    check_purpose(purpose)?;
    let now = clock::now();
    let seconds = received.text("expires_after[seconds]").map(str::parse::<u64>).transpose();
    let seconds = seconds.map_err(|_| wrong("/expires_after/seconds", "wrong_type", "must be a number of seconds"))?;
    let expires_at = match (received.text("expires_after[anchor]"), seconds) {
        (None, None) => None,
        (anchor, seconds) => {
            let seconds = check_expiry(anchor.unwrap_or_default(), seconds.unwrap_or_default())?;
            Some(now.plus_seconds(seconds))
        }
    };
    Ok(UploadedFileRow {
        id: FileId::generate(),
        filename: received.filename.clone(),
        purpose: purpose.to_owned(),
        bytes: received.bytes,
        sha256: received.sha256.clone(),
        created_at: now,
        expires_at,
        dataset_version: None,
    })
}
