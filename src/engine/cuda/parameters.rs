//! Weights and gradients, each as one flat piece of memory: an optimizer step is one pass, a sum over devices one call.

use std::sync::Arc;

use super::layout::{Flat, Layout};
use super::moments::{CudaMoments, copy_at};
use super::{Cuda, Memory};
use crate::engine::backend::{Source, Tensors, Training, Update, Usage};
use crate::engine::collective::Collective;
use crate::engine::driver::{Argument, Kind, Pointer, Result};
use crate::engine::error::EngineError;
use crate::engine::moments::{Begin, Order};
use crate::job::spec::{Masters, MomentState};
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;

/// Gradients of a step, summed over its micro-batches, side by side.
#[derive(Debug, Default)]
pub struct Gradients {
    sums: Option<Flat>,
}

impl Gradients {
    /// The sums; zeros at first.
    pub fn of(&mut self, parameters: &Parameters) -> Result<&Flat> {
        match &mut self.sums {
            Some(sums) => Ok(sums),
            none @ None => Ok(none.insert(parameters.zeros()?)),
        }
    }

    /// The sums, if any gradient reached the device.
    pub fn get(&self) -> Option<&Flat> {
        self.sums.as_ref()
    }
}

/// The weights of a model: f32 masters, and the copy that products read when that is of another kind.
#[derive(Debug)]
pub struct Parameters {
    master: Flat,
    copy: Option<Memory>,
}

impl Parameters {
    /// Memory for weights. What is never changed is kept once: matrices in the kind that products read.
    fn new(cuda: &Arc<Cuda>, specs: &[TensorSpec], usage: Usage) -> Result<Self> {
        let layout = Arc::new(Layout::new(specs));
        let first = if cuda.is_narrow() && !matches!(usage, Usage::Training(_)) { layout.ranges()[2].start } else { 0 };
        let copy = if cuda.is_narrow() { Some(cuda.activations(layout.len())?) } else { None };
        Ok(Self { master: Flat::from(cuda, &layout, first)?, copy })
    }

    fn cuda(&self) -> &Arc<Cuda> {
        self.master.cuda()
    }

    /// Zeros for gradients or moments.
    fn zeros(&self) -> Result<Flat> {
        Flat::zeros(self.cuda(), self.master.layout())
    }

    /// The address of a matrix as products read it.
    pub fn matrix(&self, index: usize) -> Pointer {
        match &self.copy {
            Some(copy) => copy.at(self.master.layout().place(index).start),
            None => self.master.at(index),
        }
    }

    /// The address of a vector, which is f32 always.
    pub fn vector(&self, index: usize) -> Argument {
        Argument::Pointer(self.master.at(index))
    }

    /// Numbers of one weight.
    pub fn len_of(&self, index: usize) -> usize {
        self.master.layout().place(index).len()
    }

    fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        let place = self.master.layout().place(index);
        let at = if self.master.has(index) {
            self.master.write(index, values)?;
            None
        } else {
            Some(self.cuda().upload(Kind::F32, values)?)
        };
        let Some(copy) = &self.copy else { return Ok(()) };
        let from = at.as_ref().map_or_else(|| self.master.at(index), Memory::pointer);
        self.cuda().convert(copy.at(place.start), from, place.len())
    }
}

impl Tensors for Parameters {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        debug_assert!(self.master.has(index), "matrices that never change are read where they came from");
        self.master.read(index, f)
    }
}

impl Training for Cuda {
    fn parameters(
        self: &Arc<Self>,
        config: &ModelConfig,
        specs: &[TensorSpec],
        usage: Usage,
        source: &mut dyn Source,
    ) -> Result<Parameters, EngineError> {
        Self::check_shape(config)?;
        if usage == Usage::Training(Masters::Bf16) {
            let detail = "weights are trained in bf16 on the CPU only; take `masters` f32, or the device `cpu`";
            return Err(EngineError::InvalidData { code: "cpu_only", detail: String::from(detail) });
        }
        let parameters = Parameters::new(self, specs, usage)?;
        let mut sorted: Vec<&TensorSpec> = specs.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for (index, spec) in sorted.into_iter().enumerate() {
            parameters.write(index, &source.read(spec)?)?;
        }
        Ok(parameters)
    }

    fn write(&self, parameters: &Parameters, index: usize, values: &[f32]) -> Result<(), EngineError> {
        Ok(parameters.write(index, values)?)
    }

    fn moments(
        &self,
        parameters: &Parameters,
        kind: (MomentState, Order),
        begin: Vec<Begin>,
    ) -> Result<CudaMoments, EngineError> {
        Ok(CudaMoments::new(parameters.cuda(), parameters.master.layout(), kind, begin)?)
    }

    fn gradient_norm(&self, sums: &Gradients, scale: f64) -> Result<f64, EngineError> {
        let squares = sums.get().map(Flat::squares).transpose()?;
        Ok(squares.unwrap_or(0.0).sqrt() * scale)
    }

    fn gradient_numbers(&self, sums: &Gradients) -> Result<Vec<f32>, EngineError> {
        Ok(sums.get().map(Flat::numbers).transpose()?.unwrap_or_default())
    }

    fn sum_over_ranks(
        &self,
        parameters: &Parameters,
        sums: &mut Gradients,
        ranks: &dyn Collective,
    ) -> Result<(), EngineError> {
        let sums = sums.of(parameters)?;
        if ranks.has_joined() {
            return Ok(sums.sum_over_ranks()?);
        }
        let mut numbers = sums.numbers()?;
        ranks.sum(&mut numbers)?;
        Ok(sums.write_all(&numbers)?)
    }

    fn update(
        &self,
        parameters: &Parameters,
        sums: &Gradients,
        moments: &mut [CudaMoments; 2],
        step: u64,
        update: &Update<'_>,
    ) -> Result<(), EngineError> {
        let Some(sums) = sums.get() else {
            return Err(EngineError::Internal(String::from("no gradient reached the device")));
        };
        let Parameters { master, copy } = parameters;
        let adamw = [update.matrix, update.matrix, update.vector];
        let parts = adamw.into_iter().zip(master.layout().ranges());
        for (how, range) in parts.filter(|(_, range)| !range.is_empty()) {
            let place = |flat: &Flat| Argument::Pointer(flat.at_place(range.start));
            let numbers = [place(master), copy_at(copy.as_ref(), range.start), place(sums)];
            if range.end <= moments[1].begin() {
                // Matrices that have no second moments.
                moments[0].look_ahead(&range, numbers[2], step, update.muon)?;
                self.orthogonalise_all(sums, update)?;
                let how = [Argument::U64(range.len() as u64), Argument::F32(update.muon.keep)];
                self.run("subtract", Self::blocks(range.len()), &[&numbers[..], &how].concat())?;
            } else {
                CudaMoments::update(moments, &range, numbers, step, how)?;
            }
        }
        Ok(())
    }
}

impl Cuda {
    /// Makes updates of Muon of what stands in the place of gradients.
    fn orthogonalise_all(&self, sums: &Flat, update: &Update<'_>) -> Result<()> {
        for (index, matrices) in update.matrices.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let columns = sums.layout().place(index).len() / matrices.iter().sum::<usize>();
            let mut at = sums.at(index);
            for rows in matrices {
                self.orthogonalise(at, (*rows, columns), update.muon.step_size(*rows, columns))?;
                at += (rows * columns * Kind::F32.bytes()) as Pointer;
            }
        }
        Ok(())
    }
}
