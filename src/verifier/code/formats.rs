//! How rows say what is tested: the forms in which published data sets have it, and a map for others.
//!
//! ```text
//! humaneval      prompt, entry_point, test: a text that defines check(candidate)
//! evalplus       the same with base_input, plus_input and canonical_solution in place of test, or MBPP+ with test
//! mbpp           test_list: assertions; test_imports or test_setup_code before them; code: what they may call
//! livecodebench  public_test_cases, private_test_cases: texts of JSON, the latter also packed; metadata.func_name
//! apps           input_output: a text of JSON with inputs, outputs and perhaps fn_name
//! tests          tests: a text, or a list of texts; setup and entry_point beside it
//! stdio          stdin, stdout: texts, or lists of texts; or tests: a list of objects with both
//! ```

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::outside::sandbox::Tests;
use super::super::quote;
use super::reference;

/// Bytes that packed tests may unpack to.
const MOST_UNPACKED: u64 = 64 << 20;
const MAX_COLUMN_BYTES: usize = 256;

/// How rows say what is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// By the columns that a row has.
    Auto,
    /// `tests` in Python, with `setup` and `entry_point`.
    Tests,
    /// `stdin` and the `stdout` that it is to give.
    Stdio,
    /// HumanEval: `prompt`, `test`, `entry_point`.
    HumanEval,
    /// HumanEval+ and MBPP+ as EvalPlus has them.
    EvalPlus,
    /// MBPP: `test_list`, with what comes before it.
    Mbpp,
    /// LiveCodeBench: `public_test_cases` and `private_test_cases`.
    LiveCodeBench,
    /// APPS: `input_output`.
    Apps,
}

/// Columns under other names than the format has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Columns {
    /// The tests, whatever the format calls them.
    #[schemars(length(min = 1, max = MAX_COLUMN_BYTES))]
    tests: Option<String>,
    /// What comes before the tests.
    #[schemars(length(min = 1, max = MAX_COLUMN_BYTES))]
    setup: Option<String>,
    /// The name that the tests call.
    #[schemars(length(min = 1, max = MAX_COLUMN_BYTES))]
    entry_point: Option<String>,
    /// The beginning of the program, which a completion may go on.
    #[schemars(length(min = 1, max = MAX_COLUMN_BYTES))]
    prompt: Option<String>,
    /// Inputs of the program.
    #[schemars(length(min = 1, max = MAX_COLUMN_BYTES))]
    stdin: Option<String>,
    /// Outputs that they are to give.
    #[schemars(length(min = 1, max = MAX_COLUMN_BYTES))]
    stdout: Option<String>,
}

impl Columns {
    /// Those that are named, each behind its field.
    pub fn named(&self) -> Vec<(String, String)> {
        let fields = [
            ("tests", &self.tests),
            ("setup", &self.setup),
            ("entry_point", &self.entry_point),
            ("prompt", &self.prompt),
            ("stdin", &self.stdin),
            ("stdout", &self.stdout),
        ];
        let named = |(field, column): (&str, &Option<String>)| Some((format!("columns.{field}"), column.clone()?));
        fields.into_iter().filter_map(named).collect()
    }
}

/// What a program has to do.
#[derive(Clone, Debug)]
pub struct Task {
    pub checks: Checks,
    /// The prompt that a completion may go on, and the name that it defines.
    pub continues: Option<(String, String)>,
    /// What the format's own harness puts before programs, which were written with it.
    pub before: &'static str,
}

/// How it is checked.
#[derive(Clone, Debug)]
pub enum Checks {
    Tests(Tests),
    /// Inputs with their outputs.
    Outputs(Vec<(String, String)>),
}

/// Reads a row. An error is a sentence about the row.
pub fn read(format: Format, columns: &Columns, row: &Map<String, Value>) -> Result<Task, String> {
    let row = Row { columns, row };
    let task = row.task(format)?;
    let is_empty = match &task.checks {
        Checks::Outputs(pairs) => pairs.is_empty(),
        Checks::Tests(tests) => match &tests.tests {
            Ok(text) => text.trim().is_empty(),
            Err(list) => list.is_empty(),
        },
    };
    if is_empty {
        return Err(String::from("no_tests: the row's tests are empty: leave the row out"));
    }
    Ok(task)
}

struct Row<'a> {
    columns: &'a Columns,
    row: &'a Map<String, Value>,
}

