//! The factors of a product in the form that its inner loop reads: the right one in panels, the left one as it stands
//! or rounded to bf16.

use std::ops::Range;

use rayon::prelude::*;

use super::buffer::Buffer;
use super::codes::Codes;
use super::dispatched;
use super::form;
use super::lanes::Lanes;
pub use super::lanes::PANEL;
use super::narrow::widen;
pub use super::precision::Precision;
use super::precision::bf16_bits;

/// What the numbers of a factor are kept as: f32, or the bits of bf16.
pub trait Number: Copy + Send + Sync {
    fn wide(self) -> f32;

    /// Up to [`PANEL`] numbers as f32, in `room` where they are not that already.
    fn widened<'a>(values: &'a [Self], room: &'a mut [f32; PANEL]) -> &'a [f32];
}

impl Number for f32 {
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    #[inline(always)]
    fn widened<'a>(values: &'a [Self], _room: &'a mut [f32; PANEL]) -> &'a [f32] {
        values
    }
}

impl Number for u16 {
    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from_bits(u32::from(self) << 16)
    }

    #[inline(always)]
    fn widened<'a>(values: &'a [Self], room: &'a mut [f32; PANEL]) -> &'a [f32] {
        widen(values, &mut room[..values.len()]);
        &room[..values.len()]
    }
}

/// A matrix whose rows begin `stride` apart, of f32 where nothing else is said.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, N = f32> {
    values: &'a [N],
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<'a, N: Copy> View<'a, N> {
    /// Rows without gaps.
    pub fn new(values: &'a [N], columns: usize) -> Self {
        assert!(columns > 0 && values.len().is_multiple_of(columns), "{} numbers in rows of {columns}", values.len());
        Self { values, rows: values.len() / columns, columns, stride: columns }
    }

    pub fn rows(self) -> usize {
        self.rows
    }

    /// Some of the columns.
    pub fn columns(self, first: usize, count: usize) -> Self {
        assert!(first + count <= self.columns, "columns {first}..{} of {}", first + count, self.columns);
        Self { values: &self.values[first.min(self.values.len())..], columns: count, ..self }
    }

    fn row(&self, row: usize) -> &'a [N] {
        &self.values[row * self.stride..][..self.columns]
    }
}

/// A right factor in panels: `[panel][word][PANEL]`, columns beyond the last are zero.
#[derive(Debug)]
pub struct Panels {
    pub(super) words: Buffer,
    pub(super) depth: usize,
    pub(super) columns: usize,
    pub(super) precision: Precision,
}

impl Panels {
    /// The factor `M^T`, where the rows of `M` are those of `matrices`, one after the other: weights `[out, in]`, to be
    /// multiplied with states `[.., in]`.
    pub fn transposed<N: Number>(matrices: &[&[N]], depth: usize, precision: Precision) -> Self {
        let rows: Vec<&[N]> = matrices.iter().flat_map(|m| m.chunks_exact(depth)).collect();
        let mut panels = Self::new(depth, rows.len(), precision);
        let paired = precision.is_paired();
        panels.fill(|first, panel| {
            let rows = &rows[first..(first + PANEL).min(rows.len())];
            if rows.len() < PANEL {
                panel.fill(0.0);
            }
            // Blocks of the inner dimension, so that what is written stays in the cache from row to row.
            let (columns, _) = panel.as_chunks_mut::<PANEL>();
            let wide = if paired { 2 } else { 1 };
            for (block, out) in columns.chunks_mut(32).enumerate() {
                for (column, row) in rows.iter().enumerate() {
                    let row = &row[block * 32 * wide..depth.min((block + 1) * 32 * wide)];
                    if paired {
                        out.iter_mut().zip(row.chunks(2)).for_each(|(out, pair)| out[column] = pack(pair));
                    } else {
                        out.iter_mut().zip(row).for_each(|(out, x)| out[column] = x.wide());
                    }
                }
            }
        });
        panels
    }

