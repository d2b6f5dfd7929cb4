//! Log-probability of one target per row of logits, `l = x_target - log sum_v exp x_v`, with its gradient
//! `g (1[v = target] - softmax(x)_v)`. One pass forward, one backward; no `[rows, vocabulary]` temporary besides the
//! gradient itself.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::f32_slice;

/// `log sum_v exp x_v` of one row, shifted by its maximum; summed in f64 so that its rounding does not matter.
pub fn log_sum_exp(row: &[f32]) -> f32 {
    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|x| f64::from((x - top).exp())).sum();
    (f64::from(top) + sum.ln()) as f32
}

#[derive(Debug)]
struct TargetLogprob;

/// `logits: [N, V]` f32, `targets: [N]` u32 to log-probabilities `[N]`; the gradient flows to the logits.
pub fn target_logprobs(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    logits.contiguous()?.apply_op2(&targets.contiguous()?, TargetLogprob)
}

impl CustomOp2 for TargetLogprob {
    fn name(&self) -> &'static str {
        "target-logprob"
    }

    fn cpu_fwd(
        &self,
        logits: &CpuStorage,
        logits_layout: &Layout,
        targets: &CpuStorage,
        targets_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (rows, vocabulary) = logits_layout.shape().dims2()?;
        let logits = f32_slice(logits, logits_layout, self.name())?;
        let targets = &targets.as_slice::<u32>()?[targets_layout.start_offset()..][..rows];
        if let Some(bad) = targets.iter().find(|t| **t as usize >= vocabulary) {
            candle_core::bail!("target token {bad} is outside a vocabulary of {vocabulary}");
        }
        let out = logits
            .par_chunks(vocabulary)
            .zip(targets)
            .map(|(row, target)| row[*target as usize] - log_sum_exp(row))
            .collect();
        Ok((CpuStorage::F32(out), Shape::from(rows)))
    }

    fn bwd(
        &self,
        logits: &Tensor,
        targets: &Tensor,
        logprobs: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (_, vocabulary) = logits.dims2()?;
        let targets = targets.to_vec1::<u32>()?;
        let (logprobs, grad) = (logprobs.to_vec1::<f32>()?, grad.to_vec1::<f32>()?);
        let mut out = logits.flatten_all()?.to_vec1::<f32>()?;
        out.par_chunks_mut(vocabulary).enumerate().for_each(|(i, row)| {
            let target = targets[i] as usize;
            let log_sum = row[target] - logprobs[i];
            for x in row.iter_mut() {
                *x = -grad[i] * (*x - log_sum).exp();
            }
            row[target] += grad[i];
        });
        Ok((Some(Tensor::from_vec(out, logits.shape(), logits.device())?), None))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    #[test]
    fn values_and_gradients_match_float64() {
        let (rows, vocabulary) = (3_usize, 7_usize);
        let logits: Vec<f32> = (0..rows * vocabulary).map(|i| ((i as f32) * 1.1).sin() * 4.0).collect();
        let (targets, weights) = ([2_u32, 0, 6], [0.5_f32, -1.5, 2.0]);
        let objective = |x: &[f64]| -> f64 {
            (0..rows)
                .map(|r| {
                    let row = &x[r * vocabulary..][..vocabulary];
                    let log_sum = row.iter().map(|v| v.exp()).sum::<f64>().ln();
                    f64::from(weights[r]) * (row[targets[r] as usize] - log_sum)
                })
                .sum()
        };
        let var = Var::from_tensor(&Tensor::from_slice(&logits, (rows, vocabulary), &Device::Cpu).unwrap()).unwrap();
        let logprobs = target_logprobs(&var, &Tensor::new(&targets, &Device::Cpu).unwrap()).unwrap();
        let loss = (logprobs * Tensor::new(&weights, &Device::Cpu).unwrap()).unwrap().sum_all().unwrap();
        let wide: Vec<f64> = logits.iter().map(|x| f64::from(*x)).collect();
        assert!((f64::from(loss.to_scalar::<f32>().unwrap()) - objective(&wide)).abs() < 1e-5);
        let gradients = loss.backward().unwrap();
        let got: Vec<f32> = gradients.get(&var).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        for at in 0..got.len() {
            let (mut up, mut down) = (wide.clone(), wide.clone());
            up[at] += 1e-6;
            down[at] -= 1e-6;
            let want = (objective(&up) - objective(&down)) / 2e-6;
            assert!((f64::from(got[at]) - want).abs() < 1e-5, "[{at}] {} against {want}", got[at]);
        }
    }

    #[test]
    fn a_target_outside_the_vocabulary_is_an_error() {
        let logits = Tensor::zeros((1, 4), candle_core::DType::F32, &Device::Cpu).unwrap();
        assert!(target_logprobs(&logits, &Tensor::new(&[4_u32], &Device::Cpu).unwrap()).is_err());
    }
}
