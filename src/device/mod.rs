//! What devices this machine has, and how each one is: the CPU, GPUs of NVIDIA through the driver's own library, and
//! simulated devices for tests.
//!
//! A [`Machine`] is opened once with the setting `devices` and is then asked about one device after the other. Nothing
//! here computes: a GPU is looked at without a context on it.

mod nvml;
mod simulated;
mod system;

use std::path::{Path, PathBuf};

use nvml::Gpus;

use crate::job::device::{LOCAL_HOST, name_on, split_name};
pub use crate::job::{DeviceProcess, DeviceReading};
pub use simulated::{FAULT_FILE, HANG_FILE, folder_of};
pub use system::{memory as memory_of_machine, memory_left};

/// Why a device cannot be used. Messages say what is missing and how to get it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error(
        "this program was built without CUDA; build it with `cargo build --release --features cuda` on a machine with \
         the CUDA toolkit, or use `--devices cpu`"
    )]
    NotBuilt,
    #[error(
        "the NVIDIA driver is not loaded: {detail}; install the driver (`nvidia-smi` must work), in a container start it \
         with the GPUs, or use `--devices cpu`"
    )]
    NoDriver { detail: String },
    #[error("there is no device `{name}`; this machine has: {known}")]
    NotThere { name: String, known: String },
    #[error("`{text}` is no list of devices: {detail}")]
    Setting { text: String, detail: String },
    #[error("{name} cannot be asked: {detail}")]
    Unreadable { name: String, detail: String },
}

/// A device as the setting names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Cpu,
    Cuda(u32),
    /// With the memory that it declares.
    Simulated(u32, u64),
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Simulated(number, _) => write!(f, "simulated:{number}"),
        }
    }
}

/// The devices of this machine that jobs may use.
#[derive(Debug)]
pub struct Machine {
    names: Vec<Name>,
    gpus: Option<Gpus>,
    /// The data directory, where faults of simulated devices are put.
    folder: PathBuf,
    host: String,
}

impl Machine {
    /// Finds the devices of a setting such as `all`, `cpu`, `0,2`, `cuda:0,cuda:1` or `simulated:24GiB,80GiB`.
    /// `folder` is the data directory.
    pub fn open(setting: &str, folder: &Path) -> Result<Self, DeviceError> {
        let (names, gpus) = if setting.trim() == "all" {
            all()
        } else {
            let names = parse(setting)?;
            let gpus = if names.iter().any(|name| matches!(name, Name::Cuda(_))) { Some(Gpus::open()?) } else { None };
            (names, gpus)
        };
        let known = gpus.as_ref().map_or(0, Gpus::count);
        for name in &names {
            if matches!(name, Name::Cuda(number) if *number >= known) {
                let all = std::iter::once(Name::Cpu).chain((0..known).map(Name::Cuda));
                let known = all.map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
                return Err(DeviceError::NotThere { name: name.to_string(), known });
            }
        }
        Ok(Self { names, gpus, folder: folder.to_owned(), host: LOCAL_HOST.to_owned() })
    }

    /// The same machine under a name, with which those of its devices begin.
    pub fn called(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// The names of the devices, in order.
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| name_on(&self.host, &name.to_string())).collect()
    }

    /// Looks at a device, on which the process `worker` computes. Blocks; a driver whose device is broken may take for ever.
    pub fn read(&self, name: &str, worker: Option<u32>) -> Result<DeviceReading, DeviceError> {
        let (_, device) = split_name(name);
        let found = self.names.iter().find(|known| known.to_string() == device);
        let reading = match (found, &self.gpus) {
            (Some(Name::Cpu), _) => system::read(worker),
            (Some(Name::Simulated(number, memory)), _) => simulated::read(&self.folder, *number, *memory),
            (Some(Name::Cuda(number)), Some(gpus)) => gpus.read(*number)?,
            (Some(Name::Cuda(_)) | None, _) => {
                return Err(DeviceError::NotThere { name: name.to_owned(), known: self.names().join(", ") });
            }
        };
        Ok(DeviceReading { name: name_on(&self.host, &reading.name), ..reading })
    }

    /// Looks at all devices.
    pub fn read_all(&self) -> Result<Vec<DeviceReading>, DeviceError> {
        self.names.iter().map(|name| self.read(&name.to_string(), None)).collect()
    }

    /// Forgets what a device reported, once a check has found it well.
    pub fn forget_fault(&self, name: &str) {
        if let (Some(Name::Cuda(number)), Some(gpus)) =
            (self.names.iter().find(|known| known.to_string() == name), &self.gpus)
        {
            gpus.forget_fault(*number);
        }
    }
}

