//! Positions and attention on a device: over packed sequences, forward and backward, and over the paged cache of the
//! sampler. What a pass needs to know about its sequences is uploaded once, as tables.

use super::parameters::{Gradients, Parameters};
use super::{Cuda, Indices, Memory, at, number};
use crate::engine::backend::{Attention, CachedRows, PackedRows};
use crate::engine::driver::{self, Argument, Kind, Pointer};
use crate::engine::error::EngineError;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::ops::attention::{Attended, Heads};
use crate::engine::ops::norm::Normed;
use crate::engine::ops::rotary::Rotary;
use crate::engine::projection::Norm;
use crate::engine::rows::{CachedRow, Packed};
use crate::job::spec::SampledCache;
use crate::modelfile::rope::Rotation;

type Result<T> = std::result::Result<T, EngineError>;

/// Keys of a sequence that are attended to by one block of a kernel, when there is a cache. Fixed, so that a row's
/// result does not depend on its company.
const PART: usize = 256;
/// Query vectors, of all heads that share a key, that such a block takes at once.
const VECTORS: usize = 16;
/// Pieces of a sum over rows, at most.
const MOST_PIECES: usize = 64;
/// Rows that a block of the plain kernels owns.
const OWNED: usize = 32;
/// Widths of heads for which there are kernels for tensor cores, in bf16.
const TENSOR_WIDTHS: [usize; 4] = [32, 64, 96, 128];

/// The sequences of a packed pass.
#[derive(Debug)]
pub struct PackedTables {
    pub(super) tokens: Vec<u32>,
    /// `{begin, end, first}` of each tile of rows: those of queries, then those of keys. Those with the most work come
    /// first in each sequence.
    tiles: Memory,
    count: usize,
}

/// The sequences of a pass over the cache: where each row's key and value go, what it sees, and its blocks.
#[derive(Debug)]
pub struct CachedTables {
    slots: Pointer,
    seen: Pointer,
    /// `{first, count}` of rows that share their blocks.
    tiles: Pointer,
    tile_count: usize,
    tables: Pointer,
    stride: usize,
    count: usize,
    parts: usize,
    /// Their memory, unless it is someone else's.
    _memory: Option<Memory>,
}

impl Indices {
    /// Tokens and positions at the beginning of tables for `count` rows.
    pub fn over(words: &Memory, count: usize) -> Self {
        Self { tokens: words.at(0), positions: words.at(count), count, _memory: None }
    }
}

impl CachedTables {
    /// The words of the tables of some rows, with room for `count` rows of at most `stride` blocks. Rows that are not
    /// there see one token of the `spare` block.
    pub fn fill(rows: &[CachedRow<'_>], count: usize, stride: usize, spare: u32) -> Vec<u32> {
        let mut words = vec![0; count * (7 + stride)];
        for place in 0..count {
            let [_, _, slots, seen, numbers, tiles, tables] = Self::places(count);
            words[numbers + place] = place as u32;
            words[tiles + 2 * place..][..2].copy_from_slice(&[place as u32, 1]);
            let (position, blocks) = match rows.get(place) {
                Some(row) => {
                    words[place] = row.token;
                    words[count + place] = row.position;
                    (row.position as usize, &row.blocks[..row.position as usize / BLOCK + 1])
                }
                None => (0, std::slice::from_ref(&spare)),
            };
            words[slots + place] = blocks[position / BLOCK] * BLOCK as u32 + (position % BLOCK) as u32;
            words[seen + place] = position as u32 + 1;
            words[tables + place * stride..][..blocks.len()].copy_from_slice(blocks);
        }
        words
    }

    /// Where the parts of the tables begin: tokens, positions, slots, seen, numbers of the rows, tiles, blocks.
    fn places(count: usize) -> [usize; 7] {
        [0, count, 2 * count, 3 * count, 4 * count, 5 * count, 7 * count]
    }

    /// Where the rows' own numbers begin.
    pub fn row_numbers(count: usize) -> usize {
        Self::places(count)[4]
    }

    /// The tables that [`Self::fill`] made, each row being a tile of its own.
    pub fn over(words: &Memory, count: usize, stride: usize) -> Self {
        let [_, _, slots, seen, _, tiles, tables] = Self::places(count).map(|place| words.at(place));
        let parts = (stride * BLOCK).div_ceil(PART);
        Self { slots, seen, tiles, tile_count: count, tables, stride, count, parts, _memory: None }
    }
}

impl Cuda {
    /// Numbers in one block of the cache: keys, then values, of every head.
    fn cache_block(heads: Heads) -> usize {
        2 * BLOCK * heads.key_value_row()
    }

