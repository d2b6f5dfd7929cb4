//! The events of a job: one durable, gap-free log from which streams, polls and views are fed.
//!
//! [`EventBody`] is what an event tells programs. As text it is the `data` of an event, whose type stands beside it; the
//! store reads and writes that text, and the API shows it. Members may be added when they have a default: a log is read
//! for as long as its job is kept.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub use super::gaps::{Gaps, HeldOut};
use super::status::names;
use super::{
    ArtifactKind, CheckpointId, EvaluationSummary, EventId, Failure, Flips, JobId, JobStatus, PassAtK, Phase,
    PolicyEvaluation, RolloutSetId, Timestamp,
};

names!(
    /// What an event tells.
    EventKind {
        /// The job moved to another status.
        Status = "status",
        /// The job entered another phase.
        Phase = "phase",
        /// Work inside a phase advanced.
        Progress = "progress",
        /// All metrics of one optimizer step.
        Metrics = "metrics",
        /// Held-out accuracy.
        Evaluation = "evaluation",
        /// A checkpoint became complete and visible.
        Checkpoint = "checkpoint",
        /// The job's rollout set became complete and visible.
        RolloutSet = "rollout_set",
        /// A sentence for people.
        Log = "log",
    }
);

impl EventKind {
    /// Whether a job reports few of them, however long it runs.
    pub fn is_rare(self) -> bool {
        match self {
            Self::Status | Self::Evaluation | Self::Checkpoint | Self::RolloutSet => true,
            Self::Phase | Self::Progress | Self::Metrics | Self::Log => false,
        }
    }
}

names!(
    EventLevel { Info = "info", Warning = "warning", Error = "error" }
);

/// What an event tells; each variant is that of its [`EventKind`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EventBody {
    Status(StatusChange),
    Phase(PhaseChange),
    Progress(PhaseProgress),
    Metrics(StepMetrics),
    Evaluation(EvaluationFound),
    Checkpoint(CheckpointAdded),
    RolloutSet(RolloutSetAdded),
    Log(Logged),
}

impl EventBody {
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Status(_) => EventKind::Status,
            Self::Phase(_) => EventKind::Phase,
            Self::Progress(_) => EventKind::Progress,
            Self::Metrics(_) => EventKind::Metrics,
            Self::Evaluation(_) => EventKind::Evaluation,
            Self::Checkpoint(_) => EventKind::Checkpoint,
            Self::RolloutSet(_) => EventKind::RolloutSet,
            Self::Log(_) => EventKind::Log,
        }
    }

    /// Reads the `data` of an event of a kind.
    pub fn read<'de, D: Deserializer<'de>>(kind: EventKind, data: D) -> Result<Self, D::Error> {
        Ok(match kind {
            EventKind::Status => Self::Status(Deserialize::deserialize(data)?),
            EventKind::Phase => Self::Phase(Deserialize::deserialize(data)?),
            EventKind::Progress => Self::Progress(Deserialize::deserialize(data)?),
            EventKind::Metrics => Self::Metrics(Deserialize::deserialize(data)?),
            EventKind::Evaluation => Self::Evaluation(Deserialize::deserialize(data)?),
            EventKind::Checkpoint => Self::Checkpoint(Deserialize::deserialize(data)?),
            EventKind::RolloutSet => Self::RolloutSet(Deserialize::deserialize(data)?),
            EventKind::Log => Self::Log(Deserialize::deserialize(data)?),
        })
    }

    /// Whether nothing can follow in the log of a job.
    pub fn is_last(&self) -> bool {
        match self {
            Self::Status(change) => change.status.is_final(),
            Self::Phase(_)
            | Self::Progress(_)
            | Self::Metrics(_)
            | Self::Evaluation(_)
            | Self::Checkpoint(_)
            | Self::RolloutSet(_)
            | Self::Log(_) => false,
        }
    }
}

/// The job moved to another status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusChange {
    #[schemars(with = "String")]
    pub status: JobStatus,
    /// Why, for people.
    pub reason: String,
    /// Why the job failed; only with `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub failure: Option<Failure>,
}

/// The job entered another phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseChange {
    #[schemars(with = "String")]
    pub phase: Phase,
    /// Optimizer steps taken before.
    pub step: u64,
}

/// How far the work of a phase is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseProgress {
    #[schemars(with = "String")]
    pub phase: Phase,
    pub done: u64,
    pub total: u64,
    /// What is counted, such as `completions`.
    pub unit: String,
}

/// All metrics of one optimizer step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepMetrics {
    /// The step, counted from 1.
    pub step: u64,
    /// By the names of `GET /v1/metrics-catalog`; null where a value is not finite.
    #[schemars(with = "std::collections::BTreeMap<String, Option<f64>>")]
    pub values: Named<Option<f64>>,
}

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EvaluationFound {
    /// A job of that kind.
    Job(EvaluationComplete),
    /// A job that trains.
    Policy(PolicyEvaluation),
}

