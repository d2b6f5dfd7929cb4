//! Weights, and what has their shape (gradients, moments), each as one flat piece of memory: an optimizer step is one
//! pass, a sum over devices one call. Weights that are one product stand next to each other; vectors come last, because
//! weight decay is for matrices.

use std::sync::Arc;

use super::{Cuda, Memory, THREADS, at, maybe};
use crate::engine::backend::{Tensors, Training, Usage};
use crate::engine::collective::Collective;
use crate::engine::driver::{Argument, Kind, Pointer, Result};
use crate::engine::error::EngineError;
use crate::engine::kernels::update::AdamW;
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;

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
    /// A layout of tensors in their order, but for vectors, which come last.
    fn new(specs: &[TensorSpec]) -> Self {
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        let mut places = vec![(0, 0); specs.len()];
        let (mut next, mut matrices) = (0, 0);
        let (wide, thin): (Vec<_>, Vec<_>) = specs.iter().partition(|spec| spec.shape.len() > 1);
        for (group, is_matrix) in [(wide, true), (thin, false)] {
            for spec in group {
                let len = spec.shape.iter().product();
                if let Ok(index) = names.binary_search(&spec.name.as_str()) {
                    places[index] = (next, len);
                    next += len;
                }
            }
            if is_matrix {
                matrices = next;
            }
        }
        Self { places, matrices, len: next }
    }
}

/// One f32 number for each number of the weights, or of the vectors among them.
#[derive(Debug)]
pub struct Flat {
    cuda: Arc<Cuda>,
    layout: Arc<Layout>,
    memory: Memory,
    /// The first number of the layout that it has.
    first: usize,
}

impl Flat {
    fn zeros(cuda: &Arc<Cuda>, layout: &Arc<Layout>) -> Result<Self> {
        Self::from(cuda, layout, 0)
    }

    /// Zeros for the numbers from the given one on.
    fn from(cuda: &Arc<Cuda>, layout: &Arc<Layout>, first: usize) -> Result<Self> {
        let memory = cuda.cleared(layout.len - first)?;
        Ok(Self { cuda: Arc::clone(cuda), layout: Arc::clone(layout), memory, first })
    }

    /// Whether it has the numbers of a weight.
    fn has(&self, index: usize) -> bool {
        self.layout.places[index].0 >= self.first
    }

    /// The address of one weight's numbers.
    pub fn at(&self, index: usize) -> Pointer {
        self.memory.at(self.layout.places[index].0 - self.first)
    }

    /// All numbers, in the order in which they lie there.
    fn numbers(&self) -> Result<Vec<f32>> {
        self.cuda.download(&self.memory)
    }

    /// Takes over all numbers in that order.
    fn write_all(&self, values: &[f32]) -> Result<()> {
        self.cuda.driver().upload(self.memory.pointer(), bytemuck::cast_slice(values))
    }

    /// One weight's numbers; zeros when they cannot be read, which is remembered.
    fn read_one(&self, index: usize) -> Vec<f32> {
        let mut values = vec![0.0_f32; self.layout.places[index].1];
        if let Err(error) = self.cuda.driver().download(self.at(index), bytemuck::cast_slice_mut(&mut values)) {
            self.cuda.remember(error);
        }
        values
    }

    fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        debug_assert_eq!(values.len(), self.layout.places[index].1);
        self.cuda.driver().upload(self.at(index), bytemuck::cast_slice(values))
    }

    /// Adds up all numbers with those of the other ranks, on the devices.
    fn sum_over_ranks(&self) -> Result<()> {
        self.cuda.driver().sum_over_ranks(self.memory.pointer(), self.layout.len)
    }

    /// The sum of all squares.
    fn squares(&self) -> Result<f64> {
        let parts = self.cuda.memory(Kind::F64, PARTS)?;
        let len = Argument::U64(self.layout.len as u64);
        let arguments = [at(&parts), at(&self.memory), len, Argument::U32(PARTS as u32)];
        self.cuda.launch("squares", PARTS, THREADS, 0, &arguments)?;
        Ok(self.cuda.download::<f64>(&parts)?.iter().sum())
    }
}

impl Tensors for Flat {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        f(&self.read_one(index))
    }
}

/// Gradients of a step, summed over its micro-batches, side by side.
#[derive(Debug, Default)]
pub struct Gradients {
    sums: Option<Flat>,
}

impl Gradients {
    /// The sums; zeros at first.
    pub fn of(&mut self, parameters: &Parameters) -> Result<&Flat> {
        match &mut self.sums {
            Some(sums) => Ok(sums),
            none @ None => Ok(none.insert(parameters.zeros()?)),
        }
    }

    /// The sums, if any gradient reached the device.
    pub fn get(&self) -> Option<&Flat> {
        self.sums.as_ref()
    }
}

/// The weights of a model: f32 masters, and the copy that products read when that is of another kind.
#[derive(Debug)]
pub struct Parameters {
    master: Flat,
    copy: Option<Memory>,
}

