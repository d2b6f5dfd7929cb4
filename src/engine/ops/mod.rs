//! Fused operations with hand-written backward passes. Each works on plain rows of f32, in parallel over rows or
//! heads, with a fixed order of summation, so that a row's result never depends on its neighbours.

pub mod attention;
pub mod logprob;

use candle_core::{CpuStorage, Layout, Result, Storage, Tensor};

/// The contiguous f32 values behind a storage and layout.
pub(crate) fn f32_slice<'a>(storage: &'a CpuStorage, layout: &Layout, op: &'static str) -> Result<&'a [f32]> {
    let values = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&values[start..end]),
        None => candle_core::bail!("{op} needs contiguous input"),
    }
}

/// Hands the values of a contiguous f32 tensor on the CPU to `f`, without a copy.
pub(crate) fn read_f32<T>(tensor: &Tensor, f: impl FnOnce(&[f32]) -> Result<T>) -> Result<T> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => f(f32_slice(storage, layout, "read")?),
        _ => candle_core::bail!("this operation runs on the CPU only"),
    }
}

/// Dot product with sixteen running sums, so that it vectorises, added up in a fixed order.
#[inline]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0_f32; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f32 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + tail
}

/// `out += scale * x`, element by element.
#[inline]
pub(crate) fn add_scaled(out: &mut [f32], scale: f32, x: &[f32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o += scale * v;
    }
}
