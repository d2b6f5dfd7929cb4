//! The decoder's operations on the CPU: those of `ops`, over numbers in memory.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rayon::prelude::*;

use super::backend::{
    Attention, CachedRows, Head, Limits, Narrowed, Operations, Output, PackedRows, Storage, Tensor, Tensors, Training,
};
use super::choice::{Choice, choose};
use super::collective::Collective;
use super::error::EngineError;
use super::gradients::{GradientSum, PIECE};
use super::kernels::buffer::Buffer;
use super::kernels::pages::{moved, zeros};
use super::kernels::update::{AdamW, adamw};
use super::ops;
use super::ops::attention::{Attended, Heads, Seen, attend, packed_attention, packed_attention_backward};
use super::ops::bias;
use super::ops::embedding::{gather, scatter_add};
use super::ops::gate::{gated, gated_backward};
use super::ops::linear::Matrices;
use super::ops::logprob::{Reading, logits_gradient, read_pairs, read_rows};
use super::ops::norm::{HeadNorms, Normed, rms_norm_rows, rms_norm_rows_again, rms_norm_rows_backward};
use super::ops::rotary::Rotary;
use super::projection::{Norm, NormOf, Projection};
use super::rows::{CachedRow, Packed};
use crate::job::spec::SamplingSpec;
use crate::modelfile::architecture::Activation;
use crate::modelfile::config::ModelConfig;
use crate::modelfile::rope::Rotation;
use crate::objective::TeacherView;

type Result<T> = std::result::Result<T, EngineError>;

/// The processor's cores.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

/// Tokens and their places in their sequences.
#[derive(Debug)]
pub struct Places<'a> {
    tokens: Cow<'a, [u32]>,
    positions: Cow<'a, [u32]>,
}

/// Trainable f32 weights. Everyone who computes with them shares them; one thread at a time changes them.
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
    values: RwLock<Vec<f32>>,
}

/// Gradients to be written, or with their flags added to.
type Sums<'a> = [(&'a mut [f32], bool)];

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
        let tensor = |Weight { name, shape, values }: Weight| {
            let values = values.into_inner().unwrap_or_else(PoisonError::into_inner);
            Tensor { name, shape, values }
        };
        self.weights.into_iter().map(tensor).collect()
    }

    fn len_of(&self, index: usize) -> usize {
        self.weights[index].shape.iter().product()
    }

    /// `x W^T`, and the biases.
    fn project(&self, projection: &Projection, x: &[f32], keep: bool) -> Buffer {
        let mut out = self.with(projection, |w| projection.linear.forward(x, w, keep));
        if !projection.biases.is_empty() {
            let values: Vec<Values<'_>> = projection.biases.iter().map(|index| self.values(*index)).collect();
            let slices: Vec<&[f32]> = values.iter().map(|v| &v[..]).collect();
            bias::add_biases(&mut out, &slices);
        }
        out
    }

    /// Calls `f` with what a norm multiplies by.
    fn with_norm<T>(&self, norm: Norm, f: impl FnOnce(&[f32]) -> T) -> T {
        let values = self.values(norm.weight);
        if norm.offset == 0.0 {
            return f(&values);
        }
        f(&values.iter().map(|weight| weight + norm.offset).collect::<Vec<f32>>())
    }

    /// The same for the norms of queries and of keys.
    fn with_head_norms<T>(&self, heads: Heads, norms: [Norm; 2], f: impl FnOnce(HeadNorms<'_>) -> T) -> T {
        let eps = norms[0].eps;
        self.with_norm(norms[0], |queries| {
            self.with_norm(norms[1], |keys| f(HeadNorms { heads, weights: [queries, keys], eps }))
        })
    }

    /// Calls `f` with a projection's weights.
    fn with<T>(&self, projection: &Projection, f: impl FnOnce(Matrices<'_>) -> T) -> T {
        let values: Vec<Values<'_>> = projection.weights.iter().map(|index| self.values(*index)).collect();
        let slices: Vec<&[f32]> = values.iter().map(|v| &v[..]).collect();
        f(Matrices { values: &slices, version: self.version.load(Ordering::Acquire) })
    }
}

impl Tensors for Parameters {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        f(&self.values(index))
    }
}

impl Tensors for Vec<Vec<f32>> {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        f(&self[index])
    }
}

impl Storage for Cpu {
    type Array = Buffer;
    type Tokens<'a> = Places<'a>;
    type Packed<'a> = &'a [usize];
    type Cached<'a> = Vec<Seen<'a>>;
    type Layer = Vec<f32>;
    type Recordings = ();
    type Rotary = Rotary;
    type Parameters = Parameters;
    type Gradients = GradientSum;
    type Moments = Vec<Vec<f32>>;

    const IS_ASYNCHRONOUS: bool = false;
    const LOGITS_BYTES: usize = 256 << 20;
    const MOST_TOKENS: u64 = 4096;

