//! From hidden states to log-probabilities: the head's matrix product and what is read off its logits, in chunks of
//! rows, so that no `[tokens, vocabulary]` tensor exists for a step. With a teacher, its logits are computed chunk by
//! chunk beside the student's and compared at once.
//!
//! Backward computes a chunk's logits again (unless there was only one) and turns them into the gradient in place.

use std::ops::Range;

use candle_core::{CpuStorage, CustomOp2, DType, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::read_f32;
use crate::objective::TeacherView;

/// Memory for the logits of one chunk, in bytes.
const CHUNK_BYTES: usize = 64 << 20;

/// A head: the states it reads and its matrix.
#[derive(Clone, Debug)]
pub struct Head {
    /// `[N, H]`, one row a target.
    pub hidden: Tensor,
    /// `[V, H]`.
    pub weight: Tensor,
}

/// A teacher to compare with.
#[derive(Clone, Debug)]
pub struct Teacher {
    /// Its own states for the same rows and its own matrix; the width may differ, the vocabulary may not.
    pub head: Head,
    pub view: TeacherView,
}

/// What [`compare`] reads off the logits, each `[N]`.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// `log pi(y)` at temperature 1; the gradient flows to the head.
    pub logprobs: Tensor,
    /// `log pi_T(y) - log pi(y)` at the view's temperature; without gradient.
    pub log_ratio: Tensor,
    /// `KL(pi || pi_T)` at the view's temperature, over the vocabulary or the student's top k; the gradient flows to
    /// the head.
    pub divergence: Tensor,
}

/// `log sum_v exp x_v` of one row, shifted by its maximum; summed in f64 so that its rounding does not matter.
pub fn log_sum_exp(row: &[f32]) -> f32 {
    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|x| f64::from((x - top).exp())).sum();
    (f64::from(top) + sum.ln()) as f32
}

/// Log-probabilities `[N]` of `targets` (`[N]`), `l = x_y - log sum_v exp x_v` with `x = hidden weight^T`.
pub fn target_logprobs(head: &Head, targets: &[u32]) -> Result<Tensor> {
    read_off(head, targets, None, CHUNK_BYTES)?.0.get(0)
}

/// The same beside a teacher.
pub fn compare(head: &Head, targets: &[u32], teacher: &Teacher) -> Result<Comparison> {
    compare_in(head, targets, teacher, CHUNK_BYTES)
}

fn compare_in(head: &Head, targets: &[u32], teacher: &Teacher, chunk_bytes: usize) -> Result<Comparison> {
    let (rows, log_ratio) = read_off(head, targets, Some(teacher), chunk_bytes)?;
    let log_ratio = Tensor::from_vec(log_ratio, targets.len(), head.hidden.device())?;
    Ok(Comparison { logprobs: rows.get(0)?, log_ratio, divergence: rows.get(1)? })
}

/// Differentiable rows (`[1, N]` log-probabilities, with a teacher `[2, N]` with the divergence) and the log-ratios.
fn read_off(head: &Head, targets: &[u32], teacher: Option<&Teacher>, chunk_bytes: usize) -> Result<(Tensor, Vec<f32>)> {
    let (hidden, weight) = (head.hidden.contiguous()?, head.weight.contiguous()?);
    let (count, vocabulary) = (hidden.dim(0)?, weight.dim(0)?);
    if targets.len() != count {
        candle_core::bail!("{} targets for {count} rows", targets.len());
    }
    if let Some(bad) = targets.iter().find(|t| **t as usize >= vocabulary) {
        candle_core::bail!("target token {bad} is outside a vocabulary of {vocabulary}");
    }
    let detached = Head { hidden: hidden.detach(), weight: weight.detach() };
    let mut op = ReadOff {
        targets: targets.to_vec(),
        teacher: teacher.cloned(),
        chunk: (chunk_bytes / (4 * vocabulary)).max(1),
        values: Vec::new(),
        logits: None,
    };
    let mut rows: Vec<[f32; 3]> = Vec::with_capacity(count);
    for range in op.chunks(count) {
        let logits = detached.logits(&range)?;
        let teacher_logits = op.teacher_logits(&range)?;
        rows.extend(op.forward(&logits, teacher_logits.as_ref(), range)?);
        if count <= op.chunk {
            op.logits = Some(logits);
        }
    }
    op.values = rows.iter().map(|row| row[0]).collect();
    if teacher.is_some() {
        op.values.extend(rows.iter().map(|row| row[1]));
    }
    let log_ratio = rows.iter().map(|row| row[2]).collect();
    Ok((hidden.apply_op2(&weight, op)?, log_ratio))
}

