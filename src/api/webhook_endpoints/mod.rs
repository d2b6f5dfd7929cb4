//! Webhook endpoints: servers of clients that are told what happens to jobs.

pub mod create;
pub mod delete;
pub mod deliveries;
pub mod get;
pub mod list;
pub mod message;
pub mod rotate_secret;
pub mod test;
pub mod update;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::api::places::Places;
use crate::job::FieldError;
use crate::job::metadata::check_metadata;
use crate::job::webhook::{Secret, check_subscriptions};
use crate::outbound;
use crate::store::WebhookEndpointRow;
use crate::webhook;

/// How long the look-up of a host may take.
const LOOK_UP: Duration = Duration::from_secs(5);
/// Look-ups at once.
const MOST_LOOK_UPS: usize = 16;

/// A server that is told what happens to jobs.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookEndpoint {
    #[schema(example = "we_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `webhook_endpoint`.
    pub object: &'static str,
    #[schema(example = "https://ci.example.org/hooks/anneal")]
    pub url: String,
    /// The types of events it is told; `*` stands for all.
    #[schema(example = json!(["job.succeeded", "job.failed"]))]
    pub events: Vec<String>,
    /// `standard`, `slack` or `discord`.
    #[schema(example = "standard")]
    pub format: &'static str,
    pub description: Option<String>,
    /// Nothing is sent to an endpoint that is not enabled, and it never gets what happens meanwhile.
    pub enabled: bool,
    /// Why the server has disabled it: the receiver answered 410, or nothing has arrived for three days.
    pub disabled_reason: Option<String>,
    /// What the receiver checks signatures with; shown when the endpoint is created and when its secret is rotated, and
    /// never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")]
    pub secret: Option<String>,
    /// Until when messages carry a signature by the secret before the last rotation too. Unix seconds.
    pub previous_secret_expires_at: Option<i64>,
    /// Unix seconds.
    pub created_at: i64,
    pub metadata: BTreeMap<String, String>,
}

impl From<WebhookEndpointRow> for WebhookEndpoint {
    fn from(row: WebhookEndpointRow) -> Self {
        let now = crate::clock::now();
        let old = row.old_secret_until.filter(|until| *until > now);
        Self {
            id: row.id.to_string(),
            object: "webhook_endpoint",
            url: row.url,
            events: row.events,
            format: row.format.as_str(),
            description: row.description,
            enabled: row.enabled,
            disabled_reason: row.disabled_reason,
            secret: None,
            previous_secret_expires_at: old.map(|until| until.unix_seconds()),
            created_at: row.created_at.unix_seconds(),
            metadata: row.metadata,
        }
    }
}

impl WebhookEndpoint {
    /// The only two answers that show the secret.
    fn with_secret(row: WebhookEndpointRow, secret: &Secret) -> Self {
        Self { secret: Some(secret.reveal().to_owned()), ..row.into() }
    }
}

fn new_secret() -> Result<Secret, Problem> {
    Ok(webhook::new_secret().map_err(std::io::Error::other)?)
}

/// Checks what a client says about an endpoint; absent is what it does not say. The host is looked up last.
async fn check(
    app: &App,
    url: Option<&str>,
    events: Option<&[String]>,
    metadata: Option<&BTreeMap<String, String>>,
) -> Result<(), Problem> {
    let mut errors = metadata.and_then(|pairs| check_metadata(pairs).err()).unwrap_or_default();
    errors.extend(events.map(|events| check_subscriptions(events, "/events")).unwrap_or_default());
    if let Some(url) = url {
        errors.extend(check_url(app, url).await?);
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

async fn check_url(app: &App, url: &str) -> Result<Option<FieldError>, Problem> {
    static PLACES: LazyLock<Places> = LazyLock::new(|| Places::new(MOST_LOOK_UPS));
    let guard = &app.settings.webhook_guard;
    let (own_guard, text) = (guard.clone(), url.to_owned());
    let turn = PLACES.turn(app.store.own_project(), "have hosts looked up").await?;
    let looked_up = blocking(move || {
        // Where a resolver is silent, a look-up lasts longer than its client waits.
        let _turn = turn;
        outbound::check_url(&own_guard, &text)
    });
    let checked = match tokio::time::timeout(LOOK_UP, looked_up).await {
        Ok(checked) => checked?,
        Err(_) => Err(outbound::not_found(guard, url)),
    };
    Ok(checked.err().map(|refusal| FieldError::new("/url", refusal.code(), refusal.to_string())))
}
