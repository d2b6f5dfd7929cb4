//! `POST /v1/uploads/{id}/direct-parts`

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::part::UploadPart;
use super::{expiry, text};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::{FieldError, PartId, UploadId};
use crate::store::{Location, PartRow};

/// The largest part in bytes; object storages take no object above 5 GiB at once.
const MAX_BYTES: u64 = 4 << 30;
/// How long an address is good.
const LASTS: Duration = Duration::from_secs(3600);

/// The part that is going to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDirectPart {
    /// Of the part.
    #[schema(minimum = 1, maximum = 4_294_967_296_u64)]
    bytes: u64,
}

/// A part of an upload, and where it is to be sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct DirectPart {
    #[serde(flatten)]
    part: UploadPart,
    /// Whoever has it can send this part. Send it with `PUT`, a `Content-Length` and no other key.
    #[schema(
        example = "https://s3.example.org/bucket/parts/part_0198f6c2a7d47e0c8f6f0d9f0e6b5a31?X-Amz-Signature=..."
    )]
    url: String,
    /// When the address is good no more, in Unix seconds.
    expires_at: i64,
}

/// Send a part straight to the bucket
///
/// Answers with an address of the object storage to which the part is sent with `PUT`, past this server, as often as it takes;
/// that it has arrived as announced is checked when the upload is completed. Only where files are in a bucket that clients
/// reach (`--artifacts`, `--redirect-downloads`); elsewhere parts are sent to the server (`/v1/uploads/{id}/parts`).
#[utoipa::path(
    post,
    path = "/v1/uploads/{id}/direct-parts",
    tag = "files",
    params(("id" = String, Path, description = "The upload")),
    request_body = CreateDirectPart,
    responses(
        (status = 201, body = DirectPart),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such upload", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The upload takes no more parts, or there is no bucket that clients reach", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The part is larger than the file, or than 4 GiB", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_direct_part(
    Access(app): Access,
    Id(id): Id<UploadId>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<DirectPart>), Problem> {
    let bytes = read::<CreateDirectPart>(&body)?.bytes;
    let upload = app.store.upload(id).await?;
    let now = clock::now();
    upload.require_pending(now)?;
    let most = MAX_BYTES.min(upload.bytes);
    if bytes == 0 || bytes > most {
        let detail = format!("must be between 1 and {most}, the bytes of the file or 4 GiB");
        return Err(Problem::invalid(vec![FieldError::new("/bytes", "out_of_range", detail)]));
    }
    let part = PartRow { id: PartId::generate(), upload: id, bytes, created_at: now };
    let Some(url) = app.store.place().signed_target(&Location::part(part.id), LASTS).await? else {
        let detail = "files of this server are not where clients can send them; send the part to its server, \
                      POST /v1/uploads/{id}/parts";
        return Err(Problem::new(StatusCode::CONFLICT, "no_direct_uploads", detail));
    };
    // Kept until the row counts it.
    let _room = app.store.storage_room(bytes).await?;
    let expires_at = now.plus_seconds(LASTS.as_secs()).unix_seconds();
    let answer = DirectPart { part: UploadPart::new(&part), url, expires_at };
    app.store.add_part(&part, expiry(upload.created_at, now), &text(&answer)?).await?;
    Ok((StatusCode::CREATED, Json(answer)))
}
