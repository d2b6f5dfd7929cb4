//! Stored verifier configurations.

use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{Timestamp, VerifierId};

/// A verifier that jobs can name.
#[derive(Clone, Debug)]
pub struct VerifierRow {
    pub id: VerifierId,
    pub name: Option<String>,
    /// With defaults filled in.
    pub config: Value,
    pub digest: String,
    pub created_at: Timestamp,
}

impl Store {
    pub async fn add_verifier(&self, verifier: &VerifierRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into verifier (id, name, config, digest, created_at, project) values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(verifier.id.to_string())
        .bind(&verifier.name)
        .bind(write_json(&verifier.config)?)
        .bind(&verifier.digest)
        .bind(verifier.created_at.0)
        .bind(self.own_project())
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    pub async fn verifier(&self, id: VerifierId) -> Result<VerifierRow> {
        sqlx::query("select * from verifier where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(|| Err(StoreError::NotFound { what: "verifier", id: id.to_string() }), |row| verifier(&row))
    }

    pub async fn verifiers(&self, page: &Page) -> Result<Vec<VerifierRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from verifier where id > $1 and id < $2 and project = coalesce($4, project) order by id desc limit $3"
        } else {
            "select * from verifier where id > $1 and id < $2 and project = coalesce($4, project) order by id limit $3"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(page.limit)
            .bind(self.project())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(verifier).collect()
    }
}

fn verifier(row: &SqliteRow) -> Result<VerifierRow> {
    Ok(VerifierRow {
        id: read("verifier id", row.try_get("id")?)?,
        name: row.try_get("name")?,
        config: read_json("verifier", row.try_get("config")?)?,
        digest: row.try_get("digest")?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
