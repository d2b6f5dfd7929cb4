//! What is read off logits on a device: log-probabilities, the comparison with a teacher, gradients, and draws. Logits
//! never leave the device; a few numbers a row do.

use super::decode::Recordings;
use super::{Cuda, Memory, at, number};
use crate::engine::backend::{CachedRows, Head};
use crate::engine::choice::{Choice, Draws};
use crate::engine::driver::{self, Argument, Kind, Pointer};
use crate::engine::error::EngineError;
use crate::engine::ops::logprob::Reading;
use crate::engine::rows::CachedRow;
use crate::job::spec::SamplingSpec;
use crate::objective::TeacherView;

type Result<T> = std::result::Result<T, EngineError>;

/// Threads of the kernels over rows of logits.
const THREADS: u32 = 1024;
/// Shared memory of a draw, for the search of its threshold.
const DRAW_BYTES: u32 = 32 << 10;

impl Head for Cuda {
    fn read_rows(&self, logits: &Memory, targets: &[u32]) -> Result<Reading> {
        let (count, vocabulary) = (targets.len(), logits.len() / targets.len().max(1));
        let (out, wanted) = (self.memory(Kind::F32, 2 * count)?, self.upload(Kind::U32, targets)?);
        let entropies = Argument::Pointer(out.at(count));
        let arguments = [at(&out), entropies, at(logits), at(&wanted), number(count), number(vocabulary)];
        self.launch("read_rows", count, THREADS, 0, &arguments)?;
        let mut logprobs: Vec<f32> = self.download(&out)?;
        let entropies = logprobs.split_off(count);
        Ok(Reading { logprobs, entropies, ..Reading::default() })
    }

    fn read_pairs(&self, student: &Memory, teacher: &Memory, targets: &[u32], view: &TeacherView) -> Result<Reading> {
        let (count, vocabulary) = (targets.len(), student.len() / targets.len().max(1));
        let (out, wanted) = (self.memory(Kind::F32, 3 * count)?, self.upload(Kind::U32, targets)?);
        let results = [0, 1, 2].map(|column| Argument::Pointer(out.at(column * count)));
        let inputs = [at(student), at(teacher), at(&wanted), number(count), number(vocabulary)];
        let arguments = [&results[..], &inputs, &seen_as(view)].concat();
        self.launch("read_pairs", count, THREADS, 0, &arguments)?;
        let mut logprobs: Vec<f32> = self.download(&out)?;
        let divergence = logprobs.split_off(2 * count);
        let log_ratio = logprobs.split_off(count);
        Ok(Reading { logprobs, entropies: Vec::new(), log_ratio, divergence })
    }

    fn logits_gradient(
        &self,
        logits: Memory,
        targets: &[u32],
        of_logprobs: &[f32],
        of_divergence: Option<(&[f32], &Memory, &TeacherView)>,
    ) -> Result<Memory> {
        let (count, vocabulary) = (targets.len(), logits.len() / targets.len().max(1));
        let (out, wanted) = (self.activations(logits.len())?, self.upload(Kind::U32, targets)?);
        let of_logprobs = self.upload(Kind::F32, of_logprobs)?;
        let sizes = [number(count), number(vocabulary)];
        match of_divergence {
            None => {
                let first = [at(&out), at(&logits), at(&wanted), at(&of_logprobs)];
                let name = format!("logits_gradient_{}", self.suffix());
                self.launch(&name, count, THREADS, 0, &[&first[..], &sizes].concat())?;
            }
            Some((grad, teacher, view)) => {
                let grad = self.upload(Kind::F32, grad)?;
                let first = [at(&out), at(&logits), at(teacher), at(&wanted), at(&of_logprobs), at(&grad)];
                let name = format!("logits_gradient_pairs_{}", self.suffix());
                self.launch(&name, count, THREADS, 0, &[&first[..], &sizes, &seen_as(view)].concat())?;
            }
        }
        Ok(out)
    }

    fn to_host(&self, array: &Memory) -> Result<Vec<f32>> {
        Ok(self.download(array)?)
    }

    fn draw(
        &self,
        logits: (&Memory, usize),
        rows: &[u32],
        spec: &SamplingSpec,
        uniforms: &[f64],
    ) -> Result<Vec<Choice>> {
        let count = rows.len();
        let (rows, uniforms) = (self.upload(Kind::U32, rows)?, self.upload(Kind::F64, uniforms)?);
        let drawn = self.memory(Kind::U32, 3 * count)?;
        self.draw_into(&drawn, logits, (rows.pointer(), count), spec, &uniforms)?;
        Ok(self.choices(&drawn, count, count)?)
    }

    fn replay(
        &self,
        recordings: &mut Recordings,
        rows: (&[CachedRow<'_>], u32),
        draws: Draws<'_>,
        logits: impl FnMut(&CachedRows<'_, Self>) -> Result<Memory>,
        meanwhile: &mut impl FnMut() -> Result<()>,
    ) -> Result<Option<Vec<Choice>>> {
        if !Recordings::take(rows.0.len()) {
            return Ok(None);
        }
        recordings.run(self, rows, draws, logits, meanwhile).map(Some)
    }
}

impl Cuda {
    /// Draws a token from each of the given rows into memory for tokens, log-probabilities and entropies.
    pub(super) fn draw_into(
        &self,
        drawn: &Memory,
        (logits, vocabulary): (&Memory, usize),
        (rows, count): (Pointer, usize),
        spec: &SamplingSpec,
        uniforms: &Memory,
    ) -> driver::Result<()> {
        let [tokens, logprobs, entropies] = [0, 1, 2].map(|column| Argument::Pointer(drawn.at(column * count)));
        let arguments = [
            tokens,
            logprobs,
            entropies,
            at(logits),
            Argument::Pointer(rows),
            at(uniforms),
            number(count),
            number(vocabulary),
            Argument::F32(spec.temperature as f32),
            Argument::U32(spec.top_k),
            Argument::F32(spec.top_p as f32),
        ];
        self.launch("draw", count, THREADS, DRAW_BYTES, &arguments)
    }

    /// The first `wanted` of `count` draws.
    pub(super) fn choices(&self, drawn: &Memory, count: usize, wanted: usize) -> driver::Result<Vec<Choice>> {
        let words: Vec<u32> = self.download(drawn)?;
        let number = |column: usize, row: usize| f32::from_bits(words[column * count + row]);
        let choice = |row| Choice { token: words[row], logprob: number(1, row), entropy: number(2, row) };
        Ok((0..wanted).map(choice).collect())
    }
}

/// How a teacher is looked at, as kernels take it.
fn seen_as(view: &TeacherView) -> [Argument; 2] {
    [Argument::F32((1.0 / view.temperature) as f32), Argument::U32(view.top_k.unwrap_or(0))]
}
