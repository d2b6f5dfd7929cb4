//! Messages as chat services take them: one sentence of what programs get as JSON.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::job::webhook::{TEST, WebhookFormat};

/// Characters of a message; Discord takes 2000.
const MOST: usize = 1500;

/// A stored message in the form that a receiver takes.
pub fn rendered(format: WebhookFormat, body: &str) -> Cow<'_, str> {
    let message: Value = match format {
        WebhookFormat::Standard => return Cow::Borrowed(body),
        WebhookFormat::Slack | WebhookFormat::Discord => serde_json::from_str(body).unwrap_or_default(),
    };
    let text: String = sentence(&message).chars().take(MOST).collect();
    let form = match format {
        // https://docs.slack.dev/messaging/formatting-message-text: what would be a command or a link is text.
        WebhookFormat::Slack => {
            json!({"text": text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"), "mrkdwn": false})
        }
        // https://docs.discord.com/developers/resources/webhook: nobody is called by what a job is named.
        _ => json!({"content": text, "allowed_mentions": {"parse": []}}),
    };
    Cow::Owned(form.to_string())
}

fn sentence(message: &Value) -> String {
    let (job, event) = (&message["data"]["job"], &message["data"]["event"]);
    let id = job["id"].as_str().unwrap_or_default();
    let name = job["name"].as_str().filter(|name| !name.is_empty());
    let called = name.map_or_else(|| id.to_owned(), |name| format!("{name} ({id})"));
    match message["type"].as_str().unwrap_or_default() {
        TEST => String::from("Anneal reaches this channel."),
        "job.succeeded" => format!("{called} has succeeded{}.", gain(job)),
        "job.failed" => format!("{called} has failed: {}", told(&job["failure"]["message"])),
        "job.cancelled" => format!("{called} was cancelled."),
        "job.paused" => format!("{called} is paused."),
        "checkpoint.created" => {
            format!(
                "{called} has a checkpoint of step {}: {}",
                told(&event["data"]["step"]),
                told(&event["data"]["checkpoint"])
            )
        }
        "evaluation.completed" => {
            format!("{called}: {} after step {}.", rate(&event["data"]["pass_at"][0]), told(&event["data"]["step"]))
        }
        "rollout_set.created" => format!("{called} has made {}.", told(&event["data"]["rollout_set"])),
        other => format!("{called}: {}.", other.trim_start_matches("job.")),
    }
}

/// What a job has gained, if it was measured.
fn gain(job: &Value) -> String {
    let of = |when: &str| job["result"][when]["pass_at"].get(0).filter(|rate| rate["mean"].is_number()).map(rate);
    match (of("before"), of("after")) {
        (Some(before), Some(after)) => format!(": {before} before, {after} after"),
        (None, Some(after)) => format!(": {after}"),
        _ => String::new(),
    }
}

fn rate(rate: &Value) -> String {
    let mean = rate["mean"].as_f64().map_or_else(|| String::from("unknown"), |mean| format!("{:.1} %", 100.0 * mean));
    format!("pass@{} {mean}", told(&rate["k"]))
}

fn told(value: &Value) -> String {
    match value {
        Value::Null => String::from("unknown"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, job: &Value, data: &Value) -> String {
        json!({"type": kind, "data": {"job": job, "event": {"data": data}}}).to_string()
    }

    fn text(format: WebhookFormat, body: &str) -> String {
        let form: Value = serde_json::from_str(&rendered(format, body)).unwrap();
        form["text"].as_str().or(form["content"].as_str()).unwrap().to_owned()
    }

    #[test]
    fn sentences_say_what_happened_to_which_job() {
        let rate = |mean: f64| json!({"pass_at": [{"k": 1, "mean": mean, "half_width": 0.1}]});
        let job = json!({"id": "job_1", "name": "sums", "result": {"before": rate(0.5), "after": rate(0.875)}});
        let done = message("job.succeeded", &job, &json!({}));
        let expected = "sums (job_1) has succeeded: pass@1 50.0 % before, pass@1 87.5 % after.";
        assert_eq!(text(WebhookFormat::Slack, &done), expected);
        assert_eq!(text(WebhookFormat::Discord, &done), expected);
        assert_eq!(rendered(WebhookFormat::Standard, &done), done);
        let failed = json!({"id": "job_1", "name": null, "failure": {"message": "the loss is not finite"}});
        let failed = message("job.failed", &failed, &json!({}));
        assert_eq!(text(WebhookFormat::Discord, &failed), "job_1 has failed: the loss is not finite");
        let measured = message("evaluation.completed", &job, &json!({"step": 4, "pass_at": [{"k": 1, "mean": 0.25}]}));
        assert_eq!(text(WebhookFormat::Slack, &measured), "sums (job_1): pass@1 25.0 % after step 4.");
        assert!(text(WebhookFormat::Slack, &message(TEST, &json!({}), &json!({}))).starts_with("Anneal reaches"));
        assert_eq!(text(WebhookFormat::Slack, &message("job.queued", &job, &json!({}))), "sums (job_1): queued.");
    }

    #[test]
    fn a_name_calls_nobody_and_is_not_endless() {
        let job = json!({"id": "job_1", "name": "<!channel> & @everyone"});
        let body = message("job.cancelled", &job, &json!({}));
        assert_eq!(text(WebhookFormat::Slack, &body), "&lt;!channel&gt; &amp; @everyone (job_1) was cancelled.");
        let form: Value = serde_json::from_str(&rendered(WebhookFormat::Discord, &body)).unwrap();
        assert_eq!(form["allowed_mentions"], json!({"parse": []}));
        let long = json!({"id": "job_1", "failure": {"message": "x".repeat(9000)}});
        assert_eq!(text(WebhookFormat::Discord, &message("job.failed", &long, &json!({}))).len(), MOST);
    }
}
