//! From a submitted spec to a job that fills a rollout set.

use serde_json::Value;

use crate::api::App;
use crate::api::error::Problem;
use crate::api::imports::Pull;
use crate::api::resolve::{self, collect};
use crate::api::resources;
use crate::job::{FieldError, RolloutSetId};
use crate::spec::{Common, Resolved, RolloutSetSpec, Work};
use crate::store::{NewJob, NewRolloutSet};
use crate::telemetry;

/// Checks a spec, fills in its defaults and pins its references to immutable things.
pub async fn resolve(app: &App, submitted: Value) -> Result<NewJob, Problem> {
    let (store, finder) = (&app.store, app.finder(Pull::Begin));
    let spec = RolloutSetSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    if spec.dataset.eval.is_some() {
        let detail = "a rollout set evaluates nothing; leave it out, or name these rows as `train` to sample for them";
        errors.push(FieldError::new("/dataset/eval", "unknown_field", detail));
    }
    if spec.regrade_of.is_some() {
        let detail = "POST /v1/rollout-sets/{id}/regrade scores a set again; leave it out to sample a new one";
        errors.push(FieldError::new("/regrade_of", "unknown_field", detail));
    }
    let scoring = collect(resolve::verifier(app, spec.verifier.as_ref(), false).await?, &mut errors);
    let scoring = scoring.unwrap_or_default();
    errors.extend(resolve::environment(app, &spec.sampling, &scoring));
    let model = resolve::model(finder, &spec.model, spec.seed, ("/model", "unknown_model")).await?;
    let model = collect(model.map_err(Some), &mut errors);
    let rows = resolve::training_rows(store, &spec.dataset.train, scoring.config.as_ref(), false).await?;
    let rows = collect(rows.map(|rows| rows.reference()), &mut errors);
    let (Some(model), Some(rows), []) = (model, rows, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    let shape = resources::shape(&model.files).await?.map_err(|error| Problem::invalid(vec![error]))?;
    let need = resources::of_sampling(store, &shape, (&spec.sampling, spec.precision), spec.group_size).await?;
    errors.extend(resources::check(store, &spec.resources, &need, Vec::new).await?);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let prompt = resolve::prompts(store, &model, spec.dataset.prompt(), "/dataset").await?;
    let prompt = prompt.map_err(|error| Problem::invalid(vec![error]))?;
    let (attributes, common, sampling) = spec.pin(model.reference, rows, scoring.config);
    let common = Common { prompt, ..common };
    let resolved = Resolved { common, work: Work::Sample(sampling) };
    let base = resources::base(&resolved, &model, &need);
    let job = NewJob::of(submitted, attributes, resolved, need.total())
        .traced(telemetry::current())
        .with_base(base)
        .with_verifier(scoring.stored);
    Ok(filling_a_set(job, model.digest.unwrap_or_default(), model.tokenizer_digest))
}

/// The job with the set that it fills. The digests are those of the model's weights and of its tokenizer.
pub(super) fn filling_a_set(job: NewJob, model_digest: String, tokenizer_digest: String) -> NewJob {
    let rollout_set = NewRolloutSet {
        id: RolloutSetId::generate(),
        name: job.attributes.name.clone(),
        model: job.resolved.common.model.to_string(),
        model_digest,
        tokenizer_digest,
        spec: Some(job.resolved.to_value(&job.attributes)),
        metadata: job.attributes.metadata.clone(),
    };
    NewJob { rollout_set: Some(rollout_set), ..job }
}
