//! From final states to log-probabilities: the head's product and what is read off its logits, in chunks of rows, so
//! that memory does not grow with tokens times vocabulary. With a teacher, its logits are computed chunk by chunk
//! beside the student's and compared at once.
//!
//! When one chunk holds all rows, its logits are kept and become their gradient in place; otherwise the backward pass
//! computes each chunk again.

use std::ops::Range;

use candle_core::Result;

use super::decoder::Decoder;
use crate::engine::ops::Buffer;
use crate::engine::ops::embedding::{gather, scatter_add};
use crate::engine::ops::logprob::{Reading, logits_gradient, read_pairs, read_rows};
use crate::engine::optimizer::GradientSum;
use crate::objective::TeacherView;

/// Memory for the logits of one chunk, in bytes.
const CHUNK_BYTES: usize = 256 << 20;

/// A model to compare with.
#[derive(Clone, Copy, Debug)]
pub struct Teacher<'a> {
    pub decoder: &'a Decoder,
    /// Its own final states of the same tokens; their width may differ, the vocabulary may not.
    pub hidden: &'a [f32],
    pub view: &'a TeacherView,
}

/// What was read off the logits of some rows, one number a target, and what the backward pass needs of it.
#[derive(Debug)]
pub struct HeadPass<'a> {
    pub reading: Reading,
    states: Buffer,
    targets: &'a [u32],
    rows: &'a [u32],
    /// The teacher's states of the rows.
    teacher: Option<(&'a Decoder, &'a TeacherView, Buffer)>,
    /// Rows per chunk.
    chunk: usize,
    /// The logits, when one chunk holds them all.
    logits: Option<Buffer>,
}

impl Decoder {
    /// Log-probabilities of `targets`, which the given `rows` of `hidden` predict, without what a backward pass needs.
    pub fn logprobs(&self, hidden: &[f32], rows: &[u32], targets: &[u32]) -> Result<Reading> {
        Ok(self.read(hidden, rows, targets, None, CHUNK_BYTES, false)?.reading)
    }

    /// The same for a backward pass, beside a teacher if there is one.
    pub fn read_off<'a>(
        &self,
        hidden: &[f32],
        rows: &'a [u32],
        targets: &'a [u32],
        teacher: Option<Teacher<'a>>,
    ) -> Result<HeadPass<'a>> {
        self.read(hidden, rows, targets, teacher, CHUNK_BYTES, true)
    }

    fn read<'a>(
        &self,
        hidden: &[f32],
        rows: &'a [u32],
        targets: &'a [u32],
        teacher: Option<Teacher<'a>>,
        chunk_bytes: usize,
        keep: bool,
    ) -> Result<HeadPass<'a>> {
        let (width, vocabulary) = (self.config().hidden_size, self.config().vocab_size);
        if targets.len() != rows.len() {
            candle_core::bail!("{} targets for {} rows", targets.len(), rows.len());
        }
        if let Some(bad) = targets.iter().find(|t| **t as usize >= vocabulary) {
            candle_core::bail!("target token {bad} is outside a vocabulary of {vocabulary}");
        }
        let of_teacher = |t: &Teacher<'a>| (t.decoder, t.view, gather(t.hidden, t.decoder.config().hidden_size, rows));
        let mut pass = HeadPass {
            reading: Reading::default(),
            states: gather(hidden, width, rows),
            targets,
            rows,
            teacher: teacher.as_ref().map(of_teacher),
            chunk: (chunk_bytes / (4 * vocabulary)).max(1),
            logits: None,
        };
        for range in pass.chunks() {
            let logits = self.chunk_logits(&pass.states, &range, pass.chunk);
            let targets = &targets[range.clone()];
            pass.reading.extend(match (&pass.teacher, pass.teacher_logits(&range)) {
                (Some((_, view, _)), Some(of_teacher)) => read_pairs(&logits, &of_teacher, targets, view),
                _ => read_rows(&logits, targets),
            });
            if keep && rows.len() <= pass.chunk {
                pass.logits = Some(logits);
            }
        }
        Ok(pass)
    }

    fn chunk_logits(&self, states: &[f32], range: &Range<usize>, chunk: usize) -> Buffer {
        let width = self.config().hidden_size;
        let several = states.len() / width > chunk;
        self.forward(&self.head, &states[range.start * width..range.end * width], several)
    }

    /// The gradient `[N, hidden]` of the final states, of which there are `count`, for the gradients of the
    /// log-probabilities and of the divergences; that of the head's weight is added to `sums`.
    pub fn head_backward(
        &self,
        mut pass: HeadPass<'_>,
        count: usize,
        of_logprobs: &[f32],
        of_divergence: Option<&[f32]>,
        sums: &mut GradientSum,
    ) -> Buffer {
        let width = self.config().hidden_size;
        let mut of_hidden = Buffer::zeros(count * width);
        // The divergence is mostly used without its gradient; then the teacher is not needed again.
        let of_divergence = of_divergence.filter(|grad| grad.iter().any(|g| *g != 0.0));
        let mut kept = pass.logits.take();
        for range in pass.chunks() {
            let mut logits = match kept.take() {
                Some(logits) => logits,
                None => self.chunk_logits(&pass.states, &range, pass.chunk),
            };
            let targets = &pass.targets[range.clone()];
            let of_teacher = of_divergence.and_then(|_| pass.teacher_logits(&range));
            let divergence = match (of_divergence, &pass.teacher, &of_teacher) {
                (Some(grad), Some((_, view, _)), Some(teacher)) => Some((&grad[range.clone()], &teacher[..], *view)),
                _ => None,
            };
            logits_gradient(&mut logits, targets, &of_logprobs[range.clone()], divergence);
            let states = &pass.states[range.start * width..range.end * width];
            self.weight_gradients(&self.head, states, &logits, sums);
            let of_states = self.with(&self.head, |weights| self.head.linear.input_gradient(&logits, weights));
            scatter_add(&mut of_hidden, &of_states, width, &pass.rows[range]);
        }
        of_hidden
    }
}

