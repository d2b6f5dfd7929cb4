//! Where the decoder computes: each of its operations once, with a form for the CPU ([`super::cpu`]) and one for CUDA devices
//! ([`super::cuda`]).
//!
//! Whatever computes is generic over its [`Backend`], which is chosen once, where a job opens its device. So what one backend
//! made can only meet what the same one made, by its type.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::choice::{Choice, Draws};
use super::collective::Collective;
use super::error::EngineError;
use super::kernels::gemm::Precision;
use super::kernels::update::AdamW;
use super::limits::Limits;
use super::moments::{Begin, Muon, Order, Packed};
use super::ops::attention::{Attended, Heads};
use super::ops::logprob::Reading;
use super::ops::norm::Normed;
use super::projection::{Lengths, LowRank, Norm, NormOf, Projection};
use super::rows::{self, CachedRow};
use super::shares::Shares;
use crate::job::memory::Machine;
use crate::job::spec::{Masters, MomentState, SampledCache, SamplingSpec};
use crate::modelfile::architecture::{Activation, TensorSpec};
use crate::modelfile::config::ModelConfig;
use crate::modelfile::gguf::blocks::BlockKind;
use crate::modelfile::rope::Rotation;
use crate::objective::TeacherView;

type Result<T> = std::result::Result<T, EngineError>;

/// All that a decoder asks for.
pub trait Backend: Operations + Attention + Head + Training {}

impl<B: Operations + Attention + Head + Training> Backend for B {}

/// What a backend keeps numbers in, and how much of it there is.
pub trait Storage: Debug + Send + Sync + Sized + 'static {
    /// Numbers. The residual stream and its gradient, logits and sums are f32 everywhere; everything else is of the
    /// backend's kind.
    type Array: Debug + Send + Sync;
    /// A pass's tokens and their places in their sequences.
    type Tokens<'a>: Debug;
    /// Which rows of whole sequences belong together.
    type Packed<'a>: Debug;
    /// Where the keys and values are that rows see.
    type Cached<'a>: Debug;
    /// Keys and values of one layer, in blocks.
    type Layer: Debug + Send + Sync;
    /// Passes over a cache that can be repeated.
    type Recordings: Debug + Default + Send + Sync;
    /// What rotations by position need.
    type Rotary: Debug + Send + Sync;
    /// The weights' numbers.
    type Parameters: Tensors;
    /// Gradients of a step, summed over its micro-batches; without any at first.
    type Gradients: Debug + Default;
    /// First or second moments of the gradients.
    type Moments: Moments;

    /// Whether the CPU is free while the backend computes.
    const IS_ASYNCHRONOUS: bool;
    /// Whether a sampled token's log-probability has the bits that training computes of it.
    const SAMPLES_EXACTLY: bool;
    /// What estimates of memory must know.
    const MACHINE: Machine;
    /// Bytes that the logits of a training pass may take at a time.
    const LOGITS_BYTES: usize = Self::MACHINE.logits as usize;
    /// Tokens beyond which a training pass gets no faster.
    const MOST_TOKENS: u64;

    /// What a sampling phase may take.
    fn limits(&self) -> Result<Limits>;

    /// Bytes that may still be taken.
    fn available(&self) -> Result<u64>;

    /// The most bytes that have been held at a time since [`Self::forget_peak`], where that is known.
    fn peak(&self) -> Option<u64> {
        None
    }

    fn forget_peak(&self) {}
    /// Gives memory back that is kept for passes of a phase that is over.
    fn end_phase(&self) {}
    /// Whether all numbers that were read so far could be read.
    fn check(&self) -> Result<()>;
}

/// Numbers in the shape of a model's weights, by the weights' places.
pub trait Tensors: Debug + Send + Sync {
    /// Calls `f` with the numbers of one weight; with zeros where they cannot be read, which [`Storage::check`] tells.
    fn read<T>(&self, index: usize, f: impl FnOnce(&[f32]) -> T) -> T;
}

/// First or second moments, by the weights' places.
pub trait Moments: Debug + Send + Sync {
    /// The kind in which [`Self::packed`] gives them.
    fn saved_as(&self) -> MomentState;

    /// Those of one weight, as a checkpoint keeps them; zeros where they cannot be read, which [`Storage::check`] tells.
    fn packed(&self, index: usize) -> Cow<'_, Packed>;
}

