//! `POST /v1/uploads/{id}/parts`

use axum::Json;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::{MAX_PART_BYTES, expiry, text};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::api::openai::receive::{ExpectedForm, Form, receive};
use crate::clock;
use crate::job::{PartId, UploadId};
use crate::store::{Location, PartRow};

/// The form of a part.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form, which is read as a stream")]
pub struct CreatePart {
    /// Up to 64 MiB.
    #[schema(value_type = String, format = Binary)]
    data: Vec<u8>,
}

/// A part of an upload.
#[derive(Debug, Serialize, ToSchema)]
pub struct UploadPart {
    #[schema(example = "part_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `upload.part`.
    object: &'static str,
    /// Unix seconds.
    created_at: i64,
    upload_id: String,
}

impl UploadPart {
    pub fn new(part: &PartRow) -> Self {
        let (id, upload_id) = (part.id.to_string(), part.upload.to_string());
        Self { id, object: "upload.part", created_at: part.created_at.unix_seconds(), upload_id }
    }
}

/// Send a part
///
/// Parts may be sent at the same time; their order is given when the upload is completed. A part that arrived is on
/// disk and survives a restart of the server.
#[utoipa::path(
    post,
    path = "/v1/uploads/{id}/parts",
    tag = "files",
    params(("id" = String, Path, description = "The upload")),
    request_body(content = CreatePart, content_type = "multipart/form-data"),
    responses(
        (status = 201, body = UploadPart),
        (status = 400, description = "Not a form, or cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such upload", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The upload takes no more parts", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is missing or unknown", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_upload_part(
    Access(app): Access,
    Id(id): Id<UploadId>,
    form: Form,
) -> Result<(StatusCode, Json<UploadPart>), Problem> {
    let upload = app.store.upload(id).await?;
    let expected = ExpectedForm { file: "data", texts: &[], limit: upload.bytes.min(MAX_PART_BYTES) };
    let received = receive(form, &app.store, &expected).await?;
    let now = clock::now();
    upload.require_pending(now)?;
    let part = PartRow { id: PartId::generate(), upload: id, bytes: received.bytes, created_at: now };
    let location = Location::part(part.id);
    received.file.publish(&location).await?;
    let answer = UploadPart::new(&part);
    if let Err(error) = app.store.add_part(&part, expiry(upload.created_at, now), &text(&answer)?).await {
        app.store.place().remove(&location).await;
        return Err(error.into());
    }
    Ok((StatusCode::CREATED, Json(answer)))
}
