//! `DELETE /v1/datasets/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::DatasetId;

/// Delete a data set
///
/// Removes all its versions with their rows. Finished jobs keep their results and the ids of what they used.
#[utoipa::path(
    delete,
    path = "/v1/datasets/{id}",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such data set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "A job that is not finished, or a suite, uses it", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_dataset(Access(app): Access, Id(id): Id<DatasetId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_dataset(id).await?;
    Ok(Json(Deleted::new(id, "dataset.deleted")))
}
