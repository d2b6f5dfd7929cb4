//! Expressions as numbers: at the values of their constants, or at fixed points where they have variables.
//!
//! The points are the same in every run, so that a verdict is too. Some are positive and some are complex, because what
//! only holds for positive numbers, such as sqrt(x^2) = x, is no equality; where a function is only meant for real
//! numbers, negative ones stand in for the complex ones.

use super::complex::Approx;
use super::double::{Double, EPSILON};
use super::expr::{Arena, Expr, Function, Id, Node};
use crate::job::random::{STEP, mixed, unit};

/// The points, by what a variable is there: how large, whether it is positive, and whether it leaves the real line. Large
/// ones tell sqrt((x + 5)^2) from x + 5.
const POINTS: [Place; 7] = [
    Place { size: 1.0, sign: Sign::Positive, complex: false },
    Place { size: 1.0, sign: Sign::Negative, complex: true },
    Place { size: 31.0, sign: Sign::Positive, complex: false },
    Place { size: 1.0, sign: Sign::Mixed, complex: true },
    Place { size: 307.0, sign: Sign::Negative, complex: true },
    Place { size: 2.1e4, sign: Sign::Positive, complex: false },
    Place { size: 7.7e4, sign: Sign::Mixed, complex: true },
];

/// What variables are besides, where a function in it is made of pieces, such as an absolute value: whether two of them
/// are the same shows only between and at the places where the pieces meet, which mostly are small whole numbers, halves
/// or near zero.
const BETWEEN_PIECES: [f64; 33] = [
    0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.0, -5.0, 6.0, 7.0, 8.0, 9.0, 10.0, -7.0, 0.5, -0.5, 1.5, -1.5,
    2.5, -2.5, 3.5, -3.5, 0.05, -0.05, 0.3, -0.3, 0.7, -0.7, 0.005, -0.005,
];

#[derive(Clone, Copy, Debug)]
struct Place {
    size: f64,
    sign: Sign,
    complex: bool,
}

/// The sign of variables: the same for all, or another for every second one. Of complex ones it is the imaginary part
/// whose sign is mixed, and the real part is negative.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Positive,
    Negative,
    Mixed,
}

/// Work that is left; whatever computes takes from it and ends when nothing is left.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u32,
}

impl Budget {
    pub const fn new(steps: u32) -> Self {
        Self { left: steps }
    }

    /// Takes `steps`; None when there are not as many.
    pub fn take(&mut self, steps: usize) -> Option<()> {
        self.left = self.left.checked_sub(u32::try_from(steps).ok()?)?;
        Some(())
    }
}

/// Where an expression is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    number: usize,
    real: bool,
}

impl Point {
    /// The points for expressions; more of them, and all real, if one of these is made of pieces of the real line.
    pub fn all(arena: &Arena, exprs: &[Expr]) -> impl Iterator<Item = Self> + use<> {
        let only_real = |node: &Node| matches!(node, Node::Call(Function::Abs | Function::Floor | Function::Ceil, _));
        let real = exprs.iter().any(|expr| arena.nodes(*expr).iter().any(only_real));
        let more = if real { BETWEEN_PIECES.len() } else { 0 };
        (0..POINTS.len() + more).map(move |number| Self { number, real })
    }

    /// The value of a variable.
    fn value(self, name: u32) -> Approx {
        if let Some(place) = self.number.checked_sub(POINTS.len()) {
            // Another stride for each variable, so that they meet in many ways; no stride divides the number of places.
            let stride = [1, 5, 7, 13, 19, 23][name as usize % 6];
            return Approx::real(Double::of(BETWEEN_PIECES[(place * stride + name as usize) % BETWEEN_PIECES.len()]));
        }
        let Place { size, sign, complex } = POINTS[self.number];
        let seed = u64::from(name) << 8 | self.number as u64;
        let of = |size: f64, seed: u64| Double::of(size * (0.4 + 1.7 * uniform(seed)));
        let flipped = sign == Sign::Mixed && name % 2 == 1;
        match (complex, self.real) {
            (false, _) => Approx::real(of(size, seed)),
            (true, true) => Approx::real(if flipped { of(size, seed) } else { -of(size, seed) }),
            (true, false) => {
                let im = of(1.0, seed ^ 0x5000_0000);
                Approx { re: -of(size, seed), im: if flipped { -im } else { im }, error: 0.0 }
            }
        }
    }
}

/// A number between 0 and 1 from a seed.
fn uniform(seed: u64) -> f64 {
    unit(mixed(seed.wrapping_add(1).wrapping_mul(STEP)))
}

