//! Whether two answers are the same.
//!
//! Numbers and functions are compared by their normal forms, which decide where everything in them is taken apart.
//! Where it is not, they are evaluated with about 30 digits, functions at several points, and are the same when they
//! cannot be told apart anywhere. What can be decided neither way is not the same.

use std::collections::HashMap;
use std::rc::Rc;

use super::complex::Approx;
use super::evaluate::{self, Budget, Point};
use super::expr::{Arena, Expr};
use super::form::{Form, Normal};
use super::normal::Keys;
use super::rational::Rational;
use super::units::{self, Unit};
use super::value::{Label, Value};

/// What counts as the same beyond what is.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Decimals, and below 1 significant digits, to which a number with a decimal point is compared.
    pub precision: u32,
    /// Whether the names of variables and the order of tuples matter.
    pub strict: bool,
    /// Whether an inequality may stand for an expected interval.
    pub relations: bool,
}

/// Compares the answers that an arena holds.
pub struct Judge<'a> {
    pub arena: &'a mut Arena,
    pub keys: Keys,
    pub budget: Budget,
    rules: Rules,
    normals: HashMap<u32, Rc<Normal>>,
    values: HashMap<u32, Option<Approx>>,
}

/// The widest bound within which two computed numbers are taken to be one. What is larger than 1e15 is only ever the
/// same by its normal form, because near misses such as exp(pi sqrt(163)) would pass as integers.
const WIDEST_BOUND: f64 = 1e-14;
/// Points at which two functions must have been compared.
const FEWEST_POINTS: usize = 3;

impl<'a> Judge<'a> {
    pub fn new(arena: &'a mut Arena, rules: Rules, steps: u32) -> Self {
        Self {
            arena,
            keys: Keys::default(),
            budget: Budget::new(steps),
            rules,
            normals: HashMap::new(),
            values: HashMap::new(),
        }
    }

    /// Whether a value divides by zero.
    pub fn is_undefined(&mut self, value: &Value) -> bool {
        match value {
            Value::Scalar { expr, .. } if self.arena.as_number(*expr).is_none() => {
                matches!(&*self.normal(*expr), Normal::Undefined)
            }
            Value::Assign { value, .. } => self.is_undefined(value),
            _ => false,
        }
    }

