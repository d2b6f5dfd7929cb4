//! Imported models, from the moment in which they are laid out.

use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::artifacts::AdapterOf;
use super::inputs::{has_adapters, in_use};
use super::{DEFAULT_PROJECT, Location, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::adapter::AdapterSpec;
use crate::job::{Failure, ManifestFile, ModelId, ModelStatus, Timestamp};

/// A model whose files are in the data directory, or on their way there.
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
    /// None before all weights are there.
    pub weights_sha256: Option<String>,
    /// What its folder holds; none before all of it is there, and of models from before that was written down.
    pub files: Vec<ManifestFile>,
    pub tokenizer_sha256: String,
    /// Of all files.
    pub bytes: u64,
    pub created_at: Timestamp,
    pub status: ModelStatus,
    /// Of all files, as far as they are there.
    pub bytes_done: u64,
    /// Why it is `failed`.
    pub failure: Option<Failure>,
    /// What of it is not as its authors trained it, as JSON.
    pub warnings: Value,
    /// What is missing and where it comes from, as the import wrote it down.
    pub plan: Option<String>,
    /// When a job that refers to it was submitted last.
    pub last_used_at: Option<Timestamp>,
    /// What it is an adapter of, if it is one.
    pub adapter: Option<AdapterOf>,
}

/// All columns of a model, and when a job was submitted last that refers to it.
macro_rules! models {
    ($rest:literal) => {
        concat!(
            "select *, (select max(job.created_at) from job_input join job on job.id = job_input.job_id
                        where job_input.id = model.id) as last_used_at
             from model ",
            $rest
        )
    };
}
pub(super) use models;

