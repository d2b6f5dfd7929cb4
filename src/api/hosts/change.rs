//! `POST /v1/hosts/{name}/cordon`, `/uncordon` and `/drain`

use axum::Json;

use super::{Host, hosts};
use crate::api::App;
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::PathText;
use crate::clock;
use crate::store::{Availability, StoreError};

/// Give a machine no new jobs
///
/// Those that it runs go on to their end.
#[utoipa::path(
    post,
    path = "/v1/hosts/{name}/cordon",
    tag = "devices",
    params(("name" = String, Path, description = "The machine")),
    responses(
        (status = 200, body = Host),
        (status = 404, description = "No such machine", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn cordon_host(
    Administered(app): Administered,
    PathText(name): PathText<String>,
) -> Result<Json<Host>, Problem> {
    change(&app, &name, Availability::Cordoned).await
}

/// Give a machine jobs again
#[utoipa::path(
    post,
    path = "/v1/hosts/{name}/uncordon",
    tag = "devices",
    params(("name" = String, Path, description = "The machine")),
    responses(
        (status = 200, body = Host),
        (status = 404, description = "No such machine", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn uncordon_host(
    Administered(app): Administered,
    PathText(name): PathText<String>,
) -> Result<Json<Host>, Problem> {
    change(&app, &name, Availability::Ready).await
}

/// Empty a machine
///
/// It takes no new jobs, and those that it runs are saved and go back to the queue; nothing of them is lost. `status` is
/// `drained` when it has none any more.
#[utoipa::path(
    post,
    path = "/v1/hosts/{name}/drain",
    tag = "devices",
    params(("name" = String, Path, description = "The machine")),
    responses(
        (status = 200, body = Host),
        (status = 404, description = "No such machine", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn drain_host(
    Administered(app): Administered,
    PathText(name): PathText<String>,
) -> Result<Json<Host>, Problem> {
    change(&app, &name, Availability::Drained).await
}

async fn change(app: &App, name: &str, to: Availability) -> Result<Json<Host>, Problem> {
    app.store.set_availability(name, to, clock::now()).await?;
    let found = hosts(app).await?.into_iter().find(|host| host.id == name);
    Ok(Json(found.ok_or_else(|| StoreError::NotFound { what: "host", id: name.to_owned() })?))
}