impl Head {
    /// Logits of some rows, `[rows, V]`.
    fn logits(&self, range: &Range<usize>) -> Result<Tensor> {
        self.hidden.narrow(0, range.start, range.len())?.matmul(&self.weight.t()?)
    }
}

/// The operation as candle sees it: its values are known before it is applied.
#[derive(Debug)]
struct ReadOff {
    targets: Vec<u32>,
    teacher: Option<Teacher>,
    /// Rows per chunk.
    chunk: usize,
    /// The result, row after row.
    values: Vec<f32>,
    /// The logits, when one chunk holds them all.
    logits: Option<Tensor>,
}

impl ReadOff {
    fn chunks(&self, count: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let chunk = self.chunk;
        (0..count).step_by(chunk).map(move |start| start..(start + chunk).min(count))
    }

    fn teacher_logits(&self, range: &Range<usize>) -> Result<Option<Tensor>> {
        self.teacher.as_ref().map(|teacher| teacher.head.logits(range)).transpose()
    }

    /// Log-probability, divergence and log-ratio of every row of a chunk.
    fn forward(&self, logits: &Tensor, teacher: Option<&Tensor>, range: Range<usize>) -> Result<Vec<[f32; 3]>> {
        let vocabulary = logits.dim(1)?;
        let targets = &self.targets[range];
        read_f32(logits, |logits| match (&self.teacher, teacher) {
            (Some(Teacher { view, .. }), Some(teacher)) => read_f32(teacher, |teacher| {
                let pairs = logits.par_chunks(vocabulary).zip(teacher.par_chunks(vocabulary)).zip(targets);
                let each = pairs.map(|((student, teacher), target)| {
                    let at = *target as usize;
                    let pair = Pair::new(student, teacher, view);
                    [student[at] - log_sum_exp(student), pair.divergence() as f32, pair.log_ratio(at) as f32]
                });
                Ok(each.collect())
            }),
            _ => {
                let each = logits.par_chunks(vocabulary).zip(targets);
                Ok(each.map(|(row, target)| [row[*target as usize] - log_sum_exp(row), 0.0, 0.0]).collect())
            }
        })
    }

    /// The gradient of a chunk's logits, `[rows, V]`.
    fn logits_gradient(&self, hidden: &Tensor, weight: &Tensor, range: &Range<usize>, grad: &[f32]) -> Result<Tensor> {
        let count = self.targets.len();
        let vocabulary = weight.dim(0)?;
        let logits = match &self.logits {
            Some(logits) => logits.clone(),
            None => Head { hidden: hidden.clone(), weight: weight.clone() }.logits(range)?,
        };
        let of_logprob = &grad[range.clone()];
        // The divergence is mostly used without its gradient; then the teacher is not needed again.
        let of_divergence =
            grad.get(count + range.start..count + range.end).filter(|grad| grad.iter().any(|g| *g != 0.0));
        let teacher = match of_divergence {
            Some(_) => self.teacher_logits(range)?.map(|t| t.flatten_all()?.to_vec1::<f32>()).transpose()?,
            None => None,
        };
        let student = logits.flatten_all()?.to_vec1::<f32>()?;
        let mut out = vec![0.0_f32; student.len()];
        out.par_chunks_mut(vocabulary).enumerate().for_each(|(i, out)| {
            let row = &student[i * vocabulary..][..vocabulary];
            let (g, target) = (of_logprob[i], self.targets[range.start + i] as usize);
            let log_sum = log_sum_exp(row);
            for (o, x) in out.iter_mut().zip(row) {
                *o = -g * (x - log_sum).exp();
            }
            out[target] += g;
            if let (Some(of_divergence), Some(teacher), Some(Teacher { view, .. })) =
                (of_divergence, &teacher, &self.teacher)
            {
                Pair::new(row, &teacher[i * vocabulary..][..vocabulary], view).add_gradient(of_divergence[i], out);
            }
        });
        Tensor::from_vec(out, (range.len(), vocabulary), hidden.device())
    }
}