impl<'a> Row<'a> {
    fn task(&self, format: Format) -> Result<Task, String> {
        match format {
            Format::Auto => self.task(self.format()?),
            Format::Tests => self.tests(),
            Format::Stdio => Ok(outputs(self.pairs()?)),
            Format::HumanEval => self.human_eval(),
            Format::EvalPlus if self.row.contains_key("base_input") => self.eval_plus(),
            Format::EvalPlus if self.row.contains_key("test_list") => self.mbpp("test"),
            Format::EvalPlus => self.human_eval(),
            Format::Mbpp => self.mbpp("test_list"),
            Format::LiveCodeBench => self.live_code_bench(),
            Format::Apps => self.apps(),
        }
    }

    fn format(&self) -> Result<Format, String> {
        let has = |name: &str| self.row.get(name).is_some_and(|value| !value.is_null());
        let listed_objects = |value: &Value| value.as_array().is_some_and(|list| list.iter().any(Value::is_object));
        let tests = self.row.get(self.columns.tests.as_deref().unwrap_or("tests")).filter(|value| !value.is_null());
        Ok(match tests {
            Some(tests) if listed_objects(tests) => Format::Stdio,
            Some(_) => Format::Tests,
            None if has("base_input") || (has("test") && has("test_list")) => Format::EvalPlus,
            None if has("test") && has("entry_point") => Format::HumanEval,
            None if has("test_list") => Format::Mbpp,
            None if has("public_test_cases") => Format::LiveCodeBench,
            None if has("input_output") => Format::Apps,
            None if has(self.columns.stdout.as_deref().unwrap_or("stdout")) => Format::Stdio,
            None => {
                let known =
                    "tests, test and entry_point, test_list, public_test_cases, input_output or stdin and stdout";
                return Err(format!("no_tests: the row has none of the columns {known}: name its own in `columns`"));
            }
        })
    }

    fn value(&self, named: &'a Option<String>, usual: &'a str) -> Option<(&'a str, &'a Value)> {
        let name = named.as_deref().unwrap_or(usual);
        self.row.get(name).filter(|value| !value.is_null()).map(|value| (name, value))
    }

