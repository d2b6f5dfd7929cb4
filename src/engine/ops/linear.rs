//! `y = x W^T` for one or several weights `[out, in]` that read the same states: query, key and value, or gate and up,
//! are one product. Gradients: `dx = dy W`, `dW += dy^T x`.

use std::sync::{Arc, Mutex, PoisonError};

use super::fallback;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::gemm::{Kept, Left, Number, Panels, Precision, Right, Strip, View, product, product_into};

/// A projection without its weights: what is kept between passes.
#[derive(Debug)]
pub struct Linear {
    /// Width of the states.
    pub input: usize,
    /// Width of the result, over all weights.
    pub output: usize,
    pub precision: Precision,
    /// The weights in the form that products read, for one version of them.
    packed: Mutex<Option<(u64, Arc<Panels>)>>,
}

/// The weights of a projection.
#[derive(Clone, Copy, Debug)]
pub enum Matrices<'a> {
    /// Weights, and the version that tells whether they changed.
    Changing { values: &'a [&'a [f32]], version: u64 },
    /// The same as bits of bf16.
    Narrow { values: &'a [&'a [u16]], version: u64 },
    /// Weights that never change, in the form that products read.
    Frozen(&'a [&'a Kept]),
}

/// Rows of a frozen matrix that are turned at a time.
const TURNED: usize = 8192;

impl Linear {
    pub fn new(input: usize, output: usize, precision: Precision) -> Self {
        Self { input, output, precision, packed: Mutex::new(None) }
    }

    /// `[N, output]` of `x: [N, input]`. With `keep` the packed weights stay for the next pass, as sampling wants.
    pub fn forward(&self, x: &[f32], weights: Matrices<'_>, keep: bool) -> Buffer {
        fallback::note_portable("linear");
        let mut out = Buffer::new(x.len() / self.input * self.output);
        let target = Strip::whole(&mut out, self.output);
        self.forward_into(View::new(x, self.input), weights, keep, target, false);
        out
    }

    /// The same into columns of a matrix, or with `add` added to them.
    pub fn forward_into(&self, x: View<'_>, weights: Matrices<'_>, keep: bool, out: Strip<'_>, add: bool) {
        let left = Left::rows(x, self.precision);
        match weights {
            Matrices::Changing { values, version } => {
                product_into(&left, &[Right::Panels(&self.panels(values, version, keep))], out, add);
            }
            Matrices::Narrow { values, version } => {
                product_into(&left, &[Right::Panels(&self.panels(values, version, keep))], out, add);
            }
            Matrices::Frozen(kept) => {
                let factors = kept.iter().map(|kept| match kept {
                    Kept::Panels(panels) => Right::Panels(panels),
                    Kept::Codes(codes) => Right::Codes(codes, self.precision),
                });
                product_into(&left, &factors.collect::<Vec<_>>(), out, add);
            }
        }
    }

