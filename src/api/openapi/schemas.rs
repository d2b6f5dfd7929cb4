//! Passes over schemas: names for generics and for closed sets of words, one form for the same thing.

use serde_json::{Map, Value, json};

use super::{pascal, refer, referred, walk};
use crate::job::device::DeviceStatus;
use crate::job::diagnosis::DiagnosisCode;
use crate::job::metadata::METADATA;
use crate::job::{
    ArtifactKind, EventLevel, ExportStatus, FailureKind, JobKind, JobStatus, Phase, PushStatus, RolloutSetStatus,
};

/// The table of errors that people read is also the list of codes here.
const ERRORS: &str = include_str!("../../../docs/errors.md");

/// Components whose name says too little outside of their module.
const NAMES: &[(&str, &str)] = &[
    ("ProblemBody", "Problem"),
    ("OpenAiError", "ProblemError"),
    ("Metrics", "JobMetrics"),
    ("Series", "MetricSeries"),
    ("Format", "MetricsFormat"),
    ("Order", "ListOrder"),
    ("Process", "DeviceProcess"),
    ("Summary", "RolloutSetSummary"),
    ("EvaluationComplete", "EvaluationFound"),
    ("Plan", "PreflightPlan"),
    ("Memory", "PreflightMemory"),
    ("Warning", "PreflightWarning"),
    ("RowsChecked", "PreflightRows"),
    ("Queued", "QueuedJob"),
    ("Waiting", "JobWaiting"),
    ("Candidate", "CandidateDevice"),
    ("Columns", "DatasetColumns"),
    ("Coverage", "FrontierCoverage"),
    ("Measured", "AdviceMeasured"),
    ("Recorded", "AdviceRecorded"),
    ("Suggestion", "AdviceSuggestion"),
    ("Reason", "AdviceReason"),
    ("Setting", "AdviceSetting"),
    ("Schedule", "LearningRateSchedule"),
    ("Part", "ChatContentPart"),
];

/// Gives a component to every closed set of words, and lists the words of those that are open.
pub fn name_values(schemas: &mut Map<String, Value>) {
    macro_rules! closed {
        ($component:literal, $set:ty, $text:literal, $($schema:literal . $property:literal),+) => {
            let words: Vec<&str> = <$set>::ALL.iter().map(|word| word.as_str()).collect();
            let set = json!({"type": "string", "description": $text, "enum": words});
            schemas.insert(String::from($component), set);
            $(point(schemas, $schema, $property, $component);)+
        };
    }
    schemas.insert(String::from("JobFailure"), job_failure());
    closed!("JobStatus", JobStatus, "Where a job stands; `succeeded`, `failed` and `cancelled` are final.", "Job"."status", "JobTables"."status");
    closed!("DiagnosisCode", DiagnosisCode, "What is wrong with a job.", "Diagnosis"."code");
    closed!("JobKind", JobKind, "What a job makes.", "Job"."kind");
    closed!("JobPhase", Phase, "What a running job does.", "Job"."phase");
    closed!("JobFailureKind", FailureKind, "Why a job failed.", "JobFailure"."kind");
    closed!("EventLevel", EventLevel, "How much an event matters.", "JobEvent"."level");
    closed!("RolloutSetStatus", RolloutSetStatus, "Whether a set can be read.", "RolloutSet"."status");
    closed!("CheckpointKind", ArtifactKind, "What a checkpoint is for.", "Checkpoint"."kind");
    closed!("ExportStatus", ExportStatus, "Whether an export can be downloaded.", "Export"."status");
    closed!("PushStatus", PushStatus, "Where a push stands; `succeeded` and `failed` are final.", "ExportPush"."status");
    closed!("DeviceStatus", DeviceStatus, "Whether a device takes jobs.", "Device"."status", "Candidate"."status");
    point(schemas, "Job", "failure", "JobFailure");
    point(schemas, "Preflight", "dry_run", "DryRun");
    schemas.insert(String::from("Manifest"), manifest());
    open(schemas, "ProblemBody", "code", &codes(&["Requests", "Rows of a data set", "Models"]));
    open(schemas, "FieldProblem", "code", &codes(&["Fields"]));
    open(schemas, "Warning", "code", &codes(&["Warnings about a spec"]));
    open(schemas, "JobFailure", "code", &codes(&["Failed jobs"]));
}

fn job_failure() -> Value {
    json!({
        "type": "object",
        "description": "Why a job failed.",
        "required": ["kind", "code", "message"],
        "properties": {
            "kind": {"type": "string"},
            "code": {"type": "string", "description": "Stable, machine-readable reason."},
            "message": {"type": "string", "description": "What happened and what to do about it."},
        },
    })
}

