//! `GET /metrics`: what an operator watches, in the text format of Prometheus. Numbers of single jobs are not here;
//! `GET /v1/jobs/{id}/metrics` has those.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::access::Access;
use super::devices::{Device, devices};
use super::error::Problem;
use super::hosts::{Host, hosts};
use crate::clock;
use crate::job::{DeviceStatus, JobStatus};
use crate::store::{LaunchRow, QueueWaits};

/// The version of the format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics of this server, for Prometheus
///
/// `anneal_jobs{status}`, `anneal_queue_length`, and for each device `anneal_device_memory_total_bytes`,
/// `anneal_device_memory_free_bytes`, `anneal_device_status{status}` (1 for the status it has, 0 for the others) and
/// `anneal_device_faults_total`; `anneal_queue_wait_seconds` of the jobs that began in the last hour (quantiles, sum and count)
/// and `anneal_queue_oldest_seconds`; `anneal_hosts{status}`, `anneal_launches{launcher,status}`, and what agents have had of this
/// server since it began: `anneal_agent_renewals_total`, `anneal_agent_claims_total`, `anneal_agent_sent_bytes_total` and
/// `anneal_agent_received_bytes_total`.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "health",
    responses((status = 200, description = "Prometheus text format", body = String, content_type = "text/plain"))
)]
pub async fn metrics(Access(app): Access) -> Result<Response, Problem> {
    let devices = devices(&app).await?;
    let counts = app.store.count_jobs().await?;
    let mut text = exposition(&devices, &counts);
    queue(&mut text, &app.store.queue_waits(clock::now()).await?);
    machines(&mut text, &hosts(&app).await?, &app.store.open_launches().await?);
    for (name, help, count) in app.agent_counts.all() {
        family(&mut text, name, "counter", help, [(String::new(), count)].into_iter());
    }
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn exposition(devices: &[Device], counts: &[(JobStatus, u64)]) -> String {
    let of = |status: JobStatus| counts.iter().find(|(other, _)| *other == status).map_or(0, |(_, count)| *count);
    let jobs = JobStatus::ALL.iter().map(|status| (format!("{{status=\"{status}\"}}"), of(*status)));
    let mut text = String::new();
    family(&mut text, "anneal_jobs", "gauge", "Jobs by status.", jobs);
    let waiting = [(String::new(), of(JobStatus::Queued))].into_iter();
    family(&mut text, "anneal_queue_length", "gauge", "Jobs that wait for a device.", waiting);
    let each = |value: fn(&Device) -> u64| devices.iter().map(move |device| (label(device, None), value(device)));
    let help = "Bytes of memory that the device has.";
    family(&mut text, "anneal_device_memory_total_bytes", "gauge", help, each(|device| device.memory().0));
    let help = "Bytes of the device's memory that a new job could take.";
    family(&mut text, "anneal_device_memory_free_bytes", "gauge", help, each(|device| device.memory().1));
    let statuses = devices.iter().flat_map(|device| {
        let line = |status: &DeviceStatus| {
            (label(device, Some(status.as_str())), u64::from(status.as_str() == device.status()))
        };
        DeviceStatus::ALL.iter().map(line)
    });
    family(&mut text, "anneal_device_status", "gauge", "1 for the status that the device has.", statuses);
    let help = "How often the device has failed.";
    family(&mut text, "anneal_device_faults_total", "counter", help, each(Device::faults));
    text
}

/// How long jobs waited that began lately, and how long the one waits that has waited for longest.
fn queue(text: &mut String, waits: &QueueWaits) {
    let QueueWaits { sorted, oldest } = waits;
    let seconds = |wait: Duration| wait.as_secs();
    let help = "Seconds for which the jobs waited that began in the last hour.";
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).or(sorted.last());
    let quantiles = [0.5, 0.9, 0.99]
        .into_iter()
        .filter_map(|share| at(share).map(|wait| (format!("{{quantile=\"{share}\"}}"), seconds(*wait))));
    family(text, "anneal_queue_wait_seconds", "summary", help, quantiles);
    let sum = [("sum", seconds(sorted.iter().sum())), ("count", sorted.len() as u64)];
    for (name, value) in sum {
        writeln!(text, "anneal_queue_wait_seconds_{name} {value}").expect("a string takes any text");
    }
    let help = "Seconds for which the job waits that has waited for longest.";
    let longest = [(String::new(), oldest.map_or(0, seconds))].into_iter();
    family(text, "anneal_queue_oldest_seconds", "gauge", help, longest);
}

/// Machines by how they are, and those that clusters are asked for.
fn machines(text: &mut String, hosts: &[Host], launches: &[LaunchRow]) {
    let count = |status: &str| hosts.iter().filter(|host| host.status() == status).count() as u64;
    let of = |status: &&str| (format!("{{status=\"{status}\"}}"), count(status));
    family(text, "anneal_hosts", "gauge", "Machines by status.", Host::STATUSES.iter().map(of));
    let mut open: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for launch in launches {
        *open.entry((&launch.launcher, launch.status.as_str())).or_default() += 1;
    }
    let label = |(launcher, status): (&str, &str)| format!("{{launcher=\"{launcher}\",status=\"{status}\"}}");
    let lines = open.into_iter().map(|(which, count)| (label(which), count));
    family(text, "anneal_launches", "gauge", "Machines that clusters are asked for.", lines);
}

/// Names of devices are ours and need no escaping.
fn label(device: &Device, status: Option<&str>) -> String {
    let status = status.map_or_else(String::new, |status| format!(",status=\"{status}\""));
    format!("{{device=\"{}\"{status}}}", device.id())
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: impl Iterator<Item = (String, u64)>) {
    let mut add = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a string takes any text");
    add(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    for (labels, value) in samples {
        add(format_args!("{name}{labels} {value}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_a_series_even_at_zero() {
        let text = exposition(&[], &[(JobStatus::Queued, 3)]);
        assert!(text.starts_with("# HELP anneal_jobs Jobs by status.\n# TYPE anneal_jobs gauge\n"), "{text}");
        for line in ["anneal_jobs{status=\"queued\"} 3", "anneal_jobs{status=\"failed\"} 0", "anneal_queue_length 3"] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
    }
}
