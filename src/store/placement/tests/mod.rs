//! Jobs come to their devices in their order, nobody takes what another holds, and whoever waits is told why.

mod fleets;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::job::event::StepMetrics;
use crate::job::placement::Base;
use crate::job::waiting::WaitCode;
use crate::job::{DeviceReading, DeviceStatus, EventBody, EventKind, FailureKind, JobKind, NewEvent};
use crate::store::{Ended, Loss, NewJob, ProjectLimits, WorkerRow};

const NOW: Timestamp = Timestamp(1_750_000_000_000);
const GIB: u64 = 1 << 30;

fn reading(number: u32, gib: u64) -> DeviceReading {
    DeviceReading::of_test(&format!("simulated:{number}"), number, gib * GIB)
}

/// A server's store with a worker for each of the devices.
struct Machine {
    store: Store,
    workers: Vec<WorkerId>,
    _folder: TempDir,
}

impl Machine {
    async fn new(memories: &[u64]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let readings: Vec<DeviceReading> = (0..).zip(memories).map(|(number, gib)| reading(number, *gib)).collect();
        store.set_devices(&readings, NOW).await.unwrap();
        let mut workers = Vec::new();
        for reading in readings {
            workers.push(attend(&store, &reading.name).await);
        }
        Self { store, workers, _folder: folder }
    }

    async fn submit(&self, priority: i32, devices: u32, gib: u64) -> JobId {
        self.submit_as(crate::store::DEFAULT_PROJECT, priority, devices, gib).await
    }

    async fn submit_as(&self, project: &str, priority: i32, devices: u32, gib: u64) -> JobId {
        let new = NewJob { memory_bytes: gib * GIB, ..new_job(priority, devices) };
        self.store.within(project).submit_job(new, None, NOW).await.unwrap().job.id
    }

    /// A job of 10 GiB, 6 of which it shares.
    async fn submit_sharing(&self) -> JobId {
        let base = Base { key: 7, bytes: 6 * GIB };
        let new = NewJob { memory_bytes: 10 * GIB, ..new_job(0, 1).with_base(Some(base)) };
        self.store.submit_job(new, None, NOW).await.unwrap().job.id
    }

    async fn crashes(&self, job: JobId) -> i64 {
        let crashes = sqlx::query_scalar("select crashes from job where id = $1").bind(job.to_string());
        crashes.fetch_one(&self.store.readers).await.unwrap()
    }

    /// What the worker of a device gets.
    async fn claim(&self, device: usize) -> Option<Claim> {
        let name = format!("simulated:{device}");
        self.store.claim(self.workers[device], &name, NOW).await.unwrap()
    }

    async fn statuses(&self) -> Vec<DeviceStatus> {
        self.store.devices(NOW).await.unwrap().into_iter().map(|row| row.status).collect()
    }

    /// Why those of some jobs wait that do.
    async fn waiting(&self, jobs: &[JobId], now: Timestamp) -> BTreeMap<JobId, Waiting> {
        let mut requests = Vec::new();
        for job in jobs {
            let row = self.store.job(*job).await.unwrap();
            requests.extend((row.status == JobStatus::Queued).then(|| row.request()));
        }
        self.store.waiting(requests, now).await.unwrap()
    }

    async fn code(&self, job: JobId) -> Option<WaitCode> {
        self.waiting(&[job], NOW).await.get(&job).map(|waiting| waiting.code)
    }
}

/// A worker for a device.
async fn attend(store: &Store, device: &str) -> WorkerId {
    let (id, device) = (WorkerId::generate(), device.to_owned());
    let row = WorkerRow { id, device, description: String::new(), pid: 1, started_at: NOW, seen_at: NOW };
    store.add_worker(&row).await.unwrap();
    id
}

fn new_job(priority: i32, devices: u32) -> NewJob {
    let spec = json!({
        "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
        "objective": {"type": "sft"}, "train": {"steps": 10}, "priority": priority, "resources": {"devices": devices},
    });
    NewJob::of_kind(JobKind::Train, spec)
}

use DeviceStatus::{Busy, Faulted, Foreign, Idle};