impl HeadPass<'_> {
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (chunk, count) = (self.chunk, self.rows.len());
        (0..count).step_by(chunk).map(move |start| start..(start + chunk).min(count))
    }

    fn teacher_logits(&self, range: &Range<usize>) -> Option<Buffer> {
        self.teacher.as_ref().map(|(decoder, _, states)| decoder.chunk_logits(states, range, self.chunk))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::engine::kernels::gemm::Precision;
    use crate::engine::model::weights::Weights;

    /// Chunks change no bit, with and without a teacher, and a wrong target is an error.
    #[test]
    fn values_and_gradients_are_the_same_however_the_rows_are_cut() {
        let inspection = crate::modelfile::inspect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny"));
        let weights = Arc::new(Weights::load(&inspection.unwrap()).unwrap());
        let decoder = Decoder::new(Arc::clone(&weights), Precision::F32).unwrap();
        let (width, vocabulary) = (decoder.config().hidden_size, decoder.config().vocab_size);
        let wave = |speed: f64| (0..5 * width).map(|i| (i as f64 * speed).sin() as f32).collect::<Vec<f32>>();
        let (hidden, of_teacher) = (wave(0.7), wave(0.3));
        let (rows, targets) = ([0, 1, 3, 4], [2, 0, 5, 5]);
        let view = TeacherView { temperature: 1.5, top_k: None };
        for teacher in [None, Some(Teacher { decoder: &decoder, hidden: &of_teacher, view: &view })] {
            let run = |chunk_rows: usize| {
                let bytes = chunk_rows * 4 * vocabulary;
                let pass = decoder.read(&hidden, &rows, &targets, teacher, bytes, true).unwrap();
                assert_eq!(pass.logits.is_some(), chunk_rows >= rows.len());
                let (reading, mut sums) = (pass.reading.clone(), GradientSum::default());
                let of_divergence = [0.3, -1.0, 2.0, 0.1];
                let of_divergence = teacher.map(|_| &of_divergence[..]);
                let of_hidden = decoder.head_backward(pass, 5, &[1.0, -0.5, 2.0, 0.2], of_divergence, &mut sums);
                (reading, of_hidden.to_vec(), sums.get(decoder.head.weights[0]).unwrap().to_vec())
            };
            let whole = run(100);
            assert!(whole.1.iter().any(|g| *g != 0.0) && whole.1[2 * width..3 * width].iter().all(|g| *g == 0.0));
            assert!([1, 2, 3].into_iter().all(|chunk_rows| run(chunk_rows) == whole));
        }
        assert!(decoder.logprobs(&hidden, &[0], &[vocabulary as u32]).is_err());
        assert!(decoder.logprobs(&hidden, &[0], &[0, 1]).is_err());
    }
}
