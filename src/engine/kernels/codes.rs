//! Matrices that never change, in codes of few bits: as the blocks of a GGUF file have them, or of 8 bits made here. A
//! product decodes them panel by panel into words that stay in the cache, so that its numbers are those of a product with
//! the decoded matrix, bit for bit.

use std::ops::Range;

use rayon::prelude::*;

use super::dispatched;
use super::lanes::{LANES, Lanes, PANEL};
use super::precision::Precision;
#[cfg(target_arch = "x86_64")]
use super::words::Pairs;
use super::words::{Factor, Multiply, Plain, Widened};
use super::{Instructions, instructions};
use crate::modelfile::gguf::blocks::{Block, BlockKind};

/// The factor `M^T` of a matrix `M` in codes: `[panel][step][PANEL]`, so that columns lie side by side. A number is
/// `scale factor code`, less `min offset`.
#[derive(Debug)]
pub struct Codes {
    form: BlockKind,
    pub(super) depth: usize,
    pub(super) columns: usize,
    /// Codes of 8 bits; or the low 4 bits of others above the least, of two steps a byte.
    low: Vec<u8>,
    /// The other bits of codes of 5 or 6 bits, of several steps a byte.
    high: Vec<u8>,
    /// For each column and block of steps.
    scales: Vec<f32>,
    /// For each column and part of a block; none where all are 1.
    factors: Vec<i8>,
    mins: Vec<f32>,
    offsets: Vec<i8>,
}

/// One panel of a matrix in codes.
#[derive(Clone, Copy)]
struct Panel<'a> {
    form: BlockKind,
    low: &'a [u8],
    high: &'a [u8],
    scales: &'a [f32],
    factors: &'a [i8],
    mins: &'a [f32],
    offsets: &'a [i8],
}

/// The same, to be written.
struct PanelMut<'a> {
    form: BlockKind,
    low: &'a mut [u8],
    high: &'a mut [u8],
    scales: &'a mut [f32],
    factors: &'a mut [i8],
    mins: &'a mut [f32],
    offsets: &'a mut [i8],
}

/// How much of each kind a panel has.
struct Lengths {
    low: usize,
    high: usize,
    scales: usize,
    factors: usize,
    offsets: usize,
}

impl Lengths {
    fn of(form: BlockKind, depth: usize) -> Self {
        let of = |steps: usize| depth.div_ceil(steps) * PANEL;
        Self {
            low: of(if form.bits() == 8 { 1 } else { 2 }),
            high: if matches!(form.bits(), 5 | 6) { of(8 / (form.bits() as usize - 4)) } else { 0 },
            scales: of(form.size()),
            factors: if form.shared() < form.size() { of(form.shared()) } else { 0 },
            offsets: if form.has_offsets() { of(form.shared()) } else { 0 },
        }
    }
}

impl Codes {
    /// Codes of 8 bits nearest to the numbers of a matrix with rows of `depth` numbers; 32 share a scale. A block's largest
    /// number, by magnitude, is 127 times its scale; what was coded so before gets the same codes again.
    pub fn of_matrix(matrix: &[f32], depth: usize) -> Self {
        let form = BlockKind::Q8_0;
        let rows: Vec<&[f32]> = matrix.chunks_exact(depth.max(1)).collect();
        Self::written(form, depth, rows.len(), |row, number, block| {
            let numbers = &rows[row][number * form.size()..];
            let numbers = &numbers[..numbers.len().min(form.size())];
            let most = numbers.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            block.scale = most / 127.0;
            let inverse = if block.scale > 0.0 { 1.0 / block.scale } else { 0.0 };
            for (code, x) in block.codes.iter_mut().zip(numbers) {
                *code = (x * inverse).round_ties_even().clamp(-127.0, 127.0) as i8;
            }
        })
    }

