//! A fleet and a day of jobs in simulated time, over the placement that the program uses: whether wide jobs start, how busy
//! devices are, and what failing devices cost. `SCALE=10 cargo test --release --test scale_sim -- --nocapture` is 10,000 devices
//! and a million jobs; a plain run is a tenth of the devices and a hundredth of the jobs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use anneal::job::placement::{Placement, Request, Shape, Slot};
use anneal::job::{DeviceStatus, JobId};

const GIB: u64 = 1 << 30;
const DEVICES_OF_A_HOST: usize = 8;
/// How much of the devices' time the jobs ask for.
const LOAD: f64 = 0.85;
/// A device fails once in so many seconds, and is back after so many.
const BETWEEN_FAILURES: f64 = 200.0 * 86_400.0;
const REPAIR: f64 = 4.0 * 3600.0;
/// Work since the last checkpoint, which is lost with a device.
const LOST: f64 = 60.0;

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// With this mean, and a median of about half of it (Box and Muller).
    fn lognormal(&mut self, mean: f64) -> f64 {
        let sigma = 1.18_f64;
        let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        (mean.ln() - sigma * sigma / 2.0 + sigma * normal).exp()
    }

    fn width(&mut self) -> u32 {
        match self.unit() {
            share if share < 0.90 => 1,
            share if share < 0.96 => 2,
            share if share < 0.99 => 4,
            _ => 8,
        }
    }
}

const MEAN_WIDTH: f64 = 0.90 + 0.06 * 2.0 + 0.03 * 4.0 + 0.01 * 8.0;

struct Job {
    request: Request,
    arrived: f64,
    /// Seconds that it still needs.
    left: f64,
    began: f64,
    devices: Vec<usize>,
    /// Starts so far, by which an end that was overtaken by a failure is known.
    starts: u32,
    first_start: Option<f64>,
}

/// What happens next, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Ends(usize, u32),
    Fails(usize),
    IsBack(usize),
}

struct Fleet {
    slots: Vec<Slot>,
    jobs: Vec<Job>,
    queue: VecDeque<usize>,
    events: BinaryHeap<Reverse<(u64, What)>>,
    on: Vec<Option<usize>>,
    busy_seconds: f64,
    requeued: u64,
    placing: Vec<Duration>,
}

