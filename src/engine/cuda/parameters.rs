//! Weights and gradients, each as one flat piece of memory: an optimizer step is one pass, a sum over devices one call.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::layout::{Flat, Layout, Piece};
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

/// The weights of a model: vectors, f32 masters of matrices, and the copy of these that products read when that is of another
/// kind.
#[derive(Debug)]
pub struct Parameters {
    /// Of all matrices; where products read the copy, none of weights that never change, and those of one rank's share of
    /// weights that are divided.
    masters: RwLock<Flat>,
    vectors: Flat,
    copy: Option<Memory>,
}

impl Parameters {
    /// Memory for weights. What is never changed is kept once: matrices in the kind that products read.
    fn new(cuda: &Arc<Cuda>, specs: &[TensorSpec], usage: Usage) -> Result<Self> {
        let layout = Arc::new(Layout::new(specs));
        let vectors = layout.vectors();
        let first = if cuda.is_narrow() && !matches!(usage, Usage::Training(_)) { vectors.start } else { 0 };
        let masters = RwLock::new(Flat::of(cuda, &layout, first..vectors.start)?);
        let copy = if cuda.is_narrow() { Some(cuda.activations(vectors.start)?) } else { None };
        Ok(Self { masters, vectors: Flat::of(cuda, &layout, vectors)?, copy })
    }

    fn cuda(&self) -> &Arc<Cuda> {
        self.vectors.cuda()
    }

    fn layout(&self) -> &Arc<Layout> {
        self.vectors.layout()
    }

    pub(super) fn masters(&self) -> RwLockReadGuard<'_, Flat> {
        self.masters.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Zeros for gradients or moments.
    fn zeros(&self) -> Result<Flat> {
        Flat::zeros(self.cuda(), self.layout())
    }

    /// The address of a matrix as products read it.
    pub fn matrix(&self, index: usize) -> Pointer {
        match &self.copy {
            Some(copy) => copy.at(self.layout().place(index).start),
            None => self.masters().at(index),
        }
    }

    /// The address of a vector, which is f32 always.
    pub fn vector(&self, index: usize) -> Argument {
        Argument::Pointer(self.vectors.at(index))
    }

    /// Numbers of one weight.
    pub fn len_of(&self, index: usize) -> usize {
        self.layout().place(index).len()
    }

    fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        if self.vectors.has(index) {
            return self.vectors.write(index, values);
        }
        let masters = self.masters();
        let at = if masters.has(index) {
            masters.write(index, values)?;
            None
        } else {
            Some(self.cuda().upload(Kind::F32, values)?)
        };
        let (Some(copy), place) = (&self.copy, self.layout().place(index)) else { return Ok(()) };
        let from = at.as_ref().map_or_else(|| masters.at(index), Memory::pointer);
        self.cuda().convert(copy.at(place.start), from, place.len())
    }

    /// The f32 numbers from a place on, which this rank has.
    fn at_place(&self, place: usize) -> Pointer {
        let is_vector = self.layout().vectors().contains(&place);
        if is_vector { self.vectors.at_place(place) } else { self.masters().at_place(place) }
    }

    /// Where what passes read of a range lies, and its bytes: matrices, and vectors.
    fn read_by_passes(&self, range: &Range<usize>) -> [Piece; 2] {
        let [matrices, vectors] = self.layout().split(range);
        let matrices = match &self.copy {
            Some(copy) => (copy.at(matrices.start), matrices.len() * copy.kind().bytes()),
            None => self.masters().piece(&matrices),
        };
        [matrices, self.vectors.piece(&vectors)]
    }

    /// Gives every rank's pieces to all others, which have them at places of their own.
    fn exchange(&self, pieces: &[Vec<Piece>], ranks: &dyn Collective) -> Result<(), EngineError> {
        let driver = self.cuda().driver();
        if ranks.has_joined() {
            for (rank, pieces) in pieces.iter().enumerate() {
                pieces.iter().try_for_each(|(at, bytes)| driver.broadcast(*at, *bytes, rank))?;
            }
            return Ok(());
        }
        let mut own = vec![0; pieces[ranks.rank()].iter().map(|(_, bytes)| bytes).sum()];
        let mut rest = &mut own[..];
        for (at, bytes) in &pieces[ranks.rank()] {
            let (piece, behind) = rest.split_at_mut(*bytes);
            driver.download(*at, piece)?;
            rest = behind;
        }
        let given = ranks.gather(&own)?;
        let others = given.iter().zip(pieces).enumerate().filter(|(rank, _)| *rank != ranks.rank());
        for (_, (given, pieces)) in others {
            let mut rest = &given[..];
            for (at, bytes) in pieces {
                let short = || EngineError::Internal(String::from("between ranks: a share has another size"));
                let (piece, behind) = rest.split_at_checked(*bytes).ok_or_else(short)?;
                driver.upload(*at, piece)?;
                rest = behind;
            }
        }
        Ok(())
    }
}