/// What weights are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Gradients change them; matrices are kept in what is said, and vectors in f32.
    Training(Masters),
    /// They never change. Matrices are kept once, in the form and precision of products, or in the blocks of a file of few
    /// bits where the backend multiplies with them, which the CPU does.
    Computing(Precision),
    /// The same with matrices in codes of 8 bits made of whatever they were.
    Coded(Precision),
}

/// Where the numbers of tensors come from.
pub trait Source {
    /// The numbers of a tensor.
    fn read(&mut self, spec: &TensorSpec) -> Result<Vec<f32>>;

    /// The same as the blocks of a file, row after row, where it has such that products read.
    fn blocks(&mut self, _spec: &TensorSpec) -> Result<Option<Blocks>> {
        Ok(None)
    }
}

impl<F: FnMut(&TensorSpec) -> Result<Vec<f32>>> Source for F {
    fn read(&mut self, spec: &TensorSpec) -> Result<Vec<f32>> {
        self(spec)
    }
}

/// A matrix as blocks of a file.
pub type Blocks = (BlockKind, Vec<u8>);

/// A tensor of a model, as it was read or drawn.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// The tokens of whole sequences side by side.
#[derive(Debug)]
pub struct PackedRows<'a, B: Storage> {
    pub tokens: B::Tokens<'a>,
    pub sequences: B::Packed<'a>,
}

/// Tokens that continue cached sequences.
#[derive(Debug)]
pub struct CachedRows<'a, B: Storage> {
    pub tokens: B::Tokens<'a>,
    pub sequences: B::Cached<'a>,
}

/// What a projection's result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The next operation.
    Activation,
    /// The residual stream, or logits: f32 on every backend.
    Sum,
}

/// How a pass computes with an adapter.
#[derive(Clone, Copy, Debug, Default)]
pub struct How<'a> {
    /// The CPU keeps weights packed for the next pass, as sampling wants.
    pub keep: bool,
    /// What decides, row by row, what is dropped on its way to the adapter; nothing where nothing is.
    pub keys: &'a [u32],
}

/// Numbers that are those of another array, or a copy of them in another kind.
#[derive(Debug)]
pub enum Narrowed<'a, A> {
    Same(&'a A),
    Own(A),
}

impl<A> Deref for Narrowed<'_, A> {
    type Target = A;
    fn deref(&self) -> &A {
        match self {
            Self::Same(array) => array,
            Self::Own(array) => array,
        }
    }
}

/// How a step changes weights.
#[derive(Debug)]
pub struct Update<'a> {
    /// Whatever else is a matrix,
    pub matrix: AdamW,
    /// and what is none.
    pub vector: AdamW,
    pub muon: Muon,
    /// By the weights' places the rows of the matrices in them that take Muon; none where a weight takes AdamW.
    pub matrices: &'a [Vec<usize>],
}

impl Update<'_> {
    /// The update of AdamW for a weight of a shape.
    pub fn adamw(&self, shape: &[usize]) -> AdamW {
        if shape.len() > 1 { self.matrix } else { self.vector }
    }
}

/// Operations over rows, forward and backward.
pub trait Operations: Storage {
    /// A copy.
    fn copy(&self, x: &Self::Array) -> Result<Self::Array>;

    /// Zeros for sums.
    fn zeros(&self, len: usize) -> Result<Self::Array>;

    /// An array with the given numbers, in the residual stream.
    fn brought(&self, values: &[f32]) -> Result<Self::Array>;

    /// `sum += x`, in the residual stream; `x` may be of the other kind.
    fn add(&self, sum: &mut Self::Array, x: &Self::Array) -> Result<()>;

    /// `x *= factor`.
    fn scale(&self, x: &mut Self::Array, factor: f32) -> Result<()>;

    /// Multiplies each row by its factor.
    fn scale_rows(&self, x: &mut Self::Array, width: usize, factors: &[f32]) -> Result<()>;

    /// The product of every row of `a` with that of `b`.
    fn row_products(&self, a: &Self::Array, b: &Self::Array, width: usize) -> Result<Vec<f32>>;

