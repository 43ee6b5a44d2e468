//! What was asked of the service: the last requests, so that a test can look at what a program did.
//!
//! Entries are kept as they came and made presentable when someone looks, since most are never looked at. Keys are
//! not kept in the first place (the header is not), and what looks like one in a path, query or body is blotted out.

use std::{borrow::Cow, collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared_inbox::{AgentId, Timestamp};

use super::numbers;
use crate::world::{Page, Part, Refusal, call_id, empty_as_none};

/// Entries kept; the oldest goes first.
const MAX_ENTRIES: usize = 10_000;
/// Bytes of requests kept, paths and bodies all together.
const MAX_BYTES: usize = 32 << 20;

/// How a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Transport {
    /// The REST API.
    Rest,
    /// The MCP endpoint.
    Mcp,
}

/// A request of the journal.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mock = shared_inbox_mock::MockServer::start().await;
/// mock.client().me().await?;
/// let request = &mock.control().requests().await[0];
/// assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/api/v1/me"));
/// assert_eq!(request.status, Some(200));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JournalEntry {
    /// Its id, such as `call_17`.
    pub id: String,
    /// When it came in, by the world's clock.
    pub at: Timestamp,
    /// How it came in.
    pub transport: Transport,
    /// The HTTP method.
    pub method: String,
    /// The whole path.
    pub path: String,
    /// The query behind `?`, as it came; empty when there was none.
    pub query: String,
    /// The MCP tool that was called, if one was.
    pub tool: Option<String>,
    /// Whose key it was; `None` when it had no valid key.
    pub agent_id: Option<AgentId>,
    /// The trace that it is a part of (W3C `traceparent`): its header, or what an MCP call says in `_meta`.
    pub traceparent: Option<String>,
    /// The status of the answer; `None` when the connection closed without one.
    pub status: Option<u16>,
    /// How long it took.
    pub duration_ms: u64,
    /// The body: JSON as such, anything else as text, null when there was none.
    pub request_body: Value,
}

impl std::fmt::Debug for JournalEntry {
    /// Without the query and the body: they hold a mail's words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournalEntry")
            .field("at", &self.at)
            .field("method", &self.method)
            .field("path", &self.path)
            .field("tool", &self.tool)
            .field("agent_id", &self.agent_id)
            .field("traceparent", &self.traceparent)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Which requests to list.
///
/// ```
/// use shared_inbox_mock::{RequestFilter, Transport};
/// let filter = RequestFilter::default().transport(Transport::Mcp).status("4xx");
/// assert_eq!(filter.status.as_deref(), Some("4xx"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RequestFilter {
    /// Those that came in this way.
    #[serde(default, deserialize_with = "empty_as_none", skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Those with this method.
    #[serde(default, deserialize_with = "empty_as_none", skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Those answered so: a status, a class such as `4xx`, or `none` for no answer.
    #[serde(default, deserialize_with = "empty_as_none", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Those with this text in the path, the query, the body or the `traceparent`.
    #[serde(default, deserialize_with = "empty_as_none", skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Oldest first unless said.
    #[serde(default, deserialize_with = "empty_as_none", skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
}

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Order {
    /// The oldest first.
    Oldest,
    /// The newest first.
    Newest,
}

impl std::fmt::Debug for RequestFilter {
    /// Without the text, which may be a mail's.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestFilter")
            .field("transport", &self.transport)
            .field("method", &self.method)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl RequestFilter {
    /// Those that came in this way.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Those with this method.
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Those answered so: a status, a class such as `4xx`, or `none` for no answer.
    pub fn status(mut self, status: impl Into<String>) -> Self {
        self.status = Some(status.into());
        self
    }

    /// Those with this text in the path, the query, the body or the `traceparent`.
    pub fn text(mut self, q: impl Into<String>) -> Self {
        self.q = Some(q.into());
        self
    }

    /// The newest first.
    pub fn newest(mut self) -> Self {
        self.order = Some(Order::Newest);
        self
    }

    fn fits(&self, entry: &Entry) -> bool {
        self.transport.is_none_or(|transport| transport == entry.transport)
            && self.method.as_ref().is_none_or(|method| method.eq_ignore_ascii_case(entry.method.as_str()))
            && self.status.as_ref().is_none_or(|status| answered(entry.status, status))
            && self.q.as_ref().is_none_or(|q| entry.has(q))
    }

    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let good = |status: &String| {
            let status = status.as_bytes();
            status == b"none"
                || (status.len() == 3
                    && (b'1'..=b'5').contains(&status[0])
                    && (&status[1..] == b"xx" || status[1..].iter().all(u8::is_ascii_digit)))
        };
        match &self.status {
            Some(status) if !good(status) => {
                Err(Refusal::field("status", "must be a status, a class such as `4xx`, or `none`"))
            }
            _ => Ok(()),
        }
    }
}

fn answered(status: Option<u16>, wanted: &str) -> bool {
    match (status, wanted.strip_suffix("xx")) {
        (None, _) => wanted == "none",
        (Some(status), Some(class)) => (status / 100).to_string() == class,
        (Some(status), None) => status.to_string() == wanted,
    }
}

