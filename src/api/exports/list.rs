//! `GET /v1/exports`

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Export;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, Order, PageParams, Params, word};
use crate::job::CheckpointId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListExports {
    /// Items to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
    /// Start behind the export with this id.
    after: Option<String>,
    /// `desc` (newest first) or `asc`.
    #[serde(default)]
    order: Order,
    /// Only those of this checkpoint.
    checkpoint: Option<String>,
}

fn default_limit() -> u32 {
    20
}

/// List exports
#[utoipa::path(
    get,
    path = "/v1/exports",
    tag = "checkpoints",
    params(ListExports),
    responses(
        (status = 200, body = List<Export>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_exports(
    Access(app): Access,
    Params(ListExports { limit, after, order, checkpoint }): Params<ListExports>,
) -> Result<Json<List<Export>>, Problem> {
    let checkpoint: Option<CheckpointId> = word("checkpoint", checkpoint)?;
    let page = PageParams { limit, after, order };
    let rows = app.store.exports(checkpoint, &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Export::from), limit, |export| export.id.clone())))
}
