//! Memory of this process, as Linux tells it.

use std::fs;

/// The most bytes that this process has held in memory since [`forget_peak`].
pub fn peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// Lets the peak begin anew at what is held now, where the system can.
pub fn forget_peak() {
    // The code for the highest resident set, proc_pid_clear_refs(5).
    if let Err(error) = fs::write("/proc/self/clear_refs", "5") {
        tracing::debug!(%error, "the peak of memory goes on from earlier jobs");
    }
}

/// A number of kibibytes, in bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_covers_what_was_held_for_a_moment() {
        forget_peak();
        let before = peak().unwrap();
        let held = vec![1_u8; 64 << 20];
        assert!(held.iter().all(|byte| *byte == 1));
        drop(held);
        assert!(peak().unwrap() >= before.max(64 << 20));
    }
}
