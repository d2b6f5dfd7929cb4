//! What is read off rows of logits: log-probabilities of targets, entropies, and the comparison with a teacher's
//! logits; and the gradient of all of it, which takes the logits' place.

use rayon::prelude::*;

use super::fallback;
use crate::engine::kernels::rows::{Normaliser, normaliser, softmax_scaled};
use crate::objective::TeacherView;

/// One number for each target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// `log pi(y)` at temperature 1.
    pub logprobs: Vec<f32>,
    /// Entropy of the model's distribution, in nats; empty beside a teacher.
    pub entropies: Vec<f32>,
    /// `log pi_T(y) - log pi(y)` at the view's temperature; empty without a teacher.
    pub log_ratio: Vec<f32>,
    /// `KL(pi || pi_T)` at the view's temperature, over the vocabulary or the student's top k; empty without a teacher.
    pub divergence: Vec<f32>,
}

impl Reading {
    pub fn extend(&mut self, other: Self) {
        self.logprobs.extend(other.logprobs);
        self.entropies.extend(other.entropies);
        self.log_ratio.extend(other.log_ratio);
        self.divergence.extend(other.divergence);
    }
}

/// Reads `targets` off the rows of `logits: [N, V]`.
pub fn read_rows(logits: &[f32], targets: &[u32]) -> Reading {
    fallback::note_portable("log-probabilities");
    let vocabulary = logits.len() / targets.len().max(1);
    let rows = logits.par_chunks(vocabulary.max(1)).zip(targets);
    let (logprobs, entropies) = rows
        .map(|(row, target)| {
            let normaliser = normaliser(row);
            (logprob(row, *target, &normaliser), normaliser.entropy())
        })
        .unzip();
    Reading { logprobs, entropies, ..Reading::default() }
}

/// The log-probability of one token, as sampler and trainer both compute it.
#[inline]
pub fn logprob(row: &[f32], token: u32, normaliser: &Normaliser) -> f32 {
    row[token as usize] - normaliser.log_sum
}

/// Reads `targets` off the rows of a student's logits beside a teacher's.
pub fn read_pairs(student: &[f32], teacher: &[f32], targets: &[u32], view: &TeacherView) -> Reading {
    let vocabulary = (student.len() / targets.len().max(1)).max(1);
    let rows: Vec<[f32; 3]> = student
        .par_chunks(vocabulary)
        .zip(teacher.par_chunks(vocabulary))
        .zip(targets)
        .map(|((student, teacher), target)| {
            let pair = Pair::new(student, teacher, view);
            let own = logprob(student, *target, &normaliser(student));
            [own, pair.log_ratio(*target as usize) as f32, pair.divergence() as f32]
        })
        .collect();
    let column = |i: usize| rows.iter().map(|row| row[i]).collect();
    Reading { logprobs: column(0), entropies: Vec::new(), log_ratio: column(1), divergence: column(2) }
}

/// Gradients of the divergences, with the teacher's logits and how it is looked at.
pub type OfDivergence<'a> = (&'a [f32], &'a [f32], &'a TeacherView);