    /// What keys and values of the cache are kept in.
    fn kept_in(&self, kept: Option<SampledCache>) -> Kind {
        kept.map_or(self.kind, |SampledCache::Bf16| Kind::Bf16)
    }

    /// The ending of kernels for rows of the device's kind and keys and values that are kept in `cache`.
    fn suffix_over(&self, cache: &Memory) -> &'static str {
        if cache.kind() == self.kind { self.suffix() } else { "f32_over_bf16" }
    }

    /// Rows of a tile of packed attention.
    fn tile(&self) -> usize {
        if self.is_narrow() { 64 } else { 32 }
    }

    /// Whether tensor cores compute the attention of such heads; windows have the plain kernels.
    fn has_tensor_kernel(&self, heads: Heads) -> bool {
        self.is_narrow() && TENSOR_WIDTHS.contains(&heads.width) && heads.window == usize::MAX
    }

    /// A kernel over tiles and heads, with the shared memory of its plain form and of that for tensor cores.
    fn tiles(
        &self,
        name: &str,
        heads: Heads,
        (tiles, count): (usize, usize),
        shared: [usize; 2],
        arguments: &[Argument],
    ) -> driver::Result<()> {
        if self.has_tensor_kernel(heads) {
            let name = format!("{name}_bf16_w{}", heads.width);
            return self.launch(&name, [tiles, count], 128, shared[1] as u32, arguments);
        }
        let (grid, arguments) = ([tiles, count, self.tile() / OWNED], [arguments, &[window(heads)]].concat());
        self.launch(&format!("{name}_{}", self.suffix()), grid, super::THREADS, shared[0] as u32, &arguments)
    }

    /// A kernel over the parts of rows that are normed, and over `more` blocks of a row.
    fn parts(&self, name: &str, parts: &Parts, rows: usize, more: usize, first: &[Argument]) -> driver::Result<()> {
        let grid = [rows, parts.queries.0 + parts.keys.0 + more];
        let arguments = [first, &parts.arguments(rows)].concat();
        self.rows(name, grid, parts.queries.1.max(parts.keys.1), &arguments)
    }
}

