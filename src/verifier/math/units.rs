//! Units behind numbers: which are the same, and by what factor others differ.

use super::rational::Rational;

/// Exponents of metre, gram, second, ampere, kelvin, month and of six currencies.
type Dimensions = [i8; 12];

#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    Percent,
    Degree,
    Radian,
    /// So many of the base units with these exponents.
    Known {
        dimensions: Dimensions,
        scale: Rational,
    },
    /// Words that name no unit that is known, such as what is counted.
    Other(String),
}

/// How a number in one unit compares with one in another.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The numbers are compared as they are.
    Same,
    /// The first number times this is compared with the second.
    Scaled(Rational),
    Different,
}

/// Names, the exponents they have, and the scale as a fraction.
type Entry = (&'static [&'static str], &'static [(usize, i8)], i64, i64);

const METRE: usize = 0;
const GRAM: usize = 1;
const SECOND: usize = 2;
const AMPERE: usize = 3;
const KELVIN: usize = 4;
const MONTH: usize = 5;
const DOLLAR: usize = 6;
const EURO: usize = 7;
const POUND: usize = 8;
const YUAN: usize = 9;
const RUPEE: usize = 10;
const YEN: usize = 11;

const UNITS: &[Entry] = &[
    (&["m", "meter", "metre"], &[(METRE, 1)], 1, 1),
    (&["cm", "centimeter", "centimetre"], &[(METRE, 1)], 1, 100),
    (&["dm", "decimeter", "decimetre"], &[(METRE, 1)], 1, 10),
    (&["mm", "millimeter", "millimetre"], &[(METRE, 1)], 1, 1_000),
    (&["km", "kilometer", "kilometre"], &[(METRE, 1)], 1_000, 1),
    (&["inch", "inches", "in"], &[(METRE, 1)], 254, 10_000),
    (&["ft", "foot", "feet"], &[(METRE, 1)], 3_048, 10_000),
    (&["yd", "yard"], &[(METRE, 1)], 9_144, 10_000),
    (&["mi", "mile"], &[(METRE, 1)], 1_609_344, 1_000),
    (&["g", "gram", "gm"], &[(GRAM, 1)], 1, 1),
    (&["kg", "kilogram"], &[(GRAM, 1)], 1_000, 1),
    (&["mg", "milligram"], &[(GRAM, 1)], 1, 1_000),
    (&["tonne"], &[(GRAM, 1)], 1_000_000, 1),
    (&["lb", "pound"], &[(GRAM, 1)], 45_359_237, 100_000),
    (&["oz", "ounce"], &[(GRAM, 1)], 45_359_237, 1_600_000),
    (&["s", "sec", "second"], &[(SECOND, 1)], 1, 1),
    (&["ms", "millisecond"], &[(SECOND, 1)], 1, 1_000),
    (&["min", "minute"], &[(SECOND, 1)], 60, 1),
    (&["h", "hr", "hour"], &[(SECOND, 1)], 3_600, 1),
    (&["day"], &[(SECOND, 1)], 86_400, 1),
    (&["week"], &[(SECOND, 1)], 604_800, 1),
    (&["month"], &[(MONTH, 1)], 1, 1),
    (&["year", "yr"], &[(MONTH, 1)], 12, 1),
    (&["l", "L", "liter", "litre"], &[(METRE, 3)], 1, 1_000),
    (&["ml", "mL", "milliliter", "millilitre"], &[(METRE, 3)], 1, 1_000_000),
    (&["mph"], &[(METRE, 1), (SECOND, -1)], 44_704, 100_000),
    (&["kph", "kmh"], &[(METRE, 1), (SECOND, -1)], 1_000, 3_600),
    (&["hz", "Hz", "hertz"], &[(SECOND, -1)], 1, 1),
    (&["N", "newton"], &[(GRAM, 1), (METRE, 1), (SECOND, -2)], 1_000, 1),
    (&["J", "joule"], &[(GRAM, 1), (METRE, 2), (SECOND, -2)], 1_000, 1),
    (&["kJ", "kilojoule"], &[(GRAM, 1), (METRE, 2), (SECOND, -2)], 1_000_000, 1),
    (&["W", "watt"], &[(GRAM, 1), (METRE, 2), (SECOND, -3)], 1_000, 1),
    (&["kW", "kilowatt"], &[(GRAM, 1), (METRE, 2), (SECOND, -3)], 1_000_000, 1),
    (&["Pa", "pascal"], &[(GRAM, 1), (METRE, -1), (SECOND, -2)], 1_000, 1),
    (&["V", "volt"], &[(GRAM, 1), (METRE, 2), (SECOND, -3), (AMPERE, -1)], 1_000, 1),
    (&["A", "ampere", "amp"], &[(AMPERE, 1)], 1, 1),
    (&["K", "kelvin"], &[(KELVIN, 1)], 1, 1),
    (&["$", "dollar", "usd", "USD"], &[(DOLLAR, 1)], 1, 1),
    (&["cent", "¢"], &[(DOLLAR, 1)], 1, 100),
    (&["€", "euro", "EUR"], &[(EURO, 1)], 1, 1),
    (&["£", "GBP"], &[(POUND, 1)], 1, 1),
    (&["yuan", "RMB"], &[(YUAN, 1)], 1, 1),
    (&["₹", "rupee", "Rs"], &[(RUPEE, 1)], 1, 1),
    (&["¥", "yen"], &[(YEN, 1)], 1, 1),
];

