//! What a key allows, and the names of projects.

use super::FieldError;
use super::status::names;

names!(
    /// What the bearer of a key may do.
    Scope {
        /// Look at everything in the key's project.
        Read = "read",
        /// Make, change and delete things in the key's project.
        Write = "write",
        /// Manage the keys of the key's project, look at its limits, and read what the audit log says of it.
        Admin = "admin",
        /// Run the server: do what `admin` does for all projects, and set their limits.
        Operator = "operator",
        /// Make verifiers that run code of their own.
        Code = "code",
        /// Run jobs of all projects, on a machine of the operator's.
        Agent = "agent",
    }
);

/// Longest name of a project.
const MAX_PROJECT: usize = 64;

/// Checks the name of a project: small letters, digits and hyphens.
pub fn check_project(name: &str, pointer: &str) -> Result<(), FieldError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=MAX_PROJECT).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    let detail = format!("the name of a project has 1 to {MAX_PROJECT} small letters, digits and hyphens");
    Err(FieldError::new(pointer, "invalid_value", detail))
}
