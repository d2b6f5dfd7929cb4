//! How long the store takes when the queue is long: claiming a job out of 10,000, listing jobs, reading events; and
//! what the analysis of a stored rollout set costs.
//!
//! ```text
//! cargo bench --bench store               all of them
//! cargo bench --bench store -- claim      those with `claim` in their name
//! ```
//!
//! The data directory lies below the target directory and not in the system's temporary folder, which may be in
//! memory, where a sync costs nothing: the figures of everything that writes are mostly that disk's. Filling the
//! queue takes one synced transaction per job, so that a slow disk needs a minute before the first figure.

use std::time::{Duration, Instant};

use anneal::device::Machine;
use anneal::job::event::StepMetrics;
use anneal::job::{EventBody, JobId, JobKind, JobStatus, NewEvent, Timestamp, WorkerId};
use anneal::objective::frontier::{self, ScoredCompletion, ScoredGroup};
use anneal::spec::Resolved;
use anneal::store::{Ended, JobFilter, Lease, NewJob, Page, Store};
use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Jobs that wait.
const QUEUED: u64 = 10_000;
/// Events in the log of the job that runs.
const EVENTS: u64 = 400;
const EVENTS_READ: u32 = 200;
const JOBS_LISTED: u32 = 20;
/// Prompts and completions per prompt of the analysed rollout set.
const GROUPS: u32 = 1250;
const GROUP_SIZE: u32 = 8;
/// Time is an argument of the store; here it stands still.
const NOW: Timestamp = Timestamp(1_750_000_000_000);

/// A data directory with one job that has a log and has ended, and a long queue.
struct Busy {
    store: Store,
    runtime: Runtime,
    worker: WorkerId,
    ended: JobId,
    /// Removed at the end.
    _directory: TempDir,
}

impl Busy {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let worker = WorkerId::generate();
        let (store, ended) = runtime.block_on(async {
            let store = Store::open(directory.path()).await.expect("an empty directory becomes a data directory");
            let devices = Machine::open("cpu", directory.path()).and_then(|machine| machine.read_all());
            store.set_devices(&devices.expect("there is a CPU"), NOW).await.expect("devices are stored");
            let ended = run_one(&store, worker).await;
            let spec = resolved_spec();
            for _ in 0..QUEUED {
                submit(&store, &spec).await;
            }
            (store, ended)
        });
        Self { store, runtime, worker, ended, _directory: directory }
    }

    async fn claim(&self) -> Lease {
        let claim = self.store.claim(self.worker, "cpu", NOW).await.expect("claiming works");
        claim.expect("the queue is never empty").lease
    }

    /// The job goes back to where it was, so that every claim finds a queue of the same length.
    async fn put_back(&self, lease: Lease) {
        self.store.end_attempt(lease, Ended::Drained, NOW).await.expect("the lease is still good");
    }

    /// Times `operation` within one `block_on` per sample, as it would run in a server: entering the runtime is not
    /// part of it, and what an operation leaves to the runtime is done before the next one needs it.
    fn time(&self, bencher: &mut Bencher<'_>, mut operation: impl AsyncFnMut()) {
        bencher.iter_custom(|iterations| {
            self.runtime.block_on(async {
                let began = Instant::now();
                for _ in 0..iterations {
                    operation().await;
                }
                began.elapsed()
            })
        });
    }
}

/// Submits and claims a job, gives it a log, and ends it, so that the device is free.
async fn run_one(store: &Store, worker: WorkerId) -> JobId {
    submit(store, &resolved_spec()).await;
    let claim = store.claim(worker, "cpu", NOW).await.expect("claiming works");
    let lease = claim.expect("a job was just submitted").lease;
    let events: Vec<NewEvent> = (1..=EVENTS).map(step_event).collect();
    store.record(lease, &events, NOW).await.expect("the lease is good");
    store.end_attempt(lease, Ended::Succeeded { result: json!({}) }, NOW).await.expect("the lease is good");
    lease.job
}

async fn submit(store: &Store, spec: &Value) {
    let (attributes, resolved) = Resolved::parse(JobKind::Train, spec).expect("the spec is resolved");
    let job = NewJob::of(spec.clone(), attributes, resolved, 1 << 20);
    store.submit_job(job, None, NOW).await.expect("the job is stored");
}

