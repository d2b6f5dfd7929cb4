//! Keys and values in bf16 on a device: those of the CPU beside f32, and nothing new where the device computes in bf16.

use super::*;
use crate::job::spec::SampledCache;

/// The built-in model, and one whose attention has windows.
fn models() -> [Option<ModelConfig>; 2] {
    [None, Some(of_family("mistral", json!({"sliding_window": 17})))]
}

fn spec(cache: Option<SampledCache>) -> SamplingSpec {
    SamplingSpec { max_new_tokens: 24, cache, ..SamplingSpec::default() }
}

#[test]
fn completions_over_bf16_are_those_of_the_cpu_whatever_runs_beside_them() {
    for model in models() {
        let narrow = Some(SampledCache::Bf16);
        let cpu = Samples::of(model.as_ref(), &Arc::new(Cpu), spec(narrow));
        let gpu = Samples::of(model.as_ref(), &device(Precision::F32), spec(narrow));
        let (wanted, got) = (cpu.run(12, 512), gpu.run(12, 512));
        // Beside a boundary a key may round to its other neighbour; what follows a token that differs is another text.
        let (mut same, mut all) = (0, 0);
        for (got, wanted) in got.iter().zip(&wanted) {
            let pairs = got.tokens.iter().zip(&wanted.tokens);
            let alike = pairs.take_while(|(got, wanted)| got == wanted).count();
            (same, all) = (same + alike, all + wanted.tokens.len());
            for (got, wanted) in got.behavior_logprobs[..alike].iter().zip(&wanted.behavior_logprobs) {
                assert!((got - wanted).abs() < 2e-2, "{got} and {wanted}");
            }
        }
        assert!(10 * same >= 9 * all, "{same} of {all} tokens");
        for (batch_size, prefill_tokens) in [(1, 512), (5, 7), (12, 1)] {
            let other = gpu.run(batch_size, prefill_tokens);
            assert!(other.iter().zip(&got).all(|(a, b)| a.tokens == b.tokens && a.text == b.text));
        }
        let whole = Samples::of(model.as_ref(), &device(Precision::F32), spec(None));
        assert_eq!(2 * gpu.decoder.bytes_per_block(narrow), whole.decoder.bytes_per_block(None));
        let differs = |(a, b): (&Completion, &Completion)| a.behavior_logprobs != b.behavior_logprobs;
        assert!(whole.run(12, 512).iter().zip(&got).any(differs), "rounding says something");
    }
}

#[test]
fn a_device_that_computes_in_bf16_keeps_keys_and_values_so_in_any_case() {
    let model = of_family("llama", json!({}));
    let of = |cache| Samples::of(Some(&model), &device(Precision::Bf16), spec(cache));
    let (plain, told) = (of(None), of(Some(SampledCache::Bf16)));
    assert_eq!(plain.run(12, 512), told.run(12, 512));
    assert_eq!(plain.decoder.bytes_per_block(None), told.decoder.bytes_per_block(Some(SampledCache::Bf16)));
}