    /// What the blocks of a matrix with rows of `depth` numbers say, which are whole blocks.
    pub fn of_blocks(form: BlockKind, bytes: &[u8], depth: usize) -> Self {
        assert!(depth > 0 && depth.is_multiple_of(form.size()), "rows of {depth} numbers are no whole blocks");
        let of_row = depth / form.size();
        let rows = bytes.len() / (of_row * form.bytes());
        assert_eq!(bytes.len(), rows * of_row * form.bytes(), "the blocks are no whole rows");
        Self::written(form, depth, rows, |row, number, block| {
            form.read(&bytes[(row * of_row + number) * form.bytes()..][..form.bytes()], block);
        })
    }

    fn written(form: BlockKind, depth: usize, columns: usize, read: impl Fn(usize, usize, &mut Block) + Sync) -> Self {
        let (panels, of) = (columns.div_ceil(PANEL), Lengths::of(form, depth));
        let mut codes = Self {
            form,
            depth,
            columns,
            low: vec![0; panels * of.low],
            high: vec![0; panels * of.high],
            scales: vec![0.0; panels * of.scales],
            factors: vec![0; panels * of.factors],
            mins: vec![0.0; if of.offsets == 0 { 0 } else { panels * of.scales }],
            offsets: vec![0; panels * of.offsets],
        };
        let of_mins = if of.offsets == 0 { 0 } else { of.scales };
        // What a kind does not have is as many empty parts.
        fn parts<T: Send>(values: &mut [T], size: usize, count: usize) -> Vec<&mut [T]> {
            if size == 0 {
                (0..count).map(|_| <&mut [T]>::default()).collect()
            } else {
                values.chunks_mut(size).collect()
            }
        }
        let low = parts(&mut codes.low, of.low, panels).into_par_iter();
        let more = low.zip(parts(&mut codes.high, of.high, panels)).zip(parts(&mut codes.scales, of.scales, panels));
        let more = more.zip(parts(&mut codes.factors, of.factors, panels));
        let more = more.zip(parts(&mut codes.mins, of_mins, panels));
        let all = more.zip(parts(&mut codes.offsets, of.offsets, panels));
        all.enumerate().for_each(|(panel, (((((low, high), scales), factors), mins), offsets))| {
            let mut own = PanelMut { form, low, high, scales, factors, mins, offsets };
            let mut block = Block::default();
            for column in 0..PANEL.min(columns - panel * PANEL) {
                for number in 0..depth.div_ceil(form.size()) {
                    read(panel * PANEL + column, number, &mut block);
                    own.put(column, number, depth, &block);
                }
            }
        });
        codes
    }

    /// Bytes that a matrix of rows of `depth` numbers takes.
    pub fn bytes(&self) -> usize {
        let wide = self.scales.len() + self.mins.len();
        self.low.len() + self.high.len() + self.factors.len() + self.offsets.len() + 4 * wide
    }

    fn panel(&self, panel: usize) -> Panel<'_> {
        let of = Lengths::of(self.form, self.depth);
        Panel {
            form: self.form,
            low: &self.low[panel * of.low..][..of.low],
            high: &self.high[panel * of.high..][..of.high],
            scales: &self.scales[panel * of.scales..][..of.scales],
            factors: &self.factors[panel * of.factors..][..of.factors],
            mins: if of.offsets == 0 { &[] } else { &self.mins[panel * of.scales..][..of.scales] },
            offsets: &self.offsets[panel * of.offsets..][..of.offsets],
        }
    }

    /// Row `row` of the matrix.
    pub fn read_row(&self, row: usize, out: &mut [f32]) {
        assert_eq!((out.len(), row < self.columns), (self.depth, true), "there is no such row");
        let (panel, column) = (self.panel(row / PANEL), row % PANEL);
        for (part, out) in out.chunks_mut(self.form.shared()).enumerate() {
            let first = part * self.form.shared();
            let (factor, offset) = (panel.factor(first, column), panel.offset(first, column));
            for (step, out) in out.iter_mut().enumerate() {
                *out = f32::from(panel.code(first + step, column)) * factor;
                if self.form.has_offsets() {
                    *out -= offset;
                }
            }
        }
    }

    /// The words of some steps of a panel, of which the first begins a part of a block.
    pub(super) fn fill(&self, panel: usize, steps: Range<usize>, precision: Precision, out: &mut [f32]) {
        let wide = if precision.is_paired() { 2 } else { 1 };
        assert_eq!(out.len(), steps.len().div_ceil(wide) * PANEL);
        // Safety: the instruction set was detected, and lengths were checked.
        unsafe {
            match precision {
                Precision::F32 => fill(self.steps(panel, steps), out),
                #[cfg(target_arch = "x86_64")]
                _ if instructions() == Instructions::Avx512Bf16 => {
                    fill_pairs(self.steps(panel, steps), out);
                }
                _ => fill_widened(self.steps(panel, steps), out),
            }
        }
    }

    /// Some steps of a panel, of which the first begins a part of a block.
    pub(super) fn steps(&self, panel: usize, steps: Range<usize>) -> Steps<'_> {
        assert!(steps.start.is_multiple_of(self.form.shared()) && steps.end <= self.depth);
        Steps { panel: self.panel(panel), steps: (steps.start, steps.end) }
    }
}

