//! Where the decoder computes: each of its operations once, with its form for the CPU (`ops`) and for a CUDA device
//! (`cuda`). What one of them made only that one can use; a pass never mixes them.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use rayon::prelude::*;

use super::cuda::{self, Cuda, Memory};
use super::error::EngineError;
use super::model::cache::Layer;
use super::model::decoder::{CachedRow, Packed, Projection};
use super::model::weights::Weights;
use super::ops::attention::{self as host_attention, Heads, Seen, packed_attention, packed_attention_backward};
use super::ops::embedding::{gather, scatter_add};
use super::ops::gate::{gated, gated_backward};
use super::ops::logprob::{Reading, logits_gradient, read_pairs, read_rows};
use super::ops::norm::{rms_norm_rows, rms_norm_rows_again, rms_norm_rows_backward};
use super::ops::rotary::Rotary;
use super::ops::{self, Buffer};
use super::optimizer::GradientSum;
use super::sampler::{Choice, choose};
use crate::job::spec::SamplingSpec;
use crate::objective::TeacherView;

type Result<T> = std::result::Result<T, EngineError>;

/// Where to compute.
#[derive(Clone, Debug)]
pub enum Compute {
    Cpu,
    Cuda(Arc<Cuda>),
}

/// Numbers where they are computed with. On a device the residual stream and its gradient, logits and sums are f32;
/// everything else is of the device's kind.
#[derive(Debug)]
pub enum Array {
    Host(Buffer),
    Device(Memory),
}

impl Array {
    /// The numbers in the CPU's memory.
    pub fn host(&self) -> &[f32] {
        match self {
            Self::Host(buffer) => buffer,
            Self::Device(_) => unreachable!("a device's numbers are used on the CPU"),
        }
    }

    fn host_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Host(buffer) => buffer,
            Self::Device(_) => unreachable!("a device's numbers are used on the CPU"),
        }
    }

    /// The numbers in a device's memory.
    pub fn device(&self) -> &Memory {
        match self {
            Self::Device(memory) => memory,
            Self::Host(_) => unreachable!("the CPU's numbers are used on a device"),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Host(buffer) => buffer.len(),
            Self::Device(memory) => memory.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Norms `[N, H]` with the factor of each row.
#[derive(Debug)]
pub struct Normed {
    pub out: Array,
    pub inverses: Array,
}

/// Results of attention `[N, query heads * width]` and the logarithms of the normalisers `[N, query heads]`, which the
/// sampler has no use for and a device does not keep.
#[derive(Debug)]
pub struct Attended {
    pub out: Array,
    pub log_sums: Option<Array>,
}

/// A pass's tokens and their places in their sequences.
#[derive(Debug)]
pub struct Tokens<'a> {
    pub tokens: Cow<'a, [u32]>,
    pub positions: Cow<'a, [u32]>,
    pub device: Option<cuda::Indices>,
}

/// The tokens of whole sequences side by side.
#[derive(Debug)]
pub struct PackedRows<'a> {
    pub tokens: Tokens<'a>,
    boundaries: &'a [usize],
    device: Option<cuda::PackedTables>,
}

/// Tokens that continue cached sequences.
#[derive(Debug)]
pub struct CachedRows<'a> {
    pub tokens: Tokens<'a>,
    /// Empty on a device.
    rows: Vec<Seen<'a>>,
    device: Option<cuda::CachedTables>,
}

impl CachedRows<'_> {
    /// Rows whose tables lie on a device already.
    pub fn on_device(tables: cuda::CachedTables, indices: cuda::Indices) -> Self {
        let tokens = Tokens { tokens: Cow::default(), positions: Cow::default(), device: Some(indices) };
        Self { tokens, rows: Vec::new(), device: Some(tables) }
    }
}

/// What a projection's result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The next operation.
    Activation,
    /// The residual stream, or logits: f32 on every device.
    Sum,
}

/// Gradients of the divergences, with the teacher's logits and how it is looked at.
pub type OfDivergence<'a> = (&'a [f32], &'a Array, &'a TeacherView);

