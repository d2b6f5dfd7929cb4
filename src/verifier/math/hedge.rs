//! Words around a number in a sentence that deny it, bound it or compute with it, so that it is not what is stated.
//!
//! A number is stated unless this is said directly at it: a verb in between, as in `without tax it was 18`, ends what
//! is denied.

use super::{text, units};

/// How many words before a number are looked at, and in how many bytes they are looked for.
const WINDOW: usize = 6;
const WINDOW_BYTES: usize = 128;

/// Whether the words before `start` and behind `end` leave what stands between them as it is.
pub fn is_stated(text: &str, start: usize, end: usize) -> bool {
    let share = text[start..end].contains(['/', '%']) || text[end..].starts_with('%');
    let before = words_before(&text[..start]);
    let behind = words_behind(&text[end..]);
    let is_changed = is_changed_before(&before) || is_changed_behind(&behind, share, text[end..].starts_with(' '));
    !is_changed && !is_half_of_quantity(&before, &behind)
}

const DENIED: [&str; 8] = ["not", "never", "nor", "neither", "cannot", "except", "unlike", "without"];

/// Whether a word denies what follows it.
pub fn denies(word: &str) -> bool {
    let word = bare(word);
    DENIED.contains(&&*word) || word.ends_with("n't")
}

fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '%')).to_lowercase().replace('’', "'")
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || text::number(word).is_some()
}

/// The words of the clause before a number, the nearest first.
fn words_before(before: &str) -> Vec<String> {
    let clause = super::extract::tail(before, WINDOW_BYTES);
    let clause = clause.rfind([',', '.', ';', ':', '?', '\n']).map_or(clause, |at| &clause[at + 1..]);
    let word = |word: &str| if word == "=" { String::from("=") } else { bare(word) };
    clause.split_whitespace().rev().map(word).filter(|word| !word.is_empty()).collect()
}

