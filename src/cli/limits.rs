//! Limits that a process of this program sets for itself, and how it steps back behind others.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

/// Bounds a resource for good, unless it is bounded more tightly already.
pub fn bound(resource: Resource, most: u64) -> io::Result<()> {
    let limit = Some(getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most)));
    Ok(setrlimit(resource, Rlimit { current: limit, maximum: limit })?)
}

/// Bounds what this process, and each that it starts, allocates from here on. What it has reserved by now, for its heap and
/// its stacks, does not count.
pub fn bound_memory(most: u64) -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmData:")?.trim_end_matches("kB").trim().parse().ok());
    bound(Resource::Data, kilobytes.unwrap_or(0_u64).saturating_mul(1024).saturating_add(most))
}

/// Steps back behind the server by so much niceness. Where the machine's memory runs out the kernel ends this process
/// before the server, the sooner the higher `score` is, up to 1000 (proc_pid_oom_score_adj(5)).
pub fn step_back(niceness: i32, score: u16) {
    if let Err(error) = nice(niceness) {
        tracing::debug!(%error, "the process keeps its priority");
    }
    if let Err(error) = std::fs::write("/proc/self/oom_score_adj", score.to_string()) {
        tracing::debug!(%error, "the process is not the first to end where memory runs out");
    }
}
