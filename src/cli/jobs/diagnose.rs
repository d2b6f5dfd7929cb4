//! `anneal jobs diagnose`

use std::process::ExitCode;

use serde_json::Value;

use super::super::client::{Client, escape};
use super::super::output::{Output, member};
use super::super::remote::items;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs diagnose JOB                            what its metrics show to be wrong, and what would help
  anneal jobs fork JOB --set /sampling/max_new_tokens=16 --name longer    tries a suggestion")]
pub struct Args {
    /// The job, job_...
    job: String,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let list = client.get(&format!("/v1/jobs/{}/diagnoses", escape(&args.job)))?;
    output.answer(&list, || {
        let found: Vec<String> = items(&list).map(|diagnosis| described(&args.job, diagnosis)).collect();
        if found.is_empty() { String::from("nothing: its metrics show no sign of trouble\n") } else { found.join("\n") }
    });
    Ok(ExitCode::SUCCESS)
}

/// A diagnosis, what it rests on, and the command that would try the suggestion.
fn described(job: &str, diagnosis: &Value) -> String {
    let mut text = format!("{}: {}\n", member(diagnosis, "/code"), member(diagnosis, "/message"));
    for evidence in diagnosis["evidence"].as_array().into_iter().flatten() {
        let number = |pointer| evidence.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
        let (metric, step) = (member(evidence, "/metric"), member(evidence, "/step"));
        text.push_str(&format!(
            "  seen     {metric} {:.4} at step {step}, limit {:.4}\n",
            number("/value"),
            number("/limit")
        ));
    }
    text.push_str(&format!("  helps    {}\n", member(diagnosis, "/suggestion/message")));
    for operation in diagnosis["suggestion"]["patch"].as_array().into_iter().flatten() {
        let (path, value) = (member(operation, "/path"), &operation["value"]);
        text.push_str(&format!("  try      anneal jobs fork {job} --set '{path}={value}'\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_diagnosis_reads_as_what_was_seen_and_what_to_try() {
        let diagnosis = json!({
            "code": "truncated",
            "message": "25 % of the completions end at the length limit, before their answer",
            "evidence": [{"metric": "completion/truncated", "step": 40, "value": 0.25, "limit": 0.2}],
            "suggestion": {
                "message": "let them be longer: 16 tokens",
                "patch": [{"op": "add", "path": "/sampling", "value": {"max_new_tokens": 16}}],
            },
        });
        let expected = "truncated: 25 % of the completions end at the length limit, before their answer
  seen     completion/truncated 0.2500 at step 40, limit 0.2000
  helps    let them be longer: 16 tokens
  try      anneal jobs fork job_1 --set '/sampling={\"max_new_tokens\":16}'
";
        assert_eq!(described("job_1", &diagnosis), expected);
    }
}
