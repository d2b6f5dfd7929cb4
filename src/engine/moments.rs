//! Moments of gradients on the CPU: in f32, or in fewer bits, of which a few at a time become f32 for an update.

use rayon::prelude::*;

use super::gradients::PIECE;
use super::kernels::narrow::{BLOCK, Codes, SIGNED, UNSIGNED, mixed, round_at_random, widen};
use super::kernels::update::{AdamW, adamw};
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

/// A part of them that begins where a block begins.
enum Piece<'a> {
    F32(&'a mut [f32]),
    Bf16(&'a mut [u16]),
    Int8 { codes: &'a mut [u8], scales: &'a mut [f32] },
}

/// What rounding at random depends on: the number of the step, the weight's place, and which moment it is.
#[derive(Clone, Copy, Debug)]
pub struct Noise(u32);

impl Noise {
    pub fn new(step: u64, index: usize, order: Order) -> Self {
        let place = 2 * index as u32 + u32::from(order == Order::Second);
        Self(mixed(mixed(mixed(step as u32) ^ (step >> 32) as u32) ^ place))
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

/// One step of AdamW over a weight, with its moments.
pub fn update(w: &mut [f32], first: &mut Packed, second: &mut Packed, gradient: &[f32], how: AdamW, noise: [Noise; 2]) {
    let moments: Vec<_> = first.pieces().into_iter().zip(second.pieces()).collect();
    let pieces = w.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE)).zip(moments).enumerate();
    pieces.for_each(|(piece, ((w, g), moments))| match moments {
        (Piece::F32(m), Piece::F32(v)) => adamw(w, m, v, g, how),
        (mut m, mut v) => {
            let blocks = w.chunks_mut(BLOCK).zip(g.chunks(BLOCK)).enumerate();
            for (block, (w, g)) in blocks {
                let mut own = [[0.0; BLOCK]; 2];
                let [first, second] = own.each_mut().map(|own| &mut own[..w.len()]);
                m.read(block, Order::First, first);
                v.read(block, Order::Second, second);
                adamw(w, first, second, g, how);
                m.write(block, Order::First, first, (noise[0], piece * PIECE));
                v.write(block, Order::Second, second, (noise[1], piece * PIECE));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_differs_by_step_weight_and_moment() {
        let mut seen = std::collections::BTreeSet::new();
        for step in [0, 1, 2, 1 << 33] {
            for index in 0..50 {
                for order in [Order::First, Order::Second] {
                    assert!(seen.insert(Noise::new(step, index, order).key()), "{step} {index} {order:?}");
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
