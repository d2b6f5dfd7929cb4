//! Whether a program wrote what was expected.
//!
//! Lines are compared without the white space at their ends, and without empty lines at the end of the text. Where a line
//! differs its words are compared, and two words are also equal if both are numbers, one has a fraction or an exponent, and
//! they lie within the tolerance.

/// How much of a line is shown.
const SHOWN: usize = 80;

/// Why an output is not the expected one; none where it is.
pub fn difference(output: &[u8], expected: &str, tolerance: f64) -> Option<String> {
    let Ok(output) = std::str::from_utf8(output) else { return Some(String::from("it wrote what is no text")) };
    let (ours, theirs) = (lines(output), lines(expected));
    let differs = ours.iter().zip(&theirs).position(|(a, b)| !same(a, b, tolerance));
    if let Some(at) = differs {
        return Some(format!("line {} of the output is {}, not {}", at + 1, shown(ours[at]), shown(theirs[at])));
    }
    if ours.len() != theirs.len() {
        return Some(format!("the output has {} lines, not {}", ours.len(), theirs.len()));
    }
    None
}

fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim_end).collect()
}

fn same(a: &str, b: &str, tolerance: f64) -> bool {
    if a == b {
        return true;
    }
    let (ours, theirs) = (a.split_whitespace(), b.split_whitespace());
    ours.clone().count() == theirs.clone().count() && ours.zip(theirs).all(|(a, b)| a == b || near(a, b, tolerance))
}

fn near(a: &str, b: &str, tolerance: f64) -> bool {
    let has_fraction = |word: &str| word.contains(['.', 'e', 'E']);
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    if !(has_fraction(a) || has_fraction(b)) || !x.is_finite() || !y.is_finite() {
        return false;
    }
    (x - y).abs() <= tolerance * y.abs().max(1.0)
}

fn shown(line: &str) -> String {
    let mut short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_at_ends_and_rounding_within_the_tolerance_do_not_count() {
        for (output, expected) in [
            ("1\n2\n", "1\n2"),
            ("1  \n2\n\n\n", "1\n2\n"),
            ("0.3333333333", "0.33333333"),
            ("1  2", "1 2"),
            ("2.0", "2"),
            ("1000000.5", "1000000.9"),
            ("", "\n"),
        ] {
            assert_eq!(difference(output.as_bytes(), expected, 1e-6), None, "{output:?}");
        }
    }

    #[test]
    fn what_differs_is_named() {
        for (output, expected) in [
            ("1\n2", "1\n3"),
            ("1", "1\n2"),
            ("1\n2", "1"),
            ("10", "11"),
            ("100000000", "100000001"),
            ("Yes", "YES"),
            ("nan", "nan.0"),
            ("inf", "1.0"),
            ("0.334", "0.333"),
            ("12", "1 2"),
            ("", "0"),
        ] {
            assert!(difference(output.as_bytes(), expected, 1e-6).is_some(), "{output:?} is not {expected:?}");
        }
        let told = difference(b"1\n2", "1\n3", 0.0).unwrap();
        assert!(told.contains("line 2") && told.contains("\"2\"") && told.contains("\"3\""), "{told}");
        assert!(difference(&[0xff], "1", 0.0).unwrap().contains("no text"));
    }
}
