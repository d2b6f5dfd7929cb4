//! From final states to log-probabilities: the head's product and what is read off its logits, in chunks of rows, so
//! that memory does not grow with tokens times vocabulary. With a teacher, its logits are computed chunk by chunk
//! beside the student's and compared at once. Entropy with a gradient is the comparison with all tokens being alike:
//! `H(pi) = log V - KL(pi || uniform)`.
//!
//! When one chunk holds all rows, its logits are kept and become their gradient in place; otherwise the backward pass
//! computes each chunk again.

use std::ops::Range;

use super::cache::KvCache;
use super::decoder::{Decoder, SAMPLING};
use crate::engine::backend::{Backend, CachedRows, Output};
use crate::engine::choice::{Choice, Draws, most_probable};
use crate::engine::error::EngineError;
use crate::engine::ops::logprob::Reading;
use crate::engine::rows::CachedRow;
use crate::job::spec::SamplingSpec;
use crate::objective::TeacherView;

/// Bytes of logits from which most probable tokens are read at a time.
const LISTED_BYTES: usize = 64 << 20;

/// A distribution to compare with.
#[derive(Debug)]
pub enum Other<'a, B: Backend> {
    /// A model's.
    Teacher {
        decoder: &'a Decoder<B>,
        /// Its own final states of the same tokens; their width may differ, the vocabulary may not.
        hidden: &'a B::Array,
        view: &'a TeacherView,
    },
    /// The one in which all tokens are alike.
    Uniform,
}

/// How the uniform distribution is compared with.
static PLAIN: TeacherView = TeacherView { temperature: 1.0, top_k: None };

/// Where the logits of a distribution to compare with come from.
#[derive(Debug)]
enum Source<'a, B: Backend> {
    /// A teacher's states of the rows.
    Teacher(&'a Decoder<B>, B::Array),
    /// They are all 0.
    Uniform,
}

/// What was read off the logits of some rows, one number a target, and what the backward pass needs of it.
#[derive(Debug)]
pub struct HeadPass<'a, B: Backend> {
    pub reading: Reading,
    states: B::Array,
    targets: &'a [u32],
    rows: &'a [u32],
    /// What is compared with, and how.
    other: Option<(Source<'a, B>, &'a TeacherView)>,
    /// Rows per chunk.
    chunk: usize,
    /// The logits, when one chunk holds them all.
    logits: Option<B::Array>,
}

/// What a pass over the cache gave.
#[derive(Debug)]
pub struct Advanced<A> {
    /// Final states of all rows, unless the pass was recorded.
    pub hidden: Option<A>,
    pub choices: Vec<Choice>,
}

impl<B: Backend> Decoder<B> {
    /// Log-probabilities of `targets`, which the given `rows` of `hidden` predict, without what a backward pass needs.
    pub fn logprobs(&self, hidden: &B::Array, rows: &[u32], targets: &[u32]) -> Result<Reading, EngineError> {
        Ok(self.read(hidden, rows, targets, None, B::LOGITS_BYTES, false)?.reading)
    }

