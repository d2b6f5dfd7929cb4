//! Passes over operations: names, parameters, the answers and headers that every operation may give.

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::refer;
use super::schemas::codes_of;
use crate::api::route::Kinds;

const PROBLEM: &str = "application/problem+json";

/// Functions of generated clients, where a handler's name says too little outside of its module.
const NAMES: &[(&str, &str)] = &[
    ("healthz", "get_health"),
    ("readyz", "get_readiness"),
    ("metrics", "get_server_metrics"),
    ("list_metrics", "get_metrics_catalog"),
    ("job_events", "list_job_events"),
    ("job_metrics", "get_job_metrics"),
    ("job_checkpoints", "list_job_checkpoints"),
    ("frontier", "compute_frontier"),
    ("advice", "advise"),
];

/// Parameters that take the words of a component: operation, parameter, component.
const WORDS: &[(&str, &str, &str)] =
    &[("list_jobs", "status", "JobStatus"), ("list_jobs", "kind", "JobKind"), ("create_job", "dry_run", "DryRun")];

/// Errors that any operation may answer with: status, name of the component, what it means.
const ERRORS: &[(&str, &str, &str)] = &[
    ("400", "BadRequest", "The request cannot be read: a parameter, a header or the body is malformed"),
    ("401", "Unauthorized", "The request has no key, or one that is unknown, expired or revoked"),
    ("403", "Forbidden", "The key lacks the scope, or the host or the page that the request comes from is not allowed"),
    ("404", "NotFound", "There is no such thing, or it belongs to another project"),
    ("409", "Conflict", "The resource is not in a state that allows this, or a name stands for several"),
    ("412", "PreconditionFailed", "The resource has changed since the `ETag` in `If-Match` was read"),
    ("413", "ContentTooLarge", "The body is larger than the server takes"),
    ("422", "Unprocessable", "Fields of the body are at fault; `errors` names them"),
    ("429", "TooManyRequests", "Too many requests, or too many open streams; wait as long as `Retry-After` says"),
    ("500", "Internal", "Something went wrong on the server; its log has the details under the request id"),
    ("503", "Unavailable", "The server is busy or about to end; try again after a while"),
    ("507", "StorageFull", "The server's disk is full; nothing was stored"),
];

/// Every operation of the document.
pub fn all(document: &Value) -> impl Iterator<Item = &Value> {
    document["paths"]
        .as_object()
        .into_iter()
        .flat_map(|paths| paths.values())
        .filter_map(Value::as_object)
        .flatten()
        .filter(|(method, _)| *method != "parameters")
        .map(|(_, operation)| operation)
}

/// Completes every operation, and adds the components that they share.
pub fn complete(document: &mut Value, kinds: &Kinds) {
    let responses = ERRORS.iter().map(|(status, name, text)| ((*name).to_owned(), problem(status, text)));
    document["components"]["responses"] = Value::Object(responses.collect());
    document["components"]["headers"] = headers();
    document["components"]["parameters"] = json!({"IdempotencyKey": idempotency_key()});
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, item) in paths.iter_mut() {
        let revisable = item.get("patch").is_some();
        let public = kinds.get(path).is_some_and(|kind| kind.scope(&Method::POST).is_none());
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            let Some(operation) = operation.as_object_mut() else { continue };
            name(operation);
            operation.get_mut("requestBody").map(bytes_are_bytes);
            parameters(method, operation);
            let keyed = has_parameter(operation, "Idempotency-Key");
            add_errors(path, method, operation, keyed, public);
            let tagged = has_parameter(operation, "If-None-Match") || (revisable && method != "delete");
            answers(operation, keyed, tagged);
            if public {
                operation.insert(String::from("security"), json!([]));
            }
        }
    }
}

fn name(operation: &mut Map<String, Value>) {
    let name = operation.get("operationId").and_then(Value::as_str).unwrap_or_default();
    let name = NAMES.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to).to_owned();
    operation.insert(String::from("operationId"), json!(name));
}