impl Attention for Cuda {
    fn packed<'a>(&self, packed: Packed<'a>) -> Result<PackedRows<'a, Self>> {
        let count = packed.tokens.len();
        let words = self.upload(Kind::U32, &[packed.tokens, packed.positions].concat())?;
        let (mut tiles, mut of_keys) = (Vec::new(), Vec::new());
        for pair in packed.boundaries.windows(2) {
            let tile = |first| [pair[0] as u32, pair[1] as u32, first as u32];
            let firsts = || (pair[0]..pair[1]).step_by(self.tile());
            // The last queries see the most keys, the first keys are seen by the most queries.
            tiles.extend(firsts().rev().flat_map(tile));
            of_keys.extend(firsts().flat_map(tile));
        }
        let tile_count = tiles.len() / 3;
        tiles.extend(of_keys);
        let tiles = self.upload(Kind::U32, &tiles)?;
        let sequences = PackedTables { tokens: packed.tokens.to_vec(), count: tile_count, tiles };
        let (tokens, positions) = (words.at(0), words.at(count));
        Ok(PackedRows { tokens: Indices { tokens, positions, count, _memory: Some(words) }, sequences })
    }

    fn cached<'a>(&self, rows: &'a [CachedRow<'a>], heads: Heads) -> Result<CachedRows<'a, Self>> {
        let longest = rows.iter().map(|row| row.position as usize / BLOCK + 1).max().unwrap_or(1);
        let mut words = CachedTables::fill(rows, rows.len(), longest, 0);
        // Rows of one prompt read its keys together.
        let most = (VECTORS / (heads.query / heads.key_value)).max(1);
        let tiles = CachedTables::places(rows.len())[5];
        let (mut tile_count, mut first) = (0, 0);
        while first < rows.len() {
            let same = |row: &&CachedRow<'_>| std::ptr::eq(row.blocks, rows[first].blocks);
            let count = rows[first..].iter().take(most).take_while(same).count();
            words[tiles + 2 * tile_count..][..2].copy_from_slice(&[first as u32, count as u32]);
            (tile_count, first) = (tile_count + 1, first + count);
        }
        let words = self.upload(Kind::U32, &words)?;
        let (tokens, tables) = (Indices::over(&words, rows.len()), CachedTables::over(&words, rows.len(), longest));
        Ok(CachedRows { tokens, sequences: CachedTables { tile_count, _memory: Some(words), ..tables } })
    }

    fn norm_heads(
        &self,
        rows: &Memory,
        heads: Heads,
        (parameters, norms): (&Parameters, [Norm; 2]),
    ) -> Result<Normed<Memory>> {
        let (count, parts) = (rows.len() / heads.row(), Parts::new(heads, parameters, norms));
        let (out, inverses) = (self.activations(rows.len())?, self.memory(Kind::F32, count * parts.count())?);
        let first = [&[at(&out), at(&inverses), at(rows)][..], &parts.of_norms(true)].concat();
        self.parts("norm_heads", &parts, count, 1, &first)?;
        Ok(Normed { out, inverses })
    }

    fn norm_heads_again(
        &self,
        (rows, inverses): (&Memory, &Memory),
        heads: Heads,
        (parameters, norms): (&Parameters, [Norm; 2]),
    ) -> Result<Memory> {
        let (count, parts) = (rows.len() / heads.row(), Parts::new(heads, parameters, norms));
        let out = self.activations(rows.len())?;
        let first = [&[at(&out), at(inverses), at(rows)][..], &parts.of_norms(true)].concat();
        self.parts("norm_heads_again", &parts, count, 1, &first)?;
        Ok(out)
    }

    fn norm_heads_backward(
        &self,
        (rows, inverses): (&Memory, &Memory),
        heads: Heads,
        (parameters, norms): (&Parameters, [Norm; 2]),
        grad: &mut Memory,
        sums: Option<&mut Gradients>,
    ) -> Result<()> {
        let (count, parts) = (rows.len() / heads.row(), Parts::new(heads, parameters, norms));
        let sums = sums.map(|sums| sums.of(parameters)).transpose()?;
        for (norm, begin, (of, width)) in [(norms[0], 0, parts.queries), (norms[1], parts.queries.0, parts.keys)] {
            let Some(sums) = sums else { break };
            let pieces = MOST_PIECES.min(count);
            let partial = self.memory(Kind::F32, pieces * width)?;
            let first = [at(&partial), at(grad), at(rows), at(inverses), number(begin), number(of), number(pieces)];
            let arguments = [&first[..], &parts.arguments(count)].concat();
            self.run("norm_heads_weight_gradient", [width.div_ceil(128), pieces], &arguments)?;
            self.sum_parts(sums.at(norm.weight), &partial, pieces, width)?;
        }
        let first = [&[at(grad), at(rows), at(inverses)][..], &parts.of_norms(false)].concat();
        Ok(self.parts("norm_heads_backward", &parts, count, 0, &first)?)
    }

    /// The table of a whole context.
    fn rotary(&self, rotation: Rotation, context: usize) -> Result<Turns> {
        let rotary = Rotary::new(rotation);
        Ok(Turns { table: self.upload(Kind::F32, &rotary.table(context))?, width: rotary.width() })
    }

    fn rotate(&self, rows: &mut Memory, heads: Heads, tokens: &Indices, rotary: &Turns, back: bool) -> Result<()> {
        let arguments = [
            at(rows),
            Argument::Pointer(tokens.positions),
            at(&rotary.table),
            number(heads.query),
            number(heads.key_value),
            number(heads.width),
            number(rotary.width),
            number(tokens.count),
            Argument::F32(if back { -1.0 } else { 1.0 }),
        ];
        Ok(self.rows("rotate", tokens.count, heads.query_row() + heads.key_value_row(), &arguments)?)
    }

    fn packed_attention(&self, rows: &Memory, heads: Heads, packed: &PackedRows<'_, Self>) -> Result<Attended<Memory>> {
        let (count, tables) = (rows.len() / heads.row(), &packed.sequences);
        let out = self.activations(count * heads.query_row())?;
        let log_sums = self.memory(Kind::F32, count * heads.query)?;
        let arguments = [&[at(&out), at(&log_sums), at(rows)][..], &packed_arguments(heads, tables, 0)].concat();
        let shared = [4 * (64 * (heads.width + 4) + 544), 512 * heads.width];
        self.tiles("attention", heads, (tables.count, heads.query), shared, &arguments)?;
        Ok(Attended { out, log_sums })
    }

    fn packed_attention_backward(
        &self,
        rows: &Memory,
        attended: &Attended<Memory>,
        grad: &Memory,
        heads: Heads,
        packed: &PackedRows<'_, Self>,
    ) -> Result<Memory> {
        let (count, tables) = (rows.len() / heads.row(), &packed.sequences);
        let delta = self.memory(Kind::F32, count * heads.query)?;
        let sizes = [number(count), number(heads.query), number(heads.width)];
        let arguments = [&[at(&delta), at(&attended.out), at(grad)][..], &sizes].concat();
        self.run("attention_delta", (count * heads.query).div_ceil(8), &arguments)?;
        let of_rows = self.activations(rows.len())?;
        let first = [at(&of_rows), at(rows), at(grad), at(&attended.log_sums), at(&delta)];
        let arguments = [&first[..], &packed_arguments(heads, tables, 0)].concat();
        let (width, plain) = (heads.width, 4 * (80 * (heads.width + 4)));
        let shared = [plain + 4 * 544, 512 * width];
        self.tiles("attention_backward_queries", heads, (tables.count, heads.query), shared, &arguments)?;
        let shared = [plain + 4 * 576, 768 * width + 1024];
        let arguments = [&first[..], &packed_arguments(heads, tables, tables.count)].concat();
        self.tiles("attention_backward_keys", heads, (tables.count, heads.key_value), shared, &arguments)?;
        Ok(of_rows)
    }

    fn cache_layer(&self, heads: Heads, kept: Option<SampledCache>, blocks: usize) -> Result<Memory> {
        // Rows that fill a recorded pass up have a block of their own.
        Ok(self.memory(self.kept_in(kept), (blocks + 1) * Self::cache_block(heads))?)
    }

    fn block_bytes(&self, heads: Heads, kept: Option<SampledCache>) -> usize {
        Self::cache_block(heads) * self.kept_in(kept).bytes()
    }

    fn copy_block(&self, layer: &mut Memory, heads: Heads, from: u32, to: u32) -> Result<()> {
        let len = Self::cache_block(heads);
        let [from, to] = [from, to].map(|block| layer.at(block as usize * len));
        Ok(self.driver.copy(to, from, len * layer.kind().bytes())?)
    }

    fn cached_attention(
        &self,
        rows: &Memory,
        heads: Heads,
        cached: &CachedRows<'_, Self>,
        layer: &mut Memory,
    ) -> Result<Memory> {
        let tables = &cached.sequences;
        let CachedTables { count, parts, .. } = *tables;
        let sizes = [number(heads.query), number(heads.key_value), number(heads.width)];
        let place = [at(layer), at(rows), Argument::Pointer(tables.slots)];
        let arguments = [&place[..], &sizes, &[number(count)]].concat();
        let kernel = format!("cache_put_{}", self.suffix_over(layer));
        self.rows_by(&kernel, count, 2 * heads.key_value_row(), &arguments)?;

        let items = count * heads.query * parts;
        let partial_out = self.memory(Kind::F32, items * heads.width)?;
        let [partial_max, partial_sum] = [self.memory(Kind::F32, items)?, self.memory(Kind::F32, items)?];
        let first = [at(&partial_out), at(&partial_max), at(&partial_sum), at(rows), at(layer)];
        let of_tables = [
            Argument::Pointer(tables.tables),
            number(tables.stride),
            Argument::Pointer(tables.seen),
            Argument::Pointer(tables.tiles),
            number(tables.tile_count),
        ];
        let last = [Argument::F32(heads.scale), number(parts)];
        let mut arguments = [&first[..], &of_tables, &sizes, &last].concat();
        let (name, shared) = if self.has_tensor_kernel(heads) {
            let stages = if heads.width <= 64 { 4 } else { 2 };
            (format!("cached_attention_bf16_w{}", heads.width), 256 * heads.width * stages)
        } else {
            arguments.push(window(heads));
            (format!("cached_attention_{}", self.suffix_over(layer)), 4 * (48 * (heads.width + 4) + 272))
        };
        self.launch(&name, [tables.tile_count, heads.key_value, parts], 128, shared as u32, &arguments)?;

        let out = self.activations(count * heads.query_row())?;
        let first = [at(&out), at(&partial_out), at(&partial_max), at(&partial_sum), Argument::Pointer(tables.seen)];
        let sizes = [number(count), number(heads.query), number(heads.width), number(parts)];
        let name = format!("cached_attention_merge_{}", self.suffix());
        self.launch(&name, [count, heads.query], 32, 0, &[&first[..], &sizes].concat())?;
        Ok(out)
    }
}