impl Compute {
    /// Whether the CPU is free while the device computes.
    pub fn is_asynchronous(&self) -> bool {
        matches!(self, Self::Cuda(_))
    }

    /// Bytes that logits may take at a time.
    pub fn logits_bytes(&self) -> usize {
        match self {
            Self::Cpu => 256 << 20,
            // Products with a large vocabulary want some thousand rows.
            Self::Cuda(_) => 1 << 30,
        }
    }

    pub fn packed<'a>(&self, packed: Packed<'a>) -> Result<PackedRows<'a>> {
        let Packed { tokens, positions, boundaries } = packed;
        let (indices, tables) = match self {
            Self::Cpu => (None, None),
            Self::Cuda(cuda) => {
                let (indices, tables) = cuda.packed_tables(&packed)?;
                (Some(indices), Some(tables))
            }
        };
        let tokens = Tokens { tokens: Cow::Borrowed(tokens), positions: Cow::Borrowed(positions), device: indices };
        Ok(PackedRows { tokens, boundaries, device: tables })
    }

    pub fn cached<'a>(&self, rows: &'a [CachedRow<'a>], heads: Heads) -> Result<CachedRows<'a>> {
        if let Self::Cuda(cuda) = self {
            let (indices, tables) = cuda.cached_tables(rows, heads)?;
            return Ok(CachedRows::on_device(tables, indices));
        }
        let tokens = rows.iter().map(|row| row.token).collect();
        let positions = rows.iter().map(|row| row.position).collect();
        let seen = rows.iter().map(|row| Seen { blocks: row.blocks, seen: row.position as usize + 1 }).collect();
        Ok(CachedRows { tokens: Tokens { tokens, positions, device: None }, rows: seen, device: None })
    }

    /// The tokens' rows of an embedding.
    pub fn embed(&self, weights: &Weights, index: usize, tokens: &Tokens<'_>) -> Result<Array> {
        let width = weights.shape(index)[1];
        Ok(match (self, &tokens.device) {
            (Self::Cuda(cuda), Some(indices)) => Array::Device(cuda.embed(weights.device(), index, indices, width)?),
            _ => Array::Host(gather(&weights.values(index), width, &tokens.tokens)),
        })
    }

    /// Adds the gradient of embedded tokens to that of the embedding.
    pub fn embedding_gradient(
        &self,
        weights: &Weights,
        index: usize,
        rows: &PackedRows<'_>,
        dx: &Array,
        sums: &mut GradientSum,
    ) -> Result<()> {
        if let (Self::Cuda(cuda), Some(tables)) = (self, &rows.device) {
            return Ok(cuda.embedding_gradient(index, tables, dx.device(), sums.on_device(weights)?)?);
        }
        let mut sum = sums.take(index, weights.len_of(index));
        if !sum.begun {
            sum.values.fill(0.0);
        }
        scatter_add(&mut sum.values, dx.host(), weights.shape(index)[1], &rows.tokens.tokens);
        sums.put(index, sum.values);
        Ok(())
    }

    /// Norms of the rows of `x`, after adding those of `residual` to them.
    pub fn norm(
        &self,
        x: &mut Array,
        residual: Option<&Array>,
        weights: &Weights,
        index: usize,
        eps: f32,
    ) -> Result<Normed> {
        if let Self::Cuda(cuda) = self {
            let residual = residual.map(Array::device);
            let (out, inverses) = cuda.norm(x.device(), residual, weights.device(), index, eps)?;
            return Ok(Normed { out: Array::Device(out), inverses: Array::Device(inverses) });
        }
        let normed = rms_norm_rows(x.host_mut(), residual.map(Array::host), &weights.values(index), eps);
        Ok(Normed { out: Array::Host(normed.out), inverses: Array::Host(normed.inverses) })
    }

    /// The norms once more.
    pub fn norm_again(&self, x: &Array, inverses: &Array, weights: &Weights, index: usize) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(rms_norm_rows_again(x.host(), inverses.host(), &weights.values(index))),
            Self::Cuda(cuda) => {
                Array::Device(cuda.norm_again(x.device(), inverses.device(), weights.device(), index)?)
            }
        })
    }

    /// Adds to `dx` the gradient of the norms of `x` for `grad`, and to that of the weight.
    pub fn norm_backward(
        &self,
        (x, inverses): (&Array, &Array),
        (weights, index): (&Weights, usize),
        grad: &Array,
        dx: &mut Array,
        sums: &mut GradientSum,
    ) -> Result<()> {
        if let Self::Cuda(cuda) = self {
            let of = (x.device(), inverses.device());
            let sums = sums.on_device(weights)?;
            return Ok(cuda.norm_backward(of, (weights.device(), index), grad.device(), dx.device(), sums)?);
        }
        let mut sum = sums.take(index, weights.len_of(index));
        let (of, dw) = ((x.host(), inverses.host()), (&mut sum.values[..], sum.begun));
        rms_norm_rows_backward(of, &weights.values(index), grad.host(), dx.host_mut(), dw);
        sums.put(index, sum.values);
        Ok(())
    }

    /// `x W^T`. With `keep` the CPU keeps the weights packed for the next pass, as sampling wants.
    pub fn project(
        &self,
        projection: &Projection,
        weights: &Weights,
        x: &Array,
        into: Output,
        keep: bool,
    ) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(weights.with(projection, |w| projection.linear.forward(x.host(), w, keep))),
            Self::Cuda(cuda) => Array::Device(cuda.project(projection, weights.device(), x.device(), into)?),
        })
    }

    /// The same of rows `range` of `x` only.
    pub fn project_rows(
        &self,
        projection: &Projection,
        weights: &Weights,
        x: &Array,
        range: Range<usize>,
        keep: bool,
    ) -> Result<Array> {
        let width = projection.linear.input;
        Ok(match self {
            Self::Cpu => {
                let x = &x.host()[range.start * width..range.end * width];
                Array::Host(weights.with(projection, |w| projection.linear.forward(x, w, keep)))
            }
            Self::Cuda(cuda) => {
                Array::Device(cuda.project_rows(projection, weights.device(), x.device(), range, Output::Sum)?)
            }
        })
    }

    /// `dy W`.
    pub fn input_gradient(&self, projection: &Projection, weights: &Weights, dy: &Array) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(weights.with(projection, |w| projection.linear.input_gradient(dy.host(), w))),
            Self::Cuda(cuda) => Array::Device(cuda.input_gradient(projection, weights.device(), dy.device())?),
        })
    }

    /// Adds `dy^T x` to the gradients of a projection's weights; `x` are the given rows of an array.
    pub fn weight_gradients(
        &self,
        projection: &Projection,
        weights: &Weights,
        (x, first): (&Array, usize),
        dy: &Array,
        sums: &mut GradientSum,
    ) -> Result<()> {
        let (input, rows) = (projection.linear.input, dy.len() / projection.linear.output);
        if let Self::Cuda(cuda) = self {
            let (sums, x) = (sums.on_device(weights)?, (x.device(), first));
            return Ok(cuda.weight_gradients(projection, x, dy.device(), sums)?);
        }
        let x = &x.host()[first * input..(first + rows) * input];
        let mut own: Vec<_> = projection.weights.iter().map(|i| sums.take(*i, weights.len_of(*i))).collect();
        let mut targets: Vec<(&mut [f32], bool)> = own.iter_mut().map(|s| (&mut s.values[..], s.begun)).collect();
        projection.linear.weight_gradients(x, dy.host(), &mut targets);
        projection.weights.iter().zip(own).for_each(|(index, sum)| sums.put(*index, sum.values));
        Ok(())
    }

    /// Rotates queries and keys by their positions, or back.
    pub fn rotate(
        &self,
        rows: &mut Array,
        heads: Heads,
        tokens: &Tokens<'_>,
        rotary: &Rotary,
        back: bool,
    ) -> Result<()> {
        match (self, &tokens.device) {
            (Self::Cuda(cuda), Some(indices)) => cuda.rotate(rows.device(), heads, indices, rotary, back)?,
            _ if back => rotary.rotate_back(rows.host_mut(), heads, &tokens.positions),
            _ => rotary.rotate(rows.host_mut(), heads, &tokens.positions),
        }
        Ok(())
    }

    /// Attention within each sequence.
    pub fn packed_attention(&self, rows: &Array, heads: Heads, packed: &PackedRows<'_>) -> Result<Attended> {
        if let (Self::Cuda(cuda), Some(tables)) = (self, &packed.device) {
            let (out, log_sums) = cuda.packed_attention(rows.device(), heads, tables)?;
            return Ok(Attended { out: Array::Device(out), log_sums: Some(Array::Device(log_sums)) });
        }
        Ok(attended(packed_attention(rows.host(), heads, packed.boundaries)))
    }

    /// The gradient of [`Self::packed_attention`].
    pub fn packed_attention_backward(
        &self,
        rows: &Array,
        attended: &Attended,
        grad: &Array,
        heads: Heads,
        packed: &PackedRows<'_>,
    ) -> Result<Array> {
        let Some(log_sums) = &attended.log_sums else {
            return Err(EngineError::Internal(String::from("attention was computed without its normalisers")));
        };
        if let (Self::Cuda(cuda), Some(tables)) = (self, &packed.device) {
            let attended = (attended.out.device(), log_sums.device());
            let of_rows = cuda.packed_attention_backward(rows.device(), attended, grad.device(), heads, tables)?;
            return Ok(Array::Device(of_rows));
        }
        let attended = (attended.out.host(), log_sums.host());
        let of_rows = packed_attention_backward(rows.host(), attended, grad.host(), heads, packed.boundaries);
        Ok(Array::Host(of_rows))
    }

    /// Puts the rows' keys and values into a layer of the cache, then attends to what their sequences have there.
    pub fn cached_attention(
        &self,
        rows: &Array,
        heads: Heads,
        cached: &CachedRows<'_>,
        layer: &mut Layer,
    ) -> Result<Attended> {
        if let (Self::Cuda(cuda), Some(tables)) = (self, &cached.device) {
            let out = cuda.cached_attention(rows.device(), heads, tables, layer.device())?;
            return Ok(Attended { out: Array::Device(out), log_sums: None });
        }
        let values = rows.host();
        for (row, values) in cached.rows.iter().zip(values.chunks_exact(heads.row())) {
            layer.put(heads, row.blocks, row.seen - 1, values);
        }
        Ok(attended(host_attention::attend(values, heads, layer.host(), &cached.rows)))
    }

    /// `silu(gate) up` of rows that hold gate and up side by side.
    pub fn gated(&self, rows: &Array, width: usize) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(gated(rows.host(), width)),
            Self::Cuda(cuda) => Array::Device(cuda.gated(rows.device(), width)?),
        })
    }

    /// Turns `rows` into their gradient, and `grad`, that of the result, into the result.
    pub fn gated_backward(&self, rows: &mut Array, grad: &mut Array, width: usize) -> Result<()> {
        match self {
            Self::Cpu => gated_backward(rows.host_mut(), grad.host_mut(), width),
            Self::Cuda(cuda) => cuda.gated_backward(rows.device(), grad.device(), width)?,
        }
        Ok(())
    }

    /// `sum += x`, in the residual stream.
    pub fn add(&self, sum: &mut Array, x: &Array) -> Result<()> {
        match self {
            Self::Cpu => ops::add(sum.host_mut(), x.host()),
            Self::Cuda(cuda) => cuda.add(sum.device(), x.device())?,
        }
        Ok(())
    }

    /// A copy.
    pub fn copy(&self, x: &Array) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(Buffer::copy(x.host())),
            Self::Cuda(cuda) => Array::Device(cuda.copied(x.device())?),
        })
    }

    /// Zeros for sums.
    pub fn zeros(&self, len: usize) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(Buffer::zeros(len)),
            Self::Cuda(cuda) => Array::Device(cuda.zeros(len)?),
        })
    }

    /// Numbers of the residual stream in the kind that products read.
    pub fn narrowed<'a>(&self, x: &'a Array) -> Result<Narrowed<'a>> {
        Ok(match self {
            Self::Cuda(cuda) if cuda.is_narrow() => Narrowed::Own(Array::Device(cuda.narrowed(x.device())?)),
            _ => Narrowed::Same(x),
        })
    }

    /// Some rows of `x`.
    pub fn gather(&self, x: &Array, width: usize, rows: &[u32]) -> Result<Array> {
        Ok(match self {
            Self::Cpu => Array::Host(gather(x.host(), width, rows)),
            Self::Cuda(cuda) => Array::Device(cuda.gather(x.device(), width, rows)?),
        })
    }

    /// Adds rows to some rows of `sum`, each of which is named once.
    pub fn scatter_add(&self, sum: &mut Array, x: &Array, width: usize, rows: &[u32]) -> Result<()> {
        match self {
            Self::Cpu => scatter_add(sum.host_mut(), x.host(), width, rows),
            Self::Cuda(cuda) => cuda.scatter_add(sum.device(), x.device(), width, rows)?,
        }
        Ok(())
    }

    /// Reads `targets` off rows of logits.
    pub fn read_rows(&self, logits: &Array, targets: &[u32]) -> Result<Reading> {
        match self {
            Self::Cpu => Ok(read_rows(logits.host(), targets)),
            Self::Cuda(cuda) => Ok(cuda.read_rows(logits.device(), targets)?),
        }
    }

    /// The same beside a teacher's logits.
    pub fn read_pairs(&self, own: &Array, other: &Array, targets: &[u32], view: &TeacherView) -> Result<Reading> {
        match self {
            Self::Cpu => Ok(read_pairs(own.host(), other.host(), targets, view)),
            Self::Cuda(cuda) => Ok(cuda.read_pairs(own.device(), other.device(), targets, view)?),
        }
    }

    /// The gradient of logits, for those of the log-probabilities and of the divergences.
    pub fn logits_gradient(
        &self,
        mut logits: Array,
        targets: &[u32],
        of_logprobs: &[f32],
        of_divergence: Option<OfDivergence<'_>>,
    ) -> Result<Array> {
        if let Self::Cuda(cuda) = self {
            let of_divergence = of_divergence.map(|(grad, teacher, view)| (grad, teacher.device(), view));
            return Ok(Array::Device(cuda.logits_gradient(logits.device(), targets, of_logprobs, of_divergence)?));
        }
        let of_divergence = of_divergence.map(|(grad, teacher, view)| (grad, teacher.host(), view));
        logits_gradient(logits.host_mut(), targets, of_logprobs, of_divergence);
        Ok(logits)
    }

    /// Draws a token from each of the given rows of `logits: [N, vocabulary]`, with a number in `[0, 1)` each.
    pub fn draw(
        &self,
        (logits, vocabulary): (&Array, usize),
        rows: &[u32],
        spec: &SamplingSpec,
        uniforms: &[f64],
    ) -> Result<Vec<Choice>> {
        if let Self::Cuda(cuda) = self {
            return Ok(cuda.draw((logits.device(), vocabulary), rows, spec, uniforms)?);
        }
        let logits = logits.host();
        let draw = |(row, uniform): (&u32, &f64)| {
            choose(&logits[*row as usize * vocabulary..][..vocabulary], spec, || *uniform)
        };
        Ok(rows.par_iter().zip(uniforms).map(draw).collect())
    }
}

fn attended(host: host_attention::Attended) -> Attended {
    Attended { out: Array::Host(host.out), log_sums: Some(Array::Host(host.log_sums)) }
}

/// Numbers that are those of another array, or a copy of them in another kind.
#[derive(Debug)]
pub enum Narrowed<'a> {
    Same(&'a Array),
    Own(Array),
}

impl Deref for Narrowed<'_> {
    type Target = Array;
    fn deref(&self) -> &Array {
        match self {
            Self::Same(array) => array,
            Self::Own(array) => array,
        }
    }
}
