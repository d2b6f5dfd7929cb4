//! Counter-based random numbers: every draw is a pure function of what it is for, so that a completion depends
//! neither on the batch it was sampled in nor on how often the process was restarted.
//!
//! Generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

use crate::job::random::splitmix64;

/// What a stream of random numbers is used for; streams of different purposes never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Rollout = 1,
    Evaluation = 2,
    PromptOrder = 3,
    BatchOrder = 4,
    Initialization = 5,
    /// Order of a stored rollout set.
    StoredOrder = 6,
    /// Completions that are only measured.
    Probe = 7,
    /// Completions of jobs that only sample; mixed into training, they must not repeat its own.
    RolloutSet = 8,
    /// Completions that clients ask for outside of jobs.
    Inference = 9,
    /// Factors of a new adapter.
    Adapter = 10,
    /// What does not reach an adapter in a training pass.
    Dropout = 11,
    /// Rows that are drawn by their weights.
    RowWeights = 12,
    /// Where looking for what is largest in a change of weights begins.
    Geometry = 13,
    /// Completions of held-out prompts by the policy that samples a round.
    HeldOut = 14,
    /// Which of a data set's rows a job takes.
    RowChoice = 15,
    /// Rewards of control runs.
    Control = 16,
    /// Which of a prompt's completions vote.
    Votes = 17,
}

/// A stream keyed by seed, purpose and version (for rollouts the policy version).
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: [u32; 2],
}

impl Stream {
    pub fn new(seed: u64, purpose: Purpose, version: u64) -> Self {
        let key = splitmix64(splitmix64(splitmix64(seed) ^ purpose as u64) ^ version);
        Self { key: [key as u32, (key >> 32) as u32] }
    }

    /// A number in `[0, 1)` with 53 random bits, for one (prompt, sample, position).
    pub fn uniform(&self, prompt: u64, sample: u32, position: u32) -> f64 {
        let [a, b, ..] = philox([position, sample, prompt as u32, (prompt >> 32) as u32], self.key);
        (((u64::from(a) << 32) | u64::from(b)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 32 random bits for one (sequence, position).
    pub fn word(&self, sequence: u32, position: u32) -> u32 {
        philox([position, sequence, 0, 0], self.key)[0]
    }

    /// A standard normal number (Box and Muller, 1958).
    pub fn normal(&self, index: u64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(index, 0, 0)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(index, 1, 0)).cos()
    }

    /// The numbers `0..count` in random order (Fisher and Yates).
    pub fn permutation(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            let j = (self.uniform(i as u64, 0, 0) * (i + 1) as f64) as usize;
            order.swap(i, j.min(i));
        }
        order
    }
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xd251_1f53;
        let b = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_matches_the_known_answers_of_its_authors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = u32::MAX;
        assert_eq!(philox([ones; 4], [ones; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn streams_of_different_purpose_or_version_differ() {
        let draw = |purpose, version| Stream::new(7, purpose, version).uniform(3, 1, 0);
        assert_ne!(draw(Purpose::Rollout, 0), draw(Purpose::Evaluation, 0));
        assert_ne!(draw(Purpose::Rollout, 0), draw(Purpose::Rollout, 1));
    }

    #[test]
    fn a_permutation_holds_every_number_once() {
        let mut order = Stream::new(1, Purpose::PromptOrder, 0).permutation(1000);
        assert_ne!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        order.sort_unstable();
        assert_eq!(order, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn normals_have_mean_zero_and_variance_one() {
        let stream = Stream::new(5, Purpose::Initialization, 0);
        let draws: Vec<f64> = (0..20_000).map(|i| stream.normal(i)).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
