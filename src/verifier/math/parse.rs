//! The grammar of expressions: sums of products of powers, in LaTeX and in plain text.

use super::expr::{Arena, Function, Id, Node};
use super::lex::{Kind, Token};
use super::rational::Rational;
use super::units;
use super::value::Value;

/// How deep brackets, exponents and arguments may be nested.
const MAX_DEPTH: u32 = 40;
const NOT_SPLIT: (usize, usize) = (usize::MAX, 0);

/// What stands between two operators: an expression, or something made of several.
pub enum Operand {
    Expr(Id),
    Value(Value),
}

impl Operand {
    pub fn expr(self) -> Option<Id> {
        match self {
            Self::Expr(id) => Some(id),
            Self::Value(_) => None,
        }
    }
}

/// A reader of tokens; every method takes what it reads, and is None where that is not what it reads.
pub struct Parser<'t, 'a> {
    pub tokens: Vec<Token<'t>>,
    pub at: usize,
    pub arena: &'a mut Arena,
    /// Whether the text is no LaTeX, so that a letter behind a space may be a unit.
    pub plain: bool,
    /// Whether the lower sign of `\pm` is meant.
    pub lower: bool,
    /// Whether there was a `\pm`.
    pub two_signs: bool,
    pub decimal: bool,
    /// Bars of absolute values that are open.
    pub bars: u32,
    /// Whether a colon makes a ratio, and no condition of a set.
    pub ratios: bool,
    depth: u32,
    /// The number of which some digits were taken, and how many.
    split: (usize, usize),
    pub currency: Option<&'t str>,
    /// The product that turned degrees into radians, and the degrees.
    pub degrees: Option<(Id, Id)>,
}

impl<'t, 'a> Parser<'t, 'a> {
    pub fn new(tokens: Vec<Token<'t>>, plain: bool, arena: &'a mut Arena) -> Self {
        Self {
            tokens,
            at: 0,
            arena,
            plain,
            lower: false,
            two_signs: false,
            decimal: false,
            bars: 0,
            ratios: true,
            depth: 0,
            split: NOT_SPLIT,
            currency: None,
            degrees: None,
        }
    }

