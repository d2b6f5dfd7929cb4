//! Moments of gradients on the CPU, and how weights follow them: in f32, or in fewer bits, of which a few at a time become
//! f32 for an update.

use rayon::prelude::*;

use super::gradients::PIECE;
use super::kernels::buffer::Buffer;
use super::kernels::narrow::{BLOCK, Codes, SIGNED, UNSIGNED, mixed, round_at_random, widen};
use super::kernels::update::{AdamW, adamw};
use super::ops::bias::scale;
use super::ops::orthogonal::orthogonalise;
use crate::job::spec::MomentState;

/// Which of the two moments numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    First,
    /// Of squares, which are never negative.
    Second,
}

impl Order {
    pub fn codes(self) -> &'static Codes {
        match self {
            Self::First => &SIGNED,
            Self::Second => &UNSIGNED,
        }
    }
}

/// What a weight's moments begin as.
#[derive(Clone, Debug, PartialEq)]
pub enum Begin {
    /// The weight has none of this order.
    Nothing,
    Zeros,
    Stored(Packed),
}

/// The moments of one weight.
#[derive(Clone, Debug, PartialEq)]
pub enum Packed {
    F32(Vec<f32>),
    /// Rounded at random.
    Bf16(Vec<u16>),
    /// Codes, and a scale for each block of them.
    Int8 {
        codes: Vec<u8>,
        scales: Vec<f32>,
    },
}

/// The numbers of a weight that follows its gradients.
#[derive(Debug)]
pub enum Master<'a> {
    F32(&'a mut [f32]),
    /// Bits of bf16, rounded at random after an update.
    Bf16(&'a mut [u16]),
}

/// A part of moments or of a weight that begins where a block begins.
enum Piece<'a> {
    F32(&'a mut [f32]),
    Bf16(&'a mut [u16]),
    Int8 { codes: &'a mut [u8], scales: &'a mut [f32] },
}

/// What rounding at random depends on: the number of the step, the weight's place, and which moment it is, or that it is the
/// weight.
#[derive(Clone, Copy, Debug)]
pub struct Noise(u32);

/// Tells a weight's noise from that of its moments.
const OF_WEIGHT: u32 = 0x9e37_79b9;

impl Noise {
    pub fn new(step: u64, index: usize, order: Order) -> Self {
        let place = 2 * index as u32 + u32::from(order == Order::Second);
        Self(mixed(mixed(mixed(step as u32) ^ (step >> 32) as u32) ^ place))
    }

    /// That of the weight itself.
    fn of_weight(step: u64, index: usize) -> Self {
        Self(mixed(Self::new(step, index, Order::First).0 ^ OF_WEIGHT))
    }

    /// Those of the first moment, the second, and the weight.
    pub fn all(step: u64, index: usize) -> [Self; 3] {
        let [first, second] = [Order::First, Order::Second].map(|order| Self::new(step, index, order));
        [first, second, Self::of_weight(step, index)]
    }

    pub fn key(self) -> u32 {
        self.0
    }
}

impl Packed {
    pub fn zeros(state: MomentState, len: usize) -> Self {
        match state {
            MomentState::F32 => Self::F32(super::kernels::pages::zeros(len)),
            MomentState::Bf16 => Self::Bf16(vec![0; len]),
            MomentState::Int8 => Self::Int8 { codes: vec![0; len], scales: vec![0.0; len.div_ceil(BLOCK)] },
        }
    }

    /// Codes of 8 bits for numbers.
    pub fn coded(numbers: &[f32], order: Order) -> Self {
        let mut codes = vec![0; numbers.len()];
        let blocks = numbers.chunks(BLOCK).zip(codes.chunks_mut(BLOCK));
        let scales = blocks.map(|(numbers, codes)| order.codes().encode(numbers, codes)).collect();
        Self::Int8 { codes, scales }
    }

    /// Whether there are none, as of a weight that another rank steps.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::F32(values) => values.is_empty(),
            Self::Bf16(values) => values.is_empty(),
            Self::Int8 { codes, .. } => codes.is_empty(),
        }
    }

    /// Whether they are of a kind, and as many.
    pub fn fits(&self, state: MomentState, len: usize) -> bool {
        match (self, state) {
            (Self::F32(values), MomentState::F32) => values.len() == len,
            (Self::Bf16(values), MomentState::Bf16) => values.len() == len,
            (Self::Int8 { codes, scales }, MomentState::Int8) => {
                codes.len() == len && scales.len() == len.div_ceil(BLOCK)
            }
            _ => false,
        }
    }

    /// What they stand for.
    pub fn numbers(&self, order: Order) -> Vec<f32> {
        match self {
            Self::F32(values) => values.clone(),
            Self::Bf16(values) => {
                let mut out = vec![0.0; values.len()];
                widen(values, &mut out);
                out
            }
            Self::Int8 { codes, scales } => {
                let mut out = vec![0.0; codes.len()];
                let blocks = out.chunks_mut(BLOCK).zip(codes.chunks(BLOCK)).zip(scales);
                blocks.for_each(|((out, codes), scale)| order.codes().decode(codes, *scale, out));
                out
            }
        }
    }

    /// Parts of [`PIECE`] numbers.
    fn pieces(&mut self) -> Vec<Piece<'_>> {
        match self {
            Self::F32(values) => values.chunks_mut(PIECE).map(Piece::F32).collect(),
            Self::Bf16(values) => values.chunks_mut(PIECE).map(Piece::Bf16).collect(),
            Self::Int8 { codes, scales } => {
                let pieces = codes.chunks_mut(PIECE).zip(scales.chunks_mut(PIECE / BLOCK));
                pieces.map(|(codes, scales)| Piece::Int8 { codes, scales }).collect()
            }
        }
    }
}

