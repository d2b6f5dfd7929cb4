//! Passes that only continue completions, recorded once for a number of rows and then started with a single call: at
//! small batches the calls of a pass take longer than its work. A recording is made for a rounded-up number of rows;
//! rows that fill it up write into a block of the cache that nobody reads.

use std::collections::HashMap;
use std::sync::Arc;

use super::attention::CachedTables;
use super::memory::Pool;
use super::{Cuda, Indices, Memory};
use crate::engine::backend::CachedRows;
use crate::engine::choice::{Choice, Draws};
use crate::engine::driver::{DeviceError, Kind, Recording};
use crate::engine::error::EngineError;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::rows::CachedRow;
use crate::job::spec::SamplingSpec;

/// More rows than this are computed without a recording: their work takes longer than the calls.
const MOST_ROWS: usize = 512;
/// Blocks of a sequence that the shortest recording has room for.
const FEWEST_BLOCKS: usize = 16;

/// Recorded passes that are kept.
const MOST_RECORDINGS: usize = 64;

/// The recorded passes of one cache, by rows and blocks of a sequence.
#[derive(Debug, Default)]
pub struct Recordings {
    passes: HashMap<(usize, usize), Recorded>,
    /// What they compute in between, all in the same memory: they run one after the other.
    pool: Option<Arc<Pool>>,
}

/// A recorded pass with the memory that it works on.
#[derive(Debug)]
struct Recorded {
    /// Tokens, positions and tables.
    inputs: Memory,
    uniforms: Memory,
    /// Tokens, log-probabilities and entropies.
    drawn: Memory,
    recording: Box<dyn Recording>,
}

/// The numbers of rows that passes are recorded for: 1, 2, 4, 8, then multiples of a quarter of the next power of two.
fn rounded(rows: usize) -> usize {
    let step = (rows.next_power_of_two() / 4).max(1);
    if rows <= 8 { rows.next_power_of_two() } else { rows.next_multiple_of(step) }
}

impl Recordings {
    /// Whether so many rows are worth a recording.
    pub fn take(rows: usize) -> bool {
        (1..=MOST_ROWS).contains(&rows)
    }

    /// Runs one pass over `rows`, whose logits `logits` computes from their tables, and draws from each. `spare` is the
    /// block that nobody reads; `meanwhile` is called while the device computes.
    pub fn run(
        &mut self,
        cuda: &Cuda,
        (rows, spare): (&[CachedRow<'_>], u32),
        draws: Draws<'_>,
        mut logits: impl FnMut(&CachedRows<'_, Cuda>) -> Result<Memory, EngineError>,
        meanwhile: &mut impl FnMut() -> Result<(), EngineError>,
    ) -> Result<Vec<Choice>, EngineError> {
        let longest = rows.iter().map(|row| row.position as usize / BLOCK + 1).max().unwrap_or(1);
        let (count, stride) = (rounded(rows.len()), longest.next_power_of_two().max(FEWEST_BLOCKS));
        let words = CachedTables::fill(rows, count, stride, spare);
        let mut uniforms = draws.uniforms.to_vec();
        uniforms.resize(count, 0.0);
        match self.passes.get(&(count, stride)) {
            Some(recorded) => {
                cuda.driver.upload(recorded.inputs.pointer(), bytemuck::cast_slice(&words))?;
                cuda.driver.upload(recorded.uniforms.pointer(), bytemuck::cast_slice(&uniforms))?;
                recorded.recording.replay()?;
                meanwhile()?;
                Ok(cuda.choices(&recorded.drawn, count, rows.len())?)
            }
            None => {
                let mut first = self.record(cuda, (&words, &uniforms), (count, stride), draws.spec, &mut logits);
                if let Err(EngineError::Device(DeviceError::OutOfMemory { .. })) = first {
                    // The memory of other recordings may be what is missing.
                    *self = Self::default();
                    first = self.record(cuda, (&words, &uniforms), (count, stride), draws.spec, &mut logits);
                }
                first?;
                meanwhile()?;
                match self.passes.get(&(count, stride)) {
                    Some(recorded) => Ok(cuda.choices(&recorded.drawn, count, rows.len())?),
                    None => Err(EngineError::Internal(String::from("a recorded pass is gone"))),
                }
            }
        }
    }

    /// Runs a pass for the first time and records it.
    fn record(
        &mut self,
        cuda: &Cuda,
        (words, uniforms): (&[u32], &[f64]),
        (count, stride): (usize, usize),
        spec: &SamplingSpec,
        logits: &mut impl FnMut(&CachedRows<'_, Cuda>) -> Result<Memory, EngineError>,
    ) -> Result<(), EngineError> {
        if self.passes.len() >= MOST_RECORDINGS {
            *self = Self::default();
        }
        // What training has left would be missing here.
        cuda.pool().trim();
        let pool = Arc::clone(self.pool.get_or_insert_with(|| Pool::for_recordings(Arc::clone(&cuda.driver))));
        let (inputs, uniforms) = (cuda.upload(Kind::U32, words)?, cuda.upload(Kind::F64, uniforms)?);
        let drawn = cuda.memory(Kind::U32, 3 * count)?;
        let mut pass = || -> Result<(), EngineError> {
            let (tokens, sequences) = (Indices::over(&inputs, count), CachedTables::over(&inputs, count, stride));
            let logits = logits(&CachedRows { tokens, sequences })?;
            let vocabulary = logits.len() / count;
            let rows = inputs.at(CachedTables::row_numbers(count));
            Ok(cuda.draw_into(&drawn, (&logits, vocabulary), (rows, count), spec, &uniforms)?)
        };
        // The first pass takes the memory that the recorded one then finds.
        cuda.within(&pool, &mut pass)?;
        let recording = cuda.within(&pool, || record(cuda, pass))?;
        self.passes.insert((count, stride), Recorded { inputs, uniforms, drawn, recording });
        Ok(())
    }
}

/// Records a pass; an error that is not the device's goes around the driver.
fn record(cuda: &Cuda, mut pass: impl FnMut() -> Result<(), EngineError>) -> Result<Box<dyn Recording>, EngineError> {
    let mut other = None;
    let recording = cuda.driver.record(&mut || match pass() {
        Ok(()) => Ok(()),
        Err(EngineError::Device(error)) => Err(error),
        Err(error) => {
            let detail = error.to_string();
            other = Some(error);
            Err(DeviceError::Failed { what: "recording a pass", detail })
        }
    });
    other.map_or(Ok(()), Err)?;
    Ok(recording?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_are_rounded_up_by_a_quarter_at_most_from_eight_on() {
        assert_eq!([1, 2, 3, 5, 8].map(rounded), [1, 2, 4, 8, 8]);
        for rows in 9..MOST_ROWS {
            assert!((rows..=rows + rows / 2).contains(&rounded(rows)), "{rows}");
        }
        assert!(!Recordings::take(0) && Recordings::take(1) && !Recordings::take(MOST_ROWS + 1));
    }
}
