//! Numbers in texts, read as people write them.
//!
//! A number may have a sign, a leading currency sign, thousands separators in groups of exactly three digits, a
//! fraction after a point, an exponent (`e5` or `× 10^5`), a denominator (`3/4`, `\frac{3}{4}`) and a percent sign. A hyphen right after an operand is an
//! operator: `12-7=5` holds 12, 7 and 5. Digits inside a word (`x2`, `H2O`) are no number. What looks like a number
//! but is not one (`3.14.15`, `1/2/2024`, `1/0`) is never replaced by a neighbour: where it is the one to be judged,
//! the completion is unparsable. Decimal commas, mixed numbers and arithmetic are left out.
//!
//! Numbers are compared as exact fractions while these fit into 128 bits, so that two large integers that differ by
//! one stay different; beyond that as 64-bit floats.

use super::numeric::Percent;

/// A number: an exact fraction while it fits, and always the nearest float.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    exact: Option<Fraction>,
    pub approx: f64,
}

/// `numerator / denominator` with a positive denominator, not reduced.
#[derive(Clone, Copy, Debug)]
struct Fraction {
    numerator: i128,
    denominator: i128,
}

impl Number {
    /// `digits`, the last `places` of them behind the point, times ten to the `exponent`; None beyond all floats.
    fn decimal(digits: &str, places: usize, exponent: i64) -> Option<Self> {
        let zeros = digits.bytes().rev().take(places).take_while(|byte| *byte == b'0').count();
        let digits = format!("0{}", &digits[..digits.len() - zeros]);
        let scale = exponent - i64::try_from(places - zeros).ok()?;
        let approx = format!("{digits}e{scale}").parse::<f64>().ok().filter(|value| value.is_finite())?;
        let power = u32::try_from(scale.unsigned_abs()).ok().and_then(|power| 10_i128.checked_pow(power));
        let exact = digits.parse::<i128>().ok().zip(power).and_then(|(numerator, power)| {
            Some(match scale >= 0 {
                true => Fraction { numerator: numerator.checked_mul(power)?, denominator: 1 },
                false => Fraction { numerator, denominator: power },
            })
        });
        Some(Self { exact, approx })
    }

    fn negated(self) -> Self {
        let exact = self.exact.map(|fraction| Fraction { numerator: -fraction.numerator, ..fraction });
        Self { exact, approx: -self.approx }
    }

    /// The quotient; None where `divisor` is zero.
    fn over(self, divisor: Self) -> Option<Self> {
        let approx = Some(self.approx / divisor.approx).filter(|value| value.is_finite())?;
        let exact = self.exact.zip(divisor.exact).and_then(|(a, b)| {
            let numerator = a.numerator.checked_mul(b.denominator)?.checked_mul(b.numerator.signum())?;
            Some(Fraction { numerator, denominator: a.denominator.checked_mul(b.numerator.checked_abs()?)? })
        });
        Some(Self { exact, approx })
    }

    /// The absolute difference; zero only where the exact numbers are equal, if both are known.
    pub fn difference(self, other: Self) -> f64 {
        let exact = self.exact.zip(other.exact).and_then(|(a, b)| {
            let (mut common, mut rest) = (a.denominator, b.denominator);
            while rest != 0 {
                (common, rest) = (rest, common % rest);
            }
            let left = a.numerator.checked_mul(b.denominator / common)?;
            let right = b.numerator.checked_mul(a.denominator / common)?;
            let denominator = a.denominator.checked_mul(b.denominator / common)?;
            Some(left.checked_sub(right)?.unsigned_abs() as f64 / denominator as f64)
        });
        exact.unwrap_or_else(|| (self.approx - other.approx).abs())
    }
}

/// Something that looks like a number; `number` is None where it is not one.
pub(super) struct Token<'t> {
    pub text: &'t str,
    pub number: Option<Number>,
}

