//! From expressions to normal forms.

use super::evaluate::Budget;
use super::expr::{Arena, Expr, Function, Id, Node};
use super::form::{Form, Key, Normal};
use super::monomial::{Atom, Monomial, Power};
use super::rational::Rational;

/// The largest power of a sum that is multiplied out.
const MAX_POWER: i64 = 64;
const MAX_KEYS: usize = 256;

/// What the opaque atoms of both answers of a comparison stand for.
#[derive(Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
}

/// Why there is no form.
enum Without {
    Undefined,
    Unknown,
}

/// A form, or that there is none.
type Made = Result<Form, Without>;

/// The form, unknown where there was too much to do.
fn made(form: Option<Form>) -> Made {
    form.ok_or(Without::Unknown)
}

impl Keys {
    /// What an opaque atom stands for.
    pub fn get(&self, at: u32) -> Option<&Key> {
        self.keys.get(at as usize)
    }

    /// The normal form of an expression.
    pub fn normal(&mut self, arena: &Arena, expr: Expr, budget: &mut Budget) -> Normal {
        let mut forms: Vec<Form> = Vec::with_capacity(arena.nodes(expr).len());
        for node in arena.nodes(expr) {
            let of = |id: &Id| &forms[(*id - expr.start) as usize];
            match budget.take(1).ok_or(Without::Unknown).and_then(|()| self.node(node, of, budget)) {
                Ok(form) => forms.push(form),
                Err(Without::Undefined) => return Normal::Undefined,
                Err(Without::Unknown) => return Normal::Unknown,
            }
        }
        forms.pop().map_or(Normal::Unknown, Normal::Form)
    }

    fn node<'f>(&mut self, node: &Node, of: impl Fn(&Id) -> &'f Form, budget: &mut Budget) -> Made {
        match node {
            Node::Number(number) => Ok(Form::rational(number.clone())),
            Node::Pi => Ok(Form::atom(Atom::Pi)),
            Node::E => Ok(Form::atom(Atom::E)),
            Node::I => Ok(Form::atom(Atom::I)),
            Node::Infinity => Err(Without::Unknown),
            Node::Variable(name) => Ok(Form::atom(Atom::Variable(*name))),
            Node::Neg(a) => made(of(a).neg()),
            Node::Add(a, b) => made(of(a).add(of(b), budget)),
            Node::Mul(a, b) => made(of(a).mul(of(b), budget)),
            Node::Div(a, b) => made(of(a).mul(&inverse(of(b), budget)?, budget)),
            Node::Pow(a, b) => self.power(of(a), of(b), budget),
            Node::Root(a, b) => self.root(of(a), of(b)),
            Node::Log(a, b) => self.opaque(Key::Log(of(a).clone(), of(b).clone())),
            Node::Binomial(a, b) if of(a).as_rational().is_some() && of(b).as_rational().is_some() => {
                binomial(of(a), of(b), budget)
            }
            Node::Binomial(a, b) => self.opaque(Key::Binomial(of(a).clone(), of(b).clone())),
            Node::Call(function, a) => self.call(*function, of(a)),
            Node::Apply(name, a, b) => self.opaque(Key::Apply(*name, of(a).clone(), b.as_ref().map(|b| of(b).clone()))),
        }
    }

    /// An atom for something that is not taken apart, the same for the same thing.
    fn opaque(&mut self, key: Key) -> Made {
        let known = self.keys.iter().position(|known| *known == key);
        let at = known.unwrap_or(self.keys.len());
        if known.is_none() {
            if self.keys.len() >= MAX_KEYS {
                return Err(Without::Unknown);
            }
            self.keys.push(key);
        }
        made(u32::try_from(at).ok().map(|at| Form::atom(Atom::Opaque(at))))
    }

    fn power(&mut self, base: &Form, exponent: &Form, budget: &mut Budget) -> Made {
        let Some(number) = exponent.as_rational() else {
            // One to anything is one; zero to what is not a number is left alone.
            return self.opaque(Key::Power(base.clone(), exponent.clone()));
        };
        let opaque = || Key::Power(base.clone(), exponent.clone());
        if let Some(integer) = number.as_integer() {
            if base.top.is_zero() && integer <= 0 {
                return Err(Without::Undefined);
            }
            return match integer_power(base, integer, budget) {
                Some(form) => Ok(form),
                None => self.opaque(opaque()),
            };
        }
        match fractional_power(base, &number) {
            Some(form) => Ok(form),
            None => self.opaque(opaque()),
        }
    }

    fn root(&mut self, degree: &Form, of: &Form) -> Made {
        let exponent = degree.as_rational().filter(|degree| degree.as_integer().is_some_and(|degree| degree > 0));
        let form = exponent.and_then(|degree| {
            let odd = degree.as_integer()? % 2 != 0;
            let exponent = Rational::ONE.div(&degree)?;
            let negative = of.as_rational().is_some_and(|number| number.is_negative());
            // The real root of a negative number.
            if odd && negative {
                fractional_power(&of.neg()?, &exponent)?.neg()
            } else {
                fractional_power(of, &exponent)
            }
        });
        match form {
            Some(form) => Ok(form),
            None => self.opaque(Key::Root(degree.clone(), of.clone())),
        }
    }

    fn call(&mut self, function: Function, argument: &Form) -> Made {
        let number = argument.as_rational();
        let exact = number.as_ref().and_then(|number| match function {
            Function::Abs => number.abs(),
            Function::Floor => number.floor(),
            Function::Ceil => number.neg()?.floor()?.neg(),
            Function::Factorial => factorial(number.as_integer()?),
            _ => None,
        });
        match exact {
            Some(number) => Ok(Form::rational(number)),
            None => self.opaque(Key::Call(function, argument.clone())),
        }
    }
}

