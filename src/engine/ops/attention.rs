//! Causal grouped-query attention over packed sequences (training) and over a key-value cache (sampling).
//!
//! Rows are tokens; a row attends to the rows of its own sequence up to itself. No `[T, T]` tensor is made: forward
//! keeps one row of scores, backward recomputes it. Both modes call the same row routine, so a token's result does
//! not depend on how it was batched. Equations: Vaswani et al., arXiv 1706.03762; grouped heads, arXiv 2305.13245.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::{add_scaled, dot, f32_slice};

/// Head counts and width of one attention layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    pub query: usize,
    pub key_value: usize,
    pub width: usize,
}

impl Heads {
    /// Query heads that share one key-value head.
    fn group(self) -> usize {
        self.query / self.key_value
    }

    /// Numbers in one row of keys (or values), over all heads.
    pub fn key_value_row(self) -> usize {
        self.key_value * self.width
    }

    fn scale(self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }
}

/// Softmax attention of one query head over `len` keys; `keys` and `values` start at the head's first number and go
/// on by `stride`. Leaves the probabilities in `scores`.
fn attend_row(query: &[f32], keys: &[f32], values: &[f32], heads: Heads, scores: &mut [f32], out: &mut [f32]) {
    probabilities(query, keys, heads, scores);
    out.fill(0.0);
    for (j, p) in scores.iter().enumerate() {
        add_scaled(out, *p, &values[j * heads.key_value_row()..][..heads.width]);
    }
}

fn probabilities(query: &[f32], keys: &[f32], heads: Heads, scores: &mut [f32]) {
    let (stride, scale) = (heads.key_value_row(), heads.scale());
    let mut top = f32::NEG_INFINITY;
    for (j, score) in scores.iter_mut().enumerate() {
        *score = dot(query, &keys[j * stride..][..heads.width]) * scale;
        top = top.max(*score);
    }
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - top).exp();
        sum += *score;
    }
    let inverse = 1.0 / sum;
    for score in scores.iter_mut() {
        *score *= inverse;
    }
}

/// Where one query row finds its keys: `keys[first_row..first_row + len]` of a buffer of key-value rows.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub first_row: usize,
    pub len: usize,
}

/// Attention of `spans.len()` query rows (`[N, query heads, width]`) over buffers of key-value rows.
pub fn attend(queries: &[f32], keys: &[f32], values: &[f32], heads: Heads, spans: &[Span]) -> Vec<f32> {
    let row = heads.query * heads.width;
    let mut out = vec![0.0; spans.len() * row];
    let longest = spans.iter().map(|s| s.len).max().unwrap_or(0);
    out.par_chunks_mut(row).zip(spans).enumerate().for_each_init(
        || vec![0.0_f32; longest],
        |scores, (i, (out_row, span))| {
            let start = span.first_row * heads.key_value_row();
            for head in 0..heads.query {
                let at = start + head / heads.group() * heads.width;
                let query = &queries[i * row + head * heads.width..][..heads.width];
                let out_head = &mut out_row[head * heads.width..][..heads.width];
                attend_row(query, &keys[at..], &values[at..], heads, &mut scores[..span.len], out_head);
            }
        },
    );
    out
}

/// Differentiable attention over packed sequences.
#[derive(Debug)]
pub struct PackedAttention {
    heads: Heads,
    /// Start of every sequence and, last, the number of rows.
    boundaries: Vec<usize>,
}

impl PackedAttention {
    fn spans(&self) -> Vec<Span> {
        self.boundaries
            .windows(2)
            .flat_map(|pair| (pair[0]..pair[1]).map(|row| Span { first_row: pair[0], len: row + 1 - pair[0] }))
            .collect()
    }
}

/// `q: [N, query heads, width]`, `k` and `v`: `[N, key-value heads, width]` to `[N, query heads, width]`, where row
/// `boundaries[s]..boundaries[s + 1]` is sequence `s`.
pub fn packed_attention(q: &Tensor, k: &Tensor, v: &Tensor, boundaries: &[usize]) -> Result<Tensor> {
    let (rows, query, width) = q.dims3()?;
    let (_, key_value, _) = k.dims3()?;
    if boundaries.last() != Some(&rows) {
        candle_core::bail!("sequence boundaries {boundaries:?} do not end at {rows} rows");
    }
    let op = PackedAttention { heads: Heads { query, key_value, width }, boundaries: boundaries.to_vec() };
    q.contiguous()?.apply_op3(&k.contiguous()?, &v.contiguous()?, op)
}