/// A parameter that is optional is left out, not null; those that many operations share are components.
fn parameters(method: &str, operation: &mut Map<String, Value>) {
    let name = operation.get("operationId").cloned().unwrap_or_default();
    let creates = method == "post"
        && operation["responses"].get("201").is_some()
        && operation.get("requestBody").is_some_and(|body| body["content"].get("application/json").is_some());
    let list = operation.entry("parameters").or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else { return };
    for parameter in list.iter_mut() {
        if parameter["name"] == "Idempotency-Key" {
            *parameter = json!({"$ref": "#/components/parameters/IdempotencyKey"});
            continue;
        }
        let words = WORDS.iter().find(|(operation, of, _)| name == **operation && parameter["name"] == **of);
        if let Some((_, _, component)) = words {
            parameter["schema"] = refer(component);
        }
        let schema = &mut parameter["schema"];
        let types = schema["type"].as_array().cloned().unwrap_or_default();
        if let [one] = types.iter().filter(|kind| **kind != "null").collect::<Vec<_>>()[..] {
            schema["type"] = one.clone();
        }
    }
    let keyed = json!({"$ref": "#/components/parameters/IdempotencyKey"});
    if creates && !list.contains(&keyed) {
        list.push(keyed);
    }
    if list.is_empty() {
        operation.shift_remove("parameters");
    }
}

fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "required": false,
        "description": "Makes the request safe to repeat: for 24 hours the same key with the same body answers with \
                        what the first request made.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        "example": "nightly-2026-01-31",
    })
}

fn has_parameter(operation: &Map<String, Value>, name: &str) -> bool {
    let list = operation.get("parameters").and_then(Value::as_array);
    let key = name == "Idempotency-Key";
    list.into_iter()
        .flatten()
        .any(|p| p["name"] == name || (key && p["$ref"] == "#/components/parameters/IdempotencyKey"))
}

/// Which of the shared errors an operation may answer with, by what it takes and what it does.
fn applies(status: &str, path: &str, method: &str, operation: &Map<String, Value>, keyed: bool, public: bool) -> bool {
    let versioned = path.starts_with("/v1/");
    let writes = method != "get";
    let of_one = path.contains('{');
    let body = operation.contains_key("requestBody");
    let takes = |place: &str| {
        let list = operation.get("parameters").and_then(Value::as_array);
        list.into_iter().flatten().any(|parameter| parameter["in"] == place)
    };
    match status {
        "400" => body || keyed || takes("query") || takes("header"),
        "401" | "429" | "503" => !public,
        "403" | "500" => true,
        "404" => of_one,
        "409" => of_one || (writes && keyed),
        "412" => has_parameter(operation, "If-Match"),
        "413" | "422" => body,
        "507" => writes && versioned,
        _ => false,
    }
}

fn add_errors(path: &str, method: &str, operation: &mut Map<String, Value>, keyed: bool, public: bool) {
    let shared: Vec<_> = ERRORS.iter().filter(|(s, _, _)| applies(s, path, method, operation, keyed, public)).collect();
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, name, _) in shared {
        responses.entry(*status).or_insert_with(|| json!({"$ref": format!("#/components/responses/{name}")}));
    }
    for (status, response) in responses.iter_mut().filter(|(_, response)| response["content"].get(PROBLEM).is_some()) {
        let text = response["description"].as_str().unwrap_or_default().to_owned();
        *response = problem(status, &text);
    }
    responses.sort_keys();
}

/// An error answer.
fn problem(status: &str, text: &str) -> Value {
    let codes = codes_of(status);
    let listed: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
    let text = if listed.is_empty() { text.to_owned() } else { format!("{text}. Codes: {}", listed.join(", ")) };
    let mut headers = Map::from_iter([header("x-request-id", "RequestId")]);
    match status {
        "409" => headers.extend([header("x-should-retry", "ShouldRetry")]),
        "416" => headers.extend([header("Content-Range", "ContentRange")]),
        "429" => headers.extend([
            header("Retry-After", "RetryAfter"),
            header("x-should-retry", "ShouldRetry"),
            header("x-ratelimit-limit-requests", "RateLimitLimit"),
            header("x-ratelimit-remaining-requests", "RateLimitRemaining"),
            header("x-ratelimit-reset-requests", "RateLimitReset"),
        ]),
        "503" => headers.extend([header("Retry-After", "RetryAfter"), header("x-should-retry", "ShouldRetry")]),
        _ => {}
    }
    json!({"description": text, "headers": headers, "content": {PROBLEM: {"schema": refer("ProblemBody")}}})
}

