//! Numbers as they are written: with separators, as mixed numbers, as single characters, with digits that repeat.

use super::expr::{Id, Node};
use super::lex::{Kind, Token};
use super::parse::{Operand, Parser};
use super::rational::Rational;

impl Parser<'_, '_> {
    /// A number, which may have digits that repeat, or be a mixed one where `mixed` says so.
    pub fn number(&mut self, mixed: bool) -> Option<Operand> {
        let token = self.peek();
        self.at += 1;
        if let Some((top, bottom)) = vulgar(token.text) {
            return self.push(Node::Number(Rational::fraction(top, bottom)?));
        }
        let (value, places) = decimal_value(token.text)?;
        self.decimal |= places > 0;
        if token.text.contains('.')
            && matches!(self.peek().text, "overline" | "dot" | "bar")
            && self.peek().kind == Kind::Command
        {
            return self.repeating(&value, places);
        }
        let whole = self.arena.push(Node::Number(value))?;
        if mixed && places == 0 && self.fraction_follows() {
            let part = self.product_of_mixed()?;
            return self.push(Node::Add(whole, part));
        }
        Some(Operand::Expr(whole))
    }

    /// Whether a fraction of plain numbers follows an integer, with which it makes a mixed number.
    fn fraction_follows(&self) -> bool {
        let next = self.peek();
        let plain =
            |token: Token<'_>| token.kind == Kind::Number && token.text.bytes().all(|byte| byte.is_ascii_digit());
        match next.kind {
            Kind::Number if vulgar(next.text).is_some() => true,
            Kind::Number => next.spaced && plain(next) && self.ahead(1).is('/') && plain(self.ahead(2)),
            Kind::Command if next.text == "frac" => {
                let braced =
                    |at: usize| self.ahead(at).is('{') && plain(self.ahead(at + 1)) && self.ahead(at + 2).is('}');
                let first = if braced(1) { 4 } else { 2 };
                let two_digits = plain(self.ahead(1)) && self.ahead(1).text.len() == 2;
                two_digits || ((braced(1) || plain(self.ahead(1))) && (braced(first) || plain(self.ahead(first))))
            }
            _ => false,
        }
    }

    fn product_of_mixed(&mut self) -> Option<Id> {
        if self.peek().kind == Kind::Command || vulgar(self.peek().text).is_some() {
            return self.primary()?.expr();
        }
        let top = decimal_value(self.peek().text)?.0;
        self.at += 2;
        let bottom = decimal_value(self.peek().text)?.0;
        self.at += 1;
        self.arena.push(Node::Number(top.div(&bottom)?))
    }

    fn repeating(&mut self, value: &Rational, places: usize) -> Option<Operand> {
        const MOST: usize = 18;
        self.at += 1;
        self.expect('{')?;
        let digits = self.peek().text;
        self.at += 1;
        self.expect('}')?;
        if digits.len() + places > MOST || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let period = 10_i128.pow(u32::try_from(digits.len()).ok()?) - 1;
        let scale = 10_i128.pow(u32::try_from(places).ok()?);
        let part = Rational::fraction(digits.parse().ok()?, period * scale)?;
        self.push(Node::Number(value.add(&part)?))
    }
}

/// The value of a decimal number and how many digits it has behind the point.
fn decimal_value(text: &str) -> Option<(Rational, usize)> {
    let bytes = text.as_bytes();
    let exponent_at = bytes.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let exponent: i32 = if exponent_at < text.len() { text[exponent_at + 1..].parse().ok()? } else { 0 };
    let comma = bytes.len() > 2 && bytes.starts_with(b"0,") && bytes[2..].iter().all(u8::is_ascii_digit);
    let point = if comma { Some(1) } else { bytes[..exponent_at].iter().position(|byte| *byte == b'.') };
    let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).map(char::from).collect::<String>();
    let places = point.map_or(0, |point| exponent_at - point - 1);
    let plain = point.is_none() && bytes[..exponent_at].iter().all(u8::is_ascii_digit);
    let value = if plain {
        Rational::decimal(&text[..exponent_at], 0, exponent)?
    } else {
        let all = digits(&text[..exponent_at]);
        Rational::decimal(if all.is_empty() { "0" } else { &all }, places, exponent)?
    };
    Some((value, places))
}

fn vulgar(text: &str) -> Option<(i128, i128)> {
    if text.is_ascii() {
        return None;
    }
    Some(match text {
        "½" => (1, 2),
        "⅓" => (1, 3),
        "⅔" => (2, 3),
        "¼" => (1, 4),
        "¾" => (3, 4),
        "⅕" => (1, 5),
        "⅖" => (2, 5),
        "⅗" => (3, 5),
        "⅘" => (4, 5),
        "⅙" => (1, 6),
        "⅚" => (5, 6),
        "⅛" => (1, 8),
        "⅜" => (3, 8),
        "⅝" => (5, 8),
        "⅞" => (7, 8),
        _ => return None,
    })
}
