//! The catalogue of metrics: every name that a step may report, with its unit, when it is reported and what it means.
//!
//! It is the one place where a metric is described. `docs/metrics.md` shows it as tables, which a test compares word by
//! word, and whoever reports a metric takes a name from here.

#[cfg(test)]
mod tests;
mod when;

pub use when::When;

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// As it stands in events and series: `group/name`, or `name` alone.
    pub name: &'static str,
    /// What it is measured in: `1` where it has no dimension, `share` for a part of a whole, from 0 to 1.
    pub unit: &'static str,
    /// The jobs and steps that report it.
    pub when: When,
    /// One sentence, in the words of `docs/metrics.md`.
    pub meaning: &'static str,
}

/// Every metric, in the order in which they are shown.
pub const METRICS: &[Metric] = &[
    // Of every step.
    Metric {
        name: "loss",
        unit: "loss",
        when: When::EveryStep,
        meaning: "The objective's loss, summed over all tokens of the step and divided once by the step's number of \
             tokens or completions; 0 when the step had nothing to train on.",
    },
    Metric {
        name: "grad/norm",
        unit: "loss per unit of weight",
        when: When::EveryStep,
        meaning: "The Euclidean norm of the gradient of `loss` over all trained weights, before clipping.",
    },
    Metric {
        name: "learning_rate",
        unit: "1",
        when: When::EveryStep,
        meaning: "The learning rate that the step's update used.",
    },
    Metric {
        name: "step/tokens",
        unit: "tokens",
        when: When::EveryStep,
        meaning: "Completion tokens that the step trained on.",
    },
    Metric {
        name: "step/sequences",
        unit: "completions",
        when: When::EveryStep,
        meaning: "Completions that the step trained on.",
    },
    Metric {
        name: "time/step_seconds",
        unit: "seconds",
        when: When::EveryStep,
        meaning: "Wall-clock time of the forward and backward passes and the update, without sampling, \
             verification, evaluation and checkpoints.",
    },
    Metric {
        name: "throughput/train_tokens_per_second",
        unit: "tokens per second",
        when: When::EveryStep,
        meaning: "Prompt and completion tokens of the step divided by `time/step_seconds`.",
    },
    Metric {
        name: "memory/peak_bytes",
        unit: "bytes",
        when: When::EveryStep,
        meaning: "The most memory that the job's process has held since it began, on a GPU of the device's; the plan \
             of a dry run says beforehand what to expect.",
    },
    Metric {
        name: "mass/success",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The sum of the positive credits of the step's completions divided by their number; with `vopd` \
             a completion's part is the mean over its tokens.",
    },
    Metric {
        name: "mass/success_0_20",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/success` that comes from groups with a solve rate below 0.2.",
    },
    Metric {
        name: "mass/success_20_40",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/success` that comes from groups with a solve rate of at least 0.2 and below 0.4.",
    },
    Metric {
        name: "mass/success_40_60",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/success` that comes from groups with a solve rate of at least 0.4 and below 0.6.",
    },
    Metric {
        name: "mass/success_60_80",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/success` that comes from groups with a solve rate of at least 0.6 and below 0.8.",
    },
    Metric {
        name: "mass/success_80_100",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/success` that comes from groups with a solve rate of at least 0.8.",
    },
    Metric {
        name: "mass/failure",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The sum of the absolute values of the negative credits of the step's completions divided by their \
             number; with `vopd` a completion's part is the mean over its tokens.",
    },
    Metric {
        name: "mass/failure_0_20",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/failure` that comes from groups with a solve rate below 0.2.",
    },
    Metric {
        name: "mass/failure_20_40",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/failure` that comes from groups with a solve rate of at least 0.2 and below 0.4.",
    },
    Metric {
        name: "mass/failure_40_60",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/failure` that comes from groups with a solve rate of at least 0.4 and below 0.6.",
    },
    Metric {
        name: "mass/failure_60_80",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/failure` that comes from groups with a solve rate of at least 0.6 and below 0.8.",
    },
    Metric {
        name: "mass/failure_80_100",
        unit: "credit",
        when: When::EveryStep,
        meaning: "The part of `mass/failure` that comes from groups with a solve rate of at least 0.8.",
    },
    // Of the experts of a step.
    Metric {
        name: "experts/balance",
        unit: "1",
        when: When::Experts,
        meaning: "The load-balancing loss over all prompt and completion tokens of the step, without its weight, as \
             the mean over the layers: the number of experts of a token where all experts of a layer are chosen \
             equally often, more where they are not.",
    },
    Metric {
        name: "experts/busiest",
        unit: "1",
        when: When::Experts,
        meaning: "How often the most chosen expert of a layer is chosen, in multiples of an even share, as the mean \
             over the layers; 1 is even.",
    },
    Metric {
        name: "experts/idle",
        unit: "share",
        when: When::Experts,
        meaning: "The part of a layer's experts that no token of the step chose, as the mean over the layers.",
    },
    // Of the completions of a step.
    Metric {
        name: "logprob/max_abs_diff",
        unit: "nats",
        when: When::Completions,
        meaning: "The largest absolute value of policy - behavior over the step's tokens, before the update.",
    },
    Metric {
        name: "logprob/mean_abs_diff",
        unit: "nats",
        when: When::Completions,
        meaning: "The mean absolute value of policy - behavior over the step's tokens, before the update.",
    },
    Metric { name: "reward/mean", unit: "reward", when: When::Judged, meaning: "The mean reward of the completions." },
    Metric {
        name: "reward/std",
        unit: "reward",
        when: When::Judged,
        meaning: "The population standard deviation of the rewards over all completions of the step, not within \
             groups.",
    },
    Metric {
        name: "reward/solve_rate",
        unit: "share",
        when: When::Judged,
        meaning: "The share of completions whose reward is at least 0.5.",
    },
    Metric {
        name: "reward/zero_spread",
        unit: "share",
        when: When::Judged,
        meaning: "The share of groups whose rewards are all equal.",
    },
    Metric {
        name: "reward/length_correlation",
        unit: "1",
        when: When::JudgedApart,
        meaning: "Pearson's correlation of reward and number of tokens, both less their prompt's mean; absent where lengths never differ.",
    },
    Metric {
        name: "reward/top_answer_share",
        unit: "share",
        when: When::AnswersRewarded,
        meaning: "How far the share of the reward that the best-paid answer got lies above the largest share of rows that \
            expect one answer, as a share of the rest; at least 0, and absent where all expect the same.",
    },
    Metric {
        name: "pass/at_1",
        unit: "share",
        when: When::Judged,
        meaning: "The share of a group's completions whose reward is at least 0.5, averaged over the groups.",
    },
    Metric {
        name: "pass/at_group",
        unit: "share",
        when: When::Judged,
        meaning: "The share of groups in which at least one completion has a reward of at least 0.5.",
    },
    Metric {
        name: "completion/tokens_mean",
        unit: "tokens",
        when: When::Completions,
        meaning: "The mean length of the completions.",
    },
    Metric {
        name: "completion/thinking_tokens_mean",
        unit: "tokens",
        when: When::Thinking,
        meaning: "The mean length up to the end of the reasoning; all of a completion that does not end it.",
    },
    Metric {
        name: "completion/answer_tokens_mean",
        unit: "tokens",
        when: When::Thinking,
        meaning: "The mean length of what follows the reasoning; 0 for a completion that does not end it.",
    },
    Metric {
        name: "completion/thinking_unfinished",
        unit: "share",
        when: When::Thinking,
        meaning: "The share of completions that do not end their reasoning, of which verifiers see nothing.",
    },
    Metric {
        name: "completion/turns_mean",
        unit: "turns",
        when: When::Environment,
        meaning: "The mean number of turns that the model had.",
    },
    Metric {
        name: "completion/environment_tokens_mean",
        unit: "tokens",
        when: When::Environment,
        meaning: "The mean number of tokens that the environment wrote, which `completion/tokens_mean` leaves out.",
    },
    Metric {
        name: "completion/truncated",
        unit: "share",
        when: When::Completions,
        meaning: "The share of completions that ended at `max_new_tokens` or at the end of the context.",
    },
    Metric {
        name: "completion/special_tokens",
        unit: "share",
        when: When::Completions,
        meaning: "The share of completions with a special token before their end, such as a mark of turns.",
    },
    Metric {
        name: "verifier/errors",
        unit: "share",
        when: When::Fresh,
        meaning: "The share of the completions sampled for the step's prompts that the verifier could not judge, by an \
            error or out of time; they are left out.",
    },
    Metric {
        name: "verifier/unparsable",
        unit: "share",
        when: When::Judged,
        meaning: "The share of the step's completions with nothing to judge in them; they earn 0, or `wrong_reward` if less.",
    },
    Metric {
        name: "verifier/timeouts",
        unit: "share",
        when: When::FirstOnFresh,
        meaning: "The share of the verifications of the sampling phase before the step that did not end in time.",
    },
    Metric {
        name: "verifier/seconds_p50",
        unit: "seconds",
        when: When::FirstOnFresh,
        meaning: "The median time of a verdict of that phase; where one call gives several, that of the call.",
    },
    Metric {
        name: "verifier/seconds_p95",
        unit: "seconds",
        when: When::FirstOnFresh,
        meaning: "The time that 95 % of those verdicts took at most.",
    },
    Metric {
        name: "verifier/seconds_max",
        unit: "seconds",
        when: When::FirstOnFresh,
        meaning: "The longest time that one of those verdicts took.",
    },
    Metric {
        name: "verifier/wait_seconds",
        unit: "seconds",
        when: When::FirstOnFresh,
        meaning: "Wall-clock time from the end of that sampling phase to its last verdict: what the verifier cost the job, as \
            it judges beside the sampling.",
    },
    Metric {
        name: "verifier/passed_without_answer",
        unit: "share",
        when: When::Answers,
        meaning: "The share of the step's completions that pass, with a reward of 0.5 at least, and hold no answer that the \
            verifier could name.",
    },
    Metric {
        name: "part/NAME",
        unit: "1",
        when: When::Parts,
        meaning: "The mean reward of the part NAME of the verifier over the step's completions that it judged.",
    },
    Metric {
        name: "entropy/mean",
        unit: "nats per token",
        when: When::Completions,
        meaning: "The mean entropy of the model's distribution over the whole vocabulary at temperature 1, at the \
             moment each token was sampled.",
    },
    Metric {
        name: "ess/ratio",
        unit: "share",
        when: When::Completions,
        meaning: "The effective sample size of the ratios as a share of the step's n tokens, `(sum rho)^2 / (n sum \
             rho^2)`, before the update.",
    },
    Metric {
        name: "kl/behavior",
        unit: "nats per token",
        when: When::Completions,
        meaning: "The mean of `k3(policy, behavior)` over the step's tokens, before the update; over completions of the \
             behavior policy it estimates its chi-squared divergence from the policy less its KL divergence, which soon is \
             much more than the KL divergence of the policy from it (`kl/importance`).",
    },
    Metric {
        name: "kl/importance",
        unit: "nats per token",
        when: When::Completions,
        meaning: "The mean of `rho log rho - rho + 1` over the step's tokens, before the update: an unbiased estimate of \
             the KL divergence of the policy from the behavior policy.",
    },
    Metric {
        name: "kl/reference",
        unit: "nats per token",
        when: When::Reference,
        meaning: "The mean of `k3(policy, reference)` over the step's tokens, before the update: without bias the KL divergence of \
             the policy from the reference where the policy itself sampled them, and of no two of them where an earlier one did.",
    },
    Metric {
        name: "clip/fraction",
        unit: "share",
        when: When::Clip,
        meaning: "The share of the step's tokens at which the clip of the PPO surrogate is active, so that they \
             give no gradient; with ratios of whole completions their tokens count alike.",
    },
    Metric {
        name: "rollout/staleness",
        unit: "steps",
        when: When::Completions,
        meaning: "The mean number of optimizer steps between the sampling of a completion and this step, without \
             stored completions; 0 when all were sampled by the policy that the step updates.",
    },
    Metric {
        name: "rollout/replaced",
        unit: "share",
        when: When::DynamicSampling,
        meaning: "The share of the prompts sampled for the phase that others replaced, or that replaced none, because all \
             their completions earned the same.",
    },
    Metric {
        name: "rollout/stored_share",
        unit: "share",
        when: When::Stored,
        meaning: "The share of the step's completions that come from a stored rollout set.",
    },
    Metric {
        name: "time/rollout_seconds",
        unit: "seconds",
        when: When::SamplingPhase,
        meaning: "Wall-clock time of the last sampling phase, verification included; of one beside steps, whose last one reports it, with what training took of the cores.",
    },
    Metric {
        name: "throughput/rollout_tokens_per_second",
        unit: "tokens per second",
        when: When::SamplingPhase,
        meaning: "Completion tokens sampled in the phase divided by `time/rollout_seconds`.",
    },
    // What is known of the rows.
    Metric {
        name: "data/rows_seen",
        unit: "share",
        when: When::Adaptive,
        meaning: "The share of the rows that were drawn at least once.",
    },
    Metric {
        name: "data/solve_rate",
        unit: "share",
        when: When::Adaptive,
        meaning: "The mean, over the rows that were drawn, of the solve rate that each had of late, by which it is \
             drawn again.",
    },
    Metric {
        name: "data/solve_rate_20_80",
        unit: "share",
        when: When::Adaptive,
        meaning: "The share of the rows that were drawn whose solve rate of late is from 0.2 to 0.8.",
    },
    Metric {
        name: "data/oldest_passes",
        unit: "passes",
        when: When::Adaptive,
        meaning: "Prompts drawn since the row that was not drawn for the longest time, divided by the number of rows.",
    },
    // What the rewards can teach.
    Metric {
        name: "target/ess_share",
        unit: "share",
        when: When::Bolt,
        meaning: "The effective sample size of the weights as a share of the group, `(sum w)^2 / (G sum w^2)`; 1 \
             for a group whose rewards are all equal.",
    },
    Metric {
        name: "target/success",
        unit: "reward",
        when: When::Bolt,
        meaning: "The mean reward under the weights, `sum w r / G`, which a policy that fits the target would reach \
             on these completions.",
    },
    Metric {
        name: "target/log_partition",
        unit: "1",
        when: When::Bolt,
        meaning: "The logarithm of the estimate of the partition function, `log((1/G) sum exp(r/beta))`.",
    },
    Metric {
        name: "target/partition_error_low",
        unit: "nats",
        when: When::Bolt,
        meaning: "The partition error: the least by which that estimate can differ from `log Z`.",
    },
    Metric {
        name: "target/partition_error_high",
        unit: "nats",
        when: When::Bolt,
        meaning: "The most by which it can differ.",
    },
    Metric {
        name: "coverage/distinct_answers",
        unit: "share",
        when: When::Bolt,
        meaning: "Distinct answers, as the verifier compares them (or whole completions where it compares none), as a share of the group.",
    },
    Metric {
        name: "coverage/distinct_completions",
        unit: "share",
        when: When::Bolt,
        meaning: "Distinct completions, compared token by token, as a share of the group.",
    },
    Metric {
        name: "coverage/pass_at_group",
        unit: "share",
        when: When::Bolt,
        meaning: "The share of groups in which at least one completion has a reward of at least 0.5.",
    },
    Metric {
        name: "coverage/unseen_answers",
        unit: "share",
        when: When::Bolt,
        meaning: "The Good-Turing estimate of the probability of answers that were not sampled: those that occur \
             once, divided by G.",
    },
    Metric {
        name: "coverage/support_price_low",
        unit: "reward",
        when: When::Bolt,
        meaning: "The least that `beta log(1/pi*(S))` can be, where `pi*(S)` is the probability that the target gives to the \
             distinct completions sampled: what no policy supported on them can regain if all others earn \
             the least reward.",
    },
    Metric {
        name: "coverage/support_price_high",
        unit: "reward",
        when: When::Bolt,
        meaning: "The most that it can be: if all completions that were not sampled earn the largest reward.",
    },
    Metric {
        name: "coverage/support_price_good_turing",
        unit: "reward",
        when: When::Bolt,
        meaning: "The same with what completions that were not sampled weigh in the target estimated by those that were \
             sampled once (Good-Turing).",
    },
    // Of one objective.
    Metric {
        name: "p3o/ess",
        unit: "share",
        when: When::StepEss,
        meaning: "The effective sample size e of the step as the loss used it, without gradient: the cap of the \
             ratios, and 1 minus the weight of the KL term (with `behavior_coef` 1).",
    },
    Metric {
        name: "geometry/head_first_share",
        unit: "share",
        when: When::Geometry,
        meaning: "The share of the change of the output head since the start, as a sum of squares, that lies in its first \
             singular direction: near 1 the update has collapsed to a single direction.",
    },
    Metric {
        name: "fade/alpha",
        unit: "1",
        when: When::Fade,
        meaning: "The exponent of the difficulty axis, `clip(3 (1 - p_hat) / (2 p_hat), 1, alpha_max)` or what `alpha_follows` \
             says: the larger, the more hard prompts count.",
    },
    Metric {
        name: "fade/delta",
        unit: "1",
        when: When::Fade,
        meaning: "The divisor of negative advantages, `clip(1 + H_hat - H*, delta_min, 1)` or its `relative` form: \
             the smaller, the more failures count.",
    },
    Metric {
        name: "fade/solve_rate",
        unit: "share",
        when: When::Fade,
        meaning: "`p_hat`, the running average of the steps' solve rate, which starts at 0.5; the mean reward, \
             limited to 0 to 1, stands for the solve rate of a step.",
    },
    Metric {
        name: "fade/entropy",
        unit: "nats per token",
        when: When::Fade,
        meaning: "`H_hat`, the running average of the steps' mean token entropy, which starts at that of the first \
             step.",
    },
    Metric {
        name: "fade/entropy_target",
        unit: "nats per token",
        when: When::Fade,
        meaning: "`H*`, the entropy that is aimed at: `entropy_target`, or half of the first step's mean token \
             entropy.",
    },
    Metric {
        name: "kl/teacher",
        unit: "nats per token",
        when: When::Vopd,
        meaning: "The mean over the step's tokens of KL(policy, teacher), with the logits of both divided by \
             `kd_temperature`; over the whole vocabulary, or with a `top_k` baseline or estimator over the policy's k \
             most probable tokens.",
    },
    Metric {
        name: "vopd/log_ratio",
        unit: "nats per token",
        when: When::Vopd,
        meaning: "The mean over the step's tokens of `r_t`, the teacher's log-probability of the token minus the \
             policy's, both at `kd_temperature`.",
    },
    Metric {
        name: "vopd/advantage_std",
        unit: "nats",
        when: When::Vopd,
        meaning: "The population standard deviation of `a_t`, the credit of a token, over the step's tokens.",
    },
];

/// What the names of the metrics of a verifier's parts begin with; behind it stands the part's name.
pub const PARTS: &str = "part/";

/// The metric of that name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name || (name.starts_with(PARTS) && metric.name.starts_with(PARTS)))
}
