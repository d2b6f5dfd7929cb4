//! What the store answers when it cannot do what was asked.

use std::path::Path;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no {what} `{id}`")]
    NotFound { what: &'static str, id: String },
    /// The row is not in a state that allows this.
    #[error("{0}")]
    Conflict(String),
    /// The same, with a reason of its own that clients tell apart.
    #[error("{detail}")]
    Refused { code: &'static str, detail: String },
    /// An idempotency key was used with another body.
    #[error("this Idempotency-Key was used with another body or by another API key; use a new one for a new request")]
    KeyReused,
    /// The project has no right to more.
    #[error("{0}")]
    QuotaExceeded(String),
    /// Too much waits to be read or written, or somebody else has been writing for too long.
    #[error("the database is busy; try again in a moment")]
    Overloaded,
    /// The database's server is away.
    #[error("the database cannot be reached; try again in a moment")]
    Unreachable(#[source] sqlx::Error),
    /// The object storage is away, or refuses.
    #[error("object storage: {action} `{name}` failed; try again in a moment")]
    Storage { action: &'static str, name: String, source: object_store::Error },
    /// The server that an agent works for cannot be reached, or is not able to answer now.
    #[error("the server cannot be reached: {0}")]
    ServerAway(String),
    /// What answers in its place has a certificate that nobody who is trusted has signed.
    #[error("the server's certificate is not trusted: {0}")]
    Distrusted(String),
    /// It refuses what the agent wants.
    #[error("the server refuses: {detail}")]
    Server { status: u16, code: String, detail: String },
    /// A character that the database cannot hold.
    #[error("a text has the character U+0000, which the database cannot hold")]
    Nul,
    /// What was written together with others failed for all of them.
    #[error(transparent)]
    Shared(Arc<StoreError>),
    /// The worker does not own the job any more.
    #[error("the lease is lost")]
    LeaseLost,
    /// The data directory is that of another version of the program.
    #[error("{0}")]
    OtherVersion(String),
    #[error("the disk is full")]
    Full(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("database operation failed")]
    Database(#[source] sqlx::Error),
    /// Pages of the database are not what was written.
    #[error("the database is damaged: {0}")]
    DatabaseDamaged(String),
    #[error("{action} {path} failed")]
    Io { action: &'static str, path: String, source: std::io::Error },
    #[error("stored {what} cannot be read: {detail}")]
    Corrupt { what: &'static str, detail: String },
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if matches!(error, sqlx::Error::PoolTimedOut) {
            return Self::Overloaded;
        }
        // SQLite's own errors of input and output are errors of the database.
        if matches!(error, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolClosed) {
            return Self::Unreachable(error);
        }
        match error.as_database_error().and_then(|e| e.code()).as_deref() {
            // SQLITE_FULL; SQLITE_IOERR_WRITE and SQLITE_IOERR_SHMSIZE are what some file systems say first.
            // And disk_full of PostgreSQL.
            Some("13" | "778" | "4874" | "53100") => Self::Full(Box::new(error)),
            // SQLITE_BUSY, and what it is called when another process recovers the database or ends.
            // Of PostgreSQL: serialization_failure, deadlock_detected and too_many_connections.
            Some("5" | "261" | "517" | "773" | "40001" | "40P01" | "53300") => Self::Overloaded,
            // Of PostgreSQL: it ends, has broken down, is starting.
            Some("57P01" | "57P02" | "57P03") => Self::Unreachable(error),
            // Of PostgreSQL: character_not_in_repertoire.
            Some("22021") => Self::Nul,
            // SQLITE_CORRUPT, with more said about it, SQLITE_NOTADB, and SQLITE_IOERR_DATA: a page's checksum.
            Some("11" | "267" | "523" | "779" | "26" | "8202") => Self::DatabaseDamaged(error.to_string()),
            Some(_) | None => Self::Database(error),
        }
    }
}

impl StoreError {
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::StorageFull {
            return Self::Full(Box::new(source));
        }
        Self::Io { action, path: path.display().to_string(), source }
    }
}

pub type Result<T> = std::result::Result<T, StoreError>;
