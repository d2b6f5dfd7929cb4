//! Products of powers: what the terms of a normal form are made of.
//!
//! Besides variables a factor may be a prime to a power between 0 and 1 (a radical), pi, e, i to the power 1, or
//! something that is not taken apart further. Radicals of distinct products of primes are linearly independent over the
//! rationals (Besicovitch, "On the linear independence of fractional powers of integers", 1940), so that two sums of
//! them are equal only where their terms are.

use super::rational::Rational;

/// The most factors of one product.
const MAX_FACTORS: usize = 6;
/// The largest exponent.
const MAX_EXPONENT: i32 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Prime(u32),
    Pi,
    E,
    I,
    Variable(u32),
    /// Something that is not taken apart: the place of its key.
    Opaque(u32),
}

/// An atom to the power `top / bottom`, reduced, `bottom` positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Power {
    pub atom: Atom,
    pub top: i32,
    pub bottom: i32,
}

/// A product of powers in the order of their atoms.
#[derive(Clone, Copy, Debug)]
pub struct Monomial {
    length: u8,
    powers: [Power; MAX_FACTORS],
}

const NOTHING: Power = Power { atom: Atom::Pi, top: 0, bottom: 1 };

impl Monomial {
    pub const ONE: Self = Self { length: 0, powers: [NOTHING; MAX_FACTORS] };

    pub fn of(atom: Atom) -> Self {
        let mut one = Self::ONE;
        one.powers[0] = Power { atom, top: 1, bottom: 1 };
        one.length = 1;
        one
    }

    pub fn powers(&self) -> &[Power] {
        &self.powers[..usize::from(self.length)]
    }

    pub fn is_one(&self) -> bool {
        self.length == 0
    }

    fn push(&mut self, power: Power) -> Option<()> {
        let place = self.powers.get_mut(usize::from(self.length))?;
        *place = power;
        self.length += 1;
        Some(())
    }

    /// The product, and the rational factor that comes out of it: of radicals that meet, and of i^2.
    pub fn mul(&self, other: &Self) -> Option<(Self, Rational)> {
        let (mut left, mut right) = (self.powers(), other.powers());
        let (mut product, mut factor) = (Self::ONE, Rational::ONE);
        while let (Some(a), Some(b)) = (left.first(), right.first()) {
            if a.atom == b.atom {
                let sum = Rational::fraction(
                    i128::from(a.top) * i128::from(b.bottom) + i128::from(b.top) * i128::from(a.bottom),
                    i128::from(a.bottom) * i128::from(b.bottom),
                )?;
                factor = factor.mul(&product.raise(a.atom, &sum)?)?;
                (left, right) = (&left[1..], &right[1..]);
            } else if a.atom < b.atom {
                product.push(*a)?;
                left = &left[1..];
            } else {
                product.push(*b)?;
                right = &right[1..];
            }
        }
        for power in left.iter().chain(right) {
            product.push(*power)?;
        }
        Some((product, factor))
    }

    /// Appends an atom to some power, in lowest form, and returns the rational factor that comes out of it.
    fn raise(&mut self, atom: Atom, exponent: &Rational) -> Option<Rational> {
        let mut factor = Rational::ONE;
        let mut exponent = exponent.clone();
        match atom {
            Atom::Prime(prime) => {
                let whole = exponent.floor()?;
                factor = Rational::integer(i64::from(prime)).pow(whole.as_integer()?)?;
                exponent = exponent.sub(&whole)?;
            }
            Atom::I => {
                // A fractional power of i is taken for something of its own.
                let turns = exponent.as_integer()?.rem_euclid(4);
                factor = Rational::integer(if turns >= 2 { -1 } else { 1 });
                exponent = Rational::integer(turns % 2);
            }
            Atom::Pi | Atom::E | Atom::Variable(_) | Atom::Opaque(_) => {}
        }
        if exponent.is_zero() {
            return Some(factor);
        }
        let (top, bottom) = exponent.as_small()?;
        let small = |value: i64| i32::try_from(value).ok().filter(|value| value.abs() <= MAX_EXPONENT);
        self.push(Power { atom, top: small(top)?, bottom: small(bottom)? })?;
        Some(factor)
    }