    fn panels<N: Number>(&self, values: &[&[N]], version: u64, keep: bool) -> Arc<Panels> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, panels)) = &*packed
            && *of == version
        {
            return Arc::clone(panels);
        }
        *packed = None;
        let panels = Arc::new(Panels::transposed(values, self.input, self.precision));
        if keep {
            *packed = Some((version, Arc::clone(&panels)));
        }
        panels
    }

    fn straight<N: Number>(&self, values: &[&[N]]) -> Panels {
        let views: Vec<View<'_, N>> = values.iter().map(|values| View::new(values, self.input)).collect();
        Panels::straight(&views, self.precision)
    }

    /// Gives back the memory of the packed weights.
    pub fn release(&self) {
        *self.packed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// `dx: [N, input]` of `dy: [N, output]`.
    pub fn input_gradient(&self, dy: &[f32], weights: Matrices<'_>) -> Buffer {
        let mut out = Buffer::new(dy.len() / self.output * self.input);
        let target = Strip::whole(&mut out, self.input);
        self.input_gradient_into(View::new(dy, self.output), weights, target, false);
        out
    }

    /// The same into columns of a matrix, or with `add` added to them.
    pub fn input_gradient_into(&self, dy: View<'_>, weights: Matrices<'_>, out: Strip<'_>, add: bool) {
        match weights {
            Matrices::Changing { values, .. } => {
                product_into(&Left::rows(dy, self.precision), &[Right::Panels(&self.straight(values))], out, add);
            }
            Matrices::Narrow { values, .. } => {
                product_into(&Left::rows(dy, self.precision), &[Right::Panels(&self.straight(values))], out, add);
            }
            Matrices::Frozen(kept) => {
                // A part of a head at a time; the sums go on from one to the next.
                for first in (0..self.output).step_by(TURNED) {
                    let rows = first..(first + TURNED).min(self.output);
                    let left = Left::rows(dy.columns(first, rows.len()), self.precision);
                    let panels = Panels::turned(kept, rows, self.precision);
                    let part = Strip { values: &mut *out.values, ..out };
                    product_into(&left, &[Right::Panels(&panels)], part, add || first > 0);
                }
            }
        }
    }

    /// Writes, or with its flag adds, `dW` for each weight to its sum, in the order of the weights.
    pub fn weight_gradients(&self, x: View<'_>, dy: View<'_>, sums: &mut [(&mut [f32], bool)]) {
        let states = Panels::straight(&[x], self.precision);
        let mut first = 0;
        for (sum, add) in sums {
            let rows = sum.len() / self.input;
            product(&Left::columns(dy.columns(first, rows), self.precision), &states, sum, *add);
            first += rows;
        }
        debug_assert_eq!(first, self.output);
    }
}

#[cfg(test)]
mod tests {
    use candle_core::quantized::{GgmlDType, QTensor};
    use candle_core::{Device, Tensor};

    use super::*;
    use crate::engine::kernels::codes::Codes;
    use crate::modelfile::gguf::blocks::BlockKind;

    fn wave(count: usize, speed: f64) -> Vec<f32> {
        (0..count).map(|i| (i as f64 * speed).sin() as f32).collect()
    }

    /// Products in float64, straight from the definition.
    fn check(rows: usize, input: usize, outputs: &[usize], precision: Precision, tolerance: f64) {
        let output = outputs.iter().sum();
        let (x, dy) = (wave(rows * input, 0.7), wave(rows * output, 0.3));
        let w: Vec<Vec<f32>> = outputs.iter().enumerate().map(|(i, n)| wave(n * input, 0.9 + i as f64)).collect();
        let slices: Vec<&[f32]> = w.iter().map(|w| &w[..]).collect();
        let matrices = Matrices::Changing { values: &slices, version: 0 };
        let linear = Linear::new(input, output, precision);
        let all: Vec<f64> = w.concat().iter().map(|x| f64::from(*x)).collect();
        let close = |got: f32, want: f64| {
            assert!((f64::from(got) - want).abs() < tolerance, "{got} against {want}, {rows} {input} {output}");
        };
        let y = linear.forward(&x, matrices, false);
        let dx = linear.input_gradient(&dy, matrices);
        for r in 0..rows {
            for o in 0..output {
                let want = (0..input).map(|i| f64::from(x[r * input + i]) * all[o * input + i]).sum();
                close(y[r * output + o], want);
            }
            for i in 0..input {
                let want = (0..output).map(|o| f64::from(dy[r * output + o]) * all[o * input + i]).sum();
                close(dx[r * input + i], want);
            }
        }
        let mut sums: Vec<Vec<f32>> = outputs.iter().map(|n| vec![1.0; n * input]).collect();
        let mut targets: Vec<_> = sums.iter_mut().enumerate().map(|(i, s)| (&mut s[..], i == 0)).collect();
        linear.weight_gradients(View::new(&x, input), View::new(&dy, output), &mut targets);
        let mut first = 0;
        for (m, sum) in sums.iter().enumerate() {
            for (at, got) in sum.iter().enumerate() {
                let (o, i) = (first + at / input, at % input);
                let dot: f64 = (0..rows).map(|r| f64::from(dy[r * output + o]) * f64::from(x[r * input + i])).sum();
                close(*got, dot + f64::from(u8::from(m == 0)));
            }
            first += outputs[m];
        }
    }

