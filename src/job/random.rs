//! The mixing function that whatever must not depend on its order draws its numbers by (SplitMix64: Steele, Lea and Flood,
//! "Fast splittable pseudorandom number generators", OOPSLA 2014).

/// What SplitMix64 adds to its state in each step.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output at state `state`; as a function of a counter it is a good mixing function of 64 bits.
pub fn splitmix64(state: u64) -> u64 {
    mixed(state.wrapping_add(STEP))
}

/// Its last steps alone.
pub fn mixed(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of at least 0 and below 1 from 64 mixed bits.
pub fn unit(mixed: u64) -> f64 {
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the published generator with seed 1234567.
    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let numbers: Vec<u64> =
            (0..3).map(|k: u64| splitmix64(1_234_567_u64.wrapping_add(k.wrapping_mul(STEP)))).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert!(unit(u64::MAX) < 1.0 && unit(0) == 0.0);
    }
}
