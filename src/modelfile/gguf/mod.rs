//! The header of a GGUF file (versions 2 and 3); its configuration and tokenizer are in `config` and `tokenizer`.
//!
//! Every count and length is checked against what is left of the file before memory is taken for it, and the whole
//! header has a limit of its own, so a hostile file costs no more than its size. Tensor data is not read here.

pub mod blocks;
mod config;
pub mod mixture;
mod tokenizer;
mod vocabulary;
pub mod write;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use self::blocks::BlockKind;
use super::{Head, ModelFileError, file_name};
use crate::job::memory::Coded;

pub use config::{Described, describe, read as configuration};
pub use tokenizer::tokenizer_json;
pub use vocabulary::{Kind, describe as describe_tokenizer, kinds_of};

/// The largest vocabularies in use need about 20 MB.
const HEADER_LIMIT_BYTES: u64 = 64 << 20;
const ROTATION_LIMIT_BYTES: u64 = 1 << 20;
const ARRAY_LIMIT: u64 = 1 << 22;
const NAME_LIMIT_BYTES: u64 = 1024;
const RANK_LIMIT: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;

pub type Metadata = BTreeMap<String, GgufValue>;

/// One metadata value. An F32 becomes the shortest decimal that rounds to it, so that 1e-5 stays 1e-5.
#[derive(Clone, Debug, PartialEq)]
pub enum GgufValue {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
}

impl GgufValue {
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Integer(value) = self { u64::try_from(*value).ok() } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Float(value) = self { Some(*value) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(value) = self { Some(value) } else { None }
    }

