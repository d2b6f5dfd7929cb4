//! The database schema, one numbered file a change, in the order in which they run. A test compares the list with the
//! folder.

use std::borrow::Cow;

use sqlx::AnyConnection;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::{Files, Result, StoreError};

macro_rules! migrations {
    ($name:ident of $folder:literal: $($file:literal),+ $(,)?) => {
        /// Every file of a folder of `migrations` with its text.
        const $name: &[(&str, &str)] =
            &[$(($file, include_str!(concat!("../../migrations/", $folder, "/", $file, ".sql")))),+];
    };
}

migrations! {
    SQLITE of "sqlite":
    "0001_init",
    "0002_rollout_sets",
    "0003_devices",
    "0004_projects",
    "0005_lifecycle",
    "0007_files",
    "0008_webhooks",
    "0009_evaluations",
    "0010_access",
    "0011_indexes",
    "0012_job_inputs",
    "0013_artifacts",
    "0014_job_status",
    "0015_columns",
    "0016_liveness",
    "0017_deleted_events",
    "0018_answers",
    "0019_storage_wait",
    "0020_checksums",
    "0021_audit_refusals",
    "0022_turns",
    "0023_operators",
    "0024_audit_chain",
    "0025_metric_rollups",
    "0026_names",
    "0027_rollout_samples",
    "0028_sessions",
    "0029_finer_rollups",
    "0030_imports",
    "0031_exports",
    "0032_adapters",
    "0033_shared_bases",
    "0034_pushes",
    "0035_dataset_origins",
    "0036_dataset_splits",
    "0037_verifier_audits",
    "0038_hosts",
}

// It begins where SQLite was then; the numbers are the same from there on.
migrations! {
    POSTGRES of "postgres":
    "0037_schema",
    "0038_hosts",
}

// What both understand in the same words.
migrations! {
    BOTH of "both":
    "0039_metric_blocks",
    "0040_claims",
    "0041_agents",
    "0042_launches",
    "0043_hosts_of_jobs",
    "0044_history",
    "0045_pools",
    "0046_sweeps",
    "0047_sweep_halving",
    "0048_webhook_formats",
    "0049_suites",
    "0050_programs",
    "0051_wide_jobs",
    "0052_suites_after_jobs",
    "0053_forks",
}

/// What sqlx calls this database.
const POSTGRESQL: &str = "PostgreSQL";

/// What brings a database of SQLite up to date; all changes whose numbers are at most `last`.
#[cfg(test)]
pub(super) fn migrator(last: i64) -> Migrator {
    migrator_of(SQLITE, last)
}

fn migrator_for(database: &AnyConnection) -> Migrator {
    migrator_of(if database.backend_name() == POSTGRESQL { POSTGRES } else { SQLITE }, i64::MAX)
}

fn migrator_of(files: &[(&'static str, &'static str)], last: i64) -> Migrator {
    let all = files.iter().chain(BOTH).filter_map(|(name, sql)| {
        let (number, description) = name.split_once('_')?;
        let version = number.parse().ok().filter(|version| *version <= last)?;
        let description = Cow::Owned(description.replace('_', " "));
        // SQLite cannot change a check within a transaction; such a file says so in its first line.
        let no_transaction = sql.starts_with("-- no-transaction");
        let sql = sqlx::SqlStr::from_static(sql);
        Some(Migration::new(version, description, MigrationType::Simple, sql, no_transaction))
    });
    Migrator::with_migrations(all.collect())
}

/// Brings a database up to date, unless a server of an older version uses it, whose statements would not fit it any more,
/// or a newer version of the program has written it.
pub(super) async fn update(database: &mut AnyConnection, files: &Files) -> Result<()> {
    let known = migrator_for(database);
    let newest = known.iter().map(|migration| migration.version).max();
    let applied = applied(database).await?;
    if applied > newest && is_compatible(database, newest).await? {
        return Ok(());
    }
    if applied > newest {
        let detail = "the data directory was written by a newer version of anneal; use that one, or another directory";
        return Err(StoreError::OtherVersion(detail.to_owned()));
    }
    if applied.is_some() && applied < newest && files.has_server() {
        let detail = "the data directory is that of an older version of anneal, whose server is running; stop it first";
        return Err(StoreError::OtherVersion(detail.to_owned()));
    }
    known.run(database).await.map_err(|e| StoreError::Database(e.into()))
}

/// Whether a program that knows changes up to `newest` can work with a database that has seen newer ones: servers of
/// PostgreSQL are replaced one by one, so that old and new ones share it for a while.
async fn is_compatible(database: &mut AnyConnection, newest: Option<i64>) -> Result<bool> {
    if database.backend_name() != POSTGRESQL {
        return Ok(false);
    }
    let oldest: i64 = sqlx::query_scalar("select oldest from compatibility").fetch_one(database).await?;
    Ok(newest >= Some(oldest))
}

