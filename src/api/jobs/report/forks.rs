//! The forks of a job beside it, prompt by prompt.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::error::Problem;
use crate::api::jobs::control::{Control, control_of};
use crate::job::sweep::statistics::{Interval, interval};
use crate::spec::Work;
use crate::store::{JobFilter, JobRow, Page, Store};

/// Forks that a report lists.
const MOST: u32 = 20;

/// A fork of a job beside it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportedFork {
    job: String,
    pub name: Option<String>,
    /// What it is a control run of.
    pub control: Option<Control>,
    pub status: &'static str,
    /// After its last step.
    pub pass_at_1: Option<f64>,
    /// The job's pass@1 less the fork's, after their last steps; where both were evaluated on the same rows, at most 1,024 of
    /// them, with as many completions, the same verifier and temperature. What else of the spec differs, differs here too.
    pub difference: Option<ForkDifference>,
}

/// A mean over prompts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForkDifference {
    prompts: u64,
    pub mean: f64,
    /// Of the interval of Student's t that holds together with those of all other forks with a chance of 95 %.
    pub half_width: Option<f64>,
    /// The least difference that these prompts would have told from none, with a chance of 80 %.
    detectable: Option<f64>,
}

impl From<Interval> for ForkDifference {
    fn from(found: Interval) -> Self {
        let Interval { count, mean, half_width, detectable } = found;
        Self { prompts: count as u64, mean, half_width, detectable }
    }
}

/// The newest forks of a job, the oldest of them first.
pub async fn gather(store: &Store, row: &JobRow) -> Result<Vec<ReportedFork>, Problem> {
    let filter = JobFilter { forked_from: Some(row.id.to_string()), ..JobFilter::default() };
    let page = Page { after: None, limit: MOST, newest_first: true };
    let mut forks = store.jobs(&filter, &page).await?;
    forks.reverse();
    let differences: Vec<Option<Vec<f64>>> = forks.iter().map(|fork| differences(row, fork)).collect();
    let together = differences.iter().flatten().count();
    let reported = forks.into_iter().zip(differences).map(|(fork, differences)| ReportedFork {
        job: fork.id.to_string(),
        control: control_of(&fork),
        status: fork.status.as_str(),
        pass_at_1: after(&fork).and_then(pass_at_1),
        difference: differences.and_then(|values| interval(&values, together)).map(ForkDifference::from),
        name: fork.attributes.name,
    });
    Ok(reported.collect())
}

fn after(row: &JobRow) -> Option<&Value> {
    row.result.as_ref()?.get("after").filter(|after| after.is_object())
}

fn pass_at_1(evaluation: &Value) -> Option<f64> {
    evaluation["pass_at"].as_array()?.iter().find(|pass| pass["k"] == 1)?["mean"].as_f64()
}

/// By how much more of its completions a job passed each prompt than a fork of it did; none where they are not measured by the
/// same.
fn differences(job: &JobRow, fork: &JobRow) -> Option<Vec<f64>> {
    let measure = |row: &JobRow| {
        let Work::Train(training) = row.work() else { return None };
        let temperature = training.eval.temperature.unwrap_or(row.resolved.common.sampling.temperature);
        Some((training.held_out?, row.resolved.common.verifier.clone(), temperature.to_bits()))
    };
    if measure(job)? != measure(fork)? {
        return None;
    }
    let rates = |row| -> Option<Vec<f64>> {
        let after: &Value = after(row)?;
        let samples = after["samples"].as_f64()?;
        after["passed"].as_array()?.iter().map(|passed| Some(passed.as_f64()? / samples)).collect()
    };
    let (own, others) = (rates(job)?, rates(fork)?);
    let is_alike = own.len() == others.len() && after(job)?["samples"] == after(fork)?["samples"];
    is_alike.then(|| own.iter().zip(others).map(|(own, other)| own - other).collect())
}

/// One to try the forms of a report with.
#[cfg(test)]
pub fn example() -> ReportedFork {
    ReportedFork {
        job: String::from("job_2"),
        name: Some(String::from("x | shuffled")),
        control: Some(Control::ShuffledRewards),
        status: "succeeded",
        pass_at_1: Some(0.25),
        difference: interval(&[0.25, 0.5, 0.0], 1).map(ForkDifference::from),
    }
}
