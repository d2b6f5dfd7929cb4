//! Orthogonal matrices near given ones on a device: the iteration of [`crate::engine::ops::orthogonal`].

use super::layout::squares;
use super::{Cuda, Memory, THREADS};
use crate::engine::driver::{Argument, Kind, Pointer, Product, Result};
use crate::engine::ops::orthogonal::{COEFFICIENTS, EPS, STEPS};

/// Blocks that add up the squares of a matrix.
const PARTS: usize = 64;

impl Cuda {
    /// Replaces the f32 matrix `x: [rows, columns]`, with `x = U S V^T`, by about `size U V^T`.
    pub(super) fn orthogonalise(&self, x: Pointer, (rows, columns): (usize, usize), size: f32) -> Result<()> {
        let (len, is_wide, side) = (rows * columns, rows <= columns, rows.min(columns));
        let norm = squares(self, x, len, PARTS)?.sqrt();
        self.blend(x, (x, (1.0 / (norm + EPS)) as f32), (x, 0.0), len)?;
        let [gram, square] = [self.memory(Kind::F32, side * side)?, self.memory(Kind::F32, side * side)?];
        let next = self.memory(Kind::F32, len)?;
        let [a, b, c] = COEFFICIENTS;
        let product = |(m, n, k), a, b, c, add| {
            self.driver().product(&Product { m, n, k, a, b, c, factors: Kind::F32, result: Kind::F32, add })
        };
        // Rows of x are columns for the device; a symmetric matrix is the same either way.
        let (of_x, of_next) = (|turned| (x, columns, turned), (next.pointer(), columns));
        let symmetric = |memory: &Memory| (memory.pointer(), side, false);
        let inner = if is_wide { columns } else { rows };
        for step in 1..=STEPS {
            product((side, side, inner), of_x(is_wide), of_x(!is_wide), (gram.pointer(), side), false)?;
            product((side, side, side), symmetric(&gram), symmetric(&gram), (square.pointer(), side), false)?;
            self.blend(square.pointer(), (square.pointer(), c), (gram.pointer(), b), side * side)?;
            self.blend(next.pointer(), (x, a), (x, 0.0), len)?;
            let (left, right) =
                if is_wide { (of_x(false), symmetric(&square)) } else { (symmetric(&square), of_x(false)) };
            product((columns, rows, side), left, right, of_next, true)?;
            let size = if step == STEPS { size } else { 1.0 };
            self.blend(x, (next.pointer(), size), (next.pointer(), 0.0), len)?;
        }
        Ok(())
    }

    /// `out = x factor + y factor`, number by number.
    fn blend(&self, out: Pointer, x: (Pointer, f32), y: (Pointer, f32), len: usize) -> Result<()> {
        let [(x, by_x), (y, by_y)] = [x, y];
        let [out, x, y] = [out, x, y].map(Argument::Pointer);
        let arguments = [out, x, Argument::F32(by_x), y, Argument::F32(by_y), Argument::U64(len as u64)];
        self.launch("blend", Self::blocks(len), THREADS, 0, &arguments)
    }
}