    pub fn as_texts(&self) -> Option<&[String]> {
        if let Self::Texts(values) = self { Some(values) } else { None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    pub name: String,
    /// Row-major, as Hugging Face counts: the slowest dimension first.
    pub shape: Vec<usize>,
    pub ggml_type: u32,
    /// In bytes from `Gguf::data_start`.
    pub offset: u64,
    pub size_bytes: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Gguf {
    pub metadata: Metadata,
    pub tensors: Vec<TensorInfo>,
    /// Where the data begins, in bytes from the start of the file.
    pub data_start: u64,
}

impl Gguf {
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// The parameters in blocks that products read, and what these take in memory.
    pub fn coded(&self) -> Coded {
        let of = |tensor: &TensorInfo| {
            let kind = BlockKind::of(tensor.ggml_type)?;
            Some((kind, tensor.shape.iter().product::<usize>()))
        };
        self.tensors.iter().filter_map(of).fold(Coded::default(), |sum, (kind, count)| Coded {
            parameters: sum.parameters + count as u64,
            bytes: sum.bytes + (count / kind.size() * kind.kept()) as u64,
        })
    }

    /// The types that hold fewer bits than numbers were trained with, each with its share of the numbers; none if all are
    /// whole.
    pub fn quantized(&self) -> Option<String> {
        let count = |tensor: &TensorInfo| tensor.shape.iter().product::<usize>() as f64;
        let all: f64 = self.tensors.iter().map(count).sum();
        let mut types: BTreeMap<u32, f64> = BTreeMap::new();
        for tensor in self.tensors.iter().filter(|tensor| block(tensor.ggml_type).is_some_and(|(count, _)| count > 1)) {
            *types.entry(tensor.ggml_type).or_default() += count(tensor);
        }
        let name = |(number, count): (&u32, &f64)| {
            format!("{} ({:.0} %)", type_name(*number).unwrap_or("unknown"), 100.0 * count / all)
        };
        (!types.is_empty()).then(|| types.iter().map(name).collect::<Vec<String>>().join(", "))
    }
}

/// Reads and checks the header; every tensor lies inside the file.
pub fn read(path: &Path) -> Result<Gguf, ModelFileError> {
    let open = |source| ModelFileError::Io { operation: "open", path: path.to_owned(), source };
    let file = File::open(path).map_err(open)?;
    let file_bytes = file.metadata().map_err(open)?.len();
    parse(BufReader::new(file), file_bytes, &file_name(path))
}

/// The values of one F32 tensor of at most `limit` elements; `None` for another type or a larger tensor.
pub fn read_f32(path: &Path, gguf: &Gguf, name: &str, limit: u64) -> Result<Option<Vec<f32>>, ModelFileError> {
    let Some(tensor) = gguf.tensor(name).filter(|tensor| tensor.ggml_type == 0 && tensor.size_bytes <= 4 * limit)
    else {
        return Ok(None);
    };
    let failed = |source| ModelFileError::Io { operation: "read", path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(gguf.data_start + tensor.offset)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(tensor.size_bytes).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()))
}

/// Tensors that say how positions are rotated, and thus belong to the configuration.
pub const ROTATIONS: [&str; 3] = ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"];

/// Which bytes of a file say what model it is, if so many of its first bytes tell.
pub fn head(prefix: &[u8], file_bytes: u64, file: &str) -> Result<Option<Head>, ModelFileError> {
    let gguf = match parse(prefix, file_bytes, file) {
        Err(ModelFileError::Io { source, .. }) if source.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        parsed => parsed?,
    };
    let rotations = gguf.tensors.iter().filter(|tensor| ROTATIONS.contains(&tensor.name.as_str())).map(|tensor| {
        let start = gguf.data_start + tensor.offset;
        start..start + tensor.size_bytes.min(ROTATION_LIMIT_BYTES)
    });
    Ok(Some(Head { bytes: gguf.data_start, beside: rotations.collect() }))
}

/// The types of tensors that the engine reads by their number in the file (ggml's `enum ggml_type`): name, elements and
/// bytes of one block.
const TYPES: &[(u32, &str, u64, u64)] = &[
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (30, "BF16", 1, 2),
];

/// Elements and bytes of one block of a type.
fn block(ggml_type: u32) -> Option<(u64, u64)> {
    TYPES.iter().find(|(number, ..)| *number == ggml_type).map(|(_, _, elements, bytes)| (*elements, *bytes))
}

/// What a type is called.
pub fn type_name(ggml_type: u32) -> Option<&'static str> {
    TYPES.iter().find(|(number, ..)| *number == ggml_type).map(|(_, name, ..)| *name)
}

fn parse(input: impl Read, file_bytes: u64, file: &str) -> Result<Gguf, ModelFileError> {
    let mut reader = Reader { input, file, file_bytes, position: 0 };
    if &reader.array::<4>()? != b"GGUF" {
        return Err(reader.invalid("it does not begin with the letters GGUF"));
    }
    let version = reader.u32()?;
    if !matches!(version, 2 | 3) {
        return Err(
            reader.invalid(format!("GGUF version {version} is not read; convert it to version 3, little-endian"))
        );
    }
    let tensor_count = reader.count(32)?;
    let metadata_count = reader.count(13)?;
    let mut metadata = Metadata::new();
    for _ in 0..metadata_count {
        let key = reader.text(NAME_LIMIT_BYTES)?;
        let value = reader.value()?;
        if metadata.insert(key, value).is_some() {
            return Err(reader.invalid("one metadata key is there twice"));
        }
    }
    let alignment = metadata.get("general.alignment").map_or(Some(DEFAULT_ALIGNMENT), GgufValue::as_u64);
    let Some(alignment) = alignment.filter(|a| a.is_power_of_two() && (8..=1 << 16).contains(a)) else {
        return Err(reader.invalid("general.alignment is not a power of two between 8 and 65536"));
    };
    let mut tensors = Vec::new();
    for _ in 0..tensor_count {
        tensors.push(reader.tensor(alignment)?);
    }
    let data_start = reader.position.next_multiple_of(alignment);
    check_ranges(&tensors, data_start, &reader)?;
    Ok(Gguf { metadata, tensors, data_start })
}

/// Every tensor lies inside the file, none shares bytes with another, and no name is there twice.
fn check_ranges(tensors: &[TensorInfo], data_start: u64, reader: &Reader<impl Read>) -> Result<(), ModelFileError> {
    let mut names: Vec<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(reader.invalid(format!("tensor `{}` is there twice", pair[0])));
    }
    let mut sorted: Vec<&TensorInfo> = tensors.iter().collect();
    sorted.sort_by_key(|tensor| tensor.offset);
    let mut end = 0;
    for tensor in sorted {
        if tensor.offset < end {
            return Err(reader.invalid(format!("tensor `{}` overlaps the one before it", tensor.name)));
        }
        let its_end = tensor.offset.checked_add(tensor.size_bytes);
        end = its_end.ok_or_else(|| reader.invalid(format!("the offset of tensor `{}` is absurd", tensor.name)))?;
        if data_start.checked_add(end).is_none_or(|end| end > reader.file_bytes) {
            return Err(reader.truncated(format!("tensor `{}` reaches beyond the end of the file", tensor.name)));
        }
    }
    Ok(())
}