impl EvaluationFound {
    /// Optimizer steps that the evaluated policy has taken.
    pub fn step(&self) -> u64 {
        match self {
            Self::Job(complete) => complete.step,
            Self::Policy(evaluation) => evaluation.step,
        }
    }

    pub fn pass_at(&self) -> &[PassAtK] {
        match self {
            Self::Job(complete) => &complete.summary.pass_at,
            Self::Policy(evaluation) => &evaluation.pass_at,
        }
    }
}

/// What a job of kind `evaluation` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationComplete {
    #[serde(flatten)]
    pub summary: EvaluationSummary,
    /// 0: such a job takes no step.
    pub step: u64,
}

/// A checkpoint became complete and visible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointAdded {
    #[schemars(with = "String")]
    pub checkpoint: CheckpointId,
    #[schemars(with = "String")]
    pub kind: ArtifactKind,
    /// Optimizer steps taken.
    pub step: u64,
    pub bytes: u64,
}

/// The job's rollout set became complete and visible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutSetAdded {
    #[schemars(with = "String")]
    pub rollout_set: RolloutSetId,
    /// Completions in it.
    pub rollouts: u64,
    /// Prompts in it.
    pub groups: u64,
    pub bytes: u64,
}

/// What stands beside a sentence for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Stable, machine-readable name of what is said; warnings have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(flatten)]
    pub detail: LogDetail,
}

/// What a sentence is about. No two variants have the same members, which tell them apart when a log is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum LogDetail {
    None {},
    /// Something in the spec.
    Spec {
        pointer: String,
    },
    /// A step in which no completion earned any credit.
    Idle {
        step: u64,
        skipped: bool,
        solve_rate: f64,
    },
    /// Members of the spec that a client changed.
    Changed {
        fields: Vec<String>,
    },
    /// Why a device was lost.
    Lost {
        reason: String,
    },
    /// The step from which a job goes on.
    Resumed {
        step: u64,
    },
    /// How much the gradient estimate varies, by baseline.
    GradientVariance {
        /// After so many steps.
        #[serde(default)]
        step: u64,
        repeats: u32,
        prompts: u64,
        gradient_variance: Named<GradientVariance>,
    },
    /// What a round's completions left out of reach, and what training left undone.
    Gaps {
        round: u64,
        groups: u64,
        gaps: Gaps,
    },
    /// A round's completions.
    Round {
        round: u64,
        report: Named<Option<f64>>,
    },
    /// A part of a rollout set.
    Part {
        part: u64,
        parts: u64,
        reward_mean: Option<f64>,
    },
    /// Completions that were scored again.
    Regraded {
        prompts: u64,
        changed: u64,
        /// None in logs of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flips: Option<Flips>,
    },
    /// Of another version, or what could not be read as what it was.
    Other(Map<String, Value>),
}

/// The spread of gradients for one baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientVariance {
    pub variance: f64,
    pub mean_norm: f64,
}

/// Values by name, in the order in which they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Named<T> {
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl Named<Option<f64>> {
    /// A finite value.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.iter().find(|(other, _)| *other == name).and_then(|(_, value)| *value)
    }
}

