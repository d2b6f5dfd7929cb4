//! `anneal top`: jobs, queue and devices as they are, again and again, in a terminal.

use std::collections::HashSet;
use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Refused};
use super::interrupt::on_interrupt;
use super::launches;
use super::output::{Table, age, member, print, size};
use super::remote::{RemoteArgs, items};
use crate::clock;
use crate::config::Config;

/// Jobs of a kind that are shown.
const SHOWN: u32 = 15;
/// Launches among which those are sought that are not over.
const LAUNCHES: u32 = 100;
/// Cells of a progress bar.
const WIDTH: usize = 20;
/// Goes to the upper left and clears all that is below.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal top                      until Ctrl-C
  anneal top --once               one picture, as it is written where there is no terminal
  anneal top --once --json | jq '.queue.counts'
  anneal top --once --json | jq '.hosts.data[] | select(.status == \"gone\")'")]
pub struct Args {
    /// Show one picture and end
    #[arg(long)]
    once: bool,
    /// Seconds between pictures
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let once = args.once || output.json || !stdout().is_terminal();
        if !once {
            on_interrupt(String::from("the jobs go on; `anneal jobs list` shows them"));
        }
        let machines = sees_machines(client)?;
        loop {
            let seen = look(client, machines)?;
            let picture = || picture(&seen, &client.url(""));
            if once {
                output.answer(&seen, picture);
                return Ok(ExitCode::SUCCESS);
            }
            print(&format!("{CLEAR}{}", picture()));
            std::thread::sleep(Duration::from_secs(args.every));
        }
    })
}

/// Whether machines and launches are shown to this key. Others do not ask: each refusal would stand in the audit log.
fn sees_machines(client: &Client) -> anyhow::Result<bool> {
    let who = unless_refused(client.get("/v1/sessions/current"))?.unwrap_or_default();
    Ok(who["scopes"].as_array().into_iter().flatten().any(|scope| scope == "admin" || scope == "operator"))
}

/// None for what the server does not have, as an older one, or does not show to this key.
fn unless_refused(answer: anyhow::Result<Value>) -> anyhow::Result<Option<Value>> {
    let is_hidden = |refused: &Refused| matches!(refused.status, 403 | 404);
    match answer {
        Err(error) if error.downcast_ref::<Refused>().is_some_and(is_hidden) => Ok(None),
        answer => answer.map(Some),
    }
}

fn look(client: &Client, machines: bool) -> anyhow::Result<Value> {
    let jobs = |status: &str| client.get(&format!("/v1/jobs?limit={SHOWN}{status}"));
    let of_machines = |path: &str| {
        let answer = if machines { unless_refused(client.get(path))? } else { None };
        anyhow::Ok(answer.unwrap_or_else(|| json!({"object": "list", "data": [], "has_more": false})))
    };
    Ok(json!({
        "devices": client.get("/v1/devices")?,
        "hosts": of_machines("/v1/hosts")?,
        "launches": of_machines(&format!("/v1/launches?limit={LAUNCHES}"))?,
        "queue": client.get("/v1/queue")?,
        "running": jobs("&status=running")?,
        "newest": jobs("")?,
    }))
}

