//! Which waiting job gets which devices, and why a job waits. Pure: the store reads devices and jobs, asks here, and
//! writes down the answer.
//!
//! Jobs are offered the free devices in the order of the queue. A job that fits starts on the smallest devices that
//! are large enough, so that large ones stay free for those that need them. A job that could start once running jobs
//! have ended, but lacks devices now, keeps the free ones that it can use: so a job for many devices is not overtaken
//! for ever by jobs for one. A job that no running job's end would help (its devices are broken, taken, or not there)
//! keeps nothing.
//!
//! A job that shares its model's frozen weights also starts on a device that jobs with the same weights hold, while
//! there is room for all of it but the weights. Whoever waits for that device lets no more of them onto it. A job that
//! has crashed runs alone, so that one that brings down its worker brings down others with it only once.

use std::cmp::Reverse;

use super::device::gibibytes;
use super::status::names;
use super::{DeviceStatus, JobId, Timestamp};

/// The most jobs that hold a device together.
pub const MOST_TOGETHER: u32 = 8;

/// Frozen weights of a model that jobs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// What they are known by.
    pub key: i64,
    pub bytes: u64,
}

/// A job on a device, as placement sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub job: JobId,
    /// Bytes that it needs.
    pub memory: u64,
    /// What of it others can share.
    pub base: Option<Base>,
    /// When it will probably have ended.
    pub free_at: Option<Timestamp>,
}

/// A device as placement sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub name: String,
    /// As stored.
    pub status: DeviceStatus,
    pub memory_total: u64,
    pub memory_free: u64,
    /// A worker waits for jobs on it.
    pub attended: bool,
    /// The jobs that hold it.
    pub holders: Vec<Holder>,
}

impl Slot {
    /// `cpu`, `cuda` or `simulated`.
    fn kind(&self) -> &str {
        self.name.split(':').next().unwrap_or_default()
    }

    /// Whether a job of this size fits when nothing else is on the device.
    fn could(&self, memory: u64) -> bool {
        self.memory_total >= memory
    }

    /// Whether such a job can use the device now, or once the job on it has ended.
    fn will(&self, memory: u64) -> bool {
        self.could(memory)
            && match self.status {
                DeviceStatus::Busy => true,
                DeviceStatus::Idle | DeviceStatus::Reserved => self.memory_free >= memory,
                DeviceStatus::Faulted | DeviceStatus::Checking | DeviceStatus::Foreign => false,
            }
    }

    fn can(&self, memory: u64) -> bool {
        self.attended && self.status == DeviceStatus::Idle && self.will(memory)
    }

    /// When all jobs on it will probably have ended.
    pub fn free_at(&self) -> Option<Timestamp> {
        self.holders.iter().map(|holder| holder.free_at).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The weights that the jobs on it share, and the bytes that are left for more of them; none when no job may join.
    fn shared(&self) -> Option<(Base, u64)> {
        let base = self.holders.first().and_then(|holder| holder.base)?;
        // On a GPU jobs would disturb each other's recorded passes.
        let is_open = self.attended && self.status == DeviceStatus::Busy && self.kind() != "cuda";
        let is_open = is_open && self.holders.len() < MOST_TOGETHER as usize;
        let beside = |sum: u64, holder: &Holder| sum.saturating_add(holder.memory.saturating_sub(base.bytes));
        let taken = self.holders.iter().fold(base.bytes, beside);
        is_open.then(|| (base, self.memory_total.saturating_sub(taken).min(self.memory_free)))
    }

    /// Whether a job can start beside those that hold it.
    fn joins(&self, request: &Request) -> bool {
        let (Some((shared, room)), Some(base)) = (self.shared(), request.base) else { return false };
        shared.key == base.key && request.memory.saturating_sub(base.bytes) <= room
    }

    /// Whether a job could be offered it.
    fn is_open(&self) -> bool {
        self.can(0) || self.shared().is_some()
    }
}

/// A waiting job as placement sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub job: JobId,
    pub priority: i32,
    /// How many devices it needs.
    pub devices: u32,
    /// How many bytes it needs on each of them.
    pub memory: u64,
    /// What of it others have in common with it.
    pub base: Option<Base>,
}

impl Request {
    /// What the queue is ordered by.
    pub fn rank(&self) -> (Reverse<i32>, JobId) {
        (Reverse(self.priority), self.job)
    }
}

/// Who a free device is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// The job can start on it.
    Starts(JobId),
    /// The job waits for more devices.
    Waits(JobId),
}

/// Devices on their way to jobs.
#[derive(Clone, Debug)]
pub struct Placement {
    slots: Vec<Slot>,
    claimants: Vec<Option<Claimant>>,
}

