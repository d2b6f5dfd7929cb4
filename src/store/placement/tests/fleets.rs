//! Fleets of several machines: agents beside a server, machines of a cluster, pools.

use super::*;
use crate::job::digest::sha256_hex;
use crate::job::launch::NewLaunch;
use crate::job::{ApiKeyId, LaunchId, LaunchStatus, Scope};
use crate::store::{ApiKeyRow, NewAgent, NewApiKey};

#[tokio::test]
async fn a_worker_that_asks_is_told_what_all_devices_together_say() {
    let mut started = 0;
    for seed in 0..9_u64 {
        let machine = Machine::new(&[24, 80, 20]).await;
        let store = &machine.store;
        let mut attended: Vec<_> =
            (0..3).map(|number| (format!("simulated:{number}"), machine.workers[number])).collect();
        for host in ["box", "nook"] {
            let device = |number: u32| {
                DeviceReading::of_test(&format!("{host}/cuda:{number}"), number, u64::from(number + 1) * 20 * GIB)
            };
            let devices: Vec<DeviceReading> = (0..3).map(device).collect();
            store.join_agent(&agent_called(host, None), NOW).await.unwrap();
            store.clone().on_host(host).set_devices(&devices, NOW).await.unwrap();
            for DeviceReading { name, .. } in devices {
                attended.push((name.clone(), attend(store, &name).await));
            }
        }
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20 {
            let (devices, gib) = (1 + random(3), [1, 15, 30, 70, 100][random(5) as usize]);
            match random(4) {
                0 => machine.submit_sharing().await,
                // Of some queues no job wants several.
                _ if seed % 3 == 0 => machine.submit(random(3) as i32, 1, gib).await,
                _ => machine.submit(random(3) as i32, devices as u32, gib).await,
            };
            let (device, worker) = &attended[random(attended.len() as u64) as usize];
            started += usize::from(store.claim(*worker, device, NOW).await.unwrap().is_some());
            let all = store.starting_devices(NOW).await.unwrap();
            for (device, _) in &attended {
                let told = store.starts_on(device, NOW).await.unwrap();
                assert_eq!(told, all.contains(device), "{device}, queue {seed}");
            }
        }
    }
    assert!(started > 30, "only {started} jobs started");
}

#[tokio::test]
async fn what_no_device_would_ever_fit_needs_a_machine_within_what_its_project_may_have() {
    let machine = Machine::new(&[10, 10]).await;
    let store = &machine.store;
    // These fit, though not now; the third would never.
    for _ in 0..3 {
        machine.submit(0, 1, 8).await;
    }
    let large = machine.submit(0, 1, 40).await;
    let many = machine.submit(5, 4, 1).await;
    let limits = ProjectLimits { max_devices: Some(2), ..ProjectLimits::default() };
    store.set_project_limits("small", &limits, NOW).await.unwrap();
    let mut small = Vec::new();
    for _ in 0..4 {
        small.push(machine.submit_as("small", 0, 1, 40).await);
    }
    let needs = |patience| async move {
        let needs = store.needs(100, patience, NOW).await.unwrap();
        needs.into_iter().map(|need| need.job).collect::<std::collections::BTreeSet<_>>()
    };
    let minute = Some(std::time::Duration::from_secs(60));
    assert_eq!(needs(minute).await, [large, many, small[0], small[1]].into());
    // A machine of a cluster's is not counted among those that last.
    let launch = NewLaunch { launcher: String::from("nodes"), job: large, devices: 1, memory: 80 * GIB };
    store.plan_launches(&[launch], &[], NOW).await.unwrap();
    let launched = store.open_launches().await.unwrap().remove(0).id.to_string();
    join(store, &launched, None, &DeviceReading::of_test(&format!("{launched}/cuda:0"), 0, 80 * GIB)).await;
    assert!(needs(minute).await.contains(&large));
    // Another one is, as long as it was seen, or cannot have been.
    join(store, "box", None, &DeviceReading::of_test("box/cuda:0", 0, 80 * GIB)).await;
    assert_eq!(needs(minute).await, [many].into());
    let later = NOW.plus_seconds(61);
    let after = async |patience| store.needs(100, patience, later).await.unwrap().len();
    assert_eq!((after(minute).await, after(None).await), (4, 1));
}

#[tokio::test]
async fn jobs_of_a_pool_wait_for_its_machines_and_hold_nobody_else_up() {
    let machine = Machine::new(&[80]).await;
    let store = &machine.store;
    let mut spec = new_job(9, 1).spec.clone();
    spec["resources"]["pool"] = json!("large");
    let mut pooled = Vec::new();
    for _ in 0..40 {
        let new = NewJob { memory_bytes: 8 * GIB, ..NewJob::of_kind(JobKind::Train, spec.clone()) };
        pooled.push(store.submit_job(new, None, NOW).await.unwrap().job.id);
    }
    let any = machine.submit(0, 1, 8).await;
    assert_eq!(store.needs(100, None, NOW).await.unwrap().len(), pooled.len());
    assert_eq!(machine.claim(0).await.unwrap().lease.job, any, "the device of the server is in no pool");
    assert_eq!(machine.code(pooled[0]).await, Some(WaitCode::NoDevice));
    let device = DeviceReading::of_test("box/cuda:0", 0, 80 * GIB);
    let agent = NewAgent { pool: Some(String::from("large")), ..agent_called("box", None) };
    store.join_agent(&agent, NOW).await.unwrap();
    store.clone().on_host("box").set_devices(std::slice::from_ref(&device), NOW).await.unwrap();
    assert!(store.needs(100, None, NOW).await.unwrap().is_empty());
    let claim = store.claim(attend(store, &device.name).await, &device.name, NOW).await.unwrap().unwrap();
    assert_eq!(claim.lease.job, pooled[0]);
    assert_eq!(machine.code(pooled[1]).await, Some(WaitCode::DevicesBusy));
}

