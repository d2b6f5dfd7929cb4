//! Logs: for people on a terminal, JSON lines otherwise. And traces, from a request to the steps of the job that it submits,
//! in the protocol of OpenTelemetry, where a collector is named.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::{Duration, SystemTime};

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Span;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::job::{EventBody, JobId, NewEvent, Timestamp};

/// What is traced of this program.
const NAME: &str = "anneal";
/// The target of the spans of requests, which are no part of the log.
pub const REQUESTS: &str = "anneal::requests";
/// The field of a request, and of a job, that says of which trace it is (W3C Trace Context).
const PARENT: &str = "traceparent";

/// Sends what is left of traces when it is dropped.
#[derive(Debug)]
pub struct Telemetry(Option<SdkTracerProvider>);

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.as_ref().map(SdkTracerProvider::shutdown) {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }
}

/// Starts logging to standard error, and sending traces to the collector at the address `traces`. Fails on a malformed filter
/// or address.
pub fn start(filter: &str, traces: Option<&str>) -> anyhow::Result<Telemetry> {
    let filter = EnvFilter::try_new(filter)?;
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let logs = if std::io::stderr().is_terminal() {
        logs.with_filter(filter).boxed()
    } else {
        logs.json().flatten_event(true).with_filter(filter).boxed()
    };
    let provider = traces.map(provider).transpose()?;
    let requests = provider.as_ref().map(|provider| {
        let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer(NAME));
        spans.with_filter(Targets::new().with_target(REQUESTS, LevelFilter::DEBUG))
    });
    tracing_subscriber::registry().with(logs).with(requests).init();
    if let Some(provider) = &provider {
        global::set_tracer_provider(provider.clone());
    }
    Ok(Telemetry(provider))
}

fn provider(collector: &str) -> anyhow::Result<SdkTracerProvider> {
    // An error means that there is one already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
    let exporter = SpanExporter::builder().with_http().with_endpoint(address).build()?;
    let version = KeyValue::new("service.version", env!("ANNEAL_BUILD"));
    let resource = Resource::builder().with_service_name(NAME).with_attribute(version).build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

/// Makes the span of a request one of the trace that the request's `traceparent` names.
pub fn continue_trace(span: &Span, parent: Option<&str>) {
    if let Some(parent) = parent
        && let Err(error) = span.set_parent(context(parent))
    {
        tracing::debug!(%error, "a request has a trace of its own");
    }
}

/// What the span that is open is known by elsewhere, if there is a trace.
pub fn current() -> Option<String> {
    let mut fields = HashMap::new();
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut fields);
    fields.remove(PARENT)
}

fn context(parent: &str) -> Context {
    let fields = HashMap::from([(PARENT.to_owned(), parent.to_owned())]);
    TraceContextPropagator::new().extract_with_context(&Context::new(), &fields)
}

/// The spans of an attempt of a job, of its phases and of its steps, which are nothing where nothing is traced.
#[derive(Debug)]
pub struct AttemptTrace {
    attempt: Context,
    phase: Option<Context>,
    /// When what is under way began.
    since: Timestamp,
}

impl AttemptTrace {
    /// Begins them, in the trace of the request that submitted the job.
    pub fn begin(parent: Option<&str>, (job, attempt): (JobId, u32), device: &str, now: Timestamp) -> Self {
        let attributes = vec![
            KeyValue::new("anneal.job", job.to_string()),
            KeyValue::new("anneal.attempt", i64::from(attempt)),
            KeyValue::new("anneal.device", device.to_owned()),
        ];
        let builder = SpanBuilder::from_name("attempt").with_kind(SpanKind::Consumer).with_attributes(attributes);
        let parent = parent.map_or_else(Context::new, context);
        Self { attempt: begin(builder, &parent, now), phase: None, since: now }
    }

    /// Takes note of what the engine reports.
    pub fn note(&mut self, event: &NewEvent, now: Timestamp) {
        match &event.body {
            EventBody::Phase(change) => {
                self.end_phase(now);
                let attributes = vec![KeyValue::new("anneal.step", change.step as i64)];
                let builder = SpanBuilder::from_name(change.phase.as_str()).with_attributes(attributes);
                self.phase = Some(begin(builder, &self.attempt, now));
                self.since = now;
            }
            EventBody::Metrics(step) => {
                let attributes = vec![KeyValue::new("anneal.step", step.step as i64)];
                let builder = SpanBuilder::from_name("step").with_attributes(attributes);
                let within = self.phase.as_ref().unwrap_or(&self.attempt);
                begin(builder, within, self.since).span().end_with_timestamp(time(now));
                self.since = now;
            }
            _ => {}
        }
    }

    fn end_phase(&mut self, now: Timestamp) {
        if let Some(phase) = self.phase.take() {
            phase.span().end_with_timestamp(time(now));
        }
    }

    /// Ends them; `failure` is why the attempt came to nothing.
    pub fn end(&mut self, failure: Option<&str>, now: Timestamp) {
        self.end_phase(now);
        let span = self.attempt.span();
        if let Some(failure) = failure {
            span.set_status(Status::error(failure.to_owned()));
        }
        span.end_with_timestamp(time(now));
    }
}

fn begin(builder: SpanBuilder, within: &Context, now: Timestamp) -> Context {
    let span = global::tracer(NAME).build_with_context(builder.with_start_time(time(now)), within);
    within.with_span(span)
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.0.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_was_written_and_nothing_is_made_of_what_is_none() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = context(parent);
        let mut fields = HashMap::new();
        TraceContextPropagator::new().inject_context(&context, &mut fields);
        assert_eq!(fields[PARENT], parent);
        for wrong in ["", "00-0-0-01", "anneal"] {
            assert!(!super::context(wrong).span().span_context().is_valid(), "{wrong}");
        }
        assert_eq!(current(), None);
    }
}