    #[test]
    fn products_and_their_gradients_match_float64() {
        for (rows, input, outputs) in
            [(1, 1, &[1][..]), (3, 5, &[4, 2]), (29, 40, &[33, 7, 31]), (200, 64, &[96]), (17, 300, &[65])]
        {
            check(rows, input, outputs, Precision::F32, 1e-4);
            check(rows, input, outputs, Precision::Bf16, 0.004 * (rows.max(input) as f64) + 0.02);
        }
    }

    /// A row is the same bits alone and in any company, and a sum over rows does not depend on where it was cut.
    #[test]
    fn rows_do_not_depend_on_their_company() {
        for precision in [Precision::F32, Precision::Bf16] {
            let (rows, input, output) = (61, 70, 83);
            let (x, w) = (wave(rows * input, 0.7), wave(output * input, 0.9));
            let matrices = Matrices::Changing { values: &[&w], version: 0 };
            let linear = Linear::new(input, output, precision);
            let all = linear.forward(&x, matrices, true);
            for size in [1, 2, 7, 14, 32] {
                for (i, part) in x.chunks(size * input).enumerate() {
                    let y = linear.forward(part, matrices, true);
                    assert_eq!(y[..], all[i * size * output..][..y.len()], "{precision:?} in rows of {size}");
                }
            }
            let dy = wave(rows * output, 0.3);
            let gradient = |size: usize| {
                let mut sum = vec![0.0; w.len()];
                for (i, (x, dy)) in x.chunks(size * input).zip(dy.chunks(size * output)).enumerate() {
                    let (x, dy) = (View::new(x, input), View::new(dy, output));
                    linear.weight_gradients(x, dy, &mut [(&mut sum, i > 0)]);
                }
                sum
            };
            // In bf16 two rows make a step, so that the cut must not divide a pair.
            assert_eq!(gradient(rows), gradient(8));
        }
    }

    /// Weights that are kept in the form of products give the same bits as weights that may change.
    #[test]
    fn frozen_weights_compute_what_changing_ones_do() {
        for precision in [Precision::F32, Precision::Bf16] {
            for (rows, input, outputs) in [(3, 5, &[4, 2][..]), (29, 41, &[33, 7, 31]), (40, 64, &[96, 32, 32])] {
                let output = outputs.iter().sum();
                let w: Vec<Vec<f32>> = outputs.iter().map(|n| wave(n * input, 0.9 + *n as f64)).collect();
                let slices: Vec<&[f32]> = w.iter().map(|w| &w[..]).collect();
                let panels = |w: &Vec<f32>| Kept::Panels(Panels::transposed(&[w], input, precision));
                let panels: Vec<Kept> = w.iter().map(panels).collect();
                let kept: Vec<&Kept> = panels.iter().collect();
                let (changing, frozen) = (Matrices::Changing { values: &slices, version: 0 }, Matrices::Frozen(&kept));
                let linear = Linear::new(input, output, precision);
                let (x, dy) = (wave(rows * input, 0.7), wave(rows * output, 0.3));
                assert_eq!(linear.forward(&x, changing, false)[..], linear.forward(&x, frozen, false)[..]);
                assert_eq!(linear.input_gradient(&dy, changing)[..], linear.input_gradient(&dy, frozen)[..]);
                let mut row = vec![0.0; input];
                panels[1].read_row(1, &mut row);
                let close = |(a, b): (&f32, &f32)| (a - b).abs() <= b.abs() / 256.0;
                assert!(row.iter().zip(&w[1][input..]).all(close), "{precision:?}");
            }
        }
    }

