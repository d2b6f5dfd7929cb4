//! Weights, and what has their shape (gradients, moments), each as one flat piece of memory: an optimizer step is one
//! pass, a sum over devices one call. Weights that are one product stand next to each other; vectors come last, because
//! weight decay is for matrices.

use std::sync::Arc;

use super::driver::{Argument, Kind, Pointer, Result};
use super::{Cuda, Memory, THREADS, at, maybe};
use crate::engine::kernels::update::AdamW;
use crate::modelfile::config::ModelConfig;
use crate::modelfile::{Format, decoder_tensors};

/// Blocks that add up squares.
const PARTS: usize = 1024;

/// Where each weight stands.
#[derive(Debug)]
struct Layout {
    /// First number and count, by the weights' places.
    places: Vec<(usize, usize)>,
    /// Numbers in matrices, which come first.
    matrices: usize,
    len: usize,
}

impl Layout {
    /// A layout of weights with the given names and sizes, in the order of their places.
    fn new(config: &ModelConfig, weights: &[(&str, usize)]) -> Self {
        let mut places = vec![(0, 0); weights.len()];
        let (mut next, mut matrices) = (0, 0);
        // The file's order has query, key and value, and gate and up, side by side.
        let tensors = decoder_tensors(config, Format::HuggingFace);
        let (wide, thin): (Vec<_>, Vec<_>) = tensors.iter().partition(|(_, shape)| shape.len() > 1);
        for (group, is_matrix) in [(wide, true), (thin, false)] {
            for (name, _) in group {
                if let Some(index) = weights.iter().position(|(other, _)| other == name) {
                    places[index] = (next, weights[index].1);
                    next += weights[index].1;
                }
            }
            if is_matrix {
                matrices = next;
            }
        }
        Self { places, matrices, len: next }
    }
}

/// One f32 number for each number of the weights.
#[derive(Debug)]
pub struct Flat {
    cuda: Arc<Cuda>,
    layout: Arc<Layout>,
    memory: Memory,
}

impl Flat {
    fn zeros(cuda: &Arc<Cuda>, layout: &Arc<Layout>) -> Result<Self> {
        let memory = cuda.zeros(layout.len)?;
        Ok(Self { cuda: Arc::clone(cuda), layout: Arc::clone(layout), memory })
    }

    /// The address of one weight's numbers.
    pub fn at(&self, index: usize) -> Pointer {
        self.memory.at(self.layout.places[index].0)
    }

    /// All numbers, in the order in which they lie there.
    pub fn read(&self) -> Result<Vec<f32>> {
        self.cuda.download(&self.memory)
    }

    /// Takes over all numbers in that order.
    pub fn write_all(&self, values: &[f32]) -> Result<()> {
        self.cuda.driver().upload(self.memory.pointer(), bytemuck::cast_slice(values))
    }

    /// One weight's numbers; zeros when they cannot be read, which [`Cuda::check`] tells.
    pub fn read_one(&self, index: usize) -> Vec<f32> {
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
        self.cuda.driver().sum_over_ranks(self.memory.pointer(), self.layout.len)
    }

    /// The sum of all squares.
    pub fn squares(&self) -> Result<f64> {
        let parts = self.cuda.memory(Kind::F64, PARTS)?;
        let len = Argument::U64(self.layout.len as u64);
        let arguments = [at(&parts), at(&self.memory), len, Argument::U32(PARTS as u32)];
        self.cuda.launch("squares", PARTS, THREADS, 0, &arguments)?;
        Ok(self.cuda.download::<f64>(&parts)?.iter().sum())
    }
}

/// The weights of a model: f32 masters, and the copy that products read when that is of another kind.
#[derive(Debug)]
pub struct Parameters {
    master: Flat,
    copy: Option<Memory>,
}

impl Parameters {
    /// Memory for weights of the given names and sizes, in the order of their places.
    pub fn new(cuda: &Arc<Cuda>, config: &ModelConfig, weights: &[(&str, usize)]) -> Result<Self> {
        let layout = Arc::new(Layout::new(config, weights));
        let copy = if cuda.is_narrow() { Some(cuda.activations(layout.len)?) } else { None };
        Ok(Self { master: Flat::zeros(cuda, &layout)?, copy })
    }

    pub fn cuda(&self) -> &Arc<Cuda> {
        &self.master.cuda
    }

    /// Zeros for gradients or moments.
    pub fn zeros(&self) -> Result<Flat> {
        Flat::zeros(self.cuda(), &self.master.layout)
    }

    /// The address of a matrix as products read it.
    pub fn matrix(&self, index: usize) -> Pointer {
        match &self.copy {
            Some(copy) => copy.at(self.master.layout.places[index].0),
            None => self.master.at(index),
        }
    }

    /// The address of a vector, which is f32 always.
    pub fn vector(&self, index: usize) -> Argument {
        Argument::Pointer(self.master.at(index))
    }

    /// Numbers of one weight.
    pub fn len_of(&self, index: usize) -> usize {
        self.master.layout.places[index].1
    }

    pub fn read(&self, index: usize) -> Vec<f32> {
        self.master.read_one(index)
    }

    pub fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        self.master.write(index, values)?;
        let Some(copy) = &self.copy else { return Ok(()) };
        let (first, len) = self.master.layout.places[index];
        self.cuda().convert(copy.at(first), self.master.at(index), len)
    }

    /// One step of AdamW with the update for matrices and that for vectors.
    pub fn update(&self, gradients: &Flat, moments: &[Flat; 2], updates: [AdamW; 2]) -> Result<()> {
        let Layout { matrices, len, .. } = *self.master.layout;
        for (update, range) in updates.into_iter().zip([0..matrices, matrices..len]) {
            let place = |flat: &Flat| Argument::Pointer(flat.memory.at(range.start));
            let copy = self.copy.as_ref().map_or(maybe(None), |copy| Argument::Pointer(copy.at(range.start)));
            let AdamW { scale, beta1, beta2, step_size, root_correction, eps, keep } = update;
            let numbers = [scale, beta1, beta2, step_size, root_correction, eps, keep].map(Argument::F32);
            let mut arguments =
                vec![place(&self.master), copy, place(&moments[0]), place(&moments[1]), place(gradients)];
            arguments.push(Argument::U64(range.len() as u64));
            arguments.extend(numbers);
            self.cuda().run("adamw", Cuda::blocks(range.len()), &arguments)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_one_product_are_neighbours_and_vectors_come_last() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let config = crate::modelfile::inspect(&directory).unwrap().config;
        let mut tensors = decoder_tensors(&config, Format::HuggingFace);
        tensors.sort();
        let weights: Vec<(&str, usize)> =
            tensors.iter().map(|(name, shape)| (name.as_str(), shape.iter().product())).collect();
        let layout = Layout::new(&config, &weights);
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
        assert_eq!(layout.len, weights.iter().map(|(_, len)| len).sum::<usize>());
        assert!(place("input_layernorm").0 >= layout.matrices && place("mlp.down_proj").0 < layout.matrices);
        assert!(layout.places.iter().all(|(first, _)| first.is_multiple_of(8)), "vectors of 16 bytes are aligned");
    }
}
