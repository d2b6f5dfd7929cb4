//! Rows of every format through the sandbox itself, and what goes wrong with rows and programs.

use serde_json::{Value, json};

use super::*;
use crate::verifier::{self, ScoreStatus};

fn verifier(config: Value) -> Arc<dyn Verifier> {
    let languages = json!({"c": {"compile": ["/usr/bin/gcc", "-O1", "-o", "program", "main.c"], "argv": ["/work/program"],
                                  "file": "main.c", "paths": ["/usr"]}});
    let outside: Outside = serde_json::from_value(json!({"code": true, "languages": languages})).unwrap();
    let config = verifier::Config::parse(&config, "/verifier").unwrap();
    config.refused(&outside, "/verifier").expect("bubblewrap and user namespaces are needed");
    config.build(&outside)
}

fn score(config: Value, program: &str, row: &Value) -> Score {
    let case = Case { prompt: "", completion: program, answer: None, row: row.as_object().unwrap() };
    verifier(config).verify(&case)
}

/// The reward of a right and of a wrong program for a row, and the same where the share counts.
fn told_apart(row: &Value, right: &str, wrong: &str) {
    for reward in ["all", "fraction"] {
        let config = json!({"type": "code", "reward": reward});
        let good = score(config.clone(), right, row);
        assert_eq!((good.status, good.reward), (ScoreStatus::Ok, 1.0), "{good:?}");
        let bad = score(config, wrong, row);
        assert_eq!(bad.status, ScoreStatus::Ok, "{bad:?}");
        assert!(bad.reward < 1.0, "{bad:?}");
    }
}