/// The words of the clause behind a number.
fn words_behind(behind: &str) -> Vec<String> {
    let clause = super::extract::head(behind, WINDOW_BYTES);
    let clause = &clause[..clause.find([',', '.', ';', ':', '?', '(', '\n']).unwrap_or(clause.len())];
    clause.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

/// Words that bound the number directly behind them, or compute with it.
const BOUNDS: [&str; 28] = [
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
    "plus",
    "near",
];

/// Words that with `of` behind them take a part of the number, or compute with it. `A total of 18` is 18.
const TAKE: [&str; 36] = [
    "half",
    "halves",
    "third",
    "thirds",
    "quarter",
    "quarters",
    "fourth",
    "fourths",
    "fifth",
    "fifths",
    "sixth",
    "sixths",
    "eighth",
    "eighths",
    "tenth",
    "tenths",
    "each",
    "some",
    "most",
    "none",
    "out",
    "any",
    "every",
    "percent",
    "root",
    "square",
    "cube",
    "double",
    "multiple",
    "neither",
    "instead",
    "reciprocal",
    "opposite",
    "divisor",
    "log",
    "logarithm",
];

/// Whether the words before a number deny, bound or compute with it: `not 18`, `at least 3`, `half of 18`.
fn is_changed_before(words: &[String]) -> bool {
    // Between a bound and its number.
    const SKIPPED: [&str; 9] = ["a", "an", "the", "of", "about", "approximately", "roughly", "exactly", "only"];
    const COUNTED_UP: [&str; 20] = [
        "add", "adds", "added", "adding", "sum", "sums", "round", "rounds", "rounded", "rounding", "come", "comes",
        "came", "end", "ends", "ended", "wind", "winds", "bring", "brings",
    ];
    let skipped = words.iter().take_while(|word| SKIPPED.contains(&&***word)).take(3).count();
    let of = words[..skipped].iter().any(|word| word == "of");
    let near = &words[skipped..];
    let nearest = near.first().map_or("", String::as_str);
    if of {
        let takes = TAKE.contains(&nearest) || nearest.ends_with('%') || is_number(nearest) || nearest.is_empty();
        return takes || is_denied(words);
    }
    let following = |word: usize| near.get(word).map_or("", String::as_str);
    let bounded = match nearest {
        "times" => !following(1).is_empty(),
        "to" if following(1) == "close" => true,
        "to" => following(1) == "up" && !near.iter().skip(2).take(2).any(|word| COUNTED_UP.contains(&&**word)),
        "from" => following(1) == "different",
        "over" => !matches!(following(1), "left" | "turned" | "took"),
        "and" => near.iter().take(4).any(|word| word == "between"),
        nearest => BOUNDS.contains(&nearest),
    };
    bounded || is_denied(words)
}

/// Whether a denial reaches the number behind these words.
fn is_denied(words: &[String]) -> bool {
    // What stands before these words does not reach the number, unless it denies the word itself.
    const TURNS: [&str; 54] = [
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
        "was",
        "were",
        "has",
        "have",
        "had",
        "would",
        "gets",
        "got",
        "gives",
        "gave",
        "costs",
        "cost",
        "needs",
        "needed",
        "leaves",
        "leaving",
        "left",
        "pays",
        "paid",
        "took",
        "takes",
        "earns",
        "earned",
        "and",
        "makes",
        "made",
        "sells",
        "sold",
        "spends",
        "spent",
        "comes",
        "came",
        "totals",
        "kept",
        "keeps",
        "remain",
        "remains",
        "will",
        "saves",
        "saved",
    ];
    for (at, word) in words.iter().enumerate().take(WINDOW) {
        if denies(word) {
            return true;
        }
        if TURNS.contains(&&**word) {
            return words.get(at + 1).is_some_and(|before| denies(before));
        }
    }
    false
}

/// Whether the words behind a number change it: `3 or more`, `18 squared`, `20 tenths`, `18 is wrong`.
fn is_changed_behind(words: &[String], share: bool, spaced: bool) -> bool {
    const CHANGES: [&str; 8] = ["squared", "cubed", "factorial", "modulo", "mod", "doubled", "halved", "tripled"];
    const LONGEST_CLAUSE: usize = 4;
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let first = word(0);
    let part = spaced && units::is_part([first, word(1)].join(" ").trim_end());
    if part || CHANGES.contains(&first) || is_called_wrong(words) {
        return true;
    }
    // What is computed with it, and a number behind that.
    let by = usize::from(matches!(word(1), "by" | "than"));
    let computes = match first {
        "plus" | "minus" | "times" | "divided" | "multiplied" | "over" | "to" | "through" | "base" | "less"
        | "more" | "fewer" | "greater" | "higher" | "above" | "below" => is_number(word(1 + by)),
        "in" => word(1) == "base",
        "of" => share && is_number(word(1)),
        _ => false,
    };
    let other = |at: usize| {
        let next = word(at + 1);
        matches!(word(at), "or" | "nor")
            && (is_number(next) || matches!(next, "more" | "less" | "fewer" | "greater" | "higher" | "above" | "below"))
    };
    computes || (0..LONGEST_CLAUSE).any(other)
}

/// Whether what follows a number says that it is not the answer.
fn is_called_wrong(words: &[String]) -> bool {
    const VERBS: [&str; 10] = ["is", "isn't", "are", "aren't", "was", "wasn't", "cannot", "can't", "does", "doesn't"];
    const WRONG: [&str; 4] = ["wrong", "incorrect", "false", "impossible"];
    const RIGHT: [&str; 8] = ["the", "correct", "right", "answer", "possible", "valid", "true", "work"];
    const NEAR: usize = 3;
    let Some((verb, rest)) = words.split_first().filter(|(verb, _)| VERBS.contains(&&***verb)) else { return false };
    let near = || rest.iter().take(NEAR);
    let denied = denies(verb) || near().any(|word| denies(word));
    near().any(|word| WRONG.contains(&&**word)) || denied && near().any(|word| RIGHT.contains(&&**word))
}

/// Whether a number is one of two that say how much there is, as in `18 hours 20 minutes`.
fn is_half_of_quantity(before: &[String], behind: &[String]) -> bool {
    let unit = |word: Option<&String>| word.is_some_and(|word| units::is_known(word) && word.len() > 1 && word != "in");
    let number = |word: Option<&String>| word.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let and = |words: &[String], at: usize| usize::from(words.get(at).is_some_and(|word| word == "and"));
    let (from, to) = (and(before, 0), 1 + and(behind, 1));
    let second = unit(before.get(from)) && number(before.get(from + 1));
    let first = number(behind.get(to)) && unit(behind.get(to + 1));
    unit(behind.first()) && (first || second)
}

/// Whether the number behind these words is a negative one: `it is minus 5`, and not `10 minus 5`.
pub fn is_negative(before: &str) -> bool {
    const LEADS: [&str; 9] = ["is", "are", "was", "be", "get", "gives", "equals", "=", "to"];
    let words = words_before(before);
    matches!(words.first().map(String::as_str), Some("negative" | "minus"))
        && words.get(1).is_none_or(|word| LEADS.contains(&&**word))
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
        for text in [
            "it is 18",
            "a total of 18 eggs",
            "she has not 20 but 18",
            "it is 18 in 7 days",
            "20 are not red, so 18",
            "without tax it was 18",
        ] {
            assert!(stated(text), "{text}");
        }
        for text in [
            "it isn't 18",
            "at least 18",
            "not equal to 18",
            "one of 18",
            "18 eggs or more",
            "18 squared",
            "of 18",
            "18 is wrong",
        ] {
            assert!(!stated(text), "{text}");
        }
    }
}
