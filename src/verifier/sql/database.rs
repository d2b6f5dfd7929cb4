//! A database in memory for one verdict, with bounds on all that statements can take.
//!
//! | what | bound |
//! |---|---|
//! | steps of the virtual machine | `Limits::steps` for the setup and for each query |
//! | a processor's time, for long texts make long steps | `Limits::effort` for the same |
//! | the work of a step | linear in its values (`functions.rs`), but for patterns of 256 bytes |
//! | rows in tables and indices | [`MAX_PAGES`] pages |
//! | a value, and a row | [`MAX_VALUE_BYTES`] |
//! | what is sorted, grouped or made distinct | [`CACHE_KIB`] and SQLite's own 2 MB a table, then it fails (`nowhere.rs`) |
//! | a result | `Limits::rows` and [`MAX_RESULT_BYTES`] |
//! | names of views and common table expressions | 2000 selects in each other's place (`unfolding.rs`) |
//! | a statement | 1 MB, 500 columns, 100 levels, 32 selects in one |

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libsqlite3_sys as ffi;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};

use super::result::Rows;
use super::unfolding::{self, Names};
use super::{functions, nowhere};
use crate::verifier::outside::Effort;
use crate::verifier::{MAX_TEXT_BYTES, shortened};

/// Pages of 4096 bytes: 32 MiB.
const MAX_PAGES: u32 = 8192;
pub const MAX_VALUE_BYTES: i32 = 1 << 16;
/// What one sort may hold.
const CACHE_KIB: u32 = 4096;
const MAX_RESULT_BYTES: usize = 4 << 20;
/// Steps between two looks at how many are left.
const STEPS: u32 = 50;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub steps: u64,
    /// Of a processor's time.
    pub effort: Duration,
    pub rows: usize,
}

pub struct Database {
    connection: Connection,
    limits: Limits,
    /// Whether what ran last was stopped for the time that it took.
    late: Arc<AtomicBool>,
    /// Whether statements may make and change tables.
    building: Arc<AtomicBool>,
    /// What views stand for.
    views: RefCell<Names>,
}

impl Database {
    /// An empty one.
    pub fn new(limits: Limits) -> Result<Self, String> {
        let system = nowhere::name().map_err(|code| format!("SQLite admits no file system of ours: {code}"))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_in_memory_with_flags_and_vfs(flags, system);
        let connection = opened.map_err(|error| format!("SQLite opens no database: {error}"))?;
        let building = Arc::new(AtomicBool::new(true));
        bound(&connection, &building).map_err(|error| format!("SQLite takes no limits: {error}"))?;
        Ok(Self { connection, limits, late: Arc::default(), building, views: RefCell::default() })
    }

    /// Runs statements that make tables and rows.
    pub fn run(&self, script: &str) -> Result<(), String> {
        // Most scripts are long and define no names.
        let folded = script.to_ascii_lowercase();
        if ["view", "with"].iter().any(|word| folded.contains(word)) {
            unfolds(&mut self.views.borrow_mut(), script)?;
        }
        self.refill()?;
        self.building.store(true, Ordering::Relaxed);
        let run = self.connection.execute_batch(script);
        self.building.store(false, Ordering::Relaxed);
        run.map_err(|error| self.reason(&error))
    }

    /// Whether a text is one query that can be run.
    pub fn is_query(&self, text: &str) -> bool {
        self.prepared(text).is_ok()
    }

