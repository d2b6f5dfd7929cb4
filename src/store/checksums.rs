//! Checksums of the database's pages: what the disk has changed is an error when it is read, and never an answer.
//!
//! SQLite itself keeps none. This is a layer (a VFS shim) between it and the files: when a page is written to the
//! database file, eight bytes at its end are made the checksum of the others, and when it is read they are compared. Where
//! they lie and what they are is that of SQLite's own extension for it (<https://www.sqlite.org/cksumvfs.html>), which is
//! no part of the library, so that a shell with the extension can check our files. Frames of the write-ahead log have
//! checksums by which SQLite recovers; a page gets its own when a checkpoint moves it.
//!
//! A program without the layer can read the database. What it writes looks damaged afterwards, until [`seal`] is asked to
//! believe it.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use libsqlite3_sys as ffi;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::{Result, StoreError};

/// The bytes at the end of each page.
const BYTES: usize = 8;
/// As much of the database's header as tells the size of its pages and how many bytes at their ends are reserved.
const HEADER: usize = 21;
const NAME: &CStr = c"anneal-checksums";

/// Pages that were read and not what had been written: database files, and the number of one of its pages.
static DAMAGED: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// `options` with the layer below SQLite.
pub(super) fn checked(options: SqliteConnectOptions) -> Result<SqliteConnectOptions> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(vfs::register) {
        ffi::SQLITE_OK => Ok(options.vfs(NAME.to_string_lossy())),
        code => Err(StoreError::Database(sqlx::Error::Configuration(format!("SQLite's file layer: {code}").into()))),
    }
}

/// The number of a page of this database that this process has read and that is damaged.
pub(super) fn damaged_page(database: &Path) -> Option<u64> {
    DAMAGED.lock().unwrap_or_else(PoisonError::into_inner).get(database).copied()
}

/// Gives the pages of a new or older database room for checksums, and thereby these. Asks for the database alone; while
/// others use it, or when there is no space for it, it stays as it is.
pub(super) async fn add(options: &SqliteConnectOptions) -> Result<()> {
    let mut database = options.connect().await?;
    let there = has(&mut database).await?;
    database.close().await?;
    if there {
        return Ok(());
    }
    if let Err(error) = add_to(options).await {
        tracing::warn!(%error, "the pages of the database have no checksums yet; the next start tries again");
    }
    Ok(())
}

async fn add_to(options: &SqliteConnectOptions) -> Result<()> {
    let mut database = options.connect().await?;
    sqlx::query("pragma locking_mode = exclusive").execute(&mut database).await?;
    reserve(&mut database, BYTES as c_int).await?;
    // In this mode all pages pass through the log, and the first, which says that there are checksums, leaves it first.
    sqlx::query("pragma journal_mode = wal").execute(&mut database).await?;
    sqlx::query("vacuum").execute(&mut database).await?;
    sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut database).await?;
    Ok(database.close().await?)
}

/// Whether the pages of this database have checksums.
pub(super) async fn has(database: &mut SqliteConnection) -> Result<bool> {
    sqlx::query("select count(*) from sqlite_master").execute(&mut *database).await?;
    Ok(usize::try_from(reserve(database, -1).await?) == Ok(BYTES))
}

/// Asks for `bytes` at the end of each page that will be written anew, unless they are negative, and says how many there
/// are.
async fn reserve(database: &mut SqliteConnection, mut bytes: c_int) -> Result<c_int> {
    match vfs::reserve(&mut database.lock_handle().await?, &mut bytes) {
        ffi::SQLITE_OK => Ok(bytes),
        code => {
            Err(StoreError::Database(sqlx::Error::Configuration(format!("reserving bytes of pages: {code}").into())))
        }
    }
}

/// Makes the checksums of all pages anew, whatever they hold, if the database has any. Nobody may have it open.
pub(super) fn seal(database: &Path) -> Result<()> {
    let sealed = || -> io::Result<()> {
        let file = File::options().read(true).write(true).open(database)?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0)?;
        let Some(size) = page_size(&header) else { return Ok(()) };
        let mut page = vec![0; size];
        for number in 0..fs::metadata(database)?.len() / size as u64 {
            file.read_exact_at(&mut page, number * size as u64)?;
            let (content, stored) = page.split_at(size - BYTES);
            let sum = checksum(content);
            if sum != stored {
                file.write_all_at(&sum, number * size as u64 + content.len() as u64)?;
            }
        }
        file.sync_all()
    };
    sealed().map_err(|error| StoreError::io("sealing", database, error))
}