/// Turns `logits` into their gradient, for those of the log-probabilities and of the divergences.
pub fn logits_gradient(
    logits: &mut [f32],
    targets: &[u32],
    of_logprobs: &[f32],
    of_divergence: Option<OfDivergence<'_>>,
) {
    let vocabulary = (logits.len() / targets.len().max(1)).max(1);
    let rows = logits.par_chunks_mut(vocabulary).zip(targets).zip(of_logprobs).enumerate();
    rows.for_each(|(i, ((row, target), g))| {
        let log_sum = normaliser(row).log_sum;
        let student = of_divergence.map(|_| row.to_vec());
        softmax_scaled(row, log_sum, -g);
        row[*target as usize] += g;
        if let (Some((grad, teacher, view)), Some(student)) = (of_divergence, student) {
            let teacher = &teacher[i * vocabulary..][..vocabulary];
            Pair::new(&student, teacher, view).add_gradient(grad[i], row);
        }
    });
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
    use super::*;

    const ROWS: usize = 5;
    const VOCABULARY: usize = 19;
    const TARGETS: [u32; ROWS] = [2, 0, 18, 18, 3];
    const WEIGHTS: [[f64; ROWS]; 2] = [[0.5, -1.5, 2.0, 0.0, 1.0], [0.3, 0.7, -0.4, 1.1, 0.2]];

    fn wave(speed: f64, scale: f64) -> Vec<f64> {
        (0..ROWS * VOCABULARY).map(|i| f64::from(((i as f64 * speed).sin() * scale) as f32)).collect()
    }

    fn narrow(values: &[f64]) -> Vec<f32> {
        values.iter().map(|v| *v as f32).collect()
    }

    /// Log-probabilities, divergences and log-ratios in float64, straight from the definitions.
    fn reference(student: &[f64], teacher: &[f64], view: &TeacherView) -> [Vec<f64>; 3] {
        let softmax = |x: &[f64], kept: &[usize], t: f64| -> Vec<f64> {
            let sum: f64 = kept.iter().map(|v| (x[*v] / t).exp()).sum();
            kept.iter().map(|v| (x[*v] / t).exp() / sum).collect()
        };
        let all: Vec<usize> = (0..VOCABULARY).collect();
        let (mut logprobs, mut ratios, mut divergences) = (Vec::new(), Vec::new(), Vec::new());
        for ((x, z), target) in student.chunks(VOCABULARY).zip(teacher.chunks(VOCABULARY)).zip(TARGETS) {
            let at = target as usize;
            logprobs.push(softmax(x, &all, 1.0)[at].ln());
            let t = view.temperature;
            ratios.push(softmax(z, &all, t)[at].ln() - softmax(x, &all, t)[at].ln());
            let mut kept = all.clone();
            kept.sort_by(|a, b| x[*b].total_cmp(&x[*a]));
            kept.truncate(view.top_k.map_or(VOCABULARY, |k| k as usize));
            let (p, q) = (softmax(x, &kept, t), softmax(z, &kept, t));
            divergences.push(p.iter().zip(&q).map(|(p, q)| p * (p / q).ln()).sum());
        }
        [logprobs, divergences, ratios]
    }

    #[test]
    fn values_and_gradients_beside_a_teacher_match_float64() {
        let (student, teacher) = (wave(1.1, 2.0), wave(2.3, 1.5));
        for (temperature, top_k) in [(1.0, None), (2.0, None), (1.0, Some(3)), (0.7, Some(19))] {
            let view = TeacherView { temperature, top_k };
            let [logprobs, divergences, ratios] = reference(&student, &teacher, &view);
            let got = read_pairs(&narrow(&student), &narrow(&teacher), &TARGETS, &view);
            for (name, got, want) in [
                ("logprobs", &got.logprobs, &logprobs),
                ("divergence", &got.divergence, &divergences),
                ("log_ratio", &got.log_ratio, &ratios),
            ] {
                for (g, w) in got.iter().zip(want) {
                    assert!((f64::from(*g) - w).abs() < 1e-5, "{name} {view:?}: {g} against {w}");
                }
            }
            let mut gradient = narrow(&student);
            let [of_logprobs, of_divergence] = WEIGHTS.map(|w| w.map(|w| w as f32));
            let with = (&of_divergence[..], &narrow(&teacher)[..], &view);
            logits_gradient(&mut gradient, &TARGETS, &of_logprobs, Some(with));
            let loss = |student: &[f64]| -> f64 {
                let [logprobs, divergences, _] = reference(student, &teacher, &view);
                (0..ROWS).map(|r| WEIGHTS[0][r] * logprobs[r] + WEIGHTS[1][r] * divergences[r]).sum()
            };
            for (at, got) in gradient.iter().enumerate() {
                let shifted = |by: f64| {
                    let mut student = student.clone();
                    student[at] += by;
                    loss(&student)
                };
                let want = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                assert!((f64::from(*got) - want).abs() < 2e-5, "{view:?} [{at}] {got} against {want}");
            }
        }
    }

    #[test]
    fn without_a_teacher_values_and_gradients_are_the_same_and_entropy_matches_float64() {
        let student = wave(1.1, 2.0);
        let logits = narrow(&student);
        let view = TeacherView { temperature: 1.0, top_k: None };
        let [alone, beside] = [read_rows(&logits, &TARGETS), read_pairs(&logits, &logits, &TARGETS, &view)];
        assert_eq!(alone.logprobs, beside.logprobs);
        for (row, got) in student.chunks(VOCABULARY).zip(&alone.entropies) {
            let z: f64 = row.iter().map(|x| x.exp()).sum();
            let want: f64 = row.iter().map(|x| -(x.exp() / z) * (x - z.ln())).sum();
            assert!((f64::from(*got) - want).abs() < 1e-5);
        }
        let gradient = |of_divergence| {
            let mut gradient = logits.clone();
            logits_gradient(&mut gradient, &TARGETS, &[0.5, -1.0, 0.0, 2.0, 1.0], of_divergence);
            gradient
        };
        assert_eq!(gradient(None), gradient(Some((&[0.0; ROWS], &logits, &view))));
    }
}
