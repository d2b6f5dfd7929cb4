//! FADE's schedule: the running averages of solve rate and entropy, and how much hard prompts and failures count after
//! them. The formulas are in [`super::fade`]; its schedule is also an advantage of other objectives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::math::mean;
use super::{Statistics, StepStatistics};
use crate::job::field::FieldError;

/// A configuration whose fields are those of FADE's schedule, with others before and behind them.
macro_rules! scheduled {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$before_doc:meta])* $before:ident: $before_type:ty = $before_default:expr,)*
            ..
            $($(#[$after_doc:meta])* $after:ident: $after_type:ty = $after_default:expr,)*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        $(#[$doc])*
        pub struct $name {
            $($(#[$before_doc])* pub $before: $before_type,)*
            /// Weight of a new step in the running averages; with 0.02 they follow within about 100 steps.
            #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
            pub ema: f64,
            /// Largest exponent of the difficulty axis; 1 turns it off.
            #[schemars(range(min = 1.0))]
            pub alpha_max: f64,
            /// Smallest divisor of negative advantages; 1 turns the sign axis off.
            #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
            pub delta_min: f64,
            pub entropy_target: $crate::objective::schedule::EntropyTarget,
            pub ema_convention: $crate::objective::schedule::EmaConvention,
            pub entropy_scale: $crate::objective::schedule::EntropyScale,
            pub alpha_follows: $crate::objective::schedule::AlphaFollows,
            $($(#[$after_doc])* pub $after: $after_type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                use $crate::objective::schedule::{AlphaFollows, Auto, EmaConvention, EntropyScale, EntropyTarget};
                Self {
                    $($before: $before_default,)*
                    ema: 0.02,
                    alpha_max: 3.0,
                    delta_min: 0.3,
                    entropy_target: EntropyTarget::Named(Auto::Auto),
                    ema_convention: EmaConvention::Standard,
                    entropy_scale: EntropyScale::Absolute,
                    alpha_follows: AlphaFollows::SolveRate,
                    $($after: $after_default,)*
                }
            }
        }

        impl $name {
            /// The part that makes advantages.
            pub fn schedule(&self) -> $crate::objective::schedule::Schedule {
                $crate::objective::schedule::Schedule {
                    ema: self.ema,
                    alpha_max: self.alpha_max,
                    delta_min: self.delta_min,
                    entropy_target: self.entropy_target,
                    ema_convention: self.ema_convention,
                    entropy_scale: self.entropy_scale,
                    alpha_follows: self.alpha_follows,
                }
            }
        }
    };
}
pub(super) use scheduled;

scheduled! {
    /// The part of the configuration that makes advantages; also `advantage: {"fade": {...}}` of other objectives.
    // The document has a schedule of learning rates too.
    #[schemars(rename = "FadeSchedule")]
    Schedule { .. }
}

/// H*, the mean token entropy that is aimed at, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be \"auto\" or a number of nats")]
pub enum EntropyTarget {
    Nats(#[schemars(extend("exclusiveMinimum" = 0.0))] f64),
    /// Half of the first step's entropy.
    Named(Auto),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auto {
    Auto,
}

/// Which of its two factors the old average has in the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmaConvention {
    /// `p_hat <- (1 - ema) p_hat + ema p`: slow.
    Standard,
    /// `p_hat <- ema p_hat + (1 - ema) p`, as the paper prints it: almost the last step alone.
    AsPrinted,
}

/// How far entropy is from its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntropyScale {
    /// In nats: `H_hat - H*`.
    Absolute,
    /// As a share: `(H_hat - H*) / H*`, for models whose entropy is small from the start.
    Relative,
}

/// What the exponent of the difficulty axis follows; the latter two are for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlphaFollows {
    /// The solve rate: `clip(3 (1 - p_hat) / (2 p_hat), 1, alpha_max)`.
    SolveRate,
    /// Entropy, as the sign axis does: `alpha_max` at the first step's, 1 at its target,
    /// `clip(1 + (alpha_max - 1) (H_hat - H*) / (H_0 - H*), 1, alpha_max)`.
    Entropy,
    /// Nothing but the logarithm of the steps t: `clip(alpha_max - log(1 + ema t), 1, alpha_max)`.
    LogSteps,
}

/// A delta above which failures count as good as once.
const IDLE_DELTA: f64 = 0.95;
/// After so many steps with one it is said.
const IDLE_STEPS: u64 = 20;

/// The running averages and what follows from them.
#[derive(Clone, Debug)]
pub struct Averages {
    schedule: Schedule,
    /// p_hat.
    solve_rate: f64,
    /// H_hat and H_0; none before the first step.
    entropy: Option<f64>,
    initial_entropy: Option<f64>,
    /// A reward outside {0, 1} was seen.
    graded_rewards: bool,
    /// The last step's entropy.
    last_entropy: Option<f64>,
    /// Steps in a row, up to the last, at which delta was as good as 1.
    idle_steps: u64,
    /// Steps that were taken in before the last.
    steps: u64,
}

impl Averages {
    pub fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            solve_rate: 0.5,
            entropy: None,
            initial_entropy: None,
            graded_rewards: false,
            last_entropy: None,
            idle_steps: 0,
            steps: 0,
        }
    }

    /// Takes in a step's solve rate and entropy.
    pub fn update(&mut self, step: &StepStatistics<'_>) {
        let rewards = step.rewards.concat();
        if rewards.is_empty() {
            return;
        }
        let keep = match self.schedule.ema_convention {
            EmaConvention::Standard => 1.0 - self.schedule.ema,
            EmaConvention::AsPrinted => self.schedule.ema,
        };
        let average = |old: f64, new: f64| keep * old + (1.0 - keep) * new;
        self.steps += u64::from(self.initial_entropy.is_some());
        self.initial_entropy.get_or_insert(step.token_entropy);
        self.solve_rate = average(self.solve_rate, mean(&rewards).clamp(0.0, 1.0));
        self.entropy = Some(average(self.entropy.unwrap_or(step.token_entropy), step.token_entropy));
        self.graded_rewards |= rewards.iter().any(|r| *r != 0.0 && *r != 1.0);
        self.last_entropy = Some(step.token_entropy);
        self.idle_steps = if self.delta() > IDLE_DELTA { self.idle_steps + 1 } else { 0 };
    }

    /// H*; none before the first step unless it is given.
    fn entropy_target(&self) -> Option<f64> {
        match self.schedule.entropy_target {
            EntropyTarget::Nats(nats) => Some(nats),
            EntropyTarget::Named(Auto::Auto) => self.initial_entropy.map(|entropy| entropy / 2.0),
        }
    }

    /// The exponent of the difficulty axis.
    pub fn alpha(&self) -> f64 {
        let most = self.schedule.alpha_max;
        let alpha = match self.schedule.alpha_follows {
            // A solve rate of 0 gives infinity, which the clip takes care of.
            AlphaFollows::SolveRate => 3.0 * (1.0 - self.solve_rate) / (2.0 * self.solve_rate),
            AlphaFollows::Entropy => 1.0 + (most - 1.0) * self.entropy_left(),
            AlphaFollows::LogSteps => most - (self.schedule.ema * self.steps as f64).ln_1p(),
        };
        alpha.clamp(1.0, most)
    }

    /// The share of the first step's distance from its target that entropy still has; 1 before the first step.
    fn entropy_left(&self) -> f64 {
        let (Some(now), Some(first), Some(target)) = (self.entropy, self.initial_entropy, self.entropy_target()) else {
            return 1.0;
        };
        if first > target { (now - target) / (first - target) } else { 0.0 }
    }

    /// The divisor of negative advantages.
    pub fn delta(&self) -> f64 {
        self.entropy.map_or(1.0, |entropy| self.delta_at(entropy, self.schedule.entropy_scale))
    }

    /// What it would be at a mean entropy.
    fn delta_at(&self, entropy: f64, scale: EntropyScale) -> f64 {
        let Some(target) = self.entropy_target() else { return 1.0 };
        let distance = match scale {
            EntropyScale::Absolute => entropy - target,
            EntropyScale::Relative if target > 0.0 => (entropy - target) / target,
            EntropyScale::Relative => 0.0,
        };
        (1.0 + distance).clamp(self.schedule.delta_min, 1.0)
    }

    pub fn report(&self) -> Statistics {
        let known = |name, value: Option<f64>| value.map(|value| (name, value));
        let always = [("fade/alpha", self.alpha()), ("fade/delta", self.delta()), ("fade/solve_rate", self.solve_rate)];
        let entropies = [known("fade/entropy", self.entropy), known("fade/entropy_target", self.entropy_target())];
        always.into_iter().chain(entropies.into_iter().flatten()).collect()
    }

    pub fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = Vec::new();
        let idle = self.entropy_target().is_some_and(|target| 1.0 - target > self.schedule.delta_min.max(0.8));
        if idle && self.schedule.entropy_scale == EntropyScale::Absolute && self.schedule.delta_min < 1.0 {
            let lowest = 1.0 - self.entropy_target().unwrap_or_default();
            notes.push((
                "fade_sign_axis_idle",
                format!(
                    "the model's entropy is so small that delta cannot fall below {lowest:.2}, which leaves FADE's sign \
                     axis nearly idle; use `entropy_scale`: \"relative\""
                ),
            ));
        }
        if self.idle_steps >= IDLE_STEPS && self.schedule.delta_min < 1.0 {
            notes.push(("fade_delta_idle", self.why_idle()));
        }
        if self.graded_rewards {
            notes.push((
                "fade_graded_rewards",
                String::from("some rewards are neither 0 nor 1; FADE takes their mean for the solve rate"),
            ));
        }
        notes
    }

    /// What keeps delta at 1.
    fn why_idle(&self) -> String {
        let (target, last) = (self.entropy_target().unwrap_or_default(), self.last_entropy.unwrap_or_default());
        let own = self.schedule.entropy_scale;
        let cause = if self.delta_at(last, own) <= IDLE_DELTA {
            format!(
                "the last step's entropy of {last:.3} nats would give {:.2}, but the average follows slowly: `ema` {} takes \
                 about {:.0} steps; raise it",
                self.delta_at(last, own),
                self.schedule.ema,
                2.0 / self.schedule.ema
            )
        } else if last >= target {
            format!(
                "entropy, {last:.3} nats in the last step, has not fallen below `entropy_target`, {target:.3}; raise that, or \
                 let it be: nothing has to be kept alive yet"
            )
        } else if own == EntropyScale::Relative {
            format!(
                "entropy, {last:.3} nats, is hardly below `entropy_target`, {target:.3}: nothing has to be kept alive, or the \
                 target is to be raised"
            )
        } else {
            format!(
                "entropy, {last:.3} nats, is below `entropy_target`, {target:.3}, by so little that it hardly counts in nats; \
                 use `entropy_scale`: \"relative\", which would give {:.2}",
                self.delta_at(last, EntropyScale::Relative)
            )
        };
        format!(
            "for {} steps delta was {:.2} or more, so that failures count as in GRPO: {cause}",
            self.idle_steps, IDLE_DELTA
        )
    }

    pub fn state(&self) -> Value {
        json!({
            "solve_rate": self.solve_rate,
            "entropy": self.entropy,
            "initial_entropy": self.initial_entropy,
            "graded_rewards": self.graded_rewards,
            "last_entropy": self.last_entropy,
            "idle_steps": self.idle_steps,
            "steps": self.steps,
        })
    }

    pub fn restore(&mut self, state: &Value) -> Result<(), FieldError> {
        let number = |name: &str| state.get(name).and_then(Value::as_f64);
        self.solve_rate = number("solve_rate").ok_or_else(|| {
            FieldError::new("/solve_rate", "checkpoint_corrupt", "the saved state of the objective has no solve rate")
        })?;
        self.entropy = number("entropy");
        self.initial_entropy = number("initial_entropy");
        self.graded_rewards = state.get("graded_rewards").and_then(Value::as_bool).unwrap_or_default();
        self.last_entropy = number("last_entropy");
        let count = |name: &str| state.get(name).and_then(Value::as_u64).unwrap_or_default();
        (self.idle_steps, self.steps) = (count("idle_steps"), count("steps"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn update(averages: &mut Averages, rewards: &[f64], token_entropy: f64) {
        averages.update(&StepStatistics { rewards: &[rewards.to_vec()], token_entropy, ..StepStatistics::default() });
    }

    #[test]
    fn each_dial_moves_its_own_axis() {
        let mut averages = Averages::new(Schedule { ema: 1.0, ..Schedule::default() });
        update(&mut averages, &[1.0, 0.0], 2.0);
        // p_hat = 1/2 gives 3/2; entropy is a nat above its target of half the first, so that failures count once.
        assert!((averages.alpha() - 1.5).abs() < 1e-12);
        assert_eq!(averages.delta(), 1.0);
        update(&mut averages, &[0.0, 0.0], 0.4);
        assert_eq!(averages.alpha(), 3.0);
        assert!((averages.delta() - 0.4).abs() < 1e-12);
        update(&mut averages, &[1.0, 1.0], 0.0);
        assert_eq!(averages.alpha(), 1.0);
        assert!((averages.delta() - 0.3).abs() < 1e-12);
    }

    #[test]
    fn alpha_can_follow_entropy_or_the_steps_alone() {
        let alphas = |alpha_follows, entropy_target| {
            let mut averages =
                Averages::new(Schedule { ema: 1.0, alpha_follows, entropy_target, ..Schedule::default() });
            let mut of = |entropy: f64, rate: f64| {
                update(&mut averages, &[rate, rate], entropy);
                averages.alpha()
            };
            [(2.0, 1.0), (1.5, 0.0), (0.9, 1.0), (2.5, 0.0)].map(|(entropy, rate)| of(entropy, rate))
        };
        let auto = EntropyTarget::Named(Auto::Auto);
        // Half way from 2 nats to 1 it is half way from 3 to 1.
        assert_eq!(alphas(AlphaFollows::Entropy, auto), [3.0, 2.0, 1.0, 3.0]);
        assert_eq!(alphas(AlphaFollows::Entropy, EntropyTarget::Nats(2.5)), [1.0; 4], "there is nothing to lose");
        let wanted = [3.0, 3.0 - 2_f64.ln(), 3.0 - 3_f64.ln(), 3.0 - 4_f64.ln()];
        let got = alphas(AlphaFollows::LogSteps, auto);
        assert!(got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-12), "{got:?}");
    }

    #[test]
    fn the_conventions_differ_in_which_factor_keeps_the_past() {
        let solve_rate = |ema_convention| {
            let mut averages = Averages::new(Schedule { ema_convention, ..Schedule::default() });
            update(&mut averages, &[1.0, 1.0], 1.0);
            averages.solve_rate
        };
        assert!((solve_rate(EmaConvention::Standard) - 0.51).abs() < 1e-12);
        assert!((solve_rate(EmaConvention::AsPrinted) - 0.99).abs() < 1e-12);
    }

    #[test]
    fn a_restored_state_goes_on_as_if_nothing_had_happened() {
        let mut whole = Averages::new(Schedule::default());
        update(&mut whole, &[1.0, 0.25], 1.3);
        let mut resumed = Averages::new(Schedule::default());
        resumed.restore(&whole.state()).unwrap();
        for averages in [&mut whole, &mut resumed] {
            update(averages, &[0.0, 0.0], 0.7);
        }
        assert_eq!(whole.state(), resumed.state());
        assert_eq!(whole.report(), resumed.report());
        assert!(resumed.restore(&Value::Null).is_err());
    }

    #[test]
    fn what_keeps_delta_at_one_is_said() {
        let after = |schedule: Schedule, entropies: &[f64]| {
            let mut averages = Averages::new(schedule);
            entropies.iter().for_each(|entropy| update(&mut averages, &[1.0, 0.0], *entropy));
            let notes: BTreeMap<&str, String> = averages.notes().into_iter().collect();
            notes.get("fade_delta_idle").cloned().unwrap_or_default()
        };
        let falls = |to: f64| -> Vec<f64> { (0..25).map(|i| if i < 2 { 2.0 } else { to }).collect() };
        assert!(after(Schedule::default(), &falls(0.2)).contains("`ema` 0.02"));
        assert!(after(Schedule::default(), &falls(1.9)).contains("`entropy_target`, 1.000; raise"));
        let nats = EntropyTarget::Nats(0.12);
        let small = Schedule { ema: 1.0, entropy_target: nats, ..Schedule::default() };
        assert!(after(small.clone(), &falls(0.1)).contains("`entropy_scale`: \"relative\""));
        let relative = Schedule { entropy_scale: EntropyScale::Relative, ..small.clone() };
        assert!(after(relative, &falls(0.117)).contains("hardly below"));
        assert_eq!(after(small.clone(), &falls(0.01)), "", "it is not idle");
        assert_eq!(after(Schedule { delta_min: 1.0, ..small.clone() }, &falls(0.1)), "", "it was turned off");
        assert_eq!(after(small, &falls(0.1)[..19]), "", "too early to tell");
    }

    #[test]
    fn a_small_entropy_and_graded_rewards_are_said() {
        let mut averages = Averages::new(Schedule::default());
        update(&mut averages, &[1.0, 0.5], 0.1);
        let codes: Vec<&str> = averages.notes().into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, ["fade_sign_axis_idle", "fade_graded_rewards"]);
        let mut relative =
            Averages::new(Schedule { entropy_scale: EntropyScale::Relative, ema: 1.0, ..Schedule::default() });
        update(&mut relative, &[1.0, 0.0], 0.1);
        update(&mut relative, &[1.0, 0.0], 0.03);
        assert!(relative.notes().is_empty());
        assert!((relative.delta() - 0.6).abs() < 1e-12);
    }
}
