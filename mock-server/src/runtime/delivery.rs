//! Makes webhook attempts over HTTP, outside of every lock.
//!
//! Concurrent attempts are bounded here. An endpoint has at most one attempt under way, which the world
//! ensures. Endpoints whose last attempt timed out share a smaller number of permits of their own, so that
//! dead receivers cannot take the permits of live ones.

use std::{
    error::Error as _,
    io,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use reqwest::{
    Client,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
    redirect,
};
use shared_inbox::Timestamp;
use shared_inbox_webhooks::{SignedHeaders, Signer};
use tokio::sync::Semaphore;

use super::{
    journal::present_headers,
    targets::{Forbidden, Route, WebhookTargets},
};
use crate::{
    faults::{FaultAction, FaultMatch, FaultTiming},
    json::redact::redact,
    world::{
        Attempt, AttemptOutcome, AttemptRequest, ReceiverResponse, SignatureHeaders,
        webhooks::{TimestampSource, USER_AGENT},
    },
};

/// Concurrent attempts.
const MAX_CONCURRENT: usize = 192;
/// Concurrent attempts to endpoints whose last attempt timed out.
const MAX_CONCURRENT_SLOW: usize = 64;
/// How much of a response is read: more than is stored, so that a receiver can finish writing.
const MAX_RESPONSE_READ: usize = 64 * 1024;
/// How much of a response's body is stored.
const MAX_RESPONSE_KEPT: usize = 4 * 1024;

/// Makes the attempts of all worlds of a server. Clones share their limits.
#[derive(Clone)]
pub(crate) struct Deliverer(Arc<Inner>);

struct Inner {
    targets: WebhookTargets,
    response_timeout: Duration,
    local: LazyClient,
    public: LazyClient,
    permits: Semaphore,
    slow: Semaphore,
}

/// A client that is built on first use: reading the machine's certificates takes longer than the server's
/// start.
type LazyClient = OnceLock<Option<Client>>;

redacted_debug!(Deliverer {});

/// The outcome of one request.
pub(crate) struct PostOutcome {
    pub(crate) result: Result<u16, NoResponse>,
    pub(crate) took: Duration,
    /// The headers and the body of the response.
    response: Option<ReceiverResponse>,
}

/// Why there was no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoResponse {
    #[error("no response within {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("not sent: the address {0}")]
    Forbidden(Forbidden),
    #[error("the connection was refused: nothing listens there")]
    Refused,
    #[error("the connection was closed before a response arrived")]
    Closed,
    #[error("the connection broke while the event was being sent")]
    Cut,
    #[error("no secure connection could be made: look at the receiver's certificate")]
    Tls,
    #[error("the receiver could not be reached")]
    Unreachable,
    #[error("the response was not HTTP")]
    NotHttp,
}

