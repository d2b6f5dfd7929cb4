//! From token sequences to the packed micro-batches of one forward and backward pass.

use super::random::Stream;
use super::rows::Packed;

/// A prompt with a completion to learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    pub prompt: std::sync::Arc<[u32]>,
    pub completion: Vec<u32>,
    /// Whether each token of the completion is learnt; empty where all are.
    pub loss_mask: Vec<bool>,
    /// The objective's credit on every token of the completion.
    pub credit: f32,
    /// Log-probabilities at sampling time; empty when nothing was sampled.
    pub behavior_logprobs: Vec<f32>,
    /// Log-probabilities under the model the job started from; empty while unknown.
    pub reference_logprobs: Vec<f32>,
    /// The same under the policy that the steps of the sampling phase began with; empty where nobody asks for them.
    pub proximal_logprobs: Vec<f32>,
}

impl Sequence {
    /// Input rows: every token but the last, which predicts nothing.
    pub fn rows(&self) -> usize {
        self.prompt.len() + self.completion.len() - 1
    }

    /// Tokens that are learnt.
    pub fn targets(&self) -> usize {
        if self.loss_mask.is_empty() { self.completion.len() } else { self.learnt().count() }
    }

    /// The places in the completion that are learnt.
    fn learnt(&self) -> impl Iterator<Item = usize> {
        (0..self.completion.len()).filter(|place| self.loss_mask.get(*place).copied().unwrap_or(true))
    }
}

/// Sequences side by side without padding. Row `i` holds one input token; the rows of `target_rows` predict
/// `targets`, which are exactly the completion tokens that are learnt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MicroBatch {
    pub tokens: Vec<u32>,
    pub positions: Vec<u32>,
    /// Start of every sequence and, last, the number of rows.
    pub boundaries: Vec<usize>,
    /// Numbers of the sequences among those that were packed.
    pub numbers: Vec<u32>,
    pub target_rows: Vec<u32>,
    pub targets: Vec<u32>,
    /// Per target the number of its sequence in this batch.
    pub sequences: Vec<u32>,
    /// Per target.
    pub credit: Vec<f32>,
    /// Per target; fewer if any sequence lacks them.
    pub behavior_logprobs: Vec<f32>,
    /// Per target; fewer if any sequence lacks them.
    pub reference_logprobs: Vec<f32>,
    /// Per target; fewer if any sequence lacks them.
    pub proximal_logprobs: Vec<f32>,
}

/// Packs sequences, in order, into micro-batches of at most `budget` rows; a longer sequence gets one of its own.
/// A prompt must not be empty; completions without tokens are left out.
pub fn pack<'a>(sequences: impl IntoIterator<Item = &'a Sequence>, budget: usize) -> Vec<MicroBatch> {
    let mut batches: Vec<MicroBatch> = Vec::new();
    for (number, sequence) in sequences.into_iter().enumerate().filter(|(_, s)| s.targets() > 0) {
        let fits = batches.last().is_some_and(|b| b.tokens.len() + sequence.rows() <= budget);
        if !fits {
            batches.push(MicroBatch { boundaries: vec![0], ..MicroBatch::default() });
        }
        if let Some(batch) = batches.last_mut() {
            batch.numbers.push(number as u32);
            batch.push(sequence);
        }
    }
    batches
}

