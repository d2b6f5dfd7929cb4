//! `GET /v1/verifiers`

use axum::Json;

use super::Verifier;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List stored verifiers
#[utoipa::path(
    get,
    path = "/v1/verifiers",
    tag = "verifiers",
    params(PageParams),
    responses(
        (status = 200, body = List<Verifier>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_verifiers(
    Access(app): Access,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Verifier>>, Problem> {
    let rows = app.store.verifiers(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Verifier::from), page.limit, |v| v.id.clone())))
}
