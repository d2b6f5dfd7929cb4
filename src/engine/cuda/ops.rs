//! Operations over rows: embedding, norm, products, gate, and copies.

use std::ops::Range;

use super::parameters::{Gradients, Parameters};
use super::{Cuda, Grid, Indices, Memory, THREADS, at, maybe, number};
use crate::engine::backend::{How, Narrowed, Operations, Output, PackedRows};
use crate::engine::driver::{self, Argument, Kind, Pointer, Product};
use crate::engine::error::EngineError;
use crate::engine::ops::dropout::Dropout;
use crate::engine::ops::norm::Normed;
use crate::engine::projection::{Lengths, LowRank, Magnitude, NormOf, Projection, Up};
use crate::modelfile::architecture::Activation;

type Result<T> = std::result::Result<T, EngineError>;

/// Numbers that a block takes in kernels without rows.
const FLAT: usize = 1024;
/// Pieces of a sum over rows, at most.
const PARTS: usize = 64;

impl Cuda {
    /// Blocks for kernels that work number by number.
    pub(super) fn blocks(len: usize) -> usize {
        len.div_ceil(FLAT)
    }

    /// A kernel with a block for each row, of which a thread takes eight numbers at a time.
    pub(super) fn rows(
        &self,
        name: &str,
        grid: impl Into<Grid>,
        width: usize,
        arguments: &[Argument],
    ) -> driver::Result<()> {
        self.rows_for(self.kind, name, grid, width, arguments)
    }

    /// The same for numbers of a kind.
    fn rows_for(
        &self,
        kind: Kind,
        name: &str,
        grid: impl Into<Grid>,
        width: usize,
        arguments: &[Argument],
    ) -> driver::Result<()> {
        self.rows_by(&format!("{name}_{}", suffix(kind)), grid, width, arguments)
    }

    /// The same by the kernel's whole name.
    pub(super) fn rows_by(
        &self,
        kernel: &str,
        grid: impl Into<Grid>,
        width: usize,
        arguments: &[Argument],
    ) -> driver::Result<()> {
        let threads = 32 * width.div_ceil(256).clamp(1, 8) as u32;
        self.launch(kernel, grid, threads, 0, arguments)
    }

    /// Zeros in f32.
    pub(super) fn cleared(&self, len: usize) -> driver::Result<Memory> {
        let memory = self.memory(Kind::F32, len)?;
        self.driver.clear(memory.pointer(), len * Kind::F32.bytes())?;
        Ok(memory)
    }

    /// f32 numbers in the device's kind.
    pub(super) fn convert(&self, to: Pointer, from: Pointer, len: usize) -> driver::Result<()> {
        let arguments = [Argument::Pointer(to), Argument::Pointer(from), Argument::U64(len as u64)];
        self.run("convert", Self::blocks(len), &arguments)
    }

    /// A copy of f32 numbers in the device's kind.
    pub(super) fn converted(&self, x: &Memory) -> driver::Result<Memory> {
        let out = self.activations(x.len())?;
        self.convert(out.pointer(), x.pointer(), x.len())?;
        Ok(out)
    }

    /// What lies between the factors of a low-rank change, scaled.
    fn inner(&self, change: &LowRank, parameters: &Parameters, x: &Memory) -> Result<Memory> {
        let rows = x.len() / change.down.linear.input;
        let mut inner = self.product_of_rows(&change.down, parameters, x, 0..rows, Output::Activation)?;
        self.scale(&mut inner, change.scale)?;
        Ok(inner)
    }

