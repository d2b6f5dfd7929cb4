//! Which waiting job gets which devices, and why a job waits. Pure: the store reads devices and jobs, asks here, and
//! writes down the answer.
//!
//! Jobs are offered the free devices in the order of the queue. A job that fits starts on the smallest devices that
//! are large enough, so that large ones stay free for those that need them. A job that could start once running jobs
//! have ended, but lacks devices now, keeps the free ones that it can use: so a job for many devices is not overtaken
//! for ever by jobs for one. A job that no running job's end would help (its devices are broken, taken, or not there)
//! keeps nothing.
//!
//! The devices of a job are on one host, unless it asks for several, which then have as many of them each. A job that is
//! elastic starts on the largest part of what it asks for that is free.
//!
//! A job that shares its model's frozen weights also starts on a device that jobs with the same weights hold, while
//! there is room for all of it but the weights. Whoever waits for that device lets no more of them onto it. A job that
//! has crashed runs alone, so that one that brings down its worker brings down others with it only once.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::device::split_name;
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
    /// What its machine is one of.
    pub pool: Option<Arc<str>>,
    /// The jobs that hold it.
    pub holders: Vec<Holder>,
    /// The job that its machine was started for: no other starts here.
    pub kept_for: Option<Kept>,
}

/// A job that waits for machines which were started for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub job: JobId,
    /// Whether some are on their way, so that it cannot start yet.
    pub gathers: bool,
}

impl Slot {
    /// `cpu`, `cuda` or `simulated`.
    pub(super) fn kind(&self) -> &str {
        split_name(&self.name).1.split(':').next().unwrap_or_default()
    }

    pub(super) fn host(&self) -> &str {
        split_name(&self.name).0
    }

    /// Whether a job of this size fits when nothing else is on the device.
    pub(super) fn could(&self, memory: u64) -> bool {
        self.memory_total >= memory
    }

    /// Whether such a job can use the device now, or once the job on it has ended.
    pub(super) fn will(&self, memory: u64) -> bool {
        self.could(memory)
            && match self.status {
                DeviceStatus::Busy => true,
                DeviceStatus::Idle | DeviceStatus::Reserved => self.memory_free >= memory,
                DeviceStatus::Faulted | DeviceStatus::Checking | DeviceStatus::Foreign => false,
            }
    }

    pub(super) fn can(&self, memory: u64) -> bool {
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

    /// Whether it is where a job is to run.
    pub(super) fn serves(&self, request: &Request) -> bool {
        request.pool.is_none() || request.pool == self.pool
    }

    /// Whether a job could be offered it.
    fn is_open(&self) -> bool {
        self.can(0) || self.shared().is_some()
    }
}

/// A waiting job as placement sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub job: JobId,
    pub priority: i32,
    pub shape: Shape,
    /// Whether fewer devices will do.
    pub elastic: bool,
    /// What their machines are one of, unless any will do.
    pub pool: Option<Arc<str>>,
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

    /// What it can start with, the most first: fewer hosts with as many devices, then fewer devices of one host.
    pub fn shapes(&self) -> impl Iterator<Item = Shape> {
        let Shape { hosts, each } = self.shape;
        let on_fewer = (1..=hosts).rev().map(move |hosts| Shape { hosts, each });
        let with_fewer = (1..each).rev().map(|each| Shape { hosts: 1, each });
        on_fewer.chain(with_fewer).take(if self.elastic { usize::MAX } else { 1 })
    }

    /// The least that it can start with.
    pub fn least(&self) -> Shape {
        self.shape.least(self.elastic)
    }

    /// The same with no more than so many devices, if fewer will do.
    pub fn within(self, devices: i64) -> Self {
        let is_within = |shape: &Shape| i64::from(shape.devices()) <= devices;
        let shape = self.shapes().find(is_within).unwrap_or(self.shape);
        Self { shape, ..self }
    }
}

/// How many devices on how many hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub hosts: u32,
    /// On each of them.
    pub each: u32,
}

impl Shape {
    pub fn of_one_host(devices: u32) -> Self {
        Self { hosts: 1, each: devices }
    }

    /// So many devices in all, on so many hosts.
    pub fn new(devices: u32, hosts: u32) -> Self {
        Self { hosts, each: devices / hosts.max(1) }
    }

    /// The least of it that a job can start with.
    pub fn least(self, elastic: bool) -> Self {
        if elastic { Self::of_one_host(1) } else { self }
    }

    pub fn devices(self) -> u32 {
        self.hosts * self.each
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.hosts, self.each) {
            (1, 1) => f.write_str("a device"),
            (1, each) => write!(f, "{each} devices"),
            (hosts, 1) => write!(f, "{hosts} machines with a device each"),
            (hosts, each) => write!(f, "{hosts} machines with {each} devices each"),
        }
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
    /// Slots of one kind on one host.
    groups: Vec<Range<usize>>,
    /// The groups of each kind, in the order in which the kinds come.
    kinds: Vec<Vec<usize>>,
}

