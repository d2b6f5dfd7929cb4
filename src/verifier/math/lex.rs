//! Tokens of an answer, in LaTeX or in plain text: what is written differently and means the same becomes the same
//! token.

/// The longest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 8_192;
const MAX_TOKENS: usize = 2_048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number as it is written, separators included.
    Number,
    /// A single letter.
    Letter,
    /// Two letters or more that are no known name.
    Word,
    /// What stands in `\text{...}`, or a word that is an answer by itself.
    Text,
    /// A LaTeX command, or a known name such as `sin`, without the backslash.
    Command,
    /// An operator, a bracket or a relation; `⦃` and `⦄` are the braces of sets, `⏎` ends a row. A comma may be written
    /// as `and` or `or`.
    Symbol(char),
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
    /// Whether white space stands before it.
    pub spaced: bool,
}

impl Token<'_> {
    pub fn is(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol(symbol)
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// Brackets that are open, in which a comma always separates.
    depth: usize,
    /// Environments that are open, in which `\\` ends a row.
    environments: usize,
    plain: bool,
    spaced: bool,
    tokens: Vec<Token<'t>>,
}

/// The tokens of `text`, an [`Kind::End`] after the last; None where there are too many.
pub fn tokens(text: &str, plain: bool) -> Option<Vec<Token<'_>>> {
    if text.len() > MAX_ANSWER_BYTES {
        return None;
    }
    let tokens = Vec::with_capacity(text.len() / 2 + 4);
    let mut lexer = Lexer { text, at: 0, depth: 0, environments: 0, plain, spaced: false, tokens };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    lexer.push(Kind::End, "")?;
    Some(lexer.tokens)
}

/// A text as its tokens, the same for writings that differ in spaces, styles and braces around one token only; None where
/// its brackets are not closed or it holds nothing.
pub fn writing(text: &str) -> Option<String> {
    let tokens = tokens(text, false)?;
    let mut open = Vec::new();
    let mut writing = String::with_capacity(text.len());
    for (at, token) in tokens.iter().enumerate() {
        let one = |brace: usize| tokens.get(brace + 2).is_some_and(|token| token.is('}'));
        match token.kind {
            Kind::Symbol('{') => open.push(at),
            Kind::Symbol('}') if one(open.pop()?) => continue,
            _ => {}
        }
        if token.is('{') && one(at) {
            continue;
        }
        match token.kind {
            Kind::Number => writing.extend(token.text.chars().filter(|c| c.is_ascii_digit() || ".eE/½⅓¼".contains(*c))),
            Kind::Text | Kind::Word => writing.push_str(&token.text.to_lowercase()),
            Kind::Symbol(symbol) => writing.push(symbol),
            Kind::Command => writing.extend(["\\", token.text]),
            Kind::Letter => writing.push_str(token.text),
            Kind::End => break,
        }
        writing.push(' ');
    }
    (open.is_empty() && writing.chars().any(char::is_alphanumeric)).then_some(writing)
}

impl<'t> Lexer<'t> {
    fn push(&mut self, kind: Kind, text: &'t str) -> Option<()> {
        if self.tokens.len() >= MAX_TOKENS {
            return None;
        }
        self.tokens.push(Token { kind, text, spaced: self.spaced });
        self.spaced = false;
        Some(())
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        let point = first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if first.is_ascii_digit() || point {
            let whole = self.plain && self.at == 0 && is_decimal(rest);
            let length = if whole { rest.len() } else { number_length(rest, self.depth == 0) };
            self.at += length;
            return self.push(Kind::Number, &rest[..length]);
        }
        if first.is_alphabetic() {
            return self.letters(rest);
        }
        if first == '\\' {
            return self.command(rest);
        }
        self.at += first.len_utf8();
        self.symbol(first, rest)
    }

