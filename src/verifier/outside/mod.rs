//! What verifiers may use beyond the completion that they judge: what the operator has enabled in `[verifiers]`.
//!
//! The files of this folder are the only ones of all verifiers that may use the clock, files, processes and the network.
//! The server reads the settings and hands them, as JSON, to the workers and to the processes that try verifiers.

pub mod sandbox;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the operator lets verifiers use; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outside {
    /// Whether `code` verifiers may run programs.
    pub code: bool,
    /// Languages that they may run besides `python`, and which interpreter of Python it is.
    pub languages: BTreeMap<String, sandbox::Language>,
    /// A control group below which rooms of programs get one each.
    pub cgroup: Option<PathBuf>,
}

impl Outside {
    /// What is wrong with the settings: the one that it is, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        sandbox::check(&self.languages).map_err(|detail| ("verifiers.languages", detail))
    }
}
