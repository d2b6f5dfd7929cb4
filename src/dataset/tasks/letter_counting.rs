//! How often a letter occurs.

use super::words::WORDS;
use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "letter-counting",
    summary: "Count how often a letter occurs in some words.",
    difficulty: "one more word than the difficulty (2 to 11)",
    form: Form::Number,
    make,
};

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let mut words = random.sample(&WORDS, usize::from(difficulty) + 1);
    let text = words.join(" ");
    let letters: Vec<char> = text.chars().filter(char::is_ascii_alphabetic).collect();
    // Mostly one that occurs, because most letters do not.
    let letter = match random.below(10) {
        0 => char::from(b'a' + random.below(26) as u8),
        _ => random.pick(&letters),
    };
    let count = letters.iter().filter(|found| **found == letter).count();
    words.sort_unstable();
    Problem {
        prompt: format!("How many times does the letter \"{letter}\" occur in \"{text}\"?"),
        answer: count.to_string(),
        key: format!("{letter} {}", words.join(" ")),
        columns: Vec::new(),
    }
}
