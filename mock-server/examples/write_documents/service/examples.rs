//! Examples of requests and responses, which form one consistent story.

use serde_json::{Map, Value, json};
use shared_inbox::__spec::Operation;

/// Examples for one operation.
pub(super) struct Examples {
    /// Values of query parameters.
    pub(super) query: Map<String, Value>,
    /// Named request bodies.
    pub(super) requests: Map<String, Value>,
    /// The description of a successful response.
    pub(super) response_description: &'static str,
    /// A successful response.
    pub(super) answer: Value,
}

pub(super) fn operation_examples(operation: Operation) -> Examples {
    let (response_description, answer) = answer(operation);
    Examples { query: query(operation), requests: requests(operation), response_description, answer }
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value { fields } else { Map::new() }
}

fn query(operation: Operation) -> Map<String, Value> {
    object(match operation {
        Operation::ListConversations => json!({ "view": "open", "q": "refund", "limit": 50 }),
        Operation::SearchDocuments => json!({ "q": "invoice", "kind": "invoice", "limit": 10 }),
        _ => json!({}),
    })
}

fn requests(operation: Operation) -> Map<String, Value> {
    let named = |name: &str, summary: &str, value: Value| {
        (name.to_owned(), json!({ "summary": summary, "value": value }))
    };
    let items = json!([
        { "label": "Passport", "description": "The page with the photo" },
        { "label": "Proof of address", "required": false },
    ]);
    let requests = match operation {
        Operation::AddNote => vec![named(
            "note",
            "A note that mentions a person",
            json!({ "body": "Refund is approved, @Anna" }),
        )],
        Operation::SetStatus => vec![named("close", "Close it", json!({ "status": "closed" }))],
        Operation::TagConversation => vec![
            named("change", "One tag for another", json!({ "add": ["refund"], "remove": ["new"] })),
            named("nothing", "No change at all", json!({})),
        ],
        Operation::AssignConversation => vec![
            named("me", "To this key's own agent", json!({ "to": "me" })),
            named("nobody", "To nobody", json!({ "to": "none" })),
        ],
        Operation::Reply => vec![
            named(
                "draft",
                "A draft for a person to approve",
                json!({ "body": "Your refund is on its way.", "summary": "Confirms the refund" }),
            ),
            named(
                "send",
                "Mails the customer",
                json!({ "body": "Your refund is on its way.", "send": true }),
            ),
            named(
                "documents",
                "A draft that also asks for documents",
                json!({ "body": "We need two papers from you.", "documents": items }),
            ),
        ],
        Operation::RequestDocuments => vec![named(
            "request",
            "A draft with a date",
            json!({ "documents": items, "message": "To open your account we need:", "dueDate": "2026-12-01" }),
        )],
        Operation::RecordSent => vec![named(
            "mail",
            "An order confirmation",
            json!({
                "messageId": "<6f0c2b7d91e84e0c@shop.example>",
                "reference": "order-1042",
                "to": ["kim@example.com"],
                "subject": "Your order 1042",
                "text": "Thank you for your order.",
            }),
        )],
        Operation::SandboxInbound => vec![named(
            "question",
            "A customer who will answer every reply",
            json!({
                "from": "reply@customer.test",
                "name": "Kim Castillo",
                "subject": "Where is my refund?",
                "text": "I sent the shoes back two weeks ago.",
            }),
        )],
        _ => vec![],
    };
    requests.into_iter().collect()
}

