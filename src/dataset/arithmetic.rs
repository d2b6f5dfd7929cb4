//! `builtin:arithmetic`: every addition and subtraction of two numbers below 100, so that a first job needs no upload.
//!
//! The rows are computed and not stored. Which split a problem belongs to and its place in the split come from the
//! constants below alone; they are part of the data set's identity and must never change, because results of jobs
//! are only comparable on the same rows. `a+b` and `b+a` always share a split: otherwise nine of ten held-out
//! additions would have been seen in training with their operands swapped.
//!
//! `builtin:arithmetic-slips` has the same problems and right answers, but completions as a careless person writes
//! them: every second one is wrong, by a forgotten carry or by one. Whoever imitates them learns to calculate and to
//! slip, which is what a base model is like and what verifiable rewards can mend.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::random::splitmix64;
use super::{DatasetError, Prompt, Row, Split};

/// The name under which jobs refer to this data set.
pub const NAME: &str = "builtin:arithmetic";
/// The same with completions that are wrong half of the time.
pub const SLIPS_NAME: &str = "builtin:arithmetic-slips";

const LARGEST_OPERAND: u8 = 99;
/// Seed of the order of the problems.
const ORDER_SEED: u64 = 0x616e_6e65_616c_0001;
/// Key of the hash that splits the problems.
const SPLIT_KEY: u64 = 0x616e_6e65_616c_0002;
/// Key of the hash that decides on slips.
const SLIP_KEY: u64 = 0x616e_6e65_616c_0003;
/// How often each problem occurs among the rows with slips, each time with a fate of its own.
const SLIP_COPIES: usize = 4;
/// One problem in so many is held out.
const EVAL_SHARE: u64 = 10;

/// One split of the problems, in its fixed order.
#[derive(Debug)]
pub struct Arithmetic {
    problems: &'static [Problem],
    /// Rows per problem; more than one when completions slip.
    copies: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    operation: Operation,
    a: u8,
    b: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Addition,
    Subtraction,
}

impl Arithmetic {
    pub fn new(split: Split) -> Self {
        /// Those to train on and those that are held out.
        static SPLITS: LazyLock<(Vec<Problem>, Vec<Problem>)> = LazyLock::new(|| {
            let mut problems = all_problems();
            shuffle(&mut problems, ORDER_SEED);
            problems.into_iter().partition(|problem| problem.split() == Split::Train)
        });
        let problems = match split {
            Split::Train => &SPLITS.0,
            Split::Eval => &SPLITS.1,
        };
        Self { problems, copies: 1 }
    }

    /// The problems of a split with completions that slip.
    pub fn with_slips(split: Split) -> Self {
        Self { copies: SLIP_COPIES, ..Self::new(split) }
    }

    pub fn len(&self) -> usize {
        self.problems.len() * self.copies
    }

    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub fn row(&self, index: usize) -> Result<Row, DatasetError> {
        let rows = self.len();
        let problem = self.problems.get(index % self.problems.len().max(1)).filter(|_| index < rows);
        let problem = problem.ok_or(DatasetError::IndexOutOfRange { index, rows })?;
        let written = if self.copies > 1 { problem.slip(index as u64) } else { problem.result() };
        Ok(problem.row(written))
    }
}

impl Problem {
    fn split(self) -> Split {
        // Ordered operands, so that both orders of an addition hash alike; a subtraction is ordered anyway.
        let (high, low) = (u64::from(self.a.max(self.b)), u64::from(self.a.min(self.b)));
        let number = ((self.operation as u64) << 16) | (high << 8) | low;
        if splitmix64(SPLIT_KEY ^ splitmix64(number)).is_multiple_of(EVAL_SHARE) { Split::Eval } else { Split::Train }
    }

    fn result(self) -> u8 {
        match self.operation {
            Operation::Addition => self.a + self.b,
            Operation::Subtraction => self.a - self.b,
        }
    }

    /// What a careless person writes in row `index`: in half of the rows the result, in the others one that forgets
    /// the carry, if there is one to forget, or is off by one.
    fn slip(self, index: u64) -> u8 {
        let random = splitmix64(SLIP_KEY ^ splitmix64(index));
        let (result, units) = (self.result(), (self.a % 10, self.b % 10));
        if random & 1 == 0 {
            return result;
        }
        match self.operation {
            Operation::Addition if random & 2 == 0 && units.0 + units.1 >= 10 => result - 10,
            Operation::Subtraction if random & 2 == 0 && units.0 < units.1 => result + 10,
            _ if random & 4 == 0 && result > 0 => result - 1,
            _ => result + 1,
        }
    }

