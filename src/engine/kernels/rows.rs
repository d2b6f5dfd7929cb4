//! What is done to one row at a time: exponentials and their sums, norms, gates. Sums over a row have a fixed order:
//! sixteen running sums, added up pairwise.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::dispatched;
use super::lanes::{LANES, Lanes};
use crate::modelfile::architecture::Activation;

/// Calls `f` with the offset of every whole vector of a row, then `rest` with every index that is left.
macro_rules! walk {
    ($len:expr, |$at:ident| $whole:expr, |$i:ident| $rest:expr) => {
        let vectors = $len / LANES * LANES;
        for $at in (0..vectors).step_by(LANES) {
            $whole
        }
        for $i in vectors..$len {
            $rest
        }
    };
}

/// `exp(x)`, within two units in the last place; 0 below -87.3 and for minus infinity.
///
/// Cody and Waite's reduction to `2^n e^r` with `|r| <= ln 2 / 2`, and the Taylor polynomial of degree 7 in r.
#[inline(always)]
pub(super) unsafe fn exp<S: Lanes>(x: S::V) -> S::V {
    unsafe {
        let lowest = S::splat(-87.336_54);
        // Adding and taking away 1.5 * 2^23 rounds to a whole number.
        let rounder = S::splat(12_582_912.0);
        let negated = S::max(S::splat(-88.37), S::sub(S::splat(0.0), x));
        // What is not a number stays so: the second argument of `max` wins.
        let bounded = S::max(lowest, S::sub(S::splat(0.0), negated));
        let n = S::sub(S::fma(bounded, S::splat(std::f32::consts::LOG2_E), rounder), rounder);
        let r = S::fma(n, S::splat(-0.693_359_4), bounded);
        let r = S::fma(n, S::splat(2.121_944_4e-4), r);
        let mut p = S::splat(1.0 / 5040.0);
        for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = S::fma(p, r, S::splat(c));
        }
        S::select_less(x, lowest, S::splat(0.0), S::mul(p, S::exp2_whole(n)))
    }
}

#[inline(always)]
unsafe fn lanes<S: Lanes>(v: S::V) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    unsafe { S::store(out.as_mut_ptr(), v) };
    out
}

/// The sum of the lanes, pairwise.
#[inline(always)]
pub(super) unsafe fn sum<S: Lanes>(v: S::V) -> f32 {
    let mut a = unsafe { lanes::<S>(v) };
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            a[i] += a[i + width];
        }
        width /= 2;
    }
    a[0]
}

#[inline(always)]
pub(super) unsafe fn largest<S: Lanes>(v: S::V) -> f32 {
    unsafe { lanes::<S>(v) }.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Copies what is left of a row at `at` into a vector that is `fill` elsewhere.
#[inline(always)]
unsafe fn tail<S: Lanes>(row: &[f32], at: usize, fill: f32) -> S::V {
    let mut out = [fill; LANES];
    out[..row.len() - at].copy_from_slice(&row[at..]);
    unsafe { S::load(out.as_ptr()) }
}

/// Combines every vector of a row into one; the last is filled up with `fill`.
macro_rules! fold {
    ($row:expr, $fill:expr, $start:expr, |$sum:ident, $v:ident| $step:expr) => {{
        let row: &[f32] = $row;
        let mut $sum = $start;
        let whole = row.len() / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            let $v = S::load(row.as_ptr().add(at));
            $sum = $step;
        }
        if whole < row.len() {
            let $v = tail::<S>(row, whole, $fill);
            $sum = $step;
        }
        $sum
    }};
}

/// Numbers of a row whose exponentials are summed in f32 before they go on in f64.
pub const PIECE: usize = 512;

/// What is read off a row of logits in one go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normaliser {
    /// The largest logit.
    pub top: f32,
    /// `log sum_v exp x_v`.
    pub log_sum: f32,
    /// `sum_v exp(x_v - top)`.
    pub sum: f64,
    /// `sum_v p_v (x_v - top)`, from which entropy follows.
    pub mean: f64,
}

impl Normaliser {
    /// `H = log Z - sum p x`, in nats.
    pub fn entropy(&self) -> f32 {
        (f64::from(self.log_sum) - f64::from(self.top) - self.mean) as f32
    }
}

/// The normaliser of a row of logits. Sampler and trainer both use this function.
pub fn normaliser(row: &[f32]) -> Normaliser {
    normaliser_with(row, |_| ())
}

