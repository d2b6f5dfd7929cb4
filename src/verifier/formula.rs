//! The formula that makes one reward of several: numbers, names, `+ - * / ^`, parentheses and a few functions.
//!
//! `^` binds tightest and to the right, so that `-2^2` is -4; then `* /`, then `+ -`. A formula is a program for a
//! stack, checked when it is read, so that evaluating it takes one pass and cannot fail.

/// The longest formula.
const MAX_BYTES: usize = 4096;
/// How deep parentheses and signs may nest; the reader calls itself.
const MAX_DEPTH: usize = 64;

/// A checked formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Number(f64),
    /// A variable by its place among the names.
    Variable(usize),
    Negate,
    Binary(char),
    Call(Function, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Abs,
    Floor,
    Ceil,
    Exp,
    Sqrt,
    Log,
}

/// The functions by name.
const FUNCTIONS: [(&str, Function); 8] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("abs", Function::Abs),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("exp", Function::Exp),
    ("sqrt", Function::Sqrt),
    ("log", Function::Log),
];

/// Whether a name means a function and so cannot be a variable.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

/// The value of an expression of numbers, `+ - * / ^` and parentheses, in float64, also as people write it (`×`, `÷`, `−`); an
/// error says what is wrong with it.
pub fn calculate(expression: &str) -> Result<f64, String> {
    let plain: String = expression
        .chars()
        .map(|c| match c {
            '×' | '·' => '*',
            '÷' => '/',
            '−' => '-',
            other => other,
        })
        .collect();
    let formula = Formula::parse(plain.trim(), &[])?;
    Ok(formula.evaluate(&[]))
}

impl Formula {
    /// Reads a formula over `names`; an error says what is wrong with it.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("may have at most {MAX_BYTES} bytes"));
        }
        let mut reader = Reader { text, at: 0, depth: 0, names, steps: Vec::new() };
        reader.sum()?;
        match reader.peek() {
            None => Ok(Self { steps: reader.steps }),
            Some(c) => Err(format!("has `{c}` at byte {} where it should end", reader.at)),
        }
    }

    /// Its value for the values of the names in their order.
    pub fn evaluate(&self, values: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let value = match *step {
                Step::Number(number) => number,
                Step::Variable(place) => values[place],
                Step::Negate => -pop(&mut stack),
                Step::Binary(operator) => {
                    let (right, left) = (pop(&mut stack), pop(&mut stack));
                    match operator {
                        '+' => left + right,
                        '-' => left - right,
                        '*' => left * right,
                        '/' => left / right,
                        _ => left.powf(right),
                    }
                }
                Step::Call(function, count) => {
                    let arguments = stack.split_off(stack.len().saturating_sub(count));
                    function.apply(&arguments)
                }
            };
            stack.push(value);
        }
        pop(&mut stack)
    }
}

fn pop(stack: &mut Vec<f64>) -> f64 {
    stack.pop().expect("the reader puts every operand before its operator")
}

