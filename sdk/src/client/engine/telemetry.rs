//! What a program can observe of its calls: a span for each call and each attempt, an event for a long wait,
//! and counters (feature `metrics`). Named by the OpenTelemetry conventions where these have a name. Nothing
//! here shows a key, an address, an id or a text.

use std::future::Future;
use std::time::Duration;

use http::StatusCode;
use tracing::{Instrument, Span, field::Empty};

use super::wire::{HttpResponse, Outgoing};
use crate::client::error::{Certainty, Error, Result};
use crate::client::policy::Priority;

/// A shorter wait for the rate limit is nothing to report.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// Runs a call in a span of its own, and records there how it ended. `describe` returns the outcome and the
/// attempts of a success.
pub(crate) async fn traced<T>(
    label: &str,
    describe: impl FnOnce(&T) -> (&'static str, u32),
    call: impl Future<Output = Result<T>>,
) -> Result<T> {
    let span = tracing::info_span!(
        "shared_inbox.call",
        otel.name = %label,
        otel.kind = "internal",
        otel.status_code = Empty,
        error.type = Empty,
        shared_inbox.outcome = Empty,
        shared_inbox.attempts = Empty,
        shared_inbox.rate_limit.wait_ms = Empty,
    );
    let result = call.instrument(span.clone()).await;
    let (outcome, attempts) = result.as_ref().map_or_else(failure, describe);
    span.record("shared_inbox.outcome", outcome).record("shared_inbox.attempts", attempts);
    if let Err(error) = &result {
        span.record("otel.status_code", "ERROR").record("error.type", &*error.error_type());
    }
    result
}

/// Counts a create by its outcome.
pub(crate) fn count_create<T>(result: &Result<T>, describe: impl FnOnce(&T) -> (&'static str, u32)) {
    let (outcome, _) = result.as_ref().map_or_else(failure, describe);
    count("shared_inbox.creates", 1, || [("shared_inbox.outcome", outcome.to_owned())]);
}

/// Returns what is known of the effect of a failed call, and its attempts.
fn failure(error: &Error) -> (&'static str, u32) {
    let outcome = match error.certainty() {
        Certainty::NotSent => "not_sent",
        Certainty::Rejected => "rejected",
        Certainty::NoEffect => "no_effect",
        Certainty::Unknown => "unknown",
    };
    (outcome, error.attempts())
}

/// Records a wait for the rate limit; `total` is that of the whole call so far.
pub(super) fn waited(wait: Duration, total: Duration, priority: Priority) {
    let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    if millis(wait) == 0 {
        return;
    }
    Span::current().record("shared_inbox.rate_limit.wait_ms", millis(total));
    count("shared_inbox.rate_limit.wait_ms", millis(wait), || []);
    if wait >= LONG_WAIT {
        count("shared_inbox.rate_limit.long_waits", 1, || []);
        tracing::info!(wait_ms = millis(wait), ?priority, "a request has waited for the rate limit");
    }
}

/// Opens the span of an attempt. The template stands in for the path: a real one holds ids, a query the words
/// of a search.
pub(super) fn attempt_span(out: &Outgoing, host: &str, port: u16, resend: u32) -> Span {
    tracing::info_span!(
        "http.client.request",
        otel.name = %out.label,
        otel.kind = "client",
        http.request.method = %out.method,
        url.template = out.template,
        server.address = host,
        server.port = port,
        http.request.resend_count = (resend > 0).then_some(resend),
        http.response.status_code = Empty,
        error.type = Empty,
    )
}

/// Records how an attempt ended, on its span and in the counters. `resend` counts the attempts before it.
pub(super) fn attempted(out: &Outgoing, resend: u32, result: &Result<HttpResponse>) {
    let span = Span::current();
    let status = result.as_ref().map_or_else(Error::status, |response| Some(response.status));
    let error = result.as_ref().err().map(Error::error_type);
    if let Some(status) = status {
        span.record("http.response.status_code", status.as_u16());
    }
    if let Some(error) = &error {
        span.record("error.type", &**error);
    }
    let operation =
        || [("http.request.method", out.method.to_string()), ("url.template", out.template.to_owned())];
    count("shared_inbox.requests", 1, || {
        let [method, template] = operation();
        let status = status.map(|status| status.as_u16().to_string()).unwrap_or_default();
        let error = error.unwrap_or_default().into_owned();
        [method, template, ("http.response.status_code", status), ("error.type", error)]
    });
    if resend > 0 {
        count("shared_inbox.retries", 1, operation);
    }
    if status == Some(StatusCode::TOO_MANY_REQUESTS) {
        count("shared_inbox.rate_limit.throttled", 1, operation);
    }
}

/// Adds to a counter; labels without a value are left out.
#[cfg_attr(not(feature = "metrics"), expect(unused_variables, reason = "nothing counts"))]
fn count<const N: usize>(name: &'static str, by: u64, labels: impl FnOnce() -> [(&'static str, String); N]) {
    #[cfg(feature = "metrics")]
    {
        let labels: Vec<_> = labels().into_iter().filter(|(_, value)| !value.is_empty()).collect();
        metrics::counter!(name, &labels).increment(by);
    }
}
