//! Operations over rows: embedding, norm, products, gate, and copies.

use std::ops::Range;

use super::parameters::{Gradients, Parameters};
use super::{Cuda, Indices, Memory, THREADS, at, maybe, number};
use crate::engine::backend::{Narrowed, Operations, Output, PackedRows};
use crate::engine::driver::{self, Argument, Kind, Pointer, Product};
use crate::engine::error::EngineError;
use crate::engine::ops::norm::Normed;
use crate::engine::projection::Projection;

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
    pub(super) fn rows(&self, name: &str, rows: usize, width: usize, arguments: &[Argument]) -> driver::Result<()> {
        let threads = 32 * width.div_ceil(256).clamp(1, 8) as u32;
        self.launch(&format!("{name}_{}", self.suffix()), rows, threads, 0, arguments)
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
        Ok(out)
    }
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

    fn add(&self, sum: &mut Memory, x: &Memory) -> Result<()> {
        let arguments = [at(sum), at(x), Argument::U64(sum.len() as u64)];
        Ok(self.launch("add", Self::blocks(sum.len()), THREADS, 0, &arguments)?)
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
        (parameters, index): (&Parameters, usize),
        eps: f32,
    ) -> Result<Normed<Memory>> {
        let width = parameters.len_of(index);
        let rows = x.len() / width;
        let (out, inverses) = (self.activations(x.len())?, self.memory(Kind::F32, rows)?);
        let arguments = [
            at(&out),
            at(&inverses),
            at(x),
            maybe(residual),
            parameters.vector(index),
            Argument::F32(eps),
            number(rows),
            number(width),
        ];
        self.rows("norm", rows, width, &arguments)?;
        Ok(Normed { out, inverses })
    }

    fn norm_again(&self, x: &Memory, inverses: &Memory, (parameters, index): (&Parameters, usize)) -> Result<Memory> {
        let (out, rows, width) = (self.activations(x.len())?, inverses.len(), parameters.len_of(index));
        let arguments = [at(&out), at(x), at(inverses), parameters.vector(index), number(rows), number(width)];
        self.rows("norm_again", rows, width, &arguments)?;
        Ok(out)
    }

    fn norm_backward(
        &self,
        (x, inverses): (&Memory, &Memory),
        (parameters, index): (&Parameters, usize),
        grad: &Memory,
        dx: &mut Memory,
        sums: &mut Gradients,
    ) -> Result<()> {
        let sums = sums.of(parameters)?;
        let (rows, width) = (inverses.len(), parameters.len_of(index));
        let weight = parameters.vector(index);
        let arguments = [at(dx), at(grad), at(x), at(inverses), weight, number(rows), number(width)];
        self.rows("norm_backward", rows, width, &arguments)?;
        let parts = PARTS.min(rows);
        let partial = self.memory(Kind::F32, parts * width)?;
        let arguments = [at(&partial), at(grad), at(x), at(inverses), number(rows), number(width), number(parts)];
        self.run("norm_weight_gradient", [width.div_ceil(128), parts], &arguments)?;
        let arguments = [Argument::Pointer(sums.at(index)), at(&partial), number(parts), number(width)];
        Ok(self.launch("sum_parts", width.div_ceil(64), 64, 0, &arguments)?)
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

    fn gated(&self, rows: &Memory, width: usize) -> Result<Memory> {
        let (out, count) = (self.activations(rows.len() / 2)?, rows.len() / (2 * width));
        self.rows("gate", count, width, &[at(&out), at(rows), number(count), number(width)])?;
        Ok(out)
    }

    fn gated_backward(&self, rows: &mut Memory, grad: &mut Memory, width: usize) -> Result<()> {
        let count = grad.len() / width;
        Ok(self.rows("gate_backward", count, width, &[at(rows), at(grad), number(count), number(width)])?)
    }
}
