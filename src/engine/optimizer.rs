//! The optimizer: AdamW (Loshchilov and Hutter, arXiv 1711.05101), and Muon for matrices where a spec asks for it, with
//! state in f32 or fewer bits that can be saved, and clipping by the global gradient norm.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use safetensors::tensor::Metadata;
use safetensors::{Dtype, View};

use super::backend::{Backend, Moments, Update};
use super::collective::Collective;
use super::cpu::Cpu;
use super::error::EngineError;
use super::kernels::narrow::BLOCK;
use super::kernels::update;
use super::model::weights::{Weights, little_endian};
use super::moments::{Begin, Muon, Order, Packed};
use super::shares::Shares;
use crate::job::spec::{MomentState, OptimizerKind, OptimizerSpec};

/// First and second moments by the names that checkpoints have for them.
const MOMENTS: [(Order, &str); 2] = [(Order::First, "first"), (Order::Second, "second")];
/// What the names of their scales end with.
const SCALES: &str = ".scales";
/// Bytes of the header of a file with a state.
const HEADER_LIMIT_BYTES: u64 = 100_000_000;

/// The optimizer and its state.
#[derive(Debug)]
pub struct Optimizer<B: Backend = Cpu> {
    spec: OptimizerSpec,
    /// By the weights' places the rows of the matrices in them that take Muon; none where a weight takes AdamW.
    matrices: Vec<Vec<usize>>,
    /// Of several ranks whose moments are divided among them.
    shares: Option<Shares>,
    /// Steps taken; the bias correction depends on it.
    taken: u64,
    /// First and second moments, from the first step on.
    moments: Option<[B::Moments; 2]>,
}

impl<B: Backend> Optimizer<B> {
    /// An optimizer for weights, which has taken no step.
    pub fn new(spec: &OptimizerSpec, weights: &Weights<B>) -> Self {
        let described = weights.described();
        let matrices = match spec.kind {
            OptimizerKind::Adamw => vec![Vec::new(); described.len()],
            OptimizerKind::Muon => {
                described.into_iter().map(|tensor| weights.config().matrices(tensor)).collect::<Vec<_>>()
            }
        };
        Self { spec: spec.clone(), matrices, shares: None, taken: 0, moments: None }
    }

    /// The same optimizer for one of several ranks, if the spec divides moments among them.
    pub fn among(self, weights: &Weights<B>, ranks: &dyn Collective) -> Self {
        if !self.spec.sharded || ranks.size() == 1 {
            return self;
        }
        let lens: Vec<usize> = (0..weights.count()).map(|index| weights.len_of(index)).collect();
        let order = weights.backend().order(weights.parameters());
        Self { shares: Some(Shares::new(ranks.rank(), ranks.size(), &lens, &order)), ..self }
    }

    /// Whether other ranks keep moments that this one does not have.
    pub fn is_sharded(&self) -> bool {
        self.shares.is_some()
    }

    /// Bytes that the moments take.
    pub fn bytes(&self, weights: &Weights<B>) -> u64 {
        let numbers = |order: Order| -> u64 {
            let own = (0..weights.count()).filter(|index| self.has(order, *index));
            own.map(|index| weights.len_of(index) as u64).sum()
        };
        let all = numbers(Order::First);
        self.spec.state.bytes(all, all - numbers(Order::Second))
    }

    /// Whether this rank keeps moments of an order of a weight.
    fn has(&self, order: Order, index: usize) -> bool {
        (order == Order::First || self.matrices[index].is_empty()) && self.is_own(index)
    }

    /// Whether this rank takes the step of a weight.
    fn is_own(&self, index: usize) -> bool {
        self.shares.as_ref().is_none_or(|shares| shares.is_own(index))
    }

    /// The weights whose steps each rank takes, where these are divided among them.
    pub fn shares(&self) -> Option<&Shares> {
        self.shares.as_ref()
    }

    /// The Euclidean norm of the gradients of all weights, after multiplying by `scale`; every rank learns it, from those of
    /// which it has the sums.
    pub fn norm(
        &self,
        weights: &Weights<B>,
        gradients: &B::Gradients,
        scale: f64,
        ranks: &dyn Collective,
    ) -> Result<f64, EngineError> {
        let own: Vec<usize> = (0..weights.count()).filter(|index| self.is_own(*index)).collect();
        let mut squares = weights.backend().squares(gradients, &own)?;
        if let Some(shares) = &self.shares {
            let mut all: Vec<_> = ranks.gather_values(squares)?.into_iter().map(Vec::into_iter).collect();
            // In the weights' order, so that the sum has the bits of ranks that know all of them.
            squares = (0..weights.count()).filter_map(|index| all[shares.owner(index)].next()).collect();
        }
        Ok(squares.iter().flatten().sum::<f64>().sqrt() * scale)
    }

