//! What a device can do at most, measured: products as large as they come, and copies.

use std::time::Instant;

use super::{Cuda, Memory};
use crate::engine::driver::{DeviceError, Kind, Product, Result};
use crate::engine::random::{Purpose, Stream};

/// Repetitions of each; the best counts.
const REPEATS: usize = 8;
/// Numbers that are drawn; larger matrices repeat them. Zeros would be faster than data are.
const DRAWN: usize = 1 << 20;

/// The best rates that were seen.
#[derive(Clone, Copy, Debug)]
pub struct Peaks {
    /// Matrix products of the device's kind, in GFLOP/s.
    pub gflops: f64,
    /// Bytes read and written per second by a copy.
    pub bytes_per_second: f64,
}

impl Cuda {
    /// Multiplies matrices of `size` rows and columns and copies `bytes`.
    pub fn peaks(&self, size: usize, bytes: usize) -> Result<Peaks> {
        let [a, b] = [self.noise(size * size, 1)?, self.noise(size * size, 2)?];
        let c = self.activations(size * size)?;
        let product = Product {
            m: size,
            n: size,
            k: size,
            a: (a.pointer(), size, true),
            b: (b.pointer(), size, false),
            c: (c.pointer(), size),
            factors: self.kind(),
            result: self.kind(),
            add: false,
        };
        let multiply = self.best(|| self.driver.product(&product))?;
        drop((a, b, c));
        let [from, to] = [self.memory(Kind::F32, bytes / 4)?, self.memory(Kind::F32, bytes / 4)?];
        let copy = self.best(|| self.driver.copy(to.pointer(), from.pointer(), bytes))?;
        Ok(Peaks { gflops: 2.0 * (size as f64).powi(3) / multiply / 1e9, bytes_per_second: 2.0 * bytes as f64 / copy })
    }

    /// Multiplies two small matrices of ones and looks at the result.
    pub fn check_health(&self) -> Result<()> {
        const SIZE: usize = 64;
        let ones = self.upload(Kind::F32, &[1.0_f32; SIZE * SIZE])?;
        let (factors, sums) = (self.converted(&ones)?, self.memory(Kind::F32, SIZE * SIZE)?);
        let factor = (factors.pointer(), SIZE, false);
        let (factors, result) = (self.kind(), Kind::F32);
        let c = (sums.pointer(), SIZE);
        let product = Product { m: SIZE, n: SIZE, k: SIZE, a: factor, b: factor, c, factors, result, add: false };
        self.driver.product(&product)?;
        let sums: Vec<f32> = self.download(&sums)?;
        match sums.iter().find(|sum| **sum != SIZE as f32) {
            Some(wrong) => {
                let detail = format!("it computed {wrong} instead of {SIZE}");
                Err(DeviceError::Failed { what: "checking the device", detail })
            }
            None => Ok(()),
        }
    }

    /// Random numbers of the device's kind.
    fn noise(&self, len: usize, seed: u64) -> Result<Memory> {
        let stream = Stream::new(seed, Purpose::Probe, 0);
        let drawn: Vec<f32> = (0..DRAWN.min(len) as u64).map(|i| stream.normal(i) as f32).collect();
        let source = self.upload(Kind::F32, &drawn)?;
        let out = self.activations(len)?;
        for start in (0..len).step_by(drawn.len()) {
            self.convert(out.at(start), source.pointer(), drawn.len().min(len - start))?;
        }
        Ok(out)
    }

    /// The shortest time of several, after one that does not count.
    fn best(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        let mut best = f64::INFINITY;
        for repeat in 0..=REPEATS {
            self.driver.synchronize()?;
            let began = Instant::now();
            work()?;
            self.driver.synchronize()?;
            if repeat > 0 {
                best = best.min(began.elapsed().as_secs_f64());
            }
        }
        Ok(best)
    }
}