    fn letters(&mut self, rest: &'t str) -> Option<()> {
        let mut length = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        if !rest.as_bytes()[0].is_ascii() {
            // Greek letters and the like stand for themselves.
            length = rest.chars().next().map_or(length, char::len_utf8);
        }
        for joined in ["or", "and"] {
            let behind = rest[..length].strip_prefix(joined);
            if behind.is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_uppercase())) {
                length = joined.len();
            }
        }
        let run = &rest[..length];
        self.at += length;
        match (known_word(run), length) {
            (Some((kind, name)), _) => self.push(kind, name),
            (None, _) if run.chars().count() == 1 => self.push(Kind::Letter, run),
            (None, _) => self.push(Kind::Word, run),
        }
    }

    fn command(&mut self, rest: &'t str) -> Option<()> {
        let name_length = |from: &str| from.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(from.len());
        let doubled = rest.starts_with("\\\\");
        let skip = if doubled && self.environments == 0 && name_length(&rest[2..]) > 0 { 2 } else { 1 };
        let length = name_length(&rest[skip..]);
        if length == 0 {
            return self.control(rest);
        }
        let name = &rest[skip..skip + length];
        self.at += skip + length;
        // A command and the letter behind it that ran together.
        if let Some(tail) = name.strip_prefix("qquad").or_else(|| name.strip_prefix("quad")) {
            self.at -= tail.len();
            self.spaced = true;
            return Some(());
        }
        match name {
            "left" | "right" => {
                if self.rest().starts_with('.') {
                    self.at += 1;
                }
                Some(())
            }
            "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr" | "biggl" | "biggr"
            | "displaystyle" | "textstyle" | "limits" | "boxed" | "fbox" | "hline" | "ensuremath" | "middle"
            | "strut" => Some(()),
            "color" | "textcolor" => {
                let rest = self.rest();
                let close = rest.find('}').filter(|_| rest.starts_with('{'));
                self.at += close.map_or(0, |close| close + 1);
                Some(())
            }
            "begin" | "end" => self.environment(name),
            "text" | "textbf" | "textit" | "textrm" | "textsf" | "texttt" | "mbox" | "hbox" | "emph" | "mathrm"
            | "mathbf" | "mathit" | "mathsf" | "mathcal" | "mathbb" | "operatorname" | "boldsymbol" | "bm" | "bold"
            | "textnormal" | "mathtt" | "mathfrak" => self.styled(name),
            _ => match command_symbol(name) {
                Some(symbol) => self.bracket(symbol, name),
                None => self.push(Kind::Command, command_name(name)),
            },
        }
    }

    /// A backslash before something that is no letter.
    fn control(&mut self, rest: &'t str) -> Option<()> {
        let next = rest[1..].chars().next().unwrap_or(' ');
        self.at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        match next {
            '\\' => self.push(Kind::Symbol('⏎'), "\\\\"),
            '{' => self.bracket('⦃', "{"),
            '}' => self.bracket('⦄', "}"),
            '%' | '$' | '#' | '&' | '_' => self.push(Kind::Symbol(next), &rest[1..2]),
            '|' => self.push(Kind::Symbol('|'), "|"),
            '!' | ',' | ';' | ':' | '>' | ' ' | '(' | ')' | '[' | ']' | '/' | '\n' => {
                self.spaced |= next != '!';
                Some(())
            }
            _ => self.push(Kind::Symbol('\\'), &rest[..1]),
        }
    }

    fn environment(&mut self, name: &'t str) -> Option<()> {
        let rest = self.rest();
        let close = rest.find('}').filter(|_| rest.starts_with('{'))?;
        let kind = &rest[1..close];
        self.at += close + 1;
        self.environments = if name == "begin" { self.environments + 1 } else { self.environments.saturating_sub(1) };
        self.push(Kind::Command, if name == "begin" { "begin" } else { "end" })?;
        self.push(Kind::Text, kind)?;
        if kind == "array" && name == "begin" {
            let rest = self.rest();
            self.at += rest.find('}').filter(|_| rest.starts_with('{')).map_or(0, |close| close + 1);
        }
        Some(())
    }

    /// `\text{...}` and what sets letters in a style.
    fn styled(&mut self, name: &str) -> Option<()> {
        let rest = self.rest();
        let inner = rest.trim_start().strip_prefix('{').map(|inner| {
            let spaces = ["\\,", "\\;", "\\:", "\\ ", "~", " "];
            let spaced = |inner: &&'t str| spaces.iter().find_map(|space| inner.strip_prefix(space));
            std::iter::successors(Some(inner), spaced).last().unwrap_or(inner)
        });
        let Some((inner, close)) = inner.and_then(|inner| Some((inner, inner.find(['{', '}', '\\'])?))) else {
            // `\mathrm e` and the like: the style says nothing.
            return Some(());
        };
        if let Some(behind) = inner.strip_prefix("\\$}") {
            // A sign of a currency between braces.
            self.at += rest.len() - behind.len();
            return self.push(Kind::Symbol('$'), "$");
        }
        let content = inner[..close].trim_matches([' ', '~']);
        let is_text = name.starts_with("text") || matches!(name, "mbox" | "hbox" | "emph" | "operatorname");
        let is_closed = inner[close..].starts_with('}');
        let letters = content.chars().filter(|c| c.is_alphabetic()).count();
        let digits = if content.starts_with(|c: char| c.is_ascii_digit()) { number_length(content, true) } else { 0 };
        let quantity = digits > 0 && content[digits..].starts_with(' ');
        // What holds commands, no letters, or a number before its unit is read as any group.
        if !is_closed || letters == 0 || quantity {
            return Some(());
        }
        self.at += rest.len() - inner.len() + close + 1;
        match (name, content) {
            ("mathbb", "R") => return self.push(Kind::Command, "reals"),
            ("mathbb" | "mathbf" | "boldsymbol" | "bm" | "bold", _) if letters == 1 && content.len() == 1 => {
                // A bold i is a vector and no imaginary unit.
                return self.push(Kind::Command, content);
            }
            _ => {}
        }
        self.spaced |= content.len() < close;
        let single = content.chars().count() == 1;
        let unit = single && name == "mathrm" && super::units::is_known(content) && self.after_quantity();
        match known_word(content) {
            Some((kind, known)) => self.push(kind, known),
            None if single && !is_text && !unit => self.push(Kind::Letter, content),
            None => self.push(Kind::Text, content),
        }
    }

    /// Whether a number is before what is next, or a unit and the sign that joins it to another one.
    fn after_quantity(&self) -> bool {
        let before = |by: usize| self.tokens.len().checked_sub(by).map(|at| self.tokens[at].kind);
        match before(1) {
            Some(Kind::Number) => true,
            Some(Kind::Symbol('/' | '*')) => before(2) == Some(Kind::Text),
            _ => false,
        }
    }

    fn bracket(&mut self, symbol: char, text: &'t str) -> Option<()> {
        match symbol {
            '(' | '[' | '⦃' | '⟨' => self.depth += 1,
            ')' | ']' | '⦄' | '⟩' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(Kind::Symbol(symbol), text)
    }

    fn symbol(&mut self, first: char, rest: &'t str) -> Option<()> {
        let text = &rest[..first.len_utf8()];
        if first.is_whitespace() || "~`\"\u{200b}\u{feff}".contains(first) {
            self.spaced = true;
            return Some(());
        }
        if let Some(digit) = superscript(first) {
            self.push(Kind::Symbol('^'), text)?;
            return self.push(Kind::Number, digit);
        }
        let pair = |symbol: char, lexer: &mut Self| {
            lexer.at += 1;
            lexer.push(Kind::Symbol(symbol), &rest[..2])
        };
        match (first, rest.as_bytes().get(1)) {
            ('<', Some(b'=')) | ('=', Some(b'<')) => pair('≤', self),
            ('>', Some(b'=')) => pair('≥', self),
            ('!', Some(b'=')) => pair('≠', self),
            ('=', Some(b'=')) | (':', Some(b'=')) => pair('=', self),
            ('*', Some(b'*')) => pair('^', self),
            ('$', next) => match next.is_some_and(u8::is_ascii_digit) && self.plain {
                true => self.push(Kind::Symbol('$'), text),
                false => Some(()),
            },
            ('.' | '?', _) if rest[1..].trim_end_matches(['.', '$', '*', ' ', '\n']).is_empty() => Some(()),
            ('½' | '⅓' | '⅔' | '¼' | '¾' | '⅕' | '⅖' | '⅗' | '⅘' | '⅙' | '⅚' | '⅛' | '⅜' | '⅝' | '⅞', _) => {
                self.push(Kind::Number, text)
            }
            _ => self.bracket(plain_symbol(first), text),
        }
    }
}

