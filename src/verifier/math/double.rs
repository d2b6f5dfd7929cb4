//! Numbers of twice the precision of a float: the unevaluated sum of two, about 31 decimal digits.
//!
//! Sums and products are those of Dekker ("A floating-point technique for extending the available precision", 1971);
//! functions reduce their argument and sum a series, or improve the float's own result by one step of Newton.

use std::ops::{Add, Mul, Neg, Sub};

/// `high + low`, where `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Double {
    pub high: f64,
    pub low: f64,
}

/// What an operation may be off by, relative to its result.
pub const EPSILON: f64 = 1e-30;
pub const PI: Double = Double { high: std::f64::consts::PI, low: 1.224_646_799_147_353_2e-16 };
pub const E: Double = Double { high: std::f64::consts::E, low: 1.445_646_891_729_250_2e-16 };
const LN_2: Double = Double { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };

fn sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let part = high - a;
    Double { high, low: (a - (high - part)) + (b - part) }
}

fn quick_sum(a: f64, b: f64) -> Double {
    let high = a + b;
    Double { high, low: b - (high - a) }
}

fn product(a: f64, b: f64) -> Double {
    let split = |value: f64| {
        let scaled = 134_217_729.0 * value;
        let high = scaled - (scaled - value);
        (high, value - high)
    };
    let high = a * b;
    let ((a1, a2), (b1, b2)) = (split(a), split(b));
    Double { high, low: ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2 }
}

impl Double {
    pub const ZERO: Self = Self::of(0.0);
    pub const ONE: Self = Self::of(1.0);

    pub const fn of(high: f64) -> Self {
        Self { high, low: 0.0 }
    }

    pub fn is_finite(self) -> bool {
        self.high.is_finite() && self.low.is_finite()
    }

    pub fn scaled(self, factor: f64) -> Self {
        let top = product(self.high, factor);
        quick_sum(top.high, top.low + self.low * factor)
    }

    pub fn over(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other.scaled(first);
        let second = rest.high / other.high;
        let rest = rest - other.scaled(second);
        let both = quick_sum(first, second);
        both + Self::of(rest.high / other.high)
    }

    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::ZERO;
        }
        let inverse = 1.0 / self.high.sqrt();
        let guess = self.high * inverse;
        let rest = self - product(guess, guess);
        sum(guess, rest.high * (inverse * 0.5))
    }

    pub fn exp(self) -> Self {
        if self.high <= -708.0 {
            return Self::ZERO;
        }
        if self.high >= 708.0 {
            return Self::of(f64::INFINITY);
        }
        let twos = (self.high / LN_2.high).round();
        let rest = (self - LN_2.scaled(twos)).scaled(1.0 / 512.0);
        // exp(rest) - 1, which is at most 7e-4, so that few terms are enough; then it is squared nine times.
        let mut term = rest;
        let mut less_one = rest;
        for n in 2..=8 {
            term = (term * rest).over(Self::of(f64::from(n)));
            less_one = less_one + term;
        }
        for _ in 0..9 {
            less_one = less_one.scaled(2.0) + less_one * less_one;
        }
        (less_one + Self::ONE).scaled(2_f64.powi(twos as i32))
    }

    /// The natural logarithm of a positive number.
    pub fn ln(self) -> Self {
        let guess = Self::of(self.high.ln());
        guess + self * (-guess).exp() - Self::ONE
    }

    pub fn sin_cos(self) -> (Self, Self) {
        let quarters = (self.high / (PI.high / 2.0)).round();
        let rest = self - PI.scaled(0.5).scaled(quarters);
        let square = rest * rest;
        let series = |first: Self, from: u32| {
            let (mut term, mut total) = (first, first);
            for n in 0..14 {
                let at = f64::from(from + 2 * n);
                term = -(term * square).over(Self::of(at * (at + 1.0)));
                total = total + term;
                if term.high.abs() < 1e-34 {
                    break;
                }
            }
            total
        };
        let (sin, cos) = (series(rest, 2), series(Self::ONE, 1));
        match (quarters.rem_euclid(4.0)) as u8 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    /// The angle of the point (`x`, `self`).
    pub fn atan2(self, x: Self) -> Self {
        let radius = (self * self + x * x).sqrt();
        if radius.high == 0.0 {
            return Self::ZERO;
        }
        let guess = Self::of(self.high.atan2(x.high));
        let (sin, cos) = guess.sin_cos();
        guess + (self * cos - x * sin).over(radius)
    }
}

impl Add for Double {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = quick_sum(high.high, high.low + low.high);
        quick_sum(first.high, first.low + low.low)
    }
}

impl Neg for Double {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for Double {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let top = product(self.high, other.high);
        quick_sum(top.high, top.low + (self.high * other.low + self.low * other.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Double, b: Double) {
        let off = (a - b).high.abs();
        assert!(off <= EPSILON * a.high.abs().max(1.0), "{a:?} and {b:?} are {off:e} apart");
    }

    #[test]
    fn functions_are_exact_to_thirty_digits() {
        near(Double::ONE.exp(), E);
        near(Double::of(2.0).ln(), LN_2);
        near(Double::of(2.0).sqrt() * Double::of(2.0).sqrt(), Double::of(2.0));
        near(Double::ONE.atan2(Double::ONE).scaled(4.0), PI);
        near(PI.over(Double::of(6.0)).sin_cos().0, Double::of(0.5));
        near(PI.over(Double::of(3.0)).sin_cos().1, Double::of(0.5));
        for step in 1..200 {
            let x = Double::of(f64::from(step) * 0.37 - 30.0);
            let (sin, cos) = x.sin_cos();
            near(sin * sin + cos * cos, Double::ONE);
            near((x.scaled(0.1)).exp().ln(), x.scaled(0.1));
            near(sin.atan2(cos).sin_cos().0, sin);
            near(x.over(Double::of(7.0)) * Double::of(7.0), x);
        }
    }
}
