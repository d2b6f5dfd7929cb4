//! A model's weights: read or drawn ([`Reader`]), shared by the trainer and the sampler, and written back as safetensors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLockWriteGuard};

use half::bf16;
use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, View};

use super::reader::{Reader, Safetensors};
use crate::engine::backend::{Backend, Source, Storage, Tensors, Training, Usage};
use crate::engine::collective::Collective;
use crate::engine::cpu::{Cpu, Values};
use crate::engine::digested::{DigestedFile, FileDigest};
use crate::engine::error::EngineError;
use crate::engine::shares::Shares;
use crate::job::spec::{Masters, WeightDtype};
use crate::modelfile::Inspection;
use crate::modelfile::architecture::{Part, TensorSpec};
use crate::modelfile::config::ModelConfig;

/// Weights, in the order of their names. Everyone who computes with them shares them; where they are trained, one thread
/// at a time changes them.
#[derive(Debug)]
pub struct Weights<B: Storage = Cpu> {
    config: ModelConfig,
    /// In the order of their names.
    tensors: Vec<(String, Vec<usize>)>,
    /// In the order in which they are laid out.
    specs: Vec<TensorSpec>,
    /// What matrices are kept in while they are trained.
    masters: Masters,
    backend: Arc<B>,
    parameters: B::Parameters,
    /// Of ranks that divide what only the optimizer reads.
    shares: OnceLock<Shares>,
}

impl Weights {
    /// Loads an inspected model, to be trained.
    pub fn load(inspection: &Inspection) -> Result<Self, EngineError> {
        Self::read(&Arc::new(Cpu), &inspection.config, Usage::Training(Masters::F32), &Reader::open(inspection)?)
    }

    /// Draws weights for training from scratch; see [`Reader::random`].
    pub fn random(config: &ModelConfig, seed: u64) -> Result<Self, EngineError> {
        Self::read(&Arc::new(Cpu), config, Usage::Training(Masters::F32), &Reader::random(config, seed))
    }

    /// Moves the numbers to where they are computed with.
    pub fn placed<B: Backend>(self, backend: &Arc<B>) -> Result<Weights<B>, EngineError> {
        let (config, specs) = (self.config, self.specs);
        let tensors = self.parameters.into_tensors();
        let mut tensors: HashMap<_, _> = tensors.into_iter().map(|tensor| (tensor.name, tensor.values)).collect();
        Weights::of_tensors(backend, &config, specs, Usage::Training(Masters::F32), &mut |spec: &TensorSpec| {
            tensors.remove(&spec.name).ok_or_else(|| EngineError::Internal(format!("no tensor `{}`", spec.name)))
        })
    }

    pub fn values(&self, index: usize) -> Values<'_> {
        self.parameters.values(index)
    }

    /// The numbers of a tensor to be changed; [`Self::changed`] comes after.
    pub fn values_mut(&self, index: usize) -> RwLockWriteGuard<'_, Vec<f32>> {
        self.parameters.values_mut(index)
    }

    /// Tells those who keep something made of the weights that it is out of date.
    pub fn changed(&self) {
        self.parameters.changed();
    }

    /// One tensor alone, which is one of a layer's.
    #[cfg(test)]
    pub(in crate::engine) fn of(name: &str, shape: &[usize], values: Vec<f32>, masters: Masters) -> Self {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let config = crate::modelfile::inspect(&directory).expect("the built-in model is complete").config;
        let of_layer = config.tensors().into_iter().find(|tensor| tensor.part == Part::Query);
        let of_layer = of_layer.expect("the built-in model attends");
        let spec = TensorSpec { name: name.to_owned(), shape: shape.to_vec(), ..of_layer };
        let mut values = Some(values);
        Self::of_tensors(&Arc::new(Cpu), &config, vec![spec], Usage::Training(masters), &mut |_: &TensorSpec| {
            Ok(values.take().unwrap_or_default())
        })
        .expect("the CPU has room for a tensor")
    }
}

impl<B: Training> Weights<B> {
    /// Reads a model's weights to where they are computed with.
    pub fn read(
        backend: &Arc<B>,
        config: &ModelConfig,
        purpose: Usage,
        mut reader: &Reader<'_>,
    ) -> Result<Self, EngineError> {
        Self::of_tensors(backend, config, config.tensors(), purpose, &mut reader)
    }

