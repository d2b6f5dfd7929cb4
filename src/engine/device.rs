//! Compute devices; the only place that knows whether CUDA was built in.

use std::sync::Arc;

use super::compute::Compute;
use super::cuda::Cuda;
use super::cuda::driver::{DeviceError, Driver};
use super::error::EngineError;
use crate::job::spec::Precision;

/// One device that can run a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `cpu`, `cuda:0`, `cuda:1`, ...
    pub name: String,
    pub description: String,
}

/// An opened device.
#[derive(Clone, Debug)]
pub enum Device {
    Cpu,
    Gpu(Arc<dyn Driver>),
}

impl Device {
    /// The device as the engine computes on it. The CPU's precision is that of each product.
    pub fn compute(&self, precision: Precision) -> Compute {
        match self {
            Self::Cpu => Compute::Cpu,
            Self::Gpu(driver) => Compute::Cuda(Cuda::new(Arc::clone(driver), precision)),
        }
    }
}

/// The devices of this machine: the GPUs when built with CUDA and there are any, otherwise the CPU.
pub fn enumerate() -> Vec<DeviceInfo> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    vec![DeviceInfo { name: String::from("cpu"), description: format!("CPU, {cores} cores") }]
}

/// Opens a device by its name: `cpu`, `cuda:N`, or `emulated` where that was built in.
pub fn open(name: &str) -> Result<Device, EngineError> {
    let unknown = || EngineError::InvalidData {
        code: "unknown_device",
        detail: format!("`{name}` is no device; use cpu or cuda:N"),
    };
    match name.split_once(':') {
        None if name == "cpu" => Ok(Device::Cpu),
        None if name == "emulated" => Ok(Device::Gpu(emulated()?)),
        Some(("cuda", ordinal)) => Ok(Device::Gpu(gpu(ordinal.parse().map_err(|_| unknown())?)?)),
        _ => Err(unknown()),
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
