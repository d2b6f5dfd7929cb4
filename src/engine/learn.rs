//! The gradient of one micro-batch.

use candle_core::{Device, Tensor, Var};

use super::backend::Backend;
use super::batch::MicroBatch;
use super::cpu::Cpu;
use super::error::EngineError;
use super::measure::Measured;
use super::model::decoder::Decoder;
use super::model::head::Teacher;
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
        let (decoder, packed) = (self.decoder, batch.packed());
        let view = objective.needs().teacher;
        let of_teacher = match (self.teacher, &view) {
            (Some(teacher), Some(view)) => Some((teacher, teacher.hidden(packed)?, view)),
            _ => None,
        };
        let teacher = of_teacher.as_ref().map(|(decoder, hidden, view)| Teacher { decoder, hidden, view });
        let keys = self.dropout.map_or_else(Vec::new, |stream| batch.keys(&stream));
        let pass = decoder.pass_dropping(packed, &keys, self.recompute)?.balanced(self.balance);
        let spread = pass.spread().clone();
        let head = decoder.read_off(pass.hidden(), &batch.target_rows, &batch.targets, teacher.as_ref())?;
        let reading = head.reading.clone();

        let variable = |values: &[f32]| Var::from_tensor(&Tensor::new(values, &Device::Cpu)?);
        let (policy, divergence) = (variable(&reading.logprobs)?, variable(&reading.divergence)?);
        let loss = Loss::of(objective, batch, &policy, teacher.map(|_| (&reading.log_ratio[..], &divergence)))?;
        let store = loss.sum.backward()?;
        let gradient = |of: &Var| store.get(of).map(Tensor::to_vec1::<f32>).transpose();
        let of_logprobs = gradient(&policy)?.unwrap_or_else(|| vec![0.0; batch.targets.len()]);
        let of_divergence = gradient(&divergence)?;

        let rows = batch.tokens.len();
        let of_hidden = decoder.head_backward(head, rows, &of_logprobs, of_divergence.as_deref(), gradients)?;
        decoder.backward(pass, &of_hidden, gradients)?;
        let teacher = reading.log_ratio.iter().zip(&reading.divergence).map(|(ratio, kl)| [*ratio, *kl]).collect();
        let credit = loss.token_credit.to_vec1::<f32>()?;
        let measured = Measured { policy_logprobs: reading.logprobs, credit, teacher, spread };
        Ok((f64::from(loss.sum.to_scalar::<f32>()?), measured))
    }
}

/// What an objective makes of a micro-batch.
#[derive(Debug)]
pub struct Loss {
    pub sum: Tensor,
    pub token_credit: Tensor,
}

impl Loss {
    /// The loss as a graph over the policy's log-probabilities and, beside a teacher, over the divergences that stand
    /// with the log-ratios.
    pub fn of(
        objective: &dyn Objective,
        batch: &MicroBatch,
        policy: &Var,
        teacher: Option<(&[f32], &Var)>,
    ) -> Result<Self, EngineError> {
        let tensor = |values: &[f32]| Tensor::new(values, &Device::Cpu);
        let whole = |values: &Vec<f32>| (values.len() == batch.targets.len()).then(|| tensor(values));
        let behavior = whole(&batch.behavior_logprobs).unwrap_or_else(|| Ok(policy.detach()))?;
        let reference = whole(&batch.reference_logprobs).transpose()?;
        let credit = tensor(&batch.credit)?;
        let log_ratio = teacher.map(|(log_ratio, _)| tensor(log_ratio)).transpose()?;
        let tokens = TokenBatch {
            policy_logprobs: policy,
            behavior_logprobs: &behavior,
            reference_logprobs: reference.as_ref(),
            teacher: log_ratio
                .as_ref()
                .zip(teacher)
                .map(|(log_ratio, (_, divergence))| TeacherBatch { log_ratio, divergence }),
            credit: &credit,
            mask: &credit.ones_like()?,
        };
        Ok(Self { sum: objective.loss(&tokens)?, token_credit: objective.token_credit(&tokens)? })
    }
}