/// Everything in a text that looks like a number, from left to right.
pub(super) struct Tokens<'t> {
    pub text: &'t str,
    pub at: usize,
    pub percent: Percent,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let text = self.text;
        loop {
            let mut start = self.at + text[self.at..].find(|c: char| c.is_ascii_digit() || c == '\\')?;
            let (number, mut end) = if text[start..].starts_with('\\') {
                let Some((number, length)) = latex_fraction(&text[start..]) else {
                    self.at = start + 1;
                    continue;
                };
                (number, start + length)
            } else {
                if start > self.at && leading_point(&text[..start]) {
                    start -= 1;
                }
                let (number, end) = quotient(text, start);
                self.at = end;
                if inside_word(&text[..start]) {
                    continue;
                }
                (number, end)
            };
            let mut number = if negative(&text[..start]) { number.map(Number::negated) } else { number };
            if let Some(length) = percent_sign(&text[end..]) {
                end += length;
                if self.percent == Percent::Divide {
                    number = number.and_then(|number| number.over(Number::decimal("100", 0, 0)?));
                }
            }
            self.at = end;
            return Some(Token { text: &text[start..end], number });
        }
    }
}

/// Whether `before` ends in a point that begins a number such as `.5`, and not in the end of a sentence.
fn leading_point(before: &str) -> bool {
    before.strip_suffix('.').is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || ".)]}".contains(c)))
}

/// Whether a number after `before` would be part of a word or an identifier, and not follow a LaTeX command.
fn inside_word(before: &str) -> bool {
    let stem = before.trim_end_matches('_');
    if stem.len() < before.len() {
        return stem.ends_with(char::is_alphanumeric);
    }
    let rest = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    rest.len() < before.len() && !rest.ends_with('\\')
}

/// Whether `before` ends in a minus that is a sign; right after an operand it is an operator.
fn negative(before: &str) -> bool {
    let currency = |c: char| "$€£¥₹₽₩₺₫₪₴₦฿".contains(c);
    let before = before.strip_suffix(currency).map_or(before, |rest| rest.strip_suffix('\\').unwrap_or(rest));
    let Some(before) = before.strip_suffix(is_minus) else { return false };
    !before.ends_with(|c: char| c.is_alphanumeric() || ")]}%".contains(c))
}

/// ASCII hyphen-minus, minus, small and full-width hyphen-minus, and the en dash that often stands in for a minus.
fn is_minus(c: char) -> bool {
    "-\u{2212}\u{fe63}\u{ff0d}\u{2013}".contains(c)
}

/// A decimal number and, where one follows, its denominator; with the position behind it.
fn quotient(text: &str, start: usize) -> (Option<Number>, usize) {
    let denominator = |end: usize| {
        let rest = text[end..].strip_prefix(" / ").or_else(|| text[end..].strip_prefix('/'))?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then(|| text.len() - rest.len())
    };
    let (number, end) = decimal(text, start);
    let Some(at) = denominator(end) else { return (number, end) };
    let (divisor, mut end) = decimal(text, at);
    let mut quotient = number.zip(divisor).and_then(|(number, divisor)| number.over(divisor));
    // `1/2/2024` is a date or a chain, and no single fraction.
    while let Some(at) = denominator(end) {
        quotient = None;
        end = decimal(text, at).1;
    }
    (quotient, end)
}

/// An unsigned decimal number, with separators and exponent, and the position behind it.
fn decimal(text: &str, start: usize) -> (Option<Number>, usize) {
    let whole_end = grouped(text, start).unwrap_or_else(|| start + leading_digits(&text[start..]).len());
    let mut digits: String = text[start..whole_end].chars().filter(char::is_ascii_digit).collect();
    let places = point_digits(&text[whole_end..]).unwrap_or("");
    digits.push_str(places);
    let end = if places.is_empty() { whole_end } else { whole_end + 1 + places.len() };
    // A second point makes a version, a date or an address.
    if !places.is_empty() && point_digits(&text[end..]).is_some() {
        let run = text[end..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len() - end);
        return (None, end + run);
    }
    let (exponent, length) = exponent(&text[end..]).unwrap_or((0, 0));
    (Number::decimal(&digits, places.len(), exponent), end + length)
}