    /// Its gradient, for that of the result.
    fn inner_gradient(&self, change: &LowRank, parameters: &Parameters, dy: &Memory) -> Result<Memory> {
        let rows = dy.len() / change.output;
        let mut grad = self.activations(rows * change.inner())?;
        for (which, Up { projection, first, .. }) in change.ups.iter().enumerate() {
            self.multiply(&Product {
                m: change.rank,
                n: rows,
                k: projection.linear.output,
                a: (parameters.matrix(projection.weights[0]), change.rank, false),
                b: (dy.at(*first), change.output, false),
                c: (grad.at(which * change.rank), change.inner()),
                factors: self.kind,
                result: self.kind,
                add: false,
            })?;
        }
        self.scale(&mut grad, change.scale)?;
        Ok(grad)
    }

    /// What of `x` reaches a low-rank change.
    fn kept_of<'a>(&self, x: &'a Memory, change: &LowRank, keys: &[u32]) -> Result<Narrowed<'a, Memory>> {
        if keys.is_empty() {
            return Ok(Narrowed::Same(x));
        }
        let out = self.memory(x.kind(), x.len())?;
        self.drop_out(&out, x, (change.down.linear.input, keys), change.dropout, false)?;
        Ok(Narrowed::Own(out))
    }

    /// Writes rows of which some numbers are dropped, or adds them.
    fn drop_out(
        &self,
        out: &Memory,
        x: &Memory,
        (width, keys): (usize, &[u32]),
        dropout: Dropout,
        add: bool,
    ) -> Result<()> {
        let rows = keys.len();
        let keys = self.upload(Kind::U32, keys)?;
        let [n, width_of, add, place, threshold] =
            [rows as u32, width as u32, u32::from(add), dropout.place, dropout.threshold()].map(Argument::U32);
        let arguments = [at(out), at(x), at(&keys), n, width_of, add, place, threshold, Argument::F32(dropout.scale())];
        Ok(self.rows_for(x.kind(), "drop_out", rows, width, &arguments)?)
    }

    fn multiply(&self, product: &Product) -> Result<()> {
        if product.m == 0 || product.n == 0 || product.k == 0 {
            return Ok(());
        }
        Ok(self.driver.product(product)?)
    }

    /// `x W^T` of some rows of `x`.
    fn product_of_rows(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        x: &Memory,
        rows: Range<usize>,
        into: Output,
    ) -> Result<Memory> {
        let (input, output) = (projection.linear.input, projection.linear.output);
        let result = if into == Output::Sum { Kind::F32 } else { self.kind };
        let out = self.memory(result, rows.len() * output)?;
        self.multiply(&Product {
            m: output,
            n: rows.len(),
            k: input,
            a: (parameters.matrix(projection.weights[0]), input, true),
            b: (x.at(rows.start * input), input, false),
            c: (out.pointer(), output),
            factors: self.kind,
            result,
            add: false,
        })?;
        if let Some(bias) = projection.biases.first() {
            let arguments = [at(&out), parameters.vector(*bias), number(rows.len()), number(output)];
            self.rows_for(out.kind(), "add_bias", rows.len(), output, &arguments)?;
        }
        Ok(out)
    }

    /// A kernel that works number by number, for numbers of a kind.
    fn run_for(&self, kind: Kind, name: &str, len: usize, arguments: &[Argument]) -> driver::Result<()> {
        self.launch(&format!("{name}_{}", suffix(kind)), Self::blocks(len), THREADS, 0, arguments)
    }

    /// Adds the sum of the rows of `dy: [N, width]` to numbers at `sum`. Biases stand side by side as their weights do.
    fn bias_gradients(&self, dy: &Memory, width: usize, sum: Pointer) -> driver::Result<()> {
        let rows = dy.len() / width;
        let parts = PARTS.min(rows);
        let partial = self.memory(Kind::F32, parts * width)?;
        let arguments = [at(&partial), at(dy), number(rows), number(width), number(parts)];
        self.run("column_sums", [width.div_ceil(128), parts], &arguments)?;
        self.sum_parts(sum, &partial, parts, width)
    }

    /// Adds partial sums to `width` numbers, in their order.
    pub(super) fn sum_parts(&self, sum: Pointer, partial: &Memory, parts: usize, width: usize) -> driver::Result<()> {
        let arguments = [Argument::Pointer(sum), at(partial), number(parts), number(width)];
        self.launch("sum_parts", width.div_ceil(64), 64, 0, &arguments)
    }
}

