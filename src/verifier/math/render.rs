//! Answers as text that is the same for answers that are the same, as far as their normal forms are.

use std::fmt::Write;

use super::compare::Judge;
use super::complex::Approx;
use super::expr::{Arena, Expr};
use super::form::{Form, Key, Normal, Sum, Term};
use super::monomial::{Atom, Monomial};
use super::normal::Keys;
use super::rational::Rational;
use super::value::{Sign, Value};

/// The longest text.
const MAX_BYTES: usize = 512;
/// How deep what is not taken apart is written out.
const MAX_DEPTH: u32 = 8;

/// The text of an answer; `source` stands for what has no normal form.
pub fn canonical(judge: &mut Judge<'_>, value: &Value, source: &str) -> String {
    let mut text = show(judge, value).unwrap_or_else(|| source.split_whitespace().collect::<Vec<_>>().join(" "));
    text.truncate(text.floor_char_boundary(MAX_BYTES));
    text
}

fn show(judge: &mut Judge<'_>, value: &Value) -> Option<String> {
    let joined = |judge: &mut Judge<'_>, values: &[Value], sorted: bool, between: &str| {
        let mut texts = values.iter().map(|value| show(judge, value)).collect::<Option<Vec<_>>>()?;
        if sorted {
            texts.sort_unstable();
            texts.dedup();
        }
        Some(texts.join(between))
    };
    match value {
        Value::Scalar { expr, .. } => number(judge, *expr),
        Value::Based { digits, base } => Some(format!("{digits}_{base}")),
        Value::Text(text) => Some(text.clone()),
        Value::Tuple(members) => Some(format!("({})", joined(judge, members, false, ", ")?)),
        Value::Interval { ends, closed } => {
            let (open, close) = (if closed[0] { '[' } else { '(' }, if closed[1] { ']' } else { ')' });
            Some(format!("{open}{}{close}", joined(judge, &ends[..], false, ", ")?))
        }
        Value::Set(members) if members.len() == 1 => show(judge, &members[0]),
        Value::Set(members) => Some(format!("{{{}}}", joined(judge, members, true, ", ")?)),
        Value::Union(parts) => joined(judge, parts, true, " ∪ "),
        Value::Intersection(parts) => joined(judge, parts, true, " ∩ "),
        Value::Difference(parts) => joined(judge, &parts[..], false, " ∖ "),
        Value::Matrix { columns, cells } => {
            let rows: Option<Vec<String>> = cells.chunks(*columns).map(|row| joined(judge, row, false, ", ")).collect();
            Some(format!("[{}]", rows?.join("; ")))
        }
        Value::Relation { sides, signs, .. } => relation(judge, sides, signs),
        Value::Assign { value, .. } => show(judge, value),
        Value::Ratio { terms, .. } => {
            let texts: Option<Vec<String>> = terms.iter().map(|term| number(judge, *term)).collect();
            Some(texts?.join(":"))
        }
    }
}

/// An equation is written as its difference, scaled so that the factor of the term that is written first is 1.
fn relation(judge: &mut Judge<'_>, sides: &[Expr], signs: &[Sign]) -> Option<String> {
    if let ([left, right], [sign]) = (sides, signs) {
        let (left, right, sign) = match sign {
            Sign::Equal | Sign::About => (left, right, "="),
            Sign::NotEqual => (left, right, "≠"),
            Sign::Less => (left, right, "<"),
            Sign::LessOrEqual => (left, right, "≤"),
            Sign::Greater => (right, left, "<"),
            Sign::GreaterOrEqual => (right, left, "≤"),
        };
        let difference = judge.arena.difference(*left, *right)?;
        if let Normal::Form(form) = &*judge.normal(difference) {
            let written = |term: &&Term| product(&term.product, &judge.keys, judge.arena, 0);
            let first = form.top.terms.iter().min_by_key(written)?;
            let scale = if matches!(sign, "=" | "≠") { first.factor.clone() } else { first.factor.abs()? };
            let top = form.top.scaled(&Rational::ONE.div(&scale)?)?;
            let text = shown(&Form { top, bottom: form.bottom.clone() }, &judge.keys, judge.arena, 0)?;
            return Some(format!("{text} {sign} 0"));
        }
    }
    let mut text = number(judge, sides[0])?;
    for (side, sign) in sides[1..].iter().zip(signs) {
        let sign = match sign {
            Sign::Equal | Sign::About => "=",
            Sign::NotEqual => "≠",
            Sign::Less => "<",
            Sign::LessOrEqual => "≤",
            Sign::Greater => ">",
            Sign::GreaterOrEqual => "≥",
        };
        let _ = write!(text, " {sign} {}", number(judge, *side)?);
    }
    Some(text)
}

