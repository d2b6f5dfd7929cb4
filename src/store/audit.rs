//! The audit log: who asked for what, and what came of it. Entries are only ever added, and each holds the hash of the one
//! before it: whoever changes an entry, or takes one out, has to change all that follow.

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::statement::Statement;
use super::{Page, Result, Store, number, read};
use crate::job::digest::sha256_hex;
use crate::job::{AuditEntryId, Timestamp};

/// Entries that are written, or read, at a time; their values fit into one statement.
const CHUNK: usize = 1000;

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

impl AuditEntry {
    /// The hash of an entry: of the one before it, and of all that it says.
    fn hash(&self, number: i64, previous: &str) -> String {
        let Self { id, project, key, method, path, status, code, request_id, requests, created_at } = self;
        let said = serde_json::json!([
            previous,
            number,
            id,
            project,
            key,
            method,
            path,
            status,
            code,
            request_id,
            requests,
            created_at.0
        ]);
        sha256_hex(said.to_string().as_bytes())
    }
}

/// What a look through the audit log found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditChain {
    /// Entries that are as they were written.
    pub entries: u64,
    /// The number of the oldest one, if it is not the first that was ever chained, and when it was written.
    pub begins: Option<(i64, Timestamp)>,
    /// Entries of versions that did not chain them.
    pub unchained: u64,
    /// The hash of the newest one.
    pub head: Option<String>,
    /// Whether the hash that was looked for is that of an entry.
    pub holds: bool,
    /// The first entry that is not as it was written, and what is wrong.
    pub broken: Option<(AuditEntryId, &'static str)>,
}

impl AuditChain {
    /// Takes the next entry, which follows one with that number and hash.
    fn take(&mut self, row: &AnyRow, last: Option<&(i64, String)>, known: Option<&str>) -> Result<(i64, String)> {
        let (entry, number) = (entry(row)?, row.try_get::<i64, _>("number")?);
        let text = |column| -> Result<String> { Ok(row.try_get::<Option<String>, _>(column)?.unwrap_or_default()) };
        let (previous, hash) = (text("previous")?, text("hash")?);
        let fault = match last {
            Some((before, _)) if before + 1 != number => Some("entries before it are missing"),
            Some((_, before)) if *before != previous => Some("the entry before it is another one"),
            Some(_) | None => (entry.hash(number, &previous) != hash).then_some("it was changed"),
        };
        if last.is_none() && number != 1 {
            self.begins = Some((number, entry.created_at));
        }
        match fault {
            Some(fault) => self.broken = Some((entry.id, fault)),
            None => {
                self.entries += 1;
                self.holds |= known == Some(hash.as_str());
                self.head = Some(hash.clone());
            }
        }
        Ok((number, hash))
    }
}

impl Store {
    /// Looks through the audit log. `known` is the hash of an entry that was written down elsewhere: with it is noticed
    /// as well when entries are missing at the end, or when all were made anew.
    pub async fn verify_audit_log(&self, known: Option<&str>) -> Result<AuditChain> {
        let mut chain = AuditChain::default();
        // All that is read is of one moment.
        let mut tx = self.readers.begin().await?;
        // Ids are in the order of time.
        let without: Option<String> =
            sqlx::query_scalar("select max(id) from audit_entry where number is null").fetch_one(&mut *tx).await?;
        let first: Option<String> =
            sqlx::query_scalar("select min(id) from audit_entry where number is not null").fetch_one(&mut *tx).await?;
        if let (Some(id), Some(first)) = (without, first)
            && id > first
        {
            chain.broken =
                Some((read("audit entry id", &id)?, "it is newer than the first chained one, and is not chained"));
        }
        let unchained: i64 =
            sqlx::query_scalar("select count(*) from audit_entry where number is null").fetch_one(&mut *tx).await?;
        chain.unchained = unchained.unsigned_abs();
        let mut last: Option<(i64, String)> = None;
        while chain.broken.is_none() {
            let rows = sqlx::query("select * from audit_entry where number > $1 order by number limit $2")
                .bind(last.as_ref().map_or(i64::MIN, |(number, _)| *number))
                .bind(CHUNK as i64)
                .fetch_all(&mut *tx)
                .await?;
            for row in &rows {
                last = Some(chain.take(row, last.as_ref(), known)?);
                if chain.broken.is_some() {
                    break;
                }
            }
            if rows.len() < CHUNK {
                break;
            }
        }
        Ok(chain)
    }

    /// Adds entries, all or none, and lets go of some that are older than a year.
    pub async fn add_audit_entries(&self, entries: &[AuditEntry], now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        // Only ever from the beginning, and never the newest: a chain has no gap, and goes on.
        sqlx::query(
            "with oldest as (select id, number, created_at from audit_entry order by number limit $2)
             delete from audit_entry where created_at < $1
               and number is distinct from (select max(number) from audit_entry) and id || '' in
                 (select id from oldest where coalesce(number, 0) <
                      coalesce((select min(number) from oldest where created_at >= $1), 9223372036854775807))",
        )
        .bind(now.0 - KEPT_MILLISECONDS)
        .bind(CHUNK as i64)
        .execute(tx.connection())
        .await?;
        let (mut number, mut previous) = head(tx.connection()).await?;
        for entries in entries.chunks(CHUNK) {
            let mut insert = Statement::new(
                "insert into audit_entry (id, project, key_id, method, path, status, code, request_id, requests, created_at,
                                          number, previous, hash) ",
            );
            insert.rows(entries, |row, entry| {
                number += 1;
                let hash = entry.hash(number, &previous);
                row.bind(entry.id.to_string())
                    .bind(&entry.project)
                    .bind(&entry.key)
                    .bind(&entry.method)
                    .bind(&entry.path)
                    .bind(i64::from(entry.status))
                    .bind(&entry.code)
                    .bind(&entry.request_id)
                    .bind(i64::try_from(entry.requests).unwrap_or(i64::MAX))
                    .bind(entry.created_at.0)
                    .bind(number)
                    .bind(std::mem::replace(&mut previous, hash.clone()))
                    .bind(hash);
            });
            insert.finish()?.persistent(false).execute(tx.connection()).await?;
        }
        tx.commit().await
    }

    /// Entries, or those of what was done with one key.
    pub async fn audit_entries(&self, key: Option<&str>, page: &Page) -> Result<Vec<AuditEntry>> {
        let (low, high) = page.bounds();
        let mut select = Statement::new("select * from audit_entry where id > ");
        select.bind(low).push(" and id < ").bind(high);
        if let Some(project) = self.project() {
            select.push(" and project = ").bind(project);
        }
        if let Some(key) = key {
            select.push(" and key_id = ").bind(key);
        }
        select.push(if page.newest_first { " order by id desc limit " } else { " order by id limit " });
        select.bind(i64::from(page.limit));
        let rows = select.finish()?.fetch_all(&self.readers).await?;
        rows.iter().map(entry).collect()
    }
}

