//! Adapters: a small change that is trained beside a frozen model, in the place of all its weights.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::FieldError;
use super::{CheckpointId, ModelId};

/// The file of an adapter's factors.
pub const WEIGHTS: &str = "adapter_model.safetensors";
/// The highest rank of an adapter.
pub const MAX_RANK: u32 = 1024;

/// A low-rank adapter (LoRA, arXiv 2106.09685): the model is frozen, and beside each adapted weight `W: [out, in]` two
/// factors `A: [rank, in]` and `B: [out, rank]` are trained, with which the weight is `W + scale B A`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    pub r#type: AdapterType,
    /// Rank of the change; 16 by default. With `start` it is that of the adapter there, as are `alpha`, `targets`,
    /// `rslora` and `dora`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_RANK))]
    pub rank: Option<u32>,
    /// The change is multiplied by `alpha / rank`, or with `rslora` by `alpha / sqrt(rank)`. Twice the rank by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 65_536.0), extend("exclusiveMinimum" = 0.0))]
    pub alpha: Option<f64>,
    /// Which weights are adapted: `all_linear`, all matrices within the layers but the routers of experts; or the last
    /// parts of their names, such as `["q_proj", "v_proj"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Targets>,
    /// The share of the numbers that are dropped, on their way to `A`, from what an adapted weight reads in a training
    /// pass; the others are divided by one less it (Srivastava et al., JMLR 15, 2014). Sampling, evaluation and the
    /// reference drop nothing, so that with it ratios are not 1 at a round's first step. `start` does not decide it.
    #[serde(default, skip_serializing_if = "is_none")]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub dropout: f64,
    /// What the factors are at first.
    #[serde(default)]
    pub init: AdapterInit,
    /// Scale by the root of the rank (arXiv 2312.03732), so that the change does not shrink as the rank grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rslora: Option<bool>,
    /// Train how long the rows of adapted weights are, apart from where they point (DoRA, arXiv 2402.09353): a magnitude for
    /// each row beside the factors. A training pass computes each adapted product once more. Not beside `init: "pissa"`; with `dropout`, what
    /// is dropped is dropped on its way to `A` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dora: Option<bool>,
    /// Keep the frozen weights in codes of 8 bits, of which 32 share a scale, as GGUF's Q8_0: 1.1 bytes a parameter on the
    /// CPU. What samples, what trains and the reference all have these weights. On a GPU they are kept as without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantize: Option<Quantize>,
    /// An adapter for the same model from which to go on: an inference checkpoint (`ckpt_...`) of a job that trained one,
    /// or one that was imported (`mdl_...`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub start: Option<AdapterId>,
}

/// Left out of the resolved spec, whose digests are older than the field.
fn is_none(share: &f64) -> bool {
    *share == 0.0
}

/// An adapter that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum AdapterId {
    Checkpoint(CheckpointId),
    /// Trained by others.
    Model(ModelId),
}

impl fmt::Display for AdapterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint(id) => id.fmt(f),
            Self::Model(id) => id.fmt(f),
        }
    }
}

impl From<AdapterId> for String {
    fn from(id: AdapterId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for AdapterId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let model = || text.parse().map(Self::Model).ok();
        let found = text.parse().map(Self::Checkpoint).ok().or_else(model);
        let short: String = text.chars().take(80).collect();
        found.ok_or_else(|| format!("`{short}` is neither a checkpoint (ckpt_...) nor a model (mdl_...)"))
    }
}

/// Numbers of few bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantize {
    Int8,
}

/// The kinds of adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdapterType {
    Lora,
}

/// What the factors of a new adapter are. Training begins at the model itself: `B` is zero, or with `pissa` what both make is
/// taken away, but for rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdapterInit {
    /// `A` uniform within `1 / sqrt(in)` (He et al., arXiv 1502.01852, with a slope of `sqrt(5)`), as peft has it.
    #[default]
    Kaiming,
    /// `A` normal with deviation `1 / rank`, as in LoRA's paper.
    ZeroB,
    /// Both are what is largest in the weight, by its singular values, and that much is taken from what it computes: training
    /// moves what matters most in it (PiSSA, arXiv 2404.02948). The weight stays as it is, also in codes; the finished adapter
    /// has twice the rank, for what was taken is the other half of it.
    Pissa,
}

/// Weights that are adapted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Targets {
    All(AllLinear),
    Names(#[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 256)))] Vec<String>),
}

/// The word `all_linear`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllLinear {
    AllLinear,
}

impl Targets {
    pub const ALL: Self = Self::All(AllLinear::AllLinear);
}

