//! What verifiers may use beyond the completion that they judge: what the operator has enabled in `[verifiers]`.
//!
//! The files of this folder are the only ones of all verifiers that may use the clock, files, processes and the network.
//! The server reads the settings and hands them, as JSON, to the workers and to the processes that try verifiers.

use serde::{Deserialize, Serialize};

/// What the operator lets verifiers use; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outside {}
