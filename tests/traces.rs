//! Traces, as a collector of OpenTelemetry gets them: a request, the job that it submits, and the job's steps are one.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, small_spec};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

type Spans = Arc<Mutex<Vec<Span>>>;

/// A collector, and what it was sent.
fn collector() -> (String, Spans) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let spans = Spans::default();
    let kept = Arc::clone(&spans);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            reader.read_line(&mut line).unwrap();
            assert!(line.starts_with("POST /v1/traces "), "{line}");
            while line != "\r\n" {
                line.clear();
                reader.read_line(&mut line).unwrap();
                let lower = line.to_ascii_lowercase();
                length = lower.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            kept.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
            let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            reader.get_mut().write_all(answer).unwrap();
        }
    });
    (address, spans)
}

fn attribute(span: &Span, name: &str) -> Option<Attribute> {
    span.attributes.iter().find(|attribute| attribute.key == name)?.value.clone()?.value
}

#[test]
fn a_request_and_the_steps_of_the_job_that_it_submits_are_one_trace() {
    let (collector, spans) = collector();
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "cpu", "--otlp-endpoint", &collector]);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(4);
    let job = server.post_bytes("/v1/jobs", spec.to_string().as_bytes(), &[("traceparent", &parent)]);
    assert_eq!(job.status, 201, "{}", job.json());
    let job = job.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.wait(&job)["status"], "succeeded");
    let of_trace = |name: &str| -> Vec<Span> {
        let spans = spans.lock().unwrap();
        let of_trace = spans.iter().filter(|span| span.trace_id == hex(trace) && span.name == name);
        of_trace.cloned().collect()
    };
    let begun = Instant::now();
    // Spans go every few seconds.
    while of_trace("attempt").is_empty() || of_trace("POST").is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{:?}", spans.lock().unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    let request = of_trace("POST").remove(0);
    assert_eq!(request.parent_span_id, hex("b7ad6b7169203331"));
    assert_eq!(attribute(&request, "url.path"), Some(Attribute::StringValue(String::from("/v1/jobs"))));
    assert_eq!(attribute(&request, "http.response.status_code"), Some(Attribute::IntValue(201)));
    let attempt = of_trace("attempt").remove(0);
    assert_eq!(attempt.parent_span_id, request.span_id);
    assert_eq!(attribute(&attempt, "anneal.job"), Some(Attribute::StringValue(job)));
    let training = of_trace("training");
    assert!(!training.is_empty() && training.iter().all(|phase| phase.parent_span_id == attempt.span_id));
    let steps = of_trace("step");
    let mut numbers: Vec<_> = steps.iter().filter_map(|step| attribute(step, "anneal.step")).collect();
    numbers.sort_by_key(|number| if let Attribute::IntValue(number) = number { *number } else { 0 });
    assert_eq!(numbers, [1, 2, 3, 4].map(Attribute::IntValue));
    for step in &steps {
        let phase = training.iter().find(|phase| phase.span_id == step.parent_span_id).unwrap();
        assert!(phase.start_time_unix_nano <= step.start_time_unix_nano);
        assert!(step.start_time_unix_nano <= step.end_time_unix_nano);
        assert!(step.end_time_unix_nano <= phase.end_time_unix_nano);
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
