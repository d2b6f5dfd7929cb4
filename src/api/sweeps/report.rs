//! `GET /v1/sweeps/{id}/report`

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::configurations;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::job::metric::metric;
use crate::job::sweep::measure::Measure;
use crate::job::sweep::statistics::{CONFIDENCE, POWER, interval};
use crate::job::{FieldError, JobStatus, SweepId};
use crate::spec::Work;
use crate::store::{Store, TrialRow};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportParams {
    /// `pass@K` of the last evaluation, or the last value of a metric of `GET /v1/metrics-catalog`.
    #[param(example = "pass@1")]
    metric: Option<String>,
    /// The configuration, by its place, that the others are compared with.
    #[serde(default)]
    baseline: u32,
}

/// What the trials of a sweep say together.
#[derive(Debug, Serialize, ToSchema)]
pub struct SweepReport {
    /// Always `sweep_report`.
    object: &'static str,
    sweep: String,
    metric: String,
    /// How sure intervals are: those of comparisons hold together, those of configurations one by one.
    confidence: f64,
    /// With what chance a difference of the size `detectable` would be told from none.
    power: f64,
    configurations: Vec<SweepSummary>,
    /// The configuration, by its place, that the others are compared with.
    baseline: usize,
    /// Every other configuration less the baseline, over the seeds that both have; those that were given up are not compared.
    comparisons: Vec<SweepComparison>,
    /// Trials that have no value: they are not over, have failed, or report no such thing. Those that were given up are not
    /// among them.
    missing: Vec<u32>,
}

/// A configuration over its seeds.
#[derive(Debug, Serialize, ToSchema)]
struct SweepSummary {
    name: String,
    seeds: usize,
    /// Null without values.
    mean: Option<f64>,
    /// The interval reaches so far below and above the mean (Student's t); null for fewer than two seeds, and where all have
    /// the same value, which says nothing of how far off others would be.
    half_width: Option<f64>,
    /// By seed; of a configuration that was given up there are none, whether or not a trial of it had come to its end.
    values: BTreeMap<u64, f64>,
    /// The step after which it was given up, of a sweep that does.
    dropped_at: Option<u64>,
}

/// A configuration against the baseline, seed by seed.
#[derive(Debug, Serialize, ToSchema)]
struct SweepComparison {
    /// By their places in `configurations`.
    configuration: usize,
    baseline: usize,
    /// Seeds that both have.
    pairs: usize,
    difference: f64,
    /// Of Student's t, corrected for the number of comparisons (Bonferroni); null for fewer than two pairs, and where all
    /// pairs differ by the same.
    half_width: Option<f64>,
    /// The least true difference that would be found, by the spread that was measured.
    detectable: Option<f64>,
    /// `higher` or `lower` than the baseline where the interval says so, else `undecided`.
    #[schema(example = "undecided")]
    verdict: &'static str,
}

