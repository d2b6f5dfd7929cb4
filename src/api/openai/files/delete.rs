//! `DELETE /v1/files/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::FileId;

/// Delete a file
///
/// Jobs that were made with it keep their rows, which are a data set of their own.
#[utoipa::path(
    delete,
    path = "/v1/files/{id}",
    tag = "files",
    params(("id" = String, Path, description = "The file")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such file", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_file(Access(app): Access, Id(id): Id<FileId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_file(id).await?;
    Ok(Json(Deleted::new(id, "file")))
}
