//! The reference of the API: the OpenAPI document as one page of text, tag by tag, and the types that it names.

use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;
use serde_json::Value;

use super::from_markdown;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[derive(Serialize)]
struct Section {
    name: String,
    text: String,
    operations: Vec<Operation>,
}

#[derive(Serialize)]
struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    text: String,
    parameters: Vec<Member>,
    /// The request's body, as HTML, and an example of it.
    body: Option<String>,
    example: Option<String>,
    responses: Vec<Answer>,
}

#[derive(Serialize)]
struct Answer {
    status: String,
    text: String,
    kind: String,
}

/// A parameter, or a property of a type.
#[derive(Serialize)]
struct Member {
    name: String,
    place: String,
    required: bool,
    kind: String,
    text: String,
}

#[derive(Serialize)]
struct Schema {
    name: String,
    text: String,
    kind: String,
    members: Vec<Member>,
}

/// The page's text as HTML.
pub fn render(document: &Value, templates: &Environment<'_>) -> String {
    let tags = document["tags"].as_array().into_iter().flatten();
    let sections: Vec<Section> = tags
        .map(|tag| Section {
            name: text(&tag["name"]),
            text: text(&tag["description"]),
            operations: operations(document, &tag["name"]),
        })
        .collect();
    let components = document["components"]["schemas"].as_object().into_iter().flatten();
    let schemas: Vec<Schema> = components.map(|(name, schema)| described(name, schema)).collect();
    let page = templates.get_template("reference.html").and_then(|page| {
        page.render(context! {
            sections => Serde(&sections),
            schemas => Serde(&schemas),
        })
    });
    page.unwrap_or_else(|error| {
        tracing::error!(%error, "the reference cannot be written");
        String::new()
    })
}

fn operations(document: &Value, tag: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, item)| METHODS.iter().map(move |method| (path, *method, &item[*method])));
    let ours = all.filter(|(_, _, operation)| operation["tags"].as_array().is_some_and(|tags| tags.contains(tag)));
    ours.map(|(path, method, operation)| operation_of(document, path, method, operation)).collect()
}

fn operation_of(document: &Value, path: &str, method: &str, operation: &Value) -> Operation {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let bodies = operation["requestBody"]["content"].as_object().into_iter().flatten();
    let bodies: Vec<String> = bodies
        .map(|(kind, content)| format!("<code>{}</code> {}", escape(kind), type_of(&content["schema"])))
        .collect();
    let responses = operation["responses"].as_object().into_iter().flatten();
    Operation {
        id: text(&operation["operationId"]),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(&operation["summary"]),
        text: from_markdown(&text(&operation["description"])),
        parameters: parameters.map(|parameter| parameter_of(resolved(document, parameter))).collect(),
        body: (!bodies.is_empty()).then(|| bodies.join("<br>")),
        example: example(&operation["requestBody"]["content"]["application/json"]),
        responses: responses.map(|(status, answer)| answer_of(status, resolved(document, answer))).collect(),
    }
}

fn parameter_of(parameter: &Value) -> Member {
    Member {
        name: text(&parameter["name"]),
        place: text(&parameter["in"]),
        required: parameter["required"] == true,
        kind: type_of(&parameter["schema"]),
        text: from_markdown(&text(&parameter["description"])),
    }
}

fn answer_of(status: &str, answer: &Value) -> Answer {
    let kinds = answer["content"].as_object().into_iter().flatten();
    let kinds: Vec<String> = kinds.map(|(_, content)| type_of(&content["schema"])).collect();
    Answer { status: status.to_owned(), text: from_markdown(&text(&answer["description"])), kind: kinds.join(" or ") }
}

fn described(name: &str, schema: &Value) -> Schema {
    let required = schema["required"].as_array();
    let members = schema["properties"].as_object().into_iter().flatten().map(|(name, property)| Member {
        name: name.clone(),
        place: String::new(),
        required: required.is_some_and(|required| required.iter().any(|known| known == name)),
        kind: type_of(property),
        text: from_markdown(&text(&property["description"])),
    });
    let members: Vec<Member> = members.collect();
    let kind = if members.is_empty() { type_of(schema) } else { String::new() };
    Schema { name: name.to_owned(), text: from_markdown(&text(&schema["description"])), kind, members }
}

/// The first example of a body.
fn example(content: &Value) -> Option<String> {
    let named =
        content["examples"].as_object().and_then(|examples| examples.values().next()).map(|first| &first["value"]);
    let value = named.or_else(|| content.get("example"))?;
    serde_json::to_string_pretty(value).ok()
}

/// What a schema admits, in a few words of HTML.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escape(name));
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(choices) = schema[choice].as_array() {
            return choices.iter().map(type_of).collect::<Vec<_>>().join(if choice == "allOf" {
                " and "
            } else {
                " or "
            });
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|value| format!("<code>{}</code>", escape(&value.to_string())));
        return values.collect::<Vec<_>>().join(", ");
    }
    if let Some(value) = schema.get("const") {
        return format!("<code>{}</code>", escape(&value.to_string()));
    }
    let named = match &schema["type"] {
        Value::Array(names) => names.iter().map(text).collect::<Vec<_>>().join(" or "),
        name => text(name),
    };
    let of = match schema.get("items") {
        Some(items) => format!(" of {}", type_of(items)),
        None => String::new(),
    };
    let named = if named.is_empty() { String::from("any value") } else { escape(&named) };
    format!("{named}{of}{}", bounds(schema))
}

fn bounds(schema: &Value) -> String {
    let pairs = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("maxLength", "characters at most"),
        ("maxItems", "items at most"),
        ("default", "default"),
    ];
    let said = pairs.iter().filter_map(|(key, words)| {
        let value = schema.get(*key).filter(|value| !value.is_object())?;
        Some(format!(", {words} {}", escape(&value.to_string())))
    });
    said.collect()
}

/// What stands behind a reference to a parameter or an answer.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
