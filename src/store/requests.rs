//! Requests that were answered, so that repeating one gives the same answer. Those that make a job are remembered
//! with the job (`submissions`).

use sqlx::Row;

use super::{Result, Store, StoreError};
use crate::job::Timestamp;

/// How long an answer is kept.
const KEPT_MILLISECONDS: i64 = 24 * 3600 * 1000;
/// How long a request can be under way; after that its server must have died.
const LONGEST_MILLISECONDS: i64 = 3600 * 1000;

/// What is known of a request.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// Nothing; it is under way now.
    First,
    UnderWay,
    Answered {
        status: u16,
        answer: String,
    },
}

impl Store {
    /// Notes that the request with this key is under way, unless there was one before.
    pub async fn begin_request(&self, key: &str, digest: &str, now: Timestamp) -> Result<Recorded> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "delete from idempotency where created_at < $1
               or (project = $2 and key = $3 and resource is null and status is null and created_at < $4)",
        )
        .bind(now.0 - KEPT_MILLISECONDS)
        .bind(self.own_project())
        .bind(key)
        .bind(now.0 - LONGEST_MILLISECONDS)
        .execute(tx.connection())
        .await?;
        let known = sqlx::query("select digest, status, answer from idempotency where project = $1 and key = $2")
            .bind(self.own_project())
            .bind(key)
            .fetch_optional(tx.connection())
            .await?;
        let Some(row) = known else {
            sqlx::query("insert into idempotency (project, key, digest, created_at) values ($1, $2, $3, $4)")
                .bind(self.own_project())
                .bind(key)
                .bind(digest)
                .bind(now.0)
                .execute(tx.connection())
                .await?;
            tx.commit().await?;
            return Ok(Recorded::First);
        };
        tx.commit().await?;
        if row.try_get::<String, _>("digest")? != digest {
            return Err(StoreError::KeyReused);
        }
        Ok(match (row.try_get("status")?, row.try_get("answer")?) {
            (Some(status), Some(answer)) => Recorded::Answered { status, answer },
            _ => Recorded::UnderWay,
        })
    }

    /// Keeps the answer to a request that is under way.
    pub async fn end_request(&self, key: &str, status: u16, answer: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("update idempotency set status = $3, answer = $4 where project = $1 and key = $2")
            .bind(self.own_project())
            .bind(key)
            .bind(status)
            .bind(answer)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// Forgets a request that came to nothing.
    pub async fn forget_request(&self, key: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from idempotency where project = $1 and key = $2 and status is null and resource is null")
            .bind(self.own_project())
            .bind(key)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// Forgets requests that were under way when a server died; only the server of a data directory may call it.
    pub async fn forget_unanswered_requests(&self) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from idempotency where status is null and resource is null")
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }
}
