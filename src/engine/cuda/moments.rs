//! Moments of gradients on a device, in the order of the weights: in f32, or in fewer bits. Codes of 8 bits share a scale by
//! 256 of a range of the piece, not of a weight; a checkpoint keeps what they stand for, from which the same codes are made.
//! Second moments begin behind the matrices of layers where these take Muon.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::layout::{Flat, Layout};
use super::{Cuda, Memory, THREADS, at, maybe};
use crate::engine::backend::{Moments, Tensors};
use crate::engine::driver::{Argument, Kind, Result};
use crate::engine::kernels::narrow::{BLOCK, SIGNED, UNSIGNED};
use crate::engine::kernels::update::AdamW;
use crate::engine::moments::{Begin, Muon, Noise, Order, Packed};
use crate::job::spec::MomentState;

/// First or second moments of all weights, or of some that stand side by side.
#[derive(Debug)]
pub struct CudaMoments {
    cuda: Arc<Cuda>,
    layout: Arc<Layout>,
    order: Order,
    /// The numbers of the layout that have one.
    range: Range<usize>,
    numbers: Numbers,
}

#[derive(Debug)]
enum Numbers {
    F32(Flat),
    Bf16(Memory),
    /// Codes, scales, and what all codes of both orders stand for.
    Int8 {
        codes: Memory,
        scales: Memory,
        values: Memory,
    },
}

/// Matrices of layers, other matrices, and vectors, as far as they lie within a range; none that is empty.
pub fn parts(layout: &Layout, within: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let parts = layout.ranges().map(|part| part.start.max(within.start)..part.end.min(within.end));
    parts.into_iter().filter(|part| !part.is_empty())
}

impl CudaMoments {
    /// What each weight's begin as. Those that have some stand side by side.
    pub fn new(
        cuda: &Arc<Cuda>,
        layout: &Arc<Layout>,
        (kind, order): (MomentState, Order),
        begin: Vec<Begin>,
    ) -> Result<Self> {
        let having = || begin.iter().enumerate().filter(|(_, begin)| **begin != Begin::Nothing);
        let places = || having().map(|(index, _)| layout.place(index));
        // Nothing at all lies behind everything.
        let first = places().map(|place| place.start).min().unwrap_or(layout.len());
        let range = first..places().map(|place| place.end).max().unwrap_or(first);
        let numbers = match kind {
            MomentState::F32 => Numbers::F32(Flat::of(cuda, layout, range.clone())?),
            MomentState::Bf16 => {
                let memory = cuda.memory(Kind::Bf16, range.len())?;
                cuda.driver().clear(memory.pointer(), range.len() * Kind::Bf16.bytes())?;
                Numbers::Bf16(memory)
            }
            MomentState::Int8 => Self::codes(cuda, layout, (order, &range), &begin)?,
        };
        let moments = Self { cuda: Arc::clone(cuda), layout: Arc::clone(layout), order, range, numbers };
        for (index, begin) in begin.into_iter().enumerate() {
            match (&moments.numbers, begin) {
                (Numbers::F32(flat), Begin::Stored(packed)) => flat.write(index, &packed.numbers(order))?,
                (Numbers::Bf16(memory), Begin::Stored(Packed::Bf16(values))) => {
                    cuda.driver().upload(
                        memory.at(layout.place(index).start - moments.range.start),
                        bytemuck::cast_slice(&values),
                    )?;
                }
                _ => {}
            }
        }
        Ok(moments)
    }

    /// Codes of what is known.
    fn codes(
        cuda: &Arc<Cuda>,
        layout: &Arc<Layout>,
        (order, own): (Order, &Range<usize>),
        begin: &[Begin],
    ) -> Result<Numbers> {
        let mut numbers = vec![0.0; own.len()];
        for (index, begin) in begin.iter().enumerate() {
            if let Begin::Stored(packed) = begin {
                let place = layout.place(index);
                numbers[place.start - own.start..place.end - own.start].copy_from_slice(&packed.numbers(order));
            }
        }
        let (mut codes, mut scales) = (vec![0_u8; own.len()], Vec::new());
        for part in parts(layout, own) {
            let part = part.start - own.start..part.end - own.start;
            let blocks = codes[part.clone()].chunks_mut(BLOCK).zip(numbers[part].chunks(BLOCK));
            scales.extend(blocks.map(|(codes, numbers)| order.codes().encode(numbers, codes)));
        }
        codes.resize(codes.len().next_multiple_of(Kind::U32.bytes()), 0);
        let words: Vec<u32> = codes.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
        let values = [*SIGNED.values(), *UNSIGNED.values()].concat();
        Ok(Numbers::Int8 {
            codes: cuda.upload(Kind::U32, &words)?,
            scales: cuda.upload(Kind::F32, &scales)?,
            values: cuda.upload(Kind::F32, &values)?,
        })
    }

    /// The numbers of the layout that have one.
    pub fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// The block of numbers with a common scale that a place belongs to; parts of the layout have none in common.
    fn block(&self, place: usize) -> usize {
        let mut before = 0;
        for part in parts(&self.layout, &self.range) {
            if place < part.end {
                return before + (place - part.start) / BLOCK;
            }
            before += part.len().div_ceil(BLOCK);
        }
        before
    }