fn manifest() -> Value {
    json!({
        "type": "object",
        "description": "The content of `manifest.json`: every file with its size and sha256.",
        "required": ["format", "kind", "job", "attempt", "step", "spec_digest", "files"],
        "properties": {
            "format": {"type": "integer", "format": "int32", "minimum": 0, "description": "Version of this format."},
            "kind": refer("CheckpointKind"),
            "job": {"type": "string"},
            "attempt": {"type": "integer", "format": "int32", "minimum": 0},
            "step": {"type": "integer", "format": "int64", "minimum": 0, "description": "Optimizer steps taken."},
            "spec_digest": {"type": "string", "description": "`sha256:` and the digest of the resolved spec."},
            "files": {"type": "array", "items": refer("CheckpointFile")},
        },
    })
}

/// Makes a property refer to a component; one that may be null still may.
pub fn point(schemas: &mut Map<String, Value>, schema: &str, property: &str, component: &str) {
    let Some(old) = schemas.get_mut(schema).and_then(|s| s["properties"].get_mut(property)) else { return };
    let nullable = old["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
    let mut new = if nullable { json!({"oneOf": [refer(component), {"type": "null"}]}) } else { refer(component) };
    for key in ["description", "example"] {
        if let Some(text) = old.get(key) {
            new[key] = text.clone();
        }
    }
    *old = new;
}

/// Says which words a property may hold today, where there will be more.
fn open(schemas: &mut Map<String, Value>, schema: &str, property: &str, words: &[&str]) {
    let Some(property) = schemas.get_mut(schema).and_then(|s| s["properties"].get_mut(property)) else { return };
    if let Some(text) = property["description"].as_str() {
        property["description"] = json!(format!("{text} An open set: be ready for words that you do not know."));
    }
    property["examples"] = json!(words.iter().take(3).collect::<Vec<_>>());
    property["x-extensible-enum"] = json!(words);
}

/// The codes in sections of the page about errors.
fn codes(sections: &[&str]) -> Vec<&'static str> {
    let wanted = ERRORS.split("\n## ").filter(|part| sections.iter().any(|s| part.lines().next() == Some(s)));
    wanted.flat_map(str::lines).filter_map(code_of).collect()
}

/// The codes of requests that come with a status.
pub fn codes_of(status: &str) -> Vec<&'static str> {
    let section = ERRORS.split("\n## ").find(|part| part.starts_with("Requests")).unwrap_or_default();
    let rows = section.lines().filter(|line| line.split('|').nth(2).is_some_and(|cell| cell.trim() == status));
    rows.filter_map(code_of).collect()
}

/// The code that a row of a table is about: the first one between backticks in its first cell.
fn code_of(row: &'static str) -> Option<&'static str> {
    let cell = row.strip_prefix('|')?.split('|').next()?;
    let code = cell.split('`').nth(1)?;
    code.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(code)
}

/// One form for the same thing, all over the document.
pub fn tidy(document: &mut Value) {
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        lists(schemas);
        schemas.insert(
            String::from("JsonObject"),
            json!({"type": "object", "description": "Any JSON object.", "additionalProperties": true}),
        );
        schemas.insert(String::from("Metadata"), METADATA.clone());
        for schema in schemas.values_mut() {
            free_form(schema);
        }
    }
    walk(document, &mut |value| {
        if let Some(object) = value.as_object_mut() {
            only_alternative(object);
            words(object);
            constant(object);
            nullable_reference(object);
            let schema =
                object.get("type").is_some_and(|t| t.is_string() || t.is_array()) || object.contains_key("$ref");
            if let Some(example) = schema.then(|| object.shift_remove("example")).flatten() {
                object.insert(String::from("examples"), json!([example]));
            }
            // Keys of JSON objects are text anyway.
            if object.get("propertyNames") == Some(&json!({"type": "string"})) {
                object.shift_remove("propertyNames");
            }
        }
    });
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        name_alternatives(schemas);
    }
    rename(document);
    // A component that nothing refers to may have been the only one to refer to another.
    while remove_unused(document) {}
}

/// Removes components that nothing refers to; says whether there were any.
fn remove_unused(document: &mut Value) -> bool {
    let text = document.to_string();
    let mut any = false;
    for kind in ["schemas", "responses", "headers", "parameters"] {
        let Some(components) = document["components"][kind].as_object_mut() else { continue };
        let before = components.len();
        components.retain(|name, _| text.contains(&format!("\"#/components/{kind}/{name}\"")));
        any |= components.len() < before;
    }
    any
}

/// Lists refer to what they are lists of.
fn lists(schemas: &mut Map<String, Value>) {
    let names: Vec<String> = schemas.keys().cloned().collect();
    for (list, item) in names.iter().filter_map(|list| Some((list, list.strip_prefix("List_")?))) {
        if names.iter().any(|name| name == item) {
            schemas[list]["properties"]["data"]["items"] = refer(item);
        }
    }
}

