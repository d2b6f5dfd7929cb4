//! What a training checkpoint and a finished model hold.
//!
//! A training checkpoint has everything a resumed run needs: weights, optimizer moments, counters, evaluations so
//! far and the scored completions of the round under way. A finished model is a complete Hugging Face directory.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::artifact::{self, Draft, Saved, write_file, write_json};
use super::backend::Backend;
use super::curriculum::SolveRates;
use super::digested::FileDigest;
use super::error::EngineError;
use super::evaluate::sentence;
use super::export::{write_companions, write_texts};
use super::kernels::gemm::Precision;
use super::kernels::trial;
use super::model::reader::Safetensors;
use super::model::weights::write_safetensors;
use super::optimizer::Optimizer;
use super::rollout::{self, RolloutGroup};
use super::trainer::Trainer;
use crate::job::adapter::Lora;
use crate::job::artifact::WEIGHTS;
use crate::job::metric::metric;
use crate::job::spec::{self, WeightDtype};
use crate::job::{ArtifactKind, ArtifactSummary, PolicyEvaluation};
use crate::modelfile::adapter;
use crate::objective::Objective;

const OPTIMIZER: &str = "optimizer.safetensors";
/// Bytes of another rank's part of it that come at a time.
const PIECE: u64 = 16 << 20;
const STATE: &str = "state.json";
const ROLLOUTS: &str = "rollouts.jsonl";
/// The completions of the round that comes so many after the one under way.
fn ahead(rounds: usize) -> String {
    format!("rollouts-ahead-{rounds}.jsonl")
}
/// The completions of held-out prompts.
const HELD_OUT: &str = "rollouts-held-out.jsonl";
/// What is known of the rows, where they are drawn by it.
const ROWS: &str = "rows.safetensors";

/// The counters of a training checkpoint.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    step: u64,
    /// The round that the completions are of.
    #[serde(default)]
    round: Option<u64>,
    /// Steps the optimizer has taken; fewer than `step` when steps had nothing to train on.
    optimizer_steps: u64,
    evaluations: Vec<PolicyEvaluation>,
    /// Steps in a row that had nothing to learn from.
    idle_steps: u64,
    /// Tokens in one pass; a resumed run on a fuller machine must not choose others.
    micro_batch_tokens: usize,
    /// Whether products of bf16 are summed from tile to tile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tiled: bool,
    /// What the objective must know.
    objective: Value,
    /// What the job's result says besides evaluations.
    report: Map<String, Value>,
    /// Of sampling, what no step has reported yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sampled: BTreeMap<String, f64>,
}

/// A training checkpoint that was found good.
pub(super) struct Stored<B: Backend> {
    state: State,
    rollouts: Vec<RolloutGroup>,
    ahead: Vec<Vec<RolloutGroup>>,
    held_out: Vec<RolloutGroup>,
    rates: Option<SolveRates>,
    objective: Box<dyn Objective>,
    optimizer: Optimizer<B>,
    weights: Safetensors,
}

/// What the products of a job are computed in that has these checkpoints: as they were before, or as is quickest here.
pub fn products(precision: spec::Precision, resume: &[PathBuf]) -> Precision {
    let known = |folder: &PathBuf| serde_json::from_slice::<State>(&std::fs::read(folder.join(STATE)).ok()?).ok();
    match resume.iter().find_map(known) {
        Some(state) if state.tiled => Precision::Bf16Tiled,
        Some(_) => precision.into(),
        None => trial::quickest(precision),
    }
}

/// The file of the part of the optimizer's state that another rank than the first has.
fn of_rank(rank: usize) -> String {
    format!("optimizer-{rank}.safetensors")
}