    /// Takes over what the last step of other ranks made of their shares of the weights, and gives them this one's.
    pub fn spread(&self, weights: &Weights<B>, ranks: &dyn Collective) -> Result<(), EngineError> {
        let Some(shares) = &self.shares else { return Ok(()) };
        weights.backend().spread(weights.parameters(), shares, ranks)
    }

    /// One update with `gradients * scale`, whose global norm is `norm`, clipped to the spec's. Of several ranks with shares
    /// each takes it for its own, and [`Self::spread`] comes after.
    pub fn step(
        &mut self,
        weights: &Weights<B>,
        gradients: &B::Gradients,
        scale: f64,
        norm: f64,
        learning_rate: f64,
    ) -> Result<(), EngineError> {
        let limit = self.spec.max_grad_norm;
        let clip = if limit > 0.0 && norm > limit { limit / norm } else { 1.0 };
        self.taken += 1;
        let (beta1, beta2) = (self.spec.beta1, self.spec.beta2);
        let correction = |beta: f64, taken: u64| 1.0 - beta.powf(taken as f64);
        let (scale, keep) = ((scale * clip) as f32, |decay: f64| (1.0 - learning_rate * decay) as f32);
        let adamw = |decay: f64| update::AdamW {
            scale,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            step_size: (learning_rate / correction(beta1, self.taken)) as f32,
            root_correction: correction(beta2, self.taken).sqrt() as f32,
            eps: self.spec.eps as f32,
            keep: keep(decay),
        };
        let decay = self.spec.weight_decay;
        let (momentum, learning_rate) = (self.spec.momentum as f32, learning_rate as f32);
        let update = Update {
            matrix: adamw(decay),
            // Norm weights are vectors; decay is for matrices.
            vector: adamw(0.0),
            muon: Muon { scale, momentum, learning_rate, keep: keep(decay) },
            matrices: &self.matrices,
        };
        let (backend, parameters) = (weights.backend(), weights.parameters());
        let mut moments = match self.moments.take() {
            Some(moments) => moments,
            None => [self.begun(weights, Order::First, |_| None)?, self.begun(weights, Order::Second, |_| None)?],
        };
        let done = backend.update(parameters, gradients, &mut moments, self.taken, &update);
        self.moments = Some(moments);
        done
    }

    /// Moments of an order, which begin as what is known of each weight's, and else as zeros.
    fn begun(
        &self,
        weights: &Weights<B>,
        order: Order,
        mut known: impl FnMut(usize) -> Option<Packed>,
    ) -> Result<B::Moments, EngineError> {
        let begin = |index: usize| match (self.has(order, index), known(index)) {
            (false, _) => Begin::Nothing,
            (true, None) => Begin::Zeros,
            (true, Some(packed)) => Begin::Stored(packed),
        };
        let begin = (0..weights.count()).map(begin).collect();
        weights.backend().moments(weights.parameters(), (self.spec.state, order), begin)
    }