/// A choice of one is no choice.
fn only_alternative(object: &mut Map<String, Value>) {
    let alternatives = object.get("oneOf").and_then(Value::as_array);
    if let Some([Value::Object(only)]) = alternatives.map(Vec::as_slice) {
        let only = only.clone();
        object.shift_remove("oneOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

/// Alternatives that are all single words become one set of words; what each means moves into the description.
fn words(object: &mut Map<String, Value>) {
    let Some(alternatives) = object.get("oneOf").and_then(Value::as_array) else { return };
    let word = |schema: &Value| -> Option<(Vec<Value>, String)> {
        let words = match (schema.get("const"), schema.get("enum")) {
            (Some(word), None) => vec![word.clone()],
            (None, Some(Value::Array(words))) => words.clone(),
            _ => return None,
        };
        let meaning = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        let first = words.first()?.as_str()?;
        let line = if meaning.is_empty() { String::new() } else { format!("\n- `{first}`: {meaning}") };
        words.iter().all(Value::is_string).then_some((words, line))
    };
    let Some(all) = alternatives.iter().map(word).collect::<Option<Vec<_>>>() else { return };
    let lines: String = all.iter().map(|(_, line)| line.as_str()).collect();
    let words: Vec<Value> = all.into_iter().flat_map(|(words, _)| words).collect();
    let before = object.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{before}\n{lines}").trim().to_owned();
    object.shift_remove("oneOf");
    object.insert(String::from("type"), json!("string"));
    object.insert(String::from("enum"), Value::Array(words));
    object.insert(String::from("description"), json!(description));
}

/// Objects without members of their own share one name, or every use would become a type.
fn free_form(schema: &mut Value) {
    for (name, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(object) = property.as_object_mut() else { continue };
        let kind = object.get("type").cloned().unwrap_or_default();
        let nullable = kind == json!(["object", "null"]);
        if !(nullable || kind == "object") || object.contains_key("properties") {
            continue;
        }
        let component = match object.get("additionalProperties") {
            None | Some(Value::Bool(true)) => "JsonObject",
            Some(values) if name == "metadata" && values["type"] == "string" => "Metadata",
            Some(_) => continue,
        };
        object.retain(|key, _| key == "description" || key == "default");
        if nullable {
            object.insert(String::from("oneOf"), json!([refer(component), {"type": "null"}]));
        } else {
            object.insert(String::from("$ref"), refer(component)["$ref"].clone());
        }
    }
}

/// A text that is "Always `x`" is a constant, so that answers can be told apart by their `object`.
fn constant(object: &mut Map<String, Value>) {
    let always = object.get("description").and_then(Value::as_str).and_then(|text| text.strip_prefix("Always `"));
    let word = always.and_then(|text| text.strip_suffix("`.")).map(str::to_owned);
    if let Some(word) = word.filter(|_| object.get("type") == Some(&json!("string"))) {
        object.insert(String::from("const"), json!(word));
        object.shift_remove("description");
    }
}

/// The description of a reference that may be null belongs to both of its alternatives.
fn nullable_reference(object: &mut Map<String, Value>) {
    let Some(alternatives) = object.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    if alternatives.len() != 2 || !alternatives.contains(&json!({"type": "null"})) {
        return;
    }
    let described = alternatives.iter_mut().filter(|a| a.get("$ref").is_some()).filter_map(Value::as_object_mut);
    let text = described.filter_map(|reference| reference.shift_remove("description")).next();
    if let Some(text) = text {
        object.entry("description").or_insert(text);
    }
}

/// Alternatives of the form `{"name": {...}}` become components, so that generated types have names.
fn name_alternatives(schemas: &mut Map<String, Value>) {
    let mut made = Map::new();
    for (parent, schema) in schemas.iter_mut() {
        for key in ["oneOf", "anyOf"] {
            for alternative in schema.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                let properties = alternative.get_mut("properties").and_then(Value::as_object_mut);
                let Some((name, inner)) = properties.filter(|p| p.len() == 1).and_then(|p| p.iter_mut().next()) else {
                    continue;
                };
                // What only says which alternative it is has no other name.
                if inner.get("const").is_some() {
                    continue;
                }
                let component = format!("{parent}{}", pascal(name));
                if inner.get("properties").is_some() {
                    let settings = format!("{component}Settings");
                    made.insert(settings.clone(), std::mem::replace(inner, refer(&settings)));
                }
                made.insert(component.clone(), std::mem::replace(alternative, refer(&component)));
            }
        }
    }
    schemas.append(&mut made);
}

/// Components under the names that clients are generated with.
fn rename(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let named = |name: &str| match name.strip_prefix("List_") {
        Some(item) => format!("{item}List"),
        None => NAMES.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to).to_owned(),
    };
    let mut renamed: Vec<(String, Value)> = std::mem::take(schemas).into_iter().map(|(k, v)| (named(&k), v)).collect();
    renamed.sort_by(|a, b| a.0.cmp(&b.0));
    schemas.extend(renamed);
    walk(document, &mut |value| {
        let new = referred(value).map(named);
        if let Some(new) = new {
            value["$ref"] = refer(&new)["$ref"].clone();
        }
    });
}