#[tokio::test]
async fn a_worker_that_was_given_up_while_it_asked_gets_no_job() {
    let machine = Machine::new(&[24]).await;
    let job = machine.submit(0, 1, 1).await;
    machine.store.release_worker(machine.workers[0], "its agent began again", true, NOW).await.unwrap();
    let refused = machine.store.claim(machine.workers[0], "simulated:0", NOW).await;
    assert!(matches!(refused, Err(StoreError::NotFound { what: "worker", .. })), "{refused:?}");
    assert_eq!(machine.store.job(job).await.unwrap().status, JobStatus::Queued);
}

#[tokio::test]
async fn jobs_that_share_weights_have_a_device_together_until_the_last_of_them_ends_or_one_of_them_loses_it() {
    let machine = Machine::new(&[20]).await;
    let (first, second) = (machine.submit_sharing().await, machine.submit_sharing().await);
    let claims = [machine.claim(0).await.unwrap(), machine.claim(0).await.unwrap()];
    assert_eq!(claims.each_ref().map(|claim| claim.lease.job), [first, second]);
    assert_eq!(machine.store.devices(NOW).await.unwrap()[0].jobs, [first, second]);
    assert_eq!(machine.store.project_with_usage(crate::store::DEFAULT_PROJECT).await.unwrap().devices, 2);

    let alone = machine.submit(0, 1, 1).await;
    let third = machine.submit_sharing().await;
    assert!(machine.claim(0).await.is_none(), "nobody overtakes the one that waits for the device");
    assert_eq!(machine.code(alone).await, Some(WaitCode::DevicesBusy));
    assert_eq!(machine.code(third).await, Some(WaitCode::Behind));
    machine.store.cancel_job(alone, NOW).await.unwrap();
    assert_eq!(machine.claim(0).await.unwrap().lease.job, third);

    machine.store.end_attempt(claims[0].lease, Ended::Drained, NOW).await.unwrap();
    assert_eq!(machine.statuses().await, [Busy]);
    assert_eq!(machine.claim(0).await.unwrap().lease.job, first);

    let lost = Loss { kind: FailureKind::DeviceLost, reason: String::from("it hangs"), device: None, blameless: false };
    machine.store.end_attempt(claims[1].lease, Ended::Lost(lost), NOW).await.unwrap();
    assert_eq!(machine.statuses().await, [Faulted]);
    let crashes = [machine.crashes(first).await, machine.crashes(second).await, machine.crashes(third).await];
    assert_eq!(crashes, [0, 1, 0], "one is to blame");
    machine.store.begin_check("simulated:0", NOW).await.unwrap();
    machine.store.end_check("simulated:0", None, NOW).await.unwrap();
    assert_eq!(machine.claim(0).await.unwrap().lease.job, first);
    assert!(machine.claim(0).await.is_none(), "one that has crashed runs alone, and waits for the device");
    assert_eq!(machine.store.release_worker(machine.workers[0], "killed", false, NOW).await.unwrap(), 1);
    assert_eq!(machine.statuses().await, [Idle]);
}

#[tokio::test]
async fn devices_are_taken_together_and_given_back_together_however_it_ends() {
    let machine = Machine::new(&[24, 24, 24]).await;
    let ends: [&dyn Fn() -> Option<Ended>; 4] = [
        &|| Some(Ended::Succeeded { result: json!({}) }),
        &|| Some(Ended::Drained),
        &|| Some(Ended::Cancelled),
        &|| None,
    ];
    for end in ends {
        let job = machine.submit(0, 2, 1).await;
        assert!(machine.claim(1).await.is_none(), "the first device leads");
        let claim = machine.claim(0).await.unwrap();
        assert_eq!(
            (claim.lease.job, claim.devices.as_slice()),
            (job, &["simulated:0", "simulated:1"].map(String::from)[..])
        );
        assert_eq!(machine.statuses().await, [Busy, Busy, Idle]);
        assert_eq!(machine.store.job(job).await.unwrap().devices, claim.devices);
        match end() {
            Some(ended) => machine.store.end_attempt(claim.lease, ended, NOW).await.unwrap(),
            None => {
                assert_eq!(machine.store.release_worker(machine.workers[0], "killed", false, NOW).await.unwrap(), 1)
            }
        }
        assert_eq!(machine.statuses().await, [Idle; 3]);
        if machine.waiting(&[job], NOW).await.contains_key(&job) {
            machine.store.cancel_job(job, NOW).await.unwrap();
        }
    }
}