    /// The same for a backward pass, beside another distribution if there is one.
    pub fn read_off<'a>(
        &self,
        hidden: &B::Array,
        rows: &'a [u32],
        targets: &'a [u32],
        other: Option<&Other<'a, B>>,
    ) -> Result<HeadPass<'a, B>, EngineError> {
        self.read(hidden, rows, targets, other, B::LOGITS_BYTES, true)
    }

    fn read<'a>(
        &self,
        hidden: &B::Array,
        rows: &'a [u32],
        targets: &'a [u32],
        other: Option<&Other<'a, B>>,
        chunk_bytes: usize,
        keep: bool,
    ) -> Result<HeadPass<'a, B>, EngineError> {
        let width = self.config().hidden_size;
        if targets.len() != rows.len() {
            return Err(EngineError::Internal(format!("{} targets for {} rows", targets.len(), rows.len())));
        }
        self.check_tokens(targets)?;
        let source = |other: &Other<'a, B>| -> Result<_, EngineError> {
            match other {
                Other::Teacher { decoder, hidden, view } => {
                    let states = self.backend.gather(hidden, decoder.config().hidden_size, rows)?;
                    Ok((Source::Teacher(decoder, states), *view))
                }
                Other::Uniform => Ok((Source::Uniform, &PLAIN)),
            }
        };
        let mut pass = HeadPass {
            reading: Reading::default(),
            states: self.backend.gather(hidden, width, rows)?,
            targets,
            rows,
            other: other.map(source).transpose()?,
            chunk: self.rows_in(chunk_bytes),
            logits: None,
        };
        for range in pass.chunks() {
            let logits = self.chunk_logits(&pass.states, &range, pass.is_cut())?;
            let targets = &targets[range.clone()];
            pass.reading.extend(match (&pass.other, self.other_logits(&pass, &range)?) {
                (Some((_, view)), Some(of_other)) => self.backend.read_pairs(&logits, &of_other, targets, view)?,
                _ => self.backend.read_rows(&logits, targets)?,
            });
            if keep && !pass.is_cut() {
                pass.logits = Some(logits);
            }
        }
        Ok(pass)
    }

    /// Rows whose logits take so many bytes.
    fn rows_in(&self, bytes: usize) -> usize {
        (bytes / (size_of::<f32>() * self.config().vocab_size)).max(1)
    }

    /// Logits of some rows; with `keep` there are others, for which the weights stay packed.
    fn chunk_logits(&self, states: &B::Array, range: &Range<usize>, keep: bool) -> Result<B::Array, EngineError> {
        self.backend.project_rows(&self.head.base, self.weights.parameters(), states, range.clone(), keep)
    }

    /// The gradient `[N, hidden]` of the final states, of which there are `count`, for the gradients of the
    /// log-probabilities and of the divergences; that of the head's weight is added to `sums` where it is
    /// trained.
    pub fn head_backward(
        &self,
        mut pass: HeadPass<'_, B>,
        count: usize,
        of_logprobs: &[f32],
        of_divergence: Option<&[f32]>,
        sums: &mut B::Gradients,
    ) -> Result<B::Array, EngineError> {
        let (width, backend) = (self.config().hidden_size, &self.backend);
        let parameters = self.weights.parameters();
        let mut of_hidden = backend.zeros(count * width)?;
        // The divergence is mostly used without its gradient; then the teacher is not needed again.
        let of_divergence = of_divergence.filter(|grad| grad.iter().any(|g| *g != 0.0));
        let mut kept = pass.logits.take();
        for range in pass.chunks() {
            let logits = match kept.take() {
                Some(logits) => logits,
                None => self.chunk_logits(&pass.states, &range, pass.is_cut())?,
            };
            let targets = &pass.targets[range.clone()];
            let of_other = if of_divergence.is_some() { self.other_logits(&pass, &range)? } else { None };
            let divergence = match (of_divergence, &pass.other, &of_other) {
                (Some(grad), Some((_, view)), Some(other)) => Some((&grad[range.clone()], other, *view)),
                _ => None,
            };
            let grad = backend.logits_gradient(logits, targets, &of_logprobs[range.clone()], divergence)?;
            if self.adapter.is_none() {
                backend.weight_gradients(&self.head.base, parameters, (&pass.states, range.start), &grad, sums)?;
            }
            let of_states = backend.input_gradient(&self.head.base, parameters, &grad)?;
            backend.scatter_add(&mut of_hidden, &of_states, width, &pass.rows[range])?;
        }
        Ok(of_hidden)
    }

    /// Logits of some rows of what is compared with.
    fn other_logits(&self, pass: &HeadPass<'_, B>, range: &Range<usize>) -> Result<Option<B::Array>, EngineError> {
        let logits = |(source, _): &(Source<'_, B>, _)| match source {
            Source::Teacher(decoder, states) => decoder.chunk_logits(states, range, pass.is_cut()),
            Source::Uniform => self.backend.zeros(range.len() * self.config().vocab_size),
        };
        pass.other.as_ref().map(logits).transpose()
    }

    /// Logits `[rows, vocabulary]` of the given rows of `hidden`.
    pub fn row_logits(&self, hidden: &B::Array, rows: &[u32]) -> Result<B::Array, EngineError> {
        let states = self.backend.gather(hidden, self.config().hidden_size, rows)?;
        self.project(&self.head, &states, Output::Sum, SAMPLING)
    }

    /// The most probable tokens after each of the given rows of `hidden: [N, hidden]`, at most `count`, as draws by `spec`
    /// would take them; see [`most_probable`].
    pub fn most_probable(
        &self,
        hidden: &B::Array,
        rows: &[u32],
        spec: &SamplingSpec,
        count: usize,
    ) -> Result<Vec<Vec<(u32, f32)>>, EngineError> {
        let vocabulary = self.config().vocab_size;
        let mut all = Vec::with_capacity(rows.len());
        for rows in rows.chunks((LISTED_BYTES / (size_of::<f32>() * vocabulary)).max(1)) {
            let logits = self.backend.to_host(&self.row_logits(hidden, rows)?)?;
            all.extend(logits.chunks_exact(vocabulary).map(|row| most_probable(row, spec, count)));
        }
        Ok(all)
    }

    /// Draws a token from each of the given rows of `logits: [N, vocabulary]`.
    pub fn draw(
        &self,
        logits: &B::Array,
        rows: &[u32],
        spec: &SamplingSpec,
        uniforms: &[f64],
    ) -> Result<Vec<Choice>, EngineError> {
        self.backend.draw((logits, self.config().vocab_size), rows, spec, uniforms)
    }

    /// Continues cached sequences and draws the next tokens of the first `draws.uniforms.len()` rows. `meanwhile` is
    /// called while a device computes.
    pub fn advance(
        &self,
        cache: &mut KvCache<B>,
        rows: &[CachedRow<'_>],
        draws: Draws<'_>,
        mut meanwhile: impl FnMut() -> Result<(), EngineError>,
    ) -> Result<Advanced<B::Array>, EngineError> {
        let count = draws.uniforms.len();
        self.check_rows(cache, rows)?;
        // Which experts rows go to is not known before.
        if rows.len() == count && self.config().architecture.experts.is_none() {
            let replayed = cache.recorded(|cache, recordings, spare| {
                let logits = |rows: &CachedRows<'_, B>| {
                    let hidden = self.run_cached(cache, rows)?;
                    self.project(&self.head, &hidden, Output::Sum, SAMPLING)
                };
                self.backend.replay(recordings, (rows, spare), draws, logits, &mut meanwhile)
            })?;
            if let Some(choices) = replayed {
                return Ok(Advanced { hidden: None, choices });
            }
        }
        let hidden = self.run_cached(cache, &self.backend.cached(rows, self.heads)?)?;
        meanwhile()?;
        let (mut choices, at_a_time) = (Vec::with_capacity(count), self.rows_in(draws.logits_bytes));
        for start in (0..count).step_by(at_a_time) {
            let rows: Vec<u32> = (start as u32..count.min(start + at_a_time) as u32).collect();
            let logits = self.row_logits(&hidden, &rows)?;
            let all: Vec<u32> = (0..rows.len() as u32).collect();
            choices.extend(self.draw(&logits, &all, draws.spec, &draws.uniforms[start..start + rows.len()])?);
        }
        Ok(Advanced { hidden: Some(hidden), choices })
    }
}

