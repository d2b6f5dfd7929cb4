//! Simulated devices, a facility for tests: `--devices simulated:4`, or `simulated:24GiB,80GiB` with the memory that
//! each declares. They run jobs on the CPU, each with a worker of its own, and so show queueing, reservation and what
//! happens when devices fail on a machine without any GPU.
//!
//! What is wrong with `simulated:N` is said by files in the folder `simulated/N` of the data directory, which the
//! device reads whenever it is asked, and which a test makes and removes:
//!
//! | file | while it is there |
//! |---|---|
//! | `fault` | the device reports its text as a fault; checks fail |
//! | `hang` | the computing thread of its worker stands still at its next report; checks do not end |
//! | `memory_used` | so much of the memory is used by others: `20GiB`, `512MiB` or a number of bytes |
//! | `foreign_process` | the process with this number computes on the device |

use std::path::{Path, PathBuf};

use super::split_name;
use super::system::is_ours;
use super::{DeviceProcess, DeviceReading};
use crate::job::launch::Size;

/// Holds the text of a fault.
pub const FAULT_FILE: &str = "fault";
/// Stops the engine while it is there.
pub const HANG_FILE: &str = "hang";
/// What a device declares when only the number of devices is given.
const MEMORY: u64 = 24 << 30;
/// The most devices.
const MOST: usize = 64;
/// Longest text of a fault.
const MOST_TEXT: usize = 500;

/// The folder with the files of `simulated:N`; none for the name of another device.
pub fn folder_of(data: &Path, name: &str) -> Option<PathBuf> {
    let number: u32 = split_name(name).1.strip_prefix("simulated:")?.parse().ok()?;
    Some(folder(data, number))
}

fn folder(data: &Path, number: u32) -> PathBuf {
    data.join("simulated").join(number.to_string())
}

/// The memory of each device of a setting, behind `simulated:`.
pub fn parse(declared: &str) -> Result<Vec<u64>, &'static str> {
    let wrong = "use a number of devices from 1 to 64, or the memory of each, as in `simulated:24GiB,80GiB`";
    let memories = match declared.parse::<usize>() {
        Ok(count) if (1..=MOST).contains(&count) => vec![MEMORY; count],
        Ok(_) => return Err(wrong),
        Err(_) => declared.split(',').map(size).collect::<Option<Vec<u64>>>().ok_or(wrong)?,
    };
    if memories.len() > MOST || memories.contains(&0) { Err(wrong) } else { Ok(memories) }
}

/// How `simulated:N` is now.
pub fn read(data: &Path, number: u32, memory_total: u64) -> DeviceReading {
    let folder = folder(data, number);
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let used = text("memory_used").and_then(|text| size(&text)).unwrap_or(0);
    let foreign = text("foreign_process").map(|text| {
        let pid = text.trim().parse().unwrap_or(0);
        DeviceProcess { pid, memory_used: Some(used), ours: is_ours(pid) == Some(true) }
    });
    DeviceReading {
        name: format!("simulated:{number}"),
        number,
        description: String::from("simulated device, computes on the CPU"),
        uuid: Some(format!("SIM-{number}")),
        memory_total,
        memory_free: memory_total.saturating_sub(used),
        compute_capability: None,
        driver_version: None,
        processes: foreign.into_iter().collect(),
        fault: text(FAULT_FILE).map(|text| fault_text(&text)),
    }
}

fn fault_text(text: &str) -> String {
    let text: String = text.trim().chars().take(MOST_TEXT).collect();
    if text.is_empty() { String::from("a simulated fault") } else { text }
}

/// Bytes of `24GiB`, `512MiB` or a plain number.
fn size(text: &str) -> Option<u64> {
    text.parse::<Size>().ok().map(|size| size.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_decide_what_a_device_reports() {
        let data = tempfile::tempdir().unwrap();
        let memory = parse("24GiB,80GiB").unwrap()[1];
        let well = read(data.path(), 1, memory);
        assert_eq!((well.memory_free, well.fault.as_deref(), well.is_taken()), (80 << 30, None, false));
        let folder = folder_of(data.path(), "simulated:1").unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("fault", "Xid 79\n"), ("memory_used", "70GiB"), ("foreign_process", "1\n")] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        let ill = read(data.path(), 1, memory);
        assert_eq!((ill.memory_free, ill.fault.as_deref(), ill.is_taken()), (10 << 30, Some("Xid 79"), true));
        assert_eq!(folder_of(data.path(), "cuda:1"), None);
    }
}
