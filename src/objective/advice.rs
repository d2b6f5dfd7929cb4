//! What a set of scored completions says for and against each objective, by its numbers: whether completions of a prompt
//! differ in reward, how many prompts never or always succeed, how far on the policy was that sampled, how much the
//! model still wavers, and whether there is a teacher. Nothing is sampled or trained. Reasons have weights, from -3 to
//! 3, whose sum ranks; they and the marks at which they begin to count are judgement, and each names the number that it
//! rests on.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::frontier::{Coverage, Frontier, ScoredGroup};
use super::math::{is_zero_spread, mean, population_std};
use super::{Config, presets};
use crate::job::spec::{RolloutSpec, TrainSpec};

/// What was measured on a set, beside its frontier.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Prompts.
    pub groups: usize,
    pub completions: usize,
    /// Completions per prompt, on average.
    pub group_size: f64,
    /// Completions with a reward of at least 0.5, as a share of a group, averaged over the groups.
    pub solve_rate: f64,
    /// Groups with at least one of them.
    pub pass_at_group: f64,
    /// Groups whose rewards are all below 0.5, and all at least 0.5.
    pub all_fail: f64,
    pub all_pass: f64,
    /// Groups whose rewards are all equal.
    pub zero_spread: f64,
    /// Standard deviation of the mean rewards of groups whose rewards differ: how much such prompts differ in difficulty,
    /// without what chance makes of it.
    pub difficulty_spread: f64,
    /// Whether a reward is neither 0 nor 1.
    pub graded: bool,
    /// Good-Turing estimate of the probability of answers that were not seen.
    pub unseen_answers: f64,
    #[serde(flatten)]
    pub recorded: Recorded,
}

/// What a set's summary and its job say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recorded {
    /// Tokens of a completion, on average.
    pub tokens: f64,
    /// Completions that ended at `max_new_tokens` or the end of the context, as a share; null for sets that were made
    /// before this was counted.
    pub cut_off: Option<f64>,
    /// Entropy of the model at a token, in nats, on average; null for the same sets.
    pub entropy: Option<f64>,
    /// Most optimizer steps that the sampling policy had taken.
    pub max_step: u64,
    /// Whether every token was drawn from the model's own distribution.
    pub whole_distribution: bool,
    /// Seconds of a device for each completion, sampled and judged; null when the set's job did more than that.
    pub seconds_per_completion: Option<f64>,
    /// Completion tokens that the newest job on this model trained on in a second; null where no job has trained it.
    pub train_tokens_per_second: Option<f64>,
}

/// A reason for an objective, or against it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// From -3, which puts it behind all that have no such reason, to 3.
    pub weight: i32,
    /// One sentence.
    pub message: String,
}

/// An objective, or a published setting of one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Suggestion {
    /// The objective's name, or a preset's.
    pub name: &'static str,
    /// The sum of the weights.
    pub score: i32,
    pub reasons: Vec<Reason>,
    /// What to set in a job's spec, beside its model, data and verifier.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub spec: Value,
    /// Completions that are sampled for a step.
    pub completions_per_step: f64,
    /// Seconds of a device that sampling and judging them takes. Null where it was not measured.
    pub sampling_seconds_per_step: Option<f64>,
    /// Seconds of a device that training on a step's completions takes, by their mean length here and the pace of another job.
    /// Null where there is none, and for completions that are not of this set.
    pub training_seconds_per_step: Option<f64>,
}

impl Suggestion {
    fn is_ruled_out(&self) -> bool {
        self.reasons.iter().any(|reason| reason.weight <= AGAINST)
    }
}

/// The weight of a reason that outweighs all others.
const AGAINST: i32 = -3;

/// A setting that the numbers speak for, whatever the objective.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Setting {
    /// Where it is in a spec, as a JSON pointer.
    pub pointer: &'static str,
    pub message: String,
}

/// What a set says for and against each objective.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    pub measured: Measured,
    /// The best first; those of equal score in a fixed order; last those that a reason of -3 speaks against.
    pub suggestions: Vec<Suggestion>,
    pub settings: Vec<Setting>,
    /// What would matter and is not known.
    pub unknown: Vec<String>,
}

/// Ranks the objectives by what is measured. `set` is what jobs call the groups, `frontier` is theirs, and `teacher` a
/// model with the same tokenizer.
pub fn advise(
    groups: &[ScoredGroup],
    frontier: &Frontier,
    recorded: Recorded,
    set: &str,
    teacher: Option<&str>,
) -> Advice {
    let measured = measure(groups, frontier, recorded);
    let m = &measured;
    let mut suggestions: Vec<Suggestion> =
        [bolt(m, frontier, set), grpo(m), dapo(m), p3o(m, set), fade(m), pass_at_k(m), vopd(m, teacher), sft(m)]
            .into_iter()
            .map(|candidate| candidate.suggest(m))
            .collect();
    suggestions.sort_by_key(|suggestion| (suggestion.is_ruled_out(), std::cmp::Reverse(suggestion.score)));
    Advice { settings: settings(m), unknown: unknown(m, teacher), suggestions, measured }
}

