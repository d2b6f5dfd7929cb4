//! What the card of an export says, gathered from the rows of its job.

use crate::engine::{Card, CardBase, Evaluated};
use crate::spec::{ModelRef, Work};
use crate::store::{CheckpointRow, JobRow, Location, Store, StoreError};

/// Evaluations that a card shows of a job's own, the first and the last ones, and of others that were made of its checkpoint.
const MOST_EVALUATIONS: usize = 20;
/// Models that may have come one of another.
const MOST_PARENTS: usize = 64;

/// What is told of a checkpoint of a job.
pub async fn card(store: &Store, job: &JobRow, checkpoint: &CheckpointRow) -> Result<Card, StoreError> {
    let common = &job.resolved.common;
    let adapter = match job.work() {
        Work::Train(training) => training.adapter.as_ref().map(|lora| serde_json::to_value(lora.to_spec())),
        Work::Sample(_) | Work::Regrade(_) | Work::Evaluate(_) => None,
    };
    Ok(Card {
        name: job.attributes.name.clone().unwrap_or_else(|| job.id.to_string()),
        objective: job.work().objective().map(str::to_owned),
        adapter: adapter.transpose().map_err(unwritten)?,
        base: base(store, common.model).await?,
        inputs: store.dependencies(job.id).await?,
        verifier: common.verifier.as_ref().map(|verifier| verifier.resolved()),
        evaluations: evaluations(store, job, checkpoint).await?,
        spec: job.essence.clone(),
    })
}

fn unwritten(error: serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: "spec", detail: error.to_string() }
}

/// The model with which training began: what the first of the jobs started from, if one went on from another.
async fn base(store: &Store, mut model: ModelRef) -> Result<CardBase, StoreError> {
    for _ in 0..MOST_PARENTS {
        let parent = match model {
            ModelRef::Builtin(_) => break,
            ModelRef::Checkpoint(id) => match store.checkpoint(id).await {
                Ok(row) => store.job(row.artifact.manifest.job).await?.resolved.common.model,
                // It was deleted, and is all that is known.
                Err(StoreError::NotFound { .. }) => break,
                Err(error) => return Err(error),
            },
            ModelRef::Model(id) => match store.model(id).await {
                Ok(row) => match &row.adapter {
                    Some(of) => of.model,
                    None => {
                        let (repository, commit) = hub(&row.source);
                        let folder = Some(store.place().fetch(&Location::model(id)).await?);
                        return Ok(CardBase {
                            name: row.public_name(),
                            repository,
                            commit,
                            sha256: row.weights_sha256,
                            folder,
                        });
                    }
                },
                Err(StoreError::NotFound { .. }) => break,
                Err(error) => return Err(error),
            },
        };
        model = parent;
    }
    Ok(CardBase { name: model.to_string(), ..CardBase::default() })
}

/// The repository and the commit of a source at the hub.
fn hub(source: &str) -> (Option<String>, Option<String>) {
    let Some(rest) = source.strip_prefix("hf:") else { return (None, None) };
    let (path, commit) = rest.split_once('@').map_or((rest, None), |(path, commit)| (path, Some(commit)));
    // Behind it may stand one of its files.
    let repository: Vec<&str> = path.split('/').take(2).collect();
    (Some(repository.join("/")), commit.map(str::to_owned))
}

/// Those of the job itself, then those that were made of its checkpoint.
async fn evaluations(store: &Store, job: &JobRow, checkpoint: &CheckpointRow) -> Result<Vec<Evaluated>, StoreError> {
    let mut all = Vec::new();
    if let Work::Train(training) = job.work() {
        let rows = training.held_out.unwrap_or(training.rows).to_string();
        let mut own = store.policy_evaluations(job.id).await?;
        // Where it began says as much as where it ended.
        let surplus = own.len().saturating_sub(MOST_EVALUATIONS);
        if surplus > 0 {
            own.drain(1..=surplus);
        }
        all.extend(own.into_iter().map(|of| Evaluated {
            what: format!("in training, after {} steps", of.step),
            rows: rows.clone(),
            prompts: of.prompts,
            samples: of.samples,
            pass_at: of.pass_at,
            reward_mean: of.reward_mean,
        }));
    }
    for row in store.evaluations_of(checkpoint.id, MOST_EVALUATIONS as u32).await? {
        let rows = row.job.work().rows().to_string();
        all.extend(row.content.map(|content| content.summary).map(|of| Evaluated {
            what: row.id.to_string(),
            rows,
            prompts: of.prompts,
            samples: of.samples,
            pass_at: of.pass_at,
            reward_mean: of.reward_mean,
        }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_at_the_hub_is_a_repository_and_a_commit() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(hub("hf:a/b@01"), (some("a/b"), some("01")));
        assert_eq!(hub("hf:a/b/c.gguf@01"), (some("a/b"), some("01")));
        assert_eq!(hub("hf:old"), (some("old"), None));
        assert_eq!(hub("/srv/models/x"), (None, None));
    }
}
