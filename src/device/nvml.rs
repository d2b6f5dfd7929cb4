//! GPUs through the driver's management library, which is loaded when the program runs: a build with CUDA starts on a
//! machine without a driver, and says what is missing when a GPU is asked for. The only file of this module that knows
//! whether CUDA was built in.

#[cfg(not(feature = "cuda"))]
pub use absent::Gpus;
#[cfg(feature = "cuda")]
pub use present::Gpus;

#[cfg(not(feature = "cuda"))]
mod absent {
    use crate::device::{DeviceError, DeviceReading};

    /// The GPUs of a program without CUDA, of which there is none.
    #[derive(Debug)]
    pub enum Gpus {}

    impl Gpus {
        pub fn open() -> Result<Self, DeviceError> {
            Err(DeviceError::NotBuilt)
        }

        pub fn count(&self) -> u32 {
            match *self {}
        }

        pub fn read(&self, _number: u32) -> Result<DeviceReading, DeviceError> {
            match *self {}
        }

        pub fn forget_fault(&self, _number: u32) {
            match *self {}
        }
    }
}

#[cfg(feature = "cuda")]
mod present {
    use std::collections::BTreeMap;
    use std::ffi::OsStr;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use nvml_wrapper::Nvml;
    use nvml_wrapper::bitmasks::event::EventTypes;
    use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError};
    use nvml_wrapper::enums::device::UsedGpuMemory;
    use nvml_wrapper::enums::event::XidError;
    use nvml_wrapper::error::NvmlError;

    use crate::device::system::is_ours;
    use crate::device::{DeviceError, DeviceProcess, DeviceReading};

    /// The name under which the library lies on every machine with a driver; the one without a version comes with
    /// development packages only.
    const LIBRARY: &str = "libnvidia-ml.so.1";
    /// How long one wait for events lasts.
    const WAIT_MILLISECONDS: u32 = 1000;
    /// Xid errors that a program causes by its own mistakes or by being killed, and that leave the device well.
    const OF_PROGRAMS: [u64; 6] = [13, 31, 43, 45, 68, 69];

    /// What is known of a GPU beyond one look.
    #[derive(Debug, Default)]
    struct Known {
        /// Uncorrected memory errors since the driver was loaded, when first looked at or last forgiven.
        errors: Option<u64>,
        /// The last Xid error that was not a program's.
        xid: Option<u64>,
    }

    #[derive(Debug, Default)]
    struct Memory(Mutex<BTreeMap<u32, Known>>);

    impl Memory {
        fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Known>> {
            // What is guarded are plain numbers, which are whole after a panic as well.
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// The GPUs that the driver shows.
    #[derive(Debug)]
    pub struct Gpus {
        nvml: Arc<Nvml>,
        count: u32,
        driver: Option<String>,
        known: Arc<Memory>,
    }

    impl Gpus {
        pub fn open() -> Result<Self, DeviceError> {
            let opened = Nvml::builder().lib_path(OsStr::new(LIBRARY)).init();
            let nvml = opened.map_err(|error| DeviceError::NoDriver { detail: absence(&error) })?;
            let nvml = Arc::new(nvml);
            let count = nvml.device_count().map_err(|error| DeviceError::NoDriver { detail: error.to_string() })?;
            let known = Arc::new(Memory::default());
            let (listener, noted) = (Arc::clone(&nvml), Arc::clone(&known));
            let listening = std::thread::Builder::new()
                .name(String::from("device-events"))
                .spawn(move || listen(&listener, count, &noted));
            if let Err(error) = listening {
                tracing::warn!(%error, "errors that GPUs report are not followed");
            }
            Ok(Self { driver: nvml.sys_driver_version().ok(), nvml, count, known })
        }

        pub fn count(&self) -> u32 {
            self.count
        }

        pub fn read(&self, number: u32) -> Result<DeviceReading, DeviceError> {
            let name = format!("cuda:{number}");
            let unreadable =
                |error: NvmlError| DeviceError::Unreadable { name: name.clone(), detail: error.to_string() };
            let device = self.nvml.device_by_index(number).map_err(unreadable)?;
            let memory = device.memory_info().map_err(unreadable)?;
            let running = device.running_compute_processes().unwrap_or_default();
            let processes: Vec<DeviceProcess> = running
                .into_iter()
                .filter_map(|process| {
                    let memory_used = match process.used_gpu_memory {
                        UsedGpuMemory::Used(bytes) => Some(bytes),
                        UsedGpuMemory::Unavailable => None,
                    };
                    // A number that means nothing here belongs to a process outside of this container, which may be
                    // our own worker; what it holds shows in the free memory.
                    is_ours(process.pid).map(|ours| DeviceProcess { pid: process.pid, memory_used, ours })
                })
                .collect();
            let own: u64 = processes.iter().filter(|p| p.ours).filter_map(|p| p.memory_used).sum();
            // Not every GPU counts errors of its memory.
            let errors = device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).ok();
            Ok(DeviceReading {
                number,
                description: device.name().unwrap_or_else(|_| String::from("NVIDIA GPU")),
                uuid: device.uuid().ok(),
                memory_total: memory.total,
                memory_free: memory.free.saturating_add(own).min(memory.total),
                compute_capability: device.cuda_compute_capability().ok().map(|c| format!("{}.{}", c.major, c.minor)),
                driver_version: self.driver.clone(),
                processes,
                fault: self.fault(number, errors),
                name,
            })
        }

        pub fn forget_fault(&self, number: u32) {
            self.known.lock().insert(number, Known::default());
        }

        fn fault(&self, number: u32, errors: Option<u64>) -> Option<String> {
            let mut known = self.known.lock();
            let known = known.entry(number).or_default();
            if let Some(xid) = known.xid {
                return Some(format!("the driver reported Xid error {xid}"));
            }
            let first = *known.errors.get_or_insert(errors?);
            let new = errors?.saturating_sub(first);
            (new > 0).then(|| format!("{new} errors of its memory could not be corrected"))
        }
    }

    /// What is missing, for people.
    fn absence(error: &NvmlError) -> String {
        match error {
            NvmlError::LibloadingError(_) => format!("{LIBRARY} was not found"),
            other => other.to_string(),
        }
    }

    /// Notes the errors that GPUs report, for as long as the process lives and the driver answers.
    fn listen(nvml: &Nvml, count: u32, known: &Memory) {
        // A set for each GPU, so that one without such events keeps no other from being heard.
        let register = |number| {
            let set = nvml.create_event_set()?;
            nvml.device_by_index(number)?.register_events(EventTypes::CRITICAL_XID_ERROR, set)
        };
        let mut sets = Vec::new();
        for number in 0..count {
            match register(number) {
                Ok(set) => sets.push((number, set)),
                Err(error) => {
                    tracing::warn!(%error, device = format!("cuda:{number}"), "errors of a GPU are not followed")
                }
            }
        }
        let wait = WAIT_MILLISECONDS / sets.len().max(1) as u32;
        while !sets.is_empty() {
            sets.retain(|(number, set)| match set.wait(wait) {
                Ok(event) => {
                    if let Some(XidError::Value(xid)) = event.event_data {
                        tracing::warn!(device = format!("cuda:{number}"), xid, "a GPU reported an error");
                        if !OF_PROGRAMS.contains(&xid) {
                            known.lock().entry(*number).or_default().xid = Some(xid);
                        }
                    }
                    true
                }
                Err(NvmlError::Timeout) => true,
                Err(error) => {
                    tracing::warn!(%error, device = format!("cuda:{number}"), "errors of a GPU are no longer followed");
                    false
                }
            });
        }
    }
}
