//! The database behind the store, and what is said to each kind in no other way than it understands: SQLite, in a file, or
//! PostgreSQL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection};

use super::{Result, checksums};

/// As PostgreSQL numbers its versions.
const OLDEST_POSTGRES: i64 = 15_00_00;
/// As much of an SQLite database as each connection keeps in memory, when it has read it: 8 MiB.
const CACHE: &str = "pragma cache_size = -8192";

/// How a database is reached.
#[derive(Debug)]
pub(super) struct Backend {
    kind: Kind,
    writing: AnyConnectOptions,
    reading: AnyConnectOptions,
}

#[derive(Debug)]
enum Kind {
    Sqlite(Box<SqliteConnectOptions>),
    Postgres { address: Box<str> },
}

/// Whom a transaction keeps from writing meanwhile. SQLite has one writer, whatever it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alone {
    /// Everybody who does not confine himself to one job: queue, devices, projects and names are as they were read.
    Everywhere,
    /// Who writes to the row that the first statement writes to, such as the fence. No job's status is changed, and no
    /// row that others read before they write.
    OnRow,
}

impl Backend {
    /// A database to read and write, which is made and made ready where that is needed.
    pub async fn prepare(file: &Path) -> Result<Self> {
        let options = checksums::checked(at(file).create_if_missing(true))?;
        checksums::add(&options).await?;
        // The file keeps this.
        options.clone().journal_mode(SqliteJournalMode::Wal).connect().await?.close().await?;
        Self::over(options)
    }

    /// A database that is there, of which nothing is changed.
    pub fn to_read(file: &Path) -> Result<Self> {
        Self::over(checksums::checked(at(file).read_only(true))?)
    }

    /// A copy that nobody else has open.
    pub fn of_snapshot(file: &Path) -> Result<Self> {
        Self::over(at(file).immutable(true).read_only(true))
    }

    /// A database whose pages are believed as they are.
    pub fn unchecked(file: &Path) -> Result<Self> {
        Self::over(at(file))
    }

    fn over(options: SqliteConnectOptions) -> Result<Self> {
        install_default_drivers();
        let Some(file) = options.get_filename().to_str() else {
            return Err(sqlx::Error::Configuration("the path of the data directory is not UTF-8".into()).into());
        };
        // sqlx writes this sign into an address as it is, and reads it there as the beginning of an encoded byte.
        let encoded = options.clone().filename(file.replace('%', "%25"));
        let address = |options: &SqliteConnectOptions| {
            AnyConnectOptions::from_url(&options.to_url_lossy()).map(ConnectOptions::disable_statement_logging)
        };
        let reading = address(&encoded.clone().create_if_missing(false).read_only(true))?;
        Ok(Self { writing: address(&encoded)?, reading, kind: Kind::Sqlite(Box::new(options)) })
    }

    /// A database of PostgreSQL, of version 15 or later, at `address` (`postgres://user@host/name`), whose texts are in the
    /// order of their bytes: listings by id rest on that.
    pub async fn postgres(address: &str) -> Result<Self> {
        install_default_drivers();
        let mut writing = AnyConnectOptions::from_str(address)?.disable_statement_logging();
        // Statements here take less time than the making of machine code for them.
        writing.database_url.query_pairs_mut().append_pair("options[jit]", "off");
        // A process that was stopped in the midst of a transaction keeps nobody from writing for ever.
        writing.database_url.query_pairs_mut().append_pair("options[idle_in_transaction_session_timeout]", "10s");
        let mut reading = writing.clone();
        // What is read in one transaction is of one moment.
        let reads = [("default_transaction_isolation", "repeatable read"), ("default_transaction_read_only", "on")];
        for (option, value) in reads {
            reading.database_url.query_pairs_mut().append_pair(&format!("options[{option}]"), value);
        }
        let mut connection = writing.connect().await?;
        let found = "select current_setting('server_version_num')::bigint, lower('J') < '~'";
        let (version, in_order): (i64, bool) = sqlx::query_as(found).fetch_one(&mut connection).await?;
        connection.close().await?;
        let unfit = match (version >= OLDEST_POSTGRES, in_order) {
            (false, _) => "PostgreSQL is older than version 15",
            (_, false) => {
                "the database sorts texts by a language: make one with `create database NAME locale 'C' template template0`"
            }
            (true, true) => {
                return Ok(Self { kind: Kind::Postgres { address: address.into() }, reading, writing });
            }
        };
        Err(sqlx::Error::Configuration(unfit.into()).into())
    }

