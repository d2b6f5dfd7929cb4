//! The adapter that a spec asks for: compared with the model beside which it is trained.

use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::api::imports::{self, Finder};
use crate::api::resolve::{Model, found};
use crate::job::adapter::{AdapterId, AdapterSpec, Lora};
use crate::job::{ArtifactKind, FieldError};
use crate::modelfile::ModelFileError;
use crate::store::AdapterOf;

/// An adapter that can be trained.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub lora: Lora,
    /// Numbers that are trained.
    pub parameters: u64,
}

/// Fills in what the spec leaves out, from the adapter that it goes on from if it names one, and compares its targets with
/// the model's weights.
pub async fn check(
    finder: Finder<'_>,
    spec: &AdapterSpec,
    seed: u64,
    model: &Model,
) -> Result<Result<Adapter, Vec<FieldError>>, Problem> {
    if let Some(of) = &model.adapter {
        let detail = format!(
            "`{}` is an adapter of `{}`; name that as `model`, and the adapter as `adapter.start` to go on from it",
            model.reference, of.model
        );
        return Ok(Err(vec![FieldError::new("/model", "adapter_of_adapter", detail)]));
    }
    let start = match spec.start {
        None => None,
        Some(id) => match started(finder, id, seed, model).await? {
            Ok(of) => Some(of.lora),
            Err(error) => return Ok(Err(vec![error])),
        },
    };
    let lora = match spec.resolve(start.as_ref()) {
        Ok(lora) => lora,
        Err(errors) => return Ok(Err(errors)),
    };
    let (files, own) = (model.files.clone(), lora.clone());
    let counted =
        blocking(move || -> Result<_, ModelFileError> { Ok(files.inspect_weights()?.config.adapter_parameters(&own)) });
    Ok(match counted.await? {
        Ok(Ok(parameters)) => Ok(Adapter { lora, parameters }),
        Ok(Err(error)) => Err(vec![FieldError::new("/adapter/targets", error.code(), error.to_string())]),
        Err(error) => Err(vec![FieldError::new("/model", error.code(), error.to_string())]),
    })
}

/// The adapter to go on from, which must be one of the same model.
async fn started(
    finder: Finder<'_>,
    id: AdapterId,
    seed: u64,
    model: &Model,
) -> Result<Result<AdapterOf, FieldError>, Problem> {
    const POINTER: &str = "/adapter/start";
    let (store, wrong) = (finder.store, |code, detail| Ok(Err(FieldError::new(POINTER, code, detail))));
    let of = match id {
        AdapterId::Model(id) => match found(store.model(id).await, POINTER)? {
            Ok(row) => imports::wanted(store, row, finder.pull).await?.adapter,
            Err(error) => return Ok(Err(error)),
        },
        AdapterId::Checkpoint(id) => match found(store.checkpoint(id).await, POINTER)? {
            Ok(row) if row.artifact.manifest.kind == ArtifactKind::Inference => store.adapter_of(&row).await?,
            Ok(_) => None,
            Err(error) => return Ok(Err(error)),
        },
    };
    let Some(of) = of else {
        let detail =
            format!("`{id}` is neither an inference checkpoint of a job with an adapter nor an imported adapter");
        return wrong("adapter_unknown", detail);
    };
    let is_drawn = matches!(of.model, crate::spec::ModelRef::Builtin(builtin) if builtin.from_scratch);
    if of.model != model.reference || (is_drawn && of.seed != seed) {
        let detail = format!("`{id}` is an adapter of `{}`, and `model` is `{}`", of.model, model.reference);
        return wrong("adapter_base_differs", detail);
    }
    Ok(Ok(of))
}
