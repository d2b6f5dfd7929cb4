//! The schemas of what clients send as a spec, from the types that read it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{pascal, refer, walk};
use crate::dataset::Columns;
use crate::objective::advice::Advice;
use crate::objective::frontier::Frontier;
use crate::spec::{EvaluationSpec, JobSpec, RolloutSetSpec};
use crate::{objective, verifier};

/// Adds the schemas of the specs with those of objectives and verifiers.
pub fn add(schemas: &mut Map<String, Value>) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.clone().into_generator();
    generator.subschema_for::<JobSpec>();
    generator.subschema_for::<RolloutSetSpec>();
    generator.subschema_for::<EvaluationSpec>();
    schemas.extend(generator.take_definitions(true));
    let mut generator = settings.for_serialize().into_generator();
    generator.subschema_for::<Columns>();
    generator.subschema_for::<Frontier>();
    generator.subschema_for::<Advice>();
    let mut answers = generator.take_definitions(true);
    for object in ["Frontier", "Advice"] {
        complete(schemas, object, answers.remove(object));
    }
    schemas.extend(answers);
    let objectives = objective::catalog().iter().map(|d| (d.name, d.summary, d.schema.clone()));
    let verifiers = verifier::catalog().iter().map(|d| (d.name, d.summary, d.schema.clone()));
    one_of(schemas, "ObjectiveSpec", "What is optimised; `type` says by which rule.", objectives.collect());
    one_of(schemas, "VerifierSpec", "How completions are scored; `type` says by which rule.", verifiers.collect());
    schemas["JobSpec"]["properties"]["objective"] = refer("ObjectiveSpec");
    let named = json!([{"type": "string"}, refer("VerifierSpec")]);
    let named_or_none = json!([{"type": "string"}, refer("VerifierSpec"), {"type": "null"}]);
    for (spec, forms) in [("JobSpec", &named_or_none), ("RolloutSetSpec", &named_or_none), ("EvaluationSpec", &named)] {
        schemas[spec]["properties"]["verifier"] =
            json!({"description": "A stored verifier (`vf_...`) or an inline one.", "anyOf": forms});
    }
}

/// Puts the specs where handlers take a body that they read themselves.
pub fn refer_from(document: &mut Value) {
    for (path, spec) in
        [("/v1/jobs", "JobSpec"), ("/v1/rollout-sets", "RolloutSetSpec"), ("/v1/evaluations", "EvaluationSpec")]
    {
        document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"] = refer(spec);
    }
    for (_, item) in document["paths"].as_object_mut().into_iter().flatten().filter(|(p, _)| p.ends_with("/manifest")) {
        item["get"]["responses"]["200"]["content"]["application/json"]["schema"] = refer("Manifest");
    }
    let schemas = &mut document["components"]["schemas"];
    schemas["CreateVerifier"]["properties"]["config"] = refer("VerifierSpec");
    schemas["Verifier"]["properties"]["config"] = refer("VerifierSpec");
    schemas["DatasetVersion"]["properties"]["columns"] = refer("Columns");
}

/// The members of what is said of a rollout set beside those that say which set it is of.
fn complete(schemas: &mut Map<String, Value>, object: &str, table: Option<Value>) {
    let Some(mut table) = table else { return };
    let (answer, object) = (format!("{object}Answer"), object.to_lowercase());
    let mut properties = json!({"object": {"type": "string", "const": object}, "rollout_set": {"type": "string"}});
    let mut required = vec![json!("object"), json!("rollout_set")];
    required.append(table["required"].as_array_mut().unwrap_or(&mut Vec::new()));
    if let (Some(all), Some(own)) = (properties.as_object_mut(), table["properties"].as_object_mut()) {
        all.append(own);
    }
    let description = &schemas[&answer]["description"];
    let whole = json!({"type": "object", "description": description, "required": required, "properties": properties});
    schemas.insert(answer, whole);
}

type Kind = (&'static str, &'static str, Value);

/// Adds a component for each kind, and one for the choice among them, told apart by `type`.
fn one_of(schemas: &mut Map<String, Value>, choice: &str, summary: &str, kinds: Vec<Kind>) {
    let prefix = choice.trim_end_matches("Spec");
    let shared = shared_definitions(&kinds);
    let mut mapping = Map::new();
    for (name, summary, mut schema) in kinds {
        let component = format!("{prefix}{}", pascal(name));
        let own = |definition: &str| match shared.contains(definition) {
            true => definition.to_owned(),
            false => format!("{component}{definition}"),
        };
        walk(&mut schema, &mut |value| {
            let target = value["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")).map(own);
            if let (Some(target), Some(object)) = (target, value.as_object_mut()) {
                object.extend(refer(&target).as_object().cloned().unwrap_or_default());
            }
        });
        let Some(object) = schema.as_object_mut() else { continue };
        for (definition, schema) in object.remove("$defs").and_then(|d| d.as_object().cloned()).unwrap_or_default() {
            schemas.insert(own(&definition), schema);
        }
        schemas.insert(component.clone(), tagged(name, summary, object));
        mapping.insert(name.to_owned(), refer(&component)["$ref"].clone());
    }
    schemas.insert(choice.to_owned(), tagged_choice(summary, mapping));
}

/// A choice among components that their `type` tells apart: from each type to its component.
pub fn tagged_choice(summary: &str, mapping: Map<String, Value>) -> Value {
    let alternatives: Vec<Value> = mapping.values().map(|target| json!({"$ref": target})).collect();
    let discriminator = json!({"propertyName": "type", "mapping": mapping});
    json!({"description": summary, "oneOf": alternatives, "discriminator": discriminator})
}

/// The names that several kinds use for the same definition.
fn shared_definitions(kinds: &[Kind]) -> BTreeSet<String> {
    let mut meanings: BTreeMap<&String, Vec<&Value>> = BTreeMap::new();
    for (name, definition) in kinds.iter().filter_map(|(_, _, schema)| schema["$defs"].as_object()).flatten() {
        meanings.entry(name).or_default().push(definition);
    }
    let one =
        meanings.into_iter().filter(|(_, all)| all.len() > 1 && all.iter().all(|definition| definition == &all[0]));
    one.map(|(name, _)| name.clone()).collect()
}

fn tagged(name: &str, summary: &str, object: &Map<String, Value>) -> Value {
    let mut properties = Map::from_iter([(String::from("type"), json!({"type": "string", "const": name}))]);
    properties.extend(object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default());
    let mut required = vec![json!("type")];
    required.extend(object.get("required").and_then(Value::as_array).cloned().unwrap_or_default());
    json!({
        "type": "object",
        "description": summary,
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}
