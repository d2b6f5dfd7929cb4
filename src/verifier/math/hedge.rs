//! Words around a number in a sentence that deny it, bound it or compute with it, so that it is not what is stated.

/// How many words before a number are looked at, and how many of them may bound it.
const WINDOW: usize = 6;
const NEAR: usize = 3;

/// Whether the words before `start` and behind `end` leave what stands between them as it is.
pub fn is_stated(text: &str, start: usize, end: usize) -> bool {
    !is_changed_before(&text[..start]) && !is_changed_behind(&text[end..])
}

const DENIED: [&str; 8] = ["not", "never", "nor", "neither", "cannot", "except", "unlike", "without"];

/// Whether a word denies what follows it.
pub fn denies(word: &str) -> bool {
    let word = bare(word);
    DENIED.contains(&&*word) || word.ends_with("n't")
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'")
}

/// Words that bound the number behind them, or compute with it.
const BOUNDS: [&str; 29] = [
    "least",
    "most",
    "than",
    "under",
    "over",
    "above",
    "below",
    "between",
    "exceed",
    "exceeds",
    "exceeding",
    "or",
    "half",
    "third",
    "quarter",
    "twice",
    "double",
    "triple",
    "thrice",
    "root",
    "negative",
    "minus",
    "square",
    "cube",
    "within",
    "maybe",
    "perhaps",
    "possibly",
    "up",
];

/// Whether the clause before a number denies, bounds or computes with it: `not 18`, `at least 3`, `half of 18`.
fn is_changed_before(before: &str) -> bool {
    // What stands before these words does not reach the number.
    const TURNS: [&str; 14] = [
        "is",
        "are",
        "it's",
        "equals",
        "but",
        "so",
        "then",
        "therefore",
        "thus",
        "hence",
        "because",
        "since",
        "which",
        "=",
    ];
    let clause = super::extract::tail(before, 128);
    let clause = clause.rfind([',', '.', ';', ':', '?', '\n']).map_or(clause, |at| &clause[at + 1..]);
    let mut words =
        clause.split_whitespace().rev().filter(|word| word.chars().any(|c| c.is_alphanumeric() || c == '='));
    let mut after_of = false;
    for at in 0..WINDOW {
        let Some(word) = words.next() else { break };
        let word = if word == "=" { String::from("=") } else { bare(word) };
        if TURNS.contains(&&*word) {
            break;
        }
        if denies(&word) || (at < NEAR && BOUNDS.contains(&&*word)) {
            return true;
        }
        if after_of {
            // `a total of 18` is 18, and `one of 18` is not.
            return !is_amount(&word);
        }
        after_of = at == 0 && word == "of";
    }
    after_of
}

/// Whether a word with `of` behind it says how much something is.
fn is_amount(word: &str) -> bool {
    const AMOUNTS: [&str; 26] = [
        "total",
        "value",
        "amount",
        "cost",
        "price",
        "profit",
        "number",
        "length",
        "area",
        "volume",
        "distance",
        "speed",
        "probability",
        "maximum",
        "minimum",
        "average",
        "mean",
        "weight",
        "age",
        "height",
        "width",
        "sum",
        "result",
        "answer",
        "rate",
        "score",
    ];
    AMOUNTS.contains(&word)
}

/// Whether the words behind a number change it: `3 or more`, `18 squared`, `20 tenths`.
fn is_changed_behind(behind: &str) -> bool {
    const CHANGES: [&str; 5] = ["squared", "cubed", "factorial", "modulo", "mod"];
    const LONGEST_CLAUSE: usize = 4;
    let clause = super::extract::head(behind, 128);
    let clause = &clause[..clause.find([',', '.', ';', ':', '?', '(', '\n']).unwrap_or(clause.len())];
    let mut words = clause.split_whitespace().map(bare).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return false };
    let part = [&*first, &*words.clone().next().unwrap_or_default()].join(" ");
    let part = behind.starts_with(' ') && super::units::is_part(part.trim_end());
    part || CHANGES.contains(&&*first)
        || std::iter::once(first).chain(words).take(LONGEST_CLAUSE).any(|word| matches!(&*word, "or" | "nor"))
}

/// The rest of a sentence behind `negative` or `minus`, where it begins so.
pub fn negative(sentence: &str) -> Option<&str> {
    let behind = sentence.strip_prefix("negative ").or_else(|| sentence.strip_prefix("minus "))?;
    behind.starts_with(|c: char| c.is_ascii_digit()).then_some(behind)
}

/// Whether all that stands before an expression only leads to it: no words, an equality sign, or `approximately`.
pub fn leads(before: &str) -> bool {
    const LEADS: [&str; 10] =
        ["approximately", "about", "roughly", "exactly", "simply", "just", "therefore", "thus", "indeed", "then"];
    let before = before.trim_end_matches(['$', '*', '(', ' ']);
    let label = before.strip_suffix(['=', '≈']);
    match label {
        Some(label) => label.split_whitespace().count() <= 2,
        None => before.split_whitespace().map(bare).all(|word| word.is_empty() || LEADS.contains(&&*word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_deny_bound_and_compute() {
        let stated = |text: &str| {
            let at = text.find("18").unwrap();
            is_stated(text, at, at + 2)
        };
        for text in
            ["it is 18", "a total of 18 eggs", "she has not 20 but 18", "it is 18 in 7 days", "20 are not red, so 18"]
        {
            assert!(stated(text), "{text}");
        }
        for text in
            ["it isn't 18", "at least 18", "not equal to 18", "one of 18", "18 eggs or more", "18 squared", "of 18"]
        {
            assert!(!stated(text), "{text}");
        }
    }
}