fn leading_digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

/// The digits behind a point at the beginning of `text`.
fn point_digits(text: &str) -> Option<&str> {
    text.strip_prefix('.').map(leading_digits).filter(|digits| !digits.is_empty())
}

/// What may stand between groups of three digits, with the forms LaTeX and programming languages use.
pub(super) const SEPARATORS: [&str; 7] = [",", "{,}", "\\,", "_", "\u{2009}", "\u{202f}", "\u{a0}"];

/// The end of an integer in groups of three. A run that is not grouped correctly throughout is a list of numbers.
fn grouped(text: &str, start: usize) -> Option<usize> {
    let first = leading_digits(&text[start..]);
    if !(1..=3).contains(&first.len()) || first.starts_with('0') {
        return None;
    }
    let mut end = start + first.len();
    let separator = SEPARATORS.into_iter().find(|separator| text[end..].starts_with(separator))?;
    let before = SEPARATORS.into_iter().find_map(|separator| text[..start].strip_suffix(separator));
    if before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    while let Some(rest) = text[end..].strip_prefix(separator) {
        match leading_digits(rest).len() {
            0 => break,
            3 => end += separator.len() + 3,
            _ => return None,
        }
    }
    Some(end)
}

/// An exponent at the beginning of `text` (`e-5`, `× 10^5`, `\times 10^{-5}`) and its length.
fn exponent(text: &str) -> Option<(i64, usize)> {
    let space = |text: &str| text.len() - text.strip_prefix(' ').unwrap_or(text).len();
    let (power, braced) = if let Some(power) = text.strip_prefix(['e', 'E']) {
        (power, false)
    } else {
        let sign = &text[space(text)..];
        let factor = ["×", "·", "*", "x", "\\times", "\\cdot"].into_iter().find_map(|by| sign.strip_prefix(by))?;
        let power = factor[space(factor)..].strip_prefix("10^")?;
        power.strip_prefix('{').map_or((power, false), |power| (power, true))
    };
    let unsigned = power.strip_prefix(|c: char| c == '+' || is_minus(c)).unwrap_or(power);
    let digits = leading_digits(unsigned);
    let rest = &unsigned[digits.len()..];
    let rest = if braced { rest.strip_prefix('}')? } else { rest };
    if digits.is_empty() || point_digits(rest).is_some() || rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    // Far beyond every float, so that the bound changes no number that fits.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(10_000_000);
    Some((if power.starts_with(is_minus) { -size } else { size }, text.len() - rest.len()))
}

/// The length of a percent sign at the beginning of `text`, with a space and the backslash of LaTeX before it.
fn percent_sign(text: &str) -> Option<usize> {
    let rest = text.strip_prefix([' ', '\u{a0}', '\u{202f}', '\u{2009}']).unwrap_or(text);
    let rest = rest.strip_prefix('\\').unwrap_or(rest).strip_prefix('%')?;
    Some(text.len() - rest.len())
}

/// `\frac{a}{b}` at the beginning of `text` and its length; the number is None where a part is not a number.
fn latex_fraction(text: &str) -> Option<(Option<Number>, usize)> {
    let arguments = ["\\frac", "\\dfrac", "\\tfrac"].into_iter().find_map(|command| text.strip_prefix(command))?;
    let (above, rest) = super::latex_argument(arguments)?;
    let (below, rest) = super::latex_argument(rest)?;
    let number = plain(above).zip(plain(below)).and_then(|(above, below)| above.over(below));
    Some((number, text.len() - rest.len()))
}

/// `text` as one decimal number with an optional sign.
fn plain(text: &str) -> Option<Number> {
    let text = text.trim();
    let unsigned = text.strip_prefix(is_minus).unwrap_or(text);
    let (number, end) = decimal(unsigned, 0);
    let number = number.filter(|_| end == unsigned.len() && end > 0)?;
    Some(if unsigned.len() < text.len() { number.negated() } else { number })
}