impl CustomOp3 for PackedAttention {
    fn name(&self) -> &'static str {
        "packed-attention"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        q_layout: &Layout,
        k: &CpuStorage,
        k_layout: &Layout,
        v: &CpuStorage,
        v_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (q, k, v) = (
            f32_slice(q, q_layout, self.name())?,
            f32_slice(k, k_layout, self.name())?,
            f32_slice(v, v_layout, self.name())?,
        );
        let out = attend(q, k, v, self.heads, &self.spans());
        Ok((CpuStorage::F32(out), q_layout.shape().clone()))
    }

    fn bwd(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        _out: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let flat = |t: &Tensor| t.flatten_all()?.to_vec1::<f32>();
        let rows = Rows { q: &flat(q)?, k: &flat(k)?, v: &flat(v)?, grad: &flat(grad)?, heads: self.heads };
        let tasks: Vec<(usize, usize, usize)> = self
            .boundaries
            .windows(2)
            .flat_map(|pair| (0..self.heads.key_value).map(|head| (pair[0], pair[1], head)))
            .collect();
        let parts: Vec<HeadGradients> =
            tasks.par_iter().map(|(start, end, head)| rows.backward(*start, *end, *head)).collect();
        let (mut dq, mut dk, mut dv) = (vec![0.0; rows.q.len()], vec![0.0; rows.k.len()], vec![0.0; rows.v.len()]);
        let width = self.heads.width;
        let group_width = self.heads.group() * width;
        for ((start, end, head), part) in tasks.into_iter().zip(parts) {
            for (local, row) in (start..end).enumerate() {
                let at_q = (row * self.heads.key_value + head) * group_width;
                dq[at_q..at_q + group_width].copy_from_slice(&part.q[local * group_width..][..group_width]);
                let at_k = (row * self.heads.key_value + head) * width;
                dk[at_k..at_k + width].copy_from_slice(&part.k[local * width..][..width]);
                dv[at_k..at_k + width].copy_from_slice(&part.v[local * width..][..width]);
            }
        }
        let device = q.device();
        Ok((
            Some(Tensor::from_vec(dq, q.shape(), device)?),
            Some(Tensor::from_vec(dk, k.shape(), device)?),
            Some(Tensor::from_vec(dv, v.shape(), device)?),
        ))
    }
}

/// Gradients of one sequence and key-value head: `q: [T, group, width]`, `k` and `v`: `[T, width]`.
struct HeadGradients {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

struct Rows<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    grad: &'a [f32],
    heads: Heads,
}

