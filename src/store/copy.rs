//! A copy of all rows of a database in another, as from SQLite in a data directory to PostgreSQL. Rows go table by table,
//! what is referred to before what refers to it, and within a table in the order of its key, so that a copy that was
//! interrupted goes on behind the last row that arrived. At the end every table is read once more on both sides and
//! compared by its digest.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::statement::{Statement, Values};
use super::{Result, Store, StoreError};
use crate::job::Timestamp;
use crate::job::digest::hex;

/// Rows that are read and written at a time.
const BATCH: i64 = 500;
/// Values that a statement has at most, for PostgreSQL counts them with 16 bits.
const MOST_VALUES: usize = 32_000;

/// What every machine says of itself when it begins, and what is of one database alone.
const LEFT_OUT: [&str; 8] =
    ["_sqlx_migrations", "compatibility", "copied_from", "device", "holding", "host", "key_digest", "leader"];

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    pub name: String,
    pub rows: u64,
    /// Of all rows, once they were compared.
    pub sha256: Option<String>,
}

/// A table with its columns and those of its key.
struct Table {
    name: String,
    columns: Vec<(String, Kind)>,
    key: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Text,
    Bytes,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Store {
    /// Copies all rows into `target`, whose database must be new, or hold an earlier part of the same copy. `told` learns
    /// how far each table is. No server may use either meanwhile.
    pub async fn copy_rows(
        &self,
        target: &Store,
        now: Timestamp,
        told: impl Fn(&CopiedTable),
    ) -> Result<Vec<CopiedTable>> {
        if self.files().has_server() {
            return Err(StoreError::Conflict("a server runs on the data directory; stop it first".to_owned()));
        }
        let mut source = self.readers.acquire().await?;
        let tables = tables(&mut source).await?;
        target.begin_copy(&tables, &self.identity()?).await?;
        let mut copied = Vec::with_capacity(tables.len());
        for table in &tables {
            let rows = target.copy_table(&mut source, table, &told).await?;
            copied.push(CopiedTable { name: table.name.clone(), rows, sha256: None });
        }
        let mut other = target.readers.acquire().await?;
        for (table, copied) in tables.iter().zip(&mut copied) {
            let (here, there) = (digest(&mut source, table).await?, digest(&mut other, table).await?);
            if here != there {
                let detail =
                    format!("table `{}` is not the same on both sides; something was written meanwhile", table.name);
                return Err(StoreError::Conflict(detail));
            }
            copied.sha256 = Some(here);
            told(copied);
        }
        let mut tx = target.begin().await?;
        sqlx::query("update copied_from set completed_at = $1").bind(now.0).execute(tx.connection()).await?;
        tx.commit().await?;
        Ok(copied)
    }

    /// Says what is copied here, unless there is anything else.
    async fn begin_copy(&self, tables: &[Table], identity: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let begun: Option<(String, Option<i64>)> =
            sqlx::query_as("select identity, completed_at from copied_from").fetch_optional(tx.connection()).await?;
        match begun {
            Some((source, None)) if source == identity => return Ok(()),
            Some((_, None)) => {
                return Err(StoreError::Conflict("a copy of another data directory was begun into it".to_owned()));
            }
            Some((_, Some(_))) => return Err(StoreError::Conflict("a copy was completed into it already".to_owned())),
            None => {}
        }
        let used =
            sqlx::query("select 1 from job union all select 1 from api_key union all select 1 from dataset limit 1");
        if used.fetch_optional(tx.connection()).await?.is_some() {
            return Err(StoreError::Conflict("it holds data already; name an empty database".to_owned()));
        }
        // What the making of the tables has put there.
        for table in tables.iter().rev() {
            let mut delete = Statement::new("delete from ");
            delete.push_name(&table.name);
            delete.finish()?.execute(tx.connection()).await?;
        }
        sqlx::query("insert into copied_from (only_row, identity) values (1, $1)")
            .bind(identity)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    async fn copy_table(&self, source: &mut AnyConnection, table: &Table, told: &impl Fn(&CopiedTable)) -> Result<u64> {
        let mut last = {
            let mut reader = self.readers.acquire().await?;
            table.last(&mut reader).await?
        };
        let mut copied = CopiedTable { name: table.name.clone(), rows: 0, sha256: None };
        loop {
            let rows = table.read(source, last.as_deref()).await?;
            let Some(newest) = rows.last() else { return Ok(copied.rows) };
            last = Some(table.key_of(newest));
            copied.rows += rows.len() as u64;
            let mut tx = self.begin().await?;
            for rows in rows.chunks((MOST_VALUES / table.columns.len()).max(1)) {
                table.insert(rows)?.execute(tx.connection()).await.map_err(|error| match StoreError::from(error) {
                    StoreError::Nul => {
                        let detail =
                            format!("a row of `{}` has the character U+0000, which PostgreSQL cannot hold", table.name);
                        StoreError::Conflict(detail)
                    }
                    error => error,
                })?;
            }
            tx.commit().await?;
            told(&copied);
        }
    }
}

impl Table {
    /// Rows behind a key, in the order of the key.
    async fn read(&self, connection: &mut AnyConnection, after: Option<&[Value]>) -> Result<Vec<Vec<Value>>> {
        let mut statement = self.select();
        if let Some(after) = after {
            statement.push(" where (");
            self.push_key(&mut statement, "");
            statement.push(") > (");
            for (number, value) in after.iter().enumerate() {
                statement.push(if number == 0 { "" } else { ", " });
                bind(&mut statement, value);
            }
            statement.push(")");
        }
        statement.push(" order by ");
        self.push_key(&mut statement, "");
        statement.push(" limit ").bind(BATCH);
        let rows = statement.finish()?.fetch_all(connection).await?;
        rows.iter().map(|row| self.values(row)).collect()
    }

    /// The key of the last row.
    async fn last(&self, connection: &mut AnyConnection) -> Result<Option<Vec<Value>>> {
        let mut statement = self.select();
        statement.push(" order by ");
        self.push_key(&mut statement, " desc");
        statement.push(" limit 1");
        let row = statement.finish()?.fetch_optional(connection).await?;
        row.map(|row| Ok(self.key_of(&self.values(&row)?))).transpose()
    }

    fn insert(
        &self,
        rows: &[Vec<Value>],
    ) -> sqlx::Result<sqlx::query::Query<'static, sqlx::Any, sqlx::any::AnyArguments>> {
        let mut statement = Statement::new("insert into ");
        statement.push_name(&self.name).push(" (");
        for (number, (column, _)) in self.columns.iter().enumerate() {
            statement.push(if number == 0 { "" } else { ", " }).push_name(column);
        }
        statement.push(") ");
        statement.rows(rows, |row, values| values.iter().for_each(|value| bind_in(row, value)));
        statement.finish()
    }

    fn select(&self) -> Statement {
        let mut statement = Statement::new("select ");
        for (number, (column, _)) in self.columns.iter().enumerate() {
            statement.push(if number == 0 { "" } else { ", " }).push_name(column);
        }
        statement.push(" from ").push_name(&self.name);
        statement
    }

    fn push_key(&self, statement: &mut Statement, order: &'static str) {
        for (number, column) in self.key.iter().enumerate() {
            statement.push(if number == 0 { "" } else { ", " }).push_name(&self.columns[*column].0).push(order);
        }
    }

    fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.key.iter().map(|column| row[*column].clone()).collect()
    }