#[test]
fn rows_of_published_formats_are_recognised() {
    let (right, wrong) = ("    return [v for v in xs if v > t]\n", "    return xs\n");
    let prompt = "from typing import List\n\n\ndef above(xs: List[int], t: int) -> List[int]:\n    \"\"\" Those above t. \"\"\"\n";
    let test = "METADATA = {}\n\ndef check(candidate):\n    assert candidate([1, 5], 2) == [5]\n    assert candidate([], 1) == []\n";
    let human_eval = json!({"task_id": "HumanEval/0", "prompt": prompt, "canonical_solution": right, "test": test,
                            "entry_point": "above"});
    told_apart(&human_eval, right, wrong);
    told_apart(
        &human_eval,
        &format!("```python\ndef above(xs: List[int], t):\n{right}```"),
        "```\ndef above(xs, t): return 1\n```",
    );

    let mut plus = human_eval.clone();
    plus["base_input"] = json!([[[1, 5], 2]]);
    plus["plus_input"] = json!([[[], 0], [[3, 3], 2]]);
    plus["atol"] = json!(0);
    told_apart(&plus, right, wrong);

    let mbpp = json!({"task_id": 2, "text": "Sum.", "code": "def sum(a, b):\n  return a + b", "test_setup_code": "",
                      "test_list": ["assert sum(1, 2) == 3", "assert sum((1,), (2,)) == (1, 2)"]});
    told_apart(&mbpp, "def sum(a, b):\n    return a + b", "def sum(a, b):\n    return 3");
    let plus = json!({"code": "def f(x):\n  return x", "prompt": "The same.", "test_imports": ["import math"],
                      "test_list": ["assert f(1) == 1"], "test": "assert f(1) == 1\nassert math.isclose(f(0.1), 0.1)\n"});
    told_apart(&plus, "def f(x): return x", "def f(x): return 1");

    let double = "n = int(input())\nprint(2 * n)";
    let public = r#"[{"input": "2\n", "output": "4\n", "testtype": "stdin"}]"#;
    // base64 of zlib of a pickle, as the data set has it, of: [{"input": "3", "output": "6", "testtype": "stdin"}]
    let private = "eJxrYJlqwQABPSbR1UqZeQWlJUpWCkrGSjoKSvmlJVCuGYhbklpcUlJZkAoSKC5JycxTqo2dogcAOskSsA==";
    let bench = json!({"question_content": "Double.", "public_test_cases": public,
                       "private_test_cases": private});
    told_apart(&bench, double, "print(4)");
    let public =
        r#"[{"input": "[1, 2]\n3", "output": "[1, 2, 100000000000000000000000000003]", "testtype": "functional"}]"#;
    let bench =
        json!({"public_test_cases": public, "private_test_cases": "[]", "metadata": r#"{"func_name": "join"}"#});
    let join = |by| format!("class Solution:\n    def join(self, xs, y):\n        return xs + [y + {by}]");
    told_apart(&bench, &join("10 ** 29"), &join("0"));

    let apps =
        json!({"question": "Double.", "input_output": r#"{"inputs": ["2\n", ["3"]], "outputs": ["4\n", ["6"]]}"#});
    told_apart(&apps, double, "print(4)");
    let apps = json!({"input_output": r#"{"fn_name": "twice", "inputs": [[2], [3]], "outputs": [[4], 6]}"#});
    told_apart(&apps, "def twice(n): return 2 * n", "def twice(n): return 4");
}

#[derive(serde::Deserialize)]
struct Listed {
    name: String,
    row: Value,
    right: String,
    wrong: Option<String>,
    /// The code of the error that both get, where the row cannot be judged.
    told: Option<String>,
}

#[test]
fn listed_rows_tell_right_from_wrong_or_say_that_they_cannot() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/code_rows.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    // One room each, for all rows.
    let (all, fraction) = (verifier(json!({"type": "code"})), verifier(json!({"type": "code", "reward": "fraction"})));
    for line in text.lines() {
        let Listed { name, row, right, wrong, told } = serde_json::from_str(line).unwrap();
        for verifier in [&all, &fraction] {
            let of = |program: &str| {
                verifier.verify(&Case { prompt: "", completion: program, answer: None, row: row.as_object().unwrap() })
            };
            let good = of(&right);
            if let Some(told) = &told {
                for score in [good, of(wrong.as_deref().unwrap_or(&right))] {
                    assert_eq!(score.status, ScoreStatus::Error, "{name}: {score:?}");
                    assert!(score.detail.as_ref().unwrap().starts_with(told.as_str()), "{name}: {score:?}");
                }
                continue;
            }
            assert_eq!((good.status, good.reward), (ScoreStatus::Ok, 1.0), "{name}: {good:?}");
            if let Some(wrong) = &wrong {
                let bad = of(wrong);
                assert_eq!(bad.status, ScoreStatus::Ok, "{name}: {bad:?}");
                assert!(bad.reward < 1.0, "{name}: {bad:?}");
            }
        }
    }
}

#[test]
fn rows_of_other_names_are_mapped() {
    told_apart(&json!({"stdin": ["1", "2"], "stdout": ["1\n", "2\n"]}), "print(input())", "print(1)");
    told_apart(&json!({"tests": [{"input": "1", "output": "1"}]}), "print(input())", "print(2)");
    told_apart(
        &json!({"tests": "def test_a():\n    assert f(1) == 1\n\ndef test_b():\n    assert f(2) == 2\n"}),
        "def f(x): return x",
        "def f(x): return 1",
    );
    let unit = "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 1)\n    \
                def test_b(self):\n        with self.assertRaises(ValueError): f(-1)\nif __name__ == '__main__': unittest.main()\n";
    told_apart(
        &json!({"tests": unit}),
        "def f(x):\n    if x < 0: raise ValueError('no')\n    return x",
        "def f(x): return x",
    );
    let columns = json!({"tests": "checks", "entry_point": "name", "prompt": "begin"});
    let config = json!({"type": "code", "format": "tests", "columns": columns});
    let row = json!({"begin": "def f(x):\n", "name": "f", "checks": "assert candidate(2) == 4"});
    assert_eq!(score(config, "    return 2 * x", &row).reward, 1.0);
}

#[test]
fn values_of_all_kinds_cross_between_tests_and_program() {
    let program = "from collections import Counter, deque, OrderedDict, defaultdict\nfrom fractions import Fraction\nimport decimal\n\
                   def same(x): return x\ndef push(xs): xs.append(1)\ndef count(n):\n    yield from range(n)\n\
                   def call(f, x): return f(x) + 1\ndef half(x): return Fraction(x, 2)\n\
                   class Point:\n    def __init__(self, x): self.x = x\n    def __add__(self, other): return Point(self.x + other.x)\n    \
                   def __eq__(self, other): return self.x == other.x\n";
    let tests = json!([
        "assert same([1, (2, 'a'), {3: {4}}, None, True, 1.5, b'x', 1j, 10 ** 40]) == [1, (2, 'a'), {3: {4}}, None, True, 1.5, b'x', 1j, 10 ** 40]",
        "assert type(same((1,))) is tuple and type(same([1])) is list",
        "import math\nassert math.isnan(same(float('nan')))",
        "xs = []\npush(xs)\nassert xs == [1]",
        "xs = [1]\nassert same(xs) is xs",
        "assert list(count(3)) == [0, 1, 2]",
        "assert call(lambda x: 2 * x, 3) == 7",
        "from fractions import Fraction\nassert half(3) == Fraction(3, 2)",
        "assert (Point(1) + Point(2)).x == 3",
        "assert Point(1) + Point(2) == Point(3)",
        "from collections import Counter, deque\nassert same(Counter('aab')) == Counter('aab') and same(deque([1])) == deque([1])",
        "assert sum(same([1, 2])) == 3 and isinstance(Point(1), Point)",
    ]);
    let score = score(json!({"type": "code", "reward": "fraction"}), program, &json!({"tests": tests}));
    assert_eq!(score.reward, 1.0, "{:#?}", score.parts);
    assert_eq!((score.parts.len(), score.parts[11].name.as_str()), (12, "test_12"));
}

#[test]
fn a_test_that_ends_the_program_or_takes_too_long_costs_only_itself() {
    let program = "import os, time\ndef f(x):\n    if x == 1: os._exit(0)\n    if x == 2: time.sleep(9)\n    if x == 3: raise KeyError(x)\n    return x";
    let tests: Vec<String> = (0..5).map(|x| format!("assert f({x}) == {x}")).collect();
    let config = json!({"type": "code", "reward": "fraction", "test_seconds": 0.5});
    let judged = score(config, program, &json!({"tests": tests}));
    let passed: Vec<f64> = judged.parts.iter().map(|part| part.score.reward).collect();
    assert_eq!((judged.reward, passed), (0.4, vec![1.0, 0.0, 0.0, 0.0, 1.0]), "{judged:?}");
    for (part, told) in judged.parts[1..4].iter().zip(["ended in the middle", "within 0.5 s", "KeyError"]) {
        assert!(part.score.detail.as_ref().unwrap().contains(told), "{part:?}");
    }
    let all = score(json!({"type": "code"}), program, &json!({"tests": tests}));
    assert_eq!((all.reward, all.parts.len()), (0.0, 2), "the first failure is the last that runs: {all:?}");
}

#[test]
fn tests_that_cannot_run_are_no_verdict_on_the_program() {
    let right = "def f(x): return x";
    for (tests, told) in [
        ("import no_such_module\nassert f(1) == 1", "missing_module"),
        ("from no_such_module import thing\nassert f(1) == 1", "missing_module"),
        ("assert f(1) ==", "broken_tests"),
        ("def check(candidate):\n    assert candidate(1) == 1", "broken_tests"),
        ("", "empty"),
    ] {
        let judged = score(json!({"type": "code"}), right, &json!({"tests": tests}));
        assert_eq!(judged.status, ScoreStatus::Error, "{tests:?}: {judged:?}");
        assert!(judged.detail.as_ref().unwrap().contains(told), "{judged:?}");
    }
    for row in
        [json!({}), json!({"tests": 3}), json!({"input_output": "no JSON"}), json!({"stdin": ["1"], "stdout": "1"})]
    {
        assert_eq!(score(json!({"type": "code"}), right, &row).status, ScoreStatus::Error, "{row}");
    }
    // What the program lacks is its own fault.
    for program in
        ["import no_such_module", "def g(x): return x", "def f(x): import no_such_module", "def f(:", "1 / 0"]
    {
        let judged = score(json!({"type": "code"}), program, &json!({"tests": "assert f(1) == 1"}));
        assert_eq!((judged.status, judged.reward), (ScoreStatus::Ok, 0.0), "{program}: {judged:?}");
    }
    let long = "raise type('E' * 3_000_000, (Exception,), {})";
    for program in [long.to_owned(), format!("def f(x): {long}")] {
        let judged = score(json!({"type": "code"}), &program, &json!({"tests": "assert f(1) == 1"}));
        assert!(judged.reward == 0.0 && judged.detail.as_ref().unwrap().len() < 1000, "{judged:?}");
    }
    assert_eq!(score(json!({"type": "code"}), "", &json!({"tests": "assert 1"})).status, ScoreStatus::Unparsable);
}

#[test]
fn a_listed_language_is_compiled_and_run() {
    let row = json!({"stdin": ["1 2", "3 4"], "stdout": ["3", "7"]});
    let config = json!({"type": "code", "language": "c", "reward": "fraction"});
    let program =
        "#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\\n\", a + b); }\n";
    let right = score(config.clone(), program, &row);
    assert_eq!(right.reward, 1.0, "{right:?}");
    let wrong = score(config.clone(), &program.replace("a + b", "3"), &row);
    assert_eq!(wrong.reward, 0.5, "{wrong:?}");
    let broken = score(config.clone(), "int main(void) {", &row);
    assert!(broken.reward == 0.0 && broken.detail.as_ref().unwrap().contains("does not compile"), "{broken:?}");
    let leaves = "#include <stdio.h>\nint main(void) { FILE *f = fopen(\"left\", \"r\"); puts(f ? \"found\" : \"new\");\n\
                  f = fopen(\"left\", \"w\"); return f ? fclose(f) : 1; }\n";
    let runs = score(config.clone(), leaves, &json!({"stdin": ["", ""], "stdout": ["new", "new"]}));
    assert_eq!(runs.reward, 1.0, "every run has a work directory of its own: {runs:?}");
    let bomb = "static const int a[1 << 27] = {[0 ... (1 << 27) - 1] = 1};\nint main(void) { return a[5]; }\n";
    let limited = json!({"type": "code", "language": "c", "time_limit_seconds": 2.0});
    let began = std::time::Instant::now();
    let late = score(limited, bomb, &row);
    assert_eq!((late.status, late.reward), (ScoreStatus::Ok, 0.0), "{late:?}");
    assert!(began.elapsed().as_secs() < 20, "a compiler has no more time than all programs: {:?}", began.elapsed());
    assert_eq!(score(config, program, &json!({"tests": "assert 1"})).status, ScoreStatus::Error);
}

#[test]
fn what_the_operator_has_not_enabled_is_refused_with_what_to_do() {
    let refused = |outside: Value, config: Value| {
        let outside: Outside = serde_json::from_value(outside).unwrap();
        let config = verifier::Config::parse(&config, "/verifier").unwrap();
        let error = config.refused(&outside, "/verifier").unwrap_err().remove(0);
        let row = json!({"tests": "assert 1"});
        let case = Case { prompt: "", completion: "a", answer: None, row: row.as_object().unwrap() };
        assert_eq!(config.build(&outside).verify(&case).status, ScoreStatus::Error);
        (error.pointer, error.code, error.detail)
    };
    let code = || json!({"type": "code"});
    let (pointer, kind, detail) = refused(json!({}), code());
    assert_eq!((pointer.as_str(), kind), ("/verifier/type", "not_enabled"));
    assert!(detail.contains("code = true"), "{detail}");
    let (pointer, kind, detail) = refused(json!({"code": true}), json!({"type": "code", "language": "rust"}));
    assert_eq!((pointer.as_str(), kind), ("/verifier/language", "unknown_value"));
    assert!(detail.contains("verifiers.languages"), "{detail}");
    let nowhere = json!({"code": true, "languages": {"python": {"argv": ["/no/python3"]}}});
    let (pointer, kind, detail) = refused(nowhere, code());
    assert_eq!((pointer.as_str(), kind), ("/verifier/type", "sandbox_unavailable"));
    assert!(detail.contains("/no/python3"), "{detail}");
    for (language, told) in [
        (json!({"argv": ["/no/such"]}), "/no/such"),
        (json!({"argv": ["/work/program"], "compile": ["/no/compiler"], "paths": ["/usr"]}), "/no/compiler"),
        (json!({"argv": ["/usr/bin/env"]}), "/usr/bin/env"),
    ] {
        let outside = json!({"code": true, "languages": {"other": language}});
        let (pointer, kind, detail) = refused(outside, json!({"type": "code", "language": "other"}));
        assert_eq!((pointer.as_str(), kind), ("/verifier/type", "sandbox_unavailable"));
        assert!(detail.contains(told) && detail.contains("verifiers.languages.other"), "{detail}");
    }
    let group = json!({"code": true, "cgroup": "/no/group"});
    assert!(refused(group, code()).2.contains("delegate"));
    let multi = json!({"type": "multi", "graders": {"a": code()}, "calculate_output": "a"});
    let (pointer, ..) = refused(json!({}), multi.clone());
    assert_eq!(pointer, "/verifier/graders/a/type");
    assert!(verifier::Config::parse(&multi, "").unwrap().runs_code());
}
