//! `POST /v1/api-keys`

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ApiKey;
use crate::api::access::{Caller, Everything};
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::access::check_project;
use crate::job::metadata::check_metadata;
use crate::job::{FieldError, Scope};
use crate::store::{ApiKeyRow, NewApiKey};

/// A key to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKey {
    /// What people know it by, 1 to 200 characters.
    #[schema(example = "nightly retraining", min_length = 1, max_length = 200)]
    name: String,
    /// What it gives access to; made by being named. Your own when absent.
    #[schema(pattern = "^[a-z0-9-]{1,64}$")]
    project: Option<String>,
    /// `read`, `write`, `admin`, `code`; `read` and `write` when absent.
    #[serde(default = "default_scopes")]
    #[schema(value_type = Vec<String>, min_items = 1, max_items = 4)]
    scopes: Vec<String>,
    /// Days until it ends, 1 to 3650; it does not expire when absent.
    #[schema(minimum = 1, maximum = 3650)]
    expires_in_days: Option<u32>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

fn default_scopes() -> Vec<String> {
    [Scope::Read, Scope::Write].map(|scope| scope.to_string()).to_vec()
}

impl CreateApiKey {
    /// The key to make, by somebody who has access to `own`.
    fn check(self, own: &str) -> Result<NewApiKey, Vec<FieldError>> {
        let mut errors = Vec::new();
        let project = self.project.unwrap_or_else(|| own.to_owned());
        errors.extend(check_project(&project, "/project").err());
        errors.extend(check_metadata(&self.metadata).err().unwrap_or_default());
        let mut scopes: Vec<Scope> = Vec::new();
        for (i, text) in self.scopes.iter().enumerate() {
            match text.parse() {
                Ok(scope) if scopes.contains(&scope) => {}
                Ok(scope) => scopes.push(scope),
                Err(_) => {
                    let detail = "scopes are `read`, `write`, `admin` and `code`";
                    errors.push(FieldError::new(format!("/scopes/{i}"), "unknown_value", detail));
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let expires_at = self.expires_in_days.map(|days| clock::now().plus_seconds(u64::from(days) * 24 * 3600));
        Ok(NewApiKey { project, name: self.name, scopes, metadata: self.metadata, expires_at })
    }
}

/// Make an API key
///
/// The answer holds the secret in `key`; it is stored as a digest and cannot be shown again. Once there is a key, every
/// request needs one.
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    tag = "api-keys",
    request_body(content = CreateApiKey),
    responses(
        (status = 201, description = "Made", body = ApiKey),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_api_key(
    Everything(app): Everything,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<ApiKey>), Problem> {
    let new: CreateApiKey = read(&body)?;
    let (row, secret) = ApiKeyRow::generate(new.check(&caller.project).map_err(Problem::invalid)?, clock::now())?;
    app.store.add_api_key(&row).await?;
    app.anonymous.forbid();
    Ok((StatusCode::CREATED, Json(ApiKey { key: Some(secret), ..row.into() })))
}
