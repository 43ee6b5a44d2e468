//! A call to an endpoint that this crate does not know yet.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::options::{call_options, single_call_options};
use crate::client::engine::{Core, HttpResponse, Outgoing, decode, traced};
use crate::client::error::{Error, Result};
use crate::client::policy::{BoxFuture, Options};
use crate::model::{setters, shows};
use crate::operation::Idempotency;

/// A call to any endpoint, made by awaiting it; see [`Client::raw`](crate::Client::raw).
#[must_use = "a call is made by awaiting it"]
pub struct RawRequest {
    core: Arc<Core>,
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    body: Option<Result<Bytes, serde_json::Error>>,
    repeat: Idempotency,
    options: Options,
}

/// The response to a [`RawRequest`], in the 200s.
pub struct RawResponse(HttpResponse);

impl RawRequest {
    pub(crate) fn new(core: &Arc<Core>, method: Method, path: String) -> Self {
        let repeat = if method.is_safe() { Idempotency::Harmless } else { Idempotency::Never };
        let options = core.options.clone();
        Self { core: Arc::clone(core), method, path, query: Vec::new(), body: None, repeat, options }
    }

    /// Adds a query parameter.
    pub fn query(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.query.push((name.into(), value.to_string()));
        self
    }

    setters! {
        /// Sends this as JSON.
        body(body: &impl Serialize) body = Some(serde_json::to_vec(body).map(Bytes::from));
        /// Declares that making this call twice is harmless, so that it may be repeated when the response is
        /// lost.
        repeatable() repeat = Idempotency::Harmless;
    }

    call_options!();
    single_call_options!();
}

impl IntoFuture for RawRequest {
    type Output = Result<RawResponse>;
    type IntoFuture = BoxFuture<'static, Result<RawResponse>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let body = self.body.transpose().map_err(|error| Error::config("body", error))?;
            let out = Outgoing {
                // A path may hold what must not be shown.
                label: format!("{} (raw)", self.method),
                template: "(raw)",
                url: self.core.base.join(&self.path, &self.query)?,
                method: self.method,
                body,
                repeat: self.repeat,
                scope: None,
            };
            let call = self.core.run(&out, &self.options);
            traced(&out.label, |response| ("received", response.attempts), call).await.map(RawResponse)
        })
    }
}

impl RawResponse {
    /// Returns the status, in the 200s.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// Returns the headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// Returns the body as it came.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.body
    }

    /// Returns the body as a type.
    ///
    /// # Errors
    ///
    /// When it is not JSON of that shape; the error says where.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        decode(&self.0)
    }
}

shows! { RawRequest: method; }

impl fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResponse").field("status", &self.0.status).finish_non_exhaustive()
    }
}