/// The size of the pages if they end with checksums: two bytes (big-endian; 1 is 65,536) at 16, and the number of reserved
/// bytes at 20 (SQLite's file format, 1.3).
fn page_size(header: &[u8; HEADER]) -> Option<usize> {
    let known = header.starts_with(b"SQLite format 3\0") && usize::from(header[20]) == BYTES;
    let size = usize::from(u16::from_be_bytes([header[16], header[17]]));
    known.then_some(if size == 1 { 1 << 16 } else { size })
}

/// The checksum of SQLite's extension: two running sums over pairs of little-endian words. That of zeros is zero, so that
/// pages which were never written have theirs.
fn checksum(content: &[u8]) -> [u8; BYTES] {
    let (mut first, mut second) = (0_u32, 0_u32);
    for &[a, b, c, d, e, f, g, h] in content.as_chunks::<8>().0 {
        first = first.wrapping_add(u32::from_le_bytes([a, b, c, d])).wrapping_add(second);
        second = second.wrapping_add(u32::from_le_bytes([e, f, g, h])).wrapping_add(first);
    }
    let mut sum = [0; BYTES];
    sum[..4].copy_from_slice(&first.to_le_bytes());
    sum[4..].copy_from_slice(&second.to_le_bytes());
    sum
}

/// Whether the first page has a checksum and has lost what says so.
fn has_lost_its_mark(page: &[u8]) -> bool {
    if !page.starts_with(b"SQLite format 3\0") {
        return false;
    }
    let mut marked = page.to_vec();
    marked[HEADER - 1] = BYTES as u8;
    let (content, stored) = marked.split_at(page.len() - BYTES);
    checksum(content) == stored
}

fn tell_damage(database: &CStr, page: u64) {
    let path = Path::new(OsStr::from_bytes(database.to_bytes()));
    tracing::error!(database = %path.display(), page, "a page of the database is not what was written");
    DAMAGED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), page);
}

/// What SQLite calls. A registered layer is a copy of the one below with another `xOpen`, and an open database file has a
/// copy of the methods below with other `xRead` and `xWrite`, and without parts of pages, so that all else passes through untouched.
mod vfs {
    use std::mem::offset_of;
    use std::{ptr, slice};

    use super::*;

    #[repr(C)]
    struct Layer {
        own: ffi::sqlite3_vfs,
        below: *mut ffi::sqlite3_vfs,
        /// Where [`State`] lies behind an open file.
        state_at: usize,
    }

    #[repr(C)]
    struct Methods {
        own: ffi::sqlite3_io_methods,
        below: &'static ffi::sqlite3_io_methods,
        state_at: usize,
    }

    /// Of an open database file.
    struct State {
        path: *const c_char,
        /// Once it has been seen that its pages have checksums. They are never taken away.
        has_checksums: bool,
    }

    pub fn reserve(database: &mut sqlx::sqlite::LockedSqliteHandle<'_>, bytes: &mut c_int) -> c_int {
        let argument = ptr::from_mut(bytes).cast();
        // SAFETY: the handle is that of an open connection which nobody else uses meanwhile, and this operation takes a
        // pointer to an int.
        unsafe {
            ffi::sqlite3_file_control(
                database.as_raw_handle().as_ptr(),
                ptr::null(),
                ffi::SQLITE_FCNTL_RESERVE_BYTES,
                argument,
            )
        }
    }

    /// Makes the layer known to SQLite, for as long as the process lives.
    pub fn register() -> c_int {
        // SAFETY: without a name the default layer is found, which SQLite never frees; it is only read.
        let below = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        let Some(copied) = (unsafe { below.as_ref() }) else { return ffi::SQLITE_ERROR };
        let file = usize::try_from(copied.szOsFile).unwrap_or(0);
        let state_at = file.next_multiple_of(align_of::<State>());
        let Ok(size) = c_int::try_from(state_at + size_of::<State>()) else { return ffi::SQLITE_ERROR };
        let own = ffi::sqlite3_vfs {
            szOsFile: size,
            zName: NAME.as_ptr(),
            pNext: ptr::null_mut(),
            xOpen: Some(open),
            ..*copied
        };
        let layer = Box::leak(Box::new(Layer { own, below, state_at }));
        // SAFETY: the layer and its name live as long as the process.
        unsafe { ffi::sqlite3_vfs_register(ptr::from_mut(layer).cast(), 0) }
    }

