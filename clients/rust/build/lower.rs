//! An OpenAPI 3.1 document in the words of 3.0. What is lost on the way are bounds, defaults and examples: the server
//! checks the bounds and fills in the defaults, and a client that leaves a field out gets the default of the server that
//! it talks to.

use serde_json::{Map, Value, json};

/// Says an OpenAPI 3.1 document in the words of 3.0, as far as the generator understands them.
pub fn lower(document: &mut Value) {
    document["openapi"] = json!("3.0.3");
    for (_, item) in members(&mut document["paths"]) {
        for (_, operation) in members(item) {
            lower_answers(operation);
            // A dry run has an answer of its own, for which there is a function beside the generated ones.
            if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
                parameters.retain(|parameter| parameter["name"] != "dry_run");
            }
            lower_body(operation);
        }
    }
    for part in ["paths", "components"] {
        lower_schemas(&mut document[part]);
    }
    if let Some(components) = document["components"].as_object_mut() {
        components.remove("headers");
        components.remove("responses");
    }
}

fn members(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

/// One type for success and one for errors, which is what the generator can return.
fn lower_answers(operation: &mut Value) {
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for response in responses.values_mut() {
        if let Some(response) = response.as_object_mut() {
            response.remove("headers");
        }
    }
    let successes: Map<String, Value> =
        responses.iter().filter(|(status, _)| status.starts_with('2')).map(|(k, v)| (k.clone(), v.clone())).collect();
    // A dry run and an empty stream have answers of their own; the functions beside the generated ones read them.
    let best = ["201", "202", "200", "204"].into_iter().find_map(|status| Some((status, successes.get(status)?)));
    let mut kept = Map::new();
    if let Some((status, response)) = best {
        kept.insert(status.to_owned(), response.clone());
        let same = |other: &Value| other["content"] == response["content"];
        kept.extend(successes.iter().filter(|(_, other)| same(other)).map(|(k, v)| (k.clone(), v.clone())));
    }
    let problem = json!({
        "description": "What is wrong",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    kept.insert("4XX".into(), problem.clone());
    kept.insert("5XX".into(), problem);
    *responses = kept;
}

/// Bodies are JSON or bytes.
fn lower_body(operation: &mut Value) {
    let Some(content) = operation.get_mut("requestBody").and_then(|body| body["content"].as_object_mut()) else {
        return;
    };
    let json = content.remove("application/json");
    let bytes =
        || (String::from("application/octet-stream"), json!({"schema": {"type": "string", "format": "binary"}}));
    *content = Map::from_iter([json.map_or_else(bytes, |mut json| {
        if let Some(json) = json.as_object_mut() {
            json.retain(|key, _| key == "schema");
        }
        ("application/json".into(), json)
    })]);
}

fn lower_schemas(value: &mut Value) {
    match value {
        Value::Object(object) => {
            // The constant `object` of an answer is a text; as a type of its own it says nothing more.
            if let Some(kind) = object.get_mut("properties").and_then(|properties| properties.get_mut("object")) {
                *kind = json!({"type": "string"});
            }
            object.retain(|key, value| {
                let explains = key.starts_with("x-") || key == "examples" || key == "example";
                // With a type it is a member of that name.
                !explains || value.get("type").is_some()
            });
            object.values_mut().for_each(lower_schemas);
            lower_schema(object);
        }
        Value::Array(items) => items.iter_mut().for_each(lower_schemas),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn lower_schema(object: &mut Map<String, Value>) {
    let is_schema = object.get("type").is_some_and(|kind| kind.is_string() || kind.is_array())
        || ["$ref", "oneOf", "anyOf", "const", "enum"].iter().any(|key| object.contains_key(*key));
    if !is_schema {
        return;
    }
    object.remove("default");
    let mut nullable = false;
    if let Some(Value::Array(kinds)) = object.get("type").cloned() {
        nullable = kinds.contains(&json!("null"));
        let kind = kinds.into_iter().find(|kind| kind != "null").unwrap_or_default();
        object.insert("type".into(), kind);
    }
    // What tells alternatives apart need not be said by who builds one of them.
    let tags: Vec<Value> = members(object.get_mut("properties").unwrap_or(&mut Value::Null))
        .filter(|(_, property)| property.get("default").is_some())
        .map(|(name, _)| json!(name))
        .collect();
    if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !tags.contains(name));
    }
    if let Some(word) = object.remove("const") {
        object.insert("enum".into(), json!([word]));
        object.insert("default".into(), word);
    }
    // The alternatives of this document exclude each other, whichever word says so.
    if let Some(alternatives) = object.remove("anyOf") {
        object.insert("oneOf".into(), alternatives);
    }
    if let Some(alternatives) = object.get_mut("oneOf").and_then(Value::as_array_mut) {
        let before = alternatives.len();
        alternatives.retain(|alternative| alternative["type"] != "null");
        nullable |= alternatives.len() < before;
        if alternatives.len() == 1 {
            let only = object.remove("oneOf");
            object.insert("allOf".into(), only.unwrap_or_default());
        }
    }
    if object.get("minimum").is_some_and(|least| least.as_f64() >= Some(0.0)) && object["type"] == "integer" {
        let bits = object.get("format").and_then(Value::as_str).unwrap_or("int64").trim_start_matches("uint");
        let format = format!("uint{}", bits.trim_start_matches("int"));
        object.insert("format".into(), json!(format));
    }
    for bound in [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "contentMediaType",
        "discriminator",
    ] {
        object.remove(bound);
    }
    if object.contains_key("$ref") {
        object.retain(|key, _| key == "$ref");
    }
    if nullable {
        object.insert("nullable".into(), json!(true));
    }
}