fn at(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

impl Fleet {
    fn new(devices: usize, random: &mut Random) -> Self {
        let slot = |number: usize| Slot {
            name: format!("host-{:05}/simulated:{}", number / DEVICES_OF_A_HOST, number % DEVICES_OF_A_HOST),
            status: DeviceStatus::Idle,
            memory_total: 80 * GIB,
            memory_free: 80 * GIB,
            attended: true,
            pool: None,
            holders: Vec::new(),
            kept_for: None,
        };
        let failure = |number| Reverse((at(random.exponential(BETWEEN_FAILURES)), What::Fails(number)));
        Self {
            slots: (0..devices).map(slot).collect(),
            jobs: Vec::new(),
            queue: VecDeque::new(),
            events: (0..devices).map(failure).collect(),
            on: vec![None; devices],
            busy_seconds: 0.0,
            requeued: 0,
            placing: Vec::new(),
        }
    }

    /// Lets go of a job's devices; those that failed stay out.
    fn release(&mut self, job: usize, now: f64) {
        self.busy_seconds += (now - self.jobs[job].began) * self.jobs[job].devices.len() as f64;
        for device in std::mem::take(&mut self.jobs[job].devices) {
            assert_eq!(self.on[device].take(), Some(job), "a device had another job");
            if self.slots[device].status == DeviceStatus::Busy {
                self.slots[device].status = DeviceStatus::Idle;
            }
        }
    }

    fn happen(&mut self, what: What, now: f64, random: &mut Random) {
        match what {
            What::Ends(job, start) if self.jobs[job].starts == start && !self.jobs[job].devices.is_empty() => {
                self.jobs[job].left = 0.0;
                self.release(job, now);
            }
            What::Ends(..) => {}
            What::Fails(device) => {
                self.slots[device].status = DeviceStatus::Faulted;
                if let Some(job) = self.on[device] {
                    self.jobs[job].left += LOST.min(now - self.jobs[job].began) - (now - self.jobs[job].began);
                    self.release(job, now);
                    self.slots[device].status = DeviceStatus::Faulted;
                    // Its place in the queue is the one that it had.
                    self.queue.push_front(job);
                    self.requeued += 1;
                }
                self.events.push(Reverse((at(now + REPAIR), What::IsBack(device))));
            }
            What::IsBack(device) => {
                self.slots[device].status = DeviceStatus::Idle;
                self.events.push(Reverse((at(now + random.exponential(BETWEEN_FAILURES)), What::Fails(device))));
            }
        }
    }

    /// Offers the free devices to the queue, as the server does for all who ask in a second.
    fn place(&mut self, now: f64) {
        let began = Instant::now();
        let mut placement = Placement::new(self.slots.clone());
        let mut waiting = VecDeque::new();
        while let Some(job) = self.queue.pop_front() {
            if placement.is_exhausted() {
                self.queue.push_front(job);
                break;
            }
            let Some(devices) = placement.offer(&self.jobs[job].request) else {
                waiting.push_back(job);
                continue;
            };
            let host = |device: usize| device / DEVICES_OF_A_HOST;
            assert!(devices.iter().all(|device| host(*device) == host(devices[0])), "a job is on two hosts");
            for device in &devices {
                assert!(self.on[*device].replace(job).is_none(), "a device has two jobs");
                self.slots[*device].status = DeviceStatus::Busy;
            }
            let own = &mut self.jobs[job];
            (own.devices, own.began, own.starts) = (devices, now, own.starts + 1);
            own.first_start.get_or_insert(now);
            self.events.push(Reverse((at(now + own.left), What::Ends(job, own.starts))));
        }
        waiting.append(&mut self.queue);
        self.queue = waiting;
        self.placing.push(began.elapsed());
    }
}

#[test]
fn a_day_of_a_fleet_starves_nobody() {
    let scale: f64 = std::env::var("SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let devices = (1000.0 * scale) as usize / DEVICES_OF_A_HOST * DEVICES_OF_A_HOST;
    let jobs = (10_000.0 * scale * scale) as usize;
    // A million jobs a day at the full scale.
    let rate = 1e6 / 86_400.0 * scale / 10.0;
    let mean = LOAD * devices as f64 / (rate * MEAN_WIDTH);
    let mut random = Random(1);
    let mut fleet = Fleet::new(devices, &mut random);
    let (mut now, mut arrives, mut ended_at) = (0.0, 0.0, 0.0);
    while fleet.jobs.len() < jobs || fleet.jobs.iter().rev().any(|job| job.left > 0.0) {
        now += 1.0;
        while fleet.jobs.len() < jobs && arrives <= now {
            let (width, left) = (random.width(), random.lognormal(mean).clamp(1.0, 86_400.0));
            let shape = Shape::of_one_host(width);
            let (job, elastic, memory) = (JobId::generate(), false, 20 * GIB);
            let request = Request { job, priority: 0, shape, elastic, pool: None, memory, base: None };
            let job =
                Job { request, arrived: arrives, left, began: 0.0, devices: Vec::new(), starts: 0, first_start: None };
            fleet.queue.push_back(fleet.jobs.len());
            fleet.jobs.push(job);
            arrives += random.exponential(1.0 / rate);
            ended_at = now;
        }
        while fleet.events.peek().is_some_and(|Reverse((when, _))| *when <= at(now)) {
            let Some(Reverse((_, what))) = fleet.events.pop() else { break };
            fleet.happen(what, now, &mut random);
        }
        if !fleet.queue.is_empty() {
            fleet.place(now);
        }
        assert!(now < 30.0 * 86_400.0, "{} jobs wait for ever", fleet.queue.len());
    }
    report(&mut fleet, devices, ended_at);
}

fn report(fleet: &mut Fleet, devices: usize, arrivals_end: f64) {
    let mut waits: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for job in &fleet.jobs {
        assert_eq!(job.left, 0.0, "a job has not ended");
        let wait = job.first_start.expect("it began") - job.arrived;
        waits.entry(job.request.shape.devices()).or_default().push(wait);
    }
    println!("{devices} devices, {} jobs in {:.1} h", fleet.jobs.len(), arrivals_end / 3600.0);
    println!("busy {:.1} % until the last came", 100.0 * fleet.busy_seconds / (devices as f64 * arrivals_end));
    println!("{} were put back into the queue by failures", fleet.requeued);
    for (width, waits) in &mut waits {
        waits.sort_by(f64::total_cmp);
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize];
        println!("width {width}: waited p50 {:.0} s, p99 {:.0} s, at most {:.0} s", at(0.5), at(0.99), at(1.0));
        assert!(at(1.0) < 24.0 * 3600.0, "jobs of width {width} starve");
    }
    fleet.placing.sort_unstable();
    let at = |share: f64| fleet.placing[((fleet.placing.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("placing a second's jobs took p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99));
}