    /// This rank's state as named tensors (`first.<name>`, `second.<name>`, and `.scales` of both) for a checkpoint, and the steps
    /// taken.
    pub fn state<'a>(&'a self, weights: &Weights<B>) -> (u64, SavedMoments<'a, B::Moments>) {
        let mut tensors = Vec::new();
        for ((order, which), moments) in MOMENTS.into_iter().zip(self.moments.iter().flatten()) {
            for index in (0..weights.count()).filter(|index| self.has(order, *index)) {
                let (name, len) = (format!("{which}.{}", weights.name(index)), weights.len_of(index));
                if moments.saved_as() == MomentState::Int8 {
                    let scales = SavedMoment { moments, index, len: len.div_ceil(BLOCK), scales: true };
                    tensors.push((format!("{name}{SCALES}"), scales));
                }
                tensors.push((name, SavedMoment { moments, index, len, scales: false }));
            }
        }
        (self.taken, tensors)
    }

    /// Takes over a state that was saved in files, of however many ranks.
    pub fn restore(&mut self, weights: &Weights<B>, taken: u64, paths: &[PathBuf]) -> Result<(), EngineError> {
        let saved = paths.iter().map(|path| Saved::open(path)).collect::<Result<Vec<_>, _>>()?;
        let known = |(order, which): (Order, &str)| -> Result<Vec<Option<Packed>>, EngineError> {
            let of = |index: usize| {
                let name = format!("{which}.{}", weights.name(index));
                let mut found = None;
                for file in saved.iter().filter(|_| self.has(order, index)) {
                    found = found.or(file.moments(&name)?);
                }
                let Some(packed) = found else { return Ok(None) };
                let (kind, len) = (self.spec.state, weights.len_of(index));
                // A device keeps codes in blocks of its own and saves what they stand for.
                let is_decoded = kind == MomentState::Int8 && packed.fits(MomentState::F32, len);
                let is_good = packed.fits(kind, len) || is_decoded;
                let detail = || format!("the optimizer's `{name}` is of another kind or size than the weight's");
                if is_good { Ok(Some(packed)) } else { Err(corrupt(detail())) }
            };
            (0..weights.count()).map(of).collect()
        };
        let [mut first, mut second] = [known(MOMENTS[0])?, known(MOMENTS[1])?];
        let has_begun = first.iter().chain(&second).any(Option::is_some);
        self.moments = None;
        if has_begun {
            let first = self.begun(weights, Order::First, |index| first[index].take())?;
            self.moments = Some([first, self.begun(weights, Order::Second, |index| second[index].take())?]);
        }
        self.taken = taken;
        Ok(())
    }
}

fn corrupt(detail: String) -> EngineError {
    EngineError::InvalidData { code: "checkpoint_corrupt", detail }
}

/// A file with a state, of which one tensor at a time is read: all of them are as much as the moments themselves.
struct Saved {
    path: PathBuf,
    file: File,
    head: Metadata,
    /// Where the tensors begin.
    start: u64,
}

impl Saved {
    fn open(path: &Path) -> Result<Self, EngineError> {
        let file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
        let size = file.metadata().map_err(|e| EngineError::io("reading", path, e))?.len();
        let broken = |detail: String| corrupt(format!("the optimizer's state in {}: {detail}", path.display()));
        let mut length = [0; 8];
        file.read_exact_at(&mut length, 0).map_err(|e| EngineError::io("reading", path, e))?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_LIMIT_BYTES.min(size) {
            return Err(broken(format!("a header of {length} bytes")));
        }
        let mut header = vec![0; length as usize];
        file.read_exact_at(&mut header, 8).map_err(|e| EngineError::io("reading", path, e))?;
        let head: Metadata = serde_json::from_slice(&header).map_err(|e| broken(e.to_string()))?;
        let start = 8 + length;
        if start + head.data_len() as u64 != size {
            return Err(broken(String::from("it ends too early")));
        }
        Ok(Self { path: path.to_owned(), file, head, start })
    }

    fn tensor(&self, name: &str) -> Result<Option<(Dtype, Vec<u8>)>, EngineError> {
        let Some(info) = self.head.info(name) else { return Ok(None) };
        let (begin, end) = info.data_offsets;
        let mut bytes = vec![0; end - begin];
        let read = self.file.read_exact_at(&mut bytes, self.start + begin as u64);
        read.map_err(|e| EngineError::io("reading", &self.path, e))?;
        Ok(Some((info.dtype, bytes)))
    }

    /// The moments of a weight, if the file has them.
    fn moments(&self, name: &str) -> Result<Option<Packed>, EngineError> {
        let Some((dtype, bytes)) = self.tensor(name)? else { return Ok(None) };
        let floats =
            |bytes: &[u8]| bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        Ok(Some(match dtype {
            Dtype::BF16 => Packed::Bf16(bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect()),
            Dtype::U8 => {
                let Some((_, scales)) = self.tensor(&format!("{name}{SCALES}"))? else { return Ok(None) };
                Packed::Int8 { codes: bytes, scales: floats(&scales) }
            }
            _ => Packed::F32(floats(&bytes)),
        }))
    }
}

/// Moments with their names in a file.
pub type SavedMoments<'a, M> = Vec<(String, SavedMoment<'a, M>)>;

/// The moments of a weight, or their scales, on their way into a file.
#[derive(Debug)]
pub struct SavedMoment<'a, M> {
    moments: &'a M,
    index: usize,
    len: usize,
    scales: bool,
}