impl Placement {
    /// Of devices whose hosts and kinds come one after the other.
    pub fn new(slots: Vec<Slot>) -> Self {
        let waits = |slot: &Slot| slot.kept_for.filter(|kept| kept.gathers).map(|kept| Claimant::Waits(kept.job));
        let claimants = slots.iter().map(waits).collect();
        let mut groups: Vec<Range<usize>> = Vec::new();
        for group in slots.chunk_by(|a, b| (a.host(), a.kind()) == (b.host(), b.kind())) {
            let begin = groups.last().map_or(0, |group| group.end);
            groups.push(begin..begin + group.len());
        }
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for (group, range) in groups.iter().enumerate() {
            let kind = slots[range.start].kind();
            match kinds.iter_mut().find(|others| slots[groups[others[0]].start].kind() == kind) {
                Some(others) => others.push(group),
                None => kinds.push(vec![group]),
            }
        }
        Self { slots, claimants, groups, kinds }
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

    fn is_open_to(&self, slot: usize, request: &Request) -> bool {
        let Slot { kept_for, .. } = self.slots[slot];
        let is_kept = kept_for.is_some_and(|kept| kept.job != request.job);
        self.claimants[slot].is_none() && !is_kept && self.slots[slot].serves(request)
    }

    /// The pools of the devices that are left and could be offered.
    pub fn open_pools(&self) -> impl Iterator<Item = &Arc<str>> {
        let open = self.free().map(|slot| &self.slots[slot]).filter(|slot| slot.is_open());
        open.filter_map(|slot| slot.pool.as_ref())
    }

    /// Offers the free devices to the next job of the queue. Returns the devices on which it can start, in order.
    pub fn offer(&mut self, request: &Request) -> Option<Vec<usize>> {
        if let Some(usable) = request.shapes().find_map(|shape| self.usable(shape, request)) {
            self.promise(&usable, Claimant::Starts(request.job));
            return Some(usable);
        }
        let is_single = request.shape.devices() == 1;
        let joined = (0..self.slots.len())
            .find(|slot| is_single && self.is_open_to(*slot, request) && self.slots[*slot].joins(request));
        if let Some(slot) = joined {
            self.promise(&[slot], Claimant::Starts(request.job));
            return Some(vec![slot]);
        }
        let kept = request.shapes().find_map(|shape| self.kept(shape, request));
        self.promise(&kept.unwrap_or_default(), Claimant::Waits(request.job));
        None
    }

    /// The devices on which a job can start: the smallest that are large enough, where fewest stay free for others.
    fn usable(&self, shape: Shape, request: &Request) -> Option<Vec<usize>> {
        let (hosts, each) = (shape.hosts as usize, shape.each as usize);
        // A kind that comes first is taken first.
        self.kinds.iter().find_map(|groups| {
            // As many as there are hosts, the best first.
            let mut best: Vec<((u64, usize), Vec<usize>)> = Vec::new();
            for group in groups {
                let can = |slot: &usize| self.is_open_to(*slot, request) && self.slots[*slot].can(request.memory);
                let mut usable: Vec<usize> = self.groups[*group].clone().filter(can).collect();
                if usable.len() < each {
                    continue;
                }
                let free = usable.len();
                usable.sort_by_key(|slot| self.slots[*slot].memory_total);
                usable.truncate(each);
                let largest = usable.last().map_or(0, |slot| self.slots[*slot].memory_total);
                let place = best.partition_point(|(other, _)| *other <= (largest, free));
                if place < hosts {
                    best.insert(place, ((largest, free), usable));
                    best.truncate(hosts);
                }
            }
            let mut usable: Vec<usize> = best.iter().flat_map(|(_, usable)| usable).copied().collect();
            usable.sort_unstable();
            (best.len() == hosts).then_some(usable)
        })
    }

    /// The devices that are kept for a job which waits for more of them: where most of what it needs is free already.
    fn kept(&self, shape: Shape, request: &Request) -> Option<Vec<usize>> {
        let (hosts, each, memory) = (shape.hosts as usize, shape.each as usize, request.memory);
        // A device that jobs share comes free only when no more join them.
        let keeps = |slot: &usize| {
            let slot = &self.slots[*slot];
            slot.can(memory) || (slot.shared().is_some() && slot.will(memory))
        };
        let will = |group: &&usize| {
            let group = &self.slots[self.groups[**group].clone()];
            group.iter().filter(|slot| slot.serves(request) && slot.will(memory)).count()
        };
        let of_kind = |groups: &Vec<usize>| {
            let kept = |group: &usize| -> Vec<usize> {
                let unclaimed = self.groups[*group].clone().filter(|slot| self.is_open_to(*slot, request));
                let mut kept: Vec<usize> = unclaimed.filter(keeps).collect();
                // No more than it needs, and those that are free first.
                kept.sort_by_key(|slot| !self.slots[*slot].can(memory));
                kept.truncate(each);
                kept
            };
            let mut kept: Vec<Vec<usize>> = groups.iter().filter(|group| will(group) >= each).map(kept).collect();
            // Of equals the first.
            kept.sort_by_key(|kept| Reverse(kept.len()));
            (kept.len() >= hosts).then(|| kept[..hosts].concat())
        };
        self.kinds.iter().rev().filter_map(of_kind).max_by_key(Vec::len)
    }

    fn promise(&mut self, slots: &[usize], claimant: Claimant) {
        for slot in slots {
            self.claimants[*slot] = Some(claimant);
        }
    }
}