/// What kernels for a kind of number are called by.
fn suffix(kind: Kind) -> &'static str {
    if kind == Kind::Bf16 { "bf16" } else { "f32" }
}

/// What kernels read that scale columns, besides magnitudes.
fn of_lengths(magnitude: Magnitude, lengths: Lengths<'_, Parameters>) -> [Argument; 2] {
    let bias = lengths.biases.zip(magnitude.bias).map(|(biases, bias)| biases.vector(bias));
    [lengths.inverses.vector(magnitude.inverse), bias.unwrap_or(maybe(None))]
}

impl Operations for Cuda {
    fn copy(&self, x: &Memory) -> Result<Memory> {
        let memory = self.memory(x.kind(), x.len())?;
        self.driver.copy(memory.pointer(), x.pointer(), x.len() * x.kind().bytes())?;
        Ok(memory)
    }

    fn zeros(&self, len: usize) -> Result<Memory> {
        Ok(self.cleared(len)?)
    }

    fn brought(&self, values: &[f32]) -> Result<Memory> {
        Ok(self.upload(Kind::F32, values)?)
    }

    fn add(&self, sum: &mut Memory, x: &Memory) -> Result<()> {
        let arguments = [at(sum), at(x), Argument::U64(sum.len() as u64)];
        Ok(self.run_for(x.kind(), "add", sum.len(), &arguments)?)
    }

    fn scale(&self, x: &mut Memory, factor: f32) -> Result<()> {
        let arguments = [at(x), Argument::F32(factor), Argument::U64(x.len() as u64)];
        Ok(self.run_for(x.kind(), "scale", x.len(), &arguments)?)
    }

    fn scale_rows(&self, x: &mut Memory, width: usize, factors: &[f32]) -> Result<()> {
        let count = factors.len();
        let factors = self.upload(Kind::F32, factors)?;
        Ok(self.rows("scale_rows", count, width, &[at(x), at(&factors), number(count), number(width)])?)
    }

    fn row_products(&self, a: &Memory, b: &Memory, width: usize) -> Result<Vec<f32>> {
        let count = a.len() / width;
        let out = self.memory(Kind::F32, count)?;
        self.rows("row_products", count, width, &[at(&out), at(a), at(b), number(count), number(width)])?;
        Ok(self.download(&out)?)
    }

    fn widened(&self, x: Memory) -> Result<Memory> {
        if x.kind() == Kind::F32 {
            return Ok(x);
        }
        let out = self.memory(Kind::F32, x.len())?;
        self.run("widen", Self::blocks(x.len()), &[at(&out), at(&x), Argument::U64(x.len() as u64)])?;
        Ok(out)
    }

