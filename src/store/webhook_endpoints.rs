//! Where webhooks are sent to.

use std::collections::BTreeMap;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::vault::Vault;
use super::{Page, Result, Store, StoreError, flag, read, read_json, write_json};
use crate::job::webhook::{ROTATION_SECONDS, Secret, WebhookFormat};
use crate::job::{Timestamp, WebhookEndpointId};

/// As what secrets are encrypted.
const SECRET: &str = "webhook secret";
/// Endpoints of one project.
const MOST_ENDPOINTS: i64 = 100;

/// An endpoint without its secrets, which need the key to be read.
#[derive(Clone, Debug)]
pub struct WebhookEndpointRow {
    pub id: WebhookEndpointId,
    pub url: String,
    pub description: Option<String>,
    /// The types of events it is told, or `*`.
    pub events: Vec<String>,
    pub format: WebhookFormat,
    pub enabled: bool,
    /// Why the server has disabled it.
    pub disabled_reason: Option<String>,
    /// Until when the secret before the last rotation signs too.
    pub old_secret_until: Option<Timestamp>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

/// What is to be different about an endpoint.
#[derive(Clone, Debug, Default)]
pub struct WebhookEndpointChange {
    pub url: Option<String>,
    pub description: Option<Option<String>>,
    pub events: Option<Vec<String>>,
    pub format: Option<WebhookFormat>,
    pub enabled: Option<bool>,
    pub metadata: Option<BTreeMap<String, String>>,
}

impl Store {
    /// Adds an endpoint, which is told of events from here on.
    pub async fn add_webhook_endpoint(&self, endpoint: &WebhookEndpointRow, secret: &Secret) -> Result<()> {
        let mut tx = self.begin().await?;
        let count: i64 = sqlx::query_scalar("select count(*) from webhook_endpoint where project = $1")
            .bind(self.own_project())
            .fetch_one(tx.connection())
            .await?;
        if count >= MOST_ENDPOINTS {
            return Err(StoreError::Conflict(format!(
                "there are {MOST_ENDPOINTS} webhook endpoints already; delete one that is not needed any more"
            )));
        }
        sqlx::query(
            "insert into webhook_endpoint (id, project, url, description, events, enabled, secret, metadata, created_at,
                                           format, from_position)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (select coalesce(max(position), 0) from event))",
        )
        .bind(endpoint.id.to_string())
        .bind(self.own_project())
        .bind(&endpoint.url)
        .bind(&endpoint.description)
        .bind(write_json(&endpoint.events)?)
        .bind(i64::from(endpoint.enabled))
        .bind(self.vault.seal(secret.reveal(), SECRET)?)
        .bind(write_json(&endpoint.metadata)?)
        .bind(endpoint.created_at.0)
        .bind(endpoint.format.as_str())
        .execute(tx.connection())
        .await?;
        tx.commit_made(endpoint.id).await
    }

    pub async fn webhook_endpoint(&self, id: WebhookEndpointId) -> Result<WebhookEndpointRow> {
        let mut connection = self.readers.acquire().await?;
        self.find_endpoint(&mut connection, id).await
    }

    pub async fn webhook_endpoints(&self, page: &Page) -> Result<Vec<WebhookEndpointRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from webhook_endpoint where id > $1 and id < $2 and project = coalesce($3, project)
             order by id desc limit $4"
        } else {
            "select * from webhook_endpoint where id > $1 and id < $2 and project = coalesce($3, project)
             order by id limit $4"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(self.project())
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(endpoint).collect()
    }

    /// Ids and URLs of the first endpoints that are told of events, of all projects.
    pub async fn webhook_urls(&self, limit: u32) -> Result<Vec<(String, String)>> {
        let urls = sqlx::query_as("select id, url from webhook_endpoint where enabled = 1 order by id limit $1");
        Ok(urls.bind(i64::from(limit)).fetch_all(&self.readers).await?)
    }

    /// Changes an endpoint. One that is enabled again is told of events from here on, and gets what was still waiting.
    pub async fn update_webhook_endpoint(
        &self,
        id: WebhookEndpointId,
        change: WebhookEndpointChange,
    ) -> Result<WebhookEndpointRow> {
        let mut tx = self.begin().await?;
        let mut row = self.find_endpoint(tx.connection(), id).await?;
        let wakes = change.enabled == Some(true) && !row.enabled;
        row.url = change.url.unwrap_or(row.url);
        row.description = change.description.unwrap_or(row.description);
        row.events = change.events.unwrap_or(row.events);
        row.format = change.format.unwrap_or(row.format);
        row.enabled = change.enabled.unwrap_or(row.enabled);
        row.metadata = change.metadata.unwrap_or(row.metadata);
        row.disabled_reason = row.disabled_reason.filter(|_| !wakes);
        sqlx::query(
            "update webhook_endpoint set url = $2, description = $3, events = $4, enabled = $5, metadata = $6,
                    format = $7 where id = $1",
        )
        .bind(id.to_string())
        .bind(&row.url)
        .bind(&row.description)
        .bind(write_json(&row.events)?)
        .bind(i64::from(row.enabled))
        .bind(write_json(&row.metadata)?)
        .bind(row.format.as_str())
        .execute(tx.connection())
        .await?;
        if wakes {
            sqlx::query(
                "update webhook_endpoint set disabled_reason = null, failing_since = null,
                        from_position = (select coalesce(max(position), 0) from event)
                 where id = $1",
            )
            .bind(id.to_string())
            .execute(tx.connection())
            .await?;
        }
        tx.commit().await?;
        Ok(row)
    }

    /// Gives an endpoint another secret; the one before signs beside it for a day.
    pub async fn rotate_webhook_secret(
        &self,
        id: WebhookEndpointId,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<WebhookEndpointRow> {
        let mut tx = self.begin().await?;
        let mut row = self.find_endpoint(tx.connection(), id).await?;
        let until = now.plus_seconds(ROTATION_SECONDS);
        sqlx::query(
            "update webhook_endpoint set old_secret = secret, old_secret_until = $3, secret = $2 where id = $1",
        )
        .bind(id.to_string())
        .bind(self.vault.seal(secret.reveal(), SECRET)?)
        .bind(until.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await?;
        row.old_secret_until = Some(until);
        Ok(row)
    }

    /// Removes an endpoint with all its deliveries.
    pub async fn delete_webhook_endpoint(&self, id: WebhookEndpointId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let deleted = sqlx::query("delete from webhook_endpoint where id = $1 and project = coalesce($2, project)")
                .bind(id.to_string())
                .bind(self.project())
                .execute(tx.connection())
                .await?;
            if deleted.rows_affected() == 0 {
                return Err(StoreError::NotFound { what: "webhook endpoint", id: id.to_string() });
            }
            tx.commit().await
        })
        .await
    }

    pub(super) async fn find_endpoint(
        &self,
        connection: &mut AnyConnection,
        id: WebhookEndpointId,
    ) -> Result<WebhookEndpointRow> {
        let row = sqlx::query("select * from webhook_endpoint where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(connection)
            .await?;
        row.map_or_else(
            || Err(StoreError::NotFound { what: "webhook endpoint", id: id.to_string() }),
            |row| endpoint(&row),
        )
    }

    /// Encrypts the secrets that an older version has stored in plain text. An error where those that are encrypted cannot
    /// be read; then no other key is made for new ones.
    pub async fn seal_webhook_secrets(&self) -> Result<()> {
        let mut tx = self.begin().await?;
        // What is replaced is overwritten, and does not stay in the free parts of pages.
        self.backend.overwrite(tx.connection(), true).await?;
        let rows: Vec<(String, String, Option<String>)> =
            sqlx::query_as("select id, secret, old_secret from webhook_endpoint").fetch_all(tx.connection()).await?;
        if let Some((_, sealed, _)) = rows.iter().find(|(_, secret, _)| Vault::is_sealed(secret)) {
            self.vault.open(sealed, SECRET).inspect_err(|_| self.vault.keep_key())?;
        }
        let mut changed = false;
        for (id, secret, old) in rows.into_iter().filter(|(_, secret, _)| !Vault::is_sealed(secret)) {
            let old = old.map(|old| self.vault.seal(&old, SECRET)).transpose()?;
            sqlx::query("update webhook_endpoint set secret = $2, old_secret = $3 where id = $1")
                .bind(id)
                .bind(self.vault.seal(&secret, SECRET)?)
                .bind(old)
                .execute(tx.connection())
                .await?;
            changed = true;
        }
        changed |= self.seal_answers(tx.connection()).await?;
        self.backend.overwrite(tx.connection(), false).await?;
        if !changed {
            return Ok(());
        }
        tx.commit().await?;
        self.backend.empty_log().await
    }
}