fn header(name: &str, component: &str) -> (String, Value) {
    (name.to_owned(), json!({"$ref": format!("#/components/headers/{component}")}))
}

fn headers() -> Value {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "RequestId": text("Names this request in the server's log; one that the client sends is kept."),
        "ETag": text("The version of what is answered, for `If-Match`, `If-None-Match` and `If-Range`."),
        "ReprDigest": text("`sha-256=:...:`, the digest of the whole file in base64 (RFC 9530)."),
        "ContentDisposition": text("The name of the file."),
        "ContentRange": text("Which bytes these are, and of how many."),
        "AcceptRanges": text("`bytes`: a download can be resumed."),
        "IdempotentReplayed": text("`true` when an earlier request with the same key made what is answered."),
        "ShouldRetry": text("`false`: the same request will fail the same way; `true`: it passes by itself."),
        "RetryAfter": number("Seconds to wait before the next attempt."),
        "RateLimitLimit": number("Requests that the key may make in a minute."),
        "RateLimitRemaining": number("Requests that it may make at once."),
        "RateLimitReset": text("How long until it may make as many as ever, such as `1.250s`."),
    })
}

/// What answers other than errors have in common.
fn answers(operation: &mut Map<String, Value>, keyed: bool, tagged: bool) {
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, response) in responses.iter_mut().filter(|(status, _)| status.as_str() < "400") {
        if response["description"].as_str().is_none_or(str::is_empty) {
            response["description"] = json!(match status.as_str() {
                "201" => "Made",
                "202" => "Accepted",
                "204" => "Done; there is nothing to say",
                "304" => "Not modified",
                _ => "As asked for",
            });
        }
        let mut headers = Map::from_iter([header("x-request-id", "RequestId")]);
        let file = binary(response);
        if keyed && status == "201" {
            headers.extend([header("Idempotent-Replayed", "IdempotentReplayed")]);
        }
        if tagged {
            headers.extend([header("ETag", "ETag")]);
        }
        if file && tagged {
            headers.extend([
                header("Accept-Ranges", "AcceptRanges"),
                header("Content-Disposition", "ContentDisposition"),
                header("Repr-Digest", "ReprDigest"),
            ]);
        }
        if status == "206" {
            headers.extend([header("Content-Range", "ContentRange")]);
        }
        let own = response.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
        headers.extend(own);
        response["headers"] = Value::Object(headers);
        server_sent(response);
    }
}

/// Rows are sent as they lie on disk; no client should have to hold them as a text, nor other bytes as numbers.
fn bytes_are_bytes(body: &mut Value) {
    binary(body);
    if let Some(content) = body["content"].get_mut("application/jsonl") {
        content["schema"] = json!({"type": "string", "format": "binary", "contentMediaType": "application/jsonl"});
    }
}

/// Describes bodies that are bytes and not text; says whether there are any.
fn binary(message: &mut Value) -> bool {
    let mut any = false;
    for (kind, content) in message.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        if content["schema"]["items"]["type"] == "integer" && kind != "application/json" {
            content["schema"] = json!({"type": "string", "format": "binary", "contentMediaType": kind});
            any = true;
        }
    }
    any
}

/// Describes a stream beside a list of the same events.
fn server_sent(response: &mut Value) {
    let list = response["content"]["application/json"]["schema"]["$ref"].as_str();
    let Some(item) = list.and_then(|name| name.rsplit_once("/List_")).map(|(_, item)| item.to_owned()) else { return };
    let Some(stream) = response["content"].get_mut("text/event-stream") else { return };
    stream["schema"] = json!({
        "type": "string",
        "contentMediaType": "text/event-stream",
        "description": "Server-sent events: `id` is the event's `seq`, `event` its `type`, `data` the event in one \
                        line of JSON. A comment every 15 seconds keeps a quiet stream open. After the last event of a \
                        finished job the server closes the stream; a client that is cut off before that reconnects \
                        with `Last-Event-ID`.",
        "x-event-stream": {
            "id": {"type": "integer", "format": "int64", "description": "`seq` of the event"},
            "event": {"type": "string", "description": "`type` of the event"},
            "data": {"contentMediaType": "application/json", "schema": refer(&item)},
        },
    });
}
