//! What a store of several servers takes: submissions, events and claims a second on PostgreSQL, all on this machine.
//!
//! ```text
//! scripts/postgres.sh cargo bench --bench cluster
//! DEVICES=10000 FREE=200 QUEUED=50000 scripts/postgres.sh cargo bench --bench cluster    all but 200 are busy
//! ```
//!
//! Without a PostgreSQL beside it SQLite is measured. `scripts/postgres.sh` starts one that does not sync, so that these are
//! figures of the statements and not of a disk. With an object storage beside it (`scripts/cluster.sh`, or
//! `scripts/seaweedfs.sh`) a file of a gigabyte goes there and comes back, by curl and by the store in turn.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use anneal::job::event::StepMetrics;
use anneal::job::{DeviceProcess, DeviceReading, EventBody, FileId, JobKind, NewEvent, Timestamp, WorkerId};
use anneal::spec::Resolved;
use anneal::store::{BucketAddress, Ended, Lease, Location, NewJob, Store, WorkerRow};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const NOW: Timestamp = Timestamp(1_750_000_000_000);
const WRITERS: u32 = 8;
const LASTS: Duration = Duration::from_secs(5);

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable");
        let address = std::env::var("ANNEAL_TEST_POSTGRES").ok();
        let open = async || Store::open_at(directory.path(), address.as_deref(), None).await.expect("it opens");
        let store = open().await;
        println!("{}", if store.is_shared() { "PostgreSQL" } else { "SQLite" });
        let (devices, queued) = (number("DEVICES", 1000), number("QUEUED", 5000));
        let free = number("FREE", devices);
        let readings: Vec<DeviceReading> = (0..devices).map(|n| reading(n, devices, free)).collect();
        store.set_devices(&readings, NOW).await.expect("devices are stored");
        submissions(&store, queued).await;
        // As PostgreSQL does by itself within a minute.
        if let Some(address) = &address {
            let done = std::process::Command::new("psql").args(["-qc", "analyze", address]).status();
            assert!(done.expect("psql is there").success());
        }
        let leases = claims(&store, &readings, free).await;
        events(&open, &leases).await;
        if let Ok(url) = std::env::var("ANNEAL_TEST_S3") {
            transfers(&format!("{url}/bench")).await;
        }
    });
}