impl CustomOp2 for ReadOff {
    fn name(&self) -> &'static str {
        "read-off-logits"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        let count = self.targets.len();
        let rows = self.values.len().checked_div(count).unwrap_or(1);
        Ok((CpuStorage::F32(self.values.clone()), Shape::from((rows, count))))
    }

    fn bwd(
        &self,
        hidden: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.flatten_all()?.to_vec1::<f32>()?;
        let (hidden, weight) = (hidden.detach(), weight.detach());
        let mut of_hidden = Vec::new();
        let mut of_weight: Option<Tensor> = None;
        for range in self.chunks(self.targets.len()) {
            let of_logits = self.logits_gradient(&hidden, &weight, &range, &grad)?;
            of_hidden.push(of_logits.matmul(&weight)?);
            let part = of_logits.t()?.matmul(&hidden.narrow(0, range.start, range.len())?)?;
            of_weight = Some(match of_weight {
                None => part,
                Some(sum) => (sum + part)?,
            });
        }
        let of_hidden = match &of_hidden[..] {
            [] => hidden.zeros_like()?,
            [one] => one.clone(),
            many => Tensor::cat(many, 0)?,
        };
        let of_weight = of_weight.map_or_else(|| Tensor::zeros(weight.shape(), DType::F32, weight.device()), Ok)?;
        Ok((Some(of_hidden), Some(of_weight)))
    }
}

/// Student and teacher at one position, as log-probabilities at the view's temperature.
struct Pair<'a> {
    student: &'a [f32],
    teacher: &'a [f32],
    inverse_temperature: f64,
    /// Log-normalisers over the whole vocabulary.
    log_sums: [f64; 2],
    /// The student's most probable tokens and the log-normalisers over them; none for the whole vocabulary.
    top: Option<(Vec<usize>, [f64; 2])>,
}

impl<'a> Pair<'a> {
    fn new(student: &'a [f32], teacher: &'a [f32], view: &TeacherView) -> Self {
        let inverse_temperature = 1.0 / view.temperature;
        let whole = |row: &[f32]| log_normaliser(row.iter().copied(), inverse_temperature);
        let top = view.top_k.filter(|k| (*k as usize) < student.len()).map(|k| {
            let kept = most_probable(student, k as usize);
            let over = |row: &[f32]| log_normaliser(kept.iter().map(|i| row[*i]), inverse_temperature);
            let sums = [over(student), over(teacher)];
            (kept, sums)
        });
        Self { student, teacher, inverse_temperature, log_sums: [whole(student), whole(teacher)], top }
    }

    /// `log pi_T(y) - log pi(y)`, with the normalisers of the whole vocabulary.
    fn log_ratio(&self, at: usize) -> f64 {
        let [student, teacher] = self.logprobs(at, self.log_sums);
        teacher - student
    }

    fn logprobs(&self, at: usize, log_sums: [f64; 2]) -> [f64; 2] {
        [
            f64::from(self.student[at]) * self.inverse_temperature - log_sums[0],
            f64::from(self.teacher[at]) * self.inverse_temperature - log_sums[1],
        ]
    }

    /// Calls `f` with every token that counts, its probability and its log-ratio student - teacher.
    fn for_each(&self, mut f: impl FnMut(usize, f64, f64)) {
        let mut visit = |at: usize, log_sums| {
            let [student, teacher] = self.logprobs(at, log_sums);
            let p = student.exp();
            // A token that the student never picks adds nothing, whatever the teacher thinks of it.
            f(at, p, if p > 0.0 { student - teacher } else { 0.0 });
        };
        match &self.top {
            None => (0..self.student.len()).for_each(|at| visit(at, self.log_sums)),
            Some((kept, log_sums)) => kept.iter().for_each(|at| visit(*at, *log_sums)),
        }
    }

    fn divergence(&self) -> f64 {
        let mut sum = 0.0;
        self.for_each(|_, p, difference| sum += p * difference);
        sum
    }

