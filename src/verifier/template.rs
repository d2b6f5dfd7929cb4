//! Texts with places for a case's completion and columns: `{{ sample.output_text }}`, `{{ item.answer }}`,
//! `{{ item.meta.level }}`, `{{ item.choices.0 }}`.
//!
//! A template is paths and nothing else, unlike a chat template: it has no conditions, filters or loops, so that
//! filling it in takes time linear in the result.

use serde_json::Value;

use super::{Case, MAX_TEXT_BYTES};
use crate::job::field::FieldError;

/// The longest template.
const MAX_TEMPLATE_BYTES: usize = 1 << 16;

/// A text in pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Completion,
    /// A column, and the way into it.
    Item(Vec<String>),
}

impl Template {
    /// Reads a template; an error says what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(format!("may have at most {MAX_TEMPLATE_BYTES} bytes"));
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            if open > 0 {
                pieces.push(Piece::Text(rest[..open].to_owned()));
            }
            let inside = &rest[open + 2..];
            let close = inside.find("}}").ok_or("has a `{{` without `}}`")?;
            pieces.push(place(inside[..close].trim())?);
            rest = &inside[close + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self { pieces })
    }

    /// The columns that it names.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Item(path) => path.first().map(String::as_str),
            Piece::Text(_) | Piece::Completion => None,
        })
    }

    /// The text for one case; an error says which value is missing.
    pub fn fill(&self, case: &Case<'_>) -> Result<String, String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Completion => text.push_str(case.completion),
                Piece::Item(path) => push_value(&mut text, path, find(case, path))?,
            }
            if text.len() > MAX_TEXT_BYTES {
                return Err(format!("a filled-in template has more than {MAX_TEXT_BYTES} bytes"));
            }
        }
        Ok(text)
    }
}

fn place(path: &str) -> Result<Piece, String> {
    if path == "sample.output_text" {
        return Ok(Piece::Completion);
    }
    let parts: Vec<String> = path.split('.').map(|part| part.trim().to_owned()).collect();
    match parts.split_first() {
        Some((item, column)) if item == "item" && !column.is_empty() && column.iter().all(|p| !p.is_empty()) => {
            Ok(Piece::Item(column.to_vec()))
        }
        _ => {
            let shown: String = path.chars().take(80).collect();
            Err(format!("names `{shown}`; there are `sample.output_text` and `item.<column>`"))
        }
    }
}

fn find<'a>(case: &Case<'a>, path: &[String]) -> Option<&'a Value> {
    let (column, way) = path.split_first()?;
    way.iter().try_fold(case.row.get(column)?, |value, step| match value {
        Value::Object(object) => object.get(step),
        Value::Array(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

fn push_value(text: &mut String, path: &[String], value: Option<&Value>) -> Result<(), String> {
    match value {
        Some(Value::String(value)) => text.push_str(value),
        // What has parts of its own stands as JSON.
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            text.push_str(&value.to_string());
        }
        Some(Value::Null) | None => return Err(format!("the row has no value `{}`", path.join("."))),
    }
    Ok(())
}

/// Checks what the verifiers share that compare two templates.
pub fn check_templates(pointer: &str, input: &str, reference: &str) -> Result<(), Vec<FieldError>> {
    let mut errors = Vec::new();
    for (name, text) in [("input", input), ("reference", reference)] {
        if let Err(detail) = Template::parse(text) {
            errors.push(FieldError::new(format!("{pointer}/{name}"), "invalid_template", detail));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The columns that two templates name.
pub fn template_columns(input: &str, reference: &str) -> Vec<(String, String)> {
    let of = |field: &str, text: &str| -> Vec<(String, String)> {
        checked_template(text).columns().map(|column| (field.to_owned(), column.to_owned())).collect()
    };
    [of("input", input), of("reference", reference)].concat()
}

pub fn checked_template(text: &str) -> Template {
    Template::parse(text).expect("the configuration was checked, and the check reads every template")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(template: &str) -> Result<String, String> {
        let row = json!({"a": "x", "n": 3, "deep": {"list": [1, "two"]}, "none": null});
        let case = Case { prompt: "p", completion: "done", answer: None, row: row.as_object().unwrap() };
        Template::parse(template)?.fill(&case)
    }

    #[test]
    fn places_are_filled_with_the_completion_and_with_columns() {
        for (template, text) in [
            ("", ""),
            ("plain {text}", "plain {text}"),
            ("{{ sample.output_text }}", "done"),
            ("{{sample.output_text}}/{{ item.a }}/{{item.n}}!", "done/x/3!"),
            ("{{ item.deep.list.1 }} {{ item.deep.list }}", "two [1,\"two\"]"),
        ] {
            assert_eq!(fill(template).unwrap(), text, "{template}");
        }
    }

    #[test]
    fn a_value_that_is_not_there_is_named() {
        for path in ["item.none", "item.absent", "item.deep.list.7", "item.a.b"] {
            assert!(fill(&format!("{{{{ {path} }}}}")).unwrap_err().contains(&path[5..]), "{path}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for template in ["{{ item }}", "{{ sample.choices }}", "{{ item. }}", "{{ item.a", "{{ 1 + 1 }}", "{{}}"] {
            assert!(fill(template).is_err(), "{template}");
        }
    }
}
