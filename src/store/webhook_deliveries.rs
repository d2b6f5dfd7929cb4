//! Deliveries: what endpoints are to be told, and what became of every try. How they are made of events is in
//! `webhook_fan_out`.

use std::collections::BTreeMap;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::vault::Vault;
use super::webhook_endpoints::secrets;
use super::{Page, Result, Store, StoreError, number, optional, read, write_json};
use crate::job::webhook::{self, DeliveryStatus, Secret, WebhookFormat};
use crate::job::{Timestamp, WebhookDeliveryId, WebhookEndpointId};

/// Tries of one delivery that are remembered.
const KEPT_ATTEMPTS: i64 = 20;
/// Deliveries removed in one transaction.
const PRUNED: i64 = 1000;
/// An endpoint that has failed for this long is disabled.
const FAILING_DAYS: i64 = 3;

/// A message to one endpoint.
#[derive(Clone, Debug)]
pub struct WebhookDeliveryRow {
    pub id: WebhookDeliveryId,
    pub endpoint: WebhookEndpointId,
    /// None for a test.
    pub event: Option<String>,
    pub kind: String,
    pub body: String,
    pub status: DeliveryStatus,
    /// How many tries there were.
    pub attempts: u32,
    pub next_attempt_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// The newest tries, oldest first.
    pub log: Vec<WebhookAttempt>,
}

/// One try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookAttempt {
    pub started_at: Timestamp,
    pub milliseconds: i64,
    /// None when there was no answer.
    pub http_status: Option<u16>,
    /// The begin of the answer's body.
    pub answer: Option<String>,
    pub error: Option<String>,
}

/// What follows from a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookOutcome {
    Succeeded,
    /// It failed and is repeated at this time.
    Again(Timestamp),
    /// It failed, and it was the last one.
    Failed,
    /// The receiver says that it is gone for good.
    Gone,
}

/// A delivery to be tried now.
#[derive(Clone, Debug)]
pub struct DueDelivery {
    pub id: WebhookDeliveryId,
    pub endpoint: WebhookEndpointId,
    pub project: String,
    pub url: String,
    pub body: String,
    pub format: WebhookFormat,
    /// All that sign.
    pub secrets: Vec<Secret>,
    /// Tries before this one, since the delivery was made or last asked for.
    pub tries: u32,
}

