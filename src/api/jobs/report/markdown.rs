//! A report for people: what CI puts under a pull request.

use serde_json::Value;

use super::Report;
use crate::api::jobs::control::Control;
use crate::job::{Timestamp, adapter, artifact};

/// Writes the report. Text of clients is escaped, so that a name cannot pass for a part of the report.
pub fn write(report: &Report) -> String {
    let mut text = format!("# {}\n\n", escape(report.title()));
    verdict(&mut text, report);
    identity(&mut text, report);
    if report.before.is_some() || report.after.is_some() {
        evaluations(&mut text, report);
    }
    gate(&mut text, report);
    if !report.forks.is_empty() {
        forks(&mut text, report);
    }
    if !report.checkpoints.is_empty() {
        let rows = report.checkpoints.iter().map(|checkpoint| {
            let files = [artifact::WEIGHTS, adapter::WEIGHTS];
            let weights = files.iter().find_map(|name| checkpoint.sha256.get(*name)).map_or("", String::as_str);
            let (id, kind, step, bytes) = (&checkpoint.id, checkpoint.kind, checkpoint.step, checkpoint.bytes);
            format!("| `{id}` | {kind} | {step} | {bytes} | `{weights}` |")
        });
        table(&mut text, "Checkpoints", "| id | kind | step | bytes | sha256 of the weights |", rows);
    }
    if !report.metrics.is_empty() {
        let rows = report.metrics.iter().map(|m| format!("| `{}` | {} | {} |", m.name, m.step, m.value));
        table(&mut text, "Last metrics", "| metric | step | value |", rows);
    }
    if !report.warnings.is_empty() {
        let rows = report.warnings.iter().map(|w| format!("| {} | {} | {} |", w.seq, w.level, escape(&w.message)));
        table(&mut text, "Warnings", "| event | level | message |", rows);
    }
    text
}

fn verdict(text: &mut String, report: &Report) {
    let mut line = format!("**{}**", report.status);
    if let Some((code, message)) = report.failure_text() {
        line.push_str(&format!(" (`{code}`): {}", escape(message)));
    }
    if let Some(gate) = &report.gate {
        line.push_str(if gate["passed"] == true { ", gate passed" } else { ", gate **missed**" });
    }
    if let Some(proof) = &report.verify_resume {
        let same = if proof["identical"] == true { "identical" } else { "**different**" };
        line.push_str(&format!(", weights {same} to those of `{}`", proof["job"].as_str().unwrap_or_default()));
    }
    text.push_str(&line);
    text.push_str("\n\n");
}

fn identity(text: &mut String, report: &Report) {
    let time = |seconds: i64| Timestamp(seconds.saturating_mul(1000)).rfc3339();
    let rows = [
        ("job", Some(format!("`{}`", report.job))),
        ("kind", Some(report.kind.to_owned())),
        ("objective", report.objective.as_deref().map(escape)),
        ("model", report.model.as_deref().map(escape)),
        ("data", report.train.as_deref().map(escape)),
        ("evaluated on", report.eval.as_deref().map(escape)),
        ("seed", report.seed.map(|seed| seed.to_string())),
        ("spec", Some(format!("`{}`", report.spec_digest))),
        ("forked from", report.forked_from.as_ref().map(|id| format!("`{id}`"))),
        ("verifies", report.verifies.as_ref().map(|id| format!("`{id}`"))),
        ("rollout set", report.rollout_set.as_ref().map(|id| format!("`{id}`"))),
        ("weights", report.weights_sha256.as_ref().map(|sha256| format!("sha256 `{sha256}`"))),
        ("steps", (report.steps > 0).then(|| format!("{} of {}", report.step, report.steps))),
        ("created", Some(time(report.created_at))),
        ("started", report.started_at.map(time)),
        ("finished", report.finished_at.map(time)),
        ("seconds", report.seconds.map(|seconds| format!("{seconds:.1}"))),
        ("device seconds", Some(format!("{:.1}", report.device_seconds))),
        ("attempts", Some(report.attempts.to_string())),
    ];
    let metadata = report.metadata.iter().map(|(key, value)| format!("| {} | {} |", escape(key), escape(value)));
    let rows = rows.into_iter().filter_map(|(key, value)| Some(format!("| {key} | {} |", value?)));
    text.push_str("| | |\n|---|---|\n");
    for row in rows.chain(metadata) {
        text.push_str(&row);
        text.push('\n');
    }
    text.push('\n');
}

