//! What goes out and what comes back.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;

use crate::{Repeat, Scope};

/// A request that is ready to be sent, any number of times.
pub(crate) struct Outgoing {
    /// Method and path template: what errors and spans show. Never a real path or query.
    pub(crate) label: String,
    pub(crate) template: &'static str,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Bytes>,
    pub(crate) repeat: Repeat,
    /// The scope that the call needs, as far as is known.
    pub(crate) scope: Option<Scope>,
}

/// An answer in the 200s.
pub(crate) struct Answer {
    /// How many requests it took.
    pub(crate) attempts: u32,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}