impl MicroBatch {
    /// The input tokens, as the decoder takes them.
    pub fn packed(&self) -> Packed<'_> {
        Packed { tokens: &self.tokens, positions: &self.positions, boundaries: &self.boundaries }
    }

    /// A word for each row, which depends on the sequence's number and the place in it alone.
    pub fn keys(&self, stream: &Stream) -> Vec<u32> {
        let lengths = self.boundaries.windows(2).map(|pair| pair[1] - pair[0]);
        let of =
            |(number, length): (&u32, usize)| (0..length as u32).map(|place| stream.word(*number, place)).collect();
        self.numbers.iter().zip(lengths).flat_map(|sequence| -> Vec<u32> { of(sequence) }).collect()
    }

    fn push(&mut self, sequence: &Sequence) {
        let start = self.tokens.len();
        let inputs = sequence.prompt.iter().chain(&sequence.completion).take(sequence.rows());
        self.tokens.extend(inputs);
        self.positions.extend(0..sequence.rows() as u32);
        self.boundaries.push(self.tokens.len());
        let first = start + sequence.prompt.len() - 1;
        self.target_rows.extend(sequence.learnt().map(|place| (first + place) as u32));
        self.targets.extend(sequence.learnt().map(|place| sequence.completion[place]));
        let number = self.boundaries.len() as u32 - 2;
        self.sequences.extend(std::iter::repeat_n(number, sequence.targets()));
        self.credit.extend(std::iter::repeat_n(sequence.credit, sequence.targets()));
        self.behavior_logprobs.extend(&sequence.behavior_logprobs);
        self.reference_logprobs.extend(&sequence.reference_logprobs);
        self.proximal_logprobs.extend(&sequence.proximal_logprobs);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::random::Purpose;

    fn sequence(prompt: usize, completion: usize) -> Sequence {
        Sequence {
            prompt: (0..prompt as u32).collect(),
            completion: (100..100 + completion as u32).collect(),
            loss_mask: Vec::new(),
            credit: prompt as f32,
            behavior_logprobs: vec![-1.0; completion],
            reference_logprobs: Vec::new(),
            proximal_logprobs: Vec::new(),
        }
    }

    #[test]
    fn every_target_row_holds_the_token_before_its_target() {
        let batches = pack(&[sequence(3, 2), sequence(1, 3)], 100);
        assert_eq!(batches.len(), 1);
        let batch = &batches[0];
        assert_eq!(batch.tokens, [0, 1, 2, 100, 0, 100, 101]);
        assert_eq!(batch.boundaries, [0, 4, 7]);
        assert_eq!(batch.target_rows, [2, 3, 4, 5, 6]);
        assert_eq!(batch.targets, [100, 101, 100, 101, 102]);
        assert_eq!(batch.sequences, [0, 0, 1, 1, 1]);
        assert_eq!(batch.credit, [3.0, 3.0, 1.0, 1.0, 1.0]);
        assert_eq!(batch.numbers, [0, 1]);
    }

    #[test]
    fn tokens_that_are_not_learnt_are_read_and_are_no_targets() {
        let masked = Sequence { loss_mask: vec![true, false, true], behavior_logprobs: Vec::new(), ..sequence(2, 3) };
        let batch = &pack(std::slice::from_ref(&masked), 100)[0];
        assert_eq!(masked.targets(), 2);
        assert_eq!(batch.tokens, [0, 1, 100, 101]);
        assert_eq!((&batch.target_rows[..], &batch.targets[..]), (&[1, 3][..], &[100, 102][..]));
        assert_eq!(batch.credit, [2.0, 2.0]);
        assert!(pack(&[Sequence { loss_mask: vec![false; 3], ..masked }], 100).is_empty());
    }

    proptest! {
        #[test]
        fn packing_keeps_every_target_and_the_budget(
            sizes in prop::collection::vec((1..20_usize, 0..20_usize), 0..30),
            budget in 1..60_usize,
        ) {
            let sequences: Vec<Sequence> = sizes.iter().map(|(p, c)| sequence(*p, *c)).collect();
            let batches = pack(&sequences, budget);
            let stream = Stream::new(1, Purpose::Dropout, 2);
            let keys: Vec<u32> = batches.iter().flat_map(|b| b.keys(&stream)).collect();
            let whole = pack(&sequences, usize::MAX);
            prop_assert_eq!(keys, whole.first().map_or_else(Vec::new, |b| b.keys(&stream)));
            let targets: usize = batches.iter().map(|b| b.targets.len()).sum();
            prop_assert_eq!(targets, sizes.iter().map(|(_, c)| c).sum::<usize>());
            for batch in &batches {
                prop_assert!(batch.tokens.len() <= budget || batch.boundaries.len() == 2);
                prop_assert_eq!(batch.target_rows.len(), batch.credit.len());
                prop_assert_eq!(batch.behavior_logprobs.len(), batch.targets.len());
            }
        }
    }
}