fn measure(groups: &[ScoredGroup], frontier: &Frontier, recorded: Recorded) -> Measured {
    let rewards: Vec<Vec<f64>> = groups
        .iter()
        .filter(|group| !group.completions.is_empty())
        .map(|group| group.completions.iter().map(|completion| completion.reward).collect())
        .collect();
    let telling: Vec<&Vec<f64>> = rewards.iter().filter(|rewards| !is_zero_spread(rewards)).collect();
    let means: Vec<f64> = telling.iter().map(|rewards| mean(rewards)).collect();
    // What the means of equally difficult prompts differ by, since each is of so many completions.
    let of_mean = |rewards: &&Vec<f64>| population_std(rewards).powi(2) / (rewards.len() - 1) as f64;
    let noise: Vec<f64> = telling.iter().map(of_mean).collect();
    let Coverage { solve_rate, pass_at_group, all_fail, all_pass, zero_spread, unseen_answers, .. } = frontier.coverage;
    Measured {
        groups: frontier.groups,
        completions: frontier.completions,
        group_size: frontier.completions as f64 / frontier.groups.max(1) as f64,
        solve_rate,
        pass_at_group,
        all_fail,
        all_pass,
        zero_spread,
        difficulty_spread: (population_std(&means).powi(2) - mean(&noise)).max(0.0).sqrt(),
        graded: rewards.iter().flatten().any(|reward| *reward != 0.0 && *reward != 1.0),
        unseen_answers,
        recorded,
    }
}

impl Measured {
    /// Whether prompts have several completions.
    fn has_groups(&self) -> bool {
        self.group_size >= 2.0
    }

    fn mostly_fails(&self) -> bool {
        self.has_groups() && self.all_fail > 0.5
    }

    /// Whether completions are those of the model itself that jobs start from.
    fn is_of_the_start(&self) -> bool {
        self.recorded.max_step == 0 && self.recorded.whole_distribution
    }
}

/// A suggestion in the making.
struct Candidate {
    name: &'static str,
    spec: Value,
    reasons: Vec<Reason>,
    /// Prompts that are sampled for each that is trained on.
    prompts: f64,
}

impl Candidate {
    fn new(name: &'static str, spec: Value) -> Self {
        Self { name, spec, reasons: Vec::new(), prompts: 1.0 }
    }

    fn preset(name: &'static str) -> Self {
        let preset = presets::all().into_iter().find(|preset| preset.name == name);
        Self::new(name, preset.map(|preset| preset.spec).unwrap_or_default())
    }

    fn say(&mut self, weight: i32, message: String) {
        self.reasons.push(Reason { weight, message });
    }

    /// What every objective needs that compares the completions of a prompt.
    fn compares(&mut self, m: &Measured) {
        if !m.has_groups() {
            return self.say(0, String::from("one completion of a prompt does not tell what others earn"));
        }
        let (weight, so) = match 1.0 - m.zero_spread {
            telling if telling >= 0.7 => (2, "from which it learns"),
            telling if telling >= 0.3 => (1, "from which it learns"),
            telling if telling >= 0.1 => (-1, "and of the others it learns nothing"),
            _ => (AGAINST, "and of the others it learns nothing"),
        };
        let share = percent(1.0 - m.zero_spread);
        self.say(weight, format!("completions of {share} of the prompts differ in reward, {so}"));
        self.needs_success(m);
    }

    /// What is made likelier must have been sampled.
    fn needs_success(&mut self, m: &Measured) {
        if m.mostly_fails() {
            self.say(-2, format!("{} of the prompts have no success to make likelier", percent(m.all_fail)));
        }
    }

    fn suggest(self, m: &Measured) -> Suggestion {
        let (completions, seconds) = (self.completions_per_step(), m.recorded.seconds_per_completion);
        let trained = self.trained_per_step().zip(m.recorded.train_tokens_per_second);
        Suggestion {
            training_seconds_per_step: trained.map(|(trained, pace)| trained * m.recorded.tokens / pace),
            name: self.name,
            score: self.reasons.iter().map(|reason| reason.weight).sum(),
            sampling_seconds_per_step: if completions == 0.0 {
                Some(0.0)
            } else {
                seconds.map(|seconds| seconds * completions)
            },
            completions_per_step: completions,
            reasons: self.reasons,
            spec: self.spec,
        }
    }