fn evaluations(text: &mut String, report: &Report) {
    let passes = |evaluation: &Option<Value>| {
        let list = evaluation.as_ref().and_then(|evaluation| evaluation["pass_at"].as_array()).cloned();
        list.unwrap_or_default()
    };
    let (before, after) = (passes(&report.before), passes(&report.after));
    let shown = |list: &[Value], k: &Value| {
        let found = list.iter().find(|pass| pass["k"] == *k);
        found.map_or(String::from("—"), |pass| {
            let number = |key: &str| pass[key].as_f64().unwrap_or(f64::NAN);
            format!("{:.4} ± {:.4}", number("mean"), number("half_width"))
        })
    };
    let all = if after.is_empty() { &before } else { &after };
    let rows = all.iter().map(|pass| {
        let k = &pass["k"];
        format!("| pass@{k} | {} | {} |", shown(&before, k), shown(&after, k))
    });
    table(text, "Held-out accuracy", "| 95 % intervals | before | after |", rows);
}

fn gate(text: &mut String, report: &Report) {
    let mut checks = report.checks().peekable();
    if checks.peek().is_none() {
        return;
    }
    let rows = checks.map(|(name, required, measured, passed)| {
        let measured = measured.map_or(String::from("not measured"), |value| format!("{value:.4}"));
        format!("| {name} | {required} | {measured} | {} |", if passed { "yes" } else { "**no**" })
    });
    table(text, "Gate", "| demand | at least | measured | passed |", rows);
}

fn forks(text: &mut String, report: &Report) {
    let rows = report.forks.iter().map(|fork| {
        let name = fork.name.as_deref().map_or_else(String::new, escape);
        let control = fork.control.map_or("", Control::words);
        let pass = fork.pass_at_1.map_or(String::from("—"), |pass| format!("{pass:.4}"));
        let difference = fork.difference.as_ref().map_or(String::from("—"), |difference| {
            let half_width = difference.half_width.map_or(String::from("?"), |half| format!("{half:.4}"));
            format!("{:+.4} ± {half_width}", difference.mean)
        });
        format!("| {name} | {control} | {} | {pass} | {difference} |", fork.status)
    });
    let head = "| fork | control | status | pass@1 | this job less the fork, over prompts |";
    table(text, "Forks", head, rows);
}

fn table(text: &mut String, title: &str, head: &str, rows: impl Iterator<Item = String>) {
    let columns = head.matches('|').count() - 1;
    text.push_str(&format!("## {title}\n\n{head}\n|{}\n", "---|".repeat(columns)));
    for row in rows {
        text.push_str(&row);
        text.push('\n');
    }
    text.push('\n');
}

/// Text as it stands, on one line, whatever signs it holds.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            sign if sign.is_control() => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(sign);
            }
            sign => escaped.push(sign),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn people_read_what_was_reached_and_no_text_breaks_the_table() {
        let text = write(&example());
        assert!(text.starts_with("# a &lt;b> &amp; \"c\" \\| d \n\n**succeeded**, gate **missed**\n"), "{text}");
        assert!(text.contains("| pass@1 | 0.2500 ± 0.1000 | 0.5000 ± 0.1250 |"), "{text}");
        assert!(text.contains("| improvement | 0.5 | 0.2500 | **no** |"), "{text}");
        assert!(text.contains("| `ckpt_1` | inference | 12 | 1000 | `ff` |"), "{text}");
        assert!(
            text.contains("| x \\| shuffled | shuffled rewards | succeeded | 0.2500 | +0.2500 ± 0.6210 |"),
            "{text}"
        );
        assert!(!text.contains("## Warnings"));
    }
}
