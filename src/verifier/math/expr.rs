//! Expressions: a list of nodes in which every operand stands before what uses it, so that whatever walks over one is a
//! loop and no depth of nesting can exhaust a stack.

use super::rational::Rational;

/// The most nodes that the expressions of one comparison have together.
pub const MAX_NODES: usize = 4_096;
/// The most names of variables and functions in one comparison.
const MAX_NAMES: usize = 256;

/// The place of a node in its [`Arena`].
pub type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Sin,
    Cos,
    Tan,
    Cot,
    Sec,
    Csc,
    Arcsin,
    Arccos,
    Arctan,
    Sinh,
    Cosh,
    Tanh,
    Ln,
    Exp,
    Abs,
    Floor,
    Ceil,
    Factorial,
}

#[derive(Clone, Debug)]
pub enum Node {
    Number(Rational),
    Pi,
    E,
    I,
    Infinity,
    Variable(u32),
    Neg(Id),
    Add(Id, Id),
    Mul(Id, Id),
    Div(Id, Id),
    Pow(Id, Id),
    /// The root of the second, of the degree that the first says.
    Root(Id, Id),
    /// The logarithm of the second to the base that the first says.
    Log(Id, Id),
    Binomial(Id, Id),
    Call(Function, Id),
    /// A function of which nothing but its name and its arguments, at most two, is known.
    Apply(u32, Id, Option<Id>),
}

/// One expression: the nodes from `start` to `root`.
#[derive(Clone, Copy, Debug)]
pub struct Expr {
    pub start: Id,
    pub root: Id,
    /// Whether a number in it is written with a decimal point, and may have been rounded.
    pub decimal: bool,
}

/// The nodes and names of both answers of a comparison.
#[derive(Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
    names: Vec<String>,
}

impl Arena {
    /// Adds a node; None when there are too many.
    pub fn push(&mut self, node: Node) -> Option<Id> {
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        self.nodes.push(node);
        Id::try_from(self.nodes.len() - 1).ok()
    }

    /// The number of a name.
    pub fn name(&mut self, name: &str) -> Option<u32> {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return u32::try_from(at).ok();
        }
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        self.names.push(name.to_owned());
        u32::try_from(self.names.len() - 1).ok()
    }

    pub fn named(&self, name: u32) -> &str {
        &self.names[name as usize]
    }

    pub fn next(&self) -> Id {
        self.nodes.len() as Id
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn nodes(&self, expr: Expr) -> &[Node] {
        &self.nodes[expr.start as usize..=expr.root as usize]
    }

    /// The variables of an expression, by the first place where each stands.
    pub fn variables(&self, expr: Expr) -> Vec<u32> {
        let mut variables = Vec::new();
        for node in self.nodes(expr) {
            if let Node::Variable(name) = node
                && !variables.contains(name)
            {
                variables.push(*name);
            }
        }
        variables
    }

    /// Whether it holds a variable or an unknown function.
    pub fn is_open(&self, expr: Expr) -> bool {
        self.nodes(expr).iter().any(|node| matches!(node, Node::Variable(_) | Node::Apply(..)))
    }

    /// The sign of an expression that is infinite: 1, -1 or None.
    pub fn infinity(&self, expr: Expr) -> Option<i8> {
        match self.node(expr.root) {
            Node::Infinity => Some(1),
            Node::Neg(inner) => matches!(self.node(*inner), Node::Infinity).then_some(-1),
            _ => None,
        }
    }

    /// Whether a node is the product of `factor` and something.
    pub fn is_product_of(&self, id: Id, factor: Id) -> bool {
        matches!(self.node(id), Node::Mul(a, _) if *a == factor)
    }

    /// The difference of two expressions, as one: their nodes are written anew, because each expression is a range.
    pub fn difference(&mut self, left: Expr, right: Expr) -> Option<Expr> {
        let start = self.next();
        let left = self.copy(left)?;
        let right_root = self.copy(right)?;
        let minus = self.push(Node::Neg(right_root))?;
        let root = self.push(Node::Add(left, minus))?;
        Some(Expr { start, root, decimal: false })
    }

    fn copy(&mut self, expr: Expr) -> Option<Id> {
        let shift = self.next() - expr.start;
        for at in expr.start..=expr.root {
            let node = self.node(at).shifted(shift);
            self.push(node)?;
        }
        Some(expr.root + shift)
    }

    /// An expression times a number.
    pub fn scaled(&mut self, expr: Expr, factor: &Rational) -> Option<Expr> {
        let start = self.next();
        let copy = self.copy(expr)?;
        let number = self.push(Node::Number(factor.clone()))?;
        let root = self.push(Node::Mul(copy, number))?;
        Some(Expr { start, root, ..expr })
    }

    /// The quotient of two expressions.
    pub fn quotient(&mut self, top: Expr, bottom: Expr) -> Option<Expr> {
        self.joined(top, bottom, Node::Div)
    }

    pub fn product(&mut self, left: Expr, right: Expr) -> Option<Expr> {
        self.joined(left, right, Node::Mul)
    }

    pub fn sum(&mut self, left: Expr, right: Expr) -> Option<Expr> {
        self.joined(left, right, Node::Add)
    }

    fn joined(&mut self, left: Expr, right: Expr, node: fn(Id, Id) -> Node) -> Option<Expr> {
        let start = self.next();
        let a = self.copy(left)?;
        let b = self.copy(right)?;
        let root = self.push(node(a, b))?;
        Some(Expr { start, root, decimal: left.decimal || right.decimal })
    }

    /// An angle in degrees as one in radians.
    pub fn radians(&mut self, expr: Expr) -> Option<Expr> {
        let scaled = self.scaled(expr, &Rational::fraction(1, 180)?)?;
        let pi = self.push(Node::Pi)?;
        let root = self.push(Node::Mul(scaled.root, pi))?;
        Some(Expr { root, ..scaled })
    }

    /// A variable as an expression.
    pub fn variable(&mut self, name: u32) -> Option<Expr> {
        let root = self.push(Node::Variable(name))?;
        Some(Expr { start: root, root, decimal: false })
    }

    /// The number, where the expression is nothing but one.
    pub fn as_number(&self, expr: Expr) -> Option<Rational> {
        match self.node(expr.root) {
            Node::Number(number) => Some(number.clone()),
            Node::Neg(inner) => match self.node(*inner) {
                Node::Number(number) => number.neg(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The expression with the variables `from` renamed to those of `to`.
    pub fn renamed(&mut self, expr: Expr, from: &[u32], to: &[u32]) -> Option<Expr> {
        let start = self.next();
        let root = self.copy(expr)?;
        for node in &mut self.nodes[start as usize..] {
            if let Node::Variable(name) = node
                && let Some(at) = from.iter().position(|known| known == name)
            {
                *name = to[at];
            }
        }
        Some(Expr { start, root, ..expr })
    }
}

impl Node {
    fn shifted(&self, by: Id) -> Self {
        let mut node = self.clone();
        match &mut node {
            Self::Number(_) | Self::Pi | Self::E | Self::I | Self::Infinity | Self::Variable(_) => {}
            Self::Neg(a) | Self::Call(_, a) | Self::Apply(_, a, None) => *a += by,
            Self::Add(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Pow(a, b)
            | Self::Root(a, b)
            | Self::Log(a, b)
            | Self::Binomial(a, b)
            | Self::Apply(_, a, Some(b)) => {
                *a += by;
                *b += by;
            }
        }
        node
    }
}
