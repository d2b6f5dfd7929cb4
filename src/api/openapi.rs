//! The OpenAPI document: routes and answers from the handlers' own descriptions, the job spec from the types that
//! read it, so that defaults, bounds and explanations have one source.

use axum::Router;
use axum::http::header;
use axum::response::Redirect;
use axum::routing::get;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::webhook_endpoints::message::{self, WebhookMessage};
use super::{App, routes};
use crate::job::{EvaluationSpec, JobSpec, RolloutSetSpec};
use crate::{objective, verifier};

#[derive(OpenApi)]
#[openapi(
    components(schemas(WebhookMessage)),
    info(
        title = "Anneal",
        description = "Self-hosted training service for verifiable-reward post-training of language models.\n\nA job \
                       names a base model, a data set, a verifier and an objective; it is queued onto a device, \
                       streams its events, and ends with a checkpoint to download."
    ),
    tags(
        (name = "jobs", description = "Submit, follow and cancel training jobs"),
        (name = "rollouts", description = "Sample and score without training; browse, analyse and keep completions"),
        (name = "evaluations", description = "Measure models on held-out rows and compare them prompt by prompt"),
        (name = "datasets", description = "Upload rows to train and evaluate on"),
        (name = "models", description = "Models that jobs start from"),
        (name = "verifiers", description = "Stored ways to score completions"),
        (name = "checkpoints", description = "Download what jobs made"),
        (name = "inference", description = "Completions of models and checkpoints, in the shapes of the OpenAI API"),
        (name = "fine-tuning", description = "Training jobs and graders as OpenAI clients know them"),
        (name = "files", description = "Files as OpenAI clients upload them, whole or in parts"),
        (name = "objectives", description = "What can be optimised"),
        (name = "events", description = "Follow all jobs"),
        (name = "webhooks", description = "Have another server told what happens to jobs"),
        (name = "devices", description = "Devices and the queue in front of them"),
        (name = "health", description = "Probes"),
    )
)]
struct Skeleton;

/// The document as it is served and committed.
pub fn document() -> Value {
    let (_, paths) = routes().split_for_parts();
    let mut merged = Skeleton::openapi();
    merged.merge(paths);
    let mut document = serde_json::to_value(&merged).unwrap_or_default();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        add_specs(schemas);
    }
    for (path, spec) in
        [("/v1/jobs", "JobSpec"), ("/v1/rollout-sets", "RolloutSetSpec"), ("/v1/evaluations", "EvaluationSpec")]
    {
        document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"] =
            json!({"$ref": format!("#/components/schemas/{spec}")});
    }
    document["webhooks"] = message::webhooks();
    document
}

/// Adds the schemas of the specs with those of objectives and verifiers.
fn add_specs(schemas: &mut Map<String, Value>) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    generator.subschema_for::<JobSpec>();
    generator.subschema_for::<RolloutSetSpec>();
    generator.subschema_for::<EvaluationSpec>();
    schemas.extend(generator.take_definitions(true));
    let objectives = objective::catalog().into_iter().map(|d| (d.name, d.summary, d.schema));
    let verifiers = verifier::catalog().into_iter().map(|d| (d.name, d.summary, d.schema));
    schemas.insert(String::from("ObjectiveSpec"), one_of(objectives));
    schemas.insert(String::from("VerifierSpec"), one_of(verifiers));
    schemas["JobSpec"]["properties"]["objective"] = json!({"$ref": "#/components/schemas/ObjectiveSpec"});
    let named = json!([{"type": "string"}, {"$ref": "#/components/schemas/VerifierSpec"}]);
    let named_or_none = json!([{"type": "string"}, {"$ref": "#/components/schemas/VerifierSpec"}, {"type": "null"}]);
    for (spec, forms) in [("JobSpec", &named_or_none), ("RolloutSetSpec", &named_or_none), ("EvaluationSpec", &named)] {
        schemas[spec]["properties"]["verifier"] =
            json!({"description": "A stored verifier (`vf_...`) or an inline one.", "anyOf": forms});
    }
}

/// Alternatives told apart by their `type`.
fn one_of(kinds: impl Iterator<Item = (&'static str, &'static str, Value)>) -> Value {
    let alternatives: Vec<Value> = kinds
        .map(|(name, summary, mut schema)| {
            let tag = json!({"type": "string", "const": name});
            if let Some(object) = schema.as_object_mut() {
                object.shift_remove("$schema");
                object.insert(String::from("title"), json!(name));
                object.insert(String::from("description"), json!(summary));
                let mut properties = Map::from_iter([(String::from("type"), tag)]);
                properties.extend(object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default());
                object.insert(String::from("properties"), Value::Object(properties));
                let required = object.entry("required").or_insert_with(|| json!([]));
                if let Some(list) = required.as_array_mut() {
                    list.insert(0, json!("type"));
                }
            }
            inline(&schema.clone(), &schema)
        })
        .collect();
    json!({"oneOf": alternatives})
}

/// Replaces references to a schema's own definitions by what they stand for.
fn inline(value: &Value, root: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let target = object.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/"));
            if let Some(name) = target {
                let mut resolved = inline(&root["$defs"][name], root);
                if let (Some(resolved), rest) = (resolved.as_object_mut(), object) {
                    resolved.extend(rest.iter().filter(|(k, _)| *k != "$ref").map(|(k, v)| (k.clone(), v.clone())));
                }
                return resolved;
            }
            object.iter().filter(|(key, _)| *key != "$defs").map(|(k, v)| (k.clone(), inline(v, root))).collect()
        }
        Value::Array(items) => items.iter().map(|item| inline(item, root)).collect(),
        other => other.clone(),
    }
}

/// Adds the document and the pages that show it; their files are part of the program.
pub fn mount(router: Router<App>) -> Router<App> {
    let text = document().to_string();
    let serve = move || {
        let text = text.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], text) }
    };
    router
        .route("/openapi.json", get(serve))
        .route("/", get(|| async { Redirect::temporary("/docs/") }))
        .merge(SwaggerUi::new("/docs").config(Config::from("/openapi.json")))
}
