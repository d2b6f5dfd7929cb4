//! Exports: a finished checkpoint in a form that other programs read.

use serde::{Deserialize, Serialize};

use super::field::FieldError;
use super::status::names;

names!(
    /// What an export is.
    ExportFormat {
        /// The adapter alone, as the Python package peft reads it.
        Adapter = "adapter",
        /// A Hugging Face directory of the whole model, with the adapter in its weights.
        Merged = "merged",
        /// One file for llama.cpp and what is made with it.
        Gguf = "gguf",
    }
);

names!(
    /// The numbers that weights are written as.
    ExportDtype {
        F32 = "f32",
        F16 = "f16",
        Bf16 = "bf16",
        /// Eight bits and a scale for each 32 numbers.
        Q8_0 = "q8_0",
        /// Four bits for most, six for some, with scales for 256 numbers, as llama.cpp mixes them.
        Q4KM = "q4_k_m",
    }
);

names!(
    /// Where an export stands.
    ExportStatus {
        /// Others are made before it.
        Pending = "pending",
        Running = "running",
        Ready = "ready",
        Failed = "failed",
    }
);

names!(
    /// Where the push of an export to the hub stands.
    PushStatus {
        /// Others go before it.
        Pending = "pending",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
    }
);

/// What is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    pub format: ExportFormat,
    /// None: as the checkpoint has them.
    pub dtype: Option<ExportDtype>,
}

impl ExportFormat {
    /// What weights may be written as, the default first.
    pub fn dtypes(self) -> &'static [ExportDtype] {
        use ExportDtype::{Bf16, F16, F32, Q4KM, Q8_0};
        match self {
            Self::Adapter => &[],
            Self::Merged => &[Bf16, F32],
            Self::Gguf => &[Q8_0, F16, Bf16, F32, Q4KM],
        }
    }
}

impl Export {
    /// With its default filled in.
    pub fn resolve(format: ExportFormat, dtype: Option<ExportDtype>) -> Result<Self, FieldError> {
        let known = format.dtypes();
        match dtype {
            Some(dtype) if !known.contains(&dtype) => {
                let names: Vec<&str> = known.iter().map(|known| known.as_str()).collect();
                let detail = match names.as_slice() {
                    [] => format!("an export as `{format}` keeps the numbers of the checkpoint; leave dtype out"),
                    names => format!("an export as `{format}` has no dtype `{dtype}`; known are {}", names.join(", ")),
                };
                Err(FieldError::new("/dtype", "unknown_dtype", detail))
            }
            Some(_) => Ok(Self { format, dtype }),
            None => Ok(Self { format, dtype: known.first().copied() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_a_default_and_refuses_what_it_has_not() {
        let gguf = Export::resolve(ExportFormat::Gguf, None).unwrap();
        assert_eq!(gguf.dtype, Some(ExportDtype::Q8_0));
        assert_eq!(Export::resolve(ExportFormat::Adapter, None).unwrap().dtype, None);
        for (format, dtype) in [(ExportFormat::Adapter, ExportDtype::F32), (ExportFormat::Merged, ExportDtype::Q8_0)] {
            assert_eq!(Export::resolve(format, Some(dtype)).unwrap_err().code, "unknown_dtype");
        }
    }
}
