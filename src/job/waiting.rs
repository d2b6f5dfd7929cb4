//! Why a queued job waits, once [`placement`](super::placement) has offered it its devices.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::device::gibibytes;
use super::placement::{Claimant, Placement, Request, Slot};
use super::status::names;
use super::{DeviceStatus, JobId, Timestamp};

names!(
    /// Why a job waits.
    WaitCode {
        /// It does not: devices are free, and a worker is about to take it.
        Starting = "starting",
        /// Running jobs hold the devices.
        DevicesBusy = "devices_busy",
        /// Free devices are kept for an earlier job that needs several.
        DevicesReserved = "devices_reserved",
        /// Earlier jobs come first.
        Behind = "behind",
        /// No free device has enough memory left, or too few devices have enough at all.
        Memory = "memory",
        /// Devices that it needs have failed.
        DeviceFaulted = "device_faulted",
        /// Programs that are not ours compute on devices that it needs.
        DeviceTaken = "device_taken",
        /// There are not as many devices as it needs.
        NoDevice = "no_device",
        /// Its project holds as many devices as it may.
        ProjectLimit = "project_limit",
        /// It found the disk full, and goes on when there is space.
        StorageFull = "storage_full",
        /// The model that it begins with, or learns from, is under way.
        ModelImporting = "model_importing",
        /// A machine is being started for it by a cluster's scheduler.
        Launching = "launching",
    }
);

/// Why a job waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub code: WaitCode,
    /// One sentence.
    pub message: String,
    /// 1 is next.
    pub position: u64,
    /// The job before it that competes for its devices.
    pub behind: Option<JobId>,
    pub request: Request,
    /// Devices that it could use now if it were first.
    pub devices_idle: u32,
    /// When it will probably start; none when that cannot be told.
    pub expected_start: Option<Timestamp>,
    /// Every device, with what makes it fit or not.
    pub candidates: Vec<Slot>,
}

/// Says why `request` waits, after `placement` has offered it its devices. `ahead` is the job before it in the queue
/// that could run here.
pub fn explain(
    placement: &Placement,
    request: &Request,
    ahead: Option<JobId>,
    position: u64,
    now: Timestamp,
) -> Waiting {
    let devices = request.least().devices() as usize;
    let slots = &*in_pool(placement.slots(), request);
    let idle = slots.iter().filter(|slot| slot.can(request.memory)).count();
    let (code, behind, message) = reason(placement, request, ahead);
    let mut candidates = placement.slots().to_vec();
    for (slot, claimant) in candidates.iter_mut().zip(placement.claimants()) {
        if matches!(claimant, Some(Claimant::Waits(_))) && slot.status == DeviceStatus::Idle {
            slot.status = DeviceStatus::Reserved;
        }
    }
    let expected_start = match code {
        WaitCode::Starting => Some(now),
        WaitCode::DevicesBusy => expected_start(slots, request.memory, devices, now),
        WaitCode::DevicesReserved
        | WaitCode::Behind
        | WaitCode::Memory
        | WaitCode::DeviceFaulted
        | WaitCode::DeviceTaken
        | WaitCode::NoDevice
        | WaitCode::ProjectLimit
        | WaitCode::StorageFull
        | WaitCode::ModelImporting
        | WaitCode::Launching => None,
    };
    Waiting {
        code,
        message,
        position,
        behind,
        request: request.clone(),
        devices_idle: u32::try_from(idle).unwrap_or(u32::MAX),
        expected_start,
        candidates,
    }
}

fn reason(placement: &Placement, request: &Request, ahead: Option<JobId>) -> (WaitCode, Option<JobId>, String) {
    let (slots, job, memory, least) = (placement.slots(), request.job, request.memory, request.least());
    if placement.claimants().contains(&Some(Claimant::Starts(job))) {
        return (WaitCode::Starting, None, String::from("devices are free, and a worker is about to take it"));
    }
    if let Some((code, message)) = hopeless(slots, request) {
        return (code, None, message);
    }
    let kept = placement.claimants().iter().zip(slots).find_map(|(claimant, slot)| {
        let (other, why) = match (claimant, slot.kept_for) {
            (Some(Claimant::Starts(_)), _) => return None,
            (_, Some(kept)) => (kept.job, "for which its machine was started, with others that are on their way"),
            (Some(Claimant::Waits(other)), None) => (*other, "which is ahead and needs several devices"),
            (None, None) => return None,
        };
        let is_kept = other != job && slot.serves(request) && slot.could(memory) && slot.status == DeviceStatus::Idle;
        is_kept.then_some((other, slot, why))
    });
    if let Some((other, slot, why)) = kept {
        let message = format!("{} is kept free for {other}, {why}", slot.name);
        return (WaitCode::DevicesReserved, Some(other), message);
    }
    if let Some(ahead) = ahead {
        return (WaitCode::Behind, Some(ahead), format!("{ahead} is ahead in the queue"));
    }
    let held: Vec<String> = slots
        .iter()
        .filter(|slot| slot.serves(request) && slot.could(memory) && slot.status == DeviceStatus::Busy)
        .map(|slot| match slot.holders.first() {
            None => slot.name.clone(),
            Some(holder) => format!("{} ({})", slot.name, holder.job),
        })
        .collect();
    let message = format!("it needs {least}, and running jobs hold {}", list(&held));
    (WaitCode::DevicesBusy, None, message)
}

