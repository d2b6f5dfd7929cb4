//! The OpenAPI document: routes and answers from the handlers' own descriptions, the specs from the types that read
//! them, so that defaults, bounds and explanations have one source. What is the same for every route (errors, headers,
//! the key, names that clients are generated with) is added here over whatever routes there are.

mod events;
mod examples;
mod operations;
mod schemas;
mod specs;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::webhook_endpoints::message::{self, WebhookMessage};
use super::{App, extract, jobs, routes};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Anneal",
        description = "Self-hosted training service for verifiable-reward post-training of language models.\n\nA job \
                       names a base model, a data set, a verifier and an objective; it is queued onto a device, \
                       streams its events, and ends with a checkpoint to download.\n\nAn answer may gain members, and \
                       sets of names that are marked as open may gain names; nothing else changes under `/v1`."
    ),
    components(schemas(
        extract::Order,
        super::datasets::upload::DatasetDryRun,
        jobs::metrics::Format,
        jobs::report::ReportFormat,
        WebhookMessage
    ))
)]
struct Skeleton;

/// What the tags mean, in the order of the documentation; those without a route are left out.
const TAGS: &[(&str, &str)] = &[
    ("jobs", "Submit, follow and end training jobs"),
    ("sweeps", "Run one spec in several configurations and with several seeds, and compare them"),
    ("evaluations", "Measure models on held-out rows and compare them prompt by prompt"),
    ("rollouts", "Sample and score without training; browse, analyse and keep completions"),
    ("datasets", "Upload rows to train and evaluate on"),
    ("files", "Files as OpenAI clients upload them, whole or in parts"),
    ("models", "Models that jobs start from"),
    ("verifiers", "Stored ways to score completions"),
    ("checkpoints", "Download what jobs made"),
    ("objectives", "What can be optimised"),
    ("fine-tuning", "Training jobs and graders as OpenAI clients know them"),
    ("mlflow", "Jobs as MLflow's clients read them"),
    ("inference", "Completions of models and checkpoints, in the shapes of the OpenAI API"),
    ("events", "Follow all jobs"),
    ("webhooks", "Have another server told what happens to jobs"),
    ("sessions", "Sign in with a browser"),
    ("api-keys", "Keys, projects and what was done with them; for administrators"),
    ("devices", "Devices, the machines that they are on, and the queue in front of them"),
    ("agents", "What machines without the database say, which run jobs for this server"),
    ("health", "Probes"),
];

/// The document as it is served and committed.
pub fn document() -> Value {
    let (_, paths, kinds) = routes().into_parts();
    let mut merged = Skeleton::openapi();
    merged.merge(paths);
    let mut document = serde_json::to_value(&merged).unwrap_or_default();
    let components = document["components"]["schemas"].as_object_mut().map(std::mem::take);
    let mut components = components.unwrap_or_default();
    specs::add(&mut components);
    schemas::name_values(&mut components);
    events::add(&mut components);
    document["components"]["schemas"] = Value::Object(components);
    specs::refer_from(&mut document);
    operations::complete(&mut document, &kinds);
    examples::add(&mut document);
    document["webhooks"] = message::webhooks();
    schemas::tidy(&mut document);
    frame(&mut document);
    document
}

/// What stands around the operations.
fn frame(document: &mut Value) {
    document["servers"] = json!([{"url": "/", "description": "The server that this document comes from"}]);
    document["security"] = json!([{"api_key": []}, {}]);
    document["components"]["securitySchemes"] = json!({"api_key": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key: `Authorization: Bearer ...`. A server that listens on a loopback address only may \
                        do without keys.",
    }});
    let used: Vec<String> = operations::all(document)
        .flat_map(|operation| operation["tags"].as_array().cloned().unwrap_or_default())
        .filter_map(|tag| tag.as_str().map(str::to_owned))
        .collect();
    let known = TAGS.iter().filter(|(name, _)| used.iter().any(|tag| tag == name));
    let mut tags: Vec<Value> = known.map(|(name, text)| json!({"name": name, "description": text})).collect();
    for tag in used {
        if !tags.iter().any(|known| known["name"] == *tag) {
            tags.push(json!({"name": tag}));
        }
    }
    document["tags"] = Value::Array(tags);
    let mut order = Map::new();
    let Some(object) = document.as_object_mut() else { return };
    for key in ["openapi", "info", "servers", "security", "tags", "paths", "webhooks", "components"] {
        order.extend(object.shift_remove_entry(key));
    }
    order.append(object);
    *object = order;
}

/// The document as it is served.
pub fn pages() -> Router<App> {
    let text = document().to_string();
    let serve = move || {
        let text = text.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], text) }
    };
    Router::new().route("/openapi.json", get(serve))
}

/// Calls `act` on a value and on everything in it, the inner parts first.
fn walk(value: &mut Value, act: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(object) => object.values_mut().for_each(|inner| walk(inner, act)),
        Value::Array(items) => items.iter_mut().for_each(|inner| walk(inner, act)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    act(value);
}

/// `pass_at_k` to `PassAtK`.
fn pascal(name: &str) -> String {
    let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split(['_', '-', '.', ' ']).filter(|word| !word.is_empty()).map(upper).collect()
}

/// A reference to a component.
fn refer(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The component that a reference names.
fn referred(value: &Value) -> Option<&str> {
    value["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

#[cfg(test)]
mod tests;
