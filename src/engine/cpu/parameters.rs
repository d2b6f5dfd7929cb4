//! Weights in memory, and what becomes of their gradients.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use half::bf16;
use rayon::prelude::*;

use super::Cpu;
use crate::engine::backend::{Moments, Source, Tensor, Tensors, Training, Update, Usage};
use crate::engine::collective::Collective;
use crate::engine::error::EngineError;
use crate::engine::gradients::GradientSum;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::codes::Codes;
use crate::engine::kernels::gemm::{Kept, Panels, Strip, View};
use crate::engine::kernels::narrow::widen;
use crate::engine::kernels::pages::moved;
use crate::engine::moments::{self, Begin, Master, Noise, Order, Packed};
use crate::engine::ops::attention::Heads;
use crate::engine::ops::embedding::gather;
use crate::engine::ops::linear::Matrices;
use crate::engine::ops::norm::HeadNorms;
use crate::engine::ops::{bias, rows_per_task};
use crate::engine::projection::{LowRank, Norm, Projection};
use crate::engine::shares::Shares;
use crate::job::spec::{Masters, MomentState};
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;

type Result<T> = std::result::Result<T, EngineError>;

/// Weights. Everyone who computes with them shares them; one thread at a time changes those that are trained, in f32 or in
/// bf16.
#[derive(Debug)]
pub struct Parameters {
    weights: Vec<Weight>,
    /// Grows with every change, so that what was made of the weights can tell whether it is still right.
    version: AtomicU64,
}

#[derive(Debug)]
struct Weight {
    name: String,
    shape: Vec<usize>,
    /// None of a matrix that is kept otherwise.
    values: RwLock<Vec<f32>>,
    /// One that is trained in bf16, as its bits.
    narrow: Option<RwLock<Vec<u16>>>,
    /// One that never changes.
    frozen: Option<Kept>,
}

/// Gradients to be written, or with their flags added to.
pub(super) type Sums<'a> = [(&'a mut [f32], bool)];

/// A weight's numbers, as long as nobody changes them.
pub type Values<'a> = RwLockReadGuard<'a, Vec<f32>>;

impl Parameters {
    pub fn values(&self, index: usize) -> Values<'_> {
        self.weights[index].values.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of a weight to be changed; [`Self::changed`] comes after.
    pub fn values_mut(&self, index: usize) -> RwLockWriteGuard<'_, Vec<f32>> {
        self.weights[index].values.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who keep something made of the weights that it is out of date.
    pub fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The tensors, in the order of their places.
    pub fn into_tensors(self) -> Vec<Tensor> {
        let tensor = |(index, weight): (usize, &Weight)| {
            let (name, shape) = (weight.name.clone(), weight.shape.clone());
            let values = match &weight.narrow {
                Some(_) => self.read(index, <[f32]>::to_vec),
                None => std::mem::take(&mut *self.values_mut(index)),
            };
            Tensor { name, shape, values }
        };
        self.weights.iter().enumerate().map(tensor).collect()
    }

    /// Numbers of a row of a matrix.
    pub(super) fn width(&self, index: usize) -> usize {
        self.weights[index].shape[1]
    }

    /// Some rows of a matrix.
    pub(super) fn gather(&self, index: usize, width: usize, rows: &[u32]) -> Buffer {
        let Some(read) = self.elsewhere(index) else {
            return gather(&self.values(index), width, rows);
        };
        let mut out = Buffer::new(rows.len() * width);
        let each = out.par_chunks_mut(width).zip(rows).with_min_len(rows_per_task(width));
        each.for_each(|(out, row)| read(*row as usize, out));
        out
    }

