//! What endpoints are sent, described: requests that this server makes and others answer.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::api::tail::JobEvent;
use crate::job::webhook::WebhookEvent;

/// The body of a message to a webhook endpoint.
#[derive(Serialize, ToSchema)]
pub struct WebhookMessage {
    /// What has happened, such as `job.succeeded`; `webhook.test` for a test.
    #[schema(example = "job.succeeded")]
    r#type: String,
    /// When it happened, RFC 3339.
    timestamp: String,
    data: WebhookMessageData,
}

/// What a message tells: the event and its job, or in a test the endpoint.
#[derive(Serialize, ToSchema)]
struct WebhookMessageData {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<JobEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<WebhookJob>,
    /// The endpoint that is tested; only in `webhook.test`.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_endpoint: Option<String>,
}

/// A job as it was when the message was made; it may have moved on since the event.
#[derive(Serialize, ToSchema)]
struct WebhookJob {
    id: String,
    /// Always `job`.
    object: String,
    kind: String,
    name: Option<String>,
    status: String,
    /// Null when nothing is trained.
    objective: Option<String>,
    step: u64,
    steps: u64,
    attempt: u32,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    started_at: Option<i64>,
    /// Unix seconds.
    finished_at: Option<i64>,
    #[schema(value_type = Option<Object>)]
    result: Option<Value>,
    #[schema(value_type = Option<Object>)]
    failure: Option<Value>,
    metadata: BTreeMap<String, String>,
}

/// The `webhooks` of the OpenAPI document: one for each type of event.
pub fn webhooks() -> Value {
    let header = |name: &str, description: &str| {
        let schema = json!({"type": "string"});
        json!({"name": name, "in": "header", "required": true, "description": description, "schema": schema})
    };
    let parameters = json!([
        header("webhook-id", "Names the message; the same in every try"),
        header("webhook-timestamp", "When this try was made, in Unix seconds; refuse what is older than five minutes"),
        header(
            "webhook-signature",
            "`v1,` and the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` by the bytes of the \
             secret; several, separated by spaces, while a secret is rotated"
        ),
    ]);
    let schema = json!({"$ref": "#/components/schemas/WebhookMessage"});
    let description = |event: &WebhookEvent| {
        let name = event.as_str();
        json!({"post": {
            "operationId": format!("on_{}", name.replace('.', "_")),
            "summary": name,
            "tags": ["webhooks"],
            "parameters": parameters,
            "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
            "responses": {
                "2XX": {"description": "The message has arrived"},
                "410": {"description": "Disables the endpoint"},
                "default": {"description": "The message is sent again later"},
            },
        }})
    };
    let hooks = WebhookEvent::ALL.iter().map(|event| (event.as_str().to_owned(), description(event)));
    Value::Object(hooks.collect::<Map<String, Value>>())
}
