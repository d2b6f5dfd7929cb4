//! Built-in data sets by their names: the two of arithmetic, which have no parameters, and those of tasks, which do.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::arithmetic::{self, Arithmetic};
use super::tasks::{TASKS, TaskError, TaskRows, TaskSet};
use super::{Dataset, Split};
use crate::job::digest::hex;

/// What the names of built-in data sets begin with.
pub const PREFIX: &str = "builtin:";

/// A built-in data set. As text, also in JSON, it is its name, such as `builtin:countdown?difficulty=3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinSet {
    Arithmetic,
    /// The same with completions that are wrong half of the time.
    ArithmeticSlips,
    Task(TaskSet),
}

/// Why a name stands for no built-in data set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    #[error("{0}; there are {list}", list = names())]
    Unknown(TaskError),
    #[error("{0}")]
    Parameter(TaskError),
    #[error("`{name}` has no parameters; name it as it is")]
    NoParameters { name: &'static str },
}

impl BuiltinError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown_dataset",
            Self::Parameter(_) | Self::NoParameters { .. } => "invalid_dataset_parameter",
        }
    }
}

impl BuiltinSet {
    /// All of them, those of tasks with the parameters that they have by default.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Arithmetic, Self::ArithmeticSlips]
            .into_iter()
            .chain(TASKS.iter().map(|task| Self::Task(TaskSet::of(task))))
    }

    pub fn open(self, split: Split) -> Dataset {
        match self {
            Self::Arithmetic => Dataset::Arithmetic(Arithmetic::new(split)),
            Self::ArithmeticSlips => Dataset::Arithmetic(Arithmetic::with_slips(split)),
            Self::Task(set) => Dataset::Task(TaskRows::new(set, split)),
        }
    }

    /// What is asked, in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Arithmetic => "Add or subtract two numbers below 100.",
            Self::ArithmeticSlips => "The same problems with completions that are wrong half of the time, for `sft`.",
            Self::Task(set) => set.task().summary,
        }
    }

    /// What grows with the parameter `difficulty`; none where there are no parameters.
    pub fn difficulty(self) -> Option<&'static str> {
        match self {
            Self::Arithmetic | Self::ArithmeticSlips => None,
            Self::Task(set) => Some(set.task().difficulty),
        }
    }

    /// The verifier that judges its completions, as specs write it.
    pub fn verifier(self) -> Value {
        match self {
            Self::Arithmetic | Self::ArithmeticSlips => json!({"type": "numeric"}),
            Self::Task(set) => set.task().verifier(),
        }
    }

    /// The hexadecimal SHA-256 of both splits: of all rows of arithmetic, which is counted once a process, and of a set
    /// of a task as [`TaskSet::sha256`] says.
    pub fn sha256(self) -> String {
        static ARITHMETIC: LazyLock<[String; 2]> =
            LazyLock::new(|| [BuiltinSet::Arithmetic, BuiltinSet::ArithmeticSlips].map(sha256_of_rows));
        match self {
            Self::Arithmetic => ARITHMETIC[0].clone(),
            Self::ArithmeticSlips => ARITHMETIC[1].clone(),
            Self::Task(set) => set.sha256(),
        }
    }
}

fn sha256_of_rows(set: BuiltinSet) -> String {
    let mut hasher = Sha256::new();
    for data in [Split::Train, Split::Eval].map(|split| set.open(split)) {
        for row in (0..data.len()).filter_map(|index| data.row(index).ok()) {
            hasher.update(Value::Object((*row.fields).clone()).to_string());
            hasher.update("\n");
        }
    }
    hex(&hasher.finalize())
}

/// The names of all, for a message.
fn names() -> String {
    BuiltinSet::all().map(|set| format!("`{set}`")).collect::<Vec<_>>().join(", ")
}

impl FromStr for BuiltinSet {
    type Err = BuiltinError;

