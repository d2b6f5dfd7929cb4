//! The API as OpenAI's clients know it, over the same tables: files, uploads in parts, fine-tuning jobs, graders. A
//! stock client works with nothing but another base URL, and what it makes is visible to the rest of the API: a
//! fine-tuning job is a job, a grader is a verifier, a fine-tuned model is a checkpoint.
//!
//! What we do not do is refused by name rather than ignored.

pub mod files;
pub mod fine_tuning;
mod grader;
pub mod graders;
mod receive;
pub mod sweep;
pub mod uploads;

use super::error::Problem;
use crate::job::FieldError;

/// The purposes that a file may have; only `fine-tune` files can be trained on.
const PURPOSES: [&str; 6] = ["assistants", "batch", "evals", "fine-tune", "user_data", "vision"];

/// How long a file may be told to live.
const FILE_SECONDS: std::ops::RangeInclusive<u64> = 3600..=30 * 24 * 3600;

/// The longest file name that is kept, in characters.
const MAX_FILENAME: usize = 255;

fn check_purpose(purpose: &str) -> Result<(), Problem> {
    if PURPOSES.contains(&purpose) {
        return Ok(());
    }
    let detail = format!("must be one of: {}", PURPOSES.join(", "));
    Err(Problem::invalid(vec![FieldError::new("/purpose", "unknown_value", detail)]))
}

/// When a file is to be removed, `seconds` after it was made.
fn check_expiry(anchor: &str, seconds: u64) -> Result<u64, Problem> {
    let wrong = |field: &str, code, detail: String| {
        Err(Problem::invalid(vec![FieldError::new(field.to_owned(), code, detail)]))
    };
    if anchor != "created_at" {
        return wrong("/expires_after/anchor", "unknown_value", String::from("must be `created_at`"));
    }
    if !FILE_SECONDS.contains(&seconds) {
        let detail = format!("must lie between {} and {}", FILE_SECONDS.start(), FILE_SECONDS.end());
        return wrong("/expires_after/seconds", "out_of_range", detail);
    }
    Ok(seconds)
}

/// A file's name as it is kept: without folders and without what terminals and headers would stumble over.
fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !c.is_control()).take(MAX_FILENAME).collect();
    if clean.trim().is_empty() { String::from("file") } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_keeps_no_folders_and_no_control_characters() {
        for (name, kept) in [
            ("rows.jsonl", "rows.jsonl"),
            ("../../etc/passwd", "passwd"),
            ("C:\\rows\\a b.jsonl", "a b.jsonl"),
            ("a\r\nb", "ab"),
            ("/", "file"),
            ("", "file"),
            ("größe.jsonl", "größe.jsonl"),
        ] {
            assert_eq!(clean_name(name), kept);
        }
        assert_eq!(clean_name(&"x".repeat(1000)).len(), MAX_FILENAME);
    }
}
