//! Weights in memory, and what becomes of their gradients.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rayon::prelude::*;

use super::Cpu;
use crate::engine::backend::{Moments, Source, Tensor, Tensors, Training, Usage};
use crate::engine::collective::Collective;
use crate::engine::error::EngineError;
use crate::engine::gradients::GradientSum;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::codes::Codes;
use crate::engine::kernels::gemm::{Kept, Panels, Strip, View};
use crate::engine::kernels::pages::moved;
use crate::engine::kernels::update::AdamW;
use crate::engine::moments::{self, Noise, Order, Packed};
use crate::engine::ops::attention::Heads;
use crate::engine::ops::embedding::gather;
use crate::engine::ops::linear::Matrices;
use crate::engine::ops::norm::HeadNorms;
use crate::engine::ops::{bias, rows_per_task};
use crate::engine::projection::{LowRank, Norm, Projection};
use crate::job::spec::MomentState;
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;

type Result<T> = std::result::Result<T, EngineError>;

/// Weights. Everyone who computes with them shares them; one thread at a time changes those that are trained, in f32.
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
    /// None of a matrix that never changes.
    values: RwLock<Vec<f32>>,
    /// Such a matrix.
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
        let tensor = |Weight { name, shape, values, .. }: Weight| {
            let values = values.into_inner().unwrap_or_else(PoisonError::into_inner);
            Tensor { name, shape, values }
        };
        self.weights.into_iter().map(tensor).collect()
    }

    /// Numbers of a row of a matrix.
    pub(super) fn width(&self, index: usize) -> usize {
        self.weights[index].shape[1]
    }

    /// Some rows of a matrix.
    pub(super) fn gather(&self, index: usize, width: usize, rows: &[u32]) -> Buffer {
        let Some(frozen) = &self.weights[index].frozen else {
            return gather(&self.values(index), width, rows);
        };
        let mut out = Buffer::new(rows.len() * width);
        let each = out.par_chunks_mut(width).zip(rows).with_min_len(rows_per_task(width));
        each.for_each(|(out, row)| frozen.read_row(*row as usize, out));
        out
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
        let values: Vec<Values<'_>> = projection.weights.iter().map(|index| self.values(*index)).collect();
        let slices: Vec<&[f32]> = values.iter().map(|v| &v[..]).collect();
        f(Matrices::Changing { values: &slices, version: self.version.load(Ordering::Acquire) })
    }
}

impl Tensors for Parameters {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        let Some(frozen) = &self.weights[index].frozen else {
            return f(&self.values(index));
        };
        let mut values = vec![0.0; self.len_of(index)];
        let rows = values.par_chunks_mut(self.weights[index].shape[1]).enumerate();
        rows.for_each(|(row, out)| frozen.read_row(row, out));
        f(&values)
    }
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
            let values = if frozen.is_some() { Vec::new() } else { moved(source.read(spec)?) };
            weights.push(Weight { name, shape, values: RwLock::new(values), frozen });
        }
        Ok(Parameters { weights, version: AtomicU64::new(0) })
    }

    fn write(&self, parameters: &Parameters, index: usize, values: &[f32]) -> Result<()> {
        parameters.values_mut(index).copy_from_slice(values);
        parameters.changed();
        Ok(())
    }

    fn moments(
        &self,
        parameters: &Parameters,
        (kind, order): (MomentState, Order),
        known: Vec<Option<Packed>>,
    ) -> Result<CpuMoments> {
        let of = |(index, known): (usize, Option<Packed>)| match known {
            // As devices save codes.
            Some(Packed::F32(values)) if kind == MomentState::Int8 => Packed::coded(&values, order),
            Some(Packed::F32(values)) => Packed::F32(moved(values)),
            Some(packed) => packed,
            None => Packed::zeros(kind, parameters.len_of(index)),
        };
        Ok(CpuMoments { kind, tensors: known.into_iter().enumerate().map(of).collect() })
    }

    fn gradient_norm(&self, sums: &GradientSum, scale: f64) -> Result<f64> {
        Ok(sums.norm(scale))
    }

    fn gradient_numbers(&self, sums: &GradientSum) -> Result<Vec<f32>> {
        Ok(sums.numbers())
    }

    fn sum_over_ranks(&self, parameters: &Parameters, sums: &mut GradientSum, ranks: &dyn Collective) -> Result<()> {
        let count = parameters.weights.len();
        let mut flat = Vec::with_capacity((0..count).map(|index| parameters.len_of(index)).sum());
        for index in 0..count {
            match sums.get(index) {
                Some(sum) => flat.extend_from_slice(sum),
                // A rank without a micro-batch.
                None => flat.resize(flat.len() + parameters.len_of(index), 0.0),
            }
        }
        ranks.sum(&mut flat)?;
        let mut rest = &flat[..];
        for index in 0..count {
            let (own, behind) = rest.split_at(parameters.len_of(index));
            rest = behind;
            sums.put(index, Buffer::copy(own));
        }
        Ok(())
    }

    fn update(
        &self,
        parameters: &Parameters,
        sums: &GradientSum,
        [first, second]: &mut [CpuMoments; 2],
        step: u64,
        [matrix, vector]: [AdamW; 2],
    ) -> Result<()> {
        for (index, (first, second)) in first.tensors.iter_mut().zip(&mut second.tensors).enumerate() {
            let Weight { name, shape, .. } = &parameters.weights[index];
            let Some(gradient) = sums.get(index) else {
                return Err(EngineError::Internal(format!("no gradient reached `{name}`")));
            };
            let how = if shape.len() > 1 { matrix } else { vector };
            let noise = [Order::First, Order::Second].map(|order| Noise::new(step, index, order));
            moments::update(&mut parameters.values_mut(index), first, second, gradient, how, noise);
        }
        parameters.changed();
        Ok(())
    }
}
