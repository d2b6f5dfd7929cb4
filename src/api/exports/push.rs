//! `POST /v1/exports/{id}/push`

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Export, ready};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::hub::{HubRef, MAIN, PushTargets};
use crate::job::{ExportId, FieldError};

/// Where an export is to be pushed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushExport {
    /// `hf:owner/name`, with `@branch` where it is not `main`. The repository and the branch are made if they are not
    /// there.
    #[schema(example = "hf:acme/arith")]
    to: String,
    /// Make a repository that is not there private, and refuse one that is public.
    #[serde(default = "yes")]
    #[schema(default = true)]
    private: bool,
}

fn yes() -> bool {
    true
}

/// Push an export to the hub
///
/// Brings the files of a ready export, with its model card, its manifest and what the server has signed, to a repository
/// of the hub, as one commit. The server does so with its own token, where the operator lets it (`hub_push_to`). `push` of
/// the export tells how far it is and how it ended. What the hub has of the files is not sent again, and other files of
/// the repository stay.
#[utoipa::path(
    post,
    path = "/v1/exports/{id}/push",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The export")),
    request_body = PushExport,
    responses(
        (status = 202, description = "It is being pushed", body = Export),
        (status = 403, description = "The operator does not let pushes go there (`push_disabled`, `push_not_allowed`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such export", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The export is not ready, or is being pushed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "`to` is no repository of the hub", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn push_export(
    Access(app): Access,
    Id(id): Id<ExportId>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Export>), Problem> {
    let PushExport { to, private } = read(&body)?;
    let to = destination(&to).map_err(|error| Problem::invalid(vec![error]))?;
    admit(&app.settings.push_to, &to)?;
    let artifact = ready(app.store.export(id).await?)?;
    app.store.add_push(id, &to.to_string(), private, artifact.manifest.bytes(), clock::now()).await?;
    Ok((StatusCode::ACCEPTED, Json(app.store.export(id).await?.into())))
}

/// A repository and its branch.
fn destination(text: &str) -> Result<HubRef, FieldError> {
    let wrong = |detail: String| FieldError::new("/to", "invalid_value", detail);
    let to: HubRef = text.parse().map_err(|_| {
        let text: String = text.chars().take(120).collect();
        wrong(format!("`{text}` is no repository of the hub; write hf:owner/name or hf:owner/name@branch"))
    })?;
    if !to.repository.contains('/') || to.file.is_some() {
        return Err(wrong(format!("`{to}` is no repository of the hub; write hf:owner/name or hf:owner/name@branch")));
    }
    if to.commit().is_some() {
        return Err(wrong(String::from("a commit never changes; name a branch, or none")));
    }
    let revision = to.revision.clone().unwrap_or_else(|| MAIN.to_owned());
    Ok(HubRef { revision: Some(revision), ..to })
}

fn admit(targets: &PushTargets, to: &HubRef) -> Result<(), Problem> {
    if targets.is_empty() {
        let detail = "this server pushes nothing to the hub; the operator names owners or repositories in hub_push_to \
                      (--hub-push-to, ANNEAL_HUB_PUSH_TO), then starts it again";
        return Err(Problem::new(StatusCode::FORBIDDEN, "push_disabled", detail));
    }
    if !targets.admit(&to.repository) {
        let detail = format!("this server does not push to {}; hub_push_to admits {targets}", to.repository);
        return Err(Problem::new(StatusCode::FORBIDDEN, "push_not_allowed", detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_branch_of_a_repository() {
        let said = |text: &str| destination(text).map(|to| to.to_string()).map_err(|error| (error.pointer, error.code));
        assert_eq!(said("hf:acme/arith"), Ok(String::from("hf:acme/arith@main")));
        assert_eq!(said("hf:acme/arith@v1/next"), Ok(String::from("hf:acme/arith@v1/next")));
        let commit = format!("hf:acme/arith@{}", "0".repeat(40));
        for wrong in ["acme/arith", "hf:arith", "hf:acme/arith/x.gguf", "hf:acme/../x", "hf:acme/arith@", "", &commit] {
            let (pointer, code) = said(wrong).unwrap_err();
            assert_eq!((pointer.as_str(), code), ("/to", "invalid_value"), "{wrong}");
        }
    }
}
