//! Tasks without a file: problems that are made by a rule, so that there are as many as one asks for and as hard as one
//! likes. One file a task; each is a function from random choices and a difficulty of 1 to 10 to a problem with its answer.
//!
//! A row is a pure function of the task, the difficulty, the seed, the split and its index. Nothing is stored or kept.
//!
//! The splits are disjoint by construction. Every problem has a key, which is equal for problems that differ only in an
//! order that does not matter, and a hash of the key alone says whether the problem is held out; a row draws problems
//! until one belongs to its split. Seed and difficulty do not enter the hash, so that what is held out under one seed
//! is never trained on under another. Within a split a problem may come twice, mostly where it is easy and few exist.
//!
//! How problems are drawn is part of a set's identity: results are only comparable on the same rows. A change of a task
//! shows in its digest, which `tests.rs` pins.

mod base_conversion;
mod calendar;
mod chain_sums;
mod countdown;
mod gcd_lcm;
mod letter_counting;
mod linear_equations;
mod programs;
mod propositional_logic;
#[cfg(test)]
mod tests;
mod word_sorting;
mod words;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::builtin::PREFIX;
use super::random::{Random, hash, splitmix64};
use super::{DatasetError, Prompt, Row, Split};
use crate::job::digest::hex;

/// The hardest difficulty; the easiest is 1.
pub const MOST_DIFFICULTY: u8 = 10;
/// The most rows to train on that one set can have.
pub const MOST_ROWS: u32 = 1_000_000;
const DEFAULT_DIFFICULTY: u8 = 1;
const DEFAULT_ROWS: u32 = 10_000;
/// One problem in so many is held out, and of each set one row in so many.
const EVAL_SHARE: u32 = 10;
/// Key of the hash that splits the problems.
const SPLIT_KEY: u64 = 0x616e_6e65_616c_0004;
/// Problems drawn for one row before giving up. Nine of ten have the wrong split at worst, and a row fails once in 1e46.
const MOST_DRAWS: u64 = 1000;
/// Rows of each split that enter the digest of a set.
const DIGEST_ROWS: usize = 256;

/// A kind of problem.
#[derive(Debug)]
pub struct Task {
    /// Its name behind `builtin:`.
    pub name: &'static str,
    /// What is asked, in one sentence.
    pub summary: &'static str,
    /// What grows with the difficulty, in one sentence.
    pub difficulty: &'static str,
    form: Form,
    make: fn(&mut Random, u8) -> Problem,
}

/// In which form an answer is given, and so which verifier judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The number that the completion ends on.
    Number,
    /// Text between tags.
    Text,
    /// Words between tags, with or without commas.
    Words,
    /// An expression between tags.
    Expression,
}

/// One problem with its answer.
#[derive(Debug)]
struct Problem {
    prompt: String,
    answer: String,
    /// Equal for problems that may not be in different splits; prompts that are equal have equal keys.
    key: String,
    /// Columns of the row besides the usual ones.
    columns: Vec<(&'static str, Value)>,
}

/// All tasks.
pub const TASKS: &[Task] = &[
    countdown::TASK,
    chain_sums::TASK,
    linear_equations::TASK,
    base_conversion::TASK,
    gcd_lcm::TASK,
    word_sorting::TASK,
    letter_counting::TASK,
    propositional_logic::TASK,
    calendar::TASK,
    programs::TASK,
];

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Task {}

impl Task {
    /// The `verifier` of a spec that judges this task.
    pub fn verifier(&self) -> Value {
        match self.form {
            Form::Number => json!({"type": "numeric"}),
            Form::Text => json!({"type": "exact", "extract": "tag", "ignore_case": true, "ignore_whitespace": true}),
            Form::Words => json!({
                "type": "exact", "extract": "tag", "ignore_case": true, "ignore_whitespace": true,
                "ignore_punctuation": true,
            }),
            Form::Expression => json!({"type": "expression"}),
        }
    }
}

impl Form {
    /// What the prompt says at its end about the answer.
    fn request(self) -> &'static str {
        match self {
            Self::Number => "End with the answer as one number.",
            Self::Text | Self::Words | Self::Expression => "Give the answer between <answer> and </answer>.",
        }
    }

