//! Functions of SQLite's whose work grows with the product of their arguments' lengths, made anew so that it grows with their
//! sum: a query is bounded by its steps, and a step must not take seconds.
//!
//! They give what SQLite's give, but for texts that are no UTF-8.

use std::borrow::Cow;
use std::collections::HashSet;

use libsqlite3_sys as ffi;
use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

use super::database::MAX_VALUE_BYTES;

pub fn replace_slow_ones(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("instr", 2, flags, |context| Ok(instr(context)))?;
    connection.create_scalar_function("replace", 3, flags, replace)?;
    for (name, left, right) in [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)] {
        for arguments in [1, 2] {
            connection.create_scalar_function(name, arguments, flags, move |context| Ok(trim(context, left, right)))?;
        }
    }
    Ok(())
}

/// An argument as text; none where it is null.
fn text<'c>(context: &'c Context<'_>, at: usize) -> Option<Cow<'c, str>> {
    match context.get_raw(at) {
        ValueRef::Null => None,
        ValueRef::Integer(whole) => Some(Cow::Owned(whole.to_string())),
        ValueRef::Real(number) => Some(Cow::Owned(written(number))),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// A fraction as SQLite writes it: to 15 digits, one behind the point at least, and with an exponent where it is far from 1.
fn written(number: f64) -> String {
    const DIGITS: i32 = 15;
    let scientific = format!("{number:.14e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return number.to_string() };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let short = |digits: &str| {
        let digits = digits.trim_end_matches('0');
        if digits.ends_with('.') { format!("{digits}0") } else { digits.to_owned() }
    };
    if (-4..DIGITS).contains(&exponent) {
        let places = usize::try_from(DIGITS - 1 - exponent).unwrap_or_default().max(1);
        return short(&format!("{number:.places$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(mantissa), exponent.abs())
}

/// Where the second argument first stands in the first, counted from 1, in bytes of blobs and in characters of others.
fn instr(context: &Context<'_>) -> Option<i64> {
    let place = match (context.get_raw(0), context.get_raw(1)) {
        (ValueRef::Blob(all), ValueRef::Blob(part)) => memmem::find(all, part),
        _ => {
            let (all, part) = (text(context, 0)?, text(context, 1)?);
            memmem::find(all.as_bytes(), part.as_bytes()).map(|at| all[..at].chars().count())
        }
    };
    Some(place.map_or(0, |place| i64::try_from(place).unwrap_or(i64::MAX - 1) + 1))
}

/// The first argument with the third wherever the second stands; as it is where the second is empty.
fn replace(context: &Context<'_>) -> rusqlite::Result<Option<String>> {
    let (Some(all), Some(part)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
    // To SQLite one that begins with a zero is empty.
    if part.is_empty() || part.starts_with('\0') {
        return Ok(Some(all.into_owned()));
    }
    let Some(by) = text(context, 2) else { return Ok(None) };
    let times = memmem::find_iter(all.as_bytes(), part.as_bytes()).count();
    if all.len() - times * part.len() + times * by.len() > MAX_VALUE_BYTES as usize {
        return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None));
    }
    Ok(Some(all.replace(&*part, &by)))
}

/// The first argument without the characters of the second, or spaces, at its ends.
fn trim(context: &Context<'_>, left: bool, right: bool) -> Option<String> {
    let all = text(context, 0)?;
    let taken: HashSet<char> =
        if context.len() == 2 { text(context, 1)?.chars().take_while(|c| *c != '\0').collect() } else { [' '].into() };
    let mut rest: &str = &all;
    if left {
        rest = rest.trim_start_matches(|c| taken.contains(&c));
    }
    if right {
        rest = rest.trim_end_matches(|c| taken.contains(&c));
    }
    Some(rest.to_owned())
}
