//! Data sets and their immutable versions.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::inputs::unused;
use super::{Labels, Location, Page, Result, Store, StoreError, number, read, read_json, write_json};
use crate::job::{DatasetId, DatasetVersionId, Timestamp};

/// A data set with its newest version.
#[derive(Clone, Debug)]
pub struct DatasetRow {
    pub id: DatasetId,
    pub name: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: Timestamp,
    pub latest: DatasetVersionRow,
}

/// One version: a validated file.
#[derive(Clone, Debug)]
pub struct DatasetVersionRow {
    pub id: DatasetVersionId,
    pub dataset: DatasetId,
    pub number: u32,
    pub sha256: String,
    pub rows: u64,
    pub bytes: u64,
    /// Rows with an answer, with a completion, and repeating an earlier prompt.
    pub answers: u64,
    pub completions: u64,
    pub duplicates: u64,
    /// The column map, as JSON.
    pub columns: Value,
    /// The rows that have a value in each column that any row has. None when that was not counted: the version is older
    /// than the count, or has too many columns.
    pub filled: Option<BTreeMap<String, u64>>,
    /// Where its rows come from and what was made of them, as JSON. None when they are JSON Lines that came as they are, or
    /// the version is older than this is noted.
    pub origin: Option<Value>,
    /// How rows are held out, as JSON, and how many are.
    pub split: Option<Value>,
    pub held_out: u64,
    /// The version that it was made of, and how, as JSON.
    pub parent: Option<DatasetVersionId>,
    pub made: Option<Value>,
    pub created_at: Timestamp,
}

const WITH_LATEST: &str = "select d.name, d.metadata, d.created_at as dataset_created_at, v.*
     from dataset d join dataset_version v on v.dataset_id = d.id
      and v.number = (select max(number) from dataset_version where dataset_id = d.id)
     where d.id = $1 and d.project = coalesce($2, d.project)";

impl Store {
    /// Adds a data set with its first version, whose file is in place already.
    pub async fn add_dataset(
        &self,
        name: Option<&str>,
        metadata: &BTreeMap<String, String>,
        version: &DatasetVersionRow,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("insert into dataset (id, name, metadata, created_at, project) values ($1, $2, $3, $4, $5)")
            .bind(version.dataset.to_string())
            .bind(name)
            .bind(write_json(metadata)?)
            .bind(version.created_at.0)
            .bind(self.own_project())
            .execute(tx.connection())
            .await?;
        insert_version(tx.connection(), version, 1).await?;
        tx.commit_made(version.dataset).await
    }

    /// Adds the next version of an existing data set; `version.number` is ignored.
    pub async fn add_dataset_version(&self, version: &DatasetVersionRow) -> Result<()> {
        let mut tx = self.begin().await?;
        let newest: Option<i64> = sqlx::query_scalar(
            "select max(number) from dataset_version join dataset on dataset.id = dataset_id
             where dataset_id = $1 and project = coalesce($2, project)",
        )
        .bind(version.dataset.to_string())
        .bind(self.project())
        .fetch_one(tx.connection())
        .await?;
        let Some(newest) = newest else {
            return Err(StoreError::NotFound { what: "data set", id: version.dataset.to_string() });
        };
        insert_version(tx.connection(), version, newest + 1).await?;
        tx.commit_made(version.id).await
    }

    /// As [`add_dataset_version`](Self::add_dataset_version), but only behind version `latest`; says whether that still
    /// was the newest.
    pub async fn add_dataset_version_after(&self, version: &DatasetVersionRow, latest: u32) -> Result<bool> {
        let mut tx = self.begin().await?;
        let newest: Option<i64> = sqlx::query_scalar("select max(number) from dataset_version where dataset_id = $1")
            .bind(version.dataset.to_string())
            .fetch_one(tx.connection())
            .await?;
        let Some(newest) = newest else {
            return Err(StoreError::NotFound { what: "data set", id: version.dataset.to_string() });
        };
        let is_latest = newest == i64::from(latest);
        if is_latest {
            insert_version(tx.connection(), version, newest + 1).await?;
            tx.commit_made(version.id).await?;
        }
        Ok(is_latest)
    }

    /// Changes what a data set carries for people; nothing given stays as it is.
    pub async fn label_dataset(&self, id: DatasetId, labels: &Labels) -> Result<DatasetRow> {
        let mut tx = self.begin().await?;
        let changed = sqlx::query(
            "update dataset set name = case when $2 then $3 else name end, metadata = coalesce($4, metadata)
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
            return Err(StoreError::NotFound { what: "data set", id: id.to_string() });
        }
        self.dataset(id).await
    }

