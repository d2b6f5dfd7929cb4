//! The words of a product's factors: numbers as they are, or pairs of bf16, as rows or turned.

use super::dispatched;
use super::lanes::{LANES, Lanes, PANEL};
use super::precision::TILED;

/// What the numbers of a factor are kept as: f32, or the bits of bf16.
pub trait Number: Copy + Send + Sync {
    fn wide(self) -> f32;

    /// Sixteen numbers.
    ///
    /// # Safety
    /// As of `Lanes`.
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V;
}

impl Number for f32 {
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V {
        unsafe { S::load(from) }
    }
}

impl Number for u16 {
    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from_bits(u32::from(self) << 16)
    }

    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V {
        unsafe { S::load_bf16(from) }
    }
}

/// A matrix whose rows begin `stride` apart, of f32 where nothing else is said.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, N = f32> {
    pub(super) values: &'a [N],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) stride: usize,
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

    pub(super) fn row(&self, row: usize) -> &'a [N] {
        &self.values[row * self.stride..][..self.columns]
    }
}

/// The two numbers of a word.
#[inline(always)]
pub(super) fn unpack(word: f32) -> [f32; 2] {
    let bits = word.to_bits();
    [f32::from_bits(bits << 16), f32::from_bits(bits & 0xffff_0000)]
}

/// Pairs of one number from each of two rows of words that lie [`PANEL`] apart, from a word on.
pub(super) fn pairs_of(low: &[f32], high: Option<&[f32]>, first: usize, out: &mut [f32]) {
    for (word, out) in out.chunks_mut(2).enumerate() {
        let at = (first + word) * PANEL;
        let (low, high) = (low[at].to_bits(), high.map_or(0, |high| high[at].to_bits()));
        let pairs = [(low & 0xffff) | (high << 16), (low >> 16) | (high & 0xffff_0000)].map(f32::from_bits);
        out.copy_from_slice(&pairs[..out.len()]);
    }
}

/// Up to [`LANES`] numbers, and zeros.
#[inline(always)]
unsafe fn some<S: Lanes, N: Number>(numbers: &[N]) -> S::V {
    if numbers.len() >= LANES {
        return unsafe { N::load::<S>(numbers.as_ptr()) };
    }
    let mut room = [0.0; LANES];
    for (to, number) in room.iter_mut().zip(numbers) {
        *to = number.wide();
    }
    unsafe { S::load(room.as_ptr()) }
}

/// Up to [`LANES`] words of a vector.
#[inline(always)]
unsafe fn put<S: Lanes>(words: S::V, out: &mut [f32]) {
    unsafe {
        if out.len() >= LANES {
            return S::store(out.as_mut_ptr(), words);
        }
        let mut room = [0.0; LANES];
        S::store(room.as_mut_ptr(), words);
        out.copy_from_slice(&room[..out.len()]);
    }
}

/// Pairs of one number from each row.
pub(super) fn interleave<N: Number>(low: &[N], high: Option<&[N]>, out: &mut [f32]) {
    assert!(low.len() == out.len() && high.is_none_or(|high| high.len() == out.len()), "rows of different width");
    // Safety: the instruction set was detected.
    unsafe { interleave_of(low, high, out) }
}

dispatched!(
    fn interleave_of<N: Number>(low: &[N], high: Option<&[N]>, out: &mut [f32]) = interleave_body
);

#[inline(always)]
unsafe fn interleave_body<S: Lanes, N: Number>(low: &[N], high: Option<&[N]>, out: &mut [f32]) {
    for (at, out) in out.chunks_mut(LANES).enumerate() {
        let first = at * LANES;
        unsafe {
            let low = some::<S, N>(&low[first..]);
            let high = high.map_or(S::splat(0.0), |high| some::<S, N>(&high[first..]));
            put::<S>(S::pair(low, high), out);
        }
    }
}

/// The columns of rows from one on, or pairs of one number from each of two rows, as panels one after the other:
/// `[panel][word][PANEL]`, with zeros behind the last column.
pub(super) fn lay_rows<N: Number>(rows: &[&[N]], first: usize, is_paired: bool, panels: &mut [f32]) {
    // Safety: the instruction set was detected.
    unsafe { lay_rows_of(rows, first, is_paired, panels) }
}

