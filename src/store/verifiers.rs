//! Stored verifier configurations.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::inputs::unused;
use super::{Labels, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{Timestamp, VerifierId};

/// A verifier that jobs can name.
#[derive(Clone, Debug)]
pub struct VerifierRow {
    pub id: VerifierId,
    pub name: Option<String>,
    /// With defaults filled in.
    pub config: Value,
    pub digest: String,
    pub metadata: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

impl Store {
    pub async fn add_verifier(&self, verifier: &VerifierRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into verifier (id, name, config, digest, metadata, created_at, project)
             values ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(verifier.id.to_string())
        .bind(&verifier.name)
        .bind(write_json(&verifier.config)?)
        .bind(&verifier.digest)
        .bind(write_json(&verifier.metadata)?)
        .bind(verifier.created_at.0)
        .bind(self.own_project())
        .execute(tx.connection())
        .await?;
        tx.commit_made(verifier.id).await
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
            .bind(i64::from(page.limit))
            .bind(self.project())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(verifier).collect()
    }

    /// Changes what a verifier carries for people; nothing given stays as it is.
    pub async fn label_verifier(&self, id: VerifierId, labels: &Labels) -> Result<VerifierRow> {
        let mut tx = self.begin().await?;
        let changed = sqlx::query(
            "update verifier set name = case when $2 then $3 else name end, metadata = coalesce($4, metadata)
             where id = $1 and project = coalesce($5, project)",
        )
        .bind(id.to_string())
        .bind(labels.name.is_some())
        .bind(labels.name.clone().flatten())
        .bind(labels.metadata.as_ref().map(write_json).transpose()?)
        .bind(self.project())
        .execute(tx.connection())
        .await?;
        tx.commit().await?;
        if changed.rows_affected() == 0 {
            return Err(StoreError::NotFound { what: "verifier", id: id.to_string() });
        }
        self.verifier(id).await
    }

    /// Removes a verifier. Refuses while a job that is not finished was submitted with its id.
    pub async fn delete_verifier(&self, id: VerifierId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let deleted = sqlx::query("delete from verifier where id = $1 and project = coalesce($2, project)")
                .bind(id.to_string())
                .bind(self.project())
                .execute(tx.connection())
                .await?;
            if deleted.rows_affected() == 0 {
                return Err(StoreError::NotFound { what: "verifier", id: id.to_string() });
            }
            unused(tx.connection(), &[id.to_string()], "verifier").await?;
            tx.commit().await
        })
        .await
    }
}

fn verifier(row: &AnyRow) -> Result<VerifierRow> {
    Ok(VerifierRow {
        id: read("verifier id", row.try_get("id")?)?,
        name: row.try_get("name")?,
        config: read_json("verifier", row.try_get("config")?)?,
        digest: row.try_get("digest")?,
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
