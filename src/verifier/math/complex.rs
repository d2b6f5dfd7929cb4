//! Complex numbers of twice a float's precision, each with a bound on how far it may be off.
//!
//! The bound makes an equality that was found by computing a statement: two numbers that differ by less than their
//! bounds cannot be told apart, and how wide the bounds may be is up to whoever compares. An operation that is not
//! defined, or that cannot be told from one that is not, such as a division by what may be zero, has no result.

use super::double::{Double, E, EPSILON, PI};

/// A value and the largest absolute error it may have.
#[derive(Clone, Copy, Debug)]
pub struct Approx {
    pub re: Double,
    pub im: Double,
    pub error: f64,
}

impl Approx {
    pub const ZERO: Self = Self { re: Double::ZERO, im: Double::ZERO, error: 0.0 };
    pub const ONE: Self = Self { re: Double::ONE, im: Double::ZERO, error: 0.0 };
    pub const I: Self = Self { re: Double::ZERO, im: Double::ONE, error: 0.0 };

    pub fn real(re: Double) -> Self {
        Self { re, im: Double::ZERO, error: 0.0 }
    }

    pub fn pi() -> Self {
        Self::real(PI)
    }

    pub fn e() -> Self {
        Self::real(E)
    }

    /// A number that is rounded to twice a float's precision.
    pub fn rounded(re: Double) -> Self {
        Self { re, im: Double::ZERO, error: EPSILON * re.high.abs() }
    }

    /// The absolute value, to a float's precision.
    pub fn size(self) -> f64 {
        if self.im.high == 0.0 { self.re.high.abs() } else { self.re.high.hypot(self.im.high) }
    }

