//! `anneal jobs events`

use std::ops::ControlFlow;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::super::client::{Client, body, escape};
use super::super::output::{Output, member};
use crate::job::EventBody;

/// Most that the server returns at once.
const PAGE: u64 = 200;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs events JOB --type status,evaluation
  anneal jobs events JOB --follow --json | jq -c 'select(.type == \"metrics\") | .data.values.loss'")]
pub struct Args {
    /// The job, job_...
    job: String,
    /// Only events behind this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: i64,
    /// Only events of these types, separated by commas, such as status, metrics, evaluation, checkpoint or log
    #[arg(long = "type", value_name = "TYPE,...", value_delimiter = ',')]
    types: Vec<String>,
    /// Go on as events come, until the job is over
    #[arg(long, short)]
    follow: bool,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let show = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        if args.types.is_empty() || args.types.iter().any(|wanted| wanted == kind) {
            output.line(event, || line(event));
        }
    };
    if args.follow {
        client.follow(&args.job, args.after, None, |event| {
            show(event);
            Ok(ControlFlow::Continue(()))
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut after = args.after;
    loop {
        let page = client.get(&format!("/v1/jobs/{}/events?after={after}&limit={PAGE}", escape(&args.job)))?;
        for event in page["data"].as_array().into_iter().flatten() {
            show(event);
            after = event["seq"].as_i64().unwrap_or(after);
        }
        if page["has_more"] != true {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

fn line(event: &Value) -> String {
    let text = |pointer| member(event, pointer);
    let message = if let Some(EventBody::Metrics(metrics)) = body(event) {
        let values = metrics.values.iter().map(|(name, value)| format!("{name}={}", json!(value)));
        format!("step {} {}", metrics.step, values.collect::<Vec<_>>().join(" "))
    } else {
        text("/message").replace('\n', " ")
    };
    let level = if event["level"] == "info" { String::new() } else { format!("{}: ", text("/level")) };
    format!("{:>5}  {}  {:<10}  {level}{message}\n", text("/seq"), text("/created_at"), text("/type"))
}