impl PanelMut<'_> {
    /// Writes a block of a column; of the last of them what lies before `depth`.
    fn put(&mut self, column: usize, number: usize, depth: usize, block: &Block) {
        let first = number * self.form.size();
        self.scales[number * PANEL + column] = block.scale;
        if self.form.has_offsets() {
            self.mins[number * PANEL + column] = block.min;
        }
        let parts = self.form.size() / self.form.shared();
        for (part, (factor, offset)) in block.factors.iter().zip(&block.offsets).take(parts).enumerate() {
            let at = (number * parts + part) * PANEL + column;
            if let Some(own) = self.factors.get_mut(at) {
                *own = *factor;
            }
            if let Some(own) = self.offsets.get_mut(at) {
                *own = *offset;
            }
        }
        for (step, code) in block.codes.iter().take(self.form.size().min(depth - first)).enumerate() {
            let step = first + step;
            if self.form.bits() == 8 {
                self.low[step * PANEL + column] = *code as u8;
                continue;
            }
            let code = (code - self.form.least()) as u8;
            self.low[step / 2 * PANEL + column] |= (code & 15) << (step % 2 * 4);
            if self.form.bits() > 4 {
                let own = self.form.bits() as usize - 4;
                self.high[step / (8 / own) * PANEL + column] |= code >> 4 << (step % (8 / own) * own);
            }
        }
    }
}

impl Panel<'_> {
    fn code(&self, step: usize, column: usize) -> i8 {
        if self.form.bits() == 8 {
            return self.low[step * PANEL + column] as i8;
        }
        let mut code = self.low[step / 2 * PANEL + column] >> (step % 2 * 4) & 15;
        if self.form.bits() > 4 {
            let own = self.form.bits() as usize - 4;
            let high = self.high[step / (8 / own) * PANEL + column] >> (step % (8 / own) * own);
            code |= (high & ((1 << own) - 1)) << 4;
        }
        (code as i8).wrapping_add(self.form.least())
    }

    fn factor(&self, step: usize, column: usize) -> f32 {
        let scale = self.scales[step / self.form.size() * PANEL + column];
        let factor = self.factors.get(step / self.form.shared() * PANEL + column);
        factor.map_or(scale, |factor| scale * f32::from(*factor))
    }

    fn offset(&self, step: usize, column: usize) -> f32 {
        let offset = self.offsets.get(step / self.form.shared() * PANEL + column);
        offset.map_or(0.0, |offset| self.mins[step / self.form.size() * PANEL + column] * f32::from(*offset))
    }

    /// The codes of fewer than 8 bits of half of the columns.
    #[inline(always)]
    fn step<const BITS: usize>(&self, step: usize, half: usize) -> [i8; LANES] {
        let mut codes = [0_i8; LANES];
        let (low, shift) = (&self.low[step / 2 * PANEL + half * LANES..][..LANES], step % 2 * 4);
        codes.iter_mut().zip(low).for_each(|(code, byte)| *code = (byte >> shift & 15) as i8);
        if BITS > 4 {
            let own = BITS - 4;
            let at = step / (8 / own) * PANEL + half * LANES;
            let (high, shift, mask) = (&self.high[at..][..LANES], step % (8 / own) * own, (1_u8 << own) - 1);
            codes.iter_mut().zip(high).for_each(|(code, byte)| *code |= ((byte >> shift & mask) << 4) as i8);
        }
        let least = self.form.least();
        if least != 0 {
            codes.iter_mut().for_each(|code| *code += least);
        }
        codes
    }
}