fn inverse(form: &Form, budget: &mut Budget) -> Made {
    if form.top.is_zero() { Err(Without::Undefined) } else { made(form.inverse(budget)) }
}

fn integer_power(base: &Form, exponent: i64, budget: &mut Budget) -> Option<Form> {
    if let Some(number) = base.as_rational() {
        return number.pow(exponent).map(Form::rational);
    }
    if let Some(term) = base.as_term() {
        let (product, factor) = term.product.pow(&Rational::integer(exponent))?;
        return Some(Form::of(product, factor.mul(&term.factor.pow(exponent)?)?));
    }
    if exponent.abs() > MAX_POWER {
        return None;
    }
    let mut power = Form::rational(Rational::ONE);
    for _ in 0..exponent.abs() {
        power = power.mul(base, budget)?;
    }
    if exponent < 0 { power.inverse(budget) } else { Some(power) }
}

/// The principal power of a product to a fraction; None where the factors cannot be raised one by one.
fn fractional_power(base: &Form, exponent: &Rational) -> Option<Form> {
    if base.top.is_zero() && !exponent.is_negative() {
        return Some(base.clone());
    }
    let term = base.as_term()?;
    let factor = term.factor.abs()?;
    let negative = term.factor.is_negative();
    let (_, bottom) = exponent.as_small()?;
    let plain = |power: &Power| match power.atom {
        Atom::Prime(_) | Atom::Pi | Atom::E => true,
        Atom::I | Atom::Variable(_) | Atom::Opaque(_) => false,
    };
    let mut others = term.product.powers().iter().filter(|power| !plain(power));
    let splits = match (others.next(), others.next()) {
        (None, _) => !negative || bottom == 2,
        // (x^a)^b is x^(ab) on the principal branch for 0 < a <= 1.
        (Some(power), None) => !negative && power.atom != Atom::I && power.top > 0 && power.top <= power.bottom,
        (Some(_), Some(_)) => false,
    };
    if !splits {
        return None;
    }
    let (radical, outside) = Monomial::radical(&factor, exponent)?;
    let (product, more) = term.product.pow(exponent)?;
    let (mut product, again) = product.mul(&radical)?;
    let mut factor = outside.mul(&more)?.mul(&again)?;
    if negative {
        // The square root of -1 to an odd power.
        let (turned, sign) = Monomial::of(Atom::I).pow(&exponent.mul(&Rational::integer(2))?)?;
        let both = product.mul(&turned)?;
        product = both.0;
        factor = factor.mul(&sign)?.mul(&both.1)?;
    }
    Some(Form::of(product, factor))
}

fn factorial(n: i64) -> Option<Rational> {
    const LARGEST: i64 = 200;
    if !(0..=LARGEST).contains(&n) {
        return None;
    }
    (2..=n).try_fold(Rational::ONE, |product, factor| product.mul(&Rational::integer(factor)))
}

fn binomial(n: &Form, k: &Form, budget: &mut Budget) -> Made {
    let integer = |form: &Form| form.as_rational().and_then(|number| number.as_integer());
    let product = budget.take(100).and_then(|()| Rational::binomial(integer(n)?, integer(k)?));
    made(product.map(Form::rational))
}
