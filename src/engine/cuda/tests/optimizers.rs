//! Steps of optimizers on a device are those of the CPU, and go on from a checkpoint with the same bits.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::adapters::adapted;
use super::{config, device, distance, objective, sequences};
use crate::engine::backend::Backend;
use crate::engine::batch::pack;
use crate::engine::collective::{Alone, Collective, Sockets, Watch};
use crate::engine::cpu::Cpu;
use crate::engine::kernels::gemm::Precision as CpuPrecision;
use crate::engine::learn::Learner;
use crate::engine::link::Link;
use crate::engine::model::decoder::Decoder;
use crate::engine::model::reader::load_safetensors;
use crate::engine::model::weights::{Weights, write_safetensors};
use crate::engine::optimizer::Optimizer;
use crate::job::spec::{MomentState, OptimizerKind, OptimizerSpec, Precision, WeightDtype};

/// What is trained: all weights, or an adapter beside them.
type Subject<B> = fn(&Arc<B>) -> Decoder<B>;

fn whole<B: Backend>(backend: &Arc<B>) -> Decoder<B> {
    let weights = Weights::random(&config(32, 2, 1, true), 3).unwrap().placed(backend).unwrap();
    Decoder::new(Arc::new(weights), CpuPrecision::F32).unwrap()
}

fn lora<B: Backend>(backend: &Arc<B>) -> Decoder<B> {
    adapted(&config(32, 2, 1, true), Precision::F32, false, backend)
}

fn dora<B: Backend>(backend: &Arc<B>) -> Decoder<B> {
    adapted(&config(32, 2, 1, true), Precision::F32, true, backend)
}

/// The weights after three steps, with the optimizer saved and loaded between them if it shall resume.
fn optimized<B: Backend>(
    (backend, subject): (&Arc<B>, Subject<B>),
    how: (OptimizerKind, MomentState),
    resume: bool,
) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    optimized_among((backend, subject), how, resume, (&Alone, folder.path()))
}

/// The same of one of several ranks, which save in one folder.
fn optimized_among<B: Backend>(
    (backend, subject): (&Arc<B>, Subject<B>),
    (kind, state): (OptimizerKind, MomentState),
    resume: bool,
    (ranks, folder): (&dyn Collective, &Path),
) -> Vec<Vec<f32>> {
    let spec =
        OptimizerSpec { kind, weight_decay: 0.1, max_grad_norm: 0.5, state, sharded: true, ..OptimizerSpec::default() };
    let decoder = subject(backend);
    let weights = Arc::clone(decoder.trained());
    let new = || Optimizer::new(&spec, &weights).among(&weights, ranks);
    let (mut optimizer, objective) = (new(), objective(json!({"type": "sft"})));
    if let Some(shares) = optimizer.shares() {
        weights.divide(shares).unwrap();
    }
    for step in 0..3 {
        let mut sums = B::Gradients::default();
        for batch in pack(&sequences()[step..step + 3], 1000) {
            let learner = Learner { decoder: &decoder, teacher: None, recompute: false, balance: 0.0, dropout: None };
            learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap();
        }
        let norm = optimizer.norm(&weights, &sums, 0.1, ranks).unwrap();
        optimizer.step(&weights, &sums, 0.1, norm, 1e-3).unwrap();
        optimizer.spread(&weights, ranks).unwrap();
        if resume && step == 1 {
            let (taken, tensors) = optimizer.state(&weights);
            let paths: Vec<_> = (0..ranks.size()).map(|rank| folder.join(format!("{rank}.safetensors"))).collect();
            write_safetensors(&paths[ranks.rank()], tensors).unwrap();
            // Until all have.
            ranks.gather(&[]).unwrap();
            optimizer = new();
            optimizer.restore(&weights, taken, &paths).unwrap();
        }
    }
    let path = folder.join(format!("model-{}.safetensors", ranks.rank()));
    weights.wholly(ranks, || weights.save(&path, WeightDtype::F32)).unwrap();
    let saved = load_safetensors(&[path]).unwrap();
    (0..weights.count()).map(|index| saved[weights.name(index)].values.clone()).collect()
}

