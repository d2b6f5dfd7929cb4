//! Follows a job to its end, and says how it ended.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use serde_json::Value;

use super::super::client::{Client, End, body, escape};
use super::super::interrupt::on_interrupt;
use super::super::output::Output;
use super::super::progress::JobProgress;
use super::super::{exit, output};
use super::describe;
use crate::job::{EventBody, JobStatus};

/// How waiting for a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Over,
    Paused,
    TimedOut,
}

/// Follows a job until it is over, is paused, or `deadline` passes, and returns it as it then stands.
pub fn follow(
    client: &Client,
    job: &Value,
    deadline: Option<Instant>,
    mut each: impl FnMut(&Value),
) -> anyhow::Result<(Value, Outcome)> {
    let id = job["id"].as_str().context("the server's answer has no job id")?;
    let path = format!("/v1/jobs/{}", escape(id));
    let mut paused = false;
    let end = client.follow(id, 0, deadline, |event| {
        each(event);
        // The log also tells of pauses that are long over.
        if matches!(body(event), Some(EventBody::Status(change)) if change.status == JobStatus::Paused) {
            paused = client.get(&path)?["status"] == "paused";
        }
        Ok(if paused { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    match end {
        End::Over => Ok((client.get(&path)?, Outcome::Over)),
        End::Stopped => Ok((client.get(&path)?, Outcome::Paused)),
        // The server may be what is late.
        End::TimedOut => Ok((job.clone(), Outcome::TimedOut)),
    }
}

/// The same with a progress line on standard error.
pub fn follow_visibly(client: &Client, job: &Value, deadline: Option<Instant>) -> anyhow::Result<(Value, Outcome)> {
    let mut progress = JobProgress::new(job["steps"].as_u64().unwrap_or_default());
    if let Some(reason) = job.pointer("/waiting/message").and_then(Value::as_str) {
        progress.line(&output::printable(reason));
    }
    let followed = follow(client, job, deadline, |event| progress.show(event));
    progress.finish();
    followed
}

/// Lets Ctrl-C leave the job alone and say how to come back to it.
pub fn detach_on_interrupt(job: &Value) {
    let id = output::member(job, "/id");
    on_interrupt(format!(
        "the job goes on; follow it again with `anneal jobs watch {id}`, end it with `anneal jobs cancel {id}`"
    ));
}

/// The exit code that the end of a job asks for.
pub fn code(job: &Value, outcome: Outcome) -> u8 {
    match (outcome, job["status"].as_str()) {
        (Outcome::TimedOut, _) => exit::TIMED_OUT,
        (Outcome::Paused, _) => exit::PAUSED,
        (Outcome::Over, Some("succeeded")) if job["result"]["gate"]["passed"] == false => exit::GATE_FAILED,
        (Outcome::Over, Some("succeeded")) => 0,
        (Outcome::Over, Some("cancelled")) => exit::CANCELLED,
        (Outcome::Over, _) => exit::FAILED,
    }
}

/// Tells people how it ended, and programs by the exit code.
pub fn conclude(job: &Value, outcome: Outcome, output: Output) -> ExitCode {
    let code = code(job, outcome);
    if !output.json {
        eprint!("{}", words(job, code));
    }
    ExitCode::from(code)
}

fn words(job: &Value, code: u8) -> String {
    let id = output::member(job, "/id");
    match code {
        exit::TIMED_OUT => {
            format!("the time is up and the job goes on; follow it again with `anneal jobs watch {id}`\n")
        }
        exit::PAUSED => format!("the job is paused; `anneal jobs resume {id}` puts it back into the queue\n"),
        exit::CANCELLED => String::from("the job was cancelled\n"),
        exit::FAILED => {
            format!(
                "the job failed: {}\n",
                describe::failure(job).unwrap_or_else(|| String::from("no reason is known"))
            )
        }
        _ => {
            let mut fields = output::Fields::default();
            for (name, value) in describe::pass_at(&job["result"]) {
                fields.add(name, value);
            }
            fields.add_some("gate", &describe::gate(job).unwrap_or_else(|| String::from("-")));
            fields.add_some("checkpoint", &output::member(job, "/result/checkpoint"));
            fields.text()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_end_has_its_exit_code() {
        let job = |status: &str, passed: Value| json!({"status": status, "result": {"gate": {"passed": passed}}});
        let table = [
            (job("succeeded", Value::Null), Outcome::Over, 0),
            (job("succeeded", json!(true)), Outcome::Over, 0),
            (job("succeeded", json!(false)), Outcome::Over, 10),
            (job("failed", Value::Null), Outcome::Over, 20),
            (job("cancelled", Value::Null), Outcome::Over, 30),
            (job("paused", Value::Null), Outcome::Paused, 40),
            (job("running", Value::Null), Outcome::TimedOut, 50),
        ];
        for (job, outcome, expected) in table {
            assert_eq!(code(&job, outcome), expected, "{job}");
        }
    }
}
