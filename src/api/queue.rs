//! `GET /v1/queue`

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::error::Problem;

/// Waiting jobs that are listed one by one.
const LISTED: u32 = 100;

/// What waits and what runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queue {
    /// Always `queue`.
    object: &'static str,
    /// Jobs by status.
    counts: BTreeMap<String, u64>,
    /// The first 100 waiting jobs, in the order in which they will be claimed.
    waiting: Vec<Waiting>,
}

/// A waiting job.
#[derive(Debug, Serialize, ToSchema)]
struct Waiting {
    /// 1 is next.
    position: usize,
    job: String,
    name: Option<String>,
    priority: i32,
    /// Unix seconds.
    created_at: i64,
}

/// Show the queue
#[utoipa::path(get, path = "/v1/queue", tag = "devices", responses((status = 200, body = Queue)))]
pub async fn get_queue(State(app): State<App>) -> Result<Json<Queue>, Problem> {
    let counts = app.store.count_jobs().await?;
    let entries = app.store.queue(LISTED).await?;
    let waiting = entries
        .into_iter()
        .zip(1..)
        .map(|(entry, position)| Waiting {
            position,
            job: entry.job.to_string(),
            name: entry.name,
            priority: entry.priority,
            created_at: entry.created_at.unix_seconds(),
        })
        .collect();
    let counts = counts.into_iter().map(|(status, count)| (status.to_string(), count)).collect();
    Ok(Json(Queue { object: "queue", counts, waiting }))
}