/// Steps of a panel in codes of so many bits, as words that are decoded when they are read.
#[derive(Clone, Copy)]
pub(super) struct Coded<'a, const BITS: usize>(Steps<'a>);

impl<const BITS: usize> Coded<'_, BITS> {
    /// The numbers of a step; zeros behind the last.
    #[inline(always)]
    unsafe fn numbers<S: Lanes>(self, step: usize, half: usize, (factor, offset): (S::V, S::V)) -> S::V {
        let Steps { panel, steps: (first, end) } = self.0;
        let step = first + step;
        if step >= end {
            return unsafe { S::splat(0.0) };
        }
        unsafe {
            let codes = if BITS == 8 {
                S::load_i8(panel.low[step * PANEL + half * LANES..][..LANES].as_ptr().cast())
            } else {
                S::load_i8(panel.step::<BITS>(step, half).as_ptr())
            };
            let product = S::mul(codes, factor);
            if BITS == 4 || BITS == 5 { S::sub(product, offset) } else { product }
        }
    }
}

unsafe impl<M: Multiply, const BITS: usize> Factor<M> for Coded<'_, BITS> {
    type Shared = (<M::S as Lanes>::V, <M::S as Lanes>::V);
    #[inline(always)]
    fn together(self) -> usize {
        self.0.panel.form.shared() / M::STEPS
    }
    #[inline(always)]
    unsafe fn shared(self, word: usize, half: usize) -> Self::Shared {
        let (panel, step) = (self.0.panel, self.0.steps.0 + word * M::STEPS);
        let block = step / panel.form.size() * PANEL + half * LANES;
        let part = step / panel.form.shared() * PANEL + half * LANES;
        unsafe {
            let mut factor = M::S::load(panel.scales[block..][..LANES].as_ptr());
            if !panel.factors.is_empty() {
                factor = M::S::mul(factor, M::S::load_i8(panel.factors[part..][..LANES].as_ptr()));
            }
            if panel.offsets.is_empty() {
                return (factor, M::S::splat(0.0));
            }
            let min = M::S::load(panel.mins[block..][..LANES].as_ptr());
            (factor, M::S::mul(min, M::S::load_i8(panel.offsets[part..][..LANES].as_ptr())))
        }
    }
    #[inline(always)]
    unsafe fn word(self, word: usize, half: usize, shared: Self::Shared) -> M::X {
        unsafe {
            let low = self.numbers::<M::S>(word * M::STEPS, half, shared);
            if M::STEPS == 1 {
                return M::word(low, low);
            }
            M::word(low, self.numbers::<M::S>(word * M::STEPS + 1, half, shared))
        }
    }
}

/// Some steps of a panel.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    panel: Panel<'a>,
    steps: (usize, usize),
}

impl<'a> Steps<'a> {
    pub fn bits(self) -> u32 {
        self.panel.form.bits()
    }

    /// The same for a kernel that is made for their number of bits.
    #[inline(always)]
    pub fn of<const BITS: usize>(self) -> Coded<'a, BITS> {
        debug_assert_eq!(BITS as u32, self.bits());
        Coded(self)
    }
}

