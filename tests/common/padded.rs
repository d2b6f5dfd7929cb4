//! Objectives run on padded `[B, T]` batches with explicit logits, as the reference vectors and the laws have them.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use anneal::engine::ops::logprob::{Reading, logits_gradient, read_pairs};
use anneal::job::spec::TrainSpec;
use anneal::objective::{Group, Objective, StepStatistics, StepTotals, TeacherBatch, TokenBatch};
use candle_core::{D, DType, Device, Tensor, Var};
use candle_nn::ops::log_softmax;
use serde_json::Value;

pub fn train_spec(updates_per_rollout: u32) -> TrainSpec {
    TrainSpec { steps: 12, updates_per_rollout, ..TrainSpec::default() }
}

/// All numbers of nested lists, in order.
pub fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

/// Asserts that two lists agree relative to the largest expected number.
pub fn close(name: &str, got: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(got.len(), expected.len(), "{name}");
    let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= relative * scale.max(1e-12), "{name}[{i}]: got {g}, expected {e}");
    }
}

/// A step's completions with everything that can be known of their tokens; lists are row-major.
#[derive(Clone, Debug)]
pub struct Padded {
    /// Sequences, positions, vocabulary.
    pub shape: [usize; 3],
    pub policy_logits: Vec<f64>,
    pub teacher_logits: Vec<f64>,
    pub tokens: Vec<usize>,
    pub mask: Vec<f64>,
    pub rewards: Vec<f64>,
    /// Group of every sequence.
    pub groups: Vec<usize>,
    pub behavior: Vec<f64>,
    pub reference: Vec<f64>,
    /// Under the policy that the steps of the phase began with, where that is told.
    pub proximal: Option<Vec<f64>>,
    /// Number format of the tensors; a teacher is compared in f32 whatever it is.
    pub dtype: DType,
}

/// What an objective makes of a step.
#[derive(Debug)]
pub struct Step {
    /// Divided by the normaliser.
    pub loss: f64,
    /// Of the divided loss, with respect to the policy's logits.
    pub gradient: Vec<f64>,
    /// Per sequence, 0 where it is left out.
    pub credit: Vec<f64>,
    /// Per group, only of the completions that are kept.
    pub group_credits: Vec<Vec<f64>>,
    pub token_credit: Vec<f64>,
    /// KL(policy || teacher) per token; empty without a teacher.
    pub divergence: Vec<f64>,
}

impl Padded {
    pub fn from_case(input: &Value) -> Self {
        let size = |key: &str| input[key].as_u64().unwrap() as usize;
        Self {
            shape: [size("B"), size("T"), size("V")],
            policy_logits: flat(&input["policy_logits"]),
            teacher_logits: flat(&input["teacher_logits"]),
            tokens: flat(&input["tokens"]).iter().map(|t| *t as usize).collect(),
            mask: flat(&input["mask"]),
            rewards: flat(&input["rewards"]),
            groups: flat(&input["group"]).iter().map(|g| *g as usize).collect(),
            behavior: flat(&input["behavior_logprobs"]),
            reference: flat(&input["reference_logprobs"]),
            proximal: input.get("proximal_logprobs").map(flat),
            dtype: DType::F32,
        }
    }

    fn valid(&self) -> impl Iterator<Item = usize> {
        (0..self.mask.len()).filter(|i| self.mask[*i] > 0.0)
    }

    fn log_softmax(&self, token: usize) -> Vec<f64> {
        let row = &self.policy_logits[token * self.shape[2]..][..self.shape[2]];
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = top + row.iter().map(|x| (x - top).exp()).sum::<f64>().ln();
        row.iter().map(|x| x - log_sum).collect()
    }

    /// Log-probability of each token under the policy.
    pub fn policy_logprobs(&self) -> Vec<f64> {
        (0..self.tokens.len()).map(|i| self.log_softmax(i)[self.tokens[i]]).collect()
    }