    /// Completions that a usual step trains on; none where they are the data set's own.
    fn trained_per_step(&self) -> Option<f64> {
        let train = TrainSpec::default();
        let objective = Config::parse(&self.spec["objective"], "/objective").ok()?.build(&train);
        let own = objective.needs().completions && !self.spec["rollouts"]["from"].is_string();
        (!own).then(|| f64::from(train.prompts_per_step) * f64::from(objective.plan().group_size))
    }

    /// By the plan that the objective itself makes, averaged over its usual steps.
    fn completions_per_step(&self) -> f64 {
        if self.spec["rollouts"]["from"].is_string() {
            return 0.0;
        }
        let train = TrainSpec::default();
        let Ok(config) = Config::parse(&self.spec["objective"], "/objective") else { return 0.0 };
        let objective = config.build(&train);
        if objective.needs().completions {
            return 0.0;
        }
        let plan = objective.plan();
        let prompts = plan.prompts_before(plan.rounds, &train, &RolloutSpec::<String>::default());
        self.prompts * (prompts * u64::from(plan.group_size)) as f64 / plan.steps as f64
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn bolt(m: &Measured, frontier: &Frontier, set: &str) -> Candidate {
    let from_set = m.is_of_the_start() && m.has_groups();
    let mut spec = json!({"objective": {"type": "bolt"}});
    if let Some(beta) = frontier.recommended_beta {
        spec["objective"]["beta"] = json!(beta);
    }
    if from_set {
        spec["rollouts"] = json!({"from": set});
    }
    let mut bolt = Candidate::new("bolt", spec);
    bolt.compares(m);
    if from_set {
        bolt.say(1, String::from("it can learn from this very set: nothing is sampled again"));
    } else if !m.is_of_the_start() {
        bolt.say(0, String::from("it samples its own: these are not from the start model's own distribution"));
    }
    if m.graded {
        bolt.say(1, String::from("rewards are graded, so that its weights tell good from better"));
    }
    if m.has_groups() && m.unseen_answers > 0.5 {
        let share = percent(m.unseen_answers);
        bolt.say(-1, format!("about {share} of the probability lies on answers that were not seen"));
    }
    if m.has_groups() && frontier.recommended_beta.is_none() {
        bolt.say(-1, format!("no temperature fits: {}", frontier.recommendation.message));
    }
    bolt
}

fn grpo(m: &Measured) -> Candidate {
    let mut grpo = Candidate::new("grpo", json!({"objective": {"type": "grpo"}}));
    grpo.compares(m);
    if (0.2..=0.8).contains(&m.solve_rate) {
        grpo.say(1, format!("{} of the completions pass, where advantages are largest", percent(m.solve_rate)));
    }
    if m.has_groups() && m.unseen_answers > 0.5 {
        grpo.say(1, String::from("many answers were not seen yet, and it samples anew as the policy changes"));
    }
    grpo
}

fn dapo(m: &Measured) -> Candidate {
    let mut dapo = Candidate::preset("dapo");
    let replacements = dapo.spec["rollouts"]["dynamic_sampling"].as_i64().map_or(0, |times| times as i32);
    if !m.has_groups() {
        dapo.compares(m);
        return dapo;
    }
    // 1 + z + z^2 + ...: each prompt, and each replacement, has no spread with the same probability.
    dapo.prompts = (0..=replacements).map(|n| m.zero_spread.powi(n)).sum();
    let (without, times) = (percent(m.zero_spread), dapo.prompts);
    match m.zero_spread {
        share if share <= 0.3 => {
            dapo.compares(m);
            dapo.say(-1, format!("it replaces prompts that have no spread, which are only {without}"));
        }
        share if share <= 0.8 => {
            dapo.say(3, format!("it replaces the {without} of the prompts that have no spread"));
            dapo.say(-1, format!("which samples {times:.1} times as many completions"));
            dapo.needs_success(m);
        }
        share => {
            let left = percent(share.powi(replacements + 1));
            dapo.say(
                AGAINST,
                format!("{left} of a step would still teach nothing, for {times:.1} times the completions"),
            );
        }
    }
    dapo
}

fn p3o(m: &Measured, set: &str) -> Candidate {
    let mut spec = json!({"objective": {"type": "p3o"}});
    if !m.is_of_the_start() && m.has_groups() && m.zero_spread < 1.0 {
        spec["rollouts"] = json!({"from": set});
    }
    let mut p3o = Candidate::new("p3o", spec);
    p3o.compares(m);
    match (m.recorded.max_step, m.recorded.whole_distribution) {
        (0, true) => p3o.say(0, String::from("completions are fresh, so that there is little to adapt to")),
        (0, false) => p3o.say(
            1,
            String::from(
                "completions are of another distribution, and it adapts to how far they are off; where that one is noisier its \
                 penalty pulls toward it, which a dry run says",
            ),
        ),
        (step, _) => p3o
            .say(2, format!("completions are of a policy {step} steps further, and it adapts to how far they are off")),
    }
    p3o
}

fn fade(m: &Measured) -> Candidate {
    let mut fade = Candidate::new("fade", json!({"objective": {"type": "fade"}}));
    fade.compares(m);
    match m.recorded.entropy {
        Some(entropy) if entropy >= 0.5 => {
            fade.say(1, format!("the model wavers, by {entropy:.2} nats at a token, which its advantage follows"));
        }
        Some(entropy) => {
            fade.say(
                -2,
                format!("the model hardly wavers, by {entropy:.2} nats at a token: its advantage has little to follow"),
            );
        }
        None => {}
    }
    if m.difficulty_spread > 0.25 {
        fade.say(1, format!("prompts differ in difficulty, by {:.2} in mean reward", m.difficulty_spread));
    }
    fade
}

fn pass_at_k(m: &Measured) -> Candidate {
    let mut pass_at_k = Candidate::preset("pass_at_k");
    pass_at_k.compares(m);
    let (one, any) = (percent(m.solve_rate), percent(m.pass_at_group));
    if m.solve_rate < 0.5 && m.pass_at_group - m.solve_rate >= 0.3 {
        pass_at_k.say(1, format!("one completion passes in {one} of the cases, one of a group in {any}"));
    } else if m.solve_rate >= 0.5 {
        pass_at_k.say(-2, format!("one completion passes in {one} of the cases: several add little"));
    }
    pass_at_k
}

fn vopd(m: &Measured, teacher: Option<&str>) -> Candidate {
    let Some(teacher) = teacher else {
        let mut vopd = Candidate::new("vopd", json!({"objective": {"type": "vopd", "teacher": "MODEL"}}));
        vopd.say(AGAINST, String::from("it needs a teacher with the same tokenizer; name one in `teacher`"));
        return vopd;
    };
    let mut vopd = Candidate::new("vopd", json!({"objective": {"type": "vopd", "teacher": teacher}}));
    vopd.say(2, String::from("the teacher says something of every token, whatever the reward"));
    if m.mostly_fails() {
        let share = percent(m.all_fail);
        vopd.say(2, format!("{share} of the prompts have no success, and it needs none"));
    }
    vopd
}

fn sft(m: &Measured) -> Candidate {
    let mut sft = Candidate::new("sft", json!({"objective": {"type": "sft"}}));
    if m.mostly_fails() {
        let share = percent(m.all_fail);
        sft.say(2, format!("{share} of the prompts have no success, and given answers need none"));
    } else {
        sft.say(-1, format!("the model finds successes itself, on {} of the prompts", percent(m.pass_at_group)));
    }
    sft
}

/// Settings that the numbers speak for.
fn settings(m: &Measured) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut set = |pointer, message| settings.push(Setting { pointer, message });
    if let Some(share) = m.recorded.cut_off.filter(|share| *share > 0.1) {
        set(
            "/sampling/max_new_tokens",
            format!("{} of the completions were cut off: allow more, or reward brevity", percent(share)),
        );
    }
    if m.has_groups() && m.all_fail > 0.3 {
        set(
            "/objective/group_size",
            format!(
                "{} of the prompts had no success in {:.0} tries: larger groups find rarer ones",
                percent(m.all_fail),
                m.group_size
            ),
        );
    }
    if m.all_pass > 0.3 {
        set("/dataset/train", format!("{} of the prompts always succeed: harder ones teach more", percent(m.all_pass)));
    }
    if m.groups < 30 {
        set(
            "/prompts",
            format!(
                "{} prompts are few: shares are uncertain by up to {}",
                m.groups,
                percent(1.0 / (m.groups.max(1) as f64).sqrt())
            ),
        );
    }
    settings
}

fn unknown(m: &Measured, teacher: Option<&str>) -> Vec<String> {
    let mut unknown = vec![
        String::from("how the policy does on prompts that are not in the set"),
        String::from("whether the data set's rows have answers to imitate, as `sft` needs"),
    ];
    if !m.has_groups() {
        unknown.push(String::from("how the completions of a prompt differ: sample several of each"));
    }
    if m.recorded.entropy.is_none() {
        unknown.push(String::from(
            "the model's entropy, and how many completions were cut off, which were not kept with the set",
        ));
    }
    if m.recorded.train_tokens_per_second.is_none() {
        unknown.push(String::from("how long a step trains: no job tells that has trained this model here"));
    }
    if m.recorded.seconds_per_completion.is_none() {
        unknown.push(String::from("how long sampling takes: the set's job did other work too, or none"));
    }
    if teacher.is_some() {
        unknown.push(String::from("whether the teacher is better at these prompts: evaluate it"));
    }
    unknown
}

#[cfg(test)]
mod tests;
