//! Jobs come to devices by the rules, on one machine or several, alone or beside others.

use super::*;
use crate::job::waiting::{WaitCode, can_start_once, explain};

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
            pool: None,
            holders: Vec::new(),
            kept_for: None,
        })
        .collect()
}

fn request(devices: u32, gib: u64) -> Request {
    Request {
        job: JobId::generate(),
        priority: 0,
        shape: Shape::of_one_host(devices),
        elastic: false,
        pool: None,
        memory: gib * GIB,
        base: None,
    }
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
fn a_job_has_its_devices_on_one_host_and_leaves_whole_hosts_to_others() {
    let names = ["a/cuda:0", "a/cuda:1", "a/cuda:2", "b/cuda:0", "b/cuda:1"];
    let named = |(slot, name): (Slot, &str)| Slot { name: name.to_owned(), ..slot };
    let slots: Vec<Slot> = slots(&[80; 5]).into_iter().zip(names).map(named).collect();
    let mut placement = Placement::new(slots);
    let placed = placement.offer(&request(2, 10)).unwrap();
    assert_eq!(placed, [3, 4], "the host on which fewest stay free");
    assert!(placement.offer(&request(4, 10)).is_none(), "no host has four");
    assert_eq!(placement.claimants().iter().flatten().count(), 2, "and for one that has none nothing is kept");
    assert_eq!(placement.offer(&request(3, 10)).unwrap(), [0, 1, 2]);
}

#[test]
fn a_job_that_names_a_pool_runs_on_its_machines_alone() {
    let names = ["a/cuda:0", "b/cuda:0"];
    let named = |(slot, name): (Slot, &str)| Slot { name: name.to_owned(), ..slot };
    let mut slots: Vec<Slot> = slots(&[80; 2]).into_iter().zip(names).map(named).collect();
    slots[1].pool = Some(Arc::from("large"));
    let of = |pool: &str| Request { pool: Some(Arc::from(pool)), ..request(1, 10) };
    let mut placement = Placement::new(slots.clone());
    let unknown = of("small");
    assert_eq!(placement.offer(&unknown), None);
    let waiting = explain(&placement, &unknown, None, 1, NOW);
    assert_eq!(waiting.code, WaitCode::NoDevice);
    assert!(waiting.message.contains("--pool small"), "{}", waiting.message);
    assert_eq!(placement.offer(&of("large")), Some(vec![1]));
    let later = of("large");
    assert_eq!(placement.offer(&later), None, "the other machine is not in it");
    let wide = Request { shape: Shape::new(2, 2), ..of("large") };
    assert_eq!(Placement::new(slots.clone()).offer(&wide), None);
    assert!(!can_start_once(&slots, &wide));
    assert_eq!(placement.offer(&request(1, 10)), Some(vec![0]), "any will do");
}

#[test]
fn a_machine_that_was_started_for_a_job_on_several_is_kept_until_the_others_are_there() {
    let names = ["a/cuda:0", "b/cuda:0"];
    let named = |(slot, name): (Slot, &str)| Slot { name: name.to_owned(), ..slot };
    let mut slots: Vec<Slot> = slots(&[80; 2]).into_iter().zip(names).map(named).collect();
    let wide = Request { shape: Shape::new(2, 2), ..request(1, 10) };
    let narrow = Request { priority: 1, ..request(1, 10) };
    let keep = |slots: &mut [Slot], gathers| {
        slots.iter_mut().for_each(|slot| slot.kept_for = Some(Kept { job: wide.job, gathers }));
    };
    keep(&mut slots, true);
    let mut alone = Placement::new(slots[..1].to_vec());
    assert_eq!(alone.offer(&narrow), None);
    assert_eq!(code(&alone, &narrow, None), WaitCode::DevicesReserved);
    assert_eq!(alone.offer(&wide), None);
    assert!(alone.is_exhausted(), "nobody else is asked");
    keep(&mut slots, false);
    let mut together = Placement::new(slots);
    assert_eq!(together.offer(&narrow), None);
    assert_eq!(code(&together, &narrow, None), WaitCode::DevicesReserved);
    assert!(!together.is_exhausted());
    assert_eq!(together.offer(&wide), Some(vec![0, 1]));
}

#[test]
fn a_job_on_several_hosts_has_as_many_devices_on_each_or_waits_for_them() {
    let names = ["a/cuda:0", "a/cuda:1", "b/cpu", "c/cuda:0", "c/cuda:1", "d/cuda:0"];
    let named = |(slot, name): (Slot, &str)| Slot { name: name.to_owned(), ..slot };
    let mut slots: Vec<Slot> = slots(&[80; 6]).into_iter().zip(names).map(named).collect();
    let on = |devices, hosts| Request { shape: Shape::new(devices, hosts), ..request(1, 10) };
    let offered = |slots: &[Slot], request: &Request| Placement::new(slots.to_vec()).offer(request);
    assert_eq!(offered(&slots, &on(4, 2)), Some(vec![0, 1, 3, 4]));
    assert_eq!(offered(&slots, &on(2, 2)), Some(vec![0, 5]), "the hosts on which fewest stay free");
    assert_eq!(offered(&slots, &on(3, 3)), Some(vec![0, 3, 5]), "of one kind");
    assert_eq!(offered(&slots, &on(4, 4)), None);
    let elastic = |request: Request| Request { elastic: true, ..request };
    assert_eq!(offered(&slots, &elastic(on(4, 4))), Some(vec![0, 3, 5]), "as many hosts as there are");

    slots[1].status = DeviceStatus::Busy;
    let mut placement = Placement::new(slots.clone());
    let (wide, narrow) = (on(4, 2), request(1, 10));
    assert_eq!(placement.offer(&wide), None);
    let kept: Vec<bool> = placement.claimants().iter().map(Option::is_some).collect();
    assert_eq!(kept, [true, false, false, true, true, false], "where most of it is free already");
    assert_eq!(placement.offer(&narrow), Some(vec![5]));
    assert_eq!(code(&placement, &wide, None), WaitCode::DevicesBusy);
    assert_eq!(offered(&slots, &elastic(wide)), Some(vec![3, 4]), "what is free will do");
    assert_eq!(offered(&slots[..2], &elastic(request(2, 10))), Some(vec![0]));
    let told = explain(&Placement::new(slots), &on(9, 3), None, 1, NOW);
    assert_eq!(told.code, WaitCode::NoDevice);
    assert!(told.message.contains("3 machines with 3 devices each"), "{}", told.message);
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
    let wide = Request { shape: Shape::of_one_host(2), ..sharing(1) };
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
