//! A program of the operator's that reads a line of JSON for each case and writes one for each verdict. It is kept alive
//! between cases, so that what it loads is loaded once, and started again, within a bound, when it ends.
//!
//! The configuration names the program; what that is, and how much of the machine it may use, stands in the operator's
//! settings alone.
//!
//! Such verdicts are the program's own. They are stored with the rollouts, which is the only way to see them again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::{self, ScoreRange};
use super::outside::{Deadline, Kept, Outside, Stopped};
use super::{Case, Score, Settings, Verifier};
use crate::job::field::FieldError;

pub const SUMMARY: &str = "A program of the operator's gives the reward: it reads and writes lines of JSON.";

/// Configuration of the `command` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The program, by its name in the operator's settings.
    #[schemars(length(min = 1, max = 64))]
    command: String,
    /// Columns of the row to send; by default the whole row.
    #[serde(default)]
    #[schemars(length(max = 64))]
    columns: Option<Vec<String>>,
    /// The column of the expected answer to send; by default the data set's answer column, if it has one.
    #[serde(default)]
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Sent with every case, for a program that scores in several ways; at most 64 KiB.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// The scores that the program gives, from the lowest to the highest, which become rewards from 0 to 1; by default
    /// its scores are the rewards.
    #[serde(default)]
    score_range: Option<ScoreRange>,
    /// Most cases that a process is given before their verdicts are awaited.
    #[serde(default = "default_batch_size")]
    #[schemars(range(min = 1, max = 256))]
    batch_size: usize,
    /// Seconds one verification may take, which is all cases of its batch, and the start of the program.
    #[serde(default = "default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

fn default_batch_size() -> usize {
    16
}