    fn limits(&self) -> Result<Limits> {
        Ok(Limits::default())
    }

    fn room(&self, model: u64) -> Result<u64> {
        // Gradients, two moments, and the weights as products read them.
        Ok(available().map_or(u64::MAX / 2, |free| free.saturating_sub(4 * model)))
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Bytes that may still be taken: what the kernel calls available, or what a container's limit leaves.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    let number =
        |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let container = number("memory.max").map(|limit| limit.saturating_sub(number("memory.current").unwrap_or(0)));
    Some(container.map_or(machine, |left| left.min(machine)))
}

impl Operations for Cpu {
    fn copy(&self, x: &Buffer) -> Result<Buffer> {
        Ok(Buffer::copy(x))
    }

    fn zeros(&self, len: usize) -> Result<Buffer> {
        Ok(Buffer::zeros(len))
    }

    fn brought(&self, values: &[f32]) -> Result<Buffer> {
        Ok(Buffer::copy(values))
    }

    fn scale(&self, x: &mut Buffer, factor: f32) -> Result<()> {
        bias::scale(x, factor);
        Ok(())
    }

    fn scale_rows(&self, x: &mut Buffer, width: usize, factors: &[f32]) -> Result<()> {
        bias::scale_rows(x, width, factors);
        Ok(())
    }

    fn row_products(&self, a: &Buffer, b: &Buffer, width: usize) -> Result<Vec<f32>> {
        Ok(bias::row_products(a, b, width))
    }

    fn add(&self, sum: &mut Buffer, x: &Buffer) -> Result<()> {
        ops::add(sum, x);
        Ok(())
    }

    fn narrowed<'a>(&self, x: &'a Buffer) -> Result<Narrowed<'a, Buffer>> {
        Ok(Narrowed::Same(x))
    }

    fn widened(&self, x: Buffer) -> Result<Buffer> {
        Ok(x)
    }

    fn gather(&self, x: &Buffer, width: usize, rows: &[u32]) -> Result<Buffer> {
        Ok(gather(x, width, rows))
    }

    fn scatter_add(&self, sum: &mut Buffer, x: &Buffer, width: usize, rows: &[u32]) -> Result<()> {
        scatter_add(sum, x, width, rows);
        Ok(())
    }

    fn embed(&self, embedding: (&Parameters, usize), tokens: &Places<'_>, width: usize) -> Result<Buffer> {
        let (parameters, index) = embedding;
        Ok(gather(&parameters.values(index), width, &tokens.tokens))
    }

    fn embedding_gradient(
        &self,
        (parameters, index): (&Parameters, usize),
        rows: &PackedRows<'_, Self>,
        dx: &Buffer,
        sums: &mut GradientSum,
    ) -> Result<()> {
        let mut sum = sums.take(index, parameters.len_of(index));
        if !sum.begun {
            sum.values.fill(0.0);
        }
        scatter_add(&mut sum.values, dx, parameters.weights[index].shape[1], &rows.tokens.tokens);
        sums.put(index, sum.values);
        Ok(())
    }

    fn norm(
        &self,
        x: &mut Buffer,
        residual: Option<&Buffer>,
        (parameters, norm): NormOf<'_, Parameters>,
    ) -> Result<Normed<Buffer>> {
        Ok(parameters.with_norm(norm, |weight| rms_norm_rows(x, residual.map(|x| &x[..]), weight, norm.eps)))
    }

    fn norm_again(&self, x: &Buffer, inverses: &Buffer, (parameters, norm): NormOf<'_, Parameters>) -> Result<Buffer> {
        Ok(parameters.with_norm(norm, |weight| rms_norm_rows_again(x, inverses, weight)))
    }

    fn norm_backward(
        &self,
        (x, inverses): (&Buffer, &Buffer),
        (parameters, norm): NormOf<'_, Parameters>,
        grad: &Buffer,
        dx: &mut Buffer,
        sums: &mut GradientSum,
    ) -> Result<()> {
        let mut sum = sums.take(norm.weight, parameters.len_of(norm.weight));
        let dw = (&mut sum.values[..], sum.begun);
        parameters.with_norm(norm, |weight| rms_norm_rows_backward((x, inverses), weight, grad, dx, dw));
        sums.put(norm.weight, sum.values);
        Ok(())
    }

    fn project(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        x: &Buffer,
        _into: Output,
        keep: bool,
    ) -> Result<Buffer> {
        Ok(parameters.project(projection, x, keep))
    }

    fn project_rows(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        x: &Buffer,
        range: Range<usize>,
        keep: bool,
    ) -> Result<Buffer> {
        let width = projection.linear.input;
        Ok(parameters.project(projection, &x[range.start * width..range.end * width], keep))
    }

    fn input_gradient(&self, projection: &Projection, parameters: &Parameters, dy: &Buffer) -> Result<Buffer> {
        Ok(parameters.with(projection, |w| projection.linear.input_gradient(dy, w)))
    }

    fn weight_gradients(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        (x, first): (&Buffer, usize),
        dy: &Buffer,
        sums: &mut GradientSum,
    ) -> Result<()> {
        let (input, rows) = (projection.linear.input, dy.len() / projection.linear.output);
        let x = &x[first * input..(first + rows) * input];
        let mut write = |indices: &[usize], write: &dyn Fn(&mut Sums<'_>)| {
            let mut own: Vec<_> = indices.iter().map(|i| sums.take(*i, parameters.len_of(*i))).collect();
            let mut targets: Vec<(&mut [f32], bool)> = own.iter_mut().map(|s| (&mut s.values[..], s.begun)).collect();
            write(&mut targets);
            indices.iter().zip(own).for_each(|(index, sum)| sums.put(*index, sum.values));
        };
        if rows == 0 {
            // An expert that no token went to has a gradient too.
            let clear = |targets: &mut Sums<'_>| {
                targets.iter_mut().filter(|(_, begun)| !begun).for_each(|(sum, _)| sum.fill(0.0));
            };
            write(&projection.weights, &clear);
            write(&projection.biases, &clear);
            return Ok(());
        }
        write(&projection.weights, &|targets| projection.linear.weight_gradients(x, dy, targets));
        write(&projection.biases, &|targets| bias::bias_gradients(dy, projection.linear.output, targets));
        Ok(())
    }

    fn gated(&self, rows: &Buffer, width: usize, activation: Activation) -> Result<Buffer> {
        Ok(gated(rows, width, activation))
    }

    fn gated_backward(&self, rows: &mut Buffer, grad: &mut Buffer, width: usize, activation: Activation) -> Result<()> {
        gated_backward(rows, grad, width, activation);
        Ok(())
    }
}