impl Parameters {
    /// Memory for weights. What is never changed is kept once: matrices in the kind that products read.
    fn new(cuda: &Arc<Cuda>, specs: &[TensorSpec], usage: Usage) -> Result<Self> {
        let layout = Arc::new(Layout::new(specs));
        let first = if cuda.is_narrow() && usage != Usage::Training { layout.matrices } else { 0 };
        let copy = if cuda.is_narrow() { Some(cuda.activations(layout.len)?) } else { None };
        Ok(Self { master: Flat::from(cuda, &layout, first)?, copy })
    }

    fn cuda(&self) -> &Arc<Cuda> {
        &self.master.cuda
    }

    /// Zeros for gradients or moments.
    fn zeros(&self) -> Result<Flat> {
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

    fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        let (first, len) = self.master.layout.places[index];
        let at = if self.master.has(index) {
            self.master.write(index, values)?;
            None
        } else {
            Some(self.cuda().upload(Kind::F32, values)?)
        };
        let Some(copy) = &self.copy else { return Ok(()) };
        let from = at.as_ref().map_or_else(|| self.master.at(index), Memory::pointer);
        self.cuda().convert(copy.at(first), from, len)
    }
}

impl Tensors for Parameters {
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T {
        debug_assert!(self.master.has(index), "matrices that never change are read where they came from");
        self.master.read(index, f)
    }
}

impl Training for Cuda {
    fn parameters(
        self: &Arc<Self>,
        config: &ModelConfig,
        specs: &[TensorSpec],
        usage: Usage,
        read: &mut dyn FnMut(&TensorSpec) -> Result<Vec<f32>, EngineError>,
    ) -> Result<Parameters, EngineError> {
        Self::check_shape(config)?;
        let parameters = Parameters::new(self, specs, usage)?;
        let mut sorted: Vec<&TensorSpec> = specs.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        for (index, spec) in sorted.into_iter().enumerate() {
            parameters.write(index, &read(spec)?)?;
        }
        Ok(parameters)
    }

    fn write(&self, parameters: &Parameters, index: usize, values: &[f32]) -> Result<(), EngineError> {
        Ok(parameters.write(index, values)?)
    }

    fn moments(&self, parameters: &Parameters, known: Vec<Option<Vec<f32>>>) -> Result<Flat, EngineError> {
        let moments = parameters.zeros()?;
        for (index, values) in known.into_iter().enumerate() {
            if let Some(values) = values {
                moments.write(index, &values)?;
            }
        }
        Ok(moments)
    }

    fn gradient_norm(&self, sums: &Gradients, scale: f64) -> Result<f64, EngineError> {
        let squares = sums.get().map(Flat::squares).transpose()?;
        Ok(squares.unwrap_or(0.0).sqrt() * scale)
    }

    fn gradient_numbers(&self, sums: &Gradients) -> Result<Vec<f32>, EngineError> {
        Ok(sums.get().map(Flat::numbers).transpose()?.unwrap_or_default())
    }

    fn sum_over_ranks(
        &self,
        parameters: &Parameters,
        sums: &mut Gradients,
        ranks: &dyn Collective,
    ) -> Result<(), EngineError> {
        let sums = sums.of(parameters)?;
        if ranks.has_joined() {
            return Ok(sums.sum_over_ranks()?);
        }
        let mut numbers = sums.numbers()?;
        ranks.sum(&mut numbers)?;
        Ok(sums.write_all(&numbers)?)
    }

    fn update(
        &self,
        parameters: &Parameters,
        sums: &Gradients,
        moments: &mut [Flat; 2],
        updates: [AdamW; 2],
    ) -> Result<(), EngineError> {
        let Some(sums) = sums.get() else {
            return Err(EngineError::Internal(String::from("no gradient reached the device")));
        };
        let Parameters { master, copy } = parameters;
        let Layout { matrices, len, .. } = *master.layout;
        for (update, range) in updates.into_iter().zip([0..matrices, matrices..len]) {
            let place = |flat: &Flat| Argument::Pointer(flat.memory.at(range.start));
            let copy = copy.as_ref().map_or(maybe(None), |copy| Argument::Pointer(copy.at(range.start)));
            let AdamW { scale, beta1, beta2, step_size, root_correction, eps, keep } = update;
            let numbers = [scale, beta1, beta2, step_size, root_correction, eps, keep].map(Argument::F32);
            let mut arguments = vec![place(master), copy, place(&moments[0]), place(&moments[1]), place(sums)];
            arguments.push(Argument::U64(range.len() as u64));
            arguments.extend(numbers);
            self.run("adamw", Self::blocks(range.len()), &arguments)?;
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
        assert_eq!(layout.len, weights.iter().map(|(_, len)| len).sum::<usize>());
        assert!(place("input_layernorm").0 >= layout.matrices && place("mlp.down_proj").0 < layout.matrices);
        assert!(layout.places.iter().all(|(first, _)| first.is_multiple_of(8)), "vectors of 16 bytes are aligned");
    }
}
