//! `GET /v1/hosts`

use axum::Json;

use super::{Host, hosts};
use crate::api::access::Administered;
use crate::api::error::Problem;
use crate::api::extract::List;

/// List machines
///
/// Those with a server and those of agents, by name.
#[utoipa::path(get, path = "/v1/hosts", tag = "devices", responses((status = 200, body = List<Host>)))]
pub async fn list_hosts(Administered(app): Administered) -> Result<Json<List<Host>>, Problem> {
    Ok(Json(List::new(hosts(&app).await?, u32::MAX, |host| host.id.clone())))
}
