//! What a finished model must reach to be accepted. A gate judges and changes nothing: a job whose gate is missed has
//! succeeded all the same, and its result says that it missed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::{FieldError, Fields};
use super::spec::EvalSpec;

/// Differences below this are rounding.
const ROUNDING: f64 = 1e-9;

/// Demands on the evaluation at the end; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateSpec {
    /// The least pass@1 after the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_at_1: Option<f64>,
    /// The least gain in pass@1 over the evaluation before the first step; negative admits a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1.0, max = 1.0))]
    pub improvement: Option<f64>,
}

/// How a gate was met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether every check was.
    pub passed: bool,
    pub checks: Vec<Check>,
}

/// One demand and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The field of the gate.
    pub name: &'static str,
    pub required: f64,
    /// None when it was not measured, which does not pass.
    pub measured: Option<f64>,
    pub passed: bool,
}

impl GateSpec {
    /// Checks that something is asked for, and that the evaluations of the job measure it.
    pub fn check(&self, eval: &EvalSpec) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below("");
        fields.require(self.demands().next().is_some(), "gate", "needs `pass_at_1` or `improvement`");
        fields.require(eval.pass_at.contains(&1), "gate", "needs 1 among `eval.pass_at`");
        fields.require(self.improvement.is_none() || eval.before, "gate/improvement", "needs `eval.before`");
        fields.finish()
    }

    /// What is demanded, by the names of the fields.
    pub fn demands(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [("pass_at_1", self.pass_at_1), ("improvement", self.improvement)];
        all.into_iter().filter_map(|(name, required)| Some((name, required?)))
    }

    /// Holds the pass@1 of both evaluations against the demands.
    pub fn judge(&self, before: Option<f64>, after: Option<f64>) -> Verdict {
        let gain = before.zip(after).map(|(before, after)| after - before);
        let check = |(name, required)| {
            let measured = if name == "improvement" { gain } else { after };
            Check { name, required, measured, passed: measured.is_some_and(|value| value >= required - ROUNDING) }
        };
        let checks: Vec<Check> = self.demands().map(check).collect();
        Verdict { passed: checks.iter().all(|check| check.passed), checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_passes_at_its_bound_and_not_below_and_never_unmeasured() {
        let gate = GateSpec { pass_at_1: Some(0.6), improvement: Some(0.1) };
        assert!(gate.judge(Some(0.5), Some(0.6)).passed, "rounding is no loss");
        let missed = gate.judge(Some(0.6), Some(0.65));
        assert!(!missed.passed && missed.checks[0].passed && !missed.checks[1].passed);
        let unmeasured = gate.judge(None, Some(0.9));
        assert_eq!((unmeasured.passed, unmeasured.checks[1].measured), (false, None));
    }

    #[test]
    fn a_gate_asks_only_for_what_is_evaluated() {
        let eval = EvalSpec::default();
        let gate = |pass_at_1, improvement| GateSpec { pass_at_1, improvement };
        assert!(gate(Some(0.5), Some(-0.1)).check(&eval).is_ok());
        assert!(gate(None, None).check(&eval).is_err());
        let without = EvalSpec { before: false, pass_at: vec![8], ..EvalSpec::default() };
        let errors = gate(None, Some(0.0)).check(&without).unwrap_err();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/gate", "/gate/improvement"]);
    }
}
