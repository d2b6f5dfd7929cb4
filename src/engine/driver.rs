//! What the engine asks of a GPU: memory, launches, products, recorded passes. The same program runs on two kinds:
//! hardware, and an emulation of it on the CPU that runs the same kernels, so that everything above this trait is
//! tested on machines without a GPU.
//!
//! All work is done in the order in which it is asked for, on one stream; only [`Driver::download`] and
//! [`Driver::synchronize`] wait.

use std::fmt::Debug;

/// An address in the device's memory.
pub type Pointer = u64;

/// What a device cannot do.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DeviceError {
    /// There is no such device, or this program cannot use it.
    #[error("{0}")]
    Unusable(String),
    #[error("the device has no room for another {bytes} bytes ({free} of {total} are free)")]
    OutOfMemory { bytes: usize, free: u64, total: u64 },
    /// The device or its driver failed; nothing in its memory can be trusted any more.
    #[error("the device failed ({what}: {detail})")]
    Failed { what: &'static str, detail: String },
}

pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

/// How numbers are stored on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    F32,
    Bf16,
    U32,
    F64,
}

impl Kind {
    pub fn bytes(self) -> usize {
        match self {
            Self::Bf16 => 2,
            Self::F32 | Self::U32 => 4,
            Self::F64 => 8,
        }
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    Pointer(Pointer),
    U32(u32),
    U64(u64),
    F32(f32),
}

/// One call of a kernel: its name, blocks, threads of a block, bytes of shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub threads: u32,
    pub shared: u32,
    pub arguments: &'a [Argument],
}

/// `C = op(A) op(B) + beta C`, in the columns-first convention of BLAS: `op(A)` is `m x k`, `op(B)` is `k x n`. Both
/// factors are of the same kind; sums are f32.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Pointer, distance between columns, whether it is transposed.
    pub a: (Pointer, usize, bool),
    pub b: (Pointer, usize, bool),
    pub c: (Pointer, usize),
    pub factors: Kind,
    pub result: Kind,
    /// Whether the product is added to what stands in `C`.
    pub add: bool,
}

/// A device and its one stream.
pub trait Driver: Send + Sync + Debug {
    /// Its model, for people.
    fn name(&self) -> String;

    /// Free and total memory, in bytes.
    fn memory(&self) -> Result<(u64, u64)>;

    fn allocate(&self, bytes: usize) -> Result<Pointer>;

    /// Gives memory back; work that was asked for earlier may still use it.
    fn release(&self, at: Pointer);

    fn upload(&self, to: Pointer, bytes: &[u8]) -> Result<()>;

    /// Waits for all earlier work, then copies.
    fn download(&self, from: Pointer, bytes: &mut [u8]) -> Result<()>;

    fn copy(&self, to: Pointer, from: Pointer, bytes: usize) -> Result<()>;

    /// Sets bytes to zero.
    fn clear(&self, at: Pointer, bytes: usize) -> Result<()>;

    fn launch(&self, launch: &Launch<'_>) -> Result<()>;

    fn product(&self, product: &Product) -> Result<()>;

    /// Records what `work` asks for instead of doing it. Nothing in it may allocate or wait.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Box<dyn Recording>>;

    fn synchronize(&self) -> Result<()>;

    /// Lets the device add up numbers with those of other processes. `exchange` gives every process what the first one
    /// passes to it. Answers whether it can; otherwise sums go through the CPU's memory.
    fn join(&self, _rank: usize, _size: usize, _exchange: &mut dyn FnMut(Vec<u8>) -> Result<Vec<u8>>) -> Result<bool> {
        Ok(false)
    }

    /// Gives bytes of one of the processes that joined to all of them.
    fn broadcast(&self, _at: Pointer, _bytes: usize, _rank: usize) -> Result<()> {
        Err(DeviceError::Unusable(String::from("the device has not joined others")))
    }

    /// Replaces f32 numbers by their sums over the processes that joined, for each process those at its place; what stands
    /// at the others' means nothing then.
    fn sum_parts_over_ranks(&self, _parts: &[(Pointer, usize)]) -> Result<()> {
        Err(DeviceError::Unusable(String::from("the device has not joined others")))
    }

    /// Replaces f32 numbers by their sums over the processes that joined.
    fn sum_over_ranks(&self, _at: Pointer, _len: usize) -> Result<()> {
        Err(DeviceError::Unusable(String::from("the device has not joined others")))
    }
}

/// Recorded work that is started with one call.
pub trait Recording: Send + Sync + Debug {
    fn replay(&self) -> Result<()>;
}