    /// Tells the objective what the whole step says.
    pub fn begin(&self, objective: &mut dyn Objective) {
        let policy = self.policy_logprobs();
        let log_ratios: Vec<f64> = self.valid().map(|i| policy[i] - self.behavior[i]).collect();
        let entropies: Vec<f64> =
            self.valid().map(|i| self.log_softmax(i).iter().map(|l| -l * l.exp()).sum()).collect();
        let token_entropy = entropies.iter().sum::<f64>() / entropies.len() as f64;
        let count = self.groups.iter().max().map_or(0, |last| last + 1);
        let of_group = |g| self.groups.iter().zip(&self.rewards).filter(move |(own, _)| **own == g).map(|(_, r)| *r);
        let rewards: Vec<Vec<f64>> = (0..count).map(|g| of_group(g).collect()).collect();
        objective.begin_step(&StepStatistics {
            round: 0,
            rewards: &rewards,
            token_entropy,
            log_ratios: &log_ratios,
            on_policy: log_ratios.is_empty(),
        });
    }

    /// The credits of every group, in the order of the groups' numbers.
    pub fn credits(&self, objective: &dyn Objective) -> Vec<(Vec<usize>, Vec<Option<f64>>)> {
        let [b, t, _] = self.shape;
        let sum =
            |s: usize| (s * t..(s + 1) * t).map(|i| self.mask[i] * (self.reference[i] - self.behavior[i])).sum::<f64>();
        let count = self.groups.iter().max().map_or(0, |g| g + 1);
        (0..count)
            .map(|g| {
                let members: Vec<usize> = (0..b).filter(|s| self.groups[*s] == g).collect();
                let rewards: Vec<f64> = members.iter().map(|s| self.rewards[*s]).collect();
                let ratios: Vec<f64> =
                    if objective.needs().reference { members.iter().map(|s| sum(*s)).collect() } else { Vec::new() };
                let credit = objective.credit(&Group { rewards: &rewards, reference_log_ratios: &ratios });
                (members, credit)
            })
            .collect()
    }

    /// The whole step in one micro-batch.
    pub fn step(&self, objective: &mut dyn Objective) -> Step {
        self.begin(objective);
        let sequences: Vec<usize> = (0..self.shape[0]).collect();
        self.step_in(objective, &[sequences])
    }

    /// The step in the given micro-batches of sequences; [`Self::begin`] comes first.
    pub fn step_in(&self, objective: &dyn Objective, micro_batches: &[Vec<usize>]) -> Step {
        let [b, t, v] = self.shape;
        let mut credit = vec![0.0; b];
        let mut mask = vec![0.0; b * t];
        let (mut totals, mut group_credits) = (StepTotals::default(), Vec::new());
        for (members, credits) in self.credits(objective) {
            let kept = members.iter().zip(&credits).filter_map(|(s, c)| c.map(|c| (*s, c)));
            group_credits.push(credits.iter().flatten().copied().collect());
            for (s, c) in kept {
                credit[s] = c;
                mask[s * t..(s + 1) * t].copy_from_slice(&self.mask[s * t..(s + 1) * t]);
                totals.sequences += 1.0;
                totals.tokens += self.mask[s * t..(s + 1) * t].iter().sum::<f64>();
            }
        }
        // A step without completions is not taken; here it has no loss.
        let normalizer = objective.normalizer(&totals).max(1e-9);
        let mut out = Step {
            loss: 0.0,
            gradient: vec![0.0; b * t * v],
            credit: credit.clone(),
            group_credits,
            token_credit: vec![0.0; b * t],
            divergence: Vec::new(),
        };
        for part in micro_batches {
            self.micro_batch(objective, part, (&credit, &mask), normalizer, &mut out);
        }
        out
    }

