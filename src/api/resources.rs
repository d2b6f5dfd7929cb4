//! What a spec asks of devices, compared with the devices that there are: found at submission, so that nothing waits
//! for a machine that will never come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::blocking::blocking;
use super::error::Problem;
use super::resolve::{Model, ModelFiles};
use crate::job::FieldError;
use crate::job::device::{gibibytes, split_name};
use crate::job::memory::{self, Machine, MemoryNeed, PROMPT_TOKENS, Sampled};
use crate::job::placement::Base;
use crate::job::resources::ResourceSpec;
use crate::job::spec::{Precision, SamplingSpec};
use crate::spec::Resolved;
use crate::store::{Offered, Store};

/// A change of a spec, and the bytes that it saves.
pub type Saving = (&'static str, u64);

/// The sizes of a model, from its files' headers.
pub async fn shape(files: &ModelFiles) -> Result<Result<memory::Shape, FieldError>, Problem> {
    let inspected = match files {
        ModelFiles::Builtin(builtin) => builtin.inspect(),
        ModelFiles::Path(_) => {
            let files = files.clone();
            blocking(move || files.inspect_weights()).await?
        }
    };
    Ok(inspected
        .map(|inspection| inspection.shape())
        .map_err(|error| FieldError::new("/model", error.code(), error.to_string())))
}

/// What jobs of this server run on: its GPUs, where it has any.
pub async fn machine(store: &Store) -> Result<Machine, Problem> {
    let devices = store.devices(crate::clock::now()).await?;
    Ok(if devices.iter().any(|row| split_name(&row.name).1.starts_with("cuda:")) {
        Machine::CUDA
    } else {
        Machine::CPU
    })
}

/// What a job needs that samples `group` completions a prompt and trains nothing.
pub async fn of_sampling(
    store: &Store,
    shape: &memory::Shape,
    (sampling, precision): (&SamplingSpec, Precision),
    group: u32,
) -> Result<MemoryNeed, Problem> {
    let sampled = Sampled { group, prompt_tokens: PROMPT_TOKENS };
    Ok(memory::of_sampling(shape, sampling, precision, sampled, &machine(store).await?))
}

/// What of a job's memory others can share.
pub fn base(resolved: &Resolved, model: &Model, need: &MemoryNeed) -> Option<Base> {
    let adapted = model.adapter.as_ref().map(|of| (of.model, of.seed));
    resolved.base_key(adapted).map(|key| Base { key, bytes: need.base })
}

/// Refuses what no state of this server's devices could ever satisfy. `savings` are what would lower the need.
pub async fn check(
    store: &Store,
    spec: &ResourceSpec,
    need: &MemoryNeed,
    savings: impl FnOnce() -> Vec<Saving>,
) -> Result<Vec<FieldError>, Problem> {
    let mut rows = store.devices(crate::clock::now()).await?;
    let has_devices = !rows.is_empty();
    let is_in = |pool: &str| spec.pool.as_deref().is_none_or(|own| own == pool);
    if let Some(pool) = &spec.pool {
        match hosts_in(store, pool).await? {
            Ok(hosts) => rows.retain(|row| hosts.contains(split_name(&row.name).0)),
            Err(unknown) => return Ok(vec![unknown]),
        }
    }
    let shape = spec.least();
    let devices = shape.each;
    // The devices of a job are of one kind, as many on each of its hosts.
    let mut kinds: BTreeMap<&str, BTreeMap<&str, Vec<u64>>> = BTreeMap::new();
    for row in &rows {
        let (host, device) = split_name(&row.name);
        let kind = device.split(':').next().unwrap_or_default();
        kinds.entry(kind).or_default().entry(host).or_default().push(row.memory_total);
    }
    if kinds.is_empty() && has_devices {
        // Launchers alone have machines like that.
        kinds.entry("").or_default();
    }
    let fit = |memories: &Vec<u64>| {
        let fitting = memories.iter().filter(|memory| **memory >= need.total()).count();
        (fitting.min(devices as usize), memories.len() >= devices as usize, memories.iter().max().copied())
    };
    // A launcher starts all machines of a job or none.
    let machines = |offered: &Offered| {
        let machine = vec![offered.memory; offered.devices as usize];
        let count = if offered.machines >= shape.hosts { shape.hosts } else { 0 };
        std::iter::repeat_n(machine, count as usize)
    };
    let offered: Vec<Vec<u64>> = {
        let offered = store.offered().iter().filter(|offered| has_devices && is_in(&offered.pool));
        offered.flat_map(machines).collect()
    };
    // Of the hosts that come closest to what is asked for, the last one that is needed.
    let last = |hosts: BTreeMap<&str, Vec<u64>>| {
        let mut hosts: Vec<Vec<u64>> = hosts.into_values().chain(offered.clone()).collect();
        hosts.sort_by_key(|memories| Reverse(fit(memories)));
        hosts.into_iter().nth(shape.hosts as usize - 1)
    };
    let launchers =
        store.offered().iter().filter(|offered| is_in(&offered.pool)).map(|offered| offered.machines as usize);
    let most = kinds.values().map(BTreeMap::len).chain(launchers).max().unwrap_or(0);
    let best = kinds.into_values().filter_map(last).max_by_key(fit);
    if best.is_none() && has_devices {
        let detail = format!("{shape} are asked for, and there are {most}; start more agents, or ask for fewer");
        return Ok(vec![FieldError::new("/resources/hosts", "too_few_devices", detail)]);
    }
    Ok(refusal(&best.unwrap_or_default(), devices, need, savings).into_iter().collect())
}

/// The machines of a pool.
async fn hosts_in(store: &Store, pool: &str) -> Result<Result<HashSet<String>, FieldError>, Problem> {
    let hosts = store.hosts().await?;
    let named = hosts.iter().filter_map(|host| host.pool.as_deref());
    let known: BTreeSet<&str> = named.chain(store.offered().iter().map(|offered| &*offered.pool)).collect();
    if known.contains(pool) {
        let own = hosts.into_iter().filter(|host| host.pool.as_deref() == Some(pool));
        return Ok(Ok(own.map(|host| host.name).collect()));
    }
    let known: Vec<&str> = known.into_iter().collect();
    let others = if known.is_empty() { String::from("there are none") } else { known.join(", ") };
    let detail =
        format!("no machine is in `{pool}`; start an agent with --pool {pool}, or name another pool: {others}");
    Ok(Err(FieldError::new("/resources/pool", "unknown_pool", detail)))
}

fn refusal(
    memories: &[u64],
    devices: u32,
    need: &MemoryNeed,
    savings: impl FnOnce() -> Vec<Saving>,
) -> Option<FieldError> {
    // Without a server there are no devices to compare with.
    let largest = *memories.iter().max()?;
    if devices as usize > memories.len() {
        let detail =
            format!("{devices} devices are asked for, and no machine has more than {}; ask for fewer", memories.len());
        return Some(FieldError::new("/resources/devices", "too_few_devices", detail));
    }
    let fitting = memories.iter().filter(|memory| **memory >= need.total()).count();
    if fitting == 0 {
        let saves = |(what, bytes): Saving| format!("{what} (saves {})", gibibytes(bytes));
        let mut advice: Vec<String> = savings().into_iter().map(saves).collect();
        advice.push(String::from("a smaller model, or a device with more memory"));
        let detail = format!(
            "the job needs about {} of memory (program {}, model {}, copies {}, and in turn training {} and sampling \
             {}), and the largest device has {}; take {}",
            gibibytes(need.total()),
            gibibytes(need.program),
            gibibytes(need.model),
            gibibytes(need.copies),
            gibibytes(need.training),
            gibibytes(need.sampling),
            gibibytes(largest),
            advice.join(", ")
        );
        return Some(FieldError::new("/model", "too_little_memory", detail));
    }
    if fitting < devices as usize {
        let detail = format!(
            "{devices} devices with about {} of memory each are asked for, and {fitting} of {} have as much; ask for \
             fewer, or lower `sampling.batch_size` or `train.micro_batch_tokens`",
            gibibytes(need.total()),
            memories.len()
        );
        return Some(FieldError::new("/resources/devices", "too_few_devices", detail));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_run_is_refused_and_says_what_to_change() {
        let need = MemoryNeed { model: 30 << 30, ..MemoryNeed::default() };
        let memories = [24 << 30, 80 << 30];
        let savings = || vec![("`train.recompute: true`", 3 << 30)];
        assert_eq!(refusal(&memories, 1, &need, savings), None);
        assert_eq!(refusal(&[], 1, &need, savings), None);
        let refused = |memories: &[u64], devices| refusal(memories, devices, &need, savings).unwrap();
        for (memories, devices, pointer, words) in [
            (&memories[..], 3, "/resources/devices", "3 devices"),
            (&memories[..], 2, "/resources/devices", "1 of 2"),
            (&memories[..1], 1, "/model", "30.0 GiB"),
        ] {
            let error = refused(memories, devices);
            assert_eq!(error.pointer, pointer);
            assert!(error.detail.contains(words), "{error}");
        }
        assert!(refused(&memories[..1], 1).detail.contains("`train.recompute: true` (saves 3.0 GiB)"));
    }
}