impl Store {
    /// Deliveries whose time has come, at most `per_endpoint` for each endpoint, the longest waiting first; those of
    /// endpoints that fail come behind all others, so that slow ones do not hold up the rest.
    pub async fn due_webhook_deliveries(&self, per_endpoint: u32, now: Timestamp) -> Result<Vec<DueDelivery>> {
        let rows = sqlx::query(
            "select d.id, d.endpoint_id, d.body, d.tries, e.project, e.url, e.format, e.secret, e.old_secret, e.old_secret_until
             from webhook_endpoint e join webhook_delivery d on d.id in
                  (select due.id from webhook_delivery due
                   where due.endpoint_id = e.id and due.status = 'pending' and due.next_attempt_at <= $1
                   order by due.next_attempt_at, due.id limit $2)
             where e.enabled = 1 order by e.failing_since is not null, d.next_attempt_at, d.id",
        )
        .bind(now.0)
        .bind(i64::from(per_endpoint))
        .fetch_all(&self.readers)
        .await?;
        let readable = rows.iter().filter_map(|row| match due(row, &self.vault, now) {
            // Said when the server starts; those of others are sent.
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Io { .. })) => {
                tracing::debug!(%error, "a webhook cannot be signed");
                None
            }
            due => Some(due),
        });
        readable.collect()
    }

    /// Writes down a try and what follows from it. A delivery that is gone with its endpoint is let go.
    pub async fn record_webhook_attempt(
        &self,
        id: WebhookDeliveryId,
        attempt: &WebhookAttempt,
        outcome: WebhookOutcome,
        now: Timestamp,
    ) -> Result<()> {
        let (status, next) = match outcome {
            WebhookOutcome::Succeeded => (DeliveryStatus::Succeeded, None),
            WebhookOutcome::Again(at) => (DeliveryStatus::Pending, Some(at.0)),
            WebhookOutcome::Failed | WebhookOutcome::Gone => (DeliveryStatus::Failed, None),
        };
        let mut tx = self.begin().await?;
        let row = sqlx::query(
            "update webhook_delivery set attempts = attempts + 1, tries = tries + 1, status = $2, next_attempt_at = $3
             where id = $1 returning attempts, endpoint_id",
        )
        .bind(id.to_string())
        .bind(status.as_str())
        .bind(next)
        .fetch_optional(tx.connection())
        .await?;
        let Some(row) = row else { return tx.commit().await };
        insert_attempt(tx.connection(), id, row.try_get("attempts")?, attempt).await?;
        judge_endpoint(tx.connection(), row.try_get("endpoint_id")?, outcome, now).await?;
        tx.commit().await
    }

    /// Sends a message that only asks for an answer.
    pub async fn test_webhook_endpoint(
        &self,
        endpoint: WebhookEndpointId,
        now: Timestamp,
    ) -> Result<WebhookDeliveryRow> {
        let mut tx = self.begin().await?;
        require_enabled(self.find_endpoint(tx.connection(), endpoint).await?.enabled)?;
        let id = WebhookDeliveryId::generate();
        let body = webhook::test_message(endpoint, now);
        insert_delivery(tx.connection(), id, endpoint, None, webhook::TEST, &body, now).await?;
        tx.commit().await?;
        self.webhook_delivery(id).await
    }

    /// Sends a message again, from the begin of the schedule; one that waits is sent at once.
    pub async fn redeliver_webhook(&self, id: WebhookDeliveryId, now: Timestamp) -> Result<WebhookDeliveryRow> {
        let delivery = self.webhook_delivery(id).await?;
        let mut tx = self.begin().await?;
        require_enabled(self.find_endpoint(tx.connection(), delivery.endpoint).await?.enabled)?;
        sqlx::query("update webhook_delivery set status = 'pending', tries = 0, next_attempt_at = $2 where id = $1")
            .bind(id.to_string())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        self.webhook_delivery(id).await
    }

    pub async fn webhook_delivery(&self, id: WebhookDeliveryId) -> Result<WebhookDeliveryRow> {
        let row = sqlx::query(
            "select d.* from webhook_delivery d join webhook_endpoint e on e.id = d.endpoint_id
             where d.id = $1 and e.project = coalesce($2, e.project)",
        )
        .bind(id.to_string())
        .bind(self.project())
        .fetch_optional(&self.readers)
        .await?;
        let row = row.ok_or_else(|| StoreError::NotFound { what: "webhook delivery", id: id.to_string() })?;
        let mut rows = vec![delivery(&row)?];
        self.add_logs(&mut rows).await?;
        Ok(rows.remove(0))
    }

    /// The deliveries of one endpoint, in one state or in any.
    pub async fn webhook_deliveries(
        &self,
        endpoint: WebhookEndpointId,
        status: Option<DeliveryStatus>,
        page: &Page,
    ) -> Result<Vec<WebhookDeliveryRow>> {
        self.webhook_endpoint(endpoint).await?;
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from webhook_delivery where endpoint_id = $1 and id > $2 and id < $3
                and status = coalesce($4, status) order by id desc limit $5"
        } else {
            "select * from webhook_delivery where endpoint_id = $1 and id > $2 and id < $3
                and status = coalesce($4, status) order by id limit $5"
        };
        let rows = sqlx::query(statement)
            .bind(endpoint.to_string())
            .bind(low)
            .bind(high)
            .bind(status.map(DeliveryStatus::as_str))
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        let mut rows: Vec<WebhookDeliveryRow> = rows.iter().map(delivery).collect::<Result<_>>()?;
        self.add_logs(&mut rows).await?;
        Ok(rows)
    }

    /// Removes some of the deliveries made before `before`; whether there may be more of them.
    pub async fn prune_webhook_deliveries(&self, before: Timestamp) -> Result<bool> {
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "delete from webhook_delivery where id in
                 (select id from webhook_delivery where created_at < $1 order by created_at limit $2)",
        )
        .bind(before.0)
        .bind(PRUNED)
        .execute(tx.connection())
        .await?;
        tx.commit().await?;
        Ok(done.rows_affected() >= PRUNED.unsigned_abs())
    }

    async fn add_logs(&self, deliveries: &mut [WebhookDeliveryRow]) -> Result<()> {
        let ids: Vec<String> = deliveries.iter().map(|delivery| delivery.id.to_string()).collect();
        let rows = sqlx::query(
            "select * from webhook_attempt where delivery_id in (select value from json_each($1))
             order by delivery_id, number",
        )
        .bind(write_json(&ids)?)
        .fetch_all(&self.readers)
        .await?;
        let mut logs: BTreeMap<String, Vec<WebhookAttempt>> = BTreeMap::new();
        for row in &rows {
            logs.entry(row.try_get("delivery_id")?).or_default().push(attempt(row)?);
        }
        for delivery in deliveries {
            delivery.log = logs.remove(&delivery.id.to_string()).unwrap_or_default();
        }
        Ok(())
    }
}