    fn micro_batch(
        &self,
        objective: &dyn Objective,
        part: &[usize],
        (credit, mask): (&[f64], &[f64]),
        normalizer: f64,
        out: &mut Step,
    ) {
        let [_, t, v] = self.shape;
        let rows: Vec<usize> = part.iter().flat_map(|s| s * t..(s + 1) * t).collect();
        let shape = [part.len(), t];
        let pick = |values: &[f64]| rows.iter().map(|i| values[*i]).collect::<Vec<_>>();
        let pick_logits =
            |values: &[f64]| rows.iter().flat_map(|i| values[i * v..(i + 1) * v].to_vec()).collect::<Vec<_>>();
        let tensor = |values: &[f64], shape: &[usize]| {
            Tensor::from_vec(values.to_vec(), shape, &Device::Cpu).unwrap().to_dtype(self.dtype).unwrap()
        };
        let narrow = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect::<Vec<f32>>();
        let logits = Var::from_tensor(&tensor(&pick_logits(&self.policy_logits), &[rows.len(), v])).unwrap();
        let targets: Vec<u32> = rows.iter().map(|i| self.tokens[*i] as u32).collect();
        // Beside a teacher the engine's own operation makes the log-probabilities and their gradient.
        let [student, teacher] = [&self.policy_logits, &self.teacher_logits].map(|l| narrow(pick_logits(l)));
        let view = objective.needs().teacher;
        let reading = view.as_ref().map(|view| read_pairs(&student, &teacher, &targets, view));
        let column = |of: fn(&Reading) -> &Vec<f32>| -> Tensor {
            let values: Vec<f64> = reading.iter().flat_map(of).map(|x| f64::from(*x)).collect();
            tensor(&values, if values.is_empty() { &[0, 0] } else { &shape })
        };
        let own = Var::from_tensor(&column(|r| &r.logprobs)).unwrap();
        let divergence = Var::from_tensor(&column(|r| &r.divergence)).unwrap();
        let log_ratio = column(|r| &r.log_ratio);
        let all = log_softmax(logits.as_tensor(), D::Minus1).unwrap();
        let policy = if reading.is_some() {
            own.as_tensor().clone()
        } else {
            let index = Tensor::from_vec(targets.clone(), (rows.len(), 1), &Device::Cpu).unwrap();
            all.gather(&index, 1).unwrap().squeeze(1).unwrap().reshape(&shape).unwrap()
        };
        let entropy = (all.exp().unwrap() * &all).unwrap().sum(D::Minus1).unwrap().neg().unwrap();
        let entropy = entropy.reshape(&shape).unwrap();
        let numbers_of = (0..part.len() as u32).flat_map(|number| std::iter::repeat_n(number, t)).collect::<Vec<_>>();
        let token_credit: Vec<f64> = rows.iter().map(|i| credit[i / t]).collect();
        let proximal = self.proximal.as_ref().map(|proximal| tensor(&pick(proximal), &shape));
        let batch = TokenBatch {
            policy_logprobs: &policy,
            behavior_logprobs: &tensor(&pick(&self.behavior), &shape),
            reference_logprobs: Some(&tensor(&pick(&self.reference), &shape)),
            proximal_logprobs: proximal.as_ref(),
            teacher: view.map(|_| TeacherBatch { log_ratio: &log_ratio, divergence: &divergence }),
            entropy: objective.needs().entropy.then_some(&entropy),
            credit: &tensor(&token_credit, &shape),
            sequences: &Tensor::from_vec(numbers_of, &shape, &Device::Cpu).unwrap(),
            mask: &tensor(&pick(mask), &shape),
        };
        let loss = (objective.loss(&batch).unwrap() / normalizer).unwrap();
        out.loss += numbers(&loss)[0];
        let of_tokens = numbers(&objective.token_credit(&batch).unwrap());
        rows.iter().zip(of_tokens).for_each(|(i, a)| out.token_credit[*i] = a);
        if reading.is_some() {
            out.divergence.resize(out.token_credit.len(), 0.0);
            rows.iter().zip(numbers(&divergence)).for_each(|(i, d)| out.divergence[*i] = d);
        }
        let store = loss.backward().unwrap();
        let of = |var: &Var| store.get(var).map(numbers);
        let gradient = match &view {
            None => of(&logits).unwrap_or_else(|| vec![0.0; rows.len() * v]),
            Some(view) => {
                let mut gradient = student.clone();
                let [of_logprobs, of_divergence] =
                    [&own, &divergence].map(|var| narrow(of(var).unwrap_or_else(|| vec![0.0; rows.len()])));
                logits_gradient(&mut gradient, &targets, &of_logprobs, Some((&of_divergence, &teacher, view)));
                gradient.into_iter().map(f64::from).collect()
            }
        };
        for (row, gradient) in rows.iter().zip(gradient.chunks(v)) {
            out.gradient[row * v..(row + 1) * v].copy_from_slice(gradient);
        }
    }
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}