impl Placement {
    pub fn new(slots: Vec<Slot>) -> Self {
        let claimants = vec![None; slots.len()];
        Self { slots, claimants }
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Who each device, in the order of the slots, is promised to.
    pub fn claimants(&self) -> &[Option<Claimant>] {
        &self.claimants
    }

    /// Whether a job takes or keeps a device.
    pub fn is_claimed_by(&self, job: JobId) -> bool {
        let claims = [Some(Claimant::Starts(job)), Some(Claimant::Waits(job))];
        self.claimants.iter().any(|claimant| claims.contains(claimant))
    }

    /// The largest memory of a device.
    pub fn largest(&self) -> u64 {
        self.slots.iter().map(|slot| slot.memory_total).max().unwrap_or(0)
    }

    /// The most that a job may need to get one of the devices that are left. What is left only becomes less.
    pub fn largest_left(&self) -> u64 {
        let left = self.free().map(|slot| &self.slots[slot]).filter(|slot| slot.is_open());
        let most = |slot: &Slot| if slot.can(0) { slot.memory_total.min(slot.memory_free) } else { slot.memory_total };
        left.map(most).max().unwrap_or(0)
    }

    /// Whether no device is left that a job could be offered.
    pub fn is_exhausted(&self) -> bool {
        !self.free().any(|slot| self.slots[slot].is_open())
    }

    fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.slots.len()).filter(|slot| self.claimants[*slot].is_none())
    }

    /// Offers the free devices to the next job of the queue. Returns the devices on which it can start, in order.
    pub fn offer(&mut self, request: &Request) -> Option<Vec<usize>> {
        let devices = request.devices as usize;
        let mut kinds: Vec<String> = self.slots.iter().map(|slot| slot.kind().to_owned()).collect();
        kinds.dedup();
        for kind in &kinds {
            // A job's devices compute together and must be of one kind.
            let of_kind = |slot: &usize| self.slots[*slot].kind() == kind;
            let can = |slot: &usize| self.slots[*slot].can(request.memory);
            let mut usable: Vec<usize> = self.free().filter(of_kind).filter(can).collect();
            if usable.len() >= devices {
                usable.sort_by_key(|slot| self.slots[*slot].memory_total);
                usable.truncate(devices);
                usable.sort_unstable();
                self.promise(&usable, Claimant::Starts(request.job));
                return Some(usable);
            }
        }
        let joined = self.free().find(|slot| devices == 1 && self.slots[*slot].joins(request));
        if let Some(slot) = joined {
            self.promise(&[slot], Claimant::Starts(request.job));
            return Some(vec![slot]);
        }
        for kind in &kinds {
            let of_kind = |slot: &usize| self.slots[*slot].kind() == kind;
            let prospects = (0..self.slots.len()).filter(of_kind).filter(|slot| self.slots[*slot].will(request.memory));
            if prospects.count() >= devices {
                // A device that jobs share comes free only when no more join them.
                let keeps = |slot: &usize| {
                    let slot = &self.slots[*slot];
                    slot.can(request.memory) || (slot.shared().is_some() && slot.will(request.memory))
                };
                let usable: Vec<usize> = self.free().filter(of_kind).filter(keeps).collect();
                self.promise(&usable, Claimant::Waits(request.job));
                return None;
            }
        }
        None
    }

    fn promise(&mut self, slots: &[usize], claimant: Claimant) {
        for slot in slots {
            self.claimants[*slot] = Some(claimant);
        }
    }
}

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
    let devices = request.devices as usize;
    let slots = &placement.slots;
    let idle = slots.iter().filter(|slot| slot.can(request.memory)).count();
    let (code, behind, message) = reason(placement, request, ahead);
    let mut candidates = slots.clone();
    for (slot, claimant) in candidates.iter_mut().zip(&placement.claimants) {
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
        | WaitCode::ModelImporting => None,
    };
    Waiting {
        code,
        message,
        position,
        behind,
        request: *request,
        devices_idle: u32::try_from(idle).unwrap_or(u32::MAX),
        expected_start,
        candidates,
    }
}

