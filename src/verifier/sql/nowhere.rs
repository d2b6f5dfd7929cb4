//! A file system for SQLite that has no files, no clock and no chance.
//!
//! A database in memory needs none, but for two things. What sorts and groups more than its share of memory wants a
//! temporary file; here it gets none, so that the query fails instead of filling the memory or the disk. Unlike a limit on
//! SQLite's memory, which is one for the whole process, this concerns no other database. And `date('now')` asks the file
//! system for the time, which here always is 1 January 2025, so that a verdict does not depend on the day.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use libsqlite3_sys as ffi;

/// Its name among SQLite's file systems.
const NAME: &CStr = c"anneal-nowhere";
/// 1 January 2025, as milliseconds since noon of 24 November 4714 BC, from which SQLite counts.
const NOW: i64 = 212_602_449_600_000;
const MAX_PATH_BYTES: c_int = 64;

/// Makes it known to SQLite, once, and returns its name; an error is SQLite's code.
pub fn name() -> Result<&'static CStr, c_int> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(register) {
        ffi::SQLITE_OK => Ok(NAME),
        code => Err(code),
    }
}

fn register() -> c_int {
    let system = ffi::sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<ffi::sqlite3_file>() as c_int,
        mxPathname: MAX_PATH_BYTES,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_path),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_days),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: Some(current_milliseconds),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    };
    // SAFETY: SQLite keeps the pointer, and what is leaked lives as long as the process; the name is a constant.
    unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(system)), 0) }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    _: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    _: c_int,
    _: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives room for a file of the size that the system states; without methods it closes nothing.
    unsafe { (*file).pMethods = ptr::null() };
    ffi::SQLITE_CANTOPEN
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int) -> c_int {
    ffi::SQLITE_IOERR_DELETE
}

unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int, there: *mut c_int) -> c_int {
    // SAFETY: SQLite gives room for the answer: there is no such file.
    unsafe { *there = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_path(_: *mut ffi::sqlite3_vfs, _: *const c_char, room: c_int, path: *mut c_char) -> c_int {
    if room < 1 {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: there is room for one byte at least: the empty path.
    unsafe { *path = 0 };
    ffi::SQLITE_OK
}

/// Zeros: the functions that would show them are not admitted.
unsafe extern "C" fn randomness(_: *mut ffi::sqlite3_vfs, bytes: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite gives room for as many bytes as it asks for.
    unsafe { ptr::write_bytes(out.cast::<c_void>().cast::<u8>(), 0, usize::try_from(bytes).unwrap_or(0)) };
    bytes
}

unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

unsafe extern "C" fn current_days(_: *mut ffi::sqlite3_vfs, days: *mut f64) -> c_int {
    const MILLISECONDS_A_DAY: f64 = 86_400_000.0;
    // SAFETY: SQLite gives room for the answer.
    unsafe { *days = NOW as f64 / MILLISECONDS_A_DAY };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_milliseconds(_: *mut ffi::sqlite3_vfs, milliseconds: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite gives room for the answer.
    unsafe { *milliseconds = NOW };
    ffi::SQLITE_OK
}

unsafe extern "C" fn last_error(_: *mut ffi::sqlite3_vfs, _: c_int, _: *mut c_char) -> c_int {
    0
}