dispatched!(
    fn lay_rows_of<N: Number>(rows: &[&[N]], first: usize, is_paired: bool, panels: &mut [f32]) = lay_rows_body
);

#[inline(always)]
unsafe fn lay_rows_body<S: Lanes, N: Number>(rows: &[&[N]], first: usize, is_paired: bool, panels: &mut [f32]) {
    let wide = if is_paired { 2 } else { 1 };
    let size = rows.len().div_ceil(wide) * PANEL;
    for (at, rows) in rows.chunks(wide).enumerate() {
        for (index, panel) in panels.chunks_exact_mut(size).enumerate() {
            let (halves, _) = panel[at * PANEL..][..PANEL].as_chunks_mut::<LANES>();
            for (half, out) in halves.iter_mut().enumerate() {
                let begin = first + index * PANEL + half * LANES;
                unsafe {
                    let low = some::<S, N>(rows[0].get(begin..).unwrap_or_default());
                    let words = match rows.get(1) {
                        Some(row) => S::pair(low, some::<S, N>(row.get(begin..).unwrap_or_default())),
                        None if is_paired => S::pair(low, S::splat(0.0)),
                        None => low,
                    };
                    S::store(out.as_mut_ptr(), words);
                }
            }
        }
    }
}

/// Pairs of neighbours.
pub(super) fn convert_row(row: &[f32], out: &mut [f32]) {
    assert_eq!(row.len().div_ceil(2), out.len(), "a row of another length");
    // Safety: the instruction set was detected.
    unsafe { convert_of(row, out) }
}

dispatched!(
    fn convert_of(row: &[f32], out: &mut [f32]) = convert_body
);

#[inline(always)]
unsafe fn convert_body<S: Lanes>(row: &[f32], out: &mut [f32]) {
    for (numbers, out) in row.chunks(2 * LANES).zip(out.chunks_mut(LANES)) {
        unsafe { put::<S>(words_of::<S, f32>(numbers, true), out) };
    }
}

/// Up to [`LANES`] words of a row, and zeros.
#[inline(always)]
unsafe fn words_of<S: Lanes, N: Number>(numbers: &[N], is_paired: bool) -> S::V {
    unsafe {
        let first = some::<S, N>(numbers);
        if !is_paired {
            return first;
        }
        S::neighbours(first, some::<S, N>(numbers.get(LANES..).unwrap_or_default()))
    }
}

/// The words of up to [`PANEL`] rows of one length, as a panel: `[word][PANEL]`, with zeros for the rows that are missing.
pub(super) fn turn_rows<N: Number>(rows: &[&[N]], is_paired: bool, panel: &mut [f32]) {
    let depth = rows.first().map_or(0, |row| row.len());
    let words = if is_paired { depth.div_ceil(2) } else { depth };
    let fit = rows.len() <= PANEL && rows.iter().all(|row| row.len() == depth) && panel.len() == words * PANEL;
    assert!(fit, "rows that are no panel");
    if rows.len() < PANEL {
        panel.fill(0.0);
    }
    // Safety: the instruction set was detected, and the panel has the words of the rows.
    unsafe { turn_rows_of(rows, is_paired, panel) }
}

dispatched!(
    fn turn_rows_of<N: Number>(rows: &[&[N]], is_paired: bool, panel: &mut [f32]) = turn_rows_body
);

#[inline(always)]
unsafe fn turn_rows_body<S: Lanes, N: Number>(rows: &[&[N]], is_paired: bool, panel: &mut [f32]) {
    let (words, _) = panel.as_chunks_mut::<PANEL>();
    let wide = if is_paired { 2 * LANES } else { LANES };
    for (block, words) in words.chunks_mut(LANES).enumerate() {
        for (half, rows) in rows.chunks(LANES).enumerate() {
            unsafe {
                let mut vectors = [S::splat(0.0); LANES];
                for (vector, row) in vectors.iter_mut().zip(rows) {
                    *vector = words_of::<S, N>(&row[block * wide..row.len().min((block + 1) * wide)], is_paired);
                }
                for (out, vector) in words.iter_mut().zip(S::turned(vectors)) {
                    S::store(out.as_mut_ptr().add(half * LANES), vector);
                }
            }
        }
    }
}