    /// Removes a data set with all its versions and their files. Refuses while a job that is not finished, or a suite, names one
    /// of them.
    pub async fn delete_dataset(&self, id: DatasetId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let versions: Vec<String> = sqlx::query_scalar(
                "select v.id from dataset_version v join dataset d on d.id = v.dataset_id
                 where d.id = $1 and d.project = coalesce($2, d.project)",
            )
            .bind(id.to_string())
            .bind(self.project())
            .fetch_all(tx.connection())
            .await?;
            if versions.is_empty() {
                return Err(StoreError::NotFound { what: "data set", id: id.to_string() });
            }
            unused(tx.connection(), &versions, "data set").await?;
            in_no_suite(tx.connection(), id).await?;
            for statement in ["delete from dataset_version where dataset_id = $1", "delete from dataset where id = $1"]
            {
                sqlx::query(statement).bind(id.to_string()).execute(tx.connection()).await?;
            }
            tx.commit().await?;
            for version in &versions {
                self.place().remove(&Location::dataset(read("data set version id", version)?)).await;
            }
            Ok(())
        })
        .await
    }

    /// The versions of a data set by id, which is the order of their numbers.
    pub async fn dataset_versions(&self, dataset: DatasetId, page: &Page) -> Result<Vec<DatasetVersionRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select v.* from dataset_version v join dataset d on d.id = v.dataset_id
             where d.id = $1 and d.project = coalesce($2, d.project) and v.id > $3 and v.id < $4
             order by v.id desc limit $5"
        } else {
            "select v.* from dataset_version v join dataset d on d.id = v.dataset_id
             where d.id = $1 and d.project = coalesce($2, d.project) and v.id > $3 and v.id < $4
             order by v.id limit $5"
        };
        let rows = sqlx::query(statement)
            .bind(dataset.to_string())
            .bind(self.project())
            .bind(low)
            .bind(high)
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(version).collect()
    }

    pub async fn dataset(&self, id: DatasetId) -> Result<DatasetRow> {
        let row =
            sqlx::query(WITH_LATEST).bind(id.to_string()).bind(self.project()).fetch_optional(&self.readers).await?;
        let row = row.ok_or_else(|| StoreError::NotFound { what: "data set", id: id.to_string() })?;
        dataset(&row)
    }

    pub async fn datasets(&self, page: &Page) -> Result<Vec<DatasetRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select id from dataset where id > $1 and id < $2 and project = coalesce($4, project) order by id desc limit $3"
        } else {
            "select id from dataset where id > $1 and id < $2 and project = coalesce($4, project) order by id limit $3"
        };
        let ids: Vec<String> = sqlx::query_scalar(statement)
            .bind(low)
            .bind(high)
            .bind(i64::from(page.limit))
            .bind(self.project())
            .fetch_all(&self.readers)
            .await?;
        let mut datasets = Vec::with_capacity(ids.len());
        for id in ids {
            datasets.push(self.dataset(read("data set id", &id)?).await?);
        }
        Ok(datasets)
    }

    pub async fn dataset_version(&self, id: DatasetVersionId) -> Result<DatasetVersionRow> {
        let row = sqlx::query(
            "select dataset_version.* from dataset_version join dataset on dataset.id = dataset_id
             where dataset_version.id = $1 and project = coalesce($2, project)",
        )
        .bind(id.to_string())
        .bind(self.project())
        .fetch_optional(&self.readers)
        .await?
        .ok_or_else(|| StoreError::NotFound { what: "data set version", id: id.to_string() })?;
        version(&row)
    }
}

async fn insert_version(connection: &mut AnyConnection, version: &DatasetVersionRow, number: i64) -> Result<()> {
    sqlx::query(
        "insert into dataset_version (id, dataset_id, number, sha256, row_count, bytes, answers, completions,
                                      duplicates, columns, created_at, filled, origin, split, held_out, parent_id,
                                      made)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    )
    .bind(version.id.to_string())
    .bind(version.dataset.to_string())
    .bind(number)
    .bind(&version.sha256)
    .bind(version.rows as i64)
    .bind(version.bytes as i64)
    .bind(version.answers as i64)
    .bind(version.completions as i64)
    .bind(version.duplicates as i64)
    .bind(write_json(&version.columns)?)
    .bind(version.created_at.0)
    .bind(version.filled.as_ref().map(write_json).transpose()?)
    .bind(version.origin.as_ref().map(write_json).transpose()?)
    .bind(version.split.as_ref().map(write_json).transpose()?)
    .bind(version.held_out as i64)
    .bind(version.parent.map(|parent| parent.to_string()))
    .bind(version.made.as_ref().map(write_json).transpose()?)
    .execute(connection)
    .await?;
    Ok(())
}

/// Refuses when a suite names a version of a data set.
async fn in_no_suite(connection: &mut AnyConnection, dataset: DatasetId) -> Result<()> {
    let suite: Option<String> = sqlx::query_scalar(
        "select suite.id from suite join dataset_version v on v.dataset_id = $1
         where suite.sets like '%' || v.id || '%' limit 1",
    )
    .bind(dataset.to_string())
    .fetch_optional(connection)
    .await?;
    match suite {
        None => Ok(()),
        Some(suite) => {
            Err(StoreError::Conflict(format!("the suite {suite} evaluates on the data set; delete it first")))
        }
    }
}

fn dataset(row: &AnyRow) -> Result<DatasetRow> {
    Ok(DatasetRow {
        id: read("data set id", row.try_get("dataset_id")?)?,
        name: row.try_get("name")?,
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        created_at: Timestamp(row.try_get("dataset_created_at")?),
        latest: version(row)?,
    })
}

fn version(row: &AnyRow) -> Result<DatasetVersionRow> {
    let count = |column| -> Result<u64> { Ok(row.try_get::<i64, _>(column)?.unsigned_abs()) };
    let text = |column| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let json = |column| -> Result<Option<Value>> { text(column)?.map(|text| read_json(column, &text)).transpose() };
    Ok(DatasetVersionRow {
        id: read("data set version id", row.try_get("id")?)?,
        dataset: read("data set id", row.try_get("dataset_id")?)?,
        number: number(row, "number")?,
        sha256: row.try_get("sha256")?,
        rows: count("row_count")?,
        bytes: count("bytes")?,
        answers: count("answers")?,
        completions: count("completions")?,
        duplicates: count("duplicates")?,
        columns: read_json("column map", row.try_get("columns")?)?,
        filled: text("filled")?.map(|text| read_json("column counts", &text)).transpose()?,
        origin: json("origin")?,
        split: json("split")?,
        held_out: count("held_out")?,
        parent: text("parent_id")?.map(|id| read("data set version id", &id)).transpose()?,
        made: json("made")?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