    fn read(&self, index: usize) -> Result<Packed> {
        let place = self.layout.place(index);
        let from = place.start - self.range.start;
        Ok(match &self.numbers {
            Numbers::F32(flat) => Packed::F32(flat.read(index, <[f32]>::to_vec)),
            Numbers::Bf16(memory) => {
                let mut values = vec![0_u16; place.len()];
                self.cuda.driver().download(memory.at(from), bytemuck::cast_slice_mut(&mut values))?;
                Packed::Bf16(values)
            }
            Numbers::Int8 { codes, scales, .. } => {
                let mut own = vec![0_u8; place.len()];
                self.cuda.driver().download(codes.pointer() + from as u64, &mut own)?;
                let scales: Vec<f32> = self.cuda.download(scales)?;
                let values = self.order.codes().values();
                let scale = |place: usize| scales[self.block(place)];
                let number = |(code, place): (&u8, usize)| values[usize::from(*code)] * scale(place);
                Packed::F32(own.iter().zip(place).map(number).collect())
            }
        })
    }

    /// Takes the gradient of some numbers into these moments, at the given step of Muon, and puts in its place what the moments
    /// would be if it came once more.
    pub fn look_ahead(&self, range: &Range<usize>, gradient: Argument, step: u64, how: Muon) -> Result<()> {
        let cuda = &self.cuda;
        let (from, count) = (range.start - self.range.start, Argument::U64(range.len() as u64));
        let numbers = [how.scale, how.momentum].map(Argument::F32);
        match &self.numbers {
            Numbers::F32(m) => {
                let arguments = [&[Argument::Pointer(m.at_place(range.start)), gradient, count][..], &numbers].concat();
                cuda.launch("look_ahead", Cuda::blocks(range.len()), THREADS, 0, &arguments)
            }
            Numbers::Bf16(m) => {
                let key = Argument::U32(Noise::new(step, range.start, self.order).key());
                let arguments = [&[Argument::Pointer(m.at(from)), gradient, count, key][..], &numbers].concat();
                cuda.launch("look_ahead_of_bf16", Cuda::blocks(range.len()), THREADS, 0, &arguments)
            }
            Numbers::Int8 { codes, scales, values } => {
                let codes = Argument::Pointer(codes.pointer() + from as u64);
                let scales = Argument::Pointer(scales.at(self.block(range.start)));
                let arguments = [&[codes, scales, at(values), gradient, count][..], &numbers].concat();
                cuda.launch("look_ahead_of_int8", range.len().div_ceil(BLOCK), THREADS, 0, &arguments)
            }
        }
    }

    /// The given step of AdamW over some numbers of the weights, which have a copy for products.
    pub fn update(
        moments: &[Self; 2],
        range: &Range<usize>,
        [weights, copy, gradient]: [Argument; 3],
        step: u64,
        how: AdamW,
    ) -> Result<()> {
        let [first, second] = moments;
        let cuda = &first.cuda;
        let AdamW { scale, beta1, beta2, step_size, root_correction, eps, keep } = how;
        let numbers = [scale, beta1, beta2, step_size, root_correction, eps, keep].map(Argument::F32);
        let count = Argument::U64(range.len() as u64);
        let key = |order| Argument::U32(Noise::new(step, range.start, order).key());
        match (&first.numbers, &second.numbers) {
            (Numbers::F32(m), Numbers::F32(v)) => {
                let places = [m, v].map(|flat| Argument::Pointer(flat.at_place(range.start)));
                let arguments = [&[weights, copy, places[0], places[1], gradient, count][..], &numbers].concat();
                cuda.run("adamw", Cuda::blocks(range.len()), &arguments)
            }
            (Numbers::Bf16(m), Numbers::Bf16(v)) => {
                let places = [(m, first), (v, second)]
                    .map(|(memory, of)| Argument::Pointer(memory.at(range.start - of.range.start)));
                let noise = [key(Order::First), key(Order::Second)];
                let arguments =
                    [&[weights, copy, places[0], places[1], gradient, count][..], &noise, &numbers].concat();
                cuda.run("adamw_of_bf16", Cuda::blocks(range.len()), &arguments)
            }
            (Numbers::Int8 { codes: m, scales: ms, values }, Numbers::Int8 { codes: v, scales: vs, .. }) => {
                let codes = [(m, first), (v, second)];
                let codes =
                    codes.map(|(codes, of)| Argument::Pointer(codes.pointer() + (range.start - of.range.start) as u64));
                let scales = [(ms, first), (vs, second)];
                let scales = scales.map(|(scales, of)| Argument::Pointer(scales.at(of.block(range.start))));
                let arguments = [
                    &[weights, copy, codes[0], scales[0], codes[1], scales[1], at(values), gradient, count][..],
                    &numbers,
                ]
                .concat();
                cuda.run("adamw_of_int8", range.len().div_ceil(BLOCK), &arguments)
            }
            _ => Ok(()),
        }
    }
}

impl Moments for CudaMoments {
    fn saved_as(&self) -> MomentState {
        match &self.numbers {
            Numbers::F32(_) | Numbers::Int8 { .. } => MomentState::F32,
            Numbers::Bf16(_) => MomentState::Bf16,
        }
    }

    fn packed(&self, index: usize) -> Cow<'_, Packed> {
        Cow::Owned(self.read(index).unwrap_or_else(|error| {
            self.cuda.remember(error);
            Packed::zeros(self.saved_as(), self.layout.place(index).len())
        }))
    }
}

/// A pointer that may be missing, as kernels take it.
pub fn copy_at(copy: Option<&Memory>, place: usize) -> Argument {
    copy.map_or(maybe(None), |copy| Argument::Pointer(copy.at(place)))
}

const _: () = assert!(BLOCK == THREADS as usize, "a block of threads updates a block of codes");
