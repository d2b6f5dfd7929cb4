//! Models on their way into memory: where they come from, what they bring along for texts, and weights that are there
//! already.

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::{Deserialize, Serialize};

use super::backend::{Backend, Blocks, Source, Usage};
use super::cpu::Cpu;
use super::error::EngineError;
use super::model::adapter::{Adapter, Origin};
use super::model::reader::Reader;
use super::model::weights::Weights;
use crate::job::spec::PromptSpec;
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::{self, Inspection};
use crate::text::ModelText;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelSource {
    /// Its directory (or GGUF file).
    pub path: PathBuf,
    /// What its weights are drawn from, instead of being loaded.
    pub seed: Option<u64>,
    /// The directory of an adapter that belongs to it.
    pub adapter: Option<PathBuf>,
    /// What it is called where others read it.
    pub name: String,
}

/// A model: what it brings along for texts, its weights, and its adapter.
pub(super) struct Loaded<B: Backend> {
    pub inspection: Inspection,
    pub text: ModelText,
    /// What ends an answer; the chat template's end of a turn where there is one.
    pub end: Option<u32>,
    pub weights: Arc<Weights<B>>,
    pub adapter: Option<Adapter<B>>,
}

/// A model without its weights.
pub(super) struct Opened {
    pub inspection: Inspection,
    pub text: ModelText,
    /// What ends an answer; the chat template's end of a turn where there is one.
    pub end: Option<u32>,
}

impl Opened {
    /// What ends a turn in conversations ends completions as well.
    pub fn new(model: &ModelSource, prompt: &PromptSpec) -> Result<Self, EngineError> {
        let mut inspection = model.inspect()?;
        let text = ModelText::of(&inspection, prompt)?;
        let ends = &mut inspection.config.eos_token_ids;
        let end = text.end_of_turn(prompt);
        if let Some(end) = end.filter(|end| !ends.contains(end)) {
            ends.push(end);
        }
        let end = end.or(ends.first().copied());
        Ok(Self { inspection, text, end })
    }
}

/// Where weights may be loaded already.
pub(super) enum Known<'a, B: Backend> {
    Nowhere,
    /// Those of the same model.
    Here(&'a Arc<Weights<B>>),
    Among(&'a Bases),
}

/// Loads a model, or draws its weights, and its adapter unless that is to be merged into the weights.
pub(super) fn load<B: Backend>(
    model: &ModelSource,
    prompt: &PromptSpec,
    usage: Usage,
    backend: &Arc<B>,
    known: Known<'_, B>,
) -> Result<Loaded<B>, EngineError> {
    let Opened { inspection, text, end } = Opened::new(model, prompt)?;
    let merge = matches!(usage, Usage::Training(_));
    let fits = |weights: &Weights<B>| *weights.config() == inspection.config;
    let read = || model.read(&inspection, usage, merge, backend).map(Arc::new);
    let weights = match known {
        Known::Here(known) if fits(known) => Arc::clone(known),
        Known::Among(bases) if !merge => bases.get(model, usage, fits, read)?,
        Known::Here(_) | Known::Among(_) | Known::Nowhere => read()?,
    };
    let adapter = if merge { None } else { model.adapter(&inspection, backend)? };
    Ok(Loaded { inspection, text, end, weights, adapter })
}

impl ModelSource {
    /// Whether both differ by their adapters at most.
    pub fn shares_weights(&self, other: &Self) -> bool {
        self.path == other.path && self.seed == other.seed
    }

    pub(super) fn inspect(&self) -> Result<Inspection, EngineError> {
        let path = &self.path;
        Ok(if self.seed.is_some() { modelfile::inspect_blank(path)? } else { modelfile::inspect(path)? })
    }

    /// Its tensors one by one, with its adapter in them.
    pub(super) fn reader<'a>(&self, inspection: &'a Inspection) -> Result<MergedReader<'a>, EngineError> {
        let config = &inspection.config;
        let reader = match self.seed {
            Some(seed) => Reader::random(config, seed),
            None => Reader::open(inspection)?,
        };
        Ok(MergedReader { reader, adapter: self.adapter(inspection, &Arc::new(Cpu))? })
    }

    /// Its weights, with its adapter in them if they are to be merged.
    pub(super) fn read<B: Backend>(
        &self,
        inspection: &Inspection,
        usage: Usage,
        merge: bool,
        backend: &Arc<B>,
    ) -> Result<Weights<B>, EngineError> {
        let config = &inspection.config;
        let plain = Self { adapter: None, ..self.clone() };
        let mut reader = if merge { self.reader(inspection)? } else { plain.reader(inspection)? };
        Weights::of_tensors(backend, config, config.tensors(), usage, &mut reader)
    }

    /// Its adapter, if it has one.
    pub(super) fn adapter<B: Backend>(
        &self,
        inspection: &Inspection,
        backend: &Arc<B>,
    ) -> Result<Option<Adapter<B>>, EngineError> {
        let Some(directory) = self.adapter.clone() else { return Ok(None) };
        let base = Self { adapter: None, ..self.clone() };
        let mut base = base.reader(inspection)?;
        let origin = Origin::Stored { directory, lora: None };
        Adapter::load(backend, &inspection.config, &origin, &mut base).map(Some)
    }
}