/// The entry of a unit by one of its names or its plural.
fn entry(name: &str) -> Option<&'static Entry> {
    let find = |name: &str| UNITS.iter().find(|(names, ..)| names.contains(&name));
    let lower = || name.to_ascii_lowercase();
    find(name).or_else(|| match name.len() {
        0..=2 => None,
        _ => find(&lower()).or_else(|| find(lower().strip_suffix('s')?)),
    })
}

/// What a word multiplies the number before it with, such as 12 for `dozen`.
pub fn multiplier(word: &str) -> Option<i64> {
    let lower = word.to_ascii_lowercase();
    Some(match lower.strip_suffix('s').unwrap_or(&lower) {
        "pair" | "couple" => 2,
        "dozen" => 12,
        "hundred" => 100,
        "thousand" => 1_000,
        "million" => 1_000_000,
        "billion" => 1_000_000_000,
        "trillion" => 1_000_000_000_000,
        _ => return None,
    })
}

/// What the words at the beginning of `text` multiply a number with, and the words behind them.
pub fn multiplied(text: &str) -> Option<(Rational, &str)> {
    const MOST: usize = 3;
    let (mut factor, mut rest) = (Rational::ONE, text);
    for _ in 0..MOST {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        let Some(by) = multiplier(word) else { break };
        (factor, rest) = (factor.mul(&Rational::integer(by))?, behind);
    }
    Some((factor, rest))
}

/// A text in which pairs, couples and dozens are only something that is counted; None where it holds none.
pub fn counted(text: &str) -> Option<String> {
    const MAX_WORDS: usize = 64;
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let counts = |word: &str| matches!(multiplier(word), Some(2 | 12));
    let ends = text.match_indices(|c: char| !is_letter(c)).map(|(at, mark)| at + mark.len());
    let starts = std::iter::once(0).chain(ends);
    let word_at = |start: &usize| text[*start..].split(|c: char| !is_letter(c)).next().is_some_and(counts);
    let word = starts.take(MAX_WORDS).find(word_at)?;
    let length = text[word..].find(|c: char| !is_letter(c)).unwrap_or(text.len() - word);
    Some([&text[..word], "pieces", &text[word + length..]].concat())
}

/// Whether a text begins with a part of a whole, such as `tenths`, which makes a fraction of the number before it. Third
/// graders are none, and quarters are coins unless they are of something.
pub fn is_part(text: &str) -> bool {
    const PARTS: [&str; 13] = [
        "half",
        "halve",
        "third",
        "quarter",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "hundredth",
        "thousandth",
    ];
    let mut words = text.split(' ');
    let word = words.next().unwrap_or(text);
    let word = word.strip_suffix('s').unwrap_or(word);
    PARTS.contains(&word) && words.next().map_or(word != "quarter", |next| next == "of")
}

/// Whether a short run of letters is a word, such as `cup`, `PM` or `sq`, rather than a product of letters: a vowel
/// between two consonants.
pub fn is_short_word(name: &str) -> bool {
    const WORDS: [&str; 20] = [
        "AM", "PM", "am", "pm", "sq", "cu", "egg", "pie", "tie", "bee", "ant", "ice", "tea", "old", "pcs", "pts",
        "hrs", "ans", "age", "lbs",
    ];
    let vowel = |byte: u8| b"aeiou".contains(&byte);
    let spelled = match name.as_bytes() {
        [first, second, third] => {
            name.bytes().all(|byte| byte.is_ascii_lowercase())
                && !vowel(*first)
                && !b"xyz".contains(first)
                && vowel(*second)
                && !vowel(*third)
        }
        _ => false,
    };
    spelled || WORDS.contains(&name)
}

