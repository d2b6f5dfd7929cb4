//! What would lower a job's need of memory, and by how much: what a refusal says.

use super::memory::{Beside, FEWEST_TOKENS, Machine, Shape, of_training};
use super::spec::{
    Masters, MicroBatchTokens, MomentState, Precision, Recompute, SampledCache, SamplingSpec, TrainSpec,
};

/// What would lower a job's need, with what it saves, the most first.
pub fn savings(
    shape: &Shape,
    (train, sampling): (&TrainSpec, &SamplingSpec),
    beside: Beside,
    machine: &Machine,
) -> Vec<(&'static str, u64)> {
    let need = |train: &TrainSpec, sampling: &SamplingSpec, beside: Beside| {
        of_training(shape, (train, sampling), beside, machine).total()
    };
    let whole = need(train, sampling, beside);
    let with = |change: &dyn Fn(&mut TrainSpec, &mut SamplingSpec, &mut Beside)| {
        let (mut train, mut sampling, mut beside) = (train.clone(), sampling.clone(), beside);
        change(&mut train, &mut sampling, &mut beside);
        whole.saturating_sub(need(&train, &sampling, beside))
    };
    let mut all = vec![
        ("`optimizer.state: \"int8\"`", with(&|_, _, beside| beside.moments = MomentState::Int8)),
        (
            "`optimizer.masters: \"bf16\"`",
            with(&|_, _, beside| {
                // What a GPU does not have is no advice.
                if beside.adapter.is_none() && machine.panels {
                    beside.masters = Masters::Bf16;
                }
            }),
        ),
        ("`train.precision: \"bf16\"`", with(&|train, _, _| train.precision = Precision::Bf16)),
        ("`train.recompute: true`", with(&|train, _, _| train.recompute = Recompute::Set(true))),
        (
            "`train.micro_batch_tokens: 256`",
            with(&|train, _, _| train.micro_batch_tokens = MicroBatchTokens::Tokens(FEWEST_TOKENS as u32)),
        ),
        ("`train.max_lag: 0`", with(&|train, _, _| train.max_lag = 0)),
        ("`sampling.batch_size: 8`", with(&|_, sampling, _| sampling.batch_size = sampling.batch_size.min(8))),
        ("`sampling.cache: \"bf16\"`", with(&|_, sampling, _| sampling.cache = Some(SampledCache::Bf16))),
    ];
    if beside.adapter.is_none() {
        let rank_16 = shape.low_rank(16);
        let adapter = with(&|_, _, beside| (beside.adapter, beside.reference) = (Some(rank_16), false));
        all.push(("an `adapter` in the place of all weights", adapter));
    } else if !beside.int8 {
        all.push(("`adapter.quantize: \"int8\"`", with(&|_, _, beside| beside.int8 = true)));
    }
    // What saves next to nothing is no advice.
    all.retain(|(_, saved)| *saved > whole / 50);
    all.sort_by_key(|(_, saved)| std::cmp::Reverse(*saved));
    all
}

impl Shape {
    /// Parameters of an adapter of all matrices within the layers, about.
    fn low_rank(&self, rank: u64) -> u64 {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let attention = 4 * hidden + 2 * self.attended() + 2 * self.kv_heads.saturating_mul(self.head_dim);
        let units = (3 * (hidden + inner)).saturating_mul(self.experts.max(1));
        (attention + units).saturating_mul(rank).saturating_mul(self.layers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::memory::tests::{ALONE, shape};

    #[test]
    fn what_a_refusal_advises_lowers_the_need_by_as_much() {
        let (train, sampling) = (TrainSpec::default(), SamplingSpec::default());
        let large = Shape { parameters: 10_000_000_000, layers: 32, hidden_size: 4096, ..shape() };
        let whole = of_training(&large, (&train, &sampling), ALONE, &Machine::CPU).total();
        let advice = savings(&large, (&train, &sampling), ALONE, &Machine::CPU);
        assert_eq!(advice[0].0, "an `adapter` in the place of all weights");
        let less = Beside { moments: MomentState::Int8, ..ALONE };
        let saved = whole - of_training(&large, (&train, &sampling), less, &Machine::CPU).total();
        assert!(advice.contains(&("`optimizer.state: \"int8\"`", saved)), "{advice:?}");
        assert!(advice.iter().all(|(_, saved)| *saved > 0) && advice.is_sorted_by_key(|(_, saved)| u64::MAX - saved));
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        let huge = Shape { parameters: u64::MAX, vocab_size: u64::MAX, ..shape() };
        assert!(savings(&huge, (&TrainSpec::default(), &SamplingSpec::default()), ALONE, &Machine::CPU).is_empty());
    }
}
