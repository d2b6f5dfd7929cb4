//! `POST /v1/api-keys`

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{ApiKey, given};
use crate::api::access::{Administered, Caller};
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
    /// `read`, `write`, `admin`, `operator`, `code`, `agent`; `read` and `write` when absent, as far as you have
    /// them. The first key with `admin` is also the `operator`'s.
    #[schema(min_items = 1, max_items = 6)]
    scopes: Option<Vec<String>>,
    /// Days until it ends, 1 to 3650; it does not expire when absent.
    #[schema(minimum = 1, maximum = 3650)]
    expires_in_days: Option<u32>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl CreateApiKey {
    /// The key to make, by somebody who has access to `own`, and gives no more than the key `given` where there is one.
    fn check(self, own: &str, given: Option<&ApiKeyRow>) -> Result<NewApiKey, Vec<FieldError>> {
        let lacks = |scope: &Scope| given.is_some_and(|given| !given.scopes.contains(scope));
        let mut errors = Vec::new();
        let project = self.project.unwrap_or_else(|| own.to_owned());
        if given.is_some() && project != own {
            let detail = format!("your key administers the project `{own}`; keys of others are made by the operator");
            errors.push(FieldError::new("/project", "not_allowed", detail));
        }
        errors.extend(check_project(&project, "/project").err());
        errors.extend(check_metadata(&self.metadata).err().unwrap_or_default());
        let mut scopes: Vec<Scope> = Vec::new();
        if self.scopes.is_none() {
            scopes.extend([Scope::Read, Scope::Write].iter().filter(|scope| !lacks(scope)));
        }
        for (i, text) in self.scopes.iter().flatten().enumerate() {
            match text.parse() {
                Ok(scope) if lacks(&scope) => {
                    let detail = format!("your key lacks the scope `{scope}`, and can give no more than it has");
                    errors.push(FieldError::new(format!("/scopes/{i}"), "not_allowed", detail));
                }
                Ok(scope) if scopes.contains(&scope) => {}
                Ok(scope) => scopes.push(scope),
                Err(_) => {
                    let detail = "scopes are `read`, `write`, `admin`, `operator`, `code` and `agent`";
                    errors.push(FieldError::new(format!("/scopes/{i}"), "unknown_value", detail));
                }
            }
        }
        if scopes.is_empty() && errors.is_empty() {
            let detail = "your key has neither `read` nor `write`; name scopes that it has";
            errors.push(FieldError::new("/scopes", "not_allowed", detail));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let asked = self.expires_in_days.map(|days| clock::now().plus_seconds(u64::from(days) * 24 * 3600));
        // None lasts for ever, and what is made does not outlast what made it.
        let expires_at = [asked, given.and_then(|given| given.expires_at)].into_iter().flatten().min();
        Ok(NewApiKey { project, name: self.name, scopes, metadata: self.metadata, expires_at })
    }
}

/// Make an API key
///
/// The answer holds the secret in `key`; it is stored as a digest and cannot be shown again. Once there is a key, every
/// request needs one. Operators make keys of any project with any scopes; others make keys of their own project, with
/// scopes that they have themselves, and none that outlasts their own.
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
    Administered(app): Administered,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<ApiKey>), Problem> {
    let new: CreateApiKey = read(&body)?;
    let given = given(&app, &caller).await?;
    let new = new.check(&caller.project, given.as_ref()).map_err(Problem::invalid)?;
    let (row, secret) = ApiKeyRow::generate(new, clock::now())?;
    let row = app.store.add_api_key(row, caller.operates).await?;
    app.anonymous.forbid();
    Ok((StatusCode::CREATED, Json(ApiKey { key: Some(secret), ..row.into() })))
}
