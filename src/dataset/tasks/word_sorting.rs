//! Words in alphabetical order.

use super::words::WORDS;
use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "word-sorting",
    summary: "Put words into alphabetical order, or into its reverse.",
    difficulty: "two more words than the difficulty (3 to 12); also in reverse from 4 on; from 7 on words that mostly \
                 begin with the same few letters",
    form: Form::Words,
    make,
};

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let count = usize::from(difficulty) + 2;
    let from: Vec<&str> = if difficulty >= 7 { neighbours(random) } else { WORDS.to_vec() };
    let words = random.sample(&from, count);
    let reverse = difficulty >= 4 && random.coin();
    let mut sorted = words.clone();
    sorted.sort_unstable();
    let key = sorted.join(" ");
    if reverse {
        sorted.reverse();
    }
    let order = if reverse { "reverse alphabetical" } else { "alphabetical" };
    Problem {
        prompt: format!("Sort these words in {order} order, with spaces between them: {}.", words.join(", ")),
        answer: sorted.join(" "),
        key,
        columns: Vec::new(),
    }
}

/// A run of words that stand together in the dictionary, so that a first letter seldom decides.
fn neighbours(random: &mut Random) -> Vec<&'static str> {
    const RUN: usize = 40;
    let start = random.below((WORDS.len() - RUN + 1) as u64) as usize;
    WORDS[start..start + RUN].to_vec()
}