    fn values(&self, row: &AnyRow) -> Result<Vec<Value>> {
        let values = self.columns.iter().enumerate().map(|(number, (_, kind))| {
            Ok(match kind {
                Kind::Integer => row.try_get::<Option<i64>, _>(number)?.map_or(Value::Null, Value::Integer),
                Kind::Real => row.try_get::<Option<f64>, _>(number)?.map_or(Value::Null, Value::Real),
                Kind::Text => row.try_get::<Option<String>, _>(number)?.map_or(Value::Null, Value::Text),
                Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(number)?.map_or(Value::Null, Value::Bytes),
            })
        });
        values.collect()
    }
}

fn bind(statement: &mut Statement, value: &Value) {
    match value {
        Value::Null => statement.push("null"),
        Value::Integer(value) => statement.bind(*value),
        Value::Real(value) => statement.bind(*value),
        Value::Text(value) => statement.bind(value.clone()),
        Value::Bytes(value) => statement.bind(value.clone()),
    };
}

fn bind_in(row: &mut Values<'_>, value: &Value) {
    match value {
        Value::Null => row.null(),
        Value::Integer(value) => row.bind(*value),
        Value::Real(value) => row.bind(*value),
        Value::Text(value) => row.bind(value.clone()),
        Value::Bytes(value) => row.bind(value.clone()),
    };
}

/// The tables of a database of SQLite that are copied, those before others that these refer to.
async fn tables(connection: &mut AnyConnection) -> Result<Vec<Table>> {
    let names: Vec<String> = sqlx::query_scalar(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut left: Vec<(Table, BTreeSet<String>)> = Vec::new();
    for name in names.into_iter().filter(|name| !LEFT_OUT.contains(&name.as_str())) {
        let rows: Vec<(String, String, i64)> =
            sqlx::query_as("select name, lower(type), pk from pragma_table_info($1) order by cid")
                .bind(&name)
                .fetch_all(&mut *connection)
                .await?;
        let needs: Vec<String> = sqlx::query_scalar("select \"table\" from pragma_foreign_key_list($1)")
            .bind(&name)
            .fetch_all(&mut *connection)
            .await?;
        let mut key: Vec<(i64, usize)> =
            (0..).zip(&rows).map(|(at, row)| (row.2, at)).filter(|(pk, _)| *pk > 0).collect();
        key.sort_unstable();
        let columns = rows.into_iter().map(|(column, declared, _)| (column, Kind::declared(&declared))).collect();
        let key = key.into_iter().map(|(_, at)| at).collect();
        let needs = needs.into_iter().filter(|other| *other != name).collect();
        left.push((Table { name, columns, key }, needs));
    }
    let mut tables = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waiting: BTreeSet<String> = left.iter().map(|(table, _)| table.name.clone()).collect();
        let (ready, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, needs)| needs.is_disjoint(&waiting));
        if ready.is_empty() {
            let detail = format!("{waiting:?} refer to one another");
            return Err(StoreError::Corrupt { what: "schema", detail });
        }
        tables.extend(ready.into_iter().map(|(table, _)| table));
        left = rest;
    }
    Ok(tables)
}

