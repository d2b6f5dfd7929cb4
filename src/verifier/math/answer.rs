//! The grammar of answers: lists, tuples, sets, intervals, matrices, equations and inequalities of expressions.

use super::expr::{Arena, Expr, Id, Node};
use super::lex::{self, Kind, Token};
use super::parse::{Operand, Parser};
use super::text;
use super::units::{Relation, Unit};
use super::value::{Label, Sign, Value};

/// The most members of a list, and the most sides of a relation.
pub const MAX_MEMBERS: usize = 256;
const MAX_SIDES: usize = 32;

/// Reads an answer, in LaTeX or in plain text; None where it is none that is understood.
pub fn read(source: &str, plain: bool, arena: &mut Arena) -> Option<Value> {
    if let Some(number) = text::number(source) {
        let id = arena.push(Node::Number(super::rational::Rational::integer(number)))?;
        return Some(Value::scalar(Expr { start: id, root: id, decimal: false }));
    }
    let tokens = lex::tokens(source, plain)?;
    let mut parser = Parser::new(tokens, plain, arena);
    // The letter of a choice before its value.
    let choice = |text: &str| text.len() == 3 && text.starts_with('(') && text.ends_with(')');
    if parser.peek().kind == Kind::Text && choice(parser.peek().text) && parser.ahead(1).kind == Kind::Number {
        parser.at += 1;
    }
    let mut members = parser.list()?;
    if parser.peek().kind != Kind::End {
        return None;
    }
    if members.len() == 1 { members.pop() } else { Some(Value::Set(members)) }
}

impl Parser<'_, '_> {
    /// Answers with commas, semicolons or `and` between them, up to a bracket or the end.
    fn list(&mut self) -> Option<Vec<Value>> {
        let mut members = Vec::new();
        // Where an `or` stands before a member.
        let (mut alternatives, mut ands) = (Vec::new(), 0);
        loop {
            self.item(&mut members)?;
            let start = self.at;
            if !self.separator() || matches!(self.peek().kind, Kind::End | Kind::Symbol('}' | '⦄')) {
                return Some(connected(members, &alternatives, ands));
            }
            let written = |names: &[&str]| self.tokens[start..self.at].iter().any(|token| names.contains(&token.text));
            ands += usize::from(written(&["and", "land", "wedge", "∧"]));
            if written(&["or", "lor", "vee", "∨"]) {
                alternatives.push(members.len());
            }
        }
    }