impl Rows<'_> {
    /// With `s = scale q k`, `p = softmax(s)`, `o = p v`: `dv_j += p_j do`, `dp_j = do v_j`,
    /// `ds_j = p_j (dp_j - sum_i p_i dp_i)`, `dq += scale ds_j k_j`, `dk_j += scale ds_j q`.
    fn backward(&self, start: usize, end: usize, head: usize) -> HeadGradients {
        let (heads, width) = (self.heads, self.heads.width);
        let (group, stride, len) = (heads.group(), heads.key_value_row(), end - start);
        let offset = start * stride + head * width;
        let (keys, values) = (&self.k[offset..], &self.v[offset..]);
        let mut out =
            HeadGradients { q: vec![0.0; len * group * width], k: vec![0.0; len * width], v: vec![0.0; len * width] };
        let (mut p, mut dp) = (vec![0.0_f32; len], vec![0.0_f32; len]);
        for row in 0..len {
            for member in 0..group {
                let at = ((start + row) * heads.query + head * group + member) * width;
                let (query, grad) = (&self.q[at..at + width], &self.grad[at..at + width]);
                let (p, dp) = (&mut p[..=row], &mut dp[..=row]);
                probabilities(query, keys, heads, p);
                for (j, d) in dp.iter_mut().enumerate() {
                    *d = dot(grad, &values[j * stride..][..width]);
                }
                let center: f32 = p.iter().zip(dp.iter()).map(|(p, d)| p * d).sum();
                let dq = &mut out.q[(row * group + member) * width..][..width];
                for j in 0..=row {
                    let ds = p[j] * (dp[j] - center) * heads.scale();
                    add_scaled(dq, ds, &keys[j * stride..][..width]);
                    add_scaled(&mut out.k[j * width..][..width], ds, query);
                    add_scaled(&mut out.v[j * width..][..width], p[j], grad);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    const HEADS: Heads = Heads { query: 4, key_value: 2, width: 6 };
    const BOUNDARIES: [usize; 4] = [0, 3, 4, 9];

    fn values(seed: u64, count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i as f64 * 0.7 + seed as f64 * 1.3).sin() * 1.5) as f32).collect()
    }

    /// Attention in float64, straight from the definition.
    fn reference(q: &[f64], k: &[f64], v: &[f64]) -> Vec<f64> {
        let (w, g) = (HEADS.width, HEADS.group());
        let mut out = vec![0.0; q.len()];
        for pair in BOUNDARIES.windows(2) {
            for i in pair[0]..pair[1] {
                for h in 0..HEADS.query {
                    let key = |j: usize| (j * HEADS.key_value + h / g) * w;
                    let at = (i * HEADS.query + h) * w;
                    let scores: Vec<f64> = (pair[0]..=i)
                        .map(|j| (0..w).map(|d| q[at + d] * k[key(j) + d]).sum::<f64>() / (w as f64).sqrt())
                        .map(f64::exp)
                        .collect();
                    let total: f64 = scores.iter().sum();
                    for (s, j) in scores.iter().zip(pair[0]..) {
                        for d in 0..w {
                            out[at + d] += s / total * v[key(j) + d];
                        }
                    }
                }
            }
        }
        out
    }

    #[test]
    fn packed_attention_and_its_gradient_match_float64() {
        let rows = BOUNDARIES[3];
        let (nq, nk) = (rows * HEADS.query * HEADS.width, rows * HEADS.key_value * HEADS.width);
        let inputs = [values(1, nq), values(2, nk), values(3, nk)];
        let weights = values(4, nq);
        let var = |data: &[f32], heads: usize| {
            Var::from_tensor(&Tensor::from_slice(data, (rows, heads, HEADS.width), &Device::Cpu).unwrap()).unwrap()
        };
        let vars = [var(&inputs[0], 4), var(&inputs[1], 2), var(&inputs[2], 2)];
        let out = packed_attention(&vars[0], &vars[1], &vars[2], &BOUNDARIES).unwrap();
        let wide: [Vec<f64>; 3] = std::array::from_fn(|i| inputs[i].iter().map(|x| f64::from(*x)).collect());
        let expected = reference(&wide[0], &wide[1], &wide[2]);
        for (got, want) in out.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().zip(&expected) {
            assert!((f64::from(*got) - want).abs() < 1e-5);
        }

        let weight = Tensor::from_slice(&weights, (rows, HEADS.query, HEADS.width), &Device::Cpu).unwrap();
        let gradients = (out * weight).unwrap().sum_all().unwrap().backward().unwrap();
        let objective = |inputs: &[Vec<f64>; 3]| {
            let out = reference(&inputs[0], &inputs[1], &inputs[2]);
            out.iter().zip(&weights).map(|(o, w)| o * f64::from(*w)).sum::<f64>()
        };
        for (i, var) in vars.iter().enumerate() {
            let got: Vec<f32> = gradients.get(var).unwrap().flatten_all().unwrap().to_vec1().unwrap();
            for at in 0..got.len() {
                let (mut up, mut down) = (wide.clone(), wide.clone());
                up[i][at] += 1e-5;
                down[i][at] -= 1e-5;
                let want = (objective(&up) - objective(&down)) / 2e-5;
                assert!((f64::from(got[at]) - want).abs() < 1e-4, "input {i}[{at}]: {} against {want}", got[at]);
            }
        }
    }
}