impl<B: Backend> Trainer<'_, B> {
    /// Where a training checkpoint of now belongs.
    pub(super) fn checkpoint_directory(&self) -> PathBuf {
        // A round begins at the step at which the one before it ended; its checkpoint must not replace that one's.
        let part = if self.rollouts.is_empty() { "" } else { "-rollouts" };
        let actor = &self.job.actor;
        actor.directory.join(format!("training-{}-{}{part}", actor.attempt, self.step))
    }

    /// Writes the files of a training checkpoint.
    pub(super) fn draft(&self) -> Result<Draft, EngineError> {
        let actor = &self.job.actor;
        self.actor.weights.backend().end_phase();
        Draft::write(&self.checkpoint_directory(), actor.manifest(ArtifactKind::Training, self.step), |folder| {
            let dir = &folder.path().to_owned();
            let (weights, path) = (&self.actor.weights, dir.join(self.weights_file()));
            folder.note(self.weights_file(), weights.wholly(self.ranks(), || weights.save_as_kept(&path))?);
            let (optimizer_steps, tensors) = self.optimizer.state(&self.actor.weights);
            folder.note(OPTIMIZER, write_safetensors(&dir.join(OPTIMIZER), tensors)?);
            self.actor.weights.backend().check()?;
            if self.optimizer.is_sharded() {
                self.receive_moments(dir)?;
            }
            let state = State {
                step: self.step,
                round: self.round,
                optimizer_steps,
                evaluations: self.evaluations.clone(),
                idle_steps: self.idle_steps,
                micro_batch_tokens: self.micro_batch_tokens,
                tiled: actor.products == Precision::Bf16Tiled,
                objective: self.objective.state(),
                report: self.report.clone(),
                sampled: self.sampled.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            };
            write_json(&dir.join(STATE), &state)?;
            rollout::write(&dir.join(ROLLOUTS), &self.rollouts)?;
            for (number, groups) in self.ahead.iter().enumerate() {
                rollout::write(&dir.join(ahead(number + 1)), groups)?;
            }
            if !self.held_out.is_empty() {
                rollout::write(&dir.join(HELD_OUT), &self.held_out)?;
            }
            if let Some(rates) = self.rows.rates() {
                rates.write(&dir.join(ROWS))?;
            }
            Ok(ArtifactSummary::Checkpoint)
        })
    }

    /// Gives rank 0 this rank's part of the weights and of the optimizer's state, while it writes a training checkpoint.
    pub(super) fn send_state(&self) -> Result<(), EngineError> {
        self.actor.weights.wholly(self.ranks(), || Ok(()))?;
        let folder = &self.job.actor.directory;
        // Written to the disk first, so that there is memory for one tensor of it at a time.
        // In a folder, as everything that an attempt leaves unfinished, which the next one removes.
        let own = folder.join(format!("moments-{}.tmp", self.ranks().rank()));
        std::fs::create_dir_all(&own).map_err(|e| EngineError::io("creating", &own, e))?;
        let path = own.join(OPTIMIZER);
        write_safetensors(&path, self.optimizer.state(&self.actor.weights).1)?;
        self.actor.weights.backend().check()?;
        let io = |e| EngineError::io("reading", &path, e);
        let mut file = std::fs::File::open(&path).map_err(io)?;
        // It needs no name any more.
        std::fs::remove_dir_all(&own).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let most = self.ranks().gather_values(size)?.into_iter().max().unwrap_or(0);
        for _ in 0..most.div_ceil(PIECE) {
            let mut piece = Vec::new();
            (&mut file).take(PIECE).read_to_end(&mut piece).map_err(io)?;
            self.ranks().tell_first(&piece)?;
        }
        Ok(())
    }

    /// Writes the parts of the other ranks beside that of rank 0.
    fn receive_moments(&self, folder: &Path) -> Result<(), EngineError> {
        let ranks = self.ranks();
        let mut files = Vec::new();
        for rank in 1..ranks.size() {
            let path = folder.join(of_rank(rank));
            let file = std::fs::File::create(&path).map_err(|e| EngineError::io("creating", &path, e))?;
            files.push((path, file));
        }
        let most = ranks.gather_values(0_u64)?.into_iter().max().unwrap_or(0);
        for _ in 0..most.div_ceil(PIECE) {
            let pieces = ranks.tell_first(&[])?;
            for ((path, file), piece) in files.iter_mut().zip(&pieces[1..]) {
                file.write_all(piece).map_err(|e| EngineError::io("writing", path, e))?;
            }
        }
        Ok(())
    }

    /// Reads a training checkpoint after checking its digests, but for the weights, which have room in one place only.
    pub(super) fn stored(&self, directory: &Path) -> Result<Stored<B>, EngineError> {
        artifact::verify(directory)?;
        let path = directory.join(STATE);
        let text = std::fs::read(&path).map_err(|e| EngineError::io("reading", &path, e))?;
        let state: State = serde_json::from_slice(&text).map_err(|e| EngineError::InvalidData {
            code: "checkpoint_corrupt",
            detail: format!("{} cannot be read: {e}", path.display()),
        })?;
        let rollouts = rollout::read(&directory.join(ROLLOUTS))?;
        let later = (1..).map(|number| directory.join(ahead(number))).take_while(|path| path.exists());
        let ahead = later.map(|path| rollout::read(&path)).collect::<Result<_, _>>()?;
        let path = directory.join(HELD_OUT);
        let held_out = if path.exists() { rollout::read(&path)? } else { Vec::new() };
        let read = |_: &SolveRates| SolveRates::read(&directory.join(ROWS), self.job.train.len());
        let rates = self.rows.rates().map(read).transpose()?;
        let own = &self.actor.weights;
        let weights = own.stored(&directory.join(self.weights_file()))?;
        let mut objective = self.job.spec.objective.build(&self.job.spec.train);
        objective.restore(&state.objective).map_err(|error| EngineError::InvalidData {
            code: "checkpoint_corrupt",
            detail: format!("{}: {error}", directory.display()),
        })?;
        let mut optimizer = Optimizer::new(&self.job.spec.optimizer, own).among(own, self.ranks());
        // However many ranks there were.
        let parts = (1..).map(|rank| directory.join(of_rank(rank))).take_while(|path| path.exists());
        let parts: Vec<PathBuf> = std::iter::once(directory.join(OPTIMIZER)).chain(parts).collect();
        optimizer.restore(own, state.optimizer_steps, &parts)?;
        Ok(Stored { state, rollouts, ahead, held_out, rates, objective, optimizer, weights })
    }

    /// Goes on from a training checkpoint. After an error the trainer is good for nothing.
    pub(super) fn restore(&mut self, stored: Stored<B>) -> Result<(), EngineError> {
        let Stored { state, rollouts, ahead, held_out, rates, objective, optimizer, weights } = stored;
        self.actor.weights.restore(&weights)?;
        self.actor.decoder.measure()?;
        (self.objective, self.optimizer) = (objective, optimizer);
        let mut rounds = std::iter::once(rollouts).chain(ahead).map(|round| round.into_iter().map(Arc::new).collect());
        self.rollouts = rounds.next().unwrap_or_default();
        self.ahead = rounds.collect();
        self.held_out = held_out.into_iter().map(Arc::new).collect();
        self.round = state.round;
        if let Some(rates) = rates {
            Arc::make_mut(&mut self.rows).restore(rates);
        }
        self.step = state.step;
        self.evaluations = state.evaluations;
        self.idle_steps = state.idle_steps;
        self.micro_batch_tokens = state.micro_batch_tokens.max(1);
        self.report = state.report;
        let known = |(name, value): (String, f64)| Some((metric(&name)?.name, value));
        self.sampled = state.sampled.into_iter().filter_map(known).collect();
        Ok(())
    }

    /// Writes the finished model.
    pub(super) fn export(&self) -> Result<Saved, EngineError> {
        let actor = &self.job.actor;
        self.actor.weights.backend().end_phase();
        let directory = actor.directory.join(format!("model-{}-{}", actor.attempt, self.step));
        let dtype = self.job.spec.checkpoints.dtype;
        let dtype_name = match dtype {
            WeightDtype::F32 => "float32",
            WeightDtype::Bf16 => "bfloat16",
        };
        let config = self.actor.weights.config();
        let (tokenizer, chat) = (&self.actor.tokenizer, self.actor.chat.as_ref());
        artifact::save(&directory, actor.manifest(ArtifactKind::Inference, self.step), |folder| {
            let (weights, dir) = (self.weights_file(), &folder.path().to_owned());
            let (lora, digest) = self.save_finished(&dir.join(weights), dtype)?;
            if let Some(lora) = &lora {
                let peft = adapter::to_peft(config, lora, &actor.model.name);
                write_json(
                    &dir.join(adapter::CONFIG),
                    &peft.map_err(|error| EngineError::Internal(error.to_string()))?,
                )?;
                write_texts(dir, config, tokenizer, chat)?;
            } else {
                write_companions(dir, config, dtype_name, tokenizer, chat)?;
            }
            write_file(&dir.join("README.md"), self.model_card(&digest.1).as_bytes())?;
            folder.note(weights, digest);
            Ok(ArtifactSummary::Checkpoint)
        })
    }

    /// Writes what was trained, as others read it, and says how it is read if it is an adapter, and the file's digest.
    fn save_finished(&self, path: &Path, dtype: WeightDtype) -> Result<(Option<Lora>, FileDigest), EngineError> {
        let begun = self.job.spec.adapter.as_ref();
        if let (Some(adapter), Some(begun)) = (self.actor.decoder.adapter(), begun)
            && let Some((weights, lora)) = adapter.finished(begun)?
        {
            return Ok((Some(lora), weights.save(path, dtype)?));
        }
        Ok((begun.cloned(), self.actor.weights.save(path, dtype)?))
    }

    /// What the weights that are trained are called.
    fn weights_file(&self) -> &'static str {
        if self.job.spec.adapter.is_some() { adapter::WEIGHTS } else { WEIGHTS }
    }

    /// What hubs read of an adapter's card.
    fn front_matter(&self) -> String {
        let base = json!(self.job.actor.model.name);
        let is_adapter = self.job.spec.adapter.is_some();
        if is_adapter { format!("---\nbase_model: {base}\nlibrary_name: peft\n---\n\n") } else { String::new() }
    }

    fn model_card(&self, weights_sha256: &str) -> String {
        let evaluations: String =
            self.evaluations.iter().map(|e| format!("- after {} steps: {}\n", e.step, sentence(&e.pass_at))).collect();
        let spec = &self.job.description;
        format!(
            "{}# {}\n\nTrained by Anneal {} as job `{}` with the objective `{}`, {} optimizer steps.\n\n\
             ## Held-out accuracy\n\n{}\n## Digests\n\n- `{}`: sha256 `{weights_sha256}`\n- spec: `{}`\n\n\
             ## Spec\n\n```json\n{spec:#}\n```\n",
            self.front_matter(),
            self.job.name.as_deref().unwrap_or("Model"),
            env!("CARGO_PKG_VERSION"),
            self.job.actor.id,
            self.job.spec.objective.name(),
            self.step,
            if evaluations.is_empty() { "Not evaluated.\n" } else { &evaluations },
            self.weights_file(),
            self.job.actor.spec_digest,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_goes_on_sums_products_as_it_did_before() {
        let folders = tempfile::tempdir().unwrap();
        let saved = |name: &str, tiled: bool| {
            let state = State {
                step: 3,
                round: None,
                optimizer_steps: 3,
                evaluations: Vec::new(),
                idle_steps: 0,
                micro_batch_tokens: 256,
                tiled,
                objective: Value::Null,
                report: Map::new(),
                sampled: BTreeMap::new(),
            };
            let folder = folders.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            write_json(&folder.join(STATE), &state).unwrap();
            folder
        };
        let (tiled, paired, gone) = (saved("a", true), saved("b", false), folders.path().join("c"));
        let of = |folders: &[PathBuf]| products(spec::Precision::Bf16, folders);
        assert_eq!(of(&[gone.clone(), tiled, paired.clone()]), Precision::Bf16Tiled);
        assert_eq!(of(&[paired]), Precision::Bf16);
        assert_eq!(of(&[gone]), trial::quickest(spec::Precision::Bf16));
        assert_eq!(products(spec::Precision::F32, &[]), Precision::F32);
    }
}