    /// Numbers of the residual stream in the kind that products read.
    fn narrowed<'a>(&self, x: &'a Self::Array) -> Result<Narrowed<'a, Self::Array>>;

    /// Numbers in the kind that products read, in that of the residual stream.
    fn widened(&self, x: Self::Array) -> Result<Self::Array>;

    /// Some rows of `x`.
    fn gather(&self, x: &Self::Array, width: usize, rows: &[u32]) -> Result<Self::Array>;

    /// Adds rows to some rows of `sum`, each of which is named once.
    fn scatter_add(&self, sum: &mut Self::Array, x: &Self::Array, width: usize, rows: &[u32]) -> Result<()>;

    /// The tokens' rows, of `width` numbers each, of an embedding.
    fn embed(
        &self,
        embedding: (&Self::Parameters, usize),
        tokens: &Self::Tokens<'_>,
        width: usize,
    ) -> Result<Self::Array>;

    /// Adds the gradient of embedded tokens to that of the embedding.
    fn embedding_gradient(
        &self,
        embedding: (&Self::Parameters, usize),
        rows: &PackedRows<'_, Self>,
        dx: &Self::Array,
        sums: &mut Self::Gradients,
    ) -> Result<()>;

    /// Norms of the rows of `x`, after adding those of `residual` to them.
    fn norm(
        &self,
        x: &mut Self::Array,
        residual: Option<&Self::Array>,
        norm: NormOf<'_, Self::Parameters>,
    ) -> Result<Normed<Self::Array>>;

    /// The norms once more.
    fn norm_again(
        &self,
        x: &Self::Array,
        inverses: &Self::Array,
        norm: NormOf<'_, Self::Parameters>,
    ) -> Result<Self::Array>;

    /// Adds to `dx` the gradient of the norms of `x` for `grad`, and to that of the weight where it is trained.
    fn norm_backward(
        &self,
        of: (&Self::Array, &Self::Array),
        norm: NormOf<'_, Self::Parameters>,
        grad: &Self::Array,
        dx: &mut Self::Array,
        sums: Option<&mut Self::Gradients>,
    ) -> Result<()>;

    /// `x W^T`, and the biases. With `keep` the CPU keeps the weights packed for the next pass, as sampling wants.
    fn project(
        &self,
        projection: &Projection,
        parameters: &Self::Parameters,
        x: &Self::Array,
        into: Output,
        keep: bool,
    ) -> Result<Self::Array>;

    /// The same of rows `range` of `x` only, for logits.
    fn project_rows(
        &self,
        projection: &Projection,
        parameters: &Self::Parameters,
        x: &Self::Array,
        range: Range<usize>,
        keep: bool,
    ) -> Result<Self::Array>;

    /// `dy W`.
    fn input_gradient(
        &self,
        projection: &Projection,
        parameters: &Self::Parameters,
        dy: &Self::Array,
    ) -> Result<Self::Array>;

    /// Adds `dy^T x` to the gradients of a projection's weights, and the sum of `dy` to those of its biases; `x` are the
    /// rows of an array from the given one on.
    fn weight_gradients(
        &self,
        projection: &Projection,
        parameters: &Self::Parameters,
        x: (&Self::Array, usize),
        dy: &Self::Array,
        sums: &mut Self::Gradients,
    ) -> Result<()>;

    /// Adds to the result of a projection of `x` its low-rank change. Keys are there for all rows
    /// or for none.
    fn change(
        &self,
        change: &LowRank,
        parameters: &Self::Parameters,
        x: &Self::Array,
        out: &mut Self::Array,
        how: How<'_>,
    ) -> Result<()>;

    /// Adds to the gradient of a projection's `x` that of its low-rank change, for `dy`, the gradient of the result.
    fn change_input_gradient(
        &self,
        change: &LowRank,
        parameters: &Self::Parameters,
        dy: &Self::Array,
        dx: &mut Self::Array,
        keys: &[u32],
    ) -> Result<()>;

    /// Adds to the gradients of a low-rank change's weights.
    fn change_weight_gradients(
        &self,
        change: &LowRank,
        parameters: &Self::Parameters,
        x: (&Self::Array, &[u32]),
        dy: &Self::Array,
        sums: &mut Self::Gradients,
    ) -> Result<()>;

    /// Scales the parts of a projection's result, with its change in it, that have magnitudes: `(y - bias) magnitude inverse +
    /// bias`.
    fn scale_columns(
        &self,
        change: &LowRank,
        lengths: Lengths<'_, Self::Parameters>,
        out: &mut Self::Array,
    ) -> Result<()>;

    /// Adds to the gradients of the magnitudes, for `dy`, the gradient of a result that was `y` before it was scaled.
    fn magnitude_gradients(
        &self,
        change: &LowRank,
        lengths: Lengths<'_, Self::Parameters>,
        of: (&Self::Array, &Self::Array),
        sums: &mut Self::Gradients,
    ) -> Result<()>;

    /// `a(gate) up` of rows that hold gate and up side by side, with an activation `a`.
    fn gated(&self, rows: &Self::Array, width: usize, activation: Activation) -> Result<Self::Array>;

    /// Turns `rows` into their gradient, and `grad`, that of the result, into the result.
    fn gated_backward(
        &self,
        rows: &mut Self::Array,
        grad: &mut Self::Array,
        width: usize,
        activation: Activation,
    ) -> Result<()>;
}