/// Megabytes a second of one large file, to the storage and back.
async fn transfers(url: &str) {
    const TURNS: u32 = 3;
    let environment: Vec<(String, String)> = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    let address = BucketAddress { url: url.to_owned(), environment, redirects: false };
    let machine = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable");
    let (one, two) = (machine(), machine());
    let store = Store::open_at(one.path(), None, Some(&address)).await.expect("it opens");
    let other = Store::open_at(two.path(), None, Some(&address)).await.expect("it opens");
    let megabytes = u64::from(number("MEGABYTES", 1000));
    let rate = |began: Instant| megabytes as f64 / began.elapsed().as_secs_f64();
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..TURNS {
        let staged = store.place().stage();
        let mut file = staged.create().expect("the disk has room");
        let block: Vec<u8> = (0..1_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for _ in 0..megabytes {
            file.write_all(&block).expect("the disk has room");
        }
        file.sync_all().expect("the disk has room");
        let location = Location::file(FileId::generate());
        let began = Instant::now();
        staged.publish(&location).await.expect("it is stored");
        rates[1].push(rate(began));
        let path = store.place().fetch(&location).await.expect("it is here");
        let began = Instant::now();
        curl(&["-T", &path.display().to_string()], &format!("{url}/by-curl"));
        rates[0].push(rate(began));
        let (began, copy) = (Instant::now(), two.path().join("by-curl"));
        curl(&["-o", &copy.display().to_string()], &format!("{url}/by-curl"));
        File::open(&copy).and_then(|file| file.sync_all()).expect("the disk has room");
        rates[2].push(rate(began));
        std::fs::remove_file(&copy).expect("it is there");
        let began = Instant::now();
        let brought = other.place().fetch(&location).await.expect("it comes");
        rates[3].push(rate(began));
        assert_eq!(brought.metadata().expect("it is there").len(), megabytes * 1_000_000);
        for place in [store.place(), other.place()] {
            place.remove(&location).await;
        }
    }
    let [up_by_curl, up, down_by_curl, down] = rates.map(|mut rates| {
        rates.sort_unstable_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    println!(
        "up            {up:8.0} MB a second, {megabytes} MB; {up_by_curl:.0} by curl: {:.0} %",
        up / up_by_curl * 100.0
    );
    println!(
        "down          {down:8.0} MB a second, {megabytes} MB; {down_by_curl:.0} by curl: {:.0} %",
        down / down_by_curl * 100.0
    );
}

/// Talks to the storage as a program that knows nothing of anneal.
fn curl(arguments: &[&str], url: &str) {
    let variable = |name| std::env::var(name).expect("scripts/seaweedfs.sh sets it");
    let user = format!("{}:{}", variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"));
    let address = url.replace("s3:/", &variable("AWS_ENDPOINT_URL"));
    let done = std::process::Command::new("curl")
        .args(["-fsS", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", &user])
        .args(["-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"])
        .args(arguments)
        .arg(address)
        .status();
    assert!(done.expect("curl is there").success());
}

fn reading(number: u32, devices: u32, free: u32) -> DeviceReading {
    // Eight to a machine.
    let host = if devices > 8 { format!("host-{:05}", number / 8) } else { String::from("local") };
    DeviceReading {
        name: anneal::job::device::name_on(&host, &format!("simulated:{}", number % 8)),
        number: number % 8,
        description: String::from("a device"),
        uuid: None,
        memory_total: 80 << 30,
        memory_free: 80 << 30,
        compute_capability: None,
        driver_version: None,
        processes: if number < free {
            Vec::new()
        } else {
            vec![DeviceProcess { pid: 1, memory_used: None, ours: false }]
        },
        fault: None,
    }
}

fn job() -> NewJob {
    let spec: Value = json!({
        "model": "builtin:arith-tiny",
        "dataset": {"train": "builtin:arithmetic", "eval": "builtin:arithmetic"},
        "verifier": {"type": "numeric"},
        "objective": {"type": "bolt"},
        "train": {"steps": 1000},
    });
    let (attributes, resolved) = Resolved::parse(JobKind::Train, &spec).expect("the spec is resolved");
    NewJob::of(spec, attributes, resolved, 1 << 20)
}

async fn submissions(store: &Store, queued: u32) {
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    const CLIENTS: u32 = 64;
    for client in 0..CLIENTS {
        let own = store.clone();
        tasks.spawn(async move {
            for _ in (client..queued).step_by(CLIENTS as usize) {
                own.submit_job(job(), None, NOW).await.expect("the job is stored");
            }
        });
    }
    tasks.join_all().await;
    let rate = f64::from(queued) / began.elapsed().as_secs_f64();
    println!("submissions   {rate:8.0} a second, {CLIENTS} clients, {queued} jobs");
}

/// One worker after the other claims a job, as many as fit into the time.
async fn claims(store: &Store, readings: &[DeviceReading], free: u32) -> Vec<(Lease, WorkerId)> {
    let (mut leases, mut took) = (Vec::new(), Vec::new());
    let mut workers = Vec::new();
    for reading in readings.iter().take(free.min(2000) as usize) {
        let id = WorkerId::generate();
        let row = WorkerRow {
            id,
            device: reading.name.clone(),
            description: String::new(),
            pid: 1,
            started_at: NOW,
            seen_at: NOW,
        };
        store.add_worker(&row).await.expect("the worker is stored");
        workers.push((id, reading.name.clone()));
    }
    let began = Instant::now();
    for (id, device) in &workers {
        if began.elapsed() > LASTS * 2 {
            break;
        }
        let one = Instant::now();
        if let Some(claim) = store.claim(*id, device, NOW).await.expect("claiming works") {
            took.push(one.elapsed());
            leases.push((claim.lease, *id));
        }
    }
    let rate = took.len() as f64 / began.elapsed().as_secs_f64();
    took.sort_unstable();
    let at =
        |share: f64| took.get((took.len() as f64 * share) as usize).copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!(
        "claims        {rate:8.0} a second, one after the other, {} devices, {free} of them free, p50 {:.1} ms, p99 {:.1} ms",
        readings.len(),
        at(0.5),
        at(0.99)
    );
    leases
}

async fn events(open: &impl AsyncFn() -> Store, leases: &[(Lease, WorkerId)]) {
    for (turn, batch) in (0..).zip([1, 16, 128]) {
        let mut tasks = JoinSet::new();
        let began = Instant::now();
        for (lease, _) in leases.iter().take(WRITERS as usize).copied() {
            let own = open().await;
            tasks.spawn(async move {
                let (mut written, mut step) = (0_u64, turn * 1_000_000);
                while began.elapsed() < LASTS {
                    let events: Vec<NewEvent> = (0..batch).map(|n| event(step + n)).collect();
                    own.record(lease, &events, NOW).await.expect("the lease is good");
                    (written, step) = (written + batch, step + batch);
                }
                written
            });
        }
        let written: u64 = tasks.join_all().await.into_iter().sum();
        let rate = written as f64 / began.elapsed().as_secs_f64();
        println!("events        {rate:8.0} a second, {WRITERS} workers, {batch} in a transaction, each with 9 metrics");
    }
    for (lease, _) in leases.iter().take(1) {
        let store = open().await;
        store.end_attempt(*lease, Ended::Drained, NOW).await.expect("the lease is good");
    }
}

fn event(step: u64) -> NewEvent {
    let names = [
        "loss",
        "grad/norm",
        "learning_rate",
        "reward/mean",
        "reward/std",
        "completion/tokens_mean",
        "ess/ratio",
        "time/step_seconds",
        "step/tokens",
    ];
    let values = names.into_iter().map(|name| (name, 0.5)).collect();
    NewEvent::info(format!("step {step}"), EventBody::Metrics(StepMetrics { step, values }))
}