    /// Tensors beside a model or of it; what is one product stands side by side in `specs`.
    pub fn of_tensors(
        backend: &Arc<B>,
        config: &ModelConfig,
        specs: Vec<TensorSpec>,
        purpose: Usage,
        source: &mut dyn Source,
    ) -> Result<Self, EngineError> {
        let mut tensors: Vec<_> = specs.iter().map(|spec| (spec.name.clone(), spec.shape.clone())).collect();
        tensors.sort();
        let parameters = backend.parameters(config, &specs, purpose, source)?;
        let masters = if let Usage::Training(masters) = purpose { masters } else { Masters::F32 };
        let (config, backend, shares) = (config.clone(), Arc::clone(backend), OnceLock::new());
        Ok(Self { config, tensors, specs, masters, backend, parameters, shares })
    }

    /// Keeps of what only the optimizer reads this rank's share alone; [`Self::wholly`] has all of it for a time.
    pub fn divide(&self, shares: &Shares) -> Result<(), EngineError> {
        self.backend.divide(&self.parameters, self.shares.get_or_init(|| shares.clone()))
    }

    /// Does what reads or writes down every number, for which ranks that have divided them put them together: all ranks call
    /// it at the same time.
    pub fn wholly<T>(
        &self,
        ranks: &dyn Collective,
        work: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Some(shares) = self.shares.get() else { return work() };
        self.backend.unite(&self.parameters, shares, ranks)?;
        let done = work()?;
        self.backend.divide(&self.parameters, shares)?;
        Ok(done)
    }

    /// Where the numbers are.
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// The numbers.
    pub fn parameters(&self) -> &B::Parameters {
        &self.parameters
    }

    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Number of tensors.
    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    /// Number of trainable numbers.
    pub fn parameter_count(&self) -> usize {
        (0..self.count()).map(|index| self.len_of(index)).sum()
    }

    /// The place of a tensor.
    pub fn index(&self, name: &str) -> Result<usize, EngineError> {
        let found = self.tensors.binary_search_by(|(other, _)| other.as_str().cmp(name));
        found.map_err(|_| EngineError::Internal(format!("no tensor `{name}`")))
    }

    /// The place of a tensor that belongs to no layer.
    pub fn outside(&self, part: Part) -> Result<usize, EngineError> {
        let tensor = self.config.tensors().into_iter().find(|tensor| tensor.part == part);
        let tensor = tensor.ok_or_else(|| EngineError::Internal(format!("the model has no {part:?}")))?;
        self.index(&tensor.name)
    }

    /// What the tensors are, in the order of their places.
    pub fn described(&self) -> Vec<&TensorSpec> {
        let mut specs: Vec<&TensorSpec> = self.specs.iter().collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs
    }

    pub fn name(&self, index: usize) -> &str {
        &self.tensors[index].0
    }

    pub fn shape(&self, index: usize) -> &[usize] {
        &self.tensors[index].1
    }

    pub fn len_of(&self, index: usize) -> usize {
        self.shape(index).iter().product()
    }

    /// Writes the weights as one safetensors file.
    pub fn save(&self, path: &Path, dtype: WeightDtype) -> Result<FileDigest, EngineError> {
        self.write(path, |_| dtype)
    }

    /// The same without a loss: each tensor in what it is kept in.
    pub fn save_as_kept(&self, path: &Path) -> Result<FileDigest, EngineError> {
        self.write(path, |index| match self.masters {
            Masters::Bf16 if self.shape(index).len() > 1 => WeightDtype::Bf16,
            Masters::Bf16 | Masters::F32 => WeightDtype::F32,
        })
    }

    fn write(&self, path: &Path, dtype: impl Fn(usize) -> WeightDtype) -> Result<FileDigest, EngineError> {
        let view = |index: usize| {
            let (shape, dtype) = (self.shape(index).to_vec(), dtype(index));
            (self.name(index).to_owned(), TensorView { numbers: &self.parameters, index, shape, dtype })
        };
        let digest = write_safetensors(path, (0..self.count()).map(view))?;
        self.backend.check()?;
        Ok(digest)
    }

    /// A file that [`Self::save_as_kept`] wrote, with all tensors in the right shapes.
    pub fn stored(&self, path: &Path) -> Result<Safetensors, EngineError> {
        let file = Safetensors::open(&[path.to_owned()])?;
        let is_missing = |(name, shape): &&(String, Vec<usize>)| file.shape(name) != Some(shape);
        match self.tensors.iter().find(is_missing) {
            None => Ok(file),
            Some((name, _)) => Err(EngineError::InvalidData {
                code: "checkpoint_corrupt",
                detail: format!("{} has no tensor `{name}` of the right shape", path.display()),
            }),
        }
    }

