//! What goes out and what comes back.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;
use serde_json::Value;

use crate::{Idempotency, Scope};

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
    /// Every text that leaves with it, as it was meant and as it is written, for an error that must not quote any.
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

/// An response in the 200s.
pub(crate) struct HttpResponse {
    /// Whether it was asked for by a read.
    pub(crate) read: bool,
    /// How many requests it took.
    pub(crate) attempts: u32,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}
