//! Compute devices; the only place that knows whether CUDA was built in.

pub use candle_core::Device;

use super::error::EngineError;

/// One device that can run a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `cpu`, `cuda:0`, `cuda:1`, ...
    pub name: String,
    pub description: String,
}

/// The devices of this machine: the GPUs when built with CUDA and there are any, otherwise the CPU.
pub fn enumerate() -> Vec<DeviceInfo> {
    let gpus = cuda_devices();
    if gpus.is_empty() {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        return vec![DeviceInfo { name: String::from("cpu"), description: format!("CPU, {cores} cores") }];
    }
    gpus
}

/// Opens a device by its name.
pub fn open(name: &str) -> Result<Device, EngineError> {
    match name.split_once(':') {
        None if name == "cpu" => Ok(Device::Cpu),
        Some(("cuda", ordinal)) => match ordinal.parse() {
            Ok(ordinal) => Ok(Device::new_cuda(ordinal)?),
            Err(_) => Err(unknown(name)),
        },
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> EngineError {
    EngineError::InvalidData { code: "unknown_device", detail: format!("`{name}` is no device; use cpu or cuda:N") }
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> Vec<DeviceInfo> {
    // Opening an ordinal is the one question that candle answers without the driver's own tools.
    const MOST: usize = 64;
    (0..MOST)
        .take_while(|ordinal| Device::new_cuda(*ordinal).is_ok())
        .map(|ordinal| DeviceInfo { name: format!("cuda:{ordinal}"), description: format!("CUDA device {ordinal}") })
        .collect()
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Vec<DeviceInfo> {
    Vec::new()
}