/// The tensors of a model with an adapter in them, if it has one.
pub(super) struct MergedReader<'a> {
    reader: Reader<'a>,
    adapter: Option<Adapter<Cpu>>,
}

impl MergedReader<'_> {
    /// The numbers of a tensor.
    pub fn read(&self, spec: &TensorSpec) -> Result<Vec<f32>, EngineError> {
        let mut values = self.reader.read(spec)?;
        if let Some(adapter) = &self.adapter {
            adapter.merge(&spec.name, &mut values);
        }
        Ok(values)
    }
}

impl Source for MergedReader<'_> {
    fn read(&mut self, spec: &TensorSpec) -> Result<Vec<f32>, EngineError> {
        Self::read(self, spec)
    }

    fn blocks(&mut self, spec: &TensorSpec) -> Result<Option<Blocks>, EngineError> {
        if self.adapter.is_some() { Ok(None) } else { self.reader.blocks(spec) }
    }
}

/// Weights that the jobs of a process have in common: the first of them loads a model, the others take what is there, and
/// it is dropped with the last of them.
#[derive(Clone, Default)]
pub struct Bases(Arc<Mutex<Vec<Base>>>);

struct Base {
    /// Without its adapter.
    model: ModelSource,
    usage: Usage,
    /// [`Weights`] of some backend.
    weights: Weak<dyn Any + Send + Sync>,
}

impl Debug for Bases {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bases").finish_non_exhaustive()
    }
}

impl Bases {
    /// A model's weights for `usage`: those of another job for which `fits`, or else what `load` makes. Jobs that begin
    /// together wait for the one that loads.
    pub(super) fn get<B: Backend>(
        &self,
        model: &ModelSource,
        usage: Usage,
        fits: impl Fn(&Weights<B>) -> bool,
        load: impl FnOnce() -> Result<Arc<Weights<B>>, EngineError>,
    ) -> Result<Arc<Weights<B>>, EngineError> {
        let mut bases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bases.retain(|base| base.weights.strong_count() > 0);
        let same = bases.iter().filter(|base| base.model.shares_weights(model) && base.usage == usage);
        let known =
            same.filter_map(|base| base.weights.upgrade()?.downcast::<Weights<B>>().ok()).find(|known| fits(known));
        if let Some(known) = known {
            return Ok(known);
        }
        let loaded = load()?;
        let weights: Arc<dyn Any + Send + Sync> = Arc::clone(&loaded) as _;
        let model = ModelSource { adapter: None, ..model.clone() };
        bases.push(Base { model, usage, weights: Arc::downgrade(&weights) });
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cpu::Cpu;
    use crate::engine::kernels::gemm::Precision;

    #[test]
    fn weights_are_loaded_once_for_jobs_that_can_share_them_and_dropped_with_the_last_of_them() {
        let bases = Bases::default();
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let model = ModelSource { path, seed: None, adapter: None, name: String::new() };
        let tuned = ModelSource { adapter: Some("elsewhere".into()), ..model.clone() };
        let drawn = ModelSource { seed: Some(1), ..model.clone() };
        let (f32, bf16) = (Usage::Computing(Precision::F32), Usage::Computing(Precision::Bf16));
        let get = |model: &ModelSource, usage, fits: bool| {
            let read = || Ok(Arc::new(model.read(&model.inspect()?, usage, false, &Arc::new(Cpu))?));
            bases.get::<Cpu>(model, usage, |_| fits, read).unwrap()
        };
        let first = get(&model, f32, true);
        assert!(Arc::ptr_eq(&first, &get(&tuned, f32, true)), "an adapter changes nothing of the weights");
        for (other, usage, fits) in [(&drawn, f32, true), (&model, bf16, true), (&model, f32, false)] {
            assert!(!Arc::ptr_eq(&first, &get(other, usage, fits)), "{other:?} {usage:?} {fits}");
        }
        let watched = Arc::downgrade(&first);
        drop(first);
        assert_eq!(watched.strong_count(), 0);
        get(&model, f32, true);
        assert_eq!(bases.0.lock().unwrap().len(), 1, "what nobody has is forgotten");

        let refused = bases.get::<Cpu>(&model, f32, |_| true, || Err(EngineError::full("reading")));
        assert!(refused.is_err());
    }
}
