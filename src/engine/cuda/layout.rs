//! Where weights stand in one flat piece of memory, and what has a number for each of theirs. Weights that are one product
//! stand next to each other; matrices of layers come first, which may have an optimizer of their own, and vectors last,
//! because weight decay is for matrices.

use std::ops::Range;
use std::sync::Arc;

use super::{Cuda, Memory, THREADS};
use crate::engine::backend::Tensors;
use crate::engine::driver::{Argument, Kind, Pointer, Result};
use crate::modelfile::architecture::TensorSpec;

/// The most blocks that add up the squares of a weight, and the numbers of each of fewer.
const PARTS: usize = 1024;
const PIECE: usize = 1 << 14;

/// Where each weight stands.
#[derive(Debug)]
pub struct Layout {
    /// First number and count, by the weights' places.
    places: Vec<(usize, usize)>,
    /// Where matrices of layers end, all matrices, and all.
    ends: [usize; 3],
}

impl Layout {
    /// A layout of tensors in their order, but for embedding and head, which come behind other matrices, and vectors.
    pub fn new(specs: &[TensorSpec]) -> Self {
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        let mut places = vec![(0, 0); specs.len()];
        let (wide, thin): (Vec<&TensorSpec>, Vec<_>) = specs.iter().partition(|spec| spec.shape.len() > 1);
        let (of_layers, others): (Vec<_>, Vec<_>) = wide.into_iter().partition(|spec| spec.is_matrix_of_layer());
        let mut next = 0;
        let ends = [of_layers, others, thin].map(|group| {
            for spec in group {
                let len = spec.shape.iter().product();
                if let Ok(index) = names.binary_search(&spec.name.as_str()) {
                    places[index] = (next, len);
                    next += len;
                }
            }
            next
        });
        Self { places, ends }
    }

    pub fn len(&self) -> usize {
        self.ends[2]
    }

    /// How many weights there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Where a weight's numbers stand.
    pub fn place(&self, index: usize) -> Range<usize> {
        let (first, len) = self.places[index];
        first..first + len
    }

    /// Where the vectors stand.
    pub fn vectors(&self) -> Range<usize> {
        self.ends[1]..self.ends[2]
    }

    /// What of a range are matrices, and what vectors.
    pub fn split(&self, range: &Range<usize>) -> [Range<usize>; 2] {
        let end = self.ends[1];
        [range.start.min(end)..range.end.min(end), range.start.max(end)..range.end.max(end)]
    }

    /// Matrices of layers, other matrices, and vectors.
    pub fn ranges(&self) -> [Range<usize>; 3] {
        let [of_layers, matrices, all] = self.ends;
        [0..of_layers, of_layers..matrices, matrices..all]
    }
}

/// The address and the bytes of numbers that stand side by side.
pub type Piece = (Pointer, usize);

/// One f32 number for each number of the weights, or of some that stand side by side.
#[derive(Debug)]
pub struct Flat {
    cuda: Arc<Cuda>,
    layout: Arc<Layout>,
    memory: Memory,
    /// The numbers of the layout that it has.
    range: Range<usize>,
}

impl Flat {
    pub fn zeros(cuda: &Arc<Cuda>, layout: &Arc<Layout>) -> Result<Self> {
        Self::of(cuda, layout, 0..layout.len())
    }

    /// Zeros for some numbers.
    pub fn of(cuda: &Arc<Cuda>, layout: &Arc<Layout>, range: Range<usize>) -> Result<Self> {
        let memory = cuda.cleared(range.len())?;
        Ok(Self { cuda: Arc::clone(cuda), layout: Arc::clone(layout), memory, range })
    }

    pub fn cuda(&self) -> &Arc<Cuda> {
        &self.cuda
    }

    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The numbers of the layout that it has.
    pub fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// Where numbers of the layout lie.
    pub fn piece(&self, range: &Range<usize>) -> Piece {
        (self.at_place(range.start), range.len() * Kind::F32.bytes())
    }

    /// Whether it has the numbers of a weight.
    pub fn has(&self, index: usize) -> bool {
        self.range.contains(&self.layout.places[index].0)
    }

    /// The address of the numbers from a place on.
    pub fn at_place(&self, place: usize) -> Pointer {
        self.memory.at(place - self.range.start)
    }

    /// The address of one weight's numbers.
    pub fn at(&self, index: usize) -> Pointer {
        self.memory.at(self.layout.places[index].0 - self.range.start)
    }

    /// All numbers, in the order in which they lie there.
    pub fn numbers(&self) -> Result<Vec<f32>> {
        self.cuda.download(&self.memory)
    }

