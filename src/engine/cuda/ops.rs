//! Operations over rows: embedding, norm, products, rotary positions, gate, and copies.

use std::ops::Range;

use super::driver::{Argument, Kind, Pointer, Product, Result};
use super::{Cuda, Flat, Indices, Memory, PackedTables, Parameters, THREADS, at, maybe, number};
use crate::engine::compute::Output;
use crate::engine::model::decoder::Projection;
use crate::engine::ops::attention::Heads;
use crate::engine::ops::rotary::Rotary;

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
    pub(super) fn rows(&self, name: &str, rows: usize, width: usize, arguments: &[Argument]) -> Result<()> {
        let threads = 32 * width.div_ceil(256).clamp(1, 8) as u32;
        self.launch(&format!("{name}_{}", self.suffix()), rows, threads, 0, arguments)
    }

    pub fn zeros(&self, len: usize) -> Result<Memory> {
        let memory = self.memory(Kind::F32, len)?;
        self.driver.clear(memory.pointer(), len * Kind::F32.bytes())?;
        Ok(memory)
    }

    pub fn copied(&self, x: &Memory) -> Result<Memory> {
        let memory = self.memory(x.kind(), x.len())?;
        self.driver.copy(memory.pointer(), x.pointer(), x.len() * x.kind().bytes())?;
        Ok(memory)
    }

    /// Copies numbers within an array; the ranges must not overlap.
    pub fn copy_within(&self, memory: &Memory, from: usize, to: usize, len: usize) -> Result<()> {
        self.driver.copy(memory.at(to), memory.at(from), len * memory.kind().bytes())
    }

    /// f32 numbers in the device's kind.
    pub(super) fn convert(&self, to: Pointer, from: Pointer, len: usize) -> Result<()> {
        let arguments = [Argument::Pointer(to), Argument::Pointer(from), Argument::U64(len as u64)];
        self.run("convert", Self::blocks(len), &arguments)
    }

    pub fn narrowed(&self, x: &Memory) -> Result<Memory> {
        let out = self.activations(x.len())?;
        self.convert(out.pointer(), x.pointer(), x.len())?;
        Ok(out)
    }

    pub fn add(&self, sum: &Memory, x: &Memory) -> Result<()> {
        let arguments = [at(sum), at(x), Argument::U64(sum.len() as u64)];
        self.launch("add", Self::blocks(sum.len()), THREADS, 0, &arguments)
    }

    pub fn embed(&self, weights: &Parameters, index: usize, indices: &Indices, width: usize) -> Result<Memory> {
        let out = self.memory(Kind::F32, indices.count * width)?;
        let table = Argument::Pointer(weights.matrix(index));
        let tokens = Argument::Pointer(indices.tokens);
        let arguments = [at(&out), table, tokens, number(indices.count), number(width)];
        self.rows("embed", indices.count, width, &arguments)?;
        Ok(out)
    }

    pub fn embedding_gradient(&self, index: usize, tables: &PackedTables, dx: &Memory, sums: &Flat) -> Result<()> {
        let tokens = &tables.tokens;
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
            Argument::Pointer(sums.at(index)),
            at(dx),
            at(&all),
            Argument::Pointer(all.at(rest)),
            Argument::Pointer(all.at(rest + count + 1)),
            number(count),
            number(width),
        ];
        self.launch("embedding_gradient", [count, width.div_ceil(128)], 128, 0, &arguments)
    }

    pub fn norm(
        &self,
        x: &Memory,
        residual: Option<&Memory>,
        weights: &Parameters,
        index: usize,
        eps: f32,
    ) -> Result<(Memory, Memory)> {
        let width = weights.len_of(index);
        let rows = x.len() / width;
        let (out, inverses) = (self.activations(x.len())?, self.memory(Kind::F32, rows)?);
        let arguments = [
            at(&out),
            at(&inverses),
            at(x),
            maybe(residual),
            weights.vector(index),
            Argument::F32(eps),
            number(rows),
            number(width),
        ];
        self.rows("norm", rows, width, &arguments)?;
        Ok((out, inverses))
    }

    pub fn norm_again(&self, x: &Memory, inverses: &Memory, weights: &Parameters, index: usize) -> Result<Memory> {
        let (out, rows, width) = (self.activations(x.len())?, inverses.len(), weights.len_of(index));
        let arguments = [at(&out), at(x), at(inverses), weights.vector(index), number(rows), number(width)];
        self.rows("norm_again", rows, width, &arguments)?;
        Ok(out)
    }

    pub fn norm_backward(
        &self,
        (x, inverses): (&Memory, &Memory),
        (weights, index): (&Parameters, usize),
        grad: &Memory,
        dx: &Memory,
        sums: &Flat,
    ) -> Result<()> {
        let (rows, width) = (inverses.len(), weights.len_of(index));
        let arguments = [at(dx), at(grad), at(x), at(inverses), weights.vector(index), number(rows), number(width)];
        self.rows("norm_backward", rows, width, &arguments)?;
        let parts = PARTS.min(rows);
        let partial = self.memory(Kind::F32, parts * width)?;
        let arguments = [at(&partial), at(grad), at(x), at(inverses), number(rows), number(width), number(parts)];
        self.run("norm_weight_gradient", [width.div_ceil(128), parts], &arguments)?;
        let arguments = [Argument::Pointer(sums.at(index)), at(&partial), number(parts), number(width)];
        self.launch("sum_parts", width.div_ceil(64), 64, 0, &arguments)
    }

    pub fn project(&self, projection: &Projection, weights: &Parameters, x: &Memory, into: Output) -> Result<Memory> {
        self.project_rows(projection, weights, x, 0..x.len() / projection.linear.input, into)
    }

    pub fn project_rows(
        &self,
        projection: &Projection,
        weights: &Parameters,
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
            a: (weights.matrix(projection.weights[0]), input, true),
            b: (x.at(rows.start * input), input, false),
            c: (out.pointer(), output),
            factors: self.kind,
            result,
            add: false,
        })?;
        Ok(out)
    }

    pub fn input_gradient(&self, projection: &Projection, weights: &Parameters, dy: &Memory) -> Result<Memory> {
        let (input, output) = (projection.linear.input, projection.linear.output);
        let rows = dy.len() / output;
        let out = self.activations(rows * input)?;
        self.multiply(&Product {
            m: input,
            n: rows,
            k: output,
            a: (weights.matrix(projection.weights[0]), input, false),
            b: (dy.pointer(), output, false),
            c: (out.pointer(), input),
            factors: self.kind,
            result: self.kind,
            add: false,
        })?;
        Ok(out)
    }

    /// Adds `dy^T x` to the sums of a projection's weights, which stand side by side; `x` begins with the given row.
    pub fn weight_gradients(
        &self,
        projection: &Projection,
        (x, first): (&Memory, usize),
        dy: &Memory,
        sums: &Flat,
    ) -> Result<()> {
        let (input, output) = (projection.linear.input, projection.linear.output);
        self.multiply(&Product {
            m: input,
            n: output,
            k: dy.len() / output,
            a: (x.at(first * input), input, false),
            b: (dy.pointer(), output, true),
            c: (sums.at(projection.weights[0]), input),
            factors: self.kind,
            result: Kind::F32,
            add: true,
        })
    }

    fn multiply(&self, product: &Product) -> Result<()> {
        if product.m == 0 || product.n == 0 || product.k == 0 {
            return Ok(());
        }
        self.driver.product(product)
    }

    pub fn rotate(&self, rows: &Memory, heads: Heads, indices: &Indices, rotary: &Rotary, back: bool) -> Result<()> {
        let table = rotary.on_device(|values| self.upload(Kind::F32, values))?;
        let arguments = [
            at(rows),
            Argument::Pointer(indices.positions),
            at(&table),
            number(heads.query),
            number(heads.key_value),
            number(heads.width),
            number(indices.count),
            Argument::F32(if back { -1.0 } else { 1.0 }),
        ];
        self.rows("rotate", indices.count, heads.query_row() + heads.key_value_row(), &arguments)
    }

    pub fn gated(&self, rows: &Memory, width: usize) -> Result<Memory> {
        let (out, count) = (self.activations(rows.len() / 2)?, rows.len() / (2 * width));
        self.rows("gate", count, width, &[at(&out), at(rows), number(count), number(width)])?;
        Ok(out)
    }

    pub fn gated_backward(&self, rows: &Memory, grad: &Memory, width: usize) -> Result<()> {
        let count = grad.len() / width;
        self.rows("gate_backward", count, width, &[at(rows), at(grad), number(count), number(width)])
    }

    pub fn gather(&self, x: &Memory, width: usize, rows: &[u32]) -> Result<Memory> {
        let (out, indices) = (self.activations(rows.len() * width)?, self.upload(Kind::U32, rows)?);
        let arguments = [at(&out), at(x), at(&indices), number(rows.len()), number(width)];
        self.rows("gather", rows.len(), width, &arguments)?;
        Ok(out)
    }

    /// Adds rows to some rows of `sum`, each of which is named once.
    pub fn scatter_add(&self, sum: &Memory, x: &Memory, width: usize, rows: &[u32]) -> Result<()> {
        let indices = self.upload(Kind::U32, rows)?;
        let arguments = [at(sum), at(x), at(&indices), number(rows.len()), number(width)];
        self.rows("scatter_add", rows.len(), width, &arguments)
    }
}