impl<B: Backend> HeadPass<'_, B> {
    /// Whether one chunk does not hold all rows.
    fn is_cut(&self) -> bool {
        self.rows.len() > self.chunk
    }

    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<B> {
        let (chunk, count) = (self.chunk, self.rows.len());
        (0..count).step_by(chunk).map(move |start| start..(start + chunk).min(count))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::engine::gradients::GradientSum;
    use crate::engine::kernels::buffer::Buffer;
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
        let [hidden, of_teacher] = [0.7, 0.3].map(|speed| Buffer::copy(&wave(speed)));
        let (rows, targets) = ([0, 1, 3, 4], [2, 0, 5, 5]);
        let view = TeacherView { temperature: 1.5, top_k: None };
        let teacher = Other::Teacher { decoder: &decoder, hidden: &of_teacher, view: &view };
        for other in [None, Some(&teacher), Some(&Other::Uniform)] {
            let run = |chunk_rows: usize| {
                let bytes = chunk_rows * 4 * vocabulary;
                let pass = decoder.read(&hidden, &rows, &targets, other, bytes, true).unwrap();
                assert_eq!(pass.logits.is_some(), chunk_rows >= rows.len());
                let (reading, mut sums) = (pass.reading.clone(), GradientSum::default());
                let of_divergence = [0.3, -1.0, 2.0, 0.1];
                let of_divergence = other.map(|_| &of_divergence[..]);
                let of_hidden = decoder.head_backward(pass, 5, &[1.0, -0.5, 2.0, 0.2], of_divergence, &mut sums);
                (reading, of_hidden.unwrap().to_vec(), sums.get(decoder.head.base.weights[0]).unwrap().to_vec())
            };
            let whole = run(100);
            assert!(whole.1.iter().any(|g| *g != 0.0) && whole.1[2 * width..3 * width].iter().all(|g| *g == 0.0));
            assert!([1, 2, 3].into_iter().all(|chunk_rows| run(chunk_rows) == whole));
        }
        let entropies = decoder.logprobs(&hidden, &rows, &targets).unwrap().entropies;
        let beside = decoder.read_off(&hidden, &rows, &targets, Some(&Other::Uniform)).unwrap().reading.divergence;
        let differs = |(h, kl): (&f32, &f32)| ((vocabulary as f32).ln() - kl - h).abs() > 1e-5;
        assert!(!entropies.iter().zip(&beside).any(differs), "{entropies:?} {beside:?}");
        assert!(decoder.logprobs(&hidden, &[0], &[vocabulary as u32]).is_err());
        assert!(decoder.logprobs(&hidden, &[0], &[0, 1]).is_err());
    }
}