/// A table of rotations, and how many coordinates of a head they turn.
#[derive(Debug)]
pub struct Turns {
    table: Memory,
    width: usize,
}

/// The parts of rows that are normed: number and width of those of queries and of keys.
struct Parts {
    queries: (usize, usize),
    keys: (usize, usize),
    row: usize,
    weights: [Argument; 2],
    norm: Norm,
}

impl Parts {
    fn new(heads: Heads, parameters: &Parameters, norms: [Norm; 2]) -> Self {
        let [query, key] = norms.map(|norm| parameters.len_of(norm.weight));
        Self {
            queries: (heads.query_row() / query, query),
            keys: (heads.key_value_row() / key, key),
            row: heads.row(),
            weights: norms.map(|norm| parameters.vector(norm.weight)),
            norm: norms[0],
        }
    }

    fn count(&self) -> usize {
        self.queries.0 + self.keys.0
    }

    /// Weights and offset, and the epsilon where it is asked for.
    fn of_norms(&self, with_eps: bool) -> Vec<Argument> {
        let mut arguments = vec![self.weights[0], self.weights[1], Argument::F32(self.norm.offset)];
        arguments.extend(with_eps.then_some(Argument::F32(self.norm.eps)));
        arguments
    }

    fn arguments(&self, rows: usize) -> [Argument; 6] {
        [self.queries.0, self.queries.1, self.keys.0, self.keys.1, self.row, rows].map(number)
    }
}

