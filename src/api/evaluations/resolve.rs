//! From a submitted spec to a job that evaluates.

use serde_json::Value;

use crate::api::App;
use crate::api::error::Problem;
use crate::api::imports::Pull;
use crate::api::resolve::{self, Scoring, collect};
use crate::api::resources;
use crate::dataset::Split;
use crate::job::FieldError;
use crate::spec::{EvaluationSpec, EvaluationSplit, Resolved, RowsRef, Work};
use crate::store::{NewJob, Store};
use crate::telemetry;
use crate::verifier;

/// Checks a spec, fills in its defaults and pins its references to immutable things.
pub async fn resolve(app: &App, submitted: Value) -> Result<NewJob, Problem> {
    let (store, finder) = (&app.store, app.finder(Pull::Begin));
    let mut spec = EvaluationSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    let scoring = scoring(app, &spec, &mut errors).await?;
    let model = resolve::model(finder, &spec.model, spec.seed, ("/model", "unknown_model")).await?;
    let model = collect(model.map_err(Some), &mut errors);
    let rows = collect(rows(store, &mut spec, scoring.config.as_ref()).await?, &mut errors);
    let (Some(model), Some(config), Some(rows), []) = (model, scoring.config, rows, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    let shape = resources::shape(&model.files).await?.map_err(|error| Problem::invalid(vec![error]))?;
    let need = resources::of_sampling(store, &shape, (&spec.sampling, spec.precision), spec.samples).await?;
    errors.extend(resources::check(store, &spec.resources, &need, Vec::new).await?);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let (attributes, mut common, evaluating) = spec.pin(model.reference, rows, config);
    let prompt = resolve::prompts(store, &model, common.prompt, "").await?;
    common.prompt = prompt.map_err(|error| Problem::invalid(vec![error]))?;
    let resolved = Resolved { common, work: Work::Evaluate(evaluating) };
    let base = resources::base(&resolved, &model, &need);
    Ok(NewJob::of(submitted, attributes, resolved, need.total())
        .traced(telemetry::current())
        .with_base(base)
        .with_verifier(scoring.stored))
}

/// A spec that has no model yet, with all else filled in and pinned, as it is to be submitted with one. What it has as its
/// model is left out.
pub async fn without_model(app: &App, submitted: &Value) -> Result<Result<Value, Vec<FieldError>>, Problem> {
    let mut spec = match EvaluationSpec::parse(submitted) {
        Ok(spec) => spec,
        Err(errors) => return Ok(Err(errors)),
    };
    let mut errors = Vec::new();
    let scoring = scoring(app, &spec, &mut errors).await?;
    let rows = collect(rows(&app.store, &mut spec, scoring.config.as_ref()).await?, &mut errors);
    let (Some(config), Some(rows), []) = (scoring.config, rows, errors.as_slice()) else { return Ok(Err(errors)) };
    (spec.dataset, spec.verifier) = (rows.to_string(), config.resolved());
    let mut spec = serde_json::to_value(&spec).unwrap_or_default();
    if let Some(members) = spec.as_object_mut() {
        members.shift_remove("model");
    }
    Ok(Ok(spec))
}

/// How completions are scored, and what answers their turns.
async fn scoring(app: &App, spec: &EvaluationSpec, errors: &mut Vec<FieldError>) -> Result<Scoring, Problem> {
    let scoring = collect(resolve::verifier(app, Some(&spec.verifier), true).await?, errors).unwrap_or_default();
    errors.extend(resolve::environment(app, &spec.sampling, &scoring));
    Ok(scoring)
}

/// The rows, which need an answer each where the verifier compares with it. Of rows that are split the spec says from here
/// on which part it is.
async fn rows(
    store: &Store,
    spec: &mut EvaluationSpec,
    verifier: Option<&verifier::Config>,
) -> Result<Result<RowsRef, Vec<FieldError>>, Problem> {
    let mut errors = Vec::new();
    let rows = resolve::scored_rows(store, &spec.dataset, verifier, "/dataset").await?;
    let rows = collect(rows.map_err(Some), &mut errors);
    if let Some(rows) = &rows {
        let part = spec.split.unwrap_or(EvaluationSplit::Eval);
        let side = match part {
            EvaluationSplit::Train => Split::Train,
            EvaluationSplit::Eval => Split::Eval,
        };
        if rows.is_split() {
            spec.split = Some(part);
            errors.extend(rows.check_side(side, "/split").err());
        } else if spec.split.is_some() {
            let detail = "the data set is not split; leave this out, or name one that is, as built-ins are";
            errors.push(FieldError::new("/split", "unknown_field", detail));
        }
    }
    Ok(rows.filter(|_| errors.is_empty()).map(|rows| rows.reference()).ok_or(errors))
}
