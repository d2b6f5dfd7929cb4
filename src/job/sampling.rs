//! How completions are sampled: the section `sampling` of specs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::EnvironmentSpec;

/// How completions are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingSpec {
    /// 0 is greedy; 1 samples the model's own distribution.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub temperature: f64,
    /// Keep the smallest set of tokens with at least this much probability; 1 keeps all.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub top_p: f64,
    /// Keep the k most probable tokens; 0 keeps all.
    pub top_k: u32,
    /// The longest completion in tokens.
    #[schemars(range(min = 1, max = 131_072))]
    pub max_new_tokens: u32,
    /// Texts that end a completion, besides the model's end-of-sequence tokens.
    #[schemars(length(max = 16), inner(length(min = 1, max = 256)))]
    pub stop: Vec<String>,
    /// Completions sampled at the same time.
    #[schemars(range(min = 1, max = 1024))]
    pub batch_size: u32,
    /// Sample with a copy of the weights of fewer bits, and products in bf16: faster, and another distribution than the one
    /// that is trained. The log-probabilities that are kept are those that tokens were really drawn with; `p3o` and other
    /// objectives with a correction weigh them against the policy's, others warn. On the CPU only; a GPU samples with the
    /// weights that are trained. Evaluations within a job always take these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<SampledWeights>,
    /// Keep keys and values of completions under way in fewer bits than what is trained: half the memory and less to read
    /// for each token, and another distribution, as with `weights`. Attention widens them and computes in f32. A GPU with
    /// `train.precision: "bf16"` keeps them so in any case. Evaluations within a job never do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<SampledCache>,
    /// What answers the model when a turn of it ends, so that completions have several turns (docs/environments.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSpec>,
}

/// What completions are sampled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampledWeights {
    /// 2 bytes a parameter.
    Bf16,
    /// 1.1 bytes: codes of 8 bits with a scale for each 32 of them.
    Int8,
}

impl SampledWeights {
    /// Bytes of a copy of so many parameters.
    pub fn bytes(self, parameters: u64) -> u64 {
        match self {
            Self::Bf16 => parameters.saturating_mul(2),
            Self::Int8 => (parameters / 8).saturating_mul(9),
        }
    }
}

/// What keys and values of completions under way are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampledCache {
    /// 2 bytes a number, rounded to the nearest.
    Bf16,
}

impl Default for SamplingSpec {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            max_new_tokens: 256,
            stop: Vec::new(),
            batch_size: 64,
            weights: None,
            cache: None,
            environment: None,
        }
    }
}

impl SamplingSpec {
    /// Whether tokens are drawn from the model's own distribution.
    pub fn is_whole(&self) -> bool {
        self.temperature == 1.0 && self.top_p >= 1.0 && self.top_k == 0 && !self.is_narrowed()
    }

    /// Whether what samples has fewer bits than what is trained, so that it is another distribution.
    pub fn is_narrowed(&self) -> bool {
        self.weights.is_some() || self.cache.is_some()
    }

    /// The same for evaluations of what is trained, which keep keys and values as it does. Fewer completions at once take no
    /// more memory for them.
    pub fn widened(&self) -> Self {
        let batch_size = if self.cache.is_some() { (self.batch_size / 2).max(1) } else { self.batch_size };
        Self { cache: None, batch_size, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_of_what_is_trained_keep_keys_and_values_whole_in_no_more_memory() {
        let of = |cache, batch_size| SamplingSpec { cache, batch_size, ..SamplingSpec::default() };
        let narrow = Some(SampledCache::Bf16);
        for (batch_size, fewer) in [(1, 1), (2, 1), (7, 3), (64, 32)] {
            assert_eq!(of(narrow, batch_size).widened(), of(None, fewer));
            assert_eq!(of(None, batch_size).widened(), of(None, batch_size));
        }
        assert!(of(None, 8).is_whole() && !of(narrow, 8).is_whole());
    }

    #[test]
    fn a_spec_without_the_member_has_the_digest_that_it_had() {
        let written = serde_json::to_value(SamplingSpec::default()).unwrap();
        assert!(["cache", "weights", "environment"].iter().all(|name| written.get(name).is_none()));
        let narrow: SamplingSpec = serde_json::from_value(serde_json::json!({"cache": "bf16"})).unwrap();
        assert_eq!(serde_json::to_value(&narrow).unwrap()["cache"], "bf16");
        assert!(serde_json::from_value::<SamplingSpec>(serde_json::json!({"cache": "int8"})).is_err());
    }
}