    fn from_str(text: &str) -> Result<Self, BuiltinError> {
        for (name, set) in [(arithmetic::NAME, Self::Arithmetic), (arithmetic::SLIPS_NAME, Self::ArithmeticSlips)] {
            match text.strip_prefix(name) {
                Some("") => return Ok(set),
                Some(rest) if rest.starts_with('?') => return Err(BuiltinError::NoParameters { name }),
                Some(_) | None => {}
            }
        }
        // Without the prefix it may be the name of a data set of the client's.
        let task = text.strip_prefix(PREFIX).map_or_else(|| Err(TaskError::unknown(text)), TaskSet::parse);
        task.map(Self::Task).map_err(|error| match error {
            TaskError::UnknownTask { .. } => BuiltinError::Unknown(error),
            _ => BuiltinError::Parameter(error),
        })
    }
}

impl fmt::Display for BuiltinSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic => f.write_str(arithmetic::NAME),
            Self::ArithmeticSlips => f.write_str(arithmetic::SLIPS_NAME),
            Self::Task(set) => set.fmt(f),
        }
    }
}

impl Serialize for BuiltinSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BuiltinSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_says_only_what_differs_from_the_defaults() {
        for set in BuiltinSet::all() {
            assert_eq!(set.to_string().parse(), Ok(set));
            assert_eq!(serde_json::from_value::<BuiltinSet>(json!(set)).unwrap(), set);
        }
        for (text, name) in [
            ("builtin:countdown?difficulty=1&seed=0&rows=10000", "builtin:countdown"),
            ("builtin:countdown?rows=5&difficulty=3", "builtin:countdown?difficulty=3&rows=5"),
            ("builtin:programs?seed=18446744073709551615", "builtin:programs?seed=18446744073709551615"),
            ("builtin:gcd-lcm?difficulty=07", "builtin:gcd-lcm?difficulty=7"),
        ] {
            let set: BuiltinSet = text.parse().unwrap();
            assert_eq!(set.to_string(), name);
            assert_eq!(name.parse(), Ok(set));
        }
    }

    #[test]
    fn a_wrong_name_is_refused_and_the_parameter_is_named() {
        for name in
            ["arithmetic", "builtin:", "builtin:arithmetic ", "builtin:Arithmetic", "countdown", "builtin:countdown/3"]
        {
            let error = name.parse::<BuiltinSet>().unwrap_err();
            assert_eq!(error.code(), "unknown_dataset", "{name}");
            assert!(error.to_string().contains("`builtin:word-sorting`"), "{error}");
        }
        for (parameters, named) in [
            ("", "``"),
            ("level=3", "`level`"),
            ("difficulty=0", "`difficulty` of `countdown` is `0`; it must be a whole number from 1 to 10"),
            ("difficulty=11", "`difficulty`"),
            ("difficulty=+3", "`difficulty`"),
            ("difficulty", "`difficulty`"),
            ("seed=-1", "`seed`"),
            ("seed=18446744073709551616", "`seed`"),
            ("seed=1&seed=1", "`seed` of `countdown` stands there twice"),
            ("rows=0", "`rows`"),
            ("rows=1000001", "from 1 to 1000000"),
            ("rows=10&", "``"),
        ] {
            let error = format!("builtin:countdown?{parameters}").parse::<BuiltinSet>().unwrap_err();
            assert_eq!(error.code(), "invalid_dataset_parameter", "{parameters}");
            assert!(error.to_string().contains(named), "{error}");
        }
        let error = "builtin:arithmetic?seed=1".parse::<BuiltinSet>().unwrap_err();
        assert_eq!(error.code(), "invalid_dataset_parameter");
    }

    #[test]
    fn the_digests_of_arithmetic_never_change() {
        // Of all rows, by a separate program; they stand in the provenance of earlier jobs.
        assert_eq!(BuiltinSet::Arithmetic.sha256(), "d8a3ebf9607fca93fc425280de2ad3baa7570dc0409c13b31b4f6008077dc209");
        assert_eq!(
            BuiltinSet::ArithmeticSlips.sha256(),
            "089c0b054e0d11684f976ffded6027765cfb9d76e9858aa51fa112b5b3b762e4"
        );
    }
}
