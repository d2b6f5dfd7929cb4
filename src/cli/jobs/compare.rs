//! `anneal jobs compare`: where the specs of some jobs differ, and what came of it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use super::super::client::{Client, escape, with_query};
use super::super::output::{Output, Table, member, printable};
use super::describe::interval;

/// Most jobs that one table holds; the server shows the metrics of as many.
const MOST: usize = 8;

/// What of a spec is about the job and not about what it does.
const PERSONAL: [&str; 4] = ["/name", "/metadata", "/priority", "/budget"];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs compare JOB JOB                              what differs in their specs, their results and metrics
  anneal jobs compare JOB JOB JOB --keys reward/mean,loss")]
pub struct Args {
    /// Two to eight jobs, job_...
    #[arg(required = true, num_args = 2..=8)]
    jobs: Vec<String>,
    /// The metrics to show, separated by commas
    #[arg(long, value_name = "NAME,...", default_value = "loss,reward/mean,kl/reference,entropy/mean,grad/norm")]
    keys: String,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    if args.jobs.len() > MOST {
        bail!("at most {MOST} jobs are compared at once");
    }
    let jobs: Vec<Value> =
        args.jobs.iter().map(|job| client.get(&format!("/v1/jobs/{}", escape(job)))).collect::<Result<_, _>>()?;
    let ids: Vec<&str> = jobs.iter().filter_map(|job| job["id"].as_str()).collect();
    let parameters =
        [("jobs", Some(ids.join(","))), ("keys", Some(args.keys.clone())), ("digits", Some(String::from("5")))];
    let metrics = client.get(&with_query("/v1/metrics", &parameters))?;
    let differences = differences(&jobs);
    let answer =
        json!({"object": "jobs.comparison", "jobs": jobs, "differences": differences, "metrics": metrics["jobs"]});
    output.answer(&answer, || table(&jobs, &differences, &metrics));
    Ok(ExitCode::SUCCESS)
}

/// By pointer into the resolved specs, what each job has there, where they are not all the same.
fn differences(jobs: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let mut leaves = Vec::new();
        collect(&job["spec_resolved"], String::new(), &mut leaves);
        for (pointer, value) in leaves {
            all.entry(pointer).or_insert_with(|| vec![Value::Null; jobs.len()])[number] = value;
        }
    }
    all.retain(|pointer, values| {
        let personal = PERSONAL.iter().any(|own| pointer == own || pointer.starts_with(&format!("{own}/")));
        !personal && values.iter().any(|value| *value != values[0])
    });
    all
}

fn collect(value: &Value, pointer: String, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| collect(value, format!("{pointer}/{name}"), leaves));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            leaves.push((pointer, value.clone()));
        }
    }
}

fn table(jobs: &[Value], differences: &BTreeMap<String, Vec<Value>>, metrics: &Value) -> String {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    let of_each = |of: &dyn Fn(&Value) -> String| jobs.iter().map(of).collect::<Vec<_>>();
    lines.push((String::from("name"), of_each(&|job| member(job, "/name"))));
    lines.push((String::from("status"), of_each(&|job| member(job, "/status"))));
    lines.push((String::from("step"), of_each(&|job| format!("{}/{}", member(job, "/step"), member(job, "/steps")))));
    for (pointer, values) in differences {
        let text = |value: &Value| printable(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        lines.push((printable(pointer), values.iter().map(text).collect()));
    }
    for when in ["before", "after"] {
        let pass = |job: &Value| interval(&job["result"][when]["pass_at"][0]);
        lines.push((format!("pass@1 {when}"), of_each(&pass)));
    }
    let mut names: Vec<String> = Vec::new();
    let mut last: Vec<BTreeMap<String, f64>> = Vec::new();
    for job in metrics["jobs"].as_array().into_iter().flatten() {
        let columns = job["tables"].as_array().into_iter().flatten().flat_map(|table| table["columns"].as_array());
        let newest = columns.flatten().filter_map(|column| {
            let values = column["values"].as_array()?;
            Some((column["name"].as_str()?.to_owned(), values.last()?.as_f64()?))
        });
        let newest: BTreeMap<String, f64> = newest.collect();
        names.extend(newest.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        last.push(newest);
    }
    for name in names {
        let values =
            last.iter().map(|of| of.get(&name).map_or_else(|| String::from("-"), |value| format!("{value:.5}")));
        let values = values.collect();
        lines.push((format!("last {name}"), values));
    }
    let mut table = Table::new(&["", "1", "2", "3", "4", "5", "6", "7", "8"][..=jobs.len()]);
    for (name, cells) in lines {
        table.row(std::iter::once(name).chain(cells));
    }
    table.text("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_between_specs_is_shown() {
        let job = |rate: f64, name: &str| json!({"spec_resolved": {"name": name, "seed": 7, "optimizer": {"learning_rate": rate, "beta1": 0.9}}});
        let (jobs, alone) = ([job(1e-3, "a"), job(1e-4, "b")], json!({"spec_resolved": {"seed": 7}}));
        let expected = json!({"/optimizer/learning_rate": [1e-3, 1e-4]});
        assert_eq!(json!(differences(&jobs)), expected);
        let expected = json!({"/optimizer/beta1": [0.9, null], "/optimizer/learning_rate": [1e-3, null]});
        assert_eq!(json!(differences(&[jobs[0].clone(), alone])), expected);
    }
}
