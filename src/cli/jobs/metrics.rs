//! `anneal jobs metrics`

use std::process::ExitCode;

use serde_json::Value;

use super::super::client::{Client, escape, with_query};
use super::super::output::{Output, Table, member, print};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs metrics JOB                                  a line a metric: first, last, lowest, highest
  anneal jobs metrics JOB --keys loss,reward/mean --csv    a line a step")]
pub struct Args {
    /// The job, job_...
    job: String,
    /// Only these metrics, separated by commas
    #[arg(long, value_name = "NAME,...")]
    keys: Option<String>,
    /// From this optimizer step on
    #[arg(long, value_name = "STEP")]
    from_step: Option<u64>,
    /// Up to this optimizer step
    #[arg(long, value_name = "STEP")]
    to_step: Option<u64>,
    /// Most points per metric; longer series are thinned out by the server
    #[arg(long, value_name = "N")]
    points: Option<u64>,
    /// Print the values as CSV
    #[arg(long)]
    csv: bool,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let parameters = [
        ("keys", args.keys.clone()),
        ("from_step", number(args.from_step)),
        ("to_step", number(args.to_step)),
        ("points", number(args.points)),
        ("format", args.csv.then(|| String::from("csv"))),
    ];
    let path = with_query(&format!("/v1/jobs/{}/metrics", escape(&args.job)), &parameters);
    if args.csv {
        print(&client.text(&path)?);
        return Ok(ExitCode::SUCCESS);
    }
    let metrics = client.get(&path)?;
    output.answer(&metrics, || table(&metrics));
    Ok(ExitCode::SUCCESS)
}

fn table(metrics: &Value) -> String {
    let mut table = Table::new(&["METRIC", ">STEPS", ">FIRST", ">LAST", ">LOWEST", ">HIGHEST"]);
    for series in metrics["series"].as_array().into_iter().flatten() {
        let values: Vec<f64> = series["values"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let number = |value: Option<f64>| value.map_or_else(|| String::from("-"), |value| format!("{value:.5}"));
        table.row([
            member(series, "/name"),
            values.len().to_string(),
            number(values.first().copied()),
            number(values.last().copied()),
            number(values.iter().copied().reduce(f64::min)),
            number(values.iter().copied().reduce(f64::max)),
        ]);
    }
    table.text("there are no such metrics yet")
}
