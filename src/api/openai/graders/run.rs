//! `POST /v1/fine_tuning/alpha/graders/run`

use std::collections::BTreeMap;
use std::time::Instant;

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::openai::grader;
use crate::api::verifiers::judge::{Asked, Sample, judge};
use crate::verifier::{Score, ScoreStatus};

/// A grader and what it shall judge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunGrader {
    #[schema(value_type = Object)]
    grader: Value,
    /// The completion, `{{ sample.output_text }}` of the grader's templates.
    model_sample: String,
    /// The row, `{{ item... }}` of the grader's templates.
    #[serde(default)]
    #[schema(value_type = Object)]
    item: Option<Map<String, Value>>,
}

/// What a grader says.
#[derive(Debug, Serialize, ToSchema)]
pub struct GraderRun {
    /// 0 where there is none; `metadata.errors` says so.
    reward: f64,
    metadata: GraderMetadata,
    /// The rewards of a multi grader's members.
    sub_rewards: BTreeMap<String, f64>,
    /// Always empty: no grader calls a model.
    #[schema(value_type = Object)]
    model_grader_token_usage_per_model: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct GraderMetadata {
    name: String,
    r#type: &'static str,
    errors: GraderErrors,
    /// Seconds.
    execution_time: f64,
    /// The rewards of a multi grader's members, or the grader's own under its name.
    scores: BTreeMap<String, f64>,
    token_usage: Option<u64>,
    sampled_model_name: Option<String>,
    /// One sentence when there is no ordinary verdict.
    detail: Option<String>,
}

/// Which kinds of failure there were.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct GraderErrors {
    formula_parse_error: bool,
    sample_parse_error: bool,
    truncated_observation_error: bool,
    unresponsive_reward_error: bool,
    invalid_variable_error: bool,
    other_error: bool,
    python_grader_server_error: bool,
    python_grader_server_error_type: Option<String>,
    python_grader_runtime_error: bool,
    python_grader_runtime_error_details: Option<String>,
    model_grader_server_error: bool,
    model_grader_server_error_details: Option<String>,
    model_grader_refusal_error: bool,
    model_grader_parse_error: bool,
}

/// Run a grader on one completion
#[utoipa::path(
    post,
    path = "/v1/fine_tuning/alpha/graders/run",
    tag = "fine-tuning",
    request_body = RunGrader,
    responses(
        (status = 200, body = GraderRun),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The grader is invalid or not run here", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn run_grader(Access(app): Access, JsonBody(body): JsonBody) -> Result<Json<GraderRun>, Problem> {
    let request: RunGrader = read(&body)?;
    let config = grader::read(&request.grader, "/grader").map_err(Problem::invalid)?;
    config.refused(&app.settings.verifiers, "/grader").map_err(Problem::invalid)?;
    let kind = config.name();
    let asked = Asked::by(request.item.unwrap_or_default());
    let sample = Sample { asked, completions: vec![request.model_sample] };
    let began = Instant::now();
    let score = judge(&app, &config, vec![sample]).await?.remove(0);
    let name = request.grader.get("name").and_then(Value::as_str).unwrap_or(kind).to_owned();
    Ok(Json(answer(name, kind, score, began.elapsed().as_secs_f64())))
}

fn answer(name: String, kind: &'static str, score: Score, execution_time: f64) -> GraderRun {
    let sub_rewards: BTreeMap<String, f64> =
        score.parts.iter().filter(|p| p.score.is_scored()).map(|p| (p.name.clone(), p.score.reward)).collect();
    let failed = !score.is_scored();
    let errors = GraderErrors {
        sample_parse_error: score.status == ScoreStatus::Unparsable,
        unresponsive_reward_error: score.status == ScoreStatus::Timeout,
        invalid_variable_error: failed && score.detail.as_ref().is_some_and(|detail| detail.contains("has no value")),
        other_error: failed,
        ..GraderErrors::default()
    };
    let mut scores = sub_rewards.clone();
    if scores.is_empty() && !failed {
        scores.insert(name.clone(), score.reward);
    }
    GraderRun {
        reward: if failed { 0.0 } else { score.reward },
        metadata: GraderMetadata {
            name,
            r#type: kind,
            errors,
            execution_time,
            scores,
            token_usage: None,
            sampled_model_name: None,
            detail: score.detail,
        },
        sub_rewards,
        model_grader_token_usage_per_model: BTreeMap::new(),
    }
}
