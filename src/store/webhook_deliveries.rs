//! Deliveries: what endpoints are to be told, made from the event log, and what became of every try.
//!
//! A cursor says how far the log has been turned into deliveries. It moves in the transaction that makes them, so that
//! no event is forgotten and none is told twice, wherever the process ends.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::webhook_endpoints::secrets;
use super::{Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::webhook::{self, DeliveryStatus, Secret, WebhookEvent};
use crate::job::{Event, Timestamp, WebhookDeliveryId, WebhookEndpointId};

/// Events turned into deliveries in one transaction.
const BATCH: i64 = 500;
/// Deliveries that may wait for one endpoint.
const MOST_WAITING: i64 = 100_000;
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
    pub url: String,
    pub body: String,
    /// All that sign.
    pub secrets: Vec<Secret>,
    /// Tries before this one, since the delivery was made or last asked for.
    pub tries: u32,
}

impl Store {
    /// Turns events behind `told` into deliveries and returns how far it came; call it with that again. Nothing is
    /// written while no event is of interest to anybody.
    pub async fn make_webhook_deliveries(&self, told: i64, now: Timestamp) -> Result<i64> {
        let newest = self.newest_event().await?;
        if newest <= told {
            return Ok(told);
        }
        // An endpoint that is made or enabled from here on is not told of events up to `newest`.
        let wanted: bool = sqlx::query_scalar(
            "select exists (select 1 from webhook_endpoint where enabled = 1)
                and exists (select 1 from event
                            where position > max($1, (select position from webhook_cursor)) and position <= $2
                              and type in (select value from json_each($3)))",
        )
        .bind(told)
        .bind(newest)
        .bind(write_json(&WebhookEvent::KINDS)?)
        .fetch_one(&self.readers)
        .await?;
        if !wanted {
            return Ok(newest);
        }
        let mut tx = self.begin().await?;
        let reached = fan_out(tx.connection(), told, newest, now).await?;
        tx.commit().await?;
        Ok(reached)
    }