fn picture(seen: &Value, server: &str) -> String {
    let counts = seen["queue"]["counts"].as_object().into_iter().flatten();
    let counts: Vec<String> = counts.map(|(status, count)| format!("{count} {status}")).collect();
    let mut text = format!("{server}   {}\n\n", counts.join(", "));
    let mut devices = Table::new(&["DEVICE", "STATUS", ">FREE", ">MEMORY", "JOB", "FAULT"]);
    for device in items(&seen["devices"]) {
        let text = |pointer| member(device, pointer);
        let (free, total) = (size(device["memory_free"].as_u64()), size(device["memory_total"].as_u64()));
        devices.row([text("/id"), text("/status"), free, total, text("/job"), text("/fault")]);
    }
    text.push_str(&devices.text("the server has no devices"));
    text.push_str(&machines(seen));
    let mut running = Table::new(&["RUNNING", "PHASE", "PROGRESS", ">STEP", "ENDS", "OBJECTIVE", "DEVICES"]);
    for job in items(&seen["running"]) {
        let step = format!("{}/{}", member(job, "/step"), member(job, "/steps"));
        let fraction = job["progress"]["fraction"].as_f64().unwrap_or_default();
        let devices = job["devices"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let devices = devices.collect::<Vec<_>>().join(",");
        let (phase, objective) = (member(job, "/phase"), member(job, "/objective"));
        running.row([called(job), phase, bar(fraction), step, ends(job), objective, devices]);
    }
    text.push_str(&format!("\n{}", running.text("nothing runs")));
    let mut waiting = Table::new(&[">", "WAITING", ">PRIORITY", "WHY"]);
    for entry in seen["queue"]["waiting"].as_array().into_iter().flatten().take(SHOWN as usize) {
        let name = if entry["name"].is_string() { member(entry, "/name") } else { member(entry, "/job") };
        waiting.row([member(entry, "/position"), name, member(entry, "/priority"), member(entry, "/waiting/message")]);
    }
    text.push_str(&format!("\n{}", waiting.text("nothing waits")));
    text.push_str(&open_launches(seen));
    let mut newest = Table::new(&["NEWEST", "STATUS", "CREATED", "ID"]);
    for job in items(&seen["newest"]).filter(|job| job["status"] != "running").take(SHOWN as usize) {
        newest.row([called(job), member(job, "/status"), age(job["created_at"].as_i64()), member(job, "/id")]);
    }
    text.push_str(&format!("\n{}", newest.text("there are no other jobs")));
    text
}

/// The machines, where there are others than the server's own.
fn machines(seen: &Value) -> String {
    if items(&seen["hosts"]).nth(1).is_none() {
        return String::new();
    }
    let busy = items(&seen["devices"]).filter(|device| device["status"] == "busy");
    let busy: HashSet<&str> = busy.filter_map(|device| device["id"].as_str()).collect();
    let mut table = Table::new(&["MACHINE", "POOL", ">DEVICES", "STATE", "SEEN"]);
    for host in items(&seen["hosts"]) {
        let devices = || host["devices"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let works = format!("{}/{}", devices().filter(|device| busy.contains(device)).count(), devices().count());
        let state = match host["status"].as_str() {
            Some("ready") => String::from("well"),
            Some("gone") => String::from("silent"),
            _ => member(host, "/status"),
        };
        table.row([member(host, "/id"), member(host, "/pool"), works, state, age(host["seen_at"].as_i64())]);
    }
    format!("\n{}", table.text("there are no machines"))
}

/// The launches that are not over, where there are some.
fn open_launches(seen: &Value) -> String {
    let mut open = items(&seen["launches"]).filter(|launch| launch["ended_at"].is_null()).peekable();
    if open.peek().is_none() { String::new() } else { format!("\n{}", launches::table(open)) }
}

fn called(job: &Value) -> String {
    if job["name"].is_string() { member(job, "/name") } else { member(job, "/id") }
}

fn bar(fraction: f64) -> String {
    let full = (fraction.clamp(0.0, 1.0) * WIDTH as f64).round() as usize;
    format!("{}{} {:3.0} %", "#".repeat(full), ".".repeat(WIDTH - full), 100.0 * fraction)
}

/// In how many minutes a job will probably be ready.
fn ends(job: &Value) -> String {
    let left = |end: i64| (end - clock::now().unix_seconds()).max(0);
    match job["progress"]["expected_end"]["p50"].as_i64().map(left) {
        Some(seconds) if seconds < 120 => format!("in {seconds} s"),
        Some(seconds) => format!("in {} min", seconds / 60),
        None => String::from("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_devices_jobs_and_the_queue() {
        let job = json!({"id": "job_1", "name": "nightly", "status": "running", "phase": "training", "step": 5,
            "steps": 10, "objective": "bolt", "devices": ["cpu"], "progress": {"fraction": 0.5, "expected_end": null}});
        let seen = json!({
            "devices": {"data": [{"id": "cpu", "status": "busy", "memory_free": 1024, "memory_total": 2048, "job": "job_1"}]},
            "queue": {"counts": {"running": 1}, "waiting": [
                {"position": 1, "job": "job_2", "name": null, "priority": 0, "waiting": {"message": "all devices are busy"}}]},
            "running": {"data": [job]},
            "newest": {"data": [job, {"id": "job_0", "name": null, "status": "failed", "created_at": 0}]},
        });
        let text = picture(&seen, "http://localhost");
        for part in ["1 running", "##########.......... ", " 50 %", "5/10", "job_2", "all devices are busy", "failed"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(text.matches("nightly").count(), 1, "a job that runs is shown once:\n{text}");
    }

    #[test]
    fn machines_and_launches_are_shown_where_there_are_some() {
        let own = json!({"id": "local", "status": "ready", "pool": null, "devices": ["cpu"], "seen_at": 0});
        let host = |id: &str, status: &str| {
            let devices = [format!("{id}/cuda:0"), format!("{id}/cuda:1")];
            json!({"id": id, "status": status, "pool": "shelf", "devices": devices, "seen_at": 1})
        };
        let message = "Slurm says PENDING (Priority)";
        let launch = |id: &str, end: Option<i64>| json!({"id": id, "message": message, "ended_at": end});
        let device = |id: &str, status: &str| json!({"id": id, "status": status});
        let devices = [device("a/cuda:0", "busy"), device("a/cuda:1", "idle"), device("b/cuda:0", "foreign")];
        let mut seen = json!({
            "devices": {"data": devices},
            "hosts": {"data": [host("a", "ready"), host("b", "gone"), host("c", "cordoned"), own]},
            "launches": {"data": [launch("lau_open", None), launch("lau_over", Some(1))]},
        });
        let text = picture(&seen, "http://localhost");
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
        let expected = [
            ["MACHINE", "POOL", "DEVICES", "STATE"],
            ["a", "shelf", "1/2", "well"],
            ["b", "shelf", "0/2", "silent"],
            ["c", "shelf", "0/2", "cordoned"],
            ["local", "-", "0/1", "well"],
        ];
        let begin = rows.iter().position(|row| row.first() == Some(&"MACHINE")).unwrap();
        assert_eq!(rows[begin..begin + expected.len()], expected, "{text}");
        assert!(text.contains("lau_open") && text.contains(message) && !text.contains("lau_over"), "{text}");
        // A server alone, without a cluster.
        seen["hosts"]["data"] = json!([own]);
        seen["launches"]["data"] = json!([launch("lau_over", Some(1))]);
        let text = picture(&seen, "http://localhost");
        assert!(!text.contains("MACHINE") && !text.contains("LAUNCHER"), "{text}");
    }

    #[test]
    fn what_a_server_lacks_or_hides_is_left_out_and_other_refusals_are_told() {
        let answer = |status| unless_refused(Err(Refused::new(status, b"", true).into()));
        assert!(matches!((answer(403), answer(404)), (Ok(None), Ok(None))));
        assert!(answer(401).is_err() && answer(500).is_err());
        assert_eq!(unless_refused(Ok(json!(1))).unwrap(), Some(json!(1)));
    }
}
