//! Also compiled by the tests with peers, whose clients make the same calls.

use serde_json::{Map, Value, json};

/// A good call of every tool, in the order of the catalogue.
pub(crate) fn calls_of_every_tool(conversation: &str) -> Vec<(&'static str, Map<String, Value>)> {
    let id = conversation;
    let calls = [
        ("list_conversations", json!({ "view": "open", "limit": 5 })),
        ("get_conversation", json!({ "id": id })),
        ("add_note", json!({ "id": id, "body": "Looked at it, @Anna" })),
        ("set_status", json!({ "id": id, "status": "waiting" })),
        ("tag_conversation", json!({ "id": id, "add": ["refund", "brand new"], "remove": ["vip"] })),
        ("assign_conversation", json!({ "id": id, "to": "me" })),
        ("reply", json!({ "id": id, "body": "It is on its way.", "summary": "Says when", "send": true })),
        (
            "request_documents",
            json!({
                "id": id,
                "documents": [{ "label": "Passport" }, { "label": "Photo", "required": false }],
                "message": "We need:",
                "dueDate": "2027-01-31",
            }),
        ),
        ("list_mailboxes", json!({})),
        ("list_tags", json!({})),
        ("search_documents", json!({ "q": "invoice", "limit": 3 })),
        (
            "record_sent",
            json!({
                "messageId": "<9b1deb4d3b7d4bad@shop.example>",
                "reference": "order-77",
                "to": ["kim@example.com"],
                "subject": "Your order",
            }),
        ),
    ];
    calls
        .into_iter()
        .map(|(name, arguments)| (name, arguments.as_object().cloned().unwrap_or_default()))
        .collect()
}
