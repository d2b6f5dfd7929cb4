//! Laws of the whole document, over whatever routes there are.

use std::collections::BTreeSet;

use super::*;
use crate::spec::{JobSpec, RolloutSetSpec};
use crate::{objective, verifier};

fn operations_of(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, item)| item.as_object().unwrap().iter().map(move |m| (path, m)));
    methods.map(|(path, (method, operation))| (format!("{method} {path}"), operation)).collect()
}

#[test]
fn every_reference_leads_somewhere() {
    let mut document = document();
    let mut references = BTreeSet::new();
    walk(&mut document, &mut |value| {
        let reference = value.get("$ref").and_then(Value::as_str).map(str::to_owned);
        references.extend(reference);
    });
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}; name it in components(schemas(...))");
    }
}

#[test]
fn every_operation_is_complete() {
    let document = document();
    let mut names = BTreeSet::new();
    for (place, operation) in operations_of(&document) {
        let name = operation["operationId"].as_str().unwrap();
        assert!(names.insert(name.to_owned()), "{name} is used twice");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{place}: no summary");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{place}: one tag groups it");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.as_str() < "400"), "{place}: no success");
        assert!(responses.contains_key("500"), "{place}");
        for (status, response) in responses {
            let response = match response["$ref"].as_str() {
                Some(reference) => document.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
                None => response,
            };
            assert!(response["description"].as_str().is_some_and(|t| !t.is_empty()), "{place} {status}");
            assert!(response["headers"].get("x-request-id").is_some(), "{place} {status}");
        }
    }
    for tag in document["tags"].as_array().unwrap() {
        assert!(tag["description"].is_string(), "{tag} stands in no list; add it to TAGS");
    }
}

#[test]
fn names_of_schemas_are_names_for_types() {
    let document = document();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()) && name.starts_with(char::is_uppercase), "{name}");
    }
}

#[test]
fn objectives_and_verifiers_are_told_apart_by_type() {
    let document = document();
    let kinds = [
        ("ObjectiveSpec", objective::catalog().iter().map(|d| d.name).collect::<Vec<_>>()),
        ("VerifierSpec", verifier::catalog().iter().map(|d| d.name).collect()),
    ];
    for (choice, names) in kinds {
        let choice = &document["components"]["schemas"][choice];
        let mapping = choice["discriminator"]["mapping"].as_object().unwrap();
        assert_eq!(mapping.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
        for (name, target) in mapping {
            let schema = document.pointer(target.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
            assert_eq!(schema["properties"]["type"]["const"], **name);
            assert_eq!(schema["additionalProperties"], false);
        }
    }
}

#[test]
fn examples_of_requests_are_accepted_by_what_reads_them() {
    for (path, _, name, _, body) in examples::requests() {
        match path {
            "/v1/jobs" => {
                JobSpec::parse(&body).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            }
            "/v1/rollout-sets" => {
                RolloutSetSpec::parse(&body).unwrap();
            }
            "/v1/verifiers" => {
                verifier::Config::parse(&body["config"], "/config").unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn bodies_of_bytes_are_not_lists_of_numbers() {
    let mut document = document();
    let mut found = 0;
    walk(&mut document, &mut |value| {
        if let Some(content) = value.get("application/octet-stream") {
            found += 1;
            assert_eq!(content["schema"]["format"], "binary", "{content}");
        }
    });
    assert!(found >= 2);
}

/// The document would hold only one of two types with the same name.
#[test]
fn no_two_schemas_have_the_same_name() {
    let derived = regex::Regex::new(r"derive\([^)]*ToSchema[^)]*\)\][^{;]*?(?:struct|enum) (\w+)").unwrap();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/api"))];
    let mut names = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for name in derived.captures_iter(&text).map(|found| found[1].to_owned()) {
                assert!(names.insert(name.clone()), "{name} in {} is the second", path.display());
            }
        }
    }
    assert!(names.len() > 100, "{}", names.len());
}