#[test]
fn steps_of_the_optimizer_are_those_of_the_cpu_and_survive_a_checkpoint() {
    let backend = device(Precision::F32);
    // Blocks and the places that rounding depends on are others than on the CPU.
    for kind in [OptimizerKind::Adamw, OptimizerKind::Muon] {
        for (state, near) in [(MomentState::F32, 1e-5), (MomentState::Bf16, 1e-3), (MomentState::Int8, 1e-2)] {
            let how = (kind, state);
            let wanted = optimized((&Arc::new(Cpu), whole), how, false);
            let got = optimized((&backend, whole), how, false);
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!(distance(got, wanted) < near, "{how:?}: off by {}", distance(got, wanted));
            }
            assert!(
                optimized((&backend, whole), how, true) == got,
                "a resumed optimizer goes on with the same bits, {how:?}"
            );
        }
    }
}

#[test]
fn muon_beside_a_frozen_model_is_that_of_the_cpu() {
    let backend = device(Precision::F32);
    let how = (OptimizerKind::Muon, MomentState::F32);
    for (name, on_cpu, on_device) in [("lora", lora as Subject<Cpu>, lora as Subject<_>), ("dora", dora, dora)] {
        let wanted = optimized((&Arc::new(Cpu), on_cpu), how, false);
        let got = optimized((&backend, on_device), how, false);
        for (got, wanted) in got.iter().zip(&wanted) {
            assert!(distance(got, wanted) < 1e-4, "{name}: off by {}", distance(got, wanted));
        }
        assert!(optimized((&backend, on_device), how, true) == got, "{name} goes on with the same bits");
    }
}

/// Two ranks that can talk to each other.
fn pair() -> [Sockets; 2] {
    let (one, other) = UnixStream::pair().unwrap();
    let watch = Watch { patience: Duration::from_secs(60), look: Arc::new(|| None), leave: Arc::new(|| ()) };
    [Sockets::hub(vec![Link::Near(one)], watch).unwrap(), Sockets::spoke(1, 2, Link::Near(other))]
}

/// What two devices end with that divide moments, and masters.
fn divided(precision: Precision, how: (OptimizerKind, MomentState), resume: bool) -> [Vec<Vec<f32>>; 2] {
    let ranks = pair();
    let folder = tempfile::tempdir().unwrap();
    let run = |ranks: &Sockets| {
        let backend = device(precision);
        optimized_among((&backend, whole), how, resume, (ranks, folder.path()))
    };
    std::thread::scope(|scope| {
        let threads = ranks.each_ref().map(|ranks| scope.spawn(|| run(ranks)));
        threads.map(|thread| thread.join().unwrap())
    })
}

#[test]
fn devices_that_divide_the_moments_end_as_one_that_keeps_all() {
    for (precision, kind) in [
        (Precision::F32, OptimizerKind::Adamw),
        (Precision::F32, OptimizerKind::Muon),
        (Precision::Bf16, OptimizerKind::Adamw),
        (Precision::Bf16, OptimizerKind::Muon),
    ] {
        // Where a device keeps fewer bits, blocks and the places that rounding depends on are those of its share.
        for (state, near) in [(MomentState::F32, 0.0), (MomentState::Bf16, 1e-3), (MomentState::Int8, 1e-2)] {
            let how = (kind, state);
            let wanted = optimized((&device(precision), whole), how, false);
            let [got, other] = divided(precision, how, false);
            assert!(got == other, "both have the same weights, {precision:?} {how:?}");
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!(distance(got, wanted) <= near, "{precision:?} {how:?}: off by {}", distance(got, wanted));
            }
            assert!(divided(precision, how, true)[1] == got, "{precision:?} {how:?} go on with the same bits");
        }
    }
}

#[test]
fn ranks_that_divide_weights_keep_a_part_of_the_masters_each() {
    let spec = OptimizerSpec { sharded: true, ..OptimizerSpec::default() };
    let kept = |precision: Precision, ranks: &Sockets| {
        let decoder = whole(&device(precision));
        let weights = decoder.trained();
        let optimizer = Optimizer::new(&spec, weights).among(weights, ranks);
        weights.divide(optimizer.shares().unwrap()).unwrap();
        weights.parameters().masters().range().clone()
    };
    let ranks = pair();
    let [first, second] = ranks.each_ref().map(|ranks| kept(Precision::Bf16, ranks));
    assert_eq!((first.start, first.end), (0, second.start));
    assert!(!first.is_empty() && !second.is_empty(), "{first:?} and {second:?}");
    // Where passes read the masters themselves, everyone has them.
    assert_eq!(kept(Precision::F32, &ranks[1]), 0..second.end);
}