impl<N: Into<String>, T> FromIterator<(N, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(values: I) -> Self {
        Self(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// Numbers that are not finite are none: JSON has no way to write them.
impl<N: Into<String>> FromIterator<(N, f64)> for Named<Option<f64>> {
    fn from_iter<I: IntoIterator<Item = (N, f64)>>(values: I) -> Self {
        values.into_iter().map(|(name, value)| (name, Some(value).filter(|value| value.is_finite()))).collect()
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(member) = map.next_entry()? {
                    values.push(member);
                }
                Ok(Named(values))
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// An event on its way into the log; the log gives it its number.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub level: EventLevel,
    /// A sentence for people.
    pub message: String,
    pub body: EventBody,
}

impl NewEvent {
    pub fn info(message: impl Into<String>, body: EventBody) -> Self {
        Self { level: EventLevel::Info, message: message.into(), body }
    }

    /// A sentence for people, with what it is about.
    pub fn log(message: impl Into<String>, detail: LogDetail) -> Self {
        Self::info(message, EventBody::Log(Logged { code: None, detail }))
    }

    /// A sentence for people with a name for programs.
    pub fn coded(message: impl Into<String>, code: impl Into<String>, detail: LogDetail) -> Self {
        Self::info(message, EventBody::Log(Logged { code: Some(code.into()), detail }))
    }

    /// The same, not to be missed.
    pub fn warning(message: impl Into<String>, code: impl Into<String>, detail: LogDetail) -> Self {
        Self { level: EventLevel::Warning, ..Self::coded(message, code, detail) }
    }
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub job: JobId,
    /// 1, 2, 3, ... within the job, without gaps.
    pub seq: i64,
    pub created_at: Timestamp,
    pub level: EventLevel,
    pub message: String,
    pub body: EventBody,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::FailureKind;

    const JOB: &str = "0198f6c2a7d47e0c8f6f0d9f0e6b5a31";

    fn log(code: Option<&str>, detail: LogDetail) -> EventBody {
        EventBody::Log(Logged { code: code.map(str::to_owned), detail })
    }

    fn text(body: &EventBody) -> String {
        serde_json::to_string(body).unwrap()
    }

    fn read(kind: EventKind, text: &str) -> EventBody {
        EventBody::read(kind, &mut serde_json::Deserializer::from_str(text)).unwrap()
    }

    fn pass_at() -> Vec<PassAtK> {
        vec![PassAtK::new(1, 0.5, 0.25, 0.625), PassAtK { k: 2, mean: 0.75, low: None, high: None, half_width: 0.5 }]
    }

    fn evaluations() -> [(EventBody, &'static str); 2] {
        let policy = PolicyEvaluation {
            step: 10,
            prompts: 2,
            samples: 4,
            pass_at: pass_at(),
            majority: None,
            distinct_answers: None,
            reward_mean: 0.5,
            tokens_mean: 3.0,
            truncated: 0.0,
            passed: vec![1, 3],
        };
        let summary = EvaluationSummary {
            prompts: 2,
            samples: 4,
            completions: 7,
            unscored: 1,
            passed: 3,
            unparsable: 0,
            pass_at: pass_at(),
            majority: None,
            majority_at: Vec::new(),
            distinct_answers: None,
            reward_mean: 0.1,
            tokens_mean: 3.25,
            truncated: 0.5,
            rows_digest: String::from("sha256:00"),
        };
        [
            (
                EventBody::Evaluation(EvaluationFound::Policy(policy)),
                r#"{"step":10,"prompts":2,"samples":4,"pass_at":[{"k":1,"mean":0.5,"low":0.25,"high":0.625,"half_width":0.25},{"k":2,"mean":0.75,"half_width":0.5}],"reward_mean":0.5,"tokens_mean":3.0,"truncated":0.0,"passed":[1,3]}"#,
            ),
            (
                EventBody::Evaluation(EvaluationFound::Job(EvaluationComplete { summary, step: 0 })),
                r#"{"prompts":2,"samples":4,"completions":7,"unscored":1,"passed":3,"unparsable":0,"pass_at":[{"k":1,"mean":0.5,"low":0.25,"high":0.625,"half_width":0.25},{"k":2,"mean":0.75,"half_width":0.5}],"reward_mean":0.1,"tokens_mean":3.25,"truncated":0.5,"rows_digest":"sha256:00","step":0}"#,
            ),
        ]
    }

    fn logs() -> Vec<(EventBody, &'static str)> {
        let text = str::to_owned;
        let spread = GradientVariance { variance: 0.5, mean_norm: 2.0 };
        vec![
            (log(Some("not_evaluated"), LogDetail::None {}), r#"{"code":"not_evaluated"}"#),
            (
                log(Some("lr_high"), LogDetail::Spec { pointer: text("/optimizer") }),
                r#"{"code":"lr_high","pointer":"/optimizer"}"#,
            ),
            (
                log(Some("step_skipped"), LogDetail::Idle { step: 3, skipped: true, solve_rate: 1.0 }),
                r#"{"code":"step_skipped","step":3,"skipped":true,"solve_rate":1.0}"#,
            ),
            (
                log(Some("changed"), LogDetail::Changed { fields: vec![text("name"), text("budget")] }),
                r#"{"code":"changed","fields":["name","budget"]}"#,
            ),
            (
                log(Some("device_lost"), LogDetail::Lost { reason: text("Xid 48") }),
                r#"{"code":"device_lost","reason":"Xid 48"}"#,
            ),
            (log(None, LogDetail::Resumed { step: 20 }), r#"{"step":20}"#),
            (
                log(
                    None,
                    LogDetail::GradientVariance {
                        step: 0,
                        repeats: 4,
                        prompts: 16,
                        gradient_variance: [("none", spread), ("mean", spread)].into_iter().collect(),
                    },
                ),
                r#"{"step":0,"repeats":4,"prompts":16,"gradient_variance":{"none":{"variance":0.5,"mean_norm":2.0},"mean":{"variance":0.5,"mean_norm":2.0}}}"#,
            ),
            (
                log(None, LogDetail::Gaps { round: 1, groups: 8, gaps: crate::job::gaps::example() }),
                r#"{"round":1,"groups":8,"gaps":{"beta":0.25,"support_price_low":0.25,"support_price_high":0.75,"support_price_good_turing":0.5,"support_kl":1.5,"beta_support_kl":0.375,"support_kl_before":2.0,"held_out":{"groups":4,"support_price_low":0.25,"support_price_high":0.75,"support_price_good_turing":0.5,"support_kl":1.75,"beta_support_kl":0.4375,"support_kl_before":2.0,"generalisation_kl":0.25,"generalisation_kl_error":0.125}}}"#,
            ),
            (
                log(None, LogDetail::Round { round: 2, report: [("reward/mean", 0.5)].into_iter().collect() }),
                r#"{"round":2,"report":{"reward/mean":0.5}}"#,
            ),
            (
                log(None, LogDetail::Part { part: 1, parts: 2, reward_mean: None }),
                r#"{"part":1,"parts":2,"reward_mean":null}"#,
            ),
            (log(None, LogDetail::Regraded { prompts: 4, changed: 1, flips: None }), r#"{"prompts":4,"changed":1}"#),
            (log(None, LogDetail::None {}), "{}"),
        ]
    }

    fn others() -> Vec<(EventBody, String)> {
        let failure = Failure { kind: FailureKind::Diverged, code: "diverged".to_owned(), message: "why".to_owned() };
        let status = |status, failure| EventBody::Status(StatusChange { status, reason: "why".to_owned(), failure });
        let values = [("loss", 0.5), ("z", f64::INFINITY), ("a", 3.0)].into_iter().collect();
        let unit = String::from("completions");
        let checkpoint = CheckpointAdded {
            checkpoint: format!("ckpt_{JOB}").parse().unwrap(),
            kind: ArtifactKind::Training,
            step: 6,
            bytes: 1000,
        };
        let rollout_set =
            RolloutSetAdded { rollout_set: format!("rs_{JOB}").parse().unwrap(), rollouts: 8, groups: 2, bytes: 100 };
        [
            (status(JobStatus::Running, None), r#"{"status":"running","reason":"why"}"#),
            (
                status(JobStatus::Failed, Some(failure)),
                r#"{"status":"failed","reason":"why","failure":{"kind":"diverged","code":"diverged","message":"why"}}"#,
            ),
            (EventBody::Phase(PhaseChange { phase: Phase::Sampling, step: 3 }), r#"{"phase":"sampling","step":3}"#),
            (
                EventBody::Progress(PhaseProgress { phase: Phase::Sampling, done: 3, total: 8, unit }),
                r#"{"phase":"sampling","done":3,"total":8,"unit":"completions"}"#,
            ),
            (
                EventBody::Metrics(StepMetrics { step: 1, values }),
                r#"{"step":1,"values":{"loss":0.5,"z":null,"a":3.0}}"#,
            ),
            (EventBody::Checkpoint(checkpoint), r#"{"checkpoint":"ckpt_JOB","kind":"training","step":6,"bytes":1000}"#),
            (EventBody::RolloutSet(rollout_set), r#"{"rollout_set":"rs_JOB","rollouts":8,"groups":2,"bytes":100}"#),
        ]
        .map(|(body, text)| (body, text.replace("JOB", JOB)))
        .into()
    }

    /// Logs are kept for as long as their jobs, and clients match on these texts.
    #[test]
    fn every_event_is_written_as_ever_and_comes_back_equal() {
        let strings = |(body, text): (EventBody, &str)| (body, text.to_owned());
        let all = others().into_iter().chain(evaluations().map(strings)).chain(logs().into_iter().map(strings));
        let mut seen = std::collections::BTreeSet::new();
        for (body, expected) in all {
            assert_eq!(text(&body), expected);
            assert_eq!(read(body.kind(), &expected), body, "{expected}");
            seen.insert(body.kind().as_str());
        }
        assert_eq!(seen.len(), EventKind::ALL.len(), "{seen:?}");
    }

    #[test]
    fn a_sentence_of_another_version_keeps_its_members() {
        for written in [
            r#"{"code":"new","step":1,"why":[1,2.5]}"#,
            r#"{"part":"one"}"#,
            r#"{"step":3,"skipped":true,"solve_rate":null}"#,
        ] {
            let body = read(EventKind::Log, written);
            assert!(matches!(&body, EventBody::Log(Logged { detail: LogDetail::Other(_), .. })), "{body:?}");
            assert_eq!(text(&body), written);
        }
    }

    #[test]
    fn only_a_final_status_ends_a_log() {
        for status in JobStatus::ALL {
            let change = StatusChange { status: *status, reason: String::new(), failure: None };
            assert_eq!(EventBody::Status(change).is_last(), status.is_final());
        }
        assert!(!log(None, LogDetail::Resumed { step: 1 }).is_last());
    }
}