/// What knows about sequences: positions, attention within a pass, and attention over a cache.
pub trait Attention: Storage {
    fn packed<'a>(&self, packed: rows::Packed<'a>) -> Result<PackedRows<'a, Self>>;

    fn cached<'a>(&self, rows: &'a [CachedRow<'a>], heads: Heads) -> Result<CachedRows<'a, Self>>;

    /// Norms of heads: rows of queries, keys and values whose queries and keys are normed, with a norm for each.
    fn norm_heads(
        &self,
        rows: &Self::Array,
        heads: Heads,
        norms: (&Self::Parameters, [Norm; 2]),
    ) -> Result<Normed<Self::Array>>;

    /// The norms once more.
    fn norm_heads_again(
        &self,
        of: (&Self::Array, &Self::Array),
        heads: Heads,
        norms: (&Self::Parameters, [Norm; 2]),
    ) -> Result<Self::Array>;

    /// Turns the gradient of the normed rows into that of the rows, and adds to those of the weights where they are
    /// trained.
    fn norm_heads_backward(
        &self,
        of: (&Self::Array, &Self::Array),
        heads: Heads,
        norms: (&Self::Parameters, [Norm; 2]),
        grad: &mut Self::Array,
        sums: Option<&mut Self::Gradients>,
    ) -> Result<()>;

    /// Rotations in sequences up to `context` tokens.
    fn rotary(&self, rotation: Rotation, context: usize) -> Result<Self::Rotary>;

    /// Rotates queries and keys by their positions, or back.
    fn rotate(
        &self,
        rows: &mut Self::Array,
        heads: Heads,
        tokens: &Self::Tokens<'_>,
        rotary: &Self::Rotary,
        back: bool,
    ) -> Result<()>;

    /// Attention within each sequence.
    fn packed_attention(
        &self,
        rows: &Self::Array,
        heads: Heads,
        packed: &PackedRows<'_, Self>,
    ) -> Result<Attended<Self::Array>>;

    /// The gradient of [`Self::packed_attention`].
    fn packed_attention_backward(
        &self,
        rows: &Self::Array,
        attended: &Attended<Self::Array>,
        grad: &Self::Array,
        heads: Heads,
        packed: &PackedRows<'_, Self>,
    ) -> Result<Self::Array>;

    /// Memory for so many blocks of a layer, and for one more where rows that only fill a pass up need it. Keys and values
    /// are kept in what the backend computes attention from, or in what is said.
    fn cache_layer(&self, heads: Heads, kept: Option<SampledCache>, blocks: usize) -> Result<Self::Layer>;

    /// Bytes of one block of a layer.
    fn block_bytes(&self, heads: Heads, kept: Option<SampledCache>) -> usize;

    /// Copies one block of a layer.
    fn copy_block(&self, layer: &mut Self::Layer, heads: Heads, from: u32, to: u32) -> Result<()>;

    /// Puts the rows' keys and values into a layer of the cache, then attends to what their sequences have there.
    fn cached_attention(
        &self,
        rows: &Self::Array,
        heads: Heads,
        cached: &CachedRows<'_, Self>,
        layer: &mut Self::Layer,
    ) -> Result<Self::Array>;
}

/// What is read off logits.
pub trait Head: Storage {
    /// Reads `targets` off rows of logits.
    fn read_rows(&self, logits: &Self::Array, targets: &[u32]) -> Result<Reading>;

