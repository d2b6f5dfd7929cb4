//! Column maps: what each column of a row is made of, said in JSON.
//!
//! ```text
//! {"prompt": "{question}\nAnswer with a number.", "answer": "answer.value", "level": "meta.level?", "*": "*"}
//! ```
//!
//! A text with braces is a template, whose places are filled with the text of what they name. One without names a value, which
//! is taken as it is. Names reach into values with dots, and into lists with numbers; a column whose whole name has the dots
//! comes first. What a name does not find is an error of the row, unless the name ends in `?`. Lists and objects are made of
//! templates, as in `[{"role": "user", "content": "{question}"}]`. `"*": "*"` keeps the columns that are not named.
//!
//! A row keeps its id: the first of the usual columns that has one becomes `id`, unless the map says what `id` is.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value};

use super::DatasetError;

/// Columns that a map may make.
const MOST_COLUMNS: usize = 64;
/// Depth of lists and objects.
const MOST_DEPTH: usize = 8;
/// Bytes of a map.
const MOST_BYTES: usize = 32 << 10;
/// Where rows carry an id, the likeliest first.
const IDS: [&str; 8] = ["id", "_id", "uid", "uuid", "task_id", "question_id", "problem_id", "example_id"];
const REST: &str = "*";

/// How rows are made of those of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMap {
    columns: Vec<(String, Target)>,
    keeps_rest: bool,
    said: Value,
}

/// What a column, or a part of one, is made of.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Path(Path),
    Template(Vec<Piece>),
    List(Vec<Target>),
    Object(Vec<(String, Target)>),
    /// A number, a truth value or null.
    Constant(Value),
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Place(Path),
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    name: String,
    may_lack: bool,
}

/// What is wrong with a map, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidMap(String);

impl ColumnMap {
    /// Reads a map from its text.
    pub fn parse(text: &str) -> Result<Self, InvalidMap> {
        let invalid = |detail: String| InvalidMap(detail);
        if text.len() > MOST_BYTES {
            return Err(invalid(format!("is longer than {MOST_BYTES} bytes")));
        }
        let said: Value = serde_json::from_str(text)
            .map_err(|error| invalid(format!("is not JSON: {error}; write {{\"prompt\": ...}}")))?;
        let Value::Object(members) = &said else {
            return Err(invalid(String::from("is no object; write {\"prompt\": \"{question}\"}")));
        };
        if members.len() > MOST_COLUMNS {
            return Err(invalid(format!("makes {} columns, and at most {MOST_COLUMNS} are made", members.len())));
        }
        let mut columns = Vec::new();
        let keeps_rest = match members.get(REST) {
            None => false,
            Some(value) if value == REST => true,
            Some(_) => return Err(invalid(String::from("has `*` for something else than `*`"))),
        };
        for (name, value) in members.iter().filter(|(name, _)| *name != REST) {
            let target = match value {
                Value::String(text) if !text.contains(['{', '}']) => Path::parse(text).map(Target::Path),
                value => Target::parse(value, 0),
            };
            columns.push((name.clone(), target.map_err(|detail| invalid(format!("`{name}`: {detail}")))?));
        }
        if columns.is_empty() {
            return Err(invalid(String::from("makes no column; write {\"prompt\": \"{question}\"}")));
        }
        Ok(Self { columns, keeps_rest, said })
    }

    /// The map as it was said.
    pub fn said(&self) -> &Value {
        &self.said
    }

    /// The columns of a file that it may read; none where that is all of them.
    pub fn reads(&self) -> Option<BTreeSet<String>> {
        if self.keeps_rest {
            return None;
        }
        let mut names = BTreeSet::new();
        self.columns.iter().for_each(|(_, target)| target.names(&mut names));
        if !self.makes_id() {
            names.extend(IDS.map(str::to_owned));
        }
        Some(names)
    }

    fn makes_id(&self) -> bool {
        self.columns.iter().any(|(name, _)| name == IDS[0])
    }

