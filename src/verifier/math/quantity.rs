//! The grammar of what stands behind a number: words that it is multiplied with, such as `million`, and its unit.

use super::expr::{Id, Node};
use super::lex::{Kind, Token};
use super::parse::Parser;
use super::rational::Rational;
use super::units::{self, Unit};

impl Parser<'_, '_> {
    /// An expression with what stands behind it. `turned` is its unit where nothing else does.
    pub fn quantity(&mut self, root: Id, turned: Option<Unit>) -> Option<(Id, Option<Unit>)> {
        if self.eat('%') {
            return Some((root, Some(Unit::Percent)));
        }
        if let Kind::Symbol('$' | '€' | '£' | '¥' | '₹' | '¢') = self.peek().kind {
            self.currency = Some(self.peek().text);
            self.at += 1;
        }
        let all = self.unit_words(turned.is_some())?;
        let (factor, words) = units::multiplied(&all)?;
        let root = if factor == Rational::ONE { root } else { self.times(root, factor)? };
        if words.is_empty() {
            return Some((root, turned.or_else(|| self.currency.map(Unit::read))));
        }
        if says_more(words) {
            return None;
        }
        let unit = match turned {
            Some(_) if matches!(words, "C" | "F") => Unit::Other(format!("°{words}")),
            _ => Unit::read(words),
        };
        Some((root, Some(unit)))
    }

    /// The words behind a number with the signs and exponents between them.
    fn unit_words(&mut self, degrees: bool) -> Option<String> {
        let mut words = String::new();
        loop {
            let (token, next) = (self.peek(), self.ahead(1));
            let is_word = |token: Token<'_>| matches!(token.kind, Kind::Text | Kind::Word);
            match token.kind {
                Kind::Text | Kind::Word => words.push_str(token.text),
                Kind::Letter if self.unit_letter(&words, degrees) => words.push_str(token.text),
                Kind::Symbol('/') if is_word(next) || (next.kind == Kind::Letter && !words.is_empty()) => {
                    words.push('/')
                }
                Kind::Symbol('*') if is_word(next) && !words.is_empty() => {}
                Kind::Symbol('^') if !words.is_empty() => {
                    let exponent = self.unit_exponent()?;
                    words.truncate(words.trim_end().len());
                    words.push('^');
                    words.push_str(exponent);
                    words.push(' ');
                    continue;
                }
                _ => break,
            }
            words.push(' ');
            self.at += 1;
        }
        words.truncate(words.trim_end().len());
        Some(words)
    }

    /// Whether the letter that is next belongs to the unit that `words` began.
    fn unit_letter(&self, words: &str, degrees: bool) -> bool {
        let letter = self.peek().text;
        match words {
            "" if degrees => matches!(letter, "C" | "F"),
            "" => self.plain && units::is_known(letter) || self.is_speed(),
            words => self.plain || words.ends_with("/ "),
        }
    }

    /// An expression times a number.
    fn times(&mut self, root: Id, factor: Rational) -> Option<Id> {
        if let Node::Number(number) = self.arena.node(root) {
            let product = number.mul(&factor)?;
            return self.arena.push(Node::Number(product));
        }
        let factor = self.arena.push(Node::Number(factor))?;
        self.arena.push(Node::Mul(root, factor))
    }

    fn unit_exponent(&mut self) -> Option<&'static str> {
        self.at += 1;
        let braced = self.eat('{');
        let minus = self.eat('-');
        let digit = match (self.peek().text, minus) {
            ("1", false) => "1",
            ("2", false) => "2",
            ("3", false) => "3",
            ("1", true) => "-1",
            ("2", true) => "-2",
            ("3", true) => "-3",
            _ => return None,
        };
        self.at += 1;
        if braced {
            self.expect('}')?;
        }
        Some(digit)
    }
}

/// Whether words behind a number change it instead of saying what is counted.
fn says_more(words: &str) -> bool {
    const LIMITS: [&str; 32] = [
        "doubled",
        "halved",
        "tripled",
        "is",
        "are",
        "was",
        "wrong",
        "incorrect",
        "false",
        "or",
        "and",
        "more",
        "less",
        "least",
        "most",
        "if",
        "when",
        "for",
        "not",
        "than",
        "about",
        "where",
        "to",
        "mod",
        "base",
        "squared",
        "cubed",
        "factorial",
        "negative",
        "below",
        "above",
        "modulo",
    ];
    let lower = words.to_ascii_lowercase();
    let percents = lower.starts_with("percent") && lower.split(' ').any(|word| word == "of");
    percents || units::is_part(&lower) || lower.split(' ').any(|word| LIMITS.contains(&word))
}
