//! Equations, inequalities and sets of real numbers: what they say, however it is written.

use std::rc::Rc;

use super::compare::{Judge, told_apart};
use super::evaluate::{self, Point};
use super::expr::{Expr, Node};
use super::form::Normal;
use super::units::Unit;
use super::value::{Label, Sign, Value};

/// The most pieces of a set.
const MAX_PIECES: usize = 128;

/// What the difference of two sides is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Zero,
    NotZero,
    Negative,
    NotPositive,
}

/// One end of a piece; None is infinite.
#[derive(Clone, Copy, Debug)]
struct End {
    at: Option<Expr>,
    closed: bool,
}

/// All numbers between two ends.
#[derive(Clone, Copy, Debug)]
struct Piece {
    low: End,
    high: End,
}

impl Judge<'_> {
    /// Whether two equations or chains of inequalities claim the same.
    pub fn same_relation(&mut self, expected: &Value, found: &Value) -> bool {
        if !Unit::agree(expected.claimed_unit(), found.claimed_unit()) {
            return false;
        }
        let (Some(a), Some(b)) = (self.claims(expected), self.claims(found)) else { return false };
        if a.len() != b.len() {
            return false;
        }
        let mut left: Vec<usize> = (0..b.len()).collect();
        for claim in &a {
            let Some(met) = left.iter().position(|at| self.same_claim(*claim, b[*at])) else { return false };
            left.swap_remove(met);
        }
        true
    }

    /// What a relation says, as claims on differences.
    fn claims(&mut self, value: &Value) -> Option<Vec<(Expr, Claim)>> {
        match value {
            Value::Assign { label: Label::Variable(name), value } => {
                let variable = self.arena.variable(*name)?;
                let difference = self.arena.difference(variable, value.as_expr()?)?;
                Some(vec![(difference, Claim::Zero)])
            }
            Value::Relation { sides, signs, .. } => {
                let mut claims = Vec::with_capacity(signs.len());
                for (pair, sign) in sides.windows(2).zip(signs) {
                    let (claim, swapped) = match sign {
                        Sign::Equal | Sign::About => (Claim::Zero, false),
                        Sign::NotEqual => (Claim::NotZero, false),
                        Sign::Less => (Claim::Negative, false),
                        Sign::LessOrEqual => (Claim::NotPositive, false),
                        Sign::Greater => (Claim::Negative, true),
                        Sign::GreaterOrEqual => (Claim::NotPositive, true),
                    };
                    let (left, right) = if swapped { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
                    claims.push((self.arena.difference(left, right)?, claim));
                }
                Some(claims)
            }
            _ => None,
        }
    }

    /// Whether two claims are the same: on differences that are proportional, where order matters by a positive factor.
    fn same_claim(&mut self, a: (Expr, Claim), b: (Expr, Claim)) -> bool {
        let ((a, claim), (b, other)) = (a, b);
        if claim != other {
            return false;
        }
        let ordered = matches!(claim, Claim::Negative | Claim::NotPositive);
        let (left, right) = (self.normal(a), self.normal(b));
        if let (Normal::Form(left), Normal::Form(right)) = (&*Rc::clone(&left), &*Rc::clone(&right)) {
            if !ordered || left.bottom == right.bottom {
                match left.top.ratio(&right.top) {
                    Some(ratio) => return !(ordered && ratio.is_negative()),
                    None if !left.is_opaque() && !right.is_opaque() && !ordered => return false,
                    None => {}
                }
            }
            if left.top.is_zero() || right.top.is_zero() {
                return false;
            }
        }
        self.proportional(a, b, ordered)
    }

    /// Whether the quotient of two expressions is the same at all points.
    fn proportional(&mut self, a: Expr, b: Expr, positive: bool) -> bool {
        const FEWEST_POINTS: usize = 3;
        let (mut first, mut met) = (None, 0);
        for point in Point::all(self.arena, &[a, b]) {
            let a = evaluate::value(self.arena, a, point, &mut self.budget);
            let b = evaluate::value(self.arena, b, point, &mut self.budget);
            let Some(ratio) = a.zip(b).and_then(|(a, b)| a.div(b)) else { continue };
            let ordered = ratio.im.high.abs() <= 4.0 * ratio.error && ratio.re.high > 0.0;
            if ratio.size() <= ratio.error || (positive && !ordered) {
                return false;
            }
            match told_apart(ratio, *first.get_or_insert(ratio)) {
                Some(true) => return false,
                Some(false) => met += 1,
                None => {}
            }
        }
        met >= FEWEST_POINTS
    }

    /// Whether two sets of real numbers are the same, where both can be written as pieces. An inequality is one of them
    /// when it is what is expected, or when `relations` allows it.
    pub fn same_pieces(&mut self, expected: &Value, found: &Value, relations: bool) -> bool {
        let units = Unit::agree(expected.claimed_unit(), found.claimed_unit());
        if !units || (found.is_relation() && !expected.is_relation() && !relations) {
            return false;
        }
        let (Some(a), Some(b)) = (self.pieces(expected), self.pieces(found)) else { return false };
        let (a, b) = (self.ordered(a), self.ordered(b));
        a.len() == b.len()
            && a.iter().zip(&b).all(|(a, b)| self.same_end(a.low, b.low) && self.same_end(a.high, b.high))
    }

    fn same_end(&mut self, a: End, b: End) -> bool {
        match (a.at, b.at) {
            (None, None) => true,
            (Some(left), Some(right)) => a.closed == b.closed && self.same_number(left, right),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn pieces(&mut self, value: &Value) -> Option<Vec<Piece>> {
        // What is infinite has its sign and does not belong to the piece; other writings are not understood.
        let end = |judge: &Self, value: &Value, closed: bool, sign: i8| {
            let expr = value.as_expr()?;
            match judge.arena.infinity(expr) {
                Some(found) => (found == sign && !closed).then_some(End { at: None, closed: false }),
                None => Some(End { at: Some(expr), closed }),
            }
        };
        match value {
            Value::Interval { ends, closed } => {
                let (low, high) = (end(self, &ends[0], closed[0], -1)?, end(self, &ends[1], closed[1], 1)?);
                Some(vec![Piece { low, high }])
            }
            Value::Tuple(ends) if ends.len() == 2 => {
                Some(vec![Piece { low: end(self, &ends[0], false, -1)?, high: end(self, &ends[1], false, 1)? }])
            }
            Value::Union(parts) => {
                let mut pieces = Vec::new();
                for part in parts {
                    pieces.extend(self.pieces(part)?);
                }
                (pieces.len() <= MAX_PIECES).then_some(pieces)
            }
            Value::Set(members) => {
                let mut pieces = Vec::new();
                for member in members {
                    match member {
                        Value::Relation { .. } => pieces.extend(self.pieces(member)?),
                        member => {
                            let at = end(self, member, true, 0)?;
                            pieces.push(Piece { low: at, high: at });
                        }
                    }
                }
                self.both(&pieces).map_or(Some(pieces), |both| Some(vec![both]))
            }
            Value::Intersection(parts) => self.common(parts),
            Value::Difference(parts) => {
                let Value::Set(holes) = &parts[1] else { return None };
                let pieces = self.pieces(&parts[0])?;
                self.without(pieces, holes)
            }
            Value::Relation { sides, signs, .. } => self.solved(sides, signs),
            Value::Assign { value, .. } => self.pieces(value),
            _ => None,
        }
    }

    /// What two rays have in common that overlap: `x > 1 and x < 3`.
    fn both(&mut self, pieces: &[Piece]) -> Option<Piece> {
        let [a, b] = pieces else { return None };
        let (up, down) = if a.high.at.is_none() { (a, b) } else { (b, a) };
        if up.high.at.is_some() || down.low.at.is_some() {
            return None;
        }
        let (low, high) = (self.place(up.low)?, self.place(down.high)?);
        (low < high).then_some(Piece { low: up.low, high: down.high })
    }

    /// What all parts have in common.
    fn common(&mut self, parts: &[Value]) -> Option<Vec<Piece>> {
        let mut common: Option<Vec<Piece>> = None;
        for part in parts {
            let pieces = self.pieces(part)?;
            let Some(before) = common else {
                common = Some(pieces);
                continue;
            };
            let mut both = Vec::new();
            for (a, b) in before.iter().flat_map(|a| pieces.iter().map(move |b| (a, b))) {
                both.extend(self.overlap(*a, *b)?);
                if both.len() > MAX_PIECES {
                    return None;
                }
            }
            common = Some(both);
        }
        common
    }

    /// What two pieces have in common: the higher of the low ends and the lower of the high ones.
    fn overlap(&mut self, a: Piece, b: Piece) -> Option<Option<Piece>> {
        self.budget.take(4)?;
        let low =
            |judge: &mut Self, end: End| if end.at.is_none() { Some(f64::NEG_INFINITY) } else { judge.place(end) };
        let high = |judge: &mut Self, end: End| if end.at.is_none() { Some(f64::INFINITY) } else { judge.place(end) };
        let (first, second) = (low(self, a.low)?, low(self, b.low)?);
        let lower = match first.total_cmp(&second) {
            std::cmp::Ordering::Equal => End { closed: a.low.closed && b.low.closed, ..a.low },
            order => {
                if order.is_gt() {
                    a.low
                } else {
                    b.low
                }
            }
        };
        let (third, fourth) = (high(self, a.high)?, high(self, b.high)?);
        let upper = match third.total_cmp(&fourth) {
            std::cmp::Ordering::Equal => End { closed: a.high.closed && b.high.closed, ..a.high },
            order => {
                if order.is_lt() {
                    a.high
                } else {
                    b.high
                }
            }
        };
        let (from, to) = (first.max(second), third.min(fourth));
        let some = from < to || (from == to && lower.closed && upper.closed);
        Some(some.then_some(Piece { low: lower, high: upper }))
    }

    /// Pieces with single numbers taken out.
    fn without(&mut self, mut pieces: Vec<Piece>, holes: &[Value]) -> Option<Vec<Piece>> {
        for hole in holes {
            let at = hole.as_expr()?;
            let end = End { at: Some(at), closed: false };
            let place = self.place(end)?;
            let mut split = Vec::with_capacity(pieces.len() + 1);
            for piece in pieces {
                let low = if piece.low.at.is_none() { f64::NEG_INFINITY } else { self.place(piece.low)? };
                let high = if piece.high.at.is_none() { f64::INFINITY } else { self.place(piece.high)? };
                if low < place && place < high {
                    split.push(Piece { high: end, ..piece });
                    split.push(Piece { low: end, ..piece });
                } else {
                    split.push(piece);
                }
            }
            pieces = split;
        }
        (pieces.len() <= MAX_PIECES).then_some(pieces)
    }

    /// What an inequality leaves of its subject: of a variable or a function that stands alone on its side.
    fn solved(&mut self, sides: &[Expr], signs: &[Sign]) -> Option<Vec<Piece>> {
        let subject =
            |expr: &Expr| matches!(self.arena.node(expr.root), Node::Variable(_) | Node::Apply(..) | Node::Call(..));
        let at = sides.iter().position(|side| self.arena.is_open(*side)).filter(|at| subject(&sides[*at]))?;
        let between = at == 1 || sides.len() == 2;
        if sides.len() > 3 || !between || sides.iter().skip(at + 1).any(|side| self.arena.is_open(*side)) {
            return None;
        }
        let infinite = End { at: None, closed: false };
        let whole = Piece { low: infinite, high: infinite };
        if let [Sign::NotEqual] = signs {
            let end = End { at: Some(sides[1 - at]), closed: false };
            return Some(vec![Piece { high: end, ..whole }, Piece { low: end, ..whole }]);
        }
        let (mut piece, mut set) = (whole, [false; 2]);
        for (place, sign) in signs.iter().enumerate() {
            // The sign between a number and the subject, read from the subject.
            let before = place < at;
            let number = if before { sides[place] } else { sides[place + 1] };
            let (below, closed) = match sign {
                Sign::Less => (!before, false),
                Sign::LessOrEqual => (!before, true),
                Sign::Greater => (before, false),
                Sign::GreaterOrEqual => (before, true),
                Sign::Equal | Sign::About | Sign::NotEqual => return None,
            };
            if std::mem::replace(&mut set[usize::from(below)], true) {
                return None;
            }
            let infinite = self.arena.infinity(number).is_some();
            let end = End { at: (!infinite).then_some(number), closed: closed && !infinite };
            *(if below { &mut piece.high } else { &mut piece.low }) = end;
        }
        Some(vec![piece])
    }

    /// Where an end lies, as a float.
    fn place(&mut self, end: End) -> Option<f64> {
        let value = self.value(end.at?)?;
        value.is_real().then_some(value.re.high)
    }

    /// Pieces from the lowest up, those that touch joined; as they are where their ends are no numbers.
    fn ordered(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut placed = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let low = if piece.low.at.is_none() { Some(f64::NEG_INFINITY) } else { self.place(piece.low) };
            let high = if piece.high.at.is_none() { Some(f64::INFINITY) } else { self.place(piece.high) };
            match low.zip(high) {
                Some((low, high)) => placed.push((low, high, *piece)),
                None => return pieces,
            }
        }
        placed.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.2.low.closed.cmp(&a.2.low.closed)));
        let mut joined: Vec<(f64, f64, Piece)> = Vec::with_capacity(placed.len());
        for (low, high, piece) in placed {
            match joined.last_mut() {
                Some(last) if low < last.1 || (low == last.1 && (piece.low.closed || last.2.high.closed)) => {
                    if high > last.1 {
                        (last.1, last.2.high) = (high, piece.high);
                    } else if high == last.1 {
                        last.2.high.closed |= piece.high.closed;
                    }
                }
                _ => joined.push((low, high, piece)),
            }
        }
        joined.into_iter().map(|(_, _, piece)| piece).collect()
    }
}
