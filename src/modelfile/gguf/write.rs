//! The header of a GGUF file that is written (version 3): metadata, and where each tensor will lie.

use super::{DEFAULT_ALIGNMENT, Gguf, GgufValue, Metadata, TensorInfo, block, type_name};
use crate::modelfile::ModelFileError;

const FILE: &str = "the GGUF file";

/// A tensor that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTensor {
    pub name: String,
    /// Row-major, the slowest dimension first.
    pub shape: Vec<usize>,
    /// ggml's number of the type.
    pub ggml_type: u32,
}

/// Gives each tensor its place behind the metadata.
pub fn lay_out(metadata: Metadata, tensors: Vec<NewTensor>) -> Result<Gguf, ModelFileError> {
    let mut offset = 0;
    let mut placed = Vec::with_capacity(tensors.len());
    for NewTensor { name, shape, ggml_type } in tensors {
        let size_bytes = size_bytes(&name, &shape, ggml_type)?;
        placed.push(TensorInfo { name, shape, ggml_type, offset, size_bytes });
        offset += size_bytes.next_multiple_of(DEFAULT_ALIGNMENT);
    }
    let mut gguf = Gguf { metadata, tensors: placed, data_start: 0 };
    gguf.data_start = (header(&gguf)?.len() as u64).next_multiple_of(DEFAULT_ALIGNMENT);
    Ok(gguf)
}

/// Whether rows of so many numbers can be cut into the blocks of a type.
pub fn fits(row: usize, ggml_type: u32) -> bool {
    block(ggml_type).is_some_and(|(elements, _)| (row as u64).is_multiple_of(elements))
}

/// Bytes of a tensor.
pub fn size_bytes(name: &str, shape: &[usize], ggml_type: u32) -> Result<u64, ModelFileError> {
    let row = shape.last().copied().unwrap_or(1);
    match block(ggml_type) {
        Some((elements, bytes)) if fits(row, ggml_type) => {
            Ok(shape.iter().product::<usize>() as u64 / elements * bytes)
        }
        _ => {
            let kind = type_name(ggml_type).unwrap_or("an unknown type");
            Err(invalid(format!("rows of `{name}` have {row} numbers, which are not whole blocks of {kind}")))
        }
    }
}

/// The file up to its data, without what fills it up to the alignment.
pub fn header(gguf: &Gguf) -> Result<Vec<u8>, ModelFileError> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend([gguf.tensors.len() as u64, gguf.metadata.len() as u64].map(u64::to_le_bytes).concat());
    for (key, value) in &gguf.metadata {
        text(&mut bytes, key);
        entry(&mut bytes, key, value)?;
    }
    for tensor in &gguf.tensors {
        text(&mut bytes, &tensor.name);
        bytes.extend((tensor.shape.len() as u32).to_le_bytes());
        tensor.shape.iter().rev().for_each(|size| bytes.extend((*size as u64).to_le_bytes()));
        bytes.extend(tensor.ggml_type.to_le_bytes());
        bytes.extend(tensor.offset.to_le_bytes());
    }
    Ok(bytes)
}

/// A value with the number of its type: whole numbers are u32, and in lists i32, others f32, as llama.cpp reads them.
fn entry(bytes: &mut Vec<u8>, key: &str, value: &GgufValue) -> Result<(), ModelFileError> {
    let range = |number: i128| invalid(format!("`{key}` is {number}, which is no number of 32 bits"));
    let kind = |bytes: &mut Vec<u8>, kind: u32| bytes.extend(kind.to_le_bytes());
    let list = |bytes: &mut Vec<u8>, of: u32, count: usize| {
        bytes.extend([9, of].map(u32::to_le_bytes).concat());
        bytes.extend((count as u64).to_le_bytes());
    };
    match value {
        GgufValue::Integer(number) => {
            kind(bytes, 4);
            bytes.extend(u32::try_from(*number).map_err(|_| range(*number))?.to_le_bytes());
        }
        GgufValue::Float(number) => {
            kind(bytes, 6);
            bytes.extend((*number as f32).to_le_bytes());
        }
        GgufValue::Bool(flag) => {
            kind(bytes, 7);
            bytes.push(u8::from(*flag));
        }
        GgufValue::Text(value) => {
            kind(bytes, 8);
            text(bytes, value);
        }
        GgufValue::Integers(numbers) => {
            list(bytes, 5, numbers.len());
            for number in numbers {
                bytes.extend(i32::try_from(*number).map_err(|_| range((*number).into()))?.to_le_bytes());
            }
        }
        GgufValue::Floats(numbers) => {
            list(bytes, 6, numbers.len());
            numbers.iter().for_each(|number| bytes.extend((*number as f32).to_le_bytes()));
        }
        GgufValue::Bools(flags) => {
            list(bytes, 7, flags.len());
            bytes.extend(flags.iter().map(|flag| u8::from(*flag)));
        }
        GgufValue::Texts(texts) => {
            list(bytes, 8, texts.len());
            texts.iter().for_each(|value| text(bytes, value));
        }
    }
    Ok(())
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn invalid(detail: String) -> ModelFileError {
    ModelFileError::NotInGguf { detail: format!("{FILE}: {detail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let metadata = Metadata::from([
            ("count".to_owned(), GgufValue::Integer(7)),
            ("epsilon".to_owned(), GgufValue::Float(1e-5)),
            ("flag".to_owned(), GgufValue::Bool(true)),
            ("kinds".to_owned(), GgufValue::Integers(vec![1, -3])),
            ("name".to_owned(), GgufValue::Text("mein".to_owned())),
            ("scores".to_owned(), GgufValue::Floats(vec![-1.0, 0.5])),
            ("texts".to_owned(), GgufValue::Texts(vec!["one".to_owned(), String::new()])),
        ]);
        let tensor = |name: &str, shape: &[usize], ggml_type| NewTensor {
            name: name.to_owned(),
            shape: shape.to_vec(),
            ggml_type,
        };
        let tensors = vec![tensor("a", &[3], 0), tensor("b", &[2, 64], 8), tensor("c", &[1, 256], 12)];
        let laid = lay_out(metadata, tensors).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        let mut bytes = header(&laid).unwrap();
        let last = laid.tensors.last().unwrap();
        bytes.resize((laid.data_start + last.offset + last.size_bytes) as usize, 0);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(super::super::read(&path).unwrap(), laid);
        assert_eq!(laid.tensors[1].offset, 32);
        assert_eq!((laid.tensors[1].size_bytes, last.size_bytes), (2 * 2 * 34, 144));
    }

    #[test]
    fn rows_that_are_not_whole_blocks_are_refused_by_name() {
        let tensor = NewTensor { name: "ffn".to_owned(), shape: vec![4, 384], ggml_type: 12 };
        let error = lay_out(Metadata::new(), vec![tensor]).unwrap_err();
        assert_eq!(error.code(), "not_in_gguf");
        assert!(error.to_string().contains("384") && error.to_string().contains("Q4_K"), "{error}");
    }
}