    pub fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite() && self.error.is_finite()
    }

    /// Whether it may be a real number.
    pub fn is_real(self) -> bool {
        self.im.high.abs() <= self.error
    }

    /// The integer that it may be; None where it is none, or too large to be told.
    pub fn as_integer(self) -> Option<i64> {
        const LARGEST: f64 = 9e15;
        let near = self.re.high.round();
        let off = (self.re - Double::of(near)).high.abs();
        (self.is_real() && near.abs() <= LARGEST && off <= self.error && self.error < 1e-12).then_some(near as i64)
    }

    fn is_zero(self) -> bool {
        self.re.high == 0.0 && self.im.high == 0.0
    }

    pub fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im, ..self }
    }

    pub fn add(self, other: Self) -> Self {
        let error = self.error + other.error + EPSILON * (self.size() + other.size());
        Self { re: self.re + other.re, im: self.im + other.im, error }
    }

    pub fn sub(self, other: Self) -> Self {
        self.add(other.neg())
    }

    pub fn mul(self, other: Self) -> Self {
        let (a, b) = (self.size(), other.size());
        let error = a * other.error + b * self.error + self.error * other.error + EPSILON * a * b;
        if self.im.high == 0.0 && other.im.high == 0.0 {
            return Self { re: self.re * other.re, im: Double::ZERO, error };
        }
        let re = self.re * other.re - self.im * other.im;
        Self { re, im: self.re * other.im + self.im * other.re, error }
    }

    pub fn div(self, other: Self) -> Option<Self> {
        let size = other.size();
        if size <= 1e3 * other.error || size == 0.0 {
            return None;
        }
        let quotient = if self.im.high == 0.0 && other.im.high == 0.0 {
            Self::real(self.re.over(other.re))
        } else {
            let square = other.re * other.re + other.im * other.im;
            let re = (self.re * other.re + self.im * other.im).over(square);
            Self { re, im: (self.im * other.re - self.re * other.im).over(square), error: 0.0 }
        };
        let of = quotient.size();
        let error = (self.error + of * other.error) / (size - other.error) + 4.0 * EPSILON * of;
        Some(Self { error, ..quotient })
    }

    pub fn exp(self) -> Option<Self> {
        if self.error > 0.01 {
            return None;
        }
        let length = self.re.exp();
        let (sin, cos) = if self.im.high == 0.0 { (Double::ZERO, Double::ONE) } else { self.im.sin_cos() };
        let relative = 1.1 * self.error + EPSILON * (8.0 + self.re.high.abs() + self.im.high.abs());
        Some(Self { re: length * cos, im: length * sin, error: length.high * relative })
    }

    /// The principal logarithm.
    pub fn ln(self) -> Option<Self> {
        let size = self.size();
        if size <= 1e3 * self.error || size == 0.0 {
            return None;
        }
        let im = if self.im.high == 0.0 && self.re.high > 0.0 { Double::ZERO } else { self.im.atan2(self.re) };
        let re = if self.im.high == 0.0 {
            (if self.re.high < 0.0 { -self.re } else { self.re }).ln()
        } else {
            (self.re * self.re + self.im * self.im).ln().scaled(0.5)
        };
        let error = 1.1 * self.error / size + EPSILON * (8.0 + re.high.abs());
        Some(Self { re, im, error })
    }

    pub fn sqrt(self) -> Self {
        let size = self.size();
        if size == 0.0 {
            return Self { error: self.error.sqrt(), ..Self::ZERO };
        }
        let root = if self.im.high == 0.0 {
            let length = (if self.re.high < 0.0 { -self.re } else { self.re }).sqrt();
            if self.re.high < 0.0 { Self { re: Double::ZERO, im: length, error: 0.0 } } else { Self::real(length) }
        } else {
            let length = (self.re * self.re + self.im * self.im).sqrt();
            let re = (length + self.re).scaled(0.5).sqrt();
            let im = (length - self.re).scaled(0.5).sqrt();
            Self { re, im: if self.im.high < 0.0 { -im } else { im }, error: 0.0 }
        };
        let of = root.size();
        // Where the imaginary part is small, the difference above cancels.
        let cancelled =
            if self.im.high == 0.0 { 0.0 } else { (EPSILON * size).sqrt().min(EPSILON * size / of.max(1e-300)) };
        Self { error: (self.error / of).min(self.error.sqrt()) + 8.0 * EPSILON * of + cancelled, ..root }
    }

    /// An integer power by repeated multiplication.
    fn integer_power(self, exponent: i64) -> Option<Self> {
        let (mut base, mut left, mut power) = (self, exponent.unsigned_abs(), Self::ONE);
        while left > 0 {
            if left & 1 == 1 {
                power = power.mul(base);
            }
            base = base.mul(base);
            left >>= 1;
        }
        if exponent < 0 { Self::ONE.div(power) } else { Some(power) }
    }

    /// The principal power; zero to a power that may not be positive has none.
    pub fn pow(self, exponent: Self) -> Option<Self> {
        const LARGEST: i64 = 4_096;
        if let Some(integer) = exponent.as_integer().filter(|integer| integer.abs() <= LARGEST) {
            return if integer == 0 {
                (self.size() > self.error).then_some(Self::ONE)
            } else {
                self.integer_power(integer)
            };
        }
        if self.is_zero() && self.error == 0.0 {
            return (exponent.re.high > exponent.error).then_some(Self::ZERO);
        }
        exponent.mul(self.ln()?).exp()
    }

    /// Sine and cosine.
    pub fn sin_cos(self) -> Option<(Self, Self)> {
        if self.error > 0.01 || self.re.high.abs() > 1e6 {
            return None;
        }
        let (sin, cos) = self.re.sin_cos();
        let relative = 1.1 * self.error + EPSILON * (8.0 + self.re.high.abs());
        if self.im.high == 0.0 {
            let of = |value| Self { re: value, im: Double::ZERO, error: relative };
            return Some((of(sin), of(cos)));
        }
        let (up, down) = (self.im.exp(), (-self.im).exp());
        let (cosh, sinh) = ((up + down).scaled(0.5), (up - down).scaled(0.5));
        let error = cosh.high * (relative + EPSILON * self.im.high.abs());
        let sin_of = Self { re: sin * cosh, im: cos * sinh, error };
        Some((sin_of, Self { re: cos * cosh, im: -(sin * sinh), error }))
    }

    /// Hyperbolic sine and cosine.
    pub fn sinh_cosh(self) -> Option<(Self, Self)> {
        let (up, down) = (self.exp()?, self.neg().exp()?);
        let half = Self::real(Double::of(0.5));
        Some((up.sub(down).mul(half), up.add(down).mul(half)))
    }

    /// The principal arc sine, -i ln(iz + sqrt(1 - z^2)).
    pub fn asin(self) -> Option<Self> {
        let root = Self::ONE.sub(self.mul(self)).sqrt();
        Some(Self::I.neg().mul(Self::I.mul(self).add(root).ln()?))
    }

    pub fn acos(self) -> Option<Self> {
        Some(Self::real(PI.scaled(0.5)).sub(self.asin()?))
    }

    pub fn atan(self) -> Option<Self> {
        if self.im.high == 0.0 {
            let re = self.re.atan2(Double::ONE);
            return Some(Self { re, im: Double::ZERO, error: self.error + EPSILON * 8.0 });
        }
        let turned = Self::I.mul(self);
        let difference = Self::ONE.sub(turned).ln()?.sub(Self::ONE.add(turned).ln()?);
        Some(Self::I.mul(difference).mul(Self::real(Double::of(0.5))))
    }

    pub fn abs(self) -> Self {
        let re = match self.im.high == 0.0 {
            true if self.re.high < 0.0 => -self.re,
            true => self.re,
            false => (self.re * self.re + self.im * self.im).sqrt(),
        };
        Self { re, im: Double::ZERO, error: self.error + 4.0 * EPSILON * re.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Approx, b: Approx) {
        let off = a.sub(b);
        assert!(off.size() <= 4.0 * off.error && off.error < 1e-25, "{a:?} {b:?}");
    }

    #[test]
    fn complex_functions_undo_one_another_within_their_bounds() {
        for (re, im) in [(0.3, 0.4), (1.7, -0.2), (-0.6, 0.9), (0.5, 0.0), (2.5, 0.0), (-0.4, 0.0)] {
            let z = Approx { re: Double::of(re), im: Double::of(im), error: 0.0 };
            near(z.ln().unwrap().exp().unwrap(), z);
            near(z.sqrt().mul(z.sqrt()), z);
            near(z.asin().unwrap().sin_cos().unwrap().0, z);
            near(z.acos().unwrap().sin_cos().unwrap().1, z);
            let (sin, cos) = z.atan().unwrap().sin_cos().unwrap();
            near(sin.div(cos).unwrap(), z);
            let (sinh, cosh) = z.sinh_cosh().unwrap();
            near(cosh.mul(cosh).sub(sinh.mul(sinh)), Approx::ONE);
            near(z.pow(Approx::real(Double::of(0.5))).unwrap(), z.sqrt());
        }
    }

    #[test]
    fn what_may_be_zero_divides_nothing() {
        let zero = Approx::real(Double::of(2.0)).sqrt().mul(Approx::real(Double::of(2.0)).sqrt());
        assert!(Approx::ONE.div(zero.sub(Approx::real(Double::of(2.0)))).is_none());
        assert!(Approx::ZERO.ln().is_none() && Approx::ZERO.pow(Approx::ZERO).is_none());
    }
}
