//! `POST /v1/verifiers/{id}/test` and `POST /v1/verifiers/test`

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::judge::{Asked, Sample, judge};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::resolve::runnable;
use crate::job::{FieldError, VerifierId};
use crate::store::StoreError;
use crate::verifier::{Config, Part, Score};

/// Completions to judge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestVerifier {
    /// Up to 100.
    #[schema(min_items = 1, max_items = 100)]
    completions: Vec<TestCompletion>,
}

/// A configuration and completions to judge with it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TryVerifier {
    /// `{"type": "numeric", ...}`, as it would stand in a job spec.
    #[schema(value_type = Object)]
    config: Value,
    /// Up to 100.
    #[schema(min_items = 1, max_items = 100)]
    completions: Vec<TestCompletion>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TestCompletion {
    completion: String,
    /// The row that it answers; the expected answer is its column `answer`.
    #[serde(default)]
    #[schema(value_type = Object)]
    row: Map<String, Value>,
}

/// The verdicts in the order of the completions.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifierTest {
    /// Always `verifier.test`.
    object: &'static str,
    /// Null where it is not stored.
    verifier: Option<String>,
    data: Vec<TestVerdict>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TestVerdict {
    /// Null where there is none.
    pub reward: Option<f64>,
    /// `ok`, `unparsable` (nothing to judge; the reward counts), `error` or `timeout`.
    status: &'static str,
    /// What was compared.
    answer: Option<String>,
    /// The reason in a sentence; always there when there is no ordinary verdict.
    detail: Option<String>,
    /// The verdicts that this one is made of, such as those of the members of a `multi` verifier; empty for others.
    members: Vec<MemberVerdict>,
}

/// What a member of a verifier says.
#[derive(Debug, Serialize, ToSchema)]
struct MemberVerdict {
    name: String,
    /// Null where there is none.
    reward: Option<f64>,
    /// As that of the whole.
    status: &'static str,
    answer: Option<String>,
    detail: Option<String>,
}

impl From<Score> for TestVerdict {
    fn from(score: Score) -> Self {
        let reward = |score: &Score| score.is_scored().then_some(score.reward);
        let member = |Part { name, score }: Part| MemberVerdict {
            name,
            reward: reward(&score),
            status: score.status.as_str(),
            answer: score.answer,
            detail: score.detail,
        };
        Self {
            reward: reward(&score),
            status: score.status.as_str(),
            answer: score.answer,
            detail: score.detail,
            members: score.parts.into_iter().map(member).collect(),
        }
    }
}

/// Try a verifier on completions
#[utoipa::path(
    post,
    path = "/v1/verifiers/{id}/test",
    tag = "verifiers",
    params(("id" = String, Path, description = "The verifier")),
    request_body = TestVerifier,
    responses(
        (status = 200, body = VerifierTest),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such verifier", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The body is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn test_verifier(
    Access(app): Access,
    Id(id): Id<VerifierId>,
    JsonBody(body): JsonBody,
) -> Result<Json<VerifierTest>, Problem> {
    let request: TestVerifier = read(&body)?;
    let stored = Config::parse(&app.store.verifier(id).await?.config, "");
    let config = stored.map_err(|errors| {
        let detail = errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; ");
        Problem::from(StoreError::Corrupt { what: "verifier", detail })
    })?;
    answer(&app, Some(id), &config, request.completions).await
}

/// Try a verifier that is not stored
///
/// To find the right settings before anything is made.
#[utoipa::path(
    post,
    path = "/v1/verifiers/test",
    tag = "verifiers",
    request_body = TryVerifier,
    responses(
        (status = 200, body = VerifierTest),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The configuration or the body is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn try_verifier(Access(app): Access, JsonBody(body): JsonBody) -> Result<Json<VerifierTest>, Problem> {
    let request: TryVerifier = read(&body)?;
    let config = runnable(&app, &request.config, "/config")?.map_err(Problem::invalid)?;
    answer(&app, None, &config, request.completions).await
}

async fn answer(
    app: &App,
    verifier: Option<VerifierId>,
    config: &Config,
    completions: Vec<TestCompletion>,
) -> Result<Json<VerifierTest>, Problem> {
    let sample = |c: TestCompletion| Sample { asked: Asked::by(c.row), completions: vec![c.completion] };
    let samples = completions.into_iter().map(sample).collect();
    let data = judge(app, config, samples).await?.into_iter().map(TestVerdict::from).collect();
    Ok(Json(VerifierTest { object: "verifier.test", verifier: verifier.map(|id| id.to_string()), data }))
}