/// The secrets of a row that holds the columns of an endpoint: the current one, and the old one with its end.
pub(super) fn secrets(row: &AnyRow, vault: &Vault) -> Result<(Secret, Option<(Secret, Timestamp)>)> {
    let opened = |stored: &str| read(SECRET, &vault.open(stored, SECRET)?);
    let secret = opened(row.try_get("secret")?)?;
    let old: Option<String> = row.try_get("old_secret")?;
    let until: Option<i64> = row.try_get("old_secret_until")?;
    // One of a key that was lost since signs no more.
    let old = old.zip(until).and_then(|(old, until)| Some((opened(&old).ok()?, Timestamp(until))));
    Ok((secret, old))
}

fn endpoint(row: &AnyRow) -> Result<WebhookEndpointRow> {
    Ok(WebhookEndpointRow {
        id: read("webhook endpoint id", row.try_get("id")?)?,
        url: row.try_get("url")?,
        description: row.try_get("description")?,
        events: read_json("webhook events", row.try_get("events")?)?,
        format: read("webhook format", row.try_get("format")?)?,
        enabled: flag(row, "enabled")?,
        disabled_reason: row.try_get("disabled_reason")?,
        old_secret_until: row.try_get::<Option<i64>, _>("old_secret_until")?.map(Timestamp),
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
