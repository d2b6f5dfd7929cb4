//! The decoder's operations on the CPU: those of `ops`, over numbers in memory.

mod memory;
mod parameters;

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::backend::{Attention, CachedRows, Head, How, Narrowed, Operations, Output, PackedRows, Storage};
use super::choice::{Choice, choose};
use super::error::EngineError;
use super::gradients::GradientSum;
use super::kernels::buffer::{Buffer, release_free};
use super::kernels::gemm::{Strip, View};
use super::kernels::pages::zeros;
use super::limits::Limits;
use super::ops;
use super::ops::attention::{Attended, Heads, Seen, cached_attention, packed_attention};
use super::ops::attention_backward::packed_attention_backward;
use super::ops::bias;
use super::ops::dropout::{add_dropped, dropped};
use super::ops::embedding::{gather, scatter_add};
use super::ops::gate::{gated, gated_backward};
use super::ops::logprob::{Reading, logits_gradient, read_pairs, read_rows};
use super::ops::magnitude::{self, Columns, magnitude_gradient, scale_columns};
use super::ops::norm::{Normed, rms_norm_rows, rms_norm_rows_again, rms_norm_rows_backward, rms_norm_weight_gradient};
use super::ops::rotary::Rotary;
use super::projection::{Lengths, LowRank, Magnitude, Norm, NormOf, Projection, Up};
use super::rows::{CachedRow, Packed};
use crate::device::memory_left;
use crate::job::memory::Machine;
use crate::job::spec::{SampledCache, SamplingSpec};
use crate::modelfile::architecture::Activation;
use crate::modelfile::rope::Rotation;
use crate::objective::TeacherView;
pub use parameters::{CpuMoments, Parameters, Values};
use parameters::{Sums, clear};

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

/// Keys and values of one layer, in f32 or as the bits of bf16.
#[derive(Debug)]
pub enum Layer {
    F32(Vec<f32>),
    Bf16(Vec<u16>),
}

impl Storage for Cpu {
    type Array = Buffer;
    type Tokens<'a> = Places<'a>;
    type Packed<'a> = &'a [usize];
    type Cached<'a> = Vec<Seen<'a>>;
    type Layer = Layer;
    type Recordings = ();
    type Rotary = Rotary;
    type Parameters = Parameters;
    type Gradients = GradientSum;
    type Moments = CpuMoments;

    const IS_ASYNCHRONOUS: bool = false;
    const SAMPLES_EXACTLY: bool = true;
    const MACHINE: Machine = Machine::CPU;
    const MOST_TOKENS: u64 = 4096;

    fn limits(&self) -> Result<Limits> {
        let limits = Limits::default();
        // Others may need the rest.
        let most = self.available()? / 2;
        Ok(Limits { cache_bytes: limits.cache_bytes.min(usize::try_from(most).unwrap_or(usize::MAX)), ..limits })
    }

    fn available(&self) -> Result<u64> {
        Ok(memory_left().unwrap_or(u64::MAX))
    }

    fn peak(&self) -> Option<u64> {
        memory::peak()
    }

    fn forget_peak(&self) {
        memory::forget_peak();
    }