/// Report a sweep
///
/// Means over seeds, and paired differences from the baseline, with intervals that hold together whatever number of
/// configurations is compared. While trials run it is about those that are over.
#[utoipa::path(
    get,
    path = "/v1/sweeps/{id}/report",
    tag = "sweeps",
    params(("id" = String, Path, description = "The sweep"), ReportParams),
    responses(
        (status = 200, body = SweepReport),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such sweep", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "No such metric (`unknown_metric`) or configuration, or a metric that no trial reports (`not_reported`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn sweep_report(
    Access(app): Access,
    Id(id): Id<SweepId>,
    Params(params): Params<ReportParams>,
) -> Result<Json<SweepReport>, Problem> {
    let row = app.store.sweep(id).await?;
    let name = params.metric.unwrap_or_else(|| Measure::DEFAULT.to_owned());
    let measure = Measure::of(&name).ok_or_else(|| {
        Problem::invalid(vec![FieldError::new("/metric", "unknown_metric", Measure::NAMES)]).with_code("unknown_metric")
    })?;
    let labels: Vec<String> = configurations(&row.configurations, false).into_iter().map(|one| one.name).collect();
    let baseline = params.baseline as usize;
    if baseline >= labels.len() {
        let detail = format!("the sweep has {} configurations, counted from 0", labels.len());
        return Err(Problem::invalid(vec![FieldError::new("/baseline", "out_of_range", detail)]));
    }
    let mut values = vec![BTreeMap::new(); labels.len()];
    let mut dropped = vec![None; labels.len()];
    let mut missing = Vec::new();
    let trials = app.store.trials(id).await?;
    if let Measure::Metric(known) = measure {
        check_reported(&app.store, &trials, known, &name).await?;
    }
    for trial in trials {
        let is_done = trial.status == Some(JobStatus::Succeeded) && !trial.dropped;
        if let Some(step) = dropped.get_mut(trial.configuration as usize).filter(|_| trial.dropped) {
            *step = trial.held_at;
        }
        match if is_done { app.store.measured(trial.job, measure, None).await? } else { None } {
            Some(value) => {
                if let Some(own) = values.get_mut(trial.configuration as usize) {
                    own.insert(trial.seed, value);
                }
            }
            None if trial.dropped => {}
            None => missing.push(trial.number),
        }
    }
    let comparisons = compare(&values, baseline);
    let summaries = labels.into_iter().zip(values).zip(dropped);
    let configurations =
        summaries.map(|((label, values), dropped_at)| SweepSummary::of(label, values, dropped_at)).collect();
    Ok(Json(SweepReport {
        object: "sweep_report",
        sweep: id.to_string(),
        metric: name,
        confidence: CONFIDENCE,
        power: POWER,
        configurations,
        baseline,
        comparisons,
        missing,
    }))
}

/// Refuses a metric that no configuration reports.
async fn check_reported(store: &Store, trials: &[TrialRow], known: &str, name: &str) -> Result<(), Problem> {
    let Some(metric) = metric(known) else { return Ok(()) };
    let mut seen = BTreeSet::new();
    for trial in trials.iter().filter(|trial| trial.status.is_some()) {
        if !seen.insert(trial.configuration) {
            continue;
        }
        let row = store.job(trial.job).await?;
        let Work::Train(training) = row.work() else { continue };
        if training.may_report(&row.resolved.common, metric, name) {
            return Ok(());
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    let detail = format!("no trial of the sweep reports it, which is of: {}", metric.when.text());
    Err(Problem::invalid(vec![FieldError::new("/metric", "not_reported", detail)]).with_code("not_reported"))
}

impl SweepSummary {
    fn of(label: String, values: BTreeMap<u64, f64>, dropped_at: Option<u64>) -> Self {
        let all: Vec<f64> = values.values().copied().collect();
        let found = interval(&all, 1);
        let half_width = found.and_then(|interval| interval.half_width);
        Self {
            name: label,
            seeds: all.len(),
            mean: found.map(|interval| interval.mean),
            half_width,
            values,
            dropped_at,
        }
    }
}

/// Every other configuration against the baseline, where both have a seed.
fn compare(values: &[BTreeMap<u64, f64>], baseline: usize) -> Vec<SweepComparison> {
    let pairs = |place: usize| -> Vec<f64> {
        let both = values[place].iter().filter_map(|(seed, value)| Some(value - values[baseline].get(seed)?));
        both.collect()
    };
    let others = (0..values.len()).filter(|place| *place != baseline);
    let all: Vec<(usize, Vec<f64>)> =
        others.map(|place| (place, pairs(place))).filter(|(_, pairs)| !pairs.is_empty()).collect();
    let found = |(place, pairs): &(usize, Vec<f64>)| {
        let interval = interval(pairs, all.len())?;
        let verdict = match interval.half_width {
            Some(half) if interval.mean - half > 0.0 => "higher",
            Some(half) if interval.mean + half < 0.0 => "lower",
            _ => "undecided",
        };
        Some(SweepComparison {
            configuration: *place,
            baseline,
            pairs: interval.count,
            difference: interval.mean,
            half_width: interval.half_width,
            detectable: interval.detectable,
            verdict,
        })
    };
    all.iter().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_compared_seed_by_seed() {
        let of = |values: [f64; 4]| (1..).zip(values).collect::<BTreeMap<u64, f64>>();
        // Seeds differ far more than configurations do; one seed of the third is missing.
        let mut values = vec![of([0.1, 0.5, 0.3, 0.9]), of([0.2, 0.61, 0.4, 0.99]), of([0.1, 0.49, 0.31, 0.9])];
        values[2].remove(&4);
        let found = compare(&values, 0);
        let told: Vec<_> = found.iter().map(|one| (one.configuration, one.pairs, one.verdict)).collect();
        assert_eq!(told, [(1, 4, "higher"), (2, 3, "undecided")]);
        assert!((found[0].difference - 0.1).abs() < 1e-12 && found[0].half_width.unwrap() < 0.03);
        assert_eq!(compare(&values, 1)[0].verdict, "lower");
        assert!(compare(&[of([0.0; 4]), BTreeMap::new()], 0).is_empty(), "there is nothing to compare yet");
        // What has no pairs makes the others no less sure.
        let width = found[0].half_width;
        values.extend([const { BTreeMap::new() }; 5]);
        assert_eq!(compare(&values, 0)[0].half_width, width);
        // A difference without any spread decides nothing.
        let same = compare(&[of([0.0; 4]), of([0.25; 4])], 0);
        assert_eq!((same[0].verdict, same[0].half_width, same[0].detectable), ("undecided", None, None));
    }
}
