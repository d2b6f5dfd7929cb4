//! Programs: the completion is one, and the row says how it is tested.
//!
//! A row has either tests in Python, which call what the program defines, or inputs with the outputs that they are to give.
//! Outputs are compared here, so that the program never has them; tests run in a process of their own, which reaches the
//! program through a pipe of plain values (`outside/sandbox/bridge.py` says what that cannot defend). Everything that
//! touches the system is in [`super::outside::sandbox`].

mod formats;
mod outputs;
mod program;
mod reference;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::outside::sandbox::{self, Budget, Sandbox, TestResult, Verdict};
use super::{Case, Outside, Part, Score, Settings, Verifier};
use crate::job::field::FieldError;
pub use formats::Format;
use formats::{Checks, Columns, Task};

/// Of a verdict's time, what programs may use; the rest is for making a room and for a busy machine.
const FOR_PROGRAMS: f64 = 0.75;
const MAX_LANGUAGE_BYTES: usize = 64;

pub const SUMMARY: &str = "The completion is a program that passes the row's tests, run in a sandbox.";

/// Configuration of the `code` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The language of programs: `python`, or one that the server's operator lists.
    #[schemars(length(min = 1, max = MAX_LANGUAGE_BYTES))]
    language: String,
    /// How rows say what is tested.
    format: Format,
    /// Columns under other names than the format has them.
    columns: Columns,
    /// What of the tests counts.
    reward: Reward,
    /// Seconds of wall-clock time that one test may take.
    #[schemars(range(min = 0.05, max = 120.0))]
    test_seconds: f64,
    /// The most tests of a row that are run; the first ones.
    #[schemars(range(min = 1, max = 1000))]
    most_tests: usize,
    /// How far numbers with a fraction may lie from expected ones, absolutely or relative to them.
    #[schemars(range(min = 0.0, max = 1.0))]
    float_tolerance: f64,
    /// Seconds one verification may take; three quarters of it are for the programs.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

/// What of the tests counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reward {
    /// 1 if all pass and 0 otherwise; the first that fails is the last that runs.
    All,
    /// The share of those that pass.
    Fraction,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            language: String::from(sandbox::PYTHON),
            format: Format::Auto,
            columns: Columns::default(),
            reward: Reward::All,
            test_seconds: 5.0,
            most_tests: 100,
            float_tolerance: 1e-6,
            time_limit_seconds: 30.0,
        }
    }
}

impl Settings for Config {
    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        let Some(missing) = sandbox::missing(outside, &self.language) else { return Ok(()) };
        let field = match missing {
            sandbox::Missing::Language(..) => "language",
            sandbox::Missing::Disabled | sandbox::Missing::Unavailable(_) => "type",
        };
        Err(vec![FieldError::new(format!("{pointer}/{field}"), missing.code(), missing.to_string())])
    }

    fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        let sandbox = Sandbox::new(outside, &self.language).map_err(|missing| missing.to_string());
        Arc::new(Code { config: self.clone(), sandbox })
    }

    fn runs_code(&self) -> bool {
        true
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        self.columns.named()
    }

    // The tests stand in it, in columns that the format names.
    fn reads_row(&self) -> bool {
        true
    }

    fn reference(&self, row: &Map<String, Value>) -> Option<String> {
        (self.language == sandbox::PYTHON).then(|| reference::of(row))?
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Code {
    config: Config,
    /// Why there is none, if what was there at the submission is gone.
    sandbox: Result<Sandbox, String>,
}

impl Verifier for Code {
    fn verify(&self, case: &Case<'_>) -> Score {
        let sandbox = match &self.sandbox {
            Ok(sandbox) => sandbox,
            Err(missing) => return Score::error(missing.clone()),
        };
        let task = match formats::read(self.config.format, &self.config.columns, case.row) {
            Ok(task) => task,
            Err(detail) => return Score::error(detail),
        };
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::unparsable(detail);
        }
        let Some(program) = program::of(case.completion, &task, &self.config.language) else {
            return Score::unparsable("the completion holds no program");
        };
        self.judge(sandbox, &program, task).unwrap_or_else(Score::error)
    }

    fn concurrency(&self) -> usize {
        sandbox::lanes()
    }
}

impl Code {
    fn budget(&self) -> Budget {
        let all = Duration::from_secs_f64(self.config.time_limit_seconds * FOR_PROGRAMS);
        let test = Duration::from_secs_f64(self.config.test_seconds).min(all);
        Budget { test, all, stop: self.config.reward == Reward::All, most: self.config.most_tests }
    }

    /// An error is one of the sandbox or of the row, and no verdict on the program.
    fn judge(&self, sandbox: &Sandbox, program: &str, task: Task) -> Result<Score, String> {
        let pairs = match task.checks {
            Checks::Outputs(pairs) => pairs,
            Checks::Tests(_) if self.config.language != sandbox::PYTHON => {
                return Err(format!(
                    "the row has tests in Python, and the programs are in `{}`: use rows with inputs and outputs",
                    self.config.language
                ));
            }
            Checks::Tests(tests) => {
                return match sandbox.test(program, &tests, &self.budget())? {
                    Verdict::Judged { count: 0, .. } => Err(String::from("no_tests: the row's tests are empty")),
                    Verdict::Judged { count, results } => Ok(self.score(count, &results)),
                    Verdict::Unloadable(why) => Ok(Score::ok(0.0).because(format!("no test ran: {why}"))),
                    Verdict::Broken(why) => Err(broken(&why)),
                };
            }
        };
        let count = pairs.len().min(self.config.most_tests);
        let inputs: Vec<&str> = pairs.iter().take(count).map(|(input, _)| input.as_str()).collect();
        let mut results = Vec::new();
        sandbox.run(program, &inputs, &self.budget(), |number, run| {
            let why = match run {
                Err(why) => Some(why),
                Ok(run) => run
                    .fault
                    .or_else(|| outputs::difference(&run.stdout, &pairs[number].1, self.config.float_tolerance)),
            };
            let passed = why.is_none();
            results.push(TestResult { passed, why });
            !passed && self.config.reward == Reward::All
        })?;
        Ok(self.score(count, &results))
    }

    fn score(&self, count: usize, results: &[TestResult]) -> Score {
        let passed = results.iter().filter(|result| result.passed).count();
        let reward = match self.config.reward {
            Reward::All => f64::from(u8::from(passed == count)),
            Reward::Fraction => passed as f64 / count.max(1) as f64,
        };
        let part = |(number, result): (usize, &TestResult)| {
            let score = Score::ok(f64::from(u8::from(result.passed)));
            let score = match &result.why {
                Some(why) => score.because(why.clone()),
                None => score.because("it passed"),
            };
            Part { name: format!("test_{}", number + 1), score }
        };
        let parts: Vec<Part> = results.iter().enumerate().map(part).collect();
        let first = parts.iter().find(|part| part.score.reward == 0.0);
        let reason = first.map_or_else(String::new, |part| {
            format!("; {}: {}", part.name, part.score.detail.as_deref().unwrap_or_default())
        });
        Score::ok(reward).because(format!("{passed} of {count} tests passed{reason}")).with_parts(parts)
    }
}

/// Tests that cannot run, with what to do about it.
fn broken(why: &str) -> String {
    if why.starts_with("ModuleNotFoundError") {
        return format!(
            "missing_module: the row's tests import what is not there ({why}): have [verifiers.languages.python] name an \
             interpreter that has it, or leave such rows out"
        );
    }
    format!("broken_tests: the row's tests cannot run ({why}): correct the row")
}

#[cfg(test)]
mod tests;