/// Number and hash of the newest entry.
async fn head(connection: &mut AnyConnection) -> Result<(i64, String)> {
    let newest = "select number, hash from audit_entry where number is not null order by number desc limit 1";
    Ok(sqlx::query_as(newest).fetch_optional(connection).await?.unwrap_or_default())
}

fn entry(row: &AnyRow) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: read("audit entry id", row.try_get("id")?)?,
        project: row.try_get("project")?,
        key: row.try_get("key_id")?,
        method: row.try_get("method")?,
        path: row.try_get("path")?,
        status: number(row, "status")?,
        code: row.try_get("code")?,
        request_id: row.try_get("request_id")?,
        requests: row.try_get::<i64, _>("requests")?.unsigned_abs(),
        created_at: Timestamp(row.try_get("created_at")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000);

    fn entries(number: u64) -> Vec<AuditEntry> {
        let entry = |i| AuditEntry {
            id: AuditEntryId::generate(),
            project: String::from("default"),
            key: None,
            method: String::from("POST"),
            path: format!("/v1/jobs/{i}"),
            status: 200,
            code: None,
            request_id: String::from("r"),
            requests: 1,
            created_at: NOW,
        };
        (0..number).map(entry).collect()
    }

    #[tokio::test]
    async fn what_is_changed_or_taken_out_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let entries = entries(2500);
        for entries in entries.chunks(2400) {
            store.add_audit_entries(entries, NOW).await.unwrap();
        }
        let whole = store.verify_audit_log(None).await.unwrap();
        assert_eq!((whole.entries, whole.broken, whole.holds), (2500, None, false));
        let head = whole.head.unwrap();
        assert!(store.verify_audit_log(Some(&head)).await.unwrap().holds);

        let alter = async |statement: &'static str| {
            let mut tx = store.begin().await.unwrap();
            let altered = sqlx::query(statement).execute(tx.connection()).await.map(|done| done.rows_affected());
            tx.commit().await.unwrap();
            altered
        };
        let kept = alter("update audit_entry set path = '/' where number = 1200").await.unwrap_err();
        assert!(kept.to_string().contains("never change"), "{kept}");
        let drops = match crate::store::backend::on_postgres() {
            true => [
                "drop trigger audit_entry_stays_as_it_is on audit_entry",
                "drop trigger audit_entry_stays on audit_entry",
            ],
            false => ["drop trigger audit_entry_stays_as_it_is", "drop trigger audit_entry_stays"],
        };
        for drop in drops {
            alter(drop).await.unwrap();
        }

        assert_eq!(alter("delete from audit_entry where number = 2500").await.unwrap(), 1);
        let cut = store.verify_audit_log(Some(&head)).await.unwrap();
        assert_eq!((cut.entries, cut.broken, cut.holds), (2499, None, false), "only the known hash tells");
        assert_eq!(alter("update audit_entry set requests = 2 where number = 1200").await.unwrap(), 1);
        let broken = store.verify_audit_log(None).await.unwrap();
        assert_eq!((broken.entries, broken.broken.unwrap().0), (1199, entries[1199].id));
        assert_eq!(alter("delete from audit_entry where number = 700").await.unwrap(), 1);
        assert_eq!(store.verify_audit_log(None).await.unwrap().broken.unwrap().0, entries[700].id);
        assert_eq!(alter("delete from audit_entry where number <= 1200").await.unwrap(), 1199);
        let rest = store.verify_audit_log(None).await.unwrap();
        assert_eq!((rest.entries, rest.broken), (1299, None), "the oldest are let go of");
        assert_eq!(rest.begins, Some((1201, NOW)));
        assert_eq!(alter("update audit_entry set number = null, hash = null where number = 1500").await.unwrap(), 1);
        assert_eq!(store.verify_audit_log(None).await.unwrap().broken.unwrap().0, entries[1499].id);
    }

    #[tokio::test]
    async fn entries_go_after_a_year_and_only_from_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut some = entries(6);
        let old = Timestamp(1_000_000);
        for (i, entry) in some.iter_mut().enumerate() {
            // The fifth came before the fourth, and was written after it.
            entry.created_at = if [0, 1, 2, 4].contains(&i) { old } else { NOW };
        }
        store.add_audit_entries(&some, old).await.unwrap();
        store.add_audit_entries(&[], NOW).await.unwrap();
        let left = store.verify_audit_log(None).await.unwrap();
        assert_eq!((left.entries, left.broken), (3, None));
    }
}