impl Store {
    pub async fn add_model(&self, model: &ModelRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into model (id, name, source, format, architecture, parameters, context_length, vocab_size,
                                weights_sha256, tokenizer_sha256, bytes, created_at, project, status, bytes_done, warnings,
                                plan, base, adapter)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
        )
        .bind(model.id.to_string())
        .bind(&model.name)
        .bind(&model.source)
        .bind(&model.format)
        .bind(&model.architecture)
        .bind(model.parameters as i64)
        .bind(model.context_length as i64)
        .bind(model.vocab_size as i64)
        .bind(model.weights_sha256.as_deref().unwrap_or_default())
        .bind(&model.tokenizer_sha256)
        .bind(model.bytes as i64)
        .bind(model.created_at.0)
        // What the operator imports is there for every project.
        .bind(self.project())
        .bind(model.status.as_str())
        .bind(model.bytes_done as i64)
        .bind(write_json(&model.warnings)?)
        .bind(&model.plan)
        .bind(model.adapter.as_ref().map(|of| of.model.to_string()))
        .bind(model.adapter.as_ref().map(|of| write_json(&of.lora.to_spec())).transpose()?)
        .execute(tx.connection())
        .await?;
        tx.commit_made(model.id).await
    }

    pub async fn model(&self, id: ModelId) -> Result<ModelRow> {
        sqlx::query(models!("where id = $1 and (project is null or project = coalesce($2, project))"))
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(|| Err(StoreError::NotFound { what: "model", id: id.to_string() }), |row| model(&row))
    }

    pub async fn models(&self, page: &Page) -> Result<Vec<ModelRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            models!(
                "where id > $1 and id < $2 and (project is null or project = coalesce($4, project))
                 order by id desc limit $3"
            )
        } else {
            models!(
                "where id > $1 and id < $2 and (project is null or project = coalesce($4, project))
                 order by id limit $3"
            )
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(i64::from(page.limit))
            .bind(self.project())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(model).collect()
    }

    /// Gives a model of the project a name for people; another's keeps its own.
    pub async fn name_model(&self, id: ModelId, name: &str) -> Result<ModelRow> {
        let mut tx = self.begin().await?;
        sqlx::query("update model set name = $2 where id = $1 and coalesce(project, $4) = coalesce($3, project, $4)")
            .bind(id.to_string())
            .bind(name)
            .bind(self.project())
            .bind(DEFAULT_PROJECT)
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        self.model(id).await
    }

    /// The newest model from a source that is seen here; one that is ready before one that is not.
    pub async fn model_from(&self, source: &str) -> Result<Option<ModelRow>> {
        let found = sqlx::query(models!(
            "where source = $1 and (project is null or project = coalesce($2, project))
             order by case status when 'ready' then 0 when 'failed' then 2 else 1 end, id desc limit 1"
        ));
        let row = found.bind(source).bind(self.project()).fetch_optional(&self.readers).await?;
        row.map(|row| model(&row)).transpose()
    }

    /// The newest model that is ready, from any of the sources that begin so.
    pub async fn newest_model_from(&self, beginning: &str) -> Result<Option<ModelRow>> {
        let found = sqlx::query(models!(
            "where source >= $1 and source < $1 || '~' and status = 'ready'
                   and (project is null or project = coalesce($2, project)) order by id desc limit 1"
        ));
        let row = found.bind(beginning).bind(self.project()).fetch_optional(&self.readers).await?;
        row.map(|row| model(&row)).transpose()
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
            if has_adapters(tx.connection(), &id.to_string()).await? {
                let detail = "adapters that belong to the model need it; delete them first";
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

impl ModelRow {
    /// What others know it by: its name on the hub, or here.
    pub fn public_name(&self) -> String {
        let hub = self.source.strip_prefix("hf:").and_then(|rest| rest.split(['@', ':']).next());
        hub.map(str::to_owned).or_else(|| self.name.clone()).unwrap_or_else(|| self.id.to_string())
    }
}

pub(super) fn model(row: &AnyRow) -> Result<ModelRow> {
    let count = |column| -> Result<u64> { Ok(row.try_get::<i64, _>(column)?.unsigned_abs()) };
    let failure: Option<String> = row.try_get("failure")?;
    Ok(ModelRow {
        id: read("model id", row.try_get("id")?)?,
        name: row.try_get("name")?,
        source: row.try_get("source")?,
        format: row.try_get("format")?,
        architecture: row.try_get("architecture")?,
        parameters: count("parameters")?,
        context_length: count("context_length")?,
        vocab_size: count("vocab_size")?,
        weights_sha256: Some(row.try_get("weights_sha256")?).filter(|sha256: &String| !sha256.is_empty()),
        files: row
            .try_get::<Option<String>, _>("files")?
            .map_or(Ok(Vec::new()), |files| read_json("files of a model", &files))?,
        tokenizer_sha256: row.try_get("tokenizer_sha256")?,
        bytes: count("bytes")?,
        created_at: Timestamp(row.try_get("created_at")?),
        status: read("model status", row.try_get("status")?)?,
        bytes_done: count("bytes_done")?,
        failure: failure.map(|text| read_json("failure", &text)).transpose()?,
        warnings: read_json("warnings", row.try_get("warnings")?)?,
        plan: row.try_get("plan")?,
        last_used_at: row.try_get::<Option<i64>, _>("last_used_at")?.map(Timestamp),
        adapter: adapter(row)?,
    })
}

fn adapter(row: &AnyRow) -> Result<Option<AdapterOf>> {
    let base: Option<String> = row.try_get("base")?;
    let Some(base) = base else { return Ok(None) };
    let spec: AdapterSpec = read_json("adapter", row.try_get("adapter")?)?;
    let corrupt = |_| StoreError::Corrupt { what: "adapter", detail: format!("of the model {base}") };
    let lora = spec.resolve(None).map_err(corrupt)?;
    Ok(Some(AdapterOf { model: read("base", &base)?, seed: 0, lora, chat_template: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    fn a_model() -> ModelRow {
        ModelRow {
            id: ModelId::generate(),
            name: None,
            source: String::from("hf:a/b@0123"),
            format: String::from("gguf"),
            architecture: String::from("llama"),
            parameters: 1,
            context_length: 1,
            vocab_size: 1,
            weights_sha256: None,
            files: Vec::new(),
            tokenizer_sha256: String::new(),
            bytes: 1000,
            created_at: NOW,
            status: ModelStatus::Importing,
            bytes_done: 0,
            failure: None,
            warnings: Value::Null,
            plan: None,
            last_used_at: None,
            adapter: None,
        }
    }

    #[tokio::test]
    async fn a_project_names_its_own_models_and_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let (ours, operators) = (a_model(), a_model());
        store.within("ours").add_model(&ours).await.unwrap();
        store.add_model(&operators).await.unwrap();
        let named = async |store: &Store, id| store.name_model(id, "mine").await.unwrap().name;
        assert_eq!(named(&store.within("ours"), operators.id).await, None);
        assert_eq!(named(&store.within("ours"), ours.id).await.as_deref(), Some("mine"));
        assert_eq!(named(&store, operators.id).await.as_deref(), Some("mine"));
    }

    #[tokio::test]
    async fn a_model_takes_of_what_its_project_may_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let model = a_model();
        store.within("ours").add_model(&model).await.unwrap();
        assert_eq!(store.project_with_usage("ours").await.unwrap().storage_bytes, 1000);
        let failure = Failure { kind: crate::job::FailureKind::InvalidData, code: "x".into(), message: "x".into() };
        store.fail_import(model.id, &failure, NOW).await.unwrap();
        assert_eq!(store.project_with_usage("ours").await.unwrap().storage_bytes, 0);
        let gone = store.note_import(model.id, 5, NOW).await;
        assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    }
}
