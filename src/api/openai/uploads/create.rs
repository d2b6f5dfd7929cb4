//! `POST /v1/uploads`

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{LIFE_SECONDS, Upload, text};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::openai::{check_expiry, check_purpose, clean_name};
use crate::clock;
use crate::job::{UploadId, UploadStatus};
use crate::store::UploadRow;

/// The file that is going to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUpload {
    filename: String,
    /// `fine-tune` for files to train on; also `assistants`, `batch`, `evals`, `user_data`, `vision`.
    purpose: String,
    /// Of the whole file.
    #[schema(minimum = 1)]
    bytes: u64,
    /// Kept and not checked.
    #[schema(max_length = 255)]
    mime_type: String,
    /// When the finished file is to be removed by itself.
    expires_after: Option<ExpiresAfter>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExpiresAfter {
    /// Always `created_at`.
    anchor: String,
    /// From an hour to 30 days.
    #[schema(minimum = 3600, maximum = 2_592_000)]
    seconds: u64,
}

/// Begin an upload in parts
#[utoipa::path(
    post,
    path = "/v1/uploads",
    tag = "files",
    request_body = CreateUpload,
    responses(
        (status = 201, body = Upload),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Too many uploads are under way", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "The file would be too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_upload(
    Access(app): Access,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Upload>), Problem> {
    let request: CreateUpload = read(&body)?;
    check_purpose(&request.purpose)?;
    let limit = app.settings.max_upload_bytes;
    if request.bytes > limit {
        let detail = format!("the file would be larger than {limit} bytes; raise max_upload_bytes or split it");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "upload_too_large", detail));
    }
    let file_seconds = request.expires_after.map(|expiry| check_expiry(&expiry.anchor, expiry.seconds)).transpose()?;
    let now = clock::now();
    let row = UploadRow {
        id: UploadId::generate(),
        filename: clean_name(&request.filename),
        purpose: request.purpose,
        mime_type: request.mime_type,
        bytes: request.bytes,
        status: UploadStatus::Pending,
        created_at: now,
        expires_at: now.plus_seconds(LIFE_SECONDS),
        file_seconds,
        file: None,
    };
    let answer = Upload::new(row.clone(), None, now);
    app.store.add_upload(&row, &text(&answer)?).await?;
    Ok((StatusCode::CREATED, Json(answer)))
}
