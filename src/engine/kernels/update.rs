//! Sums of squares and the update of AdamW, in one pass over memory.

use super::dispatched;
use super::lanes::{LANES, Lanes};
use super::rows::sum;

/// The sum of squares, in f32 over 2048 numbers at a time and in f64 above.
pub fn squares(values: &[f32]) -> f64 {
    // Safety: the instruction set was detected.
    values.chunks(2048).map(|part| f64::from(unsafe { squares_of(part) })).sum()
}

dispatched!(
    fn squares_of(values: &[f32]) -> f32 = squares_body
);

#[inline(always)]
unsafe fn squares_body<S: Lanes>(values: &[f32]) -> f32 {
    unsafe {
        let (mut sums, whole) = (S::splat(0.0), values.len() / LANES * LANES);
        for at in (0..whole).step_by(LANES) {
            let v = S::load(values.as_ptr().add(at));
            sums = S::fma(v, v, sums);
        }
        sum::<S>(sums) + values[whole..].iter().map(|x| x * x).sum::<f32>()
    }
}

/// What an update of AdamW takes besides weights, moments and gradient.
#[derive(Clone, Copy, Debug)]
pub struct AdamW {
    /// Multiplied to the gradient: normalisation and clipping.
    pub scale: f32,
    pub beta1: f32,
    pub beta2: f32,
    /// Learning rate over the first moment's bias correction.
    pub step_size: f32,
    /// Root of the second moment's bias correction.
    pub root_correction: f32,
    pub eps: f32,
    /// 1 - learning rate * weight decay.
    pub keep: f32,
}

/// `m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2;  w <- keep w - step m / (sqrt(v) / root_correction + eps)`.
pub fn adamw(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], update: AdamW) {
    assert!([m.len(), v.len(), g.len()] == [w.len(); 3]);
    // Safety: the instruction set was detected, and all slices are equally long.
    unsafe { adamw_of(w, m, v, g, update) }
}

dispatched!(
    fn adamw_of(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], update: AdamW) = adamw_body
);

#[inline(always)]
unsafe fn adamw_body<S: Lanes>(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], u: AdamW) {
    let whole = w.len() / LANES * LANES;
    unsafe {
        let [scale, b1, b2] = [u.scale, u.beta1, u.beta2].map(|x| S::splat(x));
        let [c1, c2] = [1.0 - u.beta1, 1.0 - u.beta2].map(|x| S::splat(x));
        let [step, root, eps, keep] = [-u.step_size, u.root_correction, u.eps, u.keep].map(|x| S::splat(x));
        for at in (0..whole).step_by(LANES) {
            let (wp, mp, vp) = (w.as_mut_ptr().add(at), m.as_mut_ptr().add(at), v.as_mut_ptr().add(at));
            let g = S::mul(S::load(g.as_ptr().add(at)), scale);
            let m = S::fma(c1, g, S::mul(b1, S::load(mp)));
            let v = S::fma(S::mul(c2, g), g, S::mul(b2, S::load(vp)));
            let denominator = S::add(S::div(S::sqrt(v), root), eps);
            S::store(mp, m);
            S::store(vp, v);
            S::store(wp, S::fma(step, S::div(m, denominator), S::mul(keep, S::load(wp))));
        }
    }
    for i in whole..w.len() {
        let g = g[i] * u.scale;
        m[i] = u.beta1 * m[i] + (1.0 - u.beta1) * g;
        v[i] = u.beta2 * v[i] + (1.0 - u.beta2) * g * g;
        w[i] = u.keep * w[i] - u.step_size * m[i] / (v[i].sqrt() / u.root_correction + u.eps);
    }
}
