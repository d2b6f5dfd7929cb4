//! A report for CI: JUnit XML as test runners write it. The job is a suite; that it succeeded is one test case, each
//! demand of its gate is another.

use super::Report;
use crate::job::Timestamp;

/// How a test case ended.
enum Outcome {
    Passed,
    /// The model is not good enough.
    Failed(String),
    /// There is no model.
    Error {
        code: String,
        message: String,
    },
    Skipped(String),
}

/// Writes the report.
pub fn write(report: &Report) -> String {
    let cases = cases(report);
    let count = |wanted: fn(&Outcome) -> bool| cases.iter().filter(|(_, outcome)| wanted(outcome)).count();
    let numbers = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        cases.len(),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Error { .. })),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        report.seconds.unwrap_or_default(),
    );
    let began = report.started_at.unwrap_or(report.created_at);
    let timestamp = Timestamp(began.saturating_mul(1000)).rfc3339();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"anneal\" {numbers}>\n  <testsuite name=\"{}\" \
         {numbers} timestamp=\"{}\">\n    <properties>\n",
        escape(report.title()),
        timestamp.trim_end_matches('Z'),
    );
    for (name, value) in properties(report) {
        text.push_str(&format!("      <property name=\"{name}\" value=\"{}\"/>\n", escape(&value)));
    }
    text.push_str("    </properties>\n");
    for (name, outcome) in &cases {
        let seconds = if name == "succeeded" { report.seconds.unwrap_or_default() } else { 0.0 };
        let head = format!("    <testcase classname=\"{}\" name=\"{name}\" time=\"{seconds:.3}\"", escape(&report.job));
        text.push_str(&head);
        text.push_str(&match outcome {
            Outcome::Passed => String::from("/>\n"),
            Outcome::Failed(message) => element("failure", "gate_missed", message),
            Outcome::Error { code, message } => element("error", code, message),
            Outcome::Skipped(message) => {
                format!(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escape(message))
            }
        });
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn cases(report: &Report) -> Vec<(String, Outcome)> {
    let success = match report.status {
        "succeeded" => Outcome::Passed,
        "failed" | "cancelled" => {
            let (code, message) = report.failure_text().unwrap_or((report.status, "the job was cancelled"));
            Outcome::Error { code: code.to_owned(), message: message.to_owned() }
        }
        status => Outcome::Skipped(format!("the job is {status}")),
    };
    let mut cases = vec![(String::from("succeeded"), success)];
    if report.gate.is_some() {
        cases.extend(report.checks().map(|(name, required, measured, passed)| {
            let outcome = match (passed, measured) {
                (true, _) => Outcome::Passed,
                (false, Some(measured)) => Outcome::Failed(format!("{name} is {measured:.4} and must be {required}")),
                (false, None) => Outcome::Failed(format!("{name} was not measured and must be {required}")),
            };
            (format!("gate.{name}"), outcome)
        }));
    } else if let Some(required) = report.required.as_ref().and_then(|required| required.as_object()) {
        let unjudged = || Outcome::Skipped(String::from("only a job that has succeeded is judged"));
        cases.extend(required.keys().map(|name| (format!("gate.{name}"), unjudged())));
    }
    cases
}

fn properties(report: &Report) -> Vec<(&'static str, String)> {
    let mut properties = vec![("job", report.job.clone()), ("spec_digest", report.spec_digest.clone())];
    let optional = [
        ("model", &report.model),
        ("train", &report.train),
        ("eval", &report.eval),
        ("objective", &report.objective),
        ("weights_sha256", &report.weights_sha256),
    ];
    properties.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    properties.push(("device_seconds", format!("{:.3}", report.device_seconds)));
    properties
}

fn element(tag: &str, kind: &str, message: &str) -> String {
    let message = escape(message);
    format!(">\n      <{tag} type=\"{}\" message=\"{message}\">{message}</{tag}>\n    </testcase>\n", escape(kind))
}

/// Text within XML. Signs that XML has no way to write are left out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            sign if sign < ' ' => {}
            sign => escaped.push(sign),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use serde_json::json;

    #[test]
    fn each_demand_is_a_test_case_and_texts_are_escaped() {
        let text = write(&example());
        assert!(
            text.contains("<testsuite name=\"a &lt;b&gt; &amp; &quot;c&quot; | d\" tests=\"3\" failures=\"1\""),
            "{text}"
        );
        assert!(text.contains("timestamp=\"2025-06-15T15:06:41.000\""), "{text}");
        assert!(text.contains("name=\"succeeded\" time=\"10.000\"/>"), "{text}");
        assert!(text.contains("name=\"gate.pass_at_1\" time=\"0.000\"/>"), "{text}");
        assert!(text.contains("message=\"improvement is 0.2500 and must be 0.5\""), "{text}");
    }

    #[test]
    fn a_failed_job_is_an_error_and_its_gate_is_not_judged() {
        let failure = Some(json!({"kind": "diverged", "code": "diverged", "message": "loss is NaN"}));
        let text = write(&super::Report { status: "failed", failure, gate: None, ..example() });
        assert!(text.contains("tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"2\""), "{text}");
        assert!(text.contains("<error type=\"diverged\" message=\"loss is NaN\">loss is NaN</error>"), "{text}");
    }
}
