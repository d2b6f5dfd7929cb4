//! `GET /v1/models`

use axum::Json;

use super::Model;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};
use crate::modelfile::builtin::BUILTINS;

/// List models
///
/// Imported models; the last page ends with the built-in ones.
#[utoipa::path(
    get,
    path = "/v1/models",
    tag = "models",
    params(PageParams),
    responses(
        (status = 200, body = List<Model>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_models(Access(app): Access, Params(page): Params<PageParams>) -> Result<Json<List<Model>>, Problem> {
    let rows = app.store.models(&page.page()?).await?;
    let builtins = BUILTINS.iter().filter(|_| rows.len() <= page.limit as usize).map(Model::from).collect::<Vec<_>>();
    let limit = page.limit + builtins.len() as u32;
    Ok(Json(List::new(rows.into_iter().map(Model::from).chain(builtins), limit, |m| m.id.clone())))
}
