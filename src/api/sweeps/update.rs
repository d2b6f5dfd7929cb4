//! `PATCH /v1/sweeps/{id}`

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::create::Plan;
use super::{Sweep, SweepBudget};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::clock;
use crate::job::sweep::MOST_TRIALS;
use crate::job::sweep::expansion::Variation;
use crate::job::{FieldError, SweepId, SweepStatus};
use crate::spec::with_attributes;
use crate::store::{NewTrial, SweepChange, TrialRow};

/// What to change; what is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSweep {
    /// With true no more trials begin, and those under way go on; with false they begin again.
    paused: Option<bool>,
    /// How many of its jobs are queued or on a device at once, at most. With less than there are none is stopped.
    #[schema(minimum = 1, maximum = 1000)]
    at_once: Option<u32>,
    /// What all its jobs together may use of the devices. One that is paused since its budget is spent goes on with more and
    /// `paused: false`.
    budget: Option<SweepBudget>,
    /// Seeds that it did not have: each configuration that was not given up is tried with them. One that has finished goes on.
    #[serde(default)]
    #[schema(example = json!([4, 5]))]
    add_seeds: Vec<u64>,
    /// What else trials get with the added seeds, where the sweep has `by_seed`: by the same pointers, a value for each.
    #[serde(default)]
    #[schema(value_type = Object)]
    by_seed: BTreeMap<String, Vec<Value>>,
}

/// Pause, resume, widen or extend a sweep
#[utoipa::path(
    patch,
    path = "/v1/sweeps/{id}",
    tag = "sweeps",
    params(("id" = String, Path, description = "The sweep")),
    request_body = UpdateSweep,
    responses(
        (status = 200, body = Sweep),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such sweep", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The sweep is over (`sweep_over`), its budget is spent (`budget_exhausted`), or it has changed while more trials were prepared (`sweep_changed`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, there would be too many trials (`too_many_trials`), or the spec of a trial is invalid with a new seed (`invalid_trial`, `patch_failed`; `errors` names the change, or the field of the sweep's request)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "The project may not have so many jobs", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn update_sweep(
    Access(app): Access,
    Id(id): Id<SweepId>,
    JsonBody(body): JsonBody,
) -> Result<Json<Sweep>, Problem> {
    let asked: UpdateSweep = read(&body)?;
    check(&asked)?;
    let UpdateSweep { paused, at_once, budget, add_seeds, by_seed } = asked;
    let status = paused.map(|paused| if paused { SweepStatus::Paused } else { SweepStatus::Running });
    let budget_seconds = budget.map(|budget| budget.device_seconds);
    let trials = if add_seeds.is_empty() { Vec::new() } else { more_trials(&app, id, add_seeds, by_seed).await? };
    let change = SweepChange { status, at_once, budget_seconds, trials };
    let row = app.store.change_sweep(id, change, clock::now()).await?;
    Ok(Json(Sweep::of(row, Some(app.store.trials(id).await?))))
}

fn check(asked: &UpdateSweep) -> Result<(), Problem> {
    let mut errors = Vec::new();
    if asked.at_once.is_some_and(|at_once| !(1..=1000).contains(&at_once)) {
        errors.push(FieldError::new("/at_once", "out_of_range", "is 1 to 1000"));
    }
    errors.extend(asked.budget.and_then(|budget| budget.check().err()));
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

/// Trials of seeds that a sweep did not have, of the configurations that it goes on with.
async fn more_trials(
    app: &App,
    id: SweepId,
    seeds: Vec<u64>,
    by_seed: BTreeMap<String, Vec<Value>>,
) -> Result<Vec<NewTrial>, Problem> {
    let row = app.store.sweep(id).await?;
    let known = app.store.trials(id).await?;
    if let Some(at) = seeds.iter().position(|seed| known.iter().any(|trial| trial.seed == *seed)) {
        let error = FieldError::new(format!("/add_seeds/{at}"), "duplicate", "the sweep has this seed already");
        return Err(Problem::invalid(vec![error]));
    }
    let dropped: BTreeSet<u32> = known.iter().filter(|trial| trial.dropped).map(|trial| trial.configuration).collect();
    let plan = Plan::again(&row.request)?;
    if !plan.variation.by_seed.keys().eq(by_seed.keys()) {
        let all: Vec<&str> = plan.variation.by_seed.keys().map(String::as_str).collect();
        let detail = format!("needs values for the pointers that the sweep has them for: {}", all.join(", "));
        return Err(Problem::invalid(vec![FieldError::new("/by_seed", "out_of_range", detail)]));
    }
    let own = Variation { seeds, by_seed, ..plan.variation.clone() };
    let within = |error: FieldError| FieldError { pointer: error.pointer.replace("/seeds", "/add_seeds"), ..error };
    let errors: Vec<FieldError> = own.check_seeds().into_iter().map(within).collect();
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    plan.check_size(&own)?;
    let configurations = plan.configurations.len().saturating_sub(dropped.len());
    let all = known.len() + configurations * own.seeds.len();
    if all > MOST_TRIALS {
        let detail = format!("the sweep would have {all} trials, and has at most {MOST_TRIALS}");
        return Err(Problem::invalid(vec![FieldError::new("/add_seeds", "too_many_trials", detail)]));
    }
    let pinned = pinned(app, &known).await?;
    plan.trials(app, &own, &pinned, |place| !dropped.contains(&place)).await
}

/// By configuration, what its spec came to when its first trial that is there still was made: names may stand for other data by
/// now, and seeds are compared with one another. A job that was there before has metadata and a budget of its own.
async fn pinned(app: &App, known: &[TrialRow]) -> Result<BTreeMap<u32, Value>, Problem> {
    let mut pinned = BTreeMap::new();
    for trial in known.iter().filter(|trial| trial.status.is_some() && !trial.reused) {
        if let Entry::Vacant(place) = pinned.entry(trial.configuration) {
            let row = app.store.job(trial.job).await?;
            place.insert(with_attributes(row.essence, &row.attributes));
        }
    }
    Ok(pinned)
}