    /// Takes over all numbers in that order.
    pub fn write_all(&self, values: &[f32]) -> Result<()> {
        self.cuda.driver().upload(self.memory.pointer(), bytemuck::cast_slice(values))
    }

    /// Takes over the numbers of a range of the layout.
    pub fn write_range(&self, range: &Range<usize>, values: &[f32]) -> Result<()> {
        self.cuda.driver().upload(self.at_place(range.start), bytemuck::cast_slice(values))
    }

    /// One weight's numbers; zeros when they cannot be read, which is remembered.
    fn read_one(&self, index: usize) -> Vec<f32> {
        let mut values = vec![0.0_f32; self.layout.places[index].1];
        if let Err(error) = self.cuda.driver().download(self.at(index), bytemuck::cast_slice_mut(&mut values)) {
            self.cuda.remember(error);
        }
        values
    }

    pub fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        debug_assert_eq!(values.len(), self.layout.places[index].1);
        self.cuda.driver().upload(self.at(index), bytemuck::cast_slice(values))
    }

    /// Adds up all numbers with those of the other ranks, on the devices.
    pub fn sum_over_ranks(&self) -> Result<()> {
        self.cuda.driver().sum_over_ranks(self.memory.pointer(), self.layout.len())
    }

    /// The same for a part of the numbers on each rank.
    pub fn sum_parts(&self, parts: &[Range<usize>]) -> Result<()> {
        let parts: Vec<_> = parts.iter().map(|part| (self.at_place(part.start), part.len())).collect();
        self.cuda.driver().sum_parts_over_ranks(&parts)
    }

    /// For each of some weights the sums of squares of pieces of its numbers.
    pub fn squares(&self, places: &[usize]) -> Result<Vec<Vec<f64>>> {
        let lens = places.iter().map(|index| self.layout.place(*index).len());
        let blocks: Vec<usize> = lens.map(|len| len.div_ceil(PIECE).clamp(1, PARTS)).collect();
        let parts = self.cuda.memory(Kind::F64, blocks.iter().sum())?;
        let mut begin = 0;
        for (index, blocks) in places.iter().zip(&blocks) {
            add_squares(&self.cuda, parts.at(begin), (self.at(*index), self.layout.place(*index).len()), *blocks)?;
            begin += blocks;
        }
        let all = self.cuda.download::<f64>(&parts)?;
        let mut rest = &all[..];
        Ok(blocks.iter().filter_map(|blocks| rest.split_off(..*blocks).map(<[f64]>::to_vec)).collect())
    }
}

/// The sum of the squares of numbers, added up by so many blocks.
pub fn squares(cuda: &Cuda, x: Pointer, len: usize, blocks: usize) -> Result<f64> {
    let parts = cuda.memory(Kind::F64, blocks)?;
    add_squares(cuda, parts.pointer(), (x, len), blocks)?;
    Ok(cuda.download::<f64>(&parts)?.iter().sum())
}

/// Writes what each of so many blocks adds up of the squares of numbers.
fn add_squares(cuda: &Cuda, sums: Pointer, (x, len): (Pointer, usize), blocks: usize) -> Result<()> {
    let numbers = [Argument::U64(len as u64), Argument::U32(blocks as u32)];
    cuda.launch(
        "squares",
        blocks,
        THREADS,
        0,
        &[&[Argument::Pointer(sums), Argument::Pointer(x)][..], &numbers].concat(),
    )
}

impl Tensors for Flat {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        f(&self.read_one(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_one_product_are_neighbours_and_vectors_come_last() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let config = crate::modelfile::inspect(&directory).unwrap().config;
        let tensors = config.tensors();
        let mut weights: Vec<(&str, usize)> =
            tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.iter().product())).collect();
        weights.sort_unstable();
        let layout = Layout::new(&tensors);
        let place = |name: &str| {
            let name = format!("model.layers.1.{name}.weight");
            layout.places[weights.iter().position(|(other, _)| *other == name).unwrap()]
        };
        for names in
            [&["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"][..], &["mlp.gate_proj", "mlp.up_proj"]]
        {
            for pair in names.windows(2) {
                assert_eq!(place(pair[0]).0 + place(pair[0]).1, place(pair[1]).0);
            }
        }
        assert_eq!(layout.len(), weights.iter().map(|(_, len)| len).sum::<usize>());
        let [of_layers, others, vectors] = layout.ranges();
        assert!(vectors.contains(&place("input_layernorm").0) && of_layers.contains(&place("mlp.down_proj").0));
        let embedding = weights.iter().position(|(other, _)| *other == "model.embed_tokens.weight").unwrap();
        assert!(others.contains(&layout.places[embedding].0));
        assert!(layout.places.iter().all(|(first, _)| first.is_multiple_of(8)), "vectors of 16 bytes are aligned");
    }
}