impl Kind {
    fn declared(name: &str) -> Self {
        match name {
            "integer" | "bigint" => Self::Integer,
            "real" | "double precision" => Self::Real,
            "blob" => Self::Bytes,
            _ => Self::Text,
        }
    }
}

/// Of all rows in the order of the key.
async fn digest(connection: &mut AnyConnection, table: &Table) -> Result<String> {
    let (mut digest, mut last) = (Sha256::new(), None);
    loop {
        let rows = table.read(connection, last.as_deref()).await?;
        for value in rows.iter().flatten() {
            match value {
                Value::Null => digest.update([0]),
                Value::Integer(value) => digest.update([&[1][..], &value.to_le_bytes()].concat()),
                Value::Real(value) => digest.update([&[2][..], &value.to_le_bytes()].concat()),
                Value::Text(value) => {
                    digest.update([&[3][..], &value.len().to_le_bytes()].concat());
                    digest.update(value);
                }
                Value::Bytes(value) => {
                    digest.update([&[4][..], &value.len().to_le_bytes()].concat());
                    digest.update(value);
                }
            }
        }
        match rows.last() {
            Some(newest) => last = Some(table.key_of(newest)),
            None => return Ok(hex(&digest.finalize())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::JobKind;
    use crate::store::backend::Backend;
    use crate::store::{EventFilter, NewJob, database};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    /// A data directory with SQLite and `jobs` jobs in it.
    async fn source(jobs: usize) -> (Store, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        Backend::prepare(&database(folder.path())).await.unwrap().connect().await.unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        assert!(!store.is_shared());
        for number in 0..jobs {
            let dataset = json!({"train": "builtin:arithmetic"});
            let spec = json!({"model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}, "name": format!("{number} é")});
            store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, NOW).await.unwrap();
        }
        (store, folder)
    }

    #[test]
    fn tables_come_after_those_that_they_refer_to() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (store, _folder) = source(0).await;
            let tables = tables(&mut store.readers.acquire().await.unwrap()).await.unwrap();
            let place = |name: &str| tables.iter().position(|table| table.name == name).unwrap();
            assert!(place("job") < place("event") && place("webhook_endpoint") < place("webhook_delivery"));
            assert!(tables.iter().all(|table| !table.key.is_empty()), "every table has a key");
        });
    }

    #[tokio::test]
    async fn a_copy_has_everything_and_one_that_was_broken_off_is_gone_on_with() {
        if !crate::store::backend::on_postgres() {
            return;
        }
        let (source, _folder) = source(700).await;
        let other = tempfile::tempdir().unwrap();
        let target = Store::open(other.path()).await.unwrap();
        assert!(target.is_shared());
        let broken = std::panic::AssertUnwindSafe(source.copy_rows(&target, NOW, |table| {
            assert!(table.name != "event" || table.rows < 500, "the machine goes down");
        }));
        assert!(futures_util::FutureExt::catch_unwind(broken).await.is_err());
        let copied = source.copy_rows(&target, NOW, |_| {}).await.unwrap();
        let events = copied.iter().find(|table| table.name == "event").unwrap();
        assert!(events.sha256.is_some() && events.rows < 700, "it went on where it was");
        let filter = EventFilter::default();
        let all = async |store: &Store| store.all_events(0, i64::MAX, &filter, 1000).await.unwrap();
        let [here, there] = [all(&source).await, all(&target).await];
        assert_eq!(here.len(), 700);
        assert_eq!(
            serde_json::to_string(
                &here.iter().map(|(at, event)| (at, event.id.to_string(), event.seq)).collect::<Vec<_>>()
            )
            .unwrap(),
            serde_json::to_string(
                &there.iter().map(|(at, event)| (at, event.id.to_string(), event.seq)).collect::<Vec<_>>()
            )
            .unwrap()
        );
        let again = source.copy_rows(&target, NOW, |_| {}).await.unwrap_err();
        assert!(again.to_string().contains("completed"), "{again}");
        let dataset = json!({"train": "builtin:arithmetic"});
        let spec = json!({"model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}});
        target.submit_job(NewJob::of_kind(JobKind::Train, spec), None, NOW).await.unwrap();
        assert!(all(&target).await.last().unwrap().0 > here.last().unwrap().0, "new events stand behind the old ones");
    }
}