    /// Whether `found` is what is `expected`.
    pub fn same(&mut self, expected: &Value, found: &Value) -> bool {
        if self.budget.take(2).is_none() {
            return false;
        }
        for (list, other) in [(expected, found), (found, expected)] {
            if let Value::Set(list) = list
                && let Some(same) = self.same_by_name(list, other)
            {
                return same;
            }
        }
        match (expected, found) {
            (Value::Assign { label: a, value: left }, Value::Assign { label: b, value: right }) => {
                (self.same_label(a, b) && self.same(left, right)) || self.same_relation(expected, found)
            }
            (Value::Assign { value, .. }, Value::Relation { .. })
            | (Value::Relation { .. }, Value::Assign { value, .. }) => {
                value.as_expr().is_some() && self.same_relation(expected, found)
            }
            (Value::Assign { value, .. }, other) => self.same(value, other),
            (other, Value::Assign { value, .. }) => self.same(other, value),
            (Value::Scalar { expr: a, unit: left }, Value::Scalar { expr: b, unit: right }) => {
                self.same_quantity((*a, left.as_ref()), (*b, right.as_ref()))
            }
            (Value::Based { digits: a, base: left }, Value::Based { digits: b, base: right }) => {
                left == right && a.eq_ignore_ascii_case(b)
            }
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Tuple(a), Value::Tuple(b)) => self.same_row(a, b) || (!self.rules.strict && self.same_set(a, b)),
            (Value::Matrix { columns: left, cells: a }, Value::Matrix { columns: right, cells: b }) => {
                left == right && self.same_row(a, b)
            }
            (Value::Tuple(a), Value::Matrix { columns: 1, cells: b })
            | (Value::Matrix { columns: 1, cells: a }, Value::Tuple(b)) => self.same_row(a, b),
            (Value::Ratio { terms: a, time: left, unit }, Value::Ratio { terms: b, time: right, unit: other }) => {
                Unit::agree(unit.as_ref(), other.as_ref()) && self.same_ratio(a, b, *left || *right)
            }
            (Value::Ratio { terms, time: false, unit: None }, Value::Scalar { expr, unit: None })
            | (Value::Scalar { expr, unit: None }, Value::Ratio { terms, time: false, unit: None }) => {
                self.same_quotient(terms, *expr)
            }
            (Value::Relation { .. }, Value::Relation { .. }) => self.same_relation(expected, found),
            (Value::Intersection(a), Value::Intersection(b)) | (Value::Union(a), Value::Union(b))
                if self.same_set(a, b) =>
            {
                true
            }
            (Value::Difference(a), Value::Difference(b)) if self.same_row(&a[..], &b[..]) => true,
            (Value::Interval { ends: a, closed: left }, Value::Interval { ends: b, closed: right })
                if left == right && self.same_row(&a[..], &b[..]) =>
            {
                true
            }
            (Value::Set(a), Value::Set(b)) if self.same_set(a, b) => true,
            (Value::Set(a), Value::Tuple(b)) | (Value::Tuple(a), Value::Set(b))
                if !(expected.is_relation() || found.is_relation()) =>
            {
                !self.rules.strict && self.same_set(a, b)
            }
            (Value::Set(members), other) if members.len() == 1 => self.same(&members[0], other),
            // Several writings of one value are one.
            (Value::Scalar { .. }, Value::Set(members)) if !members.is_empty() => {
                members.iter().all(|member| self.same(expected, member))
            }
            (other, Value::Set(members)) if members.len() == 1 => self.same(other, &members[0]),
            _ => self.same_pieces(expected, found, self.rules.relations),
        }
    }

    /// Whether two values are said of the same; `y` may stand for a function of another variable.
    fn same_label(&self, a: &Label, b: &Label) -> bool {
        if !self.rules.strict {
            return true;
        }
        match (a, b) {
            (Label::Variable(a), Label::Variable(b)) => a == b,
            (Label::Variable(name), Label::Function(_, of)) | (Label::Function(_, of), Label::Variable(name)) => {
                is_variable(of) && self.arena.named(*name) != of
            }
            (Label::Function(a, of), Label::Function(b, other)) => {
                a == b && (of == other || (is_variable(of) && is_variable(other)))
            }
            _ => a.text(self.arena) == b.text(self.arena),
        }
    }

    /// Whether a list of values, each with a name of its own, is what is written without these names: in the same order.
    /// None where it is no such list, or the other has names too.
    fn same_by_name(&mut self, list: &[Value], other: &Value) -> Option<bool> {
        let mut values = Vec::with_capacity(list.len());
        let mut names: Vec<String> = Vec::with_capacity(list.len());
        for member in list {
            let Value::Assign { label, value } = member else { return None };
            names.push(label.text(self.arena));
            values.push(&**value);
        }
        // Roots have one name with several indices, and no order.
        let stem = |name: &String| name.split('_').next().unwrap_or(name).to_owned();
        let mut stems: Vec<String> = names.iter().map(stem).collect();
        stems.sort_unstable();
        stems.dedup();
        if names.len() < 2 || stems.len() < names.len() {
            return None;
        }
        let row = match other {
            Value::Assign { label, value } if label.text(self.arena) == format!("({})", names.join(",")) => value,
            other => other,
        };
        match row {
            Value::Set(members) if members.iter().any(|member| matches!(member, Value::Assign { .. })) => None,
            Value::Tuple(members) | Value::Set(members) => {
                Some(members.len() == values.len() && values.iter().zip(members).all(|(a, b)| self.same(a, b)))
            }
            _ => Some(false),
        }
    }

    fn same_row(&mut self, a: &[Value], b: &[Value]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
    }

    /// Whether each member of either is one of the other.
    fn same_set(&mut self, a: &[Value], b: &[Value]) -> bool {
        let mut missing: Vec<usize> = (0..b.len()).collect();
        for member in a {
            let met: Vec<usize> = missing.iter().copied().filter(|at| self.same(member, &b[*at])).collect();
            if met.is_empty() && !b.iter().any(|other| self.same(member, other)) {
                return false;
            }
            missing.retain(|at| !met.contains(at));
        }
        missing.is_empty()
    }

    fn same_quantity(&mut self, expected: (Expr, Option<&Unit>), found: (Expr, Option<&Unit>)) -> bool {
        let ((a, left), (b, right)) = (expected, found);
        let share = Rational::fraction(1, 100);
        match (left, right) {
            (None, None) => self.same_number(a, b),
            (Some(left), Some(right)) => match left.relation(right) {
                units::Relation::Same => self.same_number(a, b),
                units::Relation::Scaled(factor) => {
                    self.arena.scaled(a, &factor).is_some_and(|scaled| self.same_number(scaled, b))
                }
                units::Relation::Different => match (left, right) {
                    (Unit::Degree, Unit::Radian) => self.arena.radians(a).is_some_and(|a| self.same_number(a, b)),
                    (Unit::Radian, Unit::Degree) => self.arena.radians(b).is_some_and(|b| self.same_number(a, b)),
                    _ => false,
                },
            },
            // 28% is 28 for some and 0.28 for others.
            (Some(Unit::Percent), None) => {
                self.same_number(a, b)
                    || share.and_then(|share| self.arena.scaled(a, &share)).is_some_and(|a| self.same_number(a, b))
            }
            // Where only the answer has the sign, what is expected says which: up to 1 it is a share.
            (None, Some(Unit::Percent)) => {
                let size = self.value(a).map(|value| value.size());
                if size.is_some_and(|size| size > 1.0) {
                    return self.same_number(a, b);
                }
                share.and_then(|share| self.arena.scaled(b, &share)).is_some_and(|b| self.same_number(a, b))
            }
            (Some(Unit::Degree), None) => {
                self.same_number(a, b) || self.arena.radians(a).is_some_and(|a| self.same_number(a, b))
            }
            (None, Some(Unit::Degree)) => {
                self.same_number(a, b) || self.arena.radians(b).is_some_and(|b| self.same_number(a, b))
            }
            (Some(_), None) | (None, Some(_)) => self.same_number(a, b),
        }
    }

    /// Whether two expressions are the same number or function.
    pub fn same_number(&mut self, expected: Expr, found: Expr) -> bool {
        if self.same_function(expected, found).unwrap_or(false) {
            return true;
        }
        if self.rules.strict {
            return false;
        }
        let (from, to) = (self.arena.variables(found), self.arena.variables(expected));
        if from.is_empty() || from == to || from.len() != to.len() {
            return false;
        }
        let renamed = self.arena.renamed(found, &from, &to);
        renamed.is_some_and(|renamed| self.same_function(expected, renamed).unwrap_or(false))
    }

    /// None where it cannot be decided.
    fn same_function(&mut self, expected: Expr, found: Expr) -> Option<bool> {
        if let (Some(a), Some(b)) = (self.arena.infinity(expected), self.arena.infinity(found)) {
            return Some(a == b);
        }
        let decimal = expected.decimal || found.decimal;
        if let (Some(a), Some(b)) = (self.arena.as_number(expected), self.arena.as_number(found)) {
            return Some(a == b || (decimal && self.rounds(&a, &b)));
        }
        let (left, right) = (self.normal(expected), self.normal(found));
        let exact = match (&*left, &*right) {
            (Normal::Undefined, _) | (_, Normal::Undefined) => return Some(false),
            (Normal::Form(left), Normal::Form(right)) => left.same(right, &mut self.budget),
            _ => None,
        };
        if exact == Some(true) || (exact == Some(false) && !decimal) {
            return exact;
        }
        let open = self.arena.is_open(expected) || self.arena.is_open(found);
        if !open {
            let (a, b) = (self.value(expected)?, self.value(found)?);
            return Some((exact.is_none() && is_one_number(a, b)) || (decimal && self.close(a, b)));
        }
        if let (true, Normal::Form(left), Normal::Form(right)) = (decimal, &*left, &*right)
            && self.rounds_term_by_term(left, right) == Some(true)
        {
            return Some(true);
        }
        if exact.is_some() { exact } else { self.same_at_points(expected, found) }
    }

    fn same_at_points(&mut self, expected: Expr, found: Expr) -> Option<bool> {
        let mut met = 0;
        for point in Point::all(self.arena, &[expected, found]) {
            let a = evaluate::value(self.arena, expected, point, &mut self.budget);
            let b = evaluate::value(self.arena, found, point, &mut self.budget);
            let (Some(a), Some(b)) = (a, b) else { continue };
            match told_apart(a, b) {
                Some(true) => return Some(false),
                Some(false) => met += 1,
                None => {}
            }
        }
        (met >= FEWEST_POINTS).then_some(true)
    }

    pub fn normal(&mut self, expr: Expr) -> Rc<Normal> {
        if let Some(known) = self.normals.get(&expr.root) {
            return Rc::clone(known);
        }
        let normal = Rc::new(self.keys.normal(self.arena, expr, &mut self.budget));
        self.normals.insert(expr.root, Rc::clone(&normal));
        normal
    }

    /// The value of an expression without variables.
    pub fn value(&mut self, expr: Expr) -> Option<Approx> {
        if let Some(known) = self.values.get(&expr.root) {
            return *known;
        }
        let point = Point::all(self.arena, &[]).next()?;
        let value = evaluate::value(self.arena, expr, point, &mut self.budget);
        self.values.insert(expr.root, value);
        value
    }

    fn rounds(&self, a: &Rational, b: &Rational) -> bool {
        let float = |value: &Rational| value.to_doubles().map(|(high, _)| high);
        let off = || float(&a.sub(b)?);
        match (float(a), off()) {
            (Some(size), Some(off)) => off.abs() <= self.tolerance(size.abs()),
            _ => false,
        }
    }

    /// Half a unit in the last of the decimals that count; below 1 these are significant digits.
    fn tolerance(&self, size: f64) -> f64 {
        const SMALLEST: f64 = 1e-300;
        let exponent = if size < SMALLEST { 0.0 } else { (size.log10().floor() + 1.0).min(0.0) };
        // A float's own rounding of the bound must not exclude what lies on it.
        0.5 * (1.0 + 1e-9) * 10_f64.powf(exponent - f64::from(self.rules.precision))
    }

    fn close(&self, a: Approx, b: Approx) -> bool {
        let off = a.sub(b);
        off.error < 1e-12 * a.size().max(1e-12) && off.size() <= self.tolerance(a.size())
    }

    /// Whether two sums have the same terms with factors that differ by rounding.
    fn rounds_term_by_term(&self, a: &Form, b: &Form) -> Option<bool> {
        let (a, b) = (&a.as_sum()?.terms, &b.as_sum()?.terms);
        let same = a
            .iter()
            .zip(b)
            .all(|(a, b)| a.product == b.product && (a.factor == b.factor || self.rounds(&a.factor, &b.factor)));
        Some(a.len() == b.len() && same)
    }

    fn same_ratio(&mut self, a: &[Expr], b: &[Expr], times: bool) -> bool {
        if a.len() != b.len() {
            return false;
        }
        if a.iter().zip(b).all(|(a, b)| self.same_number(*a, *b)) {
            return true;
        }
        // What may be a time of day is no ratio that could be reduced.
        let first = (self.value(a[0]), self.value(b[0]));
        if times || !matches!(first, (Some(a), Some(b)) if a.size() > 0.0 && b.size() > 0.0) {
            return false;
        }
        (1..a.len()).all(|at| {
            let left = self.arena.quotient(a[at], a[0]);
            let right = self.arena.quotient(b[at], b[0]);
            matches!((left, right), (Some(left), Some(right)) if self.same_number(left, right))
        })
    }

    fn same_quotient(&mut self, terms: &[Expr], expr: Expr) -> bool {
        let [top, bottom] = terms else { return false };
        self.arena.quotient(*top, *bottom).is_some_and(|quotient| self.same_number(quotient, expr))
    }
}

/// Whether the arguments of a function are nothing but one variable, of whatever name.
fn is_variable(arguments: &str) -> bool {
    arguments.len() == 1 && arguments.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Whether two computed numbers differ by more than what they may be off. None where they do not and may be off by much.
pub fn told_apart(a: Approx, b: Approx) -> Option<bool> {
    let off = a.sub(b);
    let bound = 4.0 * off.error;
    match off.size() > bound {
        true => Some(true),
        false => (bound <= 1e-15 * a.size().max(1e-3)).then_some(false),
    }
}

/// Whether two computed numbers are one: they cannot be told apart within the widest bound.
fn is_one_number(a: Approx, b: Approx) -> bool {
    told_apart(a, b) == Some(false) && 4.0 * a.sub(b).error <= WIDEST_BOUND
}