/// The one variable of the environment that a CUDA program takes its devices from.
pub const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// How the process that computes on a device finds it: the device's name there, and what its environment must say. A
/// GPU is the only one that such a process sees.
pub fn seen_by_its_process(name: &str, number: u32, uuid: Option<&str>) -> (String, Option<(&'static str, String)>) {
    let (_, device) = split_name(name);
    if !device.starts_with("cuda:") {
        return (device.to_owned(), None);
    }
    let visible = uuid.map_or_else(|| number.to_string(), str::to_owned);
    (String::from("cuda:0"), Some((VISIBLE_DEVICES, visible)))
}

/// The GPUs if there are any, otherwise the CPU.
fn all() -> (Vec<Name>, Option<Gpus>) {
    match Gpus::open() {
        Ok(gpus) if gpus.count() > 0 => ((0..gpus.count()).map(Name::Cuda).collect(), Some(gpus)),
        Ok(_) | Err(DeviceError::NotBuilt) => (vec![Name::Cpu], None),
        Err(error) => {
            tracing::warn!(%error, "no GPU is used");
            (vec![Name::Cpu], None)
        }
    }
}

fn parse(setting: &str) -> Result<Vec<Name>, DeviceError> {
    if let Some(declared) = setting.trim().strip_prefix("simulated:") {
        let memories = simulated::parse(declared)
            .map_err(|detail| DeviceError::Setting { text: setting.to_owned(), detail: detail.to_owned() })?;
        return Ok((0..).zip(memories).map(|(number, memory)| Name::Simulated(number, memory)).collect());
    }
    if setting.trim() == "none" {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for part in setting.split(',').map(str::trim) {
        let number = part.strip_prefix("cuda:").unwrap_or(part).parse();
        names.push(match (part, number) {
            ("cpu", _) => Name::Cpu,
            (_, Ok(number)) => Name::Cuda(number),
            (_, Err(_)) => {
                let detail = format!(
                    "`{part}` is none; use `all`, `none`, `cpu`, numbers of GPUs such as `0,2`, or names such as `cuda:0,cuda:1`"
                );
                return Err(DeviceError::Setting { text: setting.to_owned(), detail });
            }
        });
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(setting: &str) -> Result<String, DeviceError> {
        parse(setting).map(|names| names.iter().map(Name::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_list_is_read_as_it_is_meant() {
        for (setting, expected) in [
            ("cpu", "cpu"),
            ("0,2", "cuda:0 cuda:2"),
            ("cuda:1, cuda:0,1", "cuda:0 cuda:1"),
            ("10,2,cpu", "cpu cuda:2 cuda:10"),
            ("simulated:2", "simulated:0 simulated:1"),
            ("simulated:24GiB,80GiB", "simulated:0 simulated:1"),
        ] {
            assert_eq!(names(setting).as_deref(), Ok(expected), "{setting}");
        }
        for broken in ["", "gpu", "cuda:", "cuda:-1", "0,,1", "simulated:", "simulated:0", "simulated:much"] {
            assert!(matches!(names(broken), Err(DeviceError::Setting { .. })), "{broken}");
        }
    }

    #[test]
    fn devices_that_are_not_there_are_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = Machine::open("1000", folder.path()).unwrap_err().to_string();
        assert!(["--devices cpu", "this machine has: cpu"].iter().any(|way| error.contains(way)), "{error}");
        let machine = Machine::open("cpu", folder.path()).unwrap();
        assert!(machine.read("cuda:0", None).is_err());
    }

    #[test]
    fn the_cpu_has_memory_and_no_other_name_elsewhere() {
        let machine = Machine::open("cpu", Path::new(".")).unwrap();
        let cpu = machine.read("cpu", None).unwrap();
        assert!(cpu.memory_total > cpu.memory_free && cpu.memory_free > 0);
        assert_eq!(seen_by_its_process("cpu", 0, None), (String::from("cpu"), None));
        for (uuid, visible) in [(Some("GPU-1"), "GPU-1"), (None, "3")] {
            let expected = (String::from("cuda:0"), Some((VISIBLE_DEVICES, String::from(visible))));
            assert_eq!(seen_by_its_process("cuda:3", 3, uuid), expected);
        }
    }
}