    /// SAFETY: as SQLite calls it: `own` is the registered layer, `file` points to its `szOsFile` bytes, and `path` lives
    /// until the file is closed.
    unsafe extern "C" fn open(
        own: *mut ffi::sqlite3_vfs,
        path: ffi::sqlite3_filename,
        file: *mut ffi::sqlite3_file,
        flags: c_int,
        told: *mut c_int,
    ) -> c_int {
        let layer = unsafe { &*own.cast::<Layer>() };
        let Some(below) = (unsafe { (*layer.below).xOpen }) else { return ffi::SQLITE_ERROR };
        let code = unsafe { below(layer.below, path, file, flags, told) };
        if code == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 && !path.is_null() {
            unsafe {
                state(file, layer.state_at).write(State { path, has_checksums: false });
                (*file).pMethods = ptr::from_ref(methods(&*(*file).pMethods, layer.state_at)).cast();
            }
        }
        code
    }

    /// The methods over `below`, of which there are as many as ways to lock a file.
    fn methods(below: &'static ffi::sqlite3_io_methods, state_at: usize) -> &'static Methods {
        static MADE: Mutex<Vec<&'static Methods>> = Mutex::new(Vec::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(methods) = made.iter().find(|methods| ptr::eq(methods.below, below)) {
            return methods;
        }
        // The third version adds files that are mapped to memory, whose pages would be read past this layer.
        let own = ffi::sqlite3_io_methods {
            iVersion: below.iVersion.min(2),
            xRead: Some(read),
            xWrite: Some(write),
            xDeviceCharacteristics: Some(characteristics),
            xFetch: None,
            xUnfetch: None,
            ..*below
        };
        let methods = Box::leak(Box::new(Methods { own, below, state_at }));
        made.push(methods);
        methods
    }

    /// SAFETY: `file` was opened by [`open`] as a database.
    unsafe fn state(file: *mut ffi::sqlite3_file, at: usize) -> *mut State {
        unsafe { file.cast::<u8>().add(at).cast() }
    }