fn number(judge: &mut Judge<'_>, expr: Expr) -> Option<String> {
    if let Some(number) = judge.arena.as_number(expr) {
        return Some(number.to_string());
    }
    if let Some(sign) = judge.arena.infinity(expr) {
        return Some(String::from(if sign > 0 { "∞" } else { "-∞" }));
    }
    let normal = judge.normal(expr);
    if let Normal::Form(form) = &*normal
        && (!form.is_opaque() || judge.arena.is_open(expr))
    {
        return shown(form, &judge.keys, judge.arena, 0);
    }
    if judge.arena.is_open(expr) { None } else { computed(judge.value(expr)?) }
}

/// A number that was computed: as a fraction where it is one, otherwise to 15 digits.
fn computed(value: Approx) -> Option<String> {
    const LARGEST: i32 = 1_000;
    if !value.is_real() {
        return Some(format!("{:.14e} + {:.14e} i", value.re.high, value.im.high));
    }
    for bottom in 1..=LARGEST {
        // Few denominators come near, and only these are looked at closely.
        let near = value.re.high * f64::from(bottom);
        if (near - near.round()).abs() > 1e-6 {
            continue;
        }
        let scaled = value.mul(Approx::real(super::double::Double::of(f64::from(bottom))));
        if let Some(top) = scaled.as_integer() {
            return Some(Rational::fraction(i128::from(top), i128::from(bottom))?.to_string());
        }
    }
    Some(format!("{:.14e}", value.re.high))
}

fn shown(form: &Form, keys: &Keys, arena: &Arena, depth: u32) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let top = sum(&form.top, keys, arena, depth)?;
    if form.as_sum().is_some() {
        return Some(top);
    }
    Some(format!("({top})/({})", sum(&form.bottom, keys, arena, depth)?))
}

fn sum(sum: &Sum, keys: &Keys, arena: &Arena, depth: u32) -> Option<String> {
    let term = |term: &Term| {
        let product = product(&term.product, keys, arena, depth)?;
        Some(match (product.is_empty(), &term.factor) {
            (true, factor) => factor.to_string(),
            (false, factor) if *factor == Rational::ONE => product,
            (false, factor) => format!("{factor} {product}"),
        })
    };
    let mut terms = sum.terms.iter().map(term).collect::<Option<Vec<_>>>()?;
    // Atoms are numbered as they were met, which differs from text to text.
    terms.sort_unstable();
    Some(if terms.is_empty() { String::from("0") } else { terms.join(" + ") })
}

fn product(product: &Monomial, keys: &Keys, arena: &Arena, depth: u32) -> Option<String> {
    let mut powers = Vec::with_capacity(product.powers().len());
    for power in product.powers() {
        let base = match power.atom {
            Atom::Prime(prime) => prime.to_string(),
            Atom::Pi => String::from("pi"),
            Atom::E => String::from("e"),
            Atom::I => String::from("i"),
            Atom::Variable(name) => arena.named(name).to_owned(),
            Atom::Opaque(at) => key(keys.get(at)?, keys, arena, depth + 1)?,
        };
        powers.push(match (power.top, power.bottom) {
            (1, 1) => base,
            (top, 1) => format!("{base}^{top}"),
            (top, bottom) => format!("{base}^({top}/{bottom})"),
        });
    }
    powers.sort_unstable();
    Some(powers.join(" "))
}

fn key(key: &Key, keys: &Keys, arena: &Arena, depth: u32) -> Option<String> {
    let of = |form: &Form| shown(form, keys, arena, depth);
    Some(match key {
        Key::Call(function, form) => format!("{function:?}({})", of(form)?).to_lowercase(),
        Key::Power(base, exponent) => format!("({})^({})", of(base)?, of(exponent)?),
        Key::Root(degree, form) => format!("root({}, {})", of(degree)?, of(form)?),
        Key::Log(base, form) => format!("log({}, {})", of(base)?, of(form)?),
        Key::Binomial(n, k) => format!("binom({}, {})", of(n)?, of(k)?),
        Key::Apply(name, first, None) => format!("{}({})", arena.named(*name), of(first)?),
        Key::Apply(name, first, Some(second)) => format!("{}({}, {})", arena.named(*name), of(first)?, of(second)?),
    })
}
