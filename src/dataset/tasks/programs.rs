//! Small programs whose output is to be predicted.

use super::{Form, Problem, Task};
use crate::dataset::random::Random;

pub(super) const TASK: Task = Task {
    name: "programs",
    summary: "Say which number a small Python program prints.",
    difficulty: "two variables up to 3 and three beyond, and one more statement than the difficulty after they are set; \
                 conditions from 3 on, loops from 5, conditions and loops in loops from 8",
    form: Form::Number,
    make,
};

const NAMES: [&str; 3] = ["a", "b", "c"];
/// No variable grows beyond.
const LARGEST: i64 = 100_000;
/// Programs that are tried for one that stays small and depends on what it does.
const MOST_TRIES: usize = 64;

/// What an expression is made of.
#[derive(Clone, Copy)]
enum Operand {
    Number(i64),
    Variable(usize),
}

enum Statement {
    /// `target = left sign right`, the sign one of `+`, `-` and `*`.
    Combine {
        target: usize,
        left: Operand,
        sign: char,
        right: Operand,
    },
    /// `target = target % divisor`
    Reduce {
        target: usize,
        divisor: i64,
    },
    If {
        left: usize,
        sign: char,
        right: Operand,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Repeat {
        times: i64,
        body: Vec<Statement>,
    },
}

fn make(random: &mut Random, difficulty: u8) -> Problem {
    let variables = if difficulty <= 3 { 2 } else { 3 };
    let (mut lines, mut value) = (Vec::new(), 0);
    for _ in 0..MOST_TRIES {
        let begin: Vec<i64> = (0..variables).map(|_| random.between(1, 9)).collect();
        let body = block(random, difficulty, usize::from(difficulty) + 1, variables, 0);
        let shown = random.below(variables as u64) as usize;
        let mut values = begin.clone();
        let ran = run(&body, &mut values).is_some();
        let set = begin.iter().enumerate().map(|(variable, value)| format!("{} = {value}", NAMES[variable]));
        let (mut text, before) = (set.collect(), begin[shown]);
        write(&body, 0, &mut text);
        text.push(format!("print({})", NAMES[shown]));
        if ran {
            (lines, value) = (text, values[shown]);
            if value != before {
                break;
            }
        }
    }
    if lines.is_empty() {
        // Only where all programs grew too large, which was never seen.
        value = random.between(1, LARGEST);
        lines = vec![format!("print({value})")];
    }
    let program = lines.join("\n");
    Problem {
        prompt: format!("What does this Python program print?\n\n{program}\n\n"),
        answer: value.to_string(),
        key: program,
        columns: Vec::new(),
    }
}

/// `count` random statements; loops and conditions count as what they hold.
fn block(random: &mut Random, difficulty: u8, count: usize, variables: usize, depth: usize) -> Vec<Statement> {
    let deepest = match difficulty {
        0..=2 => 0,
        3..=7 => 1,
        _ => 2,
    };
    let (mut left, mut statements) = (count, Vec::new());
    while left > 0 {
        // 0 to 2 are plain statements, 3 is a condition, 4 a loop.
        let kinds = if depth >= deepest || left < 2 {
            3
        } else if difficulty < 5 {
            4
        } else {
            5
        };
        let held = 1 + random.below(left.min(3) as u64) as usize;
        statements.push(match random.below(kinds) {
            kind @ 0..=2 => {
                left -= 1;
                plain(random, kind, variables)
            }
            3 => {
                left -= held;
                let then = block(random, difficulty, held, variables, depth + 1);
                let otherwise = if random.coin() { vec![plain(random, 0, variables)] } else { Vec::new() };
                let (variable, sign) = (random.below(variables as u64) as usize, random.pick(&['<', '>']));
                let right = operand(random, variables, Some(variable));
                Statement::If { left: variable, sign, right, then, otherwise }
            }
            _ => {
                left -= held;
                let times = random.between(2, 2 + i64::from(difficulty) / 3);
                Statement::Repeat { times, body: block(random, difficulty, held, variables, depth + 1) }
            }
        });
    }
    statements
}

/// A statement without others in it.
fn plain(random: &mut Random, kind: u64, variables: usize) -> Statement {
    let target = random.below(variables as u64) as usize;
    if kind == 2 {
        return Statement::Reduce { target, divisor: random.between(3, 12) };
    }
    let left = random.below(variables as u64) as usize;
    let right = operand(random, variables, Some(left));
    let sign = random.pick(&['+', '-', '*']);
    Statement::Combine { target, left: Operand::Variable(left), sign, right }
}

/// A small number, or a variable other than `besides`.
fn operand(random: &mut Random, variables: usize, besides: Option<usize>) -> Operand {
    let others: Vec<usize> = (0..variables).filter(|variable| Some(*variable) != besides).collect();
    if random.coin() { Operand::Number(random.between(2, 9)) } else { Operand::Variable(random.pick(&others)) }
}

/// Runs the statements; none where a number grows too large.
fn run(statements: &[Statement], values: &mut [i64]) -> Option<()> {
    let read = |operand: &Operand, values: &[i64]| match operand {
        Operand::Number(number) => *number,
        Operand::Variable(variable) => values[*variable],
    };
    for statement in statements {
        match statement {
            Statement::Combine { target, left, sign, right } => {
                let (left, right) = (read(left, values), read(right, values));
                let value = match sign {
                    '+' => left + right,
                    '-' => left - right,
                    _ => left * right,
                };
                values[*target] = Some(value).filter(|value| value.abs() <= LARGEST)?;
            }
            // Python's remainder has the sign of the divisor, which is positive here.
            Statement::Reduce { target, divisor } => values[*target] = values[*target].rem_euclid(*divisor),
            Statement::If { left, sign, right, then, otherwise } => {
                let (left, right) = (values[*left], read(right, values));
                let holds = if *sign == '<' { left < right } else { left > right };
                run(if holds { then } else { otherwise }, values)?;
            }
            Statement::Repeat { times, body } => (0..*times).try_for_each(|_| run(body, values))?,
        }
    }
    Some(())
}

/// The statements as lines of Python.
fn write(statements: &[Statement], depth: usize, lines: &mut Vec<String>) {
    let indent = "    ".repeat(depth);
    let show = |operand: &Operand| match operand {
        Operand::Number(number) => number.to_string(),
        Operand::Variable(variable) => String::from(NAMES[*variable]),
    };
    for statement in statements {
        match statement {
            Statement::Combine { target, left, sign, right } => {
                lines.push(format!("{indent}{} = {} {sign} {}", NAMES[*target], show(left), show(right)));
            }
            Statement::Reduce { target, divisor } => {
                lines.push(format!("{indent}{name} = {name} % {divisor}", name = NAMES[*target]));
            }
            Statement::If { left, sign, right, then, otherwise } => {
                lines.push(format!("{indent}if {} {sign} {}:", NAMES[*left], show(right)));
                write(then, depth + 1, lines);
                if !otherwise.is_empty() {
                    lines.push(format!("{indent}else:"));
                    write(otherwise, depth + 1, lines);
                }
            }
            Statement::Repeat { times, body } => {
                lines.push(format!("{indent}for i in range({times}):"));
                write(body, depth + 1, lines);
            }
        }
    }
}
