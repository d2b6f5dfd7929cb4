//! Answers in words.

/// The longest text that is compared.
const MAX_TEXT_BYTES: usize = 1_024;

/// A text without what does not change it: case, marks around it, white space and LaTeX's way of saying that it is
/// text. None where nothing is left, or too much.
pub fn normal(source: &str) -> Option<String> {
    if source.len() > 2 * MAX_TEXT_BYTES {
        return None;
    }
    let mut normal = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix('\\') {
            let name = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
            rest = &behind[name..];
            match &behind[..name] {
                "" => rest = behind.get(behind.chars().next().map_or(0, char::len_utf8)..).unwrap_or(""),
                "text" | "textbf" | "textit" | "textrm" | "mbox" | "mathrm" | "mathbf" | "left" | "right" | "quad"
                | "boxed" | "operatorname" | "qquad" => {}
                name => normal.push_str(name),
            }
            normal.push(' ');
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '{' | '}' | '$' | '*' | '"' | '`' | '~' => normal.push(' '),
            _ => normal.extend(next.to_lowercase()),
        }
    }
    let words: Vec<&str> = normal.split_whitespace().collect();
    let text = without_edges(&words.join(" ")).to_owned();
    (!text.is_empty() && text.len() <= MAX_TEXT_BYTES).then_some(text)
}

/// A text without what stands around words and not around formulas: parentheses, where they hold words only, and marks.
fn without_edges(text: &str) -> &str {
    const FEWEST_LETTERS: usize = 3;
    let text = text.trim_matches(|c: char| c.is_whitespace() || ".,;:".contains(c));
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let text = if letters >= FEWEST_LETTERS { text.trim_end_matches(['!', '?']) } else { text };
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).map(str::trim);
    inner.filter(|inner| inner.chars().all(|c| c.is_alphabetic() || c == ' ')).unwrap_or(text)
}

/// The number that English words such as `forty-two` or `three hundred and five` say.
pub fn number(text: &str) -> Option<i64> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    const MOST_WORDS: usize = 16;
    if text.len() > 128 || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    // What is below a thousand, and what is above.
    let (mut total, mut group, mut last) = (0_i64, 0_i64, 1_000_i64);
    for (at, word) in lower.split([' ', '-']).filter(|word| !word.is_empty()).enumerate() {
        if at >= MOST_WORDS {
            return None;
        }
        let place = |words: &[&str]| words.iter().position(|known| *known == word);
        if let Some(value) = place(&SMALL) {
            let value = i64::try_from(value).ok()?;
            let fits = last >= 100 || (last >= 20 && (1..10).contains(&value));
            if !fits {
                return None;
            }
            (group, last) = (group + value, 1);
        } else if let Some(value) = place(&TENS) {
            if last < 100 {
                return None;
            }
            (group, last) = (group + 10 * (2 + i64::try_from(value).ok()?), 20);
        } else {
            match word {
                "and" if at > 0 && last == 100 => {}
                "hundred" if group > 0 && group < 100 && last < 100 => (group, last) = (group * 100, 100),
                "thousand" | "million" if group > 0 => {
                    let scale = if word == "thousand" { 1_000 } else { 1_000_000 };
                    if total % (scale * 1_000) != 0 {
                        return None;
                    }
                    (total, group, last) = (total + group * scale, 0, 1_000);
                }
                _ => return None,
            }
        }
    }
    Some(total + group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers() {
        for (text, expected) in [
            ("twelve", Some(12)),
            ("forty-two", Some(42)),
            ("three hundred and five", Some(305)),
            ("two thousand twenty-one", Some(2_021)),
            ("one million two hundred thousand", Some(1_200_000)),
            ("zero", Some(0)),
            ("two three", None),
            ("hundred", None),
            ("Evelyn", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_lose_what_does_not_change_them() {
        assert_eq!(normal("\\text{ Evelyn }.").as_deref(), Some("evelyn"));
        assert_eq!(normal("(A)").as_deref(), Some("a"));
        assert_eq!(normal("$\\textbf{(B)}$").as_deref(), Some("b"));
        assert_eq!(normal("The  midpoints").as_deref(), Some("the midpoints"));
        assert_eq!(normal("Yes!").as_deref(), Some("yes"));
        assert_eq!(normal("x!").as_deref(), Some("x!"));
        assert_eq!(normal("[1,2").as_deref(), Some("[1,2"));
        assert_eq!(normal("{}"), None);
        assert_eq!(normal(&"a".repeat(5_000)), None);
    }
}
