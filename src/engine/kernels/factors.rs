//! The factors of a product in the form that its inner loop reads: the right one in panels, the left one as it stands
//! or rounded to bf16.

use std::ops::Range;

use rayon::prelude::*;

use super::buffer::Buffer;
use super::codes::{Codes, Steps};
use super::form;
pub use super::lanes::PANEL;
pub use super::packing::{Number, View};
use super::packing::{convert_row, interleave, lay_rows, pairs_of, tile_row, turn_columns, turn_rows, unpack};
pub use super::precision::Precision;
use super::precision::TILED;

/// Panels that are filled together, so that more of a row of memory is read at a time.
const TOGETHER: usize = 4;

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
            turn_rows(rows, paired, panel);
        });
        panels
    }

    /// The factor `M` itself, whose rows are those of `views`, one after the other.
    pub fn straight<N: Number>(views: &[View<'_, N>], precision: Precision) -> Self {
        let (depth, columns) = (views.iter().map(|v| v.rows).sum(), views.first().map_or(0, |v| v.columns));
        assert!(views.iter().all(|v| v.columns == columns), "matrices of different width");
        let rows: Vec<&[N]> = views.iter().flat_map(|v| (0..v.rows).map(|r| v.row(r))).collect();
        let mut panels = Self::new(depth, columns, precision);
        let size = precision.words(depth) * PANEL;
        if size > 0 {
            let some = panels.words.par_chunks_mut(TOGETHER * size).enumerate();
            some.for_each(|(index, some)| lay_rows(&rows, index * TOGETHER * PANEL, precision.is_paired(), some));
        }
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

/// A right factor as products read it.
#[derive(Clone, Copy, Debug)]
pub enum Right<'a> {
    Panels(&'a Panels),
    /// Codes, to be multiplied in the given precision.
    Codes(&'a Codes, Precision),
}

impl<'a> Right<'a> {
    /// Inner steps, columns, and the precision of the products.
    pub(super) fn shape(self) -> (usize, usize, Precision) {
        match self {
            Self::Panels(panels) => (panels.depth, panels.columns, panels.precision),
            Self::Codes(codes, precision) => (codes.depth, codes.columns, precision),
        }
    }

    /// Some words of a panel of `depth` words, or of that and the next one where both are wanted and whole, and how many panels
    /// these are; codes for more than one tile are decoded into `decoded`.
    pub(super) fn part(
        self,
        panel: usize,
        depth: usize,
        words: Range<usize>,
        both: bool,
        decoded: Option<&'a mut Vec<f32>>,
    ) -> (Part<'a>, usize) {
        match self {
            Self::Panels(panels) => {
                let (size, own) = (depth * PANEL, words.len() * PANEL);
                let words = &panels.words[panel * size + words.start * PANEL..];
                if both && (panel + 2) * PANEL <= panels.columns {
                    return (Part::Beside(&words[..size + own], size), 2);
                }
                (Part::Words(&words[..own]), 1)
            }
            Self::Codes(codes, precision) => {
                let wide = if precision.is_paired() { 2 } else { 1 };
                let steps = words.start * wide..(words.end * wide).min(codes.depth);
                let Some(decoded) = decoded else { return (Part::Codes(codes.steps(panel, steps)), 1) };
                decoded.resize(words.len() * PANEL, 0.0);
                codes.fill(panel, steps, precision, decoded);
                (Part::Words(decoded), 1)
            }
        }
    }
}

/// A part of a panel of the right factor.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Words(&'a [f32]),
    /// Of two panels, so far from one another.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Beside(&'a [f32], usize),
    /// Decoded in the product's registers.
    Codes(Steps<'a>),
}

impl<'a> Part<'a> {
    /// Pairs as two rows of numbers each, in `room`.
    pub(super) fn widened(self, room: &'a mut Vec<f32>) -> Self {
        let Self::Words(words) = self else { return self };
        room.resize(2 * words.len(), 0.0);
        for (words, out) in words.chunks_exact(PANEL).zip(room.chunks_exact_mut(2 * PANEL)) {
            let (high, low) = out.split_at_mut(PANEL);
            form::widen(words, high, low);
        }
        Self::Words(room)
    }
}

/// How a task reads the left factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    InPlace,
    /// Rows that lie side by side are copied.
    Gathered,
    /// Pairs become numbers.
    Widened,
}

/// A left factor as the kernel reads it.
#[derive(Debug)]
enum Words<'a> {
    Borrowed(&'a [f32]),
    Converted(Buffer),
}

/// A left factor: number `(row, step)` is the word at `row * row_stride + step * step_stride`. For matrix tiles it lies in tiles of
/// 16 rows of as many words, those of the same rows one after the other and `row_stride` from one row of tiles to the next.
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
        if precision == Precision::Bf16Tiled {
            return base
                .in_tiles(|rows, tiles| rows.enumerate().for_each(|(at, row)| tile_row(view.row(row), at, tiles)));
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
        if precision == Precision::Bf16Tiled {
            return base.in_tiles(|rows, tiles| turn_columns(view, rows.start, tiles));
        }
        let mut words = Buffer::new(rows * precision.words(depth));
        words.par_chunks_mut(rows).enumerate().with_min_len(8).for_each(|(step, out)| {
            let high = (2 * step + 1 < depth).then(|| view.row(2 * step + 1));
            interleave(view.row(2 * step), high, out);
        });
        Self { words: Words::Converted(words), step_stride: rows, ..base }
    }

    /// In tiles, of which the given function fills those of some rows.
    fn in_tiles(self, fill: impl Fn(Range<usize>, &mut [f32]) + Sync) -> Self {
        let row_stride = self.precision.words(self.depth).next_multiple_of(TILED) * TILED;
        let mut words = Buffer::new(self.rows.div_ceil(TILED) * row_stride);
        if row_stride > 0 {
            words.par_chunks_mut(row_stride).enumerate().for_each(|(index, tiles)| {
                fill(index * TILED..((index + 1) * TILED).min(self.rows), tiles);
            });
        }
        Self { words: Words::Converted(words), row_stride, step_stride: TILED, ..self }
    }

    /// Some words of some rows, where they are or in `room`, with what lies between rows and between steps.
    pub(super) fn read<'r>(
        &'r self,
        reading: Reading,
        rows: Range<usize>,
        steps: Range<usize>,
        room: &'r mut Vec<f32>,
    ) -> (&'r [f32], usize, usize) {
        match reading {
            Reading::InPlace => self.part(rows.start, steps.start),
            Reading::Gathered => self.gathered(rows, steps, room),
            Reading::Widened => self.widened(rows, steps, room),
        }
    }

    /// The words from a row and a step on, with what lies between rows and between steps. Of tiles whole ones.
    fn part(&self, row: usize, step: usize) -> (&[f32], usize, usize) {
        let row = if self.precision == Precision::Bf16Tiled { row / TILED } else { row };
        let words = &self.words()[row * self.row_stride + step * self.step_stride..];
        (words, self.row_stride, self.step_stride)
    }

    /// Some pairs of some rows as numbers, in `room`, with the same.
    fn widened<'r>(
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

    /// Some words of some rows that lie side by side, in `room`, with the same.
    fn gathered<'r>(
        &self,
        rows: Range<usize>,
        steps: Range<usize>,
        room: &'r mut Vec<f32>,
    ) -> (&'r [f32], usize, usize) {
        let count = rows.len();
        room.resize(count * steps.len(), 0.0);
        for (step, out) in steps.zip(room.chunks_exact_mut(count)) {
            out.copy_from_slice(&self.part(rows.start, step).0[..count]);
        }
        (room, 1, count)
    }

    /// Its last word is there; it has one.
    pub(super) fn check(&self) {
        let (rows, depth) = match self.precision {
            Precision::Bf16Tiled => (self.rows.div_ceil(TILED), self.row_stride / TILED),
            precision => (self.rows, precision.words(self.depth)),
        };
        let last = (rows - 1) * self.row_stride + (depth - 1) * self.step_stride;
        assert!(last < self.words().len(), "the left factor is too short");
    }

    pub(super) fn words(&self) -> &[f32] {
        match &self.words {
            Words::Borrowed(words) => words,
            Words::Converted(words) => words,
        }
    }
}
