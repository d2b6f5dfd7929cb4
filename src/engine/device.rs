//! Opens compute devices and checks them; what devices there are is said by [`crate::device`].

pub use candle_core::Device;
use candle_core::{DType, Tensor};

use super::error::EngineError;

/// Opens a device by its name. What is simulated computes on the CPU.
pub fn open(name: &str) -> Result<Device, EngineError> {
    match name.split_once(':') {
        None if name == "cpu" => Ok(Device::Cpu),
        Some(("cuda", ordinal)) => match ordinal.parse() {
            Ok(ordinal) => Ok(Device::new_cuda(ordinal)?),
            Err(_) => Err(unknown(name)),
        },
        Some(("simulated", _)) => Ok(Device::Cpu),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> EngineError {
    EngineError::InvalidData { code: "unknown_device", detail: format!("`{name}` is no device; use cpu or cuda:N") }
}

/// Computes a small thing on a device and compares it with what it must be; for a device that has failed.
pub fn check(device: &Device) -> Result<(), EngineError> {
    const SIZE: usize = 64;
    let ones = Tensor::ones((SIZE, SIZE), DType::F32, device)?;
    let sum = ones.matmul(&ones)?.sum_all()?.to_scalar::<f32>()?;
    let expected = (SIZE * SIZE * SIZE) as f32;
    if sum == expected {
        Ok(())
    } else {
        Err(EngineError::Internal(format!("the device computed {sum} instead of {expected}")))
    }
}
