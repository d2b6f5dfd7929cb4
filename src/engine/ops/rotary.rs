//! Rotary positions (arXiv 2104.09864): the coordinate pairs `(i, i + width / 2)` of every query and key are rotated by
//! an angle that grows with the token's position. Of wider heads the coordinates behind `width` stay.

use std::sync::{Arc, PoisonError, RwLock};

use rayon::prelude::*;

use super::attention::Heads;
use super::rows_per_task;
use crate::modelfile::rope::Rotation;

/// Fewest positions in the table.
const SHORTEST: usize = 512;

/// Cosines and sines of every position that was asked for.
#[derive(Debug)]
pub struct Rotary {
    rotation: Rotation,
    /// `[positions, width]`: the cosines, then the sines of a position.
    table: RwLock<Arc<Vec<f32>>>,
}

impl Rotary {
    pub fn new(rotation: Rotation) -> Self {
        Self { rotation, table: RwLock::default() }
    }

    /// Coordinates of a head that are turned.
    pub fn width(&self) -> usize {
        2 * self.rotation.speeds.len()
    }

    /// The table for positions below `count`; it grows by powers of two.
    pub fn table(&self, count: usize) -> Arc<Vec<f32>> {
        let (width, factor) = (self.width(), self.rotation.factor);
        let known = Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner));
        if known.len() >= count * width {
            return known;
        }
        let positions = count.next_power_of_two().max(SHORTEST);
        let mut table = Vec::with_capacity(positions * width);
        for position in 0..positions {
            let angles = || self.rotation.speeds.iter().map(|speed| position as f64 * speed);
            table.extend(angles().map(|a| (factor * a.cos()) as f32));
            table.extend(angles().map(|a| (factor * a.sin()) as f32));
        }
        let table = Arc::new(table);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&table);
        table
    }

    /// Rotates the queries and keys of `rows: [N, row]` (queries, keys and values side by side).
    pub fn rotate(&self, rows: &mut [f32], heads: Heads, positions: &[u32]) {
        self.turn(rows, heads, positions, 1.0);
    }

    /// Rotates back: the gradient of [`Self::rotate`].
    pub fn rotate_back(&self, rows: &mut [f32], heads: Heads, positions: &[u32]) {
        self.turn(rows, heads, positions, -1.0);
    }

    fn turn(&self, rows: &mut [f32], heads: Heads, positions: &[u32], sign: f32) {
        assert_eq!(rows.len(), positions.len() * heads.row(), "rows and positions do not fit");
        let (width, half) = (self.width(), self.width() / 2);
        assert!(width <= heads.width, "more coordinates are turned than heads have");
        let count = positions.iter().max().map_or(0, |p| *p as usize + 1);
        let table = self.table(count);
        let rotated = heads.query_row() + heads.key_value_row();
        let each = rows.par_chunks_mut(heads.row()).zip(positions).with_min_len(rows_per_task(rotated));
        each.for_each(|(row, position)| {
            let (cos, sin) = table[*position as usize * width..][..width].split_at(half);
            for head in row[..rotated].chunks_exact_mut(heads.width) {
                let (first, second) = head[..width].split_at_mut(half);
                for i in 0..half {
                    let (a, b, s) = (first[i], second[i], sign * sin[i]);
                    first[i] = a * cos[i] - b * s;
                    second[i] = b * cos[i] + a * s;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_match_their_definition_and_can_be_undone() {
        let heads = Heads::new(2, 1, 4);
        let rotary = Rotary::new(Rotation { speeds: vec![1.0, 0.01], factor: 1.0 });
        let rows: Vec<f32> = (0..3 * heads.row()).map(|i| i as f32 * 0.1).collect();
        let positions = [0, 7, 1000];
        let mut turned = rows.clone();
        rotary.rotate(&mut turned, heads, &positions);
        for (r, position) in positions.iter().enumerate() {
            let row = |at: usize| f64::from(rows[r * heads.row() + at]);
            for head in 0..3 {
                for (i, frequency) in [1.0, 0.01].iter().enumerate() {
                    let angle = f64::from(*position) * frequency;
                    let (a, b) = (row(head * 4 + i), row(head * 4 + i + 2));
                    let got = |at: usize| f64::from(turned[r * heads.row() + head * 4 + at]);
                    assert!((got(i) - (a * angle.cos() - b * angle.sin())).abs() < 1e-6);
                    assert!((got(i + 2) - (b * angle.cos() + a * angle.sin())).abs() < 1e-6);
                }
            }
            assert_eq!(turned[r * heads.row() + 12..][..4], rows[r * heads.row() + 12..][..4], "values stay");
        }
        rotary.rotate_back(&mut turned, heads, &positions);
        assert!(turned.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
