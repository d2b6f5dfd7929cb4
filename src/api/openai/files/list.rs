//! `GET /v1/files`

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::FileObject;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListFiles {
    /// Only files with this purpose.
    purpose: Option<String>,
}

/// List files
#[utoipa::path(
    get,
    path = "/v1/files",
    tag = "files",
    params(PageParams, ListFiles),
    responses(
        (status = 200, body = List<FileObject>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_files(
    Access(app): Access,
    Params(page): Params<PageParams>,
    Params(filter): Params<ListFiles>,
) -> Result<Json<List<FileObject>>, Problem> {
    let rows = app.store.uploaded_files(filter.purpose.as_deref(), &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(FileObject::from), page.limit, |file| file.id.clone())))
}