    pub fn peek(&self) -> Token<'t> {
        self.ahead(0)
    }

    pub fn ahead(&self, by: usize) -> Token<'t> {
        let end = Token { kind: Kind::End, text: "", spaced: false };
        let mut token = self.tokens.get(self.at + by).copied().unwrap_or(end);
        if self.at + by == self.split.0 {
            token.text = token.text.get(self.split.1..).unwrap_or("");
            token.spaced = false;
            if token.kind == Kind::Word && token.text.len() == 1 {
                token.kind = Kind::Letter;
            }
        }
        token
    }

    /// Takes some characters of the next token and leaves the others.
    pub fn split_off(&mut self, characters: usize) {
        let taken = if self.split.0 == self.at { self.split.1 } else { 0 };
        self.split = (self.at, taken + characters);
    }

    /// Goes back to where the parser was before.
    pub fn back_to(&mut self, at: usize) {
        (self.at, self.split) = (at, NOT_SPLIT);
    }

    pub fn eat(&mut self, symbol: char) -> bool {
        let there = self.peek().is(symbol);
        self.at += usize::from(there);
        there
    }

    pub fn expect(&mut self, symbol: char) -> Option<()> {
        self.eat(symbol).then_some(())
    }

    /// One level deeper.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub fn push(&mut self, node: Node) -> Option<Operand> {
        self.arena.push(node).map(Operand::Expr)
    }

    fn integer(&mut self, value: i64) -> Option<Id> {
        self.arena.push(Node::Number(Rational::integer(value)))
    }

    pub fn sum(&mut self) -> Option<Operand> {
        let mut left = self.product()?;
        loop {
            let minus = match self.peek().kind {
                Kind::Symbol('+') => false,
                Kind::Symbol('-') => true,
                Kind::Symbol(sign @ ('±' | '∓')) => self.two_signed(sign),
                _ => return Some(left),
            };
            self.at += 1;
            let right = self.product()?;
            let right = if minus { self.negative(right)? } else { right };
            left = match (left, right) {
                (Operand::Expr(a), Operand::Expr(b)) => self.push(Node::Add(a, b))?,
                (Operand::Value(a), Operand::Value(b)) => self.added(a, &b)?,
                (Operand::Expr(_), Operand::Value(_)) | (Operand::Value(_), Operand::Expr(_)) => return None,
            };
        }
    }

    /// Whether the sign that is meant is a minus.
    fn two_signed(&mut self, sign: char) -> bool {
        self.two_signs = true;
        (sign == '±') == self.lower
    }

    fn product(&mut self) -> Option<Operand> {
        let start = self.arena.next();
        let mut left = self.signed()?;
        loop {
            let node: fn(Id, Id) -> Node = match self.peek().kind {
                Kind::Symbol('*') => Node::Mul,
                Kind::Symbol('/') => Node::Div,
                _ if self.begins_factor() => {
                    let between = self.arena.next();
                    let right = self.power()?;
                    left = self.multiplied(left, right, [start, between])?;
                    continue;
                }
                _ => return Some(left),
            };
            if self.unit_follows() {
                return Some(left);
            }
            let times = self.peek().is('*');
            self.at += 1;
            let between = self.arena.next();
            let right = self.signed()?;
            left = match (left, right) {
                (Operand::Expr(a), Operand::Expr(b)) => self.push(node(a, b))?,
                (left, right) if times => self.multiplied(left, right, [start, between])?,
                (Operand::Value(_), _) | (_, Operand::Value(_)) => return None,
            };
        }
    }

    /// Whether the operator that is next stands before words, and belongs to a unit.
    fn unit_follows(&self) -> bool {
        matches!(self.ahead(1).kind, Kind::Text)
            || (self.ahead(1).kind == Kind::Word && units::is_known(self.ahead(1).text))
    }

    /// Whether the next token begins a factor without an operator before it.
    fn begins_factor(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::Letter => !self.is_unit_letter(),
            Kind::Word if self.plain && token.spaced => false,
            Kind::Word => {
                let word = token.spaced && units::is_short_word(token.text);
                let unit = word || units::is_known(token.text) || self.half_of_day();
                token.text.len() <= 3 && !(unit && self.after_number())
            }
            Kind::Command => !matches!(token.text, "end" | "infty"),
            Kind::Symbol('(' | '[' | '{' | '√' | '⌊' | '⌈') => true,
            Kind::Symbol('|') => self.bars == 0,
            Kind::Number | Kind::Text | Kind::Symbol(_) | Kind::End => false,
        }
    }

    /// Whether a letter behind a number is a unit: behind a space, or a metre with a raised digit.
    pub fn is_unit_letter(&self) -> bool {
        // Behind a sign of degrees, braced or not, these are scales.
        let degrees = |by: usize| self.at.checked_sub(by).is_some_and(|at| self.tokens[at].is('°'));
        let closed = self.at.checked_sub(1).is_some_and(|at| self.tokens[at].is('}'));
        if matches!(self.peek().text, "C" | "F") && (degrees(1) || (closed && degrees(2))) {
            return true;
        }
        let (token, next) = (self.peek(), self.ahead(1));
        let raised = token.text == "m" && next.is('^') && next.text != "^";
        let unit = self.plain && (token.spaced || raised) && units::is_known(token.text);
        (unit || self.is_speed()) && self.after_number()
    }

    /// Whether what is next is a unit such as `m/s`, with a space before it.
    pub fn is_speed(&self) -> bool {
        let (token, over) = (self.peek(), self.ahead(2));
        token.spaced && token.text == "m" && self.ahead(1).is('/') && matches!(over.text, "s" | "h" | "min")
    }

    /// Whether `AM` or `PM` stands behind the minutes of a time.
    fn half_of_day(&self) -> bool {
        let colon = self.at.checked_sub(2).and_then(|at| self.tokens.get(at));
        matches!(self.peek().text, "AM" | "PM" | "am" | "pm") && colon.is_some_and(|token| token.is(':'))
    }

    fn after_number(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.is_some_and(|token| token.kind == Kind::Number || token.is('}') || token.is(')'))
    }

    /// A power with signs and a currency before it.
    fn signed(&mut self) -> Option<Operand> {
        let mut minus = false;
        loop {
            match self.peek().kind {
                Kind::Symbol('+') => {}
                Kind::Symbol('-') => minus = !minus,
                Kind::Symbol(sign @ ('±' | '∓')) => minus ^= self.two_signed(sign),
                Kind::Symbol('$' | '€' | '£' | '¥' | '₹') => self.currency = Some(self.peek().text),
                _ => break,
            }
            self.at += 1;
        }
        let operand = self.power()?;
        if minus { self.negative(operand) } else { Some(operand) }
    }

    fn power(&mut self) -> Option<Operand> {
        let before = self.letters_before_last()?;
        let base = self.primary()?;
        let raised = self.postfixes(base)?;
        let Some(before) = before else { return Some(raised) };
        let id = raised.expr()?;
        self.push(Node::Mul(before, id))
    }

    /// What stands behind a factor and belongs to it alone.
    fn postfixes(&mut self, mut base: Operand) -> Option<Operand> {
        loop {
            let token = self.peek();
            match token.kind {
                Kind::Symbol('!') => {
                    self.at += 1;
                    let id = base.expr()?;
                    base = self.push(Node::Call(Function::Factorial, id))?;
                }
                Kind::Symbol('°') => {
                    self.at += 1;
                    base = self.in_degrees(base)?;
                }
                Kind::Symbol('^') => {
                    self.at += 1;
                    let braced = self.peek().is('{') && self.ahead(1).is('°') && self.ahead(2).is('}');
                    if braced || self.peek().is('°') {
                        self.at += if braced { 3 } else { 1 };
                        base = self.in_degrees(base)?;
                        continue;
                    }
                    let id = base.expr()?;
                    let exponent = self.nested(Self::exponent)?;
                    base = self.push(Node::Pow(id, exponent))?;
                }
                _ => return Some(base),
            }
        }
    }

    fn in_degrees(&mut self, operand: Operand) -> Option<Operand> {
        let id = operand.expr()?;
        let pi = self.arena.push(Node::Pi)?;
        let half_turn = self.integer(180)?;
        let factor = self.arena.push(Node::Div(pi, half_turn))?;
        let product = self.arena.push(Node::Mul(id, factor))?;
        self.degrees = Some((product, id));
        Some(Operand::Expr(product))
    }

    /// What stands behind `^`: towers are read from the right.
    fn exponent(&mut self) -> Option<Id> {
        let minus = self.eat('-');
        if !minus {
            self.eat('+');
        }
        let mut exponent = self.unbraced()?.expr()?;
        if self.eat('^') {
            let above = self.nested(Self::exponent)?;
            exponent = self.arena.push(Node::Pow(exponent, above))?;
        }
        if minus { self.arena.push(Node::Neg(exponent)) } else { Some(exponent) }
    }

    /// An exponent or an argument: a group, or else one letter or one number, which is no mixed one.
    fn unbraced(&mut self) -> Option<Operand> {
        if self.peek().kind == Kind::Number { self.number(false) } else { self.primary() }
    }

    pub fn primary(&mut self) -> Option<Operand> {
        let token = self.peek();
        match token.kind {
            Kind::Number => self.number(true),
            Kind::Letter => self.letter(),
            Kind::Word => self.first_letter(),
            Kind::Command => self.nested(Self::command),
            Kind::Symbol('(' | '[' | '⟨') => self.nested(Self::bracket),
            Kind::Symbol('{') => self.nested(Self::group),
            Kind::Symbol('⦃') => self.nested(Self::set),
            Kind::Symbol('|') => self.nested(|parser| parser.enclosed('|', Function::Abs)),
            Kind::Symbol('⌊') => self.nested(|parser| parser.enclosed('⌋', Function::Floor)),
            Kind::Symbol('⌈') => self.nested(|parser| parser.enclosed('⌉', Function::Ceil)),
            Kind::Symbol('∞') => {
                self.at += 1;
                self.push(Node::Infinity)
            }
            Kind::Symbol('∅') => {
                self.at += 1;
                Some(Operand::Value(Value::Set(Vec::new())))
            }
            Kind::Symbol('√') => {
                self.at += 1;
                let degree = self.integer(2)?;
                let of = self.nested(Self::unbraced)?.expr()?;
                self.push(Node::Root(degree, of))
            }
            Kind::Text | Kind::Symbol(_) | Kind::End => None,
        }
    }

    fn enclosed(&mut self, close: char, function: Function) -> Option<Operand> {
        self.at += 1;
        let bars = std::mem::replace(&mut self.bars, u32::from(close == '|'));
        let inner = self.sum();
        self.bars = bars;
        let inner = inner?.expr()?;
        self.expect(close)?;
        self.push(Node::Call(function, inner))
    }

    fn command(&mut self) -> Option<Operand> {
        let name = self.peek().text;
        if let Some(function) = function(name) {
            self.at += 1;
            return self.call(function);
        }
        match name {
            "frac" => {
                self.at += 1;
                let (top, bottom) = (self.argument(true)?, self.argument(true)?);
                self.push(Node::Div(top, bottom))
            }
            "binom" => {
                self.at += 1;
                let (n, k) = (self.argument(true)?, self.argument(true)?);
                self.push(Node::Binomial(n, k))
            }
            "sqrt" | "cbrt" => self.root(name),
            "log" => self.log(),
            "infty" => {
                self.at += 1;
                self.push(Node::Infinity)
            }
            "reals" => {
                self.at += 1;
                self.reals().map(Operand::Value)
            }
            "emptyset" => {
                self.at += 1;
                Some(Operand::Value(Value::Set(Vec::new())))
            }
            "begin" => self.matrix().map(Operand::Value),
            "overline" | "bar" | "vec" | "hat" | "widehat" | "overrightarrow" | "tilde" | "underline" | "dot"
            | "overleftrightarrow" => self.marked(name),
            "int" | "iint" | "oint" | "sum" | "prod" | "lim" | "partial" | "nabla" | "end" | "pmod" | "bmod"
            | "mod" | "max" | "min" | "gcd" | "lcm" | "det" | "notin" | "Rightarrow" | "implies" | "to"
            | "rightarrow" | "forall" | "exists" | "neg" | "subset" | "subseteq" | "oplus" | "otimes" | "sim"
            | "cong" | "perp" | "parallel" | "iff" | "because" | "therefore" | "mapsto" | "stackrel" | "underbrace"
            | "cancel" => None,
            _ => {
                let name = self.name()?;
                let id = self.symbol(&name)?;
                Some(Operand::Expr(id))
            }
        }
    }

    fn root(&mut self, name: &str) -> Option<Operand> {
        self.at += 1;
        let degree = if name == "sqrt" && self.eat('[') {
            let degree = self.sum()?.expr()?;
            self.expect(']')?;
            degree
        } else {
            self.integer(if name == "sqrt" { 2 } else { 3 })?
        };
        let of = self.argument(false)?;
        self.push(Node::Root(degree, of))
    }

    /// The argument of a command: a group, or one token. Of `\frac12` each digit is an argument.
    fn argument(&mut self, digits: bool) -> Option<Id> {
        let token = self.peek();
        if token.kind == Kind::Number && digits && token.text.len() > 1 {
            let digit = token.text.get(..1)?.parse().ok()?;
            self.split_off(1);
            return self.integer(digit);
        }
        self.nested(Self::unbraced)?.expr()
    }

    fn log(&mut self) -> Option<Operand> {
        self.at += 1;
        let base = if self.eat('_') { self.argument(true)? } else { self.integer(10)? };
        let exponent = if self.eat('^') { Some(self.nested(Self::exponent)?) } else { None };
        let of = self.function_argument()?;
        let id = self.arena.push(Node::Log(base, of))?;
        self.raised(id, exponent)
    }

    fn raised(&mut self, id: Id, exponent: Option<Id>) -> Option<Operand> {
        match exponent {
            Some(exponent) => self.push(Node::Pow(id, exponent)),
            None => Some(Operand::Expr(id)),
        }
    }

    fn call(&mut self, function: Function) -> Option<Operand> {
        let mut function = function;
        let mut exponent = None;
        if self.eat('^') {
            let id = self.nested(Self::exponent)?;
            if self.is_minus_one(id) {
                function = inverse(function)?;
            } else {
                exponent = Some(id);
            }
        }
        let of = self.function_argument()?;
        let id = self.arena.push(Node::Call(function, of))?;
        self.raised(id, exponent)
    }

    fn is_minus_one(&self, id: Id) -> bool {
        let one = |id: Id| matches!(self.arena.node(id), Node::Number(number) if *number == Rational::ONE);
        matches!(self.arena.node(id), Node::Neg(inner) if one(*inner))
    }

    /// A group, or all factors up to the next function or operator.
    fn function_argument(&mut self) -> Option<Id> {
        if matches!(self.peek().kind, Kind::Symbol('(' | '{' | '[')) {
            return self.nested(Self::primary)?.expr();
        }
        let minus = self.eat('-');
        let mut product = self.nested(Self::power)?.expr()?;
        while self.begins_factor() && function(self.peek().text).is_none() && self.peek().text != "log" {
            let factor = self.nested(Self::power)?.expr()?;
            product = self.arena.push(Node::Mul(product, factor))?;
        }
        if minus { self.arena.push(Node::Neg(product)) } else { Some(product) }
    }
}

pub fn function(name: &str) -> Option<Function> {
    Some(match name {
        "sin" => Function::Sin,
        "cos" => Function::Cos,
        "tan" => Function::Tan,
        "cot" => Function::Cot,
        "sec" => Function::Sec,
        "csc" => Function::Csc,
        "arcsin" => Function::Arcsin,
        "arccos" => Function::Arccos,
        "arctan" => Function::Arctan,
        "sinh" => Function::Sinh,
        "cosh" => Function::Cosh,
        "tanh" => Function::Tanh,
        "ln" => Function::Ln,
        "exp" => Function::Exp,
        "abs" => Function::Abs,
        "floor" => Function::Floor,
        "ceil" => Function::Ceil,
        _ => return None,
    })
}

fn inverse(function: Function) -> Option<Function> {
    match function {
        Function::Sin => Some(Function::Arcsin),
        Function::Cos => Some(Function::Arccos),
        Function::Tan => Some(Function::Arctan),
        _ => None,
    }
}
