//! The HTTP client of the suite: raw requests and raw JSON, nothing that knows an implementation.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use reqwest::{Client, Method, header::HeaderMap, redirect};
use serde_json::Value;

use crate::{rule_abort::RuleAbort, wire::pace::Pace, wire::reply::Reply};

/// How long one response may take.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// How much of a response is read.
const MAX_BODY: usize = 8 << 20;
/// The number of failures in a row after which the suite checks that the service is there at all.
const MAX_FAILURES: u32 = 3;
/// So often a request that is answered 429 is sent again.
const MAX_THROTTLED: u32 = 3;

/// The service under test, for all keys.
pub(crate) struct Http {
    client: Client,
    base_url: String,
    /// What is received may be customers' mail: reports show its form and never its words.
    private: bool,
    requests: AtomicU64,
    failures: AtomicU32,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// Returns a client that follows no redirect and repeats nothing.
fn client(base_url: &str) -> Result<Client, String> {
    // A provider that the process has stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .timeout(REQUEST_TIMEOUT);
    let url = reqwest::Url::parse(base_url).map_err(|error| error.to_string())?;
    if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        // A proxy from the environment has no business with this machine.
        client = client.no_proxy();
        if url.scheme() == "http" {
            // Loading the system's certificates takes most of the time that a client takes to be made.
            client = client.tls_certs_only([]);
        }
    }
    client.build().map_err(|error| format!("cannot make an HTTP client: {error}"))
}

/// One request.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Behind the base URL, with its query; or a whole URL.
    pub(crate) path: String,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Returns a POST of JSON.
    pub(crate) fn post(path: impl Into<String>, body: &Value) -> Self {
        Self::raw(path, body.to_string())
    }

    /// Returns a POST of a text that claims to be JSON.
    pub(crate) fn raw(path: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { method: Method::POST, path: path.into(), body: Some(body.into()), headers }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// As a report shows it: no headers, so no key.
    fn described(&self) -> String {
        let body = self.body.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let request = format!("{} {} {body}", self.method, self.path);
        crate::wire::reply::cut(request.trim_end(), 300)
    }
}

impl Http {
    pub(crate) fn new(base_url: &str, private: bool) -> Result<Self, String> {
        Ok(Self {
            client: client(base_url)?,
            base_url: base_url.trim_end_matches('/').to_owned(),
            private,
            requests: AtomicU64::new(0),
            failures: AtomicU32::new(0),
        })
    }

    /// Returns the same client for what is not the service.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the address without the prefix of the REST API.
    pub(crate) fn root(&self) -> &str {
        self.base_url.strip_suffix("/api/v1").unwrap_or(&self.base_url)
    }

    /// Requests to the service so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns one try; the reason when no whole response came.
    pub(crate) async fn once(&self, key: Option<&str>, call: &Call) -> Result<Reply, String> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let whole = call.path.starts_with("http://") || call.path.starts_with("https://");
        let url = if whole { call.path.clone() } else { format!("{}{}", self.base_url, call.path) };
        let mut request = self.client.request(call.method.clone(), url);
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        let mut response = request.send().await.map_err(|error| reason(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY {
                return Err(format!("a response of more than {} MiB", MAX_BODY >> 20));
            }
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        Ok(Reply::new(call.described(), status, headers, text, self.private))
    }
}

/// Returns what went wrong, in words without the address.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no response within {} seconds", REQUEST_TIMEOUT.as_secs());
    }
    if error.is_connect() {
        return "no connection could be made".to_owned();
    }
    "the connection closed before the response was whole".to_owned()
}

/// The last request of a session and its response, as a report shows them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastExchange(Arc<Mutex<Option<(String, String)>>>);

impl LastExchange {
    fn set(&self, request: String, received: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((request, received));
    }

    pub(crate) fn take(&self) -> Option<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The service as one key sees it.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    http: Arc<Http>,
    key: Option<Arc<str>>,
    pace: Arc<Pace>,
    last: LastExchange,
}

impl Api {
    pub(crate) fn new(http: Arc<Http>, key: &str, pace: Arc<Pace>, last: LastExchange) -> Self {
        Self { http, key: Some(key.into()), pace, last }
    }

    /// Returns the same with another key, or none; it counts as the same caller.
    pub(crate) fn with_key(&self, key: Option<&str>) -> Self {
        Self { key: key.map(Arc::from), ..self.clone() }
    }

    pub(crate) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }

    /// Counts a request that was sent before.
    pub(crate) async fn count_one(&self) {
        self.pace.acquire().await.finished();
    }

    pub(crate) async fn reserve(&self, requests: usize) {
        self.pace.reserve(requests).await;
    }

    pub(crate) async fn get(&self, path: impl Into<String>) -> Result<Reply, RuleAbort> {
        self.send(&Call::get(path)).await
    }

    pub(crate) async fn post(&self, path: impl Into<String>, body: &Value) -> Result<Reply, RuleAbort> {
        self.send(&Call::post(path, body)).await
    }

    /// Returns a JSON-RPC request to the MCP server.
    pub(crate) async fn mcp(&self, method: &str, params: Value) -> Result<Reply, RuleAbort> {
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let call = Call::post(format!("{}/mcp", self.http.root()), &body)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18");
        self.send(&call).await
    }

    /// Sends a request within the rate limit; a 429 is waited out.
    pub(crate) async fn send(&self, call: &Call) -> Result<Reply, RuleAbort> {
        let mut throttled = 0;
        loop {
            let permit = self.pace.acquire().await;
            match self.once(call).await {
                Ok(reply) if reply.status == 429 => {
                    permit.throttled(retry_after(&reply.headers));
                    throttled += 1;
                    if throttled > MAX_THROTTLED {
                        return Err(RuleAbort::Gone(
                            "the service answers 429 (rate limit) again and again".into(),
                        ));
                    }
                }
                Ok(reply) => {
                    permit.finished();
                    self.http.failures.store(0, Ordering::Relaxed);
                    return Ok(reply);
                }
                Err(reason) => {
                    permit.finished();
                    return Err(self.failed(call, reason).await);
                }
            }
        }
    }

    /// Sends a request at once, whatever the rate limit, and takes whatever is answered.
    pub(crate) async fn burst(&self, call: &Call) -> Result<Reply, RuleAbort> {
        self.once(call).await.map_err(|reason| no_response(call, &reason))
    }

    async fn once(&self, call: &Call) -> Result<Reply, String> {
        let sent = self.http.once(self.key.as_deref(), call).await;
        let received = sent.as_ref().map_or_else(String::clone, Reply::described);
        self.last.set(call.described(), received);
        sent
    }

    /// Tells an endpoint that fails from a service that is gone.
    async fn failed(&self, call: &Call, reason: String) -> RuleAbort {
        if self.http.failures.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_FAILURES {
            if self.http.once(self.key.as_deref(), &Call::get("/me")).await.is_err() {
                return RuleAbort::Gone(format!("the service has stopped answering ({reason})"));
            }
            self.http.failures.store(0, Ordering::Relaxed);
        }
        no_response(call, &reason)
    }
}

/// A request that got no response says nothing about a rule.
fn no_response(call: &Call, reason: &str) -> RuleAbort {
    RuleAbort::failed(format!("{reason}: {}", call.described()))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(120)))
}
