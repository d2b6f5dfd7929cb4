//! What the document says of how large, how long and how many is what the server does: every bound of every request is
//! tried from both sides, in bodies and in query parameters. A new field is in it from its first day.

mod common;

use anneal::job::{
    DatasetId, DatasetVersionId, EvaluationId, RolloutSetId, SuiteId, SuiteRunId, SweepId, UploadId, VerifierId,
    WebhookEndpointId, WorkerId,
};
use common::{Answer, Server, data_dir, small_spec};
use serde_json::{Value, json};

/// A model that is nowhere, so that what is within its bounds is still not done.
const NO_MODEL: &str = "mdl_00000000000000000000000000000000";

/// A place in a body, one of its bounds, and values on both sides of it.
struct Trial {
    pointer: String,
    bound: String,
    inside: Value,
    outside: Value,
}

/// The document, and how bodies are made from its schemas.
struct Document(Value);

impl Document {
    fn target<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => self.target(self.0.pointer(reference.trim_start_matches('#')).unwrap()),
            None => schema,
        }
    }

    /// The forms that a value may have, without null.
    fn forms<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.target(schema);
        let choices = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema[name].as_array()).flatten();
        let forms: Vec<_> = choices.flat_map(|form| self.forms(form)).filter(|form| form["type"] != "null").collect();
        if forms.is_empty() { vec![schema] } else { forms }
    }

    /// The least value of a schema.
    fn least(&self, schema: &Value) -> Value {
        let form = self.forms(schema)[0];
        for given in ["const", "example", "default"] {
            if let Some(value) = form.get(given).filter(|value| !value.is_null()) {
                return value.clone();
            }
        }
        if let Some(first) = form["enum"].get(0) {
            return first.clone();
        }
        if is(form, "object") {
            let required = form["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            return required.map(|name| (name.to_owned(), self.least(&form["properties"][name]))).collect();
        }
        if is(form, "array") {
            return vec![self.least(&form["items"]); form["minItems"].as_u64().unwrap_or(0) as usize].into();
        }
        if is(form, "integer") || is(form, "number") {
            return form.get("minimum").cloned().unwrap_or(json!(1));
        }
        if is(form, "boolean") { json!(false) } else { json!("a") }
    }

    /// Visits every place below a value of a schema: its pointer, its schema, and the body with something in it.
    fn places(&self, schema: &Value, pointer: &str, body: &Value, visit: &mut dyn FnMut(&str, &Value, &Value)) {
        for form in self.forms(schema) {
            let mut body = body.clone();
            // What an example says beyond the least is kept where it has the same form.
            let kept = match (body.pointer(pointer), form["properties"]["type"].get("const")) {
                (Some(Value::Object(object)), Some(name)) => object.get("type") == Some(name),
                (Some(here), _) => {
                    here.is_object()
                        && form
                            .get("properties")
                            .is_some_and(|known| here.as_object().unwrap().keys().all(|key| known.get(key).is_some()))
                }
                (None, _) => false,
            };
            if !kept {
                put(&mut body, pointer, self.least(form));
            }
            visit(pointer, form, &body);
            for (name, member) in form["properties"].as_object().into_iter().flatten() {
                self.places(member, &format!("{pointer}/{name}"), &body, visit);
            }
            if is(form, "array") {
                put(&mut body, pointer, json!([self.least(&form["items"])]));
                self.places(&form["items"], &format!("{pointer}/0"), &body, visit);
            }
        }
    }
}

fn is(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind)))
}

fn put(body: &mut Value, pointer: &str, value: Value) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        *body = value;
        return;
    };
    match body.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        object => object[name] = value,
    }
}

/// Values on both sides of every bound of one schema.
fn trials(pointer: &str, form: &Value, least_item: &dyn Fn() -> Value) -> Vec<Trial> {
    let whole = is(form, "integer");
    let number = |value: f64| if whole { json!(value as i64) } else { json!(value) };
    let step = |bound: f64| if whole { 1.0 } else { bound.abs().max(1e-3) * 1e-6 };
    let many = |count: u64| {
        let count = count as usize;
        if is(form, "array") { vec![least_item(); count].into() } else { json!("a".repeat(count)) }
    };
    let mut trials = Vec::new();
    let mut add = |bound: &str, inside: Value, outside: Value| {
        trials.push(Trial { pointer: pointer.to_owned(), bound: bound.to_owned(), inside, outside });
    };
    for (name, sign, itself) in [
        ("minimum", -1.0, true),
        ("maximum", 1.0, true),
        ("exclusiveMinimum", -1.0, false),
        ("exclusiveMaximum", 1.0, false),
    ] {
        let Some(bound) = form[name].as_f64() else { continue };
        let (beyond, within) = (bound + sign * step(bound), bound - sign * step(bound));
        if itself {
            add(name, number(bound), number(beyond));
        } else {
            add(name, number(within), number(bound));
        }
    }
    for name in ["minLength", "minItems"] {
        if let Some(bound) = form[name].as_u64().filter(|bound| *bound > 0) {
            add(name, many(bound), many(bound - 1));
        }
    }
    for name in ["maxLength", "maxItems"] {
        if let Some(bound) = form[name].as_u64() {
            add(name, many(bound), many(bound + 1));
        }
    }
    trials
}