/// An adapter with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Lora {
    pub rank: u32,
    pub alpha: f64,
    pub targets: Targets,
    pub dropout: f64,
    pub init: AdapterInit,
    pub rslora: bool,
    pub dora: bool,
    /// What the frozen weights are kept in.
    pub quantize: Option<Quantize>,
    pub start: Option<AdapterId>,
}

impl Lora {
    /// The same with more of a rank, and the same scale.
    pub fn widened(&self, rank: u32) -> Self {
        let by = f64::from(rank) / f64::from(self.rank);
        Self { rank, alpha: self.alpha * if self.rslora { by.sqrt() } else { by }, ..self.clone() }
    }

    /// What the product of the factors is multiplied by.
    pub fn scale(&self) -> f32 {
        let rank = f64::from(self.rank);
        (self.alpha / if self.rslora { rank.sqrt() } else { rank }) as f32
    }

    /// The form in which it is submitted.
    pub fn to_spec(&self) -> AdapterSpec {
        AdapterSpec {
            r#type: AdapterType::Lora,
            rank: Some(self.rank),
            alpha: Some(self.alpha),
            targets: Some(self.targets.clone()),
            dropout: self.dropout,
            init: self.init,
            rslora: Some(self.rslora),
            // Left out where it is not, as specs had it whose digests are older.
            dora: self.dora.then_some(true),
            quantize: self.quantize,
            start: self.start,
        }
    }
}

impl AdapterSpec {
    /// With its defaults, or what it goes on from; what both name must agree.
    pub fn resolve(&self, start: Option<&Lora>) -> Result<Lora, Vec<FieldError>> {
        let rank = self.rank.or(start.map(|start| start.rank)).unwrap_or(16);
        let own = Lora {
            rank,
            alpha: self.alpha.or(start.map(|start| start.alpha)).unwrap_or(2.0 * f64::from(rank)),
            targets: self.targets.clone().or(start.map(|start| start.targets.clone())).unwrap_or(Targets::ALL),
            dropout: self.dropout,
            init: self.init,
            rslora: self.rslora.or(start.map(|start| start.rslora)).unwrap_or(false),
            dora: self.dora.or(start.map(|start| start.dora)).unwrap_or(false),
            quantize: self.quantize,
            start: self.start,
        };
        if own.init == AdapterInit::Pissa && start.is_none() && rank > MAX_RANK / 2 {
            let detail = format!(
                "with `init: \"pissa\"` must be at most {}, for the finished adapter has twice it",
                MAX_RANK / 2
            );
            return Err(vec![FieldError::new("/adapter/rank", "out_of_range", detail)]);
        }
        if own.init == AdapterInit::Pissa && start.is_none() && own.dora {
            let detail = "is not supported with `init: \"pissa\"`; take one of them";
            return Err(vec![FieldError::new("/adapter/dora", "conflict", detail)]);
        }
        let Some(start) = start else { return Ok(own) };
        let same = [
            ("rank", own.rank == start.rank),
            ("alpha", own.alpha == start.alpha),
            ("targets", own.targets == start.targets),
            ("rslora", own.rslora == start.rslora),
            ("dora", own.dora == start.dora),
        ];
        let differs = |(name, _): (&str, bool)| {
            let detail = "differs from that of the adapter in `start`; leave it out";
            FieldError::new(format!("/adapter/{name}"), "adapter_mismatch", detail)
        };
        let errors: Vec<FieldError> = same.into_iter().filter(|(_, same)| !same).map(differs).collect();
        if errors.is_empty() { Ok(own) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: serde_json::Value) -> AdapterSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn defaults_follow_the_rank_and_a_start_gives_what_is_left_out() {
        let plain = spec(json!({"type": "lora"})).resolve(None).unwrap();
        assert_eq!((plain.rank, plain.alpha, plain.scale()), (16, 32.0, 2.0));
        assert_eq!(plain.targets, Targets::ALL);
        let own = spec(json!({"type": "lora", "rank": 4, "alpha": 4.0, "rslora": true, "targets": ["q_proj"]}));
        let own = Lora { dropout: 0.1, ..own.resolve(None).unwrap() };
        assert_eq!(own.scale(), 2.0);
        let going_on = spec(json!({"type": "lora"})).resolve(Some(&own)).unwrap();
        assert_eq!((going_on.dropout, Lora { dropout: 0.1, ..going_on }), (0.0, own.clone()));
        let errors = spec(json!({"type": "lora", "rank": 8, "targets": "all_linear"})).resolve(Some(&own)).unwrap_err();
        let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/adapter/rank", "/adapter/targets"]);
        assert_eq!(spec(serde_json::to_value(own.to_spec()).unwrap()).resolve(None).unwrap(), own);
    }
}
