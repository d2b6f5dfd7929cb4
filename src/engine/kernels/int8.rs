//! Matrices that never change, in codes of 8 bits: blocks of 32 numbers of a row share a scale, as in GGUF's Q8_0. A product
//! decodes them in its registers, so that its numbers are those of a product with the decoded matrix, bit for bit.

use rayon::prelude::*;

use super::lanes::PANEL;

/// Inner steps that share a scale.
pub const BLOCK: usize = 32;

/// The factor `M^T` of a matrix `M` in codes: `[panel][step][PANEL]`, with a scale for each block of steps and column.
#[derive(Debug)]
pub struct Int8 {
    pub(super) codes: Vec<i8>,
    pub(super) scales: Vec<f32>,
    pub(super) depth: usize,
    pub(super) columns: usize,
}

impl Int8 {
    /// The codes nearest to the numbers of a matrix with rows of `depth` numbers. A block's largest number, by magnitude, is
    /// 127 times its scale; what was coded so before gets the same codes again.
    pub fn coded(matrix: &[f32], depth: usize) -> Self {
        let columns = matrix.len() / depth.max(1);
        let (panels, blocks) = (columns.div_ceil(PANEL), depth.div_ceil(BLOCK));
        let mut coded =
            Self { codes: vec![0; panels * depth * PANEL], scales: vec![0.0; panels * blocks * PANEL], depth, columns };
        let rows: Vec<&[f32]> = matrix.chunks_exact(depth.max(1)).collect();
        let parts = coded.codes.par_chunks_mut((depth * PANEL).max(1));
        let parts = parts.zip(coded.scales.par_chunks_mut((blocks * PANEL).max(1))).zip(rows.par_chunks(PANEL));
        parts.for_each(|((codes, scales), rows)| {
            for (column, row) in rows.iter().enumerate() {
                for (block, numbers) in row.chunks(BLOCK).enumerate() {
                    let most = numbers.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                    let scale = most / 127.0;
                    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
                    scales[block * PANEL + column] = scale;
                    for (step, x) in numbers.iter().enumerate() {
                        let code = (x * inverse).round_ties_even().clamp(-127.0, 127.0);
                        codes[(block * BLOCK + step) * PANEL + column] = code as i8;
                    }
                }
            }
        });
        coded
    }

    pub fn bytes(&self) -> usize {
        self.codes.len() + size_of_val(&self.scales[..])
    }

    /// Some numbers of a row of the matrix, from step `first` on, which is the first of a block.
    fn read(&self, row: usize, first: usize, out: &mut [f32]) {
        let (panel, column) = (row / PANEL, row % PANEL);
        let codes = &self.codes[(panel * self.depth + first) * PANEL..];
        let scales = &self.scales[(panel * self.depth.div_ceil(BLOCK) + first / BLOCK) * PANEL..];
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let scale = scales[block * PANEL + column];
            let codes = codes[block * BLOCK * PANEL..][column..].iter().step_by(PANEL);
            out.iter_mut().zip(codes).for_each(|(out, code)| *out = f32::from(*code) * scale);
        }
    }

    /// Row `row` of the matrix.
    pub fn read_row(&self, row: usize, out: &mut [f32]) {
        assert_eq!((out.len(), row < self.columns), (self.depth, true), "there is no such row");
        self.read(row, 0, out);
    }

    /// Numbers of some rows and of the steps of one panel, side by side.
    pub(super) fn read_block(&self, row: usize, first: usize) -> [f32; PANEL] {
        const { assert!(PANEL == BLOCK) };
        let mut out = [0.0; PANEL];
        let count = PANEL.min(self.depth - first);
        self.read(row, first, &mut out[..count]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i as f64 * 0.37).sin() * 10_f64.powi(-(i as i32 / 97 % 5))) as f32).collect()
    }

    #[test]
    fn codes_are_the_nearest_and_codes_of_what_was_decoded_are_the_same() {
        for (rows, depth) in [(1, 1), (5, 40), (33, 64), (70, 95)] {
            let matrix = wave(rows * depth);
            let coded = Int8::coded(&matrix, depth);
            let mut back = vec![0.0; matrix.len()];
            for (row, out) in back.chunks_mut(depth).enumerate() {
                coded.read_row(row, out);
            }
            for (own, back) in matrix.chunks(depth).zip(back.chunks(depth)) {
                for (own, back) in own.chunks(BLOCK).zip(back.chunks(BLOCK)) {
                    let most = own.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                    assert!(own.iter().zip(back).all(|(x, y)| (x - y).abs() <= most / 253.0));
                }
            }
            let again = Int8::coded(&back, depth);
            assert_eq!((again.codes, again.scales), (coded.codes, coded.scales));
        }
    }
}
