//! `GET /v1/models`

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Model;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, Order, PageParams, Params};
use crate::modelfile::builtin::BUILTINS;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListModels {
    /// Items to return, 1 to 100; as OpenAI clients never ask for a second page, all 100 by default.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: u32,
    /// Start behind the model with this id.
    after: Option<String>,
    /// `desc`: imported models, finished ones and built-ins, each newest first; `asc`: the other way round.
    #[serde(default)]
    order: Order,
}

fn default_limit() -> u32 {
    100
}

/// List models
///
/// All that jobs can start from: imported models, finished models of jobs, and the built-in ones.
#[utoipa::path(
    get,
    path = "/v1/models",
    tag = "models",
    params(ListModels),
    responses(
        (status = 200, body = List<Model>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_models(
    Access(app): Access,
    Params(ListModels { limit, after, order }): Params<ListModels>,
) -> Result<Json<List<Model>>, Problem> {
    let models = models(&app, &PageParams { limit, after, order }).await?;
    Ok(Json(List::new(models, limit, |model| model.id.clone())))
}

/// The three kinds have ids with different beginnings, so that a page of each, merged by id, is a page of all.
async fn models(app: &App, params: &PageParams) -> Result<Vec<Model>, Problem> {
    let page = params.page();
    let newest_first = params.order == Order::Desc;
    let behind = |id: &str| match params.after.as_deref() {
        None => true,
        Some(after) => (id < after) == newest_first && id != after,
    };
    let mut models: Vec<Model> = BUILTINS.iter().filter(|model| behind(model.name)).map(Model::from).collect();
    models.extend(app.store.models(&page).await?.into_iter().map(Model::from));
    for id in app.store.finished_models(None, &page).await? {
        models.push(app.store.checkpoint(id).await?.into());
    }
    models.sort_by(|a, b| if newest_first { b.id.cmp(&a.id) } else { a.id.cmp(&b.id) });
    models.truncate(page.limit as usize);
    Ok(models)
}
