//! Statements that are put together: with as many rows or conditions as there happen to be.

use std::fmt::Write;

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, Arguments, AssertSqlSafe, Encode, Type};

/// A statement with its values, which are numbered (`$1`), as every database understands.
#[derive(Default)]
pub(super) struct Statement {
    text: String,
    values: AnyArguments,
    /// The first value that could not be taken.
    error: Option<sqlx::Error>,
}

/// A row of values.
pub(super) struct Values<'s> {
    statement: &'s mut Statement,
    begun: bool,
}

impl Statement {
    pub fn new(text: &'static str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Adds text that no client has written.
    pub fn push(&mut self, text: &'static str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds the name of a table or a column of the database's own.
    pub fn push_name(&mut self, name: &str) -> &mut Self {
        let _ = write!(self.text, "\"{}\"", name.replace('"', "\"\""));
        self
    }

    /// Adds a value.
    pub fn bind<'v>(&mut self, value: impl Encode<'v, Any> + Type<Any>) -> &mut Self {
        if let Err(error) = self.values.add(value) {
            self.error.get_or_insert(sqlx::Error::Encode(error));
        }
        // Writing to a text does not fail.
        let _ = write!(self.text, "${}", self.values.len());
        self
    }

    /// Adds `values (...), (...)`, a row for each item.
    pub fn rows<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut row: impl FnMut(&mut Values<'_>, T),
    ) -> &mut Self {
        for (number, item) in items.into_iter().enumerate() {
            self.push(if number == 0 { "values (" } else { ", (" });
            row(&mut Values { statement: self, begun: false }, item);
            self.push(")");
        }
        self
    }

    #[cfg(test)]
    pub fn into_text(self) -> String {
        self.text
    }

    /// The statement, ready to be run.
    pub fn finish(self) -> sqlx::Result<Query<'static, Any, AnyArguments>> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(sqlx::query_with(AssertSqlSafe(self.text), self.values)),
        }
    }
}

impl Values<'_> {
    pub fn bind<'v>(&mut self, value: impl Encode<'v, Any> + Type<Any>) -> &mut Self {
        if std::mem::replace(&mut self.begun, true) {
            self.statement.push(", ");
        }
        self.statement.bind(value);
        self
    }

    /// Adds no value. Its type is the column's, whatever other rows have there.
    pub fn null(&mut self) -> &mut Self {
        if std::mem::replace(&mut self.begun, true) {
            self.statement.push(", ");
        }
        self.statement.push("null");
        self
    }
}
