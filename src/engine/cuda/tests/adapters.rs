//! Adapters on a device against those on the CPU.

use std::sync::Arc;

use serde_json::json;

use super::{device, distance, families, gradients, tolerance, wave};
use crate::engine::backend::{Backend, Usage};
use crate::engine::cpu::Cpu;
use crate::engine::model::adapter::{Adapter, Origin};
use crate::engine::model::decoder::Decoder;
use crate::engine::model::reader::Reader;
use crate::engine::model::weights::Weights;
use crate::job::adapter::AdapterSpec;
use crate::job::spec::Precision;
use crate::modelfile::ModelConfig;

/// The same weights frozen, with an adapter.
pub(super) fn adapted<B: Backend>(
    config: &ModelConfig,
    precision: Precision,
    dora: bool,
    backend: &Arc<B>,
) -> Decoder<B> {
    let usage = Usage::Computing(precision.into());
    let weights = Weights::read(backend, config, usage, &Reader::random(config, 3)).unwrap();
    let spec: AdapterSpec =
        serde_json::from_value(json!({"type": "lora", "rank": 8, "dropout": 0.2, "dora": dora})).unwrap();
    let origin = Origin::New { lora: spec.resolve(None).unwrap(), seed: 4 };
    let adapter = Adapter::load(backend, config, &origin, &mut &Reader::random(config, 3)).unwrap();
    let own = adapter.weights();
    for index in (0..own.count()).filter(|index| own.name(*index).contains("lora_B")) {
        let small: Vec<f32> = wave(own.len_of(index), 0.7).into_iter().map(|x| 0.1 * x).collect();
        backend.write(own.parameters(), index, &small).unwrap();
    }
    Decoder::for_sequences(Arc::new(weights), Some(adapter), precision.into(), 512).unwrap()
}

#[test]
fn adapters_are_those_of_the_cpu() {
    for precision in [Precision::F32, Precision::Bf16] {
        for (config, dora) in families().into_iter().flat_map(|config| [(config.clone(), false), (config, true)]) {
            let (cpu, gpu) = (
                adapted(&config, precision, dora, &Arc::new(Cpu)),
                adapted(&config, precision, dora, &device(precision)),
            );
            for recompute in if dora { vec![false] } else { vec![false, true] } {
                let (loss, wanted) = gradients(&cpu, None, recompute);
                let (got_loss, got) = gradients(&gpu, None, recompute);
                let near = 4.0 * tolerance(precision);
                assert!((loss - got_loss).abs() < near * loss.abs().max(1.0), "{loss} and {got_loss}");
                // Rounded otherwise, a token now and then goes to another expert.
                if precision == Precision::Bf16 && config.architecture.experts.is_some() {
                    continue;
                }
                for (index, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                    let (name, off) = (cpu.trained().name(index), distance(got, wanted));
                    assert!(off < near, "{precision:?}, {}: {name} is off by {off}", config.family.name);
                }
            }
        }
    }
}
