//! Normal forms: quotients of sums of products, in which equality is exact.

use super::evaluate::Budget;
use super::expr::Function;
use super::monomial::{Atom, Monomial};
use super::rational::Rational;

/// The most terms of a sum.
const MAX_TERMS: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub product: Monomial,
    pub factor: Rational,
}

/// A sum of terms with distinct products, in their order, none of them zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub terms: Vec<Term>,
}

/// `top / bottom`. The bottom is 1 or has several terms, the last of them with factor 1; one that is a product is moved
/// to the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    pub top: Sum,
    pub bottom: Sum,
}

/// What an opaque atom stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    Call(Function, Form),
    Power(Form, Form),
    Root(Form, Form),
    Log(Form, Form),
    Binomial(Form, Form),
    Apply(u32, Form, Option<Form>),
}

/// What an expression is: the form it has, or that it has none.
#[derive(Clone, Debug)]
pub enum Normal {
    Form(Form),
    /// It divides by zero.
    Undefined,
    /// It is too large, or of a kind that is only evaluated.
    Unknown,
}

impl Sum {
    pub fn of(product: Monomial, factor: Rational) -> Self {
        let terms = if factor.is_zero() { Vec::new() } else { vec![Term { product, factor }] };
        Self { terms }
    }

    fn one() -> Self {
        Self::of(Monomial::ONE, Rational::ONE)
    }

    fn is_one(&self) -> bool {
        matches!(&self.terms[..], [term] if term.product.is_one() && term.factor == Rational::ONE)
    }

    /// What computing with its largest factor costs.
    fn weight(&self) -> usize {
        self.terms.iter().map(|term| term.factor.weight()).max().unwrap_or(1)
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The number, where it is one.
    pub fn as_rational(&self) -> Option<Rational> {
        match &self.terms[..] {
            [] => Some(Rational::ZERO),
            [term] if term.product.is_one() => Some(term.factor.clone()),
            _ => None,
        }
    }

    pub fn add(&self, other: &Self, budget: &mut Budget) -> Option<Self> {
        budget.take(self.terms.len() * self.weight() + other.terms.len() * other.weight())?;
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (&self.terms[..], &other.terms[..]);
        while let (Some(a), Some(b)) = (left.first(), right.first()) {
            let order = a.product.cmp(&b.product);
            if order.is_eq() {
                let factor = a.factor.add(&b.factor)?;
                if !factor.is_zero() {
                    terms.push(Term { product: a.product, factor });
                }
            } else {
                terms.push(if order.is_lt() { a.clone() } else { b.clone() });
            }
            left = if order.is_le() { &left[1..] } else { left };
            right = if order.is_ge() { &right[1..] } else { right };
        }
        terms.extend(left.iter().chain(right).cloned());
        (terms.len() <= MAX_TERMS).then_some(Self { terms })
    }

    pub fn mul(&self, other: &Self, budget: &mut Budget) -> Option<Self> {
        budget.take(1 + self.terms.len() * other.terms.len() * (self.weight() + other.weight()))?;
        let mut terms = Vec::with_capacity(self.terms.len() * other.terms.len());
        for a in &self.terms {
            for b in &other.terms {
                let (product, factor) = a.product.mul(&b.product)?;
                let both = a.factor.mul(&b.factor)?;
                let factor = if factor == Rational::ONE { both } else { both.mul(&factor)? };
                terms.push(Term { product, factor });
            }
        }
        Self::collected(terms)
    }

    /// The sum of terms in any order.
    fn collected(mut terms: Vec<Term>) -> Option<Self> {
        if terms.len() > 1 {
            terms.sort_unstable_by_key(|term| term.product);
        }
        let mut sum: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match sum.last_mut() {
                Some(last) if last.product == term.product => last.factor = last.factor.add(&term.factor)?,
                _ => {
                    sum.retain_last();
                    sum.push(term);
                }
            }
        }
        sum.retain_last();
        (sum.len() <= MAX_TERMS).then_some(Self { terms: sum })
    }

    pub fn scaled(&self, by: &Rational) -> Option<Self> {
        if *by == Rational::ONE {
            return Some(self.clone());
        }
        let scale = |term: &Term| Some(Term { product: term.product, factor: term.factor.mul(by)? });
        let terms = if by.is_zero() { Vec::new() } else { self.terms.iter().map(scale).collect::<Option<_>>()? };
        Some(Self { terms })
    }

    /// The factor between this and `other`, where they are proportional and neither is zero.
    pub fn ratio(&self, other: &Self) -> Option<Rational> {
        let ratio = self.terms.first()?.factor.div(&other.terms.first()?.factor)?;
        (other.scaled(&ratio)? == *self).then_some(ratio)
    }

    fn is_opaque(&self) -> bool {
        let opaque = |term: &Term| term.product.powers().iter().any(|power| matches!(power.atom, Atom::Opaque(_)));
        self.terms.iter().any(opaque)
    }
}

/// A step of collecting terms.
trait RetainLast {
    /// Removes the last term where it has become zero.
    fn retain_last(&mut self);
}

impl RetainLast for Vec<Term> {
    fn retain_last(&mut self) {
        if self.last().is_some_and(|term| term.factor.is_zero()) {
            self.pop();
        }
    }
}

