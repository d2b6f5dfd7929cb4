//! What training on stored completions leaves undone.

use serde::{Deserialize, Serialize};

/// After training: what the stored completions cannot cover of the target, beside how far the policy is from the target on
/// them, and on those of prompts that were not trained on. Means over the groups. What no weights of the model could do is not
/// known.
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
    /// The same of the policy that sampled them, in nats: what there was to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_kl_before: Option<f64>,
    /// Where the objective asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

/// What training makes of prompts that it does not train on: the same of completions of theirs that the same policy sampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    pub groups: u64,
    pub support_price_low: f64,
    pub support_price_high: f64,
    pub support_price_good_turing: f64,
    pub support_kl: f64,
    pub beta_support_kl: f64,
    pub support_kl_before: f64,
    /// How much nearer to the target training came on what it trained on than here, in nats: what did not generalise. Both are
    /// means over prompts of what was before less what is left, and the second number is the standard error of their difference,
    /// which takes two prompts of each.
    pub generalisation_kl: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generalisation_kl_error: Option<f64>,
}

/// Some to try forms with.
#[cfg(test)]
pub fn example() -> Gaps {
    Gaps {
        beta: 0.25,
        support_price_low: Some(0.25),
        support_price_high: Some(0.75),
        support_price_good_turing: Some(0.5),
        coverage_gap: None,
        support_kl: 1.5,
        beta_support_kl: 0.375,
        support_kl_before: Some(2.0),
        held_out: Some(HeldOut {
            groups: 4,
            support_price_low: 0.25,
            support_price_high: 0.75,
            support_price_good_turing: 0.5,
            support_kl: 1.75,
            beta_support_kl: 0.4375,
            support_kl_before: 2.0,
            generalisation_kl: 0.25,
            generalisation_kl_error: Some(0.125),
        }),
    }
}
