//! How long it takes to read the metrics of a job of a million steps, as a page draws them: from the points that are
//! written with the steps.
//!
//! ```text
//! cargo bench --bench series
//! ```
//!
//! Writing the million steps, a thousand in one synced transaction, takes minutes; how long a step of it took is printed.
//! The data directory lies below the target directory.

use std::time::Instant;

use anneal::device::Machine;
use anneal::job::event::StepMetrics;
use anneal::job::{EventBody, JobId, JobKind, NewEvent, Timestamp, WorkerId};
use anneal::spec::Resolved;
use anneal::store::{Lease, MetricQuery, NewJob, Store};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;
use tokio::runtime::Builder;

const STEPS: u64 = 1_000_000;
/// Steps in one transaction.
const TOGETHER: u64 = 1000;
const METRICS: [&str; 3] = ["grad/norm", "loss", "reward/mean"];
/// Time is an argument of the store; here it stands still.
const NOW: Timestamp = Timestamp(1_750_000_000_000);

/// A running job.
async fn run_one(store: &Store) -> Lease {
    let devices = Machine::open("cpu", std::path::Path::new(".")).and_then(|machine| machine.read_all());
    store.set_devices(&devices.expect("there is a CPU"), NOW).await.expect("devices are stored");
    let spec = json!({
        "model": "builtin:arith-tiny",
        "dataset": {"train": "builtin:arithmetic"},
        "objective": {"type": "sft"},
        "train": {"steps": STEPS},
    });
    let (attributes, resolved) = Resolved::parse(JobKind::Train, &spec).expect("the spec is resolved");
    let job = NewJob::of(spec, attributes, resolved, 1 << 20);
    store.submit_job(job, None, NOW).await.expect("the job is stored");
    let claim = store.claim(WorkerId::generate(), "cpu", NOW).await.expect("claiming works");
    claim.expect("a job was just submitted").lease
}

fn step_event(step: u64) -> NewEvent {
    let value = |number: u64| ((step * 7919 + number) % 1013) as f64 / 1013.0;
    let values = METRICS.iter().zip(0..).map(|(name, number)| (*name, value(number))).collect();
    NewEvent::info("a step", EventBody::Metrics(StepMetrics { step, values }))
}

fn series(criterion: &mut Criterion) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let (store, job): (Store, JobId) = runtime.block_on(async {
        let store = Store::open(directory.path()).await.expect("an empty directory becomes a data directory");
        let lease = run_one(&store).await;
        let began = Instant::now();
        for first in (1..=STEPS).step_by(TOGETHER as usize) {
            let events: Vec<NewEvent> = (first..first + TOGETHER).map(step_event).collect();
            store.record(lease, &events, NOW).await.expect("the lease is good");
        }
        println!("writing a step of {} metrics: {:?}", METRICS.len(), began.elapsed() / STEPS as u32);
        (store, lease.job)
    });
    let mut group = criterion.benchmark_group("a million steps of three metrics");
    for (name, steps, points) in [
        ("all in 1000 points", 0..=STEPS, 1000),
        ("all in 200 points", 0..=STEPS, 200),
        ("from 123457 to 654321 in 1000 points", 123_457..=654_321, 1000),
        ("the last 5000 in 1000 points", STEPS - 4999..=STEPS, 1000),
    ] {
        let query = MetricQuery { names: &[], steps, points };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let all = runtime.block_on(store.metrics(job, &query)).expect("metrics can be read");
                assert_eq!(all.len(), METRICS.len());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, series);
criterion_main!(benches);
