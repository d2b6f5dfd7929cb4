//! `PATCH /v1/sweeps/{id}`

use axum::Json;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Sweep;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::{FieldError, SweepId, SweepStatus};

/// What to change; what is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSweep {
    /// With true no more trials begin, and those under way go on; with false they begin again.
    paused: Option<bool>,
    /// How many of its jobs are queued or on a device at once, at most. With less than there are none is stopped.
    #[schema(minimum = 1, maximum = 1000)]
    at_once: Option<u32>,
}

/// Pause, resume or widen a sweep
#[utoipa::path(
    patch,
    path = "/v1/sweeps/{id}",
    tag = "sweeps",
    params(("id" = String, Path, description = "The sweep")),
    request_body = UpdateSweep,
    responses(
        (status = 200, body = Sweep),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such sweep", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The sweep is over (`sweep_over`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn update_sweep(
    Access(app): Access,
    Id(id): Id<SweepId>,
    JsonBody(body): JsonBody,
) -> Result<Json<Sweep>, Problem> {
    let UpdateSweep { paused, at_once } = read(&body)?;
    if at_once.is_some_and(|at_once| !(1..=1000).contains(&at_once)) {
        return Err(Problem::invalid(vec![FieldError::new("/at_once", "out_of_range", "is 1 to 1000")]));
    }
    let status = paused.map(|paused| if paused { SweepStatus::Paused } else { SweepStatus::Running });
    let row = app.store.change_sweep(id, status, at_once, clock::now()).await?;
    Ok(Json(Sweep::of(row, Some(app.store.trials(id).await?))))
}