dispatched!(
    fn fill(steps: Steps<'_>, out: &mut [f32]) = fill_body
);

#[inline(always)]
unsafe fn fill_body<S: Lanes>(steps: Steps<'_>, out: &mut [f32]) {
    unsafe { fill_of::<Plain<S>>(steps, out) }
}

dispatched!(
    fn fill_widened(steps: Steps<'_>, out: &mut [f32]) = fill_widened_body
);

#[inline(always)]
unsafe fn fill_widened_body<S: Lanes>(steps: Steps<'_>, out: &mut [f32]) {
    unsafe { fill_of::<Widened<S>>(steps, out) }
}

#[inline(always)]
unsafe fn fill_of<M: Multiply>(steps: Steps<'_>, out: &mut [f32]) {
    unsafe {
        match steps.bits() {
            4 => fill_from::<M, Coded<'_, 4>>(steps.of(), out),
            5 => fill_from::<M, Coded<'_, 5>>(steps.of(), out),
            6 => fill_from::<M, Coded<'_, 6>>(steps.of(), out),
            _ => fill_from::<M, Coded<'_, 8>>(steps.of(), out),
        }
    }
}

#[inline(always)]
unsafe fn fill_from<M: Multiply, F: Factor<M>>(factor: F, out: &mut [f32]) {
    unsafe {
        let count = out.len() / PANEL;
        for begin in (0..count).step_by(factor.together()) {
            let shared = [factor.shared(begin, 0), factor.shared(begin, 1)];
            for word in begin..(begin + factor.together()).min(count) {
                let to = out.as_mut_ptr().add(word * PANEL);
                M::store(to, factor.word(word, 0, shared[0]));
                M::store(to.add(LANES), factor.word(word, 1, shared[1]));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
unsafe fn fill_pairs(steps: Steps<'_>, out: &mut [f32]) {
    unsafe { fill_of::<Pairs>(steps, out) }
}

#[cfg(test)]
mod tests {
    use candle_core::quantized::{GgmlDType, QTensor};
    use candle_core::{Device, Tensor};

    use super::*;

    fn wave(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i as f64 * 0.37).sin() * 10_f64.powi(-(i as i32 / 97 % 5))) as f32).collect()
    }

    #[test]
    fn codes_are_the_nearest_and_codes_of_what_was_decoded_are_the_same() {
        for (rows, depth) in [(1, 1), (5, 40), (33, 64), (70, 95)] {
            let matrix = wave(rows * depth);
            let coded = Codes::of_matrix(&matrix, depth);
            let mut back = vec![0.0; matrix.len()];
            for (row, out) in back.chunks_mut(depth).enumerate() {
                coded.read_row(row, out);
            }
            for (own, back) in matrix.chunks(depth).zip(back.chunks(depth)) {
                for (own, back) in own.chunks(32).zip(back.chunks(32)) {
                    let most = own.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                    assert!(own.iter().zip(back).all(|(x, y)| (x - y).abs() <= most / 253.0));
                }
            }
            let again = Codes::of_matrix(&back, depth);
            assert_eq!((again.low, again.scales), (coded.low, coded.scales));
        }
    }

    /// Blocks stand for the numbers that `candle` reads from them, bit for bit, in rows and in panels.
    #[test]
    fn blocks_of_files_stand_for_what_others_read_from_them() {
        let kinds = [GgmlDType::Q4_0, GgmlDType::Q8_0, GgmlDType::Q4K, GgmlDType::Q5K, GgmlDType::Q6K];
        for (form, kind) in BlockKind::ALL.into_iter().zip(kinds) {
            let (rows, depth) = (70, 512);
            let matrix = Tensor::from_vec(wave(rows * depth), (rows, depth), &Device::Cpu).unwrap();
            let blocks = QTensor::quantize(&matrix, kind).unwrap();
            let want: Vec<f32> = blocks.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap().to_vec1().unwrap();
            let codes = Codes::of_blocks(form, &blocks.data().unwrap(), depth);
            let mut row = vec![0.0; depth];
            for (number, want) in want.chunks(depth).enumerate() {
                codes.read_row(number, &mut row);
                assert_eq!(row, want, "{form:?}");
            }
            for (panel, steps) in [(0, 0..depth), (2, 64..97), (1, 480..512)] {
                let mut words = vec![0.0; steps.len() * PANEL];
                codes.fill(panel, steps.clone(), Precision::F32, &mut words);
                for (step, words) in steps.zip(words.chunks(PANEL)) {
                    for (row, word) in (panel * PANEL..rows).zip(words) {
                        assert_eq!(*word, want[row * depth + step], "{form:?}: {row} {step}");
                    }
                }
            }
            assert!(codes.bytes() < 96 * depth * (form.bits() as usize + 2) / 8, "{form:?}");
        }
    }
}
