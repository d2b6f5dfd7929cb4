//! What a finished job has to show, gathered while it runs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::Outcome;
use crate::job::event::{LogDetail, Logged};
use crate::job::{
    ArtifactId, ArtifactKind, ArtifactSummary, CheckpointId, EvaluationId, EvaluationSummary, EventBody, Flips,
    GateSpec, PolicyEvaluation, RolloutSetId,
};
use crate::store::Verification;

/// Evaluations that checkpoints may belong to which are on their way.
const MOST_SCORES: usize = 8;

/// What a job has made so far, and what its result must say about it.
pub struct ResultBuilder {
    /// The finished model's checkpoint.
    model: Option<CheckpointId>,
    rollout_set: Option<RolloutSetId>,
    /// What an evaluation found.
    evaluation: Option<(EvaluationId, EvaluationSummary)>,
    /// What scoring again changed.
    flips: Option<Flips>,
    gate: Option<GateSpec>,
    verification: Option<Verification>,
    /// What the last evaluations found, by their steps, until checkpoints of these steps take it.
    scores: BTreeMap<u64, f64>,
}

impl ResultBuilder {
    pub fn new(gate: Option<GateSpec>, verification: Option<Verification>) -> Self {
        Self {
            model: None,
            rollout_set: None,
            evaluation: None,
            flips: None,
            gate,
            verification,
            scores: BTreeMap::new(),
        }
    }

    /// Takes from an event what later answers need.
    pub fn note(&mut self, event: &EventBody) {
        if let EventBody::Evaluation(found) = event {
            self.scores.extend(found.pass_at().first().map(|pass| (found.step(), pass.mean)));
            // A checkpoint may be on its way while the next evaluation is made.
            while self.scores.len() > MOST_SCORES {
                self.scores.pop_first();
            }
        }
        if let EventBody::Log(Logged { detail: LogDetail::Regraded { flips, .. }, .. }) = event {
            self.flips.clone_from(flips);
        }
    }

    /// Takes note of an artifact that has become visible.
    pub fn made(&mut self, id: ArtifactId, kind: ArtifactKind, summary: &ArtifactSummary) {
        match id {
            ArtifactId::Checkpoint(id) => {
                if kind == ArtifactKind::Inference {
                    self.model = Some(id);
                }
            }
            ArtifactId::RolloutSet(id) => self.rollout_set = Some(id),
            ArtifactId::Evaluation(id) => {
                if let ArtifactSummary::Evaluation(found) = summary {
                    self.evaluation = Some((id, found.clone()));
                }
            }
        }
    }

    /// What an evaluation at `step` found, once: a round that begins at the same step saves completions, and no better
    /// model.
    pub fn take_score(&mut self, step: u64) -> Option<f64> {
        self.scores.remove(&step)
    }

    /// The result of a job that has succeeded.
    pub fn result(&self, outcome: Option<&Outcome>) -> Value {
        if let Some((id, summary)) = &self.evaluation {
            let mut result = json!({"evaluation": id});
            if let (Some(result), Value::Object(summary)) = (result.as_object_mut(), json!(summary)) {
                result.extend(summary);
            }
            return result;
        }
        let Some(outcome) = outcome else {
            return match &self.flips {
                Some(flips) => json!({"rollout_set": self.rollout_set, "flips": flips}),
                None => json!({"rollout_set": self.rollout_set}),
            };
        };
        let sha256 = outcome.model.manifest.weights_sha256();
        let mut result = json!({
            "checkpoint": self.model,
            "weights_sha256": sha256,
            "rollout_set": self.rollout_set,
            "before": outcome.before,
            "after": outcome.after,
            "report": outcome.report,
        });
        if let Some(gate) = &self.gate {
            let pass_at_1 = |evaluation: &Option<PolicyEvaluation>| evaluation.as_ref().and_then(pass_at_1);
            result["gate"] = json!(gate.judge(pass_at_1(&outcome.before), pass_at_1(&outcome.after)));
        }
        if let Some(verification) = &self.verification {
            result["verify_resume"] = json!({
                "job": verification.source,
                "checkpoint": verification.checkpoint,
                "from_step": verification.from_step,
                "identical": sha256 == Some(verification.expected_weights_sha256.as_str()),
                "weights_sha256": sha256,
                "expected_weights_sha256": verification.expected_weights_sha256,
            });
        }
        result
    }
}

fn pass_at_1(evaluation: &PolicyEvaluation) -> Option<f64> {
    evaluation.pass_at.iter().find(|pass| pass.k == 1).map(|pass| pass.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::PassAtK;
    use crate::job::event::EvaluationFound;

    #[test]
    fn a_score_belongs_to_the_first_checkpoint_of_its_step() {
        let mut result = ResultBuilder::new(None, None);
        let pass = |k, mean| PassAtK::new(k, mean, 0.0, 1.0);
        let found = PolicyEvaluation {
            step: 10,
            prompts: 1,
            samples: 4,
            pass_at: vec![pass(1, 0.5), pass(4, 0.7)],
            majority: None,
            distinct_answers: None,
            reward_mean: 0.0,
            tokens_mean: 0.0,
            truncated: 0.0,
            passed: Vec::new(),
        };
        result.note(&EventBody::Evaluation(EvaluationFound::Policy(found)));
        assert_eq!(result.take_score(9), None);
        assert_eq!(result.take_score(10), Some(0.5));
        assert_eq!(result.take_score(10), None);
    }
}