    fn end_phase(&self) {
        release_free();
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
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
        Ok(parameters.gather(index, width, &tokens.tokens))
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
        scatter_add(&mut sum.values, dx, parameters.width(index), &rows.tokens.tokens);
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
        sums: Option<&mut GradientSum>,
    ) -> Result<()> {
        parameters.with_norm(norm, |weight| rms_norm_rows_backward((x, inverses), weight, grad, dx));
        if let Some(sums) = sums {
            let mut sum = sums.take(norm.weight, parameters.len_of(norm.weight));
            rms_norm_weight_gradient((x, inverses), grad, (&mut sum.values[..], sum.begun));
            sums.put(norm.weight, sum.values);
        }
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
            parameters.sum(indices, sums, |targets| if rows == 0 { clear(targets) } else { write(targets) });
        };
        // An expert that no token went to has a gradient too, but no rows to look at.
        let x = if rows == 0 { &[][..] } else { x };
        let (states, of_result) = (View::new(x, input), View::new(dy, projection.linear.output));
        write(&projection.weights, &|targets| projection.linear.weight_gradients(states, of_result, targets));
        write(&projection.biases, &|targets| bias::bias_gradients(dy, projection.linear.output, targets));
        Ok(())
    }

    fn change(
        &self,
        change: &LowRank,
        parameters: &Parameters,
        x: &Buffer,
        out: &mut Buffer,
        how: How<'_>,
    ) -> Result<()> {
        let inner = parameters.inner(change, &kept_of(x, change, how.keys), how.keep);
        for (which, up) in change.ups.iter().enumerate() {
            let own = View::new(&inner, change.inner()).columns(which * change.rank, change.rank);
            let target = Strip { values: &mut out[..], width: change.output, first: up.first };
            parameters.with(&up.projection, |b| up.projection.linear.forward_into(own, b, how.keep, target, true));
        }
        Ok(())
    }

    fn change_input_gradient(
        &self,
        change: &LowRank,
        parameters: &Parameters,
        dy: &Buffer,
        dx: &mut Buffer,
        keys: &[u32],
    ) -> Result<()> {
        let of_inner = parameters.inner_gradient(change, dy);
        let (down, width) = (&change.down.linear, change.down.linear.input);
        let into = |out: &mut Buffer, add: bool| {
            let of_inner = View::new(&of_inner, change.inner());
            parameters.with(&change.down, |a| down.input_gradient_into(of_inner, a, Strip::whole(out, width), add));
        };
        if keys.is_empty() {
            into(dx, true);
        } else {
            let mut own = Buffer::new(dx.len());
            into(&mut own, false);
            add_dropped(dx, &own, width, keys, change.dropout);
        }
        Ok(())
    }

    fn change_weight_gradients(
        &self,
        change: &LowRank,
        parameters: &Parameters,
        (x, keys): (&Buffer, &[u32]),
        dy: &Buffer,
        sums: &mut GradientSum,
    ) -> Result<()> {
        let x = &*kept_of(x, change, keys);
        let (width, is_empty) = (change.inner(), dy.is_empty());
        let inner = if is_empty { Buffer::default() } else { parameters.inner(change, x, false) };
        for (which, up) in change.ups.iter().enumerate() {
            let own = View::new(&inner, width).columns(which * change.rank, change.rank);
            let linear = &up.projection.linear;
            let of_result = View::new(dy, change.output).columns(up.first, linear.output);
            parameters.sum(&up.projection.weights, sums, |targets| match is_empty {
                true => clear(targets),
                false => linear.weight_gradients(own, of_result, targets),
            });
        }
        drop(inner);
        let of_inner = if is_empty { Buffer::default() } else { parameters.inner_gradient(change, dy) };
        self.weight_gradients(&change.down, parameters, (x, 0), &of_inner, sums)
    }

    fn scale_columns(&self, change: &LowRank, lengths: Lengths<'_, Parameters>, out: &mut Buffer) -> Result<()> {
        for Up { first, magnitude, .. } in &change.ups {
            let Some(magnitude) = magnitude else { continue };
            let columns = Columns { width: change.output, first: *first };
            with_lengths(*magnitude, lengths, |lengths| scale_columns(out, columns, lengths));
        }
        Ok(())
    }

    fn magnitude_gradients(
        &self,
        change: &LowRank,
        lengths: Lengths<'_, Parameters>,
        (y, dy): (&Buffer, &Buffer),
        sums: &mut GradientSum,
    ) -> Result<()> {
        for Up { first, magnitude, .. } in &change.ups {
            let Some(magnitude) = magnitude else { continue };
            let columns = Columns { width: change.output, first: *first };
            with_lengths(*magnitude, lengths, |of| {
                lengths.magnitudes.sum(&[magnitude.weight], sums, |targets| {
                    let targets = targets.iter_mut();
                    targets.for_each(|(sum, add)| magnitude_gradient((y, dy), columns, of, (&mut **sum, *add)));
                });
            });
        }
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

/// Calls `f` with the numbers that a magnitude names.
fn with_lengths<T>(
    magnitude: Magnitude,
    lengths: Lengths<'_, Parameters>,
    f: impl FnOnce(magnitude::Lengths<'_>) -> T,
) -> T {
    let Lengths { magnitudes, inverses, biases } = lengths;
    let (magnitudes, inverses) = (magnitudes.values(magnitude.weight), inverses.values(magnitude.inverse));
    let bias = biases.zip(magnitude.bias).map(|(biases, bias)| biases.values(bias));
    let bias = bias.as_ref().map(|bias| &bias[..]);
    f(magnitude::Lengths { magnitudes: &magnitudes, inverses: &inverses, bias })
}

/// What of `x` reaches a low-rank change.
fn kept_of<'a>(x: &'a Buffer, change: &LowRank, keys: &[u32]) -> Narrowed<'a, Buffer> {
    if keys.is_empty() {
        return Narrowed::Same(x);
    }
    Narrowed::Own(dropped(x, change.down.linear.input, keys, change.dropout))
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
        sums: Option<&mut GradientSum>,
    ) -> Result<()> {
        let Some(sums) = sums else {
            parameters.with_head_norms(heads, norms, |norms| norms.backward((rows, inverses), grad));
            return Ok(());
        };
        let mut own = norms.map(|norm| sums.take(norm.weight, parameters.len_of(norm.weight)));
        let targets = own.each_mut().map(|sum| (&mut sum.values[..], sum.begun));
        parameters.with_head_norms(heads, norms, |norms| {
            norms.weight_gradients((rows, inverses), grad, targets);
            norms.backward((rows, inverses), grad);
        });
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

    fn cache_layer(&self, heads: Heads, kept: Option<SampledCache>, blocks: usize) -> Result<Layer> {
        let len = blocks * heads.block();
        Ok(match kept {
            None => Layer::F32(zeros(len)),
            Some(SampledCache::Bf16) => Layer::Bf16(zeros(len)),
        })
    }

    fn block_bytes(&self, heads: Heads, kept: Option<SampledCache>) -> usize {
        heads.block() * kept.map_or(size_of::<f32>(), |SampledCache::Bf16| size_of::<u16>())
    }

    fn copy_block(&self, layer: &mut Layer, heads: Heads, from: u32, to: u32) -> Result<()> {
        let (len, from, to) = (heads.block(), from as usize, to as usize);
        let (from, to) = (from * len..(from + 1) * len, to * len);
        match layer {
            Layer::F32(numbers) => numbers.copy_within(from, to),
            Layer::Bf16(numbers) => numbers.copy_within(from, to),
        }
        Ok(())
    }

    fn cached_attention(
        &self,
        rows: &Buffer,
        heads: Heads,
        cached: &CachedRows<'_, Self>,
        layer: &mut Layer,
    ) -> Result<Buffer> {
        Ok(match layer {
            Layer::F32(cache) => cached_attention(rows, heads, cache, &cached.sequences),
            Layer::Bf16(cache) => cached_attention(rows, heads, cache, &cached.sequences),
        })
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
