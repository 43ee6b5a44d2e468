//! The journal: the last requests to the service, for tests of what a program did.
//!
//! Requests are stored as they came and turned into entries when they are read, since most never are. Headers
//! with credentials are not stored, and anything in the form of a key in a path, query, header or body is
//! redacted.

pub(crate) mod entry;

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, header};
use serde_json::Value;
use shared_inbox::{AgentId, ConversationId, Timestamp};

use self::entry::{JournalEntry, RequestFilter, SortOrder, Transport};
use super::memory::{MemoryLimit, MemoryShare};
use crate::{
    json::{
        read::read_body,
        redact::{redact, redact_json},
    },
    ready::REST_PREFIX,
    world::{Page, PageRange, call_id},
};

/// How many requests are stored; the oldest is dropped first.
const MAX_ENTRIES: usize = 10_000;
/// How many bytes of requests and responses are stored. The oldest responses are dropped first, then the
/// oldest requests.
const MAX_BYTES: usize = 32 << 20;

/// A request as the journal stores it.
#[derive(Clone)]
pub(crate) struct RecordedRequest {
    /// Its order of arrival: requests are recorded when they end, and a slow one ends after later ones.
    pub(crate) number: u64,
    /// Its number in the order of everything that happens in the world, once it is handled.
    pub(crate) order: Option<u64>,
    pub(crate) at: Timestamp,
    pub(crate) transport: Transport,
    pub(crate) method: http::Method,
    /// The path, and the query behind it.
    pub(crate) target: Box<str>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) headers: HeaderLines,
    /// The id of the fault rule that fired for it.
    pub(crate) fault: Option<Box<str>>,
    pub(crate) status: Option<u16>,
    pub(crate) duration: Duration,
    pub(crate) body: Bytes,
}

impl RecordedRequest {
    fn matches(&self, filter: &RequestFilter) -> bool {
        filter.transport.is_none_or(|transport| transport == self.transport)
            && filter.method.as_ref().is_none_or(|method| method.eq_ignore_ascii_case(self.method.as_str()))
            && filter.status.as_ref().is_none_or(|status| status_matches(self.status, status))
            && filter.agent.as_ref().is_none_or(|agent| self.agent.as_ref() == Some(agent))
            && filter.fault.as_ref().is_none_or(|fault| match self.fault.as_deref() {
                Some(met) => fault == "any" || fault == met,
                None => false,
            })
            && filter.q.as_ref().is_none_or(|q| self.contains(q))
    }

    /// Returns whether the request contains a text, ignoring case.
    fn contains(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let has = |part: &str| part.to_lowercase().contains(&text);
        has(&self.target)
            || self.headers.get("traceparent").is_some_and(has)
            || has(&String::from_utf8_lossy(&self.body))
    }

    fn size(&self) -> usize {
        self.target.len() + self.headers.0.len() + self.body.len()
    }

    fn to_entry(&self, response: Option<&RecordedResponse>) -> JournalEntry {
        let request_body = present_body(&self.body);
        let params = (self.transport == Transport::Mcp).then(|| &request_body["params"]);
        let call = params.filter(|_| request_body["method"] == "tools/call");
        let tool = call.and_then(|call| call["name"].as_str()).map(str::to_owned);
        let in_meta = || params.and_then(|params| params["_meta"]["traceparent"].as_str()).map(str::to_owned);
        let traceparent = self.headers.get("traceparent").map(|header| redact(header).into_owned());
        let traceparent = traceparent.or_else(in_meta);
        let (path, query) = split_target(&self.target);
        let id = match call {
            Some(call) => call["arguments"]["id"].as_str(),
            None => match path.strip_prefix(REST_PREFIX) {
                Some("/sandbox/inbound") => request_body["conversationId"].as_str(),
                path => path.and_then(|path| path.split('/').nth(2)),
            },
        };
        JournalEntry {
            id: call_id(self.number),
            number: self.order.unwrap_or_default(),
            at: self.at,
            transport: self.transport,
            method: self.method.to_string(),
            path: redact(path).into_owned(),
            query: redact(query).into_owned(),
            tool,
            agent_id: self.agent.clone(),
            traceparent,
            status: self.status,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            request_headers: present_header_pairs(
                self.headers.iter().map(|(name, value)| (name, value.into())),
            ),
            response_headers: response.map(RecordedResponse::present_headers),
            response_body: response.map_or(Value::Null, |response| present_body(&response.body)),
            conversation_id: id.and_then(|id| ConversationId::parse(id).ok()),
            customer: None,
            subject: None,
            fault_id: self.fault.as_deref().map(str::to_owned),
            request_body,
        }
    }
}