impl Attention for Cpu {
    fn packed<'a>(&self, packed: Packed<'a>) -> Result<PackedRows<'a, Self>> {
        let Packed { tokens, positions, boundaries } = packed;
        let tokens = Places { tokens: Cow::Borrowed(tokens), positions: Cow::Borrowed(positions) };
        Ok(PackedRows { tokens, sequences: boundaries })
    }

    fn cached<'a>(&self, rows: &'a [CachedRow<'a>], _heads: Heads) -> Result<CachedRows<'a, Self>> {
        let tokens = rows.iter().map(|row| row.token).collect();
        let positions = rows.iter().map(|row| row.position).collect();
        let seen = rows.iter().map(|row| Seen { blocks: row.blocks, seen: row.position as usize + 1 }).collect();
        Ok(CachedRows { tokens: Places { tokens, positions }, sequences: seen })
    }

    fn norm_heads(
        &self,
        rows: &Buffer,
        heads: Heads,
        (parameters, norms): (&Parameters, [Norm; 2]),
    ) -> Result<Normed<Buffer>> {
        Ok(parameters.with_head_norms(heads, norms, |norms| norms.rows(rows)))
    }

    fn norm_heads_again(
        &self,
        (rows, inverses): (&Buffer, &Buffer),
        heads: Heads,
        (parameters, norms): (&Parameters, [Norm; 2]),
    ) -> Result<Buffer> {
        Ok(parameters.with_head_norms(heads, norms, |norms| norms.again(rows, inverses)))
    }

    fn norm_heads_backward(
        &self,
        (rows, inverses): (&Buffer, &Buffer),
        heads: Heads,
        (parameters, norms): (&Parameters, [Norm; 2]),
        grad: &mut Buffer,
        sums: &mut GradientSum,
    ) -> Result<()> {
        let mut own = norms.map(|norm| sums.take(norm.weight, parameters.len_of(norm.weight)));
        let targets = own.each_mut().map(|sum| (&mut sum.values[..], sum.begun));
        parameters.with_head_norms(heads, norms, |norms| norms.backward((rows, inverses), grad, targets));
        norms.into_iter().zip(own).for_each(|(norm, sum)| sums.put(norm.weight, sum.values));
        Ok(())
    }

    fn rotary(&self, rotation: Rotation, _context: usize) -> Result<Rotary> {
        Ok(Rotary::new(rotation))
    }

    fn rotate(&self, rows: &mut Buffer, heads: Heads, tokens: &Places<'_>, rotary: &Rotary, back: bool) -> Result<()> {
        if back {
            rotary.rotate_back(rows, heads, &tokens.positions);
        } else {
            rotary.rotate(rows, heads, &tokens.positions);
        }
        Ok(())
    }

    fn packed_attention(&self, rows: &Buffer, heads: Heads, packed: &PackedRows<'_, Self>) -> Result<Attended<Buffer>> {
        Ok(packed_attention(rows, heads, packed.sequences))
    }

    fn packed_attention_backward(
        &self,
        rows: &Buffer,
        attended: &Attended<Buffer>,
        grad: &Buffer,
        heads: Heads,
        packed: &PackedRows<'_, Self>,
    ) -> Result<Buffer> {
        let attended = (&attended.out[..], &attended.log_sums[..]);
        Ok(packed_attention_backward(rows, attended, grad, heads, packed.sequences))
    }

    fn cache_layer(&self, heads: Heads, blocks: usize) -> Result<Vec<f32>> {
        Ok(zeros(blocks * heads.block()))
    }

    fn block_bytes(&self, heads: Heads) -> usize {
        heads.block() * size_of::<f32>()
    }

    fn copy_block(&self, layer: &mut Vec<f32>, heads: Heads, from: u32, to: u32) -> Result<()> {
        let (len, from, to) = (heads.block(), from as usize, to as usize);
        layer.copy_within(from * len..(from + 1) * len, to * len);
        Ok(())
    }

    fn cached_attention(
        &self,
        rows: &Buffer,
        heads: Heads,
        cached: &CachedRows<'_, Self>,
        layer: &mut Vec<f32>,
    ) -> Result<Buffer> {
        for (row, values) in cached.sequences.iter().zip(rows.chunks_exact(heads.row())) {
            heads.put_cached(values, layer, row.blocks, row.seen - 1);
        }
        Ok(attend(rows, heads, layer, &cached.sequences).out)
    }
}

