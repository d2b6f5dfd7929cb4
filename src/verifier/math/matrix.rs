//! The grammar of matrices.

use super::answer::MAX_MEMBERS;
use super::lex::Kind;
use super::parse::Parser;
use super::value::Value;

impl Parser<'_, '_> {
    /// A matrix, row by row.
    pub fn matrix(&mut self) -> Option<Value> {
        self.at += 1;
        let known = matches!(self.peek().text, "pmatrix" | "bmatrix" | "matrix" | "Bmatrix" | "smallmatrix" | "array");
        if !known {
            return None;
        }
        self.at += 1;
        let (mut cells, mut columns, mut row) = (Vec::new(), 0, 0);
        loop {
            let at_end = self.peek().kind == Kind::Command && self.peek().text == "end";
            if !at_end {
                cells.push(self.term()?);
                row += 1;
                if self.eat('&') {
                    continue;
                }
            }
            if row > 0 {
                columns = if columns == 0 { row } else { columns };
                if row != columns || cells.len() > MAX_MEMBERS {
                    return None;
                }
            }
            row = 0;
            if !self.eat('⏎') {
                break;
            }
        }
        let ended = self.peek().text == "end";
        self.at += 2;
        (ended && columns > 0).then_some(Value::Matrix { columns, cells })
    }
}
