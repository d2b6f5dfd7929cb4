//! The audit log: who asked for which change, and what came of it. Entries are only ever added.

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row};

use super::{Page, ROWS, Result, Store, read};
use crate::job::{AuditEntryId, Timestamp};

/// How long entries are kept: a year, within which the table does not let go of them, and a day.
const KEPT_MILLISECONDS: i64 = 366 * 24 * 3600 * 1000;

/// One request that wanted to change something, or that was refused.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    pub id: AuditEntryId,
    pub project: String,
    pub key: Option<String>,
    pub method: String,
    pub path: String,
    pub status: u16,
    /// Of the problem, if it was refused.
    pub code: Option<String>,
    pub request_id: String,
    /// How many requests it stands for.
    pub requests: u64,
    pub created_at: Timestamp,
}

impl Store {
    /// Adds entries, all or none, and lets go of some that are older than a year.
    pub async fn add_audit_entries(&self, entries: &[AuditEntry], now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "delete from audit_entry where id in (select id from audit_entry where created_at < $1 limit 1000)",
        )
        .bind(now.0 - KEPT_MILLISECONDS)
        .execute(tx.connection())
        .await?;
        for entries in entries.chunks(ROWS) {
            let mut insert = QueryBuilder::new(
                "insert into audit_entry (id, project, key_id, method, path, status, code, request_id, requests, created_at) ",
            );
            insert.push_values(entries, |mut row, entry| {
                row.push_bind(entry.id.to_string())
                    .push_bind(&entry.project)
                    .push_bind(&entry.key)
                    .push_bind(&entry.method)
                    .push_bind(&entry.path)
                    .push_bind(entry.status)
                    .push_bind(&entry.code)
                    .push_bind(&entry.request_id)
                    .push_bind(i64::try_from(entry.requests).unwrap_or(i64::MAX))
                    .push_bind(entry.created_at.0);
            });
            insert.build().persistent(false).execute(tx.connection()).await?;
        }
        tx.commit().await
    }

    /// Entries of all projects, or of the ones made with one key.
    pub async fn audit_entries(&self, key: Option<&str>, page: &Page) -> Result<Vec<AuditEntry>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from audit_entry where id > $1 and id < $2 and ($3 is null or key_id = $3)
             order by id desc limit $4"
        } else {
            "select * from audit_entry where id > $1 and id < $2 and ($3 is null or key_id = $3)
             order by id limit $4"
        };
        let rows =
            sqlx::query(statement).bind(low).bind(high).bind(key).bind(page.limit).fetch_all(&self.readers).await?;
        rows.iter().map(entry).collect()
    }
}

fn entry(row: &SqliteRow) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: read("audit entry id", row.try_get("id")?)?,
        project: row.try_get("project")?,
        key: row.try_get("key_id")?,
        method: row.try_get("method")?,
        path: row.try_get("path")?,
        status: row.try_get("status")?,
        code: row.try_get("code")?,
        request_id: row.try_get("request_id")?,
        requests: row.try_get::<i64, _>("requests")?.unsigned_abs(),
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