fn reason(placement: &Placement, request: &Request, ahead: Option<JobId>) -> (WaitCode, Option<JobId>, String) {
    let Request { job, memory, .. } = *request;
    let (slots, devices) = (&placement.slots, request.devices as usize);
    if placement.claimants.contains(&Some(Claimant::Starts(job))) {
        return (WaitCode::Starting, None, String::from("devices are free, and a worker is about to take it"));
    }
    if let Some((code, message)) = hopeless(slots, memory, devices) {
        return (code, None, message);
    }
    let kept = placement.claimants.iter().zip(slots).find_map(|(claimant, slot)| match claimant {
        Some(Claimant::Waits(other)) if *other != job && slot.could(memory) && slot.status == DeviceStatus::Idle => {
            Some((*other, slot))
        }
        _ => None,
    });
    if let Some((other, slot)) = kept {
        let message = format!("{} is kept free for {other}, which is ahead and needs several devices", slot.name);
        return (WaitCode::DevicesReserved, Some(other), message);
    }
    if let Some(ahead) = ahead {
        return (WaitCode::Behind, Some(ahead), format!("{ahead} is ahead in the queue"));
    }
    let held: Vec<String> = slots
        .iter()
        .filter(|slot| slot.could(memory) && slot.status == DeviceStatus::Busy)
        .map(|slot| match slot.holders.first() {
            None => slot.name.clone(),
            Some(holder) => format!("{} ({})", slot.name, holder.job),
        })
        .collect();
    let message = format!("it needs {}, and running jobs hold {}", count(devices), list(&held));
    (WaitCode::DevicesBusy, None, message)
}