    /// A connection for transactions; what one has committed survives a power cut.
    pub async fn connect(&self) -> Result<AnyConnection> {
        let mut connection = self.writing.connect().await?;
        match self.kind {
            Kind::Sqlite(_) => {
                sqlx::query(CACHE).execute(&mut connection).await?;
                sqlx::query("pragma synchronous = full").execute(&mut connection).await?
            }
            Kind::Postgres { .. } => sqlx::query("set synchronous_commit = on").execute(&mut connection).await?,
        };
        Ok(connection)
    }

    pub async fn connect_to_read(&self) -> Result<AnyConnection> {
        Ok(self.reading.connect().await?)
    }

    /// Connections that read.
    pub fn readers(&self) -> AnyPool {
        // Of a server that is away clients are to learn soon.
        let patience = if self.address().is_some() { 3 } else { 10 };
        let options = AnyPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(patience));
        let is_sqlite = matches!(self.kind, Kind::Sqlite(_));
        let options = options.after_connect(move |connection, _| {
            Box::pin(async move {
                if is_sqlite {
                    sqlx::query(CACHE).execute(connection).await?;
                }
                Ok(())
            })
        });
        options.connect_lazy_with(self.reading.clone())
    }

    /// Where the database is, if it does not lie in the data directory.
    pub fn address(&self) -> Option<&str> {
        match &self.kind {
            Kind::Sqlite(_) => None,
            Kind::Postgres { address } => Some(address),
        }
    }

    /// Begins a transaction in which a read that is followed by a write does not find that another process wrote in between.
    pub async fn begin(&self, connection: &mut AnyConnection, alone: Alone) -> Result<()> {
        match self.kind {
            Kind::Sqlite(_) => {
                sqlx::query("begin immediate").execute(connection).await?;
            }
            Kind::Postgres { .. } => {
                sqlx::query("begin").execute(&mut *connection).await?;
                if alone == Alone::Everywhere {
                    // One writer among all servers of this schema.
                    let lock = sqlx::query("select pg_advisory_xact_lock(hashtextextended(current_schema(), 0))");
                    lock.execute(connection).await?;
                }
            }
        }
        Ok(())
    }

    /// A state of the database as `connection` sees it: while two looks find the same text, nothing was committed between them.
    pub async fn version(&self, connection: &mut AnyConnection) -> Result<String> {
        let version = match self.kind {
            Kind::Sqlite(_) => {
                sqlx::query_scalar::<_, i64>("pragma data_version").fetch_one(connection).await?.to_string()
            }
            Kind::Postgres { .. } => {
                sqlx::query_scalar("select pg_current_snapshot()::text").fetch_one(connection).await?
            }
        };
        Ok(version)
    }

    /// The position in the log of all jobs up to which nothing will be added any more.
    pub async fn settled_position(&self, connection: &mut AnyConnection) -> Result<i64> {
        let position = sqlx::query_scalar(match self.kind {
            Kind::Sqlite(_) => "select coalesce(max(position), 0) from event",
            Kind::Postgres { .. } => {
                "select coalesce(max(position), 0) from event where position <= settled_position()"
            }
        });
        Ok(position.fetch_one(connection).await?)
    }

    /// Sees to it that events to come stand behind those there are, in a database that was copied.
    pub async fn lift_positions(&self, connection: &mut AnyConnection) -> Result<()> {
        if let Kind::Postgres { .. } = self.kind {
            sqlx::query("select lift_positions()").execute(connection).await?;
        }
        Ok(())
    }

    /// Milliseconds since the epoch by the clock of the database, where that may be another machine's.
    pub async fn time(&self, connection: &mut AnyConnection) -> Result<Option<i64>> {
        match self.kind {
            Kind::Sqlite(_) => Ok(None),
            Kind::Postgres { .. } => {
                Ok(Some(sqlx::query_scalar("select clock_milliseconds()").fetch_one(connection).await?))
            }
        }
    }

    /// Whether what is replaced over this connection is overwritten, and does not stay in the free parts of pages.
    pub async fn overwrite(&self, connection: &mut AnyConnection, on: bool) -> Result<()> {
        if let Kind::Sqlite(_) = self.kind {
            let statement = if on { "pragma secure_delete = on" } else { "pragma secure_delete = off" };
            sqlx::query(statement).execute(connection).await?;
        }
        Ok(())
    }

    /// Moves what is in the log to its place, so that nothing of what was replaced stays in it.
    pub async fn empty_log(&self) -> Result<()> {
        if let Kind::Sqlite(_) = self.kind {
            let mut connection = self.writing.connect().await?;
            sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
    }

    /// Whether what the disk changes is noticed when it is read.
    pub async fn has_checksums(&self) -> Result<bool> {
        let Kind::Sqlite(options) = &self.kind else { return Ok(true) };
        let options = SqliteConnectOptions::clone(options).create_if_missing(false);
        let mut connection = options.connect().await?;
        let has = checksums::has(&mut connection).await?;
        connection.close().await?;
        Ok(has)
    }
}

