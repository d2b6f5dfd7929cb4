//! Models that are part of the program.

use sha2::{Digest, Sha256};

use crate::job::digest::hex;

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
        ($name, include_bytes!(concat!("../../assets/arith-tiny/", $name)))
    };
}

/// All built-in models.
pub const BUILTINS: [Builtin; 2] = [
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
];

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
}
