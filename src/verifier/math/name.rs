//! The grammar of names: letters one at a time, names with an index or a mark, functions of which only the name is known.

use super::expr::{Id, Node};
use super::lex::Kind;
use super::parse::{Operand, Parser};

impl Parser<'_, '_> {
    /// The letters of a short run but for its last one, as a product. Each letter is a factor of its own, so that only the
    /// last one takes what follows: `xy^2` is x times the square of y.
    pub fn letters_before_last(&mut self) -> Option<Option<Id>> {
        let mut product: Option<Id> = None;
        while self.peek().kind == Kind::Word {
            let letter = self.first_letter()?.expr()?;
            product = Some(match product {
                Some(product) => self.arena.push(Node::Mul(product, letter))?,
                None => letter,
            });
        }
        Some(product)
    }

    /// The first letter of a short run; the others are left to what follows.
    pub fn first_letter(&mut self) -> Option<Operand> {
        const LONGEST: usize = 3;
        let (word, next) = (self.peek().text, self.ahead(1));
        // In plain text a word before another one is a word and no product.
        let prose = self.plain && next.spaced && !matches!(next.kind, Kind::Symbol(_) | Kind::End);
        let label = next.is(':') || (self.peek().kind == Kind::Word && self.is_label_word());
        if prose || (self.plain && word.len() > 1 && label) || word.len() > LONGEST || !word.is_ascii() {
            return None;
        }
        self.split_off(1);
        self.symbol(&word[..1]).map(Operand::Expr)
    }

    /// Whether the short word that is next names something in plain text: `Sum`, `Tom`, `age`.
    pub fn is_label_word(&self) -> bool {
        let word = self.peek().text;
        let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
        let small = word.len() > 1 && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
        let before = self.ahead(1).is('=') && super::units::is_short_word(word);
        self.plain && (capital && small || before)
    }

    /// What a letter or a name stands for.
    pub fn symbol(&mut self, name: &str) -> Option<Id> {
        let node = match name {
            "e" => Node::E,
            "i" => Node::I,
            "pi" | "π" => Node::Pi,
            _ => Node::Variable(self.arena.name(greek(name))?),
        };
        self.arena.push(node)
    }

    pub fn letter(&mut self) -> Option<Operand> {
        let first = self.peek().text;
        let name = self.name()?;
        let is_function = matches!(first, "f" | "g" | "F" | "G");
        if is_function && self.peek().is('(') {
            return self.nested(|parser| parser.applied(&name));
        }
        let id = self.symbol(&name)?;
        Some(Operand::Expr(id))
    }

    /// A letter or a command with its index and its primes.
    pub fn name(&mut self) -> Option<String> {
        const LONGEST_INDEX: usize = 8;
        let mut name = greek(self.peek().text).to_owned();
        self.at += 1;
        if self.peek().is('_') {
            self.at += 1;
            name.push('_');
            let braced = self.eat('{');
            for _ in 0..LONGEST_INDEX {
                let token = self.peek();
                match token.kind {
                    Kind::Number | Kind::Letter | Kind::Word | Kind::Text | Kind::Command => name.push_str(token.text),
                    Kind::Symbol(',' | '+' | '-') if braced => name.push_str(token.text),
                    Kind::Symbol(_) | Kind::End => return None,
                }
                self.at += 1;
                if !braced || self.peek().is('}') {
                    break;
                }
            }
            if braced {
                self.expect('}')?;
            }
        }
        while self.peek().is('\'') || (self.peek().is('^') && self.ahead(1).is('\'')) {
            self.at += if self.peek().is('^') { 2 } else { 1 };
            name.push('\'');
        }
        Some(name)
    }

    /// A function of which only the name is known, at one or two arguments.
    fn applied(&mut self, name: &str) -> Option<Operand> {
        let name = self.arena.name(name)?;
        self.at += 1;
        let first = self.sum()?.expr()?;
        let second = if self.eat(',') { Some(self.sum()?.expr()?) } else { None };
        self.expect(')')?;
        self.push(Node::Apply(name, first, second))
    }

    /// Letters with a mark above or below, as one name.
    pub fn marked(&mut self, mark: &str) -> Option<Operand> {
        const LONGEST: usize = 6;
        self.at += 1;
        let mut name = mark.to_owned();
        let braced = self.eat('{');
        for _ in 0..LONGEST {
            match self.peek().kind {
                Kind::Letter | Kind::Word | Kind::Command => {
                    let part = self.name()?;
                    name.push(' ');
                    name.push_str(&part);
                }
                Kind::Number | Kind::Text | Kind::Symbol(_) | Kind::End => break,
            }
            if !braced {
                break;
            }
        }
        if (braced && !self.eat('}')) || name.len() == mark.len() {
            return None;
        }
        let id = self.symbol(&name)?;
        Some(Operand::Expr(id))
    }
}

/// The name of a Greek letter.
fn greek(name: &str) -> &str {
    match name {
        "α" => "alpha",
        "β" => "beta",
        "γ" => "gamma",
        "δ" => "delta",
        "θ" => "theta",
        "λ" => "lambda",
        "μ" => "mu",
        "σ" => "sigma",
        "φ" => "phi",
        "ω" => "omega",
        "π" => "pi",
        name => name,
    }
}
