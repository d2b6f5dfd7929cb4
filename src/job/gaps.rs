//! What training on stored completions leaves undone.

use serde::{Deserialize, Serialize};

/// After training: what the stored completions cannot cover of the target, beside how far the policy is from the target on
/// them. Means over the groups. What it makes of other prompts is a matter of evaluations, and what no weights of the model could
/// do is not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    pub beta: f64,
    /// The least and the most that `beta log(1/pi*(S))` can be, in units of reward; more epochs cannot repair it. Versions
    /// before had no bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_price_low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_price_high: Option<f64>,
    /// The same with what was not drawn estimated by what was drawn once (Good-Turing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_price_good_turing: Option<f64>,
    /// What versions before said of it: an estimate from the same completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage_gap: Option<f64>,
    /// `KL(pi*_S || pi_theta)`, in nats, on the distinct stored completions.
    #[serde(alias = "optimisation_kl")]
    pub support_kl: f64,
    /// `beta` times that.
    #[serde(alias = "optimisation_gap")]
    pub beta_support_kl: f64,
}
