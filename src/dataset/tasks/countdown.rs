//! Countdown: combine some numbers, each used once, into a target.

use serde_json::json;

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "countdown",
    summary: "Combine the given numbers, each exactly once, into an expression that reaches the target.",
    difficulty: "3 numbers, and one more from 4, 7 and 10 on (6 in all); numbers up to 30 at 1 and 10 more for each \
                 step; plus and minus are enough at 1 and 2",
    form: Form::Expression,
    make,
};

/// Steps of the way to a target stay below.
const LARGEST_STEP: i64 = 10_000;
/// Targets that are tried for one that is a riddle.
const MOST_TRIES: usize = 32;

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let level = i64::from(difficulty);
    let count = 3 + (level - 1) / 3;
    let largest = 20 + 10 * level;
    let operations: &[char] = if level <= 2 { &['+', '-'] } else { &['+', '-', '*', '/'] };
    let mut found = (Vec::new(), 0, String::new());
    for _ in 0..MOST_TRIES {
        let numbers: Vec<i64> = (0..count).map(|_| random.between(1, largest)).collect();
        let (target, expression) = combine(random, &numbers, operations);
        // A target that is given away, or so large that it names its factors, is no riddle.
        let riddle = !numbers.contains(&target) && target <= 100 + 100 * level;
        found = (numbers, target, expression);
        if riddle {
            break;
        }
    }
    let (numbers, target, answer) = found;
    let listed = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    Problem {
        prompt: format!(
            "Use each of the numbers {listed} exactly once, with +, -, *, / and parentheses, to make {target}."
        ),
        answer,
        key: format!("{sorted:?} {target}"),
        columns: vec![("numbers", json!(numbers)), ("target", json!(target))],
    }
}

/// A part of the expression: its value, its text, and whether the text needs parentheses as an operand.
struct Part {
    value: i64,
    text: String,
    compound: bool,
}

impl Part {
    fn operand(&self) -> String {
        if self.compound { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// Joins two of the parts again and again; every step is a positive whole number.
fn combine(random: &mut Random, numbers: &[i64], operations: &[char]) -> (i64, String) {
    let part = |number: &i64| Part { value: *number, text: number.to_string(), compound: false };
    let mut parts: Vec<Part> = numbers.iter().map(part).collect();
    while parts.len() > 1 {
        let one = parts.swap_remove(random.below(parts.len() as u64) as usize);
        let other = parts.swap_remove(random.below(parts.len() as u64) as usize);
        let (high, low) = if one.value >= other.value { (one, other) } else { (other, one) };
        let possible: Vec<(char, i64)> = operations
            .iter()
            .filter_map(|sign| Some((*sign, apply(*sign, high.value, low.value)?)))
            .filter(|(_, value)| (1..=LARGEST_STEP).contains(value))
            .collect();
        // Sums of numbers below 200 stay far below the bound, but a product may be near it.
        let (sign, value) = if possible.is_empty() { ('+', high.value + low.value) } else { random.pick(&possible) };
        parts.push(Part { value, text: format!("{} {sign} {}", high.operand(), low.operand()), compound: true });
    }
    parts.pop().map(|part| (part.value, part.text)).unwrap_or_default()
}

fn apply(sign: char, high: i64, low: i64) -> Option<i64> {
    match sign {
        '+' => Some(high + low),
        '-' => Some(high - low),
        '*' => Some(high * low),
        _ => (low > 1 && high % low == 0).then(|| high / low),
    }
}