/// Why the end of no running job would let a job start, if that is so.
fn hopeless(slots: &[Slot], memory: u64, devices: usize) -> Option<(WaitCode, String)> {
    let needs = count(devices);
    let large: Vec<&Slot> = slots.iter().filter(|slot| slot.could(memory)).collect();
    if slots.len() < devices {
        let message = format!("it needs {needs}, and this server has {}; start it with more --devices", slots.len());
        return Some((WaitCode::NoDevice, message));
    }
    if large.len() < devices {
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
    if large.iter().filter(|slot| slot.will(memory)).count() >= devices {
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

fn count(devices: usize) -> String {
    if devices == 1 { String::from("a device") } else { format!("{devices} devices") }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { String::from("none") } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const NOW: Timestamp = Timestamp(1_000_000);

    fn slots(memories: &[u64]) -> Vec<Slot> {
        memories
            .iter()
            .enumerate()
            .map(|(i, gib)| Slot {
                name: format!("simulated:{i}"),
                status: DeviceStatus::Idle,
                memory_total: gib * GIB,
                memory_free: gib * GIB,
                attended: true,
                holders: Vec::new(),
            })
            .collect()
    }

    fn request(devices: u32, gib: u64) -> Request {
        Request { job: JobId::generate(), priority: 0, devices, memory: gib * GIB, base: None }
    }

    /// A request of 10 GiB, 6 of them in a base.
    fn sharing(key: i64) -> Request {
        Request { base: Some(Base { key, bytes: 6 * GIB }), ..request(1, 10) }
    }

    /// What a job holds that was started.
    fn hold(slot: &mut Slot, request: &Request) {
        slot.status = DeviceStatus::Busy;
        let Request { job, memory, base, .. } = *request;
        slot.holders.push(Holder { job, memory, base, free_at: None });
    }

    fn code(placement: &Placement, request: &Request, ahead: Option<JobId>) -> WaitCode {
        explain(placement, request, ahead, 1, NOW).code
    }

    #[test]
    fn a_job_takes_the_smallest_device_that_is_large_enough() {
        let mut placement = Placement::new(slots(&[80, 24, 80]));
        assert_eq!(placement.offer(&request(1, 8)), Some(vec![1]));
        assert_eq!(placement.offer(&request(1, 8)), Some(vec![0]));
        assert_eq!(placement.largest_left(), 80 * GIB);
        assert_eq!(placement.offer(&request(1, 40)), Some(vec![2]));
        assert!(placement.is_exhausted() && placement.largest_left() == 0);
    }

    #[test]
    fn a_wide_job_ahead_is_not_overtaken_and_one_that_cannot_run_keeps_nothing() {
        let mut busy = slots(&[24, 24]);
        busy[0].status = DeviceStatus::Busy;
        let (wide, narrow) = (request(2, 1), request(1, 1));
        let mut placement = Placement::new(busy.clone());
        assert_eq!((placement.offer(&wide), placement.offer(&narrow)), (None, None));
        let waiting = explain(&placement, &narrow, Some(wide.job), 2, NOW);
        assert_eq!((waiting.code, waiting.behind), (WaitCode::DevicesReserved, Some(wide.job)));
        assert_eq!(waiting.candidates[1].status, DeviceStatus::Reserved);

        for status in [DeviceStatus::Faulted, DeviceStatus::Foreign] {
            busy[0].status = status;
            let mut placement = Placement::new(busy.clone());
            assert_eq!((placement.offer(&wide), placement.offer(&narrow)), (None, Some(vec![1])));
        }
        let mut placement = Placement::new(slots(&[24, 24]));
        assert_eq!(placement.offer(&request(1, 25)), None);
        assert_eq!(placement.offer(&wide), Some(vec![0, 1]));
    }

    #[test]
    fn jobs_with_the_same_base_share_a_device_as_long_as_there_is_room_and_nobody_waits_for_it() {
        let mut slots = slots(&[20]);
        hold(&mut slots[0], &sharing(1));
        let offered = |slots: &[Slot], requests: &[&Request]| {
            let mut placement = Placement::new(slots.to_vec());
            requests.iter().map(|request| placement.offer(request).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(offered(&slots, &[&sharing(1)]), [true]);
        assert_eq!(offered(&slots, &[&sharing(2)]), [false], "another model");
        assert_eq!(offered(&slots, &[&request(1, 1)]), [false], "one that shares nothing");
        assert_eq!(offered(&slots, &[&request(1, 1), &sharing(1)]), [false, false], "it does not overtake");
        assert_eq!(
            offered(&slots, &[&request(1, 30), &sharing(1)]),
            [false, true],
            "one that never runs is not in the way"
        );
        let wide = Request { devices: 2, ..sharing(1) };
        assert_eq!(offered(&slots, &[&wide]), [false]);

        hold(&mut slots[0], &sharing(1));
        assert_eq!(offered(&slots, &[&sharing(1)]), [true], "6 GiB of weights, and 4 of each of three jobs");
        let large = Request { memory: 13 * GIB, ..sharing(1) };
        assert_eq!(offered(&slots, &[&large]), [false]);
        assert_eq!(code(&Placement::new(slots.clone()), &large, None), WaitCode::DevicesBusy);
        hold(&mut slots[0], &sharing(1));
        assert_eq!(offered(&slots, &[&sharing(1)]), [false]);

        let mut slots = self::slots(&[20, 24]);
        hold(&mut slots[0], &sharing(1));
        let mut placement = Placement::new(slots.clone());
        assert_eq!(placement.offer(&sharing(1)), Some(vec![1]), "a device of its own is better");
        assert_eq!(placement.offer(&sharing(1)), Some(vec![0]));
        slots[0].holders[0].base = None;
        assert_eq!(offered(&slots[..1], &[&sharing(1)]), [false], "the job there is alone");
    }

    #[test]
    fn every_reason_is_told_from_the_others() {
        let one = request(1, 30);
        let after = |change: &dyn Fn(&mut Slot)| {
            let mut slots = slots(&[24, 80]);
            change(&mut slots[1]);
            let mut placement = Placement::new(slots);
            placement.offer(&one);
            placement
        };
        assert_eq!(code(&after(&|_| ()), &one, None), WaitCode::Starting);
        assert_eq!(code(&after(&|slot| slot.status = DeviceStatus::Busy), &one, None), WaitCode::DevicesBusy);
        assert_eq!(code(&after(&|slot| slot.status = DeviceStatus::Busy), &one, Some(one.job)), WaitCode::Behind);
        assert_eq!(code(&after(&|slot| slot.status = DeviceStatus::Faulted), &one, None), WaitCode::DeviceFaulted);
        assert_eq!(code(&after(&|slot| slot.status = DeviceStatus::Foreign), &one, None), WaitCode::DeviceTaken);
        assert_eq!(code(&after(&|slot| slot.memory_free = 29 * GIB), &one, None), WaitCode::Memory);
        assert_eq!(code(&after(&|slot| slot.memory_total = 29 * GIB), &one, None), WaitCode::Memory);
        assert_eq!(code(&after(&|_| ()), &request(3, 1), None), WaitCode::NoDevice);
    }

    #[test]
    fn a_start_is_expected_when_enough_devices_are_told_to_become_free() {
        let mut slots = slots(&[24, 24, 24]);
        for (slot, free_at) in slots.iter_mut().zip([Some(5), None, Some(9)]) {
            hold(slot, &request(1, 1));
            slot.holders[0].free_at = free_at.map(|seconds| NOW.plus_seconds(seconds));
        }
        let start = |devices| {
            let request = request(devices, 1);
            let mut placement = Placement::new(slots.clone());
            placement.offer(&request);
            explain(&placement, &request, None, 1, NOW).expected_start
        };
        assert_eq!(start(1), Some(NOW.plus_seconds(5)));
        assert_eq!(start(2), Some(NOW.plus_seconds(9)));
        assert_eq!(start(3), None);
    }
}
