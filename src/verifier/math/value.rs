//! What an answer is: a number, or something made of numbers.

use super::expr::Expr;
use super::units::Unit;

/// How the sides of a relation stand to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Equal,
    About,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What is said to equal a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A variable by its name.
    Variable(u32),
    /// A function by its name, and its arguments as text.
    Function(String, String),
    /// Words, a segment, a quotient of names or several variables, as text.
    Other(String),
}

#[derive(Clone, Debug)]
pub enum Value {
    Scalar {
        expr: Expr,
        unit: Option<Unit>,
    },
    /// A number with the base that it is written in.
    Based {
        digits: String,
        base: u32,
    },
    /// Words, in lower case and without marks.
    Text(String),
    /// Values in an order, in parentheses. Two of them may also be meant as an open interval.
    Tuple(Vec<Value>),
    /// From the first to the second; whether each of them belongs to it.
    Interval {
        ends: Box<[Value; 2]>,
        closed: [bool; 2],
    },
    /// Values in no order: in braces, or several answers in a row.
    Set(Vec<Value>),
    Union(Vec<Value>),
    Intersection(Vec<Value>),
    Difference(Box<[Value; 2]>),
    /// Row by row.
    Matrix {
        columns: usize,
        cells: Vec<Value>,
    },
    /// Sides with the signs between them.
    Relation {
        sides: Vec<Expr>,
        signs: Vec<Sign>,
        /// The unit of those sides that have one.
        unit: Option<Unit>,
    },
    Assign {
        label: Label,
        value: Box<Value>,
    },
    /// Numbers with colons between them; whether they may be a time of day, and the unit or the half of the day.
    Ratio {
        terms: Vec<Expr>,
        time: bool,
        unit: Option<Unit>,
    },
}

impl Value {
    pub fn scalar(expr: Expr) -> Self {
        Self::Scalar { expr, unit: None }
    }

    /// The expression, where it is one without a unit.
    pub fn as_expr(&self) -> Option<Expr> {
        match self {
            Self::Scalar { expr, unit: None } => Some(*expr),
            _ => None,
        }
    }

    /// The unit of a relation, or of the first that has one of several.
    pub fn claimed_unit(&self) -> Option<&Unit> {
        match self {
            Self::Relation { unit, .. } => unit.as_ref(),
            Self::Set(parts) | Self::Union(parts) | Self::Intersection(parts) => {
                parts.iter().find_map(Self::claimed_unit)
            }
            _ => None,
        }
    }

    /// Whether it is a relation, or holds one.
    pub fn is_relation(&self) -> bool {
        match self {
            Self::Relation { .. } => true,
            Self::Set(parts) | Self::Union(parts) | Self::Intersection(parts) => parts.iter().any(Self::is_relation),
            _ => false,
        }
    }
}
