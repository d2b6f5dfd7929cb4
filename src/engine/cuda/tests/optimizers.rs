//! Steps of optimizers on a device are those of the CPU, and go on from a checkpoint with the same bits.

use std::sync::Arc;

use serde_json::json;

use super::{config, device, distance, objective, sequences};
use crate::engine::backend::Backend;
use crate::engine::batch::pack;
use crate::engine::cpu::Cpu;
use crate::engine::kernels::gemm::Precision as CpuPrecision;
use crate::engine::learn::Learner;
use crate::engine::model::decoder::Decoder;
use crate::engine::model::reader::load_safetensors;
use crate::engine::model::weights::{Weights, write_safetensors};
use crate::engine::optimizer::Optimizer;
use crate::job::spec::{MomentState, OptimizerKind, OptimizerSpec, Precision, WeightDtype};

/// The weights after three steps, with the optimizer saved and loaded between them if it shall resume.
fn optimized<B: Backend>(backend: &Arc<B>, (kind, state): (OptimizerKind, MomentState), resume: bool) -> Vec<Vec<f32>> {
    let spec = OptimizerSpec { kind, weight_decay: 0.1, max_grad_norm: 0.5, state, ..OptimizerSpec::default() };
    let config = config(32, 2, 1, true);
    let weights = Arc::new(Weights::random(&config, 3).unwrap().placed(backend).unwrap());
    let decoder = Decoder::new(Arc::clone(&weights), CpuPrecision::F32).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut optimizer, objective) = (Optimizer::new(&spec, &weights), objective(json!({"type": "sft"})));
    for step in 0..3 {
        let mut sums = B::Gradients::default();
        for batch in pack(&sequences()[step..step + 3], 1000) {
            let learner = Learner { decoder: &decoder, teacher: None, recompute: false, balance: 0.0, dropout: None };
            learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap();
        }
        let norm = backend.gradient_norm(&sums, 0.1).unwrap();
        optimizer.step(&weights, &sums, 0.1, norm, 1e-3).unwrap();
        if resume && step == 1 {
            let (taken, tensors) = optimizer.state(&weights);
            let path = folder.path().join("optimizer.safetensors");
            write_safetensors(&path, tensors).unwrap();
            optimizer = Optimizer::new(&spec, &weights);
            optimizer.restore(&weights, taken, &path).unwrap();
        }
    }
    let path = folder.path().join("model.safetensors");
    weights.save(&path, WeightDtype::F32).unwrap();
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
            let wanted = optimized(&Arc::new(Cpu), how, false);
            let got = optimized(&backend, how, false);
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!(distance(got, wanted) < near, "{how:?}: off by {}", distance(got, wanted));
            }
            assert!(optimized(&backend, how, true) == got, "a resumed optimizer goes on with the same bits, {how:?}");
        }
    }
}
