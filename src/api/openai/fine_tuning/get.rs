//! `GET /v1/fine_tuning/jobs/{id}`

use axum::Json;

use super::{FineTuningJob, training_job, view};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::JobId;

/// Get a fine-tuning job
#[utoipa::path(
    get,
    path = "/v1/fine_tuning/jobs/{id}",
    tag = "fine-tuning",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = FineTuningJob),
        (status = 404, description = "No such job, or one that does not train", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_fine_tuning_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<FineTuningJob>, Problem> {
    let row = training_job(&app, id).await?;
    Ok(Json(view(&app, row).await?))
}