/// What an answer says against the value at a place, if anything; a rule between two fields names the other one.
fn refusal(answer: &Answer, pointer: &str) -> Option<String> {
    if answer.status < 400 {
        return None;
    }
    let body = answer.json();
    let errors = body["errors"].as_array().cloned().unwrap_or_default();
    let against = |error: &&Value| error["pointer"].as_str().is_some_and(|at| at == pointer);
    errors.iter().find(against).map(|error| error["detail"].as_str().unwrap().to_owned())
}

/// Puts ids and words in the place of the least texts, where only those can be read at all.
fn name_things(body: &mut Value, job: &str) {
    let words = [("job", job), ("id", "wrk_0198f6c2a7d47e0c8f6f0d9f0e6b5a31"), ("type", "log"), ("level", "info")];
    match body {
        Value::Object(members) => {
            for (name, value) in members {
                match words.iter().find(|(word, _)| word == name) {
                    Some((_, word)) if value == "a" => *value = json!(word),
                    _ => name_things(value, job),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_things(item, job)),
        _ => {}
    }
}

/// A path with ids of the right kinds: a job that is there, and of all else what is not, for bounds come first.
fn with_ids(path: &str, job: &str) -> String {
    if path.starts_with("/v1/agent/") {
        let worker = WorkerId::generate().to_string();
        return path.replace("{job}", job).replace("{attempt}", "1").replace("{call}", "1").replace("{id}", &worker);
    }
    let id = match path.split('/').nth(2).unwrap_or_default() {
        "jobs" | "fine_tuning" => job.to_owned(),
        // Its limits are not those of the requests to come.
        "projects" => String::from("elsewhere"),
        "datasets" => DatasetId::generate().to_string(),
        "dataset-versions" => DatasetVersionId::generate().to_string(),
        "verifiers" => VerifierId::generate().to_string(),
        "rollout-sets" => RolloutSetId::generate().to_string(),
        "evaluations" => EvaluationId::generate().to_string(),
        "suites" => SuiteId::generate().to_string(),
        "suite-runs" => SuiteRunId::generate().to_string(),
        "sweeps" => SweepId::generate().to_string(),
        "uploads" => UploadId::generate().to_string(),
        "webhook_endpoints" => WebhookEndpointId::generate().to_string(),
        _ => String::from("0"),
    };
    path.split('/').map(|part| if part.starts_with('{') { id.as_str() } else { part }).collect::<Vec<_>>().join("/")
}

#[test]
fn every_bound_of_a_body_holds_on_both_sides() {
    let data = data_dir();
    let mut server = Server::start(data.path());
    let key = json!({"name": "k", "scopes": ["read", "write", "admin", "agent"]});
    let key = server.post("/v1/api-keys", &key).json()["key"].as_str().unwrap().to_owned();
    server.use_key(&key);
    let job = server.submit(&small_spec());
    server.wait(&job);
    let document = Document(server.get("/openapi.json").json());
    let (mut tried, mut wrong) = (0, Vec::new());
    for (path, item) in document.0["paths"].as_object().unwrap() {
        for method in ["post", "put", "patch"] {
            let content = &item[method]["requestBody"]["content"]["application/json"];
            let Some(schema) = content.get("schema") else { continue };
            let example = content["examples"].as_object().and_then(|all| all.values().next());
            let mut body = example.map_or_else(|| document.least(schema), |example| example["value"].clone());
            if body.get("model").is_some() {
                body["model"] = json!(NO_MODEL);
            }
            let place = with_ids(path, &job);
            document.places(schema, "", &body, &mut |pointer, form, body| {
                for trial in trials(pointer, form, &|| document.least(&form["items"])) {
                    tried += 1;
                    let ask = |value: Value| {
                        let mut body = body.clone();
                        put(&mut body, &trial.pointer, value);
                        name_things(&mut body, &job);
                        let answer = server.request(&method.to_uppercase(), &place, &[], Some(&body));
                        assert_ne!(answer.status, 500, "{method} {path} {body}");
                        refusal(&answer, &trial.pointer)
                    };
                    let (inside, outside) = (ask(trial.inside.clone()), ask(trial.outside.clone()));
                    let at = format!("{method} {path} {} {}", trial.pointer, trial.bound);
                    if inside.as_ref().is_some_and(|detail| detail.starts_with("must ") && !detail.contains('`')) {
                        wrong.push(format!("{at}: {} is refused: {}", trial.inside, inside.unwrap()));
                    }
                    if outside.is_none() {
                        wrong.push(format!("{at}: {} is admitted", trial.outside));
                    }
                }
            });
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 200, "{tried}");
}

#[test]
fn every_bound_of_a_parameter_holds_on_both_sides() {
    let data = data_dir();
    let server = Server::start(data.path());
    // A poll for events ends at once where there are some.
    let job = server.submit(&small_spec());
    server.wait(&job);
    let document = Document(server.get("/openapi.json").json());
    let (mut tried, mut wrong) = (0, Vec::new());
    for (path, item) in document.0["paths"].as_object().unwrap() {
        let place = with_ids(path, &job);
        let of_query = |parameter: &&Value| parameter["in"] == "query";
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten().filter(of_query) {
            let name = parameter["name"].as_str().unwrap_or_default();
            // What else the request needs.
            let needed = match path.as_str() {
                "/v1/metrics" if name != "jobs" => format!("jobs={job}&"),
                "/api/2.0/mlflow/metrics/get-history" => format!("run_id={job}&metric_key=loss&"),
                _ => String::new(),
            };
            for trial in trials(name, document.target(&parameter["schema"]), &|| json!("a")) {
                tried += 1;
                let ask = |value: &Value| {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    let answer = server.get(&format!("{place}?{needed}{name}={value}"));
                    (answer.status == 400).then(|| answer.json()["detail"].as_str().unwrap().to_owned())
                };
                if let Some(detail) = ask(&trial.inside) {
                    wrong.push(format!("{path} {name} {}: {} is refused: {detail}", trial.bound, trial.inside));
                }
                if ask(&trial.outside).is_none() {
                    wrong.push(format!("{path} {name} {}: {} is admitted", trial.bound, trial.outside));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 40, "{tried}");
}

#[test]
fn every_example_of_a_body_is_accepted_by_what_reads_it() {
    let data = data_dir();
    let server = Server::start(data.path());
    let document = server.get("/openapi.json").json();
    let has_examples = |item: &Value| {
        let content = item["post"]["requestBody"]["content"].as_object();
        content.is_some_and(|content| content.values().any(|content| content["examples"].is_object()))
    };
    let mut paths: Vec<_> = document["paths"].as_object().unwrap().iter().filter(|(_, i)| has_examples(i)).collect();
    // What is made comes before what belongs to it, and last the key, without which no request goes through any more.
    paths.sort_by_key(|(path, _)| (path.as_str() == "/v1/api-keys", path.matches('/').count()));
    let mut made = std::collections::HashMap::new();
    for (path, item) in &paths {
        let (kind, content) = item["post"]["requestBody"]["content"].as_object().unwrap().iter().next().unwrap();
        for (name, example) in content["examples"].as_object().unwrap() {
            let resource = path.split('/').nth(2).unwrap();
            let at = path.replace("{id}", made.get(resource).map_or("", String::as_str));
            let answer = match &example["value"] {
                Value::String(lines) => server.post_bytes(&at, lines.as_bytes(), &[("content-type", kind)]),
                value => server.post(&at, value),
            };
            assert!([200, 201].contains(&answer.status), "{path} {name}: {} {}", answer.status, answer.json());
            let thing = answer.json();
            match resource {
                "jobs" => {
                    // Others wait for its end.
                    let id = thing["id"].as_str().unwrap();
                    assert_eq!(server.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).status, 200);
                }
                "rollout-sets" if thing["job"].is_string() => drop(server.wait(thing["job"].as_str().unwrap())),
                _ => {}
            }
            if let (201, Some(id)) = (answer.status, thing["id"].as_str()) {
                made.entry(resource).or_insert_with(|| id.to_owned());
            }
        }
    }
    assert!(paths.len() > 11, "{}", paths.len());
}
