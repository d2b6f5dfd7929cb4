//! `POST /v1/fine_tuning/jobs/{id}/cancel`

use axum::Json;

use super::{FineTuningJob, training_job, view};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::JobId;

/// Cancel a fine-tuning job
///
/// A running job stays `running` until its worker has let go of it, which takes a moment.
#[utoipa::path(
    post,
    path = "/v1/fine_tuning/jobs/{id}/cancel",
    tag = "fine-tuning",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = FineTuningJob),
        (status = 404, description = "No such job, or one that does not train", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job is finished", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn cancel_fine_tuning_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<FineTuningJob>, Problem> {
    training_job(&app, id).await?;
    let row = app.store.cancel_job(id, clock::now()).await?;
    Ok(Json(view(&app, row).await?))
}
