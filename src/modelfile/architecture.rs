//! What a decoder computes: the switches in which families of models differ, and the tensors that follow from them.
//! Decoder, weights, counts, layouts and readers of files take everything from here, and none asks for a family's name.

use super::config::ModelConfig;
use super::rope::RopeConfig;

/// The switches. [`Architecture::plain`] is a Llama without biases.
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    pub biases: Biases,
    /// What is added to the weight of a norm before it multiplies.
    pub norm_offset: f32,
    pub head_norms: HeadNorms,
    pub activation: Activation,
    /// Tokens' embeddings are multiplied by this,
    pub embedding_scale: f32,
    /// what a block adds to the residual stream by this,
    pub residual_scale: f32,
    /// products of queries and keys by this,
    pub attention_scale: f32,
    /// and logits by this.
    pub logits_scale: f32,
    /// Sets of rotations, which layers name by place.
    pub rope: Vec<RopeConfig>,
    pub layers: Vec<LayerKind>,
    pub experts: Option<Experts>,
}

/// Which projections add a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Biases {
    /// Queries, keys and values.
    pub attention: bool,
    pub output: bool,
    pub feed_forward: bool,
}

/// What is normed of queries and keys before they are rotated, where a family names norms for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadNorms {
    /// Every head by itself, with the same weight.
    #[default]
    Each,
    /// All heads as one row.
    Row,
}

/// The function of a feed-forward gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))` (arXiv 1702.03118).
    #[default]
    Silu,
    /// GELU by the hyperbolic tangent (arXiv 1606.08415).
    GeluTanh,
}

/// In what the layers of one model differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerKind {
    /// Tokens that a token sees, itself among them; all before it where there is none.
    pub window: Option<usize>,
    /// Its set of rotations, if it has any.
    pub rope: Option<usize>,
    /// Its feed-forward part is a choice of experts.
    pub is_sparse: bool,
}

/// A mixture of experts (arXiv 2101.03961), of which each token goes to the most probable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    pub count: usize,
    /// Experts of a token.
    pub active: usize,
    /// Width of one.
    pub width: usize,
    /// A token's weights are divided by their sum.
    pub is_normalised: bool,
}

/// A weight's place in a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Embedding,
    FinalNorm,
    Head,
    /// Before attention; and what comes out of it, before it is added.
    AttentionNorm,
    AttentionOutNorm,
    Query,
    Key,
    Value,
    /// The three in one.
    QueryKeyValue,
    QueryNorm,
    KeyNorm,
    Output,
    FeedForwardNorm,
    FeedForwardOutNorm,
    Gate,
    Up,
    /// Both in one.
    GateUp,
    Down,
    Router,
    ExpertGate,
    ExpertUp,
    ExpertDown,
}

/// What a weight is, for those who draw or decay it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Matrix,
    /// A matrix whose product is added to the residual stream.
    ResidualMatrix,
    Norm,
    Bias,
}

/// A part's name at Hugging Face and in GGUF, without layer and ending; `{}` is the number of an expert.
#[derive(Clone, Copy, Debug)]
pub struct Named(pub Part, pub &'static str, pub &'static str);

/// A tensor of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    pub part: Part,
    /// Of layers only.
    pub layer: usize,
    /// Of experts only.
    pub expert: usize,
    pub role: Role,
    /// At Hugging Face, where the program takes its own names from.
    pub name: String,
    /// In GGUF, where the experts of a layer are one tensor.
    pub gguf_name: String,
    pub shape: Vec<usize>,
}

/// The parts outside of layers, which all families name alike.
const OUTSIDE: [Named; 3] = [
    Named(Part::Embedding, "model.embed_tokens", "token_embd"),
    Named(Part::FinalNorm, "model.norm", "output_norm"),
    Named(Part::Head, "lm_head", "output"),
];

impl Architecture {
    /// Full attention with the first set of rotations in all layers.
    pub fn plain(rope: Vec<RopeConfig>, layers: usize, head_dim: usize) -> Self {
        Self {
            biases: Biases::default(),
            norm_offset: 0.0,
            head_norms: HeadNorms::default(),
            activation: Activation::default(),
            embedding_scale: 1.0,
            residual_scale: 1.0,
            attention_scale: 1.0 / (head_dim as f32).sqrt(),
            logits_scale: 1.0,
            rope,
            layers: vec![LayerKind { rope: Some(0), ..LayerKind::default() }; layers],
            experts: None,
        }
    }
}

impl Part {
    fn role(self) -> Role {
        match self {
            Self::Output | Self::Down | Self::ExpertDown => Role::ResidualMatrix,
            Self::FinalNorm
            | Self::AttentionNorm
            | Self::AttentionOutNorm
            | Self::QueryNorm
            | Self::KeyNorm
            | Self::FeedForwardNorm
            | Self::FeedForwardOutNorm => Role::Norm,
            _ => Role::Matrix,
        }
    }

    /// Whether it is one of many experts.
    pub fn is_of_expert(self) -> bool {
        matches!(self, Self::ExpertGate | Self::ExpertUp | Self::ExpertDown)
    }

    /// Whether layers of a kind have it.
    fn is_in(self, layer: LayerKind) -> bool {
        match self {
            Self::Gate | Self::Up | Self::GateUp | Self::Down => !layer.is_sparse,
            Self::Router | Self::ExpertGate | Self::ExpertUp | Self::ExpertDown => layer.is_sparse,
            _ => true,
        }
    }