    fn prepared(&self, query: &str) -> Result<Statement<'_>, String> {
        unfolds(&mut self.views.borrow().clone(), query)?;
        self.refill()?;
        self.building.store(false, Ordering::Relaxed);
        let statement = self.connection.prepare(query).map_err(|error| self.reason(&error))?;
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(String::from("it is no query"));
        }
        Ok(statement)
    }

    /// The rows that a query gives; an error says what is wrong with it.
    pub fn ask(&self, query: &str) -> Result<Rows, String> {
        let mut statement = self.prepared(query)?;
        let failed = |error: rusqlite::Error| self.reason(&error);
        let mut found = Rows::of_columns(statement.column_count());
        let mut bytes = 0;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            bytes += found.push(row).map_err(failed)?;
            if found.len() > self.limits.rows {
                return Err(format!("it gives more than {} rows", self.limits.rows));
            }
            if bytes > MAX_RESULT_BYTES {
                return Err(format!("it gives more than {MAX_RESULT_BYTES} bytes"));
            }
        }
        Ok(found)
    }

    /// Lets what comes next have all that it may take.
    fn refill(&self) -> Result<(), String> {
        let (mut looks, effort) = (self.limits.steps.div_ceil(u64::from(STEPS)), Effort::of(self.limits.effort));
        self.late.store(false, Ordering::Relaxed);
        let late = Arc::clone(&self.late);
        let spent = move || {
            late.store(effort.is_over(), Ordering::Relaxed);
            let left = looks.checked_sub(1);
            looks = left.unwrap_or_default();
            left.is_none() || late.load(Ordering::Relaxed)
        };
        let set = self.connection.progress_handler(STEPS as i32, Some(spent));
        set.map_err(|error| format!("SQLite takes no limits: {error}"))
    }

    fn reason(&self, error: &rusqlite::Error) -> String {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) if self.late.load(Ordering::Relaxed) => {
                format!("it takes more than {:?} of a processor's time", self.limits.effort)
            }
            Some(ErrorCode::OperationInterrupted) => format!("it takes more than {} steps", self.limits.steps),
            Some(ErrorCode::CannotOpen | ErrorCode::DiskFull | ErrorCode::OutOfMemory) => {
                String::from("it needs more memory than a verification may take")
            }
            Some(ErrorCode::TooBig) => format!("it makes a value of more than {MAX_VALUE_BYTES} bytes"),
            Some(ErrorCode::AuthorizationForStatementDenied) => {
                String::from("it does what is not admitted: a query only reads, and nothing asks for chance or files")
            }
            Some(_) | None => match error {
                rusqlite::Error::SqliteFailure(_, Some(message)) => shortened(message),
                rusqlite::Error::MultipleStatement => String::from("it is more than one statement"),
                other => shortened(&other.to_string()),
            },
        }
    }
}

/// Refuses what is too large once names of views and common table expressions are replaced by what they stand for.
fn unfolds(names: &mut Names, text: &str) -> Result<(), String> {
    let many = || format!("it defines more than {} names", unfolding::MOST_NAMES);
    let tables = names.read(text).ok_or_else(many)?;
    if names.unfolded(&tables) > unfolding::MOST {
        return Err(format!("its names stand for more than {} selects in each other", unfolding::MOST));
    }
    Ok(())
}

/// Sets all limits of a connection.
fn bound(connection: &Connection, building: &Arc<AtomicBool>) -> rusqlite::Result<()> {
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_TEXT_BYTES as i32),
        (Limit::SQLITE_LIMIT_COLUMN, 500),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 32),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    // Without a journal a change that fails leaves half of itself, and the database is given up with it.
    connection.execute_batch(&format!(
        "pragma max_page_count = {MAX_PAGES}; pragma cache_size = -{CACHE_KIB}; pragma journal_mode = off; \
         pragma foreign_keys = off; pragma trusted_schema = off; pragma temp_store = file;"
    ))?;
    keep_apart(connection);
    functions::replace_slow_ones(connection)?;
    let building = Arc::clone(building);
    connection.authorizer(Some(move |context: AuthContext<'_>| admits(&context, building.load(Ordering::Relaxed))))
}

/// Lets SQLite run a select inside another by itself. Otherwise it would write the inner one's expressions in the place of
/// their names, which grow with each level as fast as the names of `unfolding.rs`.
fn keep_apart(connection: &Connection) {
    const FLATTENING: u32 = 0x0000_0001;
    const PUSHING_DOWN: u32 = 0x0000_1000;
    // SAFETY: the connection is open, and this control reads a connection and a set of bits.
    unsafe {
        let control = ffi::SQLITE_TESTCTRL_OPTIMIZATIONS;
        ffi::sqlite3_test_control(control, connection.handle(), FLATTENING | PUSHING_DOWN);
    }
}

/// What statements may do.
fn admits(context: &AuthContext<'_>, building: bool) -> Authorization {
    // The last ones take time that grows with the product of their arguments' lengths.
    const REFUSED: [&str; 7] =
        ["random", "randomblob", "load_extension", "fts3_tokenizer", "json_patch", "jsonb_patch", "unhex"];
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } => {
            let refused = REFUSED.iter().any(|name| function_name.eq_ignore_ascii_case(name));
            if refused { Authorization::Deny } else { Authorization::Allow }
        }
        AuthAction::CreateTable { .. }
        | AuthAction::CreateIndex { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::AlterTable { .. }
        | AuthAction::DropTable { .. }
        | AuthAction::DropIndex { .. }
        | AuthAction::DropView { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::Reindex { .. }
        | AuthAction::Analyze { .. }
        | AuthAction::Transaction { .. }
            if building =>
        {
            Authorization::Allow
        }
        // Dumps begin with settings that mean nothing here; ours stay.
        AuthAction::Pragma { .. } if building => Authorization::Ignore,
        _ => Authorization::Deny,
    }
}
