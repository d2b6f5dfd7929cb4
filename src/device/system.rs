//! The CPU as a device, and what the kernel says about memory and processes.

use super::DeviceReading;

/// Steps from a process to its parents that are gone; none has so many.
const MOST_ANCESTORS: usize = 64;

/// Bytes of memory of this machine, or of the container around this process.
pub fn memory() -> u64 {
    read().memory_total
}

/// The CPU with the machine's memory, or with that of the container around this process.
pub fn read() -> DeviceReading {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let limit = container("memory.max");
    let used = container("memory.current").unwrap_or(0);
    let total = field(&information, "MemTotal:");
    let free = field(&information, "MemAvailable:");
    DeviceReading {
        name: String::from("cpu"),
        number: 0,
        description: format!("CPU, {cores} cores"),
        uuid: None,
        memory_total: limit.map_or(total, |limit| limit.min(total)),
        memory_free: limit.map_or(free, |limit| limit.saturating_sub(used).min(free)),
        compute_capability: None,
        driver_version: None,
        processes: Vec::new(),
        fault: None,
    }
}

/// Bytes of a line such as `MemTotal:       24612832 kB`.
fn field(information: &str, name: &str) -> u64 {
    let line = information.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0).saturating_mul(1024)
}

fn container(file: &str) -> Option<u64> {
    std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse().ok()
}

/// Whether this process or one of its parents is the process `pid`; none where there is no such process here, as in a
/// container that sees numbers of the machine around it.
pub fn is_ours(pid: u32) -> Option<bool> {
    let own = std::process::id();
    let mut at = pid;
    for step in 0..MOST_ANCESTORS {
        if at == own {
            return Some(true);
        }
        match parent(at) {
            Some(parent) if parent > 0 => at = parent,
            None if step == 0 => return None,
            Some(_) | None => return Some(false),
        }
    }
    Some(false)
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_ours_and_the_first_process_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(is_ours(child.id()), Some(true));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(is_ours(std::process::id()), Some(true));
        assert_ne!(is_ours(1), Some(true));
        assert_eq!(is_ours(u32::MAX), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(field("MemTotal:       2 kB\nMemAvailable: 1 kB\n", "MemAvailable:"), 1024);
        assert_eq!(field("", "MemTotal:"), 0);
    }
}