struct Reader<'a, R> {
    input: R,
    file: &'a str,
    file_bytes: u64,
    position: u64,
}

impl<R: Read> Reader<'_, R> {
    fn invalid(&self, detail: impl Into<String>) -> ModelFileError {
        ModelFileError::WeightsInvalid { file: self.file.to_owned(), detail: detail.into() }
    }

    fn truncated(&self, detail: impl Into<String>) -> ModelFileError {
        ModelFileError::WeightsTruncated { file: self.file.to_owned(), detail: detail.into() }
    }

    /// Refuses to go on unless `bytes` more are in the file and within the header's limit.
    fn require(&self, bytes: u64) -> Result<(), ModelFileError> {
        if bytes > self.file_bytes - self.position {
            return Err(self.truncated(format!("byte {}: {bytes} more bytes should follow", self.position)));
        }
        if bytes > HEADER_LIMIT_BYTES.saturating_sub(self.position) {
            return Err(self.invalid(format!("its header is longer than {HEADER_LIMIT_BYTES} bytes")));
        }
        Ok(())
    }

    fn read_into(&mut self, buffer: &mut [u8]) -> Result<(), ModelFileError> {
        self.require(buffer.len() as u64)?;
        self.input.read_exact(buffer).map_err(|source| ModelFileError::Io {
            operation: "read",
            path: self.file.into(),
            source,
        })?;
        self.position += buffer.len() as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelFileError> {
        let mut bytes = [0; N];
        self.read_into(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ModelFileError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ModelFileError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of items, each of which takes at least `item_bytes`.
    fn count(&mut self, item_bytes: u64) -> Result<u64, ModelFileError> {
        let count = self.u64()?;
        self.require(count.saturating_mul(item_bytes))?;
        Ok(count)
    }

    fn text(&mut self, limit_bytes: u64) -> Result<String, ModelFileError> {
        let length = self.count(1)?;
        if length > limit_bytes {
            return Err(self.invalid(format!("a name of {length} bytes; the limit is {limit_bytes}")));
        }
        let mut bytes = vec![0; length as usize];
        self.read_into(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| self.invalid("a text in its header is not UTF-8"))
    }

    fn value(&mut self) -> Result<GgufValue, ModelFileError> {
        match self.u32()? {
            6 => {
                let value = self.array().map(f32::from_le_bytes)?;
                Ok(GgufValue::Float(value.to_string().parse().unwrap_or(f64::from(value))))
            }
            7 => self.bool().map(GgufValue::Bool),
            8 => self.text(HEADER_LIMIT_BYTES).map(GgufValue::Text),
            9 => self.list(),
            12 => Ok(GgufValue::Float(self.array().map(f64::from_le_bytes)?)),
            kind => self.integer(kind).map(GgufValue::Integer),
        }
    }

    fn bool(&mut self) -> Result<bool, ModelFileError> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.invalid(format!("a boolean with the value {other}"))),
        }
    }

    fn integer(&mut self, kind: u32) -> Result<i128, ModelFileError> {
        Ok(match kind {
            0 => u8::from_le_bytes(self.array()?).into(),
            1 => i8::from_le_bytes(self.array()?).into(),
            2 => u16::from_le_bytes(self.array()?).into(),
            3 => i16::from_le_bytes(self.array()?).into(),
            4 => u32::from_le_bytes(self.array()?).into(),
            5 => i32::from_le_bytes(self.array()?).into(),
            10 => u64::from_le_bytes(self.array()?).into(),
            11 => i64::from_le_bytes(self.array()?).into(),
            other => return Err(self.invalid(format!("metadata of the unknown type {other}"))),
        })
    }

    /// An array. Arrays of arrays are refused: nothing that the engine reads uses them.
    fn list(&mut self) -> Result<GgufValue, ModelFileError> {
        let kind = self.u32()?;
        let item_bytes = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => return Err(self.invalid("an array of arrays in its metadata")),
            other => return Err(self.invalid(format!("an array of the unknown type {other}"))),
        };
        let count = self.count(item_bytes)?;
        if count > ARRAY_LIMIT {
            return Err(self.invalid(format!("an array of {count} items; the limit is {ARRAY_LIMIT}")));
        }
        let items = 0..count;
        Ok(match kind {
            6 => {
                let float = |_| self.array().map(|bytes| f64::from(f32::from_le_bytes(bytes)));
                GgufValue::Floats(items.map(float).collect::<Result<_, _>>()?)
            }
            12 => GgufValue::Floats(items.map(|_| self.array().map(f64::from_le_bytes)).collect::<Result<_, _>>()?),
            7 => GgufValue::Bools(items.map(|_| self.bool()).collect::<Result<_, _>>()?),
            8 => GgufValue::Texts(items.map(|_| self.text(HEADER_LIMIT_BYTES)).collect::<Result<_, _>>()?),
            _ => {
                let integers = items.map(|_| {
                    let value = self.integer(kind)?;
                    i64::try_from(value).map_err(|_| self.invalid(format!("{value} in an array of its metadata")))
                });
                GgufValue::Integers(integers.collect::<Result<_, _>>()?)
            }
        })
    }

    fn tensor(&mut self, alignment: u64) -> Result<TensorInfo, ModelFileError> {
        let name = self.text(NAME_LIMIT_BYTES)?;
        let rank = self.u32()?;
        if !(1..=RANK_LIMIT).contains(&rank) {
            return Err(self.invalid(format!("tensor `{name}` has {rank} dimensions")));
        }
        let sizes = (0..rank).map(|_| self.u64()).collect::<Result<Vec<u64>, _>>()?;
        let ggml_type = self.u32()?;
        let offset = self.u64()?;
        let Some((block_elements, block_bytes)) = block(ggml_type) else {
            let known = "F32, F16, BF16, Q4_0 to Q8_0 and Q2_K to Q6_K";
            let detail = format!("tensor `{name}` has ggml type {ggml_type}; the engine reads {known}");
            return Err(ModelFileError::UnsupportedDtype { file: self.file.to_owned(), detail });
        };
        let elements = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let size_bytes = elements.and_then(|elements| (elements / block_elements).checked_mul(block_bytes));
        let shape = sizes.iter().rev().map(|&size| usize::try_from(size)).collect::<Result<Vec<usize>, _>>();
        match (size_bytes, shape) {
            (Some(size_bytes), Ok(shape))
                if sizes[0].is_multiple_of(block_elements) && offset.is_multiple_of(alignment) && size_bytes > 0 =>
            {
                Ok(TensorInfo { name, shape, ggml_type, offset, size_bytes })
            }
            _ => Err(self.invalid(format!("tensor `{name}` has the shape {sizes:?} at {offset}, which cannot be"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }

    /// Two tensors, a matrix of F32 and one block of Q8_0, and metadata of each kind.
    fn sample() -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend([2u64, 5].map(u64::to_le_bytes).concat());
        let mut entry = |key: &str, kind: u32, value: &[u8]| {
            text(&mut bytes, key);
            bytes.extend(kind.to_le_bytes());
            bytes.extend(value);
        };
        entry("number", 4, &7u32.to_le_bytes());
        entry("epsilon", 6, &1e-5f32.to_le_bytes());
        entry("flag", 7, &[1]);
        entry("integers", 9, &[&5u32.to_le_bytes()[..], &2u64.to_le_bytes(), &[3, 0, 0, 0, 4, 0, 0, 0]].concat());
        let mut texts = [&8u32.to_le_bytes()[..], &2u64.to_le_bytes()].concat();
        ["one", "zwei"].iter().for_each(|item| text(&mut texts, item));
        entry("texts", 9, &texts);
        for (name, sizes, kind, offset) in [("matrix", &[4u64, 2][..], 0u32, 0u64), ("block", &[32], 8, 32)] {
            text(&mut bytes, name);
            bytes.extend((sizes.len() as u32).to_le_bytes());
            sizes.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
            bytes.extend(kind.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(32) + 32 + 34, 9);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Gguf, ModelFileError> {
        parse(bytes, bytes.len() as u64, "model.gguf")
    }

    #[test]
    fn a_header_gives_metadata_and_row_major_shapes() {
        let gguf = read(&sample()).unwrap();
        assert_eq!(gguf.metadata["number"].as_u64(), Some(7));
        assert_eq!(gguf.metadata["epsilon"].as_f64(), Some(1e-5));
        assert_eq!(gguf.metadata["flag"].as_bool(), Some(true));
        assert_eq!(gguf.metadata["integers"], GgufValue::Integers(vec![3, 4]));
        assert_eq!(gguf.metadata["texts"].as_texts().unwrap(), ["one", "zwei"]);
        assert_eq!(gguf.tensor("matrix").unwrap().shape, [2, 4]);
        assert_eq!(gguf.tensor("block").unwrap().size_bytes, 34);
    }

    #[test]
    fn every_truncation_is_detected() {
        let whole = sample();
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]).unwrap_err().code(), "weights_truncated", "cut to {length} bytes");
        }
    }

    #[test]
    fn no_changed_byte_makes_the_reader_panic_or_place_a_tensor_outside_the_file() {
        let whole = sample();
        for at in 0..whole.len() {
            for flip in [1u8, 0x08, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= flip;
                if let Ok(gguf) = read(&changed) {
                    let ends = gguf.tensors.iter().map(|t| gguf.data_start + t.offset + t.size_bytes);
                    assert!(ends.max().unwrap() <= whole.len() as u64);
                }
            }
        }
    }

    #[test]
    fn counts_beyond_the_file_are_refused_before_memory_is_taken() {
        for at in [8, 16, 24] {
            let mut bytes = sample();
            bytes[at..at + 8].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
            assert_eq!(read(&bytes).unwrap_err().code(), "weights_truncated");
        }
    }

    #[test]
    fn an_array_of_arrays_and_an_unknown_tensor_type_are_refused() {
        let (whole, array) = (sample(), 9u32.to_le_bytes());
        let at = whole.windows(8).position(|w| w == [array, 5u32.to_le_bytes()].concat()).unwrap();
        let mut nested = whole.clone();
        nested[at + 4] = 9;
        assert_eq!(read(&nested).unwrap_err().code(), "weights_invalid");
        let at = whole.windows(5).position(|w| w == b"block").unwrap() + 5 + 4 + 8;
        let mut unknown = whole;
        unknown[at] = 39;
        assert_eq!(read(&unknown).unwrap_err().code(), "unsupported_dtype");
    }
}
