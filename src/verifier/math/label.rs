//! The grammar of what is said to equal a value: names, functions, words.

use super::expr::Arena;
use super::lex::Kind;
use super::parse::{Parser, function};
use super::value::Label;

impl Label {
    /// What is said to equal the value, the same for the same writing.
    pub fn text(&self, arena: &Arena) -> String {
        match self {
            Self::Variable(name) => arena.named(*name).to_owned(),
            Self::Function(name, arguments) => format!("{name}({arguments})"),
            Self::Other(text) => text.clone(),
        }
    }
}

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
            let mut names = Vec::new();
            while self.is_name() {
                names.push(self.name()?);
                if !self.eat(',') {
                    break;
                }
            }
            let label = Label::Other(format!("({})", names.join(",")));
            return (names.len() > 1 && self.eat(')')).then_some(label);
        }
        if self.peek().kind == Kind::Command && self.peek().text == "frac" {
            self.at += 1;
            let (top, bottom) = (self.braced_names()?, self.braced_names()?);
            return Some(Label::Other(format!("{top}/{bottom}")));
        }
        let bars = self.eat('|');
        let label = self.names()?;
        if bars {
            // The length of a segment is a name; the absolute value of a variable is mathematics.
            return if matches!(label, Label::Other(_)) && self.eat('|') { Some(label) } else { None };
        }
        let sign = self.peek();
        if self.eat('/') || self.eat(':') {
            let second = self.names()?;
            return Some(Label::Other(format!("{}{}{}", label.text(self.arena), sign.text, second.text(self.arena))));
        }
        Some(label)
    }

    fn braced_names(&mut self) -> Option<String> {
        self.expect('{')?;
        let label = self.names()?;
        self.expect('}')?;
        Some(label.text(self.arena))
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
        let mut all = String::new();
        while self.is_name() && parts < MOST {
            let token = self.peek();
            let capital = token.text.chars().all(char::is_uppercase);
            let long = token.text.len() > 3 || self.is_label_word();
            let words = matches!(token.kind, Kind::Text) || (token.kind == Kind::Word && long);
            wordy |= capital || words;
            if parts > 0 && !capital && matches!(token.kind, Kind::Letter | Kind::Command) {
                return None;
            }
            last = self.name()?;
            all.push_str(&if words { last.to_lowercase() } else { last.clone() });
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
            let arguments: String = self.tokens[start..self.at].iter().map(|token| token.text).collect();
            return (self.at > start && self.at - start <= MOST_ARGUMENTS && self.eat(')'))
                .then_some(Label::Function(last, arguments));
        }
        if parts > 1 || wordy && last.chars().count() > 1 && !last.contains('_') {
            let words = all.strip_prefix("the ").unwrap_or(&all);
            return Some(Label::Other(words.to_owned()));
        }
        if last.chars().filter(|c| c.is_ascii_lowercase()).count() > 1 && self.tokens[self.at - 1].kind == Kind::Word {
            // A product of small letters is no name.
            return None;
        }
        Some(Label::Variable(self.arena.name(&last)?))
    }
}