    /// Deliveries whose time has come, the longest waiting first, and at most `per_endpoint` for each endpoint.
    pub async fn due_webhook_deliveries(&self, per_endpoint: u32, now: Timestamp) -> Result<Vec<DueDelivery>> {
        let rows = sqlx::query(
            "select d.id, d.endpoint_id, d.body, d.tries, e.url, e.secret, e.old_secret, e.old_secret_until
             from webhook_endpoint e join webhook_delivery d on d.id in
                  (select due.id from webhook_delivery due
                   where due.endpoint_id = e.id and due.status = 'pending' and due.next_attempt_at <= $1
                   order by due.next_attempt_at, due.id limit $2)
             where e.enabled = 1 order by d.next_attempt_at, d.id",
        )
        .bind(now.0)
        .bind(per_endpoint)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(|row| due(row, now)).collect()
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
            .bind(page.limit)
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

/// Who is told what.
struct Subscriber {
    id: WebhookEndpointId,
    project: String,
    events: Vec<String>,
    from_position: i64,
}

/// Makes the deliveries of the next events and moves the cursor.
async fn fan_out(connection: &mut SqliteConnection, told: i64, newest: i64, now: Timestamp) -> Result<i64> {
    let mut subscribers = Vec::new();
    let rows = sqlx::query("select id, project, events, from_position from webhook_endpoint where enabled = 1")
        .fetch_all(&mut *connection)
        .await?;
    for row in &rows {
        let subscriber = Subscriber {
            id: read("webhook endpoint id", row.try_get("id")?)?,
            project: row.try_get("project")?,
            events: read_json("webhook events", row.try_get("events")?)?,
            from_position: row.try_get("from_position")?,
        };
        if !is_full(connection, subscriber.id).await? {
            subscribers.push(subscriber);
        }
    }
    let from = subscribers.iter().map(|subscriber| subscriber.from_position).min().unwrap_or(newest);
    // The job's columns have names of their own, because the event has some of the same.
    let rows = sqlx::query(
        "select event.*, job.project, job.kind as job_kind, job.name as job_name, job.status as job_status,
                job.objective as job_objective, job.step as job_step, job.steps as job_steps,
                job.attempt as job_attempt, job.created_at as job_created_at, job.started_at as job_started_at,
                job.finished_at as job_finished_at, job.result as job_result, job.failure as job_failure,
                json_extract(job.spec_resolved, '$.metadata') as job_metadata
         from event join job on job.id = event.job_id
         where event.position > max($1, $2, (select position from webhook_cursor)) and event.position <= $3
           and event.type in (select value from json_each($4))
         order by event.position limit $5",
    )
    .bind(told)
    .bind(from)
    .bind(newest)
    .bind(write_json(&WebhookEvent::KINDS)?)
    .bind(BATCH)
    .fetch_all(&mut *connection)
    .await?;
    let mut reached = newest;
    for row in &rows {
        let position: i64 = row.try_get("position")?;
        if rows.len() as i64 == BATCH {
            reached = position;
        }
        let event = super::events::event(row)?;
        let Some(kind) = WebhookEvent::of(&event.body) else { continue };
        let project: String = row.try_get("project")?;
        let told_of = |s: &&Subscriber| s.project == project && position > s.from_position && kind.is_in(&s.events);
        for subscriber in subscribers.iter().filter(told_of) {
            tell(connection, subscriber, kind, &event, row, now).await?;
        }
    }
    sqlx::query("update webhook_cursor set position = max(position, $1)").bind(reached).execute(connection).await?;
    Ok(reached)
}

async fn tell(
    connection: &mut SqliteConnection,
    subscriber: &Subscriber,
    kind: WebhookEvent,
    event: &Event,
    row: &SqliteRow,
    now: Timestamp,
) -> Result<()> {
    let id = WebhookDeliveryId::generate();
    let body = webhook::message(kind, event, &job_summary(row)?);
    let event = event.id.to_string();
    insert_delivery(connection, id, subscriber.id, Some(&event), kind.as_str(), &body, now).await
}

/// The job as a message shows it.
fn job_summary(row: &SqliteRow) -> Result<Value> {
    let text = |column: &str| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let json =
        |column: &str| -> Result<Option<Value>> { text(column)?.map(|text| read_json("job", &text)).transpose() };
    let seconds = |column: &str| -> Result<Option<i64>> {
        Ok(row.try_get::<Option<i64>, _>(column)?.map(|at| Timestamp(at).unix_seconds()))
    };
    Ok(json!({
        "id": text("job_id")?,
        "object": "job",
        "kind": text("job_kind")?,
        "name": text("job_name")?,
        "status": text("job_status")?,
        "objective": text("job_objective")?.filter(|objective| !objective.is_empty()),
        "step": row.try_get::<i64, _>("job_step")?,
        "steps": row.try_get::<i64, _>("job_steps")?,
        "attempt": row.try_get::<i64, _>("job_attempt")?,
        "created_at": seconds("job_created_at")?,
        "started_at": seconds("job_started_at")?,
        "finished_at": seconds("job_finished_at")?,
        "result": json("job_result")?,
        "failure": json("job_failure")?,
        "metadata": json("job_metadata")?.unwrap_or_else(|| json!({})),
    }))
}

/// Disables an endpoint for which too much waits already.
async fn is_full(connection: &mut SqliteConnection, endpoint: WebhookEndpointId) -> Result<bool> {
    let waiting: i64 = sqlx::query_scalar(
        "select count(*) from
             (select 1 from webhook_delivery where endpoint_id = $1 and status = 'pending' limit $2)",
    )
    .bind(endpoint.to_string())
    .bind(MOST_WAITING)
    .fetch_one(&mut *connection)
    .await?;
    if waiting >= MOST_WAITING {
        disable(connection, &endpoint.to_string(), &format!("{MOST_WAITING} deliveries were waiting")).await?;
    }
    Ok(waiting >= MOST_WAITING)
}

/// Notes whether an endpoint works, and disables one that does not.
async fn judge_endpoint(
    connection: &mut SqliteConnection,
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

async fn disable(connection: &mut SqliteConnection, endpoint: &str, reason: &str) -> Result<()> {
    sqlx::query("update webhook_endpoint set enabled = 0, disabled_reason = $2 where id = $1 and enabled = 1")
        .bind(endpoint)
        .bind(reason)
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_delivery(
    connection: &mut SqliteConnection,
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
    connection: &mut SqliteConnection,
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
    .bind(attempt.http_status)
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

fn delivery(row: &SqliteRow) -> Result<WebhookDeliveryRow> {
    Ok(WebhookDeliveryRow {
        id: read("webhook delivery id", row.try_get("id")?)?,
        endpoint: read("webhook endpoint id", row.try_get("endpoint_id")?)?,
        event: row.try_get("event_id")?,
        kind: row.try_get("type")?,
        body: row.try_get("body")?,
        status: read("delivery status", row.try_get("status")?)?,
        attempts: row.try_get("attempts")?,
        next_attempt_at: row.try_get::<Option<i64>, _>("next_attempt_at")?.map(Timestamp),
        created_at: Timestamp(row.try_get("created_at")?),
        log: Vec::new(),
    })
}

fn attempt(row: &SqliteRow) -> Result<WebhookAttempt> {
    Ok(WebhookAttempt {
        started_at: Timestamp(row.try_get("started_at")?),
        milliseconds: row.try_get("milliseconds")?,
        http_status: row.try_get("http_status")?,
        answer: row.try_get("answer")?,
        error: row.try_get("error")?,
    })
}

fn due(row: &SqliteRow, now: Timestamp) -> Result<DueDelivery> {
    let (secret, old) = secrets(row)?;
    let old = old.filter(|(_, until)| *until > now).map(|(old, _)| old);
    Ok(DueDelivery {
        id: read("webhook delivery id", row.try_get("id")?)?,
        endpoint: read("webhook endpoint id", row.try_get("endpoint_id")?)?,
        url: row.try_get("url")?,
        body: row.try_get("body")?,
        secrets: std::iter::once(secret).chain(old).collect(),
        tries: row.try_get("tries")?,
    })
}