    /// The factor `M` itself, whose rows are those of `views`, one after the other.
    pub fn straight<N: Number>(views: &[View<'_, N>], precision: Precision) -> Self {
        let (depth, columns) = (views.iter().map(|v| v.rows).sum(), views.first().map_or(0, |v| v.columns));
        assert!(views.iter().all(|v| v.columns == columns), "matrices of different width");
        let rows: Vec<&[N]> = views.iter().flat_map(|v| (0..v.rows).map(|r| v.row(r))).collect();
        let mut panels = Self::new(depth, columns, precision);
        let paired = precision.is_paired();
        panels.fill(|first, panel| {
            let count = (columns - first).min(PANEL);
            if count < PANEL {
                panel.fill(0.0);
            }
            if paired {
                for (pair, out) in rows.chunks(2).zip(panel.chunks_exact_mut(PANEL)) {
                    let [mut one, mut other] = [[0.0; PANEL]; 2];
                    let low = N::widened(&pair[0][first..][..count], &mut one);
                    let high = pair.get(1).map(|row| N::widened(&row[first..][..count], &mut other));
                    interleave(low, high, &mut out[..count]);
                }
                return;
            }
            let (panel, _) = panel.as_chunks_mut::<PANEL>();
            for (row, out) in rows.iter().zip(panel) {
                let mut room = [0.0; PANEL];
                let row = N::widened(&row[first..][..count], &mut room);
                match row.first_chunk::<PANEL>() {
                    // A copy of known length is a few instructions, one of unknown length a call.
                    Some(whole) => *out = *whole,
                    None => out[..count].copy_from_slice(row),
                }
            }
        });
        panels
    }

    /// The factor `M` itself, for some of the rows of matrices that are kept transposed, one after the other.
    pub fn turned(matrices: &[&Kept], rows: Range<usize>, precision: Precision) -> Self {
        let columns = matrices.first().map_or(0, |m| m.depth());
        assert!(matrices.iter().all(|m| m.depth() == columns), "matrices of different width");
        let all = matrices.iter().flat_map(|m| (0..m.columns()).map(|row| (*m, row)));
        let rows: Vec<(&Kept, usize)> = all.skip(rows.start).take(rows.len()).collect();
        let mut panels = Self::new(rows.len(), columns, precision);
        let paired = precision.is_paired();
        panels.fill(|first, panel| {
            let count = (columns - first).min(PANEL);
            if count < PANEL {
                panel.fill(0.0);
            }
            let mut tile = Tile::new(first..first + count);
            let rows = rows.chunks(if paired { 2 } else { 1 });
            for (rows, out) in rows.zip(panel.chunks_exact_mut(PANEL)) {
                let out = &mut out[..count];
                match (rows[0], rows.get(1)) {
                    ((Kept::Panels(one), row), other) if paired => {
                        let other = other.and_then(|(kept, row)| kept.words_of_row(*row));
                        pairs_of(one.of_row(row), other, first / 2, out);
                    }
                    ((Kept::Panels(one), row), _) => {
                        let words = one.of_row(row).iter().step_by(PANEL).skip(first);
                        out.iter_mut().zip(words).for_each(|(out, word)| *out = *word);
                    }
                    ((Kept::Codes(one), row), other) => {
                        let low = tile.row(one, row);
                        let high = other.and_then(|(kept, row)| kept.codes().map(|codes| tile.row(codes, *row)));
                        if paired {
                            interleave(&low[..count], high.as_ref().map(|high| &high[..count]), out);
                        } else {
                            out.copy_from_slice(&low[..count]);
                        }
                    }
                }
            }
        });
        panels
    }

    /// The words that hold row `row` of the matrix that is kept transposed: every [`PANEL`]th from the first on.
    fn of_row(&self, row: usize) -> &[f32] {
        let size = self.precision.words(self.depth) * PANEL;
        &self.words[row / PANEL * size..][..size][row % PANEL..]
    }

    /// Row `row` of the matrix that is kept transposed.
    pub fn read_row(&self, row: usize, out: &mut [f32]) {
        assert_eq!((out.len(), row < self.columns), (self.depth, true), "there is no such row");
        let words = self.of_row(row).iter().step_by(PANEL);
        if !self.precision.is_paired() {
            return out.iter_mut().zip(words).for_each(|(out, word)| *out = *word);
        }
        for (out, word) in out.chunks_mut(2).zip(words) {
            let pair = unpack(*word);
            out.copy_from_slice(&pair[..out.len()]);
        }
    }

    fn new(depth: usize, columns: usize, precision: Precision) -> Self {
        let words = Buffer::new(columns.div_ceil(PANEL) * precision.words(depth) * PANEL);
        Self { words, depth, columns, precision }
    }

    fn fill(&mut self, fill: impl Fn(usize, &mut [f32]) + Sync) {
        let size = self.precision.words(self.depth) * PANEL;
        if size > 0 {
            self.words.par_chunks_mut(size).enumerate().for_each(|(i, panel)| fill(i * PANEL, panel));
        }
    }
}

/// One or two numbers as a word; the first in the low half.
#[inline(always)]
fn pack<N: Number>(pair: &[N]) -> f32 {
    f32::from_bits(bf16_bits(pair[0].wide()) | (pair.get(1).map_or(0, |x| bf16_bits(x.wide())) << 16))
}

/// The two numbers of a word.
#[inline(always)]
fn unpack(word: f32) -> [f32; 2] {
    let bits = word.to_bits();
    [f32::from_bits(bits << 16), f32::from_bits(bits & 0xffff_0000)]
}

/// Pairs of one number from each of two rows of words that lie [`PANEL`] apart, from a word on.
fn pairs_of(low: &[f32], high: Option<&[f32]>, first: usize, out: &mut [f32]) {
    for (word, out) in out.chunks_mut(2).enumerate() {
        let at = (first + word) * PANEL;
        let (low, high) = (low[at].to_bits(), high.map_or(0, |high| high[at].to_bits()));
        let pairs = [(low & 0xffff) | (high << 16), (low >> 16) | (high & 0xffff_0000)].map(f32::from_bits);
        out.copy_from_slice(&pairs[..out.len()]);
    }
}

/// Pairs of one number from each row.
fn interleave(low: &[f32], high: Option<&[f32]>, out: &mut [f32]) {
    // Safety: the instruction set was detected; the body is plain code that it makes faster.
    unsafe { interleave_of(low, high, out) }
}

dispatched!(
    fn interleave_of(low: &[f32], high: Option<&[f32]>, out: &mut [f32]) = interleave_body
);

#[inline(always)]
unsafe fn interleave_body<S: Lanes>(low: &[f32], high: Option<&[f32]>, out: &mut [f32]) {
    match high {
        Some(high) => {
            for ((out, a), b) in out.iter_mut().zip(low).zip(high) {
                *out = f32::from_bits(bf16_bits(*a) | (bf16_bits(*b) << 16));
            }
        }
        None => out.iter_mut().zip(low).for_each(|(out, a)| *out = f32::from_bits(bf16_bits(*a))),
    }
}

/// A right factor that never changes.
#[derive(Debug)]
pub enum Kept {
    /// In the precision of its products.
    Panels(Panels),
    Codes(Codes),
}

/// Some steps of one panel of a matrix in codes, decoded when the first of its rows is asked for.
struct Tile<'a> {
    of: Option<(&'a Codes, usize)>,
    steps: Range<usize>,
    numbers: [f32; PANEL * PANEL],
}

impl<'a> Tile<'a> {
    fn new(steps: Range<usize>) -> Self {
        Self { of: None, steps, numbers: [0.0; PANEL * PANEL] }
    }