    /// Takes over the values of such a file, tensor by tensor.
    pub fn restore(&self, file: &Safetensors) -> Result<(), EngineError> {
        for (index, (name, _)) in self.tensors.iter().enumerate() {
            self.backend.write(&self.parameters, index, &file.read(name)?.values)?;
        }
        Ok(())
    }
}

/// A tensor on its way into a safetensors file; its numbers are read and converted when its turn comes.
#[derive(Debug)]
pub struct TensorView<'a, T> {
    pub numbers: &'a T,
    pub index: usize,
    pub shape: Vec<usize>,
    pub dtype: WeightDtype,
}

/// Tensors with their names in a file.
pub type NamedTensors<'a, T> = Vec<(String, TensorView<'a, T>)>;

impl<T: Tensors> View for TensorView<'_, T> {
    fn dtype(&self) -> Dtype {
        match self.dtype {
            WeightDtype::F32 => Dtype::F32,
            WeightDtype::Bf16 => Dtype::BF16,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.numbers.read(self.index, |values| encoded(values, self.dtype)))
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype().bitsize() / 8
    }
}

/// Numbers as they stand in a file, little-endian.
pub fn encoded(values: &[f32], dtype: WeightDtype) -> Vec<u8> {
    match dtype {
        WeightDtype::F32 => little_endian(values, |value| value.to_le_bytes()),
        WeightDtype::Bf16 => little_endian(values, |value| bf16::from_f32(value).to_le_bytes()),
    }
}

/// The bytes of numbers, in one piece from the beginning: what grows is there twice.
pub fn little_endian<T: Copy, const N: usize>(values: &[T], bytes_of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(N * values.len());
    values.iter().for_each(|value| bytes.extend_from_slice(&bytes_of(*value)));
    bytes
}

/// Writes one safetensors file, a tensor at a time, as the `safetensors` crate orders them; the caller syncs it.
pub fn write_safetensors<V: View>(
    path: &Path,
    views: impl IntoIterator<Item = (String, V)>,
) -> Result<FileDigest, EngineError> {
    let mut views: Vec<(String, V)> = views.into_iter().collect();
    views.sort_by(|(a, x), (b, y)| y.dtype().cmp(&x.dtype()).then_with(|| a.cmp(b)));
    let mut end = 0;
    let described = views.iter().map(|(name, view)| {
        let begin = end;
        end += view.data_len();
        (name.clone(), TensorInfo { dtype: view.dtype(), shape: view.shape().to_vec(), data_offsets: (begin, end) })
    });
    let internal =
        |error: &dyn std::fmt::Display| EngineError::Internal(format!("writing {}: {error}", path.display()));
    let about = HashMap::from([(String::from("format"), String::from("pt"))]);
    let metadata = Metadata::new(Some(about), described.collect()).map_err(|error| internal(&error))?;
    let mut header = serde_json::to_vec(&metadata).map_err(|error| internal(&error))?;
    header.resize(header.len().next_multiple_of(size_of::<u64>()), b' ');
    let mut file = DigestedFile::create(path)?;
    file.write(&(header.len() as u64).to_le_bytes())?;
    file.write(&header)?;
    for (_, view) in &views {
        file.write(&view.data())?;
    }
    Ok(file.finish())
}

#[cfg(test)]
mod tests {
    use safetensors::tensor::{TensorView, serialize};

    use super::*;
    use crate::job::digest::sha256_hex;

    #[test]
    fn a_file_is_as_the_crate_writes_it() {
        let bytes: Vec<u8> = (0..1 << 18).map(|i| (i % 253) as u8).collect();
        let view =
            |dtype, shape: &[usize], size: usize| TensorView::new(dtype, shape.to_vec(), &bytes[..size]).unwrap();
        let views = [
            ("b", view(Dtype::F32, &[3, 5], 60)),
            ("a", view(Dtype::BF16, &[7], 14)),
            ("large", view(Dtype::F32, &[1 << 16], 1 << 18)),
            ("a.b", view(Dtype::U64, &[2], 16)),
        ];
        let named = || views.iter().map(|(name, view)| ((*name).to_owned(), view));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let digest = write_safetensors(&path, named()).unwrap();
        let about = HashMap::from([(String::from("format"), String::from("pt"))]);
        let expected = serialize(named(), Some(about)).unwrap();
        assert!(std::fs::read(&path).unwrap() == expected);
        assert_eq!(digest, (expected.len() as u64, sha256_hex(&expected)));
    }
}
