//! Sums over the GPUs of one job, through NCCL, which is loaded when the first job wants it.

use cudarc::driver::sys::CUstream;
use cudarc::nccl::{result as nccl, sys};

use crate::engine::driver::{DeviceError, Pointer, Result};

/// This process among those that add up together.
#[derive(Debug)]
pub struct Ranks(sys::ncclComm_t);

// Safety: NCCL's handle is used by one thread at a time, because the engine is one thread.
unsafe impl Send for Ranks {}
unsafe impl Sync for Ranks {}

fn failed(error: nccl::NcclError) -> DeviceError {
    DeviceError::Failed { what: "NCCL", detail: format!("{:?}", error.0) }
}

impl Ranks {
    /// Meets the other processes; the current device is the one that takes part.
    pub fn join(rank: usize, size: usize, exchange: &mut dyn FnMut(Vec<u8>) -> Result<Vec<u8>>) -> Result<Self> {
        // Safety: only looks for the library and loads it.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::Unusable(String::from(
                "NCCL was not found (libnccl.so, which may be a link to libnccl.so.2), which a job on several GPUs needs; \
                 install it and name its folder in LD_LIBRARY_PATH, or set `resources.devices` to 1",
            )));
        }
        let own =
            if rank == 0 { nccl::get_uniqueid().map_err(failed)? } else { sys::ncclUniqueId { internal: [0; 128] } };
        let bytes = exchange(own.internal.iter().map(|byte| *byte as u8).collect())?;
        let mut id = sys::ncclUniqueId { internal: [0; 128] };
        for (to, from) in id.internal.iter_mut().zip(bytes) {
            *to = from as std::ffi::c_char;
        }
        let mut comm = std::ptr::null_mut();
        // Safety: the handle is written before it is used.
        unsafe { nccl::comm_init_rank(&raw mut comm, size as i32, id, rank as i32) }.map_err(failed)?;
        Ok(Self(comm))
    }

    /// Replaces f32 numbers by their sums over all processes, in the order of the stream.
    pub fn sum(&self, at: Pointer, len: usize, stream: CUstream) -> Result<()> {
        let (numbers, add) = (sys::ncclDataType_t::ncclFloat32, sys::ncclRedOp_t::ncclSum);
        // Safety: the range was allocated on this device.
        unsafe { nccl::all_reduce(at as *const _, at as *mut _, len, numbers, add, self.0, stream.cast()) }
            .map_err(failed)?;
        Ok(())
    }

    /// The same for each process with the numbers at its place, in the order of the stream.
    pub fn sum_parts(&self, parts: &[(Pointer, usize)], stream: CUstream) -> Result<()> {
        let (numbers, add) = (sys::ncclDataType_t::ncclFloat32, sys::ncclRedOp_t::ncclSum);
        nccl::group_start().map_err(failed)?;
        for (rank, (at, len)) in (0..).zip(parts).filter(|(_, (_, len))| *len > 0) {
            // Safety: the range was allocated on this device.
            unsafe { nccl::reduce(*at as *const _, *at as *mut _, *len, numbers, add, rank, self.0, stream.cast()) }
                .map_err(failed)?;
        }
        nccl::group_end().map_err(failed)?;
        Ok(())
    }

    /// Gives bytes of one process to all of them, in the order of the stream.
    pub fn broadcast(&self, at: Pointer, bytes: usize, rank: usize, stream: CUstream) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let kind = sys::ncclDataType_t::ncclUint8;
        // Safety: the range was allocated on this device.
        unsafe { nccl::broadcast(at as *const _, at as *mut _, bytes, kind, rank as i32, self.0, stream.cast()) }
            .map_err(failed)?;
        Ok(())
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // Safety: nothing uses the handle any more; a process that is gone must not be waited for.
        let _ = unsafe { nccl::comm_abort(self.0) };
    }
}
