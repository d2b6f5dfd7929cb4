//! The span of a request, which is sent to a collector where one is named (`telemetry`).

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use tower_http::trace::{DefaultOnResponse, OnResponse};
use tracing::Span;
use tracing::field::Empty;

use crate::telemetry;

/// By the names of OpenTelemetry's conventions for HTTP.
pub fn begin(request: &Request<Body>) -> Span {
    let (method, path) = (request.method(), request.uri().path());
    let span = tracing::debug_span!(
        target: telemetry::REQUESTS,
        "request",
        otel.name = %method,
        otel.kind = "server",
        http.request.method = %method,
        url.path = path,
        http.response.status_code = Empty,
    );
    let parent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    telemetry::continue_trace(&span, parent);
    span
}

pub fn end<B>(response: &Response<B>, latency: Duration, span: &Span) {
    span.record("http.response.status_code", i64::from(response.status().as_u16()));
    DefaultOnResponse::new().on_response(response, latency, span);
}