/// The same; tells `piece` the sum of `exp(x - top)` of every [`PIECE`] numbers.
pub fn normaliser_with(row: &[f32], mut piece: impl FnMut(f64)) -> Normaliser {
    // Safety: the instruction set was detected.
    let top = unsafe { top_of(row) };
    let (mut sum, mut weighted) = (0.0, 0.0);
    for part in row.chunks(PIECE) {
        // Safety: as above.
        let [mass, times] = unsafe { sums_of(part, top) };
        piece(f64::from(mass));
        sum += f64::from(mass);
        weighted += f64::from(times);
    }
    Normaliser { top, log_sum: (f64::from(top) + sum.ln()) as f32, sum, mean: weighted / sum }
}

dispatched!(
    fn top_of(row: &[f32]) -> f32 = top_body
);

#[inline(always)]
unsafe fn top_body<S: Lanes>(row: &[f32]) -> f32 {
    unsafe { largest::<S>(fold!(row, f32::NEG_INFINITY, S::splat(f32::NEG_INFINITY), |m, v| S::max(m, v))) }
}

dispatched!(
    fn sums_of(part: &[f32], top: f32) -> [f32; 2] = sums_body
);

#[inline(always)]
unsafe fn sums_body<S: Lanes>(part: &[f32], top: f32) -> [f32; 2] {
    unsafe {
        let shift = S::splat(top);
        let zero = (S::splat(0.0), S::splat(0.0));
        let (mass, times) = fold!(part, f32::NEG_INFINITY, zero, |sums, v| {
            let x = S::sub(v, shift);
            let p = exp::<S>(x);
            // Minus infinity times zero is not a number.
            (S::add(sums.0, p), S::fma(p, S::max(S::splat(-1.0e30), x), sums.1))
        });
        [sum::<S>(mass), sum::<S>(times)]
    }
}

/// `x <- scale exp(x - log_sum)`, the gradient of a normaliser.
pub fn softmax_scaled(row: &mut [f32], log_sum: f32, scale: f32) {
    // Safety: the instruction set was detected.
    unsafe { softmax_of(row, log_sum, scale) }
}

dispatched!(
    fn softmax_of(row: &mut [f32], log_sum: f32, scale: f32) = softmax_body
);

// Functions and not closures: only these are inlined without fail, and intrinsics that are not inlined are slow calls.
#[inline(always)]
unsafe fn softmax_vector<S: Lanes>(v: S::V, log_sum: f32, scale: f32) -> S::V {
    unsafe { S::mul(S::splat(scale), exp::<S>(S::sub(v, S::splat(log_sum)))) }
}

#[inline(always)]
unsafe fn softmax_body<S: Lanes>(row: &mut [f32], log_sum: f32, scale: f32) {
    unsafe {
        let whole = row.len() / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            let p = row.as_mut_ptr().add(at);
            S::store(p, softmax_vector::<S>(S::load(p), log_sum, scale));
        }
        let rest = lanes::<S>(softmax_vector::<S>(tail::<S>(row, whole, 0.0), log_sum, scale));
        let count = row.len() - whole;
        row[whole..].copy_from_slice(&rest[..count]);
    }
}

/// `out = w x / sqrt(mean x^2 + eps)`; returns `1 / sqrt(mean x^2 + eps)`.
pub fn rms_norm_row(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) -> f32 {
    assert!(x.len() == weight.len() && x.len() == out.len());
    // Safety: the instruction set was detected, and the rows are equally long.
    unsafe { rms_norm_of(x, weight, eps, out) }
}

dispatched!(
    fn rms_norm_of(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) -> f32 = rms_norm_body
);

#[inline(always)]
unsafe fn rms_norm_body<S: Lanes>(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) -> f32 {
    unsafe {
        let squares = sum::<S>(fold!(x, 0.0, S::splat(0.0), |s, v| S::fma(v, v, s)));
        let inverse = 1.0 / (squares / x.len() as f32 + eps).sqrt();
        scaled_body::<S>(x, weight, inverse, out);
        inverse
    }
}

/// `out = w x inverse`: the norm again, when its scale is known.
pub fn rms_norm_again(x: &[f32], weight: &[f32], inverse: f32, out: &mut [f32]) {
    assert!(x.len() == weight.len() && x.len() == out.len());
    // Safety: the instruction set was detected, and the rows are equally long.
    unsafe { scaled_of(x, weight, inverse, out) }
}

