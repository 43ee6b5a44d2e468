//! Every operation with input that is right, for rules about all of them.

use serde_json::{Value, json};

use crate::wire::http::Call;

/// An operation: its name in ids, its method and path (`{}` stands for a conversation), its body, and its
/// scope.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) body: Option<fn() -> Value>,
    pub(crate) scope: &'static str,
    pub(crate) tool: Option<&'static str>,
}

const fn get(name: &'static str, path: &'static str, tool: Option<&'static str>) -> Operation {
    Operation { name, path, body: None, scope: "read", tool }
}

const fn post(
    name: &'static str,
    path: &'static str,
    scope: &'static str,
    tool: Option<&'static str>,
    body: fn() -> Value,
) -> Operation {
    Operation { name, path, body: Some(body), scope, tool }
}

/// Every operation, with input that is right.
pub(crate) const OPERATIONS: &[Operation] = &[
    get("me", "/me", None),
    get("list", "/conversations", Some("list_conversations")),
    get("read", "/conversations/{}", Some("get_conversation")),
    post("notes", "/conversations/{}/notes", "write", Some("add_note"), || json!({ "body": "A note" })),
    post("status", "/conversations/{}/status", "write", Some("set_status"), || json!({ "status": "open" })),
    post(
        "tags",
        "/conversations/{}/tags",
        "write",
        Some("tag_conversation"),
        || json!({ "add": ["conform"] }),
    ),
    post(
        "assign",
        "/conversations/{}/assign",
        "write",
        Some("assign_conversation"),
        || json!({ "to": "me" }),
    ),
    post("replies", "/conversations/{}/replies", "draft", Some("reply"), || json!({ "body": "Hello" })),
    post(
        "replies.send",
        "/conversations/{}/replies",
        "send",
        None,
        || json!({ "body": "Hello", "send": true }),
    ),
    post(
        "requests",
        "/conversations/{}/document-requests",
        "draft",
        Some("request_documents"),
        || json!({ "documents": [{ "label": "Passport" }] }),
    ),
    post(
        "requests.send",
        "/conversations/{}/document-requests",
        "send",
        None,
        || json!({ "documents": [{ "label": "Passport" }], "send": true }),
    ),
    get("mailboxes", "/mailboxes", Some("list_mailboxes")),
    get("tags.list", "/tags", Some("list_tags")),
    get("documents", "/documents", Some("search_documents")),
    post(
        "app-mail",
        "/app-mail",
        "record",
        Some("record_sent"),
        || json!({ "messageId": "<a1b2c3d4@shop.example>", "reference": "a1", "to": ["kim@customer.test"], "subject": "Hi" }),
    ),
    post(
        "inbound",
        "/sandbox/inbound",
        "write",
        None,
        || json!({ "from": "kim@customer.test", "text": "Hello" }),
    ),
];

impl Operation {
    pub(crate) fn call(&self, conversation: &str) -> Call {
        let path = self.path.replace("{}", conversation);
        match self.body {
            Some(body) => Call::post(path, &body()),
            None => Call::get(path),
        }
    }

    pub(crate) fn takes_conversation(&self) -> bool {
        self.path.contains("{}")
    }

    /// Returns the arguments of the tool.
    pub(crate) fn arguments(&self, conversation: &str) -> Value {
        let mut arguments = self.body.map_or_else(|| json!({}), |body| body());
        if self.takes_conversation() {
            arguments["id"] = json!(conversation);
        }
        arguments
    }
}