    fn text(&self, named: &'a Option<String>, usual: &'a str) -> Result<Option<&'a str>, String> {
        match self.value(named, usual) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, _)) => Err(format!("column {} holds no text", quote(name))),
        }
    }

    fn needed(&self, named: &'a Option<String>, usual: &'a str) -> Result<&'a str, String> {
        self.text(named, usual)?.ok_or_else(|| missing(named.as_deref().unwrap_or(usual)))
    }

    /// A list that is one, or a text of JSON that holds one.
    fn json(&self, named: &'a Option<String>, usual: &'a str) -> Result<Value, String> {
        let (name, value) = self.value(named, usual).ok_or_else(|| missing(named.as_deref().unwrap_or(usual)))?;
        match value {
            Value::String(text) => {
                serde_json::from_str(text).map_err(|error| format!("column {} is no JSON: {error}", quote(name)))
            }
            other => Ok(other.clone()),
        }
    }

    fn tests(&self) -> Result<Task, String> {
        let (name, value) = self.value(&self.columns.tests, "tests").ok_or_else(|| missing("tests"))?;
        let tests = match value {
            Value::String(text) => Ok(text.clone()),
            Value::Array(list) => Err(texts(name, list)?),
            _ => return Err(format!("column {} is neither a text nor a list of texts", quote(name))),
        };
        let entry_point = self.text(&self.columns.entry_point, "entry_point")?.map(entry_point);
        let setup = self.text(&self.columns.setup, "setup")?.unwrap_or_default().to_owned();
        // A prompt is the beginning of a program only where it is said to be.
        let prompt = self.columns.prompt.as_ref().map(|_| self.needed(&self.columns.prompt, "prompt")).transpose()?;
        let continues = prompt.zip(entry_point.as_deref()).map(|(prompt, name)| (prompt.to_owned(), first_name(name)));
        let names = entry_point.iter().map(|name| first_name(name)).collect();
        // Without an entry point the tests may call whatever the program defines.
        // A method of `Solution` is what such sites ask for.
        let is_method = entry_point.as_deref().is_some_and(|name| name.starts_with("Solution."));
        let before = if is_method { IMPORTS } else { "" };
        Ok(Task { checks: Checks::Tests(self.called(setup, tests, entry_point, names)), continues, before })
    }

    /// Tests that call the program, with what the row shows of one: its prompt, its reference, and code to begin with.
    fn called(
        &self,
        setup: String,
        tests: Result<String, Vec<String>>,
        entry_point: Option<String>,
        names: Vec<String>,
    ) -> Tests {
        let text = |column: &str| self.row.get(column).and_then(Value::as_str).unwrap_or_default();
        let prompt = self.columns.prompt.as_deref().unwrap_or("prompt");
        let shown = [text(prompt), text("starter_code"), text("code")].join("\n");
        let shown = format!("{shown}\n{}", reference::of(self.row).unwrap_or_default());
        // Structures that programs are given stand in comments.
        let classes = defined(&shown, "class ").chain(defined(&shown, "# class ")).collect();
        let functions = defined(&shown, "def ").chain(defined(&shown, "async def ")).collect();
        Tests { setup, tests, entry_point, names, classes, functions }
    }

    fn human_eval(&self) -> Result<Task, String> {
        let prompt = self.needed(&self.columns.prompt, "prompt")?;
        let entry = entry_point(self.needed(&self.columns.entry_point, "entry_point")?);
        let tests = Ok(self.needed(&self.columns.tests, "test")?.to_owned());
        let mut names = definitions(prompt);
        names.push(first_name(&entry));
        let tests = self.called(String::new(), tests, Some(entry.clone()), names);
        Ok(Task { checks: Checks::Tests(tests), continues: Some((prompt.to_owned(), first_name(&entry))), before: "" })
    }

    fn eval_plus(&self) -> Result<Task, String> {
        let prompt = self.needed(&self.columns.prompt, "prompt")?;
        let entry = entry_point(self.needed(&self.columns.entry_point, "entry_point")?);
        let reference = format!("{prompt}{}", self.needed(&None, "canonical_solution")?);
        let mut inputs = Vec::new();
        for column in ["base_input", "plus_input"] {
            if let Some((_, value)) = self.value(&None, column) {
                let list = if value.is_array() { value.clone() } else { self.json(&None, column)? };
                inputs.extend(list.as_array().cloned().ok_or_else(|| format!("column `{column}` holds no list"))?);
            }
        }
        // Floats are compared with a tolerance also where the row names none, as EvalPlus does.
        let tolerance = self.row.get("atol").and_then(Value::as_f64).filter(|atol| *atol > 0.0).unwrap_or(TOLERANCE);
        let setup = format!(
            "{SAME}{REFERENCE}_inputs = json.loads({})\n_reference = _defined({}, {})\n",
            literal(&Value::Array(inputs.clone()).to_string()),
            literal(&reference),
            literal(&entry),
        );
        let test = |number| {
            let given = format!("*copy.deepcopy(_inputs[{number}])");
            format!("_wanted = _expected({number})\nassert _same(candidate({given}), _wanted, {tolerance:e})")
        };
        let mut names = definitions(prompt);
        names.push(first_name(&entry));
        let tests = Err((0..inputs.len()).map(test).collect());
        let tests = self.called(setup, tests, Some(entry.clone()), names);
        Ok(Task { checks: Checks::Tests(tests), continues: Some((prompt.to_owned(), first_name(&entry))), before: "" })
    }

    fn mbpp(&self, tests: &'static str) -> Result<Task, String> {
        let (name, value) = self.value(&self.columns.tests, tests).ok_or_else(|| missing(tests))?;
        let tests = match value {
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Array(list)) => Err(texts(name, &list)?),
                _ => Ok(text.clone()),
            },
            Value::Array(list) => Err(texts(name, list)?),
            _ => return Err(format!("column {} holds no list of tests", quote(name))),
        };
        let mut setup = self.text(&self.columns.setup, "test_setup_code")?.unwrap_or_default().to_owned();
        match self.row.get("test_imports") {
            Some(Value::Array(list)) => setup = format!("{}\n{setup}", texts("test_imports", list)?.join("\n")),
            Some(Value::String(text)) => setup = format!("{text}\n{setup}"),
            _ => {}
        }
        // What the reference defines is what programs are asked for.
        let code = self.text(&None, "code")?.unwrap_or_default();
        let names = definitions(code).into_iter().chain(assigned(code)).collect();
        Ok(Task { checks: Checks::Tests(self.called(setup, tests, None, names)), continues: None, before: "" })
    }

    fn live_code_bench(&self) -> Result<Task, String> {
        let mut cases = self.json(&self.columns.tests, "public_test_cases")?;
        if let Some((_, value)) = self.value(&None, "private_test_cases") {
            let more = match value {
                Value::String(text) => unpacked(text)?,
                other => other.clone(),
            };
            let (Value::Array(cases), Value::Array(more)) = (&mut cases, more) else {
                return Err(String::from("broken_tests: public_test_cases or private_test_cases holds no list"));
            };
            cases.extend(more);
        }
        let cases = cases.as_array().ok_or("public_test_cases holds no list")?;
        let field = |case: &Value, name: &str| {
            let text = case[name].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("broken_tests: a case of the row has no text `{name}`"))
        };
        let pairs = cases.iter().map(|case| Ok((field(case, "input")?, field(case, "output")?)));
        let pairs: Vec<(String, String)> = pairs.collect::<Result<_, String>>()?;
        if cases.iter().all(|case| case["testtype"] != "functional") {
            return Ok(outputs(pairs));
        }
        let metadata = self.json(&None, "metadata")?;
        let name = metadata["func_name"].as_str().ok_or("metadata names no func_name")?;
        let mut calls = Vec::new();
        for (input, output) in pairs {
            // Only looked at: numbers that are too long for a float stay as they are written.
            let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            if !input.lines().chain([output.as_str()]).all(is_json) {
                return Err(String::from("broken_tests: a case of the row has an input or an output that is no JSON"));
            }
            calls.push(format!("[[{}],{output}]", input.lines().collect::<Vec<_>>().join(",")));
        }
        let list = format!("json.loads({})", literal(&format!("[{}]", calls.join(","))));
        Ok(functional(name, calls.len(), &list, "_same"))
    }

    fn apps(&self) -> Result<Task, String> {
        let cases = self.json(&self.columns.tests, "input_output")?;
        let list = |name: &str| cases[name].as_array().ok_or_else(|| format!("input_output has no list `{name}`"));
        let (inputs, expected) = (list("inputs")?, list("outputs")?);
        if inputs.len() != expected.len() {
            return Err(format!("the row has {} inputs and {} outputs", inputs.len(), expected.len()));
        }
        let pairs = inputs.iter().zip(expected);
        match cases["fn_name"].as_str() {
            None => Ok(outputs(pairs.map(|(input, output)| (lines(input), lines(output))).collect())),
            Some(name) => {
                let text = match self.value(&self.columns.tests, "input_output") {
                    Some((_, Value::String(text))) => text.clone(),
                    _ => cases.to_string(),
                };
                let calls = format!(
                    "[[i, o] for d in [json.loads({})] for i, o in zip(d['inputs'], d['outputs'])]",
                    literal(&text)
                );
                Ok(functional(name, inputs.len(), &calls, "_same_or_first"))
            }
        }
    }

    fn pairs(&self) -> Result<Vec<(String, String)>, String> {
        if let Some((name, Value::Array(cases))) = self.value(&self.columns.tests, "tests") {
            let text = |case: &Value, names: [&str; 2]| {
                let found = names.iter().find_map(|name| case.get(name).and_then(Value::as_str));
                found.map(str::to_owned).ok_or_else(|| format!("a case of {} has no `{}`", quote(name), names[0]))
            };
            let pair = |case| Ok((text(case, ["stdin", "input"])?, text(case, ["stdout", "output"])?));
            return cases.iter().map(pair).collect();
        }
        let (_, expected) = self.value(&self.columns.stdout, "stdout").ok_or_else(|| missing("stdout"))?;
        let inputs = self.value(&self.columns.stdin, "stdin").map_or(&Value::Null, |(_, value)| value);
        match (inputs, expected) {
            (Value::Array(inputs), Value::Array(outputs)) if inputs.len() == outputs.len() => {
                Ok(inputs.iter().zip(outputs).map(|(input, output)| (lines(input), lines(output))).collect())
            }
            (Value::Array(_), _) | (_, Value::Array(_)) => {
                Err(String::from("the row has not as many inputs as outputs"))
            }
            (input, output) => Ok(vec![(lines(input), lines(output))]),
        }
    }
}