fn status_matches(status: Option<u16>, wanted: &str) -> bool {
    match (status, wanted.strip_suffix("xx")) {
        (None, _) => wanted == "none",
        (Some(status), Some(class)) => (status / 100).to_string() == class,
        (Some(status), None) => status.to_string() == wanted,
    }
}

/// Returns a body as an entry shows it.
fn present_body(body: &[u8]) -> Value {
    match read_body(body) {
        // Redacted after parsing: JSON can escape any letter of a key.
        Ok(json) => redact_json(json),
        Err(_) if body.is_empty() => Value::Null,
        Err(_) => Value::String(redact(&String::from_utf8_lossy(body)).into_owned()),
    }
}

/// Returns headers as an entry shows them, with several of one name joined.
pub(crate) fn present_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let headers =
        headers.iter().map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())));
    present_header_pairs(headers)
}

fn present_header_pairs<'a>(
    headers: impl Iterator<Item = (&'a str, Cow<'a, str>)>,
) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = redact(&value).into_owned();
        shown
            .entry(name.to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert(value);
    }
    shown
}

/// Headers, one line for each, in one allocation: the journal stores thousands of them.
#[derive(Clone, Default)]
pub(crate) struct HeaderLines(Box<str>);

impl HeaderLines {
    /// Records the headers of a request, without those that hold credentials.
    pub(crate) fn of_request(headers: &HeaderMap) -> Self {
        Self::new(headers, |name| {
            ![header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE].contains(name)
        })
    }

    fn new(headers: &HeaderMap, is_kept: impl Fn(&HeaderName) -> bool) -> Self {
        let kept = || headers.iter().filter(|(name, _)| is_kept(name));
        let room: usize = kept().map(|(name, value)| name.as_str().len() + ": \n".len() + value.len()).sum();
        let mut lines = String::with_capacity(room);
        for (name, value) in kept() {
            lines.extend([name.as_str(), ": ", &String::from_utf8_lossy(value.as_bytes()), "\n"]);
        }
        Self(lines.into())
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split_terminator('\n').filter_map(|line| line.split_once(": "))
    }

    fn get(&self, wanted: &str) -> Option<&str> {
        self.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }
}

/// A response as the client received it.
#[derive(Clone)]
pub(crate) struct RecordedResponse {
    headers: HeaderLines,
    /// The length of the whole body.
    length: usize,
    /// What the client received of the body.
    body: Bytes,
}

impl RecordedResponse {
    /// Records a response of which the client receives `received` bytes of the body.
    pub(crate) fn new(response: &http::Response<Bytes>, received: usize) -> Self {
        let body = response.body();
        let headers = HeaderLines::new(response.headers(), |name| *name != header::CONTENT_LENGTH);
        Self { headers, length: body.len(), body: body.slice(..received.min(body.len())) }
    }

    fn present_headers(&self) -> BTreeMap<String, String> {
        let length = (header::CONTENT_LENGTH.as_str(), self.length.to_string().into());
        present_header_pairs(self.headers.iter().map(|(name, value)| (name, value.into())).chain([length]))
    }

    fn size(&self) -> usize {
        self.headers.0.len() + self.body.len()
    }
}

