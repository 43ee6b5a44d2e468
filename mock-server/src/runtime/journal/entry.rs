//! Requests as the journal shows them, and which of them to list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared_inbox::{AgentId, ConversationId, Timestamp};

use crate::world::{Refusal, Result};

/// How a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[derive(Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JournalEntry {
    /// Its id, such as `call_17`.
    pub id: String,
    /// Its number in the order of everything that happened in the world, as
    /// [`TraceStep`](crate::journal::TraceStep) has one: drawn when it was handled, or when it ended without
    /// that. Not part of the JSON.
    #[serde(skip)]
    pub number: u64,
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
    /// The agent of its key; `None` without a valid key.
    pub agent_id: Option<AgentId>,
    /// The trace that it is a part of (W3C `traceparent`): its header, or what an MCP call says in `_meta`.
    pub traceparent: Option<String>,
    /// The status of the response; `None` when the connection closed without one.
    pub status: Option<u16>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The headers as they came, with names in lower case; without `authorization` and cookies.
    pub request_headers: BTreeMap<String, String>,
    /// The body: JSON as such, anything else as text, null when there was none.
    pub request_body: Value,
    /// The headers of the response; `None` when there was no response, or when it is no longer kept.
    pub response_headers: Option<BTreeMap<String, String>>,
    /// The body of the response as the client received it: JSON as such, anything else as text, null when
    /// there was none or when it is no longer kept.
    pub response_body: Value,
    /// The conversation that the path names, or the `id` of a tool's arguments, or the mail to the sandbox.
    pub conversation_id: Option<ConversationId>,
    /// The name or the address of the customer in that conversation; `None` when it does not exist.
    pub customer: Option<String>,
    /// The subject of that conversation; `None` when it does not exist.
    pub subject: Option<String>,
    /// The fault rule that fired for it, the last one if there were several.
    pub fault_id: Option<String>,
}

redacted_debug!(JournalEntry { at, method, path, tool, agent_id, traceparent, status, fault_id });

/// Which requests to list.
///
/// ```
/// use shared_inbox_mock::{journal::{RequestFilter, Transport}};
/// let filter = RequestFilter::default().transport(Transport::Mcp).status("4xx");
/// assert_eq!(filter.status.as_deref(), Some("4xx"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RequestFilter {
    /// Those that came in this way.
    pub transport: Option<Transport>,
    /// Those with this method.
    pub method: Option<String>,
    /// Those with this status, a class such as `4xx`, or `none` for no response.
    pub status: Option<String>,
    /// Those with this text in the path, the query, the body or the `traceparent`.
    pub q: Option<String>,
    /// Those with the key of this agent.
    pub agent: Option<AgentId>,
    /// Those with a live key, or those with a test key.
    pub livemode: Option<bool>,
    /// Those that met a fault: the id of its rule, or `any`.
    pub fault: Option<String>,
    /// The order; oldest first by default.
    pub order: Option<SortOrder>,
    /// `false` leaves out the headers and bodies of responses, which can be long.
    pub responses: Option<bool>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SortOrder {
    /// The oldest first.
    Oldest,
    /// The newest first.
    Newest,
}

redacted_debug!(RequestFilter { transport, method, status, agent, livemode, fault });

impl RequestFilter {
    setters! {
        /// Keeps those that came in this way.
        transport(transport: Transport) => transport = Some(transport);
        /// Keeps those with this method.
        method(method: impl Into<String>) => method = Some(method.into());
        /// Keeps those with this status, a class such as `4xx`, or `none` for no response.
        status(status: impl Into<String>) => status = Some(status.into());
        /// Keeps those with this text in the path, the query, the body or the `traceparent`.
        text(q: impl Into<String>) => q = Some(q.into());
        /// Keeps those with the key of this agent.
        agent(agent: AgentId) => agent = Some(agent);
        /// Keeps those with a live key, or those with a test key.
        livemode(livemode: bool) => livemode = Some(livemode);
        /// Keeps those that met the fault rule with this id, or `any`.
        fault(fault: impl Into<String>) => fault = Some(fault.into());
        /// Lists the newest first.
        newest() => order = Some(SortOrder::Newest);
        /// Leaves out the headers and bodies of responses.
        without_responses() => responses = Some(false);
    }

    pub(crate) fn check(&self) -> Result<()> {
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
