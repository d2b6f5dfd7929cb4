//! From the event log to deliveries.
//!
//! A cursor says how far the log has been turned into deliveries. It moves in the transaction that makes them, so that
//! no event is forgotten and none is told twice, wherever the process ends.

use serde_json::{Value, json};
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::webhook_deliveries::{disable, insert_delivery};
use super::{Result, Store, flag, read, read_json, write_json};
use crate::job::webhook::{self, WebhookEvent};
use crate::job::{Event, Timestamp, WebhookDeliveryId, WebhookEndpointId};

/// Events turned into deliveries in one transaction.
const BATCH: i64 = 500;
/// Deliveries that may wait for one endpoint.
const MOST_WAITING: i64 = 100_000;

impl Store {
    /// Turns events behind `told` into deliveries and returns how far it came; call it with that again. Nothing is
    /// written while no event is of interest to anybody.
    pub async fn make_webhook_deliveries(&self, told: i64, now: Timestamp) -> Result<i64> {
        let newest = self.newest_event().await?;
        if newest <= told {
            return Ok(told);
        }
        // An endpoint that is made or enabled from here on is not told of events up to `newest`.
        let wanted = sqlx::query(
            "select exists (select 1 from webhook_endpoint where enabled = 1)
                and exists (select 1 from event
                            where position > max($1, (select position from webhook_cursor)) and position <= $2
                              and type in (select value from json_each($3))) as wanted",
        )
        .bind(told)
        .bind(newest)
        .bind(write_json(&WebhookEvent::KINDS)?)
        .fetch_one(&self.readers)
        .await?;
        if !flag(&wanted, "wanted")? {
            return Ok(newest);
        }
        let mut tx = self.begin().await?;
        let reached = fan_out(tx.connection(), told, newest, now).await?;
        tx.commit().await?;
        Ok(reached)
    }
}

/// Who is told what.
struct Subscriber {
    id: WebhookEndpointId,
    project: String,
    events: Vec<String>,
    from_position: i64,
}

/// Makes the deliveries of the next events and moves the cursor.
async fn fan_out(connection: &mut AnyConnection, told: i64, newest: i64, now: Timestamp) -> Result<i64> {
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
                job.metadata as job_metadata
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
    connection: &mut AnyConnection,
    subscriber: &Subscriber,
    kind: WebhookEvent,
    event: &Event,
    row: &AnyRow,
    now: Timestamp,
) -> Result<()> {
    let id = WebhookDeliveryId::generate();
    let body = webhook::message(kind, event, &job_summary(row)?);
    let event = event.id.to_string();
    insert_delivery(connection, id, subscriber.id, Some(&event), kind.as_str(), &body, now).await
}

/// The job as a message shows it.
fn job_summary(row: &AnyRow) -> Result<Value> {
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
async fn is_full(connection: &mut AnyConnection, endpoint: WebhookEndpointId) -> Result<bool> {
    let waiting: i64 = sqlx::query_scalar(
        "select count(*) from
             (select 1 from webhook_delivery where endpoint_id = $1 and status = 'pending' limit $2) as waiting",
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