dispatched!(
    fn scaled_of(x: &[f32], weight: &[f32], inverse: f32, out: &mut [f32]) = scaled_body
);

#[inline(always)]
unsafe fn scaled_body<S: Lanes>(x: &[f32], weight: &[f32], inverse: f32, out: &mut [f32]) {
    unsafe {
        let factor = S::splat(inverse);
        walk!(
            x.len(),
            |at| {
                let v = S::mul(S::load(x.as_ptr().add(at)), factor);
                S::store(out.as_mut_ptr().add(at), S::mul(v, S::load(weight.as_ptr().add(at))));
            },
            |i| out[i] = x[i] * inverse * weight[i]
        );
    }
}

/// Adds to `dx` the gradient of [`rms_norm_row`] for `grad`, with `r` the inverse that it returned:
/// `r w g - x r^3 mean(w g x)`.
pub fn rms_norm_backward_row(x: &[f32], weight: &[f32], inverse: f32, grad: &[f32], dx: &mut [f32]) {
    assert!([weight.len(), grad.len(), dx.len()] == [x.len(); 3]);
    // Safety: the instruction set was detected, and the rows are equally long.
    unsafe { rms_norm_backward_of(x, weight, inverse, grad, dx) }
}

dispatched!(
    fn rms_norm_backward_of(x: &[f32], weight: &[f32], inverse: f32, grad: &[f32], dx: &mut [f32]) =
        rms_norm_backward_body
);

#[inline(always)]
unsafe fn rms_norm_backward_body<S: Lanes>(x: &[f32], weight: &[f32], inverse: f32, grad: &[f32], dx: &mut [f32]) {
    unsafe {
        let mut sums = S::splat(0.0);
        let mut rest = 0.0_f32;
        walk!(
            x.len(),
            |at| {
                let g = S::mul(S::load(weight.as_ptr().add(at)), S::load(grad.as_ptr().add(at)));
                sums = S::fma(g, S::load(x.as_ptr().add(at)), sums);
            },
            |i| rest += weight[i] * grad[i] * x[i]
        );
        let mean = (sum::<S>(sums) + rest) / x.len() as f32;
        let pull = -mean * inverse * inverse * inverse;
        walk!(
            x.len(),
            |at| {
                let g = S::mul(S::load(weight.as_ptr().add(at)), S::load(grad.as_ptr().add(at)));
                let d = S::fma(g, S::splat(inverse), S::load(dx.as_ptr().add(at)));
                S::store(dx.as_mut_ptr().add(at), S::fma(S::load(x.as_ptr().add(at)), S::splat(pull), d));
            },
            |i| dx[i] += weight[i] * grad[i] * inverse + x[i] * pull
        );
    }
}

/// `sum += grad x inverse`: one row's share of the gradient of a norm's weight.
pub fn add_product(sum: &mut [f32], grad: &[f32], x: &[f32], inverse: f32) {
    assert!([grad.len(), x.len()] == [sum.len(); 2]);
    // Safety: the instruction set was detected, and the rows are equally long.
    unsafe { add_product_of(sum, grad, x, inverse) }
}

dispatched!(
    fn add_product_of(sum: &mut [f32], grad: &[f32], x: &[f32], inverse: f32) = add_product_body
);

#[inline(always)]
unsafe fn add_product_body<S: Lanes>(sum: &mut [f32], grad: &[f32], x: &[f32], inverse: f32) {
    unsafe {
        walk!(
            sum.len(),
            |at| {
                let v = S::mul(S::load(x.as_ptr().add(at)), S::splat(inverse));
                let s = S::fma(S::load(grad.as_ptr().add(at)), v, S::load(sum.as_ptr().add(at)));
                S::store(sum.as_mut_ptr().add(at), s);
            },
            |i| sum[i] += grad[i] * (x[i] * inverse)
        );
    }
}

/// `sum += x`.
pub fn add_row(sum: &mut [f32], x: &[f32]) {
    sum.iter_mut().zip(x).for_each(|(s, x)| *s += x);
}

/// `out = a(gate) up` with the activation `a`.
pub fn gated_row(activation: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) {
    assert!([gate.len(), up.len()] == [out.len(); 2]);
    // Safety: the instruction set was detected, and the rows are equally long.
    unsafe { gated_of(activation, gate, up, out) }
}

dispatched!(
    fn gated_of(activation: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) = gated_body
);