/// A request as it is kept.
pub(crate) struct Entry {
    /// Its place: requests are entered when they end, and a slow one ends after those that came later.
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    pub(crate) transport: Transport,
    pub(crate) method: http::Method,
    /// The path, and the query behind it.
    pub(crate) target: Box<str>,
    pub(crate) agent: Option<AgentId>,
    /// The header of this name.
    pub(crate) traceparent: Option<Box<str>>,
    pub(crate) status: Option<u16>,
    pub(crate) duration: Duration,
    pub(crate) body: Bytes,
}

impl Entry {
    /// Whether a text is in it, whatever its case.
    fn has(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let has = |part: &str| part.to_lowercase().contains(&text);
        has(&self.target)
            || self.traceparent.as_deref().is_some_and(has)
            || has(&String::from_utf8_lossy(&self.body))
    }

    fn size(&self) -> usize {
        self.target.len() + self.body.len()
    }

    fn present(&self) -> JournalEntry {
        let request_body = match numbers::read(&self.body) {
            // Only now: JSON can write any letter of a key in another way.
            Ok(json) => blotted(json),
            Err(_) if self.body.is_empty() => Value::Null,
            Err(_) => blotted(Value::String(String::from_utf8_lossy(&self.body).into_owned())),
        };
        let tool = match self.transport {
            Transport::Mcp if request_body["method"] == "tools/call" => {
                request_body["params"]["name"].as_str().map(str::to_owned)
            }
            _ => None,
        };
        let in_meta = || match self.transport {
            Transport::Mcp => request_body["params"]["_meta"]["traceparent"].as_str().map(str::to_owned),
            Transport::Rest => None,
        };
        let traceparent = self.traceparent.as_deref().map(|header| without_keys(header).into_owned());
        let traceparent = traceparent.or_else(in_meta);
        let (path, query) = parted(&self.target);
        JournalEntry {
            id: call_id(self.number),
            at: self.at,
            transport: self.transport,
            method: self.method.to_string(),
            path: without_keys(path).into_owned(),
            query: without_keys(query).into_owned(),
            tool,
            agent_id: self.agent.clone(),
            traceparent,
            status: self.status,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            request_body,
        }
    }
}

/// The path of a request's target, and its query.
pub(crate) fn parted(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

/// The last requests of one world.
#[derive(Default)]
pub(crate) struct Journal {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    begun: u64,
}

impl Journal {
    /// The number of a request that has just come in.
    pub(crate) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.bytes += entry.size();
        self.entries.push_back(Arc::new(entry));
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.size();
        }
    }

    /// All of them, to be looked at without keeping others waiting.
    pub(crate) fn requests(&self) -> Requests {
        Requests(self.entries.iter().cloned().collect())
    }

    pub(crate) fn find(&self, wanted: &str) -> Option<JournalEntry> {
        let entry = self.entries.iter().find(|entry| call_id(entry.number) == wanted)?;
        Some(entry.present())
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { begun: self.begun, ..Self::default() };
    }
}

/// The requests that a journal had at some time.
pub(crate) struct Requests(Vec<Arc<Entry>>);

impl Requests {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A part of those that a filter lets through.
    pub(crate) fn browse(mut self, filter: &RequestFilter, part: Part) -> Page<JournalEntry> {
        self.0.retain(|entry| filter.fits(entry));
        self.0.sort_by_key(|entry| entry.number);
        if filter.order == Some(Order::Newest) {
            self.0.reverse();
        }
        part.of(&self.0, |entry| entry.present())
    }
}

/// The same JSON with every key in it blotted out.
fn blotted(json: Value) -> Value {
    match json {
        Value::String(text) => without_keys(&text).into_owned().into(),
        Value::Array(items) => items.into_iter().map(blotted).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (without_keys(&name).into_owned(), blotted(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

/// Blots out everything that has the form of a key.
pub(crate) fn without_keys(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("rk_") {
        let tail = &rest[start + 3..];
        let end = tail.bytes().position(|b| !b.is_ascii_alphanumeric() && b != b'_').unwrap_or(tail.len());
        out.push_str(&rest[..start]);
        out.push_str(if end >= 40 { "rk_(key)" } else { &rest[start..start + 3 + end] });
        rest = &tail[end..];
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_key_is_blotted_out() {
        let key = format!("rk_live_{}", "a1B2".repeat(12));
        let text = format!("{{\"body\":\"use {key} or rk_short, {key}\"}}");
        assert_eq!(without_keys(&text), "{\"body\":\"use rk_(key) or rk_short, rk_(key)\"}");
        assert_eq!(without_keys("nothing here"), "nothing here");
    }

    #[test]
    fn the_journal_is_bounded_in_entries_and_in_bytes() {
        let entry = |body: Bytes| Entry {
            number: 0,
            at: Timestamp::from_millis(0),
            transport: Transport::Rest,
            method: http::Method::GET,
            target: "/api/v1/me".into(),
            agent: None,
            traceparent: None,
            status: Some(200),
            duration: Duration::ZERO,
            body,
        };
        let mut journal = Journal::default();
        (0..MAX_ENTRIES + 5).for_each(|_| journal.push(entry(Bytes::new())));
        assert_eq!(journal.entries.len(), MAX_ENTRIES);
        let large = Bytes::from(vec![b'x'; MAX_BYTES / 4]);
        (0..9).for_each(|_| journal.push(entry(large.clone())));
        assert_eq!(journal.entries.len(), 3, "with their paths, four of these would be too much");
        assert!(journal.bytes <= MAX_BYTES);
    }
}
