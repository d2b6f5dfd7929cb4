//! Random numbers of the built-in data sets: a function of a counter, so that rows never depend on their order.

use crate::job::random::STEP;
pub(super) use crate::job::random::splitmix64;

/// A number that depends on every byte of a text (FNV-1a, mixed).
pub(super) fn hash(text: &str) -> u64 {
    let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    splitmix64(text.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// Random choices in a row; equal beginnings make equal choices on every machine.
#[derive(Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// Choices that are those of these numbers in this order.
    pub fn of(numbers: &[u64]) -> Self {
        Self { state: numbers.iter().fold(0, |state, number| splitmix64(state ^ number)) }
    }

    fn next(&mut self) -> u64 {
        let output = splitmix64(self.state);
        self.state = self.state.wrapping_add(STEP);
        output
    }

    /// A number from 0 to `end - 1`, which is above 0. A product maps 64 bits onto it, which for the few thousand places
    /// of this module is uneven by less than 1e-15.
    pub fn below(&mut self, end: u64) -> u64 {
        (u128::from(self.next()).wrapping_mul(u128::from(end)) >> 64) as u64
    }

    /// A number from `low` to `high`, both of which may come out.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high.abs_diff(low) + 1) as i64
    }

    /// A number from `low` to `high` with a random sign.
    pub fn signed(&mut self, low: i64, high: i64) -> i64 {
        if self.coin() { self.between(low, high) } else { -self.between(low, high) }
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// One of some things, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// `count` different ones, or all where there are fewer, in a random order.
    pub fn sample<T: Copy>(&mut self, from: &[T], count: usize) -> Vec<T> {
        let mut all = from.to_vec();
        for place in 0..count.min(all.len()) {
            let other = place + self.below((all.len() - place) as u64) as usize;
            all.swap(place, other);
        }
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_agrees_with_its_published_outputs() {
        // The first outputs of the reference implementation seeded with 1234567.
        let outputs = [0_u64, 1, 2].map(|step| splitmix64(STEP.wrapping_mul(step).wrapping_add(1_234_567)));
        assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn choices_stay_within_their_bounds_and_reach_them() {
        let mut random = Random::of(&[1, 2]);
        let drawn: Vec<i64> = (0..1000).map(|_| random.between(-2, 2)).collect();
        for value in -2..=2 {
            let count = drawn.iter().filter(|drawn| **drawn == value).count();
            assert!((120..280).contains(&count), "{value}: {count}");
        }
        assert_eq!(Random::of(&[7]).between(5, 5), 5);
        let sample = random.sample(&[1, 2, 3, 4, 5], 4);
        assert!(sample.len() == 4 && (1..=5).filter(|one| sample.contains(one)).count() == 4, "{sample:?}");
        assert_eq!(random.sample(&[1, 2], 9).len(), 2);
    }

    #[test]
    fn the_order_of_the_numbers_counts() {
        assert_ne!(Random::of(&[1, 2]).next(), Random::of(&[2, 1]).next());
        assert_eq!(Random::of(&[1, 2]).next(), Random::of(&[1, 2]).next());
        assert_ne!(hash("ab"), hash("ba"));
    }
}