#[inline(always)]
unsafe fn sigmoid<S: Lanes>(x: S::V) -> S::V {
    unsafe {
        let one = S::splat(1.0);
        S::div(one, S::add(one, exp::<S>(S::sub(S::splat(0.0), x))))
    }
}

/// Both activations are `x sigmoid(z)`: `z` and its slope. SiLU has `z = x`, GELU by the hyperbolic tangent
/// `z = 2 sqrt(2 / pi) (x + 0.044715 x^3)`, since `(1 + tanh u) / 2 = sigmoid(2 u)`.
#[inline(always)]
unsafe fn inner<S: Lanes>(activation: Activation, x: S::V) -> (S::V, S::V) {
    const SLOPE: f32 = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    const CUBE: f32 = SLOPE * 0.044_715;
    match activation {
        Activation::Silu => (x, unsafe { S::splat(1.0) }),
        Activation::GeluTanh => unsafe {
            let square = S::mul(x, x);
            let z = S::mul(x, S::fma(square, S::splat(CUBE), S::splat(SLOPE)));
            (z, S::fma(square, S::splat(3.0 * CUBE), S::splat(SLOPE)))
        },
    }
}

#[inline(always)]
unsafe fn gated_vector<S: Lanes>(activation: Activation, gate: S::V, up: S::V) -> S::V {
    unsafe { S::mul(S::mul(gate, sigmoid::<S>(inner::<S>(activation, gate).0)), up) }
}

#[inline(always)]
unsafe fn gated_body<S: Lanes>(activation: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) {
    unsafe {
        let whole = out.len() / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            let v = gated_vector::<S>(activation, S::load(gate.as_ptr().add(at)), S::load(up.as_ptr().add(at)));
            S::store(out.as_mut_ptr().add(at), v);
        }
        if whole < out.len() {
            let (gate, up) = (tail::<S>(gate, whole, 0.0), tail::<S>(up, whole, 0.0));
            let rest = lanes::<S>(gated_vector::<S>(activation, gate, up));
            let count = out.len() - whole;
            out[whole..].copy_from_slice(&rest[..count]);
        }
    }
}

/// The gradient of [`gated_row`]: puts those of gate and up where they are, and `a(gate) up` into `grad`.
pub fn gated_backward_row(activation: Activation, gate: &mut [f32], up: &mut [f32], grad: &mut [f32]) {
    assert!([gate.len(), up.len()] == [grad.len(); 2]);
    // Safety: the instruction set was detected, and the rows are equally long.
    unsafe { gated_backward_of(activation, gate, up, grad) }
}

dispatched!(
    fn gated_backward_of(activation: Activation, gate: &mut [f32], up: &mut [f32], grad: &mut [f32]) =
        gated_backward_body
);

/// The gradients of gate and up, and the result.
#[inline(always)]
unsafe fn gated_gradient<S: Lanes>(activation: Activation, gate: S::V, up: S::V, grad: S::V) -> (S::V, S::V, S::V) {
    unsafe {
        let (z, dz) = inner::<S>(activation, gate);
        let s = sigmoid::<S>(z);
        let value = S::mul(gate, s);
        // a' = s + a (1 - s) z'
        let slope = S::fma(S::mul(value, dz), S::sub(S::splat(1.0), s), s);
        (S::mul(S::mul(grad, up), slope), S::mul(grad, value), S::mul(value, up))
    }
}

