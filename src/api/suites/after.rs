//! Evaluating the models of jobs that ask for it (`eval.suite`) on a suite when they have succeeded.
//!
//! Every server looks for what is due; whoever is first makes the run, which the store gives to one only. What cannot be
//! evaluated becomes a run that has failed and says why; what cannot be now, such as beyond the project's limits, is tried
//! again, ever later.

use std::collections::HashMap;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::run::{Asked, evaluations};
use crate::api::App;
use crate::api::error::Problem;
use crate::clock;
use crate::job::{JobId, SuiteRunId};
use crate::store::{NewSuiteRun, StoreError, SuiteDue, SuiteRow};

const EVERY: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Rows of a page.
const PAGE: u32 = 100;

/// What could not be begun: when it is tried again, and how long the pause before is.
type Later = HashMap<JobId, (Instant, Duration)>;

/// Starts looking until `shutdown` becomes true.
pub fn start(app: App, mut shutdown: watch::Receiver<bool>) {
    tokio::spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut later = Later::new();
        while !*shutdown.borrow() {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = shutdown.changed() => continue,
            }
            if let Err(error) = look(&app, &mut later, &shutdown).await {
                tracing::warn!(%error, "suites that are due cannot be looked for");
            }
        }
    });
}

/// Begins all that is due and not to be tried later.
async fn look(app: &App, later: &mut Later, shutdown: &watch::Receiver<bool>) -> Result<(), StoreError> {
    let (mut after, mut failed) = (None, Later::new());
    loop {
        let page = app.store.suites_due(after, PAGE).await?;
        for due in &page {
            let pause = match later.get(&due.job) {
                Some((at, pause)) if *at > Instant::now() => {
                    failed.insert(due.job, (*at, *pause));
                    continue;
                }
                Some((_, pause)) => LONGEST_PAUSE.min(*pause * 2),
                None => EVERY,
            };
            if *shutdown.borrow() {
                return Ok(());
            }
            if let Err(problem) = begin(app, due).await {
                let (job, suite, error) = (due.job, due.suite, problem.detail);
                tracing::warn!(%job, %suite, error, "a suite could not be begun; it is tried again");
                failed.insert(job, (Instant::now() + pause, pause));
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => after = Some(last.job),
            Some(_) | None => break,
        }
    }
    *later = failed;
    Ok(())
}

/// Makes the run of a suite that is due.
async fn begin(app: &App, SuiteDue { job, suite, project }: &SuiteDue) -> Result<(), Problem> {
    // Whoever submitted the job might run what the suite's verifiers are.
    let app = App { store: app.store.within(project), caller: None, runs_code: true, ..app.clone() };
    let (row, model) = (app.store.suite(*suite).await?, format!("ft:{job}"));
    let priority = app.store.job(*job).await?.attributes.priority;
    let asked = Asked { model: model.clone(), priority: Some(priority), metadata: None };
    let found = match too_many(&app, &row).await? {
        Some(failure) => Ok((model.clone(), Err(failure))),
        None => evaluations(&app, &row, asked).await.map(|(model, all)| (model, Ok(all))),
    };
    let (model, evaluations) = match found {
        Ok(found) => found,
        Err(problem) if problem.status == StatusCode::UNPROCESSABLE_ENTITY => {
            let message = problem.errors.first().map_or(&problem.detail, |error| &error.detail);
            (model, Err(json!({"code": problem.code, "message": message})))
        }
        Err(problem) => return Err(problem),
    };
    let run = NewSuiteRun { id: SuiteRunId::generate(), suite: *suite, model, after_job: Some(*job), evaluations };
    match app.store.add_suite_run(run, clock::now()).await {
        // Another server was first, or the suite was deleted.
        Ok(_) | Err(StoreError::Conflict(_) | StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Why the project may never have the evaluations of a suite at once.
async fn too_many(app: &App, suite: &SuiteRow) -> Result<Option<Value>, Problem> {
    let most = app.store.most_unfinished_jobs().await?;
    let sets = suite.sets.len() as u64;
    Ok(most.filter(|most| sets > *most).map(|most| {
        let message = format!("the suite has {sets} sets, and the project may have {most} unfinished jobs");
        json!({"code": "quota_exceeded", "message": message})
    }))
}