/// How far floats may be off in tests that are made here.
const TOLERANCE: f64 = 1e-6;

/// Helpers of the tests that are made here.
const SAME: &str = "import copy, json, math
def _same(a, b, tolerance):
    if isinstance(a, tuple): a = list(a)
    if isinstance(b, tuple): b = list(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k], tolerance) for k in b)
    if isinstance(b, float) and isinstance(a, (int, float)):
        return a == b or math.isclose(a, b, rel_tol=max(tolerance, 1e-7), abs_tol=tolerance)
    return a == b
def _same_or_first(a, b, tolerance):
    # A result may stand in a list of its own.
    return _same(a, b, tolerance) or type(b) is list and len(b) == 1 and _same(a, b[0], tolerance)
";

/// What sites that ask for functions import for them. Of names that the language has too, its own stay.
const IMPORTS: &str = "from typing import *
from math import *
del pow
from bisect import *
from collections import *
from copy import *
from functools import *
from heapq import *
from itertools import *
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys, typing
";

/// What a reference gives, whose own failure is none of the program's.
const REFERENCE: &str = "def _blamed(call):
    try:
        return call()
    except Exception as error:
        raise _Broken('the reference of the row raises %s: %s' % (type(error).__name__, error)) from None
def _defined(text, name):
    names = {}
    _blamed(lambda: exec(text, names))
    return _blamed(lambda: names[name])
