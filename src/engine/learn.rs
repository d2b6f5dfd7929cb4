//! The gradient of one micro-batch.

use candle_core::{Device, Tensor, Var};

use super::backend::Backend;
use super::batch::MicroBatch;
use super::cpu::Cpu;
use super::error::EngineError;
use super::measure::Measured;
use super::model::decoder::Decoder;
use super::model::head::Other;
use super::random::Stream;
use crate::objective::{Objective, TeacherBatch, TokenBatch};

/// What learns, and from whom.
#[derive(Debug)]
pub struct Learner<'a, B: Backend = Cpu> {
    pub decoder: &'a Decoder<B>,
    pub teacher: Option<&'a Decoder<B>>,
    /// Compute intermediate results again in the backward pass instead of keeping them.
    pub recompute: bool,
    /// What each token adds of the balance of its experts, a layer, to the loss.
    pub balance: f32,
    /// What an adapter's dropout is drawn from, where it has any.
    pub dropout: Option<Stream>,
}

impl<B: Backend> Learner<'_, B> {
    /// The summed loss of a micro-batch under `objective`; its gradient is added to `gradients`. The loss is a small
    /// graph over log-probabilities; what lies below them has a backward pass of its own.
    pub fn micro_batch(
        &self,
        objective: &dyn Objective,
        batch: &MicroBatch,
        gradients: &mut B::Gradients,
    ) -> Result<(f64, Measured), EngineError> {
        let (decoder, packed, needs) = (self.decoder, batch.packed(), objective.needs());
        let of_teacher = match (self.teacher, &needs.teacher) {
            (Some(teacher), Some(view)) => Some((teacher, teacher.hidden(packed)?, view)),
            _ => None,
        };
        let other = match &of_teacher {
            Some((decoder, hidden, view)) => Some(Other::Teacher { decoder, hidden, view }),
            None => needs.entropy.then_some(Other::Uniform),
        };
        let keys = self.dropout.map_or_else(Vec::new, |stream| batch.keys(&stream));
        let pass = decoder.pass_dropping(packed, &keys, self.recompute)?.balanced(self.balance);
        let spread = pass.spread().clone();
        let head = decoder.read_off(pass.hidden(), &batch.target_rows, &batch.targets, other.as_ref())?;
        let reading = head.reading.clone();

        let variable = |values: &[f32]| Var::from_tensor(&Tensor::new(values, &Device::Cpu)?);
        let (policy, divergence) = (variable(&reading.logprobs)?, variable(&reading.divergence)?);
        let compared = match &other {
            None => Compared::Nothing,
            Some(Other::Teacher { .. }) => Compared::Teacher(&reading.log_ratio, &divergence),
            Some(Other::Uniform) => Compared::Uniform(&divergence, decoder.config().vocab_size),
        };
        let loss = Loss::of(objective, batch, &policy, compared)?;
        let store = loss.sum.backward()?;
        let gradient = |of: &Var| store.get(of).map(Tensor::to_vec1::<f32>).transpose();
        let of_logprobs = gradient(&policy)?.unwrap_or_else(|| vec![0.0; batch.targets.len()]);
        let of_divergence = gradient(&divergence)?;

        let rows = batch.tokens.len();
        let of_hidden = decoder.head_backward(head, rows, &of_logprobs, of_divergence.as_deref(), gradients)?;
        decoder.backward(pass, &of_hidden, gradients)?;
        let teacher = match other {
            Some(Other::Teacher { .. }) => {
                reading.log_ratio.iter().zip(&reading.divergence).map(|(ratio, kl)| [*ratio, *kl]).collect()
            }
            _ => Vec::new(),
        };
        let credit = loss.token_credit.to_vec1::<f32>()?;
        let measured = Measured { policy_logprobs: reading.logprobs, credit, teacher, spread };
        Ok((f64::from(loss.sum.to_scalar::<f32>()?), measured))
    }
}

/// What the policy was compared with at each token.
#[derive(Clone, Copy, Debug)]
pub enum Compared<'a> {
    Nothing,
    /// Log-ratios and divergences.
    Teacher(&'a [f32], &'a Var),
    /// Divergences from all tokens being alike, of which there are so many.
    Uniform(&'a Var, usize),
}

/// What an objective makes of a micro-batch.
#[derive(Debug)]
pub struct Loss {
    pub sum: Tensor,
    pub token_credit: Tensor,
}

impl Loss {
    /// The loss as a graph over the policy's log-probabilities and over divergences, where there are any.
    pub fn of(
        objective: &dyn Objective,
        batch: &MicroBatch,
        policy: &Var,
        compared: Compared<'_>,
    ) -> Result<Self, EngineError> {
        let tensor = |values: &[f32]| Tensor::new(values, &Device::Cpu);
        let whole = |values: &Vec<f32>| (values.len() == batch.targets.len()).then(|| tensor(values));
        let behavior = whole(&batch.behavior_logprobs).unwrap_or_else(|| Ok(policy.detach()))?;
        let reference = whole(&batch.reference_logprobs).transpose()?;
        let proximal = whole(&batch.proximal_logprobs).transpose()?;
        let credit = tensor(&batch.credit)?;
        let log_ratio = match compared {
            Compared::Teacher(log_ratio, _) => Some(tensor(log_ratio)?),
            _ => None,
        };
        let entropy = match compared {
            Compared::Uniform(divergence, vocabulary) => Some((divergence.neg()? + (vocabulary as f64).ln())?),
            _ => None,
        };
        let tokens = TokenBatch {
            policy_logprobs: policy,
            behavior_logprobs: &behavior,
            reference_logprobs: reference.as_ref(),
            proximal_logprobs: proximal.as_ref(),
            teacher: match (&log_ratio, compared) {
                (Some(log_ratio), Compared::Teacher(_, divergence)) => Some(TeacherBatch { log_ratio, divergence }),
                _ => None,
            },
            entropy: entropy.as_ref(),
            credit: &credit,
            sequences: &Tensor::new(batch.sequences.as_slice(), &Device::Cpu)?,
            mask: &credit.ones_like()?,
        };
        Ok(Self { sum: objective.loss(&tokens)?, token_credit: objective.token_credit(&tokens)? })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::spec::TrainSpec;
    use crate::objective::Config;

    /// The loss falls with the entropy, and so rises with the divergence from all tokens being alike.
    #[test]
    fn an_entropy_bonus_rewards_being_near_to_the_uniform_distribution() {
        let spec = json!({"type": "grpo", "entropy_coef": 0.25});
        let objective = Config::parse(&spec, "/objective").unwrap().build(&TrainSpec::default());
        let batch = MicroBatch {
            targets: vec![1, 2, 0],
            sequences: vec![0, 0, 1],
            credit: vec![0.0; 3],
            ..MicroBatch::default()
        };
        let variable = |values: [f32; 3]| Var::from_tensor(&Tensor::new(&values, &Device::Cpu).unwrap()).unwrap();
        let (policy, divergence) = (variable([-1.0, -0.5, -2.0]), variable([0.5, 0.1, 1.0]));
        let loss = Loss::of(objective.as_ref(), &batch, &policy, Compared::Uniform(&divergence, 5)).unwrap();
        let entropy = 3.0 * 5.0_f32.ln() - 1.6;
        let sum = loss.sum.to_scalar::<f32>().unwrap();
        assert!((sum + 0.25 * entropy).abs() < 1e-5, "{sum}");
        let gradients = loss.sum.backward().unwrap();
        assert_eq!(gradients.get(&divergence).unwrap().to_vec1::<f32>().unwrap(), [0.25; 3]);
    }
}