    /// The row of this problem with `written` as its completion.
    fn row(self, written: u8) -> Row {
        let Self { operation, a, b } = self;
        let (sign, name) = match operation {
            Operation::Addition => ('+', "addition"),
            Operation::Subtraction => ('-', "subtraction"),
        };
        let (prompt, answer) = (format!("{a}{sign}{b}="), self.result().to_string());
        let fields: Map<String, Value> =
            [("prompt", prompt.as_str()), ("answer", answer.as_str()), ("operation", name)]
                .map(|(column, text)| (column.to_owned(), Value::from(text)))
                .into_iter()
                .collect();
        Row {
            prompt: Prompt::Text(prompt),
            answer: Some(answer),
            completion: Some(written.to_string()),
            fields: Arc::new(fields),
        }
    }
}

/// Every problem once; differences are never negative.
fn all_problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for a in 0..=LARGEST_OPERAND {
        problems.extend((0..=LARGEST_OPERAND).map(|b| Problem { operation: Operation::Addition, a, b }));
        problems.extend((0..=a).map(|b| Problem { operation: Operation::Subtraction, a, b }));
    }
    problems
}

/// Fisher and Yates. Mapping 64 random bits onto at most 15,050 places by a product is uneven by less than 1e-15.
fn shuffle(problems: &mut [Problem], seed: u64) {
    for last in (1..problems.len()).rev() {
        let random = splitmix64(seed.wrapping_add(last as u64));
        let place = (u128::from(random) * (last as u128 + 1)) >> 64;
        problems.swap(last, place as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut problems: Vec<Problem>) -> Vec<Problem> {
        problems.sort_unstable();
        problems
    }

    fn prompts(split: Split, range: std::ops::Range<usize>) -> Vec<String> {
        let dataset = Arithmetic::new(split);
        range.map(|index| dataset.row(index).unwrap().fields["prompt"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn half_of_the_careless_completions_are_wrong_and_all_answers_right() {
        let (exact, careless) = (Arithmetic::new(Split::Train), Arithmetic::with_slips(Split::Train));
        assert_eq!(careless.len(), exact.len() * SLIP_COPIES);
        let mut wrong = 0;
        for index in 0..careless.len() {
            let (row, right) = (careless.row(index).unwrap(), exact.row(index % exact.len()).unwrap());
            assert_eq!((row.prompt, &row.answer), (right.prompt, &right.answer));
            wrong += usize::from(row.completion != right.answer);
        }
        let share = wrong as f64 / careless.len() as f64;
        assert!((share - 0.5).abs() < 0.01, "{share}");
        assert!(careless.row(careless.len()).is_err());
    }

    #[test]
    fn the_splits_are_disjoint_and_together_are_every_problem_once() {
        let (train, eval) = (Arithmetic::new(Split::Train), Arithmetic::new(Split::Eval));
        let both = [train.problems, eval.problems].concat();
        let all = sorted(all_problems());
        assert_eq!(all.len(), 15_050);
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(sorted(both), all);
        assert!((1_300..1_700).contains(&eval.len()), "{}", eval.len());
    }

    #[test]
    fn an_addition_and_its_swapped_twin_share_a_split() {
        for problem in all_problems().into_iter().filter(|problem| problem.operation == Operation::Addition) {
            let twin = Problem { a: problem.b, b: problem.a, ..problem };
            assert_eq!(problem.split(), twin.split());
        }
    }

    #[test]
    fn the_rows_never_change() {
        // Computed by a separate program from the description at the top.
        assert_eq!(prompts(Split::Train, 0..5), ["57-15=", "36+68=", "85+11=", "74-2=", "85+28="]);
        assert_eq!(prompts(Split::Eval, 0..5), ["58+20=", "55-2=", "97-41=", "24+53=", "60-53="]);
        assert_eq!((Arithmetic::new(Split::Train).len(), Arithmetic::new(Split::Eval).len()), (13_602, 1_448));
    }

    #[test]
    fn every_answer_is_right() {
        for split in [Split::Train, Split::Eval] {
            let dataset = Arithmetic::new(split);
            for index in 0..dataset.len() {
                let row = dataset.row(index).unwrap();
                let Prompt::Text(prompt) = &row.prompt else { panic!("not text") };
                let (numbers, operation) = (prompt.strip_suffix('=').unwrap(), row.fields["operation"].as_str());
                let sign = if operation == Some("addition") { '+' } else { '-' };
                let (a, b) = numbers.split_once(sign).unwrap();
                let (a, b): (i32, i32) = (a.parse().unwrap(), b.parse().unwrap());
                let result = if sign == '+' { a + b } else { a - b };
                assert!(result >= 0);
                assert_eq!(row.answer, Some(result.to_string()));
                assert_eq!(row.completion, row.answer);
                assert_eq!(row.fields["answer"].as_str(), row.answer.as_deref());
            }
        }
    }

    #[test]
    fn an_index_beyond_the_rows_is_an_error() {
        let dataset = Arithmetic::new(Split::Eval);
        assert_eq!(dataset.row(dataset.len()).unwrap_err().code(), "row_index_out_of_range");
    }
}
