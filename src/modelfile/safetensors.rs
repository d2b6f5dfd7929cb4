//! The header of a safetensors file, and the index of a model kept in several such files.
//!
//! The format is small enough to read here, and reading it here keeps the rules strict: the header's length is checked
//! before it is read, and the tensors must tile the data exactly, so that no two names share bytes and no bytes hide
//! behind the last tensor. Only headers are read; the engine maps the data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Head, ModelFileError, file_name, read_json};
use crate::job::artifact::WEIGHTS;

/// The format's own limit on a header.
const HEADER_LIMIT_BYTES: u64 = 100_000_000;
const INDEX_LIMIT_BYTES: u64 = 64 << 20;
/// Rows and columns of a matrix of 8-bit floats that share a scale.
pub const SCALE_BLOCK: usize = 128;
/// What the name of a matrix's scales adds to its own.
pub const SCALE_SUFFIX: &str = "_scale_inv";
const SHARDS_LIMIT: usize = 1024;
const RANK_LIMIT: usize = 8;
pub const SINGLE_FILE: &str = WEIGHTS;
pub const INDEX_FILE: &str = "model.safetensors.index.json";

/// Element types that the engine loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    F32,
    F16,
    Bf16,
    /// Four bits of exponent, three of mantissa, no infinity.
    F8E4m3,
    /// Five bits of exponent, two of mantissa.
    F8E5m2,
}

