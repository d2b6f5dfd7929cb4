//! `POST /v1/agent/leases/{job}/{attempt}/artifacts`

use axum::Json;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{location, own_lease, wrong};
use crate::api::access::Agent;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Segments, read};
use crate::clock;
use crate::job::agent::{ArtifactReport, NewArtifactReport};
use crate::job::{ArtifactKind, ArtifactSummary, JobId, Manifest};
use crate::store::{Keep, Location, NewArtifact};

/// Make an artifact visible
///
/// All its files must have been sent, with the manifest as `manifest.json`; each is looked for, and must have the size that
/// the manifest says. The same again changes nothing.
#[utoipa::path(
    post,
    path = "/v1/agent/leases/{job}/{attempt}/artifacts",
    tag = "agents",
    params(
        ("job" = String, Path, description = "The job"),
        ("attempt" = u32, Path, description = "The attempt"),
    ),
    request_body = NewArtifactReport,
    responses(
        (status = 200, body = ArtifactReport),
        (status = 409, description = "The job is somebody else's (`lease_lost`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, or a file is not there", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn add_artifact(
    Agent(app): Agent,
    Segments(job, attempt): Segments<JobId, u32>,
    JsonBody(body): JsonBody,
) -> Result<Json<ArtifactReport>, Problem> {
    let report: NewArtifactReport = read(&body)?;
    let lease = own_lease(&app, job, attempt).await?;
    let manifest: Manifest = member("/manifest", report.manifest)?;
    if manifest.job != job || manifest.attempt != attempt {
        return Err(wrong("/manifest", "is of another job or another attempt"));
    }
    let summary = match (manifest.kind, report.summary) {
        (ArtifactKind::Training | ArtifactKind::Inference, None) => ArtifactSummary::Checkpoint,
        (ArtifactKind::Rollouts, Some(summary)) => ArtifactSummary::Rollouts(member("/summary", summary)?),
        (ArtifactKind::Evaluation, Some(summary)) => ArtifactSummary::Evaluation(member("/summary", summary)?),
        (kind, _) => return Err(wrong("/summary", format!("does not belong to an artifact of the kind `{kind}`"))),
    };
    let folder = Location::job(job).within(&report.folder);
    location(folder.name())?;
    for file in &manifest.files {
        location(folder.within(&file.path).name())?;
        let size = app.store.place().size(&folder.within(&file.path).into()).await;
        if size.ok() != Some(file.size) {
            let detail = format!("`{}` is not there, or not with {} bytes; send it first", file.path, file.size);
            return Err(wrong("/manifest/files", detail));
        }
    }
    let keep = Keep { last: report.keep_last, best: report.keep_best };
    let new = NewArtifact { location: &folder, manifest: &manifest, summary: &summary, score: report.score, keep };
    let added = app.store.add_artifact(lease, new, clock::now()).await?;
    for old in &added.dropped {
        app.store.place().remove(old).await;
    }
    let dropped = added.dropped.iter().map(|old| old.name().to_owned()).collect();
    Ok(Json(ArtifactReport { id: added.id.to_string(), dropped }))
}

fn member<T: DeserializeOwned>(pointer: &str, value: Value) -> Result<T, Problem> {
    serde_json::from_value(value).map_err(|error| wrong(pointer, error))
}
