//! `GET /v1/files/{id}`

use axum::Json;

use super::FileObject;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::FileId;

/// Get a file's description
#[utoipa::path(
    get,
    path = "/v1/files/{id}",
    tag = "files",
    params(("id" = String, Path, description = "The file")),
    responses(
        (status = 200, body = FileObject),
        (status = 404, description = "No such file", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_file(Access(app): Access, Id(id): Id<FileId>) -> Result<Json<FileObject>, Problem> {
    Ok(Json(app.store.file(id).await?.into()))
}