fn at(file: &Path) -> SqliteConnectOptions {
    // In an address, what comes first in a relative path would be the name of a machine.
    let file = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    SqliteConnectOptions::new().filename(file).disable_statement_logging()
}

/// Whether this run of the tests is on PostgreSQL (`scripts/postgres.sh`), where what is of SQLite alone is not tried.
#[cfg(test)]
pub(super) fn on_postgres() -> bool {
    std::env::var_os("ANNEAL_TEST_POSTGRES").is_some()
}

/// The database of a test on PostgreSQL: a schema for each directory, unless one of SQLite is there already.
#[cfg(test)]
pub(super) async fn address_of_tests(directory: &Path) -> Result<Option<String>> {
    let address = std::env::var("ANNEAL_TEST_POSTGRES").ok().filter(|_| !super::database(directory).exists());
    let Some(address) = address else { return Ok(None) };
    let schema = format!("t_{}", &crate::job::digest::sha256_hex(directory.as_os_str().as_encoded_bytes())[..16]);
    let mut connection = Backend::postgres(&address).await?.connect().await?;
    let create = format!("create schema if not exists {schema}");
    sqlx::query(sqlx::AssertSqlSafe(create)).execute(&mut connection).await?;
    connection.close().await?;
    Ok(Some(format!("{address}?options[search_path]={schema}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_sorts_by_a_language_is_refused() {
        let Ok(address) = std::env::var("ANNEAL_TEST_POSTGRES") else { return };
        let mut connection = Backend::postgres(&address).await.unwrap().connect().await.unwrap();
        let create = "create database by_language locale_provider icu icu_locale 'en-US' template template0";
        sqlx::query(create).execute(&mut connection).await.unwrap();
        let of_language = address.replace("/postgres", "/by_language");
        let refused = format!("{:?}", Backend::postgres(&of_language).await.unwrap_err());
        assert!(refused.contains("sorts texts by a language"), "{refused}");
    }

    #[tokio::test]
    async fn addresses_hold_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a b#c?d%20é");
        std::fs::create_dir(&odd).unwrap();
        let file = odd.join("anneal.db");
        Backend::prepare(&file).await.unwrap().connect().await.unwrap().close().await.unwrap();
        assert!(file.exists());
    }
}