impl Function {
    fn apply(self, arguments: &[f64]) -> f64 {
        let first = arguments.first().copied().unwrap_or(f64::NAN);
        match self {
            // Both pass on what is not a number instead of hiding it.
            Self::Min => arguments.iter().copied().fold(first, |a, b| if b < a || b.is_nan() { b } else { a }),
            Self::Max => arguments.iter().copied().fold(first, |a, b| if b > a || b.is_nan() { b } else { a }),
            Self::Abs => first.abs(),
            Self::Floor => first.floor(),
            Self::Ceil => first.ceil(),
            Self::Exp => first.exp(),
            Self::Sqrt => first.sqrt(),
            Self::Log => first.ln(),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: &'a [&'a str],
    steps: Vec<Step>,
}

impl Reader<'_> {
    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|c| wanted.contains(c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn sum(&mut self) -> Result<(), String> {
        self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            self.product()?;
            self.steps.push(Step::Binary(operator));
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), String> {
        self.signed()?;
        while let Some(operator) = self.take(&['*', '/']) {
            self.signed()?;
            self.steps.push(Step::Binary(operator));
        }
        Ok(())
    }

    fn signed(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("nests deeper than {MAX_DEPTH} levels"));
        }
        match self.take(&['+', '-']) {
            Some('-') => {
                self.signed()?;
                self.steps.push(Step::Negate);
            }
            Some(_) => self.signed()?,
            None => self.power()?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn power(&mut self) -> Result<(), String> {
        self.value()?;
        if self.take(&['^']).is_some() {
            self.signed()?;
            self.steps.push(Step::Binary('^'));
        }
        Ok(())
    }

    fn value(&mut self) -> Result<(), String> {
        match self.peek() {
            None => Err(String::from("ends where a value should follow")),
            Some('(') => {
                self.at += 1;
                self.sum()?;
                self.close()
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.named(),
            Some(c) => Err(format!("has `{c}` at byte {} where a value should stand", self.at)),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.take(&[')']).map(drop).ok_or_else(|| format!("misses a `)` at byte {}", self.at))
    }

    fn number(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let mut end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let exponent = rest[end..].strip_prefix(['e', 'E']).map(|tail| tail.strip_prefix(['+', '-']).unwrap_or(tail));
        if let Some(digits) = exponent.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            end = rest.len() - digits.len() + length;
        }
        let number = rest[..end].parse().map_err(|_| format!("has `{}`, which is no number", &rest[..end]))?;
        self.at += end;
        self.steps.push(Step::Number(number));
        Ok(())
    }

    fn named(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        self.at += end;
        let function = FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function);
        if let Some(function) = function {
            return self.call(name, function);
        }
        let place = self.names.iter().position(|known| *known == name);
        let place = place.ok_or_else(|| format!("names `{name}`; there are {}", self.names.join(", ")))?;
        self.steps.push(Step::Variable(place));
        Ok(())
    }

    fn call(&mut self, name: &str, function: Function) -> Result<(), String> {
        if self.take(&['(']).is_none() {
            return Err(format!("misses `(` behind `{name}`"));
        }
        let mut count = 1;
        self.sum()?;
        while self.take(&[',']).is_some() {
            self.sum()?;
            count += 1;
        }
        self.close()?;
        let fits = matches!(function, Function::Min | Function::Max) || count == 1;
        if !fits {
            return Err(format!("gives `{name}` {count} values; it takes one"));
        }
        self.steps.push(Step::Call(function, count));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        Formula::parse(text, &["a", "b_2"]).unwrap_or_else(|error| panic!("{text}: {error}")).evaluate(&[3.0, 0.5])
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 / 4 / 2", 1.0),
            ("2 - 3 - 4", -5.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("- - 2", 2.0),
            ("0.8 * a + 0.2 * b_2", 2.5),
            ("1e-2 + .5 + 2.", 2.51),
            ("min(a, b_2, 7) + max(1, 2)", 2.5),
            ("abs(-a) + floor(1.7) + ceil(1.2) + sqrt(4) + log(exp(1))", 9.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text} = {}", value(text));
        }
    }

    #[test]
    fn what_is_no_formula_is_refused_with_the_place() {
        for text in ["", "1 +", "(1", "1)", "c", "a b_2", "abs(1, 2)", "min()", "min", "1..2", "2 $ 3", "a.b", "π"] {
            assert!(Formula::parse(text, &["a", "b_2"]).is_err(), "{text}");
        }
        assert!(Formula::parse("c", &["a", "b_2"]).unwrap_err().contains("a, b_2"));
        for deep in ["(".repeat(1000), "-".repeat(1000), "2^".repeat(1000)] {
            assert!(Formula::parse(&format!("{deep}1"), &[]).unwrap_err().contains("deeper"), "{deep}");
        }
    }

    #[test]
    fn what_is_not_a_number_stays_visible() {
        assert!(value("min(1, 0 / 0)").is_nan() && value("max(0 / 0, 1)").is_nan() && value("sqrt(-1)").is_nan());
        assert!(value("1 / 0").is_infinite());
    }
}