impl Piece<'_> {
    fn read(&self, block: usize, order: Order, out: &mut [f32]) {
        let range = block * BLOCK..block * BLOCK + out.len();
        match self {
            Self::F32(values) => out.copy_from_slice(&values[range]),
            Self::Bf16(values) => widen(&values[range], out),
            Self::Int8 { codes, scales } => order.codes().decode(&codes[range], scales[block], out),
        }
    }

    fn write(&mut self, block: usize, order: Order, values: &[f32], (noise, first): (Noise, usize)) {
        let range = block * BLOCK..block * BLOCK + values.len();
        match self {
            Self::F32(own) => own[range].copy_from_slice(values),
            Self::Bf16(own) => {
                let place = first + range.start;
                round_at_random(values, &mut own[range], noise.key(), place as u32);
            }
            Self::Int8 { codes, scales } => scales[block] = order.codes().encode(values, &mut codes[range]),
        }
    }
}

impl<'a> Master<'a> {
    /// Parts of [`PIECE`] numbers.
    fn pieces(self) -> Vec<Piece<'a>> {
        match self {
            Self::F32(values) => values.chunks_mut(PIECE).map(Piece::F32).collect(),
            Self::Bf16(values) => values.chunks_mut(PIECE).map(Piece::Bf16).collect(),
        }
    }
}

/// One step of AdamW over a weight, with its moments.
pub fn update(
    weight: Master<'_>,
    first: &mut Packed,
    second: &mut Packed,
    gradient: &[f32],
    how: AdamW,
    noise: [Noise; 3],
) {
    let moments: Vec<_> = first.pieces().into_iter().zip(second.pieces()).collect();
    let pieces = weight.pieces().into_par_iter().zip(gradient.par_chunks(PIECE)).zip(moments).enumerate();
    pieces.for_each(|(piece, ((weight, gradient), moments))| match (weight, moments) {
        (Piece::F32(w), (Piece::F32(m), Piece::F32(v))) => adamw(w, m, v, gradient, how),
        (mut w, (mut m, mut v)) => {
            let first = piece * PIECE;
            for (block, gradient) in gradient.chunks(BLOCK).enumerate() {
                let mut own = [[0.0; BLOCK]; 3];
                let [of_first, of_second, of_weight] = own.each_mut().map(|own| &mut own[..gradient.len()]);
                m.read(block, Order::First, of_first);
                v.read(block, Order::Second, of_second);
                w.read(block, Order::First, of_weight);
                adamw(of_weight, of_first, of_second, gradient, how);
                m.write(block, Order::First, of_first, (noise[0], first));
                v.write(block, Order::Second, of_second, (noise[1], first));
                w.write(block, Order::First, of_weight, (noise[2], first));
            }
        }
    });
}