/// Whether a whole text is a decimal such as `0,125`, which is no list of two numbers.
fn is_decimal(text: &str) -> bool {
    const FEWEST_DIGITS: usize = 3;
    let digits = text.strip_prefix("0,").unwrap_or("");
    digits.len() >= FEWEST_DIGITS && !digits.ends_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The length of the number at the beginning of `text`. Thousands are separated by a comma (not within brackets, where
/// it separates answers), `{,}`, `,\!`, `\,`, a space or an underscore before exactly three digits.
pub fn number_length(text: &str, commas: bool) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = digits(0);
    if (1..=3).contains(&at) && !(at == 1 && bytes[0] == b'0') {
        while let Some(gap) = separator(&text[at..], commas).filter(|gap| digits(at + gap) == 3) {
            at += gap + 3;
        }
    }
    if bytes.get(at) == Some(&b'.') && digits(at + 1) > 0 {
        at += 1 + digits(at + 1);
    } else if text[at..].starts_with(".\\overline{") || text[at..].starts_with(".\\dot{") {
        at += 1;
    }
    let exponent = match bytes.get(at) {
        Some(b'e' | b'E') => at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-'))),
        _ => return at,
    };
    if digits(exponent) > 0 { exponent + digits(exponent) } else { at }
}

/// The length of a separator of thousands at the beginning of `text`.
fn separator(text: &str, commas: bool) -> Option<usize> {
    const ALWAYS: [&str; 8] = ["{,}", ",\\!", ",\\,", "\\,", "\\ ", "_", "\u{202f}", "\u{2009}"];
    let found = ALWAYS.iter().find(|known| text.starts_with(**known)).map(|known| known.len());
    let length = found.or_else(|| (commas && text.starts_with([',', ' ', '\u{a0}'])).then(|| text.len_of_first()))?;
    // `11,\! 111` has a space behind its separator.
    Some(length + usize::from(length > 1 && text[length..].starts_with(' ')))
}

trait FirstLength {
    fn len_of_first(&self) -> usize;
}

impl FirstLength for str {
    fn len_of_first(&self) -> usize {
        self.chars().next().map_or(0, char::len_utf8)
    }
}

/// What a word is by itself.
fn known_word(word: &str) -> Option<(Kind, &'static str)> {
    const NAMES: [&str; 27] = [
        "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln",
        "lg", "exp", "sqrt", "abs", "pi", "floor", "ceil", "infty", "asin", "acos", "atan", "infinity", "cbrt",
    ];
    const ANSWERS: [&str; 8] = ["yes", "no", "true", "false", "none", "odd", "even", "undefined"];
    if word.len() > 9 {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    if let Some(name) = ANSWERS.iter().find(|known| **known == lower) {
        return Some((Kind::Text, name));
    }
    match word {
        "and" => Some((Kind::Symbol(','), "and")),
        "or" => Some((Kind::Symbol(','), "or")),
        "inf" | "oo" => Some((Kind::Command, "infty")),
        "percent" | "pct" => Some((Kind::Symbol('%'), "%")),
        "degrees" | "degree" | "deg" => Some((Kind::Symbol('°'), "°")),
        _ => NAMES.iter().find(|known| **known == word).map(|known| (Kind::Command, command_name(known))),
    }
}

/// One name for all that a command is called.
fn command_name(name: &str) -> &str {
    match name {
        "dfrac" | "tfrac" | "cfrac" => "frac",
        "dbinom" | "tbinom" => "binom",
        "asin" => "arcsin",
        "acos" => "arccos",
        "atan" => "arctan",
        "infinity" => "infty",
        "varnothing" => "emptyset",
        "varepsilon" => "epsilon",
        "varphi" => "phi",
        "lg" => "log",
        name => name,
    }
}

fn command_symbol(name: &str) -> Option<char> {
    Some(match name {
        "cdot" | "times" | "ast" => '*',
        "div" => '/',
        "le" | "leq" | "leqslant" | "leqq" => '≤',
        "ge" | "geq" | "geqslant" | "geqq" => '≥',
        "lt" => '<',
        "gt" => '>',
        "ne" | "neq" => '≠',
        "approx" | "simeq" | "thickapprox" => '≈',
        "equiv" => '=',
        "in" => '∈',
        "cup" => '∪',
        "cap" => '∩',
        "setminus" | "backslash" => '∖',
        "pm" => '±',
        "mp" => '∓',
        "circ" | "degree" => '°',
        "mid" | "vert" | "lvert" | "rvert" => '|',
        "lbrace" => '⦃',
        "rbrace" => '⦄',
        "lbrack" => '[',
        "rbrack" => ']',
        "langle" => '⟨',
        "rangle" => '⟩',
        "lfloor" => '⌊',
        "rfloor" => '⌋',
        "lceil" => '⌈',
        "rceil" => '⌉',
        "prime" => '\'',
        "percent" => '%',
        "euro" => '€',
        "pounds" => '£',
        "colon" => ':',
        "land" | "lor" | "wedge" | "vee" => ',',
        "dots" | "ldots" | "cdots" | "dotsm" | "dotsb" | "vdots" | "ddots" => '…',
        _ => return None,
    })
}

fn plain_symbol(symbol: char) -> char {
    match symbol {
        '−' | '–' | '﹣' | '－' => '-',
        '×' | '·' | '⋅' | '∗' | '•' => '*',
        '÷' | '∕' | '⁄' => '/',
        '⩽' => '≤',
        '⩾' => '≥',
        '′' | '’' => '\'',
        '；' => ';',
        '，' | '、' => ',',
        '：' => ':',
        '（' => '(',
        '）' => ')',
        '＝' => '=',
        '％' => '%',
        '∅' => '∅',
        'º' => '°',
        other => other,
    }
}

fn superscript(symbol: char) -> Option<&'static str> {
    let at = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|known| known == symbol)?;
    Some(&"0123456789"[at..=at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let tokens = tokens(text, true).unwrap();
        let show = |token: &Token<'_>| match token.kind {
            Kind::Symbol(symbol) => symbol.to_string(),
            Kind::Text => format!("{:?}", token.text),
            Kind::Command => format!("\\{}", token.text),
            Kind::Number | Kind::Letter | Kind::Word => token.text.to_owned(),
            Kind::End => String::new(),
        };
        tokens.iter().map(show).collect::<Vec<_>>().join(" ").trim_end().to_owned()
    }

    #[test]
    fn what_is_written_differently_becomes_the_same_tokens() {
        for (text, expected) in [
            ("1,234 + 1{,}234", "1,234 + 1{,}234"),
            ("(1,234)", "( 1 , 234 )"),
            ("32, 349", "32 , 349"),
            ("11,\\! 111,\\! 100", "11,\\! 111,\\! 100"),
            ("0,111", "0,111"),
            ("0,1", "0 , 1"),
            ("\\\\dfrac{1}{2}\\\\le x", "\\frac { 1 } { 2 } ≤ x"),
            ("1\\text{ and } x<=2", "1 , x ≤ 2"),
            ("1orW", "1 , W"),
            ("5\\text{ cm}^2", "5 \"cm\" ^ 2"),
            ("\\quadx_{1}", "x _ { 1 }"),
            ("2³ × 10⁵", "2 ^ 3 * 10 ^ 5"),
            ("90^\\circ", "90 ^ °"),
            ("sinx + sin(x)", "sinx + \\sin ( x )"),
            ("1e5, 2e, 3.", "1e5 , 2 e , 3"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
