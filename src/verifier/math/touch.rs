//! What touches a box or a formula from outside: a sign that belongs to it, or an operator or factor that makes it a part
//! of something else.

use super::units;

/// How far around a box its formula is looked for.
const WINDOW: usize = 2_048;

/// What stands at an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    /// Nothing that changes it.
    Free,
    /// A minus sign, which begins here.
    Minus(usize),
    /// Something that makes it a part.
    Part,
}

/// What touches the text from `start` to `end`, which is a box, or a formula with its delimiters.
pub fn touch(text: &str, start: usize, end: usize) -> Touch {
    let inside = is_inside(text, start, end);
    let before = super::extract::tail(&text[..start], WINDOW);
    let behind = super::extract::head(&text[end..], WINDOW);
    if changes_behind(behind, inside) {
        return Touch::Part;
    }
    let mut left = without_styles(before);
    if inside {
        left = left.trim_end();
    }
    if let Some(rest) = left.strip_suffix(['-', '−']) {
        let operand = rest.trim_end();
        let operand = operand.ends_with(|c: char| c.is_ascii_digit() || "$)}]".contains(c))
            || inside && operand.ends_with(|c: char| c.is_alphanumeric());
        let alone = rest.is_empty() || rest.ends_with(|c: char| c.is_whitespace() || "=(*:&$[".contains(c));
        return match operand {
            true => Touch::Part,
            false if alone || inside => Touch::Minus(start - before.len() + rest.len()),
            false => Touch::Free,
        };
    }
    if changes_before(left, inside) { Touch::Part } else { Touch::Free }
}

/// A text without the commands of style and the spaces that it ends on.
fn without_styles(text: &str) -> &str {
    const STYLES: [&str; 10] =
        ["\\displaystyle", "\\textstyle", "\\bf", "\\quad", "\\qquad", "\\,", "\\;", "\\!", "\\left(", "\\mathbf{"];
    let mut rest = text;
    while let Some(shorter) = STYLES.iter().find_map(|style| rest.trim_end().strip_suffix(style)) {
        rest = shorter;
    }
    rest
}

fn changes_before(left: &str, inside: bool) -> bool {
    const OPERATORS: [&str; 22] = [
        "\\times", "\\cdot", "\\div", "\\pm", "\\mp", "\\ast", "\\pi", "\\sin", "\\cos", "\\tan", "\\log", "\\ln",
        "\\neq", "\\ne", "\\not", "\\sqrt{", "^{", "\\frac{", "\\dfrac{", "\\tfrac{", "}{", "!",
    ];
    let spaced = left.trim_end();
    let Some(last) = spaced.chars().next_back() else { return false };
    // A mark at the end of a sentence is no factorial.
    let operators = &OPERATORS[..if inside { OPERATORS.len() } else { OPERATORS.len() - 1 }];
    if operators.iter().any(|operator| spaced.ends_with(operator)) || "+^±∓×·÷≠".contains(last) {
        return true;
    }
    let touches = spaced.len() == left.len();
    let word = spaced.len() - spaced.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let command = spaced[..spaced.len() - word].ends_with('\\');
    match last {
        '*' => inside,
        '/' => inside || spaced[..spaced.len() - 1].ends_with(|c: char| c.is_ascii_digit() || ")$".contains(c)),
        '0'..='9' | ')' => inside || touches,
        '}' => inside && is_factor(spaced),
        last if last.is_ascii_alphabetic() => inside && word == 1 && !command,
        _ => false,
    }
}

/// Whether the group that a formula ends on is a number or an argument, and no text.
fn is_factor(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let before = &text[..at];
            return before.ends_with(['^', '_', '}']) || before.ends_with("frac") || before.ends_with("\\sqrt");
        }
    }
    false
}

fn changes_behind(behind: &str, inside: bool) -> bool {
    const OPERATORS: [&str; 16] = [
        "\\times", "\\cdot", "\\div", "\\pm", "\\mp", "\\ast", "\\pi", "\\sin", "\\cos", "\\tan", "\\log", "\\ln",
        "\\sqrt", "\\frac", "\\dfrac", "}{",
    ];
    let spaces = |rest: &'_ str| {
        ["\\,", "\\;", "\\!", "\\ ", " ", "\\right)"].iter().find_map(|s| Some(rest.strip_prefix(s)?.len()))
    };
    let mut next = behind;
    while let Some(length) = spaces(next) {
        next = &next[next.len() - length..];
    }
    let touches = next.len() == behind.len();
    let is_operand = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || "($\\{".contains(c));
    let Some(first) = next.chars().next() else { return false };
    let rest = &next[first.len_utf8()..];
    if OPERATORS.iter().any(|operator| next.starts_with(operator)) || "^±∓×·÷".contains(first) {
        return true;
    }
    let word = next.find(|c: char| !c.is_alphabetic()).unwrap_or(next.len());
    match first {
        '+' => true,
        '-' | '−' => inside && !rest.trim_start().starts_with("\\text") || is_operand(rest.trim_start()),
        '*' => inside || is_operand(rest.trim_start()),
        '/' => is_operand(rest),
        '!' => inside,
        '0'..='9' => inside,
        first if first.is_ascii_lowercase() && word == 1 => (inside || touches) && !units::is_known(&next[..1]),
        _ => false,
    }
}

/// Whether what stands from `start` to `end` is within a formula, whose delimiters are around it.
fn is_inside(text: &str, start: usize, end: usize) -> bool {
    let before = super::extract::tail(&text[..start], WINDOW);
    let before = before.rfind("\n\n").map_or(before, |at| &before[at..]);
    let bytes = before.as_bytes();
    let (mut open, mut at) = (None, 0);
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied().unwrap_or(b'\n');
        let step = match (bytes[at], next) {
            (b'$', b'$') => {
                open = if open.is_some() { None } else { Some("$$") };
                2
            }
            (b'$', _) => {
                open = if open.is_some() { None } else { Some("$") };
                1
            }
            (b'\\', mark) => {
                match mark {
                    b'(' => open = Some("\\)"),
                    b'[' => open = Some("\\]"),
                    b')' | b']' => open = None,
                    _ => {}
                }
                2
            }
            // Mathematics between single dollar signs ends on its line.
            (b'\n', _) if open == Some("$") => {
                open = None;
                1
            }
            _ => 1,
        };
        at += step;
    }
    let Some(close) = open else { return false };
    let behind = super::extract::head(&text[end..], WINDOW);
    let behind = if close == "$" { behind.lines().next().unwrap_or("") } else { behind };
    behind.contains(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_belong_to_an_answer_and_operators_make_it_a_part() {
        for (text, expected) in [
            ("it is #18#", Touch::Free),
            ("**#18#**", Touch::Free),
            ("it is -#18#.", Touch::Minus(6)),
            ("it is - #18#.", Touch::Free),
            ("$x = - #18#$", Touch::Minus(5)),
            ("$x - #18#$", Touch::Part),
            ("$2#18#$", Touch::Part),
            ("#18#^2", Touch::Part),
            ("\\frac{#18#}{2}", Touch::Part),
            ("$#18#\\text{ cm}$", Touch::Free),
        ] {
            let (start, last) = (text.find('#').unwrap(), text.rfind('#').unwrap());
            assert_eq!(touch(text, start, last + 1), expected, "{text}");
        }
    }
}