    /// The product to a power, and the rational factor that comes out of it. The caller answers for its being the same,
    /// which for fractional powers of variables it need not be.
    pub fn pow(&self, exponent: &Rational) -> Option<(Self, Rational)> {
        let (mut product, mut factor) = (Self::ONE, Rational::ONE);
        for power in self.powers() {
            let of = Rational::fraction(i128::from(power.top), i128::from(power.bottom))?;
            factor = factor.mul(&product.raise(power.atom, &of.mul(exponent)?)?)?;
        }
        Some((product, factor))
    }

    /// A positive fraction to a power as rational factor and radicals; None where its primes are too large to be found.
    pub fn radical(of: &Rational, exponent: &Rational) -> Option<(Self, Rational)> {
        let (top, bottom) = of.as_small().filter(|(top, _)| *top > 0)?;
        let mut factors = prime_factors(top)?;
        factors.extend(prime_factors(bottom)?.into_iter().map(|(prime, times)| (prime, -times)));
        factors.sort_unstable();
        let (mut product, mut factor) = (Self::ONE, Rational::ONE);
        for (prime, times) in factors {
            let exponent = exponent.mul(&Rational::integer(times))?;
            factor = factor.mul(&product.raise(Atom::Prime(prime), &exponent)?)?;
        }
        Some((product, factor))
    }
}

impl PartialEq for Monomial {
    fn eq(&self, other: &Self) -> bool {
        self.powers() == other.powers()
    }
}

impl Eq for Monomial {}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.powers().cmp(other.powers())
    }
}

/// Primes with how often each divides; None where a factor without a divisor below the limit may be no prime.
fn prime_factors(mut value: i64) -> Option<Vec<(u32, i64)>> {
    const LIMIT: i64 = 1_000;
    let mut factors = Vec::new();
    let mut candidate = 2;
    while candidate < LIMIT && candidate * candidate <= value {
        let mut times = 0;
        while value % candidate == 0 {
            value /= candidate;
            times += 1;
        }
        if times > 0 {
            factors.push((u32::try_from(candidate).ok()?, times));
        }
        candidate += if candidate == 2 { 1 } else { 2 };
    }
    if value == 1 {
        return Some(factors);
    }
    if value < LIMIT * LIMIT {
        factors.push((u32::try_from(value).ok()?, 1));
        return Some(factors);
    }
    let root = value.isqrt();
    if root * root != value || root >= LIMIT * LIMIT {
        return None;
    }
    factors.push((u32::try_from(root).ok()?, 2));
    Some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radical(top: i128, bottom: i128) -> (Monomial, Rational) {
        Monomial::radical(&Rational::fraction(top, bottom).unwrap(), &Rational::fraction(1, 2).unwrap()).unwrap()
    }

    #[test]
    fn radicals_have_one_form() {
        assert_eq!(radical(12, 1), (radical(3, 1).0, Rational::integer(2)));
        assert_eq!(radical(1, 6), (radical(6, 1).0, Rational::fraction(1, 6).unwrap()));
        assert_eq!(radical(49, 4), (Monomial::ONE, Rational::fraction(7, 2).unwrap()));
        assert_eq!(radical(1_018_081, 1), (Monomial::ONE, Rational::integer(1_009)));
        let (six, factor) = radical(2, 1).0.mul(&radical(3, 1).0).unwrap();
        assert_eq!((six, factor), (radical(6, 1).0, Rational::ONE));
        assert_eq!(six.mul(&six), Some((Monomial::ONE, Rational::integer(6))));
    }

    #[test]
    fn i_squared_is_minus_one() {
        let i = Monomial::of(Atom::I);
        assert_eq!(i.mul(&i), Some((Monomial::ONE, Rational::integer(-1))));
        assert_eq!(i.pow(&Rational::integer(-1)), Some((i, Rational::integer(-1))));
        assert_eq!(i.pow(&Rational::fraction(1, 2).unwrap()), None);
    }
}