fn answer(operation: Operation) -> (&'static str, Value) {
    let done = json!({ "ok": true });
    let reply = json!({
        "messageId": "msg_2f8k1c5w",
        "status": "draft",
        "note": "Waits for a person's approval.",
    });
    match operation {
        Operation::Me => (
            "The agent behind the key.",
            json!({
                "agent": { "id": "agt_9x3m6p1d", "name": "Billing bot" },
                "scopes": ["read", "write", "draft"],
                "livemode": true,
            }),
        ),
        Operation::ListConversations => ("The conversations, newest first.", json!([summary()])),
        Operation::GetConversation => ("The conversation.", conversation()),
        Operation::AddNote => ("The note stands in the timeline.", done),
        Operation::SetStatus => ("The conversation has this status.", done),
        Operation::TagConversation => ("The conversation has these tags.", done),
        Operation::AssignConversation => ("The conversation is in these hands.", done),
        Operation::Reply => ("The reply was written.", reply),
        Operation::RequestDocuments => (
            "The request was written.",
            json!({
                "messageId": "msg_7d4t9b2n",
                "status": "scheduled",
                "sendsAt": "2026-11-03T10:25:00.000Z",
                "requestId": "req_3h6v8z1q",
                "note": "Goes out after the undo window.",
            }),
        ),
        Operation::ListMailboxes => (
            "Every inbox that the key can see.",
            json!([{ "id": "mbx_5r2j7w4k", "address": "help@acme.example", "name": "Help", "open": 7 }]),
        ),
        Operation::ListTags => {
            ("Every tag.", json!([{ "id": "tag_8n1y6g3s", "name": "refund", "count": 4 }]))
        }
        Operation::SearchDocuments => (
            "The documents, newest first.",
            json!([{
                "id": "doc_6c9f2x5m",
                "title": "Invoice 2026-118",
                "filename": "invoice-2026-118.pdf",
                "kind": "invoice",
                "fields": { "vendor": "Acme", "amount": 129.5, "currency": "EUR", "dueDate": "2026-12-01" },
                "conversationId": "cnv_4k7q2m9x",
                "createdAt": "2026-11-03T09:12:45.000Z",
            }]),
        ),
        Operation::RecordSent => ("The mail is on record.", done),
        Operation::SandboxInbound => (
            "The mail has come in.",
            json!({ "conversationId": "cnv_4k7q2m9x", "messageId": "msg_1q5w8e3r" }),
        ),
        _ => ("Done.", Value::Null),
    }
}

fn summary() -> Value {
    json!({
        "id": "cnv_4k7q2m9x",
        "subject": "Where is my refund?",
        "snippet": "I sent the shoes back two weeks ago",
        "status": "open",
        "contact": { "name": "Kim Castillo", "email": "kim@example.com" },
        "mailbox": "Help",
        "lastMessageAt": "2026-11-03T09:12:45.000Z",
        "messageCount": 1,
        "assignee": { "id": "usr_2b7n4v9c", "name": "Anna Berg", "type": "user" },
        "tags": ["refund"],
        "topic": "refund",
        "urgency": "normal",
        "risk": null,
    })
}

fn conversation() -> Value {
    let mut conversation = summary();
    if let Value::Object(fields) = &mut conversation {
        fields.remove("snippet");
        fields.remove("messageCount");
        fields.extend(object(json!({
            "mailbox": "help@acme.example",
            "riskReasons": [],
            "snoozedUntil": null,
            "timeline": [
                {
                    "type": "message",
                    "id": "msg_1q5w8e3r",
                    "at": "2026-11-03T09:12:45.000Z",
                    "direction": "inbound",
                    "from": { "name": "Kim Castillo", "email": "kim@example.com" },
                    "status": null,
                    "text": "I sent the shoes back two weeks ago.",
                    "attachments": [],
                },
                {
                    "type": "event",
                    "at": "2026-11-03T09:20:00.000Z",
                    "actor": "Anna Berg",
                    "event": "tags",
                    "data": { "added": ["refund"], "removed": [] },
                },
                {
                    "type": "note",
                    "id": "not_4z8x1v6b",
                    "at": "2026-11-03T09:21:30.000Z",
                    "author": "Billing bot",
                    "body": "Refund is approved, @Anna",
                },
            ],
            "team": {
                "people": [{ "id": "user:usr_2b7n4v9c", "name": "Anna Berg" }],
                "agents": [{ "id": "agent:agt_9x3m6p1d", "name": "Billing bot" }],
            },
        })));
    }
    conversation
}