impl Head for Cpu {
    fn read_rows(&self, logits: &Buffer, targets: &[u32]) -> Result<Reading> {
        Ok(read_rows(logits, targets))
    }

    fn read_pairs(&self, own: &Buffer, other: &Buffer, targets: &[u32], view: &TeacherView) -> Result<Reading> {
        Ok(read_pairs(own, other, targets, view))
    }

    fn logits_gradient(
        &self,
        mut logits: Buffer,
        targets: &[u32],
        of_logprobs: &[f32],
        of_divergence: Option<(&[f32], &Buffer, &TeacherView)>,
    ) -> Result<Buffer> {
        let of_divergence = of_divergence.map(|(grad, teacher, view)| (grad, &teacher[..], view));
        logits_gradient(&mut logits, targets, of_logprobs, of_divergence);
        Ok(logits)
    }

    fn to_host(&self, array: &Buffer) -> Result<Vec<f32>> {
        Ok(array.to_vec())
    }

    fn draw(
        &self,
        (logits, vocabulary): (&Buffer, usize),
        rows: &[u32],
        spec: &SamplingSpec,
        uniforms: &[f64],
    ) -> Result<Vec<Choice>> {
        let logits = &logits[..];
        let draw = |(row, uniform): (&u32, &f64)| {
            choose(&logits[*row as usize * vocabulary..][..vocabulary], spec, || *uniform)
        };
        Ok(rows.par_iter().zip(uniforms).map(draw).collect())
    }
}

impl Training for Cpu {
    fn parameters(self: &Arc<Self>, _config: &ModelConfig, tensors: Vec<Tensor>) -> Result<Parameters> {
        let weight = |Tensor { name, shape, values }: Tensor| Weight { name, shape, values: RwLock::new(values) };
        Ok(Parameters { weights: tensors.into_iter().map(weight).collect(), version: AtomicU64::new(0) })
    }

    fn write(&self, parameters: &Parameters, index: usize, values: &[f32]) -> Result<()> {
        parameters.values_mut(index).copy_from_slice(values);
        parameters.changed();
        Ok(())
    }

    fn moments(&self, parameters: &Parameters, known: Vec<Option<Vec<f32>>>) -> Result<Vec<Vec<f32>>> {
        let of =
            |(index, known): (usize, Option<Vec<f32>>)| known.map_or_else(|| zeros(parameters.len_of(index)), moved);
        Ok(known.into_iter().enumerate().map(of).collect())
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
        [first, second]: &mut [Vec<Vec<f32>>; 2],
        [matrix, vector]: [AdamW; 2],
    ) -> Result<()> {
        for (index, (first, second)) in first.iter_mut().zip(second).enumerate() {
            let Weight { name, shape, .. } = &parameters.weights[index];
            let Some(gradient) = sums.get(index) else {
                return Err(EngineError::Internal(format!("no gradient reached `{name}`")));
            };
            let update = if shape.len() > 1 { matrix } else { vector };
            let mut values = parameters.values_mut(index);
            values
                .par_chunks_mut(PIECE)
                .zip(first.par_chunks_mut(PIECE))
                .zip(second.par_chunks_mut(PIECE))
                .zip(gradient.par_chunks(PIECE))
                .for_each(|(((w, m), v), g)| adamw(w, m, v, g, update));
        }
        parameters.changed();
        Ok(())
    }
}
