//! The grammar of what is said to equal a value: names, functions, words.

use super::lex::Kind;
use super::parse::{Parser, function};
use super::value::Label;

impl Parser<'_, '_> {
    /// A name with the equality sign behind it. Without one nothing is taken.
    pub fn label(&mut self) -> Option<Label> {
        let start = self.at;
        let label = self.label_name();
        if label.is_some() && (self.peek().is('=') || self.peek().is('≈')) {
            self.at += 1;
            return label;
        }
        self.back_to(start);
        None
    }

    fn label_name(&mut self) -> Option<Label> {
        if self.eat('(') {
            let mut names = 0;
            while self.is_name() {
                self.name()?;
                names += 1;
                if !self.eat(',') {
                    break;
                }
            }
            return (names > 1 && self.eat(')')).then_some(Label::Other);
        }
        if self.peek().kind == Kind::Command && self.peek().text == "frac" {
            self.at += 1;
            for _ in 0..2 {
                self.expect('{')?;
                self.names()?;
                self.expect('}')?;
            }
            return Some(Label::Other);
        }
        let bars = self.eat('|');
        let label = self.names()?;
        if bars {
            return self.eat('|').then_some(Label::Other);
        }
        if self.eat('/') || self.eat(':') {
            self.names()?;
            return Some(Label::Other);
        }
        Some(label)
    }

    fn is_name(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::Letter => !matches!(token.text, "e" | "i" | "π"),
            Kind::Command => {
                function(token.text).is_none()
                    && !matches!(
                        token.text,
                        "frac" | "sqrt" | "log" | "binom" | "begin" | "end" | "pi" | "infty" | "reals"
                    )
            }
            Kind::Word | Kind::Text => true,
            Kind::Number | Kind::Symbol(_) | Kind::End => false,
        }
    }

    /// A variable, a function with its arguments, or several capital letters or words.
    fn names(&mut self) -> Option<Label> {
        const MOST: usize = 8;
        const MOST_ARGUMENTS: usize = 16;
        let (mut parts, mut last, mut wordy) = (0, String::new(), false);
        while self.is_name() && parts < MOST {
            let token = self.peek();
            let capital = token.text.chars().all(char::is_uppercase);
            wordy |= capital || matches!(token.kind, Kind::Text) || (token.kind == Kind::Word && token.text.len() > 3);
            if parts > 0 && !capital && matches!(token.kind, Kind::Letter | Kind::Command) {
                return None;
            }
            last = self.name()?;
            parts += 1;
        }
        if parts == 0 {
            return None;
        }
        if self.peek().is('(') {
            self.at += 1;
            let start = self.at;
            while matches!(self.peek().kind, Kind::Letter | Kind::Number | Kind::Command | Kind::Word | Kind::Text)
                || matches!(self.peek().kind, Kind::Symbol(',' | '_' | '+' | '-' | '\''))
            {
                self.at += 1;
            }
            return (self.at > start && self.at - start <= MOST_ARGUMENTS && self.eat(')'))
                .then_some(Label::Function(last));
        }
        if parts > 1 || wordy && last.chars().count() > 1 && !last.contains('_') {
            return Some(Label::Other);
        }
        if last.chars().filter(|c| c.is_ascii_lowercase()).count() > 1 && self.tokens[self.at - 1].kind == Kind::Word {
            // A product of small letters is no name.
            return None;
        }
        Some(Label::Variable(self.arena.name(&last)?))
    }
}