    /// The numbers of row `row` of the matrix; zeros behind the steps.
    fn row(&mut self, codes: &'a Codes, row: usize) -> [f32; PANEL] {
        let panel = row / PANEL;
        if self.of.is_none_or(|(of, known)| !std::ptr::eq(of, codes) || known != panel) {
            let numbers = &mut self.numbers[..self.steps.len() * PANEL];
            codes.fill(panel, self.steps.clone(), Precision::F32, numbers);
            self.of = Some((codes, panel));
        }
        let mut out = [0.0; PANEL];
        let own = self.numbers[row % PANEL..].iter().step_by(PANEL);
        out.iter_mut().zip(own).for_each(|(out, number)| *out = *number);
        out
    }
}

impl Kept {
    pub fn depth(&self) -> usize {
        match self {
            Self::Panels(panels) => panels.depth,
            Self::Codes(codes) => codes.depth,
        }
    }

    pub fn columns(&self) -> usize {
        match self {
            Self::Panels(panels) => panels.columns,
            Self::Codes(codes) => codes.columns,
        }
    }

    /// Row `row` of the matrix that is kept transposed.
    pub fn read_row(&self, row: usize, out: &mut [f32]) {
        match self {
            Self::Panels(panels) => panels.read_row(row, out),
            Self::Codes(codes) => codes.read_row(row, out),
        }
    }

    fn words_of_row(&self, row: usize) -> Option<&[f32]> {
        match self {
            Self::Panels(panels) => Some(panels.of_row(row)),
            Self::Codes(_) => None,
        }
    }

    fn codes(&self) -> Option<&Codes> {
        match self {
            Self::Panels(_) => None,
            Self::Codes(codes) => Some(codes),
        }
    }
}

/// A left factor as the kernel reads it.
#[derive(Debug)]
enum Words<'a> {
    Borrowed(&'a [f32]),
    Converted(Buffer),
}

/// A left factor: number `(row, step)` is the word at `row * row_stride + step * step_stride`.
#[derive(Debug)]
pub struct Left<'a> {
    words: Words<'a>,
    pub(super) rows: usize,
    pub(super) depth: usize,
    pub(super) row_stride: usize,
    pub(super) step_stride: usize,
    pub(super) precision: Precision,
}

