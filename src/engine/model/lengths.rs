//! An adapter that trains how long the rows of adapted weights are, apart from where they point (DoRA, arXiv 2402.09353):
//! with the magnitudes `m`, a row of `W + scale B A` counts with the length `m` in the place of its own. Its own length
//! changes with the factors, and is measured anew after every step.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::weights::Weights;
use crate::engine::backend::{Backend, Source, Storage, Usage};
use crate::engine::error::EngineError;
use crate::engine::kernels::gemm::Precision;
use crate::job::adapter::Lora;
use crate::modelfile::adapter::{Factor, factor_name};
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;

/// The lengths of the rows of adapted weights.
#[derive(Debug)]
pub struct RowLengths<B: Storage> {
    /// Squared, of the model's own weights, by the names of their magnitudes.
    squares: HashMap<String, Vec<f64>>,
    /// One over those of the rows with the factors, by the same names.
    inverses: Weights<B>,
    is_measured: AtomicBool,
}

impl<B: Backend> RowLengths<B> {
    /// Measures the weights that `base` gives.
    pub fn new(
        backend: &Arc<B>,
        config: &ModelConfig,
        lora: &Lora,
        base: &mut dyn Source,
    ) -> Result<Self, EngineError> {
        let mut squares = HashMap::new();
        for tensor in config.adapted(&lora.targets)? {
            let values = base.read(&tensor)?;
            let rows = values.par_chunks(tensor.shape[1]);
            let own = rows.map(|row| row.iter().map(|x| f64::from(*x).powi(2)).sum()).collect();
            squares.insert(factor_name(&tensor.name, Factor::Magnitude), own);
        }
        let specs = config.factors(lora)?;
        let specs = specs.into_iter().filter(|spec| squares.contains_key(&spec.name)).collect();
        let mut zeros = |spec: &TensorSpec| Ok(vec![0.0; spec.shape[0]]);
        let usage = Usage::Computing(Precision::F32);
        let inverses = Weights::of_tensors(backend, config, specs, usage, &mut zeros)?;
        Ok(Self { squares, inverses, is_measured: AtomicBool::new(false) })
    }

    /// The lengths of a weight's own rows.
    pub fn of_model(&self, magnitude: &str) -> Vec<f32> {
        self.squares(magnitude).iter().map(|square| square.sqrt() as f32).collect()
    }

    /// Squared, of a weight's own rows.
    pub fn squares(&self, magnitude: &str) -> &[f64] {
        self.squares.get(magnitude).map_or(&[], Vec::as_slice)
    }

    pub fn inverses(&self) -> &Weights<B> {
        &self.inverses
    }

    /// Whether the rows have to be measured, for the first time.
    pub fn begin(&self) -> bool {
        !self.is_measured.swap(true, Ordering::AcqRel)
    }
}
