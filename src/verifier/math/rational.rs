//! Exact fractions: of 64 bits while they fit, of any size up to a bound beyond that.
//!
//! Nearly every number in an answer is small, so that the common case allocates nothing. An operation whose result
//! would be larger than [`MAX_BITS`] has none, which keeps texts such as `9^9^9^9` cheap.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

/// The most bits that a numerator or a denominator has.
const MAX_BITS: u64 = 16_384;

/// A reduced fraction with a positive denominator; `Big` only where it does not fit `Small`, so that equal fractions
/// are written the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rational {
    Small(i64, i64),
    Big(Box<(BigInt, BigInt)>),
}

impl Rational {
    pub const ZERO: Self = Self::Small(0, 1);
    pub const ONE: Self = Self::Small(1, 1);

    pub const fn integer(value: i64) -> Self {
        Self::Small(value, 1)
    }

    /// The fraction; None for a zero denominator.
    pub fn fraction(top: i128, bottom: i128) -> Option<Self> {
        if bottom == 0 {
            return None;
        }
        let common = gcd(top.unsigned_abs(), bottom.unsigned_abs()).max(1);
        let common = i128::try_from(common).ok()?;
        let (top, bottom) = (top / common * bottom.signum(), (bottom / common).checked_abs()?);
        Some(match (i64::try_from(top), i64::try_from(bottom)) {
            (Ok(top), Ok(bottom)) => Self::Small(top, bottom),
            _ => Self::Big(Box::new((BigInt::from(top), BigInt::from(bottom)))),
        })
    }

    /// The reduced fraction; None where it is too large or the denominator is zero.
    fn reduced(top: BigInt, bottom: BigInt) -> Option<Self> {
        if bottom.is_zero() {
            return None;
        }
        let common = if bottom.is_one() { BigInt::one() } else { top.gcd(&bottom) };
        let (mut top, mut bottom) = if common.is_one() { (top, bottom) } else { (top / &common, bottom / &common) };
        if bottom.is_negative() {
            (top, bottom) = (-top, -bottom);
        }
        if let (Some(top), Some(bottom)) = (top.to_i64(), bottom.to_i64()) {
            return Some(Self::Small(top, bottom));
        }
        (top.bits() <= MAX_BITS && bottom.bits() <= MAX_BITS).then(|| Self::Big(Box::new((top, bottom))))
    }

    fn parts(&self) -> (BigInt, BigInt) {
        match self {
            Self::Small(top, bottom) => (BigInt::from(*top), BigInt::from(*bottom)),
            Self::Big(parts) => (parts.0.clone(), parts.1.clone()),
        }
    }

    /// `digits` with the last `places` of them behind the point, times ten to the `exponent`.
    pub fn decimal(digits: &str, places: usize, exponent: i32) -> Option<Self> {
        const MOST_DIGITS: usize = 4_000;
        if digits.len() > MOST_DIGITS || exponent.unsigned_abs() as usize > MOST_DIGITS {
            return None;
        }
        let scale = exponent.checked_sub(i32::try_from(places).ok()?)?;
        if digits.len() <= 18 && (-18..=0).contains(&scale) {
            let top: i64 = digits.parse().ok()?;
            return Self::fraction(i128::from(top), 10_i128.pow(scale.unsigned_abs()));
        }
        let top: BigInt = digits.parse().ok()?;
        let power = BigInt::from(10).pow(scale.unsigned_abs());
        if scale >= 0 { Self::reduced(top * power, BigInt::one()) } else { Self::reduced(top, power) }
    }

