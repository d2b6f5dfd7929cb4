//! Propositional logic: statements that leave one way for their variables to be true or false.
//!
//! What a statement says is a table of its truth under all assignments, one bit each, so that six variables fit into 64
//! bits and what statements have in common is their `and`.

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "propositional-logic",
    summary: "Find the only truth values of the variables under which all statements hold.",
    difficulty: "3 variables at 1 and 2, then one more for every second step (6 at most); statements that nest once up \
                 to 3, twice up to 7, three times beyond",
    form: Form::Text,
    make,
};

const NAMES: [&str; 6] = ["A", "B", "C", "D", "E", "F"];
/// Statements that are tried before the rest is said plainly.
const MOST_TRIES: usize = 200;

/// A statement over the variables.
struct Statement {
    text: String,
    /// Bit i: whether it holds when variable k is true exactly if bit k of i is set.
    table: u64,
    compound: bool,
}

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let variables = (2 + usize::from(difficulty).div_ceil(2)).min(NAMES.len());
    let depth = match difficulty {
        0..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    let solution = random.below(1 << variables);
    let holds = |table: u64| table >> solution & 1 == 1;
    let mut possible = everything(variables);
    let mut statements: Vec<String> = Vec::new();
    for _ in 0..MOST_TRIES {
        let statement = compound(random, variables, depth);
        let left = possible & statement.table;
        if holds(statement.table) && left != possible {
            possible = left;
            statements.push(statement.text);
        }
        if possible.is_power_of_two() {
            break;
        }
    }
    for variable in 0..variables {
        let positive = solution >> variable & 1 == 1;
        let plain = literal(variable, variables, positive);
        if possible & plain.table != possible {
            possible &= plain.table;
            statements.push(plain.text);
        }
    }
    let names = NAMES[..variables].join(", ");
    let listed = statements.join("; ");
    let answer = (0..variables).map(|k| if solution >> k & 1 == 1 { 'T' } else { 'F' }).collect();
    statements.sort_unstable();
    Problem {
        prompt: format!(
            "Each of {names} is true or false. All of these statements hold: {listed}. Which of the variables are true? \
             Answer with one word of {variables} letters, T for true and F for false, in the order {names}."
        ),
        answer,
        key: statements.join("; "),
        columns: Vec::new(),
    }
}

/// The table of what always holds.
fn everything(variables: usize) -> u64 {
    u64::MAX >> (64 - (1_u32 << variables))
}

/// A variable, or that it is false.
fn literal(variable: usize, variables: usize, positive: bool) -> Statement {
    let assignments = 0..1_u64 << variables;
    let table = assignments.filter(|i| i >> variable & 1 == 1).fold(0, |table, i| table | 1 << i);
    let name = NAMES[variable];
    match positive {
        true => Statement { text: String::from(name), table, compound: false },
        false => Statement { text: format!("not {name}"), table: everything(variables) & !table, compound: true },
    }
}

/// Two statements joined, one of them of the depth below `depth`, which is at least 1.
fn compound(random: &mut Random, variables: usize, depth: usize) -> Statement {
    let (left, right) = if depth == 1 {
        let pair = random.sample(&[0, 1, 2, 3, 4, 5][..variables], 2);
        (literal(pair[0], variables, random.coin()), literal(pair[1], variables, random.coin()))
    } else {
        (compound(random, variables, depth - 1), any(random, variables, depth - 1))
    };
    let (left, right) = if random.coin() { (left, right) } else { (right, left) };
    let (l, r) = (left.table, right.table);
    let (word, table) = match random.below(5) {
        0 => ("and", l & r),
        1 => ("or", l | r),
        2 => ("xor", l ^ r),
        3 => ("implies", !l | r),
        _ => ("iff", !(l ^ r)),
    };
    Statement {
        text: format!("{} {word} {}", operand(&left), operand(&right)),
        table: table & everything(variables),
        compound: true,
    }
}

/// A statement of a depth from 0 to `depth`.
fn any(random: &mut Random, variables: usize, depth: usize) -> Statement {
    match random.below(depth as u64 + 1) as usize {
        0 => literal(random.below(variables as u64) as usize, variables, random.coin()),
        depth => compound(random, variables, depth),
    }
}

fn operand(statement: &Statement) -> String {
    if statement.compound { format!("({})", statement.text) } else { statement.text.clone() }
}
