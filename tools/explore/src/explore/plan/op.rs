//! Where steps are: a request of the app by its operation, a delivery of a webhook by its event.

use std::fmt;

use serde_json::{Value, json};
use shared_inbox::__spec::{Method, Operation};
use shared_inbox_webhooks::EventKind;

/// Which request of the app: an operation, by REST or MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Op {
    pub(crate) operation: Operation,
    pub(crate) mcp: bool,
}

impl Op {
    /// Returns the operation behind a request of the journal.
    pub(crate) fn from_request(method: &str, path: &str, tool: Option<&str>) -> Option<Self> {
        if let Some(tool) = tool {
            return Some(Self { operation: Operation::from_tool_name(tool)?, mcp: true });
        }
        let path = path.strip_prefix("/api/v1")?;
        let fits = |pattern: &str| match pattern.split_once("{id}") {
            None => pattern == path,
            Some((before, after)) => path
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|id| !id.is_empty() && !id.contains('/')),
        };
        let same = |it: &Operation| it.method().as_str() == method && fits(it.path());
        Operation::KNOWN.iter().copied().find(same).map(|operation| Self { operation, mcp: false })
    }

    pub(crate) fn name(self) -> &'static str {
        self.operation.tool_name().unwrap_or(match self.operation {
            Operation::Me => "me",
            _ => "sandbox_inbound",
        })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mcp, name) = text.strip_prefix("mcp-").map_or((false, text), |name| (true, name));
        let operation =
            Operation::KNOWN.iter().copied().find(|it| Self { operation: *it, mcp }.name() == name)?;
        Some(Self { operation, mcp })
    }

    pub(crate) fn is_read(self) -> bool {
        self.operation.method() == Method::Get
    }

    /// Returns whether a repeat makes a second item.
    pub(crate) fn creates(self) -> bool {
        self.operation.idempotency() != shared_inbox::__spec::Idempotency::Harmless
    }

    /// Returns whether it writes to the customer.
    pub(crate) fn writes_mail(self) -> bool {
        matches!(self.operation, Operation::Reply | Operation::RequestDocuments)
    }

    /// Returns the fields of a fault rule for it.
    pub(crate) fn rule(self) -> Value {
        if self.mcp {
            return json!({ "path": "/mcp", "tool": self.name() });
        }
        json!({ "method": self.operation.method().as_str(), "path": self.operation.path().replace("{id}", "*") })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mcp {
            return write!(f, "tool {}", self.name());
        }
        write!(f, "{} {}", self.operation.method().as_str(), self.operation.path().replace("{id}", "*"))
    }
}

/// A request by its operation and its number among those of the same operation, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) op: Op,
    pub(crate) nth: u32,
}

/// An attempt to deliver a webhook, by the type of its event and its number among the attempts of that type,
/// from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Delivery {
    pub(crate) event: &'static str,
    pub(crate) nth: u32,
}

impl Delivery {
    /// Returns the name of an event type in a token, in which a dot stands before a number.
    pub(crate) fn name(self) -> String {
        self.event.replace('.', "-")
    }

    pub(crate) fn parse(name: &str, nth: u32) -> Option<Self> {
        let event = EventKind::TYPES.iter().find(|event| event.replace('.', "-") == name)?;
        Some(Self { event, nth })
    }

    /// Returns the fields of a fault rule for it.
    pub(crate) fn rule(self) -> Value {
        json!({ "webhook": "*", "event": self.event })
    }
}