fn resolved_spec() -> Value {
    json!({
        "model": "builtin:arith-tiny",
        "dataset": {"train": "builtin:arithmetic", "eval": "builtin:arithmetic"},
        "verifier": {"type": "numeric"},
        "objective": {"type": "bolt"},
        "train": {"steps": EVENTS},
    })
}

/// What a training step leaves in the log.
fn step_event(step: u64) -> NewEvent {
    let values = [
        ("loss", 0.71),
        ("grad/norm", 0.4),
        ("learning_rate", 1e-5),
        ("reward/mean", 0.5),
        ("reward/std", 0.5),
        ("completion/tokens_mean", 3.2),
        ("ess/ratio", 0.6),
        ("time/step_seconds", 0.8),
        ("step/tokens", 1640.0),
    ];
    let body = EventBody::Metrics(StepMetrics { step, values: values.into_iter().collect() });
    NewEvent::info(format!("step {step} of {EVENTS}"), body)
}

fn store(criterion: &mut Criterion) {
    let busy = Busy::new();
    claims(criterion, &busy);
    reads(criterion, &busy);
}

fn claims(criterion: &mut Criterion, busy: &Busy) {
    let mut group = criterion.benchmark_group("queue of 10000");
    // The claim alone, one synced transaction.
    group.bench_function("claim", |bencher| {
        bencher.iter_custom(|iterations| {
            busy.runtime.block_on(async {
                let mut claiming = Duration::ZERO;
                for _ in 0..iterations {
                    let began = Instant::now();
                    let lease = busy.claim().await;
                    claiming += began.elapsed();
                    busy.put_back(lease).await;
                }
                claiming
            })
        });
    });
    // What the store does for a job besides its events: two synced transactions.
    group.bench_function("claim and put back", |bencher| {
        busy.time(bencher, async || {
            let lease = busy.claim().await;
            busy.put_back(lease).await;
        });
    });
    group.finish();
}

fn reads(criterion: &mut Criterion, busy: &Busy) {
    let mut group = criterion.benchmark_group("among 10000 jobs");
    let page = Page { after: None, limit: JOBS_LISTED, newest_first: true };
    for (name, status, expected) in
        [("list 20 jobs", None, JOBS_LISTED), ("list jobs that succeeded", Some(JobStatus::Succeeded), 1)]
    {
        let filter = JobFilter { status, ..JobFilter::default() };
        group.bench_function(name, |bencher| {
            busy.time(bencher, async || {
                let jobs = busy.store.jobs(&filter, &page).await.expect("jobs can be listed");
                assert_eq!(jobs.len(), expected as usize);
            });
        });
    }
    group.bench_function("read 200 events", |bencher| {
        busy.time(bencher, async || {
            let events = busy.store.events(busy.ended, 100, EVENTS_READ).await.expect("events can be read");
            assert_eq!(events.len(), EVENTS_READ as usize);
        });
    });
    // What the API asks whenever something has happened, to know whom to wake.
    group.bench_function("find jobs with news", |bencher| {
        let newest = busy.runtime.block_on(busy.store.newest_event()).expect("there are events");
        busy.time(bencher, async || {
            let jobs = busy.store.jobs_with_events_after(newest - 1).await.expect("events can be read");
            assert_eq!(jobs.len(), 1);
        });
    });
    group.finish();
}

/// What `POST /v1/rollout-sets/{id}/frontier` does with the file of scores: read it as JSON, and compute the table.
fn analysis(criterion: &mut Criterion) {
    let completion = |group: u32, sample: u32| ScoredCompletion {
        sequence: sample,
        answer: sample / 2,
        reward: f64::from((group + sample) % 3 / 2),
        behavior_logprob: -f64::from(10 + sample),
        tokens: 10 + sample,
    };
    let group = |group| ScoredGroup { completions: (0..GROUP_SIZE).map(|sample| completion(group, sample)).collect() };
    let groups: Vec<ScoredGroup> = (0..GROUPS).map(group).collect();
    let text = serde_json::to_vec(&groups).expect("scores are JSON");
    let betas = frontier::default_betas();
    criterion.bench_function("frontier of 10000 rollouts at 25 betas", |bencher| {
        bencher.iter(|| {
            let groups: Vec<ScoredGroup> = serde_json::from_slice(&text).expect("scores are read back");
            frontier::frontier(&groups, &betas, None)
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(5));
    targets = analysis, store
}
criterion_main!(benches);
