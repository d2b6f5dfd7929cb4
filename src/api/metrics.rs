//! `GET /metrics`: what an operator watches, in the text format of Prometheus. Numbers of single jobs are not here;
//! `GET /v1/jobs/{id}/metrics` has those.

use std::fmt::Write;

use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::access::Access;
use super::devices::{Device, devices};
use super::error::Problem;
use crate::job::{DeviceStatus, JobStatus};

/// The version of the format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics of this server, for Prometheus
///
/// `anneal_jobs{status}`, `anneal_queue_length`, and for each device `anneal_device_memory_total_bytes`,
/// `anneal_device_memory_free_bytes`, `anneal_device_status{status}` (1 for the status it has, 0 for the others) and
/// `anneal_device_faults_total`.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "health",
    responses((status = 200, description = "Prometheus text format", body = String, content_type = "text/plain"))
)]
pub async fn metrics(Access(app): Access) -> Result<Response, Problem> {
    let devices = devices(&app).await?;
    let counts = app.store.count_jobs().await?;
    let text = exposition(&devices, &counts);
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
