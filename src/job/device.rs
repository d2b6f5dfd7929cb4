//! What is known of a device: how it was found when it was last looked at, and what it is in use for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::status::names;

names!(
    /// Whether a device takes jobs. `reserved` is said of a device and never stored; it follows from the queue.
    DeviceStatus {
        /// Healthy and free.
        Idle = "idle",
        /// A job holds it.
        Busy = "busy",
        /// Free, and kept so for a waiting job that needs more devices than are free.
        Reserved = "reserved",
        /// It failed, and takes no jobs until a check finds it well.
        Faulted = "faulted",
        /// It is being checked, or its worker is about to start.
        Checking = "checking",
        /// A program that is not ours computes on it.
        Foreign = "foreign",
    }
);

/// A program that computes on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceProcess {
    pub pid: u32,
    /// Bytes of the device's memory that it holds; none where the driver does not say.
    pub memory_used: Option<u64>,
    /// It is this server or was started by it.
    pub ours: bool,
}

/// The host whose devices have names without a host: the machine of the data directory that holds the database.
pub const LOCAL_HOST: &str = "local";

/// A device's name among those of all hosts: `cuda:0` of `gpu-1` is `gpu-1/cuda:0`.
pub fn name_on(host: &str, device: &str) -> String {
    if host == LOCAL_HOST { device.to_owned() } else { format!("{host}/{device}") }
}

/// The host of a device, and its name there.
pub fn split_name(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((LOCAL_HOST, name))
}

/// Whether a machine can have this name: as in DNS, without dots at the ends.
pub fn is_host_name(name: &str) -> bool {
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
    (1..=63).contains(&name.len()) && name.chars().all(sound) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// What one look at a device found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceReading {
    /// `cpu`, `cuda:N` or `simulated:N`, behind the host as [`name_on`] has it.
    pub name: String,
    /// The N of the name; 0 for the CPU.
    pub number: u32,
    /// The model, for people.
    pub description: String,
    /// What the driver knows a GPU by.
    pub uuid: Option<String>,
    pub memory_total: u64,
    /// Bytes that a new job could take; what our own idle worker holds counts as free.
    pub memory_free: u64,
    /// Of a GPU: `9.0`.
    pub compute_capability: Option<String>,
    pub driver_version: Option<String>,
    pub processes: Vec<DeviceProcess>,
    /// Why it cannot be used, as the device itself reports it.
    pub fault: Option<String>,
}

impl DeviceReading {
    /// Whether a program that is not ours computes on it.
    pub fn is_taken(&self) -> bool {
        self.processes.iter().any(|process| !process.ours)
    }

    /// A device with so many bytes of memory, all of them free.
    #[cfg(test)]
    pub fn of_test(name: &str, number: u32, memory: u64) -> Self {
        Self {
            name: name.to_owned(),
            number,
            description: String::from("a device"),
            uuid: None,
            memory_total: memory,
            memory_free: memory,
            compute_capability: None,
            driver_version: None,
            processes: Vec::new(),
            fault: None,
        }
    }
}

/// A number of bytes as people write it.
pub fn gibibytes(bytes: u64) -> String {
    if bytes >= 1 << 30 {
        format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
    } else {
        format!("{} MiB", bytes.div_ceil(1 << 20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!([gibibytes(24 << 30), gibibytes(1), gibibytes(300 << 20)], ["24.0 GiB", "1 MiB", "300 MiB"]);
    }
}