impl Form {
    pub fn of(product: Monomial, factor: Rational) -> Self {
        Self { top: Sum::of(product, factor), bottom: Sum::one() }
    }

    pub fn rational(value: Rational) -> Self {
        Self::of(Monomial::ONE, value)
    }

    pub fn atom(atom: Atom) -> Self {
        Self::of(Monomial::of(atom), Rational::ONE)
    }

    /// The number, where it is one.
    pub fn as_rational(&self) -> Option<Rational> {
        if self.bottom.is_one() { self.top.as_rational() } else { None }
    }

    /// The only term, where it is one product.
    pub fn as_term(&self) -> Option<&Term> {
        match (&self.top.terms[..], self.bottom.is_one()) {
            ([term], true) => Some(term),
            _ => None,
        }
    }

    /// The sum, where nothing but 1 is below it.
    pub fn as_sum(&self) -> Option<&Sum> {
        self.bottom.is_one().then_some(&self.top)
    }

    /// Whether it holds what is not taken apart, so that a difference in form need not be one in value.
    pub fn is_opaque(&self) -> bool {
        self.top.is_opaque() || self.bottom.is_opaque()
    }

    fn quotient(top: Sum, bottom: Sum, budget: &mut Budget) -> Option<Self> {
        if bottom.is_one() {
            return Some(Self { top, bottom });
        }
        if top.is_zero() {
            return Some(Self { top, bottom: Sum::one() });
        }
        match &bottom.terms[..] {
            [] => None,
            [term] => {
                let (product, factor) = term.product.pow(&Rational::integer(-1))?;
                let inverse = Sum::of(product, factor.div(&term.factor)?);
                Some(Self { top: top.mul(&inverse, budget)?, bottom: Sum::one() })
            }
            [.., last] => {
                let scale = Rational::ONE.div(&last.factor)?;
                Some(Self { top: top.scaled(&scale)?, bottom: bottom.scaled(&scale)? })
            }
        }
    }

    pub fn add(&self, other: &Self, budget: &mut Budget) -> Option<Self> {
        if self.bottom == other.bottom {
            return Self::quotient(self.top.add(&other.top, budget)?, self.bottom.clone(), budget);
        }
        let left = self.top.mul(&other.bottom, budget)?;
        let right = other.top.mul(&self.bottom, budget)?;
        Self::quotient(left.add(&right, budget)?, self.bottom.mul(&other.bottom, budget)?, budget)
    }

    pub fn neg(&self) -> Option<Self> {
        Some(Self { top: self.top.scaled(&Rational::integer(-1))?, bottom: self.bottom.clone() })
    }

    pub fn mul(&self, other: &Self, budget: &mut Budget) -> Option<Self> {
        if self.bottom == other.top && !self.bottom.is_one() {
            return Self::quotient(self.top.clone(), other.bottom.clone(), budget);
        }
        let bottom = match (self.bottom.is_one(), other.bottom.is_one()) {
            (true, true) => return Some(Self { top: self.top.mul(&other.top, budget)?, bottom: Sum::one() }),
            (true, false) => other.bottom.clone(),
            (false, true) => self.bottom.clone(),
            (false, false) => self.bottom.mul(&other.bottom, budget)?,
        };
        Self::quotient(self.top.mul(&other.top, budget)?, bottom, budget)
    }

    /// The reciprocal of what is not zero.
    pub fn inverse(&self, budget: &mut Budget) -> Option<Self> {
        Self::quotient(self.bottom.clone(), self.top.clone(), budget)
    }

    /// Whether two forms are the same number or function; None where what they hold is not taken apart far enough.
    pub fn same(&self, other: &Self, budget: &mut Budget) -> Option<bool> {
        let same = if self.bottom == other.bottom {
            self.top == other.top
        } else {
            self.top.mul(&other.bottom, budget)? == other.top.mul(&self.bottom, budget)?
        };
        (same || !(self.is_opaque() || other.is_opaque())).then_some(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x() -> Form {
        Form::atom(Atom::Variable(0))
    }

    fn number(value: i64) -> Form {
        Form::rational(Rational::integer(value))
    }

    #[test]
    fn products_and_sums_meet_in_one_form() {
        let budget = &mut Budget::new(1_000);
        let more = x().add(&number(1), budget).unwrap();
        let less = x().add(&number(-1), budget).unwrap();
        let product = more.mul(&less, budget).unwrap();
        let square = x().mul(&x(), budget).unwrap().add(&number(-1), budget).unwrap();
        assert_eq!(product, square);
        let quotient = square.mul(&less.inverse(budget).unwrap(), budget).unwrap();
        assert_eq!(quotient.same(&more, budget), Some(true));
        assert_eq!(quotient.same(&less, budget), Some(false));
        assert_eq!(product.top.ratio(&square.top.scaled(&Rational::integer(-2)).unwrap()), Rational::fraction(-1, 2));
    }

    #[test]
    fn work_is_bounded() {
        let mut sum = number(0);
        let budget = &mut Budget::new(20_000);
        for name in 0..12 {
            sum = sum.add(&Form::atom(Atom::Variable(name)), budget).unwrap();
        }
        let mut power = Some(sum.clone());
        for _ in 0..12 {
            power = power.and_then(|power| power.mul(&sum, budget));
        }
        assert!(power.is_none());
    }
}
