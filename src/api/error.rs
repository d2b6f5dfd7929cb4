//! Errors as clients see them: RFC 9457 problem details with an OpenAI-style `error` object beside them. What
//! a failure further in means for a client is decided here.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::dataset::DatasetError;
use crate::job::FieldError;
use crate::modelfile::ModelFileError;
use crate::store::{Damaged, StoreError};

/// An error on its way to a client; [`finish`] adds what it needs to know of the request.
#[derive(Clone, Debug)]
pub struct Problem {
    pub status: StatusCode,
    /// Stable, machine-readable reason.
    pub code: &'static str,
    /// What happened and what to do.
    pub detail: String,
    pub errors: Vec<FieldError>,
    /// Seconds after which the same may go well, where somebody else says how many.
    pub retry_seconds: Option<u64>,
}

/// The body of an error.
#[derive(Serialize, ToSchema)]
pub struct ProblemBody {
    /// A URI reference for the kind of problem.
    r#type: String,
    title: String,
    status: u16,
    /// What happened and what to do about it.
    detail: String,
    /// The path of the request.
    instance: String,
    /// Stable, machine-readable reason.
    code: String,
    request_id: String,
    /// The fields at fault.
    errors: Vec<FieldProblem>,
    /// The same in the form that OpenAI clients read.
    error: OpenAiError,
}

/// What is wrong with one field.
#[derive(Serialize, ToSchema)]
struct FieldProblem {
    /// JSON pointer (RFC 6901) into the request body.
    pointer: String,
    code: String,
    detail: String,
}

#[derive(Serialize, ToSchema)]
struct OpenAiError {
    message: String,
    r#type: String,
    param: Option<String>,
    code: String,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), errors: Vec::new(), retry_seconds: None }
    }

    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// A body whose fields are at fault.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let detail = match errors.as_slice() {
            [one] if one.pointer.is_empty() => one.detail.clone(),
            [one] => one.to_string(),
            many => format!("{} fields are invalid; see `errors`", many.len()),
        };
        Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_spec", detail) }
    }

    /// The same problem under a more telling code.
    pub fn with_code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    fn internal(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        tracing::error!(error = text, "request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong on the server; its log has the details under this request id",
        )
    }

    /// A stored file does not hold what was stored.
    fn damaged(error: &std::io::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "data_damaged", error.to_string())
    }

    /// Pages of the database are not what was written.
    pub fn database_damaged() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "database_damaged",
            "pages of the database are damaged; run `anneal doctor`, and restore a backup",
        )
    }

    fn storage_full() -> Self {
        Self::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "storage_full",
            "the server's disk is full; nothing was stored, try again when there is space",
        )
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl Problem {
    fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string()),
            StoreError::Conflict(detail) => Self::new(StatusCode::CONFLICT, "conflict", detail.clone()),
            StoreError::Refused { code, detail } => Self::new(StatusCode::CONFLICT, code, detail.clone()),
            StoreError::KeyReused => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", error.to_string())
            }
            StoreError::Full(_) => Self::storage_full(),
            StoreError::Shared(error) => Self::of_store(error),
            StoreError::QuotaExceeded(detail) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", detail.clone())
            }
            StoreError::Overloaded => Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", error.to_string()),
            StoreError::Unreachable(cause) => {
                tracing::warn!(%cause, "the database cannot be reached");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", error.to_string())
            }
            StoreError::Storage { source, .. } => {
                tracing::warn!(%source, "object storage cannot be used");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable", error.to_string())
            }
            StoreError::Nul => Self::bad_request("nul_character", error.to_string()),
            StoreError::Io { source, .. } if Damaged::is(source) => Self::damaged(source),
            StoreError::DatabaseDamaged(_) => {
                tracing::error!(%error, "request failed");
                Self::database_damaged()
            }
            StoreError::LeaseLost => Self::new(
                StatusCode::CONFLICT,
                "lease_lost",
                "the job is somebody else's by now, or is over; write nothing more of it",
            ),
            StoreError::ServerAway(_)
            | StoreError::Distrusted(_)
            | StoreError::Server { .. }
            | StoreError::OtherVersion(_)
            | StoreError::Database(_)
            | StoreError::Io { .. }
            | StoreError::Corrupt { .. } => Self::internal(error),
        }
    }
}

impl From<DatasetError> for Problem {
    fn from(error: DatasetError) -> Self {
        match &error {
            DatasetError::Io { .. } | DatasetError::IndexOutOfRange { .. } => Self::internal(&error),
            _ => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), error.to_string()),
        }
    }
}

impl From<ModelFileError> for Problem {
    fn from(error: ModelFileError) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), error.to_string())
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::storage_full(),
            _ if Damaged::is(&error) => Self::damaged(&error),
            _ if error.get_ref().is_some_and(|inner| inner.is::<StoreError>()) => {
                error.downcast::<StoreError>().map_or_else(|error| Self::internal(&error), Self::from)
            }
            _ => Self::internal(&error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// What clients wait where nobody knows how long.
const RETRY_SECONDS: u64 = 5;

/// Writes the body of every [`Problem`], with the request's path and id.
pub async fn finish(request: Request, next: Next) -> Response {
    let instance = request.uri().path().to_owned();
    let id = request.headers().get("x-request-id").and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Problem>().cloned() else {
        return response;
    };
    let body = body(&problem, instance, id);
    let mut finished = (problem.status, Json(body)).into_response();
    finished.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if let Some(retry) = should_retry(&problem) {
        finished.headers_mut().insert("x-should-retry", HeaderValue::from_static(retry));
    }
    for (name, value) in response.headers() {
        if !finished.headers().contains_key(name) {
            finished.headers_mut().insert(name, value.clone());
        }
    }
    if should_retry(&problem) == Some("true") {
        let seconds = HeaderValue::from(problem.retry_seconds.unwrap_or(RETRY_SECONDS));
        finished.headers_mut().entry(header::RETRY_AFTER).or_insert(seconds);
    }
    finished
}

/// What clients are told where the status alone would mislead them: OpenAI's repeat a 409 and a 429, which helps only
/// when time changes something.
fn should_retry(problem: &Problem) -> Option<&'static str> {
    match (problem.status, problem.code) {
        (StatusCode::CONFLICT, "request_in_progress") => Some("true"),
        (StatusCode::CONFLICT, _) | (_, "quota_exceeded" | "database_damaged") => Some("false"),
        (StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS, _) => Some("true"),
        _ => None,
    }
}

fn body(problem: &Problem, instance: String, request_id: String) -> ProblemBody {
    let kind = if problem.status.is_server_error() { "server_error" } else { "invalid_request_error" };
    ProblemBody {
        r#type: format!("/docs/errors#{}", problem.code),
        title: problem.status.canonical_reason().unwrap_or("Error").to_owned(),
        status: problem.status.as_u16(),
        detail: problem.detail.clone(),
        instance,
        code: problem.code.to_owned(),
        request_id,
        errors: problem
            .errors
            .iter()
            .map(|e| FieldProblem { pointer: e.pointer.clone(), code: e.code.to_owned(), detail: e.detail.clone() })
            .collect(),
        error: OpenAiError {
            message: problem.detail.clone(),
            r#type: kind.to_owned(),
            param: problem.errors.first().map(|e| e.pointer.trim_start_matches('/').replace('/', ".")),
            code: problem.code.to_owned(),
        },
    }
}
