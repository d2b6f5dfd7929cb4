//! `GET /v1/launches/{id}`

use axum::Json;

use super::{Launch, seen};
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::LaunchId;
use crate::store::StoreError;

/// Get a launch
#[utoipa::path(
    get,
    path = "/v1/launches/{id}",
    tag = "devices",
    params(("id" = String, Path, description = "The launch's id")),
    responses(
        (status = 200, body = Launch),
        (status = 404, description = "No such launch", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_launch(Administered(app): Administered, Id(id): Id<LaunchId>) -> Result<Json<Launch>, Problem> {
    let launches = seen(&app, vec![app.store.launch(id).await?]).await?;
    launches
        .into_iter()
        .next()
        .map(Json)
        .ok_or_else(|| StoreError::NotFound { what: "launch", id: id.to_string() }.into())
}