    fn narrowed<'a>(&self, x: &'a Memory) -> Result<Narrowed<'a, Memory>> {
        Ok(if self.is_narrow() { Narrowed::Own(self.converted(x)?) } else { Narrowed::Same(x) })
    }

    fn gather(&self, x: &Memory, width: usize, rows: &[u32]) -> Result<Memory> {
        let (out, indices) = (self.activations(rows.len() * width)?, self.upload(Kind::U32, rows)?);
        let arguments = [at(&out), at(x), at(&indices), number(rows.len()), number(width)];
        self.rows("gather", rows.len(), width, &arguments)?;
        Ok(out)
    }

    fn scatter_add(&self, sum: &mut Memory, x: &Memory, width: usize, rows: &[u32]) -> Result<()> {
        let indices = self.upload(Kind::U32, rows)?;
        let arguments = [at(sum), at(x), at(&indices), number(rows.len()), number(width)];
        Ok(self.rows("scatter_add", rows.len(), width, &arguments)?)
    }

    fn embed(&self, (parameters, index): (&Parameters, usize), tokens: &Indices, width: usize) -> Result<Memory> {
        let out = self.memory(Kind::F32, tokens.count * width)?;
        let table = Argument::Pointer(parameters.matrix(index));
        let arguments = [at(&out), table, Argument::Pointer(tokens.tokens), number(tokens.count), number(width)];
        self.rows("embed", tokens.count, width, &arguments)?;
        Ok(out)
    }

    fn embedding_gradient(
        &self,
        (parameters, index): (&Parameters, usize),
        rows: &PackedRows<'_, Self>,
        dx: &Memory,
        sums: &mut Gradients,
    ) -> Result<()> {
        let tokens = &rows.sequences.tokens;
        let width = dx.len() / tokens.len().max(1);
        // Rows of one token are added by one block, in their order.
        let mut order: Vec<u32> = (0..tokens.len() as u32).collect();
        order.sort_by_key(|row| tokens[*row as usize]);
        let (mut starts, mut owners) = (Vec::new(), Vec::new());
        for (place, row) in order.iter().enumerate() {
            let token = tokens[*row as usize];
            if owners.last() != Some(&token) {
                owners.push(token);
                starts.push(place as u32);
            }
        }
        starts.push(order.len() as u32);
        let (count, rest) = (owners.len(), order.len());
        let all = self.upload(Kind::U32, &[order, starts, owners].concat())?;
        let arguments = [
            Argument::Pointer(sums.of(parameters)?.at(index)),
            at(dx),
            at(&all),
            Argument::Pointer(all.at(rest)),
            Argument::Pointer(all.at(rest + count + 1)),
            number(count),
            number(width),
        ];
        Ok(self.launch("embedding_gradient", [count, width.div_ceil(128)], 128, 0, &arguments)?)
    }

    fn norm(
        &self,
        x: &mut Memory,
        residual: Option<&Memory>,
        (parameters, norm): NormOf<'_, Parameters>,
    ) -> Result<Normed<Memory>> {
        let width = parameters.len_of(norm.weight);
        let rows = x.len() / width;
        let (out, inverses) = (self.activations(x.len())?, self.memory(Kind::F32, rows)?);
        let arguments = [
            at(&out),
            at(&inverses),
            at(x),
            maybe(residual),
            parameters.vector(norm.weight),
            Argument::F32(norm.offset),
            Argument::F32(norm.eps),
            number(rows),
            number(width),
        ];
        self.rows("norm", rows, width, &arguments)?;
        Ok(Normed { out, inverses })
    }

    fn norm_again(&self, x: &Memory, inverses: &Memory, (parameters, norm): NormOf<'_, Parameters>) -> Result<Memory> {
        let (out, rows, width) = (self.activations(x.len())?, inverses.len(), parameters.len_of(norm.weight));
        let of_norm = [parameters.vector(norm.weight), Argument::F32(norm.offset)];
        let arguments = [&[at(&out), at(x), at(inverses)][..], &of_norm, &[number(rows), number(width)]].concat();
        self.rows("norm_again", rows, width, &arguments)?;
        Ok(out)
    }

    fn norm_backward(
        &self,
        (x, inverses): (&Memory, &Memory),
        (parameters, norm): NormOf<'_, Parameters>,
        grad: &Memory,
        dx: &mut Memory,
        sums: Option<&mut Gradients>,
    ) -> Result<()> {
        let (rows, width) = (inverses.len(), parameters.len_of(norm.weight));
        let of_norm = [parameters.vector(norm.weight), Argument::F32(norm.offset)];
        let first = [at(dx), at(grad), at(x), at(inverses)];
        let arguments = [&first[..], &of_norm, &[number(rows), number(width)]].concat();
        self.rows("norm_backward", rows, width, &arguments)?;
        let Some(sums) = sums else { return Ok(()) };
        let sums = sums.of(parameters)?;
        let parts = PARTS.min(rows);
        let partial = self.memory(Kind::F32, parts * width)?;
        let arguments = [at(&partial), at(grad), at(x), at(inverses), number(rows), number(width), number(parts)];
        self.run("norm_weight_gradient", [width.div_ceil(128), parts], &arguments)?;
        Ok(self.sum_parts(sums.at(norm.weight), &partial, parts, width)?)
    }

    fn project(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        x: &Memory,
        into: Output,
        _keep: bool,
    ) -> Result<Memory> {
        self.product_of_rows(projection, parameters, x, 0..x.len() / projection.linear.input, into)
    }

    fn project_rows(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        x: &Memory,
        range: Range<usize>,
        _keep: bool,
    ) -> Result<Memory> {
        self.product_of_rows(projection, parameters, x, range, Output::Sum)
    }

    fn input_gradient(&self, projection: &Projection, parameters: &Parameters, dy: &Memory) -> Result<Memory> {
        let (input, output) = (projection.linear.input, projection.linear.output);
        let rows = dy.len() / output;
        let out = self.activations(rows * input)?;
        self.multiply(&Product {
            m: input,
            n: rows,
            k: output,
            a: (parameters.matrix(projection.weights[0]), input, false),
            b: (dy.pointer(), output, false),
            c: (out.pointer(), input),
            factors: self.kind,
            result: self.kind,
            add: false,
        })?;
        Ok(out)
    }

    /// A projection's weights stand side by side, so that their sums are one.
    fn weight_gradients(
        &self,
        projection: &Projection,
        parameters: &Parameters,
        (x, first): (&Memory, usize),
        dy: &Memory,
        sums: &mut Gradients,
    ) -> Result<()> {
        let (input, output) = (projection.linear.input, projection.linear.output);
        if let Some(bias) = projection.biases.first() {
            self.bias_gradients(dy, output, sums.of(parameters)?.at(*bias))?;
        }
        self.multiply(&Product {
            m: input,
            n: output,
            k: dy.len() / output,
            a: (x.at(first * input), input, false),
            b: (dy.pointer(), output, true),
            c: (sums.of(parameters)?.at(projection.weights[0]), input),
            factors: self.kind,
            result: Kind::F32,
            add: true,
        })
    }

    fn change(
        &self,
        change: &LowRank,
        parameters: &Parameters,
        x: &Memory,
        out: &mut Memory,
        how: How<'_>,
    ) -> Result<()> {
        if x.is_empty() {
            return Ok(());
        }
        let inner = self.inner(change, parameters, &*self.kept_of(x, change, how.keys)?)?;
        for (which, Up { projection, first, .. }) in change.ups.iter().enumerate() {
            self.multiply(&Product {
                m: projection.linear.output,
                n: inner.len() / change.inner(),
                k: change.rank,
                a: (parameters.matrix(projection.weights[0]), change.rank, true),
                b: (inner.at(which * change.rank), change.inner(), false),
                c: (out.at(*first), change.output),
                factors: self.kind,
                result: out.kind(),
                add: true,
            })?;
        }
        Ok(())
    }

    fn change_input_gradient(
        &self,
        change: &LowRank,
        parameters: &Parameters,
        dy: &Memory,
        dx: &mut Memory,
        keys: &[u32],
    ) -> Result<()> {
        if dy.is_empty() {
            return Ok(());
        }
        let of_inner = self.inner_gradient(change, parameters, dy)?;
        let input = change.down.linear.input;
        let into = |out: &Memory, add: bool| {
            self.multiply(&Product {
                m: input,
                n: of_inner.len() / change.inner(),
                k: change.inner(),
                a: (parameters.matrix(change.down.weights[0]), input, false),
                b: (of_inner.pointer(), change.inner(), false),
                c: (out.pointer(), input),
                factors: self.kind,
                result: out.kind(),
                add,
            })
        };
        if keys.is_empty() {
            return into(dx, true);
        }
        let own = self.memory(dx.kind(), dx.len())?;
        into(&own, false)?;
        self.drop_out(dx, &own, (input, keys), change.dropout, true)
    }

    fn change_weight_gradients(
        &self,
        change: &LowRank,
        parameters: &Parameters,
        (x, keys): (&Memory, &[u32]),
        dy: &Memory,
        sums: &mut Gradients,
    ) -> Result<()> {
        if dy.is_empty() {
            // The gradients of an expert that no token went to are zeros, as all are at first.
            return Ok(sums.of(parameters).map(|_zeros| ())?);
        }
        let x = &*self.kept_of(x, change, keys)?;
        let inner = self.inner(change, parameters, x)?;
        for (which, Up { projection, first, .. }) in change.ups.iter().enumerate() {
            self.multiply(&Product {
                m: change.rank,
                n: projection.linear.output,
                k: dy.len() / change.output,
                a: (inner.at(which * change.rank), change.inner(), false),
                b: (dy.at(*first), change.output, true),
                c: (sums.of(parameters)?.at(projection.weights[0]), change.rank),
                factors: self.kind,
                result: Kind::F32,
                add: true,
            })?;
        }
        drop(inner);
        let of_inner = self.inner_gradient(change, parameters, dy)?;
        self.weight_gradients(&change.down, parameters, (x, 0), &of_inner, sums)
    }

    fn scale_columns(&self, change: &LowRank, lengths: Lengths<'_, Parameters>, out: &mut Memory) -> Result<()> {
        let rows = out.len() / change.output;
        if rows == 0 {
            return Ok(());
        }
        for Up { projection, first, magnitude } in &change.ups {
            let Some(magnitude) = magnitude else { continue };
            let (count, places) = (projection.linear.output, [rows, change.output, *first, projection.linear.output]);
            let magnitudes = lengths.magnitudes.vector(magnitude.weight);
            let arguments =
                [&[at(out), magnitudes][..], &of_lengths(*magnitude, lengths), &places.map(number)].concat();
            self.rows_for(out.kind(), "scale_columns", rows, count, &arguments)?;
        }
        Ok(())
    }

    fn magnitude_gradients(
        &self,
        change: &LowRank,
        lengths: Lengths<'_, Parameters>,
        (y, dy): (&Memory, &Memory),
        sums: &mut Gradients,
    ) -> Result<()> {
        let (rows, sums) = (dy.len() / change.output, sums.of(lengths.magnitudes)?);
        if rows == 0 {
            return Ok(());
        }
        for Up { projection, first, magnitude } in &change.ups {
            let Some(magnitude) = magnitude else { continue };
            let (count, parts) = (projection.linear.output, PARTS.min(rows));
            let partial = self.memory(Kind::F32, parts * count)?;
            let places = [rows, change.output, *first, count, parts].map(number);
            let arguments = [&[at(&partial), at(y), at(dy)][..], &of_lengths(*magnitude, lengths), &places].concat();
            self.run("magnitude_sums", [count.div_ceil(128), parts], &arguments)?;
            self.sum_parts(sums.at(magnitude.weight), &partial, parts, count)?;
        }
        Ok(())
    }

    fn gated(&self, rows: &Memory, width: usize, activation: Activation) -> Result<Memory> {
        let (out, count) = (self.activations(rows.len() / 2)?, rows.len() / (2 * width));
        let arguments = [at(&out), at(rows), number(activation as usize), number(count), number(width)];
        self.rows("gate", count, width, &arguments)?;
        Ok(out)
    }

    fn gated_backward(&self, rows: &mut Memory, grad: &mut Memory, width: usize, activation: Activation) -> Result<()> {
        let count = grad.len() / width;
        let arguments = [at(rows), at(grad), number(activation as usize), number(count), number(width)];
        Ok(self.rows("gate_backward", count, width, &arguments)?)
    }
}