    fn separator(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek().kind, Kind::Symbol(',' | ';' | '&' | '⏎')) {
            self.at += 1;
        }
        self.at > start
    }

    /// One answer, or the two that it is with `\pm`.
    fn item(&mut self, members: &mut Vec<Value>) -> Option<()> {
        let (start, outer) = (self.at, (self.lower, self.two_signs));
        (self.lower, self.two_signs) = (false, false);
        let first = self.element()?;
        members.push(first);
        if self.two_signs && !outer.0 {
            self.back_to(start);
            self.lower = true;
            let second = self.element()?;
            members.push(second);
        }
        (self.lower, self.two_signs) = outer;
        (members.len() <= MAX_MEMBERS).then_some(())
    }

    /// A value, perhaps with what is said to equal it.
    fn element(&mut self) -> Option<Value> {
        let start = self.at;
        if let Some(label) = self.label() {
            if let Some(value) = self.nested(|parser| parser.chain(Some(label))) {
                return Some(value);
            }
            self.back_to(start);
        }
        self.nested(|parser| parser.chain(None))
    }

    /// Sides with relations between them.
    fn chain(&mut self, label: Option<Label>) -> Option<Value> {
        let first = self.side()?;
        if self.ratios && self.peek().is(':') {
            let ratio = self.ratio(first)?;
            return Some(assigned(label, ratio));
        }
        let (mut sides, mut signs) = (vec![first], Vec::new());
        loop {
            let sign = match self.peek().kind {
                Kind::Symbol('=') => Sign::Equal,
                Kind::Symbol('≈') => Sign::About,
                Kind::Symbol('≠') => Sign::NotEqual,
                Kind::Symbol('<') => Sign::Less,
                Kind::Symbol('≤') => Sign::LessOrEqual,
                Kind::Symbol('>') => Sign::Greater,
                Kind::Symbol('≥') => Sign::GreaterOrEqual,
                Kind::Symbol('∈') if label.is_none() && signs.is_empty() => {
                    self.at += 1;
                    return self.side();
                }
                _ => break,
            };
            self.at += 1;
            signs.push(sign);
            sides.push(self.side()?);
            if sides.len() > MAX_SIDES {
                return None;
            }
        }
        if label.is_none() {
            return self.related(sides, signs);
        }
        let equal = signs.iter().all(|sign| matches!(sign, Sign::Equal | Sign::About));
        let last = signs.iter().position(|sign| *sign == Sign::About).unwrap_or(signs.len());
        equal.then(|| assigned(label, sides.swap_remove(last)))
    }

    /// What sides say that have no label: a value, an equation or an inequality.
    fn related(&mut self, mut sides: Vec<Value>, signs: Vec<Sign>) -> Option<Value> {
        if signs.is_empty() {
            return sides.pop();
        }
        if !signs.iter().all(|sign| matches!(sign, Sign::Equal | Sign::About)) {
            let (sides, unit) = exprs(sides)?;
            return Some(Value::Relation { sides, signs, unit });
        }
        let closed = |parser: &Self, value: &Value| match value {
            Value::Scalar { expr, .. } => !parser.arena.is_open(*expr),
            _ => false,
        };
        // What stands behind a sign of approximation is a rounded form of what stands before it.
        if let Some(at) = signs.iter().position(|sign| *sign == Sign::About)
            && closed(self, &sides[at])
        {
            sides.truncate(at + 1);
        }
        let last = sides.pop()?;
        let Some(before) = sides.pop() else { return Some(last) };
        match (closed(self, &before), closed(self, &last)) {
            (true, true) => Some(last),
            (false, true) if self.variable(&before).is_some() => {
                Some(assigned(self.variable(&before).map(Label::Variable), last))
            }
            (true, false) if self.variable(&last).is_some() => {
                Some(assigned(self.variable(&last).map(Label::Variable), before))
            }
            _ => {
                let (sides, unit) = exprs(vec![before, last])?;
                Some(Value::Relation { sides, signs: vec![Sign::Equal], unit })
            }
        }
    }

    fn variable(&self, value: &Value) -> Option<u32> {
        match self.arena.node(value.as_expr()?.root) {
            Node::Variable(name) => Some(*name),
            _ => None,
        }
    }

    fn ratio(&mut self, first: Value) -> Option<Value> {
        const MOST_TERMS: usize = 8;
        let below = |token: Token<'_>, end: u32| {
            let digits = token.kind == Kind::Number && token.text.len() <= 2;
            digits && token.text.parse::<u32>().is_ok_and(|number| number < end)
        };
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied();
        let minutes = self.ahead(1);
        let time = before.is_some_and(|hours| below(hours, 25)) && below(minutes, 60) && minutes.text.len() == 2;
        let mut terms = vec![first];
        while terms.len() < MOST_TERMS && self.eat(':') {
            terms.push(self.side()?);
        }
        let (terms, unit) = exprs(terms)?;
        Some(Value::Ratio { terms, time, unit })
    }

    /// A term, or sets joined.
    fn side(&mut self) -> Option<Value> {
        let mut left = self.term()?;
        for _ in 0..MAX_MEMBERS {
            let Kind::Symbol(operator @ ('∪' | '∩' | '∖')) = self.peek().kind else { return Some(left) };
            self.at += 1;
            let right = self.term()?;
            left = match (operator, left) {
                ('∪', Value::Union(mut parts)) => {
                    parts.push(right);
                    Value::Union(parts)
                }
                ('∪', left) => Value::Union(vec![left, right]),
                ('∩', left) => Value::Intersection(vec![left, right]),
                (_, left) => Value::Difference(Box::new([left, right])),
            };
        }
        None
    }

    /// An expression with its unit, a number with its base, words, or something in brackets.
    pub fn term(&mut self) -> Option<Value> {
        if let Some(based) = self.based() {
            return Some(based);
        }
        if let Some(words) = self.words() {
            return Some(words);
        }
        let outer = (self.decimal, self.currency.take(), self.degrees.take());
        self.decimal = false;
        let start = self.arena.next();
        let value = match self.sum()? {
            Operand::Value(value) => value,
            Operand::Expr(root) => {
                let turned = self.degrees.filter(|(product, _)| *product == root);
                let root = turned.map_or(root, |(_, degrees)| degrees);
                let (root, unit) = self.quantity(root, turned.map(|_| Unit::Degree))?;
                Value::Scalar { expr: Expr { start, root, decimal: self.decimal }, unit }
            }
        };
        (self.decimal, self.currency, self.degrees) = (outer.0 | self.decimal, outer.1, outer.2);
        Some(value)
    }

    fn based(&mut self) -> Option<Value> {
        let (digits, index) = (self.peek(), self.ahead(1));
        if digits.kind != Kind::Number || !index.is('_') {
            return None;
        }
        let braced = self.ahead(2).is('{');
        let base = self.ahead(if braced { 3 } else { 2 });
        let base: u32 = if base.kind == Kind::Number { base.text.parse().ok()? } else { return None };
        let fits = |digit: char| digit.is_digit(base.clamp(2, 36));
        if !(2..=36).contains(&base) || !digits.text.chars().all(fits) || (braced && !self.ahead(4).is('}')) {
            return None;
        }
        self.at += if braced { 5 } else { 3 };
        let digits = digits.text.trim_start_matches('0');
        Some(Value::Based { digits: if digits.is_empty() { "0" } else { digits }.to_owned(), base })
    }

    /// Words up to the next separator, where nothing else is there.
    fn words(&mut self) -> Option<Value> {
        let wordy = |token: Token<'_>| match token.kind {
            Kind::Text => true,
            Kind::Word => token.text.len() > 3,
            Kind::Number | Kind::Letter | Kind::Command | Kind::Symbol(_) | Kind::End => false,
        };
        if !wordy(self.peek()) {
            return None;
        }
        let start = self.at;
        while matches!(self.peek().kind, Kind::Text | Kind::Word | Kind::Letter) {
            self.at += 1;
        }
        if !matches!(self.peek().kind, Kind::End | Kind::Symbol(',' | ';' | ')' | ']' | '}' | '⦄')) {
            self.back_to(start);
            return None;
        }
        let words: Vec<&str> = self.tokens[start..self.at].iter().map(|token| token.text).collect();
        let joined = words.join(" ");
        if let Some(number) = text::number(&joined) {
            let id = self.arena.push(Node::Number(super::rational::Rational::integer(number)))?;
            return Some(Value::scalar(Expr { start: id, root: id, decimal: false }));
        }
        text::normal(&joined).map(Value::Text)
    }

    /// Something in parentheses or brackets.
    pub fn bracket(&mut self) -> Option<Operand> {
        let angle = self.peek().is('⟨');
        let open = self.peek().is('(') || angle;
        self.at += 1;
        let ratios = std::mem::replace(&mut self.ratios, true);
        let bars = std::mem::take(&mut self.bars);
        let mut members = Vec::new();
        loop {
            members.push(self.element()?);
            if members.len() > MAX_MEMBERS || !self.separator() {
                break;
            }
        }
        (self.ratios, self.bars) = (ratios, bars);
        let close = match self.peek().kind {
            Kind::Symbol(')' | '⟩') => true,
            Kind::Symbol(']') => false,
            _ => return None,
        };
        self.at += 1;
        if members.len() == 1 && open == close {
            return self.grouped(members.pop()?);
        }
        if members.len() == 2 && !angle && !(open && close) {
            let second = members.pop()?;
            let ends = Box::new([members.pop()?, second]);
            return Some(Operand::Value(Value::Interval { ends, closed: [!open, !close] }));
        }
        (members.len() > 1 && open == close).then_some(Operand::Value(Value::Tuple(members)))
    }

    /// What is alone in brackets.
    fn grouped(&mut self, value: Value) -> Option<Operand> {
        match value {
            Value::Scalar { expr, unit: None } => Some(Operand::Expr(expr.root)),
            Value::Scalar { expr, unit: Some(Unit::Degree) } => {
                // The degrees were taken off because they stood alone; within more they count in radians.
                let id = expr.root;
                let last: Id = self.arena.next() - 1;
                Some(Operand::Expr(if self.arena.is_product_of(last, id) { last } else { id }))
            }
            value => Some(Operand::Value(value)),
        }
    }

    /// Something in braces that are not those of a set; several of them make one all the same.
    pub fn group(&mut self) -> Option<Operand> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            // A two-fold sign in it doubles the whole answer, and not the group.
            members.push(self.element()?);
            if members.len() > MAX_MEMBERS || !self.separator() {
                break;
            }
        }
        self.expect('}')?;
        if members.len() == 1 {
            return self.grouped(members.pop()?);
        }
        Some(Operand::Value(Value::Set(members)))
    }

    pub fn set(&mut self) -> Option<Operand> {
        self.at += 1;
        if self.eat('⦄') {
            return Some(Operand::Value(Value::Set(Vec::new())));
        }
        let (ratios, bars) = (std::mem::replace(&mut self.ratios, false), std::mem::replace(&mut self.bars, 1));
        let mut members = self.list()?;
        let condition = members.len() == 1 && (self.eat('|') || self.eat(':'));
        if condition {
            self.bars = 0;
            members = self.list()?;
        }
        (self.ratios, self.bars) = (ratios, bars);
        self.expect('⦄')?;
        if condition {
            return if members.len() == 1 { members.pop().map(Operand::Value) } else { None };
        }
        Some(Operand::Value(Value::Set(members)))
    }

    /// All real numbers.
    pub fn reals(&mut self) -> Option<Value> {
        let up = self.arena.push(Node::Infinity)?;
        let again = self.arena.push(Node::Infinity)?;
        let down = self.arena.push(Node::Neg(again))?;
        let end = |start, root| Value::scalar(Expr { start, root, decimal: false });
        Some(Value::Interval { ends: Box::new([end(again, down), end(up, up)]), closed: [false, false] })
    }
}