impl Dtype {
    pub fn size_bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::F8E4m3 | Self::F8E5m2 => 1,
        }
    }

    /// Whether all numbers are finite.
    fn are_finite(self, bytes: &[u8]) -> bool {
        let halves = || bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
        match self {
            Self::F32 => bytes.chunks_exact(4).all(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).is_finite()),
            Self::F16 => halves().all(|bits| bits & 0x7c00 != 0x7c00),
            Self::Bf16 => halves().all(|bits| bits & 0x7f80 != 0x7f80),
            Self::F8E4m3 => bytes.iter().all(|byte| byte & 0x7f != 0x7f),
            Self::F8E5m2 => bytes.iter().all(|byte| byte & 0x7c != 0x7c),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        match name {
            "F32" => Some(Self::F32),
            "F16" => Some(Self::F16),
            "BF16" => Some(Self::Bf16),
            "F8_E4M3" => Some(Self::F8E4m3),
            "F8_E5M2" => Some(Self::F8E5m2),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// Begin and end in bytes, counted from `Header::data_start`.
    pub offsets: (u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub tensors: BTreeMap<String, TensorInfo>,
    /// Where the data begins, in bytes from the start of the file.
    pub data_start: u64,
}

/// All the weights of one directory: the files, and the tensors with the file that holds each.
#[derive(Clone, Debug)]
pub struct Weights {
    pub files: Vec<PathBuf>,
    /// Name to (index into `files`, description).
    pub tensors: BTreeMap<String, (usize, TensorInfo)>,
    /// `model.safetensors.index.json`, when the model is kept in several files.
    pub index: Option<PathBuf>,
}

impl Weights {
    /// Whether numbers are kept as 8-bit floats.
    pub fn has_f8(&self) -> bool {
        self.tensors.values().any(|(_, tensor)| tensor.dtype.size_bytes() == 1)
    }

    /// The names of the tensors that are scales of others, with the right shapes; `needed`: each matrix of 8-bit floats has
    /// some.
    pub fn scales(&self, needed: bool) -> Result<Vec<&str>, ModelFileError> {
        let invalid = |detail| Err(ModelFileError::WeightsInvalid { file: String::from(SINGLE_FILE), detail });
        let mut scales = Vec::new();
        for (name, (_, tensor)) in self.tensors.iter().filter(|(_, (_, tensor))| tensor.dtype.size_bytes() == 1) {
            let Some((scale, (_, found))) = self.tensors.get_key_value(&format!("{name}{SCALE_SUFFIX}")) else {
                if needed && tensor.shape.len() == 2 {
                    return invalid(format!("tensor `{name}` has 8-bit floats and no `{name}{SCALE_SUFFIX}`"));
                }
                continue;
            };
            if tensor.shape.len() != 2 {
                return invalid(format!("tensor `{name}` has scales and is no matrix"));
            }
            let expected: Vec<usize> = tensor.shape.iter().map(|size| size.div_ceil(SCALE_BLOCK)).collect();
            if found.shape != expected {
                return invalid(format!("tensor `{scale}` has the shape {:?}; {expected:?} are needed", found.shape));
            }
            scales.push(scale.as_str());
        }
        Ok(scales)
    }
}

/// Reads and checks the header of one file.
pub fn read_header(path: &Path) -> Result<Header, ModelFileError> {
    let open = |source| ModelFileError::Io { operation: "open", path: path.to_owned(), source };
    let file = File::open(path).map_err(open)?;
    let file_bytes = file.metadata().map_err(open)?.len();
    parse(file, file_bytes, &file_name(path))
}

/// Refuses a file of which a number is not finite.
pub fn check_finite(path: &Path) -> Result<(), ModelFileError> {
    let Header { tensors, data_start, .. } = read_header(path)?;
    let failed = |source| ModelFileError::Io { operation: "read", path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    for (tensor, info) in tensors {
        let mut bytes = vec![0; (info.offsets.1 - info.offsets.0) as usize];
        file.read_exact_at(&mut bytes, data_start + info.offsets.0).map_err(failed)?;
        if !info.dtype.are_finite(&bytes) {
            return Err(ModelFileError::NotFinite { file: file_name(path), tensor });
        }
    }
    Ok(())
}

/// Reads the headers of a directory: `model.safetensors`, or every file that the index names.
/// `None` when the directory has neither.
pub fn read_dir(dir: &Path) -> Result<Option<Weights>, ModelFileError> {
    let single = dir.join(SINGLE_FILE);
    if single.is_file() {
        let header = read_header(&single)?;
        let tensors = header.tensors.into_iter().map(|(name, tensor)| (name, (0, tensor))).collect();
        return Ok(Some(Weights { files: vec![single], tensors, index: None }));
    }
    let index = dir.join(INDEX_FILE);
    if !index.is_file() {
        return Ok(None);
    }
    read_sharded(dir, index).map(Some)
}

/// Which file holds each tensor, by the index of a directory.
struct Index {
    weight_map: BTreeMap<String, String>,
}

fn invalid_index(detail: String) -> ModelFileError {
    ModelFileError::WeightsInvalid { file: INDEX_FILE.to_owned(), detail }
}

impl Index {
    fn read(path: &Path) -> Result<Self, ModelFileError> {
        #[derive(Deserialize)]
        struct Raw {
            weight_map: BTreeMap<String, String>,
        }
        let Raw { weight_map } = serde_json::from_value(read_json(path, INDEX_LIMIT_BYTES)?)
            .map_err(|error| invalid_index(error.to_string()))?;
        let index = Self { weight_map };
        let names = index.files();
        if !(1..=SHARDS_LIMIT).contains(&names.len()) {
            let detail = format!("it names {} files; there must be 1 to {SHARDS_LIMIT}", names.len());
            return Err(invalid_index(detail));
        }
        if let Some(name) = names.iter().find(|name| !is_plain_name(name)) {
            let shown: String = name.chars().take(80).collect();
            let detail = format!("`{shown}` is not the plain name of a .safetensors file in the same directory");
            return Err(invalid_index(detail));
        }
        Ok(index)
    }

    fn files(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }
}

/// The names of the files that the index at `path` names: plain names of files beside it.
pub fn indexed_files(path: &Path) -> Result<Vec<String>, ModelFileError> {
    Ok(Index::read(path)?.files().into_iter().map(str::to_owned).collect())
}

fn read_sharded(dir: &Path, index: PathBuf) -> Result<Weights, ModelFileError> {
    let invalid = invalid_index;
    let read = Index::read(&index)?;
    let (weight_map, names) = (&read.weight_map, read.files());
    let mut weights = Weights { files: Vec::new(), tensors: BTreeMap::new(), index: Some(index.clone()) };
    for name in names {
        let path = dir.join(name);
        if !path.is_file() {
            return Err(invalid(format!("it names {name}, which is not there; download the model again")));
        }
        let at = weights.files.len();
        for (tensor, info) in read_header(&path)?.tensors {
            if weight_map.get(&tensor).map(String::as_str) != Some(name) {
                return Err(invalid(format!("{name} holds tensor `{tensor}`, which the index does not place there")));
            }
            weights.tensors.insert(tensor, (at, info));
        }
        weights.files.push(path);
    }
    match weight_map.keys().find(|tensor| !weights.tensors.contains_key(*tensor)) {
        Some(tensor) => Err(invalid(format!("tensor `{tensor}` is not in the file that the index names for it"))),
        None => Ok(weights),
    }
}

/// A name that stays inside the directory, whatever the operating system.
pub fn is_plain_name(name: &str) -> bool {
    name.ends_with(".safetensors")
        && !name.starts_with('.')
        && name.len() <= 255
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

/// Which bytes of a file say what model it is, if so many of its first bytes tell.
pub fn head(prefix: &[u8], file: &str) -> Result<Option<Head>, ModelFileError> {
    let Some(length) = prefix.first_chunk::<8>() else { return Ok(None) };
    let length = u64::from_le_bytes(*length);
    if length > HEADER_LIMIT_BYTES {
        let detail = format!("its header claims {length} bytes; the limit is {HEADER_LIMIT_BYTES}");
        return Err(ModelFileError::WeightsInvalid { file: file.to_owned(), detail });
    }
    Ok(Some(Head { bytes: 8 + length, beside: Vec::new() }))
}

fn parse(mut input: impl Read, file_bytes: u64, file: &str) -> Result<Header, ModelFileError> {
    let truncated = |detail: String| ModelFileError::WeightsTruncated { file: file.to_owned(), detail };
    let invalid = |detail: String| ModelFileError::WeightsInvalid { file: file.to_owned(), detail };
    let failed = |source| ModelFileError::Io { operation: "read", path: file.into(), source };
    let Some(after_length) = file_bytes.checked_sub(8) else {
        return Err(truncated(format!("the file has only {file_bytes} bytes")));
    };
    let mut length = [0; 8];
    input.read_exact(&mut length).map_err(failed)?;
    let length = u64::from_le_bytes(length);
    if length > HEADER_LIMIT_BYTES {
        return Err(invalid(format!("its header claims {length} bytes; the limit is {HEADER_LIMIT_BYTES}")));
    }
    let Some(data_bytes) = after_length.checked_sub(length) else {
        return Err(truncated(format!("its header claims {length} bytes but {after_length} are left in the file")));
    };
    let mut json = Vec::new();
    input.take(length).read_to_end(&mut json).map_err(failed)?;
    let RawHeader(raw) = serde_json::from_slice(&json).map_err(|error| invalid(format!("its header: {error}")))?;
    let mut tensors = BTreeMap::new();
    for (name, tensor) in raw {
        let tensor = tensor.check(&name, file)?;
        tensors.insert(name, tensor);
    }
    let end = tiled_end(&tensors).map_err(invalid)?;
    if end > data_bytes {
        return Err(truncated(format!("its tensors need {end} bytes but {data_bytes} are there")));
    }
    if end < data_bytes {
        return Err(invalid(format!("{} bytes follow the last tensor", data_bytes - end)));
    }
    Ok(Header { tensors, data_start: 8 + length })
}

/// Where the last tensor ends, once it is certain that the tensors follow each other without a gap or an overlap.
fn tiled_end(tensors: &BTreeMap<String, TensorInfo>) -> Result<u64, String> {
    let mut ranges: Vec<(&str, (u64, u64))> = tensors.iter().map(|(name, t)| (name.as_str(), t.offsets)).collect();
    ranges.sort_by_key(|(_, offsets)| *offsets);
    let mut end = 0;
    for (name, (begin, its_end)) in ranges {
        if begin != end {
            return Err(format!("tensor `{name}` begins at byte {begin} of the data, not at {end} where it should"));
        }
        end = its_end;
    }
    Ok(end)
}

/// The header as JSON. A map that names one tensor twice is refused: readers would disagree on which one counts.
struct RawHeader(BTreeMap<String, RawTensor>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl RawTensor {
    fn check(self, name: &str, file: &str) -> Result<TensorInfo, ModelFileError> {
        let invalid = |detail: String| ModelFileError::WeightsInvalid { file: file.to_owned(), detail };
        let Some(dtype) = Dtype::parse(&self.dtype) else {
            let dtype: String = self.dtype.chars().take(32).collect();
            let detail = format!("tensor `{name}` is {dtype}; the engine reads F32, F16, BF16, F8_E4M3 and F8_E5M2");
            return Err(ModelFileError::UnsupportedDtype { file: file.to_owned(), detail });
        };
        let elements = self.shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size as u64));
        let (begin, end) = self.data_offsets;
        let size = elements.and_then(|elements| elements.checked_mul(dtype.size_bytes()));
        if self.shape.len() > RANK_LIMIT || size.is_none() || end.checked_sub(begin) != size {
            return Err(invalid(format!("the shape of tensor `{name}` does not match bytes {begin} to {end}")));
        }
        Ok(TensorInfo { dtype, shape: self.shape, offsets: self.data_offsets })
    }
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawHeaderVisitor)
    }
}

struct RawHeaderVisitor;

impl<'de> Visitor<'de> for RawHeaderVisitor {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a map of tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<RawHeader, M::Error> {
        let mut tensors = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<BTreeMap<String, String>>()?;
            } else {
                let tensor = map.next_value()?;
                if tensors.insert(name, tensor).is_some() {
                    return Err(M::Error::custom("one tensor is named twice"));
                }
            }
        }
        Ok(RawHeader(tensors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with two tensors: a matrix of four f32 and a vector of three bf16.
    fn sample() -> Vec<u8> {
        let header = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},
            "a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
        file(header, 22)
    }

    fn file(header: &str, data_bytes: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data_bytes, 7);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Header, ModelFileError> {
        parse(bytes, bytes.len() as u64, "model.safetensors")
    }

    fn code(header: &str, data_bytes: usize) -> &'static str {
        read(&file(header, data_bytes)).unwrap_err().code()
    }

    #[test]
    fn a_header_gives_names_types_and_shapes() {
        let header = read(&sample()).unwrap();
        assert_eq!(header.tensors["a"], TensorInfo { dtype: Dtype::F32, shape: vec![2, 2], offsets: (0, 16) });
        assert_eq!(header.tensors["b"].dtype, Dtype::Bf16);
        assert_eq!(header.data_start as usize, sample().len() - 22);
    }

    #[test]
    fn every_truncation_is_detected() {
        let whole = sample();
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]).unwrap_err().code(), "weights_truncated", "cut to {length} bytes");
        }
    }

    #[test]
    fn no_changed_byte_makes_the_reader_panic_or_read_outside_the_file() {
        let whole = sample();
        for at in 0..whole.len() {
            for flip in [1u8, 0x20, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= flip;
                if let Ok(header) = read(&changed) {
                    assert!(header.tensors.values().all(|t| t.offsets.1 + header.data_start <= whole.len() as u64));
                }
            }
        }
    }

    #[test]
    fn a_header_longer_than_the_limit_is_refused_before_it_is_read() {
        let mut bytes = sample();
        bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&bytes).unwrap_err().code(), "weights_invalid");
    }

    #[test]
    fn tensors_must_tile_the_data() {
        let gap = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        assert_eq!(code(gap, 8), "weights_invalid");
        let overlap = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
            "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        assert_eq!(code(overlap, 8), "weights_invalid");
        let one = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        assert_eq!(code(one, 5), "weights_invalid");
        let shape = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#;
        assert_eq!(code(shape, 4), "weights_invalid");
        let huge = r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#;
        assert_eq!(code(huge, 0), "weights_invalid");
        let backwards = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#;
        assert_eq!(code(backwards, 4), "weights_invalid");
        let twice = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
            "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        assert_eq!(code(twice, 4), "weights_invalid");
    }

    #[test]
    fn an_element_type_the_engine_cannot_read_is_named() {
        let error = read(&file(r#"{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}"#, 4)).unwrap_err();
        assert_eq!(error.code(), "unsupported_dtype");
        assert!(error.to_string().contains("F4"));
    }

    #[test]
    fn an_index_cannot_leave_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["../model.safetensors", "/etc/x.safetensors", "a\\\\b.safetensors", "..", "model.bin"] {
            let index = format!(r#"{{"weight_map":{{"a":"{name}"}}}}"#);
            std::fs::write(dir.path().join(INDEX_FILE), index).unwrap();
            let error = read_dir(dir.path()).unwrap_err();
            assert!(error.to_string().contains("plain name"), "{name}: {error}");
        }
    }

    #[test]
    fn an_index_and_its_files_must_agree() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
        write("one.safetensors", &sample());
        write(INDEX_FILE, br#"{"weight_map":{"a":"one.safetensors","b":"one.safetensors"}}"#);
        assert_eq!(read_dir(dir.path()).unwrap().unwrap().tensors.len(), 2);
        write(INDEX_FILE, br#"{"weight_map":{"a":"one.safetensors"}}"#);
        assert_eq!(read_dir(dir.path()).unwrap_err().code(), "weights_invalid");
        let lost = br#"{"weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"one.safetensors"}}"#;
        write(INDEX_FILE, lost);
        assert_eq!(read_dir(dir.path()).unwrap_err().code(), "weights_invalid");
        write(INDEX_FILE, br#"{"weight_map":{}}"#);
        assert_eq!(read_dir(dir.path()).unwrap_err().code(), "weights_invalid");
        write(INDEX_FILE, br#"{"weight_map":{"a":"two.safetensors"}}"#);
        assert_eq!(read_dir(dir.path()).unwrap_err().code(), "weights_invalid");
    }

    #[test]
    fn matrices_of_8_bits_have_a_scale_for_each_block() {
        let tensor = |dtype, shape: &[usize]| (0, TensorInfo { dtype, shape: shape.to_vec(), offsets: (0, 0) });
        let weights = |scale: Option<&[usize]>| {
            let mut tensors = BTreeMap::from([
                (String::from("w"), tensor(Dtype::F8E4m3, &[130, 256])),
                (String::from("norm"), tensor(Dtype::Bf16, &[130])),
            ]);
            tensors.extend(scale.map(|shape| (String::from("w_scale_inv"), tensor(Dtype::F32, shape))));
            Weights { files: Vec::new(), tensors, index: None }
        };
        assert!(weights(None).has_f8());
        assert_eq!(weights(Some(&[2, 2])).scales(true).unwrap(), ["w_scale_inv"]);
        assert_eq!(weights(None).scales(false).unwrap(), [""; 0]);
        let refused = |scale, needed| weights(scale).scales(needed).unwrap_err().to_string();
        assert!(refused(None, true).contains("no `w_scale_inv`"));
        let shapes = refused(Some(&[1, 2]), true);
        assert!(shapes.contains("[1, 2]") && shapes.contains("[2, 2]"), "{shapes}");
    }
}