fn default_time_limit_seconds() -> f64 {
    60.0
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let errors = contract::check(pointer, self.columns.as_deref(), &self.parameters, self.score_range);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        let name = &self.command;
        let refusal = match outside.commands.get(name) {
            None => {
                let known: Vec<&str> = outside.commands.keys().map(String::as_str).collect();
                ("not_enabled", super::outside::unnamed("command", "commands", name, &known))
            }
            Some(program) => match program.check() {
                Ok(()) => return Ok(()),
                Err(detail) => ("not_usable", format!("the command {name}: {detail}")),
            },
        };
        Err(vec![FieldError::new(format!("{pointer}/command"), refusal.0, refusal.1)])
    }

    fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        let kept = outside.commands.get(&self.command).cloned().map(Kept::new);
        Arc::new(Command { config: self.clone(), kept, next: AtomicU64::new(1) })
    }

    fn compares_answer(&self) -> bool {
        self.answer_column.is_some()
    }

    // All of it is handed on.
    fn reads_row(&self) -> bool {
        true
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn columns(&self) -> Vec<(String, String)> {
        contract::columns(self.answer_column.as_deref(), self.columns.as_deref())
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Command {
    config: Config,
    /// None where the operator has no program of this name any more.
    kept: Option<Kept>,
    /// The id of the next case. None is given twice, so that no verdict is taken for that of another case.
    next: AtomicU64,
}

impl Verifier for Command {
    fn verify(&self, case: &Case<'_>) -> Score {
        self.verify_many(std::slice::from_ref(case)).pop().unwrap_or_else(|| Score::error("there is no verdict"))
    }

    fn verify_many(&self, cases: &[Case<'_>]) -> Vec<Score> {
        let Some(kept) = &self.kept else {
            let detail = format!("the operator has no command {} in [verifiers.commands]", self.config.command);
            return vec![Score::error(detail); cases.len()];
        };
        let mut scores: Vec<Option<Score>> = vec![None; cases.len()];
        let (mut input, mut waiting) = (String::new(), HashMap::new());
        for (place, case) in cases.iter().enumerate() {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            match self.line(id, case) {
                Ok(line) => {
                    input.push_str(&line);
                    input.push('\n');
                    waiting.insert(id, place);
                }
                Err(detail) => scores[place] = Some(Score::error(detail)),
            }
        }
        let limit = Duration::from_secs_f64(self.config.time_limit_seconds);
        let rest = if waiting.is_empty() {
            Ok(())
        } else {
            kept.talk(input.as_bytes(), Deadline::before(limit), |line| {
                let (id, answered) = read(line)?;
                let place = waiting.remove(&id).ok_or_else(|| {
                    format!(
                        "it wrote a verdict on id {id}, which is no case that waits for one: {}",
                        super::quote(line)
                    )
                })?;
                scores[place] = Some(contract::verdict(&answered, self.config.score_range));
                Ok(waiting.is_empty())
            })
        };
        let missing = match rest {
            Ok(()) => Score::error("there is no verdict"),
            Err(Stopped::Late) => Score::timeout(limit),
            Err(Stopped::Failed(detail)) => Score::error(format!("the program: {detail}")),
        };
        scores.into_iter().map(|score| score.unwrap_or_else(|| missing.clone())).collect()
    }

    fn batch(&self) -> usize {
        self.config.batch_size
    }

    fn concurrency(&self) -> usize {
        self.kept.as_ref().map_or(1, Kept::processes).max(1)
    }
}

impl Command {
    fn line(&self, id: u64, case: &Case<'_>) -> Result<String, String> {
        let config = &self.config;
        let told = contract::told(case, config.answer_column.as_deref(), config.columns.as_deref())?;
        let mut line = Map::from_iter([(String::from("id"), Value::from(id))]);
        line.extend(told);
        line.insert(String::from("parameters"), Value::Object(config.parameters.clone()));
        Ok(Value::Object(line).to_string())
    }
}

/// The id and the verdict in a line.
fn read(line: &str) -> Result<(u64, Value), String> {
    let advice = "write one verdict a line, and anything else to standard error";
    let wrong =
        |detail: &str| format!("it wrote a line that is no verdict ({detail}); {advice}: {}", super::quote(line));
    let answered = contract::read(line).map_err(|_| wrong("no JSON"))?;
    let id = answered.get("id").and_then(Value::as_u64).ok_or_else(|| wrong("no object with the `id` of a case"))?;
    Ok((id, answered))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier;

    fn outside(script: &str) -> Outside {
        serde_json::from_value(json!({"commands": {"here": {"argv": ["/bin/sh", "-c", script]}}})).unwrap()
    }

    fn built(script: &str, more: Value) -> Arc<dyn Verifier> {
        let mut config = json!({"type": "command", "command": "here"});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (config, outside) = (verifier::Config::parse(&config, "").unwrap(), outside(script));
        config.refused(&outside, "").unwrap();
        config.build(&outside)
    }

    fn scores(verifier: &dyn Verifier, completions: &[&str]) -> Vec<Score> {
        let row = json!({"answer": "4"});
        let case = |completion| Case { prompt: "2+2=", completion, answer: Some("4"), row: row.as_object().unwrap() };
        verifier.verify_many(&completions.iter().map(|completion| case(completion)).collect::<Vec<_>>())
    }

    fn statuses(scores: &[Score]) -> Vec<&'static str> {
        scores.iter().map(|score| score.status.as_str()).collect()
    }

    /// The id of a line, without a program that knows JSON.
    const ID: &str = r#"id=${line#*\"id\":}; id=${id%%,*};"#;

    #[test]
    fn verdicts_find_their_cases_in_whatever_order_they_come() {
        let script = format!(
            r#"while read -r line; do {ID} case $line in *hold*) held=$id;; *) echo "{{\"id\": $id, \"reward\": 0.$id}}";
            [ -n "$held" ] && echo "{{\"id\": $held, \"reward\": 1, \"answer\": \"h\"}}"; held=;; esac; done"#
        );
        let verifier = built(&script, json!({}));
        let expected = [Score::of_answer("h", 1.0), Score::ok(0.2)];
        assert_eq!(scores(verifier.as_ref(), &["hold", "go"]), expected);
        assert_eq!(scores(verifier.as_ref(), &["go"]), [Score::ok(0.3)], "the program was kept");
        assert_eq!((verifier.batch(), verifier.concurrency()), (16, 1));
    }

    #[test]
    fn a_program_that_dies_in_the_middle_costs_the_cases_of_the_moment_and_no_other() {
        let script = format!(
            r#"while read -r line; do {ID} case $line in *die*) echo "cannot go on" >&2; exit 7;; esac;
            echo "{{\"id\": $id, \"reward\": 1}}"; done"#
        );
        let verifier = built(&script, json!({}));
        let middle = scores(verifier.as_ref(), &["a", "die", "b"]);
        assert_eq!(statuses(&middle), ["ok", "error", "error"]);
        let detail = middle[1].detail.as_ref().unwrap();
        assert!(detail.contains("exit status: 7") && detail.contains("cannot go on"), "{detail}");
        assert_eq!(statuses(&scores(verifier.as_ref(), &["a", "b"])), ["ok", "ok"]);
    }

    #[test]
    fn what_is_no_verdict_is_an_error_that_says_what_to_do() {
        for (script, expected) in [
            ("read -r line; echo loading the model; cat", "anything else to standard error"),
            (r#"read -r line; echo '{"reward": 1}'; cat"#, "the `id` of a case"),
            (r#"read -r line; echo '{"id": 99, "reward": 1}'; cat"#, "which is no case that waits"),
            (r#"read -r line; echo '{"id": 1, "reward": NaN}'; cat"#, "NaN"),
            (r#"read -r line; echo '{"id": 1}'; cat"#, "neither `reward`"),
            ("exit 0", "ended in the middle (exit status: 0)"),
        ] {
            let told = scores(built(script, json!({})).as_ref(), &["a"]);
            let detail = told[0].detail.as_ref().unwrap();
            assert!(told[0].status.as_str() == "error" && detail.contains(expected), "{script}: {detail}");
        }
        let silent = scores(built("cat > /dev/null", json!({"time_limit_seconds": 0.5})).as_ref(), &["a", "b"]);
        assert_eq!(statuses(&silent), ["timeout", "timeout"]);
    }

    #[test]
    fn only_programs_that_the_operator_has_named_and_that_are_there_are_run() {
        let config = verifier::Config::parse(&json!({"type": "command", "command": "sh"}), "/v").unwrap();
        let refused = |outside: &Outside| config.refused(outside, "/v").unwrap_err().remove(0);
        let unnamed = refused(&outside("cat"));
        assert_eq!((unnamed.pointer.as_str(), unnamed.code), ("/v/command", "not_enabled"));
        assert!(unnamed.detail.contains("there are: here"), "{unnamed}");
        let absent: Outside = serde_json::from_value(json!({"commands": {"sh": {"argv": ["/absent"]}}})).unwrap();
        assert_eq!(refused(&absent).code, "not_usable");
        assert!(!scores(config.build(&Outside::default()).as_ref(), &["a"])[0].is_scored());
    }
}