    /// Makes a row.
    pub fn apply(&self, row: u64, fields: Map<String, Value>) -> Result<Map<String, Value>, DatasetError> {
        let mut made = Map::new();
        for (name, target) in &self.columns {
            let value = target.make(&fields);
            let value = value.map_err(|detail| DatasetError::NotMapped { row, column: name.clone(), detail })?;
            if let Some(value) = value {
                made.insert(name.clone(), value);
            }
        }
        if self.keeps_rest {
            let named = |name: &str| self.columns.iter().any(|(column, _)| column == name);
            made.extend(fields.into_iter().filter(|(name, _)| !named(name)));
        } else if !self.makes_id() {
            let is_id =
                |value: &Value| value.is_i64() || value.is_u64() || value.as_str().is_some_and(|id| !id.is_empty());
            let found = IDS.iter().find_map(|name| fields.get(*name).filter(|value| is_id(value)));
            if let Some(id) = found {
                made.insert(IDS[0].to_owned(), id.clone());
            }
        }
        Ok(made)
    }
}

impl Target {
    fn parse(value: &Value, depth: usize) -> Result<Self, String> {
        if depth > MOST_DEPTH {
            return Err(format!("nests deeper than {MOST_DEPTH}"));
        }
        Ok(match value {
            Value::String(text) => Self::Template(template(text)?),
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::parse(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| Ok((name.clone(), Self::parse(value, depth + 1)?));
                Self::Object(members.iter().map(member).collect::<Result<_, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Constant(value.clone()),
        })
    }

    /// The columns whose values it may read.
    fn names(&self, names: &mut BTreeSet<String>) {
        let mut add = |path: &Path| {
            names.insert(path.name.clone());
            names.insert(path.name.split('.').next().unwrap_or_default().to_owned());
        };
        match self {
            Self::Path(path) => add(path),
            Self::Template(pieces) => pieces.iter().for_each(|piece| match piece {
                Piece::Place(path) => add(path),
                Piece::Text(_) => {}
            }),
            Self::List(items) => items.iter().for_each(|item| item.names(names)),
            Self::Object(members) => members.iter().for_each(|(_, member)| member.names(names)),
            Self::Constant(_) => {}
        }
    }

    /// The value for a row; none where it names something that the row may lack, and lacks.
    fn make(&self, fields: &Map<String, Value>) -> Result<Option<Value>, String> {
        Ok(Some(match self {
            Self::Path(path) => match path.find(fields) {
                Some(value) => value.clone(),
                None if path.may_lack => return Ok(None),
                None => return Err(path.lacking(fields)),
            },
            Self::Template(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(piece) => text.push_str(piece),
                        Piece::Place(path) => path.write(fields, &mut text)?,
                    }
                }
                Value::String(text)
            }
            Self::List(items) => {
                let made = items.iter().filter_map(|item| item.make(fields).transpose());
                Value::Array(made.collect::<Result<_, _>>()?)
            }
            Self::Object(members) => {
                let made = members.iter().filter_map(|(name, member)| {
                    member.make(fields).transpose().map(|value| value.map(|value| (name.clone(), value)))
                });
                Value::Object(made.collect::<Result<_, _>>()?)
            }
            Self::Constant(value) => value.clone(),
        }))
    }
}

impl Path {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let name = text.strip_suffix('?').unwrap_or(text);
        if name.is_empty() {
            return Err(String::from("names no column"));
        }
        Ok(Self { name: name.to_owned(), may_lack: name.len() < text.len() })
    }

    fn find<'a>(&self, fields: &'a Map<String, Value>) -> Option<&'a Value> {
        if let Some(value) = fields.get(&self.name) {
            return Some(value);
        }
        let (first, rest) = self.name.split_once('.')?;
        rest.split('.').try_fold(fields.get(first)?, |value, part| match value {
            Value::Object(members) => members.get(part),
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }

    /// Adds the value as a text: texts as they are, all else as JSON.
    fn write(&self, fields: &Map<String, Value>, text: &mut String) -> Result<(), String> {
        match self.find(fields) {
            Some(Value::String(value)) => text.push_str(value),
            None | Some(Value::Null) if self.may_lack => {}
            None => return Err(self.lacking(fields)),
            Some(Value::Null) => return Err(format!("`{}` is null", self.name)),
            // Writing to memory does not fail.
            Some(value) => drop(write!(text, "{value}")),
        }
        Ok(())
    }

    fn lacking(&self, fields: &Map<String, Value>) -> String {
        format!("there is no `{}`; {}", self.name, super::present_columns(fields))
    }
}