/// Refuses a database that another version of the program has written.
pub(super) async fn check(database: &mut AnyConnection) -> Result<()> {
    let newest = migrator_for(database).iter().map(|migration| migration.version).max();
    let applied = applied(database).await?;
    if applied == newest || (applied > newest && is_compatible(database, newest).await?) {
        return Ok(());
    }
    let age = if applied > newest { "a newer" } else { "an older" };
    let detail =
        format!("the data directory is that of {age} version of anneal; use that one, or start a server on it first");
    Err(StoreError::OtherVersion(detail))
}

/// The newest change that a database has seen; none of a new one.
async fn applied(database: &mut AnyConnection) -> Result<Option<i64>> {
    let begun = sqlx::query(match database.backend_name() {
        POSTGRESQL => "select 1 from pg_tables where schemaname = current_schema() and tablename = '_sqlx_migrations'",
        _ => "select 1 from sqlite_master where type = 'table' and name = '_sqlx_migrations'",
    });
    if begun.fetch_optional(&mut *database).await?.is_none() {
        return Ok(None);
    }
    Ok(sqlx::query_scalar("select max(version) from _sqlx_migrations").fetch_one(database).await?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::backend::Backend;
    use super::*;
    use crate::store::Store;

    #[test]
    fn every_file_of_the_folder_is_a_migration() {
        for (folder, files) in [("sqlite", SQLITE), ("postgres", POSTGRES), ("both", BOTH)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
            let mut names: Vec<String> = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(files.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        }
        let names = |files: &[(&'static str, &str)]| files.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert!(names(SQLITE).ends_with(&names(POSTGRES)[1..]), "both databases have the same changes");
        for (own, begins) in [(SQLITE, 0), (POSTGRES, 36)] {
            let numbers: Vec<i64> = migrator_of(own, i64::MAX).iter().map(|migration| migration.version).collect();
            assert_eq!(numbers.len(), own.len() + BOTH.len(), "a name is a number, `_` and a description");
            assert!(numbers.is_sorted() && numbers[0] == begins + 1, "{numbers:?}");
        }
    }

    #[tokio::test]
    async fn a_directory_of_another_version_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let older = SQLITE.len() - 2;
        let open = async || Store::open(folder.path()).await.map(drop);
        let mut database = database(folder.path()).await;
        migrator(number(older)).run(&mut database).await.unwrap();
        let lock = fs::File::create(folder.path().join("server.lock")).unwrap();
        lock.lock().unwrap();
        let refused = open().await;
        assert!(matches!(&refused, Err(StoreError::OtherVersion(detail)) if detail.contains("running")), "{refused:?}");
        assert_eq!(applied(&mut database).await.unwrap(), Some(number(older)), "nothing was changed");
        lock.unlock().unwrap();
        open().await.unwrap();
        lock.lock().unwrap();
        open().await.unwrap();

        let newer =
            "update _sqlx_migrations set version = 9000 where version = (select max(version) from _sqlx_migrations)";
        sqlx::query(newer).execute(&mut database).await.unwrap();
        let refused = open().await;
        assert!(matches!(&refused, Err(StoreError::OtherVersion(detail)) if detail.contains("newer")), "{refused:?}");
    }

    /// Servers of PostgreSQL are replaced one by one: the older ones go on beside what a newer one has added.
    #[tokio::test]
    async fn an_older_program_goes_on_until_a_newer_one_takes_away_what_it_needs() {
        if !crate::store::backend::on_postgres() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let change = async |statement: &'static str| {
            let mut tx = store.begin().await.unwrap();
            sqlx::query(statement).execute(tx.connection()).await.unwrap();
            tx.commit().await.unwrap();
        };
        change(
            "insert into _sqlx_migrations select 9000, description, installed_on, success, checksum, execution_time
                from _sqlx_migrations order by version desc limit 1",
        )
        .await;
        change("alter table job add column of_the_next_version bigint not null default 7").await;
        let older = Store::open(folder.path()).await.unwrap();
        older.probe().await.unwrap();
        let dataset = serde_json::json!({"train": "builtin:arithmetic"});
        let spec = serde_json::json!({"model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}});
        let new = crate::store::NewJob::of_kind(crate::job::JobKind::Train, spec);
        let job = older.submit_job(new, None, crate::job::Timestamp(1)).await.unwrap().job.id;
        assert_eq!(store.job(job).await.unwrap().id, job);
        change("update compatibility set oldest = 9000").await;
        let refused = Store::open(folder.path()).await.map(drop);
        assert!(matches!(&refused, Err(StoreError::OtherVersion(detail)) if detail.contains("newer")), "{refused:?}");
    }

    fn number(index: usize) -> i64 {
        SQLITE[index].0.split_once('_').unwrap().0.parse().unwrap()
    }

    async fn database(folder: &Path) -> AnyConnection {
        let file = folder.join("anneal.db");
        fs::File::create(&file).unwrap();
        Backend::unchecked(&file).unwrap().connect().await.unwrap()
    }
}
