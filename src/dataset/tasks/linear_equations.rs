//! Linear equations in one unknown or two, with a whole number as their solution.

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "linear-equations",
    summary: "Solve a linear equation, or two in two unknowns, for x, which is a whole number.",
    difficulty: "x on one side up to 3, on both up to 6, with parentheses up to 8, two equations in x and y beyond; \
                 coefficients up to 5 and x up to 20 at 1, 2 and 10 more for each step",
    form: Form::Number,
    make,
};

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let level = i64::from(difficulty);
    let (largest, range) = (3 + 2 * level, 10 + 10 * level);
    let x = random.between(-range, range);
    let mut equations = match difficulty {
        0..=3 => vec![one_side(random, x, largest)],
        4..=6 => vec![both_sides(random, x, largest)],
        7..=8 => vec![parentheses(random, x, largest)],
        _ => two_unknowns(random, x, largest),
    };
    let given = equations.join(" and ");
    equations.sort_unstable();
    Problem {
        prompt: format!("Solve {given} for x. What is x?"),
        answer: x.to_string(),
        key: equations.join(" and "),
        columns: Vec::new(),
    }
}

/// `ax + b = c`
fn one_side(random: &mut Random, x: i64, largest: i64) -> String {
    let (a, b) = (random.signed(2, largest), random.signed(1, 10 * largest));
    format!("{} = {}", sum(&[(a, "x"), (b, "")]), a * x + b)
}

/// `ax + b = cx + d`
fn both_sides(random: &mut Random, x: i64, largest: i64) -> String {
    let (a, b) = (random.signed(2, largest), random.signed(1, 10 * largest));
    let c = other_than(a, random.signed(1, largest));
    format!("{} = {}", sum(&[(a, "x"), (b, "")]), sum(&[(c, "x"), ((a - c) * x + b, "")]))
}

/// `a(bx + c) + d = ex + f`
fn parentheses(random: &mut Random, x: i64, largest: i64) -> String {
    let (a, b) = (random.signed(2, largest), random.signed(1, largest));
    let (c, d) = (random.signed(1, 2 * largest), random.signed(1, 10 * largest));
    let e = other_than(a * b, random.signed(1, largest));
    let right = a * (b * x + c) + d - e * x;
    let outer = format!("({})", sum(&[(b, "x"), (c, "")]));
    format!("{} = {}", sum(&[(a, &outer), (d, "")]), sum(&[(e, "x"), (right, "")]))
}

/// `ax + by = c` and `dx + ey = f`
fn two_unknowns(random: &mut Random, x: i64, largest: i64) -> Vec<String> {
    let y = random.signed(1, 5 + 2 * largest);
    let (a, b) = (random.signed(1, largest), random.signed(1, largest));
    let d = random.signed(1, largest);
    // The determinant a*e - b*d must not vanish; with a next e it changes by a.
    let e = random.signed(1, largest);
    let e = if a * e == b * d { e + e.signum() } else { e };
    let equation = |a: i64, b: i64| format!("{} = {}", sum(&[(a, "x"), (b, "y")]), a * x + b * y);
    vec![equation(a, b), equation(d, e)]
}

/// `number`, or the next one away from 0 where it is `forbidden`.
fn other_than(forbidden: i64, number: i64) -> i64 {
    if number == forbidden { number + number.signum() } else { number }
}

/// Terms as people write them: `3x - 5`, `-x + 2y`. Terms of coefficient 0 are left out.
fn sum(terms: &[(i64, &str)]) -> String {
    let mut text = String::new();
    for (coefficient, of) in terms.iter().filter(|(coefficient, _)| *coefficient != 0) {
        match (text.is_empty(), *coefficient < 0) {
            (true, true) => text.push('-'),
            (true, false) => {}
            (false, true) => text.push_str(" - "),
            (false, false) => text.push_str(" + "),
        }
        if coefficient.abs() != 1 || of.is_empty() {
            text.push_str(&coefficient.abs().to_string());
        }
        text.push_str(of);
    }
    if text.is_empty() { String::from("0") } else { text }
}