    pub fn add(&self, other: &Self) -> Option<Self> {
        if let (Self::Small(a, b), Self::Small(c, d)) = (self, other) {
            let (a, b, c, d) = (i128::from(*a), i128::from(*b), i128::from(*c), i128::from(*d));
            // Two products of 63-bit numbers fit into 127 bits, and so does their sum.
            return Self::fraction(a * d + c * b, b * d);
        }
        let ((a, b), (c, d)) = (self.parts(), other.parts());
        Self::reduced(a * &d + c * &b, b * d)
    }

    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.neg()?)
    }

    pub fn neg(&self) -> Option<Self> {
        match self {
            Self::Small(top, bottom) => Self::fraction(-i128::from(*top), i128::from(*bottom)),
            Self::Big(parts) => Self::reduced(-&parts.0, parts.1.clone()),
        }
    }

    pub fn mul(&self, other: &Self) -> Option<Self> {
        if let (Self::Small(a, b), Self::Small(c, d)) = (self, other) {
            return Self::fraction(i128::from(*a) * i128::from(*c), i128::from(*b) * i128::from(*d));
        }
        let ((a, b), (c, d)) = (self.parts(), other.parts());
        Self::reduced(a * c, b * d)
    }

    /// The quotient; None for a zero divisor.
    pub fn div(&self, other: &Self) -> Option<Self> {
        self.mul(&other.inverse()?)
    }

    fn inverse(&self) -> Option<Self> {
        match self {
            Self::Small(top, bottom) => Self::fraction(i128::from(*bottom), i128::from(*top)),
            Self::Big(parts) => Self::reduced(parts.1.clone(), parts.0.clone()),
        }
    }

    /// The power; None where it would be too large, which is found before it is computed, and for 0 to a negative one.
    pub fn pow(&self, exponent: i64) -> Option<Self> {
        if exponent < 0 {
            return self.inverse()?.pow(exponent.checked_neg()?);
        }
        if exponent == 0 || *self == Self::ONE {
            return Some(Self::ONE);
        }
        let (top, bottom) = self.parts();
        let bits = top.bits().max(bottom.bits()) - 1;
        let exponent = u32::try_from(exponent).ok()?;
        if bits.checked_mul(u64::from(exponent))? > MAX_BITS {
            return None;
        }
        Self::reduced(top.pow(exponent), bottom.pow(exponent))
    }

    /// How many sets of `k` there are of `n`, for `0 <= k <= n`; None where it would be too large.
    pub fn binomial(n: i64, k: i64) -> Option<Self> {
        const LARGEST: i64 = 1_000;
        if !(0..=LARGEST).contains(&n) || !(0..=n).contains(&k) {
            return None;
        }
        // Every partial product is a binomial coefficient itself, and so an integer.
        let product = (0..k.min(n - k)).fold(BigInt::one(), |product, at| product * (n - at) / (at + 1));
        Self::reduced(product, BigInt::one())
    }

    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Small(0, _))
    }

    pub fn is_negative(&self) -> bool {
        match self {
            Self::Small(top, _) => *top < 0,
            Self::Big(parts) => parts.0.is_negative(),
        }
    }

    pub fn abs(&self) -> Option<Self> {
        if self.is_negative() { self.neg() } else { Some(self.clone()) }
    }

    /// What computing with it costs, in steps.
    pub fn weight(&self) -> usize {
        const BITS_A_STEP: u64 = 64;
        match self {
            Self::Small(..) => 1,
            Self::Big(parts) => 2 + ((parts.0.bits() + parts.1.bits()) / BITS_A_STEP) as usize,
        }
    }

    /// The integer, where it is one of 64 bits.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Small(top, 1) => Some(*top),
            Self::Small(..) | Self::Big(_) => None,
        }
    }

    /// Numerator and denominator, where both are of 64 bits.
    pub fn as_small(&self) -> Option<(i64, i64)> {
        match self {
            Self::Small(top, bottom) => Some((*top, *bottom)),
            Self::Big(_) => None,
        }
    }

    /// The largest integer that is not above it.
    pub fn floor(&self) -> Option<Self> {
        match self {
            Self::Small(top, bottom) => Some(Self::integer(top.div_euclid(*bottom))),
            Self::Big(parts) => Self::reduced(parts.0.div_floor(&parts.1), BigInt::one()),
        }
    }

    /// The sum of two floats that is nearest to it, exact to about 100 bits.
    pub fn to_doubles(&self) -> Option<(f64, f64)> {
        let (top, bottom) = match self {
            Self::Small(top, 1) => {
                let high = *top as f64;
                return Some((high, (i128::from(*top) - high as i128) as f64));
            }
            Self::Small(..) | Self::Big(_) => self.parts(),
        };
        // The quotient with 128 bits, as an integer and a power of two.
        let shift = 128 + bottom.bits() as i64 - top.bits() as i64;
        let scaled = if shift >= 0 { (top << shift) / bottom } else { (top >> -shift) / bottom };
        let high = scaled.to_f64()?;
        let low = (scaled - <BigInt as num_traits::FromPrimitive>::from_f64(high)?).to_f64()?;
        let scale = |value: f64| scaled_by(value, -shift);
        Some((scale(high)?, scale(low)?))
    }
}

