//! Weights and gradients, each as one flat piece of memory: an optimizer step is one pass, a sum over devices one call.

use std::ops::Range;
use std::sync::Arc;

use super::layout::{Flat, Layout};
use super::moments::{CudaMoments, copy_at, parts};
use super::{Cuda, Memory};
use crate::engine::backend::{Source, Tensors, Training, Update, Usage};
use crate::engine::collective::Collective;
use crate::engine::driver::{Argument, Kind, Pointer, Result};
use crate::engine::error::EngineError;
use crate::engine::moments::{Begin, Order};
use crate::engine::shares::Shares;
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
        Ok(Self { master: Flat::of(cuda, &layout, first..layout.len())?, copy })
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

    fn squares(&self, sums: &Gradients, places: &[usize]) -> Result<Vec<Vec<f64>>, EngineError> {
        Ok(sums.get().map(|sums| sums.squares(places)).transpose()?.unwrap_or_default())
    }

    fn gradient_numbers(&self, sums: &Gradients) -> Result<Vec<f32>, EngineError> {
        Ok(sums.get().map(Flat::numbers).transpose()?.unwrap_or_default())
    }

    fn sum_over_ranks(
        &self,
        parameters: &Parameters,
        sums: &mut Gradients,
        shares: Option<&Shares>,
        ranks: &dyn Collective,
    ) -> Result<(), EngineError> {
        let sums = sums.of(parameters)?;
        let parts = shares.map(|shares| shares.parts(|index| parameters.master.layout().place(index)));
        if ranks.has_joined() {
            return Ok(parts.map_or_else(|| sums.sum_over_ranks(), |parts| sums.sum_parts(&parts))?);
        }
        let mut numbers = sums.numbers()?;
        match parts {
            None => {
                ranks.sum(&mut numbers)?;
                Ok(sums.write_all(&numbers)?)
            }
            Some(parts) => {
                ranks.sum_parts(&mut numbers, &parts)?;
                let own = &parts[ranks.rank()];
                Ok(sums.write_range(own, &numbers[own.clone()])?)
            }
        }
    }

    fn order(&self, parameters: &Parameters) -> Vec<usize> {
        let layout = parameters.master.layout();
        let mut places: Vec<usize> = (0..layout.count()).collect();
        places.sort_by_key(|index| layout.place(*index).start);
        places
    }

    fn spread(&self, parameters: &Parameters, shares: &Shares, ranks: &dyn Collective) -> Result<(), EngineError> {
        let Parameters { master, copy } = parameters;
        let parts = shares.parts(|index| master.layout().place(index));
        let given = if ranks.has_joined() {
            None
        } else {
            let own = master.numbers_of(&parts[shares.rank()])?;
            Some(ranks.gather(bytemuck::cast_slice(&own))?)
        };
        for (rank, range) in parts.into_iter().enumerate() {
            match &given {
                None => master.broadcast(&range, rank)?,
                Some(given) => {
                    let numbers = given[rank].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                    let numbers: Vec<f32> = numbers.collect();
                    if numbers.len() != range.len() {
                        let detail = String::from("between ranks: a share has another size");
                        return Err(EngineError::Internal(detail));
                    }
                    master.write_range(&range, &numbers)?;
                }
            }
            // What this rank stepped itself has its copy already.
            if let Some(copy) = copy.as_ref().filter(|_| rank != shares.rank() && !range.is_empty()) {
                self.convert(copy.at(range.start), master.at_place(range.start), range.len())?;
            }
        }
        Ok(())
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
        let own = moments[0].range().clone();
        let ranges = master.layout().ranges();
        for range in parts(master.layout(), &own) {
            let how = if range.start < ranges[2].start { update.matrix } else { update.vector };
            let place = |flat: &Flat| Argument::Pointer(flat.at_place(range.start));
            let numbers = [place(master), copy_at(copy.as_ref(), range.start), place(sums)];
            if range.end <= moments[1].range().start {
                // Matrices that have no second moments.
                moments[0].look_ahead(&range, numbers[2], step, update.muon)?;
                self.orthogonalise_all(sums, update, &own)?;
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
    fn orthogonalise_all(&self, sums: &Flat, update: &Update<'_>, own: &Range<usize>) -> Result<()> {
        let is_own = |index: usize| own.contains(&sums.layout().place(index).start);
        let matrices = update.matrices.iter().enumerate();
        for (index, matrices) in matrices.filter(|(index, rows)| !rows.is_empty() && is_own(*index)) {
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