    /// Adds `scale dKL/dx`, where `dKL/dx_v = p_v (log p_v - log q_v - KL) / temperature`.
    fn add_gradient(&self, scale: f32, out: &mut [f32]) {
        let divergence = self.divergence();
        let scale = f64::from(scale) * self.inverse_temperature;
        self.for_each(|at, p, difference| out[at] += (scale * p * (difference - divergence)) as f32);
    }
}

/// `log sum exp(x s)`, shifted by the maximum.
fn log_normaliser(row: impl Iterator<Item = f32> + Clone, inverse_temperature: f64) -> f64 {
    let top = f64::from(row.clone().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = row.map(|x| ((f64::from(x) - top) * inverse_temperature).exp()).sum();
    top * inverse_temperature + sum.ln()
}

/// The k largest of a row, in the order of the vocabulary; ties go to the first.
fn most_probable(row: &[f32], k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.select_nth_unstable_by(k, |a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
    order.truncate(k);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    const ROWS: usize = 5;
    const WIDTH: usize = 3;
    const VOCABULARY: usize = 7;
    const TARGETS: [u32; ROWS] = [2, 0, 6, 6, 3];
    const WEIGHTS: [[f64; ROWS]; 2] = [[0.5, -1.5, 2.0, 0.0, 1.0], [0.3, 0.7, -0.4, 1.1, 0.2]];

    fn wave(count: usize, speed: f64, scale: f64) -> Vec<f64> {
        (0..count).map(|i| f64::from(((i as f64 * speed).sin() * scale) as f32)).collect()
    }

    fn tensor(values: &[f64], shape: (usize, usize)) -> Tensor {
        let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    /// Logits, log-probabilities and divergences in float64, straight from the definitions.
    fn reference(student: [&[f64]; 2], teacher: [&[f64]; 2], view: &TeacherView) -> [Vec<f64>; 3] {
        let logits = |[hidden, weight]: [&[f64]; 2], r: usize| -> Vec<f64> {
            let dot = |v: usize| (0..WIDTH).map(|h| hidden[r * WIDTH + h] * weight[v * WIDTH + h]).sum();
            (0..VOCABULARY).map(dot).collect()
        };
        let softmax = |x: &[f64], kept: &[usize], t: f64| -> Vec<f64> {
            let sum: f64 = kept.iter().map(|v| (x[*v] / t).exp()).sum();
            kept.iter().map(|v| (x[*v] / t).exp() / sum).collect()
        };
        let all: Vec<usize> = (0..VOCABULARY).collect();
        let (mut logprobs, mut ratios, mut divergences) = (Vec::new(), Vec::new(), Vec::new());
        for (r, target) in TARGETS.iter().enumerate() {
            let (x, z) = (logits(student, r), logits(teacher, r));
            let at = *target as usize;
            logprobs.push(softmax(&x, &all, 1.0)[at].ln());
            let t = view.temperature;
            ratios.push(softmax(&z, &all, t)[at].ln() - softmax(&x, &all, t)[at].ln());
            let mut kept = all.clone();
            kept.sort_by(|a, b| x[*b].total_cmp(&x[*a]));
            kept.truncate(view.top_k.map_or(VOCABULARY, |k| k as usize));
            let (p, q) = (softmax(&x, &kept, t), softmax(&z, &kept, t));
            divergences.push(p.iter().zip(&q).map(|(p, q)| p * (p / q).ln()).sum());
        }
        [logprobs, divergences, ratios]
    }

    fn objective(student: [&[f64]; 2], teacher: [&[f64]; 2], view: &TeacherView) -> f64 {
        let [logprobs, divergences, _] = reference(student, teacher, view);
        (0..ROWS).map(|r| WEIGHTS[0][r] * logprobs[r] + WEIGHTS[1][r] * divergences[r]).sum()
    }

    #[test]
    fn values_and_gradients_match_float64_however_the_rows_are_cut() {
        let (hidden, weight) = (wave(ROWS * WIDTH, 1.1, 2.0), wave(VOCABULARY * WIDTH, 0.7, 1.5));
        let (other, other_weight) = (wave(ROWS * WIDTH, 2.3, 2.0), wave(VOCABULARY * WIDTH, 1.9, 1.5));
        let teaching = [&other[..], &other_weight[..]];
        for (temperature, top_k) in [(1.0, None), (2.0, None), (1.0, Some(3)), (0.7, Some(7))] {
            let view = TeacherView { temperature, top_k };
            let [logprobs, divergences, ratios] = reference([&hidden, &weight], teaching, &view);
            for chunk_rows in [1, 2, 5, 100] {
                let h = Var::from_tensor(&tensor(&hidden, (ROWS, WIDTH))).unwrap();
                let w = Var::from_tensor(&tensor(&weight, (VOCABULARY, WIDTH))).unwrap();
                let teacher_head =
                    Head { hidden: tensor(&other, (ROWS, WIDTH)), weight: tensor(&other_weight, (VOCABULARY, WIDTH)) };
                let head = Head { hidden: h.as_tensor().clone(), weight: w.as_tensor().clone() };
                let teacher = Teacher { head: teacher_head, view };
                let got = compare_in(&head, &TARGETS, &teacher, chunk_rows * VOCABULARY * 4).unwrap();
                for (name, tensor, want) in [
                    ("logprobs", &got.logprobs, &logprobs),
                    ("divergence", &got.divergence, &divergences),
                    ("log_ratio", &got.log_ratio, &ratios),
                ] {
                    for (g, w) in tensor.to_vec1::<f32>().unwrap().iter().zip(want) {
                        assert!((f64::from(*g) - w).abs() < 1e-5, "{name} {view:?}: {g} against {w}");
                    }
                }
                let factor = |row: usize| Tensor::new(WEIGHTS[row].map(|w| w as f32).as_slice(), &Device::Cpu).unwrap();
                let loss = ((got.logprobs * factor(0)).unwrap() + (got.divergence * factor(1)).unwrap()).unwrap();
                let gradients = loss.sum_all().unwrap().backward().unwrap();
                for (var, part) in [(&h, 0), (&w, 1)] {
                    let got: Vec<f32> = gradients.get(var).unwrap().flatten_all().unwrap().to_vec1().unwrap();
                    for (at, got) in got.iter().enumerate() {
                        let shifted = |by: f64| {
                            let mut parts = [hidden.clone(), weight.clone()];
                            parts[part][at] += by;
                            objective([&parts[0], &parts[1]], teaching, &view)
                        };
                        let want = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                        assert!((f64::from(*got) - want).abs() < 2e-5, "{view:?} [{at}] {got} against {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn without_a_teacher_values_and_gradients_are_the_same() {
        let (hidden, weight) = (wave(ROWS * WIDTH, 1.1, 2.0), wave(VOCABULARY * WIDTH, 0.7, 1.5));
        let gradients = |with_teacher: bool, chunk_rows: usize| {
            let h = Var::from_tensor(&tensor(&hidden, (ROWS, WIDTH))).unwrap();
            let head = Head { hidden: h.as_tensor().clone(), weight: tensor(&weight, (VOCABULARY, WIDTH)) };
            let bytes = chunk_rows * VOCABULARY * 4;
            let logprobs = if with_teacher {
                let view = TeacherView { temperature: 1.0, top_k: None };
                compare_in(&head, &TARGETS, &Teacher { head: head.clone(), view }, bytes).unwrap().logprobs
            } else {
                read_off(&head, &TARGETS, None, bytes).unwrap().0.get(0).unwrap()
            };
            let loss = logprobs.sqr().unwrap().sum_all().unwrap();
            let gradient = loss.backward().unwrap().get(&h).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            (logprobs.to_vec1::<f32>().unwrap(), gradient)
        };
        assert_eq!(gradients(true, 100), gradients(false, 100));
        assert_eq!(gradients(true, 2), gradients(false, 2));
    }

    #[test]
    fn a_target_outside_the_vocabulary_is_an_error() {
        let head = Head { hidden: tensor(&[1.0], (1, 1)), weight: tensor(&[1.0; 4], (4, 1)) };
        assert!(target_logprobs(&head, &[4]).is_err());
        assert!(target_logprobs(&head, &[0, 1]).is_err());
    }
}
