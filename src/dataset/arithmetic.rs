//! `builtin:arithmetic`: every addition and subtraction of two numbers below 100, so that a first job needs no upload.
//!
//! The rows are computed and not stored. Which split a problem belongs to and its place in the split come from the
//! constants below alone; they are part of the data set's identity and must never change, because results of jobs
//! are only comparable on the same rows. `a+b` and `b+a` always share a split: otherwise nine of ten held-out
//! additions would have been seen in training with their operands swapped.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{DatasetError, Prompt, Row, Split};

/// The name under which jobs refer to this data set.
pub const NAME: &str = "builtin:arithmetic";

const LARGEST_OPERAND: u8 = 99;
/// Seed of the order of the problems.
const ORDER_SEED: u64 = 0x616e_6e65_616c_0001;
/// Key of the hash that splits the problems.
const SPLIT_KEY: u64 = 0x616e_6e65_616c_0002;
/// One problem in so many is held out.
const EVAL_SHARE: u64 = 10;

/// One split of the problems, in its fixed order.
#[derive(Debug)]
pub struct Arithmetic {
    problems: Vec<Problem>,
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
        let mut problems = all_problems();
        shuffle(&mut problems, ORDER_SEED);
        problems.retain(|problem| problem.split() == split);
        Self { problems }
    }

    pub fn len(&self) -> usize {
        self.problems.len()
    }

    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub fn row(&self, index: usize) -> Result<Row, DatasetError> {
        let rows = self.problems.len();
        self.problems.get(index).map(|problem| problem.row()).ok_or(DatasetError::IndexOutOfRange { index, rows })
    }
}

impl Problem {
    fn split(self) -> Split {
        // Ordered operands, so that both orders of an addition hash alike; a subtraction is ordered anyway.
        let (high, low) = (u64::from(self.a.max(self.b)), u64::from(self.a.min(self.b)));
        let number = ((self.operation as u64) << 16) | (high << 8) | low;
        if splitmix64(SPLIT_KEY ^ splitmix64(number)).is_multiple_of(EVAL_SHARE) { Split::Eval } else { Split::Train }
    }

    fn row(self) -> Row {
        let Self { operation, a, b } = self;
        let (sign, name, result) = match operation {
            Operation::Addition => ('+', "addition", a + b),
            Operation::Subtraction => ('-', "subtraction", a - b),
        };
        let (prompt, answer) = (format!("{a}{sign}{b}="), result.to_string());
        let fields: Map<String, Value> =
            [("prompt", prompt.as_str()), ("answer", answer.as_str()), ("operation", name)]
                .map(|(column, text)| (column.to_owned(), Value::from(text)))
                .into_iter()
                .collect();
        Row {
            prompt: Prompt::Text(prompt),
            answer: Some(answer.clone()),
            completion: Some(answer),
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

/// Output of SplitMix64 at state `state` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014); as a function of a counter it is a good mixing function of 64 bits.
fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
    fn the_splits_are_disjoint_and_together_are_every_problem_once() {
        let (train, eval) = (Arithmetic::new(Split::Train), Arithmetic::new(Split::Eval));
        let mut both = train.problems.clone();
        both.extend(&eval.problems);
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
    fn splitmix64_agrees_with_its_published_outputs() {
        // The first outputs of the reference implementation seeded with 1234567.
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        let outputs = [0_u64, 1, 2].map(|step| splitmix64(golden.wrapping_mul(step).wrapping_add(1_234_567)));
        assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
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