    /// The same beside a teacher's logits.
    fn read_pairs(
        &self,
        own: &Self::Array,
        other: &Self::Array,
        targets: &[u32],
        view: &TeacherView,
    ) -> Result<Reading>;

    /// The gradient of logits, for those of the log-probabilities and of the divergences, which come with the
    /// teacher's logits and how it is looked at.
    fn logits_gradient(
        &self,
        logits: Self::Array,
        targets: &[u32],
        of_logprobs: &[f32],
        of_divergence: Option<(&[f32], &Self::Array, &TeacherView)>,
    ) -> Result<Self::Array>;

    /// The numbers of an array.
    fn to_host(&self, array: &Self::Array) -> Result<Vec<f32>>;

    /// Draws a token from each of the given rows of `logits: [N, vocabulary]`, with a number in `[0, 1)` each.
    fn draw(
        &self,
        logits: (&Self::Array, usize),
        rows: &[u32],
        spec: &SamplingSpec,
        uniforms: &[f64],
    ) -> Result<Vec<Choice>>;

    /// Repeats a recorded pass for `rows`, with a block of the cache that nobody reads, or records one, and draws from
    /// every row. `logits` computes theirs, `meanwhile` is called while the backend computes. There is no choice, and
    /// nothing was done, where such a pass is to be computed like any other.
    fn replay(
        &self,
        _recordings: &mut Self::Recordings,
        _rows: (&[CachedRow<'_>], u32),
        _draws: Draws<'_>,
        _logits: impl FnMut(&CachedRows<'_, Self>) -> Result<Self::Array>,
        _meanwhile: &mut impl FnMut() -> Result<()>,
    ) -> Result<Option<Vec<Choice>>> {
        Ok(None)
    }
}

/// Weights, and what becomes of their gradients.
pub trait Training: Storage {
    /// Memory for tensors of a model or beside it, whose places are in the order of their names, filled with what `source`
    /// gives. What is one product stands side by side in `specs`.
    fn parameters(
        self: &Arc<Self>,
        config: &ModelConfig,
        specs: &[TensorSpec],
        usage: Usage,
        source: &mut dyn Source,
    ) -> Result<Self::Parameters>;

    /// Takes over other numbers of one weight.
    fn write(&self, parameters: &Self::Parameters, index: usize, values: &[f32]) -> Result<()>;

    /// Moments, which begin for each weight as is said.
    fn moments(
        &self,
        parameters: &Self::Parameters,
        kind: (MomentState, Order),
        begin: Vec<Begin>,
    ) -> Result<Self::Moments>;

    /// For each of some weights the sums of squares of pieces of its sum.
    fn squares(&self, sums: &Self::Gradients, places: &[usize]) -> Result<Vec<Vec<f64>>>;

    /// All sums in a row, tensor after tensor.
    fn gradient_numbers(&self, sums: &Self::Gradients) -> Result<Vec<f32>>;

    /// Adds up the sums of all ranks of a job, as one flat piece. Where there are shares, a rank has those of its own
    /// weights then, and those of other weights mean nothing.
    fn sum_over_ranks(
        &self,
        parameters: &Self::Parameters,
        sums: &mut Self::Gradients,
        shares: Option<&Shares>,
        ranks: &dyn Collective,
    ) -> Result<()>;

    /// The places of the weights, in the order in which these stand in memory.
    fn order(&self, parameters: &Self::Parameters) -> Vec<usize>;

    /// After a step of the optimizer that every rank took for its share of the weights: takes over those of the others.
    fn spread(&self, parameters: &Self::Parameters, shares: &Shares, ranks: &dyn Collective) -> Result<()>;

    /// Of ranks with shares: lets go of what only the optimizer's step of weights of others reads, where passes read copies.
    fn divide(&self, parameters: &Self::Parameters, shares: &Shares) -> Result<()>;

    /// Takes it back from the others (all-gather), which all do together.
    fn unite(&self, parameters: &Self::Parameters, shares: &Shares, ranks: &dyn Collective) -> Result<()>;

    /// The given step of the optimizer, which may use the gradients up; weights without moments stay as they are. A weight without gradient is an internal error,
    /// because every weight takes part in every forward pass.
    fn update(
        &self,
        parameters: &Self::Parameters,
        sums: &Self::Gradients,
        moments: &mut [Self::Moments; 2],
        step: u64,
        update: &Update<'_>,
    ) -> Result<()>;
}