def _expected(number):
    return _blamed(lambda: _reference(*copy.deepcopy(_inputs[number])))
";

/// Calls with their results, as tests. `calls` is what Python makes the list of both from, and `same` compares them.
fn functional(name: &str, count: usize, calls: &str, same: &str) -> Task {
    let tests = (0..count).map(|number| {
        format!("assert {same}(candidate(*copy.deepcopy(_calls[{number}][0])), _calls[{number}][1], {TOLERANCE:e})")
    });
    let setup = format!("{SAME}_calls = {calls}\n");
    let names = vec![String::from("Solution"), name.to_owned()];
    let entry_point = Some(format!("Solution.{name}"));
    let (classes, functions) = (vec![String::from("Solution")], Vec::new());
    let tests = Tests { setup, tests: Err(tests.collect()), entry_point, names, classes, functions };
    Task { checks: Checks::Tests(tests), continues: None, before: IMPORTS }
}

fn outputs(pairs: Vec<(String, String)>) -> Task {
    Task { checks: Checks::Outputs(pairs), continues: None, before: "" }
}

fn missing(column: &str) -> String {
    format!("no_tests: the row has no value in column {}", quote(column))
}

fn texts(column: &str, list: &[Value]) -> Result<Vec<String>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    list.iter()
        .map(text)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("column {} holds what is no text", quote(column)))
}

/// A text, or a list of its lines.
fn lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(lines).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A text as Python writes it; a string of JSON is one of Python.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// The names of functions and classes that begin a line.
fn definitions(text: &str) -> Vec<String> {
    defined(text, "def ").chain(defined(text, "class ")).collect()
}

/// The names that begin a line and are given a value in it.
fn assigned(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim_end();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        (is_name && !value.starts_with('=')).then(|| name.to_owned())
    })
}

/// The names behind a keyword that begins a line.
fn defined(text: &str, keyword: &'static str) -> impl Iterator<Item = String> {
    let name = move |line: &str| {
        let rest = line.strip_prefix(keyword)?.trim_start();
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (!name.is_empty()).then_some(name)
    };
    text.lines().filter_map(name)
}

/// `Solution().f` is `Solution.f`: a method of an object that is made for it.
fn entry_point(text: &str) -> String {
    text.replacen("().", ".", 1)
}

fn first_name(entry_point: &str) -> String {
    entry_point.split('.').next().unwrap_or_default().to_owned()
}

/// Tests that are packed: base64 of zlib of a pickled text of JSON, or the JSON itself.
fn unpacked(text: &str) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let wrong = "private_test_cases is neither JSON nor packed JSON";
    let packed = STANDARD.decode(text.trim()).map_err(|_| wrong)?;
    let mut pickled = Vec::new();
    let mut unpacking = ZlibDecoder::new(packed.as_slice()).take(MOST_UNPACKED + 1);
    unpacking.read_to_end(&mut pickled).map_err(|_| wrong)?;
    if pickled.len() as u64 > MOST_UNPACKED {
        return Err(format!("private_test_cases unpacks to more than {MOST_UNPACKED} bytes"));
    }
    pickled_text(&pickled).and_then(|json| serde_json::from_slice(json).ok()).ok_or_else(|| wrong.to_owned())
}

/// The text of a pickle that is nothing but one: protocol, perhaps a frame, and an opcode with a length.
fn pickled_text(bytes: &[u8]) -> Option<&[u8]> {
    const PROTOCOL: u8 = 0x80;
    const FRAME: u8 = 0x95;
    let rest = bytes.strip_prefix(&[PROTOCOL]).and_then(|rest| rest.get(1..))?;
    let rest = if rest.first() == Some(&FRAME) { rest.get(9..)? } else { rest };
    let width = match rest.first()? {
        0x8c => 1,
        b'X' => 4,
        0x8d => 8,
        _ => return None,
    };
    let mut length = [0; 8];
    length[..width].copy_from_slice(rest.get(1..=width)?);
    let end = usize::try_from(u64::from_le_bytes(length)).ok()?.checked_add(1 + width)?;
    rest.get(1 + width..end)
}