/// How far back rows look.
fn window(heads: Heads) -> Argument {
    Argument::U32(u32::try_from(heads.window).unwrap_or(u32::MAX))
}

/// What all kernels of packed attention take last; `first` is the first tile.
fn packed_arguments(heads: Heads, tables: &PackedTables, first: usize) -> Vec<Argument> {
    let mut arguments = vec![Argument::Pointer(tables.tiles.at(3 * first)), number(tables.count)];
    arguments.extend([heads.query, heads.key_value, heads.width].map(number));
    arguments.push(Argument::F32(heads.scale));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_fill_a_pass_up_touch_only_the_spare_block() {
        let blocks = [7, 5];
        let row = CachedRow { token: 3, position: 17, blocks: &blocks };
        let words = CachedTables::fill(&[row], 2, 4, 9);
        let [tokens, positions, slots, seen, numbers, tiles, tables] = CachedTables::places(2).map(|at| &words[at..]);
        assert_eq!((tokens[..2].to_vec(), positions[..2].to_vec()), (vec![3, 0], vec![17, 0]));
        assert_eq!((slots[..2].to_vec(), seen[..2].to_vec()), (vec![5 * 16 + 1, 9 * 16], vec![18, 1]));
        assert_eq!((numbers[..2].to_vec(), tiles[..4].to_vec()), (vec![0, 1], vec![0, 1, 1, 1]));
        assert_eq!(tables[..], [7, 5, 0, 0, 9, 0, 0, 0]);
    }
}
