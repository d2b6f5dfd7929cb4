//! `POST /v1/uploads/{id}/cancel`

use axum::Json;

use super::Upload;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::UploadId;

/// Cancel an upload
#[utoipa::path(
    post,
    path = "/v1/uploads/{id}/cancel",
    tag = "files",
    params(("id" = String, Path, description = "The upload")),
    responses(
        (status = 200, body = Upload),
        (status = 404, description = "No such upload", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The upload has ended already", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn cancel_upload(Access(app): Access, Id(id): Id<UploadId>) -> Result<Json<Upload>, Problem> {
    let now = clock::now();
    app.store.cancel_upload(id, now).await?;
    Ok(Json(Upload::new(app.store.upload(id).await?, None, now)))
}
