//! `anneal openapi`: prints the OpenAPI document.

use std::process::ExitCode;

use super::output;
use crate::api;

/// Prints the document as it is committed in `openapi/openapi.json`.
pub fn run() -> anyhow::Result<ExitCode> {
    output::print(&(serde_json::to_string_pretty(&api::document())? + "\n"));
    Ok(ExitCode::SUCCESS)
}
