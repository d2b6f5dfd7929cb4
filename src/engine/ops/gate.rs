//! Gated units (arXiv 2002.05202): `a(gate) up` with an activation `a`, from rows that hold gate and up side by side.

use rayon::prelude::*;

use super::rows_per_task;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::rows::{gated_backward_row, gated_row};
use crate::modelfile::architecture::Activation;

/// `[N, width]` of `rows: [N, 2 width]`.
pub fn gated(rows: &[f32], width: usize, activation: Activation) -> Buffer {
    let mut out = Buffer::new(rows.len() / 2);
    let pairs = rows.par_chunks(2 * width).zip(out.par_chunks_mut(width));
    pairs.with_min_len(rows_per_task(width)).for_each(|(row, out)| {
        let (gate, up) = row.split_at(width);
        gated_row(activation, gate, up, out);
    });
    out
}

/// Turns `rows` into their gradient, and `grad`, that of the result, into the result.
pub fn gated_backward(rows: &mut [f32], grad: &mut [f32], width: usize, activation: Activation) {
    let pairs = rows.par_chunks_mut(2 * width).zip(grad.par_chunks_mut(width));
    pairs.with_min_len(rows_per_task(width)).for_each(|(row, grad)| {
        let (gate, up) = row.split_at_mut(width);
        gated_backward_row(activation, gate, up, grad);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_and_their_gradients_match_float64() {
        let (count, width) = (5, 19);
        let wave = |n: usize, s: f64| (0..n).map(|i| (i as f64 * s).sin() as f32 * 3.0).collect::<Vec<f32>>();
        let (rows, grad) = (wave(count * 2 * width, 0.7), wave(count * width, 0.4));
        let of = |rows: &[f64]| -> Vec<f64> {
            let silu = |g: f64| g / (1.0 + (-g).exp());
            rows.chunks(2 * width)
                .flat_map(|r| (0..width).map(|i| silu(r[i]) * r[width + i]).collect::<Vec<_>>())
                .collect()
        };
        let wide: Vec<f64> = rows.iter().map(|x| f64::from(*x)).collect();
        let out = gated(&rows, width, Activation::Silu);
        for (got, want) in out.iter().zip(of(&wide)) {
            assert!((f64::from(*got) - want).abs() < 1e-5);
        }
        let (mut gradient, mut again) = (rows.clone(), grad.clone());
        gated_backward(&mut gradient, &mut again, width, Activation::Silu);
        assert_eq!(again[..], out[..]);
        let loss = |rows: &[f64]| of(rows).iter().zip(&grad).map(|(o, g)| o * f64::from(*g)).sum::<f64>();
        for at in 0..rows.len() {
            let (mut up, mut down) = (wide.clone(), wide.clone());
            up[at] += 1e-6;
            down[at] -= 1e-6;
            let want = (loss(&up) - loss(&down)) / 2e-6;
            assert!((f64::from(gradient[at]) - want).abs() < 1e-4);
        }
    }
}