/// What a step of Muon takes besides weight, moment and gradient (Keller Jordan et al. 2024; the size of updates is that of
/// Liu et al., "Muon is scalable for LLM training", arXiv 2502.16982, equation 4).
#[derive(Clone, Copy, Debug)]
pub struct Muon {
    /// Multiplied to the gradient: normalisation and clipping.
    pub scale: f32,
    pub momentum: f32,
    pub learning_rate: f32,
    /// 1 - learning rate * weight decay.
    pub keep: f32,
}

/// Root mean square of an update over the learning rate: what AdamW's usually is.
const MUON_SIZE: f32 = 0.2;

impl Muon {
    /// What an orthogonal matrix of that shape is multiplied by: the numbers of one with `min(rows, columns)` singular values
    /// of 1 have a mean square of `1 / max(rows, columns)`.
    pub fn step_size(self, rows: usize, columns: usize) -> f32 {
        self.learning_rate * MUON_SIZE * (rows.max(columns) as f32).sqrt()
    }
}

/// One step of Muon over a weight of so many `columns`, with its moment; `matrices` are the rows of each matrix in it.
/// `m <- b m + (1-b) g;  O = orthogonal(b m + (1-b) g);  w <- keep w - step O`.
pub fn muon(
    weight: Master<'_>,
    moment: &mut Packed,
    gradient: &[f32],
    how: Muon,
    (matrices, columns): (&[usize], usize),
    noise: [Noise; 3],
) {
    let mut updates = look_ahead(moment, gradient, how, noise[0]);
    let mut rest = &mut updates[..];
    for rows in matrices {
        let (own, others) = rest.split_at_mut(rows * columns);
        orthogonalise(own, columns);
        scale(own, how.step_size(*rows, columns));
        rest = others;
    }
    let pieces = weight.pieces().into_par_iter().zip(updates.par_chunks(PIECE)).enumerate();
    pieces.for_each(|(piece, (mut weight, update))| {
        for (block, update) in update.chunks(BLOCK).enumerate() {
            let mut own = [0.0; BLOCK];
            let own = &mut own[..update.len()];
            weight.read(block, Order::First, own);
            own.iter_mut().zip(update).for_each(|(w, update)| *w = how.keep * *w - update);
            weight.write(block, Order::First, own, (noise[2], piece * PIECE));
        }
    });
}

/// Takes the gradient into a moment, and answers with what the moment would be if the same gradient came once more.
fn look_ahead(moment: &mut Packed, gradient: &[f32], how: Muon, noise: Noise) -> Buffer {
    let Muon { scale, momentum, .. } = how;
    let mut ahead = Buffer::new(gradient.len());
    let pieces = moment.pieces();
    let each = ahead.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE)).zip(pieces).enumerate();
    each.for_each(|(piece, ((ahead, gradient), mut moment))| {
        let blocks = ahead.chunks_mut(BLOCK).zip(gradient.chunks(BLOCK)).enumerate();
        for (block, (ahead, gradient)) in blocks {
            let mut own = [0.0; BLOCK];
            let own = &mut own[..ahead.len()];
            moment.read(block, Order::First, own);
            for ((m, ahead), g) in own.iter_mut().zip(ahead).zip(gradient) {
                let g = (1.0 - momentum) * (g * scale);
                *m = momentum * *m + g;
                *ahead = momentum * *m + g;
            }
            moment.write(block, Order::First, own, (noise, piece * PIECE));
        }
    });
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_differs_by_step_weight_and_what_of_it_is_rounded() {
        let mut seen = std::collections::BTreeSet::new();
        for step in [0, 1, 2, 1 << 33] {
            for index in 0..50 {
                for noise in Noise::all(step, index) {
                    assert!(seen.insert(noise.key()), "{step} {index}");
                }
            }
        }
    }

    #[test]
    fn moments_in_fewer_bits_take_the_memory_that_they_should() {
        let len = 1000;
        assert!(Packed::zeros(MomentState::Bf16, len).fits(MomentState::Bf16, len));
        assert!(!Packed::zeros(MomentState::Bf16, len).fits(MomentState::F32, len));
        let Packed::Int8 { codes, scales } = Packed::zeros(MomentState::Int8, len) else { panic!() };
        assert_eq!((codes.len(), scales.len()), (1000, 4));
    }
}