fn require_enabled(enabled: bool) -> Result<()> {
    let detail = "the endpoint is disabled; enable it before something is sent to it";
    if enabled { Ok(()) } else { Err(StoreError::Conflict(detail.to_owned())) }
}

/// Notes whether an endpoint works, and disables one that does not.
async fn judge_endpoint(
    connection: &mut AnyConnection,
    endpoint: &str,
    outcome: WebhookOutcome,
    now: Timestamp,
) -> Result<()> {
    match outcome {
        WebhookOutcome::Succeeded => {
            sqlx::query("update webhook_endpoint set failing_since = null where id = $1 and failing_since is not null")
                .bind(endpoint)
                .execute(connection)
                .await?;
        }
        WebhookOutcome::Gone => disable(connection, endpoint, "the receiver answered 410 Gone").await?,
        WebhookOutcome::Again(_) | WebhookOutcome::Failed => {
            let since: i64 = sqlx::query_scalar(
                "update webhook_endpoint set failing_since = coalesce(failing_since, $2) where id = $1
                 returning failing_since",
            )
            .bind(endpoint)
            .bind(now.0)
            .fetch_one(&mut *connection)
            .await?;
            if since <= now.0 - FAILING_DAYS * 86_400_000 {
                disable(connection, endpoint, &format!("no delivery has succeeded for {FAILING_DAYS} days")).await?;
            }
        }
    }
    Ok(())
}