#[tokio::test]
async fn restarts_of_the_server_give_no_job_up_and_crashes_do() {
    let machine = Machine::new(&[24]).await;
    let job = machine.submit(0, 1, 1).await;
    for (blameless, times) in [(true, 5), (false, 3)] {
        for _ in 0..times {
            assert_eq!(machine.store.job(job).await.unwrap().status, JobStatus::Queued);
            machine.claim(0).await.unwrap();
            machine.store.release_worker(machine.workers[0], "ended", blameless, NOW).await.unwrap();
            machine.store.revive_worker(machine.workers[0]).await;
        }
    }
    assert_eq!(machine.store.job(job).await.unwrap().status, JobStatus::Failed);
}

#[tokio::test]
async fn a_wide_job_is_not_starved_and_priority_goes_first() {
    let machine = Machine::new(&[24, 24]).await;
    let first = machine.submit(0, 1, 1).await;
    let running = machine.claim(0).await.unwrap();
    assert_eq!(running.lease.job, first);
    let wide = machine.submit(0, 2, 1).await;
    let narrow = machine.submit(0, 1, 1).await;
    for _ in 0..3 {
        assert!(machine.claim(1).await.is_none(), "the free device is kept for the wide job");
    }
    assert_eq!(machine.code(narrow).await, Some(WaitCode::DevicesReserved));
    assert_eq!(machine.code(wide).await, Some(WaitCode::DevicesBusy));
    let queue = machine.store.queue(10, NOW).await.unwrap();
    let told: Vec<_> = queue.iter().map(|entry| (entry.waiting.request.job, entry.waiting.position)).collect();
    assert_eq!(told, [(wide, 1), (narrow, 2)]);
    let kept = machine.store.reserved(NOW).await.unwrap();
    assert_eq!(kept, [Reserved { device: String::from("simulated:1"), job: wide }]);
    // What is more urgent comes before the wide job all the same.
    let urgent = machine.submit(5, 1, 1).await;
    let claim = machine.claim(1).await.unwrap();
    assert_eq!(claim.lease.job, urgent);
    machine.store.end_attempt(claim.lease, Ended::Drained, NOW).await.unwrap();
    machine.store.cancel_job(urgent, NOW).await.unwrap();
    machine.store.end_attempt(running.lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
    assert_eq!(machine.claim(0).await.unwrap().lease.job, wide);
    assert_eq!(machine.code(narrow).await, Some(WaitCode::DevicesBusy));
}

#[tokio::test]
async fn projects_that_wait_for_the_large_device_take_turns_whatever_starts_on_the_small_one() {
    let machine = Machine::new(&[80, 24]).await;
    let mut large = BTreeMap::new();
    for project in ["a", "m"] {
        for _ in 0..6 {
            large.insert(machine.submit_as(project, 0, 1, 40).await, project);
        }
    }
    for _ in 0..30 {
        machine.submit_as("z", 0, 1, 1).await;
    }
    let mut order = Vec::new();
    for _ in 0..8 {
        let long = machine.claim(0).await.unwrap().lease;
        order.push(large[&long.job]);
        for _ in 0..3 {
            let short = machine.claim(1).await.unwrap().lease;
            assert!(!large.contains_key(&short.job));
            machine.store.end_attempt(short, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
        }
        machine.store.end_attempt(long, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
    }
    assert_eq!(order, ["a", "m", "a", "m", "a", "m", "a", "m"]);
}

/// The order in which the only device takes all that waits.
async fn starts(machine: &Machine) -> Vec<JobId> {
    let mut started = Vec::new();
    while let Some(claim) = machine.claim(0).await {
        started.push(claim.lease.job);
        machine.store.end_attempt(claim.lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
    }
    started
}

#[tokio::test]
async fn projects_take_turns_whatever_their_priorities_and_all_are_told_so() {
    let machine = Machine::new(&[24]).await;
    let share = |share| ProjectLimits { share: Some(share), ..ProjectLimits::default() };
    machine.store.set_project_limits("half", &share(2), NOW).await.unwrap();
    machine.store.set_project_limits("whole", &share(4), NOW).await.unwrap();
    let (mut loud, mut jobs) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        loud.push(machine.submit_as("loud", i32::MAX, 1, 1).await);
    }
    for (project, number) in [("quiet", 3), ("half", 6), ("whole", 9)] {
        for i in 0..number {
            jobs.push(machine.submit_as(project, i % 2, 1, 1).await);
        }
    }
    jobs.extend(&loud);
    let waiting = machine.waiting(&jobs, NOW).await;
    let mut told: Vec<(u64, JobId)> = waiting.iter().map(|(job, waiting)| (waiting.position, *job)).collect();
    told.sort_unstable();
    let started = starts(&machine).await;
    assert_eq!(started, told.iter().map(|(_, job)| *job).collect::<Vec<_>>(), "it starts as it was told");
    assert_eq!(told.iter().map(|(position, _)| *position).collect::<Vec<_>>(), (1..=58).collect::<Vec<u64>>());
    let first_loud = started[..16].iter().filter(|job| loud.contains(job)).count();
    assert!((2..=3).contains(&first_loud), "{first_loud} of the first 16 instead of an eighth");
    let first_of_quiet = started.iter().find(|job| jobs[..3].contains(job));
    assert_eq!(first_of_quiet, Some(&jobs[1]), "a project's own priority goes first");

    // Who had nothing to start has saved nothing up.
    let mut late = Vec::new();
    for _ in 0..6 {
        machine.submit_as("loud", 0, 1, 1).await;
        late.push(machine.submit_as("late", 0, 1, 1).await);
    }
    let of_late: Vec<bool> = starts(&machine).await.iter().map(|job| late.contains(job)).collect();
    assert!(of_late.windows(3).all(|three| three != [true; 3]), "{of_late:?}");
    let behind = machine.submit_as("late", 0, 1, 100).await;
    assert_eq!(machine.code(behind).await, Some(WaitCode::Memory));
}

#[tokio::test]
async fn many_jobs_are_told_what_each_is_told_alone() {
    let machine = Machine::new(&[24, 24]).await;
    machine.submit(0, 1, 1).await;
    machine.claim(0).await.unwrap();
    let mut jobs = Vec::new();
    for (priority, devices, gib) in
        [(0, 1, 1), (3, 1, 100), (0, 2, 1), (3, 3, 1), (-1, 1, 1), (0, 1, 1), (3, 1, 1), (0, 1, 1), (9, 1, 100)]
    {
        jobs.push(machine.submit(priority, devices, gib).await);
    }
    let running = machine.claim(1).await.unwrap().lease.job;
    assert_eq!(running, jobs.remove(6));
    let together = machine.waiting(&[&jobs[..], &[running]].concat(), NOW).await;
    assert_eq!(together.len(), jobs.len(), "one runs");
    for job in &jobs {
        let alone = machine.waiting(&[*job], NOW).await;
        assert_eq!(alone.get(job), together.get(job));
    }
    let mut places: Vec<u64> = together.values().map(|waiting| waiting.position).collect();
    places.sort_unstable();
    assert_eq!(places, (1..=8).collect::<Vec<u64>>());
}

#[tokio::test]
async fn memory_decides_where_a_job_runs_and_what_fits_nowhere_blocks_nobody() {
    let machine = Machine::new(&[24, 80]).await;
    // More than a page of them, as after a restart with smaller devices.
    for _ in 0..300 {
        machine.submit(9, 1, 100).await;
    }
    let (small, large) = (machine.submit(0, 1, 8).await, machine.submit(0, 1, 40).await);
    assert_eq!(machine.claim(0).await.unwrap().lease.job, small);
    assert_eq!(machine.code(large).await, Some(WaitCode::Starting));
    let taken = DeviceReading { memory_free: 39 * GIB, ..reading(1, 80) };
    machine.store.observe_device(&taken, NOW).await.unwrap();
    assert!(machine.claim(1).await.is_none());
    assert_eq!(machine.code(large).await, Some(WaitCode::Memory));
    machine.store.observe_device(&reading(1, 80), NOW).await.unwrap();
    assert_eq!(machine.claim(1).await.unwrap().lease.job, large);
}

#[tokio::test]
async fn what_is_behind_a_job_is_no_reason_for_it_to_wait() {
    let machine = Machine::new(&[80, 80]).await;
    machine.submit(0, 1, 1).await;
    machine.claim(0).await.unwrap();
    let taken = DeviceReading { memory_free: 39 * GIB, ..reading(1, 80) };
    machine.store.observe_device(&taken, NOW).await.unwrap();
    let large = machine.submit(0, 1, 40).await;
    let wide = machine.submit(0, 2, 1).await;
    let kept = machine.store.reserved(NOW).await.unwrap();
    assert_eq!(kept, [Reserved { device: String::from("simulated:1"), job: wide }]);
    assert_eq!(machine.code(large).await, Some(WaitCode::DevicesBusy));
}

#[tokio::test]
async fn a_failed_device_loses_its_job_once_and_takes_none_until_it_was_checked() {
    let machine = Machine::new(&[24, 24]).await;
    let job = machine.submit(0, 2, 1).await;
    let lease = machine.claim(0).await.unwrap().lease;
    for _ in 0..2 {
        machine.store.fault_device("simulated:1", "Xid 48", NOW).await.unwrap();
    }
    assert_eq!(machine.statuses().await, [Idle, Faulted]);
    let row = machine.store.device("simulated:1").await.unwrap();
    assert_eq!((row.faults, row.fault.as_deref()), (1, Some("Xid 48")));
    let late = machine.store.end_attempt(lease, Ended::Cancelled, NOW).await;
    assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
    assert_eq!(machine.code(job).await, Some(WaitCode::DeviceFaulted));
    let events = machine.store.events(job, 0, 100).await.unwrap();
    let lost = events.iter().find(|event| json!(event.body)["code"] == "device_lost").unwrap();
    assert!(lost.body.kind() == EventKind::Log && lost.message.contains("Xid 48"));

    machine.store.begin_check("simulated:1", NOW).await.unwrap();
    machine.store.end_check("simulated:1", Some("still ill"), NOW).await.unwrap();
    assert_eq!(machine.statuses().await, [Idle, Faulted]);
    machine.store.begin_check("simulated:1", NOW).await.unwrap();
    machine.store.end_check("simulated:1", None, NOW).await.unwrap();
    assert_eq!(machine.claim(0).await.unwrap().lease.attempt, 2);
}

#[tokio::test]
async fn a_worker_that_loses_its_device_frees_the_others_and_the_third_time_is_final() {
    let machine = Machine::new(&[24, 24]).await;
    let job = machine.submit(0, 2, 1).await;
    for attempt in 1..=3 {
        let lease = machine.claim(0).await.unwrap().lease;
        assert_eq!(lease.attempt, attempt);
        let loss = Loss {
            kind: FailureKind::OutOfMemory,
            reason: String::from("simulated:0: out of memory"),
            device: None,
            blameless: false,
        };
        machine.store.end_attempt(lease, Ended::Lost(loss), NOW).await.unwrap();
        assert_eq!(machine.statuses().await, [Faulted, Idle]);
        machine.store.begin_check("simulated:0", NOW).await.unwrap();
        machine.store.end_check("simulated:0", None, NOW).await.unwrap();
    }
    let failure = machine.store.job(job).await.unwrap().failure.unwrap();
    assert_eq!((failure.kind, failure.code.as_str()), (FailureKind::OutOfMemory, "out_of_memory"));
    assert!(failure.message.contains("train.recompute"), "{}", failure.message);
}

#[tokio::test]
async fn a_device_that_another_program_uses_is_left_alone() {
    let machine = Machine::new(&[24]).await;
    let process = crate::job::DeviceProcess { pid: 7, memory_used: None, ours: false };
    let taken = DeviceReading { processes: vec![process], ..reading(0, 24) };
    machine.store.observe_device(&taken, NOW).await.unwrap();
    let job = machine.submit(0, 1, 1).await;
    assert!(machine.claim(0).await.is_none());
    assert_eq!((machine.statuses().await, machine.code(job).await), (vec![Foreign], Some(WaitCode::DeviceTaken)));
    machine.store.observe_device(&reading(0, 24), NOW).await.unwrap();
    assert_eq!(machine.claim(0).await.unwrap().lease.job, job);
}

#[tokio::test]
async fn a_start_is_expected_from_the_steps_of_the_running_attempt() {
    let machine = Machine::new(&[24]).await;
    machine.submit(0, 1, 1).await;
    let lease = machine.claim(0).await.unwrap().lease;
    let waiting = machine.submit(0, 1, 1).await;
    let later = NOW.plus_seconds(4);
    let expected = async || machine.waiting(&[waiting], later).await[&waiting].expected_start;
    assert_eq!(expected().await, None, "no step is taken yet");
    let values = std::iter::empty::<(&str, f64)>().collect();
    let step = NewEvent::info("step", EventBody::Metrics(StepMetrics { step: 2, values }));
    machine.store.record(lease, &[step], NOW).await.unwrap();
    // Two steps of ten in four seconds leave sixteen.
    assert_eq!(expected().await, Some(later.plus_seconds(16)));
}
