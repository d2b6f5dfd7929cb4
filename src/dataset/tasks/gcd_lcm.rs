//! Greatest common divisors and least common multiples.

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "gcd-lcm",
    summary: "Find the greatest common divisor or the least common multiple of some numbers.",
    difficulty: "2 numbers up to 3, 3 up to 7, 4 beyond; a common factor up to 20 and other factors up to 30 at 1, both 6 \
                 more for each step",
    form: Form::Number,
    make,
};

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let level = i64::from(difficulty);
    let count = match difficulty {
        0..=3 => 2,
        4..=7 => 3,
        _ => 4,
    };
    // Random numbers seldom have much in common, so that they are given a factor.
    let common = random.between(2, 14 + 6 * level);
    let mut numbers: Vec<i64> = (0..count).map(|_| common * random.between(1, 24 + 6 * level)).collect();
    let (name, answer) = if random.coin() {
        ("greatest common divisor", numbers.iter().copied().fold(0, gcd))
    } else {
        ("least common multiple", numbers.iter().copied().fold(1, |multiple, n| multiple / gcd(multiple, n) * n))
    };
    let listed = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    numbers.sort_unstable();
    Problem {
        prompt: format!("What is the {name} of {listed}?"),
        answer: answer.to_string(),
        key: format!("{name} {numbers:?}"),
        columns: Vec::new(),
    }
}

/// Euclid's; `gcd(0, n)` is n.
fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