    /// A completion that holds nothing but the answer.
    fn completion(self, answer: &str) -> String {
        match self {
            Self::Number => answer.to_owned(),
            Self::Text | Self::Words | Self::Expression => format!("<answer>{answer}</answer>"),
        }
    }
}

/// The problems of one task of one difficulty under one seed: both splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSet {
    task: &'static Task,
    difficulty: u8,
    seed: u64,
    /// Rows to train on.
    rows: u32,
}

/// Why a name stands for no set of a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    #[error("`{name}` is no built-in data set")]
    UnknownTask { name: String },
    #[error(
        "`{task}` has no parameter `{parameter}`; it has `difficulty`, `seed` and `rows`, as in \
         `{task}?difficulty=3&seed=7`"
    )]
    UnknownParameter { task: &'static str, parameter: String },
    #[error("`{parameter}` of `{task}` stands there twice; say it once")]
    Repeated { task: &'static str, parameter: &'static str },
    #[error("`{parameter}` of `{task}` is `{value}`; it must be a whole number from {low} to {high}")]
    OutOfRange { task: &'static str, parameter: &'static str, value: String, low: u64, high: u64 },
}

impl TaskError {
    /// No task has this name, of which the message repeats the beginning.
    pub fn unknown(name: &str) -> Self {
        Self::UnknownTask { name: beginning(name) }
    }
}

impl TaskSet {
    /// The set that is meant by the name of a task and nothing else.
    pub fn of(task: &'static Task) -> Self {
        Self { task, difficulty: DEFAULT_DIFFICULTY, seed: 0, rows: DEFAULT_ROWS }
    }

    /// Reads `countdown` or `countdown?difficulty=3&seed=7&rows=5000`, what follows `builtin:` in a name. The parameters
    /// may stand in any order.
    pub fn parse(text: &str) -> Result<Self, TaskError> {
        let (name, parameters) = text.split_once('?').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let task = TASKS.iter().find(|task| task.name == name);
        let task = task.ok_or_else(|| TaskError::unknown(&format!("{PREFIX}{name}")))?;
        let mut seen: Vec<&'static str> = Vec::new();
        let mut set = Self::of(task);
        for part in parameters.into_iter().flat_map(|parameters| parameters.split('&')) {
            let (parameter, value) = part.split_once('=').unwrap_or((part, ""));
            let parameter = set.assign(parameter, value)?;
            if seen.contains(&parameter) {
                return Err(TaskError::Repeated { task: task.name, parameter });
            }
            seen.push(parameter);
        }
        Ok(set)
    }