/// `value` times two to the `power`; None where that is no float.
fn scaled_by(value: f64, power: i64) -> Option<f64> {
    if value == 0.0 {
        return Some(0.0);
    }
    let (half, power) = (power / 2, i32::try_from(power).ok()?);
    let half = i32::try_from(half).ok()?;
    let scaled = value * 2_f64.powi(half) * 2_f64.powi(power - half);
    scaled.is_finite().then_some(scaled)
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Small(a, b), Self::Small(c, d)) = (self, other) {
            return (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)));
        }
        let ((a, b), (c, d)) = (self.parts(), other.parts());
        (a * d).cmp(&(c * b))
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(top, 1) => write!(f, "{top}"),
            Self::Small(top, bottom) => write!(f, "{top}/{bottom}"),
            Self::Big(parts) if parts.1.is_one() => write!(f, "{}", parts.0),
            Self::Big(parts) => write!(f, "{}/{}", parts.0, parts.1),
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    // Most numbers fit 64 bits, where a remainder is many times faster.
    while b > u128::from(u64::MAX) {
        (a, b) = (b, a % b);
    }
    if b == 0 {
        return a;
    }
    let (mut a, mut b) = (b as u64, (a % b) as u64);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    u128::from(a)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn of(top: i128, bottom: i128) -> Rational {
        Rational::fraction(top, bottom).unwrap()
    }

    #[test]
    fn powers_that_are_too_large_are_refused_before_they_are_computed() {
        assert_eq!(Rational::integer(9).pow(387_420_489), None);
        assert_eq!(Rational::integer(2).pow(100).unwrap().to_string(), "1267650600228229401496703205376");
        assert_eq!(Rational::integer(2).pow(-2), Some(of(1, 4)));
        assert_eq!(Rational::binomial(52, 5), Some(Rational::integer(2_598_960)));
        assert_eq!(Rational::binomial(5, 6), None);
        assert_eq!(Rational::ZERO.pow(-1), None);
        assert_eq!(Rational::decimal(&"9".repeat(5_000), 0, 0), None);
    }

    #[test]
    fn fractions_become_two_floats_that_hold_a_hundred_bits() {
        let (high, low) = of(1, 3).to_doubles().unwrap();
        assert_eq!(high, 1.0 / 3.0);
        assert!((low - 1.850_371_707_708_594e-17).abs() < 1e-32, "{low:e}");
        assert_eq!(of(i128::from(i64::MAX), 1).to_doubles(), Some((9_223_372_036_854_775_808.0, -1.0)));
        assert_eq!(Rational::integer(10).pow(400).unwrap().to_doubles(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
        })]

        #[test]
        fn small_and_large_fractions_obey_the_same_laws(
            a in -1_000_000_i128..1_000_000, b in 1_i128..1_000_000, power in 0_i64..70,
        ) {
            let x = of(a, b);
            let shift = Rational::integer(3).pow(power).unwrap();
            let there = x.add(&shift).unwrap().mul(&shift).unwrap();
            prop_assert_eq!(there.div(&shift).unwrap().sub(&shift).unwrap(), x.clone());
            prop_assert_eq!(x.cmp(&shift), x.sub(&shift).unwrap().cmp(&Rational::ZERO));
            prop_assert!(x.floor().unwrap() <= x);
        }
    }
}