/// The value of an expression; None where it is not defined, too large or too inexact to be told, or the work is too
/// much.
pub fn value(arena: &Arena, expr: Expr, point: Point, budget: &mut Budget) -> Option<Approx> {
    let nodes = arena.nodes(expr);
    let mut values: Vec<Approx> = Vec::with_capacity(nodes.len());
    for node in nodes {
        budget.take(1)?;
        let of = |id: &Id| values[(*id - expr.start) as usize];
        let value = match node {
            Node::Number(number) => {
                let (high, low) = number.to_doubles()?;
                let rounded = Approx::rounded(Double { high, low });
                if number.as_integer().is_some() { Approx { error: 0.0, ..rounded } } else { rounded }
            }
            Node::Pi => Approx::pi(),
            Node::E => Approx::e(),
            Node::I => Approx::I,
            Node::Infinity => return None,
            Node::Variable(name) => point.value(*name),
            Node::Neg(a) => of(a).neg(),
            Node::Add(a, b) => of(a).add(of(b)),
            Node::Mul(a, b) => of(a).mul(of(b)),
            Node::Div(a, b) => of(a).div(of(b))?,
            Node::Pow(a, b) => {
                budget.take(10)?;
                power(of(a), of(b))?
            }
            Node::Root(a, b) => {
                budget.take(10)?;
                root(of(a), of(b))?
            }
            Node::Log(a, b) => {
                budget.take(20)?;
                of(b).ln()?.div(of(a).ln()?)?
            }
            Node::Binomial(a, b) => binomial(of(a).as_integer()?, of(b).as_integer()?, budget)?,
            Node::Call(function, a) => {
                budget.take(10)?;
                call(*function, of(a))?
            }
            Node::Apply(name, a, b) => applied(*name, of(a), b.as_ref().map(of)),
        };
        if !value.is_finite() {
            return None;
        }
        values.push(value);
    }
    values.pop()
}

fn power(base: Approx, exponent: Approx) -> Option<Approx> {
    // Roots are the powers people write most, and their own way is exact and fast.
    if exponent.im.high == 0.0 && exponent.error == 0.0 && exponent.re == Double::of(0.5) {
        return Some(base.sqrt());
    }
    base.pow(exponent)
}

/// The root of some degree: of negative numbers the real one where the degree is odd, otherwise the principal one.
fn root(degree: Approx, of: Approx) -> Option<Approx> {
    let integer = degree.as_integer()?;
    if integer == 2 {
        return Some(of.sqrt());
    }
    let exponent = Approx::ONE.div(degree)?;
    let negative = of.im.high == 0.0 && of.re.high < 0.0;
    if negative && integer % 2 != 0 { Some(of.neg().pow(exponent)?.neg()) } else { of.pow(exponent) }
}

fn binomial(n: i64, k: i64, budget: &mut Budget) -> Option<Approx> {
    if !(0..=1_000).contains(&n) || !(0..=n).contains(&k) {
        return None;
    }
    let k = k.min(n - k);
    budget.take(usize::try_from(k).ok()?)?;
    (0..k).try_fold(Approx::ONE, |product, at| {
        let factor = |value: i64| Approx::real(Double::of(value as f64));
        product.mul(factor(n - at)).div(factor(at + 1))
    })
}

fn call(function: Function, z: Approx) -> Option<Approx> {
    let sin_cos = || z.sin_cos();
    Some(match function {
        Function::Sin => sin_cos()?.0,
        Function::Cos => sin_cos()?.1,
        Function::Tan => sin_cos().and_then(|(sin, cos)| sin.div(cos))?,
        Function::Cot => sin_cos().and_then(|(sin, cos)| cos.div(sin))?,
        Function::Sec => Approx::ONE.div(sin_cos()?.1)?,
        Function::Csc => Approx::ONE.div(sin_cos()?.0)?,
        Function::Arcsin => z.asin()?,
        Function::Arccos => z.acos()?,
        Function::Arctan => z.atan()?,
        Function::Sinh => z.sinh_cosh()?.0,
        Function::Cosh => z.sinh_cosh()?.1,
        Function::Tanh => z.sinh_cosh().and_then(|(sinh, cosh)| sinh.div(cosh))?,
        Function::Ln => z.ln()?,
        Function::Exp => z.exp()?,
        Function::Abs => z.abs(),
        Function::Floor => step(z, f64::floor)?,
        Function::Ceil => step(z, f64::ceil)?,
        Function::Factorial => {
            let n = z.as_integer().filter(|n| (0..=170).contains(n))?;
            (2..=n).fold(Approx::ONE, |product, factor| product.mul(Approx::real(Double::of(factor as f64))))
        }
    })
}

/// Floor and ceiling; what may be an integer is taken to be one.
fn step(z: Approx, of: fn(f64) -> f64) -> Option<Approx> {
    if let Some(integer) = z.as_integer() {
        return Some(Approx::real(Double::of(integer as f64)));
    }
    (z.is_real() && z.re.high.abs() < 1e15 && z.error < 1e-12).then(|| Approx::real(Double::of(of(z.re.high))))
}

/// The value of an unknown function: some number that depends on the name and the arguments alone.
fn applied(name: u32, first: Approx, second: Option<Approx>) -> Approx {
    const DIGITS: f64 = 1e9;
    let of = |seed: u64, value: f64| {
        let rounded = (value * DIGITS).round() as i64 as u64;
        (seed ^ rounded).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    let mut seed = u64::from(name) ^ 0x6600_0000;
    for value in [Some(first), second].into_iter().flatten() {
        seed = of(of(seed, value.re.high), value.im.high);
    }
    Approx { error: EPSILON, ..Approx::real(Double::of(0.5 + 2.0 * uniform(seed))) }
}
