//! The grammar of matrices, and what is computed with them and with tuples: sums, and products with a number.

use super::answer::MAX_MEMBERS;
use super::expr::{Expr, Id, Node};
use super::lex::Kind;
use super::parse::{Operand, Parser};
use super::rational::Rational;
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

    /// The product of two operands, of which one may have members. The expressions begin at `starts`.
    pub fn multiplied(&mut self, left: Operand, right: Operand, starts: [Id; 2]) -> Option<Operand> {
        let (members, id, start) = match (left, right) {
            (Operand::Expr(a), Operand::Expr(b)) => return self.push(Node::Mul(a, b)),
            (Operand::Expr(id), Operand::Value(members)) => (members, id, starts[0]),
            (Operand::Value(members), Operand::Expr(id)) => (members, id, starts[1]),
            (Operand::Value(_), Operand::Value(_)) => return None,
        };
        let factor = Expr { start, root: id, decimal: self.decimal };
        each(members, |member| self.arena.product(factor, member)).map(Operand::Value)
    }

    /// The sum of two matrices or two tuples.
    pub fn added(&mut self, left: Value, right: &Value) -> Option<Operand> {
        let others = match (&left, right) {
            (Value::Matrix { columns: a, cells }, Value::Matrix { columns: b, cells: others }) => {
                (a == b && cells.len() == others.len()).then_some(others)?
            }
            (Value::Tuple(members), Value::Tuple(others)) => (members.len() == others.len()).then_some(others)?,
            _ => return None,
        };
        let mut others = others.iter();
        each(left, |member| self.arena.sum(member, others.next()?.as_expr()?)).map(Operand::Value)
    }

    pub fn negative(&mut self, operand: Operand) -> Option<Operand> {
        match operand {
            Operand::Expr(id) => self.push(Node::Neg(id)),
            Operand::Value(value) => {
                let minus = Rational::integer(-1);
                each(value, |member| self.arena.scaled(member, &minus)).map(Operand::Value)
            }
        }
    }
}

/// A matrix or a tuple with each of its members changed; None where they are not expressions.
fn each(value: Value, mut change: impl FnMut(Expr) -> Option<Expr>) -> Option<Value> {
    let mut all = |members: Vec<Value>| -> Option<Vec<Value>> {
        members.iter().map(|member| change(member.as_expr()?).map(Value::scalar)).collect()
    };
    match value {
        Value::Matrix { columns, cells } => Some(Value::Matrix { columns, cells: all(cells)? }),
        Value::Tuple(members) => Some(Value::Tuple(all(members)?)),
        _ => None,
    }
}
