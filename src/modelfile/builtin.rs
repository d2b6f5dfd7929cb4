//! Models that are part of the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Format, Inspection, ModelConfig, ModelFileError};
use crate::job::digest::{hex, sha256_hex};
use crate::job::memory::Coded;

/// A built-in model's files.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    pub name: &'static str,
    pub summary: &'static str,
    /// Draw the weights at random; there are none among the files.
    pub from_scratch: bool,
    pub files: &'static [(&'static str, &'static [u8])],
}

macro_rules! asset {
    ($name:literal) => {
        asset!("arith-tiny/", $name)
    };
    ($folder:literal, $name:literal) => {
        ($name, include_bytes!(concat!("../../assets/", $folder, $name)))
    };
}

/// All built-in models.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "builtin:arith-tiny",
        summary: "A small decoder that has half learned to add and subtract; trained by examples/arith-tiny.",
        from_scratch: false,
        files: &[asset!("config.json"), asset!("tokenizer.json"), asset!("model.safetensors")],
    },
    Builtin {
        name: "builtin:arith-scratch",
        summary: "The same decoder with random weights, drawn from the job's seed.",
        from_scratch: true,
        files: &[asset!("config.json"), asset!("tokenizer.json")],
    },
    Builtin {
        name: "builtin:arith-small-scratch",
        summary: "One of 3.9 M parameters for the same characters with random weights, drawn from the job's seed.",
        from_scratch: true,
        files: &[asset!("arith-small/", "config.json"), asset!("tokenizer.json")],
    },
];

/// The digests of all files, by model and file.
static DIGESTS: LazyLock<BTreeMap<(&str, &str), String>> = LazyLock::new(|| {
    let files = BUILTINS.iter().flat_map(|builtin| builtin.files.iter().map(|file| (builtin.name, *file)));
    files.map(|(name, (file, bytes))| ((name, file), sha256_hex(bytes))).collect()
});

impl Builtin {
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILTINS.iter().find(|builtin| builtin.name == name)
    }

    /// A short digest of the files, so that another version of the program unpacks its own.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (name, bytes) in self.files {
            hasher.update(name.as_bytes());
            hasher.update(bytes);
        }
        hex(&hasher.finalize()[..8])
    }

    /// The hexadecimal SHA-256 of the weights; of what they are drawn from, configuration and `seed`, where they are
    /// drawn at random.
    pub fn weights_sha256(&self, seed: u64) -> String {
        if self.from_scratch {
            return sha256_hex(format!("{} {seed}", self.file_sha256("config.json")).as_bytes());
        }
        self.file_sha256("model.safetensors").to_owned()
    }

    /// The hexadecimal SHA-256 of `tokenizer.json`.
    pub fn tokenizer_sha256(&self) -> &'static str {
        self.file_sha256("tokenizer.json")
    }

    /// Configuration and tokenizer, without unpacking the files.
    pub fn inspect(&self) -> Result<Inspection, ModelFileError> {
        let invalid = |error: serde_json::Error| ModelFileError::ConfigInvalid {
            file: String::from("config.json"),
            detail: format!("it is not JSON: {error}"),
        };
        let config: Value = serde_json::from_slice(self.file("config.json")).map_err(invalid)?;
        let config = ModelConfig::from_hf(&config, None)?;
        Ok(Inspection {
            format: Format::HuggingFace,
            parameters: config.parameter_count(),
            config,
            weights: Vec::new(),
            tokenizer_bytes: self.file("tokenizer.json").to_owned(),
            files: Vec::new(),
            warnings: Vec::new(),
            coded: Coded::default(),
        })
    }

    fn file(&self, name: &str) -> &'static [u8] {
        let file = self.files.iter().find(|(file, _)| *file == name);
        file.expect("every built-in has a configuration and a tokenizer").1
    }

    fn file_sha256(&self, file: &'static str) -> &'static str {
        DIGESTS.get(&(self.name, file)).expect("only files that a built-in has are asked for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_ins_are_told_apart_by_their_weights_and_random_ones_by_their_seed() {
        let [tiny, scratch, small] = BUILTINS;
        assert_eq!(tiny.weights_sha256(1), tiny.weights_sha256(2));
        assert_ne!(scratch.weights_sha256(1), scratch.weights_sha256(2));
        assert_ne!(scratch.weights_sha256(1), small.weights_sha256(1));
        assert_eq!(tiny.tokenizer_sha256(), scratch.tokenizer_sha256());
        assert_eq!(tiny.tokenizer_sha256(), sha256_hex(&tiny.inspect().unwrap().tokenizer_bytes));
    }

    #[test]
    fn inspecting_a_built_in_misses_nothing() {
        for builtin in BUILTINS {
            assert!(builtin.inspect().unwrap().parameters > 0);
            // A chat template or a generation configuration would have to be read as well.
            let read = ["config.json", "tokenizer.json", "model.safetensors"];
            assert!(builtin.files.iter().all(|(file, _)| read.contains(file)), "{}", builtin.name);
        }
    }
}