/// Splits a request's target into path and query.
pub(crate) fn split_target(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

/// A request, and its response until that is dropped.
#[derive(Clone)]
pub(crate) struct JournalRecord {
    entry: RecordedRequest,
    response: Option<RecordedResponse>,
}

impl JournalRecord {
    pub(crate) fn to_entry(&self) -> JournalEntry {
        self.entry.to_entry(self.response.as_ref())
    }

    fn size(&self) -> usize {
        self.entry.size() + self.response.as_ref().map_or(0, RecordedResponse::size)
    }
}

/// The journal of one world.
pub(crate) struct Journal {
    entries: VecDeque<Arc<JournalRecord>>,
    share: MemoryShare,
    /// How many of the oldest records have lost their responses.
    forgotten_responses: usize,
    begun: u64,
}

impl Journal {
    pub(crate) fn new(limit: &Arc<MemoryLimit>) -> Self {
        Self { entries: VecDeque::new(), share: MemoryShare::new(limit), forgotten_responses: 0, begun: 0 }
    }

    /// Returns how many bytes the stored requests and responses take.
    pub(crate) fn bytes(&self) -> usize {
        self.share.bytes
    }

    /// Returns the number of a new request.
    pub(crate) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    pub(crate) fn push(&mut self, entry: RecordedRequest, response: Option<RecordedResponse>) {
        let kept = JournalRecord { entry, response };
        let mut bytes = self.bytes() + kept.size();
        self.entries.push_back(Arc::new(kept));
        while bytes > MAX_BYTES && self.forgotten_responses < self.entries.len() {
            // Copied only while somebody reads it.
            let response = Arc::make_mut(&mut self.entries[self.forgotten_responses]).response.take();
            bytes -= response.map_or(0, |response| response.size());
            self.forgotten_responses += 1;
        }
        self.share.resize(bytes);
        while self.entries.len() > MAX_ENTRIES || self.bytes() > MAX_BYTES {
            self.drop_oldest(1);
        }
    }

    /// Drops the older half of the requests; returns whether there was something to drop.
    pub(crate) fn shorten(&mut self) -> bool {
        let half = self.entries.len().div_ceil(2);
        self.drop_oldest(half);
        half > 0
    }

    fn drop_oldest(&mut self, number: usize) {
        let dropped: usize = self.entries.drain(..number).map(|record| record.size()).sum();
        self.share.resize(self.bytes() - dropped);
        self.forgotten_responses = self.forgotten_responses.saturating_sub(number);
    }

    /// Returns all requests, to be read outside the lock.
    pub(crate) fn requests(&self) -> Requests {
        Requests(self.entries.iter().cloned().collect())
    }

    pub(crate) fn find(&self, wanted: &str) -> Option<JournalEntry> {
        let kept = self.entries.iter().find(|kept| call_id(kept.entry.number) == wanted)?;
        Some(kept.to_entry())
    }

    pub(crate) fn clear(&mut self) {
        self.drop_oldest(self.entries.len());
    }
}

/// The requests of a journal at one moment.
pub(crate) struct Requests(Vec<Arc<JournalRecord>>);

impl Requests {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Leaves the requests with the keys of some agents.
    pub(crate) fn retain_agents(&mut self, is_kept: impl Fn(&AgentId) -> bool) {
        self.0.retain(|kept| kept.entry.agent.as_ref().is_some_and(&is_kept));
    }

    /// Returns them in the order of their arrival.
    pub(crate) fn sorted(mut self) -> Vec<Arc<JournalRecord>> {
        self.0.sort_by_key(|kept| kept.entry.number);
        self.0
    }

    /// Returns one page of the requests that match a filter.
    pub(crate) fn browse(mut self, filter: &RequestFilter, part: PageRange) -> Page<JournalEntry> {
        self.0.retain(|kept| kept.entry.matches(filter));
        let mut found = self.sorted();
        if filter.order == Some(SortOrder::Newest) {
            found.reverse();
        }
        let responses = filter.responses != Some(false);
        part.select(&found, |kept| kept.entry.to_entry(kept.response.as_ref().filter(|_| responses)))
    }
}