#[inline(always)]
unsafe fn gated_backward_body<S: Lanes>(activation: Activation, gate: &mut [f32], up: &mut [f32], grad: &mut [f32]) {
    unsafe {
        let whole = grad.len() / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            let (g, u, d) = (gate.as_mut_ptr().add(at), up.as_mut_ptr().add(at), grad.as_mut_ptr().add(at));
            let (dg, du, out) = gated_gradient::<S>(activation, S::load(g), S::load(u), S::load(d));
            S::store(g, dg);
            S::store(u, du);
            S::store(d, out);
        }
        if whole < grad.len() {
            let rest = [tail::<S>(gate, whole, 0.0), tail::<S>(up, whole, 0.0), tail::<S>(grad, whole, 0.0)];
            let (dg, du, out) = gated_gradient::<S>(activation, rest[0], rest[1], rest[2]);
            let count = grad.len() - whole;
            gate[whole..].copy_from_slice(&lanes::<S>(dg)[..count]);
            up[whole..].copy_from_slice(&lanes::<S>(du)[..count]);
            grad[whole..].copy_from_slice(&lanes::<S>(out)[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn wave(count: usize, speed: f64, scale: f64) -> Vec<f32> {
        (0..count).map(|i| ((i as f64 * speed).sin() * scale) as f32).collect()
    }

    #[test]
    fn exponentials_are_within_two_units_in_the_last_place() {
        let mut row: Vec<f32> = (-8700..=8800).map(|i| i as f32 * 0.01).collect();
        let exact: Vec<f64> = row.iter().map(|x| f64::from(*x).exp()).collect();
        softmax_scaled(&mut row, 0.0, 1.0);
        for (got, want) in row.iter().zip(&exact) {
            assert!((f64::from(*got) - want).abs() <= 2.4e-7 * want, "{got} against {want}");
        }
        let mut edges = [f32::NEG_INFINITY, -1.0e30, -104.0, 0.0, f32::NAN];
        softmax_scaled(&mut edges, 0.0, 1.0);
        assert_eq!(edges[..4], [0.0, 0.0, 0.0, 1.0]);
        assert!(edges[4].is_nan());
    }

    #[test]
    fn a_normaliser_matches_float64() {
        for count in [1, 15, 16, 17, 5000] {
            let row = wave(count, 0.7, 9.0);
            let x: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let z: f64 = x.iter().map(|x| x.exp()).sum();
            let entropy: f64 = x.iter().map(|x| -(x.exp() / z) * (x - z.ln())).sum();
            let got = normaliser(&row);
            assert!((f64::from(got.log_sum) - z.ln()).abs() < 1e-6 * z.ln().abs().max(1.0));
            assert!((f64::from(got.entropy()) - entropy).abs() < 2e-6 * entropy.max(1.0), "{count}");
        }
    }

    #[test]
    fn norms_and_gates_match_float64_with_their_gradients() {
        for count in [3, 16, 37] {
            let (x, w, g) = (wave(count, 0.9, 2.0), wave(count, 0.3, 1.5), wave(count, 1.7, 1.0));
            let wide = |v: &[f32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let norm = |x: &[f64]| {
                let r = 1.0 / (x.iter().map(|x| x * x).sum::<f64>() / count as f64 + 1e-5).sqrt();
                x.iter().zip(wide(&w)).map(|(x, w)| x * w * r).collect::<Vec<_>>()
            };
            let mut out = vec![0.0; count];
            let inverse = rms_norm_row(&x, &w, 1e-5, &mut out);
            for (got, want) in out.iter().zip(norm(&wide(&x))) {
                assert!((f64::from(*got) - want).abs() < 1e-5);
            }
            let mut again = vec![0.0; count];
            rms_norm_again(&x, &w, inverse, &mut again);
            assert_eq!(out, again);
            let mut dx = vec![1.0; count];
            rms_norm_backward_row(&x, &w, inverse, &g, &mut dx);
            let loss = |x: &[f64]| norm(x).iter().zip(wide(&g)).map(|(o, g)| o * g).sum::<f64>();
            for i in 0..count {
                let (mut up, mut down) = (wide(&x), wide(&x));
                up[i] += 1e-6;
                down[i] -= 1e-6;
                let want = 1.0 + (loss(&up) - loss(&down)) / 2e-6;
                assert!((f64::from(dx[i]) - want).abs() < 1e-4);
            }

            let silu = |x: f64| x / (1.0 + (-x).exp());
            let gelu = |x: f64| 0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
            let both: [(Activation, &dyn Fn(f64) -> f64); 2] =
                [(Activation::Silu, &silu), (Activation::GeluTanh, &gelu)];
            for (activation, of) in both {
                gated_row(activation, &x, &w, &mut out);
                let (mut dg, mut du, mut dout) = (x.clone(), w.clone(), g.clone());
                gated_backward_row(activation, &mut dg, &mut du, &mut dout);
                assert_eq!(out, dout);
                for i in 0..count {
                    let (a, b, d) = (f64::from(x[i]), f64::from(w[i]), f64::from(g[i]));
                    assert!((f64::from(out[i]) - of(a) * b).abs() < 1e-5);
                    assert!((f64::from(du[i]) - d * of(a)).abs() < 1e-5);
                    let slope = (of(a + 1e-6) - of(a - 1e-6)) / 2e-6;
                    assert!((f64::from(dg[i]) - d * b * slope).abs() < 1e-5);
                }
            }
        }
    }
}