    /// Weights in bf16 compute what the same numbers do in f32.
    #[test]
    fn narrow_weights_compute_what_wide_ones_do() {
        for precision in [Precision::F32, Precision::Bf16] {
            for (rows, input, outputs) in [(3, 5, &[4, 2][..]), (29, 41, &[33, 7, 31]), (40, 64, &[96, 32, 32])] {
                let output = outputs.iter().sum();
                let bits =
                    |n: &usize| wave(n * input, 0.9 + *n as f64).iter().map(|x| (x.to_bits() >> 16) as u16).collect();
                let narrow: Vec<Vec<u16>> = outputs.iter().map(bits).collect();
                let widened = |w: &Vec<u16>| w.iter().map(|x| x.wide()).collect();
                let wide: Vec<Vec<f32>> = narrow.iter().map(widened).collect();
                let (narrow, wide): (Vec<&[u16]>, Vec<&[f32]>) =
                    (narrow.iter().map(|w| &w[..]).collect(), wide.iter().map(|w| &w[..]).collect());
                let narrow = Matrices::Narrow { values: &narrow, version: 0 };
                let wide = Matrices::Changing { values: &wide, version: 0 };
                let linear = Linear::new(input, output, precision);
                let (x, dy) = (wave(rows * input, 0.7), wave(rows * output, 0.3));
                assert_eq!(linear.forward(&x, narrow, false)[..], linear.forward(&x, wide, false)[..]);
                assert_eq!(linear.input_gradient(&dy, narrow)[..], linear.input_gradient(&dy, wide)[..]);
            }
        }
    }

    /// Codes give the bits of the matrix that they stand for, whatever the number of rows.
    #[test]
    fn coded_weights_compute_what_the_decoded_ones_do() {
        let of_blocks = |w: &[f32], input: usize, form: BlockKind, kind: GgmlDType| {
            let matrix = Tensor::from_slice(w, (w.len() / input, input), &Device::Cpu).unwrap();
            Codes::of_blocks(form, &QTensor::quantize(&matrix, kind).unwrap().data().unwrap(), input)
        };
        let kinds =
            [(BlockKind::Q4_0, GgmlDType::Q4_0), (BlockKind::Q5K, GgmlDType::Q5K), (BlockKind::Q6K, GgmlDType::Q6K)];
        for precision in [Precision::F32, Precision::Bf16] {
            for (rows, input, outputs) in [
                (1, 5, &[4, 2][..]),
                (29, 41, &[33, 7, 31]),
                (40, 300, &[96, 32, 32]),
                (169, 70, &[40, 3]),
                (1, 256, &[33, 5, 32]),
                (30, 512, &[96, 32]),
                (400, 256, &[5, 33]),
            ] {
                let output = outputs.iter().sum();
                let w: Vec<Vec<f32>> = outputs.iter().map(|n| wave(n * input, 0.9 + *n as f64)).collect();
                let code = |(at, w): (usize, &Vec<f32>)| match kinds.get(at) {
                    Some((form, kind)) if input.is_multiple_of(form.size()) => of_blocks(w, input, *form, *kind),
                    _ => Codes::of_matrix(w, input),
                };
                let coded: Vec<Kept> = w.iter().enumerate().map(|w| Kept::Codes(code(w))).collect();
                let kept: Vec<&Kept> = coded.iter().collect();
                let decoded: Vec<Vec<f32>> = coded
                    .iter()
                    .map(|kept| {
                        let mut rows = vec![0.0; kept.columns() * input];
                        rows.chunks_mut(input).enumerate().for_each(|(row, out)| kept.read_row(row, out));
                        rows
                    })
                    .collect();
                let slices: Vec<&[f32]> = decoded.iter().map(|w| &w[..]).collect();
                let (plain, coded) = (Matrices::Changing { values: &slices, version: 0 }, Matrices::Frozen(&kept));
                let linear = Linear::new(input, output, precision);
                let (x, dy) = (wave(rows * input, 0.7), wave(rows * output, 0.3));
                assert_eq!(linear.forward(&x, plain, false)[..], linear.forward(&x, coded, false)[..]);
                assert_eq!(linear.input_gradient(&dy, plain)[..], linear.input_gradient(&dy, coded)[..]);
            }
        }
    }

    #[test]
    fn packed_weights_follow_their_version() {
        let linear = Linear::new(2, 1, Precision::F32);
        let of =
            |w: &[f32], version| linear.forward(&[1.0, 1.0], Matrices::Changing { values: &[w], version }, true)[0];
        assert_eq!(of(&[1.0, 2.0], 0), 3.0);
        assert_eq!(of(&[5.0, 5.0], 0), 3.0);
        assert_eq!(of(&[5.0, 5.0], 1), 10.0);
    }
}