impl Tensors for Parameters {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        if self.vectors.has(index) {
            return self.vectors.read(index, f);
        }
        let masters = self.masters();
        debug_assert!(masters.has(index), "matrices that never change are read where they came from");
        masters.read(index, f)
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
        Ok(CudaMoments::new(parameters.cuda(), parameters.layout(), kind, begin)?)
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
        let parts = shares.map(|shares| shares.parts(|index| parameters.layout().place(index)));
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
        let layout = parameters.layout();
        let mut places: Vec<usize> = (0..layout.count()).collect();
        places.sort_by_key(|index| layout.place(*index).start);
        places
    }

    fn spread(&self, parameters: &Parameters, shares: &Shares, ranks: &dyn Collective) -> Result<(), EngineError> {
        let parts = shares.parts(|index| parameters.layout().place(index));
        let pieces: Vec<_> = parts.iter().map(|part| parameters.read_by_passes(part).to_vec()).collect();
        parameters.exchange(&pieces, ranks)
    }

    fn divide(&self, parameters: &Parameters, shares: &Shares) -> Result<(), EngineError> {
        if parameters.copy.is_none() {
            return Ok(());
        }
        let layout = parameters.layout();
        let [own, _] = layout.split(&shares.parts(|index| layout.place(index))[shares.rank()]);
        let kept = Flat::of(parameters.cuda(), layout, own.clone())?;
        let mut masters = parameters.masters.write().unwrap_or_else(PoisonError::into_inner);
        let (to, bytes) = kept.piece(&own);
        self.driver().copy(to, masters.at_place(own.start), bytes)?;
        *masters = kept;
        Ok(())
    }

    fn unite(&self, parameters: &Parameters, shares: &Shares, ranks: &dyn Collective) -> Result<(), EngineError> {
        // One rank's share may be everything that is divided, and it takes part all the same.
        if parameters.copy.is_none() {
            return Ok(());
        }
        let layout = parameters.layout();
        let whole = Flat::of(parameters.cuda(), layout, 0..layout.vectors().start)?;
        let mut masters = parameters.masters.write().unwrap_or_else(PoisonError::into_inner);
        let (from, bytes) = masters.piece(masters.range());
        self.driver().copy(whole.at_place(masters.range().start), from, bytes)?;
        let parts = shares.parts(|index| layout.place(index));
        let pieces: Vec<_> = parts.iter().map(|part| vec![whole.piece(&layout.split(part)[0])]).collect();
        parameters.exchange(&pieces, ranks)?;
        *masters = whole;
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
        let (layout, own) = (parameters.layout(), moments[0].range().clone());
        for range in parts(layout, &own) {
            let is_vector = layout.vectors().contains(&range.start);
            let how = if is_vector { update.vector } else { update.matrix };
            let copy = parameters.copy.as_ref().filter(|_| !is_vector);
            let [weights, gradient] =
                [parameters.at_place(range.start), sums.at_place(range.start)].map(Argument::Pointer);
            let numbers = [weights, copy_at(copy, range.start), gradient];
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
