//! A job as people read it.

use serde_json::Value;

use super::super::output::{Fields, member, printable, time};

/// All that one wants to know of a job at a glance.
pub fn describe(job: &Value) -> String {
    let text = |pointer: &str| member(job, pointer);
    let mut fields = Fields::default();
    fields.add("id", text("/id"));
    fields.add_some("name", &text("/name"));
    fields.add("status", status(job));
    if let Some(reason) = job.pointer("/waiting/message").and_then(Value::as_str) {
        fields.add("waits", printable(reason));
    }
    fields.add_some("ends", &expected_end(job).unwrap_or_else(|| String::from("-")));
    for (name, pointer) in [
        ("kind", "/kind"),
        ("model", "/spec_resolved/model"),
        ("train", "/spec_resolved/dataset/train"),
        ("eval", "/spec_resolved/dataset/eval"),
        ("objective", "/objective"),
        ("rollout set", "/rollout_set"),
    ] {
        fields.add_some(name, &text(pointer));
    }
    let devices: Vec<&str> = job["devices"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !devices.is_empty() {
        fields.add("devices", devices.join(", "));
    }
    for (name, pointer) in [("created", "/created_at"), ("started", "/started_at"), ("finished", "/finished_at")] {
        fields.add_some(name, &time(job.pointer(pointer).and_then(Value::as_i64)));
    }
    if job["attempt"].as_u64().is_some_and(|attempt| attempt > 1) {
        fields.add("attempts", text("/attempt"));
    }
    for (name, value) in job["metadata"].as_object().into_iter().flatten() {
        fields.add(format!("metadata {}", printable(name)), printable(value.as_str().unwrap_or_default()));
    }
    for line in pass_at(&job["result"]) {
        fields.add(line.0, line.1);
    }
    fields.add_some("gate", &gate(job).unwrap_or_else(|| String::from("-")));
    fields.add_some("checkpoint", &text("/result/checkpoint"));
    fields.add_some("weights", &text("/result/weights_sha256"));
    fields.add_some("failure", &failure(job).unwrap_or_else(|| String::from("-")));
    fields.text()
}

/// The status with what the job is doing.
fn status(job: &Value) -> String {
    let mut status = member(job, "/status");
    if let Some(phase) = job["phase"].as_str().filter(|_| status == "running") {
        status.push_str(&format!(", {}", printable(phase)));
    }
    if let Some(steps) = job["steps"].as_u64().filter(|steps| *steps > 0) {
        status.push_str(&format!(", step {} of {steps}", member(job, "/step")));
    }
    status
}

/// When a running job will probably be over.
fn expected_end(job: &Value) -> Option<String> {
    let end = &job["progress"]["expected_end"];
    let likely = time(Some(end["p50"].as_i64()?));
    let late = end["p90"].as_i64().map(|late| format!(", by {} with 90 %", time(Some(late))));
    Some(format!("about {likely}{}", late.unwrap_or_default()))
}

/// Held-out accuracy before and after, a line for every k.
pub fn pass_at(result: &Value) -> Vec<(String, String)> {
    let rows = result["after"]["pass_at"].as_array().into_iter().flatten().enumerate();
    rows.map(|(i, after)| {
        let before = &result["before"]["pass_at"][i];
        let name = format!("pass@{}", after["k"]);
        let value = if before["mean"].is_number() {
            format!("{} -> {}", interval(before), interval(after))
        } else {
            interval(after)
        };
        (name, value)
    })
    .collect()
}

/// A mean with its confidence interval.
pub fn interval(pass: &Value) -> String {
    match (pass["mean"].as_f64(), pass["half_width"].as_f64()) {
        (Some(mean), Some(half_width)) => format!("{mean:.3} ± {half_width:.3}"),
        (Some(mean), None) => format!("{mean:.3}"),
        _ => String::from("-"),
    }
}

/// What a job's gate said, if it has one.
pub fn gate(job: &Value) -> Option<String> {
    let gate = &job["result"]["gate"];
    let passed = gate["passed"].as_bool()?;
    let missed = gate["checks"].as_array().into_iter().flatten().filter(|check| check["passed"] == false);
    let missed: Vec<String> = missed
        .map(|check| {
            let part = |pointer| member(check, pointer);
            format!("{} is {}, {} is asked for", part("/name"), part("/measured"), part("/required"))
        })
        .collect();
    Some(if passed { String::from("passed") } else { format!("failed: {}", missed.join("; ")) })
}

/// Why a job failed, if it did.
pub fn failure(job: &Value) -> Option<String> {
    let failure = job["failure"].as_object()?;
    let part = |name: &str| printable(failure.get(name).and_then(Value::as_str).unwrap_or_default());
    Some(format!("{} ({})", part("message"), part("code")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_description_says_what_is_known_and_nothing_else() {
        let job = json!({
            "id": "job_1", "status": "running", "phase": "sampling", "step": 3, "steps": 12, "attempt": 1,
            "devices": ["cpu"], "created_at": 0, "metadata": {"commit": "abc"},
            "result": {
                "before": {"pass_at": [{"k": 1, "mean": 0.5, "half_width": 0.1}]},
                "after": {"pass_at": [{"k": 1, "mean": 0.75, "half_width": 0.05}]},
                "gate": {"passed": false, "checks": [
                    {"name": "pass_at_1", "required": 0.9, "measured": 0.75, "passed": false},
                    {"name": "improvement", "required": 0.1, "measured": 0.25, "passed": true},
                ]},
            },
        });
        let expected = "\
id               job_1
status           running, sampling, step 3 of 12
devices          cpu
created          1970-01-01T00:00:00Z
metadata commit  abc
pass@1           0.500 ± 0.100 -> 0.750 ± 0.050
gate             failed: pass_at_1 is 0.75, 0.9 is asked for
";
        assert_eq!(describe(&job), expected);
    }
}