impl<M: Moments> View for SavedMoment<'_, M> {
    fn dtype(&self) -> Dtype {
        match self.moments.saved_as() {
            MomentState::Int8 if !self.scales => Dtype::U8,
            MomentState::Bf16 => Dtype::BF16,
            MomentState::F32 | MomentState::Int8 => Dtype::F32,
        }
    }

    fn shape(&self) -> &[usize] {
        std::slice::from_ref(&self.len)
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let floats = |values: &[f32]| little_endian(values, f32::to_le_bytes);
        Cow::Owned(match &*self.moments.packed(self.index) {
            Packed::F32(values) => floats(values),
            Packed::Bf16(values) => little_endian(values, u16::to_le_bytes),
            Packed::Int8 { scales, .. } if self.scales => floats(scales),
            Packed::Int8 { codes, .. } => codes.clone(),
        })
    }

    fn data_len(&self) -> usize {
        self.len * self.dtype().bitsize() / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::Tensors;
    use crate::engine::collective::Alone;
    use crate::engine::gradients::GradientSum;
    use crate::engine::model::weights::write_safetensors;
    use crate::job::spec::Masters;

    /// AdamW in float64 from the paper's algorithm 2.
    fn reference(steps: usize, spec: &OptimizerSpec, decay: f64) -> Vec<f64> {
        let mut w = vec![1.0, -2.0, 0.5, 3.0];
        let (mut m, mut v) = ([0.0; 4], [0.0; 4]);
        for t in 1..=steps {
            let g: Vec<f64> = w.iter().enumerate().map(|(i, x)| 2.0 * x * (i as f64 + 1.0)).collect();
            let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
            let clip = if norm > spec.max_grad_norm { spec.max_grad_norm / norm } else { 1.0 };
            for i in 0..4 {
                let g = g[i] * clip;
                m[i] = spec.beta1 * m[i] + (1.0 - spec.beta1) * g;
                v[i] = spec.beta2 * v[i] + (1.0 - spec.beta2) * g * g;
                let m_hat = m[i] / (1.0 - spec.beta1.powi(t as i32));
                let v_hat = v[i] / (1.0 - spec.beta2.powi(t as i32));
                w[i] -= 0.1 * (m_hat / (v_hat.sqrt() + spec.eps) + decay * w[i]);
            }
        }
        w
    }

    fn run(shape: &[usize], spec: &OptimizerSpec) -> Vec<f32> {
        resumed(shape, spec, None)
    }

    /// Numbers to begin with.
    fn initial(shape: &[usize]) -> Vec<f32> {
        let of = |i: usize| [1.0, -2.0, 0.5, 3.0][i % 4] + 0.25 * (i / 4) as f32;
        (0..shape.iter().product()).map(of).collect()
    }

    /// The weights after twenty steps, with the state saved and read before one of them.
    fn resumed(shape: &[usize], spec: &OptimizerSpec, at: Option<usize>) -> Vec<f32> {
        let weights = Weights::of("w", shape, initial(shape), spec.masters);
        let mut optimizer = Optimizer::new(spec, &weights);
        for step in 0..20 {
            if at == Some(step) {
                let (taken, tensors) = optimizer.state(&weights);
                let file = tempfile::NamedTempFile::new().unwrap();
                write_safetensors(file.path(), tensors).unwrap();
                optimizer = Optimizer::new(spec, &weights);
                optimizer.restore(&weights, taken, &[file.path().to_owned()]).unwrap();
            }
            let mut sum = GradientSum::default();
            let mut taken = sum.take(0, weights.len_of(0));
            let values = weights.parameters().read(0, <[f32]>::to_vec);
            for (i, (g, w)) in taken.values.iter_mut().zip(values).enumerate() {
                *g = 2.0 * w * (i as f32 + 1.0);
            }
            sum.put(0, taken.values);
            let norm = optimizer.norm(&weights, &sum, 1.0, &Alone).unwrap();
            optimizer.step(&weights, &sum, 1.0, norm, 0.1).unwrap();
        }
        weights.parameters().read(0, <[f32]>::to_vec)
    }

    /// `x y^T` of `x: [n, k]` and `y: [m, k]`.
    fn times(x: &[f64], y: &[f64], k: usize) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        x.chunks(k).flat_map(|a| y.chunks(k).map(move |b| dot(a, b))).collect()
    }

    fn turned(x: &[f64], columns: usize) -> Vec<f64> {
        (0..columns).flat_map(|column| x.iter().skip(column).step_by(columns).copied()).collect()
    }

    /// Muon in float64: equation 1 of arXiv 2502.16982 with Nesterov's momentum, the iteration of its section 2.1 and the size
    /// of its equation 4.
    fn muon_reference(shape: [usize; 2], spec: &OptimizerSpec) -> Vec<f64> {
        let [rows, columns] = shape;
        let mut w: Vec<f64> = initial(&shape).into_iter().map(f64::from).collect();
        let mut m = vec![0.0; w.len()];
        for _ in 0..20 {
            let g: Vec<f64> = w.iter().enumerate().map(|(i, x)| 2.0 * x * (i as f64 + 1.0)).collect();
            let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
            let clip = if norm > spec.max_grad_norm { spec.max_grad_norm / norm } else { 1.0 };
            m.iter_mut().zip(&g).for_each(|(m, g)| *m = spec.momentum * *m + g * clip);
            let mut x: Vec<f64> = g.iter().zip(&m).map(|(g, m)| g * clip + spec.momentum * m).collect();
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.iter_mut().for_each(|x| *x /= norm);
            for _ in 0..5 {
                let gram = times(&x, &x, columns);
                let cubed = times(&gram, &turned(&x, columns), rows);
                let fifth = times(&gram, &turned(&cubed, columns), rows);
                let powers = x.iter().zip(&cubed).zip(&fifth);
                x = powers.map(|((x, cubed), fifth)| 3.4445 * x - 4.775 * cubed + 2.0315 * fifth).collect();
            }
            let size = 0.2 * (rows.max(columns) as f64).sqrt();
            w.iter_mut().zip(&x).for_each(|(w, o)| *w -= 0.1 * (size * o + spec.weight_decay * *w));
        }
        w
    }

    #[test]
    fn muon_matches_float64_whatever_its_moment_is_kept_in_and_resumes_to_the_same_bits() {
        for (state, near) in [(MomentState::F32, 1e-4), (MomentState::Bf16, 0.03), (MomentState::Int8, 0.15)] {
            let kind = OptimizerKind::Muon;
            let spec = OptimizerSpec { kind, weight_decay: 0.1, max_grad_norm: 5.0, state, ..OptimizerSpec::default() };
            for shape in [[2, 2], [4, 1], [3, 5]] {
                let got = run(&shape, &spec);
                for (got, want) in got.iter().zip(muon_reference(shape, &spec)) {
                    assert!((f64::from(*got) - want).abs() < near, "{state:?} {shape:?}: {got} against {want}");
                }
                assert!([1, 7, 19].into_iter().all(|step| resumed(&shape, &spec, Some(step)) == got), "{state:?}");
            }
            // What is no matrix takes AdamW.
            assert_eq!(run(&[4], &spec), run(&[4], &OptimizerSpec { kind: OptimizerKind::Adamw, ..spec }));
        }
    }

    /// Steps of a hundredth of what bf16 can tell apart add up to what they are, and the bits of a resumed run are the same.
    #[test]
    fn masters_in_bf16_stay_near_float64_with_any_moments_and_resume_to_the_same_bits() {
        let base = OptimizerSpec { weight_decay: 0.1, max_grad_norm: 5.0, ..OptimizerSpec::default() };
        for kind in [OptimizerKind::Adamw, OptimizerKind::Muon] {
            for state in [MomentState::F32, MomentState::Bf16, MomentState::Int8] {
                let spec = OptimizerSpec { kind, state, masters: Masters::Bf16, ..base.clone() };
                let got = run(&[2, 2], &spec);
                let wanted = match kind {
                    OptimizerKind::Adamw => reference(20, &spec, 0.1),
                    OptimizerKind::Muon => muon_reference([2, 2], &spec),
                };
                for (got, want) in got.iter().zip(wanted) {
                    assert!((f64::from(*got) - want).abs() < 0.15, "{kind:?} {state:?}: {got} against {want}");
                    assert_eq!(got.to_bits() & 0xffff, 0, "it is bf16");
                }
                assert!([1, 7, 19].into_iter().all(|step| resumed(&[2, 2], &spec, Some(step)) == got), "{state:?}");
            }
        }
        // Vectors are f32.
        let spec = OptimizerSpec { masters: Masters::Bf16, ..base.clone() };
        assert_eq!(run(&[4], &spec), run(&[4], &base));
        let weights = Weights::of("w", &[100, 100], vec![1.0; 10_000], Masters::Bf16);
        let mut optimizer =
            Optimizer::new(&OptimizerSpec { masters: Masters::Bf16, ..OptimizerSpec::default() }, &weights);
        for _ in 0..100 {
            let mut sum = GradientSum::default();
            let mut taken = sum.take(0, 10_000);
            taken.values.fill(1.0);
            sum.put(0, taken.values);
            // Below 1 bf16 tells a 256th apart.
            optimizer.step(&weights, &sum, 1.0, 1.0, 1.0 / 25_600.0).unwrap();
        }
        let mean = weights.parameters().read(0, |values| values.iter().map(|x| f64::from(*x)).sum::<f64>()) / 1e4;
        assert!((mean - (1.0 - 1.0 / 256.0)).abs() < 2e-4, "{mean}");
    }

    #[test]
    fn matrices_of_layers_have_one_moment_and_all_else_has_two() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let weights = Weights::load(&crate::modelfile::inspect(&directory).unwrap()).unwrap();
        let kind = OptimizerKind::Muon;
        let mut optimizer = Optimizer::new(&OptimizerSpec { kind, ..OptimizerSpec::default() }, &weights);
        let mut sums = GradientSum::default();
        for index in 0..weights.count() {
            let mut sum = sums.take(index, weights.len_of(index));
            sum.values.fill(1.0);
            sums.put(index, sum.values);
        }
        optimizer.step(&weights, &sums, 1.0, 1.0, 0.0).unwrap();
        let (_, saved) = optimizer.state(&weights);
        let has = |name: &str| saved.iter().any(|(other, _)| other == name);
        for (name, moments) in [
            ("model.layers.0.mlp.down_proj.weight", 1),
            ("model.layers.1.self_attn.q_proj.weight", 1),
            ("model.layers.0.input_layernorm.weight", 2),
            ("model.embed_tokens.weight", 2),
        ] {
            let found = ["first", "second"].into_iter().filter(|which| has(&format!("{which}.{name}"))).count();
            assert_eq!(found, moments, "{name}");
        }
        let bytes: usize = saved.iter().map(|(_, moment)| moment.data_len()).sum();
        assert_eq!(optimizer.bytes(&weights), bytes as u64);
    }

    #[test]
    fn twenty_clipped_steps_match_float64_and_vectors_are_not_decayed() {
        let spec = OptimizerSpec { weight_decay: 0.1, max_grad_norm: 5.0, ..OptimizerSpec::default() };
        for (shape, decay) in [(vec![2, 2], 0.1), (vec![4], 0.0)] {
            for (got, want) in run(&shape, &spec).iter().zip(reference(20, &spec, decay)) {
                assert!((f64::from(*got) - want).abs() < 1e-4, "{got} against {want}");
            }
        }
    }

    #[test]
    fn moments_in_fewer_bits_stay_near_float64_and_resume_to_the_same_bits() {
        for (state, near) in [(MomentState::F32, 1e-4), (MomentState::Bf16, 0.03), (MomentState::Int8, 0.1)] {
            let spec = OptimizerSpec { weight_decay: 0.1, max_grad_norm: 5.0, state, ..OptimizerSpec::default() };
            let got = run(&[2, 2], &spec);
            for (got, want) in got.iter().zip(reference(20, &spec, 0.1)) {
                assert!((f64::from(*got) - want).abs() < near, "{state:?}: {got} against {want}");
            }
            assert!([1, 7, 19].into_iter().all(|step| resumed(&[2, 2], &spec, Some(step)) == got), "{state:?}");
        }
    }

    #[test]
    fn a_state_of_another_kind_or_size_is_refused() {
        let of = |state| OptimizerSpec { state, ..OptimizerSpec::default() };
        let weights = Weights::of("w", &[4], vec![1.0; 4], Masters::F32);
        let mut optimizer = Optimizer::new(&of(MomentState::Bf16), &weights);
        let mut sum = GradientSum::default();
        let taken = sum.take(0, 4);
        sum.put(0, taken.values);
        optimizer.step(&weights, &sum, 0.0, 1.0, 0.1).unwrap();
        let (taken, tensors) = optimizer.state(&weights);
        let saved = safetensors::serialize(tensors, None).unwrap();
        let refused = |spec: &OptimizerSpec, weights: &Weights, saved: &[u8]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), saved).unwrap();
            Optimizer::new(spec, weights).restore(weights, taken, &[file.path().to_owned()]).is_err()
        };
        assert!(!refused(&of(MomentState::Bf16), &weights, &saved));
        assert!(refused(&of(MomentState::Int8), &weights, &saved));
        assert!(refused(&of(MomentState::Bf16), &Weights::of("w", &[5], vec![1.0; 5], Masters::F32), &saved));
        assert!(refused(&of(MomentState::Bf16), &weights, &saved[..saved.len() - 1]));
    }
}