impl Deliverer {
    /// Creates a deliverer that sends only to permitted targets and waits this long for each response.
    pub(crate) fn new(targets: WebhookTargets, response_timeout: Duration) -> Self {
        // The HTTP library takes the TLS provider of the process and panics where there is none.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            _ = rustls::crypto::ring::default_provider().install_default();
        }
        Self(Arc::new(Inner {
            targets,
            response_timeout,
            local: OnceLock::new(),
            public: OnceLock::new(),
            permits: Semaphore::new(MAX_CONCURRENT),
            slow: Semaphore::new(MAX_CONCURRENT_SLOW),
        }))
    }

    /// Returns the permitted targets.
    pub(crate) fn targets(&self) -> &WebhookTargets {
        &self.0.targets
    }

    /// Makes an attempt. `at` reads the mock's clock once the attempt has a permit.
    pub(crate) async fn perform(
        &self,
        request: AttemptRequest,
        fault: Option<FaultMatch>,
        at: impl FnOnce() -> Timestamp,
    ) -> AttemptOutcome {
        let places = if request.slow { &self.0.slow } else { &self.0.permits };
        // The semaphore is never closed.
        let _place = places.acquire().await.ok();
        let at = at();
        let stamp = match request.timestamps {
            TimestampSource::Mock => at,
            TimestampSource::Real => Timestamp::now(),
        };
        let headers = Signer::new(request.keys.signing(at)).sign(
            request.event.as_str(),
            u64::try_from(stamp.as_secs()).unwrap_or(0),
            &request.body,
        );
        let fault_id = fault.as_ref().map(|fault| fault.id.clone());
        let PostOutcome { result, took, response } = match fault {
            None => self.post(&request.url, &headers, request.body.clone()).await,
            Some(fault) => self.deliver_with_fault(&request, &headers, fault).await,
        };
        let made = Attempt {
            at,
            status: result.ok(),
            error: result.err().map(|why| why.to_string()),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            fault_id,
            signed: Some(SignatureHeaders { timestamp: headers.timestamp, signature: headers.signature }),
            response: response.map(Arc::new),
            number: request.number,
        };
        AttemptOutcome::new(&request, made, matches!(result, Err(NoResponse::TimedOut(_))))
    }

    /// Makes an attempt with a fault.
    async fn deliver_with_fault(
        &self,
        request: &AttemptRequest,
        headers: &SignedHeaders,
        fault: FaultMatch,
    ) -> PostOutcome {
        let nothing = |result| PostOutcome { result, took: Duration::ZERO, response: None };
        tokio::time::sleep(fault.delay).await;
        match fault.act {
            FaultAction::Drop(FaultTiming::Before) => return nothing(Err(NoResponse::Refused)),
            FaultAction::Status { status, when: FaultTiming::Before } => return nothing(Ok(status)),
            FaultAction::Truncate(bytes) => {
                return self.post_truncated(&request.url, headers, request.body.clone(), bytes).await;
            }
            _ => {}
        }
        let outcome = self.post(&request.url, headers, request.body.clone()).await;
        match fault.act {
            FaultAction::Drop(_) => {
                PostOutcome { result: outcome.result.and(Err(NoResponse::Closed)), response: None, ..outcome }
            }
            FaultAction::Status { status, .. } => {
                PostOutcome { result: outcome.result.and(Ok(status)), response: None, ..outcome }
            }
            FaultAction::Twice => {
                self.post(&request.url, headers, request.body.clone()).await;
                outcome
            }
            _ => outcome,
        }
    }

    /// Posts only the first bytes of a body and then closes the connection.
    async fn post_truncated(
        &self,
        url: &str,
        headers: &SignedHeaders,
        body: Bytes,
        bytes: usize,
    ) -> PostOutcome {
        let started = Instant::now();
        let exchange = async {
            let length = body.len();
            let start = body.slice(..bytes.min(length.saturating_sub(1)));
            let gone = Err(io::Error::from(io::ErrorKind::ConnectionAborted));
            let parts = StreamBody::new(futures_util::stream::iter([Ok(Frame::data(start)), gone]));
            let request = self.request(url, headers).await?;
            let request = request.header(CONTENT_LENGTH, length).body(reqwest::Body::wrap(parts));
            // The response to half a body is not read.
            let _ = request.send().await;
            Err(NoResponse::Cut)
        };
        let result =
            tokio::time::timeout(self.0.response_timeout, exchange).await.unwrap_or(Err(NoResponse::Cut));
        PostOutcome { result, took: started.elapsed(), response: None }
    }

    /// Posts a body with these headers, for at most the response timeout.
    pub(crate) async fn post(&self, url: &str, headers: &SignedHeaders, body: Bytes) -> PostOutcome {
        let started = Instant::now();
        let within = self.0.response_timeout;
        let exchanged = tokio::time::timeout(within, self.exchange(url, headers, body)).await;
        let (result, response) = match exchanged.unwrap_or(Err(NoResponse::TimedOut(within))) {
            Ok((status, response)) => (Ok(status), Some(response)),
            Err(why) => (Err(why), None),
        };
        PostOutcome { result, took: started.elapsed(), response }
    }

    /// Builds a request to a permitted target, with its headers.
    async fn request(
        &self,
        url: &str,
        headers: &SignedHeaders,
    ) -> Result<reqwest::RequestBuilder, NoResponse> {
        let route = self.0.targets.route(url).await.map_err(NoResponse::Forbidden)?;
        let client = self.0.client(route).ok_or(NoResponse::Tls)?;
        let mut request = client.post(url).header(CONTENT_TYPE, "application/json");
        for (name, value) in headers.pairs() {
            // An empty value leaves the header out, for a receiver check.
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        Ok(request)
    }

    async fn exchange(
        &self,
        url: &str,
        headers: &SignedHeaders,
        body: Bytes,
    ) -> Result<(u16, ReceiverResponse), NoResponse> {
        let mut response = self
            .request(url, headers)
            .await?
            .body(body)
            .send()
            .await
            .map_err(|error| classify_error(&error))?;
        let (mut read, mut kept) = (0, Vec::new());
        while let Ok(Some(chunk)) = response.chunk().await {
            kept.extend_from_slice(&chunk[..chunk.len().min(MAX_RESPONSE_KEPT - kept.len())]);
            read += chunk.len();
            if read > MAX_RESPONSE_READ {
                break;
            }
        }
        let body = redact(&String::from_utf8_lossy(&kept)).into_owned();
        let headers = present_headers(response.headers());
        Ok((response.status().as_u16(), ReceiverResponse { headers, body, cut: read > kept.len() }))
    }
}

impl Inner {
    fn client(&self, route: Route) -> Option<&Client> {
        let lazy = match route {
            Route::Local => &self.local,
            Route::Public => &self.public,
        };
        lazy.get_or_init(|| self.build(route)).as_ref()
    }

    fn build(&self, route: Route) -> Option<Client> {
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            // A proxy would resolve the name itself.
            .no_proxy()
            .dns_resolver(self.targets.resolver(route))
            // Each send connects anew: a pooled connection would use an address that was checked for an
            // earlier send.
            .pool_max_idle_per_host(0);
        match route {
            // A receiver on this machine may have a self-signed certificate, and nothing leaves the machine.
            Route::Local => builder.tls_danger_accept_invalid_certs(true),
            Route::Public => builder,
        }
        .build()
        .ok()
    }
}

/// Classifies an error by its root cause. Its text is not used: it may name the address.
fn classify_error(error: &reqwest::Error) -> NoResponse {
    let mut at: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(cause) = at {
        if let Some(forbidden) = cause.downcast_ref::<Forbidden>() {
            return NoResponse::Forbidden(*forbidden);
        }
        if let Some(mut io) = cause.downcast_ref::<io::Error>() {
            // TLS errors are wrapped in nested I/O errors.
            while let Some(inner) = io.get_ref().and_then(|inner| inner.downcast_ref()) {
                io = inner;
            }
            match io.kind() {
                io::ErrorKind::ConnectionRefused => return NoResponse::Refused,
                io::ErrorKind::InvalidData if error.is_connect() => return NoResponse::Tls,
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionAborted => return NoResponse::Closed,
                _ => {}
            }
        }
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
            if hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_body_write_aborted() {
                return NoResponse::Closed;
            }
            if hyper.is_parse() {
                return NoResponse::NotHttp;
            }
        }
        at = cause.source();
    }
    NoResponse::Unreachable
}