impl<'a> Left<'a> {
    /// The matrix as it stands.
    pub fn rows(view: View<'a>, precision: Precision) -> Self {
        let View { rows, columns: depth, stride, .. } = view;
        let base =
            Self { words: Words::Borrowed(view.values), rows, depth, row_stride: stride, step_stride: 1, precision };
        if precision == Precision::F32 {
            return base;
        }
        let width = precision.words(depth);
        let mut words = Buffer::new(rows * width);
        if width > 0 {
            let rows = words.par_chunks_mut(width).enumerate().with_min_len(16);
            rows.for_each(|(row, out)| convert_row(view.row(row), out));
        }
        Self { words: Words::Converted(words), row_stride: width, ..base }
    }

    /// The transposed matrix.
    pub fn columns(view: View<'a>, precision: Precision) -> Self {
        let View { rows: depth, columns: rows, stride, .. } = view;
        let base =
            Self { words: Words::Borrowed(view.values), rows, depth, row_stride: 1, step_stride: stride, precision };
        if precision == Precision::F32 {
            return base;
        }
        let mut words = Buffer::new(rows * precision.words(depth));
        words.par_chunks_mut(rows).enumerate().with_min_len(8).for_each(|(step, out)| {
            let high = (2 * step + 1 < depth).then(|| view.row(2 * step + 1));
            interleave(view.row(2 * step), high, out);
        });
        Self { words: Words::Converted(words), step_stride: rows, ..base }
    }

    /// The words from a row and a step on, with what lies between rows and between steps.
    pub(super) fn part(&self, row: usize, step: usize) -> (&[f32], usize, usize) {
        let words = &self.words()[row * self.row_stride + step * self.step_stride..];
        (words, self.row_stride, self.step_stride)
    }

    /// Some pairs of some rows as numbers, in `room`, with the same.
    pub(super) fn widened<'r>(
        &self,
        rows: Range<usize>,
        words: Range<usize>,
        room: &'r mut Vec<f32>,
    ) -> (&'r [f32], usize, usize) {
        room.resize(2 * rows.len() * words.len(), 0.0);
        let own = |row: usize, word: usize| self.part(row, word).0;
        if self.step_stride == 1 {
            let width = 2 * words.len();
            for (row, out) in rows.zip(room.chunks_exact_mut(width)) {
                form::widen_row(&own(row, words.start)[..words.len()], out);
            }
            return (room, width, 1);
        }
        let (count, width) = (rows.len(), rows.len());
        for (word, out) in words.zip(room.chunks_exact_mut(2 * count)) {
            let (high, low) = out.split_at_mut(count);
            form::widen(&own(rows.start, word)[..count], high, low);
        }
        (room, 1, width)
    }

    /// Some words of some rows, those of a row one after the other, in `room` where they lie in another way; with what lies
    /// between rows and between steps.
    pub(super) fn upright<'r>(
        &'r self,
        rows: Range<usize>,
        words: Range<usize>,
        room: &'r mut Vec<f32>,
    ) -> (&'r [f32], usize, usize) {
        if self.step_stride == 1 {
            return self.part(rows.start, words.start);
        }
        let width = words.len();
        room.resize(rows.len() * width, 0.0);
        // Some rows at a time, so that what is written stays in the cache from word to word.
        for (block, out) in room.chunks_mut(PANEL * width).enumerate() {
            let (first, count) = (rows.start + block * PANEL, out.len() / width);
            for (at, word) in words.clone().enumerate() {
                let own = &self.part(first, word).0[..count];
                out.iter_mut().skip(at).step_by(width).zip(own).for_each(|(out, word)| *out = *word);
            }
        }
        (room, width, 1)
    }

    /// Its last word is there; it has one.
    pub(super) fn check(&self) {
        let depth = self.precision.words(self.depth);
        let last = (self.rows - 1) * self.row_stride + (depth - 1) * self.step_stride;
        assert!(last < self.words().len(), "the left factor is too short");
    }

    pub(super) fn words(&self) -> &[f32] {
        match &self.words {
            Words::Borrowed(words) => words,
            Words::Converted(words) => words,
        }
    }
}

/// Pairs of neighbours.
fn convert_row(row: &[f32], out: &mut [f32]) {
    // Safety: the instruction set was detected; the body is plain code that it makes faster.
    unsafe { convert_of(row, out) }
}

dispatched!(
    fn convert_of(row: &[f32], out: &mut [f32]) = convert_body
);

#[inline(always)]
unsafe fn convert_body<S: Lanes>(row: &[f32], out: &mut [f32]) {
    let (pairs, rest) = row.as_chunks::<2>();
    for (out, pair) in out.iter_mut().zip(pairs) {
        *out = f32::from_bits(bf16_bits(pair[0]) | (bf16_bits(pair[1]) << 16));
    }
    if let (Some(last), [x]) = (out.last_mut(), rest) {
        *last = f32::from_bits(bf16_bits(*x));
    }
}