/// How many devices of one kind fulfil a condition on each of as many hosts as a job is on: where most do.
fn most_on_hosts(slots: &[Slot], hosts: u32, condition: impl Fn(&Slot) -> bool) -> usize {
    let mut by_kind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for of_host in slots.chunk_by(|a, b| (a.host(), a.kind()) == (b.host(), b.kind())) {
        let count = of_host.iter().filter(|slot| condition(slot)).count();
        by_kind.entry(of_host[0].kind()).or_default().push(count);
    }
    let most = |mut counts: Vec<usize>| {
        counts.sort_unstable_by_key(|count| Reverse(*count));
        counts.get(hosts.saturating_sub(1) as usize).copied().unwrap_or(0)
    };
    by_kind.into_values().map(most).max().unwrap_or(0)
}

/// The devices where a job is to run.
fn in_pool<'a>(slots: &'a [Slot], request: &Request) -> Cow<'a, [Slot]> {
    if request.pool.is_none() {
        return Cow::Borrowed(slots);
    }
    slots.iter().filter(|slot| slot.serves(request)).cloned().collect()
}

/// Whether a job could start on these devices once what runs there has ended.
pub fn can_start_once(slots: &[Slot], request: &Request) -> bool {
    hopeless(slots, request).is_none()
}

/// Why the end of no running job would let a job start, if that is so.
fn hopeless(slots: &[Slot], request: &Request) -> Option<(WaitCode, String)> {
    let slots = &*in_pool(slots, request);
    let (memory, needs) = (request.memory, request.least());
    let (hosts, each) = (needs.hosts, needs.each as usize);
    if let (Some(pool), []) = (&request.pool, slots) {
        let message =
            format!("it needs {needs} in the pool `{pool}`, which has none; start an agent with --pool {pool}");
        return Some((WaitCode::NoDevice, message));
    }
    let large: Vec<&Slot> = slots.iter().filter(|slot| slot.could(memory)).collect();
    let most = most_on_hosts(slots, hosts, |_| true);
    if most < each {
        let message = match hosts {
            1 => format!("it needs {needs}, and no machine has more than {most}; start one with more --devices"),
            _ => {
                let there = slots.chunk_by(|a, b| a.host() == b.host());
                let there = there.filter(|host| host.len() >= each).count();
                format!("it needs {needs}, and there are {there}; start more, as docs/agents.md says")
            }
        };
        return Some((WaitCode::NoDevice, message));
    }
    if most_on_hosts(slots, hosts, |slot| slot.could(memory)) < each {
        let largest = slots.iter().map(|slot| slot.memory_total).max().unwrap_or(0);
        let message = format!(
            "it needs {needs} with {}, and {} of {} have as much; the largest has {}",
            gibibytes(memory),
            large.len(),
            slots.len(),
            gibibytes(largest)
        );
        return Some((WaitCode::Memory, message));
    }
    if most_on_hosts(slots, hosts, |slot| slot.will(memory)) >= each {
        return None;
    }
    let with = |statuses: &[DeviceStatus]| -> Vec<String> {
        large.iter().filter(|slot| statuses.contains(&slot.status)).map(|slot| slot.name.clone()).collect()
    };
    let faulted = with(&[DeviceStatus::Faulted, DeviceStatus::Checking]);
    if !faulted.is_empty() {
        let message = format!("it needs {needs}, and of those that fit {} failed; see /v1/devices", list(&faulted));
        return Some((WaitCode::DeviceFaulted, message));
    }
    let taken = with(&[DeviceStatus::Foreign]);
    if !taken.is_empty() {
        let message = format!("it needs {needs}, and another program computes on {}", list(&taken));
        return Some((WaitCode::DeviceTaken, message));
    }
    let left: Vec<String> = large
        .iter()
        .filter(|slot| !slot.will(memory))
        .map(|slot| format!("{} has {} left", slot.name, gibibytes(slot.memory_free)))
        .collect();
    let message = format!("it needs {needs} with {} free, and {}", gibibytes(memory), list(&left));
    Some((WaitCode::Memory, message))
}

/// When as many devices as are needed will be free, going by the jobs on them.
fn expected_start(slots: &[Slot], memory: u64, devices: usize, now: Timestamp) -> Option<Timestamp> {
    let mut free: Vec<Timestamp> = slots
        .iter()
        .filter(|slot| slot.will(memory))
        .filter_map(|slot| if slot.status == DeviceStatus::Busy { slot.free_at() } else { Some(now) })
        .collect();
    free.sort_unstable();
    free.get(devices.checked_sub(1)?).copied()
}

fn list(names: &[String]) -> String {
    if names.is_empty() { String::from("none") } else { names.join(", ") }
}
