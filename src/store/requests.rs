//! Requests that were answered, so that repeating one gives the same answer. Those that make a job are remembered
//! with the job (`submissions`).

use sqlx::Row;

use super::{Result, Store};
use crate::job::Timestamp;

/// How long an answer is kept.
const KEPT_MILLISECONDS: i64 = 24 * 3600 * 1000;

/// What a request was answered.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Of what it asked for.
    pub digest: String,
    /// None when it made a job, which is its answer.
    pub answer: Option<(u16, String)>,
}

impl Store {
    /// What is known of the request with this key.
    pub async fn recorded(&self, key: &str, now: Timestamp) -> Result<Option<Recorded>> {
        let row = sqlx::query(
            "select digest, status, answer from idempotency where project = $1 and key = $2 and created_at >= $3",
        )
        .bind(self.own_project())
        .bind(key)
        .bind(now.0 - KEPT_MILLISECONDS)
        .fetch_optional(&self.readers)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let (status, answer): (Option<u16>, Option<String>) = (row.try_get("status")?, row.try_get("answer")?);
        Ok(Some(Recorded { digest: row.try_get("digest")?, answer: status.zip(answer) }))
    }

    /// Keeps the answer to the request with this key.
    pub async fn record_answer(
        &self,
        key: &str,
        digest: &str,
        (status, answer): (u16, &str),
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from idempotency where created_at < $1")
            .bind(now.0 - KEPT_MILLISECONDS)
            .execute(tx.connection())
            .await?;
        sqlx::query(
            "insert or ignore into idempotency (project, key, digest, status, answer, created_at)
             values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(self.own_project())
        .bind(key)
        .bind(digest)
        .bind(status)
        .bind(answer)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }
}
