//! The program that comes with a row as a right one, under the names that published data sets have for it.

use serde_json::{Map, Value};

/// A right program in Python, as a completion; none where the row brings none.
///
/// HumanEval has the body that goes on where `prompt` ends (`canonical_solution`), EvalPlus the same, MBPP the whole program
/// (`code`), APPS many of them as a text of JSON (`solutions`).
pub fn of(row: &Map<String, Value>) -> Option<String> {
    let text = |column: &str| row.get(column).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let first = |list: &Value| list.as_array()?.first()?.as_str().map(str::to_owned);
    let of_list = || match row.get("solutions")? {
        Value::String(list) => first(&serde_json::from_str(list).ok()?),
        list => first(list),
    };
    if let Some(body) = text("canonical_solution") {
        // One that is indented begins within the function that the prompt has opened.
        let goes_on = body.trim_start_matches('\n').starts_with([' ', '\t']);
        let before = text("prompt").filter(|_| goes_on).unwrap_or_default();
        return Some(format!("{before}{body}"));
    }
    text("code").map(str::to_owned).or_else(of_list)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_are_found_where_published_rows_have_them() {
        for (row, program) in [
            (json!({"prompt": "def f():\n", "canonical_solution": "    return 1\n"}), Some("def f():\n    return 1\n")),
            (
                json!({"prompt": "Write f.", "canonical_solution": "def f():\n    return 1\n"}),
                Some("def f():\n    return 1\n"),
            ),
            (json!({"text": "Write f.", "code": "def f(): return 1", "test_list": []}), Some("def f(): return 1")),
            (json!({"solutions": "[\"print(1)\", \"print(1 )\"]"}), Some("print(1)")),
            (json!({"solutions": ["print(2)"]}), Some("print(2)")),
            (json!({"solutions": "", "code": " "}), None),
            (json!({"prompt": "a", "answer": "b"}), None),
        ] {
            assert_eq!(of(row.as_object().unwrap()).as_deref(), program, "{row}");
        }
    }
}
