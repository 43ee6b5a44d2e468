//! A request that is ready to be sent, and its response.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;
use serde_json::Value;

use crate::{Scope, operation::Idempotency};

/// A request that is ready to be sent, any number of times.
pub(crate) struct Outgoing {
    /// Method and path template: what errors and spans show. Never a real path or query.
    pub(crate) label: String,
    pub(crate) template: &'static str,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Bytes>,
    pub(crate) repeat: Idempotency,
    /// The scope that the call needs, as far as is known.
    pub(crate) scope: Option<Scope>,
}

impl Outgoing {
    /// Returns every text in it, plain and encoded, so that an error can redact them.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.url.query_pairs().map(|(_, value)| value.into_owned()).collect();
        texts.extend(self.url.query().map(str::to_owned));
        let body = self.body.as_deref();
        texts.extend(body.map(|body| String::from_utf8_lossy(body).into_owned()));
        let body = body.and_then(|body| serde_json::from_slice(body).ok());
        let mut values: Vec<Value> = body.into_iter().collect();
        while let Some(value) = values.pop() {
            match value {
                Value::String(text) => texts.push(text),
                Value::Array(items) => values.extend(items),
                Value::Object(fields) => values.extend(fields.into_iter().map(|(_, value)| value)),
                _ => {}
            }
        }
        texts
    }
}

/// A response in the 200s.
pub(crate) struct HttpResponse {
    /// Whether the request was a read.
    pub(crate) read: bool,
    /// How many requests were sent.
    pub(crate) attempts: u32,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}