/// Inequalities with `and` between them as what they have in common, with `or` as what any of them leaves. Whatever else
/// has only commas or other members stays a list.
fn connected(members: Vec<Value>, alternatives: &[usize], ands: usize) -> Vec<Value> {
    let ordered = |value: &Value| match value {
        Value::Relation { signs, .. } => !signs.iter().any(|sign| matches!(sign, Sign::Equal | Sign::About)),
        _ => false,
    };
    if (alternatives.is_empty() && ands == 0) || !members.iter().all(ordered) {
        return members;
    }
    if alternatives.is_empty() {
        return vec![Value::Intersection(members)];
    }
    if ands == 0 {
        return vec![Value::Union(members)];
    }
    let mut parts = Vec::with_capacity(alternatives.len() + 1);
    let mut rest = members;
    for at in alternatives.iter().rev() {
        let part = rest.split_off((*at).min(rest.len()));
        parts.push(if part.len() == 1 { Value::Set(part) } else { Value::Intersection(part) });
    }
    parts.push(if rest.len() == 1 { Value::Set(rest) } else { Value::Intersection(rest) });
    parts.reverse();
    vec![Value::Union(parts)]
}

fn assigned(label: Option<Label>, value: Value) -> Value {
    match label {
        Some(label) => Value::Assign { label, value: Box::new(value) },
        None => value,
    }
}

/// The expressions of values, and the unit that those have in common that have one.
fn exprs(values: Vec<Value>) -> Option<(Vec<Expr>, Option<Unit>)> {
    let mut common: Option<Unit> = None;
    let mut exprs = Vec::with_capacity(values.len());
    for value in values {
        let Value::Scalar { expr, unit } = value else { return None };
        exprs.push(expr);
        match (&common, unit) {
            (Some(common), Some(unit)) if common.relation(&unit) != Relation::Same => return None,
            (None, Some(unit)) => common = Some(unit),
            (_, _) => {}
        }
    }
    Some((exprs, common))
}