/// Reads a template: `{name}` is a place, `{{` and `}}` are braces.
fn template(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        let end = rest.find(['{', '}']).filter(|end| brace == "{" && rest[*end..].starts_with('}'));
        let end = end.ok_or_else(|| format!("has a `{brace}` alone; write `{brace}{brace}` for the brace itself"))?;
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Place(Path::parse(&rest[..end])?));
        rest = &rest[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mapped(map: Value, row: Value) -> Result<Value, DatasetError> {
        let Value::Object(fields) = row else { panic!("{row}") };
        ColumnMap::parse(&map.to_string()).unwrap().apply(3, fields).map(Value::Object)
    }

    #[test]
    fn templates_and_names_make_a_row() {
        let map = json!({"prompt": "{question}\nAnswer with a number.", "answer": "answer.value", "hard": true});
        let row = json!({"question": "1+1?", "answer": {"value": 2}, "other": 0});
        assert_eq!(
            mapped(map, row).unwrap(),
            json!({"prompt": "1+1?\nAnswer with a number.", "answer": 2, "hard": true})
        );
        let map = json!({"prompt": "{a.b.1}{{}} {n} {list} {none?}.", "x": "a.b.0", "y": "a.c?"});
        let row = json!({"a": {"b": ["p", "q"]}, "n": 1.5, "list": [1, "z"]});
        assert_eq!(mapped(map, row).unwrap(), json!({"prompt": "q{} 1.5 [1,\"z\"] .", "x": "p"}));
        let map = json!({"prompt": "a.b"});
        assert_eq!(mapped(map, json!({"a": {"b": 1}, "a.b": 2})).unwrap(), json!({"prompt": 2}));
    }

    #[test]
    fn conversations_are_made_of_templates() {
        let map = json!({"prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{q}"}]});
        let prompt = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "why"}]);
        assert_eq!(mapped(map, json!({"q": "why"})).unwrap(), json!({"prompt": prompt}));
    }

    #[test]
    fn ids_stay_and_the_rest_where_it_is_asked_for() {
        let row = json!({"task_id": "t/1", "q": "a", "x": [1]});
        assert_eq!(mapped(json!({"prompt": "q"}), row.clone()).unwrap(), json!({"prompt": "a", "id": "t/1"}));
        let all = json!({"prompt": "a", "task_id": "t/1", "q": "a", "x": [1]});
        assert_eq!(mapped(json!({"prompt": "q", "*": "*"}), row.clone()).unwrap(), all);
        assert_eq!(mapped(json!({"prompt": "q", "id": "x.0"}), row).unwrap(), json!({"prompt": "a", "id": 1}));
        assert_eq!(
            mapped(json!({"prompt": "q"}), json!({"q": "a", "id": null, "uid": 7})).unwrap(),
            json!({"prompt": "a", "id": 7})
        );
    }

    #[test]
    fn what_a_row_lacks_is_named() {
        for (map, row) in [
            (json!({"prompt": "{question}"}), json!({"query": "a"})),
            (json!({"prompt": "{question}"}), json!({"question": null})),
            (json!({"prompt": "question.text"}), json!({"question": "a"})),
        ] {
            let error = mapped(map, row).unwrap_err();
            assert_eq!((error.code(), error.row()), ("row_not_mapped", Some(3)));
            assert!(error.to_string().contains("`question"), "{error}");
        }
    }

    #[test]
    fn a_map_that_says_nothing_is_refused() {
        let deep = format!("{{\"prompt\": {}\"a\"{}}}", "[".repeat(20), "]".repeat(20));
        for text in [
            "",
            "[]",
            "{}",
            "{\"*\": \"*\"}",
            "{\"*\": 1, \"prompt\": \"a\"}",
            "{\"prompt\": \"{a\"}",
            "{\"prompt\": \"a}\"}",
            "{\"prompt\": \"{}\"}",
            "{\"prompt\": \"\"}",
            "{\"prompt\": \"?\"}",
            &deep,
        ] {
            assert!(ColumnMap::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_tells_which_columns_it_reads() {
        let map = ColumnMap::parse(r#"{"prompt": "{q.text}", "answer": "a?", "id": "n"}"#).unwrap();
        assert_eq!(map.reads().unwrap(), ["a", "n", "q", "q.text"].map(str::to_owned).into());
        assert_eq!(ColumnMap::parse(r#"{"prompt": "q", "*": "*"}"#).unwrap().reads(), None);
    }
}