    fn shape(self, config: &ModelConfig) -> Vec<usize> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let queries = config.num_attention_heads * config.head_dim;
        let keys = config.num_key_value_heads * config.head_dim;
        let experts = config.architecture.experts;
        let (count, narrow) = experts.map_or((0, 0), |experts| (experts.count, experts.width));
        let normed = |row: usize| match config.architecture.head_norms {
            HeadNorms::Each => config.head_dim,
            HeadNorms::Row => row,
        };
        match self {
            Self::Embedding | Self::Head => vec![config.vocab_size, hidden],
            Self::Query => vec![queries, hidden],
            Self::Key | Self::Value => vec![keys, hidden],
            Self::QueryKeyValue => vec![queries + 2 * keys, hidden],
            Self::Output => vec![hidden, queries],
            Self::QueryNorm => vec![normed(queries)],
            Self::KeyNorm => vec![normed(keys)],
            Self::Gate | Self::Up => vec![inner, hidden],
            Self::GateUp => vec![2 * inner, hidden],
            Self::Down => vec![hidden, inner],
            Self::Router => vec![count, hidden],
            Self::ExpertGate | Self::ExpertUp => vec![narrow, hidden],
            Self::ExpertDown => vec![hidden, narrow],
            _ => vec![hidden],
        }
    }
}

impl TensorSpec {
    /// Whether it is a matrix of a layer, or a factor beside one.
    pub fn is_matrix_of_layer(&self) -> bool {
        self.shape.len() > 1 && !matches!(self.part, Part::Embedding | Part::Head)
    }
}

impl Biases {
    fn has(self, part: Part) -> bool {
        match part {
            Part::Query | Part::Key | Part::Value | Part::QueryKeyValue => self.attention,
            Part::Output => self.output,
            Part::Gate | Part::Up | Part::GateUp | Part::Down => self.feed_forward,
            _ => false,
        }
    }
}

impl ModelConfig {
    /// All tensors of the model. What is one product stands side by side, matrices by themselves and biases by
    /// themselves.
    pub fn tensors(&self) -> Vec<TensorSpec> {
        let kept = OUTSIDE.len() - usize::from(self.tie_word_embeddings);
        let mut tensors: Vec<TensorSpec> = OUTSIDE[..kept].iter().map(|named| self.tensor(*named, None, 0)).collect();
        for (layer, kind) in self.architecture.layers.iter().enumerate() {
            let parts = || self.family.layer.iter().filter(|named| named.0.is_in(*kind));
            for named in parts().filter(|named| !named.0.is_of_expert()) {
                tensors.push(self.tensor(*named, Some(layer), 0));
            }
            for expert in 0..self.architecture.experts.map_or(0, |experts| experts.count) {
                let of_expert = parts().filter(|named| named.0.is_of_expert());
                tensors.extend(of_expert.map(|named| self.tensor(*named, Some(layer), expert)));
            }
            for named in parts().filter(|named| self.architecture.biases.has(named.0)) {
                let tensor = self.tensor(*named, Some(layer), 0);
                let renamed =
                    |name: String| name.strip_suffix("weight").map_or(name.clone(), |stem| format!("{stem}bias"));
                tensors.push(TensorSpec {
                    role: Role::Bias,
                    name: renamed(tensor.name),
                    gguf_name: renamed(tensor.gguf_name),
                    shape: vec![tensor.shape[0]],
                    ..tensor
                });
            }
        }
        tensors
    }

    fn tensor(&self, Named(part, hf, gguf): Named, layer: Option<usize>, expert: usize) -> TensorSpec {
        let hf = hf.replace("{}", &expert.to_string());
        let (name, gguf_name) = match layer {
            Some(layer) => (format!("model.layers.{layer}.{hf}.weight"), format!("blk.{layer}.{gguf}.weight")),
            None => (format!("{hf}.weight"), format!("{gguf}.weight")),
        };
        let (layer, role) = (layer.unwrap_or(0), part.role());
        TensorSpec { part, layer, expert, role, name, gguf_name, shape: part.shape(self) }
    }

    /// Rows of each of the matrices that a weight of a layer, or a factor beside one, holds one below the other: one, but
    /// where several projections are one tensor. None for what is no matrix, and for embedding and head.
    pub fn matrices(&self, tensor: &TensorSpec) -> Vec<usize> {
        if !tensor.is_matrix_of_layer() {
            return Vec::new();
        }
        let rows = tensor.shape[0];
        let parts = match tensor.part {
            Part::QueryKeyValue => [Part::Query, Part::Key, Part::Value].map(|part| part.shape(self)[0]).to_vec(),
            Part::GateUp => [Part::Gate, Part::Up].map(|part| part.shape(self)[0]).to_vec(),
            _ => vec![rows],
        };
        // The first factor beside such a tensor has rows of its own.
        if parts.iter().sum::<usize>() == rows { parts } else { vec![rows] }
    }

    /// Whether layers have a part.
    pub fn has(&self, part: Part) -> bool {
        self.family.layer.iter().any(|named| named.0 == part)
    }

    /// Trainable numbers; a tied output matrix counts once.
    pub fn parameter_count(&self) -> u64 {
        self.tensors().iter().map(|tensor| tensor.shape.iter().product::<usize>() as u64).sum()
    }
}
