//! Adapters: a small change that is trained beside a frozen model, in the place of all its weights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CheckpointId;
use super::field::FieldError;

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
    /// Rank of the change; 16 by default. With `start` it is that of the adapter there, as are `alpha`, `targets` and
    /// `rslora`.
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
    /// What the factors are at first.
    #[serde(default)]
    pub init: AdapterInit,
    /// Scale by the root of the rank (arXiv 2312.03732), so that the change does not shrink as the rank grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rslora: Option<bool>,
    /// Keep the frozen weights in codes of 8 bits, of which 32 share a scale, as GGUF's Q8_0: 1.1 bytes a parameter on the
    /// CPU. What samples, what trains and the reference all have these weights. On a GPU they are kept as without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantize: Option<Quantize>,
    /// An inference checkpoint (`ckpt_...`) of a job with an adapter for the same model, from which to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub start: Option<CheckpointId>,
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

/// What the factors of a new adapter are. `B` is zero, so that training begins at the model itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdapterInit {
    /// `A` uniform within `1 / sqrt(in)` (He et al., arXiv 1502.01852, with a slope of `sqrt(5)`), as peft has it.
    #[default]
    Kaiming,
    /// `A` normal with deviation `1 / rank`, as in LoRA's paper.
    ZeroB,
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
    pub init: AdapterInit,
    pub rslora: bool,
    /// What the frozen weights are kept in.
    pub quantize: Option<Quantize>,
    pub start: Option<CheckpointId>,
}

impl Lora {
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
            init: self.init,
            rslora: Some(self.rslora),
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
            init: self.init,
            rslora: self.rslora.or(start.map(|start| start.rslora)).unwrap_or(false),
            quantize: self.quantize,
            start: self.start,
        };
        let Some(start) = start else { return Ok(own) };
        let same = [
            ("rank", own.rank == start.rank),
            ("alpha", own.alpha == start.alpha),
            ("targets", own.targets == start.targets),
            ("rslora", own.rslora == start.rslora),
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
        let own = own.resolve(None).unwrap();
        assert_eq!(own.scale(), 2.0);
        assert_eq!(spec(json!({"type": "lora"})).resolve(Some(&own)).unwrap(), own);
        let errors = spec(json!({"type": "lora", "rank": 8, "targets": "all_linear"})).resolve(Some(&own)).unwrap_err();
        let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/adapter/rank", "/adapter/targets"]);
        assert_eq!(spec(serde_json::to_value(own.to_spec()).unwrap()).resolve(None).unwrap(), own);
    }
}
