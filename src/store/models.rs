//! Imported models.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::inputs::in_use;
use super::{DEFAULT_PROJECT, Location, Page, Result, Store, StoreError, read};
use crate::job::{ModelId, Timestamp};

/// A model whose files are in the data directory.
#[derive(Clone, Debug)]
pub struct ModelRow {
    pub id: ModelId,
    pub name: Option<String>,
    /// Where it came from.
    pub source: String,
    /// `safetensors` or `gguf`.
    pub format: String,
    pub architecture: String,
    pub parameters: u64,
    pub context_length: u64,
    pub vocab_size: u64,
    pub weights_sha256: String,
    pub tokenizer_sha256: String,
    pub bytes: u64,
    pub created_at: Timestamp,
}

impl Store {
    pub async fn add_model(&self, model: &ModelRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into model (id, name, source, format, architecture, parameters, context_length, vocab_size,
                                weights_sha256, tokenizer_sha256, bytes, created_at, project)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        )
        .bind(model.id.to_string())
        .bind(&model.name)
        .bind(&model.source)
        .bind(&model.format)
        .bind(&model.architecture)
        .bind(model.parameters as i64)
        .bind(model.context_length as i64)
        .bind(model.vocab_size as i64)
        .bind(&model.weights_sha256)
        .bind(&model.tokenizer_sha256)
        .bind(model.bytes as i64)
        .bind(model.created_at.0)
        // What the operator imports is there for every project.
        .bind(self.project())
        .execute(tx.connection())
        .await?;
        tx.commit_made(model.id).await
    }

    pub async fn model(&self, id: ModelId) -> Result<ModelRow> {
        sqlx::query("select * from model where id = $1 and (project is null or project = coalesce($2, project))")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(|| Err(StoreError::NotFound { what: "model", id: id.to_string() }), |row| model(&row))
    }

    pub async fn models(&self, page: &Page) -> Result<Vec<ModelRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from model where id > $1 and id < $2
               and (project is null or project = coalesce($4, project)) order by id desc limit $3"
        } else {
            "select * from model where id > $1 and id < $2
               and (project is null or project = coalesce($4, project)) order by id limit $3"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(page.limit)
            .bind(self.project())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(model).collect()
    }

    /// Deletes a model of the project, with its files, that no unfinished job starts from or learns from.
    pub async fn delete_model(&self, id: ModelId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            // Who else sees a model may not take it away: one without a project is the default project's.
            let owned =
                sqlx::query("select 1 from model where id = $1 and coalesce(project, $3) = coalesce($2, project, $3)")
                    .bind(id.to_string())
                    .bind(self.project())
                    .bind(DEFAULT_PROJECT)
                    .fetch_optional(tx.connection())
                    .await?;
            if owned.is_none() {
                return Err(StoreError::NotFound { what: "model", id: id.to_string() });
            }
            // The job may be another project's, whose ids are its own affair.
            if in_use(tx.connection(), &[id.to_string()], None).await?.is_some() {
                let detail = "a job that is not finished uses the model; cancel it or wait for it";
                return Err(StoreError::Conflict(detail.to_owned()));
            }
            sqlx::query("delete from model where id = $1").bind(id.to_string()).execute(tx.connection()).await?;
            tx.commit().await?;
            self.place().remove(&Location::model(id)).await;
            Ok(())
        })
        .await
    }
}

fn model(row: &SqliteRow) -> Result<ModelRow> {
    let count = |column| -> Result<u64> { Ok(row.try_get::<i64, _>(column)?.unsigned_abs()) };
    Ok(ModelRow {
        id: read("model id", row.try_get("id")?)?,
        name: row.try_get("name")?,
        source: row.try_get("source")?,
        format: row.try_get("format")?,
        architecture: row.try_get("architecture")?,
        parameters: count("parameters")?,
        context_length: count("context_length")?,
        vocab_size: count("vocab_size")?,
        weights_sha256: row.try_get("weights_sha256")?,
        tokenizer_sha256: row.try_get("tokenizer_sha256")?,
        bytes: count("bytes")?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