/// A row's pairs of neighbours as words, into row `at` of tiles of [`TILED`] rows of as many words.
pub(super) fn tile_row(row: &[f32], at: usize, tiles: &mut [f32]) {
    // Safety: the instruction set was detected.
    unsafe { tile_row_of(row, at, tiles) }
}

dispatched!(
    fn tile_row_of(row: &[f32], at: usize, tiles: &mut [f32]) = tile_row_body
);

#[inline(always)]
unsafe fn tile_row_body<S: Lanes>(row: &[f32], at: usize, tiles: &mut [f32]) {
    for (numbers, tile) in row.chunks(2 * LANES).zip(tiles.chunks_exact_mut(TILED * TILED)) {
        unsafe { put::<S>(words_of::<S, f32>(numbers, true), &mut tile[at * TILED..][..TILED]) };
    }
}

/// Some columns of a matrix as rows, their pairs of neighbours as words, into tiles; up to [`TILED`] columns from `first` on.
pub(super) fn turn_columns(view: View<'_>, first: usize, tiles: &mut [f32]) {
    // Safety: the instruction set was detected.
    unsafe { turn_columns_of(view, first, tiles) }
}

dispatched!(
    fn turn_columns_of(view: View<'_>, first: usize, tiles: &mut [f32]) = turn_columns_body
);

#[inline(always)]
unsafe fn turn_columns_body<S: Lanes>(view: View<'_>, first: usize, tiles: &mut [f32]) {
    for (begin, tile) in (0..view.rows()).step_by(2 * LANES).zip(tiles.chunks_exact_mut(TILED * TILED)) {
        unsafe {
            let mut vectors = [S::splat(0.0); LANES];
            for (vector, at) in vectors.iter_mut().zip((begin..view.rows()).step_by(2)) {
                let low = some::<S, f32>(&view.row(at)[first..]);
                let next = at + 1;
                let high = if next < view.rows() { some::<S, f32>(&view.row(next)[first..]) } else { S::splat(0.0) };
                *vector = S::pair(low, high);
            }
            for (row, vector) in tile.chunks_exact_mut(LANES).zip(S::turned(vectors)) {
                put::<S>(vector, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernels::precision::bf16_bits;

    /// Numbers of all kinds: ties, what is not a number, infinite, below 2^-126, and zeros.
    fn numbers(count: usize) -> Vec<f32> {
        let special = [
            f32::NAN,
            f32::INFINITY,
            -0.0,
            1e-40,
            f32::MIN,
            f32::from_bits(0x3f80_8000),
            f32::from_bits(0x3f81_8000),
            f32::from_bits(0xffff_ffff),
        ];
        let number = |i: usize| if i % 5 == 3 { special[i / 5 % 8] } else { (i as f32 * 0.37).sin() * 3.0 };
        (0..count).map(number).collect()
    }

    /// A word of two numbers, of which the second may be missing.
    fn word(low: f32, high: Option<&f32>) -> u32 {
        bf16_bits(low) | (high.map_or(0, |high| bf16_bits(*high)) << 16)
    }

    fn bits(words: &[f32]) -> Vec<u32> {
        words.iter().map(|word| word.to_bits()).collect()
    }

    #[test]
    fn panels_are_rows_turned() {
        for (rows, depth) in [(1, 1), (5, 16), (16, 31), (17, 75), (32, 64), (32, 100)] {
            let numbers = numbers(rows * depth);
            let narrow: Vec<u16> = numbers.iter().map(|x| bf16_bits(*x) as u16).collect();
            let own: Vec<&[f32]> = numbers.chunks(depth).collect();
            let of_narrow: Vec<&[u16]> = narrow.chunks(depth).collect();
            for is_paired in [false, true] {
                let words = if is_paired { depth.div_ceil(2) } else { depth };
                let mut panel = vec![f32::NAN; words * PANEL];
                turn_rows(&own, is_paired, &mut panel);
                for (at, got) in bits(&panel).into_iter().enumerate() {
                    let wanted = own.get(at % PANEL).map_or(0, |row| match is_paired {
                        true => word(row[at / PANEL * 2], row.get(at / PANEL * 2 + 1)),
                        false => row[at / PANEL].to_bits(),
                    });
                    assert_eq!(got, wanted, "{rows} rows of {depth}, word {at}, {is_paired}");
                }
                let mut again = vec![f32::NAN; words * PANEL];
                turn_rows(&of_narrow, is_paired, &mut again);
                assert!(!is_paired || bits(&again) == bits(&panel), "{rows} rows of {depth} bf16");
            }
        }
    }

    #[test]
    fn panels_are_rows_side_by_side() {
        for (rows, columns) in [(1, 1), (2, 16), (5, 33), (6, 100), (7, 130)] {
            let numbers = numbers(rows * columns);
            let own: Vec<&[f32]> = numbers.chunks(columns).collect();
            for is_paired in [false, true] {
                let wide = if is_paired { 2 } else { 1 };
                let size = rows.div_ceil(wide) * PANEL;
                for first in [0, PANEL] {
                    let mut panels = vec![f32::NAN; 3 * size];
                    lay_rows(&own, first, is_paired, &mut panels);
                    for (at, got) in bits(&panels).into_iter().enumerate() {
                        let (row, column) = (at % size / PANEL * wide, first + at / size * PANEL + at % PANEL);
                        let wanted = own[row].get(column).map_or(0, |low| match is_paired {
                            true => word(*low, own.get(row + 1).map(|row| &row[column])),
                            false => low.to_bits(),
                        });
                        assert_eq!(got, wanted, "{rows} rows of {columns}, word {at}, {is_paired}");
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_hold_rows_and_columns() {
        for (rows, depth) in [(1, 1), (3, 40), (16, 31), (16, 64), (9, 99)] {
            let numbers = numbers(rows * depth);
            let turned: Vec<f32> = (0..rows * depth).map(|i| numbers[i % rows * depth + i / rows]).collect();
            let len = depth.div_ceil(2).next_multiple_of(TILED) * TILED;
            let [mut of_rows, mut of_columns] = [vec![0.0; len], vec![0.0; len]];
            for (at, row) in numbers.chunks(depth).enumerate() {
                tile_row(row, at, &mut of_rows);
            }
            turn_columns(View::new(&turned, rows), 0, &mut of_columns);
            for (row, numbers) in numbers.chunks(depth).enumerate() {
                for (at, pair) in numbers.chunks(2).enumerate() {
                    let at = at / TILED * TILED * TILED + row * TILED + at % TILED;
                    let wanted = word(pair[0], pair.get(1));
                    let got = [&of_rows, &of_columns].map(|tiles| tiles[at].to_bits());
                    assert_eq!(got, [wanted; 2], "{rows} rows of {depth}, row {row}");
                }
            }
        }
    }

    #[test]
    fn rows_become_words() {
        for len in [1, 2, 15, 16, 31, 32, 33, 100] {
            let (low, high) = (numbers(len), numbers(2 * len).split_off(len));
            let [mut pairs, mut alone, mut neighbours] = [vec![0.0; len], vec![0.0; len], vec![0.0; len.div_ceil(2)]];
            interleave(&low, Some(&high[..]), &mut pairs);
            interleave(&low, None, &mut alone);
            convert_row(&low, &mut neighbours);
            let wanted: Vec<u32> = low.iter().zip(&high).map(|(low, high)| word(*low, Some(high))).collect();
            assert_eq!(bits(&pairs), wanted);
            assert_eq!(bits(&alone), low.iter().map(|low| word(*low, None)).collect::<Vec<_>>());
            let wanted: Vec<u32> = low.chunks(2).map(|pair| word(pair[0], pair.get(1))).collect();
            assert_eq!(bits(&neighbours), wanted);
        }
    }
}