    /// SAFETY: as SQLite calls it: `file` was opened by [`open`], and `buffer` has `amount` bytes.
    unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, buffer: *mut c_void, amount: c_int, at: i64) -> c_int {
        const { assert!(offset_of!(Methods, own) == 0 && offset_of!(Layer, own) == 0) };
        let methods = unsafe { &*(*file).pMethods.cast::<Methods>() };
        let Some(below) = methods.below.xRead else { return ffi::SQLITE_IOERR };
        let code = unsafe { below(file, buffer, amount, at) };
        if code != ffi::SQLITE_OK {
            return code;
        }
        let (Some(number), Ok(length)) = (page_number(amount, at), usize::try_from(amount)) else { return code };
        let page = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), length) };
        let (content, stored) = page.split_at(length - BYTES);
        let is_sound = match unsafe { has_checksums(file, methods, at, page) } {
            true => checksum(content) == stored,
            false => number != 1 || !has_lost_its_mark(page),
        };
        if is_sound {
            return code;
        }
        tell_damage(unsafe { CStr::from_ptr((*state(file, methods.state_at)).path) }, number);
        ffi::SQLITE_IOERR_DATA
    }

    /// SAFETY: as [`read`].
    unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, buffer: *const c_void, amount: c_int, at: i64) -> c_int {
        let methods = unsafe { &*(*file).pMethods.cast::<Methods>() };
        let Some(below) = methods.below.xWrite else { return ffi::SQLITE_IOERR };
        if let (Some(_), Ok(length)) = (page_number(amount, at), usize::try_from(amount)) {
            let page = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), length) };
            if unsafe { has_checksums(file, methods, at, page) } {
                let mut page = page.to_vec();
                let (content, stored) = page.split_at_mut(length - BYTES);
                stored.copy_from_slice(&checksum(content));
                return unsafe { below(file, page.as_ptr().cast(), amount, at) };
            }
        }
        unsafe { below(file, buffer, amount, at) }
    }

    /// What a file is said to do: not to give parts of pages, which SQLite otherwise reads of long values. Nothing could be compared for
    /// them, and one of 512 bytes would be taken for a page.
    ///
    /// SAFETY: as [`read`].
    unsafe extern "C" fn characteristics(file: *mut ffi::sqlite3_file) -> c_int {
        let methods = unsafe { &*(*file).pMethods.cast::<Methods>() };
        let below = methods.below.xDeviceCharacteristics.map_or(0, |below| unsafe { below(file) });
        below & !ffi::SQLITE_IOCAP_SUBPAGE_READ
    }

    /// Counted from one, as SQLite does, if `amount` bytes at `at` may be a page: SQLite also reads parts of the first.
    fn page_number(amount: c_int, at: i64) -> Option<u64> {
        let (amount, at) = (u64::try_from(amount).ok()?, u64::try_from(at).ok()?);
        (amount >= 512 && amount.is_power_of_two() && at.is_multiple_of(amount)).then(|| at / amount + 1)
    }

    /// Whether the pages of the database have checksums, which its first page says: `page` if it is at the beginning, or
    /// else as it is in the file.
    ///
    /// SAFETY: as [`read`]; `methods` are those of `file`.
    unsafe fn has_checksums(file: *mut ffi::sqlite3_file, methods: &Methods, at: i64, page: &[u8]) -> bool {
        let state = unsafe { &mut *state(file, methods.state_at) };
        if !state.has_checksums {
            let mut header = [0; HEADER];
            let found = match (at, methods.below.xRead) {
                (0, _) => {
                    header.copy_from_slice(&page[..HEADER]);
                    ffi::SQLITE_OK
                }
                (_, Some(read)) => unsafe { read(file, header.as_mut_ptr().cast(), HEADER as c_int, 0) },
                (_, None) => ffi::SQLITE_IOERR,
            };
            state.has_checksums = found == ffi::SQLITE_OK && page_size(&header).is_some();
        }
        state.has_checksums
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Store, database};
    use super::*;

    /// Options as the store's, with the layer or without.
    fn options(folder: &Path, layer: bool) -> SqliteConnectOptions {
        let options = SqliteConnectOptions::new().filename(database(folder)).create_if_missing(true);
        if layer { checked(options).unwrap() } else { options }
    }

    async fn run(options: &SqliteConnectOptions, statements: &[&'static str]) {
        let mut connection = options.connect().await.unwrap();
        for statement in statements {
            sqlx::query(*statement).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
    }

    /// 20,000 rows, more than are kept in memory.
    const FILL: &[&str] = &[
        "create table note (id integer primary key, text text not null)",
        "insert into note (text) with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
         select 'number ' || i || ' ' || hex(zeroblob(100)) from n",
    ];

    /// Values that go on over several pages, the last of which they fill by each number of bytes that there may be.
    const LONG: &[&str] = &[
        "create table note (id integer primary key, text text not null)",
        "insert into note (text) with recursive n (i) as (select 4600 union all select i + 1 from n where i < 8800)
         select substr(replace(hex(zeroblob(4500)), '0', 'x'), 1, i) || 'number 12345 ' from n",
    ];

    /// The numbers of pages whose checksums do not fit them, and how many pages there are; none without checksums.
    fn look(folder: &Path) -> Option<(Vec<usize>, usize)> {
        let bytes = fs::read(database(folder)).unwrap();
        let size = page_size(bytes.first_chunk().unwrap())?;
        let wrong = |(number, page): (usize, &[u8])| {
            let (content, stored) = page.split_at(size - BYTES);
            (checksum(content) != stored).then_some(number + 1)
        };
        Some((bytes.chunks(size).enumerate().filter_map(wrong).collect(), bytes.len() / size))
    }

    /// Changes a byte of a value of the table `note`, and returns the number of its page.
    fn flip(folder: &Path) -> u64 {
        let mut bytes = fs::read(database(folder)).unwrap();
        let place = bytes.windows(13).position(|window| window == b"number 12345 ").unwrap();
        bytes[place] ^= 1;
        fs::write(database(folder), bytes).unwrap();
        place as u64 / 4096 + 1
    }

    async fn read_notes(options: &SqliteConnectOptions) -> Result<i64> {
        let mut connection = options.connect().await?;
        Ok(sqlx::query_scalar("select sum(length(text)) from note").fetch_one(&mut connection).await?)
    }

    #[test]
    fn checksums_are_those_of_the_extension() {
        // Of SQLite's cksumvfs.c, compiled by itself.
        let content: Vec<u8> = (0..4088_u32).map(|i| (i * i % 251) as u8).collect();
        assert_eq!(checksum(&content), [0xb0, 0x84, 0xf3, 0xd3, 0xf4, 0xe8, 0xda, 0xb5]);
        assert_eq!(checksum(&[0; 4088]), [0; BYTES]);
    }

    #[tokio::test]
    async fn a_changed_value_is_an_error_and_not_an_answer() {
        for fill in [FILL, LONG] {
            let folder = tempfile::tempdir().unwrap();
            let options = options(folder.path(), true);
            add(&options).await.unwrap();
            run(&options, fill).await;
            let (wrong, pages) = look(folder.path()).unwrap();
            assert!(wrong.is_empty() && pages > 1000, "{wrong:?} of {pages}");
            read_notes(&options).await.unwrap();
            let page = flip(folder.path());
            assert!(matches!(read_notes(&options).await, Err(StoreError::DatabaseDamaged(_))));
            let path = database(&folder.path().canonicalize().unwrap());
            assert_eq!(damaged_page(&path), Some(page));
        }
    }

    #[tokio::test]
    async fn a_database_that_has_lost_the_mark_of_its_checksums_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path(), true);
        add(&options).await.unwrap();
        run(&options, FILL).await;
        let file = File::options().write(true).open(database(folder.path())).unwrap();
        file.write_all_at(&[0], HEADER as u64 - 1).unwrap();
        drop(file);
        assert!(matches!(read_notes(&options).await, Err(StoreError::DatabaseDamaged(_))));
        assert!(add(&options).await.is_err(), "it must not be written anew from what is misread");
    }

    #[tokio::test]
    async fn an_older_database_gets_checksums_when_nobody_else_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, layered) = (options(folder.path(), false), options(folder.path(), true));
        run(&plain, &["pragma journal_mode = wal"]).await;
        run(&plain, FILL).await;
        let before = read_notes(&plain).await.unwrap();
        let mut other = plain.connect().await.unwrap();
        sqlx::query("select * from note limit 1").execute(&mut other).await.unwrap();
        add(&layered.clone().busy_timeout(std::time::Duration::ZERO)).await.unwrap();
        assert!(look(folder.path()).is_none(), "another connection is open");
        other.close().await.unwrap();
        add(&layered).await.unwrap();
        let (wrong, pages) = look(folder.path()).unwrap();
        assert!(wrong.is_empty() && pages > 1000, "{wrong:?} of {pages}");
        assert_eq!(read_notes(&layered).await.unwrap(), before);
        assert_eq!(read_notes(&plain).await.unwrap(), before, "any program can read it");
    }

    #[tokio::test]
    async fn what_another_program_wrote_is_believed_after_it_was_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, layered) = (options(folder.path(), false), options(folder.path(), true));
        add(&layered).await.unwrap();
        run(&layered, FILL).await;
        run(&plain, &["update note set text = 'another' where id = 12345"]).await;
        assert!(matches!(read_notes(&layered).await, Err(StoreError::DatabaseDamaged(_))));
        // A connection that failed is closed a moment after it was let go of.
        let mut tries = 0..500;
        while let Err(error) = Store::reseal(folder.path()).await {
            assert!(matches!(error, StoreError::Overloaded) && tries.next().is_some(), "{error:?}");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(look(folder.path()).unwrap().0, Vec::<usize>::new());
        assert!(read_notes(&layered).await.is_ok());
    }

    #[tokio::test]
    async fn connections_that_saw_the_file_empty_write_checksums_too() {
        let folder = tempfile::tempdir().unwrap();
        let layered = options(folder.path(), true);
        let mut early = layered.connect().await.unwrap();
        add(&layered).await.unwrap();
        for statement in FILL {
            sqlx::query(*statement).execute(&mut early).await.unwrap();
        }
        sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut early).await.unwrap();
        let (wrong, pages) = look(folder.path()).unwrap();
        assert!(wrong.is_empty() && pages > 1000, "{wrong:?} of {pages}");
        early.close().await.unwrap();
    }
}