/// Whether a word is a unit.
pub fn is_known(name: &str) -> bool {
    entry(name).is_some()
}

impl Unit {
    /// The unit that a text such as `cm^2`, `miles per hour` or `square feet` names.
    pub fn read(text: &str) -> Self {
        match text.to_ascii_lowercase().replace(". ", ".").trim_end_matches('.') {
            "a.m" | "am" => return Self::Other(String::from("am")),
            "p.m" | "pm" => return Self::Other(String::from("pm")),
            "rad" | "radian" | "radians" => return Self::Radian,
            words if words.starts_with("percent") => return Self::Percent,
            _ => {}
        }
        let text = &text.replace('/', " / ");
        Self::known(text).unwrap_or_else(|| {
            let word = |word: &str| word.strip_suffix('s').unwrap_or(word).to_lowercase();
            let words: Vec<String> = text.split([' ', '.']).filter(|part| !part.is_empty()).map(word).collect();
            Self::Other(words.join(" "))
        })
    }

    fn known(text: &str) -> Option<Self> {
        const MOST_PARTS: usize = 12;
        let (mut dimensions, mut scale) = ([0_i8; 12], Rational::ONE);
        let (mut sign, mut power, mut found) = (1_i8, 1_i8, false);
        for (at, part) in text.split(' ').filter(|part| !part.is_empty()).enumerate() {
            if at >= MOST_PARTS {
                return None;
            }
            match part {
                "/" | "per" => sign = -1,
                "*" => {}
                "square" | "sq" => power = 2,
                "cubic" | "cu" => power = 3,
                _ => {
                    let (name, exponent) = part.split_once('^').unwrap_or((part, "1"));
                    let exponent = exponent.parse::<i8>().ok().filter(|exponent| (-4..=4).contains(exponent))?;
                    let total = sign * exponent * power;
                    let (_, exponents, top, bottom) = entry(name)?;
                    for (dimension, by) in *exponents {
                        dimensions[*dimension] = dimensions[*dimension].checked_add(by.checked_mul(total)?)?;
                    }
                    let factor = Rational::fraction(i128::from(*top), i128::from(*bottom))?;
                    scale = scale.mul(&factor.pow(i64::from(total))?)?;
                    (power, found) = (1, true);
                }
            }
        }
        found.then_some(Self::Known { dimensions, scale })
    }

    /// Whether what is said in one unit may be said in the other without converting it, or without a unit.
    pub fn agree(a: Option<&Self>, b: Option<&Self>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => a.relation(b) == Relation::Same,
            (Some(Self::Percent), None) | (None, Some(Self::Percent)) => false,
            (Some(_), None) | (None, _) => true,
        }
    }

    /// How numbers in this unit compare with numbers in `other`.
    pub fn relation(&self, other: &Self) -> Relation {
        match (self, other) {
            (Self::Percent, Self::Percent) | (Self::Degree, Self::Degree) | (Self::Radian, Self::Radian) => {
                Relation::Same
            }
            (Self::Known { dimensions: a, scale }, Self::Known { dimensions: b, scale: other }) if a == b => {
                match scale.div(other) {
                    Some(factor) if factor == Rational::ONE => Relation::Same,
                    Some(factor) => Relation::Scaled(factor),
                    None => Relation::Different,
                }
            }
            (Self::Other(a), Self::Other(b)) if a.contains(b.as_str()) || b.contains(a.as_str()) => Relation::Same,
            _ => Relation::Different,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_same_scaled_or_different() {
        let of = |a: &str, b: &str| Unit::read(a).relation(&Unit::read(b));
        assert_eq!(of("km", "m"), Relation::Scaled(Rational::integer(1_000)));
        assert_eq!(of("km/h", "m/s"), Relation::Scaled(Rational::fraction(5, 18).unwrap()));
        assert_eq!(of("km / h", "kilometers per hour"), Relation::Same);
        assert_eq!(of("cm^2", "square centimeters"), Relation::Same);
        assert_eq!(of("hours", "minutes"), Relation::Scaled(Rational::integer(60)));
        assert_eq!(of("m", "s"), Relation::Different);
        assert_eq!(of("$", "€"), Relation::Different);
        assert_eq!(of("cents", "dollars"), Relation::Scaled(Rational::fraction(1, 100).unwrap()));
        assert_eq!(of("apples", "oranges"), Relation::Different);
        assert_eq!(of("apples", "red apples"), Relation::Same);
        assert_eq!(Unit::read("cm^9").relation(&Unit::read("cm")), Relation::Different);
        assert_eq!(of("bags", "bag"), Relation::Same);
    }
}
