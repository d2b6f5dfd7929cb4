//! The CUDA form of the decoder's operations. [`super::driver`] is what a device can do; `ops`, `attention` and `head`
//! call the kernels, which are in `kernels/`; `parameters` holds weights, gradients and moments, each in one flat piece
//! of memory; `decode` replays recorded passes of the sampler.
//!
//! Everything here is written against [`Driver`], so that it runs, and is tested, on an emulated device too.

mod attention;
mod decode;
#[cfg(feature = "cuda-emulated")]
pub mod emulated;
#[cfg(feature = "cuda")]
pub mod hardware;
mod head;
mod layout;
mod memory;
mod moments;
#[cfg(feature = "nccl")]
mod nccl;
mod ops;
mod orthogonal;
mod parameters;
mod peaks;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use super::driver::{Argument, DeviceError, Driver, Kind, Launch, Pointer, Result};
use attention::{CachedTables, PackedTables, Turns};
use decode::Recordings;

pub use memory::Memory;
use memory::Pool;
use moments::CudaMoments;
use parameters::{Gradients, Parameters};
pub use peaks::Peaks;

use super::backend::Storage;
use super::error::EngineError;
use super::limits::Limits;
use crate::job::memory::Machine;
use crate::job::spec::Precision;
use crate::modelfile::config::ModelConfig;

/// Threads of kernels that work number by number or row by row.
const THREADS: u32 = 256;
/// The largest vocabulary that the kernels know.
const LARGEST_VOCABULARY: usize = 1 << 18;
/// The widest head that the kernels know.
const WIDEST_HEAD: usize = 256;

/// A device, the kind of numbers that it computes with, and its memory.
#[derive(Debug)]
pub struct Cuda {
    driver: Arc<dyn Driver>,
    kind: Kind,
    pool: Mutex<Arc<Pool>>,
    /// The first failure of a read that could not return it.
    failure: Mutex<Option<DeviceError>>,
}

/// Where a pass's tokens and positions lie.
#[derive(Debug)]
pub struct Indices {
    tokens: Pointer,
    positions: Pointer,
    count: usize,
    /// Their memory, unless it is someone else's.
    _memory: Option<Memory>,
}

impl Cuda {
    pub fn new(driver: Arc<dyn Driver>, precision: Precision) -> Arc<Self> {
        let kind = match precision {
            Precision::F32 => Kind::F32,
            Precision::Bf16 => Kind::Bf16,
        };
        let pool = Mutex::new(Pool::new(Arc::clone(&driver)));
        Arc::new(Self { driver, kind, pool, failure: Mutex::default() })
    }

    /// The kind of activations and of the weights as products read them.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether that is not f32.
    pub fn is_narrow(&self) -> bool {
        self.kind != Kind::F32
    }

    pub fn driver(&self) -> &dyn Driver {
        self.driver.as_ref()
    }

    /// Refuses models whose rows the kernels cannot read in whole vectors.
    fn check_shape(config: &ModelConfig) -> std::result::Result<(), EngineError> {
        let experts = config.architecture.experts;
        let mut widths = vec![
            ("hidden_size", config.hidden_size),
            ("intermediate_size", config.intermediate_size),
            ("head_dim", config.head_dim),
            ("num_experts", experts.map_or(0, |experts| experts.count)),
            ("moe_intermediate_size", experts.map_or(0, |experts| experts.width)),
        ];
        widths.extend(config.architecture.rope.iter().map(|rope| ("the rotated part of a head", rope.width)));
        let odd = widths.iter().find(|(_, width)| !width.is_multiple_of(8));
        let detail = match odd {
            Some((name, width)) => format!("{name} is {width}, and CUDA kernels need a multiple of 8"),
            None if config.head_dim > WIDEST_HEAD => {
                format!("head_dim is {}, and CUDA kernels know heads up to {WIDEST_HEAD}", config.head_dim)
            }
            None if config.vocab_size > LARGEST_VOCABULARY => {
                let (size, most) = (config.vocab_size, LARGEST_VOCABULARY);
                format!("vocab_size is {size}, and CUDA kernels know vocabularies up to {most}")
            }
            None => return Ok(()),
        };
        let detail = format!("this model cannot run on a CUDA device: {detail}; use the device `cpu`");
        Err(EngineError::InvalidData { code: "unsupported_shape", detail })
    }

    /// Memory for `len` numbers of the device's kind.
    fn activations(&self, len: usize) -> Result<Memory> {
        self.memory(self.kind, len)
    }