fn agent_called(host: &str, key: Option<ApiKeyId>) -> NewAgent {
    NewAgent {
        name: host.to_owned(),
        identity: format!("identity of {host}"),
        version: String::from("1"),
        pool: None,
        key,
    }
}

async fn join(store: &Store, host: &str, key: Option<ApiKeyId>, device: &DeviceReading) {
    store.join_agent(&agent_called(host, key), NOW).await.unwrap();
    store.clone().on_host(host).set_devices(std::slice::from_ref(device), NOW).await.unwrap();
}

#[tokio::test]
async fn a_launched_machine_is_kept_while_the_others_of_its_job_are_on_their_way() {
    let machine = Machine::new(&[]).await;
    let store = &machine.store;
    let spec = json!({
        "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
        "objective": {"type": "sft"}, "train": {"steps": 10}, "resources": {"devices": 2, "hosts": 2},
    });
    let wide = NewJob { memory_bytes: 40 * GIB, ..NewJob::of_kind(JobKind::Train, spec) };
    let wide = store.submit_job(wide, None, NOW).await.unwrap().job.id;
    let narrow = machine.submit(5, 1, 40).await;
    let new = NewLaunch { launcher: String::from("nodes"), job: wide, devices: 1, memory: 80 * GIB };
    store.plan_launches(&[new.clone(), new], &[], NOW).await.unwrap();
    let mut devices = Vec::new();
    for launch in store.open_launches().await.unwrap() {
        let host = launch.id.to_string();
        let reading = DeviceReading::of_test(&format!("{host}/cuda:0"), 0, 80 * GIB);
        join(store, &host, None, &reading).await;
        let device = reading.name;
        let id = attend(store, &device).await;
        devices.push((id, device));
        if devices.len() == 1 {
            let (id, device) = &devices[0];
            assert!(store.claim(*id, device, NOW).await.unwrap().is_none(), "the other machine is missing");
            assert_eq!(machine.code(narrow).await, Some(WaitCode::DevicesReserved));
        }
    }
    let mut claimed = Vec::new();
    for (id, device) in &devices {
        claimed.extend(store.claim(*id, device, NOW).await.unwrap().map(|claim| claim.lease.job));
    }
    assert_eq!(claimed, [wide]);
    assert_eq!(machine.code(narrow).await, Some(WaitCode::DevicesBusy));
}

#[tokio::test]
async fn a_launch_has_a_key_of_its_own_until_it_is_over() {
    let machine = Machine::new(&[]).await;
    let store = &machine.store;
    let job = machine.submit(0, 1, 40).await;
    let new = NewLaunch { launcher: String::from("nodes"), job, devices: 1, memory: 80 * GIB };
    store.plan_launches(&[new.clone(), new], &[], NOW).await.unwrap();
    let ids: Vec<LaunchId> = store.open_launches().await.unwrap().iter().map(|launch| launch.id).collect();
    assert_eq!(store.launch_key(ids[0], NOW).await.unwrap(), None, "nobody needs a key");
    let (admin, _) = ApiKeyRow::generate(
        NewApiKey {
            project: String::from("default"),
            name: String::from("admin"),
            scopes: vec![Scope::Admin],
            metadata: BTreeMap::new(),
            expires_at: None,
        },
        NOW,
    )
    .unwrap();
    let admin = store.add_api_key(admin, true).await.unwrap();
    let mut keys = Vec::new();
    for id in &ids {
        let secret = store.launch_key(*id, NOW).await.unwrap().unwrap();
        keys.push(store.api_key_with_digest(&sha256_hex(secret.as_bytes())).await.unwrap().unwrap().id);
    }
    let agent = |name: &str, key: ApiKeyId| agent_called(name, Some(key));
    let (first, second) = (ids[0].to_string(), ids[1].to_string());
    // Neither another launch's key nor anybody's speaks for it, and its own for nobody else.
    for (name, key) in [(&first, keys[1]), (&first, admin.id), (&String::from("box"), keys[0])] {
        let refused = store.join_agent(&agent(name, key), NOW).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused { code: "not_your_host", .. }), "{refused}");
    }
    store.join_agent(&agent(&first, keys[0]), NOW).await.unwrap();
    assert_eq!(store.launch(ids[0]).await.unwrap().status, LaunchStatus::Running);
    // One that works is not taken back; one that waits is, with all that its key has opened.
    store.add_session(keys[1], NOW).await.unwrap();
    assert!(!store.retract_launch(ids[0], "why", NOW).await.unwrap());
    assert!(store.retract_launch(ids[1], "why", NOW).await.unwrap());
    let over = store.join_agent(&agent(&second, keys[1]), NOW).await.unwrap_err();
    assert!(matches!(over, StoreError::Refused { .. }), "{over}");
    store.end_launch(ids[0], LaunchStatus::Ended, "it is over", NOW).await.unwrap();
    let page = crate::store::Page { after: None, limit: 10, newest_first: true };
    assert_eq!(store.api_keys(&page).await.unwrap().len(), 1, "the administrator's");
    assert!(store.hosts().await.unwrap().iter().all(|host| host.name != first));
    assert!(store.open_launches().await.unwrap().is_empty());
}
