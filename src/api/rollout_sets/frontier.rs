//! `POST /v1/rollout-sets/{id}/frontier`

use std::io::{self, Read};

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::scan::scan;
use crate::job::rollout_set::GROUPS_FILE;
use crate::job::{FieldError, RolloutSetId, RolloutSummary};
use crate::objective::frontier::{self, Frontier, ScoredGroup};
use crate::store::Content;

/// The largest file of scores that is read, about three million completions.
const MOST_BYTES: u64 = 256 << 20;

/// Which temperatures to look at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontierRequest {
    /// Temperatures of the target, 1 to 200, all above 0; by default 25 from 0.02 to 5, evenly spaced in logarithm.
    #[serde(default)]
    #[schema(min_items = 1, max_items = 200)]
    betas: Option<Vec<f64>>,
    /// How many completions the weights of a group whose rewards differ have to rest on, on average; by default 2, or three
    /// quarters of a smaller group.
    #[serde(default)]
    #[schema(minimum = 1.0, maximum = 1024.0)]
    ess_floor: Option<f64>,
}

impl FrontierRequest {
    fn check(self) -> Result<(Vec<f64>, Option<f64>), Problem> {
        let betas = self.betas.unwrap_or_else(frontier::default_betas);
        let small = betas.iter().enumerate().filter(|(_, beta)| **beta < frontier::MIN_BETA);
        let errors: Vec<_> = small
            .map(|(index, beta)| {
                let detail = format!("must be at least {}, got {beta}", frontier::MIN_BETA);
                FieldError::new(format!("/betas/{index}"), "out_of_range", detail)
            })
            .collect();
        if errors.is_empty() { Ok((betas, self.ess_floor)) } else { Err(Problem::invalid(errors)) }
    }
}

/// What a set can teach at each temperature. Numbers are means over the groups.
#[derive(Debug, Serialize, ToSchema)]
pub struct FrontierAnswer {
    /// Always `frontier`.
    object: &'static str,
    rollout_set: String,
    /// `groups`, `completions`, `coverage` (solve rate, distinct and unseen answers, groups without spread),
    /// `recommended_beta`, `recommendation` (why), `ess_floor`, and `rows`, one for each beta in rising order: `ess_share`,
    /// `ess_share_informative`, `ess_completions`, `second_moment`, `target_success`, `target_success_informative`,
    /// `log_partition` with its bounds `_low` and `_high`, and `support_price_low`, `support_price_high` and
    /// `support_price_good_turing`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    frontier: Frontier,
}

/// Compute a rollout set's frontier
///
/// What the set can teach before any training time is spent on it: how concentrated the Boltzmann weights of `bolt`
/// are at each temperature, what success they aim at, and how much of the target the stored completions cover. Send
/// `{}` for the defaults.
#[utoipa::path(
    post,
    path = "/v1/rollout-sets/{id}/frontier",
    tag = "rollouts",
    params(("id" = String, Path, description = "The rollout set")),
    request_body = FrontierRequest,
    responses(
        (status = 200, body = FrontierAnswer),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The set is not ready", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is out of its range, or the set has no rewards", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn frontier(
    Access(app): Access,
    Id(id): Id<RolloutSetId>,
    JsonBody(body): JsonBody,
) -> Result<Json<FrontierAnswer>, Problem> {
    let request: FrontierRequest = read(&body)?;
    let (betas, ess_floor) = request.check()?;
    let content = scored(content(app.store.rollout_set(id).await?)?)?;
    let (place, file) = (app.store.place().clone(), content.artifact.file(GROUPS_FILE)?);
    let compute = move || {
        let groups = read_groups(place.read(&file)?)?;
        io::Result::Ok(frontier::frontier(&groups, &betas, ess_floor))
    };
    let frontier = scan(&app, compute).await?;
    Ok(Json(FrontierAnswer { object: "frontier", rollout_set: id.to_string(), frontier }))
}

/// Refuses a set that has no rewards, or too many to look at at once.
pub(super) fn scored(content: Content<RolloutSummary>) -> Result<Content<RolloutSummary>, Problem> {
    let refuse = |code, detail: String| Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail));
    if content.summary.reward_mean.is_none() {
        return refuse(
            "no_rewards",
            String::from("the rollout set has no rewards; make one with a `verifier` such as {\"type\": \"numeric\"}"),
        );
    }
    match content.artifact.manifest.file(GROUPS_FILE).map_or(0, |file| file.size) {
        bytes if bytes > MOST_BYTES => refuse(
            "rollout_set_too_large",
            format!("the scores of the set have {bytes} bytes; at most {MOST_BYTES} are looked at at once"),
        ),
        _ => Ok(content),
    }
}

pub(super) fn read_groups(file: impl Read) -> io::Result<Vec<ScoredGroup>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bounds_are_named_by_their_pointer() {
        let refused = |body: serde_json::Value| -> Vec<String> {
            let refused = read::<FrontierRequest>(&body).and_then(FrontierRequest::check).unwrap_err();
            refused.errors.into_iter().map(|error| error.pointer).collect()
        };
        assert_eq!(refused(json!({"betas": []})), ["/betas"]);
        assert_eq!(refused(json!({"betas": vec![1.0; 201]})), ["/betas"]);
        assert_eq!(refused(json!({"betas": [0.1, 0.0, -1]})), ["/betas/1", "/betas/2"]);
        assert_eq!(refused(json!({"ess_floor": 0.5})), ["/ess_floor"]);
        assert_eq!(refused(json!({"ess_floor": 1025})), ["/ess_floor"]);
        let (betas, floor) = read::<FrontierRequest>(&json!({})).unwrap().check().unwrap();
        assert_eq!((betas.len(), floor), (25, None));
    }
}
