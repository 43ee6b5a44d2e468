//! Sends one request over reqwest. Classifies each failure by where it happened, since that decides what may
//! be done next; reads no more of a response than its limit allows.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use reqwest::Response;
use tracing::Instrument;

use super::core::Core;
use super::telemetry;
use super::wire::{HttpResponse, Outgoing};
use crate::client::error::{Cause, Certainty, Error, ErrorResponse, Result};
use crate::client::policy::BoxFuture;

/// The most bytes of an error body that are read: the service's are one sentence.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The most bytes that are reserved for a body before it arrives.
const MAX_CAPACITY_BYTES: usize = 32 * 1024 * 1024;

impl Core {
    /// Sends once. `resend` counts the sends before this one.
    ///
    /// Boxed, so that it is compiled here, and not again in every program that makes a call.
    pub(super) fn attempt<'a>(
        &'a self,
        out: &'a Outgoing,
        extra: &'a HeaderMap,
        timeout: Duration,
        resend: u32,
    ) -> BoxFuture<'a, Result<HttpResponse>> {
        let span = telemetry::attempt_span(out, self.base.host(), self.base.port(), resend);
        let attempt = async move {
            let mut result = self.exchange(out, extra, timeout).await;
            if out.method.is_safe() {
                result = result.map_err(Error::without_effect);
            }
            telemetry::attempted(out, resend, &result);
            result
        };
        Box::pin(attempt.instrument(span))
    }

    async fn exchange(&self, out: &Outgoing, extra: &HeaderMap, timeout: Duration) -> Result<HttpResponse> {
        let mut request = self
            .http
            .request(out.method.clone(), out.url.clone())
            .timeout(timeout)
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::USER_AGENT, self.user_agent.clone())
            .header(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(body) = &out.body {
            request = request
                .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(body.clone());
        }
        if !extra.is_empty() {
            request = request.headers(extra.clone());
        }
        let sent = self.clock.now();
        let mut response = request.send().await.map_err(|error| self.broken(error))?;
        self.contact.reached();
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        self.service_clock.observe(&headers, sent, self.clock.now());
        if status.is_success() && *response.url() == out.url {
            let body = read(&mut response, self.max_body).await.map_err(|error| self.broken(error))?;
            let read = out.method.is_safe();
            return match body {
                Body::Whole(body) => Ok(HttpResponse { read, attempts: 1, status, headers, body }),
                Body::Cut(start) => {
                    let answer = ErrorResponse::unexpected(status, headers, &start);
                    Err(Error::new(
                        Cause::TooLarge { response: answer, limit: self.max_body },
                        Certainty::Unknown,
                    ))
                }
            };
        }
        // The status is known; if the rest of the response is lost, that changes nothing.
        let body = match read(&mut response, MAX_ERROR_BODY_BYTES).await {
            Ok(Body::Whole(body) | Body::Cut(body)) => body,
            Err(_) => Bytes::new(),
        };
        if status.is_success() || status.is_redirection() {
            let answer = ErrorResponse::unexpected(status, headers, &body);
            return Err(Error::new(Cause::Redirected(answer), Certainty::Unknown));
        }
        let certainty = if status.is_client_error() && status != StatusCode::REQUEST_TIMEOUT {
            Certainty::Rejected
        } else {
            Certainty::Unknown
        };
        let mut sent = out.texts();
        let own = extra.values().chain([&self.authorization]);
        sent.extend(own.filter_map(|value| value.to_str().ok()).map(str::to_owned));
        let answer = ErrorResponse::refusal(status, headers, &body, out.scope.as_ref(), &sent);
        Err(Error::new(Cause::Status(answer), certainty))
    }

    /// Classifies a transport error. A failed connection may also be a timeout, so that is checked first.
    fn broken(&self, error: reqwest::Error) -> Error {
        let (host, port) = (self.base.host(), self.base.port());
        let (error, address) = (error.without_url(), format!("{host}:{port}"));
        if error.is_connect() || error.is_builder() {
            if self.contact.is_first_failure() {
                tracing::warn!(server.address = host, server.port = port, "cannot connect to the service");
            }
            Error::new(Cause::Connect(error, address), Certainty::NotSent)
        } else if error.is_timeout() {
            Error::new(Cause::Timeout(error, address), Certainty::Unknown)
        } else {
            Error::new(Cause::Dropped(error, address), Certainty::Unknown)
        }
    }
}

enum Body {
    Whole(Bytes),
    Cut(Bytes),
}

async fn read(response: &mut Response, limit: usize) -> Result<Body, reqwest::Error> {
    // The announced length is only a hint, and nothing to take much memory for.
    let hint = response.content_length().and_then(|length| usize::try_from(length).ok());
    let mut body = BytesMut::with_capacity(hint.unwrap_or_default().min(limit).min(MAX_CAPACITY_BYTES));
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok(Body::Cut(body.freeze()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Body::Whole(body.freeze()))
}
