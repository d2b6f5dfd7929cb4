//! `POST /v1/verifiers`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Verifier;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::resolve::runnable;
use crate::clock;
use crate::job::metadata::check_metadata;
use crate::job::{VerifierId, digest};
use crate::store::VerifierRow;

/// A verifier to store.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateVerifier {
    /// A name for people.
    #[schema(max_length = 200)]
    name: Option<String>,
    /// `{"type": "numeric", ...}`, as it would stand in a job spec.
    #[schema(value_type = Object)]
    config: Value,
    /// Up to 16 pairs of your own.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// Store a verifier
#[utoipa::path(
    post,
    path = "/v1/verifiers",
    tag = "verifiers",
    request_body = CreateVerifier,
    responses(
        (status = 201, body = Verifier),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The configuration is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_verifier(
    Access(app): Access,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Verifier>), Problem> {
    let request: CreateVerifier = read(&body)?;
    check_metadata(&request.metadata).map_err(Problem::invalid)?;
    let config = runnable(&app, &request.config, "/config")?.map_err(Problem::invalid)?.resolved();
    let row = VerifierRow {
        id: VerifierId::generate(),
        name: request.name,
        digest: digest::of_json(&config),
        config,
        metadata: request.metadata,
        created_at: clock::now(),
    };
    app.store.add_verifier(&row).await?;
    Ok((StatusCode::CREATED, Json(row.into())))
}