    /// Bytes that may still be taken.
    fn left(&self) -> Result<u64> {
        Ok(self.driver.memory()?.0 + self.pool().free_bytes())
    }

    fn memory(&self, kind: Kind, len: usize) -> Result<Memory> {
        self.pool().take(kind, len)
    }

    fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.pool.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes memory from another pool while `work` runs.
    fn within<T>(&self, pool: &Arc<Pool>, work: impl FnOnce() -> T) -> T {
        let exchange =
            |pool: Arc<Pool>| std::mem::replace(&mut *self.pool.lock().unwrap_or_else(PoisonError::into_inner), pool);
        let before = exchange(Arc::clone(pool));
        let result = work();
        exchange(before);
        result
    }

    fn upload<T: bytemuck::NoUninit>(&self, kind: Kind, values: &[T]) -> Result<Memory> {
        let memory = self.memory(kind, values.len())?;
        self.driver.upload(memory.pointer(), bytemuck::cast_slice(values))?;
        Ok(memory)
    }

    fn download<T: bytemuck::AnyBitPattern + bytemuck::NoUninit + Default>(&self, from: &Memory) -> Result<Vec<T>> {
        let mut values = vec![T::default(); from.len()];
        self.driver.download(from.pointer(), bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Calls a kernel that has a form for each kind of number.
    fn run(&self, name: &str, grid: impl Into<Grid>, arguments: &[Argument]) -> Result<()> {
        let kernel = format!("{name}_{}", self.suffix());
        self.launch(&kernel, grid, THREADS, 0, arguments)
    }

    fn suffix(&self) -> &'static str {
        if self.is_narrow() { "bf16" } else { "f32" }
    }

    fn launch(
        &self,
        kernel: &str,
        grid: impl Into<Grid>,
        threads: u32,
        shared: u32,
        arguments: &[Argument],
    ) -> Result<()> {
        let Grid(grid) = grid.into();
        if grid.contains(&0) {
            return Ok(());
        }
        self.driver.launch(&Launch { kernel, grid, threads, shared, arguments })
    }

    /// Keeps the failure of a read that cannot return it; [`Storage::check`] tells.
    fn remember(&self, error: DeviceError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl Storage for Cuda {
    type Array = Memory;
    type Tokens<'a> = Indices;
    type Packed<'a> = PackedTables;
    type Cached<'a> = CachedTables;
    type Layer = Memory;
    type Recordings = Recordings;
    type Rotary = Turns;
    type Parameters = Parameters;
    type Gradients = Gradients;
    type Moments = CudaMoments;

    const IS_ASYNCHRONOUS: bool = true;
    const SAMPLES_EXACTLY: bool = false;
    /// Products with a large vocabulary want some thousand rows.
    const MACHINE: Machine = Machine::CUDA;
    const MOST_TOKENS: u64 = 16_384;

    fn limits(&self) -> std::result::Result<Limits, EngineError> {
        // A device has nothing else to do meanwhile.
        let cache_bytes = (self.left()? as f64 * 0.6) as usize;
        let Machine { prefill, sampled_logits, .. } = Machine::CUDA;
        let (prefill_tokens, logits_bytes) = (prefill as usize, sampled_logits as usize);
        // Passes that are recorded have one row a completion.
        Ok(Limits { cache_bytes, prefill_tokens, logits_bytes, few_rows: 0 })
    }

    fn available(&self) -> std::result::Result<u64, EngineError> {
        Ok(self.left()?)
    }

    fn peak(&self) -> Option<u64> {
        // What was taken is kept.
        self.driver.memory().ok().map(|(free, total)| total.saturating_sub(free))
    }

    fn check(&self) -> std::result::Result<(), EngineError> {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// Blocks of a launch in up to three directions.
struct Grid([u32; 3]);

impl From<usize> for Grid {
    fn from(blocks: usize) -> Self {
        Self([blocks as u32, 1, 1])
    }
}

impl From<[usize; 2]> for Grid {
    fn from([x, y]: [usize; 2]) -> Self {
        Self([x as u32, y as u32, 1])
    }
}

impl From<[usize; 3]> for Grid {
    fn from(blocks: [usize; 3]) -> Self {
        Self(blocks.map(|b| b as u32))
    }
}

fn number(value: usize) -> Argument {
    Argument::U32(value as u32)
}

fn at(memory: &Memory) -> Argument {
    Argument::Pointer(memory.pointer())
}

/// The address of memory that may be absent.
fn maybe(memory: Option<&Memory>) -> Argument {
    Argument::Pointer(memory.map_or(0, Memory::pointer))
}
