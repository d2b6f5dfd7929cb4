//! Numbers in other bases.

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "base-conversion",
    summary: "Write a number of one base in another, with the digits 0 to 9 and a to f.",
    difficulty: "numbers below 2^13 at 1 and four times as many for each step; bases 2 and 10 up to 2, also 8 and 16 up \
                 to 5, and any from 2 to 16 beyond",
    form: Form::Text,
    make,
};

fn make(random: &mut Random, difficulty: u8) -> Problem {
    const ALL: [u32; 15] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    let bases: &[u32] = match difficulty {
        0..=2 => &[2, 10],
        3..=5 => &[2, 8, 10, 16],
        _ => &ALL,
    };
    let number = 16 + random.below((1 << (11 + 2 * u32::from(difficulty))) - 16);
    let pair = random.sample(bases, 2);
    let (from, to) = (pair[0], pair[1]);
    let (shown, answer) = (digits(number, from), digits(number, to));
    Problem {
        prompt: format!("The number {shown} is written in base {from}. Write it in base {to}."),
        answer,
        // Both ways between two bases, and all pairs of bases, are the same fact.
        key: number.to_string(),
        columns: Vec::new(),
    }
}

/// A number above 0 in a base from 2 to 16.
fn digits(number: u64, base: u32) -> String {
    let (mut rest, mut digits) = (number, Vec::new());
    while rest > 0 {
        digits.extend(char::from_digit((rest % u64::from(base)) as u32, base));
        rest /= u64::from(base);
    }
    digits.iter().rev().collect()
}
