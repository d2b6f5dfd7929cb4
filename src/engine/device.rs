//! Opens compute devices and checks them; what devices there are is said by [`crate::device`]. The only place of the
//! engine that knows which kinds were built in.

use std::sync::Arc;

use super::cuda::Cuda;
use super::driver::{DeviceError, Driver};
use super::error::EngineError;
use crate::job::spec::Precision;

/// An opened device.
#[derive(Clone, Debug)]
pub enum Device {
    Cpu,
    Gpu(Arc<dyn Driver>),
}

/// Does `$work` with the backend of a device, which computes in `$precision` if it is a GPU; the CPU's precision is
/// that of each product. Only here it is decided what the rest of the engine is compiled for.
macro_rules! on_device {
    ($device:expr, $precision:expr, |$backend:ident| $work:expr) => {
        match $device {
            $crate::engine::device::Device::Cpu => {
                let $backend = std::sync::Arc::new($crate::engine::cpu::Cpu);
                $work
            }
            $crate::engine::device::Device::Gpu(driver) => {
                let $backend = $crate::engine::cuda::Cuda::new(std::sync::Arc::clone(driver), $precision);
                $work
            }
        }
    };
}

pub(crate) use on_device;

/// Opens a device by its name: `cpu`, `cuda:N`, or `emulated` where that was built in. What is simulated computes on
/// the emulated device if there is one, and else on the CPU.
pub fn open(name: &str) -> Result<Device, EngineError> {
    let unknown = || EngineError::InvalidData {
        code: "unknown_device",
        detail: format!("`{name}` is no device; use cpu or cuda:N"),
    };
    match name.split_once(':') {
        None if name == "cpu" => Ok(Device::Cpu),
        None if name == "emulated" => Ok(Device::Gpu(emulated()?)),
        Some(("cuda", ordinal)) => Ok(Device::Gpu(gpu(ordinal.parse().map_err(|_| unknown())?)?)),
        Some(("simulated", _)) => Ok(emulated().map_or(Device::Cpu, Device::Gpu)),
        _ => Err(unknown()),
    }
}

/// Computes a small thing on a device and compares it with what it must be; for a device that has failed.
pub fn check(device: &Device) -> Result<(), EngineError> {
    match device {
        Device::Cpu => Ok(()),
        Device::Gpu(driver) => Ok(Cuda::new(Arc::clone(driver), Precision::Bf16).check_health()?),
    }
}

#[cfg(feature = "cuda")]
fn gpu(ordinal: usize) -> Result<Arc<dyn Driver>, DeviceError> {
    Ok(Arc::new(super::cuda::hardware::Gpu::open(ordinal)?))
}

#[cfg(not(feature = "cuda"))]
fn gpu(_ordinal: usize) -> Result<Arc<dyn Driver>, DeviceError> {
    Err(DeviceError::Unusable(String::from(
        "this program was built without CUDA; build it with scripts/cuda_build.sh, or use `--devices cpu`",
    )))
}

#[cfg(feature = "cuda-emulated")]
fn emulated() -> Result<Arc<dyn Driver>, DeviceError> {
    Ok(Arc::new(super::cuda::emulated::Emulated::default()))
}

#[cfg(not(feature = "cuda-emulated"))]
fn emulated() -> Result<Arc<dyn Driver>, DeviceError> {
    Err(DeviceError::Unusable(String::from(
        "this program was built without the emulated device; build it with `--features cuda-emulated`",
    )))
}
