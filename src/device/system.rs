//! The CPU as a device, and what the kernel says about memory and processes.

use super::DeviceReading;

/// Steps from a process to its parents that are gone; none has so many.
const MOST_ANCESTORS: usize = 64;

/// Bytes of memory of this machine, or of the container around this process.
pub fn memory() -> u64 {
    read(None).memory_total
}

/// Bytes that may still be taken: what the kernel calls available, or what a container's limit leaves. None where it does not say.
pub fn memory_left() -> Option<u64> {
    let reading = read(None);
    (reading.memory_total > 0).then_some(reading.memory_free)
}

/// The CPU with the machine's memory, or with that of the container around this process. What the process `worker` holds, which lets
/// go of it for a job, is free, as it is on a GPU.
pub fn read(worker: Option<u32>) -> DeviceReading {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let limit = container("memory.max").and_then(|text| text.trim().parse().ok());
    let total = field(&information, "MemTotal:");
    let total = limit.map_or(total, |limit: u64| limit.min(total));
    let available = field(&information, "MemAvailable:");
    let available = limit.map_or(available, |limit| limit.saturating_sub(container_used()).min(available));
    let own = worker.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/status")).ok());
    let own = own.map_or(0, |status| field(&status, "RssAnon:"));
    DeviceReading {
        name: String::from("cpu"),
        number: 0,
        description: format!("CPU, {cores} cores"),
        uuid: None,
        memory_total: total,
        memory_free: available.saturating_add(own).min(total),
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

fn container(file: &str) -> Option<String> {
    std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()
}

/// Bytes of the container that cannot be had by forgetting what was read from files.
fn container_used() -> u64 {
    let used = container("memory.current").and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    unforgettable(used, &container("memory.stat").unwrap_or_default())
}

/// What is used beside pages of files, by the kernel's `memory.stat` (cgroup-v2, "Memory Interface Files").
fn unforgettable(used: u64, statistics: &str) -> u64 {
    let of_files =
        statistics.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| name.ends_with("active_file"));
    of_files.filter_map(|(_, bytes)| bytes.parse().ok()).fold(used, u64::saturating_sub)
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
    fn what_was_read_from_files_is_not_used_up() {
        let statistics =
            "anon 300\nfile 900\ninactive_anon 100\nactive_anon 200\ninactive_file 500\nactive_file 250\nshmem 150\n";
        assert_eq!(unforgettable(1200, statistics), 450);
        assert_eq!((unforgettable(1200, ""), unforgettable(600, statistics)), (1200, 0));
    }

    #[test]
    fn what_a_worker_holds_is_free_for_its_jobs() {
        let held = vec![1_u8; 256 << 20];
        let [alone, own] = [None, Some(std::process::id())].map(|worker| read(worker).memory_free);
        // Others take and give back meanwhile.
        assert!(own > alone + (128 << 20), "{own} {alone}");
        assert!(held.iter().all(|byte| *byte == 1) && own <= memory());
    }

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
