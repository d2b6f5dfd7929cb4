//! Chain sums: several numbers added and subtracted in a row.

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "chain-sums",
    summary: "Add and subtract several numbers in a row.",
    difficulty: "one more than the difficulty terms (2 to 11), of 2 digits up to 3, 3 up to 6, 4 up to 9 and 5 at 10",
    form: Form::Number,
    make,
};

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let digits = 2 + (u32::from(difficulty) - 1) / 3;
    let (low, high) = (10_i64.pow(digits - 1), 10_i64.pow(digits) - 1);
    let first = random.between(low, high);
    let rest: Vec<i64> = (0..difficulty).map(|_| random.signed(low, high)).collect();
    let text: String =
        rest.iter().map(|term| format!(" {} {}", if *term < 0 { '-' } else { '+' }, term.abs())).collect();
    let mut terms = rest;
    terms.push(first);
    let sum: i64 = terms.iter().sum();
    // The same terms in another order are the same problem.
    terms.sort_unstable();
    Problem {
        prompt: format!("What is {first}{text}?"),
        answer: sum.to_string(),
        key: format!("{terms:?}"),
        columns: Vec::new(),
    }
}
