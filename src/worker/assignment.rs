//! From a claimed row to everything the engine needs: files, data sets and checked configurations.

use std::path::PathBuf;

use crate::dataset::jsonl::JsonlFile;
use crate::dataset::{self, Columns, Dataset, Split};
use crate::engine::device::Device;
use crate::engine::{ActorSpec, Job};
use crate::job::{CheckpointId, DatasetVersionId, Failure, FailureKind, FieldError, JobSpec, ModelId};
use crate::modelfile::builtin::Builtin;
use crate::objective;
use crate::store::{Claim, Store, StoreError};
use crate::verifier;

use super::{chain, internal};

/// Makes the engine's job, or says why it cannot run.
pub async fn prepare(store: &Store, claim: &Claim, device: &Device) -> Result<Job, Failure> {
    let lease = claim.lease;
    let spec = JobSpec::parse(&claim.spec_resolved).map_err(invalid)?;
    let objective = objective::Config::parse(&spec.objective, "/objective").map_err(invalid)?;
    let verifier = match &spec.verifier {
        None => None,
        Some(config) => Some(verifier::Config::parse(config, "/verifier").map_err(invalid)?),
    };
    let (model, from_scratch) = model(store, &spec.model).await?;
    let teacher = match objective.teacher() {
        None => None,
        Some(path) if path.starts_with('/') => Some(PathBuf::from(path)),
        Some(name) => Some(self::model(store, name).await?.0),
    };
    let train = dataset(store, &spec.dataset.train, Split::Train).await?;
    let eval = match &spec.dataset.eval {
        None => None,
        Some(name) => Some(dataset(store, name, Split::Eval).await?),
    };
    sweep(store, claim).await.map_err(|error| internal(chain(&error)))?;
    let actor = ActorSpec {
        id: lease.job,
        attempt: lease.attempt,
        spec_digest: claim.spec_digest.clone(),
        seed: spec.seed,
        dataset: spec.dataset.clone(),
        sampling: spec.sampling.clone(),
        verifier,
        model,
        from_scratch,
        directory: store.files().job(lease.job),
        device: device.clone(),
    };
    let resume = claim.resume.iter().map(|directory| store.files().checkpoint(directory)).collect();
    Ok(Job { actor, spec, objective, teacher, stored: None, train, eval, resume })
}

fn invalid(errors: Vec<FieldError>) -> Failure {
    let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let code = errors.first().map_or("invalid_spec", |error| error.code);
    Failure { kind: FailureKind::InvalidData, code: code.to_owned(), message }
}

fn missing(error: &StoreError) -> Failure {
    match error {
        StoreError::NotFound { .. } => {
            Failure { kind: FailureKind::InvalidData, code: String::from("not_found"), message: error.to_string() }
        }
        other => internal(chain(other)),
    }
}

/// The model's directory, and whether its weights are drawn at random.
async fn model(store: &Store, name: &str) -> Result<(PathBuf, bool), Failure> {
    if let Some(builtin) = Builtin::find(name) {
        let path = unpack(store, builtin).map_err(|error| internal(chain(&error)))?;
        return Ok((path, builtin.from_scratch));
    }
    if let Ok(id) = name.parse::<ModelId>() {
        store.model(id).await.map_err(|error| missing(&error))?;
        return Ok((store.files().model(id), false));
    }
    if let Ok(id) = name.parse::<CheckpointId>() {
        let row = store.checkpoint(id).await.map_err(|error| missing(&error))?;
        return Ok((store.files().checkpoint(&row.directory), false));
    }
    Err(internal(format!("`{name}` in a resolved spec is no model")))
}

async fn dataset(store: &Store, name: &str, split: Split) -> Result<Dataset, Failure> {
    if let Some(builtin) = dataset::builtin(name, split) {
        return Ok(builtin);
    }
    let Ok(id) = name.parse::<DatasetVersionId>() else {
        return Err(internal(format!("`{name}` in a resolved spec is no data set version")));
    };
    let row = store.dataset_version(id).await.map_err(|error| missing(&error))?;
    let columns: Columns = serde_json::from_value(row.columns).map_err(|error| internal(error.to_string()))?;
    let path = store.files().dataset(id);
    let open = tokio::task::spawn_blocking(move || JsonlFile::open(&path, columns));
    match open.await {
        Ok(Ok(file)) => Ok(Dataset::Jsonl(file)),
        Ok(Err(error)) => {
            Err(Failure { kind: FailureKind::InvalidData, code: error.code().to_owned(), message: chain(&error) })
        }
        Err(error) => Err(internal(error.to_string())),
    }
}

/// Puts a built-in model's files where the engine can read them.
fn unpack(store: &Store, builtin: &Builtin) -> Result<PathBuf, StoreError> {
    let target = store.files().builtin_model(builtin.name, &builtin.digest());
    if target.exists() {
        return Ok(target);
    }
    let temporary = store.files().upload();
    std::fs::create_dir_all(&temporary).map_err(|e| StoreError::io("creating", &temporary, e))?;
    for (name, bytes) in builtin.files {
        let path = temporary.join(name);
        crate::engine::checkpoint::write_file(&path, bytes)
            .map_err(|e| StoreError::io("writing", &path, std::io::Error::other(e)))?;
    }
    match crate::store::files::publish(&temporary, &target) {
        // Another worker was faster; its files are the same.
        Err(_) if target.exists() => {
            std::fs::remove_dir_all(&temporary).map_err(|e| StoreError::io("removing", &temporary, e))?;
        }
        result => result?,
    }
    Ok(target)
}

/// Removes what crashed attempts of the job left behind: directories that no row knows.
async fn sweep(store: &Store, claim: &Claim) -> Result<(), StoreError> {
    let folder = store.files().job(claim.lease.job);
    std::fs::create_dir_all(&folder).map_err(|e| StoreError::io("creating", &folder, e))?;
    let entries = std::fs::read_dir(&folder).map_err(|e| StoreError::io("listing", &folder, e))?;
    for entry in entries {
        let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
        if !store.is_checkpoint_directory(&super::directory_name(claim.lease, &path)).await? {
            tracing::info!(path = %path.display(), "removing an unfinished checkpoint");
            std::fs::remove_dir_all(&path).map_err(|e| StoreError::io("removing", &path, e))?;
        }
    }
    Ok(())
}