    /// Sets a parameter and returns its name.
    fn assign(&mut self, parameter: &str, value: &str) -> Result<&'static str, TaskError> {
        let task = self.task.name;
        let (parameter, low, high) = match parameter {
            "difficulty" => ("difficulty", 1, u64::from(MOST_DIFFICULTY)),
            "seed" => ("seed", 0, u64::MAX),
            "rows" => ("rows", 1, u64::from(MOST_ROWS)),
            other => return Err(TaskError::UnknownParameter { task, parameter: beginning(other) }),
        };
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse::<u64>().ok().filter(|number| digits && (low..=high).contains(number));
        let outside = || TaskError::OutOfRange { task, parameter, value: beginning(value), low, high };
        let number = number.ok_or_else(outside)?;
        match parameter {
            "difficulty" => self.difficulty = u8::try_from(number).map_err(|_| outside())?,
            "rows" => self.rows = u32::try_from(number).map_err(|_| outside())?,
            _ => self.seed = number,
        }
        Ok(parameter)
    }

    pub fn task(self) -> &'static Task {
        self.task
    }

    /// Rows of a split: the held-out ones are a tenth of those to train on, rounded up.
    pub fn len(self, split: Split) -> usize {
        match split {
            Split::Train => self.rows as usize,
            Split::Eval => self.rows.div_ceil(EVAL_SHARE) as usize,
        }
    }

    /// The hexadecimal SHA-256 of the set: of its name with the parameters and of the first 256 rows of each split, as
    /// JSON lines. Rows are made by rule from what the name says, so that a few of them show whether the rule is the
    /// same. About as long as making three thousand problems, whatever the number of rows.
    pub fn sha256(self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(format!("{self}\n"));
        for split in [Split::Train, Split::Eval] {
            for index in 0..self.len(split).min(DIGEST_ROWS) {
                hasher.update(format!("{}\n", Value::Object(self.fields(split, index).0)));
            }
        }
        hex(&hasher.finalize())
    }

    fn row(self, split: Split, index: usize) -> Result<Row, DatasetError> {
        let rows = self.len(split);
        if index >= rows {
            return Err(DatasetError::IndexOutOfRange { index, rows });
        }
        let (fields, problem) = self.fields(split, index);
        let prompt = fields.get("prompt").and_then(Value::as_str).unwrap_or_default().to_owned();
        let completion = self.task.form.completion(&problem.answer);
        Ok(Row {
            prompt: Prompt::Text(prompt),
            completion: Some(completion),
            answer: Some(problem.answer),
            fields: Arc::new(fields),
        })
    }

    /// The whole row, and the problem that it shows.
    fn fields(self, split: Split, index: usize) -> (Map<String, Value>, Problem) {
        let problem = self.problem(split, index);
        let form = self.task.form;
        let mut fields = Map::new();
        let separator = if problem.prompt.ends_with('\n') { "" } else { " " };
        fields.insert("prompt".into(), format!("{}{separator}{}", problem.prompt, form.request()).into());
        fields.insert("answer".into(), problem.answer.as_str().into());
        fields.insert("completion".into(), form.completion(&problem.answer).into());
        for (column, value) in &problem.columns {
            fields.insert((*column).to_owned(), value.clone());
        }
        fields.insert("difficulty".into(), self.difficulty.into());
        (fields, problem)
    }

    /// The first of the problems drawn for a row that belongs to its split.
    fn problem(self, split: Split, index: usize) -> Problem {
        let row = [hash(self.task.name), u64::from(self.difficulty), self.seed, split as u64, index as u64];
        (0..MOST_DRAWS)
            .map(|draw| {
                let [task, difficulty, seed, split, index] = row;
                (self.task.make)(&mut Random::of(&[task, difficulty, seed, split, index, draw]), self.difficulty)
            })
            .find(|problem| self.split_of(problem) == split)
            .expect("every task has problems of both splits at each difficulty, and one in ten is held out")
    }

    fn split_of(self, problem: &Problem) -> Split {
        let number = splitmix64(SPLIT_KEY ^ hash(self.task.name) ^ hash(&problem.key));
        if number.is_multiple_of(u64::from(EVAL_SHARE)) { Split::Eval } else { Split::Train }
    }
}

/// The name under which specs refer to the set: only what differs from the defaults, always in the same order.
impl fmt::Display for TaskSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::of(self.task);
        write!(f, "{PREFIX}{}", self.task.name)?;
        let parameters = [
            ("difficulty", u64::from(self.difficulty), u64::from(default.difficulty)),
            ("seed", self.seed, default.seed),
            ("rows", u64::from(self.rows), u64::from(default.rows)),
        ];
        let mut separator = '?';
        for (name, value, _) in parameters.into_iter().filter(|(_, value, default)| value != default) {
            write!(f, "{separator}{name}={value}")?;
            separator = '&';
        }
        Ok(())
    }
}

/// One split of a set.
#[derive(Debug)]
pub struct TaskRows {
    set: TaskSet,
    split: Split,
}

impl TaskRows {
    pub fn new(set: TaskSet, split: Split) -> Self {
        Self { set, split }
    }

    pub fn len(&self) -> usize {
        self.set.len(self.split)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row `index`, counted from 0. Makes it anew: draws one problem or two, and ten on average where it is held out.
    pub fn row(&self, index: usize) -> Result<Row, DatasetError> {
        self.set.row(self.split, index)
    }
}

/// As much of a client's text as a message repeats.
fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}