    /// The bits of a matrix that is trained in bf16.
    fn narrow(&self, index: usize) -> Option<RwLockReadGuard<'_, Vec<u16>>> {
        let narrow = self.weights[index].narrow.as_ref()?;
        Some(narrow.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What reads a row of a matrix that is not kept in f32.
    fn elsewhere(&self, index: usize) -> Option<impl Fn(usize, &mut [f32]) + Sync> {
        let (frozen, narrow) = (self.weights[index].frozen.as_ref(), self.narrow(index));
        let is_elsewhere = frozen.is_some() || narrow.is_some();
        let read = move |row: usize, out: &mut [f32]| {
            if let Some(frozen) = frozen {
                frozen.read_row(row, out);
            } else if let Some(narrow) = &narrow {
                widen(&narrow[row * out.len()..][..out.len()], out);
            }
        };
        is_elsewhere.then_some(read)
    }

    fn narrow_mut(&self, index: usize) -> Option<RwLockWriteGuard<'_, Vec<u16>>> {
        let narrow = self.weights[index].narrow.as_ref()?;
        Some(narrow.write().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn len_of(&self, index: usize) -> usize {
        self.weights[index].shape.iter().product()
    }

    /// `x W^T`, and the biases.
    pub(super) fn project(&self, projection: &Projection, x: &[f32], keep: bool) -> Buffer {
        let mut out = self.with(projection, |w| projection.linear.forward(x, w, keep));
        if !projection.biases.is_empty() {
            let values: Vec<Values<'_>> = projection.biases.iter().map(|index| self.values(*index)).collect();
            let slices: Vec<&[f32]> = values.iter().map(|v| &v[..]).collect();
            bias::add_biases(&mut out, &slices);
        }
        out
    }

    /// What lies between the factors of a low-rank change, scaled.
    pub(super) fn inner(&self, change: &LowRank, x: &[f32], keep: bool) -> Buffer {
        let mut inner = self.project(&change.down, x, keep);
        bias::scale(&mut inner, change.scale);
        inner
    }

    /// Its gradient, for that of the result.
    pub(super) fn inner_gradient(&self, change: &LowRank, dy: &[f32]) -> Buffer {
        let width = change.inner();
        let mut grad = Buffer::new(dy.len() / change.output * width);
        for (which, up) in change.ups.iter().enumerate() {
            let linear = &up.projection.linear;
            let own = View::new(dy, change.output).columns(up.first, linear.output);
            let target = Strip { values: &mut grad, width, first: which * change.rank };
            self.with(&up.projection, |b| linear.input_gradient_into(own, b, target, false));
        }
        bias::scale(&mut grad, change.scale);
        grad
    }

    /// Has the gradients of some weights written, or added to what is there.
    pub(super) fn sum(&self, indices: &[usize], sums: &mut GradientSum, write: impl FnOnce(&mut Sums<'_>)) {
        let mut own: Vec<_> = indices.iter().map(|index| sums.take(*index, self.len_of(*index))).collect();
        let mut targets: Vec<(&mut [f32], bool)> = own.iter_mut().map(|s| (&mut s.values[..], s.begun)).collect();
        write(&mut targets);
        indices.iter().zip(own).for_each(|(index, sum)| sums.put(*index, sum.values));
    }

    /// Calls `f` with what a norm multiplies by.
    pub(super) fn with_norm<T>(&self, norm: Norm, f: impl FnOnce(&[f32]) -> T) -> T {
        let values = self.values(norm.weight);
        if norm.offset == 0.0 {
            return f(&values);
        }
        f(&values.iter().map(|weight| weight + norm.offset).collect::<Vec<f32>>())
    }

    /// The same for the norms of queries and of keys.
    pub(super) fn with_head_norms<T>(&self, heads: Heads, norms: [Norm; 2], f: impl FnOnce(HeadNorms<'_>) -> T) -> T {
        let eps = norms[0].eps;
        self.with_norm(norms[0], |queries| {
            self.with_norm(norms[1], |keys| f(HeadNorms { heads, weights: [queries, keys], eps }))
        })
    }

    /// Calls `f` with a projection's weights.
    pub(super) fn with<T>(&self, projection: &Projection, f: impl FnOnce(Matrices<'_>) -> T) -> T {
        let frozen: Option<Vec<&Kept>> =
            projection.weights.iter().map(|index| self.weights[*index].frozen.as_ref()).collect();
        if let Some(frozen) = frozen {
            return f(Matrices::Frozen(&frozen));
        }
        let version = self.version.load(Ordering::Acquire);
        let narrow: Option<Vec<_>> = projection.weights.iter().map(|index| self.narrow(*index)).collect();
        if let Some(narrow) = narrow {
            let slices: Vec<&[u16]> = narrow.iter().map(|v| &v[..]).collect();
            return f(Matrices::Narrow { values: &slices, version });
        }
        let values: Vec<Values<'_>> = projection.weights.iter().map(|index| self.values(*index)).collect();
        let slices: Vec<&[f32]> = values.iter().map(|v| &v[..]).collect();
        f(Matrices::Changing { values: &slices, version })
    }
}

impl Tensors for Parameters {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        let Some(read) = self.elsewhere(index) else {
            return f(&self.values(index));
        };
        let mut values = vec![0.0; self.len_of(index)];
        let rows = values.par_chunks_mut(self.width(index)).enumerate();
        rows.for_each(|(row, out)| read(row, out));
        f(&values)
    }
}

/// The nearest bf16, as their bits.
fn bits(values: &[f32]) -> Vec<u16> {
    values.iter().map(|value| bf16::from_f32(*value).to_bits()).collect()
}

/// First or second moments.
#[derive(Debug)]
pub struct CpuMoments {
    kind: MomentState,
    tensors: Vec<Packed>,
}

impl Moments for CpuMoments {
    fn saved_as(&self) -> MomentState {
        self.kind
    }

    fn packed(&self, index: usize) -> Cow<'_, Packed> {
        Cow::Borrowed(&self.tensors[index])
    }
}

/// Zeros for gradients that have not begun.
pub(super) fn clear(targets: &mut Sums<'_>) {
    targets.iter_mut().filter(|(_, begun)| !begun).for_each(|(sum, _)| sum.fill(0.0));
}

impl Tensors for Vec<Vec<f32>> {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        f(&self[index])
    }
}

impl Training for Cpu {
    fn parameters(
        self: &Arc<Self>,
        _config: &ModelConfig,
        specs: &[TensorSpec],
        usage: Usage,
        source: &mut dyn Source,
    ) -> Result<Parameters> {
        let mut specs: Vec<&TensorSpec> = specs.iter().collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        let mut weights = Vec::with_capacity(specs.len());
        for spec in specs {
            let (name, shape) = (spec.name.clone(), spec.shape.clone());
            let frozen = match (usage, &shape[..]) {
                (Usage::Computing(precision), [_, columns]) => Some(match source.blocks(spec)? {
                    Some((kind, bytes)) => Kept::Codes(Codes::of_blocks(kind, &bytes, *columns)),
                    None => Kept::Panels(Panels::transposed(&[&source.read(spec)?], *columns, precision)),
                }),
                (Usage::Coded(_), [_, columns]) => Some(Kept::Codes(Codes::of_matrix(&source.read(spec)?, *columns))),
                _ => None,
            };
            let narrow = match (usage, &shape[..]) {
                (Usage::Training(Masters::Bf16), [_, _]) => Some(RwLock::new(bits(&source.read(spec)?))),
                _ => None,
            };
            let is_elsewhere = frozen.is_some() || narrow.is_some();
            let values = if is_elsewhere { Vec::new() } else { moved(source.read(spec)?) };
            weights.push(Weight { name, shape, values: RwLock::new(values), narrow, frozen });
        }
        Ok(Parameters { weights, version: AtomicU64::new(0) })
    }

    fn write(&self, parameters: &Parameters, index: usize, values: &[f32]) -> Result<()> {
        match parameters.narrow_mut(index) {
            Some(mut narrow) => *narrow = bits(values),
            None => parameters.values_mut(index).copy_from_slice(values),
        }
        parameters.changed();
        Ok(())
    }

    fn moments(
        &self,
        parameters: &Parameters,
        (kind, order): (MomentState, Order),
        begin: Vec<Begin>,
    ) -> Result<CpuMoments> {
        let of = |(index, begin): (usize, Begin)| match begin {
            // As devices save codes.
            Begin::Stored(Packed::F32(values)) if kind == MomentState::Int8 => Packed::coded(&values, order),
            Begin::Stored(Packed::F32(values)) => Packed::F32(moved(values)),
            Begin::Stored(packed) => packed,
            Begin::Zeros => Packed::zeros(kind, parameters.len_of(index)),
            Begin::Nothing => Packed::zeros(kind, 0),
        };
        Ok(CpuMoments { kind, tensors: begin.into_iter().enumerate().map(of).collect() })
    }

    fn squares(&self, sums: &GradientSum, places: &[usize]) -> Result<Vec<Vec<f64>>> {
        Ok(places.iter().map(|index| sums.squares(*index)).collect())
    }

    fn gradient_numbers(&self, sums: &GradientSum) -> Result<Vec<f32>> {
        Ok(sums.numbers())
    }

    fn sum_over_ranks(
        &self,
        parameters: &Parameters,
        sums: &mut GradientSum,
        shares: Option<&Shares>,
        ranks: &dyn Collective,
    ) -> Result<()> {
        let count = parameters.weights.len();
        let mut flat = Vec::with_capacity((0..count).map(|index| parameters.len_of(index)).sum());
        let mut places = Vec::with_capacity(count);
        for (index, sum) in std::mem::take(sums).into_sums(count).enumerate() {
            let begin = flat.len();
            match sum {
                Some(sum) => flat.extend_from_slice(&sum),
                // A rank without a micro-batch.
                None => flat.resize(begin + parameters.len_of(index), 0.0),
            }
            places.push(begin..flat.len());
        }
        match shares {
            Some(shares) => ranks.sum_parts(&mut flat, &shares.parts(|index| places[index].clone()))?,
            None => ranks.sum(&mut flat)?,
        }
        for index in (0..count).filter(|index| shares.is_none_or(|shares| shares.is_own(*index))) {
            sums.put(index, Buffer::copy(&flat[places[index].clone()]));
        }
        Ok(())
    }

    fn order(&self, parameters: &Parameters) -> Vec<usize> {
        (0..parameters.weights.len()).collect()
    }

    fn spread(&self, parameters: &Parameters, shares: &Shares, ranks: &dyn Collective) -> Result<()> {
        let bytes = |index: usize| match parameters.narrow(index) {
            Some(narrow) => bytemuck::cast_slice::<u16, u8>(&narrow).to_vec(),
            None => bytemuck::cast_slice::<f32, u8>(&parameters.values(index)).to_vec(),
        };
        let own: Vec<u8> = shares.of(shares.rank()).flat_map(bytes).collect();
        let all = ranks.gather(&own)?;
        let short = || EngineError::Internal(String::from("between ranks: a share has another size"));
        for (rank, all) in all.iter().enumerate().filter(|(rank, _)| *rank != shares.rank()) {
            let mut rest = &all[..];
            for index in shares.of(rank) {
                let (mut wide, mut narrow) = (parameters.values_mut(index), parameters.narrow_mut(index));
                let target: &mut [u8] = match &mut narrow {
                    Some(narrow) => bytemuck::cast_slice_mut(narrow),
                    None => bytemuck::cast_slice_mut(&mut wide),
                };
                let (given, behind) = rest.split_at_checked(target.len()).ok_or_else(short)?;
                target.copy_from_slice(given);
                rest = behind;
            }
        }
        parameters.changed();
        Ok(())
    }

    fn divide(&self, _parameters: &Parameters, _shares: &Shares) -> Result<()> {
        // Passes read what is trained.
        Ok(())
    }

    fn unite(&self, _parameters: &Parameters, _shares: &Shares, _ranks: &dyn Collective) -> Result<()> {
        Ok(())
    }

    fn update(
        &self,
        parameters: &Parameters,
        sums: &GradientSum,
        [first, second]: &mut [CpuMoments; 2],
        step: u64,
        update: &Update<'_>,
    ) -> Result<()> {
        for (index, (first, second)) in first.tensors.iter_mut().zip(&mut second.tensors).enumerate() {
            let Weight { name, shape, .. } = &parameters.weights[index];
            if first.is_empty() {
                continue;
            }
            let Some(gradient) = sums.get(index) else {
                return Err(EngineError::Internal(format!("no gradient reached `{name}`")));
            };
            let (mut wide, mut narrow) = (parameters.values_mut(index), parameters.narrow_mut(index));
            let weight = narrow.as_deref_mut().map_or(Master::F32(&mut wide), |bits| Master::Bf16(bits));
            let noise = Noise::all(step, index);
            match (&update.matrices[index][..], &shape[..]) {
                (rows @ [_, ..], [_, columns]) => {
                    moments::muon(weight, first, gradient, update.muon, (rows, *columns), noise);
                }
                _ => moments::update(weight, first, second, gradient, update.adamw(shape), noise),
            }
        }
        parameters.changed();
        Ok(())
    }
}