pub(super) async fn disable(connection: &mut AnyConnection, endpoint: &str, reason: &str) -> Result<()> {
    sqlx::query("update webhook_endpoint set enabled = 0, disabled_reason = $2 where id = $1 and enabled = 1")
        .bind(endpoint)
        .bind(reason)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn insert_delivery(
    connection: &mut AnyConnection,
    id: WebhookDeliveryId,
    endpoint: WebhookEndpointId,
    event: Option<&str>,
    kind: &str,
    body: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into webhook_delivery (id, endpoint_id, event_id, type, body, status, next_attempt_at, created_at)
         values ($1, $2, $3, $4, $5, 'pending', $6, $6)",
    )
    .bind(id.to_string())
    .bind(endpoint.to_string())
    .bind(event)
    .bind(kind)
    .bind(body)
    .bind(now.0)
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_attempt(
    connection: &mut AnyConnection,
    id: WebhookDeliveryId,
    number: i64,
    attempt: &WebhookAttempt,
) -> Result<()> {
    sqlx::query(
        "insert into webhook_attempt (delivery_id, number, started_at, milliseconds, http_status, answer, error)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(id.to_string())
    .bind(number)
    .bind(attempt.started_at.0)
    .bind(attempt.milliseconds)
    .bind(attempt.http_status.map(i64::from))
    .bind(&attempt.answer)
    .bind(&attempt.error)
    .execute(&mut *connection)
    .await?;
    sqlx::query("delete from webhook_attempt where delivery_id = $1 and number <= $2")
        .bind(id.to_string())
        .bind(number - KEPT_ATTEMPTS)
        .execute(connection)
        .await?;
    Ok(())
}

fn delivery(row: &AnyRow) -> Result<WebhookDeliveryRow> {
    Ok(WebhookDeliveryRow {
        id: read("webhook delivery id", row.try_get("id")?)?,
        endpoint: read("webhook endpoint id", row.try_get("endpoint_id")?)?,
        event: row.try_get("event_id")?,
        kind: row.try_get("type")?,
        body: row.try_get("body")?,
        status: read("delivery status", row.try_get("status")?)?,
        attempts: number(row, "attempts")?,
        next_attempt_at: row.try_get::<Option<i64>, _>("next_attempt_at")?.map(Timestamp),
        created_at: Timestamp(row.try_get("created_at")?),
        log: Vec::new(),
    })
}

fn attempt(row: &AnyRow) -> Result<WebhookAttempt> {
    Ok(WebhookAttempt {
        started_at: Timestamp(row.try_get("started_at")?),
        milliseconds: row.try_get("milliseconds")?,
        http_status: optional(row, "http_status")?,
        answer: row.try_get("answer")?,
        error: row.try_get("error")?,
    })
}

fn due(row: &AnyRow, vault: &Vault, now: Timestamp) -> Result<DueDelivery> {
    let (secret, old) = secrets(row, vault)?;
    let old = old.filter(|(_, until)| *until > now).map(|(old, _)| old);
    Ok(DueDelivery {
        id: read("webhook delivery id", row.try_get("id")?)?,
        endpoint: read("webhook endpoint id", row.try_get("endpoint_id")?)?,
        project: row.try_get("project")?,
        url: row.try_get("url")?,
        body: row.try_get("body")?,
        format: read("webhook format", row.try_get("format")?)?,
        secrets: std::iter::once(secret).chain(old).collect(),
        tries: number(row, "tries")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::job::{JobId, JobKind};
    use crate::store::{NewJob, WebhookEndpointChange, WebhookEndpointRow};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    async fn open() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).await.unwrap();
        (directory, store)
    }

    async fn endpoint(store: &Store, events: &[&str]) -> WebhookEndpointId {
        let row = WebhookEndpointRow {
            id: WebhookEndpointId::generate(),
            url: String::from("https://example.org/"),
            description: None,
            events: events.iter().map(|name| (*name).to_owned()).collect(),
            format: WebhookFormat::default(),
            enabled: true,
            disabled_reason: None,
            old_secret_until: None,
            metadata: BTreeMap::new(),
            created_at: NOW,
        };
        store.add_webhook_endpoint(&row, &Secret::from_key(&[1; 32])).await.unwrap();
        row.id
    }

    /// Submits a job, which leaves a `job.queued` behind.
    async fn submit(store: &Store) -> JobId {
        let spec = json!({
            "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
            "objective": {"type": "bolt"}, "train": {"steps": 1}, "metadata": {"commit": "abc"},
        });
        let new = NewJob::of_kind(JobKind::Train, spec);
        store.submit_job(new, None, NOW).await.unwrap().job.id
    }

    async fn kinds(store: &Store, endpoint: WebhookEndpointId) -> Vec<String> {
        let page = Page { after: None, limit: 100, newest_first: false };
        let rows = store.webhook_deliveries(endpoint, None, &page).await.unwrap();
        rows.into_iter().map(|row| row.kind).collect()
    }

    fn failure() -> WebhookAttempt {
        let error = Some(String::from("connection refused"));
        WebhookAttempt { started_at: NOW, milliseconds: 1, http_status: None, answer: None, error }
    }

    #[tokio::test]
    async fn an_event_is_told_once_to_each_endpoint_of_its_project_that_asked_for_it() {
        let (_directory, store) = open().await;
        submit(&store).await;
        let all = endpoint(&store, &["*"]).await;
        let some = endpoint(&store, &["job.cancelled"]).await;
        let foreign = endpoint(&store.within("other"), &["*"]).await;
        let job = submit(&store).await;
        store.cancel_job(job, NOW).await.unwrap();
        store.settle().await.unwrap();
        // Beginning again at 0, as after a restart, makes nothing twice.
        for _ in 0..3 {
            store.make_webhook_deliveries(0, NOW).await.unwrap();
        }
        assert_eq!(kinds(&store, all).await, ["job.queued", "job.cancelled"]);
        assert_eq!(kinds(&store, some).await, ["job.cancelled"]);
        assert_eq!(kinds(&store, foreign).await, [""; 0]);
        let due = store.due_webhook_deliveries(1, NOW).await.unwrap();
        assert_eq!(due.iter().map(|d| d.endpoint).collect::<Vec<_>>(), [all, some]);
        let body: Value = serde_json::from_str(&due[0].body).unwrap();
        assert_eq!((&body["type"], &body["data"]["job"]["id"]), (&json!("job.queued"), &json!(job)));
        assert_eq!(body["data"]["job"]["metadata"]["commit"], "abc");
        assert_eq!(body["data"]["event"]["seq"], 1);
    }

    #[tokio::test]
    async fn what_belongs_to_another_project_is_not_found() {
        let (_directory, store) = open().await;
        let id = endpoint(&store, &["*"]).await;
        let delivery = store.test_webhook_endpoint(id, NOW).await.unwrap().id;
        let other = store.within("other");
        let page = Page { after: None, limit: 10, newest_first: true };
        let change = WebhookEndpointChange::default();
        let not_found = |result: Result<()>| assert!(matches!(result, Err(StoreError::NotFound { .. })), "{result:?}");
        not_found(other.webhook_endpoint(id).await.map(|_| ()));
        not_found(other.update_webhook_endpoint(id, change).await.map(|_| ()));
        not_found(other.rotate_webhook_secret(id, &Secret::from_key(&[2; 32]), NOW).await.map(|_| ()));
        not_found(other.delete_webhook_endpoint(id).await);
        not_found(other.test_webhook_endpoint(id, NOW).await.map(|_| ()));
        not_found(other.webhook_deliveries(id, None, &page).await.map(|_| ()));
        not_found(other.webhook_delivery(delivery).await.map(|_| ()));
        not_found(other.redeliver_webhook(delivery, NOW).await.map(|_| ()));
        assert!(other.webhook_endpoints(&page).await.unwrap().is_empty());
        assert_eq!(store.within("default").webhook_endpoint(id).await.unwrap().old_secret_until, None);
        // Events of jobs as well.
        submit(&store).await;
        let event = store.all_events(0, i64::MAX, &Default::default(), 1).await.unwrap().remove(0).1.id;
        not_found(other.event_position(event).await.map(|_| ()));
        assert!(other.all_events(0, i64::MAX, &Default::default(), 10).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn an_endpoint_that_fails_for_days_is_disabled_until_it_is_enabled_again() {
        let (_directory, store) = open().await;
        let id = endpoint(&store, &["*"]).await;
        let delivery = store.test_webhook_endpoint(id, NOW).await.unwrap().id;
        let days = |n: u64| NOW.plus_seconds(n * 86_400);
        let enabled = async || store.webhook_endpoint(id).await.unwrap().enabled;
        for (at, outcome, expected) in [
            (NOW, WebhookOutcome::Again(days(2)), true),
            (days(2), WebhookOutcome::Succeeded, true),
            (days(4), WebhookOutcome::Again(days(6)), true),
            (days(6), WebhookOutcome::Again(days(7)), true),
            (days(7), WebhookOutcome::Again(days(8)), false),
        ] {
            store.record_webhook_attempt(delivery, &failure(), outcome, at).await.unwrap();
            assert_eq!(enabled().await, expected, "{at:?}");
        }
        // What happens meanwhile is not told, and what waits stays.
        submit(&store).await;
        let told = store.make_webhook_deliveries(0, days(8)).await.unwrap();
        assert!(store.due_webhook_deliveries(4, days(9)).await.unwrap().is_empty());
        assert!(matches!(store.redeliver_webhook(delivery, days(8)).await, Err(StoreError::Conflict(_))));
        let change = WebhookEndpointChange { enabled: Some(true), ..WebhookEndpointChange::default() };
        assert_eq!(store.update_webhook_endpoint(id, change).await.unwrap().disabled_reason, None);
        store.make_webhook_deliveries(told, days(9)).await.unwrap();
        assert_eq!(kinds(&store, id).await, ["webhook.test"]);
        assert_eq!(store.due_webhook_deliveries(4, days(9)).await.unwrap().len(), 1);
        assert_eq!(store.webhook_delivery(delivery).await.unwrap().log.len(), 5);
    }

    #[tokio::test]
    async fn old_deliveries_and_those_of_a_deleted_endpoint_are_gone() {
        let (_directory, store) = open().await;
        let id = endpoint(&store, &["*"]).await;
        let old = store.test_webhook_endpoint(id, NOW).await.unwrap().id;
        let young = store.test_webhook_endpoint(id, NOW.plus_seconds(10)).await.unwrap().id;
        assert!(!store.prune_webhook_deliveries(NOW.plus_seconds(5)).await.unwrap());
        assert!(store.webhook_delivery(old).await.is_err() && store.webhook_delivery(young).await.is_ok());
        store.delete_webhook_endpoint(id).await.unwrap();
        assert!(store.webhook_delivery(young).await.is_err());
        // A try that was under way has nothing left to be noted on.
        store.record_webhook_attempt(young, &failure(), WebhookOutcome::Succeeded, NOW).await.unwrap();
    }
}
